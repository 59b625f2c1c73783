-- test_faults.lua: every system call that a run makes fails once, or for good: then a code
-- that is not 0 and one line of cause, nothing broken under a final name, and the same
-- command ends as if nothing had happened.
local check = require "check"
local command = require "command"
local run_folder = require "run_folder"

local quote = command.quote
local home = command.folder()
command.write(home .. "/scene.lua", run_folder.scene)

local line = ("cd %s && %%s timeout 60 %s --device cpu --threads 1 --quiet --out %%s scene.lua "
    .. "--frames 3 --bodies 20"):format(quote(home), quote(command.program))

local code, _, err = command.shell(line:format("", "whole"))
check.equal(code, 0, err)

-- How many calls of a kind an unbroken run makes.
local function calls(kind)
    os.execute("rm -rf " .. quote(home .. "/counted"))
    command.shell(line:format(("SIMLUA_FAIL=%s:0 SIMLUA_FAIL_LOG=count"):format(kind), "counted"))
    return tonumber(command.read(home .. "/count"))
end

local function walk(kind, step, good)
    local count, bad = calls(kind), 0
    check.that(count and count > 0, kind .. ": there are calls")
    for at = 1, count, step do
        os.execute("rm -rf " .. quote(home .. "/hurt"))
        local failed, _, text = command.shell(line:format(("SIMLUA_FAIL=%s:%d%s"):format(kind,
            at, good), "hurt"))
        local what = ("%s:%d%s"):format(kind, at, good)
        -- A single allocation that fails is tried again after a collection.
        if failed ~= 0 or not (kind == "memory" or kind == "device") or good == "+" then
            check.that(failed >= 1 and failed <= 5, ("%s: code %d"):format(what, failed))
            local lines = select(2, text:gsub("\n", ""))
            check.that(lines == 1 and text:find("^simlua: "), what .. ": one line: " .. text)
        end
        local again, _, why = command.shell(line:format("", "hurt"))
        check.equal(again, 0, what .. ": the same command: " .. why)
        if not run_folder.same(home .. "/hurt", home .. "/whole", what) then bad = bad + 1 end
        if bad > 3 then break end
    end
    return count
end

local sparse = command.small and 20 or 1
for _, kind in ipairs { "mkdir", "rename", "fsync", "open", "device" } do
    walk(kind, sparse, "")
    walk(kind, 2 * sparse, "+")
end
print(("%d writes"):format(walk("write", 9 * sparse, "")))
walk("write", 23 * sparse, "+")
print(("%d allocations"):format(walk("memory", 307 * sparse, "")))
walk("memory", 307 * sparse, "+")

command.clean()
return check.report()
