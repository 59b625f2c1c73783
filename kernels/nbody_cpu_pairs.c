/* nbody_cpu_pairs.c - symmetric all-pairs gravity on the CPU: each pair is computed once
 * and serves both of its bodies, which halves the work of the divider.
 *
 * Equation: nbody_math.h. Without softening each pair is looked at for distance zero, and
 * a body whose row shows one (its own aside) is gone through again to name both. Bodies
 * are cut into blocks of 256, and
 * block I meets block (I + d) mod B in rounds d = 0 .. B/2, itself in round 0; for an
 * even B only the blocks I < B/2 work in the last round. A thread takes a block I through
 * the rounds of a pass: its own sums stay with it, a partner's go to row d, which has one
 * writer a block; then the rows are added in ascending order. A source meets the block's
 * bodies LANES at a time, whose pulls on it are added by a halving tree. So the bits
 * depend neither on threads nor on the processor's vectors.
 *
 * A pair takes a distance, a root, a quotient and the sums, some 70 cycles one after the
 * other, and a processor holds too few pairs at once to fill its units meanwhile. So the
 * three parts work on three sources at a time, by way of two columns:
 * nothing waits inside a turn, and what limits is the multiply-add units.
 *
 * Bodies past the end are copies of the last one without mass.
 *
 * Not here: general softening (nbody_cpu_force.c). */
#include "nbody_cpu.h"

#define ALWAYS static inline __attribute__((always_inline))

#define BLOCK      256
#define LANES      (32 / (int)sizeof(real))
#define ROWS_BYTES ((int64_t)64 << 20) /* of a pass */

/* Bodies side by side. */
typedef real vec __attribute__((vector_size(32), may_alias));
#ifdef SIM_DOUBLE
typedef int64_t mask __attribute__((vector_size(32)));
#else
typedef int32_t mask __attribute__((vector_size(32)));
#endif

/* Their lanes, for what has no operator: such loops become vector instructions. */
union lanes {
    vec all;
    real of[LANES];
};

struct columns {
    real x[BLOCK], y[BLOCK], z[BLOCK];
} __attribute__((aligned(64)));

struct block {
    struct columns at;
    real m[BLOCK];
} __attribute__((aligned(64)));

struct pass {
    const struct nbody_force *f;
    int64_t blocks, first, last; /* rounds first <= d < last */
    struct columns *own;         /* [blocks]: sums of the pass */
    struct columns *met;         /* [last - first][blocks] */
};

ALWAYS void load_block(const struct nbody_force *f, int64_t index, struct block *b)
{
    for (int k = 0; k < BLOCK; k++) {
        const int64_t i = index * BLOCK + k;
        const struct sim_real4 *p = &f->position[i < f->n ? i : f->n - 1];
        b->at.x[k] = p->x;
        b->at.y[k] = p->y;
        b->at.z[k] = p->z;
        b->m[k] = i < f->n ? p->w : 0;
    }
}

/* The LANES elements of a column from i on. */
ALWAYS vec from(const real *column, int i)
{
    return *(const vec *)&column[i];
}

ALWAYS void put(real *column, int i, vec v)
{
    *(vec *)&column[i] = v;
}

ALWAYS vec fused(vec a, vec b, vec c)
{
    union lanes x = {a}, y = {b}, z = {c};
#pragma omp simd
    for (int l = 0; l < LANES; l++)
        z.of[l] = sim_fma(x.of[l], y.of[l], z.of[l]);
    return z.all;
}

ALWAYS vec choose(mask yes, vec a, vec b)
{
    return (vec)(((mask)a & yes) | ((mask)b & ~yes));
}

ALWAYS real fold(vec v)
{
    for (int half = LANES / 2; half >= 1; half /= 2)
        for (int l = 0; l < half; l++)
            v[l] += v[l + half];
    return v[0];
}

/* Two blocks that meet, or a block with itself. */
struct meeting {
    struct block we, they;
    struct columns sum, *pull; /* on us; on them */
    real eps2;
    /* What is known of our pairs with the next of them, and with the one after it. */
    struct {
        real inverse[BLOCK], r2[BLOCK];
    } __attribute__((aligned(64))) ahead;
};

ALWAYS struct sim_real4 body(const struct block *b, int k)
{
    return (struct sim_real4){b->at.x[k], b->at.y[k], b->at.z[k], b->m[k]};
}

/* Of the bodies from i on to body q. */
ALWAYS vec squared_distance(const struct block *we, int i, struct sim_real4 q, real eps2)
{
    const vec dx = q.x - from(we->at.x, i), dy = q.y - from(we->at.y, i),
              dz = q.z - from(we->at.z, i);
    return fused(dx, dx, fused(dy, dy, fused(dz, dz, eps2 - (vec){0})));
}

