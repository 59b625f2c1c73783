-- flow.lua: every GPU kernel of the flow once, at small and ragged sizes, for
-- tests/sanitize.sh. Results are looked at by the suite, not here.
local sim = require "sim"

local function channel(options)
    local own = { size = { 97, 45 }, lx = 4, reynolds = 100 }
    for key, value in pairs(options) do own[key] = value end
    local f = sim.flow(own)
    f:side { side = "west", kind = "inflow", speed = 1, from = 0.3, to = 1.5 }
    f:side { side = "east", kind = "outflow" }
    f:obstacle { sim.shape.disc { centre = { 1, 0.9 }, radius = 0.3 }, name = "disc" }
    f:obstacle { sim.shape.box { from = { 2.4, 0.3 }, to = { 2.7, 0.6 } } }
    f:scalar { name = "dye", diffusivity = 1e-3 }
    f:source { scalar = "dye", value = 1,
        shape = sim.shape.disc { centre = { 0.4, 0.9 }, radius = 0.2 } }
    f:buoyancy { scalar = "dye", strength = { 0, 0.5 } }
    f:markers { count = 40, sources = { { 0.1, 0.9 } }, every = 1, keep = 9 }
    f:step(3)
    f:force_on "disc"
    f.dye:image { size = { 64, 40 } }
    f:field("vorticity"):image { size = { 64, 40 } }
    f:field("markers"):sum()
    f:close()
end

local function box(options)
    local own = { size = { 80, 96 }, lx = 1, reynolds = 100 }
    for key, value in pairs(options) do own[key] = value end
    local f = sim.flow(own)
    if own.sides ~= "periodic" then
        f:side { side = "north", kind = "no-slip", velocity = { 1, 0 } }
    else
        f.u:paint { value = function(_, y) return math.sin(2 * math.pi * y) end }
    end
    f:step(3)
    f:close()
end

for _, precision in ipairs { "single", "double" } do
    for _, solver in ipairs { "multigrid", "jacobi", "sor" } do
        local iterations = solver ~= "multigrid" and 5 or 20
        channel { precision = precision, solver = solver, iterations = iterations }
        for _, sides in ipairs { "no-slip", "free-slip", "periodic" } do
            box { precision = precision, solver = solver, sides = sides, iterations = iterations }
        end
    end
    channel { precision = precision, wall = "staircase", size = { 200, 90 } }
    for _, sides in ipairs { "no-slip", "periodic" } do
        pcall(box, { precision = precision, solver = "transform", sides = sides })
    end
end
print "flow: done"
