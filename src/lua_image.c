/* lua_image.c - pictures as scripts see them: label, scalebar, save, pixel. What makes
 * them is elsewhere: stars:image { … } in lua_view.c. */
#include "lua_image.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "label.h"

#define CLASS LUA_IMAGE_CLASS

/* ---- the object -----------------------------------------------------------------------
 */

struct sim_image *sim_lua_check_image(lua_State *L, int index, const char *method)
{
    struct lua_image_box *box = sim_lua_check(L, index, CLASS, method);
    return &box->image;
}

static int image_close(lua_State *L)
{
    struct lua_image_box *box = luaL_testudata(L, 1, CLASS);
    if (box && box->open) {
        box->open = false;
        sim_image_free(&box->image);
    }
    return 0;
}

static int image_tostring(lua_State *L)
{
    const struct lua_image_box *box = luaL_checkudata(L, 1, CLASS);
    if (!box->open)
        lua_pushliteral(L, CLASS " (closed)");
    else
        lua_pushfstring(L, CLASS " (%d x %d, %s)", box->image.width, box->image.height,
                        box->image.subject);
    return 1;
}

static int get_width(lua_State *L)
{
    lua_pushinteger(L, sim_lua_check_image(L, 1, "width")->width);
    return 1;
}

static int get_height(lua_State *L)
{
    lua_pushinteger(L, sim_lua_check_image(L, 1, "height")->height);
    return 1;
}

/* "file:line" of the user's code, or "". */
static void user_line(lua_State *L, char *where, size_t size)
{
    sim_lua_where(L);
    snprintf(where, size, "%s", lua_tostring(L, -1));
    size_t length = strlen(where);
    if (length >= 2 && !strcmp(where + length - 2, ": "))
        where[length - 2] = '\0';
    lua_pop(L, 1);
}

/* image:save(path) -> image; the file is written behind the script's back. */
static int image_save(lua_State *L)
{
    int64_t ticket;
    sim_lua_enter(L);
    const struct sim_image *image = sim_lua_check_image(L, 1, "save");
    if (lua_type(L, 2) != LUA_TSTRING)
        return sim_lua_error(L, "save: the path must be a string, got %s",
                             luaL_typename(L, 2));
    struct sim_frames *frames = sim_lua_frames(L);
    char where[256];
    user_line(L, where, sizeof where);
    enum sim_status status =
        sim_frames_save(frames, image, lua_tostring(L, 2), where, &ticket);
    size_t length = strlen(where);
    if (status != SIM_OK && length && !strncmp(sim_error_text(), where, length))
        status = sim_fail(status, "%s", sim_error_text() + length + 2); /* said once */
    sim_lua_try(L, status);
    lua_settop(L, 1);
    return 1;
}

/* image:pixel(x, y) -> r, g, b; from the upper left, 0 and up. Waits. */
static int image_pixel(lua_State *L)
{
    uint8_t rgb[3];
    sim_lua_enter(L);
    const struct sim_image *image = sim_lua_check_image(L, 1, "pixel");
    int64_t x = sim_lua_integer(L, 2, "pixel: x", 0, image->width - 1);
    int64_t y = sim_lua_integer(L, 3, "pixel: y", 0, image->height - 1);
    sim_lua_try(L, sim_buffer_read(&image->pixels, (size_t)(y * image->width + x) * 3,
                                   rgb, sizeof rgb));
    for (int c = 0; c < 3; c++)
        lua_pushinteger(L, rgb[c]);
    return 3;
}

/* ---- text -----------------------------------------------------------------------------
 */

struct text_desc {
    const char *text;
    double length, size, color[3];
    bool has_length, has_position;
};

#define TEXT_AT(member) offsetof(struct text_desc, member)

#define TEXT_PARAMS                                                                      \
    {.name = "position",                                                                 \
     .kind = LUA_PARAM_VALUE,                                                            \
     .present = TEXT_AT(has_position),                                                   \
     .help = "\"top left\", \"bottom\", … or { x, y }, fractions of the picture, y up"}, \
        {.name = "size",                                                                 \
         .kind = LUA_PARAM_NUMBER,                                                       \
         .number = SIM_LABEL_SIZE,                                                       \
         .max = 720,                                                                     \
         .min_open = true,                                                               \
         .offset = TEXT_AT(size),                                                        \
         .unit = "pixels",                                                               \
         .help = "of the letters, in a picture of 720 rows; it grows with the picture"}, \
    {                                                                                    \
        .name = "color", .kind = LUA_PARAM_COLOR, .string = "#ebebf2",                   \
        .offset = TEXT_AT(color), .help = "of the strokes"                               \
    }

static const struct lua_param label_params[] = {
    {.name = "text",
     .kind = LUA_PARAM_STRING,
     .required = true,
     .offset = TEXT_AT(text),
     .help = "what to write, at most 200 letters; \\n begins a new line"},
    TEXT_PARAMS,
};

