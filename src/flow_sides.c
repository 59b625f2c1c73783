/* flow_sides.c - what holds on the sides of a flow and on parts of them, and how it
 * varies in time: the host's table, which flow.c checks and brings to the device. */
#include "flow.h"

#include <math.h>
#include <string.h>

static bool is_used(const struct sim_flow *f, int signal)
{
    for (int64_t k = 0; k < 2 * (f->desc.nx + f->desc.ny); k++)
        if (f->edge[k].signal == signal)
            return true;
    return false;
}

/* A place for one: that of an equal one, a new one, or when all are taken that of one
 * which no side has any more; 0: none. */
static int find_place(const struct sim_flow *f, const struct sim_flow_signal *signal)
{
    for (int k = 1; k < f->signal_count; k++)
        if (!memcmp(&f->signal[k], signal, sizeof *signal))
            return k;
    if (f->signal_count < SIM_FLOW_SIGNALS)
        return f->signal_count;
    for (int k = 1; k < f->signal_count; k++)
        if (!is_used(f, k))
            return k;
    return 0;
}

enum sim_status sim_flow_add_signal(struct sim_flow *f,
                                    const struct sim_flow_signal *signal, int *index)
{
    if (!(signal->period > 0) || !isfinite(signal->period))
        return sim_fail(SIM_BAD_ARGUMENT, "flow: a ramp or a period must be positive");
    *index = find_place(f, signal);
    if (!*index)
        return sim_fail(SIM_BAD_ARGUMENT, "flow: more than %d ways to vary in time",
                        SIM_FLOW_SIGNALS - 1);
    f->signal[*index] = *signal;
    if (*index == f->signal_count)
        f->signal_count++;
    f->ready = false;
    return SIM_OK;
}

bool sim_flow_part_has(const struct sim_flow *f, int side, int64_t k, bool part,
                       double from, double to)
{
    const double at = side < 2 ? f->desc.y0 + ((double)k + 0.5) * f->desc.dy
                               : f->desc.x0 + ((double)k + 0.5) * f->desc.dx;
    return !part || (at >= from && at < to);
}

enum sim_status sim_flow_set_side(struct sim_flow *f, const struct sim_flow_side_desc *d)
{
    int64_t cells = 0;
    if (d->kind == SIM_FLOW_PERIODIC && d->part)
        return sim_fail(SIM_BAD_ARGUMENT, "flow: a part of a side cannot be periodic");
    struct sim_flow_edge *edge = f->edge + sim_flow_side_start(f, d->side);
    for (int64_t k = 0; k < sim_flow_side_length(f, d->side); k++) {
        const double normal = d->normals ? d->normals[k] : d->normal;
        if (!sim_flow_part_has(f, d->side, k, d->part, d->from, d->to))
            continue;
        if (!isfinite(normal) || !isfinite(d->tangent) || !isfinite(d->pressure))
            return sim_fail(SIM_BAD_ARGUMENT, "flow: a side's value is not finite");
        edge[k] = (struct sim_flow_edge){.normal = normal,
                                         .tangent = d->tangent,
                                         .pressure = d->pressure,
                                         .kind = (int32_t)d->kind,
                                         .signal = d->signal,
                                         .region = -1};
        cells++;
    }
    if (!cells)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "flow: no cell of the side lies between %g and %g", d->from,
                        d->to);
    f->ready = f->settled = false;
    return SIM_OK;
}
