/* script.c - see script.h.
 *
 * What a script sees differs from the stock interpreter in four ways: reading an
 * undeclared global is an error with a suggestion; LUA_INIT, LUA_PATH and LUA_CPATH are
 * ignored and modules come from lib/ and the script's own folder; only text is loaded,
 * never bytecode; os.exit waits for the pictures under way.
 *
 * Interrupts: the signal handler sets a hook on the coroutine that runs and on the main
 * one. The hook raises at once and stays set, so that a pcall in a loop cannot swallow
 * it. */
#include "script.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <lualib.h>

static lua_State *volatile main_state;
static lua_State *volatile running_state; /* the coroutine that runs now */

/* --- interrupts ------------------------------------------------------------------------
 */

static void interrupt_hook(lua_State *L, lua_Debug *frame)
{
    (void)frame;
    sim_lua_try(L, sim_check_interrupt());
}

static volatile sig_atomic_t shielded;

void sim_script_interrupt(void)
{
    const int mask = LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT;
    if (shielded)
        return;
    if (main_state)
        lua_sethook(main_state, interrupt_hook, mask, 1);
    if (running_state)
        lua_sethook(running_state, interrupt_hook, mask, 1);
}

void sim_script_shield(lua_State *L)
{
    shielded = 1;
    lua_sethook(L, NULL, 0, 0);
}

void sim_script_unshield(void)
{
    shielded = 0;
    if (sim_interrupt_signal())
        sim_script_interrupt();
}

/* coroutine.resume, noting which coroutine runs. Upvalue: the stock function. */
static int tracked_resume(lua_State *L)
{
    lua_State *before = running_state, *co = lua_tothread(L, 1);
    int arguments = lua_gettop(L);
    if (co)
        running_state = co;
    if (co && sim_interrupt_signal()) /* made before the signal: it has no hook yet */
        sim_script_interrupt();
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, arguments, LUA_MULTRET);
    running_state = before;
    return lua_gettop(L);
}

static const char coroutine_code[] =
    "local create, resume, close = coroutine.create, coroutine.resume, coroutine.close\n"
    "local function pass(co, ok, ...)\n"
    "    if ok then return ... end\n"
    "    close(co)\n"
    "    error((...), 0)\n"
    "end\n"
    "function coroutine.wrap(f)\n"
    "    local co = create(f)\n"
    "    return function(...) return pass(co, resume(co, ...)) end\n"
    "end\n";

static void track_coroutines(lua_State *L)
{
    lua_getglobal(L, "coroutine");
    lua_getfield(L, -1, "resume");
    lua_pushcclosure(L, tracked_resume, 1);
    lua_setfield(L, -2, "resume");
    lua_pop(L, 1);
    if (luaL_loadbufferx(L, coroutine_code, sizeof coroutine_code - 1, "=simlua", "t"))
        lua_error(L);
    lua_call(L, 0, 0);
}

/* --- what a script sees ----------------------------------------------------------------
 */

/* The nearest name to `word` among the globals and the caller's locals. */
static const char *nearest_name(lua_State *L, const char *word)
{
    enum { MOST = 400 };
    const char *words[MOST];
    int count = 0;
    lua_Debug frame;
    lua_pushglobaltable(L);
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
        if (lua_type(L, -2) == LUA_TSTRING && count < MOST / 2)
            words[count++] = lua_tostring(L, -2);
    lua_pop(L, 1);
    if (lua_getstack(L, 1, &frame)) {
        const char *name;
        for (int i = 1; count < MOST && (name = lua_getlocal(L, &frame, i)); i++) {
            lua_pop(L, 1);
            words[count++] = name;
        }
    }
    return sim_nearest_word(word, words, count);
}

static int undeclared(lua_State *L)
{
    if (lua_type(L, 2) != LUA_TSTRING) {
        lua_pushnil(L);
        return 1;
    }
    const char *word = lua_tostring(L, 2), *nearest = nearest_name(L, word);
    return sim_lua_error(L, "'%s' was never set%s%s%s", word,
                         nearest ? "; did you mean '" : "", nearest ? nearest : "",
                         nearest ? "'?" : "");
}

static void make_globals_strict(lua_State *L)
{
    lua_pushglobaltable(L);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, undeclared);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
}

/* load, loadfile, dofile: text only. Each takes the place of the stock word. */
static int text_only(lua_State *L)
{
    /* upvalue 1: the stock function; upvalue 2: where its mode argument stands */
    int mode = (int)lua_tointeger(L, lua_upvalueindex(2));
    bool no_environment = lua_gettop(L) <= mode;
    int top = lua_gettop(L);
    if (no_environment)
        lua_settop(L, mode);
    lua_pushliteral(L, "t");
    lua_replace(L, mode);
    if (no_environment)
        top = mode;
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, top, LUA_MULTRET);
    return lua_gettop(L);
}

static int dofile_text(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    lua_settop(L, 1);
    if (luaL_loadfilex(L, path, "t") != LUA_OK)
        return lua_error(L);
    lua_call(L, 0, LUA_MULTRET);
    return lua_gettop(L) - 1;
}

