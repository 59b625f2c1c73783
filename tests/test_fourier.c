/* test_fourier.c - transforms of any length against the sum as it is written; lanes do
 * not see each other; a round trip of long ones. */
#include "../kernels/fourier.h"
#include "check.h"

#define LANES FOURIER_LANES

static double noise(uint64_t k)
{
    k = (k + 1) * 0x9e3779b97f4a7c15u;
    k ^= k >> 29, k *= 0xbf58476d1ce4e5b9u, k ^= k >> 32;
    return (double)(k >> 11) * 0x1p-53 - 0.5;
}

struct batch {
    struct fourier *fourier;
    double *re, *im, *scratch;
};

static double *zeroed(int64_t n)
{
    const size_t bytes = (size_t)(n * LANES) * sizeof(double);
    double *at = aligned_alloc(64, bytes);
    memset(at, 0, bytes);
    return at;
}

static bool make(int64_t n, struct batch *b)
{
    *b = (struct batch){0};
    if (!CHECK_OK(fourier_new(n, &b->fourier)))
        return false;
    b->re = zeroed(n), b->im = zeroed(n);
    b->scratch = zeroed(fourier_scratch(b->fourier) / LANES + 1);
    for (int64_t k = 0; k < n * LANES; k++)
        b->re[k] = noise((uint64_t)k), b->im[k] = noise((uint64_t)k + 77777777);
    return true;
}

static void drop(struct batch *b)
{
    fourier_free(b->fourier);
    free(b->re);
    free(b->im);
    free(b->scratch);
}

/* The largest difference from the sum, in long double, over `tries` elements. */
static double against_sum(int64_t n, int64_t tries)
{
    const long double turn = 6.283185307179586476925286766559005768L;
    struct batch in, out;
    double worst = 0;
    if (!make(n, &in) || !make(n, &out))
        return HUGE_VAL;
    fourier_run(out.fourier, out.re, out.im, out.scratch);
    for (int64_t q = 0; q < n; q += (n + tries - 1) / tries)
        for (int lane = 0; lane < LANES; lane += 5) {
            long double re = 0, im = 0;
            for (int64_t k = 0; k < n; k++) {
                const long double at = turn * (long double)(q * k % n) / (long double)n;
                const long double c = cosl(at), s = sinl(at);
                const double x = in.re[k * LANES + lane], y = in.im[k * LANES + lane];
                re += x * c - y * s, im += x * s + y * c;
            }
            worst = fmax(worst, fabs(out.re[q * LANES + lane] - (double)re));
            worst = fmax(worst, fabs(out.im[q * LANES + lane] - (double)im));
        }
    drop(&in);
    drop(&out);
    return worst;
}

static void test_lengths(void)
{
    for (int64_t n = 1; n <= 130; n++)
        if (!CHECK_NEAR(against_sum(n, n), 0, 1e-15 * (3 + 2 * sqrt((double)n))))
            printf("     length %lld\n", (long long)n);
    static const int64_t lengths[] = {256, 997, 1000, 1024, 1331, 2 * 1009, 4096, 8198};
    for (int k = 0; k < 8; k++)
        if (!CHECK_NEAR(against_sum(lengths[k], 12), 0, 2e-13))
            printf("     length %lld\n", (long long)lengths[k]);
}

/* A lane's result does not depend on what the others hold. */
static void test_lanes(int64_t n)
{
    struct batch a, b;
    if (!make(n, &a) || !make(n, &b))
        return;
    for (int64_t k = 0; k < n; k++)
        for (int lane = 0; lane < LANES; lane++)
            if (lane != 3)
                b.re[k * LANES + lane] = 1e9, b.im[k * LANES + lane] = -3;
    fourier_run(a.fourier, a.re, a.im, a.scratch);
    fourier_run(b.fourier, b.re, b.im, b.scratch);
    int64_t other = 0;
    for (int64_t k = 0; k < n; k++)
        other += a.re[k * LANES + 3] != b.re[k * LANES + 3] ||
                 a.im[k * LANES + 3] != b.im[k * LANES + 3];
    CHECK(other == 0);
    drop(&a);
    drop(&b);
}

/* There and back: with the parts exchanged, the inverse. */
static void test_return(int64_t n)
{
    struct batch a, b;
    double worst = 0;
    if (!make(n, &a) || !make(n, &b))
        return;
    fourier_run(a.fourier, a.re, a.im, a.scratch);
    fourier_run(a.fourier, a.im, a.re, a.scratch);
    for (int64_t k = 0; k < n * LANES; k++)
        worst = fmax(worst, fmax(fabs(a.re[k] / (double)n - b.re[k]),
                                 fabs(a.im[k] / (double)n - b.im[k])));
    CHECK_NEAR(worst, 0, 1e-14);
    drop(&a);
    drop(&b);
}

int main(void)
{
    test_lengths();
    static const int64_t lengths[] = {30, 64, 67, 134, 4095, 8191};
    for (int k = 0; k < 6; k++) {
        test_lanes(lengths[k]);
        test_return(lengths[k]);
    }
    test_return(65536);
    return check_report();
}
