/* diffusion_cuda_blocked.cu - several steps in one pass over memory, on the GPU.
 *
 * Equation: diffusion_math.h. A warp owns a strip of 128 columns, four a lane, and
 * streams up the rows of its chunk. For each of T time levels it holds two rows in
 * registers: when row y of level 0 arrives, row y-1 of level 1 is computed from rows y-2,
 * y-1, y of level 0, then row y-2 of level 2, and so on; the last level is stored.
 * Neighbours along x are in the lane itself or come by one shuffle each way per four
 * cells, so there is no shared memory and no barrier. H columns on each side of the strip
 * and T rows at each end of the chunk go bad as levels rise, and are computed again by
 * the neighbours.
 *
 * Walls: at the strips and rows that touch one, the cell outside is replaced at every
 * level by its rule (diffusion_outside), as one pass a step would do it: the bits are the
 * same. Where an axis is periodic, strips and chunks load what lies round the corner.
 *
 * Cost per cell and level of pure diffusion: 3 additions, 2 fused multiply-adds, half a
 * shuffle; times 128/(128 - 2H) and (1 + 2T/rows). Memory: 2 sizeof(real)/T bytes.
 * Registers: 8 T a species for the rows, and some 30.
 *
 * Not here: masks, D or sources as fields (one pass a step does those). */
#include "diffusion_cuda.h"

/* A block is one warp: all branches but a lane's own then depend on the block alone, so
 * that the compiler knows the warp to be whole at every shuffle and orders freely around
 * it. */
#define WIDTH 128

/* One warp's place, and a lane's in it. */
struct strip {
    int gx; /* column of the lane's first cell */
    int nx, ny;
    bool west, east; /* warp: the cell outside the wall lies in the strip */
};

/* The kernel's compile-time half. */
template <int MODEL_, bool ISO_, bool SOURCE_, int T_>
struct form {
    static constexpr enum sim_reaction MODEL = (enum sim_reaction)MODEL_;
    static constexpr bool ISO = ISO_, SOURCE = SOURCE_;
    static constexpr int T = T_, S = MODEL_ >= SIM_GRAY_SCOTT ? 2 : 1;
    static constexpr int H = (T_ + 3) / 4 * 4, VALID = WIDTH - 2 * H;
    /* a path of its own for strips between walls: no branch breaks the flow of its levels
     */
    static constexpr bool SPLIT =
        ISO_ && !SOURCE_ && (MODEL_ == SIM_REACTION_NONE || MODEL_ == SIM_GRAY_SCOTT);
    /* blocks a multiprocessor: leaves 128 or 168 registers a thread */
    static constexpr int BLOCKS = (int)sizeof(real) * T * S <= 16 ? 16 : 12;
};

static __device__ __forceinline__ int wrapped(int k, int n)
{
    k %= n;
    return k < 0 ? k + n : k;
}

/* A wall's numbers at its cell k; lanes and rows outside the domain may ask, and get
 * some. */
static __device__ __forceinline__ real outside(const struct diffusion_args &a, int s,
                                               int side, int k, const real *signal,
                                               real u0, real u1)
{
    const bool along_y = side == SIM_WEST || side == SIM_EAST;
    const int n = (int)(along_y ? a.ny : a.nx);
    if (k < 0 || k >= n)
        k = (along_y ? a.periodic_y : a.periodic_x) ? wrapped(k, n) : k < 0 ? 0 : n - 1;
    return diffusion_outside(&a, s, side, k, signal, u0, u1);
}

/* Outside the south or north wall: rare, so not worth a place among the hot code. */
static __device__ __noinline__ struct quad wall_row(const struct diffusion_args *a, int s,
                                                    int side, int gx, const real *signal,
                                                    struct quad u0, struct quad u1)
{
    struct quad out;
    for (int k = 0; k < 4; k++)
        out.v[k] = outside(*a, s, side, gx + k, signal, u0.v[k], u1.v[k]);
    return out;
}

/* Put into row r the cells that stand outside the west and east walls, for use by the
 * step whose signals are given. */
