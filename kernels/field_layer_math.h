/* field_layer_math.h - what is drawn over a field's picture: contours or a shade of
 * another field, arrows, and covers (obstacles with their true edges).
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

SIM_FN void field_arrow_pixel(const struct sim_array *x, const struct sim_array *y,
                              const struct sim_arrow_args *p, int i, int j)
{
    double px = (double)i + 0.5, py = (double)j + 0.5;
    double tx = ((double)field_floor(px / p->spacing) + 0.5) * p->spacing;
    double ty = ((double)field_floor(py / p->spacing) + 0.5) * p->spacing;
    struct field_sample u =
        field_linear(x, p->place[0].first_x + tx * p->place[0].cells_x,
                     p->place[0].first_y - ty * p->place[0].cells_y);
    struct field_sample v =
        field_linear(y, p->place[1].first_x + tx * p->place[1].cells_x,
                     p->place[1].first_y - ty * p->place[1].cells_y);
    double size = sqrt(u.value * u.value + v.value * v.value);
    double length = size * p->per_unit;
    length = (length < ARROW_MOST ? length : ARROW_MOST) * p->spacing;
    if (!(length >= ARROW_LEAST) || u.masked >= 1.0 || v.masked >= 1.0 ||
        tx > (double)p->width || ty > (double)p->height)
        return;
    double s = ((px - tx) * u.value - (py - ty) * v.value) / size;
    double t = ((px - tx) * v.value + (py - ty) * u.value) / size;
    double d = field_arrow_distance(length, (double)p->half, s, t);
    field_blend_pixel(field_pixel_at(p->pixels, p->picture_width, p->x + i, p->y + j),
                      p->color, render_clamp((float)(0.5 - d)));
}

#endif
