/* reaction.h - the reactions by their names, their parameters by theirs, and presets. */
#ifndef SIM_REACTION_H
#define SIM_REACTION_H

#include "../kernels/diffusion.h"

#define SIM_REACTION_PARAMETERS 5

struct sim_reaction_model {
    const char *name; /* "gray-scott" */
    struct sim_reaction_parameter {
        const char *name; /* NULL: no more */
        double value;     /* when not given */
    } parameter[SIM_REACTION_PARAMETERS];
};

/* By enum sim_reaction. */
extern const struct sim_reaction_model sim_reaction_models[SIM_REACTIONS];

struct sim_reaction_preset {
    const char *name;
    enum sim_reaction reaction;
    double value[SIM_REACTION_PARAMETERS]; /* in the order of the model's parameters */
    double diffusivity[SIM_SPECIES_MAX];
    double dx, dt; /* the spacing and step it is meant for */
    const char *look;
};

extern const struct sim_reaction_preset sim_reaction_presets[];
extern const int sim_reaction_preset_count;

/* Parameters, in the model's order, to the numbers of kernels/reaction_math.h.
 * SIM_BAD_ARGUMENT where one must not be zero, or is not finite. */
enum sim_status sim_reaction_numbers(enum sim_reaction reaction, const double *parameters,
                                     double numbers[SIM_REACTION_NUMBERS]);

#endif
