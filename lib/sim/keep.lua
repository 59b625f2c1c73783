-- keep.lua: the checkpoints of one sim.run: choosing the one to go on from, taking the
-- state at the end of each frame, writing it when it is due.
--
-- At each frame's end the state is copied on the device, next to itself. What is written is
-- that copy: an interrupt in the middle of the next step finds it whole, and loses no more
-- than that step. Where there is no memory for a copy, only checkpoints at frames' ends are
-- written, from the objects themselves, and an interrupt loses what came after the last.
local checkpoint = require "sim.checkpoint"
local data = require "sim.data"
local folder = require "sim.folder"
local host = require "sim.host"
local series = require "sim.table"
local state_table = require "sim.state"

local keep = {}

local DEFAULT_SECONDS, DEFAULT_COST = 30, 0.03

local function note(run, text)
    if not run.quiet then host.say("simlua: " .. text .. "\n") end
end

-- --- choosing -------------------------------------------------------------------------------

-- The first frame up to `frame` that should be there and is not, by name and size.
local function missing_frame(run, candidate)
    local known = {}
    for _, entry in ipairs(candidate.kept.written) do known[entry.frame] = entry.bytes end
    for frame = run.from, math.min(run.to, candidate.frame), run.every do
        local have = run.pictures and host.size(run.out .. "/" .. folder.frame_name(frame))
        if run.pictures and (not have or not run.shared and have ~= known[frame]) then
            return frame
        end
    end
    return nil
end

-- Can the run go on from this checkpoint? Else why not.
local function usable(run, candidate)
    local gap = missing_frame(run, candidate)
    if gap then
        return false, ("%s is missing or not as it was"):format(folder.frame_name(gap))
    end
    local there, path = series.there(candidate.kept.tables)
    if not there then return false, ("'%s' is missing or shorter than it was"):format(path) end
    return true
end

-- The newest usable one of `good`, or nil; what is wrong with newer ones is said, even with
-- --quiet, as it costs work.
function keep.choose(run, good, bad)
    for _, text in ipairs(bad) do host.say("simlua: " .. text .. "\n") end
    local chosen, why
    for _, candidate in ipairs(good) do
        local ok, reason = usable(run, candidate)
        if ok then
            chosen = candidate
            break
        end
        why = why or reason
    end
    if why or #bad > 0 then
        host.say(("simlua: %s%s\n"):format(why and why .. ": " or "", chosen
            and ("going on from the older checkpoint, after frame %d"):format(chosen.frame)
            or "there is no older checkpoint: starting over"))
    end
    return chosen
end

-- --- going on -------------------------------------------------------------------------------

function keep.load(run, candidate)
    local kept = candidate.kept
    checkpoint.load(candidate.path)
    state_table.load(kept.state)
    host.random_state(kept.random[1], kept.random[2])
    run.record.image = kept.image
    run.loaded, run.saved = candidate.frame, candidate.frame
    run.turn = candidate.turn == 0 and 1 or 0
    if not run.shared then
        for _, entry in ipairs(kept.written) do
            if entry.frame < run.frames then run.written[entry.frame] = entry end
        end
    end
    series.begin(kept.tables)
end

-- --- taking and writing -----------------------------------------------------------------------

-- What a checkpoint says besides the objects' state and the list of frames.
local function small_state(run)
    return data.encode {
        state = state_table.save(), tables = series.save(),
        random = { host.random_state() }, image = run.record.image,
    }
end

-- Every frame that was made must be in the list before a checkpoint speaks of it; one that
-- an interrupt kept from being noted is looked up.
local function complete_list(run, frame)
    local list = {}
    for at = run.from, math.min(run.to, frame), run.every do
        if run.pictures and not run.shared then
            if not run.written[at] then run.note_file(at) end
            list[#list + 1] = run.written[at]
        end
    end
    return list
end

local function write(run, path, frame, small, live)
    local kept = data.decode(small)
    host.finish_frames()
    run.collect()
    kept.written = complete_list(run, frame)
    kept.record = run.identity
    series.sync()
    checkpoint.write(path, frame, data.encode(kept), live)
    run.saved = frame
end

local function write_turn(run, frame, small, live)
    local began = host.now()
    write(run, folder.checkpoint_name(run.out, run.turn, run.range), frame, small, live)
    run.turn = 1 - run.turn
    run.last_time = host.now()
    run.cost = run.last_time - began
end

local function due(run, frame)
    if run.keep_frames > 0 or run.keep_seconds > 0 then
        return run.keep_frames > 0 and (frame + 1) % run.keep_frames == 0
            or run.keep_seconds > 0 and host.now() - run.last_time >= run.keep_seconds
    end
    return host.now() - run.last_time >= math.max(DEFAULT_SECONDS, run.cost / DEFAULT_COST)
end

function keep.start(run)
    run.turn, run.cost, run.last_time = run.turn or 0, 0, host.now()
end

-- The end of a frame.
function keep.frame(run, frame)
    if not run.resumable then return end
    local small = small_state(run)
    if run.mirrors then
        local ok, why = checkpoint.mirror(frame, small)
        if not ok then
            run.mirrors = false
            note(run, why .. "; checkpoints are written less often")
        end
    end
    if frame < run.to and due(run, frame) then write_turn(run, frame, small, not run.mirrors) end
end

-- After an interrupt: the frame that the same command goes on after, or nil.
function keep.interrupted(run)
    if not run.resumable then return nil end
    local frame, small = checkpoint.mirrored()
    if frame and run.mirrors and frame > run.saved then write_turn(run, frame, small, false) end
    return run.saved >= 0 and run.saved or nil
end

-- The run is complete: one checkpoint is left, the same whatever happened on the way.
function keep.finish(run)
    if not run.resumable then return end
    if run.range then
        folder.remove_turns(run.out, run.range)
        return
    end
    local path = folder.checkpoint_name(run.out)
    write(run, path, run.to, small_state(run), true)
    run.complete()
    folder.remove_turns(run.out)
end

return keep
