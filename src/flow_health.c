/* flow_health.c - what is said of a flow that has diverged (flow_health.h). */
#include "flow_health.h"

/* The first field of these that is not finite. */
static enum sim_status find_bad(struct sim_flow *f, struct sim_field **field,
                                int64_t *cell)
{
    static const int views[] = {SIM_FLOW_VIEW_U, SIM_FLOW_VIEW_V, SIM_FLOW_VIEW_PRESSURE};
    *cell = INT64_MAX;
    for (int k = 0; k < 3 && *cell == INT64_MAX; k++) {
        *field = sim_flow_view(f, views[k]);
        SIM_TRY(sim_field_check(*field, cell));
    }
    return SIM_OK;
}

static enum sim_status diverged(const struct sim_field *field, int64_t cell,
                                const struct sim_flow_control *control)
{
    const int64_t step = control->bad_step ? control->bad_step : control->steps;
    if (cell == INT64_MAX)
        return sim_fail(SIM_DIVERGED,
                        "flow diverged by step %lld (t = %g, largest CFL number %.3g)",
                        (long long)step, control->time, control->cfl_max);
    return sim_fail(SIM_DIVERGED,
                    "flow diverged: field %s is not finite at cell (%lld, %lld), step "
                    "%lld (t = %g, largest CFL number %.3g)",
                    field->name, (long long)(cell % field->nx) + 1,
                    (long long)(cell / field->nx) + 1, (long long)step, control->time,
                    control->cfl_max);
}

/* A fixed time step is refused as soon as it is looked at after it was too long. */
static enum sim_status stable(const struct sim_flow *f,
                              const struct sim_flow_control *control)
{
    if (!control->unstable_step)
        return SIM_OK;
    return sim_fail(
        SIM_DIVERGED,
        "flow: the fixed dt = %g was beyond the stable limit %.6g at step %lld "
        "(the least of dt (|u|/dx + |v|/dy) <= 1, 2 nu dt (1/dx^2 + 1/dy^2) <= 1 "
        "and dt u^2 <= 2 nu + chi |u| dx)",
        f->desc.dt, control->unstable_limit, (long long)control->unstable_step);
}

enum sim_status sim_flow_healthy(struct sim_flow *f,
                                 const struct sim_flow_control *control)
{
    struct sim_field *field = NULL;
    int64_t cell;
    if (!control->bad_step)
        return stable(f, control);
    SIM_TRY(find_bad(f, &field, &cell));
    return diverged(field, cell, control);
}

enum sim_status sim_flow_check(struct sim_flow *f)
{
    struct sim_field *field = NULL;
    struct sim_flow_control control;
    int64_t cell;
    SIM_TRY(sim_flow_control(f, &control));
    SIM_TRY(find_bad(f, &field, &cell));
    if (control.bad_step || cell != INT64_MAX)
        return diverged(field, cell, &control);
    return stable(f, &control);
}

enum sim_status sim_flow_clock(struct sim_field *view, struct sim_buffer *to,
                               size_t offset)
{
    static const struct {
        size_t to, from;
    } parts[] = {
        {offsetof(struct sim_field_clock, step),
         offsetof(struct sim_flow_control, steps)},
        {offsetof(struct sim_field_clock, bad_step),
         offsetof(struct sim_flow_control, bad_step)},
        {offsetof(struct sim_field_clock, time), offsetof(struct sim_flow_control, time)},
        {offsetof(struct sim_field_clock, cfl),
         offsetof(struct sim_flow_control, cfl_max)},
    };
    const struct sim_flow *f = view->solver;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        SIM_TRY(sim_buffer_copy(to, offset + parts[k].to, &f->control, parts[k].from,
                                sizeof(int64_t)));
    return SIM_OK;
}
