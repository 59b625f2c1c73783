/* poisson_plan.h - the order of the passes that solve the pressure equation, for both
 * backends: included where poisson_pass is a static function that does or enqueues one.
 *
 * Each pass ends at once when control->done is set; poisson_done says so to a host that
 * can see it (the CPU), so that it need not ask for what would do nothing. */
#ifndef POISSON_PLAN_H
#define POISSON_PLAN_H

#include "poisson_math.h"

static enum sim_status poisson_pass(struct sim_poisson_system *s, enum poisson_pass pass,
                                    int level);
/* Ghosts of periodic sides of an array of a level. */
static enum sim_status poisson_wrap(struct sim_poisson_system *s, int level, void *array);
static bool poisson_done(const struct sim_poisson_system *s);
/* The level from which POISSON_COARSE does the rest. */
static int poisson_coarse_level(const struct sim_poisson_system *s);

static enum sim_status poisson_wrapped(struct sim_poisson_system *s, int level,
                                       void *array)
{
    return s->periodic_x || s->periodic_y ? poisson_wrap(s, level, array) : SIM_OK;
}

/* z = V(r): level[0].x from level[0].b */
static enum sim_status poisson_cycle(struct sim_poisson_system *s)
{
    const int last = poisson_coarse_level(s);
    for (int l = 0; l < last; l++) {
        SIM_TRY(poisson_wrapped(s, l, s->level[l].b));
        SIM_TRY(poisson_pass(s, POISSON_PRE, l));
        SIM_TRY(poisson_wrapped(s, l, s->level[l].x));
        SIM_TRY(poisson_pass(s, POISSON_RESTRICT, l));
    }
    SIM_TRY(poisson_pass(s, POISSON_COARSE, last));
    for (int l = last - 1; l >= 0; l--) {
        SIM_TRY(poisson_wrapped(s, l + 1, s->level[l + 1].x));
        SIM_TRY(poisson_pass(s, POISSON_PROLONG, l));
        SIM_TRY(poisson_wrapped(s, l, s->level[l].x));
        SIM_TRY(poisson_pass(s, POISSON_SMOOTH_A, l));
        SIM_TRY(poisson_wrapped(s, l, s->level[l].t));
        SIM_TRY(poisson_pass(s, POISSON_SMOOTH_B, l));
    }
    return SIM_OK;
}

static enum sim_status poisson_gradients(struct sim_poisson_system *s)
{
    for (int cycle = 0; cycle < s->iterations && !poisson_done(s); cycle++) {
        SIM_TRY(sim_check_interrupt());
        SIM_TRY(poisson_cycle(s));
        SIM_TRY(poisson_pass(s, POISSON_DOTS, 0));
        SIM_TRY(poisson_pass(s, POISSON_DIRECTION, 0));
        SIM_TRY(poisson_wrapped(s, 0, s->p));
        SIM_TRY(poisson_pass(s, POISSON_APPLY, 0));
        SIM_TRY(poisson_pass(s, POISSON_UPDATE, 0));
    }
    return SIM_OK;
}

/* Exactly s->iterations sweeps, as the SMAC paper does it. */
static enum sim_status poisson_sweeps(struct sim_poisson_system *s)
{
    for (int k = 0; k < s->iterations && !poisson_done(s); k++) {
        SIM_TRY(sim_check_interrupt());
        SIM_TRY(poisson_wrapped(s, 0, s->solution));
        if (s->method == SIM_JACOBI) {
            SIM_TRY(poisson_pass(s, POISSON_SWEEP, 0));
            SIM_TRY(poisson_pass(s, POISSON_TAKE, 0));
        } else {
            SIM_TRY(poisson_pass(s, POISSON_RED, 0));
            SIM_TRY(poisson_wrapped(s, 0, s->solution));
            SIM_TRY(poisson_pass(s, POISSON_BLACK, 0));
        }
    }
    SIM_TRY(poisson_wrapped(s, 0, s->solution));
    return poisson_pass(s, POISSON_RESIDUAL, 0);
}

/* The solution of A solution = level[0].b, which is left as the residual. The solution is
 * 0 before, and the control has been set by poisson_begin. */
static enum sim_status poisson_solve(struct sim_poisson_system *s)
{
    if (s->method != SIM_MULTIGRID)
        return poisson_sweeps(s);
    SIM_TRY(poisson_gradients(s));
    return poisson_wrapped(s, 0, s->solution);
}

#endif
