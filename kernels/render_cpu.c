/* render_cpu.c - pictures of bodies on CPU threads.
 *
 * Threads own strips of rows, so that light needs no atomic additions; each strip walks
 * all spots and keeps those that touch it. Sums are integers: the strips do not show. */
#include "render_math.h"

#include <stdlib.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

struct real4_f32 {
    float x, y, z, w;
};
struct real4_f64 {
    double x, y, z, w;
};

static enum sim_status project_cpu(struct sim_device *device,
                                   const struct sim_project_args *a)
{
    double cx = a->centre[0], cy = a->centre[1], cz = a->centre[2];
    if (a->follow) {
        cx += a->follow[0];
        cy += a->follow[1];
        cz += a->follow[2];
    }
    const struct real4_f32 *single = a->position;
    const struct real4_f64 *twice = a->position;
    bool is_double = a->real_bytes == sizeof(double);
#pragma omp parallel for num_threads(device->threads) schedule(static)
    for (int64_t i = 0; i < a->n; i++)
        if (is_double)
            a->spot[i] = render_project(a, twice[i].x - cx, twice[i].y - cy,
                                        twice[i].z - cz, a->group[i]);
        else
            a->spot[i] =
                render_project(a, (double)single[i].x - cx, (double)single[i].y - cy,
                               (double)single[i].z - cz, a->group[i]);
    SIM_TRY(sim_device_launch(device, "projecting bodies"));
    return sim_check_interrupt();
}

/* ---- light ----------------------------------------------------------------------------
 */

/* `channels` is a constant where this is called, so that each gets a loop of its own. */
SIM_FN void add_disc(const struct sim_splat_args *a, const struct sim_light_grid *strip,
                     const struct sim_spot *spot, int channels)
{
    float x = spot->x * strip->scale + strip->offset;
    float y = spot->y * strip->scale + strip->offset;
    struct render_box box = render_disc_box(strip, x, y);
    float peak = render_disc_peak(strip, spot->light);
    const float *color = a->palette[spot->group];
    float color0 = color[0], color1 = color[1], color2 = color[2];
    for (int j = box.y0; j < box.y1; j++) {
        uint64_t *cell = strip->light +
                         ((int64_t)(j - strip->row0) * strip->width + box.x0) * channels;
        for (int i = box.x0; i < box.x1; i++, cell += channels) {
            float light = render_disc(strip, x, y, peak, i, j);
            cell[0] += render_fixed(channels == 1 ? light : light * color0);
            if (channels == 1)
                continue;
            cell[1] += render_fixed(light * color1);
            cell[2] += render_fixed(light * color2);
        }
    }
}

/* Rows row0 .. row0 + rows - 1 of the band alone. */
static void splat_strip(const struct sim_splat_args *a, int row0, int rows)
{
    struct sim_light_grid strip = a->grid;
    size_t row_cells = (size_t)strip.width * (size_t)strip.channels;
    strip.light += (size_t)(row0 - strip.row0) * row_cells;
    strip.row0 = row0;
    strip.rows = rows;
    memset(strip.light, 0, (size_t)rows * row_cells * sizeof *strip.light);
    float low = (float)row0 - strip.radius - 1.0f;
    float high = (float)(row0 + rows) + strip.radius + 1.0f;
    for (int64_t k = 0; k < a->n; k++) {
        float y = a->spot[k].y * strip.scale + strip.offset;
        if (!(a->spot[k].light > 0.0f && y > low && y < high))
            continue;
        if (strip.channels == 1)
            add_disc(a, &strip, &a->spot[k], 1);
        else
            add_disc(a, &strip, &a->spot[k], 3);
    }
}

static enum sim_status splat_cpu(struct sim_device *device,
                                 const struct sim_splat_args *a)
{
    const struct sim_light_grid *grid = &a->grid;
    /* a few strips a thread, as bodies crowd in the middle */
    int strips = 4 * device->threads;
    int step = (grid->rows + strips - 1) / strips;
    step = step > 4 ? step : 4;
#pragma omp parallel for num_threads(device->threads) schedule(dynamic, 1)
    for (int row = 0; row < grid->rows; row += step)
        splat_strip(a, grid->row0 + row,
                    grid->rows - row < step ? grid->rows - row : step);
    SIM_TRY(sim_device_launch(device, "drawing bodies"));
    return sim_check_interrupt();
}

/* ---- tone -----------------------------------------------------------------------------
 * Row by row in planes of floats, which the compiler turns into SIMD. */

/* Room for one thread: per channel a row of light, of glow columns, of display values;
 * and the weights of the glow, which are the same in every row. */
