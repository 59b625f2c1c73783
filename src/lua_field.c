/* lua_field.c - the word sim.field and what fields do; painting is in lua_paint.c,
 * pictures are in lua_field_image.c. Cells are counted from 1, from the lower left, as
 * Lua counts. */
#include "lua_sim.h"

#include <math.h>
#include <string.h>

#define CLASS "sim.field"

/* A field of its own, or a view: `field` is in the userdata that the user value holds. */
struct box {
    bool open;
    struct sim_field *field;
    struct sim_field own;
    const bool *parent_open; /* of a view; NULL: not one */
    int *views;
};

struct sim_field *sim_lua_check_field(lua_State *L, int index, const char *method)
{
    const struct box *box = sim_lua_check(L, index, CLASS, method);
    if (box->parent_open && !*box->parent_open)
        sim_lua_error(L, "%s: what this field belongs to was closed", method);
    return box->field;
}

void sim_lua_push_field(lua_State *L, int parent, struct sim_field *field, int *views)
{
    parent = lua_absindex(L, parent);
    struct box *box = sim_lua_box(L, sizeof *box, CLASS, 1);
    box->field = field;
    box->parent_open = lua_touserdata(L, parent);
    box->views = views;
    lua_pushvalue(L, parent);
    lua_setiuservalue(L, -2, 1);
    if (views)
        ++*views;
    box->open = true;
}

static int field_close(lua_State *L)
{
    struct box *box = luaL_testudata(L, 1, CLASS);
    if (!box || !box->open)
        return 0;
    box->open = false;
    if (!box->parent_open)
        sim_field_free(&box->own);
    else if (box->views)
        --*box->views;
    return 0;
}

static int field_tostring(lua_State *L)
{
    const struct box *box = luaL_checkudata(L, 1, CLASS);
    const struct sim_field *f = box->field;
    if (!box->open || (box->parent_open && !*box->parent_open))
        lua_pushliteral(L, CLASS " (closed)");
    else
        lua_pushfstring(L, CLASS " (%s%s%I x %I, %s)", f->name, *f->name ? ", " : "",
                        (LUAI_UACINT)f->nx, (LUAI_UACINT)f->ny, f->ops->name);
    return 1;
}

/* ---- sim.field
 * --------------------------------------------------------------------------- */

static const char *const precision_words[] = {"single", "double", NULL};

struct desc {
    double size[2], origin[2], dx, dy, lx, ly, value;
    int64_t precision;
    bool has_dx, has_dy, has_lx, has_ly;
};

#define AT(member) offsetof(struct desc, member)

static const double zero[2] = {0, 0};

