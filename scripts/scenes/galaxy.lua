-- galaxy.lua: two disc galaxies meet, throw out bridges and tails, and merge.
--
-- The encounter is of the kind of Toomre and Toomre (ApJ 178, 623, 1972): a parabolic
-- orbit, both discs tilted but turning in the sense of the orbit, so that stars of the
-- outer discs keep pace with the passing companion and are drawn into long tails. The halos,
-- which the pictures leave out, take up the orbit's energy: after the first passage (t = 0)
-- the galaxies part once more, fall back, and merge from t = 50 on.
--
-- Units: G = 1, each galaxy has mass 1 and a disc of scale 1. If that scale is 3.5 kpc and
-- the mass 3e11 suns, a unit of time is 5.6 million years and the film half a billion.
local sim = require "sim"

local opt = sim.options {
    bodies       = { 16384, min = 6, max = 2^31 - 1, help = "in both galaxies together" },
    frames       = { 300, min = 1 },
    seed         = { 1, min = 0 },
    pericentre   = { 2.2, min = 0.01, help = "nearest distance of the orbit" },
    eccentricity = { 1.0, min = 0, help = "1: parabola; more: a faster passage" },
    separation   = { 13.0, min = 0.01, help = "at the start" },
    steps        = { 4, min = 1, help = "time steps a frame" },
    dt           = { 0.073, min = 1e-6, help = "time step" },
    softening    = { 0.1, min = 0.001 },
    precision    = { "single", help = "single, mixed or double" },
    size         = { 1280, min = 16, max = 16384, help = "width in pixels" },
}

local first, second, passage = sim.encounter {
    pericentre = opt.pericentre, separation = opt.separation,
    eccentricity = opt.eccentricity, angle = 90,
}

-- Two thirds of the bodies are stars of the discs; the fewer, heavier bodies of the halo
-- would thicken the discs in ten turns, but they meet after less than one.
local function galaxy(name, n, orbit, tilt, seed)
    return sim.galaxy {
        name = name, n = n, seed = seed, softening = opt.softening, toomre = 1.2,
        disc = 0.25, bulge = 0.08, halo = 0.67,
        disc_bodies = 0.68, bulge_bodies = 0.1, halo_bodies = 0.22,
        position = orbit.position, velocity = orbit.velocity, tilt = tilt,
    }
end

local stars = sim.bodies {
    softening = opt.softening, dt = opt.dt, time = -passage, precision = opt.precision,
}
stars:add(galaxy("A", opt.bodies // 2, first, { 15, 0 }, opt.seed))
stars:add(galaxy("B", opt.bodies - opt.bodies // 2, second, { -40, 40 }, opt.seed + 1))

sim.run {
    frames = opt.frames,
    fps = 30,
    step = function() stars:step(opt.steps) end,
    image = function()
        return stars:image {
            size = { opt.size, math.max(1, opt.size * 9 // 16) }, width = 36,
            colors = {
                A = "#6fa8ff", ["A.bulge"] = "#fff1dc",
                B = "#ffa552", ["B.bulge"] = "#fff1dc",
            },
        }
    end,
}
