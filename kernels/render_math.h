/* render_math.h - the formulas of pictures, for both backends.
 *
 * Camera: r = turn * (x - centre); orthographic x' = W/2 + s r_x, y' = H/2 - s r_y;
 *   perspective s -> s D / (D - r_z), and the light falls off with the square of
 * distance. Disc of a body: w(d) = 3 / (pi R^2) (1 - d^2/R^2)^2 for d < R, whose integral
 * is 1; summed over cells it stays within 1.5 % of 1 for R >= 2 at any sub-pixel
 * position. Glow: the coarse grid is read with quadratic B-splines, so that no cells
 * show. Curve: asinh(y) or log(1 + y), times norm, with a soft shoulder, or y alone
 * (asinh: Lupton et al. 2004, PASP 116, 133). Colour: light is taken as the square of the
 * display value (the sRGB curve within 0.03); a pixel's hue is that of its light, its
 * brightness the curve's value v of the mean m of its light, display = v sqrt(light / m),
 * drawn towards grey at constant v the more the brighter it is: bright cores turn white,
 * as on film.
 *
 * Not here: loops, rounding of the sums (there is none), gamma-exact sRGB. */
#ifndef RENDER_MATH_H
#define RENDER_MATH_H

#include <stdint.h>
#include <string.h>

#include "font.h"
#include "render.h"
#include "sim_fn.h"

#define RENDER_PI 3.14159265f

struct render_rgb {
    float r, g, b;
};

/* ---- camera ---------------------------------------------------------------------------
 */

/* A body at (dx, dy, dz) from the centre; light 0 when it falls outside the picture. The
 * comparisons are written so that NaN is outside. */
SIM_FN struct sim_spot render_project(const struct sim_project_args *a, double dx,
                                      double dy, double dz, uint32_t group)
{
    float x = (float)dx, y = (float)dy, z = (float)dz;
    float rx = a->turn[0][0] * x + a->turn[0][1] * y + a->turn[0][2] * z;
    float ry = a->turn[1][0] * x + a->turn[1][1] * y + a->turn[1][2] * z;
    float rz = a->turn[2][0] * x + a->turn[2][1] * y + a->turn[2][2] * z;
    float near = 1.0f;
    if (a->distance > 0.0f) {
        float depth = a->distance - rz;
        near = depth > a->nearest ? a->distance / depth : 0.0f;
    }
    float s = a->pixels_per_unit * near, light = near * near;
    struct sim_spot spot = {0.5f * a->width + s * rx, 0.5f * a->height - s * ry,
                            light < SIM_LIGHT_MAX ? light : SIM_LIGHT_MAX, group};
    int seen = spot.x > -a->margin && spot.x < a->width + a->margin &&
               spot.y > -a->margin && spot.y < a->height + a->margin &&
               group < SIM_PALETTE_MAX && (a->visible >> group & 1);
    if (!seen)
        spot = (struct sim_spot){0.0f, 0.0f, 0.0f, group};
    return spot;
}

/* ---- light ----------------------------------------------------------------------------
 */

/* The cells that a disc may touch, clipped to the grid's band. */
struct render_box {
    int x0, y0, x1, y1; /* upper ends excluded */
};

SIM_FN struct render_box render_disc_box(const struct sim_light_grid *grid, float x,
                                         float y)
{
    int x0 = (int)(x - grid->radius), x1 = (int)(x + grid->radius) + 1;
    int y0 = (int)(y - grid->radius), y1 = (int)(y + grid->radius) + 1;
    int end = grid->row0 + grid->rows;
    struct render_box box = {x0 > 0 ? x0 : 0, y0 > grid->row0 ? y0 : grid->row0,
                             x1 < grid->width ? x1 : grid->width, y1 < end ? y1 : end};
    return box;
}

/* Light on cell (i, j) of a disc at (x, y), before colour, in fixed-point units; `peak`
 * is light * unit * 3 / (pi R^2). */
SIM_FN float render_disc(const struct sim_light_grid *grid, float x, float y, float peak,
                         int i, int j)
{
    float dx = (float)i + 0.5f - x, dy = (float)j + 0.5f - y;
    float q = 1.0f - (dx * dx + dy * dy) * grid->inverse;
    return q > 0.0f ? peak * (q * q) : 0.0f;
}

SIM_FN float render_disc_peak(const struct sim_light_grid *grid, float light)
{
    return light * (grid->unit * (3.0f / RENDER_PI * grid->inverse));
}

SIM_FN uint32_t render_fixed(float light)
{
    return (uint32_t)(int32_t)(light + 0.5f);
}

/* Quadratic B-spline about a position in grid coordinates: the weights of cells first,
 * first + 1, first + 2. */
struct render_spline {
    int first;
    float a, b, c;
};

