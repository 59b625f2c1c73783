-- test_faults.lua: system calls that a run makes fail once, or for good: then a code that is
-- not 0 and one line of cause, nothing broken under a final name, and the same command ends
-- as if nothing had happened. A small scene of each domain; one thread and two by turns. On
-- the CPU, and on a GPU where there is one: there the kind `crash` loses it for real, and
-- the code is 4 whoever finds out.
--
-- Each call of the kinds with few calls fails once; of the others a sample.
-- SIMLUA_FAULTS=all walks through all of them, SIMLUA_FAULTS=7 through each seventh;
-- SIMLUA_FAULTS_DEVICE=cuda, _SCENE=flow and _KIND=crash through those alone, and
-- SIMLUA_FAULTS_JOBS=8 runs so many side by side.
local check = require "check"
local command = require "command"
local run_folder = require "run_folder"

local home = command.folder()
local kinds = { "mkdir", "rename", "fsync", "open", "device", "copy", "launch", "crash", "write",
    "memory" }
local asked = os.getenv "SIMLUA_FAULTS"
local stride = asked == "all" and 1 or tonumber(asked)

local function is_asked(what, word)
    local only = os.getenv("SIMLUA_FAULTS_" .. what)
    return not only or only == word
end

-- A GPU's process starts slowly and then waits: some side by side.
local function side_by_side(device)
    return tonumber(os.getenv "SIMLUA_FAULTS_JOBS") or device == "cpu" and 1 or 4
end

