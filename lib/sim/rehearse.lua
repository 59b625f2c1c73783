-- rehearse.lua: `simlua --check scene.lua`: the scene is built, each callback of sim.run is
-- called (`before` with steps that take none, step once, timed), and instead of a run there
-- is a report: what is wrong, and what the run would need. Nothing is written into the run's
-- folder. A misspelt key is told and passed over (src/lua_param.c), so that all are found at
-- once; any other error ends the building of the scene, or the callback that it is in.
--
-- A script without sim.run runs as ever: its steps are its own.
local checkpoint = require "sim.checkpoint"
local folder = require "sim.folder"
local host = require "sim.host"
local process = require "sim.process"
local state_table = require "sim.state"
local watch = require "sim.watch"

local function bytes_text(bytes)
    for _, unit in ipairs { "bytes", "KiB", "MiB", "GiB" } do
        if bytes < 1024 or unit == "GiB" then
            return (unit == "bytes" and "%d %s" or "%.1f %s"):format(bytes, unit)
        end
        bytes = bytes / 1024
    end
end

local function duration_text(seconds)
    if seconds < 60 then return ("%.1f s"):format(seconds) end
    local s = math.floor(seconds + 0.5)
    return ("%d:%02d:%02d"):format(s // 3600, s // 60 % 60, s % 60)
end

local function timed(problems, fn, ...)
    local began = host.now()
    local ok, result = xpcall(fn, host.explain, ...)
    if ok then ok, result = true, result else problems[#problems + 1] = tostring(result) end
    return host.now() - began, ok and result or nil
end

-- A picture's file, in a folder of its own that is removed again: its size, its making.
local function try_picture(run, problems, frame)
    local place = os.tmpname()
    os.remove(place)
    host.folder(place)
    local seconds, size, image = timed(problems, function()
        local image = run.image(frame)
        if getmetatable(image) ~= "sim.image" then
            error("sim.run: image must return a picture", 0)
        end
        host.save(image, place .. "/frame.png")
        host.finish_frames()
        return image
    end)
    if size then
        image = { width = size.width, height = size.height }
        size:close()
    end
    local bytes = host.size(place .. "/frame.png")
    os.remove(place .. "/frame.png")
    os.remove(place)
    return seconds, bytes, image
end

local function try_step(run, problems)
    local core = require "sim.core"
    return (timed(problems, function()
        run.step(1)
        core.finish()
    end))
end

-- What the callbacks did besides: state that cannot be saved, variables that are not.
local function look_behind(run, problems)
    if not run.out then return nil end
    timed(problems, state_table.save)
    local names = watch.changed(run.watch)
    if #names == 0 then return nil end
    local text = ("the callbacks change %s, which no checkpoint holds: keep it in "
        .. "sim.state"):format(table.concat(names, ", "))
    if not run.strict then return text end
    problems[#problems + 1] = text
    return nil
end

-- The nearest folder that exists already.
local function existing(path)
    while path ~= "" do
        local free = process.disk_free(path)
        if free then return free end
        path = path:match("^(.*)/[^/]*$") or ""
    end
    return process.disk_free "."
end

-- What stands in the folder already.
local function earlier(run)
    local old = folder.record(run.out)
    if not old then return nil end
    run.note_modules(old.modules)
    local list = folder.differences(old, run.record)
    if #list > 0 then return "the folder holds another run: " .. table.concat(list, ", ") end
    local good = folder.checkpoints(run.out, run.range)
    if old.status == "complete" and good[1] and good[1].frame >= run.to then
        return "the folder holds this run already, complete"
    end
    return good[1] and ("the run would go on after frame %d"):format(good[1].frame) or nil
end

local began = host.now() -- this file is read when the script asks for sim

return function(run)
    local building = host.now() - began
    local problems, core = {}, require "sim.core"
    local stubborn = checkpoint.begin()
    local state, picture_seconds, picture_bytes, image = checkpoint.bytes(), 0, 0, nil
    run.watch = watch.start(run)
    if run.before then
        host.idle(true)
        timed(problems, run.before)
        host.idle(false)
    end
    local step_seconds = run.frames > 1 and try_step(run, problems) or 0
    if run.pictures then
        picture_seconds, picture_bytes, image = try_picture(run, problems, math.min(1, run.to))
    end
    if run.stop_when then timed(problems, run.stop_when, 1) end
    local changed = look_behind(run, problems)
    local made = (run.to - run.from) // run.every + 1
    local disk = made * (picture_bytes or 0) + (run.out and 2 * state or 0)
    local free = run.out and existing(run.out)
    if free and free < disk then
        problems[#problems + 1] = ("the disk has %s free, the run needs about %s"):format(
            bytes_text(free), bytes_text(disk))
    end
    print(("frames      %d%s"):format(made, made ~= run.frames and (" of %d"):format(run.frames)
        or ""))
    if image then print(("picture     %d x %d"):format(image.width, image.height)) end
    if run.out then print(("folder      %s"):format(run.out)) end
    local device, copy = core.device(), run.out and not stubborn and state or 0
    print(("device      %s, %s of %s"):format(device.kind, bytes_text(core.stats().peak_bytes
        + copy), bytes_text(device.memory)))
    if run.out then
        print(("disk        about %s%s"):format(bytes_text(disk), free and ", "
            .. bytes_text(free) .. " free" or ""))
        print(stubborn and "checkpoint  none: " .. stubborn .. " has none"
            or ("checkpoint  %s"):format(bytes_text(state)))
    end
    print(("time        about %s (the scene %.3g s, a step %.3g s, a picture %.3g s)"):format(
        duration_text(building + run.to * step_seconds + made * picture_seconds), building,
        step_seconds, picture_seconds))
    local note = run.out and earlier(run)
    if note then print("note        " .. note) end
    if changed then print("note        " .. changed) end
    if run.before then print("note        the time of `before` is not known") end
    checkpoint.finish()
    for _, text in ipairs(problems) do host.say("simlua: " .. text .. "\n") end
    os.exit(#problems == 0 and 0 or 1)
end
