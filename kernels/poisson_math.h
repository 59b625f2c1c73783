/* poisson_math.h - the formulas of the pressure equation's passes (poisson.h), for both
 * backends. Sums over neighbours are paired so that a mirrored problem gives mirrored
 * bits; no fused multiply-adds, so that every vector width gives the same bits. */
#ifndef POISSON_MATH_H
#define POISSON_MATH_H

#include "poisson.h"
#include "sim_fn.h"

/* A level as the loops see it. */
struct poisson_grid {
    int64_t nx, ny, pitch;
    int fx, fy;
    const real *cx, *cy, *di;
    real *b, *x, *t;
};

/* What poisson_plan.h puts in order. */
enum poisson_pass {
    POISSON_PRE,       /* level: x from b */
    POISSON_RESTRICT,  /* level: the next one's b */
    POISSON_COARSE,    /* level and all below it: x from b */
    POISSON_PROLONG,   /* level: x += the next one's */
    POISSON_SMOOTH_A,  /* level: t from x */
    POISSON_SMOOTH_B,  /* level: x from t */
    POISSON_DOTS,      /* z.r and z.q; rho, beta */
    POISSON_DIRECTION, /* p = z + beta p */
    POISSON_APPLY,     /* q = A p, p.q; alpha */
    POISSON_UPDATE,    /* solution += alpha p, r -= alpha q, max |r|; done? */
    POISSON_SWEEP,     /* Jacobi: solution into t */
    POISSON_TAKE,      /* t into solution */
    POISSON_RED,       /* SOR in place, one colour */
    POISSON_BLACK,
    POISSON_RESIDUAL, /* r = b - A solution; max |r| */
};

/* 1 / (5/4 +- 3/4 cos 45 degrees) */
#define POISSON_FIRST  ((real)1.3894165)
#define POISSON_SECOND ((real)0.5617014)

SIM_FN struct poisson_grid poisson_grid_of(const struct sim_poisson_level *l)
{
    struct poisson_grid g;
    g.nx = l->nx, g.ny = l->ny, g.pitch = l->pitch;
    g.fx = l->fx, g.fy = l->fy;
    g.cx = (const real *)l->cx, g.cy = (const real *)l->cy, g.di = (const real *)l->di;
    g.b = (real *)l->b, g.x = (real *)l->x, g.t = (real *)l->t;
    return g;
}

SIM_FN real poisson_abs(real a)
{
    return a < (real)0 ? -a : a;
}

/* Sums of products over the finest level go by one tree, on both backends and whatever
 * the number of threads: lane t of 32 adds down the 4 rows of a strip 32 cells wide, and
 * the lanes are halved; the 8 strips of a tile of 32 x 32 cells are halved; then lane t
 * of 256 takes tile t of each chunk of 256 tiles (row by row), lanes halved; then lane t
 * the chunks t, t + 256, ..., lanes halved. What is beyond the grid counts as 0. */
#define POISSON_TILE  32
#define POISSON_STRIP 4
#define POISSON_LANES 256

SIM_FN int64_t poisson_tiles(int64_t n)
{
    return (n + POISSON_TILE - 1) / POISSON_TILE;
}

/* max |a| of n elements, NaN if any is: sizes are compared as whole numbers, in whose
 * order NaN is last. */
#ifdef SIM_DOUBLE
typedef int64_t poisson_bits;
#else
typedef int32_t poisson_bits;
#endif

SIM_FN poisson_bits poisson_size(real a)
{
    union {
        real number;
        poisson_bits bits;
    } of;
    of.number = a;
    return of.bits & ((((poisson_bits)1 << (8 * sizeof(real) - 2)) - 1) * 2 + 1);
}

SIM_FN double poisson_of_size(poisson_bits size)
{
    union {
        real number;
        poisson_bits bits;
    } of;
    of.bits = size;
    return (double)of.number;
}

SIM_FN double poisson_largest(const real *a, int64_t n)
{
    poisson_bits most = 0;
    for (int64_t i = 0; i < n; i++) {
        const poisson_bits size = poisson_size(a[i]);
        most = size > most ? size : most;
    }
    return poisson_of_size(most);
}

