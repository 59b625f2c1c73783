/* nbody_cuda.cu - all-pairs gravity on a GPU: which kernel for which size, and the loop
 * over the stages of a step.
 *
 * A step is two launches: the force kernel (nbody_cuda_force.cuh), which leaves sums per
 * split, and body_kernel, which adds them in ascending order, scales them to
 * accelerations and runs all kicks and drifts up to the next force evaluation, also those
 * of the next step. A body's operations and their order are the same however they are
 * fused, so the bits do not depend on how many steps are asked for at once.
 *
 * Not here: many steps in one launch (small systems are bound by the launches). */
#include "nbody_cuda_force.cuh"

#include <algorithm>

/* --- kicks and drifts ------------------------------------------------------------------
 */

#define PUSHES_MAX 8
#define BODY_BLOCK 128

struct push {
    bool drift; /* x += h v, else v += h a */
    real h;
};

struct body_args {
    struct sim_real4 *position, *velocity, *acceleration;
    const struct sim_real4 *partial; /* [split][n], when `finish` */
    unsigned long long *least;       /* where to note bodies that met another; or NULL */
    int64_t n;
    int split, pushes;
    bool finish, charge;
    real G;
    struct push push[PUSHES_MAX];
};

/* a_i = k_i (partial[0][i] + partial[1][i] + ...) */
static __device__ struct sim_real4 finished(const struct body_args &b, int64_t i,
                                            real mass)
{
    struct sim_real4 sum = nbody_load(&b.partial[i]);
    for (int s = 1; s < b.split; s++) {
        const struct sim_real4 next = nbody_load(&b.partial[s * b.n + i]);
        sum.x += next.x;
        sum.y += next.y;
        sum.z += next.z;
        sum.w += next.w;
    }
    if (b.least && sum.w > 1) /* once is the body itself */
        atomicMin(b.least, (unsigned long long)i);
    const real k = b.charge ? -b.G * mass : b.G;
    return {k * sum.x, k * sum.y, k * sum.z, 0};
}

/* One thread a body; 64 bytes a body and a sum over the splits: memory-bound and small.
 */
static __global__ void __launch_bounds__(BODY_BLOCK) body_kernel(const struct body_args b)
{
    const int64_t i = (int64_t)blockIdx.x * BODY_BLOCK + threadIdx.x;
    if (i >= b.n)
        return;
    struct sim_real4 x = nbody_load(&b.position[i]), v = nbody_load(&b.velocity[i]);
    struct sim_real4 a = b.finish ? finished(b, i, x.w) : nbody_load(&b.acceleration[i]);
    for (int p = 0; p < b.pushes; p++) {
        struct sim_real4 &to = b.push[p].drift ? x : v;
        const struct sim_real4 rate = b.push[p].drift ? v : a;
        to.x = nbody_push(to.x, b.push[p].h, rate.x);
        to.y = nbody_push(to.y, b.push[p].h, rate.y);
        to.z = nbody_push(to.z, b.push[p].h, rate.z);
    }
    if (b.finish)
        nbody_store(&b.acceleration[i], a);
    nbody_store(&b.position[i], x);
    nbody_store(&b.velocity[i], v);
}

/* --- which force kernel ----------------------------------------------------------------
 */

struct variant {
    int tile, per_thread, unroll;
    void (*plain)(struct force_args), (*guarded)(struct force_args);
};

#define VARIANT(tile, per_thread, unroll)                                     \
    {tile, per_thread, unroll, force_kernel<tile, per_thread, unroll, false>, \
     force_kernel<tile, per_thread, unroll, true>},
static const struct variant variants[] = {FORCE_VARIANTS(VARIANT)};
#undef VARIANT

#define SPLIT_MAX 64

/* Defaults by number of bodies: the first row with n <= up_to. `blocks` a multiprocessor
 * are aimed at by splitting the sources. */
static const struct {
    int64_t up_to;
    int tile, per_thread, unroll, blocks;
} defaults[] = {
    {2048, 64, 1, 16, 8},
    {8192, 64, 2, 8, 8},
    {32768, 128, 4, 8, 8},
    {INT64_MAX, 128, 8, 4, 8},
};

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static bool matches(const struct variant *v, const struct sim_nbody_tuning *t)
{
    return (!t->tile || t->tile == v->tile) &&
           (!t->per_thread || t->per_thread == v->per_thread) &&
           (!t->unroll || t->unroll == v->unroll);
}

