/* no_cuda.c - what a build without nvcc has instead of the CUDA backend: its absence. */
#include "field.h"
#include "diffusion.h"
#include "flow.h"
#include "nbody.h"
#include "render.h"

#include <stdio.h>

#define NO_CUDA "this simlua was built without CUDA"

enum sim_status sim_device_cuda_open(int index, struct sim_device **out)
{
    (void)index;
    *out = NULL;
    return sim_fail(SIM_DEVICE, NO_CUDA);
}

int sim_device_cuda_count(char *why_none, size_t size)
{
    snprintf(why_none, size, NO_CUDA);
    return 0;
}

enum sim_status sim_device_cuda_describe(int index, char *text, size_t size)
{
    (void)index;
    snprintf(text, size, NO_CUDA);
    return sim_fail(SIM_DEVICE, NO_CUDA);
}

const struct sim_nbody_ops *sim_nbody_ops_cuda(bool is_double)
{
    (void)is_double;
    return NULL;
}

const struct sim_render_ops *sim_render_ops_cuda(void)
{
    return NULL;
}

const struct sim_field_ops *sim_field_ops_cuda(bool is_double)
{
    (void)is_double;
    return NULL;
}

const struct sim_diffusion_ops *sim_diffusion_ops_cuda(bool is_double)
{
    (void)is_double;
    return NULL;
}

const struct sim_flow_ops *sim_flow_ops_cuda(bool is_double)
{
    (void)is_double;
    return NULL;
}
