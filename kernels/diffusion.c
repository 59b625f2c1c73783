/* diffusion.c - diffusion's tables by device and precision. */
#include "diffusion.h"

#include <stddef.h>

const struct sim_diffusion_ops *sim_diffusion_ops(enum sim_device_kind kind,
                                                  bool is_double)
{
    if (kind == SIM_CUDA)
        return sim_diffusion_ops_cuda(is_double);
    return is_double ? &sim_diffusion_ops_cpu_f64 : &sim_diffusion_ops_cpu_f32;
}
