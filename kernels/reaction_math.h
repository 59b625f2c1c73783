/* reaction_math.h - the reactions f(u, v), g(u, v), once, for both backends.
 *
 *   decay            -k u                                  number: k
 *   Fisher-KPP       r u (1 - u/K)                         r, r/K
 *   bistable         k u (1 - u)(u - a)      (Nagumo)      k, a
 *   Allen-Cahn       (u - u^3)/eps^2                       1/eps^2
 *   Gray-Scott       F(1-u) - u v^2,  u v^2 - (F+k) v      F, F+k
 *   FitzHugh-Nagumo  u - c u^3 - v + I,  eps (u - g v + b) c, I, eps, g, b
 *   Schnakenberg     s (a - u + u^2 v),  s (b - u^2 v)     a, b, s
 *   Brusselator      a - (b+1) u + u^2 v,  b u - u^2 v     a, b, b+1
 *   Barkley          u (1-u)(u - (v+b)/a)/eps,  u - v      1/a, b, 1/eps
 *
 * (Pearson 1993; FitzHugh 1961; Schnakenberg 1979; Prigogine and Lefever 1968; Barkley
 * 1991; Fisher 1937; Allen and Cahn 1979.) Every operation is rounded as written. */
#ifndef REACTION_MATH_H
#define REACTION_MATH_H

#include "diffusion.h"
#include "sim_fn.h"

SIM_FN int reaction_species(enum sim_reaction kind)
{
    return kind >= SIM_GRAY_SCOTT ? 2 : 1;
}

/* rate[] = f, g at u[], both arrays of SIM_SPECIES_MAX; p[] as listed above. */
SIM_FN void reaction_rate(enum sim_reaction kind, const real *p, const real *u,
                          real *rate)
{
    const real a = u[0], b = u[reaction_species(kind) - 1];
    real w;
    switch (kind) {
    case SIM_DECAY:
        rate[0] = -(p[0] * a);
        break;
    case SIM_FISHER:
        rate[0] = a * sim_fma(-p[1], a, p[0]);
        break;
    case SIM_BISTABLE:
        rate[0] = p[0] * ((a * (1 - a)) * (a - p[1]));
        break;
    case SIM_ALLEN_CAHN:
        rate[0] = p[0] * sim_fma(-(a * a), a, a);
        break;
    case SIM_GRAY_SCOTT:
        w = a * (b * b);
        rate[0] = sim_fma(p[0], 1 - a, -w);
        rate[1] = sim_fma(-p[1], b, w);
        break;
    case SIM_FITZHUGH_NAGUMO:
        w = sim_fma(-(p[0] * a), a * a, a);
        rate[0] = (w - b) + p[1];
        rate[1] = p[2] * (sim_fma(-p[3], b, a) + p[4]);
        break;
    case SIM_SCHNAKENBERG:
        w = (a * a) * b;
        rate[0] = p[2] * ((p[0] - a) + w);
        rate[1] = p[2] * (p[1] - w);
        break;
    case SIM_BRUSSELATOR:
        w = (a * a) * b;
        rate[0] = sim_fma(-p[2], a, p[0]) + w;
        rate[1] = sim_fma(p[1], a, -w);
        break;
    case SIM_BARKLEY:
        w = (b + p[1]) * p[0];
        rate[0] = p[2] * ((a * (1 - a)) * (a - w));
        rate[1] = a - b;
        break;
    default:
        rate[0] = rate[1] = 0;
        break;
    }
}

#endif
