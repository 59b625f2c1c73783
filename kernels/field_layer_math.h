/* field_layer_math.h - what is drawn over a field's picture: contours or a shade of
 * another field, arrows, grain, dots, and covers (obstacles with their true edges).
 *
 * An arrow is a shaft and a filled head, drawn by the distance of a pixel's middle from
 * both. No arrow is longer than ARROW_MOST of its tile, so that every pixel has to look
 * at one arrow alone, its own tile's.
 *
 * Not here: loops over pixels. */
#ifndef FIELD_LAYER_MATH_H
#define FIELD_LAYER_MATH_H

#include "field_math.h"

#define ARROW_MOST  0.9  /* spacings */
#define ARROW_LEAST 2.0  /* pixels; a shorter one would be a speck */
#define HEAD_LENGTH 0.38 /* of the arrow's */
#define HEAD_MOST   5.0  /* shafts' widths */
#define HEAD_SLOPE  0.45 /* half width by length */

SIM_FN uint8_t *field_pixel_at(uint8_t *pixels, int width, int x, int y)
{
    return pixels + ((int64_t)y * width + x) * 3;
}

SIM_FN void field_blend_pixel(uint8_t *out, const float color[3], float part)
{
    if (!(part > 0.0f))
        return;
    struct render_rgb under = {(float)out[0] / 255.0f, (float)out[1] / 255.0f,
                               (float)out[2] / 255.0f};
    struct render_rgb mixed = field_mix(under, color, part);
    out[0] = render_byte(mixed.r);
    out[1] = render_byte(mixed.g);
    out[2] = render_byte(mixed.b);
}

/* Never by cells: what lies over a picture has no squares. */
SIM_FN void field_layer_pixel(const struct sim_array *a, const struct sim_picture_args *p,
                              int filter, int i, int j)
{
    double px = (double)i + 0.5, py = (double)j + 0.5;
    float part;
    if (p->contour_count > 0) {
        part = field_contour(a, p, filter, px, py);
    } else {
        double u = field_pixel_sample(a, p, filter, px, py).value;
        part = (float)((u - p->low) * p->scale);
        part = render_clamp(part > 0.0f ? part : 0.0f);
    }
    field_blend_pixel(field_pixel_at(p->pixels, p->picture_width, p->x + i, p->y + j),
                      p->contour_color, part);
}

SIM_FN void field_cover_pixel(const struct sim_cover_args *c, int i, int j)
{
    float part = (float)c->share[(int64_t)j * c->width + i] / 255.0f;
    field_blend_pixel(field_pixel_at(c->pixels, c->picture_width, c->x + i, c->y + j),
                      c->color, part);
}

/* Of an arrow of this length along +s about the origin: the distance outward, in pixels.
 */
SIM_FN double field_arrow_distance(double length, double half, double s, double t)
{
    double tip = 0.5 * length, head = HEAD_LENGTH * length;
    head = head < 2.0 * HEAD_MOST * half ? head : 2.0 * HEAD_MOST * half;
    double across = fabs(t), behind = tip - head - s, beyond = -tip - s;
    double shaft = across - half;
    shaft = shaft > beyond ? shaft : beyond;
    shaft = shaft > -behind ? shaft : -behind; /* it ends in the head */
    double norm = sqrt(1.0 + HEAD_SLOPE * HEAD_SLOPE);
    double sides = (across - HEAD_SLOPE * (tip - s)) / norm;
    double wedge = sides > behind ? sides : behind;
    return shaft < wedge ? shaft : wedge;
}

/* The vector at a place of the rectangle, in pixels with y down; masked: 0. */
struct field_vector {
    double x, y;
};

SIM_FN struct field_vector field_vector_at(const struct sim_array *x,
                                           const struct sim_array *y,
                                           const struct sim_vector_place *p, double px,
                                           double py)
{
    struct field_sample u = field_linear(x, p->of[0].first_x + px * p->of[0].cells_x,
                                         p->of[0].first_y - py * p->of[0].cells_y);
    struct field_sample v = field_linear(y, p->of[1].first_x + px * p->of[1].cells_x,
                                         p->of[1].first_y - py * p->of[1].cells_y);
    int masked = u.masked >= 1.0 || v.masked >= 1.0;
    struct field_vector at = {masked ? 0.0 : u.value, masked ? 0.0 : -v.value};
    return at;
}

SIM_FN uint8_t *field_vector_pixel(const struct sim_vector_place *p, int i, int j)
{
    return field_pixel_at(p->pixels, p->picture_width, p->x + i, p->y + j);
}

/* The middle of the tile of a pixel's middle; whole tiles stand in the middle of an axis
 * of n pixels. Negative outside them. */
SIM_FN double field_tile(double at, int n, double spacing)
{
    double count = (double)field_floor((double)n / spacing + 1e-9);
    double margin = 0.5 * ((double)n - count * spacing);
    double tile = (double)field_floor((at - margin) / spacing);
    return tile >= 0.0 && tile < count ? margin + (tile + 0.5) * spacing : -1.0;
}

SIM_FN void field_arrow_pixel(const struct sim_array *x, const struct sim_array *y,
                              const struct sim_arrow_args *p, int i, int j)
{
    double px = (double)i + 0.5, py = (double)j + 0.5;
    double tx = field_tile(px, p->place.width, p->spacing);
    double ty = field_tile(py, p->place.height, p->spacing);
    if (tx < 0.0 || ty < 0.0)
        return;
    struct field_vector at = field_vector_at(x, y, &p->place, tx, ty);
    double size = sqrt(at.x * at.x + at.y * at.y);
    double length = size * p->per_unit;
    length = (length < ARROW_MOST ? length : ARROW_MOST) * p->spacing;
    if (!(length >= ARROW_LEAST && field_finite(size)))
        return;
    double s = ((px - tx) * at.x + (py - ty) * at.y) / size;
    double t = ((px - tx) * at.y - (py - ty) * at.x) / size;
    double d = field_arrow_distance(length, (double)p->half, s, t);
    field_blend_pixel(field_vector_pixel(&p->place, i, j), p->color,
                      render_clamp((float)(0.5 - d)));
}

