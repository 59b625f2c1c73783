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
#include "flow_cuda.h"

#define THREADS    256
#define ROWS       4 /* of a tile, a thread: those of a strip of poisson_math.h */
#define WIDE       (POISSON_TILE + 4)
#define WIDE_CELLS (WIDE * WIDE)
#define CHUNKS     4   /* of sums, that every block adds up for itself */
#define CELLS_NEAR 132 /* of the rim of one cell */
#define CELLS_FAR  128 /* straight beyond those */

/* Blocks a multiprocessor, at least; reals of shared memory for the coarse levels. */
#ifdef SIM_DOUBLE
#define BLOCKS     1
#define TAIL_CELLS 4900
#else
#define BLOCKS     2
#define TAIL_CELLS 9800
#endif

struct solve {
    struct poisson_grid level[SIM_POISSON_LEVELS];
    int levels, tail; /* the level from which one block does the rest */
    bool periodic_x, periodic_y;
    real *p, *q, *solution;
    double *sums; /* [4][tiles], [4][chunks] */
    int64_t most; /* cycles */
    struct sim_poisson_control *control;
};

enum slot { SLOT_ZR, SLOT_ZQ, SLOT_PQ, SLOT_LARGEST };

/* The arrays of the finest level that change places. */
struct vectors {
    real *r, *z, *x, *p;
};

/* A level in shared memory: arrays with a ring of ghosts. */
struct small {
    int nx, ny, fx, fy, pitch, count;
    unsigned inverse;        /* of nx, times 2^32 */
    int b, x, t, cx, cy, di; /* where in shared->tail */
};

struct shared {
    union {
        real tile[2][WIDE_CELLS];
        real tail[TAIL_CELLS];
        double lane[8][POISSON_LANES];
    };
    double warp[2 * THREADS / 32];
    double total[2];
    struct sim_poisson_control control;
    struct small level[SIM_POISSON_LEVELS];
    uint16_t rim[CELLS_NEAR + CELLS_FAR]; /* rim_place */
};

/* --- blocks meet -------------------------------------------------------------------- */

/* What any block wrote before is seen by every block after. `goal` counts on. */
static __device__ __noinline__ void meet(const struct solve *s, uint64_t *goal)
{
    *goal += gridDim.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        uint64_t *count = &s->control->met, seen;
        asm volatile("red.release.gpu.global.add.u64 [%0], 1;" : : "l"(count) : "memory");
        do /* no acquire in the loop: it would empty the cache of those at work beside */
            asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];"
                         : "=l"(seen)
                         : "l"(count)
                         : "memory");
        while (seen < *goal);
        asm volatile("fence.acq_rel.gpu;" : : : "memory");
    }
    __syncthreads();
}

/* --- places ------------------------------------------------------------------------- */

struct tile {
    int i, j; /* its first cell */
    int64_t number;
};

static __device__ __forceinline__ int64_t tile_count(const struct poisson_grid *g)
{
    return poisson_tiles(g->nx) * poisson_tiles(g->ny);
}

static __device__ __forceinline__ struct tile tile_at(const struct poisson_grid *g,
                                                      int64_t number)
{
    const unsigned across = (unsigned)poisson_tiles(g->nx),
                   row = (unsigned)number / across;
    struct tile t;
    t.i = (int)((unsigned)number - row * across) * POISSON_TILE;
    t.j = (int)row * POISSON_TILE;
    t.number = number;
    return t;
}

/* A cell near a tile: its place there, and in the grid; beyond a side that is not
 * periodic everything is 0 and `c` is that of the nearest cell, so that loads need no
 * question and go out together. */
struct cell {
    int ti, tj;
    int i, j;
    int64_t c;
    bool in;
};

/* i mod n, for i not far beyond 0 .. n - 1 and n to 2^20. */
static __device__ __forceinline__ int round_about(int i, int n)
{
    return i - n * (int)floorf(((float)i + 0.5f) * __fdividef(1.0f, (float)n));
}

static __device__ __forceinline__ int nearest(int i, int n)
{
    return i < 0 ? 0 : i < n ? i : n - 1;
}

/* Where a tile lies decides how much must be asked: with its rim inside the grid; at a
 * side; at a side of a grid with periodic sides. */
enum where { INSIDE, AT_SIDE, ROUND };