static enum sim_status no_such_variant(const struct sim_nbody_tuning *t)
{
    char legal[512];
    size_t used = 0;
    for (const struct variant &v : variants)
        used += (size_t)snprintf(legal + used, sizeof legal - used, "%s%d/%d/%d",
                                 used ? ", " : "", v.tile, v.per_thread, v.unroll);
    return sim_fail(
        SIM_BAD_ARGUMENT,
        "no gravity kernel has tile/per_thread/unroll = %d/%d/%d and split %d; "
        "legal are (0: any) %s, and a split of 0 to %d",
        t->tile, t->per_thread, t->unroll, t->split, legal, SPLIT_MAX);
}

struct plan {
    const struct variant *variant;
    int split;
    int64_t segment; /* sources a split, a multiple of the tile */
};

static int64_t default_split(const struct sim_nbody *nbody, const struct variant *v,
                             int blocks)
{
    const int64_t across = ceil_div(nbody->n, (int64_t)v->tile * v->per_thread);
    const int64_t wanted = (int64_t)nbody->device->multiprocessors * blocks;
    return std::max<int64_t>(1, wanted / across);
}

/* The default row with what the script forces in place of its choices. */
static enum sim_status make_plan(const struct sim_nbody *nbody, struct plan *plan)
{
    const struct sim_nbody_tuning *forced = &nbody->tuning;
    auto row = defaults;
    while (nbody->n > row->up_to)
        row++;
    const struct sim_nbody_tuning wanted = {
        forced->tile ? forced->tile : row->tile, 0,
        forced->per_thread ? forced->per_thread : row->per_thread, 0};
    plan->variant = NULL;
    for (const struct variant &v : variants)
        if (matches(&v, forced) && (!plan->variant || matches(&v, &wanted)))
            plan->variant = &v;
    if (!plan->variant || forced->split < 0 || forced->split > SPLIT_MAX)
        return no_such_variant(forced);
    const int64_t tiles = ceil_div(nbody->n, plan->variant->tile);
    int64_t split =
        forced->split ? forced->split : default_split(nbody, plan->variant, row->blocks);
    split = std::min<int64_t>({split, tiles, SPLIT_MAX});
    plan->segment = ceil_div(tiles, split) * plan->variant->tile;
    plan->split = (int)ceil_div(nbody->n, plan->segment);
    return SIM_OK;
}

/* --- the loop over stages --------------------------------------------------------------
 */

/* Work in the queue is held below some 60 ms, so that an interrupted program ends at
 * once: a mark is set after each SLICE pairs, and at most two are under way. */
#define SLICE         3.0e10 /* pairs; 15 to 30 ms on the largest GPUs */
#define STEPS_A_SLICE 1024
#define MARKS         2

struct march {
    struct sim_nbody *nbody;
    struct plan plan;
    struct body_args body; /* pushes gathered for the next body_kernel */
    bool guarded;
    cudaEvent_t mark[MARKS];
    int marks;     /* set so far */
    double queued; /* share of a slice queued since the last mark */
};

static enum sim_status flush(struct march *m)
{
    struct body_args *b = &m->body;
    if (!b->finish && !b->pushes)
        return SIM_OK;
    const dim3 grid((unsigned)ceil_div(b->n, BODY_BLOCK));
    SIM_TRY(sim_launch(m->nbody->device, "moving bodies", body_kernel, grid,
                       dim3(BODY_BLOCK), 0, *b));
    b->finish = false;
    b->pushes = 0;
    return SIM_OK;
}

static enum sim_status add_push(struct march *m, const struct sim_stage *s)
{
    struct body_args *b = &m->body;
    if (b->pushes == PUSHES_MAX)
        SIM_TRY(flush(m));
    b->push[b->pushes].drift = s->kind == SIM_DRIFT;
    b->push[b->pushes].h = (real)(s->coefficient * m->nbody->dt);
    b->pushes++;
    return SIM_OK;
}

/* Wait for the mark that is to be set anew, looking at the interrupt flag. */
static enum sim_status wait_mark(struct sim_device *device, cudaEvent_t mark)
{
    const struct timespec nap = {0, 100000};
    cudaError_t state;
    while ((state = cudaEventQuery(mark)) == cudaErrorNotReady) {
        SIM_TRY(sim_check_interrupt());
        nanosleep(&nap, NULL);
    }
    return sim_cuda_status(device, state, "computing gravity");
}

static enum sim_status set_mark(struct march *m)
{
    struct sim_device *device = m->nbody->device;
    cudaEvent_t *mark = &m->mark[m->marks % MARKS];
    if (m->marks >= MARKS)
        SIM_TRY(wait_mark(device, *mark));
    else
        SIM_TRY(sim_cuda_status(device,
                                cudaEventCreateWithFlags(mark, cudaEventDisableTiming),
                                "making an event"));
    m->marks++;
    m->queued = 0;
    return sim_cuda_status(device, cudaEventRecord(*mark, sim_stream(device)),
                           "recording an event");
}

