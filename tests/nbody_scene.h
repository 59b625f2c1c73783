/* nbody_scene.h - systems of bodies as scripts use them (src/bodies.h), for the tests of
 * what they do over time. Everything aborts on failure. */
#ifndef NBODY_SCENE_H
#define NBODY_SCENE_H

#include "nbody_system.h"
#include "../src/bodies.h"

static inline void add(struct sim_bodies *b, const struct sim_body *bodies, int64_t n)
{
    struct sim_model model;
    must(sim_model_new(n, &model));
    memcpy(model.bodies, bodies, (size_t)n * sizeof *bodies);
    model.group_count = 1;
    strcpy(model.groups[0], "all");
    must(sim_bodies_add(b, &model));
    sim_model_free(&model);
}

static inline struct sim_bodies make(struct sim_device *device,
                                     struct sim_bodies_desc desc, int64_t n,
                                     const struct sim_body *bodies)
{
    struct sim_bodies b;
    desc.G = 1;
    desc.corrections = desc.corrections ? desc.corrections : 1;
    must(sim_bodies_new(device, &desc, &b));
    add(&b, bodies, n);
    return b;
}

/* Under sanitizers, or where each step waits for a GPU, long orbits are left out. */
static inline bool small(void)
{
    return getenv("SIMLUA_SMALL") != NULL;
}

static inline double apart(const double a[3], const double b[3])
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                (a[2] - b[2]) * (a[2] - b[2]));
}

static inline double total_energy(struct sim_bodies *b)
{
    struct sim_nbody_sums sums;
    double potential;
    must(sim_bodies_sums(b, SIM_ALL_GROUPS, &sums));
    must(sim_bodies_potential(b, &potential));
    return sums.kinetic + potential;
}

/* Are the bodies those of the model, to the last bit? */
static inline bool holds_rows(struct sim_bodies *b, const struct sim_model *want)
{
    struct sim_model now;
    must(sim_bodies_read(b, &now));
    const bool same = now.n == want->n && !memcmp(now.bodies, want->bodies,
                                                  (size_t)now.n * sizeof *now.bodies);
    sim_model_free(&now);
    return same;
}

/* Random masses and velocities in a cube. */
static inline void cloud(struct sim_body *body, int64_t n)
{
    uint64_t seed = 3;
    for (int64_t i = 0; i < n; i++) {
        body[i] = (struct sim_body){.mass = (0.5 + uniform(&seed)) / (double)n};
        for (int k = 0; k < 3; k++) {
            body[i].position[k] = 2 * uniform(&seed) - 1;
            body[i].velocity[k] = 0.5 * uniform(&seed) - 0.25;
        }
    }
}

#endif
