-- shear_layer.lua: two layers of shear in a periodic square roll up into two vortices.
--
-- The initial state is that of D. L. Brown and M. L. Minion (J. Comput. Phys. 122, 165, 1995):
-- u = tanh(thin (y - 1/4)) below the middle and tanh(thin (3/4 - y)) above, v = 0.05
-- sin(2 pi x). On a grid that is too coarse for the layers they break into more vortices.
local sim = require "sim"

local opt = sim.options {
    frames    = { 240, min = 1 },
    seed      = { 1, min = 0 },
    cells     = { 256, min = 16, max = 16384, help = "along a side" },
    thin      = { 30, min = 1, max = 1000, help = "1 / the layers' thickness" },
    viscosity = { 1e-4, min = 0 },
    time      = { 0.01, min = 1e-4, help = "between two frames" },
    size      = { 1024, min = 32, max = 16384, help = "in pixels" },
}

local f = sim.flow {
    size = { opt.cells, opt.cells }, lx = 1, viscosity = opt.viscosity, chi = 0.1, cfl = 0.8,
    sides = "periodic",
}
local function tanh(x) return 1 - 2 / (math.exp(2 * x) + 1) end
f.u:paint { value = function(_, y)
    return tanh(opt.thin * (y < 0.5 and y - 0.25 or 0.75 - y))
end }
f.v:paint { value = function(x, _) return 0.05 * math.sin(2 * math.pi * x) end }
f:project()

sim.run {
    frames = opt.frames,
    fps = 30,
    step = function() f:advance(opt.time) end,
    image = function()
        return f.vorticity:image {
            size = { opt.size, opt.size }, map = "ember",
            range = { -opt.thin, opt.thin },
        }
    end,
}
