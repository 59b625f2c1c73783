/* field_cuda.cu - fields on a GPU; compiled for both precisions.
 *
 * All kernels are bound by memory: one thread a cell or a pixel, cells in order, so that
 * a warp reads whole lines. Formulas are those of field_math.h, the sums' tree that of
 * field.h; the bits are the CPU's. */
#include "launch.cuh"

extern "C" {
#include "field_layer_math.h"
}

#define BLOCK 256

static unsigned int blocks(int64_t items, int64_t per_block)
{
    return (unsigned int)((items + per_block - 1) / per_block);
}

/* Enough blocks for any GPU; beyond that a thread takes several cells. */
static unsigned int cell_blocks(int64_t n)
{
    int64_t most = (int64_t)1 << 20, needed = (n + BLOCK - 1) / BLOCK;
    return (unsigned int)(needed < most ? needed : most);
}

static __device__ __forceinline__ int64_t first_cell()
{
    return (int64_t)blockIdx.x * BLOCK + threadIdx.x;
}

static __device__ __forceinline__ int64_t cell_stride()
{
    return (int64_t)gridDim.x * BLOCK;
}

/* ---- changing: 1 read (not by fill) and 1 write a cell, and what is painted
 * ------------- */

template <int OP>
static __global__ void __launch_bounds__(BLOCK)
    each_kernel(const struct sim_array array, real a, real b)
{
    int64_t n = array.nx * array.ny;
    for (int64_t c = first_cell(); c < n; c += cell_stride()) {
        real *u = (real *)array.data + field_element(&array, c);
        *u = field_each(OP, OP == SIM_EACH_FILL ? (real)0 : *u, a, b);
    }
}

static enum sim_status each_cuda(struct sim_device *device, const struct sim_array *array,
                                 enum sim_each op, double a, double b)
{
    unsigned int grid = cell_blocks(array->nx * array->ny);
    void (*kernel)(const struct sim_array, real, real) =
        op == SIM_EACH_FILL    ? each_kernel<SIM_EACH_FILL>
        : op == SIM_EACH_SCALE ? each_kernel<SIM_EACH_SCALE>
        : op == SIM_EACH_SHIFT ? each_kernel<SIM_EACH_SHIFT>
                               : each_kernel<SIM_EACH_CLAMP>;
    return sim_launch(device, "field each", kernel, grid, BLOCK, 0, *array, (real)a,
                      (real)b);
}

static __global__ void __launch_bounds__(BLOCK)
    paint_kernel(const struct sim_array array, const struct sim_paint_args p)
{
    int64_t end = p.j1 * array.nx;
    for (int64_t c = p.j0 * array.nx + first_cell(); c < end; c += cell_stride()) {
        int64_t j = c / array.nx, i = c % array.nx;
        real *u = (real *)array.data + j * array.pitch + i;
        *u = field_painted(&p, array.nx, j, i, *u);
    }
}

static enum sim_status paint_cuda(struct sim_device *device,
                                  const struct sim_array *array,
                                  const struct sim_paint_args *p)
{
    unsigned int grid = cell_blocks((p->j1 - p->j0) * array->nx);
    return sim_launch(device, "field paint", paint_kernel, grid, BLOCK, 0, *array, *p);
}

template <typename Other>
static __global__ void __launch_bounds__(BLOCK)
    combine_kernel(const struct sim_array array, const struct sim_array other,
                   real factor, bool replace)
{
    int64_t n = array.nx * array.ny;
    for (int64_t c = first_cell(); c < n; c += cell_stride()) {
        real *u = (real *)array.data + field_element(&array, c);
        real v = (real)((const Other *)other.data)[field_element(&other, c)];
        *u = field_combined(*u, v, factor, replace);
    }
}

