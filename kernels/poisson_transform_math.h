/* poisson_transform_math.h - the formulas of the direct solve of the pressure equation
 * (poisson.h) in an empty rectangle, where every inner face is open and the sides are
 * closed or periodic: the operator is diagonal in cosine modes along an axis between
 * closed sides and in Fourier's along a periodic one.
 *
 * A cosine transform comes from a Fourier transform of the same length: elements 0, 2, 4,
 * ... then ..., 5, 3, 1 of the axis; with V the transform of that order and
 * w = exp(-i pi k/2n), the cosine coefficients are
 *
 *     C(k) = (w V(k) + conj(w) V(n - k))/2,    V(k) = conj(w) (C(k) - i C(n - k))
 *
 * (J. Makhoul, IEEE Trans. Acoust. Speech Signal Process. 28, 1980). In two dimensions
 * what belongs together is the four modes (k or nx - k, l or ny - l). The transform of
 * real numbers holds 0 <= k <= nx/2 alone, the rest being conjugates, so a pair
 * a = V(k, l), b = V(k, ny - l) has it all.
 *
 * The ordered array is [ny][nx], packed. */
#ifndef POISSON_TRANSFORM_MATH_H
#define POISSON_TRANSFORM_MATH_H

#include "poisson_math.h"

struct poisson_complex {
    real re, im;
} __attribute__((aligned(2 * sizeof(real))));

/* Mode k of an axis of n cells, 0 <= k <= n/2: w is (c, -s). far: of mode n - k, where
 * there is none infinite, so that its share is 0. */
struct poisson_mode {
    real c, s, near, far;
} __attribute__((aligned(4 * sizeof(real))));

struct poisson_pair {
    struct poisson_complex a, b;
};

/* An empty rectangle. */
struct poisson_box {
    int64_t nx, ny;
    bool periodic_x, periodic_y;
    real across, up; /* coefficients of open faces */
    real scale;      /* 1/(nx ny): transforms there and back multiply by nx ny */
};

/* Where element i of an axis is in the ordered array. */
SIM_FN int64_t poisson_place(int64_t i, int64_t n, bool periodic)
{
    return periodic ? i : i & 1 ? n - 1 - i / 2 : i / 2;
}

SIM_FN int64_t poisson_box_at(const struct poisson_box *g, int64_t i, int64_t j)
{
    return poisson_place(j, g->ny, g->periodic_y) * g->nx +
           poisson_place(i, g->nx, g->periodic_x);
}

/* --- complex numbers ---------------------------------------------------------------- */

SIM_FN struct poisson_complex poisson_scaled(real factor, struct poisson_complex v)
{
    const struct poisson_complex out = {factor * v.re, factor * v.im};
    return out;
}

SIM_FN struct poisson_complex poisson_conjugate(struct poisson_complex v)
{
    const struct poisson_complex out = {v.re, -v.im};
    return out;
}

/* (c - i s) v */
SIM_FN struct poisson_complex poisson_turned(real c, real s, struct poisson_complex v)
{
    const struct poisson_complex out = {c * v.re + s * v.im, c * v.im - s * v.re};
    return out;
}

/* p + i q and p - i q */
SIM_FN struct poisson_complex poisson_plus(struct poisson_complex p,
                                           struct poisson_complex q)
{
    const struct poisson_complex out = {p.re - q.im, p.im + q.re};
    return out;
}

SIM_FN struct poisson_complex poisson_minus(struct poisson_complex p,
                                            struct poisson_complex q)
{
    const struct poisson_complex out = {p.re + q.im, p.im - q.re};
    return out;
}

/* --- the spectrum ------------------------------------------------------------------- */

/* What modes are multiplied by; 0 for the constant one. */
SIM_FN real poisson_share(real scale, real along_x, real along_y)
{
    const real sum = along_x + along_y;
    return sum > (real)0 ? scale / sum : (real)0;
}

/* (a + b)/2, and (a - b) i/2 of mode n - k: coefficients from what w has turned. */
SIM_FN struct poisson_pair poisson_gather(struct poisson_complex a,
                                          struct poisson_complex b)
{
    const real half = (real)0.5;
    struct poisson_pair out;
    out.a.re = half * (a.re + b.re), out.a.im = half * (a.im + b.im);
    out.b.re = half * (b.im - a.im), out.b.im = half * (a.re - b.re);
    return out;
}

/* A coefficient along x, still the transform along y: the cosine coefficients of modes l
 * and ny - l are the real part of what w has turned and minus its imaginary part. */
