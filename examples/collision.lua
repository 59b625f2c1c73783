-- Two galaxies fall together: the smallest whole scene. Run it: simlua collision.lua
local sim = require "sim"

local stars = sim.bodies { softening = 0.1, dt = 0.05 }
stars:add(sim.galaxy { name = "A", n = 2048, position = { -5, -2, 0 },
    velocity = { 0.3, 0, 0 } })
stars:add(sim.galaxy { name = "B", n = 2048, position = { 5, 2, 0 },
    velocity = { -0.3, 0, 0 }, tilt = { 60, 30 }, seed = 2 })

local colors = { A = "#6fa8ff", B = "#ffa552" }
sim.run {
    frames = 240,
    step = function() stars:step(4) end,
    image = function() return stars:image { width = 24, colors = colors } end,
}
