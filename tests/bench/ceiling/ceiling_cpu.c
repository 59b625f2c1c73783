/* ceiling_cpu.c - copy bandwidth and the rates of fused multiply-adds and of roots with
 * quotients of the CPU. Best of several: a ceiling is what was reached once. */
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

/* Chains of vectors a = next(a); the vectors' width in lanes is in `lanes`. */
#define LOOP(name, attributes, type, bytes, rounds, next)                   \
    attributes static double name(int *lanes)                               \
    {                                                                       \
        enum { LANES = (bytes) / (int)sizeof(type), ALL = CHAINS * LANES }; \
        type a[ALL], sum = 0;                                               \
        for (int l = 0; l < ALL; l++)                                       \
            a[l] = (type)l;                                                 \
        for (int r = 0; r < (rounds); r++)                                  \
            for (int l = 0; l < ALL; l++)                                   \
                a[l] = next(a[l]);                                          \
        for (int l = 0; l < ALL; l++)                                       \
            sum += a[l];                                                    \
        *lanes = LANES;                                                     \
        return (double)sum;                                                 \
    }

#define FUSED_F32(a)   fmaf(a, 0.999f, 1e-3f)
#define FUSED_F64(a)   fma(a, 0.999, 1e-3)
#define ROOT_F32(a)    (1 / sqrtf((a) + 0.3f))
#define ROOT_F64(a)    (1 / sqrt((a) + 0.3))
#define UNFUSED_F32(a) ((a)*0.999f + 1e-3f) /* without the hardware: two operations */
#define UNFUSED_F64(a) ((a)*0.999 + 1e-3)

typedef double loop(int *lanes);

#define LOOPS(isa, attributes, bytes, fused)                                        \
    LOOP(fma_##isa##_f32, attributes, float, bytes, ROUNDS, fused##_F32)            \
    LOOP(fma_##isa##_f64, attributes, double, bytes, ROUNDS, fused##_F64)           \
    LOOP(root_##isa##_f32, attributes, float, bytes, ROUNDS / 16, ROOT_F32)         \
    LOOP(root_##isa##_f64, attributes, double, bytes, ROUNDS / 16, ROOT_F64)        \
    static loop *const isa[] = {fma_##isa##_f32, fma_##isa##_f64, root_##isa##_f32, \
                                root_##isa##_f64};

#ifdef __x86_64__
#define AVX2   __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,fma,prefer-vector-width=512")))
LOOPS(avx2, AVX2, 32, FUSED)
LOOPS(avx512, AVX512, 64, FUSED)
#endif
LOOPS(plain, , 16, UNFUSED)

static loop *best_loop(bool root, bool is_double)
{
    loop *const *best = plain;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f"))
        best = avx512;
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        best = avx2;
#endif
    return best[2 * root + is_double];
}

static double rate(int threads, bool root, bool is_double)
{
    loop *run = best_loop(root, is_double);
    const double rounds = root ? ROUNDS / 16 : ROUNDS;
    volatile double keep = 0;
    double best = 0;
    for (int k = 0; k < TRIES; k++) {
        int lanes = 0;
        double sum = 0, start = bench_clock();
#pragma omp parallel num_threads(threads) reduction(+ : sum) reduction(max : lanes)
        sum += run(&lanes);
        double once = threads * rounds * CHAINS * lanes / (bench_clock() - start);
        keep = keep + sum;
        best = once > best ? once : best;
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
    out->fma = rate(device->threads, false, is_double);
    out->root = rate(device->threads, true, is_double);
    return copy_rate(device->threads, &out->copy);
}
