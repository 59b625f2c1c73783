/* nbody_cuda_merge.cu - close bodies become one, on a GPU.
 *
 * Scheme and layout: nbody_merge_math.h. A thread a body chains it into the table and
 * looks for close ones; one block then makes one body of each cluster, since they are few
 * and their passes must follow one another. Atomics are on integers only: chains may come
 * in any order, the forest and the sums may not, and do not, depend on it.
 *
 * Not here: the stage's place in a step (src/integrator.c). */
#include "nbody_cuda.h"
#include "nbody_merge_math.h"

#define BLOCK  128
#define SETTLE 512

/* Nodes only ever move to an ancestor, so a race between two that shorten a path is one
 * between right answers. */
static __device__ unsigned long long root_of(const struct nbody_merge &m,
                                             unsigned long long i)
{
    volatile unsigned long long *parent = m.parent;
    unsigned long long up = parent[i];
    while (up != i) {
        const unsigned long long next = parent[up];
        if (next != up)
            parent[i] = next;
        i = up;
        up = next;
    }
    return i;
}

static __device__ void enlist(const struct nbody_merge &m, unsigned long long i)
{
    if (atomicCAS(&m.slot[i], NBODY_NONE, 0ull) != NBODY_NONE)
        return;
    m.list[atomicAdd(m.listed, 1ull) + 1] = i;
    nbody_cluster_begin(&m.cluster[i]);
}

static __device__ void unite(const struct nbody_merge &m, unsigned long long i,
                             unsigned long long j)
{
    enlist(m, i);
    enlist(m, j);
    for (;;) {
        const unsigned long long a = root_of(m, i), b = root_of(m, j);
        if (a == b)
            return;
        const unsigned long long high = a > b ? a : b, low = a > b ? b : a;
        if (atomicCAS(&m.parent[high], high, low) == high)
            return;
    }
}

static __global__ void __launch_bounds__(BLOCK) insert_kernel(const struct nbody_merge m)
{
    const int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= m.n)
        return;
    m.parent[i] = (unsigned long long)i;
    if (m.group[i] == SIM_GONE)
        return;
    const struct sim_real4 at = nbody_load(&m.position[i]);
    m.next[i] = atomicExch(&m.head[nbody_bucket(at, m.distance, 0, m.mask)],
                           (unsigned long long)i);
}

static __global__ void __launch_bounds__(BLOCK) search_kernel(const struct nbody_merge m)
{
    const int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= m.n || m.group[i] == SIM_GONE)
        return;
    const struct sim_real4 at = nbody_load(&m.position[i]);
    for (int corner = 0; corner < 8; corner++) {
        unsigned long long j = m.head[nbody_bucket(at, m.distance, corner, m.mask)];
        for (; j != NBODY_NONE; j = m.next[j])
            if (j < (unsigned long long)i &&
                nbody_close(at, nbody_load(&m.position[j]), m.distance))
                unite(m, (unsigned long long)i, j);
    }
}

static __device__ void add_bounds(const struct nbody_merge &m, unsigned long long i)
{
    const struct sim_real4 x = m.position[i], v = m.velocity[i];
    struct nbody_cluster *c = &m.cluster[m.slot[i]];
    const double w = nbody_member_weight(c, x);
    for (int k = 0; k < 3; k++) {
        atomicMax(&c->x, nbody_bound(w, (double)(&x.x)[k]));
        atomicMax(&c->v, nbody_bound(w, (double)(&v.x)[k]));
    }
    if (nbody_bits((double)x.w + 0.0) == c->mass)
        atomicMin(&c->group, (unsigned long long)m.group[i]);
}

static __device__ void settle(const struct nbody_merge &m, unsigned long long i)
{
    const struct nbody_cluster *c = &m.cluster[m.slot[i]];
    if (m.slot[i] == i) {
        nbody_merged(c, &m.position[i], &m.velocity[i]);
        m.group[i] = (uint8_t)c->group;
    } else {
        m.position[i].w = 0;
        m.velocity[i] = {0, 0, 0, 0};
        m.group[i] = SIM_GONE;
    }
    m.acceleration[i] = {0, 0, 0, 0};
    if (m.jerk)
        m.jerk[i] = m.jerk[m.n + (int64_t)i] = {0, 0, 0, 0};
}

/* One block; every pass over the members is whole before the next begins. */
static __global__ void __launch_bounds__(SETTLE) settle_kernel(const struct nbody_merge m)
{
    const unsigned long long count = *m.listed + 1;
    for (unsigned long long k = threadIdx.x; k < count; k += SETTLE) {
        const unsigned long long i = m.list[k], root = root_of(m, i);
        m.slot[i] = root;
        atomicAdd(&m.cluster[root].count, 1ull);
        atomicMax(&m.cluster[root].mass, nbody_bits((double)m.position[i].w + 0.0));
    }
    __syncthreads();
    for (unsigned long long k = threadIdx.x; k < count; k += SETTLE)
        add_bounds(m, m.list[k]);
    __syncthreads();
    for (unsigned long long k = threadIdx.x; k < count; k += SETTLE) {
        const unsigned long long i = m.list[k];
        struct nbody_cluster *c = &m.cluster[m.slot[i]];
        for (int s = 0; s < 7; s++)
            atomicAdd(&c->sum[s],
                      nbody_share(&m.hold, c, m.position[i], m.velocity[i], s));
    }
    __syncthreads();
    for (unsigned long long k = threadIdx.x; k < count; k += SETTLE)
        settle(m, m.list[k]);
}

enum sim_status nbody_merge_cuda(struct sim_nbody *nbody, void *jerk, void *space)
{
    struct sim_device *device = nbody->device;
    struct nbody_merge m = {};
    m.position = (struct sim_real4 *)nbody->position;
    m.velocity = (struct sim_real4 *)nbody->velocity;
    m.acceleration = (struct sim_real4 *)nbody->acceleration;
    m.jerk = (struct sim_real4 *)jerk;
    m.group = nbody->group;
    m.n = nbody->n;
    m.hold = nbody_hold_of(nbody);
    m.distance = nbody->merge_distance;
    nbody_merge_lay_out(&m, space);
    const dim3 grid((unsigned)((m.n + BLOCK - 1) / BLOCK));
    SIM_TRY(device->ops->fill(device, m.listed, 0xff,
                              nbody_merge_ones(m.n) * sizeof *m.listed));
    SIM_TRY(sim_launch(device, "looking for close bodies", insert_kernel, grid,
                       dim3(BLOCK), 0, m));
    SIM_TRY(sim_launch(device, "looking for close bodies", search_kernel, grid,
                       dim3(BLOCK), 0, m));
    return sim_launch(device, "merging bodies", settle_kernel, dim3(1), dim3(SETTLE), 0,
                      m);
}
