-- cylinder.lua: the vortex street behind a cylinder, in dye or in vorticity.
--
-- At a Reynolds number of 100 the wake of a cylinder is unsteady: vortices leave it by turns
-- above and below, 0.16 to 0.17 times in the time that the stream takes for a diameter
-- (C. H. K. Williamson, J. Fluid Mech. 206, 579, 1989). The stream slips along the sides. A
-- push across the wake at the start saves the wait for the street to grow out of rounding
-- errors. The dye is a ribbon along the middle, one colour above and one below.
local sim = require "sim"
local shape = sim.shape

local opt = sim.options {
    frames   = { 240, min = 1 },
    seed     = { 1, min = 0 },
    show     = { "dye", help = "or vorticity" },
    cells    = { 16, min = 4, max = 512, help = "across the cylinder" },
    reynolds = { 100, min = 1, max = 1000, help = "by the diameter" },
    time     = { 0.25, min = 0.001, help = "between two frames; the stream's for a diameter: 1" },
    start    = { 20, min = 0, help = "time before the first frame" },
    size     = { 1280, min = 64, max = 16384, help = "width in pixels" },
}

local width, height = 27, 10
local f = sim.flow {
    size = { width * opt.cells, height * opt.cells }, lx = width, origin = { -5, -height / 2 },
    reynolds = opt.reynolds, sides = "free-slip", chi = 0.1, cfl = 0.8,
}
f:side { side = "west", kind = "inflow", speed = 1 }
f:side { side = "east", kind = "outflow" }
f:obstacle { shape.disc { centre = { 0, 0 }, radius = 0.5 }, name = "cylinder" }
f.v:paint { shape = shape.gaussian { centre = { 2, 0 }, sigma = 1 }, value = 0.5 }
f:project()

f:scalar { name = "dye" }
f:scalar_side { scalar = "dye", side = "west", value = 0 }
f:scalar_side { scalar = "dye", side = "west", value = 1, from = 0, to = 0.25 }
f:scalar_side { scalar = "dye", side = "west", value = -1, from = -0.25, to = 0 }

f:advance(opt.start)

sim.run {
    frames = opt.frames,
    fps = 30,
    step = function() f:advance(opt.time) end,
    image = function()
        local size = { opt.size, opt.size * height // width }
        if opt.show == "vorticity" then
            return f.vorticity:image { size = size, map = "coolwarm", range = { -3, 3 } }
        end
        return f.dye:image { size = size, map = "ember", range = { -1, 1 },
            mask_color = "#e8e4da" }
    end,
}
