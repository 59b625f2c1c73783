/* nbody_cuda_pairs.cu - symmetric all-pairs gravity: each pair is computed once and
 * serves both of its bodies.
 *
 * Equation: nbody_math.h, in lengths scaled by a power of two near 2^-20/eps, so that
 * 1/r^3 keeps within the range of single precision up to 2^62 eps. Without softening
 * (HARD) nothing is scaled, weights are taken in an order that keeps within it, and each
 * pair is looked at for distance zero; not in mixed precision. The n bodies are cut into
 * blocks of 32*K*W. A thread block holds one of them in registers, K bodies a lane, W
 * warps; it meets another block, its partner, a tile of 32 at a time: a lane reads tile
 * body (lane + r) mod 32 from shared memory in step r = 0..31, and the sum that this body
 * gathers walks along the lanes by a shuffle a step. Per pair, for two interactions: 3
 * FADD, 9 FFMA, 4 FMUL and a MUFU.RSQ, 17 issue slots, and 4 more a step of K pairs.
 * Where the masses of a warp's bodies are all one, and those of the tile, too, as among
 * the stars of a disc, sums are gathered without masses and multiplied after the tile:
 * 15 slots a pair. In mixed precision positions are double: a pair's difference is taken
 * of two floats a coordinate (6 more FADD), its force is single, and sums of 64 pairs
 * join a double.
 *
 * Schedule (circulant): in round d block I meets block (I + d) mod B. Rounds 1 <= d < B/2
 * hold each pair of blocks once; for even B the round d = B/2 holds each twice, and only
 * the blocks I < d work; round 0 is a block with itself, one-sided.
 *
 * Sums: a lane's own sums join a total in shared memory after each FLUSH tiles, or
 * when the mass changes. A partner's
 * go by warps: in phase p warp w meets the bodies of warp (w + p) mod W, so that no two
 * warps add to the same place, and the last phase writes row d of `met`; each row has one
 * writer a block. Own totals go to a row of `own` for each run of rounds that a thread
 * block takes. nbody_cuda_push.cu adds the rows in a fixed order, in double. No atomics.
 *
 * Bodies past the end are copies of the last one without mass: they pull on nobody, and
 * their sums lie past the end of the rows' used part. */
#include "nbody_cuda.h"

#include <algorithm>
#include <stdio.h>

struct pairs_args {
    const struct sim_real4 *position;
    real *own, *met; /* rows of x[padded], y[padded], z[padded] */
    int64_t n, padded;
    int blocks, first, last, run; /* rounds first <= d < last, `run` a thread block */
    real eps2, scale;
    unsigned long long *least; /* HARD: where to note bodies that met another; or NULL */
};

template <typename T>
struct triple {
    T x, y, z;
};

static __device__ __forceinline__ float fused(float a, float b, float c)
{
    return fmaf(a, b, c);
}

static __device__ __forceinline__ float inverse_root(float r2)
{
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(r2));
    return y;
}

#ifdef SIM_DOUBLE
static __device__ __forceinline__ double fused(double a, double b, double c)
{
    return fma(a, b, c);
}

/* Good to 1 unit in the last place: MUFU's 20 bits, then a step of third order. r2 is a
 * normal number. */
static __device__ __forceinline__ double inverse_root(double r2)
{
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(r2));
    const double e = fma(-r2 * y, y, 1.0);
    return fma(y * e, fma(0.375, e, 0.5), y);
}
#endif

/* 1/r^3 times m, in an order that neither overflows early nor lets an infinity through.
 */
template <typename T>
static __device__ __forceinline__ T hard_weight(T m, T y, T r2)
{
    return (T)nbody_guarded_weight((real)((m * y) * (y * y)), (real)r2);
}

/* Bodies i and j are at one place: note the lower, unless they are one, or past the end.
 */
static __device__ __forceinline__ void note_meeting(const struct pairs_args &f, int64_t i,
                                                    int64_t j)
{
    if (i != j && i < f.n && j < f.n && f.least)
        atomicMin(f.least, (unsigned long long)(i < j ? i : j));
}

/* How a pair is computed. `work` is the type of its arithmetic; FLUSH tiles are summed in
 * it before they join a total in `real`. */