struct tone_row {
    int cells; /* width * supersample */
    float *light[3], *glow[3], *display[3];
    float *a, *b, *c; /* of each cell, for its three glow columns */
    int *first;       /* the first of these columns */
};

/* A sum below 2^52 as a double, in a way that SIMD can: the number is put behind the
 * exponent of 2^52. Rounding to float is then that of a direct conversion. */
SIM_FN float fixed_float(uint64_t sum)
{
    uint64_t bits = sum | 0x4330000000000000u;
    double value;
    memcpy(&value, &bits, sizeof value);
    return (float)(value - 4503599627370496.0);
}

WIDE static void read_light(const uint64_t *restrict from, float gain,
                            float *restrict light, int cells)
{
    for (int i = 0; i < cells; i++)
        light[i] = fixed_float(from[i]) * gain;
}

WIDE static void read_light3(const uint64_t *restrict from, float gain, float *restrict r,
                             float *restrict g, float *restrict b, int cells)
{
    for (int i = 0; i < cells; i++) {
        r[i] = fixed_float(from[3 * i]) * gain;
        g[i] = fixed_float(from[3 * i + 1]) * gain;
        b[i] = fixed_float(from[3 * i + 2]) * gain;
    }
}

/* The glow's columns at the height of a row of cells. */
WIDE static void blend_glow_rows(const struct sim_tone_args *a, int cell_row,
                                 struct tone_row *row)
{
    struct render_spline s = render_spline(render_glow_position(a, cell_row));
    int channels = a->glow.channels, width = a->glow.width;
    const uint64_t *from = a->glow.light + (int64_t)s.first * width * channels;
    int64_t next = (int64_t)width * channels;
    for (int c = 0; c < channels; c++)
        for (int i = 0; i < width; i++) {
            const uint64_t *p = from + (int64_t)i * channels + c;
            row->glow[c][i] = (s.a * fixed_float(p[0]) + s.b * fixed_float(p[next])) +
                              s.c * fixed_float(p[2 * next]);
        }
}

static void weigh_glow_columns(const struct sim_tone_args *a, struct tone_row *row)
{
    for (int i = 0; i < row->cells; i++) {
        struct render_spline s = render_spline(render_glow_position(a, i));
        row->a[i] = s.a;
        row->b[i] = s.b;
        row->c[i] = s.c;
        row->first[i] = s.first;
    }
}

/* Cells from .. to - 1 have the same three glow columns. */
WIDE static void add_glow_run(const struct tone_row *row, const float *glow, float gain,
                              float *restrict light, int from, int to)
{
    const float *restrict a = row->a, *restrict b = row->b, *restrict c = row->c;
    float g0 = glow[0], g1 = glow[1], g2 = glow[2];
    for (int i = from; i < to; i++)
        light[i] = light[i] + gain * ((a[i] * g0 + b[i] * g1) + c[i] * g2);
}

static void add_glow(const struct sim_tone_args *a, struct tone_row *row)
{
    for (int from = 0, to; from < row->cells; from = to) {
        int first = row->first[from];
        for (to = from + 1; to < row->cells && row->first[to] == first;)
            to++;
        for (int c = 0; c < a->fine.channels; c++)
            add_glow_run(row, row->glow[c] + first, a->glow_gain, row->light[c], from,
                         to);
    }
}

WIDE static void color_row(int64_t tone, float norm, float *restrict r, float *restrict g,
                           float *restrict b, int cells)
{
    for (int i = 0; i < cells; i++) {
        float v = render_curve(tone, (r[i] + g[i] + b[i]) * (1.0f / 3.0f), norm);
        struct render_rgb out = render_color(r[i], g[i], b[i], v);
        r[i] = out.r;
        g[i] = out.g;
        b[i] = out.b;
    }
}

WIDE static void curve_row(int64_t tone, float norm, float *restrict light, int cells)
{
    for (int i = 0; i < cells; i++)
        light[i] = render_curve(tone, light[i], norm);
}

static void map_row(const struct sim_tone_args *a, struct tone_row *row)
{
    for (int i = 0; i < row->cells; i++) {
        struct render_rgb out = render_map(a->map, row->light[0][i]);
        row->light[0][i] = out.r;
        row->light[1][i] = out.g;
        row->light[2][i] = out.b;
    }
}

