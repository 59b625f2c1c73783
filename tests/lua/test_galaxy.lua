-- test_galaxy.lua - a galaxy alone stays as it is, in each precision: half-mass radii, virial
-- ratio, thickness.
--
-- The full measure is `simlua tests/lua/test_galaxy.lua --bodies 16384 --rotations 5`:
-- radii within 5 %, virial ratio within 5 % of 1, thickness grown less than twofold. The
-- default is smaller and shorter, and its radii scatter more, as those of fewer bodies do.
local sim = require "sim"
local check = require "check"

local small = os.getenv "SIMLUA_SMALL"
local opt = sim.options {
    bodies = { small and 1024 or 4096, min = 64 },
    rotations = { small and 0.3 or 1.0, min = 0.01 },
    seed = 1,
}

local function examine(precision)
    local stars = sim.bodies { softening = 0.1, dt = 0.1, precision = precision }
    stars:add(sim.galaxy { n = opt.bodies, name = "A", seed = opt.seed })

    -- The time of one rotation where half the disc's mass is inside, from the stars' motion.
    local function rotation_period()
        local speed, count = 0, 0
        for _, s in ipairs(stars:rows("A.disc")) do
            local radius = math.sqrt(s[1] ^ 2 + s[2] ^ 2)
            if math.abs(radius - 1.678) < 0.3 then
                speed = speed + (s[1] * s[5] - s[2] * s[4]) / radius
                count = count + 1
            end
        end
        return 2 * math.pi * 1.678 * count / speed
    end

    -- Half of the disc's stars are nearer than this to its plane.
    local function thickness()
        local rows, height, sum = stars:rows("A.disc"), {}, 0
        for _, s in ipairs(rows) do sum = sum + s[3] / #rows end
        for i, s in ipairs(rows) do height[i] = math.abs(s[3] - sum) end
        table.sort(height)
        return height[#height // 2 + 1]
    end

    local groups = { "A.disc", "A.bulge", "A.halo" }
    local half = {}
    for _, group in ipairs(groups) do half[group] = stars:radii { group = group }[1] end
    local thin, energy, spin = thickness(), stars:energy().total, stars:angular_momentum()[3]
    local period = rotation_period()

    check.near(half["A.disc"], 1.69, 0.06, "half-mass radius of the disc")
    check.near(thin, 0.2 * 0.5493, 0.2 * 0.5493 * 0.15, "half of sech^2 lies within 0.549 z0")
    check.near(stars:energy().virial, 1, 0.05, "virial ratio at the start")
    check.near(period, 26, 3, "period of rotation")

    local tolerance = math.max(0.05, 0.05 * math.sqrt(16384 / opt.bodies))
    local parts = math.max(1, math.floor(opt.rotations + 0.5))
    for _ = 1, parts do
        stars:step(math.ceil(opt.rotations * period / stars.dt / parts))
        for _, group in ipairs(groups) do
            local ratio = stars:radii { group = group }[1] / half[group]
            check.near(ratio, 1, tolerance,
                ("half-mass radius of %s at t = %.0f"):format(group, stars.time))
        end
        check.near(stars:energy().virial, 1, 0.05, "virial ratio")
    end
    check.that(thickness() < 2 * thin, ("the disc thickened from %.3f to %.3f"):format(thin,
        thickness()))
    check.near(stars:energy().total / energy, 1, 2e-3, "energy")
    check.near(stars:angular_momentum()[3] / spin, 1, 1e-4, "angular momentum")
    stars:close()
end

for _, precision in ipairs { "single", "mixed", "double" } do examine(precision) end

return check.report()