SIM_FN struct poisson_complex poisson_divide(real scale, real along_x,
                                             const struct poisson_mode *y, bool periodic,
                                             struct poisson_complex v)
{
    const real near = poisson_share(scale, along_x, y->near);
    if (periodic)
        return poisson_scaled(near, v);
    const struct poisson_complex turned = poisson_turned(y->c, y->s, v);
    const struct poisson_complex divided = {
        near * turned.re, poisson_share(scale, along_x, y->far) * turned.im};
    return poisson_turned(y->c, -y->s, divided);
}

/* Cosines along x. */
SIM_FN struct poisson_pair poisson_solved_closed(const struct poisson_box *g,
                                                 const struct poisson_mode *x,
                                                 const struct poisson_mode *y,
                                                 struct poisson_pair v)
{
    const struct poisson_pair d =
        poisson_gather(poisson_turned(x->c, x->s, v.a),
                       poisson_conjugate(poisson_turned(x->c, x->s, v.b)));
    const struct poisson_complex near = poisson_divide(g->scale, x->near, y,
                                                       g->periodic_y, d.a),
                                 far = poisson_divide(g->scale, x->far, y, g->periodic_y,
                                                      d.b);
    struct poisson_pair out;
    out.a = poisson_turned(x->c, -x->s, poisson_minus(near, far));
    out.b = poisson_turned(x->c, -x->s, poisson_conjugate(poisson_plus(near, far)));
    return out;
}

/* Periodic along x. */
SIM_FN struct poisson_pair poisson_solved_round(const struct poisson_box *g,
                                                const struct poisson_mode *x,
                                                const struct poisson_mode *y,
                                                struct poisson_pair v)
{
    const real near = poisson_share(g->scale, x->near, y->near),
               far = poisson_share(g->scale, x->near, y->far);
    struct poisson_pair out;
    if (g->periodic_y) {
        out.a = poisson_scaled(near, v.a), out.b = poisson_scaled(near, v.b);
        return out;
    }
    const struct poisson_pair c =
        poisson_gather(poisson_turned(y->c, y->s, v.a), poisson_turned(y->c, -y->s, v.b));
    const struct poisson_complex p = poisson_scaled(near, c.a),
                                 q = poisson_scaled(far, c.b);
    out.a = poisson_turned(y->c, -y->s, poisson_minus(p, q));
    out.b = poisson_turned(y->c, y->s, poisson_plus(p, q));
    return out;
}

/* The solution's pair from the right-hand side's: modes (k, l) of x and y. */
SIM_FN struct poisson_pair poisson_solved(const struct poisson_box *g,
                                          const struct poisson_mode *x,
                                          const struct poisson_mode *y,
                                          struct poisson_pair v)
{
    return g->periodic_x ? poisson_solved_round(g, x, y, v)
                         : poisson_solved_closed(g, x, y, v);
}

/* --- what is left ------------------------------------------------------------------- */

/* (A x) of cell (i, j), x being in the ordered array, and x itself there. */
SIM_FN real poisson_box_apply(const struct poisson_box *g, const real *x, int64_t i,
                              int64_t j, real *here)
{
    const int64_t nx = g->nx, ny = g->ny;
    const bool w = i > 0 || g->periodic_x, e = i < nx - 1 || g->periodic_x;
    const bool s = j > 0 || g->periodic_y, n = j < ny - 1 || g->periodic_y;
    const struct poisson_faces f = {w ? g->across : 0, e ? g->across : 0, s ? g->up : 0,
                                    n ? g->up : 0};
    const real west = w ? x[poisson_box_at(g, i > 0 ? i - 1 : nx - 1, j)] : 0;
    const real east = e ? x[poisson_box_at(g, i < nx - 1 ? i + 1 : 0, j)] : 0;
    const real south = s ? x[poisson_box_at(g, i, j > 0 ? j - 1 : ny - 1)] : 0;
    const real north = n ? x[poisson_box_at(g, i, j < ny - 1 ? j + 1 : 0)] : 0;
    *here = x[poisson_box_at(g, i, j)];
    return poisson_flux(&f, *here, west, east, south, north);
}

/* By one thread. Above the limit the cycles go on from there. */
SIM_FN void poisson_after_transform(struct sim_poisson_control *k, double largest)
{
    k->transforms++;
    k->residual = k->best = largest;
    k->done = largest <= k->limit || largest != largest;
}

#endif