/* 1/r; 0 at distance zero, if guarded. */
ALWAYS vec invert(vec r2, bool guarded)
{
    union lanes root = {r2};
#pragma omp simd
    for (int l = 0; l < LANES; l++)
        root.of[l] = sim_sqrt(root.of[l]);
    const vec inverse = 1 / root.all;
    return guarded ? choose(r2 < NBODY_TINY, (vec){0}, inverse) : inverse;
}

/* nbody_weight and nbody_guarded_weight */
ALWAYS vec weigh(vec m, vec inverse, bool guarded)
{
    const vec w = (m * inverse) * (inverse * inverse), huge = NBODY_HUGE - (vec){0};
    if (!guarded)
        return w;
    const vec below = choose(w < huge, w, huge);
    return choose(below > -huge, below, -huge);
}

ALWAYS void look_ahead(struct meeting *m, bool guarded)
{
    const struct sim_real4 first = body(&m->they, 0), second = body(&m->they, 1);
    for (int i = 0; i < BLOCK; i += LANES) {
        put(m->ahead.inverse, i,
            invert(squared_distance(&m->we, i, first, m->eps2), guarded));
        put(m->ahead.r2, i, squared_distance(&m->we, i, second, m->eps2));
    }
}

/* Their body k meets all of ours, while the root and the quotient of body k + 1 and the
 * distances of body k + 2 are on their way. In one's own block those before its lanes
 * have met it, and those in its lanes meet it in their turn. Returns how often at
 * distance zero (or beyond the largest number), if guarded. */
ALWAYS int meet_one(struct meeting *m, int k, bool guarded, bool own)
{
    const int first = own ? k - k % LANES : 0;
    const struct sim_real4 q = body(&m->they, k), later = body(&m->they, (k + 2) % BLOCK);
    const real eps2 = m->eps2;
    mask zeros = {0};
    vec px = {0}, py = {0}, pz = {0};
    for (int i = first; i < BLOCK; i += LANES) {
        const vec inverse = from(m->ahead.inverse, i);
        put(m->ahead.inverse, i, invert(from(m->ahead.r2, i), guarded));
        put(m->ahead.r2, i, squared_distance(&m->we, i, later, eps2));
        const vec dx = q.x - from(m->we.at.x, i), dy = q.y - from(m->we.at.y, i),
                  dz = q.z - from(m->we.at.z, i),
                  w = weigh(q.w - (vec){0}, inverse, guarded),
                  back = weigh(from(m->we.m, i), inverse, guarded);
        if (guarded)
            zeros -= inverse == 0;
        put(m->sum.x, i, fused(w, dx, from(m->sum.x, i)));
        put(m->sum.y, i, fused(w, dy, from(m->sum.y, i)));
        put(m->sum.z, i, fused(w, dz, from(m->sum.z, i)));
        if (own && i == first)
            continue;
        px = fused(back, -dx, px);
        py = fused(back, -dy, py);
        pz = fused(back, -dz, pz);
    }
    m->pull->x[k] = fold(px);
    m->pull->y[k] = fold(py);
    m->pull->z[k] = fold(pz);
    int met = 0;
    for (int l = 0; l < LANES && guarded; l++)
        met += (int)zeros[l];
    return met;
}

/* The lowest index of a pair of bodies at one place, of body k of block `partner` with
 * those of block `index`. */
static uint64_t lowest_met(const struct nbody_force *f, int64_t index, int64_t partner,
                           int k)
{
    const int64_t j = partner * BLOCK + k;
    for (int64_t i = index * BLOCK; i < (index + 1) * BLOCK && i < f->n && j < f->n;
         i++) {
        const struct sim_real4 *p = &f->position[i], *q = &f->position[j];
        if (i != j &&
            nbody_r2(q->x - p->x, q->y - p->y, q->z - p->z, f->eps2) < NBODY_TINY)
            return (uint64_t)(i < j ? i : j);
    }
    return UINT64_MAX;
}

ALWAYS void add_columns(struct columns *to, const struct columns *more)
{
    for (int k = 0; k < BLOCK; k++) {
        to->x[k] += more->x[k];
        to->y[k] += more->y[k];
        to->z[k] += more->z[k];
    }
}

/* Block `index` meets block `partner`. Returns the lowest index met, or UINT64_MAX. */
ALWAYS uint64_t meet_block(const struct nbody_force *f, struct meeting *m, int64_t index,
                           int64_t partner, bool guarded, bool own)
{
    uint64_t least = UINT64_MAX;
    m->sum = (struct columns){{0}, {0}, {0}};
    load_block(f, partner, &m->they);
    look_ahead(m, guarded);
    for (int k = 0; k < BLOCK; k++)
        if ((own ? meet_one(m, k, guarded, true) : meet_one(m, k, guarded, false)) >
            own) {
            const uint64_t low = lowest_met(f, index, partner, k);
            least = low < least ? low : least;
        }
    return least;
}

