-- run_folder.lua: what tests of runs share: a small scene, and folders compared byte by byte.
local check = require "check"
local command = require "command"

local run_folder = {}

-- Gravity, a table, random numbers, sim.state, and a checkpoint each second frame.
run_folder.scene = [[
local sim = require "sim"
local opt = sim.options { bodies = 40, frames = 8, seed = 1, slow = 0 }
local stars = sim.bodies { softening = 0.05, dt = 0.01 }
stars:add(sim.plummer { n = opt.bodies, seed = opt.seed })
sim.state.calls = 0
sim.state.log = {}
local energy = sim.table { "energy.csv", "t [time]", "kinetic [energy]", "random" }
sim.run {
    frames = opt.frames, checkpoint = { frames = 2 },
    step = function()
        stars:step(3)
        sim.state.calls = sim.state.calls + 1
        sim.state.log[sim.state.calls % 3 + 1] = math.random(100)
        energy:row(stars.time, stars:energy().kinetic, math.random())
        local until_then = os.clock() + opt.slow * 1e-3
        while os.clock() < until_then do end
    end,
    image = function() return stars:image { size = { 48, 27 }, width = 6 } end,
}
print(stars.steps, sim.state.calls, sim.state.log[1], sim.state.log[2])
]]

function run_folder.names(folder)
    local found, pipe = {}, assert(io.popen("ls -A " .. command.quote(folder)))
    for name in pipe:lines() do found[#found + 1] = name end
    pipe:close()
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

return run_folder