static void load_text_only(lua_State *L)
{
    const struct {
        const char *name;
        int mode;
    } words[] = {{"load", 3}, {"loadfile", 2}};
    for (int i = 0; i < 2; i++) {
        lua_getglobal(L, words[i].name);
        lua_pushinteger(L, words[i].mode);
        lua_pushcclosure(L, text_only, 2);
        lua_setglobal(L, words[i].name);
    }
    lua_pushcfunction(L, dofile_text);
    lua_setglobal(L, "dofile");
}

/* How long pictures under way may still take, in seconds, when the script has ended
 * early. After an interrupt somebody waits for the end. */
#define PATIENCE_INTERRUPTED 0.15
#define PATIENCE_FAILED      3.0

/* Wait for the pictures under way and for the device: work that nobody asked about may
 * have failed. */
static enum sim_status finish(struct sim_host *host)
{
    if (host->frames)
        SIM_TRY(sim_frames_finish(host->frames));
    return host->device ? sim_device_finish(host->device) : SIM_OK;
}

/* Everything that must still happen when the script has ended; the exit code. */
static int wind_up(struct sim_host *host, int code)
{
    char text[1200];
    enum sim_status status = SIM_OK;
    if (code == SIM_EXIT_DONE && !host->help_shown)
        status = finish(host);
    if (status != SIM_OK) {
        snprintf(text, sizeof text, "simlua: %s\n", sim_error_text());
        host->say(text);
        code = sim_status_exit_code(status);
    }
    sim_frames_close(host->frames,
                     sim_interrupt_signal() ? PATIENCE_INTERRUPTED : PATIENCE_FAILED);
    host->frames = NULL;
    bool was_bad = ferror(stdout) != 0;
    errno = 0;
    if ((fflush(stdout) != 0 || was_bad) && code == SIM_EXIT_DONE) {
        snprintf(text, sizeof text, "simlua: cannot write to standard output%s%s\n",
                 errno ? ": " : "", errno ? strerror(errno) : "");
        host->say(text);
        code = SIM_EXIT_FILE;
    }
    return code;
}

/* os.exit(code = true): as the stock word, but pictures under way are finished first. */
static int exit_script(lua_State *L)
{
    struct sim_host *host = sim_lua_host(L);
    int code = SIM_EXIT_SCRIPT;
    if (lua_isnoneornil(L, 1) || (lua_isboolean(L, 1) && lua_toboolean(L, 1)))
        code = SIM_EXIT_DONE;
    else if (!lua_isboolean(L, 1))
        code = (int)sim_lua_integer(L, 1, "os.exit: the code", 0, 255);
    if (code == SIM_EXIT_DONE && host->problem_count)
        code = SIM_EXIT_SCRIPT;
    if (code == SIM_EXIT_DONE && sim_interrupt_signal())
        code = sim_status_exit_code(SIM_INTERRUPTED);
    code = wind_up(host, code);
    fflush(stderr);
    _Exit(code);
}

static void set_exit(lua_State *L)
{
    lua_getglobal(L, "os");
    lua_pushcfunction(L, exit_script);
    lua_setfield(L, -2, "exit");
    lua_pop(L, 1);
}

/* lib/ first, so that a script called sim.lua cannot stand before the module. */
static void set_module_path(lua_State *L, const struct sim_host *host)
{
    const char *slash = host->script_path ? strrchr(host->script_path, '/') : NULL;
    lua_getglobal(L, "package");
    if (slash)
        lua_pushlstring(L, host->script_path, (size_t)(slash - host->script_path));
    else
        lua_pushliteral(L, ".");
    const char *folder = lua_tostring(L, -1);
    lua_pushfstring(L, "%s/?.lua;%s/?/init.lua;%s/?.lua;%s/?/init.lua", host->library,
                    host->library, folder, folder);
    lua_setfield(L, -3, "path");
    lua_pushliteral(L, "");
    lua_setfield(L, -3, "cpath");
    lua_pop(L, 2);
}

static void preload(lua_State *L, const char *name, lua_CFunction open)
{
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_pushcfunction(L, open);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
}

