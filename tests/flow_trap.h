/* flow_trap.h - what the scenes of test_flow_traps.c ask, from the values as a script
 * would read them. */
#ifndef FLOW_TRAP_H
#define FLOW_TRAP_H

#include "flow_case.h"

static inline bool is_solid(const struct sim_flow *f, int64_t i, int64_t j)
{
    return f->solid[j * f->desc.nx + i] != 0;
}

/* max |div u| h / U over the fluid, from the values as a script would read them. */
static inline double divergence_of(struct sim_flow *f)
{
    const int64_t nx = f->desc.nx, ny = f->desc.ny;
    double *u = values(f, SIM_FLOW_VIEW_U), *v = values(f, SIM_FLOW_VIEW_V);
    const double h = fmin(f->desc.dx, f->desc.dy);
    double worst = 0, fastest = 1e-300;
    for (int64_t j = 0; j < ny; j++)
        for (int64_t i = 0; i < nx; i++) {
            const double *west = &u[j * (nx + 1) + i], *south = &v[j * nx + i];
            fastest = fmax(fastest, fmax(fabs(*west), fabs(*south)));
            if (!is_solid(f, i, j))
                worst = fmax(worst, fabs((west[1] - west[0]) / f->desc.dx +
                                         (south[nx] - south[0]) / f->desc.dy));
        }
    free(u);
    free(v);
    return worst * h / fastest;
}

static inline bool all_finite(struct sim_flow *f)
{
    for (int view = 0; view < SIM_FLOW_VIEW_DERIVED; view++) {
        int64_t bad;
        CHECK_OK(sim_field_check(sim_flow_view(f, view), &bad));
        if (bad != INT64_MAX)
            return false;
    }
    return true;
}

/* Nothing blew up, no pressure solve gave up, what is left of the divergence is within
 * the tolerance. */
static inline void check_sound(struct sim_flow *f, const char *scene)
{
    struct sim_flow_control k;
    const double divergence = divergence_of(f);
    CHECK_OK(sim_flow_control(f, &k));
    bool good = CHECK(all_finite(f));
    good &= CHECK(k.bad_step == 0);
    good &= CHECK(k.solve.stalled == 0);
    good &= CHECK(divergence <= (f->desc.is_double ? 2e-10 : 3e-6));
    if (!good)
        printf("     %s: step %lld, divergence %.3g, %lld solves stalled\n", scene,
               (long long)k.steps, divergence, (long long)k.solve.stalled);
}

/* What flows through every section x = const, which must be `want`. */
static inline void check_sections(struct sim_flow *f, double want, double tolerance)
{
    const int64_t nx = f->desc.nx;
    double *u = values(f, SIM_FLOW_VIEW_U), worst = 0;
    for (int64_t i = 0; i <= nx; i++) {
        double flux = 0;
        for (int64_t j = 0; j < f->desc.ny; j++)
            flux += u[j * (nx + 1) + i] * f->desc.dy;
        worst = fmax(worst, fabs(flux - want));
    }
    CHECK_NEAR(worst, 0, tolerance);
    free(u);
}

/* The mean pressure over the fluid. */
static inline double mean_pressure(struct sim_flow *f)
{
    double *p = values(f, SIM_FLOW_VIEW_PRESSURE), sum = 0, cells = 0;
    for (int64_t j = 0; j < f->desc.ny; j++)
        for (int64_t i = 0; i < f->desc.nx; i++)
            if (!is_solid(f, i, j))
                sum += p[j * f->desc.nx + i], cells++;
    free(p);
    return sum / cells;
}

/* u = mean + noise, v = noise, of the given size. */
static inline void stir(struct sim_flow *f, double mean, double size, uint64_t seed)
{
    struct sim_field *field[2] = {sim_flow_view(f, SIM_FLOW_VIEW_U),
                                  sim_flow_view(f, SIM_FLOW_VIEW_V)};
    for (int k = 0; k < 2; k++) {
        const int64_t n = field[k]->nx * field[k]->ny;
        double *to = malloc((size_t)n * sizeof *to);
        for (int64_t c = 0; c < n; c++)
            to[c] =
                (k ? 0 : mean) + size * (2 * noise(seed + (uint64_t)k, (uint64_t)c) - 1);
        CHECK_OK(sim_field_write(field[k], to));
        free(to);
    }
}

static inline void free_slip(struct sim_flow *f)
{
    set_side(f, SIM_FLOW_SOUTH, SIM_FLOW_FREE_SLIP, 0, 0);
    set_side(f, SIM_FLOW_NORTH, SIM_FLOW_FREE_SLIP, 0, 0);
}

#endif
