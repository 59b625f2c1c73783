/* bodies_state.c - what the future of an N-body system depends on (checkpoint.h). The
 * acceleration is kept, though it follows from the positions: on a GPU its bits depend on
 * how it was summed, and a run that goes on must not sum it another way. */
#include "bodies.h"
#include "checkpoint.h"

static void list(void *object, struct sim_state *state)
{
    struct sim_bodies *b = object;
    const size_t n = (size_t)b->n, real4 = 4 * b->ops->real_bytes;
    sim_state_fixed(state, "n", &b->n, sizeof b->n);
    sim_state_fixed(state, "precision", &b->desc.is_double, sizeof b->desc.is_double);
    sim_state_fixed(state, "group count", &b->group_count, sizeof b->group_count);
    sim_state_fixed(state, "groups", b->groups, (size_t)b->group_count * sizeof *b->groups);
    sim_state_value(state, "steps", &b->steps, sizeof b->steps);
    sim_state_value(state, "has_force", &b->has_force, sizeof b->has_force);
    sim_state_array(state, "position", &b->position, 0, n * real4);
    sim_state_array(state, "velocity", &b->velocity, 0, n * real4);
    sim_state_array(state, "acceleration", &b->acceleration, 0, n * real4);
    sim_state_array(state, "group", &b->group, 0, n);
    /* Which bodies have met so far: the next picture tells of it. */
    enum sim_status status = sim_nbody_scratch(&b->nbody, SIM_NBODY_KEPT);
    if (status != SIM_OK)
        state->status = status;
    else
        sim_state_array(state, "met", &b->nbody.scratch, 0, SIM_NBODY_KEPT);
}

const struct sim_state_ops sim_bodies_state = {.list = list};
