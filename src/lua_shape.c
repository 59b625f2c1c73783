/* lua_shape.c - the words of sim.shape, and shapes as values: a + b, a * b, a - b, -a. */
#include "lua_sim.h"

#include <math.h>
#include <stdio.h>

#include "shape.h"

#define CLASS "sim.shape"

struct box {
    bool open;
    struct sim_shape *shape;
};

struct sim_shape *sim_lua_check_shape(lua_State *L, int index, const char *method)
{
    struct box *box = sim_lua_check(L, index, CLASS, method);
    return box->shape;
}

static int shape_close(lua_State *L)
{
    struct box *box = luaL_testudata(L, 1, CLASS);
    if (box && box->open) {
        box->open = false;
        sim_shape_release(box->shape);
    }
    return 0;
}

static int shape_tostring(lua_State *L)
{
    const struct box *box = luaL_checkudata(L, 1, CLASS);
    double b[4];
    if (!box->open)
        lua_pushliteral(L, CLASS " (closed)");
    else if (sim_shape_bounds(box->shape, b))
        lua_pushfstring(L, CLASS " (within x %f to %f, y %f to %f)", b[0], b[2], b[1],
                        b[3]);
    else
        lua_pushliteral(L, CLASS " (unbounded)");
    return 1;
}

/* An empty box on the stack for the shape that is made next. */
static struct box *new_box(lua_State *L)
{
    return sim_lua_box(L, sizeof(struct box), CLASS, 0);
}

static int finish(lua_State *L, struct box *box, enum sim_status status)
{
    box->open = status == SIM_OK;
    sim_lua_try(L, status);
    return 1;
}

/* ---- single shapes
 * ----------------------------------------------------------------------- */

struct desc {
    double centre[2], radius, from[2], to[2], point[2], normal[2], sigma[2];
    struct sim_shape_image image;
    int64_t channel;
    bool has_sigma;
};

#define AT(member) offsetof(struct desc, member)

static const double zero[2] = {0, 0};

#define POINT_PARAM(word, member, text)                                       \
    {                                                                         \
        .name = word, .kind = LUA_PARAM_VECTOR, .count = 2, .unit = "length", \
        .required = true, .offset = AT(member), .help = text                  \
    }

static const struct lua_param disc_params[] = {
    POINT_PARAM("centre", centre, "the middle"),
    {.name = "radius",
     .kind = LUA_PARAM_NUMBER,
     .unit = "length",
     .required = true,
     .max = HUGE_VAL,
     .min_open = true,
     .offset = AT(radius),
     .help = "points nearer than this to the middle are inside"},
};

const struct lua_param_set sim_shape_disc_set = {
    .name = "sim.shape.disc",
    .summary = "a disc",
    .example = "local blob = sim.shape.disc { centre = { 50, 50 }, radius = 10 }",
    .params = disc_params,
    .count = sizeof disc_params / sizeof *disc_params,
};

static int shape_disc(lua_State *L)
{
    struct desc desc = {0};
    sim_lua_enter(L);
    sim_lua_read(L, 1, &sim_shape_disc_set, &desc);
    struct box *box = new_box(L);
    return finish(L, box, sim_shape_disc(desc.centre, desc.radius, &box->shape));
}

static const struct lua_param box_params[] = {
    POINT_PARAM("from", from, "the lower left corner, which is inside"),
    POINT_PARAM("to", to, "the upper right corner, which is outside"),
};

const struct lua_param_set sim_shape_box_set = {
    .name = "sim.shape.box",
    .summary = "an upright rectangle; :rotate(degrees) turns it",
    .example = "local wall = sim.shape.box { from = { 0, 0 }, to = { 1, 4 } }",
    .params = box_params,
    .count = sizeof box_params / sizeof *box_params,
};

static int shape_box(lua_State *L)
{
    struct desc desc = {0};
    sim_lua_enter(L);
    sim_lua_read(L, 1, &sim_shape_box_set, &desc);
    struct box *box = new_box(L);
    return finish(L, box, sim_shape_box(desc.from, desc.to, &box->shape));
}

