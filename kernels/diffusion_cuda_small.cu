/* diffusion_cuda_small.cu - a small grid held by one multiprocessor for all steps; a
 * member a block.
 *
 * Equation: diffusion_math.h. The grid lies in registers: a warp has 128 columns, four a
 * lane, and ROWS rows; warps are ordered first along x, then along y. A step needs from
 * other warps only the rows below and above, and where there are several warps along x,
 * or x is periodic, the columns beside: each warp leaves copies of its outer rows and
 * columns in shared memory, in one of two sets by turns, so that one barrier a step is
 * enough.
 *
 * Walls: as everywhere, the cell outside follows diffusion_outside; same bits as one pass
 * a step. Cost per cell and step of pure diffusion: 5 flops' instructions, 2/(4)
 * shuffles, and 8/ROWS reals through shared memory; one barrier. Registers: 4 ROWS a
 * species.
 *
 * Not here: grids beyond one multiprocessor, masks, D or sources as fields. */
#include "diffusion_cuda.h"

/* What warps show each other: [set][species]. */
struct shown {
    real *low, *high;  /* [up][across * 128]: first and last row of each row of warps */
    real *west, *east; /* [across][rows in all]: first and last column of each warp */
};

template <int MODEL_, bool ISO_, int ROWS_, int THREADS_>
struct form {
    static constexpr enum sim_reaction MODEL = (enum sim_reaction)MODEL_;
    static constexpr bool ISO = ISO_;
    static constexpr int ROWS = ROWS_, THREADS = THREADS_,
                         S = MODEL_ >= SIM_GRAY_SCOTT ? 2 : 1;
};

struct place {
    int nx, ny, across, up; /* warps */
    int warp_x, warp_y, lane;
    int gx, j0;             /* the thread's first cell */
    int rows;               /* of the warp's that lie in the grid */
    int below, above;       /* rows of warps to look at; -1: a wall */
    int beside_w, beside_e; /* columns of warps; -1: a wall */
    bool first, last;       /* lane: at the warp's first, last column */
    int last_k;             /* which of the four cells is the warp's last column */
    bool simple;            /* x: one warp, uniform walls, a multiple of four columns */
};

static __device__ struct place find_place(const struct diffusion_args &a, int across,
                                          int up, int rows_each)
{
    struct place p;
    p.nx = (int)a.nx, p.ny = (int)a.ny, p.across = across, p.up = up;
    p.lane = threadIdx.x % 32;
    p.warp_x = threadIdx.x / 32 % across, p.warp_y = threadIdx.x / 32 / across;
    p.gx = p.warp_x * 128 + 4 * p.lane;
    p.j0 = p.warp_y * rows_each;
    p.rows = p.ny - p.j0 < rows_each ? p.ny - p.j0 : rows_each;
    p.below = p.warp_y > 0 ? p.warp_y - 1 : a.periodic_y ? up - 1 : -1;
    p.above = p.warp_y < up - 1 ? p.warp_y + 1 : a.periodic_y ? 0 : -1;
    p.beside_w = p.warp_x > 0 ? p.warp_x - 1 : a.periodic_x ? across - 1 : -1;
    p.beside_e = p.warp_x < across - 1 ? p.warp_x + 1 : a.periodic_x ? 0 : -1;
    const int end = p.warp_x == across - 1 ? p.nx - 1 : p.warp_x * 128 + 127;
    p.first = p.lane == 0;
    p.last = end >= p.gx && end < p.gx + 4;
    p.last_k = end - p.gx;
    p.simple = across == 1 && !a.periodic_x && p.nx > 1 && p.nx % 4 == 0;
    for (int s = 0; s < SIM_SPECIES_MAX; s++)
        p.simple = p.simple && a.uniform[s][SIM_WEST] && a.uniform[s][SIM_EAST];
    return p;
}

static __device__ __forceinline__ struct quad shared_quad(const real *at)
{
    struct quad out;
#ifdef SIM_DOUBLE
    const double2 low = reinterpret_cast<const double2 *>(at)[0],
                  high = reinterpret_cast<const double2 *>(at)[1];
    out.v[0] = low.x, out.v[1] = low.y, out.v[2] = high.x, out.v[3] = high.y;
#else
    const float4 all = *reinterpret_cast<const float4 *>(at);
    out.v[0] = all.x, out.v[1] = all.y, out.v[2] = all.z, out.v[3] = all.w;
#endif
    return out;
}

/* The arrays of a set and species within `all`. */
static __device__ __forceinline__ struct shown shown_at(real *all, const struct place &p,
                                                        int index, int rows_each)
{
    const int row = p.up * p.across * 128, column = p.across * p.up * rows_each;
    struct shown out;
    out.low = all + (int64_t)index * 2 * (row + column);
    out.high = out.low + row;
    out.west = out.high + row;
    out.east = out.west + column;
    return out;
}

