/* nbody_cuda_force.cuh - the O(N^2) kernel on the GPU and the variants it comes in.
 *
 * Equation: nbody_math.h. A block of TILE threads holds TILE*PER_THREAD target bodies in
 * registers; the block's sources pass through shared memory a tile of TILE at a time, so
 * that a 16-byte load from shared memory serves PER_THREAD pairs. gridDim.y blocks split
 * the sources when there are too few targets to fill the GPU; each writes sums of its own
 * to partial[split][i], which body_kernel (nbody_cuda_push.cu) adds in ascending order. A
 * tile is summed apart and then joins the total, as on the CPU.
 *
 * Single precision, per pair: 3 FADD, 6 FFMA, 3 FMUL and a MUFU.RSQ, 13 issue slots in
 * all; the hardware's reciprocal root is right to 2 units in the last place.
 *
 * Not here: symmetric pairs (each pair once), which need a different kernel. */
#ifndef NBODY_CUDA_FORCE_CUH
#define NBODY_CUDA_FORCE_CUH

#include "nbody_cuda.h"

/* One launch's arguments. Targets first <= i < last meet all n sources. */
struct force_args {
    const struct sim_real4 *position;
    struct sim_real4 *partial; /* [gridDim.y][n]; w: sources met at distance zero */
    int64_t n, first, last;
    int64_t segment; /* sources a split, a multiple of TILE */
    real eps2;
};

/* r2 is never below the smallest normal number here, so flushing denormals changes
 * nothing. */
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

struct triple {
    real x, y, z;
};

template <bool GUARDED>
static __device__ __forceinline__ void add_pair(struct triple at, struct sim_real4 source,
                                                real eps2, struct triple *sum, int *zeros)
{
    real dx = source.x - at.x, dy = source.y - at.y, dz = source.z - at.z;
    real r2 = nbody_r2(dx, dy, dz, eps2);
    real w = nbody_weight(source.w, inverse_root(r2));
    if (GUARDED) {
        w = nbody_guarded_weight(w, r2);
        *zeros += r2 < NBODY_TINY;
    }
    sum->x = sim_fma(w, dx, sum->x);
    sum->y = sim_fma(w, dy, sum->y);
    sum->z = sim_fma(w, dz, sum->z);
}

/* The pull of `count` sources in shared memory on a thread's targets joins their totals.
 */
template <int PER_THREAD, int UNROLL, bool GUARDED>
static __device__ __forceinline__ void add_tile(const struct sim_real4 *tile, int count,
                                                real eps2, const struct triple *at,
                                                struct triple *total, int *zeros)
{
    struct triple sum[PER_THREAD];
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++)
        sum[k] = {0, 0, 0};
#pragma unroll UNROLL
    for (int q = 0; q < count; q++) {
        const struct sim_real4 source = nbody_load(&tile[q]);
#pragma unroll
        for (int k = 0; k < PER_THREAD; k++)
            add_pair<GUARDED>(at[k], source, eps2, &sum[k], &zeros[k]);
    }
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) {
        total[k].x += sum[k].x;
        total[k].y += sum[k].y;
        total[k].z += sum[k].z;
    }
}

/* Bodies past the end stand for the last one; their sums are not written. */
template <int TILE, int PER_THREAD, int UNROLL, bool GUARDED>
static __global__ void __launch_bounds__(TILE) force_kernel(struct force_args f)
{
    __shared__ struct sim_real4 tile[TILE];
    struct triple at[PER_THREAD], total[PER_THREAD] = {};
    int zeros[PER_THREAD] = {};
    const int64_t base =
        f.first + (int64_t)blockIdx.x * (TILE * PER_THREAD) + threadIdx.x;
    const int64_t begin = blockIdx.y * f.segment;
    const int64_t end = begin + f.segment < f.n ? begin + f.segment : f.n;
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) {
        const int64_t i = base + k * TILE < f.n ? base + k * TILE : f.n - 1;
        const struct sim_real4 p = nbody_load(&f.position[i]);
        at[k] = {p.x, p.y, p.z};
    }
    for (int64_t j = begin; j < end; j += TILE) {
        const int count = end - j < TILE ? (int)(end - j) : TILE;
        if ((int)threadIdx.x < count)
            nbody_store(&tile[threadIdx.x], nbody_load(&f.position[j + threadIdx.x]));
        __syncthreads();
        add_tile<PER_THREAD, UNROLL, GUARDED>(tile, count, f.eps2, at, total, zeros);
        __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++)
        if (base + k * TILE < f.last)
            nbody_store(&f.partial[blockIdx.y * f.n + base + k * TILE],
                        {total[k].x, total[k].y, total[k].z, (real)zeros[k]});
}

/* The variants there are: VARIANT(tile, per_thread, unroll). Of those that differ in the
 * unrolling alone the last is the default; the others are for the lab. */
#define FORCE_VARIANTS(VARIANT) \
    VARIANT(64, 1, 16)          \
    VARIANT(64, 2, 8)           \
    VARIANT(64, 4, 8)           \
    VARIANT(64, 8, 4)           \
    VARIANT(128, 1, 16)         \
    VARIANT(128, 2, 8)          \
    VARIANT(128, 4, 8)          \
    VARIANT(128, 8, 4)          \
    VARIANT(256, 1, 1)          \
    VARIANT(256, 1, 2)          \
    VARIANT(256, 1, 4)          \
    VARIANT(256, 1, 8)          \
    VARIANT(256, 1, 16)         \
    VARIANT(256, 2, 8)          \
    VARIANT(256, 4, 8)          \
    VARIANT(256, 8, 4)

#endif
