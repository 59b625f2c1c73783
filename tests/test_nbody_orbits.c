/* test_nbody_orbits.c - every integrator against the table of Kepler orbits, the
 * figure-eight and the Pythagorean problem (tests/reference/nbody.md). On every device.
 */
#include "nbody_scene.h"

#define PI 3.14159265358979323846

/* --- Kepler orbits ---------------------------------------------------------------------
 */

struct row {
    enum sim_scheme scheme;
    int corrections;
    double e;
    int n;
    double position, energy; /* after one period; at most in ten, < 0: not compared */
};

/* All of the table but what is rounding alone. */
static const struct row table[] = {
    {SIM_LEAPFROG, 1, 0, 100, 8.256e-3, 3.87e-6},
    {SIM_LEAPFROG, 1, 0, 200, 2.066e-3, 2.43e-7},
    {SIM_LEAPFROG, 1, 0, 1000, 8.268e-5, 3.9e-10},
    {SIM_LEAPFROG, 1, 0.5, 100, 0.1805, 1.084e-2},
    {SIM_LEAPFROG, 1, 0.5, 200, 4.450e-2, 2.689e-3},
    {SIM_LEAPFROG, 1, 0.5, 1000, 1.770e-3, 1.073e-4},
    {SIM_LEAPFROG, 1, 0.9, 1000, 1.379, 9.99e-2},
    {SIM_LEAPFROG, 1, 0.9, 2000, 0.560, 2.47e-2},
    {SIM_DKD, 1, 0, 100, 8.247e-3, 9.69e-7},
    {SIM_DKD, 1, 0, 200, 2.066e-3, 6.1e-8},
    {SIM_DKD, 1, 0, 1000, 8.268e-5, 1e-10},
    {SIM_DKD, 1, 0.5, 100, 4.747e-2, 2.50e-3},
    {SIM_DKD, 1, 0.5, 200, 1.197e-2, 6.32e-4},
    {SIM_DKD, 1, 0.5, 1000, 4.801e-4, 2.53e-5},
    {SIM_DKD, 1, 0.9, 1000, 0.116, 1.31e-2},
    {SIM_DKD, 1, 0.9, 2000, 3.3e-2, 3.2e-3},
    {SIM_YOSHIDA4, 1, 0, 100, 9.08e-5, 2.6e-10},
    {SIM_YOSHIDA4, 1, 0, 200, 5.67e-6, 1e-12},
    {SIM_YOSHIDA4, 1, 0, 1000, 9.07e-9, -1},
    {SIM_YOSHIDA4, 1, 0.5, 100, 5.15e-3, 3.13e-4},
    {SIM_YOSHIDA4, 1, 0.5, 200, 3.31e-4, 2.02e-5},
    {SIM_YOSHIDA4, 1, 0.5, 1000, 5.34e-7, 3.26e-8},
    {SIM_YOSHIDA4, 1, 0.9, 1000, 8.5e-2, 2.2e-3},
    {SIM_YOSHIDA4, 1, 0.9, 2000, 6.1e-3, 1.5e-4},
    {SIM_HERMITE4, 1, 0, 100, 2.39e-6, 4.2e-7},
    {SIM_HERMITE4, 1, 0, 200, 1.55e-7, 1.3e-8},
    {SIM_HERMITE4, 1, 0, 1000, 2.56e-10, 4e-12},
    {SIM_HERMITE4, 1, 0.5, 100, 1.59e-3, 1.0e-4},
    {SIM_HERMITE4, 1, 0.5, 200, 1.02e-4, 6.4e-6},
    {SIM_HERMITE4, 1, 0.5, 1000, 1.67e-7, 1.0e-8},
    {SIM_HERMITE4, 1, 0.9, 1000, 5.1e-2, 1.9e-3},
    {SIM_HERMITE4, 1, 0.9, 2000, 3.4e-3, 8.7e-5},
    {SIM_HERMITE4, 3, 0, 100, 1.36e-7, 9e-14},
    {SIM_HERMITE4, 3, 0, 200, 8.5e-9, -1},
    {SIM_HERMITE4, 3, 0, 1000, 1.4e-11, -1},
    {SIM_HERMITE4, 3, 0.5, 100, 1.34e-3, 8.7e-5},
    {SIM_HERMITE4, 3, 0.5, 200, 8.34e-5, 5.4e-6},
    {SIM_HERMITE4, 3, 0.5, 1000, 1.33e-7, 8.7e-9},
    {SIM_HERMITE4, 3, 0.9, 1000, 4.7e-2, 1.3e-3},
    {SIM_HERMITE4, 3, 0.9, 2000, 3.0e-3, 8.1e-5},
};

