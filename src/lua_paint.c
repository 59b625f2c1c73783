/* lua_paint.c - the word sim.noise, and the painting of any object's fields. */
#include "lua_sim.h"

#include <math.h>
#include <string.h>

#define NOISE_CLASS "sim.noise"

/* ---- sim.noise
 * --------------------------------------------------------------------------- */

struct noise {
    bool open;
    int64_t seed;
    double min, max;
};

static const struct lua_param noise_params[] = {
    {.name = "seed",
     .kind = LUA_PARAM_INTEGER,
     .max = 9007199254740992.0,
     .offset = offsetof(struct noise, seed),
     .help = "another seed, other numbers"},
    {.name = "min",
     .kind = LUA_PARAM_NUMBER,
     .offset = offsetof(struct noise, min),
     .help = "the lower end"},
    {.name = "max",
     .kind = LUA_PARAM_NUMBER,
     .number = 1,
     .offset = offsetof(struct noise, max),
     .help = "the upper end"},
};

const struct lua_param_set sim_noise_set = {
    .name = "sim.noise",
    .summary =
        "random numbers to paint with, uniform and independent in each cell; a cell's "
        "number follows from the seed and its place alone",
    .example = "u:paint { value = sim.noise { seed = 1, min = -0.1, max = 0.1 } }",
    .params = noise_params,
    .count = sizeof noise_params / sizeof *noise_params,
};

static int noise_new(lua_State *L)
{
    struct noise noise = {.open = true};
    sim_lua_enter(L);
    sim_lua_read(L, 1, &sim_noise_set, &noise);
    if (!(noise.min < noise.max))
        return sim_lua_error(L, "sim.noise: min must be below max");
    struct noise *box = sim_lua_box(L, sizeof *box, NOISE_CLASS, 0);
    *box = noise;
    return 1;
}

static int noise_close(lua_State *L)
{
    struct noise *box = luaL_testudata(L, 1, NOISE_CLASS);
    if (box)
        box->open = false;
    return 0;
}

static int noise_tostring(lua_State *L)
{
    const struct noise *n = luaL_checkudata(L, 1, NOISE_CLASS);
    lua_pushfstring(L, NOISE_CLASS " (%f to %f, seed %I)", n->min, n->max,
                    (LUAI_UACINT)n->seed);
    return 1;
}

/* ---- paint
 * ------------------------------------------------------------------------------- */

static const char *const mode_words[] = {"set", "add", "max", NULL};

struct paint_desc {
    int64_t mode;
    bool soft, has_shape, has_value;
};

#define PAINT_AT(member) offsetof(struct paint_desc, member)

static const struct lua_param paint_params[] = {
    {.name = "value",
     .kind = LUA_PARAM_VALUE,
     .required = true,
     .present = PAINT_AT(has_value),
     .help = "a number, a function of x and y that gives one (asked once for each cell "
             "in the shape), or sim.noise { … }"},
    {.name = "shape",
     .kind = LUA_PARAM_VALUE,
     .present = PAINT_AT(has_shape),
     .help = "where: a sim.shape; everywhere when absent"},
    {.name = "mode",
     .kind = LUA_PARAM_CHOICE,
     .words = mode_words,
     .offset = PAINT_AT(mode),
     .help = "set: replace; add: add to what is there; max: the larger of both"},
    {.name = "soft",
     .kind = LUA_PARAM_BOOLEAN,
     .offset = PAINT_AT(soft),
     .help = "cells on the shape's edge take part by the share of them that is inside; "
             "else by their middle"},
};

const struct lua_param_set sim_field_paint_set = {
    .name = "field:paint",
    .summary = "paint a shape",
    .example =
        "u:paint { shape = sim.shape.disc { centre = { 5, 5 }, radius = 1 }, value = 1 }",
    .params = paint_params,
    .count = sizeof paint_params / sizeof *paint_params,
};

