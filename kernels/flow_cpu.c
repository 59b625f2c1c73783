/* flow_cpu.c - the passes of the flow solver on CPU threads, and the table of operations.
 * Formulas: flow_math.h; order: flow_plan.h. Threads take rows, no bit depends on how. */
#include "flow_cpu.h"
#include "flow_plan.h"

#include <string.h>

static enum sim_status poisson_pass(struct sim_poisson_system *s, enum poisson_pass pass,
                                    int level)
{
    return poisson_pass_cpu(s, pass, level);
}

static enum sim_status poisson_wrap(struct sim_poisson_system *s, int level, void *array)
{
    return poisson_wrap_cpu(s, level, array);
}

static bool poisson_done(const struct sim_poisson_system *s)
{
    return s->control->done != 0;
}

static enum sim_status poisson_gradients(struct sim_poisson_system *s)
{
    return poisson_gradients_cpu(s);
}

static bool flow_over(const struct sim_flow_system *s)
{
    return s->control->skip != 0;
}

/* --- rows --------------------------------------------------------------------------- */

WIDE static double largest_row(const real *restrict a, int64_t n)
{
    return poisson_largest(a, n);
}

/* Row j of faces: F for i = 0 .. nx, G for i = 0 .. nx - 1. Faces at the sides that are
 * not free are the sides' business. */
WIDE static void momentum_rows(const struct flow_args *args, real dt, real *restrict f,
                               real *restrict g, int64_t j)
{
    const struct flow_args a = *args;
    const int64_t o = j * a.pitch;
    if (j < a.ny)
        for (int64_t i = 0; i <= a.nx; i++)
            f[i] = flow_tentative_u(&a, dt, o + i);
    for (int64_t i = 0; i < a.nx; i++)
        g[i] = flow_tentative_v(&a, dt, o + i);
}

/* The same where nothing but a constant acts: without questions in the loops. */
WIDE static void plain_momentum_rows(const struct flow_args *args, real dt,
                                     real *restrict f, real *restrict g, int64_t j)
{
    struct flow_args a = *args;
    const int64_t o = j * a.pitch;
    a.heat = a.force_field_x = a.force_field_y = NULL;
    if (j < a.ny)
        for (int64_t i = 0; i <= a.nx; i++)
            f[i] = flow_tentative_u(&a, dt, o + i);
    for (int64_t i = 0; i < a.nx; i++)
        g[i] = flow_tentative_v(&a, dt, o + i);
}

static void momentum_row(const struct flow_args *a, int64_t j)
{
    const real dt = (real)a->control->dt;
    real *f = a->f + j * a->pitch, *g = a->g + j * a->pitch;
    if (flow_force_varies(a))
        momentum_rows(a, dt, f, g, j);
    else
        plain_momentum_rows(a, dt, f, g, j);
}

static double force_row(const struct flow_args *a, int64_t j)
{
    double most = 0;
    for (int64_t i = 0; i < a->nx; i++)
        most = poisson_max(most, flow_force_size(a, j * a->pitch + i));
    return most;
}

static void limits_row(const struct flow_args *a, double *rows, int64_t j)
{
    rows[0] = j < a->ny ? largest_row(a->u + j * a->pitch, a->nx + 1) : 0;
    rows[1] = largest_row(a->v + j * a->pitch, a->nx);
    rows[2] = 0;
    if (j < a->ny)
        rows[2] = flow_force_varies(a) ? force_row(a, j) : flow_force_constant(a);
}

WIDE static void inflow_row(const struct flow_args *a, real *restrict b, int64_t j)
{
    for (int64_t i = 0; i < a->nx; i++)
        b[i] = flow_inflow(a, a->f, a->g, j * a->pitch + i);
}

