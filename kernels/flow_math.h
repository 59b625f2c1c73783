/* flow_math.h - the formulas of the flow solver's passes (flow.h), for both backends.
 *
 * Sums are paired so that a scene that is its own mirror image stays so to the bit; no
 * fused multiply-adds, so that every vector width gives the same bits.
 *
 *   d(uu)/dx: what flows through the cells' centres, m^2 + chi |m| (u_w - u_e)/2 with m =
 *   (u_w + u_e)/2;  d(uv)/dy: through the corners, v carrying
 *
 * Sides, scalars and markers have headers of their own. */
#ifndef FLOW_MATH_H
#define FLOW_MATH_H

#include "flow.h"
#include "poisson_math.h"

/* Sums go by one tree, whatever the number of threads and on both backends: lane t of 32
 * takes the elements t, t + 32, ... of a row and the lanes are halved; then lane t of 256
 * takes the rows t, t + 256, ... */
#define FLOW_ROW_LANES     32
#define FLOW_LANES         256
#define FLOW_BALANCE_LANES 1024 /* edges of the sides */

/* The system as the loops see it. */
struct flow_args {
    int64_t nx, ny, pitch;
    real dx, dy, inv_dx, inv_dy, inv_dx2, inv_dy2;
    real nu, chi, force_x, force_y;
    const real *force_field_x, *force_field_y, *heat;
    real buoyancy_x, buoyancy_y, reference;
    real *u, *v, *f, *g, *p, *solution, *b; /* f, g: tentative, later the last step's */
    const uint8_t *flags;
    bool periodic_x, periodic_y;
    const struct sim_flow_edge *edge;
    const struct sim_flow_signal *signal;
    struct sim_flow_control *control;
};

static inline struct flow_args flow_args_of(const struct sim_flow_system *s)
{
    struct flow_args a;
    a.nx = s->nx, a.ny = s->ny, a.pitch = s->pitch;
    a.dx = (real)s->dx, a.dy = (real)s->dy;
    a.inv_dx = (real)(1 / s->dx), a.inv_dy = (real)(1 / s->dy);
    a.inv_dx2 = (real)(1 / (s->dx * s->dx)), a.inv_dy2 = (real)(1 / (s->dy * s->dy));
    a.nu = (real)s->nu, a.chi = (real)s->chi;
    a.force_x = (real)s->force[0], a.force_y = (real)s->force[1];
    a.force_field_x = (const real *)s->force_field[0];
    a.force_field_y = (const real *)s->force_field[1];
    a.heat = s->heat < 0 ? NULL : (const real *)s->scalar[s->heat][0];
    a.buoyancy_x = (real)s->buoyancy[0], a.buoyancy_y = (real)s->buoyancy[1];
    a.reference = (real)s->reference;
    a.u = (real *)s->u[0], a.v = (real *)s->v[0];
    a.f = (real *)s->u[1], a.g = (real *)s->v[1];
    a.p = (real *)s->p;
    a.solution = (real *)s->poisson.solution, a.b = (real *)s->poisson.level[0].b;
    a.flags = s->flags;
    a.periodic_x = s->periodic_x, a.periodic_y = s->periodic_y;
    a.edge = s->edge, a.signal = s->signal, a.control = s->control;
    return a;
}

/* --- momentum ----------------------------------------------------------------------- */

/* What a flux of the quantity q carries through a place where the carrier has velocity m:
 * central, and donor cell by the share chi. */
SIM_FN real flow_carried(real m, real from, real to, real chi)
{
    const real half = (real)0.5;
    return m * (half * (from + to)) + chi * (poisson_abs(m) * (half * (from - to)));
}

/* What acts on a component between cells a and b: forces, buoyancy. */
SIM_FN real flow_force(real constant, const real *field, const real *heat, real buoyancy,
                       real reference, int64_t a, int64_t b)
{
    real force = constant;
    if (field)
        force = force + (real)0.5 * (field[a] + field[b]);
    if (heat)
        force = force + buoyancy * ((real)0.5 * (heat[a] + heat[b]) - reference);
    return force;
}