/* Block `index` through the rounds of a pass. */
ALWAYS uint64_t take_block(const struct pass *p, int64_t index, bool guarded)
{
    struct meeting m = {.eps2 = p->f->eps2};
    uint64_t least = UINT64_MAX;
    struct columns total = {{0}, {0}, {0}}, of_own;
    load_block(p->f, index, &m.we);
    for (int64_t d = p->first; d < p->last; d++) {
        if (2 * d == p->blocks && index >= d)
            break;
        const int64_t partner = (index + d) % p->blocks;
        m.pull = d ? &p->met[(d - p->first) * p->blocks + partner] : &of_own;
        const uint64_t low = meet_block(p->f, &m, index, partner, guarded, d == 0);
        least = low < least ? low : least;
        add_columns(&total, &m.sum);
        if (d == 0)
            add_columns(&total, &of_own);
    }
    p->own[index] = total;
    return least;
}

#define VARIANT(isa, attributes)                                                         \
    attributes static uint64_t take_block_##isa(const struct pass *p, int64_t index)     \
    {                                                                                    \
        return p->f->guarded ? take_block(p, index, true) : take_block(p, index, false); \
    }

static bool always(void)
{
    return true;
}

VARIANT(plain, )

#ifdef __x86_64__
VARIANT(avx2, __attribute__((target("avx2,fma"))))
VARIANT(avx512,
        __attribute__((target("avx512f,avx512vl,avx512dq,fma,prefer-vector-width=512"))))

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}
#endif

/* Best first. */
static const struct variant {
    const char *name;
    bool (*supported)(void);
    uint64_t (*take)(const struct pass *, int64_t index); /* lowest index met, or max */
} variants[] = {
#ifdef __x86_64__
    {"AVX-512", has_avx512, take_block_avx512},
    {"AVX2", has_avx2, take_block_avx2},
#endif
    {"plain", always, take_block_plain},
};

const char *nbody_cpu_pairs_name(int variant)
{
    const int count = (int)(sizeof variants / sizeof *variants);
    return variant < count ? variants[variant].name : NULL;
}

/* Body k of block `index`: the pass's rows join the acceleration; the last pass scales.
 */
static void add_rows(const struct pass *p, int64_t index, bool begin, bool end)
{
    const struct nbody_force *f = p->f;
    for (int k = 0; k < BLOCK && index * BLOCK + k < f->n; k++) {
        struct sim_real4 *a = &f->acceleration[index * BLOCK + k];
        real x = p->own[index].x[k], y = p->own[index].y[k], z = p->own[index].z[k];
        for (int64_t d = p->first > 1 ? p->first : 1; d < p->last; d++) {
            if (2 * d == p->blocks && index < d)
                continue; /* nobody wrote there */
            const struct columns *row = &p->met[(d - p->first) * p->blocks + index];
            x += row->x[k];
            y += row->y[k];
            z += row->z[k];
        }
        if (!begin)
            x += a->x, y += a->y, z += a->z;
        real scale =
            end ? f->charge ? -f->G * f->position[index * BLOCK + k].w : f->G : 1;
        *a = (struct sim_real4){scale * x, scale * y, scale * z, 0};
    }
}

static int64_t rows_a_pass(int64_t blocks)
{
    const int64_t rounds = blocks / 2 + 1;
    int64_t rows = ROWS_BYTES / ((int64_t)sizeof(struct columns) * blocks);
    rows = rows < 1 ? 1 : rows;
    return rows < rounds ? rows : rounds;
}

size_t nbody_cpu_pairs_bytes(int64_t n)
{
    const int64_t blocks = (n + BLOCK - 1) / BLOCK;
    return (size_t)((rows_a_pass(blocks) + 1) * blocks) * sizeof(struct columns) + 64;
}

enum sim_status nbody_cpu_pairs(const struct nbody_force *f, int variant, int threads,
                                void *space)
{
    while (!variants[variant].supported())
        variant++;
    uint64_t least = UINT64_MAX;
    struct pass p = {.f = f, .blocks = (f->n + BLOCK - 1) / BLOCK};
    const int64_t rounds = p.blocks / 2 + 1, rows = rows_a_pass(p.blocks);
    p.own = (struct columns *)(((uintptr_t)space + 63) & ~(uintptr_t)63);
    p.met = p.own + p.blocks;
    for (p.first = 0; p.first < rounds; p.first += rows) {
        p.last = p.first + rows < rounds ? p.first + rows : rounds;
#pragma omp parallel for schedule(dynamic) num_threads(threads) \
    reduction(min                                               \
              : least) if (p.blocks > 1)
        for (int64_t b = 0; b < p.blocks; b++)
            if (!sim_interrupt_signal()) {
                const uint64_t met = variants[variant].take(&p, b);
                least = met < least ? met : least;
            }
        SIM_TRY(sim_check_interrupt());
#pragma omp parallel for num_threads(threads) if (p.blocks > 8)
        for (int64_t b = 0; b < p.blocks; b++)
            add_rows(&p, b, p.first == 0, p.last == rounds);
    }
    if (least < *f->least)
        *f->least = least;
    return SIM_OK;
}
