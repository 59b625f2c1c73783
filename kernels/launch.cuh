/* launch.cuh - the one way to start a kernel.
 *
 *     SIM_TRY(sim_launch(device, "nbody force", force_kernel, grid, block, shared_bytes,
 *                        position, n));
 *
 * Refuses when the device was lost, counts the launch, asks for its error, and with
 * --sync waits for it and adds up the time. Work goes to device->stream, in order. Tests
 * have launches fail in sim_device_launch() (fail.h). */
#ifndef LAUNCH_CUH
#define LAUNCH_CUH

#include <cuda_runtime.h>
#include <time.h>

#include <type_traits>

#include "cuda_check.h"

static inline double sim_launch_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline cudaStream_t sim_stream(const struct sim_device *device)
{
    return (cudaStream_t)device->stream;
}

/* After a launch: its own error, and with --sync also the work's. */
static inline enum sim_status sim_launched(struct sim_device *device, const char *name,
                                           double start)
{
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess && device->sync) {
        error = cudaStreamSynchronize(sim_stream(device));
        device->stats.waits++;
        device->stats.sync_seconds += sim_launch_clock() - start;
    }
    return error == cudaSuccess ? SIM_OK : sim_cuda_stopped(device, error, name);
}

/* Arguments are converted to the kernel's parameter types, as in a call. An empty grid is
 * legal and starts nothing. `name` appears in error messages. */
template <typename... Parameter, typename... Argument>
static enum sim_status sim_launch(struct sim_device *device, const char *name,
                                  void (*kernel)(Parameter...), dim3 grid, dim3 block,
                                  size_t shared_bytes, Argument... arguments)
{
    if (grid.x == 0 || grid.y == 0 || grid.z == 0)
        return sim_device_usable(device);
    SIM_TRY(sim_device_launch(device, name));
    double start = device->sync ? sim_launch_clock() : 0.0;
    kernel<<<grid, block, shared_bytes, sim_stream(device)>>>(
        static_cast<Parameter>(arguments)...);
    return sim_launched(device, name, start);
}

/* The same for a kernel whose blocks wait for each other: they all run at once, or none
 * does. */
template <typename... Parameter, typename... Argument>
static enum sim_status sim_launch_together(struct sim_device *device, const char *name,
                                           void (*kernel)(Parameter...), dim3 grid,
                                           dim3 block, Argument... arguments)
{
    SIM_TRY(sim_device_launch(device, name));
    double start = device->sync ? sim_launch_clock() : 0.0;
    static_assert((std::is_same<Parameter, Argument>::value && ...),
                  "arguments go by address: their types must be the kernel's");
    void *addresses[] = {(void *)&arguments...};
    cudaError_t error = cudaLaunchCooperativeKernel((const void *)kernel, grid, block,
                                                    addresses, 0, sim_stream(device));
    if (error != cudaSuccess)
        return sim_cuda_stopped(device, error, name);
    return sim_launched(device, name, start);
}

/* The same for a kernel whose blocks work in clusters of `cluster` (compute
 * capability 9.0 and up); grid.x must be a multiple of it. */
template <typename... Parameter, typename... Argument>
static enum sim_status sim_launch_cluster(struct sim_device *device, const char *name,
                                          void (*kernel)(Parameter...), dim3 grid,
                                          dim3 block, size_t shared_bytes,
                                          unsigned cluster, Argument... arguments)
{
    SIM_TRY(sim_device_launch(device, name));
    double start = device->sync ? sim_launch_clock() : 0.0;
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = cluster;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid, config.blockDim = block,
    config.dynamicSmemBytes = shared_bytes;
    config.stream = sim_stream(device);
    config.attrs = &attribute, config.numAttrs = 1;
    cudaError_t error =
        cudaLaunchKernelEx(&config, kernel, static_cast<Parameter>(arguments)...);
    if (error != cudaSuccess)
        return sim_cuda_stopped(device, error, name);
    return sim_launched(device, name, start);
}

#endif
