-- test_cli.lua: the command line, bad input of every kind, and the exit codes of each.
local check = require "check"
local command = require "command"

-- The script must end with `code`, and its messages must hold every phrase; no crash.
local function expect(code, phrases, text, arguments, options)
    local got, _, err = command.script(text, arguments, options)
    check.equal(got, code, ("code of %q"):format(text:sub(1, 60)) .. " said " .. err)
    for _, phrase in ipairs(phrases) do
        check.that(err:find(phrase, 1, true), ("%q: message lacks %q: %s"):format(
            text:sub(1, 60), phrase, err))
    end
    return err
end

local head = 'local sim = require "sim"\n'

-- The command itself.
do
    local code, out, err = command.run("--version")
    check.equal(code, 0, "--version")
    check.that(out:find("^simlua %d+%.%d+%.%d+ "), "--version prints it on stdout: " .. out)
    check.equal(err:match("^simlua: .*not"), nil, "--version needs no device")
    code, out = command.run("--help")
    check.equal(code, 0, "--help")
    check.that(out:find("--device", 1, true) and out:find("--threads", 1, true), "usage")
    code, out = command.run("--devices")
    check.equal(code, 0, "--devices")
    check.that(out:find("cpu", 1, true), "--devices lists the CPU")
    code, out = command.run("--help bodies")
    check.equal(code, 0, "--help bodies")
    check.that(out:find("softening", 1, true) and out:find("[length]", 1, true),
        "--help bodies prints the declaration")
    code, out, err = command.run("--help bodeis")
    check.equal(out, "", "an unknown word's help prints nothing on stdout")
    check.equal(code, 2, "--help of an unknown word")
    check.that(err:find("did you mean 'bodies'", 1, true), err)
    check.equal((command.run("")), 2, "no script")
    check.equal((command.run("--bogus")), 2, "an unknown option without a script")
    check.equal((command.run("-x a.lua")), 2, "an unknown short option")
    for _, word in ipairs { "options", "state", "table", "plot", "run" } do
        code, out = command.run("--help " .. word, { device = "" })
        check.equal(code, 0, "--help " .. word)
        check.that(out:find("sim." .. word .. ": ", 1, true) == 1 and out:find("sim." .. word
            .. " ", 1, true), out)
    end
    check.equal((command.run("-3 a.lua")), 2, "a number that no option wants")
    check.equal((command.run("--frames 0 a.lua")), 2, "--frames 0")
    check.equal((command.run("--frames x a.lua")), 2, "--frames x")
    check.equal((command.run("--threads 0 a.lua")), 2, "--threads 0")
    check.equal((command.run("a.lua --out")), 2, "--out without a value")
    check.equal((command.run("missing.lua")), 3, "a missing script")
    code, out, err = command.run("/")
    check.equal(out, "", "nothing on stdout")
    check.equal(code, 3, "a folder for a script " .. err)
    code, out, err = command.run("-e 'print(1)'", { device = "--device tpu" })
    check.equal(out, "", "nothing was run")
    check.equal(code, 2, "an unknown device")
    check.that(err:find("'auto', 'cpu', 'cuda' or 'cuda:K'", 1, true), err)
    local folder = command.folder()
    command.write(folder .. "/v.lua", 'print(require("sim").options { v = 1.5 }.v)')
    code, out, err = command.run("--quiet --v -.5e1 v.lua", { folder = folder })
    check.equal(code .. out, "0-5.0\n", "a negative value before the script: " .. err)
    code, out = command.run("-e 'print(6 * 7)'")
    check.equal(code .. out, "042\n", "-e")
    code, out = command.shell(("echo 'print(...)' | %s --device cpu - a b"):format(
        command.quote(command.program)))
    check.equal(code, 0, "a script from standard input")
    check.equal(out, "a\tb\n", "arguments of a script from standard input")
    code, out = command.script("print(...)", "-- --frames 7 --help x")
    check.equal(code, 0, "arguments behind --")
    check.equal(out, "--frames\t7\t--help\tx\n", "what follows -- is the script's")
end

-- A device that is not there.
do
    local code, _, err = command.run("-e 'print(1)'", { device = "--device cuda:99" })
    check.equal(code, 4, "--device cuda:99")
    check.that(err:lower():find("cuda", 1, true), err)
    code = command.run("-e 'print(1)'", { device = "--device auto" })
    check.equal(code, 0, "--device auto takes what there is")
