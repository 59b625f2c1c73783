/* diffusion.h - what a backend must be able to do for diffusion and reaction on a grid.
 *
 *     du/dt = div(D grad u) + sum_k w_k(t) S_k + f(u, v),      and the same for v
 *
 * Layout: a species is an array of `real`, cell (i, j) of member k at
 * (k*ny + j)*pitch + i; pitch is a multiple of SIM_DIFFUSION_ALIGN, and what stands
 * between nx and pitch is nobody's. Several members are independent systems of equal
 * parameters.
 *
 * Boundaries: the cell outside a wall has the value
 *     g = inner u_0 + second u_1 + base + driven w(t),
 * u_0 the cell at the wall and u_1 the next one inward (u_0 again on a line of one cell);
 * the four numbers are kept for each cell along each side. Every kind of wall is such a
 * row of numbers (src/diffusion.c), so that a kernel knows one rule and no kinds.
 *
 * Signals: w_k at a step are a row of SIM_SIGNALS reals; step number n of a call reads
 * row n. The last two slots hold dt times the constant sources of u and v. */
#ifndef DIFFUSION_H
#define DIFFUSION_H

#include "../src/device.h"

#define SIM_DIFFUSION_ALIGN  32 /* elements */
#define SIM_SPECIES_MAX      2
#define SIM_SIGNALS          16
#define SIM_SIGNAL_USER      14 /* slots 0 .. 13: signals; 0 is always 1 */
#define SIM_SIGNAL_SOURCE    14 /* slots 14, 15: dt * constant source of u, v */
#define SIM_SOURCE_FIELDS    8
#define SIM_REACTION_NUMBERS 6

enum sim_side { SIM_WEST, SIM_EAST, SIM_SOUTH, SIM_NORTH, SIM_SIDES };

enum sim_reaction {
    SIM_REACTION_NONE,
    SIM_DECAY,
    SIM_FISHER,
    SIM_BISTABLE,
    SIM_ALLEN_CAHN,
    SIM_GRAY_SCOTT, /* from here on two species */
    SIM_FITZHUGH_NAGUMO,
    SIM_SCHNAKENBERG,
    SIM_BRUSSELATOR,
    SIM_BARKLEY,
    SIM_REACTIONS
};

static inline int sim_reaction_species(enum sim_reaction reaction)
{
    return reaction >= SIM_GRAY_SCOTT ? 2 : 1;
}

/* How steps are done; every way gives the same bits. */
enum sim_diffusion_variant {
    SIM_DIFFUSION_AUTO,    /* by size, from a measured table */
    SIM_DIFFUSION_PLAIN,   /* one pass over memory a step */
    SIM_DIFFUSION_BLOCKED, /* several steps a pass */
    SIM_DIFFUSION_SMALL,   /* one multiprocessor holds a member for all steps; CUDA */
    SIM_DIFFUSION_CLUSTER, /* a cluster of multiprocessors does; CUDA */
};

/* The wall's numbers; see above. In device tables: four reals in this order. */
struct sim_wall {
    double inner, second, base, driven;
};

struct sim_source_field {
    const void *field; /* real, pitch and rows of one member; all members share it */
    int species, signal;
};

struct sim_diffusion_system {
    struct sim_device *device;
    int64_t nx, ny, pitch, count;
    int species;
    void *now[SIM_SPECIES_MAX], *next[SIM_SPECIES_MAX]; /* ops->advance swaps them */

    double dt;
    double rate_x[SIM_SPECIES_MAX], rate_y[SIM_SPECIES_MAX]; /* D dt/dx^2, D dt/dy^2 */
    /* Not NULL: D of each cell, as real, with the pitch of a member; the rates are then
       dt/dx^2 and dt/dy^2, and a face has the harmonic mean of its two cells. */
    const void *conductance[SIM_SPECIES_MAX];
    const uint8_t *mask; /* nx*ny, packed; not 0: takes no part; NULL: all do */

    enum sim_reaction reaction;
    double number[SIM_REACTION_NUMBERS]; /* see reaction_math.h */

    bool has_source; /* slots 14, 15 are to be added */
    int source_fields;
    struct sim_source_field source[SIM_SOURCE_FIELDS];

    bool periodic_x, periodic_y;
    /* Per species, device tables: west [ny], east [ny], south [nx], north [nx] of four
       reals a cell, and of the signal's number. Where a side is uniform the wall itself.
     */
    const void *edge[SIM_SPECIES_MAX];
    const uint8_t *edge_signal[SIM_SPECIES_MAX];
    bool uniform[SIM_SPECIES_MAX][SIM_SIDES];
    struct sim_wall wall[SIM_SPECIES_MAX][SIM_SIDES];
    uint8_t wall_signal[SIM_SPECIES_MAX][SIM_SIDES];

    const void
        *signal; /* device: rows of SIM_SIGNALS reals, the first for the next step */
    int64_t signal_stride; /* SIM_SIGNALS, or 0 when one row serves all steps */

