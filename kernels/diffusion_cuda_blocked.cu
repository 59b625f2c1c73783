/* diffusion_cuda_blocked.cu - several steps in one pass over memory, on the GPU.
 *
 * Equation: diffusion_math.h. A warp owns a strip of 32 C columns, C a lane, and streams
 * up the rows of its chunk. For each of T time levels it holds two rows in registers:
 * when row y of level 0 arrives, row y-1 of level 1 is computed from rows y-2, y-1, y of
 * level 0, then row y-2 of level 2, and so on; the last level is stored. Neighbours along
 * x are in the lane itself or come by one shuffle each way per C cells, so there is no
 * shared memory and no barrier. H columns on each side of the strip and T rows at each
 * end of the chunk go bad as levels rise, and are computed again by the neighbours.
 *
 * Walls: the first strip begins at the west wall and the last ends at the east wall, so
 * that the cell outside is always the neighbour of a lane's first or last cell: two fused
 * multiply-adds and a choice, without a branch, where the wall is uniform. Tables of
 * walls and grids narrower than a strip take a slower way (ANY), and so do the rows at
 * the south and north wall. The bits are those of one pass a step. Where an axis is
 * periodic, strips and chunks load what lies round the corner.
 *
 * Chunks are as many as the GPU holds warps at once, so that all begin and end together.
 * Cost per cell and level of pure diffusion: 3 additions, 2 fused multiply-adds, 2/C
 * shuffles; times 32 C/(32 C - 2H) and (1 + 2T/rows). Memory: 2 sizeof(real)/T bytes.
 * Registers: 2 C T a species for the rows, 2 C for rows under way, and some 40.
 *
 * Not here: masks, D or sources as fields, unequal axes (one pass a step does those). */
#include "diffusion_cuda.h"

/* A block is one warp: all branches but a lane's own then depend on the block alone, so
 * that the compiler knows the warp to be whole at every shuffle and orders freely around
 * it. */
enum mode { FREE, UNIFORM, ANY }; /* what the strip has at its sides */

/* The kernel's compile-time half. */
template <int MODEL_, bool SOURCE_, int T_, int C_, int BLOCKS_>
struct form {
    static constexpr enum sim_reaction MODEL = (enum sim_reaction)MODEL_;
    static constexpr bool SOURCE = SOURCE_;
    static constexpr int T = T_, C = C_, S = MODEL_ >= SIM_GRAY_SCOTT ? 2 : 1;
    static constexpr int WIDTH = 32 * C, H = (T + C - 1) / C * C, VALID = WIDTH - 2 * H;
    static constexpr int BLOCKS = BLOCKS_; /* on a multiprocessor: limits registers */
};

/* One warp's place, and a lane's in it. */
template <class F>
struct strip {
    int nx, ny, gx;  /* gx: column of the lane's first cell */
    int from, to;    /* columns that the strip stores */
    bool west, east; /* lane: at the wall is its first cell, its cell `last` */
    int last;
    int quad[F::C / 4]; /* columns to load the lane's cells from, four at a time */
    bool scalar;        /* warp: some lane's cells cannot be had so */
};

/* Outside the south or north wall, four cells. */
static __device__ __noinline__ struct quad wall_row(const struct diffusion_args *a, int s,
                                                    int side, int gx, const real *signal,
                                                    struct quad u0, struct quad u1)
{
    struct quad out;
    for (int k = 0; k < 4; k++)
        out.v[k] = outside(a, s, side, gx + k, signal, u0.v[k], u1.v[k]);
    return out;
}

/* The rows south and north of row r, where walls take their place. */
template <class F>
static __device__ __forceinline__ void
dress_rows(const struct diffusion_args &a, const struct strip<F> &p, const real *signal,
           int r, int s, const real (&at)[F::C], real (&south)[F::C], real (&north)[F::C])
{
#pragma unroll
    for (int q = 0; q < F::C; q += 4) {
        struct quad here, low, high;
#pragma unroll
        for (int k = 0; k < 4; k++)
            here.v[k] = at[q + k], low.v[k] = south[q + k], high.v[k] = north[q + k];
        const struct quad under = low;
        if (r == 0)
            low = wall_row(&a, s, SIM_SOUTH, p.gx + q, signal, here,
                           p.ny > 1 ? high : here);
        if (r == p.ny - 1)
            high = wall_row(&a, s, SIM_NORTH, p.gx + q, signal, here,
                            p.ny > 1 ? under : here);
#pragma unroll
        for (int k = 0; k < 4; k++)
            south[q + k] = low.v[k], north[q + k] = high.v[k];
    }
}

