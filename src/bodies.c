/* bodies.c - the N-body algorithm, once for both backends: arrays and groups, and time
 * steps as rows of stages. Loops over bodies are in kernels/nbody_*. */
#include "bodies.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Squared distances must not overflow, and (m/r)(1/r^2) should not. */
#define SINGLE_MAX 1e18

static enum sim_status check_scheme(const struct sim_bodies_desc *d)
{
    const bool hermite = d->scheme == SIM_HERMITE4;
    if (hermite && (!d->is_double || d->mixed))
        return sim_fail(SIM_BAD_ARGUMENT,
                        "bodies: hermite4 needs precision = \"double\"");
    if (hermite && (d->pairs || d->tile || d->unroll || d->per_thread || d->split))
        return sim_fail(SIM_BAD_ARGUMENT,
                        "bodies: hermite4 has one way to meet the pairs: leave out "
                        "pairs, tile, unroll, per_thread and split");
    if (!hermite && d->corrections > 1)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "bodies: corrections are of integrator = \"hermite4\"");
    if (d->eta > 0 && !hermite)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "bodies: adaptive steps need integrator = \"hermite4\"");
    if (d->reversible && (hermite || !d->is_double))
        return sim_fail(
            SIM_BAD_ARGUMENT,
            "bodies: reversible needs precision = \"double\" or \"mixed\", and "
            "an integrator other than hermite4");
    return SIM_OK;
}

static enum sim_status check_merging(const struct sim_bodies_desc *d)
{
    const double square = d->merge_distance * d->merge_distance;
    if (d->merge_distance == 0)
        return SIM_OK;
    if (!(square >= DBL_MIN && square <= DBL_MAX))
        return sim_fail(SIM_BAD_ARGUMENT, "bodies: merge_distance %g cannot be squared",
                        d->merge_distance);
    if (d->coupling == SIM_CHARGE)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "bodies: charges all have inertia 1, so two cannot become one: "
                        "on_close = \"merge\" needs coupling = \"gravity\"");
    if (d->reversible)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "bodies: merged bodies do not part again: on_close = \"merge\" "
                        "and reversible exclude each other");
    return SIM_OK;
}

enum sim_status sim_bodies_new(struct sim_device *device,
                               const struct sim_bodies_desc *desc, struct sim_bodies *out)
{
    *out = (struct sim_bodies){.desc = *desc};
    out->ops = sim_nbody_ops(device->kind, desc->is_double);
    if (!out->ops)
        return sim_fail(SIM_DEVICE, "bodies: this build cannot compute on %s",
                        device->name);
    SIM_TRY(sim_nbody_check_eps(desc->softening, desc->is_double));
    SIM_TRY(check_scheme(desc));
    SIM_TRY(check_merging(desc));
    out->clock = desc->time;
    out->hermite = (struct sim_hermite){.corrections = (int)desc->corrections,
                                        .merging = desc->merge_distance > 0,
                                        .eta = desc->eta};
    out->nbody = (struct sim_nbody){
        .device = device,
        .coupling = (enum sim_coupling)desc->coupling,
        .G = desc->G,
        .eps = desc->softening,
        .softening = (enum sim_softening)desc->softening_kind,
        .dt = desc->dt,
        .merge_distance = desc->merge_distance,
        .mixed = desc->mixed,
        .scratch = {.device = device},
        .tuning = {(int)desc->tile, (int)desc->unroll, (int)desc->per_thread,
                   (int)desc->split, (enum sim_pairs)desc->pairs},
    };
    out->position = out->velocity = out->acceleration = out->group = out->light =
        out->jerk = (struct sim_buffer){.device = device};
    return SIM_OK;
}

/* The arrays that grow with the bodies. */
static void free_arrays(struct sim_bodies *b)
{
    sim_buffer_free(&b->position);
    sim_buffer_free(&b->velocity);
    sim_buffer_free(&b->acceleration);
    sim_buffer_free(&b->group);
    sim_buffer_free(&b->jerk);
}

void sim_bodies_free(struct sim_bodies *b)
{
    free_arrays(b);
    sim_buffer_free(&b->light);
    sim_buffer_free(&b->found);
    for (int k = 0; k < 4; k++)
        sim_buffer_free(&b->orbit[k]);
    sim_buffer_free(&b->nbody.scratch);
    *b = (struct sim_bodies){0};
}

