/* lua_view.c - stars:image { … }: the declared parameters of a view, groups chosen and
 * coloured by their names. */
#include "lua_image.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view.h"

/* ---- stars:image ----------------------------------------------------------------------
 */

struct desc {
    double size[2];
    struct sim_view view;
    int64_t supersample, projection;
    double distance, fov;
    const char *follow;
    bool has_map, has_colors, has_show, has_hide, has_distance, has_fov;
};

static const char *const projection_words[] = {"orthographic", "perspective", NULL};
static const char *const tone_words[] = {"asinh", "log", "linear", NULL};
static const double default_size[2] = {1280, 720};

#define AT(member) offsetof(struct desc, member)

static const struct lua_param image_params[] = {
    {.name = "size",
     .kind = LUA_PARAM_VECTOR,
     .count = 2,
     .min = 1,
     .max = SIM_IMAGE_MAX,
     .vector = default_size,
     .unit = "pixels",
     .offset = AT(size),
     .help = "width and height of the picture"},
    {.name = "width",
     .kind = LUA_PARAM_NUMBER,
     .required = true,
     .unit = "length",
     .max = HUGE_VAL,
     .min_open = true,
     .offset = AT(view.width),
     .help = "what the picture shows from left to right"},
    {.name = "centre",
     .kind = LUA_PARAM_VECTOR,
     .count = 3,
     .min_count = 2,
     .unit = "length",
     .offset = AT(view.centre),
     .help = "the point in the middle; with follow, counted from what is followed"},
    {.name = "rotate",
     .kind = LUA_PARAM_VECTOR,
     .count = 3,
     .unit = "degrees",
     .offset = AT(view.rotate),
     .help = "turns about the picture's x axis, then y (up), then z (to the viewer)"},
    {.name = "projection",
     .kind = LUA_PARAM_CHOICE,
     .words = projection_words,
     .offset = AT(projection),
     .help = "whether near bodies look larger and brighter"},
    {.name = "distance",
     .kind = LUA_PARAM_NUMBER,
     .unit = "length",
     .max = HUGE_VAL,
     .min_open = true,
     .number = 1,
     .offset = AT(distance),
     .present = AT(has_distance),
     .help = "perspective: of the viewer from the middle; if not given, from fov"},
    {.name = "fov",
     .kind = LUA_PARAM_NUMBER,
     .unit = "degrees",
     .min = 1,
     .max = 150,
     .number = 40,
     .offset = AT(fov),
     .present = AT(has_fov),
     .help = "perspective: the angle that the picture's width fills"},
    {.name = "follow",
     .kind = LUA_PARAM_STRING,
     .offset = AT(follow),
     .help =
         "keep the mass centre of these groups in the middle: a group's name, its first "
         "or last part, or \"all\""},
    {.name = "show",
     .kind = LUA_PARAM_VALUE,
     .present = AT(has_show),
     .help = "the groups to draw, { \"A\", \"B.disc\" }; if not given, all but halos"},
    {.name = "hide",
     .kind = LUA_PARAM_VALUE,
     .present = AT(has_hide),
     .help = "groups not to draw"},
    {.name = "colors",
     .kind = LUA_PARAM_VALUE,
     .present = AT(has_colors),
     .help =
         "colours by group, { A = \"#ffd0a0\", [\"B.bulge\"] = { 0.6, 0.8, 1 } }; the "
         "most exact name counts, what is not named is white"},
    {.name = "map",
     .kind = LUA_PARAM_CHOICE,
     .words = sim_map_words,
     .offset = AT(view.map),
     .present = AT(has_map),
     .help = "without colors: the colour map of the total light"},
    {.name = "exposure",
     .kind = LUA_PARAM_NUMBER,
     .number = 1,
     .max = HUGE_VAL,
     .min_open = true,
     .offset = AT(view.exposure),
     .help = "brightness; twice as much is one stop"},
    {.name = "stretch",
     .kind = LUA_PARAM_NUMBER,
     .number = 40,
     .max = 1e9,
     .min_open = true,
     .offset = AT(view.stretch),
     .help = "how far faint light is lifted by asinh and log"},
    {.name = "tone",
     .kind = LUA_PARAM_CHOICE,
     .words = tone_words,
     .offset = AT(view.tone),
     .help = "the curve from light to brightness"},
    {.name = "point_size",
     .kind = LUA_PARAM_NUMBER,
     .number = 1,
     .min = 0.05,
     .max = 100,
     .offset = AT(view.point_size),
     .help = "of a body's disc: 1 is a radius of 2 pixels in 720 rows"},
    {.name = "glow",
     .kind = LUA_PARAM_NUMBER,
     .number = 0.8,
     .max = 1,
     .offset = AT(view.glow),
     .help = "share of the light that is spread around"},
    {.name = "supersample",
     .kind = LUA_PARAM_INTEGER,
     .number = 1,
     .min = 1,
     .max = 4,
     .offset = AT(supersample),
     .help = "cells a pixel and side, for small sharp points"},
};