/* Beside a row: w of its first cell, and of each cell what is east of it. `drive`: base +
 * driven w of the lane's own wall. */
template <class F, int MODE>
static __device__ __forceinline__ void
dress_sides(const struct diffusion_args &a, const struct strip<F> &p, const real *signal,
            real drive, int r, int s, const real (&at)[F::C], real *w, real (&e)[F::C])
{
    constexpr int C = F::C;
    if (MODE == UNIFORM) {
        const struct diffusion_edge &low = a.wall[s][SIM_WEST],
                                    &high = a.wall[s][SIM_EAST];
        const real west = sim_fma(low.inner, at[0], sim_fma(low.second, at[1], drive));
        const real east =
            sim_fma(high.inner, at[C - 1], sim_fma(high.second, at[C - 2], drive));
        *w = p.west ? west : *w;
        e[C - 1] = p.east ? east : e[C - 1];
    }
    if (MODE == ANY) {
        const real beside = *w;
        if (p.west)
            *w = outside(&a, s, SIM_WEST, r, signal, at[0], p.nx > 1 ? at[1] : at[0]);
        if (p.east) {
            real u0 = at[0], u1 = beside;
#pragma unroll
            for (int k = 1; k < C; k++)
                if (p.last == k)
                    u0 = at[k], u1 = at[k - 1];
            const real g = outside(&a, s, SIM_EAST, r, signal, u0, p.nx > 1 ? u1 : u0);
#pragma unroll
            for (int k = 0; k < C; k++)
                e[k] = p.last == k ? g : e[k];
        }
    }
}

/* Row r of the next level from rows below, at, above; into out. */
template <class F, int MODE, bool CAREFUL>
static __device__ __forceinline__ void
make_row(const struct diffusion_args &a, const struct strip<F> &p, const real *signal,
         const real (&drive)[F::S], int r, const real (&below)[F::S][F::C],
         const real (&at)[F::S][F::C], const real (&above)[F::S][F::C],
         real (&out)[F::S][F::C])
{
    real south[F::S][F::C], north[F::S][F::C], e[F::S][F::C], w[F::S];
#pragma unroll
    for (int s = 0; s < F::S; s++) {
        w[s] = __shfl_up_sync(EVERY_LANE, at[s][F::C - 1], 1);
        e[s][F::C - 1] = __shfl_down_sync(EVERY_LANE, at[s][0], 1);
#pragma unroll
        for (int k = 0; k < F::C; k++)
            south[s][k] = below[s][k], north[s][k] = above[s][k];
#pragma unroll
        for (int k = 0; k < F::C - 1; k++)
            e[s][k] = at[s][k + 1];
        dress_sides<F, MODE>(a, p, signal, drive[s], r, s, at[s], &w[s], e[s]);
        if (CAREFUL && !a.periodic_y && (r == 0 || r == p.ny - 1))
            dress_rows<F>(a, p, signal, r, s, at[s], south[s], north[s]);
    }
#pragma unroll
    for (int k = 0; k < F::C; k++) {
        struct diffusion_star u;
        real value[SIM_SPECIES_MAX];
#pragma unroll
        for (int s = 0; s < F::S; s++) {
            u.c[s] = at[s][k], u.s[s] = south[s][k], u.n[s] = north[s][k];
            u.w[s] = k > 0 ? at[s][k > 0 ? k - 1 : 0] : w[s];
            u.e[s] = e[s][k];
        }
        diffusion_cell(F::MODEL, true, F::SOURCE && a.has_source, &a, signal, &u, value);
#pragma unroll
        for (int s = 0; s < F::S; s++)
            out[s][k] = value[s];
    }
}

