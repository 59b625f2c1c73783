-- film.lua: the frames of a run made a film by ffmpeg, where it is installed: `sim.run {
-- film = "galaxy.mp4" }` and `simlua film DIR [FILE] [--lossless]`.
--
-- The standard preset plays everywhere: H.264, 4:2:0, even sides (an odd one is padded by a
-- black line), and colours by BT.709, which the file says: left unsaid, players guess by the
-- size. The lossless one keeps every bit: H.264 RGB in .mp4 and .mkv.
local folder = require "sim.folder"
local host = require "sim.host"
local process = require "sim.process"

local film = {}

-- 30 -> "30", 29.97 -> "2997/100": never a rounded rate.
local function rate(fps)
    local below = 1
    while fps * below ~= math.floor(fps * below) and below < 1000000 do below = below * 10 end
    return below == 1 and ("%d"):format(fps) or ("%d/%d"):format(math.floor(fps * below + 0.5),
        below)
end

local standard = { "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2,scale=out_color_matrix=bt709:"
    .. "out_range=tv:flags=bicubic+accurate_rnd+full_chroma_int,format=yuv420p", "-colorspace",
    "bt709", "-color_primaries", "bt709", "-color_trc", "bt709", "-color_range", "tv", "-c:v",
    "libx264", "-crf", "18", "-preset", "medium", "-pix_fmt", "yuv420p", "-movflags",
    "+faststart" }
local exact = { "-c:v", "libx264rgb", "-crf", "0", "-preset", "medium" }

-- Where the numbers of the frames have gaps (--every), ffmpeg must be given a pattern: a
-- sequence ends for it at the first gap.
local function source(out, frames)
    if frames.last - frames.first + 1 == frames.count then
        return { "-start_number", tostring(frames.first), "-i", out:gsub("%%", "%%%%")
            .. "/frame_%06d.png" }
    end
    return { "-pattern_type", "glob", "-i", out:gsub("[][*?{}\\]", "\\%0") .. "/frame_*.png" }
end

local function command(out, goal, fps, frames, lossless)
    local words = { "ffmpeg", "-nostdin", "-loglevel", "error", "-y", "-framerate", rate(fps) }
    for _, more in ipairs { source(out, frames), lossless and exact or standard, { goal } } do
        table.move(more, 1, #more, #words + 1, words)
    end
    return words
end

-- The frames in a folder: the first, the last, and how many; nil when there are none.
local function frames_of(out)
    local first, last, count = math.huge, -1, 0
    for _, name in ipairs(host.list(out)) do
        local frame = tonumber(name:match("^frame_(%d+)%.png$"))
        if frame then
            first, last, count = math.min(first, frame), math.max(last, frame), count + 1
        end
    end
    return count > 0 and { first = first, last = last, count = count } or nil
end

-- ffmpeg writes beside the goal, which may be on another disk than the frames; it is renamed
-- to when it is whole. An interrupt ends ffmpeg too, and takes away what it wrote.
local function encode(out, goal, fps, lossless)
    local frames = frames_of(out)
    if not frames then return false, "there are no frames" end
    local base = ("%s.film-%d"):format(goal:match("^.*/") or "", process.pid())
    local draft, log = base .. (goal:match("%.%w+$") or ".mp4"), os.tmpname()
    local ok, child, code, text
    host.guarded(function()
        ok, child = pcall(process.spawn, command(out, draft, fps, frames, lossless), log, log)
        if ok then code = select(2, process.wait()) end
    end, function()
        if ok and not code then
            local signal = host.hold()
            process.kill(child, 9)
            process.wait()
            host.release(signal)
        end
        text = not ok and tostring(child) or (folder.read(log) or ""):match("[^\n]+")
        os.remove(log)
        local done, why = false, nil
        if code == 0 then
            done, why = os.rename(draft, goal)
            why = why and ("cannot write '%s': %s"):format(goal, why:match("[^: ][^:]*$"))
        end
        if not done then os.remove(draft) end
        text = not done and (text or why or "ffmpeg failed") or nil
    end)
    return text == nil, text
end

-- The ffmpeg line for a person's shell.
function film.line(out, fps)
    local plain = out:match("^[%w._/-]+$") and out or "'" .. out:gsub("'", "'\\''") .. "'"
    return ("ffmpeg -framerate %s -i %s/frame_%%06d.png -pix_fmt yuv420p %s.mp4"):format(
        rate(fps), plain, plain)
end

-- For sim.run: the run is good even when there is no film.
function film.make(out, name, fps, quiet)
    local goal = name:find("/", 1, true) and name or out .. "/" .. name
    local ok, why = encode(out, goal, fps, false)
    if not ok then
        host.say(("simlua: no film: %s; the frames are in %s\n"):format(why, out))
    elseif not quiet then
        host.say("simlua: the film is " .. goal .. "\n")
    end
    return ok
end

local usage = [[
usage: simlua film DIR [FILE] [options]

Makes a film of the frames in DIR by ffmpeg; FILE is DIR/film.mp4, or DIR/film.mkv when
lossless.

  --lossless   keep every pixel (H.264 RGB), for .mkv and .mp4
  --fps N      frames a second (default: what the run says, else 30)
]]

function film.main(...)
    local out, goal, lossless, fps
    local arguments, i = { ... }, 1
    while i <= #arguments do
        local word = arguments[i]
        if word == "--lossless" then
            lossless = true
        elseif word == "--help" then
            host.end_help(usage)
        elseif word == "--fps" then
            i = i + 1
            fps = tonumber(arguments[i])
            if not fps or not (fps > 0 and fps <= 1000) then
                host.usage_error "--fps takes a number of frames a second"
            end
        elseif word:sub(1, 1) == "-" then
            host.usage_error(("film: no option '%s'; there are --lossless and --fps N")
                :format(word))
        elseif not out then
            out = word
        else
            goal = goal and host.usage_error "film: DIR and FILE, not more" or word
        end
        i = i + 1
    end
    if not out then host.usage_error "film: which folder? simlua film DIR [FILE]" end
    local record = folder.record(out)
    if not frames_of(out) then host.file_error(("no frames in '%s'"):format(out)) end
    goal = goal or out .. "/film" .. (lossless and ".mkv" or ".mp4")
    local ok, why = encode(out, goal, fps or record and record.fps or 30, lossless)
    if not ok then host.file_error(("no film: %s"):format(why)) end
    host.say("simlua: the film is " .. goal .. "\n")
end

return film
