-- json.lua: plain data to JSON text, keys sorted, so that equal data gives equal bytes.
local json = {}

local escapes = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r",
    ["\t"] = "\\t" }

local function quote(text)
    return '"' .. text:gsub('[%c"\\]', function(c)
        return escapes[c] or ("\\u%04x"):format(c:byte())
    end) .. '"'
end

local function number(value)
    if math.type(value) == "integer" then return ("%d"):format(value) end
    if value ~= value or math.abs(value) == math.huge then return "null" end
    local short = ("%.15g"):format(value)
    return tonumber(short) == value and short or ("%.17g"):format(value)
end

local encode

local function list(value, indent)
    local parts = {}
    for i, item in ipairs(value) do parts[i] = encode(item, nil) end
    if not indent or #parts == 0 then return "[" .. table.concat(parts, ", ") .. "]" end
    local line = "\n" .. indent .. "  "
    return "[" .. line .. table.concat(parts, "," .. line) .. "\n" .. indent .. "]"
end

local function object(value, indent)
    local names, parts = {}, {}
    for name in pairs(value) do names[#names + 1] = name end
    table.sort(names)
    local deeper = indent and indent .. "  "
    for i, name in ipairs(names) do
        parts[i] = quote(name) .. ": " .. encode(value[name], deeper)
    end
    if not indent or #parts == 0 then return "{" .. table.concat(parts, ", ") .. "}" end
    local line = "\n" .. deeper
    return "{" .. line .. table.concat(parts, "," .. line) .. "\n" .. indent .. "}"
end

-- `indent` is the current line's; nil writes on one line. An empty table is an object
-- unless it has the field n, as table.pack makes.
function encode(value, indent)
    local kind = type(value)
    if kind == "string" then return quote(value) end
    if kind == "number" then return number(value) end
    if kind == "boolean" then return tostring(value) end
    if kind ~= "table" then error("JSON cannot hold a " .. kind) end
    if value[1] ~= nil or value.n == 0 then return list(value, indent) end
    return object(value, indent)
end

function json.encode(value)
    return encode(value, "") .. "\n"
end

return json
