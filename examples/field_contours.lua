-- A function of x and y on a grid, with contours and a colour bar.
local sim = require "sim"

local u = sim.field { size = { 200, 150 }, lx = 8, origin = { -4, -3 }, precision = "double" }

u:paint { value = function(x, y)
    return 3 * (1 - x) ^ 2 * math.exp(-x ^ 2 - (y + 1) ^ 2)
        - 10 * (x / 5 - x ^ 3 - y ^ 5) * math.exp(-x ^ 2 - y ^ 2)
        - math.exp(-(x + 1) ^ 2 - y ^ 2) / 3
end }

print(("from %.4f to %.4f, mean %.6f"):format(u:min(), u:max(), u:mean()))

u:image {
    size = { 960, 640 },
    map = "coolwarm",
    contours = { levels = 13, color = "#202028" },
    colorbar = { label = "height" },
}:save("contours.png")
