/* nbody_cpu_diag.c - energies, momenta, radii and the look for NaN on the CPU.
 *
 * Sums are in double over chunks of 1,024 bodies, each chunk in ascending order in a slot
 * of its own, the slots in ascending order: the same bits for any number of threads. The
 * potential visits each pair once. Equations: nbody_math.h, contracts: nbody.h. */
#include "nbody_cpu.h"
#include "nbody_soft_math.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK 1024

static int64_t chunks_of(int64_t n)
{
    return (n + CHUNK - 1) / CHUNK;
}

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static bool selected(const struct sim_nbody *nbody, uint64_t groups, int64_t i)
{
    return nbody->group[i] < SIM_GROUPS_MAX && (groups >> nbody->group[i] & 1);
}

/* count * size bytes of workspace behind the kept part. */
static enum sim_status slots(struct sim_nbody *nbody, int64_t count, size_t size,
                             void **out)
{
    size_t bytes;
    SIM_TRY(sim_size_multiply((size_t)count, size, "the workspace of gravity", &bytes));
    SIM_TRY(sim_nbody_scratch(nbody, bytes + SIM_NBODY_KEPT));
    SIM_TRY(sim_device_launch(nbody->device, "measuring bodies"));
    *out = (char *)nbody->scratch.data + SIM_NBODY_KEPT;
    return SIM_OK;
}

static void add_chunk(const struct sim_nbody *nbody, uint64_t groups, int64_t chunk,
                      double *sums)
{
    const struct sim_real4 *x = nbody->position, *v = nbody->velocity;
    const struct nbody_hold hold = nbody_hold_of(nbody);
    const int64_t last = least_of((chunk + 1) * CHUNK, nbody->n);
    memset(sums, 0, NBODY_SUMS * sizeof *sums);
    for (int64_t i = chunk * CHUNK; i < last; i++)
        if (selected(nbody, groups, i))
            nbody_add_body(sums, &hold, x[i], v[i], nbody_inertia(&hold, (double)x[i].w));
}

static enum sim_status raw_sums(struct sim_nbody *nbody, uint64_t groups,
                                double raw[NBODY_SUMS])
{
    const int64_t chunks = chunks_of(nbody->n);
    void *space;
    SIM_TRY(slots(nbody, chunks, NBODY_SUMS * sizeof(double), &space));
    double *partial = space;
#pragma omp parallel for num_threads(nbody->device->threads) if (chunks > 8)
    for (int64_t c = 0; c < chunks; c++)
        add_chunk(nbody, groups, c, partial + c * NBODY_SUMS);
    memset(raw, 0, NBODY_SUMS * sizeof *raw);
    for (int64_t c = 0; c < chunks; c++)
        for (int k = 0; k < NBODY_SUMS; k++)
            raw[k] += partial[c * NBODY_SUMS + k];
    return SIM_OK;
}

enum sim_status nbody_sums_cpu(struct sim_nbody *nbody, uint64_t groups,
                               struct sim_nbody_sums *out)
{
    double raw[NBODY_SUMS];
    SIM_TRY(raw_sums(nbody, groups, raw));
    sim_nbody_sums_finish(nbody, raw, out);
    return SIM_OK;
}

enum sim_status nbody_centre_cpu(struct sim_nbody *nbody, uint64_t groups, void *out)
{
    double raw[NBODY_SUMS], *centre = out;
    SIM_TRY(raw_sums(nbody, groups, raw));
    for (int k = 0; k < 3; k++)
        centre[k] = nbody_centre(raw, k);
    return SIM_OK;
}

/* --- potential -------------------------------------------------------------------------
 */

#define LANES 8 /* target bodies whose partners are met together */

/* sum over LANES bodies i and partners first <= j < n of m_i m_j / sqrt(r^2 + eps^2). A
 * pair at distance zero without softening exerts no force and holds no energy. */
static double pairs_beyond(const struct sim_nbody *nbody, int64_t i, int64_t first)
{
    const struct sim_real4 *p = nbody->position;
    const double eps2 = nbody->eps * nbody->eps;
    double phi[LANES] = {0}, sum = 0;
    for (int64_t j = first; j < nbody->n; j++) {
        const double x = p[j].x, y = p[j].y, z = p[j].z, m = p[j].w;
#pragma omp simd
        for (int l = 0; l < LANES; l++) {
            double r2 = nbody_distance2(p[i + l], x, y, z) + eps2;
            phi[l] += r2 > 0.0 ? m / sqrt(r2) : 0.0;
        }
    }
    for (int l = 0; l < LANES; l++)
        sum += phi[l] * p[i + l].w;
    return sum;
}

/* The same where softening is general, for i and j > i. */
static double pairs_softened(const struct sim_nbody *nbody, int64_t i)
{
    const struct sim_real4 *p = nbody->position;
    const double eps = nbody_eps_of(nbody, nbody->group[i]);
    double phi = 0;
    for (int64_t j = i + 1; j < nbody->n; j++)
        phi +=
            p[j].w * nbody_soft_potential(nbody_distance2(p[i], p[j].x, p[j].y, p[j].z),
                                          eps, nbody_eps_of(nbody, nbody->group[j]),
                                          nbody->softening == SIM_SPLINE);
    return phi * p[i].w;
}

