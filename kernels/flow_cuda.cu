/* flow_cuda.cu - the passes of the flow solver on the GPU, and the table of operations.
 * Formulas: flow_math.h; order: flow_plan.h. One thread an element; the last block to
 * give its maximum takes the decision. Nothing waits: a step that is not to
 * be done any more (control->skip) is passed over by every kernel. */
#include "flow_cuda.h"
#include "flow_cuda_max.cuh"
#include "flow_plan.h"

static enum sim_status poisson_pass(struct sim_poisson_system *s, enum poisson_pass pass,
                                    int level)
{
    return poisson_pass_cuda(s, pass, level);
}

static enum sim_status poisson_wrap(struct sim_poisson_system *s, int level, void *array)
{
    return poisson_wrap_cuda(s, level, array);
}

/* The host does not look: it asks for the most there can be. */
static bool poisson_done(const struct sim_poisson_system *)
{
    return false;
}

static enum sim_status poisson_gradients(struct sim_poisson_system *s)
{
    if (s->transform)
        SIM_TRY(poisson_transform_cuda(s));
    return poisson_solve_cuda(s);
}

static bool flow_over(const struct sim_flow_system *)
{
    return false;
}

/* --- elements ----------------------------------------------------------------------- */

static __global__ void __launch_bounds__(FLOW_ACROSS *FLOW_UP)
    momentum_kernel(const __grid_constant__ struct flow_args a)
{
    if (a.control->skip)
        return;
    const real dt = (real)a.control->dt;
    FLOW_ELEMENTS(i, j, a.nx + 1, a.ny + 1)
    {
        const int64_t c = j * a.pitch + i;
        /* both before either is stored, so that the loads go out together */
        const real f = flow_tentative_u(&a, dt, c), g = flow_tentative_v(&a, dt, c);
        if (j < a.ny)
            a.f[c] = f;
        if (i < a.nx)
            a.g[c] = g;
    }
}

static __global__ void __launch_bounds__(FLOW_ACROSS *FLOW_UP)
    pressure_kernel(const __grid_constant__ struct flow_args a)
{
    if (a.control->skip)
        return;
    const real inv_dt = (real)(1 / a.control->dt);
    FLOW_ELEMENTS(i, j, a.nx, a.ny)
    {
        const int64_t c = j * a.pitch + i;
        a.p[c] = a.p[c] + a.solution[c] * inv_dt;
    }
}

/* What was asked for from outside the run of steps: copies, and rest in obstacles. */
static __global__ void __launch_bounds__(FLOW_ACROSS *FLOW_UP)
    outside_kernel(const __grid_constant__ struct flow_args a, bool clean)
{
    FLOW_ELEMENTS(i, j, a.nx + 1, a.ny + 1)
    {
        const int64_t c = j * a.pitch + i;
        if (clean)
            flow_clean(&a, i, j);
        else
            a.f[c] = a.u[c], a.g[c] = a.v[c];
    }
}

static __global__ void outside_time_kernel(struct sim_flow_control *control, bool changed)
{
    flow_outside_time(control, changed);
}

static __global__ void __launch_bounds__(FLOW_ACROSS *FLOW_UP)
    refine_kernel(const __grid_constant__ struct flow_args a)
{
    if (a.control->skip)
        return;
    FLOW_ELEMENTS(i, j, a.nx + 1, a.ny + 1)
    flow_refine(&a, i, j);
}

static __global__ void gate_kernel(struct sim_flow_control *control, bool end)
{
    if (end)
        flow_gate_end(control);
    else
        flow_gate(control);
}

static __global__ void __launch_bounds__(FLOW_ACROSS *FLOW_UP)
    scalar_kernel(const __grid_constant__ struct flow_args a, struct flow_scalar c,
                  bool take)
{
    if (a.control->skip)
        return;
    const real dt = (real)a.control->dt;
    FLOW_ELEMENTS(i, j, a.nx, a.ny)
    {
        if (take)
            flow_scalar_take(&a, &c, i, j);
        else
            flow_scalar_cell(&a, &c, i, j, dt);
    }
}

/* --- the sides ---------------------------------------------------------------------- */

