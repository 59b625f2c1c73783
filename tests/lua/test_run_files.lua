-- test_run_files.lua: what may befall the files of a run: a disk that fills up, a limit on
-- their size, frames of another run, checkpoints cut at any byte or changed at any bit.
local check = require "check"
local command = require "command"
local run_folder = require "run_folder"
local checkpoint = require "sim.checkpoint"

local quote, same = command.quote, run_folder.same
local home = command.folder()
local few = command.small

local function run(arguments, options)
    options = options or {}
    options.folder = home
    return command.run("--quiet --threads 1 " .. arguments, options)
end

for name, text in pairs(run_folder.scenes) do
    command.write(("%s/%s.lua"):format(home, name), text)
    local code, _, err = run(("--out %s.whole %s.lua"):format(name, name))
    check.equal(code, 0, name .. ": " .. err)
end

-- A disk of 1 MiB that fills up, with so many KiB free at the start: one line, code 3; when
-- there is room again, the same command ends well. The last of them is enough.
local fill = [[
mkdir -p disk && mount -t tmpfs -o size=1m none disk || exit 99
for free in %s; do
    rm -rf disk/*
    head -c $(((1024 - free) * 1024)) /dev/zero > disk/filler
    %s 2> told; code=$?
    lines=$(wc -l < told)
    rm disk/filler
    %s > /dev/null 2> again; second=$?
    diff -r %s.whole disk/out > /dev/null
    echo "$free $code $lines $second $? $(head -n 1 told)"
done
]]
local spaces, apart = {}, nil
for _, words in ipairs { "unshare -m", "unshare -rm" } do
    if command.shell(words .. " mount -t tmpfs none /mnt") == 0 then apart = apart or words end
end
for name in pairs(run_folder.scenes) do
    if not apart then
        check.skip "no file system may be mounted here: a full disk was not tried"
        break
    end
    local line = ("%s --device cpu --quiet --threads 1 --out disk/out %s.lua"):format(
        quote(command.program), name)
    for free = 0, 300, few and 24 or 8 do
        if free < 80 or free % 100 == 0 then spaces[#spaces + 1] = free end
    end
    spaces[#spaces + 1] = 900
    command.write(home .. "/fill.sh", fill:format(table.concat(spaces, " "), line, line, name))
    local code, out, err = command.shell(("cd %s && %s sh fill.sh"):format(quote(home), apart))
    check.equal(code, 0, err)
    local full, enough = 0, false
    for row in out:gmatch("[^\n]+") do
        local space, first, lines, second, differs = row:match(
            "^(%d+) (%d+) (%d+) (%d+) (%d+) ")
        if first then
            check.that(first == "3" and lines == "1" or first == "0" and lines == "0",
                ("%s, %s KiB free: %s"):format(name, space, row))
            check.that(second == "0" and differs == "0", ("%s, %s KiB free: again: %s"):format(
                name, space, row))
            full = full + (first == "3" and 1 or 0)
            enough = first == "0"
        end
    end
    check.that(full >= (few and 2 or 5) and enough, ("%s: full %d times"):format(name, full))
    spaces = {}
end

-- A limit on the size of files, in blocks of 512 bytes.
for _, blocks in ipairs { 0, 1, 2, 4 } do
    os.execute("rm -rf " .. quote(home .. "/limited"))
    local code, _, err = run("--out limited gravity.lua", { limit = ("ulimit -f %d;"):format(
        blocks) })
    check.equal(code, 3, ("ulimit -f %d: %s"):format(blocks, err))
    code, _, err = run("--out limited gravity.lua")
    check.equal(code, 0, err)
    same(home .. "/limited", home .. "/gravity.whole", "after a limit on files")
end

-- 250 frames, whole or cut short; the script is changed; 10 frames into the same folder: it
-- is refused, and with --fresh no frame of the earlier run is taken for one of this.
do
    local changed = run_folder.scene:gsub("dt = 0.01", "dt = 0.02")
    local frames = few and 40 or 250
    command.write(home .. "/scene.lua", changed)
    check.equal((run "--frames 10 --out ten scene.lua"), 0, "10 frames")
    for _, stop in ipairs { "999 TERM", ("%d TERM"):format(frames - 3), "20 KILL" } do
        os.execute("rm -rf " .. quote(home .. "/stale"))
        command.write(home .. "/scene.lua", run_folder.scene)
        run(("--frames %d --out stale scene.lua"):format(frames), { env = ("STOP_AT='%s'"):format(
            stop) })
        check.that(#run_folder.names(home .. "/stale") > 15, stop .. ": frames of an earlier run")
        command.write(home .. "/scene.lua", changed)
        local code, _, err = run "--frames 10 --out stale scene.lua"
        check.equal(code, 2, stop .. ": refused")
        check.that(err:find("different: the script (was", 1, true), err)
        code, _, err = run "--frames 10 --out stale --fresh scene.lua"
        check.equal(code, 0, err)
        same(home .. "/stale", home .. "/ten", stop .. ": after --fresh")
    end
end

-- A checkpoint of a run, cut at every byte (a large one at every few), or changed at random
-- bits, is never read.
local function probe_all(path, bytes)
    local damaged = 0
    local function put(text)
        os.remove(path) -- writing over a file makes some file systems flush it
        command.write(path, text)
    end
    local stride = few and 37 or #bytes // 5000 + 1
    for cut = 0, #bytes - 1, stride do
        put(bytes:sub(1, cut))
        damaged = damaged + (checkpoint.probe(path) and 0 or 1)
    end
    check.equal(damaged, (#bytes - 1) // stride + 1, "cut at every byte")
    for _ = 1, few and 50 or 1000 do
        local at, bit = math.random(#bytes), math.random(0, 7)
        local byte = string.char(bytes:byte(at) ~ 1 << bit)
        put(bytes:sub(1, at - 1) .. byte .. bytes:sub(at + 1))
        if checkpoint.probe(path) then
            check.that(false, ("bit %d of byte %d of %d changed, and not seen"):format(bit, at,
                #bytes))
            break
        end
    end
    command.write(path, bytes)
    check.that(checkpoint.probe(path), "it was the damage, not the test")
end

-- The newer one of a run that was stopped is damaged: the older one is used, and said.
for name in pairs(run_folder.scenes) do
    run(("--out hurt.%s %s.lua"):format(name, name), { env = "STOP_AT='6 TERM'" })
    local path = ("%s/hurt.%s/checkpoint-0.sim"):format(home, name)
    local bytes = command.read(path)
    check.equal((checkpoint.probe(path)), 5, "the newer checkpoint")
    probe_all(path, bytes)
    for round = 1, few and 2 or 8 do
        os.execute(("cd %s && rm -rf cut && cp -r hurt.%s cut"):format(quote(home), name))
        local at = math.random(#bytes)
        local hurt = round % 2 == 0 and bytes:sub(1, at - 1)
            or bytes:sub(1, at - 1) .. string.char(bytes:byte(at) ~ 16) .. bytes:sub(at + 1)
        command.write(home .. "/cut/checkpoint-0.sim", hurt)
        local code, _, err = run(("--out cut %s.lua"):format(name))
        check.equal(code, 0, err)
        check.that(err:find("checkpoint 'cut/checkpoint-0.sim' ", 1, true)
            and err:find("going on from the older checkpoint, after frame 3", 1, true), err)
        same(home .. "/cut", ("%s/%s.whole"):format(home, name), "an older checkpoint")
    end
end

command.clean()
return check.report()