static void check_row(struct sim_device *device, const struct row *r, bool mixed)
{
    const struct sim_body start[2] = {
        {.mass = 1},
        {.position = {1 - r->e}, .velocity = {0, sqrt((1 + r->e) / (1 - r->e))}}};
    struct sim_bodies b = make(device,
                               (struct sim_bodies_desc){.dt = 2 * PI / r->n,
                                                        .scheme = r->scheme,
                                                        .corrections = r->corrections,
                                                        .is_double = true,
                                                        .mixed = mixed},
                               2, start);
    struct sim_model now;
    double worst = 0;
    for (int k = 1; k <= 10 * r->n; k++) {
        must(sim_bodies_step(&b, 1));
        if (r->energy < 0 && k > r->n)
            break;
        must(sim_bodies_read(&b, &now));
        const double *x = now.bodies[1].position, *v = now.bodies[1].velocity;
        const double energy =
            (v[0] * v[0] + v[1] * v[1]) / 2 - 1 / sqrt(x[0] * x[0] + x[1] * x[1]);
        worst = fmax(worst, fabs(energy / -0.5 - 1));
        if (k == r->n && !CHECK_NEAR(apart(x, start[1].position) / r->position, 1, 0.05))
            printf("     scheme %d, e %g, n %d\n", r->scheme, r->e, r->n);
        sim_model_free(&now);
    }
    if (r->energy > 0 && !CHECK_NEAR(worst / r->energy, 1, 0.08))
        printf("     scheme %d, e %g, n %d\n", r->scheme, r->e, r->n);
    sim_bodies_free(&b);
}

/* Mixed precision shows the scheme's error where that is far above a pair's rounding. */
static void test_kepler(struct sim_device *device, bool is_double)
{
    for (size_t k = 0; is_double && k < sizeof table / sizeof *table; k++) {
        const struct row *r = &table[k];
        if (small() && r->n >= 1000)
            continue;
        check_row(device, r, false);
        if (r->scheme != SIM_HERMITE4 && r->energy > 1e-4 && r->n <= 200)
            check_row(device, r, true);
    }
}

/* Where ten periods leave the energy: symplectic schemes are back, Hermite's with one
 * correction has gained all the way. */
static double energy_left(struct sim_device *device, enum sim_scheme scheme)
{
    const struct sim_body start[2] = {{.mass = 1}, {.position = {1}, .velocity = {0, 1}}};
    struct sim_bodies b = make(
        device,
        (struct sim_bodies_desc){.dt = 2 * PI / 100, .scheme = scheme, .is_double = true},
        2, start);
    struct sim_model now;
    must(sim_bodies_step(&b, 1000));
    must(sim_bodies_read(&b, &now));
    const double *x = now.bodies[1].position, *v = now.bodies[1].velocity;
    const double energy =
        (v[0] * v[0] + v[1] * v[1]) / 2 - 1 / sqrt(x[0] * x[0] + x[1] * x[1]);
    sim_model_free(&now);
    sim_bodies_free(&b);
    return energy + 0.5;
}