struct uniform_pairs {
    typedef real work;
    typedef struct sim_real4 body;
    static const int FLUSH = 4;
    static __device__ __forceinline__ body take(struct sim_real4 p)
    {
        return p;
    }
    static __device__ __forceinline__ body load(const body *at)
    {
        return nbody_load(at);
    }
    static __device__ __forceinline__ void store(body *at, body b)
    {
        nbody_store(at, b);
    }
    static __device__ __forceinline__ struct triple<real> minus(const body &a,
                                                                const body &b) {
        return {a.x - b.x, a.y - b.y, a.z - b.z};
    }
};

#ifdef SIM_DOUBLE
struct mixed_pairs {
    typedef float work;
    static const int FLUSH = 2;
    struct __align__(16) body
    {
        float x, y, z, w, low_x, low_y, low_z, unused;
    };
    static __device__ __forceinline__ body take(struct sim_real4 p)
    {
        const float x = (float)p.x, y = (float)p.y, z = (float)p.z;
        return {x, y, z, (float)p.w, (float)(p.x - x), (float)(p.y - y), (float)(p.z - z),
                0};
    }
    static __device__ __forceinline__ body load(const body *at)
    {
        const float4 *half = reinterpret_cast<const float4 *>(at);
        const float4 a = half[0], b = half[1];
        return {a.x, a.y, a.z, a.w, b.x, b.y, b.z, 0};
    }
    static __device__ __forceinline__ void store(body *at, body b)
    {
        float4 *half = reinterpret_cast<float4 *>(at);
        half[0] = make_float4(b.x, b.y, b.z, b.w);
        half[1] = make_float4(b.low_x, b.low_y, b.low_z, 0);
    }
    static __device__ __forceinline__ struct triple<float> minus(const body &a,
                                                                 const body &b) {
        return {(a.x - b.x) + (a.low_x - b.low_x), (a.y - b.y) + (a.low_y - b.low_y),
                (a.z - b.z) + (a.low_z - b.low_z)};
    }
};
#endif

static __device__ __forceinline__ struct sim_real4 load_body(const struct pairs_args &f,
                                                             int64_t i)
{
    struct sim_real4 p = nbody_load(&f.position[i < f.n ? i : f.n - 1]);
    return {p.x * f.scale, p.y * f.scale, p.z * f.scale, i < f.n ? p.w : 0};
}

/* The lane's bodies from `own` on and the tile's from `column` on: which are at one
 * place?
 */
template <class A, int K>
static __device__ void note_meetings(const struct pairs_args &f, int64_t own,
                                     int64_t column, const typename A::body *tile,
                                     const typename A::body *at)
{
#pragma unroll 1
    for (int r = 0; r < 32; r++) {
        const typename A::body it = A::load(&tile[r]);
#pragma unroll
        for (int k = 0; k < K; k++) {
            const struct triple<typename A::work> d = A::minus(it, at[k]);
            if (fused(d.x, d.x, fused(d.y, d.y, d.z * d.z)) < NBODY_TINY)
                note_meeting(f, own + 32 * k, column + r);
        }
    }
}

/* What a loop over a tile is made for: pairs; one-sided ones, of a block with itself;
 * pairs without masses, which come after the loop; those that may lie at distance zero.
 */
enum law { PAIRS = 0, ONE_SIDED = 1, MASSLESS = 2, HARD_PAIRS = 4 };

/* The tile, held twice over in shared memory, meets a lane's K bodies. Returns the pull
 * on tile body `lane`; one-sided, nothing of use. `own` and `column` are the indices of
 * the lane's first body and of the tile's. */
