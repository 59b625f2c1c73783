-- progress.lua: how far a run is. On a terminal one line that renews itself, elsewhere a
-- line for each tenth; all of it on standard error, nothing with --quiet.
local host = require "sim.host"

local progress = {}
progress.__index = progress

local function duration(seconds)
    local s = math.floor(seconds + 0.5)
    return ("%d:%02d:%02d"):format(s // 3600, s // 60 % 60, s % 60)
end

-- `done`: frames that were there before.
function progress.start(total, quiet, done)
    local terminal, plain = host.terminal()
    return setmetatable({ total = total, quiet = quiet, terminal = terminal,
        plain = plain, began = host.now(), shown = -math.huge,
        before = done or 0, tenth = (done or 0) * 10 // total }, progress)
end

local function line(self, done, now)
    local elapsed = now - self.began
    -- The first frame is the scene as built: it says nothing of the pace of the others.
    local made = done - math.max(self.before, 1)
    local pace = made > 0 and elapsed > 0 and made / elapsed or 0
    local left = pace > 0 and duration((self.total - done) / pace) or "-"
    return ("frame %d of %d  %.1f frames/s  %s left"):format(done, self.total, pace, left)
end

function progress:update(done)
    if self.quiet then return end
    local now = host.now()
    if self.terminal then
        if now - self.shown < 0.1 and done < self.total then return end
        self.shown = now
        local text = line(self, done, now)
        host.say("\r\27[K" .. (self.plain and text or "\27[2m" .. text .. "\27[0m"))
    elseif done * 10 // self.total > self.tenth then
        self.tenth = done * 10 // self.total
        host.say(line(self, done, now) .. "\n")
    end
end

function progress:finish()
    if self.terminal and not self.quiet then host.say("\r\27[K") end
end

function progress:seconds()
    return host.now() - self.began
end

return progress
