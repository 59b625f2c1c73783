/* test_nbody_simd_double.c - test_nbody_simd.c in double precision. */
#define SIM_DOUBLE
#include "test_nbody_simd.c"