template <class A, int K, enum law LAW>
static __device__ __forceinline__ struct triple<typename A::work>
meet_tile(const struct pairs_args &f, int64_t own, int64_t column,
          const typename A::body *tile, const typename A::body *at, typename A::work eps2,
          struct triple<typename A::work> *sum) {
    typedef typename A::work work;
    const bool both = !(LAW & ONE_SIDED), bare = LAW & MASSLESS, hard = LAW & HARD_PAIRS;
    const int lane = threadIdx.x & 31;
    struct triple<work> pull = {
        0, 0, 0
    };
    bool together = false; /* a body with itself, or two that met */
#pragma unroll(K > 8 ? 2 : 4)
    for (int r = 0; r < 32; r++) {
        const typename A::body it = A::load(&tile[lane + r]);
#pragma unroll
        for (int k = 0; k < K; k++) {
            const struct triple<work> d = A::minus(it, at[k]);
            const work r2 = fused(d.x, d.x, fused(d.y, d.y, fused(d.z, d.z, eps2)));
            const work y = inverse_root(r2), r3 = y * y * y;
            const work w = bare   ? r3
                           : hard ? hard_weight((work)it.w, y, r2)
                                  : (work)it.w * r3;
            if (hard)
                together |= r2 < NBODY_TINY;
            sum[k].x = fused(w, d.x, sum[k].x);
            sum[k].y = fused(w, d.y, sum[k].y);
            sum[k].z = fused(w, d.z, sum[k].z);
            if (both) {
                const work met = bare   ? r3
                                 : hard ? hard_weight((work)at[k].w, y, r2)
                                        : (work)at[k].w * r3;
                pull.x = fused(met, -d.x, pull.x);
                pull.y = fused(met, -d.y, pull.y);
                pull.z = fused(met, -d.z, pull.z);
            }
        }
        if (both) {
            pull.x = __shfl_sync(~0u, pull.x, lane + 1);
            pull.y = __shfl_sync(~0u, pull.y, lane + 1);
            pull.z = __shfl_sync(~0u, pull.z, lane + 1);
        }
    }
    if (hard && together)
        note_meetings<A, K>(f, own, column, tile, at);
    return pull;
}

/* Shared memory of a thread block. */
template <class A, int K, int W>
struct pairs_shared {
    typename A::body tile[W][64];
    real total[3 * K][32 * W];
    real met[3][W > 1 ? 32 * K *W : 1];
};

template <class A, int K, int W>
static __device__ __forceinline__ void
keep_pull(struct pairs_shared<A, K, W> &shared, const struct pairs_args &f, int phase,
          int place, int64_t column, int d, struct triple<real> pull)
{
    if (W > 1 && phase > 0) {
        pull.x += shared.met[0][place];
        pull.y += shared.met[1][place];
        pull.z += shared.met[2][place];
    }
    if (phase < W - 1) {
        shared.met[0][place] = pull.x;
        shared.met[1][place] = pull.y;
        shared.met[2][place] = pull.z;
        return;
    }
    real *row = f.met + (int64_t)(d - f.first) * 3 * f.padded + column;
    row[0] = pull.x;
    row[f.padded] = pull.y;
    row[2 * f.padded] = pull.z;
}

/* The sums of a few tiles, of the mass `m` each or already with masses (1), join the
 * totals, and begin anew. */
template <class A, int K, int W>
static __device__ __forceinline__ void flush(struct pairs_shared<A, K, W> &shared,
                                             struct triple<typename A::work> *sum, real m)
{
#pragma unroll
    for (int k = 0; k < K; k++) {
        shared.total[3 * k][threadIdx.x] += m * sum[k].x;
        shared.total[3 * k + 1][threadIdx.x] += m * sum[k].y;
        shared.total[3 * k + 2][threadIdx.x] += m * sum[k].z;
        sum[k] = {0, 0, 0};
    }
}

/* Does each lane have this mass? */
template <typename T>
static __device__ __forceinline__ bool is_one_mass(T m)
{
    return __all_sync(~0u, m == __shfl_sync(~0u, m, 0));
}

/* A warp's bodies, of which `own` is the lane's first, meet those of warp `group` of
 * block `partner`. `alike`: the warp's masses are all one. */