static const struct lua_param half_plane_params[] = {
    POINT_PARAM("point", point, "a point of the line, which is inside"),
    {.name = "normal",
     .kind = LUA_PARAM_VECTOR,
     .count = 2,
     .required = true,
     .offset = AT(normal),
     .help = "points away from the inside; of any length but 0"},
};

const struct lua_param_set sim_shape_half_plane_set = {
    .name = "sim.shape.half_plane",
    .summary = "everything behind a line",
    .example =
        "local ground = sim.shape.half_plane { point = { 0, 1 }, normal = { 0, 1 } }",
    .params = half_plane_params,
    .count = sizeof half_plane_params / sizeof *half_plane_params,
};

static int shape_half_plane(lua_State *L)
{
    struct desc desc = {0};
    sim_lua_enter(L);
    sim_lua_read(L, 1, &sim_shape_half_plane_set, &desc);
    struct box *box = new_box(L);
    return finish(L, box, sim_shape_half_plane(desc.point, desc.normal, &box->shape));
}

static const struct lua_param gaussian_params[] = {
    POINT_PARAM("centre", centre, "where it is 1"),
    {.name = "sigma",
     .kind = LUA_PARAM_VALUE,
     .unit = "length",
     .required = true,
     .present = AT(has_sigma),
     .help = "its standard deviation, a number or { x, y }, > 0"},
};

const struct lua_param_set sim_shape_gaussian_set = {
    .name = "sim.shape.gaussian",
    .summary = "a profile exp(-r^2 / (2 sigma^2)) to paint with; it has no edge",
    .example = "u:paint { shape = sim.shape.gaussian { centre = { 0, 0 }, sigma = 2 }, "
               "value = 1 }",
    .params = gaussian_params,
    .count = sizeof gaussian_params / sizeof *gaussian_params,
};

/* A pair of numbers at `index`, or one for both when `single`. */
static void read_pair(lua_State *L, int index, const char *what, bool single,
                      double out[2])
{
    if (single && lua_type(L, index) == LUA_TNUMBER) {
        out[0] = out[1] = sim_lua_number(L, index, what);
        return;
    }
    if (!lua_istable(L, index) || lua_rawlen(L, index) != 2)
        sim_lua_error(L, "%s must be %s{ x, y }, got %s", what,
                      single ? "a number or " : "", luaL_typename(L, index));
    for (int k = 0; k < 2; k++) {
        lua_rawgeti(L, index, k + 1);
        out[k] = sim_lua_number(L, -1, what);
        lua_pop(L, 1);
    }
}

static int shape_gaussian(lua_State *L)
{
    struct desc desc = {0};
    sim_lua_enter(L);
    sim_lua_read(L, 1, &sim_shape_gaussian_set, &desc);
    lua_getfield(L, 1, "sigma");
    read_pair(L, lua_gettop(L), "sim.shape.gaussian: sigma", true, desc.sigma);
    struct box *box = new_box(L);
    return finish(L, box, sim_shape_gaussian(desc.centre, desc.sigma, &box->shape));
}

static const struct lua_param image_params[] = {
    {.name = "file",
     .kind = LUA_PARAM_STRING,
     .required = true,
     .offset = AT(image.file),
     .help = "a PNG picture of any size and kind"},
    {.name = "width",
     .kind = LUA_PARAM_NUMBER,
     .unit = "length",
     .required = true,
     .max = HUGE_VAL,
     .min_open = true,
     .offset = AT(image.width),
     .help = "of the whole picture"},
    {.name = "height",
     .kind = LUA_PARAM_NUMBER,
     .unit = "length",
     .max = HUGE_VAL,
     .offset = AT(image.height),
     .help = "of the whole picture; 0: its pixels are square"},
    {.name = "position",
     .kind = LUA_PARAM_VECTOR,
     .count = 2,
     .unit = "length",
     .vector = zero,
     .offset = AT(image.position),
     .help = "of the lower left corner"},
    {.name = "threshold",
     .kind = LUA_PARAM_NUMBER,
     .number = 0.5,
     .max = 1,
     .offset = AT(image.threshold),
     .help = "cells whose mean in the picture is at least this are inside"},
    {.name = "invert",
     .kind = LUA_PARAM_BOOLEAN,
     .offset = AT(image.invert),
     .help = "inside is where the picture is below the threshold instead"},
    {.name = "channel",
     .kind = LUA_PARAM_CHOICE,
     .words = sim_channel_words,
     .offset = AT(channel),
     .help = "what of the picture is looked at; brightness counts "
             "transparent as black"},
};