/* The rate of change of a component by convection, viscosity and force, without the
 * pressure; along: the neighbours along its own axis, over: those across. */
struct flow_star {
    real here, ahead, behind, above, below; /* the component */
    real cross_above, cross_below;          /* the other one, at the corners */
};

SIM_FN real flow_rate(const struct flow_star *s, real nu, real chi, real inv_along,
                      real inv_across, real inv_along2, real inv_across2)
{
    const real half = (real)0.5;
    const real east = flow_carried(half * (s->here + s->ahead), s->here, s->ahead, chi);
    const real west = flow_carried(half * (s->behind + s->here), s->behind, s->here, chi);
    const real north = flow_carried(s->cross_above, s->here, s->above, chi);
    const real south = flow_carried(s->cross_below, s->below, s->here, chi);
    const real twice = (real)2 * s->here;
    const real viscous = ((s->ahead + s->behind) - twice) * inv_along2 +
                         ((s->above + s->below) - twice) * inv_across2;
    return nu * viscous - ((east - west) * inv_along + (north - south) * inv_across);
}

SIM_FN struct flow_star flow_star_u(const struct flow_args *a, const real *u,
                                    const real *v, unsigned flags, int64_t c)
{
    const int64_t p = a->pitch;
    struct flow_star s;
    s.here = u[c], s.ahead = u[c + 1], s.behind = u[c - 1];
    const real above = u[c + p], below = u[c - p];
    s.above = flags & SIM_FLOW_U_NORTH ? -s.here : above;
    s.below = flags & SIM_FLOW_U_SOUTH ? -s.here : below;
    s.cross_above = (real)0.5 * (v[c - 1 + p] + v[c + p]);
    s.cross_below = (real)0.5 * (v[c - 1] + v[c]);
    return s;
}

SIM_FN struct flow_star flow_star_v(const struct flow_args *a, const real *u,
                                    const real *v, unsigned flags, int64_t c)
{
    const int64_t p = a->pitch;
    struct flow_star s;
    s.here = v[c], s.ahead = v[c + p], s.behind = v[c - p];
    const real above = v[c + 1], below = v[c - 1];
    s.above = flags & SIM_FLOW_V_EAST ? -s.here : above;
    s.below = flags & SIM_FLOW_V_WEST ? -s.here : below;
    s.cross_above = (real)0.5 * (u[c + 1 - p] + u[c + 1]);
    s.cross_below = (real)0.5 * (u[c - p] + u[c]);
    return s;
}

/* F and G of element c without the pressure: u + dt (...) */
SIM_FN real flow_rate_u(const struct flow_args *a, unsigned flags, int64_t c)
{
    const struct flow_star s = flow_star_u(a, a->u, a->v, flags, c);
    return flow_rate(&s, a->nu, a->chi, a->inv_dx, a->inv_dy, a->inv_dx2, a->inv_dy2) +
           flow_force(a->force_x, a->force_field_x, a->heat, a->buoyancy_x, a->reference,
                      c - 1, c);
}

SIM_FN real flow_rate_v(const struct flow_args *a, unsigned flags, int64_t c)
{
    const struct flow_star s = flow_star_v(a, a->u, a->v, flags, c);
    return flow_rate(&s, a->nu, a->chi, a->inv_dy, a->inv_dx, a->inv_dy2, a->inv_dx2) +
           flow_force(a->force_y, a->force_field_y, a->heat, a->buoyancy_y, a->reference,
                      c - a->pitch, c);
}

SIM_FN real flow_tentative_u(const struct flow_args *a, real dt, int64_t c)
{
    const unsigned flags = a->flags[c];
    const real rate = flow_rate_u(a, flags, c) - (a->p[c] - a->p[c - 1]) * a->inv_dx;
    return flags & SIM_FLOW_U ? a->u[c] + dt * rate : (real)0;
}

