-- A heavy and a light body on an ellipse, from farthest to nearest and back, twice.
-- sim.encounter gives places and velocities, and the time to the nearest point: half a turn.
local sim = require "sim"

local sun, planet, half = sim.encounter {
    m1 = 1, m2 = 0.1, pericentre = 0.5, separation = 1.5, eccentricity = 0.5,
}
local pair = sim.bodies { dt = half / 500, precision = "double" }
pair:add(sim.body { name = "sun", mass = 1, position = sun.position,
    velocity = sun.velocity })
pair:add(sim.body { name = "planet", mass = 0.1, position = planet.position,
    velocity = planet.velocity })

local start = pair:energy().total
sim.run {
    frames = 201,
    step = function() pair:step(10) end,
    image = function()
        return pair:image { width = 4, point_size = 6,
            colors = { sun = "#ffcc66", planet = "#88aaff" } }
    end,
}
print(("energy changed by %.1e of itself"):format(pair:energy().total / start - 1))