/* Targets first <= i < last against all sources. */
static enum sim_status launch_force(struct march *m, int64_t first, int64_t last)
{
    const struct variant *v = m->plan.variant;
    struct sim_nbody *nbody = m->nbody;
    const struct force_args args = {
        (const struct sim_real4 *)nbody->position,
        (struct sim_real4 *)m->body.partial,
        nbody->n,
        first,
        last,
        m->plan.segment,
        (real)(nbody->eps * nbody->eps),
    };
    const dim3 grid((unsigned)ceil_div(last - first, (int64_t)v->tile * v->per_thread),
                    (unsigned)m->plan.split);
    return sim_launch(nbody->device, "computing gravity",
                      m->guarded ? v->guarded : v->plain, grid, dim3((unsigned)v->tile),
                      0, args);
}

/* A large system's targets are cut into launches of a slice each. */
static enum sim_status add_force(struct march *m)
{
    const int64_t n = m->nbody->n;
    const int64_t group = (int64_t)m->plan.variant->tile * m->plan.variant->per_thread *
                          m->nbody->device->multiprocessors;
    const int64_t targets =
        std::max<int64_t>(1, (int64_t)(SLICE / (double)n / group)) * group;
    SIM_TRY(flush(m));
    for (int64_t first = 0; first < n; first += targets) {
        const int64_t last = std::min(first + targets, n);
        SIM_TRY(launch_force(m, first, last));
        m->queued += (double)(last - first) * (double)n / SLICE;
        if (m->queued >= 1.0)
            SIM_TRY(set_mark(m));
    }
    m->body.finish = true;
    return SIM_OK;
}

static enum sim_status take_steps(struct march *m, const struct sim_stage *stages,
                                  int count, int64_t steps)
{
    for (int64_t step = 0; step < steps; step++) {
        SIM_TRY(sim_check_interrupt());
        for (int s = 0; s < count; s++)
            SIM_TRY(stages[s].kind == SIM_FORCE ? add_force(m) : add_push(m, &stages[s]));
        m->queued += 1.0 / STEPS_A_SLICE;
    }
    return flush(m);
}

static enum sim_status begin(struct sim_nbody *nbody, struct march *m)
{
    size_t bytes;
    SIM_TRY(sim_nbody_check_eps(nbody->eps, sizeof(real) == 8));
    SIM_TRY(make_plan(nbody, &m->plan));
    SIM_TRY(sim_size_multiply((size_t)nbody->n, m->plan.split * sizeof(struct sim_real4),
                              "the workspace of gravity", &bytes));
    SIM_TRY(sim_nbody_scratch(nbody, bytes + SIM_NBODY_KEPT));
    char *scratch = (char *)nbody->scratch.data;
    const bool softened = (real)(nbody->eps * nbody->eps) > 0;
    m->nbody = nbody;
    m->guarded = nbody->eps < NBODY_SAFE_EPS;
    m->body.position = (struct sim_real4 *)nbody->position;
    m->body.velocity = (struct sim_real4 *)nbody->velocity;
    m->body.acceleration = (struct sim_real4 *)nbody->acceleration;
    m->body.partial = (const struct sim_real4 *)(scratch + SIM_NBODY_KEPT);
    m->body.least = softened ? NULL : (unsigned long long *)scratch;
    m->body.n = nbody->n;
    m->body.split = m->plan.split;
    m->body.charge = nbody->coupling == SIM_CHARGE;
    m->body.G = (real)nbody->G;
    return SIM_OK;
}

static enum sim_status advance_cuda(struct sim_nbody *nbody,
                                    const struct sim_stage *stages, int stage_count,
                                    int64_t steps)
{
    struct march m = {};
    SIM_TRY(begin(nbody, &m));
    enum sim_status status = take_steps(&m, stages, stage_count, steps);
    for (int k = 0; k < std::min(m.marks, MARKS); k++)
        cudaEventDestroy(m.mark[k]);
    return status;
}

static const struct sim_nbody_ops ops = {
    sizeof(real) == 8 ? "cuda double" : "cuda single",
    sizeof(real),
    advance_cuda,
    nbody_sums_cuda,
    nbody_potential_cuda,
    nbody_radii_cuda,
    nbody_check_cuda,
    nbody_centre_cuda,
};

#ifdef SIM_DOUBLE
extern "C" const struct sim_nbody_ops *sim_nbody_ops_cuda_f64(void)
{
    return &ops;
}
#else
extern "C" const struct sim_nbody_ops *sim_nbody_ops_cuda_f64(void);
extern "C" const struct sim_nbody_ops *sim_nbody_ops_cuda(bool is_double)
{
    return is_double ? sim_nbody_ops_cuda_f64() : &ops;
}
#endif