const struct lua_param_set sim_shape_image_set = {
    .name = "sim.shape.image",
    .summary = "the bright part of a picture, from a PNG file",
    .example = "local fish = sim.shape.image { file = \"fish.png\", width = 2 }",
    .params = image_params,
    .count = sizeof image_params / sizeof *image_params,
};

static int shape_image(lua_State *L)
{
    struct desc desc = {0};
    sim_lua_enter(L);
    sim_lua_read(L, 1, &sim_shape_image_set, &desc);
    desc.image.channel = (enum sim_channel)desc.channel;
    struct box *box = new_box(L);
    return finish(L, box, sim_shape_image(&desc.image, &box->shape));
}

/* sim.shape.polygon { { x, y }, … } */
static int shape_polygon(lua_State *L)
{
    sim_lua_enter(L);
    if (!lua_istable(L, 1))
        return sim_lua_error(
            L,
            "sim.shape.polygon takes a table of corners, { { x, y }, … }, "
            "got %s",
            luaL_typename(L, 1));
    lua_Integer count = (lua_Integer)lua_rawlen(L, 1);
    double(*corners)[2] = lua_newuserdatauv(L, (size_t)count * sizeof *corners, 0);
    for (lua_Integer k = 0; k < count; k++) {
        char what[64];
        lua_rawgeti(L, 1, k + 1);
        snprintf(what, sizeof what, "sim.shape.polygon: corner %lld", (long long)k + 1);
        read_pair(L, lua_gettop(L), what, false, corners[k]);
        lua_pop(L, 1);
    }
    struct box *box = new_box(L);
    return finish(L, box,
                  sim_shape_polygon((const double(*)[2])corners, count, &box->shape));
}

/* ---- compounds
 * --------------------------------------------------------------------------- */

static struct sim_shape *part(lua_State *L, int index, const char *word)
{
    if (!luaL_testudata(L, index, CLASS))
        sim_lua_error(L, "%s takes two shapes, got %s", word, luaL_typename(L, index));
    return sim_lua_check_shape(L, index, word);
}

static int compound(lua_State *L, const char *word,
                    enum sim_status (*make)(struct sim_shape *, struct sim_shape *,
                                            struct sim_shape **))
{
    sim_lua_enter(L);
    struct sim_shape *a = part(L, 1, word), *b = part(L, 2, word);
    struct box *box = new_box(L);
    return finish(L, box, make(a, b, &box->shape));
}

static int shape_union(lua_State *L)
{
    return compound(L, "union (+)", sim_shape_union);
}

static int shape_intersection(lua_State *L)
{
    return compound(L, "intersection (*)", sim_shape_intersection);
}

static int shape_difference(lua_State *L)
{
    return compound(L, "difference (-)", sim_shape_difference);
}

static int shape_complement(lua_State *L)
{
    sim_lua_enter(L);
    struct sim_shape *a = part(L, 1, "complement (-)");
    struct box *box = new_box(L);
    return finish(L, box, sim_shape_complement(a, &box->shape));
}

/* ---- moved
 * ------------------------------------------------------------------------------- */

/* shape:move(dx, dy) -> a new shape */
static int shape_move(lua_State *L)
{
    sim_lua_enter(L);
    struct sim_shape *a = sim_lua_check_shape(L, 1, "move");
    double dx = sim_lua_number(L, 2, "move: dx"), dy = sim_lua_number(L, 3, "move: dy");
    struct box *box = new_box(L);
    return finish(L, box, sim_shape_move(a, dx, dy, &box->shape));
}

/* Argument `index`, or the middle of the shape; { 0, 0 } for one without bounds. */
static void read_about(lua_State *L, int index, const struct sim_shape *shape,
                       const char *what, double about[2])
{
    double b[4];
    about[0] = about[1] = 0;
    if (!lua_isnoneornil(L, index))
        read_pair(L, index, what, false, about);
    else if (sim_shape_bounds(shape, b)) {
        about[0] = 0.5 * (b[0] + b[2]);
        about[1] = 0.5 * (b[1] + b[3]);
    }
}

