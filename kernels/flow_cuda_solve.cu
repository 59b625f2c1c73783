/* flow_cuda_solve.cu - the pressure solve on the GPU: all cycles of flexible conjugate
 * gradients with a multigrid V-cycle (poisson.h) in one launch.
 *
 * As many blocks as the device runs at once stay for the whole solve, meet at barriers
 * between the passes, and all take the same decisions from the same sums, so that nothing
 * waits for the host and nothing is launched that would find the work done. A pass goes
 * by tiles of 32 x 32 cells: a block reads a tile with a rim into shared memory and does
 * there all that needs no more than the rim:
 *
 *     down    residual and solution of the last cycle's end; two sweeps from zero; the
 *             coarse right-hand side                                        (rim of 2)
 *     up      the coarse correction; two sweeps; products of z with r and q (rim of 2)
 *     across  direction p; q = A p; their product                           (rim of 1)
 *
 * The rim is computed by every tile that has it, from the same numbers by the same
 * formulas, so the bits are those of one pass after the other, as the CPU does it. What a
 * pass reads with a rim it does not write: r goes on in z's array and p in x's, and the
 * arrays change places each cycle.
 *
 * Levels of few cells, and all below them, are done by one block in its shared memory. */
#include "flow_solve_tail.cuh"

/* --- down --------------------------------------------------------------------------- */

/* What a cycle leaves behind: r - alpha q on the tile and its rim, where update. */
struct ending {
    bool update;
    real alpha;
    const real *p, *q;
    real *r, *solution;
};

/* The residuals of a column's ROWS cells, summed over coarse cells. */
static __device__ __forceinline__ void coarse_sums(const struct poisson_grid *g,
                                                   const struct poisson_grid *coarse,
                                                   const struct own *o,
                                                   const real *residual)
{
    const int i = o->cell[0].i, j = o->cell[0].j;
    const bool wide = g->fx == 2 && i + 1 < (int)g->nx;
    real pair[ROWS];
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
        const real right = __shfl_down_sync(0xffffffffu, residual[k], 1);
        pair[k] = wide ? residual[k] + right : residual[k];
    }
    if (g->fx == 2 && i % 2)
        return;
    real *to = coarse->b + i / g->fx;
    for (int k = 0; k < ROWS; k += g->fy) {
        const bool high = g->fy == 2 && k + 1 < o->rows;
        const real sum = high ? pair[k] + pair[(k + 1) % ROWS] : pair[k];
        if (k < o->rows)
            to[(j + k) / g->fy * coarse->pitch] = sum;
    }
}

/* r - alpha q in the place of `value`; the solution and the largest of the tile's cells.
 */
template <int WHERE>
static __device__ __forceinline__ double
end_cycle(const struct solve *s, const struct poisson_grid *g, const struct ending *e,
          const struct own *o, real *value)
{
    real q[CELLS], p[ROWS], x[ROWS];
    poisson_bits most = 0;
#pragma unroll
    for (int k = 0; k < CELLS; k++)
        q[k] = e->q[o->cell[k].c];
#pragma unroll
    for (int k = 0; k < ROWS; k++)
        p[k] = e->p[o->cell[k].c], x[k] = e->solution[o->cell[k].c];
#pragma unroll
    for (int k = 0; k < CELLS; k++)
        value[k] = value[k] - e->alpha * q[k];
#pragma unroll
    for (int k = 0; k < ROWS; k++)
        if (k < o->rows) {
            const poisson_bits size = poisson_size(value[k]);
            e->r[o->cell[k].c] = value[k];
            put<WHERE>(s, g, e->solution, o->cell[k].c, o->cell[k].i, o->cell[k].j,
                       x[k] + e->alpha * p[k]);
            most = size > most ? size : most;
        }
    return poisson_of_size(most);
}

