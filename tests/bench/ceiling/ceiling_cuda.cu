/* ceiling_cuda.cu - copy bandwidth and fused multiply-add rate of a GPU. Best of several.
 */
#include "../../../kernels/launch.cuh"

extern "C" {
#include "ceiling.h"
}

#include <algorithm>

#define BLOCK      256
#define CHAINS     8
#define ROUNDS     4096
#define TRIES      7
#define COPY_BYTES ((size_t)1 << 30)

static __global__ void __launch_bounds__(BLOCK)
    copy_kernel(const float4 *from, float4 *to, int64_t n)
{
    for (int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * BLOCK)
        to[i] = from[i];
}

template <typename T>
static __global__ void __launch_bounds__(BLOCK) fma_kernel(T *out, T b, T c)
{
    T a[CHAINS], sum = 0;
    for (int k = 0; k < CHAINS; k++)
        a[k] = (T)(threadIdx.x + k);
#pragma unroll 8
    for (int r = 0; r < ROUNDS; r++)
        for (int k = 0; k < CHAINS; k++)
            a[k] = fma(a[k], b, c);
    for (int k = 0; k < CHAINS; k++)
        sum += a[k];
    out[blockIdx.x * BLOCK + threadIdx.x] = sum;
}

/* The best time of several launches of `start`. */
template <typename Start>
static enum sim_status best_time(struct sim_device *device, Start start, double *best)
{
    *best = 1e30;
    for (int k = 0; k < TRIES; k++) {
        SIM_TRY(sim_device_finish(device));
        double begin = bench_clock();
        SIM_TRY(start());
        SIM_TRY(sim_device_finish(device));
        *best = std::min(*best, bench_clock() - begin);
    }
    return SIM_OK;
}

static enum sim_status copy_rate(struct sim_device *device, double *rate)
{
    struct sim_buffer from = {}, to = {};
    double seconds = 0;
    enum sim_status status = sim_buffer_new(device, COPY_BYTES, "copy source", &from);
    if (status == SIM_OK)
        status = sim_buffer_new(device, COPY_BYTES, "copy target", &to);
    if (status == SIM_OK)
        status = sim_buffer_zero(&from);
    if (status == SIM_OK)
        status = best_time(
            device,
            [&] {
                return sim_launch(device, "copying", copy_kernel,
                                  dim3(device->multiprocessors * 8), dim3(BLOCK), 0,
                                  (const float4 *)from.data, (float4 *)to.data,
                                  (int64_t)(COPY_BYTES / sizeof(float4)));
            },
            &seconds);
    sim_buffer_free(&from);
    sim_buffer_free(&to);
    *rate = 2.0 * (double)COPY_BYTES / seconds;
    return status;
}

template <typename T>
static enum sim_status fma_rate(struct sim_device *device, double *rate)
{
    const int blocks = device->multiprocessors * 32, launches = 16;
    struct sim_buffer out = {};
    double seconds = 0;
    SIM_TRY(sim_buffer_new(device, blocks * BLOCK * sizeof(T), "results", &out));
    enum sim_status status = best_time(
        device,
        [&] {
            for (int k = 0; k < launches; k++)
                SIM_TRY(sim_launch(device, "multiplying", fma_kernel<T>, dim3(blocks),
                                   dim3(BLOCK), 0, (T *)out.data, (T)0.999, (T)1e-3));
            return SIM_OK;
        },
        &seconds);
    sim_buffer_free(&out);
    *rate = (double)launches * blocks * BLOCK * CHAINS * ROUNDS / seconds;
    return status;
}

extern "C" enum sim_status ceiling_measure_cuda(struct sim_device *device, bool is_double,
                                                struct ceiling *out)
{
    SIM_TRY(copy_rate(device, &out->copy));
    return is_double ? fma_rate<double>(device, &out->fma)
                     : fma_rate<float>(device, &out->fma);
}
