/* cuda_crash.cu - a faulty kernel, for tests of what a lost GPU does to a run
 * (SIMLUA_FAIL=crash:N, src/fail.h). Like any kernel's, its fault is found later, by the
 * next call that asks the driver; the context then stays broken until the process ends.
 *
 * Not by sim_launch(), which is what calls it. */
#include "cuda_check.h"

/* The address comes by the launch, so that no compiler reasons about it. */
static __global__ void crash_kernel(volatile int *nowhere)
{
    *nowhere = 1;
}

void sim_cuda_crash(struct sim_device *device)
{
    crash_kernel<<<1, 1, 0, (cudaStream_t)device->stream>>>((volatile int *)16);
}
