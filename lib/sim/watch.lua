-- watch.lua: finds run state that a checkpoint cannot save: variables that the callbacks of
-- sim.run change. Looked at are their upvalues, those of functions they call by an upvalue,
-- globals, and the script's own modules, with all that hangs on them: tables, their metatables
-- and keys, functions with what they hold, coroutines with their locals.
--
-- Not looked at: simlua's own objects, what sim.state holds, tables with weak references, and
-- what lies behind the first MOST values of a look.
local series = require "sim.table"
local state = require "sim.state"

local watch = {}

local MOST = 100000
local home = debug.getinfo(1, "S").source:match("^(.*/)")

local look -- a print of a value, to be compared with a later one

local function is_ours(fn)
    return debug.getinfo(fn, "S").source:sub(1, #home) == home
end

local function look_at_function(fn, at)
    local parts, info = { ("%p"):format(fn) }, debug.getinfo(fn, "S")
    if is_ours(fn) then return parts[1] end
    for i = 1, 255 do
        local name, value = debug.getupvalue(fn, i)
        if not name then break end
        -- What a function in C holds is its own affair, but for wrapped coroutines.
        if name ~= "_ENV" and (info.what ~= "C" or type(value) == "thread") then
            parts[#parts + 1] = look(value, at)
        end
    end
    return table.concat(parts, " ")
end

local function look_at_thread(thread, at)
    local parts = { ("%p %s"):format(thread, coroutine.status(thread)) }
    for level = 0, 200 do
        local info = debug.getinfo(thread, level, "lS")
        if not info then break end
        parts[#parts + 1] = info.currentline
        for i = 1, 250 do
            local name, value = debug.getlocal(thread, level, i)
            if not name then break end
            if info.what ~= "C" then parts[#parts + 1] = look(value, at) end
        end
    end
    return table.concat(parts, " ")
end

local function look_at_table(values, at)
    local meta, parts = debug.getmetatable(values), {}
    if meta == series or type(meta) == "table" and rawget(meta, "__mode") then
        return ("%p"):format(values)
    end
    for key, item in next, values do
        if at.left <= 0 then break end
        parts[#parts + 1] = look(key, at) .. "=" .. look(item, at)
    end
    table.sort(parts)
    if meta then parts[#parts + 1] = look(meta, at) end
    return "{" .. table.concat(parts, ",") .. "}"
end

local lookers = { ["function"] = look_at_function, thread = look_at_thread,
    table = look_at_table }

-- What was seen already is told by its place.
function look(value, at)
    local looker = lookers[type(value)]
    if not looker then
        at.left = at.left - 1
        if type(value) == "userdata" then return ("%p"):format(value) end
        return math.type(value) == "float" and ("%a"):format(value) or tostring(value)
    end
    if at.seen[value] or at.left <= 0 then return ("%p"):format(value) end
    at.left = at.left - 1
    at.seen[value] = true
    return looker(value, at)
end

-- --- where to look ----------------------------------------------------------------------------

-- A function in Lua, not one that coroutine.wrap made (src/script.c).
local function is_of_script(fn)
    local info = debug.getinfo(fn, "S")
    return info.what == "Lua" and info.source ~= "=simlua"
end

-- The upvalues of a callback by their names, and of what it calls by an upvalue.
local function gather(fn, roots, seen)
    if seen[fn] or is_ours(fn) then return end
    seen[fn] = true
    for i = 1, 255 do
        local name, value = debug.getupvalue(fn, i)
        if not name then break end
        if type(value) == "function" and is_of_script(value) then
            roots[#roots + 1] = { name = name, value = ("%p"):format(value) }
            gather(value, roots, seen)
        elseif name ~= "_ENV" and name ~= "" then
            roots[#roots + 1] = { name = name, value = value }
        end
    end
end

-- Marks what is saved or simlua's own as seen.
local function mark(value, seen)
    if type(value) ~= "table" or seen[value] then return end
    seen[value] = true
    for _, item in next, value do mark(item, seen) end
end

local function nothing_ours()
    local seen = { [_G] = true, [package] = true, [package.loaded] = true,
        [package.preload] = true, [debug.getregistry()] = true, [watch] = true }
    for name, module in next, package.loaded do
        if name:match("^sim%f[.\0]") then seen[module] = true end
    end
    seen[state.table] = true
    mark(state.contents(), seen)
    return seen
end

local function take(functions)
    local roots, found, seen = {}, {}, {}
    for _, fn in ipairs(functions) do gather(fn, roots, seen) end
    for name, value in next, _G do
        if type(name) == "string" and package.loaded[name] == nil then
            roots[#roots + 1] = { name = name, value = value }
        end
    end
    for name, value in next, package.loaded do
        if not name:match("^sim%f[.\0]") and name ~= "_G" then
            roots[#roots + 1] = { name = name, value = value, module = true }
        end
    end
    local left, apart = MOST, { __index = nothing_ours() }
    for _, root in ipairs(roots) do
        local at, other = { seen = setmetatable({}, apart), left = left }, found[root.name]
        local text = look(root.value, at)
        if other then text = other.text .. " " .. text end -- two variables of one name
        found[root.name] = { text = text, module = root.module }
        left = at.left
    end
    return found, left <= 0
end

-- Of the callbacks of a run. .partly: there was more than a look takes in.
function watch.start(run)
    local functions = { run.step }
    for _, name in ipairs { "image", "stop_when", "before" } do
        functions[#functions + 1] = run[name]
    end
    local before, partly = take(functions)
    return { functions = functions, before = before, told = {}, partly = partly }
end

-- The names of variables that changed and were not told yet, sorted. A module that a callback
-- was the first to ask for is looked at from then on.
function watch.changed(w)
    local names, now = {}, take(w.functions)
    for name, is in pairs(now) do
        local was = w.before[name]
        if not was and is.module then
            w.before[name] = is
        elseif (not was or was.text ~= is.text) and not w.told[name] then
            w.told[name] = true
            names[#names + 1] = name
        end
    end
    table.sort(names)
    return names
end

return watch
