/* flow_scalar.c - what the flow carries: scalars, what the sides and held regions do to
 * them, and buoyancy. */
#include "flow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int sim_flow_find_scalar(const struct sim_flow *f, const char *name)
{
    for (int k = 0; k < f->system.scalars; k++)
        if (!strcmp(f->scalars[k].name, name))
            return k;
    return -1;
}

static enum sim_status new_arrays(struct sim_flow *f, int k)
{
    struct sim_flow_system *s = &f->system;
    const size_t edges = 2 * (size_t)(s->nx + s->ny);
    f->scalar_side[k] = calloc(edges, sizeof *f->scalar_side[k]);
    if (!f->scalar_side[k])
        return sim_fail(SIM_HOST_MEMORY, "flow: no memory for a scalar's sides");
    for (int m = 0; m < 2; m++)
        SIM_TRY(sim_flow_array(f, s->nx, s->ny, "a scalar", &f->scalar[k][m],
                               &s->scalar[k][m]));
    SIM_TRY(sim_buffer_new(s->device, edges * sizeof *f->scalar_side[k],
                           "a scalar's sides", &f->scalar_edge[k]));
    s->scalar_edge[k] = f->scalar_edge[k].data;
    return sim_flow_make_scalar_view(f, k);
}

enum sim_status sim_flow_add_scalar(struct sim_flow *f,
                                    const struct sim_flow_scalar_desc *desc, int *index)
{
    const int k = f->system.scalars;
    if (k == SIM_FLOW_SCALARS)
        return sim_fail(SIM_BAD_ARGUMENT, "flow: more than %d scalars", SIM_FLOW_SCALARS);
    if (!*desc->name || sim_flow_find_scalar(f, desc->name) >= 0)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "flow: a scalar needs a name of its own, not '%s'", desc->name);
    if (!(desc->diffusivity >= 0) || !isfinite(desc->diffusivity))
        return sim_fail(SIM_BAD_ARGUMENT, "flow: a diffusivity must be 0 or more");
    f->scalars[k] = *desc;
    f->system.diffusivity[k] = desc->diffusivity;
    SIM_TRY(new_arrays(f, k));
    f->system.scalars++;
    f->ready = f->settled = false;
    *index = k;
    return SIM_OK;
}

enum sim_status sim_flow_set_scalar_side(struct sim_flow *f, int scalar,
                                         const struct sim_flow_scalar_side *side)
{
    const int64_t start = sim_flow_side_start(f, side->side);
    if (!isfinite(side->value))
        return sim_fail(SIM_BAD_ARGUMENT, "flow: a side's value is not finite");
    for (int64_t k = 0; k < sim_flow_side_length(f, side->side); k++)
        if (sim_flow_part_has(f, side->side, k, side->part, side->from, side->to))
            f->scalar_side[scalar][start + k] =
                (struct sim_flow_scalar_edge){.value = side->value, .fixed = side->fixed};
    f->ready = f->settled = false;
    return SIM_OK;
}

enum sim_status sim_flow_upload_scalar_sides(struct sim_flow *f)
{
    for (int k = 0; k < f->system.scalars; k++)
        SIM_TRY(sim_buffer_write(&f->scalar_edge[k], 0, f->scalar_side[k],
                                 f->scalar_edge[k].bytes));
    return SIM_OK;
}

/* Into host arrays with a ring of ghosts. */
static enum sim_status hold_weights(const struct sim_flow *f,
                                    const struct sim_shape *shape, double value,
                                    float *weight, double *held)
{
    const struct sim_flow_desc *d = &f->desc;
    const struct sim_lattice at = {d->nx, d->ny, d->x0 + 0.5 * d->dx, d->y0 + 0.5 * d->dy,
                                   d->dx, d->dy};
    float *one = malloc((size_t)d->nx * sizeof *one);
    if (!one)
        return sim_fail(SIM_HOST_MEMORY, "flow: no memory for a source");
    for (int64_t j = 0; j < d->ny; j++) {
        sim_shape_weights(shape, &at, j, j + 1, true, f->system.device->threads, one);
        for (int64_t i = 0; i < d->nx; i++)
            if (one[i] > 0) {
                weight[sim_flow_at(f, i, j)] = one[i];
                held[sim_flow_at(f, i, j)] = value;
            }
    }
    free(one);
    return SIM_OK;
}

static enum sim_status upload_hold(struct sim_flow *f, int k, const float *weight)
{
    const int64_t nx = f->desc.nx, ny = f->desc.ny, pitch = f->system.pitch;
    const size_t cells = f->held[k].bytes / f->ops->real_bytes;
    const int64_t first = sim_flow_pitch(nx) + SIM_FLOW_LEAD;
    float *copy = calloc(cells, sizeof *copy);
    if (!copy)
        return sim_fail(SIM_HOST_MEMORY, "flow: no memory for a source");
    for (int64_t j = 0; j < ny; j++)
        memcpy(copy + first + j * pitch, weight + sim_flow_at(f, 0, j),
               (size_t)nx * sizeof *copy);
    enum sim_status status = SIM_OK;
    if (!f->hold[k].data)
        status = sim_buffer_new(f->system.device, cells * sizeof *copy, "a source",
                                &f->hold[k]);
    if (status == SIM_OK)
        status = sim_buffer_write(&f->hold[k], 0, copy, cells * sizeof *copy);
    f->system.hold[k] = (const float *)f->hold[k].data + first;
    free(copy);
    return status;
}

enum sim_status sim_flow_hold(struct sim_flow *f, int scalar,
                              const struct sim_shape *shape, double value)
{
    const size_t n = (size_t)(f->desc.nx + 3) * (size_t)(f->desc.ny + 3);
    void *held_data = (void *)f->system.held[scalar];
    float *weight = calloc(n, sizeof *weight);
    double *held = calloc(n, sizeof *held);
    enum sim_status status = SIM_OK;
    if (f->hold[scalar].data)
        status =
            sim_fail(SIM_BAD_ARGUMENT, "flow: a scalar has one source; join shapes with "
                                       "sim.shape.union");
    else if (!weight || !held)
        status = sim_fail(SIM_HOST_MEMORY, "flow: no memory for a source");
    if (status == SIM_OK)
        status = hold_weights(f, shape, value, weight, held);
    if (status == SIM_OK)
        status = sim_flow_array(f, f->desc.nx, f->desc.ny, "a source", &f->held[scalar],
                                &held_data);
    f->system.held[scalar] = held_data;
    if (status == SIM_OK)
        status = sim_flow_upload(f, f->desc.nx, f->desc.ny, held, &f->held[scalar]);
    if (status == SIM_OK)
        status = upload_hold(f, scalar, weight);
    free(weight);
    free(held);
    return status;
}

enum sim_status sim_flow_set_buoyancy(struct sim_flow *f, int heat, double x, double y,
                                      double reference)
{
    if (!isfinite(x) || !isfinite(y) || !isfinite(reference))
        return sim_fail(SIM_BAD_ARGUMENT, "flow: the buoyancy is not finite");
    f->system.heat = heat;
    f->system.buoyancy[0] = x, f->system.buoyancy[1] = y;
    f->system.reference = reference;
    return SIM_OK;
}
