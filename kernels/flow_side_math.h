/* flow_side_math.h - what the sides of the domain do to velocity and pressure (flow.h),
 * for both backends: faces with a prescribed velocity, outflows and their balance,
 * ghosts.
 *
 * Convective outflow: du/dt + U du/dn = 0, U the mean outflow speed (I. Orlanski, J.
 * Comput. Phys. 21, 1976, with the speed given), then made faster or slower everywhere by
 * what the region's fluxes lack. */
#ifndef FLOW_SIDE_MATH_H
#define FLOW_SIDE_MATH_H

#include "flow_math.h"

/* Where a side's cell k has its things; n: the step inward. */
struct flow_place {
    int64_t cell, face, inner, ghost_cell, ghost_face;
};

SIM_FN int64_t flow_side_length(const struct flow_args *a, int side)
{
    return side < 2 ? a->ny : a->nx;
}

SIM_FN int64_t flow_perimeter(const struct flow_args *a)
{
    return 2 * (a->nx + a->ny);
}

/* Edge number e as side and cell. */
SIM_FN int flow_side_of(const struct flow_args *a, int64_t e, int64_t *k)
{
    if (e < 2 * a->ny) {
        *k = e % a->ny;
        return e < a->ny ? 0 : 1;
    }
    e -= 2 * a->ny;
    *k = e % a->nx;
    return e < a->nx ? 2 : 3;
}

SIM_FN struct flow_place flow_place_of(const struct flow_args *a, int side, int64_t k)
{
    const int64_t p = a->pitch;
    struct flow_place at;
    if (side == 0)
        at.cell = k * p, at.face = at.cell, at.inner = at.cell + 1;
    else if (side == 1)
        at.cell = k * p + a->nx - 1, at.face = at.cell + 1, at.inner = at.cell;
    else if (side == 2)
        at.cell = k, at.face = k, at.inner = k + p;
    else
        at.cell = (a->ny - 1) * p + k, at.face = at.cell + p, at.inner = at.cell;
    const int64_t out = side == 0 ? -1 : side == 1 ? 1 : side == 2 ? -p : p;
    at.ghost_cell = at.cell + out;
    at.ghost_face = at.face + out;
    return at;
}

/* sin(2 pi x) by reduction to an eighth of a turn and Taylor's series: both backends have
 * the same bits. Error below 1e-15. */
SIM_FN double flow_sine(double turns)
{
    const double pi2 = 6.283185307179586;
    double x = turns - floor(turns + 0.5); /* [-1/2, 1/2) */
    if (x > 0.25)
        x = 0.5 - x;
    else if (x < -0.25)
        x = -0.5 - x;
    const double t = pi2 * x, t2 = t * t;
    double sum = 0;
    for (int k = 10; k >= 1; k--)
        sum = (1 + sum) * (-t2 / (double)(2 * k * (2 * k + 1)));
    return t + t * sum;
}

SIM_FN double flow_signal_at(const struct sim_flow_signal *w, double t)
{
    if (w->kind == SIM_FLOW_RAMP)
        return t >= w->period ? 1 : t <= 0 ? 0 : t / w->period;
    if (w->kind == SIM_FLOW_SINE)
        return w->mean + w->amplitude * flow_sine(t / w->period + w->phase);
    return 1;
}

/* The velocity through the side's face at the step's end, but for free faces. */
SIM_FN void flow_side_tentative(const struct flow_args *a, int64_t e)
{
    int64_t k;
    const int side = flow_side_of(a, e, &k);
    const struct flow_place at = flow_place_of(a, side, k);
    const struct sim_flow_edge *edge = &a->edge[e];
    real *to = side < 2 ? a->f : a->g;
    const real *now = side < 2 ? a->u : a->v;
    const bool fluid = (a->flags[at.cell] & SIM_FLOW_FLUID) != 0;
    if (edge->kind == SIM_FLOW_INFLOW) {
        const double t = a->control->time + a->control->lead;
        to[at.face] =
            fluid ? (real)(edge->normal * flow_signal_at(&a->signal[edge->signal], t))
                  : 0;
    } else if (edge->kind == SIM_FLOW_OUTFLOW) {
        const double step = side < 2 ? (double)a->dx : (double)a->dy;
        double share = a->control->outflow_speed * a->control->lead / step;
        share = share > 1 ? 1 : share;
        to[at.face] =
            fluid ? now[at.face] - (real)share * (now[at.face] - now[at.inner]) : 0;
    } else if (edge->kind == SIM_FLOW_NO_SLIP || edge->kind == SIM_FLOW_FREE_SLIP) {
        to[at.face] = 0;
    }
}

/* The face of edge e as it was just made, for the velocity that is now. */
SIM_FN void flow_side_now(const struct flow_args *a, int64_t e)
{
    int64_t k;
    const int side = flow_side_of(a, e, &k);
    const struct flow_place at = flow_place_of(a, side, k);
    if (side < 2)
        a->u[at.face] = a->f[at.face];
    else
        a->v[at.face] = a->g[at.face];
}

/* The fluxes of a region's sides. */
struct flow_balance {
    double fixed, out; /* outward; of outflows */
    double length;     /* open, of outflows */
    double entering;   /* sizes of the prescribed fluxes */
};

