-- gray_scott.lua: the Gray-Scott reaction, by the name of a pattern.
--
--     u_t = D_u lap(u) - u v^2 + F (1 - u),   v_t = D_v lap(v) + u v^2 - (F + k) v
--
-- (Pearson, Science 261, 189, 1993.) `--preset` takes labyrinth, mitosis, spots, worms,
-- holes, chaos, gliders, waves, bubbles, maze, u-skate and others: simlua --help diffusion.
local sim = require "sim"
local shape = sim.shape

local opt = sim.options {
    frames = { 300, min = 1 },
    preset = { "mitosis", help = "the pattern" },
    seed   = { 1, min = 0 },
    cells  = { 360, min = 32, max = 16384, help = "cells along the height" },
    steps  = { 40, min = 1, help = "a frame" },
    both   = { false, help = "v and u side by side" },
}

local ny = opt.cells
local nx = opt.both and ny or ny * 16 // 9
local d = sim.diffusion { size = { nx, ny }, preset = opt.preset, walls = "periodic" }

-- The filled state u = 1, v = 0, and seeds of (1/2, 1/4), a little uneven.
local u, v = d.u, d.v
u:paint { value = 1 }
local state = opt.seed + 1
local function random(n)
    state = (state * 1664525 + 1013904223) % 4294967296
    return state * n / 4294967296
end
for _ = 1, math.max(4, nx * ny // 9000) do
    local spot = shape.disc { centre = { random(nx), random(ny) }, radius = 3 + random(5) }
    u:paint { shape = spot, value = 0.5 }
    v:paint { shape = spot, value = sim.noise { seed = opt.seed, min = 0.2, max = 0.3 } }
end

sim.run {
    frames = opt.frames,
    fps = 30,
    step = function() d:step(opt.steps) end,
    image = function()
        local size = opt.both and { 720, 720 } or { 1280, 720 }
        local image = v:image { size = size, map = "magma", range = { 0, 0.4 } }
        if not opt.both then return image end
        return image:beside(u:image { size = size, map = "viridis", range = { 0, 1 } }, { gap = 8 })
    end,
}