/* What the levels keep: rows[t][0] and rows[t][1] take turns to be the older. drive: see
 * dress_sides. */
template <class F>
struct levels {
    real rows[F::T][2][F::S][F::C], drive[F::T][F::S];
};

/* Row y of level 0 goes in by `row`, row y - T of level T comes out in it. ODD says which
 * of the levels' rows is the older. */
template <class F, int MODE, bool CAREFUL, int ODD>
static __device__ __forceinline__ void
climb(const struct diffusion_args &a, const struct strip<F> &p, const real *signal, int y,
      struct levels<F> &of, real (&row)[F::S][F::C])
{
#pragma unroll
    for (int t = 0; t < F::T; t++) {
        real out[F::S][F::C];
        make_row<F, MODE, CAREFUL>(a, p, signal + t * a.signal_stride, of.drive[t],
                                   y - t - 1, of.rows[t][ODD], of.rows[t][1 - ODD], row,
                                   out);
#pragma unroll
        for (int s = 0; s < F::S; s++)
#pragma unroll
            for (int k = 0; k < F::C; k++) {
                of.rows[t][ODD][s][k] = row[s][k];
                row[s][k] = out[s][k];
            }
    }
}

/* The strip's part of a row; columns beyond the array are whatever can be read. */
template <class F, int MODE>
static __device__ __forceinline__ void take_row(const struct diffusion_args &a,
                                                const struct strip<F> &p, int64_t member,
                                                int row, real (&out)[F::S][F::C])
{
    const int64_t base = member + (int64_t)row * a.pitch;
#pragma unroll
    for (int s = 0; s < F::S; s++) {
        const real *from = a.now[s] + base;
        if (MODE != FREE && p.scalar) {
#pragma unroll
            for (int k = 0; k < F::C; k++)
                out[s][k] =
                    __ldg(from + (MODE == ANY && a.periodic_x ? wrapped(p.gx + k, p.nx)
                                                              : p.gx + k));
        } else {
#pragma unroll
            for (int q = 0; q < F::C / 4; q++) {
                const struct quad v = load_quad(from + p.quad[q]);
#pragma unroll
                for (int k = 0; k < 4; k++)
                    out[s][4 * q + k] = v.v[k];
            }
        }
    }
}

template <class F, int MODE>
static __device__ __forceinline__ void put_row(const struct diffusion_args &a,
                                               const struct strip<F> &p, int64_t member,
                                               int row, const real (&v)[F::S][F::C])
{
    const int64_t base = member + (int64_t)row * a.pitch + p.gx;
#pragma unroll
    for (int s = 0; s < F::S; s++) {
        real *to = a.next[s] + base;
        if (MODE != FREE && p.scalar) {
#pragma unroll
            for (int k = 0; k < F::C; k++)
                if (p.gx + k >= p.from && p.gx + k < p.to)
                    to[k] = v[s][k];
        } else {
#pragma unroll
            for (int q = 0; q < F::C; q += 4) /* the pitch leaves room for four */
                if (p.gx + q >= p.from && p.gx + q < p.to)
                    store_quad(to + q, &v[s][q]);
        }
    }
}

/* A warp's rows: those under way, and which comes next. */
template <class F>
struct feed {
    real ahead[2][F::S][F::C];
    int64_t member;
    int next; /* the row to load next */
};

template <class F, int MODE>
static __device__ __forceinline__ void fetch(const struct diffusion_args &a,
                                             const struct strip<F> &p, struct feed<F> &in)
{
#pragma unroll
    for (int n = 0; n < 2; n++) {
        take_row<F, MODE>(a, p, in.member, in.next, in.ahead[n]);
        if (in.next + 1 < p.ny)
            in.next++;
        else if (a.periodic_y)
            in.next = 0;
    }
}