SIM_FN real flow_tentative_v(const struct flow_args *a, real dt, int64_t c)
{
    const unsigned flags = a->flags[c];
    const real rate =
        flow_rate_v(a, flags, c) - (a->p[c] - a->p[c - a->pitch]) * a->inv_dy;
    return flags & SIM_FLOW_V ? a->v[c] + dt * rate : (real)0;
}

/* --- curved walls ------------------------------------------------------------------- */

/* The component beyond a wall at distance theta that is at rest: on the line through the
 * point and the wall. Where the wall is nearer than half a cell that line is too steep
 * for an explicit step; what it lacks is added implicitly (flow_cut_face). */
SIM_FN real flow_beyond(real here, double theta)
{
    const real t = theta < 0.5 ? (real)0.5 : (real)theta;
    return here - here / t;
}

/* The tentative velocity of a face near curved walls. With a pressure that the increment
 * leaves at rest in a steady state, the implicit part does not shift that state. */
SIM_FN void flow_cut_face(const struct flow_args *a, real dt,
                          const struct sim_flow_cut *cut)
{
    const int64_t c = cut->element, p = a->pitch;
    const bool is_v = cut->is_v != 0;
    struct flow_star s =
        is_v ? flow_star_v(a, a->u, a->v, 0, c) : flow_star_u(a, a->u, a->v, 0, c);
    const double *theta = cut->theta; /* east, west, north, south */
    const double ahead = theta[is_v ? 2 : 0], behind = theta[is_v ? 3 : 1],
                 above = theta[is_v ? 0 : 2], below = theta[is_v ? 1 : 3];
    const real along2 = is_v ? a->inv_dy2 : a->inv_dx2,
               across2 = is_v ? a->inv_dx2 : a->inv_dy2;
    real extra = 0;
    if (ahead <= 1)
        s.ahead = flow_beyond(s.here, ahead);
    if (behind <= 1)
        s.behind = flow_beyond(s.here, behind);
    if (above <= 1)
        s.above = flow_beyond(s.here, above);
    if (below <= 1)
        s.below = flow_beyond(s.here, below);
    for (int k = 0; k < 4; k++) {
        const double t = k == 0 ? ahead : k == 1 ? behind : k == 2 ? above : below;
        if (t < 0.5)
            extra = extra + (real)(1 / t - 2) * (k < 2 ? along2 : across2);
    }
    const real force = is_v ? flow_force(a->force_y, a->force_field_y, a->heat,
                                         a->buoyancy_y, a->reference, c - p, c)
                            : flow_force(a->force_x, a->force_field_x, a->heat,
                                         a->buoyancy_x, a->reference, c - 1, c);
    const real gradient =
        is_v ? (a->p[c] - a->p[c - p]) * a->inv_dy : (a->p[c] - a->p[c - 1]) * a->inv_dx;
    const real rate =
        is_v ? flow_rate(&s, a->nu, a->chi, a->inv_dy, a->inv_dx, a->inv_dy2, a->inv_dx2)
             : flow_rate(&s, a->nu, a->chi, a->inv_dx, a->inv_dy, a->inv_dx2, a->inv_dy2);
    const real value =
        (s.here + dt * (rate + force - gradient)) / ((real)1 + dt * (a->nu * extra));
    if (is_v)
        a->g[c] = value;
    else
        a->f[c] = value;
}

/* --- divergence and correction ------------------------------------------------------ */

/* -(flux out of cell c) of a velocity: the right-hand side, and a negative residual */
SIM_FN real flow_inflow(const struct flow_args *a, const real *u, const real *v,
                        int64_t c)
{
    const int64_t p = a->pitch;
    return (u[c] - u[c + 1]) * a->dy + (v[c] - v[c + p]) * a->dx;
}

SIM_FN bool flow_force_varies(const struct flow_args *a)
{
    return a->heat || a->force_field_x || a->force_field_y;
}

SIM_FN double flow_force_constant(const struct flow_args *a)
{
    const double x = (double)poisson_abs(a->force_x), y = (double)poisson_abs(a->force_y);
    return x > y ? x : y;
}

/* How fast forces alone push at cell c; in an obstacle there is nothing to push, whatever
 * was painted there. */
