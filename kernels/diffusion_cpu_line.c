/* diffusion_cpu_line.c - implicit sweeps on the CPU: tridiagonal solves line by line.
 *
 * Formulas: diffusion_line_math.h. LANES lines at a time are laid side by side, element
 * (k, lane) at k*LANES + lane, so that the elimination, which cannot be vectorised along
 * a line, is across them: along y the lanes are neighbouring columns, along x
 * neighbouring rows, transposed on their way in and out. With constant D and no mask a
 * line has three kinds of rows (first, inner, last), and only right-hand sides are stored
 * for each cell. A bundle is done by one thread, with the same bits whichever it is. */
#include "diffusion_cpu.h"
#include "diffusion_line_math.h"

#include <stdlib.h>
#include <string.h>

#define LANES  32
#define INLINE static inline __attribute__((always_inline))

/* Lines side by side; their memory is one thread's. */
struct bundle {
    int64_t n, first, member; /* cells a line; the first line; its member's offset */
    int lanes;
    bool constant, cyclic;        /* three kinds of rows; periodic and more than a cell */
    real *lower, *middle, *upper; /* rows of LANES: n, or 3 */
    real *p, *y, *z;              /* n rows; y: right-hand sides, then the solution */
};

/* --- a bundle in -------------------------------------------------------------------- */

INLINE int64_t kind_of(const struct bundle *b, int64_t k)
{
    return b->constant ? (k == 0 ? 0 : k == b->n - 1 ? 2 : 1) : k;
}

/* Row k of lane `lane` by the rule for any cell. */
INLINE void take_cell(enum sim_reaction model, const struct diffusion_args *a,
                      const struct diffusion_sweep *w, const struct bundle *b, int64_t k,
                      int lane)
{
    const int64_t line = b->first + lane, row = kind_of(b, k) * LANES + lane;
    struct diffusion_equation e = diffusion_equation_at(
        model, a, w, b->member, w->axis ? line : k, w->axis ? k : line);
    b->y[k * LANES + lane] = e.right;
    if (b->n == 1) /* its own neighbour where it is periodic */
        e.middle = e.middle + (e.lower + e.upper), e.lower = e.upper = 0;
    b->lower[row] = e.lower, b->middle[row] = e.middle, b->upper[row] = e.upper;
}

/* Right-hand sides of `count` cells beside no wall, constant D. */
INLINE void inner_rights(enum sim_reaction model, const struct diffusion_args *a,
                         const struct diffusion_sweep *w, int64_t at, int64_t count,
                         real *out)
{
    const real r = w->axis ? a->rate_x[w->species] : a->rate_y[w->species];
    const struct diffusion_line across = {r, -(r + r) - diffusion_half_decay(model, a), r,
                                          0};
    const real drive =
        w->source && a->has_source ? w->source[SIM_SIGNAL_SOURCE + w->species] : (real)0;
    const int64_t step = w->axis ? 1 : a->pitch;
    const real *c = w->from + at, *low = c - step, *high = c + step;
    const real *extra = w->extra ? w->extra + at : NULL;
    const real beta = w->beta;
#pragma omp simd
    for (int64_t i = 0; i < count; i++)
        out[i] = diffusion_right(beta, c[i],
                                 diffusion_line_apply(across, low[i], c[i], high[i]),
                                 drive, extra ? extra[i] : (real)0);
}

/* Rows of the first, an inner and the last kind, and the inner one's numbers. */
INLINE void constant_rows(enum sim_reaction model, const struct diffusion_args *a,
                          const struct diffusion_sweep *w, const struct bundle *b)
{
    const real r = w->axis ? a->rate_y[w->species] : a->rate_x[w->species];
    const real middle = -(r + r) - diffusion_half_decay(model, a);
    for (int lane = 0; lane < b->lanes; lane++) {
        take_cell(model, a, w, b, 0, lane);
        if (b->n > 1)
            take_cell(model, a, w, b, b->n - 1, lane);
        b->lower[LANES + lane] = b->upper[LANES + lane] = (real)-0.5 * r;
        b->middle[LANES + lane] = sim_fma((real)-0.5, middle, w->alpha);
    }
}

