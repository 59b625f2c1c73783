/* test_nbody_schemes.c - systems of bodies as scripts use them (src/bodies.h): every
 * integrator against the table of Kepler orbits, the figure-eight and the Pythagorean
 * problem (tests/reference/nbody.md), steps back, times between steps, reversibility to
 * the last bit. On every device. */
#include "nbody_system.h"
#include "../src/bodies.h"

#define PI 3.14159265358979323846

static struct sim_bodies make(struct sim_device *device, struct sim_bodies_desc desc,
                              int64_t n, const struct sim_body *bodies)
{
    struct sim_bodies b;
    struct sim_model model;
    desc.G = 1;
    desc.corrections = desc.corrections ? desc.corrections : 1;
    must(sim_bodies_new(device, &desc, &b));
    must(sim_model_new(n, &model));
    memcpy(model.bodies, bodies, (size_t)n * sizeof *bodies);
    model.group_count = 1;
    strcpy(model.groups[0], "all");
    must(sim_bodies_add(&b, &model));
    sim_model_free(&model);
    return b;
}

static double apart(const double a[3], const double b[3])
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                (a[2] - b[2]) * (a[2] - b[2]));
}

static double total_energy(struct sim_bodies *b)
{
    struct sim_nbody_sums sums;
    double potential;
    must(sim_bodies_sums(b, SIM_ALL_GROUPS, &sums));
    must(sim_bodies_potential(b, &potential));
    return sums.kinetic + potential;
}

/* --- Kepler orbits ---------------------------------------------------------------------
 */

struct row {
    enum sim_scheme scheme;
    int corrections;
    double e;
    int n;
    double position, energy; /* after one period; at most in ten, < 0: not compared */
};

static const struct row table[] = {
    {SIM_LEAPFROG, 1, 0, 100, 8.256e-3, 3.87e-6},
    {SIM_LEAPFROG, 1, 0.5, 200, 4.450e-2, 2.689e-3},
    {SIM_DKD, 1, 0, 100, 8.247e-3, 9.69e-7},
    {SIM_DKD, 1, 0.5, 100, 4.747e-2, 2.50e-3},
    {SIM_DKD, 1, 0.5, 200, 1.197e-2, 6.32e-4},
    {SIM_DKD, 1, 0.9, 1000, 0.116, 1.31e-2},
    {SIM_YOSHIDA4, 1, 0, 200, 5.67e-6, -1},
    {SIM_YOSHIDA4, 1, 0.5, 200, 3.31e-4, 2.02e-5},
    {SIM_YOSHIDA4, 1, 0.9, 2000, 6.1e-3, 1.5e-4},
    {SIM_HERMITE4, 1, 0, 100, 2.39e-6, 4.2e-7},
    {SIM_HERMITE4, 1, 0, 200, 1.55e-7, 1.3e-8},
    {SIM_HERMITE4, 1, 0.5, 100, 1.59e-3, 1.0e-4},
    {SIM_HERMITE4, 1, 0.5, 200, 1.02e-4, 6.4e-6},
    {SIM_HERMITE4, 1, 0.9, 2000, 3.4e-3, 8.7e-5},
    {SIM_HERMITE4, 3, 0, 100, 1.36e-7, -1},
    {SIM_HERMITE4, 3, 0.5, 100, 1.34e-3, 8.7e-5},
    {SIM_HERMITE4, 3, 0.5, 1000, 1.33e-7, 8.7e-9},
};

