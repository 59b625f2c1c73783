/* flow_state.c - what the future of a flow depends on (checkpoint.h): the velocity now
 * and before, the pressure that the next solve starts from, the scalars, the control
 * block with its time and step, the colour ranges of its fields; and as a script may
 * change them while it runs, sides, signals, obstacles, forces, sources, buoyancy and
 * markers. A scene built anew makes room for what a file holds of these. Obstacles are
 * packed (shape_state.c) when they were changed. Tables on the device are made anew
 * before the next step. */
#include "checkpoint.h"
#include "flow_health.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARKER_BYTES  (4 * sizeof(float))
#define EMITTER_BYTES (3 * sizeof(float))

struct name {
    char text[SIM_STATE_NAME];
};

static struct name name_of(const char *what, int k)
{
    struct name name;
    snprintf(name.text, sizeof name.text, "%s %d", what, k);
    return name;
}

/* --- obstacles as bytes ------------------------------------------------------------- */

static enum sim_status pack_obstacles(struct sim_flow *f)
{
    const int64_t count = f->obstacle_count;
    size_t bytes = sizeof count;
    for (int64_t k = 0; k < count; k++)
        bytes += SIM_FLOW_NAME + sim_shape_packed_bytes(f->obstacle[k].shape);
    char *packed = realloc(f->packed, bytes), *at = packed;
    if (!packed)
        return sim_fail(SIM_HOST_MEMORY, "out of host memory: a checkpoint");
    f->packed = packed;
    f->packed_bytes = bytes;
    memcpy(at, &count, sizeof count);
    at += sizeof count;
    for (int64_t k = 0; k < count; k++) {
        memcpy(at, f->obstacle[k].name, SIM_FLOW_NAME);
        at += SIM_FLOW_NAME;
        sim_shape_pack(f->obstacle[k].shape, &at);
    }
    return SIM_OK;
}

static enum sim_status unpack_obstacles(struct sim_flow *f)
{
    const char *at = f->packed, *end = f->packed + f->packed_bytes;
    int64_t count = 0;
    memcpy(&count, at, sizeof count);
    at += sizeof count;
    while (f->obstacle_count)
        sim_shape_release(f->obstacle[--f->obstacle_count].shape);
    while (f->obstacle_count < count) {
        struct sim_flow_obstacle *o = &f->obstacle[f->obstacle_count];
        *o = (struct sim_flow_obstacle){0};
        if (end - at < SIM_FLOW_NAME || f->obstacle_count == SIM_FLOW_OBSTACLES)
            return sim_fail(SIM_FILE, "the obstacles of a checkpoint are not whole");
        memcpy(o->name, at, SIM_FLOW_NAME);
        at += SIM_FLOW_NAME;
        SIM_TRY(sim_shape_unpack(&at, end, &o->shape));
        f->obstacle_count++;
    }
    return SIM_OK;
}

/* --- the list ----------------------------------------------------------------------- */

static void list_views(struct sim_field *views, int count, struct sim_state *state)
{
    for (int k = 0; k < count; k++) {
        sim_state_value(state, "ranged", &views[k].ranged, sizeof views[k].ranged);
        sim_state_value(state, "range", views[k].range, sizeof views[k].range);
    }
}

static void list_whole(struct sim_state *state, const char *name, struct sim_buffer *b)
{
    if (b->data)
        sim_state_array(state, name, b, 0, b->bytes);
}

static void list_flow(struct sim_flow *f, struct sim_state *state)
{
    /* A state that is settled must not be settled again: that would change its sides. */
    sim_state_value(state, "settled", &f->settled, sizeof f->settled);
    sim_state_value(state, "refines", &f->system.refines, sizeof f->system.refines);
    list_whole(state, "u", &f->u[0]);
    list_whole(state, "v", &f->v[0]);
    list_whole(state, "u before", &f->u[1]);
    list_whole(state, "v before", &f->v[1]);
    list_whole(state, "pressure", &f->p);
    list_whole(state, "control", &f->control);
}

static void list_scene(struct sim_flow *f, struct sim_state *state)
{
    struct sim_flow_system *s = &f->system;
    const size_t edges = 2 * (size_t)(s->nx + s->ny);
    if (!f->packed_bytes && pack_obstacles(f) != SIM_OK)
        state->status = SIM_HOST_MEMORY;
    sim_state_value(state, "obstacles", f->packed, f->packed_bytes);
    sim_state_value(state, "sides", f->edge, edges * sizeof *f->edge);
    sim_state_value(state, "signals", &f->signal_count, sizeof f->signal_count);
    sim_state_value(state, "signal", f->signal, sizeof f->signal);
    sim_state_value(state, "force", s->force, sizeof s->force);
    for (int axis = 0; axis < 2; axis++)
        list_whole(state, name_of("force field", axis).text, &f->force_field[axis]);
    sim_state_value(state, "heat", &s->heat, sizeof s->heat);
    sim_state_value(state, "buoyancy", s->buoyancy, sizeof s->buoyancy);
    sim_state_value(state, "reference", &s->reference, sizeof s->reference);
}

