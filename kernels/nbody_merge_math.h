/* nbody_merge_math.h - bodies that come close become one: the formulas, for both
 * backends.
 *
 * Two bodies are close when |x_i - x_j| < distance. What chains of close bodies connect
 * is a cluster; it becomes one body, with M = sum m, x = sum m x / M, v = sum m v / M
 * (plain means where nothing in it has mass), in the place of its lowest index and in the
 * group of its heaviest member (among equals, the group that was added first). The others
 * stay where they were with mass 0, group SIM_GONE, and are moved no more.
 *
 * Close pairs: bodies are chained in a table by the hash of their cell, whose side is 4
 * distances; a body looks into its own cell and the seven nearest. Clusters: a forest of
 * parents, in which a root is hooked only to a lower one; the result does not depend on
 * the order of the pairs. Sums: each term is rounded to a whole number of a unit some
 * 2^-62 of the largest term, so integers are added, and neither the order of adding nor
 * that of storage can change a bit. Momenta that are held (nbody_momentum_math.h) are
 * added in their own unit, so that none of the total is lost.
 *
 * Workspace: 8-byte words, 18 a body; see struct nbody_merge.
 *
 * Not here: loops; what a merged body's radius or temperature would be. */
#ifndef NBODY_MERGE_MATH_H
#define NBODY_MERGE_MATH_H

#include "nbody_math.h"

#include <string.h>

#define NBODY_NONE (~0ull)

/* A cluster, at the index of its root. Bounds are the bits of doubles >= 0, which order
 * like their values; NaN is above all. */
struct nbody_cluster {
    unsigned long long count, group;
    unsigned long long mass, x, v; /* the largest m, |w x|, |w v|: see nbody_bound */
    unsigned long long sum[7];     /* of w, w x, w v, in units; wraps like an int64 */
};

struct nbody_merge {
    struct sim_real4 *position, *velocity, *acceleration;
    struct sim_real4 *jerk; /* [2][n] or NULL: begins anew for what has merged */
    uint8_t *group;
    int64_t n;
    struct nbody_hold hold;
    double distance;
    unsigned long long mask;       /* buckets - 1 */
    unsigned long long *listed;    /* length of `list`, less 1; with head and slot it */
    unsigned long long *head;      /* [buckets] begins as all ones: NBODY_NONE */
    unsigned long long *slot;      /* [n]: 0 once in the list, then the root */
    unsigned long long *next;      /* [n] of the same bucket */
    unsigned long long *parent;    /* [n] */
    unsigned long long *list;      /* [n]: bodies with a close one */
    struct nbody_cluster *cluster; /* [n] */
};

