-- sim: what `require "sim"` returns: the words made in C and the two written in Lua.
local sim = require "sim.core"

sim.options = require("sim.options").declare
sim.run = require "sim.run"
sim.state = require("sim.state").table
sim.table = require("sim.table").new
sim.plot = require "sim.plot"

return sim
