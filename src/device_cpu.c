/* device_cpu.c - the CPU as a device: memory is malloc'd, and work has been done by the
 * time its call returns, so that waiting is free. */
#include "device.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT 64 /* a cache line, and the widest vector */
/* Linux grants more memory than there is; above this size ask first what is there. */
#define ASK_FIRST ((size_t)16 << 20)
/* Such arrays are asked for in large pages: a stencil over 4096^2 cells then takes 0.7 to
 * 0.9 of the time. */
#define LARGE_PAGE ((size_t)2 << 20)

/* A number of bytes from a line "key: 123 kB" of /proc/meminfo; 0 if there is none. */
static uint64_t meminfo(const char *key)
{
    FILE *file = fopen("/proc/meminfo", "r");
    char line[128];
    unsigned long long kib = 0;
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, key, strlen(key)))
            sscanf(line + strlen(key), ": %llu", &kib);
    if (file)
        fclose(file);
    return (uint64_t)kib * 1024;
}

/* A container's limit may be below what the machine has. */
static uint64_t cgroup_limit(void)
{
    FILE *file = fopen("/sys/fs/cgroup/memory.max", "r");
    unsigned long long bytes = 0;
    if (file) {
        if (fscanf(file, "%llu", &bytes) != 1)
            bytes = 0;
        fclose(file);
    }
    return bytes ? bytes : UINT64_MAX;
}

static uint64_t free_memory(struct sim_device *device)
{
    uint64_t there = meminfo("MemAvailable");
    uint64_t live = device->stats.live_bytes;
    uint64_t left = device->memory > live ? device->memory - live : 0;
    return there && there < left ? there : left;
}

static enum sim_status allocate(struct sim_device *device, size_t bytes, const char *what,
                                void **data)
{
    const size_t alignment = bytes < ASK_FIRST ? ALIGNMENT : LARGE_PAGE;
    size_t padded = (bytes + alignment - 1) / alignment * alignment;
    *data = NULL;
    if (padded >= bytes && (bytes < ASK_FIRST || bytes <= free_memory(device)))
        *data = aligned_alloc(alignment, padded);
    if (*data) {
        if (alignment == LARGE_PAGE)
            madvise(*data, padded, MADV_HUGEPAGE); /* a wish: refused is fine */
        return SIM_OK;
    }
    const double gib = 1 << 30;
    return sim_fail(
        SIM_DEVICE_MEMORY,
        "out of memory: %s needs %.3g GiB; the CPU has %.3g GiB free of %.3g GiB "
        "(%.3g GiB held by this script)",
        what, (double)bytes / gib, (double)free_memory(device) / gib,
        (double)device->memory / gib, (double)device->stats.live_bytes / gib);
}

static void release(struct sim_device *device, void *data)
{
    (void)device;
    free(data);
}

static enum sim_status copy(struct sim_device *device, void *to, const void *from,
                            size_t bytes)
{
    (void)device;
    memmove(to, from, bytes);
    return SIM_OK;
}

static enum sim_status download(struct sim_device *device, void *to, const void *from,
                                size_t bytes, struct sim_ticket *ticket)
{
    (void)ticket;
    return copy(device, to, from, bytes);
}

static enum sim_status fill(struct sim_device *device, void *to, int byte, size_t bytes)
{
    (void)device;
    memset(to, byte, bytes);
    return SIM_OK;
}

static enum sim_status finish(struct sim_device *device, bool pictures)
{
    (void)device, (void)pictures;
    return sim_check_interrupt();
}

static enum sim_status ticket_wait(struct sim_ticket *ticket)
{
    (void)ticket;
    return SIM_OK;
}

static enum sim_status host_allocate(struct sim_device *device, size_t bytes, void **data)
{
    (void)device;
    *data = malloc(bytes);
    if (*data)
        return SIM_OK;
    return sim_fail(SIM_HOST_MEMORY, "out of host memory: %zu bytes for a picture",
                    bytes);
}

static void close_device(struct sim_device *device)
{
    free(device);
}

static const struct sim_device_ops cpu_ops = {
    .allocate = allocate,
    .release = release,
    .upload = copy,
    .download = download,
    .copy = copy,
    .fill = fill,
    .finish = finish,
    .ticket_wait = ticket_wait,
    .host_allocate = host_allocate,
    .host_release = release,
    .free_memory = free_memory,
    .close = close_device,
};

static void processor_name(char *name, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];
    snprintf(name, size, "CPU");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (!strncmp(line, "model name", 10) && colon) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(name, size, "%s", colon + 2);
            break;
        }
    }
    if (file)
        fclose(file);
}

enum sim_status sim_device_cpu_open(int threads, struct sim_device **out)
{
    struct sim_device *device = calloc(1, sizeof *device);
    *out = device;
    if (!device)
        return sim_fail(SIM_HOST_MEMORY, "out of host memory");
    device->ops = &cpu_ops;
    device->kind = SIM_CPU;
    device->threads = threads > 0 ? threads : omp_get_num_procs();
    device->multiprocessors = device->threads;
    device->memory = meminfo("MemTotal");
    uint64_t limit = cgroup_limit();
    if (!device->memory || limit < device->memory)
        device->memory = limit;
    processor_name(device->name, sizeof device->name);
    return SIM_OK;
}
