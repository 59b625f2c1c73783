/* nbody_cuda_diag.cu - energies, momenta, radii and the look for NaN on the GPU.
 *
 * All sums are in double and of fixed order (reduce.cuh): the number of blocks depends on
 * n alone, a thread adds in ascending order, a block by a halving tree, the blocks'
 * totals lie in slots that one block adds. The potential meets each pair from both sides
 * and halves. Radii are found by bisection on the bits of r^2, all fractions together,
 * without a sort. Equations: nbody_math.h, contracts: nbody.h. */
#include "nbody_cuda.h"
#include "reduce.cuh"

#include <algorithm>

#define BLOCK      256
#define BLOCKS_MAX 512
#define RADII_MAX  64 /* fractions searched at once */

static int blocks_for(int64_t n)
{
    return (int)std::min<int64_t>((n + BLOCK - 1) / BLOCK, BLOCKS_MAX);
}

/* count * size bytes of workspace behind the kept part. */
static enum sim_status slots(struct sim_nbody *nbody, int64_t count, size_t size,
                             char **out)
{
    size_t bytes;
    SIM_TRY(sim_size_multiply((size_t)count, size, "the workspace of gravity", &bytes));
    SIM_TRY(sim_nbody_scratch(nbody, bytes + SIM_NBODY_KEPT));
    *out = (char *)nbody->scratch.data + SIM_NBODY_KEPT;
    return SIM_OK;
}

static enum sim_status read_slots(struct sim_nbody *nbody, const void *from, void *to,
                                  size_t bytes)
{
    const size_t offset =
        (size_t)((const char *)from - (const char *)nbody->scratch.data);
    return sim_buffer_read(&nbody->scratch, offset, to, bytes);
}

/* The bodies as the diagnostics see them. */
struct view {
    const struct sim_real4 *position, *velocity;
    const uint8_t *group;
    uint64_t groups;
    int64_t n;
    struct nbody_hold hold;
};

static struct view view_of(const struct sim_nbody *nbody, uint64_t groups)
{
    return {(const struct sim_real4 *)nbody->position,
            (const struct sim_real4 *)nbody->velocity,
            nbody->group,
            groups,
            nbody->n,
            nbody_hold_of(nbody)};
}

static __device__ bool selected(const struct view &b, int64_t i)
{
    return b.group[i] < SIM_GROUPS_MAX && (b.groups >> b.group[i] & 1);
}

/* --- sums ------------------------------------------------------------------------------
 */

/* total[k * gridDim.x + block] = the block's share of sum k */
static __global__ void __launch_bounds__(BLOCK) sums_kernel(struct view b, double *total)
{
    __shared__ double shared[BLOCK];
    double s[NBODY_SUMS];
    for (int k = 0; k < NBODY_SUMS; k++)
        s[k] = 0;
    for (int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x; i < b.n;
         i += (int64_t)gridDim.x * BLOCK)
        if (selected(b, i)) {
            const struct sim_real4 x = nbody_load(&b.position[i]);
            nbody_add_body(s, &b.hold, x, nbody_load(&b.velocity[i]),
                           nbody_inertia(&b.hold, (double)x.w));
        }
    for (int k = 0; k < NBODY_SUMS; k++) {
        const double sum = sim_block_sum<BLOCK>(s[k], shared);
        if (threadIdx.x == 0)
            total[k * gridDim.x + blockIdx.x] = sum;
    }
}

/* out[k] = the sum of slots total[k * count] and on: a block a sum */
static __global__ void __launch_bounds__(BLOCK)
    merge_kernel(const double *total, int count, double *out)
{
    __shared__ double shared[BLOCK];
    double s = 0;
    for (int b = threadIdx.x; b < count; b += BLOCK)
        s += total[(int64_t)blockIdx.x * count + b];
    s = sim_block_sum<BLOCK>(s, shared);
    if (threadIdx.x == 0)
        out[blockIdx.x] = s;
}

