/* spheres.c - single spheres of bodies of equal mass.
 *
 * Plummer (MNRAS 71, 460, 1911): psi = GM / sqrt(r^2 + a^2), sampled as in Aarseth, Henon
 * and Wielen (A&A 37, 183, 1974): r = a (u^(-2/3) - 1)^(-1/2), and speeds q = v /
 * v_escape with weight q^2 (1 - q^2)^(7/2), by rejection under 0.1 (its maximum is
 * 0.0922). W = -3 pi G M^2 / (32 a),  K = -W/2.
 *
 * Hernquist (ApJ 356, 359, 1990): through Eddington's inversion, see spherical.c. Bodies
 * come in pairs, (x, v) and (-x, -v), so that the mass centre stays on the cusp: the mean
 * radius of an uncut sphere is infinite, and one far body would pull the mass centre off.
 * Radii are spread evenly (sim_random_even).
 *
 * Uniform: rho constant within R, W = -3 G M^2 / (5 R); normal velocities of the same
 * dispersion everywhere (not an equilibrium, whatever its virial ratio), and solid-body
 * rotation if asked for. At rest it collapses in (pi/2) sqrt(R^3 / 2GM). */
#include "spheres.h"

#include <math.h>

#include "../kernels/philox.h"
#include "spherical.h"

enum purpose { RADIUS, SPEED, PLACE, HEADING, NORMALS }; /* of random numbers */

static void scale_velocities(struct sim_model *model, double factor)
{
    for (int64_t i = 0; i < model->n; i++)
        for (int k = 0; k < 3; k++)
            model->bodies[i].velocity[k] *= factor;
}

static double plummer_speed(uint64_t seed, uint64_t body)
{
    double u[2] = {0};
    for (uint32_t draw = 0; draw < 100000; draw++) {
        sim_random_uniforms(seed, body, SPEED, draw, u);
        if (0.1 * u[1] <= u[0] * u[0] * pow(1 - u[0] * u[0], 3.5))
            break;
    }
    return u[0];
}

static void plummer_body(const struct sim_plummer_desc *d, int64_t i,
                         struct sim_body *out)
{
    uint64_t seed = (uint64_t)d->placement.seed, body = (uint64_t)i;
    double u[2], a = d->scale;
    sim_random_uniforms(seed, body, RADIUS, 0, u);
    double r = a / sqrt(pow(u[0], -2.0 / 3) - 1);
    double escape = sqrt(2 * d->G * d->mass / sqrt(r * r + a * a));
    double v = escape * plummer_speed(seed, body);
    sim_random_vector(seed, body, PLACE, 0, r, out->position);
    sim_random_vector(seed, body, HEADING, 0, v, out->velocity);
    out->mass = d->mass / (double)d->n;
}

/* sum_{i<j} m_i m_j / r_ij. Rows are summed by themselves, then in index order, so that
 * the number of threads does not show. */
static enum sim_status pair_sum(const struct sim_model *model, double *out)
{
    struct sim_model rows; /* borrowed for its checked allocation */
    SIM_TRY(sim_model_new(model->n, &rows));
    const struct sim_body *b = model->bodies;
#pragma omp parallel for schedule(dynamic, 64)
    for (int64_t i = 0; i < model->n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < i; j++) {
            double x = b[i].position[0] - b[j].position[0];
            double y = b[i].position[1] - b[j].position[1];
            double z = b[i].position[2] - b[j].position[2];
            sum += b[j].mass / sqrt(x * x + y * y + z * z);
        }
        rows.bodies[i].mass = b[i].mass * sum;
    }
    *out = sim_model_mass(&rows);
    sim_model_free(&rows);
    return SIM_OK;
}

/* Stretch so that W and K come out as the continuum's. */
static enum sim_status plummer_exact(const struct sim_plummer_desc *d,
                                     struct sim_model *model)
{
    double pairs, kinetic = 0, want = 3 * M_PI / 32 * d->mass * d->mass / d->scale;
    if (model->n < 2)
        return sim_fail(SIM_BAD_ARGUMENT, "plummer: exact needs at least two bodies");
    SIM_TRY(pair_sum(model, &pairs));
    double stretch = pairs / want;
    for (int64_t i = 0; i < model->n; i++)
        for (int k = 0; k < 3; k++) {
            double v = model->bodies[i].velocity[k];
            model->bodies[i].position[k] *= stretch;
            kinetic += model->bodies[i].mass * v * v / 2;
        }
    scale_velocities(model, sqrt(d->virial * d->G * want / 2 / kinetic));
    return SIM_OK;
}

