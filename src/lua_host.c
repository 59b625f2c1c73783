/* lua_host.c - the module "sim.host": the few things that lib/sim/ needs of C and that
 * scripts do not see: the command line's values, the clock, folders, files, messages. */
#include "script.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct sim_frames *sim_lua_frames(lua_State *L)
{
    struct sim_host *host = sim_lua_host(L);
    if (!host->frames)
        sim_lua_try(L, sim_frames_open(host->device, 0, 0, &host->frames));
    return host->frames;
}

/* --- sim.run's declaration -------------------------------------------------------------
 */

struct run_desc {
    int64_t frames;
    double fps;
    const char *out, *film;
    struct checkpoint_desc {
        int64_t frames;
        double seconds;
    } checkpoint;
    bool has_checkpoint;
};

#define AT(member) offsetof(struct run_desc, member)

static const struct lua_param checkpoint_params[] = {
    {.name = "frames",
     .kind = LUA_PARAM_INTEGER,
     .min = 0,
     .max = 1e9,
     .offset = offsetof(struct checkpoint_desc, frames),
     .help = "a checkpoint after so many frames; 0: not by frames"},
    {.name = "seconds",
     .kind = LUA_PARAM_NUMBER,
     .unit = "s",
     .min = 0,
     .max = 1e9,
     .offset = offsetof(struct checkpoint_desc, seconds),
     .help = "a checkpoint when so much time has passed; 0: not by time"},
};

const struct lua_param_set sim_run_checkpoint_set = {
    .name = "sim.run.checkpoint",
    .summary =
        "how often a run saves its state; when both are 0, after 30 s or more, so that "
        "it costs less than 3 %",
    .example = "checkpoint = { frames = 10 }",
    .params = checkpoint_params,
    .count = sizeof checkpoint_params / sizeof *checkpoint_params,
};

static const struct lua_param run_params[] = {
    {.name = "frames",
     .kind = LUA_PARAM_INTEGER,
     .number = 100,
     .min = 1,
     .max = 1e9,
     .offset = AT(frames),
     .help = "how many pictures; --frames on the command line wins"},
    {.name = "before",
     .kind = LUA_PARAM_FUNCTION,
     .help =
         "function(), called once before frame 0, for what takes long and need not be "
         "done again: a run that goes on has it in its checkpoint"},
    {.name = "step",
     .kind = LUA_PARAM_FUNCTION,
     .required = true,
     .help = "function(frame): advances the scene from one picture to the next"},
    {.name = "image",
     .kind = LUA_PARAM_FUNCTION,
     .offset = 0,
     .help = "function(frame) that returns the picture; none are written without it"},
    {.name = "stop_when",
     .kind = LUA_PARAM_FUNCTION,
     .help = "function(frame), asked after each step: true ends the run with this frame; "
             "it must only look, since a run that goes on asks again"},
    {.name = "out",
     .kind = LUA_PARAM_STRING,
     .offset = AT(out),
     .help =
         "the folder of the frames; --out wins; out/<name of the script> when absent"},
    {.name = "fps",
     .kind = LUA_PARAM_NUMBER,
     .number = 30,
     .min_open = true,
     .max = 1000,
     .offset = AT(fps),
     .unit = "frames/s",
     .help = "for the film of the frames"},
    {.name = "checkpoint",
     .kind = LUA_PARAM_TABLE,
     .set = &sim_run_checkpoint_set,
     .offset = AT(checkpoint),
     .present = AT(has_checkpoint),
     .help = "how often the state is saved; by itself about every 30 s"},
    {.name = "film",
     .kind = LUA_PARAM_STRING,
     .offset = AT(film),
     .help = "a film's file, such as galaxy.mp4, made at the end by ffmpeg"},
};

const struct lua_param_set sim_run_set = {
    .name = "sim.run",
    .summary =
        "the loop of a run: frame 0 is the scene as built, then step and image by turns",
    .example =
        "sim.run { frames = 240, step = function() stars:step(8) end, image = …  }",
    .params = run_params,
    .count = sizeof run_params / sizeof *run_params,
};

