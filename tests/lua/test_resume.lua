-- test_resume.lua: a run that was cut anywhere goes on by the same command, and all its files
-- end up as an unbroken run's, byte for byte.
local check = require "check"
local command = require "command"
local run_folder = require "run_folder"

local quote, same = command.quote, run_folder.same
local home = command.folder()
command.write(home .. "/scene.lua", run_folder.scene)

local function run(arguments, options)
    options = options or {}
    options.folder = home
    return command.run("--quiet --threads 1 " .. arguments, options)
end

local function good(arguments, what)
    local code, out, err = run(arguments)
    check.equal(code, 0, (what or arguments) .. ": code " .. err)
    return out, err
end

local function fresh(name)
    os.execute("rm -rf " .. quote(home .. "/" .. name))
    return home .. "/" .. name
end

local want = good("--out whole scene.lua")
local whole = home .. "/whole"

-- A finished run does nothing, and says so; its state is there for what follows.
do
    local look = "stat -c '%i %Y %n' " .. whole .. "/* | md5sum"
    local _, before = command.shell(look)
    local out = good("--out whole scene.lua")
    check.equal(out, want, "a finished run has its last state")
    local _, after = command.shell(look)
    check.equal(after, before, "untouched")
    local _, _, err = command.run("--out whole scene.lua", { folder = home })
    check.that(err:find("done before", 1, true), err)
    local code, _, more = run("--out whole --frames 3 scene.lua")
    check.equal(code, 0, "fewer frames: " .. more)
    good("--out again scene.lua")
    same(home .. "/again", whole, "the same run in two folders")
end

-- `before` is called once in a run's life, whatever it is cut into.
do
    command.write(home .. "/before.lua", [[
        local sim = require "sim"
        local stars = sim.bodies { softening = 0.05, dt = 0.01 }
        stars:add(sim.plummer { n = 30 })
        sim.run {
            frames = 6, checkpoint = { frames = 1 },
            before = function()
                print "before"
                stars:step(5)
                sim.state.begun = true
            end,
            step = function(k)
                assert(sim.state.begun)
                stars:step(3)
                if k == 3 and os.getenv "STOP" then io.popen("kill -TERM $PPID"):close() end
            end,
            image = function() return stars:image { size = { 32, 18 }, width = 6 } end,
        }
    ]])
    local out = good("--out whole_before before.lua")
    check.equal(out, "before\n", "before, once")
    local code, first = run("--out cut_before before.lua", { env = "STOP=1" })
    check.equal(code, 143, "stopped")
    check.equal(first, "before\n", "before, in the part that began")
    check.equal(good("--out cut_before before.lua"), "", "not in the part that went on")
    same(home .. "/cut_before", home .. "/whole_before", "before")
    local checked = good("--check before.lua")
    check.that(checked:find("time of `before`", 1, true), checked)
    good("--out ranged --from 2 --to 3 before.lua")
end

-- Signals in the step to a frame: a checkpoint of the frame before, the signal's code, and
-- on from there: after frame 0, 1, one in the middle, the last but one; twice in a row.
local function stopped(name, signal, frame, more)
    return command.run(("--out %s %s scene.lua"):format(name, more or ""), { folder = home,
        env = ("STOP_AT='%d %s'"):format(frame, signal) })
end
local codes = { TERM = 143, INT = 130, HUP = 129 }
for signal, want_code in pairs(codes) do
    for _, frame in ipairs(command.small and { 1, 7 } or { 1, 2, 5, 7 }) do
        local out, what = fresh "stopped", ("SIG%s in the step to frame %d"):format(signal, frame)
        for _ = 1, 2 do -- the second time right after it went on
            local code, _, err = stopped("stopped", signal, frame)
            check.equal(code, want_code, what .. ": " .. err)
            check.that(err:find(("the same command goes on after frame %d"):format(frame - 1), 1,
                true), what .. ": " .. err)
        end
        check.that(command.read(out .. "/run.json"):find('"status": "interrupted"', 1, true), what)
        good "--out stopped scene.lua"
        same(out, whole, what)
    end
end

