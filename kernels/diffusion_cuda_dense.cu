/* diffusion_cuda_dense.cu - the dense transforms of diffusion_jump.c on the GPU: matrix
 * products in double, and modes over many steps.
 *
 * product_kernel: a block makes 64 by 64 elements of c, four by four a thread, from tiles
 * of 64 by 16 of a and b in shared memory. Each element is summed in ascending order of k
 * by products that are rounded before they are added, as on the CPU: the same bits. */
#include "diffusion_cuda.h"
#include "diffusion_modal_math.h"

#define TILE  64
#define DEEP  16
#define EACH  4
#define BLOCK 256

static __global__ void __launch_bounds__(BLOCK)
    product_kernel(int64_t m, int64_t n, int64_t k, const double *a, const double *b,
                   double *c)
{
    __shared__ double tile_a[DEEP][TILE + 1], tile_b[DEEP][TILE];
    const int64_t j0 = (int64_t)blockIdx.y * TILE, i0 = (int64_t)blockIdx.x * TILE;
    const int x = threadIdx.x % 16, y = threadIdx.x / 16;
    double sum[EACH][EACH];
    for (int r = 0; r < EACH; r++)
        for (int q = 0; q < EACH; q++)
            sum[r][q] = 0;
    for (int64_t k0 = 0; k0 < k; k0 += DEEP) {
        for (int e = threadIdx.x; e < TILE * DEEP; e += BLOCK) {
            const int64_t j = j0 + e / DEEP, ka = k0 + e % DEEP;
            const int64_t kb = k0 + e / TILE, i = i0 + e % TILE;
            tile_a[e % DEEP][e / DEEP] = j < m && ka < k ? a[j * k + ka] : 0;
            tile_b[e / TILE][e % TILE] = kb < k && i < n ? b[kb * n + i] : 0;
        }
        __syncthreads();
        const int deep = k - k0 < DEEP ? (int)(k - k0) : DEEP;
        for (int q = 0; q < deep; q++)
#pragma unroll
            for (int r = 0; r < EACH; r++)
#pragma unroll
                for (int s = 0; s < EACH; s++)
                    sum[r][s] = sum[r][s] + tile_a[q][y + 16 * r] * tile_b[q][x + 16 * s];
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < EACH; r++)
#pragma unroll
        for (int s = 0; s < EACH; s++) {
            const int64_t j = j0 + y + 16 * r, i = i0 + x + 16 * s;
            if (j < m && i < n)
                c[j * n + i] = sum[r][s];
        }
}

static __global__ void modal_kernel(const __grid_constant__ struct sim_modal m)
{
    const int64_t cells = m.nx * m.ny, stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t c = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; c < cells;
         c += stride)
        m.state[c] = modal_value(&m, m.ax[c % m.nx], m.ay[c / m.nx], m.state[c],
                                 m.drive ? m.drive[c] : 0);
}

static __global__ void widen_kernel(int64_t nx, int64_t ny, int64_t pitch,
                                    const real *from, double *to)
{
    const int64_t cells = nx * ny, stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t c = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; c < cells;
         c += stride)
        to[c] = (double)from[c / nx * pitch + c % nx];
}

static __global__ void narrow_kernel(int64_t nx, int64_t ny, int64_t pitch,
                                     const double *from, real *to)
{
    const int64_t cells = nx * ny, stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t c = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; c < cells;
         c += stride)
        to[c / nx * pitch + c % nx] = (real)from[c];
}

static dim3 blocks_for(int64_t cells)
{
    const int64_t blocks = (cells + BLOCK - 1) / BLOCK;
    return dim3((unsigned)(blocks < 65535 ? blocks : 65535));
}

enum sim_status diffusion_widen_cuda(struct sim_diffusion_system *s, int species,
                                     int64_t member, double *out)
{
    const real *from = (const real *)s->now[species] + member * s->ny * s->pitch;
    return sim_launch(s->device, "diffusion to double", widen_kernel,
                      blocks_for(s->nx * s->ny), dim3(BLOCK), 0, s->nx, s->ny, s->pitch,
                      from, out);
}

enum sim_status diffusion_narrow_cuda(struct sim_diffusion_system *s, int species,
                                      int64_t member, const double *in)
{
    real *to = (real *)s->now[species] + member * s->ny * s->pitch;
    return sim_launch(s->device, "diffusion from double", narrow_kernel,
                      blocks_for(s->nx * s->ny), dim3(BLOCK), 0, s->nx, s->ny, s->pitch,
                      in, to);
}

enum sim_status diffusion_product_cuda(struct sim_device *device, int64_t m, int64_t n,
                                       int64_t k, const double *a, const double *b,
                                       double *c)
{
    const dim3 grid((unsigned)((n + TILE - 1) / TILE), (unsigned)((m + TILE - 1) / TILE));
    return sim_launch(device, "matrix product", product_kernel, grid, dim3(BLOCK), 0, m,
                      n, k, a, b, c);
}

enum sim_status diffusion_modal_cuda(struct sim_device *device, const struct sim_modal *m)
{
    return sim_launch(device, "diffusion modes", modal_kernel, blocks_for(m->nx * m->ny),
                      dim3(BLOCK), 0, *m);
}
