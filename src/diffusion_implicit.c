/* diffusion_implicit.c - Crank-Nicolson and alternating directions, for steps beyond the
 * explicit limit. X and Y are a step's change along the axes, walls and all, L = X + Y, b
 * what walls and sources add by themselves.
 *
 * Alternating directions (Peaceman and Rachford 1955), two sweeps of lines a step:
 *     (1 - X/2) u* = (1 + Y/2) u  + (bx(t + dt/2) + by(t)      + S(t))/2
 *     (1 - Y/2) u' = (1 + X/2) u* + (bx(t + dt/2) + by(t + dt) + S(t + dt))/2
 *
 * Crank-Nicolson: (1 - L/2) u' = (1 + L/2) u + (b(t) + b(t + dt))/2, unsplit. Where the
 * system has eigenmodes in closed form, exactly and any number of steps at once
 * (diffusion_jump.c). Else by the iteration of the same authors: with H = (1 - X)/2 and
 * V = (1 - Y)/2,
 *     (H + p) u* = (p - V) u + r,      (V + p) u = (p - H) u* + r
 * in cycles of parameters p that are spread geometrically over the spectrum, until the
 * residual is down to rounding. Should a cycle not help (X and Y do not commute where D
 * or the domain vary), p stays at the geometric mean, which converges for every symmetric
 * pair. After each cycle the host waits for the residual.
 *
 * Reactions are split off symmetrically (Strang 1968): half a step of the reaction by
 * Heun's rule, a step of the rest, half a step of the reaction. Decay is linear and stays
 * in X and Y, half in each.
 *
 * Both are of second order in time and stable for linear problems at any dt; neither
 * keeps the maximum principle for large steps, and sharp modes decay slowly there. A
 * source that jumps in time is seen as the mean of its values at a step's ends. A fast
 * reaction limits dt by its own rate. */
#include "diffusion.h"

#include <float.h>
#include <math.h>

#define BATCH      256 /* steps whose signals travel at once */
#define CYCLES     200
#define PARAMETERS 16

/* Rows of signals on the device: of step k, at its begin, middle and end. */
struct rows {
    const char *at;
    size_t stride; /* bytes from one row to the next; 0 where nothing varies */
};

static const void *row(const struct rows *r, int64_t k)
{
    return r->at + (size_t)k * r->stride;
}

/* Alternating directions: rows of half steps. Crank-Nicolson: of steps, the mean of both
 * ends, as what walls and sources give is linear in them. */
static enum sim_status put_rows(struct sim_diffusion *d, int64_t steps, struct rows *out)
{
    double rows[2 * BATCH + 1][SIM_SIGNALS], end[SIM_SIGNALS];
    const bool adi = d->desc.integrator == SIM_ADI, varies = sim_diffusion_varies(d);
    const int64_t count = !varies ? 1 : adi ? 2 * steps + 1 : steps;
    for (int64_t k = 0; k < count; k++) {
        const double step = (double)d->steps + (adi ? 0.5 : 1) * (double)k;
        sim_diffusion_row(d, d->desc.time + step * d->desc.dt, rows[k]);
        sim_diffusion_row(d, d->desc.time + (step + 1) * d->desc.dt, end);
        for (int n = 0; n < SIM_SIGNALS && varies && !adi; n++)
            rows[k][n] = 0.5 * (rows[k][n] + end[n]);
    }
    SIM_TRY(sim_diffusion_put_rows(d, rows, count));
    out->at = d->signals.data;
    out->stride = count > 1 ? SIM_SIGNALS * d->ops->real_bytes : 0;
    return SIM_OK;
}

/* --- alternating directions --------------------------------------------------------- */

static enum sim_status adi_species(struct sim_diffusion *d, int s, const struct rows *r,
                                   int64_t k)
{
    struct sim_diffusion_sweep sweep = {.species = s,
                                        .axis = 0,
                                        .alpha = 1,
                                        .beta = 1,
                                        .from = d->system.now[s],
                                        .to = d->system.next[s],
                                        .along = row(r, 2 * k + 1),
                                        .across = row(r, 2 * k),
                                        .source = row(r, 2 * k),
                                        .scratch = d->lines.data};
    SIM_TRY(d->ops->sweep(&d->system, &sweep));
    sweep.axis = 1;
    sweep.from = d->system.next[s], sweep.to = d->system.now[s];
    sweep.along = row(r, 2 * k + 2), sweep.across = row(r, 2 * k + 1);
    sweep.source = row(r, 2 * k + 2);
    return d->ops->sweep(&d->system, &sweep);
}

/* --- Crank-Nicolson ----------------------------------------------------------------- */

/* Bounds of the eigenvalues of H and V. */
struct spectrum {
    double low, high;
};

static struct spectrum spectrum_of(const struct sim_diffusion *d, int s)
{
    const double rate =
        fmax(sim_diffusion_axis_rate(d, s, 0), sim_diffusion_axis_rate(d, s, 1));
    const double decay = d->desc.reaction == SIM_DECAY ? d->desc.number[0] / 2 : 0;
    return (struct spectrum){fmax(0.5 + 0.5 * d->desc.dt * fmin(decay, 0), 0.01),
                             0.5 + 0.5 * d->desc.dt * (rate + fmax(decay, 0))};
}

