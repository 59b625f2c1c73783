-- plume.lua: hot smoke rises from a vent, meets a disc and breaks up behind it.
--
-- The smoke is light, by Boussinesq's approximation: it is pulled up in proportion to how much
-- of it there is. The top is open, the walls are not. The disc stands a little off the middle;
-- without that the flow would stay a mirror image of itself, to the last bit.
local sim = require "sim"
local shape = sim.shape

local opt = sim.options {
    frames    = { 300, min = 1 },
    seed      = { 1, min = 0 },
    cells     = { 168, min = 24, max = 8192, help = "along the width" },
    viscosity = { 6e-4, min = 0 },
    offset    = { 0.03, min = -1, max = 1, help = "of the disc" },
    time      = { 0.04, min = 1e-4, help = "between two frames" },
    size      = { 720, min = 32, max = 8192, help = "width in pixels" },
}

local width, height = 3, 4
local f = sim.flow {
    size = { opt.cells, opt.cells * height // width }, lx = width, origin = { -width / 2, 0 },
    viscosity = opt.viscosity, chi = 0.1, cfl = 0.8, dt_max = opt.time,
}
f:side { side = "north", kind = "zero-stress" }
f:side { side = "south", kind = "inflow", from = -0.2, to = 0.2, speed = 0.6,
    profile = "parabolic" }
f:obstacle { shape.disc { centre = { opt.offset, 1.4 }, radius = 0.2 }, name = "disc" }

f:scalar { name = "smoke", diffusivity = opt.viscosity / 4 }
f:scalar_side { scalar = "smoke", side = "south", value = 1, from = -0.2, to = 0.2 }
f:buoyancy { scalar = "smoke", strength = { 0, 2 } }

sim.run {
    frames = opt.frames,
    fps = 30,
    step = function() f:advance(opt.time) end,
    image = function()
        return f.smoke:image {
            size = { opt.size, opt.size * height // width }, map = "magma", range = { 0, 1 },
            mask_color = "#2e6f7a",
        }
    end,
}