/* Columns cross a page a row, where no processor looks ahead by itself. */
#define AHEAD 16
INLINE void fetch(const real *column, int64_t pitch, int64_t k, int64_t n)
{
    const char *at = (const char *)(column + (k < n ? k : n - 1) * pitch);
    for (size_t byte = 0; byte < LANES * sizeof(real); byte += 64)
        __builtin_prefetch(at + byte);
}

/* Lanes are columns: right-hand sides row by row. */
INLINE void take_columns(enum sim_reaction model, const struct diffusion_args *a,
                         const struct diffusion_sweep *w, const struct bundle *b)
{
    const int from = b->first == 0 ? 1 : 0;
    const int to = b->lanes - (b->first + b->lanes == a->nx ? 1 : 0);
    for (int64_t k = 1; k < b->n - 1; k++) {
        fetch(w->from + b->member + b->first, a->pitch, k + AHEAD, b->n);
        if (from)
            take_cell(model, a, w, b, k, 0);
        if (to < b->lanes && to >= from)
            take_cell(model, a, w, b, k, b->lanes - 1);
        if (to > from)
            inner_rights(model, a, w, b->member + k * a->pitch + b->first + from,
                         to - from, b->y + k * LANES + from);
    }
}

/* Lanes are rows: each is worked out as a row and laid into its lane. */
INLINE void take_rows(enum sim_reaction model, const struct diffusion_args *a,
                      const struct diffusion_sweep *w, const struct bundle *b)
{
    enum { PART = 128 };
    for (int64_t k = 1; k < b->n - 1; k += PART) {
        const int64_t count = b->n - 1 - k < PART ? b->n - 1 - k : PART;
        real part[LANES][PART];
        for (int lane = 0; lane < b->lanes; lane++) {
            const int64_t j = b->first + lane;
            if (j > 0 && j < a->ny - 1)
                inner_rights(model, a, w, b->member + j * a->pitch + k, count,
                             part[lane]);
        }
        for (int64_t i = 0; i < count; i++)
            for (int lane = 0; lane < b->lanes; lane++)
                b->y[(k + i) * LANES + lane] = part[lane][i];
        for (int lane = 0; lane < b->lanes; lane++)
            if (b->first + lane == 0 || b->first + lane == a->ny - 1)
                for (int64_t i = 0; i < count; i++)
                    take_cell(model, a, w, b, k + i, lane);
    }
}

INLINE void take(enum sim_reaction model, const struct diffusion_args *a,
                 const struct diffusion_sweep *w, const struct bundle *b)
{
    if (!b->constant) {
        for (int64_t k = 0; k < b->n; k++)
            for (int lane = 0; lane < b->lanes; lane++)
                take_cell(model, a, w, b, k, lane);
        return;
    }
    if (w->axis)
        take_columns(model, a, w, b);
    else
        take_rows(model, a, w, b);
    constant_rows(model, a, w, b);
}

/* --- elimination -------------------------------------------------------------------- */

/* `cyclic` is a constant where called. */
INLINE void up(const struct bundle *b, bool cyclic, int64_t top)
{
    real p[LANES] = {0}, y[LANES] = {0}, z[LANES] = {0};
    for (int64_t k = 0; k < top; k++) {
        const int64_t at = k * LANES, row = kind_of(b, k) * LANES;
        const bool first = cyclic && k == 0, last = cyclic && k == top - 1;
        const real *lower = b->lower + row, *middle = b->middle + row,
                   *upper = b->upper + row;
        real *p_out = b->p + at, *y_out = b->y + at, *z_out = b->z + at;
#pragma omp simd
        for (int lane = 0; lane < b->lanes; lane++) {
            const struct diffusion_equation e = {lower[lane], middle[lane], upper[lane],
                                                 y_out[lane]};
            const struct diffusion_pivot before = {p[lane], y[lane], z[lane]};
            const struct diffusion_pivot next =
                diffusion_up(e, before, diffusion_aside(e, first, last));
            p_out[lane] = p[lane] = next.p;
            y_out[lane] = y[lane] = next.y;
            if (cyclic)
                z_out[lane] = z[lane] = next.z;
        }
    }
}

