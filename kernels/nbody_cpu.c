/* nbody_cpu.c - all-pairs gravity on the CPU: the table of operations, and the loop over
 * the stages of a step.
 *
 * Scheme: the stages that src/bodies.c gives (kick-drift-kick leapfrog, Verlet 1967).
 * Kicks and drifts are nbody_push a component; the force is nbody_cpu_force.c. Results do
 * not depend on the number of threads: every body is computed by one lane. */
#include "nbody_cpu.h"
#include "nbody_soft_math.h"

/* Below this a parallel loop costs more than it gives. */
#define PARALLEL_FROM 16384

/* to += h * rate, three components: v += h a, or x += h v (w, the mass, stays). Where
 * bodies merge, those that are gone stay. */
static enum sim_status push(struct sim_nbody *nbody, void *to, const void *rate,
                            double h_exact, double exact_grain)
{
    struct sim_real4 *x = to;
    const struct sim_real4 *v = rate;
    const real h = (real)h_exact, grain = (real)exact_grain;
    const uint8_t *group = nbody->merge_distance > 0 ? nbody->group : NULL;
#pragma omp parallel for num_threads(nbody->device->threads) if (nbody->n >= \
                                                                 PARALLEL_FROM)
    for (int64_t i = 0; i < nbody->n; i++) {
        if (group && group[i] == SIM_GONE)
            continue;
        x[i].x = nbody_push(x[i].x, h, v[i].x, grain);
        x[i].y = nbody_push(x[i].y, h, v[i].y, grain);
        x[i].z = nbody_push(x[i].z, h, v[i].z, grain);
    }
    return sim_device_launch(nbody->device, "moving bodies");
}

static const struct nbody_cpu_variant *best_variant(void)
{
    const struct nbody_cpu_variant *v = nbody_cpu_variants;
    while (!v->supported())
        v++;
    return v;
}

/* From here on symmetric pairs are faster with any number of bodies, those that fill up
 * the last block included, on one AVX2 core. In 1e9 interactions/s, plain and symmetric,
 * softened: single 2.4 and 4.4 at 1,024 bodies (2.8 at 1,025), 2.4 and 4.3 at 8,192;
 * double 0.81 and 1.60, 0.84 and 1.64. Without softening: single 1.3 and 3.0 at both
 * sizes; double 0.64 and 1.31, 0.65 and 1.32. Below, blocks would be too few for many
 * threads. */
#define SYMMETRIC_FROM 1024

static bool symmetric(const struct sim_nbody *nbody)
{
    if (sim_nbody_is_general(nbody))
        return false;
    if (nbody->tuning.pairs == SIM_PAIRS_AUTO)
        return nbody->n >= SYMMETRIC_FROM;
    return nbody->tuning.pairs == SIM_PAIRS_SYMMETRIC;
}

/* Each body's own softness, in the workspace. */
static void fill_softness(struct sim_nbody *nbody, struct nbody_force *args)
{
    real table[UINT8_MAX + 1];
    real *softness = (real *)((char *)nbody->scratch.data + SIM_NBODY_KEPT);
    args->spline = nbody->softening == SIM_SPLINE;
    for (int g = 0; g <= UINT8_MAX; g++)
        table[g] = nbody_softness(nbody_eps_of(nbody, g), args->spline);
    for (int64_t i = 0; i < nbody->n; i++)
        softness[i] = table[nbody->group[i]];
    args->softness = softness;
}

static enum sim_status force(struct sim_nbody *nbody)
{
    struct nbody_force args = {
        .n = nbody->n,
        .position = nbody->position,
        .acceleration = nbody->acceleration,
        .eps2 = (real)(nbody->eps * nbody->eps),
        .guarded = nbody->eps < NBODY_SAFE_EPS,
        .charge = nbody->coupling == SIM_CHARGE,
        .G = (real)nbody->G,
    };
    uint64_t unsoftened = UINT64_MAX;
    if (sim_nbody_is_general(nbody))
        fill_softness(nbody, &args);
    args.least = (args.eps2 == 0 || args.softness) && nbody->merge_distance == 0
                     ? nbody->scratch.data
                     : &unsoftened;
    SIM_TRY(sim_device_launch(nbody->device, "computing gravity"));
    if (symmetric(nbody))
        return nbody_cpu_pairs(&args, 0, nbody->device->threads,
                               (char *)nbody->scratch.data + SIM_NBODY_KEPT);
    return nbody_cpu_force(&args, best_variant(), nbody->device->threads);
}

