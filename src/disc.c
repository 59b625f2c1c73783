/* disc.c - exponential discs in equilibrium.
 *
 * Field. A razor-thin exponential disc has, at the height h above its plane (Binney and
 * Tremaine, Galactic Dynamics, section 2.6), with y = k Rd,
 *     phi(R, h) = -G M int_0^inf J0(kR) exp(-k h) / (1 + k^2 Rd^2)^(3/2) dk.
 * Plummer softening acts between two stars at heights apart by D like a height
 * s = sqrt(D^2 + eps^2). Averaging over the pairs of a disc with the profile sech^2(z/z0)
 * gives the mean forces that a star meets over its vertical motion:
 *     v_c^2      = R G M int J1(kR) k q(k) / (1 + y^2)^(3/2) dk,   q = < exp(-ks) >
 *     <z dphi/dz> =  G M int J0(kR) w(k) / (1 + y^2)^(3/2) dk,     w = < k D^2 exp(-ks) /
 * 2s >. z is logistic with scale z0/2, so D has the density, with x = |D| / (z0/2) and t
 * = e^-x, p(x) = t (x - 2 + (x + 2) t) / (1 - t)^3.
 *
 * Motions, from the moments of the collisionless Boltzmann equation (Hernquist, ApJS 86,
 * 389, 1993; Toomre, ApJ 139, 1217, 1964):
 *     sigma_R^2 ~ exp(-R/Rd), so that the least Q = sigma_R kappa / (3.36 G Sigma) is as
 * asked sigma_phi^2 = sigma_R^2 kappa^2 / (4 Omega^2) <v_phi>^2 = v_c^2 + sigma_R^2 (1 -
 * kappa^2 / (4 Omega^2) - 2 R/Rd) sigma_z^2 = < z dphi/dz >     (the virial theorem of
 * the vertical motion) Near the centre, where the last but one would be negative, sigma_R
 * is lowered to what the circular speed can bear. Radii are drawn evenly
 * (sim_random_even), all else independently.
 *
 * Not here: truncated discs, warps, gas. */
#include "disc.h"

#include <math.h>
#include <stddef.h>

#include "../kernels/philox.h"

#define WAVES 4000 /* points in k */
#define PAIRS 64   /* points in the height difference of two stars */
#define OUTER 16.0 /* scales */

struct waves {
    double k[WAVES], radial[WAVES], vertical[WAVES]; /* weights for J1(kR), J0(kR) */
};

static double pair_density(double x) /* of |D| / (z0/2), normalised over x > 0 */
{
    if (x < 0.02)
        return 1.0 / 3 - x * x / 30; /* the formula cancels here */
    double t = exp(-x), u = 1 - t;
    return 2 * t * (x - 2 + (x + 2) * t) / (u * u * u);
}

/* The averages q(k) and w(k). */
static void pair_average(const struct sim_disc *d, double k, double *q, double *w)
{
    double eps = d->softening, s0 = d->thickness / 2, weight_sum = 0;
    *q = *w = 0;
    if (d->thickness == 0) {
        *q = exp(-k * eps);
        return;
    }
    for (int i = 0; i < PAIRS; i++) { /* midpoints, finer at small x */
        double share = (i + 0.5) / PAIRS, x = 24 * share * share;
        double weight = pair_density(x) * 2 * 24 * share / PAIRS;
        double D = x * s0, s = sqrt(D * D + eps * eps), decay = exp(-k * s);
        weight_sum += weight;
        *q += weight * decay;
        *w += weight * k * D * D * decay / (2 * s);
    }
    *q /= weight_sum;
    *w /= weight_sum;
}

/* k = t^2, by Simpson's rule in t: fine where the disc has its power, and far out to
 * where thickness and softening have damped the rest. */
static void fill_waves(const struct sim_disc *d, struct waves *waves)
{
    double far = 400 / d->scale;
    if (d->softening > 0)
        far = fmin(far, 30 / d->softening + 20 / d->scale);
    double step = sqrt(far) / WAVES;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < WAVES; i++) {
        double t = (i + 1) * step, k = t * t, q, w, y2 = k * k * d->scale * d->scale;
        double simpson = i == WAVES - 1 ? 1 : i % 2 ? 2 : 4; /* t = 0 adds nothing */
        double weight = simpson * step / 3 * 2 * t / ((1 + y2) * sqrt(1 + y2));
        pair_average(d, k, &q, &w);
        waves->k[i] = k;
        waves->radial[i] = d->G * d->mass * weight * k * q;
        waves->vertical[i] = d->G * d->mass * weight * w;
    }
}