SIM_FN struct render_spline render_spline(float position)
{
    int cell = (int)position; /* positions are positive: the grid has a border */
    float t = position - ((float)cell + 0.5f);
    struct render_spline s = {cell - 1, 0.5f * ((0.5f - t) * (0.5f - t)), 0.75f - t * t,
                              0.5f * ((0.5f + t) * (0.5f + t))};
    return s;
}

/* Grid coordinate of cell k of the fine grid. */
SIM_FN float render_glow_position(const struct sim_tone_args *a, int k)
{
    return ((float)k + 0.5f) / (float)a->supersample * a->glow.scale + a->glow.offset;
}

/* ---- tone -----------------------------------------------------------------------------
 */

/* Natural logarithm of a normal positive number, to 2e-7: x = m 2^e with m in [2/3, 4/3),
 * log m = 2 atanh(s), s = (m - 1) / (m + 1), by its series. */
SIM_FN float render_log(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    int32_t e = (int32_t)(bits - 0x3f2aaaabu) >> 23;
    bits -= (uint32_t)e << 23;
    float m;
    memcpy(&m, &bits, sizeof m);
    float s = (m - 1.0f) / (m + 1.0f), s2 = s * s;
    float series = 1.0f + s2 * (1.0f / 3.0f + s2 * (0.2f + s2 * (1.0f / 7.0f)));
    return 2.0f * s * series + 0.693147182f * (float)e;
}

/* v / (1 + v^4)^(1/4): nearly v while small, never above 1, so that bright cores keep
 * their structure. */
SIM_FN float render_shoulder(float v)
{
    float v2 = v * v;
    return v / sqrtf(sqrtf(1.0f + v2 * v2));
}

/* Brightness of y >= 0. */
SIM_FN float render_curve(int64_t tone, float y, float norm)
{
    if (tone == SIM_TONE_ASINH)
        return render_shoulder(norm * render_log(y + sqrtf(y * y + 1.0f)));
    if (tone == SIM_TONE_LOG)
        return render_shoulder(norm * render_log(1.0f + y));
    return norm * y;
}

/* The colour of light (r, g, b) >= 0 at brightness v >= 0; components in 0..1. */
SIM_FN struct render_rgb render_color(float r, float g, float b, float v)
{
    float mean = (r + g + b) * (1.0f / 3.0f);
    float inverse = mean > 0.0f ? 1.0f / mean : 0.0f;
    r = v * sqrtf(r * inverse);
    g = v * sqrtf(g * inverse);
    b = v * sqrtf(b * inverse);
    float grey = v < 1.0f ? v : 1.0f;
    float most = r > g ? r : g;
    most = most > b ? most : b;
    float over = most - grey;
    /* towards the grey of the same v: gently with brightness, and at least so far that
     * the largest component is 1 */
    float gentle = 1.0f - 0.7f * ((grey * grey) * (grey * grey));
    float least = most > 1.0f ? (1.0f - grey) / over : 1.0f;
    float keep = gentle < least ? gentle : least;
    struct render_rgb out = {grey + keep * (r - grey), grey + keep * (g - grey),
                             grey + keep * (b - grey)};
    return out;
}

/* The colour map at v, clamped to 0..1. */
SIM_FN struct render_rgb render_map(const float map[SIM_MAP_KNOTS][3], float v)
{
    float t = (v < 1.0f ? v : 1.0f) * (float)(SIM_MAP_KNOTS - 1);
    int k = (int)t;
    k = k < SIM_MAP_KNOTS - 2 ? k : SIM_MAP_KNOTS - 2;
    t -= (float)k;
    struct render_rgb out = {map[k][0] + t * (map[k + 1][0] - map[k][0]),
                             map[k][1] + t * (map[k + 1][1] - map[k][1]),
                             map[k][2] + t * (map[k + 1][2] - map[k][2])};
    return out;
}

SIM_FN uint8_t render_byte(float display)
{
    float byte = display * 255.0f + 0.5f;
    byte = byte > 0.0f ? byte : 0.0f;
    return (uint8_t)(int)(byte < 255.0f ? byte : 255.0f);
}

/* ---- strokes --------------------------------------------------------------------------
 * Distances in the font's grid units, y up. */

SIM_FN float render_length(float x, float y)
{
    return sqrtf(x * x + y * y);
}

SIM_FN float render_line_distance(float px, float py, float x0, float y0, float x1,
                                  float y1)
{
    float ux = x1 - x0, uy = y1 - y0, wx = px - x0, wy = py - y0;
    float length2 = ux * ux + uy * uy, t = ux * wx + uy * wy;
    t = length2 > 0.0f ? t / length2 : 0.0f;
    t = t > 0.0f ? (t < 1.0f ? t : 1.0f) : 0.0f;
    return render_length(wx - t * ux, wy - t * uy);
}