static __global__ void side_kernel(const __grid_constant__ struct flow_args a,
                                   struct flow_scalar c, int pass,
                                   const struct sim_flow_cut *cut, int64_t cuts)
{
    const int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
                  beyond = e - flow_perimeter(&a);
    if (a.control->skip || beyond >= cuts)
        return;
    if (beyond >= 0)
        flow_cut_face(&a, (real)a.control->dt, &cut[beyond]);
    else if (pass == FLOW_SIDES)
        flow_side_tentative(&a, e);
    else if (pass == FLOW_SIDES_NOW)
        flow_side_now(&a, e);
    else
        flow_scalar_ghost(&a, &c, e);
}

static __global__ void ghost_kernel(const __grid_constant__ struct flow_args a)
{
    const int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int side = blockIdx.y;
    if (!a.control->skip && k <= flow_side_length(&a, side))
        flow_side_ghosts(&a, side, k);
}

static __global__ void __launch_bounds__(FLOW_BALANCE_LANES)
    balance_kernel(const __grid_constant__ struct flow_args a, int regions)
{
    __shared__ struct flow_balance shared[FLOW_BALANCE_LANES];
    __shared__ double more;
    const int t = threadIdx.x;
    if (a.control->skip)
        return;
    if (t == 0)
        a.control->imbalance = a.control->fastest_outflow = 0;
    for (int region = 0; region < regions; region++) {
        struct flow_balance mine = {0, 0, 0, 0};
        for (int64_t e = t; e < flow_perimeter(&a); e += FLOW_BALANCE_LANES)
            flow_side_flux(&a, e, region, &mine);
        __syncthreads();
        shared[t] = mine;
        __syncthreads();
        for (int half = FLOW_BALANCE_LANES / 2; half >= 1; half /= 2) {
            if (t < half)
                flow_balance_add(&shared[t], &shared[t + half]);
            __syncthreads();
        }
        if (t == 0)
            more = flow_balance_of(a.control, &shared[0]);
        __syncthreads();
        for (int64_t e = t; e < flow_perimeter(&a); e += FLOW_BALANCE_LANES)
            flow_side_correct(&a, e, region, more);
        __syncthreads();
    }
    if (t == 0)
        a.control->outflow_speed = a.control->fastest_outflow;
}

/* --- maxima ------------------------------------------------------------------------- */

enum { SIZE_U, SIZE_V, SIZE_FORCE, SIZE_B, SIZE_TENTATIVE, SIZE_CHANGE };

static __device__ int64_t size_of_double(double value)
{
    return __double_as_longlong(value) & INT64_MAX;
}

static __global__ void __launch_bounds__(FLOW_ACROSS *FLOW_UP)
    limits_kernel(const __grid_constant__ struct flow_args a, struct flow_limits limits)
{
    const bool varies = flow_force_varies(&a);
    int64_t u = 0, v = 0, force = 0;
    FLOW_ELEMENTS(i, j, a.nx + 1, a.ny + 1)
    {
        const int64_t c = j * a.pitch + i;
        if (j < a.ny)
            u = larger(u, poisson_size(a.u[c]));
        if (i < a.nx)
            v = larger(v, poisson_size(a.v[c]));
        if (i < a.nx && j < a.ny && varies)
            force = larger(force, size_of_double(flow_force_size(&a, c)));
    }
    if (!varies)
        force = size_of_double(flow_force_constant(&a));
    offer(&a.control->size[SIZE_U], u);
    offer(&a.control->size[SIZE_V], v);
    offer(&a.control->size[SIZE_FORCE], force);
    if (threadIdx.x != 0 || threadIdx.y != 0 || !is_last(&a.control->arrived))
        return;
    const double most =
        __longlong_as_double(*(volatile int64_t *)&a.control->size[SIZE_FORCE]);
    (void)taken(&a.control->size[SIZE_FORCE]);
    const double most_u = taken(&a.control->size[SIZE_U]),
                 most_v = taken(&a.control->size[SIZE_V]);
    flow_begin(&limits, a.control, most_u, most_v, most);
}

