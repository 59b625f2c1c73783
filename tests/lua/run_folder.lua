-- run_folder.lua: what tests of runs share: a small scene, and folders compared byte by byte.
local check = require "check"
local checkpoint = require "sim.checkpoint"
local command = require "command"
local host = require "sim.host"
local json = require "sim.json"

local run_folder = {}

-- A scene with a table, random numbers, sim.state, and a checkpoint each second frame. With
-- STOP_AT="3 TERM" in the environment it sends itself that signal in the step to frame 3;
-- with STOP_AT="3 HOLD" it stays in that step until somebody else ends it.
local frame = [[
local sim = require "sim"
local opt = sim.options { bodies = 40, frames = 8, seed = 1, slow = 0 }
$make
sim.state.calls = 0
sim.state.log = {}
local energy = sim.table { "energy.csv", "t [time]", "$name", "random" }
local stop_at, signal = (os.getenv "STOP_AT" or ""):match "(%d+) (%w+)"
sim.run {
    frames = opt.frames, checkpoint = { frames = 2 },
    step = function(k)
        $step
        sim.state.calls = sim.state.calls + 1
        sim.state.log[sim.state.calls % 3 + 1] = math.random(100)
        energy:row($time, $value, math.random())
        local stop, rest = k == tonumber(stop_at), opt.slow * 1e-3
        if stop and signal == "HOLD" then
            rest = 60
        elseif stop then
            io.popen(("kill -%s $PPID"):format(signal)):close()
        end
        local until_then = os.clock() + rest
        while os.clock() < until_then do end
    end,
    image = function(k) return $image end,
}
print(sim.state.calls, sim.state.log[1], sim.state.log[2], $value)
]]

local function compose(parts)
    return (frame:gsub("%$(%w+)", parts))
end

-- One for each domain: another domain is another entry.
run_folder.scenes = {
    gravity = compose {
        make = 'local stars = sim.bodies { softening = 0.05, dt = 0.01 }\n'
            .. "stars:add(sim.plummer { n = opt.bodies, seed = opt.seed })",
        step = "stars:step(3)", time = "stars.time",
        name = "kinetic [energy]", value = "stars:energy().kinetic",
        image = "stars:image { size = { 48, 27 }, width = 6 }",
    },
    diffusion = compose {
        make = 'local d = sim.diffusion { size = { opt.bodies, 24 }, preset = "mitosis" }\n'
            .. "d.u:paint { value = 1 }\n"
            .. "local spot = sim.shape.disc { centre = { 12, 12 }, radius = 5 }\n"
            .. "d.u:paint { value = 0.5, shape = spot }\nd.v:paint { value = 0.25, shape = spot }\n"
            .. "local sum = sim.field { size = { opt.bodies, 24 } }",
        step = "d:step(5) sum:add(d.v)", time = "d.time",
        name = "sum", value = "d.u:sum()",
        image = "(k % 2 == 0 and d.v or sum):image { size = { 40, 24 } }",
    },
    flow = compose {
        make = 'local f = sim.flow { size = { opt.bodies, 24 }, lx = 2, viscosity = 0.01 }\n'
            .. 'f:side { side = "west", kind = "inflow", speed = 1 }\n'
            .. 'f:side { side = "east", kind = "outflow" }\n'
            .. "local disc = sim.shape.disc { centre = { 0.6, 0.58 }, radius = 0.2 }\n"
            .. 'f:obstacle { disc, name = "d" }\n'
            .. 'f:scalar { name = "dye" }\n'
            .. "f.dye:paint { value = function(x, y) return x * y end }\n"
            .. 'f:markers { count = 30, sources = { { 0.1, 0.5 } }, every = 1, keep = 9 }',
        step = "f:advance(0.03)", time = "f.time",
        name = "drag", value = 'select(1, f:force_on "d")',
        image = '(k % 2 == 0 and f.dye or f:field "markers"):image { size = { 40, 24 } }',
    },
}
run_folder.scene = run_folder.scenes.gravity

function run_folder.names(folder)
    local found = {}
    for _, name in ipairs(host.list(folder)) do
        if name ~= "." and name ~= ".." then found[#found + 1] = name end
    end
    table.sort(found)
    return found
end

-- Two folders hold the same files with the same bytes.
function run_folder.same(have, want, what)
    local a, b = run_folder.names(have), run_folder.names(want)
    local passed = check.equal(table.concat(a, " "), table.concat(b, " "), what .. ": names")
    for _, name in ipairs(b) do
        local equal = command.read(have .. "/" .. name) == command.read(want .. "/" .. name)
        passed = check.that(equal, ("%s: %s differs"):format(what, name)) and passed
    end
    return passed
end

-- What is wrong with the files that a cut run left under final names, in words; nil when
-- nothing is: frames are those of the whole run, checkpoints and the record can be read.
function run_folder.broken(folder, whole)
    for _, name in ipairs(run_folder.names(folder)) do
        local path = folder .. "/" .. name
        if name:match "^frame_" then
            if command.read(path) ~= command.read(whole .. "/" .. name) then return name end
        elseif name:match "^checkpoint" then
            local at, why = checkpoint.probe(path)
            if not at then return why end
        elseif name == "run.json" and not pcall(json.decode, command.read(path)) then
            return name
        end
    end
    return nil
end

return run_folder
