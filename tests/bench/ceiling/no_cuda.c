/* no_cuda.c - built instead of ceiling_cuda.cu without nvcc. */
#include "ceiling.h"

enum sim_status ceiling_measure_cuda(struct sim_device *device, bool is_double,
                                     struct ceiling *out)
{
    (void)device;
    (void)is_double;
    (void)out;
    return sim_fail(SIM_DEVICE, "this program was built without CUDA");
}
