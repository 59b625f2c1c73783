/* bodies.c - the N-body algorithm, once for both backends: arrays and groups, and the
 * leapfrog as a row of stages. Loops over bodies are in kernels/nbody_*. */
#include "bodies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Squared distances must not overflow, and (m/r)(1/r^2) should not. */
#define SINGLE_MAX 1e18

static const struct sim_stage kick_drift_kick[] = {
    {SIM_KICK, 0.5}, {SIM_DRIFT, 1.0}, {SIM_FORCE, 0}, {SIM_KICK, 0.5}};

enum sim_status sim_bodies_new(struct sim_device *device, const struct sim_bodies_desc *desc,
                               struct sim_bodies *out)
{
    *out = (struct sim_bodies){.desc = *desc};
    out->ops = sim_nbody_ops(device->kind, desc->is_double);
    if (!out->ops)
        return sim_fail(SIM_DEVICE, "bodies: this build cannot compute on %s", device->name);
    if (!desc->is_double && desc->softening > SINGLE_MAX)
        return sim_fail(SIM_BAD_ARGUMENT, "bodies: softening %g is too large for single "
                                          "precision: use other units",
                        desc->softening);
    out->nbody = (struct sim_nbody){
        .device = device,
        .coupling = (enum sim_coupling)desc->coupling,
        .G = desc->G,
        .eps = desc->softening,
        .dt = desc->dt,
        .scratch = {.device = device},
        .tuning = {(int)desc->tile, (int)desc->unroll, (int)desc->per_thread,
                   (int)desc->split},
    };
    out->position = out->velocity = out->acceleration = out->group = out->light =
        (struct sim_buffer){.device = device};
    return SIM_OK;
}

void sim_bodies_free(struct sim_bodies *b)
{
    sim_buffer_free(&b->position);
    sim_buffer_free(&b->velocity);
    sim_buffer_free(&b->acceleration);
    sim_buffer_free(&b->group);
    sim_buffer_free(&b->light);
    sim_buffer_free(&b->nbody.scratch);
    *b = (struct sim_bodies){0};
}

/* --- adding --------------------------------------------------------------------------- */

/* Where the model's groups go in ours; new ones are appended to `b`. */
static enum sim_status merge_groups(struct sim_bodies *b, const struct sim_model *model,
                                    uint8_t map[SIM_MODEL_GROUPS])
{
    for (int g = 0; g < model->group_count; g++) {
        int at = 0;
        while (at < b->group_count && strcmp(b->groups[at].name, model->groups[g]) != 0)
            at++;
        if (at == SIM_GROUPS_MAX)
            return sim_fail(SIM_BAD_ARGUMENT, "add: more than %d groups", SIM_GROUPS_MAX);
        if (at == b->group_count) {
            memset(&b->groups[at], 0, sizeof b->groups[at]);
            memcpy(b->groups[at].name, model->groups[g], SIM_GROUP_NAME);
            b->group_count++;
        }
        map[g] = (uint8_t)at;
    }
    return SIM_OK;
}

static enum sim_status check_body(const struct sim_bodies *b, const struct sim_body *body,
                                  int64_t index)
{
    const double limit = b->desc.is_double ? HUGE_VAL : SINGLE_MAX;
    const double *values[] = {body->position, body->velocity};
    const char *names[] = {"position", "velocity"};
    for (int v = 0; v < 2; v++)
        for (int k = 0; k < 3; k++)
            if (!isfinite(values[v][k]) || fabs(values[v][k]) > limit)
                return sim_fail(SIM_BAD_ARGUMENT, "add: body %lld: its %s %g %s",
                                (long long)index + 1, names[v], values[v][k],
                                isfinite(values[v][k])
                                    ? "is too large for single precision: use other units, "
                                      "or precision = \"double\""
                                    : "is not a finite number");
    if (!isfinite(body->mass) || fabs(body->mass) > limit)
        return sim_fail(SIM_BAD_ARGUMENT, "add: body %lld: its mass %g is not usable",
                        (long long)index + 1, body->mass);
    return SIM_OK;
}

