/* test_nbody_momentum.c - mixed precision: the total momentum does not change by a bit,
 * whatever the masses, the scheme, the number of threads and the way to meet the pairs;
 * and a step back undoes a step. On every device. */
#include "nbody_scene.h"
#include "../kernels/nbody_momentum_math.h"
#include "../src/checkpoint.h"

#include <unistd.h>

#define CORE 1e4 /* a core's mass in those of a star */

/* --- formulas --------------------------------------------------------------------------
 */

/* A velocity encodes any whole number below 2^50, whatever the mass; kicks and shares
 * change but their sign with what they are of. */
static void test_encoding(void)
{
    const struct nbody_hold hold = {.unit = 0x1p-77, .least = 1e-9};
    uint64_t seed = 1;
    int wrong = 0;
    for (int k = 0; k < 200000; k++) {
        const double m = exp(40 * uniform(&seed) - 20),
                     bits = ldexp(1.0, 30 + (int)(21 * uniform(&seed))),
                     units = rint((2 * uniform(&seed) - 1) * (bits - 1)),
                     v = nbody_of_units(&hold, m, units), a = uniform(&seed);
        const uint64_t residue = (uint64_t)(1e6 * uniform(&seed));
        wrong += nbody_units(&hold, m, v) != units;
        wrong +=
            nbody_kick_units(&hold, m, 0.1, a) != -nbody_kick_units(&hold, m, -0.1, a);
        wrong += nbody_residue_share(&hold, m, 1ull << 60, residue) !=
                 -nbody_residue_share(&hold, m, 1ull << 60, 0 - residue);
    }
    CHECK(wrong == 0);
    CHECK(!nbody_outgrown(0x1p50 - 1) && nbody_outgrown(-0x1p50) && nbody_outgrown(NAN));
}

/* What is left over goes to all by their masses, and without regard to their sign. */
static void test_shares(void)
{
    const struct nbody_hold hold = {.unit = 1, .least = 0.25};
    const double mass[4] = {100, -20, 0.25, 3.1};
    uint64_t weight = 0;
    for (int k = 0; k < 4; k++)
        weight += nbody_weight_units(&hold, mass[k]);
    CHECK(weight == 400 + 80 + 1 + 12);
    for (int k = 0; k < 4; k++)
        CHECK_NEAR(nbody_residue_share(&hold, mass[k], weight, 1000000),
                   fabs(mass[k]) / 123.25 * 1e6, 0.5);
    CHECK(nbody_weight_units(&hold, 0x1p90) == 1ull << 36); /* sums must not wrap */
    CHECK_NEAR(nbody_residue_share(&hold, 0x1p90, (1ull << 36) + 4, 1 << 20), 1 << 20, 1);
    CHECK(nbody_anchor_key(100, 5) > nbody_anchor_key(99, 0));
    CHECK(nbody_anchor_key(-100, 5) > nbody_anchor_key(100.001, 6));
    CHECK(nbody_anchor(nbody_anchor_key(0.1, 123456789012)) == 123456789012);
    CHECK(nbody_anchor(0) > INT32_MAX);
}

/* Sums wrap; totals do not depend on how they are split. */
static void test_counting(void)
{
    const struct nbody_hold hold = {.unit = 0.5};
    double high, low, high_sum = 0, low_sum = 0;
    CHECK(nbody_counted(-3) == UINT64_MAX - 2);
    CHECK(nbody_counted(0x1p70 + 0x1p20) == 1 << 20);
    CHECK(nbody_counted(0x1p63 + 4096) + nbody_counted(-0x1p63 - 2048) == 2048);
    CHECK(nbody_counted(NAN) == 0 && nbody_counted(-HUGE_VAL) == 0);
    for (int k = 0; k < 4; k++) {
        nbody_split_units((k % 2 ? 1 : -1) * (0x1p49 + k), &high, &low);
        CHECK(low >= 0 && low < 0x1p26 && high == rint(high));
        high_sum += high;
        low_sum += low;
    }
    CHECK(nbody_join_units(&hold, high_sum, low_sum) == 1); /* (-0 + 1 - 2 + 3) / 2 */
}

/* --- systems ---------------------------------------------------------------------------
 */

/* Two cores, stars of different masses, and every seventh body without mass; all of it
 * drifts by, so that the total is far from 0. */