-- A second signal, while the first one still waits for the step to end: out at once, and no
-- file is the worse for it.
do
    local out = fresh "twice"
    command.write(home .. "/twice.lua", (run_folder.scene:gsub("%(\"kill %-%%s %$PPID\"%)",
        '("sleep 0.2; kill -%%s $PPID; sleep 0.3; kill -TERM $PPID; sleep 2")')))
    good "--out twice.whole twice.lua"
    local code, _, err = command.run("--out twice twice.lua", { folder = home,
        env = "STOP_AT='5 TERM'" })
    check.equal(code, 143, "two signals: " .. err)
    check.that(err:find("stopped at once", 1, true), err)
    good "--out twice twice.lua"
    same(out, home .. "/twice.whole", "after a second signal")
end

-- Twice in a row at different places, killed after that, and with a longer end each time.
do
    local out = fresh "often"
    check.equal((stopped("often", "TERM", 2, "--frames 4")), 143, "TERM in the step to 2")
    check.equal((stopped("often", "INT", 3, "--frames 5")), 130, "INT in the step to 3")
    check.equal((stopped("often", "KILL", 5, "--frames 6")), 137, "KILL in the step to 5")
    check.equal((stopped("often", "HUP", 7, "--frames 8")), 129, "HUP in the step to 7")
    good "--out often scene.lua"
    same(out, whole, "after four ends")
end

-- Neither the files' times nor the machine's clocks matter: all of them long ago, in the
-- future, each another; and a monotonic clock that stands elsewhere after a restart.
for _, time in ipairs { "200001010000", "203701010000", "mixed" } do
    local out = fresh "clock"
    check.equal((stopped("clock", "KILL", 6)), 137, "a killed run")
    for k, name in ipairs(run_folder.names(out)) do
        local when = time ~= "mixed" and time or ("20%02d01010000"):format(k * 7 % 37)
        os.execute(("touch -t %s %s/%s"):format(when, quote(out), name))
    end
    good "--out clock scene.lua"
    same(out, whole, "file times " .. time)
    os.execute(("touch -t 200001010000 %s/*"):format(quote(out)))
    local _, _, err = command.run("--out clock scene.lua", { folder = home })
    check.that(err:find("done before", 1, true), err)
end
if command.shell "unshare --time --monotonic 1000000 true" == 0 then
    local out = fresh "clock"
    check.equal((command.run("--out clock scene.lua", { folder = home, env = "STOP_AT='6 TERM' "
        .. "unshare --time --monotonic 1000000 --fork" })), 143, "another clock")
    good "--out clock scene.lua"
    same(out, whole, "a monotonic clock that went back")
else
    check.skip "no namespaces of time: a monotonic clock that moves was not tried"
end

-- A wall of time, and one that is no time.
do
    local out = fresh "walled"
    local code, _, err = run("--max-time 0.4 --slow 100 --out walled scene.lua")
    check.equal(code, 142, "--max-time: " .. err)
    good("--max-time 1:00:00 --slow 100 --out walled scene.lua")
    good("--slow 100 --out slow scene.lua")
    same(out, home .. "/slow", "after --max-time")
    for _, word in ipairs { "0", "x", "1:70", "1:2:3:4", "-1" } do
        check.equal((run("--max-time " .. word .. " scene.lua")), 2, "--max-time " .. word)
    end
end

-- A shorter end of a run that was cut behind it: what is said to be there is there.
do
    local out = fresh "shorter"
    check.equal((run("--out shorter scene.lua", { env = "STOP_AT='6 KILL'" })), 137, "killed")
    local _, _, err = command.run("--out shorter scene.lua --frames 3", { folder = home })
    check.that(err:find("done before: 6 frames in shorter, 3 asked for", 1, true), err)
    good("--out shorter scene.lua")
    same(out, whole, "on to the end")
end

-- A longer end: from nothing, from one frame, from one before.
for _, frames in ipairs { 1, 2, 7 } do
    local out = fresh "longer"
    good(("--out longer --frames %d scene.lua"):format(frames))
    good("--out longer scene.lua")
    same(out, whole, ("longer, from %d frames"):format(frames))
end

