/* nbody.c - gravity's tables by device and precision, and what both backends share on the
 * host: the workspace and the range of softening lengths. */
#include "nbody.h"
#include "nbody_math.h"
#include "nbody_merge_math.h"

#include <float.h>

const struct sim_nbody_ops *sim_nbody_ops(enum sim_device_kind kind, bool is_double)
{
    if (kind == SIM_CUDA)
        return sim_nbody_ops_cuda(is_double);
    return is_double ? &sim_nbody_ops_cpu_f64 : &sim_nbody_ops_cpu_f32;
}

/* The kept bytes of the old workspace, or all ones when there was none. */
static enum sim_status keep(const struct sim_buffer *old, struct sim_buffer *grown)
{
    if (old->data)
        return sim_buffer_copy(grown, 0, old, 0, SIM_NBODY_KEPT);
    return grown->device->ops->fill(grown->device, grown->data, 0xff, SIM_NBODY_KEPT);
}

enum sim_status sim_nbody_scratch(struct sim_nbody *nbody, size_t bytes)
{
    size_t needed = bytes > SIM_NBODY_KEPT ? bytes : SIM_NBODY_KEPT;
    if (nbody->scratch.data && nbody->scratch.bytes >= needed)
        return SIM_OK;
    struct sim_buffer grown = {0};
    SIM_TRY(sim_buffer_new(nbody->device, needed, "the workspace of gravity", &grown));
    enum sim_status status = keep(&nbody->scratch, &grown);
    if (status != SIM_OK) {
        sim_buffer_free(&grown);
        return status;
    }
    sim_buffer_free(&nbody->scratch);
    nbody->scratch = grown;
    return SIM_OK;
}

enum sim_status sim_nbody_merge_bytes(int64_t n, size_t *bytes)
{
    return sim_size_multiply((size_t)n + 1, NBODY_MERGE_WORDS * sizeof(uint64_t),
                             "the workspace of merging bodies", bytes);
}

enum sim_status sim_nbody_check_eps(double eps, bool is_double)
{
    double eps2 = eps * eps;
    double low = is_double ? DBL_MIN : FLT_MIN, high = is_double ? DBL_MAX : FLT_MAX;
    if (eps == 0.0 || (eps2 >= low && eps2 <= high))
        return SIM_OK;
    return sim_fail(
        SIM_BAD_ARGUMENT,
        "the softening %g cannot be squared in %s precision: 0, or %.3g to %.3g", eps,
        is_double ? "double" : "single", is_double ? 1.5e-154 : 1.1e-19,
        is_double ? 1.3e154 : 1.8e19);
}

void sim_nbody_sums_finish(const struct sim_nbody *nbody, const double *raw,
                           struct sim_nbody_sums *out)
{
    const struct nbody_hold hold = nbody_hold_of(nbody);
    *out = (struct sim_nbody_sums){.count = raw[NBODY_COUNT],
                                   .mass = raw[NBODY_MASS],
                                   .kinetic = raw[NBODY_KINETIC],
                                   .outgrown = raw[NBODY_OUTGROWN]};
    for (int k = 0; k < 3; k++) {
        out->centre[k] = nbody_centre(raw, k);
        out->momentum[k] =
            raw[NBODY_MV + k] +
            nbody_join_units(&hold, raw[NBODY_HIGH + k], raw[NBODY_LOW + k]);
        out->angular_momentum[k] = raw[NBODY_L + k];
    }
}