-- Call with so many entries of a list at once, in order.
local function by_groups(list, width, call)
    for first = 1, #list, width do
        call(table.move(list, first, math.min(first + width - 1, #list), 1, {}))
    end
end

-- Run lines of the shell side by side; returns their exit codes and all they said.
local function together(lines)
    local parts, codes, logs = {}, {}, {}
    for i, line in ipairs(lines) do
        parts[i] = ("{ %s; } > log.%d 2>&1; echo $? > code.%d"):format(line, i, i)
    end
    command.quick(home, "(" .. table.concat(parts, ") & (") .. ") & wait")
    for i in ipairs(lines) do
        codes[i] = tonumber(command.read(("%s/code.%d"):format(home, i)))
        logs[i] = command.read(("%s/log.%d"):format(home, i))
    end
    return codes, logs
end

-- The command of a scene's run into a folder, with words before it.
local function run(scene, out, before, threads)
    return ("%s timeout 100 %s --device %s --quiet --threads %d --out %s %s.lua --frames 3 "
        .. "--bodies 20 > /dev/null"):format(before or "", command.quote(command.program),
        scene.device, threads or 1, out, scene.name)
end

-- How many calls of each kind an unbroken run makes.
local function count_calls(scene)
    by_groups(kinds, side_by_side(scene.device), function(group)
        local lines = {}
        for i, kind in ipairs(group) do
            lines[i] = ("rm -rf counted.%s; "):format(kind) .. run(scene, "counted." .. kind,
                ("SIMLUA_FAIL=%s:0 SIMLUA_FAIL_LOG=count.%s"):format(kind, kind))
        end
        local codes, logs = together(lines)
        for i, kind in ipairs(group) do
            check.equal(codes[i], 0, logs[i])
            scene.calls[kind] = tonumber(command.read(home .. "/count." .. kind)) or 0
            check.that(scene.calls[kind] > 0, ("%s: no calls of %s"):format(scene.title, kind))
        end
    end)
end

-- A single allocation that fails is tried again after a collection.
local function may_go_well(point)
    return (point.kind == "memory" or point.kind == "device") and point.for_good == ""
end

local function judge(point, code, text)
    if code == 0 then
        check.that(may_go_well(point) and text == "", point.what .. ": code 0: " .. text)
        return
    end
    local lines = select(2, text:gsub("\n", ""))
    local own = lines == 1 and text:find "^simlua: "
    -- gcc's OpenMP library ends the program itself when its own memory fails.
    local library = point.kind == "memory" and text:find "^\nlibgomp: Out of memory[^\n]*\n$"
    local right = code <= 5
    if point.kind == "crash" then right = code == 4 end
    check.that(right and (own or library), ("%s: code %d: %s"):format(point.what, code, text))
end

-- The points at once, then the same commands.
local function hurt(scene, points)
    local first, second = {}, {}
    for i, point in ipairs(points) do
        local out, fault = "hurt." .. i, ("%s:%d%s"):format(point.kind, point.at, point.for_good)
        point.what = ("%s: %s"):format(scene.title, fault)
        first[i] = ("rm -rf %s; "):format(out) .. run(scene, out, "SIMLUA_FAIL=" .. fault,
            point.at % 4 == 0 and 2 or 1)
        second[i] = ("%s && diff -r %s %s"):format(run(scene, out), scene.whole, out)
    end
    local codes, logs = together(first)
    for i, point in ipairs(points) do
        judge(point, codes[i], logs[i])
        check.equal(run_folder.broken(("%s/hurt.%d"):format(home, i),
            home .. "/" .. scene.whole), nil, point.what)
    end
    codes, logs = together(second)
    for i, point in ipairs(points) do
        check.equal(codes[i], 0, point.what .. ": the same command: " .. logs[i])
    end
end

-- How many calls of a kind fail. What has to do with files is the same on a GPU.
local cuda_samples = { crash = 6, launch = 4, device = 4, copy = 3, memory = 4 }
local cpu_samples = { crash = 4, launch = 4 }
local function samples(device, kind, for_good)
    if command.small then return 2 end
    if device == "cpu" then
        return for_good == "" and (cpu_samples[kind] or 10) or 3
    end
    return for_good == "" and (cuda_samples[kind] or 1) or 1
end

-- Of `count` calls the ones that fail: all where there are few, else so many, evenly.
local function some_of(count, wanted)
    local step, list = stride or math.max(1, count / wanted), {}
    local at = step > 1 and 1 + step * 0.37 or 1
    while at <= count do
        list[#list + 1] = math.floor(at)
        at = at + step
    end
    return list
end

local function points_of(scene)
    local points = {}
    for _, kind in ipairs(kinds) do
        -- A context that is lost cannot be lost again.
        for _, for_good in ipairs(kind == "crash" and { "" } or { "", "+" }) do
            local list = some_of(scene.calls[kind], samples(scene.device, kind, for_good))
            for _, at in ipairs(list) do
                points[#points + 1] = { kind = kind, at = at, for_good = for_good }
            end
            print(("%s: %s: %d of %d calls fail%s"):format(scene.title, kind, #list,
                scene.calls[kind], for_good == "" and " once" or " for good"))
        end
    end
    return points
end

-- A signal ends a run, and its checkpoint cannot be written: the signal's code, but not in
-- silence; and the same command makes up for it.
local function stop_in_vain(scene)
    local told = 0
    for at = 1, 12 do
        local codes, logs = together { "rm -rf vain; " .. run(scene, "vain",
            ("STOP_AT='1 TERM' SIMLUA_FAIL=fsync:%d+"):format(at)) }
        local what = ("stopped, fsync:%d+: code %d: %s"):format(at, codes[1], logs[1])
        local lost = logs[1]:find "what came after the last checkpoint is lost: [^\n]*'vain/"
        local saved = command.read(home .. "/vain/checkpoint-0.sim") ~= nil
        check.that(codes[1] == 3 or codes[1] == 143 and (lost or saved), what)
        if lost then
            told = told + 1
            check.equal(together({ ("%s && diff -r %s vain"):format(run(scene, "vain"),
                scene.whole) })[1], 0, what)
        end
    end
    check.that(told > 0, "a signal whose checkpoint cannot be written")
end

local function walk(device, name)
    local scene = { device = device, name = name, title = device .. ": " .. name, calls = {},
        whole = ("%s.%s.whole"):format(name, device) }
    local codes, logs = together { run(scene, scene.whole) }
    check.equal(codes[1], 0, logs[1])
    count_calls(scene)
    by_groups(points_of(scene), side_by_side(device), function(points)
        if check.failed < 9 then hurt(scene, points) end
    end)
    if device == "cpu" and name == "gravity" and is_asked("KIND", "fsync") then
        stop_in_vain(scene)
    end
end

-- A device that is lost where nobody asks any more: by the last step of a script that does
-- not look at what it made, and by one whose error the script caught.
local silent = [[
local sim = require "sim"
local stars = sim.bodies { softening = 0.05, dt = 0.01 }
stars:add(sim.plummer { n = 20, seed = 1 })
%s
]]
local function end_in_silence(device)
    for _, step in ipairs { "stars:step(1)", "pcall(stars.step, stars, 1)" } do
        command.write(home .. "/silent.lua", silent:format(step))
        local line = ("timeout 100 %s --device %s --quiet silent.lua"):format(
            command.quote(command.program), device)
        check.equal(together({ "SIMLUA_FAIL=crash:0 SIMLUA_FAIL_LOG=count " .. line })[1], 0, step)
        local count = tonumber(command.read(home .. "/count"))
        local codes, logs = together { ("SIMLUA_FAIL=crash:%d %s"):format(count, line) }
        local what = ("%s: %s, crash %d: %s"):format(device, step, count, logs[1])
        check.equal(codes[1], 4, what)
        check.that(logs[1]:find "^simlua: [^\n]* was lost[^\n]*\n$", what)
    end
end

local names = {}
for name, text in pairs(run_folder.scenes) do
    if is_asked("SCENE", name) then names[#names + 1] = name end
    command.write(("%s/%s.lua"):format(home, name), text)
end
table.sort(names)
for i = #kinds, 1, -1 do
    if not is_asked("KIND", kinds[i]) then table.remove(kinds, i) end
end
for _, device in ipairs(command.devices()) do
    if is_asked("DEVICE", device) then
        if is_asked("KIND", "crash") then end_in_silence(device) end
        for _, name in ipairs(names) do walk(device, name) end
    end
end

command.clean()
return check.report()
