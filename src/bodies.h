/* bodies.h - an N-body system on a device.
 *
 * Bodies are added from models (model.h) in named groups; step() advances all of them with
 * a shared time step by kick-drift-kick leapfrog,
 *     v += a dt/2;  x += v dt;  a = A(x);  v += a dt/2
 * (second order, symplectic, time-reversible; Verlet 1967). Force law and softening: see
 * kernels/nbody.h. The time is start + steps * dt, never accumulated. */
#ifndef SIM_BODIES_H
#define SIM_BODIES_H

#include "model.h"
#include "../kernels/nbody.h"

struct sim_bodies_desc {
    double G;         /* gravitational constant, > 0 */
    double softening; /* length, >= 0 */
    double dt;        /* time step, finite, not 0 */
    double time;      /* at the start */
    int64_t coupling; /* enum sim_coupling */
    bool is_double;
    int64_t tile, unroll, per_thread, split; /* 0: chosen from n and the device */
};

struct sim_group {
    char name[SIM_GROUP_NAME];
    int64_t count;
};

struct sim_bodies {
    const struct sim_nbody_ops *ops;
    struct sim_bodies_desc desc;
    struct sim_nbody nbody;
    struct sim_buffer position, velocity, acceleration, group; /* capacity >= n */
    int64_t n;
    int64_t steps;       /* taken so far */
    bool has_force;      /* acceleration belongs to position */
    int group_count;
    struct sim_group groups[SIM_GROUPS_MAX];
    struct sim_buffer light; /* image.c keeps its light buffers here between pictures */
};

enum sim_status sim_bodies_new(struct sim_device *device, const struct sim_bodies_desc *desc,
                               struct sim_bodies *out);
void sim_bodies_free(struct sim_bodies *bodies);

/* Append the model's bodies (copied to the device; the model stays the caller's).
 * SIM_BAD_ARGUMENT: too many groups, a value that does not fit the precision. */
enum sim_status sim_bodies_add(struct sim_bodies *bodies, const struct sim_model *model);

/* Enqueue `count` >= 0 steps. Waits for nothing. */
enum sim_status sim_bodies_step(struct sim_bodies *bodies, int64_t count);
double sim_bodies_time(const struct sim_bodies *bodies);

/* The selection that a word means: a group's whole name ("A.disc"), its first part ("A"),
 * its last part after a dot ("halo"), or "all". 0 when nothing matches. */
uint64_t sim_bodies_select(const struct sim_bodies *bodies, const char *word);

/* Diagnostics; each waits for the device. */
enum sim_status sim_bodies_sums(struct sim_bodies *bodies, uint64_t groups,
                                struct sim_nbody_sums *out);
enum sim_status sim_bodies_potential(struct sim_bodies *bodies, double *out);
enum sim_status sim_bodies_radii(struct sim_bodies *bodies, uint64_t groups,
                                 const double *centre /* NULL: mass centre */,
                                 const double *fractions, int count, double *out);

/* Copy all bodies back to the host as a model (for saving and for tests). */
enum sim_status sim_bodies_read(struct sim_bodies *bodies, struct sim_model *out);

#endif
