-- spiral.lua: a spiral wave in an excitable medium, as in heart tissue or a dish of
-- Belousov-Zhabotinsky reagent.
--
-- Barkley's model (Physica D 49, 445, 1991): u_t = lap(u) + u (1 - u)(u - (v + b)/a)/eps,
-- v_t = u - v. A wave that is cut, by a half plane that has not recovered, curls up at its
-- end and turns for ever.
local sim = require "sim"
local shape = sim.shape

local opt = sim.options {
    frames = { 300, min = 1 },
    seed   = { 1, min = 0 },
    cells  = { 360, min = 32, max = 16384, help = "cells along the height" },
    steps  = { 10, min = 1, help = "a frame" },
    a      = { 0.75, help = "Barkley's a" },
    b      = { 0.02, help = "and b" },
}

local ny, dx = opt.cells, 72 / opt.cells
local nx = ny * 16 // 9
local d = sim.diffusion {
    size = { nx, ny }, dx = dx, dt = math.min(0.02, 0.2 * dx * dx), preset = "spiral",
    parameters = { a = opt.a, b = opt.b }, walls = "no-flux",
}
d.u:paint {
    shape = shape.box { from = { 60, -1 }, to = { 66, 36 } }, value = 1,
}
d.v:paint { shape = shape.box { from = { 66, -1 }, to = { 200, 36 } }, value = 0.4 }

sim.run {
    frames = opt.frames,
    fps = 30,
    step = function() d:step(opt.steps) end,
    image = function()
        return d.u:image { size = { 1280, 720 }, map = "inferno", range = { 0, 1 } }
    end,
}
