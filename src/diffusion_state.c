/* diffusion_state.c - what the future of a diffusion system depends on (checkpoint.h):
 * its species as they are now, the steps taken, the colour ranges of its fields; and as a
 * script may change them while it runs, walls, signals, sources, D and the domain. A
 * scene built anew makes room for what a file holds of these. Device tables are made anew
 * from the host's before the next step. */
#include "checkpoint.h"
#include "diffusion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct name {
    char text[SIM_STATE_NAME];
};

static struct name name_of(const char *what, int k, const char *part)
{
    struct name name;
    snprintf(name.text, sizeof name.text, "%s %d%s", what, k, part);
    return name;
}

/* --- the list ----------------------------------------------------------------------- */

static void list_species(struct sim_diffusion *d, int s, struct sim_state *state)
{
    const size_t cells = 2 * (size_t)(d->desc.nx + d->desc.ny);
    struct sim_buffer *pair = d->arrays[s];
    struct sim_buffer *now = pair[0].data == d->system.now[s] ? &pair[0] : &pair[1];
    sim_state_array(state, name_of("species", s, "").text, now, 0, now->bytes);
    sim_state_value(state, name_of("walls", s, "").text, d->walls[s],
                    cells * sizeof *d->walls[s]);
    sim_state_value(state, name_of("walls", s, " signals").text, d->wall_signals[s],
                    cells);
    if (!d->conductance[s].data)
        return;
    sim_state_array(state, name_of("D", s, "").text, &d->conductance[s], 0,
                    d->conductance[s].bytes);
    sim_state_value(state, name_of("D", s, " at walls").text, d->edge_D[s],
                    cells * sizeof *d->edge_D[s]);
    sim_state_value(state, name_of("D", s, " at most").text, &d->diffusivity_max[s],
                    sizeof d->diffusivity_max[s]);
}

static void list_signals(struct sim_diffusion *d, struct sim_state *state)
{
    sim_state_value(state, "signals", &d->signal_count, sizeof d->signal_count);
    for (int k = 1; k < d->signal_count; k++) {
        struct sim_signal *s = &d->signal[k];
        double *numbers = &s->mean; /* to duty */
        const size_t bytes = (size_t)((char *)(&s->duty + 1) - (char *)numbers);
        sim_state_value(state, name_of("signal", k, "").text, &s->kind, sizeof s->kind);
        sim_state_value(state, name_of("signal", k, " numbers").text, numbers, bytes);
        if (s->points)
            sim_state_value(state, name_of("signal", k, " points").text,
                            (void *)s->points,
                            (size_t)s->point_count * sizeof *s->points);
    }
}

static void list_sources(struct sim_diffusion *d, struct sim_state *state)
{
    sim_state_value(state, "constant sources", &d->constant_count,
                    sizeof d->constant_count);
    sim_state_value(state, "constants", d->constant, sizeof d->constant);
    sim_state_value(state, "source fields", &d->system.source_fields,
                    sizeof d->system.source_fields);
    for (int k = 0; k < d->system.source_fields; k++) {
        struct sim_source_field *source = &d->system.source[k];
        sim_state_array(state, name_of("source", k, "").text, &d->source[k], 0,
                        d->source[k].bytes);
        sim_state_value(state, name_of("source", k, " species").text, &source->species,
                        sizeof source->species);
        sim_state_value(state, name_of("source", k, " signal").text, &source->signal,
                        sizeof source->signal);
    }
}

