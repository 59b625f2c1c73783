/* field.h - what a backend must be able to do with two-dimensional arrays.
 *
 * Arrays are row-major, element j*pitch + i, float or double as the table of operations
 * says; j counts upward from the lower row. Both backends give the same bits: formulas
 * are those of field_math.h with contraction off, and sums go by one tree, whatever the
 * number of threads:
 *
 *   cells are numbered c = j*nx + i and cut into chunks of SIM_SUM_CHUNK; in a chunk,
 * lane t of SIM_SUM_LANES adds the terms c = t, t + LANES, ... in ascending order to 0;
 * the lanes are halved, lane t taking in lane t + half, until one is left. The chunks'
 * totals are summed by the same rule, until one is left. Everything in double.
 *
 * Every op enqueues and waits for nothing. */
#ifndef FIELD_H
#define FIELD_H

#include "../src/device.h"
#include "render.h"

#define SIM_SUM_LANES 256
#define SIM_SUM_CHUNK 4096

struct sim_array {
    void *data;          /* on the device */
    const uint8_t *mask; /* [ny][nx], packed; not 0: takes no part; NULL */
    int64_t nx, ny, pitch;
};

/* Of the cells that take part. */
struct sim_field_part {
    double sum, squares;
    double min, max; /* NaN if any is; +inf, -inf of nothing */
    int64_t count;
    int64_t bad; /* first c whose value is not finite; INT64_MAX: none */
};

/* u -> ... of every cell, masked ones too */
enum sim_each {
    SIM_EACH_FILL,  /* a */
    SIM_EACH_SCALE, /* a u */
    SIM_EACH_SHIFT, /* u + a */
    SIM_EACH_CLAMP, /* a if u < a, b if u > b; NaN stays */
};

/* u -> u + w (v - u), u + w v, max(u, w v); untouched where w is not > 0 */
struct sim_paint_args {
    int64_t j0, j1;       /* rows */
    const float *weight;  /* [j1-j0][nx] on the device; NULL: 1 */
    const double *values; /* [j1-j0][nx] on the device; NULL: `value` */
    double value;
    int mode;   /* enum sim_paint_mode of src/field.h */
    bool noise; /* v = low + (high - low) * uniform(seed, c) */
    uint64_t seed;
    double low, high;
};

#define SIM_CONTOURS_MAX 64
#define SIM_PICTURE_SAMPLES \
    16 /* at most, a pixel and side, when many cells share a pixel */

enum sim_picture_filter { SIM_FILTER_CELLS, SIM_FILTER_LINEAR, SIM_FILTER_CUBIC };

/* A rectangle of a picture, painted with a field. The centre of pixel (px, py), counted
 * from the rectangle's upper left, is at cell coordinates (px + 1/2) * cells_x + first_x
 * and first_y - (py + 1/2) * cells_y, in which cell i covers [i, i + 1). */
struct sim_picture_args {
    uint8_t *pixels; /* of the whole picture */
    int picture_width;
    int x, y, width, height;
    double first_x, first_y, cells_x, cells_y;
    int filter;
    int samples; /* a pixel and side, averaged before the map; 1..SIM_PICTURE_SAMPLES */
    double low, scale; /* the map is read at (u - low) * scale */
    float map[SIM_MAP_KNOTS][3];
    float mask_color[3];
    bool covered; /* the mask's edge comes as a cover: values go on up to and beyond it */
    int contour_count;
    double contour[SIM_CONTOURS_MAX];
    float contour_color[3], contour_half; /* half the line's width in pixels */
};

/* A colour bar: a rectangle that shows the map from low (bottom) to high, with a rim. */
struct sim_bar_args {
    uint8_t *pixels;
    int picture_width;
    int x, y, width, height;
    float map[SIM_MAP_KNOTS][3];
    int tick_count;
    int tick[32]; /* rows from the top of the bar, each with a dash at its right */
    int tick_length;
    float color[3]; /* of rim and ticks */
};

/* What covers a picture: the share of each of its pixels, rows from the top, 0..255. */
struct sim_cover_args {
    uint8_t *pixels; /* of the whole picture */
    const uint8_t *share;
    int picture_width;
    int x, y, width, height;
    float color[3];
};

/* Where the two components of a vector field are under a rectangle of a picture, as in
 * sim_picture_args. */
