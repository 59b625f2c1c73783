/* test_model.c - random numbers, the scene models, rows from files, encounters.
 *
 * Reference values: Philox known answers from the Random123 distribution (Salmon et al.
 * 2011); Plummer, Hernquist and exponential-disc numbers from their closed forms and from
 * Jeans integrals in quadruple precision. Scatter between seeds is known too, so that the
 * tolerances are a few of its standard deviations. */
#include <inttypes.h>
#include <unistd.h>

#include <omp.h>

#include "check.h"
#include "../kernels/philox.h"
#include "../src/disc.h"
#include "../src/galaxy.h"
#include "../src/orbit.h"
#include "../src/rows.h"
#include "../src/spheres.h"
#include "../src/spherical.h"

/* --- random numbers -------------------------------------------------------------------
 */

static void check_philox(const uint32_t counter[4], const uint32_t key[2],
                         const uint32_t want[4])
{
    struct sim_philox c;
    memcpy(c.word, counter, sizeof c.word);
    struct sim_philox have = sim_philox(c, key[0], key[1]);
    CHECK(!memcmp(have.word, want, sizeof have.word));
}

static void test_philox(void)
{
    check_philox((uint32_t[]){0, 0, 0, 0}, (uint32_t[]){0, 0},
                 (uint32_t[]){0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    check_philox((uint32_t[]){0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                 (uint32_t[]){0xffffffff, 0xffffffff},
                 (uint32_t[]){0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    check_philox((uint32_t[]){0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                 (uint32_t[]){0xa4093822, 0x299f31d0},
                 (uint32_t[]){0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
    CHECK(sim_philox_uniform(0, 0) > 0);
    CHECK(sim_philox_uniform(0xffffffff, 0xffffffff) < 1);
}

static void test_moments(void)
{
    enum { N = 100000 };
    double sum[6] = {0};
    for (uint64_t i = 0; i < N; i++) {
        double u[2], g[2];
        sim_random_uniforms(7, i, 1, 0, u);
        sim_random_normals(7, i, 2, 0, g);
        sum[0] += u[0] + u[1];
        sum[1] += u[0] * u[0] + u[1] * u[1];
        sum[2] += g[0] + g[1];
        sum[3] += g[0] * g[0] + g[1] * g[1];
        sum[4] += g[0] * g[0] * g[0] * g[0] + g[1] * g[1] * g[1] * g[1];
        sum[5] += u[0] * u[1] + g[0] * g[1];
    }
    CHECK_NEAR(sum[0] / (2 * N), 0.5, 0.0026); /* 4 sigma each */
    CHECK_NEAR(sum[1] / (2 * N), 1.0 / 3, 0.0027);
    CHECK_NEAR(sum[2] / (2 * N), 0, 0.009);
    CHECK_NEAR(sum[3] / (2 * N), 1, 0.013);
    CHECK_NEAR(sum[4] / (2 * N), 3, 0.09);
    CHECK_NEAR(sum[5] / N, 0.25, 0.013);
}

/* The k-th of the first n even numbers never is far from its rank. */
static void test_even(void)
{
    enum { N = 1000, BINS = 50 };
    int count[BINS] = {0};
    for (uint64_t i = 0; i < N; i++)
        count[(int)(BINS * sim_random_even(3, i, 5))]++;
    int worst = 0;
    for (int b = 0; b < BINS; b++)
        worst = abs(count[b] - N / BINS) > worst ? abs(count[b] - N / BINS) : worst;
    CHECK(worst <= 3); /* independent numbers: about 10 */
    CHECK(sim_random_even(3, 0, 5) != sim_random_even(4, 0, 5));
    CHECK(sim_random_even(3, 0, 5) != sim_random_even(3, 0, 6));
}

/* --- models ---------------------------------------------------------------------------
 */

static void test_place(void)
{
    struct sim_model m;
    CHECK_OK(sim_model_new(1, &m));
    m.bodies[0].position[1] = 1;
    m.bodies[0].velocity[0] = 2;
    sim_model_place(&m, (double[]){10, 0, 0}, (double[]){0, 0, 5}, (double[]){90, 90, 0});
    /* y turned about x is z; turned about z it stays. The velocity x turned about z is y.
     */
    CHECK_NEAR(m.bodies[0].position[0], 10, 0);
    CHECK_NEAR(m.bodies[0].position[1], 0, 0);
    CHECK_NEAR(m.bodies[0].position[2], 1, 0);
    CHECK_NEAR(m.bodies[0].velocity[1], 2, 0);
    CHECK_NEAR(m.bodies[0].velocity[2], 5, 0);
    sim_model_place(&m, (double[]){-10, 0, -1}, (double[3]){0}, (double[3]){0});
    m.bodies[0].position[0] = 1;
    sim_model_place(&m, (double[3]){0}, (double[3]){0}, (double[]){0, 0, 30});
    CHECK_NEAR(m.bodies[0].position[0], sqrt(0.75), 1e-15);
    CHECK_NEAR(m.bodies[0].position[2], -0.5, 1e-15);
    sim_model_free(&m);
    CHECK(sim_model_new(0, &m) == SIM_BAD_ARGUMENT);
    CHECK(sim_model_new((int64_t)1 << 61, &m) == SIM_HOST_MEMORY);
}

static void test_groups(void)
{
    struct sim_model m;
    int a, b, c;
    CHECK_OK(sim_model_new(1, &m));
    CHECK_OK(sim_model_part(&m, "A", "disc", &a));
    CHECK_OK(sim_model_part(&m, "A", NULL, &b));
    CHECK_OK(sim_model_group(&m, "A.disc", &c));
    CHECK(a == 0 && b == 1 && c == 0 && m.group_count == 2);
    CHECK_STRING(m.groups[0], "A.disc");
    CHECK(sim_model_group(&m, "a name of far more than thirty-one letters", &a) ==
          SIM_BAD_ARGUMENT);
    CHECK(sim_model_group(&m, "", &a) == SIM_BAD_ARGUMENT);
    CHECK(sim_model_part(&m, "", "disc", &a) == SIM_BAD_ARGUMENT);
    for (int i = 2; i < SIM_MODEL_GROUPS; i++) {
        char name[8];
        snprintf(name, sizeof name, "g%d", i);
        CHECK_OK(sim_model_group(&m, name, &a));
    }
    CHECK(sim_model_group(&m, "one more", &a) == SIM_BAD_ARGUMENT);
    sim_model_free(&m);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorted distances from the origin of the bodies of one group (all: -1). */
static double *distances(const struct sim_model *m, int group, bool in_plane,
                         int64_t *count)
{
    double *r = malloc((size_t)m->n * sizeof *r);
    *count = 0;
    for (int64_t i = 0; i < m->n; i++) {
        const double *x = m->bodies[i].position;
        if (group < 0 || m->bodies[i].group == group)
            r[(*count)++] =
                sqrt(x[0] * x[0] + x[1] * x[1] + (in_plane ? 0 : x[2] * x[2]));
    }
    qsort(r, (size_t)*count, sizeof *r, compare);
    return r;
}

static void energies(const struct sim_model *m, double eps, double *K, double *W)
{
    double kinetic = 0, pairs = 0;
#pragma omp parallel for schedule(dynamic, 64) reduction(+ : pairs, kinetic)
    for (int64_t i = 0; i < m->n; i++) {
        const struct sim_body *a = &m->bodies[i];
        for (int k = 0; k < 3; k++)
            kinetic += a->mass * a->velocity[k] * a->velocity[k] / 2;
        for (int64_t j = 0; j < i; j++) {
            const struct sim_body *b = &m->bodies[j];
            double d2 = eps * eps;
            for (int k = 0; k < 3; k++)
                d2 +=
                    (a->position[k] - b->position[k]) * (a->position[k] - b->position[k]);
            pairs += a->mass * b->mass / sqrt(d2);
        }
    }
    *K = kinetic;
    *W = -pairs;
}

/* Centre of mass and momentum, the largest component of either. */
static double offset(const struct sim_model *m)
{
    double sum[6] = {0}, worst = 0;
    for (int64_t i = 0; i < m->n; i++)
        for (int k = 0; k < 3; k++) {
            sum[k] += m->bodies[i].mass * m->bodies[i].position[k];
            sum[k + 3] += m->bodies[i].mass * m->bodies[i].velocity[k];
        }
    for (int k = 0; k < 6; k++)
        worst = fmax(worst, fabs(sum[k]));
    return worst;
}

/* --- spheres --------------------------------------------------------------------------
 */

#define HENON (3 * M_PI / 16) /* Plummer's radius in Henon units */

static void test_plummer(void)
{
    static const double fraction[] = {0.1, 0.25, 0.5, 0.75, 0.9};
    static const double radius[] = {0.308678, 0.477806, 0.768571, 1.281104, 2.183670};
    struct sim_plummer_desc d = {.n = 16384,
                                 .mass = 1,
                                 .scale = HENON,
                                 .G = 1,
                                 .virial = 1,
                                 .placement = {.name = "p", .seed = 5}};
    struct sim_model m;
    double K, W, v2 = 0;
    int64_t count;
    CHECK_OK(sim_plummer_new(&d, &m));
    double *r = distances(&m, -1, false, &count);
    for (int i = 0; i < 5; i++) /* 4 sigma are 2 to 4 % */
        CHECK_NEAR(r[(int64_t)(fraction[i] * 16384)] / radius[i], 1, 0.03);
    free(r);
    energies(&m, 0, &K, &W);
    double root = sqrt(16384);
    CHECK_NEAR(K + W, -0.25, 4 * 0.32 / root);
    CHECK_NEAR(K, 0.25, 4 * 0.19 / root);
    CHECK_NEAR(K / -W, 0.5, 4 * 0.36 / root);
    for (int64_t i = 0; i < 16384; i++)
        for (int k = 0; k < 3; k++)
            v2 += m.bodies[i].velocity[k] * m.bodies[i].velocity[k] / 16384;
    CHECK_NEAR(v2, 0.5, 4 * 0.38 / root);
    CHECK_NEAR(offset(&m), 0, 1e-14);
    sim_model_free(&m);
}

static void test_plummer_exact(void)
{
    struct sim_plummer_desc d = {.n = 1000,
                                 .mass = 2,
                                 .scale = 3,
                                 .G = 4,
                                 .virial = 0.5,
                                 .exact = true,
                                 .placement = {.name = "p", .seed = 9}};
    double K, W, want = -4 * 3 * M_PI / 32 * 2 * 2 / 3;
    struct sim_model m;
    CHECK_OK(sim_plummer_new(&d, &m));
    energies(&m, 0, &K, &W);
    CHECK_NEAR(4 * W / want, 1, 1e-12);
    CHECK_NEAR(2 * K / -want, 0.5, 1e-12);
    CHECK_NEAR(offset(&m), 0, 1e-13);
    sim_model_free(&m);
    d.n = 1;
    CHECK(sim_plummer_new(&d, &m) == SIM_BAD_ARGUMENT);
}

/* 4 pi int f v^(2+power) dv at the grid's radius i, f being linear in psi between nodes.
 */
static double moment(const struct sim_isotropic *iso, int i, int power)
{
    enum { PARTS = 8 };
    const double *psi = iso->potential->psi;
    double sum = 0, low = 0;
    for (int j = i + 1; j < SIM_RADII; j++) {
        double high = sqrt(2 * (psi[i] - psi[j]));
        for (int s = 0; s < PARTS; s++) {
            double v = low + (s + 0.5) / PARTS * (high - low), E = psi[i] - v * v / 2;
            double share = (psi[j - 1] - E) / (psi[j - 1] - psi[j]);
            double f = iso->f[j - 1] + share * (iso->f[j] - iso->f[j - 1]);
            sum += f * pow(v, 2 + power) * (high - low) / PARTS;
        }
        low = high;
    }
    return 4 * M_PI * sum;
}

static void test_eddington(void)
{
    static const double at[] = {0.1, 0.5, 1, 2, 5, 10};
    static const double sigma[] = {0.295125829, 0.322348006, 0.294693249,
                                   0.248560867, 0.179670080, 0.133742794};
    static struct sim_potential p;
    static struct sim_isotropic iso;
    static struct sim_hernquist_mass mass;
    struct sim_hernquist sphere = {1, 1, 0};
    sim_potential_start(&p, 1, 0, 1e-4, 1e5);
    sim_hernquist_tabulate(&sphere, &p, &mass);
    sim_potential_add(&p, sim_hernquist_within, &mass);
    CHECK_OK(sim_isotropic_solve(&iso, &p, &sphere));
    CHECK_NEAR(sim_potential_psi(&p, 1) * 2, 1, 2e-4);
    CHECK_NEAR(sim_potential_pull(&p, 1) * 4, 1, 2e-4);
    for (int k = 0; k < 6; k++) {
        int i = (int)(log(at[k] / p.first) / p.ratio + 0.5);
        double r = p.r[i], rho = 1 / (2 * M_PI * r * pow(r + 1, 3));
        double s2 = moment(&iso, i, 2) / moment(&iso, i, 0) / 3;
        CHECK_NEAR(moment(&iso, i, 0) / rho, 1, 2e-3);
        /* the node is within 1 % of the radius of the table, sigma within 0.4 % */
        CHECK_NEAR(sqrt(s2) / sigma[k], 1, 5e-3);
    }
}

static void test_hernquist(void)
{
    struct sim_hernquist_desc d = {.n = 100000,
                                   .mass = 1,
                                   .scale = 1.3,
                                   .G = 1,
                                   .virial = 1,
                                   .placement = {.name = "h", .seed = 5}};
    static const double at[] = {0.5, 1, 2, 3, 5};
    static const double sigma[] = {0.2862322, 0.2700268, 0.2345798, 0.2085941, 0.1745383};
    struct sim_model m;
    int64_t count;
    CHECK_OK(sim_hernquist_new(&d, &m));
    double *r = distances(&m, -1, false, &count);
    CHECK_NEAR(r[count / 2] / (1.3 * 2.414213562), 1, 0.01);
    CHECK_NEAR(r[count / 10] / (1.3 * 0.462475), 1, 0.01); /* sqrt u / (1 - sqrt u) */
    free(r);
    for (int k = 0; k < 5; k++) {
        double radial = 0, all = 0;
        int64_t in = 0;
        for (int64_t i = 0; i < m.n; i++) {
            const double *x = m.bodies[i].position, *v = m.bodies[i].velocity;
            double s = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
            if (fabs(s / at[k] - 1) > 0.1)
                continue;
            double along = (x[0] * v[0] + x[1] * v[1] + x[2] * v[2]) / s;
            radial += along * along;
            all += v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
            in++;
        }
        CHECK_NEAR(sqrt(radial / (double)in) / sigma[k], 1, 0.03);
        CHECK_NEAR(sqrt(all / (double)in / 3) / sigma[k], 1, 0.02);
    }
    sim_model_free(&m);
}

/* Speeds drawn at one radius have the moments of f there, of second and fourth order. */
static void test_draw(void)
{
    enum { N = 40000 };
    static struct sim_potential p;
    static struct sim_isotropic iso;
    static struct sim_hernquist_mass mass;
    struct sim_hernquist sphere = {2, 0.7, 5};
    sim_potential_start(&p, 1, 0.1, 1e-3, 30);
    sim_hernquist_tabulate(&sphere, &p, &mass);
    sim_potential_add(&p, sim_hernquist_within, &mass);
    CHECK_OK(sim_isotropic_solve(&iso, &p, &sphere));
    for (int i = 300; i < 900; i += 200) {
        double second = 0, fourth = 0;
        for (uint64_t k = 0; k < N; k++) {
            double x[3], v[3];
            sim_isotropic_draw(&iso, iso.within[i], 1, k, 0, x, v);
            double v2 = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
            second += v2 / N;
            fourth += v2 * v2 / N;
            if (k == 0)
                CHECK_NEAR(sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]) / p.r[i], 1,
                           1e-9);
        }
        CHECK_NEAR(second / (moment(&iso, i, 2) / moment(&iso, i, 0)), 1, 0.02);
        CHECK_NEAR(fourth / (moment(&iso, i, 4) / moment(&iso, i, 0)), 1, 0.04);
    }
}

static void test_uniform(void)
{
    struct sim_uniform_sphere_desc d = {.n = 20000,
                                        .mass = 3,
                                        .radius = 2,
                                        .G = 1,
                                        .spin = 180 / M_PI,
                                        .placement = {.name = "s", .seed = 1}};
    struct sim_model m;
    double K, W, L = 0;
    int64_t count;
    CHECK_OK(sim_uniform_sphere_new(&d, &m));
    double *r = distances(&m, -1, false, &count);
    CHECK_NEAR(r[count / 2], 2 * cbrt(0.5), 0.02);
    CHECK(r[count - 1] < 2.05);
    free(r);
    energies(&m, 0, &K, &W);
    CHECK_NEAR(W / (-0.6 * 3 * 3 / 2), 1, 0.01);
    for (int64_t i = 0; i < m.n; i++)
        L += m.bodies[i].mass * (m.bodies[i].position[0] * m.bodies[i].velocity[1] -
                                 m.bodies[i].position[1] * m.bodies[i].velocity[0]);
    CHECK_NEAR(L, 0.4 * 3 * 2 * 2, 0.1);
    sim_model_free(&m);
    d.spin = 0;
    d.virial = 0.5;
    CHECK_OK(sim_uniform_sphere_new(&d, &m));
    energies(&m, 0, &K, &W);
    CHECK_NEAR(-2 * K / W, 0.5, 0.015);
    sim_model_free(&m);
}

/* --- discs ----------------------------------------------------------------------------
 */

static void test_rotation(void)
{
    static const double at[] = {0.1, 0.5, 1, 2, 2.2, 3, 5, 10};
    static const double speed[] = {0.114417728, 0.369736401, 0.527217971, 0.621081837,
                                   0.622022500, 0.599160488, 0.489275014, 0.325329071};
    static struct sim_disc_curve c;
    struct sim_disc thin = {.G = 2, .mass = 3, .scale = 1.5, .toomre = 1.2};
    sim_disc_solve(&thin, NULL, &c);
    for (int k = 0; k < 8; k++) {
        double v2 = sim_disc_at(&c, c.speed2, at[k] * 1.5) / (2 * 3 / 1.5);
        CHECK_NEAR(sqrt(v2) / speed[k], 1, 5e-4);
    }
    double least = INFINITY;
    for (int i = 1; i < SIM_DISC_RADII; i++) {
        double Sigma = 3 / (2 * M_PI * 1.5 * 1.5) * exp(-c.R[i] / 1.5);
        if (c.R[i] >= 0.75 && c.R[i] <= 6)
            least = fmin(least, c.sigma_R[i] * c.kappa[i] / (3.36 * 2 * Sigma));
        CHECK(c.sigma_z[i] == 0);
    }
    CHECK_NEAR(least, 1.2, 0.01);
}

/* Far out the disc is a point, and in the field of a point kappa is Omega. Thickness
 * slows the inner disc; far inside a thin layer sigma_z^2 = pi G Sigma z0. */
static void test_disc_limits(void)
{
    static struct sim_disc_curve thin, thick;
    static struct sim_potential point;
    struct sim_disc d = {.G = 1, .mass = 1, .scale = 1, .toomre = 1};
    sim_disc_solve(&d, NULL, &thin);
    d.thickness = 0.05;
    sim_disc_solve(&d, NULL, &thick);
    double one = sim_disc_at(&thin, thin.speed2, 1),
           two = sim_disc_at(&thick, thick.speed2, 1);
    CHECK(two < one && two > 0.9 * one);
    double Sigma = exp(-2.0) / (2 * M_PI), s = sim_disc_at(&thick, thick.sigma_z, 2);
    CHECK_NEAR(s * s / (M_PI * Sigma * 0.05), 1, 0.05);
    d = (struct sim_disc){.G = 1, .mass = 0, .scale = 1};
    sim_potential_start(&point, 1, 0, 1e-4, 1e3);
    sim_potential_add_point(&point, 4);
    sim_disc_solve(&d, &point, &thick);
    CHECK_NEAR(sim_disc_at(&thick, thick.speed2, 2), 2, 1e-3);
    CHECK_NEAR(sim_disc_at(&thick, thick.kappa, 2), sqrt(2) / 2, 2e-3);
    CHECK_NEAR(sim_disc_at(&thick, thick.stream, 2), sqrt(2), 1e-3);
}

static void test_disc(void)
{
    static const double fraction[] = {0.1, 0.5, 0.9, 0.99};
    static const double radius[] = {0.531812, 1.678347, 3.889720, 6.638352};
    struct sim_disc_desc d = {.n = 20000,
                              .mass = 0,
                              .scale = 2,
                              .thickness = 0.2,
                              .G = 1,
                              .centre = 1,
                              .placement = {.name = "d", .seed = 4}};
    struct sim_model m;
    int64_t count, inside = 0;
    CHECK_OK(sim_disc_new(&d, &m));
    CHECK(m.n == 20001 && m.group_count == 2);
    CHECK_STRING(m.groups[0], "d.disc");
    CHECK_STRING(m.groups[1], "d.centre");
    CHECK_NEAR(sim_model_mass(&m), 1, 0);
    CHECK_NEAR(m.bodies[20000].position[0], 0,
               0); /* tracers do not move the mass centre */
    double *r = distances(&m, 0, true, &count);
    for (int i = 0; i < 4; i++)
        CHECK_NEAR(r[(int64_t)(fraction[i] * 20000)] / (2 * radius[i]), 1, 2e-3);
    free(r);
    for (int64_t i = 0; i < 20000; i++)
        inside += fabs(m.bodies[i].position[2]) < 0.2 * 0.5493061443; /* atanh(1/2) */
    CHECK_NEAR((double)inside / 20000, 0.5, 0.014);
    sim_model_free(&m);
}

/* Stars drawn from a warm disc have the moments of its curve, and those obey the equation
 * of the epicycle, sigma_phi / sigma_R = kappa / 2 Omega, and of the asymmetric drift. */
static void test_disc_moments(void)
{
    static struct sim_disc_curve c;
    struct sim_disc d = {.G = 1,
                         .mass = 1,
                         .scale = 1,
                         .thickness = 0.2,
                         .softening = 0.05,
                         .toomre = 1.5};
    double sum[6] = {0};
    sim_disc_solve(&d, NULL, &c);
    for (uint64_t k = 0; k < 400000; k++) {
        double x[3], v[3], R;
        sim_disc_draw(&c, 1, k, 0, x, v);
        R = hypot(x[0], x[1]);
        if (fabs(R - 2) > 0.1)
            continue;
        double v_R = (x[0] * v[0] + x[1] * v[1]) / R,
               v_phi = (x[0] * v[1] - x[1] * v[0]) / R;
        double term[6] = {1, v_R * v_R, v_phi, v_phi * v_phi, v[2] * v[2], v_R};
        for (int t = 0; t < 6; t++)
            sum[t] += term[t];
    }
    double n = sum[0], s_R = sqrt(sum[1] / n), mean = sum[2] / n;
    double s_phi = sqrt(sum[3] / n - mean * mean), v2 = sim_disc_at(&c, c.speed2, 2);
    double ratio = sim_disc_at(&c, c.kappa, 2) / (2 * sqrt(v2) / 2);
    CHECK_NEAR(sum[5] / n, 0, 0.01);
    CHECK_NEAR(s_R / sim_disc_at(&c, c.sigma_R, 2), 1, 0.02);
    CHECK_NEAR(sqrt(sum[4] / n) / sim_disc_at(&c, c.sigma_z, 2), 1, 0.02);
    CHECK_NEAR(s_phi / s_R / ratio, 1, 0.03);
    CHECK_NEAR(mean * mean, v2 + s_R * s_R * (1 - ratio * ratio - 4), 0.01);
}

/* --- galaxies -------------------------------------------------------------------------
 */

static struct sim_galaxy_desc galaxy(int64_t n)
{
    return (struct sim_galaxy_desc){
        .n = n,
        .mass = 1,
        .scale = 1,
        .G = 1,
        .share = {SIM_GALAXY_SHARE_DISC, SIM_GALAXY_SHARE_BULGE, SIM_GALAXY_SHARE_HALO},
        .bodies = {SIM_GALAXY_BODIES_DISC, SIM_GALAXY_BODIES_BULGE,
                   SIM_GALAXY_BODIES_HALO},
        .thickness = SIM_GALAXY_THICKNESS,
        .bulge_scale = SIM_GALAXY_BULGE_SCALE,
        .halo_scale = SIM_GALAXY_HALO_SCALE,
        .halo_cut = SIM_GALAXY_HALO_CUT,
        .toomre = SIM_GALAXY_TOOMRE,
        .softening = SIM_GALAXY_SOFTENING,
        .placement = {.name = "A", .seed = 1}};
}

static void test_galaxy(void)
{
    struct sim_galaxy_desc d = galaxy(8192);
    struct sim_model m;
    double K, W, L = 0, part[3] = {0};
    CHECK_OK(sim_galaxy_new(&d, &m));
    CHECK(m.group_count == 3);
    CHECK_STRING(m.groups[0], "A.disc");
    CHECK_STRING(m.groups[1], "A.bulge");
    CHECK_STRING(m.groups[2], "A.halo");
    for (int64_t i = 0; i < m.n; i++) {
        const struct sim_body *b = &m.bodies[i];
        part[b->group] += b->mass;
        L +=
            b->mass * (b->position[0] * b->velocity[1] - b->position[1] * b->velocity[0]);
    }
    double sum = d.share[0] + d.share[1] + d.share[2];
    for (int p = 0; p < 3; p++)
        CHECK_NEAR(part[p], d.share[p] / sum, 1e-12);
    CHECK(L > 0.1); /* counter-clockwise */
    CHECK_NEAR(offset(&m), 0, 1e-14);
    energies(&m, d.softening, &K, &W);
    CHECK_NEAR(-2 * K / W, 1, 0.03);
    sim_model_free(&m);
}

static bool same_bodies(const struct sim_model *a, const struct sim_model *b)
{
    return a->n == b->n &&
           !memcmp(a->bodies, b->bodies, (size_t)a->n * sizeof *a->bodies);
}

/* The number of threads does not show; another seed does; star k does not depend on n but
 * for the shift that puts the mass centre at rest. */
static void test_galaxy_keys(void)
{
    struct sim_galaxy_desc d = galaxy(1009);
    struct sim_model one, many, other;
    int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    CHECK_OK(sim_galaxy_new(&d, &one));
    omp_set_num_threads(7);
    CHECK_OK(sim_galaxy_new(&d, &many));
    omp_set_num_threads(threads);
    CHECK(same_bodies(&one, &many));
    d.placement.seed = 2;
    CHECK_OK(sim_galaxy_new(&d, &other));
    CHECK(!same_bodies(&one, &other));
    sim_model_free(&other);
    d = galaxy(2027);
    CHECK_OK(sim_galaxy_new(&d, &other));
    for (int k = 0; k < 3; k++) {
        double shift = other.bodies[0].position[k] - one.bodies[0].position[k];
        CHECK_NEAR(other.bodies[99].position[k] - one.bodies[99].position[k], shift,
                   1e-12);
    }
    sim_model_free(&one);
    sim_model_free(&many);
    sim_model_free(&other);
}

static void test_galaxy_counts(void)
{
    struct sim_galaxy_desc d = galaxy(3);
    int64_t counts[3];
    struct sim_model m;
    sim_galaxy_counts(&d, counts);
    CHECK(counts[0] == 1 && counts[1] == 1 && counts[2] == 1);
    d.n = 10007;
    sim_galaxy_counts(&d, counts);
    CHECK(counts[0] + counts[1] + counts[2] == 10007 && counts[0] > 1000);
    d.share[SIM_GALAXY_BULGE] = 0;
    sim_galaxy_counts(&d, counts);
    CHECK(counts[1] == 0 && counts[0] + counts[2] == 10007);
    CHECK_OK(sim_galaxy_new(&d, &m));
    CHECK(m.group_count == 2);
    CHECK_STRING(m.groups[1], "A.halo");
    sim_model_free(&m);
    d.n = 1;
    CHECK(sim_galaxy_new(&d, &m) == SIM_BAD_ARGUMENT);
    d.share[SIM_GALAXY_HALO] = 0;
    CHECK_OK(sim_galaxy_new(&d, &m)); /* a disc alone, of one star */
    CHECK(m.n == 1 && m.bodies[0].mass == 1 && m.bodies[0].position[0] == 0);
    sim_model_free(&m);
    d.share[SIM_GALAXY_DISC] = 0;
    CHECK(sim_galaxy_new(&d, &m) == SIM_BAD_ARGUMENT);
}

/* --- files ----------------------------------------------------------------------------
 */

static char folder[64] = "/tmp/test_model_XXXXXX", file_path[128];

static const char *write_file(const char *name, const void *bytes, size_t size)
{
    snprintf(file_path, sizeof file_path, "%s/%s", folder, name);
    FILE *file = fopen(file_path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
        printf("cannot write %s\n", file_path);
    return file_path;
}

static void csv_fails(const char *text, const char *phrase)
{
    struct sim_model m;
    const char *path = write_file("bad.csv", text, strlen(text));
    CHECK(sim_rows_read(path, 1, &m) == SIM_FILE);
    if (!CHECK(strstr(sim_error_text(), phrase) != NULL))
        printf("     '%s' lacks '%s'\n", sim_error_text(), phrase);
    unlink(path);
}

static void test_csv(void)
{
    static const char text[] =
        "# two bodies\r\nm, y,x ,vz\r\n\r\n2,1e1,-3,.5\r\n# more\n3,4,5,6";
    struct sim_model m;
    const char *path = write_file("good.csv", text, strlen(text));
    CHECK_OK(sim_rows_read(path, 1, &m));
    CHECK(m.n == 2);
    CHECK(m.bodies[0].position[0] == -3 && m.bodies[0].position[1] == 10 &&
          m.bodies[0].velocity[2] == 0.5 && m.bodies[0].mass == 2);
    CHECK(m.bodies[1].mass == 3 && m.bodies[1].position[0] == 5 &&
          m.bodies[1].velocity[2] == 6 && m.bodies[1].velocity[0] == 0);
    sim_model_free(&m);
    unlink(path);
    path = write_file("tab.csv", "x\ty\n1\t2\n", 8);
    CHECK_OK(sim_rows_read(path, 7, &m));
    CHECK(m.n == 1 && m.bodies[0].mass == 7 && m.bodies[0].position[1] == 2);
    sim_model_free(&m);
    unlink(path);
    csv_fails("", "empty");
    csv_fails("x,y\n", "no rows");
    csv_fails("x,vy\n1,2\n", "x and y");
    csv_fails("x,y,speed\n1,2,3\n", ":1: unknown column 'speed'");
    csv_fails("x,y,x\n1,2,3\n", "twice");
    csv_fails("x,y\n1,2\n3\n", ":3: 1 cells");
    csv_fails("x,y\n1,2,3\n", ":2: more cells");
    csv_fails("x,y\n1,two\n", "'two' is not a number (column y)");
    csv_fails("x,y\n1,\n", "not a number");
    csv_fails("x,y\n1,nan\n", "y is nan");
    CHECK(sim_rows_read("/nonexistent/a.csv", 1, &m) == SIM_FILE);
    CHECK(sim_rows_read("bodies.txt", 1, &m) == SIM_FILE);
}

/* A .npy file with this header, version and number of data bytes. */
static const char *write_npy(const char *header, int version, const void *data,
                             size_t size)
{
    static char bytes[1024];
    size_t length = strlen(header), start = version == 1 ? 10 : 12;
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (char)version;
    bytes[7] = 0;
    memset(bytes + 8, 0, 4);
    bytes[8] = (char)length;
    memcpy(bytes + start, header, length);
    memcpy(bytes + start + length, data, size);
    return write_file("a.npy", bytes, start + length + size);
}

static void npy_fails(const char *header, size_t size, const char *phrase)
{
    static const char data[256];
    struct sim_model m;
    const char *path = write_npy(header, 1, data, size);
    CHECK(sim_rows_read(path, 1, &m) == SIM_FILE);
    if (!CHECK(strstr(sim_error_text(), phrase) != NULL))
        printf("     '%s' lacks '%s'\n", sim_error_text(), phrase);
}

#define NPY(type, order, shape) \
    "{'descr': '" type "', 'fortran_order': " order ", 'shape': " shape ", }\n"

static void test_npy(void)
{
    float narrow[14];
    double wide[7];
    struct sim_model m;
    for (int i = 0; i < 14; i++)
        narrow[i] = (float)i + 0.5f;
    for (int i = 0; i < 7; i++)
        wide[i] = i / 3.0;
    CHECK_OK(sim_rows_read(
        write_npy(NPY("<f4", "False", "(2, 7)"), 1, narrow, sizeof narrow), 1, &m));
    CHECK(m.n == 2 && m.bodies[1].position[0] == 7.5 && m.bodies[1].mass == 13.5 &&
          m.bodies[0].velocity[1] == 4.5);
    sim_model_free(&m);
    CHECK_OK(sim_rows_read(write_npy(NPY("<f8", "False", "(1, 7)"), 2, wide, sizeof wide),
                           1, &m));
    CHECK(m.n == 1 && m.bodies[0].position[1] == 1 / 3.0 && m.bodies[0].mass == 2.0);
    sim_model_free(&m);
    wide[3] = NAN;
    CHECK(sim_rows_read(write_npy(NPY("<f8", "False", "(1, 7)"), 1, wide, sizeof wide), 1,
                        &m) == SIM_FILE);
    npy_fails(NPY("<i8", "False", "(1, 7)"), 56, "type");
    npy_fails(NPY(">f8", "False", "(1, 7)"), 56, "type");
    npy_fails(NPY("<f8", "True", "(1, 7)"), 56, "Fortran");
    npy_fails(NPY("<f8", "False", "(1, 6)"), 48, "(n, 7)");
    npy_fails(NPY("<f8", "False", "(7,)"), 56, "two dimensions");
    npy_fails(NPY("<f8", "False", "(0, 7)"), 0, "two dimensions");
    npy_fails(NPY("<f8", "False", "(2, 7)"), 56, "cut short");
    npy_fails("{'descr': '<f8'}", 56, "damaged");
    unlink(write_file("a.npy", "short", 5));
}

/* --- encounters -----------------------------------------------------------------------
 */

static void check_orbit(double e, double separation, double time)
{
    struct sim_orbit_desc d = {.m1 = 1,
                               .m2 = 3,
                               .G = 2,
                               .pericentre = 0.7,
                               .separation = separation,
                               .eccentricity = e,
                               .angle = 25};
    struct sim_orbit o;
    double r[3], v[3], r2 = 0, v2 = 0, rv = 0;
    CHECK_OK(sim_orbit_encounter(&d, &o));
    for (int k = 0; k < 3; k++) {
        r[k] = o.position[1][k] - o.position[0][k];
        v[k] = o.velocity[1][k] - o.velocity[0][k];
        r2 += r[k] * r[k];
        v2 += v[k] * v[k];
        rv += r[k] * v[k];
        CHECK_NEAR(o.position[0][k] + 3 * o.position[1][k], 0, 1e-14);
        CHECK_NEAR(o.velocity[0][k] + 3 * o.velocity[1][k], 0, 1e-14);
    }
    double GM = 8, h = r[0] * v[1] - r[1] * v[0];
    CHECK_NEAR(sqrt(r2) / separation, 1, 1e-14);
    CHECK_NEAR(v2 / 2 - GM / sqrt(r2), GM * (e - 1) / (2 * 0.7), 1e-13);
    CHECK_NEAR(h, sqrt(GM * 0.7 * (1 + e)), 1e-13);
    CHECK(rv <= 1e-14); /* inward */
    /* the eccentricity vector points at pericentre, 25 degrees from the x axis */
    double ex = v[1] * h / GM - r[0] / sqrt(r2), ey = -v[0] * h / GM - r[1] / sqrt(r2);
    if (e > 0)
        CHECK_NEAR(atan2(ey, ex), 25 * M_PI / 180, 1e-7);
    CHECK_NEAR(o.time / time, 1, 1e-8);
}

static void test_orbit(void)
{
    struct sim_orbit_desc d = {
        .m1 = 1, .m2 = 1, .G = 1, .pericentre = 2, .separation = 1, .eccentricity = 1};
    struct sim_orbit o;
    /* The times are those of dt = dr / sqrt(2 (E + GM/r) - h^2/r^2), with r = q + s^2. */
    for (int k = 0; k < 3; k++) {
        double e = (double[]){0.5, 1, 1.6}[k], q = 0.7, end = (double[]){1.9, 6, 6}[k];
        double GM = 8, h2 = GM * q * (1 + e), E = GM * (e - 1) / (2 * q), sum = 0;
        int steps = 20000;
        double S = sqrt(end - q);
        for (int i = 0; i < steps; i++) {
            double s = S * (i + 0.5) / steps, r = q + s * s;
            sum += 2 * s / sqrt(2 * (E + GM / r) - h2 / (r * r)) * S / steps;
        }
        check_orbit(e, end, sum);
    }
    check_orbit(0.5, 2.1,
                M_PI * sqrt(1.4 * 1.4 * 1.4 / 8)); /* from apocentre: half a turn */
    CHECK(sim_orbit_encounter(&d, &o) == SIM_BAD_ARGUMENT);
    d.separation = 7;
    d.eccentricity = 0.5;
    CHECK(sim_orbit_encounter(&d, &o) == SIM_BAD_ARGUMENT);
}

int main(void)
{
    if (!mkdtemp(folder))
        printf("cannot make a folder for files\n");
    test_philox();
    test_moments();
    test_even();
    test_place();
    test_groups();
    test_plummer();
    test_plummer_exact();
    test_eddington();
    test_hernquist();
    test_draw();
    test_uniform();
    test_rotation();
    test_disc_limits();
    test_disc();
    test_disc_moments();
    test_galaxy();
    test_galaxy_keys();
    test_galaxy_counts();
    test_csv();
    test_npy();
    test_orbit();
    rmdir(folder);
    return check_report();
}
