/* nbody_cuda_resident.cu - small systems: many steps in one launch.
 *
 * Equation: nbody_math.h. A launch a force costs some 4 us, more than the forces among a
 * thousand bodies. Here one block a multiprocessor stays: a block owns `targets` bodies,
 * whose position, velocity and acceleration a thread each keeps in registers over all
 * steps. For a force it publishes its positions, gathers those of all blocks in shared
 * memory and sums the pulls on its own bodies: a warp takes P of them and every parts-th
 * stretch of 32 sources, a lane a source. Lanes are added by exchanges that halve the
 * number of sums each holds, warps in ascending order: a fixed order, so the bits do not
 * depend on how many steps a launch takes.
 *
 * Nobody waits at a barrier: each 16 bytes that are published hold the number of the
 * force beside the position, are written and read whole (128-bit accesses are atomic:
 * PTX ISA 8.3, "ld"), and are read again until they hold the number that is wanted. Two
 * places in turn are enough: who publishes for force k + 2, in the place of force k, has
 * read all positions of force k + 1, which were published after those of k had been read.
 *
 * Not here: systems whose positions exceed a block's shared memory. */
#include "nbody_cuda.h"

#include <algorithm>

#ifdef SIM_DOUBLE
#define THREADS 256 /* its sums take twice the registers */
#else
#define THREADS 512
#endif
#define WARPS       (THREADS / 32)
#define TARGETS_MAX (8 * WARPS)
#define STAGES_MAX  64

/* A position as it is published. */
#define PIECES ((int)sizeof(real) / 4)
struct notice {
    uint4 piece[PIECES]; /* the last word of each: the number of the force */
};

struct resident_args {
    struct sim_real4 *position, *velocity, *acceleration;
    struct notice *board;           /* [2][n]; begins as zeros */
    unsigned long long *least;      /* where to note bodies that met another; or NULL */
    int n, targets, groups, stages; /* groups: of P targets */
    int64_t steps;
    bool charge;
    real G, eps2;
    struct {
        enum sim_stage_kind kind;
        real h, grain;
    } stage[STAGES_MAX];
};

static __device__ __forceinline__ real inverse_root(real r2)
{
#ifdef SIM_DOUBLE
    return rsqrt(r2);
#else
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(r2));
    return y;
#endif
}

/* 16 bytes at once, past the first cache, which knows nothing of what other blocks write.
 * Older compilers do not know the instruction; nothing is resident then. */
#define KNOWS_B128 (CUDART_VERSION >= 12030)

