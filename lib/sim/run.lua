-- run.lua: sim.run, the loop of a run, and its record run.json.
--
-- Frame k is the picture after k calls of step; frame 0 is the scene as built. Files are
-- named by the absolute number of the frame. The record holds nothing that differs between
-- two equal runs: no dates, no durations, no paths outside the folder.
local host = require "sim.host"
local json = require "sim.json"
local options = require "sim.options"
local progress = require "sim.progress"

local function frame_name(frame)
    return ("frame_%06d.png"):format(frame)
end

local function read_file(path)
    local file = io.open(path, "rb")
    if not file then return nil end
    local text = file:read("a")
    file:close()
    return text
end

-- "scenes/galaxy.lua" gives "galaxy"; "-" and "-e" give "run".
local function base_name(script)
    return script:match("([^/]+)%.lua$") or script:match("([^/]+)$"):match("^%w[%w_.-]*$")
        or "run"
end

local function device_record()
    local device = require("sim.core").device()
    return { kind = device.kind, name = device.name }
end

local function new_record(settings, run)
    local text = settings.script_path and read_file(settings.script_path)
    return {
        program = "simlua", version = settings.version, flags = settings.flags,
        script = { name = settings.script, hash = text and host.hash(text) or nil },
        options = options.effective, seed = settings.seed or options.effective.seed,
        device = device_record(), frames = run.frames, fps = run.fps,
        status = "running", written = { n = 0 },
    }
end

-- Frames of an earlier run into the same folder must not be taken for this one's. They are
-- ours to remove only where a record says that simlua made them.
local function remove_stale(out)
    local record = read_file(out .. "/run.json")
    if not (record and record:find('"program": "simlua"', 1, true)) then return end
    for _, name in ipairs(host.list(out)) do
        local is_frame = name:match("^frame_%d%d%d%d%d%d+%.png$")
        if is_frame then os.remove(out .. "/" .. name) end
    end
end

-- Move what the writer has finished into the record.
local function collect(state)
    for _, result in ipairs(host.results()) do
        local frame = state.tickets[result.ticket]
        if frame then
            local written = state.record.written
            written[#written + 1] = { frame = frame, file = frame_name(frame),
                bytes = result.bytes, hash = result.hash }
        end
    end
end

local function write_record(state)
    host.write(state.out .. "/run.json", json.encode(state.record))
end

local function picture(state, run, frame)
    local image = run.image(frame)
    local kind = type(image) == "userdata" and getmetatable(image)
    if kind ~= "sim.image" then
        local what = image == nil and "nothing" or "a " .. type(image)
        host.user_error("sim.run: image must return a picture, such as "
            .. "stars:image { … }; it returned " .. what)
    end
    state.record.image = { width = image.width, height = image.height }
    local ticket = host.save(image, state.out .. "/" .. frame_name(frame))
    state.tickets[ticket] = frame
    image:close()
end

local function loop(state, run)
    local shown = progress.start(run.frames, state.quiet)
    state.progress = shown
    for frame = 0, run.frames - 1 do
        if frame > 0 then run.step(frame) end
        if run.image then picture(state, run, frame) end
        collect(state)
        shown:update(frame + 1)
    end
    host.finish_frames()
    if not run.image then require("sim.core").finish() end
end

local function film_line(state)
    return ("ffmpeg -framerate %g -i '%s/frame_%%06d.png' -pix_fmt yuv420p '%s.mp4'")
        :format(state.record.fps, state.out, state.out)
end

local function say_done(state)
    if state.quiet then return end
    local count = #state.record.written
    host.say(("simlua: %d frame%s in %s, %.1f s\n"):format(count, count == 1 and "" or "s",
        state.out, state.progress:seconds()))
    host.say("simlua: a film of them: " .. film_line(state) .. "\n")
end

-- Set the record's last word on the run. After an interrupt or a failure the frames that
-- became whole still count.
local function settle(ok, err, state)
    if state.progress then state.progress:finish() end
    if not state.out then return end
    local _, stopped = host.status_of(err)
    if not ok then pcall(host.finish_frames) end
    collect(state)
    state.record.status = ok and "complete" or stopped and "interrupted" or "failed"
    if not ok and not stopped then state.record.error = tostring(err) end
    write_record(state)
end

-- sim.run { frames, step, image, out, fps }; see `simlua --help run`.
return function(parameters)
    local run, settings = host.check_run(parameters), host.settings()
    local stray = host.unread()
    if stray then
        host.usage_error("no option " .. stray .. ": this script declares none (sim.options)")
    end
    run.frames = settings.frames or run.frames
    local state = { tickets = {}, quiet = settings.quiet }
    state.record = new_record(settings, run)
    if run.image then
        state.out = settings.out or run.out or "out/" .. base_name(settings.script)
        host.folder(state.out)
        remove_stale(state.out)
        write_record(state)
    end
    host.guarded(loop, settle, state, run)
    if run.image then say_done(state) end
end