/* Two rows a turn, so that no register moves. */
template <class F, int MODE, bool CAREFUL>
static __device__ __forceinline__ void
turn(const struct diffusion_args &a, const struct strip<F> &p, const real *signal, int y,
     int y0, int y1, struct feed<F> &in, struct levels<F> &of)
{
    real row[2][F::S][F::C];
#pragma unroll
    for (int n = 0; n < 2; n++)
#pragma unroll
        for (int s = 0; s < F::S; s++)
#pragma unroll
            for (int k = 0; k < F::C; k++)
                row[n][s][k] = in.ahead[n][s][k];
    fetch<F, MODE>(a, p, in);
    climb<F, MODE, CAREFUL, 0>(a, p, signal, y, of, row[0]);
    climb<F, MODE, CAREFUL, 1>(a, p, signal, y + 1, of, row[1]);
#pragma unroll
    for (int n = 0; n < 2; n++) {
        const int j = y + n - F::T;
        if (j >= y0 && j < y1)
            put_row<F, MODE>(a, p, in.member, j, row[n]);
    }
}

/* base + driven w at every level, of the lane's own wall. */
template <class F>
static __device__ __forceinline__ void
take_drive(const struct diffusion_args &a, const struct strip<F> &p, const real *signal,
           struct levels<F> &of)
{
#pragma unroll
    for (int t = 0; t < F::T; t++)
#pragma unroll
        for (int s = 0; s < F::S; s++) {
            const struct diffusion_edge &low = a.wall[s][SIM_WEST],
                                        &high = a.wall[s][SIM_EAST];
            const real *now = signal + t * a.signal_stride;
            of.drive[t][s] =
                p.east ? sim_fma(high.driven, now[a.wall_signal[s][SIM_EAST]], high.base)
                       : sim_fma(low.driven, now[a.wall_signal[s][SIM_WEST]], low.base);
        }
}

/* Rows y0 <= j < y1 of the strip. */
template <class F, int MODE>
static __device__ __forceinline__ void
stream(const struct diffusion_args &a, const struct strip<F> &p, const real *signal,
       int64_t member, int y0, int y1)
{
    const int first = a.periodic_y || y0 > F::T ? y0 - F::T : 0, end = y1 + F::T;
    struct levels<F> of;
    struct feed<F> in;
#pragma unroll
    for (int t = 0; t < F::T; t++)
#pragma unroll
        for (int s = 0; s < F::S; s++)
#pragma unroll
            for (int k = 0; k < F::C; k++)
                of.rows[t][0][s][k] = of.rows[t][1][s][k] = 0;
    if (MODE == UNIFORM)
        take_drive<F>(a, p, signal, of);
    in.member = member;
    in.next = a.periodic_y ? wrapped(first, p.ny) : first;
    fetch<F, MODE>(a, p, in);
    /* rows near the south or north wall; the hot loop is the inner one */
    const int low = a.periodic_y ? first - 1 : F::T;
    const int high = a.periodic_y || p.ny - 1 > end ? end : p.ny - 1;
    for (int y = first; y < end;) {
        if (MODE == ANY || y <= low || y + 1 > high) {
            turn<F, MODE, true>(a, p, signal, y, y0, y1, in, of);
            y += 2;
        }
        if (MODE != ANY)
            for (; y > low && y + 1 <= high && y < end; y += 2)
                turn<F, MODE, false>(a, p, signal, y, y0, y1, in, of);
    }
}

template <class F>
static __device__ struct strip<F> find_strip(const struct diffusion_args &a, int index,
                                             int strips) {
    struct strip<F> p;
    p.nx = (int)a.nx, p.ny = (int)a.ny;
    const bool closed = !a.periodic_x, first = index == 0, last = index == strips - 1;
    const int lane = threadIdx.x;
    int left = index * F::VALID - (closed ? 0 : F::H);
    p.from = closed && first ? 0 : left + F::H;
    p.to = last ? p.nx : left + F::H + F::VALID;
    if (closed && last && p.nx > F::WIDTH)
        left = p.nx - F::WIDTH;
    p.gx = left + F::C * lane;
    p.last = (p.nx - 1) % F::C;
    p.west = closed && first && lane == 0;
    p.east = closed && last && p.nx - 1 >= p.gx && p.nx - 1 < p.gx + F::C;
    if (p.nx > F::WIDTH)
        p.last = F::C - 1;
    p.scalar =
        closed ? left % 4 != 0 : p.nx % 4 != 0 && (left < 0 || left + F::WIDTH > p.nx);
#pragma unroll
    for (int q = 0; q < F::C / 4; q++) {
        const int at = closed ? p.gx + 4 * q : wrapped(p.gx + 4 * q, p.nx);
        p.quad[q] = at < (int)a.pitch - 4 ? at : (int)a.pitch - 4;
    }
    return p;
}

