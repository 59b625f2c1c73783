/* device.c - devices and buffers, the part that both backends share: choosing a device,
 * bounds, counting. What differs is in device_cpu.c and device_cuda.c. */
#include "device.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

#define DEVICE_WORDS "'auto', 'cpu', 'cuda' or 'cuda:K'"

/* "cuda" is 0, "cuda:3" is 3, anything else -1. */
static int cuda_index(const char *spec)
{
    if (strncmp(spec, "cuda", 4) != 0)
        return -1;
    if (!spec[4])
        return 0;
    char *end;
    errno = 0;
    long index = strtol(spec + 5, &end, 10);
    bool plain = spec[4] == ':' && spec[5] >= '0' && spec[5] <= '9' && !*end;
    return plain && !errno && index < 1024 ? (int)index : -1;
}

enum sim_status sim_device_open(const char *spec, int threads, struct sim_device **out)
{
    char why[256];
    *out = NULL;
    if (!strcmp(spec, "cpu"))
        return sim_device_cpu_open(threads, out);
    if (!strcmp(spec, "auto")) {
        if (sim_device_cuda_count(why, sizeof why) < 1)
            return sim_device_cpu_open(threads, out);
        spec = "cuda";
    }
    int index = cuda_index(spec);
    if (index < 0)
        return sim_fail(SIM_BAD_ARGUMENT, "no device '%s': legal are " DEVICE_WORDS,
                        spec);
    int count = sim_device_cuda_count(why, sizeof why);
    if (count == 0)
        return sim_fail(SIM_DEVICE, "no CUDA device: %s", why);
    if (index >= count)
        return sim_fail(SIM_DEVICE, "no device cuda:%d: there %s %d, cuda:0%s", index,
                        count == 1 ? "is" : "are", count, count == 1 ? "" : " and up");
    SIM_TRY(sim_device_cuda_open(index, out));
    struct sim_device *cpu = NULL; /* host loops beside the GPU want a thread count too */
    if (sim_device_cpu_open(threads, &cpu) == SIM_OK) {
        (*out)->threads = cpu->threads;
        sim_device_close(cpu);
    }
    return SIM_OK;
}

void sim_device_close(struct sim_device *device)
{
    if (device)
        device->ops->close(device);
}

void sim_device_list(void (*line)(void *context, const char *text), void *context)
{
    char text[512], why[256];
    int count = sim_device_cuda_count(why, sizeof why);
    for (int i = 0; i < count; i++) {
        sim_device_cuda_describe(i, text, sizeof text);
        line(context, text);
    }
    struct sim_device *cpu;
    if (sim_device_cpu_open(0, &cpu) == SIM_OK) {
        snprintf(text, sizeof text, "cpu      %s, %d threads, %.1f GiB", cpu->name,
                 cpu->threads, (double)cpu->memory / (1 << 30));
        line(context, text);
        sim_device_close(cpu);
    }
    if (count == 0) {
        snprintf(text, sizeof text, "(no CUDA device: %s)", why);
        line(context, text);
    }
}

enum sim_status sim_device_usable(const struct sim_device *device)
{
    if (device->lost)
        return sim_fail(SIM_DEVICE, "%s", device->lost_text);
    return SIM_OK;
}

void sim_device_give_up(struct sim_device *device)
{
    if (!device->lost)
        snprintf(device->lost_text, sizeof device->lost_text, "%s", sim_error_text());
    device->lost = true;
}

static void lose(struct sim_device *device)
{
    sim_fail(SIM_DEVICE, "the device was lost, as SIMLUA_FAIL asks");
    sim_device_give_up(device);
}

/* Before a copy: may the device be used? Tests lose it here (fail.h). */
static enum sim_status ready(struct sim_device *device)
{
    if (!device->lost && sim_fail_now(SIM_FAIL_COPY))
        lose(device);
    return sim_device_usable(device);
}

/* A GPU crashes behind the caller's back: whoever asks it next finds out. */
static void crash(struct sim_device *device)
{
    if (device->ops->crash)
        device->ops->crash(device);
    else
        lose(device);
}

enum sim_status sim_device_launch(struct sim_device *device, const char *name)
{
    SIM_TRY(sim_device_usable(device));
    device->stats.launches++;
    if (sim_fail_now(SIM_FAIL_LAUNCH)) {
        sim_fail(SIM_DEVICE, "%s: it failed, as SIMLUA_FAIL asks", name);
        sim_device_give_up(device);
    }
    if (sim_fail_now(SIM_FAIL_CRASH))
        crash(device);
    return sim_device_usable(device);
}

