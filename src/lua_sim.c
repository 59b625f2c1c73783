/* lua_sim.c - the ground that the binding stands on (lua_sim.h) and the module `sim`
 * itself.
 *
 * Errors: a slip in the script is a plain string at the user's line; a failure of the
 * world is a table { message, status } with a __tostring, so that its exit code survives
 * any number of pcalls. An interrupt or a lost device is raised again by the next call.
 */
#include "lua_sim.h"
#include "lua_model.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <lualib.h>

#define ERROR_CLASS "sim.error"

struct sim_host *sim_lua_host(lua_State *L)
{
    return *(struct sim_host **)lua_getextraspace(L);
}

bool sim_lua_is_own(lua_State *L, const char *source)
{
    const char *library = sim_lua_host(L)->library;
    return source[0] == '@' && *library && !strncmp(source + 1, library, strlen(library));
}

/* --- errors ---------------------------------------------------------------------------
 */

int sim_lua_fail(lua_State *L, enum sim_status status, const char *text)
{
    lua_createtable(L, 0, 2);
    sim_lua_where(L);
    lua_pushstring(L, text);
    lua_concat(L, 2);
    lua_setfield(L, -2, "message");
    lua_pushinteger(L, status);
    lua_setfield(L, -2, "status");
    luaL_setmetatable(L, ERROR_CLASS);
    return lua_error(L);
}

void sim_lua_try(lua_State *L, enum sim_status status)
{
    if (status == SIM_OK)
        return;
    if (status == SIM_BAD_ARGUMENT)
        sim_lua_error(L, "%s", sim_error_text());
    sim_lua_fail(L, status, sim_error_text());
}

enum sim_status sim_lua_status(lua_State *L, int index)
{
    enum sim_status status = SIM_OK;
    index = lua_absindex(L, index);
    if (!lua_istable(L, index) || !lua_getmetatable(L, index))
        return SIM_OK;
    luaL_getmetatable(L, ERROR_CLASS);
    if (lua_rawequal(L, -1, -2)) {
        lua_pushliteral(L, "status");
        lua_rawget(L, index);
        status = (enum sim_status)lua_tointeger(L, -1);
        lua_pop(L, 1);
    }
    lua_pop(L, 2);
    return status;
}

static const char slip_key;

int sim_lua_error(lua_State *L, const char *format, ...)
{
    va_list args;
    sim_lua_where(L);
    va_start(args, format);
    lua_pushvfstring(L, format, args);
    va_end(args);
    lua_concat(L, 2);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &slip_key); /* known to explain itself */
    return lua_error(L);
}

int sim_lua_end_help(lua_State *L, const char *text)
{
    struct sim_host *host = sim_lua_host(L);
    if (!host->help_shown)
        host->say(text);
    host->options_read = host->help_shown = true;
    lua_pushnil(L);
    return lua_error(L);
}

/* "{ code = 3, text = "x" }", fields in the order of lua_next, at most a dozen. */
static void push_fields(lua_State *L, int index)
{
    luaL_Buffer b;
    int shown = 0;
    luaL_buffinit(L, &b);
    luaL_addstring(&b, "(error object: {");
    lua_pushnil(L);
    while (lua_next(L, index)) {
        if (++shown <= 12) {
            luaL_tolstring(L, -2, NULL);
            luaL_tolstring(L, -2, NULL);
            lua_pushfstring(L, "%s %s = %s", shown > 1 ? "," : "", lua_tostring(L, -2),
                            lua_tostring(L, -1));
            lua_insert(L, -5);
            lua_pop(L, 3);
            lua_insert(L, -2);
            luaL_addvalue(&b);
        } else {
            lua_pop(L, 1);
        }
    }
    luaL_addstring(&b, " })");
    luaL_pushresult(&b);
}