/* check_run(table) -> table with every default filled in; raises at the user's line. */
static int check_run(lua_State *L)
{
    struct run_desc desc = {0};
    sim_lua_enter(L);
    sim_lua_read(L, 1, &sim_run_set, &desc);
    lua_settop(L, 1);
    lua_createtable(L, 0, 11);
    lua_pushinteger(L, desc.frames);
    lua_setfield(L, 2, "frames");
    lua_pushnumber(L, desc.fps);
    lua_setfield(L, 2, "fps");
    lua_pushstring(L, desc.out);
    lua_setfield(L, 2, "out");
    lua_pushstring(L, desc.film);
    lua_setfield(L, 2, "film");
    lua_pushboolean(L, desc.has_checkpoint);
    lua_setfield(L, 2, "keep");
    lua_pushinteger(L, desc.checkpoint.frames);
    lua_setfield(L, 2, "keep_frames");
    lua_pushnumber(L, desc.checkpoint.seconds);
    lua_setfield(L, 2, "keep_seconds");
    lua_getfield(L, 1, "before");
    lua_setfield(L, 2, "before");
    lua_getfield(L, 1, "step");
    lua_setfield(L, 2, "step");
    lua_getfield(L, 1, "image");
    lua_setfield(L, 2, "image");
    lua_getfield(L, 1, "stop_when");
    lua_setfield(L, 2, "stop_when");
    return 1;
}

/* --- the command line ------------------------------------------------------------------
 */

static void set_string(lua_State *L, const char *name, const char *value)
{
    lua_pushstring(L, value);
    lua_setfield(L, -2, name);
}