/* A cycle's parameters: one for each factor 4 in the spectrum. */
static int make_parameters(const struct spectrum *e, double p[PARAMETERS])
{
    int count = (int)ceil(log(e->high / e->low) / log(4));
    count = count < 1 ? 1 : count > PARAMETERS ? PARAMETERS : count;
    for (int k = 0; k < count; k++)
        p[k] = e->low * pow(e->high / e->low, (2 * k + 1) / (2.0 * count));
    return count;
}

static enum sim_status iterate(struct sim_diffusion *d, int s, double p,
                               const void *right)
{
    struct sim_diffusion_sweep sweep = {.species = s,
                                        .axis = 0,
                                        .alpha = 0.5 + p,
                                        .beta = p - 0.5,
                                        .from = d->system.now[s],
                                        .to = d->system.next[s],
                                        .extra = right,
                                        .along = d->system.signal,
                                        .across = d->system.signal,
                                        .scratch = d->lines.data};
    SIM_TRY(d->ops->sweep(&d->system, &sweep));
    sweep.axis = 1;
    sweep.from = d->system.next[s], sweep.to = d->system.now[s];
    return d->ops->sweep(&d->system, &sweep);
}

static enum sim_status nicolson_species(struct sim_diffusion *d, int s,
                                        const struct rows *r, int64_t k)
{
    const struct spectrum e = spectrum_of(d, s);
    const double epsilon = d->desc.is_double ? DBL_EPSILON : FLT_EPSILON;
    double p[PARAMETERS], left = HUGE_VAL, before, size = 0;
    void *right = d->workspace.data;
    int count = make_parameters(&e, p);
    SIM_TRY(d->ops->half(&d->system, s, d->system.now[s], row(r, k), right));
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        for (int n = 0; n < count; n++)
            SIM_TRY(iterate(d, s, p[count - 1 - n], right));
        before = left;
        SIM_TRY(d->ops->residual(&d->system, s, d->system.now[s], right, &left, &size));
        const double rounding = epsilon * e.high * size; /* of the residual itself */
        const bool stalls = left > 0.5 * before;
        if (!(left > (stalls ? 2048 : 8) * rounding)) /* or NaN: a frame will find it */
            return SIM_OK;
        if (stalls) {
            count = 8;
            for (int n = 0; n < count; n++)
                p[n] = sqrt(e.low * e.high);
        }
    }
    return sim_fail(SIM_DIVERGED,
                    "diffusion: Crank-Nicolson's equations are not solved after %d "
                    "cycles (residual %.3g of values up to %.3g); make dt smaller",
                    CYCLES, left, size);
}

/* --- steps -------------------------------------------------------------------------- */

static enum sim_status make_memory(struct sim_diffusion *d)
{
    const size_t bytes = d->arrays[0][0].bytes;
    if (d->desc.integrator == SIM_CRANK_NICOLSON && d->workspace.bytes < bytes) {
        sim_buffer_free(&d->workspace);
        SIM_TRY(sim_buffer_new(d->system.device, bytes, "the right-hand side",
                               &d->workspace));
    }
    if (d->ops->sweep_scratch && d->lines.bytes < 2 * bytes)
        SIM_TRY(
            sim_buffer_new(d->system.device, 2 * bytes, "lines of diffusion", &d->lines));
    return SIM_OK;
}

static bool split(const struct sim_diffusion *d)
{
    return d->desc.reaction != SIM_REACTION_NONE && d->desc.reaction != SIM_DECAY;
}

static enum sim_status one_step(struct sim_diffusion *d, const struct rows *r, int64_t k)
{
    if (split(d))
        SIM_TRY(d->ops->react(&d->system, d->desc.dt / 2));
    for (int s = 0; s < d->system.species; s++)
        SIM_TRY(d->desc.integrator == SIM_ADI ? adi_species(d, s, r, k)
                                              : nicolson_species(d, s, r, k));
    return split(d) ? d->ops->react(&d->system, d->desc.dt / 2) : SIM_OK;
}

enum sim_status sim_diffusion_implicit(struct sim_diffusion *d, int64_t count)
{
    struct rows rows;
    if (d->desc.integrator == SIM_CRANK_NICOLSON && !sim_diffusion_no_modes(d))
        return sim_diffusion_modes(d, SIM_MODAL_CRANK_NICOLSON, count);
    SIM_TRY(make_memory(d));
    while (count > 0) {
        const int64_t now = count < BATCH ? count : BATCH;
        SIM_TRY(put_rows(d, now, &rows));
        for (int64_t k = 0; k < now; k++) {
            SIM_TRY(sim_check_interrupt());
            SIM_TRY(one_step(d, &rows, k));
            d->steps++;
        }
        count -= now;
    }
    return SIM_OK;
}

const char *sim_diffusion_implicit_name(const struct sim_diffusion *d)
{
    if (d->desc.integrator == SIM_ADI)
        return "alternating directions, line by line";
    return sim_diffusion_no_modes(d) ? "Crank-Nicolson, by sweeps of lines"
                                     : "Crank-Nicolson, in eigenmodes";
}
