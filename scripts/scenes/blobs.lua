-- blobs.lua: initial blobs of every kind, and what diffusion makes of them.
--
-- Discs, Gaussians, a box, a star and a ring of noise are painted into one field, then spread
-- by u_t = D lap(u) between walls that let nothing through: the mean stays, all else levels
-- out. Small things go first: a blob of radius R lives for about R^2/4D.
local sim = require "sim"
local shape = sim.shape

local opt = sim.options {
    frames = { 240, min = 1 },
    seed   = { 1, min = 0 },
    cells  = { 320, min = 8, max = 16384, help = "cells along the height" },
    blobs  = { 14, min = 0, help = "random discs and Gaussians" },
}

local nx, ny = opt.cells * 16 // 9, opt.cells
local dx = 9 / ny
local d = sim.diffusion {
    size = { nx, ny }, dx = dx, diffusivity = 1, dt = 0.24 * dx * dx, walls = "no-flux",
}

d:paint {
    shape = shape.disc { centre = { 4, 4.5 }, radius = 2 }
        - shape.disc { centre = { 4, 4.5 }, radius = 1.4 }, value = 1, soft = true,
}
d:paint { shape = shape.box { from = { 10.6, 1.2 }, to = { 14.6, 2.2 } }:rotate(20), value = 1 }
d:paint {
    shape = shape.polygon {
        { 11, 8.4 }, { 11.9, 5.0 }, { 9.2, 7.2 }, { 12.8, 7.2 }, { 10.1, 5.0 },
    }, value = 0.9, soft = true,
}
d:paint {
    shape = shape.disc { centre = { 14, 5.5 }, radius = 1.3 },
    value = sim.noise { seed = opt.seed, min = 0, max = 2 },
}

-- Where they lie is drawn from the seed, by a generator of our own, the same everywhere.
local state = opt.seed * 2654435761 % 2^32 // 1 | 0
local function random(low, high)
    state = (state * 1664525 + 1013904223) % 4294967296
    return low + (high - low) * state / 4294967296
end
for k = 1, opt.blobs do
    local centre = { random(0.5, 15.5), random(0.5, 8.5) }
    local size, value = random(0.12, 0.5), random(0.4, 1)
    if k % 2 == 0 then
        local disc = shape.disc { centre = centre, radius = size }
        d:paint { shape = disc, value = value, soft = true }
    else
        d:paint {
            shape = shape.gaussian { centre = centre, sigma = size }, value = value, mode = "add",
        }
    end
end

-- Time runs faster as things slow down: frame f is reached after f^2 units of steps.
local frame = 0
sim.run {
    frames = opt.frames,
    fps = 30,
    step = function()
        frame = frame + 1
        d:step((frame * frame - (frame - 1) ^ 2) // 4 | 0)
    end,
    image = function()
        return d.u:image {
            size = { 1280, 720 }, map = "inferno", range = { 0, 1 },
            contours = { levels = 9, color = "#ffffff" },
        }
    end,
}
