/* diffusion_cuda_line.cu - implicit sweeps on the GPU: tridiagonal solves line by line.
 *
 * Formulas: diffusion_line_math.h; the same order along a line as on the CPU, and so the
 * same bits. A thread has a line. Along y neighbouring threads have neighbouring columns,
 * and all they load and store is coalesced (columns_kernel). Along x a warp has 32 rows:
 * it works out tiles of 32 by 32 rows of the system with its lanes along the rows, turns
 * them in shared memory, eliminates with a lane a row, and turns the result back
 * (rows_kernel). Scratch holds p, and z of periodic lines; y lies where the result will.
 *
 * Not here: lines cut into pieces (parallel cyclic reduction). With few lines, as on
 * small grids, most of the GPU idles. */
#include "diffusion_cuda.h"

#include "diffusion_line_math.h"

#define TILE  32
#define BLOCK 128

static __device__ __forceinline__ struct diffusion_equation
alone(struct diffusion_equation e, int64_t n)
{
    if (n == 1) /* its own neighbour where it is periodic */
        e.middle = e.middle + (e.lower + e.upper), e.lower = e.upper = 0;
    return e;
}

/* --- along y ------------------------------------------------------------------------ */

static __global__ void __launch_bounds__(BLOCK)
    columns_kernel(const __grid_constant__ struct diffusion_args a,
                   const __grid_constant__ struct diffusion_sweep w,
                   enum sim_reaction model, int64_t array)
{
    const int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    const int64_t member = (int64_t)blockIdx.y * a.member, n = a.ny;
    const bool cyclic = a.periodic_y && n > 1;
    const int64_t top = cyclic ? n - 1 : n;
    if (i >= a.nx)
        return;
    real *y = w.to + member + i, *p = w.scratch + member + i, *z = p + array;
    struct diffusion_pivot at = {0, 0, 0};
    for (int64_t k = 0; k < top; k++) {
        const struct diffusion_equation e =
            alone(diffusion_equation_at(model, &a, &w, member, i, k), n);
        at = diffusion_up(e, at,
                          diffusion_aside(e, cyclic && k == 0, cyclic && k == top - 1));
        y[k * a.pitch] = at.y, p[k * a.pitch] = at.p;
        if (cyclic)
            z[k * a.pitch] = at.z;
    }
    real next = at.y, z_next = at.z;
    for (int64_t k = top - 2; k >= 0; k--) {
        const real factor = -p[k * a.pitch];
        y[k * a.pitch] = next = sim_fma(factor, next, y[k * a.pitch]);
        if (cyclic)
            z[k * a.pitch] = z_next = sim_fma(factor, z_next, z[k * a.pitch]);
    }
    if (!cyclic)
        return;
    const struct diffusion_equation e =
        diffusion_equation_at(model, &a, &w, member, i, n - 1);
    const real last = diffusion_border(e, next, at.y, z_next, at.z);
    for (int64_t k = 0; k < top; k++)
        y[k * a.pitch] = sim_fma(last, z[k * a.pitch], y[k * a.pitch]);
    y[top * a.pitch] = last;
}

/* --- along x ------------------------------------------------------------------------ */

/* A tile in shared memory: [row of the grid][column], a column to spare so that neither
 * direction meets bank conflicts. */
typedef real tile[TILE][TILE + 1];

/* Between memory and a tile whose first column is k0, lanes along the row. */
static __device__ __forceinline__ void load_tile(tile t, const real *from, int64_t pitch,
                                                 int64_t k0, int rows, int columns)
{
    const int lane = threadIdx.x;
    for (int r = 0; r < rows; r++)
        if (lane < columns)
            t[r][lane] = from[r * pitch + k0 + lane];
    __syncwarp();
}

static __device__ __forceinline__ void store_tile(const tile t, real *to, int64_t pitch,
                                                  int64_t k0, int rows, int columns)
{
    const int lane = threadIdx.x;
    __syncwarp();
    for (int r = 0; r < rows; r++)
        if (lane < columns)
            to[r * pitch + k0 + lane] = t[r][lane];
    __syncwarp();
}

struct rows_memory {
    tile lower, middle, upper, right; /* then z, -, p, y */
};

/* Rows of the system of a tile, lanes along x. */
static __device__ __forceinline__ void
take_tile(struct rows_memory *s, const struct diffusion_args *a,
          const struct diffusion_sweep *w, enum sim_reaction model, int64_t member,
          int64_t j0, int64_t k0, int rows, int columns)
{
    const int lane = threadIdx.x;
    for (int r = 0; r < rows && lane < columns; r++) {
        const struct diffusion_equation e =
            alone(diffusion_equation_at(model, a, w, member, k0 + lane, j0 + r), a->nx);
        s->lower[r][lane] = e.lower, s->middle[r][lane] = e.middle;
        s->upper[r][lane] = e.upper, s->right[r][lane] = e.right;
    }
    __syncwarp();
}

/* A line's first and last cells of y and z: what its border needs. */
struct ends {
    real y_first, y_before, z_first, z_before;
};