static void test_signatures(struct sim_device *device, bool is_double)
{
    if (!is_double)
        return;
    CHECK_NEAR(fabs(energy_left(device, SIM_LEAPFROG)) / 0.5, 4e-10, 0.5e-10);
    CHECK_NEAR(energy_left(device, SIM_DKD), 0, 2e-10);
    CHECK_NEAR(energy_left(device, SIM_YOSHIDA4), 0, 1e-13);
    CHECK_NEAR(energy_left(device, SIM_HERMITE4) / 0.5, 4.2e-7, 0.05e-7);
}

/* --- three bodies ----------------------------------------------------------------------
 */

#define EIGHT_PERIOD 6.325914009782138550

/* Two at +-x with half of the third's speed, which begins in the middle. */
static void eight(double x, double y, double vx, double vy, struct sim_body out[3])
{
    const struct sim_body start[3] = {{{x, y, 0}, {-vx / 2, -vy / 2, 0}, 1, 0},
                                      {{-x, -y, 0}, {-vx / 2, -vy / 2, 0}, 1, 0},
                                      {{0}, {vx, vy, 0}, 1, 0}};
    memcpy(out, start, sizeof start);
}

static void refined_eight(struct sim_body out[3])
{
    eight(0.97000436, -0.24308753, -0.932407368139078707, -0.8647314618349537, out);
}

static double worst_way(struct sim_bodies *b, const struct sim_body *from, int64_t n)
{
    struct sim_model now;
    double worst = 0;
    must(sim_bodies_read(b, &now));
    for (int64_t i = 0; i < n; i++)
        worst = fmax(worst, apart(now.bodies[i].position, from[i].position));
    sim_model_free(&now);
    return worst;
}

static const struct scheme {
    struct sim_bodies_desc desc;
    int steps;    /* a period */
    double error; /* of the return at most, of the refined orbit */
} schemes[] = {
    {{.scheme = SIM_LEAPFROG}, 40000, 1.5e-7},
    {{.scheme = SIM_DKD}, 40000, 2.5e-7},
    {{.scheme = SIM_YOSHIDA4}, 20000, 5e-12},
    {{.scheme = SIM_HERMITE4, .corrections = 1}, 10000, 2e-12},
    {{.scheme = SIM_HERMITE4, .corrections = 3}, 5000, 1e-11},
    {{.scheme = SIM_HERMITE4, .corrections = 3, .eta = 1e-7}, 1000, 2e-12},
};

static struct sim_bodies make_eight(struct sim_device *device, const struct scheme *by,
                                    double period, const struct sim_body start[3])
{
    struct sim_bodies_desc desc = by->desc;
    desc.dt = period / by->steps;
    desc.is_double = true;
    return make(device, desc, 3, start);
}

/* Where they are: T / 12 (to nine digits of one of them), T / 3 (each at the next one's
 * start), T. */
static void check_eight(struct sim_device *device, const struct scheme *by)
{
    struct sim_body start[3], turned[3];
    struct sim_model now;
    refined_eight(start);
    struct sim_bodies b = make_eight(device, by, EIGHT_PERIOD, start);
    const double error = fmax(by->error, 1e-11);
    must(sim_bodies_advance(&b, EIGHT_PERIOD / 12));
    CHECK_NEAR(sim_bodies_time(&b), EIGHT_PERIOD / 12, 1e-15);
    must(sim_bodies_read(&b, &now));
    CHECK_NEAR(now.bodies[0].position[0], 1.081017086044, error);
    CHECK_NEAR(now.bodies[0].position[1], 0.000000002478, error);
    CHECK_NEAR(now.bodies[1].position[0], -0.540508543813, error);
    CHECK_NEAR(fabs(now.bodies[1].position[1]), 0.345263, 1e-6);
    sim_model_free(&now);
    must(sim_bodies_advance(&b, EIGHT_PERIOD / 3));
    for (int i = 0; i < 3; i++) /* 1 in the middle, 2 at 1's start, 3 at 2's */
        turned[i] = start[(i + 2) % 3];
    CHECK_NEAR(worst_way(&b, turned, 3), 0, fmax(by->error, 1e-8)); /* 8-digit start */
    must(sim_bodies_advance(&b, EIGHT_PERIOD));
    CHECK_NEAR(sim_bodies_time(&b), EIGHT_PERIOD, 1e-14);
    if (!CHECK_NEAR(worst_way(&b, start, 3), 0, by->error) || getenv("SIMLUA_VERBOSE"))
        printf("     scheme %d: returns to %.3g\n", (int)by->desc.scheme,
               worst_way(&b, start, 3));
    CHECK_NEAR(total_energy(&b), -1.287141991988917330, by->error * 10);
    sim_bodies_free(&b);
}