static __device__ __forceinline__ bool is_inside(const struct poisson_grid *g,
                                                 struct tile t)
{
    const int beyond = POISSON_TILE + 2;
    return t.i >= 2 && t.j >= 2 && t.i + beyond <= (int)g->nx &&
           t.j + beyond <= (int)g->ny;
}

template <int WHERE>
static __device__ __forceinline__ struct cell cell_at(const struct solve *s,
                                                      const struct poisson_grid *g,
                                                      struct tile t, int ti, int tj)
{
    const int nx = (int)g->nx, ny = (int)g->ny, i = t.i + ti, j = t.j + tj;
    struct cell cell = {ti, tj, i, j, 0, true};
    if (WHERE != INSIDE) {
        const bool round_x = WHERE == ROUND && s->periodic_x,
                   round_y = WHERE == ROUND && s->periodic_y;
        cell.i = round_x ? round_about(i, nx) : nearest(i, nx);
        cell.j = round_y ? round_about(j, ny) : nearest(j, ny);
        cell.in = (round_x || (i >= 0 && i < nx)) && (round_y || (j >= 0 && j < ny));
    }
    cell.c = cell.j * g->pitch + cell.i;
    return cell;
}

/* Place k of those around a tile: first the rim of one cell, then those straight beyond;
 * as (j + 2) * 64 + i + 2. */
static __device__ uint16_t rim_place(int k)
{
    const int wide = POISSON_TILE + 2, far = k - CELLS_NEAR, along = far % POISSON_TILE;
    const int end = far / POISSON_TILE & 1 ? POISSON_TILE + 1 : -2;
    int i, j;
    if (k < 2 * wide)
        i = k % wide - 1, j = k < wide ? -1 : POISSON_TILE;
    else if (k < CELLS_NEAR)
        i = k & 1 ? POISSON_TILE : -1, j = (k - 2 * wide) / 2;
    else
        i = far < 2 * POISSON_TILE ? along : end,
        j = far < 2 * POISSON_TILE ? end : along;
    return (uint16_t)((j + 2) * 64 + i + 2);
}

template <int WHERE>
static __device__ __forceinline__ struct cell
rim_cell(const struct solve *s, const struct shared *sh, const struct poisson_grid *g,
         struct tile t, int k)
{
    const int place = sh->rim[k];
    return cell_at<WHERE>(s, g, t, place % 64 - 2, place / 64 - 2);
}

/* A thread's cells: ROWS of the tile, one around it, and of the first four threads one
 * more. */
#define NEAR  ROWS
#define MORE  (ROWS + 1)
#define CELLS (ROWS + 2)

struct own {
    struct cell cell[CELLS];
    int rows; /* how many of the first ROWS are the grid's own */
};

template <int WHERE>
static __device__ __forceinline__ struct own
own_of(const struct solve *s, const struct shared *sh, const struct poisson_grid *g,
       struct tile t)
{
    struct own o;
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * ROWS;
    const int left = (int)g->ny - t.j - row, last = CELLS_NEAR + CELLS_FAR - 1;
    o.rows = t.i + lane >= (int)g->nx || left <= 0 ? 0 : left < ROWS ? left : ROWS;
    if (WHERE == INSIDE)
        o.rows = ROWS;
#pragma unroll
    for (int k = 0; k < ROWS; k++)
        o.cell[k] = cell_at<WHERE>(s, g, t, lane, row + k);
    o.cell[NEAR] = rim_cell<WHERE>(s, sh, g, t, threadIdx.x);
    o.cell[MORE] = rim_cell<WHERE>(
        s, sh, g, t, (int)threadIdx.x + THREADS < last ? threadIdx.x + THREADS : last);
    return o;
}

/* The faces of a thread's cells of the tile: each face along y is read once. */
template <int WHERE>
static __device__ __forceinline__ void
own_faces(const struct poisson_grid *g, const struct own *o, struct poisson_faces *f)
{
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
        const int64_t c = o->cell[k].c;
        f[k].w = g->cx[c], f[k].e = g->cx[c + 1], f[k].s = g->cy[c];
    }
#pragma unroll
    for (int k = 0; k < ROWS - 1; k++)
        f[k].n = WHERE == INSIDE ? f[k + 1].s : g->cy[o->cell[k].c + g->pitch];
    f[ROWS - 1].n = g->cy[o->cell[ROWS - 1].c + g->pitch];
}

