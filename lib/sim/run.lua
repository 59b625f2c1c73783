-- run.lua: sim.run, the loop of a run, and its record run.json.
--
-- Frame k is the picture after k calls of step; frame 0 is the scene as built. Files are
-- named by the absolute number of the frame. The record holds nothing that differs between
-- two equal runs, broken or not: no dates, no durations, no paths outside the folder.
--
-- A run goes on where it was cut: the script has built its scene again, then the state of
-- the last good checkpoint takes its place (keep.lua), unless the script, its modules, its
-- options, the version or the kind of device changed (folder.lua).
local checkpoint = require "sim.checkpoint"
local film = require "sim.film"
local folder = require "sim.folder"
local host = require "sim.host"
local keep = require "sim.keep"
local options = require "sim.options"
local process = require "sim.process"
local progress = require "sim.progress"
local rehearse = require "sim.rehearse"
local series = require "sim.table"
local watch = require "sim.watch"

local frame_name = folder.frame_name
local busy = {} -- folders that this script has run into; inside: a run is under way

-- "scenes/galaxy.lua" gives "galaxy"; "-" and "-e" give "run".
local function base_name(script)
    return script:match("([^/]+)%.lua$") or script:match("([^/]+)$"):match("^%w[%w_.-]*$")
        or "run"
end

local function device_record()
    local device = require("sim.core").device()
    return { kind = device.kind, name = device.name }
end

-- The hashes of the script's own modules, as they were first seen; simlua's are told by the
-- version. Callbacks may ask for more of them as the run goes on: those of an earlier run (`also`)
-- count from the start.
local function note_modules(run, also)
    local known = run.modules
    local function note(name)
        local path = not known[name] and not name:match("^sim%f[.\0]")
            and package.searchpath(name, package.path)
        local text = path and folder.read(path)
        if text then known[name] = host.hash(text) end
    end
    for name in pairs(package.loaded) do note(name) end
    for name in pairs(also or {}) do note(name) end
    local modules = next(known) and known or nil
    run.record.modules, run.identity.modules = modules, modules
end

local function new_record(settings, run)
    local text = settings.chunk or settings.script_path and folder.read(settings.script_path)
    return {
        program = "simlua", version = settings.version, flags = settings.flags,
        script = { name = settings.script, hash = text and host.hash(text) or nil },
        options = options.effective, seed = settings.seed or options.effective.seed,
        -- A script without sim.options may read its arguments itself.
        arguments = not next(options.effective) and settings.raw[1] and settings.raw or nil,
        device = device_record(), frames = run.frames, fps = run.fps,
        status = "running", written = { n = 0 },
    }
end

-- --- the record -------------------------------------------------------------------------------

local function note_frame(run, frame, bytes, hash)
    run.written[frame] = { frame = frame, file = frame_name(frame), bytes = bytes, hash = hash }
end

-- A frame that is on disk, made before or by another process.
local function note_file(run, frame)
    local hash, bytes = host.hash_file(run.out .. "/" .. frame_name(frame))
    if hash then note_frame(run, frame, bytes, hash) end
    return hash ~= nil
end

-- Move what the writer has finished into the record.
local function collect(run)
    for _, result in ipairs(host.results()) do
        local frame = run.tickets[result.ticket]
        if frame then
            note_frame(run, frame, result.bytes, result.hash)
            if run.shared then folder.unclaim(run.out, frame) end
        end
    end
end

