-- Three equal masses chase each other along one figure eight (Moore, Phys. Rev. Lett. 70,
-- 3675, 1993; Chenciner and Montgomery, Ann. Math. 152, 881, 2000), here for two rounds.
local sim = require "sim"

local x, y = 0.97000436, -0.24308753
local vx, vy = -0.932407368139078707, -0.864731461834953700 -- of the body in the middle
local period, steps = 6.325914009782138550, 4000

local three = sim.bodies { dt = period / steps, precision = "double" }
three:add(sim.rows { name = "red", { x, y, 0, -vx / 2, -vy / 2, 0, 1 } })
three:add(sim.rows { name = "green", { -x, -y, 0, -vx / 2, -vy / 2, 0, 1 } })
three:add(sim.rows { name = "blue", { 0, 0, 0, vx, vy, 0, 1 } })

sim.run {
    frames = 201,
    step = function() three:step(steps // 100) end,
    image = function()
        return three:image { width = 3, point_size = 6,
            colors = { red = "#ff6655", green = "#66dd77", blue = "#6699ff" } }
    end,
}
