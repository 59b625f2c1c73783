-- Bodies that merge, as scripts see it: what is left, groups, pictures, what is refused, and
-- a run that was cut after a merger.
local sim = require "sim"
local check = require "check"
local command = require "command"

-- Three in a chain and one apart; the heaviest is the last of them, and a "sun".
local function system(options)
    options.dt = options.dt or 0.001
    options.on_close, options.merge_distance = "merge", 0.1
    local stars = sim.bodies(options)
    stars:add(sim.rows { name = "dust", rows = {
        { -0.08, 0, 0, 0, 2, 0, 1 },
        { 5, 0, 0, 0, 0, 0, 0.5 },
        { 0.08, 0, 0, 0, -2, 1, 1 },
    } })
    stars:add(sim.rows { name = "sun", rows = { { 0, 0.01, 0, 4, 0, 0, 6 } } })
    return stars
end

for _, integrator in ipairs { "leapfrog", "dkd", "yoshida4" } do
    for _, precision in ipairs { "single", "mixed", "double" } do
        local stars = system { integrator = integrator, precision = precision }
        check.equal(stars.n, 4, "before the first step")
        local before = stars:momentum()
        stars:step(3)
        check.equal(stars.n, 2, "after it")
        local rows = stars:rows()
        check.equal(#rows, 2, "rows")
        check.equal(rows[1][7], 8, "mass of what merged")
        check.near(rows[1][4], 3, 0.02, "its velocity")
        check.equal(rows[2][7], 0.5, "mass of the one apart")
        check.equal(select(2, stars:mass "sun"), 1, "one in the heaviest's group")
        check.equal(select(2, stars:mass "dust"), 1, "one in the other's")
        check.equal(#stars:rows "dust", 1, "rows of a group")
        for k = 1, 3 do check.near(stars:momentum()[k], before[k], 1e-5, "momentum") end
        stars:close()
    end
end

-- The same in any order of storage, step after step and several in one, in each precision:
-- without forces, whose sums do know an order.
local function left_of(options, order)
    local rows, out, n = {}, {}, 400
    local function part(i, a) return (math.sin(i * a) * 43758.5453) % 1 end
    for k = 0, n - 1 do
        local i = order and k * 211 % n or k
        local mass = i % 9 == 0 and 0 or 0.1 + part(i, 1.77) * 10 ^ (i % 5)
        rows[k + 1] = { part(i, 12.9898), part(i, 78.233), part(i, 37.719),
            part(i, 4.1) - 0.5, part(i, 9.77) - 0.5, part(i, 3.33) - 0.5, mass }
    end
    options.dt, options.G = 1e-3, 1e-300
    options.on_close, options.merge_distance = "merge", 0.08
    local stars = sim.bodies(options)
    stars:add(sim.rows { rows = rows })
    stars:step()
    local first = stars.n
    stars:step(30)
    for i, s in ipairs(stars:rows()) do
        out[i] = ("%a %a %a %a %a %a %a"):format(table.unpack(s))
    end
    table.sort(out)
    check.that(first < 300 and stars.n < first, "several merge in one step, others later")
    return table.concat(out, "\n")
end
for _, options in ipairs {
    { precision = "single" }, { precision = "mixed", integrator = "dkd" },
    { precision = "double", integrator = "yoshida4" },
    { precision = "double", integrator = "hermite4" },
} do
    check.equal(left_of(options, true), left_of(options, false), options.precision)
end

-- No light of what is gone: the same picture as of the one in view and three out of it.
do
    local folder = command.folder()
    local code, _, err = command.script(([[
        local sim = require "sim"
        local merged = sim.bodies { dt = 0.001, on_close = "merge", merge_distance = 0.1 }
        merged:add(sim.rows { rows = {
            { -0.08, 0, 0, 0, 2, 0, 1 }, { 0.4, 0.3, 0, 0, 0, 0, 1 }, { 0, 0, 0, 3, 0, 0, 1 },
            { 0.08, 0, 0, 0, 0, 0, 1 } } })
        merged:step()
        local single = sim.bodies { dt = 0.001 }
        single:add(sim.rows { rows = merged:rows() })
        single:add(sim.rows { rows = {
            { 1e3, 0, 0, 0, 0, 0, 1 }, { 1e3, 1, 0, 0, 0, 0, 1 } } })
        for name, bodies in pairs { a = merged, b = single } do
            bodies:image { size = { 64, 64 }, width = 2, map = "grey", show = "all" }
                :save("%s/" .. name .. ".png")
        end
    ]]):format(folder))
    check.equal(code, 0, err)
    local a, b = command.read(folder .. "/a.png"), command.read(folder .. "/b.png")
    check.that(a and #a > 100 and a == b, "light")
end

-- No warning of lost energy, which a merger may lose.
local _, _, said = command.script([[
    local sim = require "sim"
    local b = sim.bodies { dt = 0.01, on_close = "merge", merge_distance = 0.5 }
    b:add(sim.rows { rows = { { 0, 0, 0, 0, 0, 0, 1 }, { 1, 0, 0, -5, 0, 0, 1 } } })
    b:energy() b:step(50) b:energy()
    print(b.n)
]])
check.that(not said:find("energy of the bodies", 1, true), said)

-- A run that was cut after some have merged goes on to the same bytes.
do
    local home = command.folder()
    command.write(home .. "/scene.lua", [[
        local sim = require "sim"
        local b = sim.bodies { dt = 0.02, on_close = "merge", merge_distance = 0.1 }
        b:add(sim.uniform_sphere { n = 200, mass = 1, radius = 1, seed = 3 })
        sim.run { frames = 7, checkpoint = { frames = 1 },
            step = function(k)
                b:step(5)
                if k == 4 and os.getenv "STOP" then os.execute("kill -TERM $PPID") end
            end,
            image = function() return b:image { size = { 64, 64 }, width = 3 } end }
        print(b.n, b:momentum()[1], b:rows()[1][1])
    ]])
    local line = ("cd %s && %s %s --quiet --threads 1 --out %s scene.lua"):format(
        command.quote(home), "%s", command.quote(command.program), "%s")
    local code, want = command.shell(line:format("", "whole"))
    check.equal(code, 0, "whole")
    check.that(tonumber(want:match("%d+")) < 190, "some have merged: " .. want)
    check.equal((command.shell(line:format("STOP=1", "cut"))), 143, "cut")
    local again, have = command.shell(line:format("", "cut"))
    check.equal(again, 0, "on")
    check.equal(have, want, "what is left")
    for k = 0, 6 do
        local name = ("/frame_%06d.png"):format(k)
        check.that(command.read(home .. "/cut" .. name) == command.read(home .. "/whole" .. name),
            "frame " .. k)
    end
end

-- What cannot be.
local function make(options)
    options.dt = 1
    return sim.bodies(options)
end
check.fails("go together", make, { on_close = "merge" })
check.fails("go together", make, { merge_distance = 1 })
check.fails({ "merge_distance", "> 0" }, make, { on_close = "merge", merge_distance = 0 })
check.fails("inertia 1", make, { on_close = "merge", merge_distance = 1, coupling = "charge" })
check.fails("do not part", make,
    { on_close = "merge", merge_distance = 1, reversible = true, precision = "double" })
check.fails({ "body 1", "below 0" }, function()
    make { on_close = "merge", merge_distance = 1 }:add(sim.rows {
        rows = { { 0, 0, 0, 0, 0, 0, -1 } } })
end)
command.clean()

return check.report()