SIM_FN double flow_force_size(const struct flow_args *a, int64_t c)
{
    if (!(a->flags[c] & SIM_FLOW_FLUID))
        return 0;
    const real x = flow_force(a->force_x, a->force_field_x, a->heat, a->buoyancy_x,
                              a->reference, c, c);
    const real y = flow_force(a->force_y, a->force_field_y, a->heat, a->buoyancy_y,
                              a->reference, c, c);
    return poisson_max((double)poisson_abs(x), (double)poisson_abs(y));
}

/* A free face's new velocity from the tentative one; what was takes the tentative one's
 * place. The pressure beyond an opening is half a cell away. The size of the change. */
SIM_FN poisson_bits flow_corrected(real *now, real *tentative, real gradient, bool free)
{
    const real old = *now, to = *tentative, value = free ? to - gradient : to;
    *now = value;
    *tentative = old;
    return poisson_size(value - old);
}

SIM_FN poisson_bits flow_correct_u(const struct flow_args *a, int64_t i, int64_t c)
{
    const bool half = !a->periodic_x && (i == 0 || i == a->nx);
    const real gradient =
        (a->solution[c] - a->solution[c - 1]) * ((half ? (real)2 : (real)1) * a->inv_dx);
    return flow_corrected(&a->u[c], &a->f[c], gradient, a->flags[c] & SIM_FLOW_U);
}

SIM_FN poisson_bits flow_correct_v(const struct flow_args *a, int64_t j, int64_t c)
{
    const bool half = !a->periodic_y && (j == 0 || j == a->ny);
    const real gradient = (a->solution[c] - a->solution[c - a->pitch]) *
                          ((half ? (real)2 : (real)1) * a->inv_dy);
    return flow_corrected(&a->v[c], &a->g[c], gradient, a->flags[c] & SIM_FLOW_V);
}

/* The first and the last face of a periodic axis are one: where they were painted with
 * two values it takes the mean, which keeps a mirror image one. */
SIM_FN void flow_join(real *first, real *last)
{
    const real mean = (real)0.5 * (*first + *last);
    *first = *last = mean;
}

/* A first correction: the tentative velocity itself loses the gradient. What rounding of
 * a large change of pressure leaves is the next one's. */
SIM_FN void flow_refine(const struct flow_args *a, int64_t i, int64_t j)
{
    const int64_t c = j * a->pitch + i;
    const real *x = a->solution;
    const bool half_x = !a->periodic_x && (i == 0 || i == a->nx);
    const bool half_y = !a->periodic_y && (j == 0 || j == a->ny);
    if (j < a->ny && a->flags[c] & SIM_FLOW_U)
        a->f[c] =
            a->f[c] - (x[c] - x[c - 1]) * ((half_x ? (real)2 : (real)1) * a->inv_dx);
    if (i < a->nx && a->flags[c] & SIM_FLOW_V)
        a->g[c] = a->g[c] -
                  (x[c] - x[c - a->pitch]) * ((half_y ? (real)2 : (real)1) * a->inv_dy);
}

/* Faces that are not free rest, but for those at the sides. By the thread of the first
 * face alone where two are one: the last one's flags are the same. */
SIM_FN void flow_clean(const struct flow_args *a, int64_t i, int64_t j)
{
    const int64_t c = j * a->pitch + i;
    if (j < a->ny && !(a->flags[c] & SIM_FLOW_U))
        a->u[c] = 0;
    else if (j < a->ny && a->periodic_x && i == 0)
        flow_join(&a->u[c], &a->u[c + a->nx]);
    if (i < a->nx && !(a->flags[c] & SIM_FLOW_V))
        a->v[c] = 0;
    else if (i < a->nx && a->periodic_y && j == 0)
        flow_join(&a->v[c], &a->v[c + a->ny * a->pitch]);
}

/* --- the time step ------------------------------------------------------------------ */

struct flow_limits {
    double dx, dy, nu, chi, cfl, dt_max, fixed_dt, wall_u, wall_v, most_diffusive;
    bool scalars;
};