/* Whether a thread has this cell of its own. */
static __device__ __forceinline__ bool has(int k)
{
    return k < MORE || threadIdx.x + THREADS < CELLS_NEAR + CELLS_FAR;
}

/* Cells of the tile and of its rim of one. */
static __device__ __forceinline__ bool is_near(int k)
{
    return k < NEAR || (k == NEAR && threadIdx.x < CELLS_NEAR);
}

static __device__ __forceinline__ int at(int i, int j)
{
    return (j + 2) * WIDE + i + 2;
}

/* (A y) of a cell, y being in shared memory. */
static __device__ __forceinline__ real flux_at(const struct poisson_faces *f,
                                               const real *y, int k)
{
    return poisson_flux(f, y[k], y[k - 1], y[k + 1], y[k - WIDE], y[k + WIDE]);
}

/* Stores a cell's value, and copies of it beyond periodic sides. */
template <int WHERE>
static __device__ __forceinline__ void put(const struct solve *s,
                                           const struct poisson_grid *g, real *x,
                                           int64_t c, int i, int j, real value)
{
    const int nx = (int)g->nx, ny = (int)g->ny;
    real *to = x + c;
    *to = value;
    if (WHERE != ROUND)
        return;
    const bool left = s->periodic_x && i == 0, right = s->periodic_x && i == nx - 1;
    const bool low = s->periodic_y && j == 0, high = s->periodic_y && j == ny - 1;
    if (!(left || right || low || high))
        return;
    const int64_t up = g->ny * g->pitch;
    for (int a = right ? -1 : 0; a <= (left ? 1 : 0); a++)
        for (int b = high ? -1 : 0; b <= (low ? 1 : 0); b++)
            to[a * nx + b * up] = value;
}

/* --- sums --------------------------------------------------------------------------- */

static __device__ double *sums_of(const struct solve *s, int slot)
{
    return s->sums + slot * tile_count(&s->level[0]);
}