static enum sim_status combine_cuda(struct sim_device *device,
                                    const struct sim_array *array,
                                    const struct sim_array *other, bool other_is_double,
                                    double factor, bool replace)
{
    unsigned int grid = cell_blocks(array->nx * array->ny);
    return sim_launch(device, "field combine",
                      other_is_double ? combine_kernel<double> : combine_kernel<float>,
                      grid, BLOCK, 0, *array, *other, (real)factor, replace);
}

/* ---- sums
 * ------------------------------------------------------------------------------ A block
 * a chunk, a thread a lane: 16 cells each, in order, then the halving tree. */

static __device__ void write_total(struct sim_field_part part, struct sim_field_part *out)
{
    __shared__ struct sim_field_part lane[SIM_SUM_LANES];
    const int t = threadIdx.x;
    lane[t] = part;
    __syncthreads();
    for (int half = SIM_SUM_LANES / 2; half >= 1; half /= 2) {
        if (t < half)
            field_join(&lane[t], &lane[t + half]);
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = lane[0];
}

static __global__ void __launch_bounds__(SIM_SUM_LANES)
    reduce_cells_kernel(const struct sim_array a, struct sim_field_part *out)
{
    int64_t n = a.nx * a.ny, from = (int64_t)blockIdx.x * SIM_SUM_CHUNK;
    struct sim_field_part part = field_nothing();
    for (int k = 0; k < SIM_SUM_CHUNK; k += SIM_SUM_LANES) {
        int64_t c = from + k + threadIdx.x;
        if (c < n && !(a.mask && a.mask[c]))
            field_take(&part, (double)((const real *)a.data)[field_element(&a, c)], c);
    }
    write_total(part, out);
}

static __global__ void __launch_bounds__(SIM_SUM_LANES)
    reduce_parts_kernel(const struct sim_field_part *parts, int64_t count,
                        struct sim_field_part *out)
{
    int64_t from = (int64_t)blockIdx.x * SIM_SUM_CHUNK;
    struct sim_field_part part = field_nothing();
    for (int k = 0; k < SIM_SUM_CHUNK; k += SIM_SUM_LANES)
        if (from + k + threadIdx.x < count)
            field_join(&part, &parts[from + k + threadIdx.x]);
    write_total(part, out);
}

static enum sim_status reduce_cuda(struct sim_device *device,
                                   const struct sim_array *array,
                                   struct sim_field_part *parts)
{
    int64_t count = (array->nx * array->ny + SIM_SUM_CHUNK - 1) / SIM_SUM_CHUNK;
    SIM_TRY(sim_launch(device, "field sums", reduce_cells_kernel, (unsigned int)count,
                       SIM_SUM_LANES, 0, *array, parts));
    while (count > 1) {
        struct sim_field_part *next = parts + count;
        unsigned int grid = blocks(count, SIM_SUM_CHUNK);
        SIM_TRY(sim_launch(device, "field sums", reduce_parts_kernel, grid, SIM_SUM_LANES,
                           0, parts, count, next));
        parts = next;
        count = grid;
    }
    return SIM_OK;
}

/* ---- check: 1 read a cell; the lowest index is the same in any order
 * -------------------- */

static __global__ void check_begin_kernel(unsigned long long *bad)
{
    *bad = INT64_MAX;
}

static __global__ void __launch_bounds__(BLOCK)
    check_kernel(const struct sim_array a, unsigned long long *bad)
{
    int64_t n = a.nx * a.ny;
    for (int64_t c = first_cell(); c < n; c += cell_stride())
        if (!field_finite((double)((const real *)a.data)[field_element(&a, c)]) &&
            !(a.mask && a.mask[c]))
            atomicMin(bad, (unsigned long long)c);
}

static enum sim_status check_cuda(struct sim_device *device,
                                  const struct sim_array *array, int64_t *bad)
{
    unsigned int grid = cell_blocks(array->nx * array->ny);
    unsigned long long *at = (unsigned long long *)bad;
    SIM_TRY(sim_launch(device, "field check", check_begin_kernel, 1, 1, 0, at));
    return sim_launch(device, "field check", check_kernel, grid, BLOCK, 0, *array, at);
}

/* ---- pictures: a thread a pixel, in tiles of 32 x 8
 * -------------------------------------- */

static dim3 tiles(int width, int height)
{
    return dim3(blocks(width, 32), blocks(height, 8));
}

static __device__ __forceinline__ int pixel_i()
{
    return (int)(blockIdx.x * 32 + threadIdx.x);
}

static __device__ __forceinline__ int pixel_j()
{
    return (int)(blockIdx.y * 8 + threadIdx.y);
}

template <int FILTER>
static __global__ void __launch_bounds__(BLOCK)
    picture_kernel(const struct sim_array a, const struct sim_picture_args p)
{
    int i = pixel_i(), j = pixel_j();
    if (i < p.width && j < p.height)
        field_pixel(&a, &p, FILTER, i, j);
}

static enum sim_status picture_cuda(struct sim_device *device,
                                    const struct sim_array *array,
                                    const struct sim_picture_args *p)
{
    void (*kernel)(const struct sim_array, const struct sim_picture_args) =
        p->filter == SIM_FILTER_CELLS    ? picture_kernel<SIM_FILTER_CELLS>
        : p->filter == SIM_FILTER_LINEAR ? picture_kernel<SIM_FILTER_LINEAR>
                                         : picture_kernel<SIM_FILTER_CUBIC>;
    return sim_launch(device, "field picture", kernel, tiles(p->width, p->height),
                      dim3(32, 8), 0, *array, *p);
}

template <int FILTER>
static __global__ void __launch_bounds__(BLOCK)
    layer_kernel(const struct sim_array a, const struct sim_picture_args p)
{
    int i = pixel_i(), j = pixel_j();
    if (i < p.width && j < p.height)
        field_layer_pixel(&a, &p, FILTER, i, j);
}

static enum sim_status layer_cuda(struct sim_device *device,
                                  const struct sim_array *array,
                                  const struct sim_picture_args *p)
{
    void (*kernel)(const struct sim_array, const struct sim_picture_args) =
        p->filter == SIM_FILTER_LINEAR ? layer_kernel<SIM_FILTER_LINEAR>
                                       : layer_kernel<SIM_FILTER_CUBIC>;
    return sim_launch(device, "field layer", kernel, tiles(p->width, p->height),
                      dim3(32, 8), 0, *array, *p);
}

static __global__ void __launch_bounds__(BLOCK)
    arrow_kernel(const struct sim_array x, const struct sim_array y,
                 const struct sim_arrow_args p)
{
    int i = pixel_i(), j = pixel_j();
    if (i < p.place.width && j < p.place.height)
        field_arrow_pixel(&x, &y, &p, i, j);
}

static enum sim_status arrows_cuda(struct sim_device *device, const struct sim_array *x,
                                   const struct sim_array *y,
                                   const struct sim_arrow_args *p)
{
    return sim_launch(device, "arrows", arrow_kernel,
                      tiles(p->place.width, p->place.height), dim3(32, 8), 0, *x, *y, *p);
}

static __global__ void __launch_bounds__(BLOCK)
    grain_kernel(const struct sim_array x, const struct sim_array y,
                 const struct sim_grain_args p)
{
    int i = pixel_i(), j = pixel_j();
    if (i < p.place.width && j < p.place.height)
        field_grain_pixel(&x, &y, &p, i, j);
}

static enum sim_status grain_cuda(struct sim_device *device, const struct sim_array *x,
                                  const struct sim_array *y,
                                  const struct sim_grain_args *p)
{
    return sim_launch(device, "grain", grain_kernel,
                      tiles(p->place.width, p->place.height), dim3(32, 8), 0, *x, *y, *p);
}

static __global__ void __launch_bounds__(BLOCK)
    no_dots_kernel(const struct sim_dot_args p)
{
    int i = pixel_i(), j = pixel_j();
    if (i < p.width && j < p.height)
        p.sum[(int64_t)j * p.width + i] = 0;
}

static __global__ void __launch_bounds__(BLOCK) dots_kernel(const struct sim_dot_args p)
{
    int64_t k = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (k >= p.count)
        return;
    const struct field_dot d = field_dot_at(&p, k);
    for (int j = d.j0; j < d.j1; j++)
        for (int i = d.i0; i < d.i1; i++)
            atomicAdd(p.sum + (int64_t)j * p.width + i, field_dot_part(&p, &d, i, j));
}

static __global__ void __launch_bounds__(BLOCK)
    dot_pixel_kernel(const struct sim_dot_args p)
{
    int i = pixel_i(), j = pixel_j();
    if (i < p.width && j < p.height)
        field_dot_pixel(&p, i, j);
}

static enum sim_status dots_cuda(struct sim_device *device, const struct sim_dot_args *p)
{
    const dim3 grid = tiles(p->width, p->height), block(32, 8);
    SIM_TRY(sim_launch(device, "no dots", no_dots_kernel, grid, block, 0, *p));
    if (p->count)
        SIM_TRY(sim_launch(device, "dots", dots_kernel, dim3(blocks(p->count, BLOCK)),
                           dim3(BLOCK), 0, *p));
    return sim_launch(device, "dots' pixels", dot_pixel_kernel, grid, block, 0, *p);
}

static __global__ void __launch_bounds__(BLOCK)
    cover_kernel(const struct sim_cover_args c)
{
    int i = pixel_i(), j = pixel_j();
    if (i < c.width && j < c.height)
        field_cover_pixel(&c, i, j);
}

static enum sim_status cover_cuda(struct sim_device *device,
                                  const struct sim_cover_args *c)
{
    return sim_launch(device, "picture cover", cover_kernel, tiles(c->width, c->height),
                      dim3(32, 8), 0, *c);
}

static __global__ void __launch_bounds__(BLOCK) bar_kernel(const struct sim_bar_args b)
{
    int i = pixel_i(), j = pixel_j();
    if (i < b.width + b.tick_length && j < b.height)
        field_bar_pixel(&b, i, j);
}

static enum sim_status bar_cuda(struct sim_device *device, const struct sim_bar_args *b)
{
    return sim_launch(device, "colour bar", bar_kernel,
                      tiles(b->width + b->tick_length, b->height), dim3(32, 8), 0, *b);
}

static __global__ void __launch_bounds__(BLOCK) blit_kernel(const struct sim_blit_args b)
{
    int i = pixel_i(), j = pixel_j();
    if (i < b.width && j < b.height)
        field_blit_pixel(&b, i, j);
}

static enum sim_status blit_cuda(struct sim_device *device, const struct sim_blit_args *b)
{
    return sim_launch(device, "picture copy", blit_kernel, tiles(b->width, b->height),
                      dim3(32, 8), 0, *b);
}

static const struct sim_field_ops ops = {
    sizeof(real) == 8 ? "cuda double" : "cuda single",
    sizeof(real),
    each_cuda,
    paint_cuda,
    combine_cuda,
    reduce_cuda,
    check_cuda,
    picture_cuda,
    layer_cuda,
    arrows_cuda,
    grain_cuda,
    dots_cuda,
    cover_cuda,
    bar_cuda,
    blit_cuda,
};

#ifdef SIM_DOUBLE
extern "C" const struct sim_field_ops *sim_field_ops_cuda_f64(void)
{
    return &ops;
}
#else
extern "C" const struct sim_field_ops *sim_field_ops_cuda_f64(void);
extern "C" const struct sim_field_ops *sim_field_ops_cuda(bool is_double)
{
    return is_double ? sim_field_ops_cuda_f64() : &ops;
}
#endif