/* The pairs among bodies first <= i < j < last. */
static double pairs_within(const struct sim_nbody *nbody, int64_t first, int64_t last)
{
    const struct sim_real4 *p = nbody->position;
    double sum = 0;
    for (int64_t i = first; i < last; i++)
        for (int64_t j = i + 1; j < last; j++) {
            double r2 =
                nbody_distance2(p[i], p[j].x, p[j].y, p[j].z) + nbody->eps * nbody->eps;
            sum += r2 > 0.0 ? (double)p[i].w * p[j].w / sqrt(r2) : 0.0;
        }
    return sum;
}

enum sim_status nbody_potential_cpu(struct sim_nbody *nbody, double *out)
{
    const int64_t blocks = (nbody->n + LANES - 1) / LANES;
    const bool general = sim_nbody_is_general(nbody);
    void *space;
    SIM_TRY(slots(nbody, blocks, sizeof(double), &space));
    double *partial = space, sum = 0;
#pragma omp parallel for schedule(dynamic, 4) num_threads(nbody->device->threads)
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t first = b * LANES, last = least_of(first + LANES, nbody->n);
        partial[b] = 0;
        if (sim_interrupt_signal())
            continue;
        for (int64_t i = first; i < last && general; i++)
            partial[b] += pairs_softened(nbody, i);
        if (general)
            continue;
        partial[b] = pairs_within(nbody, first, last);
        if (last < nbody->n)
            partial[b] += pairs_beyond(nbody, first, last);
    }
    SIM_TRY(sim_check_interrupt());
    for (int64_t b = 0; b < blocks; b++)
        sum += partial[b];
    *out = (nbody->coupling == SIM_CHARGE ? nbody->G : -nbody->G) * sum;
    return SIM_OK;
}

/* --- radii -----------------------------------------------------------------------------
 */

struct shell {
    double r2, mass;
    int64_t index; /* bodies at one distance keep their order */
};

static int by_distance(const void *left, const void *right)
{
    const struct shell *a = left, *b = right;
    if (a->r2 != b->r2)
        return a->r2 < b->r2 ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* The selected bodies by distance; `mass` becomes the sum up to and including each. */
static int64_t make_shells(const struct sim_nbody *nbody, uint64_t groups,
                           const double centre[3], struct shell *shells)
{
    const struct sim_real4 *x = nbody->position;
    int64_t count = 0;
    double sum = 0;
    for (int64_t i = 0; i < nbody->n; i++)
        if (selected(nbody, groups, i)) {
            double m = nbody->coupling == SIM_CHARGE ? 1.0 : (double)x[i].w;
            double r2 = nbody_distance2(x[i], centre[0], centre[1], centre[2]);
            shells[count++] = (struct shell){r2, m, i};
            sum += m;
        }
    qsort(shells, (size_t)count, sizeof *shells, by_distance);
    double up_to = 0;
    for (int64_t k = 0; k < count; k++) {
        up_to += sum > 0.0 ? shells[k].mass : 1.0;
        shells[k].mass = up_to;
    }
    return count;
}

enum sim_status nbody_radii_cpu(struct sim_nbody *nbody, uint64_t groups,
                                const double *centre, const double *fractions, int count,
                                double *out)
{
    void *space;
    SIM_TRY(slots(nbody, nbody->n, sizeof(struct shell), &space));
    struct shell *shells = space;
    const int64_t found = make_shells(nbody, groups, centre, shells);
    for (int f = 0; f < count; f++) {
        int64_t k = 0;
        while (k < found - 1 && shells[k].mass < fractions[f] * shells[found - 1].mass)
            k++;
        out[f] = found ? sqrt(shells[k].r2) : 0.0;
    }
    return SIM_OK;
}

/* --- NaN -------------------------------------------------------------------------------
 */

enum sim_status nbody_check_cpu(struct sim_nbody *nbody, void *out)
{
    const struct sim_real4 *x = nbody->position, *v = nbody->velocity;
    int64_t bad = INT64_MAX;
    SIM_TRY(sim_nbody_scratch(nbody, SIM_NBODY_KEPT));
    SIM_TRY(sim_device_launch(nbody->device, "checking bodies"));
#pragma omp parallel for num_threads(nbody->device->threads) reduction(min : bad)
    for (int64_t i = 0; i < nbody->n; i++)
        if (!nbody_finite(x[i]) || !nbody_finite(v[i]))
            bad = i < bad ? i : bad;
    const uint64_t met = *(const uint64_t *)nbody->scratch.data;
    *(struct sim_nbody_check *)out =
        (struct sim_nbody_check){bad, met < INT64_MAX ? (int64_t)met : INT64_MAX};
    return SIM_OK;
}
