-- test_run.lua: sim.run and its record, the same bits with any number of threads, and what
-- crosses between device and host.
local check = require "check"
local command = require "command"

local devices = { "cpu" }
if command.run("-e ''", { device = "--device cuda" }) == 0 then
    devices[#devices + 1] = "cuda"
else
    check.skip("no CUDA device: its runs are not compared")
end

local scene = [[
local sim = require "sim"
local opt = sim.options { bodies = 600, frames = 4, seed = 3 }
local stars = sim.bodies { softening = 0.1, dt = 0.05 }
stars:add(sim.galaxy { n = opt.bodies, mass = 1, seed = opt.seed, tilt = { 30, 20 } })
sim.run {
    frames = opt.frames, fps = 25,
    step = function() stars:step(3) end,
    image = function() return stars:image { size = { 160, 90 }, width = 12 } end,
}
]]

-- The hashes of a run's frames, in order, as xxh128 of the files themselves.
local function frames_of(folder)
    local record = assert(command.read(folder .. "/run.json"), "no run.json in " .. folder)
    local hashes = {}
    for frame, hash in record:gmatch('"frame": (%d+), "hash": "(xxh128:%x+)"') do
        hashes[tonumber(frame) + 1] = hash
    end
    return hashes, record
end

local function run(text, arguments, device)
    local folder = command.folder()
    command.write(folder .. "/scene.lua", text)
    local code, out, err = command.run("scene.lua --out out " .. (arguments or ""),
        { folder = folder, device = "--device " .. (device or "cpu") })
    return code, folder .. "/out", err, out
end

-- The record of a whole run.
do
    local code, out, err = run(scene, "--bodies 500")
    check.equal(code, 0, err)
    check.that(err:find("4 frames in out", 1, true), "says where the frames are: " .. err)
    check.that(err:find("ffmpeg -framerate 25 -i out/frame_%06d.png", 1, true), err)
    check.that(err:find("frame 4 of 4", 1, true), "progress in lines without a terminal")
    check.that(not err:find("\27", 1, true), "no escape codes without a terminal")
    local hashes, record = frames_of(out)
    check.equal(#hashes, 4, "frames in the record")
    for _, phrase in ipairs { '"status": "complete"', '"bodies": 500', '"seed": 3',
        '"kind": "cpu"', '"width": 160', '"height": 90', '"frames": 4', '"program": "simlua"',
        '"version"', '"flags"', '"name": "scene.lua"' } do
        check.that(record:find(phrase, 1, true), "run.json holds " .. phrase)
    end
    for frame = 0, 3 do
        local png = command.read(("%s/frame_%06d.png"):format(out, frame))
        check.that(png and png:sub(1, 8) == "\137PNG\r\n\26\n", "frame " .. frame)
    end
    check.that(hashes[1] ~= hashes[2] and hashes[2] ~= hashes[4], "frames differ")
    local listing = select(2, command.shell("ls -A " .. out)):gsub("checkpoint%S*\n", "")
    check.equal(select(2, listing:gsub("\n", "")), 4 + 1, "nothing else there: " .. listing)
    check.that(run(scene, "--quiet") == 0, "--quiet")
    check.equal(select(3, run(scene, "--quiet")), "", "--quiet says nothing")
    local _, other = run(scene, "--seed 4")
    check.that(frames_of(other)[1] ~= hashes[1], "another seed gives another picture")
end

-- The same bits: every run, any number of threads, however the steps are cut.
for _, device in ipairs(devices) do
    local code, out, err = run(scene, "", device)
    check.equal(code, 0, err)
    local first = frames_of(out)
    for _, threads in ipairs { "1", "2", "7" } do
        local _, again = run(scene, "--threads " .. threads, device)
        for k, hash in ipairs(frames_of(again)) do
            check.equal(hash, first[k], ("%s, %s threads, frame %d"):format(device, threads, k))
        end
    end
    local _, cut = run((scene:gsub("stars:step%(3%)", "stars:step(1) stars:step(2)")), "",
        device)
    check.equal(frames_of(cut)[4], first[4], device .. ": steps cut otherwise")
end

-- So in each precision, with as many bodies as are met in symmetric pairs.
for _, precision in ipairs { "single", "mixed", "double" } do
    local text = scene:gsub("dt = 0.05", ("dt = 0.05, precision = %q"):format(precision))
    local code, out, err = run(text, "--bodies 1301 --threads 1 --frames 3")
    check.equal(code, 0, err)
    local first, _, again = frames_of(out), run(text, "--bodies 1301 --threads 5 --frames 3")
    check.equal(#first, 3, precision .. ": frames")
    for k, hash in ipairs(frames_of(again)) do
        check.equal(hash, first[k], ("%s, frame %d"):format(precision, k))
    end
end

-- Between two frames one picture comes down (with its 128-byte tail at most) and nothing
-- goes up; stepping itself moves and waits for nothing.
for _, device in ipairs(devices) do
    local code, _, err, out = run((scene:gsub("sim.run {.*", [[
        local picture = { size = { 160, 90 }, width = 12 }
        local path = arg[0]:gsub("scene.lua", "x.png")
        local function frame() stars:step(5) stars:image(picture):save(path) end
        frame()
        local before = sim.stats()
        for _ = 1, 3 do frame() end
        local after = sim.stats()
        stars:step(5)
        local stepped = sim.stats()
        print(after.bytes_up - before.bytes_up, (after.bytes_down - before.bytes_down) / 3,
            stepped.bytes_down - after.bytes_down, stepped.waits - after.waits,
            stepped.launches - after.launches)
    ]])), "", device)
    check.equal(code, 0, err)
    local up, down, step_down, waits, launches = out:match("(%S+)\t(%S+)\t(%S+)\t(%S+)\t(%S+)")
    check.equal(tonumber(up), 0, device .. ": bytes up between frames")
    local pixels = 160 * 90 * 3
    check.that(tonumber(down) >= pixels and tonumber(down) <= pixels + 64 + 256,
        ("%s: bytes down a frame: %s of %d"):format(device, down, pixels))
    check.equal(tonumber(step_down), 0, device .. ": bytes down in a step")
    check.equal(tonumber(waits), 0, device .. ": waits in a step")
    check.that(tonumber(launches) > 0, device .. ": launches are counted")
end

-- Frames of an earlier, longer run are not taken for this one's.
do
    local folder = command.folder()
    command.write(folder .. "/scene.lua", scene)
    command.run("scene.lua --out o --frames 6", { folder = folder })
    local code, _, err = command.run("scene.lua --out o --frames 2 --bodies 400 --fresh",
        { folder = folder })
    if code == 2 then -- a version without --fresh starts over by itself
        code, _, err = command.run("scene.lua --out o --frames 2 --bodies 400",
            { folder = folder })
    end
    check.equal(code, 0, err)
    check.that(command.read(folder .. "/o/frame_000001.png"), "frame 1 is there")
    check.that(not command.read(folder .. "/o/frame_000002.png"), "the stale frame 2 is gone")
end

-- A run that fails, diverges, or is interrupted says so in its record and by its code.
do
    local code, out = run((scene:gsub("stars:step%(3%)", "error 'on purpose'")))
    check.equal(code, 1, "a failing step")
    check.that(select(2, frames_of(out)):find('"status": "failed"', 1, true), "failed")
    check.equal(#frames_of(out), 1, "the frame before the failure is kept")

    local diverging = scene:gsub("softening = 0.1, dt = 0.05",
        "softening = 0.1, dt = 3e38")
    for _, device in ipairs(devices) do
        local err
        code, out, err = run(diverging, "", device)
        check.equal(code, 5, device .. ": NaN ends in code 5: " .. err)
        check.that(err:find("not finite", 1, true) and err:find("body", 1, true)
            and err:find("step", 1, true), "names body and step: " .. err)
        check.that(not command.read(out .. "/frame_000003.png"), "no picture of NaN")
    end

    local folder = command.folder()
    command.write(folder .. "/scene.lua", (scene:gsub("stars:step%(3%)", [[
        io.popen("(until [ -e o/frame_000000.png ]; do sleep 0.02; done; "
            .. "kill -INT $PPID) &"):close()
        stars:step(300000)]])))
    -- The signal comes in the middle of a step, when the first frame is there.
    local code_then, _, err = command.run("--quiet scene.lua --out o", { folder = folder })
    check.equal(code_then, 130, "an interrupted run: " .. err)
    check.that(select(2, frames_of(folder .. "/o")):find('"status": "interrupted"', 1, true),
        "interrupted")
    check.equal(#frames_of(folder .. "/o"), 1, "the last whole frame is kept")
end

-- A plain loop with image:save works too, and relative time is k * dt.
do
    local code, _, err, out = run([[
        local sim = require "sim"
        local stars = sim.bodies { softening = 0.1, dt = 0.1 }
        stars:add(sim.plummer { n = 50 })
        for k = 1, 3 do
            stars:step(7)
            stars:image { size = { 64, 64 }, width = 6 }:save(("p%d.png"):format(k))
        end
        print(stars.time == 21 * 0.1, stars.steps)]], "-- unused")
    check.equal(code, 0, err)
    check.equal(out, "true\t21\n", "time and steps")
end

command.clean()
return check.report()
