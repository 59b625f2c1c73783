/* field_math.h - the formulas of fields and of their pictures, for both backends.
 *
 * Sampling for pictures, at cell coordinates (x, y) with cell i covering [i, i+1):
 *   cells    the cell that holds the point
 *   linear   between the four nearest centres, clamped at the rim; masked cells have no
 *            weight, and what is left of the weights is scaled to 1
 *   cubic    Catmull and Rom's spline through the sixteen nearest centres (E. Catmull,
 *            R. Rom, 1974); linear where a masked cell is among them
 * A contour of level c is drawn by the distance s at which |grad u| s + k s^2/2 makes up
 * for |u - c|, gradient and the larger second derivative k from differences over one
 * pixel: along a ridge, whose gradient is 0, by k alone, so that a ridge just at a level
 * is a line and not a row of specks.
 *
 * Not here: loops over cells or pixels. */
#ifndef FIELD_MATH_H
#define FIELD_MATH_H

#include "field.h"
#include "philox.h"
#include "render_math.h"

#define FIELD_NOISE 0x6e6f6973u /* the purpose of these random numbers */

SIM_FN int64_t field_element(const struct sim_array *a, int64_t c)
{
    return a->pitch == a->nx ? c : c / a->nx * a->pitch + c % a->nx;
}

/* ---- cell by cell ---------------------------------------------------------------------
 */

SIM_FN real field_each(int op, real u, real a, real b)
{
    switch (op) {
    case SIM_EACH_FILL:
        return a;
    case SIM_EACH_SCALE:
        return a * u;
    case SIM_EACH_SHIFT:
        return u + a;
    default:
        return u < a ? a : (u > b ? b : u);
    }
}

SIM_FN double field_noise(const struct sim_paint_args *p, int64_t c)
{
    double uniform[2];
    sim_random_uniforms(p->seed, (uint64_t)c, FIELD_NOISE, 0, uniform);
    return p->low + (p->high - p->low) * uniform[0];
}

/* mode: 0 set, 1 add, 2 max */
SIM_FN real field_blend(int mode, real u, real w, real v)
{
    if (!(w > (real)0))
        return u;
    if (mode == 0) /* exactly v where w is 1 */
        return w < (real)1 ? u + w * (v - u) : v;
    real part = w * v;
    return mode == 1 ? u + part : (u > part || u != u ? u : part);
}

/* What is painted into cell (i, row - j0) of the band. */
SIM_FN real field_painted(const struct sim_paint_args *p, int64_t nx, int64_t j,
                          int64_t i, real u)
{
    int64_t at = (j - p->j0) * nx + i;
    real w = p->weight ? (real)p->weight[at] : (real)1;
    double v = p->values ? p->values[at] : p->value;
    if (p->noise && w > (real)0)
        v = field_noise(p, j * nx + i);
    return field_blend(p->mode, u, w, (real)v);
}

SIM_FN real field_combined(real u, real v, real factor, int replace)
{
    return replace ? v : u + factor * v;
}

/* ---- sums -----------------------------------------------------------------------------
 */

SIM_FN struct sim_field_part field_nothing(void)
{
    struct sim_field_part part = {0.0, 0.0,      (double)INFINITY, -(double)INFINITY,
                                  0,   INT64_MAX};
    return part;
}

/* The smaller, the larger; NaN wins over both. */
SIM_FN double field_min(double a, double b)
{
    return b < a || b != b ? b : a;
}

SIM_FN double field_max(double a, double b)
{
    return b > a || b != b ? b : a;
}

SIM_FN int field_finite(double x)
{
    return x - x == 0.0;
}

SIM_FN void field_take(struct sim_field_part *part, double x, int64_t c)
{
    part->sum = part->sum + x;
    part->squares = part->squares + x * x;
    part->min = field_min(part->min, x);
    part->max = field_max(part->max, x);
    part->count++;
    if (!field_finite(x) && c < part->bad)
        part->bad = c;
}

SIM_FN void field_join(struct sim_field_part *part, const struct sim_field_part *other)
{
    part->sum = part->sum + other->sum;
    part->squares = part->squares + other->squares;
    part->min = field_min(part->min, other->min);
    part->max = field_max(part->max, other->max);
    part->count += other->count;
    part->bad = other->bad < part->bad ? other->bad : part->bad;
}

/* ---- sampling -------------------------------------------------------------------------
 */

/* A value, and how much of the place is masked: 0 none, 1 all. */
struct field_sample {
    double value;
    double masked;
};

/* The whole number at or below x, |x| < 2^62; no call into a library. */
SIM_FN int64_t field_floor(double x)
{
    int64_t i = (int64_t)x;
    return i - ((double)i > x);
}

SIM_FN int64_t field_clamp_index(int64_t i, int64_t n)
{
    return i < 0 ? 0 : (i < n ? i : n - 1);
}

