/* nbody_cuda_soft.cu - softening by group and the compact spline on a GPU.
 *
 * Formulas: nbody_soft_math.h. The shape of the plain kernel (nbody_cuda_force.cuh) with
 * one body a thread: a tile of sources passes through shared memory, with each source's
 * softness beside it. Its rows are added by the same kernel as the plain ones.
 *
 * Not here: one Plummer length for all; symmetric pairs. */
#include "nbody_cuda_force.cuh"
#include "nbody_soft_math.h"
#include "reduce.cuh"

#define TILE NBODY_SOFT_TILE

/* What a body of each group counts with; the last is for what is gone. */
struct softness {
    const uint8_t *group;
    real of_group[SIM_GROUPS_MAX + 1];
};

static struct softness make_softness(const struct sim_nbody *nbody)
{
    struct softness s = {nbody->group, {}};
    for (int g = 0; g <= SIM_GROUPS_MAX; g++)
        s.of_group[g] =
            nbody_softness(nbody_eps_of(nbody, g), nbody->softening == SIM_SPLINE);
    return s;
}

static __device__ real softness_of(const struct softness &s, int64_t i)
{
    const int group = s.group[i];
    return s.of_group[group < SIM_GROUPS_MAX ? group : SIM_GROUPS_MAX];
}

template <int SPLINE>
static __device__ __forceinline__ void add_soft_pair(struct triple at, real soft,
                                                     struct sim_real4 source, real its,
                                                     struct triple *sum, int *zeros)
{
    const real of_pair = nbody_pair_softness(soft, its, SPLINE);
    const real dx = source.x - at.x, dy = source.y - at.y, dz = source.z - at.z;
    const real r2 = nbody_r2(dx, dy, dz, SPLINE ? (real)0 : of_pair);
    real w;
    if (SPLINE)
        w = nbody_spline_weight(source.w, r2, inverse_root(r2), of_pair);
    else
        w = nbody_guarded_weight(nbody_weight(source.w, inverse_root(r2)), r2);
    *zeros += r2 < NBODY_TINY && nbody_is_hard(of_pair, SPLINE);
    sum->x = sim_fma(w, dx, sum->x);
    sum->y = sim_fma(w, dy, sum->y);
    sum->z = sim_fma(w, dz, sum->z);
}

/* Threads past the end stand for the last body; their sums are not written. */
template <int SPLINE>
static __global__ void __launch_bounds__(TILE)
    soft_kernel(const struct force_args f, const struct softness s)
{
    __shared__ struct sim_real4 tile[TILE];
    __shared__ real its[TILE];
    const int64_t own = f.first + (int64_t)blockIdx.x * TILE + threadIdx.x;
    const int64_t i = own < f.n ? own : f.n - 1;
    const int64_t begin = blockIdx.y * f.segment;
    const int64_t end = begin + f.segment < f.n ? begin + f.segment : f.n;
    const struct sim_real4 p = nbody_load(&f.position[i]);
    const struct triple at = {p.x, p.y, p.z};
    const real soft = softness_of(s, i);
    struct triple total = {0, 0, 0};
    int zeros = 0;
    for (int64_t j = begin; j < end; j += TILE) {
        const int count = end - j < TILE ? (int)(end - j) : TILE;
        struct triple sum = {0, 0, 0};
        if ((int)threadIdx.x < count) {
            nbody_store(&tile[threadIdx.x], nbody_load(&f.position[j + threadIdx.x]));
            its[threadIdx.x] = softness_of(s, j + threadIdx.x);
        }
        __syncthreads();
#pragma unroll 8
        for (int q = 0; q < count; q++)
            add_soft_pair<SPLINE>(at, soft, nbody_load(&tile[q]), its[q], &sum, &zeros);
        __syncthreads();
        total.x += sum.x;
        total.y += sum.y;
        total.z += sum.z;
    }
    if (own < f.last)
        nbody_store(&f.partial[blockIdx.y * f.n + own],
                    {total.x, total.y, total.z, (real)zeros});
}

const void *nbody_soft_kernel(const struct sim_nbody *nbody)
{
    return (const void *)(nbody->softening == SIM_SPLINE ? soft_kernel<1>
                                                         : soft_kernel<0>);
}

enum sim_status nbody_soft_force(struct sim_nbody *nbody, const struct force_args &args,
                                 dim3 grid)
{
    return sim_launch(nbody->device, "computing gravity",
                      nbody->softening == SIM_SPLINE ? soft_kernel<1> : soft_kernel<0>,
                      grid, dim3(TILE), 0, args, make_softness(nbody));
}

/* --- potential -------------------------------------------------------------------------
 */

#define BLOCK 256

struct lengths {
    const struct sim_real4 *position;
    const uint8_t *group;
    int64_t n;
    int spline;
    double eps[SIM_GROUPS_MAX + 1];
};

static __device__ double eps_of(const struct lengths &s, int64_t i)
{
    const int group = s.group[i];
    return s.eps[group < SIM_GROUPS_MAX ? group : SIM_GROUPS_MAX];
}

/* total[first / BLOCK + block] = sum of m_i m_j phi_ij over the block's i; see
 * potential_kernel in nbody_cuda_diag.cu. */
static __global__ void __launch_bounds__(BLOCK)
    soft_potential_kernel(const struct lengths s, int64_t first, double *total)
{
    __shared__ double shared[BLOCK], eps[BLOCK];
    __shared__ struct sim_real4 tile[BLOCK];
    const int64_t own = first + (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    const int64_t i = own < s.n ? own : s.n - 1;
    const struct sim_real4 at = nbody_load(&s.position[i]);
    const double its = eps_of(s, i);
    double phi = 0;
    for (int64_t j0 = 0; j0 < s.n; j0 += BLOCK) {
        const int count = s.n - j0 < BLOCK ? (int)(s.n - j0) : BLOCK;
        if ((int)threadIdx.x < count) {
            nbody_store(&tile[threadIdx.x], nbody_load(&s.position[j0 + threadIdx.x]));
            eps[threadIdx.x] = eps_of(s, j0 + threadIdx.x);
        }
        __syncthreads();
        for (int q = 0; q < count; q++) {
            const struct sim_real4 p = nbody_load(&tile[q]);
            const double r2 = nbody_distance2(at, (double)p.x, (double)p.y, (double)p.z);
            if (j0 + q != i)
                phi += (double)p.w * nbody_soft_potential(r2, its, eps[q], s.spline);
        }
        __syncthreads();
    }
    const double sum = sim_block_sum<BLOCK>(own < s.n ? phi * (double)at.w : 0.0, shared);
    if (threadIdx.x == 0)
        total[first / BLOCK + blockIdx.x] = sum;
}

enum sim_status nbody_soft_potential_cuda(struct sim_nbody *nbody, int64_t first,
                                          dim3 grid, double *total)
{
    struct lengths s = {(const struct sim_real4 *)nbody->position,
                        nbody->group,
                        nbody->n,
                        nbody->softening == SIM_SPLINE,
                        {}};
    for (int g = 0; g <= SIM_GROUPS_MAX; g++)
        s.eps[g] = nbody_eps_of(nbody, g);
    return sim_launch(nbody->device, "summing the potential", soft_potential_kernel, grid,
                      dim3(BLOCK), 0, s, first, total);
}
