-- diffusion.lua: every GPU kernel of diffusion and reaction once, at small sizes, for
-- tests/sanitize.sh. Results are looked at by the suite, not here.
local sim = require "sim"

local shapes = {
    { variant = "plain" },
    { variant = "small" },
    { variant = "cluster" },
    { variant = "cluster", depth = 2 },
    { variant = "blocked", depth = 4 },
    { variant = "blocked", depth = 6 },
    { variant = "blocked", depth = 8, rows = 16 },
    { variant = "blocked", depth = 12 },
}
local walls = { "no-flux", "fixed", "flux", "robin", "periodic" }

local function steps(options, shape, wall, at)
    local own = { size = { 150, 70 }, dt = 0.1, walls = wall, at = at }
    for _, set in ipairs { options, shape } do
        for key, value in pairs(set) do own[key] = value end
    end
    local d = sim.diffusion(own)
    d.u:paint { value = 1, shape = sim.shape.disc { centre = { 70, 30 }, radius = 20 } }
    local ok = pcall(d.step, d, 25) -- not each variant takes each size and wall
    d:close()
    return ok
end

local done = 0
for _, precision in ipairs { "single", "double" } do
    for k, wall in ipairs(walls) do
        for s, shape in ipairs(shapes) do
            local at = (k + s) % 2 == 0 and wall ~= "periodic" and "node" or "face"
            local count = shape.variant == "small" and 3 or 1
            if steps({ precision = precision, count = count }, shape, wall, at) then
                done = done + 1
            end
        end
    end
    for _, shape in ipairs(shapes) do
        if steps({ precision = precision, preset = "mitosis" }, shape, "periodic", "face") then
            done = done + 1
        end
    end
end

-- A field for D, a source, parts of sides, a step by lines, a jump by transforms.
local map = sim.field { size = { 150, 70 } }
map:paint { value = function(x, y) return 1 + 0.5 * math.sin(x / 9) * math.cos(y / 7) end }
for _, integrator in ipairs { "euler", "crank-nicolson", "adi" } do
    local d = sim.diffusion { size = { 150, 70 }, dt = 0.1, diffusivity = map,
        integrator = integrator }
    d:source { rate = 0.1 }
    d:wall { side = "west", kind = "fixed", value = 1, from = 10, to = 30 }
    d:step(3)
    d.u:sum()
end
print(("diffusion: %d systems"):format(done))
assert(done > 60, "most variants should take these sizes")
