/* diffusion_cuda.cu - explicit diffusion and reaction on the GPU: the table of
 * operations, the choice of a variant, and one pass over memory a step.
 *
 * Equation: diffusion_math.h. plain_kernel: a thread updates four neighbouring cells in
 * ROWS rows; it first loads all rows it needs, so that enough bytes are under way, and
 * gets its neighbours along x from the next lanes. A block is 2 by 4 warps: 256 columns,
 * 4 ROWS rows. Memory: one read and one write of the field, and 2/(4 ROWS) + 2/64 of a
 * read from the second cache. What is outside a wall or round the corner takes the place
 * of a neighbour in the threads there. general_kernel is the rule for any cell, one a
 * thread: masks, D and sources as fields. */
#include "diffusion_cuda.h"

#include <stdio.h>

#define ACROSS 2 /* warps of a block along x */
#define UP     4 /* and along y */
#define SPAN   (ACROSS * 128)

/* Where a thread's cells are, and what is beside them. */
struct spot {
    int64_t i, j0;          /* the first cell */
    int64_t look_w, look_e; /* columns of other warps' cells that it needs; -1: none */
    bool west, east;        /* a wall at the first cell, at the cell `last` */
    bool ring;              /* the cell `last` has column 0 beside it */
    int last;
};

static __device__ __forceinline__ struct spot find_spot(const struct diffusion_args &a,
                                                        int64_t i, int64_t j0, int lane)
{
    struct spot p;
    p.i = i, p.j0 = j0;
    p.look_w = lane == 0 && i > 0 && i < a.nx ? i - 1 : -1;
    p.look_e = lane == 31 && i + 4 < a.nx ? i + 4 : -1;
    p.last = (int)((a.nx - 1) % 4);
    p.west = i == 0;
    p.east = a.nx - 1 >= i && a.nx - 1 < i + 4;
    if (a.periodic_x && p.west)
        p.look_w = a.nx - 1;
    p.ring = a.periodic_x && p.east;
    p.west = p.west && !a.periodic_x, p.east = p.east && !a.periodic_x;
    return p;
}

/* The row of index j, which may be one outside the grid. */
static __device__ __forceinline__ int64_t row_of(const struct diffusion_args &a,
                                                 int64_t j)
{
    if (a.periodic_y)
        return j < 0 ? a.ny - 1 : j == a.ny ? 0 : j < a.ny ? j : a.ny - 1;
    return j < 0 ? 0 : j < a.ny ? j : a.ny - 1;
}

/* Put what is outside the south and north walls into the rows there; row[r + 1] is
 * j0 + r. */
template <int S, int ROWS>
static __device__ __forceinline__ void
dress_rows(const struct diffusion_args &a, const struct spot &p, const real *signal,
           struct quad (&row)[ROWS + 2][S])
{
    if (p.j0 == 0)
#pragma unroll
        for (int s = 0; s < S; s++)
#pragma unroll
            for (int k = 0; k < 4; k++)
                row[0][s].v[k] =
                    outside(&a, s, SIM_SOUTH, (int)p.i + k, signal, row[1][s].v[k],
                            a.ny > 1 ? row[2][s].v[k] : row[1][s].v[k]);
    if (p.j0 + ROWS >= a.ny)
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            if (p.j0 + r == a.ny - 1)
#pragma unroll
                for (int s = 0; s < S; s++)
#pragma unroll
                    for (int k = 0; k < 4; k++)
                        row[r + 2][s].v[k] = outside(
                            &a, s, SIM_NORTH, (int)p.i + k, signal, row[r + 1][s].v[k],
                            a.ny > 1 ? row[r][s].v[k] : row[r + 1][s].v[k]);
}

/* What is west of a row's first cell and east of each. `at`: the row in memory. */
static __device__ __forceinline__ void beside(const struct diffusion_args &a,
                                              const struct spot &p, const real *signal,
                                              const real *at, int s, int64_t j,
                                              const struct quad &row, real *west,
                                              real (&east)[4])
{
    real w = __shfl_up_sync(EVERY_LANE, row.v[3], 1);
    east[0] = row.v[1], east[1] = row.v[2], east[2] = row.v[3];
    east[3] = __shfl_down_sync(EVERY_LANE, row.v[0], 1);
    if (p.look_w >= 0)
        w = __ldg(at + p.look_w);
    if (p.look_e >= 0)
        east[3] = __ldg(at + p.look_e);
    if (p.east || p.ring) {
        real u0 = row.v[0], u1 = w, g;
#pragma unroll
        for (int k = 1; k < 4; k++)
            if (p.last == k)
                u0 = row.v[k], u1 = row.v[k - 1];
        g = p.ring ? __ldg(at)
                   : outside(&a, s, SIM_EAST, (int)j, signal, u0, a.nx > 1 ? u1 : u0);
#pragma unroll
        for (int k = 0; k < 4; k++)
            east[k] = p.last == k ? g : east[k];
    }
    if (p.west)
        w = outside(&a, s, SIM_WEST, (int)j, signal, row.v[0],
                    a.nx > 1 ? row.v[1] : row.v[0]);
    *west = w;
}

template <int MODEL_, bool ISO, int ROWS>
static __global__ void __launch_bounds__(32 * ACROSS * UP,
                                         MODEL_ >= SIM_GRAY_SCOTT ? 2 : 3)
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
        const struct spot p = find_spot(a, i, j0, lane);
        struct quad row[ROWS + 2][S];
#pragma unroll
        for (int r = 0; r < ROWS + 2; r++)
