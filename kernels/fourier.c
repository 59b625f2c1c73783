/* fourier.c - discrete Fourier transforms of any length.
 *
 * Stockham's self-sorting form of the mixed-radix algorithm (Cooley and Tukey 1965), by
 * factors 4, 2, 3, 5 and any other prime up to 31. With n = p m, done so far s sequences:
 *     y[q + s (p j + r)] = sum_t x[q + s (j + m t)] w^(t r) ... w = exp(2 pi i/p)
 * times exp(2 pi i r j/(p m)). Lengths with a larger prime go by Bluestein's (1970)
 * chirp: q k = (q^2 + k^2 - (q - k)^2)/2 turns the sum into a convolution, done at a
 * power of two of at least 2 n - 1. All tables come from long double, angles reduced
 * exactly beforehand.
 *
 * Data: fourier.h; vectors run across the lanes of a batch, so that every step of the
 * algorithm is a vector operation whatever its stride.
 *
 * Not here: transforms of real data, of single sequences. */
#include "fourier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LANES       FOURIER_LANES
#define PRIME_MAX   31
#define FACTORS_MAX 64
#define INLINE      static inline __attribute__((always_inline))

struct fourier {
    int64_t n;
    int count, factor[FACTORS_MAX];
    double *turn; /* exp(2 pi i k/n): n cosines, then n sines; of Bluestein's chirp */
    struct fourier *inner;       /* Bluestein: of length inner->n */
    double *chirp_re, *chirp_im; /* the chirp's transform over inner->n */
};

/* --- tables ------------------------------------------------------------------------- */

/* exp(2 pi i k/n); |angle| at most pi/4, so that nothing is lost. */
static void unit(int64_t k, int64_t n, double *re, double *im)
{
    const long double eighth = 0.785398163397448309615660845819875721L;
    const int64_t octant = 8 * k / n;           /* 0 .. 7 */
    const int64_t next = octant + (octant & 1); /* the even octant beside it */
    const long double angle = eighth * ((long double)(8 * k - next * n) / (long double)n);
    const double c = (double)cosl(angle), s = (double)sinl(angle);
    switch (next / 2 % 4) {
    case 0:
        *re = c, *im = s;
        break;
    case 1:
        *re = -s, *im = c;
        break;
    case 2:
        *re = -c, *im = -s;
        break;
    default:
        *re = s, *im = -c;
        break;
    }
}

/* False where a prime is too large. */
static bool find_factors(struct fourier *f)
{
    int64_t left = f->n;
    for (int p = 4; left > 1 && p <= PRIME_MAX; p = p == 4 ? 2 : p == 2 ? 3 : p + 2)
        while (left % p == 0)
            f->factor[f->count++] = p, left /= p;
    return left <= 1;
}