/* A cell's faces: west, east, south, north. */
struct poisson_faces {
    real w, e, s, n;
};

SIM_FN struct poisson_faces poisson_faces_of(const real *cx, const real *cy,
                                             int64_t pitch, int64_t c)
{
    const struct poisson_faces f = {cx[c], cx[c + 1], cy[c], cy[c + pitch]};
    return f;
}

/* (A x) of a cell, from its value and its neighbours' */
SIM_FN real poisson_flux(const struct poisson_faces *f, real here, real west, real east,
                         real south, real north)
{
    const real across = f->w * (here - west) + f->e * (here - east);
    const real up = f->s * (here - south) + f->n * (here - north);
    return across + up;
}

/* (A x) at element c */
SIM_FN real poisson_apply(const real *x, const real *cx, const real *cy, int64_t pitch,
                          int64_t c)
{
    const struct poisson_faces f = poisson_faces_of(cx, cy, pitch, c);
    return poisson_flux(&f, x[c], x[c - 1], x[c + 1], x[c - pitch], x[c + pitch]);
}

/* Two sweeps from zero: x from b alone. `flux`: (A y) with y = b di. */
SIM_FN real poisson_pre_of(real b, real di, real flux)
{
    return POISSON_FIRST * (b * di) + POISSON_SECOND * (di * (b - POISSON_FIRST * flux));
}

SIM_FN real poisson_pre(const real *b, const real *di, const real *cx, const real *cy,
                        int64_t pitch, int64_t c)
{
    const struct poisson_faces f = poisson_faces_of(cx, cy, pitch, c);
    const real flux =
        poisson_flux(&f, b[c] * di[c], b[c - 1] * di[c - 1], b[c + 1] * di[c + 1],
                     b[c - pitch] * di[c - pitch], b[c + pitch] * di[c + pitch]);
    return poisson_pre_of(b[c], di[c], flux);
}

SIM_FN real poisson_smoothed(real omega, real x, real b, real di, real flux)
{
    return x + omega * (di * (b - flux));
}

SIM_FN real poisson_smooth(real omega, const real *x, const real *b, const real *di,
                           const real *cx, const real *cy, int64_t pitch, int64_t c)
{
    return poisson_smoothed(omega, x[c], b[c], di[c], poisson_apply(x, cx, cy, pitch, c));
}

/* The residual of the fine cells of coarse cell (i, j). */
SIM_FN real poisson_restrict(const struct poisson_grid *g, int64_t i, int64_t j)
{
    const int64_t i0 = i * g->fx, j0 = j * g->fy, c = j0 * g->pitch + i0;
    const bool wide = g->fx == 2 && i0 + 1 < g->nx, high = g->fy == 2 && j0 + 1 < g->ny;
    const int64_t p = g->pitch;
    real sum = g->b[c] - poisson_apply(g->x, g->cx, g->cy, p, c);
    if (wide)
        sum = sum + (g->b[c + 1] - poisson_apply(g->x, g->cx, g->cy, p, c + 1));
    if (high) {
        real above = g->b[c + p] - poisson_apply(g->x, g->cx, g->cy, p, c + p);
        if (wide)
            above = above +
                    (g->b[c + p + 1] - poisson_apply(g->x, g->cx, g->cy, p, c + p + 1));
        sum = sum + above;
    }
    return sum;
}

/* 1 for a face that is open at all, 0 for a closed one. */
SIM_FN real poisson_open(real coefficient)
{
    return coefficient != (real)0 ? (real)1 : (real)0;
}

/* What is open around a coarse cell toward a fine one of it: along x, along y, and all
 * the way round the corner. */
struct poisson_ways {
    real x, y, round;
};

