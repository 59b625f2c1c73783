/* flow_cuda_query.cu - what is asked of a flow, on the GPU; formulas: flow_query_math.h.
 */
#include "flow_cuda.h"
#include "flow_marker_math.h"
#include "flow_query_math.h"

static __global__ void __launch_bounds__(FLOW_ACROSS *FLOW_UP)
    derive_kernel(const __grid_constant__ struct flow_args a, int kind, real *out,
                  int64_t pitch)
{
    FLOW_ELEMENTS(i, j, a.nx, a.ny)
    out[j * pitch + i] = flow_derived(&a, kind, i, j);
}

static __global__ void foot_kernel(const __grid_constant__ struct flow_args a, real *out)
{
    flow_stream_foot(&a, out);
}

static __global__ void column_kernel(const __grid_constant__ struct flow_args a,
                                     real *out, int64_t pitch)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= a.nx)
        flow_stream_column(&a, out, pitch, i);
}

static enum sim_status stream_function(struct sim_flow_system *s,
                                       const struct flow_args *a, real *out,
                                       int64_t pitch)
{
    SIM_TRY(sim_launch(s->device, "flow: stream function", foot_kernel, dim3(1), dim3(1),
                       0, *a, out));
    return sim_launch(s->device, "flow: stream function", column_kernel,
                      dim3((unsigned)((a->nx + 128) / 128)), dim3(128), 0, *a, out,
                      pitch);
}

static __global__ void __launch_bounds__(32 * FLOW_WARPS)
    measure_kernel(const __grid_constant__ struct flow_args a, double *rows)
{
    FLOW_ROWS(j, a.ny + 1)
    {
        double div = 0;
        poisson_bits u = 0, v = 0;
        for (int64_t i = lane; i <= a.nx; i += 32) {
            const int64_t c = j * a.pitch + i;
            const poisson_bits here = j < a.ny ? poisson_size(a.u[c]) : 0;
            const poisson_bits up = i < a.nx ? poisson_size(a.v[c]) : 0;
            if (i < a.nx && j < a.ny)
                div = poisson_max(div, (double)poisson_abs(
                                           flow_derived(&a, SIM_FLOW_DIVERGENCE, i, j)));
            u = here > u ? here : u;
            v = up > v ? up : v;
        }
        div = flow_warp_max(div);
        const double most_u = flow_warp_max(poisson_of_size(u)),
                     most_v = flow_warp_max(poisson_of_size(v));
        if (lane == 0)
            rows[3 * j] = div, rows[3 * j + 1] = most_u, rows[3 * j + 2] = most_v;
    }
}

static __global__ void force_kernel(const __grid_constant__ struct flow_args a,
                                    struct sim_flow_box box, double x0, double y0,
                                    double *rows)
{
    const int64_t j = box.j0 + (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (j < box.j1)
        flow_force_row(&a, &box, x0, y0, j, rows + 3 * (j - box.j0));
}

static __global__ void __launch_bounds__(FLOW_LANES)
    answer_kernel(const double *rows, int64_t count, bool largest, double *out)
{
    __shared__ double shared[FLOW_LANES];
    for (int k = 0; k < 3; k++) {
        const double answer = flow_block_rows(rows, count, k, largest, shared);
        if (threadIdx.x == 0)
            out[k] = answer;
    }
}

enum sim_status flow_measure_cuda(struct sim_flow_system *s, double *out)
{
    const struct flow_args a = flow_args_of(s);
    SIM_TRY(sim_launch(s->device, "flow: divergence", measure_kernel,
                       dim3(flow_row_blocks(a.ny + 1)), dim3(32 * FLOW_WARPS), 0, a,
                       s->poisson.rows));
    return sim_launch(s->device, "flow: divergence", answer_kernel, dim3(1),
                      dim3(FLOW_LANES), 0, s->poisson.rows, a.ny + 1, true, out);
}

enum sim_status flow_force_cuda(struct sim_flow_system *s, const struct sim_flow_box *box,
                                double *out)
{
    const struct flow_args a = flow_args_of(s);
    const int64_t rows = box->j1 - box->j0;
    SIM_TRY(sim_launch(s->device, "flow: force", force_kernel,
                       dim3((unsigned)((rows + 63) / 64)), dim3(64), 0, a, *box, s->x0,
                       s->y0, s->poisson.rows));
    return sim_launch(s->device, "flow: force", answer_kernel, dim3(1), dim3(FLOW_LANES),
                      0, s->poisson.rows, rows, false, out);
}

/* --- markers ------------------------------------------------------------------------ */

static __global__ void trace_kernel(const __grid_constant__ struct flow_args a,
                                    struct sim_flow_markers m, double x0, double y0)
{
    if (a.control->skip)
        return;
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < m.capacity;
         k += (int64_t)gridDim.x * blockDim.x)
        flow_marker_step(&a, &m, x0, y0, k);
}