static __global__ void __launch_bounds__(FLOW_ACROSS *FLOW_UP)
    rhs_kernel(const __grid_constant__ struct flow_args a, struct flow_limits limits,
               double tolerance)
{
    int64_t largest = 0, tentative = 0;
    if (a.control->skip)
        return;
    FLOW_ELEMENTS(i, j, a.nx + 1, a.ny + 1)
    {
        const int64_t c = j * a.pitch + i;
        if (j < a.ny)
            tentative = larger(tentative, poisson_size(a.f[c]));
        if (i < a.nx)
            tentative = larger(tentative, poisson_size(a.g[c]));
        if (i < a.nx && j < a.ny) {
            const real b = flow_inflow(&a, a.f, a.g, c);
            a.b[c] = b;
            largest = larger(largest, poisson_size(b));
        }
        a.solution[c] = 0; /* and in its ghosts */
        if (i == 0)
            a.solution[c - 1] = 0;
        if (j == 0)
            a.solution[c - a.pitch] = 0;
    }
    offer(&a.control->size[SIZE_B], largest);
    offer(&a.control->size[SIZE_TENTATIVE], tentative);
    if (threadIdx.x != 0 || threadIdx.y != 0 || !is_last(&a.control->arrived))
        return;
    const double b = taken(&a.control->size[SIZE_B]),
                 f = taken(&a.control->size[SIZE_TENTATIVE]);
    flow_tolerate(a.control, tolerance, limits.dx, limits.dy, b, f);
}

/* The new velocity; where a step ends so, the pressure, the time and the count too. */
static __global__ void __launch_bounds__(FLOW_ACROSS *FLOW_UP)
    correct_kernel(const __grid_constant__ struct flow_args a, bool ends)
{
    int64_t change = 0;
    if (a.control->skip)
        return;
    const real inv_dt = ends ? (real)(1 / a.control->dt) : 0;
    FLOW_ELEMENTS(i, j, a.nx + 1, a.ny + 1)
    {
        const int64_t c = j * a.pitch + i;
        const bool has_u = j < a.ny, has_v = i < a.nx;
        const bool half_x = !a.periodic_x && (i == 0 || i == a.nx);
        const bool half_y = !a.periodic_y && (j == 0 || j == a.ny);
        const real x = a.solution[c], west = a.solution[c - 1],
                   south = a.solution[c - a.pitch], p = a.p[c];
        const unsigned flags = a.flags[c];
        real u = a.u[c], f = a.f[c], v = a.v[c], g = a.g[c];
        const int64_t by_u =
            flow_corrected(&u, &f, (x - west) * ((half_x ? (real)2 : (real)1) * a.inv_dx),
                           flags & SIM_FLOW_U);
        const int64_t by_v = flow_corrected(
            &v, &g, (x - south) * ((half_y ? (real)2 : (real)1) * a.inv_dy),
            flags & SIM_FLOW_V);
        if (has_u)
            a.u[c] = u, a.f[c] = f, change = larger(change, by_u);
        if (has_v)
            a.v[c] = v, a.g[c] = g, change = larger(change, by_v);
        if (ends && has_u && has_v)
            a.p[c] = p + x * inv_dt;
    }
    offer(&a.control->size[SIZE_CHANGE], change);
    if (threadIdx.x != 0 || threadIdx.y != 0 || !is_last(&a.control->arrived))
        return;
    a.control->largest_change = taken(&a.control->size[SIZE_CHANGE]);
    if (ends)
        flow_end(a.control);
}

/* --- regions without an opening ----------------------------------------------------- */

#define EACH (SIM_FLOW_CHUNK / FLOW_LANES) /* cells of a chunk, a thread */

/* Every FLOW_LANES-th of a region's cells; where those are all of the grid, without a
 * division each. */
struct list {
    int64_t c, until, row;
    int column, over, rows; /* steps along x, and whole rows of a step */
};

static __device__ __forceinline__ struct list list_of(const struct sim_flow_system *s,
                                                      int64_t c, int64_t until)
{
    struct list l = {c, until, 0, 0, 0, 0};
    if (s->closed_cell)
        return l;
    l.row = c / s->nx, l.column = (int)(c - l.row * s->nx);
    l.rows = FLOW_LANES / (int)s->nx, l.over = FLOW_LANES % (int)s->nx;
    return l;
}

/* The element of the next cell; -1 at the end. */
static __device__ __forceinline__ int64_t next_of(const struct sim_flow_system *s,
                                                  struct list *l)
{
    const int64_t c = l->c;
    l->c += FLOW_LANES;
    if (c >= l->until)
        return -1;
    if (s->closed_cell)
        return s->closed_cell[c];
    const int64_t at = l->row * s->pitch + l->column;
    l->row += l->rows, l->column += l->over;
    if (l->column >= (int)s->nx)
        l->row++, l->column -= (int)s->nx;
    return at;
}

