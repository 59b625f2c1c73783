/* galaxy.c - a live disc galaxy in equilibrium.
 *
 * Three parts, lengths in units of the disc's scale Rd:
 *     disc    Sigma ~ exp(-R/Rd), vertically sech^2(z/z0);  motions by moments (disc.c)
 *     bulge   Hernquist's sphere
 *     halo    Hernquist's sphere times exp(-(r/cut)^2)
 * The spheres are drawn from isotropic distribution functions f(E) (spherical.c) in the
 * potential of all three, for which the disc counts as the sphere of the same mass within
 * each radius; the disc's motions are solved in the true, flattened field of the disc and
 * that of the spheres. Every force is softened as it will be in the simulation: give
 * sim.galaxy and sim.bodies the same softening.
 *
 * What wears such a galaxy down is the pull of single bodies: heavy halo bodies crossing
 * the bulge and the disc heat them. So the halo's bodies are lighter inside (a body at
 * the radius that holds the share M of the halo has a mass ~ sqrt(M); Sigurdsson,
 * Hernquist and Quinlan, ApJ 446, 75, 1995, weigh bodies by radius too), and radii are
 * spread evenly, so that the parts start without the shot noise of independent radii.
 *
 * Measured with the defaults, 16,384 bodies, softening 0.1, dt 0.1, over five rotations
 * (24 units of time each) at the disc's half-mass radius, three seeds: half-mass radii
 * stay within 3 % (disc), 4.4 % (bulge) and 4 % (halo) of those at the start, of which 1
 * to 2 % are the scatter of so many bodies; -2K/W is 0.969 to 0.986 (below 1, as softened
 * forces are weaker than W says); the disc's median height grows by a fifth. What did
 * worse: a bulge that ends at ten of its scales (half-mass radius +7 %), a disc of a
 * quarter of the mass, halo bodies of equal mass.
 *
 * Not here: a bar, a gas disc, rotation of the halo. A heavy disc (share beyond a third,
 * or Q below 1) makes a bar and spirals by itself, as it should. */
#include "galaxy.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "../kernels/philox.h"
#include "disc.h"
#include "spherical.h"

static const char *const part_name[SIM_GALAXY_PARTS] = {"disc", "bulge", "halo"};

/* Each part draws from purposes of its own, so that a star does not depend on what other
 * parts there are. */
#define PURPOSES 16

/* Where the bulge ends, in its own scales. Hernquist's profile would hold half its mass
 * beyond 2.4 scales, too thinly to keep its half-mass radius from scattering. */
#define BULGE_CUT 2.5

struct solution {
    struct sim_potential all, spheres; /* with and without the disc */
    struct sim_disc_curve curve;
    struct sim_isotropic iso[SIM_GALAXY_PARTS]; /* bulge and halo */
};

void sim_galaxy_counts(const struct sim_galaxy_desc *d, int64_t counts[SIM_GALAXY_PARTS])
{
    double sum = 0;
    int64_t left = d->n;
    int largest = 0;
    for (int p = 0; p < SIM_GALAXY_PARTS; p++)
        sum += d->share[p] > 0 ? d->bodies[p] : 0;
    for (int p = 0; p < SIM_GALAXY_PARTS; p++) {
        double want = d->share[p] > 0 && sum > 0 ? (double)d->n * d->bodies[p] / sum : 0;
        counts[p] = (int64_t)want;
        if (d->share[p] > 0 && counts[p] == 0 && left > 0)
            counts[p] = 1;
        if (counts[p] > counts[largest])
            largest = p;
        left -= counts[p];
    }
    counts[largest] += left;
}

/* The disc's mass inside the sphere of radius r: that inside the cylinder of radius
 * sqrt(r^2 - z^2), averaged over the heights z. */
static double disc_within(const void *context, double r)
{
    enum { HEIGHTS = 64 };
    const struct sim_disc *disc = context;
    double sum = 0;
    for (int i = 0; i < HEIGHTS; i++) {
        double z = disc->thickness * atanh((i + 0.5) / HEIGHTS);
        double x = r > z ? sqrt((r - z) * (r + z)) / disc->scale : 0;
        /* 1 - (1+x) exp(-x), which cancels at small x */
        sum += x < 1e-3 ? x * x / 2 - x * x * x / 3 : 1 - (1 + x) * exp(-x);
    }
    return disc->mass * sum / HEIGHTS;
}

static void add_sphere(struct solution *s, const struct sim_hernquist *sphere)
{
    struct sim_hernquist_mass mass;
    sim_hernquist_tabulate(sphere, &s->all, &mass);
    sim_potential_add(&s->all, sim_hernquist_within, &mass);
    sim_potential_add(&s->spheres, sim_hernquist_within, &mass);
}