template <int WHERE>
static __device__ void down_tile(const struct solve *s, struct shared *sh,
                                 const struct poisson_grid *g,
                                 const struct poisson_grid *coarse, struct tile t,
                                 const real *b, real *x, const struct ending *e)
{
    real *y = sh->tile[0], *sweep = sh->tile[1];
    const struct own o = own_of<WHERE>(s, sh, g, t);
    struct poisson_faces f[NEAR + 1];
    real value[CELLS], di[CELLS], residual[ROWS];
#pragma unroll
    for (int k = 0; k < CELLS; k++)
        value[k] = b[o.cell[k].c], di[k] = g->di[o.cell[k].c];
    own_faces<WHERE>(g, &o, f);
    f[NEAR] = poisson_faces_of(g->cx, g->cy, g->pitch, o.cell[NEAR].c);
    if (e->update) {
        const double most = end_cycle<WHERE>(s, g, e, &o, value);
        tile_total(s, sh, t, SLOT_LARGEST, most, 0);
    }
    if (!coarse)
        return;
#pragma unroll
    for (int k = 0; k < CELLS; k++)
        if (has(k))
            y[at(o.cell[k].ti, o.cell[k].tj)] = o.cell[k].in ? value[k] * di[k] : (real)0;
    __syncthreads();
#pragma unroll
    for (int k = 0; k <= NEAR; k++)
        if (is_near(k)) {
            const int here = at(o.cell[k].ti, o.cell[k].tj);
            const real swept = poisson_pre_of(value[k], di[k], flux_at(&f[k], y, here));
            sweep[here] = o.cell[k].in ? swept : (real)0;
            if (k < o.rows)
                x[o.cell[k].c] = swept;
        }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
        const int here = at(o.cell[k].ti, o.cell[k].tj);
        residual[k] = value[k] - flux_at(&f[k], sweep, here);
    }
    coarse_sums(g, coarse, &o, residual);
}

template <bool PERIODIC>
static __device__ void down(const struct solve *s, struct shared *sh, int level,
                            const struct vectors *v, const struct ending *e)
{
    const struct ending none = {false, 0, NULL, NULL, NULL, NULL};
    const struct poisson_grid *g = &s->level[level];
    const struct poisson_grid *coarse = level < s->tail ? g + 1 : NULL;
    const real *b = level ? g->b : v->r;
    real *x = level ? g->x : v->x;
    for (int64_t k = blockIdx.x; k < tile_count(g); k += gridDim.x) {
        const struct tile t = tile_at(g, k);
        if (is_inside(g, t))
            down_tile<INSIDE>(s, sh, g, coarse, t, b, x, level ? &none : e);
        else
            down_tile<PERIODIC ? ROUND : AT_SIDE>(s, sh, g, coarse, t, b, x,
                                                  level ? &none : e);
        __syncthreads();
    }
}

/* --- up ----------------------------------------------------------------------------- */

/* The coarse grid's correction e of a cell. */
static __device__ __forceinline__ real correction(const struct poisson_grid *g,
                                                  const struct poisson_grid *coarse,
                                                  const real *e, const struct cell *cell)
{
    const int i = cell->i, j = cell->j;
    const int I = g->fx == 2 ? i >> 1 : i, J = g->fy == 2 ? j >> 1 : j;
    const int sx = g->fx == 1 ? 0 : (i & 1 ? 1 : -1);
    const int sy = g->fy == 1 ? 0 : (j & 1 ? 1 : -1);
    return poisson_corrected(e, coarse->cx, coarse->cy, coarse->pitch,
                             J * coarse->pitch + I, sx, sy);
}

/* The same for a thread's ROWS cells, two coarse ones high, each number read once. */
static __device__ __forceinline__ void own_corrections(const struct poisson_grid *coarse,
                                                       const real *e,
                                                       const struct cell *cell,
                                                       real *more)
{
    const int64_t p = coarse->pitch, k = (cell->j >> 1) * p + (cell->i >> 1);
    const int sx = cell->i & 1 ? 1 : -1, fx = cell->i & 1;
    real here[4], along[4], open_x[4], open_y[3], beyond_y[3];
#pragma unroll
    for (int n = 0; n < 4; n++) {
        const int64_t c = k + (n - 1) * p;
        here[n] = e[c], along[n] = e[c + sx],
        open_x[n] = poisson_open(coarse->cx[c + fx]);
    }
#pragma unroll
    for (int n = 0; n < 3; n++) {
        const int64_t c = k + n * p;
        open_y[n] = poisson_open(coarse->cy[c]);
        beyond_y[n] = poisson_open(coarse->cy[c + sx]);
    }
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        const int mine = 1 + row / 2, other = mine + (row & 1 ? 1 : -1),
                  face = (row + 1) / 2;
        const struct poisson_ways open = {open_x[mine], open_y[face],
                                          (open_x[mine] * open_y[face]) *
                                              (beyond_y[face] * open_x[other])};
        more[row] =
            poisson_correction(&open, here[mine], along[mine], here[other], along[other]);
    }
}