static __device__ bool centres_now(const struct sim_flow_control *k, bool always)
{
    return !k->skip && (always || flow_centres(k));
}

/* The sum of a block's lanes, in shared[0]. */
static __device__ void halve(double *shared)
{
    const int t = threadIdx.x;
    __syncthreads();
    for (int half = FLOW_LANES / 2; half >= 1; half /= 2) {
        if (t < half)
            shared[t] = shared[t] + shared[t + half];
        __syncthreads();
    }
}

static __global__ void __launch_bounds__(FLOW_LANES)
    sum_kernel(const __grid_constant__ struct sim_flow_system s, const real *x,
               bool always)
{
    __shared__ double shared[FLOW_LANES];
    const int t = threadIdx.x;
    if (!centres_now(s.control, always))
        return;
    for (int64_t k = blockIdx.x; k < s.closed_chunks; k += gridDim.x) {
        const int64_t region = flow_chunk_region(s.closed_chunk, s.closed_regions, k);
        int64_t until;
        const int64_t from = flow_chunk_cells(&s, region, k, &until);
        double mine = 0;
        real value[EACH];
        struct list list = list_of(&s, from + t, until);
#pragma unroll
        for (int n = 0; n < EACH; n++) {
            const int64_t at = next_of(&s, &list);
            value[n] = at < 0 ? (real)0 : x[at];
        }
#pragma unroll
        for (int n = 0; n < EACH; n++)
            mine = mine + (double)value[n];
        __syncthreads();
        shared[t] = mine;
        halve(shared);
        if (t == 0)
            s.closed_sum[k] = shared[0];
    }
}

/* Less the region's mean, which every block finds for itself. */
static __global__ void __launch_bounds__(FLOW_LANES)
    subtract_kernel(const __grid_constant__ struct sim_flow_system s, real *x,
                    bool always)
{
    __shared__ double shared[FLOW_LANES];
    const int t = threadIdx.x;
    int64_t known = -1;
    real mean = 0;
    if (!centres_now(s.control, always))
        return;
    for (int64_t k = blockIdx.x; k < s.closed_chunks; k += gridDim.x) {
        const int64_t region = flow_chunk_region(s.closed_chunk, s.closed_regions, k);
        if (region != known) {
            __syncthreads();
            shared[t] = flow_closed_lane(&s, region, t);
            halve(shared);
            mean = (real)(shared[0] / (double)flow_closed_size(&s, region));
            known = region;
        }
        int64_t until;
        const int64_t from = flow_chunk_cells(&s, region, k, &until);
        real value[EACH];
        int64_t at[EACH];
        struct list list = list_of(&s, from + t, until);
#pragma unroll
        for (int n = 0; n < EACH; n++) {
            at[n] = next_of(&s, &list);
            value[n] = at[n] < 0 ? (real)0 : x[at[n]];
        }
#pragma unroll
        for (int n = 0; n < EACH; n++)
            if (at[n] >= 0)
                x[at[n]] = value[n] - mean;
    }
}

static enum sim_status take_mean(struct sim_flow_system *s, real *x, bool always)
{
    const dim3 grid((unsigned)(s->closed_chunks < 1024 ? s->closed_chunks : 1024));
    SIM_TRY(sim_launch(s->device, "flow: mean pressure", sum_kernel, grid,
                       dim3(FLOW_LANES), 0, *s, x, always));
    return sim_launch(s->device, "flow: mean pressure", subtract_kernel, grid,
                      dim3(FLOW_LANES), 0, *s, x, always);
}

/* --- passes ------------------------------------------------------------------------- */

static enum sim_status outside(struct sim_flow_system *s, const struct flow_args *a,
                               int pass)
{
    SIM_TRY(sim_launch(s->device, "flow: settling", outside_time_kernel, dim3(1), dim3(1),
                       0, s->control, pass == FLOW_CLEAN));
    return sim_launch(s->device, "flow: settling", outside_kernel,
                      flow_blocks(a->nx + 1, a->ny + 1), dim3(FLOW_ACROSS, FLOW_UP), 0,
                      *a, pass == FLOW_CLEAN);
}