-- What changed is named, and refused; --fresh and --resume-anyway.
do
    fresh "changed"
    good("--out changed scene.lua")
    for option, phrase in pairs { ["--bodies 41"] = "the option --bodies (was 40, is 41)",
        ["--seed 2"] = "--seed (was 1, is 2)" } do
        local code, _, err = run("--out changed scene.lua " .. option)
        check.equal(code, 2, option)
        check.that(err:find(phrase, 1, true), option .. ": " .. err)
    end
    same(home .. "/changed", whole, "a refused run changes nothing")
    good("--out changed --fresh scene.lua --bodies 41 --frames 3", "--fresh")
    check.equal(table.concat(run_folder.names(home .. "/changed"), " "), "checkpoint.sim "
        .. "energy.csv frame_000000.png frame_000001.png frame_000002.png run.json",
        "no stale frame")
    command.write(home .. "/other.lua", run_folder.scene .. "-- changed\n")
    local code, _, err = run("--out changed other.lua --bodies 41 --frames 5")
    check.equal(code, 2, "another script")
    check.that(err:find("the script (was", 1, true), err)
    good("--out changed --resume-anyway other.lua --bodies 41 --frames 5", "--resume-anyway")
    code, _, err = run("--out changed --resume-anyway other.lua --bodies 42 --frames 7")
    check.equal(code, 2, "another number of bodies cannot be gone on with")
    check.that(err:find("bodies.n differs", 1, true), err)
end

-- A module of the script's is part of it.
do
    command.write(home .. "/helper.lua", "return 3")
    command.write(home .. "/with.lua", (run_folder.scene:gsub("\n",
        '\nlocal _ = require "helper"\n', 1)))
    good("--out with with.lua")
    command.write(home .. "/helper.lua", "return 4")
    local code, _, err = run("--out with with.lua")
    check.equal(code, 2, "a changed module")
    check.that(err:find("the module helper (was", 1, true), err)
end

-- Checkpoints cut or changed: the older one is used, and said. Frames and tables that are
-- gone are made again.
local function interrupted(name)
    fresh(name)
    good(("--out %s --frames 5 scene.lua"):format(name)) -- at frames 1, 3, and the end
    local folder = home .. "/" .. name
    os.rename(folder .. "/checkpoint.sim", folder .. "/checkpoint-0.sim")
    good(("--out %s.2 --frames 3 scene.lua"):format(name))
    os.rename(folder .. ".2/checkpoint.sim", folder .. "/checkpoint-1.sim")
    fresh(name .. ".2")
    return folder
