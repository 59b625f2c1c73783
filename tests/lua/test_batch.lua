-- test_batch.lua: simlua sweep, batch, --check: many runs, and what is told of them.
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

-- Folders of their own, though the names would be the same, or too long for a folder; jobs
-- that are refused have no part in what another run left there.
do
    command.write(home .. "/named.lua", (run_folder.scene:gsub("slow = 0", 'slow = 0, word = "x"')))
    local long = ("y"):rep(300)
    local line = "sweep named.lua --frames 2 --device cpu --out named --word p/q,p_q," .. long
        .. "," .. long .. "y"
    local code, out, err = run(line)
    check.equal(code, 0, err)
    check.equal(select(2, out:gsub("complete", "")), 4, out)
    code, out = run(line .. " --bodies 7")
    check.equal(code, 2, "all are refused: " .. out)
    check.that(select(2, out:gsub("failed +2 +0 ", "")) == 4 and not out:find "complete", out)
    check.equal(command.read(home .. "/named/index.html"):find("<img src", 1, true), nil,
        "no pictures of another run")
    code, out, err = run "sweep scene.lua --color 3"
    check.equal(code, 2, "no such option: " .. out)
    check.that(err:find("there are: bodies, frames, seed, slow", 1, true), err)
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

-- A sweep that is stopped writes checkpoints, and goes on. Of one that was killed no job is
-- left at work: it would hold the lock on its folder. One job of them fails as before.
local function program(words, before)
    return ("env %s %s %s"):format(before or "", quote(command.program), words)
end
local function checkpoints(folder, seeds)
    local files = {}
    for i, seed in ipairs(seeds) do
        files[i] = ("%s/seed=%d/checkpoint-0.sim"):format(folder, seed)
    end
    return files
end
for _, signal in ipairs { "TERM", "KILL" } do
    local out = "cut" .. signal
    local words = ("sweep fails.lua --seed 1:3 --device cpu --threads 1 --jobs 2 --out %s"):format(
        out)
    local code, _, err = command.signal_when(checkpoints(out, { 1, 3 }), signal, home,
        program(words, "STOP_AT='3 HOLD'"))
    check.equal(code, signal == "TERM" and 143 or 137, signal .. ": " .. err)
    if signal == "TERM" then
        for _, name in ipairs { "seed=1", "seed=3" } do
            local record = command.read(("%s/%s/%s/run.json"):format(home, out, name))
            check.that(record:find('"status": "interrupted"', 1, true), record)
        end
    end
    local text
    code, text, err = run(words)
    check.equal(code, 1, signal .. ", again: " .. err)
    check.that(text:find("seed=1 +1 +complete +0 +8") and text:find("seed=2 +2 +failed +1 ")
        and text:find("seed=3 +3 +complete +0 +8"), text)
    check.equal((run(("verify %s/seed=1 %s/seed=3"):format(out, out))), 0, "verified")
    check.equal((run("--quiet --out one fails.lua --seed 3", "--device cpu")), 0, "one alone")
    run_folder.same(("%s/%s/seed=3"):format(home, out), home .. "/one", signal)
end

-- A job that loses its device (code 4) is started once more, and goes on from its checkpoint;
-- one that loses it again is not. Each start loses it at the same call: at a copy by word
-- alone, at a launch by a crash, on a GPU for real.
command.write(home .. "/starts.lua", 'local f <close> = io.open("starts", "a") f:write "x"\n'
    .. run_folder.scene)

local function lose(device, kind)
    device = "--device " .. device
    command.shell(("cd %s && rm -rf counted kept lost"):format(quote(home)))
    local code, _, err = command.run("--quiet --out counted scene.lua", { folder = home,
        device = device, env = ("SIMLUA_FAIL=%s:0 SIMLUA_FAIL_LOG=calls"):format(kind) })
    check.equal(code, 0, err)
    local calls = tonumber(command.read(home .. "/calls"))
    for at, want in pairs { [math.floor(calls * 0.75)] = 0, [3] = 4 } do
        command.shell(("cd %s && rm -rf starts lost"):format(quote(home)))
        code, _, err = command.run(("sweep starts.lua --seed 2 %s --out lost"):format(device),
            { folder = home, device = "", env = ("SIMLUA_FAIL=%s:%d"):format(kind, at) })
        local what = ("%s: lost at %s %d of %d"):format(device, kind, at, calls)
        check.equal(code, want, what .. ": " .. err)
        check.equal(command.read(home .. "/starts"), "xxx", what .. ": asked once, run twice")
        if want == 0 then
            check.equal((run "verify lost/seed=2"), 0, what .. ": verified")
            check.equal((run("--quiet --out kept starts.lua --seed 2", device)), 0, what)
            run_folder.same(home .. "/lost/seed=2", home .. "/kept", what)
        else
            check.that(err:find(" was lost", 1, true), what .. ": " .. err)
        end
    end
end
lose("cpu", "copy")
for _, device in ipairs(command.devices()) do lose(device, "crash") end

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