static enum sim_status merge(struct sim_nbody *nbody)
{
    bool any;
    return nbody_merge_cpu(nbody, NULL, (char *)nbody->scratch.data + SIM_NBODY_KEPT,
                           &any);
}

static enum sim_status stage(struct sim_nbody *nbody, const struct sim_stage *s)
{
    switch (s->kind) {
    case SIM_KICK:
        if (nbody->momentum_unit > 0)
            return nbody_kick_held_cpu(nbody, s->coefficient * nbody->dt);
        return push(nbody, nbody->velocity, nbody->acceleration,
                    s->coefficient * nbody->dt, nbody->grain_v);
    case SIM_DRIFT:
        return push(nbody, nbody->position, nbody->velocity, s->coefficient * nbody->dt,
                    nbody->grain_x);
    case SIM_FORCE:
        return force(nbody);
    case SIM_MERGE:
        return merge(nbody);
    }
    return SIM_OK;
}

static enum sim_status check_tuning(const struct sim_nbody *nbody)
{
    const struct sim_nbody_tuning *t = &nbody->tuning;
    if (t->tile || t->unroll || t->per_thread || t->split ||
        t->pairs == SIM_PAIRS_RESIDENT)
        return sim_fail(
            SIM_BAD_ARGUMENT,
            "tile, unroll, per_thread, split and pairs = \"resident\" choose "
            "between the kernels of a CUDA device; on the CPU leave them out");
    if (t->pairs == SIM_PAIRS_SYMMETRIC && sim_nbody_is_general(nbody))
        return sim_fail(SIM_BAD_ARGUMENT, "symmetric pairs know one Plummer softening "
                                          "for all; use pairs = \"plain\"");
    return SIM_OK;
}

/* What a stage needs behind the kept part of the workspace. */
static enum sim_status stage_bytes(const struct sim_nbody *nbody,
                                   const struct sim_stage *s, size_t *bytes)
{
    *bytes = 0;
    if (s->kind == SIM_MERGE)
        return sim_nbody_merge_bytes(nbody->n, bytes);
    if (s->kind == SIM_FORCE && sim_nbody_is_general(nbody))
        return sim_size_multiply((size_t)nbody->n, sizeof(real),
                                 "the workspace of gravity", bytes);
    if (s->kind == SIM_FORCE && symmetric(nbody))
        *bytes = nbody_cpu_pairs_bytes(nbody->n);
    return SIM_OK;
}

/* For all stages: want of memory must not end a step halfway. */
static enum sim_status make_room(struct sim_nbody *nbody, const struct sim_stage *stages,
                                 int stage_count)
{
    size_t bytes, most = 0;
    for (int s = 0; s < stage_count; s++) {
        SIM_TRY(stage_bytes(nbody, &stages[s], &bytes));
        most = bytes > most ? bytes : most;
    }
    return sim_nbody_scratch(nbody, SIM_NBODY_KEPT + most);
}

static enum sim_status advance_cpu(struct sim_nbody *nbody,
                                   const struct sim_stage *stages, int stage_count,
                                   int64_t steps)
{
    SIM_TRY(check_tuning(nbody));
    SIM_TRY(sim_nbody_check_eps(nbody->eps, sizeof(real) == 8));
    SIM_TRY(make_room(nbody, stages, stage_count));
    for (int64_t step = 0; step < steps; step++) {
        SIM_TRY(sim_check_interrupt());
        for (int s = 0; s < stage_count; s++)
            SIM_TRY(stage(nbody, &stages[s]));
    }
    return SIM_OK;
}

static enum sim_status describe_cpu(const struct sim_nbody *nbody, int stage_count,
                                    struct sim_nbody_kernel *out)
{
    (void)stage_count;
    SIM_TRY(check_tuning(nbody));
    *out = (struct sim_nbody_kernel){.pairs = symmetric(nbody) ? SIM_PAIRS_SYMMETRIC
                                                               : SIM_PAIRS_PLAIN};
    return SIM_OK;
}

#define nbody_ops_cpu SIM_TYPED(sim_nbody_ops_cpu)
const struct sim_nbody_ops nbody_ops_cpu = {
    .name = sizeof(real) == 8 ? "cpu double" : "cpu single",
    .real_bytes = sizeof(real),
    .advance = advance_cpu,
    .sums = nbody_sums_cpu,
    .potential = nbody_potential_cpu,
    .radii = nbody_radii_cpu,
    .check = nbody_check_cpu,
    .centre = nbody_centre_cpu,
    .hermite = nbody_hermite_cpu,
    .describe = describe_cpu,
};