end
for cut, phrase in pairs { [100] = "it was cut", [-1] = "it was cut", [0] = "it was cut" } do
    local folder = interrupted "cut"
    local bytes = command.read(folder .. "/checkpoint-0.sim")
    command.write(folder .. "/checkpoint-0.sim", bytes:sub(1, cut < 0 and #bytes - 1 or cut))
    local _, err = good("--out cut scene.lua")
    check.that(err:find(phrase, 1, true) and err:find("after frame 2", 1, true), err)
    same(folder, whole, "a cut checkpoint")
end
do
    local folder = interrupted "flipped"
    for _, name in ipairs { "/checkpoint-0.sim", "/checkpoint-1.sim" } do
        local bytes = command.read(folder .. name)
        command.write(folder .. name, bytes:sub(1, 500) .. "\1\2\3" .. bytes:sub(504))
    end
    local _, err = good("--out flipped scene.lua")
    check.that(err:find("starting over", 1, true), err)
    same(folder, whole, "both checkpoints changed")
    folder = interrupted "gone"
    os.remove(folder .. "/frame_000003.png")
    _, err = good("--out gone scene.lua")
    check.that(err:find("frame_000003.png is missing", 1, true), err)
    same(folder, whole, "a missing frame")
    folder = interrupted "shorter"
    command.write(folder .. "/energy.csv", command.read(folder .. "/energy.csv"):sub(1, 40))
    _, err = good("--out shorter scene.lua")
    check.that(err:find("shorter than it was", 1, true), err)
    same(folder, whole, "a shorter table")
end

-- Frames of a range, and two processes on one folder.
do
    fresh "range"
    good("--out range --from 2 --to 7 --every 2 scene.lua")
    check.equal(table.concat(run_folder.names(home .. "/range"), " "), "energy.csv "
        .. "frame_000002.png frame_000004.png frame_000006.png run.json", "a range's files")
    check.that(command.read(home .. "/range/run.json"):find('"status": "partial"', 1, true),
        "partial")
    check.equal(command.read(home .. "/range/frame_000004.png"),
        command.read(whole .. "/frame_000004.png"), "absolute numbers")
    check.equal((run("--out range --from 3 --to 2 scene.lua")), 2, "--from above --to")
    check.equal((run("--out range --to 8 scene.lua")), 2, "--to behind the end")
    local out = fresh "shared"
    local line = ("%s --device cpu --quiet --out shared --from 0 scene.lua --slow 20"):format(
        quote(command.program))
    local code, _, err = command.shell(("cd %s && (%s & %s & wait)"):format(quote(home), line,
        line))
    check.equal(code, 0, err)
    good("--out shared --from 0 --slow 20 scene.lua")
    good("--slow 20 --out slow20 scene.lua")
    os.execute(("cp %s/slow20/checkpoint.sim %s/"):format(quote(home), quote(out)))
    same(out, home .. "/slow20", "two processes on one range")
    -- The second one has fewer steps to take: the rows of the first one stay.
    fresh "shared"
    good("--out shared --from 4 --to 7 scene.lua")
    good("--out shared --from 0 --to 3 scene.lua")
    check.equal(command.read(out .. "/energy.csv"), command.read(whole .. "/energy.csv"),
        "a table that two wrote")
    command.write(out .. "/energy.csv", "of another program\n")
    good("--out shared --from 0 --to 7 scene.lua")
    check.equal(command.read(out .. "/energy.csv"), command.read(whole .. "/energy.csv"),
        "a table in the place of a strange file")
    -- One of them is killed while frames are claimed or half there; the same command makes
    -- those as well.
    for at = 2, command.small and 3 or 7 do
        fresh "shared"
        check.equal((command.run("--quiet --out shared --from 0 scene.lua", { folder = home,
            env = ("SIMLUA_FAIL=%s:%d!9"):format(at % 2 == 0 and "rename" or "fsync", at) })), 137,
            "killed at its claims")
        good "--out shared --from 0 scene.lua"
        for frame = 0, 7 do
            local name = ("/frame_%06d.png"):format(frame)
            check.that(command.read(out .. name) == command.read(whole .. name), name)
        end
        check.equal((command.run("verify shared", { folder = home, device = "" })), 0, "verified")
    end
    -- The first one holds the folder, standing still, until the other was refused.
    line = quote(command.program) .. " --device cpu --quiet --out one scene.lua"
    code, _, err = command.shell(("cd %s; STOP_AT='3 STOP' %s & p=$!; "
        .. "until [ -e one/run.json ]; do sleep 0.02; done; %s; c=$?; "
        .. "until grep -q '^State:.T' /proc/$p/status; do sleep 0.02; done; kill -CONT $p; "
        .. "wait $p && exit $c"):format(quote(home), line, line))
    check.equal(code, 3, "a second process on a whole run: " .. err)
    check.that(err:find("another simlua is at work", 1, true), err)
    same(home .. "/one", whole, "the first one is as it would have been")
end

-- verify.
do
    local code, out = command.run("verify " .. whole, { device = "" })
    check.equal(code, 0, out)
    code, out = command.run("verify --replay whole", { device = "", folder = home })
    check.equal(code, 0, "replay: " .. out)
    os.execute(("cp -r %s %s"):format(quote(whole), quote(home .. "/bad")))
    local bytes = command.read(home .. "/bad/frame_000003.png")
    command.write(home .. "/bad/frame_000003.png", bytes:sub(1, -2) .. "x")
    os.remove(home .. "/bad/frame_000005.png")
    command.write(home .. "/bad/energy.csv", "t\n")
    command.write(home .. "/bad/frame_000099.png", "")
    code, out = command.run("verify bad", { device = "", folder = home })
    check.equal(code, 3, "verify finds what is wrong")
    for _, phrase in ipairs { "frame_000003.png was changed", "frame_000005.png is missing",
        "energy.csv has 2 bytes", "frame_000099.png is not of this run" } do
        check.that(out:find(phrase, 1, true), phrase .. ": " .. out)
    end
    check.equal(select(2, out:gsub("\n", "")), 4, "nothing else is wrong: " .. out)
    -- A byte of the record, wherever it is; nothing else is believed then.
    local record = command.read(whole .. "/run.json")
    os.execute(("rm -rf %s; cp -r %s %s"):format(quote(home .. "/bad"), quote(whole),
        quote(home .. "/bad")))
    for _, word in ipairs { '"tables"', '"written"', '"file"', '"frames"', '"seed"', "complete" } do
        local at = record:find(word, 1, true) + 2
        command.write(home .. "/bad/run.json", record:sub(1, at - 1)
            .. string.char(record:byte(at) ~ 1) .. record:sub(at + 1))
        code, out = command.run("verify bad", { device = "", folder = home })
        check.equal(code, 3, "a changed record: " .. word)
        check.that(out:find("run.json was changed", 1, true), out)
    end
    check.equal((command.run("verify nowhere", { device = "", folder = home })), 3, "no folder")
    check.equal((command.run("verify", { device = "" })), 2, "verify of nothing")
end

-- verify --replay: with a number that 15 digits cannot hold, and a seed that only the script
-- knows of; any number of frames; without pictures; of another script.
do
    local text = [[
local sim = require "sim"
local opt = sim.options { frames = 4, v = 0.5, seed = 7 }
local stars = sim.bodies { softening = 0.05, dt = 0.01 }
stars:add(sim.plummer { n = 9 })
local t = sim.table { "t.csv", "v", "random", "x" }
sim.run { frames = opt.frames, out = "replayed",
    step = function() stars:step() t:row(opt.v, math.random(), stars:energy().total) end,
    $image
}]]
    local image = "image = function() return stars:image { size = { 24, 16 }, width = 6 } end"
    local function replayed(code, phrase)
        local have, out = command.run("verify --replay replayed", { device = "", folder = home })
        check.equal(have, code, phrase .. ": " .. out)
        check.that(out:find(phrase, 1, true), phrase .. ": " .. out)
    end
    command.write(home .. "/again.lua", (text:gsub("$image", image)))
    for _, frames in ipairs { 1, 2, 3, 4, 12 } do
        good("--fresh again.lua --v 0.14285714285714285 --frames " .. frames)
        replayed(0, "good")
    end
    -- The last frame is one of those compared.
    command.write(home .. "/again.lua", (text:gsub("$image", image)
        :gsub("step = function%(%)", 'step = function(k) if k == 11 then stars:step() end')))
    replayed(3, "frame_000011.png came out differently")
    replayed(3, "t.csv came out differently")
    replayed(3, "the script (was")
    command.write(home .. "/again.lua", (text:gsub("$image", "")))
    good("--fresh again.lua")
    replayed(0, "good")
    command.write(home .. "/again.lua", (text:gsub("$image", ""):gsub("stars:step%(%)", "%0 %0")))
    replayed(3, "the last state came out differently")
end

-- The default of a script's own seed is the seed: naming it changes nothing.
do
    command.write(home .. "/seed.lua", 'local opt = require "sim".options { seed = 5 }\n'
        .. "print(opt.seed, math.random(1 << 40))")
    local _, silent = command.run("--quiet seed.lua", { folder = home })
    local _, named = command.run("--quiet seed.lua --seed 5", { folder = home })
    check.equal(silent, named, "the seed that a script declares")
end

-- Rows that image writes would be lost to who passes the frame by.
do
    command.write(home .. "/drawn.lua", (run_folder.scene:gsub(
        "image = function%(k%)", "%0 energy:row(k, 0, 0)")))
    local code, _, err = run("--quiet --out drawn --from 1 drawn.lua")
    check.equal(code, 1, "a row in image, of a range")
    check.that(err:find(": row: with --from", 1, true), err)
end

-- A module that only a callback asks for counts as well, and leaves the same record.
do
    command.write(home .. "/late.lua", (run_folder.scene:gsub("stars:step%(3%)",
        "stars:step(require('latemod').steps)")))
    command.write(home .. "/latemod.lua", "return { steps = 3 }")
    good("--out late_whole late.lua")
    check.equal((run("--out late late.lua", { env = "STOP_AT='6 KILL'" })), 137, "killed")
    command.write(home .. "/latemod.lua", "return { steps = 4 }")
    local code, _, err = run("--out late late.lua")
    check.equal(code, 2, "a late module changed")
    check.that(err:find("different: the module latemod (was", 1, true), err)
    command.write(home .. "/latemod.lua", "return { steps = 3 }")
    good("--out late late.lua")
    same(home .. "/late", home .. "/late_whole", "a late module")
    good("--out late late.lua --frames 8")
    check.that(command.read(home .. "/late/run.json"):find('"latemod"', 1, true), "in the record")
end

-- sim.state takes plain data only; variables that callbacks change are told of.
do
    local head = 'local sim = require "sim"\nlocal b = sim.bodies { dt = 1, softening = 1 }\n'
        .. "b:add(sim.body { mass = 1 })\n"
    for _, value in ipairs { "b", "print", "{ { f = print } }", "setmetatable({}, {})" } do
        local code, _, err = command.script(head .. "sim.state.x = " .. value)
        check.equal(code, 1, "sim.state.x = " .. value)
        check.that(err:find("scene.lua:4:", 1, true) and err:find("sim.state.x", 1, true), err)
    end
    local body = "image = function() return b:image { width = 2, size = { 16, 16 } } end }"
    local code, _, err = command.script(head .. "local count, names = 0, {}\nsim.run { frames = 4, "
        .. "step = function(k) count = count + 1 names[k] = k b:step() end, " .. body)
    check.equal(code, 0, err)
    check.that(err:find("the callbacks of sim.run change count, names", 1, true), err)
    -- --strict: an error, late in the run as well; what is in sim.state is none.
    local late = head .. "local late = 0\nsim.run { frames = 9, step = function(k) "
        .. "sim.state.k = k if k > 5 then late = k end b:step() end, " .. body
    check.equal((command.script(late, "--quiet")), 0, "not seen without --strict")
    code, _, err = command.script(late, "--quiet --strict")
    check.equal(code, 1, "--strict: " .. err)
    check.that(err:find("change late, which", 1, true), err)
    check.equal((command.script(run_folder.scene, "--quiet --strict")), 0, "a scene that keeps it")
    code, _, err = command.script(head .. "local size = 3\nsim.run { frames = 4, step = function() "
        .. "b:step(size) end, " .. body)
    check.equal(code, 0, err)
    check.equal(err:find("warning", 1, true), nil, "nothing changes: " .. err)
    -- Wherever it is kept; a state of one's own name, and a module asked for late, are none.
    local kept = head .. [[
local deep, spare = { a = { b = { c = 0 } } }, {}
local object = setmetatable({ n = 0 }, { __index = { tick = function(o) o.n = o.n + 1 end } })
local function counter() local n = 0 return { tick = function() n = n + 1 return n end } end
local closed, phase, other = counter(), function() end, function() end
package.loaded.mine, package.preload.mine_too = counter(), function() return { 1 } end
local alternate = coroutine.wrap(function() for i = 1, 99 do coroutine.yield(i) end end)
local own = { n = 0 }
sim.state = own
]]
    for what, change in pairs {
        deep = "deep.a.b.c = k", object = "object:tick()", closed = "closed.tick()",
        mine = "require('mine').tick()", alternate = "alternate()", spare = "spare[true] = k",
        phase = "phase() phase = other", math = "math.mine = k", none = "own.n = own.n + 1",
        ["none "] = "require('mine_too')",
    } do
        code, _, err = command.script(kept .. "sim.run { frames = 4, step = function(k) " .. change
            .. " b:step() end, " .. body, "--quiet --strict")
        check.equal(code, what:match "none" and 0 or 1, what .. ": " .. err)
        check.that(what:match "none" or err:find("change " .. what .. ", which", 1, true), err)
    end
    -- The state as a whole: checked, and what is saved, under whatever name.
    for _, value in ipairs { "3", "{ print }", "setmetatable({}, {})" } do
        code, _, err = command.script(head .. "sim.state = " .. value)
        check.equal(code, 1, "sim.state = " .. value)
        check.that(err:find("scene.lua:4: sim.state", 1, true), err)
    end
    command.write(home .. "/own.lua", head .. "local own = { n = 0 }\nsim.state = own\n"
        .. "sim.run { frames = 6, checkpoint = { frames = 1 }, out = 'own', step = function(k) "
        .. "own.n = own.n + k if k == 4 and os.getenv 'DIE' then "
        .. "io.popen('kill -9 $PPID'):close() end b:step() end }\nprint(own.n, sim.state.n)")
    check.equal((run("own.lua", { env = "DIE=1" })), 137, "killed")
    local _, numbers = run("own.lua")
    check.equal(numbers, "15\t15\n", "a state that was set as a whole goes on")
end

-- Other solvers and schemes: a run in two parts is one in one part.
local scenes = {
    hermite = run_folder.scene:gsub("dt = 0.01", 'dt = 0.01, integrator = "hermite4", '
        .. 'precision = "double", adaptive = { eta = 0.02 }'):gsub("stars:step%(3%)",
        "stars:advance(stars.time + 0.013)"),
    leapfrog_shown = run_folder.scene:gsub("stars:step%(3%)",
        "stars:advance((sim.state.calls + 1) * 0.013)"),
    diffusion = [[
local sim = require "sim"
local d = sim.diffusion { size = { 40, 30 }, dx = 0.1, dt = 1e-3, diffusivity = 1 }
d.u:paint { value = 1, shape = sim.shape.disc { centre = { 2, 1.5 }, radius = 0.5 } }
local sum = sim.field { size = { 40, 30 }, dx = 0.1 }
sim.run { frames = 8, checkpoint = { frames = 3 },
    step = function() d:step(5) sum:add(d.u) end,
    image = function(k) return (k % 2 == 0 and d.u or sum):image {} end }
print(d.u:sum(), sum:sum())]],
}
for name, text in pairs(scenes) do
    command.write(("%s/%s.lua"):format(home, name), text)
    local code, out, err = run(("--out %s.whole --frames 8 %s.lua"):format(name, name))
    check.equal(code, 0, name .. ": " .. err)
    good(("--out %s.parts --frames 3 %s.lua"):format(name, name))
    local last = good(("--out %s.parts --frames 8 %s.lua"):format(name, name))
    if name == "diffusion" then check.equal(last, out, name .. ": what is left") end
    same(home .. "/" .. name .. ".parts", home .. "/" .. name .. ".whole", name)
end

-- dt that does not divide the end, in the numbers of the machine: frame counts and times are
-- whole numbers of steps, the progress of a run in two parts ends at the end and never beyond.
local divided = [[
local sim = require "sim"
local b = sim.bodies { dt = $dt, softening = 1 }
b:add(sim.body { mass = 1 })
local d = sim.diffusion { size = { 4, 4 }, diffusivity = 0.1, dt = $dt }
d:advance($stop)
local frames = math.floor($stop / b.dt + 0.5)
sim.run {
    frames = frames + 1, step = function() b:step() end,
    image = function() return b:image { width = 2, size = { 16, 16 } } end,
}
print(b.steps, b.time == b.steps * b.dt, d.steps, d.time == d.steps * d.dt)
]]
for _, case in ipairs { { "0.94", "0.02", 47 }, { "1", "0.1", 10 }, { "1", "1 / 3", 3 } } do
    local what = ("%s by %s"):format(case[1], case[2])
    command.write(home .. "/divided.lua", (divided:gsub("%$dt", case[2]):gsub("%$stop", case[1])))
    fresh "divided"
    good("--out divided --frames 2 divided.lua", what)
    local code, out, err = command.run("--out divided divided.lua", { folder = home })
    check.equal(code, 0, err)
    check.equal(out, ("%d\ttrue\t%d\ttrue\n"):format(case[3], case[3]), what)
    check.equal(#run_folder.names(home .. "/divided"), case[3] + 1 + 2, what .. ": frames")
    local last
    for at, of in err:gmatch "frame (%d+) of (%d+)" do
        check.that(tonumber(at) <= tonumber(of) and tonumber(of) == case[3] + 1, err)
        last = tonumber(at)
    end
    check.equal(last, case[3] + 1, what .. ": progress ends at the end")
end

command.clean()
return check.report()
