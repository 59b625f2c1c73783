/* model.c - bodies on the host; see model.h. */
#include "model.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The machine's memory. More than this may well be granted and then end the process. */
static uint64_t physical_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : SIZE_MAX;
}

enum sim_status sim_model_new(int64_t n, struct sim_model *out)
{
    memset(out, 0, sizeof *out);
    if (n < 1)
        return sim_fail(SIM_BAD_ARGUMENT, "a model needs at least one body, not %lld",
                        (long long)n);
    if ((uint64_t)n <= physical_memory() / sizeof *out->bodies)
        out->bodies = calloc((size_t)n, sizeof *out->bodies);
    if (!out->bodies)
        return sim_fail(SIM_HOST_MEMORY, "no memory on the host for %lld bodies",
                        (long long)n);
    out->n = n;
    return SIM_OK;
}

void sim_model_free(struct sim_model *model)
{
    free(model->bodies);
    memset(model, 0, sizeof *model);
}

enum sim_status sim_model_group(struct sim_model *model, const char *name, int *index)
{
    if (!*name || strlen(name) >= SIM_GROUP_NAME)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "the group name '%s' must have 1 to %d characters", name,
                        SIM_GROUP_NAME - 1);
    for (int i = 0; i < model->group_count; i++)
        if (!strcmp(model->groups[i], name)) {
            *index = i;
            return SIM_OK;
        }
    if (model->group_count == SIM_MODEL_GROUPS)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "no room for group '%s': a model has at most %d", name,
                        SIM_MODEL_GROUPS);
    *index = model->group_count++;
    memcpy(model->groups[*index], name, strlen(name) + 1);
    return SIM_OK;
}

enum sim_status sim_model_part(struct sim_model *model, const char *name,
                               const char *part, int *index)
{
    char whole[2 * SIM_GROUP_NAME];
    if (!part || !*name || strlen(name) >= SIM_GROUP_NAME)
        return sim_model_group(model, name, index); /* which says what is wrong */
    snprintf(whole, sizeof whole, "%s.%s", name, part);
    return sim_model_group(model, whole, index);
}

double sim_model_mass(const struct sim_model *model)
{
    double sum = 0;
    for (int64_t i = 0; i < model->n; i++)
        sum += model->bodies[i].mass;
    return sum;
}

void sim_model_recentre(struct sim_model *model)
{
    bool massless = sim_model_mass(model) == 0;
    /* Twice: the second pass removes the rounding that the first one leaves. */
    for (int pass = 0; pass < 2; pass++) {
        double weight = 0, sum[6] = {0};
        for (int64_t i = 0; i < model->n; i++) {
            const struct sim_body *b = &model->bodies[i];
            double w = massless ? 1 : b->mass;
            weight += w;
            for (int k = 0; k < 3; k++) {
                sum[k] += w * b->position[k];
                sum[k + 3] += w * b->velocity[k];
            }
        }
        for (int64_t i = 0; i < model->n; i++)
            for (int k = 0; k < 3; k++) {
                model->bodies[i].position[k] -= sum[k] / weight;
                model->bodies[i].velocity[k] -= sum[k + 3] / weight;
            }
    }
}

/* Turn about one axis; `a` to `b` is the positive sense. */
static void turn(double v[3], int a, int b, double cosine, double sine)
{
    double from_a = v[a], from_b = v[b];
    v[a] = cosine * from_a - sine * from_b;
    v[b] = sine * from_a + cosine * from_b;
}

/* Whole quarter turns come out exact, so that a disc tilted by 90 degrees stays flat. */
static void cosine_sine(double degrees, double *cosine, double *sine)
{
    static const double exact[4] = {1, 0, -1, 0};
    double quarters = degrees / 90;
    if (quarters == floor(quarters)) {
        int q = (int)(quarters - 4 * floor(quarters / 4));
        *cosine = exact[q];
        *sine = exact[(q + 3) % 4];
        return;
    }
    *cosine = cos(degrees * (M_PI / 180));
    *sine = sin(degrees * (M_PI / 180));
}

void sim_model_place(struct sim_model *model, const double position[3],
                     const double velocity[3], const double tilt[3])
{
    static const int from[3] = {1, 0, 2}, to[3] = {2, 1, 0}; /* about x, z, y */
    double c[3], s[3];
    for (int t = 0; t < 3; t++)
        cosine_sine(tilt[t], &c[t], &s[t]);
    for (int64_t i = 0; i < model->n; i++) {
        struct sim_body *b = &model->bodies[i];
        for (int t = 0; t < 3; t++) {
            turn(b->position, from[t], to[t], c[t], s[t]);
            turn(b->velocity, from[t], to[t], c[t], s[t]);
        }
        for (int k = 0; k < 3; k++) {
            b->position[k] += position[k];
            b->velocity[k] += velocity[k];
        }
    }
}

void sim_model_settle(struct sim_model *model, const struct sim_placement *placement)
{
    sim_model_recentre(model);
    sim_model_place(model, placement->position, placement->velocity, placement->tilt);
}
