-- flow_tables.lua: sim.flow against published tables, exact solutions and measurements.
--
-- cavity    a square whose lid moves, Re 100, 400, 1000: the velocity on the centre lines, against
--           Ghia, Ghia and Shin (1982) and, for Re 100 and 400, against grid-converged values
-- cylinder  Schaefer and Turek's case 2D-1 (1996), Re 20: drag, lift, pressure difference, at 20
--           to 80 cells a diameter
-- strouhal  the street behind a free cylinder at Re 100: its frequency, against the fit
--           St = 0.1816 - 3.3265 / Re + 1.6e-4 Re of Williamson (J. Fluid Mech. 206, 579, 1989)
-- vortices  Taylor and Green's: the order of the errors in space and in time
--
-- One: --case cavity --re 1000 --n 129. All at full size take minutes on a GPU; --small takes
-- seconds on a CPU, on grids so coarse that less is wanted of them.
-- The printed table has the worst place of each comparison, the file every one; what is not met
-- ends the program with code 1. The tables' values are read from tests/reference, whose heads
-- say where they come from and what is misprinted.
local sim = require "sim"
local host = require "sim.host"

local here = debug.getinfo(1, "S").source:match "^@(.*/)" or ""
local opt = sim.options {
    case      = { "all", choices = { "all", "cavity", "cylinder", "strouhal", "vortices" },
        help = "which" },
    re        = { 0, min = 0, max = 1000, help = "of the cavity: 100, 400 or 1000; 0: each" },
    n         = { 0, min = 0, max = 4096, help = "cells: of the cavity along a side; of the "
        .. "cylinders a diameter; 0: as the case wants" },
    chi       = { 0.0, min = 0, max = 1, help = "of the cavity and the street" },
    wall      = { "cut", choices = { "cut", "staircase" }, help = "of the cylinders" },
    precision = { "single", choices = { "single", "double" },
        help = "of the numbers; the vortices' is double" },
    cfl       = { 0.8, min = 0.01, max = 1, help = "of the cavity and the cylinder" },
    time      = { 200, min = 1, help = "at most, to wait for a steady state" },
    small     = { false, help = "coarse grids and short runs" },
    file      = { "flow_tables.tsv", help = "all values, tab-separated" },
    reference = { here .. "../../tests/reference", help = "the folder of the tables" },
}

local function fail(text, ...) host.user_error(text:format(...)) end

-- ---- the table ----------------------------------------------------------------------

local results = assert(io.open(opt.file, "w"))
local row = "%-17s %-11s %-26s %11s %11s %10s  %-17s %s"
local good, bad = 0, 0

local function put(...) assert(results:write(table.concat({ ... }, "\t"), "\n")) end

local function number(value) return value and ("%.5f"):format(value) or "-" end

-- One comparison. `wanted` is how far off it may be, a text for what is only shown, or an
-- interval { low, high }.
local function compare(c)
    local off, wanted, fine = c.ours - c.reference, c.wanted, nil
    if type(wanted) == "table" then
        fine = c.ours >= wanted[1] and c.ours <= wanted[2]
        wanted = ("%g to %g"):format(wanted[1], wanted[2])
    elseif type(wanted) == "number" then
        fine = math.abs(off) <= wanted
        wanted = ("within %.4g"):format(wanted)
    end
    local verdict = fine == nil and "" or fine and "yes" or "NO"
    return { c.case, c.size, c.what, number(c.ours), number(c.reference), ("%+.5f"):format(off),
        wanted, verdict }, fine, math.abs(off)
end

local function say(line, fine)
    print(row:format(table.unpack(line)))
    if fine ~= nil then good, bad = good + (fine and 1 or 0), bad + (fine and 0 or 1) end
end

local function show(c)
    local line, fine = compare(c)
    put(table.unpack(line))
    say(line, fine)
end

-- Many places of one comparison: all into the file, the worst on the screen.
local function show_worst(list)
    local worst, worst_fine, most = nil, nil, -1
    for _, c in ipairs(list) do
        local line, fine, off = compare(c)
        put(table.unpack(line))
        if off > most or off ~= off then worst, worst_fine, most = line, fine, off end
    end
    say(worst, worst_fine)
end

-- ---- the cavity ---------------------------------------------------------------------