template <class A, int K, int W, bool HARD>
static __device__ __forceinline__ void
meet_group(struct pairs_shared<A, K, W> &shared, const struct pairs_args &f,
           const typename A::body *at, int64_t own, int d, int64_t partner, int phase,
           bool alike)
{
    static_assert(K % A::FLUSH == 0, "the last tiles' sums must join the totals");
    typedef typename A::work work;
    const enum law one_sided = (enum law)(ONE_SIDED | (HARD ? HARD_PAIRS : PAIRS));
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int group = warp + phase < W ? warp + phase : warp + phase - W;
    const work eps2 = (work)f.eps2;
    typename A::body *tile = shared.tile[warp];
    struct triple<work> sum[K];
    real mass = 1; /* of what is in the sums */
#pragma unroll
    for (int k = 0; k < K; k++)
        sum[k] = {0, 0, 0};
    for (int t = 0;; t++) {
        const int place = (group * K + t) * 32 + lane;
        const int64_t column = partner * (32 * K * W) + place;
        typename A::body body;
        bool bare = false;
        if (t < K) {
            body = A::take(load_body(f, column));
            bare = !HARD && d > 0 && alike && is_one_mass(body.w);
        }
        const real its = bare ? (real)body.w : 1;
        if (t > 0 && (t % A::FLUSH == 0 || its != mass))
            flush<A, K, W>(shared, sum, mass);
        if (t == K)
            break;
        mass = its;
        __syncwarp();
        A::store(&tile[lane], body);
        A::store(&tile[lane + 32], body);
        __syncwarp();
        if (d == 0) {
            meet_tile<A, K, one_sided>(f, own, column - lane, tile, at, eps2, sum);
            continue;
        }
        struct triple<work> pull;
        if (bare)
            pull = meet_tile<A, K, MASSLESS>(f, own, column - lane, tile, at, eps2, sum);
        else
            pull = meet_tile < A, K,
            HARD ? HARD_PAIRS : PAIRS > (f, own, column - lane, tile, at, eps2, sum);
        const real m = bare ? (real)at[0].w : 1;
        keep_pull<A, K, W>(shared, f, phase, place, column, d,
                           {m * pull.x, m * pull.y, m * pull.z});
    }
}

template <class A, int K, int W, bool HARD>
static __global__ void __launch_bounds__(32 * W) pairs_kernel(const struct pairs_args f)
{
    __shared__ struct pairs_shared<A, K, W> shared;
    typename A::body at[K];
    const int own = blockIdx.x, first = f.first + blockIdx.y * f.run;
    const int last = first + f.run < f.last ? first + f.run : f.last;
    const int64_t base =
        (int64_t)own * (32 * K * W) + (threadIdx.x >> 5) * (32 * K) + (threadIdx.x & 31);
#pragma unroll
    for (int k = 0; k < K; k++) {
        at[k] = A::take(load_body(f, base + 32 * k));
        for (int c = 0; c < 3; c++)
            shared.total[3 * k + c][threadIdx.x] = 0;
    }
    bool alike = is_one_mass(at[0].w);
#pragma unroll
    for (int k = 1; k < K; k++)
        alike = alike && __all_sync(~0u, at[k].w == at[0].w);
    for (int d = first; d < last; d++) {
        if (2 * d == f.blocks && own >= d)
            break; /* the other of the two works; the last round there is */
        const int partner = own + d < f.blocks ? own + d : own + d - f.blocks;
        for (int phase = 0; phase < W; phase++) {
            meet_group<A, K, W, HARD>(shared, f, at, base, d, partner, phase, alike);
            if (W > 1)
                __syncthreads();
        }
    }
    real *row = f.own + (int64_t)blockIdx.y * 3 * f.padded + base;
#pragma unroll
    for (int k = 0; k < K; k++)
        for (int c = 0; c < 3; c++)
            row[c * f.padded + 32 * k] = shared.total[3 * k + c][threadIdx.x];
}

/* --- adding the rows -------------------------------------------------------------------
 */

/* running[c][i] (+)= the rows' sums; see nbody_pairs_sum. */
static __global__ void __launch_bounds__(NBODY_ROWS * 32)
    collect_kernel(const struct nbody_rows rows, double *running, bool add)
{
    double sum[3];
    const int64_t i = (int64_t)blockIdx.x * 32 + threadIdx.x;
    nbody_pairs_sum(rows, i, sum);
    for (int c = 0; c < 3 && threadIdx.y == 0; c++)
        running[c * rows.padded + i] =
            (add ? running[c * rows.padded + i] : 0.0) + sum[c];
}

/* --- which kernel ----------------------------------------------------------------------
 */

struct variant {
    int per_lane, warps;
    void (*kernel)(struct pairs_args), (*hard)(struct pairs_args),
        (*mixed)(struct pairs_args);
};

