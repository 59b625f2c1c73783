/* nbody_momentum_math.h - kicks that do not change the total momentum by one bit: the
 * formulas, for both backends. For mixed precision, whose pair forces are rounded to
 * single, each on its own, so that the pull of i on j and that of j on i differ a little.
 *
 * Scheme: a component of the momentum of a body is a whole number P of a unit u, a power
 * of two; |P| < 2^50. The velocity alone encodes it: v = P u / m rounded is off by 2^-53
 * of itself, and so is v m, so that rint(v m / u) is P again. A kick of length h is
 *     k_i = rint(h a_i m_i / u),    R = sum k_i,    c_i = rint(R m_i / M),
 *     P_i += k_i - c_i,             but of the anchor, a heaviest body, by what is left:
 *     P += k - (R - sum of the other c_i).
 * All are whole numbers, so the order of adding does not matter and the sum of all P
 * changes by exactly 0. R would be 0 without rounding: what is taken off is a uniform
 * acceleration of the size of the forces' rounding, as if the mass centre were held.
 * k_i, c_i and R change but their sign with that of h: a step back undoes a step to the
 * last bit, as long as accelerations are the same.
 *
 * Held in this way are bodies whose inertia m (1 with SIM_CHARGE) is at least `least`:
 * for lighter ones a unit of momentum would be a coarse step of velocity. These, and
 * bodies without mass, are pushed as in double and have no part in the sums above.
 * Where |P| leaves 2^50 nothing breaks but the exactness; nbody_outgrown tells. Where k
 * does not fit an int64 the R that wraps around is right still, being small beside it.
 *
 * All in double whatever `real` is. Not here: loops; the choice of the unit
 * (src/bodies_momentum.c). */
#ifndef NBODY_MOMENTUM_MATH_H
#define NBODY_MOMENTUM_MATH_H

#include "nbody.h"
#include "sim_fn.h"

#include <string.h>

struct nbody_hold {
    double unit, least; /* unit 0: nothing is held */
    int charge;         /* inertia is 1 */
};

SIM_FN struct nbody_hold nbody_hold_of(const struct sim_nbody *nbody)
{
    struct nbody_hold hold;
    hold.unit = nbody->momentum_unit;
    hold.least = nbody->momentum_least;
    hold.charge = nbody->coupling == SIM_CHARGE;
    return hold;
}

SIM_FN double nbody_inertia(const struct nbody_hold *hold, double w)
{
    return hold->charge ? 1.0 : w;
}

SIM_FN int nbody_is_held(const struct nbody_hold *hold, double inertia)
{
    return hold->unit > 0 && fabs(inertia) >= hold->least;
}

/* P of a velocity. */
SIM_FN double nbody_units(const struct nbody_hold *hold, double m, double v)
{
    return rint(v * m / hold->unit);
}

/* The velocity of P. */
SIM_FN double nbody_of_units(const struct nbody_hold *hold, double m, double units)
{
    return units * hold->unit / m;
}

#define NBODY_UNITS_MAX 1125899906842624.0 /* 2^50 */

SIM_FN int nbody_outgrown(double units)
{
    return !(fabs(units) < NBODY_UNITS_MAX);
}

/* A whole number as it is added up, modulo 2^64: sums wrap like an int64, so that only
 * what comes out must fit. What is no number adds nothing; its body shows it. */
SIM_FN unsigned long long nbody_counted(double whole)
{
    if (fabs(whole) < 0x1p62)
        return (unsigned long long)(long long)whole;
    const double part = fmod(whole, 0x1p64); /* not a number of an infinity */
    const unsigned long long size =
        fabs(part) < 0x1p64 ? (unsigned long long)fabs(part) : 0;
    return part < 0 ? 0 - size : size;
}

SIM_FN double nbody_as_number(unsigned long long sum)
{
    return (double)(long long)sum;
}

/* k of a kick */
SIM_FN double nbody_kick_units(const struct nbody_hold *hold, double m, double h,
                               double a)
{
    return rint(h * a * m / hold->unit);
}

/* Mass in whole numbers, for M: some 2^20 for a middling body. Bounded, so that the sum
 * of 2^26 bodies fits; an enormous one is the anchor, and takes what the others leave. */
SIM_FN unsigned long long nbody_weight_units(const struct nbody_hold *hold, double m)
{
    return nbody_counted(rint(fmin(fabs(m) / hold->least, 0x1p36)));
}

/* c of a kick; `weight` is the sum of nbody_weight_units. Masses below 0 share, too. */
SIM_FN double nbody_residue_share(const struct nbody_hold *hold, double m,
                                  unsigned long long weight, unsigned long long residue)
{
    const double own = fmin(fabs(m) / hold->least, 0x1p36);
    return rint(nbody_as_number(residue) * (own / nbody_as_number(weight)));
}

/* The velocity after a kick by k, less what is taken off. */
SIM_FN double nbody_kicked(const struct nbody_hold *hold, double m, double v, double kick,
                           double share)
{
    return nbody_of_units(hold, m, nbody_units(hold, m, v) + kick - share);
}

/* --- the anchor ------------------------------------------------------------------------
 */

#define NBODY_INDEX_BITS 40

/* The largest key is that of the anchor: the heaviest body to 2^-12, of these the first.
 * No key is 0. */
SIM_FN unsigned long long nbody_anchor_key(double m, int64_t i)
{
    const double size = fabs(m);
    const unsigned long long all = (1ull << NBODY_INDEX_BITS) - 1;
    unsigned long long bits;
    memcpy(&bits, &size, sizeof bits);
    return (bits >> NBODY_INDEX_BITS << NBODY_INDEX_BITS) |
           (all - ((unsigned long long)i & all));
}

/* Its index; of key 0, where nothing is held, one that no body has. */
SIM_FN int64_t nbody_anchor(unsigned long long key)
{
    const unsigned long long all = (1ull << NBODY_INDEX_BITS) - 1;
    return (int64_t)(all - (key & all));
}

/* --- the total -------------------------------------------------------------------------
 */

#define NBODY_LIMB 0x1p26

/* P in two parts, P = high 2^26 + low, whose sums over 2^26 bodies are exact in double.
 */
SIM_FN void nbody_split_units(double units, double *high, double *low)
{
    *high = floor(units / NBODY_LIMB);
    *low = units - *high * NBODY_LIMB;
}

/* Rounded once, so that equal totals are equal however they are split. */
SIM_FN double nbody_join_units(const struct nbody_hold *hold, double high, double low)
{
    return (high * NBODY_LIMB + low) * hold->unit;
}

#endif