#define LENGTH_PARAM(word, text)                                                      \
    {                                                                                 \
        .name = #word, .kind = LUA_PARAM_NUMBER, .unit = "length", .max = HUGE_VAL,   \
        .min_open = true, .number = 1, .offset = AT(word), .present = AT(has_##word), \
        .help = text                                                                  \
    }

static const struct lua_param field_params[] = {
    {.name = "size",
     .kind = LUA_PARAM_VECTOR,
     .count = 2,
     .required = true,
     .min = 1,
     .max = 1 << 30,
     .unit = "cells",
     .offset = AT(size),
     .help = "cells along x and y"},
    LENGTH_PARAM(dx, "width of a cell; or give lx"),
    LENGTH_PARAM(dy, "height of a cell; if not given, from ly, or dx"),
    LENGTH_PARAM(lx, "width of the whole field, instead of dx"),
    LENGTH_PARAM(ly, "height of the whole field, instead of dy"),
    {.name = "origin",
     .kind = LUA_PARAM_VECTOR,
     .count = 2,
     .unit = "length",
     .vector = zero,
     .offset = AT(origin),
     .help = "the lower left corner"},
    {.name = "value",
     .kind = LUA_PARAM_NUMBER,
     .offset = AT(value),
     .help = "of all cells at the start"},
    {.name = "precision",
     .kind = LUA_PARAM_CHOICE,
     .words = precision_words,
     .offset = AT(precision),
     .help = "of the numbers"},
};

const struct lua_param_set sim_field_set = {
    .name = "sim.field",
    .summary = "a two-dimensional array of numbers on the device",
    .example = "local u = sim.field { size = { 256, 256 }, dx = 0.1 }",
    .params = field_params,
    .count = sizeof field_params / sizeof *field_params,
};

static struct sim_field_desc read_field(lua_State *L, struct desc *d)
{
    sim_lua_read(L, 1, &sim_field_set, d);
    sim_lua_check_whole(L, "sim.field: size", d->size);
    if ((d->has_dx && d->has_lx) || (d->has_dy && d->has_ly))
        sim_lua_error(L, "sim.field: give a cell's size or the whole length, not both");
    double dx = d->has_lx ? d->lx / d->size[0] : d->dx;
    double dy = d->has_ly ? d->ly / d->size[1] : d->has_dy ? d->dy : dx;
    return (struct sim_field_desc){.nx = (int64_t)d->size[0],
                                   .ny = (int64_t)d->size[1],
                                   .is_double = d->precision == 1,
                                   .x0 = d->origin[0],
                                   .y0 = d->origin[1],
                                   .dx = dx,
                                   .dy = dy,
                                   .ox = 0.5,
                                   .oy = 0.5};
}

static int field_new(lua_State *L)
{
    struct desc d = {0};
    sim_lua_enter(L);
    struct sim_field_desc desc = read_field(L, &d);
    struct sim_device *device = sim_lua_host(L)->device;
    struct box *box = sim_lua_box(L, sizeof *box, CLASS, 1);
    sim_lua_will_allocate(L, (size_t)(d.size[0] * d.size[1]) * (desc.is_double ? 8 : 4));
    enum sim_status status = sim_field_new(device, &desc, &box->own);
    if (status == SIM_DEVICE_MEMORY) {
        sim_lua_collect(L);
        status = sim_field_new(device, &desc, &box->own);
    }
    sim_lua_try(L, status);
    box->field = &box->own;
    box->open = true;
    if (d.value != 0)
        sim_lua_try(L, sim_field_fill(box->field, d.value));
    return 1;
}

/* field:paint { … } -> field */
static int field_paint(lua_State *L)
{
    sim_lua_enter(L);
    struct sim_field *field = sim_lua_check_field(L, 1, "paint");
    lua_settop(L, 2);
    sim_lua_paint(L, field, 2, "paint");
    lua_settop(L, 1);
    return 1;
}

/* ---- whole fields
 * ------------------------------------------------------------------------ */

/* field:fill(value) -> field */
static int field_fill(lua_State *L)
{
    sim_lua_enter(L);
    struct sim_field *field = sim_lua_check_field(L, 1, "fill");
    sim_lua_try(L, sim_field_fill(field, sim_lua_number(L, 2, "fill: the value")));
    lua_settop(L, 1);
    return 1;
}

/* field:add(number) or field:add(other, factor = 1) -> field */
static int field_add(lua_State *L)
{
    sim_lua_enter(L);
    struct sim_field *field = sim_lua_check_field(L, 1, "add");
    if (lua_type(L, 2) == LUA_TNUMBER) {
        sim_lua_try(L, sim_field_shift(field, sim_lua_number(L, 2, "add: the number")));
    } else {
        struct sim_field *other = sim_lua_check_field(L, 2, "add");
        double factor = 1;
        if (!lua_isnoneornil(L, 3))
            factor = sim_lua_number(L, 3, "add: the factor");
        sim_lua_try(L, sim_field_add(field, other, factor));
    }
    lua_settop(L, 1);
    return 1;
}

/* field:copy(other) -> field: take the other's values */
static int field_copy(lua_State *L)
{
    sim_lua_enter(L);
    struct sim_field *field = sim_lua_check_field(L, 1, "copy");
    sim_lua_try(L, sim_field_copy(field, sim_lua_check_field(L, 2, "copy")));
    lua_settop(L, 1);
    return 1;
}

/* field:scale(factor) -> field */
static int field_scale(lua_State *L)
{
    sim_lua_enter(L);
    struct sim_field *field = sim_lua_check_field(L, 1, "scale");
    sim_lua_try(L, sim_field_scale(field, sim_lua_number(L, 2, "scale: the factor")));
    lua_settop(L, 1);
    return 1;
}

/* field:clamp(low, high) -> field */
static int field_clamp(lua_State *L)
{
    sim_lua_enter(L);
    struct sim_field *field = sim_lua_check_field(L, 1, "clamp");
    double low = sim_lua_number(L, 2, "clamp: the lower bound");
    double high = sim_lua_number(L, 3, "clamp: the upper bound");
    sim_lua_try(L, sim_field_clamp(field, low, high));
    lua_settop(L, 1);
    return 1;
}

/* ---- asking: waits
 * ----------------------------------------------------------------------- */

static struct sim_field_sums sums_of(lua_State *L, const char *method)
{
    struct sim_field_sums sums;
    sim_lua_enter(L);
    sim_lua_try(L, sim_field_sums(sim_lua_check_field(L, 1, method), &sums));
    return sums;
}

static int field_sum(lua_State *L)
{
    lua_pushnumber(L, sums_of(L, "sum").sum);
    return 1;
}

static int field_mean(lua_State *L)
{
    struct sim_field_sums sums = sums_of(L, "mean");
    lua_pushnumber(L, sums.sum / (double)sums.count);
    return 1;
}

static int field_min(lua_State *L)
{
    lua_pushnumber(L, sums_of(L, "min").min);
    return 1;
}

static int field_max(lua_State *L)
{
    lua_pushnumber(L, sums_of(L, "max").max);
    return 1;
}

/* field:norm() -> the root of the sum of squares */
static int field_norm(lua_State *L)
{
    lua_pushnumber(L, sqrt(sums_of(L, "norm").squares));
    return 1;
}

/* field:probe(x, y) -> the value there, bilinear between samples */
static int field_probe(lua_State *L)
{
    double value;
    sim_lua_enter(L);
    struct sim_field *field = sim_lua_check_field(L, 1, "probe");
    double x = sim_lua_number(L, 2, "probe: x"), y = sim_lua_number(L, 3, "probe: y");
    sim_lua_try(L, sim_field_probe(field, x, y, &value));
    lua_pushnumber(L, value);
    return 1;
}

/* field:get(i, j) -> the value of a cell, counted from 1 at the lower left */
static int field_get(lua_State *L)
{
    double value;
    sim_lua_enter(L);
    struct sim_field *field = sim_lua_check_field(L, 1, "get");
    int64_t i = sim_lua_integer(L, 2, "get: i", 1, field->nx);
    int64_t j = sim_lua_integer(L, 3, "get: j", 1, field->ny);
    sim_lua_try(L, sim_field_get(field, i - 1, j - 1, &value));
    lua_pushnumber(L, value);
    return 1;
}

/* ---- files
 * ------------------------------------------------------------------------------- */

static const char *path_of(lua_State *L, const char *method)
{
    if (lua_type(L, 2) != LUA_TSTRING)
        sim_lua_error(L, "%s: the path must be a string, got %s", method,
                      luaL_typename(L, 2));
    return lua_tostring(L, 2);
}

/* A .png is the picture with a pixel a cell, as field:image { scale = 1, smooth = false
 * }. */
static int save_picture(lua_State *L)
{
    lua_settop(L, 2);
    lua_pushcfunction(L, sim_lua_field_image);
    lua_pushvalue(L, 1);
    lua_createtable(L, 0, 2);
    lua_pushinteger(L, 1);
    lua_setfield(L, -2, "scale");
    lua_pushboolean(L, false);
    lua_setfield(L, -2, "smooth");
    lua_call(L, 2, 1);
    lua_getfield(L, -1, "save");
    lua_insert(L, -2);
    lua_pushvalue(L, 2);
    lua_call(L, 2, 0);
    lua_settop(L, 1);
    return 1;
}

/* field:save(path) -> field */
static int field_save(lua_State *L)
{
    sim_lua_enter(L);
    struct sim_field *field = sim_lua_check_field(L, 1, "save");
    const char *path = path_of(L, "save"), *dot = strrchr(path, '.');
    if (dot && !strcmp(dot, ".png"))
        return save_picture(L);
    if (!dot || (strcmp(dot, ".npy") != 0 && strcmp(dot, ".csv") != 0))
        return sim_lua_error(L, "save: '%s' must end in .npy, .csv or .png", path);
    sim_lua_try(L, sim_field_save(field, path));
    lua_settop(L, 1);
    return 1;
}

/* field:load(path) -> field */
static int field_load(lua_State *L)
{
    sim_lua_enter(L);
    struct sim_field *field = sim_lua_check_field(L, 1, "load");
    sim_lua_try(L, sim_field_load(field, path_of(L, "load")));
    lua_settop(L, 1);
    return 1;
}

/* ---- plain reads
 * ------------------------------------------------------------------------- */

static int get_nx(lua_State *L)
{
    lua_pushinteger(L, sim_lua_check_field(L, 1, "nx")->nx);
    return 1;
}

static int get_ny(lua_State *L)
{
    lua_pushinteger(L, sim_lua_check_field(L, 1, "ny")->ny);
    return 1;
}

static int get_dx(lua_State *L)
{
    lua_pushnumber(L, sim_lua_check_field(L, 1, "dx")->dx);
    return 1;
}

static int get_dy(lua_State *L)
{
    lua_pushnumber(L, sim_lua_check_field(L, 1, "dy")->dy);
    return 1;
}

static int get_name(lua_State *L)
{
    lua_pushstring(L, sim_lua_check_field(L, 1, "name")->name);
    return 1;
}

static int get_precision(lua_State *L)
{
    lua_pushstring(L, precision_words[sim_lua_check_field(L, 1, "precision")->is_double]);
    return 1;
}

void sim_lua_open_field(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"paint", field_paint}, {"fill", field_fill},
        {"add", field_add},     {"copy", field_copy},
        {"scale", field_scale}, {"clamp", field_clamp},
        {"sum", field_sum},     {"mean", field_mean},
        {"min", field_min},     {"max", field_max},
        {"norm", field_norm},   {"probe", field_probe},
        {"get", field_get},     {"save", field_save},
        {"load", field_load},   {"image", sim_lua_field_image},
        {NULL, NULL},
    };
    static const luaL_Reg getters[] = {
        {"nx", get_nx}, {"ny", get_ny},     {"dx", get_dx},
        {"dy", get_dy}, {"name", get_name}, {"precision", get_precision},
        {NULL, NULL},
    };
    sim_lua_class(L, CLASS, methods, getters, field_close, field_tostring);
    lua_pushcfunction(L, field_new);
    lua_setfield(L, -2, "field");
    sim_lua_open_paint(L);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, sim_lua_image_beside);
    lua_setfield(L, -2, "beside");
    lua_setfield(L, -2, "image");
}
