/* flow_cuda_poisson.cu - the sweeps of the pressure equation on the GPU as the SMAC paper
 * does them, Jacobi's and SOR (poisson.h); multigrid is in flow_cuda_solve.cu.
 *
 * One thread an element; the maximum by a warp a row and then one block. Every kernel
 * looks at control->done first. */
#include "flow_cuda.h"

struct extent {
    int64_t nx, ny;
};

static __global__ void __launch_bounds__(FLOW_ACROSS *FLOW_UP)
    smooth_kernel(struct poisson_grid g, real omega, const real *x, real *to,
                  const struct sim_poisson_control *control)
{
    if (control->done)
        return;
    FLOW_ELEMENTS(i, j, g.nx, g.ny)
    {
        const int64_t c = j * g.pitch + i;
        to[c] = poisson_smooth(omega, x, g.b, g.di, g.cx, g.cy, g.pitch, c);
    }
}

static __global__ void __launch_bounds__(FLOW_ACROSS *FLOW_UP)
    colour_kernel(struct poisson_grid g, real omega, real *x, int colour,
                  const struct sim_poisson_control *control)
{
    if (control->done)
        return;
    FLOW_ELEMENTS(i, j, g.nx, g.ny)
    if (((i + j) & 1) == colour) {
        const int64_t c = j * g.pitch + i;
        x[c] = poisson_smooth(omega, x, g.b, g.di, g.cx, g.cy, g.pitch, c);
    }
}

static __global__ void __launch_bounds__(FLOW_ACROSS *FLOW_UP)
    copy_kernel(real *to, const real *from, struct extent n, int64_t pitch,
                const struct sim_poisson_control *control)
{
    if (control->done)
        return;
    FLOW_ELEMENTS(i, j, n.nx, n.ny)
    to[j * pitch + i] = from[j * pitch + i];
}

/* --- rows --------------------------------------------------------------------------- */

static __global__ void __launch_bounds__(32 * FLOW_WARPS)
    residual_kernel(struct poisson_grid g, const real *x, double *rows,
                    const struct sim_poisson_control *control)
{
    if (control->done)
        return;
    FLOW_ROWS(j, g.ny)
    {
        poisson_bits most = 0;
        for (int64_t i = lane; i < g.nx; i += FLOW_ROW_LANES) {
            const int64_t c = j * g.pitch + i;
            const poisson_bits size =
                poisson_size(g.b[c] - poisson_apply(x, g.cx, g.cy, g.pitch, c));
            most = size > most ? size : most;
        }
        const double all = flow_warp_max(poisson_of_size(most));
        if (lane == 0)
            rows[3 * j] = all;
    }
}

static __global__ void __launch_bounds__(FLOW_LANES)
    after_kernel(const double *rows, int64_t count, int64_t most,
                 struct sim_poisson_control *control)
{
    __shared__ double shared[FLOW_LANES];
    if (control->done)
        return;
    const double largest = flow_block_rows(rows, count, 0, true, shared);
    if (threadIdx.x == 0)
        poisson_after_sweeps(control, largest, most);
}

/* --- periodic sides ----------------------------------------------------------------- */

static __device__ void wrap_columns(real *x, int64_t nx, int64_t ny, int64_t pitch,
                                    int64_t first, int64_t step)
{
    for (int64_t j = first; j < ny; j += step) {
        x[j * pitch - 1] = x[j * pitch + nx - 1];
        x[j * pitch + nx] = x[j * pitch];
    }
}

static __device__ void wrap_rows(real *x, int64_t nx, int64_t ny, int64_t pitch,
                                 int64_t from, int64_t first, int64_t step)
{
    for (int64_t i = from + first; i < nx - from; i += step) {
        x[i - pitch] = x[(ny - 1) * pitch + i];
        x[ny * pitch + i] = x[i];
    }
}

static __global__ void wrap_kernel(real *x, struct extent n, int64_t pitch, bool columns,
                                   int64_t from,
                                   const struct sim_poisson_control *control)
{
    const int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
                  step = (int64_t)gridDim.x * blockDim.x;
    if (control && control->done)
        return;
    if (columns)
        wrap_columns(x, n.nx, n.ny, pitch, first, step);
    else
        wrap_rows(x, n.nx, n.ny, pitch, from, first, step);
}

enum sim_status poisson_wrap_cuda(struct sim_poisson_system *s, int level, void *array)
{
    const struct sim_poisson_level *l = &s->level[level];
    const struct extent n = {l->nx, l->ny};
    /* the solution is wrapped when all is done, too */
    const struct sim_poisson_control *look = array == s->solution ? NULL : s->control;
    const int64_t longest = l->nx + 2 > l->ny ? l->nx + 2 : l->ny;
    const dim3 grid(
        (unsigned)((longest + 255) / 256 < 1024 ? (longest + 255) / 256 : 1024));
    if (s->periodic_x)
        SIM_TRY(sim_launch(s->device, "flow: periodic sides", wrap_kernel, grid,
                           dim3(256), 0, (real *)array, n, l->pitch, true, (int64_t)0,
                           look));
    if (s->periodic_y) /* whole rows, after the columns: corners too */
        SIM_TRY(sim_launch(s->device, "flow: periodic sides", wrap_kernel, grid,
                           dim3(256), 0, (real *)array, n, l->pitch, false,
                           (int64_t)(s->periodic_x ? -1 : 0), look));
    return SIM_OK;
}

/* --- passes ------------------------------------------------------------------------- */

static enum sim_status residual(struct sim_poisson_system *s,
                                const struct poisson_grid *g)
{
    const dim3 grid(flow_row_blocks(g->ny)), block(32 * FLOW_WARPS);
    SIM_TRY(sim_launch(s->device, "flow: residual", residual_kernel, grid, block, 0, *g,
                       (const real *)s->solution, s->rows, s->control));
    return sim_launch(s->device, "flow: decision", after_kernel, dim3(1),
                      dim3(FLOW_LANES), 0, s->rows, g->ny, (int64_t)s->iterations,
                      s->control);
}

enum sim_status poisson_pass_cuda(struct sim_poisson_system *s, int pass, int level)
{
    struct sim_device *device = s->device;
    const struct sim_poisson_control *control = s->control;
    const struct poisson_grid g = poisson_grid_of(&s->level[level]);
    const dim3 grid = flow_blocks(g.nx, g.ny), block(FLOW_ACROSS, FLOW_UP);
    const struct extent n = {g.nx, g.ny};
    real *x = (real *)s->solution;
    switch (pass) {
    case POISSON_RESIDUAL:
        return residual(s, &g);
    case POISSON_SWEEP:
        return sim_launch(device, "flow: Jacobi sweep", smooth_kernel, grid, block, 0, g,
                          (real)1, x, g.t, control);
    case POISSON_TAKE:
        return sim_launch(device, "flow: Jacobi sweep", copy_kernel, grid, block, 0, x,
                          g.t, n, g.pitch, control);
    default:
        return sim_launch(device, "flow: SOR sweep", colour_kernel, grid, block, 0, g,
                          (real)s->omega, x, pass == POISSON_BLACK ? 1 : 0, control);
    }
}
