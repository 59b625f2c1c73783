-- diffusion_memory.lua: the experiment of a well-known text on CUDA constant memory, and how
-- fast it is by today's ways.
--
-- 100 x 100 cells, dx = 1, D = 1, dt = 0.2, a disc of radius 10 of ones in the middle, walls
-- that mirror about the outermost node, 1000 steps; after every 10 every second cell of every
-- second row is written, tab-separated, a line an output. On the card of 2008 the text
-- measured 562 ms with the field in constant memory and 762 ms in global memory.
--
-- Values: maximum and sums are compared with those computed independently in double.
local sim = require "sim"
local host = require "sim.host"

local opt = sim.options {
    file      = { "diffusion_memory.txt", help = "the text file" },
    precision = { "single", help = "or double" },
    repeats   = { 5, min = 1, help = "runs a variant; the best counts" },
}

local n, cells = 100, 50

local function start(variant)
    local d = sim.diffusion {
        size = { n, n }, dt = 0.2, walls = "no-flux", at = "node", precision = opt.precision,
        variant = variant,
    }
    -- strictly inside 10 of node (50, 50); cell centres stand at k + 1/2
    d:paint { shape = sim.shape.disc { centre = { 50.5, 50.5 }, radius = 10 }, value = 1 }
    return d
end

local function line(u)
    local numbers = {}
    for j = 1, cells do
        for i = 1, cells do
            numbers[#numbers + 1] = ("%f\t"):format(u:get(2 * i - 1, 2 * j - 1))
        end
    end
    return table.concat(numbers)
end

local d = start("auto")
local lines = {}
for k = 1, 100 do
    d:step(10)
    lines[k] = line(d.u)
end
host.write(opt.file, table.concat(lines, "\n") .. "\n")
print(("wrote %s: 100 lines of %d numbers"):format(opt.file, cells * cells))

local tolerance = opt.precision == "double" and 1e-13 or 5e-7
local function compare(what, have, want, scale)
    local off = math.abs(have - want)
    print(("%-22s %.15g  (golden %.15g, off by %.1e) %s"):format(what, have, want, off,
        off <= tolerance * scale and "ok" or "WRONG"))
end
compare("centre, step 1000", d.u:get(51, 51), 0.114244671479245, 1)
compare("corner (0, 0)", d.u:get(1, 1), 0.00124813398060646, 1)
compare("sum", d.u:sum(), 306.319247651099, 300)

local function seconds(variant)
    local best = math.huge
    for _ = 1, opt.repeats do
        local run = start(variant)
        run:step(10)
        sim.finish()
        local from = host.now()
        run:step(1000)
        sim.finish()
        best = math.min(best, host.now() - from)
    end
    return best
end

print(("\n%-10s %12s %16s %16s"):format("variant", "1000 steps", "of 562 ms (const)",
    "of 762 ms (global)"))
for _, variant in ipairs { "plain", "blocked", "small", "cluster", "auto" } do
    local ok, time = pcall(seconds, variant)
    if ok then
        print(("%-10s %9.3f ms %15.0fx %15.0fx  %s"):format(variant, 1e3 * time, 0.562 / time,
            0.762 / time, start(variant):describe(1000)))
    end
end
