/* diffusion_cuda_cluster.cu - a small grid held by a cluster of multiprocessors for all
 * steps; compute capability 9.0 and up.
 *
 * Equation: diffusion_math.h. The grid lies in registers, as in diffusion_cuda_small.cu:
 * a warp has 128 columns, four a lane, and ROWS rows; warps are ordered first along x,
 * then along y, and the rows of warps are dealt out to the blocks of a cluster in that
 * order. Each warp also holds K rows below and K above, its neighbours', and does K steps
 * between two exchanges, while those rows go bad one by one. For an exchange each warp
 * leaves its rows in its block's shared memory, in one of two sets by turns; after a
 * barrier of the cluster the neighbours fetch what they need, from whichever block it is
 * in. What was read in one exchange is written again only after the next one's barrier,
 * so one barrier is enough; a last one keeps a block's memory alive until all have read
 * it.
 *
 * Where there are several warps along x, or x is periodic, the columns beside come from
 * the same rows in shared memory, and K is 1. Where the rows do not fill the last warps,
 * those are moved down and hold some rows that others hold too.
 *
 * Walls: as everywhere, the cell outside follows diffusion_outside; same bits as one pass
 * a step. SIMPLE forms know only uniform walls and rows that end with a lane.
 *
 * Not here: masks, D or sources as fields; grids beyond 16 multiprocessors' registers. */
#include "diffusion_cuda.h"

#define BLOCKS_PORTABLE 8
#define BLOCKS_MOST     16
#define WARPS_MOST      16

template <int MODEL_, bool ISO_, int ROWS_, int K_>
struct form {
    static constexpr enum sim_reaction MODEL = (enum sim_reaction)MODEL_;
    static constexpr bool ISO = ISO_, SIMPLE = K_ > 1;
    static constexpr int ROWS = ROWS_, K = K_, ALL = ROWS_ + 2 * K_,
                         S = MODEL_ >= SIM_GRAY_SCOTT ? 2 : 1;
    static constexpr int WARPS = K_ > 1 ? WARPS_MOST / 2 : WARPS_MOST; /* of a block */
};

struct place {
    int nx, ny, across, up; /* warps of a block, along x and y */
    int warp_x, warp_y;     /* in the block */
    int gx, j0;             /* the thread's first cell of its own */
    int low, high;          /* register rows at the south, north wall; -1 */
    int look_w, look_e;     /* columns of other warps' cells that the lane needs; -1 */
    bool active;            /* the warp has cells */
    bool west, east;        /* lane: a wall at its first cell, at its cell `last` */
    bool end;               /* lane: look_e is beside its cell `last` */
    int last;
    bool simple; /* x: one warp, uniform walls, a multiple of four columns */
};

/* --- what a cluster has beyond blocks ----------------------------------------------- */

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

static __device__ __forceinline__ int cluster_rank(void)
{
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return (int)rank;
}

static __device__ __forceinline__ int cluster_blocks(void)
{
    unsigned blocks;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    return (int)blocks;
}

/* All threads of all blocks; what was written before is seen after. */
static __device__ __forceinline__ void cluster_barrier(void)
{
    asm volatile("barrier.cluster.arrive.release.aligned;\n\t"
                 "barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
}

/* The address of a place in this block's shared memory in that of block `rank`. */
static __device__ __forceinline__ unsigned cluster_address(const real *at, int rank)
{
    unsigned out;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(out)
        : "r"((unsigned)__cvta_generic_to_shared(at)), "r"(rank));
    return out;
}

static __device__ __forceinline__ void cluster_load(unsigned from, real (&out)[4])
{
#ifdef SIM_DOUBLE
    asm volatile("ld.shared::cluster.v2.f64 {%0, %1}, [%2];"
                 : "=d"(out[0]), "=d"(out[1])
                 : "r"(from)
                 : "memory");
    asm volatile("ld.shared::cluster.v2.f64 {%0, %1}, [%2];"
                 : "=d"(out[2]), "=d"(out[3])
                 : "r"(from + 16)
                 : "memory");
#else
    asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(out[0]), "=f"(out[1]), "=f"(out[2]), "=f"(out[3])
                 : "r"(from)
                 : "memory");