end

-- Options: order never matters, types are checked.
do
    local text = head .. [[
        local opt = sim.options { bodies = 16, softening = { 0.5, min = 0, help = "a length" },
            map = { "grey", choices = { "grey", "inferno" } }, trails = false, frames = 3 }
        print(opt.bodies, opt.softening, opt.map, opt.trails, opt.frames)]]
    local folder = command.folder()
    command.write(folder .. "/scene.lua", text)
    local want = "9\t2.0\tinferno\ttrue\t5\n"
    for _, line in ipairs {
        "scene.lua --bodies 9 --softening 2 --map inferno --trails --frames 5",
        "--frames 5 scene.lua --trails --map=inferno --softening=2 --bodies=9",
        "--bodies 9 --trails --frames=5 --softening 2 --map inferno scene.lua",
        "--trails scene.lua --bodies 9 --map inferno --frames 5 --softening 2",
    } do
        local code, out, err = command.run(line, { folder = folder })
        check.equal(code, 0, line .. err)
        check.equal(out, want, line)
    end
    local code, _, err = command.run("scene.lua --help", { folder = folder })
    check.equal(code, 0, "a script's --help")
    for _, phrase in ipairs { "--bodies", "whole number", "default 16", "a length", "inferno" } do
        check.that(err:find(phrase, 1, true), "a script's help holds " .. phrase)
    end
    expect(2, { "no option --bodeis", "--bodies" }, text, "--bodeis 9")
    expect(2, { "--bodies takes whole number", "'9.5'" }, text, "--bodies 9.5")
    expect(2, { "--bodies takes", "'x'" }, text, "--bodies x")
    expect(2, { "--softening takes number >= 0" }, text, "--softening -1")
    expect(2, { "one of grey, inferno" }, text, "--map viridis")
    expect(2, { "--bodies needs a value" }, text, "--bodies")
    expect(2, { "takes no argument 'stray'" }, text, "stray")
    expect(1, { "scene.lua:2:", "no option 'bodys'", "bodies" },
        head .. "print(sim.options { bodies = 1 }.bodys)")
    expect(1, { "simlua's own option" }, head .. "sim.options { out = 'x' }")
    expect(0, { "declares no options" }, head .. "sim.bodies { dt = 1 } os.exit(9)", "--help")
end

-- Errors of a script.
expect(1, { "scene.lua:1:", "syntax error near 'y'" }, "x y")
expect(1, { "scene.lua:2:", "attempt to call" }, "local t = nil\nt()")
expect(1, { "scene.lua:2: plain words" }, "\nerror 'plain words'")
expect(1, { "{ code = 7 }" }, "error { code = 7 }")
expect(1, { "nil" }, "error()")
expect(1, { "a %s message %d" }, "error('a %s message %d', 0)")
expect(1, { "own words" },
    "error(setmetatable({}, { __tostring = function() return 'own words' end }))")
expect(1, { "scene.lua:1:", "in a coroutine" },
    "coroutine.wrap(function() error 'in a coroutine' end)()")
expect(1, { "scene.lua:3:", "in step" }, head
    .. "sim.run { frames = 2, step = function()\nerror 'in step' end }")
expect(1, { "image must return a picture", "it returned nothing" }, head
    .. "sim.run { frames = 2, step = function() end, image = function() end }")
expect(0, { "warning", "in a finalizer" },
    "setmetatable({}, { __gc = function() error 'in a finalizer' end }) collectgarbage()")
expect(1, { "scene.lua:2:", "'stras' was never set", "did you mean 'stars'" },
    "local stars = 1\nprint(stras, stars)")
expect(1, { "sim has no word 'bodeis'", "did you mean 'bodies'" }, head .. "sim.bodeis {}")
expect(0, {}, "assert(rawget(_G, 'unset') == nil)")

-- Bytecode is refused, from a file and inside.
do
    local folder = command.folder()
    command.write(folder .. "/code.lua", string.dump(function() return 1 end))
    local code, _, err = command.run("code.lua", { folder = folder })
    check.equal(code, 1, "a bytecode file")
    check.that(err:find("binary", 1, true), err)
    expect(0, {}, "assert(not load(string.dump(function() end)))\n"
        .. "assert(load('return 1')() == 1)\n"
        .. "assert(load('return x', 'c', 't', { x = 2 })() == 2)")
