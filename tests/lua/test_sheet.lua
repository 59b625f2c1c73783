-- test_sheet.lua: the contact sheet of a sweep in a browser, where there is one: opened from
-- disk, every picture is there, the slider shows a frame, and the player plays.
local check = require "check"
local command = require "command"
local run_folder = require "run_folder"

local quote = command.quote
local home = command.folder()
command.write(home .. "/scene.lua", run_folder.scene)
check.equal((command.run("sweep scene.lua --bodies 20,30 --seed 1:2 --frames 5 --device cpu "
    .. "--quiet --out 'a sweep'", { folder = home, device = "" })), 0, "a sweep")
local page = command.read(home .. "/a sweep/index.html")
check.that(page, "a page")

-- Put behind the page: uses it, and leaves what it saw in an element of its own. A picture
-- that could not be loaded has no width.
local user = [[
<script>
window.addEventListener("load", function () {
  var seen = [], shown = new Set(), player = document.querySelector(".player");
  var picture = player.querySelector("img"), label = player.querySelector("span");
  var slider = player.querySelector("input"), button = player.querySelector("button");
  document.querySelectorAll("figure img").forEach(function (image) { image.loading = "eager"; });
  function visible(image) { return image.getClientRects().length > 0; }
  seen.push("hidden " + !visible(picture));
  slider.value = 3;
  slider.oninput();
  function end() {
    var wrong = 0, count = 0;
    document.querySelectorAll("img").forEach(function (image) {
      if (!visible(image)) return;
      count += 1;
      if (image.naturalWidth !== 48 || image.naturalHeight !== 27) wrong += 1;
    });
    seen.push("pictures " + count, "wrong " + wrong, "frames " + shown.size,
      "stopped " + (button.textContent === "play"));
    var note = document.createElement("pre");
    note.id = "seen";
    note.textContent = seen.join(", ");
    document.body.append(note);
  }
  picture.onload = function () {
    picture.onload = function () {
      shown.add(label.textContent);
      if (shown.size === 5) { button.click(); end(); }
    };
    seen.push("slider " + label.textContent + " " + visible(picture));
    button.click();
  };
});
</script>
]]

local browser
for _, name in ipairs { "chromium", "chromium-browser", "google-chrome" } do
    if command.shell("command -v " .. name) == 0 then browser = browser or name end
end
if browser then
    command.write(home .. "/a sweep/used.html", page .. user)
    local code, out, err = command.shell(("cd %s && timeout 120 %s --headless --no-sandbox "
        .. "--disable-gpu --virtual-time-budget=20000 --user-data-dir=profile --dump-dom "
        .. "'file://%s/a%%20sweep/used.html'"):format(quote(home), browser, home))
    local seen = out:match '<pre id="seen">([^<]*)</pre>'
    if code ~= 0 and out == "" then
        check.skip(browser .. " does not start here: the sheet was not looked at")
    else
        check.equal(seen, "hidden true, slider frame_000003.png true, pictures 13, wrong 0, "
            .. "frames 5, stopped true", err)
    end
else
    check.skip "no browser: the contact sheet was not looked at"
end

command.clean()
return check.report()
