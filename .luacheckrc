-- luacheck's settings: Lua 5.4, no globals of our own (simlua makes reading one an error).
std = "lua54"
max_line_length = 100
self = false -- methods may leave self unused
