/* device_cuda.c - a CUDA GPU as a device. The only C file that speaks the CUDA runtime
 * API.
 *
 * The queue is one stream. Pictures come down on a second one, each from a copy of its
 * own: the queue makes the copy, lets the second stream at it by an event, and goes on
 * with the steps; the second stream brings it to the host and gives its memory back, so
 * that nothing is written over while it is read. Memory comes from the stream-ordered
 * pool where there is one: freeing a picture must not wait for the queue, as cudaFree
 * does; without a pool pictures come down in the queue.
 *
 * Every call is checked; an error that CUDA keeps repeating (a crashed kernel, a GPU off
 * the bus) marks the device lost, and its first text is what everybody after it reports.
 * What is freed or destroyed after that fails, and is let fail: it went with the context.
 */
#include "../kernels/cuda_check.h"
#include "fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static enum sim_status lost(struct sim_device *device, cudaError_t error,
                            const char *doing)
{
    if (!device->lost) {
        sim_fail(SIM_DEVICE, "the GPU (cuda:%d, %s) was lost: %s: %s", device->index,
                 device->name, doing, cudaGetErrorString(error));
        sim_device_give_up(device);
    }
    return sim_device_usable(device);
}

static enum sim_status checked(struct sim_device *device, cudaError_t error,
                               const char *doing)
{
    return error == cudaSuccess ? SIM_OK : lost(device, error, doing);
}

/* Only a broken context fails this question. That work is under way is no error, but the
 * next launch might report it. */
static bool is_broken(const struct sim_device *device, cudaError_t *state)
{
    *state = cudaStreamQuery((cudaStream_t)device->stream);
    cudaGetLastError();
    return *state != cudaSuccess && *state != cudaErrorNotReady;
}

enum sim_status sim_cuda_alive(struct sim_device *device)
{
    cudaError_t state;
    return is_broken(device, &state) ? lost(device, state, "running a kernel") : SIM_OK;
}

enum sim_status sim_cuda_failed(struct sim_device *device, cudaError_t error,
                                const char *doing)
{
    cudaError_t state;
    if (device->lost)
        return sim_device_usable(device);
    cudaGetLastError(); /* a passing error must not surface again later */
    if (is_broken(device, &state))
        return lost(device, state, doing);
    return sim_fail(error == cudaErrorMemoryAllocation ? SIM_DEVICE_MEMORY : SIM_DEVICE,
                    "%s: %s", doing, cudaGetErrorString(error));
}

enum sim_status sim_cuda_stopped(struct sim_device *device, cudaError_t error,
                                 const char *doing)
{
    enum sim_status status = sim_cuda_failed(device, error, doing);
    sim_device_give_up(device);
    return status;
}

/* Events and streams; tests refuse them (fail.h). */
static cudaError_t make_event(unsigned flags, cudaEvent_t *event)
{
    if (sim_fail_now(SIM_FAIL_DEVICE))
        return cudaErrorMemoryAllocation;
    return cudaEventCreateWithFlags(event, flags);
}

