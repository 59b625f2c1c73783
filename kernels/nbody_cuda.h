/* nbody_cuda.h - what the CUDA files of gravity share; compiled for both precisions. */
#ifndef NBODY_CUDA_H
#define NBODY_CUDA_H

#include "launch.cuh"
#include "nbody_math.h"

extern "C" {
#include "nbody.h"
}

/* Operations of the table that live in nbody_cuda_diag.cu; contracts in nbody.h. */
#define nbody_sums_cuda      SIM_TYPED(nbody_sums_cuda)
#define nbody_potential_cuda SIM_TYPED(nbody_potential_cuda)
#define nbody_radii_cuda     SIM_TYPED(nbody_radii_cuda)
#define nbody_check_cuda     SIM_TYPED(nbody_check_cuda)
#define nbody_centre_cuda    SIM_TYPED(nbody_centre_cuda)
enum sim_status nbody_sums_cuda(struct sim_nbody *, uint64_t groups,
                                struct sim_nbody_sums *);
enum sim_status nbody_potential_cuda(struct sim_nbody *, double *);
enum sim_status nbody_radii_cuda(struct sim_nbody *, uint64_t groups,
                                 const double *centre, const double *fractions, int count,
                                 double *);
enum sim_status nbody_check_cuda(struct sim_nbody *, void *);
enum sim_status nbody_centre_cuda(struct sim_nbody *, uint64_t groups, void *);

/* A body in one 16-byte load (two in double); struct sim_real4 alone would be four. */
static __device__ __forceinline__ struct sim_real4 nbody_load(const struct sim_real4 *at)
{
    struct sim_real4 out;
#ifdef SIM_DOUBLE
    const double2 *half = reinterpret_cast<const double2 *>(at);
    double2 low = half[0], high = half[1];
    out.x = low.x, out.y = low.y, out.z = high.x, out.w = high.y;
#else
    float4 all = *reinterpret_cast<const float4 *>(at);
    out.x = all.x, out.y = all.y, out.z = all.z, out.w = all.w;
#endif
    return out;
}

static __device__ __forceinline__ void nbody_store(struct sim_real4 *at,
                                                   struct sim_real4 v)
{
#ifdef SIM_DOUBLE
    double2 *half = reinterpret_cast<double2 *>(at);
    half[0] = make_double2(v.x, v.y);
    half[1] = make_double2(v.z, v.w);
#else
    *reinterpret_cast<float4 *>(at) = make_float4(v.x, v.y, v.z, v.w);
#endif
}

#endif
