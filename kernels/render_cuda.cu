/* render_cuda.cu - pictures of bodies on a GPU.
 *
 * Light is added with 64-bit integer atomics: their order cannot change a bit, so that
 * the sums equal the CPU's. Formulas are those of render_math.h. */
#include "launch.cuh"

extern "C" {
#include "render_math.h"
}

#define BLOCK 256
#define WARP  32

struct real4_f32 {
    float x, y, z, w;
};
struct real4_f64 {
    double x, y, z, w;
};

static unsigned int blocks(int64_t items, int64_t per_block)
{
    return (unsigned int)((items + per_block - 1) / per_block);
}

/* ---- project --------------------------------------------------------------------------
 * A thread a body; 17 (33) bytes read, 16 written. */

template <typename Real4>
__global__ void __launch_bounds__(BLOCK) project_kernel(const struct sim_project_args a)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= a.n)
        return;
    Real4 p = ((const Real4 *)a.position)[i];
    double cx = a.centre[0], cy = a.centre[1], cz = a.centre[2];
    if (a.follow) {
        cx += a.follow[0];
        cy += a.follow[1];
        cz += a.follow[2];
    }
    a.spot[i] = render_project(&a, (double)p.x - cx, (double)p.y - cy, (double)p.z - cz,
                               a.group[i]);
}

static enum sim_status project_cuda(struct sim_device *device,
                                    const struct sim_project_args *a)
{
    unsigned int grid = blocks(a->n, BLOCK);
    if (a->real_bytes == sizeof(double))
        return sim_launch(device, "picture project", project_kernel<real4_f64>, grid,
                          BLOCK, 0, *a);
    return sim_launch(device, "picture project", project_kernel<real4_f32>, grid, BLOCK,
                      0, *a);
}

/* ---- splat ----------------------------------------------------------------------------
 * A warp a body: its lanes share the disc's cells, of which there are about 25 at 720
 * rows, so that neighbouring cells' atomics leave in one go. */

template <int channels>
__global__ void __launch_bounds__(BLOCK) splat_kernel(const struct sim_splat_args a)
{
    int64_t body = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) / WARP;
    if (body >= a.n)
        return;
    struct sim_spot spot = a.spot[body];
    if (!(spot.light > 0.0f))
        return;
    float x = spot.x * a.grid.scale + a.grid.offset;
    float y = spot.y * a.grid.scale + a.grid.offset;
    struct render_box box = render_disc_box(&a.grid, x, y);
    int width = box.x1 - box.x0, height = box.y1 - box.y0;
    if (width <= 0 || height <= 0)
        return;
    float peak = render_disc_peak(&a.grid, spot.light);
    for (int k = threadIdx.x % WARP; k < width * height; k += WARP) {
        int i = box.x0 + k % width, j = box.y0 + k / width;
        float light = render_disc(&a.grid, x, y, peak, i, j);
        if (light <= 0.0f)
            continue;
        int64_t cell = ((int64_t)(j - a.grid.row0) * a.grid.width + i) * channels;
        unsigned long long *to = (unsigned long long *)a.grid.light + cell;
        for (int c = 0; c < channels; c++) {
            float part = channels == 1 ? light : light * a.palette[spot.group][c];
            atomicAdd(to + c, (unsigned long long)render_fixed(part));
        }
    }
}

static enum sim_status splat_cuda(struct sim_device *device,
                                  const struct sim_splat_args *a)
{
    size_t cells = (size_t)a->grid.width * (size_t)a->grid.rows;
    SIM_TRY(device->ops->fill(device, a->grid.light, 0,
                              cells * (size_t)a->grid.channels * sizeof *a->grid.light));
    unsigned int grid = blocks(a->n, BLOCK / WARP);
    if (a->grid.channels == 1)
        return sim_launch(device, "picture light", splat_kernel<1>, grid, BLOCK, 0, *a);
    return sim_launch(device, "picture light", splat_kernel<3>, grid, BLOCK, 0, *a);
}

/* ---- tone -----------------------------------------------------------------------------
 * A thread a pixel for the arithmetic; the block's 256 pixels, neighbours in memory
 * across row ends, are gathered in shared memory and leave as whole words. Per pixel 24
 * (8) bytes of light read and 3 written; the glow's grid stays in the L2 cache. */

__device__ float glow_at(const struct sim_tone_args *a, struct render_spline sx,
                         struct render_spline sy, int channel)
{
    int channels = a->glow.channels, width = a->glow.width;
    const uint64_t *p =
        a->glow.light + ((int64_t)sy.first * width + sx.first) * channels + channel;
    int64_t down = (int64_t)width * channels;
    float column[3];
    for (int k = 0; k < 3; k++, p += channels)
        column[k] =
            (sy.a * (float)p[0] + sy.b * (float)p[down]) + sy.c * (float)p[2 * down];
    return (sx.a * column[0] + sx.b * column[1]) + sx.c * column[2];
}

