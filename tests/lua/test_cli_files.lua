-- test_cli_files.lua: files, disks and pipes that refuse: exit code 3 (5 for a scene that
-- diverged), one line that names file and cause, and never a broken file or a leftover.
local check = require "check"
local command = require "command"

local quote = command.quote

local scene = [[
local sim = require "sim"
local stars = sim.bodies { softening = 0.05, dt = %s }
stars:add(sim.plummer { n = 500 })
local function picture()
    return stars:image { size = { 200, 150 }, width = 8 }
end
]]

-- With a time step of 1e30 the bodies fly out of all numbers at once.
local calm, wild = scene:format("0.01"), scene:format("1e30")
local run = "sim.run { frames = %d, step = function() stars:step(1) end, image = picture }"

-- --- PNG, as far as wholeness goes: chunks end where the file does, checksums are right ---

local crc_table = {}
for n = 0, 255 do
    local c = n
    for _ = 1, 8 do c = c & 1 == 1 and 0xedb88320 ~ (c >> 1) or c >> 1 end
    crc_table[n] = c
end

local function crc(bytes)
    local c = 0xffffffff
    for i = 1, #bytes do c = crc_table[(c ~ bytes:byte(i)) & 0xff] ~ (c >> 8) end
    return c ~ 0xffffffff
end

local function whole(path)
    local bytes = command.read(path)
    if not bytes or bytes:sub(1, 8) ~= "\137PNG\r\n\26\n" then return false end
    local at, name = 9, nil
    while at + 11 <= #bytes do
        local size = string.unpack(">I4", bytes, at)
        if at + 11 + size > #bytes then return false end
        name = bytes:sub(at + 4, at + 7)
        local sum = string.unpack(">I4", bytes, at + 8 + size)
        if crc(bytes:sub(at + 4, at + 7 + size)) ~= sum then return false end
        at = at + 12 + size
    end
    return name == "IEND" and at == #bytes + 1
end

