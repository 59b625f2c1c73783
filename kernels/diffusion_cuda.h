/* diffusion_cuda.h - what the CUDA files of diffusion share; compiled for both
 * precisions. */
#ifndef DIFFUSION_CUDA_H
#define DIFFUSION_CUDA_H

#include "launch.cuh"

extern "C" {
#include "diffusion.h"
}

#include "diffusion_math.h"

/* Four neighbouring cells, which load and store as one (two in double). */
struct quad {
    real v[4];
};

static __device__ __forceinline__ struct quad load_quad(const real *at)
{
    struct quad out;
#ifdef SIM_DOUBLE
    const double2 low = __ldg(reinterpret_cast<const double2 *>(at));
    const double2 high = __ldg(reinterpret_cast<const double2 *>(at) + 1);
    out.v[0] = low.x, out.v[1] = low.y, out.v[2] = high.x, out.v[3] = high.y;
#else
    const float4 all = __ldg(reinterpret_cast<const float4 *>(at));
    out.v[0] = all.x, out.v[1] = all.y, out.v[2] = all.z, out.v[3] = all.w;
#endif
    return out;
}

static __device__ __forceinline__ void store_quad(real *at, const real *v)
{
#ifdef SIM_DOUBLE
    reinterpret_cast<double2 *>(at)[0] = make_double2(v[0], v[1]);
    reinterpret_cast<double2 *>(at)[1] = make_double2(v[2], v[3]);
#else
    *reinterpret_cast<float4 *>(at) = make_float4(v[0], v[1], v[2], v[3]);
#endif
}

/* The same, of what is not read again soon. */
static __device__ __forceinline__ void stream_quad(real *at, const real *v)
{
#ifdef SIM_DOUBLE
    __stcs(reinterpret_cast<double2 *>(at), make_double2(v[0], v[1]));
    __stcs(reinterpret_cast<double2 *>(at) + 1, make_double2(v[2], v[3]));
#else
    __stcs(reinterpret_cast<float4 *>(at), make_float4(v[0], v[1], v[2], v[3]));
#endif
}

#define EVERY_LANE 0xffffffffu

static __device__ __forceinline__ int wrapped(int k, int n)
{
    k %= n;
    return k < 0 ? k + n : k;
}

/* The cell outside side `side` at its cell k; cells and rows outside the domain may ask,
 * and get something. Rare, so not worth a place among the hot code. */
[[maybe_unused]] static __device__ __noinline__ real
outside(const struct diffusion_args *a, int s, int side, int k, const real *signal,
        real u0, real u1)
{
    const bool along_y = side == SIM_WEST || side == SIM_EAST;
    const int n = (int)(along_y ? a->ny : a->nx);
    if (k < 0 || k >= n)
        k = (along_y ? a->periodic_y : a->periodic_x) ? wrapped(k, n) : k < 0 ? 0 : n - 1;
    return diffusion_outside(a, s, side, k, signal, u0, u1);
}

/* What uniform walls have of the step's signals: base + driven w. F::S: species. */
template <class F>
struct drive {
    real of[F::S][SIM_SIDES];
};

template <class F>
static __device__ __forceinline__ struct drive<F> drive_at(const struct diffusion_args &a,
                                                           const real *signal) {
    struct drive<F> d;
#pragma unroll
    for (int s = 0; s < F::S; s++)
#pragma unroll
        for (int side = 0; side < SIM_SIDES; side++)
            d.of[s][side] =
                sim_fma(a.wall[s][side].driven, __ldg(signal + a.wall_signal[s][side]),
                        a.wall[s][side].base);
    return d;
}

/* Several steps in one pass (diffusion_cuda_blocked.cu). The largest depth there is that
 * is at most `most`, 0 if none serves this system; and one pass of such a depth. */
#define diffusion_blocked_depth SIM_TYPED(diffusion_blocked_depth)
#define diffusion_blocked_cuda  SIM_TYPED(diffusion_blocked_cuda)
int diffusion_blocked_depth(const struct sim_diffusion_system *, int64_t most);
enum sim_status diffusion_blocked_cuda(const struct sim_diffusion_system *, int depth,
                                       const real *signal);

/* All steps in one multiprocessor a member (diffusion_cuda_small.cu): is that possible;
 * and the steps, from now to next. */
#define diffusion_small_fits SIM_TYPED(diffusion_small_fits)
#define diffusion_small_cuda SIM_TYPED(diffusion_small_cuda)
bool diffusion_small_fits(const struct sim_diffusion_system *);
enum sim_status diffusion_small_cuda(const struct sim_diffusion_system *, int64_t steps,
                                     const real *signal);

/* All steps in a cluster of multiprocessors a member (diffusion_cuda_cluster.cu): how, or
 * false when it is not possible; and the steps, from now to next. */
struct diffusion_cluster {
    int entry, blocks, across, up; /* across, up: warps of a block */
    int exchange;                  /* steps between exchanges */
    size_t bytes;                  /* shared memory of a block */
};
#define diffusion_cluster_plan SIM_TYPED(diffusion_cluster_plan)
#define diffusion_cluster_cuda SIM_TYPED(diffusion_cluster_cuda)
bool diffusion_cluster_plan(const struct sim_diffusion_system *,
                            struct diffusion_cluster *);
enum sim_status diffusion_cluster_cuda(const struct sim_diffusion_system *,
                                       const struct diffusion_cluster *, int64_t steps,
                                       const real *signal);

/* Operations of the table that live in diffusion_cuda_line.cu; contracts in diffusion.h.
 */
#define diffusion_sweep_cuda    SIM_TYPED(diffusion_sweep_cuda)
#define diffusion_half_cuda     SIM_TYPED(diffusion_half_cuda)
#define diffusion_react_cuda    SIM_TYPED(diffusion_react_cuda)
#define diffusion_residual_cuda SIM_TYPED(diffusion_residual_cuda)
enum sim_status diffusion_sweep_cuda(struct sim_diffusion_system *,
                                     const struct sim_diffusion_sweep *);
enum sim_status diffusion_half_cuda(struct sim_diffusion_system *, int, const void *,
                                    const void *, void *);
enum sim_status diffusion_react_cuda(struct sim_diffusion_system *, double);
enum sim_status diffusion_residual_cuda(struct sim_diffusion_system *, int, const void *,
                                        const void *, double *, double *);

/* Operations of the table that live in diffusion_cuda_dense.cu; contracts in diffusion.h.
 */
#define diffusion_widen_cuda   SIM_TYPED(diffusion_widen_cuda)
#define diffusion_narrow_cuda  SIM_TYPED(diffusion_narrow_cuda)
#define diffusion_product_cuda SIM_TYPED(diffusion_product_cuda)
#define diffusion_modal_cuda   SIM_TYPED(diffusion_modal_cuda)
enum sim_status diffusion_widen_cuda(struct sim_diffusion_system *, int, int64_t,
                                     double *);
enum sim_status diffusion_narrow_cuda(struct sim_diffusion_system *, int, int64_t,
                                      const double *);
enum sim_status diffusion_product_cuda(struct sim_device *, int64_t, int64_t, int64_t,
                                       const double *, const double *, double *);
enum sim_status diffusion_modal_cuda(struct sim_device *, const struct sim_modal *);

#endif
