/* nbody_math.h - the formulas of all-pairs gravity, once, for both backends.
 *
 * With r_ij = x_j - x_i and Plummer's softening length eps (Aarseth 1963),
 *     a_i = k_i sum_j m_j r_ij / (|r_ij|^2 + eps^2)^(3/2),
 * k_i = G for gravity and -G q_i for charges; the backend applies k_i when it writes a_i.
 * The reciprocal distance 1/sqrt comes from the backend: exact on the CPU, the hardware's
 * approximation (2 units in the last place) on the GPU.
 *
 * Not here: loops, the order of summation, the layout of bodies. */
#ifndef NBODY_MATH_H
#define NBODY_MATH_H

#include "nbody_momentum_math.h"
#include "sim_fn.h"

#include <float.h>

#ifdef SIM_DOUBLE
#define NBODY_TINY     DBL_MIN /* a squared distance below this counts as zero */
#define NBODY_HUGE     DBL_MAX
#define NBODY_SAFE_EPS 1e-80 /* from here on m / eps^3 is finite for any sensible m */
#else
#define NBODY_TINY     FLT_MIN
#define NBODY_HUGE     FLT_MAX
#define NBODY_SAFE_EPS 1e-8
#endif

/* |d|^2 + eps^2 */
SIM_FN real nbody_r2(real dx, real dy, real dz, real eps2)
{
    return sim_fma(dx, dx, sim_fma(dy, dy, sim_fma(dz, dz, eps2)));
}

/* w = m / r^3 from 1/r, in an order that neither overflows nor underflows early: masses
 * in kilogrammes and lengths in metres are fine in single precision. */
SIM_FN real nbody_weight(real m, real inverse_r)
{
    return (m * inverse_r) * (inverse_r * inverse_r);
}

/* Without softening: no force at distance zero, and none beyond the largest number, so
 * that 0 * infinity cannot arise. */
SIM_FN real nbody_guarded_weight(real w, real r2)
{
    real below = w < NBODY_HUGE ? w : NBODY_HUGE;
    real bounded = below > -NBODY_HUGE ? below : -NBODY_HUGE;
    return r2 < NBODY_TINY ? (real)0 : bounded;
}

/* A kick, v += h a, or a drift, x += h v, of one component. With a grain (a power of two,
 * in double only) values are whole multiples of it, below 2^53 of them, and so is what is
 * added: the sum is exact, and the same push with -h undoes it to the last bit (as with
 * the integers of JANUS: Rein and Tamayo 2018, MNRAS 473, 3351). */
SIM_FN real nbody_push(real at, real h, real rate, real grain)
{
#ifdef SIM_DOUBLE
    if (grain > 0)
        return at + rint(h * rate / grain) * grain;
#else
    (void)grain;
#endif
    return at + h * rate;
}

/* --- diagnostics: one body's share, always in double -----------------------------------
 */

/* The sums kept per selection, in this order. */
enum nbody_sum {
    NBODY_COUNT,
    NBODY_MASS,
    NBODY_MX,                    /* sum m x, three components */
    NBODY_X = NBODY_MX + 3,      /* sum x: the centre of massless selections */
    NBODY_MV = NBODY_X + 3,      /* sum m v of what is not held */
    NBODY_L = NBODY_MV + 3,      /* sum m x cross v */
    NBODY_KINETIC = NBODY_L + 3, /* sum m v^2 / 2 */
    NBODY_HIGH,                  /* the held momentum in units: nbody_split_units */
    NBODY_LOW = NBODY_HIGH + 3,
    NBODY_OUTGROWN = NBODY_LOW + 3,
    NBODY_SUMS
};

SIM_FN void nbody_add_momentum(double *s, const struct nbody_hold *hold, double m,
                               struct sim_real4 v)
{
    const double speed[3] = {(double)v.x, (double)v.y, (double)v.z};
    const int held = nbody_is_held(hold, m);
    int outgrown = 0;
    for (int k = 0; k < 3; k++) {
        double high = 0, low = 0, units = held ? nbody_units(hold, m, speed[k]) : 0.0;
        nbody_split_units(units, &high, &low);
        s[NBODY_HIGH + k] += high;
        s[NBODY_LOW + k] += low;
        s[NBODY_MV + k] += held ? 0.0 : m * speed[k];
        outgrown |= nbody_outgrown(units);
    }
    s[NBODY_OUTGROWN] += outgrown;
}

SIM_FN void nbody_add_body(double *s, const struct nbody_hold *hold, struct sim_real4 x,
                           struct sim_real4 v, double m)
{
    double px = x.x, py = x.y, pz = x.z, vx = v.x, vy = v.y, vz = v.z;
    s[NBODY_COUNT] += 1.0;
    s[NBODY_MASS] += m;
    s[NBODY_MX] += m * px;
    s[NBODY_MX + 1] += m * py;
    s[NBODY_MX + 2] += m * pz;
    s[NBODY_X] += px;
    s[NBODY_X + 1] += py;
    s[NBODY_X + 2] += pz;
    s[NBODY_L] += m * (py * vz - pz * vy);
    s[NBODY_L + 1] += m * (pz * vx - px * vz);
    s[NBODY_L + 2] += m * (px * vy - py * vx);
    s[NBODY_KINETIC] += 0.5 * m * (vx * vx + vy * vy + vz * vz);
    nbody_add_momentum(s, hold, m, v);
}

/* Component k of the centre: sum m x / sum m, the mean where the masses cancel, 0 of
 * none. */
SIM_FN double nbody_centre(const double *s, int k)
{
    if (s[NBODY_MASS] != 0.0)
        return s[NBODY_MX + k] / s[NBODY_MASS];
    return s[NBODY_COUNT] > 0.0 ? s[NBODY_X + k] / s[NBODY_COUNT] : 0.0;
}

/* |a - b|^2 in double, of positions kept in either precision. */
SIM_FN double nbody_distance2(struct sim_real4 a, double bx, double by, double bz)
{
    double dx = bx - (double)a.x, dy = by - (double)a.y, dz = bz - (double)a.z;
    return dx * dx + dy * dy + dz * dz;
}

SIM_FN int nbody_finite(struct sim_real4 a)
{
    /* x - x is 0 for numbers and NaN for infinities and NaN */
    return (a.x - a.x) + (a.y - a.y) + (a.z - a.z) + (a.w - a.w) == 0;
}

#endif
