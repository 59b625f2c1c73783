/* nbody_cuda.cu - all-pairs gravity on a GPU: which kernel for which size, and the loop
 * over the stages of a step.
 *
 * Three ways to meet the pairs. Plain (nbody_cuda_force.cuh): a body meets all others.
 * Symmetric (nbody_cuda_pairs.cu): a pair is computed once for both; large systems. Both
 * leave sums in rows, and one kernel (nbody_cuda_push.cu) adds these in a fixed order,
 * scales them to accelerations and runs all kicks and drifts up to the next force
 * evaluation, also those of the next step: two launches a force, three where the total
 * momentum is held. Resident (nbody_cuda_resident.cu): many steps a launch; small
 * systems. A body's operations and their order are the same however they
 * are fused, so the bits do not depend on how many steps are asked for at once. */
#include "nbody_cuda_force.cuh"
#include "nbody_cuda_push.cuh"

#include <algorithm>
#include <stdio.h>

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
 * are aimed at by splitting the sources. Measured on an H200 in single precision, kick-
 * drift-kick steps, in 1e11 interactions/s, over tiles 64, 128, 256, 1 to 8 bodies a
 * thread and 1 to 64 splits: 1,024 bodies 1.23 (64/1, split 16), 4,096 9.6 (256/1, split
 * 16), 16,384 18.2 (256/8, split 32), 65,536 19.8 (256/8, split 16). */
