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
    struct lua_field_layers layers;
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
     .offset = AT(layers.arrows),
     .present = AT(layers.has_arrows),
     .help = "arrows of a vector field"},
    {.name = "grain",
     .kind = LUA_PARAM_TABLE,
     .set = &sim_field_grain_set,
     .offset = AT(layers.grain),
     .present = AT(layers.has_grain),
     .help = "streaks along a vector field"},
    {.name = "dots",
     .kind = LUA_PARAM_TABLE,
     .set = &sim_field_dots_set,
     .offset = AT(layers.dots),
     .present = AT(layers.has_dots),
     .help = "markers of a flow"},
    {.name = "shade",
     .kind = LUA_PARAM_TABLE,
     .set = &sim_field_shade_set,
     .offset = AT(layers.shade),
     .present = AT(layers.has_shade),
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

static void read_contour_field(lua_State *L, struct desc *d)
{
    if (!d->has_contours || !d->contours.has_of)
        return;
    lua_getfield(L, 2, "contours");
    d->picture.contour_field = sim_lua_read_field(L, "contours", "of");
    lua_pop(L, 1);
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
    sim_lua_read_layers(L, &d->layers, &d->picture);
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
