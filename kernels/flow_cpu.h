/* flow_cpu.h - what the CPU files of the flow solver share; compiled for both precisions.
 */
#ifndef FLOW_CPU_H
#define FLOW_CPU_H

#include "flow_scalar_math.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

/* Below this many elements a parallel loop costs more than it gives. */
#define FLOW_PARALLEL 8192

static inline double flow_halve_sum(double *lane, int lanes)
{
    for (int half = lanes / 2; half >= 1; half /= 2)
        for (int t = 0; t < half; t++)
            lane[t] = lane[t] + lane[t + half];
    return lane[0];
}

/* The sum of rows[3*j + part], 0 <= j < count, by 256 lanes. */
static inline double flow_rows_sum(const double *rows, int64_t count, int part)
{
    double lane[FLOW_LANES] = {0};
    for (int64_t j = 0; j < count; j++)
        lane[j % FLOW_LANES] = lane[j % FLOW_LANES] + rows[3 * j + part];
    return flow_halve_sum(lane, FLOW_LANES);
}

static inline double flow_rows_max(const double *rows, int64_t count, int part)
{
    double most = 0;
    for (int64_t j = 0; j < count; j++)
        most = poisson_max(most, rows[3 * j + part]);
    return most;
}

/* The passes of poisson_plan.h, in flow_cpu_poisson.c. `pass`: enum poisson_pass. */
#define poisson_pass_cpu      SIM_TYPED(poisson_pass_cpu)
#define poisson_wrap_cpu      SIM_TYPED(poisson_wrap_cpu)
#define poisson_gradients_cpu SIM_TYPED(poisson_gradients_cpu)
enum sim_status poisson_pass_cpu(struct sim_poisson_system *s, int pass, int level);
enum sim_status poisson_wrap_cpu(struct sim_poisson_system *s, int level, void *array);
enum sim_status poisson_gradients_cpu(struct sim_poisson_system *s);

/* Quantities asked for, in flow_cpu_derive.c; contracts in flow.h. */
#define flow_derive_cpu  SIM_TYPED(flow_derive_cpu)
#define flow_measure_cpu SIM_TYPED(flow_measure_cpu)
#define flow_force_cpu   SIM_TYPED(flow_force_cpu)
#define flow_trace_cpu   SIM_TYPED(flow_trace_cpu)
enum sim_status flow_derive_cpu(struct sim_flow_system *, enum sim_flow_derived, void *,
                                int64_t);
enum sim_status flow_measure_cpu(struct sim_flow_system *, double *);
enum sim_status flow_force_cpu(struct sim_flow_system *, const struct sim_flow_box *,
                               double *);
void flow_trace_cpu(const struct sim_flow_system *, const struct flow_args *);

#endif