static const struct {
    int64_t up_to;
    int tile, per_thread, blocks;
} defaults[] = {
    {2048, 64, 1, 2},   {6144, 256, 1, 2},   {12288, 256, 4, 2},
    {32768, 256, 8, 2}, {131072, 256, 8, 4}, {INT64_MAX, 256, 8, 8},
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

/* The one shape of general softening. */
static const struct variant soft_variant = {NBODY_SOFT_TILE, 1, 8, NULL, NULL};

static enum sim_status find_variant(const struct sim_nbody *nbody, int tile,
                                    int per_thread, const struct variant **found)
{
    const struct sim_nbody_tuning *forced = &nbody->tuning;
    const struct sim_nbody_tuning wanted = {
        forced->tile ? forced->tile : tile, 0,
        forced->per_thread ? forced->per_thread : per_thread, 0, SIM_PAIRS_AUTO};
    *found = NULL;
    if (sim_nbody_is_general(nbody)) {
        if (!matches(&soft_variant, forced))
            return sim_fail(SIM_BAD_ARGUMENT,
                            "softening by group or by the spline has one kernel: leave "
                            "out tile, per_thread and unroll");
        *found = &soft_variant;
        return SIM_OK;
    }
    for (const struct variant &v : variants)
        if (matches(&v, forced) && (!*found || matches(&v, &wanted)))
            *found = &v;
    return *found ? SIM_OK : no_such_variant(forced);
}

/* The default row with what the script forces in place of its choices. */
static enum sim_status make_plan(const struct sim_nbody *nbody, struct plan *plan)
{
    const struct sim_nbody_tuning *forced = &nbody->tuning;
    auto row = defaults;
    while (nbody->n > row->up_to)
        row++;
    SIM_TRY(find_variant(nbody, row->tile, row->per_thread, &plan->variant));
    if (forced->split < 0 || forced->split > SPLIT_MAX)
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
    enum sim_pairs by;
    struct plan plan;         /* plain */
    struct nbody_pairs pairs; /* symmetric */
    void *space;              /* workspace behind the kept part */
    struct body_args body;    /* pushes gathered up to the next force */
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
    SIM_TRY(nbody_push_bodies(m->nbody->device, *b,
                              b->finish && m->by == SIM_PAIRS_SYMMETRIC));
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
    b->push[b->pushes].grain =
        (real)(s->kind == SIM_DRIFT ? m->nbody->grain_x : m->nbody->grain_v);
    b->pushes++;
    return SIM_OK;
}

/* Wait for the mark that is to be set anew, looking at the interrupt flag. */
static enum sim_status wait_mark(struct sim_device *device, cudaEvent_t mark)
{
    const struct timespec nap = {0, 100000};
    cudaError_t state;
    while ((state = cudaEventQuery(mark)) == cudaErrorNotReady) {
        cudaGetLastError(); /* it is none, but the next launch might report it */
        SIM_TRY(sim_check_interrupt());
        nanosleep(&nap, NULL);
    }
    return sim_cuda_status(device, state, "computing gravity");
}

static enum sim_status make_mark(struct sim_device *device, cudaEvent_t *mark)
{
    cudaError_t error = cudaEventCreateWithFlags(mark, cudaEventDisableTiming);
    return error == cudaSuccess ? SIM_OK
                                : sim_cuda_stopped(device, error, "making an event");
}

static enum sim_status set_mark(struct march *m)
{
    struct sim_device *device = m->nbody->device;
    cudaEvent_t *mark = &m->mark[m->marks % MARKS];
    if (m->marks >= MARKS)
        SIM_TRY(wait_mark(device, *mark));
    else
        SIM_TRY(make_mark(device, mark));
    m->marks++;
    m->queued = 0;
    cudaError_t error = cudaEventRecord(*mark, sim_stream(device));
    return error == cudaSuccess ? SIM_OK
                                : sim_cuda_stopped(device, error, "recording an event");
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
    if (sim_nbody_is_general(nbody))
        return nbody_soft_force(nbody, args, grid);
    return sim_launch(nbody->device, "computing gravity",
                      m->guarded ? v->guarded : v->plain, grid, dim3((unsigned)v->tile),
                      0, args);
}

/* A large system's targets are cut into launches of a slice each. */
static enum sim_status plain_force(struct march *m)
{
    const int64_t n = m->nbody->n;
    const int64_t group = (int64_t)m->plan.variant->tile * m->plan.variant->per_thread *
                          m->nbody->device->multiprocessors;
    const int64_t targets =
        std::max<int64_t>(1, (int64_t)(SLICE / (double)n / (double)group)) * group;
    for (int64_t first = 0; first < n; first += targets) {
        const int64_t last = std::min(first + targets, n);
        SIM_TRY(launch_force(m, first, last));
        m->queued += (double)(last - first) * (double)n / SLICE;
        if (m->queued >= 1.0)
            SIM_TRY(set_mark(m));
    }
    return SIM_OK;
}

static enum sim_status symmetric_force(struct march *m)
{
    const double n = (double)m->nbody->n;
    for (int pass = 0; pass < m->pairs.passes; pass++) {
        SIM_TRY(nbody_pairs_pass(m->nbody, &m->pairs, m->space, pass, &m->body.rows));
        m->queued += n * n / m->pairs.passes / (2 * SLICE);
        if (m->queued >= 1.0)
            SIM_TRY(set_mark(m));
    }
    return SIM_OK;
}

static enum sim_status add_force(struct march *m)
{
    SIM_TRY(flush(m));
    SIM_TRY(m->by == SIM_PAIRS_SYMMETRIC ? symmetric_force(m) : plain_force(m));
    m->body.finish = true;
    return SIM_OK;
}

static enum sim_status add_merge(struct march *m)
{
    SIM_TRY(flush(m));
    return nbody_merge_cuda(m->nbody, NULL, m->space);
}

static enum sim_status add_stage(struct march *m, const struct sim_stage *s)
{
    if (s->kind == SIM_FORCE)
        return add_force(m);
    return s->kind == SIM_MERGE ? add_merge(m) : add_push(m, s);
}

static enum sim_status take_steps(struct march *m, const struct sim_stage *stages,
                                  int count, int64_t steps)
{
    for (int64_t step = 0; step < steps; step++) {
        SIM_TRY(sim_check_interrupt());
        for (int s = 0; s < count; s++)
            SIM_TRY(add_stage(m, &stages[s]));
        m->queued += 1.0 / STEPS_A_SLICE;
    }
    return flush(m);
}

/* As many steps a launch as last about 10 ms on a large GPU. */
static enum sim_status take_resident_steps(struct march *m,
                                           const struct sim_stage *stages, int count,
                                           int64_t steps)
{
    double seconds = 1e-7;
    const double n = (double)m->nbody->n;
    for (int s = 0; s < count; s++)
        if (stages[s].kind == SIM_FORCE)
            seconds += 3e-6 + n * n / 1.5e12;
    const int64_t most = std::max<int64_t>(1, (int64_t)(0.01 / seconds));
    for (int64_t step = 0; step < steps; step += most) {
        SIM_TRY(sim_check_interrupt());
        const int64_t now = std::min(most, steps - step);
        SIM_TRY(nbody_resident_run(m->nbody, stages, count, now));
        m->queued += (double)now * seconds / 0.01;
        if (m->queued >= 1.0)
            SIM_TRY(set_mark(m));
    }
    return SIM_OK;
}

/* Up to here the resident kernel is chosen, from here on symmetric pairs. Measured on an
 * H200, microseconds a step, resident and symmetric: single 6,144 bodies 23.4 and 28.2;
 * double 2,048 bodies 12.9 and 28.7, 4,096 bodies 37.7 and 29.9. */
#define RESIDENT_UP_TO (sizeof(real) == 8 ? 3072 : 6144)

/* What the script asks for, else what is fastest. */
static enum sim_status choose(const struct sim_nbody *nbody, int stage_count,
                              enum sim_pairs *by)
{
    const struct sim_nbody_tuning *t = &nbody->tuning;
    const bool general = sim_nbody_is_general(nbody);
    const bool softened = (real)(nbody->eps * nbody->eps) > 0;
    const bool holds = nbody->momentum_unit > 0;
    const bool scalable = softened && !nbody->wide;
    const bool fits =
        nbody->merge_distance == 0 && !holds && nbody_resident_fits(nbody, stage_count);
    *by = general && t->pairs == SIM_PAIRS_AUTO ? SIM_PAIRS_PLAIN : t->pairs;
    if (general && *by != SIM_PAIRS_PLAIN)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "symmetric and resident pairs know one Plummer softening for "
                        "all; use pairs = \"plain\"");
    if (*by == SIM_PAIRS_SYMMETRIC && !softened && nbody->mixed)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "symmetric pairs in mixed precision need a softening above 0; "
                        "use pairs = \"plain\"");
    if (*by == SIM_PAIRS_SYMMETRIC && softened && nbody->wide)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "symmetric pairs: masses above 1e18 or distances beyond 1e17 "
                        "softening lengths leave single precision; use other units or "
                        "pairs = \"plain\"");
    if (*by == SIM_PAIRS_RESIDENT && holds)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "resident pairs do not hold the total momentum as mixed "
                        "precision does; use pairs = \"plain\" or \"symmetric\"");
    if (*by == SIM_PAIRS_RESIDENT &&
        (!fits || t->tile || t->per_thread || t->unroll || t->split)) {
        SIM_TRY(sim_cuda_alive(nbody->device));
        return sim_fail(
            SIM_BAD_ARGUMENT,
            "pairs = \"resident\" takes no tile, per_thread, unroll or split, "
            "no merging, at most 64 stages a step, and systems that fit a "
            "multiprocessor's shared memory: %lld bodies do not fit %s",
            (long long)nbody->n, nbody->device->name);
    }
    if (*by != SIM_PAIRS_AUTO)
        return SIM_OK;
    if (t->tile || t->per_thread || t->unroll || t->split)
        *by = SIM_PAIRS_PLAIN;
    else if (fits && nbody->n <= RESIDENT_UP_TO)
        *by = SIM_PAIRS_RESIDENT;
    else
        *by = scalable ? SIM_PAIRS_SYMMETRIC : SIM_PAIRS_PLAIN;
    return SIM_OK;
}