static enum sim_status sides(struct sim_flow_system *s, const struct flow_args *a,
                             int pass, int k)
{
    const int64_t longest = (a->nx > a->ny ? a->nx : a->ny) + 1;
    if (pass == FLOW_GHOSTS)
        return sim_launch(s->device, "flow: sides", ghost_kernel,
                          dim3((unsigned)((longest + 127) / 128), 4), dim3(128), 0, *a);
    if (pass == FLOW_BALANCE)
        return sim_launch(s->device, "flow: balance", balance_kernel, dim3(1),
                          dim3(FLOW_BALANCE_LANES), 0, *a, s->balanced_regions);
    const int64_t cuts = pass == FLOW_SIDES && k ? s->cut_count : 0,
                  threads = flow_perimeter(a) + cuts;
    return sim_launch(s->device, "flow: sides", side_kernel,
                      dim3((unsigned)((threads + 127) / 128)), dim3(128), 0, *a,
                      flow_scalar_of(s, k), pass, s->cut, cuts);
}

static enum sim_status flow_pass(struct sim_flow_system *s, enum flow_pass pass, int k)
{
    const struct flow_args a = flow_args_of(s);
    const dim3 block(FLOW_ACROSS, FLOW_UP), few = flow_few_blocks(a.nx + 1, a.ny + 1);
    switch (pass) {
    case FLOW_CLEAN:
    case FLOW_START:
        return outside(s, &a, pass);
    case FLOW_LIMITS:
        return sim_launch(s->device, "flow: time step", limits_kernel, few, block, 0, a,
                          flow_limits_of(s));
    case FLOW_RHS:
        return sim_launch(s->device, "flow: divergence", rhs_kernel, few, block, 0, a,
                          flow_limits_of(s), s->tolerance);
    case FLOW_CORRECT:
    case FLOW_ADVANCE:
        return sim_launch(s->device, "flow: correction", correct_kernel, few, block, 0, a,
                          pass == FLOW_ADVANCE);
    case FLOW_MOMENTUM:
        return sim_launch(s->device, "flow: momentum", momentum_kernel,
                          flow_blocks(a.nx + 1, a.ny + 1), block, 0, a);
    case FLOW_REFINE:
        return sim_launch(s->device, "flow: first correction", refine_kernel,
                          flow_blocks(a.nx + 1, a.ny + 1), block, 0, a);
    case FLOW_GATE:
    case FLOW_GATE_END:
        return sim_launch(s->device, "flow: first correction", gate_kernel, dim3(1),
                          dim3(1), 0, s->control, pass == FLOW_GATE_END);
    case FLOW_PRESSURE:
        return sim_launch(s->device, "flow: pressure", pressure_kernel,
                          flow_blocks(a.nx, a.ny), block, 0, a);
    case FLOW_TRACE:
        return flow_trace_cuda(s, &a);
    case FLOW_COMPATIBLE:
        return take_mean(s, a.b, true);
    case FLOW_CENTRE:
        return take_mean(s, a.p, false);
    case FLOW_SCALAR:
    case FLOW_SCALAR_TAKE:
        return sim_launch(s->device, "flow: scalar", scalar_kernel,
                          flow_blocks(a.nx, a.ny), block, 0, a, flow_scalar_of(s, k),
                          pass == FLOW_SCALAR_TAKE);
    default:
        return sides(s, &a, pass, k);
    }
}

/* --- the table ---------------------------------------------------------------------- */

static const struct sim_flow_ops flow_ops = {
#ifdef SIM_DOUBLE
    .name = "cuda double",
#else
    .name = "cuda single",
#endif
    .real_bytes = sizeof(real),
    .settle = flow_settle_plan,
    .step = flow_step_plan,
    .project = flow_project_plan,
    .derive = flow_derive_cuda,
    .measure = flow_measure_cuda,
    .force = flow_force_cuda,
};

#define TABLE SIM_TYPED(flow_ops_cuda)
extern "C" const struct sim_flow_ops *const TABLE = &flow_ops;

#ifndef SIM_DOUBLE
extern "C" const struct sim_flow_ops *const flow_ops_cuda_f64;
extern "C" const struct sim_flow_ops *sim_flow_ops_cuda(bool is_double)
{
    return is_double ? flow_ops_cuda_f64 : flow_ops_cuda_f32;
}
#endif
