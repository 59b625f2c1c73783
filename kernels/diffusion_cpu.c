/* diffusion_cpu.c - explicit diffusion and reaction on the CPU: the table of operations,
 * and one pass over memory a step.
 *
 * Equation: diffusion_math.h. Threads take rows; a row is done in stretches. For arrays
 * beyond the caches a stretch's result is gathered in the first cache and streamed past
 * the others to memory: 8 bytes a cell and step of single precision instead of 12; while
 * it is, the row that is needed next is fetched. Cells are independent, so that the bits
 * do not depend on the number of threads. */
#include "diffusion_cpu.h"

#include <stdio.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define STRETCH 1024
#define LINE    64 /* bytes of a cache line; a row's pitch is some of them */
/* Cells that are held before they go past the caches: a page, measured best. */
#define HELD ((int64_t)(4096 / sizeof(real)))
/* From this many bytes in all arrays on, results bypass the caches. */
#define STREAM_FROM ((int64_t)48 << 20)

static const struct diffusion_cpu_variant *best_variant(void)
{
    const struct diffusion_cpu_variant *v = diffusion_cpu_variants;
    while (!v->supported())
        v++;
    return v;
}

/* --- stretches with walls ----------------------------------------------------------- */

/* A row of values outside the south or north wall. */
static void outside_row(const struct diffusion_args *a, int species, int side,
                        const real *signal, const real *u0, const real *u1, int64_t i0,
                        int64_t count, real *out)
{
    for (int64_t l = 0; l < count; l++) {
        int64_t i = i0 + l;
        if (a->periodic_x)
            i = ((i % a->nx) + a->nx) % a->nx;
        out[l] = diffusion_outside(a, species, side, i, signal, u0[l], u1[l]);
    }
}

/* South and north as they should be. */
static void inner_stretch(const struct diffusion_cpu_variant *variant,
                          enum sim_reaction model, const struct diffusion_args *a,
                          const real *signal, const struct diffusion_row *row, int64_t i0,
                          int64_t j, int64_t count)
{
    int64_t first = 0, last = count;
    if (!a->periodic_x && i0 == 0)
        variant->end(model, a, signal, row, first++, 0, j);
    if (!a->periodic_x && i0 + count == a->nx && last > first)
        variant->end(model, a, signal, row, --last, a->nx - 1, j);
    if (last > first)
        variant->row(model, a, signal, row, first, last);
}

/* The same for a row at the south or north wall, or both; at most STRETCH cells. */
static void outer_stretch(const struct diffusion_cpu_variant *variant,
                          enum sim_reaction model, const struct diffusion_args *a,
                          const real *signal, const struct diffusion_row *row, int64_t i0,
                          int64_t j, int64_t count)
{
    real below[SIM_SPECIES_MAX][STRETCH], above[SIM_SPECIES_MAX][STRETCH];
    struct diffusion_row to = *row;
    for (int s = 0; s < reaction_species(model); s++) {
        const real *c = row->c[s];
        if (j == 0) {
            outside_row(a, s, SIM_SOUTH, signal, c, a->ny > 1 ? row->n[s] : c, i0, count,
                        below[s]);
            to.s[s] = below[s];
        }
        if (j == a->ny - 1) {
            outside_row(a, s, SIM_NORTH, signal, c, a->ny > 1 ? row->s[s] : c, i0, count,
                        above[s]);
            to.n[s] = above[s];
        }
    }
    inner_stretch(variant, model, a, signal, &to, i0, j, count);
}

void diffusion_cpu_stretch(const struct diffusion_cpu_variant *variant,
                           enum sim_reaction model, const struct diffusion_args *a,
                           const real *signal, const struct diffusion_row *row,
                           int64_t i0, int64_t j, int64_t count)
{
    struct diffusion_row at = *row;
    if (a->periodic_y || (j > 0 && j < a->ny - 1)) {
        inner_stretch(variant, model, a, signal, row, i0, ((j % a->ny) + a->ny) % a->ny,
                      count);
        return;
    }
    for (int64_t l = 0; l < count; l += STRETCH) {
        outer_stretch(variant, model, a, signal, &at, i0 + l, j,
                      count - l < STRETCH ? count - l : STRETCH);
        for (int s = 0; s < reaction_species(model); s++)
            at.s[s] += STRETCH, at.c[s] += STRETCH, at.n[s] += STRETCH,
                at.out[s] += STRETCH;
    }
}

bool diffusion_cpu_streams(const struct sim_diffusion_system *s)
{
    return 2 * s->species * s->count * s->ny * s->pitch * (int64_t)sizeof(real) >=
           STREAM_FROM;
}

/* --- one pass a step ---------------------------------------------------------------- */