/* The tile's share of a sum or of a maximum, from each thread's. All threads call. */
static __device__ void tile_total(const struct solve *s, struct shared *sh, struct tile t,
                                  int slot, double mine, int part)
{
    const bool largest = slot == SLOT_LARGEST;
    double *warp = sh->warp + part * (THREADS / 32);
    mine = largest ? flow_warp_max(mine) : flow_warp_sum(mine);
    if (threadIdx.x % 32 == 0)
        warp[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    for (int half = THREADS / 64; half >= 1; half /= 2)
        for (int k = 0; k < half; k++)
            warp[k] =
                largest ? poisson_max(warp[k], warp[k + half]) : warp[k] + warp[k + half];
    sums_of(s, slot)[t.number] = warp[0];
}

/* By a warp: what 256 lanes in shared memory are when halved, in its lane 0. */
static __device__ double halved(const double *lane, bool largest)
{
    const int t = threadIdx.x % 32;
    double of[POISSON_LANES / 32];
    for (int k = 0; k < POISSON_LANES / 32; k++)
        of[k] = lane[t + 32 * k];
    for (int half = POISSON_LANES / 64; half >= 1; half /= 2)
        for (int k = 0; k < half; k++)
            of[k] = largest ? poisson_max(of[k], of[k + half]) : of[k] + of[k + half];
    return largest ? flow_warp_max(of[0]) : flow_warp_sum(of[0]);
}

/* Chunks whose sums each block finds for itself: those of `parts` slots, into sh->total.
 */
static __device__ void few_totals(const struct solve *s, struct shared *sh, int slot,
                                  int parts, int chunks)
{
    const int t = threadIdx.x, warp = t / 32;
    const bool largest = slot == SLOT_LARGEST;
    const int64_t tiles = tile_count(&s->level[0]);
    for (int part = 0; part < parts; part++)
        for (int k = 0; k < chunks; k++) {
            const int64_t tile = (int64_t)k * POISSON_LANES + t;
            sh->lane[part * CHUNKS + k][t] =
                tile < tiles ? sums_of(s, slot + part)[tile] : 0;
        }
    __syncthreads();
    if (warp / CHUNKS < parts && warp % CHUNKS < chunks) {
        const double sum = halved(sh->lane[warp], largest);
        if (t % 32 == 0)
            sh->warp[warp] = sum;
    }
    __syncthreads();
    if (t < parts) {
        double of[CHUNKS];
        for (int k = 0; k < CHUNKS; k++)
            of[k] = k < chunks ? sh->warp[t * CHUNKS + k] : 0;
        for (int half = CHUNKS / 2; half >= 1; half /= 2)
            for (int k = 0; k < half; k++)
                of[k] = largest ? poisson_max(of[k], of[k + half]) : of[k] + of[k + half];
        sh->total[t] = of[0];
    }
    __syncthreads();
}

/* Many chunks: shared out among the blocks, which meet in between. */
static __device__ void many_totals(const struct solve *s, struct shared *sh, int slot,
                                   int parts, int64_t chunks, uint64_t *goal)
{
    const int t = threadIdx.x;
    const bool largest = slot == SLOT_LARGEST;
    const int64_t tiles = tile_count(&s->level[0]);
    double *chunk_sums = s->sums + 4 * tiles;
    for (int64_t k = blockIdx.x; k < parts * chunks; k += gridDim.x) {
        const int64_t tile = k % chunks * POISSON_LANES + t;
        sh->lane[0][t] = tile < tiles ? sums_of(s, slot + (int)(k / chunks))[tile] : 0;
        __syncthreads();
        if (t < 32) {
            const double sum = halved(sh->lane[0], largest);
            if (t == 0)
                chunk_sums[k] = sum;
        }
        __syncthreads();
    }
    meet(s, goal);
    for (int part = 0; part < parts; part++) {
        double mine = 0;
        for (int64_t k = t; k < chunks; k += POISSON_LANES)
            mine = largest ? poisson_max(mine, chunk_sums[part * chunks + k])
                           : mine + chunk_sums[part * chunks + k];
        sh->lane[part][t] = mine;
    }
    __syncthreads();
    if (t / 32 < parts) {
        const double sum = halved(sh->lane[t / 32], largest);
        if (t % 32 == 0)
            sh->total[t / 32] = sum;
    }
    __syncthreads();
}

/* The sums of a slot, or of two that follow each other, into sh->total. After a meeting.
 */
static __device__ __noinline__ void totals(const struct solve *s, struct shared *sh,
                                           int slot, int parts, uint64_t *goal)
{
    const int64_t tiles = tile_count(&s->level[0]),
                  chunks = (tiles + POISSON_LANES - 1) / POISSON_LANES;
    if (chunks <= CHUNKS)
        few_totals(s, sh, slot, parts, (int)chunks);
    else
        many_totals(s, sh, slot, parts, chunks, goal);
}

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

/* --- the coarse levels in one block ------------------------------------------------- */

/* Cells of a level, n = cell (i, j) at c, a thread each. */
#define SMALL_CELLS(l)                                     \
    for (int n = threadIdx.x; n < (l).count; n += THREADS) \
        for (struct spot at = spot_of(&(l), n); at.once; at.once = false)

struct spot {
    int i, j, c;
    bool once;
};

static __device__ __forceinline__ struct spot spot_of(const struct small *l, int n)
{
    struct spot p;
    p.j = l->nx == 1 ? n : (int)__umulhi((unsigned)n, l->inverse);
    p.i = n - p.j * l->nx;
    p.c = p.j * l->pitch + p.i;
    p.once = true;
    return p;
}

/* Stores, and copies beyond periodic sides. */
template <bool PERIODIC>
static __device__ __forceinline__ void small_put(const struct solve *s,
                                                 const struct small *l, real *x,
                                                 struct spot at, real value)
{
    real *to = x + at.c;
    *to = value;
    if (!PERIODIC)
        return;
    const bool left = s->periodic_x && at.i == 0,
               right = s->periodic_x && at.i == l->nx - 1;
    const bool low = s->periodic_y && at.j == 0,
               high = s->periodic_y && at.j == l->ny - 1;
    for (int a = right ? -1 : 0; a <= (left ? 1 : 0); a++)
        for (int b = high ? -1 : 0; b <= (low ? 1 : 0); b++)
            to[a * l->nx + b * l->ny * l->pitch] = value;
}

static __device__ __forceinline__ real small_flux(const struct small *l, const real *m,
                                                  const real *x, int c)
{
    const struct poisson_faces f = poisson_faces_of(m + l->cx, m + l->cy, l->pitch, c);
    return poisson_flux(&f, x[c], x[c - 1], x[c + 1], x[c - l->pitch], x[c + l->pitch]);
}

template <bool PERIODIC>
static __device__ __forceinline__ void
small_smooth(const struct solve *s, const struct small *l, real *m, bool second)
{
    const real *x = m + (second ? l->t : l->x);
    real *to = m + (second ? l->x : l->t);
    const real omega = second ? POISSON_SECOND : POISSON_FIRST;
    SMALL_CELLS(*l)
    small_put<PERIODIC>(s, l, to, at,
                        poisson_smoothed(omega, x[at.c], m[l->b + at.c], m[l->di + at.c],
                                         small_flux(l, m, x, at.c)));
    __syncthreads();
}

static __device__ __forceinline__ real small_residual(const struct small *l,
                                                      const real *m, int c)
{
    return m[l->b + c] - small_flux(l, m, m + l->x, c);
}

/* x from b by two sweeps (t holds b di meanwhile); the coarse level's b. */
template <bool PERIODIC>
static __device__ void small_down(const struct solve *s, struct shared *sh, int k)
{
    const struct small l = sh->level[k], coarse = sh->level[k + 1];
    real *m = sh->tail;
    SMALL_CELLS(l)
    small_put<PERIODIC>(s, &l, m + l.t, at, m[l.b + at.c] * m[l.di + at.c]);
    __syncthreads();
    SMALL_CELLS(l)
    small_put<PERIODIC>(
        s, &l, m + l.x, at,
        poisson_pre_of(m[l.b + at.c], m[l.di + at.c], small_flux(&l, m, m + l.t, at.c)));
    __syncthreads();
    SMALL_CELLS(coarse)
    {
        const int i = at.i * l.fx, j = at.j * l.fy, c = j * l.pitch + i;
        const bool wide = l.fx == 2 && i + 1 < l.nx, high = l.fy == 2 && j + 1 < l.ny;
        real sum = small_residual(&l, m, c);
        if (wide)
            sum = sum + small_residual(&l, m, c + 1);
        if (high) {
            real above = small_residual(&l, m, c + l.pitch);
            if (wide)
                above = above + small_residual(&l, m, c + l.pitch + 1);
            sum = sum + above;
        }
        m[coarse.b + at.c] = sum;
    }
    __syncthreads();
}

template <bool PERIODIC>
static __device__ void small_up(const struct solve *s, struct shared *sh, int k)
{
    const struct small l = sh->level[k], coarse = sh->level[k + 1];
    real *m = sh->tail;
    SMALL_CELLS(l)
    {
        const int I = l.fx == 2 ? at.i >> 1 : at.i, J = l.fy == 2 ? at.j >> 1 : at.j;
        const int sx = l.fx == 1 ? 0 : (at.i & 1 ? 1 : -1);
        const int sy = l.fy == 1 ? 0 : (at.j & 1 ? 1 : -1);
        small_put<PERIODIC>(s, &l, m + l.x, at,
                            m[l.x + at.c] + poisson_corrected(m + coarse.x, m + coarse.cx,
                                                              m + coarse.cy, coarse.pitch,
                                                              J * coarse.pitch + I, sx,
                                                              sy));
    }
    __syncthreads();
    small_smooth<PERIODIC>(s, &l, m, false);
    small_smooth<PERIODIC>(s, &l, m, true);
}

/* Another cell's value, by its lane; 0 where there is none. */
static __device__ __forceinline__ real of_lane(real x, int lane)
{
    const real value = __shfl_sync(0xffffffffu, x, lane < 0 ? 0 : lane);
    return lane < 0 ? (real)0 : value;
}

struct lanes {
    int w, e, s, n;
};

static __device__ __forceinline__ real lane_flux(const struct poisson_faces *f,
                                                 const struct lanes *o, real x)
{
    return poisson_flux(f, x, of_lane(x, o->w), of_lane(x, o->e), of_lane(x, o->s),
                        of_lane(x, o->n));
}

/* The coarsest level's x from its b, by one warp: a lane a cell. */
template <bool PERIODIC>
static __device__ void coarsest(const struct solve *s, struct shared *sh)
{
    const struct small l = sh->level[s->levels - 1 - s->tail];
    real *m = sh->tail;
    if (threadIdx.x < 32) {
        const bool is = (int)threadIdx.x < l.count, x_round = PERIODIC && s->periodic_x,
                   y_round = PERIODIC && s->periodic_y;
        const int n = is ? threadIdx.x : 0, rest = l.count - l.nx;
        const struct spot at = spot_of(&l, n);
        const struct poisson_faces f =
            poisson_faces_of(m + l.cx, m + l.cy, l.pitch, at.c);
        const real b = m[l.b + at.c], di = m[l.di + at.c];
        struct lanes o;
        o.w = at.i > 0 ? n - 1 : x_round ? n + l.nx - 1 : -1;
        o.e = at.i < l.nx - 1 ? n + 1 : x_round ? n - l.nx + 1 : -1;
        o.s = at.j > 0 ? n - l.nx : y_round ? n + rest : -1;
        o.n = at.j < l.ny - 1 ? n + l.nx : y_round ? n - rest : -1;
        real x = poisson_pre_of(b, di, lane_flux(&f, &o, b * di));
        for (int k = 0; k < SIM_POISSON_SWEEPS; k++) {
            x = poisson_smoothed(POISSON_FIRST, x, b, di, lane_flux(&f, &o, x));
            x = poisson_smoothed(POISSON_SECOND, x, b, di, lane_flux(&f, &o, x));
        }
        if (is)
            small_put<PERIODIC>(s, &l, m + l.x, at, x);
    }
    __syncthreads();
}

/* Reals of shared memory that a level takes: six arrays with their rings. */
static __host__ __device__ int64_t small_cells(int64_t nx, int64_t ny)
{
    return 6 * (nx + 2) * (ny + 2);
}

static __device__ void place_small(const struct poisson_grid *g, int *used,
                                   struct small *l)
{
    const int each = (int)small_cells(g->nx, g->ny) / 6;
    l->nx = (int)g->nx, l->ny = (int)g->ny, l->fx = g->fx, l->fy = g->fy;
    l->pitch = l->nx + 2, l->count = l->nx * l->ny;
    l->inverse = 0xffffffffu / (unsigned)l->nx + 1;
    l->b = *used + l->pitch + 1;
    l->x = l->b + each, l->t = l->x + each;
    l->cx = l->t + each, l->cy = l->cx + each, l->di = l->cy + each;
    *used += 6 * each;
}

/* By one block, before its right-hand side is there: the coarse levels' coefficients into
 * shared memory. */
static __device__ void prepare_tail(const struct solve *s, struct shared *sh)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        int used = 0;
        for (int k = s->tail; k < s->levels; k++)
            place_small(&s->level[k], &used, &sh->level[k - s->tail]);
    }
    __syncthreads();
    for (int k = s->tail; k < s->levels; k++) {
        const struct poisson_grid *g = &s->level[k];
        const struct small l = sh->level[k - s->tail];
        real *m = sh->tail;
#pragma unroll 4
        for (int n = threadIdx.x; n < l.pitch * (l.ny + 2); n += THREADS) {
            const int row = n / l.pitch, to = n - l.pitch - 1;
            const int64_t c = (row - 1) * g->pitch + (n - row * l.pitch) - 1;
            m[l.cx + to] = g->cx[c], m[l.cy + to] = g->cy[c], m[l.di + to] = g->di[c];
            m[l.b + to] = m[l.x + to] = m[l.t + to] = 0;
        }
    }
    __syncthreads();
}

/* z of level s->tail from its right-hand side. By that block. */
template <bool PERIODIC>
static __device__ void tail(const struct solve *s, struct shared *sh,
                            const struct vectors *v)
{
    const struct poisson_grid *first = &s->level[s->tail];
    const struct small l = sh->level[0];
    const real *b = s->tail ? first->b : v->r;
    real *to = s->tail ? first->t : v->z;
    const int last = s->levels - 1 - s->tail;
    SMALL_CELLS(l)
    sh->tail[l.b + at.c] = b[at.j * first->pitch + at.i];
    __syncthreads();
    for (int k = 0; k < last; k++)
        small_down<PERIODIC>(s, sh, k);
    coarsest<PERIODIC>(s, sh);
    for (int k = last - 1; k >= 0; k--)
        small_up<PERIODIC>(s, sh, k);
    SMALL_CELLS(l)
    put<PERIODIC ? ROUND : AT_SIDE>(s, first, to, at.j * first->pitch + at.i, at.i, at.j,
                                    sh->tail[l.x + at.c]);
    __syncthreads();
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
