/* diffusion_cpu_dense.c - the dense transforms of diffusion_jump.c on the CPU: matrix
 * products in double, and modes over many steps.
 *
 * A product's rows are shared among threads; a row of c is built up by multiples of rows
 * of b, BLOCK of them while they are in the cache. Each element is summed in ascending
 * order of k by products that are rounded before they are added, as on the GPU: the same
 * bits. */
#include "diffusion_cpu.h"
#include "diffusion_modal_math.h"

#include <string.h>

#define BLOCK 64
#define ROWS  8

enum sim_status diffusion_widen_cpu(struct sim_diffusion_system *system, int species,
                                    int64_t member, double *out)
{
    const real *from =
        (const real *)system->now[species] + member * system->ny * system->pitch;
    for (int64_t j = 0; j < system->ny; j++)
        for (int64_t i = 0; i < system->nx; i++)
            out[j * system->nx + i] = (double)from[j * system->pitch + i];
    return SIM_OK;
}

enum sim_status diffusion_narrow_cpu(struct sim_diffusion_system *system, int species,
                                     int64_t member, const double *in)
{
    real *to = (real *)system->now[species] + member * system->ny * system->pitch;
    for (int64_t j = 0; j < system->ny; j++)
        for (int64_t i = 0; i < system->nx; i++)
            to[j * system->pitch + i] = (real)in[j * system->nx + i];
    return SIM_OK;
}

static inline __attribute__((always_inline)) void
add_rows(int64_t n, int64_t k0, int64_t k1, const double *a, const double *b, double *c)
{
    for (int64_t q = k0; q < k1; q++) {
        const double factor = a[q], *row = b + q * n;
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            c[i] = c[i] + factor * row[i];
    }
}

static void add_rows_plain(int64_t n, int64_t k0, int64_t k1, const double *a,
                           const double *b, double *c)
{
    add_rows(n, k0, k1, a, b, c);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void add_rows_avx2(int64_t n, int64_t k0,
                                                          int64_t k1, const double *a,
                                                          const double *b, double *c)
{
    add_rows(n, k0, k1, a, b, c);
}
#endif

enum sim_status diffusion_product_cpu(struct sim_device *device, int64_t m, int64_t n,
                                      int64_t k, const double *a, const double *b,
                                      double *c)
{
    void (*add)(int64_t, int64_t, int64_t, const double *, const double *, double *) =
        add_rows_plain;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        add = add_rows_avx2;
#endif
    memset(c, 0, (size_t)(m * n) * sizeof *c);
#pragma omp parallel for num_threads(device->threads) schedule(dynamic)
    for (int64_t block = 0; block < (m + ROWS - 1) / ROWS; block++) {
        const int64_t last = block * ROWS + ROWS < m ? block * ROWS + ROWS : m;
        for (int64_t q = 0; q < k && !sim_interrupt_signal(); q += BLOCK)
            for (int64_t j = block * ROWS; j < last; j++)
                add(n, q, q + BLOCK < k ? q + BLOCK : k, a + j * k, b, c + j * n);
    }
    SIM_TRY(sim_device_launch(device, "diffusion: a product of matrices"));
    return sim_check_interrupt();
}

enum sim_status diffusion_modal_cpu(struct sim_device *device, const struct sim_modal *m)
{
#pragma omp parallel for num_threads(device->threads)
    for (int64_t j = 0; j < m->ny; j++)
        for (int64_t i = 0; i < m->nx; i++) {
            const int64_t c = j * m->nx + i;
            m->state[c] = modal_value(m, m->ax[i], m->ay[j], m->state[c],
                                      m->drive ? m->drive[c] : 0);
        }
    return sim_device_launch(device, "diffusion: modes");
}
