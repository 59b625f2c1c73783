-- command.lua: runs the simlua program under test and returns what came of it.
local command = {}

command.program = os.getenv("SIMLUA") or arg[-1]
command.small = os.getenv("SIMLUA_SMALL") == "1"

function command.quote(text)
    return "'" .. text:gsub("'", "'\\''") .. "'"
end

function command.read(path)
    local file = io.open(path, "rb")
    if not file then return nil end
    local text = file:read("a")
    file:close()
    return text
end

function command.write(path, text)
    local file = assert(io.open(path, "wb"))
    file:write(text)
    file:close()
end

-- A fresh folder of our own, removed by command.clean().
local folders = {}
function command.folder()
    local pipe = assert(io.popen("mktemp -d"))
    local path = pipe:read("l")
    pipe:close()
    folders[#folders + 1] = path
    return path
end

function command.clean()
    for _, path in ipairs(folders) do os.execute("rm -rf " .. command.quote(path)) end
end

-- Run a shell line in a folder, for tests that do so many times: all it says goes into the
-- file `log` there; returns the exit code.
function command.quick(folder, line)
    local _, how, code = os.execute(("cd %s && exec > log 2>&1 < /dev/null; %s"):format(
        command.quote(folder), line))
    return how == "signal" and 128 + code or code
end

-- Run a shell line; returns exit code, standard output, standard error.
function command.shell(line)
    local folder = command.folder()
    local _, how, code = os.execute(("( %s ) > %s/out 2> %s/err < /dev/null"):format(line,
        folder, folder))
    if how == "signal" then code = 128 + code end
    return code, command.read(folder .. "/out"), command.read(folder .. "/err")
end

-- "cpu", and "cuda" where there is a GPU.
function command.devices()
    local list = { "cpu" }
    if command.run("-e ''", { device = "--device cuda" }) == 0 then list[2] = "cuda" end
    return list
end

-- Run a shell line in a folder, send it a signal when these files are there, and wait for
-- its end: not after some time, so that a busy machine does as well. Not SIGINT, which a
-- shell's own background processes ignore.
function command.signal_when(files, signal, folder, line)
    local parts = {}
    for i, path in ipairs(files) do
        parts[i] = ("until [ -e %s ] || ! kill -0 $p 2>/dev/null; do sleep 0.02; done; ")
            :format(command.quote(path))
    end
    return command.shell(("cd %s; { exec %s; } & p=$!; %s kill -%s $p; wait $p; exit $?")
        :format(command.quote(folder), line, table.concat(parts), signal))
end

-- simlua with arguments (already quoted), on the CPU, in a folder.
function command.run(arguments, options)
    options = options or {}
    return command.shell(("cd %s; %s %s %s %s %s"):format(
        command.quote(options.folder or "."), options.limit or "", options.env or "",
        command.quote(command.program), options.device or "--device cpu", arguments))
end

-- A script's text, run from a file of this name in a fresh folder.
function command.script(text, arguments, options)
    options = options or {}
    options.folder = options.folder or command.folder()
    local name = options.name or "scene.lua"
    command.write(options.folder .. "/" .. name, text)
    return command.run(name .. " " .. (arguments or ""), options)
end

return command
