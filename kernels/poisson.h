/* poisson.h - what a backend must be able to do for the pressure equation.
 *
 * On cells, in flux form and positive definite but for the constants of closed regions:
 *
 *     sum over faces  c_f (x - x_neighbour)  =  b,     c = openness * length / distance
 *
 * A closed face has c = 0; at a face with a prescribed pressure the neighbour is a ghost
 * that stays 0. Solved by flexible conjugate gradients (Y. Notay, SIAM J. Sci. Comput.
 * 22, 2000) preconditioned by one multigrid V-cycle: two damped Jacobi sweeps before and
 * after (the roots of Chebyshev's polynomial on [1/2, 2], the part of the spectrum of the
 * scaled operator that a coarse grid cannot see), residuals summed over a coarse cell's
 * fine ones, corrections interpolated linearly where the faces between are open. Jacobi
 * and not red-black sweeps, so that a mirrored problem gives the mirrored bits, vectors
 * are whole and periodic sides of odd length need no third colour.
 *
 * In an empty rectangle between closed or periodic sides the GPU may do it by transforms
 * at one go.
 *
 * Every level covers two cells of the finer one along an axis that couples as strongly as
 * the other one or nearly so, and one along an axis that couples more weakly.
 *
 * Layout of all arrays of a level: element (i, j) at data + j*pitch + i, with a ring of
 * ghosts, -1 <= i <= nx, -1 <= j <= ny, that is 0 or, on periodic sides, a copy of the
 * opposite cells. cx[i] is the west face of cell i and cx[nx] the last one's east face.
 *
 * Decisions are taken on the device: every pass looks at control->done. */
#ifndef POISSON_H
#define POISSON_H

#include "../src/device.h"

#define SIM_POISSON_LEVELS 40 /* enough for any grid: each has half the cells */
#define SIM_POISSON_COARSE 4  /* a level with both sides at most this is the last */

#define SIM_POISSON_SWEEPS 12 /* double sweeps there */
#define SIM_POISSON_SUMS   16 /* doubles a tile of 32 x 32 cells */

/* The last two are multigrid's cycles after a transform, where there is one. */
enum sim_poisson_method {
    SIM_MULTIGRID,
    SIM_JACOBI,
    SIM_SOR,
    SIM_TRANSFORM,
    SIM_AUTO,
};

/* On the device. Doubles, so that both precisions and both backends share it. */
struct sim_poisson_control {
    double limit;    /* stop when max |residual| is at or below it */
    double residual; /* max |b - A x| now */
    double best;
    double first; /* before the solve */
    double rho, alpha, beta;
    int64_t done;       /* passes do nothing; also while a step is passed over */
    int64_t cycles;     /* of this solve */
    int64_t total;      /* of all */
    int64_t flat;       /* cycles in a row that gained nothing */
    int64_t stalled;    /* solves that ended above their limit */
    int64_t transforms; /* of all solves */
    uint64_t met;       /* how often blocks came to a barrier (GPU) */
};

struct sim_poisson_level {
    int64_t nx, ny, pitch;
    int fx, fy; /* fine cells of this level in a cell of the next, along x and y */
    void *cx, *cy, *di; /* coefficients; 1 over their sum, 0 in a cell without any */
    void *b, *x, *t;
};

/* The direct solve of an empty rectangle (GPU): a table and two plans of cuFFT, which are
 * made in src/flow_transform.c; formulas in poisson_transform_math.h. */
struct sim_poisson_transform {
    int forward, inverse; /* plans */
    int (*run_forward)(int plan, void *from, void *to);
    int (*run_inverse)(int plan, void *from, void *to);
    void *work, *spectrum;       /* [ny][nx] reals, [ny][nx/2 + 1] complex numbers */
    const void *mode_x, *mode_y; /* struct poisson_mode, [nx/2 + 1] and [ny/2 + 1] */
    int64_t *count;              /* a maximum under way, blocks that gave theirs; 0 */
    double across, up;           /* coefficients of open faces */
};

struct sim_poisson_system {
    struct sim_device *device;
    bool periodic_x, periodic_y;
    int level_count;
    struct sim_poisson_level level[SIM_POISSON_LEVELS]; /* [0].b holds the residual */
    void *p, *q, *solution;                             /* as arrays of level 0 */
    double *rows; /* device: maxima of rows, [ny + 3][3] */
    double *sums; /* device: partial sums, SIM_POISSON_SUMS a tile (poisson_math.h) */
    int64_t sum_count;
    int64_t together; /* blocks that the device runs at once; 0: not asked yet */
    struct sim_poisson_control *control;
    enum sim_poisson_method method;
    double omega;   /* SOR */
    int iterations; /* most cycles; of Jacobi and SOR: exactly so many sweeps */
    const struct sim_poisson_transform *transform; /* before the cycles; NULL: none */
};

#endif
