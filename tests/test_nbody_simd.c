/* test_nbody_simd.c - the CPU's force loop gives the same bits with every instruction set
 * that this processor has, the plain one included, whatever the number of bodies. Built
 * again for double precision by test_nbody_simd_double.c. */
#include "check.h"
#include "../kernels/nbody_cpu.h"

#define N_MAX 1009

static struct sim_real4 position[N_MAX], want[N_MAX + 1], have[N_MAX + 1];

static real uniform(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (real)(*state >> 8) / (real)(1 << 24);
}

static void fill(int64_t n)
{
    uint32_t seed = 7 + (uint32_t)n;
    for (int64_t i = 0; i < n; i++)
        position[i] = (struct sim_real4){uniform(&seed), uniform(&seed) - 3,
                                         uniform(&seed), uniform(&seed) - (real)0.2};
    if (n > 4)
        position[n - 1] = position[n / 2];
}

static uint64_t compute(const struct nbody_cpu_variant *v, struct nbody_force f,
                        struct sim_real4 *out)
{
    uint64_t least = UINT64_MAX;
    f.acceleration = out;
    f.least = &least;
    memset(out, 0xff, sizeof want);
    CHECK_OK(nbody_cpu_force(&f, v, 2));
    return least;
}

static void compare(const struct nbody_cpu_variant *v,
                    const struct nbody_cpu_variant *plain, int64_t n, real eps2)
{
    struct nbody_force f = {.n = n,
                            .position = position,
                            .eps2 = eps2,
                            .guarded = eps2 == 0,
                            .charge = n % 2,
                            .G = (real)1.25};
    fill(n);
    uint64_t want_met = compute(plain, f, want), met = compute(v, f, have);
    CHECK(met == want_met);
    CHECK(met == (eps2 == 0 && n > 4 ? (uint64_t)(n / 2) : UINT64_MAX));
    CHECK(!memcmp(have, want, sizeof want)); /* also that nothing past the end changed */
    CHECK(n < 2 || have[0].x != 0);
}

/* The same of symmetric pairs. */
static void compare_pairs(int variant, int plain, int64_t n, real eps2)
{
    uint64_t least = UINT64_MAX, met = UINT64_MAX;
    struct nbody_force f = {.n = n,
                            .position = position,
                            .eps2 = eps2,
                            .guarded = eps2 == 0,
                            .least = &least,
                            .charge = n % 2,
                            .G = (real)1.25};
    void *space = malloc(nbody_cpu_pairs_bytes(n));
    if (!space)
        abort();
    fill(n);
    memset(want, 0xff, sizeof want);
    memset(have, 0xff, sizeof have);
    f.acceleration = want;
    CHECK_OK(nbody_cpu_pairs(&f, plain, 1, space));
    f.acceleration = have;
    f.least = &met;
    CHECK_OK(nbody_cpu_pairs(&f, variant, 3, space));
    CHECK(met == least);
    CHECK(met == (eps2 == 0 && n > 4 ? (uint64_t)(n / 2) : UINT64_MAX));
    CHECK(!memcmp(have, want, sizeof want));
    CHECK(n < 2 || have[0].x != 0);
    free(space);
}

static void test_pairs(void)
{
    static const int64_t sizes[] = {1, 2, 5, 8, 255, 256, 257, 512, 513, 1009};
    int plain = 0;
    while (nbody_cpu_pairs_name(plain + 1))
        plain++;
    for (int variant = 0; variant < plain; variant++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            compare_pairs(variant, plain, sizes[k], (real)0.01);
            compare_pairs(variant, plain, sizes[k], 0);
        }
}

int main(void)
{
    test_pairs();
    static const int64_t sizes[] = {1, 2, 3, 15, 16, 17, 31, 33, 63, 64, 65, 257, 1009};
    const struct nbody_cpu_variant *plain = nbody_cpu_variants;
    while (plain[1].name)
        plain++;
    for (const struct nbody_cpu_variant *v = nbody_cpu_variants; v != plain; v++) {
        if (!v->supported()) {
            check_skip(v->name);
            continue;
        }
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            compare(v, plain, sizes[k], (real)0.01);
            compare(v, plain, sizes[k], 0);
        }
    }
    return check_report();
}
