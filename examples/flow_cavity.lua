-- Flow in a box whose lid moves, until it is steady: the largest eddy's place and strength.
local sim = require "sim"

local f = sim.flow { size = { 48, 48 }, lx = 1, reynolds = 100, chi = 0, precision = "double" }
f:side { side = "north", kind = "no-slip", tangent = 1 }

sim.run {
    frames = 100,
    step = function() f:advance(0.2) end,
    stop_when = function() return f:steady(1e-4) end,
    image = function()
        return f.stream:image { size = { 480, 480 }, range = { -0.11, 0.001 },
            contours = { levels = 11 } }:label { text = ("t = %.1f"):format(f.time) }
    end,
}
print(("the stream function goes down to %.4f; divergence %.1e"):format(f.stream:min(),
    f:divergence()))
