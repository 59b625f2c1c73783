/* lua_plot.c - lines and texts on a fresh picture, for lib/sim/plot.lua: a small
 * rasteriser on the host, whose picture is sent to the device once. A line covers a pixel
 * by the distance of the pixel's centre from it, so that edges are smooth: coverage is
 * clamp(width/2 + 1/2 - distance, 0, 1), mixed in display values.
 *
 * Not here: axes, ticks, scales (lib/sim/plot.lua). */
#include "lua_sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "label.h"
#include "lua_image.h"

struct canvas {
    int64_t width, height;
    uint8_t *pixels; /* rows from the top, 3 bytes a pixel */
};

struct pen {
    double color[3], width;
};

static void mix(uint8_t *pixel, const double color[3], double share)
{
    for (int k = 0; k < 3; k++) {
        double to = 255 * color[k];
        pixel[k] = (uint8_t)(pixel[k] + (to - pixel[k]) * share + 0.5);
    }
}

/* Distance of (x, y) from the segment a - b. */
static double distance(double x, double y, const double a[2], const double b[2])
{
    double dx = b[0] - a[0], dy = b[1] - a[1], length2 = dx * dx + dy * dy;
    double t = length2 > 0 ? ((x - a[0]) * dx + (y - a[1]) * dy) / length2 : 0;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return hypot(x - a[0] - t * dx, y - a[1] - t * dy);
}

static int64_t clamp(double value, int64_t most)
{
    return value < 0 ? 0 : value > (double)most ? most : (int64_t)value;
}

/* One segment; `skip` leaves out what the segment before has drawn (the round end at a).
 */
static void draw_segment(struct canvas *c, const struct pen *pen, const double a[2],
                         const double b[2], const double *skip)
{
    double reach = pen->width / 2 + 1;
    int64_t i0 = clamp(fmin(a[0], b[0]) - reach, c->width);
    int64_t i1 = clamp(fmax(a[0], b[0]) + reach + 1, c->width);
    int64_t j0 = clamp(fmin(a[1], b[1]) - reach, c->height);
    int64_t j1 = clamp(fmax(a[1], b[1]) + reach + 1, c->height);
    for (int64_t j = j0; j < j1; j++) {
        for (int64_t i = i0; i < i1; i++) {
            double x = (double)i + 0.5, y = (double)j + 0.5;
            double share = fmin(1, pen->width / 2 + 0.5 - distance(x, y, a, b));
            if (share <= 0)
                continue;
            double drawn =
                skip ? fmin(1, pen->width / 2 + 0.5 - distance(x, y, skip, a)) : 0;
            if (drawn < share) /* so that a joint is not darker than the line */
                mix(c->pixels + 3 * (j * c->width + i), pen->color,
                    drawn > 0 ? (share - drawn) / (1 - drawn) : share);
        }
    }
}

static double number_at(lua_State *L, int index, lua_Integer i)
{
    lua_rawgeti(L, index, i);
    double value = luaL_checknumber(L, -1);
    lua_pop(L, 1);
    return value;
}

/* { r, g, b, width, x1, y1, x2, y2, … } */
static void draw_line(lua_State *L, struct canvas *c)
{
    const int at = lua_gettop(L);
    const lua_Integer count = (lua_Integer)lua_rawlen(L, at);
    struct pen pen = {.width = number_at(L, at, 4)};
    double points[3][2]; /* the one before, from, to */
    for (int k = 0; k < 3; k++)
        pen.color[k] = number_at(L, at, k + 1);
    for (lua_Integer i = 5; i + 1 <= count; i += 2) {
        memmove(points[0], points[1], 2 * sizeof points[0]);
        points[2][0] = number_at(L, at, i);
        points[2][1] = number_at(L, at, i + 1);
        if (i >= 7)
            draw_segment(c, &pen, points[1], points[2], i >= 9 ? points[0] : NULL);
    }
}

/* { text, x, y, size, align, r, g, b } */
static void draw_text(lua_State *L, struct sim_image *image)
{
    const int at = lua_gettop(L);
    lua_rawgeti(L, at, 1);
    struct sim_text text = {
        .text = luaL_checkstring(L, -1),
        .x = number_at(L, at, 2),
        .y = number_at(L, at, 3),
        .size = number_at(L, at, 4),
        .align = number_at(L, at, 5),
    };
    for (int k = 0; k < 3; k++)
        text.color[k] = number_at(L, at, k + 6);
    sim_lua_try(L, sim_image_text(image, &text));
    lua_pop(L, 1);
}

/* plot(width, height, lines, texts) -> picture; white where nothing is drawn. */
int sim_lua_plot(lua_State *L)
{
    struct canvas c = {.width = sim_lua_integer(L, 1, "plot: width", 1, SIM_IMAGE_MAX),
                       .height = sim_lua_integer(L, 2, "plot: height", 1, SIM_IMAGE_MAX)};
    luaL_checktype(L, 3, LUA_TTABLE);
    luaL_checktype(L, 4, LUA_TTABLE);
    const size_t bytes = (size_t)(3 * c.width * c.height);
    struct lua_image_box *box = sim_lua_box(L, sizeof *box, LUA_IMAGE_CLASS, 0);
    sim_lua_try(L, sim_image_new(sim_lua_host(L)->device, (int)c.width, (int)c.height,
                                 &box->image));
    box->open = true;
    c.pixels = lua_newuserdatauv(L, bytes, 0);
    memset(c.pixels, 255, bytes);
    for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, 3); i++) {
        lua_rawgeti(L, 3, i);
        draw_line(L, &c);
        lua_pop(L, 1);
    }
    sim_lua_try(L, sim_buffer_write(&box->image.pixels, 0, c.pixels, bytes));
    for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, 4); i++) {
        lua_rawgeti(L, 4, i);
        draw_text(L, &box->image);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return 1;
}
