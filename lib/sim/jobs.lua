-- jobs.lua: many runs, one process each, for `simlua batch` and `simlua sweep`.
--
-- A job is { name, words, values, out }. Each is an ordinary run that goes on where it was
-- cut, so the whole goes on when the same command is given again. Jobs are spread over the
-- GPUs there are; on the CPU they share the processors.
local folder = require "sim.folder"
local host = require "sim.host"
local process = require "sim.process"
local sheet = require "sim.sheet"

local jobs = {}

local words_with_value = { ["--jobs"] = "jobs", ["--out"] = "out", ["--device"] = "device",
    ["--threads"] = "threads" }
local flags = { ["--keep-going"] = "keep_going", ["--fail-fast"] = "fail_fast",
    ["--quiet"] = "quiet", ["--list"] = "list", ["--slurm"] = "slurm", ["--paired"] = "paired" }
local passed_flags = { ["--fresh"] = true, ["--resume-anyway"] = true, ["--sync"] = true,
    ["--strict"] = true }

local function whole(word, text)
    local value = math.tointeger(tonumber(text))
    if not value or value < 1 then
        host.usage_error(("%s takes a whole number >= 1, not '%s'"):format(word, text))
    end
    return value
end

-- Sort the command line: settings of ours, what goes to each job, and the rest in order.
function jobs.parse(arguments)
    local settings, rest, i = { pass = {} }, {}, 1
    while i <= #arguments do
        local text = arguments[i]
        local word, value = text:match("^(%-%-[^=]+)=(.*)$")
        word = word or text
        if words_with_value[word] then
            if not value then
                i = i + 1
                value = arguments[i] or host.usage_error(word .. " needs a value")
            end
            settings[words_with_value[word]] = value
        elseif flags[text] then
            settings[flags[text]] = true
        elseif passed_flags[text] then
            settings.pass[#settings.pass + 1] = text
        else
            rest[#rest + 1] = text
        end
        i = i + 1
    end
    for _, name in ipairs { "jobs", "threads" } do
        if settings[name] then settings[name] = whole("--" .. name, settings[name]) end
    end
    return settings, rest
end

-- --- commands ---------------------------------------------------------------------------------

-- The command of a job, on the device of a place (0 and up) where it matters.
local function command(job, settings, place)
    local device = settings.device or "auto"
    if place and settings.gpus > 0 then
        device = ("cuda:%d"):format(place % settings.gpus)
    end
    local words = { process.program(), "--quiet", "--device", device, "--out", job.out }
    local threads = settings.threads
    if place and not threads and settings.count > 1 then
        threads = math.max(1, process.cores() // settings.count)
    end
    if threads then table.move({ "--threads", tostring(threads) }, 1, 2, #words + 1, words) end
    table.move(settings.pass, 1, #settings.pass, #words + 1, words)
    table.move(job.words, 1, #job.words, #words + 1, words)
    return words
end

local function quote(word)
    return word:match("^[%w_./:=,+-]+$") and word or "'" .. word:gsub("'", "'\\''") .. "'"
end

local function line_of(words)
    local parts = {}
    for i, word in ipairs(words) do parts[i] = quote(word) end
    return table.concat(parts, " ")
end

local slurm = [==[
#!/bin/bash
# Runs each job of a simlua sweep as one task of an array. A minute before its time is up a
# task gets SIGTERM, writes a checkpoint, and is queued again to go on.
#SBATCH --job-name=%s
#SBATCH --array=0-%d
#SBATCH --signal=B:TERM@60
#SBATCH --requeue
#SBATCH --open-mode=append

jobs=(
%s
)

cd %s || exit 3
pid=
trap '[[ $pid ]] && kill -TERM $pid' TERM
bash -c "exec ${jobs[$SLURM_ARRAY_TASK_ID]}" &
pid=$!
wait $pid
code=$?
while kill -0 $pid 2>/dev/null; do # the trap ended the first wait
    wait $pid
    code=$?
done
if [[ $code == 143 || $code == 142 ]]; then
    scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}"
fi
exit $code
]==]

local function print_slurm(list, settings, title)
    local lines = {}
    for i, job in ipairs(list) do lines[i] = "    " .. quote(line_of(command(job, settings))) end
    local pipe = io.popen("pwd")
    local here = pipe:read("l")
    pipe:close()
    io.write(slurm:format(title, #list - 1, table.concat(lines, "\n"), quote(here)))
end

-- --- running ----------------------------------------------------------------------------------

local function say(settings, text)
    if not settings.quiet then host.say("simlua: " .. text .. "\n") end
end

-- A job's name that no other one has.
function jobs.own_name(base, taken)
    local name, number = base, 1
    while taken[name] do
        number = number + 1
        name = ("%s-%d"):format(base, number)
    end
    taken[name] = true
    return name
end

local function first_line(path)
    for line in (folder.read(path) or ""):gmatch("[^\n]+") do
        if line:match("^simlua: ") then return line:sub(9) end
    end
    return ""
end

local function start(job, settings, place)
    job.place, job.log = place, ("%s/logs/%s.txt"):format(settings.out, job.name)
    job.began = job.began or host.now()
    return process.spawn(command(job, settings, place), job.log, job.log)
end

local interrupts = { [129] = true, [130] = true, [142] = true, [143] = true }

-- A job that was refused (code 2) has no part in what stands in its folder.
local function ended(job, code, settings)
    job.code, job.seconds = code, host.now() - job.began
    local record = code ~= 2 and folder.record(job.out) or nil
    job.status = interrupts[code] and "interrupted" or code ~= 0 and "failed"
        or record and record.status or "complete"
    job.frames = record and record.written and #record.written or 0
    if code == 0 then
        say(settings, ("%s: done, %.1f s"):format(job.name, job.seconds))
    else
        host.say(("simlua: %s: code %d: %s\n"):format(job.name, code, first_line(job.log)))
    end
end

-- A process that lost its GPU (code 4) is started once more; it goes on from its checkpoint.
local function again(job, code)
    if code ~= 4 or job.retried then return false end
    job.retried = true
    return true
end

local function free_place(running, count)
    for place = 0, count - 1 do
        local taken = false
        for _, job in pairs(running) do taken = taken or job.place == place end
        if not taken then return place end
    end
    return nil
end

-- Run all; returns the signal that ended it early, if one did.
local function run_all(list, settings)
    local running, next_job, stop, signal = {}, 1, false, nil
    while true do
        local place = free_place(running, settings.count)
        if place and not stop and list[next_job] then
            local job = list[next_job]
            running[start(job, settings, place)] = job
            next_job = next_job + 1
        elseif not next(running) then
            break
        else
            local pid, code = process.wait()
            local job = pid and running[pid]
            if not pid then -- an interrupt: pass it on once, and wait for the checkpoints
                signal, stop = host.hold() or signal, true
                for child in pairs(running) do process.kill(child, signal or 15) end
            elseif job then
                running[pid] = nil
                if not stop and again(job, code) then
                    running[start(job, settings, job.place)] = job
                else
                    ended(job, code, settings)
                    stop = stop or code ~= 0 and settings.fail_fast
                end
            end
        end
    end
    return signal
end

-- --- what came of it --------------------------------------------------------------------------

local function cell(value)
    value = value == nil and "" or tostring(value)
    return value:find('[,"\n]') and '"' .. value:gsub('"', '""') .. '"' or value
end

local function rows_of(list, columns)
    local head = { "job" }
    for _, name in ipairs(columns) do head[#head + 1] = name end
    table.move({ "status", "code", "frames", "folder" }, 1, 4, #head + 1, head)
    local rows = { head }
    for _, job in ipairs(list) do
        local row = { job.name }
        for _, name in ipairs(columns) do row[#row + 1] = cell(job.values[name]) end
        table.move({ job.status or "not run", cell(job.code), cell(job.frames), cell(job.out) },
            1, 4, #row + 1, row)
        rows[#rows + 1] = row
    end
    return rows
end

local function print_rows(rows)
    local widths = {}
    for _, row in ipairs(rows) do
        for i, text in ipairs(row) do widths[i] = math.max(widths[i] or 0, #text) end
    end
    for _, row in ipairs(rows) do
        local parts = {}
        for i, text in ipairs(row) do parts[i] = text .. (" "):rep(widths[i] - #text) end
        print((table.concat(parts, "  "):gsub("%s+$", "")))
    end
end

local function summarize(list, settings, columns, title)
    local rows, lines, code = rows_of(list, columns), {}, 0
    for i, row in ipairs(rows) do
        local cells = {}
        for k, text in ipairs(row) do cells[k] = k == 1 and cell(text) or text end
        lines[i] = table.concat(cells, ",") .. "\n"
    end
    host.write(settings.out .. "/summary.csv", table.concat(lines))
    host.write(settings.out .. "/index.html", sheet.page(title, list, columns, settings.out))
    if not settings.quiet then print_rows(rows) end
    for _, job in ipairs(list) do
        if code == 0 and job.code ~= 0 then code = job.code or 1 end
    end
    return code
end

-- Do what the command line asks with the jobs; ends the program. columns: names of values.
function jobs.run(list, settings, columns, title)
    if settings.list then
        for _, job in ipairs(list) do print(line_of(command(job, settings))) end
        return
    elseif settings.slurm then
        return print_slurm(list, settings, title)
    end
    local device = settings.device or "auto"
    settings.gpus = (device == "auto" or device == "cuda") and process.cuda_count() or 0
    settings.count = settings.jobs or math.max(1, settings.gpus)
    host.folder(settings.out .. "/logs")
    local lock = folder.lock(settings.out .. "/logs", false)
    local signal
    -- The second function is shielded: an interrupt is seen by process.wait alone.
    host.guarded(function() end, function() signal = run_all(list, settings) end)
    local code = summarize(list, settings, columns, title)
    process.unlock(lock)
    say(settings, ("summary: %s/summary.csv, pictures: %s/index.html"):format(settings.out,
        settings.out))
    if signal then
        say(settings, "stopped; the same command goes on")
        code = 128 + signal
    end
    os.exit(code)
end

return jobs
