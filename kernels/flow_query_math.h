/* flow_query_math.h - the formulas of what is asked of a flow: derived quantities and the
 * force on an obstacle. For both backends.
 *
 * Force. What the scheme would do at every face if nothing were there, from the stored
 * velocities of before and the pressure of now, is taken from what happened: the rest is
 * what walls did to the fluid. Summed over a box, the fluxes between its faces cancel, so
 * that this is the balance of momentum over the box, to rounding. */
#ifndef FLOW_QUERY_MATH_H
#define FLOW_QUERY_MATH_H

#include "flow_math.h"

SIM_FN real flow_node_vorticity(const struct flow_args *a, int64_t c)
{
    return (a->v[c] - a->v[c - 1]) * a->inv_dx -
           (a->u[c] - a->u[c - a->pitch]) * a->inv_dy;
}

SIM_FN real flow_derived(const struct flow_args *a, int kind, int64_t i, int64_t j)
{
    const int64_t c = j * a->pitch + i, p = a->pitch;
    const real u = (real)0.5 * (a->u[c] + a->u[c + 1]);
    const real v = (real)0.5 * (a->v[c] + a->v[c + p]);
    if (!(a->flags[c] & SIM_FLOW_FLUID))
        return kind == SIM_FLOW_DENSITY ? (real)1 : (real)0;
    switch (kind) {
    case SIM_FLOW_SPEED:
        return sim_sqrt(u * u + v * v);
    case SIM_FLOW_VORTICITY:
        return (real)0.25 *
               ((flow_node_vorticity(a, c) + flow_node_vorticity(a, c + 1)) +
                (flow_node_vorticity(a, c + p) + flow_node_vorticity(a, c + p + 1)));
    case SIM_FLOW_DIVERGENCE:
        return -(flow_inflow(a, a->u, a->v, c) * a->inv_dx) * a->inv_dy;
    case SIM_FLOW_DENSITY:
        return (real)1 + a->p[c];
    case SIM_FLOW_CENTRE_U:
        return u;
    default:
        return v;
    }
}

/* The stream function at the nodes of column i, from the value at its foot: u = d/dy. */
SIM_FN void flow_stream_column(const struct flow_args *a, real *out, int64_t pitch,
                               int64_t i)
{
    double sum = (double)out[i];
    for (int64_t j = 0; j < a->ny; j++) {
        sum = sum + (double)a->u[j * a->pitch + i] * (double)a->dy;
        out[(j + 1) * pitch + i] = (real)sum;
    }
}

/* Along the south side: v = -d/dx. By one thread. */
SIM_FN void flow_stream_foot(const struct flow_args *a, real *out)
{
    double sum = 0;
    out[0] = 0;
    for (int64_t i = 0; i < a->nx; i++) {
        sum = sum - (double)a->v[i] * (double)a->dx;
        out[i + 1] = (real)sum;
    }
}

/* --- force -------------------------------------------------------------------------- */

/* What walls gave to the fluid at the west face of cell c, per volume; and at the south
 * one. */
SIM_FN double flow_wall_u(const struct flow_args *a, double inv_dt, int64_t c)
{
    const struct flow_star s = flow_star_u(a, a->f, a->g, 0, c);
    const real rate =
        flow_rate(&s, a->nu, a->chi, a->inv_dx, a->inv_dy, a->inv_dx2, a->inv_dy2);
    const real force = a->flags[c] & SIM_FLOW_U
                           ? flow_force(a->force_x, a->force_field_x, a->heat,
                                        a->buoyancy_x, a->reference, c - 1, c)
                           : (real)0;
    const real gradient = (a->p[c] - a->p[c - 1]) * a->inv_dx;
    return ((double)a->u[c] - (double)a->f[c]) * inv_dt -
           ((double)rate + (double)force - (double)gradient);
}

SIM_FN double flow_wall_v(const struct flow_args *a, double inv_dt, int64_t c)
{
    const struct flow_star s = flow_star_v(a, a->f, a->g, 0, c);
    const real rate =
        flow_rate(&s, a->nu, a->chi, a->inv_dy, a->inv_dx, a->inv_dy2, a->inv_dx2);
    const real force = a->flags[c] & SIM_FLOW_V
                           ? flow_force(a->force_y, a->force_field_y, a->heat,
                                        a->buoyancy_y, a->reference, c - a->pitch, c)
                           : (real)0;
    const real gradient = (a->p[c] - a->p[c - a->pitch]) * a->inv_dy;
    return ((double)a->v[c] - (double)a->g[c]) * inv_dt -
           ((double)rate + (double)force - (double)gradient);
}

/* Force and torque on what is in row j of the box: into out[0..2]. */
SIM_FN void flow_force_row(const struct flow_args *a, const struct sim_flow_box *box,
                           double x0, double y0, int64_t j, double *out)
{
    const double inv_dt = a->control->dt > 0 ? 1 / a->control->dt : 0;
    const double volume = (double)a->dx * (double)a->dy;
    double x = 0, y = 0, turn = 0;
    for (int64_t i = box->i0; i < box->i1; i++) {
        const int64_t c = j * a->pitch + i;
        if (i > box->i0) {
            const double push = -flow_wall_u(a, inv_dt, c) * volume;
            x = x + push;
            turn = turn - (y0 + ((double)j + 0.5) * (double)a->dy - box->y) * push;
        }
        if (j > box->j0) {
            const double push = -flow_wall_v(a, inv_dt, c) * volume;
            y = y + push;
            turn = turn + (x0 + ((double)i + 0.5) * (double)a->dx - box->x) * push;
        }
    }
    out[0] = x, out[1] = y, out[2] = turn;
}

#endif