static void list(void *object, struct sim_state *state)
{
    struct sim_diffusion *d = object;
    const struct sim_diffusion_system *system = &d->system;
    sim_state_fixed(state, "nx", &d->system.nx, sizeof system->nx);
    sim_state_fixed(state, "ny", &d->system.ny, sizeof system->ny);
    sim_state_fixed(state, "count", &d->system.count, sizeof system->count);
    sim_state_fixed(state, "kinds", &d->system.species, sizeof system->species);
    sim_state_fixed(state, "precision", &d->desc.is_double, sizeof d->desc.is_double);
    sim_state_value(state, "steps", &d->steps, sizeof d->steps);
    sim_state_value(state, "periodic", d->periodic, sizeof d->periodic);
    for (int s = 0; s < system->species; s++)
        list_species(d, s, state);
    list_signals(d, state);
    list_sources(d, state);
    if (d->mask.data)
        sim_state_array(state, "mask", &d->mask, 0, d->mask.bytes);
    for (int64_t k = 0; k < system->species * system->count; k++) {
        sim_state_value(state, "ranged", &d->fields[k].ranged,
                        sizeof d->fields[k].ranged);
        sim_state_value(state, "range", d->fields[k].range, sizeof d->fields[k].range);
    }
}

/* --- room for what a file holds ----------------------------------------------------- */

struct file {
    const struct sim_checkpoint *checkpoint;
    const char *prefix;
};

static bool has(const struct file *f, const char *what, int k)
{
    return sim_checkpoint_has(f->checkpoint, f->prefix, name_of(what, k, "").text);
}

static enum sim_status expect_array(struct sim_diffusion *d, size_t bytes,
                                    struct sim_buffer *buffer, const void **pointer)
{
    if (!buffer->data)
        SIM_TRY(sim_buffer_new(d->system.device, bytes, "a checkpoint", buffer));
    *pointer = buffer->data;
    return SIM_OK;
}

static enum sim_status expect_D(struct sim_diffusion *d, int s, size_t bytes)
{
    SIM_TRY(expect_array(d, bytes, &d->conductance[s], &d->system.conductance[s]));
    if (!d->edge_D[s])
        d->edge_D[s] =
            calloc(2 * (size_t)(d->desc.nx + d->desc.ny), sizeof *d->edge_D[s]);
    return d->edge_D[s] ? SIM_OK
                        : sim_fail(SIM_HOST_MEMORY, "out of host memory: a checkpoint");
}

static enum sim_status expect_signal(struct sim_diffusion *d, const struct file *f, int k)
{
    struct sim_signal *s = &d->signal[k];
    const size_t bytes = sim_checkpoint_bytes(f->checkpoint, f->prefix,
                                              name_of("signal", k, " points").text);
    if ((size_t)s->point_count * sizeof *s->points == bytes)
        return SIM_OK;
    free((void *)s->points);
    s->points = bytes ? calloc(1, bytes) : NULL;
    s->point_count = (int64_t)(s->points ? bytes / sizeof *s->points : 0);
    return bytes && !s->points
               ? sim_fail(SIM_HOST_MEMORY, "out of host memory: a checkpoint")
               : SIM_OK;
}

static enum sim_status expect(void *object, const struct sim_checkpoint *checkpoint,
                              const char *prefix)
{
    struct sim_diffusion *d = object;
    const struct file f = {checkpoint, prefix};
    const size_t bytes =
        (size_t)d->system.pitch * (size_t)d->system.ny * d->ops->real_bytes;
    const void *mask = d->system.mask;
    d->ready = false;
    for (int s = 0; s < d->system.species; s++)
        if (has(&f, "D", s))
            SIM_TRY(expect_D(d, s, bytes));
    for (int k = 1; k < SIM_SIGNAL_USER && has(&f, "signal", k); k++) {
        d->signal_count = k < d->signal_count ? d->signal_count : k + 1;
        SIM_TRY(expect_signal(d, &f, k));
    }
    for (int k = 0; k < SIM_SOURCE_FIELDS && has(&f, "source", k); k++) {
        SIM_TRY(expect_array(d, bytes, &d->source[k], &d->system.source[k].field));
        if (d->system.source_fields <= k)
            d->system.source_fields = k + 1;
    }
    if (sim_checkpoint_has(checkpoint, prefix, "mask"))
        SIM_TRY(
            expect_array(d, (size_t)d->desc.nx * (size_t)d->desc.ny, &d->mask, &mask));
    d->system.mask = mask;
    return SIM_OK;
}

const struct sim_state_ops sim_diffusion_state = {.list = list, .expect = expect};