/* The raw sums, left on the device at *raw. */
static enum sim_status enqueue_sums(struct sim_nbody *nbody, uint64_t groups,
                                    double **raw)
{
    const int blocks = blocks_for(nbody->n);
    char *space;
    SIM_TRY(slots(nbody, NBODY_SUMS * (blocks + 1), sizeof(double), &space));
    double *total = (double *)space;
    *raw = total + NBODY_SUMS * blocks;
    SIM_TRY(sim_launch(nbody->device, "summing over bodies", sums_kernel, dim3(blocks),
                       dim3(BLOCK), 0, view_of(nbody, groups), total));
    return sim_launch(nbody->device, "summing over bodies", merge_kernel,
                      dim3(NBODY_SUMS), dim3(BLOCK), 0, total, blocks, *raw);
}

enum sim_status nbody_sums_cuda(struct sim_nbody *nbody, uint64_t groups,
                                struct sim_nbody_sums *out)
{
    double raw[NBODY_SUMS], *d_raw;
    SIM_TRY(enqueue_sums(nbody, groups, &d_raw));
    SIM_TRY(read_slots(nbody, d_raw, raw, sizeof raw));
    sim_nbody_sums_finish(nbody, raw, out);
    return SIM_OK;
}

static __global__ void centre_kernel(const double *raw, double *out)
{
    out[threadIdx.x] = nbody_centre(raw, threadIdx.x);
}

enum sim_status nbody_centre_cuda(struct sim_nbody *nbody, uint64_t groups, void *out)
{
    double *d_raw;
    SIM_TRY(enqueue_sums(nbody, groups, &d_raw));
    return sim_launch(nbody->device, "finding a centre", centre_kernel, dim3(1), dim3(3),
                      0, d_raw, (double *)out);
}

/* --- potential -------------------------------------------------------------------------
 */

struct source {
    double x, y, z, w;
};

/* A thread owns target i and meets all j in tiles; j = i is left out by index, a pair at
 * distance zero without softening exerts no force and holds no energy. total[block] = sum
 * of m_i m_j / sqrt(r^2 + eps^2) over the block's i. One pass of i = first + block*BLOCK.
 */
static __global__ void __launch_bounds__(BLOCK)
    potential_kernel(struct view b, double eps2, int64_t first, double *total)
{
    __shared__ double shared[BLOCK];
    __shared__ struct source tile[BLOCK];
    const int64_t i = first + (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    const struct sim_real4 at = nbody_load(&b.position[i < b.n ? i : b.n - 1]);
    double phi = 0;
    for (int64_t j0 = 0; j0 < b.n; j0 += BLOCK) {
        const int count = b.n - j0 < BLOCK ? (int)(b.n - j0) : BLOCK;
        if ((int)threadIdx.x < count) {
            const struct sim_real4 p = nbody_load(&b.position[j0 + threadIdx.x]);
            tile[threadIdx.x] = {(double)p.x, (double)p.y, (double)p.z, (double)p.w};
        }
        __syncthreads();
        for (int q = 0; q < count; q++) {
            const double r2 = nbody_distance2(at, tile[q].x, tile[q].y, tile[q].z) + eps2;
            phi += r2 > 0.0 && j0 + q != i ? tile[q].w * rsqrt(r2) : 0.0;
        }
        __syncthreads();
    }
    const double sum = sim_block_sum<BLOCK>(i < b.n ? phi * (double)at.w : 0.0, shared);
    if (threadIdx.x == 0)
        total[first / BLOCK + blockIdx.x] = sum;
}

/* Launches of about 1e10 pairs each, so that an interrupt is seen between them. */
enum sim_status nbody_potential_cuda(struct sim_nbody *nbody, double *out)
{
    const int64_t n = nbody->n, blocks = (n + BLOCK - 1) / BLOCK;
    const int64_t part = std::max<int64_t>(1, (int64_t)(1e10 / (double)n / BLOCK));
    const struct view view = view_of(nbody, SIM_ALL_GROUPS);
    char *space;
    double sum;
    SIM_TRY(slots(nbody, blocks + 1, sizeof(double), &space));
    double *total = (double *)space;
    for (int64_t b = 0; b < blocks; b += part) {
        SIM_TRY(sim_check_interrupt());
        const dim3 grid((unsigned)std::min(part, blocks - b));
        if (sim_nbody_is_general(nbody))
            SIM_TRY(nbody_soft_potential_cuda(nbody, b * BLOCK, grid, total));
        else
            SIM_TRY(sim_launch(nbody->device, "summing the potential", potential_kernel,
                               grid, dim3(BLOCK), 0, view, nbody->eps * nbody->eps,
                               b * BLOCK, total));
    }
    SIM_TRY(sim_launch(nbody->device, "summing the potential", merge_kernel, dim3(1),
                       dim3(BLOCK), 0, total, (int)blocks, total + blocks));
    SIM_TRY(read_slots(nbody, total + blocks, &sum, sizeof sum));
    *out = (nbody->coupling == SIM_CHARGE ? nbody->G : -nbody->G) * 0.5 * sum;
    return SIM_OK;
}

/* --- radii -----------------------------------------------------------------------------
 */

/* The state of the search, on the device. The bits of r^2 >= 0 order like its value; low
 * <= answer <= high is halved until they meet. A sum of masses >= 0 in a fixed tree grows
 * with the set it is over, also when rounded, so that bisection is safe. */
struct radii_search {
    unsigned long long low[RADII_MAX], high[RADII_MAX];
    double fraction[RADII_MAX], wanted[RADII_MAX];
    int count;
    int by_number; /* the selection has no mass */
};

/* What the update after a pass does with the sums. */
enum radii_pass { FIND_KIND, FIND_TOTAL, HALVE };

#define INFINITY_BITS 0x7ff0000000000000ull
#define HALVINGS      63

struct radii_args {
    const double *r2, *mass; /* r2 is NaN outside the selection */
    int64_t n;
    struct radii_search *search;
    double *total; /* [fraction][block] */
    enum radii_pass pass;
};

static __global__ void __launch_bounds__(BLOCK)
    distance_kernel(struct view b, double x, double y, double z, double *r2, double *mass)
{
    const int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= b.n)
        return;
    const struct sim_real4 p = nbody_load(&b.position[i]);
    r2[i] = selected(b, i) ? nbody_distance2(p, x, y, z) : __longlong_as_double(-1);
    mass[i] = nbody_inertia(&b.hold, (double)p.w);
}

