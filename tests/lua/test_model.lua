-- test_model.lua - the scene words as scripts see them: sim.model, sim.rows,
-- sim.encounter, groups, placement, and what is said about mistakes. The physics is in
-- test_model.c.
local sim = require "sim"
local check = require "check"

local function same(a, b)
    for i = 1, math.max(#a, #b) do
        for k = 1, 7 do
            if a[i][k] ~= b[i][k] then return false end
        end
    end
    return true
end

do -- the object
    local model = sim.plummer { n = 10, mass = 3 }
    check.equal(#model, 10, "#model")
    check.equal(model.n, 10, "model.n")
    check.near(model.mass, 3, 1e-14, "model.mass")
    check.equal(#model:rows(), 10, "rows")
    check.equal(tostring(model):match("^sim.model %(10 bodies in 1 groups"),
        "sim.model (10 bodies in 1 groups", "tostring")
    model:close()
    model:close()
    check.fails("closed", function() return model:rows() end)
    check.fails("did you mean 'mass'", function() return sim.body {}.mas end)
end

do -- every random word: groups, seed, placement
    local words = { plummer = { "plummer" }, hernquist = { "hernquist" },
        uniform_sphere = { "sphere" }, disc = { "disc" },
        galaxy = { "galaxy.disc", "galaxy.bulge", "galaxy.halo" } }
    for word, groups in pairs(words) do
        local make = sim[word]
        local names = table.concat(make { n = 50 }.groups, " ")
        check.equal(names, table.concat(groups, " "), word)
        check.that(make { n = 50, name = "B" }.groups[1]:find("^B") == 1, word .. " name")
        local rows = make { n = 50, seed = 4 }:rows()
        check.that(same(rows, make { n = 50, seed = 4 }:rows()), word .. ": same seed")
        check.that(not same(rows, make { n = 50, seed = 5 }:rows()), word .. ": another")
        local moved = make { n = 50, seed = 4, tilt = { 90 }, position = { 1, 2, 3 },
            velocity = { 0, 0, 4 } }:rows()
        check.near(moved[7][3], rows[7][2] + 3, 1e-12, word .. ": y turns to z")
        check.near(moved[7][2], 2 - rows[7][3], 1e-12, word .. ": z turns to -y")
        check.near(moved[7][6], rows[7][5] + 4, 1e-12, word .. ": velocity")
        check.fails({ word, "n" }, make, {})
        check.fails({ "n must be a whole number", "1.5" }, make, { n = 1.5 })
        check.fails("n must be", make, { n = 0 })
        check.fails("n must be", make, { n = "12" })
        check.fails("n must be", make, { n = 2 ^ 63 })
        check.fails("did you mean 'seed'", make, { n = 5, sede = 1 })
        check.fails("position must be", make, { n = 5, position = { 1, 2 } })
        check.fails("tilt[1] must be", make, { n = 5, tilt = { 0 / 0 } })
        check.fails("group name", make, { n = 5, name = "" })
        check.fails("group name", make, { n = 5, name = ("x"):rep(40) })
    end
end

do -- galaxies
    check.equal(#sim.galaxy { n = 100, bulge = 0 }.groups, 2, "no bulge")
    check.equal(sim.galaxy { n = 1, bulge = 0, halo = 0 }.n, 1, "a disc of one star")
    check.fails("as many bodies", sim.galaxy, { n = 2 })
    check.fails("needs a disc, a bulge or a halo", sim.galaxy,
        { n = 9, disc = 0, bulge = 0, halo = 0 })
    check.fails({ "disc must be", "mass must be" }, sim.galaxy,
        { n = 9, disc = -1, mass = 1 / 0 })
    check.equal(table.concat(sim.disc { n = 5, centre = 1 }.groups, " "),
        "disc.disc disc.centre", "disc with a centre")
end

do -- one body
    local body = sim.body { mass = 2, position = { 1, 2, 3 }, velocity = { 4, 5, 6 } }
    check.equal(table.concat(body:rows()[1], " "), "1.0 2.0 3.0 4.0 5.0 6.0 2.0", "body")
    check.equal(sim.body {}.groups[1], "body", "its group")
end

do -- rows from a list, from names, from a function
    local list = { { 1, 2, 3, 4, 5, 6, 7 }, { x = 1, vz = 2 } }
    for _, model in ipairs { sim.rows(list), sim.rows { rows = list },
        sim.rows { n = 2, rows = function(i) return list[i] end } } do
        local rows = model:rows()
        check.equal(#rows, 2, "rows")
        check.equal(table.concat(rows[1], " "), "1.0 2.0 3.0 4.0 5.0 6.0 7.0", "by place")
        check.equal(table.concat(rows[2], " "), "1.0 0.0 0.0 0.0 0.0 2.0 1.0", "by name")
    end
    local model = sim.rows { m = 0, name = "A", position = { 5, 0, 0 }, { x = 1 } }
    local row = table.concat(model:rows()[1], " ")
    check.equal(row, "6.0 0.0 0.0 0.0 0.0 0.0 0.0", "moved")
    check.equal(model.groups[1], "A", "named")
    check.fails("rows or a file", sim.rows, {})
    check.fails("one of them", sim.rows, { rows = {}, file = "a.csv" })
    check.fails("one of them", sim.rows, { { x = 1 }, rows = {} })
    check.fails("empty", sim.rows, { rows = {} })
    check.fails("needs n", sim.rows, { rows = function() end })
    check.fails("its own length", sim.rows, { n = 3, rows = { { x = 1 } } })
    check.fails("row 1 must be a table, got nil", sim.rows,
        { n = 1, rows = function() end })
    check.fails("row 2 has 3 numbers", sim.rows, { { x = 1 }, { 1, 2, 3 } })
    check.fails({ "row 1", "'vq'", "did you mean 'v" }, sim.rows, { { vq = 1 } })
    check.fails("row 1: y must be a number, got string", sim.rows, { { x = 1, y = "2" } })
    check.fails("row 1: y is", sim.rows, { { x = 1, y = 0 / 0 } })
    check.fails("a list or a function", sim.rows, { rows = 5 })
    check.fails("mine", sim.rows, { n = 2, rows = function() error("mine") end })
end

do -- rows from files
    local path = os.tmpname()
    local function write(text)
        local file = assert(io.open(path .. ".csv", "w"))
        file:write(text)
        file:close()
        return path .. ".csv"
    end
    local good = write("x,y,m\n1,2,3\n4,5,6\n")
    local model = sim.rows { file = good, velocity = { 0, 0, 9 } }
    check.equal(table.concat(model:rows()[2], " "), "4.0 5.0 0.0 0.0 0.0 9.0 6.0", "csv")
    check.fails(":2: 'a' is not a number", sim.rows, { file = write("x,y\n1,a\n") })
    os.remove(path .. ".csv")
    os.remove(path)
    check.fails("cannot open", sim.rows, { file = path .. ".csv" })
    check.fails(".csv nor in .npy", sim.rows, { file = "bodies.txt" })
end

do -- encounters
    local a, b, time = sim.encounter { pericentre = 2, separation = 10 }
    check.near(a.position[1] + b.position[1], 0, 1e-14, "mass centre")
    check.near(math.sqrt((a.position[1] - b.position[1]) ^ 2 +
        (a.position[2] - b.position[2]) ^ 2), 10, 1e-12, "separation")
    check.near(time, math.sqrt(8) * (2 + 8 / 3), 1e-12, "Barker's equation")
    check.fails({ "pericentre is missing", "separation is missing" }, sim.encounter, {})
    check.fails("not on the orbit", sim.encounter, { pericentre = 2, separation = 1 })
    -- and two bodies put there come as near as was asked, when it was said
    local pair = sim.bodies { dt = time / 2000, precision = "double" }
    pair:add(sim.body { name = "a", position = a.position, velocity = a.velocity })
    pair:add(sim.body { name = "b", position = b.position, velocity = b.velocity })
    pair:step(2000)
    local p, q = pair:centre("a"), pair:centre("b")
    check.near(math.sqrt((p[1] - q[1]) ^ 2 + (p[2] - q[2]) ^ 2), 2, 1e-4, "pericentre")
    check.near(q[1] - p[1], 2, 1e-3, "in the direction of the angle")
end

return check.report()
