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

-- --- reading ---------------------------------------------------------------------------------

local unescapes = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

local function fail(text, at)
    local _, lines = text:sub(1, at):gsub("\n", "")
    error(("not JSON at line %d"):format(lines + 1), 0)
end

local function read_string(text, at)
    local parts, from = {}, at + 1
    while true do
        local stop = text:find('["\\]', from)
        if not stop then fail(text, at) end
        parts[#parts + 1] = text:sub(from, stop - 1)
        if text:sub(stop, stop) == '"' then return table.concat(parts), stop + 1 end
        local code = text:match("^u(%x%x%x%x)", stop + 1)
        local letter = text:sub(stop + 1, stop + 1)
        parts[#parts + 1] = code and utf8.char(tonumber(code, 16)) or unescapes[letter] or letter
        from = stop + (code and 6 or 2)
    end
end

local function skip(text, at)
    return text:find("[^ \t\r\n]", at) or #text + 1
end

local read

local function read_items(text, at, close, one)
    at = skip(text, at + 1)
    if text:sub(at, at) == close then return at + 1 end
    while true do
        at = skip(text, one(at))
        local mark = text:sub(at, at)
        if mark == close then return at + 1 end
        if mark ~= "," then fail(text, at) end
        at = skip(text, at + 1)
    end
end

local words = { ["true"] = true, ["false"] = false }

function read(text, at, depth)
    at = skip(text, at)
    if depth > 100 then fail(text, at) end
    local mark, result = text:sub(at, at), {}
    if mark == '"' then return read_string(text, at) end
    if mark == "[" then
        return result, read_items(text, at, "]", function(from)
            result[#result + 1], from = read(text, from, depth + 1)
            return from
        end)
    elseif mark == "{" then
        return result, read_items(text, at, "}", function(from)
            if text:sub(from, from) ~= '"' then fail(text, from) end
            local name, stop = read_string(text, from)
            stop = skip(text, stop)
            if text:sub(stop, stop) ~= ":" then fail(text, stop) end
            result[name], stop = read(text, stop + 1, depth + 1)
            return stop
        end)
    end
    local word = text:match("^[%w+.-]+", at) or fail(text, at)
    if words[word] ~= nil then return words[word], at + #word end
    if word == "null" then return nil, at + #word end
    return tonumber(word) or fail(text, at), at + #word
end

-- The value that a JSON text stands for; null becomes nil. Raises on what is not JSON.
function json.decode(text)
    local value, at = read(text, 1, 0)
    if skip(text, at) <= #text then fail(text, at) end
    return value
end

function json.encode(value)
    return encode(value, "") .. "\n"
end

return json
