/* lua_checkpoint.c - the module "sim.checkpoint" for lib/sim/: the objects of a scene, in
 * the order of their making, and their state to a file and back.
 *
 * Every box made is looked at (sim_lua_register); those of a class with state are kept in
 * a weak list. begin() settles the list for a run: what is alive then is saved, and what
 * a callback makes later is not. */
#include "lua_sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"
#include "diffusion.h"
#include "lua_flow.h"

/* --- classes with state
 * ------------------------------------------------------------------ */

/* A box is { bool open; object } where no function below says otherwise. */
struct plain_diffusion {
    bool open;
    struct sim_diffusion object;
};

static void *bodies_at(lua_State *L, int index)
{
    return sim_lua_check_bodies(L, index, "checkpoint");
}

/* Views have no state of their own: NULL. */
static void *field_at(lua_State *L, int index)
{
    lua_pushvalue(L, index);
    struct sim_field *field = sim_lua_check_field(L, lua_gettop(L), "checkpoint");
    lua_pop(L, 1);
    return field->own.data ? field : NULL;
}

static void *diffusion_at(lua_State *L, int index)
{
    struct plain_diffusion *box = lua_touserdata(L, index);
    return lua_rawlen(L, index) == sizeof *box ? &box->object : NULL;
}

static void *flow_at(lua_State *L, int index)
{
    return sim_lua_check_flow_at(L, index, "checkpoint");
}

static const struct kind {
    const char *class_name;
    void *(*at)(lua_State *L, int index);
    const struct sim_state_ops *ops; /* NULL: its state cannot be saved yet */
    void (*watch)(lua_State *L, int index);
} kinds[] = {
    {"sim.bodies", bodies_at, &sim_bodies_state, sim_lua_watch_bodies},
    {"sim.field", field_at, &sim_field_state, NULL},
    {"sim.diffusion", diffusion_at, &sim_diffusion_state, NULL},
    {"sim.flow", flow_at, &sim_flow_state, NULL},
};

static const struct kind *kind_of(const char *class_name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i].class_name, class_name))
            return &kinds[i];
    return NULL;
}

/* --- the objects there are
 * ---------------------------------------------------------------- */

static const char objects_key, scene_key;

static void push_objects(lua_State *L)
{
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &objects_key) == LUA_TTABLE)
        return;
    lua_pop(L, 1);
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "v");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &objects_key);
}

void sim_lua_register(lua_State *L, const char *class_name)
{
    if (!kind_of(class_name))
        return;
    push_objects(L);
    lua_getfield(L, -1, "n");
    lua_Integer n = lua_tointeger(L, -1) + 1;
    lua_pop(L, 1);
    lua_pushvalue(L, -2);
    lua_rawseti(L, -2, n);
    lua_pushinteger(L, n);
    lua_setfield(L, -2, "n");
    lua_pop(L, 1);
}

/* --- the scene of a run
 * --------------------------------------------------------------------- */

#define SCENE_CLASS "sim.scene"

struct scene {
    struct sim_state live, mirror;
    bool mirrored;
    int64_t frame; /* of the mirror */
    char *text;    /* kept with the mirror; owned */
    size_t text_bytes;
};

static int scene_gc(lua_State *L)
{
    struct scene *scene = lua_touserdata(L, 1);
    sim_state_free(&scene->live);
    sim_state_free(&scene->mirror);
    free(scene->text);
    *scene = (struct scene){0};
    return 0;
}

static struct scene *get_scene(lua_State *L)
{
    struct scene *scene = NULL;
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &scene_key) == LUA_TUSERDATA)
        scene = lua_touserdata(L, -1);
    lua_pop(L, 1);
    if (!scene)
        luaL_error(L, "no run has begun");
    return scene;
}

static void *object_at(lua_State *L, int index, const struct kind **kind)
{
    const bool *open = lua_touserdata(L, index);
    *kind = NULL;
    if (!open || !*open || luaL_getmetafield(L, index, "__name") != LUA_TSTRING)
        return NULL;
    *kind = kind_of(lua_tostring(L, -1));
    lua_pop(L, 1);
    return *kind && (*kind)->at ? (*kind)->at(L, index) : NULL;
}

