/* render.h - what a backend must be able to do to make a picture of bodies.
 *
 *   project   positions -> spots: where each body falls on the picture, how bright it is
 *   splat     spots -> light: a small smooth disc a body, added up in 64-bit fixed point
 *   tone      light -> 8-bit sRGB pixels
 *   text      strokes (labels, scale bars) over the pixels
 *
 * Light is an array of unsigned integers, [row][column][channel], so that many bodies may
 * add to one cell in any order and the sum has the same bits. A picture has two such
 * grids: a fine one of supersample x supersample cells a pixel, of which only a band of
 * rows is held at a time, and a coarse one for the glow, held whole. All arithmetic on
 * floats is plain multiplication, addition, division and square root with contraction
 * off: the CPU and the GPU give the same bits.
 *
 * Everything a kernel needs beyond device memory travels in its arguments (palette,
 * colour map, text), so that nothing is uploaded between pictures. */
#ifndef RENDER_H
#define RENDER_H

#include "../src/device.h"

#define SIM_PALETTE_MAX 64 /* as many as groups */
#define SIM_MAP_KNOTS   65
#define SIM_TEXT_MAX    200   /* glyphs of one label */
#define SIM_TEXT_LINES  4     /* straight strokes beside the glyphs */
#define SIM_LIGHT_MAX   64.0f /* the brightest a near body gets in perspective */

/* A body on the picture: pixels from the upper left corner, y down. light 0: not seen. */
struct sim_spot {
    float x, y, light;
    uint32_t group;
};

struct sim_project_args {
    const void *position; /* struct sim_real4[n], float or double */
    size_t real_bytes;
    const uint8_t *group; /* [n] */
    int64_t n;
    struct sim_spot *spot; /* [n], written */
    uint64_t visible;      /* groups to draw, one bit each */

    const double *follow; /* double[3] on the device, added to centre; NULL: none */
    double centre[3];     /* the world point in the middle of the picture */
    float turn[3][3];     /* rows: picture's x axis, y axis (up), towards the viewer */
    float pixels_per_unit;
    float distance;              /* of the viewer from centre; 0: orthographic */
    float nearest;               /* bodies closer to the viewer than this are not drawn */
    float width, height, margin; /* of the picture; spots up to margin outside count */
};

/* A band of rows of a light grid. Cell (i, j) has its centre at grid coordinates
 * (i + 1/2, j + 1/2); grid = picture * scale + offset. */
struct sim_light_grid {
    uint64_t *light; /* [rows][width][channels] of rows row0 .. row0 + rows - 1 */
    int width, row0, rows;
    int channels; /* 3: red, green, blue; 1: all light alike */
    float scale, offset;
    float radius, inverse; /* of a body's disc, in cells; 1 / radius^2 */
    float unit;            /* light 1 on one cell is this number: a power of two */
};

struct sim_splat_args {
    const struct sim_spot *spot;
    int64_t n;
    struct sim_light_grid grid;
    float palette[SIM_PALETTE_MAX][3]; /* light of each group; unused with one channel */
};

enum sim_tone { SIM_TONE_ASINH, SIM_TONE_LOG, SIM_TONE_LINEAR };

struct sim_tone_args {
    uint8_t *pixels;       /* of the whole picture */
    int width, row0, rows; /* the band to write, in pixels; row0 a multiple of 4 */
    int supersample;
    struct sim_light_grid fine, glow;
    float fine_gain, glow_gain;  /* fixed-point light -> what the curve takes */
    int64_t tone;                /* enum sim_tone */
    float norm;                  /* the curve's value is multiplied by this */
    float map[SIM_MAP_KNOTS][3]; /* display red, green, blue, 0..1; with one channel */
};

/* Strokes in pixels, y down. A glyph's origin is on the base line, at its left. */
struct sim_text_args {
    uint8_t *pixels;
    int width, height;  /* of the picture */
    int x0, y0, x1, y1; /* the pixels to touch, upper ends excluded */
    float scale;        /* pixels per unit of the font's grid */
    float half;         /* half the stroke's width */
    float outline;      /* width of the dark soft edge around strokes; 0: none */
    float shade;        /* how dark the edge is, 0..1 */
    float color[3];     /* 0..255 */
    int count;          /* of glyphs */
    float x[SIM_TEXT_MAX], y[SIM_TEXT_MAX];
    uint8_t glyph[SIM_TEXT_MAX]; /* index into sim_font */
    int line_count;
    float line[SIM_TEXT_LINES][4]; /* x0, y0, x1, y1 */
};

/* Each op enqueues its work and waits for nothing. */
struct sim_render_ops {
    const char *name;
    enum sim_status (*project)(struct sim_device *, const struct sim_project_args *);
    /* Clears the grid's band first. */
    enum sim_status (*splat)(struct sim_device *, const struct sim_splat_args *);
    enum sim_status (*tone)(struct sim_device *, const struct sim_tone_args *);
    enum sim_status (*text)(struct sim_device *, const struct sim_text_args *);
};

/* The table of a kind of device, NULL where the build has no such backend. */
const struct sim_render_ops *sim_render_ops(enum sim_device_kind kind);
extern const struct sim_render_ops sim_render_ops_cpu;
const struct sim_render_ops *sim_render_ops_cuda(void); /* NULL in no_cuda.c */

#endif
