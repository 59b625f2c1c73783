/* bodies_state.c - what the future of an N-body system depends on (checkpoint.h). The
 * acceleration is kept, though it follows from the positions: on a GPU its bits depend on
 * how it was summed, and a run that goes on must not sum it another way.
 *
 * When advance() shows a time between two steps there are two states: what is shown, and
 * the orbit's, from which the next step goes on. Both are kept. */
#include "bodies.h"
#include "checkpoint.h"

#define ORBIT "orbit position"

static void list_arrays(struct sim_bodies *b, struct sim_state *state)
{
    const size_t n = (size_t)b->n, real4 = 4 * b->ops->real_bytes;
    struct sim_buffer *now[] = {&b->position, &b->velocity, &b->acceleration, &b->jerk};
    static const char *const names[] = {"position", "velocity", "acceleration", "jerk"};
    static const char *const orbit_names[] = {ORBIT, "orbit velocity",
                                              "orbit acceleration", "orbit jerk"};
    for (int k = 0; k < 4; k++) {
        size_t bytes = k < 3 ? n * real4 : b->jerk.bytes;
        if (now[k]->data)
            sim_state_array(state, names[k], now[k], 0, bytes);
        if (now[k]->data && b->ahead)
            sim_state_array(state, orbit_names[k], &b->orbit[k], 0, bytes);
    }
    sim_state_array(state, "group", &b->group, 0, n);
}

static void list(void *object, struct sim_state *state)
{
    struct sim_bodies *b = object;
    sim_state_fixed(state, "n", &b->n, sizeof b->n);
    sim_state_fixed(state, "precision", &b->desc.is_double, sizeof b->desc.is_double);
    sim_state_fixed(state, "scheme", &b->desc.scheme, sizeof b->desc.scheme);
    sim_state_fixed(state, "group count", &b->group_count, sizeof b->group_count);
    sim_state_fixed(state, "groups", b->groups,
                    (size_t)b->group_count * sizeof *b->groups);
    sim_state_fixed(state, "softening kind", &b->desc.softening_kind,
                    sizeof b->desc.softening_kind);
    sim_state_value(state, "softening", &b->desc.softening, sizeof b->desc.softening);
    sim_state_value(state, "softenings", b->nbody.group_eps, sizeof b->nbody.group_eps);
    sim_state_value(state, "steps", &b->steps, sizeof b->steps);
    sim_state_value(state, "has_force", &b->has_force, sizeof b->has_force);
    sim_state_value(state, "sifted", &b->sifted, sizeof b->sifted);
    sim_state_value(state, "clock", &b->clock, sizeof b->clock);
    sim_state_value(state, "fresh", &b->hermite.fresh, sizeof b->hermite.fresh);
    sim_state_value(state, "next", &b->hermite.next, sizeof b->hermite.next);
    sim_state_value(state, "time", &b->hermite.time, sizeof b->hermite.time);
    sim_state_value(state, "ahead", &b->ahead, sizeof b->ahead);
    sim_state_value(state, "shown", &b->shown, sizeof b->shown);
    if (b->desc.mixed) {
        sim_state_value(state, "momentum unit", &b->nbody.momentum_unit,
                        sizeof b->nbody.momentum_unit);
        sim_state_value(state, "momentum least", &b->nbody.momentum_least,
                        sizeof b->nbody.momentum_least);
    }
    list_arrays(b, state);
    /* Which bodies have met so far: the next picture tells of it. */
    enum sim_status status = sim_nbody_scratch(&b->nbody, SIM_NBODY_KEPT);
    if (status != SIM_OK)
        state->status = status;
    else
        sim_state_array(state, "met", &b->nbody.scratch, 0, SIM_NBODY_KEPT);
}

/* Room for the orbit's state beside the one shown, where the file has both. */
static enum sim_status expect(void *object, const struct sim_checkpoint *checkpoint,
                              const char *prefix)
{
    struct sim_bodies *b = object;
    struct sim_buffer *now[] = {&b->position, &b->velocity, &b->acceleration, &b->jerk};
    b->ahead = sim_checkpoint_has(checkpoint, prefix, ORBIT);
    for (int k = 0; k < 4 && b->ahead; k++) {
        if (!now[k]->data || b->orbit[k].bytes == now[k]->bytes)
            continue;
        if (b->orbit[k].device)
            sim_buffer_free(&b->orbit[k]);
        SIM_TRY(sim_buffer_new(now[k]->device, now[k]->bytes, "the orbit's state",
                               &b->orbit[k]));
    }
    return SIM_OK;
}

static enum sim_status check(void *object)
{
    return sim_bodies_check(object);
}

const struct sim_state_ops sim_bodies_state = {
    .list = list, .expect = expect, .check = check};
