-- test_kills.lua: small runs of each domain are ended at random by SIGKILL and by SIGTERM;
-- each time the same command then ends with the bytes of an unbroken run.
--
-- Most signals come at a call of a random kind and number (SIMLUA_FAIL=write:7!9, see
-- src/fail.h), so that they hit however fast the machine is; the others at a random part of
-- the time that an unbroken run took. SIMLUA_KILLS=1000 asks for so many of each signal,
-- SIMLUA_SEED=7 for others.
local check = require "check"
local command = require "command"
local run_folder = require "run_folder"
local host = require "sim.host"

local quote = command.quote
local home = command.folder()
local kinds = { "memory", "device", "copy", "launch", "write", "open", "fsync", "rename",
    "mkdir" }
local total = tonumber(os.getenv "SIMLUA_KILLS") or command.small and 12 or 60

local function shell(line)
    return command.quick(home, line)
end

local function start(name, out, before)
    return shell(("%s %s --device cpu --quiet --threads %d --out %s %s.lua"):format(before or "",
        quote(command.program), math.random(2), out, name))
end

-- An unbroken run: its folder, how long it took, how many calls of each kind it makes.
local function whole(name)
    local began = host.now()
    local scene = { name = name, calls = {} }
    check.equal(start(name, name .. ".whole"), 0, name .. ": " .. command.read(home .. "/log"))
    scene.seconds = host.now() - began
    for _, kind in ipairs(kinds) do
        start(name, "counted", ("SIMLUA_FAIL=%s:0 SIMLUA_FAIL_LOG=count"):format(kind))
        scene.calls[kind] = tonumber(command.read(home .. "/count"))
        check.that(scene.calls[kind] > 0, ("%s: no calls of %s"):format(name, kind))
        shell "rm -rf counted"
    end
    return scene
end

-- Something that ends a run, as words before its command.
local function ending(scene, signal)
    if math.random(4) == 1 then
        return ("timeout --preserve-status -s %d %.4f"):format(signal, 0.001
            + 1.1 * scene.seconds * math.random())
    end
    local kind = kinds[math.random(#kinds)]
    return ("SIMLUA_FAIL=%s:%d!%d"):format(kind, math.random(scene.calls[kind]), signal)
end

-- Signals into one folder until one of them comes too late or three came; then the same
-- command to the end. Returns how many came.
local function round(scene, signal)
    local came, told = 0, {}
    shell "rm -rf hurt"
    repeat
        local before = ending(scene, signal)
        local code = start(scene.name, "hurt", before)
        told[#told + 1] = ("%s (code %d)"):format(before, code)
        if code == 128 + signal then came = came + 1 end
        local fair = code == 0 or code == 128 + signal
        if not check.that(fair, ("%s: %s: %s"):format(scene.name, table.concat(told, ", "),
            command.read(home .. "/log"))) then break end
    until code == 0 or came == 3 or math.random(2) == 1
    local what = ("%s: after %s: "):format(scene.name, table.concat(told, ", "))
    check.equal(run_folder.broken(home .. "/hurt", ("%s/%s.whole"):format(home, scene.name)), nil,
        what)
    check.equal(start(scene.name, "hurt"), 0, what .. command.read(home .. "/log"))
    check.equal(shell(("diff -r %s.whole hurt"):format(scene.name)), 0,
        what .. command.read(home .. "/log"))
    return came
end

local names = {}
for name, text in pairs(run_folder.scenes) do
    names[#names + 1] = name
    command.write(("%s/%s.lua"):format(home, name), text)
end
table.sort(names)
math.randomseed(tonumber(os.getenv "SIMLUA_SEED") or 1)
for _, name in ipairs(names) do
    local scene = whole(name)
    for _, signal in ipairs { 9, 15 } do
        local came, rounds, count = 0, 0, math.ceil(total / #names)
        while came < count and rounds < 4 * count and check.failed < 5 do
            rounds = rounds + 1
            came = came + round(scene, signal)
        end
        check.that(came >= count, ("%s: only %d of %d came"):format(name, came, count))
        print(("%s: signal %d came %d times in %d runs"):format(name, signal, came, rounds))
    end
end

command.clean()
return check.report()
