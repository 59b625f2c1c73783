/* nbody_soft_math.h - softening other than one Plummer length for all: lengths by group,
 * and the compact spline.
 *
 * A pair is softened by the greater of its two lengths, eps = max(eps_i, eps_j), so that
 * the forces of both on each other are opposite (as in GADGET-2: Springel 2005, MNRAS
 * 364, 1105).
 *
 * Spline: a body is a cloud of the cubic-spline density of Monaghan and Lattanzio (1985,
 * A&A 149, 135) with radius h = 2.8 eps, whose potential at the centre is Plummer's, -m /
 * eps (Springel, Yoshida and White 2001, New Astron. 6, 79). With u = r / h:
 *     potential  -m W(u) / h,
 *       W = 14/5 - 16/3 u^2 + 48/5 u^4 - 32/5 u^5                               u <= 1/2
 *       W = 16/5 - 1/(15 u) - 32/3 u^2 + 16 u^3 - 48/5 u^4 + 32/15 u^5          u <= 1
 *       W = 1/u                                                                 beyond
 *     pull       m r (32/3 - 192/5 u^2 + 32 u^3) / h^3                          u <= 1/2
 *                m r (1 - t^4 (16 - 128/5 t + 32/3 t^2)) / r^3,  t = 1 - u      u <= 1
 *                m r / r^3                                                      beyond
 * In the second line the bracket is the mass within r, in powers of what is missing to
 * the edge: written in powers of u it would lose two digits.
 *
 * Not here: one Plummer length for all, which the fast loops have (nbody_math.h). */
#ifndef NBODY_SOFT_MATH_H
#define NBODY_SOFT_MATH_H

#include "nbody.h"
#include "nbody_math.h"

#define NBODY_SPLINE_RADIUS 2.8 /* h / eps */

/* What the loops know of a body's length: eps^2, or 1/h of the spline. */
SIM_FN real nbody_softness(double eps, int spline)
{
    if (spline)
        return (real)(1 / (NBODY_SPLINE_RADIUS * eps));
    return (real)(eps * eps);
}

/* Of a pair. */
SIM_FN real nbody_pair_softness(real a, real b, int spline)
{
    if (spline)
        return a < b ? a : b;
    return a > b ? a : b;
}

/* Is a pair softened not at all? */
SIM_FN int nbody_is_hard(real softness, int spline)
{
    return spline ? softness > NBODY_HUGE : softness == 0;
}

/* w of a += w r for the spline: `y` is 1/r, infinite or wrong below NBODY_TINY. */
SIM_FN real nbody_spline_weight(real m, real r2, real y, real inverse_h)
{
    const real r = r2 < NBODY_TINY ? (real)0 : r2 * y;
    const real u = r * inverse_h; /* not a number only at 0 without softening */
    const real t = u < 1 ? 1 - u : (real)0, t2 = t * t;
    const real within =
        1 - t2 * t2 * sim_fma(t, sim_fma(t, (real)(32 / 3.0), (real)-25.6), (real)16);
    const real outer = nbody_weight(m, y) * within;
    const real inner =
        nbody_weight(m, inverse_h) *
        sim_fma(u * u, sim_fma((real)32, u, (real)-38.4), (real)(32 / 3.0));
    const int deep = u < (real)0.5;
    return nbody_guarded_weight(deep ? inner : outer, deep ? (real)1 : r2);
}

/* dw/dr / r of that weight, for Hermite's jerk: m (96 u - 384/5) / h^5, beyond u = 1/2
 * m (64 u^3 t^3 - 3 m(u)) / r^5 with m(u) the mass within. */
SIM_FN real nbody_spline_slope(real m, real r2, real y, real inverse_h)
{
    const real r = r2 < NBODY_TINY ? (real)0 : r2 * y;
    const real u = r * inverse_h, t = u < 1 ? 1 - u : (real)0, t2 = t * t;
    const real within =
        1 - t2 * t2 * sim_fma(t, sim_fma(t, (real)(32 / 3.0), (real)-25.6), (real)16);
    if (u < (real)0.5)
        return nbody_weight(m, inverse_h) * (inverse_h * inverse_h) *
               sim_fma((real)96, u, (real)-76.8);
    const real shell = t > 0 ? 64 * (u * u * u) * (t2 * t) : (real)0;
    return nbody_weight(m, y) * (y * y) * (shell - 3 * within);
}

/* The length of a body in a group; SIM_GONE has none, and no mass either. */
SIM_FN double nbody_eps_of(const struct sim_nbody *nbody, int group)
{
    return nbody->by_group && group < SIM_GROUPS_MAX ? nbody->group_eps[group]
                                                     : nbody->eps;
}

/* The potential of unit masses, times -1; 0 at distance zero without softening. */
SIM_FN double nbody_soft_potential(double r2, double eps_i, double eps_j, int spline)
{
    const double eps = eps_i > eps_j ? eps_i : eps_j, h = NBODY_SPLINE_RADIUS * eps;
    if (!spline || r2 >= h * h) {
        const double s2 = spline ? r2 : r2 + eps * eps;
        return s2 > 0 ? 1 / sqrt(s2) : 0.0;
    }
    const double u = sqrt(r2) / h, u2 = u * u;
    if (u < 0.5)
        return (2.8 - u2 * (16 / 3.0 - u2 * (9.6 - 6.4 * u))) / h;
    return (3.2 - 1 / (15 * u) -
            u2 * (32 / 3.0 - u * (16 - u * (9.6 - u * (32 / 15.0))))) /
           h;
}

#endif
