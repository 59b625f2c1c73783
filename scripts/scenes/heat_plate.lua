-- heat_plate.lua: a plate between held walls, with a hole, a better conductor and a heater.
--
-- The west side is hot in its middle third and the rest of it is insulated; the south side is
-- held cold; the east side loses heat to the air, -D du/dn = h (u - u_air); the north side is
-- insulated. A square in the middle conducts four times as well, a disc is cut out, and a small
-- heater switches on and off. Alternating directions take steps of many times the explicit
-- limit.
local sim = require "sim"
local shape = sim.shape

local opt = sim.options {
    frames = { 240, min = 1 },
    seed   = { 1, min = 0 },
    cells  = { 180, min = 18, max = 8192, help = "cells along the height" },
}

local ny = opt.cells
local nx, dx = (ny * 16 + 4) // 9, 9 / ny
local D = sim.field { size = { nx, ny }, dx = dx, value = 1 }
D:paint { shape = shape.box { from = { 9, 2 }, to = { 13, 7 } }, value = 4 }

local heater = sim.field { size = { nx, ny }, dx = dx }
heater:paint { shape = shape.disc { centre = { 13.5, 7.5 }, radius = 0.5 }, value = 3 }

local d = sim.diffusion {
    size = { nx, ny }, dx = dx, diffusivity = D, dt = 0.01, integrator = "adi",
    walls = "no-flux",
}
d:wall { side = "west", kind = "fixed", value = 1, from = 3, to = 6 }
d:wall { side = "south", kind = "fixed", value = 0 }
d:wall { side = "east", kind = "robin", h = 0.4, value = 0.1 }
d:source { field = heater, pulse = { period = 8, duty = 0.5 } }
d:domain(shape.complement(shape.disc { centre = { 5.5, 4.2 }, radius = 1.4 }))

local frame = 0
sim.run {
    frames = opt.frames,
    fps = 30,
    step = function()
        frame = frame + 1
        d:step(math.min(25, (frame + 1) // 2))
    end,
    image = function()
        return d.u:image {
            size = { 1280, 720 }, map = "inferno", range = { 0, 1 }, mask_color = "#20242c",
            contours = { levels = 19, color = "#ffffff", width = 1 }, colorbar = { label = "u" },
        }
    end,
}