struct sim_vector_place {
    uint8_t *pixels;
    int picture_width;
    int x, y, width, height;
    struct {
        double first_x, first_y, cells_x, cells_y;
    } of[2];
};

/* Arrows, one in the middle of each tile of `spacing` pixels. */
struct sim_arrow_args {
    struct sim_vector_place place;
    double spacing;       /* pixels */
    double per_unit;      /* an arrow's length for a vector of length 1, in spacings */
    float color[3], half; /* half the shaft's width in pixels */
};

/* A grain along the vectors, lighter and darker. */
struct sim_grain_args {
    struct sim_vector_place place;
    double size;     /* of the noise, pixels */
    int steps;       /* of one size, either way from a pixel */
    double strength; /* 0: none, 1: down to black */
};

/* Points of the plane as discs. What they cover is added up in whole numbers, 255 a
 * pixel, so that their order does not matter. */
struct sim_dot_args {
    uint8_t *pixels;
    int picture_width;
    int x, y, width, height;
    double left, top, per_x, per_y; /* of the rectangle; pixels per unit */
    const float (*point)[4];        /* x, y, and where the third is negative: no point */
    int64_t count;
    int32_t *sum;  /* [height][width], scratch */
    double radius; /* pixels */
    float color[3], strength;
};

/* Copy a rectangle of pixels, or fill it with a colour when `from` is NULL. */
struct sim_blit_args {
    uint8_t *to;
    const uint8_t *from;
    int to_width, from_width; /* of the whole pictures */
    int x, y, width,
        height; /* the rectangle in `to`; in `from` it begins at the corner */
    uint8_t color[3];
};

struct sim_field_ops {
    const char *name;
    size_t real_bytes;
    enum sim_status (*each)(struct sim_device *, const struct sim_array *, enum sim_each,
                            double a, double b);
    enum sim_status (*paint)(struct sim_device *, const struct sim_array *,
                             const struct sim_paint_args *);
    /* u + factor * other, or other alone when `replace`; masks are not looked at. */
    enum sim_status (*combine)(struct sim_device *, const struct sim_array *,
                               const struct sim_array *other, bool other_is_double,
                               double factor, bool replace);
    /* Works in sim_field_parts(n) parts on the device; the total is the last of them. */
    enum sim_status (*reduce)(struct sim_device *, const struct sim_array *,
                              struct sim_field_part *parts);
    /* First c that is not finite into *bad (device), INT64_MAX if none. */
    enum sim_status (*check)(struct sim_device *, const struct sim_array *, int64_t *bad);
    enum sim_status (*picture)(struct sim_device *, const struct sim_array *,
                               const struct sim_picture_args *);
    /* Over a picture: the array's contours, or where there are none contour_color by
       (u - low) * scale, at most all of it. */
    enum sim_status (*layer)(struct sim_device *, const struct sim_array *,
                             const struct sim_picture_args *);
    enum sim_status (*arrows)(struct sim_device *, const struct sim_array *x,
                              const struct sim_array *y, const struct sim_arrow_args *);
    enum sim_status (*grain)(struct sim_device *, const struct sim_array *x,
                             const struct sim_array *y, const struct sim_grain_args *);
    enum sim_status (*dots)(struct sim_device *, const struct sim_dot_args *);
    enum sim_status (*cover)(struct sim_device *, const struct sim_cover_args *);
    enum sim_status (*bar)(struct sim_device *, const struct sim_bar_args *);
    enum sim_status (*blit)(struct sim_device *, const struct sim_blit_args *);
};

/* How many parts a sum over n cells works with. */
static inline int64_t sim_field_parts(int64_t n)
{
    int64_t total = 0;
    do {
        n = (n + SIM_SUM_CHUNK - 1) / SIM_SUM_CHUNK;
        total += n;
    } while (n > 1);
    return total;
}

/* The table of a kind of device, NULL where the build has no such backend. */
const struct sim_field_ops *sim_field_ops(enum sim_device_kind kind, bool is_double);
extern const struct sim_field_ops sim_field_ops_cpu_f32, sim_field_ops_cpu_f64;
const struct sim_field_ops *sim_field_ops_cuda(bool is_double); /* NULL in no_cuda.c */

#endif
