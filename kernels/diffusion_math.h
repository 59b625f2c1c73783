/* diffusion_math.h - the formulas of the explicit 5-point scheme, once, for both
 * backends.
 *
 * With rates r_x = D dt/dx^2, r_y = D dt/dy^2 and forward Euler in time,
 *     u' = u + r ((w + e) + (s + n) - 4 u)                         r_x = r_y = r
 *     u' = u + r_x (w + e - 2 u) + r_y (s + n - 2 u)               otherwise
 *     u' = u + r_x (K_e (e-u) + K_w (w-u)) + r_y (K_n (n-u) + K_s (s-u))   D a field
 * then u' += dt f(u, v), then the sources. Sums are paired so that a mirrored or, where
 * r_x = r_y, a turned field gives the mirrored or turned result to the bit. The rounding
 * of every operation is as written: both backends give the same bits.
 *
 * Not here: loops, the layout of arrays, the kinds of walls. */
#ifndef DIFFUSION_MATH_H
#define DIFFUSION_MATH_H

#include "reaction_math.h"

/* A wall's numbers for one cell; see diffusion.h. */
struct diffusion_edge {
    real inner, second, base, driven;
};

/* The system as the loops see it: struct sim_diffusion_system in `real`. */
struct diffusion_args {
    int64_t nx, ny, pitch, member; /* member: elements from one member to the next */
    const real *now[SIM_SPECIES_MAX];
    real *next[SIM_SPECIES_MAX];
    real dt, rate_x[SIM_SPECIES_MAX], rate_y[SIM_SPECIES_MAX];
    real number[SIM_REACTION_NUMBERS];
    const real *conductance[SIM_SPECIES_MAX];
    const uint8_t *mask;
    int source_fields;
    const real *source[SIM_SOURCE_FIELDS];
    int source_species[SIM_SOURCE_FIELDS], source_signal[SIM_SOURCE_FIELDS];
    bool has_source, isotropic, periodic_x, periodic_y;
    const struct diffusion_edge *edge[SIM_SPECIES_MAX];
    const uint8_t *edge_signal[SIM_SPECIES_MAX];
    bool uniform[SIM_SPECIES_MAX][SIM_SIDES];
    struct diffusion_edge wall[SIM_SPECIES_MAX][SIM_SIDES];
    uint8_t wall_signal[SIM_SPECIES_MAX][SIM_SIDES];
    const real *signal; /* row of the first step */
    int64_t signal_stride;
};

/* What surrounds a cell, of each species. */
struct diffusion_star {
    real c[SIM_SPECIES_MAX], w[SIM_SPECIES_MAX], e[SIM_SPECIES_MAX], s[SIM_SPECIES_MAX],
        n[SIM_SPECIES_MAX];
};

/* g = inner u0 + second u1 + base + driven w */
SIM_FN real diffusion_ghost(struct diffusion_edge g, real w, real u0, real u1)
{
    return sim_fma(g.inner, u0, sim_fma(g.second, u1, sim_fma(g.driven, w, g.base)));
}

/* The wall's numbers on side `side` at its cell k, and which signal drives it. */
SIM_FN struct diffusion_edge diffusion_edge_at(const struct diffusion_args *a,
                                               int species, int side, int64_t k,
                                               int *signal)
{
    int64_t at = (side == SIM_WEST    ? 0
                  : side == SIM_EAST  ? a->ny
                  : side == SIM_SOUTH ? 2 * a->ny
                                      : 2 * a->ny + a->nx) +
                 k;
    *signal = a->uniform[species][side] ? a->wall_signal[species][side]
                                        : a->edge_signal[species][at];
    return a->uniform[species][side] ? a->wall[species][side] : a->edge[species][at];
}

/* The value outside side `side` at its cell k; `signal` is the step's row. */
SIM_FN real diffusion_outside(const struct diffusion_args *a, int species, int side,
                              int64_t k, const real *signal, real u0, real u1)
{
    int number;
    const struct diffusion_edge edge = diffusion_edge_at(a, species, side, k, &number);
    return diffusion_ghost(edge, signal[number], u0, u1);
}

/* Harmonic mean, 0 where either is 0. */
SIM_FN real diffusion_face(real a, real b)
{
    real sum = a + b;
    return sum > 0 ? (2 * a * b) / sum : (real)0;
}

SIM_FN real diffusion_isotropic(real rate, real c, real w, real e, real s, real n)
{
    return sim_fma(rate, sim_fma((real)-4, c, (w + e) + (s + n)), c);
}

SIM_FN real diffusion_axes(real rx, real ry, real c, real w, real e, real s, real n)
{
    real x = sim_fma((real)-2, c, w + e), y = sim_fma((real)-2, c, s + n);
    return sim_fma(ry, y, sim_fma(rx, x, c));
}