#endif
}

/* --- places ------------------------------------------------------------------------- */

/* Row w of warps begins here, and holds `rows` rows. */
static __device__ __forceinline__ int first_row(int w, int rows, int ny)
{
    const int last = ny - rows;
    return w * rows < last || last < 0 ? w * rows : last;
}

template <class F>
static __device__ struct place find_place(const struct diffusion_args &a, int across,
                                          int up)
{
    struct place p;
    const int lane = threadIdx.x % 32;
    p.nx = (int)a.nx, p.ny = (int)a.ny, p.across = across, p.up = up;
    p.warp_x = threadIdx.x / 32 % across, p.warp_y = threadIdx.x / 32 / across;
    const int w = cluster_rank() * up + p.warp_y;
    p.active = w * F::ROWS < p.ny;
    p.gx = p.warp_x * 128 + 4 * lane;
    p.j0 = first_row(w, F::ROWS, p.ny);
    p.low = a.periodic_y ? -1 : F::K - p.j0;
    p.high = a.periodic_y ? -1 : p.ny - 1 - p.j0 + F::K;
    const bool edge = p.warp_x == across - 1;
    const int end = edge ? p.nx - 1 : p.warp_x * 128 + 127;
    p.end = end >= p.gx && end < p.gx + 4;
    p.last = end - p.gx;
    p.look_w = p.gx > 0 ? p.gx - 1 : a.periodic_x ? p.nx - 1 : -1;
    p.look_e = !edge ? end + 1 : a.periodic_x ? 0 : -1;
    p.west = lane == 0 && p.look_w < 0, p.east = p.end && p.look_e < 0;
    if (lane != 0)
        p.look_w = -1;
    if (!p.end)
        p.look_e = -1;
    p.simple = across == 1 && !a.periodic_x && p.nx > 1 && p.nx % 4 == 0;
    for (int s = 0; s < F::S; s++)
        p.simple = p.simple && a.uniform[s][SIM_WEST] && a.uniform[s][SIM_EAST];
    return p;
}

/* Where the warps of a block leave row r of row `warp_y` of warps. */
template <class F>
static __device__ __forceinline__ real *slot(real *all, const struct place &p, int set,
                                             int s, int warp_y, int r)
{
    const int width = p.across * 128;
    return all + ((set * F::S + s) * p.up * F::ROWS + warp_y * F::ROWS + r) * width;
}

/* The address, anywhere in the cluster, of the lane's cells in the row that register row
 * q is to hold, set 0, species 0; 0 where there is no such row. */
template <class F>
static __device__ __forceinline__ unsigned
find_row(const struct diffusion_args &a, const struct place &p, real *all, int q)
{
    int j = p.j0 + q - F::K;
    if (a.periodic_y)
        j = wrapped(j, p.ny);
    if (j < 0 || j >= p.ny)
        return 0;
    const int w = j / F::ROWS, r = j - first_row(w, F::ROWS, p.ny);
    /* never 0: that would be the shared memory of a kernel that has none */
    return cluster_address(slot<F>(all, p, 0, 0, w % p.up, r) + p.gx, w / p.up) + 1;
}

/* --- walls -------------------------------------------------------------------------- */

static __device__ __forceinline__ real uniform_wall(const struct diffusion_args &a, int s,
                                                    int side, real drive, real u0,
                                                    real u1)
{
    return sim_fma(a.wall[s][side].inner, u0, sim_fma(a.wall[s][side].second, u1, drive));
}

template <class F>
static __device__ __forceinline__ real wall(const struct diffusion_args &a,
                                            const struct drive<F> &d, int s, int side,
                                            int k, const real *signal, real u0, real u1)
{
    if (F::SIMPLE || a.uniform[s][side])
        return uniform_wall(a, s, side, d.of[s][side], u0, u1);
    return outside(&a, s, side, k, signal, u0, u1);
}

