/* diffusion_modal_math.h - one eigenmode over n steps, once, for both backends; always in
 * double.
 *
 * A scheme takes a mode h with the drive b from step to step by h' = F h + G b, so that
 * after n of them h_n = F^n h + (1 + F + ... + F^(n-1)) G b. Power and sum are doubled
 * together, which loses nothing where F is near 1. */
#ifndef DIFFUSION_MODAL_MATH_H
#define DIFFUSION_MODAL_MATH_H

#include "diffusion.h"
#include "sim_fn.h"

struct modal_step {
    double factor, gain; /* F, G */
};

SIM_FN struct modal_step modal_step_of(enum sim_modal_scheme scheme, double ax, double ay)
{
    const double a = ax + ay;
    struct modal_step s = {1 - a, 1};
    if (scheme == SIM_MODAL_CRANK_NICOLSON) {
        s.factor = (1 - a / 2) / (1 + a / 2);
        s.gain = 1 / (1 + a / 2);
    } else if (scheme == SIM_MODAL_ADI) {
        s.factor = (1 - ax / 2) / (1 + ax / 2) * ((1 - ay / 2) / (1 + ay / 2));
        s.gain = 1 / ((1 + ax / 2) * (1 + ay / 2));
    } else if (scheme == SIM_MODAL_EXACT) {
        s.factor = exp(-a);
        s.gain = a != 0 ? -expm1(-a) / a : 1;
    }
    return s;
}

/* F^n in .factor and 1 + F + ... + F^(n-1) in .gain */
SIM_FN struct modal_step modal_power(double factor, int64_t n)
{
    struct modal_step done = {1, 0}, chunk = {factor, 1}; /* no step; 2^k steps */
    for (; n > 0; n >>= 1) {
        if (n & 1) {
            done.gain = done.gain * chunk.factor + chunk.gain;
            done.factor = done.factor * chunk.factor;
        }
        chunk.gain = chunk.gain * chunk.factor + chunk.gain;
        chunk.factor = chunk.factor * chunk.factor;
    }
    return done;
}

SIM_FN double modal_value(const struct sim_modal *m, double ax, double ay, double state,
                          double drive)
{
    const struct modal_step one = modal_step_of(m->scheme, ax, ay);
    const struct modal_step all = modal_power(one.factor, m->steps);
    return all.factor * state + all.gain * (one.gain * drive);
}

#endif