/* settings() -> what the command line and the machine say. */
static int settings(lua_State *L)
{
    const struct sim_host *host = sim_lua_host(L);
    lua_newtable(L);
    set_string(L, "version", SIM_VERSION);
    set_string(L, "flags", SIM_FLAGS);
    set_string(L, "script", host->script);
    set_string(L, "script_path", host->script_path);
    set_string(L, "out", host->out);
    set_string(L, "device", host->device_spec);
    const struct {
        const char *name;
        int64_t value;
    } counts[] = {{"frames", host->frame_count},
                  {"seed", host->seed},
                  {"from", host->from},
                  {"to", host->to},
                  {"every", host->every}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (counts[i].value >= 0) {
            lua_pushinteger(L, counts[i].value);
            lua_setfield(L, -2, counts[i].name);
        }
    }
    const struct {
        const char *name;
        bool value;
    } flags[] = {{"quiet", host->quiet},  {"help", host->help},
                 {"fresh", host->fresh},  {"resume_anyway", host->resume_anyway},
                 {"check", host->check},  {"declare", host->declare},
                 {"strict", host->strict}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        lua_pushboolean(L, flags[i].value);
        lua_setfield(L, -2, flags[i].name);
    }
    set_string(L, "chunk", host->chunk);
    lua_createtable(L, host->argument_count, 0);
    for (int i = 0; i < host->argument_count; i++) {
        lua_pushstring(L, host->arguments[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "raw");
    return 1;
}

/* arguments() -> the script's own arguments, and how many of them stand before "--". From
 * now on they count as looked at. */
static int arguments(lua_State *L)
{
    struct sim_host *host = sim_lua_host(L);
    host->options_read = true;
    lua_createtable(L, host->argument_count, 0);
    for (int i = 0; i < host->argument_count; i++) {
        lua_pushstring(L, host->arguments[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_pushinteger(L, host->raw_from);
    return 2;
}

/* unread() -> the first option that nobody asked for, or nil. */
static int unread(lua_State *L)
{
    const struct sim_host *host = sim_lua_host(L);
    for (int i = 0; i < host->raw_from && !host->options_read; i++) {
        if (!strncmp(host->arguments[i], "--", 2)) {
            lua_pushstring(L, host->arguments[i]);
            return 1;
        }
    }
    return 0;
}

static int usage_error(lua_State *L)
{
    return sim_lua_fail(L, SIM_USAGE, luaL_checkstring(L, 1));
}

static int file_error(lua_State *L)
{
    return sim_lua_fail(L, SIM_FILE, luaL_checkstring(L, 1));
}

static int user_error(lua_State *L)
{
    return sim_lua_error(L, "%s", luaL_checkstring(L, 1));
}

/* end_help(text): print the script's own help, and end the program well. */
static int end_help(lua_State *L)
{
    return sim_lua_end_help(L, luaL_checkstring(L, 1));
}

/* idle(boolean): from now on, methods that take steps take none. */
static int set_idle(lua_State *L)
{
    sim_lua_host(L)->idle = lua_toboolean(L, 1);
    return 0;
}

/* nearest(word, list) -> the word of the list that was probably meant, or nil */
static int nearest(lua_State *L)
{
    enum { MOST = 200 };
    const char *words[MOST], *word = luaL_checkstring(L, 1);
    int count = 0;
    luaL_checktype(L, 2, LUA_TTABLE);
    while (count < MOST && lua_rawgeti(L, 2, count + 1) == LUA_TSTRING) {
        words[count++] = lua_tostring(L, -1); /* alive: the list holds it */
        lua_pop(L, 1);
    }
    lua_pushstring(L, sim_nearest_word(word, words, count));
    return 1;
}

/* --- people, clock ---------------------------------------------------------------------
 */

static int say(lua_State *L)
{
    sim_lua_host(L)->say(luaL_checkstring(L, 1));
    return 0;
}

static int terminal(lua_State *L)
{
    lua_pushboolean(L, isatty(STDERR_FILENO));
    lua_pushboolean(L, getenv("NO_COLOR") != NULL && *getenv("NO_COLOR"));
    return 2;
}

static int now(lua_State *L)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    lua_pushnumber(L, (double)t.tv_sec + 1e-9 * (double)t.tv_nsec);
    return 1;
}

static int interrupted(lua_State *L)
{
    int signal_number = sim_interrupt_signal();
    if (!signal_number)
        return 0;
    lua_pushinteger(L, signal_number);
    return 1;
}

/* guarded(body, settle, …): calls body(…), then, however that ended and shielded from
 * interrupts, settle(ok, error, …); then raises body's error, or settle's. */
static int guarded(lua_State *L)
{
    const int extra = lua_gettop(L) - 2;
    lua_pushcfunction(L, sim_lua_explain);
    lua_pushvalue(L, 1);
    for (int i = 0; i < extra; i++)
        lua_pushvalue(L, 3 + i);
    bool ok = lua_pcall(L, extra, 0, extra + 3) == LUA_OK;
    if (ok)
        lua_pushnil(L);
    sim_script_shield(L);
    const int error = lua_gettop(L);
    lua_pushvalue(L, 2);
    lua_pushboolean(L, ok);
    lua_pushvalue(L, error);
    for (int i = 0; i < extra; i++)
        lua_pushvalue(L, 3 + i);
    bool settled = lua_pcall(L, extra + 2, 0, extra + 3) == LUA_OK;
    sim_script_unshield();
    if (!ok)
        lua_settop(L, error);
    return ok && settled ? 0 : lua_error(L);
}

/* hold() -> the signal, or nil: until release(signal) nothing is interrupted by it, so
 * that a checkpoint can be written. */
static int hold(lua_State *L)
{
    int count = interrupted(L);
    sim_interrupt_set(0);
    return count;
}

static int release(lua_State *L)
{
    int number = (int)luaL_optinteger(L, 1, 0);
    if (number) /* else one that came in between stays */
        sim_interrupt_set(number);
    return 0;
}

/* status_of(error) -> "script" | "failed" | …, for the run's record */
static int status_of(lua_State *L)
{
    enum sim_status status = sim_lua_status(L, 1);
    if (sim_interrupt_signal())
        status = SIM_INTERRUPTED;
    lua_pushinteger(L,
                    sim_status_exit_code(status == SIM_OK ? SIM_BAD_ARGUMENT : status));
    lua_pushboolean(L, status == SIM_INTERRUPTED);
    return 2;
}

/* --- files
 * ------------------------------------------------------------------------------ */

static enum sim_status make_folder(const char *path)
{
    struct stat info;
    if (mkdir(path, 0777) == 0)
        return SIM_OK;
    int error = errno;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return SIM_OK;
    return sim_fail(SIM_FILE, "cannot make the folder '%s': %s", path, strerror(error));
}

/* folder(path): make it, and those above it that are missing. */
static int folder(lua_State *L)
{
    size_t length;
    const char *path = luaL_checklstring(L, 1, &length);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        lua_pushlstring(L, path, i);
        sim_lua_try(L, make_folder(lua_tostring(L, -1)));
        lua_pop(L, 1);
    }
    return 0;
}

static int close_folder(lua_State *L)
{
    DIR **handle = lua_touserdata(L, 1);
    if (*handle)
        closedir(*handle);
    *handle = NULL;
    return 0;
}

/* list(folder) -> names in it, unordered; none when it cannot be read. */
static int list(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    DIR **handle = sim_lua_guard(L, &(DIR *){NULL}, sizeof *handle, close_folder);
    *handle = opendir(path);
    lua_newtable(L);
    struct dirent *entry;
    for (lua_Integer n = 1; *handle && (entry = readdir(*handle)) != NULL; n++) {
        lua_pushstring(L, entry->d_name);
        lua_rawseti(L, -2, n);
    }
    return 1;
}

/* write(path, bytes): whole or not at all. */
static int write_file(lua_State *L)
{
    size_t size;
    const char *bytes = luaL_checklstring(L, 2, &size);
    sim_lua_try(L, sim_file_replace(luaL_checkstring(L, 1), bytes, size));
    return 0;
}

static int hash(lua_State *L)
{
    char text[SIM_HASH_TEXT];
    size_t size;
    const char *bytes = luaL_checklstring(L, 1, &size);
    sim_hash_text(bytes, size, text);
    lua_pushstring(L, text);
    return 1;
}

/* hash_file(path) -> hash, bytes; nil when it cannot be read */
static int hash_file(lua_State *L)
{
    char text[SIM_HASH_TEXT];
    uint64_t bytes;
    if (sim_hash_file(luaL_checkstring(L, 1), text, &bytes) != SIM_OK)
        return 0;
    lua_pushstring(L, text);
    lua_pushinteger(L, (lua_Integer)bytes);
    return 2;
}

/* size(path) -> bytes of a plain file, or nil */
static int size(lua_State *L)
{
    struct stat info;
    if (stat(luaL_checkstring(L, 1), &info) != 0 || !S_ISREG(info.st_mode))
        return 0;
    lua_pushinteger(L, (lua_Integer)info.st_size);
    return 1;
}

/* put(path, offset, bytes, cut): these bytes at offset; the file ends there, if cut. */
static int put(lua_State *L)
{
    size_t length;
    const char *path = luaL_checkstring(L, 1), *bytes = luaL_checklstring(L, 3, &length);
    sim_lua_try(L, sim_file_put(path, (uint64_t)luaL_checkinteger(L, 2), bytes, length,
                                lua_toboolean(L, 4)));
    return 0;
}

/* sync(path): on the disk. */
static int sync_file(lua_State *L)
{
    sim_lua_try(L, sim_file_sync(luaL_checkstring(L, 1)));
    return 0;
}

/* --- pictures
 * --------------------------------------------------------------------------- */

/* save(image, path) -> ticket */
static int save(lua_State *L)
{
    int64_t ticket = -1;
    const struct sim_image *image = sim_lua_check_image(L, 1, "save");
    const char *path = luaL_checkstring(L, 2);
    sim_lua_where(L);
    sim_lua_try(L, sim_frames_save(sim_lua_frames(L), image, path, "", &ticket));
    lua_pushinteger(L, ticket);
    return 1;
}

/* results() -> list of { ticket, hash, bytes } that became known since the last call */
static int results(lua_State *L)
{
    enum { BATCH = 64 };
    struct sim_frame_result found[BATCH];
    struct sim_host *host = sim_lua_host(L);
    lua_newtable(L);
    if (!host->frames)
        return 1;
    int count;
    lua_Integer n = 0;
    while ((count = sim_frames_results(host->frames, found, BATCH)) > 0) {
        for (int i = 0; i < count; i++) {
            lua_createtable(L, 0, 3);
            lua_pushinteger(L, found[i].ticket);
            lua_setfield(L, -2, "ticket");
            lua_pushinteger(L, (lua_Integer)found[i].bytes);
            lua_setfield(L, -2, "bytes");
            lua_pushstring(L, found[i].hash);
            lua_setfield(L, -2, "hash");
            lua_rawseti(L, -2, ++n);
        }
    }
    return 1;
}

static int finish_frames(lua_State *L)
{
    struct sim_host *host = sim_lua_host(L);
    if (host->frames)
        sim_lua_try(L, sim_frames_finish(host->frames));
    return 0;
}

int sim_lua_open_host(lua_State *L)
{
    static const luaL_Reg words[] = {
        {"check_run", check_run},
        {"settings", settings},
        {"arguments", arguments},
        {"unread", unread},
        {"usage_error", usage_error},
        {"file_error", file_error},
        {"user_error", user_error},
        {"random_state", sim_lua_random_state},
        {"adopt_seed", sim_lua_adopt_seed},
        {"plot", sim_lua_plot},
        {"end_help", end_help},
        {"idle", set_idle},
        {"nearest", nearest},
        {"explain", sim_lua_explain},
        {"say", say},
        {"terminal", terminal},
        {"now", now},
        {"interrupted", interrupted},
        {"guarded", guarded},
        {"hold", hold},
        {"release", release},
        {"status_of", status_of},
        {"hash_file", hash_file},
        {"size", size},
        {"put", put},
        {"sync", sync_file},
        {"folder", folder},
        {"list", list},
        {"write", write_file},
        {"hash", hash},
        {"save", save},
        {"results", results},
        {"finish_frames", finish_frames},
        {NULL, NULL},
    };
    luaL_newlib(L, words);
    return 1;
}
