/* field.c - the tables of field operations by device and precision. */
#include "field.h"

const struct sim_field_ops *sim_field_ops(enum sim_device_kind kind, bool is_double)
{
    if (kind == SIM_CUDA)
        return sim_field_ops_cuda(is_double);
    return is_double ? &sim_field_ops_cpu_f64 : &sim_field_ops_cpu_f32;
}