/* The field of spheres, averaged over the disc's height: v_c^2 and z dphi/dz. */
static void sphere_forces(const struct sim_potential *rest, double R, double z0,
                          double *speed2, double *vertical)
{
    *speed2 = *vertical = 0;
    for (int i = 0; i < PAIRS; i++) {
        double z = z0 * atanh((i + 0.5) / PAIRS), r = sqrt(R * R + z * z);
        double pull = r > 0 ? sim_potential_pull(rest, r) / r / PAIRS : 0;
        *speed2 += pull * R * R;
        *vertical += pull * z * z;
    }
}

static void solve_forces(const struct sim_potential *rest, const struct waves *waves,
                         struct sim_disc_curve *c, int i)
{
    double R = c->R[i], radial = 0, vertical = 0;
    for (int j = 0; j < WAVES; j++) {
        double kR = waves->k[j] * R;
        radial += waves->radial[j] * j1(kR);
        vertical += waves->vertical[j] * j0(kR);
    }
    double sphere_speed2 = 0, sphere_vertical = 0;
    if (rest)
        sphere_forces(rest, R, c->disc.thickness, &sphere_speed2, &sphere_vertical);
    c->speed2[i] = fmax(R * radial + sphere_speed2, 0);
    c->sigma_z[i] = sqrt(fmax(vertical + sphere_vertical, 0));
}

/* kappa^2 = (1/R) d(v_c^2)/dR + 2 v_c^2 / R^2, with v_c^2 differenced in R^2. */
static void solve_kappa(struct sim_disc_curve *c)
{
    const double *R = c->R, *v2 = c->speed2;
    for (int i = 1; i < SIM_DISC_RADII; i++) {
        int a = i - 1, b = i + 1 < SIM_DISC_RADII ? i + 1 : i;
        double slope = (v2[b] - v2[a]) / (R[b] * R[b] - R[a] * R[a]);
        c->kappa[i] = sqrt(fmax(2 * slope + 2 * v2[i] / (R[i] * R[i]), 0));
    }
    c->kappa[0] = c->kappa[1];
}

/* sigma_R at the centre if it falls as exp(-R / 2 Rd) and the least Q is as asked. */
static double central_sigma(const struct sim_disc_curve *c)
{
    const struct sim_disc *d = &c->disc;
    double Sigma0 = d->mass / (2 * M_PI * d->scale * d->scale), sigma = 0;
    for (int i = 1; i < SIM_DISC_RADII; i++) {
        double x = c->R[i] / d->scale;
        if (x < 0.5 || x > 4 || c->kappa[i] == 0)
            continue;
        double need = d->toomre * 3.36 * d->G * Sigma0 * exp(-x) / c->kappa[i];
        sigma = fmax(sigma, need * exp(x / 2));
    }
    return sigma;
}

static void solve_moments(struct sim_disc_curve *c, double sigma0, int i)
{
    double x = c->R[i] / c->disc.scale, v2 = c->speed2[i];
    double omega2 = i ? v2 / (c->R[i] * c->R[i]) : c->kappa[1] * c->kappa[1] / 4;
    double ratio = omega2 > 0 ? c->kappa[i] * c->kappa[i] / (4 * omega2) : 1;
    double drag = ratio - 1 + 2 * x, sigma2 = sigma0 * sigma0 * exp(-x);
    if (drag > 0 && i > 0)
        sigma2 = fmin(sigma2, v2 / drag);
    c->sigma_R[i] = sqrt(sigma2);
    c->sigma_phi[i] = sqrt(sigma2 * fmin(ratio, 1));
    c->stream[i] = sqrt(fmax(v2 - sigma2 * drag, 0));
}