static void rhs_row(const struct flow_args *a, double *rows, int64_t j)
{
    const int64_t o = j * a->pitch;
    rows[0] = 0;
    if (j < a->ny) {
        inflow_row(a, a->b + o, j);
        memset(a->solution + o, 0, (size_t)a->nx * sizeof *a->solution);
        rows[0] = largest_row(a->b + o, a->nx);
    }
    const double f = j < a->ny ? largest_row(a->f + o, a->nx + 1) : 0;
    rows[1] = poisson_max(f, largest_row(a->g + o, a->nx));
}

/* As flow_correct_u over a row, in loops that the compiler makes vectors of; `half` where
 * all of the row's faces are half a cell from the pressure beyond them. */
WIDE static poisson_bits correct_faces(real *restrict now, real *restrict tentative,
                                       const real *restrict x,
                                       const uint8_t *restrict flags, int64_t back,
                                       unsigned free, real inv, int64_t n)
{
    poisson_bits most = 0;
    for (int64_t i = 0; i < n; i++) {
        const real gradient = (x[i] - x[i - back]) * inv;
        const poisson_bits size =
            flow_corrected(&now[i], &tentative[i], gradient, flags[i] & free);
        most = size > most ? size : most;
    }
    return most;
}

static double correct_row(const struct flow_args *a, int64_t j)
{
    const int64_t o = j * a->pitch, last = a->nx;
    const bool half = !a->periodic_y && (j == 0 || j == a->ny);
    poisson_bits most =
        correct_faces(a->v + o, a->g + o, a->solution + o, a->flags + o, a->pitch,
                      SIM_FLOW_V, (half ? (real)2 : (real)1) * a->inv_dy, a->nx);
    if (j < a->ny) {
        const poisson_bits inner =
            correct_faces(a->u + o + 1, a->f + o + 1, a->solution + o + 1,
                          a->flags + o + 1, 1, SIM_FLOW_U, (real)1 * a->inv_dx, last - 1);
        const poisson_bits first = flow_correct_u(a, 0, o),
                           end = flow_correct_u(a, last, o + last);
        most = inner > most ? inner : most;
        most = first > most ? first : most;
        most = end > most ? end : most;
    }
    return poisson_of_size(most);
}

WIDE static void pressure_row(real *restrict p, const real *restrict solution,
                              real inv_dt, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        p[i] = p[i] + solution[i] * inv_dt;
}

static void scalar_row(const struct flow_args *a, const struct flow_scalar *c, int64_t j)
{
    const real dt = (real)a->control->dt;
    for (int64_t i = 0; i < a->nx; i++)
        flow_scalar_cell(a, c, i, j, dt);
}

static void take_row(const struct flow_args *a, const struct flow_scalar *c, int64_t j)
{
    for (int64_t i = 0; i < a->nx; i++)
        flow_scalar_take(a, c, i, j);
}

static void start_row(const struct flow_args *a, int64_t j)
{
    const size_t bytes = (size_t)(a->nx + 1) * sizeof *a->u;
    memcpy(a->f + j * a->pitch, a->u + j * a->pitch, bytes);
    memcpy(a->g + j * a->pitch, a->v + j * a->pitch, bytes);
}

static void clean_row(const struct flow_args *a, int64_t j)
{
    for (int64_t i = 0; i <= a->nx; i++)
        flow_clean(a, i, j);
}

static void refine_row(const struct flow_args *a, int64_t j)
{
    for (int64_t i = 0; i <= a->nx; i++)
        flow_refine(a, i, j);
}

static void row_of_pass(struct sim_flow_system *s, const struct flow_args *a,
                        const struct flow_scalar *c, int pass, int64_t j)
{
    double *rows = s->poisson.rows + 3 * j;
    switch (pass) {
    case FLOW_CLEAN:
        clean_row(a, j);
        break;
    case FLOW_LIMITS:
        limits_row(a, rows, j);
        break;
    case FLOW_MOMENTUM:
        momentum_row(a, j);
        break;
    case FLOW_START:
        start_row(a, j);
        break;
    case FLOW_RHS:
        rhs_row(a, rows, j);
        break;
    case FLOW_REFINE:
        refine_row(a, j);
        break;
    case FLOW_CORRECT:
        rows[0] = correct_row(a, j);
        break;
    case FLOW_ADVANCE:
        rows[0] = correct_row(a, j);
        if (j == a->ny)
            break;
        /* fallthrough */
    case FLOW_PRESSURE:
        pressure_row(a->p + j * a->pitch, a->solution + j * a->pitch,
                     (real)(1 / a->control->dt), a->nx);
        break;
    case FLOW_SCALAR:
        scalar_row(a, c, j);
        break;
    default:
        take_row(a, c, j);
    }
}

