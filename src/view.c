/* view.c - bodies to picture: project, spread light, tone, through the device's ops.
 *
 * The light of all bodies is added up twice: on a coarse grid of about 90 rows for the
 * glow, and on a fine one of supersample^2 cells a pixel for the points. The fine grid is
 * held for a band of rows at a time, so that a picture of 16384 x 16384 needs no more
 * memory than BAND_BYTES; sums are exact integers, so that the bands cannot be seen in
 * any bit.
 *
 * Exposure: x = exposure * (16384 / max(N, 1024)) * bodies per reference pixel / 0.4,
 * where a reference pixel is 1/720 of the picture's height; x = 1 is white. */
#include "view.h"

#include <math.h>
#include <string.h>

#include "../kernels/colormap.h"

#define REFERENCE_ROWS   720.0
#define REFERENCE_BODIES 16384.0
#define FEWEST_BODIES    1024.0 /* below this, bodies are no longer made brighter */
#define WHITE_BODIES     0.4    /* a reference pixel, for white at exposure 1 */
#define POINT_RADIUS     2.0    /* reference pixels */
#define SMALLEST_RADIUS  1.5  /* cells: below, light would depend on sub-pixel position */
#define GLOW_ROWS        90.0 /* glow cells over the picture's height */
#define GLOW_RADIUS      3.0  /* glow cells */
#define GLOW_BORDER      2    /* cells around, so that the spline never leaves the grid */
#define PEAK_BITS        20 /* a body's brightest cell in fixed point; sums stay < 2^52 */
#define BAND_BYTES       ((size_t)256 << 20)
#define CPU_BAND_BYTES   ((size_t)2 << 20) /* a thread; stays in its cache */
#define CPU_BAND_ROWS    16
#define ALIGNMENT        256

const char *const sim_map_words[] = {"inferno", "viridis",  "magma", "cividis", "turbo",
                                     "grey",    "coolwarm", "ember", NULL};

bool sim_map_is_diverging(enum sim_map map)
{
    return map == SIM_MAP_COOLWARM || map == SIM_MAP_EMBER;
}

/* Knot k of a diverging map, by Catmull and Rom's spline; the slope is 0 at the ends, and
 * at the middle too, where a spline would shift the neutral colour to one side. */
static float diverging_knot(const uint8_t points[SIM_DIVERGING_POINTS][3], int k, int c)
{
    const int per_interval = (SIM_MAP_KNOTS - 1) / (SIM_DIVERGING_POINTS - 1);
    const int last = SIM_DIVERGING_POINTS - 1;
    int i = k < SIM_MAP_KNOTS - 1 ? k / per_interval : last - 1;
    float t = (float)(k - i * per_interval) / (float)per_interval;
    float p = points[i][c], q = points[i + 1][c];
    float mp = i == 0 || i == last / 2 ? 0 : 0.5f * (q - (float)points[i - 1][c]);
    float mq =
        i + 1 == last || i + 1 == last / 2 ? 0 : 0.5f * ((float)points[i + 2][c] - p);
    float a = 2 * (p - q) + mp + mq, b = 3 * (q - p) - 2 * mp - mq;
    return (((a * t + b) * t + mp) * t + p) / 255.0f;
}

void sim_map_knots(enum sim_map map, float knots[SIM_MAP_KNOTS][3])
{
    for (int k = 0; k < SIM_MAP_KNOTS; k++)
        for (int c = 0; c < 3; c++)
            if (map == SIM_MAP_GREY)
                knots[k][c] = (float)k / (SIM_MAP_KNOTS - 1);
            else if (sim_map_is_diverging(map))
                knots[k][c] =
                    diverging_knot(sim_diverging_maps[map - SIM_MAP_COOLWARM], k, c);
            else
                knots[k][c] = (float)sim_color_maps[map][k][c] / 255.0f;
}

/* ---- camera ---------------------------------------------------------------------------
 */

