/* nbody_cuda.h - what the CUDA files of gravity share; compiled for both precisions. */
#ifndef NBODY_CUDA_H
#define NBODY_CUDA_H

#include "launch.cuh"

extern "C" {
#include "nbody.h"
}
#include "nbody_math.h"

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

/* Softening by group and the spline (nbody_cuda_soft.cu). A force launch of targets first
 * <= i < last, for a grid of NBODY_SOFT_TILE threads a block, blockIdx.y a segment of the
 * sources; partial as in nbody_cuda_force.cuh. And total[block] of the potential, as
 * there in nbody_cuda_diag.cu, of the targets from `first` on. */
#define NBODY_SOFT_TILE           128
#define nbody_soft_force          SIM_TYPED(nbody_soft_force)
#define nbody_soft_kernel         SIM_TYPED(nbody_soft_kernel)
#define nbody_soft_potential_cuda SIM_TYPED(nbody_soft_potential_cuda)
struct force_args;
enum sim_status nbody_soft_force(struct sim_nbody *, const struct force_args &,
                                 dim3 grid);
const void *nbody_soft_kernel(const struct sim_nbody *); /* the one of the force */
enum sim_status nbody_soft_potential_cuda(struct sim_nbody *, int64_t first, dim3 grid,
                                          double *total);

#define nbody_hermite_cuda SIM_TYPED(nbody_hermite_cuda) /* nbody_cuda_hermite.cu */
enum sim_status nbody_hermite_cuda(struct sim_nbody *, struct sim_hermite *);

/* --- symmetric pairs (nbody_cuda_pairs.cu) ---------------------------------------------
 */

#define NBODY_ROWS 8 /* threads that add the rows of a body */

/* Forces in parts: rows of x[padded], y[padded], z[padded]. */
struct nbody_rows {
    const real *own, *met; /* [own_rows], [last - first] */
    int64_t padded;
    int own_rows, first, last; /* met: rounds first <= d < last */
    int blocks, block;         /* number and size of the blocks of bodies */
};

/* How a system is cut: which kernel, bodies a block, rounds a thread block and a pass. */
struct nbody_pairs {
    int variant, block, blocks, rounds, run, group, own_rows, passes;
    int64_t padded;
    double scale; /* lengths are multiplied by it; forces come out as a / scale^2 */
};

#define nbody_pairs_plan  SIM_TYPED(nbody_pairs_plan)
#define nbody_pairs_bytes SIM_TYPED(nbody_pairs_bytes)
#define nbody_pairs_pass  SIM_TYPED(nbody_pairs_pass)
#define nbody_pairs_tell  SIM_TYPED(nbody_pairs_tell)
enum sim_status nbody_pairs_plan(const struct sim_nbody *, struct nbody_pairs *);
size_t nbody_pairs_bytes(const struct nbody_pairs *);
/* Enqueue a pass; after the last one the forces are `rows`, and where there were several
 * passes they are in double running[3][padded] at the start of the workspace `space`. */
enum sim_status nbody_pairs_pass(struct sim_nbody *, const struct nbody_pairs *,
                                 void *space, int pass, struct nbody_rows *rows);
/* The kernel, and how it is cut (struct sim_nbody_kernel). */
const void *nbody_pairs_tell(const struct sim_nbody *, const struct nbody_pairs *,
                             struct sim_nbody_kernel *out);

/* A power of two near 2^-20 / eps: 1/r^3 is at most 2^63 then, and a normal number in
 * single precision up to distances of 2^62 eps. */
static inline double nbody_pairs_scale(double eps)
{
    int exponent;
    if (eps == 0)
        return 1;
    frexp(eps, &exponent);
    return ldexp(1.0, -exponent - 20);
}

/* The rows of body i added up, for blocks of 32 x NBODY_ROWS threads: thread y takes each
 * NBODY_ROWS-th row, then y = 0 adds these sums in order and alone returns the result.
 * Every thread of the block must call. */
static __device__ __forceinline__ void nbody_pairs_sum(const struct nbody_rows &rows,
                                                       int64_t i, double sum[3])
{
    __shared__ double part[NBODY_ROWS][3][32];
    const int block = (int)(i / rows.block);
    double s[3] = {0, 0, 0};
#pragma unroll 4
    for (int r = threadIdx.y; r < rows.own_rows; r += NBODY_ROWS)
        for (int c = 0; c < 3; c++)
            s[c] += (double)rows.own[(3 * (int64_t)r + c) * rows.padded + i];
#pragma unroll 4
    for (int d = rows.first + threadIdx.y; d < rows.last; d += NBODY_ROWS) {
        if (d == 0 || (2 * d == rows.blocks && block < d))
            continue; /* nobody wrote there */
        for (int c = 0; c < 3; c++)
            s[c] +=
                (double)rows.met[(3 * (int64_t)(d - rows.first) + c) * rows.padded + i];
    }
    for (int c = 0; c < 3; c++)
        part[threadIdx.y][c][threadIdx.x] = s[c];
    __syncthreads();
    for (int c = 0; c < 3; c++) {
        sum[c] = part[0][c][threadIdx.x];
        for (int y = 1; y < NBODY_ROWS; y++)
            sum[c] += part[y][c][threadIdx.x];
    }
}

/* Enqueue that close bodies become one (nbody_cuda_merge.cu). `jerk`: Hermite's, else
 * NULL; `space`: sim_nbody_merge_bytes. */
#define nbody_merge_cuda SIM_TYPED(nbody_merge_cuda)
enum sim_status nbody_merge_cuda(struct sim_nbody *, void *jerk, void *space);

/* --- small systems (nbody_cuda_resident.cu) --------------------------------------------
 */

/* Can this device hold this system and these stages in one resident kernel? */
#define nbody_resident_fits SIM_TYPED(nbody_resident_fits)
#define nbody_resident_run  SIM_TYPED(nbody_resident_run)
#define nbody_resident_tell SIM_TYPED(nbody_resident_tell)
bool nbody_resident_fits(const struct sim_nbody *, int stage_count);
/* Enqueue `steps` steps in one launch; the workspace has 2 n notices. */
enum sim_status nbody_resident_run(struct sim_nbody *, const struct sim_stage *,
                                   int stage_count, int64_t steps);
const void *nbody_resident_tell(const struct sim_nbody *, struct sim_nbody_kernel *out);

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