static __device__ __forceinline__ void publish_piece(uint4 *at, uint4 v)
{
#if KNOWS_B128
    asm volatile("{ .reg .b128 all; .reg .b64 low, high;\n"
                 "mov.b64 low, {%1, %2}; mov.b64 high, {%3, %4};\n"
                 "mov.b128 all, {low, high};\n"
                 "st.relaxed.gpu.global.b128 [%0], all; }" ::"l"(at),
                 "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
#else
    *at = v;
#endif
}

static __device__ __forceinline__ uint4 read_piece(const uint4 *at)
{
#if KNOWS_B128
    uint4 v;
    asm volatile("{ .reg .b128 all; .reg .b64 low, high;\n"
                 "ld.relaxed.gpu.global.b128 all, [%4];\n"
                 "mov.b128 {low, high}, all;\n"
                 "mov.b64 {%0, %1}, low; mov.b64 {%2, %3}, high; }"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(at)
                 : "memory");
    return v;
#else
    return *at;
#endif
}

static __device__ __forceinline__ void publish(struct notice *at, struct sim_real4 x,
                                               unsigned int force)
{
#ifdef SIM_DOUBLE
    publish_piece(&at->piece[0],
                  make_uint4((unsigned int)__double2loint(x.x), __double2hiint(x.x),
                             (unsigned int)__double2loint(x.z), force));
    publish_piece(&at->piece[1],
                  make_uint4((unsigned int)__double2loint(x.y), __double2hiint(x.y),
                             (unsigned int)__double2hiint(x.z), force));
#else
    publish_piece(&at->piece[0], make_uint4(__float_as_uint(x.x), __float_as_uint(x.y),
                                            __float_as_uint(x.z), force));
#endif
}

static __device__ __forceinline__ bool is_of(const struct notice &it, unsigned int force)
{
    return it.piece[0].w == force && it.piece[PIECES - 1].w == force;
}

static __device__ __forceinline__ struct notice read_notice(const struct notice *at)
{
    struct notice it;
#pragma unroll
    for (int k = 0; k < PIECES; k++)
        it.piece[k] = read_piece(&at->piece[k]);
    return it;
}

static __device__ __forceinline__ struct sim_real4 body_of(const struct notice &it,
                                                           real mass)
{
#ifdef SIM_DOUBLE
    return {__hiloint2double((int)it.piece[0].y, (int)it.piece[0].x),
            __hiloint2double((int)it.piece[1].y, (int)it.piece[1].x),
            __hiloint2double((int)it.piece[1].z, (int)it.piece[0].z), mass};
#else
    return {__uint_as_float(it.piece[0].x), __uint_as_float(it.piece[0].y),
            __uint_as_float(it.piece[0].z), mass};
#endif
}

/* All positions of a force, with masses, to shared memory, a few a thread at once: those
 * that are not there yet are asked for together, until all are. (More at once wait for
 * what is still far, fewer do not fill the way to memory.) */
static __device__ __forceinline__ void gather(const struct notice *board, int n,
                                              unsigned int force, const real *mass,
                                              struct sim_real4 *source)
{
    enum { AT_ONCE = 4 / PIECES };
    for (int from = threadIdx.x; from < n; from += AT_ONCE * THREADS) {
        struct notice it[AT_ONCE] = {};
        bool waiting;
        do {
            waiting = false;
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++)
                if (from + k * THREADS < n && !is_of(it[k], force))
                    it[k] = read_notice(&board[from + k * THREADS]);
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++)
                waiting |= from + k * THREADS < n && !is_of(it[k], force);
        } while (waiting);
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            if (from + k * THREADS < n)
                nbody_store(&source[from + k * THREADS],
                            body_of(it[k], mass[from + k * THREADS]));
    }
}

/* Sums over the lanes of a warp of V values a lane (16 or 32): lane l returns the sum of
 * value l * V / 32. An exchange leaves each lane half of its values, then a single one.
 */
template <int HALF, int MASK>
static __device__ __forceinline__ real sum_lanes(real *v)
{
    const bool upper = threadIdx.x & MASK;
#pragma unroll
    for (int q = 0; q < HALF; q++) {
        const real give = upper ? v[q] : v[q + HALF];
        const real keep = upper ? v[q + HALF] : v[q];
        v[q] = keep + __shfl_xor_sync(~0u, give, MASK);
    }
    if constexpr (HALF == 0)
        v[0] += __shfl_xor_sync(~0u, v[0], MASK);
    if constexpr (MASK > 1)
        return sum_lanes<HALF / 2, MASK / 2>(v);
    return v[0];
}

/* The pull of this warp's part of the sources on its P targets, to partial[warp]. */
template <int P, int V, bool GUARDED>
static __device__ __forceinline__ void pull_part(const struct resident_args &r,
                                                 const struct sim_real4 *source,
                                                 real (*partial)[V])
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int first = blockIdx.x * r.targets + warp % r.groups * P;
    const int part = warp / r.groups, parts = WARPS / r.groups;
    if (part >= parts)
        return; /* the groups do not share the warps evenly */
    struct sim_real4 at[P];
    real sum[V];
#pragma unroll
    for (int k = 0; k < P; k++)
        at[k] = nbody_load(&source[first + k < r.n ? first + k : r.n - 1]);
#pragma unroll
    for (int q = 0; q < V; q++)
        sum[q] = 0;
#pragma unroll 2
    for (int j = part * 32 + lane; j < r.n; j += parts * 32) {
        const struct sim_real4 it = nbody_load(&source[j]);
#pragma unroll
        for (int k = 0; k < P; k++) {
            const real dx = it.x - at[k].x, dy = it.y - at[k].y, dz = it.z - at[k].z;
            const real r2 = nbody_r2(dx, dy, dz, r.eps2);
            real w = nbody_weight(it.w, inverse_root(r2));
            if (GUARDED) {
                w = nbody_guarded_weight(w, r2);
                if (r2 < NBODY_TINY && j != first + k && first + k < r.n && r.least)
                    atomicMin(r.least, (unsigned long long)(first + k));
            }
            sum[3 * k] = sim_fma(w, dx, sum[3 * k]);
            sum[3 * k + 1] = sim_fma(w, dy, sum[3 * k + 1]);
            sum[3 * k + 2] = sim_fma(w, dz, sum[3 * k + 2]);
        }
    }
    const real total = sum_lanes<V / 2, 16>(sum);
    if (lane % (32 / V) == 0)
        partial[warp][lane / (32 / V)] = total;
}