/* The start of eight digits is a little off the orbit: what it returns to is the start's
 * own, not the scheme's. */
static void check_eight_digits(struct sim_device *device, const struct scheme *by)
{
    static const struct sim_body at_one[3] = {
        {.position = {0.99358291994098, 0.21920494711470}},
        {.position = {-0.05073428527495, 0.04686124668596}},
        {.position = {-0.94284863466603, -0.26606619380065}}};
    struct sim_body start[3];
    struct sim_model now;
    double worst[2] = {0};
    eight(0.97000436, -0.24308753, -0.93240737, -0.86473146, start);
    struct sim_bodies b = make_eight(device, by, 6.32591398, start);
    CHECK_NEAR(total_energy(&b), -1.287141991766326, 1e-14);
    must(sim_bodies_advance(&b, 1));
    CHECK_NEAR(worst_way(&b, at_one, 3), 0, 1e-11);
    for (int far = 0; far < (device->kind == SIM_CUDA || small() ? 1 : 2); far++) {
        must(sim_bodies_advance(&b, 6.32591398 * (far ? 10 : 1)));
        must(sim_bodies_read(&b, &now));
        for (int i = 0; i < 6; i++)
            worst[far] = fmax(worst[far], fabs(now.bodies[i / 2].position[i % 2] -
                                               start[i / 2].position[i % 2]));
        sim_model_free(&now);
    }
    CHECK_NEAR(worst[0], 3.0e-8, 0.1e-8);
    CHECK(worst[1] == 0 || fabs(worst[1] - 2.9e-7) < 0.1e-7);
    sim_bodies_free(&b);
}

/* Suvakov's scaling of the same orbit. */
static void check_eight_scaled(struct sim_device *device, const struct scheme *by)
{
    const double px = 0.347116888118926938, py = 0.532724945388030229,
                 period = 6.325913982926211678;
    struct sim_body start[3];
    eight(-1, 0, -2 * px, -2 * py, start);
    struct sim_bodies b = make_eight(device, by, period, start);
    CHECK_NEAR(period * pow(fabs(total_energy(&b)), 1.5), 9.237681250724550, 1e-13);
    must(sim_bodies_advance(&b, period));
    CHECK_NEAR(worst_way(&b, start, 3), 0, 10 * by->error);
    sim_bodies_free(&b);
}

static void test_eight(struct sim_device *device, bool is_double)
{
    const bool slow = small() && device->kind == SIM_CUDA; /* a hundredfold */
    for (size_t k = slow ? 5 : 0; is_double && k < sizeof schemes / sizeof *schemes; k++)
        check_eight(device, &schemes[k]);
    for (size_t k = 2; is_double && !slow && k < 4; k++) {
        check_eight_digits(device, &schemes[k]);
        check_eight_scaled(device, &schemes[k]);
    }
}

/* Three masses at rest in the corners of a triangle of 3, 4 and 5 (Burrau 1913). */
static struct sim_bodies make_pythagorean(struct sim_device *device)
{
    static const struct sim_body start[3] = {
        {{1, 3, 0}, {0}, 3, 0}, {{-2, -1, 0}, {0}, 4, 0}, {{1, -1, 0}, {0}, 5, 0}};
    return make(device,
                (struct sim_bodies_desc){.dt = 0.01,
                                         .scheme = SIM_HERMITE4,
                                         .corrections = 3,
                                         .is_double = true,
                                         .eta = 3e-5},
                3, start);
}

