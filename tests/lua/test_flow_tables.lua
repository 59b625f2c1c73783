-- test_flow_tables.lua: scripts/labs/flow_tables.lua on coarse grids: every case gives its lines,
-- in the file and on the screen, and a flow that is too far off is called so.
local check = require "check"
local command = require "command"

local home = command.folder()

-- Lines of the file, by the columns' names; exit code, screen and complaints.
local function run(arguments)
    local code, out, err = command.run("--quiet --threads 1 labs/flow_tables.lua --small "
        .. arguments, { folder = home })
    local columns, rows = nil, {}
    for line in (command.read(home .. "/flow_tables.tsv") or ""):gmatch "[^\n]+" do
        local cells = {}
        for cell in (line .. "\t"):gmatch "([^\t]*)\t" do cells[#cells + 1] = cell end
        if columns then
            local named = {}
            for k, word in ipairs(columns) do named[word] = cells[k] end
            rows[#rows + 1] = named
        end
        columns = columns or cells
    end
    os.remove(home .. "/flow_tables.tsv")
    return rows, code, out, err
end

local function check_rows(rows, count, case)
    check.equal(#rows, count, case)
    for _, r in ipairs(rows) do
        check.near(tonumber(r.difference), tonumber(r.ours) - tonumber(r.reference), 2e-5,
            r.case .. ", " .. r.what)
        check.that(r.met == "yes" or r.wanted == "shown" and r.met == "", r.what .. ": " .. r.met)
    end
end

for _, c in ipairs { { "vortices", 3 }, { "cylinder", 3 }, { "strouhal", 1 } } do
    local rows, code, _, err = run("--case " .. c[1])
    check.equal(code, 0, c[1] .. ": " .. err)
    check_rows(rows, c[2], c[1])
end

-- Every inner station of both tables is in the file, one line of each on the screen.
do
    local rows, code, out, err = run "--case cavity"
    check.equal(code, 0, err)
    check_rows(rows, 60, "cavity")
    local shown = select(2, out:gsub("\ncavity Re 100 ", ""))
    check.equal(shown, 2, out)
    check.that(out:find("2 met, 0 not", 1, true), out)
end

-- A misprint of the paper is named and left out: v at x = 0.9063 for Re 400.
do
    local rows, _, out = run "--case cavity --re 400 --n 32 --time 2"
    check.equal(#rows, 59, "stations")
    check.that(out:find("left out, misprinted: Ghia, for Re 400, v at x = 0.90625", 1, true), out)
    check.that(out:find("not steady", 1, true), out)
end

-- Donor cells alone are too far off on this grid, and a disc of steps has another drag.
do
    local rows, code, out, err = run "--case cavity --chi 1"
    check.equal(code, 1, "not met")
    check.that(err:find("2 of 2 are not met", 1, true), err)
    check.that(out:find("  NO\n", 1, true), out)
    local some = 0
    for _, r in ipairs(rows) do some = some + (r.met == "NO" and 1 or 0) end
    check.that(some > 0 and some < #rows, ("%d of %d"):format(some, #rows))
end

-- Impossible choices say so.
for _, wrong in ipairs {
    { "--re 300 --case cavity", "100, 400 and 1000" },
    { "--case cavity --reference nowhere", "'nowhere/ghia1982_u.csv' is not there" },
    { "--case cylinder --n 11", "a multiple of 10" },
    { "--case sphere", "case" },
} do
    local _, code, _, err = run(wrong[1])
    check.that(code ~= 0, wrong[1])
    check.that(err:find(wrong[2], 1, true), err)
end

command.clean()
return check.report()
