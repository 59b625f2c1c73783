/* integrator.c - the rows of stages; see integrator.h. */
#include "integrator.h"

/* Yoshida's weights: 1 / (2 - 2^(1/3)) and 1 - 2 w1. */
#define W1 1.351207191959657634
#define W0 (-1.702414383919315268)

static const struct sim_stage kick_drift_kick[] = {
    {SIM_KICK, 0.5}, {SIM_DRIFT, 1.0}, {SIM_FORCE, 0}, {SIM_KICK, 0.5}};

static const struct sim_stage drift_kick_drift[] = {
    {SIM_DRIFT, 0.5}, {SIM_FORCE, 0}, {SIM_KICK, 1.0}, {SIM_DRIFT, 0.5}};

static const struct sim_stage yoshida[] = {
    {SIM_KICK, W1 / 2},        {SIM_DRIFT, W1}, {SIM_FORCE, 0},
    {SIM_KICK, (W1 + W0) / 2}, {SIM_DRIFT, W0}, {SIM_FORCE, 0},
    {SIM_KICK, (W0 + W1) / 2}, {SIM_DRIFT, W1}, {SIM_FORCE, 0},
    {SIM_KICK, W1 / 2}};

#define COUNT(stages) (int)(sizeof stages / sizeof *stages)

static const struct sim_stepper integrators[] = {
    [SIM_LEAPFROG] = {"leapfrog", kick_drift_kick, COUNT(kick_drift_kick), true, 2},
    [SIM_DKD] = {"dkd", drift_kick_drift, COUNT(drift_kick_drift), false, 4},
    [SIM_YOSHIDA4] = {"yoshida4", yoshida, COUNT(yoshida), true, 8},
    [SIM_HERMITE4] = {"hermite4", NULL, 0, false, 0},
};

const struct sim_stepper *sim_stepper(enum sim_scheme scheme)
{
    return &integrators[scheme];
}
