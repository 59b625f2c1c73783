/* device_cuda.c - a CUDA GPU as a device. The only C file that speaks the CUDA runtime
 * API.
 *
 * One stream per device. Memory comes from the stream-ordered pool where there is one:
 * freeing a picture must not wait for the queue, as cudaFree does. Every call is checked;
 * an error that CUDA keeps repeating (a crashed kernel, a GPU off the bus) marks the
 * device lost, and its first text is what everybody after it reports. */
#include "device.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static enum sim_status lost(struct sim_device *device, cudaError_t error,
                            const char *doing)
{
    if (!device->lost) {
        device->lost = true;
        snprintf(device->lost_text, sizeof device->lost_text,
                 "the GPU (cuda:%d, %s) was lost: %s: %s", device->index, device->name,
                 doing, cudaGetErrorString(error));
    }
    return sim_fail(SIM_DEVICE, "%s", device->lost_text);
}

static enum sim_status checked(struct sim_device *device, cudaError_t error,
                               const char *doing)
{
    return error == cudaSuccess ? SIM_OK : lost(device, error, doing);
}

static bool has_pool(const struct sim_device *device)
{
    int supported = 0;
    cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device->index);
    return supported != 0;
}

static uint64_t free_memory(struct sim_device *device)
{
    size_t unused = 0, total = 0;
    uint64_t reserved = 0, used = 0;
    cudaMemPool_t pool;
    cudaSetDevice(device->index);
    if (cudaMemGetInfo(&unused, &total) != cudaSuccess)
        return 0;
    if (has_pool(device) &&
        cudaDeviceGetDefaultMemPool(&pool, device->index) == cudaSuccess) {
        cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved);
        cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used);
    }
    return unused + (reserved - used);
}

static cudaError_t try_allocate(struct sim_device *device, size_t bytes, void **data)
{
    cudaStream_t stream = device->stream;
    cudaError_t error =
        has_pool(device) ? cudaMallocAsync(data, bytes, stream) : cudaMalloc(data, bytes);
    if (error == cudaErrorMemoryAllocation)
        cudaGetLastError(); /* not sticky: clear it, or the next launch reports it */
    return error;
}

static enum sim_status allocate(struct sim_device *device, size_t bytes, const char *what,
                                void **data)
{
    *data = NULL;
    cudaError_t error = try_allocate(device, bytes, data);
    if (error == cudaErrorMemoryAllocation) {
        SIM_TRY(device->ops->finish(device)); /* what is being freed may suffice */
        error = try_allocate(device, bytes, data);
    }
    if (error != cudaErrorMemoryAllocation)
        return checked(device, error, "allocating");
    const double gib = 1 << 30;
    return sim_fail(
        SIM_DEVICE_MEMORY,
        "out of device memory: %s needs %.3g GiB; cuda:%d (%s) has %.3g GiB free "
        "of %.3g GiB (%.3g GiB held by this script)",
        what, (double)bytes / gib, device->index, device->name,
        (double)free_memory(device) / gib, (double)device->memory / gib,
        (double)device->stats.live_bytes / gib);
}

static void release(struct sim_device *device, void *data)
{
    if (device->lost) /* its memory went with it */
        return;
    if (has_pool(device))
        cudaFreeAsync(data, device->stream);
    else
        cudaFree(data);
}

static enum sim_status upload(struct sim_device *device, void *to, const void *from,
                              size_t bytes)
{
    /* From pageable memory this returns when the bytes have been taken over. */
    cudaError_t error =
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, device->stream);
    return checked(device, error, "copying to the device");
}

static enum sim_status wait_for(struct sim_device *device, cudaEvent_t event)
{
    /* Short waits spin, long ones sleep; either way Ctrl-C is seen. */
    const struct timespec nap = {.tv_nsec = 50000};
    for (long turn = 0;; turn++) {
        cudaError_t error = cudaEventQuery(event);
        if (error != cudaErrorNotReady)
            return checked(device, error, "running a kernel");
        SIM_TRY(sim_check_interrupt());
        if (turn > 200)
            nanosleep(&nap, NULL);
    }
}

static enum sim_status finish(struct sim_device *device)
{
    cudaEvent_t event;
    SIM_TRY(checked(device, cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
                    "making an event"));
    enum sim_status status =
        checked(device, cudaEventRecord(event, device->stream), "running a kernel");
    if (status == SIM_OK)
        status = wait_for(device, event);
    cudaEventDestroy(event);
    return status;
}

static enum sim_status download(struct sim_device *device, void *to, const void *from,
                                size_t bytes, struct sim_ticket *ticket)
{
    cudaStream_t stream = device->stream;
    SIM_TRY(checked(device,
                    cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream),
                    "copying to the host"));
    if (!ticket)
        return checked(device, cudaStreamSynchronize(stream), "copying to the host");
    cudaEvent_t event;
    SIM_TRY(checked(
        device,
        cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync),
        "making an event"));
    ticket->event = event;
    return checked(device, cudaEventRecord(event, stream), "copying to the host");
}

