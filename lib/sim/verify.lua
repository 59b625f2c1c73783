-- verify.lua: `simlua verify DIR …` proves finished runs: all files, sizes and hashes
-- against run.json, which holds its own hash. With --replay the script is run again in the
-- current folder, and some of its frames are compared (the first, the middle and the last),
-- its tables, and of a run without pictures its last state.
local checkpoint = require "sim.checkpoint"
local folder = require "sim.folder"
local host = require "sim.host"
local json = require "sim.json"
local process = require "sim.process"

local REPLAYED = 3

local usage = [[
usage: simlua verify DIR … [--replay]

Compares the files of finished runs with their run.json; exit code 0, or 3 and a list of what
is wrong.

  --replay   also run the script again, in the current folder, and compare its first, middle
             and last frame and its tables
]]

local function check_file(list, out, name, entry)
    local hash, bytes = host.hash_file(out .. "/" .. name)
    if not hash then
        list[#list + 1] = name .. " is missing"
    elseif bytes ~= entry.bytes then
        list[#list + 1] = ("%s has %d bytes, not %s"):format(name, bytes, entry.bytes)
    elseif hash ~= entry.hash then
        list[#list + 1] = name .. " was changed: its hash is " .. hash
    end
    return bytes or 0
end

local function check_frames(list, out, record)
    local known, bytes = {}, 0
    for _, entry in ipairs(record.written or {}) do
        known[entry.file] = true
        bytes = bytes + check_file(list, out, entry.file, entry)
    end
    for frame = 0, (record.image and record.frames or 0) - 1 do
        if not known[folder.frame_name(frame)] then
            list[#list + 1] = folder.frame_name(frame) .. " is not in run.json"
        end
    end
    return bytes, known
end

local function check_rest(list, out, known)
    for _, name in ipairs(host.list(out)) do
        if name:match("^frame_%d+%.png$") and not known[name] then
            list[#list + 1] = name .. " is not of this run"
        elseif name:match("^%..+%.tmp%-%d+%-%d+$") then
            list[#list + 1] = name .. " was left behind"
        elseif name:match("^checkpoint.*%.sim$") then
            local frame, why = checkpoint.probe(out .. "/" .. name)
            if not frame then list[#list + 1] = why end
        end
    end
end

local function verify(out)
    local list, record = {}, folder.record(out)
    if not record then return { "there is no run.json of simlua" }, 0 end
    if not record.seal then
        return { "run.json has no hash of itself: an older simlua made it" }, 0
    elseif not folder.is_sealed(out) then
        return { "run.json was changed: what it says of the others proves nothing" }, 0
    end
    if record.status ~= "complete" then
        list[1] = ("the run is not complete: %s"):format(tostring(record.status))
    end
    local bytes, known = check_frames(list, out, record)
    for name, entry in pairs(record.tables or {}) do check_file(list, out, name, entry) end
    check_rest(list, out, known)
    table.sort(list)
    return list, bytes, record
end

-- --- replay -----------------------------------------------------------------------------------

-- Options that give a run of a record once more, before the range of frames.
local function replay_command(record, goal)
    local words = { process.program(), "--quiet", "--device", record.device.kind, "--out", goal,
        "--frames", tostring(record.frames), record.script.name }
    for name, value in pairs(record.options or {}) do
        if name ~= "frames" then
            local text = type(value) == "string" and value or json.encode(value):sub(1, -2)
            words[#words + 1] = ("--%s=%s"):format(name:gsub("_", "-"), text)
        end
    end
    if record.seed and not (record.options or {}).seed then
        words[#words + 1] = "--seed=" .. record.seed
    end
    for _, text in ipairs(record.arguments or {}) do words[#words + 1] = text end
    return words
end

-- The ranges of a replay, which takes the steps of the last one: the first frame, the middle
-- and the last are seldom at equal distances. A run without pictures is run whole.
local function ranges_of(record)
    if not record.image then return { {} } end
    local last = record.frames - 1
    local every = math.max(1, last // (REPLAYED - 1))
    local from, list = last % every, {}
    if last > 0 and last // every >= REPLAYED then from = from + every end
    if from > 0 then list[1] = { "--from", "0", "--to", "0" } end
    list[#list + 1] = { "--from", tostring(from), "--every", tostring(every) }
    return list
end

local function compare_frames(list, record, goal)
    local count, wanted = 0, {}
    for _, entry in ipairs(record.written) do wanted[entry.file] = entry.hash end
    for _, name in ipairs(host.list(goal)) do
        if name:match("^frame_%d+%.png$") then
            count = count + 1
            if host.hash_file(goal .. "/" .. name) ~= wanted[name] then
                list[#list + 1] = name .. " came out differently"
            end
        end
    end
    if count == 0 and record.image then list[#list + 1] = "the replay made no frames" end
end

-- The replay took all the steps, so its tables are whole; without pictures its last state is
-- there as well.
local function compare_rest(list, out, record, goal)
    for name, entry in pairs(record.tables or {}) do
        if host.hash_file(goal .. "/" .. name) ~= entry.hash then
            list[#list + 1] = name .. " came out differently"
        end
    end
    local again = folder.record(goal) or {}
    if not record.image and not record.stopped and again.version == record.version
        and host.hash_file(goal .. "/checkpoint.sim") ~= host.hash_file(out
            .. "/checkpoint.sim") then
        list[#list + 1] = "the last state came out differently"
    end
    again.version = record.version -- another one may well give the same
    for _, what in ipairs(folder.differences(record, again)) do
        list[#list + 1] = "what was run again is not what made this: " .. what
    end
end

local function run_again(list, out, record, goal)
    for _, range in ipairs(ranges_of(record)) do
        local words = replay_command(record, goal)
        table.move(range, 1, #range, 2, table.move(words, 2, #words, 2 + #range))
        process.spawn(words, goal .. "/log", goal .. "/log")
        local _, code = process.wait()
        if code ~= 0 then
            local text = (folder.read(goal .. "/log") or ""):match("[^\n]+") or ""
            list[#list + 1] = ("the replay ended with code %s: %s"):format(tostring(code), text)
            return
        end
    end
    compare_frames(list, record, goal)
    compare_rest(list, out, record, goal)
end

local function replay(list, out, record)
    if record.script.name == "-" or record.script.name == "-e" then
        list[#list + 1] = "the script was no file: it cannot be run again"
        return
    end
    local goal = os.tmpname()
    os.remove(goal)
    host.folder(goal)
    run_again(list, out, record, goal)
    for _, name in ipairs(host.list(goal)) do os.remove(goal .. "/" .. name) end
    os.remove(goal)
end

-- --- the command ------------------------------------------------------------------------------

return function(...)
    local folders, again, bad = {}, false, 0
    for _, word in ipairs { ... } do
        if word == "--replay" then
            again = true
        elseif word == "--help" then
            host.end_help(usage)
        elseif word:sub(1, 1) == "-" then
            host.usage_error(("verify: no option '%s'; there is --replay"):format(word))
        else
            folders[#folders + 1] = word
        end
    end
    if #folders == 0 then host.usage_error "verify: which folder? simlua verify DIR" end
    for _, out in ipairs(folders) do
        local list, bytes, record = verify(out)
        if again and #list == 0 then replay(list, out, record) end
        for _, text in ipairs(list) do print(("%s: %s"):format(out, text)) end
        if #list == 0 then
            print(("%s: good: %d frames, %d bytes"):format(out, record.frames, bytes))
        end
        bad = bad + #list
    end
    if bad > 0 then
        host.file_error(("%d thing%s wrong"):format(bad, bad == 1 and " is" or "s are"))
    end
end
