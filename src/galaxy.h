/* galaxy.h - a disc galaxy in equilibrium: exponential disc, bulge and dark halo, all
 * made of bodies. See galaxy.c for how, and for what was measured. */
#ifndef SIM_GALAXY_H
#define SIM_GALAXY_H

#include "model.h"

enum sim_galaxy_part { SIM_GALAXY_DISC, SIM_GALAXY_BULGE, SIM_GALAXY_HALO };
#define SIM_GALAXY_PARTS 3

struct sim_galaxy_desc {
    int64_t n;
    double mass, scale, G;
    double share[SIM_GALAXY_PARTS]; /* of the mass; 0: no such part; scaled to sum to 1 */
    double bodies[SIM_GALAXY_PARTS]; /* of n, among the parts that exist; likewise */
    double thickness, bulge_scale, halo_scale, halo_cut; /* in units of scale */
    double toomre;                                       /* the disc's least Q */
    double softening; /* a length, the one of the bodies that it is added to */
    struct sim_placement placement;
};

/* The defaults of sim.galaxy, a set that keeps its equilibrium (see galaxy.c). */
#define SIM_GALAXY_SHARE_DISC   0.2
#define SIM_GALAXY_SHARE_BULGE  0.12
#define SIM_GALAXY_SHARE_HALO   0.68
#define SIM_GALAXY_BODIES_DISC  0.45
#define SIM_GALAXY_BODIES_BULGE 0.3
#define SIM_GALAXY_BODIES_HALO  0.25
#define SIM_GALAXY_THICKNESS    0.2
#define SIM_GALAXY_BULGE_SCALE  0.5
#define SIM_GALAXY_HALO_SCALE   4
#define SIM_GALAXY_HALO_CUT     15
#define SIM_GALAXY_TOOMRE       1.5
#define SIM_GALAXY_SOFTENING    0.1

/* Groups "name.disc", "name.bulge", "name.halo", in this order, of those that exist;
 * their bodies follow each other in the same order. Mass centre and momentum are zero
 * before it is placed. SIM_BAD_ARGUMENT: no part at all, fewer bodies than parts, or no
 * equilibrium; SIM_HOST_MEMORY. Nothing is left to free on failure. */
enum sim_status sim_galaxy_new(const struct sim_galaxy_desc *desc, struct sim_model *out);

/* How n bodies are dealt out: at least one to each part that exists, while they last. */
void sim_galaxy_counts(const struct sim_galaxy_desc *desc,
                       int64_t counts[SIM_GALAXY_PARTS]);

#endif