SIM_FN double field_value(const struct sim_array *a, int64_t i, int64_t j)
{
    return (double)((const real *)a->data)[j * a->pitch + i];
}

SIM_FN int field_masked(const struct sim_array *a, int64_t i, int64_t j)
{
    return a->mask && a->mask[j * a->nx + i];
}

SIM_FN struct field_sample field_cell(const struct sim_array *a, double x, double y)
{
    int64_t i = field_clamp_index(field_floor(x), a->nx);
    int64_t j = field_clamp_index(field_floor(y), a->ny);
    int masked = field_masked(a, i, j);
    struct field_sample sample = {masked ? 0.0 : field_value(a, i, j),
                                  masked ? 1.0 : 0.0};
    return sample;
}

SIM_FN struct field_sample field_linear(const struct sim_array *a, double x, double y)
{
    int64_t left = field_floor(x - 0.5), low = field_floor(y - 0.5);
    double tx = x - 0.5 - (double)left, ty = y - 0.5 - (double)low;
    double sum = 0.0, weights = 0.0;
    for (int q = 0; q < 2; q++)
        for (int p = 0; p < 2; p++) {
            int64_t i = field_clamp_index(left + p, a->nx);
            int64_t j = field_clamp_index(low + q, a->ny);
            double w = (p ? tx : 1.0 - tx) * (q ? ty : 1.0 - ty);
            if (field_masked(a, i, j) || w == 0.0)
                continue;
            sum = sum + w * field_value(a, i, j);
            weights = weights + w;
        }
    double solid = a->mask ? 1.0 - weights : 0.0;
    struct field_sample sample = {weights > 0.0 ? (a->mask ? sum / weights : sum) : 0.0,
                                  solid};
    return sample;
}

SIM_FN void field_spline(double t, double w[4])
{
    w[0] = 0.5 * t * ((2.0 - t) * t - 1.0);
    w[1] = 0.5 * (t * t * (3.0 * t - 5.0) + 2.0);
    w[2] = 0.5 * t * ((4.0 - 3.0 * t) * t + 1.0);
    w[3] = 0.5 * t * t * (t - 1.0);
}

SIM_FN struct field_sample field_cubic(const struct sim_array *a, double x, double y)
{
    int64_t left = field_floor(x - 0.5), low = field_floor(y - 0.5), column[4];
    double wx[4], wy[4], sum = 0.0;
    field_spline(x - 0.5 - (double)left, wx);
    field_spline(y - 0.5 - (double)low, wy);
    for (int k = 0; k < 4; k++)
        column[k] = field_clamp_index(left + k - 1, a->nx);
    for (int q = 0; q < 4; q++) {
        int64_t j = field_clamp_index(low + q - 1, a->ny);
        const real *u = (const real *)a->data + j * a->pitch;
        const uint8_t *mask = a->mask ? a->mask + j * a->nx : (const uint8_t *)0;
        if (mask &&
            (mask[column[0]] | mask[column[1]] | mask[column[2]] | mask[column[3]]))
            return field_linear(a, x, y);
        sum = sum +
              wy[q] * (((wx[0] * (double)u[column[0]] + wx[1] * (double)u[column[1]]) +
                        wx[2] * (double)u[column[2]]) +
                       wx[3] * (double)u[column[3]]);
    }
    struct field_sample sample = {sum, 0.0};
    return sample;
}

SIM_FN struct field_sample field_sample(const struct sim_array *a, int filter, double x,
                                        double y)
{
    if (filter == SIM_FILTER_CELLS)
        return field_cell(a, x, y);
    return filter == SIM_FILTER_LINEAR ? field_linear(a, x, y) : field_cubic(a, x, y);
}

/* ---- pictures -------------------------------------------------------------------------
 */

/* At picture coordinates (px, py) from the rectangle's upper left; the mean of samples^2
 * points of one pixel around it. */
SIM_FN_LARGE struct field_sample field_pixel_sample(const struct sim_array *a,
                                                    const struct sim_picture_args *p,
                                                    int filter, double px, double py)
{
    if (p->samples == 1)
        return field_sample(a, filter, p->first_x + px * p->cells_x,
                            p->first_y - py * p->cells_y);
    double step = 1.0 / (double)p->samples, sum = 0.0, masked = 0.0, open = 0.0;
    for (int q = 0; q < p->samples; q++) {
        double y = p->first_y - (py + ((double)q + 0.5) * step - 0.5) * p->cells_y;
        for (int k = 0; k < p->samples; k++) {
            double x = p->first_x + (px + ((double)k + 0.5) * step - 0.5) * p->cells_x;
            struct field_sample one = field_sample(a, filter, x, y);
            double share = one.masked < 1.0 ? 1.0 : 0.0;
            sum = sum + share * one.value;
            open = open + share;
            masked = masked + one.masked;
        }
    }
    double count = (double)(p->samples * p->samples);
    struct field_sample mean = {open > 0.0 ? sum / open : 0.0, masked / count};
    return mean;
}

