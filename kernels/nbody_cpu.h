/* nbody_cpu.h - what the files of the CPU backend of gravity share. Each is compiled for
 * both precisions. */
#ifndef NBODY_CPU_H
#define NBODY_CPU_H

#include "nbody.h"
#include "nbody_math.h"

/* One force evaluation: acceleration[i] for all i. */
struct nbody_force {
    int64_t n;
    const struct sim_real4 *position;
    struct sim_real4 *acceleration;
    real eps2;
    bool guarded;         /* eps too small to keep 1/r^3 finite: test each pair */
    bool charge;          /* scale by -G q_i, not by G */
    const real *softness; /* [n] of general softening (nbody_soft_math.h), or NULL */
    bool spline;
    real G;
    uint64_t *least; /* lowest index of a body that meets another at distance 0; guarded
                        evaluations without softening lower it */
};

/* The same loop compiled for different processors; the bits are the same. */
struct nbody_cpu_variant {
    const char *name;
    bool (*supported)(void);
    /* Bodies first <= i < last; first is a multiple of NBODY_BLOCK. Returns the lowest
     * index met at distance zero, or UINT64_MAX. */
    uint64_t (*block)(const struct nbody_force *, int64_t first, int64_t last);
};

#define NBODY_BLOCK 64  /* target bodies that share one pass over the sources */
#define NBODY_TILE  256 /* sources summed apart before they join the total */

/* Best first; ends with a nameless entry. */
#define nbody_cpu_variants SIM_TYPED(nbody_cpu_variants)
extern const struct nbody_cpu_variant nbody_cpu_variants[];

/* The force with a given variant on `threads` threads; SIM_INTERRUPTED leaves part
 * undone. */
#define nbody_cpu_force SIM_TYPED(nbody_cpu_force)
enum sim_status nbody_cpu_force(const struct nbody_force *force,
                                const struct nbody_cpu_variant *variant, int threads);

/* Symmetric pairs (nbody_cpu_pairs.c), of one Plummer length or none: the variant (0: the
 * best; a variant that this processor lacks stands for the next), and a workspace of so
 * many bytes. */
#define nbody_cpu_pairs       SIM_TYPED(nbody_cpu_pairs)
#define nbody_cpu_pairs_bytes SIM_TYPED(nbody_cpu_pairs_bytes)
#define nbody_cpu_pairs_name  SIM_TYPED(nbody_cpu_pairs_name)
enum sim_status nbody_cpu_pairs(const struct nbody_force *, int variant, int threads,
                                void *space);
size_t nbody_cpu_pairs_bytes(int64_t n);
const char *nbody_cpu_pairs_name(int variant); /* NULL past the last, the plain one */

/* Operations of the table that live in nbody_cpu_diag.c; contracts in nbody.h. */
#define nbody_sums_cpu      SIM_TYPED(nbody_sums_cpu)
#define nbody_potential_cpu SIM_TYPED(nbody_potential_cpu)
#define nbody_radii_cpu     SIM_TYPED(nbody_radii_cpu)
#define nbody_check_cpu     SIM_TYPED(nbody_check_cpu)
#define nbody_centre_cpu    SIM_TYPED(nbody_centre_cpu)
#define nbody_hermite_cpu   SIM_TYPED(nbody_hermite_cpu) /* nbody_cpu_hermite.c */

/* Close bodies become one (nbody_cpu_merge.c). `jerk`: Hermite's, else NULL; `space`:
 * sim_nbody_merge_bytes; *any: something did. */
#define nbody_merge_cpu SIM_TYPED(nbody_merge_cpu)
enum sim_status nbody_merge_cpu(struct sim_nbody *, void *jerk, void *space, bool *any);

/* v += h a without a change of the total momentum (nbody_cpu_momentum.c). */
#define nbody_kick_held_cpu SIM_TYPED(nbody_kick_held_cpu)
enum sim_status nbody_kick_held_cpu(struct sim_nbody *, double h);

enum sim_status nbody_sums_cpu(struct sim_nbody *, uint64_t groups,
                               struct sim_nbody_sums *);
enum sim_status nbody_potential_cpu(struct sim_nbody *, double *);
enum sim_status nbody_radii_cpu(struct sim_nbody *, uint64_t groups, const double *centre,
                                const double *fractions, int count, double *);
enum sim_status nbody_check_cpu(struct sim_nbody *, void *);
enum sim_status nbody_centre_cpu(struct sim_nbody *, uint64_t groups, void *);
enum sim_status nbody_hermite_cpu(struct sim_nbody *, struct sim_hermite *);

#endif
