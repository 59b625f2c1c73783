/* lua_field_image.c - field:image { … } and image:beside(other). */
#include "lua_image.h"

#include <math.h>
#include <string.h>

#include "field_image.h"

struct desc {
    struct sim_field_picture picture;
    double size[2];
    int64_t scale, map;
    struct {
        double color[3], width;
        bool has_levels, has_of;
    } contours;
    struct arrows_desc {
        double spacing, speed, color[3], width;
        bool has_x, has_y;
    } arrows;
    struct grain_desc {
        double size, length, strength;
        bool has_x, has_y;
    } grain;
    struct shade_desc {
        double range[2], color[3];
        bool has_of;
    } shade;
    bool has_arrows, has_grain, has_shade;
    bool has_size, has_from, has_to, has_range, has_smooth, has_contours, has_bar;
};

#define AT(member) offsetof(struct desc, member)

static const double zero[2] = {0, 0};

static const struct lua_param contours_params[] = {
    {.name = "levels",
     .kind = LUA_PARAM_VALUE,
     .required = true,
     .present = AT(contours.has_levels) - AT(contours),
     .help =
         "how many, evenly within the range, or their values, { 0.1, 0.5 }; at most 64"},
    {.name = "of",
     .kind = LUA_PARAM_VALUE,
     .present = AT(contours.has_of) - AT(contours),
     .help = "another field whose lines they are, of any grid; a number of levels is "
             "within the range of its values at the first picture"},
    {.name = "color",
     .kind = LUA_PARAM_COLOR,
     .string = "#f4f4f6",
     .offset = AT(contours.color) - AT(contours),
     .help = "of the lines"},
    {.name = "width",
     .kind = LUA_PARAM_NUMBER,
     .unit = "pixels",
     .number = 1.2,
     .max = 100,
     .min_open = true,
     .offset = AT(contours.width) - AT(contours),
     .help = "of the lines, in a picture of 720 rows; it grows with the picture"},
};

const struct lua_param_set sim_field_contours_set = {
    .name = "field:image: contours",
    .summary = "lines of equal value over a picture of a field",
    .example = "u:image { contours = { levels = 9 } }",
    .params = contours_params,
    .count = sizeof contours_params / sizeof *contours_params,
};

#define ARROWS_AT(member) offsetof(struct arrows_desc, member)

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

#define GRAIN_AT(member) offsetof(struct grain_desc, member)

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

#define SHADE_AT(member) offsetof(struct shade_desc, member)

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

struct bar_desc {
    const char *label;
    int64_t ticks;
    double color[3], size;
};

static const struct lua_param bar_params[] = {
    {.name = "label",
     .kind = LUA_PARAM_STRING,
     .offset = offsetof(struct bar_desc, label),
     .help = "written over the bar"},
    {.name = "ticks",
     .kind = LUA_PARAM_INTEGER,
     .number = 5,
     .min = 1,
     .max = 20,
     .offset = offsetof(struct bar_desc, ticks),
     .help = "about so many round numbers stand beside the bar"},
    {.name = "color",
     .kind = LUA_PARAM_COLOR,
     .string = "#ebebf2",
     .offset = offsetof(struct bar_desc, color),
     .help = "of the letters and the rim"},
    {.name = "size",
     .kind = LUA_PARAM_NUMBER,
     .unit = "pixels",
     .number = 20,
     .max = 720,
     .min_open = true,
     .offset = offsetof(struct bar_desc, size),
     .help = "of the letters, in a picture of 720 rows; it grows with the picture"},
};

const struct lua_param_set sim_field_colorbar_set = {
    .name = "field:image: colorbar",
    .summary = "the colour map with its numbers, at the right of a picture of a field",
    .example = "u:image { colorbar = { label = \"T\" } }",
    .params = bar_params,
    .count = sizeof bar_params / sizeof *bar_params,
};