/* k: conductances of the cell and its neighbours. */
SIM_FN real diffusion_flux(const struct diffusion_args *a, int sp,
                           const struct diffusion_star *u, const struct diffusion_star *k)
{
    const real c = u->c[sp], kc = k->c[sp];
    real x = diffusion_face(kc, k->e[sp]) * (u->e[sp] - c) +
             diffusion_face(kc, k->w[sp]) * (u->w[sp] - c);
    real y = diffusion_face(kc, k->n[sp]) * (u->n[sp] - c) +
             diffusion_face(kc, k->s[sp]) * (u->s[sp] - c);
    if (a->rate_x[sp] == a->rate_y[sp])
        return sim_fma(a->rate_x[sp], x + y, c);
    return sim_fma(a->rate_y[sp], y, sim_fma(a->rate_x[sp], x, c));
}

/* Reaction and constant source on top of diffused[]; `model` is a constant where called.
 */
SIM_FN void diffusion_react(enum sim_reaction model, bool has_source,
                            const struct diffusion_args *a, const real *signal,
                            const real *u, real *diffused)
{
    const int species = reaction_species(model);
    if (model != SIM_REACTION_NONE) {
        real rate[SIM_SPECIES_MAX];
        reaction_rate(model, a->number, u, rate);
        for (int s = 0; s < species; s++)
            diffused[s] = sim_fma(a->dt, rate[s], diffused[s]);
    }
    if (has_source)
        for (int s = 0; s < species; s++)
            diffused[s] = diffused[s] + signal[SIM_SIGNAL_SOURCE + s];
}

/* The whole update of a cell with constant D. In hot loops `model`, `isotropic` and
 * `has_source` are constants. */
SIM_FN void diffusion_cell(enum sim_reaction model, bool isotropic, bool has_source,
                           const struct diffusion_args *a, const real *signal,
                           const struct diffusion_star *u, real *out)
{
    for (int s = 0; s < reaction_species(model); s++)
        out[s] = isotropic ? diffusion_isotropic(a->rate_x[s], u->c[s], u->w[s], u->e[s],
                                                 u->s[s], u->n[s])
                           : diffusion_axes(a->rate_x[s], a->rate_y[s], u->c[s], u->w[s],
                                            u->e[s], u->s[s], u->n[s]);
    diffusion_react(model, has_source, a, signal, u->c, out);
}

/* --- the general cell: D a field, masks, source fields ------------------------------ */

/* Index of the neighbour one step along, or the cell's own where there is none. */
SIM_FN int64_t diffusion_wrap(int64_t k, int64_t n, bool periodic)
{
    if (k >= 0 && k < n)
        return k;
    return periodic ? (k < 0 ? n - 1 : 0) : (k < 0 ? 0 : n - 1);
}

/* The surroundings of cell (i, j) in arrays `from` (of one member), with walls and masks.
 */
SIM_FN struct diffusion_star diffusion_look(const struct diffusion_args *a, int species,
                                            const real *const *from, const real *signal,
                                            int64_t i, int64_t j, bool walls)
{
    struct diffusion_star u = {{0}, {0}, {0}, {0}, {0}};
    const int64_t iw = diffusion_wrap(i - 1, a->nx, a->periodic_x);
    const int64_t ie = diffusion_wrap(i + 1, a->nx, a->periodic_x);
    const int64_t js = diffusion_wrap(j - 1, a->ny, a->periodic_y);
    const int64_t jn = diffusion_wrap(j + 1, a->ny, a->periodic_y);
    for (int s = 0; s < species; s++) {
        const real *at = from[s];
        real c = at[j * a->pitch + i];
        real w = at[j * a->pitch + iw], e = at[j * a->pitch + ie];
        real south = at[js * a->pitch + i], north = at[jn * a->pitch + i];
        if (a->mask) {
            w = a->mask[j * a->nx + iw] ? c : w;
            e = a->mask[j * a->nx + ie] ? c : e;
            south = a->mask[js * a->nx + i] ? c : south;
            north = a->mask[jn * a->nx + i] ? c : north;
        }
        real west = w, up = south;
        if (walls && !a->periodic_x && i == 0)
            w = diffusion_outside(a, s, SIM_WEST, j, signal, c, e);
        if (walls && !a->periodic_x && i == a->nx - 1)
            e = diffusion_outside(a, s, SIM_EAST, j, signal, c, west);
        if (walls && !a->periodic_y && j == 0)
            south = diffusion_outside(a, s, SIM_SOUTH, i, signal, c, north);
        if (walls && !a->periodic_y && j == a->ny - 1)
            north = diffusion_outside(a, s, SIM_NORTH, i, signal, c, up);
        u.c[s] = c, u.w[s] = w, u.e[s] = e, u.s[s] = south, u.n[s] = north;
    }
    return u;
}