local function write_record(run, status)
    local record, all = run.record, {}
    for frame in pairs(run.written) do all[#all + 1] = frame end
    table.sort(all)
    note_modules(run)
    record.status, record.written = status, { n = #all }
    for i, frame in ipairs(all) do record.written[i] = run.written[frame] end
    if #all > 0 then record.written.n = nil end
    host.write(run.out .. "/run.json", folder.record_text(record))
end

-- The size of a picture, from its file.
local function picture_size(run, frame)
    local file = io.open(run.out .. "/" .. frame_name(frame), "rb")
    local head = file and file:read(24)
    if file then file:close() end
    if not head or #head < 24 then return nil end
    local width, height = string.unpack(">I4I4", head, 17)
    return { width = width, height = height }
end

-- Several processes tell of one folder: all frames there are, whoever made them. One that
-- appeared while the record was written is seen by another look, so that the last process
-- to look finds all.
local function write_shared_record(run)
    local before = -1
    while true do
        local count = 0
        for frame = 0, run.frames - 1 do
            if run.written[frame] or note_file(run, frame) then
                run.record.image = run.record.image or picture_size(run, frame)
                count = count + 1
            end
        end
        if count == before then return end
        before = count
        run.record.tables = count == run.frames and series.files(run.out) or nil
        write_record(run, count == run.frames and "complete" or "partial")
    end
end

-- --- the loop ---------------------------------------------------------------------------------

local function picture(run, frame)
    if run.shared and not folder.claim(run.out, frame) then return end
    series.drawing = run.shared
    local image = run.image(frame)
    series.drawing = nil
    local kind = type(image) == "userdata" and getmetatable(image)
    if kind ~= "sim.image" then
        local what = image == nil and "nothing" or "a " .. type(image)
        host.user_error("sim.run: image must return a picture, such as "
            .. "stars:image { … }; it returned " .. what)
    end
    run.record.image = { width = image.width, height = image.height }
    local ticket = host.save(image, run.out .. "/" .. frame_name(frame))
    run.tickets[ticket] = frame
    image:close()
end

local function wanted(run, frame)
    return frame >= run.from and frame <= run.to and (frame - run.from) % run.every == 0
end

local function warn_of_variables(run, frame)
    local looked = run.strict or not run.quiet and frame <= 3
    if not looked or not run.resumable or frame == 0 then return end
    local names = watch.changed(run.watch)
    if #names == 0 then return end
    local text = ("the callbacks of sim.run change %s, which no checkpoint holds: keep it in "
        .. "sim.state"):format(table.concat(names, ", "))
    if run.strict then host.user_error(text) end
    host.say("simlua: warning: " .. text .. "\n")
end

-- Does the run end with this frame? If so, it is as if it had been asked for no more.
local function ends(run, frame)
    if frame < 1 or not run.stop_when or not run.stop_when(frame) then return false end
    run.to, run.frames = frame, frame + 1
    run.record.frames, run.record.stopped = run.frames, true
    return true
end

local function loop(run)
    if ends(run, run.loaded) then return end
    run.progress = progress.start(run.to + 1, run.quiet, run.loaded + 1)
    keep.start(run)
    if run.loaded < 0 and run.before then run.before() end
    checkpoint.watch()
    local tenth = math.max(1, (run.to - run.loaded) // 10)
    for frame = run.loaded + 1, run.to do
        if frame > 0 then run.step(frame) end
        local last = ends(run, frame)
        if run.pictures and wanted(run, frame) then picture(run, frame) end
        collect(run)
        keep.frame(run, frame)
        warn_of_variables(run, frame)
        if frame == run.to or (frame - run.loaded) % tenth == 0 then checkpoint.watch() end
        run.progress:update(frame + 1)
        if last then break end
    end
    host.finish_frames()
    collect(run)
    if not run.pictures then
        require("sim.core").finish()
        checkpoint.check()
    end
end

-- --- the end ----------------------------------------------------------------------------------

local function say_done(run)
    if run.quiet then return end
    local count = 0
    for _ in pairs(run.written) do count = count + 1 end
    host.say(("simlua: %d frame%s in %s, %.1f s\n"):format(count, count == 1 and "" or "s",
        run.out, run.progress:seconds()))
    if run.film then return end
    host.say(("simlua: a film of them: simlua film %s, which is: %s\n"):format(run.out,
        film.line(run.out, run.fps)))
end

local function settle_done(run)
    keep.finish(run)
    if run.shared then write_shared_record(run) elseif not run.resumable then run.complete() end
end

-- An interrupt is held back while its checkpoint is written.
local function settle_stopped(run)
    local signal = host.hold()
    local ok, err = pcall(function()
        host.finish_frames()
        collect(run)
        local frame = keep.interrupted(run)
        if run.shared then write_shared_record(run) else write_record(run, "interrupted") end
        if not run.quiet then
            host.say(frame and ("simlua: stopped; the same command goes on after frame %d\n")
                :format(frame) or "simlua: stopped; the same command starts over\n")
        end
    end)
    host.release(signal)
    if not ok then -- the interrupt is what ends the run: its code, but not in silence
        host.say(("simlua: what came after the last checkpoint is lost: %s\n"):format(
            tostring(err)))
    end
end

-- After a failure the frames that became whole still count.
local function settle_failed(run, err)
    pcall(host.finish_frames)
    collect(run)
    if run.shared then return write_shared_record(run) end
    run.record.error = tostring(err)
    write_record(run, "failed")
end

local function settle(ok, err, run)
    busy.inside = nil
    if run.progress then run.progress:finish() end
    if run.out then
        local _, stopped = host.status_of(err)
        if ok then settle_done(run)
        elseif stopped then settle_stopped(run)
        else settle_failed(run, err) end
    end
end

-- --- the start --------------------------------------------------------------------------------

-- Which frames: all, or those of --from, --to, --every.
local function set_range(run, settings)
    run.frames = settings.frames or run.frames
    run.from, run.to = settings.from or 0, settings.to or run.frames - 1
    run.every = settings.every or 1
    if run.from > run.to or run.to >= run.frames then
        host.usage_error(("frames %d to %d: the run has frames 0 to %d"):format(run.from,
            run.to, run.frames - 1))
    end
    run.to = run.from + (run.to - run.from) // run.every * run.every
    run.shared = settings.from or settings.to or settings.every
    run.range = run.shared and ("-%d-%d-%d"):format(run.from, run.to, run.every) or nil
end

local function refuse(run, old, settings)
    note_modules(run, old and old.modules)
    local list = old and folder.differences(old, run.record) or {}
    if #list == 0 or settings.resume_anyway then return end
    host.usage_error(("'%s' holds another run; different: %s. --fresh starts over, "
        .. "--resume-anyway goes on with it, --out DIR takes another folder"):format(run.out,
        table.concat(list, ", ")))
end

-- Look for an earlier run in the folder, and go on with it. True when nothing is left to do.
local function take_up(run, settings)
    local old, good, bad = folder.record(run.out), {}, {}
    if run.resumable then good, bad = folder.checkpoints(run.out, run.range) end
    refuse(run, good[1] and good[1].kept.record or old, settings)
    local chosen = keep.choose(run, good, bad)
    if not chosen then
        if not run.shared then folder.clear(run.out) end
        series.begin(nil, settings.fresh)
        return false
    end
    keep.load(run, chosen)
    local there = old and old.frames or 0
    local complete = old and old.status == "complete" and not run.shared
        and (chosen.frame >= run.to or old.stopped and chosen.frame == there - 1)
    if complete or chosen.frame > run.to then
        if complete then folder.remove_turns(run.out) end -- when its last act was cut
        if not run.quiet then
            host.say(("simlua: done before: %d frames in %s, %d asked for; --fresh starts "
                .. "over\n"):format(complete and there or chosen.frame + 1, run.out, run.frames))
        end
        return true
    end
    if not run.quiet then
        host.say(("simlua: going on after frame %d\n"):format(chosen.frame))
    end
    return false
end

local function open_folder(run, settings)
    host.folder(run.out)
    run.lock = folder.lock(run.out, run.shared)
    folder.tidy(run.out, run.shared)
    series.attach(run.out, run.shared)
    if settings.fresh then folder.clear(run.out) end
    if take_up(run, settings) then return true end
    if not run.shared then write_record(run, "running") end
    return false
end

local function prepare(parameters, settings)
    local run = host.check_run(parameters)
    local stray = host.unread()
    if stray then
        host.usage_error("no option " .. stray .. ": this script declares none (sim.options)")
    end
    run.quiet, run.strict = settings.quiet, settings.strict
    run.tickets, run.written = {}, {}
    run.loaded, run.saved, run.mirrors = -1, -1, true
    run.pictures = run.image ~= nil
    set_range(run, settings)
    run.record = new_record(settings, run)
    run.identity = new_record(settings, run)
    run.identity.written, run.identity.status, run.identity.frames = nil, nil, nil
    run.modules = {}
    run.note_modules = function(also) note_modules(run, also) end
    run.note_modules()
    run.collect = function()
        collect(run)
        note_modules(run)
    end
    run.note_file = function(frame) note_file(run, frame) end
    run.complete = function()
        run.record.tables = series.files(run.out)
        write_record(run, "complete")
    end
    if run.pictures or run.keep or run.out or settings.out then
        run.out = settings.out or run.out or "out/" .. base_name(settings.script)
    end
    return run
end

local function begin(run, settings)
    local stubborn = checkpoint.begin()
    run.resumable = run.out and not stubborn and settings.script ~= "-"
    if stubborn and run.out and not run.quiet then
        host.say(("simlua: this run cannot be resumed: %s has no checkpoint\n"):format(stubborn))
    end
    run.watch = watch.start(run)
    if run.strict and run.watch.partly then
        host.say("simlua: warning: the script holds too much for --strict to look at all of it\n")
    end
end

local function refuse_twice(run)
    if busy.inside then host.user_error "sim.run inside a callback of sim.run" end
    if run.out and busy[run.out] then
        host.user_error(("sim.run: '%s' holds the frames of an earlier sim.run of this script: "
            .. "give it another folder by `out`"):format(run.out))
    end
    if run.out then busy[run.out] = true end
    busy.inside = true
end

-- Of frames that several processes make there is a film when all are there.
local function make_film(run)
    if not run.shared or run.record.status == "complete" then
        film.make(run.out, run.film, run.fps, run.quiet)
    elseif not run.quiet then
        host.say(("simlua: no film yet, as frames are missing; of those there are: simlua film "
            .. "%s\n"):format(run.out))
    end
end

-- sim.run { frames, before, step, image, stop_when, out, fps, checkpoint, film }; see `simlua
-- --help run`.
return function(parameters)
    local settings = host.settings()
    series.has_run = true
    local run = prepare(parameters, settings)
    if settings.check then return rehearse(run) end
    refuse_twice(run)
    begin(run, settings)
    local done = run.out and open_folder(run, settings)
    if not run.out then
        series.attach(nil)
        series.begin()
    end
    if not done then
        host.guarded(loop, settle, run)
        if run.pictures then say_done(run) end
    end
    checkpoint.finish()
    busy.inside = nil
    if run.lock then process.unlock(run.lock) end
    if run.film and run.pictures and not (done and host.size(run.out .. "/" .. run.film)) then
        make_film(run)
    end
end