/* The map at v; NaN is read as 0. */
SIM_FN struct render_rgb field_color(const float map[SIM_MAP_KNOTS][3], double v)
{
    float t = (float)v;
    return render_map(map, t > 0.0f ? t : 0.0f);
}

/* How much of the pixel the contours cover, 0..1. Cells have no slope, so that their
 * contours are those of the linear picture. */
SIM_FN float field_contour(const struct sim_array *a, const struct sim_picture_args *p,
                           int filter, double px, double py)
{
    filter = filter == SIM_FILTER_CELLS ? SIM_FILTER_LINEAR : filter;
    double u = field_pixel_sample(a, p, filter, px, py).value;
    double e = field_pixel_sample(a, p, filter, px + 0.5, py).value - u;
    double w = field_pixel_sample(a, p, filter, px - 0.5, py).value - u;
    double n = field_pixel_sample(a, p, filter, px, py + 0.5).value - u;
    double s = field_pixel_sample(a, p, filter, px, py - 0.5).value - u;
    double gx = e - w, gy = n - s;
    double bend = 4.0 * (fabs(e + w) > fabs(n + s) ? fabs(e + w) : fabs(n + s));
    double slope = sqrt(gx * gx + gy * gy), nearest = (double)INFINITY;
    for (int k = 0; k < p->contour_count; k++)
        nearest = field_min(nearest, fabs(u - p->contour[k]));
    double reach = slope + sqrt(slope * slope + 2.0 * bend * nearest);
    if (!(reach * p->scale > 1e-7 &&
          nearest < 64.0 * reach)) /* a flat field has no lines */
        return 0.0f;
    return render_clamp(p->contour_half + 0.5f - (float)(2.0 * nearest / reach));
}

SIM_FN struct render_rgb field_mix(struct render_rgb under, const float over[3],
                                   float part)
{
    struct render_rgb out = {under.r + part * (over[0] - under.r),
                             under.g + part * (over[1] - under.g),
                             under.b + part * (over[2] - under.b)};
    return out;
}

/* Where the mask's edge falls in a smooth picture: half covered, over about a pixel. */
SIM_FN float field_mask_part(const struct sim_picture_args *p, int filter, double masked)
{
    double pixels = 1.0 / (p->cells_x > p->cells_y ? p->cells_x : p->cells_y);
    if (p->covered)
        return masked < 1.0 ? 0.0f : 1.0f;
    if (filter == SIM_FILTER_CELLS || pixels < 1.0)
        return (float)masked;
    return render_clamp((float)((masked - 0.5) * pixels + 0.5));
}

/* `filter` is that of `p`, a constant where this is called. */
SIM_FN void field_pixel(const struct sim_array *a, const struct sim_picture_args *p,
                        int filter, int i, int j)
{
    double px = (double)i + 0.5, py = (double)j + 0.5;
    struct field_sample s = field_pixel_sample(a, p, filter, px, py);
    struct render_rgb color = field_color(p->map, (s.value - p->low) * p->scale);
    if (p->contour_count > 0)
        color = field_mix(color, p->contour_color, field_contour(a, p, filter, px, py));
    if (s.masked > 0.0)
        color = field_mix(color, p->mask_color, field_mask_part(p, filter, s.masked));
    uint8_t *out = p->pixels + ((int64_t)(p->y + j) * p->picture_width + p->x + i) * 3;
    out[0] = render_byte(color.r);
    out[1] = render_byte(color.g);
    out[2] = render_byte(color.b);
}

/* Pixel (i, j) of a bar's rectangle widened at its right by the ticks. */
SIM_FN void field_bar_pixel(const struct sim_bar_args *b, int i, int j)
{
    int rim = i == 0 || j == 0 || i == b->width - 1 || j == b->height - 1, tick = 0;
    for (int k = 0; k < b->tick_count; k++)
        tick |= b->tick[k] == j;
    if (i >= b->width && !tick)
        return;
    uint8_t *out = b->pixels + ((int64_t)(b->y + j) * b->picture_width + b->x + i) * 3;
    struct render_rgb color = {b->color[0], b->color[1], b->color[2]};
    if (!rim && i < b->width)
        color = field_color(b->map, 1.0 - ((double)j + 0.5) / (double)b->height);
    out[0] = render_byte(color.r);
    out[1] = render_byte(color.g);
    out[2] = render_byte(color.b);
}

SIM_FN void field_blit_pixel(const struct sim_blit_args *b, int i, int j)
{
    uint8_t *to = b->to + ((int64_t)(b->y + j) * b->to_width + b->x + i) * 3;
    const uint8_t *from =
        b->from ? b->from + ((int64_t)j * b->from_width + i) * 3 : b->color;
    for (int c = 0; c < 3; c++)
        to[c] = from[c];
}

#endif
