/* flow.c - the flow solver's tables by device and precision. */
#include "flow.h"

#include <stddef.h>

const struct sim_flow_ops *sim_flow_ops(enum sim_device_kind kind, bool is_double)
{
    if (kind == SIM_CUDA)
        return sim_flow_ops_cuda(is_double);
    return is_double ? &sim_flow_ops_cpu_f64 : &sim_flow_ops_cpu_f32;
}
