/* test_nbody_physics.c - orbits, conservation and collapse against known values
 * (tests/reference/nbody.md), on every device. Which kicks and drifts make a step is
 * data, so Yoshida's fourth-order scheme and drift-kick-drift are tried as well as
 * kick-drift-kick. */
#include "nbody_system.h"

#define PI 3.14159265358979323846
#define W1 1.351207191959657634
#define W0 (-1.702414383919315268)

static const struct sim_stage dkd[] = {
    {SIM_DRIFT, 0.5}, {SIM_FORCE, 0}, {SIM_KICK, 1}, {SIM_DRIFT, 0.5}};
static const struct sim_stage yoshida[] = {
    {SIM_KICK, W1 / 2},        {SIM_DRIFT, W1}, {SIM_FORCE, 0},
    {SIM_KICK, (W1 + W0) / 2}, {SIM_DRIFT, W0}, {SIM_FORCE, 0},
    {SIM_KICK, (W0 + W1) / 2}, {SIM_DRIFT, W1}, {SIM_FORCE, 0},
    {SIM_KICK, W1 / 2}};

struct scheme {
    const struct sim_stage *stages;
    int count;
};

static const struct scheme KDK = {kdk, 4}, DKD = {dkd, 4}, YOSHIDA = {yoshida, 10};

static void step(struct system *s, struct scheme by, int64_t count)
{
    must(s->ops->advance(&s->nbody, by.stages, by.count, count));
}

static double distance(struct body4 a, struct body4 b)
{
    return sqrt((a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y) +
                (a.z - b.z) * (a.z - b.z));
}

/* --- two bodies ------------------------------------------------------------------------
 */

/* A massless body about a unit mass at rest, at pericentre. */
static struct system make_orbit(struct sim_device *device, bool is_double, double e,
                                int n)
{
    const struct body4 x[2] = {{0, 0, 0, 1}, {1 - e, 0, 0, 0}};
    const struct body4 v[2] = {{0}, {0, sqrt((1 + e) / (1 - e)), 0, 0}};
    struct system s = make_system(device, is_double, 2, x, v);
    s.nbody.eps = 0;
    s.nbody.dt = 2 * PI / n;
    find_force(&s);
    return s;
}

static double orbit_energy(const struct system *s)
{
    struct body4 *x = read_bodies(s, &s->position), *v = read_bodies(s, &s->velocity);
    const double speed = distance(v[1], v[0]),
                 energy = speed * speed / 2 - 1 / distance(x[1], x[0]);
    free(x);
    free(v);
    return energy;
}

static double return_error(struct sim_device *device, bool is_double, struct scheme by,
                           double e, int n)
{
    struct system s = make_orbit(device, is_double, e, n);
    step(&s, by, n);
    struct body4 *x = read_bodies(&s, &s.position);
    double error = distance(x[1], (struct body4){1 - e, 0, 0, 0});
    free(x);
    free_system(&s);
    return error;
}

static double energy_error(struct sim_device *device, bool is_double, struct scheme by,
                           double e, int n)
{
    struct system s = make_orbit(device, is_double, e, n);
    double worst = 0;
    for (int k = 0; k < 10 * n; k++) {
        step(&s, by, 1);
        worst = fmax(worst, fabs(orbit_energy(&s) / -0.5 - 1));
    }
    free_system(&s);
    return worst;
}

/* Negative: not compared. Two-digit values of the table cannot be met closer than 5 %. */
struct orbit {
    const struct scheme *by;
    double e;
    int n;
    double position, energy;
};

static const struct orbit orbits[] = {
    {&KDK, 0, 100, 8.256e-3, 3.87e-6},       {&KDK, 0, 200, 2.066e-3, 2.43e-7},
    {&KDK, 0, 1000, 8.268e-5, 3.9e-10},      {&KDK, 0.5, 100, 0.1805, 1.084e-2},
    {&KDK, 0.5, 200, 4.450e-2, 2.689e-3},    {&KDK, 0.5, 1000, 1.770e-3, 1.073e-4},
    {&KDK, 0.9, 1000, 1.379, 9.99e-2},       {&KDK, 0.9, 2000, 0.560, 2.47e-2},
    {&DKD, 0.5, 200, 1.197e-2, 6.32e-4},     {&DKD, 0.9, 1000, 0.116, 1.31e-2},
    {&YOSHIDA, 0, 100, 9.08e-5, -1},         {&YOSHIDA, 0.5, 200, 3.31e-4, 2.02e-5},
    {&YOSHIDA, 0.5, 1000, 5.34e-7, 3.26e-8},
};