-- The array script, run by a stand-in for sbatch: the first try of each task runs out of
-- time, gets the signal that the script asks for, and is run again if it asks for that.
command.write(home .. "/scontrol", '#!/bin/bash\necho "$@" >> requeued\n')
command.write(home .. "/sbatch", [==[
#!/bin/bash
last=$(sed -n 's/^#SBATCH --array=0-\([0-9]*\)$/\1/p' "$1")
signal=$(sed -n 's/^#SBATCH --signal=B:\([A-Z]*\)@[0-9]*$/\1/p' "$1")
export PATH=$PWD:$PATH SLURM_ARRAY_JOB_ID=9
for ((task = 0; task <= last; task++)); do
    export SLURM_ARRAY_TASK_ID=$task
    STOP_AT="3 HOLD" bash "$1" &
    until [ -e array/seed=$((task + 1))/checkpoint-0.sim ] || ! kill -0 $!; do sleep 0.02; done
    kill -$signal $!
    wait $!
    echo "first $?"
    grep -qx "requeue 9_$task" requeued || continue
    bash "$1"
    echo "second $?"
done
]==])
do
    local code, script = run("sweep scene.lua --seed 1:2 --device cpu --threads 1 --out array "
        .. "--slurm")
    check.equal(code, 0, "--slurm")
    command.write(home .. "/array.sh", script)
    local _, out, err = command.shell(("cd %s && chmod +x scontrol sbatch && ./sbatch array.sh")
        :format(quote(home)))
    local codes = {}
    for line in out:gmatch("[^\n]+") do
        if line:match("^%a+ %d+$") then codes[#codes + 1] = line end
    end
    check.equal(table.concat(codes, ", "), "first 143, second 0, first 143, second 0", err)
    check.equal((run "verify array/seed=1 array/seed=2"), 0, "array: verified")
    check.equal((run("--quiet --out two scene.lua --seed 2", "--device cpu")), 0, "one alone")
    run_folder.same(home .. "/array/seed=2", home .. "/two", "a task of the array")
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
    -- What the script does before sim.run is a part of the time.
    command.write(home .. "/long.lua", (run_folder.scene:gsub("sim.run {",
        "local wait = os.clock() + 0.3 while os.clock() < wait do end %0")))
    local _, long = run("--check long.lua", "--device cpu --quiet")
    local total, scene = long:match "time +about ([%d.]+) s %(the scene ([%d.]+) s"
    check.that(total and tonumber(total) >= 0.3 and tonumber(scene) >= 0.29, long)
    command.write(home .. "/wrong.lua", (run_folder.scene:gsub("stars:step%(3%)", "stars:setp(3)")
        :gsub("width = 6", "widht = 6")))
    code, out, err = run("--check wrong.lua", "--device cpu --quiet")
    check.equal(code, 1, "--check of a wrong script: " .. out)
    check.that(err:find("'setp'", 1, true) and err:find("widht", 1, true), "every problem: " .. err)
    -- Of the building of the scene too, each with its line; what a run would only find later.
    command.write(home .. "/wrong.lua", [[
local sim = require "sim"
local stars = sim.bodies { softening = 0.1, dt = 0.1, sofetning = 1 }
stars:add(sim.plummer { n = 5, masss = 2 })
local count, list = 0, {}
sim.state.list = list
sim.run {
    frames = 3, steps = 4,
    step = function() count = count + 1 list[1] = print end,
    image = function() return stars:image { size = { 16, 16 }, width = 4, colour = "red" } end,
    stop_when = function() error "cannot tell" end,
}]])
    code, out, err = run("--check wrong.lua", "--device cpu --quiet")
    check.equal(code, 1, "--check of a wrong scene: " .. out)
    for _, phrase in ipairs { "wrong.lua:2: sim.bodies: no parameter 'sofetning'",
        "wrong.lua:3: sim.plummer: no parameter 'masss'",
        "wrong.lua:6: sim.run: no parameter 'steps'",
        "wrong.lua:9: bodies:image: no parameter 'colour'", "wrong.lua:10: cannot tell",
        "sim.state.list[1] is a function" } do
        check.that(err:find(phrase, 1, true), phrase .. ": " .. err)
    end
    check.that(out:find("callbacks change count, which", 1, true), out)
    code, out, err = run("--check wrong.lua --strict", "--device cpu --quiet")
    check.equal(code, 1, out)
    check.that(err:find("callbacks change count, which", 1, true), err)
    command.write(home .. "/key.lua", (run_folder.scene:gsub("width = 6", "%0, hue = 1")))
    check.equal((run("--check key.lua", "--device cpu --quiet")), 1, "nothing but a key")
    check.equal((run("--quiet --from 3 --to 2 --out checked scene.lua", "--device cpu")), 2, "")
    check.equal(command.read(home .. "/energy.csv"), nil, "no table of a run that was refused")
end

command.clean()
return check.report()
