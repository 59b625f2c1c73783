-- test_flow_resume.lua: a run of a flow that was cut goes on to the same bytes: velocity,
-- pressure, scalars, the time step, forces, automatic ranges.
local check = require "check"
local command = require "command"
local run_folder = require "run_folder"

local home = command.folder()
command.write(home .. "/scene.lua", [[
local sim = require "sim"
local opt = sim.options { frames = 8, precision = "single", paint = 0, obstacles = 1 }
local f = sim.flow {
    size = { 32, 20 }, lx = 8, reynolds = 80, precision = opt.precision, time = 0.5,
}
f:side { side = "west", kind = "inflow", speed = 1, profile = "parabolic",
    sine = { mean = 1, amplitude = 0.3, period = 1.7 } }
f:side { side = "east", kind = "outflow" }
for k = 1, opt.obstacles do
    f:obstacle { sim.shape.disc { centre = { 2 * k, 2.6 }, radius = 0.5 }, name = "disc" .. k }
end
f:scalar { name = "dye", diffusivity = 0.001 }
f:scalar { name = "heat" }
f:source { sim.shape.disc { centre = { 1, 2.5 }, radius = 0.4 }, scalar = "dye" }
f:scalar_side { scalar = "heat", side = "west", value = 1, from = 2 }
f:buoyancy { scalar = "heat", strength = { 0, 0.5 } }
local forces = sim.table { "force.csv", "t", "drag", "lift" }
sim.run {
    frames = opt.frames, checkpoint = { frames = 2 },
    step = function(frame)
        f:step(2)
        f:advance(0.11)
        local drag, lift = f:force_on "disc1"
        forces:row(f.time, drag, lift)
        if opt.paint > 0 then f.u:paint { value = frame, mode = "add" } end
    end,
    image = function()
        return f.vorticity:image { scale = 2, map = "coolwarm" }:beside(
            f.dye:image { scale = 2 })
    end,
}
print(f.time, f.steps, f.dt, f.change, f.cfl, f.u:norm(), f.heat:sum(), (f:cycles()),
    f.steps > 0 and f:force_on "disc1")
]])

-- One thread: on a loaded machine several wait for each other at every loop of so small a grid.
local function run(arguments, want)
    local code, out, err = command.run("--quiet --threads 1 " .. arguments, { folder = home })
    check.equal(code, want or 0, arguments .. ": " .. err)
    return out, err
end