/* rows = Rz(c) Ry(b) Rx(a) */
static void turn_matrix(const double degrees[3], float rows[3][3])
{
    const double radian = 3.14159265358979323846 / 180;
    double a = degrees[0] * radian, b = degrees[1] * radian, c = degrees[2] * radian;
    double sa = sin(a), ca = cos(a), sb = sin(b), cb = cos(b), sc = sin(c), cc = cos(c);
    const double m[3][3] = {{cc * cb, cc * sb * sa - sc * ca, cc * sb * ca + sc * sa},
                            {sc * cb, sc * sb * sa + cc * ca, sc * sb * ca - cc * sa},
                            {-sb, cb * sa, cb * ca}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            rows[i][j] = (float)m[i][j];
}

static double glow_cell(const struct sim_image *image)
{
    double cell = image->height / GLOW_ROWS; /* pixels */
    return cell > 1 ? cell : 1;
}

static double point_radius(const struct sim_view *view, const struct sim_image *image)
{
    double cells = POINT_RADIUS * view->point_size * image->height / REFERENCE_ROWS *
                   view->supersample;
    return cells > SMALLEST_RADIUS ? cells : SMALLEST_RADIUS;
}

static struct sim_project_args camera(const struct sim_bodies *bodies,
                                      const struct sim_view *view,
                                      const struct sim_image *image)
{
    double reach = point_radius(view, image) / view->supersample;
    double glow = GLOW_RADIUS * glow_cell(image);
    struct sim_project_args args = {
        .position = bodies->position.data,
        .real_bytes = bodies->ops->real_bytes,
        .group = bodies->group.data,
        .n = bodies->n,
        .visible = view->visible,
        .pixels_per_unit = (float)(image->width / view->width),
        .distance = (float)view->distance,
        .nearest = (float)(0.01 * view->distance),
        .width = (float)image->width,
        .height = (float)image->height,
        .margin = (float)(1 + (reach > glow ? reach : glow)),
    };
    memcpy(args.centre, view->centre, sizeof args.centre);
    turn_matrix(view->rotate, args.turn);
    return args;
}

/* ---- grids and memory -----------------------------------------------------------------
 */

/* Fixed-point steps per body, so that the brightest cell of one is near 2^PEAK_BITS. */
static float fixed_unit(double radius)
{
    return (float)ldexp(1, PEAK_BITS + (int)ceil(log2(3.14159265 * radius * radius / 3)));
}

static struct sim_light_grid glow_grid(const struct sim_view *view,
                                       const struct sim_image *image)
{
    double cell = glow_cell(image);
    return (struct sim_light_grid){
        .width = (int)(image->width / cell) + 2 * GLOW_BORDER + 1,
        .rows = (int)(image->height / cell) + 2 * GLOW_BORDER + 1,
        .channels = view->colored ? 3 : 1,
        .scale = (float)(1 / cell),
        .offset = GLOW_BORDER,
        .radius = (float)GLOW_RADIUS,
        .inverse = (float)(1 / (GLOW_RADIUS * GLOW_RADIUS)),
        .unit = fixed_unit(GLOW_RADIUS),
    };
}

static struct sim_light_grid fine_grid(const struct sim_view *view,
                                       const struct sim_image *image)
{
    double radius = point_radius(view, image);
    return (struct sim_light_grid){
        .width = image->width * view->supersample,
        .channels = view->colored ? 3 : 1,
        .scale = (float)view->supersample,
        .radius = (float)radius,
        .inverse = (float)(1 / (radius * radius)),
        .unit = fixed_unit(radius),
    };
}

static size_t grid_bytes(const struct sim_light_grid *grid)
{
    return (size_t)grid->width * (size_t)grid->rows * (size_t)grid->channels *
           sizeof *grid->light;
}

/* Bytes of the fine grid to hold: on the CPU little, but some rows for every thread. */
static size_t band_bytes(const struct sim_view *view, const struct sim_device *device,
                         size_t row)
{
    if (view->band_bytes)
        return view->band_bytes;
    if (device->kind != SIM_CPU)
        return BAND_BYTES;
    size_t threads = (size_t)device->threads;
    size_t least = row * threads * CPU_BAND_ROWS, cache = CPU_BAND_BYTES * threads;
    size_t most = least > cache ? least : cache;
    return most < BAND_BYTES ? most : BAND_BYTES;
}

/* Rows of pixels in a band: a multiple of 4, at least 4. */
static int band_rows(const struct sim_view *view, const struct sim_image *image,
                     const struct sim_light_grid *fine)
{
    size_t row = (size_t)fine->width * (size_t)(fine->channels * view->supersample) *
                 sizeof *fine->light;
    size_t rows = band_bytes(view, image->pixels.device, row) / row / 4 * 4;
    size_t all = ((size_t)image->height + 3) / 4 * 4;
    rows = rows < all ? rows : all;
    return rows > 4 ? (int)rows : 4;
}

/* What one picture works with; the memory is bodies->light, kept between pictures. */
struct workspace {
    struct sim_spot *spot;
    double *centre; /* of the followed groups */
    struct sim_light_grid glow, fine;
    int band; /* rows of pixels */
};

static size_t take(size_t *used, size_t bytes)
{
    size_t at = *used;
    *used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return at;
}

static enum sim_status make_workspace(struct sim_bodies *bodies,
                                      const struct sim_view *view,
                                      const struct sim_image *image, struct workspace *w)
{
    size_t used = 0, spot_bytes;
    w->glow = glow_grid(view, image);
    w->fine = fine_grid(view, image);
    w->band = band_rows(view, image, &w->fine);
    w->fine.rows = w->band * view->supersample;
    SIM_TRY(sim_size_multiply((size_t)bodies->n, sizeof *w->spot, "a picture's bodies",
                              &spot_bytes));
    size_t centre = take(&used, 3 * sizeof *w->centre);
    size_t glow = take(&used, grid_bytes(&w->glow));
    size_t fine = take(&used, grid_bytes(&w->fine));
    size_t spot = take(&used, spot_bytes);
    if (bodies->light.bytes < used) {
        sim_buffer_free(&bodies->light);
        SIM_TRY(sim_buffer_new(image->pixels.device, used, "the light of a picture",
                               &bodies->light));
    }
    char *base = bodies->light.data;
    w->centre = (double *)(base + centre);
    w->glow.light = (uint64_t *)(base + glow);
    w->fine.light = (uint64_t *)(base + fine);
    w->spot = (struct sim_spot *)(base + spot);
    return SIM_OK;
}

/* ---- light to pixels ------------------------------------------------------------------
 */

static double visible_count(const struct sim_bodies *bodies, uint64_t visible)
{
    double count = 0;
    for (int g = 0; g < bodies->group_count; g++)
        if (visible >> g & 1)
            count += (double)bodies->groups[g].count;
    return count;
}

/* From a grid's fixed point to what the curve takes, for a share of the light. */
static float gain(const struct sim_bodies *bodies, const struct sim_view *view,
                  const struct sim_image *image, const struct sim_light_grid *grid,
                  double share)
{
    double pixel =
        (double)grid->scale * image->height / REFERENCE_ROWS; /* reference pixel, cells */
    double few = fmax(visible_count(bodies, view->visible), FEWEST_BODIES);
    double white = WHITE_BODIES * few / REFERENCE_BODIES / view->exposure;
    double stretch = view->tone == SIM_TONE_LINEAR ? 1 : view->stretch;
    return (float)(share * stretch * pixel * pixel / (white * grid->unit));
}

static float curve_norm(const struct sim_view *view)
{
    if (view->tone == SIM_TONE_ASINH)
        return (float)(1 / asinh(view->stretch));
    if (view->tone == SIM_TONE_LOG)
        return (float)(1 / log1p(view->stretch));
    return 1;
}

static enum sim_status splat(const struct sim_render_ops *ops,
                             const struct sim_bodies *bodies, const struct sim_view *view,
                             const struct workspace *w, const struct sim_light_grid *grid)
{
    struct sim_splat_args args = {.spot = w->spot, .n = bodies->n, .grid = *grid};
    for (int g = 0; view->colored && g < SIM_PALETTE_MAX; g++)
        for (int c = 0; c < 3; c++) /* light is the square of the display value */
            args.palette[g][c] = view->palette[g][c] * view->palette[g][c];
    return ops->splat(bodies->nbody.device, &args);
}

static struct sim_tone_args toning(const struct sim_bodies *bodies,
                                   const struct sim_view *view,
                                   const struct sim_image *image,
                                   const struct workspace *w)
{
    struct sim_tone_args args = {
        .pixels = image->pixels.data,
        .width = image->width,
        .supersample = view->supersample,
        .glow = w->glow,
        .fine_gain = gain(bodies, view, image, &w->fine, 1 - view->glow),
        .glow_gain = gain(bodies, view, image, &w->glow, view->glow),
        .tone = view->tone,
        .norm = curve_norm(view),
    };
    if (!view->colored)
        sim_map_knots((enum sim_map)view->map, args.map);
    return args;
}

/* Points and tone, a band of rows at a time. */
static enum sim_status draw_bands(const struct sim_render_ops *ops,
                                  const struct sim_bodies *bodies,
                                  const struct sim_view *view,
                                  const struct sim_image *image, struct workspace *w)
{
    struct sim_tone_args args = toning(bodies, view, image, w);
    for (int row = 0; row < image->height; row += w->band) {
        int rows = image->height - row < w->band ? image->height - row : w->band;
        w->fine.row0 = row * view->supersample;
        w->fine.rows = rows * view->supersample;
        SIM_TRY(splat(ops, bodies, view, w, &w->fine));
        args.row0 = row;
        args.rows = rows;
        args.fine = w->fine;
        SIM_TRY(ops->tone(bodies->nbody.device, &args));
    }
    return SIM_OK;
}

/* The look for NaN goes with the picture. */
static enum sim_status fill_tail(struct sim_bodies *bodies, struct sim_image *image)
{
    struct sim_device *device = bodies->nbody.device;
    char *tail = (char *)image->pixels.data + image->tail_offset;
    SIM_TRY(device->ops->fill(device, tail, 0, sizeof(struct sim_image_tail)));
    SIM_TRY(bodies->ops->check(&bodies->nbody,
                               tail + offsetof(struct sim_image_tail, check)));
    /* the lowest byte of a little-endian 1: a fill, so that nothing is uploaded */
    return device->ops->fill(device, tail + offsetof(struct sim_image_tail, checked), 1,
                             1);
}

enum sim_status sim_view_bodies(struct sim_bodies *bodies, const struct sim_view *view,
                                struct sim_image *image)
{
    struct sim_device *device = bodies->nbody.device;
    const struct sim_render_ops *ops = sim_render_ops(device->kind);
    struct workspace w = {0};
    SIM_TRY(sim_device_usable(device));
    SIM_TRY(make_workspace(bodies, view, image, &w));
    struct sim_project_args args = camera(bodies, view, image);
    args.spot = w.spot;
    if (view->follow) {
        SIM_TRY(bodies->ops->centre(&bodies->nbody, view->follow, w.centre));
        args.follow = w.centre;
    }
    SIM_TRY(ops->project(device, &args));
    if (view->glow > 0)
        SIM_TRY(splat(ops, bodies, view, &w, &w.glow));
    SIM_TRY(draw_bands(ops, bodies, view, image, &w));
    image->units_per_pixel = view->width / image->width;
    image->step = bodies->steps;
    image->time = sim_bodies_time(bodies);
    image->has_bodies = true;
    return fill_tail(bodies, image);
}
