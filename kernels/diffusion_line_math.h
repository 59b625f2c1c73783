/* diffusion_line_math.h - the operator along one axis as rows of a tridiagonal matrix,
 * and the elimination along a line, once, for both backends.
 *
 * With the walls' rule g = inner u_0 + second u_1 + base + driven w put in, a step's
 * change along an axis is (A u)_k = lower u_{k-1} + middle u_k + upper u_{k+1} + drive,
 * whatever the wall, the mask and D. A sweep (diffusion.h) solves (alpha - A/2) x = d by
 * Thomas's elimination: on the way up
 *     p_k = -1/2 upper_k / q,  y_k = (d_k - l y_{k-1}) / q,  q = alpha - 1/2 middle - l
 * p_{k-1} with l = -1/2 lower_k, and x_k = y_k - p_k x_{k+1} on the way down. A periodic
 * line is bordered: its last cell is set aside, x = y + x_last z, where z answers to a
 * unit of x_last, and the last row gives x_last. Stable without pivots, as rows are
 * diagonally dominant for walls that draw no energy from nowhere.
 *
 * Not here: loops. */
#ifndef DIFFUSION_LINE_MATH_H
#define DIFFUSION_LINE_MATH_H

#include "diffusion_math.h"

struct diffusion_line {
    real lower, middle, upper, drive;
};

/* One row of the system along a line. */
struct diffusion_equation {
    real lower, middle, upper, right;
};

/* struct sim_diffusion_sweep in `real`. */
struct diffusion_sweep {
    int species, axis;
    real alpha, beta;
    const real *from, *extra, *along, *across, *source;
    real *to, *scratch;
};

/* What of a decay is taken along each axis. */
SIM_FN real diffusion_half_decay(enum sim_reaction model, const struct diffusion_args *a)
{
    return model == SIM_DECAY ? (real)0.5 * (a->dt * a->number[0]) : (real)0;
}

/* A wall in the place of a neighbour that conducts `rate`; u_1 is the cell itself where
 * there is no other. */
SIM_FN void diffusion_fold(struct diffusion_line *line, real *inward, bool alone,
                           real rate, struct diffusion_edge g, real w)
{
    line->middle = sim_fma(rate, g.inner, line->middle);
    if (alone)
        line->middle = sim_fma(rate, g.second, line->middle);
    else
        *inward = sim_fma(rate, g.second, *inward);
    line->drive = sim_fma(rate, sim_fma(g.driven, w, g.base), line->drive);
}

/* The operator's row along `axis` at cell (i, j), which takes part. */
SIM_FN struct diffusion_line diffusion_line_at(enum sim_reaction model,
                                               const struct diffusion_args *a, int s,
                                               int axis, int64_t i, int64_t j,
                                               const real *signal)
{
    const int64_t n = axis ? a->ny : a->nx, k = axis ? j : i, along = axis ? i : j;
    const bool periodic = axis ? a->periodic_y : a->periodic_x;
    const int64_t low = diffusion_wrap(k - 1, n, periodic);
    const int64_t high = diffusion_wrap(k + 1, n, periodic);
    const int64_t il = axis ? i : low, jl = axis ? low : j;
    const int64_t ih = axis ? i : high, jh = axis ? high : j;
    const bool at_low = !periodic && k == 0, at_high = !periodic && k == n - 1;
    real down = axis ? a->rate_y[s] : a->rate_x[s], up = down;
    bool shut_low = false, shut_high = false;
    if (a->conductance[s]) {
        const real *d = a->conductance[s], c = d[j * a->pitch + i];
        down = down * diffusion_face(c, d[jl * a->pitch + il]);
        up = up * diffusion_face(c, d[jh * a->pitch + ih]);
    }
    if (a->mask) {
        shut_low = !at_low && a->mask[jl * a->nx + il];
        shut_high = !at_high && a->mask[jh * a->nx + ih];
        down = shut_low ? (real)0 : down;
        up = shut_high ? (real)0 : up;
    }
    struct diffusion_line line = {at_low ? (real)0 : down, -(down + up),
                                  at_high ? (real)0 : up, 0};
    line.middle = line.middle - diffusion_half_decay(model, a);
    int number;
    if (at_low) {
        const struct diffusion_edge g =
            diffusion_edge_at(a, s, axis ? SIM_SOUTH : SIM_WEST, along, &number);
        diffusion_fold(&line, &line.upper, at_high || shut_high, down, g, signal[number]);
    }
    if (at_high) {
        const struct diffusion_edge g =
            diffusion_edge_at(a, s, axis ? SIM_NORTH : SIM_EAST, along, &number);
        diffusion_fold(&line, &line.lower, at_low || shut_low, up, g, signal[number]);
    }
    return line;
}