static __device__ unsigned long long middle(const struct radii_args &a, int f)
{
    const struct radii_search *s = a.search;
    return a.pass == HALVE ? s->low[f] + (s->high[f] - s->low[f]) / 2 : INFINITY_BITS;
}

/* total[f][block] = the mass within the middle of fraction f's interval */
static __global__ void __launch_bounds__(BLOCK) within_kernel(const struct radii_args a)
{
    __shared__ double shared[BLOCK];
    for (int f = 0; f < a.search->count; f++) {
        const unsigned long long limit = middle(a, f);
        double s = 0;
        for (int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x; i < a.n;
             i += (int64_t)gridDim.x * BLOCK)
            if ((unsigned long long)__double_as_longlong(a.r2[i]) <= limit)
                s += a.search->by_number ? 1.0 : a.mass[i];
        s = sim_block_sum<BLOCK>(s, shared);
        if (threadIdx.x == 0)
            a.total[f * gridDim.x + blockIdx.x] = s;
    }
}

static __device__ void update(const struct radii_args &a, int f, double within)
{
    struct radii_search *s = a.search;
    const unsigned long long limit = middle(a, f);
    if (a.pass == FIND_KIND)
        s->by_number = within <= 0.0; /* the same of every f */
    else if (a.pass == FIND_TOTAL)
        s->wanted[f] = s->fraction[f] * within;
    else if (within >= s->wanted[f])
        s->high[f] = limit;
    else
        s->low[f] = limit + 1;
}

/* A block a fraction. */
static __global__ void __launch_bounds__(BLOCK)
    update_kernel(const struct radii_args a, int blocks)
{
    __shared__ double shared[BLOCK];
    double s = 0;
    for (int b = threadIdx.x; b < blocks; b += BLOCK)
        s += a.total[blockIdx.x * blocks + b];
    s = sim_block_sum<BLOCK>(s, shared);
    if (threadIdx.x == 0)
        update(a, blockIdx.x, s);
}

static enum sim_status search_pass(struct sim_nbody *nbody, struct radii_args args,
                                   enum radii_pass pass, int count)
{
    const int blocks = blocks_for(nbody->n);
    args.pass = pass;
    SIM_TRY(sim_launch(nbody->device, "finding radii", within_kernel, dim3(blocks),
                       dim3(BLOCK), 0, args));
    return sim_launch(nbody->device, "finding radii", update_kernel, dim3(count),
                      dim3(BLOCK), 0, args, blocks);
}

