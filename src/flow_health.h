/* flow_health.h - is a flow still finite? A flow that is not stands still
 * (kernels/flow.h, bad_step); these say where and when it broke. */
#ifndef SIM_FLOW_HEALTH_H
#define SIM_FLOW_HEALTH_H

#include "flow.h"

/* SIM_DIVERGED, naming field, cell, step, time and the CFL number, or the limit that a
 * fixed time step went beyond, when the control that was read says so. Waits only then.
 */
enum sim_status sim_flow_healthy(struct sim_flow *f,
                                 const struct sim_flow_control *control);

/* The same, and whether the fields of now are finite. Waits. */
enum sim_status sim_flow_check(struct sim_flow *f);

/* For struct sim_field: the flow's step, time and health, for a picture (field.h). */
enum sim_status sim_flow_clock(struct sim_field *view, struct sim_buffer *to,
                               size_t offset);

#endif
