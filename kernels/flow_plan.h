/* flow_plan.h - the order of the passes of a step, for both backends: included where
 * flow_pass is a static function that does or enqueues one. */
#ifndef FLOW_PLAN_H
#define FLOW_PLAN_H

#include "poisson_plan.h"

enum flow_pass {
    FLOW_CLEAN,     /* faces that are not free rest */
    FLOW_LIMITS,    /* maxima of now; the time step */
    FLOW_MOMENTUM,  /* F, G */
    FLOW_SIDES,     /* F, G at the sides; k: and near curved walls */
    FLOW_BALANCE,   /* outflows, so that each region's flux is 0 */
    FLOW_START,     /* project only: F, G from now; no time passes */
    FLOW_SIDES_NOW, /* faces at the sides from F, G */
    FLOW_RHS,       /* -div (F, G), its maximum; solution 0 */
    FLOW_GATE,      /* what follows is for fresh steps alone */
    FLOW_REFINE,    /* F, G from themselves and the solution */
    FLOW_GATE_END,
    FLOW_CORRECT,    /* now from F, G and the solution; before into F, G */
    FLOW_PRESSURE,   /* p += solution/dt */
    FLOW_ADVANCE,    /* both, and time and steps */
    FLOW_COMPATIBLE, /* the mean of the right-hand side over closed regions taken out */
    FLOW_CENTRE,     /* that of p, now and then */
    FLOW_GHOSTS,
    FLOW_SCALAR,      /* k: transport */
    FLOW_SCALAR_TAKE, /* k */
    FLOW_SCALAR_GHOSTS,
    FLOW_TRACE, /* markers over the step, and new ones */
};

static enum sim_status flow_pass(struct sim_flow_system *s, enum flow_pass pass, int k);
static bool flow_over(const struct sim_flow_system *s); /* as poisson_done */

static enum sim_status flow_increment(struct sim_flow_system *s)
{
    SIM_TRY(flow_pass(s, FLOW_RHS, 0));
    if (s->closed_regions)
        SIM_TRY(flow_pass(s, FLOW_COMPATIBLE, 0));
    return poisson_solve(&s->poisson);
}

/* A correction before the step's own, where the whole pressure is new. */
static enum sim_status flow_first_correction(struct sim_flow_system *s)
{
    SIM_TRY(flow_pass(s, FLOW_GATE, 0));
    SIM_TRY(flow_increment(s));
    SIM_TRY(flow_pass(s, FLOW_REFINE, 0));
    SIM_TRY(flow_pass(s, FLOW_PRESSURE, 0));
    return flow_pass(s, FLOW_GATE_END, 0);
}

static enum sim_status flow_scalars(struct sim_flow_system *s)
{
    for (int k = 0; k < s->scalars; k++) {
        SIM_TRY(flow_pass(s, FLOW_SCALAR, k));
        SIM_TRY(flow_pass(s, FLOW_SCALAR_TAKE, k));
        SIM_TRY(flow_pass(s, FLOW_SCALAR_GHOSTS, k));
    }
    return SIM_OK;
}

static enum sim_status flow_one_step(struct sim_flow_system *s)
{
    SIM_TRY(flow_pass(s, FLOW_LIMITS, 0));
    if (flow_over(s))
        return SIM_OK;
    SIM_TRY(flow_pass(s, FLOW_MOMENTUM, 0));
    SIM_TRY(flow_pass(s, FLOW_SIDES, 1));
    if (s->balanced_regions)
        SIM_TRY(flow_pass(s, FLOW_BALANCE, 0));
    if (s->refines)
        SIM_TRY(flow_first_correction(s));
    SIM_TRY(flow_increment(s));
    SIM_TRY(flow_pass(s, FLOW_ADVANCE, 0));
    if (s->closed_regions)
        SIM_TRY(flow_pass(s, FLOW_CENTRE, 0));
    SIM_TRY(flow_pass(s, FLOW_GHOSTS, 0));
    SIM_TRY(flow_scalars(s));
    return s->markers.marker ? flow_pass(s, FLOW_TRACE, 0) : SIM_OK;
}

static enum sim_status flow_step_plan(struct sim_flow_system *s, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        SIM_TRY(sim_check_interrupt());
        SIM_TRY(flow_one_step(s));
        if (flow_over(s))
            break;
    }
    return SIM_OK;
}

/* Sides, ghosts and what rests, after a change from outside; no time passes. */
static enum sim_status flow_settle_plan(struct sim_flow_system *s)
{
    SIM_TRY(flow_pass(s, FLOW_CLEAN, 0));
    SIM_TRY(flow_pass(s, FLOW_START, 0));
    SIM_TRY(flow_pass(s, FLOW_SIDES, 0));
    if (s->balanced_regions)
        SIM_TRY(flow_pass(s, FLOW_BALANCE, 0));
    SIM_TRY(flow_pass(s, FLOW_SIDES_NOW, 0));
    SIM_TRY(flow_pass(s, FLOW_GHOSTS, 0));
    for (int k = 0; k < s->scalars; k++)
        SIM_TRY(flow_pass(s, FLOW_SCALAR_GHOSTS, k));
    return SIM_OK;
}

/* Twice: what the first correction leaves by the rounding of a large pressure, the second
 * takes away; where it left nothing, nothing is done. */
static enum sim_status flow_project_plan(struct sim_flow_system *s)
{
    for (int k = 0; k < 2; k++) {
        SIM_TRY(flow_pass(s, FLOW_START, 0));
        SIM_TRY(flow_increment(s));
        SIM_TRY(flow_pass(s, FLOW_CORRECT, 0));
    }
    return flow_pass(s, FLOW_GHOSTS, 0);
}

#endif
