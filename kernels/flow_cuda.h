/* flow_cuda.h - what the CUDA files of the flow solver share; compiled for both
 * precisions. Sums and maxima go by the tree of flow_math.h. */
#ifndef FLOW_CUDA_H
#define FLOW_CUDA_H

#include "launch.cuh"

extern "C" {
#include "flow.h"
}

#include "flow_scalar_math.h"

/* Blocks of 32 by 8 threads over a rectangle of elements, tile by tile along x and then
 * up, so that those at work at once are near each other. */
#define FLOW_ACROSS 32
#define FLOW_UP     8

static inline __host__ __device__ int64_t flow_tiles(int64_t nx, int64_t ny)
{
    return ((nx + FLOW_ACROSS - 1) / FLOW_ACROSS) * ((ny + FLOW_UP - 1) / FLOW_UP);
}

/* One tile a block. */
static inline dim3 flow_blocks(int64_t nx, int64_t ny)
{
    const int64_t tiles = flow_tiles(nx, ny);
    return dim3((unsigned)(tiles < INT32_MAX ? tiles : INT32_MAX));
}

/* So few blocks that each can add to a total of all. */
static inline dim3 flow_few_blocks(int64_t nx, int64_t ny)
{
    const int64_t tiles = flow_tiles(nx, ny);
    return dim3((unsigned)(tiles < 2112 ? tiles : 2112));
}

struct flow_walk {
    int64_t tile, count;
    unsigned across;
};

static __device__ __forceinline__ struct flow_walk flow_walk_of(int64_t nx, int64_t ny)
{
    struct flow_walk w;
    w.tile = blockIdx.x, w.count = flow_tiles(nx, ny);
    w.across = (unsigned)((nx + FLOW_ACROSS - 1) / FLOW_ACROSS);
    return w;
}

/* Elements (i, j) of a launch over such blocks. */
#define FLOW_ELEMENTS(i, j, nx, ny)                                                    \
    for (struct flow_walk walk = flow_walk_of(nx, ny); walk.tile < walk.count;         \
         walk.tile += gridDim.x)                                                       \
        for (int64_t                                                                   \
                 j = (unsigned)walk.tile / walk.across,                                \
                 i = ((unsigned)walk.tile - (unsigned)j * walk.across) * FLOW_ACROSS + \
                     threadIdx.x,                                                      \
                 once = (j = j * FLOW_UP + threadIdx.y, 1);                            \
             once && i < (nx) && j < (ny); once = 0)

/* A warp a row: its lanes' sum, as flow_halve_sum adds them, in lane 0. */
static __device__ __forceinline__ double flow_warp_sum(double value)
{
    for (int half = 16; half >= 1; half /= 2)
        value = value + __shfl_down_sync(0xffffffffu, value, half);
    return value;
}

static __device__ __forceinline__ double flow_warp_max(double value)
{
    for (int half = 16; half >= 1; half /= 2)
        value = poisson_max(value, __shfl_down_sync(0xffffffffu, value, half));
    return value;
}

/* By a block of FLOW_LANES threads: rows[3*j + part] of all rows, in every thread. */
static __device__ double flow_block_rows(const double *rows, int64_t count, int part,
                                         bool largest, double *shared)
{
    const int t = threadIdx.x;
    double mine = 0;
    for (int64_t j = t; j < count; j += FLOW_LANES)
        mine =
            largest ? poisson_max(mine, rows[3 * j + part]) : mine + rows[3 * j + part];
    __syncthreads();
    shared[t] = mine;
    __syncthreads();
    for (int half = FLOW_LANES / 2; half >= 1; half /= 2) {
        if (t < half)
            shared[t] = largest ? poisson_max(shared[t], shared[t + half])
                                : shared[t] + shared[t + half];
        __syncthreads();
    }
    return shared[0];
}

/* Rows a warp each: blocks of 8 warps. */
#define FLOW_WARPS 8

static inline unsigned flow_row_blocks(int64_t rows)
{
    const int64_t blocks = (rows + FLOW_WARPS - 1) / FLOW_WARPS;
    return (unsigned)(blocks < 65535 ? blocks : 65535);
}

#define FLOW_ROWS(j, rows)                                                            \
    const int lane = threadIdx.x % 32;                                                \
    for (int64_t j = (int64_t)blockIdx.x * FLOW_WARPS + threadIdx.x / 32; j < (rows); \
         j += (int64_t)gridDim.x * FLOW_WARPS)

/* The passes of poisson_plan.h (flow_cuda_poisson.cu), and what is asked of a flow
 * (flow_cuda_query.cu). */
#define poisson_pass_cuda      SIM_TYPED(poisson_pass_cuda)
#define poisson_wrap_cuda      SIM_TYPED(poisson_wrap_cuda)
#define poisson_solve_cuda     SIM_TYPED(poisson_solve_cuda)
#define poisson_transform_cuda SIM_TYPED(poisson_transform_cuda)
enum sim_status poisson_pass_cuda(struct sim_poisson_system *s, int pass, int level);
enum sim_status poisson_wrap_cuda(struct sim_poisson_system *s, int level, void *array);
/* Multigrid and conjugate gradients, whole (flow_cuda_solve.cu). */
enum sim_status poisson_solve_cuda(struct sim_poisson_system *s);
/* By s->transform, once (flow_cuda_transform.cu); what it leaves is for the other. */
enum sim_status poisson_transform_cuda(struct sim_poisson_system *s);

#define flow_derive_cuda  SIM_TYPED(flow_derive_cuda)
#define flow_measure_cuda SIM_TYPED(flow_measure_cuda)
#define flow_force_cuda   SIM_TYPED(flow_force_cuda)
#define flow_trace_cuda   SIM_TYPED(flow_trace_cuda)
enum sim_status flow_derive_cuda(struct sim_flow_system *, enum sim_flow_derived, void *,
                                 int64_t);
enum sim_status flow_measure_cuda(struct sim_flow_system *, double *);
enum sim_status flow_force_cuda(struct sim_flow_system *, const struct sim_flow_box *,
                                double *);
enum sim_status flow_trace_cuda(const struct sim_flow_system *, const struct flow_args *);

#endif
