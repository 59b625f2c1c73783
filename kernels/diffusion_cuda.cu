/* diffusion_cuda.cu - explicit diffusion and reaction on the GPU: the table of
 * operations, the choice of a variant, and one pass over memory a step.
 *
 * Equation: diffusion_math.h. plain_kernel: a thread updates four neighbouring cells in
 * ROWS rows; it first loads all rows it needs, so that enough bytes are under way, and
 * gets its neighbours along x from the next lanes. A block is 2 by 4 warps: 256 columns,
 * 4 ROWS rows. Memory: one read and one write of the field, and 2/(4 ROWS) + 2/64 of a
 * read from the second cache. Cells at walls and at the ends of a periodic row are done
 * one by one, after the others, by the rule for any cell. general_kernel is that rule for
 * every cell: masks, D and sources as fields. */
#include "diffusion_cuda.h"

#include <stdio.h>

#define ACROSS 2 /* warps of a block along x */
#define UP     4 /* and along y */
#define SPAN   (ACROSS * 128)

template <int MODEL_, bool ISO, int ROWS>
static __global__ void __launch_bounds__(32 * ACROSS * UP)
    plain_kernel(const __grid_constant__ struct diffusion_args a, const real *signal,
                 int64_t row_blocks)
{
    constexpr enum sim_reaction MODEL = (enum sim_reaction)MODEL_;
    constexpr int S = MODEL_ >= SIM_GRAY_SCOTT ? 2 : 1;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t member = (int64_t)blockIdx.z * a.member;
    const int64_t i = (int64_t)blockIdx.x * SPAN + (warp % ACROSS) * 128 + 4 * lane;
    const int64_t i_load = i < a.pitch ? i : a.pitch - 4;
    for (int64_t block = blockIdx.y; block < row_blocks; block += gridDim.y) {
        const int64_t j0 = (block * UP + warp / ACROSS) * ROWS;
        struct quad row[ROWS + 2][S];
        real w[ROWS][S], e[ROWS][S];
#pragma unroll
        for (int r = 0; r < ROWS + 2; r++)
#pragma unroll
            for (int s = 0; s < S; s++) {
                int64_t j = j0 + r - 1;
                j = j < 0 ? 0 : j >= a.ny ? a.ny - 1 : j;
                row[r][s] = load_quad(a.now[s] + member + j * a.pitch + i_load);
            }
            /* the lanes at the warp's ends look into the strips beside it */
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#pragma unroll
            for (int s = 0; s < S; s++) {
                const int64_t j = j0 + r < a.ny ? j0 + r : a.ny - 1;
                const real *at = a.now[s] + member + j * a.pitch;
                w[r][s] = __shfl_up_sync(EVERY_LANE, row[r + 1][s].v[3], 1);
                e[r][s] = __shfl_down_sync(EVERY_LANE, row[r + 1][s].v[0], 1);
                if (lane == 0)
                    w[r][s] = __ldg(at + (i > 0 && i < a.nx ? i - 1 : 0));
                if (lane == 31)
                    e[r][s] = __ldg(at + (i + 4 < a.nx ? i + 4 : 0));
            }
        const bool end = i == 0 || i + 4 >= a.nx;
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const int64_t j = j0 + r;
            real out[S][4];
#pragma unroll
            for (int k = 0; k < 4; k++) {
                struct diffusion_star u;
                real value[SIM_SPECIES_MAX];
#pragma unroll
                for (int s = 0; s < S; s++) {
                    u.c[s] = row[r + 1][s].v[k];
                    u.s[s] = row[r][s].v[k], u.n[s] = row[r + 2][s].v[k];
                    u.w[s] = k > 0 ? row[r + 1][s].v[k > 0 ? k - 1 : 0] : w[r][s];
                    u.e[s] = k < 3 ? row[r + 1][s].v[k < 3 ? k + 1 : 3] : e[r][s];
                }
                diffusion_cell(MODEL, ISO, a.has_source, &a, signal, &u, value);
#pragma unroll
                for (int s = 0; s < S; s++)
                    out[s][k] = value[s];
            }
            if (!end && i < a.nx && j > 0 && j < a.ny - 1)
#pragma unroll
                for (int s = 0; s < S; s++)
                    store_quad(a.next[s] + member + j * a.pitch + i, out[s]);
        }
        for (int r = 0; r < ROWS; r++) {
            const int64_t j = j0 + r;
            if (j < a.ny && i < a.nx && (end || j == 0 || j == a.ny - 1))
                for (int k = 0; k < 4; k++)
                    if (i + k < a.nx)
                        diffusion_constant(MODEL, &a, signal, member, i + k, j);
        }
    }
}

