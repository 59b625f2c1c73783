/* nbody_cuda_push.cuh - kicks and drifts on the GPU: what nbody_cuda.cu gathers between
 * two forces, and nbody_cuda_push.cu does. */
#ifndef NBODY_CUDA_PUSH_CUH
#define NBODY_CUDA_PUSH_CUH

#include "nbody_cuda.h"

#define PUSHES_MAX 8

struct push {
    bool drift; /* x += h v, else v += h a */
    real h, grain;
};

/* Of kicks that hold the total momentum: R, and the sum of all c but the anchor's, for
 * each push (nbody_momentum_math.h). All 0 between two launches of nbody_push_bodies. */
struct nbody_residue {
    unsigned long long anchor, weight, arrived; /* anchor: its key; arrived: blocks */
    unsigned long long kick[PUSHES_MAX][3], taken[PUSHES_MAX][3];
};

struct body_args {
    struct sim_real4 *position, *velocity, *acceleration;
    const struct sim_real4 *partial; /* plain: [split][n], when `finish` */
    unsigned long long *least;       /* where to note bodies that met another; or NULL */
    const uint8_t *group;            /* where bodies merge: those gone stay; or NULL */
    int64_t n;
    int split, pushes;
    bool finish, charge;
    real G;
    struct nbody_rows rows; /* symmetric: the sums, together with */
    const double *running;  /* [3][padded], or NULL */
    double k;               /* G in the units of the rows */
    struct nbody_hold hold;
    struct nbody_residue *residue; /* on the device; NULL: no momentum is held */
    struct push push[PUSHES_MAX];
};

/* Enqueue: finish the acceleration from partials, or from rows, if asked, then all
 * pushes. */
#define nbody_push_bodies SIM_TYPED(nbody_push_bodies)
enum sim_status nbody_push_bodies(struct sim_device *, struct body_args, bool rows);

#endif