void diffusion_cpu_stream_out(real *to, const real *from, int64_t count,
                              const real *ahead)
{
    const int64_t lines = (count * (int64_t)sizeof(real) + LINE - 1) / LINE;
    for (int64_t k = 0; k < lines; k++) {
        __builtin_prefetch((const char *)ahead + k * LINE);
#ifdef __SSE2__
        const __m128i *piece = (const __m128i *)(const void *)from + k * (LINE / 16);
        __m128i *out = (__m128i *)(void *)to + k * (LINE / 16);
        for (int l = 0; l < LINE / 16; l++)
            _mm_stream_si128(out + l, _mm_load_si128(piece + l));
#else
        memcpy((char *)to + k * LINE, (const char *)from + k * LINE, LINE);
#endif
    }
}

/* Both ends of a row where x is periodic: the cells next to them are at the other end. */
static void periodic_ends(enum sim_reaction model, const struct diffusion_args *a,
                          const real *signal, int64_t member, int64_t j, real *const *out)
{
    const int species = reaction_species(model);
    const real *from[SIM_SPECIES_MAX] = {a->now[0] + member,
                                         a->now[species - 1] + member};
    for (int end = 0; end < 2; end++) {
        const int64_t i = end ? a->nx - 1 : 0;
        real value[SIM_SPECIES_MAX];
        struct diffusion_star u = diffusion_look(a, species, from, signal, i, j, true);
        diffusion_cell(model, a->isotropic, a->has_source, a, signal, &u, value);
        for (int s = 0; s < species; s++)
            out[s][i] = value[s];
    }
}

/* Pointers at column i of row j and of those below and above it (any row past a wall). */
static struct diffusion_row row_of(const struct diffusion_args *a, int species,
                                   int64_t member, int64_t i, int64_t j)
{
    struct diffusion_row row = {0};
    const int64_t below = diffusion_wrap(j - 1, a->ny, a->periodic_y),
                  above = diffusion_wrap(j + 1, a->ny, a->periodic_y);
    for (int s = 0; s < species; s++) {
        row.s[s] = a->now[s] + member + below * a->pitch + i;
        row.c[s] = a->now[s] + member + j * a->pitch + i;
        row.n[s] = a->now[s] + member + above * a->pitch + i;
        row.out[s] = a->next[s] + member + j * a->pitch + i;
    }
    return row;
}

/* The first and the last row, whatever lies beyond them. */
static void outer_row(const struct diffusion_cpu_variant *variant,
                      enum sim_reaction model, const struct diffusion_args *a,
                      const real *signal, int64_t member, int64_t j)
{
    const int species = reaction_species(model);
    const int64_t skip = a->periodic_x ? 1 : 0; /* the ends come last */
    struct diffusion_row row = row_of(a, species, member, skip, j);
    if (a->nx > 2 * skip)
        diffusion_cpu_stretch(variant, model, a, signal, &row, skip, j, a->nx - 2 * skip);
    if (a->periodic_x) {
        real *out[SIM_SPECIES_MAX];
        for (int s = 0; s < species; s++)
            out[s] = a->next[s] + member + j * a->pitch;
        periodic_ends(model, a, signal, member, j, out);
    }
}

/* A row between others. Its ends are done with the rest, so that all vectors are aligned,
 * from what stands beside them in memory, and then again as they should be. */
static void inner_row(const struct diffusion_cpu_variant *variant,
                      enum sim_reaction model, const struct diffusion_args *a,
                      const real *signal, int64_t member, int64_t j, bool stream)
{
    const int species = reaction_species(model);
    const int64_t ahead = diffusion_wrap(j + 2, a->ny, a->periodic_y) - j;
    real held[SIM_SPECIES_MAX][HELD] __attribute__((aligned(64)));
    struct diffusion_row row = row_of(a, species, member, 0, j);
    for (int64_t i = 0; i < a->nx; i += HELD) {
        const int64_t count = a->nx - i < HELD ? a->nx - i : HELD;
        real *to[SIM_SPECIES_MAX] = {row.out[0], row.out[1]};
        for (int s = 0; s < species && stream; s++)
            row.out[s] = held[s];
        variant->row(model, a, signal, &row, 0, count);
        if (i == 0)
            variant->end(model, a, signal, &row, 0, 0, j);
        if (i + count == a->nx)
            variant->end(model, a, signal, &row, count - 1, a->nx - 1, j);
        for (int s = 0; s < species; s++) {
            if (stream)
                diffusion_cpu_stream_out(to[s], held[s], count,
                                         row.c[s] + ahead * a->pitch);
            row.s[s] += count, row.c[s] += count, row.n[s] += count;
            row.out[s] = to[s] + count;
        }
    }
}

