-- test_diffusion.lua: sim.diffusion as scripts see it.
local sim = require "sim"
local check = require "check"
local shape = sim.shape

local function make(more)
    local t = { size = { 20, 12 }, dt = 0.2 }
    for k, v in pairs(more or {}) do t[k] = v end
    return sim.diffusion(t)
end

-- the experiment of the constant-memory text
do
    local d = sim.diffusion { size = { 100, 100 }, dt = 0.2, at = "node", precision = "double" }
    d:paint { shape = shape.disc { centre = { 50.5, 50.5 }, radius = 10 }, value = 1 }
    check.equal(d.u:sum(), 305, "cells of the disc")
    d:step(1000)
    check.near(d.u:get(51, 51), 0.114244671479245, 1e-13, "centre")
    check.near(d.u:sum(), 306.319247651099, 1e-10, "plain sum")
    check.equal(d.steps, 1000)
    check.near(d.time, 200, 1e-12)
end

-- walls, sources, times
do
    local d = make { precision = "double" }
    d:wall { side = "west", kind = "fixed", value = 1 }
    d:wall { side = "east", kind = "fixed", value = 0 }
    d:advance(4000)
    check.near(d.u:get(1, 3), 1 - 0.5 / 20, 1e-9, "linear between held walls")

    d = make { precision = "double" }
    d:source { rate = 0.5, pulse = { from = 1, to = 3 } }
    d:advance(10)
    check.near(d.u:mean(), 1, 1e-12, "a pulse of 2 units of time")

    d = make { precision = "double" }
    d:wall {
        side = "north", kind = "flux", value = 0.3, from = 5, to = 10,
        wave = { period = 7, mean = 1 },
    }
    d:step(35)
    check.near(d.u:sum(), 0.3 * 5 * 7, 1e-10, "flux through a part of a side over one wave")

    d = make()
    d:domain(shape.disc { centre = { 10, 6 }, radius = 4 })
    d:paint { value = 1, shape = shape.disc { centre = { 10, 6 }, radius = 2 } }
    local before = d.u:sum()
    d:step(50)
    check.near(d.u:sum(), before, 1e-4, "kept within the domain")
    check.equal(d.u:get(1, 1), 0)
end

-- ways of stepping
do
    local values = {}
    for _, variant in ipairs { "plain", "blocked", "auto" } do
        local d = make { size = { 200, 150 }, variant = variant, walls = "periodic" }
        d.u:paint { value = sim.noise { seed = 3 } }
        d:step(37)
        values[#values + 1] = d.u:get(17, 9)
        check.that(#d:describe() > 0)
    end
    check.equal(values[2], values[1], "blocked is plain")
    check.equal(values[3], values[1], "auto is plain")

    local jumped, stepped = make { precision = "double" }, make { precision = "double" }
    for _, d in ipairs { jumped, stepped } do d.u:paint { value = sim.noise { seed = 5 } } end
    jumped:jump(40)
    stepped:advance(40)
    check.near(jumped.u:get(3, 4), stepped.u:get(3, 4), 1e-12, "jump")

    local adi = make { dt = 5, integrator = "adi", precision = "double" }
    adi.u:paint { value = sim.noise { seed = 5 } }
    local mean = adi.u:mean()
    adi:step(100)
    check.near(adi.u:mean(), mean, 1e-12, "the mean stays")
    check.that(adi:describe():find "alternating")

    -- steps ten times the explicit limit take what eigenmodes cannot
    for _, integrator in ipairs { "adi", "crank-nicolson" } do
        local d = make { dt = 2.5, integrator = integrator, precision = "double" }
        d:wall { side = "west", kind = "fixed", value = 1 }
        d:wall { side = "east", kind = "robin", h = 0.5, value = 0 }
        d:advance(4000)
        check.near(d.u:get(1, 3), 1 - 0.5 / 22, 1e-9, integrator .. ": held and Robin walls")
        check.that(d:describe():find "sweep" or integrator == "adi")
    end
end

-- reactions, presets, members
do
    local d = sim.diffusion { size = { 32, 32 }, preset = "labyrinth", count = 3 }
    check.equal(d.count, 3)
    check.equal(d.dt, 1)
    d:field("u", 2):paint { value = 1 }
    d:step(10)
    check.near(d:field("u", 2):mean(), 1, 1e-6, "the filled state is steady")
    check.that(d:field("u", 1):mean() < 0.4, "the empty one fills up")
    check.equal(d:field("v", 3):max(), 0)
    d:close()
    check.fails("close", function() d:step() end)
end

-- a grid that no machine holds: one line, and the code of the device's memory
do
    local command = require "command"
    local folder = command.folder()
    command.write(folder .. "/large.lua", [[
local sim = require "sim"
sim.diffusion { size = { 65536, 65536 }, count = 65535, dt = 0.2 }
]])
    local code, _, err = command.shell(command.quote(command.program) .. " --device cpu --quiet "
        .. command.quote(folder .. "/large.lua"))
    check.equal(code, 4, "exit code of an over-large grid")
    check.that(err:find("large.lua:2: out of memory", 1, true), err)
    check.that(err:find("65536 x 65536", 1, true), err)
    local _, lines = err:gsub("\n", "")
    check.that(lines <= 1, err)
    command.clean()
end

-- what is wrong is said
check.fails({ "dt", "missing" }, sim.diffusion, { size = { 4, 4 } })
check.fails("difusivity", sim.diffusion, { size = { 4, 4 }, dt = 1, difusivity = 1 })
check.fails({ "explicit limit", "0.25" }, function() make { dt = 0.3 }:step() end)
check.fails({ "labyrint", "labyrinth" }, sim.diffusion, { size = { 4, 4 }, preset = "labyrint" })
check.fails({ "gray-scott", "'f'" }, sim.diffusion,
    { size = { 4, 4 }, dt = 1, reaction = "gray-scott", parameters = { f = 1 } })
check.fails("both be periodic", function()
    local d = make()
    d:wall { side = "west", kind = "periodic" }
    d:step()
end)
check.fails("kind", function() make():wall { side = "west" } end)
check.fails("jump", function() sim.diffusion { size = { 8, 8 }, preset = "spots" }:jump(10) end)
check.fails("species", function() make():field("v") end)
check.fails("variant", function() make { variant = "cluster", size = { 5000, 50 } }:step() end)

return check.report()
