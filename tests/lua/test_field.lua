-- Fields and shapes as scripts see them.
local check = require "check"
local sim = require "sim"
local shape = sim.shape

local folder = os.getenv("TMPDIR") or "/tmp"
local function path(name)
    return folder .. "/lua_field_" .. name
end

-- making
local u = sim.field { size = { 40, 20 }, lx = 8, origin = { -4, -2 } }
check.equal(u.nx, 40, "nx")
check.equal(u.ny, 20, "ny")
check.near(u.dx, 0.2, 1e-15, "dx")
check.near(u.dy, 0.2, 1e-15, "dy")
check.equal(u.precision, "single", "precision")
check.that(tostring(u):find("40 x 20"), "tostring")
check.equal(sim.field { size = { 3, 2 }, value = 5 }:sum(), 30, "value")
check.fails("size is missing", sim.field, {})
check.fails("test_field.lua:", function() sim.field {} end)
check.fails({ "siez", "size" }, sim.field, { siez = { 1, 1 } })
check.fails("whole", sim.field, { size = { 1.5, 2 } })
check.fails("not both", sim.field, { size = { 2, 2 }, dx = 1, lx = 1 })

-- painting: numbers, functions of the sample's place, noise
u:paint { value = 2 }
check.equal(u:sum(), 1600, "painted everywhere")
u:paint { shape = shape.disc { centre = { 0, 0 }, radius = 1 }, value = 1, mode = "add" }
check.equal(u:max(), 3, "added")
local places = {}
u:paint { shape = shape.box { from = { -4, -2 }, to = { -3.6, -1.6 } },
    value = function(x, y)
        places[#places + 1] = x
        return 10 * x + y
    end }
check.equal(#places, 4, "asked once for each cell in the shape")
check.near(u:get(1, 1), -39 - 1.9, 1e-5, "the sample's place")
check.near(u:get(2, 1), -37 - 1.9, 1e-5, "x to the right")
check.near(u:get(1, 2), -39 - 1.7, 1e-5, "y up")
check.near(u:probe(-3.8, -1.8), (u:get(1, 1) + u:get(2, 2)) / 2, 1e-5, "probe")
check.fails({ "finite number", "(-3.9, -1.9)", "nil" }, u.paint, u,
    { value = function() end })
check.fails("boom", u.paint, u, { value = function() error("boom") end })
check.fails("number, a function or sim.noise", u.paint, u, { value = "1" })
check.fails("sim.shape", u.paint, u, { value = 1, shape = {} })
check.fails("value is missing", u.paint, u, {})

local function noisy(seed, size)
    return sim.field { size = { size, size }, precision = "double" }
        :paint { value = sim.noise { seed = seed, min = -1, max = 1 } }
end
check.equal(noisy(1, 30):sum(), noisy(1, 30):sum(), "the same seed")
check.that(noisy(1, 30):sum() ~= noisy(2, 30):sum(), "another seed")
check.that(math.abs(noisy(3, 100):mean()) < 4 / math.sqrt(3 * 1e4), "noise has mean 0")
check.fails("below", sim.noise, { min = 1, max = 1 })

-- arithmetic
local a, b = sim.field { size = { 3, 3 }, value = 2 }, sim.field { size = { 3, 3 }, value = 5 }
check.equal(a:add(b, 3):scale(2):add(1):get(2, 2), 35, "add, scale, add")
check.equal(a:clamp(0, 7):max(), 7, "clamp")
check.equal(a:copy(b):norm(), 15, "copy, norm")
check.equal(a:fill(-1):mean(), -1, "fill, mean")
check.fails("3 x 3", a.add, a, u)
check.fails({ "get: i", "from 1 to 3" }, a.get, a, 0, 1)
check.fails("clamp", a.clamp, a, 2, 1)

-- shapes as values
local one = shape.disc { centre = { 0, 0 }, radius = 2 }
local two = shape.box { from = { 0, 0 }, to = { 4, 4 } }
check.that((one + two):inside(3, 3) and (one + two):inside(-1, -1), "union")
check.that((one * two):inside(1, 1) and not (one * two):inside(-1, -1), "intersection")
check.that((one - two):inside(-1, -1) and not (one - two):inside(1, 1), "difference")
check.that((-one):inside(3, 3) and not (-one):inside(0, 0), "complement")
check.that(shape.union(one, two):inside(3, 3), "union as a word")
check.that(one:move(10, 0):inside(10, 1) and not one:move(10, 0):inside(0, 0), "move")
check.that(two:rotate(45):inside(2, 4.5) and not two:rotate(45):inside(0.1, 0.1), "rotate")
check.that(two:rotate(180, { 0, 0 }):inside(-1, -1), "rotate about a point")
check.that(one:scale(3):inside(5, 0), "scale")
check.equal(one:distance(5, 0), 3, "distance")
check.that(shape.polygon { { 0, 0 }, { 1, 0 }, { 0, 1 } }:inside(0.2, 0.2), "polygon")
check.that(shape.half_plane { point = { 0, 1 }, normal = { 0, 1 } }:inside(9, 1), "half_plane")
check.equal(select(3, two:bounds()), 4, "bounds")
check.fails({ "polygon", "corner 2" }, shape.polygon, { { 0, 0 }, { 1 }, { 0, 1 } })
check.fails("at least 3", shape.polygon, { { 0, 0 }, { 1, 0 } })
check.fails("union (+)", function() return one + 1 end)
check.fails({ "dist", "disc" }, function() return shape.dist end)
check.fails({ "nowhere.png" }, shape.image, { file = "nowhere.png", width = 1 })
check.fails("radius", shape.disc, { centre = { 0, 0 }, radius = -1 })

-- files
for _, ending in ipairs { "npy", "csv" } do
    local file = path("u." .. ending)
    local back = sim.field { size = { 40, 20 } }
    u:save(file)
    check.equal(back:load(file):add(u, -1):norm(), 0, ending .. " there and back")
    os.remove(file)
end
check.fails("must end in", u.save, u, path("u.txt"))
check.fails({ "nowhere", "u.npy" }, u.load, u, "/nowhere/u.npy")
u:save(path("u.png"))

-- pictures: nothing goes up or is waited for between frames
local picture = { map = "coolwarm", contours = { levels = 4 }, colorbar = { label = "u" } }
local image = u:image(picture)
check.that(image.width > 1200 and image.height <= 720, "the default size")
local before = sim.stats()
u:image(picture):beside(u:image { size = { 100, 100 }, range = { 0, 1 } })
local after = sim.stats()
check.equal(after.bytes_up, before.bytes_up, "nothing goes up")
check.equal(after.bytes_down, before.bytes_down, "nothing comes down")
check.equal(after.waits, before.waits, "nothing is waited for")
check.equal(u:image { scale = 3, range = { 0, 1 } }.width, 120, "scale")
local both = sim.image.beside(image, image, { gap = 20 })
check.equal(both.width, 2 * image.width + 20, "beside")
check.equal(select(2, both:pixel(5, 5)), select(2, both:pixel(image.width + 25, 5)), "alike")
check.fails("not both", u.image, u, { scale = 1, size = { 10, 10 } })
check.fails("low to high", u.image, u, { range = { 1, 1 } })
check.fails("range", u.image, u, { range = "automatic" })
check.fails("smooth", u.image, u, { smooth = "quintic" })
check.fails("levels", u.image, u, { contours = { levels = 65 } })
check.fails({ "contours.levels" }, u.image, u, { contours = {} })
check.fails({ "colorbar", "tick" }, u.image, u, { colorbar = { tick = 3 } })
check.fails({ "viridos", "viridis" }, u.image, u, { map = "viridos" })

-- a field that is not finite cannot be pictured by its own range
local wild = sim.field { size = { 5, 4 } }
wild:paint { shape = shape.disc { centre = { 2.5, 1.5 }, radius = 0.1 }, value = 1e38 }
wild:scale(1e30)
check.fails("the field is not finite at cell (3, 2)", wild.image, wild, {})
check.equal(wild:max(), math.huge, "infinite")

-- a film of it ends with the cell named and exit code 5
local command = require "command"
local code, _, err = command.script([[
local sim = require "sim"
local wild = sim.field { size = { 5, 4 }, value = 1e38 }
wild:scale(1e30)
wild:image { range = { 0, 1 } }:save("wild.png")
]])
check.equal(code, 5, "the exit code of a field that is not finite")
check.that(err:find("the field is not finite at cell (1, 1)", 1, true), err)
command.clean()

-- a solver's field is a view: it keeps the solver, and says when that was closed
local view = sim.diffusion { size = { 8, 8 }, dt = 0.1 }.u
collectgarbage()
collectgarbage()
view:paint { value = 3 }
check.equal(view:sum(), 192, "a view keeps its solver")
local solver = sim.diffusion { size = { 8, 8 }, dt = 0.1 }
view = solver.u
check.that(tostring(view):find("u"), "a view's name")
solver:close()
check.fails({ "sum", "was closed" }, view.sum, view)
check.that(tostring(view):find("closed"), "a view of what was closed, in words")
view:close()

-- closed, dropped
b:close()
b:close()
check.fails("closed", b.sum, b)
check.that(tostring(b):find("closed"), "closed in words")
one:close()
check.fails("closed", function() return one + two end)
for _ = 1, 200 do
    sim.field { size = { 1024, 256 } } -- 1 MiB each, dropped at once
end
check.that(sim.stats().live_bytes < 64 * 2 ^ 20, "dropped fields are given back")

sim.finish()
return check.report()