/* A u without its drive. */
SIM_FN real diffusion_line_apply(struct diffusion_line line, real low, real c, real high)
{
    return sim_fma(line.middle, c, line.lower * low + line.upper * high);
}

/* The same for a cell of an array of one member. */
SIM_FN real diffusion_line_of(const struct diffusion_args *a, struct diffusion_line line,
                              int axis, const real *u, int64_t i, int64_t j)
{
    const int64_t low = diffusion_wrap((axis ? j : i) - 1, axis ? a->ny : a->nx,
                                       axis ? a->periodic_y : a->periodic_x);
    const int64_t high = diffusion_wrap((axis ? j : i) + 1, axis ? a->ny : a->nx,
                                        axis ? a->periodic_y : a->periodic_x);
    const int64_t at_low = axis ? low * a->pitch + i : j * a->pitch + low;
    const int64_t at_high = axis ? high * a->pitch + i : j * a->pitch + high;
    return diffusion_line_apply(line, u[at_low], u[j * a->pitch + i], u[at_high]);
}

/* What the sources add in a step at cell c of a member. */
SIM_FN real diffusion_sources(const struct diffusion_args *a, int s, const real *signal,
                              int64_t c)
{
    real sum = a->has_source ? signal[SIM_SIGNAL_SOURCE + s] : (real)0;
    for (int k = 0; k < a->source_fields; k++)
        if (a->source_species[k] == s)
            sum = sim_fma(a->dt * signal[a->source_signal[k]], a->source[k][c], sum);
    return sum;
}

/* The right-hand side of a sweep: across is B u, drive that of A, B and the sources. */
SIM_FN real diffusion_right(real beta, real c, real across, real drive, real extra)
{
    return sim_fma((real)0.5, across + drive, sim_fma(beta, c, extra));
}

SIM_FN bool diffusion_masked(const struct diffusion_args *a, int64_t i, int64_t j)
{
    return a->mask && a->mask[j * a->nx + i];
}

/* The system's row at cell (i, j) of the member that begins at `member`. */
SIM_FN struct diffusion_equation diffusion_equation_at(enum sim_reaction model,
                                                       const struct diffusion_args *a,
                                                       const struct diffusion_sweep *w,
                                                       int64_t member, int64_t i,
                                                       int64_t j)
{
    const int64_t c = j * a->pitch + i;
    const real *from = w->from + member;
    struct diffusion_equation row = {0, 1, 0, from[c]};
    if (diffusion_masked(a, i, j))
        return row;
    const struct diffusion_line along =
        diffusion_line_at(model, a, w->species, w->axis, i, j, w->along);
    const struct diffusion_line across =
        diffusion_line_at(model, a, w->species, 1 - w->axis, i, j, w->across);
    real drive = 0;
    if (w->source)
        drive =
            (along.drive + across.drive) + diffusion_sources(a, w->species, w->source, c);
    row.lower = (real)-0.5 * along.lower;
    row.middle = sim_fma((real)-0.5, along.middle, w->alpha);
    row.upper = (real)-0.5 * along.upper;
    row.right = diffusion_right(w->beta, from[c],
                                diffusion_line_of(a, across, 1 - w->axis, from, i, j),
                                drive, w->extra ? w->extra[member + c] : (real)0);
    return row;
}

