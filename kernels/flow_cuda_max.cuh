/* flow_cuda_max.cuh - a maximum over all blocks of a launch, and which block is the last
 * to have given its own. Sizes are whole numbers (poisson_size), whose order of arrival
 * cannot be seen. For blocks of FLOW_ACROSS by FLOW_UP threads. */
#ifndef FLOW_CUDA_MAX_CUH
#define FLOW_CUDA_MAX_CUH

#include "flow_cuda.h"

static __device__ __forceinline__ int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A block's maximum into *most. All threads call. */
static __device__ void offer(int64_t *most, int64_t size)
{
    __shared__ int64_t warp[FLOW_UP];
    for (int half = 16; half >= 1; half /= 2)
        size = larger(__shfl_down_sync(0xffffffffu, size, half), size);
    __syncthreads();
    if (threadIdx.x == 0)
        warp[threadIdx.y] = size;
    __syncthreads();
    if (threadIdx.x != 0 || threadIdx.y != 0)
        return;
    for (int k = 1; k < FLOW_UP; k++)
        size = larger(warp[k], size);
    atomicMax((long long *)most, (long long)size);
}

/* By the thread that offers: true in the block that is the last to have done so. */
static __device__ bool is_last(int64_t *arrived)
{
    unsigned long long *count = (unsigned long long *)arrived;
    __threadfence();
    if (atomicAdd(count, 1ull) + 1 < (unsigned long long)gridDim.x * gridDim.y)
        return false;
    __threadfence();
    *count = 0;
    return true;
}

/* What was offered, by the last block; *most is 0 again. */
static __device__ double taken(int64_t *most)
{
    volatile int64_t *size = most;
    const int64_t found = *size;
    *size = 0;
    return poisson_of_size((poisson_bits)found);
}

#endif