/* z in the place of `to`; with r and q, their products with it. */
template <int WHERE>
static __device__ void
up_tile(const struct solve *s, struct shared *sh, const struct poisson_grid *g,
        const struct poisson_grid *coarse, struct tile t, const real *e, const real *x,
        const real *b, real *to, const real *q, bool dots)
{
    real *before = sh->tile[0], *after = sh->tile[1];
    const struct own o = own_of<WHERE>(s, sh, g, t);
    struct poisson_faces f[NEAR + 1];
    real value[CELLS], more[CELLS], r[NEAR + 1], di[NEAR + 1], last[ROWS];
#pragma unroll
    for (int k = 0; k < CELLS; k++)
        value[k] = x[o.cell[k].c];
    if (WHERE == INSIDE && g->fx == 2 && g->fy == 2)
        own_corrections(coarse, e, &o.cell[0], more);
    else
        for (int k = 0; k < ROWS; k++)
            more[k] = correction(g, coarse, e, &o.cell[k]);
    more[NEAR] = correction(g, coarse, e, &o.cell[NEAR]);
    more[MORE] = correction(g, coarse, e, &o.cell[MORE]);
#pragma unroll
    for (int k = 0; k <= NEAR; k++)
        r[k] = b[o.cell[k].c], di[k] = g->di[o.cell[k].c];
    own_faces<WHERE>(g, &o, f);
    f[NEAR] = poisson_faces_of(g->cx, g->cy, g->pitch, o.cell[NEAR].c);
#pragma unroll
    for (int k = 0; k < ROWS; k++)
        last[k] = q ? q[o.cell[k].c] : (real)0;
#pragma unroll
    for (int k = 0; k < CELLS; k++) {
        value[k] = o.cell[k].in ? value[k] + more[k] : (real)0;
        if (has(k))
            before[at(o.cell[k].ti, o.cell[k].tj)] = value[k];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k <= NEAR; k++)
        if (is_near(k)) {
            const int here = at(o.cell[k].ti, o.cell[k].tj);
            value[k] = poisson_smoothed(POISSON_FIRST, value[k], r[k], di[k],
                                        flux_at(&f[k], before, here));
            after[here] = o.cell[k].in ? value[k] : (real)0;
        }
    __syncthreads();
    double zr = 0, zq = 0;
#pragma unroll
    for (int k = 0; k < ROWS; k++)
        if (k < o.rows) {
            const int here = at(o.cell[k].ti, o.cell[k].tj);
            const real z = poisson_smoothed(POISSON_SECOND, value[k], r[k], di[k],
                                            flux_at(&f[k], after, here));
            put<WHERE>(s, g, to, o.cell[k].c, o.cell[k].i, o.cell[k].j, z);
            zr = zr + (double)z * (double)r[k];
            zq = zq + (double)z * (double)last[k];
        }
    if (dots) {
        tile_total(s, sh, t, SLOT_ZR, zr, 0);
        tile_total(s, sh, t, SLOT_ZQ, zq, 1);
    }
}

template <bool PERIODIC>
static __device__ void up(const struct solve *s, struct shared *sh, int level,
                          const struct vectors *v, const real *q)
{
    const struct poisson_grid *g = &s->level[level], *coarse = g + 1;
    const real *b = level ? g->b : v->r, *x = level ? g->x : v->x;
    real *to = level ? g->t : v->z;
    for (int64_t k = blockIdx.x; k < tile_count(g); k += gridDim.x) {
        const struct tile t = tile_at(g, k);
        if (is_inside(g, t))
            up_tile<INSIDE>(s, sh, g, coarse, t, coarse->t, x, b, to, q, level == 0);
        else
            up_tile<PERIODIC ? ROUND : AT_SIDE>(s, sh, g, coarse, t, coarse->t, x, b, to,
                                                q, level == 0);
        __syncthreads();
    }
}