/* The function's value at one place; it is at stack index `f`. */
static double call_function(lua_State *L, int f, double x, double y, const char *method)
{
    lua_pushvalue(L, f);
    lua_pushnumber(L, x);
    lua_pushnumber(L, y);
    lua_call(L, 2, 1);
    double value = lua_tonumber(L, -1);
    if (lua_type(L, -1) != LUA_TNUMBER || !isfinite(value))
        sim_lua_error(
            L, "%s: the function must give a finite number, but at (%f, %f) it gave %s",
            method, x, y, luaL_tolstring(L, -1, NULL));
    lua_pop(L, 1);
    return value;
}

/* Ask the function for every cell that the shape touches. The numbers are left on the
 * stack as a userdata of Lua's, as the function may raise. */
static const double *ask_function(lua_State *L, int f, const struct sim_field *field,
                                  const struct sim_paint *paint, const char *method)
{
    const struct sim_lattice l = sim_field_lattice(field);
    size_t cells = (size_t)(l.nx * l.ny);
    double *values = lua_newuserdatauv(L, cells * sizeof *values, 0);
    float *weight = lua_newuserdatauv(L, (size_t)l.nx * sizeof *weight, 0);
    for (int64_t j = 0; j < l.ny; j++) {
        if (paint->shape)
            sim_shape_weights(paint->shape, &l, j, j + 1, paint->soft, 1, weight);
        for (int64_t i = 0; i < l.nx; i++) {
            bool wanted = !paint->shape || weight[i] > 0;
            values[j * l.nx + i] = wanted ? call_function(L, f, l.x + (double)i * l.dx,
                                                          l.y + (double)j * l.dy, method)
                                          : 0;
        }
        sim_lua_try(L, sim_check_interrupt());
    }
    lua_pop(L, 1);
    return values;
}

/* `value` of the table at `index` into the paint; what it needs stays on the stack. */
static void read_value(lua_State *L, int index, const struct sim_field *field,
                       const char *method, struct sim_paint *paint)
{
    lua_getfield(L, index, "value");
    int at = lua_gettop(L);
    if (lua_type(L, at) == LUA_TNUMBER) {
        paint->value = sim_lua_number(L, at, "paint: value");
    } else if (lua_isfunction(L, at)) {
        paint->values = ask_function(L, at, field, paint, method);
    } else if (luaL_testudata(L, at, NOISE_CLASS)) {
        const struct noise *noise = sim_lua_check(L, at, NOISE_CLASS, method);
        paint->noise = true;
        paint->seed = (uint64_t)noise->seed;
        paint->low = noise->min;
        paint->high = noise->max;
    } else
        sim_lua_error(L,
                      "%s: value must be a number, a function or sim.noise { … }, got %s",
                      method, luaL_typename(L, at));
}

void sim_lua_paint(lua_State *L, struct sim_field *field, int index, const char *method)
{
    struct paint_desc desc = {0};
    struct sim_paint paint = {0};
    index = lua_absindex(L, index);
    int top = lua_gettop(L);
    sim_lua_read(L, index, &sim_field_paint_set, &desc);
    if (desc.has_shape) {
        lua_getfield(L, index, "shape"); /* stays: keeps it alive */
        if (!luaL_testudata(L, -1, "sim.shape"))
            sim_lua_error(L, "%s: shape must be a sim.shape, got %s", method,
                          luaL_typename(L, -1));
        paint.shape = sim_lua_check_shape(L, lua_gettop(L), method);
    }
    paint.soft = desc.soft;
    paint.mode = (enum sim_paint_mode)desc.mode;
    sim_lua_try(L, sim_field_prepare(field));
    read_value(L, index, field, method, &paint);
    sim_lua_try(L, sim_field_paint(field, &paint));
    lua_settop(L, top);
}

void sim_lua_open_paint(lua_State *L)
{
    static const luaL_Reg none[] = {{NULL, NULL}};
    sim_lua_class(L, NOISE_CLASS, none, NULL, noise_close, noise_tostring);
    lua_pushcfunction(L, noise_new);
    lua_setfield(L, -2, "noise");
}