template <class F>
static __global__ void __launch_bounds__(32, F::BLOCKS)
    blocked_kernel(const __grid_constant__ struct diffusion_args a, const real *signal,
                   int strips, int chunks, int rows)
{
    /* strips at walls take longest, so they come first */
    const int order = blockIdx.x / chunks, chunk = blockIdx.x % chunks;
    const int index = order == 0 ? 0 : order == 1 ? strips - 1 : order - 1;
    const struct strip<F> p = find_strip<F>(a, index, strips);
    const bool west = !a.periodic_x && index == 0;
    const bool east = !a.periodic_x && index == strips - 1;
    bool uniform = p.nx >= F::WIDTH && !(a.periodic_x && p.scalar);
    for (int s = 0; s < F::S; s++)
        uniform = uniform && (!west || a.uniform[s][SIM_WEST]) &&
                  (!east || a.uniform[s][SIM_EAST]);
    const int64_t member = (int64_t)blockIdx.z * a.member;
    const int y0 = chunk * rows, y1 = y0 + rows < p.ny ? y0 + rows : p.ny;
    if (!west && !east && uniform)
        stream<F, FREE>(a, p, signal, member, y0, y1);
    else if (uniform)
        stream<F, UNIFORM>(a, p, signal, member, y0, y1);
    else
        stream<F, ANY>(a, p, signal, member, y0, y1);
}

/* --- which there are ---------------------------------------------------------------- */

struct entry {
    enum sim_reaction model;
    bool source; /* constant sources are possible */
    int depth, cells, width, valid;
    void (*kernel)(struct diffusion_args, const real *, int, int, int);
};

#define ENTRY(MODEL, SOURCE, T, C, BLOCKS)                                     \
    {                                                                          \
        MODEL, SOURCE, T, C, 32 * C, form<MODEL, SOURCE, T, C, BLOCKS>::VALID, \
            blocked_kernel<form<MODEL, SOURCE, T, C, BLOCKS>>                  \
    }

/* For the same depth, what is best first. */
static const struct entry entries[] = {
#ifdef SIM_DOUBLE
    ENTRY(SIM_REACTION_NONE, false, 1, 4, 16), ENTRY(SIM_REACTION_NONE, false, 2, 4, 12),
    ENTRY(SIM_REACTION_NONE, false, 4, 4, 12), ENTRY(SIM_REACTION_NONE, false, 8, 4, 8),
    ENTRY(SIM_REACTION_NONE, true, 4, 4, 12),  ENTRY(SIM_GRAY_SCOTT, false, 2, 4, 12),
    ENTRY(SIM_GRAY_SCOTT, false, 4, 4, 8),
#else
    ENTRY(SIM_REACTION_NONE, false, 1, 8, 16),  ENTRY(SIM_REACTION_NONE, false, 2, 8, 16),
    ENTRY(SIM_REACTION_NONE, false, 4, 8, 12),  ENTRY(SIM_REACTION_NONE, false, 6, 4, 16),
    ENTRY(SIM_REACTION_NONE, false, 8, 4, 16),  ENTRY(SIM_REACTION_NONE, false, 8, 8, 8),
    ENTRY(SIM_REACTION_NONE, false, 12, 4, 12), ENTRY(SIM_REACTION_NONE, true, 4, 8, 12),
    ENTRY(SIM_GRAY_SCOTT, false, 2, 4, 16),     ENTRY(SIM_GRAY_SCOTT, false, 4, 4, 12),
    ENTRY(SIM_GRAY_SCOTT, false, 8, 4, 8),
#endif
};

