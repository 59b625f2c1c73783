/* lua_field_layers.c - what field:image { … } lays over its picture: arrows, grain, dots,
 * shade. Each is a table of the picture's, with fields among its words. */
#include "lua_image.h"

#include <math.h>
#include <string.h>

#define ARROWS_AT(member) offsetof(struct lua_arrows, member)

static const struct lua_param arrows_params[] = {
    {.name = "x",
     .kind = LUA_PARAM_VALUE,
     .present = ARROWS_AT(has_x),
     .help = "the field that is the component along x"},
    {.name = "y",
     .kind = LUA_PARAM_VALUE,
     .present = ARROWS_AT(has_y),
     .help = "the one along y; both of one precision, of any grid"},
    {.name = "speed",
     .kind = LUA_PARAM_NUMBER,
     .required = true,
     .max = HUGE_VAL,
     .min_open = true,
     .offset = ARROWS_AT(speed),
     .help = "the vector whose arrow is as long as the spacing; no arrow is longer than "
             "0.9 of it"},
    {.name = "spacing",
     .kind = LUA_PARAM_NUMBER,
     .unit = "pixels",
     .number = 32,
     .min = 8,
     .max = 720,
     .offset = ARROWS_AT(spacing),
     .help = "from one to the next, in a picture of 720 rows; it grows with the picture"},
    {.name = "color",
     .kind = LUA_PARAM_COLOR,
     .string = "#f4f4f6",
     .offset = ARROWS_AT(color),
     .help = "of the arrows"},
    {.name = "width",
     .kind = LUA_PARAM_NUMBER,
     .unit = "pixels",
     .number = 1.6,
     .max = 100,
     .min_open = true,
     .offset = ARROWS_AT(width),
     .help = "of a shaft, in a picture of 720 rows"},
};

const struct lua_param_set sim_field_arrows_set = {
    .name = "field:image: arrows",
    .summary = "arrows of a vector field over a picture of a field",
    .example = "f.vorticity:image { arrows = { x = f.u, y = f.v, speed = 1 } }",
    .params = arrows_params,
    .count = sizeof arrows_params / sizeof *arrows_params,
};

#define GRAIN_AT(member) offsetof(struct lua_grain, member)

static const struct lua_param grain_params[] = {
    {.name = "x",
     .kind = LUA_PARAM_VALUE,
     .present = GRAIN_AT(has_x),
     .help = "the field that is the component along x"},
    {.name = "y",
     .kind = LUA_PARAM_VALUE,
     .present = GRAIN_AT(has_y),
     .help = "the one along y; both of one precision, of any grid"},
    {.name = "length",
     .kind = LUA_PARAM_NUMBER,
     .unit = "pixels",
     .number = 40,
     .min = 2,
     .max = 720,
     .offset = GRAIN_AT(length),
     .help = "of a streak, in a picture of 720 rows; it grows with the picture"},
    {.name = "size",
     .kind = LUA_PARAM_NUMBER,
     .unit = "pixels",
     .number = 1.5,
     .max = 100,
     .min_open = true,
     .offset = GRAIN_AT(size),
     .help = "across a streak, in a picture of 720 rows; at least 1"},
    {.name = "strength",
     .kind = LUA_PARAM_NUMBER,
     .number = 0.5,
     .max = 1,
     .offset = GRAIN_AT(strength),
     .help = "of light and dark"},
};

const struct lua_param_set sim_field_grain_set = {
    .name = "field:image: grain",
    .summary = "light and dark streaks along a vector field, over a picture of a field "
               "(line integral convolution)",
    .example = "f.speed:image { grain = { x = f.u, y = f.v } }",
    .params = grain_params,
    .count = sizeof grain_params / sizeof *grain_params,
};

#define SHADE_AT(member) offsetof(struct lua_shade, member)

static const double unit_range[2] = {0, 1};

static const struct lua_param shade_params[] = {
    {.name = "of",
     .kind = LUA_PARAM_VALUE,
     .present = SHADE_AT(has_of),
     .help = "the other field, of any grid"},
    {.name = "range",
     .kind = LUA_PARAM_VECTOR,
     .count = 2,
     .vector = unit_range,
     .min = -HUGE_VAL,
     .max = HUGE_VAL,
     .offset = SHADE_AT(range),
     .help = "where nothing is laid on, and where nothing else is seen"},
    {.name = "color",
     .kind = LUA_PARAM_COLOR,
     .string = "#ffffff",
     .offset = SHADE_AT(color),
     .help = "what is laid on"},
};

