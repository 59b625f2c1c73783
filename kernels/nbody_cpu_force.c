/* nbody_cpu_force.c - the O(N^2) loop on the CPU, compiled for several instruction sets.
 *
 * Equation: nbody_math.h. A SIMD lane owns a target body and the sources are broadcast in
 * ascending order, so that the order of summation does not depend on the vector width, on
 * the number of threads or on the processor. Sources are summed in tiles of 256 that join
 * a total afterwards: in single precision one running sum over 65,536 bodies would lose
 * two digits. 1/r is an exact square root and an exact division: on the processors
 * measured they are faster than an integer first guess with enough Newton steps, and
 * every IEEE machine gives the same bits.
 *
 * Lengths by group and the spline go through the same loop with another weight.
 *
 * Work per pair: 3 subtractions, 6 fused multiply-adds, 3 products, a root and a
 * division; the divider is the limit. Memory: 16 bytes a source and pass, from the first
 * cache.
 *
 * Not here: symmetric pairs (each pair once). */
#include "nbody_cpu.h"
#include "nbody_soft_math.h"

#define ALWAYS static inline __attribute__((always_inline))

/* Bodies in flight at once: two vectors of the widest registers. */
#define LANES_MAX (128 / (int)sizeof(real))

/* Lanes are structures of arrays; plain loops over them become vector instructions. */
struct lanes {
    real x[LANES_MAX], y[LANES_MAX], z[LANES_MAX];
};

/* What a loop is made for: the plain law, with a look at distance zero, lengths of the
 * bodies' own. */
enum law { PLAIN, GUARDED, LENGTHS, SPLINE };

/* Lanes past the end repeat the last body; their sums are dropped. */
ALWAYS void load_lanes(const struct nbody_force *f, int64_t i, int lanes,
                       struct lanes *at)
{
    for (int l = 0; l < lanes; l++) {
        const struct sim_real4 *p = &f->position[i + l < f->n ? i + l : f->n - 1];
        at->x[l] = p->x;
        at->y[l] = p->y;
        at->z[l] = p->z;
    }
}

/* The weight of a pair at |d|^2 = d2; `soft` is the pair's. */
ALWAYS real weigh(enum law law, real m, real r2, real soft, int32_t *zeros)
{
    if (law == SPLINE) {
        *zeros += r2 < NBODY_TINY && soft > NBODY_HUGE;
        return nbody_spline_weight(m, r2, 1 / sim_sqrt(r2), soft);
    }
    const real w = nbody_weight(m, 1 / sim_sqrt(r2));
    if (law == PLAIN)
        return w;
    *zeros += r2 < NBODY_TINY;
    return nbody_guarded_weight(w, r2);
}

/* Add the pull of sources first <= j < last on the bodies `at`; soft[] is theirs. */
ALWAYS void add_tile(const struct nbody_force *f, int lanes, enum law law,
                     const struct lanes *at, const real *soft, int64_t first,
                     int64_t last, struct lanes *total, int32_t *zeros)
{
    struct lanes sum;
    const real eps2 = f->eps2;
    for (int l = 0; l < lanes; l++)
        sum.x[l] = sum.y[l] = sum.z[l] = 0;
    for (int64_t j = first; j < last; j++) {
        const struct sim_real4 source = f->position[j];
        const real its = law >= LENGTHS ? f->softness[j] : eps2;
#pragma omp simd
        for (int l = 0; l < lanes; l++) {
            real dx = source.x - at->x[l], dy = source.y - at->y[l],
                 dz = source.z - at->z[l];
            real of_pair =
                law >= LENGTHS ? nbody_pair_softness(soft[l], its, law == SPLINE) : its;
            real r2 = nbody_r2(dx, dy, dz, law == SPLINE ? (real)0 : of_pair);
            real w = weigh(law, source.w, r2, of_pair, &zeros[l]);
            sum.x[l] = sim_fma(w, dx, sum.x[l]);
            sum.y[l] = sim_fma(w, dy, sum.y[l]);
            sum.z[l] = sim_fma(w, dz, sum.z[l]);
        }
    }
    for (int l = 0; l < lanes; l++) {
        total->x[l] += sum.x[l];
        total->y[l] += sum.y[l];
        total->z[l] += sum.z[l];
    }
}

ALWAYS void store_lanes(const struct nbody_force *f, int64_t i, int count,
                        const struct lanes *total)
{
    for (int l = 0; l < count; l++) {
        real k = f->charge ? -f->G * f->position[i + l].w : f->G;
        f->acceleration[i + l] =
            (struct sim_real4){k * total->x[l], k * total->y[l], k * total->z[l], 0};
    }
}