static void test_pythagorean(struct sim_device *device, bool is_double)
{
    static const double times[] = {10, 20, 30, 40, 50};
    static const struct sim_body want[5][3] = {
        {{{0.7784804101381, 0.1413923002901, 0}, {0}, 0, 0},
         {{-2.0250924779782, 0.0972193841461, 0}, {0}, 0, 0},
         {{1.1529857362997, -0.1626108874909, 0}, {0}, 0, 0}},
        {{{3.0042926366964, 0.5119252350247, 0}, {0}, 0, 0},
         {{-1.3886265375109, -0.4704760502527, 0}, {0}, 0, 0},
         {{-0.6916743520091, 0.0692256991874, 0}, {0}, 0, 0}},
        {{{0.8563404988973, 2.2870936636962, 0}, {0}, 0, 0},
         {{-0.8779838790318, -0.8659638277157, 0}, {0}, 0, 0},
         {{0.1885828038871, -0.6794851360452, 0}, {0}, 0, 0}},
        {{{-0.6220036918011, 1.8583181578998, 0}, {0}, 0, 0},
         {{0.1735445568164, -2.3684104432832, 0}, {0}, 0, 0},
         {{0.2343665696275, 0.7797374598867, 0}, {0}, 0, 0}},
        {{{-2.7014614092655, -3.7972226827224, 0}, {0}, 0, 0},
         {{1.5059381924207, 0.9608134249384, 0}, {0}, 0, 0},
         {{0.4161262916228, 1.5096828696828, 0}, {0}, 0, 0}}};
    if (!is_double)
        return;
    struct sim_bodies b = make_pythagorean(device);
    for (int k = 0; k < (device->kind == SIM_CUDA ? 1 : small() ? 3 : 5); k++) {
        must(sim_bodies_advance(&b, times[k])); /* CUDA: each step waits */
        if (!CHECK_NEAR(worst_way(&b, want[k], 3), 0, k < 4 ? 1e-6 : 1e-4) ||
            getenv("SIMLUA_VERBOSE"))
            printf("     t = %g: %.3g after %lld steps, energy to %.3g\n", times[k],
                   worst_way(&b, want[k], 3), (long long)b.steps,
                   total_energy(&b) / (-769.0 / 60) - 1);
    }
    sim_bodies_free(&b);
}

/* The closest that bodies 2 and 3 come before each time, stepped one by one. */
static void test_approaches(struct sim_device *device, bool is_double)
{
    static const struct {
        double from, until, distance, tolerance;
    } want[] = {{1, 3, 9.700e-3, 1e-6},
                {8, 10, 8.516e-3, 1e-6},
                {15, 17, 4.13825e-4, 1e-8},
                {22, 24, 1.754e-2, 5e-6},
                {29, 31, 2.794e-3, 1e-6}};
    if (!is_double || device->kind == SIM_CUDA)
        return;
    struct sim_bodies b = make_pythagorean(device);
    for (int k = 0; k < (small() ? 1 : 5); k++) {
        double least = INFINITY;
        must(sim_bodies_advance(&b, want[k].from));
        while (b.clock < want[k].until) {
            struct sim_model now;
            must(sim_bodies_step(&b, 1));
            must(sim_bodies_read(&b, &now));
            least = fmin(least, apart(now.bodies[1].position, now.bodies[2].position));
            sim_model_free(&now);
        }
        CHECK_NEAR(least, want[k].distance, want[k].tolerance);
    }
    sim_bodies_free(&b);
}

int main(void)
{
    on_every_device(test_kepler);
    on_every_device(test_signatures);
    on_every_device(test_eight);
    on_every_device(test_pythagorean);
    on_every_device(test_approaches);
    return check_report();
}