template <class F>
static __device__ __forceinline__ void dress(const struct diffusion_args &a,
                                             const struct strip &p, const real *signal,
                                             int r, real (&row)[F::S][4])
{
    if (p.west) {
#pragma unroll
        for (int s = 0; s < F::S; s++) {
            const real u0 = __shfl_down_sync(EVERY_LANE, row[s][0], 1);
            const real u1 = __shfl_down_sync(EVERY_LANE, row[s][1], 1);
            if (p.gx == -4)
                row[s][3] = outside(a, s, SIM_WEST, r, signal, u0, p.nx > 1 ? u1 : u0);
        }
    }
    if (p.east) {
        const int at = p.nx & 3;
#pragma unroll
        for (int s = 0; s < F::S; s++) {
            const real third = __shfl_up_sync(EVERY_LANE, row[s][2], 1);
            const real fourth = __shfl_up_sync(EVERY_LANE, row[s][3], 1);
            const real u0 = at == 0   ? fourth
                            : at == 1 ? row[s][0]
                            : at == 2 ? row[s][1]
                                      : row[s][2];
            const real u1 = at == 0   ? third
                            : at == 1 ? fourth
                            : at == 2 ? row[s][0]
                                      : row[s][1];
            if (p.gx == p.nx - at) {
                const real g = outside(a, s, SIM_EAST, r, signal, u0, p.nx > 1 ? u1 : u0);
                row[s][0] = at == 0 ? g : row[s][0];
                row[s][1] = at == 1 ? g : row[s][1];
                row[s][2] = at == 2 ? g : row[s][2];
                row[s][3] = at == 3 ? g : row[s][3];
            }
        }
    }
}

