-- Shapes are values: they add, intersect and subtract, move and turn.
local sim = require "sim"
local shape = sim.shape

local u = sim.field { size = { 320, 180 }, lx = 16 }

local ring = shape.disc { centre = { 4, 4.5 }, radius = 3 }
    - shape.disc { centre = { 4, 4.5 }, radius = 2 }
local bar = shape.box { from = { 0.5, 4 }, to = { 7.5, 5 } }
local star = shape.polygon {
    { 11, 8 }, { 12.9, 2 }, { 8, 5.8 }, { 14, 5.8 }, { 9.1, 2 },
}

u:paint { shape = ring + bar:rotate(30), value = 1, soft = true }
u:paint { shape = star, value = 0.7, soft = true }
u:paint { shape = shape.gaussian { centre = { 13.5, 1.5 }, sigma = 0.8 }, value = 1, mode = "max" }
u:paint { shape = -shape.box { from = { 0.25, 0.25 }, to = { 15.75, 8.75 } }, value = 0.3 }

u:image { map = "inferno", scale = 4 }:save("shapes.png")