static void galaxy(struct sim_body *body, int64_t n)
{
    uint64_t seed = 17;
    for (int64_t i = 0; i < n; i++) {
        const double star = (0.5 + uniform(&seed)) / (CORE + (double)n);
        body[i] = (struct sim_body){.mass = i % 7 == 3 ? 0 : i < 2 ? CORE * star : star};
        for (int k = 0; k < 3; k++) {
            body[i].position[k] = 2 * uniform(&seed) - 1;
            body[i].velocity[k] = 0.5 * uniform(&seed) - 0.1;
        }
    }
}

static const struct sim_bodies_desc standard = {
    .G = 1, .dt = 0.01, .softening = 0.05, .is_double = true, .mixed = true};

static struct sim_bodies make_galaxy(struct sim_device *device,
                                     struct sim_bodies_desc desc, int64_t n)
{
    struct sim_body *start = room((size_t)n, sizeof *start);
    galaxy(start, n);
    struct sim_bodies b = make(device, desc, n, start);
    free(start);
    return b;
}

/* The sums of whole units, read apart from the program's own; held bodies lie on the
 * grid. Returns the number of these. */
static int64_t total_units(struct sim_bodies *b, int64_t total[3])
{
    const double unit = b->nbody.momentum_unit, least = b->nbody.momentum_least;
    struct sim_model now;
    int64_t held = 0, off = 0;
    must(sim_bodies_read(b, &now));
    memset(total, 0, 3 * sizeof *total);
    for (int64_t i = 0; i < now.n; i++) {
        const double m = b->desc.coupling == SIM_CHARGE ? 1 : now.bodies[i].mass;
        if (fabs(m) < least)
            continue;
        for (int k = 0; k < 3; k++) {
            const double units = rint(now.bodies[i].velocity[k] * m / unit);
            off += now.bodies[i].velocity[k] != units * unit / m || fabs(units) >= 0x1p50;
            total[k] += (int64_t)units;
        }
        held++;
    }
    CHECK(off == 0);
    sim_model_free(&now);
    return held;
}

struct moment {
    struct sim_nbody_sums sums;
    int64_t units[3];
};

static struct moment look(struct sim_bodies *b)
{
    struct moment m;
    must(sim_bodies_sums(b, SIM_ALL_GROUPS, &m.sums));
    total_units(b, m.units);
    return m;
}

static bool same_momentum(const struct moment *a, const struct moment *b)
{
    return !memcmp(a->units, b->units, sizeof a->units) &&
           !memcmp(a->sums.momentum, b->sums.momentum, sizeof a->sums.momentum);
}

/* `steps` forward, a third of them in one call, and all of them back. */
static void check_held(struct sim_device *device, struct sim_bodies_desc desc, int64_t n,
                       int64_t steps)
{
    struct sim_bodies b = make_galaxy(device, desc, n);
    const struct moment before = look(&b);
    bool ok = CHECK(b.nbody.momentum_unit > 0 && before.sums.momentum[0] > 0.01);
    for (int64_t k = 0; k < steps; k += k < steps / 3 ? steps / 3 : steps / 10) {
        must(sim_bodies_step(&b, k < steps / 3 ? steps / 3 : steps / 10));
        const struct moment now = look(&b);
        ok = CHECK(same_momentum(&before, &now)) && ok;
        ok = CHECK(now.sums.outgrown == 0) && ok;
        if (n > 1)
            ok = CHECK(now.sums.kinetic != before.sums.kinetic) && ok;
    }
    must(sim_bodies_step(&b, -b.steps));
    const struct moment back = look(&b);
    ok = CHECK(same_momentum(&before, &back)) && ok;
    if (!ok)
        printf("     %s, scheme %lld, n = %lld, pairs %lld, charge %lld\n", b.ops->name,
               (long long)desc.scheme, (long long)n, (long long)desc.pairs,
               (long long)desc.coupling);
    sim_bodies_free(&b);
}

static void test_held(struct sim_device *device)
{
    static const int64_t sizes[] = {1, 2, 33, 1023};
    for (int k = 0; k < 4 - small(); k++)
        for (int scheme = SIM_LEAPFROG; scheme <= SIM_YOSHIDA4; scheme++) {
            struct sim_bodies_desc desc = standard;
            const int64_t steps = scheme == SIM_YOSHIDA4 ? 60 : 200; /* 3 forces each */
            desc.scheme = scheme;
            check_held(device, desc, sizes[k], k == 3 ? 30 : steps);
            desc.coupling = SIM_CHARGE;
            if (k == 2)
                check_held(device, desc, sizes[k], steps);
            desc.coupling = SIM_GRAVITY;
            desc.softening_kind = SIM_SPLINE;
            if (k == 2)
                check_held(device, desc, sizes[k], steps);
        }
}

