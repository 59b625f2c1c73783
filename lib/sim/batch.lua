-- batch.lua: `simlua batch A.lua B.lua … [--jobs N] [--out DIR] [--keep-going | --fail-fast]`
-- runs scripts, one process each; other options go to all of them.
local host = require "sim.host"
local jobs = require "sim.jobs"

local usage = [[
usage: simlua batch A.lua B.lua … [options] [options of the scripts]

  --jobs N       processes at a time (default: one a GPU, else one)
  --out DIR      where their folders go (default out)
  --keep-going   go on after a failure (default); --fail-fast: do not
  --list         print the commands, one a line; --slurm: as an array job
  --device D, --threads N, --fresh, --resume-anyway, --quiet   as for one script
]]

return function(...)
    local arguments = { ... }
    if #arguments == 0 or arguments[1] == "--help" then host.end_help(usage) end
    local settings, rest = jobs.parse(arguments)
    local list, scripts, taken = {}, {}, {}
    local more = {}
    for _, text in ipairs(rest) do
        local into = text:match("%.lua$") and text:sub(1, 1) ~= "-" and scripts or more
        into[#into + 1] = text
    end
    if #scripts == 0 then host.usage_error "batch: which scripts?" end
    settings.out = settings.out or "out"
    for _, script in ipairs(scripts) do
        local name = jobs.own_name(script:match("([^/]+)%.lua$") or "script", taken)
        local words = { script }
        table.move(more, 1, #more, 2, words)
        list[#list + 1] = { name = name, words = words, values = {}, out = settings.out .. "/"
            .. name }
    end
    jobs.run(list, settings, {}, "batch")
end
