/* nbody.h - what a backend must be able to do for all-pairs gravity.
 *
 * Layout: position[i] = (x, y, z, m), velocity[i] = (vx, vy, vz, 0), acceleration[i] =
 * (ax, ay, az, 0), each an array of struct sim_real4 in the ops' precision, on the
 * device. group[i] is a number below SIM_GROUPS_MAX, or SIM_GONE for a body that was
 * merged away: it has no mass, moves no more and is in no selection. A selection of
 * groups is a bit mask.
 *
 * The algorithm (which kicks and drifts make a step) is data from src/bodies.c; the loop
 * over steps belongs to the backend, since that is where fusion and graphs win. */
#ifndef NBODY_H
#define NBODY_H

#include "../src/device.h"

#define SIM_GROUPS_MAX 64
#define SIM_ALL_GROUPS UINT64_MAX
#define SIM_GONE       255

/* How a body answers to the field of its sources (the w of positions). */
enum sim_coupling {
    SIM_GRAVITY, /* a_i =  G     sum_j m_j r_ij / (r_ij^2 + eps^2)^(3/2); inertia m_i */
    SIM_CHARGE,  /* a_i = -G q_i sum_j q_j r_ij / (r_ij^2 + eps^2)^(3/2); inertia 1 */
};

/* How a pair's force is softened: nbody_math.h, nbody_soft_math.h. */
enum sim_softening { SIM_PLUMMER, SIM_SPLINE };

/* One stage of a step. KICK: v += coefficient*dt * a. DRIFT: x += coefficient*dt * v.
 * FORCE: a = A(x). MERGE: bodies closer than merge_distance become one
 * (nbody_merge_math.h). Kick-drift-kick is {KICK .5} {DRIFT 1} {FORCE} {KICK .5}. */
enum sim_stage_kind { SIM_KICK, SIM_DRIFT, SIM_FORCE, SIM_MERGE };

struct sim_stage {
    enum sim_stage_kind kind;
    double coefficient;
};

/* How the pairs are met. */
enum sim_pairs {
    SIM_PAIRS_AUTO,
    SIM_PAIRS_SYMMETRIC, /* each pair computed once, for both; not general softening */
    SIM_PAIRS_PLAIN,     /* each body meets all others */
    SIM_PAIRS_RESIDENT,  /* CUDA: plain, many steps in one launch; small systems */
};

/* Choices of a kernel; 0 leaves one to the backend's measured best. SIM_PAIRS_AUTO means
 * plain where a number is given. */
struct sim_nbody_tuning {
    int tile, unroll, per_thread, split;
    enum sim_pairs pairs;
};

/* What a backend sees of one system. Arrays belong to src/bodies.c, except `scratch`,
 * which the backend grows as it needs (sim_nbody_scratch) and bodies.c frees. */
struct sim_nbody {
    struct sim_device *device;
    int64_t n;
    void *position, *velocity, *acceleration; /* struct sim_real4[n] */
    uint8_t *group;                           /* [n] */
    enum sim_coupling coupling;
    double G, eps; /* eps: softening length, >= 0 */
    enum sim_softening softening;
    bool by_group;                    /* lengths are those of the groups, not eps */
    double group_eps[SIM_GROUPS_MAX]; /* a pair takes the greater of its two */
    double dt;                        /* may be negative: backward in time */
    double merge_distance;   /* > 0: of SIM_MERGE and Hermite's merging; bodies at one
                                place are then no error */
    double grain_x, grain_v; /* > 0, double only: positions and velocities are whole
                                multiples of these powers of two, see nbody_push */
    bool wide;  /* masses or lengths that a pair's force in single or in scaled lengths
                   might not hold: they are met by other loops */
    bool mixed; /* double arrays; a backend may compute the force of a pair in single
                   from differences that are good to single, if sums are in double */
    double momentum_unit, momentum_least; /* unit > 0, double only: kicks do not change
                    the total momentum, see nbody_momentum_math.h */
    struct sim_buffer scratch;
    struct sim_nbody_tuning tuning;
};

/* Sums over a selection of groups, in double, in a fixed order. About the origin.
 * With SIM_CHARGE inertia is 1 and `mass` is the number of bodies. */
struct sim_nbody_sums {
    double count, mass;
    double centre[3];           /* sum m x / sum m; the plain mean where sum m is 0 */
    double momentum[3];         /* sum m v; exact of bodies whose momentum is held */
    double angular_momentum[3]; /* sum m x cross v */
    double kinetic;             /* sum m v^2 / 2 */
    double outgrown;            /* bodies too fast to hold their momentum exactly */
};

/* The outcome of `check`: written on the device, read with the next picture. */
struct sim_nbody_check {
    int64_t bad; /* the lowest index with a NaN or infinity; INT64_MAX: none */
    int64_t
        coincident; /* lowest index that meets another body at distance 0 without
                       softening, seen by any force since the start; INT64_MAX: none */
};