/* Each way to meet the pairs; those of CUDA in several shapes. */
static void test_ways(struct sim_device *device)
{
    static const int64_t sizes[] = {33, 769, 4099};
    const bool cuda = device->kind == SIM_CUDA;
    for (int k = 0; k < (cuda ? 3 : 2 - small()); k++)
        for (int pairs = SIM_PAIRS_SYMMETRIC; pairs <= SIM_PAIRS_PLAIN; pairs++)
            for (int split = 0; split <= (cuda ? 3 : 0); split += 3) {
                struct sim_bodies_desc desc = standard;
                desc.pairs = pairs;
                desc.split = split;
                check_held(device, desc, sizes[k], 20);
            }
    struct sim_bodies_desc desc = standard;
    desc.pairs = SIM_PAIRS_RESIDENT;
    struct sim_bodies b = make_galaxy(device, desc, 33);
    CHECK(sim_bodies_step(&b, 1) == SIM_BAD_ARGUMENT);
    CHECK(!cuda || strstr(sim_error_text(), "mixed precision") != NULL);
    sim_bodies_free(&b);
}

/* --- the same bits ---------------------------------------------------------------------
 */

static bool same_rows(struct sim_bodies *a, struct sim_bodies *b)
{
    struct sim_model want;
    must(sim_bodies_read(b, &want));
    const bool same = holds_rows(a, &want);
    sim_model_free(&want);
    return same;
}

/* Any number of threads, and of steps asked at once. */
static void test_bits(void)
{
    static const int threads[] = {1, 3, 7};
    const int64_t n = small() ? 257 : 4099; /* beyond the size from which threads help */
    struct sim_device *one, *other;
    must(sim_device_open("cpu", 1, &one));
    for (int scheme = SIM_LEAPFROG; scheme <= SIM_YOSHIDA4; scheme++) {
        struct sim_bodies_desc desc = standard;
        desc.scheme = scheme;
        struct sim_bodies a = make_galaxy(one, desc, n);
        must(sim_bodies_step(&a, 4));
        for (int k = 0; k < 3; k++) {
            must(sim_device_open("cpu", threads[k], &other));
            struct sim_bodies b = make_galaxy(other, desc, n);
            for (int step = 0; step < 4; step++)
                must(sim_bodies_step(&b, 1));
            CHECK(same_rows(&a, &b));
            sim_bodies_free(&b);
            sim_device_close(other);
        }
        sim_bodies_free(&a);
    }
    sim_device_close(one);
}

/* Steps asked at once, on every device; and back to the first bit, where that is asked.
 */
static void test_back(struct sim_device *device)
{
    for (int scheme = SIM_LEAPFROG; scheme <= SIM_YOSHIDA4; scheme++) {
        struct sim_bodies_desc desc = standard;
        desc.scheme = scheme;
        desc.reversible = true;
        struct sim_bodies start = make_galaxy(device, desc, 201),
                          a = make_galaxy(device, desc, 201),
                          b = make_galaxy(device, desc, 201);
        const struct moment before = look(&a);
        must(sim_bodies_step(&a, 60));
        for (int k = 0; k < 6; k++)
            must(sim_bodies_step(&b, 10));
        CHECK(same_rows(&a, &b));
        CHECK(!same_rows(&a, &start));
        const struct moment far = look(&a);
        CHECK(same_momentum(&before, &far));
        must(sim_bodies_step(&a, -40));
        must(sim_bodies_step(&a, -20));
        CHECK(same_rows(&a, &start));
        sim_bodies_free(&start);
        sim_bodies_free(&a);
        sim_bodies_free(&b);
    }
}