/* Distances are on the device; search for at most RADII_MAX fractions. */
static enum sim_status search_radii(struct sim_nbody *nbody,
                                    const struct radii_args &args,
                                    const double *fractions, int count, double *out)
{
    struct radii_search search = {};
    search.count = count;
    for (int f = 0; f < count; f++) {
        search.high[f] = INFINITY_BITS;
        search.fraction[f] = fractions[f];
    }
    const size_t offset =
        (size_t)((const char *)args.search - (const char *)nbody->scratch.data);
    SIM_TRY(sim_buffer_write(&nbody->scratch, offset, &search, sizeof search));
    SIM_TRY(search_pass(nbody, args, FIND_KIND, count));
    SIM_TRY(search_pass(nbody, args, FIND_TOTAL, count));
    for (int k = 0; k < HALVINGS; k++)
        SIM_TRY(search_pass(nbody, args, HALVE, count));
    SIM_TRY(read_slots(nbody, args.search, &search, sizeof search));
    for (int f = 0; f < count; f++) {
        double r2;
        memcpy(&r2, &search.high[f], sizeof r2);
        out[f] = sqrt(r2);
    }
    return SIM_OK;
}

enum sim_status nbody_radii_cuda(struct sim_nbody *nbody, uint64_t groups,
                                 const double *centre, const double *fractions, int count,
                                 double *out)
{
    const int blocks = blocks_for(nbody->n);
    const int64_t n = nbody->n;
    char *space;
    SIM_TRY(slots(nbody,
                  2 * n + RADII_MAX * blocks +
                      (int64_t)(sizeof(struct radii_search) / sizeof(double) + 1),
                  sizeof(double), &space));
    double *r2 = (double *)space, *mass = r2 + n, *total = mass + n;
    const struct radii_args args = {
        r2,    mass,     n, (struct radii_search *)(total + RADII_MAX * blocks),
        total, FIND_KIND};
    SIM_TRY(sim_launch(nbody->device, "finding radii", distance_kernel,
                       dim3((unsigned)((n + BLOCK - 1) / BLOCK)), dim3(BLOCK), 0,
                       view_of(nbody, groups), centre[0], centre[1], centre[2], r2,
                       mass));
    for (int f = 0; f < count; f += RADII_MAX)
        SIM_TRY(search_radii(nbody, args, fractions + f, std::min(count - f, RADII_MAX),
                             out + f));
    return SIM_OK;
}

/* --- NaN -------------------------------------------------------------------------------
 */

/* Words of the kept part of the workspace. */
enum { MET_WORD, BAD_WORD };

static __global__ void __launch_bounds__(BLOCK)
    bad_kernel(struct view b, unsigned long long *bad)
{
    const int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i < b.n && !(nbody_finite(nbody_load(&b.position[i])) &&
                     nbody_finite(nbody_load(&b.velocity[i]))))
        atomicMin(bad, (unsigned long long)i);
}

/* Report, and reset what was found bad. */
static __global__ void report_kernel(unsigned long long *kept,
                                     struct sim_nbody_check *out)
{
    out->bad = kept[BAD_WORD] < INT64_MAX ? (int64_t)kept[BAD_WORD] : INT64_MAX;
    out->coincident = kept[MET_WORD] < INT64_MAX ? (int64_t)kept[MET_WORD] : INT64_MAX;
    kept[BAD_WORD] = UINT64_MAX;
}

enum sim_status nbody_check_cuda(struct sim_nbody *nbody, void *out)
{
    SIM_TRY(sim_nbody_scratch(nbody, SIM_NBODY_KEPT));
    unsigned long long *kept = (unsigned long long *)nbody->scratch.data;
    SIM_TRY(sim_launch(nbody->device, "looking for NaN", bad_kernel,
                       dim3((unsigned)((nbody->n + BLOCK - 1) / BLOCK)), dim3(BLOCK), 0,
                       view_of(nbody, SIM_ALL_GROUPS), kept + BAD_WORD));
    return sim_launch(nbody->device, "looking for NaN", report_kernel, dim3(1), dim3(1),
                      0, kept, (struct sim_nbody_check *)out);
}
