-- Softening as scripts see it: the spline, lengths by group, what is refused, and a run that
-- was cut after its lengths had changed.
local sim = require "sim"
local check = require "check"
local command = require "command"

local function pair(options, distance)
    options.dt = options.dt or 1e-9
    options.precision = options.precision or "double"
    local stars = sim.bodies(options)
    stars:add(sim.rows { name = "disc", rows = { { 0, 0, 0, 0, 0, 0, 1 } } })
    stars:add(sim.rows { name = "halo", rows = { { distance, 0, 0, 0, 0, 0, 1 } } })
    return stars
end
local function depth(stars) return stars:energy().potential end

-- Depths: at the centre 1 / eps; beyond 2.8 eps Newton's; Plummer's for comparison.
check.near(depth(pair({ softening = 0.1, softening_kind = "spline" }, 0)), -10, 1e-12, "centre")
check.near(depth(pair({ softening = 0.1, softening_kind = "spline" }, 0.3)), -1 / 0.3, 1e-12,
    "beyond")
check.near(depth(pair({ softening = 0.1 }, 0)), -10, 1e-12, "plummer's centre")
check.near(depth(pair({ softening = 0.1 }, 0.3)), -1 / math.sqrt(0.1), 1e-12, "plummer")

-- A pair takes the greater length, whichever of the two it is.
for _, group in ipairs { "disc", "halo" } do
    local stars = pair({ softening = 0.01 }, 0)
    stars:soften { group = group, length = 0.5 }
    check.near(depth(stars), -2, 1e-12, "the greater: " .. group)
    stars:soften { length = 0.25 }
    check.equal(depth(stars), -4, "all")
    check.equal(stars.softening, 0.25, "softening")
    stars:add(sim.rows { name = "late", rows = { { 9, 0, 0, 0, 0, 0, 0 } } })
    check.equal(depth(stars), -4, "those that come later")
    stars:step(2)
end

-- The potential of a Plummer sphere of scale 3 pi / 16 against its softening
-- (tests/reference/nbody.md); the ratio scatters less than the potential.
do
    local cluster = sim.bodies { dt = 1 }
    cluster:add(sim.plummer { n = 4096, scale = 3 * math.pi / 16, seed = 5 })
    local hard = depth(cluster)
    check.near(hard, -0.5, 0.37 / 64 * 4, "potential")
    for _, case in ipairs { { 0.02, 0.99809 }, { 0.05, 0.99110 }, { 0.1, 0.97347 } } do
        cluster:soften { length = case[1] }
        check.near(depth(cluster) / hard, case[2], (1 - case[2]) * 0.1 + 2e-4, case[1])
    end
end

-- Halves of a galaxy with lengths of their own keep their energy.
do
    local stars = sim.bodies { softening = 0.05, dt = 0.01, softening_kind = "spline" }
    stars:add(sim.plummer { n = 300, name = "a", seed = 1 })
    stars:add(sim.plummer { n = 300, name = "b", seed = 2, position = { 1, 0, 0 } })
    stars:soften { group = "b", length = 0.2 }
    local before = stars:energy().total
    stars:step(50)
    check.near(stars:energy().total / before, 1, 1e-3, "energy")
    check.fails({ "soften", "no group", "'c'", "a, b" }, stars.soften, stars,
        { group = "c", length = 1 })
    check.fails({ "length", "missing" }, stars.soften, stars, {})
    check.fails("length", stars.soften, stars, { length = -1 })
    check.fails("squared", stars.soften, stars, { length = 1e-30 })
end
check.fails({ "softening_kind", "spline" }, pair, { softening_kind = "splin" }, 1)
check.fails("one Plummer softening", function()
    pair({ softening_kind = "spline", softening = 1, pairs = "symmetric" }, 1):step()
end)

-- A run that was cut after a change of lengths.
do
    local home = command.folder()
    command.write(home .. "/scene.lua", [[
        local sim = require "sim"
        local b = sim.bodies { dt = 0.02, softening = 0.1, softening_kind = "spline" }
        b:add(sim.plummer { n = 100, name = "a", seed = 3 })
        b:add(sim.plummer { n = 100, name = "b", seed = 4 })
        sim.run { frames = 6, checkpoint = { frames = 1 },
            step = function(k)
                if k == 2 then b:soften { group = "b", length = 0.4 } end
                b:step(5)
                if k == 4 and os.getenv "STOP" then os.execute("kill -TERM $PPID") end
            end,
            image = function() return b:image { size = { 64, 64 }, width = 3 } end }
        print(b:energy().total, b:rows()[1][1])
    ]])
    local line = ("cd %s && %s %s --quiet --threads 1 --out %s scene.lua"):format(
        command.quote(home), "%s", command.quote(command.program), "%s")
    local code, want = command.shell(line:format("", "whole"))
    check.equal(code, 0, "whole")
    check.equal((command.shell(line:format("STOP=1", "cut"))), 143, "cut")
    local again, have = command.shell(line:format("", "cut"))
    check.equal(again, 0, "on")
    check.equal(have, want, "what it came to")
end
command.clean()

return check.report()