enum sim_status sim_buffer_new(struct sim_device *device, size_t bytes, const char *what,
                               struct sim_buffer *out)
{
    *out = (struct sim_buffer){.device = device};
    if (bytes == 0)
        return SIM_OK;
    SIM_TRY(sim_device_usable(device));
    if (sim_fail_now(SIM_FAIL_DEVICE))
        return sim_fail(SIM_DEVICE_MEMORY, "out of memory: %s, as SIMLUA_FAIL asks",
                        what);
    SIM_TRY(device->ops->allocate(device, bytes, what, &out->data));
    out->bytes = bytes;
    struct sim_device_stats *stats = &device->stats;
    stats->allocations++;
    stats->live_bytes += bytes;
    if (stats->live_bytes > stats->peak_bytes)
        stats->peak_bytes = stats->live_bytes;
    return device->poison ? device->ops->fill(device, out->data, 0xff, bytes) : SIM_OK;
}

void sim_buffer_free(struct sim_buffer *buffer)
{
    if (buffer->data) {
        buffer->device->ops->release(buffer->device, buffer->data);
        buffer->device->stats.live_bytes -= buffer->bytes;
    }
    *buffer = (struct sim_buffer){.device = buffer->device};
}

/* A range outside the buffer is a bug in C, never a script's slip. */
static char *inside(const struct sim_buffer *buffer, size_t offset, size_t bytes)
{
    assert(offset <= buffer->bytes && bytes <= buffer->bytes - offset);
    return (char *)buffer->data + offset;
}

enum sim_status sim_buffer_write(struct sim_buffer *buffer, size_t offset,
                                 const void *from, size_t bytes)
{
    if (bytes == 0)
        return SIM_OK;
    struct sim_device *device = buffer->device;
    SIM_TRY(ready(device));
    device->stats.bytes_up += bytes;
    return device->ops->upload(device, inside(buffer, offset, bytes), from, bytes);
}

enum sim_status sim_buffer_read(const struct sim_buffer *buffer, size_t offset, void *to,
                                size_t bytes)
{
    if (bytes == 0)
        return SIM_OK;
    struct sim_device *device = buffer->device;
    SIM_TRY(ready(device));
    device->stats.waits++;
    SIM_TRY(device->ops->finish(device, false)); /* pictures may still come down */
    device->stats.bytes_down += bytes;
    return device->ops->download(device, to, inside(buffer, offset, bytes), bytes, NULL);
}

enum sim_status sim_buffer_read_later(const struct sim_buffer *buffer, size_t offset,
                                      void *to, size_t bytes, struct sim_ticket *ticket)
{
    struct sim_device *device = buffer->device;
    *ticket = (struct sim_ticket){.device = device};
    if (bytes == 0)
        return SIM_OK;
    SIM_TRY(ready(device));
    device->stats.bytes_down += bytes;
    return device->ops->download(device, to, inside(buffer, offset, bytes), bytes,
                                 ticket);
}

enum sim_status sim_buffer_copy(struct sim_buffer *to, size_t to_offset,
                                const struct sim_buffer *from, size_t from_offset,
                                size_t bytes)
{
    if (bytes == 0)
        return SIM_OK;
    SIM_TRY(ready(to->device));
    return to->device->ops->copy(to->device, inside(to, to_offset, bytes),
                                 inside(from, from_offset, bytes), bytes);
}

enum sim_status sim_buffer_zero(struct sim_buffer *buffer)
{
    if (buffer->bytes == 0)
        return SIM_OK;
    SIM_TRY(ready(buffer->device));
    return buffer->device->ops->fill(buffer->device, buffer->data, 0, buffer->bytes);
}

enum sim_status sim_ticket_wait(struct sim_ticket *ticket)
{
    return ticket->event ? ticket->device->ops->ticket_wait(ticket) : SIM_OK;
}

enum sim_status sim_device_finish(struct sim_device *device)
{
    SIM_TRY(sim_device_usable(device));
    device->stats.waits++;
    return device->ops->finish(device, true);
}

enum sim_status sim_host_new(struct sim_device *device, size_t bytes, void **out)
{
    *out = NULL;
    SIM_TRY(sim_device_usable(device));
    return device->ops->host_allocate(device, bytes ? bytes : 1, out);
}

void sim_host_free(struct sim_device *device, void *data)
{
    if (data)
        device->ops->host_release(device, data);
}

enum sim_status sim_size_multiply(size_t a, size_t b, const char *what, size_t *out)
{
    if (__builtin_mul_overflow(a, b, out))
        return sim_fail(SIM_BAD_ARGUMENT, "%s: %zu times %zu is too large", what, a, b);
    return SIM_OK;
}