end

-- Declared parameters: all problems of one table in one message, at the user's line.
local message = expect(1, { "scene.lua:2:", "sim.bodies", "no parameter 'sofening'",
    "did you mean 'softening'", "legal: softening,", "G must be a number > 0, got -1",
    "precision must be one of single, mixed, double, got the string \"singel\"", "dt is missing" },
    head .. "sim.bodies { sofening = 1, G = -1, precision = 'singel' }")
check.equal(select(2, message:gsub("\n", "")), 2, "the device's line and one line of error")
expect(1, { "dt must be a number, got the string" }, head .. "sim.bodies { dt = '1' }")
expect(1, { "dt must be a number, got" }, head .. "sim.bodies { dt = 0/0 }")
expect(1, { "dt must be a number, got inf" }, head .. "sim.bodies { dt = 1/0 }")
expect(1, { "dt must not be 0" }, head .. "sim.bodies { dt = 0 }")
expect(1, { "softening must be a number >= 0, got -1" },
    head .. "sim.bodies { dt = 1, softening = -1 }")
expect(1, { "[1] is not a parameter" }, head .. "sim.bodies { 1, dt = 1 }")
expect(1, { "sim.bodies takes a table", "got 1" }, head .. "sim.bodies(1)")
for _, n in ipairs { "0", "-1", "1.5", "2^63", "'12'", "0/0" } do
    expect(1, { "scene.lua:2:", "n must be" }, head .. "sim.plummer { n = " .. n .. " }")
end
expect(1, { "scene.lua:2:", "position[2] must be a number" },
    head .. "sim.body { mass = 1, position = { 1, 'x', 3 } }")
expect(1, { "position must be a table of 3 numbers" },
    head .. "sim.body { mass = 1, position = { 1, 2 } }")

-- Methods.
local stars = head .. "local stars = sim.bodies { dt = 0.1, softening = 0.1 }\n"
expect(1, { "scene.lua:3:", "call it with a colon" }, stars .. "stars.step(8)")
expect(1, { "scene.lua:3:", "no bodies yet" }, stars .. "stars:step(8)")
expect(1, { "has no word 'setp'", "did you mean 'step'" }, stars .. "stars:setp(8)")
expect(1, { "cannot be assigned" }, stars .. "stars.dt = 3")
expect(1, { "was closed" }, stars .. "stars:close() stars:close() stars:step()")
expect(1, { "takes a sim.model" }, stars .. "stars:add(7)")
local one = stars .. "stars:add(sim.body { mass = 1 })\n"
expect(1, { "number of steps must be a whole number", "got 1.5" }, one .. "stars:step(1.5)")
expect(1, { "number of steps must be", "got 1e+300" }, one .. "stars:step(1e300)")
expect(1, { "number of steps must be", "the string \"2\"" }, one .. "stars:step('2')")
expect(1, { "no group 'disk'", "there are: " }, one .. "stars:centre('disk')")
expect(1, { "too large for single precision" },
    stars .. "stars:add(sim.body { mass = 1, position = { 1e30, 0, 0 } })")
expect(0, {}, one .. "stars:step(0) stars:step(2.0) assert(stars.steps == 2)")
expect(0, {}, one .. "local ok, err = pcall(stars.step, stars, 0.5)\n"
    .. "assert(not ok and err:find 'number of steps') stars:step()")