-- Rows of a file of numbers after words, below its line of columns' names.
local function read_table(name)
    local path = opt.reference .. "/" .. name
    local file = io.open(path) or fail("'%s' is not there: --reference FOLDER", path)
    local columns, rows = nil, {}
    for text in file:lines() do
        local cells = {}
        for cell in text:gmatch "[^,]+" do cells[#cells + 1] = tonumber(cell) or cell end
        if text:sub(1, 1) ~= "#" and not columns then
            columns = cells
        elseif text:sub(1, 1) ~= "#" then
            local named = {}
            for k, word in ipairs(columns) do named[word] = cells[k] end
            rows[#rows + 1] = named
        end
    end
    file:close()
    return rows
end

-- Stations { line = "u", at = 0.9766, value = … } of a table for a Reynolds number.
local function ghia(re)
    local list = {}
    for _, line in ipairs { "u", "v" } do
        for _, r in ipairs(read_table("ghia1982_" .. line .. ".csv")) do
            list[#list + 1] = { line = line, at = r.exact, value = r[("%s_re%d"):format(line, re)],
                misprint = r[("%s_re%d_usable"):format(line, re)] == 0 }
        end
    end
    return list
end

local function precise(re)
    local list = {}
    for _, r in ipairs(read_table "cavity_precise.csv") do
        list[#list + 1] = { line = r.line, at = r.exact, value = r[("re%d"):format(re)] }
    end
    return list
end

local function probe(f, s)
    return s.line == "u" and f.u:probe(0.5, s.at) or f.v:probe(s.at, 0.5)
end

-- Until no station changes by more than `still` in a unit of time.
local function settle(f, stations, still)
    local before, change = {}, math.huge
    while change > still and f.time < opt.time do
        f:advance(1)
        change = 0
        for k, s in ipairs(stations) do
            local value = probe(f, s)
            change = math.max(change, math.abs(value - (before[k] or math.huge)))
            before[k] = value
        end
    end
    if change > still then print(("not steady: %.1e in a unit of time"):format(change)) end
end

-- Between the outermost samples and the walls a probe cannot know what the wall does.
local function cavity(re, n, stations, from, wanted)
    local f <close> = sim.flow {
        size = { n, n }, lx = 1, reynolds = re, chi = opt.chi, cfl = opt.cfl,
        precision = opt.precision,
    }
    f:side { side = "north", kind = "no-slip", tangent = 1 }
    settle(f, stations, opt.small and 1e-3 or 1e-5)
    local list = {}
    for _, s in ipairs(stations) do
        local where = ("%s at %s = %.5f"):format(s.line, s.line == "u" and "y" or "x", s.at)
        if s.misprint then
            print(("left out, misprinted: %s for Re %d, %s"):format(from, re, where))
        elseif s.at > 0.5 / n and s.at < 1 - 0.5 / n then
            list[#list + 1] = { case = "cavity Re " .. re, size = ("%d x %d"):format(n, n),
                what = from .. " " .. where, ours = probe(f, s), reference = s.value,
                wanted = wanted }
        end
    end
    show_worst(list)
end

local function cavities()
    if opt.re ~= 0 and opt.re ~= 100 and opt.re ~= 400 and opt.re ~= 1000 then
        fail("--re %d: there are tables for 100, 400 and 1000", opt.re)
    end
    local list = opt.re > 0 and { opt.re } or opt.small and { 100 } or { 100, 400, 1000 }
    for _, re in ipairs(list) do
        local n = opt.n > 0 and opt.n or opt.small and 24 or 129
        cavity(re, n, ghia(re), "Ghia,", opt.small and 0.03 or 0.02)
    end
    for _, re in ipairs(list) do
        local n = opt.n > 0 and opt.n or opt.small and 24 or 256
        if re < 1000 then cavity(re, n, precise(re), "precise,", opt.small and 0.02 or 2e-3) end
    end
end

-- ---- the cylinder in a channel ------------------------------------------------------

-- Drag, lift and pressure difference at `cells` a diameter, once they have settled.
local function schaefer_turek(cells)
    local function profile(y) return 1.2 * y * (0.41 - y) / 0.41 ^ 2 end
    local f <close> = sim.flow {
        size = { 22 * cells, 41 * cells // 10 }, lx = 2.2, ly = 0.41, viscosity = 1e-3, chi = 0,
        cfl = opt.cfl, wall = opt.wall, precision = opt.precision,
    }
    f:side { side = "west", kind = "inflow", speed = profile }
    f:side { side = "east", kind = "outflow" }
    f:obstacle { sim.shape.disc { centre = { 0.2, 0.2 }, radius = 0.05 }, name = "cylinder" }
    f.u:paint { value = function(_, y) return profile(y) end }
    f:project()
    local now, change, still = { 0, 0, 0 }, math.huge, opt.small and 2e-2 or 5e-4
    while change > still and f.time < math.min(40, opt.time) do
        f:advance(1)
        local x, y = f:force_on "cylinder"
        local new = { 500 * x, 500 * y, f:pressure_at(0.15, 0.2) - f:pressure_at(0.25, 0.2) }
        change = 0
        for k = 1, 3 do change = math.max(change, math.abs(new[k] / now[k] - 1)) end
        now = new
    end
    if change > still then print(("not steady: %.1e in a unit of time"):format(change)) end
    return now
end

-- The interval of the pressure difference is 0.3 % wide: it takes 60 cells a diameter, or two
-- coarser grids and the second order by which they near it.
local function cylinders()
    local want = {}
    for _, r in ipairs(read_table "schaefer_turek_2d1.csv") do
        want[r.kind .. " " .. r.quantity] = { r.lower, r.upper }
    end
    local function line(size, what, word, ours, wanted)
        show { case = "cylinder 2D-1", size = size, what = what, ours = ours,
            reference = want["precise " .. word][1], wanted = wanted }
    end
    local sizes = opt.n > 0 and { opt.n } or opt.small and { 10 } or { 20, 40, 60, 80 }
    local quantities = { { "drag", "cd" }, { "lift", "cl" }, { "pressure", "dp" } }
    local all = {}
    for k, cells in ipairs(sizes) do
        if cells % 10 ~= 0 then fail("--n %d: cells a diameter, a multiple of 10", cells) end
        all[k] = schaefer_turek(cells)
        local size = cells .. " a diam."
        line(size, "drag", "cd", all[k][1], 0.01 * want["precise cd"][1])
        line(size, "lift", "cl", all[k][2], cells >= 40 and 0.1 * want["precise cl"][1]
            or "shown")
        line(size, "pressure difference", "dp", all[k][3], cells >= 60 and want["interval dp"]
            or "shown")
        if k > 1 then
            local ratio = (cells / sizes[k - 1]) ^ 2
            line(("%d, %d"):format(sizes[k - 1], cells), "pressure, extrapolated", "dp",
                (ratio * all[k][3] - all[k - 1][3]) / (ratio - 1), want["interval dp"])
        end
    end
    for k, q in ipairs(#sizes > 1 and quantities or {}) do
        local exact = want["precise " .. q[2]][1]
        show { case = "cylinder 2D-1", size = ("%d to %d"):format(sizes[1], sizes[#sizes]),
            what = q[1] .. ", errors' ratio", reference = 0, wanted = { 0, 1 },
            ours = math.abs((all[#all][k] - exact) / (all[1][k] - exact)) }
    end
end

-- ---- the street behind a free cylinder ----------------------------------------------

-- Times at which a signal crosses its mean upward, in the order of time.
local function crossings(times, values)
    local mean, list = 0, {}
    for _, value in ipairs(values) do mean = mean + value / #values end
    for k = 2, #values do
        local a, b = values[k - 1] - mean, values[k] - mean
        if a < 0 and b >= 0 then
            list[#list + 1] = times[k - 1] + (times[k] - times[k - 1]) * a / (a - b)
        end
    end
    return list
end

-- The time step is held well below that of stability: forward Euler takes u^2 dt / 2 from the
-- viscosity, which would make a higher Reynolds number of it. A push across the wake saves the
-- wait for the street to grow out of rounding errors.
local function strouhal(cells, s)
    local f <close> = sim.flow {
        size = { s.length * cells, s.width * cells }, lx = s.length,
        origin = { -s.before, -s.width / 2 }, reynolds = 100, sides = "free-slip", chi = opt.chi,
        dt_max = s.dt, wall = opt.wall, precision = opt.precision,
    }
    f:side { side = "west", kind = "inflow", speed = 1 }
    f:side { side = "east", kind = "outflow" }
    f:obstacle { sim.shape.disc { centre = { 0, 0 }, radius = 0.5 }, name = "cylinder" }
    f.v:paint { shape = sim.shape.gaussian { centre = { 2, 0 }, sigma = 1 }, value = 0.5 }
    f:project()
    f:advance(s.start)
    local times, lifts, drag = {}, {}, 0
    while f.time < s.start + s.count do
        f:step(s.every)
        local x, y = f:force_on "cylinder"
        times[#times + 1], lifts[#lifts + 1], drag = f.time, 2 * y, drag + 2 * x
    end
    local list = crossings(times, lifts)
    if #list < 3 then fail("no street: the lift crossed its mean %d times", #list) end
    return (#list - 1) / (list[#list] - list[1]), drag / #times, #list - 1
end

local function streets()
    local re, s = 100, { length = 60, width = 40, before = 20, dt = 4e-3, every = 10, start = 100,
        count = 60 }
    if opt.small then
        s = { length = 16, width = 8, before = 4, dt = 0.02, every = 5, start = 24, count = 18 }
    end
    local fit = 0.1816 - 3.3265 / re + 1.6e-4 * re
    local cells = opt.n > 0 and opt.n or opt.small and 6 or 20
    local st, drag, periods = strouhal(cells, s)
    show { case = "street Re 100", size = cells .. " a diam.", what = "Strouhal number", ours = st,
        reference = fit, wanted = (opt.small and 0.25 or 0.03) * fit }
    print(("(%d periods, mean drag %.4f, sides %d diameters apart)"):format(periods, drag, s.width))
end

-- ---- Taylor and Green's vortices ----------------------------------------------------

-- The largest error of u at the end.
local function vortices(n, chi, dt)
    local nu, stop = 0.05, 0.4
    local f <close> = sim.flow {
        size = { n, n }, lx = 2 * math.pi, viscosity = nu, chi = chi, dt = dt, sides = "periodic",
        precision = "double",
    }
    local fall = math.exp(-2 * nu * stop)
    f.u:paint { value = function(x, y) return -math.cos(x) * math.sin(y) end }
    f.v:paint { value = function(x, y) return math.sin(x) * math.cos(y) end }
    f:advance(stop)
    local h, worst = 2 * math.pi / n, 0
    for j = 1, n do
        for i = 1, n + 1 do
            local exact = -math.cos((i - 1) * h) * math.sin((j - 0.5) * h) * fall
            worst = math.max(worst, math.abs(f.u:get(i, j) - exact))
        end
    end
    return worst
end

local function orders()
    local n = opt.n > 0 and opt.n or opt.small and 8 or 64
    local function line(what, ours, reference, wanted)
        show { case = "Taylor-Green", size = ("%d, %d"):format(n, 2 * n), what = what, ours = ours,
            reference = reference, wanted = wanted }
    end
    local function log2(x) return math.log(x, 2) end
    local short = 4e-4 * (16 / n) ^ 2
    line("order in space, chi = 0", log2(vortices(n, 0, short) / vortices(2 * n, 0, short / 4)), 2,
        { opt.small and 1.8 or 1.9, 2.1 })
    local step = 1e-3 * 32 / n
    line("order in space, chi = 0.9", log2(vortices(n, 0.9, step) / vortices(2 * n, 0.9, step / 2)),
        1, { opt.small and 0.7 or 0.9, 1.1 })
    local a, b, c = vortices(n, 0, 8e-3), vortices(n, 0, 4e-3), vortices(n, 0, 2e-3)
    line("order in time", log2(math.abs((a - b) / (b - c))), 1, { 0.9, 1.1 })
end

-- ---- all ----------------------------------------------------------------------------

local device = sim.device()
print(("%s, %d thread%s, %s precision"):format(device.name, device.threads,
    device.threads == 1 and "" or "s", opt.precision))
local head = { "case", "size", "what", "ours", "reference", "difference", "wanted", "met" }
print(row:format(table.unpack(head)))
put(table.unpack(head))
local cases = { cavity = cavities, cylinder = cylinders, strouhal = streets, vortices = orders }
for _, name in ipairs { "vortices", "cavity", "cylinder", "strouhal" } do
    if opt.case == "all" or opt.case == name then cases[name]() end
end
assert(results:close())
print(("%d met, %d not; every value is in %s"):format(good, bad, opt.file))
if bad > 0 then fail("%d of %d are not met", bad, good + bad) end
