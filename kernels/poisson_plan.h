/* poisson_plan.h - the order of the sweeps that solve the pressure equation, for both
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
/* Cycles until control->done, or of the number asked for. */
static enum sim_status poisson_gradients(struct sim_poisson_system *s);

static enum sim_status poisson_wrapped(struct sim_poisson_system *s, int level,
                                       void *array)
{
    return s->periodic_x || s->periodic_y ? poisson_wrap(s, level, array) : SIM_OK;
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
    const bool sweeps = s->method == SIM_JACOBI || s->method == SIM_SOR;
    return sweeps ? poisson_sweeps(s) : poisson_gradients(s);
}

#endif