/* From a checkpoint, into bodies whose unit was another. */
static void test_resumed(struct sim_device *device)
{
    char path[512];
    const char *folder = getenv("TMPDIR");
    struct sim_state state = {0};
    struct sim_checkpoint file = {0};
    snprintf(path, sizeof path, "%s/test_momentum-%ld.sim", folder ? folder : "/tmp",
             (long)getpid());
    struct sim_bodies whole = make_galaxy(device, standard, 33),
                      first = make_galaxy(device, standard, 33),
                      second = make_galaxy(device, standard, 33);
    second.nbody.momentum_unit = second.nbody.momentum_least = 1;
    const struct moment before = look(&whole);
    must(sim_bodies_step(&whole, 100));
    must(sim_bodies_step(&first, 37));
    sim_bodies_state.list(&first, &state);
    must(sim_checkpoint_write(path, &state, 1, "", 0));
    must(sim_checkpoint_open(path, &file));
    sim_state_clear(&state);
    sim_bodies_state.list(&second, &state);
    must(sim_checkpoint_load(&file, &state));
    must(sim_bodies_step(&second, 63));
    const struct moment after = look(&second);
    CHECK(same_rows(&whole, &second) && same_momentum(&before, &after));
    sim_checkpoint_close(&file);
    sim_state_free(&state);
    unlink(path);
    sim_bodies_free(&whole);
    sim_bodies_free(&first);
    sim_bodies_free(&second);
}

/* --- masses ----------------------------------------------------------------------------
 */

/* The momentum of what is added adds up, also where the unit rises, and is held. */
static void test_added(struct sim_device *device)
{
    enum { N = 33 };
    struct sim_body giant[2] = {{.position = {3}, .velocity = {0, 2}, .mass = 100},
                                {.position = {-3}, .velocity = {0.3, -2}, .mass = 30}};
    struct sim_bodies_desc desc = standard;
    desc.reversible = true;
    struct sim_bodies b = make_galaxy(device, desc, N);
    must(sim_bodies_step(&b, 20));
    const double unit = b.nbody.momentum_unit;
    const struct moment light = look(&b);
    add(&b, giant, 2);
    CHECK(b.nbody.momentum_unit > 30 * unit);
    const struct moment before = look(&b);
    CHECK_NEAR(before.sums.momentum[0], light.sums.momentum[0] + 9, 1e-10);
    CHECK_NEAR(before.sums.momentum[1], light.sums.momentum[1] + 140, 1e-10);
    struct sim_model rows;
    must(sim_bodies_read(&b, &rows));
    must(sim_bodies_step(&b, 200));
    const struct moment after = look(&b);
    CHECK(same_momentum(&before, &after));
    must(sim_bodies_step(&b, -200));
    struct sim_model back;
    must(sim_bodies_read(&b, &back));
    CHECK(!memcmp(rows.bodies, back.bodies, (N + 2) * sizeof *back.bodies));
    sim_model_free(&rows);
    sim_model_free(&back);
    sim_bodies_free(&b);
}

/* Masses below 0 take part. A body too light for a unit does not: it moves as in double,
 * and the others hold what is theirs. */
static void test_odd_masses(struct sim_device *device)
{
    enum { N = 40 };
    struct sim_body start[N];
    struct sim_bodies b;
    galaxy(start, N);
    for (int i = 0; i < N; i += 5)
        start[i].mass *= -0.5;
    start[N - 1].mass = start[0].mass * 1e-12;
    struct sim_bodies_desc desc = standard;
    must(sim_bodies_new(device, &desc, &b));
    add(&b, start, N);
    const struct moment before = look(&b);
    int64_t units[3];
    CHECK(total_units(&b, units) == N - 6 - 1);
    must(sim_bodies_step(&b, 300));
    const struct moment after = look(&b);
    CHECK(!memcmp(before.units, after.units, sizeof before.units));
    struct sim_model now;
    must(sim_bodies_read(&b, &now));
    CHECK(fabs(now.bodies[N - 1].velocity[0] - start[N - 1].velocity[0]) > 0.01);
    sim_model_free(&now);
    CHECK(fabs(after.sums.momentum[0] - before.sums.momentum[0]) <=
          2 * fabs(start[N - 1].mass));
    sim_bodies_free(&b);
}

/* Bodies that become one hand on all of their momentum. */
static void test_merging(struct sim_device *device)
{
    struct sim_bodies_desc desc = standard;
    int64_t left;
    desc.merge_distance = 0.2;
    desc.softening = 0;
    for (int scheme = SIM_LEAPFROG; scheme <= SIM_YOSHIDA4; scheme++) {
        desc.scheme = scheme;
        struct sim_bodies b = make_galaxy(device, desc, 65);
        const struct moment before = look(&b);
        for (int k = 0; k < 10; k++) {
            must(sim_bodies_step(&b, 10));
            const struct moment after = look(&b);
            CHECK(same_momentum(&before, &after));
        }
        must(sim_bodies_count(&b, &left));
        CHECK(left > 1 && left < 60);
        sim_bodies_free(&b);
    }
}

