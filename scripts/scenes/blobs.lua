-- blobs.lua: initial blobs of every kind, and what diffusion makes of them.
--
-- Discs, Gaussians, a box, a star, a ring and a ripple are painted into one field, then spread
-- by u_t = D lap(u) between walls that let nothing through: the mean stays, all else levels
-- out. Small things go first: a blob of radius R lives for about R^2/4D. What is painted flat
-- lies between two contours, since a level surface has no lines.
local sim = require "sim"
local shape = sim.shape

local opt = sim.options {
    frames = { 240, min = 1 },
    seed   = { 1, min = 0 },
    cells  = { 324, min = 9, max = 16384, help = "cells along the height" },
    blobs  = { 14, min = 0, help = "random discs and Gaussians" },
}

local nx, ny = (opt.cells * 16 + 4) // 9, opt.cells
local dx, dy = 16 / nx, 9 / ny
local d = sim.diffusion {
    size = { nx, ny }, dx = dx, dy = dy, diffusivity = 1,
    dt = 0.48 / (1 / (dx * dx) + 1 / (dy * dy)), walls = "no-flux",
}

d:paint {
    shape = shape.disc { centre = { 4, 4.5 }, radius = 2 }
        - shape.disc { centre = { 4, 4.5 }, radius = 1.4 }, value = 1, soft = true,
}
d:paint { shape = shape.box { from = { 10.6, 1.2 }, to = { 14.6, 2.2 } }:rotate(20), value = 1 }
d:paint {
    shape = shape.polygon {
        { 11, 8.4 }, { 11.9, 5.0 }, { 9.2, 7.2 }, { 12.8, 7.2 }, { 10.1, 5.0 },
    }, value = 0.95, soft = true,
}
d:paint {
    shape = shape.disc { centre = { 14, 5.5 }, radius = 1.35 }, soft = true,
    value = function(x, y)
        local r = ((x - 14) ^ 2 + (y - 5.5) ^ 2) ^ 0.5
        local turn = math.atan(y - 5.5, x - 14)
        return 0.55 + 0.45 * math.cos(2 * math.pi * r / 0.9) * math.cos(5 * turn)
    end,
}

-- Where they lie is drawn from the seed, by a generator of our own, the same everywhere.
local state = opt.seed * 2654435761 % 2^32 // 1 | 0
local function random(low, high)
    state = (state * 1664525 + 1013904223) % 4294967296
    return low + (high - low) * state / 4294967296
end
for k = 1, opt.blobs do
    local centre = { random(0.5, 15.5), random(0.5, 8.5) }
    local size, value = random(0.12, 0.5), random(4, 10) // 1 / 10 + 0.05
    if k % 2 == 0 then
        local disc = shape.disc { centre = centre, radius = size }
        d:paint { shape = disc, value = value, soft = true }
    else
        d:paint {
            shape = shape.gaussian { centre = centre, sigma = size }, value = value, mode = "add",
        }
    end
end

-- The sharpest edges are let go before the first frame, so that all nine contours have room.
-- Then time runs faster as things slow down: frame f is reached after about f^2/6 steps more,
-- of the default grid.
local pace = (ny / 324) ^ 2
d:step(math.ceil(45 * pace))
local frame = 0
sim.run {
    frames = opt.frames,
    fps = 30,
    step = function()
        frame = frame + 1
        d:step((frame ^ 2 * pace // 6 - (frame - 1) ^ 2 * pace // 6) // 1 | 0)
    end,
    image = function()
        return d.u:image {
            size = { 1280, 720 }, map = "inferno", range = { 0, 1 },
            contours = { levels = 9, color = "#ffffff" },
        }
    end,
}
