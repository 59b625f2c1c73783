-- test_flow.lua: sim.flow as scripts see it: every word, what it refuses, small physics.
local sim = require "sim"
local check = require "check"
local command = require "command"
local shape = sim.shape

local function make(more)
    local t = { size = { 16, 12 }, viscosity = 0.1 }
    for k, v in pairs(more or {}) do t[k] = v end
    if t.reynolds then t.viscosity = nil end
    return sim.flow(t)
end

local function channel(more)
    local f = make(more)
    f:side { side = "west", kind = "inflow", speed = 1 }
    f:side { side = "east", kind = "outflow" }
    f:side { side = "south-north", kind = "free-slip" }
    return f
end

-- A flow at rest stays so; its numbers and names.
do
    local f = make { reynolds = 50, length = 2, speed = 3, time = 4, dt_max = 0.1 }
    check.near(f.reynolds, 50, 1e-12)
    check.near(f.viscosity, 0.12, 1e-15)
    f:step()
    f:step(2)
    check.equal(f.steps, 3)
    check.near(f.time, 4.3, 1e-12, "time before the first step counts")
    check.near(f.dt, 0.1, 0)
    check.equal(f.u:norm(), 0, "rest")
    check.equal(f:divergence(), 0)
    check.equal(f:residual(), 0)
    check.that(tostring(f):find("16 x 12", 1, true), tostring(f))
    for _, name in ipairs { "u", "v", "pressure", "speed", "vorticity", "density", "stream" } do
        check.that(tostring(f[name]):find(name, 1, true), tostring(f[name]))
        check.that(f:field(name):max() == f[name]:max(), name)
    end
    check.that(tostring(f.u):find("17 x 12", 1, true), "u is at faces")
    check.that(tostring(f.stream):find("17 x 13", 1, true), "stream is at nodes")
    check.equal(f.density:min(), 1)
    local before = f.time
    f:advance(0.25)
    check.equal(f.time, before + 0.25, "advance lands exactly")
end