const struct lua_param_set sim_bodies_image_set = {
    .name = "bodies:image",
    .summary = "a picture of the bodies as they are now, made on the device",
    .example = "stars:image { size = { 1280, 720 }, width = 12, map = \"inferno\" }",
    .params = image_params,
    .count = sizeof image_params / sizeof *image_params,
};

static uint64_t select_groups(lua_State *L, const struct sim_bodies *b, const char *word)
{
    return sim_lua_select_groups(L, b, word, "bodies:image");
}

/* One of show, hide: a group word or a list of them, at the top of the stack. */
static uint64_t read_groups(lua_State *L, const struct sim_bodies *b, const char *key)
{
    uint64_t groups = 0;
    if (lua_type(L, -1) == LUA_TSTRING)
        return select_groups(L, b, lua_tostring(L, -1));
    if (!lua_istable(L, -1))
        sim_lua_error(
            L, "bodies:image: %s must be a group's name or a list of names, got %s", key,
            luaL_typename(L, -1));
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TNUMBER || lua_type(L, -1) != LUA_TSTRING)
            sim_lua_error(L,
                          "bodies:image: %s must be a list of group names, "
                          "{ \"A\", \"B.disc\" }",
                          key);
        groups |= select_groups(L, b, lua_tostring(L, -1));
    }
    return groups;
}

static bool is_halo(const char *name)
{
    const char *dot = strrchr(name, '.');
    return !strcmp(dot ? dot + 1 : name, "halo");
}

static uint64_t all_but_halos(const struct sim_bodies *b)
{
    uint64_t groups = 0;
    for (int g = 0; g < b->group_count; g++)
        if (!is_halo(b->groups[g].name))
            groups |= (uint64_t)1 << g;
    return groups ? groups : SIM_ALL_GROUPS;
}

static void read_visible(lua_State *L, const struct sim_bodies *b, struct desc *desc)
{
    desc->view.visible = all_but_halos(b);
    if (desc->has_show) {
        lua_getfield(L, 2, "show");
        desc->view.visible = read_groups(L, b, "show");
        lua_pop(L, 1);
    }
    if (desc->has_hide) {
        lua_getfield(L, 2, "hide");
        desc->view.visible &= ~read_groups(L, b, "hide");
        lua_pop(L, 1);
    }
}

/* How exactly a word means a group: 3 its name, 2 its last part, 1 its first, 0 "all". */
static int exactness(const char *name, const char *word)
{
    const char *dot = strrchr(name, '.');
    if (!strcmp(name, word))
        return 3;
    if (dot && !strcmp(dot + 1, word))
        return 2;
    return strcmp(word, "all") ? 1 : 0;
}

/* The most exact word's colour for each group, whatever the order of the table. */
static void paint_palette(lua_State *L, const struct sim_bodies *b, struct sim_view *view,
                          const struct lua_param *words, int count, double (*colors)[3])
{
    int best[SIM_PALETTE_MAX];
    for (int g = 0; g < SIM_PALETTE_MAX; g++) {
        best[g] = -1;
        for (int c = 0; c < 3; c++)
            view->palette[g][c] = 1;
    }
    for (int k = 0; k < count; k++) {
        uint64_t groups = select_groups(L, b, words[k].name);
        for (int g = 0; g < b->group_count; g++) {
            int exact = exactness(b->groups[g].name, words[k].name);
            if (!(groups >> g & 1) || exact <= best[g])
                continue;
            best[g] = exact;
            for (int c = 0; c < 3; c++)
                view->palette[g][c] = (float)colors[k][c];
        }
    }
}