/* Plan, the bytes of its sums, and what holding the momentum needs behind them. */
static enum sim_status make_room(struct sim_nbody *nbody, struct march *m)
{
    size_t bytes = 0, merging = 0;
    if (nbody->merge_distance > 0)
        SIM_TRY(sim_nbody_merge_bytes(nbody->n, &merging));
    if (m->by == SIM_PAIRS_PLAIN) {
        SIM_TRY(make_plan(nbody, &m->plan));
        SIM_TRY(sim_size_multiply((size_t)nbody->n,
                                  (size_t)m->plan.split * sizeof(struct sim_real4),
                                  "the workspace of gravity", &bytes));
    } else if (m->by == SIM_PAIRS_SYMMETRIC) {
        SIM_TRY(nbody_pairs_plan(nbody, &m->pairs));
        bytes = nbody_pairs_bytes(&m->pairs);
    }
    bytes = (std::max(bytes, merging) + 15) / 16 * 16;
    SIM_TRY(
        sim_nbody_scratch(nbody, SIM_NBODY_KEPT + bytes + sizeof(struct nbody_residue)));
    if (nbody->momentum_unit == 0)
        return SIM_OK;
    m->body.hold = nbody_hold_of(nbody);
    m->body.residue =
        (struct nbody_residue *)((char *)nbody->scratch.data + SIM_NBODY_KEPT + bytes);
    return nbody->device->ops->fill(nbody->device, m->body.residue, 0,
                                    sizeof *m->body.residue);
}

