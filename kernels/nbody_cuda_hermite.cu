/* nbody_cuda_hermite.cu - Hermite's fourth-order scheme with a shared step, on a GPU.
 *
 * Formulas: nbody_hermite_math.h. For scenes of few bodies: a thread a body, which meets
 * its sources in ascending order with exact roots and quotients, so that the bits are the
 * CPU's. Every part of a step is a launch: predict, evaluate, correct, evaluate, and one
 * thread that adds up the time. The shared step's length is the least of all bodies',
 * found by an integer minimum of the bits of numbers >= 0, and stays on the device; the
 * host enqueues steps ahead, and what comes after the last one that is wanted does
 * nothing.
 *
 * Bound by the latency of launches: some 15 us a step up to a few hundred bodies.
 *
 * Not here: tiles in shared memory, individual steps. */
#include "nbody_cuda.h"
#include "nbody_hermite_math.h"
#include "nbody_merge_math.h"

#include <algorithm>

#define BLOCK 64

/* The run's state, on the device. */
struct hermite_run {
    double next, time;
    unsigned long long least;          /* bits of the next step's length */
    unsigned long long most_a, most_j; /* bits, for the first step's */
    long long taken;
    int stop; /* enough steps, or the next one would pass `until` */
};

struct hermite_args {
    struct hermite_body *old, *now; /* [n] each */
    struct sim_real4 *position, *velocity, *acceleration, *jerk;
    const uint8_t *group;
    unsigned long long *met; /* where to note bodies that met another; or NULL */
    struct hermite_run *run;
    int64_t n, wanted;
    bool charge;
    double G, dt, eta, until;
    real softness[SIM_GROUPS_MAX + 1]; /* of a body in each group; the last: gone */
    int spline;
};

/* Which evaluation it is, and so what is asked of its outcome. */
enum evaluation { FIRST, INNER, LAST };

static __device__ int64_t index_of_thread(void)
{
    return (int64_t)blockIdx.x * BLOCK + threadIdx.x;
}

/* `merged`: 0: always; else only if its list is not empty. */
static __global__ void __launch_bounds__(BLOCK)
    load_kernel(const struct hermite_args r, const unsigned long long *merged)
{
    const int64_t i = index_of_thread();
    if (i >= r.n || (merged && *merged == NBODY_NONE))
        return;
    r.now[i] = {r.position[i], r.velocity[i], r.acceleration[i], r.jerk[i],
                r.jerk[r.n + i]};
}

static __global__ void __launch_bounds__(BLOCK) store_kernel(const struct hermite_args r)
{
    const int64_t i = index_of_thread();
    if (i >= r.n)
        return;
    r.position[i] = r.now[i].x;
    r.velocity[i] = r.now[i].v;
    r.acceleration[i] = r.now[i].a;
    r.jerk[i] = r.now[i].j;
    r.jerk[r.n + i] = r.now[i].low;
}

static __global__ void __launch_bounds__(BLOCK)
    predict_kernel(const struct hermite_args r)
{
    const int64_t i = index_of_thread();
    if (i >= r.n || r.run->stop)
        return;
    r.old[i] = r.now[i];
    hermite_predict(&r.now[i], (real)r.run->next);
}

static __global__ void __launch_bounds__(BLOCK)
    correct_kernel(const struct hermite_args r)
{
    const int64_t i = index_of_thread();
    if (i < r.n && !r.run->stop)
        hermite_correct(&r.old[i], &r.now[i], (real)r.run->next);
}

static __device__ real softness_of(const struct hermite_args &r, int64_t i)
{
    const int group = r.group[i];
    return r.softness[group < SIM_GROUPS_MAX ? group : SIM_GROUPS_MAX];
}

static __device__ struct hermite_body evaluated(const struct hermite_args &r, int64_t i)
{
    struct hermite_body b = r.now[i];
    const real own = softness_of(r, i);
    int met = 0;
    b.a = b.j = {0, 0, 0, 0};
    for (int64_t j = 0; j < r.n && r.group[i] != SIM_GONE; j++)
        if (j != i)
            met += hermite_add(&b, nbody_load(&r.now[j].x), nbody_load(&r.now[j].low),
                               nbody_load(&r.now[j].v),
                               nbody_pair_softness(own, softness_of(r, j), r.spline),
                               r.spline);
    const real k = (real)(r.charge ? -r.G * (double)b.x.w : r.G);
    b.a = {k * b.a.x, k * b.a.y, k * b.a.z, 0};
    b.j = {k * b.j.x, k * b.j.y, k * b.j.z, 0};
    if (met && r.met)
        atomicMin(r.met, (unsigned long long)i);
    return b;
}