-- Uniform flow through, and its stream function; inflow by a function, by a profile.
do
    local f = channel { precision = "double" }
    f:advance(3)
    check.near(f.u:min(), 1, 1e-9, "uniform flow through")
    check.near(f.u:max(), 1, 1e-9)
    check.near(f.stream:probe(8, 12), 12, 1e-8, "stream function of a uniform flow")
    check.near(f.cfl, 0.5, 1e-9, "the CFL number asked for")

    local seen = {}
    f = make()
    f:side { side = "west", kind = "inflow", from = 3, to = 9, speed = function(y)
        seen[#seen + 1] = y
        return y
    end }
    f:side { side = "east", kind = "outflow" }
    f:project()
    check.equal(table.concat(seen, " "), "3.5 4.5 5.5 6.5 7.5 8.5", "once a cell of the part")
    check.equal(f.u:get(1, 6), 5.5)
    check.equal(f.u:get(1, 3), 0)

    f = make()
    f:side { side = "east", kind = "inflow", speed = 2, profile = "parabolic" }
    f:side { side = "west", kind = "zero-stress" }
    f:project()
    check.near(f.u:get(17, 6), -8 * 5.5 / 12 * 6.5 / 12, 1e-6, "parabola, into the domain")

    f = make()
    f:side { side = "south", kind = "inflow", velocity = { 0.5, 1 } }
    f:side { side = "north", kind = "pressure", pressure = 0 }
    f:project()
    check.equal(f.v:get(4, 1), 1)
end

-- Obstacles in pictures have the edges of their shapes where the flow meets them there, those
-- of cells where it meets cells; and they go and come.
do
    local function far_off(f, picture)
        local image, far = f.dye:image(picture), 0
        for y = 0, 119 do
            for x = 0, 119 do
                local from_edge = math.sqrt((x - 59.5) ^ 2 + (y - 59.5) ^ 2) - 36
                local r, g, b = image:pixel(x, y)
                local solid = r == 255 and g == 0 and b == 0
                if math.abs(from_edge) > 1 and solid ~= (from_edge < 0) then far = far + 1 end
            end
        end
        return far
    end
    local picture = { size = { 120, 120 }, map = "grey", range = { 0, 1 },
        mask_color = "#ff0000" }
    local disc = sim.shape.disc { centre = { 0.5, 0.5 }, radius = 0.3 }
    for wall, cells in pairs { cut = false, staircase = true } do
        local f <close> = sim.flow { size = { 10, 10 }, lx = 1, viscosity = 0.1, wall = wall }
        f:scalar { name = "dye" }
        f.dye:paint { value = 1 }
        f:obstacle { disc, name = "disc" }
        local function right()
            local far = far_off(f, picture)
            return cells and far > 100 or not cells and far == 0
        end
        check.that(right(), wall)
        f:remove "disc"
        check.that(far_off(f, picture) > 3000, "nothing is solid")
        f:obstacle { sim.shape.disc { centre = { 0.5, 0.5 }, radius = 0.2 }, name = "disc" }
        check.that(far_off(f, picture) > 1000, "a smaller one")
        f:remove "disc"
        f:obstacle { disc, name = "disc" }
        check.that(right(), wall .. ", again")
        -- all that is not in the disc has the dye's colour, right up to the edge
        local image = f.dye:image(picture)
        local r, g, b = image:pixel(59, 22)
        check.equal(r == 255 and g == 255 and b == 255, true, "dye by the edge")
        picture.smooth = false
        check.that(far_off(f, picture) > 100, "cells as squares")
        picture.smooth = nil
    end
end

-- A size that misses the field's shape by a part of a pixel is filled; one that misses it by more
-- is not.
do
    local u <close> = sim.field { size = { 27, 10 } }
    for width, want in pairs { [1000] = 0, [1010] = 255 } do
        local image = u:image { size = { width, 370 }, map = "grey", range = { 0, 1 },
            background = "#0000ff" }
        local _, _, b = image:pixel(width - 1, 100)
        check.equal(b, want, width .. " wide")
    end
end

-- Markers as dots: a dot of 6 pixels about a marker and nothing elsewhere; two that overlap are
-- no brighter than one.
do
    local f <close> = sim.flow { size = { 10, 10 }, lx = 1, viscosity = 0.1 }
    f:markers { points = { { 0.25, 0.75 }, { 0.25, 0.75 }, { 0.75, 0.25 }, { 0.999, 0.5 } } }
    local image = f.speed:image { size = { 100, 100 }, map = "grey", range = { 0, 1 },
        dots = { of = f:field "markers", size = 6 * 7.2, color = "#00ff00", strength = 0.5 } }
    local some = 0
    for y = 0, 99 do
        for x = 0, 99 do
            local r, g, b = image:pixel(x, y)
            local near = math.huge
            for _, m in ipairs { { 25, 25 }, { 75, 75 }, { 99.9, 50 } } do
                near = math.min(near, math.sqrt((x + 0.5 - m[1]) ^ 2 + (y + 0.5 - m[2]) ^ 2))
            end
            if r ~= 0 or b ~= 0 or near < 2.5 and g ~= 128 or near > 3.5 and g ~= 0 then
                some = some + 1
            end
        end
    end
    check.equal(some, 0, "pixels that are wrong")
    local none <close> = sim.flow { size = { 4, 4 }, lx = 1, viscosity = 0.1 }
    none.speed:image { dots = { of = none:field "markers" } } -- no markers, no dots
end

-- Lines and arrows over pictures: what is asked for wrongly.
do
    local f <close> = sim.flow { size = { 16, 16 }, lx = 1, viscosity = 0.1 }
    local double <close> = sim.field { size = { 16, 16 }, precision = "double" }
    local function wrong(words, picture) check.fails(words, f.speed.image, f.speed, picture) end
    wrong("contours: of must be a field", { contours = { levels = 3, of = 1 } })
    wrong("arrows: y must be a field", { arrows = { x = f.u, speed = 1 } })
    wrong("speed", { arrows = { x = f.u, y = f.v } })
    wrong("one precision", { arrows = { x = f.u, y = double, speed = 1 } })
    wrong("grain: x must be a field", { grain = {} })
    wrong("strength", { grain = { x = f.u, y = f.v, strength = 2 } })
    wrong("shade: of must be a field", { shade = { range = { 0, 1 } } })
    wrong("dots: of must count points", { dots = { of = f.u } })
    wrong("must differ", { shade = { of = f.u, range = { 1, 1 } } })
    f.speed:image { contours = { of = f.stream, levels = 3 }, shade = { of = double },
        grain = { x = f.u, y = f.v }, arrows = { x = f.u, y = f.v, speed = 1 } }
end

-- There is room for 15 signals at once, and any number one after the other.
do
    local f <close> = sim.flow { size = { 16, 4 }, lx = 1, viscosity = 0.1 }
    f:side { side = "east", kind = "outflow" }
    for k = 1, 40 do
        f:side { side = "west", kind = "inflow", speed = 1, ramp = k }
        f:step(1)
    end
    for k = 1, 14 do
        f:side { side = "north", kind = "no-slip", tangent = 1, ramp = k, from = k / 16 }
    end
    check.fails("ways to vary", f.side, f, { side = "south", kind = "no-slip", tangent = 1,
        ramp = 50 })
end

-- In time: a ramp, a sine.
do
    local f = channel { dt = 0.25 }
    f:side { side = "west", kind = "inflow", speed = 1, ramp = 2 }
    f:step(4)
    check.near(f.u:get(1, 5), 0.5, 1e-6, "half of the ramp")
    f:side { side = "west", kind = "inflow", speed = 1,
        sine = { mean = 2, amplitude = 1, period = 4 } }
    f:step(4)
    check.near(f.u:get(1, 5), 2, 1e-6, "2 + sin(pi)")
end

-- Couette and Poiseuille: steady states of the scheme, to rounding.
do
    local f = sim.flow { size = { 4, 8 }, ly = 1, lx = 0.5, viscosity = 1, precision = "double",
        tolerance = 1e-12 }
    f:side { side = "west-east", kind = "periodic" }
    f:side { side = "north", kind = "no-slip", tangent = 1 }
    check.equal(f:steady(1e-9), false, "not before the first step")
    f:advance(3)
    check.that(f:steady(1e-6), "steady: " .. f.change)
    check.near(f.u:get(2, 3), 2.5 / 8, 1e-10, "Couette")

    f = sim.flow { size = { 4, 8 }, ly = 1, lx = 0.5, viscosity = 1, precision = "double",
        force = { 8, 0 } }
    f:side { side = "west-east", kind = "periodic" }
    f:advance(3)
    -- the parabola through the walls as the differences see it: 4 y (1 - y) + h^2
    check.near(f.u:get(2, 4), 4 * 3.5 / 8 * 4.5 / 8 + 1 / 64, 1e-10, "Poiseuille")
    f:force { 0, 0 }
    f:advance(5)
    check.near(f.u:max(), 0, 1e-10, "without a force it comes to rest")
end

-- A field of forces: a number takes its place again.
do
    local push = sim.field { size = { 16, 12 }, value = 1 }
    local f = make { sides = "periodic", dt = 0.1 }
    f:force { push, 0.5 }
    f:step(10)
    check.near(f.u:mean(), 1, 1e-5, "accelerated by a field")
    check.near(f.v:mean(), 0.5, 1e-5, "and by a number")
    f:force { 0, 0 }
    f:step(10)
    check.near(f.u:mean(), 1, 1e-5, "no longer")
    f:force { 0, push }
    f:step(10)
    check.near(f.v:mean(), 1.5, 1e-5, "the other way")
end

-- Painting and projecting.
do
    local f = sim.flow { size = { 32, 32 }, lx = 2 * math.pi, viscosity = 0.01,
        sides = "periodic", precision = "double", chi = 0 }
    f.u:paint { value = function(x, y) return math.cos(x) * math.sin(y) + math.sin(x) end }
    f.v:paint { value = function(x, y) return -math.sin(x) * math.cos(y) end }
    check.that(f:divergence() > 1e-3, "painted with divergence")
    check.equal(f:project(), f)
    check.that(f:divergence() < 1e-9, f:divergence())
    check.equal(f.time, 0, "no time passes")
    local h = 2 * math.pi / 32
    check.near(f.u:get(3, 5), math.cos(2 * h) * math.sin(4.5 * h), 1e-8, "the gradient is gone")
    local before = f.u:norm()
    f:advance(0.5)
    check.near(f.u:norm() / before, math.exp(-2 * 0.01 * 0.5), 1e-2, "Taylor-Green decays")
    check.fails("cannot be changed", function() f.pressure:paint { value = 1 } end)
    check.that(f:residual() <= 1e-10, "converged")
    local last, all, stalled = f:cycles()
    check.that(last >= 1 and all >= last and stalled == 0, "cycles")
end

-- Obstacles: drag and lift, mirrored; taken away; both walls.
for _, wall in ipairs { "cut", "staircase" } do
    local f = channel { size = { 48, 32 }, lx = 12, reynolds = 20, wall = wall }
    local disc = shape.disc { centre = { 4, 4 }, radius = 0.6 }
    f:obstacle { disc, name = "disc" }
    f:advance(8)
    local drag, lift, torque = f:force_on("disc", { 4, 4 })
    check.that(drag > 0.7 and drag < 3, wall .. ": drag " .. drag)
    check.near(lift, 0, 1e-4, wall .. ": no lift by symmetry")
    check.near(torque, 0, 1e-4, wall .. ": no torque by symmetry")
    local _, _, moved = f:force_on("disc", { 4, 3 })
    check.near(moved, torque - drag, 1e-4, wall .. ": torque about a point below")
    check.equal(f.vorticity:probe(4, 4), 0, wall .. ": nothing turns inside")
    check.that(f:divergence() < 1e-5, wall .. ": divergence " .. f:divergence())
    f:remove("disc"):advance(20)
    check.near(f.u:min(), 1, 0.05, wall .. ": the wake is washed out")
    f:obstacle(disc)
    f:obstacle { shape = shape.box { from = { 8, 1 }, to = { 8.25, 3 } }, name = "plate" }
    f:step(5)
    check.fails({ "no obstacle 'disc'", "force_on" }, f.force_on, f, "disc")
    check.fails({ "'plat'", "did you mean 'plate'" }, f.remove, f, "plat")
    check.fails({ "an obstacle 'plate' already" }, f.obstacle, f, { disc, name = "plate" })
end

-- Scalars: carried, bounded, held, kept; their names are words.
do
    local f = channel { size = { 32, 8 } }
    local dye = f:scalar { name = "dye" }
    check.equal(f.dye:max(), 0)
    check.equal(f:field("dye"):sum(), dye:sum())
    f:scalar_side { scalar = "dye", side = "west", value = 1, from = 2, to = 5 }
    f:advance(60)
    check.near(dye:probe(31.5, 3.5), 1, 0.05, "carried through")
    check.near(dye:probe(31.5, 7.5), 0, 0.05, "but not beside")
    check.that(dye:max() < 1 + 1e-5 and dye:min() > -1e-5, "no new extrema")
    f:source { shape.box { from = { 10, 0 }, to = { 12, 8 } }, scalar = "dye", value = 0.25 }
    f:advance(40)
    check.near(dye:probe(31.5, 3.5), 0.25, 0.01, "held at a value")
    check.fails({ "one source" }, f.source, f, { scalar = "dye", shape = shape.disc {
        centre = { 1, 1 }, radius = 1 } })
    check.fails({ "'dy'", "did you mean 'dye'" }, f.scalar_side, f, { scalar = "dy",
        side = "west" })
    check.fails({ "name of its own" }, f.scalar, f, { name = "dye" })
    for _, word in ipairs { "step", "u", "time", "divergence", "u_centre" } do
        check.fails({ "word of flows" }, f.scalar, f, { name = word })
    end

    local g = make { sides = "periodic", size = { 24, 24 } }
    local heat = g:scalar { name = "heat", diffusivity = 0.2 }
    heat:paint { shape = shape.disc { centre = { 12, 8 }, radius = 3 }, value = 1 }
    local mass = heat:sum()
    g:buoyancy { scalar = "heat", gravity = { 0, -2 }, expansion = 0.5 }
    g:advance(4)
    check.near(heat:sum(), mass, 1e-4 * mass, "mass is kept")
    check.that(g.v:probe(12, 10) > 0.1, "what is hot rises: " .. g.v:probe(12, 10))
    local h = make { sides = "periodic", size = { 24, 24 } }
    h:scalar { name = "heat", diffusivity = 0.2 }:copy(sim.field { size = { 24, 24 } })
    h.heat:paint { shape = shape.disc { centre = { 12, 8 }, radius = 3 }, value = 1 }
    h:buoyancy { scalar = "heat", strength = { 0, 1 } }
    h:advance(4)
    check.equal(h.v:probe(12, 10), g.v:probe(12, 10), "strength is -gravity * expansion")
end

-- The fixed sweeps of the paper.
for _, solver in ipairs { "jacobi", "sor" } do
    local f = channel { size = { 24, 16 }, solver = solver, iterations = 2000,
        omega = solver == "sor" and 1.6 or nil }
    f:obstacle { shape.box { from = { 6, 6 }, to = { 8, 10 } }, name = "box" }
    f:step(3)
    check.equal((f:cycles()), 2000, solver)
    check.that(f:divergence() < 2e-3, solver .. ": " .. f:divergence())
end

-- Which solver: what was asked for, and why not the transform.
do
    local word, why = make():solver()
    check.equal(word, "multigrid")
    check.that(why:find("small", 1, true), why)
    check.equal(select("#", make { solver = "multigrid" }:solver()), 2)
    word, why = make { solver = "multigrid" }:solver()
    check.equal(word, "multigrid")
    check.equal(why, nil)
    check.equal((make { solver = "sor", iterations = 5 }:solver()), "sor")
    local f = channel { size = { 64, 80 } }
    local empty = sim.device().kind == "cuda" and f:solver() == "transform"
    check.equal((f:solver()), empty and "transform" or "multigrid")
    f:step(3)
    local cycles, all, _, transforms = f:cycles()
    check.equal(transforms > 0, empty, "transforms are counted")
    check.that(empty or all > 0, "cycles")
    check.equal(math.type(cycles), "integer")
    f:obstacle { shape.disc { centre = { 20, 40 }, radius = 8 }, name = "disc" }
    word, why = f:solver()
    check.equal(word, "multigrid")
    check.that(why:find("obstacle", 1, true), why)
    f:remove("disc")
    check.equal((f:solver()), empty and "transform" or "multigrid")
    f = make { solver = "transform" }
    f:side { side = "west-east", kind = "pressure", pressure = 0 }
    check.fails({ "transform", "prescribed pressure" }, f.step, f)
    check.fails({ "transform", "prescribed pressure" }, f.solver, f)
end

-- Closing: the flow, and its fields.
do
    local f = make()
    local u = f.u
    f:close()
    f:close()
    check.equal(tostring(f), "sim.flow (closed)")
    check.fails({ "closed" }, function() return f.u end)
    check.fails({ "closed" }, function() return f.time end)
    check.fails({ "step", "closed" }, function() f:step() end)
    check.fails({ "closed" }, function() u:max() end)
    f = make()
    check.fails({ "closed" }, f.side, f, { side = "west", kind = "inflow", speed = function()
        f:close()
        return 1
    end })
end

-- What is wrong is said.
check.fails({ "viscosity", "reynolds" }, sim.flow, { size = { 4, 4 } })
check.fails({ "not both" }, sim.flow, { size = { 4, 4 }, viscosity = 1, reynolds = 1 })
check.fails({ "not both" }, sim.flow, { size = { 4, 4 }, viscosity = 1, dx = 1, lx = 1 })
check.fails({ "whole numbers" }, sim.flow, { size = { 4.5, 4 }, viscosity = 1 })
check.fails({ "'viscosty'", "viscosity" }, sim.flow, { size = { 4, 4 }, viscosty = 1 })
check.fails({ "chi" }, make, { chi = 1.5 })
check.fails({ "chi" }, make, { viscosity = 0, chi = 0 })
check.fails({ "iterations" }, make, { solver = "jacobi" })
check.fails({ "omega" }, make, { omega = 1.2 })
check.fails({ "auto", "multigrid", "transform" }, make, { solver = "magic" })
check.fails({ "viscous limit" }, function() make { dt = 100 }:step() end)
check.fails({ "Courant" }, function()
    local f = channel { dt = 1.5 }
    f:step()
end)
local refused = {
    { { "kind" }, { side = "west" } },
    { { "kind", "no-slip", "periodic" }, { side = "west", kind = "wall" } },
    { { "side", "south-north" }, { side = "left", kind = "periodic" } },
    { { "speed" }, { side = "west", kind = "inflow" } },
    { { "speed", "outflow" }, { side = "west", kind = "outflow", speed = 1 } },
    { { "number or a function" }, { side = "west", kind = "inflow", speed = "1" } },
    { { "speed(0.5)", "x" }, { side = "west", kind = "inflow",
        speed = function() return "x" end } },
    { { "pressure" }, { side = "west", kind = "pressure" } },
    { { "moves along itself" }, { side = "west", kind = "no-slip", velocity = { 1, 0 } } },
    { { "not both" }, { side = "west", kind = "inflow", velocity = { 1, 0 }, speed = 1 } },
    { { "ramp or sine" }, { side = "west", kind = "inflow", speed = 1, ramp = 1,
        sine = { period = 1 } } },
    { { "sine" }, { side = "west", kind = "inflow", speed = 1, sine = {} } },
    { { "part", "periodic" }, { side = "west", kind = "periodic", from = 1 } },
    { { "no cell" }, { side = "west", kind = "no-slip", from = 20, to = 30 } },
    { { "from must be below to" }, { side = "west", kind = "no-slip", from = 2, to = 1 } },
}
for _, case in ipairs(refused) do
    local f = make()
    check.fails(case[1], f.side, f, case[2])
end
check.fails({ "periodic both" }, function()
    local f = make()
    f:side { side = "west", kind = "periodic" }
    f:step()
end)
check.fails({ "inflow" }, function()
    local f = make()
    f:side { side = "west", kind = "inflow", speed = 1 }
    f:step()
end)
do
    local f = make()
    check.fails({ "shape" }, f.obstacle, f, { name = "x" })
    check.fails({ "profile" }, f.obstacle, f, { shape.gaussian { centre = { 1, 1 },
        sigma = 1 } })
    check.fails({ "shape" }, f.obstacle, f, { 3 })
    check.fails({ "twice" }, f.obstacle, f, { shape.disc { centre = { 1, 1 }, radius = 1 },
        shape = 1 })
    check.fails({ "along x, along y" }, f.force, f, { 1 })
    check.fails({ "force" }, f.force, f, { 1, "2" })
    check.fails({ "16 x 12" }, f.force, f, { sim.field { size = { 3, 3 } }, 0 })
    check.fails({ "strength, or gravity" }, function()
        f:scalar { name = "t" }
        f:buoyancy { scalar = "t" }
    end)
    check.fails({ "'vorticty'", "vorticity" }, f.field, f, "vorticty")
    check.fails({ "vorticity" }, function() return f.vorticty end)
    check.fails({ "advance" }, f.advance, f, -1)
    check.fails({ "threshold" }, f.steady, f, 0)
    check.fails({ "number of steps" }, f.step, f, -1)
    f:obstacle { shape.disc { centre = { 8, 6 }, radius = 1.5 }, name = "a" }
    check.fails({ "no step" }, f.force_on, f, "a")
    check.fails({ "colon" }, function() f.step(3) end)
end

-- A divergence is named and ends the run by its own code, with pictures and without.
local blow_up = [[
local sim = require "sim"
local f = sim.flow { size = { 32, 32 }, viscosity = 0.01, dt = 1, force = { 0.1, 0.05 },
    sides = "periodic", chi = 0.5 }
f.u:paint { value = function(_, y) return math.sin(y) end }
f.v:paint { value = function(x, _) return math.sin(x) end }
]]
for what, text in pairs {
    pictures = "sim.run { frames = 60, step = function() f:step() end, image = function() "
        .. "return f.speed:image { scale = 1, range = { 0, 1 } } end }",
    numbers = "sim.run { frames = 60, step = function() f:step() end }",
    asked = "f:step(60) print(f.time)",
    advanced = "f:advance(60)",
} do
    local code, _, err = command.script(blow_up .. text, "--out out")
    check.equal(code, 5, what .. ": " .. err)
    for _, phrase in ipairs { "not finite at cell (", "step ", "t = ", "CFL number",
        "scene.lua:" } do
        check.that(err:find(phrase, 1, true), what .. ": " .. err)
    end
end

-- A fixed step that is too long is refused when it is looked at, before anything is NaN.
do
    local g = sim.flow { size = { 16, 16 }, dx = 1 / 16, viscosity = 1e-3, dt = 0.03, chi = 0 }
    g:side { side = "north", kind = "no-slip", velocity = { 1, 0 } }
    g:step(2)
    check.fails({ "fixed dt = 0.03", "stable limit 0.002", "step 1" }, function()
        return g.time
    end)
end

-- Markers: given, spread over a shape, let go by sources; counted a cell.
do
    local g = sim.flow { size = { 32, 16 }, dx = 1 / 32, viscosity = 0.01 }
    g:side { side = "west", kind = "inflow", speed = 1 }
    g:side { side = "east", kind = "outflow" }
    g:obstacle { sim.shape.disc { centre = { 0.6, 0.25 }, radius = 0.1 }, name = "d" }
    g:markers { points = { { 0.1, 0.1 } }, count = 50, seed = 3, every = 2, keep = 5,
        shape = sim.shape.box { from = { 0.4, 0.1 }, to = { 0.8, 0.4 } },
        sources = { { 0.05, 0.2 }, { 0.05, 0.3 } } }
    local markers = g:field("markers")
    check.equal(markers:sum(), 51)
    check.equal(markers:probe(0.6, 0.25), 0) -- none in the obstacle
    g:step(6)
    check.equal(markers:sum(), 57)
    check.fails({ "outside the grid" }, g.markers, g, { points = { { 2, 0 } } })
    check.fails({ "points[1]" }, g.markers, g, { points = { { 2 } } })
    check.fails({ "no room" }, g.markers, g, { count = 1,
        shape = sim.shape.box { from = { 3, 3 }, to = { 4, 4 } } })
    check.fails({ "no markers" }, g.markers, g, {})
    -- the pressure before the obstacle is above that behind it
    check.that(g:pressure_at(0.5, 0.25) > g:pressure_at(0.7, 0.25) + 0.1)
    check.near(g:pressure_at(0.2, 0.2), g.pressure:probe(0.2, 0.2), 1e-6)
    check.fails({ "outside the grid" }, g.pressure_at, g, 2, 0)
    check.fails({ "in an obstacle" }, g.pressure_at, g, 0.6, 0.25)
end

-- sim.run stops when the script says so, and a second call has nothing to do.
do
    local home = command.folder()
    command.write(home .. "/scene.lua", [[
local sim = require "sim"
local f = sim.flow { size = { 12, 12 }, lx = 1, reynolds = 10 }
f:side { side = "north", kind = "no-slip", tangent = 1 }
sim.run {
    frames = 60, step = function() f:advance(0.05) end,
    stop_when = function() return f:steady(0.05) end,
    image = function() return f.speed:image { scale = 1 } end,
}
print(f.steps)]])
    local code, first, err = command.run("--out out scene.lua", { folder = home })
    check.equal(code, 0, err)
    local record = command.read(home .. "/out/run.json")
    check.that(record:find('"status": "complete"', 1, true) and record:find('"stopped": true',
        1, true), record)
    local frames = tonumber(record:match '"frames": (%d+)')
    check.that(frames and frames > 3 and frames < 60, "stopped early")
    local last = ("%s/out/frame_%06d.png"):format(home, frames - 1)
    check.that(command.read(last), "the last frame is there")
    check.that(not command.read(("%s/out/frame_%06d.png"):format(home, frames)), "and no more")
    local _, again, said = command.run("--out out scene.lua", { folder = home })
    check.that(said:find("done before", 1, true), said)
    check.equal(again, first, "the same state")
end

command.clean()
return check.report()