/* A body is at distance zero from itself; twice means that it met another. */
ALWAYS uint64_t lowest_met(int64_t i, int count, const int32_t *zeros)
{
    for (int l = 0; l < count; l++)
        if (zeros[l] > 1)
            return (uint64_t)(i + l);
    return UINT64_MAX;
}

/* A block of NBODY_BLOCK targets takes one pass over the sources, tile by tile, so that a
 * tile is read from memory once for all of them. */
ALWAYS uint64_t block(const struct nbody_force *f, int lanes, enum law law, int64_t first,
                      int64_t last)
{
    enum { SETS = NBODY_BLOCK * (int)sizeof(real) / 32 };
    struct lanes at[SETS], total[SETS] = {0};
    int32_t zeros[SETS][LANES_MAX] = {0};
    real soft[SETS][LANES_MAX];
    const int sets = (int)((last - first + lanes - 1) / lanes);
    for (int s = 0; s < sets; s++) {
        load_lanes(f, first + s * lanes, lanes, &at[s]);
        for (int l = 0; l < lanes && law >= LENGTHS; l++) {
            const int64_t i = first + s * lanes + l;
            soft[s][l] = f->softness[i < f->n ? i : f->n - 1];
        }
    }
    for (int64_t j = 0; j < f->n; j += NBODY_TILE)
        for (int s = 0; s < sets; s++)
            add_tile(f, lanes, law, &at[s], soft[s], j,
                     j + NBODY_TILE < f->n ? j + NBODY_TILE : f->n, &total[s], zeros[s]);
    uint64_t least = UINT64_MAX;
    for (int s = sets - 1; s >= 0; s--) {
        int64_t i = first + s * lanes;
        int count = (int)(last - i < lanes ? last - i : lanes);
        store_lanes(f, i, count, &total[s]);
        uint64_t met = lowest_met(i, count, zeros[s]);
        least = met < least ? met : least;
    }
    return least;
}

/* BITS: of the vectors; two of them are in flight. */
#define VARIANT(isa, attributes, bits)                                                 \
    attributes static uint64_t block_##isa(const struct nbody_force *f, int64_t first, \
                                           int64_t last)                               \
    {                                                                                  \
        enum { LANES = 2 * (bits) / 8 / (int)sizeof(real) };                           \
        if (f->softness && f->spline)                                                  \
            return block(f, LANES, SPLINE, first, last);                               \
        if (f->softness)                                                               \
            return block(f, LANES, LENGTHS, first, last);                              \
        if (f->guarded)                                                                \
            return block(f, LANES, GUARDED, first, last);                              \
        return block(f, LANES, PLAIN, first, last);                                    \
    }

static bool always(void)
{
    return true;
}

VARIANT(plain, , 128)

#ifdef __x86_64__ /* elsewhere the plain loop has fused multiply-adds and vectors \
                     already */
VARIANT(avx2, __attribute__((target("avx2,fma"))), 256)
VARIANT(avx512,
        __attribute__((target("avx512f,avx512vl,avx512dq,fma,prefer-vector-width=512"))),
        512)

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}
#endif

const struct nbody_cpu_variant nbody_cpu_variants[] = {
#ifdef __x86_64__
    {"AVX-512", has_avx512, block_avx512},
    {"AVX2", has_avx2, block_avx2},
#endif
    {"plain", always, block_plain},
    {0},
};

/* The interrupt flag is looked at once a block: every 30 ms for a million bodies. */
enum sim_status nbody_cpu_force(const struct nbody_force *force,
                                const struct nbody_cpu_variant *variant, int threads)
{
    const int64_t n = force->n, blocks = (n + NBODY_BLOCK - 1) / NBODY_BLOCK;
    uint64_t least = UINT64_MAX;
#pragma omp parallel for schedule(dynamic) num_threads(threads) \
    reduction(min                                               \
              : least) if (blocks > 1)
    for (int64_t b = 0; b < blocks; b++) {
        if (sim_interrupt_signal())
            continue;
        int64_t first = b * NBODY_BLOCK, last = first + NBODY_BLOCK;
        uint64_t met = variant->block(force, first, last < n ? last : n);
        least = met < least ? met : least;
    }
    if (least < *force->least)
        *force->least = least;
    return sim_check_interrupt();
}
