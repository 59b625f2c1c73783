-- sheet.lua: the contact sheet of a batch or sweep: one HTML file that opens from disk and
-- loads nothing from the network. For each job its values, its first, middle and last frame,
-- and a player of all frames. The pictures are the jobs' own files beside it.
local folder = require "sim.folder"

local sheet = {}

local function escape(text)
    return (tostring(text):gsub('[&<>"]', { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;",
        ['"'] = "&quot;" }))
end

-- A relative address: every byte that is not plain is written as %XX.
local function address(text)
    return (text:gsub("[^%w/._~-]", function(c) return ("%%%02X"):format(c:byte()) end))
end

local head = [[
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>%s</title>
<style>
body { font: 14px sans-serif; margin: 1.5em; background: #16181d; color: #ddd; }
h1 { font-size: 1.3em; }
article { margin: 0 0 1.5em; padding: 0.8em; background: #20232a; border-radius: 6px; }
h2 { font-size: 1em; margin: 0 0 0.5em; }
h2 small { font-weight: normal; color: #9aa; margin-left: 1em; }
.bad h2 { color: #f88; }
figure { display: inline-block; margin: 0 0.5em 0 0; width: 31%%; vertical-align: top; }
figure img { width: 100%%; display: block; }
figcaption { color: #9aa; font-size: 0.85em; }
.player { margin-top: 0.6em; }
.player img { max-width: 100%%; display: block; margin-top: 0.5em; }
.player img[hidden] { display: none; }
.player input { width: 60%%; vertical-align: middle; }
</style></head><body>
<h1>%s</h1>
]]

local script = [[
<script>
"use strict";
document.querySelectorAll(".player").forEach(function (player) {
  var files = JSON.parse(player.dataset.frames), fps = Number(player.dataset.fps), timer = null;
  var button = player.querySelector("button"), slider = player.querySelector("input");
  var label = player.querySelector("span"), picture = player.querySelector("img");
  function show(k) {
    slider.value = k;
    picture.hidden = false;
    picture.src = player.dataset.folder + "/" + files[k];
    label.textContent = files[k];
  }
  function stop() { clearInterval(timer); timer = null; button.textContent = "play"; }
  button.onclick = function () {
    if (timer) { stop(); return; }
    button.textContent = "stop";
    timer = setInterval(function () { show((Number(slider.value) + 1) %% files.length); },
      1000 / fps);
  };
  slider.oninput = function () { show(Number(slider.value)); };
});
</script>
</body></html>
]]

local function figures(path, files)
    local parts, picked = {}, {}
    for _, k in ipairs { 1, (#files + 1) // 2, #files } do
        if files[k] and not picked[k] then
            picked[k] = true
            parts[#parts + 1] = ('<figure><img src="%s/%s" alt="%s" loading="lazy"><figcaption>%s'
                .. "</figcaption></figure>\n"):format(path, address(files[k]), escape(files[k]),
                escape(files[k]))
        end
    end
    return table.concat(parts)
end

local function player(path, files, fps)
    local quoted = {}
    for i, name in ipairs(files) do quoted[i] = '"' .. address(name) .. '"' end
    return ('<div class="player" data-folder="%s" data-fps="%s" data-frames="%s">'
        .. '<button>play</button> <input type="range" min="0" max="%d" value="0"> <span></span>'
        .. '<img hidden alt="the frame shown"></div>\n'):format(path, tostring(fps),
        escape("[" .. table.concat(quoted, ",") .. "]"), #files - 1)
end

local function article(job, columns, out)
    local values, files = {}, {}
    for _, name in ipairs(columns) do
        values[#values + 1] = ("%s = %s"):format(name, tostring(job.values[name]))
    end
    local record = job.code ~= 2 and folder.record(job.out) or {} -- 2: it is another run's
    for i, entry in ipairs(record.written or {}) do files[i] = entry.file end
    local path = address(job.out:sub(#out + 2))
    return ('<article%s><h2>%s<small>%s %s</small></h2>\n%s%s</article>\n'):format(
        job.code == 0 and "" or ' class="bad"', escape(job.name),
        escape(table.concat(values, ", ")), escape(job.code == 0 and "" or
            (job.status or "not run") .. (job.code and ", code " .. job.code or "")),
        figures(path, files), #files > 1 and player(path, files, record.fps or 30) or "")
end

-- The page for jobs whose folders are in `out`.
function sheet.page(title, list, columns, out)
    local parts = { head:format(escape(title), escape(title)) }
    for _, job in ipairs(list) do parts[#parts + 1] = article(job, columns, out) end
    parts[#parts + 1] = script:format()
    return table.concat(parts)
end

return sheet
