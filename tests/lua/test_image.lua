-- test_image.lua - stars:image, its words and their errors, labels, saving, transfers.
local sim = require "sim"
local check = require "check"

-- "A" a body right of the middle, "B.halo" one left of it, "B.disc" one above.
local function scene()
    local stars = sim.bodies { softening = 0.1, dt = 0.01 }
    stars:add(sim.body { name = "A", mass = 1, position = { 2, 0, 0 } })
    stars:add(sim.body { name = "B.halo", mass = 1, position = { -2, 0, 0 } })
    stars:add(sim.body { name = "B.disc", mass = 2, position = { 0, 1, 0 } })
    return stars
end

local stars = scene()
local function shot(options)
    options.size = options.size or { 80, 40 }
    options.width = options.width or 8
    return stars:image(options)
end
local function light(image, x, y)
    local r, g, b = image:pixel(x, y)
    return r + g + b
end

do -- where bodies are, and that halos are hidden
    local image = shot { map = "grey", glow = 0 }
    check.equal(image.width, 80, "width")
    check.equal(image.height, 40, "height")
    check.that(light(image, 60, 20) > 100, "A is right of the middle")
    check.that(light(image, 40, 10) > 100, "B.disc is above the middle")
    check.equal(light(image, 20, 20), 0, "a halo is not drawn")
    check.equal(light(image, 40, 30), 0, "nothing below")
    check.that(tostring(image):find("80 x 40", 1, true), tostring(image))
end

do -- show, hide, follow, colours
    local image = shot { map = "grey", glow = 0, show = "halo" }
    check.that(light(image, 20, 20) > 100, "a shown halo is drawn")
    check.equal(light(image, 60, 20), 0, "what is not shown is not drawn")
    image = shot { map = "grey", glow = 0, show = { "A", "B" }, hide = { "disc" } }
    check.that(light(image, 60, 20) > 100, "A is shown")
    check.that(light(image, 20, 20) > 100, "B.halo is shown by B")
    check.equal(light(image, 40, 10), 0, "hide wins over show")
    image = shot { map = "grey", glow = 0, follow = "A" }
    check.that(light(image, 40, 20) > 100, "what is followed is in the middle")
    image = shot { glow = 0,
        colors = { all = "#0000ff", B = "#00ff00", ["B.disc"] = "#ff0000" } }
    local r, g, b = image:pixel(40, 10)
    check.that(r > 20 and g < r / 4 and b < r / 4, "the whole name counts most")
    r, g, b = image:pixel(60, 20)
    check.that(b > 20 and r < b / 4 and g < b / 4, "all counts least")
end

do -- errors, each with what helps
    local function bad(phrases, options)
        check.fails(phrases, function() stars:image(options) end)
    end
    bad({ "width", "test_image.lua" }, {})
    bad({ "widht", "width" }, { widht = 3 })
    bad("width", { width = 0 })
    bad("width", { width = 0 / 0 })
    bad("size", { width = 1, size = { 10.5, 10 } })
    bad("size", { width = 1, size = { 0, 10 } })
    bad("size", { width = 1, size = { 16385, 10 } })
    bad({ "no group 'B.dics'", "did you mean 'B.disc'", "A, B.halo, B.disc" },
        { width = 1, show = { "B.dics" } })
    bad("no group", { width = 1, follow = "C" })
    bad("no group", { width = 1, colors = { C = "#ffffff" } })
    bad({ "A", "#rrggbb" }, { width = 1, colors = { A = "orange" } })
    bad("colors", { width = 1, colors = "#ffffff" })
    bad("show", { width = 1, show = 3 })
    bad("not both", { width = 1, map = "grey", colors = { A = "#ffffff" } })
    bad("perspective", { width = 1, fov = 30 })
    bad("not both", { width = 1, projection = "perspective", fov = 30, distance = 3 })
    bad({ "map", "inferno" }, { width = 1, map = "infermo" })
    bad("supersample", { width = 1, supersample = 5 })
    local none = sim.bodies { dt = 1 }
    check.fails("no bodies", function() none:image { width = 1 } end)
end

do -- labels and scale bars
    local image = shot { size = { 320, 180 }, map = "grey", glow = 0, show = "A" }
    local function ink(x0, y0, x1, y1)
        local sum = 0
        for y = y0, y1, 2 do
            for x = x0, x1, 2 do sum = sum + light(image, x, y) end
        end
        return sum
    end
    check.equal(ink(0, 0, 100, 40), 0, "nothing yet")
    check.equal(image:label { text = "t = 1", size = 80 }, image, "label returns its picture")
    check.that(ink(0, 0, 100, 40) > 1000, "the label is at the top left")
    check.equal(ink(200, 140, 319, 179), 0, "no bar yet")
    image:scalebar { length = 2, text = "%s kpc", size = 60 }
    check.that(ink(200, 140, 319, 179) > 1000, "the bar is at the bottom right")
    image:label { text = "x", position = { 0.5, 1 } }
    image:label { text = "", position = "centre" }
    image:label { text = ("é"):rep(200), position = "bottom" }
    check.fails("200 letters", function() image:label { text = ("é"):rep(201) } end)
    check.fails("position", function() image:label { text = "x", position = "top up" } end)
    check.fails("position", function() image:label { text = "x", position = { 2, 0 } } end)
    check.fails("text", function() image:label {} end)
    check.fails("wider", function() image:scalebar { length = 100 } end)
end

do -- nothing goes up, one picture comes down
    local name = os.tmpname() .. ".png"
    shot({ follow = "A" }):save(name):close()
    stars:step(2)
    sim.finish()
    local before = sim.stats()
    local image = shot { follow = "A", colors = { A = "#ffd0a0" } }
    image:label { text = "t" }
    local between = sim.stats()
    image:save(name)
    local after = sim.stats()
    check.equal(between.bytes_down, before.bytes_down, "making a picture reads nothing")
    check.equal(after.bytes_up, before.bytes_up, "and sends nothing")
    local down = after.bytes_down - before.bytes_down
    check.that(down > 9600 and down <= 9600 + 256, "pixels and a small tail come down")
    image:close()
    check.fails("closed", function() image:save(name) end)
    check.fails("string", function() shot({}):save(3) end)
    check.fails("colon", function() shot({}).save("x.png") end)
    check.fails("pixel", function() shot({}):pixel(80, 0) end)
    os.remove(name)
end

do -- dropped pictures do not pile up
    for _ = 1, 200 do shot { size = { 640, 360 }, glow = 0 } end
    check.that(sim.stats().live_bytes < 64 * 2 ^ 20, "dropped pictures are collected")
end

check.report()
