/* flow_scalar_math.h - how the flow carries scalars (flow.h), for both backends.
 *
 *   flux = u c_f,  c_f = c_up + psi(r)/2 (c_down - c_up)
 *
 * with psi of B. van Leer (J. Comput. Phys. 14, 1974), which makes no new extremum while
 * the sum of a cell's outgoing Courant numbers is at most 1/2 (S. P. Spekreijse, Math.
 * Comp. 49, 1987). In flux form: what leaves a cell enters the next one. */
#ifndef FLOW_SCALAR_MATH_H
#define FLOW_SCALAR_MATH_H

#include "flow_side_math.h"

/* The value that a flow of speed m takes through the face between `up` and `down`; `far`
 * lies before `up`. */
SIM_FN real flow_limited(real far, real up, real down)
{
    const real rise = down - up, before = up - far;
    const real product = rise * before;
    /* van Leer's psi(r)/2 * rise with r = before/rise: rise before/(rise + before) */
    return product > (real)0 ? up + product / (rise + before) : up;
}

/* A scalar as the loops see it. */
struct flow_scalar {
    real *now, *next;
    real diffusivity;
    const struct sim_flow_scalar_edge *edge;
    const float *hold;
    const real *held;
};

static inline struct flow_scalar flow_scalar_of(const struct sim_flow_system *s, int k)
{
    struct flow_scalar c;
    c.now = (real *)s->scalar[k][0], c.next = (real *)s->scalar[k][1];
    c.diffusivity = (real)s->diffusivity[k];
    c.edge = s->scalar_edge[k];
    c.hold = s->hold[k];
    c.held = (const real *)s->held[k];
    return c;
}

/* The cell two upstream of face `at` of a line of n: c itself is the cell ahead of the
 * face. Where there is none, or it is no fluid, `near`, and the flux is of first order.
 */
SIM_FN real flow_far(const struct flow_args *a, const real *now, int64_t c, int64_t step,
                     int64_t at, int64_t n, bool periodic, bool ahead, real near)
{
    int64_t far = ahead ? c + step : c - 2 * step;
    if (periodic && n > 1 && ahead && at == n)
        far = c + (1 - n) * step;
    else if (periodic && n > 1 && !ahead && at == 0)
        far = c + (n - 2) * step;
    else if (ahead ? at >= n : at < 1)
        return near;
    return a->flags[far] & SIM_FLOW_FLUID ? now[far] : near;
}

/* What flows through the west (axis 1: south) face of cell (i, j) along +x (+y) in a
 * step, as a change of the cell's value. */
SIM_FN real flow_scalar_face(const struct flow_args *a, const struct flow_scalar *s,
                             int axis, int64_t i, int64_t j, real dt)
{
    const int64_t c = j * a->pitch + i, step = axis ? a->pitch : 1;
    const int64_t at = axis ? j : i, n = axis ? a->ny : a->nx;
    const bool periodic = axis ? a->periodic_y : a->periodic_x;
    const bool here = (a->flags[c] & SIM_FLOW_FLUID) != 0,
               before = (a->flags[c - step] & SIM_FLOW_FLUID) != 0;
    const bool side = !periodic && (at == 0 || at == n);
    const bool free = (a->flags[c] & (axis ? SIM_FLOW_V : SIM_FLOW_U)) != 0;
    if (side ? !(here || before) : !free)
        return (real)0;
    const real inv = axis ? a->inv_dy : a->inv_dx, m = (axis ? a->v : a->u)[c];
    const real low = s->now[c - step], high = s->now[c];
    real value = low;
    if (m > (real)0)
        value = flow_limited(flow_far(a, s->now, c, step, at, n, periodic, false, low),
                             low, high);
    else if (m < (real)0)
        value = flow_limited(flow_far(a, s->now, c, step, at, n, periodic, true, high),
                             high, low);
    return dt * inv * (m * value - s->diffusivity * (high - low) * inv);
}

SIM_FN void flow_scalar_cell(const struct flow_args *a, const struct flow_scalar *s,
                             int64_t i, int64_t j, real dt)
{
    const int64_t c = j * a->pitch + i;
    real value = s->now[c];
    if (a->flags[c] & SIM_FLOW_FLUID) {
        const real across =
            flow_scalar_face(a, s, 0, i, j, dt) - flow_scalar_face(a, s, 0, i + 1, j, dt);
        const real up =
            flow_scalar_face(a, s, 1, i, j, dt) - flow_scalar_face(a, s, 1, i, j + 1, dt);
        value = value + (across + up);
    }
    s->next[c] = value;
}

/* The new value, with what is held there. */
SIM_FN void flow_scalar_take(const struct flow_args *a, const struct flow_scalar *s,
                             int64_t i, int64_t j)
{
    const int64_t c = j * a->pitch + i;
    real value = s->next[c];
    if (s->hold && (a->flags[c] & SIM_FLOW_FLUID)) {
        const real w = (real)s->hold[c];
        value = w >= (real)1 ? s->held[c] : value + w * (s->held[c] - value);
    }
    s->now[c] = value;
}

/* The scalar beyond edge e: a copy, or the mirror image of a held value at the wall; at
 * an inflow the value itself, which is what comes in. */
SIM_FN void flow_scalar_ghost(const struct flow_args *a, const struct flow_scalar *s,
                              int64_t e)
{
    int64_t k;
    const int side = flow_side_of(a, e, &k);
    const struct flow_place at = flow_place_of(a, side, k);
    const struct sim_flow_edge *edge = &a->edge[e];
    if (edge->kind == SIM_FLOW_PERIODIC) {
        const int64_t round = side == 0   ? a->nx
                              : side == 1 ? -a->nx
                              : side == 2 ? a->ny * a->pitch
                                          : -a->ny * a->pitch;
        s->now[at.ghost_cell] = s->now[at.ghost_cell + round];
    } else if (!s->edge[e].fixed) {
        s->now[at.ghost_cell] = s->now[at.cell];
    } else {
        const real held = (real)s->edge[e].value;
        s->now[at.ghost_cell] =
            edge->kind == SIM_FLOW_INFLOW ? held : (real)2 * held - s->now[at.cell];
    }
}

#endif
