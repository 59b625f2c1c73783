-- sweep.lua: `simlua sweep SCENE.lua --softening 0.01,0.02 --seed 1:10` runs a scene for all
-- combinations of the values (or, with --paired, for the first ones, the second ones, …).
--
-- The values are checked against the options that the scene declares (sim.options). A list
-- has commas; 1:10 are whole numbers, 1:10:3 every third; 0:1:5 of a number are five values
-- evenly from 0 to 1.
local folder = require "sim.folder"
local host = require "sim.host"
local jobs = require "sim.jobs"
local json = require "sim.json"
local options = require "sim.options"
local process = require "sim.process"

local LONGEST = 120 -- bytes of a folder's name

local usage = [[
usage: simlua sweep SCENE.lua --NAME VALUES … [options]

VALUES: 0.01,0.02,0.05 or 1:10 or 1:10:3 (whole numbers: by steps of 3; numbers: 3 values)

  --paired       the first values together, then the second, … (default: all combinations)
  --jobs N       processes at a time (default: one a GPU, else one)
  --out DIR      where the folders go (default out/<scene>-sweep)
  --keep-going   go on after a failure (default); --fail-fast: do not
  --list         print the commands, one a line; --slurm: as an array job for sbatch
  --device D, --threads N, --fresh, --resume-anyway, --quiet   as for one script
]]

-- What the scene declares, told by a process of its own.
local function declared_by(script)
    local out, err = os.tmpname(), os.tmpname()
    process.spawn({ process.program(), "--declare", "--device", "cpu", script }, out, err)
    local _, code = process.wait()
    local text, why = folder.read(out) or "", folder.read(err) or ""
    os.remove(out)
    os.remove(err)
    if code ~= 0 then
        host.say(why)
        os.exit(code or 1)
    end
    return text == "" and {} or json.decode(text)
end

local own = {
    frames = { name = "frames", kind = "integer", min = 1 },
    seed = { name = "seed", kind = "integer", min = 0 },
}