static enum sim_status ticket_wait(struct sim_ticket *ticket)
{
    /* Called from writer threads: the device's own record of its loss belongs to the main
       thread, so a failure here is only reported. */
    cudaEvent_t event = ticket->event;
    cudaError_t error = cudaSetDevice(ticket->device->index);
    if (error == cudaSuccess)
        error = cudaEventSynchronize(event);
    cudaEventDestroy(event);
    ticket->event = NULL;
    if (error == cudaSuccess)
        return SIM_OK;
    return sim_fail(SIM_DEVICE, "the GPU (cuda:%d) was lost: %s", ticket->device->index,
                    cudaGetErrorString(error));
}

static enum sim_status copy(struct sim_device *device, void *to, const void *from,
                            size_t bytes)
{
    return checked(
        device,
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, device->stream),
        "copying on the device");
}

static enum sim_status fill(struct sim_device *device, void *to, int byte, size_t bytes)
{
    return checked(device, cudaMemsetAsync(to, byte, bytes, device->stream),
                   "filling device memory");
}

static enum sim_status host_allocate(struct sim_device *device, size_t bytes, void **data)
{
    cudaError_t error = cudaMallocHost(data, bytes);
    if (error != cudaErrorMemoryAllocation)
        return checked(device, error, "allocating page-locked memory");
    cudaGetLastError();
    return sim_fail(SIM_HOST_MEMORY,
                    "out of host memory: %zu page-locked bytes for a picture", bytes);
}

static void host_release(struct sim_device *device, void *data)
{
    (void)device;
    cudaFreeHost(data);
}

static void close_device(struct sim_device *device)
{
    if (device->stream && !device->lost)
        cudaStreamDestroy(device->stream);
    free(device);
}

static const struct sim_device_ops cuda_ops = {
    .allocate = allocate,
    .release = release,
    .upload = upload,
    .download = download,
    .copy = copy,
    .fill = fill,
    .finish = finish,
    .ticket_wait = ticket_wait,
    .host_allocate = host_allocate,
    .host_release = host_release,
    .free_memory = free_memory,
    .close = close_device,
};

int sim_device_cuda_count(char *why_none, size_t size)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    cudaGetLastError();
    if (error == cudaSuccess && count > 0)
        return count;
    snprintf(why_none, size, "%s",
             error == cudaSuccess ? "none is installed" : cudaGetErrorString(error));
    return 0;
}

enum sim_status sim_device_cuda_describe(int index, char *text, size_t size)
{
    struct cudaDeviceProp properties;
    cudaError_t error = cudaGetDeviceProperties(&properties, index);
    if (error != cudaSuccess) {
        snprintf(text, size, "cuda:%d   unusable: %s", index, cudaGetErrorString(error));
        return sim_fail(SIM_DEVICE, "%s", text);
    }
    snprintf(text, size, "cuda:%d   %s, %d multiprocessors, %.1f GiB", index,
             properties.name, properties.multiProcessorCount,
             (double)properties.totalGlobalMem / (1 << 30));
    return SIM_OK;
}

static enum sim_status set_up(struct sim_device *device)
{
    struct cudaDeviceProp properties;
    cudaStream_t stream;
    cudaMemPool_t pool;
    SIM_TRY(checked(device, cudaSetDevice(device->index), "opening"));
    SIM_TRY(
        checked(device, cudaGetDeviceProperties(&properties, device->index), "opening"));
    snprintf(device->name, sizeof device->name, "%s", properties.name);
    device->memory = properties.totalGlobalMem;
    device->multiprocessors = properties.multiProcessorCount;
    SIM_TRY(checked(device, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                    "opening"));
    device->stream = stream;
    if (has_pool(device)) { /* keep freed memory for the next picture */
        uint64_t keep = UINT64_MAX;
        SIM_TRY(checked(device, cudaDeviceGetDefaultMemPool(&pool, device->index),
                        "opening"));
        SIM_TRY(checked(
            device, cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep),
            "opening"));
    }
    return SIM_OK;
}

enum sim_status sim_device_cuda_open(int index, struct sim_device **out)
{
    struct sim_device *device = calloc(1, sizeof *device);
    *out = NULL;
    if (!device)
        return sim_fail(SIM_HOST_MEMORY, "out of host memory");
    device->ops = &cuda_ops;
    device->kind = SIM_CUDA;
    device->index = index;
    device->threads = 1;
    enum sim_status status = set_up(device);
    if (status != SIM_OK)
        close_device(device);
    else
        *out = device;
    return status;
}