-- Names in a folder, hidden ones too.
local function names(folder)
    local found, pipe = {}, assert(io.popen("ls -A " .. quote(folder)))
    for name in pipe:lines() do found[#found + 1] = name end
    pipe:close()
    return found
end

-- Every picture in the folder is whole, and no temporary file is left; returns how many.
local function sound(folder, what)
    local count = 0
    for _, name in ipairs(names(folder)) do
        check.equal(name:find(".tmp-", 1, true), nil, what .. ": left behind " .. name)
        if name:find("%.png$") and name:sub(1, 1) ~= "." then
            check.that(whole(folder .. "/" .. name), what .. ": broken " .. name)
            count = count + 1
        end
    end
    return count
end

-- The script fails with `code`, and its message is this one line.
local function refuse(what, code, line, text, arguments, options)
    local got, _, err = command.script(text, "--quiet " .. (arguments or ""), options)
    check.equal(got, code, what .. ": code")
    check.equal(err, "simlua: " .. line .. "\n", what .. ": message")
end

-- As refuse, but the line is found by a pattern.
local function refuse_like(what, code, pattern, text, arguments, options)
    local got, _, err = command.script(text, "--quiet " .. (arguments or ""), options)
    check.equal(got, code, what .. ": code")
    check.that(err:find("^simlua: " .. pattern .. "\n$"), what .. ": message: " .. err)
end

-- The checks above can fail: a whole file passes, and one that lost its end does not.
do
    local folder = command.folder()
    local code, _, err = command.script(calm .. 'picture():save("a.png")', "",
        { folder = folder })
    check.equal(code, 0, err)
    check.that(whole(folder .. "/a.png"), "a saved picture is whole")
    local bytes = command.read(folder .. "/a.png")
    for _, lost in ipairs { 1, 12, 100 } do
        command.write(folder .. "/b.png", bytes:sub(1, -1 - lost))
        check.that(not whole(folder .. "/b.png"), "a cut picture is not whole")
    end
    command.write(folder .. "/b.png", bytes:sub(1, 60) .. "\255" .. bytes:sub(62))
    check.that(not whole(folder .. "/b.png"), "a changed picture is not whole")
end

-- Paths that plainly cannot be written: told at the line that saves.
do
    local folder = command.folder()
    local here = { folder = folder }
    local function save(path) return calm .. ("picture():save(%q)"):format(path) end
    command.write(folder .. "/file", "text")
    assert(os.execute(("cd %s && mkdir sub && ln -s /dev/full full"):format(quote(folder))))
    refuse("missing folder", 3,
        "scene.lua:7: cannot write 'nowhere/x.png': there is no folder 'nowhere'",
        save("nowhere/x.png"), "", here)
    refuse("a file as folder", 3, "scene.lua:7: cannot write 'file/x.png': 'file' is not a folder",
        save("file/x.png"), "", here)
    refuse("a folder", 3, "scene.lua:7: cannot write 'sub': it is a folder", save("sub"), "",
        here)
    -- By a link: were it not refused, the link would be lost and not the device.
    refuse("/dev/full", 3, "scene.lua:7: cannot write 'full': it is not a regular file",
        save("full"), "", here)
    refuse("an empty path", 3, "scene.lua:7: cannot write '': the path is empty", save(""), "",
        here)
    refuse_like("unwritable to all", 3, "scene%.lua:7: cannot write '/proc/x%.png': [^\n]+",
        save("/proc/x.png"), "", here)
    check.equal(table.concat(names(folder), " "), "file full scene.lua sub",
        "nothing was made")

    assert(os.execute("chmod 555 " .. quote(folder .. "/sub")))
    local can = os.execute(("test -w %s"):format(quote(folder .. "/sub")))
    if can then
        check.skip("an unwritable folder: this user may write everywhere")
    else
        refuse("unwritable", 3, "scene.lua:7: cannot write 'sub/x.png': folder 'sub': "
            .. "Permission denied", save("sub/x.png"), "", here)
        refuse_like("unwritable --out", 3, "scene%.lua:7: [^\n]*'sub/deep'[^\n]*: "
            .. "Permission denied", calm .. run:format(2), "--out sub/deep", here)
    end
end

-- A refusal can be caught, and everything goes on.
do
    local folder = command.folder()
    local code, out, err = command.script(calm .. [[
local ok, why = pcall(function() picture():save("nowhere/x.png") end)
print(ok, tostring(why):find("no folder 'nowhere'", 1, true) ~= nil)
picture():save("after.png")
]], "--quiet", { folder = folder })
    check.equal(code, 0, "caught: code: " .. err)
    check.equal(out, "false\ttrue\n", "caught: message")
    check.equal(sound(folder, "caught"), 1, "caught: the next picture is written")
end

-- sim.run's folder.
do
    local folder = command.folder()
    local here = { folder = folder }
    command.write(folder .. "/file", "text")
    refuse_like("--out is a file", 3, "scene%.lua:7: [^\n]*'file'[^\n]*", calm .. run:format(2),
        "--out file", here)
    refuse_like("--out below a file", 3, "scene%.lua:7: [^\n]*'file/?s?u?b?'[^\n]*",
        calm .. run:format(2), "--out file/sub", here)
    refuse_like("--out where nobody may", 3, "scene%.lua:7: [^\n]*'/proc/x'[^\n]*",
        calm .. run:format(2), "--out /proc/x", here)
    refuse_like("--out is a device", 3, "scene%.lua:7: [^\n]*'/dev/full'[^\n]*",
        calm .. run:format(2), "--out /dev/full", here)
    check.equal(command.read(folder .. "/file"), "text", "the file is as it was")
end

-- A write that stops half-way, without any privilege: files may not grow past 2 KiB.
do
    local folder = command.folder()
    command.write(folder .. "/scene.lua", calm .. [[
for k = 1, 3 do picture():save(k .. ".png") end
]])
    local line = "cd %s && ulimit -f 4 && %s --device cpu --quiet scene.lua"
    local code, _, err = command.shell(line:format(quote(folder), quote(command.program)))
    check.equal(code, 3, "file size limit: code")
    check.that(err:find("^simlua: [^\n]*scene%.lua:7: cannot write '1%.png': File too large\n$"),
        "file size limit: message: " .. err)
    check.equal(sound(folder, "file size limit"), 0, "file size limit: no picture")
end

-- A disk that fills up during the run.
local function full_disk()
    local folder = command.folder()
    local disk = folder .. "/disk"
    assert(os.execute("mkdir " .. quote(disk)))
    local mount = "mount -t tmpfs -o size=128k tmpfs %s 2>/dev/null"
    if not os.execute(mount:format(quote(disk))) then
        check.skip("a full disk: a small tmpfs cannot be mounted here")
        return
    end
    local plain = calm .. [[
for k = 1, 100 do
    stars:step(1)
    picture():save(("disk/%03d.png"):format(k))
end
]]
    local _, ok, message = pcall(function()
        refuse_like("full disk", 3, "[^\n]*scene%.lua:9: cannot write 'disk/%d%d%d%.png': "
            .. "No space left on device", plain, "", { folder = folder })
        check.that(sound(disk, "full disk") > 0, "full disk: some pictures are there")
        assert(os.execute(("rm -f %s/*"):format(quote(disk))))
        refuse_like("full disk, sim.run", 3, "scene%.lua:7: [^\n]*cannot write "
            .. "'disk/frame_%d+%.png': No space left on device", calm .. run:format(100),
            "--out disk", { folder = folder })
        check.that(sound(disk, "full disk, sim.run") > 0, "full disk, sim.run: some frames")
        local record = command.read(disk .. "/run.json")
        check.that(record and record:find("^{.*}%s*$"), "full disk: run.json is whole")
        return true
    end)
    os.execute("umount " .. quote(disk))
    check.that(ok, "full disk: " .. tostring(message))
end
full_disk()

-- A scene that diverges: the bad picture is not written, and what was there stays.
do
    local folder = command.folder()
    local code, _, err = command.script(calm .. 'picture():save("a.png")', "",
        { folder = folder })
    check.equal(code, 0, err)
    local before = command.read(folder .. "/a.png")
    refuse_like("diverged", 5, "scene%.lua:8: [^\n]*diverged: body %d+ is not finite at step 1 "
        .. "%(t = 1e%+30%); last good frame: none",
        wild .. 'stars:step(1)\npicture():save("a.png")', "", { folder = folder })
    check.that(command.read(folder .. "/a.png") == before, "diverged: the old picture stays")
    refuse_like("diverged in sim.run", 5, "scene%.lua:7: [^\n]*diverged: body %d+ is not finite "
        .. "at step 1 %(t = 1e%+30%); last good frame: frames/frame_000000%.png",
        wild .. run:format(5), "--out frames", { folder = folder })
    check.equal(sound(folder .. "/frames", "diverged"), 1, "diverged: one good frame")
end

-- Standard output that takes nothing: never code 0.
do
    local program = quote(command.program) .. " --device cpu --quiet "
    local function refuse_output(what, line)
        local code, _, err = command.shell(line)
        check.equal(code, 3, what .. ": code")
        check.that(err:find("^simlua: [^\n]*cannot write to standard output[^\n]*\n$"),
            what .. ": message: " .. err)
    end
    refuse_output("print", program .. "-e 'print(1)' > /dev/full")
    refuse_output("io.write", program .. "-e 'io.write(1)' > /dev/full")
    refuse_output("much", program .. "-e 'for i = 1, 1e5 do print(i) end' > /dev/full")
    refuse_output("--version", program .. "--version > /dev/full")
    refuse_output("--help", program .. "--help > /dev/full")
    refuse_output("--devices", program .. "--devices > /dev/full")
    refuse_output("--help bodies", program .. "--help bodies > /dev/full")
    local code = command.shell(program .. "-e 'print(1)' > /dev/null")
    check.equal(code, 0, "/dev/null takes everything")

    local folder = command.folder()
    command.shell(("cd %s && ( %s -e 'for i = 1, 1e6 do print(i) end' 2> err; echo $? > code ) "
        .. "| head -n 1"):format(quote(folder), program))
    check.equal(command.read(folder .. "/code"), "3\n", "a reader that leaves: code")
    local err = command.read(folder .. "/err")
    check.that(err:find("^simlua: [^\n]*standard output[^\n]*\n$"), "a reader that leaves: " .. err)
end

command.clean()
return check.report()
