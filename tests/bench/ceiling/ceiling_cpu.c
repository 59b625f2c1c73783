/* ceiling_cpu.c - copy bandwidth and fused multiply-add rate of the CPU. Best of several:
 * a ceiling is what was reached once. */
#include "ceiling.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define CHAINS     10 /* independent vectors: latency times throughput, and a little more */
#define ROUNDS     400000
#define TRIES      12
#define COPY_BYTES ((size_t)256 << 20)
#define PAGE       ((size_t)2 << 20)

double bench_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A chain of vectors a = a*b + c; the vectors' width in lanes is in `lanes`. */
#define FMA_LOOP(name, attributes, type, bytes, fused)                      \
    attributes static double name(int *lanes)                               \
    {                                                                       \
        enum { LANES = (bytes) / (int)sizeof(type), ALL = CHAINS * LANES }; \
        type a[ALL], sum = 0;                                               \
        for (int l = 0; l < ALL; l++)                                       \
            a[l] = (type)l;                                                 \
        for (int r = 0; r < ROUNDS; r++)                                    \
            for (int l = 0; l < ALL; l++)                                   \
                a[l] = fused(a[l], (type)0.999, (type)1e-3);                \
        for (int l = 0; l < ALL; l++)                                       \
            sum += a[l];                                                    \
        *lanes = LANES;                                                     \
        return (double)sum;                                                 \
    }

#ifdef __x86_64__
#define AVX2   __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,fma,prefer-vector-width=512")))
FMA_LOOP(fma_avx2_f32, AVX2, float, 32, fmaf)
FMA_LOOP(fma_avx2_f64, AVX2, double, 32, fma)
FMA_LOOP(fma_avx512_f32, AVX512, float, 64, fmaf)
FMA_LOOP(fma_avx512_f64, AVX512, double, 64, fma)
#endif
/* Without FMA hardware: two operations. */
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
FMA_LOOP(fma_plain_f32, , float, 16, MULTIPLY_ADD)
FMA_LOOP(fma_plain_f64, , double, 16, MULTIPLY_ADD)

typedef double fma_loop(int *lanes);

static fma_loop *best_loop(bool is_double)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f"))
        return is_double ? fma_avx512_f64 : fma_avx512_f32;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return is_double ? fma_avx2_f64 : fma_avx2_f32;
#endif
    return is_double ? fma_plain_f64 : fma_plain_f32;
}

static double fma_rate(int threads, bool is_double)
{
    fma_loop *loop = best_loop(is_double);
    volatile double keep = 0;
    double best = 0;
    for (int k = 0; k < TRIES; k++) {
        int lanes = 0;
        double sum = 0, start = bench_clock();
#pragma omp parallel num_threads(threads) reduction(+ : sum) reduction(max : lanes)
        sum += loop(&lanes);
        double rate = (double)threads * ROUNDS * CHAINS * lanes / (bench_clock() - start);
        keep = keep + sum;
        best = rate > best ? rate : best;
    }
    return best;
}

/* A copy whose stores go past the caches, as those of a stencil over large arrays do; the
 * library's own is slower on some machines. */
static void copy_past(char *to, const char *from, size_t bytes)
{
#ifdef __SSE2__
    for (size_t k = 0; k < bytes; k += 64)
        for (size_t l = 0; l < 64; l += 16)
            _mm_stream_si128(
                (__m128i *)(void *)(to + k + l),
                _mm_load_si128((const __m128i *)(const void *)(from + k + l)));
    _mm_sfence();
#else
    memcpy(to, from, bytes);
#endif
}

/* Every second try by either way; in large pages, as the program's arrays are. */
static double best_copy(int threads, char *to, char *from)
{
    const size_t part = COPY_BYTES / (size_t)threads / 64 * 64;
    double best = 0;
    for (int k = 0; k < TRIES; k++) {
        double start = bench_clock();
#pragma omp parallel for num_threads(threads)
        for (int t = 0; t < threads; t++)
            if (k % 2)
                memcpy(to + (size_t)t * part, from + (size_t)t * part, part);
            else
                copy_past(to + (size_t)t * part, from + (size_t)t * part, part);
        double rate = 2.0 * (double)part * threads / (bench_clock() - start);
        best = rate > best ? rate : best;
    }
    return best;
}

static enum sim_status copy_rate(int threads, double *best)
{
    char *from = aligned_alloc(PAGE, COPY_BYTES), *to = aligned_alloc(PAGE, COPY_BYTES);
    *best = 0;
    if (from && to) {
        madvise(to, COPY_BYTES, MADV_HUGEPAGE);
        madvise(from, COPY_BYTES, MADV_HUGEPAGE);
        memset(to, 1, COPY_BYTES);
        memset(from, 2, COPY_BYTES);
        *best = best_copy(threads, to, from);
    }
    free(from);
    free(to);
    if (*best > 0)
        return SIM_OK;
    return sim_fail(SIM_HOST_MEMORY, "no memory to measure copying");
}

enum sim_status ceiling_measure(struct sim_device *device, bool is_double,
                                struct ceiling *out)
{
    if (device->kind == SIM_CUDA)
        return ceiling_measure_cuda(device, is_double, out);
    out->fma = fma_rate(device->threads, is_double);
    return copy_rate(device->threads, &out->copy);
}
