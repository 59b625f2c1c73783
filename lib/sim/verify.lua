-- verify.lua: `simlua verify DIR …` proves finished runs: all files, sizes and hashes
-- against run.json. With --replay the script is run again in the current folder, and some of
-- its frames are compared: the first, the last, and those between at equal distances.
local checkpoint = require "sim.checkpoint"
local folder = require "sim.folder"
local host = require "sim.host"
local process = require "sim.process"

local REPLAYED = 3

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

local function replay_command(record, goal)
    local every = math.max(1, (record.frames - 1) // (REPLAYED - 1))
    local words = { process.program(), "--quiet", "--device", record.device.kind, "--out", goal,
        "--frames", tostring(record.frames), "--from", "0", "--every", tostring(every),
        record.script.name }
    for name, value in pairs(record.options or {}) do
        if name ~= "frames" then
            words[#words + 1] = ("--%s=%s"):format(name:gsub("_", "-"), tostring(value))
        end
    end
    if record.seed and not (record.options or {}).seed then
        words[#words + 1] = "--seed=" .. record.seed
    end
    for _, text in ipairs(record.arguments or {}) do words[#words + 1] = text end
    return words
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
    if count == 0 then list[#list + 1] = "the replay made no frames" end
end

local function replay(list, record)
    if record.script.name == "-" or record.script.name == "-e" then
        list[#list + 1] = "the script was no file: it cannot be run again"
        return
    end
    local goal = os.tmpname()
    os.remove(goal)
    host.folder(goal)
    process.spawn(replay_command(record, goal), goal .. "/log", goal .. "/log")
    local _, code = process.wait()
    if code ~= 0 then
        local text = (folder.read(goal .. "/log") or ""):match("[^\n]+") or ""
        list[#list + 1] = ("the replay ended with code %s: %s"):format(tostring(code), text)
    else
        compare_frames(list, record, goal)
    end
    for _, name in ipairs(host.list(goal)) do os.remove(goal .. "/" .. name) end
    os.remove(goal)
end

-- --- the command ------------------------------------------------------------------------------

return function(...)
    local folders, again, bad = {}, false, 0
    for _, word in ipairs { ... } do
        if word == "--replay" then
            again = true
        elseif word:sub(1, 1) == "-" then
            host.usage_error(("verify: no option '%s'; there is --replay"):format(word))
        else
            folders[#folders + 1] = word
        end
    end
    if #folders == 0 then host.usage_error "verify: which folder? simlua verify DIR" end
    for _, out in ipairs(folders) do
        local list, bytes, record = verify(out)
        if again and #list == 0 then replay(list, record) end
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