/* Grow a buffer to n items; what it held moves along. */
static enum sim_status grow(struct sim_buffer *buffer, int64_t old_n, int64_t n, size_t item,
                            const char *what)
{
    struct sim_buffer larger;
    size_t bytes;
    SIM_TRY(sim_size_multiply((size_t)n, item, what, &bytes));
    SIM_TRY(sim_buffer_new(buffer->device, bytes, what, &larger));
    enum sim_status status = sim_buffer_copy(&larger, 0, buffer, 0, (size_t)old_n * item);
    if (status != SIM_OK) {
        sim_buffer_free(&larger);
        return status;
    }
    sim_buffer_free(buffer);
    *buffer = larger;
    return SIM_OK;
}

static void store4(void *to, bool is_double, int64_t i, const double *xyz, double w)
{
    for (int k = 0; k < 4; k++) {
        double value = k < 3 ? xyz[k] : w;
        if (is_double)
            ((double *)to)[4 * i + k] = value;
        else
            ((float *)to)[4 * i + k] = (float)value;
    }
}

/* Convert a stretch of the model and send it to index b->n and up. */
static enum sim_status upload(struct sim_bodies *b, const struct sim_model *model,
                              const uint8_t *map)
{
    enum { STRETCH = 65536 };
    const bool is_double = b->desc.is_double;
    const size_t real4 = 4 * b->ops->real_bytes;
    char *packed = malloc(STRETCH * (2 * real4 + 1));
    if (!packed)
        return sim_fail(SIM_HOST_MEMORY, "out of host memory while adding bodies");
    char *velocity = packed + STRETCH * real4;
    uint8_t *group = (uint8_t *)velocity + STRETCH * real4;
    enum sim_status status = SIM_OK;
    for (int64_t from = 0; from < model->n && status == SIM_OK; from += STRETCH) {
        int64_t count = model->n - from < STRETCH ? model->n - from : STRETCH;
        for (int64_t i = 0; i < count; i++) {
            const struct sim_body *body = &model->bodies[from + i];
            store4(packed, is_double, i, body->position, body->mass);
            store4(velocity, is_double, i, body->velocity, 0);
            group[i] = map[body->group];
        }
        size_t at = (size_t)(b->n + from), n = (size_t)count;
        status = sim_buffer_write(&b->position, at * real4, packed, n * real4);
        if (status == SIM_OK)
            status = sim_buffer_write(&b->velocity, at * real4, velocity, n * real4);
        if (status == SIM_OK)
            status = sim_buffer_write(&b->group, at, group, n);
    }
    free(packed);
    return status;
}

static void point_at_arrays(struct sim_bodies *b)
{
    b->nbody.n = b->n;
    b->nbody.position = b->position.data;
    b->nbody.velocity = b->velocity.data;
    b->nbody.acceleration = b->acceleration.data;
    b->nbody.group = b->group.data;
}

enum sim_status sim_bodies_add(struct sim_bodies *b, const struct sim_model *model)
{
    uint8_t map[SIM_MODEL_GROUPS] = {0};
    const int group_count = b->group_count;
    const size_t real4 = 4 * b->ops->real_bytes;
    for (int64_t i = 0; i < model->n; i++)
        SIM_TRY(check_body(b, &model->bodies[i], i));
    enum sim_status status = merge_groups(b, model, map);
    const int64_t n = b->n + model->n;
    if (status == SIM_OK)
        status = grow(&b->position, b->n, n, real4, "positions of bodies");
    if (status == SIM_OK)
        status = grow(&b->velocity, b->n, n, real4, "velocities of bodies");
    if (status == SIM_OK)
        status = grow(&b->acceleration, b->n, n, real4, "accelerations of bodies");
    if (status == SIM_OK)
        status = grow(&b->group, b->n, n, 1, "groups of bodies");
    if (status == SIM_OK)
        status = upload(b, model, map);
    if (status == SIM_OK) {
        for (int64_t i = 0; i < model->n; i++)
            b->groups[map[model->bodies[i].group]].count++;
        b->n = n;
        b->has_force = false;
    } else {
        b->group_count = group_count;
    }
    point_at_arrays(b); /* after a failure too: some arrays may have moved */
    return status;
}

/* --- stepping ------------------------------------------------------------------------- */