/* A run of Hermite's fourth-order scheme (Makino and Aarseth 1992, PASJ 44, 141): predict
 * x, v to third order, evaluate a and its derivative j, correct; the last two
 * `corrections` times, with an evaluation each, and evaluate once more for the next step.
 */
struct sim_hermite {
    void *jerk; /* struct sim_real4[2][n]: the jerk, which belongs to the acceleration,
                   and what the positions lost to rounding; begins as zeros */
    int corrections; /* >= 1 */
    bool merging;  /* close bodies become one after each step, and before a fresh first */
    bool fresh;    /* acceleration and jerk must be found first; after the run false */
    double eta;    /* 0: all steps are dt; else at most |dt|, and Aarseth's length (see
                      nbody_hermite_math.h), the least of all bodies */
    double next;   /* adaptive: length of the next step */
    double time;   /* in and out */
    double until;  /* adaptive: stop before the step that would pass it */
    int64_t steps; /* at most; out: taken */
};

/* The kernel that finds the forces, for tables of measurements. Numbers that it does not
 * have, or that nobody knows, are 0. */
struct sim_nbody_kernel {
    enum sim_pairs pairs;                /* never SIM_PAIRS_AUTO */
    int tile, unroll, per_thread, split; /* as in struct sim_nbody_tuning */
    int threads;                         /* CUDA: a block */
    int registers;                       /* CUDA: a thread */
    int shared;                          /* CUDA: bytes of shared memory a block */
    double occupancy; /* CUDA: warps that fit a multiprocessor, over its most */
};

struct sim_nbody_ops {
    const char *name;  /* "cpu single", "cuda double", ... */
    size_t real_bytes; /* 4 or 8 */

    /* Run the stages `steps` times. Enqueues and returns (the CPU polls for interrupts).
     * The bits do not depend on how many steps are asked for at once. */
    enum sim_status (*advance)(struct sim_nbody *, const struct sim_stage *stages,
                               int stage_count, int64_t steps);
    /* The following three wait for their result. */
    enum sim_status (*sums)(struct sim_nbody *, uint64_t groups,
                            struct sim_nbody_sums *out);
    /* W = -G sum_{i<j} m_i m_j / sqrt(r_ij^2 + eps^2)   (+ for SIM_CHARGE; the spline's
     * potential for SIM_SPLINE): each pair once, i = j left out, terms and sums in
     * double. */
    enum sim_status (*potential)(struct sim_nbody *, double *out);
    /* For each fraction f in (0,1]: the smallest distance from `centre` within which the
     * selection holds at least f of its mass (of its number, if massless or SIM_CHARGE).
     */
    enum sim_status (*radii)(struct sim_nbody *, uint64_t groups, const double centre[3],
                             const double *fractions, int count, double *out);
    /* Enqueue a look for NaN and infinity; writes one struct sim_nbody_check to device
     * memory `out`, waits for nothing. */
    enum sim_status (*check)(struct sim_nbody *, void *out);
    /* Enqueue the mass centre of a selection into device memory: double out[3]. */
    enum sim_status (*centre)(struct sim_nbody *, uint64_t groups, void *out);
    /* Hermite steps; waits. Both backends give the same bits. */
    enum sim_status (*hermite)(struct sim_nbody *, struct sim_hermite *);
    /* What `advance` would take for steps of so many stages. */
    enum sim_status (*describe)(const struct sim_nbody *, int stage_count,
                                struct sim_nbody_kernel *out);
};

/* The tables, NULL where a build or a machine has no such backend. */
const struct sim_nbody_ops *sim_nbody_ops(enum sim_device_kind kind, bool is_double);
extern const struct sim_nbody_ops sim_nbody_ops_cpu_f32, sim_nbody_ops_cpu_f64;
const struct sim_nbody_ops *sim_nbody_ops_cuda(bool is_double); /* NULL in no_cuda.c */

/* Make scratch at least `bytes` large. Its first SIM_NBODY_KEPT bytes survive and begin
 * as all ones (word 0: the lowest index met at distance zero so far); the rest is lost.
 */
#define SIM_NBODY_KEPT 64
enum sim_status sim_nbody_scratch(struct sim_nbody *, size_t bytes);
/* What a merge needs of it, the kept part apart. */
enum sim_status sim_nbody_merge_bytes(int64_t n, size_t *bytes);

/* One Plummer length for all is what the fast loops know; else the pairs are met plainly,
 * by loops of their own. */
static inline bool sim_nbody_is_general(const struct sim_nbody *nbody)
{
    return nbody->softening != SIM_PLUMMER || nbody->by_group;
}

/* For the backends: is eps zero, or its square a normal number? And the sums of
 * nbody_math.h (NBODY_SUMS of them) in their public form. */
enum sim_status sim_nbody_check_eps(double eps, bool is_double);
void sim_nbody_sums_finish(const struct sim_nbody *, const double *raw,
                           struct sim_nbody_sums *out);

#endif
