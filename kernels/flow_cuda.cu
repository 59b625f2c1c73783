/* flow_cuda.cu - the passes of the flow solver on the GPU, and the table of operations.
 * Formulas: flow_math.h; order: flow_plan.h. One thread an element; maxima by a warp a
 * row and then one block, which takes the decision. Nothing waits: a step that is not to
 * be done any more (control->skip) is passed over by every kernel. */
#include "flow_cuda.h"
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

static int poisson_coarse_level(const struct sim_poisson_system *s)
{
    return poisson_tail_cuda(s);
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
        if (j < a.ny)
            a.f[c] = flow_tentative_u(&a, dt, c);
        if (i < a.nx)
            a.g[c] = flow_tentative_v(&a, dt, c);
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

static __global__ void cut_kernel(const __grid_constant__ struct flow_args a,
                                  const struct sim_flow_cut *cut, int64_t count)
{
    const int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (!a.control->skip && k < count)
        flow_cut_face(&a, (real)a.control->dt, &cut[k]);
}

/* --- the sides ---------------------------------------------------------------------- */

static __global__ void side_kernel(const __grid_constant__ struct flow_args a,
                                   struct flow_scalar c, int pass)
{
    const int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (a.control->skip || e >= flow_perimeter(&a))
        return;
    if (pass == FLOW_SIDES)
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

static __global__ void __launch_bounds__(FLOW_LANES)
    balance_kernel(const __grid_constant__ struct flow_args a, int regions)
{
    __shared__ struct flow_balance shared[FLOW_LANES];
    __shared__ double more;
    const int t = threadIdx.x;
    if (a.control->skip)
        return;
    if (t == 0)
        a.control->imbalance = a.control->fastest_outflow = 0;
    for (int region = 0; region < regions; region++) {
        struct flow_balance mine = {0, 0, 0, 0};
        for (int64_t e = t; e < flow_perimeter(&a); e += FLOW_LANES)
            flow_side_flux(&a, e, region, &mine);
        __syncthreads();
        shared[t] = mine;
        __syncthreads();
        for (int half = FLOW_LANES / 2; half >= 1; half /= 2) {
            if (t < half)
                flow_balance_add(&shared[t], &shared[t + half]);
            __syncthreads();
        }
        if (t == 0)
            more = flow_balance_of(a.control, &shared[0]);
        __syncthreads();
        for (int64_t e = t; e < flow_perimeter(&a); e += FLOW_LANES)
            flow_side_correct(&a, e, region, more);
        __syncthreads();
    }
    if (t == 0)
        a.control->outflow_speed = a.control->fastest_outflow;
}

/* --- maxima ------------------------------------------------------------------------- */

static __device__ __forceinline__ double row_largest(const real *row, int64_t n, int lane)
{
    poisson_bits most = 0;
    for (int64_t i = lane; i < n; i += 32) {
        const poisson_bits size = poisson_size(row[i]);
        most = size > most ? size : most;
    }
    return flow_warp_max(poisson_of_size(most));
}

static __global__ void __launch_bounds__(32 * FLOW_WARPS)
    limits_kernel(const __grid_constant__ struct flow_args a, double *rows)
{
    const bool varies = flow_force_varies(&a);
    FLOW_ROWS(j, a.ny + 1)
    {
        const int64_t o = j * a.pitch;
        const double u = j < a.ny ? row_largest(a.u + o, a.nx + 1, lane) : 0;
        const double v = row_largest(a.v + o, a.nx, lane);
        double force = j < a.ny && !varies ? flow_force_constant(&a) : 0;
        for (int64_t i = lane; i < a.nx && j < a.ny && varies; i += 32)
            force = poisson_max(force, flow_force_size(&a, o + i));
        force = flow_warp_max(force);
        if (lane == 0)
            rows[3 * j] = u, rows[3 * j + 1] = v, rows[3 * j + 2] = force;
    }
}

static __global__ void __launch_bounds__(32 * FLOW_WARPS)
    rhs_kernel(const __grid_constant__ struct flow_args a, double *rows)
{
    if (a.control->skip)
        return;
    FLOW_ROWS(j, a.ny + 1)
    {
        const int64_t o = j * a.pitch;
        poisson_bits most = 0;
        for (int64_t i = lane; i < a.nx && j < a.ny; i += 32) {
            const real b = flow_inflow(&a, a.f, a.g, o + i);
            const poisson_bits size = poisson_size(b);
            a.b[o + i] = b;
            a.solution[o + i] = 0;
            most = size > most ? size : most;
        }
        const double b = flow_warp_max(poisson_of_size(most));
        const double f = j < a.ny ? row_largest(a.f + o, a.nx + 1, lane) : 0;
        const double g = row_largest(a.g + o, a.nx, lane);
        if (lane == 0)
            rows[3 * j] = b, rows[3 * j + 1] = poisson_max(f, g);
    }
}

static __global__ void __launch_bounds__(32 * FLOW_WARPS)
    correct_kernel(const __grid_constant__ struct flow_args a, double *rows)
{
    if (a.control->skip)
        return;
    FLOW_ROWS(j, a.ny + 1)
    {
        poisson_bits size = 0;
        for (int64_t i = lane; i <= a.nx; i += 32) {
            const int64_t c = j * a.pitch + i;
            const poisson_bits u = j < a.ny ? flow_correct_u(&a, i, c) : 0;
            const poisson_bits v = i < a.nx ? flow_correct_v(&a, j, c) : 0;
            size = u > size ? u : size;
            size = v > size ? v : size;
        }
        const double most = flow_warp_max(poisson_of_size(size));
        if (lane == 0)
            rows[3 * j] = most;
    }
}

static __global__ void __launch_bounds__(FLOW_LANES)
    after_kernel(int pass, const double *rows, int64_t count, struct flow_limits limits,
                 double tolerance, struct sim_flow_control *control)
{
    __shared__ double shared[FLOW_LANES];
    if (control->skip && pass != FLOW_LIMITS)
        return;
    const double first = flow_block_rows(rows, count, 0, true, shared);
    const double second =
        pass != FLOW_CORRECT ? flow_block_rows(rows, count, 1, true, shared) : 0;
    const double third =
        pass == FLOW_LIMITS ? flow_block_rows(rows, count, 2, true, shared) : 0;
    if (threadIdx.x != 0)
        return;
    if (pass == FLOW_LIMITS)
        flow_begin(&limits, control, first, second, third);
    else if (pass == FLOW_RHS)
        flow_tolerate(control, tolerance, limits.dx, limits.dy, first, second);
    else
        control->largest_change = first;
}

static __global__ void end_kernel(struct sim_flow_control *control)
{
    if (!control->skip)
        flow_end(control);
}

/* --- regions without an opening ----------------------------------------------------- */

static __device__ bool centres_now(const struct sim_flow_control *k, bool always)
{
    return !k->skip && (always || flow_centres(k));
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
        for (int64_t c = from + t; c < until; c += FLOW_LANES)
            mine = mine + (double)x[flow_closed_cell(&s, c)];
        __syncthreads();
        shared[t] = mine;
        __syncthreads();
        for (int half = FLOW_LANES / 2; half >= 1; half /= 2) {
            if (t < half)
                shared[t] = shared[t] + shared[t + half];
            __syncthreads();
        }
        if (t == 0)
            s.closed_sum[k] = shared[0];
    }
}

/* The means, in the places behind the chunks' sums: a thread a region. */
static __global__ void mean_kernel(const __grid_constant__ struct sim_flow_system s,
                                   bool always)
{
    const int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (!centres_now(s.control, always))
        return;
    for (int64_t region = first; region < s.closed_regions;
         region += (int64_t)gridDim.x * blockDim.x)
        s.closed_sum[s.closed_chunks + region] = flow_closed_mean(&s, region);
}

static __global__ void __launch_bounds__(FLOW_LANES)
    subtract_kernel(const __grid_constant__ struct sim_flow_system s, real *x,
                    bool always)
{
    if (!centres_now(s.control, always))
        return;
    for (int64_t k = blockIdx.x; k < s.closed_chunks; k += gridDim.x) {
        const int64_t region = flow_chunk_region(s.closed_chunk, s.closed_regions, k);
        const real mean = (real)s.closed_sum[s.closed_chunks + region];
        int64_t until;
        const int64_t from = flow_chunk_cells(&s, region, k, &until);
        for (int64_t c = from + threadIdx.x; c < until; c += FLOW_LANES) {
            real *at = &x[flow_closed_cell(&s, c)];
            *at = *at - mean;
        }
    }
}

static enum sim_status take_mean(struct sim_flow_system *s, real *x, bool always)
{
    const dim3 grid((unsigned)(s->closed_chunks < 65535 ? s->closed_chunks : 65535));
    const dim3 few((unsigned)((s->closed_regions + 127) / 128 < 64
                                  ? (s->closed_regions + 127) / 128
                                  : 64));
    SIM_TRY(sim_launch(s->device, "flow: mean pressure", sum_kernel, grid,
                       dim3(FLOW_LANES), 0, *s, x, always));
    SIM_TRY(sim_launch(s->device, "flow: mean pressure", mean_kernel, few, dim3(128), 0,
                       *s, always));
    return sim_launch(s->device, "flow: mean pressure", subtract_kernel, grid,
                      dim3(FLOW_LANES), 0, *s, x, always);
}

/* --- passes ------------------------------------------------------------------------- */

static enum sim_status after(struct sim_flow_system *s, const struct flow_args *a,
                             int pass)
{
    return sim_launch(s->device, "flow: decision", after_kernel, dim3(1),
                      dim3(FLOW_LANES), 0, pass, s->poisson.rows, a->ny + 1,
                      flow_limits_of(s), s->tolerance, s->control);
}

static enum sim_status by_row(struct sim_flow_system *s, const struct flow_args *a,
                              int pass)
{
    const dim3 grid(flow_row_blocks(a->ny + 1)), block(32 * FLOW_WARPS);
    void (*kernel)(const struct flow_args, double *) = pass == FLOW_LIMITS ? limits_kernel
                                                       : pass == FLOW_RHS
                                                           ? rhs_kernel
                                                           : correct_kernel;
    SIM_TRY(
        sim_launch(s->device, "flow: rows", kernel, grid, block, 0, *a, s->poisson.rows));
    return after(s, a, pass);
}

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
                          dim3(FLOW_LANES), 0, *a, s->balanced_regions);
    if (pass == FLOW_CUT)
        return sim_launch(s->device, "flow: curved walls", cut_kernel,
                          dim3((unsigned)((s->cut_count + 127) / 128)), dim3(128), 0, *a,
                          s->cut, s->cut_count);
    return sim_launch(s->device, "flow: sides", side_kernel,
                      dim3((unsigned)((flow_perimeter(a) + 127) / 128)), dim3(128), 0, *a,
                      flow_scalar_of(s, k), pass);
}

static enum sim_status flow_pass(struct sim_flow_system *s, enum flow_pass pass, int k)
{
    const struct flow_args a = flow_args_of(s);
    const dim3 block(FLOW_ACROSS, FLOW_UP);
    switch (pass) {
    case FLOW_CLEAN:
    case FLOW_START:
        return outside(s, &a, pass);
    case FLOW_LIMITS:
    case FLOW_RHS:
    case FLOW_CORRECT:
        return by_row(s, &a, pass);
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
    case FLOW_END:
        return sim_launch(s->device, "flow: time", end_kernel, dim3(1), dim3(1), 0,
                          s->control);
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