local function option_named(declared, word)
    local name = word:gsub("-", "_")
    local o = declared[name] or own[name]
    if o and own[name] then o.min = math.max(o.min or 0, own[name].min) end
    if o then return o end
    local names = {}
    for known in pairs(declared) do names[#names + 1] = known end
    for known in pairs(own) do names[#names + 1] = not declared[known] and known or nil end
    table.sort(names)
    local near = host.nearest(name, names)
    host.usage_error(("sweep: the scene has no option --%s%s; there are: %s"):format(word,
        near and (" (did you mean --%s?)"):format(near) or "", table.concat(names, ", ")))
end

local function range_of(o, item)
    local low, high, third = item:match("^([^:]+):([^:]+):?([^:]*)$")
    if not low or o.kind ~= "integer" and o.kind ~= "number" then return nil end
    low, high = options.read_value(o, low), options.read_value(o, high)
    local n = math.tointeger(tonumber(third))
    local good = o.kind == "integer" and (third == "" or n and n >= 1) and low <= high
        or o.kind == "number" and n and n >= 2
    if not good then
        host.usage_error(("sweep: --%s: '%s' is no range; whole numbers: 1:10 or 1:10:3, "
            .. "numbers: 0:1:5 for five values"):format(o.name, item))
    end
    local values = {}
    if o.kind == "integer" then
        for value = low, high, n or 1 do values[#values + 1] = value end
    else
        for k = 0, n - 1 do values[k + 1] = low + (high - low) * k / (n - 1) end
    end
    return values
end

local function values_of(o, text)
    local values, seen = {}, {}
    for item in (text .. ","):gmatch("(.-),") do
        for _, value in ipairs(range_of(o, item) or { options.read_value(o, item) }) do
            if seen[value] then
                host.usage_error(("sweep: --%s has %s twice"):format(o.name, tostring(value)))
            end
            seen[value] = true
            values[#values + 1] = value
        end
    end
    return values
end

-- The swept options in the order of the command line: { { o, values }, … }.
local function read_axes(rest, declared)
    local axes, known, i = {}, {}, 1
    while i <= #rest do
        local word, value = rest[i]:match("^%-%-([^=]+)=?(.*)$")
        if not word then
            host.usage_error(("sweep: '%s' is no option; --name values"):format(rest[i]))
        end
        local o = option_named(declared, word)
        if not rest[i]:find("=", 1, true) then
            i = i + 1
            value = rest[i] or host.usage_error(("--%s needs values"):format(word))
        end
        if known[o.name] then host.usage_error(("sweep: --%s twice"):format(word)) end
        known[o.name] = true
        axes[#axes + 1] = { o = o, values = values_of(o, value) }
        i = i + 1
    end
    return axes
end

local function combinations(axes, at, chosen, list)
    if at > #axes then
        list[#list + 1] = { table.unpack(chosen) }
        return list
    end
    for _, value in ipairs(axes[at].values) do
        chosen[at] = value
        combinations(axes, at + 1, chosen, list)
    end
    return list
end

local function pairs_of(axes)
    local list, count = {}, 1
    for _, axis in ipairs(axes) do count = math.max(count, #axis.values) end
    for _, axis in ipairs(axes) do
        if #axis.values ~= count and #axis.values ~= 1 then
            host.usage_error(("sweep --paired: --%s has %d values, another option %d"):format(
                axis.o.name, #axis.values, count))
        end
    end
    for k = 1, count do
        list[k] = {}
        for i, axis in ipairs(axes) do list[k][i] = axis.values[k] or axis.values[1] end
    end
    return list
end

local function text_of(value)
    if math.type(value) ~= "float" then return tostring(value) end
    local short = ("%.15g"):format(value)
    return tonumber(short) == value and short or ("%.17g"):format(value)
end

-- A folder's name: not too long for a file system, and no other job's, though what cannot
-- stand in a name is written as _ there.
local function only_name(name, taken)
    if #name > LONGEST then
        name = name:sub(1, LONGEST - 9) .. "-" .. host.hash(name):sub(-8)
    end
    return jobs.own_name(name, taken)
end

-- Folders are named by what varies.
local function job_of(script, axes, chosen, out, taken)
    local parts, words, values = {}, { script }, {}
    for i, axis in ipairs(axes) do
        local text = text_of(chosen[i])
        if #axis.values > 1 or #axes == 1 then
            parts[#parts + 1] = axis.o.name .. "=" .. text:gsub("[^%w._+-]", "_")
        end
        words[#words + 1] = ("--%s=%s"):format(axis.o.name:gsub("_", "-"), text)
        values[axis.o.name] = text
    end
    local name = table.concat(parts, "_")
    name = only_name(name ~= "" and name or "run", taken)
    return { name = name, words = words, values = values, out = out .. "/" .. name }
end

return function(...)
    local arguments = { ... }
    if #arguments == 0 or arguments[1] == "--help" then host.end_help(usage) end
    local settings, rest = jobs.parse(arguments)
    local script
    for i, text in ipairs(rest) do
        if text:match("%.lua$") and text:sub(1, 1) ~= "-" then
            script = table.remove(rest, i)
            break
        end
    end
    if not script then host.usage_error "sweep: which scene? simlua sweep SCENE.lua --seed 1:4" end
    local axes = read_axes(rest, declared_by(script))
    if #axes == 0 then host.usage_error "sweep: which options, and which values of them?" end
    local title = (script:match("([^/]+)%.lua$") or "scene") .. "-sweep"
    settings.out = settings.out or "out/" .. title
    local chosen = settings.paired and pairs_of(axes) or combinations(axes, 1, {}, {})
    local list, columns, taken = {}, {}, {}
    for i, axis in ipairs(axes) do columns[i] = axis.o.name end
    for i, values in ipairs(chosen) do
        list[i] = job_of(script, axes, values, settings.out, taken)
    end
    jobs.run(list, settings, columns, title)
end