static inline struct flow_limits flow_limits_of(const struct sim_flow_system *s)
{
    struct flow_limits l;
    l.dx = s->dx, l.dy = s->dy, l.nu = s->nu, l.chi = s->chi;
    l.cfl = s->cfl, l.dt_max = s->dt_max, l.fixed_dt = s->fixed_dt;
    l.wall_u = s->wall_speed[0], l.wall_v = s->wall_speed[1];
    l.most_diffusive = s->nu;
    l.scalars = s->scalars > 0;
    for (int k = 0; k < s->scalars; k++)
        if (s->diffusivity[k] > l.most_diffusive)
            l.most_diffusive = s->diffusivity[k];
    return l;
}

/* A limit that is not there is +inf; 0/0 does not occur. */
SIM_FN double flow_least(double a, double b)
{
    return b < a ? b : a;
}

/* The largest stable step for velocities at most (u, v): Courant's, the viscous one, that
 * of forward Euler with central differences (2 nu_eff >= dt u^2 along each axis, nu_eff
 * with the donor cell's own viscosity); each as it stands. */
SIM_FN double flow_stable(const struct flow_limits *l, double u, double v)
{
    const double tiny = 1e-300;
    const double courant = u / l->dx + v / l->dy;
    const double viscous = 2 * l->nu * (1 / (l->dx * l->dx) + 1 / (l->dy * l->dy));
    const double central = u * u / (2 * l->nu + l->chi * u * l->dx + tiny) +
                           v * v / (2 * l->nu + l->chi * v * l->dy + tiny);
    const double most = courant > viscous ? courant : viscous;
    return 1 / ((most > central ? most : central) + tiny);
}

/* The step to take: within these limits by factors of safety, a force may not carry fluid
 * over a cell either, and scalars make no new extrema. */
SIM_FN double flow_limit(const struct flow_limits *l, double u, double v, double force)
{
    const double tiny = 1e-300;
    const double courant = u / l->dx + v / l->dy;
    const double viscous =
        2 * l->most_diffusive * (1 / (l->dx * l->dx) + 1 / (l->dy * l->dy));
    const double central = u * u / (2 * l->nu + l->chi * u * l->dx + tiny) +
                           v * v / (2 * l->nu + l->chi * v * l->dy + tiny);
    double dt = l->dt_max;
    if (courant > 0)
        dt = flow_least(dt, l->cfl / courant);
    if (viscous > 0)
        dt = flow_least(dt, 0.9 / viscous);
    if (l->scalars) /* no new extrema: both together */
        dt = flow_least(dt, 1 / (courant / l->cfl + viscous + tiny));
    if (central > 0)
        dt = flow_least(dt, 0.9 / central);
    if (force > 0)
        dt = flow_least(dt, sqrt(l->cfl * (l->dx < l->dy ? l->dx : l->dy) / force));
    return dt;
}

/* By one thread, from the maxima of now: how long this step is, and whether it is. */
SIM_FN void flow_begin(const struct flow_limits *l, struct sim_flow_control *k, double u,
                       double v, double force)
{
    const double left = k->target - k->time;
    k->u_max = u, k->v_max = v, k->force_max = force;
    if (!(u - u == 0 && v - v == 0) && !k->bad_step)
        k->bad_step = k->steps > 0 ? k->steps : 1;
    k->skip = left <= 0 || k->bad_step != 0;
    k->solve.done = k->skip;
    if (k->skip)
        return;
    u = u > l->wall_u ? u : l->wall_u;
    v = v > l->wall_v ? v : l->wall_v;
    double dt = l->fixed_dt > 0 ? l->fixed_dt : flow_limit(l, u, v, force);
    if (l->fixed_dt > 0 && !k->unstable_step && dt > 1.000001 * flow_stable(l, u, v)) {
        k->unstable_step = k->steps + 1;
        k->unstable_limit = flow_stable(l, u, v);
    }
    if (left <= dt)
        dt = left;
    else if (left < 2 * dt && l->fixed_dt == 0)
        dt = 0.5 * left;
    k->dt = k->lead = dt;
    const double cfl = dt * (u / l->dx + v / l->dy);
    k->cfl_max = cfl > k->cfl_max ? cfl : k->cfl_max;
}