/* Display values of fine cell (i, j). */
template <int channels>
__device__ struct render_rgb tone_cell(const struct sim_tone_args *a, int i, int j)
{
    const uint64_t *p =
        a->fine.light + ((int64_t)(j - a->fine.row0) * a->fine.width + i) * channels;
    float light[channels];
    for (int c = 0; c < channels; c++)
        light[c] = (float)p[c] * a->fine_gain;
    if (a->glow_gain > 0.0f) {
        struct render_spline sx = render_spline(render_glow_position(a, i));
        struct render_spline sy = render_spline(render_glow_position(a, j));
        for (int c = 0; c < channels; c++)
            light[c] = light[c] + a->glow_gain * glow_at(a, sx, sy, c);
    }
    if (channels == 1)
        return render_map(a->map, render_curve(a->tone, light[0], a->norm));
    float r = light[0], g = light[channels > 1 ? 1 : 0], b = light[channels > 2 ? 2 : 0];
    float v = render_curve(a->tone, (r + g + b) * (1.0f / 3.0f), a->norm);
    return render_color(r, g, b, v);
}

/* The mean of a pixel's cells: each row of cells summed first. */
template <int channels>
__device__ struct render_rgb tone_pixel(const struct sim_tone_args *a, int x, int y)
{
    int n = a->supersample;
    struct render_rgb sum = {0.0f, 0.0f, 0.0f};
    for (int j = 0; j < n; j++) {
        struct render_rgb row = {0.0f, 0.0f, 0.0f};
        for (int i = 0; i < n; i++) {
            struct render_rgb cell = tone_cell<channels>(a, x * n + i, y * n + j);
            row.r += cell.r;
            row.g += cell.g;
            row.b += cell.b;
        }
        sum.r += row.r;
        sum.g += row.g;
        sum.b += row.b;
    }
    float share = 1.0f / (float)(n * n);
    return render_rgb{sum.r * share, sum.g * share, sum.b * share};
}

template <int channels>
__global__ void __launch_bounds__(BLOCK) tone_kernel(const struct sim_tone_args a)
{
    __shared__ uint32_t words[BLOCK * 3 / 4];
    uint8_t *bytes = (uint8_t *)words;
    int64_t first = (int64_t)a.row0 * a.width + (int64_t)blockIdx.x * BLOCK;
    int64_t end = (int64_t)(a.row0 + a.rows) * a.width;
    int64_t pixel = first + threadIdx.x;
    if (pixel < end) {
        struct render_rgb out =
            tone_pixel<channels>(&a, (int)(pixel % a.width), (int)(pixel / a.width));
        bytes[3 * threadIdx.x] = render_byte(out.r);
        bytes[3 * threadIdx.x + 1] = render_byte(out.g);
        bytes[3 * threadIdx.x + 2] = render_byte(out.b);
    }
    __syncthreads();
    /* first is a multiple of 4 pixels, as bands begin at multiples of 4 rows */
    int count = end - first < BLOCK ? (int)(end - first) * 3 : BLOCK * 3;
    uint8_t *to = a.pixels + first * 3;
    if (threadIdx.x < count / 4)
        ((uint32_t *)to)[threadIdx.x] = words[threadIdx.x];
    if (threadIdx.x < count % 4)
        to[count / 4 * 4 + threadIdx.x] = bytes[count / 4 * 4 + threadIdx.x];
}

static enum sim_status tone_cuda(struct sim_device *device, const struct sim_tone_args *a)
{
    unsigned int grid = blocks((int64_t)a->width * a->rows, BLOCK);
    if (a->fine.channels == 1)
        return sim_launch(device, "picture tone", tone_kernel<1>, grid, BLOCK, 0, *a);
    return sim_launch(device, "picture tone", tone_kernel<3>, grid, BLOCK, 0, *a);
}

/* ---- text -----------------------------------------------------------------------------
 * A thread a pixel of the text's box, in tiles of 32 x 8. */

__global__ void __launch_bounds__(BLOCK) text_kernel(const struct sim_text_args a)
{
    int i = a.x0 + (int)(blockIdx.x * 32 + threadIdx.x);
    int j = a.y0 + (int)(blockIdx.y * 8 + threadIdx.y);
    if (i < a.x1 && j < a.y1)
        render_text_pixel(&a, sim_font, i, j);
}

static enum sim_status text_cuda(struct sim_device *device, const struct sim_text_args *a)
{
    dim3 grid(blocks(a->x1 - a->x0, 32), blocks(a->y1 - a->y0, 8));
    return sim_launch(device, "picture text", text_kernel, grid, dim3(32, 8), 0, *a);
}

extern "C" const struct sim_render_ops *sim_render_ops_cuda(void)
{
    static const struct sim_render_ops ops = {
        "cuda", project_cuda, splat_cuda, tone_cuda, text_cuda,
    };
    return &ops;
}