/* The walls south and north of register row q, in the place of the rows there. */
template <class F>
static __device__ __forceinline__ void
dress_rows(const struct diffusion_args &a, const struct place &p, const real *signal,
           const struct drive<F> &d, int s, int q, const real (&at)[4], real (&south)[4],
           real (&north)[4])
{
    real under[4];
#pragma unroll
    for (int k = 0; k < 4; k++)
        under[k] = south[k];
    if (q == p.low) {
#pragma unroll
        for (int k = 0; k < 4; k++)
            south[k] = wall<F>(a, d, s, SIM_SOUTH, p.gx + k, signal, at[k],
                               p.ny > 1 ? north[k] : at[k]);
    }
    if (q == p.high) {
#pragma unroll
        for (int k = 0; k < 4; k++)
            north[k] = wall<F>(a, d, s, SIM_NORTH, p.gx + k, signal, at[k],
                               p.ny > 1 ? under[k] : at[k]);
    }
}

/* West of the row's first cell and east of each. `shown`: the row in shared memory. */
template <class F>
static __device__ __forceinline__ void
beside(const struct diffusion_args &a, const struct place &p, const real *signal,
       const struct drive<F> &d, const real *shown, int s, int j, const real (&at)[4],
       real *west, real (&e)[4])
{
    real w = __shfl_up_sync(EVERY_LANE, at[3], 1);
    e[0] = at[1], e[1] = at[2], e[2] = at[3];
    e[3] = __shfl_down_sync(EVERY_LANE, at[0], 1);
    if (F::SIMPLE || p.simple) { /* choices, no branches: most of what walls cost */
        const real low = uniform_wall(a, s, SIM_WEST, d.of[s][SIM_WEST], at[0], at[1]);
        const real high = uniform_wall(a, s, SIM_EAST, d.of[s][SIM_EAST], at[3], at[2]);
        *west = p.west ? low : w;
        e[3] = p.east ? high : e[3];
        return;
    }
    if (p.look_w >= 0)
        w = shown[p.look_w];
    if (p.end) {
        real u0 = at[0], u1 = w;
#pragma unroll
        for (int k = 1; k < 4; k++)
            if (p.last == k)
                u0 = at[k], u1 = at[k - 1];
        const real g = p.east
                           ? wall<F>(a, d, s, SIM_EAST, j, signal, u0, p.nx > 1 ? u1 : u0)
                           : shown[p.look_e];
#pragma unroll
        for (int k = 0; k < 4; k++)
            e[k] = p.last == k ? g : e[k];
    }
    if (p.west)
        w = wall<F>(a, d, s, SIM_WEST, j, signal, at[0], p.nx > 1 ? at[1] : at[0]);
    *west = w;
}

/* --- steps -------------------------------------------------------------------------- */

/* The warp's rows to shared memory, the barrier, the neighbours' rows from there. */
template <class F>
static __device__ __forceinline__ void exchange(const struct place &p, real *all, int set,
                                                const unsigned (&from)[2 * F::K],
                                                real (&u)[F::S][F::ALL][4])
{
    const unsigned species = (unsigned)(p.up * F::ROWS * p.across * 128 * sizeof(real));
    if (p.active)
#pragma unroll
        for (int s = 0; s < F::S; s++)
#pragma unroll
            for (int r = 0; r < F::ROWS; r++)
                store_quad(slot<F>(all, p, set, s, p.warp_y, r) + p.gx, u[s][F::K + r]);
    cluster_barrier();
    if (!p.active)
        return;
#pragma unroll
    for (int s = 0; s < F::S; s++)
#pragma unroll
        for (int h = 0; h < 2 * F::K; h++)
            if (from[h])
                cluster_load(from[h] - 1 + (unsigned)(set * F::S + s) * species,
                             u[s][h < F::K ? h : F::ROWS + h]);
}

