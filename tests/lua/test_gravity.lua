-- Gravity as scripts see it: integrators, precision, steps back, times between steps, and
-- what is refused.
local sim = require "sim"
local check = require "check"
local command = require "command"

local function pair(options)
    local stars = sim.bodies(options)
    stars:add(sim.rows { rows = {
        { 0, 0, 0, 0, 0, 0, 1 },
        { 1, 0, 0, 0, 1, 0, 1e-12 },
    } })
    return stars
end

local function place(stars) return stars:rows()[2] end

-- A circular orbit: the fourth-order schemes return closer than the leapfrogs.
local period = 2 * math.pi
local function miss(options)
    options.dt = period / 200
    options.precision = options.precision or "double"
    local stars = pair(options)
    stars:step(200)
    local x = place(stars)
    return math.sqrt((x[1] - 1) ^ 2 + x[2] ^ 2)
end
check.near(miss {} / 2.066e-3, 1, 0.05, "leapfrog")
check.near(miss { integrator = "dkd" } / 2.066e-3, 1, 0.05, "dkd")
check.near(miss { integrator = "yoshida4" } / 5.67e-6, 1, 0.05, "yoshida4")
check.near(miss { integrator = "hermite4" } / 1.55e-7, 1, 0.05, "hermite4")
check.near(miss { precision = "mixed" } / 2.066e-3, 1, 0.05, "mixed")

-- Between two steps, and back.
local stars = pair { dt = 0.1, precision = "double", reversible = true }
local before = place(stars)
stars:advance(1.234)
check.equal(stars.time, 1.234, "time shown")
check.equal(stars.steps, 12, "whole steps")
check.near(place(stars)[1], math.cos(1.234), 5e-3, "x between steps")
stars:step(-12)
check.equal(stars.time, 0, "time after stepping back")
for k = 1, 7 do check.equal(place(stars)[k], before[k], "component " .. k) end

-- Two galaxies that meet, there and back to the first bit, looked at in between.
for _, precision in ipairs { "mixed", "double" } do
    local both = sim.bodies {
        softening = 0.05, dt = 0.02, precision = precision, reversible = true,
    }
    both:add(sim.body { mass = 1e-3 })
    both:add(sim.galaxy { n = 120, position = { -3, 0, 0 }, velocity = { 0.6, 0.1, 0 }, seed = 1 })
    both:add(sim.galaxy { n = 120, position = { 3, 0, 0 }, velocity = { -0.6, -0.1, 0 },
        tilt = { 60, 30 }, seed = 2 })
    local start, changed = both:rows(), 0
    both:advance(1.2345)
    both:step(150)
    both:advance(5.4321)
    check.that(math.abs(both:rows()[100][1] - start[100][1]) > 0.5, "they move")
    both:advance(3.999)
    both:step(-both.steps)
    check.equal(both.time, 0, "back")
    for i, s in ipairs(both:rows()) do
        for k = 1, 7 do changed = changed + (s[k] == start[i][k] and 0 or 1) end
    end
    check.equal(changed, 0, precision .. ": numbers changed")
end

-- Adaptive steps end where they are told to.
do
    local comet = sim.bodies {
        dt = 0.5, precision = "double", integrator = "hermite4", adaptive = { eta = 1e-5 },
    }
    comet:add(sim.rows { rows = {
        { 0, 0, 0, 0, 0, 0, 1 },
        { 0.05, 0, 0, 0, math.sqrt(1.95 / 0.05), 0, 0 },
    } })
    local start = comet:rows()[2]
    comet:advance(period)
    check.equal(comet.time, period, "time of the comet")
    check.near(comet:rows()[2][1], start[1], 1e-4, "the comet returns")
    check.that(comet.steps > 100, "more than a hundred steps")
end

-- What cannot be.
check.fails("hermite4 needs", pair, { dt = 1, integrator = "hermite4" })
check.fails("leave out pairs", pair,
    { dt = 1, integrator = "hermite4", precision = "double", pairs = "symmetric" })
check.fails("corrections are of", pair, { dt = 1, corrections = 2 })
check.fails("squared", pair,
    { dt = 1, integrator = "hermite4", precision = "double", softening = 1e-170 })
check.fails("adaptive steps need", pair, { dt = 1, adaptive = {}, precision = "double" })
check.fails("reversible needs", pair, { dt = 1, reversible = true })
check.fails({ "integrator", "leapfrog" }, pair, { dt = 1, integrator = "leapfrok" })
check.fails({ "pairs", "symmetric" }, pair, { dt = 1, pairs = "symetric" })
local forced = pair { dt = 0.01, pairs = "symmetric" }
forced:step()
check.near(place(forced)[1], math.cos(0.01), 1e-6, "symmetric pairs without softening")
check.fails("one Plummer softening", function()
    pair({ dt = 1, pairs = "symmetric", softening_kind = "spline", softening = 1 }):step()
end)