/* Back from what advance() showed to the orbit. */
static enum sim_status land(struct sim_bodies *b)
{
    struct sim_buffer *to[] = {&b->position, &b->velocity, &b->acceleration, &b->jerk};
    for (int k = 0; k < 4 && b->ahead && to[k]->data; k++)
        SIM_TRY(sim_buffer_copy(to[k], 0, &b->orbit[k], 0, to[k]->bytes));
    b->ahead = false;
    return SIM_OK;
}

/* --- adding ---------------------------------------------------------------------------
 */

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
            b->nbody.group_eps[at] = b->desc.softening;
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
                return sim_fail(
                    SIM_BAD_ARGUMENT, "add: body %lld: its %s %g %s",
                    (long long)index + 1, names[v], values[v][k],
                    isfinite(values[v][k])
                        ? "is too large for single precision: use other units, "
                          "or precision = \"double\""
                        : "is not a finite number");
    if (!isfinite(body->mass) || fabs(body->mass) > limit)
        return sim_fail(SIM_BAD_ARGUMENT, "add: body %lld: its mass %g is not usable",
                        (long long)index + 1, body->mass);
    if (!b->desc.is_double && body->mass != 0 && fabs(body->mass) < FLT_MIN)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "add: body %lld: its mass %g is too small for single precision: "
                        "use other units, or precision = \"double\"",
                        (long long)index + 1, body->mass);
    if (body->mass < 0 && b->desc.merge_distance > 0)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "add: body %lld: its mass %g is below 0, but bodies that merge "
                        "need masses that add up",
                        (long long)index + 1, body->mass);
    return SIM_OK;
}

/* A larger buffer of n items that begins with the first `kept` of another one. */
static enum sim_status larger(const struct sim_buffer *old, int64_t kept, int64_t n,
                              size_t item, const char *what, struct sim_buffer *out)
{
    size_t bytes;
    SIM_TRY(sim_size_multiply((size_t)n, item, what, &bytes));
    SIM_TRY(sim_buffer_new(old->device, bytes, what, out));
    return sim_buffer_copy(out, 0, old, 0, (size_t)kept * item);
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
            double x[3], v[3];
            memcpy(x, body->position, sizeof x);
            memcpy(v, body->velocity, sizeof v);
            sim_bodies_round(b, body->mass, x, v);
            store4(packed, is_double, i, x, body->mass);
            store4(velocity, is_double, i, v, 0);
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
    b->hermite.jerk = b->jerk.data;
}

/* Forces and jerks are found anew. */
static enum sim_status make_arrays(const struct sim_bodies *old, int64_t n,
                                   struct sim_bodies *b)
{
    const size_t real4 = 4 * old->ops->real_bytes;
    SIM_TRY(
        larger(&old->position, old->n, n, real4, "positions of bodies", &b->position));
    SIM_TRY(
        larger(&old->velocity, old->n, n, real4, "velocities of bodies", &b->velocity));
    SIM_TRY(larger(&old->acceleration, 0, n, real4, "accelerations of bodies",
                   &b->acceleration));
    SIM_TRY(sim_buffer_zero(&b->acceleration));
    SIM_TRY(larger(&old->group, old->n, n, 1, "groups of bodies", &b->group));
    if (old->desc.scheme != SIM_HERMITE4)
        return SIM_OK;
    SIM_TRY(larger(&old->jerk, 0, n, 2 * real4, "jerks of bodies", &b->jerk));
    return sim_buffer_zero(&b->jerk);
}

/* `b`, a copy of `old`, gets arrays of its own with the model behind what there is. */
static enum sim_status append(const struct sim_bodies *old, const struct sim_model *model,
                              struct sim_bodies *b)
{
    uint8_t map[SIM_MODEL_GROUPS] = {0};
    sim_bodies_choose_units(b, model);
    SIM_TRY(merge_groups(b, model, map));
    SIM_TRY(make_arrays(old, old->n + model->n, b));
    SIM_TRY(upload(b, model, map));
    if (b->nbody.momentum_unit != old->nbody.momentum_unit ||
        b->nbody.grain_x != old->nbody.grain_x || b->nbody.grain_v != old->nbody.grain_v)
        SIM_TRY(sim_bodies_round_all(b, old->n));
    for (int64_t i = 0; i < model->n; i++)
        b->groups[map[model->bodies[i].group]].count++;
    b->n += model->n;
    b->has_force = b->sifted = false;
    return SIM_OK;
}