const struct lua_param_set sim_field_shade_set = {
    .name = "field:image: shade",
    .summary = "a colour laid over a picture of a field, the more the larger another "
               "field is",
    .example = "f.dye:image { shade = { of = f:field \"markers\", range = { 0, 4 } } }",
    .params = shade_params,
    .count = sizeof shade_params / sizeof *shade_params,
};

#define DOTS_AT(member) offsetof(struct lua_dots, member)

static const struct lua_param dots_params[] = {
    {.name = "of",
     .kind = LUA_PARAM_VALUE,
     .present = DOTS_AT(has_of),
     .help = "the field that counts them, f:field(\"markers\")"},
    {.name = "size",
     .kind = LUA_PARAM_NUMBER,
     .unit = "pixels",
     .number = 2.5,
     .max = 100,
     .min_open = true,
     .offset = DOTS_AT(size),
     .help = "across, in a picture of 720 rows; at least 1"},
    {.name = "strength",
     .kind = LUA_PARAM_NUMBER,
     .number = 1,
     .max = 1,
     .offset = DOTS_AT(strength),
     .help = "1: nothing is seen through a dot"},
    {.name = "color",
     .kind = LUA_PARAM_COLOR,
     .string = "#ffffff",
     .offset = DOTS_AT(color),
     .help = "of the dots"},
};

const struct lua_param_set sim_field_dots_set = {
    .name = "field:image: dots",
    .summary = "markers where they are, over a picture of a field",
    .example = "f.dye:image { dots = { of = f:field \"markers\" } }",
    .params = dots_params,
    .count = sizeof dots_params / sizeof *dots_params,
};

/* ---- what the tables of declarations leave to be read --------------------------------
 */

struct sim_field *sim_lua_read_field(lua_State *L, const char *what, const char *key)
{
    if (lua_getfield(L, -1, key) != LUA_TUSERDATA)
        sim_lua_error(L, "field:image: %s: %s must be a field, got %s", what, key,
                      luaL_typename(L, -1));
    struct sim_field *field = sim_lua_check_field(L, lua_gettop(L), "image");
    lua_pop(L, 1);
    return field;
}

/* The components of the table `what`; false where it was not given. */
static bool read_vector(lua_State *L, bool given, const char *what, struct sim_field **x,
                        struct sim_field **y)
{
    if (!given)
        return false;
    lua_getfield(L, 2, what);
    *x = sim_lua_read_field(L, what, "x");
    *y = sim_lua_read_field(L, what, "y");
    lua_pop(L, 1);
    if ((*x)->is_double != (*y)->is_double)
        sim_lua_error(L, "field:image: %s: x and y must have one precision", what);
    return true;
}

static void read_arrows(lua_State *L, const struct lua_field_layers *d,
                        struct sim_field_arrows *to)
{
    if (!read_vector(L, d->has_arrows, "arrows", &to->x, &to->y))
        return;
    to->spacing = d->arrows.spacing, to->speed = d->arrows.speed;
    to->width = d->arrows.width;
    memcpy(to->color, d->arrows.color, sizeof to->color);
}

static void read_grain(lua_State *L, const struct lua_field_layers *d,
                       struct sim_field_grain *to)
{
    if (!read_vector(L, d->has_grain, "grain", &to->x, &to->y))
        return;
    to->size = d->grain.size, to->length = d->grain.length;
    to->strength = d->grain.strength;
}

static void read_shade(lua_State *L, const struct lua_field_layers *d,
                       struct sim_field_shade *to)
{
    if (!d->has_shade)
        return;
    lua_getfield(L, 2, "shade");
    to->field = sim_lua_read_field(L, "shade", "of");
    lua_pop(L, 1);
    memcpy(to->range, d->shade.range, sizeof to->range);
    memcpy(to->color, d->shade.color, sizeof to->color);
    if (to->range[0] == to->range[1])
        sim_lua_error(L, "field:image: shade: the ends of range must differ");
}

static void read_dots(lua_State *L, const struct lua_field_layers *d,
                      struct sim_field_dots *to)
{
    if (!d->has_dots)
        return;
    lua_getfield(L, 2, "dots");
    to->field = sim_lua_read_field(L, "dots", "of");
    lua_pop(L, 1);
    if (!to->field->points)
        sim_lua_error(L, "field:image: dots: of must count points, as "
                         "f:field(\"markers\") does");
    to->size = d->dots.size, to->strength = d->dots.strength;
    memcpy(to->color, d->dots.color, sizeof to->color);
}

void sim_lua_read_layers(lua_State *L, const struct lua_field_layers *d,
                         struct sim_field_picture *to)
{
    read_arrows(L, d, &to->arrows);
    read_grain(L, d, &to->grain);
    read_shade(L, d, &to->shade);
    read_dots(L, d, &to->dots);
}