static enum sim_status begin(struct sim_nbody *nbody, int stage_count, struct march *m)
{
    SIM_TRY(sim_nbody_check_eps(nbody->eps, sizeof(real) == 8));
    SIM_TRY(choose(nbody, stage_count, &m->by));
    SIM_TRY(make_room(nbody, m));
    char *scratch = (char *)nbody->scratch.data;
    const bool softened = (real)(nbody->eps * nbody->eps) > 0;
    m->nbody = nbody;
    m->space = scratch + SIM_NBODY_KEPT;
    m->guarded = nbody->eps < NBODY_SAFE_EPS;
    m->body.position = (struct sim_real4 *)nbody->position;
    m->body.velocity = (struct sim_real4 *)nbody->velocity;
    m->body.acceleration = (struct sim_real4 *)nbody->acceleration;
    m->body.partial = (const struct sim_real4 *)m->space;
    const bool merging = nbody->merge_distance > 0;
    const bool may_meet = !softened || sim_nbody_is_general(nbody);
    m->body.least = !may_meet || merging ? NULL : (unsigned long long *)scratch;
    m->body.group = merging ? nbody->group : NULL;
    m->body.n = nbody->n;
    m->body.split = m->plan.split;
    m->body.charge = nbody->coupling == SIM_CHARGE;
    m->body.G = (real)nbody->G;
    m->body.running = m->pairs.passes > 1 ? (const double *)m->space : NULL;
    m->body.k = nbody->G * m->pairs.scale * m->pairs.scale;
    return SIM_OK;
}

static enum sim_status advance_cuda(struct sim_nbody *nbody,
                                    const struct sim_stage *stages, int stage_count,
                                    int64_t steps)
{
    struct march m = {};
    SIM_TRY(begin(nbody, stage_count, &m));
    enum sim_status status = m.by == SIM_PAIRS_RESIDENT
                                 ? take_resident_steps(&m, stages, stage_count, steps)
                                 : take_steps(&m, stages, stage_count, steps);
    for (int k = 0; k < std::min(m.marks, MARKS); k++)
        cudaEventDestroy(m.mark[k]);
    return status;
}

/* --- what is taken, for a table --------------------------------------------------------
 */

/* What the compiler and the driver say of a kernel with out->threads a block, and
 * out->shared bytes asked for at the launch. */
static enum sim_status ask_resources(struct sim_device *device, const void *kernel,
                                     struct sim_nbody_kernel *out)
{
    const char *doing = "asking about a kernel";
    struct cudaFuncAttributes of;
    int blocks = 0, most = 0;
    SIM_TRY(sim_cuda_status(device, cudaFuncGetAttributes(&of, kernel), doing));
    SIM_TRY(sim_cuda_status(device,
                            cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                                &blocks, kernel, out->threads, (size_t)out->shared),
                            doing));
    SIM_TRY(sim_cuda_status(device,
                            cudaDeviceGetAttribute(&most,
                                                   cudaDevAttrMaxThreadsPerMultiProcessor,
                                                   device->index),
                            doing));
    out->registers = of.numRegs;
    out->shared += (int)of.sharedSizeBytes;
    out->occupancy = (double)blocks * out->threads / most;
    return SIM_OK;
}

/* The plain kernel of a plan. */
static const void *tell_plain(const struct sim_nbody *nbody, const struct plan *plan,
                              struct sim_nbody_kernel *out)
{
    const struct variant *v = plan->variant;
    out->threads = out->tile = v->tile;
    out->unroll = v->unroll;
    out->per_thread = v->per_thread;
    out->split = plan->split;
    if (sim_nbody_is_general(nbody))
        return nbody_soft_kernel(nbody);
    return (const void *)(nbody->eps < NBODY_SAFE_EPS ? v->guarded : v->plain);
}

static enum sim_status describe_cuda(const struct sim_nbody *nbody, int stage_count,
                                     struct sim_nbody_kernel *out)
{
    const void *kernel;
    struct plan plan;
    struct nbody_pairs pairs;
    *out = {};
    SIM_TRY(choose(nbody, stage_count, &out->pairs));
    if (out->pairs == SIM_PAIRS_RESIDENT) {
        kernel = nbody_resident_tell(nbody, out);
    } else if (out->pairs == SIM_PAIRS_SYMMETRIC) {
        SIM_TRY(nbody_pairs_plan(nbody, &pairs));
        kernel = nbody_pairs_tell(nbody, &pairs, out);
    } else {
        SIM_TRY(make_plan(nbody, &plan));
        kernel = tell_plain(nbody, &plan, out);
    }
    return ask_resources(nbody->device, kernel, out);
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
    nbody_hermite_cuda,
    describe_cuda,
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
