-- nbody_tiling.lua: how the loop over pairs of bodies is cut into tiles, measured.
--
-- For each number of bodies and each way to meet the pairs: interactions a step (N^2),
-- global loads of a body's 16 bytes a step, the time, interactions a second, and their
-- share of the ceiling: the rate of issue of the multiprocessors over the issue slots an
-- interaction (13 plain; 17 for the two of a symmetric pair, plus 4/K for a step of K
-- bodies a lane). Registers and occupancy are those of sm_90, from the compiler.
--
-- On the CPU there is one way only, and no table of tiles. The plot shows rate against N
-- on logarithmic scales, a column of marks for each N: plain dark, symmetric bright, the
-- defaults as the tall mark.
local sim = require "sim"
local host = require "sim.host"

local opt = sim.options {
    most  = { 262144, min = 64, help = "the largest number of bodies" },
    issue = { 3.07e13, min = 1, help = "lane-instructions the device issues a second" },
    plot  = { "nbody_tiling.png", help = "the picture's file" },
    time  = { 0.1, min = 1e-3, help = "seconds a measurement" },
}

local function stars(n, choice)
    local options = { dt = 1e-5, softening = 0.05 }
    for key, value in pairs(choice) do options[key] = value end
    local bodies = sim.bodies(options)
    bodies:add(sim.uniform_sphere { n = n, seed = 1 })
    return bodies
end

local function seconds(n, choice)
    local bodies = stars(n, choice)
    bodies:step(2)
    sim.finish()
    local count, spent = 1
    repeat
        local from = host.now()
        bodies:step(count)
        sim.finish()
        spent = host.now() - from
        if spent < opt.time then
            count = math.max(2 * count, math.floor(count * opt.time / (spent + 1e-6)))
        end
    until spent >= opt.time
    bodies:close()
    return spent / count
end

-- Registers a thread of single precision for sm_90; threads a multiprocessor follow from
-- its 65,536 registers.
local registers = {
    plain = { [1] = 40, [2] = 47, [4] = 63, [8] = 127 },
    symmetric = { [4] = 64, [8] = 96, [16] = 160 },
}

-- Loads from global memory a step, of a body each.
local function loads(n, c)
    if c.pairs == "plain" then
        return math.ceil(n / (c.tile * c.per_thread)) * (n + c.tile * c.per_thread)
    elseif c.pairs == "symmetric" then
        local block = c.tile * c.per_thread
        local blocks = math.ceil(n / block)
        return blocks * (blocks / 2 + 1) * (c.tile // 32) * block
    end
    return n * math.min(132, math.ceil(n / 8))
end

local function slots(c)
    if c.pairs == "symmetric" then return (17 + 4 / c.per_thread) / 2 end
    return 13
end

local function choices(n)
    local list = { { pairs = "auto" }, { pairs = "resident" } }
    for _, tile in ipairs { 64, 128, 256 } do
        for _, per_thread in ipairs { 1, 2, 4, 8 } do
            if tile * per_thread <= n then
                list[#list + 1] = { pairs = "plain", tile = tile, per_thread = per_thread }
            end
        end
    end
    for _, c in ipairs { { 32, 4 }, { 32, 8 }, { 64, 8 }, { 128, 8 }, { 32, 16 }, { 64, 16 } } do
        for _, run in ipairs { 1, 4 } do
            list[#list + 1] = {
                pairs = "symmetric", tile = c[1], per_thread = c[2], split = run,
            }
        end
    end
    return list
end

local marks = {}
local function row(n, c)
    local ok, time = pcall(seconds, n, c)
    if not ok then return end
    local rate = n * n / time
    marks[#marks + 1] = { n = n, rate = rate, kind = c.pairs }
    local regs = registers[c.pairs] and registers[c.pairs][c.per_thread]
    print(("%8d %-10s %5s %4s %5s %9.3g %9.3g %5s %6s %10.2f %10.3e %6.1f %%"):format(n,
        c.pairs, c.tile or "-", c.per_thread or "-", c.split or "-", n * n,
        c.tile and loads(n, c) or 0, regs or "-",
        regs and math.min(2048, 65536 // regs // 32 * 32) or "-", 1e6 * time, rate,
        100 * rate * slots(c) / opt.issue))
end

-- The plot: a column of marks a size.
local function plot(path)
    local width, height = 960, 540
    local field = sim.field { size = { width, height } }
    local shade = { plain = 0.35, symmetric = 0.7, resident = 0.55, auto = 1, cpu = 1 }
    local lowest, highest = math.huge, 0
    for _, m in ipairs(marks) do
        lowest, highest = math.min(lowest, m.rate), math.max(highest, m.rate)
    end
    local from, span = math.log(lowest, 10) - 0.1, math.log(highest / lowest, 10) + 0.2
    local steps = math.max(1, math.log(opt.most / 1024, 2))
    local function place(m)
        return 60 + (width - 120) * math.log(m.n / 1024, 2) / steps,
            40 + (height - 80) * (math.log(m.rate, 10) - from) / span
    end
    for _, m in ipairs(marks) do
        local x, y = place(m)
        local tall = m.kind == "auto" and 9 or 4
        field:paint {
            shape = sim.shape.box { from = { x - 7, y - tall }, to = { x + 7, y + tall } },
            value = shade[m.kind],
        }
    end
    field:image { size = { width, height }, range = { 0, 1 }, map = "inferno" }
        :label { text = ("interactions/s, %.2g to %.2g; N = 1024 to %d"):format(lowest,
            highest, opt.most), position = "top left" }
        :save(path)
    print("wrote " .. path)
end

print(("%8s %-10s %5s %4s %5s %9s %9s %5s %6s %10s %10s %8s"):format("N", "pairs", "tile",
    "each", "split", "pairs/st", "loads/st", "regs", "thr/MP", "us/step", "rate", "ceiling"))
local n = 1024
while n <= opt.most do
    for _, c in ipairs(sim.device().kind == "cuda" and choices(n) or { { pairs = "auto" } }) do
        row(n, c)
    end
    n = n * 4
end
if #marks > 0 then plot(opt.plot) end