INLINE void down(const struct bundle *b, int64_t top, real *x)
{
    for (int64_t k = top - 2; k >= 0; k--) {
        const int64_t at = k * LANES;
#pragma omp simd
        for (int lane = 0; lane < b->lanes; lane++)
            x[at + lane] = sim_fma(-b->p[at + lane], x[at + LANES + lane], x[at + lane]);
    }
}

INLINE void border(const struct bundle *b)
{
    const int64_t last = b->n - 1, row = kind_of(b, last) * LANES, end = last * LANES;
    for (int lane = 0; lane < b->lanes; lane++) {
        const struct diffusion_equation e = {b->lower[row + lane], b->middle[row + lane],
                                             b->upper[row + lane], b->y[end + lane]};
        b->y[end + lane] = diffusion_border(e, b->y[lane], b->y[end - LANES + lane],
                                            b->z[lane], b->z[end - LANES + lane]);
    }
    for (int64_t k = 0; k < last; k++)
#pragma omp simd
        for (int lane = 0; lane < b->lanes; lane++)
            b->y[k * LANES + lane] =
                sim_fma(b->y[end + lane], b->z[k * LANES + lane], b->y[k * LANES + lane]);
}

/* --- a bundle out ------------------------------------------------------------------- */

INLINE void give(const struct diffusion_args *a, const struct diffusion_sweep *w,
                 const struct bundle *b)
{
    real *to = w->to + b->member;
    if (w->axis) {
        for (int64_t k = 0; k < b->n; k++) {
            fetch(to + b->first, a->pitch, k + AHEAD, b->n);
            memcpy(to + k * a->pitch + b->first, b->y + k * LANES,
                   (size_t)b->lanes * sizeof(real));
        }
        return;
    }
    enum { PART = 32 };
    for (int64_t k = 0; k < b->n; k += PART)
        for (int lane = 0; lane < b->lanes; lane++)
            for (int64_t i = k; i < k + PART && i < b->n; i++)
                to[(b->first + lane) * a->pitch + i] = b->y[i * LANES + lane];
}

INLINE void solve(enum sim_reaction model, const struct diffusion_args *a,
                  const struct diffusion_sweep *w, const struct bundle *b)
{
    const int64_t top = b->cyclic ? b->n - 1 : b->n;
    take(model, a, w, b);
    if (b->cyclic)
        up(b, true, top);
    else
        up(b, false, top);
    down(b, top, b->y);
    if (b->cyclic) {
        down(b, top, b->z);
        border(b);
    }
    give(a, w, b);
}

/* --- the other whole-array operations ----------------------------------------------- */

INLINE void half_row(enum sim_reaction model, const struct diffusion_args *a, int s,
                     const real *from, const real *row, int64_t j, real *to)
{
    for (int64_t i = 0; i < a->nx; i++)
        to[j * a->pitch + i] = diffusion_half_at(model, a, s, from, 1, row, i, j);
}

struct largest {
    double residual, size;
};

/* A NaN stays. */
INLINE double larger(double most, double value)
{
    return value <= most || most != most ? most : value;
}

INLINE struct largest residual_row(enum sim_reaction model,
                                   const struct diffusion_args *a, int s, const real *u,
                                   const real *rhs, int64_t j)
{
    struct largest most = {0, 0};
    for (int64_t i = 0; i < a->nx; i++) {
        if (diffusion_masked(a, i, j))
            continue;
        const int64_t c = j * a->pitch + i;
        const real left = diffusion_half_at(model, a, s, u, -1, NULL, i, j);
        most.residual = larger(most.residual, fabs((double)(rhs[c] - left)));
        most.size = larger(most.size, fabs((double)u[c]));
    }
    return most;
}

INLINE void react_loop(enum sim_reaction model, const struct diffusion_args *args, real h,
                       real *const *u, int64_t c0, int64_t count)
{
    const int two = reaction_species(model) - 1;
    real number[SIM_REACTION_NUMBERS];
    real *u0 = u[0] + c0, *u1 = u[two] + c0;
    memcpy(number, args->number, sizeof number);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; i++) {
        real value[SIM_SPECIES_MAX] = {u0[i], u1[i]};
        diffusion_heun(model, number, h, value);
        u0[i] = value[0];
        if (two)
            u1[i] = value[1];
    }
}

