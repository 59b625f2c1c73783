/* flow_cpu_query.c - what is asked of a flow, on CPU threads; formulas:
 * flow_query_math.h. */
#include "flow_cpu.h"
#include "flow_marker_math.h"
#include "flow_query_math.h"

#include <string.h>

static enum sim_status done(const struct sim_flow_system *s)
{
    SIM_TRY(sim_device_launch(s->device, "flow: a question"));
    return sim_check_interrupt();
}

static void stream_function(const struct sim_flow_system *s, const struct flow_args *a,
                            real *out, int64_t pitch)
{
    flow_stream_foot(a, out);
#pragma omp parallel for num_threads(s->device->threads) schedule(static)
    for (int64_t i = 0; i <= a->nx; i++)
        flow_stream_column(a, out, pitch, i);
}

static void count_markers(const struct sim_flow_system *s, const struct flow_args *a,
                          real *out, int64_t pitch)
{
    for (int64_t j = 0; j < a->ny; j++)
        memset(out + j * pitch, 0, (size_t)a->nx * sizeof *out);
    for (int64_t k = 0; k < s->markers.capacity && s->markers.marker; k++) {
        const int64_t c = flow_marker_cell(a, &s->markers, s->x0, s->y0, k, pitch);
        if (c >= 0)
            out[c] = out[c] + (real)1;
    }
}

void flow_trace_cpu(const struct sim_flow_system *s, const struct flow_args *a)
{
#pragma omp parallel for num_threads(s->device->threads) \
    schedule(static) if (s->markers.capacity >= FLOW_PARALLEL)
    for (int64_t k = 0; k < s->markers.capacity; k++)
        flow_marker_step(a, &s->markers, s->x0, s->y0, k);
}

enum sim_status flow_derive_cpu(struct sim_flow_system *s, enum sim_flow_derived kind,
                                void *out, int64_t pitch)
{
    const struct flow_args a = flow_args_of(s);
    real *to = out;
    if (kind == SIM_FLOW_STREAM) {
        stream_function(s, &a, to, pitch);
        return done(s);
    }
    if (kind == SIM_FLOW_MARKERS) {
        count_markers(s, &a, to, pitch);
        return done(s);
    }
#pragma omp parallel for num_threads(s->device->threads) \
    schedule(static) if (a.nx * a.ny >= FLOW_PARALLEL)
    for (int64_t j = 0; j < a.ny; j++)
        for (int64_t i = 0; i < a.nx; i++)
            to[j * pitch + i] = flow_derived(&a, (int)kind, i, j);
    return done(s);
}

enum sim_status flow_measure_cpu(struct sim_flow_system *s, double *out)
{
    const struct flow_args a = flow_args_of(s);
    double *rows = s->poisson.rows;
#pragma omp parallel for num_threads(s->device->threads) \
    schedule(static) if (a.nx * a.ny >= FLOW_PARALLEL)
    for (int64_t j = 0; j <= a.ny; j++) {
        double *row = rows + 3 * j;
        row[0] = 0;
        for (int64_t i = 0; i < a.nx && j < a.ny; i++)
            row[0] = poisson_max(
                row[0], (double)poisson_abs(flow_derived(&a, SIM_FLOW_DIVERGENCE, i, j)));
        row[1] = j < a.ny ? poisson_largest(a.u + j * a.pitch, a.nx + 1) : 0;
        row[2] = poisson_largest(a.v + j * a.pitch, a.nx);
    }
    for (int k = 0; k < 3; k++)
        out[k] = flow_rows_max(rows, a.ny + 1, k);
    return done(s);
}

enum sim_status flow_force_cpu(struct sim_flow_system *s, const struct sim_flow_box *box,
                               double *out)
{
    const struct flow_args a = flow_args_of(s);
    double *rows = s->poisson.rows;
#pragma omp parallel for num_threads(s->device->threads) \
    schedule(static) if (a.nx * a.ny >= FLOW_PARALLEL)
    for (int64_t j = box->j0; j < box->j1; j++)
        flow_force_row(&a, box, s->x0, s->y0, j, rows + 3 * (j - box->j0));
    for (int k = 0; k < 3; k++)
        out[k] = flow_rows_sum(rows, box->j1 - box->j0, k);
    return done(s);
}