/* The scene's list of objects is its user value. Push what is alive, without views. */
static void push_living(lua_State *L)
{
    const struct kind *kind;
    push_objects(L);
    lua_getfield(L, -1, "n");
    lua_Integer n = lua_tointeger(L, -1), kept = 0;
    lua_pop(L, 1);
    lua_newtable(L);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, -2, i);
        void *object = lua_isnil(L, -1) ? NULL : object_at(L, lua_gettop(L), &kind);
        if (object || (!lua_isnil(L, -1) && kind && !kind->ops))
            lua_rawseti(L, -2, ++kept);
        else
            lua_pop(L, 1);
    }
    lua_remove(L, -2);
}

/* begin() -> nil, or the class of an object whose state cannot be saved. */
static int begin(lua_State *L)
{
    sim_lua_collect(L);
    struct scene *scene = lua_newuserdatauv(L, sizeof *scene, 1);
    *scene = (struct scene){.frame = -1};
    if (luaL_newmetatable(L, SCENE_CLASS)) {
        lua_pushcfunction(L, scene_gc);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    push_living(L);
    lua_Integer count = (lua_Integer)lua_rawlen(L, -1);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, -3, 1);
    lua_pushvalue(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &scene_key);
    for (lua_Integer i = 1; i <= count; i++) {
        const struct kind *kind;
        lua_rawgeti(L, -1, i);
        object_at(L, lua_gettop(L), &kind);
        if (kind && !kind->ops) {
            lua_pushstring(L, kind->class_name);
            return 1;
        }
        lua_pop(L, 1);
    }
    return 0;
}

/* finish(): let go of the objects and of the copy. */
static int finish(lua_State *L)
{
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &scene_key) == LUA_TUSERDATA) {
        scene_gc(L); /* index 1 is the scene: finish takes no arguments */
        lua_pushnil(L);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &scene_key);
    }
    return 0;
}

/* Ask every object for its list; before that, with a checkpoint, to expect what it holds.
 */
static struct sim_state *list_state(lua_State *L, struct scene *scene,
                                    const struct sim_checkpoint *coming)
{
    struct sim_state *state = &scene->live;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &scene_key);
    lua_getiuservalue(L, -1, 1);
    lua_Integer count = (lua_Integer)lua_rawlen(L, -1);
    sim_state_clear(state);
    for (lua_Integer i = 1; i <= count; i++) {
        const struct kind *kind;
        lua_rawgeti(L, -1, i);
        void *object = object_at(L, lua_gettop(L), &kind);
        if (object) {
            snprintf(state->prefix, sizeof state->prefix, "%lld.%s.", (long long)i,
                     kind->class_name + 4);
            if (coming && kind->ops->expect)
                sim_lua_try(L, kind->ops->expect(object, coming, state->prefix));
            kind->ops->list(object, state);
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 2);
    return state;
}

/* Call this of every object whose class has it. */
enum call { CHECK, LOADED, WATCH };

static void each_object(lua_State *L, enum call which)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &scene_key);
    lua_getiuservalue(L, -1, 1);
    const lua_Integer count = (lua_Integer)lua_rawlen(L, -1);
    for (lua_Integer i = 1; i <= count; i++) {
        const struct kind *kind;
        lua_rawgeti(L, -1, i);
        void *object = object_at(L, lua_gettop(L), &kind);
        enum sim_status (*call)(void *) = !object           ? NULL
                                          : which == CHECK  ? kind->ops->check
                                          : which == LOADED ? kind->ops->loaded
                                                            : NULL;
        if (object && which == WATCH && kind->watch)
            kind->watch(L, lua_gettop(L));
        if (call)
            sim_lua_try(L, call(object));
        lua_pop(L, 1);
    }
    lua_pop(L, 2);
}

/* check(): an error where the state of an object is not finite. */
static int check_objects(lua_State *L)
{
    each_object(L, CHECK);
    return 0;
}

/* watch(): warnings of what goes wrong without an error. */
static int watch_objects(lua_State *L)
{
    each_object(L, WATCH);
    return 0;
}

/* mirror(frame, text) -> true, or false and why there is no memory for it. All or
 * nothing, so that an interrupt between two calls never finds half a copy. */
