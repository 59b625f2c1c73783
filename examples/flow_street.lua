-- A stream past a disc: sides, an obstacle, the forces on it, and a picture of the vorticity.
local sim = require "sim"

local f = sim.flow { size = { 160, 64 }, lx = 20, reynolds = 100, sides = "free-slip" }
f:side { side = "west", kind = "inflow", speed = 1 }
f:side { side = "east", kind = "outflow" }
f:obstacle { sim.shape.disc { centre = { 4, 4.1 }, radius = 0.5 }, name = "disc" }

for _ = 1, 5 do
    f:advance(2)
    local drag, lift = f:force_on "disc"
    print(("t = %4.1f  drag %.3f  lift %6.3f"):format(f.time, 2 * drag, 2 * lift))
end
f.vorticity:image { size = { 960, 384 }, map = "coolwarm", range = { -4, 4 } }:save("street.png")
