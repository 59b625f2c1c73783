/* flow_state.c - what the future of a flow depends on (checkpoint.h): the velocity now
 * and before, the pressure that the next solve starts from, the scalars, the control
 * block with its time and step, the markers, the colour ranges of its fields. Sides,
 * obstacles, forces and sources are the script's to set up again; one that changes them
 * while it runs is not made good by a checkpoint, and is refused where the number of
 * obstacles tells. */
#include "checkpoint.h"
#include "flow_health.h"

static void list_views(struct sim_field *views, int count, struct sim_state *state)
{
    for (int k = 0; k < count; k++) {
        sim_state_value(state, "ranged", &views[k].ranged, sizeof views[k].ranged);
        sim_state_value(state, "range", views[k].range, sizeof views[k].range);
    }
}

static void list(void *object, struct sim_state *state)
{
    struct sim_flow *f = object;
    struct sim_flow_desc *d = &f->desc;
    sim_state_fixed(state, "nx", &d->nx, sizeof d->nx);
    sim_state_fixed(state, "ny", &d->ny, sizeof d->ny);
    sim_state_fixed(state, "precision", &d->is_double, sizeof d->is_double);
    sim_state_fixed(state, "scalars", &f->system.scalars, sizeof f->system.scalars);
    sim_state_fixed(state, "obstacles", &f->obstacle_count, sizeof f->obstacle_count);
    /* A state that is settled must not be settled again: that would change its sides. */
    sim_state_value(state, "settled", &f->settled, sizeof f->settled);
    sim_state_value(state, "refines", &f->system.refines, sizeof f->system.refines);
    sim_state_array(state, "u", &f->u[0], 0, f->u[0].bytes);
    sim_state_array(state, "v", &f->v[0], 0, f->v[0].bytes);
    sim_state_array(state, "u before", &f->u[1], 0, f->u[1].bytes);
    sim_state_array(state, "v before", &f->v[1], 0, f->v[1].bytes);
    sim_state_array(state, "pressure", &f->p, 0, f->p.bytes);
    sim_state_array(state, "control", &f->control, 0, f->control.bytes);
    for (int k = 0; k < f->system.scalars; k++)
        sim_state_array(state, "scalar", &f->scalar[k][0], 0, f->scalar[k][0].bytes);
    sim_state_fixed(state, "marker capacity", &f->system.markers.capacity,
                    sizeof f->system.markers.capacity);
    if (f->system.markers.marker)
        sim_state_array(state, "markers", &f->markers, 0, f->markers.bytes);
    list_views(f->views, SIM_FLOW_VIEWS, state);
    list_views(f->scalar_view, f->system.scalars, state);
}

static enum sim_status check(void *object)
{
    return sim_flow_check(object);
}

const struct sim_state_ops sim_flow_state = {.list = list, .check = check};
