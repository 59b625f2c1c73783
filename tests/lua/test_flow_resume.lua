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

local function run(arguments, want)
    local code, out, err = command.run("--quiet " .. arguments, { folder = home })
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

-- A scene that was built otherwise is refused, also when told to go on.
do
    run "--out other --frames 3 scene.lua"
    local _, err = run("--out other --resume-anyway scene.lua --obstacles 2", 2)
    check.that(err:find("obstacles", 1, true), err)
end

command.clean()
return check.report()
