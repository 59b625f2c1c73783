/* spherical.h - spherical potentials and the isotropic equilibria that live in them.
 *
 * A potential is tabulated on a logarithmic grid of radii and is built by adding masses
 * shell by shell, softened as the bodies will be, so that bodies drawn from it are in
 * equilibrium under the forces that really act. See spherical.c for the equations. */
#ifndef SIM_SPHERICAL_H
#define SIM_SPHERICAL_H

#include <stdint.h>

#include "status.h"

#define SIM_RADII 1024

struct sim_potential {
    double G, eps;
    double first, ratio; /* r[i] = first * exp(i * ratio) */
    double r[SIM_RADII];
    double psi[SIM_RADII];  /* minus the potential, > 0 */
    double pull[SIM_RADII]; /* minus the radial acceleration, >= 0 */
};

/* Hernquist's sphere (ApJ 356, 359, 1990), rho = M a / (2 pi r (r + a)^3), times
 * exp(-(r/cut)^2) where cut > 0; `mass` is what it holds after the cut. */
struct sim_hernquist {
    double mass, scale, cut;
};

/* An isotropic distribution function f(E) for one density in some potential. */
struct sim_isotropic {
    const struct sim_potential *potential;
    double within[SIM_RADII]; /* mass inside r[i], as a share of all */
    double f[SIM_RADII];      /* f(E = psi[i]), >= 0 */
    double bound[SIM_RADII];  /* the most that v^2 f reaches at r[i] */
};

/* An empty potential on radii from `inner` to `outer`. */
void sim_potential_start(struct sim_potential *p, double G, double eps, double inner,
                         double outer);
/* Add the field of a mass in concentric shells: within(context, r) is the mass inside r.
 * Additions of mass at the centre are a shell of radius 0. */
void sim_potential_add(struct sim_potential *p,
                       double (*within)(const void *context, double r),
                       const void *context);
void sim_potential_add_point(struct sim_potential *p, double mass);
double sim_potential_psi(const struct sim_potential *p, double r);
double sim_potential_pull(const struct sim_potential *p, double r);

/* Hernquist's sphere as tabulated mass, for sim_potential_add. */
struct sim_hernquist_mass {
    const struct sim_potential *grid;
    double within[SIM_RADII];
};
void sim_hernquist_tabulate(const struct sim_hernquist *sphere,
                            const struct sim_potential *grid,
                            struct sim_hernquist_mass *out);
double sim_hernquist_within(const void *hernquist_mass, double r);

/* Eddington's inversion for a Hernquist sphere in a potential (kept by reference).
 * SIM_BAD_ARGUMENT when no isotropic equilibrium exists (f would be negative). */
enum sim_status sim_isotropic_solve(struct sim_isotropic *out,
                                    const struct sim_potential *potential,
                                    const struct sim_hernquist *sphere);

/* Draw body `body` at the radius within which `share` of the mass lies, 0 < share < 1:
 * the caller says how radii are spread. Uses the purposes `purpose` .. `purpose + 2` of
 * sim_random_*. */
void sim_isotropic_draw(const struct sim_isotropic *iso, double share, uint64_t seed,
                        uint64_t body, uint32_t purpose, double position[3],
                        double velocity[3]);

#endif