static cudaError_t make_stream(void **out)
{
    cudaStream_t stream;
    if (sim_fail_now(SIM_FAIL_DEVICE))
        return cudaErrorMemoryAllocation;
    cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (error == cudaSuccess)
        *out = stream;
    return error;
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

/* Until all that is in a stream now is done. Short waits spin, long ones sleep; either
 * way Ctrl-C is seen. */
static enum sim_status wait_for(struct sim_device *device, cudaStream_t stream)
{
    const struct timespec nap = {.tv_nsec = 50000};
    for (long turn = 0;; turn++) {
        cudaError_t error = cudaStreamQuery(stream);
        if (error != cudaErrorNotReady)
            return checked(device, error, "running a kernel");
        cudaGetLastError(); /* "not ready" is none, but the next launch might report it */
        SIM_TRY(sim_check_interrupt());
        if (turn > 200)
            nanosleep(&nap, NULL);
    }
}

static enum sim_status finish(struct sim_device *device, bool pictures)
{
    SIM_TRY(wait_for(device, device->stream));
    return pictures ? wait_for(device, device->picture_stream) : SIM_OK;
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
        SIM_TRY(finish(device, true)); /* what is being freed may suffice */
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

static enum sim_status copy(struct sim_device *device, void *to, const void *from,
                            size_t bytes)
{
    return checked(
        device,
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, device->stream),
        "copying on the device");
}

/* A copy of its own for a download, made by the queue; NULL when there is no memory for
 * it. Work enqueued from now on may write over `from`. It is given back by the device,
 * nobody knows when, and so not counted as held by the script. */
static enum sim_status stage(struct sim_device *device, const void *from, size_t bytes,
                             void **staged)
{
    cudaEvent_t made;
    *staged = NULL;
    cudaError_t error = has_pool(device) && !sim_fail_now(SIM_FAIL_DEVICE)
                            ? try_allocate(device, bytes, staged)
                            : cudaErrorMemoryAllocation;
    if (error == cudaErrorMemoryAllocation) {
        *staged = NULL;
        return SIM_OK;
    }
    SIM_TRY(checked(device, error, "allocating"));
    SIM_TRY(copy(device, *staged, from, bytes));
    error = make_event(cudaEventDisableTiming, &made);
    if (error != cudaSuccess) {
        cudaFreeAsync(*staged, device->stream);
        return sim_cuda_status(device, error, "making an event");
    }
    error = cudaEventRecord(made, device->stream);
    if (error == cudaSuccess)
        error = cudaStreamWaitEvent(device->picture_stream, made, 0);
    cudaEventDestroy(made); /* at once; what waits for it goes on waiting */
    return checked(device, error, "copying to the host");
}

static cudaError_t enqueue_download(struct sim_device *device, void *to, const void *from,
                                    void *staged, size_t bytes, cudaEvent_t done)
{
    cudaStream_t stream = staged ? device->picture_stream : device->stream;
    cudaError_t error = cudaMemcpyAsync(to, staged ? staged : from, bytes,
                                        cudaMemcpyDeviceToHost, stream);
    if (error == cudaSuccess && staged)
        error = cudaFreeAsync(staged, stream);
    if (error == cudaSuccess)
        error = cudaEventRecord(done, stream);
    if (error == cudaSuccess && device->sync) /* or it runs beside a kernel being timed */
        error = cudaStreamSynchronize(stream);
    return error;
}

static enum sim_status download_later(struct sim_device *device, void *to,
                                      const void *from, size_t bytes,
                                      struct sim_ticket *ticket)
{
    void *staged;
    cudaEvent_t event;
    SIM_TRY(stage(device, from, bytes, &staged));
    cudaError_t error =
        make_event(cudaEventDisableTiming | cudaEventBlockingSync, &event);
    if (error != cudaSuccess) {
        if (staged)
            cudaFreeAsync(staged, device->picture_stream);
        return sim_cuda_status(device, error, "making an event");
    }
    ticket->event = event;
    return checked(device, enqueue_download(device, to, from, staged, bytes, event),
                   "copying to the host");
}

static enum sim_status download(struct sim_device *device, void *to, const void *from,
                                size_t bytes, struct sim_ticket *ticket)
{
    if (ticket)
        return download_later(device, to, from, bytes, ticket);
    cudaStream_t stream = device->stream;
    SIM_TRY(checked(device,
                    cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream),
                    "copying to the host"));
    return checked(device, cudaStreamSynchronize(stream), "copying to the host");
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

static enum sim_status fill(struct sim_device *device, void *to, int byte, size_t bytes)
{
    return checked(device, cudaMemsetAsync(to, byte, bytes, device->stream),
                   "filling device memory");
}

static enum sim_status host_allocate(struct sim_device *device, size_t bytes, void **data)
{
    cudaError_t error = sim_fail_now(SIM_FAIL_MEMORY) ? cudaErrorMemoryAllocation
                                                      : cudaMallocHost(data, bytes);
    if (error != cudaErrorMemoryAllocation)
        return checked(device, error, "allocating page-locked memory");
    cudaGetLastError();
    *data = NULL;
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
    if (device->picture_stream && !device->lost)
        cudaStreamDestroy(device->picture_stream);
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
    .crash = sim_cuda_crash,
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

/* The pool keeps freed memory for the next picture. It must not make one stream wait for
 * what the other frees: the steps would wait for a picture's way down. */
static enum sim_status set_up_pool(struct sim_device *device)
{
    uint64_t keep = UINT64_MAX;
    int wait = 0;
    cudaMemPool_t pool;
    cudaError_t error = cudaDeviceGetDefaultMemPool(&pool, device->index);
    if (error == cudaSuccess)
        error = cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep);
    if (error == cudaSuccess)
        error = cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies,
                                        &wait);
    return checked(device, error, "opening");
}

static enum sim_status set_up(struct sim_device *device)
{
    struct cudaDeviceProp properties;
    SIM_TRY(checked(device, cudaSetDevice(device->index), "opening"));
    SIM_TRY(
        checked(device, cudaGetDeviceProperties(&properties, device->index), "opening"));
    snprintf(device->name, sizeof device->name, "%s", properties.name);
    device->memory = properties.totalGlobalMem;
    device->multiprocessors = properties.multiProcessorCount;
    SIM_TRY(checked(device, make_stream(&device->stream), "opening"));
    SIM_TRY(checked(device, make_stream(&device->picture_stream), "opening"));
    return has_pool(device) ? set_up_pool(device) : SIM_OK;
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
