/* flow_solve_tail.cuh - the coarse levels of a cycle (flow_cuda_solve.cu), by one block
 * in its shared memory: two sweeps, restriction, and back, level by level; the coarsest
 * by one warp in registers, a lane a cell. Coefficients are brought there while the block
 * waits. */
#ifndef FLOW_SOLVE_TAIL_CUH
#define FLOW_SOLVE_TAIL_CUH

#include "flow_solve.cuh"

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

#endif