static void check_orbit(struct sim_device *device, bool is_double, const struct orbit *o)
{
    double have = return_error(device, is_double, *o->by, o->e, o->n);
    CHECK_NEAR(have / o->position, 1, 0.05);
    if (o->energy < 0)
        return;
    have = energy_error(device, is_double, *o->by, o->e, o->n);
    CHECK_NEAR(have / o->energy, 1, 0.05);
}

/* Single precision shows the scheme's error only where that is far above rounding. */
static void test_orbits(struct sim_device *device, bool is_double)
{
    for (size_t k = 0; k < sizeof orbits / sizeof *orbits; k++)
        if (is_double)
            check_orbit(device, true, &orbits[k]);
        else if (orbits[k].position > 5e-3 && orbits[k].e < 0.9 &&
                 orbits[k].energy > 1e-4)
            check_orbit(device, false, &orbits[k]);
}

static void test_order(struct sim_device *device, bool is_double)
{
    const int n = is_double ? 400 : 100;
    const double coarse = return_error(device, is_double, KDK, 0.3, n),
                 fine = return_error(device, is_double, KDK, 0.3, 2 * n);
    CHECK_NEAR(coarse / fine, 4, 0.1);
    if (!is_double) /* 20,000 steps: rounding, not the scheme */
        CHECK(return_error(device, false, KDK, 0.3, 20000) < 1e-3);
}

/* --- three bodies ----------------------------------------------------------------------
 */

/* The largest coordinate of the way from the start, after the period in `steps` steps. */
static double figure_eight(struct sim_device *device, bool is_double, double vx,
                           double vy, double period, struct scheme by, int steps)
{
    const struct body4 x[3] = {
        {0.97000436, -0.24308753, 0, 1}, {-0.97000436, 0.24308753, 0, 1}, {0, 0, 0, 1}};
    const struct body4 v[3] = {
        {-vx / 2, -vy / 2, 0, 0}, {-vx / 2, -vy / 2, 0, 0}, {vx, vy, 0, 0}};
    struct system s = make_system(device, is_double, 3, x, v);
    double worst = 0;
    s.nbody.eps = 0;
    s.nbody.dt = period / steps;
    find_force(&s);
    step(&s, by, steps);
    struct body4 *end = read_bodies(&s, &s.position);
    for (int i = 0; i < 3; i++)
        worst = fmax(worst, fmax(fabs(end[i].x - x[i].x), fabs(end[i].y - x[i].y)));
    free(end);
    free_system(&s);
    return worst;
}

static void test_figure_eight(struct sim_device *device, bool is_double)
{
    const double vx = -0.932407368139078707, vy = -0.864731461834953700,
                 T = 6.325914009782138550;
    if (!is_double) {
        CHECK(figure_eight(device, false, vx, vy, T, KDK, 4000) < 1e-4);
        return;
    }
    CHECK(figure_eight(device, true, vx, vy, T, YOSHIDA, 10000) < 1e-10);
    CHECK_NEAR(
        figure_eight(device, true, -0.93240737, -0.86473146, 6.32591398, YOSHIDA, 10000),
        3.0e-8, 0.15e-8);
    CHECK_NEAR(figure_eight(device, true, vx, vy, T, KDK, 1000) /
                   figure_eight(device, true, vx, vy, T, KDK, 2000),
               4, 0.1);
}

/* The three bodies go round as one body about its centre would: 82.68/n^2 of the radius.
 */
static void test_triangle(struct sim_device *device, bool is_double)
{
    const double r = 1 / sqrt(3.0), speed = r * sqrt(3.0);
    const int n = is_double ? 1000 : 200;
    struct body4 x[3], v[3];
    for (int i = 0; i < 3; i++) {
        double angle = 2 * PI * i / 3;
        x[i] = (struct body4){r * cos(angle), r * sin(angle), 0, 1};
        v[i] = (struct body4){-speed * sin(angle), speed * cos(angle), 0, 0};
    }
    struct system s = make_system(device, is_double, 3, x, v);
    s.nbody.eps = 0;
    s.nbody.dt = 3.627598728468 / n;
    find_force(&s);
    take(&s, n);
    struct body4 *end = read_bodies(&s, &s.position);
    for (int i = 0; i < 3; i++)
        CHECK_NEAR(distance(end[i], x[i]) / (r * 82.68 / n / n), 1, 0.05);
    free(end);
    free_system(&s);
}

/* --- many bodies -----------------------------------------------------------------------
 */

/* A uniform sphere, G = M = R = 1. */
static struct system make_sphere(struct sim_device *device, bool is_double, int64_t n,
                                 double speed, uint64_t seed)
{
    struct body4 *x = room((size_t)n, sizeof *x), *v = room((size_t)n, sizeof *v);
    for (int64_t i = 0; i < n; i++) {
        do
            x[i] = (struct body4){2 * uniform(&seed) - 1, 2 * uniform(&seed) - 1,
                                  2 * uniform(&seed) - 1, 1.0 / (double)n};
        while (distance(x[i], (struct body4){0}) > 1);
        v[i] =
            (struct body4){speed * (uniform(&seed) - 0.5), speed * (uniform(&seed) - 0.5),
                           speed * (uniform(&seed) - 0.5), 0};
    }
    struct system s = make_system(device, is_double, n, x, v);
    free(x);
    free(v);
    return s;
}

