-- state.lua: sim.state, the table in which a script keeps what its callbacks change: plain
-- data, checked when it is set, saved with each checkpoint.
local data = require "sim.data"
local host = require "sim.host"

local state = {}
local values = {}

local function check(path, value)
    local where, what = data.problem(value, path)
    if where then
        host.user_error(("%s is %s: sim.state holds numbers, texts, booleans and tables of "
            .. "these"):format(where, what))
    end
end

state.table = setmetatable({}, {
    __name = "sim.state",
    __index = function(_, name) return values[name] end,
    __newindex = function(_, name, value)
        if type(name) ~= "string" and math.type(name) ~= "integer" then
            host.user_error("sim.state: a name is a text or a whole number, not a "
                .. type(name))
        end
        check("sim.state." .. tostring(name), value)
        values[name] = value
    end,
    __pairs = function() return next, values, nil end,
    __len = function() return #values end,
    __metatable = "sim.state",
})

-- sim.state = { … }: that table is the state from now on.
function state.set(new)
    if new == state.table then return end
    if type(new) ~= "table" then
        host.user_error("sim.state is a table, not a " .. type(new))
    end
    check("sim.state", new)
    values = new
end

-- The contents as they are, not checked.
function state.contents()
    return values
end

-- The contents; nested tables may have changed since they were set.
function state.save()
    check("sim.state", values)
    return values
end

-- Tables stay the same tables, so that a script's own names for them stay good.
local function replace(old, new)
    for key in next, old do
        if new[key] == nil then old[key] = nil end
    end
    for key, value in next, new do
        if type(value) == "table" and type(old[key]) == "table" then
            replace(old[key], value)
        else
            old[key] = value
        end
    end
end

function state.load(new)
    replace(values, new)
end

return state