static enum sim_status plain_pass(const struct sim_diffusion_system *system,
                                  const struct diffusion_cpu_variant *variant,
                                  const real *signal)
{
    const struct diffusion_args a = diffusion_args_of(system);
    const enum sim_reaction model = system->reaction;
    const bool constant = diffusion_is_constant(system);
    const int64_t rows = system->count * a.ny;
    const bool stream = diffusion_cpu_streams(system);
#pragma omp parallel for num_threads(system->device->threads) \
    schedule(static) if (rows * a.nx >= DIFFUSION_PARALLEL_FROM)
    for (int64_t k = 0; k < rows; k++) {
        const int64_t member = k / a.ny * a.member, j = k % a.ny;
        if (!constant)
            variant->general(model, &a, signal, member, j);
        else if (j == 0 || j == a.ny - 1)
            outer_row(variant, model, &a, signal, member, j);
        else
            inner_row(variant, model, &a, signal, member, j, stream);
    }
    return sim_device_launch(system->device, "diffusion");
}

/* --- the table ---------------------------------------------------------------------- */

static void swap(struct sim_diffusion_system *system)
{
    for (int s = 0; s < system->species; s++) {
        void *held = system->now[s];
        system->now[s] = system->next[s];
        system->next[s] = held;
    }
}

#define DEPTH_DEFAULT 16
#define DEPTH_MAX     64
/* Arrays that fit the caches gain nothing from blocking. */
#define BLOCKED_FROM ((int64_t)16 << 20)

static int depth_of(const struct sim_diffusion_system *system)
{
    const int64_t bytes = 2 * system->species * system->count * system->pitch *
                          system->ny * (int64_t)sizeof(real);
    const enum sim_diffusion_variant asked = system->tuning.variant;
    if (!diffusion_is_constant(system) || asked == SIM_DIFFUSION_PLAIN)
        return 1;
    if (asked == SIM_DIFFUSION_AUTO && bytes < BLOCKED_FROM)
        return 1;
    const int depth = system->tuning.depth ? system->tuning.depth : DEPTH_DEFAULT;
    return depth < DEPTH_MAX ? depth : DEPTH_MAX;
}

static enum sim_status check_variant(const struct sim_diffusion_system *system)
{
    const enum sim_diffusion_variant asked = system->tuning.variant;
    if (asked == SIM_DIFFUSION_SMALL || asked == SIM_DIFFUSION_CLUSTER)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "diffusion: the CPU has the variants plain and blocked");
    if (asked == SIM_DIFFUSION_BLOCKED && !diffusion_is_constant(system))
        return sim_fail(SIM_BAD_ARGUMENT,
                        "diffusion: the blocked variant needs constant D and sources and "
                        "no mask");
    return SIM_OK;
}

static enum sim_status diffusion_advance_cpu(struct sim_diffusion_system *system,
                                             int64_t steps)
{
    const struct diffusion_cpu_variant *variant = best_variant();
    const int depth = depth_of(system);
    const real *signal = system->signal;
    SIM_TRY(check_variant(system));
    for (int64_t done = 0; done < steps;) {
        const int now = steps - done < depth ? (int)(steps - done) : depth;
        SIM_TRY(sim_check_interrupt());
        if (depth > 1)
            SIM_TRY(diffusion_cpu_blocked(system, variant, now, signal));
        else
            SIM_TRY(plain_pass(system, variant, signal));
        swap(system);
        signal += now * system->signal_stride;
        done += now;
    }
    return SIM_OK;
}

static enum sim_status diffusion_describe_cpu(const struct sim_diffusion_system *system,
                                              int64_t steps, char *text, size_t size)
{
    const int depth = depth_of(system);
    SIM_TRY(check_variant(system));
    if (depth > 1 && steps > 1)
        snprintf(text, size, "blocked, %d steps a pass, %s", depth, best_variant()->name);
    else
        snprintf(text, size, "plain, %s", best_variant()->name);
    return SIM_OK;
}

#define TABLE SIM_TYPED(sim_diffusion_ops_cpu)
const struct sim_diffusion_ops TABLE = {
#ifdef SIM_DOUBLE
    .name = "cpu double",
#else
    .name = "cpu single",
#endif
    .real_bytes = sizeof(real),
    .advance = diffusion_advance_cpu,
    .describe = diffusion_describe_cpu,
    .sweep = diffusion_sweep_cpu,
    .half = diffusion_half_cpu,
    .react = diffusion_react_cpu,
    .residual = diffusion_residual_cpu,
    .widen = diffusion_widen_cpu,
    .narrow = diffusion_narrow_cpu,
    .product = diffusion_product_cpu,
    .modal = diffusion_modal_cpu,
    .transform = sim_modal_transform_cpu,
};