static int mirror(lua_State *L)
{
    struct scene *scene = get_scene(L);
    size_t size;
    int64_t frame = luaL_checkinteger(L, 1);
    const char *text = luaL_checklstring(L, 2, &size);
    list_state(L, scene, NULL);
    scene->mirrored = false;
    char *kept = realloc(scene->text, size + 1);
    enum sim_status status =
        kept ? sim_state_mirror(&scene->live, &scene->mirror)
             : sim_fail(SIM_HOST_MEMORY, "out of host memory: a checkpoint");
    if (kept) {
        memcpy(kept, text, size + 1);
        scene->text = kept;
        scene->text_bytes = size;
    }
    if (status == SIM_DEVICE_MEMORY || status == SIM_HOST_MEMORY) {
        sim_state_free(&scene->mirror);
        lua_pushboolean(L, 0);
        lua_pushstring(L, sim_error_text());
        return 2;
    }
    sim_lua_try(L, status);
    scene->mirrored = true;
    scene->frame = frame;
    lua_pushboolean(L, 1);
    return 1;
}

/* mirrored() -> frame and text of the copy, or nil */
static int mirrored(lua_State *L)
{
    const struct scene *scene = get_scene(L);
    if (!scene->mirrored)
        return 0;
    lua_pushinteger(L, scene->frame);
    lua_pushlstring(L, scene->text, scene->text_bytes);
    return 2;
}

/* write(path, frame, text, live): from the copy, or from the objects as they are. */
static int write_checkpoint(lua_State *L)
{
    struct scene *scene = get_scene(L);
    size_t size;
    const char *path = luaL_checkstring(L, 1), *text = luaL_checklstring(L, 3, &size);
    const struct sim_state *state =
        lua_toboolean(L, 4) ? list_state(L, scene, NULL) : &scene->mirror;
    sim_lua_try(L,
                sim_checkpoint_write(path, state, luaL_checkinteger(L, 2), text, size));
    return 0;
}

/* bytes() -> of the state */
static int state_bytes(lua_State *L)
{
    struct scene *scene = get_scene(L);
    lua_pushinteger(L, (lua_Integer)sim_state_bytes(list_state(L, scene, NULL)));
    return 1;
}

static int close_checkpoint(lua_State *L)
{
    sim_checkpoint_close(lua_touserdata(L, 1));
    return 0;
}

/* A checkpoint on the stack that is closed whatever happens. */
static struct sim_checkpoint *guarded_checkpoint(lua_State *L)
{
    const struct sim_checkpoint closed = {.fd = -1};
    return sim_lua_guard(L, &closed, sizeof closed, close_checkpoint);
}

/* probe(path) -> frame, text; or nil and what is wrong with the file */
static int probe(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    struct sim_checkpoint *c = guarded_checkpoint(L);
    enum sim_status status = sim_checkpoint_open(path, c);
    if (status == SIM_FILE) {
        lua_pushnil(L);
        lua_pushstring(L, sim_error_text());
        return 2;
    }
    sim_lua_try(L, status);
    lua_pushinteger(L, c->frame);
    lua_pushlstring(L, c->text, c->text_bytes);
    return 2;
}

/* load(path): the file's state takes the place of the scene's. */
static int load(lua_State *L)
{
    struct scene *scene = get_scene(L);
    const char *path = luaL_checkstring(L, 1);
    struct sim_checkpoint *c = guarded_checkpoint(L);
    sim_lua_try(L, sim_checkpoint_open(path, c));
    sim_lua_try(L, sim_checkpoint_load(c, list_state(L, scene, c)));
    each_object(L, LOADED);
    return 0;
}

int sim_lua_open_checkpoint(lua_State *L)
{
    static const luaL_Reg words[] = {
        {"begin", begin},         {"finish", finish},     {"check", check_objects},
        {"mirror", mirror},       {"mirrored", mirrored}, {"write", write_checkpoint},
        {"bytes", state_bytes},   {"probe", probe},       {"load", load},
        {"watch", watch_objects}, {NULL, NULL},
    };
    luaL_newlib(L, words);
    return 1;
}
