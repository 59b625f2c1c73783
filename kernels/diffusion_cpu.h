/* diffusion_cpu.h - what the files of the CPU backend of diffusion share; each is
 * compiled for both precisions. */
#ifndef DIFFUSION_CPU_H
#define DIFFUSION_CPU_H

#include "diffusion.h"
#include "diffusion_math.h"

/* Below this many cells a parallel loop costs more than it gives. */
#define DIFFUSION_PARALLEL_FROM 8192

/* A stretch of a row and its neighbours, each pointer at the stretch's first cell. The
 * cells before the first and after the last of c are read too. */
struct diffusion_row {
    const real *s[SIM_SPECIES_MAX], *c[SIM_SPECIES_MAX], *n[SIM_SPECIES_MAX];
    real *out[SIM_SPECIES_MAX];
};

/* The same loops compiled for different processors; the bits are the same. */
struct diffusion_cpu_variant {
    const char *name;
    bool (*supported)(void);
    /* out[first .. last) from the rows around, constant D. */
    void (*row)(enum sim_reaction model, const struct diffusion_args *,
                const real *signal, const struct diffusion_row *, int64_t first,
                int64_t last);
    /* The same for cell l alone, an end of row j: i is 0 or nx - 1. What lies beyond it
       is the wall's, or where x is periodic the other end, nx - 1 cells away in c. */
    void (*end)(enum sim_reaction model, const struct diffusion_args *,
                const real *signal, const struct diffusion_row *, int64_t l, int64_t i,
                int64_t j);
    /* Row j of anything, from now to next. */
    void (*general)(enum sim_reaction model, const struct diffusion_args *,
                    const real *signal, int64_t member, int64_t j);
};

#define diffusion_cpu_variants SIM_TYPED(diffusion_cpu_variants)
extern const struct diffusion_cpu_variant diffusion_cpu_variants[]; /* best first */

/* Where a stretch of row j lies: its first cell is column i0 (outside [0, nx) only where
 * x is periodic), it has `count` cells. Walls replace what the row's pointers have there.
 */
#define diffusion_cpu_stretch SIM_TYPED(diffusion_cpu_stretch)
void diffusion_cpu_stretch(const struct diffusion_cpu_variant *variant,
                           enum sim_reaction model, const struct diffusion_args *a,
                           const real *signal, const struct diffusion_row *row,
                           int64_t i0, int64_t j, int64_t count);

/* Should results go to memory past the caches? */
#define diffusion_cpu_streams SIM_TYPED(diffusion_cpu_streams)
bool diffusion_cpu_streams(const struct sim_diffusion_system *);

/* That way: `to` and `from` aligned to a line, whole lines. Meanwhile `ahead` is fetched,
 * what will be read next; or memory would be read while cells are computed, written at
 * other times, and waited for. */
#define diffusion_cpu_stream_out SIM_TYPED(diffusion_cpu_stream_out)
void diffusion_cpu_stream_out(real *to, const real *from, int64_t count,
                              const real *ahead);

/* `depth` steps in one pass; diffusion_cpu_blocked.c. */
#define diffusion_cpu_blocked SIM_TYPED(diffusion_cpu_blocked)
enum sim_status diffusion_cpu_blocked(const struct sim_diffusion_system *,
                                      const struct diffusion_cpu_variant *, int depth,
                                      const real *signal);

/* Operations of the table that live in diffusion_cpu_line.c; contracts in diffusion.h. */
#define diffusion_sweep_cpu    SIM_TYPED(diffusion_sweep_cpu)
#define diffusion_half_cpu     SIM_TYPED(diffusion_half_cpu)
#define diffusion_react_cpu    SIM_TYPED(diffusion_react_cpu)
#define diffusion_residual_cpu SIM_TYPED(diffusion_residual_cpu)
enum sim_status diffusion_sweep_cpu(struct sim_diffusion_system *,
                                    const struct sim_diffusion_sweep *);
enum sim_status diffusion_half_cpu(struct sim_diffusion_system *, int, const void *,
                                   const void *, void *);
enum sim_status diffusion_react_cpu(struct sim_diffusion_system *, double);
enum sim_status diffusion_residual_cpu(struct sim_diffusion_system *, int, const void *,
                                       const void *, double *, double *);

/* Operations of the table that live in diffusion_cpu_dense.c; contracts in diffusion.h.
 */
#define diffusion_widen_cpu   SIM_TYPED(diffusion_widen_cpu)
#define diffusion_narrow_cpu  SIM_TYPED(diffusion_narrow_cpu)
#define diffusion_product_cpu SIM_TYPED(diffusion_product_cpu)
#define diffusion_modal_cpu   SIM_TYPED(diffusion_modal_cpu)
enum sim_status diffusion_widen_cpu(struct sim_diffusion_system *, int, int64_t,
                                    double *);
enum sim_status diffusion_narrow_cpu(struct sim_diffusion_system *, int, int64_t,
                                     const double *);
enum sim_status diffusion_product_cpu(struct sim_device *, int64_t, int64_t, int64_t,
                                      const double *, const double *, double *);
enum sim_status diffusion_modal_cpu(struct sim_device *, const struct sim_modal *);

#endif
