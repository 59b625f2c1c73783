/* diffusion_implicit.c - Crank-Nicolson and alternating directions, for steps beyond the
 * explicit limit.
 *
 * Crank-Nicolson: (1 - L/2) u' = (1 + L/2) u + b. Alternating directions (Peaceman and
 * Rachford 1955): (1 - X/2) u* = (1 + Y/2) u + b/2, then (1 - Y/2) u' = (1 + X/2) u* +
 * b/2. For linear problems with constant coefficients both are solved exactly in the
 * eigenmodes (diffusion_jump.c), any number of steps at once. Both are of second order in
 * time; neither keeps the maximum principle for large steps.
 *
 * Not here: line solvers, and with them D as a field, domains and reactions. */
#include "diffusion.h"

enum sim_status sim_diffusion_implicit(struct sim_diffusion *d, int64_t count)
{
    return sim_diffusion_modes(
        d, d->desc.integrator == SIM_ADI ? SIM_MODAL_ADI : SIM_MODAL_CRANK_NICOLSON,
        count);
}