struct body {
    struct sim_real4 x, v, a;
};

/* The acceleration of every block's targets: b.a of the threads that own one. */
template <int P, int V, bool GUARDED>
static __device__ __forceinline__ void
find_force(const struct resident_args &r, struct sim_real4 *source, const real *mass,
           real (*partial)[V], unsigned int force, bool owner, struct body *b)
{
    struct notice *board = r.board + (force & 1) * (int64_t)r.n;
    const int t = threadIdx.x;
    if (owner)
        publish(&board[blockIdx.x * r.targets + t], b->x, force);
    gather(board, r.n, force, mass, source);
    __syncthreads();
    pull_part<P, V, GUARDED>(r, source, partial);
    __syncthreads();
    if (!owner)
        return;
    struct sim_real4 sum = {0, 0, 0, 0};
    for (int w = t / P; w < WARPS / r.groups * r.groups; w += r.groups) {
        sum.x += partial[w][3 * (t % P)];
        sum.y += partial[w][3 * (t % P) + 1];
        sum.z += partial[w][3 * (t % P) + 2];
    }
    const real k = r.charge ? -r.G * b->x.w : r.G;
    b->a = {k * sum.x, k * sum.y, k * sum.z, 0};
}

static __device__ __forceinline__ void push(struct sim_real4 *to, real h, real grain,
                                            struct sim_real4 rate)
{
    to->x = nbody_push(to->x, h, rate.x, grain);
    to->y = nbody_push(to->y, h, rate.y, grain);
    to->z = nbody_push(to->z, h, rate.z, grain);
}

template <int P, int V, bool GUARDED>
static __global__ void __launch_bounds__(THREADS, 1)
    resident_kernel(const struct resident_args r)
{
    extern __shared__ struct sim_real4 source[];
    __shared__ real partial[WARPS][V];
    const int i = blockIdx.x * r.targets + threadIdx.x;
    const bool owner = (int)threadIdx.x < r.targets && i < r.n;
    struct body b = {};
    real *mass = (real *)(source + r.n);
    unsigned int force = 0;
    for (int j = threadIdx.x; j < r.n; j += THREADS)
        mass[j] = r.position[j].w;
    __syncthreads(); /* a block that is done changes positions: masses were read before */
    if (owner)
        b = {nbody_load(&r.position[i]), nbody_load(&r.velocity[i]),
             nbody_load(&r.acceleration[i])};
    for (int64_t step = 0; step < r.steps; step++)
        for (int s = 0; s < r.stages; s++) {
            if (r.stage[s].kind == SIM_FORCE)
                find_force<P, V, GUARDED>(r, source, mass, partial, ++force, owner, &b);
            else if (r.stage[s].kind == SIM_KICK)
                push(&b.v, r.stage[s].h, r.stage[s].grain, b.a);
            else
                push(&b.x, r.stage[s].h, r.stage[s].grain, b.v);
        }
    if (!owner)
        return;
    nbody_store(&r.position[i], b.x);
    nbody_store(&r.velocity[i], b.v);
    nbody_store(&r.acceleration[i], b.a);
}

/* --- the host's side -------------------------------------------------------------------
 */

static int attribute(const struct sim_device *device, enum cudaDeviceAttr which)
{
    int value = 0;
    if (cudaDeviceGetAttribute(&value, which, device->index) != cudaSuccess)
        value = 0;
    return value;
}

#define BODY_BYTES ((int64_t)(sizeof(struct sim_real4) + sizeof(real))) /* shared */

/* Bodies a block: at least 8, so that a few bodies need no exchange between blocks. */
static int targets_for(const struct sim_nbody *nbody)
{
    const int64_t blocks = nbody->device->multiprocessors;
    return (int)std::max<int64_t>(8, (nbody->n + blocks - 1) / blocks);
}