-- Bodies at one place without softening: an error in every precision and every way to meet
-- the pairs, before the first step too, and the same number in a picture's.
for _, precision in ipairs { "single", "mixed", "double" } do
    for _, how in ipairs {
        { pairs = "plain" }, { pairs = "symmetric" }, { softening_kind = "spline" },
        { integrator = "dkd" }, { integrator = "yoshida4" }, { integrator = "hermite4" },
        { reversible = true }, { coupling = "charge" },
    } do
        local options = { dt = 0.1, precision = precision }
        for key, value in pairs(how) do options[key] = value end
        local made, together = pcall(sim.bodies, options)
        if made then
            together:add(sim.rows { rows = {
                { 0, 2, 0, 0, 0, 0, 1 }, { 1, 0, 0, 0, 0, 0, 1 }, { 1, 0, 0, 0, 0, 0, 1 } } })
            local function total() return together:energy().total end
            check.fails({ "body 2 met another", "softening" }, total)
            pcall(together.step, together)
            check.fails({ "body 2 met another", "softening" }, total)
        else
            check.that(tostring(together):find("needs precision", 1, true), tostring(together))
        end
    end
end
do
    local code, _, err = command.script([[
        local sim = require "sim"
        local b = sim.bodies { dt = 0.1 }
        b:add(sim.rows { rows = {
            { 0, 2, 0, 0, 0, 0, 1 }, { 1, 0, 0, 0, 0, 0, 1 }, { 1, 0, 0, 0, 0, 0, 1 } } })
        b:step()
        b:image { size = { 8, 8 }, width = 4 }:save "none.png"
    ]])
    check.equal(code, 5, err)
    check.that(err:find("body 2 is at the same place as another", 1, true), err)
end

-- What has overflown is an error, not a number that is none.
do
    local near = sim.bodies { dt = 1e-30, precision = "double", integrator = "hermite4" }
    near:add(sim.rows { rows = { { 0, 0, 0, 0, 0, 0, 1 }, { 1e-120, 0, 0, 0, 0, 0, 1 } } })
    near:step()
    for _, word in ipairs { "energy", "momentum", "radii" } do
        check.fails("body 1 is not finite", near[word], near)
    end
end

-- A warning of lost energy, once for each change.
local _, _, said = command.script([[
    local sim = require "sim"
    local bad = sim.bodies { dt = 1.5, precision = "double" }
    bad:add(sim.rows { rows = { { 0, 0, 0, 0, 0, 0, 1 }, { 1, 0, 0, 0, 1, 0, 0.1 } } })
    bad:energy()
    bad:energy()
    bad:step(20)
    bad:energy()
    bad:energy()
]])
local _, warnings = said:gsub("energy of the bodies has changed", "")
check.equal(warnings, 1, "warnings")

-- A run says it of itself, with pictures or without: the Pythagorean problem, whose close
-- encounter at t = 15.83 no fixed step of this length follows, and what does follow it.
do
    local scene = [[
        local sim = require "sim"
        local b = sim.bodies { dt = 0.002, precision = "double", %s }
        b:add(sim.rows { rows = {
            { 1, 3, 0, 0, 0, 0, 3 }, { -2, -1, 0, 0, 0, 0, 4 }, { 1, -1, 0, 0, 0, 0, 5 } } })
        sim.run { frames = 5, out = %q, step = function(k) b:advance(4 * k) end, %s }
    ]]
    local picture = "image = function() return b:image { size = { 8, 8 }, width = 9 } end"
    local function warned(options, image)
        local code, _, err = command.script(scene:format(options,
            command.folder() .. "/run", image))
        check.equal(code, 0, err)
        return err:find("energy of the bodies has changed from -12.8", 1, true) ~= nil
    end
    for _, integrator in ipairs { "leapfrog", "dkd", "yoshida4", "hermite4" } do
        check.that(warned(("integrator = %q"):format(integrator), picture), integrator)
    end
    check.that(warned("", ""), "without pictures")
    check.that(not warned([[integrator = "hermite4", adaptive = { eta = 1e-4 }]], picture),
        "adaptive steps follow it")
end

-- A run without pictures that ends in no numbers does not end well.
do
    local code, _, err = command.script([[
        local sim = require "sim"
        local b = sim.bodies { dt = 1e-30, precision = "double", integrator = "hermite4" }
        b:add(sim.rows { rows = { { 0, 0, 0, 0, 0, 0, 1 }, { 1e-120, 0, 0, 0, 0, 0, 1 } } })
        sim.run { frames = 3, step = function() b:step() end }
    ]])
    check.equal(code, 5, err)
    check.that(err:find("body 1 is not finite", 1, true), err)
end

-- Mixed precision: the total momentum is the same number after any steps.
do
    local cloud = sim.bodies { dt = 0.01, softening = 0.1, precision = "mixed" }
    cloud:add(sim.plummer { n = 500, mass = 1, velocity = { 0.3, -0.2, 0.1 }, seed = 3 })
    local first, energy = cloud:momentum(), cloud:energy().kinetic
    check.near(first[1], 0.3, 1e-6, "momentum")
    for _ = 1, 5 do
        cloud:step(7)
        for k, p in ipairs(cloud:momentum()) do check.equal(p, first[k], "momentum " .. k) end
    end
    check.that(cloud:energy().kinetic ~= energy, "the cloud moves")