static void test_collapse(struct sim_device *device, bool is_double)
{
    static const double times[] = {0.4396440332, 0.6764264627, 0.9089137579,
                                   1.0466667075};
    static const double radius[] = {0.9, 0.75, 0.5, 0.25};
    const double fractions[] = {0.25, 0.5, 0.75}, origin[3] = {0};
    double start[3], now[3], t = 0;
    const int64_t n = getenv("SIMLUA_SMALL") ? 512 : 2048;
    struct system s = make_sphere(device, is_double, n, 0, 5);
    s.nbody.eps = 0.02;
    find_force(&s);
    must(s.ops->radii(&s.nbody, SIM_ALL_GROUPS, origin, fractions, 3, start));
    for (int k = 0; k < (n == 512 ? 3 : 4); k++) {
        s.nbody.dt = (times[k] - t) / 40;
        take(&s, 40);
        t = times[k];
        must(s.ops->radii(&s.nbody, SIM_ALL_GROUPS, origin, fractions, 3, now));
        for (int f = 0; f < 3; f++) /* a mass shell feels its own mass's sampling noise */
            CHECK_NEAR(now[f] / start[f], radius[k],
                       n == 512 ? 0.06
                       : k < 3  ? 0.03
                                : 0.04);
    }
    free_system(&s);
}

static void test_conservation(struct sim_device *device, bool is_double)
{
    const double limit = is_double ? 1e-15 : 3e-7;
    struct system s = make_sphere(device, is_double, 257, 0.6, 9);
    struct sim_nbody_sums before, after;
    double w_before, w_after;
    s.nbody.dt = 0.005;
    find_force(&s);
    must(s.ops->sums(&s.nbody, SIM_ALL_GROUPS, &before));
    must(s.ops->potential(&s.nbody, &w_before));
    take(&s, 200);
    must(s.ops->sums(&s.nbody, SIM_ALL_GROUPS, &after));
    must(s.ops->potential(&s.nbody, &w_after));
    for (int k = 0; k < 3; k++) {
        CHECK_NEAR(after.momentum[k], before.momentum[k], limit);
        CHECK_NEAR(after.angular_momentum[k], before.angular_momentum[k], limit);
        CHECK_NEAR(after.centre[k], before.centre[k] + before.momentum[k], 2 * limit);
    }
    CHECK_NEAR(after.kinetic + w_after, before.kinetic + w_before, 2e-5);
    CHECK(fabs(after.kinetic - before.kinetic) > 1e-2);
    if (getenv("SIMLUA_VERBOSE"))
        printf(
            "%s: momentum to %.2g %.2g %.2g, angular momentum to %.2g, energy to %.2g\n",
            s.ops->name, after.momentum[0] - before.momentum[0],
            after.momentum[1] - before.momentum[1],
            after.momentum[2] - before.momentum[2],
            after.angular_momentum[2] - before.angular_momentum[2],
            after.kinetic + w_after - before.kinetic - w_before);
    free_system(&s);
}

/* Forward and back: the scheme is symmetric in time, so only rounding, grown by the
 * system's own instability, remains. */
static void test_reversal(struct sim_device *device, bool is_double)
{
    struct system s = make_sphere(device, is_double, 100, 0.6, 11);
    struct body4 *x = read_bodies(&s, &s.position);
    double worst = 0, moved = 0;
    s.nbody.dt = 0.01;
    find_force(&s);
    take(&s, 150);
    struct body4 *far = read_bodies(&s, &s.position);
    s.nbody.dt = -0.01;
    take(&s, 150);
    struct body4 *back = read_bodies(&s, &s.position);
    for (int i = 0; i < 100; i++) {
        worst = fmax(worst, distance(back[i], x[i]));
        moved = fmax(moved, distance(far[i], x[i]));
    }
    CHECK_NEAR(worst, 0, is_double ? 1e-13 : 1e-4);
    CHECK(moved > 0.5);
    if (getenv("SIMLUA_VERBOSE"))
        printf("%s: reversal to %.3g\n", s.ops->name, worst);
    free(x);
    free(far);
    free(back);
    free_system(&s);
}

int main(void)
{
    on_every_device(test_orbits);
    on_every_device(test_order);
    on_every_device(test_figure_eight);
    on_every_device(test_triangle);
    on_every_device(test_collapse);
    on_every_device(test_conservation);
    on_every_device(test_reversal);
    return check_report();
}
