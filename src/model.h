/* model.h - bodies on the host, before they go to a device: what the scene words
 * (sim.galaxy, sim.plummer, sim.rows, ...) make, and what stars:add takes.
 *
 * Values are double; random ones are drawn from Philox counters keyed by (seed, body), so
 * a model is the same on every machine and for every device. */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include <stdint.h>

#include "status.h"

#define SIM_GROUP_NAME   32
#define SIM_MODEL_GROUPS 64
#define SIM_MODEL_MAX    2147483647 /* bodies */

struct sim_body {
    double position[3];
    double velocity[3];
    double mass;   /* or charge; zero for a tracer */
    int32_t group; /* index into the model's groups */
};

struct sim_model {
    int64_t n;
    struct sim_body *bodies; /* malloc'd, owned */
    int group_count;
    char groups[SIM_MODEL_GROUPS][SIM_GROUP_NAME];
};

/* What every random word takes besides its physics. */
struct sim_placement {
    double position[3], velocity[3]; /* of the mass centre */
    double tilt[3];                  /* see sim_model_place */
    const char *name;                /* group, or first part of the groups' names */
    int64_t seed;                    /* key of the random numbers */
};

/* n bodies, all zero, in no group; n >= 1. */
enum sim_status sim_model_new(int64_t n, struct sim_model *out);
void sim_model_free(struct sim_model *model);

/* The index of a group, added if new. SIM_BAD_ARGUMENT when there are too many. */
enum sim_status sim_model_group(struct sim_model *model, const char *name, int *index);

/* The same for the group "name.part"; just "name" when part is NULL. */
enum sim_status sim_model_part(struct sim_model *model, const char *name,
                               const char *part, int *index);

/* The sum of masses, in index order. */
double sim_model_mass(const struct sim_model *model);

/* Shift so that centre of mass and momentum are zero, to rounding. Where the masses sum
 * to zero every body counts the same. */
void sim_model_recentre(struct sim_model *model);

/* Turn about the origin by tilt = (inclination about the x axis, then node about the z
 * axis, then about the y axis), degrees; then shift by position and velocity. */
void sim_model_place(struct sim_model *model, const double position[3],
                     const double velocity[3], const double tilt[3]);

/* Recentre, then place. */
void sim_model_settle(struct sim_model *model, const struct sim_placement *placement);

#endif