static const struct lua_param image_params[] = {
    {.name = "size",
     .kind = LUA_PARAM_VECTOR,
     .count = 2,
     .min = 1,
     .max = SIM_IMAGE_MAX,
     .vector = zero,
     .unit = "pixels",
     .offset = AT(size),
     .present = AT(has_size),
     .help = "width and height of the picture; the field keeps its shape in it. If not "
             "given, by scale"},
    {.name = "scale",
     .kind = LUA_PARAM_INTEGER,
     .max = 1024,
     .offset = AT(scale),
     .unit = "pixels",
     .help = "of a cell's width; 0: so that about 1280 x 720 are filled"},
    {.name = "from",
     .kind = LUA_PARAM_VECTOR,
     .count = 2,
     .unit = "length",
     .vector = zero,
     .offset = AT(picture.from),
     .present = AT(has_from),
     .help = "lower left corner of what is shown; all when absent"},
    {.name = "to",
     .kind = LUA_PARAM_VECTOR,
     .count = 2,
     .unit = "length",
     .vector = zero,
     .offset = AT(picture.to),
     .present = AT(has_to),
     .help = "upper right corner of what is shown"},
    {.name = "map",
     .kind = LUA_PARAM_CHOICE,
     .words = sim_map_words,
     .number = SIM_MAP_VIRIDIS,
     .offset = AT(map),
     .help = "colours; coolwarm and ember have a middle"},
    {.name = "range",
     .kind = LUA_PARAM_VALUE,
     .present = AT(has_range),
     .help =
         "{ low, high }, the values at the map's ends; \"auto\", as when absent: those "
         "of the field at its first picture, and kept; from -a to a for a map with a "
         "middle"},
    {.name = "smooth",
     .kind = LUA_PARAM_VALUE,
     .present = AT(has_smooth),
     .help = "true (as when absent) or \"cubic\": between cells by a cubic spline; "
             "\"linear\"; false: cells as squares"},
    {.name = "mask_color",
     .kind = LUA_PARAM_COLOR,
     .string = "#3a3a42",
     .offset = AT(picture.mask_color),
     .help = "of cells that take no part"},
    {.name = "background",
     .kind = LUA_PARAM_COLOR,
     .string = "#101014",
     .offset = AT(picture.background),
     .help = "around the field"},
    {.name = "contours",
     .kind = LUA_PARAM_TABLE,
     .set = &sim_field_contours_set,
     .offset = AT(contours),
     .present = AT(has_contours),
     .help = "lines of equal value, of this field or another"},
    {.name = "arrows",
     .kind = LUA_PARAM_TABLE,
     .set = &sim_field_arrows_set,
     .offset = AT(arrows),
     .present = AT(has_arrows),
     .help = "arrows of a vector field"},
    {.name = "grain",
     .kind = LUA_PARAM_TABLE,
     .set = &sim_field_grain_set,
     .offset = AT(grain),
     .present = AT(has_grain),
     .help = "streaks along a vector field"},
    {.name = "shade",
     .kind = LUA_PARAM_TABLE,
     .set = &sim_field_shade_set,
     .offset = AT(shade),
     .present = AT(has_shade),
     .help = "a colour by the values of another field, under lines and arrows"},
    {.name = "colorbar",
     .kind = LUA_PARAM_VALUE,
     .present = AT(has_bar),
     .help = "true, or a table as by simlua --help \"field:image: colorbar\""},
};

const struct lua_param_set sim_field_image_set = {
    .name = "field:image",
    .summary = "make a picture of a field, on the device",
    .example =
        "u:image { scale = 4, map = \"inferno\", range = { 0, 1 } }:save(\"u.png\")",
    .params = image_params,
    .count = sizeof image_params / sizeof *image_params,
};

/* ---- what the table of declarations leaves to be read
 * ------------------------------------ */

static void read_size(lua_State *L, struct desc *d)
{
    sim_lua_check_whole(L, "field:image: size", d->size);
    if (d->has_size && d->scale)
        sim_lua_error(L, "field:image: give size or scale, not both");
    if (d->has_from != d->has_to ||
        (d->has_from && !(d->picture.from[0] < d->picture.to[0] &&
                          d->picture.from[1] < d->picture.to[1])))
        sim_lua_error(L,
                      "field:image: from and to belong together, the lower left and the "
                      "upper right corner");
    d->picture.width = (int)d->size[0];
    d->picture.height = (int)d->size[1];
    d->picture.scale = (int)d->scale;
}

static void read_range(lua_State *L, struct desc *d)
{
    d->picture.automatic = true;
    if (!d->has_range)
        return;
    lua_getfield(L, 2, "range");
    const char *word = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    if (strcmp(word, "auto") != 0) {
        if (!lua_istable(L, -1) || lua_rawlen(L, -1) != 2)
            sim_lua_error(L,
                          "field:image: range must be { low, high } or \"auto\", got %s",
                          lua_type(L, -1) == LUA_TSTRING ? word : luaL_typename(L, -1));
        d->picture.automatic = false;
        sim_lua_numbers(L, -1, "field:image: range", 2, d->picture.range);
        if (!(d->picture.range[0] < d->picture.range[1]))
            sim_lua_error(L,
                          "field:image: range must go from low to high, got { %f, %f }",
                          d->picture.range[0], d->picture.range[1]);
    }
    lua_pop(L, 1);
}

