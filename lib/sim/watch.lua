-- watch.lua: finds run state that a checkpoint cannot save: variables that the callbacks of
-- sim.run change. Looked at are their upvalues, those of functions they call by an upvalue,
-- and globals; tables two levels deep, those with a metatable (objects of simlua) not.
local watch = {}

local MOST = 2000 -- values; what is larger is not looked at further

local function print_of(value, depth, seen)
    if type(value) == "userdata" then return ("%p"):format(value) end
    if type(value) ~= "table" then return tostring(value) end
    if getmetatable(value) ~= nil or depth == 0 then return "table" end
    local parts, count = {}, 0
    for key, item in next, value do
        count = count + 1
        if count > MOST then break end
        if type(key) == "string" or type(key) == "number" then
            parts[#parts + 1] = tostring(key) .. "=" .. print_of(item, depth - 1, seen)
        end
    end
    table.sort(parts)
    return "{" .. table.concat(parts, ",") .. "}"
end

local function look(fn, found, seen)
    if seen[fn] then return end
    seen[fn] = true
    for i = 1, 255 do
        local name, value = debug.getupvalue(fn, i)
        if not name then break end
        if type(value) == "function" then
            if debug.getinfo(value, "S").what == "Lua" then look(value, found, seen) end
        elseif name ~= "_ENV" and name ~= "" then
            found[name] = print_of(value, 2)
        end
    end
end

local loaded = package.loaded

local function take(functions)
    local found = {}
    for _, fn in ipairs(functions) do look(fn, found, {}) end
    for name, value in next, _G do
        if type(name) == "string" and value ~= _G and loaded[name] == nil then
            found[name] = print_of(value, 2)
        end
    end
    return found
end

function watch.start(functions)
    return { functions = functions, before = take(functions), told = {} }
end

-- The names of variables that changed and were not told yet, sorted.
function watch.changed(w)
    local names, now = {}, take(w.functions)
    for name, text in pairs(now) do
        if w.before[name] ~= text and not w.told[name] then
            w.told[name] = true
            names[#names + 1] = name
        end
    end
    table.sort(names)
    return names
end

return watch