/* Push the text of any error value. */
static void push_message(lua_State *L, int index)
{
    if (lua_type(L, index) == LUA_TSTRING || lua_type(L, index) == LUA_TNUMBER)
        lua_pushstring(L, lua_tostring(L, index));
    else if (luaL_getmetafield(L, index, "__tostring") != LUA_TNIL) {
        lua_pop(L, 1);
        luaL_tolstring(L, index, NULL);
    } else if (lua_istable(L, index))
        push_fields(L, index);
    else if (lua_isnil(L, index))
        lua_pushliteral(L, "(error object: nil)");
    else
        lua_pushfstring(L, "(error object: a %s)", luaL_typename(L, index));
}

int sim_lua_explain(lua_State *L)
{
    lua_settop(L, 1);
    if (sim_lua_status(L, 1) != SIM_OK)
        return 1;
    lua_createtable(L, 0, 3);
    push_message(L, 1);
    lua_setfield(L, 2, "message");
    lua_pushinteger(L, SIM_BAD_ARGUMENT);
    lua_setfield(L, 2, "status");
    lua_rawgetp(L, LUA_REGISTRYINDEX, &slip_key);
    if (!lua_rawequal(L, 1, -1)) {
        luaL_traceback(L, L, NULL, 1);
        lua_setfield(L, 2, "traceback");
    }
    lua_settop(L, 2);
    luaL_setmetatable(L, ERROR_CLASS);
    return 1;
}

static int error_tostring(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_getfield(L, 1, "message");
    return 1;
}

static int error_concat(lua_State *L)
{
    luaL_tolstring(L, 1, NULL);
    luaL_tolstring(L, 2, NULL);
    lua_concat(L, 2);
    return 1;
}

void sim_lua_open_errors(lua_State *L)
{
    luaL_newmetatable(L, ERROR_CLASS);
    lua_pushcfunction(L, error_tostring);
    lua_setfield(L, -2, "__tostring");
    lua_pushcfunction(L, error_concat);
    lua_setfield(L, -2, "__concat");
    lua_pop(L, 1);
}

/* --- userdata -------------------------------------------------------------------------
 */

void *sim_lua_box(lua_State *L, size_t size, const char *name, int user_values)
{
    void *box = lua_newuserdatauv(L, size, user_values);
    memset(box, 0, size);
    luaL_setmetatable(L, name);
    sim_lua_register(L, name);
    return box;
}

void *sim_lua_guard(lua_State *L, const void *start, size_t size, lua_CFunction close)
{
    void *guarded = lua_newuserdatauv(L, size, 0);
    memcpy(guarded, start, size);
    lua_createtable(L, 0, 2);
    lua_pushcfunction(L, close);
    lua_setfield(L, -2, "__gc");
    lua_pushcfunction(L, close);
    lua_setfield(L, -2, "__close");
    lua_setmetatable(L, -2);
    lua_toclose(L, -1);
    return guarded;
}

void *sim_lua_check(lua_State *L, int index, const char *name, const char *method)
{
    const bool *open = luaL_testudata(L, index, name);
    if (!open && index == 1)
        sim_lua_error(
            L,
            "%s is a method of %s: call it with a colon, object:%s(…); its first "
            "argument is %s",
            method, name, method,
            lua_isnone(L, index) ? "missing" : luaL_typename(L, index));
    if (!open)
        sim_lua_error(L, "%s takes a %s, got %s", method, name, luaL_typename(L, index));
    if (!*open)
        sim_lua_error(L, "%s: this %s was closed", method, name);
    return (void *)open;
}

/* The nearest key of the tables at `first` .. top to `word`, or NULL. */
static const char *nearest_key(lua_State *L, const char *word, int first, int last)
{
    const char *words[256];
    int count = 0;
    for (int t = first; t <= last; t++) {
        if (!lua_istable(L, t))
            continue;
        for (lua_pushnil(L); lua_next(L, t); lua_pop(L, 1))
            if (lua_type(L, -2) == LUA_TSTRING && count < 256)
                words[count++] = lua_tostring(L, -2);
    }
    return sim_nearest_word(word, words, count);
}

/* __index(object, key): a method, else a getter's value, else an error that helps.
 * Upvalues: methods, getters, class name. */
