/* reduce.cuh - sums in a fixed order on the GPU.
 *
 * A sum of n terms is cut into a number of chunks that depends on n alone; a thread adds
 * its terms in ascending order, the threads of a block are added by a halving tree, and
 * the blocks' totals, in slots of their own, by one block in the same way. No atomics, so
 * the bits are the same in every run. */
#ifndef REDUCE_CUH
#define REDUCE_CUH

/* The sum of `value` over a block of BLOCK threads (a power of two, at least 32), in
 * every thread. `shared` holds BLOCK elements; it may be used again after the call. Every
 * thread of the block must call. */
template <int BLOCK, typename T>
static __device__ T sim_block_sum(T value, T *shared)
{
    static_assert(BLOCK >= 32 && (BLOCK & (BLOCK - 1)) == 0, "a power of two");
    const int t = threadIdx.x;
    shared[t] = value;
    __syncthreads();
    for (int half = BLOCK / 2; half >= 1; half /= 2) {
        if (t < half)
            shared[t] = shared[t] + shared[t + half];
        __syncthreads();
    }
    T total = shared[0];
    __syncthreads();
    return total;
}

#endif