/* The products where there is one level alone. */
template <bool PERIODIC>
static __device__ void products(const struct solve *s, struct shared *sh,
                                const struct vectors *v, const real *q)
{
    const real *z = v->z, *r = v->r;
    const struct poisson_grid *g = &s->level[0];
    for (int64_t n = blockIdx.x; n < tile_count(g); n += gridDim.x) {
        const struct tile t = tile_at(g, n);
        const struct own o = own_of<AT_SIDE>(s, sh, g, t);
        double zr = 0, zq = 0;
        for (int k = 0; k < o.rows; k++) {
            const int64_t c = o.cell[0].c + k * g->pitch;
            zr = zr + (double)z[c] * (double)r[c];
            if (q)
                zq = zq + (double)z[c] * (double)q[c];
        }
        tile_total(s, sh, t, SLOT_ZR, zr, 0);
        tile_total(s, sh, t, SLOT_ZQ, zq, 1);
        __syncthreads();
    }
}

/* --- across ------------------------------------------------------------------------- */

template <int WHERE>
static __device__ void across_tile(const struct solve *s, struct shared *sh,
                                   struct tile t, const struct vectors *v, real beta,
                                   bool first)
{
    const struct poisson_grid *g = &s->level[0];
    real *p = sh->tile[0];
    const struct own o = own_of<WHERE>(s, sh, g, t);
    struct poisson_faces f[ROWS];
    real value[NEAR + 1], old[NEAR + 1];
#pragma unroll
    for (int k = 0; k <= NEAR; k++)
        value[k] = v->z[o.cell[k].c], old[k] = first ? (real)0 : v->p[o.cell[k].c];
    own_faces<WHERE>(g, &o, f);
#pragma unroll
    for (int k = 0; k <= NEAR; k++)
        if (is_near(k)) {
            value[k] = first ? value[k] : value[k] + beta * old[k];
            p[at(o.cell[k].ti, o.cell[k].tj)] = o.cell[k].in ? value[k] : (real)0;
            if (k < o.rows)
                v->x[o.cell[k].c] = value[k]; /* the next p: x is not needed any more */
        }
    __syncthreads();
    double pq = 0;
#pragma unroll
    for (int k = 0; k < ROWS; k++)
        if (k < o.rows) {
            const real q = flux_at(&f[k], p, at(o.cell[k].ti, o.cell[k].tj));
            s->q[o.cell[k].c] = q;
            pq = pq + (double)value[k] * (double)q;
        }
    tile_total(s, sh, t, SLOT_PQ, pq, 0);
}

template <bool PERIODIC>
static __device__ void across(const struct solve *s, struct shared *sh,
                              const struct vectors *v, real beta, bool first)
{
    const struct poisson_grid *g = &s->level[0];
    for (int64_t k = blockIdx.x; k < tile_count(g); k += gridDim.x) {
        const struct tile t = tile_at(g, k);
        if (is_inside(g, t))
            across_tile<INSIDE>(s, sh, t, v, beta, first);
        else
            across_tile<PERIODIC ? ROUND : AT_SIDE>(s, sh, t, v, beta, first);
        __syncthreads();
    }
}

/* --- the solve ---------------------------------------------------------------------- */

static __device__ void decide(struct shared *sh, int what, int64_t most)
{
    if (threadIdx.x == 0) {
        if (what == SLOT_ZR)
            poisson_after_cycle(&sh->control, sh->total[0],
                                sh->control.cycles > 0 ? sh->total[1] : 0);
        else if (what == SLOT_PQ)
            poisson_after_apply(&sh->control, sh->total[0]);
        else
            poisson_after_update(&sh->control, sh->total[0], most);
    }
    __syncthreads();
}

/* Others may still count how often they met. */
static __device__ void finish(const struct solve *s, const struct shared *sh)
{
    const uint64_t *from = (const uint64_t *)&sh->control;
    uint64_t *to = (uint64_t *)s->control;
    if (blockIdx.x == 0 && threadIdx.x == 0)
        for (size_t k = 0; k < offsetof(struct sim_poisson_control, met) / 8; k++)
            to[k] = from[k];
}

