-- nbody_tiling.lua: how the loop over pairs of bodies is cut into tiles, measured.
--
-- For each number of bodies and each way to meet the pairs: the tile (threads a block), the
-- unrolling of its loop, threads a body (parts of the source loop; for symmetric pairs the
-- rounds a block takes), bodies a thread; then interactions a step (N^2), global loads of a
-- body's 16 bytes a step, registers a thread and occupancy (warps that fit a
-- multiprocessor, over its most) as the driver tells them, the time, interactions a second,
-- and their share of the ceiling: the rate of issue over the issue slots an interaction (13
-- plain; 15 for the two of a symmetric pair of bodies of one mass, as here, plus 4/K for a
-- step of K bodies a lane). Single precision.
--
-- A CPU has no tiles to choose: plain and symmetric alone. The plot shows the best of each
-- way, and what is chosen by itself, over N.
local sim = require "sim"
local host = require "sim.host"

local opt = sim.options {
    most  = { 262144, min = 64, help = "the largest number of bodies" },
    issue = { 3.07e13, min = 1, help = "lane-instructions the device issues a second" },
    plot  = { "nbody_tiling.png", help = "the picture's file" },
    time  = { 0.1, min = 1e-3, help = "seconds a measurement" },
}
local on_gpu = sim.device().kind == "cuda"

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
    local kernel = bodies:kernel()
    bodies:close()
    return spent / count, kernel
end

-- Loads from global memory a step, of a body each.
local function loads(n, c)
    local block = c.tile * c.per_thread
    local blocks = math.ceil(n / block)
    if c.pairs == "plain" then return blocks * (n + block * c.split) end
    return blocks * (blocks / 2 + 1) * (c.tile // 32) * block
end

local function slots(c)
    if c.pairs == "symmetric" and c.per_thread then return (15 + 4 / c.per_thread) / 2 end
    return 13
end

local function plain_choices(n, list)
    local function add(tile, unroll, split, per_thread)
        if tile * per_thread <= n then
            list[#list + 1] = { pairs = "plain", tile = tile, unroll = unroll, split = split,
                per_thread = per_thread }
        end
    end
    for _, unroll in ipairs { 1, 2, 4, 8, 16 } do add(256, unroll, nil, 1) end
    for _, split in ipairs { 1, 4, 16 } do add(256, 16, split, 1) end
    for _, tile in ipairs { 64, 128, 256 } do
        for per_thread, unroll in pairs { [1] = 16, [2] = 8, [4] = 8, [8] = 4 } do
            if tile < 256 or per_thread > 1 then add(tile, unroll, nil, per_thread) end
        end
    end
end

local function choices(n)
    local list = { { pairs = "auto" } }
    if not on_gpu then
        list[2], list[3] = { pairs = "plain" }, { pairs = "symmetric" }
        return list
    end
    list[2] = { pairs = "resident" }
    plain_choices(n, list)
    for _, c in ipairs { { 32, 4 }, { 32, 8 }, { 64, 8 }, { 128, 8 }, { 32, 16 }, { 64, 16 } } do
        for _, run in ipairs { 1, 4 } do
            list[#list + 1] = {
                pairs = "symmetric", tile = c[1], per_thread = c[2], split = run,
            }
        end
    end
    return list
end

local best = { n = {}, auto = {}, plain = {}, symmetric = {}, resident = {} }
local function keep(kind, rate)
    local k = #best.n
    best[kind][k] = math.max(best[kind][k] or -math.huge, math.log(rate, 10))
end

local function row(n, c)
    local ok, time, k = pcall(seconds, n, c)
    if not ok then
        -- the resident way has room for few bodies only; nothing else is refused here
        if c.pairs ~= "resident" then error(time, 0) end
        return
    end
    local rate = n * n / time
    keep(c.pairs, rate)
    local function cell(value, format) return value and (format or "%s"):format(value) or "-" end
    print(("%8d %-10s %5s %6s %5s %4s %9.3g %9s %5s %5s %10.2f %10.3e %9s%s"):format(n, k.pairs,
        cell(k.tile), cell(k.unroll), cell(k.split), cell(k.per_thread), n * n,
        cell(k.tile and loads(n, k), "%.3g"), cell(k.registers),
        cell(k.occupancy and 100 * k.occupancy, "%.0f %%"), 1e6 * time, rate,
        cell(on_gpu and 100 * rate * slots(k) / opt.issue, "%.1f %%"),
        c.pairs == "auto" and "  chosen by itself" or ""))
end

print(("%8s %-10s %5s %6s %5s %4s %9s %9s %5s %5s %10s %10s %9s"):format("N", "pairs", "tile",
    "unroll", "split", "each", "pairs/st", "loads/st", "regs", "occ.", "us/step", "rate",
    "ceiling"))
local n = math.min(1024, opt.most)
while n <= opt.most do
    best.n[#best.n + 1] = math.log(n, 2)
    for _, c in ipairs(choices(n)) do row(n, c) end
    n = n * 4
end

-- A way that never ran is no curve; where it did not fit there is a gap.
local columns, names = { ["log2 N"] = best.n }, {}
for _, kind in ipairs { "auto", "plain", "symmetric", "resident" } do
    if next(best[kind]) then
        names[#names + 1] = kind
        for k = 1, #best.n do best[kind][k] = best[kind][k] or 0 / 0 end
        columns[kind] = best[kind]
    end
end
sim.plot { opt.plot, table = columns, x = "log2 N", y = names }
print("wrote " .. opt.plot .. ": log10 of interactions a second")
