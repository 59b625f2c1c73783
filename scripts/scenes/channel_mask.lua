-- channel_mask.lua: a stream through obstacles that are a picture.
--
-- What is bright in the picture is solid; it may be of any size and kind, and is scaled to the
-- channel. Filaments of dye come in from the left, as in a smoke tunnel. To try another:
-- simlua scenes/channel_mask.lua --mask picture.png
local sim = require "sim"

local here = debug.getinfo(1, "S").source:match "^@(.*/)" or ""
local opt = sim.options {
    frames    = { 240, min = 1 },
    seed      = { 1, min = 0 },
    mask      = { here .. "channel_mask.png", help = "a picture, PNG" },
    threshold = { 0.5, min = 0, max = 1, help = "of the brightness: solid from here on" },
    cells     = { 160, min = 8, max = 4096, help = "along the height" },
    reynolds  = { 2000, min = 1, max = 100000, help = "by the channel's height" },
    filaments = { 20, min = 1, max = 64, help = "of dye" },
    time      = { 0.03, min = 1e-4, help = "between two frames" },
    size      = { 1280, min = 64, max = 16384, help = "width in pixels" },
}

-- The picture takes the first two thirds of the channel's middle, the rest is for its wake.
local width, height = 5, 2
local f = sim.flow {
    size = { opt.cells * width // height, opt.cells }, lx = width,
    reynolds = opt.reynolds, length = height, sides = "free-slip", chi = 0.2, cfl = 0.8,
}
f:side { side = "west", kind = "inflow", speed = 1, ramp = 0.3 }
f:side { side = "east", kind = "outflow" }
f:obstacle { sim.shape.image {
    file = opt.mask, threshold = opt.threshold,
    width = 3.6, height = 0.9, position = { 0.05, (height - 0.9) / 2 },
} }

f:scalar { name = "dye" }
f:scalar_side { scalar = "dye", side = "west", value = 0 }
for k = 0, opt.filaments - 1 do
    local from = (k + 0.25) / opt.filaments * height
    f:scalar_side {
        scalar = "dye", side = "west", value = k % 2 == 0 and 1 or -1,
        from = from, to = from + 0.5 / opt.filaments * height,
    }
end

sim.run {
    frames = opt.frames,
    fps = 30,
    step = function() f:advance(opt.time) end,
    image = function()
        return f.dye:image {
            size = { opt.size, opt.size * height // width }, map = "ember", range = { -1, 1 },
            mask_color = "#e8e4da",
        }
    end,
}