template <bool PERIODIC>
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    solve_kernel(const __grid_constant__ struct solve s)
{
    __shared__ struct shared sh;
    struct vectors v = {s.level[0].b, s.level[0].t, s.level[0].x, s.p};
    struct ending e = {false, 0, NULL, s.q, NULL, s.solution};
    uint64_t goal = 0;
    for (int k = threadIdx.x; k < CELLS_NEAR + CELLS_FAR; k += THREADS)
        sh.rim[k] = rim_place(k);
    if (threadIdx.x == 0)
        sh.control = *s.control;
    __syncthreads();
    if (sh.control.done)
        return;
    for (;;) {
        for (int l = 0; l == 0 || l < s.tail; l++) {
            down<PERIODIC>(&s, &sh, l, &v, &e);
            if (blockIdx.x == 0 && l + 1 >= s.tail && !(l == 0 && e.update))
                prepare_tail(&s, &sh);
            meet(&s, &goal);
            if (l == 0 && e.update) {
                real *const old = v.r;
                v.r = v.z, v.z = old; /* down wrote r into z's array */
                totals(&s, &sh, SLOT_LARGEST, 1, &goal);
                decide(&sh, SLOT_LARGEST, s.most);
                if (sh.control.done) {
                    finish(&s, &sh);
                    return;
                }
            }
        }
        if (blockIdx.x == 0) {
            if (s.tail <= 1 && e.update)
                prepare_tail(&s, &sh);
            tail<PERIODIC>(&s, &sh, &v);
        }
        meet(&s, &goal);
        for (int l = s.tail - 1; l >= 0; l--) {
            up<PERIODIC>(&s, &sh, l, &v, e.update ? s.q : NULL);
            meet(&s, &goal);
        }
        if (s.tail == 0) {
            products<PERIODIC>(&s, &sh, &v, e.update ? s.q : NULL);
            meet(&s, &goal);
        }
        totals(&s, &sh, SLOT_ZR, 2, &goal);
        decide(&sh, SLOT_ZR, 0);
        across<PERIODIC>(&s, &sh, &v, (real)sh.control.beta, sh.control.cycles == 0);
        meet(&s, &goal);
        totals(&s, &sh, SLOT_PQ, 1, &goal);
        decide(&sh, SLOT_PQ, 0);
        real *const p = v.x; /* across wrote p into x's array */
        v.x = v.p, v.p = p;
        e.update = true, e.alpha = (real)sh.control.alpha, e.p = v.p, e.r = v.z;
    }
}

static int first_of_tail(const struct sim_poisson_system *s)
{
    int l = s->level_count - 1, used = 0;
    for (; l > 0; l--) {
        const int64_t cells = small_cells(s->level[l].nx, s->level[l].ny);
        if (cells > TAIL_CELLS - used)
            break;
        used += (int)cells;
    }
    return l + 1 < s->level_count ? l + 1 : l;
}

typedef void (*solve_function)(const struct solve);

static solve_function kernel_of(const struct sim_poisson_system *s)
{
    return s->periodic_x || s->periodic_y ? solve_kernel<true> : solve_kernel<false>;
}

static enum sim_status ask_together(struct sim_poisson_system *s)
{
    int blocks = 0, processors = 0, device = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error =
            cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess)
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel_of(s),
                                                              THREADS, 0);
    SIM_TRY(sim_cuda_status(s->device, error, "flow: asking for the GPU's size"));
    s->together = (int64_t)blocks * processors;
    return SIM_OK;
}

enum sim_status poisson_solve_cuda(struct sim_poisson_system *s)
{
    struct solve a;
    if (!s->together)
        SIM_TRY(ask_together(s));
    for (int l = 0; l < s->level_count; l++)
        a.level[l] = poisson_grid_of(&s->level[l]);
    a.levels = s->level_count, a.tail = first_of_tail(s);
    a.periodic_x = s->periodic_x, a.periodic_y = s->periodic_y;
    a.p = (real *)s->p, a.q = (real *)s->q, a.solution = (real *)s->solution;
    a.sums = s->sums, a.most = s->iterations, a.control = s->control;
    const int64_t tiles = poisson_tiles(s->level[0].nx) * poisson_tiles(s->level[0].ny);
    const unsigned blocks = (unsigned)(tiles < s->together ? tiles : s->together);
    return sim_launch_together(s->device, "flow: pressure", kernel_of(s), dim3(blocks),
                               dim3(THREADS), a);
}