static void check_row(struct sim_device *device, const struct row *r)
{
    const struct sim_body start[2] = {
        {.mass = 1},
        {.position = {1 - r->e}, .velocity = {0, sqrt((1 + r->e) / (1 - r->e))}}};
    struct sim_bodies b = make(device,
                               (struct sim_bodies_desc){.dt = 2 * PI / r->n,
                                                        .scheme = r->scheme,
                                                        .corrections = r->corrections,
                                                        .is_double = true},
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
    if (r->energy > 0 && !CHECK_NEAR(worst / r->energy, 1, 0.06))
        printf("     scheme %d, e %g, n %d\n", r->scheme, r->e, r->n);
    sim_bodies_free(&b);
}

static void test_kepler(struct sim_device *device, bool is_double)
{
    for (size_t k = 0; is_double && k < sizeof table / sizeof *table; k++)
        check_row(device, &table[k]);
}

/* --- three bodies ----------------------------------------------------------------------
 */

static const struct sim_body eight[3] = {
    {{0.97000436, -0.24308753, 0},
     {0.932407368139078707 / 2, 0.8647314618349537 / 2, 0},
     1,
     0},
    {{-0.97000436, 0.24308753, 0},
     {0.932407368139078707 / 2, 0.8647314618349537 / 2, 0},
     1,
     0},
    {{0, 0, 0}, {-0.932407368139078707, -0.8647314618349537, 0}, 1, 0}};

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

static void test_eight(struct sim_device *device, bool is_double)
{
    const double period = 6.325914009782138550;
    if (!is_double)
        return;
    struct sim_bodies_desc desc = {.dt = 0.005,
                                   .scheme = SIM_HERMITE4,
                                   .is_double = true,
                                   .eta = 1e-7,
                                   .corrections = 3};
    struct sim_bodies b = make(device, desc, 3, eight);
    must(sim_bodies_advance(&b, period));
    CHECK_NEAR(sim_bodies_time(&b), period, 0);
    CHECK_NEAR(worst_way(&b, eight, 3), 0, 1e-9);
    CHECK(b.steps > 1000 && b.steps < 100000);
    sim_bodies_free(&b);
}

static void test_pythagorean(struct sim_device *device, bool is_double)
{
    static const struct sim_body start[3] = {
        {{1, 3, 0}, {0}, 3, 0}, {{-2, -1, 0}, {0}, 4, 0}, {{1, -1, 0}, {0}, 5, 0}};
    static const double times[] = {10, 20, 30, 40};
    static const struct sim_body want[4][3] = {
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
         {{0.2343665696275, 0.7797374598867, 0}, {0}, 0, 0}}};
    if (!is_double)
        return;
    struct sim_bodies b = make(device,
                               (struct sim_bodies_desc){.dt = 0.01,
                                                        .scheme = SIM_HERMITE4,
                                                        .corrections = 3,
                                                        .is_double = true,
                                                        .eta = 3e-5},
                               3, start);
    for (int k = 0; k < (device->kind == SIM_CUDA ? 1 : 4); k++) { /* latency */
        must(sim_bodies_advance(&b, times[k]));
        if (!CHECK_NEAR(worst_way(&b, want[k], 3), 0, 1e-6) || getenv("SIMLUA_VERBOSE"))
            printf("     t = %g: %.3g after %lld steps, energy to %.3g\n", times[k],
                   worst_way(&b, want[k], 3), (long long)b.steps,
                   total_energy(&b) / (-769.0 / 60) - 1);
    }
    sim_bodies_free(&b);
}

/* --- steps back, and between -----------------------------------------------------------
 */

static void cloud(struct sim_body *body, int64_t n)
{
    uint64_t seed = 3;
    for (int64_t i = 0; i < n; i++) {
        body[i] = (struct sim_body){.mass = (0.5 + uniform(&seed)) / (double)n};
        for (int k = 0; k < 3; k++) {
            body[i].position[k] = 2 * uniform(&seed) - 1;
            body[i].velocity[k] = 0.5 * uniform(&seed) - 0.25;
        }
    }
}

/* Forward and back to the first bit. */
static void check_reversible(struct sim_device *device, enum sim_scheme scheme, int64_t n,
                             bool mixed)
{
    struct sim_body *start = room((size_t)n, sizeof *start);
    struct sim_model before, far, after;
    cloud(start, n);
    struct sim_bodies b = make(device,
                               (struct sim_bodies_desc){.dt = 0.01,
                                                        .softening = 0.05,
                                                        .scheme = scheme,
                                                        .is_double = true,
                                                        .mixed = mixed,
                                                        .reversible = true},
                               n, start);
    must(sim_bodies_read(&b, &before));
    must(sim_bodies_step(&b, 100));
    must(sim_bodies_read(&b, &far));
    must(sim_bodies_step(&b, -40));
    must(sim_bodies_step(&b, -60));
    must(sim_bodies_read(&b, &after));
    CHECK(b.steps == 0 && sim_bodies_time(&b) == 0);
    CHECK(!memcmp(before.bodies, after.bodies, (size_t)n * sizeof *after.bodies));
    CHECK(apart(far.bodies[0].position, before.bodies[0].position) > 1e-3);
    CHECK(fabs(before.bodies[n - 1].position[1] - start[n - 1].position[1]) < 1e-11);
    sim_model_free(&before);
    sim_model_free(&far);
    sim_model_free(&after);
    sim_bodies_free(&b);
    free(start);
}

static void append(struct sim_bodies *b, const struct sim_body *bodies, int64_t n)
{
    struct sim_model model;
    must(sim_model_new(n, &model));
    memcpy(model.bodies, bodies, (size_t)n * sizeof *bodies);
    model.group_count = 1;
    strcpy(model.groups[0], "all");
    must(sim_bodies_add(b, &model));
    sim_model_free(&model);
}

