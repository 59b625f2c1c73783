-- Planetesimals grow: bodies that come closer than a distance become one, with the mass and
-- the momentum of both. The ring ends as a few planets.
local sim = require "sim"

local ring = sim.bodies {
    dt = 0.002, softening = 0.002, on_close = "merge", merge_distance = 0.01,
}
ring:add(sim.body { mass = 1, name = "sun" })
ring:add(sim.rows {
    n = 500,
    name = "ring",
    rows = function(i)
        local r, angle = 0.7 + 0.6 * (i * 0.618034 % 1), 0.7 * i * i
        local x, y, v = r * math.cos(angle), r * math.sin(angle), math.sqrt(1 / r)
        return { x, y, 0, -v * y / r, v * x / r, 0, 3e-5 }
    end,
})

sim.run {
    frames = 300,
    step = function() ring:step(25) end,
    image = function()
        return ring:image { width = 5, map = "inferno" }
            :label { text = ("t = %.1f, %d bodies"):format(ring.time, ring.n) }
    end,
}
