/* flow_solve.cuh - what the passes of flow_cuda_solve.cu stand on: how blocks meet, where
 * the cells of a tile and of its rim are, sums and maxima over tiles by the tree of
 * poisson_math.h. */
#ifndef FLOW_SOLVE_CUH
#define FLOW_SOLVE_CUH

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

#endif