static double *doubles(int64_t n)
{
    const size_t bytes = (size_t)(n > 0 ? n : 1) * sizeof(double);
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

/* exp(pi i k^2/n), and the transform of its conjugate laid around a ring. */
static enum sim_status make_chirp(struct fourier *f)
{
    int64_t m = 1;
    while (m < 2 * f->n - 1)
        m *= 2;
    SIM_TRY(fourier_new(m, &f->inner));
    double *re = doubles(m * LANES), *im = doubles(m * LANES);
    double *scratch = doubles(fourier_scratch(f->inner));
    f->chirp_re = doubles(m), f->chirp_im = doubles(m);
    const bool ok = re && im && scratch && f->chirp_re && f->chirp_im;
    if (ok) {
        memset(re, 0, (size_t)(m * LANES) * sizeof *re);
        memset(im, 0, (size_t)(m * LANES) * sizeof *im);
        for (int64_t k = 0; k < f->n; k++) {
            const int64_t square =
                (int64_t)((uint64_t)k * (uint64_t)k % (uint64_t)(2 * f->n));
            unit(square, 2 * f->n, &f->turn[k], &f->turn[f->n + k]);
            const int64_t other = k ? m - k : 0;
            re[k * LANES] = re[other * LANES] = f->turn[k];
            im[k * LANES] = im[other * LANES] = -f->turn[f->n + k];
        }
        fourier_run(f->inner, re, im, scratch);
        for (int64_t k = 0; k < m; k++)
            f->chirp_re[k] = re[k * LANES], f->chirp_im[k] = im[k * LANES];
    }
    free(re);
    free(im);
    free(scratch);
    return ok ? SIM_OK : sim_fail(SIM_HOST_MEMORY, "no memory for a Fourier transform");
}

enum sim_status fourier_new(int64_t n, struct fourier **out)
{
    struct fourier *f = calloc(1, sizeof *f);
    *out = f;
    if (!f)
        return sim_fail(SIM_HOST_MEMORY, "no memory for a Fourier transform");
    f->n = n;
    f->turn = doubles(2 * n);
    if (!f->turn)
        return sim_fail(SIM_HOST_MEMORY, "no memory for a Fourier transform");
    if (!find_factors(f)) {
        f->count = 0;
        return make_chirp(f);
    }
    for (int64_t k = 0; k < n; k++)
        unit(k, n, &f->turn[k], &f->turn[n + k]);
    return SIM_OK;
}

void fourier_free(struct fourier *f)
{
    if (!f)
        return;
    fourier_free(f->inner);
    free(f->turn);
    free(f->chirp_re);
    free(f->chirp_im);
    free(f);
}

int64_t fourier_scratch(const struct fourier *f)
{
    if (f->inner)
        return 2 * f->inner->n * LANES + fourier_scratch(f->inner);
    return 2 * f->n * LANES;
}

/* --- butterflies -------------------------------------------------------------------- */

/* A complex number of each lane. */
struct lanes {
    double re[LANES], im[LANES];
};

INLINE struct lanes get(const double *re, const double *im, int64_t k)
{
    struct lanes x;
    for (int l = 0; l < LANES; l++)
        x.re[l] = re[k * LANES + l], x.im[l] = im[k * LANES + l];
    return x;
}

/* x times c + i s */
INLINE void put(double *re, double *im, int64_t k, const struct lanes *x, double c,
                double s)
{
    for (int l = 0; l < LANES; l++) {
        re[k * LANES + l] = x->re[l] * c - x->im[l] * s;
        im[k * LANES + l] = x->re[l] * s + x->im[l] * c;
    }
}

INLINE struct lanes plus(const struct lanes *a, const struct lanes *b)
{
    struct lanes x;
    for (int l = 0; l < LANES; l++)
        x.re[l] = a->re[l] + b->re[l], x.im[l] = a->im[l] + b->im[l];
    return x;
}

INLINE struct lanes minus(const struct lanes *a, const struct lanes *b)
{
    struct lanes x;
    for (int l = 0; l < LANES; l++)
        x.re[l] = a->re[l] - b->re[l], x.im[l] = a->im[l] - b->im[l];
    return x;
}

INLINE struct lanes times_i(const struct lanes *a)
{
    struct lanes x;
    for (int l = 0; l < LANES; l++)
        x.re[l] = -a->im[l], x.im[l] = a->re[l];
    return x;
}

INLINE void two(struct lanes *x)
{
    const struct lanes a = plus(&x[0], &x[1]), b = minus(&x[0], &x[1]);
    x[0] = a, x[1] = b;
}

INLINE void four(struct lanes *x)
{
    const struct lanes a = plus(&x[0], &x[2]), b = minus(&x[0], &x[2]);
    const struct lanes c = plus(&x[1], &x[3]), d = minus(&x[1], &x[3]);
    const struct lanes e = times_i(&d);
    x[0] = plus(&a, &c), x[2] = minus(&a, &c);
    x[1] = plus(&b, &e), x[3] = minus(&b, &e);
}

/* Any prime: the sum as it is written; turn[] of n, where p divides n. */
INLINE void prime(struct lanes *x, int p, const double *turn, int64_t n)
{
    struct lanes out[PRIME_MAX];
    for (int r = 0; r < p; r++) {
        out[r] = x[0];
        for (int t = 1; t < p; t++) {
            const int64_t at = n / p * (t * r % p);
            const double c = turn[at], s = turn[n + at];
            for (int l = 0; l < LANES; l++) {
                out[r].re[l] += x[t].re[l] * c - x[t].im[l] * s;
                out[r].im[l] += x[t].re[l] * s + x[t].im[l] * c;
            }
        }
    }
    for (int r = 0; r < p; r++)
        x[r] = out[r];
}

/* One factor: from x to y; s sequences are whole already, m = n/(s p) to come. */
INLINE void pass(const struct fourier *f, int p, int64_t s, const double *x_re,
                 const double *x_im, double *y_re, double *y_im)
{
    const int64_t m = f->n / (s * p);
    struct lanes x[PRIME_MAX];
    for (int64_t j = 0; j < m; j++)
        for (int64_t q = 0; q < s; q++) {
            for (int t = 0; t < p; t++)
                x[t] = get(x_re, x_im, q + s * (j + m * t));
            if (p == 2)
                two(x);
            else if (p == 4)
                four(x);
            else
                prime(x, p, f->turn, f->n);
            for (int r = 0; r < p; r++) {
                const int64_t at = s * j * r; /* of n: r j/(p m) turns */
                put(y_re, y_im, q + s * (p * j + r), &x[r], f->turn[at],
                    f->turn[f->n + at]);
            }
        }
}

INLINE void mixed(const struct fourier *f, double *re, double *im, double *scratch)
{
    double *from_re = re, *from_im = im;
    double *to_re = scratch, *to_im = scratch + f->n * LANES;
    int64_t s = 1;
    for (int k = 0; k < f->count; k++) {
        const int p = f->factor[k];
        if (p == 4)
            pass(f, 4, s, from_re, from_im, to_re, to_im);
        else if (p == 2)
            pass(f, 2, s, from_re, from_im, to_re, to_im);
        else
            pass(f, p, s, from_re, from_im, to_re, to_im);
        double *held_re = from_re, *held_im = from_im;
        from_re = to_re, from_im = to_im, to_re = held_re, to_im = held_im;
        s *= p;
    }
    if (from_re != re) {
        memcpy(re, from_re, (size_t)(f->n * LANES) * sizeof *re);
        memcpy(im, from_im, (size_t)(f->n * LANES) * sizeof *im);
    }
}

static void mixed_plain(const struct fourier *f, double *re, double *im, double *scratch)
{
    mixed(f, re, im, scratch);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void
mixed_avx2(const struct fourier *f, double *re, double *im, double *scratch)
{
    mixed(f, re, im, scratch);
}
#endif

/* --- Bluestein ---------------------------------------------------------------------- */

/* (re, im)[k] times (c, s)[k] or its conjugate, for the first n of all lanes. */
static void multiply(double *re, double *im, const double *c, const double *s, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        for (int l = 0; l < LANES; l++) {
            const double x = re[k * LANES + l], y = im[k * LANES + l];
            re[k * LANES + l] = x * c[k] - y * s[k];
            im[k * LANES + l] = x * s[k] + y * c[k];
        }
}

static void bluestein(const struct fourier *f, double *re, double *im, double *scratch)
{
    const int64_t m = f->inner->n, n = f->n;
    const size_t all = (size_t)(m * LANES), used = (size_t)(n * LANES);
    double *a = scratch, *b = scratch + all, *rest = b + all;
    multiply(re, im, f->turn, f->turn + n, n);
    memset(a + used, 0, (all - used) * sizeof *a);
    memset(b + used, 0, (all - used) * sizeof *b);
    memcpy(a, re, used * sizeof *a);
    memcpy(b, im, used * sizeof *b);
    fourier_run(f->inner, a, b, rest);
    multiply(a, b, f->chirp_re, f->chirp_im, m);
    fourier_run(f->inner, b, a, rest); /* parts exchanged: the inverse, exchanged */
    const double scale = 1 / (double)m;
    for (size_t k = 0; k < used; k++)
        re[k] = scale * a[k], im[k] = scale * b[k];
    multiply(re, im, f->turn, f->turn + n, n);
}

void fourier_run(const struct fourier *f, double *re, double *im, double *scratch)
{
    if (f->inner) {
        bluestein(f, re, im, scratch);
        return;
    }
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        mixed_avx2(f, re, im, scratch);
        return;
    }
#endif
    mixed_plain(f, re, im, scratch);
}