/* Not a number says nothing, as in fmax. */
static __device__ void raise(unsigned long long *to, double value)
{
    if (value >= 0)
        atomicMax(to, nbody_bits(value));
}

/* a and j of all bodies at the x and v of `now`, which stay. */
static __global__ void __launch_bounds__(BLOCK)
    evaluate_kernel(const struct hermite_args r, enum evaluation which,
                    const unsigned long long *merged)
{
    const int64_t i = index_of_thread();
    if (i >= r.n || (which != FIRST && r.run->stop) || (merged && *merged == NBODY_NONE))
        return;
    const struct hermite_body b = evaluated(r, i);
    r.now[i].a = b.a;
    r.now[i].j = b.j;
    if (r.eta == 0)
        return;
    if (which == FIRST) {
        raise(&r.run->most_a, hermite_size(b.a));
        raise(&r.run->most_j, hermite_size(b.j));
    } else if (which == LAST) {
        const double length = hermite_length(&r.old[i], &b, r.run->next, r.eta);
        if (length >= 0)
            atomicMin(&r.run->least, nbody_bits(length));
    }
}

/* One thread: what follows from an evaluation of that kind. */
static __global__ void decide_kernel(const struct hermite_args r, enum evaluation which,
                                     const unsigned long long *merged)
{
    struct hermite_run *run = r.run;
    if (which == FIRST && !(merged && *merged == NBODY_NONE)) {
        const double length = hermite_first_length(nbody_number(run->most_a),
                                                   nbody_number(run->most_j), r.eta);
        run->next = r.eta > 0 ? hermite_bounded(length, r.dt) : r.dt;
    } else if (which == LAST && !run->stop) {
        run->time += run->next;
        run->taken++;
        if (r.eta > 0)
            run->next = hermite_bounded(nbody_number(run->least), r.dt);
    }
    run->least = nbody_bits(HUGE_VAL);
    run->most_a = run->most_j = 0;
    run->stop =
        run->taken >= r.wanted || hermite_passes(r.eta, run->time, run->next, r.until);
}

/* --- the host's side -------------------------------------------------------------------
 */

#define NAME "computing gravity"

struct march {
    struct sim_nbody *nbody;
    struct sim_hermite *hermite;
    struct hermite_args args;
    dim3 grid;
    void *merging; /* workspace */
};

static enum sim_status evaluate(const struct march *m, enum evaluation which,
                                const unsigned long long *merged)
{
    return sim_launch(m->nbody->device, NAME, evaluate_kernel, m->grid, dim3(BLOCK), 0,
                      m->args, which, merged);
}

static enum sim_status decide(const struct march *m, enum evaluation which,
                              const unsigned long long *merged)
{
    return sim_launch(m->nbody->device, NAME, decide_kernel, dim3(1), dim3(1), 0, m->args,
                      which, merged);
}

/* Close bodies become one. Where any did, the forces on what is left are found anew, and
 * a step's length with them. */
static enum sim_status merge(const struct march *m)
{
    struct sim_device *device = m->nbody->device;
    const unsigned long long *listed = (const unsigned long long *)m->merging;
    if (!m->hermite->merging)
        return SIM_OK;
    SIM_TRY(sim_launch(device, NAME, store_kernel, m->grid, dim3(BLOCK), 0, m->args));
    SIM_TRY(nbody_merge_cuda(m->nbody, m->hermite->jerk, m->merging));
    SIM_TRY(
        sim_launch(device, NAME, load_kernel, m->grid, dim3(BLOCK), 0, m->args, listed));
    SIM_TRY(evaluate(m, FIRST, listed));
    return decide(m, FIRST, listed);
}

static enum sim_status add_step(const struct march *m)
{
    struct sim_device *device = m->nbody->device;
    SIM_TRY(sim_launch(device, NAME, predict_kernel, m->grid, dim3(BLOCK), 0, m->args));
    for (int c = 0; c < m->hermite->corrections; c++) {
        SIM_TRY(evaluate(m, INNER, NULL));
        SIM_TRY(
            sim_launch(device, NAME, correct_kernel, m->grid, dim3(BLOCK), 0, m->args));
    }
    SIM_TRY(evaluate(m, LAST, NULL));
    SIM_TRY(decide(m, LAST, NULL));
    return merge(m);
}

static size_t offset_of_run(const struct march *m)
{
    return (size_t)((char *)m->args.run - (char *)m->nbody->scratch.data);
}

