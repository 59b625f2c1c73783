/* diffusion_cpu.c - explicit diffusion and reaction on the CPU: the table of operations,
 * and one pass over memory a step.
 *
 * Equation: diffusion_math.h. Threads take rows; a row is done in stretches whose result
 * is gathered in the first cache and, for arrays beyond the caches, streamed past them to
 * memory: 8 bytes a cell and step of single precision instead of 12. Cells are
 * independent, so that the bits do not depend on the number of threads. */
#include "diffusion_cpu.h"

#include <stdio.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define STRETCH 1024
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

/* Cell l of a stretch whose west or east neighbour is a wall. */
static void wall_cell(enum sim_reaction model, const struct diffusion_args *a,
                      const real *signal, const struct diffusion_row *row, int64_t l,
                      int64_t i, int64_t j)
{
    struct diffusion_star u;
    real out[SIM_SPECIES_MAX];
    const int species = reaction_species(model);
    for (int s = 0; s < species; s++) {
        const real *c = row->c[s] + l;
        real w = i > 0 ? c[-1] : c[0], e = i < a->nx - 1 ? c[1] : c[0];
        u.c[s] = c[0], u.s[s] = row->s[s][l], u.n[s] = row->n[s][l];
        u.w[s] = i == 0 ? diffusion_outside(a, s, SIM_WEST, j, signal, c[0], e) : w;
        u.e[s] =
            i == a->nx - 1 ? diffusion_outside(a, s, SIM_EAST, j, signal, c[0], w) : e;
    }
    diffusion_cell(model, a->isotropic, a->has_source, a, signal, &u, out);
    for (int s = 0; s < species; s++)
        row->out[s][l] = out[s];
}

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

static struct diffusion_row row_at(const struct diffusion_row *row, int species,
                                   int64_t l)
{
    struct diffusion_row at = {0};
    for (int s = 0; s < species; s++) {
        at.s[s] = row->s[s] + l, at.c[s] = row->c[s] + l, at.n[s] = row->n[s] + l;
        at.out[s] = row->out[s] + l;
    }
    return at;
}

/* At most STRETCH cells, south and north as they should be. */
static void inner_stretch(const struct diffusion_cpu_variant *variant,
                          enum sim_reaction model, const struct diffusion_args *a,
                          const real *signal, const struct diffusion_row *row, int64_t i0,
                          int64_t j, int64_t count)
{
    int64_t first = 0, last = count;
    if (!a->periodic_x && i0 == 0)
        wall_cell(model, a, signal, row, first++, 0, j);
    if (!a->periodic_x && i0 + count == a->nx && last > first)
        wall_cell(model, a, signal, row, --last, a->nx - 1, j);
    if (last <= first)
        return;
    struct diffusion_row at = row_at(row, reaction_species(model), first);
    variant->row(model, a, signal, &at, last - first);
}

void diffusion_cpu_stretch(const struct diffusion_cpu_variant *variant,
                           enum sim_reaction model, const struct diffusion_args *a,
                           const real *signal, const struct diffusion_row *row,
                           int64_t i0, int64_t j, int64_t count)
{
    const int species = reaction_species(model);
    const bool south = !a->periodic_y && j == 0, north = !a->periodic_y && j == a->ny - 1;
    const int64_t table_row = ((j % a->ny) + a->ny) % a->ny;
    for (int64_t l = 0; l < count; l += STRETCH) {
        real below[SIM_SPECIES_MAX][STRETCH], above[SIM_SPECIES_MAX][STRETCH];
        struct diffusion_row at = row_at(row, species, l), to = at;
        const int64_t part = count - l < STRETCH ? count - l : STRETCH;
        for (int s = 0; s < species && south; s++) {
            outside_row(a, s, SIM_SOUTH, signal, at.c[s], a->ny > 1 ? at.n[s] : at.c[s],
                        i0 + l, part, below[s]);
            to.s[s] = below[s];
        }
        for (int s = 0; s < species && north; s++) {
            outside_row(a, s, SIM_NORTH, signal, at.c[s], a->ny > 1 ? at.s[s] : at.c[s],
                        i0 + l, part, above[s]);
            to.n[s] = above[s];
        }
        inner_stretch(variant, model, a, signal, &to, i0 + l, table_row, part);
    }
}

/* --- one pass a step ---------------------------------------------------------------- */

/* Past the caches: `to` and `from` aligned to 16 bytes, whole 16-byte pieces. */
static void stream_out(real *to, const real *from, int64_t count)
{
#ifdef __SSE2__
    const int64_t pieces = (count * (int64_t)sizeof(real) + 15) / 16;
    for (int64_t k = 0; k < pieces; k++)
        _mm_stream_si128((__m128i *)(void *)to + k,
                         _mm_load_si128((const __m128i *)(const void *)from + k));
#else
    for (int64_t k = 0; k < count; k++)
        to[k] = from[k];
#endif
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

static void plain_row(const struct diffusion_cpu_variant *variant,
                      enum sim_reaction model, const struct diffusion_args *a,
                      const real *signal, int64_t member, int64_t j, bool stream)
{
    const int species = reaction_species(model);
    const int64_t skip = a->periodic_x ? 1 : 0; /* the ends come last */
    for (int64_t i = 0; i < a->nx; i += STRETCH) {
        real held[SIM_SPECIES_MAX][STRETCH] __attribute__((aligned(64)));
        const int64_t count = a->nx - i < STRETCH ? a->nx - i : STRETCH;
        const int64_t first = i == 0 ? skip : 0;
        const int64_t last = i + count == a->nx ? count - skip : count;
        struct diffusion_row row = row_of(a, species, member, i + first, j);
        for (int s = 0; s < species && stream; s++)
            row.out[s] = held[s] + first;
        if (last > first)
            diffusion_cpu_stretch(variant, model, a, signal, &row, i + first, j,
                                  last - first);
        for (int s = 0; s < species && stream; s++)
            stream_out(a->next[s] + member + j * a->pitch + i, held[s], count);
    }
    if (a->periodic_x) {
        real *out[SIM_SPECIES_MAX];
        for (int s = 0; s < species; s++)
            out[s] = a->next[s] + member + j * a->pitch;
        periodic_ends(model, a, signal, member, j, out);
    }
}

static void plain_pass(const struct sim_diffusion_system *system,
                       const struct diffusion_cpu_variant *variant, const real *signal)
{
    const struct diffusion_args a = diffusion_args_of(system);
    const enum sim_reaction model = system->reaction;
    const bool constant = diffusion_is_constant(system);
    const int64_t rows = system->count * a.ny;
    const int64_t bytes = 2 * system->species * rows * a.pitch * (int64_t)sizeof(real);
    const bool stream = bytes >= STREAM_FROM;
#pragma omp parallel for num_threads(system->device->threads) \
    schedule(static) if (rows * a.nx >= DIFFUSION_PARALLEL_FROM)
    for (int64_t k = 0; k < rows; k++) {
        const int64_t member = k / a.ny * a.member, j = k % a.ny;
        if (constant)
            plain_row(variant, model, &a, signal, member, j, stream);
        else
            variant->general(model, &a, signal, member, j);
    }
    system->device->stats.launches++;
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
            plain_pass(system, variant, signal);
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
