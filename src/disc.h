/* disc.h - exponential discs: their force, and the motions that keep them.
 *
 * sim_disc_solve() tabulates, over the radius R in the disc's plane, the circular speed,
 * the epicycle frequency and the velocity moments of a disc in equilibrium in its own
 * field and that of whatever spheres surround it; sim_disc_draw() draws a star from them.
 * sim_disc_new() is the word sim.disc. See disc.c for the equations. */
#ifndef SIM_DISC_H
#define SIM_DISC_H

#include "model.h"
#include "spherical.h"

#define SIM_DISC_RADII 192

struct sim_disc {
    double G, mass, scale; /* Sigma = mass / (2 pi scale^2) exp(-R/scale) */
    double thickness;      /* z0 of sech^2(z/z0); 0: razor-thin */
    double softening;
    double toomre; /* the least Q between half a scale and four */
};

struct sim_disc_curve {
    struct sim_disc disc;
    double R[SIM_DISC_RADII];       /* from 0 to 16 scales, finer inside */
    double speed2[SIM_DISC_RADII];  /* circular speed squared */
    double kappa[SIM_DISC_RADII];   /* epicycle frequency */
    double sigma_R[SIM_DISC_RADII]; /* dispersions: radial, azimuthal, vertical */
    double sigma_phi[SIM_DISC_RADII];
    double sigma_z[SIM_DISC_RADII];
    double stream[SIM_DISC_RADII]; /* mean azimuthal velocity */
};

/* `rest`: the field of everything but the disc; NULL for none. */
void sim_disc_solve(const struct sim_disc *disc, const struct sim_potential *rest,
                    struct sim_disc_curve *out);
/* Draw star `body` with the purposes `purpose` .. `purpose + 2`; it circles about +z. */
void sim_disc_draw(const struct sim_disc_curve *curve, uint64_t seed, uint64_t body,
                   uint32_t purpose, double position[3], double velocity[3]);
/* Any of the curve's tables at R; beyond the last radius its last value. */
double sim_disc_at(const struct sim_disc_curve *curve, const double *table, double R);

struct sim_disc_desc {
    int64_t n;
    double mass, scale, thickness, toomre, G, softening;
    double centre; /* mass of one more body at the centre; 0: none */
    struct sim_placement placement;
};

/* Group "name"; with a central body "name.disc" and "name.centre". */
enum sim_status sim_disc_new(const struct sim_disc_desc *desc, struct sim_model *out);

#endif