static enum sim_status solve(const struct sim_galaxy_desc *d, const double mass[],
                             struct solution *s)
{
    double Rd = d->scale;
    struct sim_disc disc = {
        d->G, mass[SIM_GALAXY_DISC], Rd, d->thickness * Rd, d->softening, d->toomre};
    struct sim_hernquist sphere[SIM_GALAXY_PARTS] = {
        [SIM_GALAXY_BULGE] = {mass[SIM_GALAXY_BULGE], d->bulge_scale * Rd,
                              BULGE_CUT * d->bulge_scale * Rd},
        [SIM_GALAXY_HALO] = {mass[SIM_GALAXY_HALO], d->halo_scale * Rd,
                             d->halo_cut * Rd}};
    double inner = 1e-3 * fmin(Rd, fmin(d->bulge_scale, d->halo_scale) * Rd);
    double outer = 5 * fmax(d->halo_cut, 20) * Rd;
    sim_potential_start(&s->all, d->G, d->softening, inner, outer);
    sim_potential_start(&s->spheres, d->G, d->softening, inner, outer);
    for (int p = SIM_GALAXY_BULGE; p <= SIM_GALAXY_HALO; p++)
        if (mass[p] > 0)
            add_sphere(s, &sphere[p]);
    if (disc.mass > 0) {
        sim_potential_add(&s->all, disc_within, &disc);
        sim_disc_solve(&disc, &s->spheres, &s->curve);
    }
    for (int p = SIM_GALAXY_BULGE; p <= SIM_GALAXY_HALO; p++)
        if (mass[p] > 0)
            SIM_TRY(sim_isotropic_solve(&s->iso[p], &s->all, &sphere[p]));
    return SIM_OK;
}

static void draw_disc(const struct sim_disc_curve *curve, uint64_t seed, int64_t count,
                      struct sim_body *bodies)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++) {
        struct sim_body *b = &bodies[i];
        sim_disc_draw(curve, seed, (uint64_t)i, 0, b->position, b->velocity);
        b->mass = 1;
    }
}

/* Radii are spread evenly in the mass M inside them, or, for the halo, in sqrt(M): then
 * with u = sqrt(M) a body's mass goes as dM/du = 2u, lighter towards the centre. */
static void draw_sphere(const struct solution *s, enum sim_galaxy_part part,
                        uint64_t seed, int64_t count, struct sim_body *bodies)
{
    uint32_t purpose = (uint32_t)part * PURPOSES;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++) {
        struct sim_body *b = &bodies[i];
        double u = sim_random_even(seed, (uint64_t)i, purpose);
        double share = part == SIM_GALAXY_HALO ? u * u : u;
        sim_isotropic_draw(&s->iso[part], share, seed, (uint64_t)i, purpose + 1,
                           b->position, b->velocity);
        b->mass = part == SIM_GALAXY_HALO ? u : 1;
    }
}

/* Scale the bodies' masses to a sum, and put them into a group. */
static void finish_part(struct sim_body *bodies, int64_t count, double mass, int group)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += bodies[i].mass;
    for (int64_t i = 0; i < count; i++) {
        bodies[i].mass *= mass / sum;
        bodies[i].group = group;
    }
}

static enum sim_status fill(const struct sim_galaxy_desc *d, const struct solution *s,
                            const double mass[], struct sim_model *out)
{
    int64_t counts[SIM_GALAXY_PARTS], first = 0;
    uint64_t seed = (uint64_t)d->placement.seed;
    sim_galaxy_counts(d, counts);
    for (int p = 0; p < SIM_GALAXY_PARTS; p++) {
        int group;
        if (counts[p] == 0)
            continue;
        SIM_TRY(sim_model_part(out, d->placement.name, part_name[p], &group));
        if (p == SIM_GALAXY_DISC)
            draw_disc(&s->curve, seed, counts[p], out->bodies + first);
        else
            draw_sphere(s, (enum sim_galaxy_part)p, seed, counts[p], out->bodies + first);
        finish_part(out->bodies + first, counts[p], mass[p], group);
        first += counts[p];
    }
    sim_model_settle(out, &d->placement);
    return SIM_OK;
}

static enum sim_status masses(const struct sim_galaxy_desc *d, double mass[])
{
    double sum = 0;
    int64_t parts = 0;
    for (int p = 0; p < SIM_GALAXY_PARTS; p++) {
        sum += d->share[p];
        parts += d->share[p] > 0;
    }
    if (parts == 0)
        return sim_fail(SIM_BAD_ARGUMENT, "a galaxy needs a disc, a bulge or a halo");
    if (d->n < parts)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "a galaxy of %lld parts needs as many bodies at least, not %lld",
                        (long long)parts, (long long)d->n);
    for (int p = 0; p < SIM_GALAXY_PARTS; p++)
        mass[p] = d->mass * d->share[p] / sum;
    return SIM_OK;
}

enum sim_status sim_galaxy_new(const struct sim_galaxy_desc *d, struct sim_model *out)
{
    double mass[SIM_GALAXY_PARTS];
    SIM_TRY(masses(d, mass));
    struct solution *s = calloc(1, sizeof *s); /* too large for a thread's stack */
    if (!s)
        return sim_fail(SIM_HOST_MEMORY, "no memory on the host for a galaxy's tables");
    enum sim_status status = solve(d, mass, s);
    if (status == SIM_OK)
        status = sim_model_new(d->n, out);
    if (status == SIM_OK) {
        status = fill(d, s, mass, out);
        if (status != SIM_OK)
            sim_model_free(out);
    }
    free(s);
    return status;
}