static void read_smooth(lua_State *L, struct desc *d)
{
    static const char *const words[] = {"linear", "cubic"};
    static const enum sim_picture_filter filters[] = {SIM_FILTER_LINEAR,
                                                      SIM_FILTER_CUBIC};
    d->picture.filter = SIM_FILTER_CUBIC;
    if (!d->has_smooth)
        return;
    lua_getfield(L, 2, "smooth");
    const char *word = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    int k = 0;
    while (k < 2 && strcmp(word, words[k]) != 0)
        k++;
    if (k == 2 && !lua_isboolean(L, -1))
        sim_lua_error(L,
                      "field:image: smooth must be true, false, \"linear\" or \"cubic\", "
                      "got %s",
                      luaL_tolstring(L, -1, NULL));
    if (k < 2)
        d->picture.filter = filters[k];
    else if (!lua_toboolean(L, -1))
        d->picture.filter = SIM_FILTER_CELLS;
    lua_pop(L, 1);
}

static void read_level_list(lua_State *L, struct sim_field_picture *p)
{
    lua_Unsigned count = lua_rawlen(L, -1);
    if (count < 1 || count > SIM_CONTOURS_MAX)
        sim_lua_error(L, "field:image: contours: from 1 to %d levels", SIM_CONTOURS_MAX);
    for (; p->contour_count < (int)count; p->contour_count++) {
        lua_rawgeti(L, -1, p->contour_count + 1);
        p->contour[p->contour_count] =
            sim_lua_number(L, -1, "field:image: contours: a level");
        lua_pop(L, 1);
    }
}

static void read_contours(lua_State *L, struct desc *d)
{
    if (!d->has_contours)
        return;
    memcpy(d->picture.contour_color, d->contours.color, sizeof d->contours.color);
    d->picture.contour_width = d->contours.width;
    lua_getfield(L, 2, "contours");
    lua_getfield(L, -1, "levels");
    if (lua_istable(L, -1))
        read_level_list(L, &d->picture);
    else
        d->picture.levels = (int)sim_lua_integer(
            L, -1, "field:image: contours: the number of levels", 1, SIM_CONTOURS_MAX);
    lua_pop(L, 2);
}

/* The field `key` of the table on the stack's top; it lives as long as the script's. */
static struct sim_field *read_field(lua_State *L, const char *what, const char *key)
{
    if (lua_getfield(L, -1, key) != LUA_TUSERDATA)
        sim_lua_error(L, "field:image: %s: %s must be a field, got %s", what, key,
                      luaL_typename(L, -1));
    struct sim_field *field = sim_lua_check_field(L, lua_gettop(L), "image");
    lua_pop(L, 1);
    return field;
}

static void read_contour_field(lua_State *L, struct desc *d)
{
    if (!d->has_contours || !d->contours.has_of)
        return;
    lua_getfield(L, 2, "contours");
    d->picture.contour_field = read_field(L, "contours", "of");
    lua_pop(L, 1);
}

/* The components of the table `what`; false where it was not given. */
static bool read_vector(lua_State *L, bool given, const char *what, struct sim_field **x,
                        struct sim_field **y)
{
    if (!given)
        return false;
    lua_getfield(L, 2, what);
    *x = read_field(L, what, "x");
    *y = read_field(L, what, "y");
    lua_pop(L, 1);
    if ((*x)->is_double != (*y)->is_double)
        sim_lua_error(L, "field:image: %s: x and y must have one precision", what);
    return true;
}

static void read_arrows(lua_State *L, struct desc *d)
{
    struct sim_field_arrows *to = &d->picture.arrows;
    if (!read_vector(L, d->has_arrows, "arrows", &to->x, &to->y))
        return;
    to->spacing = d->arrows.spacing, to->speed = d->arrows.speed;
    to->width = d->arrows.width;
    memcpy(to->color, d->arrows.color, sizeof to->color);
}

static void read_grain(lua_State *L, struct desc *d)
{
    struct sim_field_grain *to = &d->picture.grain;
    if (!read_vector(L, d->has_grain, "grain", &to->x, &to->y))
        return;
    to->size = d->grain.size, to->length = d->grain.length;
    to->strength = d->grain.strength;
}

static void read_shade(lua_State *L, struct desc *d)
{
    struct sim_field_shade *to = &d->picture.shade;
    if (!d->has_shade)
        return;
    lua_getfield(L, 2, "shade");
    to->field = read_field(L, "shade", "of");
    lua_pop(L, 1);
    memcpy(to->range, d->shade.range, sizeof to->range);
    memcpy(to->color, d->shade.color, sizeof to->color);
    if (to->range[0] == to->range[1])
        sim_lua_error(L, "field:image: shade: the ends of range must differ");
}