static __device__ __forceinline__ int tile_columns(int64_t top, int64_t k0)
{
    return top - k0 < TILE ? (int)(top - k0) : TILE;
}

static __device__ __forceinline__ struct diffusion_pivot
up_tile(struct rows_memory *s, struct diffusion_pivot at, int64_t k0, int columns,
        bool cyclic, int64_t top)
{
    const int lane = threadIdx.x;
    for (int c = 0; c < columns; c++) {
        const int64_t k = k0 + c;
        const struct diffusion_equation e = {s->lower[lane][c], s->middle[lane][c],
                                             s->upper[lane][c], s->right[lane][c]};
        at = diffusion_up(e, at,
                          diffusion_aside(e, cyclic && k == 0, cyclic && k == top - 1));
        s->upper[lane][c] = at.p, s->right[lane][c] = at.y, s->lower[lane][c] = at.z;
    }
    return at;
}

static __global__ void __launch_bounds__(TILE)
    rows_kernel(const __grid_constant__ struct diffusion_args a,
                const __grid_constant__ struct diffusion_sweep w, enum sim_reaction model,
                int64_t array)
{
    __shared__ struct rows_memory s;
    const int lane = threadIdx.x;
    const int64_t j0 = (int64_t)blockIdx.x * TILE, n = a.nx;
    const int64_t member = (int64_t)blockIdx.y * a.member;
    const bool cyclic = a.periodic_x && n > 1;
    const int64_t top = cyclic ? n - 1 : n, start = member + j0 * a.pitch;
    const int rows = a.ny - j0 < TILE ? (int)(a.ny - j0) : TILE;
    real *y = w.to + start, *p = w.scratch + start, *z = p + array;
    struct diffusion_pivot at = {0, 0, 0};
    for (int64_t k0 = 0; k0 < top; k0 += TILE) {
        const int columns = tile_columns(top, k0);
        take_tile(&s, &a, &w, model, member, j0, k0, rows, columns);
        if (lane < rows)
            at = up_tile(&s, at, k0, columns, cyclic, top);
        store_tile(s.right, y, a.pitch, k0, rows, columns);
        store_tile(s.upper, p, a.pitch, k0, rows, columns);
        if (cyclic)
            store_tile(s.lower, z, a.pitch, k0, rows, columns);
    }
    struct ends ends = {at.y, at.y, at.z, at.z};
    for (int64_t k0 = (top - 1) / TILE * TILE; k0 >= 0; k0 -= TILE) {
        const int columns = tile_columns(top, k0);
        load_tile(s.right, y, a.pitch, k0, rows, columns);
        load_tile(s.upper, p, a.pitch, k0, rows, columns);
        if (cyclic)
            load_tile(s.lower, z, a.pitch, k0, rows, columns);
        for (int c = columns - 1; c >= 0 && lane < rows; c--) {
            if (k0 + c > top - 2)
                continue; /* the last is as it should be */
            const real factor = -s.upper[lane][c];
            s.right[lane][c] = ends.y_first =
                sim_fma(factor, ends.y_first, s.right[lane][c]);
            if (cyclic)
                s.lower[lane][c] = ends.z_first =
                    sim_fma(factor, ends.z_first, s.lower[lane][c]);
        }
        store_tile(s.right, y, a.pitch, k0, rows, columns);
        if (cyclic)
            store_tile(s.lower, z, a.pitch, k0, rows, columns);
    }
    if (!cyclic)
        return;
    real last = 0;
    if (lane < rows) {
        const struct diffusion_equation e =
            diffusion_equation_at(model, &a, &w, member, n - 1, j0 + lane);
        last =
            diffusion_border(e, ends.y_first, ends.y_before, ends.z_first, ends.z_before);
        y[lane * a.pitch + n - 1] = last;
    }
    for (int r = 0; r < rows; r++) {
        const real of_row = __shfl_sync(EVERY_LANE, last, r);
        for (int64_t k = lane; k < top; k += TILE)
            y[r * a.pitch + k] = sim_fma(of_row, z[r * a.pitch + k], y[r * a.pitch + k]);
    }
}

/* --- whole cells -------------------------------------------------------------------- */

static __global__ void __launch_bounds__(256)
    half_kernel(const __grid_constant__ struct diffusion_args a, enum sim_reaction model,
                int species, const real *from, const real *row, real *to)
{
    const int64_t i = (int64_t)blockIdx.x * 32 + threadIdx.x;
    const int64_t member = (int64_t)blockIdx.z * a.member;
    for (int64_t j = (int64_t)blockIdx.y * 8 + threadIdx.y; j < a.ny; j += gridDim.y * 8)
        if (i < a.nx)
            to[member + j * a.pitch + i] =
                diffusion_half_at(model, &a, species, from + member, (real)1, row, i, j);
}

