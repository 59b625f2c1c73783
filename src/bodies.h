/* bodies.h - an N-body system on a device.
 *
 * Bodies are added from models (model.h) in named groups; step() advances all of them
 * with a shared time step by a scheme of integrator.h, forward or backward. Force law and
 * softening: see kernels/nbody.h. The time is start + steps * dt, never accumulated,
 * except with adaptive steps. advance() shows the bodies at any time between two steps
 * without changing the orbit: the last step before it is continued on a copy. */
#ifndef SIM_BODIES_H
#define SIM_BODIES_H

#include "integrator.h"
#include "model.h"

struct sim_bodies_desc {
    double G;               /* gravitational constant, > 0 */
    double softening;       /* length, >= 0 */
    int64_t softening_kind; /* enum sim_softening */
    double dt;              /* time step, finite, not 0 */
    double time;            /* at the start */
    int64_t coupling;       /* enum sim_coupling */
    int64_t scheme;         /* enum sim_scheme */
    int64_t corrections;    /* Hermite: 1 or more */
    double eta;             /* Hermite: > 0: adaptive steps, at most |dt| */
    double merge_distance;  /* > 0: bodies closer than it become one, after each step */
    bool is_double, mixed;  /* mixed: is_double, too; total momentum does not change */
    bool reversible;        /* double: every step can be undone to the last bit */
    int64_t tile, unroll, per_thread, split; /* 0: chosen from n and the device */
    int64_t pairs;                           /* enum sim_pairs */
};

struct sim_group {
    char name[SIM_GROUP_NAME];
    int64_t count;
};

/* Of all that was added, of components: what units and grains are chosen from, and
 * whether forces fit single precision. */
struct sim_bodies_scale {
    double mass, heaviest; /* inertia, without sign: sum and largest */
    double momentum, speed, extent, source, strongest; /* largest; of w: sum, largest */
};

struct sim_bodies {
    const struct sim_nbody_ops *ops;
    struct sim_bodies_desc desc;
    struct sim_nbody nbody;
    struct sim_buffer position, velocity, acceleration, group; /* capacity >= n */
    int64_t n;      /* added; of these some may have merged */
    int64_t steps;  /* taken so far */
    bool has_force; /* acceleration belongs to position */
    bool sifted;    /* what was added has been looked through for close bodies */
    int group_count;
    struct sim_group groups[SIM_GROUPS_MAX];
    struct sim_bodies_scale scale;
    struct sim_hermite hermite;
    struct sim_buffer jerk;
    double clock; /* adaptive: the time of the orbit */
    bool ahead;   /* advance() shows a time between two steps; the orbit's state is */
    double shown; /* in orbit[]; the time that is shown */
    struct sim_buffer orbit[4]; /* position, velocity, acceleration, jerk */
    struct sim_buffer found;    /* one struct sim_nbody_check */
    struct sim_buffer light; /* image.c keeps its light buffers here between pictures */
};

enum sim_status sim_bodies_new(struct sim_device *device,
                               const struct sim_bodies_desc *desc,
                               struct sim_bodies *out);
void sim_bodies_free(struct sim_bodies *bodies);

/* Append the model's bodies (copied to the device; the model stays the caller's).
 * SIM_BAD_ARGUMENT: too many groups, a value that does not fit the precision. */
enum sim_status sim_bodies_add(struct sim_bodies *bodies, const struct sim_model *model);

/* bodies_momentum.c: take account of the model in `scale`, and choose the unit of
 * momentum (mixed precision) and the grains of positions and velocities (reversible) for
 * what is there and the model; round a body to them; and, when they have changed, all
 * bodies before `n` anew (waits). */
void sim_bodies_choose_units(struct sim_bodies *bodies, const struct sim_model *model);
void sim_bodies_round(const struct sim_bodies *bodies, double mass, double x[3],
                      double v[3]);
enum sim_status sim_bodies_round_all(struct sim_bodies *bodies, int64_t n);

/* Another softening length for some groups, or, with SIM_ALL_GROUPS, for all that are and
 * come. A pair takes the greater of its two. */
enum sim_status sim_bodies_soften(struct sim_bodies *bodies, uint64_t groups,
                                  double length);

/* Lengths that are all the same are one length, for which there are faster loops; of
 * these some want numbers that are not too large or small (`wide` of struct sim_nbody).
 * Called before each use, as a state may have been put back. */
void sim_bodies_settle_softening(struct sim_bodies *bodies);

/* Enqueue `count` steps, backward if negative. Waits for nothing, unless the scheme is
 * Hermite's. After advance() it goes on from the orbit, not from what was shown. */
enum sim_status sim_bodies_step(struct sim_bodies *bodies, int64_t count);
/* Show the bodies at `time`: whole steps up to it, the rest on a copy. */
enum sim_status sim_bodies_advance(struct sim_bodies *bodies, double time);
double sim_bodies_time(const struct sim_bodies *bodies);

/* The selection that a word means: a group's whole name ("A.disc"), its first part ("A"),
 * its last part after a dot ("halo"), or "all". 0 when nothing matches. */
uint64_t sim_bodies_select(const struct sim_bodies *bodies, const char *word);

/* How many there are: those added, less those merged away; may wait. */
enum sim_status sim_bodies_count(struct sim_bodies *bodies, int64_t *out);

/* Diagnostics; each waits for the device. SIM_DIVERGED when bodies without softening met
 * at one place. */
enum sim_status sim_bodies_sums(struct sim_bodies *bodies, uint64_t groups,
                                struct sim_nbody_sums *out);
enum sim_status sim_bodies_potential(struct sim_bodies *bodies, double *out);
enum sim_status sim_bodies_radii(struct sim_bodies *bodies, uint64_t groups,
                                 const double *centre /* NULL: mass centre */,
                                 const double *fractions, int count, double *out);

/* SIM_DIVERGED, too, where a body is not finite; waits. */
enum sim_status sim_bodies_check(struct sim_bodies *bodies);

/* The kernel of the forces of kick-drift schemes; hermite4 has its own, of no choice. */
enum sim_status sim_bodies_kernel(struct sim_bodies *bodies,
                                  struct sim_nbody_kernel *out);

/* Copy all bodies that there are back to the host as a model (for saving and for tests).
 */
enum sim_status sim_bodies_read(struct sim_bodies *bodies, struct sim_model *out);

#endif
