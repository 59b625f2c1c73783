-- table.lua: sim.table, a time series in a CSV file that grows by whole rows.
--
--     local energy = sim.table { "energy.csv", "t [time]", "total [energy]" }
--     energy:row(stars.time, stars:energy().total)
--
-- A name without a folder belongs into the folder of the run; its rows wait for sim.run. A
-- checkpoint knows how many bytes there were, so that a run that goes on neither doubles a
-- row nor loses one. Where several processes share a folder each writes the rows of all the
-- steps that it takes, the same bytes at the same place, and none of them cuts the file.
local host = require "sim.host"

local series = { all = {} }
series.__index = series
series.__name = "sim.table"

local function cell(value)
    if math.type(value) == "integer" then return ("%d"):format(value) end
    if type(value) == "number" then
        local short = ("%.15g"):format(value)
        return tonumber(short) == value and short or ("%.17g"):format(value)
    end
    value = tostring(value)
    return value:find('[,"\r\n]') and '"' .. value:gsub('"', '""') .. '"' or value
end

local function line(values)
    local cells = {}
    for i = 1, #values do cells[i] = cell(values[i]) end
    return table.concat(cells, ",") .. "\n"
end

-- sim.table { "file.csv", "column [unit]", … }
function series.new(spec)
    if type(spec) ~= "table" then
        host.user_error 'sim.table takes a table, { "energy.csv", "t [time]", "total" }'
    end
    for key, value in pairs(spec) do
        if math.type(key) ~= "integer" or type(value) ~= "string" or value == "" then
            host.user_error(("sim.table takes texts: the file and its columns; got [%s] = %s")
                :format(tostring(key), tostring(value)))
        end
    end
    if #spec < 2 then host.user_error "sim.table needs a file and at least one column" end
    local self = { name = spec[1], columns = { table.unpack(spec, 2) }, offset = 0 }
    for _, other in ipairs(series.all) do
        if other.name == self.name then
            host.user_error(("sim.table: '%s' is already a table"):format(self.name))
        end
    end
    self.pending = { line(self.columns) }
    if self.name:find("/", 1, true) then self.path = self.name end
    series.all[#series.all + 1] = self
    return setmetatable(self, series)
end

local function flush(self)
    if not self.path or #self.pending == 0 then return end
    local text = table.concat(self.pending)
    host.put(self.path, self.offset, text, not series.shared)
    self.pending, self.offset = {}, self.offset + #text
end

-- table:row(value, …): one value a column.
function series:row(...)
    if getmetatable(self) ~= series then
        host.user_error "row is a method of sim.table: call it with a colon, table:row(…)"
    end
    local count = select("#", ...)
    if count ~= #self.columns then
        host.user_error(("row: %s has %d columns, got %d values"):format(self.name,
            #self.columns, count))
    end
    if series.drawing then -- not every process draws every frame
        host.user_error(("row: with --from, --to or --every the rows of %s are written in step, "
            .. "not in image"):format(self.name))
    end
    local values = { ... }
    for i = 1, count do
        local kind = type(values[i])
        if kind ~= "number" and kind ~= "string" and kind ~= "boolean" then
            host.user_error(("row: %s must be a number or a text, got %s"):format(
                self.columns[i], kind))
        end
    end
    self.pending[#self.pending + 1] = line(values)
    flush(self)
    return self
end

-- table:close(): write what waits; without sim.run, into the current folder.
function series:close()
    self.path = self.path or self.name
    flush(self)
end

series.__close = series.close
-- What waits for a run that was refused must not be written over the earlier run's file.
series.__gc = function(self)
    if not series.has_run then self:close() end
end
series.__tostring = function(self) return ("sim.table (%s)"):format(self.name) end

-- --- for sim.run ------------------------------------------------------------------------------

-- The run's folder is known; nil when it has none, and the current one serves. Do other
-- processes work in it? The table of an earlier sim.run stays in that one's folder, and begins
-- anew here.
function series.attach(out, shared)
    series.out, series.shared = out, shared
    for _, self in ipairs(series.all) do
        local path = out and not self.name:find("/", 1, true) and out .. "/" .. self.name
        if path and path ~= self.path then
            if self.path then self.pending, self.offset = { line(self.columns) }, 0 end
            self.path = path
        elseif not out then
            self.path = self.path or self.name
        end
    end
end

-- A file that stands there from elsewhere, where this one is to be shared.
local function is_foreign(self)
    local file = io.open(self.path, "rb")
    local head = file and file:read(#self.pending[1])
    if file then file:close() end
    return head ~= nil and head ~= self.pending[1]:sub(1, #head)
end

-- Begin or go on: positions as save() gave them, or nil. fresh: nothing there is ours.
function series.begin(positions, fresh)
    for _, self in ipairs(series.all) do
        if positions and positions[self.name] then
            self.pending, self.offset = {}, positions[self.name]
            if not series.shared and host.size(self.path) ~= self.offset then
                host.put(self.path, self.offset, "", true)
            end
        elseif series.shared and self.path and (fresh or is_foreign(self)) then
            os.remove(self.path)
        end
        flush(self)
    end
end

function series.save()
    local positions = {}
    for _, self in ipairs(series.all) do positions[self.name] = self.offset end
    return positions
end

-- Is every file as long as it was?
function series.there(positions)
    for _, self in ipairs(series.all) do
        local offset = positions[self.name]
        if offset and (host.size(self.path) or -1) < offset then return false, self.path end
    end
    return true
end

-- For the record: the tables in the run's folder as they are, by name.
function series.files(out)
    local files = {}
    for _, self in ipairs(series.all) do
        if self.path == out .. "/" .. self.name then
            local hash, bytes = host.hash_file(self.path)
            files[self.name] = { bytes = bytes, hash = hash }
        end
    end
    return next(files) and files or nil
end

function series.sync()
    for _, self in ipairs(series.all) do
        if self.path and self.offset > 0 then host.sync(self.path) end
    end
end

return series