static void list_scalars(struct sim_flow *f, struct sim_state *state)
{
    const size_t edges = 2 * (size_t)(f->desc.nx + f->desc.ny);
    for (int k = 0; k < f->system.scalars; k++) {
        list_whole(state, "scalar", &f->scalar[k][0]);
        sim_state_value(state, "scalar sides", f->scalar_side[k],
                        edges * sizeof *f->scalar_side[k]);
        list_whole(state, name_of("source share", k).text, &f->hold[k]);
        list_whole(state, name_of("source", k).text, &f->held[k]);
    }
    list_views(f->scalar_view, f->system.scalars, state);
}

static void list_markers(struct sim_flow *f, struct sim_state *state)
{
    struct sim_flow_markers *m = &f->system.markers;
    sim_state_value(state, "seeded", &m->seeded, sizeof m->seeded);
    sim_state_value(state, "every", &m->every, sizeof m->every);
    if (m->marker)
        list_whole(state, "markers", &f->markers);
    if (m->emitters)
        list_whole(state, "emitters", &f->emitters);
}

static void list(void *object, struct sim_state *state)
{
    struct sim_flow *f = object;
    struct sim_flow_desc *d = &f->desc;
    sim_state_fixed(state, "nx", &d->nx, sizeof d->nx);
    sim_state_fixed(state, "ny", &d->ny, sizeof d->ny);
    sim_state_fixed(state, "precision", &d->is_double, sizeof d->is_double);
    sim_state_fixed(state, "scalars", &f->system.scalars, sizeof f->system.scalars);
    list_flow(f, state);
    list_scene(f, state);
    list_scalars(f, state);
    list_markers(f, state);
    list_views(f->views, SIM_FLOW_VIEWS, state);
}

/* --- room for what a file holds ----------------------------------------------------- */

struct file {
    const struct sim_checkpoint *checkpoint;
    const char *prefix;
};

static size_t bytes_of(const struct file *file, struct name name)
{
    return sim_checkpoint_bytes(file->checkpoint, file->prefix, name.text);
}

static enum sim_status expect_buffer(struct sim_flow *f, size_t bytes,
                                     struct sim_buffer *buffer)
{
    if (buffer->data && buffer->bytes != bytes)
        sim_buffer_free(buffer);
    return bytes && !buffer->data
               ? sim_buffer_new(f->system.device, bytes, "a checkpoint", buffer)
               : SIM_OK;
}

/* An array of the grid's shape with items of this size. *first: its element (0, 0), or
 * NULL where the file has none. */
static enum sim_status expect_grid(struct sim_flow *f, size_t bytes, size_t item,
                                   struct sim_buffer *buffer, const void **first)
{
    const int64_t at = f->system.pitch + SIM_FLOW_LEAD;
    SIM_TRY(expect_buffer(f, bytes, buffer));
    *first = bytes ? (const char *)buffer->data + (size_t)at * item : NULL;
    return SIM_OK;
}

static enum sim_status expect_sources(struct sim_flow *f, const struct file *file)
{
    struct sim_flow_system *s = &f->system;
    for (int axis = 0; axis < 2; axis++)
        SIM_TRY(expect_grid(f, bytes_of(file, name_of("force field", axis)),
                            f->ops->real_bytes, &f->force_field[axis],
                            &s->force_field[axis]));
    for (int k = 0; k < s->scalars; k++) {
        const void *share;
        SIM_TRY(expect_grid(f, bytes_of(file, name_of("source share", k)), sizeof(float),
                            &f->hold[k], &share));
        s->hold[k] = share;
        SIM_TRY(expect_grid(f, bytes_of(file, name_of("source", k)), f->ops->real_bytes,
                            &f->held[k], &s->held[k]));
    }
    return SIM_OK;
}

static enum sim_status expect_markers(struct sim_flow *f, const struct file *file)
{
    struct sim_flow_markers *m = &f->system.markers;
    const size_t markers = bytes_of(file, (struct name){"markers"});
    const size_t emitters = bytes_of(file, (struct name){"emitters"});
    SIM_TRY(expect_buffer(f, markers, &f->markers));
    SIM_TRY(expect_buffer(f, emitters, &f->emitters));
    m->marker = f->markers.data;
    m->emitter = f->emitters.data;
    m->capacity = (int64_t)(markers / MARKER_BYTES);
    m->emitters = (int64_t)(emitters / EMITTER_BYTES);
    return SIM_OK;
}

static enum sim_status expect(void *object, const struct sim_checkpoint *checkpoint,
                              const char *prefix)
{
    struct sim_flow *f = object;
    const struct file file = {checkpoint, prefix};
    const size_t bytes = bytes_of(&file, (struct name){"obstacles"});
    f->ready = false;
    if (bytes < sizeof(int64_t))
        return SIM_OK; /* no flow's file: the list will not agree */
    char *packed = realloc(f->packed, bytes);
    if (!packed)
        return sim_fail(SIM_HOST_MEMORY, "out of host memory: a checkpoint");
    f->packed = packed;
    f->packed_bytes = bytes;
    SIM_TRY(expect_sources(f, &file));
    return expect_markers(f, &file);
}

static enum sim_status loaded(void *object)
{
    return unpack_obstacles(object);
}

static enum sim_status check(void *object)
{
    return sim_flow_check(object);
}

const struct sim_state_ops sim_flow_state = {
    .list = list, .expect = expect, .loaded = loaded, .check = check};
