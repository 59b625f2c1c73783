/* bodies_query.c - what is asked of an N-body system: selections of groups, counts, sums,
 * energies, radii, and all bodies as a model. Loops over bodies are in kernels/nbody_*.
 */
#include "bodies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    return b->n ? SIM_OK
                : sim_fail(SIM_BAD_ARGUMENT, "%s: there are no bodies yet", word);
}

static enum sim_status look(struct sim_bodies *b, struct sim_nbody_check *found)
{
    if (!b->found.data)
        SIM_TRY(sim_buffer_new(b->nbody.device, sizeof *found, "a check of bodies",
                               &b->found));
    SIM_TRY(b->ops->check(&b->nbody, b->found.data));
    return sim_buffer_read(&b->found, 0, found, sizeof *found);
}

/* May bodies that meet at one place be an error? */
static bool is_hard(const struct sim_bodies *b)
{
    bool hard = b->desc.softening == 0;
    for (int g = 0; g < b->group_count; g++)
        hard = hard || b->nbody.group_eps[g] == 0;
    return hard && b->desc.merge_distance == 0;
}

/* Bodies that met without softening make every number meaningless. */
static enum sim_status check_meetings(struct sim_bodies *b)
{
    struct sim_nbody_check found;
    if (!is_hard(b))
        return SIM_OK;
    SIM_TRY(look(b, &found));
    if (found.coincident == INT64_MAX)
        return SIM_OK;
    return sim_fail(SIM_DIVERGED,
                    "body %lld met another at distance zero without softening: give a "
                    "softening above 0, or place them apart",
                    (long long)found.coincident + 1);
}

enum sim_status sim_bodies_check(struct sim_bodies *b)
{
    struct sim_nbody_check found;
    if (b->n == 0)
        return SIM_OK;
    SIM_TRY(check_meetings(b));
    SIM_TRY(look(b, &found));
    if (found.bad == INT64_MAX)
        return SIM_OK;
    return sim_fail(SIM_DIVERGED, "bodies diverged: body %lld is not finite at t = %g",
                    (long long)found.bad + 1, sim_bodies_time(b));
}

/* A number that is none comes of a body that is none: say so. */
static enum sim_status check_number(struct sim_bodies *b, double number)
{
    return isfinite(number) ? SIM_OK : sim_bodies_check(b);
}

enum sim_status sim_bodies_sums(struct sim_bodies *b, uint64_t groups,
                                struct sim_nbody_sums *out)
{
    SIM_TRY(need_bodies(b, "sums"));
    SIM_TRY(check_meetings(b));
    SIM_TRY(b->ops->sums(&b->nbody, groups, out));
    return check_number(b,
                        out->kinetic + out->centre[0] + out->centre[1] + out->centre[2]);
}

enum sim_status sim_bodies_count(struct sim_bodies *b, int64_t *out)
{
    struct sim_nbody_sums sums;
    *out = b->n;
    if (b->n == 0 || b->desc.merge_distance == 0)
        return SIM_OK;
    SIM_TRY(b->ops->sums(&b->nbody, SIM_ALL_GROUPS, &sums));
    *out = (int64_t)sums.count;
    return SIM_OK;
}

enum sim_status sim_bodies_potential(struct sim_bodies *b, double *out)
{
    static const struct sim_stage force[] = {{SIM_FORCE, 0}};
    SIM_TRY(need_bodies(b, "energy"));
    sim_bodies_settle_softening(b);
    if (is_hard(b) && !b->has_force) /* the potential leaves such pairs out in silence */
        SIM_TRY(b->ops->advance(&b->nbody, force, 1, 1));
    SIM_TRY(check_meetings(b));
    SIM_TRY(b->ops->potential(&b->nbody, out));
    return check_number(b, *out);
}

enum sim_status sim_bodies_radii(struct sim_bodies *b, uint64_t groups,
                                 const double *centre, const double *fractions, int count,
                                 double *out)
{
    struct sim_nbody_sums sums;
    SIM_TRY(need_bodies(b, "radii"));
    SIM_TRY(check_meetings(b));
    if (!centre) {
        SIM_TRY(sim_bodies_sums(b, groups, &sums));
        centre = sums.centre;
    }
    return b->ops->radii(&b->nbody, groups, centre, fractions, count, out);
}

enum sim_status sim_bodies_kernel(struct sim_bodies *b, struct sim_nbody_kernel *out)
{
    const struct sim_stepper *by = sim_stepper((enum sim_scheme)b->desc.scheme);
    SIM_TRY(need_bodies(b, "kernel"));
    if (b->desc.scheme == SIM_HERMITE4)
        return sim_fail(SIM_BAD_ARGUMENT, "kernel: hermite4 has one kernel of its own");
    sim_bodies_settle_softening(b);
    return b->ops->describe(&b->nbody, by->count + (b->desc.merge_distance > 0), out);
}

static double load(const void *from, bool is_double, int64_t i)
{
    return is_double ? ((const double *)from)[i] : (double)((const float *)from)[i];
}

static void unpack(const struct sim_bodies *b, const void *position, const void *velocity,
                   const uint8_t *group, struct sim_model *out)
{
    const bool is_double = b->desc.is_double;
    out->n = 0;
    for (int64_t i = 0; i < b->n; i++) {
        if (group[i] == SIM_GONE)
            continue;
        struct sim_body *body = &out->bodies[out->n++];
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