    struct sim_diffusion_tuning { /* 0: the measured best */
        enum sim_diffusion_variant variant;
        int depth;  /* steps a pass (blocked), between exchanges (cluster) */
        int rows;   /* rows a warp (CUDA) or a tile (CPU) takes at a time */
        int cells;  /* cells of a row that a lane takes (CUDA, blocked) */
        int waves;  /* rows such that the GPU is filled so many times (CUDA, blocked) */
        int blocks; /* of a cluster: 8 or 16 */
    } tuning;
};

/* Linear problems in their eigenmodes: mode (i, j) has a = ax[i] + ay[j], where an
 * explicit step multiplies it by 1 - a. */
enum sim_modal_scheme {
    SIM_MODAL_EULER,          /* (1 - a)^n */
    SIM_MODAL_CRANK_NICOLSON, /* ((1 - a/2)/(1 + a/2))^n */
    SIM_MODAL_ADI,   /* the same of ax times the same of ay (Peaceman-Rachford) */
    SIM_MODAL_EXACT, /* exp(-n a) */
};

struct sim_modal {
    enum sim_modal_scheme scheme;
    int64_t steps, nx, ny;
    const double *ax, *ay; /* device */
    double *state;         /* device, [ny][nx]: made that of `steps` steps later */
    const double *drive;   /* device, [ny][nx]: what a step adds; NULL */
};

/* Half a step of alternating directions, or a part of an iteration. With A the operator
 * along `axis` and B that across it, both with half of a decay, solves
 *     (alpha - A/2) to = beta from + B/2 from + drive/2 + extra
 * line by line. drive: what the walls give by themselves, with the rows of signals
 * `along` and `across`, and the sources with `source`. Cells that take no part keep their
 * value.
 */
struct sim_diffusion_sweep {
    int species, axis;
    double alpha, beta;
    const void *from;                    /* like now[], all members */
    void *to;                            /* another array */
    const void *extra;                   /* likewise; NULL: 0 */
    const void *along, *across, *source; /* rows on the device; source NULL: no drive */
    void *scratch;                       /* two more arrays, where the ops want them */
};

/* The modes of a line of n cells, on the host: mode m at cell k is
 *     Re(phase_m exp(2 pi i bin_m k/period)),
 * its part in u is scale_m sum_k weight_k u_k of it. */
struct sim_modal_line {
    int64_t n, period;
    int64_t *bin;
    double *phase_re, *phase_im, *weight, *scale;
};

struct sim_diffusion_ops {
    const char *name;
    size_t real_bytes;
    bool sweep_scratch; /* sweep needs scratch */

    /* Do `steps` explicit Euler steps. Enqueues. now[] holds the result, next[] is
     * overwritten. SIM_BAD_ARGUMENT when the asked variant cannot do this system. */
    enum sim_status (*advance)(struct sim_diffusion_system *, int64_t steps);
    /* The variant and depth that advance would take; text for a table or a picture. */
    enum sim_status (*describe)(const struct sim_diffusion_system *, int64_t steps,
                                char *text, size_t size);

    /* For diffusion_implicit.c. All members; enqueue. The half step: to = from + L/2 from
     * + drive by one row, L = A + B. Reaction: now[] over `duration`, by Heun's rule. */
    enum sim_status (*sweep)(struct sim_diffusion_system *,
                             const struct sim_diffusion_sweep *);
    enum sim_status (*half)(struct sim_diffusion_system *, int species, const void *from,
                            const void *row, void *to);
    enum sim_status (*react)(struct sim_diffusion_system *, double duration);
    /* The largest |rhs - (u - L/2 u)| and the largest |u|; NaN where there is one. Waits.
     */
    enum sim_status (*residual)(struct sim_diffusion_system *, int species, const void *u,
                                const void *rhs, double *residual, double *size);

    /* For diffusion_jump.c; arrays of double on the device, packed. A member to double
     * and back; c = a b with a [m][k], b [k][n], each element summed in ascending order
     * of k. */
    enum sim_status (*widen)(struct sim_diffusion_system *, int species, int64_t member,
                             double *out);
    enum sim_status (*narrow)(struct sim_diffusion_system *, int species, int64_t member,
                              const double *in);
    enum sim_status (*product)(struct sim_device *, int64_t m, int64_t n, int64_t k,
                               const double *a, const double *b, double *c);
    enum sim_status (*modal)(struct sim_device *, const struct sim_modal *);
    /* An array [y->n][x->n] to the modes of both axes, or back, in place; NULL: there is
     * no fast way, products are to do it. */
    enum sim_status (*transform)(struct sim_device *, const struct sim_modal_line *x,
                                 const struct sim_modal_line *y, bool back,
                                 double *state);
};

const struct sim_diffusion_ops *sim_diffusion_ops(enum sim_device_kind kind,
                                                  bool is_double);
extern const struct sim_diffusion_ops sim_diffusion_ops_cpu_f32,
    sim_diffusion_ops_cpu_f64;
const struct sim_diffusion_ops *sim_diffusion_ops_cuda(bool is_double);

/* modal_cpu.c, for both precisions: transform. */
enum sim_status sim_modal_transform_cpu(struct sim_device *,
                                        const struct sim_modal_line *,
                                        const struct sim_modal_line *, bool back,
                                        double *state);

#endif
