-- A sphere of bodies at rest falls in on itself, bounces and settles: violent relaxation.
-- It would shrink to a point at t = 1.11; the scatter of its bodies stops that.
local sim = require "sim"

local cloud = sim.bodies { softening = 0.03, dt = 0.004 }
cloud:add(sim.uniform_sphere { n = 8192, mass = 1, radius = 1, spin = 15 })

sim.run {
    frames = 240,
    step = function() cloud:step(4) end,
    image = function()
        local time = ("t = %.2f"):format(cloud.time)
        return cloud:image { width = 5, map = "inferno" }:label { text = time }
    end,
}