enum sim_status sim_bodies_add(struct sim_bodies *b, const struct sim_model *model)
{
    for (int64_t i = 0; i < model->n; i++)
        SIM_TRY(check_body(b, &model->bodies[i], i));
    SIM_TRY(land(b));
    struct sim_bodies next = *b;
    next.position = next.velocity = next.acceleration = next.group = next.jerk =
        (struct sim_buffer){.device = b->position.device};
    enum sim_status status = append(b, model, &next);
    if (status != SIM_OK) {
        free_arrays(&next);
        return status;
    }
    free_arrays(b);
    *b = next;
    point_at_arrays(b);
    return SIM_OK;
}

/* --- softening ------------------------------------------------------------------------
 */

/* Symmetric pairs with softening take lengths in units of 2^20 eps to 2^21 eps, so that
 * 1/r^3 is at most 2^63 (nbody_pairs_scale): do masses and their pulls at the largest
 * distance at hand stay within single precision? */
static bool is_wide(const struct sim_bodies *b)
{
    const double mass = b->scale.strongest, eps = b->nbody.eps;
    if (eps == 0 || (b->desc.is_double && !b->desc.mixed))
        return false;
    const double far = ldexp(b->scale.extent, -20) / eps;
    return mass > 0x1p60 || far > 0x1p38 ||
           (mass > 0 && mass < 0x1p-100 * fmax(1, far * far * far));
}

void sim_bodies_settle_softening(struct sim_bodies *b)
{
    struct sim_nbody *nbody = &b->nbody;
    nbody->eps = b->desc.softening;
    nbody->by_group = false;
    for (int g = 0; g < b->group_count; g++)
        nbody->by_group = nbody->by_group || nbody->group_eps[g] != nbody->group_eps[0];
    if (b->group_count > 0 && !nbody->by_group)
        nbody->eps = nbody->group_eps[0];
    nbody->wide = is_wide(b);
}

enum sim_status sim_bodies_soften(struct sim_bodies *b, uint64_t groups, double length)
{
    SIM_TRY(sim_nbody_check_eps(length, b->desc.is_double));
    SIM_TRY(land(b));
    for (int g = 0; g < b->group_count; g++)
        if (groups >> g & 1)
            b->nbody.group_eps[g] = length;
    if (groups == SIM_ALL_GROUPS)
        b->desc.softening = length;
    b->has_force = false;
    sim_bodies_settle_softening(b);
    return SIM_OK;
}

/* --- stepping -------------------------------------------------------------------------
 */

/* Hermite steps of |dt|, or adaptive ones up to `until`; they wait. */
static enum sim_status hermite_steps(struct sim_bodies *b, struct sim_hermite *h,
                                     int64_t count, double until)
{
    h->fresh = !b->has_force;
    h->until = until;
    h->time = b->clock;
    h->steps = count;
    enum sim_status status = b->ops->hermite(&b->nbody, h);
    b->has_force = !h->fresh;
    return status;
}

/* A step's stages, with the merging in its place; returns their number. */
static int gather_stages(const struct sim_stepper *by, bool merging,
                         struct sim_stage out[SIM_STAGES_MAX])
{
    int count = 0;
    for (int s = 0; s <= by->count; s++) {
        if (merging && s == by->merge_before)
            out[count++] = (struct sim_stage){SIM_MERGE, 0};
        if (s < by->count)
            out[count++] = by->stages[s];
    }
    return count;
}

static enum sim_status stage_steps(struct sim_bodies *b, int64_t count, bool merging)
{
    static const struct sim_stage force[] = {{SIM_FORCE, 0}}, merge[] = {{SIM_MERGE, 0}};
    const struct sim_stepper *by = sim_stepper((enum sim_scheme)b->desc.scheme);
    struct sim_stage stages[SIM_STAGES_MAX];
    if (merging && !b->sifted)
        SIM_TRY(b->ops->advance(&b->nbody, merge, 1, 1));
    b->sifted = b->sifted || merging;
    if (by->begins_with_force && !b->has_force)
        SIM_TRY(b->ops->advance(&b->nbody, force, 1, 1));
    b->has_force = by->begins_with_force;
    const int stage_count = gather_stages(by, merging, stages);
    return b->ops->advance(&b->nbody, stages, stage_count, count);
}

/* |count| steps of the length `dt`; `shown` ones merge nothing, as they are not the
 * orbit's. */
static enum sim_status fixed_steps(struct sim_bodies *b, int64_t count, double dt,
                                   bool shown)
{
    struct sim_hermite hermite = b->hermite;
    const bool merging = b->desc.merge_distance > 0 && !shown;
    hermite.eta = 0;
    hermite.merging = merging;
    b->nbody.dt = dt;
    enum sim_status status = b->desc.scheme == SIM_HERMITE4
                                 ? hermite_steps(b, &hermite, count, 0)
                                 : stage_steps(b, count, merging);
    b->nbody.dt = b->desc.dt;
    return status;
}