static bool same_rows(struct sim_bodies *b, const struct sim_model *want)
{
    struct sim_model now;
    must(sim_bodies_read(b, &now));
    const bool same = now.n == want->n && !memcmp(now.bodies, want->bodies,
                                                  (size_t)now.n * sizeof *now.bodies);
    sim_model_free(&now);
    return same;
}

/* What is added later may be far larger, or smaller, than what was there, and is rounded
 * to what fits all. */
static void check_grains(struct sim_device *device, bool mixed, double scale)
{
    enum { N = 65 };
    struct sim_body core = {.mass = 1e-3 * scale}, start[N];
    struct sim_model before;
    cloud(start, N);
    for (int i = 0; i < N; i++) {
        start[i].mass *= scale;
        for (int k = 0; k < 3; k++)
            start[i].position[k] *= scale;
    }
    struct sim_bodies b =
        make(device,
             (struct sim_bodies_desc){.dt = 0.01 * scale,
                                      .softening = 0.05 * fmin(scale, 1),
                                      .is_double = true,
                                      .mixed = mixed,
                                      .reversible = true},
             1, &core);
    must(sim_bodies_step(&b, 3));
    append(&b, start, N);
    must(sim_bodies_read(&b, &before));
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++)
            CHECK_NEAR(before.bodies[i + 1].position[k], start[i].position[k],
                       1e-12 * scale);
    must(sim_bodies_step(&b, 50));
    CHECK(!same_rows(&b, &before));
    must(sim_bodies_step(&b, -50));
    CHECK(same_rows(&b, &before));
    sim_model_free(&before);
    sim_bodies_free(&b);
}

/* Two clouds that pass through each other, shown at odd times on the way out and back. */
static void check_collision(struct sim_device *device, bool mixed, enum sim_scheme scheme)
{
    enum { N = 150 };
    static const double shown[] = {0.12345, 0.5,  1.2345678, 0.9,     1.5,
                                   2.0001,  1.99, 2.1,       0.33333, -0.1};
    struct sim_body start[2 * N];
    struct sim_model before;
    cloud(start, 2 * N);
    for (int i = 0; i < 2 * N; i++) {
        start[i].position[0] += i < N ? -1.5 : 1.5;
        start[i].velocity[0] += i < N ? 1 : -1;
    }
    struct sim_bodies b = make(device,
                               (struct sim_bodies_desc){.dt = 0.01,
                                                        .softening = 0.02,
                                                        .scheme = scheme,
                                                        .is_double = true,
                                                        .mixed = mixed,
                                                        .reversible = true},
                               2 * N, start);
    must(sim_bodies_read(&b, &before));
    for (size_t k = 0; k < sizeof shown / sizeof *shown; k++) {
        must(sim_bodies_advance(&b, shown[k]));
        CHECK(sim_bodies_time(&b) == shown[k]);
        CHECK(!same_rows(&b, &before));
    }
    must(sim_bodies_advance(&b, 0));
    CHECK(b.steps == 0 && same_rows(&b, &before));
    sim_model_free(&before);
    sim_bodies_free(&b);
}

static void test_reversible(struct sim_device *device, bool is_double)
{
    struct sim_bodies b;
    struct sim_bodies_desc desc = {.G = 1, .dt = 1, .corrections = 1, .reversible = true};
    CHECK(sim_bodies_new(device, &desc, &b) == SIM_BAD_ARGUMENT);
    for (int scheme = SIM_LEAPFROG; scheme <= SIM_YOSHIDA4; scheme++)
        if (is_double) {
            check_reversible(device, (enum sim_scheme)scheme, 100, false);
            check_reversible(device, (enum sim_scheme)scheme,
                             device->kind == SIM_CUDA ? 9001 : 257, true);
            check_collision(device, false, (enum sim_scheme)scheme);
            check_collision(device, true, (enum sim_scheme)scheme);
        }
    for (int mixed = 0; mixed < 2 && is_double; mixed++) {
        check_grains(device, mixed, 1e6);
        check_grains(device, mixed, 1);
        check_grains(device, mixed, 1e-15);
    }
}