enum sim_status sim_plummer_new(const struct sim_plummer_desc *d, struct sim_model *out)
{
    int group;
    SIM_TRY(sim_model_new(d->n, out));
    enum sim_status status = sim_model_group(out, d->placement.name, &group);
    if (status == SIM_OK) {
#pragma omp parallel for schedule(static)
        for (int64_t i = 0; i < d->n; i++)
            plummer_body(d, i, &out->bodies[i]);
        sim_model_recentre(out);
        if (d->exact)
            status = plummer_exact(d, out);
        else
            scale_velocities(out, sqrt(d->virial));
        sim_model_settle(out, &d->placement);
    }
    if (status != SIM_OK)
        sim_model_free(out);
    return status;
}

/* The inversion spans ten decades of radius, so that an uncut sphere (a hundredth of its
 * mass lies beyond 200 scales) and its cusp are both on the grid. */
static enum sim_status hernquist_solve(const struct sim_hernquist_desc *d,
                                       struct sim_potential *potential,
                                       struct sim_isotropic *iso)
{
    struct sim_hernquist sphere = {d->mass, d->scale, d->cut};
    struct sim_hernquist_mass mass;
    double outer = d->cut > 0 ? fmin(6 * d->cut, 1e6 * d->scale) : 1e6 * d->scale;
    sim_potential_start(potential, d->G, d->softening, 1e-4 * d->scale, outer);
    sim_hernquist_tabulate(&sphere, potential, &mass);
    sim_potential_add(potential, sim_hernquist_within, &mass);
    return sim_isotropic_solve(iso, potential, &sphere);
}

enum sim_status sim_hernquist_new(const struct sim_hernquist_desc *d,
                                  struct sim_model *out)
{
    int group;
    struct sim_potential potential;
    struct sim_isotropic iso;
    SIM_TRY(hernquist_solve(d, &potential, &iso));
    SIM_TRY(sim_model_new(d->n, out));
    enum sim_status status = sim_model_group(out, d->placement.name, &group);
    if (status != SIM_OK) {
        sim_model_free(out);
        return status;
    }
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < d->n; i++) {
        struct sim_body *b = &out->bodies[i];
        uint64_t seed = (uint64_t)d->placement.seed, pair = (uint64_t)i / 2;
        sim_isotropic_draw(&iso, sim_random_even(seed, pair, RADIUS), seed, pair, SPEED,
                           b->position, b->velocity);
        for (int k = 0; k < 3 && i % 2; k++) {
            b->position[k] = -b->position[k];
            b->velocity[k] = -b->velocity[k];
        }
        b->mass = d->mass / (double)d->n;
    }
    scale_velocities(out, sqrt(d->virial));
    sim_model_settle(out, &d->placement);
    return SIM_OK;
}

static void uniform_body(const struct sim_uniform_sphere_desc *d, int64_t i,
                         struct sim_body *out)
{
    uint64_t seed = (uint64_t)d->placement.seed, body = (uint64_t)i;
    double u[2], normal[2][2];
    sim_random_uniforms(seed, body, RADIUS, 0, u);
    sim_random_vector(seed, body, PLACE, 0, d->radius * cbrt(u[0]), out->position);
    sim_random_normals(seed, body, NORMALS, 0, normal[0]);
    sim_random_normals(seed, body, NORMALS, 1, normal[1]);
    double sigma = sqrt(d->virial * 0.6 * d->G * d->mass / d->radius / 3);
    double spin = d->spin * (M_PI / 180);
    out->velocity[0] = sigma * normal[0][0] - spin * out->position[1];
    out->velocity[1] = sigma * normal[0][1] + spin * out->position[0];
    out->velocity[2] = sigma * normal[1][0];
    out->mass = d->mass / (double)d->n;
}

enum sim_status sim_uniform_sphere_new(const struct sim_uniform_sphere_desc *d,
                                       struct sim_model *out)
{
    int group;
    SIM_TRY(sim_model_new(d->n, out));
    enum sim_status status = sim_model_group(out, d->placement.name, &group);
    if (status != SIM_OK) {
        sim_model_free(out);
        return status;
    }
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < d->n; i++)
        uniform_body(d, i, &out->bodies[i]);
    sim_model_settle(out, &d->placement);
    return SIM_OK;
}
