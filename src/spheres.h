/* spheres.h - single spheres: Plummer's, Hernquist's, and one of uniform density.
 *
 * `virial` is 2K/|W|: 1 makes the equilibrium, 0 starts at rest. Every model has its mass
 * centre and momentum removed before it is placed. All return SIM_BAD_ARGUMENT or
 * SIM_HOST_MEMORY on failure, and then leave nothing to free. */
#ifndef SIM_SPHERES_H
#define SIM_SPHERES_H

#include <stdbool.h>

#include "model.h"

struct sim_plummer_desc {
    int64_t n;
    double mass, scale, G, virial;
    bool exact; /* rescale so that W and K are the continuum's; costs n^2 */
    struct sim_placement placement;
};

struct sim_hernquist_desc {
    int64_t n;
    double mass, scale, G, virial;
    double cut;       /* rho * exp(-(r/cut)^2); 0: no cut */
    double softening; /* of the forces that it is to be in equilibrium with */
    struct sim_placement placement;
};

struct sim_uniform_sphere_desc {
    int64_t n;
    double mass, radius, G, virial;
    double spin; /* angular velocity about z, degrees per time */
    struct sim_placement placement;
};

enum sim_status sim_plummer_new(const struct sim_plummer_desc *desc,
                                struct sim_model *out);
enum sim_status sim_hernquist_new(const struct sim_hernquist_desc *desc,
                                  struct sim_model *out);
enum sim_status sim_uniform_sphere_new(const struct sim_uniform_sphere_desc *desc,
                                       struct sim_model *out);

#endif
