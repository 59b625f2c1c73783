-- smac_tables.lua: two tables of a well-known paper on SMAC on graphics cards, measured here.
--
-- Table 1: the time of one step, on grids of 128 x 128 and more. Table 2: 512 x 512 cells, 10 to
-- 1000 steps, with the fields brought in before and taken out after. Each with the paper's own
-- setting, a fixed number of Jacobi sweeps below 100 whatever they leave, and with the pressure
-- converged in every step; beside each the divergence that is left, max |div u| h / U.
--
-- The case: a disc in a channel between walls, chi = 0.9. The first steps are not timed. The
-- paper's CPU took about 1/6 s for a step at 1024 x 1024, its GPU (2011) a few ms.
-- One thread and all, CPU and GPU: run it with --threads 1, without, and with --device cuda.
local sim = require "sim"
local host = require "sim.host"

local opt = sim.options {
    largest = { 4096, min = 128, max = 16384, help = "cells a side, of table 1" },
    sweeps  = { 50, min = 1, max = 99, help = "of Jacobi's method in a step" },
    cells   = { 512, min = 16, max = 4096, help = "a side, of table 2" },
    steps   = { 1000, min = 10, help = "the most, of table 2" },
    seconds = { 2.0, min = 0.01, help = "to spend on a number of table 1, about" },
}

local settings = {
    { name = ("%d sweeps"):format(opt.sweeps), solver = "jacobi", iterations = opt.sweeps },
    { name = "converged", solver = "multigrid", iterations = 100 },
}

local function make(n, setting)
    local f = sim.flow {
        size = { n, n }, lx = 4, reynolds = 100, solver = setting.solver,
        iterations = setting.iterations,
    }
    f:side { side = "west", kind = "inflow", speed = 1, profile = "parabolic" }
    f:side { side = "east", kind = "outflow" }
    f:obstacle { sim.shape.disc { centre = { 1, 2.05 }, radius = 0.3 } }
    return f
end

local function timed(f, steps)
    sim.finish()
    local from = host.now()
    f:step(steps)
    sim.finish()
    return host.now() - from
end

-- Seconds a step, after a start; by as many steps as fit into the time.
local function step_time(f)
    timed(f, 3)
    local once = timed(f, 1)
    local steps = math.max(1, math.min(1000, opt.seconds // once))
    return timed(f, math.tointeger(steps)) / steps
end

local device = sim.device()
print(("%s, %d thread%s"):format(device.name, device.threads, device.threads == 1 and "" or "s"))

print "\ntable 1: one step, computing alone"
print(("%-12s"):format "grid" .. ("%14s %12s %12s"):format(settings[1].name, "Mcells/s",
    "divergence") .. ("%14s %12s %12s"):format(settings[2].name, "Mcells/s", "divergence"))
local n = 128
while n <= opt.largest do
    local line = ("%-12s"):format(("%d x %d"):format(n, n))
    for _, setting in ipairs(settings) do
        local f <close> = make(n, setting)
        local time = step_time(f)
        line = line .. ("%11.3f ms %12.2f %12.1e"):format(1e3 * time, 1e-6 * n * n / time,
            f:divergence())
    end
    print(line)
    n = 2 * n
end

-- The fields in and out are the velocity and the pressure of the whole grid.
local function with_transfers(setting, steps, name)
    local f <close> = make(opt.cells, setting)
    f.u:save(name)
    f.v:save(name .. ".v.npy")
    timed(f, 1)
    local from = host.now()
    f.u:load(name)
    f.v:load(name .. ".v.npy")
    f:step(steps)
    for _, field in ipairs { "u", "v", "pressure" } do f:field(field):save(name) end
    return host.now() - from, f:divergence()
end

print(("\ntable 2: %d x %d, fields in from files and out to them"):format(opt.cells, opt.cells))
print(("%-8s"):format "steps" .. ("%14s %12s %12s"):format(settings[1].name, "steps/s",
    "divergence") .. ("%14s %12s %12s"):format(settings[2].name, "steps/s", "divergence"))
local name = os.tmpname() .. ".npy"
local steps = 10
while steps <= opt.steps do
    local line = ("%-8d"):format(steps)
    for _, setting in ipairs(settings) do
        local time, divergence = with_transfers(setting, steps, name)
        line = line .. ("%11.3f s  %12.2f %12.1e"):format(time, steps / time, divergence)
    end
    print(line)
    steps = 10 * steps
end
os.remove(name)
os.remove(name .. ".v.npy")
os.remove((name:gsub("%.npy$", "")))