/* The label lives as long as the script's table. */
static void read_bar(lua_State *L, struct desc *d)
{
    struct bar_desc bar = {0};
    if (!d->has_bar)
        return;
    lua_getfield(L, 2, "colorbar");
    if (!lua_isboolean(L, -1) && !lua_istable(L, -1))
        sim_lua_error(L, "field:image: colorbar must be true or a table, got %s",
                      luaL_typename(L, -1));
    d->picture.bar = lua_istable(L, -1) || lua_toboolean(L, -1);
    if (!lua_istable(L, -1))
        lua_newtable(L);
    sim_lua_read(L, lua_gettop(L), &sim_field_colorbar_set, &bar);
    if (bar.label && strlen(bar.label) >= SIM_BAR_LABEL)
        sim_lua_error(L, "field:image: colorbar: the label is longer than %d bytes",
                      SIM_BAR_LABEL - 1);
    d->picture.bar_label = bar.label;
    d->picture.ticks = (int)bar.ticks;
    d->picture.bar_size = bar.size;
    memcpy(d->picture.bar_color, bar.color, sizeof bar.color);
}

static void read_picture(lua_State *L, struct desc *d)
{
    sim_lua_read(L, 2, &sim_field_image_set, d);
    d->picture.map = (enum sim_map)d->map;
    read_size(L, d);
    read_range(L, d);
    read_smooth(L, d);
    read_contours(L, d);
    read_contour_field(L, d);
    read_arrows(L, d);
    read_grain(L, d);
    read_shade(L, d);
    read_bar(L, d);
}

int sim_lua_field_image(lua_State *L)
{
    struct desc d = {0};
    sim_lua_enter(L);
    struct sim_field *field = sim_lua_check_field(L, 1, "image");
    lua_settop(L, 2);
    read_picture(L, &d);
    struct lua_image_box *box = sim_lua_box(L, sizeof *box, LUA_IMAGE_CLASS, 0);
    sim_lua_will_allocate(L, d.has_size ? (size_t)(d.size[0] * d.size[1]) * 3
                                        : (size_t)1280 * 720 * 3);
    enum sim_status status = sim_field_image(field, &d.picture, &box->image);
    if (status == SIM_DEVICE_MEMORY) {
        sim_lua_collect(L);
        status = sim_field_image(field, &d.picture, &box->image);
    }
    sim_lua_try(L, status);
    box->open = true;
    return 1;
}

/* ---- side by side
 * ------------------------------------------------------------------------ */

struct beside_desc {
    int64_t gap;
    double background[3];
};

static const struct lua_param beside_params[] = {
    {.name = "gap",
     .kind = LUA_PARAM_INTEGER,
     .unit = "pixels",
     .number = 8,
     .max = 4096,
     .offset = offsetof(struct beside_desc, gap),
     .help = "between the two"},
    {.name = "background",
     .kind = LUA_PARAM_COLOR,
     .string = "#101014",
     .offset = offsetof(struct beside_desc, background),
     .help = "of the gap"},
};

const struct lua_param_set sim_image_beside_set = {
    .name = "image:beside",
    .summary =
        "a new picture of two: image:beside(other) or sim.image.beside(a, b), with a "
        "table of these as the last argument",
    .example = "u:image { scale = 2 }:beside(v:image { scale = 2 }, { gap = 16 })",
    .params = beside_params,
    .count = sizeof beside_params / sizeof *beside_params,
};

int sim_lua_image_beside(lua_State *L)
{
    struct beside_desc d = {0};
    sim_lua_enter(L);
    const struct sim_image *a = sim_lua_check_image(L, 1, "beside");
    const struct sim_image *b = sim_lua_check_image(L, 2, "beside");
    lua_settop(L, 3);
    sim_lua_read(L, 3, &sim_image_beside_set, &d);
    struct lua_image_box *box = sim_lua_box(L, sizeof *box, LUA_IMAGE_CLASS, 0);
    sim_lua_will_allocate(L, a->pixels.bytes + b->pixels.bytes);
    enum sim_status status =
        sim_image_beside(a, b, (int)d.gap, d.background, &box->image);
    if (status == SIM_DEVICE_MEMORY) {
        sim_lua_collect(L);
        status = sim_image_beside(a, b, (int)d.gap, d.background, &box->image);
    }
    sim_lua_try(L, status);
    box->open = true;
    return 1;
}