/* ---- grain ----------------------------------------------------------------------------
 */

/* White noise, -1..1, a number for each square. */
SIM_FN double field_white(int64_t i, int64_t j)
{
    uint32_t h = (uint32_t)i * 0x9e3779b1u ^ (uint32_t)j * 0x85ebca77u;
    h = (h ^ (h >> 15)) * 0x2c1b3c6du;
    h = (h ^ (h >> 12)) * 0x297a2d39u;
    h = h ^ (h >> 15);
    return (double)h * (2.0 / 4294967295.0) - 1.0;
}

/* The sum of the noise along the line through a pixel, one way: sign 1 or -1. Steps of
 * one size by the rule of Adams and Bashforth (3/2 of this direction, -1/2 of the last
 * one), until the vector is 0. */
SIM_FN double field_grain_sum(const struct sim_array *x, const struct sim_array *y,
                              const struct sim_grain_args *p, double px, double py,
                              double sign)
{
    double sum = 0.0, last_x = 0.0, last_y = 0.0;
    for (int k = 1; k <= p->steps; k++) {
        struct field_vector at = field_vector_at(x, y, &p->place, px, py);
        double size = sqrt(at.x * at.x + at.y * at.y);
        if (!(size > 0.0 && field_finite(size)))
            break;
        double dx = at.x / size, dy = at.y / size;
        double ahead = k > 1 ? 1.5 : 1.0, back = k > 1 ? 0.5 : 0.0;
        px = px + sign * p->size * (ahead * dx - back * last_x);
        py = py + sign * p->size * (ahead * dy - back * last_y);
        last_x = dx, last_y = dy;
        double weight = 1.0 - (double)k / ((double)p->steps + 1.0);
        sum = sum +
              weight * field_white(field_floor(px / p->size), field_floor(py / p->size));
    }
    return sum;
}

/* The noise's mean along the line (B. Cabral, L. C. Leedom, "Imaging vector fields using
 * line integral convolution", SIGGRAPH 1993), scaled to keep its contrast. */
SIM_FN void field_grain_pixel(const struct sim_array *x, const struct sim_array *y,
                              const struct sim_grain_args *p, int i, int j)
{
    double px = (double)i + 0.5, py = (double)j + 0.5;
    double sum = field_white(field_floor(px / p->size), field_floor(py / p->size)) +
                 field_grain_sum(x, y, p, px, py, 1.0) +
                 field_grain_sum(x, y, p, px, py, -1.0);
    /* the squares of the weights add up to 2/3 of the steps, those of white noise to 1/3
     */
    double light = sum / sqrt(1.0 + 2.0 / 3.0 * (double)p->steps);
    light = light > 1.0 ? 1.0 : (light < -1.0 ? -1.0 : light);
    double part = p->strength * fabs(light);
    const float black[3] = {0.0f, 0.0f, 0.0f}, white[3] = {1.0f, 1.0f, 1.0f};
    uint8_t *out = field_vector_pixel(&p->place, i, j);
    if (light < 0.0)
        field_blend_pixel(out, black, (float)part);
    else
        field_blend_pixel(out, white, (float)(0.5 * part));
}

/* ---- dots -----------------------------------------------------------------------------
 */

/* A dot's middle and the pixels that it may touch, i0 <= i < i1. */
struct field_dot {
    double x, y;
    int i0, i1, j0, j1;
};

SIM_FN int field_dot_limit(double at, int n)
{
    return (int)(at > 0.0 ? (at < (double)n ? at : (double)n) : 0.0);
}

SIM_FN struct field_dot field_dot_at(const struct sim_dot_args *p, int64_t k)
{
    struct field_dot dot = {((double)p->point[k][0] - p->left) * p->per_x,
                            (p->top - (double)p->point[k][1]) * p->per_y,
                            0,
                            0,
                            0,
                            0};
    double reach = p->radius + 1.0;
    if (p->point[k][2] >= 0.0f) {
        dot.i0 = field_dot_limit(dot.x - reach, p->width);
        dot.i1 = field_dot_limit(dot.x + reach + 1.0, p->width);
        dot.j0 = field_dot_limit(dot.y - reach, p->height);
        dot.j1 = field_dot_limit(dot.y + reach + 1.0, p->height);
    }
    return dot;
}

/* How much of pixel (i, j) it covers, 0..255. */
SIM_FN int field_dot_part(const struct sim_dot_args *p, const struct field_dot *dot,
                          int i, int j)
{
    double dx = (double)i + 0.5 - dot->x, dy = (double)j + 0.5 - dot->y;
    double inside = p->radius + 0.5 - sqrt(dx * dx + dy * dy);
    inside = inside > 0.0 ? (inside < 1.0 ? inside : 1.0) : 0.0;
    return (int)(255.0 * inside + 0.5);
}

SIM_FN void field_dot_pixel(const struct sim_dot_args *p, int i, int j)
{
    float part = (float)p->sum[(int64_t)j * p->width + i] / 255.0f;
    field_blend_pixel(field_pixel_at(p->pixels, p->picture_width, p->x + i, p->y + j),
                      p->color, p->strength * render_clamp(part));
}

#endif