/* A quarter of an ellipse that leaves (x0, y0) horizontally and arrives at (x1, y1)
 * vertically; its centre is (x0, y1). First-order distance, exact for a circle. */
SIM_FN float render_arc_distance(float px, float py, float x0, float y0, float x1,
                                 float y1)
{
    float rx = fabsf(x1 - x0), ry = fabsf(y1 - y0);
    float qx = x1 > x0 ? px - x0 : x0 - px, qy = y0 > y1 ? py - y1 : y1 - py;
    if (qx < 0.0f || qy < 0.0f) {
        float a = render_length(px - x0, py - y0), b = render_length(px - x1, py - y1);
        return a < b ? a : b;
    }
    float k1 = render_length(qx / rx, qy / ry);
    float k2 = render_length(qx / (rx * rx), qy / (ry * ry));
    return k2 > 0.0f ? fabsf(k1 * (k1 - 1.0f) / k2) : (rx < ry ? rx : ry);
}

#define RENDER_CHORDS 12 /* of a Bezier curve: its facets stay below 0.02 grid units */

SIM_FN float render_bezier_distance(float px, float py, const struct sim_stroke *s)
{
    float ax = s->x0, ay = s->y0, nearest = 1e9f;
    for (int k = 1; k <= RENDER_CHORDS; k++) {
        float t = (float)k / (float)RENDER_CHORDS, u = 1.0f - t;
        float bx = u * u * s->x0 + 2.0f * u * t * s->x1 + t * t * s->x2;
        float by = u * u * s->y0 + 2.0f * u * t * s->y1 + t * t * s->y2;
        float d = render_line_distance(px, py, ax, ay, bx, by);
        nearest = d < nearest ? d : nearest;
        ax = bx;
        ay = by;
    }
    return nearest;
}

SIM_FN float render_stroke_distance(float px, float py, const struct sim_stroke *s)
{
    if (s->kind == SIM_STROKE_LINE)
        return render_line_distance(px, py, s->x0, s->y0, s->x1, s->y1);
    if (s->kind == SIM_STROKE_ARC)
        return render_arc_distance(px, py, s->x0, s->y0, s->x1, s->y1);
    return render_bezier_distance(px, py, s);
}

SIM_FN float render_glyph_distance(float px, float py, const struct sim_glyph *glyph)
{
    float nearest = 1e9f;
    for (int k = 0; k < glyph->count; k++) {
        float d = render_stroke_distance(px, py, &glyph->stroke[k]);
        nearest = d < nearest ? d : nearest;
    }
    return nearest;
}

/* Distance in pixels from the centre of pixel (i, j) to the text's strokes; large where
 * it is beyond `reach`. */
SIM_FN float render_text_distance(const struct sim_text_args *a,
                                  const struct sim_glyph *font, int i, int j, float reach)
{
    float px = (float)i + 0.5f, py = (float)j + 0.5f, nearest = 1e9f;
    for (int k = 0; k < a->count; k++) {
        const struct sim_glyph *glyph = &font[a->glyph[k]];
        float gx = px - a->x[k], gy = a->y[k] - py;
        if (gx < -4.0f * a->scale - reach ||
            gx > (float)glyph->advance * a->scale + reach ||
            gy < SIM_FONT_BOTTOM * a->scale - reach ||
            gy > SIM_FONT_TOP * a->scale + reach)
            continue;
        float d = a->scale * render_glyph_distance(gx / a->scale, gy / a->scale, glyph);
        nearest = d < nearest ? d : nearest;
    }
    for (int k = 0; k < a->line_count; k++) {
        const float *l = a->line[k];
        float d = render_line_distance(px, py, l[0], l[1], l[2], l[3]);
        nearest = d < nearest ? d : nearest;
    }
    return nearest;
}

SIM_FN float render_clamp(float v)
{
    return v > 0.0f ? (v < 1.0f ? v : 1.0f) : 0.0f;
}

/* Draw one pixel of a text: the dark edge first, then the stroke. */
SIM_FN void render_text_pixel(const struct sim_text_args *a, const struct sim_glyph *font,
                              int i, int j)
{
    float reach = a->half + a->outline + 1.0f;
    float d = render_text_distance(a, font, i, j, reach);
    if (d > reach)
        return;
    float edge =
        a->outline > 0.0f ? 1.0f - render_clamp((d - a->half) / a->outline) : 0.0f;
    float dark = 1.0f - a->shade * (edge * edge * (3.0f - 2.0f * edge));
    float ink = render_clamp(a->half - d + 0.5f);
    uint8_t *pixel = a->pixels + ((int64_t)j * a->width + i) * 3;
    for (int c = 0; c < 3; c++) {
        float under = dark * (float)pixel[c];
        pixel[c] = (uint8_t)(int)(under + ink * (a->color[c] - under) + 0.5f);
    }
}

#endif