static int class_index(lua_State *L)
{
    lua_settop(L, 2);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL)
        return 1;
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(2)) != LUA_TNIL) {
        lua_pushvalue(L, 1);
        lua_call(L, 1, 1);
        return 1;
    }
    lua_settop(L, 2);
    if (lua_type(L, 2) != LUA_TSTRING)
        return sim_lua_error(L, "%s has words, not [%s]",
                             lua_tostring(L, lua_upvalueindex(3)), luaL_typename(L, 2));
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushvalue(L, lua_upvalueindex(2));
    const char *word = lua_tostring(L, 2), *nearest = nearest_key(L, word, 3, 4);
    return sim_lua_error(
        L, "%s has no word '%s'%s%s%s", lua_tostring(L, lua_upvalueindex(3)), word,
        nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

static int class_newindex(lua_State *L)
{
    return sim_lua_error(L, "%s: its words cannot be assigned",
                         lua_tostring(L, lua_upvalueindex(1)));
}

void sim_lua_class(lua_State *L, const char *name, const luaL_Reg *methods,
                   const luaL_Reg *getters, lua_CFunction close_function,
                   lua_CFunction to_string)
{
    static const luaL_Reg none[] = {{NULL, NULL}};
    luaL_newmetatable(L, name);
    lua_newtable(L);
    luaL_setfuncs(L, methods, 0);
    lua_pushcfunction(L, close_function);
    lua_setfield(L, -2, "close");
    lua_newtable(L);
    luaL_setfuncs(L, getters ? getters : none, 0);
    lua_pushstring(L, name);
    lua_pushcclosure(L, class_index, 3);
    lua_setfield(L, -2, "__index");
    lua_pushstring(L, name);
    lua_pushcclosure(L, class_newindex, 1);
    lua_setfield(L, -2, "__newindex");
    lua_pushcfunction(L, close_function);
    lua_setfield(L, -2, "__gc");
    lua_pushcfunction(L, close_function);
    lua_setfield(L, -2, "__close");
    lua_pushcfunction(L, to_string);
    lua_setfield(L, -2, "__tostring");
    lua_pushstring(L, name);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
}

/* --- the collector and device memory --------------------------------------------------
 */

/* Device bytes that may be dropped and uncollected before a full collection. */
#define GARBAGE_MAX ((uint64_t)16 << 20)

void sim_lua_collect(lua_State *L)
{
    sim_lua_host(L)->allocated = 0;
    lua_gc(L, LUA_GCCOLLECT, 0);
    lua_gc(L, LUA_GCCOLLECT, 0); /* what finalizers let go of */
}

void sim_lua_will_allocate(lua_State *L, size_t bytes)
{
    struct sim_host *host = sim_lua_host(L);
    /* A script with a large Lua heap pays for a full collection; let it be rarer there.
     */
    uint64_t heap = (uint64_t)lua_gc(L, LUA_GCCOUNT, 0) * 1024;
    uint64_t limit = heap > GARBAGE_MAX / 4 ? heap * 4 : GARBAGE_MAX;
    if (host->allocated + bytes > limit)
        sim_lua_collect(L);
    host->allocated += bytes;
}

/* --- entering -------------------------------------------------------------------------
 */

void sim_lua_enter(lua_State *L)
{
    struct sim_host *host = sim_lua_host(L);
    sim_lua_try(L, sim_check_interrupt());
    if (host->device)
        sim_lua_try(L, sim_device_usable(host->device));
    if (host->help_shown || ((host->help || host->declare) && !host->options_read))
        sim_lua_end_help(
            L, host->declare ? "" : "this script declares no options of its own\n");
}

/* --- the module ------------------------------------------------------------------------
 */

static int sim_stats(lua_State *L)
{
    const struct sim_device_stats *s = &sim_lua_host(L)->device->stats;
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        {"live_bytes", s->live_bytes},
        {"peak_bytes", s->peak_bytes},
        {"allocations", s->allocations},
        {"launches", s->launches},
        {"bytes_up", s->bytes_up},
        {"bytes_down", s->bytes_down},
        {"waits", s->waits},
    };
    lua_newtable(L);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lua_pushinteger(L, (lua_Integer)rows[i].value);
        lua_setfield(L, -2, rows[i].name);
    }
    lua_pushnumber(L, s->sync_seconds);
    lua_setfield(L, -2, "sync_seconds");
    return 1;
}