SIM_FN void flow_balance_add(struct flow_balance *to, const struct flow_balance *more)
{
    to->fixed = to->fixed + more->fixed, to->out = to->out + more->out;
    to->length = to->length + more->length, to->entering = to->entering + more->entering;
}

/* What edge e adds, if it is of this region. */
SIM_FN void flow_side_flux(const struct flow_args *a, int64_t e, int region,
                           struct flow_balance *sum)
{
    int64_t k;
    const struct sim_flow_edge *edge = &a->edge[e];
    const int side = flow_side_of(a, e, &k);
    if (edge->region != region)
        return;
    const struct flow_place at = flow_place_of(a, side, k);
    const double outward = side == 1 || side == 3 ? 1 : -1;
    const double width = side < 2 ? (double)a->dy : (double)a->dx;
    const double flux = outward * width * (double)(side < 2 ? a->f : a->g)[at.face];
    struct flow_balance more = {0, 0, 0, 0};
    if (edge->kind == SIM_FLOW_OUTFLOW)
        more.out = flux, more.length = width;
    else if (edge->kind == SIM_FLOW_INFLOW)
        more.fixed = flux, more.entering = flux < 0 ? -flux : flux;
    flow_balance_add(sum, &more);
}

/* How much faster the outflow must be everywhere; and what is learned from it. */
SIM_FN double flow_balance_of(struct sim_flow_control *k, const struct flow_balance *sum)
{
    const double net = sum->fixed + sum->out;
    const double speed = sum->length > 0 ? -sum->fixed / sum->length : 0;
    const double relative =
        sum->entering > 0 ? (net < 0 ? -net : net) / sum->entering : 0;
    k->imbalance = relative > k->imbalance ? relative : k->imbalance;
    k->fastest_outflow = speed > k->fastest_outflow ? speed : k->fastest_outflow;
    return sum->length > 0 ? -net / sum->length : 0;
}

SIM_FN void flow_side_correct(const struct flow_args *a, int64_t e, int region,
                              double more)
{
    int64_t k;
    const struct sim_flow_edge *edge = &a->edge[e];
    if (edge->region != region || edge->kind != SIM_FLOW_OUTFLOW)
        return;
    const int side = flow_side_of(a, e, &k);
    const struct flow_place at = flow_place_of(a, side, k);
    real *to = side < 2 ? a->f : a->g;
    to[at.face] = (real)((double)to[at.face] + (side == 1 || side == 3 ? more : -more));
}

/* Between edges `low` and `high` of a side (one of them -1 at the side's ends): who
 * decides about the tangential velocity there; both where they agree. */
SIM_FN real flow_tangent_ghost(const struct flow_args *a, const struct sim_flow_edge *low,
                               const struct sim_flow_edge *high, real inside)
{
    const int kind = low->kind < high->kind ? low->kind : high->kind;
    if (kind != SIM_FLOW_NO_SLIP && kind != SIM_FLOW_INFLOW)
        return inside;
    const double t = a->control->time;
    const double w0 = low->tangent * flow_signal_at(&a->signal[low->signal], t);
    const double w1 = high->tangent * flow_signal_at(&a->signal[high->signal], t);
    double wall = 0.5 * (w0 + w1);
    if (low->kind != high->kind)
        wall = low->kind == kind ? w0 : w1;
    return (real)(2 * wall) - inside;
}

/* The ghosts of side `side` at its node k, 0 <= k <= length: the tangential component;
 * and at its cell k: the normal component and the pressure. Periodic sides copy. */
SIM_FN void flow_side_ghosts(const struct flow_args *a, int side, int64_t k)
{
    const int64_t n = flow_side_length(a, side), p = a->pitch;
    const bool across = side < 2; /* u is the normal component */
    real *normal = across ? a->u : a->v, *tangent = across ? a->v : a->u;
    const int64_t first = side == 0   ? 0
                          : side == 1 ? a->ny
                          : side == 2 ? 2 * a->ny
                                      : 2 * a->ny + a->nx;
    const struct sim_flow_edge *edge = a->edge + first;
    const struct flow_place at = flow_place_of(a, side, k);
    const int64_t round =
        across ? (side == 0 ? a->nx : -a->nx) : (side == 2 ? a->ny * p : -a->ny * p);
    if (edge[0].kind == SIM_FLOW_PERIODIC) {
        tangent[at.ghost_cell] = tangent[at.ghost_cell + round];
        if (k < n) {
            normal[at.ghost_face] = normal[at.ghost_face + round];
            a->p[at.ghost_cell] = a->p[at.ghost_cell + round];
        }
        return;
    }
    const struct sim_flow_edge *low = &edge[k > 0 ? k - 1 : 0],
                               *high = &edge[k < n ? k : n - 1];
    tangent[at.ghost_cell] = flow_tangent_ghost(a, low, high, tangent[at.cell]);
    if (k == n)
        return;
    /* no gradient beyond an opening; a mirror behind a wall */
    const bool open = high->kind == SIM_FLOW_PRESSURE || high->kind == SIM_FLOW_OUTFLOW;
    normal[at.ghost_face] = open ? normal[at.face] : -normal[at.inner];
    a->p[at.ghost_cell] = high->kind == SIM_FLOW_PRESSURE
                              ? (real)(2 * high->pressure) - a->p[at.cell]
                              : a->p[at.cell];
}

#endif