/* Many at once, each near the largest number of units, nearly cancelling. */
static void test_merging_many(struct sim_device *device)
{
    enum { N = 250 };
    struct sim_body start[N];
    struct sim_bodies b;
    uint64_t seed = 5;
    int64_t left;
    for (int i = 0; i < N; i++) {
        start[i] = (struct sim_body){.mass = 1 + uniform(&seed)};
        for (int k = 0; k < 3; k++) {
            start[i].position[k] = uniform(&seed);
            start[i].velocity[k] =
                ((i % 2 ? 1.9 : -1.9) + 1e-3 * uniform(&seed)) / start[i].mass;
        }
    }
    struct sim_bodies_desc desc = standard;
    desc.merge_distance = 0.5;
    desc.G = 1e-6;
    must(sim_bodies_new(device, &desc, &b));
    add(&b, start, N);
    b.nbody.momentum_unit = ldexp(b.nbody.momentum_unit, -7);
    must(sim_bodies_round_all(&b, N));
    const struct moment before = look(&b);
    CHECK(before.sums.outgrown == 0);
    must(sim_bodies_step(&b, 1));
    struct moment after = look(&b);
    must(sim_bodies_count(&b, &left));
    CHECK(left == 1 && same_momentum(&before, &after));
    sim_bodies_free(&b);
}

/* Faster than the unit allows: counted, and nothing else happens. */
static void test_outgrown(struct sim_device *device)
{
    struct sim_bodies b = make_galaxy(device, standard, 33),
                      same = make_galaxy(device, standard, 33);
    b.nbody.momentum_unit = ldexp(b.nbody.momentum_unit, -40);
    must(sim_bodies_step(&b, 50));
    must(sim_bodies_step(&same, 50));
    struct sim_nbody_sums wild, tame;
    must(sim_bodies_sums(&b, SIM_ALL_GROUPS, &wild));
    must(sim_bodies_sums(&same, SIM_ALL_GROUPS, &tame));
    CHECK(wild.outgrown > 2 && tame.outgrown == 0);
    CHECK_NEAR(wild.kinetic / tame.kinetic, 1, 1e-6);
    for (int k = 0; k < 3; k++)
        CHECK_NEAR(wild.momentum[k], tame.momentum[k], 1e-9);
    sim_bodies_free(&b);
    sim_bodies_free(&same);
}

/* --- accuracy --------------------------------------------------------------------------
 */

/* The way of the energy is that of double precision, to what the forces of pairs are
 * rounded to. */
static void test_energy(struct sim_device *device)
{
    struct sim_bodies_desc desc = standard;
    desc.dt = 0.002;
    struct sim_bodies mixed = make_galaxy(device, desc, 257);
    desc.mixed = false;
    struct sim_bodies whole = make_galaxy(device, desc, 257);
    CHECK(whole.nbody.momentum_unit == 0);
    const double start = total_energy(&whole);
    for (int k = 0; k < 10; k++) {
        must(sim_bodies_step(&mixed, 20));
        must(sim_bodies_step(&whole, 20));
        CHECK_NEAR(total_energy(&mixed) / start, total_energy(&whole) / start,
                   device->kind == SIM_CUDA ? 1e-6 : 1e-9);
    }
    sim_bodies_free(&mixed);
    sim_bodies_free(&whole);
}

/* On every device; the CPU with one thread, as test_bits tries several. */
static void on_devices(void (*test)(struct sim_device *))
{
    static const char *const specs[] = {"cpu", "cuda"};
    for (int k = 0; k < 2; k++) {
        struct sim_device *device;
        if (sim_device_open(specs[k], k == 0, &device) != SIM_OK) {
            check_skip(sim_error_text());
            continue;
        }
        test(device);
        sim_device_close(device);
    }
}

int main(void)
{
    test_encoding();
    test_shares();
    test_counting();
    on_devices(test_held);
    on_devices(test_ways);
    on_devices(test_back);
    on_devices(test_resumed);
    on_devices(test_added);
    on_devices(test_odd_masses);
    on_devices(test_merging);
    on_devices(test_merging_many);
    on_devices(test_outgrown);
    on_devices(test_energy);
    test_bits();
    return check_report();
}