static int sim_device(lua_State *L)
{
    const struct sim_device *device = sim_lua_host(L)->device;
    lua_newtable(L);
    lua_pushstring(L, device->kind == SIM_CUDA ? "cuda" : "cpu");
    lua_setfield(L, -2, "kind");
    lua_pushstring(L, device->name);
    lua_setfield(L, -2, "name");
    lua_pushinteger(L, device->index);
    lua_setfield(L, -2, "index");
    lua_pushinteger(L, device->threads);
    lua_setfield(L, -2, "threads");
    lua_pushinteger(L, (lua_Integer)device->memory);
    lua_setfield(L, -2, "memory");
    return 1;
}

/* sim.finish(): wait until the device has done all that was asked of it. */
static int sim_finish(lua_State *L)
{
    sim_lua_try(L, sim_device_finish(sim_lua_host(L)->device));
    return 0;
}

const struct lua_param_set *const sim_lua_sets[] = {
    &sim_bodies_set,
    &sim_bodies_image_set,
    &sim_galaxy_set,
    &sim_plummer_set,
    &sim_hernquist_set,
    &sim_uniform_sphere_set,
    &sim_disc_set,
    &sim_body_set,
    &sim_rows_set,
    &sim_encounter_set,
    &sim_radii_set,
    &sim_soften_set,
    &sim_image_label_set,
    &sim_image_scalebar_set,
    &sim_run_set,
    &sim_run_checkpoint_set,
    &sim_options_set,
    &sim_state_set,
    &sim_table_set,
    &sim_plot_set,
    &sim_diffusion_set,
    &sim_diffusion_wall_set,
    &sim_diffusion_source_set,
    &sim_flow_set,
    &sim_flow_side_set,
    &sim_flow_sine_set,
    &sim_flow_obstacle_set,
    &sim_flow_scalar_set,
    &sim_flow_scalar_side_set,
    &sim_flow_source_set,
    &sim_flow_buoyancy_set,
    &sim_flow_markers_set,
    &sim_field_set,
    &sim_field_paint_set,
    &sim_field_image_set,
    &sim_field_contours_set,
    &sim_field_arrows_set,
    &sim_field_grain_set,
    &sim_field_shade_set,
    &sim_field_dots_set,
    &sim_field_colorbar_set,
    &sim_noise_set,
    &sim_image_beside_set,
    &sim_shape_disc_set,
    &sim_shape_box_set,
    &sim_shape_half_plane_set,
    &sim_shape_gaussian_set,
    &sim_shape_image_set,
    NULL,
};

/* sim.words missing from the module get the nearest one named. Upvalue: the module. */
static int module_index(lua_State *L)
{
    const char *word = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
    lua_settop(L, 2);
    lua_pushvalue(L, 1);
    const char *nearest = nearest_key(L, word, 3, 3);
    return sim_lua_error(L, "sim has no word '%s'%s%s%s", word,
                         nearest ? "; did you mean '" : "", nearest ? nearest : "",
                         nearest ? "'?" : "");
}

int sim_lua_open(lua_State *L)
{
    static const luaL_Reg words[] = {{"stats", sim_stats},
                                     {"device", sim_device},
                                     {"finish", sim_finish},
                                     {NULL, NULL}};
    luaL_newlib(L, words);
    sim_lua_open_bodies(L);
    sim_lua_open_model(L);
    sim_lua_open_image(L);
    sim_lua_open_shape(L);
    sim_lua_open_diffusion(L);
    sim_lua_open_flow(L);
    sim_lua_open_field(L);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, module_index);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    return 1;
}
