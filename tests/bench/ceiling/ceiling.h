/* ceiling.h - what a machine can do at best, measured in the same run as the kernels that
 * are compared with it. */
#ifndef CEILING_H
#define CEILING_H

#include "../../../src/device.h"

struct ceiling {
    double copy; /* bytes read and written per second, from and to main memory */
    double fma;  /* fused multiply-adds per second, all lanes of all threads */
    double root; /* square roots, a quotient with each, on a CPU */
};

/* Measure `device` (its threads, on the CPU) in either precision. */
enum sim_status ceiling_measure(struct sim_device *device, bool is_double,
                                struct ceiling *out);

enum sim_status ceiling_measure_cuda(struct sim_device *device, bool is_double,
                                     struct ceiling *out);

/* Seconds on a clock that only goes forward. */
double bench_clock(void);

#endif
