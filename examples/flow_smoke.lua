-- Warm smoke from a hole in the floor rises to an open top: a scalar that drives the flow.
local sim = require "sim"

local f = sim.flow { size = { 64, 96 }, lx = 2, viscosity = 2e-3 }
f:side { side = "north", kind = "zero-stress" }

f:scalar { name = "smoke", diffusivity = 5e-4 }
f:scalar_side { scalar = "smoke", side = "south", value = 1, from = 0.8, to = 1.2 }
f:source { sim.shape.disc { centre = { 1, 0 }, radius = 0.2 }, scalar = "smoke" }
f:buoyancy { scalar = "smoke", strength = { 0.2, 2 } }

sim.run {
    frames = 120,
    step = function() f:advance(0.05) end,
    image = function() return f.smoke:image { scale = 5, map = "magma", range = { 0, 1 } } end,
}
