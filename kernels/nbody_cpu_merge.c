/* nbody_cpu_merge.c - close bodies become one, on the CPU.
 *
 * Scheme and layout: nbody_merge_math.h. One thread: the work is a few memory accesses a
 * body, beside a force of n pairs a body.
 *
 * Not here: the stage's place in a step (src/integrator.c). */
#include "nbody_cpu.h"
#include "nbody_merge_math.h"

static unsigned long long root_of(const struct nbody_merge *m, unsigned long long i)
{
    while (m->parent[i] != i) {
        m->parent[i] = m->parent[m->parent[i]];
        i = m->parent[i];
    }
    return i;
}

static void enlist(const struct nbody_merge *m, unsigned long long i)
{
    if (m->slot[i] != NBODY_NONE)
        return;
    m->slot[i] = 0;
    m->list[++*m->listed] = i;
    nbody_cluster_begin(&m->cluster[i]);
}

static void unite(const struct nbody_merge *m, unsigned long long i, unsigned long long j)
{
    const unsigned long long a = root_of(m, i), b = root_of(m, j);
    enlist(m, i);
    enlist(m, j);
    if (a > b)
        m->parent[a] = b;
    else
        m->parent[b] = a;
}

static void insert(const struct nbody_merge *m)
{
    for (int64_t i = 0; i < m->n; i++) {
        m->parent[i] = (unsigned long long)i;
        if (m->group[i] == SIM_GONE)
            continue;
        unsigned long long *head =
            &m->head[nbody_bucket(m->position[i], m->distance, 0, m->mask)];
        m->next[i] = *head;
        *head = (unsigned long long)i;
    }
}

static void search(const struct nbody_merge *m, unsigned long long i)
{
    for (int corner = 0; corner < 8; corner++) {
        unsigned long long j =
            m->head[nbody_bucket(m->position[i], m->distance, corner, m->mask)];
        for (; j != NBODY_NONE; j = m->next[j])
            if (j < i && nbody_close(m->position[i], m->position[j], m->distance))
                unite(m, i, j);
    }
}

static void raise(unsigned long long *to, unsigned long long value)
{
    if (value > *to)
        *to = value;
}

static void add_bounds(const struct nbody_merge *m, unsigned long long i)
{
    const struct sim_real4 x = m->position[i], v = m->velocity[i];
    struct nbody_cluster *c = &m->cluster[m->slot[i]];
    const double w = nbody_member_weight(c, x);
    for (int k = 0; k < 3; k++) {
        raise(&c->x, nbody_bound(w, (double)(&x.x)[k]));
        raise(&c->v, nbody_bound(w, (double)(&v.x)[k]));
    }
    if (nbody_bits((double)x.w + 0.0) == c->mass && m->group[i] < c->group)
        c->group = m->group[i];
}

static void settle(const struct nbody_merge *m, unsigned long long i)
{
    const struct nbody_cluster *c = &m->cluster[m->slot[i]];
    if (m->slot[i] == i) {
        nbody_merged(c, &m->position[i], &m->velocity[i]);
        m->group[i] = (uint8_t)c->group;
    } else {
        m->position[i].w = 0;
        m->velocity[i] = (struct sim_real4){0, 0, 0, 0};
        m->group[i] = SIM_GONE;
    }
    m->acceleration[i] = (struct sim_real4){0, 0, 0, 0};
    if (m->jerk)
        m->jerk[i] = m->jerk[m->n + (int64_t)i] = (struct sim_real4){0, 0, 0, 0};
}

/* Members are known; every pass over them is whole before the next begins. */
static void become_one(const struct nbody_merge *m, unsigned long long count)
{
    for (unsigned long long k = 0; k < count; k++) {
        const unsigned long long i = m->list[k], root = root_of(m, i);
        m->slot[i] = root;
        m->cluster[root].count++;
        raise(&m->cluster[root].mass, nbody_bits((double)m->position[i].w + 0.0));
    }
    for (unsigned long long k = 0; k < count; k++)
        add_bounds(m, m->list[k]);
    for (unsigned long long k = 0; k < count; k++) {
        const unsigned long long i = m->list[k];
        struct nbody_cluster *c = &m->cluster[m->slot[i]];
        for (int s = 0; s < 7; s++)
            c->sum[s] += nbody_share(&m->hold, c, m->position[i], m->velocity[i], s);
    }
    for (unsigned long long k = 0; k < count; k++)
        settle(m, m->list[k]);
}

enum sim_status nbody_merge_cpu(struct sim_nbody *nbody, void *jerk, void *space,
                                bool *any)
{
    struct nbody_merge m = {.position = nbody->position,
                            .velocity = nbody->velocity,
                            .acceleration = nbody->acceleration,
                            .jerk = jerk,
                            .group = nbody->group,
                            .n = nbody->n,
                            .hold = nbody_hold_of(nbody),
                            .distance = nbody->merge_distance};
    nbody_merge_lay_out(&m, space);
    memset(m.listed, 0xff, nbody_merge_ones(m.n) * sizeof *m.listed);
    SIM_TRY(sim_device_launch(nbody->device, "merging"));
    insert(&m);
    for (int64_t i = 0; i < m.n; i++) {
        if (i % 65536 == 0)
            SIM_TRY(sim_check_interrupt());
        if (m.group[i] != SIM_GONE)
            search(&m, (unsigned long long)i);
    }
    *any = *m.listed != NBODY_NONE;
    become_one(&m, *m.listed + 1);
    return SIM_OK;
}