/* --- passes that are not rows ------------------------------------------------------- */

static void balance(const struct sim_flow_system *s, const struct flow_args *a)
{
    a->control->imbalance = 0;
    a->control->fastest_outflow = 0;
    for (int region = 0; region < s->balanced_regions; region++) {
        struct flow_balance lane[FLOW_BALANCE_LANES] = {{0}};
        for (int64_t e = 0; e < flow_perimeter(a); e++)
            flow_side_flux(a, e, region, &lane[e % FLOW_BALANCE_LANES]);
        for (int half = FLOW_BALANCE_LANES / 2; half >= 1; half /= 2)
            for (int t = 0; t < half; t++)
                flow_balance_add(&lane[t], &lane[t + half]);
        const double more = flow_balance_of(a->control, &lane[0]);
        for (int64_t e = 0; e < flow_perimeter(a); e++)
            flow_side_correct(a, e, region, more);
    }
    a->control->outflow_speed = a->control->fastest_outflow;
}

/* The mean over each closed region, taken out. */
static void take_mean(const struct sim_flow_system *s, real *x)
{
#pragma omp parallel for num_threads(s->device->threads) \
    schedule(static) if (s->closed_cells >= FLOW_PARALLEL)
    for (int64_t k = 0; k < s->closed_chunks; k++) {
        double lane[FLOW_LANES] = {0};
        const int64_t region = flow_chunk_region(s->closed_chunk, s->closed_regions, k);
        int64_t until, from = flow_chunk_cells(s, region, k, &until);
        for (int64_t c = from; c < until; c++)
            lane[(c - from) % FLOW_LANES] =
                lane[(c - from) % FLOW_LANES] + (double)x[flow_closed_cell(s, c)];
        s->closed_sum[k] = flow_halve_sum(lane, FLOW_LANES);
    }
    for (int64_t region = 0; region < s->closed_regions; region++) {
        double lane[FLOW_LANES];
        for (int t = 0; t < FLOW_LANES; t++)
            lane[t] = flow_closed_lane(s, region, t);
        s->closed_sum[s->closed_chunks + region] =
            flow_halve_sum(lane, FLOW_LANES) / (double)flow_closed_size(s, region);
    }
#pragma omp parallel for num_threads(s->device->threads) \
    schedule(static) if (s->closed_cells >= FLOW_PARALLEL)
    for (int64_t k = 0; k < s->closed_chunks; k++) {
        const int64_t region = flow_chunk_region(s->closed_chunk, s->closed_regions, k);
        const real mean = (real)s->closed_sum[s->closed_chunks + region];
        int64_t until, from = flow_chunk_cells(s, region, k, &until);
        for (int64_t c = from; c < until; c++) {
            const int64_t at = flow_closed_cell(s, c);
            x[at] = x[at] - mean;
        }
    }
}

static void ghosts(const struct flow_args *a)
{
    for (int side = 0; side < 4; side++)
        for (int64_t k = 0; k <= flow_side_length(a, side); k++)
            flow_side_ghosts(a, side, k);
}

static void sides(struct sim_flow_system *s, const struct flow_args *a,
                  const struct flow_scalar *c, int pass, bool cuts)
{
    if (pass == FLOW_GHOSTS)
        ghosts(a);
    else if (pass == FLOW_BALANCE)
        balance(s, a);
    else {
        for (int64_t k = 0; k < s->cut_count && cuts; k++)
            flow_cut_face(a, (real)a->control->dt, &s->cut[k]);
        for (int64_t e = 0; e < flow_perimeter(a); e++)
            if (pass == FLOW_SIDES)
                flow_side_tentative(a, e);
            else if (pass == FLOW_SIDES_NOW)
                flow_side_now(a, e);
            else
                flow_scalar_ghost(a, c, e);
    }
}