/* --- elimination -------------------------------------------------------------------- */

struct diffusion_pivot {
    real p, y, z;
};

/* What the last cell of a periodic line, at 1, leaves of a row's right-hand side: of the
 * first row and of the last but one. */
SIM_FN real diffusion_aside(struct diffusion_equation row, bool first, bool last)
{
    return (first ? -row.lower : (real)0) - (last ? row.upper : (real)0);
}

/* The next cell on the way up. `border`: the right-hand side of z. */
SIM_FN struct diffusion_pivot diffusion_up(struct diffusion_equation row,
                                           struct diffusion_pivot before, real border)
{
    struct diffusion_pivot next;
    const real q = 1 / sim_fma(-row.lower, before.p, row.middle);
    next.p = row.upper * q;
    next.y = sim_fma(-row.lower, before.y, row.right) * q;
    next.z = sim_fma(-row.lower, before.z, border) * q;
    return next;
}

/* The last cell of a periodic line, once y and z are known at both of its neighbours. */
SIM_FN real diffusion_border(struct diffusion_equation row, real y_first, real y_before,
                             real z_first, real z_before)
{
    const real right =
        sim_fma(-row.upper, y_first, sim_fma(-row.lower, y_before, row.right));
    const real left =
        sim_fma(row.upper, z_first, sim_fma(row.lower, z_before, row.middle));
    return right / left;
}

/* --- whole cells -------------------------------------------------------------------- */

/* u + L/2 u + drive; drive by `row`, NULL: none. sign -1: u - L/2 u. */
SIM_FN real diffusion_half_at(enum sim_reaction model, const struct diffusion_args *a,
                              int s, const real *u, real sign, const real *row, int64_t i,
                              int64_t j)
{
    const int64_t c = j * a->pitch + i;
    if (diffusion_masked(a, i, j))
        return u[c];
    const real *signal = row ? row : a->signal;
    const struct diffusion_line x = diffusion_line_at(model, a, s, 0, i, j, signal);
    const struct diffusion_line y = diffusion_line_at(model, a, s, 1, i, j, signal);
    const real change =
        diffusion_line_of(a, x, 0, u, i, j) + diffusion_line_of(a, y, 1, u, i, j);
    real drive = 0;
    if (row)
        drive = (x.drive + y.drive) + diffusion_sources(a, s, row, c);
    return sim_fma(sign * (real)0.5, change, u[c]) + drive;
}

/* Heun's rule for the reaction alone, over h; in place. */
SIM_FN void diffusion_heun(enum sim_reaction model, const real *number, real h, real *u)
{
    real first[SIM_SPECIES_MAX], second[SIM_SPECIES_MAX], there[SIM_SPECIES_MAX];
    const int species = reaction_species(model);
    reaction_rate(model, number, u, first);
    for (int s = 0; s < species; s++)
        there[s] = sim_fma(h, first[s], u[s]);
    reaction_rate(model, number, there, second);
    for (int s = 0; s < species; s++)
        u[s] = sim_fma((real)0.5 * h, first[s] + second[s], u[s]);
}

static inline struct diffusion_sweep
diffusion_sweep_of(const struct sim_diffusion_sweep *w)
{
    struct diffusion_sweep out;
    out.species = w->species, out.axis = w->axis;
    out.alpha = (real)w->alpha, out.beta = (real)w->beta;
    out.from = (const real *)w->from, out.extra = (const real *)w->extra;
    out.along = (const real *)w->along, out.across = (const real *)w->across;
    out.source = (const real *)w->source;
    out.to = (real *)w->to, out.scratch = (real *)w->scratch;
    return out;
}

#endif
