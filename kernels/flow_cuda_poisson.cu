/* flow_cuda_poisson.cu - the passes of the pressure equation on the GPU (poisson.h).
 *
 * One thread an element; sums by a warp a row and then one block. Levels that fit one
 * block's work are done by one block for all of a cycle's passes, with barriers between
 * them in the place of launches. Every kernel looks at control->done first. */
#include "flow_cuda.h"

struct extent {
    int64_t nx, ny;
};

static __global__ void __launch_bounds__(FLOW_ACROSS *FLOW_UP)
    pre_kernel(struct poisson_grid g, const struct sim_poisson_control *control)
{
    if (control->done)
        return;
    FLOW_ELEMENTS(i, j, g.nx, g.ny)
    {
        const int64_t c = j * g.pitch + i;
        g.x[c] = poisson_pre(g.b, g.di, g.cx, g.cy, g.pitch, c);
    }
}

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
    restrict_kernel(struct poisson_grid g, struct poisson_grid coarse,
                    const struct sim_poisson_control *control)
{
    if (control->done)
        return;
    FLOW_ELEMENTS(i, j, coarse.nx, coarse.ny)
    coarse.b[j * coarse.pitch + i] = poisson_restrict(&g, i, j);
}

static __global__ void __launch_bounds__(FLOW_ACROSS *FLOW_UP)
    prolong_kernel(struct poisson_grid g, struct poisson_grid coarse,
                   const struct sim_poisson_control *control)
{
    if (control->done)
        return;
    FLOW_ELEMENTS(i, j, g.nx, g.ny)
    {
        real *x = g.x + j * g.pitch + i;
        *x = *x + poisson_prolong(&g, &coarse, i, j);
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

static __global__ void __launch_bounds__(FLOW_ACROSS *FLOW_UP)
    direction_kernel(real *p, const real *z, struct extent n, int64_t pitch,
                     const struct sim_poisson_control *control)
{
    if (control->done)
        return;
    const bool first = control->cycles == 0;
    const real beta = (real)control->beta;
    FLOW_ELEMENTS(i, j, n.nx, n.ny)
    {
        const int64_t c = j * pitch + i;
        p[c] = first ? z[c] : z[c] + beta * p[c];
    }
}

/* --- rows --------------------------------------------------------------------------- */

static __global__ void __launch_bounds__(32 * FLOW_WARPS)
    dots_kernel(const real *z, const real *r, const real *q, struct extent n,
                int64_t pitch, double *rows, const struct sim_poisson_control *control)
{
    if (control->done)
        return;
    const bool again = control->cycles > 0;
    FLOW_ROWS(j, n.ny)
    {
        double zr = 0, zq = 0;
        for (int64_t i = lane; i < n.nx; i += FLOW_ROW_LANES) {
            const double here = (double)z[j * pitch + i];
            zr = zr + here * (double)r[j * pitch + i];
            zq = again ? zq + here * (double)q[j * pitch + i] : 0;
        }
        zr = flow_warp_sum(zr);
        zq = flow_warp_sum(zq);
        if (lane == 0)
            rows[3 * j] = zr, rows[3 * j + 1] = zq;
    }
}

static __global__ void __launch_bounds__(32 * FLOW_WARPS)
    apply_kernel(struct poisson_grid g, const real *p, real *q, double *rows,
                 const struct sim_poisson_control *control)
{
    if (control->done)
        return;
    FLOW_ROWS(j, g.ny)
    {
        double pq = 0;
        for (int64_t i = lane; i < g.nx; i += FLOW_ROW_LANES) {
            const int64_t c = j * g.pitch + i;
            const real value = poisson_apply(p, g.cx, g.cy, g.pitch, c);
            q[c] = value;
            pq = pq + (double)p[c] * (double)value;
        }
        pq = flow_warp_sum(pq);
        if (lane == 0)
            rows[3 * j] = pq;
    }
}

static __global__ void __launch_bounds__(32 * FLOW_WARPS)
    update_kernel(real *x, real *r, const real *p, const real *q, struct extent n,
                  int64_t pitch, double *rows, const struct sim_poisson_control *control)
{
    if (control->done)
        return;
    const real alpha = (real)control->alpha;
    FLOW_ROWS(j, n.ny)
    {
        poisson_bits most = 0;
        for (int64_t i = lane; i < n.nx; i += FLOW_ROW_LANES) {
            const int64_t c = j * pitch + i;
            const real left = r[c] - alpha * q[c];
            x[c] = x[c] + alpha * p[c];
            r[c] = left;
            const poisson_bits size = poisson_size(left);
            most = size > most ? size : most;
        }
        const double all = flow_warp_max(poisson_of_size(most));
        if (lane == 0)
            rows[3 * j] = all;
    }
}

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
    after_kernel(int pass, const double *rows, int64_t count, int64_t most,
                 struct sim_poisson_control *control)
{
    __shared__ double shared[FLOW_LANES];
    if (control->done)
        return;
    const bool largest = pass == POISSON_UPDATE || pass == POISSON_RESIDUAL;
    const double first = flow_block_rows(rows, count, 0, largest, shared);
    const double second =
        pass == POISSON_DOTS ? flow_block_rows(rows, count, 1, false, shared) : 0;
    if (threadIdx.x != 0)
        return;
    if (pass == POISSON_DOTS)
        poisson_after_cycle(control, first, second);
    else if (pass == POISSON_APPLY)
        poisson_after_apply(control, first);
    else if (pass == POISSON_UPDATE)
        poisson_after_update(control, first, most);
    else
        poisson_after_sweeps(control, first, most);
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

/* --- the coarse levels in one block ------------------------------------------------- */

#define TAIL_CELLS   4096
#define TAIL_THREADS 1024

struct tail {
    struct poisson_grid level[SIM_POISSON_LEVELS];
    int count;
    bool periodic_x, periodic_y;
};

static __device__ void tail_wrap(const struct tail *t, const struct poisson_grid *g,
                                 real *x)
{
    if (t->periodic_x) {
        wrap_columns(x, g->nx, g->ny, g->pitch, threadIdx.x, blockDim.x);
        __syncthreads();
    }
    if (t->periodic_y) {
        wrap_rows(x, g->nx, g->ny, g->pitch, t->periodic_x ? -1 : 0, threadIdx.x,
                  blockDim.x);
        __syncthreads();
    }
}

static __device__ void tail_smooth(const struct tail *t, const struct poisson_grid *g,
                                   bool second)
{
    const real *x = second ? g->t : g->x;
    real *to = second ? g->x : g->t;
    tail_wrap(t, g, second ? g->t : g->x);
    for (int64_t k = threadIdx.x; k < g->nx * g->ny; k += blockDim.x) {
        const int64_t c = k / g->nx * g->pitch + k % g->nx;
        to[c] = poisson_smooth(second ? POISSON_SECOND : POISSON_FIRST, x, g->b, g->di,
                               g->cx, g->cy, g->pitch, c);
    }
    __syncthreads();
}

static __device__ void tail_pre(const struct tail *t, const struct poisson_grid *g)
{
    tail_wrap(t, g, g->b);
    for (int64_t k = threadIdx.x; k < g->nx * g->ny; k += blockDim.x) {
        const int64_t c = k / g->nx * g->pitch + k % g->nx;
        g->x[c] = poisson_pre(g->b, g->di, g->cx, g->cy, g->pitch, c);
    }
    __syncthreads();
}

static __device__ void tail_down(const struct tail *t, const struct poisson_grid *g,
                                 const struct poisson_grid *coarse)
{
    tail_pre(t, g);
    tail_wrap(t, g, g->x);
    for (int64_t k = threadIdx.x; k < coarse->nx * coarse->ny; k += blockDim.x) {
        const int64_t i = k % coarse->nx, j = k / coarse->nx;
        coarse->b[j * coarse->pitch + i] = poisson_restrict(g, i, j);
    }
    __syncthreads();
}

static __device__ void tail_up(const struct tail *t, const struct poisson_grid *g,
                               const struct poisson_grid *coarse)
{
    tail_wrap(t, coarse, coarse->x);
    for (int64_t k = threadIdx.x; k < g->nx * g->ny; k += blockDim.x) {
        const int64_t i = k % g->nx, j = k / g->nx;
        real *x = g->x + j * g->pitch + i;
        *x = *x + poisson_prolong(g, coarse, i, j);
    }
    __syncthreads();
    tail_smooth(t, g, false);
    tail_smooth(t, g, true);
}

static __global__ void __launch_bounds__(TAIL_THREADS)
    tail_kernel(const __grid_constant__ struct tail t,
                const struct sim_poisson_control *control)
{
    if (control->done)
        return;
    for (int l = 0; l < t.count - 1; l++)
        tail_down(&t, &t.level[l], &t.level[l + 1]);
    const struct poisson_grid *last = &t.level[t.count - 1];
    tail_pre(&t, last);
    for (int k = 0; k < SIM_POISSON_SWEEPS; k++) {
        tail_smooth(&t, last, false);
        tail_smooth(&t, last, true);
    }
    for (int l = t.count - 2; l >= 0; l--)
        tail_up(&t, &t.level[l], &t.level[l + 1]);
}

int poisson_tail_cuda(const struct sim_poisson_system *s)
{
    int l = s->level_count - 1;
    while (l > 0 && s->level[l - 1].nx * s->level[l - 1].ny <= TAIL_CELLS)
        l--;
    return l;
}

static enum sim_status tail(struct sim_poisson_system *s, int level)
{
    const int64_t cells = s->level[level].nx * s->level[level].ny;
    struct tail t;
    t.count = 0;
    t.periodic_x = s->periodic_x, t.periodic_y = s->periodic_y;
    for (int l = level; l < s->level_count; l++)
        t.level[t.count++] = poisson_grid_of(&s->level[l]);
    const unsigned threads =
        cells >= TAIL_THREADS ? TAIL_THREADS : (unsigned)((cells + 31) / 32 * 32);
    return sim_launch(s->device, "flow: coarse grids", tail_kernel, dim3(1),
                      dim3(threads), 0, t, s->control);
}

/* --- passes ------------------------------------------------------------------------- */

static enum sim_status by_element(struct sim_poisson_system *s, int pass,
                                  const struct poisson_grid *g,
                                  const struct poisson_grid *coarse)
{
    struct sim_device *device = s->device;
    const struct sim_poisson_control *control = s->control;
    const dim3 grid = flow_blocks(g->nx, g->ny), block(FLOW_ACROSS, FLOW_UP);
    const struct extent n = {g->nx, g->ny};
    real *p = (real *)s->p, *x = (real *)s->solution;
    switch (pass) {
    case POISSON_PRE:
        return sim_launch(device, "flow: smoothing", pre_kernel, grid, block, 0, *g,
                          control);
    case POISSON_RESTRICT:
        return sim_launch(device, "flow: restriction", restrict_kernel,
                          flow_blocks(coarse->nx, coarse->ny), block, 0, *g, *coarse,
                          control);
    case POISSON_PROLONG:
        return sim_launch(device, "flow: prolongation", prolong_kernel, grid, block, 0,
                          *g, *coarse, control);
    case POISSON_SMOOTH_A:
        return sim_launch(device, "flow: smoothing", smooth_kernel, grid, block, 0, *g,
                          POISSON_FIRST, g->x, g->t, control);
    case POISSON_SMOOTH_B:
        return sim_launch(device, "flow: smoothing", smooth_kernel, grid, block, 0, *g,
                          POISSON_SECOND, g->t, g->x, control);
    case POISSON_DIRECTION:
        return sim_launch(device, "flow: search direction", direction_kernel, grid, block,
                          0, p, g->x, n, g->pitch, control);
    case POISSON_SWEEP:
        return sim_launch(device, "flow: Jacobi sweep", smooth_kernel, grid, block, 0, *g,
                          (real)1, x, g->t, control);
    case POISSON_TAKE:
        return sim_launch(device, "flow: Jacobi sweep", copy_kernel, grid, block, 0, x,
                          g->t, n, g->pitch, control);
    default:
        return sim_launch(device, "flow: SOR sweep", colour_kernel, grid, block, 0, *g,
                          (real)s->omega, x, pass == POISSON_BLACK ? 1 : 0, control);
    }
}

static enum sim_status by_row(struct sim_poisson_system *s, int pass,
                              const struct poisson_grid *g)
{
    struct sim_device *device = s->device;
    struct sim_poisson_control *control = s->control;
    const dim3 grid(flow_row_blocks(g->ny)), block(32 * FLOW_WARPS);
    const struct extent n = {g->nx, g->ny};
    real *p = (real *)s->p, *q = (real *)s->q, *x = (real *)s->solution;
    if (pass == POISSON_DOTS)
        SIM_TRY(sim_launch(device, "flow: products", dots_kernel, grid, block, 0, g->x,
                           g->b, q, n, g->pitch, s->rows, control));
    else if (pass == POISSON_APPLY)
        SIM_TRY(sim_launch(device, "flow: operator", apply_kernel, grid, block, 0, *g, p,
                           q, s->rows, control));
    else if (pass == POISSON_UPDATE)
        SIM_TRY(sim_launch(device, "flow: update", update_kernel, grid, block, 0, x, g->b,
                           p, q, n, g->pitch, s->rows, control));
    else
        SIM_TRY(sim_launch(device, "flow: residual", residual_kernel, grid, block, 0, *g,
                           x, s->rows, control));
    return sim_launch(device, "flow: decision", after_kernel, dim3(1), dim3(FLOW_LANES),
                      0, pass, s->rows, g->ny, (int64_t)s->iterations, control);
}

enum sim_status poisson_pass_cuda(struct sim_poisson_system *s, int pass, int level)
{
    const struct poisson_grid g = poisson_grid_of(&s->level[level]);
    const struct poisson_grid coarse =
        poisson_grid_of(&s->level[level + 1 < s->level_count ? level + 1 : level]);
    if (pass == POISSON_COARSE)
        return tail(s, level);
    if (pass == POISSON_DOTS || pass == POISSON_APPLY || pass == POISSON_UPDATE ||
        pass == POISSON_RESIDUAL)
        return by_row(s, pass, &g);
    return by_element(s, pass, &g, &coarse);
}