/* --- compiled for different processors ---------------------------------------------- */

struct variant {
    bool (*supported)(void);
    void (*solve)(enum sim_reaction, const struct diffusion_args *,
                  const struct diffusion_sweep *, const struct bundle *);
    void (*half)(enum sim_reaction, const struct diffusion_args *, int, const real *,
                 const real *, int64_t, real *);
    struct largest (*residual)(enum sim_reaction, const struct diffusion_args *, int,
                               const real *, const real *, int64_t);
    void (*react)(enum sim_reaction, const struct diffusion_args *, real, real *const *,
                  int64_t, int64_t);
};

#define CASE(MODEL)                            \
    case MODEL:                                \
        react_loop(MODEL, a, h, u, c0, count); \
        break;

#define VARIANT(isa, attributes)                                                       \
    attributes static void solve_##isa(                                                \
        enum sim_reaction model, const struct diffusion_args *a,                       \
        const struct diffusion_sweep *w, const struct bundle *b)                       \
    {                                                                                  \
        solve(model, a, w, b);                                                         \
    }                                                                                  \
    attributes static void half_##isa(                                                 \
        enum sim_reaction model, const struct diffusion_args *a, int s,                \
        const real *from, const real *row, int64_t j, real *to)                        \
    {                                                                                  \
        half_row(model, a, s, from, row, j, to);                                       \
    }                                                                                  \
    attributes static struct largest residual_##isa(                                   \
        enum sim_reaction model, const struct diffusion_args *a, int s, const real *u, \
        const real *rhs, int64_t j)                                                    \
    {                                                                                  \
        return residual_row(model, a, s, u, rhs, j);                                   \
    }                                                                                  \
    attributes static void react_##isa(enum sim_reaction model,                        \
                                       const struct diffusion_args *a, real h,         \
                                       real *const *u, int64_t c0, int64_t count)      \
    {                                                                                  \
        switch (model) {                                                               \
            CASE(SIM_FISHER)                                                           \
            CASE(SIM_BISTABLE)                                                         \
            CASE(SIM_ALLEN_CAHN)                                                       \
            CASE(SIM_GRAY_SCOTT)                                                       \
            CASE(SIM_FITZHUGH_NAGUMO)                                                  \
            CASE(SIM_SCHNAKENBERG)                                                     \
            CASE(SIM_BRUSSELATOR)                                                      \
            CASE(SIM_BARKLEY)                                                          \
        default:                                                                       \
            break;                                                                     \
        }                                                                              \
    }

static bool always(void)
{
    return true;
}

VARIANT(plain, )

#ifdef __x86_64__
VARIANT(avx2, __attribute__((target("avx2,fma"))))

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

static const struct variant variants[] = {
#ifdef __x86_64__
    {has_avx2, solve_avx2, half_avx2, residual_avx2, react_avx2},
#endif
    {always, solve_plain, half_plain, residual_plain, react_plain},
};

static const struct variant *best_variant(void)
{
    const struct variant *v = variants;
    while (!v->supported())
        v++;
    return v;
}

static bool worth_threads(const struct sim_diffusion_system *system)
{
    return system->count * system->nx * system->ny >= DIFFUSION_PARALLEL_FROM;
}

/* --- operations --------------------------------------------------------------------- */

/* Memory of one thread for lines of n cells. */
static real *bundle_new(struct bundle *b)
{
    const size_t rows = (size_t)(b->constant ? 3 : b->n), n = (size_t)b->n;
    const size_t reals = (3 * rows + 3 * n) * LANES;
    real *all = aligned_alloc(64, (reals * sizeof(real) + 63) / 64 * 64);
    b->lower = all;
    b->middle = all + rows * LANES;
    b->upper = all + 2 * rows * LANES;
    b->y = all + 3 * rows * LANES;
    b->p = b->y + n * LANES;
    b->z = b->p + n * LANES;
    return all;
}

