/* cuda_check.h - how a CUDA error becomes a status; for kernels (launch.cuh) and for the
 * host side (device_cuda.c), in what C and C++ share.
 *
 * After a sticky error (an illegal address, a lost GPU) the process's CUDA context is
 * gone: the device is marked lost, its first message is kept, and everything after
 * repeats it. */
#ifndef CUDA_CHECK_H
#define CUDA_CHECK_H

#include <cuda_runtime_api.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif
#include "../src/device.h"
#ifdef __cplusplus
}
#endif

/* Only a broken context fails this question; it does not wait. */
static inline bool sim_cuda_is_lost(const struct sim_device *device)
{
    cudaError_t state = cudaStreamQuery((cudaStream_t)device->stream);
    return state != cudaSuccess && state != cudaErrorNotReady;
}

/* The status of a CUDA error met while `doing` something ("copying 4096 bytes down");
 * SIM_OK for cudaSuccess. Marks the device lost when the error is sticky. */
static inline enum sim_status sim_cuda_status(struct sim_device *device,
                                              cudaError_t error, const char *doing)
{
    if (error == cudaSuccess)
        return SIM_OK;
    if (device->lost)
        return sim_fail(SIM_DEVICE, "%s", device->lost_text);
    (void)cudaGetLastError(); /* a passing error must not surface again later */
    if (sim_cuda_is_lost(device)) {
        device->lost = true;
        snprintf(device->lost_text, sizeof device->lost_text,
                 "the GPU failed while %s: %s", doing, cudaGetErrorString(error));
        return sim_fail(SIM_DEVICE, "%s", device->lost_text);
    }
    return sim_fail(error == cudaErrorMemoryAllocation ? SIM_DEVICE_MEMORY : SIM_DEVICE,
                    "%s: %s", doing, cudaGetErrorString(error));
}

#endif