end

-- Too fast for its unit: said once.
_, _, said = command.script([[
    local sim = require "sim"
    local fast = sim.bodies { dt = 1e-3, precision = "mixed" }
    fast:add(sim.rows { rows = { { 0, 0, 0, 0, 0, 0, 1 }, { 1e-4, 0, 0, 0, 0, 0, 1 },
        { 1, 0, 0, 0, 0, 0, 1 } } })
    print(fast:momentum()[1])
    fast:step(3)
    fast:momentum()
    fast:momentum()
]])
_, warnings = said:gsub("too fast to hold the total momentum exactly: 2;", "")
check.equal(warnings, 1, "warnings of speed: " .. said)

-- Which kernel is taken: few bodies plainly, many by pairs, or as asked for.
do
    local function kernel(n, options)
        local own = { dt = 1e-3, softening = 0.1 }
        for key, value in pairs(options or {}) do own[key] = value end
        local cloud = sim.bodies(own)
        cloud:add(sim.plummer { n = n })
        return cloud:kernel()
    end
    local on_gpu = sim.device().kind == "cuda"
    check.equal(kernel(100).pairs, on_gpu and "resident" or "plain")
    check.equal(kernel(20000).pairs, "symmetric")
    check.equal(kernel(20000, { pairs = "plain" }).pairs, "plain")
    check.equal(kernel(100, { softening_kind = "spline" }).pairs, "plain")
    check.equal(kernel(100).registers ~= nil, on_gpu)
    local ok, why = pcall(kernel, 10, { integrator = "hermite4", precision = "double" })
    check.that(not ok and why:find("hermite4 has one kernel", 1, true), tostring(why))
    if on_gpu then
        local cut = kernel(20000, { pairs = "symmetric", tile = 64, per_thread = 8 })
        check.equal(cut.tile * 1000 + cut.per_thread, 64008)
        check.that(cut.registers > 32 and cut.occupancy > 0 and cut.occupancy <= 1, "resources")
    end
end

-- A step that fails halfway is not gone on from, however the script catches it.
do
    local code, out, err = command.script([[
        local sim = require "sim"
        local b = sim.bodies { softening = 0.05, dt = 0.01 }
        b:add(sim.rows { rows = { { 1, 0, 0, 0, 0.5, 0, 1 }, { -1, 0, 0, 0, -0.5, 0, 1 } } })
        local ok, why = pcall(b.step, b, 5)
        print(ok, why)
        print(pcall(b.step, b, 5))
        b:rows()
    ]], nil, { env = "SIMLUA_FAIL=launch:7" })
    check.equal(code, 4, err)
    check.equal(select(2, out:gsub("false[^\n]*it failed, as SIMLUA_FAIL asks", "")), 2, out)
end

-- A model that could not be added leaves what there was: the same orbit as without it.
for _, scheme in ipairs { "leapfrog", "hermite4" } do
    local text = ([[
        local sim = require "sim"
        local b = sim.bodies { softening = 0.05, dt = 0.1, precision = "double",
            integrator = "%s" }
        b:add(sim.rows { rows = { { 1, 0, 0, 0, 0.5, 0, 1 }, { -1, 0, 0, 0, -0.5, 0, 1 } } })
        b:step(5)
        local ok = pcall(b.add, b, sim.rows { rows = { { 50, 0, 0, 0, 0.5, 0, 1 } } })
        if not ok or os.getenv "PLAIN" then b:step(5) end
        print(ok, b.n, ("%%.17g"):format(b:rows()[1][1]))
    ]]):format(scheme)
    local plain = text:gsub("local ok = pcall[^\n]*", "local ok = false")
    local _, want = command.script(plain)
    local failed = 0
    for at = 1, 20 do
        local options = { env = ("SIMLUA_FAIL=device:%d+"):format(at) }
        local code, out, err = command.script(text, nil, options)
        if code == 0 and out:find("^false") then
            failed = failed + 1
            check.equal(out, want, ("%s, device:%d+"):format(scheme, at))
        elseif code ~= 0 then
            check.that(code < 10 and err:find("memory", 1, true), ("%d: %s"):format(code, err))
        end
    end
    check.that(failed >= 4, scheme .. ": some arrays could not be had: " .. failed)
end

-- The lab of the tiles makes its table and its plot here too.
do
    local folder = command.folder()
    local lab = arg[0]:gsub("tests/lua/[^/]*$", "scripts/labs/nbody_tiling.lua")
    local code, out, err = command.run(("--quiet %s --most 256 --time 0.001 --plot %s/a.png")
        :format(command.quote(lab), command.quote(folder)))
    check.equal(code, 0, err)
    check.that(out:find("256 symmetric", 1, true) and out:find("256 plain", 1, true), out)
    check.equal((command.read(folder .. "/a.png") or ""):sub(2, 4), "PNG", "the plot")
end
command.clean()

return check.report()