/* Step M after an exchange: the rows that are still good after it. */
template <class F, int M>
static __device__ __forceinline__ void
step(const struct diffusion_args &a, const struct place &p, real *all, int set,
     const real *signal, const struct drive<F> &d, real (&u)[F::S][F::ALL][4])
{
    real below[F::S][4];
#pragma unroll
    for (int s = 0; s < F::S; s++)
#pragma unroll
        for (int k = 0; k < 4; k++)
            below[s][k] = u[s][M][k];
#pragma unroll
    for (int q = M + 1; q < F::ALL - 1 - M; q++) {
        real south[F::S][4], north[F::S][4], w[F::S], e[F::S][4];
#pragma unroll
        for (int s = 0; s < F::S; s++) {
            const real *shown =
                F::SIMPLE ? all : slot<F>(all, p, set, s, p.warp_y, q - F::K);
            beside<F>(a, p, signal, d, shown, s, p.j0 + q - F::K, u[s][q], &w[s], e[s]);
#pragma unroll
            for (int k = 0; k < 4; k++)
                south[s][k] = below[s][k], north[s][k] = u[s][q + 1][k];
            dress_rows<F>(a, p, signal, d, s, q, u[s][q], south[s], north[s]);
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            struct diffusion_star star;
            real out[SIM_SPECIES_MAX];
#pragma unroll
            for (int s = 0; s < F::S; s++) {
                star.c[s] = u[s][q][k], star.e[s] = e[s][k];
                star.w[s] = k > 0 ? u[s][q][k > 0 ? k - 1 : 0] : w[s];
                star.s[s] = south[s][k], star.n[s] = north[s][k];
            }
            diffusion_cell(F::MODEL, F::ISO, a.has_source, &a, signal, &star, out);
#pragma unroll
            for (int s = 0; s < F::S; s++)
                below[s][k] = out[s];
        }
#pragma unroll
        for (int s = 0; s < F::S; s++)
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const real old = u[s][q][k];
                u[s][q][k] = below[s][k];
                below[s][k] = old;
            }
    }
}

/* Steps M, M + 1, .. K - 1 after an exchange, no more than `left` in all. */
template <class F, int M>
static __device__ __forceinline__ void
steps_from(const struct diffusion_args &a, const struct place &p, real *all, int set,
           const real *signal, struct drive<F> &d, int64_t left,
           real (&u)[F::S][F::ALL][4])
{
    if constexpr (M < F::K) {
        if (left <= M)
            return;
        if (a.signal_stride)
            d = drive_at<F>(a, signal);
        step<F, M>(a, p, all, set, signal, d, u);
        steps_from<F, M + 1>(a, p, all, set, signal + a.signal_stride, d, left, u);
    }
}

template <class F>
static __device__ __forceinline__ void
run(const struct diffusion_args &a, const real *signal, int64_t steps, int across, int up)
{
    extern __shared__ double space[];
    real *all = reinterpret_cast<real *>(space);
    const struct place p = find_place<F>(a, across, up);
    const int64_t member = (int64_t)(blockIdx.x / cluster_blocks()) * a.member;
    const int64_t load = p.gx < a.pitch ? p.gx : a.pitch - 4;
    real u[F::S][F::ALL][4];
    unsigned from[2 * F::K];
#pragma unroll
    for (int h = 0; h < 2 * F::K; h++)
        from[h] = p.active ? find_row<F>(a, p, all, h < F::K ? h : F::ROWS + h) : 0;
#pragma unroll
    for (int s = 0; s < F::S; s++)
#pragma unroll
        for (int q = 0; q < F::ALL; q++) {
            const int j = p.j0 + q - F::K;
            const int64_t row = j < 0 ? 0 : j < p.ny ? j : p.ny - 1;
            const struct quad v = load_quad(a.now[s] + member + row * a.pitch + load);
#pragma unroll
            for (int k = 0; k < 4; k++)
                u[s][q][k] = v.v[k];
        }
    struct drive<F> d = drive_at<F>(a, signal);
    int set = 0;
    for (int64_t n = 0; n < steps; n += F::K, set = 1 - set) {
        exchange<F>(p, all, set, from, u);
        if (p.active)
            steps_from<F, 0>(a, p, all, set, signal, d, steps - n, u);
        signal += F::K * a.signal_stride;
    }
    cluster_barrier(); /* nobody leaves while others read its rows */
    if (!p.active || p.gx >= a.nx)
        return;
#pragma unroll
    for (int s = 0; s < F::S; s++)
#pragma unroll
        for (int r = 0; r < F::ROWS; r++)
            if (p.j0 + r < p.ny)
                store_quad(a.next[s] + member + (int64_t)(p.j0 + r) * a.pitch + p.gx,
                           u[s][F::K + r]);
}