template <int MODEL>
static __global__ void __launch_bounds__(256)
    general_kernel(const __grid_constant__ struct diffusion_args a, const real *signal)
{
    const int64_t i = (int64_t)blockIdx.x * 32 + threadIdx.x;
    const int64_t member = (int64_t)blockIdx.z * a.member;
    for (int64_t j = (int64_t)blockIdx.y * 8 + threadIdx.y; j < a.ny; j += gridDim.y * 8)
        if (i < a.nx)
            diffusion_general((enum sim_reaction)MODEL, &a, signal, member, i, j);
}

/* --- which kernel ------------------------------------------------------------------- */

struct entry {
    void (*plain)(struct diffusion_args, const real *, int64_t), /* r_x = r_y */
        (*axes)(struct diffusion_args, const real *, int64_t);
    void (*general)(struct diffusion_args, const real *);
    int rows;
};

#define ENTRY(MODEL, ROWS)                                                 \
    {                                                                      \
        plain_kernel<MODEL, true, ROWS>, plain_kernel<MODEL, false, ROWS>, \
            general_kernel<MODEL>, ROWS                                    \
    }

/* In the order of enum sim_reaction. */
static const struct entry entries[] = {
    ENTRY(SIM_REACTION_NONE, 8),   ENTRY(SIM_DECAY, 8),        ENTRY(SIM_FISHER, 8),
    ENTRY(SIM_BISTABLE, 8),        ENTRY(SIM_ALLEN_CAHN, 8),   ENTRY(SIM_GRAY_SCOTT, 4),
    ENTRY(SIM_FITZHUGH_NAGUMO, 4), ENTRY(SIM_SCHNAKENBERG, 4), ENTRY(SIM_BRUSSELATOR, 4),
    ENTRY(SIM_BARKLEY, 4),
};

static unsigned at_most(int64_t blocks, unsigned limit)
{
    return blocks < limit ? (unsigned)blocks : limit;
}

static enum sim_status plain_pass(const struct sim_diffusion_system *system,
                                  const real *signal)
{
    const struct diffusion_args a = diffusion_args_of(system);
    const struct entry *e = &entries[system->reaction];
    if (!diffusion_is_constant(system)) {
        const dim3 grid((unsigned)((a.nx + 31) / 32), at_most((a.ny + 7) / 8, 65535),
                        (unsigned)system->count);
        return sim_launch(system->device, "diffusion", e->general, grid, dim3(32, 8), 0,
                          a, signal);
    }
    const int64_t row_blocks = (a.ny + UP * e->rows - 1) / (UP * e->rows);
    const dim3 grid((unsigned)((a.nx + SPAN - 1) / SPAN), at_most(row_blocks, 65535),
                    (unsigned)system->count);
    return sim_launch(system->device, "diffusion", a.isotropic ? e->plain : e->axes, grid,
                      dim3(32 * ACROSS * UP), 0, a, signal, row_blocks);
}

/* --- the choice of a variant -------------------------------------------------------- */

/* The deepest pass worth making, by cells of all members. Below the last line a launch
 * costs more than the steps in it, and depth is what hides it. */
static int best_depth(const struct sim_diffusion_system *system)
{
    const double cells = (double)system->nx * (double)system->ny * (double)system->count;
    if (system->tuning.depth)
        return system->tuning.depth;
    /* measured on an H200 at 2048^2 to 16384^2, with the rows of chunk_rows */
    return sizeof(real) == 4 && cells >= 1.5e8 ? 8 : 4;
}

struct choice {
    enum sim_diffusion_variant variant;
    int depth;
};

static enum sim_status cannot(const char *variant, const char *why)
{
    return sim_fail(SIM_BAD_ARGUMENT, "diffusion: the variant %s cannot do this: %s",
                    variant, why);
}