/* A look at a time between two steps changes nothing of the orbit. */
static void check_between(struct sim_device *device, bool is_double,
                          enum sim_scheme scheme, double eta)
{
    enum { N = 33 };
    struct sim_body start[N];
    struct sim_model far, same, shown;
    cloud(start, N);
    const struct sim_bodies_desc desc = {.dt = 0.01,
                                         .softening = 0.05,
                                         .scheme = scheme,
                                         .eta = eta,
                                         .is_double = is_double};
    struct sim_bodies a = make(device, desc, N, start), b = make(device, desc, N, start);
    must(sim_bodies_advance(&b, 0.2345));
    CHECK(sim_bodies_time(&b) == 0.2345);
    must(sim_bodies_read(&b, &shown));
    if (eta == 0) {
        CHECK(b.steps == 23);
        must(sim_bodies_step(&a, 23));
        must(sim_bodies_read(&a, &far));
        for (int i = 0; i < N; i++) /* the shown bodies have moved on by 0.0045 v */
            for (int k = 0; k < 3; k++)
                CHECK_NEAR(shown.bodies[i].position[k],
                           far.bodies[i].position[k] + 0.0045 * far.bodies[i].velocity[k],
                           2e-4);
        sim_model_free(&far);
        must(sim_bodies_step(&a, 17));
        must(sim_bodies_step(&b, 17));
    } else {
        CHECK(b.steps < 500);
        must(sim_bodies_step(&b, 500 - b.steps));
        must(sim_bodies_step(&a, 500));
    }
    must(sim_bodies_read(&a, &far));
    must(sim_bodies_read(&b, &same));
    CHECK(!memcmp(far.bodies, same.bodies, N * sizeof *far.bodies));
    CHECK(sim_bodies_time(&a) == sim_bodies_time(&b));
    sim_model_free(&far);
    sim_model_free(&same);
    sim_model_free(&shown);
    sim_bodies_free(&a);
    sim_bodies_free(&b);
}

static void test_between(struct sim_device *device, bool is_double)
{
    for (int scheme = SIM_LEAPFROG; scheme <= SIM_HERMITE4; scheme++)
        if (is_double || scheme != SIM_HERMITE4)
            check_between(device, is_double, (enum sim_scheme)scheme, 0);
    if (is_double)
        check_between(device, true, SIM_HERMITE4, 1e-3);
}

/* Hermite's scheme gives the same bits on every device, as it is summed the same way. */
static void check_bits(struct sim_device *device, int64_t n, double eta, bool merging,
                       struct sim_model *first)
{
    struct sim_body *start = room((size_t)n, sizeof *start);
    struct sim_model now;
    cloud(start, n);
    struct sim_bodies b =
        make(device,
             (struct sim_bodies_desc){.dt = 0.01,
                                      .scheme = SIM_HERMITE4,
                                      .corrections = 2,
                                      .softening = merging ? 0 : 0.1,
                                      .softening_kind = n % 2 ? SIM_SPLINE : SIM_PLUMMER,
                                      .merge_distance = merging * 0.1,
                                      .eta = eta,
                                      .is_double = true},
             n, start);
    must(sim_bodies_advance(&b, 0.123));
    must(sim_bodies_step(&b, 50));
    must(sim_bodies_advance(&b, sim_bodies_time(&b) - 0.04));
    must(sim_bodies_read(&b, &now));
    CHECK(now.n == n || merging);
    if (!first->bodies)
        *first = now;
    else {
        CHECK(now.n == first->n &&
              !memcmp(now.bodies, first->bodies, (size_t)now.n * sizeof *now.bodies));
        sim_model_free(&now);
    }
    sim_bodies_free(&b);
    free(start);
}

static void test_bits(struct sim_device *device, bool is_double)
{
    static const int64_t sizes[] = {1, 2, 33, 65};
    static struct sim_model first[4][2][2];
    for (int k = 0; k < 4 && is_double; k++)
        for (int adaptive = 0; adaptive < 2; adaptive++)
            for (int merging = 0; merging < 2; merging++)
                for (int twice = 0; twice < 2; twice++)
                    check_bits(device, sizes[k], adaptive * 1e-3, merging,
                               &first[k][adaptive][merging]);
}

static void test_meeting(struct sim_device *device, bool is_double)
{
    const struct sim_body start[3] = {{.mass = 1}, {.position = {1}}, {.mass = 1}};
    struct sim_nbody_sums sums;
    double energy;
    struct sim_bodies b = make(
        device, (struct sim_bodies_desc){.dt = 0.1, .is_double = is_double}, 3, start);
    must(sim_bodies_step(&b, 1));
    CHECK(sim_bodies_potential(&b, &energy) == SIM_DIVERGED);
    CHECK(strstr(sim_error_text(), "body 1 met another") != NULL);
    CHECK(sim_bodies_sums(&b, SIM_ALL_GROUPS, &sums) == SIM_DIVERGED);
    sim_bodies_free(&b);
}

int main(void)
{
    on_every_device(test_kepler);
    on_every_device(test_eight);
    on_every_device(test_pythagorean);
    on_every_device(test_reversible);
    on_every_device(test_between);
    on_every_device(test_bits);
    on_every_device(test_meeting);
    return check_report();
}
