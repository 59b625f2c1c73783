/* nbody_cpu_hermite.c - Hermite's fourth-order scheme with a shared step, on the CPU.
 *
 * Formulas: nbody_hermite_math.h. For scenes of few bodies: the loop over pairs is plain.
 * Every body is computed by one thread in ascending order of its sources, so the bits do
 * not depend on the number of threads.
 *
 * Not here: SIMD over pairs, individual steps. */
#include "nbody_cpu.h"
#include "nbody_hermite_math.h"

#define PARALLEL_FROM 64

struct run {
    struct sim_nbody *nbody;
    struct sim_hermite *hermite;
    struct hermite_body *old, *now; /* [n] each, in the workspace */
    void *merging;                  /* behind them */
    real softness[UINT8_MAX + 1];   /* of a body in each group */
    int spline;
};

static real pair_softness(const struct run *r, int64_t i, int64_t j)
{
    const uint8_t *group = r->nbody->group;
    return nbody_pair_softness(r->softness[group[i]], r->softness[group[j]], r->spline);
}

/* a and j of all bodies at the x and v of `now`. */
static void evaluate(const struct run *r)
{
    const struct sim_nbody *nbody = r->nbody;
    const int64_t n = nbody->n;
    struct hermite_body *now = r->now;
    uint64_t least = UINT64_MAX, *kept = nbody->scratch.data;
#pragma omp parallel for num_threads(nbody->device->threads) \
    reduction(min                                            \
              : least) if (n >= PARALLEL_FROM)
    for (int64_t i = 0; i < n; i++) {
        struct hermite_body b = now[i];
        int met = 0;
        b.a = b.j = (struct sim_real4){0, 0, 0, 0};
        for (int64_t j = 0; j < n && nbody->group[i] != SIM_GONE; j++)
            if (j != i)
                met += hermite_add(&b, now[j].x, now[j].low, now[j].v,
                                   pair_softness(r, i, j), r->spline);
        const real k =
            (real)(nbody->coupling == SIM_CHARGE ? -nbody->G * (double)b.x.w : nbody->G);
        now[i].a = (struct sim_real4){k * b.a.x, k * b.a.y, k * b.a.z, 0};
        now[i].j = (struct sim_real4){k * b.j.x, k * b.j.y, k * b.j.z, 0};
        if (met && (uint64_t)i < least)
            least = (uint64_t)i;
    }
    if (least < *kept && nbody->merge_distance == 0)
        *kept = least;
    nbody->device->stats.launches++;
}

static double first_length(const struct run *r)
{
    double a = 0, j = 0;
    for (int64_t i = 0; i < r->nbody->n; i++) {
        a = fmax(a, hermite_size(r->now[i].a));
        j = fmax(j, hermite_size(r->now[i].j));
    }
    return hermite_bounded(hermite_first_length(a, j, r->hermite->eta), r->nbody->dt);
}

static double next_length(const struct run *r, double h)
{
    double least = HUGE_VAL;
    for (int64_t i = 0; i < r->nbody->n; i++)
        least = fmin(least, hermite_length(&r->old[i], &r->now[i], h, r->hermite->eta));
    return hermite_bounded(least, r->nbody->dt);
}

static void take_step(const struct run *r, double h)
{
    const int64_t n = r->nbody->n;
    for (int64_t i = 0; i < n; i++) {
        r->old[i] = r->now[i];
        hermite_predict(&r->now[i], (real)h);
    }
    for (int c = 0; c < r->hermite->corrections; c++) {
        evaluate(r);
        for (int64_t i = 0; i < n; i++)
            hermite_correct(&r->old[i], &r->now[i], (real)h);
    }
    evaluate(r);
}

static void load(const struct run *r)
{
    const struct sim_real4 *x = r->nbody->position, *v = r->nbody->velocity;
    const struct sim_real4 *a = r->nbody->acceleration, *j = r->hermite->jerk;
    for (int64_t i = 0; i < r->nbody->n; i++)
        r->now[i] = (struct hermite_body){x[i], v[i], a[i], j[i], j[r->nbody->n + i]};
}

static void store(const struct run *r)
{
    struct sim_real4 *x = r->nbody->position, *v = r->nbody->velocity;
    struct sim_real4 *a = r->nbody->acceleration, *j = r->hermite->jerk;
    for (int64_t i = 0; i < r->nbody->n; i++) {
        x[i] = r->now[i].x;
        v[i] = r->now[i].v;
        a[i] = r->now[i].a;
        j[i] = r->now[i].j;
        j[r->nbody->n + i] = r->now[i].low;
    }
}

/* Close bodies become one. The forces on what is left are found anew, and a step's length
 * with them. */
static enum sim_status merge(const struct run *r)
{
    bool any;
    if (!r->hermite->merging)
        return SIM_OK;
    store(r);
    SIM_TRY(nbody_merge_cpu(r->nbody, r->hermite->jerk, r->merging, &any));
    if (!any)
        return SIM_OK;
    load(r);
    evaluate(r);
    if (r->hermite->eta > 0)
        r->hermite->next = first_length(r);
    return SIM_OK;
}

enum sim_status nbody_hermite_cpu(struct sim_nbody *nbody, struct sim_hermite *h)
{
    size_t bytes, merging;
    struct run r = {.nbody = nbody, .hermite = h};
    enum sim_status status = SIM_OK;
    SIM_TRY(sim_size_multiply((size_t)nbody->n, 2 * sizeof(struct hermite_body),
                              "the workspace of gravity", &bytes));
    SIM_TRY(sim_nbody_merge_bytes(nbody->n, &merging));
    SIM_TRY(sim_nbody_scratch(nbody, SIM_NBODY_KEPT + bytes + merging));
    r.old = (struct hermite_body *)((char *)nbody->scratch.data + SIM_NBODY_KEPT);
    r.now = r.old + nbody->n;
    r.merging = r.now + nbody->n;
    r.spline = nbody->softening == SIM_SPLINE;
    for (int g = 0; g <= UINT8_MAX; g++)
        r.softness[g] = nbody_softness(nbody_eps_of(nbody, g), r.spline);
    load(&r);
    if (h->fresh) {
        SIM_TRY(merge(&r));
        evaluate(&r);
        h->next = h->eta > 0 ? first_length(&r) : nbody->dt;
    }
    h->next = h->eta > 0 ? copysign(h->next, nbody->dt) : nbody->dt;
    h->fresh = false;
    int64_t taken = 0;
    while (taken < h->steps && !hermite_passes(h->eta, h->time, h->next, h->until)) {
        status = sim_check_interrupt();
        if (status != SIM_OK)
            break;
        take_step(&r, h->next);
        h->time += h->next;
        if (h->eta > 0)
            h->next = next_length(&r, h->next);
        taken++;
        status = merge(&r);
        if (status != SIM_OK)
            break;
    }
    store(&r);
    h->steps = taken;
    return status;
}