/* One cell with constant D, near a wall or not; writes a->next. */
SIM_FN void diffusion_constant(enum sim_reaction model, const struct diffusion_args *a,
                               const real *signal, int64_t member, int64_t i, int64_t j)
{
    const int species = reaction_species(model);
    const real *from[SIM_SPECIES_MAX] = {a->now[0] + member,
                                         a->now[species - 1] + member};
    real out[SIM_SPECIES_MAX];
    struct diffusion_star u = diffusion_look(a, species, from, signal, i, j, true);
    diffusion_cell(model, a->isotropic, a->has_source, a, signal, &u, out);
    for (int s = 0; s < species; s++)
        a->next[s][member + j * a->pitch + i] = out[s];
}

/* One cell of anything that a system may be; writes a->next. `member` is an offset. */
SIM_FN void diffusion_general(enum sim_reaction model, const struct diffusion_args *a,
                              const real *signal, int64_t member, int64_t i, int64_t j)
{
    const int species = reaction_species(model);
    const int64_t c = j * a->pitch + i;
    const real *from[SIM_SPECIES_MAX] = {a->now[0] + member,
                                         a->now[species - 1] + member};
    real out[SIM_SPECIES_MAX];
    if (a->mask && a->mask[j * a->nx + i]) {
        for (int s = 0; s < species; s++)
            a->next[s][member + c] = from[s][c];
        return;
    }
    struct diffusion_star u = diffusion_look(a, species, from, signal, i, j, true);
    for (int s = 0; s < species; s++) {
        if (a->conductance[s]) {
            const real *d[SIM_SPECIES_MAX] = {a->conductance[s], a->conductance[s]};
            struct diffusion_star k = diffusion_look(a, s + 1, d, signal, i, j, false);
            out[s] = diffusion_flux(a, s, &u, &k);
        } else if (a->isotropic) {
            out[s] =
                diffusion_isotropic(a->rate_x[s], u.c[s], u.w[s], u.e[s], u.s[s], u.n[s]);
        } else {
            out[s] = diffusion_axes(a->rate_x[s], a->rate_y[s], u.c[s], u.w[s], u.e[s],
                                    u.s[s], u.n[s]);
        }
    }
    diffusion_react(model, a->has_source, a, signal, u.c, out);
    for (int k = 0; k < a->source_fields; k++) {
        real weight = a->dt * signal[a->source_signal[k]];
        for (int s = 0; s < species; s++)
            if (a->source_species[k] == s)
                out[s] = sim_fma(weight, a->source[k][c], out[s]);
    }
    for (int s = 0; s < species; s++)
        a->next[s][member + c] = out[s];
}

/* --- from the public struct --------------------------------------------------------- */

/* Does the fast path (no fields besides the species) serve this system? */
static inline bool diffusion_is_constant(const struct sim_diffusion_system *system)
{
    bool constant = !system->mask && system->source_fields == 0;
    for (int s = 0; s < system->species; s++)
        constant = constant && !system->conductance[s];
    return constant;
}

static inline struct diffusion_args
diffusion_args_of(const struct sim_diffusion_system *s)
{
    struct diffusion_args a;
    a.nx = s->nx, a.ny = s->ny, a.pitch = s->pitch, a.member = s->pitch * s->ny;
    a.dt = (real)s->dt, a.mask = s->mask;
    a.isotropic = true;
    for (int k = 0; k < SIM_SPECIES_MAX; k++) {
        const int from = k < s->species ? k : 0;
        a.now[k] = (const real *)s->now[from], a.next[k] = (real *)s->next[from];
        a.rate_x[k] = (real)s->rate_x[from], a.rate_y[k] = (real)s->rate_y[from];
        a.isotropic = a.isotropic && a.rate_x[k] == a.rate_y[k];
        a.conductance[k] = (const real *)s->conductance[from];
        a.edge[k] = (const struct diffusion_edge *)s->edge[from];
        a.edge_signal[k] = s->edge_signal[from];
        for (int side = 0; side < SIM_SIDES; side++) {
            const struct sim_wall *wall = &s->wall[from][side];
            a.uniform[k][side] = s->uniform[from][side];
            a.wall[k][side].inner = (real)wall->inner;
            a.wall[k][side].second = (real)wall->second;
            a.wall[k][side].base = (real)wall->base;
            a.wall[k][side].driven = (real)wall->driven;
            a.wall_signal[k][side] = s->wall_signal[from][side];
        }
    }
    for (int k = 0; k < SIM_REACTION_NUMBERS; k++)
        a.number[k] = (real)s->number[k];
    a.source_fields = s->source_fields;
    for (int k = 0; k < SIM_SOURCE_FIELDS; k++) {
        a.source[k] = k < s->source_fields ? (const real *)s->source[k].field : 0;
        a.source_species[k] = k < s->source_fields ? s->source[k].species : 0;
        a.source_signal[k] = k < s->source_fields ? s->source[k].signal : 0;
    }
    a.has_source = s->has_source, a.periodic_x = s->periodic_x,
    a.periodic_y = s->periodic_y;
    a.signal = (const real *)s->signal, a.signal_stride = s->signal_stride;
    return a;
}

#endif
