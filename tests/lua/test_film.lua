-- test_film.lua: films by ffmpeg, where there is one: what it is told, and what comes of it;
-- without it a clear line, and the frames stay.
local check = require "check"
local command = require "command"
local run_folder = require "run_folder"

local quote = command.quote
local home = command.folder()
command.write(home .. "/scene.lua", run_folder.scene)
command.write(home .. "/with.lua", (run_folder.scene:gsub("frames = opt.frames",
    'fps = 23.976, film = "my.mp4", %0')))

local function run(arguments, environment)
    return command.run(arguments, { folder = home, device = "", env = environment })
end

check.equal((run "--device cpu --quiet --out single scene.lua"), 0, "a run")
check.equal((run "--device cpu --quiet --out [x]%d --from 0 --every 3 scene.lua"), 0, "a range")

-- None.
do
    local code, _, err = run("film single", "PATH=/nowhere")
    check.equal(code, 3, "no ffmpeg")
    check.that(err:find("no film: cannot start 'ffmpeg'", 1, true), err)
    check.equal((run "film nowhere"), 3, "no frames")
    check.equal((run "verify single"), 0, "the frames are as they were")
    code, _, err = run("--device cpu --out with with.lua", "PATH=/nowhere")
    check.equal(code, 0, "a run without its film is good: " .. err)
    check.that(err:find("no film: .*cannot start 'ffmpeg'")
        and err:find("the frames are in with", 1, true), err)
end

-- A stand-in shows what ffmpeg is told, and one that fails leaves nothing behind.
do
    command.write(home .. "/ffmpeg", '#!/bin/bash\necho "$@" > told; for last; do :; done\n'
        .. 'echo film > "$last"\n')
    os.execute(("chmod +x %s/ffmpeg"):format(quote(home)))
    local code, _, err = run("film single --fps 29.97", "PATH=$PWD:$PATH")
    check.equal(code, 0, err)
    local told = command.read(home .. "/told")
    for _, phrase in ipairs { "-framerate 2997/100", "yuv420p", "-start_number 0",
        "-i single/frame_%06d.png" } do
        check.that(told:find(phrase, 1, true), told)
    end
    check.equal(command.read(home .. "/single/film.mp4"), "film\n", "under its final name")
    command.write(home .. "/ffmpeg", '#!/bin/bash\nfor last; do :; done\n'
        .. 'echo half > "$last"\necho "no such codec" >&2\nexit 1\n')
    code, _, err = run("film single other.mp4", "PATH=$PWD:$PATH")
    check.equal(code, 3, "ffmpeg fails")
    check.that(err:find("no film: no such codec", 1, true), err)
    check.equal(command.read(home .. "/other.mp4"), nil, "no half film")
    check.equal(table.concat(run_folder.names(home), " "):find(".film", 1, true), nil,
        "nothing is left")
    command.write(home .. "/ffmpeg", '#!/bin/bash\nfor last; do :; done\n'
        .. 'echo half > "$last"\nkill -TERM $PPID\nexec sleep 30\n')
    code, _, err = run("film single other.mp4", "PATH=$PWD:$PATH")
    check.equal(code, 143, "stopped while ffmpeg is at work: " .. err)
    check.equal(command.read(home .. "/other.mp4"), nil, "no half film")
    check.equal(table.concat(run_folder.names(home), " "):find(".film", 1, true), nil,
        "nothing is left")
    -- The draft stands beside the film, where it can be renamed; and what if it cannot.
    command.write(home .. "/ffmpeg", '#!/bin/bash\nfor last; do :; done\n'
        .. 'echo film > "$last"\necho "${last%/*}" > told\n')
    os.execute("mkdir " .. quote(home .. "/folder"))
    code, _, err = run("film single folder/x.mp4", "PATH=$PWD:$PATH")
    check.equal(code, 0, err)
    check.equal(command.read(home .. "/told"), "folder\n", "the draft's folder")
    code, _, err = run("film single nowhere/x.mp4", "PATH=$PWD:$PATH")
    check.equal(code, 3, "no such folder")
    check.that(err:find("nowhere/", 1, true), err)
    command.shell(("mkdir -p %s/full.mp4/x"):format(quote(home)))
    code, _, err = run("film single full.mp4", "PATH=$PWD:$PATH")
    check.equal(code, 3, "a folder in its place")
    check.that(err:find("'full.mp4': Is a directory", 1, true), err)
    -- A part of the frames, or the replay of some, is not the film of the run.
    command.write(home .. "/parts.lua", (run_folder.scene:gsub("frames = opt.frames",
        'film = "folder/parts.mp4", %0')))
    for _, part in ipairs { "--to 3", "--from 4" } do
        code, _, err = run("--device cpu --out parts parts.lua " .. part, "PATH=$PWD:$PATH")
        check.equal(code, 0, err)
        check.equal(command.read(home .. "/folder/parts.mp4"), part == "--from 4" and "film\n"
            or nil, part .. ": " .. err)
    end
    command.write(home .. "/folder/parts.mp4", "mine")
    code, _, err = run("verify --replay parts", "PATH=$PWD:$PATH")
    check.equal(code, 0, err)
    check.equal(command.read(home .. "/folder/parts.mp4"), "mine", "a replay makes no film")
    os.remove(home .. "/ffmpeg")