/* shape:rotate(degrees, about), counter-clockwise -> a new shape */
static int shape_rotate(lua_State *L)
{
    double about[2];
    sim_lua_enter(L);
    struct sim_shape *a = sim_lua_check_shape(L, 1, "rotate");
    double degrees = sim_lua_number(L, 2, "rotate: the angle");
    read_about(L, 3, a, "rotate: the point to turn about", about);
    struct box *box = new_box(L);
    return finish(L, box, sim_shape_rotate(a, degrees, about, &box->shape));
}

/* shape:scale(factor, about) -> a new shape */
static int shape_scale(lua_State *L)
{
    double about[2];
    sim_lua_enter(L);
    struct sim_shape *a = sim_lua_check_shape(L, 1, "scale");
    double factor = sim_lua_number(L, 2, "scale: the factor");
    read_about(L, 3, a, "scale: the point that stays", about);
    struct box *box = new_box(L);
    return finish(L, box, sim_shape_scale(a, factor, about, &box->shape));
}

/* ---- questions
 * --------------------------------------------------------------------------- */

/* shape:inside(x, y) -> true or false */
static int shape_inside(lua_State *L)
{
    const struct sim_shape *a = sim_lua_check_shape(L, 1, "inside");
    double x = sim_lua_number(L, 2, "inside: x"), y = sim_lua_number(L, 3, "inside: y");
    lua_pushboolean(L, sim_shape_inside(a, x, y));
    return 1;
}

/* shape:distance(x, y): to the edge, negative inside */
static int shape_distance(lua_State *L)
{
    const struct sim_shape *a = sim_lua_check_shape(L, 1, "distance");
    double x = sim_lua_number(L, 2, "distance: x"),
           y = sim_lua_number(L, 3, "distance: y");
    lua_pushnumber(L, sim_shape_distance(a, x, y));
    return 1;
}

/* shape:bounds() -> x0, y0, x1, y1; infinite where there is no bound */
static int shape_bounds(lua_State *L)
{
    double b[4];
    sim_shape_bounds(sim_lua_check_shape(L, 1, "bounds"), b);
    for (int k = 0; k < 4; k++)
        lua_pushnumber(L, b[k]);
    return 4;
}

/* ---- the words
 * --------------------------------------------------------------------------- */

static int missing_word(lua_State *L)
{
    static const char *const words[] = {
        "disc",  "box",   "polygon",      "half_plane", "gaussian",
        "image", "union", "intersection", "difference", "complement"};
    const char *word = luaL_tolstring(L, 2, NULL);
    const char *nearest = sim_nearest_word(word, words, sizeof words / sizeof *words);
    return sim_lua_error(L, "sim.shape has no word '%s'%s%s%s", word,
                         nearest ? "; did you mean '" : "", nearest ? nearest : "",
                         nearest ? "'?" : "");
}

void sim_lua_open_shape(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"move", shape_move},
        {"rotate", shape_rotate},
        {"scale", shape_scale},
        {"inside", shape_inside},
        {"bounds", shape_bounds},
        {"distance", shape_distance},
        {NULL, NULL},
    };
    static const luaL_Reg operators[] = {
        {"__add", shape_union},
        {"__mul", shape_intersection},
        {"__sub", shape_difference},
        {"__unm", shape_complement},
        {NULL, NULL},
    };
    static const luaL_Reg words[] = {
        {"disc", shape_disc},
        {"box", shape_box},
        {"polygon", shape_polygon},
        {"half_plane", shape_half_plane},
        {"gaussian", shape_gaussian},
        {"image", shape_image},
        {"union", shape_union},
        {"intersection", shape_intersection},
        {"difference", shape_difference},
        {"complement", shape_complement},
        {NULL, NULL},
    };
    sim_lua_class(L, CLASS, methods, NULL, shape_close, shape_tostring);
    luaL_getmetatable(L, CLASS);
    luaL_setfuncs(L, operators, 0);
    lua_pop(L, 1);
    luaL_newlib(L, words);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, missing_word);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    lua_setfield(L, -2, "shape");
}