#pragma unroll
            for (int s = 0; s < S; s++)
                row[r][s] = load_quad(a.now[s] + member +
                                      row_of(a, j0 + r - 1) * a.pitch + i_load);
        if (!a.periodic_y)
            dress_rows<S, ROWS>(a, p, signal, row);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const int64_t j = j0 + r < a.ny ? j0 + r : a.ny - 1;
            real out[S][4], w[S], e[S][4];
#pragma unroll
            for (int s = 0; s < S; s++)
                beside(a, p, signal, a.now[s] + member + j * a.pitch, s, j, row[r + 1][s],
                       &w[s], e[s]);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                struct diffusion_star u;
                real value[SIM_SPECIES_MAX];
#pragma unroll
                for (int s = 0; s < S; s++) {
                    u.c[s] = row[r + 1][s].v[k];
                    u.s[s] = row[r][s].v[k], u.n[s] = row[r + 2][s].v[k];
                    u.w[s] = k > 0 ? row[r + 1][s].v[k > 0 ? k - 1 : 0] : w[s];
                    u.e[s] = e[s][k];
                }
                diffusion_cell(MODEL, ISO, a.has_source, &a, signal, &u, value);
#pragma unroll
                for (int s = 0; s < S; s++)
                    out[s][k] = value[s];
            }
            if (i < a.nx && j0 + r < a.ny)
#pragma unroll
                for (int s = 0; s < S; s++) /* the pitch leaves room for four */
                    stream_quad(a.next[s] + member + j * a.pitch + i, out[s]);
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

/* The deepest pass worth making: measured, see docs/performance.md. */
static int depth_best(const struct sim_diffusion_system *system)
{
    const int64_t cells = system->nx * system->ny * system->count;
    if (system->species > 1)
        return cells < 30000000 ? 4 : 8;
    if (sizeof(real) == 8)
        return cells < 6000000 ? 4 : 8;
    return cells < 6000000 ? 6 : cells < 150000000 ? 8 : 12;
}

/* Few members leave most of the GPU idle, but many steps in one launch win back more. */
#define STEPS_WORTH 4

struct choice {
    enum sim_diffusion_variant variant;
    int depth;
    struct diffusion_cluster cluster;
};

/* Without a wish: by the number of members, and what each variant can. */
static void choose_best(const struct sim_diffusion_system *system, int64_t steps,
                        struct choice *out)
{
    const bool small = diffusion_small_fits(system);
    /* one multiprocessor a member wins only where the members fill the GPU */
    const bool many = system->count * 8 > system->device->multiprocessors;
    if (steps < STEPS_WORTH)
        out->variant = steps > 1 && out->depth ? SIM_DIFFUSION_BLOCKED : out->variant;
    else if (small && many)
        out->variant = SIM_DIFFUSION_SMALL;
    else if (!many && diffusion_cluster_plan(system, &out->cluster))
        out->variant = SIM_DIFFUSION_CLUSTER;
    else if (small)
        out->variant = SIM_DIFFUSION_SMALL;
    else if (out->depth)
        out->variant = SIM_DIFFUSION_BLOCKED;
}

static enum sim_status cannot(const struct sim_diffusion_system *system,
                              const char *variant, const char *why)
{
    SIM_TRY(sim_cuda_alive(system->device));
    return sim_fail(SIM_BAD_ARGUMENT, "diffusion: the variant %s cannot do this: %s",
                    variant, why);
}

static enum sim_status choose(const struct sim_diffusion_system *system, int64_t steps,
                              struct choice *out)
{
    const char *const fields =
        "the grid is too large, or D, sources or a mask are fields";
    *out = {SIM_DIFFUSION_PLAIN, 1, {0, 0, 0, 0, 0, 0}};
    out->depth = diffusion_blocked_depth(
        system, system->tuning.depth ? system->tuning.depth : depth_best(system));
    const bool by_itself = system->tuning.variant == SIM_DIFFUSION_AUTO;
    switch (system->tuning.variant) {
    case SIM_DIFFUSION_SMALL:
        if (!diffusion_small_fits(system))
            return cannot(system, "small", fields);
        out->variant = SIM_DIFFUSION_SMALL;
        break;
    case SIM_DIFFUSION_CLUSTER:
        if (!diffusion_cluster_plan(system, &out->cluster))
            return cannot(system, "cluster",
                          "the GPU has no clusters, the grid is too large, or "
                          "D, sources or a mask are fields");
        out->variant = SIM_DIFFUSION_CLUSTER;
        break;
    case SIM_DIFFUSION_BLOCKED:
        if (!out->depth)
            return cannot(system, "blocked",
                          "D, sources or a mask are fields, or there is a "
                          "reaction with unequal axes or sources");
        out->variant = SIM_DIFFUSION_BLOCKED;
        break;
    default:
        break;
    }
    if (by_itself)
        choose_best(system, steps, out);
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

/* A launch of many steps must end soon: interrupts are looked at between launches.
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
    if (choice->variant == SIM_DIFFUSION_CLUSTER) {
        *done = most < SMALL_STEPS ? most : SMALL_STEPS;
        return diffusion_cluster_cuda(system, &choice->cluster, *done, signal);
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
    else if (choice.variant == SIM_DIFFUSION_CLUSTER)
        snprintf(text, size,
                 "a cluster of %d multiprocessors a grid, %d step%s between "
                 "exchanges",
                 choice.cluster.blocks, choice.cluster.exchange,
                 choice.cluster.exchange == 1 ? "" : "s");
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
