/* sim_fn.h - the whole portability layer between C and CUDA C.
 *
 * A formula header (x_math.h) is compiled by the C compiler for the CPU loops and by nvcc
 * for the kernels. It is written against `real`; a file that serves both precisions is
 * compiled twice, the second time with -DSIM_DOUBLE, and names its public symbols with
 * SIM_TYPED(name), which adds _f32 or _f64. Both compilers run with contraction off:
 * where a fused multiply-add is meant, sim_fma says so. */
#ifndef SIM_FN_H
#define SIM_FN_H

#include <math.h>
#include <stdint.h>

#ifdef __CUDACC__
#define SIM_FN    static __host__ __device__ __forceinline__
#define SIM_TABLE static __device__ const
#else
#define SIM_FN    static inline __attribute__((always_inline, unused))
#define SIM_TABLE static const __attribute__((unused))
#endif

/* A formula too large to be copied into every caller. */
#ifdef __CUDACC__
#define SIM_FN_LARGE static __host__ __device__ __noinline__
#else
#define SIM_FN_LARGE static __attribute__((noinline, unused))
#endif

#ifdef SIM_DOUBLE
typedef double real;
#define SIM_TYPED(name) name##_f64
#else
typedef float real;
#define SIM_TYPED(name) name##_f32
#endif

/* Four reals that load and store as one; the w of a position is the body's mass. */
struct sim_real4 {
    real x, y, z, w;
} __attribute__((aligned(16)));

SIM_FN real sim_fma(real a, real b, real c)
{
#ifdef SIM_DOUBLE
    return fma(a, b, c);
#else
    return fmaf(a, b, c);
#endif
}

SIM_FN real sim_sqrt(real a)
{
#ifdef SIM_DOUBLE
    return sqrt(a);
#else
    return sqrtf(a);
#endif
}

#endif
