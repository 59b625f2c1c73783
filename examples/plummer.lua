-- A star cluster in equilibrium, in Henon's units: energy -1/4, virial radius 1. A plain
-- loop instead of sim.run; numbers go to the standard output, pictures to files.
local sim = require "sim"

local cluster = sim.bodies { softening = 0.02, dt = 0.01 }
cluster:add(sim.plummer { n = 4096, mass = 1, scale = 3 * math.pi / 16, exact = true })

print("time    energy     virial  radii of 10, 50 and 90 % of the mass")
for frame = 0, 10 do
    local energy = cluster:energy()
    local r = cluster:radii { fractions = { 0.1, 0.5, 0.9 } }
    print(("%5.2f  %9.6f  %6.3f  %6.3f %6.3f %6.3f"):format(cluster.time, energy.total,
        energy.virial, r[1], r[2], r[3]))
    local name = ("plummer_%02d.png"):format(frame)
    cluster:image { width = 5, size = { 640, 360 } }:save(name)
    cluster:step(25)
end