template <class F>
static __device__ __forceinline__ void show(const struct place &p, real *all, int set,
                                            const real (&u)[F::S][F::ROWS][4])
{
    const int column = p.up * F::ROWS;
#pragma unroll
    for (int s = 0; s < F::S; s++) {
        const struct shown to = shown_at(all, p, set * F::S + s, F::ROWS);
        const int at = p.warp_y * p.across * 128 + p.gx;
        store_quad(to.low + at, u[s][0]);
        if (p.rows == F::ROWS) {
            store_quad(to.high + at, u[s][F::ROWS - 1]);
        } else {
#pragma unroll
            for (int r = 0; r < F::ROWS; r++)
                if (r == p.rows - 1)
                    store_quad(to.high + at, u[s][r]);
        }
        if (p.first && (p.beside_w >= 0 || p.beside_e >= 0))
#pragma unroll
            for (int r = 0; r < F::ROWS; r++)
                to.west[p.warp_x * column + p.j0 + r] = u[s][r][0];
        if (p.last && (p.beside_w >= 0 || p.beside_e >= 0))
#pragma unroll
            for (int r = 0; r < F::ROWS; r++)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    if (p.last_k == k)
                        to.east[p.warp_x * column + p.j0 + r] = u[s][r][k];
    }
}

static __device__ __noinline__ real tabled_wall(const struct diffusion_args *a, int s,
                                                int side, int k, const real *signal,
                                                real u0, real u1)
{
    const int n = (int)(side == SIM_WEST || side == SIM_EAST ? a->ny : a->nx);
    return diffusion_outside(a, s, side, k < n ? k : n - 1, signal, u0, u1);
}

static __device__ __forceinline__ real uniform_wall(const struct diffusion_args &a, int s,
                                                    int side, real drive, real u0,
                                                    real u1)
{
    return sim_fma(a.wall[s][side].inner, u0, sim_fma(a.wall[s][side].second, u1, drive));
}

static __device__ __forceinline__ real wall(const struct diffusion_args &a, int s,
                                            int side, int k, const real *signal,
                                            real drive, real u0, real u1)
{
    if (a.uniform[s][side])
        return uniform_wall(a, s, side, drive, u0, u1);
    return tabled_wall(&a, s, side, k, signal, u0, u1);
}

/* Neighbours of row r along x: w of its first cell, e of each, where not in the lane. */
template <class F>
static __device__ __forceinline__ void
beside(const struct diffusion_args &a, const struct place &p, const struct shown &seen,
       const real *signal, const struct drive<F> &d, int s, int r, const real (&at)[4],
       real (&w)[4], real (&e)[4])
{
    const int column = p.up * F::ROWS, j = p.j0 + r;
    w[0] = __shfl_up_sync(EVERY_LANE, at[3], 1);
    e[3] = __shfl_down_sync(EVERY_LANE, at[0], 1);
#pragma unroll
    for (int k = 0; k < 3; k++)
        w[k + 1] = at[k], e[k] = at[k + 1];
    if (p.simple) { /* selects, no branches: most of what walls cost */
        const real west = uniform_wall(a, s, SIM_WEST, d.of[s][SIM_WEST], at[0], at[1]);
        const real east = uniform_wall(a, s, SIM_EAST, d.of[s][SIM_EAST], at[3], at[2]);
        w[0] = p.first ? west : w[0];
        e[3] = p.last ? east : e[3];
        return;
    }
    if (p.first && p.beside_w >= 0)
        w[0] = seen.east[p.beside_w * column + j];
    const real west = w[0];
    if (p.first && p.beside_w < 0)
        w[0] = wall(a, s, SIM_WEST, j, signal, d.of[s][SIM_WEST], at[0],
                    p.nx > 1 ? e[0] : at[0]);
    if (p.last) {
        real u0 = at[0], u1 = west, out;
#pragma unroll
        for (int k = 1; k < 4; k++)
            if (p.last_k == k)
                u0 = at[k], u1 = at[k - 1];
        if (p.beside_e >= 0)
            out = seen.west[p.beside_e * column + j];
        else
            out = wall(a, s, SIM_EAST, j, signal, d.of[s][SIM_EAST], u0,
                       p.nx > 1 ? u1 : u0);
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (p.last_k == k)
                e[k] = out;
    }
}

/* The row below the warp's first, and the row above its last. Where the warp's rows end
 * before its registers do, that row also goes behind the last. */
