/* field_state.c - what a field's future depends on (checkpoint.h): its values, and the
 * range of colours that its first picture chose. A view has no state of its own. */
#include "checkpoint.h"
#include "field.h"

static void list(void *object, struct sim_state *state)
{
    struct sim_field *f = object;
    sim_state_fixed(state, "nx", &f->nx, sizeof f->nx);
    sim_state_fixed(state, "ny", &f->ny, sizeof f->ny);
    sim_state_fixed(state, "precision", &f->is_double, sizeof f->is_double);
    sim_state_value(state, "step", &f->step, sizeof f->step);
    sim_state_value(state, "time", &f->time, sizeof f->time);
    sim_state_value(state, "ranged", &f->ranged, sizeof f->ranged);
    sim_state_value(state, "range", f->range, sizeof f->range);
    sim_state_array(state, "values", &f->own, 0, f->own.bytes);
}

const struct sim_state_ops sim_field_state = {.list = list};
