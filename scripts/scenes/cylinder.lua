-- cylinder.lua: the vortex street behind a cylinder, in dye, in vorticity or in streaks.
--
-- At a Reynolds number of 100 the wake of a cylinder is unsteady: vortices leave it by turns
-- above and below, 0.16 to 0.17 times in the time that the stream takes for a diameter
-- (C. H. K. Williamson, J. Fluid Mech. 206, 579, 1989). The stream slips along the sides. A
-- push across the wake at the start saves the wait for the street to grow out of rounding
-- errors. The dye is a ribbon along the middle, one colour above and one below; the streaks are
-- lines of markers that come in one after the other, over the vorticity.
local sim = require "sim"
local shape = sim.shape

local opt = sim.options {
    frames   = { 240, min = 1 },
    seed     = { 1, min = 0 },
    show     = { "dye", choices = { "dye", "vorticity", "streaks" } },
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

local sources = {}
for k = -10, 10 do sources[#sources + 1] = { -4.9, 0.15 * k } end
if opt.show == "streaks" then
    f:markers { sources = sources, every = math.max(1, opt.cells // 16), keep = 4000 }
end

sim.run {
    frames = opt.frames,
    fps = 30,
    before = function() f:advance(opt.start) end,
    step = function() f:advance(opt.time) end,
    image = function()
        local size = { opt.size, opt.size * height // width }
        if opt.show == "vorticity" then
            return f.vorticity:image { size = size, map = "coolwarm", range = { -3, 3 } }
        end
        local picture = { size = size, map = "ember", range = { -1, 1 }, mask_color = "#e8e4da" }
        if opt.show == "dye" then return f.dye:image(picture) end
        picture.range = { -3, 3 }
        picture.dots = { of = f:field "markers", strength = 0.8 }
        return f.vorticity:image(picture)
    end,
}
