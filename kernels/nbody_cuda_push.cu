/* nbody_cuda_push.cu - kicks and drifts on the GPU, with the end of the force before
 * them: one kernel, or two where the total momentum is held.
 *
 * A thread a body adds the rows that a force left, in a fixed order, scales them to an
 * acceleration and runs all pushes up to the next force. Held momentum (scheme and sums:
 * nbody_momentum_math.h) needs what is left over of a kick before any body moves: the
 * first kernel then only stores accelerations and adds that up, for every kick of the
 * list, and the second one pushes; its last block moves the anchor by what the others
 * left. Whole numbers are added, so atomics may come in any order.
 *
 * Not here: which pushes (nbody_cuda.cu); small systems (nbody_cuda_resident.cu). */
#include "nbody_cuda_push.cuh"

#define BODY_BLOCK 128

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

/* to += h rate */
static __device__ void push_vector(struct sim_real4 *to, const struct push &p,
                                   struct sim_real4 rate)
{
    to->x = nbody_push(to->x, p.h, rate.x, p.grain);
    to->y = nbody_push(to->y, p.h, rate.y, p.grain);
    to->z = nbody_push(to->z, p.h, rate.z, p.grain);
}

static __device__ bool is_gone(const struct body_args &b, int64_t i)
{
    return b.group && b.group[i] == SIM_GONE;
}

static __device__ void push_body(const struct body_args &b, int64_t i, struct sim_real4 x,
                                 struct sim_real4 a)
{
    struct sim_real4 v = nbody_load(&b.velocity[i]);
    if (is_gone(b, i))
        return;
    for (int p = 0; p < b.pushes; p++)
        if (b.push[p].drift)
            push_vector(&x, b.push[p], v);
        else
            push_vector(&v, b.push[p], a);
    if (b.finish)
        nbody_store(&b.acceleration[i], a);
    nbody_store(&b.position[i], x);
    nbody_store(&b.velocity[i], v);
}

/* --- held momentum ---------------------------------------------------------------------
 */

/* Lane 0 has the sum; every lane of the warp calls. */
static __device__ unsigned long long sum_warp(unsigned long long value)
{
    for (int half = 16; half >= 1; half /= 2)
        value += __shfl_down_sync(~0u, value, half);
    return value;
}

static __device__ unsigned long long largest_of_warp(unsigned long long value)
{
    for (int half = 16; half >= 1; half /= 2) {
        const unsigned long long other = __shfl_down_sync(~0u, value, half);
        value = other > value ? other : value;
    }
    return value;
}

/* A warp's sum into *to, by its first lane. */
static __device__ void add_warp(unsigned long long *to, unsigned long long value)
{
    const unsigned long long sum = sum_warp(value);
    if ((threadIdx.x & 31) == 0 && sum != 0)
        atomicAdd(to, sum);
}

/* A body's share in what is left over of every kick. Whole warps call; `inside`: there is
 * a body i. */
static __device__ void add_up(const struct body_args &b, int64_t i, bool inside, real w,
                              struct sim_real4 a)
{
    struct nbody_residue *r = b.residue;
    const double m = nbody_inertia(&b.hold, (double)w);
    const double rate[3] = {(double)a.x, (double)a.y, (double)a.z};
    const bool held = inside && nbody_is_held(&b.hold, m);
    const unsigned long long key = largest_of_warp(held ? nbody_anchor_key(m, i) : 0);
    if ((threadIdx.x & 31) == 0 && key != 0)
        atomicMax(&r->anchor, key);
    add_warp(&r->weight, held ? nbody_weight_units(&b.hold, m) : 0);
    for (int p = 0; p < b.pushes; p++)
#pragma unroll
        for (int c = 0; c < 3 && !b.push[p].drift; c++) {
            const double h = (double)b.push[p].h;
            add_warp(&r->kick[p][c],
                     held ? nbody_counted(nbody_kick_units(&b.hold, m, h, rate[c])) : 0);
        }
}

struct moving {
    struct sim_real4 x, v, a;
    double m;
    bool held;
};

static __device__ struct moving load_moving(const struct body_args &b, int64_t i)
{
    struct moving it;
    it.x = nbody_load(&b.position[i]);
    it.v = nbody_load(&b.velocity[i]);
    it.a = nbody_load(&b.acceleration[i]);
    it.m = nbody_inertia(&b.hold, (double)it.x.w);
    it.held = nbody_is_held(&b.hold, it.m);
    return it;
}

static __device__ void store_moving(const struct body_args &b, int64_t i,
                                    const struct moving &it)
{
    nbody_store(&b.position[i], it.x);
    nbody_store(&b.velocity[i], it.v);
}

static __device__ real kicked(const struct body_args &b, int p, const struct moving &it,
                              real v, real a, double share)
{
    const double k = nbody_kick_units(&b.hold, it.m, (double)b.push[p].h, (double)a);
    return (real)nbody_kicked(&b.hold, it.m, (double)v, k, share);
}

static __device__ void kick_held(const struct body_args &b, int p, struct moving *it,
                                 const double share[3])
{
    it->v.x = kicked(b, p, *it, it->v.x, it->a.x, share[0]);
    it->v.y = kicked(b, p, *it, it->v.y, it->a.y, share[1]);
    it->v.z = kicked(b, p, *it, it->v.z, it->a.z, share[2]);
}

