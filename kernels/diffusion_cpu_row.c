/* diffusion_cpu_row.c - a stretch of a row of the 5-point scheme, for several instruction
 * sets.
 *
 * Equation: diffusion_math.h. Plain loops over cells that become vector instructions;
 * each pair of a reaction and a form of the operator is a loop of its own. Per cell of
 * pure diffusion: 3 additions, 2 fused multiply-adds, 5 loads, a store. Neighbours along
 * the row are unaligned loads of the same line.
 *
 * Not here: walls, threads, the order in which rows are visited. */
#include "diffusion_cpu.h"

#define ALWAYS static inline __attribute__((always_inline))

ALWAYS void row_loop(enum sim_reaction model, bool isotropic,
                     const struct diffusion_args *args, const real *signal,
                     const struct diffusion_row *row, int64_t first, int64_t last)
{
    const int two = reaction_species(model) - 1;
    const struct diffusion_args a = *args; /* a private copy, or nothing is vectorised */
    const real sources[SIM_SIGNALS] = {[SIM_SIGNAL_SOURCE] = signal[SIM_SIGNAL_SOURCE],
                                       [SIM_SIGNAL_SOURCE + 1] =
                                           signal[SIM_SIGNAL_SOURCE + 1]};
    const real *s0 = row->s[0], *c0 = row->c[0], *n0 = row->n[0];
    const real *s1 = row->s[two], *c1 = row->c[two], *n1 = row->n[two];
    real *out0 = row->out[0], *out1 = row->out[two];
    /* not `omp simd`: with it gcc keeps the structs below in memory, and no vectors */
#pragma GCC ivdep
    for (int64_t i = first; i < last; i++) {
        struct diffusion_star u;
        real out[SIM_SPECIES_MAX];
        u.c[0] = c0[i], u.w[0] = c0[i - 1], u.e[0] = c0[i + 1], u.s[0] = s0[i],
        u.n[0] = n0[i];
        if (two)
            u.c[1] = c1[i], u.w[1] = c1[i - 1], u.e[1] = c1[i + 1], u.s[1] = s1[i],
            u.n[1] = n1[i];
        diffusion_cell(model, isotropic, a.has_source, &a, sources, &u, out);
        out0[i] = out[0];
        if (two)
            out1[i] = out[1];
    }
}

ALWAYS void end_cell(enum sim_reaction model, const struct diffusion_args *a,
                     const real *signal, const struct diffusion_row *row, int64_t l,
                     int64_t i, int64_t j)
{
    struct diffusion_star u;
    real out[SIM_SPECIES_MAX];
    const int species = reaction_species(model);
    const int64_t other = a->periodic_x ? a->nx - 1 : 0;
    for (int s = 0; s < species; s++) {
        const real *c = row->c[s] + l;
        u.c[s] = c[0], u.s[s] = row->s[s][l], u.n[s] = row->n[s][l];
        real w = c[i > 0 ? -1 : other], e = c[i < a->nx - 1 ? 1 : -other];
        u.w[s] = w, u.e[s] = e;
        if (!a->periodic_x && i == 0)
            u.w[s] = diffusion_outside(a, s, SIM_WEST, j, signal, c[0], e);
        if (!a->periodic_x && i == a->nx - 1)
            u.e[s] = diffusion_outside(a, s, SIM_EAST, j, signal, c[0], w);
    }
    diffusion_cell(model, a->isotropic, a->has_source, a, signal, &u, out);
    for (int s = 0; s < species; s++)
        row->out[s][l] = out[s];
}

#define CASE(MODEL)                                              \
    case MODEL:                                                  \
        if (a->isotropic)                                        \
            row_loop(MODEL, true, a, signal, row, first, last);  \
        else                                                     \
            row_loop(MODEL, false, a, signal, row, first, last); \
        break;

#define VARIANT(isa, attributes)                                                        \
    attributes static void row_##isa(                                                   \
        enum sim_reaction model, const struct diffusion_args *a, const real *signal,    \
        const struct diffusion_row *row, int64_t first, int64_t last)                   \
    {                                                                                   \
        switch (model) {                                                                \
            CASE(SIM_REACTION_NONE)                                                     \
            CASE(SIM_DECAY)                                                             \
            CASE(SIM_FISHER)                                                            \
            CASE(SIM_BISTABLE)                                                          \
            CASE(SIM_ALLEN_CAHN)                                                        \
            CASE(SIM_GRAY_SCOTT)                                                        \
            CASE(SIM_FITZHUGH_NAGUMO)                                                   \
            CASE(SIM_SCHNAKENBERG)                                                      \
            CASE(SIM_BRUSSELATOR)                                                       \
            CASE(SIM_BARKLEY)                                                           \
        default:                                                                        \
            break;                                                                      \
        }                                                                               \
    }                                                                                   \
    attributes static void end_##isa(                                                   \
        enum sim_reaction model, const struct diffusion_args *a, const real *signal,    \
        const struct diffusion_row *row, int64_t l, int64_t i, int64_t j)               \
    {                                                                                   \
        end_cell(model, a, signal, row, l, i, j);                                       \
    }                                                                                   \
    attributes static void general_##isa(enum sim_reaction model,                       \
                                         const struct diffusion_args *a,                \
                                         const real *signal, int64_t member, int64_t j) \
    {                                                                                   \
        for (int64_t i = 0; i < a->nx; i++)                                             \
            diffusion_general(model, a, signal, member, i, j);                          \
    }

static bool always(void)
{
    return true;
}

VARIANT(plain, )

#ifdef __x86_64__ /* elsewhere the plain loop has fused multiply-adds and vectors \
                     already */
VARIANT(avx2, __attribute__((target("avx2,fma"))))
VARIANT(
    avx512,
    __attribute__((target("avx512f,avx512vl,avx512dq,avx2,fma,prefer-vector-width=512"))))

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

const struct diffusion_cpu_variant diffusion_cpu_variants[] = {
#ifdef __x86_64__
    {"AVX-512", has_avx512, row_avx512, end_avx512, general_avx512},
    {"AVX2", has_avx2, row_avx2, end_avx2, general_avx2},
#endif
    {"plain", always, row_plain, end_plain, general_plain},
    {0},
};