static void set_arguments(lua_State *L, const struct sim_host *host, const char *program)
{
    lua_createtable(L, host->argument_count, 2);
    lua_pushstring(L, program);
    lua_rawseti(L, -2, -1);
    lua_pushstring(L, host->script);
    lua_rawseti(L, -2, 0);
    for (int i = 0; i < host->argument_count; i++) {
        lua_pushstring(L, host->arguments[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setglobal(L, "arg");
}

/* --- the run
 * ---------------------------------------------------------------------------- */

struct run {
    struct sim_host *host;
    const char *program;
};

static void load_script(lua_State *L, const struct run *run)
{
    const struct sim_host *host = run->host;
    struct stat info;
    int status;
    if (host->chunk) { /* one of ours, as `simlua sweep` runs, has no line to be blamed */
        lua_pushfstring(L, host->device ? "=-e" : "@%s/command", host->library);
        status = luaL_loadbufferx(L, host->chunk, strlen(host->chunk),
                                  lua_tostring(L, -1), "t");
        lua_remove(L, -2);
    } else if (!strcmp(host->script, "-"))
        status = luaL_loadfilex(L, NULL, "t");
    else if (stat(host->script_path, &info) == 0 && S_ISDIR(info.st_mode)) {
        sim_fail(SIM_FILE, "'%s' is a folder, not a script", host->script);
        sim_lua_fail(L, SIM_FILE, sim_error_text());
        return;
    } else
        status = luaL_loadfilex(L, host->script_path, "t");
    if (status == LUA_ERRFILE)
        sim_lua_fail(L, SIM_FILE, lua_tostring(L, -1));
    if (status != LUA_OK)
        sim_lua_fail(L, SIM_BAD_ARGUMENT, lua_tostring(L, -1));
}

/* Everything that can raise, in one protected call. */
static int protected_run(lua_State *L)
{
    const struct run *run = lua_touserdata(L, 1);
    struct sim_host *host = run->host;
    sim_lua_open_errors(L);
    lua_pushboolean(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
    luaL_openlibs(L);
    track_coroutines(L);
    load_text_only(L);
    set_exit(L);
    sim_lua_set_random(L);
    set_module_path(L, host);
    preload(L, "sim.core", sim_lua_open);
    preload(L, "sim.host", sim_lua_open_host);
    preload(L, "sim.checkpoint", sim_lua_open_checkpoint);
    preload(L, "sim.process", sim_lua_open_process);
    set_arguments(L, host, run->program);
    make_globals_strict(L);
    lua_settop(L, 0);
    load_script(L, run);
    luaL_checkstack(L, host->argument_count, "too many arguments");
    for (int i = 0; i < host->argument_count; i++)
        lua_pushstring(L, host->arguments[i]);
    lua_call(L, host->argument_count, 0);
    sim_lua_try(L, sim_check_interrupt());
    return 0;
}

static int report(lua_State *L, struct sim_host *host)
{
    char text[4096];
    enum sim_status status = sim_lua_status(L, -1);
    if (host->help_shown)
        return SIM_EXIT_DONE;
    if (sim_interrupt_signal())
        status = SIM_INTERRUPTED;
    if (status == SIM_OK) { /* not even explained: out of memory */
        host->say("simlua: out of memory while running the script\n");
        lua_setwarnf(L, NULL, NULL); /* finalizers without memory have nothing to add */
        return SIM_EXIT_DEVICE;
    }
    lua_getfield(L, -1, "message");
    lua_getfield(L, -2, "traceback");
    const char *message = lua_tostring(L, -2), *traceback = lua_tostring(L, -1);
    snprintf(text, sizeof text, "simlua: %s\n%s%s", message ? message : "failed",
             traceback ? traceback : "", traceback ? "\n" : "");
    host->say(text);
    return sim_status_exit_code(status);
}

static void warn_of_unread(struct sim_host *host)
{
    char text[300];
    for (int i = 0; i < host->raw_from && !host->options_read; i++) {
        if (!strncmp(host->arguments[i], "--", 2)) {
            snprintf(text, sizeof text,
                     "simlua: the script did not look at the option %s\n",
                     host->arguments[i]);
            host->say(text);
            return;
        }
    }
}

/* lua_close runs finalizers: an interrupt must not raise in them again. */
static void close_state(lua_State *L)
{
    main_state = running_state = NULL;
    lua_sethook(L, NULL, 0, 0);
    lua_close(L);
}

/* A warning of Lua's (an error in a __gc, warn()) is a message like any other. */
static void warning(void *context, const char *text, int more)
{
    struct sim_host *host = context;
    static bool continued;
    if (!continued && !more && *text == '@') /* a control message */
        return;
    if (!continued)
        host->say("simlua: warning: ");
    host->say(text);
    if (!more)
        host->say("\n");
    continued = more != 0;
}

int sim_script_run(struct sim_host *host, const char *program)
{
    struct run run = {host, program};
    lua_State *L = luaL_newstate();
    if (!L) {
        host->say("simlua: out of memory\n");
        return SIM_EXIT_DEVICE;
    }
    *(struct sim_host **)lua_getextraspace(L) = host;
    lua_setwarnf(L, warning, host);
    main_state = running_state = L;
    lua_pushcfunction(L, sim_lua_explain);
    lua_pushcfunction(L, protected_run);
    lua_pushlightuserdata(L, &run);
    int code = SIM_EXIT_DONE;
    if (lua_pcall(L, 1, 0, 1) != LUA_OK)
        code = report(L, host);
    else
        warn_of_unread(host);
    if (code == SIM_EXIT_DONE && host->problem_count)
        code = SIM_EXIT_SCRIPT;
    if (code == SIM_EXIT_DONE && sim_interrupt_signal() && !host->help_shown)
        code = sim_status_exit_code(SIM_INTERRUPTED);
    code = wind_up(host, code);
    close_state(L);
    return code;
}