/* By one thread: what was asked for from outside the run of steps is done whatever was.
 */
SIM_FN void flow_outside_time(struct sim_flow_control *k, bool changed)
{
    k->skip = 0;
    k->lead = 0;
    k->solve.done = 0;
    k->fresh = changed ? SIM_FLOW_FRESH : k->fresh;
}

/* By one thread: the passes from here to the other gate are for fresh steps alone. */
SIM_FN void flow_gate(struct sim_flow_control *k)
{
    k->held = k->skip;
    k->skip = k->skip || k->fresh <= 0;
    k->solve.done = k->skip;
}

SIM_FN void flow_gate_end(struct sim_flow_control *k)
{
    k->skip = k->held;
}

/* By one thread: the residual that the solve may leave. */
SIM_FN void flow_tolerate(struct sim_flow_control *k, double tolerance, double dx,
                          double dy, double largest, double tentative)
{
    const double h = dx < dy ? dx : dy;
    k->tentative_max = tentative;
    poisson_begin(&k->solve, largest, tolerance * tentative * dx * dy / h);
}

/* By one thread, when the step is done. */
SIM_FN void flow_end(struct sim_flow_control *k)
{
    const double u = k->u_max > k->v_max ? k->u_max : k->v_max;
    k->time = k->dt >= k->target - k->time ? k->target : k->time + k->dt;
    k->change = u > 0                   ? k->largest_change / (k->dt * u)
                : k->largest_change > 0 ? 1e300
                                        : 0;
    k->steps++;
    k->fresh = k->fresh > 0 ? k->fresh - 1 : 0;
}

/* --- regions without an opening ----------------------------------------------------- */

#define FLOW_CENTRE_STEPS 8 /* steps between two corrections of the pressure's mean */

SIM_FN bool flow_centres(const struct sim_flow_control *k)
{
    return k->steps % FLOW_CENTRE_STEPS == 1;
}

SIM_FN int64_t flow_chunk_region(const int64_t *chunk, int64_t regions, int64_t k)
{
    int64_t low = 0, high = regions - 1;
    while (low < high) {
        const int64_t middle = (low + high + 1) / 2;
        if (chunk[middle] <= k)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* First and last + 1 of chunk k's cells, in the list. */
SIM_FN int64_t flow_chunk_cells(const struct sim_flow_system *s, int64_t region,
                                int64_t k, int64_t *until)
{
    const int64_t from =
        s->closed_first[region] + (k - s->closed_chunk[region]) * SIM_FLOW_CHUNK;
    const int64_t end = s->closed_first[region + 1];
    *until = from + SIM_FLOW_CHUNK < end ? from + SIM_FLOW_CHUNK : end;
    return from;
}

SIM_FN int64_t flow_closed_cell(const struct sim_flow_system *s, int64_t c)
{
    if (s->closed_cell)
        return s->closed_cell[c];
    if (c >> 32)
        return c / s->nx * s->pitch + c % s->nx;
    const uint32_t row = (uint32_t)c / (uint32_t)s->nx; /* the shorter division */
    return row * s->pitch + ((uint32_t)c - row * (uint32_t)s->nx);
}

/* Lane t of FLOW_LANES: the sums of a region's chunks t, t + FLOW_LANES, ... */
SIM_FN double flow_closed_lane(const struct sim_flow_system *s, int64_t region, int t)
{
    double sum = 0;
    for (int64_t k = s->closed_chunk[region] + t; k < s->closed_chunk[region + 1];
         k += FLOW_LANES)
        sum = sum + s->closed_sum[k];
    return sum;
}

SIM_FN int64_t flow_closed_size(const struct sim_flow_system *s, int64_t region)
{
    return s->closed_first[region + 1] - s->closed_first[region];
}

#endif
