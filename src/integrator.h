/* integrator.h - time steps as data: which kicks, drifts and forces make one.
 *
 * Leapfrog in its two forms (Verlet 1967, Phys. Rev. 159, 98), Yoshida's fourth-order
 * composition of it (1990, Phys. Lett. A 150, 262), all symplectic and time-reversible;
 * and Hermite's fourth-order predictor-corrector, which is an operation of its own
 * (struct sim_hermite in kernels/nbody.h). */
#ifndef SIM_INTEGRATOR_H
#define SIM_INTEGRATOR_H

#include "../kernels/nbody.h"

enum sim_scheme { SIM_LEAPFROG, SIM_DKD, SIM_YOSHIDA4, SIM_HERMITE4 };

struct sim_stepper {
    const char *name;
    const struct sim_stage *stages; /* NULL: Hermite */
    int count;
    bool begins_with_force; /* the first stage needs an acceleration */
    int merge_before; /* close bodies merge before this stage, or at the end: where the
                         positions are those of the step's end, and no force is known */
};

#define SIM_STAGES_MAX 12 /* a step's, with the merging */

const struct sim_stepper *sim_stepper(enum sim_scheme scheme);

#endif
