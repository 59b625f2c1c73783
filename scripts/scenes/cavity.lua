-- cavity.lua: a square cavity whose lid moves, from rest to the steady state.
--
-- At a Reynolds number of 1000 one large eddy fills the cavity and two small ones sit in the
-- lower corners (U. Ghia, K. N. Ghia, C. T. Shin, J. Comput. Phys. 48, 387, 1982). Left the
-- speed, with a grain along the flow; right the vorticity, with contours of the stream function,
-- which are streamlines.
-- The run ends when the flow no longer changes.
local sim = require "sim"

local opt = sim.options {
    frames   = { 160, min = 1 },
    seed     = { 1, min = 0 },
    cells    = { 96, min = 8, max = 4096, help = "along a side" },
    reynolds = { 1000, min = 1, max = 10000 },
    time     = { 0.25, min = 0.001, help = "between two frames" },
    steady   = { 1e-3, min = 1e-12, help = "the relative change in a unit of time to end at" },
    size     = { 640, min = 32, max = 8192, help = "of either picture in pixels" },
}

local f = sim.flow {
    size = { opt.cells, opt.cells }, lx = 1, reynolds = opt.reynolds, chi = 0.05, cfl = 0.8,
}
f:side { side = "north", kind = "no-slip", tangent = 1 }

local levels = {
    -0.115, -0.11, -0.1, -0.09, -0.07, -0.05, -0.03, -0.01, 2e-4, 6e-4, 1e-3, 1.5e-3,
}

sim.run {
    frames = opt.frames,
    fps = 30,
    step = function() f:advance(opt.time) end,
    stop_when = function() return f:steady(opt.steady) end,
    image = function()
        local size = { opt.size, opt.size }
        local speed = f.speed:image { size = size, map = "inferno", range = { 0, 0.7 },
            grain = { x = f.u, y = f.v, length = 30, strength = 0.4 } }
        return speed:beside(f.vorticity:image {
            size = size, map = "coolwarm", range = { -5, 5 },
            contours = { of = f.stream, levels = levels, color = "#26262c", width = 1.5 },
        })
    end,
}