SIM_FN unsigned long long nbody_bits(double value)
{
    unsigned long long bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

SIM_FN double nbody_number(unsigned long long bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* --- close pairs -----------------------------------------------------------------------
 */

/* The cell of a coordinate; + 0.0 makes -0 the same cell as 0. */
SIM_FN double nbody_cell(double x, double distance)
{
    return floor(x / (4 * distance)) + 0.0;
}

/* The neighbour of that cell on the nearer side. */
SIM_FN double nbody_other_cell(double x, double distance)
{
    const double cell = nbody_cell(x, distance);
    return x / (4 * distance) - cell < 0.5 ? cell - 1 : cell + 1;
}

/* Cell `corner` (0 to 7) of those that a body looks into; 0 is its own. */
SIM_FN unsigned long long nbody_bucket(struct sim_real4 at, double distance, int corner,
                                       unsigned long long mask)
{
    const double x[3] = {(double)at.x, (double)at.y, (double)at.z};
    unsigned long long hash = 0;
    for (int k = 0; k < 3; k++) {
        const double cell = corner >> k & 1 ? nbody_other_cell(x[k], distance)
                                            : nbody_cell(x[k], distance);
        hash = (hash ^ nbody_bits(cell)) * 0x9e3779b97f4a7c15ull;
        hash ^= hash >> 29;
    }
    return (hash ^ hash >> 32) & mask;
}

SIM_FN int nbody_close(struct sim_real4 a, struct sim_real4 b, double distance)
{
    return nbody_distance2(a, (double)b.x, (double)b.y, (double)b.z) <
           distance * distance;
}

/* --- sums ------------------------------------------------------------------------------
 */

SIM_FN void nbody_cluster_begin(struct nbody_cluster *c)
{
    memset(c, 0, sizeof *c);
    c->group = NBODY_NONE;
}

/* What a body counts with: its mass, or 1 where nothing in the cluster has any. */
SIM_FN double nbody_member_weight(const struct nbody_cluster *c, struct sim_real4 x)
{
    return c->mass ? (double)x.w : 1.0;
}

SIM_FN unsigned long long nbody_bound(double weight, double value)
{
    return nbody_bits(fabs(weight * value));
}

/* The unit of a sum of `count` terms up to `bound` is 2^this: their sum stays below 2^62
 * units. */
SIM_FN int nbody_unit(unsigned long long bound, unsigned long long count)
{
    int exponent, bits = 0;
    frexp(nbody_number(bound), &exponent);
    while ((1ull << bits) < count)
        bits++;
    return exponent + bits - 62;
}

/* Term k of a member: its weight, then w x, then w v, in units. */
SIM_FN unsigned long long nbody_share(const struct nbody_hold *hold,
                                      const struct nbody_cluster *c, struct sim_real4 x,
                                      struct sim_real4 v, int k)
{
    const double w = nbody_member_weight(c, x);
    if (k == 0)
        return c->mass
                   ? (unsigned long long)llrint(ldexp(w, -nbody_unit(c->mass, c->count)))
                   : 1;
    const double value = (double)(k < 4 ? (&x.x)[k - 1] : (&v.x)[k - 4]);
    const double term = k >= 4 && nbody_is_held(hold, (double)x.w)
                            ? nbody_units(hold, w, value) * hold->unit
                            : w * value;
    return (unsigned long long)llrint(
        ldexp(term, -nbody_unit(k < 4 ? c->x : c->v, c->count)));
}

SIM_FN double nbody_total(const struct nbody_cluster *c, unsigned long long bound, int k)
{
    if (!(nbody_number(bound) <= DBL_MAX))
        return NAN; /* was not a number before; the next picture tells */
    return ldexp((double)(long long)c->sum[k], nbody_unit(bound, c->count));
}

/* The body that a cluster becomes. Divided by the mass as it is stored, so that what
 * rounding does to that does not change the momentum. */
SIM_FN void nbody_merged(const struct nbody_cluster *c, struct sim_real4 *x,
                         struct sim_real4 *v)
{
    x->w = c->mass ? (real)nbody_total(c, c->mass, 0) : (real)0;
    const double weight = c->mass ? (double)x->w : (double)c->sum[0];
    for (int k = 0; k < 3; k++) {
        (&x->x)[k] = (real)(nbody_total(c, c->x, 1 + k) / weight);
        (&v->x)[k] = (real)(nbody_total(c, c->v, 4 + k) / weight);
    }
}

/* --- workspace -------------------------------------------------------------------------
 */

SIM_FN unsigned long long nbody_merge_buckets(int64_t n)
{
    unsigned long long buckets = 1;
    while (buckets < (unsigned long long)n)
        buckets *= 2;
    return buckets;
}

/* Words that begin as all ones, from `listed` on. */
SIM_FN unsigned long long nbody_merge_ones(int64_t n)
{
    return 1 + nbody_merge_buckets(n) + (unsigned long long)n;
}

#define NBODY_MERGE_WORDS 18 /* a body, and 1 */

SIM_FN void nbody_merge_lay_out(struct nbody_merge *m, void *space)
{
    m->mask = nbody_merge_buckets(m->n) - 1;
    m->listed = (unsigned long long *)space;
    m->head = m->listed + 1;
    m->slot = m->head + m->mask + 1;
    m->next = m->slot + m->n;
    m->parent = m->next + m->n;
    m->list = m->parent + m->n;
    m->cluster = (struct nbody_cluster *)(m->list + m->n);
}

#endif
