-- test_table.lua: sim.table's files, sim.plot's pictures, and math.random.
local check = require "check"
local command = require "command"

local home = command.folder()
local head = 'local sim = require "sim"\n'

local function run(text)
    local code, out, err = command.script(head .. text, "--quiet", { folder = home })
    return code, out, err
end

-- Rows as numbers that read back the same; a text with a comma; no run at all.
do
    local code, _, err = run [[
        local t = sim.table { "a.csv", "t [s]", "x", "word" }
        t:row(0.1, 1 / 3, "a,b"):row(2, -1e300, 'say "x"')
        t:close()
        local u = sim.table { "b.csv", "t" }
        u:row(7)]]
    check.equal(code, 0, err)
    local rows = command.read(home .. "/a.csv")
    check.equal(rows:match("^[^\n]*"), "t [s],x,word", "columns with units")
    check.equal(tonumber(rows:match("\n0.1,([^,]*),")), 1 / 3, "to the last bit")
    check.that(rows:find('"a,b"\n', 1, true) and rows:find('"say ""x"""\n', 1, true), rows)
    check.equal(command.read(home .. "/b.csv"), "t\n7\n", "one that nobody closed")
end

for text, phrase in pairs {
    ["sim.table {}"] = "needs a file and at least one column",
    ["sim.table { 'a.csv', 3 }"] = "takes texts",
    ["sim.table { 'a.csv', 't', colums = 't' }"] = "[colums]",
    ["sim.table { 'a.csv', 't' } sim.table { 'a.csv', 't' }"] = "already a table",
    ["sim.table { 'a.csv', 't' }:row(1, 2)"] = "has 1 columns, got 2 values",
    ["sim.table { 'a.csv', 't' }:row({})"] = "t must be a number or a text",
    ["sim.table { 'a.csv', 't' }.row(1)"] = "call it with a colon",
    ["sim.plot { 'a.png', table = { t = { 1 } } }"] = "x is missing",
    ["sim.plot { 'a.png', table = { tim = { 1 } }, x = 'time' }"] = "did you mean 'tim'",
    ["sim.plot { 'a.png', tabel = {} }"] = "no parameter 'tabel'",
} do
    local code, _, err = run(text)
    check.equal(code, 1, text)
    check.that(err:find("scene.lua:2:", 1, true) and err:find(phrase, 1, true), text .. ": " .. err)
end

-- A plot: white ground, the curve where it belongs, whatever the numbers are.
do
    local code, out, err = run [[
        local t, up = {}, {}
        for i = 0, 100 do t[i + 1], up[i + 1] = i, 2 * i end
        up[51] = 0 / 0
        local p = sim.plot { table = { t = t, up = up }, x = "t", size = { 400, 240 } }
        local blue = 0
        for x = 60, 380 do
            for y = 30, 200 do
                local r, _, b = p:pixel(x, y)
                if b - r > 80 then blue = blue + 1 end
            end
        end
        print(p.width, p.height, p:pixel(1, 1), blue > 300 and blue < 1500)
        sim.plot { table = { t = { 0 }, y = { 0 } }, x = "t" }
        sim.plot { table = { t = { 1, 2 }, y = { 0 / 0, 1 / 0 } }, x = "t" }
        sim.plot { table = { t = { 1e300, 2e300 }, y = { 1e-300, 2e-300 } }, x = "t" }
        sim.plot { "c.png", table = { t = {}, y = {} }, x = "t" }]]
    check.equal(code, 0, err)
    check.that(out:find("^400\t240\t255\t") and out:find("true\n$"), out)
    check.that(command.read(home .. "/c.png"), "a plot of nothing is a plot")
end

-- A plot of a run's table stands beside it; one of rows that wait for a file shows them.
do
    local code, out, err = run [[
        local t = sim.table { "r.csv", "k", "square" }
        t:row(-1, 1):row(0, 0)
        local before = sim.plot { table = t, x = "k" }
        sim.run { frames = 5, out = "plotted", step = function(k) t:row(k, k * k) end }
        local after = sim.plot { "r.png", table = t, x = "k" }
        sim.plot { "./here.png", table = t, x = "k" }
        local function blue(p)
            local count = 0
            for x = 100, 770 do
                for y = 40, 420 do
                    local r, _, b = p:pixel(x, y)
                    if b - r > 80 then count = count + 1 end
                end
            end
            return count
        end
        print(blue(before) > 0, blue(after) > 500)]]
    check.equal(code, 0, err)
    check.equal(out, "true\ttrue\n", "curves")
    check.that(command.read(home .. "/plotted/r.png"), "beside the table")
    check.equal(command.read(home .. "/r.png"), nil, "not in the current folder")
    check.that(command.read(home .. "/here.png"), "a name with a folder is taken as it is")
end

-- A run without a folder: rows go into the current one, as they come.
do
    local code, _, err = run [[
        local t = sim.table { "bare.csv", "k" }
        sim.run { frames = 3, step = function(k)
            t:row(k)
            assert(io.open "bare.csv":read "a" == (k == 1 and "k\n1\n" or "k\n1\n2\n"))
        end }
        t:row(9)]]
    check.equal(code, 0, err)
    check.equal(command.read(home .. "/bare.csv"), "k\n1\n2\n9\n", "no row is lost")
end

-- A script with two runs: each has its own rows.
do
    local code, _, err = run [[
        local t = sim.table { "t.csv", "k" }
        for i = 1, 2 do
            sim.run { frames = 3, out = "run" .. i, step = function(k) t:row(i * k) end }
        end]]
    check.equal(code, 0, err)
    check.equal(command.read(home .. "/run1/t.csv"), "k\n1\n2\n", "the first run's")
    check.equal(command.read(home .. "/run2/t.csv"), "k\n2\n4\n", "the second run's")
    code, _, err = command.run("verify run1 run2", { folder = home, device = "" })
    check.equal(code, 0, err)
end

-- math.random: the same in every run, by its seed; all of a range, nothing outside.
do
    local text = "math.randomseed(5) local t = {} for i = 1, 5 do t[i] = math.random(1000) end "
        .. "print(table.concat(t, ' '), math.random(), math.random(0))"
    local _, first = run(text)
    local _, second = run(text)
    check.equal(first, second, "the same numbers")
    local _, other = run((text:gsub("5%)", "6)", 1)))
    check.that(first ~= other, "another seed, other numbers")
    local code, out, err = run [[
        local seen, sum = {}, 0
        for _ = 1, 6000 do local k = math.random(-1, 4) seen[k] = (seen[k] or 0) + 1 end
        for k = -1, 4 do assert(math.abs(seen[k] - 1000) < 150, seen[k]) seen[k] = nil end
        assert(next(seen) == nil)
        for _ = 1, 10000 do
            local x = math.random()
            assert(x >= 0 and x < 1)
            sum = sum + x
        end
        assert(math.abs(sum / 10000 - 0.5) < 0.015, sum)
        assert(math.type(math.random(math.mininteger, math.maxinteger)) == "integer")
        assert(math.random(3, 3) == 3)
        assert(not pcall(math.random, 2, 1))
        print "good"]]
    check.equal(code, 0, err)
    check.equal(out, "good\n", "even, and within bounds")
end

command.clean()
return check.report()
