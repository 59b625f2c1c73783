-- sim: what `require "sim"` returns: the words made in C and the two written in Lua.
local sim = require "sim.core"

sim.options = require("sim.options").declare
sim.run = require "sim.run"
sim.table = require("sim.table").new
sim.plot = require "sim.plot"

-- `sim.state = { … }` sets all of it: as a plain field, what no checkpoint holds would take
-- its place without a word.
local state, meta = require "sim.state", getmetatable(sim)
local unknown = meta.__index
function meta.__index(words, name)
    if name == "state" then return state.table end
    return unknown(words, name)
end
function meta.__newindex(words, name, value)
    if name == "state" then state.set(value) else rawset(words, name, value) end
end

return sim