void sim_disc_solve(const struct sim_disc *disc, const struct sim_potential *rest,
                    struct sim_disc_curve *out)
{
    struct waves waves;
    out->disc = *disc;
    fill_waves(disc, &waves);
#pragma omp parallel for schedule(dynamic, 4)
    for (int i = 0; i < SIM_DISC_RADII; i++) {
        double share = (double)i / (SIM_DISC_RADII - 1);
        out->R[i] = OUTER * disc->scale * share * share;
        solve_forces(rest, &waves, out, i);
    }
    solve_kappa(out);
    double sigma0 = central_sigma(out);
    for (int i = 0; i < SIM_DISC_RADII; i++)
        solve_moments(out, sigma0, i);
}

double sim_disc_at(const struct sim_disc_curve *c, const double *table, double R)
{
    double at = sqrt(R / (OUTER * c->disc.scale)) * (SIM_DISC_RADII - 1);
    if (at >= SIM_DISC_RADII - 1)
        return table[SIM_DISC_RADII - 1];
    int i = (int)at;
    double share = (R - c->R[i]) / (c->R[i + 1] - c->R[i]);
    return table[i] + share * (table[i + 1] - table[i]);
}

/* The x = R/Rd that holds the share u of the mass: 1 - (1 + x) exp(-x) = u, by Newton's
 * method on the logarithm of what is outside, which is concave and so converges. */
static double exponential_radius(double u)
{
    double outside = log1p(-u), x = sqrt(2 * u) + (u > 0.5 ? -outside : 0);
    for (int i = 0; i < 40; i++) {
        double step = (log1p(x) - x - outside) * (1 + x) / x;
        x += step;
        if (fabs(step) < 1e-14 * x)
            break;
    }
    return x;
}

void sim_disc_draw(const struct sim_disc_curve *c, uint64_t seed, uint64_t body,
                   uint32_t purpose, double position[3], double velocity[3])
{
    double place[2], across[2], up[2];
    sim_random_uniforms(seed, body, purpose, 0, place);
    sim_random_normals(seed, body, purpose + 1, 0, across);
    sim_random_normals(seed, body, purpose + 2, 0, up);
    double R = c->disc.scale * exponential_radius(sim_random_even(seed, body, purpose));
    double cosine = cos(2 * M_PI * place[0]), sine = sin(2 * M_PI * place[0]);
    double v_R = sim_disc_at(c, c->sigma_R, R) * across[0];
    double v_phi =
        sim_disc_at(c, c->stream, R) + sim_disc_at(c, c->sigma_phi, R) * across[1];
    position[0] = R * cosine;
    position[1] = R * sine;
    position[2] = c->disc.thickness * atanh(2 * place[1] - 1);
    velocity[0] = v_R * cosine - v_phi * sine;
    velocity[1] = v_R * sine + v_phi * cosine;
    velocity[2] = sim_disc_at(c, c->sigma_z, R) * up[0];
}

static enum sim_status disc_fill(const struct sim_disc_desc *d, struct sim_model *out)
{
    int group, centre;
    SIM_TRY(
        sim_model_part(out, d->placement.name, d->centre > 0 ? "disc" : NULL, &group));
    struct sim_potential rest;
    sim_potential_start(&rest, d->G, d->softening, 1e-4 * d->scale, 1e3 * d->scale);
    sim_potential_add_point(&rest, d->centre);
    struct sim_disc disc = {d->G,         d->mass,      d->scale,
                            d->thickness, d->softening, d->toomre};
    struct sim_disc_curve curve;
    sim_disc_solve(&disc, d->centre > 0 ? &rest : NULL, &curve);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < d->n; i++) {
        struct sim_body *b = &out->bodies[i];
        sim_disc_draw(&curve, (uint64_t)d->placement.seed, (uint64_t)i, 0, b->position,
                      b->velocity);
        b->mass = d->mass / (double)d->n;
        b->group = group;
    }
    if (d->centre > 0) {
        SIM_TRY(sim_model_part(out, d->placement.name, "centre", &centre));
        out->bodies[d->n].mass = d->centre;
        out->bodies[d->n].group = centre;
    }
    sim_model_settle(out, &d->placement);
    return SIM_OK;
}

enum sim_status sim_disc_new(const struct sim_disc_desc *d, struct sim_model *out)
{
    SIM_TRY(sim_model_new(d->n + (d->centre > 0), out));
    enum sim_status status = disc_fill(d, out);
    if (status != SIM_OK)
        sim_model_free(out);
    return status;
}
