-- turing.lua: Turing's instability: a still mixture that diffusion alone makes spotted.
--
-- Schnakenberg's model, u_t = lap(u) + a - u + u^2 v, v_t = d lap(v) + b - u^2 v. With a =
-- 0.1, b = 0.9 the even state (1, 0.9) is stable as long as d < 8.5676; beyond, noise grows
-- into a lattice of spots.
local sim = require "sim"

local opt = sim.options {
    frames = { 240, min = 1 },
    seed   = { 1, min = 0 },
    cells  = { 180, min = 16, max = 16384, help = "cells along the height" },
    ratio  = { 20, min = 1, help = "d, how much faster v diffuses" },
    steps  = { 60, min = 1, help = "a frame" },
}

local ny = opt.cells
local nx = ny * 16 // 9
local d = sim.diffusion {
    size = { nx, ny }, dt = 0.24 / opt.ratio, reaction = "schnakenberg",
    diffusivity = 1, diffusivity_v = opt.ratio, walls = "periodic",
}
d.u:paint { value = sim.noise { seed = opt.seed, min = 0.99, max = 1.01 } }
d.v:paint { value = 0.9 }

sim.run {
    frames = opt.frames,
    fps = 30,
    step = function() d:step(opt.steps) end,
    image = function()
        return d.u:image {
            size = { 1280, 720 }, map = "viridis", range = { 0.3, 2.8 }, colorbar = true,
        }
    end,
}
