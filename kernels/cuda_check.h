/* cuda_check.h - how a CUDA error becomes a status; for kernels (launch.cuh) and for the
 * host side (device_cuda.c), in what C and C++ share.
 *
 * After a sticky error (an illegal address, a lost GPU) the process's CUDA context is
 * gone: the device is marked lost, its first message is kept, and everything after
 * repeats it. */
#ifndef CUDA_CHECK_H
#define CUDA_CHECK_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif
#include "../src/device.h"

/* sim_cuda_status (below) of an error: kept out of line, in device_cuda.c. */
enum sim_status sim_cuda_failed(struct sim_device *device, cudaError_t error,
                                const char *doing);

/* The status of a launch's error. What was being computed is half done, so the device is
 * given up, also where the driver would go on. */
enum sim_status sim_cuda_stopped(struct sim_device *device, cudaError_t error,
                                 const char *doing);

/* SIM_DEVICE when the context is broken, else SIM_OK; does not wait. To be asked before a
 * refusal that rests on what the driver said of the GPU: a broken context says nothing.
 */
enum sim_status sim_cuda_alive(struct sim_device *device);

/* Break the context for good, as a faulty kernel does (cuda_crash.cu): tests see what
 * becomes of a run then. */
void sim_cuda_crash(struct sim_device *device);
#ifdef __cplusplus
}
#endif

/* The status of a CUDA error met while `doing` something ("copying 4096 bytes down");
 * SIM_OK for cudaSuccess. Marks the device lost when the error is sticky. */
static inline enum sim_status sim_cuda_status(struct sim_device *device,
                                              cudaError_t error, const char *doing)
{
    return error == cudaSuccess ? SIM_OK : sim_cuda_failed(device, error, doing);
}

#endif