#define UNIFORM(per_lane, warps, hard) pairs_kernel<uniform_pairs, per_lane, warps, hard>
#ifdef SIM_DOUBLE
#define MIXED(per_lane, warps) pairs_kernel<mixed_pairs, per_lane, warps, false>
#else
#define MIXED(per_lane, warps) NULL
#endif
#define VARIANT(per_lane, warps)                                   \
    {                                                              \
        per_lane, warps, UNIFORM(per_lane, warps, false),          \
            UNIFORM(per_lane, warps, true), MIXED(per_lane, warps) \
    }
static const struct variant variants[] = {
    VARIANT(4, 1),
    VARIANT(8, 1),
    VARIANT(8, 2),
#ifdef SIM_DOUBLE
    VARIANT(4, 4),
#else
    VARIANT(8, 4), VARIANT(16, 1), VARIANT(16, 2),
#endif
};
#undef VARIANT

/* By number of bodies: the first row with n <= up_to. `run` rounds a thread block. The
 * measured best on an H200 (bench_nbody --sweep, docs/performance.md), in 1e12
 * interactions/s: single precision and equal masses, 12,288 bodies 2.42 (next best 2.19),
 * 24,576 2.99 (2.72), 32,768 3.19 (3.12), 65,536 3.29 (3.26), 262,144 3.47 (3.45);
 * unequal masses, 65,536: double 1.256 (1.213 with other warps), mixed 2.07 (2.04). */
struct choice {
    int64_t up_to;
    int per_lane, warps, run;
};
#ifdef SIM_DOUBLE
static const struct choice defaults[] = {{24576, 4, 1, 1}, {INT64_MAX, 4, 4, 1}};
static const struct choice mixed_defaults[] = {{24576, 4, 1, 1}, {INT64_MAX, 8, 2, 1}};
#else
static const struct choice defaults[] = {
    {13312, 4, 1, 1}, {26624, 8, 1, 1}, {49152, 16, 1, 2}, {INT64_MAX, 16, 2, 1}};
#define mixed_defaults defaults /* there is no mixed single precision */
#endif

#define RUN_MAX 64

/* A pass: as many rounds as PASS_PAIRS and PASS_BYTES of rows allow. */
#define PASS_PAIRS 8.0e10
#define PASS_BYTES 1.0e9

static enum sim_status no_such_variant(const struct sim_nbody_tuning *t)
{
    char legal[256];
    size_t used = 0;
    for (const struct variant &v : variants)
        used += (size_t)snprintf(legal + used, sizeof legal - used, "%s%d/%d",
                                 used ? ", " : "", 32 * v.warps, v.per_lane);
    return sim_fail(SIM_BAD_ARGUMENT,
                    "no symmetric gravity kernel has tile/per_thread = %d/%d, unroll %d "
                    "and split %d; legal are (0: any) %s, an unroll of 0, and a split "
                    "(rounds a block) of 0 to %d",
                    t->tile, t->per_thread, t->unroll, t->split, legal, RUN_MAX);
}

static int find_variant(const struct sim_nbody_tuning *forced, int per_lane, int warps)
{
    int found = -1;
    for (int k = 0; k < (int)(sizeof variants / sizeof *variants); k++) {
        const struct variant &v = variants[k];
        const bool legal = (!forced->tile || forced->tile == 32 * v.warps) &&
                           (!forced->per_thread || forced->per_thread == v.per_lane);
        if (legal && (found < 0 || (v.per_lane == per_lane && v.warps == warps)))
            found = k;
    }
    return found;
}

static void cut_rounds(struct nbody_pairs *p)
{
    const double row = 3.0 * (double)p->padded * sizeof(real);
    const double work = 2.0 * (double)p->padded * (double)p->block;
    int64_t runs = std::min<int64_t>((int64_t)(PASS_BYTES / row) / (p->run + 1),
                                     (int64_t)(PASS_PAIRS / work) / p->run);
    runs = std::max<int64_t>(runs, 1);
    p->group = (int)std::min<int64_t>(runs * p->run, p->rounds);
    p->own_rows = (p->group + p->run - 1) / p->run;
    p->passes = (p->rounds + p->group - 1) / p->group;
}