#endif

template <class F>
static __global__ void __launch_bounds__(32 * F::WARPS)
    cluster_kernel(const __grid_constant__ struct diffusion_args a, const real *signal,
                   int64_t steps, int across, int up)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    run<F>(a, signal, steps, across, up);
#endif
}

/* --- which there are ---------------------------------------------------------------- */

struct entry {
    enum sim_reaction model;
    bool isotropic;
    int rows, exchange, species, warps;
    void (*kernel)(struct diffusion_args, const real *, int64_t, int, int);
};

#define ENTRY(MODEL, ISO, ROWS, K)                                                      \
    {                                                                                   \
        MODEL, ISO, ROWS, K, form<MODEL, ISO, ROWS, K>::S,                              \
            form<MODEL, ISO, ROWS, K>::WARPS, cluster_kernel<form<MODEL, ISO, ROWS, K>> \
    }
#ifdef SIM_DOUBLE
#define ROWS_OF(few, many) few
#else
#define ROWS_OF(few, many) many
#endif

/* For the same model, the best first; not all serve all grids. */
static const struct entry entries[] = {
    ENTRY(SIM_REACTION_NONE, true, 2, 2),
    ENTRY(SIM_REACTION_NONE, true, 4, ROWS_OF(4, 2)),
    ENTRY(SIM_REACTION_NONE, true, 4, ROWS_OF(2, 4)),
    ENTRY(SIM_REACTION_NONE, true, 4, 1),
    ENTRY(SIM_REACTION_NONE, true, 8, 1),
    ENTRY(SIM_REACTION_NONE, false, ROWS_OF(4, 8), 1),
    ENTRY(SIM_DECAY, true, ROWS_OF(4, 8), 1),
    ENTRY(SIM_FISHER, true, ROWS_OF(4, 8), 1),
    ENTRY(SIM_BISTABLE, true, ROWS_OF(4, 8), 1),
    ENTRY(SIM_ALLEN_CAHN, true, ROWS_OF(4, 8), 1),
    ENTRY(SIM_GRAY_SCOTT, true, 4, ROWS_OF(1, 2)),
    ENTRY(SIM_GRAY_SCOTT, true, ROWS_OF(2, 4), 1),
    ENTRY(SIM_FITZHUGH_NAGUMO, true, ROWS_OF(2, 4), 1),
    ENTRY(SIM_SCHNAKENBERG, true, ROWS_OF(2, 4), 1),
    ENTRY(SIM_BRUSSELATOR, true, ROWS_OF(2, 4), 1),
    ENTRY(SIM_BARKLEY, true, ROWS_OF(2, 4), 1),
};

/* How a system is spread. */
struct layout {
    int blocks, across, up;
    size_t bytes;
};

/* Does the form know the system's sides? Several steps between exchanges need walls at
 * both ends of a row, and rows in one warp. */
static bool suits(const struct entry *e, const struct sim_diffusion_system *system,
                  const struct diffusion_args *a)
{
    if (e->model != system->reaction || e->isotropic != a->isotropic)
        return false;
    if (a->periodic_y && system->ny < e->rows)
        return false;
    bool simple =
        system->nx <= 128 && system->nx > 1 && system->nx % 4 == 0 && !a->periodic_x;
    for (int s = 0; s < e->species; s++)
        for (int side = 0; side < SIM_SIDES; side++)
            simple = simple && a->uniform[s][side];
    return e->exchange == 1 || simple;
}

