-- gravity.lua: every GPU kernel of gravity once, at small and ragged sizes, for
-- tests/sanitize.sh. Results are looked at by the suite, not here.
local sim = require "sim"

local done = 0
local function steps(options, n, count)
    local own = { dt = 1e-3, softening = 0.05 }
    for key, value in pairs(options) do own[key] = value end
    local stars = sim.bodies(own)
    stars:add(sim.plummer { n = n, seed = 1, name = "halo" })
    stars:add(sim.uniform_sphere { n = 40, seed = 2, name = "ball" })
    stars:step(count or 1)
    if count then
        stars:energy()
        stars:radii { fractions = { 0.5 } }
        stars:image { size = { 64, 48 }, width = 6 }
    end
    sim.finish()
    stars:close()
    done = done + 1
end

local ways = {
    { pairs = "plain", tiles = { 64, 128, 256 }, per_thread = { 1, 2, 4, 8 }, n = 600 },
    { pairs = "symmetric", tiles = { 32, 64, 128 }, per_thread = { 4, 8, 16 }, n = 1337 },
}
for _, precision in ipairs { "single", "mixed", "double" } do
    for _, way in ipairs(ways) do
        for _, tile in ipairs(way.tiles) do
            for _, per_thread in ipairs(way.per_thread) do
                for _, soft in ipairs { 0.05, 0 } do
                    pcall(steps, { precision = precision, pairs = way.pairs, tile = tile,
                        per_thread = per_thread, softening = soft }, way.n)
                end
            end
        end
    end
    pcall(steps, { precision = precision, pairs = "resident" }, 300)
    pcall(steps, { precision = precision, pairs = "resident", softening = 0 }, 300)
    for _, integrator in ipairs { "dkd", "yoshida4" } do
        steps({ precision = precision, integrator = integrator }, 500, 2)
    end
end
for _, kind in ipairs { "plummer", "spline" } do
    for _, precision in ipairs { "single", "double" } do
        local stars = sim.bodies { dt = 1e-3, softening = 0.05, softening_kind = kind,
            precision = precision }
        stars:add(sim.plummer { n = 300, seed = 1, name = "halo" })
        stars:add(sim.uniform_sphere { n = 40, seed = 2, name = "ball" })
        stars:soften { group = "ball", length = 0.2 }
        stars:step(2)
        stars:energy()
        stars:image { size = { 64, 48 }, width = 6 }
    end
end
for _, precision in ipairs { "single", "double" } do
    local stars = sim.bodies { dt = 1e-3, precision = precision, on_close = "merge",
        merge_distance = 0.3 }
    stars:add(sim.plummer { n = 300, seed = 1 })
    stars:step(3)
end
local few = sim.bodies { dt = 1e-3, precision = "double", integrator = "hermite4",
    adaptive = { eta = 0.01 } }
few:add(sim.plummer { n = 33, seed = 1 })
few:step(3)
print(("gravity: %d systems"):format(done))
assert(done > 50, "most variants should take these sizes")