enum sim_status nbody_pairs_plan(const struct sim_nbody *nbody, struct nbody_pairs *p)
{
    const struct sim_nbody_tuning *forced = &nbody->tuning;
    const struct choice *row = nbody->mixed ? mixed_defaults : defaults;
    while (nbody->n > row->up_to)
        row++;
    p->variant = find_variant(forced, row->per_lane, row->warps);
    if (p->variant < 0 || forced->unroll || forced->split < 0 || forced->split > RUN_MAX)
        return no_such_variant(forced);
    const struct variant &v = variants[p->variant];
    p->block = 32 * v.per_lane * v.warps;
    const int64_t blocks = (nbody->n + p->block - 1) / p->block;
    if (blocks > 1 << 24)
        return sim_fail(SIM_BAD_ARGUMENT, "%lld bodies are too many for symmetric pairs",
                        (long long)nbody->n);
    p->blocks = (int)blocks;
    p->padded = blocks * p->block;
    p->rounds = p->blocks / 2 + 1;
    p->run = std::min(forced->split ? forced->split : row->run, p->rounds);
    p->scale = nbody_pairs_scale(nbody->eps);
    cut_rounds(p);
    return SIM_OK;
}

size_t nbody_pairs_bytes(const struct nbody_pairs *p)
{
    const size_t row = 3 * (size_t)p->padded;
    return row * sizeof(real) * (size_t)(p->group + p->own_rows) + row * sizeof(double);
}

/* Workspace: running, met, own. */
static struct pairs_args arguments(const struct sim_nbody *nbody,
                                   const struct nbody_pairs *p, void *space, int pass)
{
    struct pairs_args f = {};
    const double eps = nbody->eps * p->scale;
    f.position = (const struct sim_real4 *)nbody->position;
    f.met = (real *)((double *)space + 3 * p->padded);
    f.own = f.met + (int64_t)p->group * 3 * p->padded;
    f.n = nbody->n;
    f.padded = p->padded;
    f.blocks = p->blocks;
    f.first = pass * p->group;
    f.last = std::min(f.first + p->group, p->rounds);
    f.run = p->run;
    f.eps2 = (real)(eps * eps);
    f.scale = (real)p->scale;
    f.least =
        nbody->merge_distance > 0 ? NULL : (unsigned long long *)nbody->scratch.data;
    return f;
}

static struct nbody_rows rows_of(const struct nbody_pairs *p, const struct pairs_args &f)
{
    return {f.own,   f.met,  p->padded, (f.last - f.first + f.run - 1) / f.run,
            f.first, f.last, p->blocks, p->block};
}

static void (*kernel_for(const struct sim_nbody *nbody, const struct variant &v,
                         real eps2))(struct pairs_args)
{
    return eps2 > 0 ? (nbody->mixed ? v.mixed : v.kernel) : v.hard;
}

const void *nbody_pairs_tell(const struct sim_nbody *nbody, const struct nbody_pairs *p,
                             struct sim_nbody_kernel *out)
{
    const struct variant &v = variants[p->variant];
    out->threads = out->tile = 32 * v.warps;
    out->per_thread = v.per_lane;
    out->split = p->run;
    return (const void *)kernel_for(nbody, v, (real)(nbody->eps * nbody->eps));
}

/* Large grids: dim3.x is the block, dim3.y (65,535 at most) the run. */
enum sim_status nbody_pairs_pass(struct sim_nbody *nbody, const struct nbody_pairs *p,
                                 void *space, int pass, struct nbody_rows *rows)
{
    const struct variant &v = variants[p->variant];
    const struct pairs_args f = arguments(nbody, p, space, pass);
    *rows = rows_of(p, f);
    SIM_TRY(sim_launch(nbody->device, "computing gravity", kernel_for(nbody, v, f.eps2),
                       dim3((unsigned)p->blocks, (unsigned)rows->own_rows),
                       dim3(32u * (unsigned)v.warps), 0, f));
    if (p->passes == 1)
        return SIM_OK;
    SIM_TRY(sim_launch(nbody->device, "adding forces", collect_kernel,
                       dim3((unsigned)(p->padded / 32)), dim3(32, NBODY_ROWS), 0, *rows,
                       (double *)space, pass > 0));
    rows->own_rows = rows->first = rows->last = 0; /* all is in `running` */
    return SIM_OK;
}