/* Row r of the next level from rows below, at, above; into out. */
template <class F, bool CAREFUL>
static __device__ __forceinline__ void
make_row(const struct diffusion_args &a, const struct strip &p, const real *signal, int r,
         const real (&below)[F::S][4], const real (&at)[F::S][4],
         const real (&above)[F::S][4], real (&out)[F::S][4])
{
    struct quad south[F::S], north[F::S];
    real w[F::S], e[F::S];
#pragma unroll
    for (int s = 0; s < F::S; s++) {
        w[s] = __shfl_up_sync(EVERY_LANE, at[s][3], 1);
        e[s] = __shfl_down_sync(EVERY_LANE, at[s][0], 1);
        struct quad here;
#pragma unroll
        for (int k = 0; k < 4; k++)
            south[s].v[k] = below[s][k], north[s].v[k] = above[s][k],
            here.v[k] = at[s][k];
        if (CAREFUL && (r == 0 || r == p.ny - 1)) {
            const struct quad low = south[s], high = north[s];
            if (r == 0)
                south[s] = wall_row(&a, s, SIM_SOUTH, p.gx, signal, here,
                                    p.ny > 1 ? high : here);
            if (r == p.ny - 1)
                north[s] =
                    wall_row(&a, s, SIM_NORTH, p.gx, signal, here, p.ny > 1 ? low : here);
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        struct diffusion_star u;
        real value[SIM_SPECIES_MAX];
#pragma unroll
        for (int s = 0; s < F::S; s++) {
            u.c[s] = at[s][k], u.s[s] = south[s].v[k], u.n[s] = north[s].v[k];
            u.w[s] = k > 0 ? at[s][k > 0 ? k - 1 : 0] : w[s];
            u.e[s] = k < 3 ? at[s][k < 3 ? k + 1 : 3] : e[s];
        }
        diffusion_cell(F::MODEL, F::ISO, F::SOURCE && a.has_source, &a, signal, &u,
                       value);
#pragma unroll
        for (int s = 0; s < F::S; s++)
            out[s][k] = value[s];
    }
}

/* Row y of level 0 goes in by `row`, row y - T of level T comes out in it. rows[t][0] and
 * rows[t][1] take turns to be the older; ODD says whose turn it is. */
template <class F, bool X_WALL, bool CAREFUL, int ODD>
static __device__ __forceinline__ void
climb(const struct diffusion_args &a, const struct strip &p, const real *signal, int y,
      real (&rows)[F::T][2][F::S][4], real (&row)[F::S][4])
{
#pragma unroll
    for (int t = 0; t < F::T; t++) {
        const real *now = signal + t * a.signal_stride;
        real out[F::S][4];
        if (X_WALL)
            dress<F>(a, p, now, y - t, row);
        make_row<F, CAREFUL>(a, p, now, y - t - 1, rows[t][ODD], rows[t][1 - ODD], row,
                             out);
#pragma unroll
        for (int s = 0; s < F::S; s++)
#pragma unroll
            for (int k = 0; k < 4; k++) {
                rows[t][ODD][s][k] = row[s][k];
                row[s][k] = out[s][k];
            }
    }
}

/* The strip's part of row `at` (a row's offset). Columns outside a wall are zero. */
template <class F>
static __device__ __forceinline__ void
take_row(const struct diffusion_args &a, const struct strip &p, int64_t member, int row,
         bool inside, real (&out)[F::S][4])
{
    const bool whole = p.gx >= 0 && p.gx + 4 <= p.nx;
#pragma unroll
    for (int s = 0; s < F::S; s++) {
        const real *from = a.now[s] + member + (int64_t)row * a.pitch;
#pragma unroll
        for (int k = 0; k < 4; k++)
            out[s][k] = 0;
        if (inside && whole) {
            const struct quad q = load_quad(from + p.gx);
#pragma unroll
            for (int k = 0; k < 4; k++)
                out[s][k] = q.v[k];
        } else if (inside && (a.periodic_x || (p.gx + 3 >= 0 && p.gx < p.nx))) {
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (a.periodic_x || (p.gx + k >= 0 && p.gx + k < p.nx))
                    out[s][k] = __ldg(from + wrapped(p.gx + k, p.nx));
        }
    }
}

template <class F>
static __device__ __forceinline__ void put_row(const struct diffusion_args &a,
                                               int64_t member, int row, int gx,
                                               const real (&v)[F::S][4])
{
#pragma unroll
    for (int s = 0; s < F::S; s++) /* the pitch leaves room for four */
        store_quad(a.next[s] + member + (int64_t)row * a.pitch + gx, v[s]);
}

/* Rows y0 <= j < y1 of the strip. Two rows a turn, so that no register moves. */
template <class F, bool X_WALL>
static __device__ __forceinline__ void stream(const struct diffusion_args &a,
                                              const struct strip &p, const real *signal,
                                              int64_t member, int y0, int y1, bool keep)
{
    const int first = a.periodic_y || y0 > F::T ? y0 - F::T : 0;
    real rows[F::T][2][F::S][4], ahead[2][F::S][4];
#pragma unroll
    for (int t = 0; t < F::T; t++)
#pragma unroll
        for (int s = 0; s < F::S; s++)
#pragma unroll
            for (int k = 0; k < 4; k++)
                rows[t][0][s][k] = rows[t][1][s][k] = 0;
    int from = a.periodic_y ? wrapped(first, p.ny) : first; /* the row to load next */
#pragma unroll
    for (int n = 0; n < 2; n++) {
        take_row<F>(a, p, member, from, from < p.ny, ahead[n]);
        from = from + 1 >= p.ny && a.periodic_y ? 0 : from + 1;
    }
    for (int y = first; y < y1 + F::T; y += 2) {
        real row[2][F::S][4];
#pragma unroll
        for (int n = 0; n < 2; n++) {
#pragma unroll
            for (int s = 0; s < F::S; s++)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    row[n][s][k] = ahead[n][s][k];
        }
#pragma unroll
        for (int n = 0; n < 2; n++) {
            take_row<F>(a, p, member, from, from < p.ny && y + 2 + n < y1 + F::T,
                        ahead[n]);
            from = from + 1 >= p.ny && a.periodic_y ? 0 : from + 1;
        }
        if (!a.periodic_y && (y <= F::T || y + 1 >= p.ny)) {
            climb<F, X_WALL, true, 0>(a, p, signal, y, rows, row[0]);
            climb<F, X_WALL, true, 1>(a, p, signal, y + 1, rows, row[1]);
        } else {
            climb<F, X_WALL, false, 0>(a, p, signal, y, rows, row[0]);
            climb<F, X_WALL, false, 1>(a, p, signal, y + 1, rows, row[1]);
        }
#pragma unroll
        for (int n = 0; n < 2; n++) {
            const int j = y + n - F::T;
            if (keep && j >= y0 && j < y1)
                put_row<F>(a, member, j, p.gx, row[n]);
        }
    }
}

template <class F>
static __global__ void __launch_bounds__(32, F::BLOCKS)
    blocked_kernel(const __grid_constant__ struct diffusion_args a, const real *signal,
                   int rows)
{
    const int lane = threadIdx.x, index = blockIdx.x;
    struct strip p;
    const int left = index * F::VALID - F::H;
    p.nx = (int)a.nx, p.ny = (int)a.ny;
    p.gx = left + 4 * lane;
    p.west = !a.periodic_x && left < 0;
    p.east = !a.periodic_x && left + WIDTH > p.nx;
    const int64_t member = (int64_t)blockIdx.z * a.member;
    const int y0 = blockIdx.y * rows, y1 = y0 + rows < p.ny ? y0 + rows : p.ny;
    const bool keep = 4 * lane >= F::H && 4 * lane < WIDTH - F::H && p.gx < p.nx;
    if (F::SPLIT && !p.west && !p.east)
        stream<F, false>(a, p, signal, member, y0, y1, keep);
    else
        stream<F, true>(a, p, signal, member, y0, y1, keep);
}

/* --- which there are ---------------------------------------------------------------- */

struct entry {
    enum sim_reaction model;
    bool isotropic, source; /* source: constant sources are possible */
    int depth, valid;
    void (*kernel)(struct diffusion_args, const real *, int);
};

#define ENTRY(MODEL, ISO, SOURCE, T)                               \
    {                                                              \
        MODEL, ISO, SOURCE, T, form<MODEL, ISO, SOURCE, T>::VALID, \
            blocked_kernel<form<MODEL, ISO, SOURCE, T>>            \
    }

static const struct entry entries[] = {
    ENTRY(SIM_REACTION_NONE, true, false, 2),  ENTRY(SIM_REACTION_NONE, true, false, 4),
    ENTRY(SIM_REACTION_NONE, true, false, 8),
#ifndef SIM_DOUBLE
    ENTRY(SIM_REACTION_NONE, true, false, 12),
#endif
    ENTRY(SIM_REACTION_NONE, true, true, 4),   ENTRY(SIM_GRAY_SCOTT, true, false, 2),
    ENTRY(SIM_GRAY_SCOTT, true, false, 4),
};

static bool serves(const struct entry *e, const struct diffusion_args *a,
                   const struct sim_diffusion_system *system)
{
    return e->model == system->reaction && e->isotropic == a->isotropic &&
           (e->source || !a->has_source);
}

static const struct entry *best_entry(const struct sim_diffusion_system *system,
                                      int64_t most)
{
    const struct diffusion_args a = diffusion_args_of(system);
    const struct entry *best = NULL;
    if (!diffusion_is_constant(system))
        return NULL;
    for (const struct entry &e : entries)
        if (e.depth <= most && serves(&e, &a, system) && (!best || e.depth > best->depth))
            best = &e;
    return best;
}

int diffusion_blocked_depth(const struct sim_diffusion_system *system, int64_t most)
{
    const struct entry *entry = best_entry(system, most);
    return entry ? entry->depth : 0;
}

/* Rows a chunk. Many short chunks hide the latency of memory better than few long ones
 * save rows computed twice: measured on an H200, 32 rows win up to 8192^2 and 64 above.
 */
static int chunk_rows(const struct sim_diffusion_system *system)
{
    const double cells = (double)system->nx * (double)system->ny * (double)system->count;
    int64_t rows = system->tuning.rows;
    if (!rows)
        rows = cells >= 1.5e8 ? 64 : 32;
    rows = rows < system->ny ? rows : system->ny;
    const int64_t smallest =
        (system->ny + 65534) / 65535; /* a grid's height is limited */
    return (int)(rows < smallest ? smallest : rows);
}

enum sim_status diffusion_blocked_cuda(const struct sim_diffusion_system *system,
                                       int depth, const real *signal)
{
    const struct entry *entry = best_entry(system, depth);
    const struct diffusion_args a = diffusion_args_of(system);
    const int strips = (int)((system->nx + entry->valid - 1) / entry->valid);
    const int rows = chunk_rows(system);
    const dim3 grid((unsigned)strips, (unsigned)((system->ny + rows - 1) / rows),
                    (unsigned)system->count);
    return sim_launch(system->device, "blocked diffusion", entry->kernel, grid, dim3(32),
                      0, a, signal, rows);
}