static __global__ void __launch_bounds__(256)
    react_kernel(const __grid_constant__ struct diffusion_args a, enum sim_reaction model,
                 int species, real h, real *u, real *v)
{
    const int64_t i = (int64_t)blockIdx.x * 32 + threadIdx.x;
    const int64_t member = (int64_t)blockIdx.z * a.member;
    for (int64_t j = (int64_t)blockIdx.y * 8 + threadIdx.y; j < a.ny;
         j += gridDim.y * 8) {
        const int64_t c = member + j * a.pitch + i;
        if (i >= a.nx || diffusion_masked(&a, i, j))
            continue;
        real value[SIM_SPECIES_MAX] = {u[c], v[c]};
        diffusion_heun(model, a.number, h, value);
        u[c] = value[0];
        if (species == 2)
            v[c] = value[1];
    }
}

/* Largest of numbers that are not negative: their bits, as integers, are in the same
 * order, with NaN above all; the order of the comparisons does not matter. */
static __device__ void keep_largest(unsigned long long *most, double value)
{
    unsigned long long bits = (unsigned long long)__double_as_longlong(value);
    for (int step = 16; step > 0; step /= 2) {
        const unsigned long long other = __shfl_down_sync(EVERY_LANE, bits, step);
        bits = other > bits ? other : bits;
    }
    if (threadIdx.x == 0)
        atomicMax(most, bits);
}

static __global__ void __launch_bounds__(256)
    residual_kernel(const __grid_constant__ struct diffusion_args a,
                    enum sim_reaction model, int species, const real *u, const real *rhs,
                    unsigned long long *most)
{
    const int64_t i = (int64_t)blockIdx.x * 32 + threadIdx.x;
    const int64_t member = (int64_t)blockIdx.z * a.member;
    double residual = 0, size = 0;
    for (int64_t j = (int64_t)blockIdx.y * 8 + threadIdx.y; j < a.ny;
         j += gridDim.y * 8) {
        if (i >= a.nx || diffusion_masked(&a, i, j))
            continue;
        const int64_t c = member + j * a.pitch + i;
        const double left =
            (double)(rhs[c] - diffusion_half_at(model, &a, species, u + member, (real)-1,
                                                NULL, i, j));
        residual = fabs(left) <= residual || residual != residual ? residual : fabs(left);
        const double value = fabs((double)u[c]);
        size = value <= size || size != size ? size : value;
    }
    keep_largest(&most[0], residual);
    keep_largest(&most[1], size);
}

/* --- operations --------------------------------------------------------------------- */

static dim3 blocks_of(const struct diffusion_args *a, int64_t members)
{
    const int64_t up = (a->ny + 7) / 8;
    return dim3((unsigned)((a->nx + 31) / 32), (unsigned)(up < 65535 ? up : 65535),
                (unsigned)members);
}

enum sim_status diffusion_sweep_cuda(struct sim_diffusion_system *system,
                                     const struct sim_diffusion_sweep *sweep)
{
    const struct diffusion_args a = diffusion_args_of(system);
    const struct diffusion_sweep w = diffusion_sweep_of(sweep);
    const int64_t lines = w.axis ? a.nx : a.ny, block = w.axis ? BLOCK : TILE;
    const dim3 grid((unsigned)((lines + block - 1) / block), (unsigned)system->count);
    return sim_launch(system->device, "diffusion lines",
                      w.axis ? columns_kernel : rows_kernel, grid, dim3((unsigned)block),
                      0, a, w, system->reaction, a.member * system->count);
}

enum sim_status diffusion_half_cuda(struct sim_diffusion_system *system, int species,
                                    const void *from, const void *row, void *to)
{
    const struct diffusion_args a = diffusion_args_of(system);
    return sim_launch(system->device, "half a diffusion step", half_kernel,
                      blocks_of(&a, system->count), dim3(32, 8), 0, a, system->reaction,
                      species, (const real *)from, (const real *)row, (real *)to);
}

enum sim_status diffusion_react_cuda(struct sim_diffusion_system *system, double duration)
{
    const struct diffusion_args a = diffusion_args_of(system);
    real *u = (real *)system->now[0];
    real *v = system->species == 2 ? (real *)system->now[1] : u;
    return sim_launch(system->device, "reaction", react_kernel,
                      blocks_of(&a, system->count), dim3(32, 8), 0, a, system->reaction,
                      system->species, (real)duration, u, v);
}

enum sim_status diffusion_residual_cuda(struct sim_diffusion_system *system, int species,
                                        const void *u, const void *rhs, double *residual,
                                        double *size)
{
    const struct diffusion_args a = diffusion_args_of(system);
    struct sim_buffer most = {0};
    double values[2] = {0, 0};
    SIM_TRY(sim_buffer_new(system->device, sizeof values, "a residual", &most));
    enum sim_status status = sim_buffer_zero(&most);
    if (status == SIM_OK)
        status = sim_launch(system->device, "diffusion residual", residual_kernel,
                            blocks_of(&a, system->count), dim3(32, 8), 0, a,
                            system->reaction, species, (const real *)u, (const real *)rhs,
                            (unsigned long long *)most.data);
    if (status == SIM_OK)
        status = sim_buffer_read(&most, 0, values, sizeof values);
    sim_buffer_free(&most);
    *residual = values[0], *size = values[1];
    return status;
}
