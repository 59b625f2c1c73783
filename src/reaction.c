/* reaction.c - names, parameters and presets of the reactions; equations in
 * kernels/reaction_math.h.
 *
 * The presets of Gray-Scott take F and k from maps of its patterns (Pearson, Science 261,
 * 189, 1993; Munafo's classes), with D = 0.16 and 0.08 on a unit grid and dt = 1, as is
 * usual; "u-skate" needs the finer numbers of its discoverer. */
#include "reaction.h"

#include <math.h>
#include <string.h>

const struct sim_reaction_model sim_reaction_models[SIM_REACTIONS] = {
    [SIM_REACTION_NONE] = {"none", {{0}}},
    [SIM_DECAY] = {"decay", {{"k", 1}}},
    [SIM_FISHER] = {"fisher-kpp", {{"r", 1}, {"K", 1}}},
    [SIM_BISTABLE] = {"bistable", {{"k", 1}, {"a", 0.25}}},
    [SIM_ALLEN_CAHN] = {"allen-cahn", {{"epsilon", 1}}},
    [SIM_GRAY_SCOTT] = {"gray-scott", {{"F", 0.037}, {"k", 0.06}}},
    [SIM_FITZHUGH_NAGUMO] = {"fitzhugh-nagumo",
                             {{"cubic", 1.0 / 3},
                              {"stimulus", 0},
                              {"epsilon", 0.02},
                              {"gamma", 0.6},
                              {"beta", 0.5}}},
    [SIM_SCHNAKENBERG] = {"schnakenberg", {{"a", 0.1}, {"b", 0.9}, {"scale", 1}}},
    [SIM_BRUSSELATOR] = {"brusselator", {{"a", 4.5}, {"b", 7.5}}},
    [SIM_BARKLEY] = {"barkley", {{"a", 0.75}, {"b", 0.06}, {"epsilon", 0.02}}},
};

#define GRAY_SCOTT(NAME, F, K, LOOK)                           \
    {                                                          \
        NAME, SIM_GRAY_SCOTT, {F, K}, {0.16, 0.08}, 1, 1, LOOK \
    }

const struct sim_reaction_preset sim_reaction_presets[] = {
    GRAY_SCOTT("labyrinth", 0.037, 0.060,
               "stripes that fill the plane like a fingerprint"),
    GRAY_SCOTT("mitosis", 0.0367, 0.0649, "spots that grow and divide"),
    GRAY_SCOTT("spots", 0.030, 0.062, "spots that replicate until they are packed"),
    GRAY_SCOTT("pulsating-spots", 0.025, 0.060, "spots that come and go"),
    GRAY_SCOTT("worms", 0.058, 0.065, "worms that grow at their ends"),
    GRAY_SCOTT("holes", 0.039, 0.058, "holes in a filled plane"),
    GRAY_SCOTT("chaos", 0.026, 0.051, "turbulence that never settles"),
    GRAY_SCOTT("gliders", 0.014, 0.054, "spots that wander"),
    GRAY_SCOTT("ripples", 0.018, 0.051, "small waves and spirals"),
    GRAY_SCOTT("waves", 0.014, 0.045, "large waves"),
    GRAY_SCOTT("bubbles", 0.098, 0.057, "dark bubbles"),
    GRAY_SCOTT("maze", 0.029, 0.057, "a maze"),
    {"u-skate",
     SIM_GRAY_SCOTT,
     {0.062, 0.06093},
     {0.164, 0.082},
     1,
     1,
     "U shapes that glide without end"},
    {"spiral",
     SIM_BARKLEY,
     {0.75, 0.06, 0.02},
     {1, 0},
     0.4,
     0.01,
     "a spiral wave in an excitable medium"},
    {"spiral-turbulence",
     SIM_FITZHUGH_NAGUMO,
     {1, 0, 0.014, 2, 0.1},
     {1, 2.8},
     1,
     0.02,
     "spirals that break up"},
    {"turing-spots",
     SIM_SCHNAKENBERG,
     {0.1, 0.9, 1},
     {1, 20},
     1,
     0.01,
     "a lattice of spots"},
    {"turing-stripes", SIM_BRUSSELATOR, {4.5, 7.5, 0}, {2, 16}, 1, 0.01, "stripes"},
};

const int sim_reaction_preset_count =
    sizeof sim_reaction_presets / sizeof *sim_reaction_presets;

static enum sim_status not_zero(const char *name, double value)
{
    return value != 0 ? SIM_OK
                      : sim_fail(SIM_BAD_ARGUMENT, "diffusion: %s must not be 0", name);
}

enum sim_status sim_reaction_numbers(enum sim_reaction reaction, const double *p,
                                     double out[SIM_REACTION_NUMBERS])
{
    memset(out, 0, SIM_REACTION_NUMBERS * sizeof *out);
    for (int k = 0; k < SIM_REACTION_PARAMETERS; k++)
        if (sim_reaction_models[reaction].parameter[k].name && !isfinite(p[k]))
            return sim_fail(SIM_BAD_ARGUMENT, "diffusion: %s is not a finite number",
                            sim_reaction_models[reaction].parameter[k].name);
    for (int k = 0; k < SIM_REACTION_PARAMETERS; k++)
        out[k] = p[k];
    switch (reaction) {
    case SIM_FISHER:
        SIM_TRY(not_zero("K", p[1]));
        out[1] = p[0] / p[1];
        break;
    case SIM_ALLEN_CAHN:
        SIM_TRY(not_zero("epsilon", p[0]));
        out[0] = 1 / (p[0] * p[0]);
        break;
    case SIM_GRAY_SCOTT:
        out[1] = p[0] + p[1];
        break;
    case SIM_BRUSSELATOR:
        out[2] = p[1] + 1;
        break;
    case SIM_BARKLEY:
        SIM_TRY(not_zero("a", p[0]));
        SIM_TRY(not_zero("epsilon", p[2]));
        out[0] = 1 / p[0], out[2] = 1 / p[2];
        break;
    default:
        break;
    }
    return SIM_OK;
}
