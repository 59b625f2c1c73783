/* fourier.h - discrete Fourier transforms of any length, many at a time, in double, on
 * the CPU.
 *
 *     out_q = sum_k in_k exp(2 pi i q k/n),       q, k = 0 .. n-1
 *
 * (positive sign, no factor). A batch is FOURIER_LANES sequences side by side: element k
 * of lane l at k*FOURIER_LANES + l, real and imaginary parts in arrays of their own. */
#ifndef FOURIER_H
#define FOURIER_H

#include <stdint.h>

#include "../src/status.h"

#define FOURIER_LANES 8

struct fourier; /* a length's factors and tables; read-only once made, threads share it */

/* 1 <= n < 2^31. SIM_HOST_MEMORY; free what is there in any case. */
enum sim_status fourier_new(int64_t n, struct fourier **out);
void fourier_free(struct fourier *f);

/* Doubles that fourier_run needs besides its arrays. */
int64_t fourier_scratch(const struct fourier *f);

/* In place; `re`, `im` and `scratch` are aligned to 64 bytes. The bits depend on the
 * sequence alone, not on its lane. */
void fourier_run(const struct fourier *f, double *re, double *im, double *scratch);

#endif