end

-- What ffprobe says of a film, by name.
local function facts(path)
    local code, out, err = command.shell(("cd %s && ffprobe -v error -count_frames -show_entries "
        .. "stream=width,height,pix_fmt,r_frame_rate,nb_read_frames,color_space,color_range "
        .. "-of default=nw=1 %s"):format(quote(home), quote(path)))
    check.equal(code, 0, err)
    local found = {}
    for name, value in out:gmatch "([%w_]+)=([^\n]*)" do found[name] = value end
    return found
end

local function expect(path, wanted)
    local found = facts(path)
    for name, value in pairs(wanted) do
        check.equal(found[name], value, ("%s: %s"):format(path, name))
    end
end

-- The pixels of all frames.
local function pixels(words)
    local code, out, err = command.shell(("cd %s && ffmpeg -v error %s -pix_fmt rgb24 -f rawvideo "
        .. "- | md5sum"):format(quote(home), words))
    check.equal(code, 0, err)
    check.equal(err, "", "ffmpeg is content")
    return out
end

if command.shell "ffmpeg -version && ffprobe -version" == 0 then
    -- 48 x 27: the standard preset needs even sides.
    check.equal((run "film single single.mp4 --fps 29.97"), 0, "standard")
    expect("single.mp4", { width = "48", height = "28", pix_fmt = "yuv420p", nb_read_frames = "8",
        r_frame_rate = "2997/100", color_space = "bt709", color_range = "tv" })
    check.equal((run "film single single.mkv --lossless"), 0, "lossless")
    expect("single.mkv", { width = "48", height = "27", pix_fmt = "gbrp", nb_read_frames = "8",
        r_frame_rate = "30/1" })
    local frames = pixels "-i single/frame_%06d.png"
    check.equal(pixels "-i single.mkv", frames, "lossless: every pixel")
    check.that(pixels "-i single.mp4" ~= frames, "the comparison sees a difference")
    check.equal((run "film [x]%d --lossless"), 0, "numbers with gaps, a strange name")
    expect("[x]%d/film.mkv", { nb_read_frames = "3" })
    local code, _, err = run "--device cpu --out made with.lua"
    check.equal(code, 0, err)
    check.that(err:find("the film is made/my.mp4", 1, true), err)
    expect("made/my.mp4", { nb_read_frames = "8", r_frame_rate = "2997/125" })
else
    check.skip "no ffmpeg: no film was made"
end

command.clean()
return check.report()