static const struct lua_param scalebar_params[] = {
    {.name = "length",
     .kind = LUA_PARAM_NUMBER,
     .unit = "length",
     .max = HUGE_VAL,
     .min_open = true,
     .number = 1,
     .offset = TEXT_AT(length),
     .present = TEXT_AT(has_length),
     .help = "of the bar; if not given, a round number near a fifth of the width"},
    {.name = "text",
     .kind = LUA_PARAM_STRING,
     .offset = TEXT_AT(text),
     .help = "over the bar, with %s for the length; if not given, the length"},
    TEXT_PARAMS,
};

const struct lua_param_set sim_image_label_set = {
    .name = "image:label",
    .summary = "write on a picture",
    .example = "image:label { text = \"t = 1.5\", position = \"top left\" }",
    .params = label_params,
    .count = sizeof label_params / sizeof *label_params,
};

const struct lua_param_set sim_image_scalebar_set = {
    .name = "image:scalebar",
    .summary = "draw a bar that shows the scale",
    .example = "image:scalebar { length = 2, text = \"%s kpc\" }",
    .params = scalebar_params,
    .count = sizeof scalebar_params / sizeof *scalebar_params,
};

/* "top left" and the like; false for a word that is none. */
static bool anchor(const char *words, double position[2])
{
    static const struct {
        const char *word;
        int axis;
        double at;
    } known[] = {{"left", 0, 0}, {"right", 0, 1}, {"bottom", 1, 0}, {"top", 1, 1}};
    bool used[2] = {false, false};
    char text[32];
    if (strlen(words) >= sizeof text)
        return false;
    strcpy(text, words);
    position[0] = position[1] = 0.5;
    if (!strcmp(text, "centre"))
        return true;
    int count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        int k = 0;
        while (k < 4 && strcmp(word, known[k].word) != 0)
            k++;
        if (k == 4 || used[known[k].axis])
            return false;
        used[known[k].axis] = true;
        position[known[k].axis] = known[k].at;
        count++;
    }
    return count > 0;
}

/* The value `position` of the table at 2, or the fallback. */
static void read_position(lua_State *L, const char *method, bool given,
                          const char *fallback, double position[2])
{
    anchor(fallback, position);
    if (!given)
        return;
    lua_getfield(L, 2, "position");
    if (lua_istable(L, -1)) {
        static const double none[2] = {0, 0};
        const struct lua_param param = {.name = "position",
                                        .kind = LUA_PARAM_VECTOR,
                                        .count = 2,
                                        .min = 0,
                                        .max = 1,
                                        .vector = none};
        const struct lua_param_set set = {.name = method, .params = &param, .count = 1};
        lua_createtable(L, 0, 1);
        lua_insert(L, -2);
        lua_setfield(L, -2, "position");
        sim_lua_read(L, lua_gettop(L), &set, position);
    } else if (lua_type(L, -1) != LUA_TSTRING || !anchor(lua_tostring(L, -1), position))
        sim_lua_error(
            L,
            "%s: position must be \"centre\", words of top, bottom, left, right "
            "such as \"top left\", or { x, y } from 0 to 1",
            method);
    lua_pop(L, 1);
}

static int image_label(lua_State *L)
{
    struct text_desc desc = {0};
    struct sim_label label = {0};
    sim_lua_enter(L);
    struct sim_image *image = sim_lua_check_image(L, 1, "label");
    lua_settop(L, 2);
    sim_lua_read(L, 2, &sim_image_label_set, &desc);
    read_position(L, "image:label", desc.has_position, "top left", label.position);
    label.text = desc.text;
    label.size = desc.size;
    memcpy(label.color, desc.color, sizeof label.color);
    sim_lua_try(L, sim_image_label(image, &label));
    lua_settop(L, 1);
    return 1;
}

static int image_scalebar(lua_State *L)
{
    struct text_desc desc = {0};
    struct sim_scalebar bar = {0};
    sim_lua_enter(L);
    struct sim_image *image = sim_lua_check_image(L, 1, "scalebar");
    lua_settop(L, 2);
    sim_lua_read(L, 2, &sim_image_scalebar_set, &desc);
    read_position(L, "image:scalebar", desc.has_position, "bottom right", bar.position);
    bar.length = desc.has_length ? desc.length : 0;
    bar.text = desc.text;
    bar.size = desc.size;
    memcpy(bar.color, desc.color, sizeof bar.color);
    sim_lua_try(L, sim_image_scalebar(image, &bar));
    lua_settop(L, 1);
    return 1;
}

void sim_lua_open_image(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"label", image_label}, {"scalebar", image_scalebar},     {"save", image_save},
        {"pixel", image_pixel}, {"beside", sim_lua_image_beside}, {NULL, NULL},
    };
    static const luaL_Reg getters[] = {
        {"width", get_width}, {"height", get_height}, {NULL, NULL}};
    sim_lua_class(L, CLASS, methods, getters, image_close, image_tostring);
}
