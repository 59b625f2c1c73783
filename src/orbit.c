/* orbit.c - two-body encounters: where to put two galaxies so that they meet.
 *
 * With M = m1 + m2, pericentre q and eccentricity e, the relative orbit has
 *     p = q (1 + e),  h = sqrt(G M p),  r = p / (1 + e cos nu),
 *     dr/dt = (G M / h) e sin nu,  r dnu/dt = h / r.
 * On the way in, nu < 0. The time to pericentre follows from Kepler's equation with the
 * eccentric anomaly, its hyperbolic form, or Barker's equation for the parabola.
 *
 * For galaxies this is the orbit of two points: their halos overlap well before they
 * meet, so that the passage is a little wider and later (and the orbit loses energy). */
#include "orbit.h"

#include <math.h>

static double time_to_pericentre(const struct sim_orbit_desc *d)
{
    double e = d->eccentricity, q = d->pericentre, r = d->separation;
    double GM = d->G * (d->m1 + d->m2);
    if (e == 0)
        return 0; /* a circle is at its pericentre everywhere */
    if (e == 1) {
        double t = sqrt(fmax(r / q - 1, 0)); /* tan(nu/2) */
        return sqrt(2 * q * q * q / GM) * (t + t * t * t / 3);
    }
    double a = q / fabs(1 - e), pace = sqrt(a * a * a / GM);
    if (e < 1) {
        double E = acos(fmin(fmax((1 - r / a) / e, -1), 1));
        return pace * (E - e * sin(E));
    }
    double F = acosh(fmax((1 + r / a) / e, 1));
    return pace * (e * sinh(F) - F);
}

static enum sim_status anomaly(const struct sim_orbit_desc *d, double *cosine)
{
    double e = d->eccentricity, q = d->pericentre, r = d->separation;
    double widest = e < 1 ? q * (1 + e) / (1 - e) : INFINITY;
    if (r < q * (1 - 1e-12) || r > widest * (1 + 1e-12))
        return sim_fail(SIM_BAD_ARGUMENT,
                        "separation %g is not on the orbit, which runs from %g to %g", r,
                        q, widest);
    *cosine = e > 0 ? fmin(fmax((q * (1 + e) / r - 1) / e, -1), 1) : 1;
    return SIM_OK;
}

enum sim_status sim_orbit_encounter(const struct sim_orbit_desc *d, struct sim_orbit *out)
{
    double cosine = 1, e = d->eccentricity, M = d->m1 + d->m2, r = d->separation;
    SIM_TRY(anomaly(d, &cosine));
    double h = sqrt(d->G * M * d->pericentre * (1 + e));
    double sine = -sqrt(fmax(1 - cosine * cosine, 0)); /* inward */
    double inward = d->G * M / h * e * sine, across = h / r;
    double turn = d->angle * (M_PI / 180) + atan2(sine, cosine);
    double along[2] = {cos(turn), sin(turn)};
    double share[2] = {-d->m2 / M, d->m1 / M};
    *out = (struct sim_orbit){0};
    for (int b = 0; b < 2; b++) {
        out->position[b][0] = share[b] * r * along[0];
        out->position[b][1] = share[b] * r * along[1];
        out->velocity[b][0] = share[b] * (inward * along[0] - across * along[1]);
        out->velocity[b][1] = share[b] * (inward * along[1] + across * along[0]);
    }
    out->time = time_to_pericentre(d);
    return SIM_OK;
}
