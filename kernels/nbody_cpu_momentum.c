/* nbody_cpu_momentum.c - kicks that do not change the total momentum, on the CPU.
 *
 * Scheme: nbody_momentum_math.h. Two passes over the bodies: what the kicks leave over,
 * then the kicks. What is added up are whole numbers, so that threads need no order. */
#include "nbody_cpu.h"

/* Below this a parallel loop costs more than it gives. */
#define PARALLEL_FROM 4096

struct kick {
    const struct sim_nbody *nbody;
    struct nbody_hold hold;
    double h;
    uint64_t anchor, weight, residue[3]; /* anchor: its key */
};

static bool is_held(const struct kick *k, int64_t i, double *m)
{
    const struct sim_real4 *x = k->nbody->position;
    *m = nbody_inertia(&k->hold, (double)x[i].w);
    return nbody_is_held(&k->hold, *m);
}

static double kick_units(const struct kick *k, double m, real a)
{
    return nbody_kick_units(&k->hold, m, k->h, (double)a);
}

/* R, and who is to take what is left of it. */
static void add_up(struct kick *k)
{
    const struct sim_real4 *a = k->nbody->acceleration;
    const struct kick by = *k;
    uint64_t x = 0, y = 0, z = 0, weight = 0, anchor = 0;
#pragma omp parallel for num_threads(by.nbody->device->threads) \
    if (by.nbody->n >= PARALLEL_FROM) reduction(+ : x, y, z, weight) \
    reduction(max : anchor)
    for (int64_t i = 0; i < by.nbody->n; i++) {
        double m;
        if (!is_held(&by, i, &m))
            continue;
        const uint64_t key = nbody_anchor_key(m, i);
        anchor = key > anchor ? key : anchor;
        weight += nbody_weight_units(&by.hold, m);
        x += nbody_counted(kick_units(&by, m, a[i].x));
        y += nbody_counted(kick_units(&by, m, a[i].y));
        z += nbody_counted(kick_units(&by, m, a[i].z));
    }
    k->anchor = anchor;
    k->weight = weight;
    k->residue[0] = x, k->residue[1] = y, k->residue[2] = z;
}

/* One component of a held body's kick; returns what was taken off. */
static uint64_t kick_one(const struct kick *k, double m, real *v, real a, uint64_t left)
{
    const double share = nbody_residue_share(&k->hold, m, k->weight, left);
    *v = (real)nbody_kicked(&k->hold, m, (double)*v, kick_units(k, m, a), share);
    return nbody_counted(share);
}

/* The anchor's: all that is left is taken off. */
static void kick_anchor(const struct kick *k, const uint64_t taken[3])
{
    const struct sim_real4 *acceleration = k->nbody->acceleration;
    const int64_t i = nbody_anchor(k->anchor);
    double m;
    if (k->anchor == 0 || !is_held(k, i, &m))
        return;
    real *v = &((struct sim_real4 *)k->nbody->velocity)[i].x;
    const real *a = &acceleration[i].x;
    for (int c = 0; c < 3; c++)
        v[c] = (real)nbody_kicked(&k->hold, m, (double)v[c], kick_units(k, m, a[c]),
                                  nbody_as_number(k->residue[c] - taken[c]));
}

static void kick_loose(const struct kick *k, struct sim_real4 *v, struct sim_real4 a)
{
    const real h = (real)k->h, grain = (real)k->nbody->grain_v;
    v->x = nbody_push(v->x, h, a.x, grain);
    v->y = nbody_push(v->y, h, a.y, grain);
    v->z = nbody_push(v->z, h, a.z, grain);
}

/* All but the anchor; `taken` becomes the sum of their shares. */
static void kick_others(const struct kick *k, uint64_t taken[3])
{
    const struct kick by = *k;
    const struct sim_real4 *a = by.nbody->acceleration;
    struct sim_real4 *v = by.nbody->velocity;
    const uint8_t *group = by.nbody->merge_distance > 0 ? by.nbody->group : NULL;
    const int64_t anchor = nbody_anchor(by.anchor);
    uint64_t x = 0, y = 0, z = 0;
#pragma omp parallel for num_threads(by.nbody->device->threads) \
    if (by.nbody->n >= PARALLEL_FROM) reduction(+ : x, y, z)
    for (int64_t i = 0; i < by.nbody->n; i++) {
        double m;
        if (i == anchor || (group && group[i] == SIM_GONE))
            continue;
        if (!is_held(&by, i, &m)) {
            kick_loose(&by, &v[i], a[i]);
            continue;
        }
        x += kick_one(&by, m, &v[i].x, a[i].x, by.residue[0]);
        y += kick_one(&by, m, &v[i].y, a[i].y, by.residue[1]);
        z += kick_one(&by, m, &v[i].z, a[i].z, by.residue[2]);
    }
    taken[0] = x, taken[1] = y, taken[2] = z;
}

enum sim_status nbody_kick_held_cpu(struct sim_nbody *nbody, double h)
{
    struct kick k = {.nbody = nbody, .hold = nbody_hold_of(nbody), .h = h};
    uint64_t taken[3];
    add_up(&k);
    kick_others(&k, taken);
    kick_anchor(&k, taken);
    return sim_device_launch(nbody->device, "moving bodies");
}
