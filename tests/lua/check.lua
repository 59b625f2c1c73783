-- check.lua: checks that count, for tests written as scripts. A test file returns
-- check.report() at its end; the closing line is read by the runner.
local check = { passed = 0, failed = 0, skipped = 0 }

local function tell(ok, text)
    if ok then
        check.passed = check.passed + 1
        return true
    end
    check.failed = check.failed + 1
    local info = debug.getinfo(3, "Sl")
    print(("FAIL %s:%d: %s"):format(info.short_src, info.currentline, text))
    return false
end

function check.that(ok, text)
    local passed = tell(ok and true or false, text or "not true")
    return passed -- not a tail call: tell() looks for the caller's line
end

function check.equal(have, want, text)
    local passed = tell(have == want, ("%s: have %s, want %s"):format(text or "equal",
        tostring(have), tostring(want)))
    return passed
end

-- NaN on either side fails.
function check.near(have, want, tolerance, text)
    local passed = tell(math.abs(have - want) <= tolerance,
        ("%s: have %.17g, want %.17g +- %.3g"):format(text or "near", have, want, tolerance))
    return passed
end

-- fn(...) must raise an error whose text holds every one of `phrases`.
function check.fails(phrases, fn, ...)
    local ok, err = pcall(fn, ...)
    local text = tostring(err)
    if ok then
        local passed = tell(false, "no error, but one was expected")
        return passed
    end
    for _, phrase in ipairs(type(phrases) == "table" and phrases or { phrases }) do
        if not text:find(phrase, 1, true) then
            local passed = tell(false, ("the error lacks %q: %s"):format(phrase, text))
            return passed
        end
    end
    local passed = tell(true)
    return passed
end

function check.skip(why)
    check.skipped = check.skipped + 1
    print("SKIP " .. why)
end

function check.report()
    print(("%d passed, %d failed, %d skipped"):format(check.passed, check.failed,
        check.skipped))
    if check.failed > 0 then os.exit(1, true) end
end

return check