enum sim_status sim_bodies_step(struct sim_bodies *b, int64_t count)
{
    static const struct sim_stage force[] = {{SIM_FORCE, 0}};
    if (b->n == 0)
        return sim_fail(SIM_BAD_ARGUMENT, "step: there are no bodies yet: use add");
    if (!b->has_force)
        SIM_TRY(b->ops->advance(&b->nbody, force, 1, 1));
    b->has_force = true;
    SIM_TRY(b->ops->advance(&b->nbody, kick_drift_kick,
                            (int)(sizeof kick_drift_kick / sizeof *kick_drift_kick), count));
    b->steps += count;
    return SIM_OK;
}

double sim_bodies_time(const struct sim_bodies *b)
{
    return b->desc.time + (double)b->steps * b->desc.dt;
}

/* --- asking --------------------------------------------------------------------------- */

static bool word_matches(const char *name, const char *word)
{
    size_t length = strlen(word);
    const char *last = strrchr(name, '.');
    return !strcmp(name, word) || (!strncmp(name, word, length) && name[length] == '.') ||
           (last && !strcmp(last + 1, word));
}

uint64_t sim_bodies_select(const struct sim_bodies *b, const char *word)
{
    uint64_t groups = 0;
    if (!strcmp(word, "all"))
        return SIM_ALL_GROUPS;
    for (int g = 0; g < b->group_count; g++)
        if (word_matches(b->groups[g].name, word))
            groups |= (uint64_t)1 << g;
    return groups;
}

static enum sim_status need_bodies(const struct sim_bodies *b, const char *word)
{
    return b->n ? SIM_OK : sim_fail(SIM_BAD_ARGUMENT, "%s: there are no bodies yet", word);
}

enum sim_status sim_bodies_sums(struct sim_bodies *b, uint64_t groups,
                                struct sim_nbody_sums *out)
{
    SIM_TRY(need_bodies(b, "sums"));
    return b->ops->sums(&b->nbody, groups, out);
}

enum sim_status sim_bodies_potential(struct sim_bodies *b, double *out)
{
    SIM_TRY(need_bodies(b, "energy"));
    return b->ops->potential(&b->nbody, out);
}

enum sim_status sim_bodies_radii(struct sim_bodies *b, uint64_t groups, const double *centre,
                                 const double *fractions, int count, double *out)
{
    struct sim_nbody_sums sums;
    SIM_TRY(need_bodies(b, "radii"));
    if (!centre) {
        SIM_TRY(b->ops->sums(&b->nbody, groups, &sums));
        centre = sums.centre;
    }
    return b->ops->radii(&b->nbody, groups, centre, fractions, count, out);
}

static double load(const void *from, bool is_double, int64_t i)
{
    return is_double ? ((const double *)from)[i] : (double)((const float *)from)[i];
}

static void unpack(const struct sim_bodies *b, const void *position, const void *velocity,
                   const uint8_t *group, struct sim_model *out)
{
    const bool is_double = b->desc.is_double;
    for (int64_t i = 0; i < b->n; i++) {
        struct sim_body *body = &out->bodies[i];
        for (int k = 0; k < 3; k++) {
            body->position[k] = load(position, is_double, 4 * i + k);
            body->velocity[k] = load(velocity, is_double, 4 * i + k);
        }
        body->mass = load(position, is_double, 4 * i + 3);
        body->group = group[i];
    }
}

enum sim_status sim_bodies_read(struct sim_bodies *b, struct sim_model *out)
{
    const size_t real4 = 4 * b->ops->real_bytes, n = (size_t)b->n;
    *out = (struct sim_model){0};
    SIM_TRY(need_bodies(b, "rows"));
    char *packed = malloc(n * (2 * real4 + 1));
    enum sim_status status =
        packed ? sim_model_new(b->n, out)
               : sim_fail(SIM_HOST_MEMORY, "out of host memory while reading bodies");
    if (status == SIM_OK)
        status = sim_buffer_read(&b->position, 0, packed, n * real4);
    if (status == SIM_OK)
        status = sim_buffer_read(&b->velocity, 0, packed + n * real4, n * real4);
    if (status == SIM_OK)
        status = sim_buffer_read(&b->group, 0, packed + 2 * n * real4, n);
    if (status == SIM_OK) {
        unpack(b, packed, packed + n * real4, (uint8_t *)packed + 2 * n * real4, out);
        out->group_count = b->group_count;
        for (int g = 0; g < b->group_count; g++)
            memcpy(out->groups[g], b->groups[g].name, SIM_GROUP_NAME);
    } else {
        sim_model_free(out);
    }
    free(packed);
    return status;
}
