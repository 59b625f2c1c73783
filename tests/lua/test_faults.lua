-- test_faults.lua: system calls that a run makes fail once, or for good: then a code that is
-- not 0 and one line of cause, nothing broken under a final name, and the same command ends
-- as if nothing had happened. A small scene of each domain; one thread and two by turns.
--
-- Each call of the kinds with few calls fails once; of the others a sample.
-- SIMLUA_FAULTS=all walks through all of them, SIMLUA_FAULTS=7 through each seventh.
local check = require "check"
local command = require "command"
local run_folder = require "run_folder"

local home = command.folder()
local kinds = { "mkdir", "rename", "fsync", "open", "device", "copy", "write", "memory" }
local asked = os.getenv "SIMLUA_FAULTS"
local stride = asked == "all" and 1 or tonumber(asked)

local function shell(line)
    return command.quick(home, line)
end

local function start(name, out, before, threads)
    return shell(("%s timeout 100 %s --device cpu --quiet --threads %d --out %s %s.lua --frames 3 "
        .. "--bodies 20 > words"):format(before or "", command.quote(command.program), threads or 1,
        out, name))
end

local function log()
    return command.read(home .. "/log")
end

-- How many calls of a kind an unbroken run makes.
local function calls(name, kind)
    shell "rm -rf counted"
    start(name, "counted", ("SIMLUA_FAIL=%s:0 SIMLUA_FAIL_LOG=count"):format(kind))
    return tonumber(command.read(home .. "/count")) or 0
end

-- A single allocation that fails is tried again after a collection.
local function may_go_well(kind, for_good)
    return (kind == "memory" or kind == "device") and for_good == ""
end

local function fail_at(name, kind, at, for_good)
    local what = ("%s: %s:%d%s"):format(name, kind, at, for_good)
    shell "rm -rf hurt"
    local code = start(name, "hurt", ("SIMLUA_FAIL=%s:%d%s"):format(kind, at, for_good),
        at % 4 == 0 and 2 or 1)
    local text = log()
    if code == 0 then
        check.that(may_go_well(kind, for_good) and text == "", what .. ": code 0: " .. text)
    else
        local lines = select(2, text:gsub("\n", ""))
        local own = lines == 1 and text:find "^simlua: "
        -- gcc's OpenMP library ends the program itself when its own memory fails.
        local library = kind == "memory" and text:find "^\nlibgomp: Out of memory[^\n]*\n$"
        check.that(code <= 5 and (own or library), ("%s: code %d: %s"):format(what, code, text))
    end
    check.equal(run_folder.broken(home .. "/hurt", ("%s/%s.whole"):format(home, name)), nil, what)
    check.equal(start(name, "hurt"), 0, what .. ": the same command: " .. log())
    check.equal(shell(("diff -r %s.whole hurt"):format(name)), 0, what .. ": " .. log())
end

-- Of `count` calls the ones that fail: all where there are few, else so many, evenly.
local function points(count, samples)
    local step, list = stride or math.max(1, count / samples), {}
    local at = step > 1 and 1 + step * 0.37 or 1
    while at <= count do
        list[#list + 1] = math.floor(at)
        at = at + step
    end
    return list
end

local names = {}
for name, text in pairs(run_folder.scenes) do
    names[#names + 1] = name
    command.write(("%s/%s.lua"):format(home, name), text)
end
table.sort(names)
for _, name in ipairs(names) do
    check.equal(start(name, name .. ".whole"), 0, log())
    for _, kind in ipairs(kinds) do
        local count = calls(name, kind)
        check.that(count > 0, ("%s: no calls of %s"):format(name, kind))
        for _, for_good in ipairs { "", "+" } do
            local list = points(count, command.small and 2 or for_good == "" and 12 or 4)
            for _, at in ipairs(list) do
                if check.failed < 9 then fail_at(name, kind, at, for_good) end
            end
            print(("%s: %s: %d of %d calls failed%s"):format(name, kind, #list, count,
                for_good == "" and " once" or " for good"))
        end
    end
end

command.clean()
return check.report()