/* Push p of a body that is not the anchor; `taken` becomes what was taken off. */
static __device__ void push_moving(const struct body_args &b, int p, struct moving *it,
                                   unsigned long long taken[3])
{
    if (b.push[p].drift) {
        push_vector(&it->x, b.push[p], it->v);
    } else if (!it->held) {
        push_vector(&it->v, b.push[p], it->a);
    } else {
        double share[3];
#pragma unroll
        for (int c = 0; c < 3; c++) {
            share[c] = nbody_residue_share(&b.hold, it->m, b.residue->weight,
                                           b.residue->kick[p][c]);
            taken[c] = nbody_counted(share[c]);
        }
        kick_held(b, p, it, share);
    }
}

/* By one thread, after all others: from each kick all that they left is taken off. */
static __device__ void push_anchor(const struct body_args &b, int64_t i)
{
    struct moving it = load_moving(b, i);
    for (int p = 0; p < b.pushes; p++) {
        if (b.push[p].drift) {
            push_vector(&it.x, b.push[p], it.v);
            continue;
        }
        double share[3];
#pragma unroll
        for (int c = 0; c < 3; c++)
            share[c] =
                nbody_as_number(b.residue->kick[p][c] - __ldcg(&b.residue->taken[p][c]));
        kick_held(b, p, &it, share);
    }
    store_moving(b, i, it);
}

/* By every thread of a block: true in one thread, of the last block to come here. */
static __device__ bool is_last(struct nbody_residue *r)
{
    __threadfence();
    __syncthreads();
    if (threadIdx.x != 0 || atomicAdd(&r->arrived, 1ull) + 1 < gridDim.x)
        return false;
    __threadfence();
    return true;
}

static __global__ void __launch_bounds__(BODY_BLOCK) held_kernel(const struct body_args b)
{
    struct nbody_residue *r = b.residue;
    const int64_t i = (int64_t)blockIdx.x * BODY_BLOCK + threadIdx.x;
    const int64_t anchor = nbody_anchor(r->anchor);
    const bool moves = i < b.n && i != anchor && !is_gone(b, i);
    struct moving it = {};
    if (moves)
        it = load_moving(b, i);
    for (int p = 0; p < b.pushes; p++) {
        unsigned long long taken[3] = {0, 0, 0};
        if (moves)
            push_moving(b, p, &it, taken);
#pragma unroll
        for (int c = 0; c < 3 && !b.push[p].drift; c++)
            add_warp(&r->taken[p][c], taken[c]);
    }
    if (moves)
        store_moving(b, i, it);
    if (!is_last(r))
        return;
    if (anchor < b.n)
        push_anchor(b, anchor);
    *r = {};
}

/* --- the end of a force ----------------------------------------------------------------
 */

/* The acceleration of body i is known. Whole warps call. A template, as what is not held
 * needs fewer registers. */
template <bool HELD>
static __device__ void settle(const struct body_args &b, int64_t i, bool inside,
                              struct sim_real4 x, struct sim_real4 a)
{
    if (!HELD) {
        if (inside)
            push_body(b, i, x, a);
        return;
    }
    if (b.finish && inside && !is_gone(b, i))
        nbody_store(&b.acceleration[i], a);
    add_up(b, i, inside, x.w, a);
}

/* One thread a body; 64 bytes a body and a sum over the splits: memory-bound and small.
 */
template <bool HELD>
static __global__ void __launch_bounds__(BODY_BLOCK) body_kernel(const struct body_args b)
{
    const int64_t i = (int64_t)blockIdx.x * BODY_BLOCK + threadIdx.x;
    const bool inside = i < b.n;
    struct sim_real4 x = {0, 0, 0, 0}, a = {0, 0, 0, 0};
    if (inside) {
        x = nbody_load(&b.position[i]);
        a = b.finish ? finished(b, i, x.w) : nbody_load(&b.acceleration[i]);
    }
    settle<HELD>(b, i, inside, x, a);
}

/* The same after symmetric pairs, whose many rows take NBODY_ROWS threads a body. */
template <bool HELD>
static __global__ void __launch_bounds__(32 * NBODY_ROWS)
    rows_kernel(const struct body_args b)
{
    double sum[3];
    const int64_t i = (int64_t)blockIdx.x * 32 + threadIdx.x;
    const bool inside = i < b.n;
    struct sim_real4 x = {0, 0, 0, 0}, a = {0, 0, 0, 0};
    nbody_pairs_sum(b.rows, i, sum);
    if (threadIdx.y != 0)
        return;
    if (inside) {
        x = nbody_load(&b.position[i]);
        const double k = b.charge ? -b.k * (double)x.w : b.k;
        for (int c = 0; c < 3 && b.running; c++)
            sum[c] += b.running[c * b.rows.padded + i];
        a = {(real)(k * sum[0]), (real)(k * sum[1]), (real)(k * sum[2]), 0};
    }
    settle<HELD>(b, i, inside, x, a);
}

static bool has_kick(const struct body_args &b)
{
    for (int p = 0; p < b.pushes; p++)
        if (!b.push[p].drift)
            return true;
    return false;
}

static dim3 grid_for(int64_t n, int block)
{
    return dim3((unsigned)((n + block - 1) / block));
}

enum sim_status nbody_push_bodies(struct sim_device *device, struct body_args b,
                                  bool rows)
{
    const bool held = b.residue && has_kick(b);
    auto kernel = rows ? rows_kernel<false> : body_kernel<false>;
    if (held)
        kernel = rows ? rows_kernel<true> : body_kernel<true>;
    SIM_TRY(sim_launch(device, "moving bodies", kernel,
                       grid_for(b.n, rows ? 32 : BODY_BLOCK),
                       rows ? dim3(32, NBODY_ROWS) : dim3(BODY_BLOCK), 0, b));
    if (!held)
        return SIM_OK;
    return sim_launch(device, "moving bodies", held_kernel, grid_for(b.n, BODY_BLOCK),
                      dim3(BODY_BLOCK), 0, b);
}
