-- data.lua: plain data to text and back to the last bit: numbers (NaN and infinities too),
-- texts, booleans, and tables of these without cycles. Equal data gives equal bytes.
local data = {}

local plain = { number = true, string = true, boolean = true }
local key_order = { number = 1, string = 2, boolean = 3 }

local function before(a, b)
    local kind_a, kind_b = type(a), type(b)
    if kind_a ~= kind_b then return key_order[kind_a] < key_order[kind_b] end
    if kind_a == "boolean" then return not a and b end
    return a < b
end

-- What in `value` is not plain data: nil, or its path and what it is.
function data.problem(value, path, above)
    path, above = path or "", above or {}
    if type(value) ~= "table" then
        if plain[type(value)] or value == nil then return nil end
        return path, "a " .. type(value)
    end
    if getmetatable(value) ~= nil then return path, "a table with a metatable" end
    if above[value] then return path, "a table that holds itself" end
    above[value] = true
    for key, item in next, value do
        if not plain[type(key)] or key ~= key then
            return ("%s[%s]"):format(path, tostring(key)), "a key of type " .. type(key)
        end
        local name = type(key) == "string" and path .. "." .. key
            or ("%s[%s]"):format(path, tostring(key))
        local where, what = data.problem(item, name, above)
        if where then return where, what end
    end
    above[value] = nil
    return nil
end

local function write(parts, value)
    if type(value) ~= "table" then
        parts[#parts + 1] = ("%q"):format(value)
        return
    end
    local keys = {}
    for key in next, value do keys[#keys + 1] = key end
    table.sort(keys, before)
    parts[#parts + 1] = "{"
    for _, key in ipairs(keys) do
        parts[#parts + 1] = ("[%q]="):format(key)
        write(parts, value[key])
        parts[#parts + 1] = ","
    end
    parts[#parts + 1] = "}"
end

function data.encode(value)
    local parts = { "return " }
    write(parts, value)
    return table.concat(parts)
end

-- The text is Lua, but can call nothing.
function data.decode(text)
    local chunk, err = load(text, "=data", "t", {})
    if not chunk then error(err, 0) end
    return chunk()
end

return data
