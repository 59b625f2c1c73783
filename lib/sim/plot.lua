-- plot.lua: sim.plot, a line plot of a table's columns as a PNG.
--
--     sim.plot { "energy.png", table = energy, x = "t", y = { "kinetic", "total" } }
--
-- table: a sim.table, or { t = { … }, total = { … } } with lists of numbers. Columns are
-- named without their unit. Without y: all other columns. The file goes where the run's
-- tables go, when it has no folder of its own. Returns the picture.
local folder = require "sim.folder"
local host = require "sim.host"
local series = require "sim.table"

local colors = { { 0.12, 0.35, 0.71 }, { 0.85, 0.33, 0.10 }, { 0.17, 0.55, 0.25 },
    { 0.55, 0.24, 0.63 }, { 0.55, 0.45, 0.10 }, { 0.10, 0.55, 0.60 } }
local legal = { "table", "x", "y", "size" }

local function slip(text, ...)
    host.user_error("sim.plot: " .. text:format(...))
end

-- The columns of a sim.table, of its file and the rows that still wait for one, in order, with
-- names without and with unit.
local function read_file(rows)
    local columns, titles = {}, {}
    for i, title in ipairs(rows.columns) do
        titles[i] = { name = title:match("^(.-)%s*%[.*%]%s*$") or title, title = title }
        columns[titles[i].name] = {}
    end
    local first = true
    local text = (rows.path and folder.read(rows.path) or "") .. table.concat(rows.pending)
    for line in text:gmatch("[^\n]+") do
        local i = 0
        for cell in (line .. ","):gmatch("(.-),") do
            i = i + 1
            if not first and titles[i] then
                local list = columns[titles[i].name]
                list[#list + 1] = tonumber(cell) or 0 / 0
            end
        end
        first = false
    end
    return columns, titles
end

local function take_lists(data)
    local columns, titles = {}, {}
    for name, list in pairs(data) do
        if type(name) ~= "string" or type(list) ~= "table" then
            slip("table must be a sim.table, or lists of numbers by name")
        end
        columns[name] = list
        titles[#titles + 1] = { name = name, title = name }
    end
    table.sort(titles, function(a, b) return a.name < b.name end)
    return columns, titles
end

local function find(titles, name)
    local names = {}
    for i, entry in ipairs(titles) do
        if entry.name == name or entry.title == name then return entry end
        names[i] = entry.name
    end
    local near = host.nearest(name, names)
    slip("no column '%s'%s; there are: %s", tostring(name), near
        and (" (did you mean '%s'?)"):format(near) or "", table.concat(names, ", "))
end

-- --- scales -----------------------------------------------------------------------------------

local function finite(value)
    return type(value) == "number" and value == value and math.abs(value) < math.huge
end

local function span(lists)
    local low, high = math.huge, -math.huge
    for _, list in ipairs(lists) do
        for _, value in ipairs(list) do
            if finite(value) then low, high = math.min(low, value), math.max(high, value) end
        end
    end
    if low > high then low, high = 0, 1 end
    if low == high then
        local half = low ~= 0 and math.abs(low) * 0.05 or 0.5
        low, high = low - half, high + half
    end
    return low, high
end

-- Round numbers (1, 2, 5 times a power of ten), about `count` between low and high.
local function ticks(low, high, count)
    local raw = (high - low) / count
    local power = 10.0 ^ math.floor(math.log(raw, 10))
    local step = 10 * power
    for _, times in ipairs { 1, 2, 5 } do
        if times * power >= raw then
            step = times * power
            break
        end
    end
    local list = {}
    for k = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) do
        list[#list + 1] = { value = k * step, text = ("%.6g"):format(k == 0 and 0 or k * step) }
    end
    return list
end

-- --- drawing ----------------------------------------------------------------------------------

local function frame_of(size, x_span, y_span)
    local unit = size[2] / 480
    local box = { left = 96 * unit, right = size[1] - 24 * unit, top = 36 * unit,
        bottom = size[2] - 56 * unit, unit = unit }
    function box.x(value)
        return box.left + (value - x_span[1]) / (x_span[2] - x_span[1]) * (box.right - box.left)
    end
    function box.y(value)
        return box.bottom - (value - y_span[1]) / (y_span[2] - y_span[1]) * (box.bottom - box.top)
    end
    return box
end

local function draw_axes(box, lines, texts, x_span, y_span)
    local unit, grid, ink = box.unit, 0.87, 0.2
    for _, tick in ipairs(ticks(x_span[1], x_span[2], 7)) do
        local x = box.x(tick.value)
        lines[#lines + 1] = { grid, grid, grid, unit, x, box.top, x, box.bottom }
        texts[#texts + 1] = { tick.text, x, box.bottom + 14 * unit, 14 * unit, 0.5, ink, ink, ink }
    end
    for _, tick in ipairs(ticks(y_span[1], y_span[2], 6)) do
        local y = box.y(tick.value)
        lines[#lines + 1] = { grid, grid, grid, unit, box.left, y, box.right, y }
        texts[#texts + 1] = { tick.text, box.left - 8 * unit, y, 14 * unit, 1, ink, ink, ink }
    end
    lines[#lines + 1] = { ink, ink, ink, 1.5 * unit, box.left, box.top, box.left, box.bottom,
        box.right, box.bottom }
end

-- A value that is no number breaks the line.
local function draw_curve(box, lines, xs, ys, color)
    local line
    for i = 1, math.min(#xs, #ys) do
        if finite(xs[i]) and finite(ys[i]) then
            if not line then
                line = { color[1], color[2], color[3], 2 * box.unit }
                lines[#lines + 1] = line
            end
            line[#line + 1], line[#line + 2] = box.x(xs[i]), box.y(ys[i])
        else
            line = nil
        end
    end
end

local function check_spec(spec)
    if type(spec) ~= "table" then
        slip 'takes a table, { "energy.png", table = energy, x = "t" }'
    end
    for key in pairs(spec) do
        local known = key == 1
        for _, word in ipairs(legal) do known = known or key == word end
        if not known then
            slip("no parameter '%s'; legal: the file, %s", tostring(key), table.concat(legal, ", "))
        end
    end
    if type(spec.table) ~= "table" then slip "table is missing: a sim.table, or lists by name" end
    if spec.x == nil then slip "x is missing: the column along the axis" end
    local size = spec.size or { 800, 480 }
    if type(size) ~= "table" or not (math.tointeger(size[1]) and math.tointeger(size[2])) then
        slip "size must be two whole numbers"
    end
    return size
end

-- As with a table: a name without a folder belongs into the folder of the run.
local function place_of(name)
    if series.out and not name:find("/", 1, true) then return series.out .. "/" .. name end
    return name
end

return function(spec)
    local size = check_spec(spec)
    local is_series = getmetatable(spec.table) == series
    local columns, titles = (is_series and read_file or take_lists)(spec.table)
    local along, shown = find(titles, spec.x), {}
    local wanted = type(spec.y) == "string" and { spec.y } or spec.y
    for _, name in ipairs(wanted or {}) do shown[#shown + 1] = find(titles, name) end
    for _, entry in ipairs(wanted and {} or titles) do
        if entry ~= along then shown[#shown + 1] = entry end
    end
    local lists = {}
    for i, entry in ipairs(shown) do lists[i] = columns[entry.name] end
    local x_span, y_span = { span { columns[along.name] } }, { span(lists) }
    local box, lines, texts = frame_of(size, x_span, y_span), {}, {}
    draw_axes(box, lines, texts, x_span, y_span)
    local unit, at = box.unit, box.left
    for i, entry in ipairs(shown) do
        local color = colors[(i - 1) % #colors + 1]
        draw_curve(box, lines, columns[along.name], lists[i], color)
        texts[#texts + 1] = { entry.title, at, 18 * unit, 15 * unit, 0, color[1], color[2],
            color[3] }
        at = at + (#entry.title + 2) * 10 * unit
    end
    texts[#texts + 1] = { along.title, (box.left + box.right) / 2, size[2] - 16 * unit, 15 * unit,
        0.5, 0.2, 0.2, 0.2 }
    local picture = host.plot(size[1], size[2], lines, texts)
    if spec[1] then picture:save(place_of(spec[1])) end
    return picture
end