/* The number of blocks that the fewest warps each can have, in `most` blocks. */
static bool lay_out(const struct entry *e, const struct sim_diffusion_system *system,
                    int most, struct layout *out)
{
    if (system->nx > 128 * WARPS_MOST || system->ny > e->rows * WARPS_MOST * BLOCKS_MOST)
        return false;
    const int warps = (int)((system->ny + e->rows - 1) / e->rows);
    out->across = (int)((system->nx + 127) / 128);
    out->blocks = most;
    while (out->blocks > 1 && out->blocks / 2 >= warps)
        out->blocks /= 2;
    out->up = (warps + out->blocks - 1) / out->blocks;
    out->bytes = (size_t)2 * (size_t)e->species * (size_t)(out->up * e->rows) *
                 (size_t)(out->across * 128) * sizeof(real);
    return out->across * out->up <= e->warps;
}

/* Can the GPU hold one such cluster? Says so to the kernel, too. */
static bool holds(const struct sim_device *device, const struct entry *e,
                  const struct layout *layout)
{
    struct cudaFuncAttributes of;
    int limit = 0, can = 0, clusters = 0;
    cudaLaunchAttribute attribute;
    cudaLaunchConfig_t config = {};
    const void *kernel = (const void *)e->kernel;
    if (cudaDeviceGetAttribute(&can, cudaDevAttrClusterLaunch, device->index) ||
        cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                               device->index))
        return false;
    /* a build for older GPUs has an empty kernel */
    if (!can || layout->bytes > (size_t)limit || cudaFuncGetAttributes(&of, kernel) ||
        of.ptxVersion < 90)
        return false;
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             (int)layout->bytes) ||
        cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1))
        return false;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = (unsigned)layout->blocks;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.gridDim = dim3((unsigned)layout->blocks);
    config.blockDim = dim3((unsigned)(32 * layout->across * layout->up));
    config.dynamicSmemBytes = layout->bytes;
    config.attrs = &attribute, config.numAttrs = 1;
    return cudaOccupancyMaxActiveClusters(&clusters, kernel, &config) == cudaSuccess &&
           clusters > 0;
}

static const struct entry *find(const struct sim_diffusion_system *system,
                                struct layout *layout)
{
    const struct diffusion_args a = diffusion_args_of(system);
    const auto &asked = system->tuning;
    if (!diffusion_is_constant(system))
        return NULL;
    for (const struct entry &e : entries)
        for (int most = BLOCKS_MOST; most >= BLOCKS_PORTABLE; most /= 2) {
            if (asked.blocks && asked.blocks != most)
                continue;
            if ((asked.depth && asked.depth != e.exchange) ||
                (asked.rows && asked.rows != e.rows))
                continue;
            if (suits(&e, system, &a) && lay_out(&e, system, most, layout) &&
                holds(system->device, &e, layout)) {
                (void)cudaGetLastError();
                return &e;
            }
        }
    (void)cudaGetLastError(); /* of the questions above */
    return NULL;
}

bool diffusion_cluster_plan(const struct sim_diffusion_system *system,
                            struct diffusion_cluster *plan)
{
    struct layout layout;
    const struct entry *e = find(system, &layout);
    if (!e)
        return false;
    *plan = {(int)(e - entries), layout.blocks, layout.across,
             layout.up,          e->exchange,   layout.bytes};
    return true;
}

enum sim_status diffusion_cluster_cuda(const struct sim_diffusion_system *system,
                                       const struct diffusion_cluster *plan,
                                       int64_t steps, const real *signal)
{
    const struct diffusion_args a = diffusion_args_of(system);
    const unsigned blocks = (unsigned)plan->blocks * (unsigned)system->count;
    return sim_launch_cluster(
        system->device, "diffusion in a cluster", entries[plan->entry].kernel,
        dim3(blocks), dim3((unsigned)(32 * plan->across * plan->up)), plan->bytes,
        (unsigned)plan->blocks, a, signal, steps, plan->across, plan->up);
}