/* Toward (sx, sy), each -1 or 1, or 0 along an axis that was not halved. */
SIM_FN struct poisson_ways poisson_ways_of(const real *cx, const real *cy, int64_t p,
                                           int64_t k, int64_t sx, int64_t sy)
{
    const int64_t fx = sx > 0 ? k + 1 : k, fy = sy > 0 ? k + p : k; /* faces that way */
    struct poisson_ways open;
    open.x = poisson_open(cx[fx]), open.y = poisson_open(cy[fy]);
    open.round =
        (open.x * open.y) * (poisson_open(cy[fy + sx]) * poisson_open(cx[fx + sy * p]));
    return open;
}

/* The coarse grid's correction at a fine cell, from that of its coarse cell and of those
 * that way: linear along each axis where the face that way is open, constant where it is
 * not, across the corner where both ways round are open. */
SIM_FN real poisson_correction(const struct poisson_ways *open, real here, real along,
                               real up, real across)
{
    const real x = here + open->x * (along - here);
    const real y = here + open->y * (up - here);
    const real flat = (x + y) - here;
    const real corner = flat + open->round * (across - flat);
    return (real)0.5625 * here + (real)0.1875 * (x + y) + (real)0.0625 * corner;
}

SIM_FN real poisson_corrected(const real *e, const real *cx, const real *cy, int64_t p,
                              int64_t k, int64_t sx, int64_t sy)
{
    const struct poisson_ways open = poisson_ways_of(cx, cy, p, k, sx, sy);
    return poisson_correction(&open, e[k], e[k + sx], e[k + sy * p], e[k + sx + sy * p]);
}

SIM_FN real poisson_prolong(const struct poisson_grid *g,
                            const struct poisson_grid *coarse, int64_t i, int64_t j)
{
    const int64_t I = g->fx == 2 ? i >> 1 : i, J = g->fy == 2 ? j >> 1 : j;
    const int64_t sx = g->fx == 1 ? 0 : (i & 1 ? 1 : -1);
    const int64_t sy = g->fy == 1 ? 0 : (j & 1 ? 1 : -1);
    return poisson_corrected(coarse->x, coarse->cx, coarse->cy, coarse->pitch,
                             J * coarse->pitch + I, sx, sy);
}

/* --- decisions, by one thread ------------------------------------------------------- */

/* A maximum that NaN wins. */
SIM_FN double poisson_max(double a, double b)
{
    return b <= a ? a : (a != a ? a : b);
}

SIM_FN void poisson_begin(struct sim_poisson_control *k, double largest, double limit)
{
    k->limit = limit;
    k->residual = k->best = k->first = largest;
    k->rho = k->alpha = k->beta = 0;
    k->cycles = k->flat = 0;
    k->met = 0;
    k->done = largest <= limit || largest != largest;
}

SIM_FN void poisson_after_cycle(struct sim_poisson_control *k, double zr, double zq)
{
    k->beta = k->cycles > 0 && k->rho != 0 ? -k->alpha * zq / k->rho : 0;
    k->rho = zr;
}

SIM_FN void poisson_after_apply(struct sim_poisson_control *k, double pq)
{
    k->alpha = pq > 0 ? k->rho / pq : 0;
}

/* Stops at the limit, at the last cycle, and where rounding lets nothing more be gained.
 */
SIM_FN void poisson_after_update(struct sim_poisson_control *k, double largest,
                                 int64_t most)
{
    const bool worse = !(largest < 0.9 * k->best);
    k->cycles++;
    k->total++;
    k->residual = largest;
    k->best = worse ? k->best : largest;
    k->flat = worse ? k->flat + 1 : 0;
    const bool met = largest <= k->limit;
    k->done =
        met || largest != largest || k->alpha == 0 || k->cycles >= most || k->flat > 20;
    if (k->done && !met)
        k->stalled++;
}

/* Jacobi and SOR: the sweeps asked for were done, whatever is left. */
SIM_FN void poisson_after_sweeps(struct sim_poisson_control *k, double largest,
                                 int64_t sweeps)
{
    k->cycles = sweeps;
    k->total += sweeps;
    k->residual = largest;
    k->stalled += !(largest <= k->limit);
    k->done = 1;
}

#endif