enum sim_status diffusion_sweep_cpu(struct sim_diffusion_system *system,
                                    const struct sim_diffusion_sweep *sweep)
{
    const struct diffusion_args a = diffusion_args_of(system);
    const struct diffusion_sweep w = diffusion_sweep_of(sweep);
    const struct variant *variant = best_variant();
    const int64_t n = w.axis ? a.ny : a.nx, lines = w.axis ? a.nx : a.ny;
    const int64_t bundles = (lines + LANES - 1) / LANES;
    const bool periodic = w.axis ? a.periodic_y : a.periodic_x;
    const bool constant = diffusion_is_constant(system);
    bool no_memory = false;
#pragma omp parallel num_threads(system->device->threads) if (worth_threads(system))
    {
        struct bundle b = {.n = n, .constant = constant, .cyclic = periodic && n > 1};
        real *memory = bundle_new(&b);
        if (!memory) {
#pragma omp atomic write
            no_memory = true;
        }
#pragma omp for schedule(static)
        for (int64_t k = 0; k < bundles * system->count; k++) {
            if (!memory)
                continue;
            b.first = k % bundles * LANES;
            b.member = k / bundles * a.member;
            b.lanes = lines - b.first < LANES ? (int)(lines - b.first) : LANES;
            variant->solve(system->reaction, &a, &w, &b);
        }
        free(memory);
    }
    SIM_TRY(sim_device_launch(system->device, "diffusion: lines"));
    return no_memory ? sim_fail(SIM_HOST_MEMORY, "diffusion: no memory for lines")
                     : SIM_OK;
}

enum sim_status diffusion_half_cpu(struct sim_diffusion_system *system, int species,
                                   const void *from, const void *row, void *to)
{
    const struct diffusion_args a = diffusion_args_of(system);
    const struct variant *variant = best_variant();
#pragma omp parallel for num_threads(system->device->threads) \
    schedule(static) if (worth_threads(system))
    for (int64_t k = 0; k < system->count * a.ny; k++) {
        const int64_t member = k / a.ny * a.member;
        variant->half(system->reaction, &a, species, (const real *)from + member, row,
                      k % a.ny, (real *)to + member);
    }
    return sim_device_launch(system->device, "diffusion: lines");
}

enum sim_status diffusion_residual_cpu(struct sim_diffusion_system *system, int species,
                                       const void *u, const void *rhs, double *residual,
                                       double *size)
{
    const struct diffusion_args a = diffusion_args_of(system);
    const struct variant *variant = best_variant();
    struct largest most = {0, 0};
#pragma omp parallel for num_threads(system->device->threads) \
    schedule(static) if (worth_threads(system))
    for (int64_t k = 0; k < system->count * a.ny; k++) {
        const int64_t member = k / a.ny * a.member;
        const struct largest row =
            variant->residual(system->reaction, &a, species, (const real *)u + member,
                              (const real *)rhs + member, k % a.ny);
#pragma omp critical(diffusion_residual)
        {
            most.residual = larger(most.residual, row.residual);
            most.size = larger(most.size, row.size);
        }
    }
    SIM_TRY(sim_device_launch(system->device, "diffusion: lines"));
    *residual = most.residual, *size = most.size;
    return SIM_OK;
}

enum sim_status diffusion_react_cpu(struct sim_diffusion_system *system, double duration)
{
    const struct diffusion_args a = diffusion_args_of(system);
    const struct variant *variant = best_variant();
#pragma omp parallel for num_threads(system->device->threads) \
    schedule(static) if (worth_threads(system))
    for (int64_t k = 0; k < system->count * a.ny; k++) {
        const int64_t member = k / a.ny * a.member, j = k % a.ny;
        real *u[SIM_SPECIES_MAX];
        for (int s = 0; s < SIM_SPECIES_MAX; s++)
            u[s] =
                (real *)system->now[s < system->species ? s : 0] + member + j * a.pitch;
        for (int64_t i = 0, end; i < a.nx; i = end) {
            const bool masked = diffusion_masked(&a, i, j);
            for (end = i + 1; end < a.nx && diffusion_masked(&a, end, j) == masked;)
                end++;
            if (!masked)
                variant->react(system->reaction, &a, (real)duration, u, i, end - i);
        }
    }
    return sim_device_launch(system->device, "diffusion: reaction");
}
