/* fft_library.h - cuFFT, found when the program runs: the program needs no library to
 * start, and where this one is missing nobody but the direct solve of flows does without.
 *
 * The functions are declared here as NVIDIA documents them (a plan and an error are ints,
 * 0 being success), so that no header is needed either. */
#ifndef SIM_FFT_LIBRARY_H
#define SIM_FFT_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

enum sim_fft_type { /* cufftType */
                    SIM_FFT_FROM_FLOAT = 0x2a,
                    SIM_FFT_TO_FLOAT = 0x2c,
                    SIM_FFT_FROM_DOUBLE = 0x6a,
                    SIM_FFT_TO_DOUBLE = 0x6c,
};

struct sim_fft_library {
    int (*create)(int *plan);
    int (*destroy)(int plan);
    int (*own_area)(int plan, int allocate); /* cufftSetAutoAllocation */
    int (*make)(int plan, int rank, long long *n, long long *in_embed,
                long long in_stride, long long in_distance, long long *out_embed,
                long long out_stride, long long out_distance, int type, long long batch,
                size_t *area); /* cufftMakePlanMany64 */
    int (*set_area)(int plan, void *area);
    int (*set_stream)(int plan, void *stream);
    /* of floats and of doubles */
    int (*forward[2])(int plan, void *from, void *to);
    int (*inverse[2])(int plan, void *from, void *to);
};

/* The first of the named libraries that is there (names end with NULL). False with a line
 * in `why` where none is, or lacks a function. It stays loaded. */
bool sim_fft_library_open(const char *const *names, struct sim_fft_library *out,
                          char *why, size_t size);

/* cuFFT, looked for once; NULL with a line in *why (which stays) where it is not there.
 * By the main thread. */
const struct sim_fft_library *sim_fft_library(const char **why);

#endif