for _, more in ipairs { "", " --precision double", " --paint 1" } do
    local name = "whole" .. #more
    local text = run("--out " .. name .. " scene.lua" .. more)
    check.equal(run("--out " .. name .. " scene.lua" .. more), text, "loaded, not stepped")
    for _, frames in ipairs { 1, 2, 5 } do
        local cut = ("cut%d_%d"):format(#more, frames)
        run(("--out %s --frames %d scene.lua%s"):format(cut, frames, more))
        local again = run(("--out %s scene.lua%s"):format(cut, more))
        check.equal(again, text, cut .. ": the last state")
        run_folder.same(home .. "/" .. cut, home .. "/" .. name, cut)
    end
end

-- A kill between two checkpoints.
do
    local killed = 0
    for k = 1, command.small and 2 or 5 do
        local out = "killed" .. k
        local code = command.shell(("cd %s && timeout -s KILL %.2f %s --device cpu --quiet "
            .. "--out %s scene.lua --frames 60"):format(command.quote(home), 0.02 * k,
            command.quote(command.program), out))
        killed = killed + (code == 137 and 1 or 0)
        run("--out " .. out .. " --frames 60 scene.lua")
        if k == 1 then run "--out long --frames 60 scene.lua" end
        run_folder.same(home .. "/" .. out, home .. "/long", out)
    end
    print(killed .. " kills")
end

-- A scene that the script changes while it runs: sides, obstacles (one of a picture that is
-- gone when the run goes on), forces, sources, buoyancy, markers. Each frame changes something,
-- and a run that was cut after any of them ends with the same bytes.
command.write(home .. "/changing.lua", [[
local sim = require "sim"
local shape = sim.shape
local opt = sim.options { frames = 9, precision = "single", wall = "cut", extra = 0 }
local f = sim.flow {
    size = { 40, 24 }, lx = 8, reynolds = 80, precision = opt.precision, wall = opt.wall,
}
f:side { side = "west", kind = "inflow", speed = 1, ramp = 0.2 }
f:side { side = "east", kind = "outflow" }
f:obstacle { shape.disc { centre = { 1.6, 2.6 }, radius = 0.4 }, name = "disc" }
for k = 1, opt.extra do
    f:obstacle { shape.disc { centre = { 1.6 + k, 1 }, radius = 0.3 }, name = "extra" .. k }
end
f:scalar { name = "dye", diffusivity = 0.001 }
f:scalar { name = "heat" }
f:source { shape.disc { centre = { 1, 2.5 }, radius = 0.4 }, scalar = "dye" }
f:markers { points = { { 0.5, 1 } } }
local push <close> = sim.field { size = { 40, 24 }, precision = opt.precision }
push:paint { value = function(x, y) return math.sin(x) * y * 0.01 end }
local late = shape.polygon { { 4, 1 }, { 5, 1 }, { 4.5, 1.8 } }:rotate(20, { 4.5, 1.4 })
local changes = {
    function()
        f:obstacle { shape.difference(shape.union(late, shape.disc { centre = { 4.5, 2 },
            radius = 0.3 }), shape.box { from = { 4, 1.2 }, to = { 4.4, 1.4 } }:move(0.1, 0)),
            name = "late" }
        f:obstacle { shape.image { file = "mask.png", position = { 6, 0.5 }, width = 1 }
            :rotate(30, { 6, 0.5 }), name = "picture" }
    end,
    function()
        f:side { side = "north", kind = "no-slip", tangent = 0.5, from = 2,
            sine = { period = 0.7, amplitude = 0.4 } }
        f:scalar_side { scalar = "heat", side = "west", value = 1, from = 2 }
    end,
    function() f:remove "disc" end,
    function() f:force { push, 0 } end,
    function()
        f:source { shape.disc { centre = { 2, 3.5 }, radius = 0.3 }, scalar = "heat", value = 2 }
        f:buoyancy { scalar = "heat", strength = { 0, 0.5 }, reference = 0.1 }
    end,
    function()
        f:markers { points = { { 1, 1 }, { 1, 2 } }, sources = { { 0.3, 3 } }, every = 2,
            keep = 20 }
    end,
    function()
        f:force { 0.1, 0.02 }
        f:side { side = "south", kind = "free-slip" }
    end,
    function() f:obstacle { shape.disc { centre = { 2.4, 2.2 }, radius = 0.3 }, name = "disc" } end,
}
sim.run {
    frames = opt.frames, checkpoint = { frames = 1 },
    step = function(frame)
        f:step(3)
        if changes[frame] then changes[frame]() end
    end,
    image = function()
        return f.vorticity:image { scale = 2, map = "coolwarm" }:beside(
            f:field "markers":image { scale = 2, range = { 0, 1 } })
    end,
}
print(f.time, f.steps, f.dt, f.u:norm(), f.v:norm(), f.pressure:norm(), f.heat:sum(),
    f.dye:sum(), f:field "markers":sum(), f.steps > 0 and f:force_on "late", (f:cycles()))
]])

local function mask()
    local code, _, err = command.script([[
        local u = require "sim".field { size = { 7, 5 } }
        u:paint { value = function(x, y) return (x + 2 * y) % 3 > 1 and 1 or 0 end }
        u:image { size = { 7, 5 }, smooth = false, range = { 0, 1 }, map = "grey" }
            :save "mask.png"]], "", { folder = home, name = "mask.lua" })
    check.equal(code, 0, err)
end

for more, cuts in pairs {
    [""] = command.small and { 2, 5, 8 } or { 2, 3, 4, 5, 6, 7, 8 },
    [" --precision double --wall staircase"] = { 4, 7 },
} do
    local name = "changed" .. #more
    mask()
    local text = run("--out " .. name .. " changing.lua" .. more)
    for _, frames in ipairs(cuts) do
        local cut = ("%s_%d"):format(name, frames)
        mask()
        run(("--out %s --frames %d changing.lua%s"):format(cut, frames, more))
        os.remove(home .. "/mask.png")
        local again = run(("--out %s changing.lua%s"):format(cut, more))
        check.equal(again, text, cut .. ": the last state")
        run_folder.same(home .. "/" .. cut, home .. "/" .. name, cut)
    end
end

-- What a state holds takes the place of what the script sets up, when told to go on.
do
    mask()
    local text = run "--out swapped --frames 5 changing.lua"
    check.equal(run "--out swapped --resume-anyway --frames 5 changing.lua --extra 2", text,
        "without the extra obstacles")
end

-- A scene that was built otherwise is refused, also when told to go on.
do
    run "--out other --frames 3 scene.lua"
    local _, err = run("--out other --resume-anyway scene.lua --precision double", 2)
    check.that(err:find("precision", 1, true), err)
end

command.clean()
return check.report()