-- Out of memory: catchable, says what was asked and what there is, leaves all usable.
-- (The sanitizers reserve more address space than this limit allows.)
if not command.small then
    local limit = { limit = "ulimit -v 300000;" }
    expect(4, { "out of memory", "GiB" }, one .. [[
        local t = {}
        for i = 1, 100 do t[i] = stars:image { width = 1, size = { 2048, 2048 } } end]],
        "", limit)
    expect(0, {}, one .. [[
        local t, ok, err = {}, true, nil
        while ok do
            ok, err = pcall(function()
                t[#t + 1] = stars:image { width = 1, size = { 2048, 2048 } }
            end)
        end
        assert(tostring(err):find "out of .*memory", tostring(err))
        t = nil
        stars:step()
        stars:image { width = 1, size = { 64, 64 } }]], "", limit)
end

-- Objects that were dropped do not pile up: live, and at most one more.
do
    local count = tonumber(os.getenv('SIMLUA_DROPS')) or command.small and 200 or 2000
    local code, out, err = command.script(one .. ([[
        local picture = { width = 1, size = { 4096, 5461 } } -- 64 MiB
        local first = stars:image(picture)
        local live = sim.stats().live_bytes
        first:close()
        for _ = 1, %d do local _ = stars:image(picture) end
        print(sim.stats().peak_bytes - live)]]):format(count // 100))
    check.equal(code, 0, err)
    check.that(tonumber(out) and tonumber(out) <= 2^26 + 2^21,
        "dropped pictures pile up to " .. tostring(out))
    code, out, err = command.script(head .. ([[
        local rows = sim.rows { n = 2, rows = function(i) return { i, 0, 0, 0, 0, 0, 1 } end }
        local before = sim.stats().live_bytes
        for _ = 1, %d do sim.bodies { dt = 1, softening = 1 }:add(rows) end
        collectgarbage() collectgarbage()
        print(sim.stats().live_bytes - before)]]):format(count))
    check.equal(code, 0, err)
    check.that(tonumber(out) == 0, "all dropped bodies were freed, left " .. tostring(out))
end

-- The environment changes nothing.
do
    local text = "print(1.5, tonumber('2.5')) assert(not pcall(require, 'junk'))"
    local _, plain = command.script(text)
    local folder = command.folder()
    command.write(folder .. "/junk.lua", "error 'junk was run'")
    local code, out, err = command.script(text, "", { env = ("LC_ALL=de_DE.UTF-8 LUA_INIT='x y' "
        .. "LUA_INIT_5_4='x y' LUA_PATH='%s/?.lua' LUA_PATH_5_4='%s/?.lua' LUA_CPATH=junk")
        :format(folder, folder) })
    check.equal(code, 0, err)
    check.equal(out, plain, "locale and LUA_… are ignored")
end

-- A module of the script's own folder is found; one that stands in for ours is not.
do
    local folder = command.folder()
    command.write(folder .. "/mine.lua", "return { word = 'mine' }")
    command.write(folder .. "/sim.lua", "error 'not the real one'")
    local code, out, err = command.script(head .. "print(require('mine').word, sim.stats)", "",
        { folder = folder })
    check.equal(code, 0, err)
    check.that(out:find("^mine\tfunction"), out)
end

-- Interrupts: Ctrl-C ends a loop of Lua, one inside pcall, one in a coroutine, a long step.
local function interrupt(text, signal, want)
    local folder = command.folder()
    command.write(folder .. "/scene.lua", text)
    local _, out, err = command.shell(([[
        cd %s; began=$(date +%%s%%N)
        timeout --preserve-status -k 8 -s %s 0.8 %s --device cpu --quiet scene.lua; code=$?
        echo $code $(( ($(date +%%s%%N) - began) / 1000000 - 800 ))]]):format(folder, signal,
        command.quote(command.program)))
    local ended, milliseconds = out:match("^(%d+) (-?%d+)")
    check.equal(tonumber(ended), want, "code after SIG" .. signal .. ": " .. err)
    local limit = command.small and 8000 or 3000 -- at once, on a machine that has other work
    check.that(tonumber(milliseconds) and tonumber(milliseconds) <= limit,
        ("%s took %s ms to end %q"):format(signal, tostring(milliseconds), text:sub(-60)))
end
interrupt("while true do end", "INT", 130)
interrupt("while true do end", "TERM", 143)
interrupt("while true do pcall(function() while true do end end) end", "TERM", 143)
interrupt("local co = coroutine.create(function() while true do end end)\n"
    .. "while true do coroutine.resume(co) end", "TERM", 143)
interrupt("local co = coroutine.wrap(function() while true do pcall(error) end end) co()",
    "HUP", 129)
local many = head .. [[
    local stars = sim.bodies { dt = 1e-3, softening = 0.1 }
    stars:add(sim.plummer { n = 30000 })]]
interrupt(many .. " stars:step(1000000)", "INT", 130)
interrupt(many .. " while true do pcall(stars.step, stars, 1000) end", "TERM", 143)

command.clean()
return check.report()