static const struct entry *best_entry(const struct sim_diffusion_system *system,
                                      int64_t most)
{
    const struct diffusion_args a = diffusion_args_of(system);
    const int cells = system->tuning.cells;
    const struct entry *best = NULL;
    if (!diffusion_is_constant(system) || !a.isotropic)
        return NULL;
    for (const struct entry &e : entries)
        if (e.model == system->reaction && (e.source || !a.has_source) &&
            e.depth <= most &&
            (!best || e.depth > best->depth ||
             (e.depth == best->depth && e.cells == cells)))
            best = &e;
    return best;
}

int diffusion_blocked_depth(const struct sim_diffusion_system *system, int64_t most)
{
    const struct entry *entry = best_entry(system, most);
    return entry ? entry->depth : 0;
}

/* --- how the work is cut ------------------------------------------------------------ */

#define WAVES_MOST 4
/* A wave's start, in rows: what passes until the first rows have come from memory. */
#define START_ROWS 6
/* Shorter chunks would do more rows twice than once, for no gain in the time of a warp.
 */
#define ROWS_LEAST 4

static int strips_of(const struct entry *e, const struct sim_diffusion_system *system)
{
    const int64_t nx = system->nx;
    if (system->periodic_x)
        return (int)((nx + e->valid - 1) / e->valid);
    /* the outermost strips have no neighbour at the wall, and store what lies there */
    return nx <= e->width ? 1 : (int)(1 + (nx - e->width + e->valid - 1) / e->valid);
}

/* Fillings of the GPU: measured, see docs/performance.md. More than one where a warp's
 * work is heavy and the grid large, since the multiprocessors do not go at one pace; 0:
 * as the cost says. */
static int waves_best(const struct entry *e, const struct sim_diffusion_system *system)
{
    const int64_t cells = system->nx * system->ny * system->count;
    if (system->tuning.waves)
        return system->tuning.waves;
    if (sizeof(real) * (size_t)system->species < 8 || e->depth < 8 || cells < 12000000)
        return 0;
    return cells < 30000000 ? 3 : 4;
}

/* Rows a chunk: such that the warps that the GPU holds at once are just enough for all,
 * or twice as many, and so on, whichever is done first. */
static int chunk_rows(const struct entry *e, const struct sim_diffusion_system *system,
                      int64_t columns, int64_t resident)
{
    const int64_t ny = system->ny;
    const int asked = waves_best(e, system);
    int64_t best = ny, best_cost = INT64_MAX;
    if (system->tuning.rows)
        return (int)(system->tuning.rows < ny ? system->tuning.rows : ny);
    for (int waves = asked ? asked : 1; waves <= (asked ? asked : WAVES_MOST); waves++) {
        const int64_t chunks = resident * waves / columns;
        int64_t rows = chunks < 1 ? ny : (ny + chunks - 1) / chunks;
        rows = rows < ROWS_LEAST ? ROWS_LEAST : rows;
        const int64_t work = columns * ((ny + rows - 1) / rows);
        const int64_t turns = (work + resident - 1) / resident;
        const int64_t cost = turns * (rows + 2 * e->depth + START_ROWS);
        if (cost < best_cost)
            best = rows, best_cost = cost;
    }
    return (int)(best < ny ? best : ny);
}

enum sim_status diffusion_blocked_cuda(const struct sim_diffusion_system *system,
                                       int depth, const real *signal)
{
    const struct entry *entry = best_entry(system, depth);
    const struct diffusion_args a = diffusion_args_of(system);
    const int strips = strips_of(entry, system);
    int blocks = 1;
    SIM_TRY(sim_cuda_status(
        system->device,
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, entry->kernel, 32, 0),
        "asking for the occupancy"));
    const int rows = chunk_rows(entry, system, strips * system->count,
                                (int64_t)blocks * system->device->multiprocessors);
    const int chunks = (int)((system->ny + rows - 1) / rows);
    const dim3 grid((unsigned)strips * (unsigned)chunks, 1, (unsigned)system->count);
    return sim_launch(system->device, "blocked diffusion", entry->kernel, grid, dim3(32),
                      0, a, signal, strips, chunks, rows);
}
