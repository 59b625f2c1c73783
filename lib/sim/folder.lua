-- folder.lua: a run's folder: whose it is, what an earlier run left in it, its checkpoints.
--
-- Checkpoints are written in turn under two names, so that there is an older one when the
-- newer is damaged; the last one of a finished run has a third name and stays alone.
local checkpoint = require "sim.checkpoint"
local data = require "sim.data"
local host = require "sim.host"
local json = require "sim.json"
local process = require "sim.process"

local folder = {}

local FINAL = "checkpoint.sim"
local FRAME = "^frame_(%d%d%d%d%d%d+)%.png$"

function folder.read(path)
    local file = io.open(path, "rb")
    if not file then return nil end
    local text = file:read("a")
    file:close()
    return text
end

function folder.frame_name(frame)
    return ("frame_%06d.png"):format(frame)
end

-- The record of the run in a folder; nil when there is none that simlua made.
function folder.record(out)
    local text = folder.read(out .. "/run.json")
    local ok, record = pcall(json.decode, text or "")
    if ok and type(record) == "table" and record.program == "simlua" then return record end
    return nil
end

-- The text of a record, with its own hash under `seal`: that of the text without the hash.
local SEAL = '\n  "seal": "'

function folder.record_text(record)
    record.seal = ""
    local text = json.encode(record)
    record.seal = nil
    return (text:gsub(SEAL .. '"', SEAL .. host.hash(text) .. '"', 1))
end

-- Is the record in a folder as it was written, to the last byte?
function folder.is_sealed(out)
    local text = folder.read(out .. "/run.json") or ""
    local before, hash, after = text:match("^(.-" .. SEAL .. ')([^"]*)(".*)$')
    return hash ~= nil and host.hash(before .. after) == hash
end

-- --- one process, or several that share -----------------------------------------------------

-- A process that was just killed may take a moment to let go of its lock.
local PATIENCE = 3 -- seconds

function folder.lock(out, shared)
    local began, lock = host.now(), process.lock(out, shared)
    while not lock and host.now() - began < PATIENCE do
        process.pause(0.02)
        lock = process.lock(out, shared)
    end
    if not lock then
        host.file_error(("another simlua is at work in '%s'%s"):format(out, shared and ""
            or "; several may share a folder with --from, --to or --every"))
    end
    return lock
end

-- Who made this claim: a process of this machine, 0 when nobody can tell (half a claim),
-- nil for another machine's.
local function claimer(path)
    local owner, machine = (folder.read(path) or ""):match("^(%d+) (.*)\n$")
    if not owner then return 0 end
    return machine == process.host_name() and math.tointeger(tonumber(owner)) or nil
end

-- Remove temporary files and claims of processes that are gone. With the folder for itself
-- (not shared) that is all of them.
function folder.tidy(out, shared)
    for _, name in ipairs(host.list(out)) do
        local path = out .. "/" .. name
        local maker = name:match("^%..+%.tmp%-(%d+)%-%d+$")
            or name:match("^%.film%-(%d+)%.%w+$")
        local pid = maker and math.tointeger(tonumber(maker))
        local claim = name:match("^%.frame_%d+%.claim$")
        if claim then pid = claimer(path) end
        if maker and not shared or claim and not shared
            or pid and pid ~= process.pid() and not process.alive(pid) then
            os.remove(path)
        end
    end
end

local function claim_name(out, frame)
    return ("%s/.frame_%06d.claim"):format(out, frame)
end

-- May this process make the frame? No when it is there, or another one is at it.
function folder.claim(out, frame)
    if host.size(out .. "/" .. folder.frame_name(frame)) then return false end
    local text = ("%d %s\n"):format(process.pid(), process.host_name())
    local mine = process.claim(claim_name(out, frame), text)
    if mine and host.size(out .. "/" .. folder.frame_name(frame)) then
        os.remove(claim_name(out, frame)) -- made between the two looks
        return false
    end
    return mine
end

function folder.unclaim(out, frame)
    os.remove(claim_name(out, frame))
end

-- --- an earlier run -------------------------------------------------------------------------

-- Remove what an earlier run left, where a record or a checkpoint says that simlua made it.
function folder.clear(out)
    local names, ours = host.list(out), folder.record(out) ~= nil
    for _, name in ipairs(names) do
        ours = ours or name:match("^checkpoint.*%.sim$") ~= nil
    end
    if not ours then return end
    for _, name in ipairs(names) do
        if name:match(FRAME) or name:match("^checkpoint.*%.sim$") or name == "run.json" then
            os.remove(out .. "/" .. name)
        end
    end
end

local function show(value)
    if value == nil then return "none" end
    return type(value) == "string" and value:match("^xxh128:") and value:sub(8, 15)
        or tostring(value)
end

local function compare(list, what, old, new)
    if old ~= new then
        list[#list + 1] = ("%s (was %s, is %s)"):format(what, show(old), show(new))
    end
end

local function compare_all(list, what, old, new, except)
    local names, known = {}, {}
    for _, side in ipairs { old or {}, new or {} } do
        for name in pairs(side) do
            if not known[name] then names[#names + 1] = name end
            known[name] = true
        end
    end
    table.sort(names)
    for _, name in ipairs(names) do
        if name ~= except then
            compare(list, what .. name, (old or {})[name], (new or {})[name])
        end
    end
end

-- In what the run of the record `old` differs from that of `new`: a list of words.
function folder.differences(old, new)
    local list = {}
    compare(list, "the version of simlua", old.version, new.version)
    compare(list, "the script", (old.script or {}).hash, (new.script or {}).hash)
    compare_all(list, "the module ", old.modules, new.modules)
    compare_all(list, "the option --", old.options, new.options, "frames")
    compare_all(list, "argument ", old.arguments, new.arguments)
    compare(list, "the seed", old.seed, new.seed)
    compare(list, "the kind of device", (old.device or {}).kind, (new.device or {}).kind)
    return list
end

-- --- checkpoints ----------------------------------------------------------------------------

-- `turn` is 0, 1, or nil for the last one; `range` marks those of a part of the frames.
function folder.checkpoint_name(out, turn, range)
    if not turn then return out .. "/" .. FINAL end
    return ("%s/checkpoint%s-%d.sim"):format(out, range or "", turn)
end

-- All checkpoints that are whole, newest first, as { path, turn, frame, kept }; and what is
-- wrong with the others.
function folder.checkpoints(out, range)
    local good, bad = {}, {}
    for turn = 0, 2 do
        local path = folder.checkpoint_name(out, turn < 2 and turn or nil, range)
        if host.size(path) and not (turn == 2 and range) then
            local frame, text = checkpoint.probe(path)
            local ok, kept = pcall(data.decode, frame and text or "")
            if frame and ok and type(kept) == "table" then
                good[#good + 1] = { path = path, turn = turn, frame = frame, kept = kept }
            else
                bad[#bad + 1] = frame and path .. ": unreadable" or text
            end
        end
    end
    table.sort(good, function(a, b)
        if a.frame ~= b.frame then return a.frame > b.frame end
        return a.turn > b.turn
    end)
    return good, bad
end

function folder.remove_turns(out, range)
    for turn = 0, 1 do os.remove(folder.checkpoint_name(out, turn, range)) end
end

return folder
