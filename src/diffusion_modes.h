/* diffusion_modes.h - the eigenmodes of one axis, for diffusion_jump.c. */
#ifndef DIFFUSION_MODES_H
#define DIFFUSION_MODES_H

#include "diffusion.h"

/* One axis; all arrays are the host's, of n, and owned. */
struct sim_modes {
    struct sim_modal_line line;
    int64_t twice_beyond; /* the west wall's extremum or zero, in half cells before 0 */
    bool even; /* cosines, where both walls are alike or the axis not periodic */
    bool periodic;
    double *value; /* a_m for r = 1 */
    void *memory;
};

/* Has a wall of these numbers modes in closed form? */
bool sim_modes_known(const struct sim_wall *wall);

/* The modes of n cells between two walls that have them. continuous: the eigenvalues are
 * those of the differential equation. SIM_HOST_MEMORY. */
enum sim_status sim_modes_make(int64_t n, bool periodic, const struct sim_wall *low,
                               const struct sim_wall *high, bool continuous,
                               struct sim_modes *out);
void sim_modes_free(struct sim_modes *modes);

/* As matrices of n by n: mode m of u is sum_k forward[m][k] u[k], and u[k] is sum_m
 * back[k][m] of it. SIM_HOST_MEMORY. */
enum sim_status sim_modes_matrices(const struct sim_modes *modes, double *forward,
                                   double *back);

#endif
