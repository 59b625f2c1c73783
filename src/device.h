/* device.h - where simulation state lives: a CUDA GPU, or the CPU.
 *
 * A device owns memory and one in-order queue of work. Work is enqueued and returns at
 * once; only sim_buffer_read, sim_device_finish and sim_ticket_wait wait for it. Pictures
 * come down beside the queue, as they were when their read stood in it. On the CPU every
 * call has finished when it returns, which is a legal way to keep that promise.
 * All traffic is counted in device->stats, so that a script can see that nothing but
 * pictures crosses to the host.
 *
 * Not here: arithmetic. The solvers' operations are in kernels/, one table per backend.
 */
#ifndef SIM_DEVICE_H
#define SIM_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

enum sim_device_kind { SIM_CPU, SIM_CUDA };

struct sim_device_stats {
    uint64_t live_bytes;  /* device memory held now */
    uint64_t peak_bytes;  /* the most it ever was */
    uint64_t allocations; /* buffers made so far */
    uint64_t launches;    /* kernels (CUDA) or parallel loops (CPU) started */
    uint64_t bytes_up;    /* host to device */
    uint64_t bytes_down;  /* device to host */
    uint64_t waits;       /* times the host waited for the device */
    double sync_seconds;  /* with --sync: time spent in launched work */
};

struct sim_device_ops;

struct sim_device {
    const struct sim_device_ops *ops;
    enum sim_device_kind kind;
    int index;            /* CUDA ordinal; 0 for the CPU */
    char name[256];       /* "NVIDIA H200", or the processor's model name */
    uint64_t memory;      /* bytes in all */
    int multiprocessors;  /* CUDA; CPU: number of threads */
    int threads;          /* CPU threads used in loops (also host loops beside CUDA) */
    bool sync;            /* --sync: wait after each launch and time it */
    bool poison;          /* tests: new buffers are filled with NaN bytes */
    void *stream;         /* CUDA: the queue (cudaStream_t); CPU: NULL */
    void *picture_stream; /* CUDA: pictures on their way down */
    bool lost;            /* a sticky error: every later call repeats lost_text */
    char lost_text[512];
    struct sim_device_stats stats;
};

/* One allocation on a device. Zero-initialised means empty; freeing empty is fine. */
struct sim_buffer {
    struct sim_device *device;
    void *data; /* device pointer */
    size_t bytes;
};

/* A copy under way to host memory; wait before reading what it writes. */
struct sim_ticket {
    struct sim_device *device;
    void *event; /* CUDA event; NULL when already done */
};

struct sim_device_ops {
    enum sim_status (*allocate)(struct sim_device *, size_t bytes, const char *what,
                                void **data);
    void (*release)(struct sim_device *, void *data);
    enum sim_status (*upload)(struct sim_device *, void *to, const void *from,
                              size_t bytes);
    enum sim_status (*download)(struct sim_device *, void *to, const void *from,
                                size_t bytes, struct sim_ticket *ticket);
    enum sim_status (*copy)(struct sim_device *, void *to, const void *from,
                            size_t bytes);
    enum sim_status (*fill)(struct sim_device *, void *to, int byte, size_t bytes);
    enum sim_status (*finish)(struct sim_device *, bool pictures); /* also these */
    enum sim_status (*ticket_wait)(struct sim_ticket *);
    enum sim_status (*host_allocate)(struct sim_device *, size_t bytes, void **data);
    void (*host_release)(struct sim_device *, void *data);
    uint64_t (*free_memory)(struct sim_device *); /* bytes that could still be had */
    void (*crash)(struct sim_device *); /* tests: be lost for good; NULL: only say so */
    void (*close)(struct sim_device *);
};

/* Open the device that `spec` names: "auto" (a GPU if one works, else the CPU), "cpu",
 * "cuda" (the first GPU), "cuda:K". `threads` is the number of CPU threads, 0 for all.
 * SIM_BAD_ARGUMENT for a word that is none of these; SIM_DEVICE when it is not there. */
enum sim_status sim_device_open(const char *spec, int threads, struct sim_device **out);
void sim_device_close(struct sim_device *device);

/* Describe all devices, one line each, for --devices: calls `line` per device. */
void sim_device_list(void (*line)(void *context, const char *text), void *context);

/* SIM_OK, or SIM_DEVICE with the first failure's text when the device was lost. */
enum sim_status sim_device_usable(const struct sim_device *device);

/* Nothing goes on with this device: it was lost, or a part of a step failed, and what it
 * computed is half done. The error text of now is what everybody hears from here on. */
void sim_device_give_up(struct sim_device *device);

/* Before a kernel (CUDA), before or after a loop (CPU) that `name` is: counts it;
 * SIM_DEVICE when the device was lost, or when a test has it fail (fail.h), which gives
 * it up. */
enum sim_status sim_device_launch(struct sim_device *device, const char *name);

/* Allocate `bytes` (0 is legal and gives an empty buffer). `what` names it in the
 * out-of-memory message. Contents are undefined. */
enum sim_status sim_buffer_new(struct sim_device *device, size_t bytes, const char *what,
                               struct sim_buffer *out);
void sim_buffer_free(struct sim_buffer *buffer);

/* Copies at a byte offset, enqueued in order. write: `from` may be reused on return.
 * read: waits for all work before it. */
enum sim_status sim_buffer_write(struct sim_buffer *buffer, size_t offset,
                                 const void *from, size_t bytes);
enum sim_status sim_buffer_read(const struct sim_buffer *buffer, size_t offset, void *to,
                                size_t bytes);
/* As read, but does not wait, and what is enqueued after it does not wait for the copy
 * either; it may write to the buffer and free it. `to` (from sim_host_new) is whole after
 * the ticket's wait. */
enum sim_status sim_buffer_read_later(const struct sim_buffer *buffer, size_t offset,
                                      void *to, size_t bytes, struct sim_ticket *ticket);
enum sim_status sim_buffer_copy(struct sim_buffer *to, size_t to_offset,
                                const struct sim_buffer *from, size_t from_offset,
                                size_t bytes);
enum sim_status sim_buffer_zero(struct sim_buffer *buffer);

/* Wait for a ticket (any thread may) and free it; waiting twice is fine. */
enum sim_status sim_ticket_wait(struct sim_ticket *ticket);

/* Wait until all enqueued work is done and all pictures are on the host; returns early
 * with SIM_INTERRUPTED on a signal. */
enum sim_status sim_device_finish(struct sim_device *device);

/* Page-locked host memory, for pictures on their way down. */
enum sim_status sim_host_new(struct sim_device *device, size_t bytes, void **out);
void sim_host_free(struct sim_device *device, void *data);

/* a*b and a+b, or SIM_BAD_ARGUMENT naming `what` when the result overflows size_t. */
enum sim_status sim_size_multiply(size_t a, size_t b, const char *what, size_t *out);

/* Backends, for device.c alone. cuda_open reports SIM_DEVICE in a build without nvcc. */
enum sim_status sim_device_cpu_open(int threads, struct sim_device **out);
enum sim_status sim_device_cuda_open(int index, struct sim_device **out);
int sim_device_cuda_count(char *why_none, size_t size);
enum sim_status sim_device_cuda_describe(int index, char *text, size_t size);

#endif