static unsigned marker_blocks(const struct sim_flow_system *s)
{
    const int64_t blocks = (s->markers.capacity + 255) / 256;
    return (unsigned)(blocks < 65535 ? blocks : 65535);
}

enum sim_status flow_trace_cuda(const struct sim_flow_system *s,
                                const struct flow_args *a)
{
    return sim_launch(s->device, "flow: markers", trace_kernel, dim3(marker_blocks(s)),
                      dim3(256), 0, *a, s->markers, s->x0, s->y0);
}

/* Counts are whole numbers in the array's place until all are there. */
static __global__ void count_kernel(const __grid_constant__ struct flow_args a,
                                    struct sim_flow_markers m, double x0, double y0,
                                    real *out, int64_t pitch)
{
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < m.capacity;
         k += (int64_t)gridDim.x * blockDim.x) {
        const int64_t c = flow_marker_cell(&a, &m, x0, y0, k, pitch);
        if (c >= 0)
            atomicAdd(reinterpret_cast<unsigned *>(out + c), 1u);
    }
}

static __global__ void __launch_bounds__(FLOW_ACROSS *FLOW_UP)
    counted_kernel(struct flow_args a, real *out, int64_t pitch, bool clear)
{
    FLOW_ELEMENTS(i, j, a.nx, a.ny)
    {
        real *at = out + j * pitch + i;
        *at = clear ? (real)0 : (real) * reinterpret_cast<unsigned *>(at);
    }
}

static enum sim_status count_markers(struct sim_flow_system *s, const struct flow_args *a,
                                     real *out, int64_t pitch)
{
    const dim3 grid = flow_blocks(a->nx, a->ny), block(FLOW_ACROSS, FLOW_UP);
    SIM_TRY(sim_launch(s->device, "flow: markers", counted_kernel, grid, block, 0, *a,
                       out, pitch, true));
    if (!s->markers.marker)
        return SIM_OK;
    SIM_TRY(sim_launch(s->device, "flow: markers", count_kernel, dim3(marker_blocks(s)),
                       dim3(256), 0, *a, s->markers, s->x0, s->y0, out, pitch));
    return sim_launch(s->device, "flow: markers", counted_kernel, grid, block, 0, *a, out,
                      pitch, false);
}

/* --- the table's -------------------------------------------------------------------- */

enum sim_status flow_derive_cuda(struct sim_flow_system *s, enum sim_flow_derived kind,
                                 void *out, int64_t pitch)
{
    const struct flow_args a = flow_args_of(s);
    real *to = (real *)out;
    if (kind == SIM_FLOW_STREAM)
        return stream_function(s, &a, to, pitch);
    if (kind == SIM_FLOW_MARKERS)
        return count_markers(s, &a, to, pitch);
    return sim_launch(s->device, "flow: derived field", derive_kernel,
                      flow_blocks(a.nx, a.ny), dim3(FLOW_ACROSS, FLOW_UP), 0, a,
                      (int)kind, to, pitch);
}
