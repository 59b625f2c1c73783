-- Rings of stars without mass around a galaxy that is one point, and another point that
-- passes: the experiment of Toomre and Toomre (1972). A function makes the stars' rows.
local sim = require "sim"

local home, passer = sim.encounter { pericentre = 1.5, separation = 8, angle = 60 }

local function star(i) -- 15 rings of 120 stars, on circles around a unit mass
    local radius = 0.25 + 0.05 * ((i - 1) // 120)
    local angle, speed = 2 * math.pi * (i % 120) / 120, radius ^ -0.5
    local c, s = math.cos(angle), math.sin(angle)
    return { x = radius * c, y = radius * s, vx = -speed * s, vy = speed * c, m = 0 }
end

local all = sim.bodies { softening = 0.05, dt = 0.01 }
all:add(sim.body { name = "home", position = home.position, velocity = home.velocity })
all:add(sim.body { name = "passer", position = passer.position,
    velocity = passer.velocity })
all:add(sim.rows { name = "stars", n = 1800, rows = star,
    position = home.position, velocity = home.velocity })

sim.run {
    frames = 240,
    step = function() all:step(8) end,
    image = function()
        return all:image { width = 14, follow = "home",
            colors = { stars = "#9fc5ff", home = "#ffdd99", passer = "#ff7755" } }
    end,
}