/* colors: the script's own keys become a declaration, so that values are read and their
 * errors worded as everywhere. */
static void read_colors(lua_State *L, const struct sim_bodies *b, struct sim_view *view)
{
    struct lua_param words[SIM_PALETTE_MAX];
    double colors[SIM_PALETTE_MAX][3];
    struct lua_param_set set = {.name = "bodies:image: colors", .params = words};
    lua_getfield(L, 2, "colors");
    if (!lua_istable(L, -1))
        sim_lua_error(L,
                      "bodies:image: colors must be a table, { A = \"#ffd0a0\" }, got %s",
                      luaL_typename(L, -1));
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        const int k = set.count++;
        if (lua_type(L, -2) != LUA_TSTRING || k >= SIM_PALETTE_MAX)
            sim_lua_error(L,
                          "bodies:image: colors must be named by at most %d groups, "
                          "{ A = \"#ffd0a0\" }",
                          SIM_PALETTE_MAX);
        else
            words[k] = (struct lua_param){
                .name = lua_tostring(L, -2),
                .kind = LUA_PARAM_COLOR,
                .offset = (size_t)k * sizeof *colors,
            };
    }
    sim_lua_read(L, lua_gettop(L), &set, colors);
    paint_palette(L, b, view, words, set.count, colors);
    view->colored = true;
    lua_pop(L, 1);
}

static void read_projection(lua_State *L, struct desc *desc)
{
    if (desc->projection == 0 && (desc->has_distance || desc->has_fov))
        sim_lua_error(L,
                      "bodies:image: distance and fov need projection = \"perspective\"");
    if (desc->has_distance && desc->has_fov)
        sim_lua_error(L, "bodies:image: give distance or fov, not both");
    double half = desc->fov * (3.14159265358979323846 / 360);
    if (desc->projection == 1)
        desc->view.distance =
            desc->has_distance ? desc->distance : desc->view.width / 2 / tan(half);
}

static void read_view(lua_State *L, const struct sim_bodies *b, struct desc *desc)
{
    sim_lua_read(L, 2, &sim_bodies_image_set, desc);
    if (b->n == 0)
        sim_lua_error(L, "bodies:image: there are no bodies yet: use add");
    sim_lua_check_whole(L, "bodies:image: size", desc->size);
    if (desc->has_map && desc->has_colors)
        sim_lua_error(L, "bodies:image: give map or colors, not both");
    desc->view.supersample = (int)desc->supersample;
    read_projection(L, desc);
    read_visible(L, b, desc);
    if (desc->has_colors)
        read_colors(L, b, &desc->view);
    if (desc->follow)
        desc->view.follow = select_groups(L, b, desc->follow);
}

static enum sim_status picture(struct sim_bodies *b, const struct desc *desc,
                               struct sim_image *image)
{
    SIM_TRY(
        sim_image_new(b->nbody.device, (int)desc->size[0], (int)desc->size[1], image));
    snprintf(image->subject, sizeof image->subject, "%lld bodies", (long long)b->n);
    enum sim_status status = sim_view_bodies(b, &desc->view, image);
    if (status != SIM_OK)
        sim_image_free(image);
    return status;
}

int sim_lua_bodies_image(lua_State *L)
{
    struct desc desc = {0};
    sim_lua_enter(L);
    struct sim_bodies *b = sim_lua_check_bodies(L, 1, "image");
    lua_settop(L, 2);
    read_view(L, b, &desc);
    struct lua_image_box *box = sim_lua_box(L, sizeof *box, LUA_IMAGE_CLASS, 0);
    sim_lua_will_allocate(L, (size_t)desc.size[0] * (size_t)desc.size[1] * 3);
    enum sim_status status = picture(b, &desc, &box->image);
    if (status == SIM_DEVICE_MEMORY) {
        sim_lua_collect(L);
        status = picture(b, &desc, &box->image);
    }
    sim_lua_try(L, status);
    box->open = true;
    return 1;
}
