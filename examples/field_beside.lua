-- Random numbers by seed, cells as squares, and two pictures side by side.
local sim = require "sim"

local u = sim.field { size = { 48, 48 } }
u:paint { value = sim.noise { seed = 7, min = -1, max = 1 } }

local v = sim.field { size = { 48, 48 } }
v:copy(u):clamp(-0.2, 0.2):scale(5)

local cells = u:image { scale = 12, map = "ember", smooth = false }
local smooth = v:image { scale = 12, map = "ember", range = { -1, 1 }, colorbar = true }
cells:label { text = "cells" }
smooth:label { text = "a spline through them" }
cells:beside(smooth, { gap = 16 }):save("beside.png")