template <class F>
static __device__ __forceinline__ void
around(const struct diffusion_args &a, const struct place &p, const struct shown &seen,
       const real *signal, const struct drive<F> &d, int s, real (&u)[F::ROWS][4],
       real (&south)[4], real (&north)[4])
{
    const int at = p.across * 128;
    real under[4] = {0, 0, 0, 0}; /* the row below the first, not replaced by a wall's */
    if (p.below >= 0) {
        const struct quad q = shared_quad(seen.high + p.below * at + p.gx);
#pragma unroll
        for (int k = 0; k < 4; k++)
            under[k] = south[k] = q.v[k];
    }
    if (p.above >= 0) {
        const struct quad q = shared_quad(seen.low + p.above * at + p.gx);
#pragma unroll
        for (int k = 0; k < 4; k++)
            north[k] = q.v[k];
    }
    if (p.below < 0) {
#pragma unroll
        for (int k = 0; k < 4; k++)
            south[k] = wall(a, s, SIM_SOUTH, p.gx + k, signal, d.of[s][SIM_SOUTH],
                            u[0][k], p.ny == 1 ? u[0][k] : u[1][k]);
    }
    if (p.above < 0) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            real u0 = u[0][k], u1 = under[k];
#pragma unroll
            for (int r = 1; r < F::ROWS; r++)
                if (r == p.rows - 1)
                    u0 = u[r][k], u1 = u[r - 1][k];
            north[k] = wall(a, s, SIM_NORTH, p.gx + k, signal, d.of[s][SIM_NORTH], u0,
                            p.ny == 1 ? u0 : u1);
        }
    }
    if (p.rows < F::ROWS) {
#pragma unroll
        for (int r = 1; r < F::ROWS; r++)
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (r == p.rows)
                    u[r][k] = north[k];
    }
}

/* One step of the warp's cells. */
template <class F>
static __device__ __forceinline__ void
step(const struct diffusion_args &a, const struct place &p, real *all, int set,
     const real *signal, const struct drive<F> &d, real (&u)[F::S][F::ROWS][4])
{
    real south[F::S][4], north[F::S][4];
    struct shown seen[F::S];
#pragma unroll
    for (int s = 0; s < F::S; s++) {
        seen[s] = shown_at(all, p, set * F::S + s, F::ROWS);
        around<F>(a, p, seen[s], signal, d, s, u[s], south[s], north[s]);
    }
#pragma unroll
    for (int r = 0; r < F::ROWS; r++) {
        real w[F::S][4], e[F::S][4];
#pragma unroll
        for (int s = 0; s < F::S; s++)
            beside<F>(a, p, seen[s], signal, d, s, r, u[s][r], w[s], e[s]);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            struct diffusion_star star;
            real out[SIM_SPECIES_MAX];
#pragma unroll
            for (int s = 0; s < F::S; s++) {
                star.c[s] = u[s][r][k], star.w[s] = w[s][k], star.e[s] = e[s][k];
                star.s[s] = south[s][k];
                star.n[s] =
                    r + 1 < F::ROWS ? u[s][r + 1 < F::ROWS ? r + 1 : r][k] : north[s][k];
            }
            diffusion_cell(F::MODEL, F::ISO, a.has_source, &a, signal, &star, out);
#pragma unroll
            for (int s = 0; s < F::S; s++) {
                south[s][k] = u[s][r][k];
                u[s][r][k] = out[s];
            }
        }
    }
}

template <class F>
static __global__ void __launch_bounds__(F::THREADS)
    small_kernel(const __grid_constant__ struct diffusion_args a, const real *signal,
                 int64_t steps, int across, int up)
{
    extern __shared__ double space[];
    real *all = reinterpret_cast<real *>(space);
    const struct place p = find_place(a, across, up, F::ROWS);
    const int64_t member = (int64_t)blockIdx.x * a.member;
    real u[F::S][F::ROWS][4];
    const bool inside = p.gx < a.pitch;
#pragma unroll
    for (int s = 0; s < F::S; s++)
#pragma unroll
        for (int r = 0; r < F::ROWS; r++) {
            const int j = p.j0 + r < p.ny ? p.j0 + r : p.ny - 1;
            const struct quad q =
                load_quad(a.now[s] + member + j * a.pitch + (inside ? p.gx : 0));
#pragma unroll
            for (int k = 0; k < 4; k++)
                u[s][r][k] = q.v[k];
        }
    struct drive<F> d = drive_at<F>(a, signal);
    for (int64_t n = 0; n < steps; n++, signal += a.signal_stride) {
        const int set = (int)(n & 1);
        if (a.signal_stride)
            d = drive_at<F>(a, signal);
        show<F>(p, all, set, u);
        __syncthreads();
        step<F>(a, p, all, set, signal, d, u);
    }
    if (!inside)
        return;
#pragma unroll
    for (int s = 0; s < F::S; s++)
#pragma unroll
        for (int r = 0; r < F::ROWS; r++)
            if (r < p.rows)
                store_quad(a.next[s] + member + (int64_t)(p.j0 + r) * a.pitch + p.gx,
                           u[s][r]);
}