static enum sim_status begin(const struct march *m)
{
    const struct sim_hermite *h = m->hermite;
    struct sim_device *device = m->nbody->device;
    struct hermite_run run = {};
    run.time = h->time;
    run.next = h->eta > 0 ? copysign(h->next, m->nbody->dt) : m->nbody->dt;
    SIM_TRY(sim_buffer_write(&m->nbody->scratch, offset_of_run(m), &run, sizeof run));
    SIM_TRY(sim_launch(device, NAME, load_kernel, m->grid, dim3(BLOCK), 0, m->args,
                       (const unsigned long long *)NULL));
    if (!h->fresh)
        return decide(m, INNER, NULL);
    SIM_TRY(decide(m, INNER, NULL)); /* the bounds begin */
    SIM_TRY(merge(m));
    SIM_TRY(evaluate(m, FIRST, NULL));
    return decide(m, FIRST, NULL);
}

/* Launches of a batch last some 10 ms at most, so that an interrupt is seen. */
static enum sim_status take_steps(const struct march *m)
{
    const double n = (double)m->nbody->n, work = n * n * (1 + m->hermite->corrections);
    const int64_t most =
        std::max<int64_t>(1, std::min<int64_t>(128, (int64_t)(3e9 / work)));
    struct hermite_run run;
    SIM_TRY(sim_buffer_read(&m->nbody->scratch, offset_of_run(m), &run, sizeof run));
    while (!run.stop) {
        const int64_t left = m->hermite->steps - run.taken;
        SIM_TRY(sim_check_interrupt());
        for (int64_t k = 0; k < std::min(most, left); k++)
            SIM_TRY(add_step(m));
        SIM_TRY(sim_buffer_read(&m->nbody->scratch, offset_of_run(m), &run, sizeof run));
    }
    return SIM_OK;
}

/* The workspace: old, now, the run, and room for merging. */
static enum sim_status lay_out(struct march *m)
{
    struct sim_nbody *nbody = m->nbody;
    struct hermite_args *r = &m->args;
    size_t bytes, merging;
    SIM_TRY(sim_size_multiply((size_t)nbody->n, 2 * sizeof(struct hermite_body),
                              "the workspace of gravity", &bytes));
    SIM_TRY(sim_nbody_merge_bytes(nbody->n, &merging));
    SIM_TRY(sim_nbody_scratch(nbody, SIM_NBODY_KEPT + bytes + sizeof(struct hermite_run) +
                                         (m->hermite->merging ? merging : 0)));
    char *space = (char *)nbody->scratch.data + SIM_NBODY_KEPT;
    r->old = (struct hermite_body *)space;
    r->now = r->old + nbody->n;
    r->run = (struct hermite_run *)(space + bytes);
    m->merging = r->run + 1;
    return SIM_OK;
}

enum sim_status nbody_hermite_cuda(struct sim_nbody *nbody, struct sim_hermite *h)
{
    struct march m = {};
    struct hermite_run run;
    m.nbody = nbody;
    m.hermite = h;
    m.grid = dim3((unsigned)((nbody->n + BLOCK - 1) / BLOCK));
    SIM_TRY(lay_out(&m));
    struct hermite_args *r = &m.args;
    r->position = (struct sim_real4 *)nbody->position;
    r->velocity = (struct sim_real4 *)nbody->velocity;
    r->acceleration = (struct sim_real4 *)nbody->acceleration;
    r->jerk = (struct sim_real4 *)h->jerk;
    r->group = nbody->group;
    r->met = nbody->merge_distance > 0 ? NULL : (unsigned long long *)nbody->scratch.data;
    r->n = nbody->n;
    r->wanted = h->steps;
    r->charge = nbody->coupling == SIM_CHARGE;
    r->G = nbody->G;
    r->dt = nbody->dt;
    r->eta = h->eta;
    r->until = h->until;
    r->spline = nbody->softening == SIM_SPLINE;
    for (int g = 0; g <= SIM_GROUPS_MAX; g++)
        r->softness[g] = nbody_softness(nbody_eps_of(nbody, g), r->spline);
    SIM_TRY(begin(&m));
    const enum sim_status status = take_steps(&m);
    if (status != SIM_OK && status != SIM_INTERRUPTED)
        return status;
    SIM_TRY(
        sim_launch(nbody->device, NAME, store_kernel, m.grid, dim3(BLOCK), 0, m.args));
    SIM_TRY(sim_buffer_read(&nbody->scratch, offset_of_run(&m), &run, sizeof run));
    h->fresh = false;
    h->next = run.next;
    h->time = run.time;
    h->steps = run.taken;
    return status;
}
