/* diffusion_state.c - what the future of a diffusion system depends on (checkpoint.h):
 * its species as they are now, the steps taken, the colour ranges of its fields. Walls,
 * sources and signals are the script's to set up again; one that changes them while it
 * runs is not made good by a checkpoint. */
#include "checkpoint.h"
#include "diffusion.h"

static const char *const now_words[] = {"u", "v", "species 3", "species 4"};

static void list(void *object, struct sim_state *state)
{
    struct sim_diffusion *d = object;
    const struct sim_diffusion_system *system = &d->system;
    sim_state_fixed(state, "nx", &d->system.nx, sizeof system->nx);
    sim_state_fixed(state, "ny", &d->system.ny, sizeof system->ny);
    sim_state_fixed(state, "count", &d->system.count, sizeof system->count);
    sim_state_fixed(state, "species", &d->system.species, sizeof system->species);
    sim_state_fixed(state, "precision", &d->desc.is_double, sizeof d->desc.is_double);
    sim_state_value(state, "steps", &d->steps, sizeof d->steps);
    for (int s = 0; s < system->species; s++) {
        struct sim_buffer *pair = d->arrays[s];
        struct sim_buffer *now = pair[0].data == system->now[s] ? &pair[0] : &pair[1];
        sim_state_array(state, now_words[s < 4 ? s : 3], now, 0, now->bytes);
    }
    for (int64_t k = 0; k < system->species * system->count; k++) {
        sim_state_value(state, "ranged", &d->fields[k].ranged,
                        sizeof d->fields[k].ranged);
        sim_state_value(state, "range", d->fields[k].range, sizeof d->fields[k].range);
    }
}

const struct sim_state_ops sim_diffusion_state = {.list = list};