static enum sim_status choose(const struct sim_diffusion_system *system, int64_t steps,
                              struct choice *out)
{
    const enum sim_diffusion_variant asked = system->tuning.variant;
    const int blocks = diffusion_small_blocks(system);
    const int depth = diffusion_blocked_depth(system, best_depth(system));
    *out = {SIM_DIFFUSION_PLAIN, 1};
    switch (asked) {
    case SIM_DIFFUSION_SMALL:
    case SIM_DIFFUSION_CLUSTER:
        if (blocks != 1)
            return cannot(asked == SIM_DIFFUSION_SMALL ? "small" : "cluster",
                          "the grid is too large, or D, sources or a mask are fields");
        out->variant = SIM_DIFFUSION_SMALL;
        return SIM_OK;
    case SIM_DIFFUSION_BLOCKED:
        if (!depth)
            return cannot("blocked", "D, sources or a mask are fields, or there is a "
                                     "reaction with unequal axes or sources");
        *out = {SIM_DIFFUSION_BLOCKED, depth};
        return SIM_OK;
    case SIM_DIFFUSION_PLAIN:
        return SIM_OK;
    default:
        break;
    }
    /* few members leave most of the GPU idle, but many steps in one launch win back more
     */
    if (blocks == 1 && steps >= 4)
        *out = {SIM_DIFFUSION_SMALL, 1};
    else if (depth && steps > 1)
        *out = {SIM_DIFFUSION_BLOCKED, depth};
    return SIM_OK;
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

/* A launch of the small variant must end soon: interrupts are looked at between launches.
 */
#define SMALL_STEPS 16384

/* One launch: at most `most` steps, how many is written to *done. */
static enum sim_status one_pass(const struct sim_diffusion_system *system,
                                const struct choice *choice, int64_t most,
                                const real *signal, int64_t *done)
{
    *done = 1;
    if (choice->variant == SIM_DIFFUSION_SMALL) {
        *done = most < SMALL_STEPS ? most : SMALL_STEPS;
        return diffusion_small_cuda(system, *done, signal);
    }
    if (choice->variant == SIM_DIFFUSION_BLOCKED) {
        const int depth =
            diffusion_blocked_depth(system, most < choice->depth ? most : choice->depth);
        if (depth) {
            *done = depth;
            return diffusion_blocked_cuda(system, depth, signal);
        }
    }
    return plain_pass(system, signal);
}

static enum sim_status diffusion_advance_cuda(struct sim_diffusion_system *system,
                                              int64_t steps)
{
    struct choice choice;
    const real *signal = (const real *)system->signal;
    SIM_TRY(choose(system, steps, &choice));
    for (int64_t left = steps, done; left > 0; left -= done) {
        SIM_TRY(sim_check_interrupt());
        SIM_TRY(one_pass(system, &choice, left, signal, &done));
        swap(system);
        signal += done * system->signal_stride;
    }
    return SIM_OK;
}

static enum sim_status diffusion_describe_cuda(const struct sim_diffusion_system *system,
                                               int64_t steps, char *text, size_t size)
{
    struct choice choice;
    SIM_TRY(choose(system, steps, &choice));
    if (choice.variant == SIM_DIFFUSION_SMALL)
        snprintf(text, size, "small, a multiprocessor a grid");
    else if (choice.variant == SIM_DIFFUSION_BLOCKED)
        snprintf(text, size, "blocked, %d steps a pass", choice.depth);
    else
        snprintf(text, size, "plain");
    return SIM_OK;
}

static const struct sim_diffusion_ops diffusion_ops = {
#ifdef SIM_DOUBLE
    .name = "cuda double",
#else
    .name = "cuda single",
#endif
    .real_bytes = sizeof(real),
    .sweep_scratch = true,
    .advance = diffusion_advance_cuda,
    .describe = diffusion_describe_cuda,
    .sweep = diffusion_sweep_cuda,
    .half = diffusion_half_cuda,
    .react = diffusion_react_cuda,
    .residual = diffusion_residual_cuda,
    .widen = diffusion_widen_cuda,
    .narrow = diffusion_narrow_cuda,
    .product = diffusion_product_cuda,
    .modal = diffusion_modal_cuda,
};

#define TABLE SIM_TYPED(diffusion_ops_cuda)
extern "C" const struct sim_diffusion_ops *const TABLE = &diffusion_ops;

#ifndef SIM_DOUBLE
extern "C" const struct sim_diffusion_ops *const diffusion_ops_cuda_f64;
extern "C" const struct sim_diffusion_ops *sim_diffusion_ops_cuda(bool is_double)
{
    return is_double ? diffusion_ops_cuda_f64 : diffusion_ops_cuda_f32;
}
#endif