/* --- passes ------------------------------------------------------------------------- */

static void after(struct sim_flow_system *s, const struct flow_args *a, int pass)
{
    const double *rows = s->poisson.rows;
    struct sim_flow_control *k = a->control;
    const struct flow_limits limits = flow_limits_of(s);
    const int64_t n = a->ny + 1;
    if (pass == FLOW_LIMITS)
        flow_begin(&limits, k, flow_rows_max(rows, n, 0), flow_rows_max(rows, n, 1),
                   flow_rows_max(rows, n, 2));
    else if (pass == FLOW_RHS)
        flow_tolerate(k, s->tolerance, s->dx, s->dy, flow_rows_max(rows, n, 0),
                      flow_rows_max(rows, n, 1));
    else if (pass == FLOW_CORRECT || pass == FLOW_ADVANCE)
        k->largest_change = flow_rows_max(rows, n, 0);
    if (pass == FLOW_ADVANCE)
        flow_end(k);
}

static bool by_rows(int pass)
{
    return pass == FLOW_CLEAN || pass == FLOW_LIMITS || pass == FLOW_MOMENTUM ||
           pass == FLOW_START || pass == FLOW_RHS || pass == FLOW_REFINE ||
           pass == FLOW_CORRECT || pass == FLOW_PRESSURE || pass == FLOW_ADVANCE ||
           pass == FLOW_SCALAR || pass == FLOW_SCALAR_TAKE;
}

static enum sim_status flow_pass(struct sim_flow_system *s, enum flow_pass pass, int k)
{
    const struct flow_args a = flow_args_of(s);
    const struct flow_scalar c = flow_scalar_of(s, k);
    if (pass == FLOW_START || pass == FLOW_CLEAN)
        flow_outside_time(a.control, pass == FLOW_CLEAN);
    if ((a.control->skip && pass != FLOW_LIMITS && pass != FLOW_GATE_END) ||
        (pass == FLOW_CENTRE && !flow_centres(a.control)))
        return SIM_OK;
    SIM_TRY(sim_device_launch(s->device, "flow"));
    if (!by_rows(pass)) {
        if (pass == FLOW_GATE)
            flow_gate(a.control);
        else if (pass == FLOW_GATE_END)
            flow_gate_end(a.control);
        else if (pass == FLOW_TRACE)
            flow_trace_cpu(s, &a);
        else if (pass == FLOW_COMPATIBLE)
            take_mean(s, a.b);
        else if (pass == FLOW_CENTRE)
            take_mean(s, a.p);
        else
            sides(s, &a, &c, pass, k != 0);
        return SIM_OK;
    }
    const bool cells =
        pass == FLOW_PRESSURE || pass == FLOW_SCALAR || pass == FLOW_SCALAR_TAKE;
    const int64_t n = cells ? a.ny : a.ny + 1;
#pragma omp parallel for num_threads(s->device->threads) \
    schedule(static) if (a.nx * n >= FLOW_PARALLEL)
    for (int64_t j = 0; j < n; j++)
        row_of_pass(s, &a, &c, pass, j);
    after(s, &a, pass);
    return SIM_OK;
}

/* --- the table ---------------------------------------------------------------------- */

#define TABLE SIM_TYPED(sim_flow_ops_cpu)
const struct sim_flow_ops TABLE = {
#ifdef SIM_DOUBLE
    .name = "cpu double",
#else
    .name = "cpu single",
#endif
    .real_bytes = sizeof(real),
    .settle = flow_settle_plan,
    .step = flow_step_plan,
    .project = flow_project_plan,
    .derive = flow_derive_cpu,
    .measure = flow_measure_cpu,
    .force = flow_force_cpu,
};
