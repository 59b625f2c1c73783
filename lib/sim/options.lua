-- options.lua: a script's own typed parameters, `sim.options { bodies = 16384 }`, set on
-- the command line as --bodies 65536 and listed by --help.
--
-- The type of an option is that of its default. A table says more:
--     softening = { 0.05, min = 0, max = 1, help = "length" }
--     map = { "inferno", choices = { "inferno", "grey" } }
local host = require "sim.host"

local options = { effective = {} }

local reserved = { out = true, device = true, devices = true, threads = true,
    quiet = true, sync = true, help = true, version = true, fresh = true,
    resume_anyway = true, from = true, to = true, every = true, max_time = true,
    check = true, declare = true, jobs = true, paired = true, list = true, slurm = true,
    keep_going = true, fail_fast = true, strict = true }

local function join(words)
    return table.concat(words, ", ")
end

local function did_you_mean(word, words, prefix)
    local near = host.nearest(word, words)
    return near and (" (did you mean %s%s?)"):format(prefix or "", near) or ""
end

-- What an option's value must be, in words.
local function expectation(o)
    if o.choices then return "one of " .. join(o.choices) end
    if o.kind == "boolean" then return "true or false" end
    if o.kind == "string" then return "text" end
    local noun = o.kind == "integer" and "whole number" or "number"
    if o.min and o.max then return ("%s from %g to %g"):format(noun, o.min, o.max) end
    if o.min then return ("%s >= %g"):format(noun, o.min) end
    if o.max then return ("%s <= %g"):format(noun, o.max) end
    return noun
end

local function is_member(list, value)
    for _, word in ipairs(list) do
        if word == value then return true end
    end
    return false
end

-- The value if it is legal for the option, else nil.
local function accept(o, value)
    if o.kind == "integer" then
        value = math.type(value) and math.tointeger(value)
    elseif o.kind == "number" then
        value = math.type(value) and value + 0.0
        if value and (value ~= value or math.abs(value) == math.huge) then return nil end
    elseif type(value) ~= o.kind then
        return nil
    end
    if not value and o.kind ~= "boolean" then return nil end
    if o.choices and not is_member(o.choices, value) then return nil end
    if o.min and value < o.min or o.max and value > o.max then return nil end
    return value
end

local spec_words = { "min", "max", "choices", "help" }

local function declare_one(name, spec)
    local o = { name = name }
    local default = spec
    if type(name) ~= "string" or not name:match("^%a[%w_]*$") then
        host.user_error(("sim.options: '%s' cannot be an option's name"):format(
            tostring(name)))
    elseif reserved[name] then
        host.user_error(("sim.options: --%s is simlua's own option"):format(name))
    end
    if type(spec) == "table" then
        default = spec[1]
        for key, value in pairs(spec) do
            if key ~= 1 and not is_member(spec_words, key) then
                host.user_error(("sim.options: %s has no '%s'; legal: %s"):format(name,
                    tostring(key), join(spec_words)))
            end
            if key ~= 1 then o[key] = value end
        end
    end
    local math_type = math.type(default)
    o.kind = math_type == "float" and "number" or math_type or type(default)
    if o.kind == "nil" or o.kind == "table" or o.kind == "function" then
        host.user_error(("sim.options: %s needs a default: a number, a text or a boolean")
            :format(name))
    end
    o.value = accept(o, default)
    if o.value == nil then
        host.user_error(("sim.options: the default of %s must be %s"):format(name,
            expectation(o)))
    end
    return o
end

local function parse_text(o, text)
    if o.kind == "boolean" then
        if text == "true" then return true elseif text == "false" then return false end
        return nil
    elseif o.kind == "string" then
        return text
    end
    -- tonumber also reads "0x10" and " 1 "; a command line has neither.
    return text:match("^[+-]?[%d.]+[eE]?[+-]?%d*$") and tonumber(text)
end

local function set(o, text)
    local value = accept(o, parse_text(o, text))
    if value == nil then
        host.usage_error(("--%s takes %s, not '%s'"):format(o.name:gsub("_", "-"),
            expectation(o), text))
    end
    o.value = value
end

-- For `simlua sweep`: a text as the value of an option {name, kind, min, max, choices}.
function options.read_value(o, text)
    local value = accept(o, parse_text(o, text))
    if value == nil then
        host.usage_error(("--%s takes %s, not '%s'"):format(o.name:gsub("_", "-"),
            expectation(o), text))
    end
    return value
end

local function sorted_names(declared)
    local names = {}
    for name in pairs(declared) do names[#names + 1] = name end
    table.sort(names)
    return names
end

local function read_command_line(declared)
    local arguments, before_dashes = host.arguments()
    local i = 1
    while i <= before_dashes do
        local text = arguments[i]
        local word, value = text:match("^%-%-([^=]+)=?(.*)$")
        if not word then
            host.usage_error(("the script takes no argument '%s'; options are --name value")
                :format(text))
        end
        local name, given = word:gsub("-", "_"), text:find("=", 1, true)
        local negated = declared[name] == nil and name:match("^no_(.+)$")
        local o = declared[negated or name]
        if not o or negated and o.kind ~= "boolean" then
            host.usage_error(("no option --%s%s; `--help` after the script lists them")
                :format(word, did_you_mean(name, sorted_names(declared), "--")))
        end
        if o.kind == "boolean" and not given then
            o.value = not negated
        else
            if not given then
                i = i + 1
                value = arguments[i]
            end
            if i > before_dashes then
                host.usage_error(("--%s needs a value: %s"):format(word, expectation(o)))
            end
            set(o, value)
        end
        i = i + 1
    end
end

local function help_text(declared, settings)
    local lines = { ("usage: simlua %s [options]"):format(settings.script), "" }
    for _, name in ipairs(sorted_names(declared)) do
        local o = declared[name]
        lines[#lines + 1] = ("  --%-16s %s"):format(name:gsub("_", "-"), o.help or "")
        lines[#lines + 1] = ("  %-18s   %s; default %s"):format("", expectation(o),
            tostring(o.value))
    end
    lines[#lines + 1] = ""
    lines[#lines + 1] = "and simlua's own: see simlua --help"
    return table.concat(lines, "\n") .. "\n"
end

-- sim.options { name = default, … } -> { name = value, … }; reading a name that was not
-- declared is an error.
function options.declare(specs)
    if type(specs) ~= "table" then
        host.user_error("sim.options takes a table, { name = default, … }")
    end
    local settings, declared = host.settings(), {}
    for name, spec in pairs(specs) do declared[name] = declare_one(name, spec) end
    if settings.help then host.end_help(help_text(declared, settings)) end
    if settings.declare then
        io.write(require("sim.json").encode(declared))
        host.end_help ""
    end
    for _, name in ipairs { "frames", "seed" } do -- simlua's own, if the script has them too
        local value = settings[name]
        if declared[name] and value then set(declared[name], tostring(value)) end
    end
    read_command_line(declared)
    local seed = declared.seed and declared.seed.value
    if math.type(seed) == "integer" then host.adopt_seed(seed) end
    local values, names = {}, sorted_names(declared)
    for name, o in pairs(declared) do
        values[name] = o.value
        options.effective[name] = o.value
    end
    return setmetatable(values, {
        __index = function(_, name)
            name = tostring(name)
            host.user_error(("no option '%s'%s; declared: %s"):format(name,
                did_you_mean(name, names), join(names)))
        end,
    })
end

return options