/* Display values of one row of cells into row->light. */
static void tone_cells(const struct sim_tone_args *a, int cell_row, struct tone_row *row)
{
    bool colored = a->fine.channels == 3;
    const uint64_t *from = a->fine.light + (int64_t)(cell_row - a->fine.row0) *
                                               a->fine.width * a->fine.channels;
    float *r = row->light[0], *g = row->light[1], *b = row->light[2];
    if (colored)
        read_light3(from, a->fine_gain, r, g, b, row->cells);
    else
        read_light(from, a->fine_gain, r, row->cells);
    if (a->glow_gain > 0.0f) {
        blend_glow_rows(a, cell_row, row);
        add_glow(a, row);
    }
    if (colored)
        color_row(a->tone, a->norm, r, g, b, row->cells);
    else {
        curve_row(a->tone, a->norm, r, row->cells);
        map_row(a, row);
    }
}

/* The mean of a pixel's cells: each row of cells summed first. */
static void gather_cells(const struct sim_tone_args *a, struct tone_row *row)
{
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < a->width; i++) {
            float sum = 0.0f;
            for (int k = 0; k < a->supersample; k++)
                sum += row->light[c][i * a->supersample + k];
            row->display[c][i] += sum;
        }
}

WIDE static void write_row(float *const plane[3], int width, float share,
                           uint8_t *restrict pixel)
{
    const float *restrict r = plane[0], *restrict g = plane[1], *restrict b = plane[2];
    for (int i = 0; i < width; i++) {
        pixel[3 * i] = render_byte(r[i] * share);
        pixel[3 * i + 1] = render_byte(g[i] * share);
        pixel[3 * i + 2] = render_byte(b[i] * share);
    }
}

static void tone_pixels(const struct sim_tone_args *a, int j, struct tone_row *row)
{
    uint8_t *pixel = a->pixels + (int64_t)j * a->width * 3;
    if (a->supersample == 1) {
        tone_cells(a, j, row);
        write_row(row->light, a->width, 1.0f, pixel);
        return;
    }
    for (int c = 0; c < 3; c++)
        memset(row->display[c], 0, (size_t)a->width * sizeof(float));
    for (int k = 0; k < a->supersample; k++) {
        tone_cells(a, j * a->supersample + k, row);
        gather_cells(a, row);
    }
    write_row(row->display, a->width, 1.0f / (float)(a->supersample * a->supersample),
              pixel);
}

static float *tone_row_new(const struct sim_tone_args *a, struct tone_row *row)
{
    row->cells = a->width * a->supersample;
    size_t cells = (size_t)row->cells, plane = cells + (size_t)a->glow.width;
    plane += (size_t)a->width;
    float *room = malloc((3 * plane + 4 * cells) * sizeof *room);
    if (!room)
        return NULL;
    for (int c = 0; c < 3; c++) {
        row->light[c] = room + (size_t)c * plane;
        row->glow[c] = row->light[c] + cells;
        row->display[c] = row->glow[c] + a->glow.width;
    }
    row->a = room + 3 * plane;
    row->b = row->a + cells;
    row->c = row->b + cells;
    row->first = (int *)(row->c + cells);
    weigh_glow_columns(a, row);
    return room;
}

static enum sim_status tone_cpu(struct sim_device *device, const struct sim_tone_args *a)
{
    bool enough = true;
    int step = a->rows / (4 * device->threads);
    step = step < 1 ? 1 : step > 8 ? 8 : step;
#pragma omp parallel num_threads(device->threads)
    {
        struct tone_row row;
        float *room = tone_row_new(a, &row);
        if (!room) {
#pragma omp atomic write
            enough = false;
        }
#pragma omp for schedule(dynamic, step)
        for (int j = a->row0; j < a->row0 + a->rows; j++)
            if (room)
                tone_pixels(a, j, &row);
        free(room);
    }
    SIM_TRY(sim_device_launch(device, "colouring a picture"));
    if (!enough)
        return sim_fail(SIM_HOST_MEMORY, "out of host memory while making a picture");
    return sim_check_interrupt();
}

static enum sim_status text_cpu(struct sim_device *device, const struct sim_text_args *a)
{
#pragma omp parallel for num_threads(device->threads) schedule(dynamic, 4)
    for (int j = a->y0; j < a->y1; j++)
        for (int i = a->x0; i < a->x1; i++)
            render_text_pixel(a, sim_font, i, j);
    SIM_TRY(sim_device_launch(device, "labelling a picture"));
    return sim_check_interrupt();
}

const struct sim_render_ops sim_render_ops_cpu = {
    .name = "cpu",
    .project = project_cpu,
    .splat = splat_cpu,
    .tone = tone_cpu,
    .text = text_cpu,
};

const struct sim_render_ops *sim_render_ops(enum sim_device_kind kind)
{
    return kind == SIM_CPU ? &sim_render_ops_cpu : sim_render_ops_cuda();
}