/* --- which there are ---------------------------------------------------------------- */

struct entry {
    enum sim_reaction model;
    bool isotropic;
    int rows, threads, species;
    void (*kernel)(struct diffusion_args, const real *, int64_t, int, int);
};

#define ENTRY(MODEL, ISO, ROWS, THREADS)                               \
    {                                                                  \
        MODEL, ISO, ROWS, THREADS, form<MODEL, ISO, ROWS, THREADS>::S, \
            small_kernel<form<MODEL, ISO, ROWS, THREADS>>              \
    }
#ifdef SIM_DOUBLE
#define ROWS_OF(few, many) few
#else
#define ROWS_OF(few, many) many
#endif

/* For the same model, the smaller grids first. */
static const struct entry entries[] = {
    ENTRY(SIM_REACTION_NONE, true, 2, 1024),
    ENTRY(SIM_REACTION_NONE, true, ROWS_OF(2, 4), 1024),
    ENTRY(SIM_REACTION_NONE, true, ROWS_OF(8, 16), 512),
    ENTRY(SIM_REACTION_NONE, false, ROWS_OF(8, 16), 512),
    ENTRY(SIM_DECAY, true, ROWS_OF(8, 16), 512),
    ENTRY(SIM_FISHER, true, ROWS_OF(8, 16), 512),
    ENTRY(SIM_BISTABLE, true, ROWS_OF(8, 16), 512),
    ENTRY(SIM_ALLEN_CAHN, true, ROWS_OF(8, 16), 512),
    ENTRY(SIM_GRAY_SCOTT, true, ROWS_OF(4, 8), 512),
    ENTRY(SIM_FITZHUGH_NAGUMO, true, ROWS_OF(4, 8), 512),
    ENTRY(SIM_SCHNAKENBERG, true, ROWS_OF(4, 8), 512),
    ENTRY(SIM_BRUSSELATOR, true, ROWS_OF(4, 8), 512),
    ENTRY(SIM_BARKLEY, true, ROWS_OF(4, 8), 512),
};

static size_t shared_bytes(const struct entry *e, int across, int up)
{
    const size_t row = (size_t)up * (size_t)across * 128,
                 column = (size_t)across * (size_t)up * (size_t)e->rows;
    return 4 * (size_t)e->species * (row + column) * sizeof(real);
}

/* How the warps lie; false if they or what they show are too many. */
static bool fits(const struct entry *e, const struct sim_diffusion_system *system,
                 int *across, int *up)
{
    int limit = 0;
    if (system->nx > 128 * 32 || system->ny > (int64_t)e->rows * 32)
        return false;
    *across = (int)((system->nx + 127) / 128);
    *up = (int)((system->ny + e->rows - 1) / e->rows);
    if (cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                               system->device->index) != cudaSuccess)
        return false;
    return *across * *up * 32 <= e->threads &&
           shared_bytes(e, *across, *up) <= (size_t)limit;
}

static const struct entry *find(const struct sim_diffusion_system *system, int *across,
                                int *up)
{
    const struct diffusion_args a = diffusion_args_of(system);
    if (!diffusion_is_constant(system))
        return NULL;
    for (const struct entry &e : entries)
        if (e.model == system->reaction && e.isotropic == a.isotropic &&
            fits(&e, system, across, up))
            return &e;
    return NULL;
}

bool diffusion_small_fits(const struct sim_diffusion_system *system)
{
    int across, up;
    return find(system, &across, &up) != NULL;
}

enum sim_status diffusion_small_cuda(const struct sim_diffusion_system *system,
                                     int64_t steps, const real *signal)
{
    int across, up;
    const struct entry *e = find(system, &across, &up);
    const struct diffusion_args a = diffusion_args_of(system);
    if (!e) { /* it fitted when it was chosen */
        SIM_TRY(sim_cuda_alive(system->device));
        return sim_fail(SIM_DEVICE, "small diffusion: the GPU does not tell what it has");
    }
    const size_t bytes = shared_bytes(e, across, up);
    /* repeated, and cheap: the attribute belongs to the device that is current */
    SIM_TRY(sim_cuda_status(
        system->device,
        cudaFuncSetAttribute((const void *)e->kernel,
                             cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
        "asking for shared memory"));
    return sim_launch(system->device, "small diffusion", e->kernel,
                      dim3((unsigned)system->count), dim3((unsigned)(32 * across * up)),
                      bytes, a, signal, steps, across, up);
}
