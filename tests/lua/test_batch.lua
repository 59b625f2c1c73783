-- test_batch.lua: simlua sweep, batch, --check, film: many runs, and what is told of them.
local check = require "check"
local command = require "command"
local run_folder = require "run_folder"

local quote = command.quote
local home = command.folder()
command.write(home .. "/scene.lua", run_folder.scene)

local function run(arguments, device)
    return command.run(arguments, { folder = home, device = device or "" })
end

local function list(arguments)
    local code, out, err = run(arguments)
    check.equal(code, 0, arguments .. ": " .. err)
    local lines = {}
    for line in out:gmatch("[^\n]+") do lines[#lines + 1] = line end
    return lines
end

-- Values: grids, pairs, ranges; typed by the scene's options.
check.equal(#list("sweep scene.lua --bodies 20,30 --seed 1:3 --list"), 6, "a grid")
check.equal(#list("sweep scene.lua --bodies 20,30 --seed 4:5 --paired --list"), 2, "pairs")
check.equal(#list("sweep scene.lua --seed 1:10:3 --list"), 4, "a range by steps")
local lines = list("sweep scene.lua --slow 1:3 --seed=7 --list --device cpu --threads 1")
check.that(lines[1]:find("--device cpu", 1, true) and lines[1]:find("--seed=7", 1, true)
    and lines[3]:find("--slow=3", 1, true), table.concat(lines, "\n"))
for line, phrase in pairs {
    ["scene.lua --bodeis 3"] = "did you mean --bodies",
    ["scene.lua --bodies 3,x"] = "--bodies takes whole number, not 'x'",
    ["scene.lua --bodies 3,3"] = "has 3 twice",
    ["scene.lua --seed 3:1"] = "is no range",
    ["scene.lua --seed -1"] = "--seed takes whole number",
    ["scene.lua"] = "which options",
    ["--seed 1"] = "which scene",
    ["scene.lua --seed 1:2 --bodies 1:3 --paired"] = "another option",
    ["scene.lua --seed 1 --jobs 0"] = "--jobs takes",
} do
    local code, _, err = run("sweep " .. line)
    check.equal(code, 2, line)
    check.that(err:find(phrase, 1, true), line .. ": " .. err)
end

-- The same frames as single runs; a summary; a sheet that names every frame it shows.
do
    local code, out, err = run("sweep scene.lua --bodies 20,30 --seed 1:2 --jobs 2 --device cpu "
        .. "--out sweep")
    check.equal(code, 0, err)
    check.that(out:find("bodies=20_seed=2 ", 1, true) and out:find("complete", 1, true), out)
    check.equal((run("--quiet --out single scene.lua --bodies 30 --seed 2", "--device cpu")), 0, "")
    run_folder.same(home .. "/sweep/bodies=30_seed=2", home .. "/single", "a job")
    local rows = command.read(home .. "/sweep/summary.csv")
    check.equal(rows:match("^[^\n]*"), "job,bodies,seed,status,code,frames,folder", "columns")
    check.equal(select(2, rows:gsub("\n", "")), 5, "rows")
    check.that(rows:find("bodies=20_seed=1,20,1,complete,0,8,", 1, true), rows)
    local page = command.read(home .. "/sweep/index.html")
    check.equal(page:find("https?:"), nil, "nothing from the network")
    local shown = 0
    for path in page:gmatch('<img src="([^"]+)"') do
        shown = shown + 1
        path = path:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end)
        check.that(command.read(home .. "/sweep/" .. path), path .. " is there")
    end
    check.equal(shown, 12, "first, middle and last frame of each job")
    local _, opened = page:gsub("<article", "")
    local _, closed = page:gsub("</article>", "")
    check.that(opened == 4 and closed == 4, "an article a job")
    -- Again: nothing is done anew.
    local look = "stat -c '%Y %i %n' " .. home .. "/sweep/bodies*/* | md5sum"
    local _, before = command.shell(look)
    check.equal((run("sweep scene.lua --bodies 20,30 --seed 1:2 --device cpu --out sweep")), 0, "")
    local _, after = command.shell(look)
    check.equal(after, before, "a finished sweep changes nothing")
end

-- One job fails: the others are done, the code tells; --fail-fast stops there.
command.write(home .. "/fails.lua", (run_folder.scene:gsub('local stars', 'if opt.seed == 2 then '
    .. 'error "seed 2 is bad" end\nlocal stars', 1)))
do
    local code, out, err = run("sweep fails.lua --seed 1:3 --device cpu --out fails")
    check.equal(code, 1, "a failing job's code")
    check.that(err:find("seed=2: code 1: fails.lua:3: seed 2 is bad", 1, true), err)
    check.that(out:find("seed=3 +3 +complete"), out)
    code, out = run("sweep fails.lua --seed 1:3 --device cpu --out fast --fail-fast")
    check.equal(code, 1, "--fail-fast: code")
    check.that(out:find("seed=3 +3 +not run"), out)
    check.that(command.read(home .. "/fails/index.html"):find('class="bad"', 1, true), "marked")
end

-- A sweep that is stopped writes checkpoints, and goes on; one that was killed does, too.
for _, signal in ipairs { "TERM", "KILL" } do
    local line = ("cd %s && timeout %s -s %s 0.7 %s sweep scene.lua --seed 1:2 --slow 200 "
        .. "--device cpu --out cut%s --jobs 2"):format(quote(home), signal == "TERM"
        and "--preserve-status" or "", signal, quote(command.program), signal)
    local code, _, err = command.shell(line)
    check.equal(code, signal == "TERM" and 143 or 137, signal .. ": " .. err)
    if signal == "KILL" then os.execute "sleep 2.5" end -- its jobs run on to their end
    code, _, err = run("sweep scene.lua --seed 1:2 --slow 200 --device cpu --out cut" .. signal)
    check.equal(code, 0, signal .. ": " .. err)
    check.equal((run(("verify cut%s/seed=1 cut%s/seed=2"):format(signal, signal))), 0, "verified")
end

-- batch.
do
    command.write(home .. "/other.lua", run_folder.scene)
    os.execute("mkdir -p " .. quote(home .. "/deep"))
    command.write(home .. "/deep/scene.lua", run_folder.scene)
    local code, out, err = run("batch scene.lua other.lua deep/scene.lua --device cpu --frames 2 "
        .. "--out batch")
    check.equal(code, 0, err)
    check.that(out:find("scene-2", 1, true), out)
    check.equal((run "verify batch/scene batch/other batch/scene-2"), 0, "batch: verified")
    check.equal((run "batch"), 0, "its help")
    check.equal((run "batch --jobs 2"), 2, "no scripts")
end

-- The array script, run by a stand-in that cuts the first try of each task short.
do
    local code, script = run("sweep scene.lua --seed 1:2 --slow 200 --device cpu --out array "
        .. "--slurm")
    check.equal(code, 0, "--slurm")
    command.write(home .. "/array.sh", script)
    command.write(home .. "/scontrol", '#!/bin/bash\necho "$@" >> requeued\n')
    check.that(script:find("--array=0-1\n", 1, true)
        and script:find("--signal=B:TERM@", 1, true), script)
    local line = "cd %s && chmod +x scontrol && export PATH=$PWD:$PATH SLURM_ARRAY_JOB_ID=9 "
        .. "SLURM_ARRAY_TASK_ID=%d && timeout --preserve-status -s TERM %s bash array.sh"
    for task = 0, 1 do
        local cut, _, err = command.shell(line:format(quote(home), task, "0.5"))
        check.equal(cut, 143, "a task out of time: " .. err)
        check.equal((command.shell(line:format(quote(home), task, "60"))), 0, "its second try")
    end
    check.equal(command.read(home .. "/requeued"), "requeue 9_0\nrequeue 9_1\n", "queued again")
    check.equal((run "verify array/seed=1 array/seed=2"), 0, "array: verified")
end

-- --check.
do
    local code, out, err = run("--check --out checked scene.lua", "--device cpu --quiet")
    check.equal(code, 0, err)
    for _, phrase in ipairs { "frames      8", "picture     48 x 27", "disk        about",
        "time        about" } do
        check.that(out:find(phrase, 1, true), phrase .. ": " .. out)
    end
    check.equal(command.read(home .. "/checked/run.json"), nil, "--check writes nothing")
    command.write(home .. "/wrong.lua", (run_folder.scene:gsub("stars:step%(3%)", "stars:setp(3)")
        :gsub("width = 6", "widht = 6")))
    code, out, err = run("--check wrong.lua", "--device cpu --quiet")
    check.equal(code, 1, "--check of a wrong script: " .. out)
    check.that(err:find("'setp'", 1, true) and err:find("widht", 1, true), "every problem: " .. err)
end

-- Film: by ffmpeg where there is one; without it a clear line, and the frames stay.
do
    local code, _, err = command.shell(("cd %s && PATH=/nowhere %s film single"):format(quote(home),
        quote(command.program)))
    check.equal(code, 3, "no ffmpeg")
    check.that(err:find("no film: cannot start 'ffmpeg'", 1, true), err)
    check.equal((run "film nowhere"), 3, "no frames")
    check.equal((run "verify single"), 0, "the frames are as they were")
    -- A stand-in shows what ffmpeg is told.
    command.write(home .. "/ffmpeg", '#!/bin/bash\necho "$@" > told; for last; do :; done\n'
        .. 'echo film > "$last"\n')
    code, _, err = command.shell(("cd %s && chmod +x ffmpeg && PATH=$PWD:$PATH %s film single "
        .. "--fps 29.97"):format(quote(home), quote(command.program)))
    check.equal(code, 0, err)
    local told = command.read(home .. "/told")
    for _, phrase in ipairs { "-framerate 2997/100", "yuv420p", "-start_number 0",
        "frame_%06d.png" } do
        check.that(told:find(phrase, 1, true), told)
    end
    check.equal(command.read(home .. "/single/film.mp4"), "film\n", "under its final name")
end

command.clean()
return check.report()