static enum sim_status adaptive_steps(struct sim_bodies *b, int64_t count, double until,
                                      bool backward)
{
    b->nbody.dt = backward ? -b->desc.dt : b->desc.dt;
    enum sim_status status = hermite_steps(b, &b->hermite, count, until);
    b->nbody.dt = b->desc.dt;
    b->clock = b->hermite.time;
    b->steps += backward ? -b->hermite.steps : b->hermite.steps;
    return status;
}

static enum sim_status whole_steps(struct sim_bodies *b, int64_t count)
{
    const bool backward = count < 0;
    const int64_t many = backward ? -count : count;
    if (b->desc.eta > 0)
        return adaptive_steps(
            b, many, backward == (b->desc.dt > 0) ? -HUGE_VAL : HUGE_VAL, backward);
    SIM_TRY(fixed_steps(b, many, backward ? -b->desc.dt : b->desc.dt, false));
    b->steps += count;
    return SIM_OK;
}

enum sim_status sim_bodies_step(struct sim_bodies *b, int64_t count)
{
    if (b->n == 0)
        return sim_fail(SIM_BAD_ARGUMENT, "step: there are no bodies yet: use add");
    SIM_TRY(land(b));
    sim_bodies_settle_softening(b);
    return whole_steps(b, count);
}

static double orbit_time(const struct sim_bodies *b)
{
    return b->desc.eta > 0 ? b->clock : b->desc.time + (double)b->steps * b->desc.dt;
}

/* Keep the orbit's state aside and go on to `time` by one step of what is missing. */
static enum sim_status show(struct sim_bodies *b, double time)
{
    const struct sim_buffer *from[] = {&b->position, &b->velocity, &b->acceleration,
                                       &b->jerk};
    const double missing = time - orbit_time(b);
    const bool had_force = b->has_force;
    if (fabs(missing) <= 1e-14 * fmax(fabs(time), fabs(b->desc.dt)))
        return SIM_OK;
    for (int k = 0; k < 4 && from[k]->data; k++) {
        if (b->orbit[k].bytes != from[k]->bytes) {
            sim_buffer_free(&b->orbit[k]);
            SIM_TRY(sim_buffer_new(from[k]->device, from[k]->bytes, "a copy of the orbit",
                                   &b->orbit[k]));
        }
        SIM_TRY(sim_buffer_copy(&b->orbit[k], 0, from[k], 0, from[k]->bytes));
    }
    b->ahead = true;
    b->shown = time;
    enum sim_status status = fixed_steps(b, 1, missing, true);
    b->has_force = had_force; /* the orbit's, to which land() goes back */
    return status;
}

/* Whole steps that reach `time` without passing it, one that ends there included. */
static enum sim_status steps_before(const struct sim_bodies *b, double time, int64_t *out)
{
    const double steps = (time - b->desc.time) / b->desc.dt;
    if (!(fabs(steps) < 9e15))
        return sim_fail(SIM_BAD_ARGUMENT, "advance: %g is too far for steps of %g", time,
                        b->desc.dt);
    const double nearest = rint(steps);
    *out = (int64_t)(fabs(steps - nearest) <= 1e-12 * fmax(1.0, fabs(nearest))
                         ? nearest
                         : floor(steps));
    return SIM_OK;
}

enum sim_status sim_bodies_advance(struct sim_bodies *b, double time)
{
    int64_t whole = 0;
    if (b->n == 0)
        return sim_fail(SIM_BAD_ARGUMENT, "advance: there are no bodies yet: use add");
    SIM_TRY(land(b));
    sim_bodies_settle_softening(b);
    if (b->desc.eta > 0) {
        SIM_TRY(
            adaptive_steps(b, INT64_MAX, time, (time < b->clock) == (b->desc.dt > 0)));
        return show(b, time);
    }
    SIM_TRY(steps_before(b, time, &whole));
    if (whole != b->steps)
        SIM_TRY(whole_steps(b, whole - b->steps));
    if (fabs(orbit_time(b) - time) <=
        1e-12 * fabs(b->desc.dt) * fmax(1.0, fabs((double)whole)))
        return SIM_OK;
    return show(b, time);
}

double sim_bodies_time(const struct sim_bodies *b)
{
    return b->ahead ? b->shown : orbit_time(b);
}
