/* nbody_hermite_math.h - the formulas of Hermite's fourth-order scheme (Makino and
 * Aarseth 1992, PASJ 44, 141), for both backends.
 *
 *     a_i = k_i sum_j m_j r / s^3,    s^2 = |r|^2 + eps^2,  r = x_j - x_i,  u = v_j - v_i
 *     j_i = k_i sum_j m_j (u / s^3 - 3 (r.u) r / s^5)      (Plummer; the spline likewise)
 * Predicted: x + v h + a h^2/2 + j h^3/6,  v + a h + j h^2/2.
 * Corrected: v1 = v + (a + a1) h/2 + (j - j1) h^2/12,
 *            x1 = x + (v + v1) h/2 + (a - a1) h^2/12.
 * A position is a sum x + low, so that a close pair far from the origin does not lose its
 * distance to rounding: in a meeting at 4e-4 of the scene's size that cost 1e-8 of the
 * energy.
 *
 * Not here: individual time steps. */
#ifndef NBODY_HERMITE_MATH_H
#define NBODY_HERMITE_MATH_H

#include "nbody_math.h"
#include "nbody_soft_math.h"

/* One body: w of x is the mass. */
struct hermite_body {
    struct sim_real4 x, v, a, j, low;
};

/* x + low += d; the sum's rounding goes to low (Knuth's two-sum). */
SIM_FN void hermite_move(real *x, real *low, real d)
{
    const real by = *low + d, sum = *x + by, part = sum - *x;
    *low = (*x - (sum - part)) + (by - part);
    *x = sum;
}

/* A source's share: a += w r, j += w u + g r, with w the weight and g its change in time.
 */
SIM_FN void hermite_share(struct hermite_body *to, const real *r, const real *u, real w,
                          real g)
{
    to->a.x += w * r[0];
    to->a.y += w * r[1];
    to->a.z += w * r[2];
    to->j.x += w * u[0] + g * r[0];
    to->j.y += w * u[1] + g * r[1];
    to->j.z += w * u[2] + g * r[2];
}

/* Add the pull of a source on a body at x, v to its a and j; `soft` is the pair's
 * (nbody_soft_math.h). Bodies at one place without softening exert nothing: returns 1 for
 * them, else 0. */
SIM_FN int hermite_add(struct hermite_body *to, struct sim_real4 x, struct sim_real4 low,
                       struct sim_real4 v, real soft, int spline)
{
    const real r[3] = {(x.x - to->x.x) + (low.x - to->low.x),
                       (x.y - to->x.y) + (low.y - to->low.y),
                       (x.z - to->x.z) + (low.z - to->low.z)};
    const real u[3] = {v.x - to->v.x, v.y - to->v.y, v.z - to->v.z};
    const real s2 = nbody_r2(r[0], r[1], r[2], spline ? (real)0 : soft);
    const real approach = r[0] * u[0] + r[1] * u[1] + r[2] * u[2];
    if (s2 < NBODY_TINY && nbody_is_hard(soft, spline))
        return 1;
    if (spline) {
        const real y = 1 / sim_sqrt(s2);
        hermite_share(to, r, u, nbody_spline_weight(x.w, s2, y, soft),
                      nbody_spline_slope(x.w, s2, y, soft) * approach);
        return 0;
    }
    const real w = x.w / (s2 * sim_sqrt(s2));
    hermite_share(to, r, u, w, -3 * w * approach / s2);
    return 0;
}

SIM_FN void hermite_predict(struct hermite_body *b, real h)
{
    const real *v = &b->v.x, *a = &b->a.x, *j = &b->j.x;
    for (int c = 0; c < 3; c++) {
        hermite_move(&(&b->x.x)[c], &(&b->low.x)[c],
                     h * (v[c] + h * (a[c] / 2 + h * j[c] / 6)));
        (&b->v.x)[c] += h * (a[c] + h * j[c] / 2);
    }
}

/* From the state `old` and the evaluated `now`: the corrected x and v in `now`. */
SIM_FN void hermite_correct(const struct hermite_body *old, struct hermite_body *now,
                            real h)
{
    for (int c = 0; c < 3; c++) {
        const real a0 = (&old->a.x)[c], a1 = (&now->a.x)[c];
        const real j0 = (&old->j.x)[c], j1 = (&now->j.x)[c];
        const real v0 = (&old->v.x)[c];
        const real v1 = v0 + h * ((a0 + a1) / 2 + h * (j0 - j1) / 12);
        (&now->v.x)[c] = v1;
        real x = (&old->x.x)[c], low = (&old->low.x)[c];
        hermite_move(&x, &low, h * ((v0 + v1) / 2 + h * (a0 - a1) / 12));
        (&now->x.x)[c] = x;
        (&now->low.x)[c] = low;
    }
}

SIM_FN double hermite_norm(const double *d)
{
    return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

/* Aarseth's length of the next step after a step h, for one body; infinity where nothing
 * changes. The second and third derivative are those of the interpolation, at its end. */
SIM_FN double hermite_length(const struct hermite_body *old,
                             const struct hermite_body *now, double h, double eta)
{
    double a[3], j[3], second[3], third[3];
    for (int c = 0; c < 3; c++) {
        const double a0 = (&old->a.x)[c], a1 = (&now->a.x)[c];
        const double j0 = (&old->j.x)[c], j1 = (&now->j.x)[c];
        a[c] = a1;
        j[c] = j1;
        third[c] = (12 * (a0 - a1) + 6 * h * (j0 + j1)) / (h * h * h);
        second[c] = (-6 * (a0 - a1) - h * (4 * j0 + 2 * j1)) / (h * h) + h * third[c];
    }
    const double s = hermite_norm(second), j1 = hermite_norm(j);
    const double above = hermite_norm(a) * s + j1 * j1;
    const double below = j1 * hermite_norm(third) + s * s;
    return below > 0 ? sqrt(eta * above / below) : HUGE_VAL;
}

/* The first step's length, eta |a| / |j|, of the greatest a and j that any body has: a
 * body that happens to feel no force says nothing. */
SIM_FN double hermite_first_length(double most_a, double most_j, double eta)
{
    return most_a > 0 && most_j > 0 ? eta * most_a / most_j : HUGE_VAL;
}

/* At most |dt|, with its sign. */
SIM_FN double hermite_bounded(double length, double dt)
{
    const double most = fabs(dt);
    return copysign(length < most ? length : most, dt);
}

/* Would a step lead past `until`? Steps of one length never do. */
SIM_FN int hermite_passes(double eta, double time, double step, double until)
{
    if (eta == 0.0)
        return 0;
    return step > 0 ? time + step > until : time + step < until;
}

SIM_FN double hermite_size(struct sim_real4 a)
{
    const double d[3] = {a.x, a.y, a.z};
    return hermite_norm(d);
}

#endif
