/* test_nbody_schemes.c - systems of bodies in time: steps back, reversibility to the last
 * bit, times between steps, the same bits everywhere, bodies that meet. On every device.
 * Orbits: test_nbody_orbits.c. */
#include "nbody_scene.h"

/* --- steps back, and between -----------------------------------------------------------
 */

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
    add(&b, start, N);
    must(sim_bodies_read(&b, &before));
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++)
            CHECK_NEAR(before.bodies[i + 1].position[k], start[i].position[k],
                       1e-12 * scale);
    must(sim_bodies_step(&b, 50));
    CHECK(!holds_rows(&b, &before));
    must(sim_bodies_step(&b, -50));
    CHECK(holds_rows(&b, &before));
    sim_model_free(&before);
    sim_bodies_free(&b);
}

/* Two clouds that pass through each other, shown at odd times on the way out and back. */
static void check_collision(struct sim_device *device, bool mixed, enum sim_scheme scheme)
{
    enum { N = 50 };
    static const double shown[] = {0.12345, 0.5, 1.2345678, 0.9, 1.3001, 1.29, 0.3, -0.1};
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
        CHECK(!holds_rows(&b, &before));
    }
    must(sim_bodies_advance(&b, 0));
    CHECK(b.steps == 0 && holds_rows(&b, &before));
    sim_model_free(&before);
    sim_bodies_free(&b);
}

static void test_reversible(struct sim_device *device, bool is_double)
{
    const int threads = device->threads;
    struct sim_bodies b;
    struct sim_bodies_desc desc = {.G = 1, .dt = 1, .corrections = 1, .reversible = true};
    CHECK(sim_bodies_new(device, &desc, &b) == SIM_BAD_ARGUMENT);
    device->threads = 1; /* few bodies: on a loaded machine others are only waited for */
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
    device->threads = threads;
}

/* A look at a time between two steps changes nothing of the orbit. */
static void check_between(struct sim_device *device, bool is_double,
                          enum sim_scheme scheme, double eta, bool mixed)
{
    enum { N = 33 };
    struct sim_body start[N];
    struct sim_model far, same, shown;
    cloud(start, N);
    const struct sim_bodies_desc desc = {.dt = 0.01,
                                         .softening = 0.05,
                                         .scheme = scheme,
                                         .eta = eta,
                                         .is_double = is_double,
                                         .mixed = mixed};
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
        for (int mixed = 0; mixed <= (is_double && scheme != SIM_HERMITE4); mixed++)
            if (is_double || scheme != SIM_HERMITE4)
                check_between(device, is_double, (enum sim_scheme)scheme, 0, mixed);
    if (is_double)
        check_between(device, true, SIM_HERMITE4, 1e-3, false);
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
    on_every_device(test_reversible);
    on_every_device(test_between);
    on_every_device(test_bits);
    on_every_device(test_meeting);
    return check_report();
}