bool nbody_resident_fits(const struct sim_nbody *nbody, int stage_count)
{
    const struct sim_device *device = nbody->device;
    if (!KNOWS_B128 || stage_count > STAGES_MAX || nbody->n > 65536 ||
        targets_for(nbody) > TARGETS_MAX ||
        !attribute(device, cudaDevAttrCooperativeLaunch))
        return false;
    const int64_t room = attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin);
    return nbody->n * BODY_BYTES + 8192 <= room;
}

typedef void (*resident_function)(struct resident_args);

static resident_function kernel_for(bool wide, bool guarded)
{
    if (wide)
        return guarded ? resident_kernel<8, 32, true> : resident_kernel<8, 32, false>;
    return guarded ? resident_kernel<4, 16, true> : resident_kernel<4, 16, false>;
}

static size_t shared_bytes(const struct sim_nbody *nbody)
{
    return (size_t)(nbody->n * BODY_BYTES);
}

static bool is_wide(const struct sim_nbody *nbody)
{
    return targets_for(nbody) > 16;
}

const void *nbody_resident_tell(const struct sim_nbody *nbody,
                                struct sim_nbody_kernel *out)
{
    const void *kernel =
        (const void *)kernel_for(is_wide(nbody), nbody->eps < NBODY_SAFE_EPS);
    out->threads = THREADS;
    out->shared = (int)shared_bytes(nbody);
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         out->shared); /* for questions about it; launches set it anew */
    return kernel;
}

static enum sim_status launch(struct sim_nbody *nbody, resident_function kernel,
                              struct resident_args args)
{
    struct sim_device *device = nbody->device;
    const char *name = "computing gravity";
    const size_t shared = shared_bytes(nbody);
    const dim3 grid((unsigned)((args.n + args.targets - 1) / args.targets));
    void *arguments[] = {&args};
    SIM_TRY(sim_device_launch(device, name));
    SIM_TRY(sim_cuda_status(
        device,
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             (int)shared),
        name));
    const double start = device->sync ? sim_launch_clock() : 0.0;
    const cudaError_t error = cudaLaunchCooperativeKernel(
        (const void *)kernel, grid, dim3(THREADS), arguments, shared, sim_stream(device));
    if (error != cudaSuccess)
        return sim_cuda_stopped(device, error, name);
    return sim_launched(device, name, start);
}

enum sim_status nbody_resident_run(struct sim_nbody *nbody,
                                   const struct sim_stage *stages, int stage_count,
                                   int64_t steps)
{
    struct resident_args r = {};
    const size_t boards = 2 * (size_t)nbody->n * sizeof(struct notice);
    SIM_TRY(sim_nbody_scratch(nbody, SIM_NBODY_KEPT + boards));
    char *scratch = (char *)nbody->scratch.data;
    const int targets = targets_for(nbody);
    const bool wide = is_wide(nbody);
    const int groups = (targets + (wide ? 7 : 3)) / (wide ? 8 : 4);
    r.position = (struct sim_real4 *)nbody->position;
    r.velocity = (struct sim_real4 *)nbody->velocity;
    r.acceleration = (struct sim_real4 *)nbody->acceleration;
    r.board = (struct notice *)(scratch + SIM_NBODY_KEPT);
    r.eps2 = (real)(nbody->eps * nbody->eps);
    r.least = r.eps2 > 0 ? NULL : (unsigned long long *)scratch;
    r.n = (int)nbody->n;
    r.targets = targets;
    r.groups = groups;
    r.stages = stage_count;
    r.steps = steps;
    r.charge = nbody->coupling == SIM_CHARGE;
    r.G = (real)nbody->G;
    for (int s = 0; s < stage_count; s++) {
        r.stage[s].kind = stages[s].kind;
        r.stage[s].h = (real)(stages[s].coefficient * nbody->dt);
        r.stage[s].grain =
            (real)(stages[s].kind == SIM_DRIFT ? nbody->grain_x : nbody->grain_v);
    }
    SIM_TRY(nbody->device->ops->fill(nbody->device, r.board, 0, boards));
    return launch(nbody, kernel_for(wide, nbody->eps < NBODY_SAFE_EPS), r);
}
