/* frame.c - the threads that bring pictures from a device into files, and the calls of
 * the thread that makes them. Who stands where is the queue's matter (frame_queue.h);
 * here is what is done to a picture: its memory, its download, the look at its tail, its
 * file.
 *
 * One mutex guards the queue; nothing that takes time is done under it. Only the thread
 * that saves allocates and frees page-locked memory.
 *
 * Not here: what a picture shows (image.c), folders and names of a run's frames (lib). */
#include "frame.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "frame_queue.h"
#include "png.h"

enum {
    SLOTS_DEFAULT = 4,
    SLOTS_MAX = 64,
    THREADS_DEFAULT_MAX = 4,
    POLL_MILLISECONDS = 20, /* how late an interrupt may be seen */
    POLLS_INTERRUPTED = 8,  /* what a picture being written may still take after it */
};

struct sim_frames {
    struct sim_device *device;
    pthread_mutex_t mutex;
    pthread_cond_t work, change; /* for the writers; for the thread that saves */
    bool stop, abandoned;
    int running; /* writers that have not ended */
    int thread_count;
    pthread_t *threads;
    struct sim_queue queue;
    struct sim_frames *older; /* of those given up */
};

static struct timespec from_now(double seconds)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    double limit = seconds > 0 ? (seconds < 1e6 ? seconds : 1e6) : 0; /* 0 for NaN */
    at.tv_sec += (time_t)limit;
    at.tv_nsec += (long)((limit - (double)(time_t)limit) * 1e9);
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

static void wait_a_little(struct sim_frames *frames)
{
    struct timespec until = from_now(POLL_MILLISECONDS * 1e-3);
    pthread_cond_timedwait(&frames->change, &frames->mutex, &until);
}

/* --- the writers --------------------------------------------------------------- */

static enum sim_status check_found(const struct sim_image_check *check, int64_t found)
{
    if (found == INT64_MAX)
        return SIM_OK;
    const char *name = *check->name ? check->name : "bodies";
    if (check->kind == SIM_CHECK_FIELD)
        return sim_fail(
            SIM_DIVERGED, "%s is not finite at cell (%lld, %lld), step %lld (t = %g)",
            name, (long long)(found % check->nx) + 1, (long long)(found / check->nx) + 1,
            (long long)check->step, check->time);
    if (check->kind == SIM_CHECK_COINCIDENT)
        return sim_fail(
            SIM_DIVERGED,
            "%s diverged: body %lld is at the same place as another, and softening "
            "is 0, by step %lld (t = %g)",
            name, (long long)found + 1, (long long)check->step, check->time);
    return sim_fail(SIM_DIVERGED,
                    "%s diverged: body %lld is not finite at step %lld (t = %g)", name,
                    (long long)found + 1, (long long)check->step, check->time);
}

/* A field whose solver keeps its time on the device; it may have broken where this field
 * does not show it. */
static enum sim_status check_clocked(const struct sim_image_check *check, int64_t found,
                                     const struct sim_field_clock *clock)
{
    const int64_t step = clock->bad_step ? clock->bad_step : clock->step;
    if (found != INT64_MAX)
        return sim_fail(SIM_DIVERGED,
                        "%s is not finite at cell (%lld, %lld), step %lld (t = %g, "
                        "largest CFL number %.3g)",
                        check->name, (long long)(found % check->nx) + 1,
                        (long long)(found / check->nx) + 1, (long long)step, clock->time,
                        clock->cfl);
    if (clock->bad_step)
        return sim_fail(SIM_DIVERGED,
                        "what moves %s diverged by step %lld (t = %g, largest CFL number "
                        "%.3g)",
                        check->name, (long long)step, clock->time, clock->cfl);
    return SIM_OK;
}

/* A device that writes NaN into a picture's tail has found it in what is pictured. */
static enum sim_status check_tail(const struct sim_slot *slot)
{
    struct sim_image_tail tail;
    const struct sim_image *image = &slot->image;
    memcpy(&tail, (const char *)slot->host + image->tail_offset, sizeof tail);
    for (int k = 0; k < image->check_count; k++)
        SIM_TRY(image->checks[k].clock
                    ? check_clocked(&image->checks[k], tail.found[k],
                                    &tail.clock[image->checks[k].clock - 1])
                    : check_found(&image->checks[k], tail.found[k]));
    if (!tail.checked)
        return SIM_OK;
    struct sim_image_check check = {SIM_CHECK_COINCIDENT, "",          0,
                                    image->step,          image->time, 0};
    memcpy(check.name, image->subject, sizeof check.name);
    SIM_TRY(check_found(&check, tail.check.coincident));
    check.kind = SIM_CHECK_BODY;
    return check_found(&check, tail.check.bad);
}

/* Tell sim_frames_close() of a temporary file; false when it has given up waiting. */
static bool publish_temporary(struct sim_frames *frames, struct sim_slot *slot,
                              const char *name)
{
    pthread_mutex_lock(&frames->mutex);
    slot->temporary = name;
    bool wanted = !frames->abandoned;
    pthread_mutex_unlock(&frames->mutex);
    return wanted;
}

static enum sim_status write_file(struct sim_frames *frames, struct sim_slot *slot,
                                  const struct sim_png *png)
{
    struct sim_draft draft;
    SIM_TRY(sim_draft_open(slot->path, &draft));
    enum sim_status status = SIM_INTERRUPTED;
    if (publish_temporary(frames, slot, draft.temporary))
        status = sim_draft_write(&draft, png->bytes, png->size);
    if (status == SIM_OK)
        status = sim_draft_commit(&draft);
    publish_temporary(frames, slot, NULL);
    sim_draft_free(&draft);
    return status;
}

static enum sim_status write_picture(struct sim_frames *frames, struct sim_slot *slot,
                                     struct sim_frame_result *result)
{
    struct sim_png png;
    SIM_TRY(check_tail(slot));
    SIM_TRY(sim_png_encode(slot->host, slot->image.width, slot->image.height, 3, &png));
    enum sim_status status = write_file(frames, slot, &png);
    *result = (struct sim_frame_result){.ticket = slot->ticket, .bytes = png.size};
    sim_hash_text(png.bytes, png.size, result->hash);
    sim_png_free(&png);
    return status;
}

/* Called and left with the mutex held. */
static void process(struct sim_frames *frames, struct sim_slot *slot)
{
    struct sim_frame_result result;
    slot->state = SIM_SLOT_LOADING;
    pthread_mutex_unlock(&frames->mutex);
    enum sim_status status = sim_ticket_wait(&slot->download);
    pthread_mutex_lock(&frames->mutex);
    if (slot->given_up) {
        sim_slot_release(slot);
        return;
    }
    slot->state = SIM_SLOT_WRITING;
    pthread_mutex_unlock(&frames->mutex);
    if (status == SIM_OK)
        status = write_picture(frames, slot, &result);
    pthread_mutex_lock(&frames->mutex);
    if (status == SIM_OK)
        sim_queue_written(&frames->queue, slot, &result);
    else
        sim_queue_failed(&frames->queue, slot, status);
}

static void *writer(void *context)
{
    struct sim_frames *frames = context;
    pthread_mutex_lock(&frames->mutex);
    for (;;) {
        struct sim_slot *slot = sim_queue_next(&frames->queue);
        if (slot) {
            process(frames, slot);
            pthread_cond_broadcast(&frames->work); /* a picture of the same path may go */
            pthread_cond_broadcast(&frames->change);
        } else if (frames->stop)
            break;
        else
            pthread_cond_wait(&frames->work, &frames->mutex);
    }
    frames->running--;
    pthread_cond_broadcast(&frames->change);
    pthread_mutex_unlock(&frames->mutex);
    return NULL;
}

/* --- opening and closing ------------------------------------------------------- */

static void frames_free(struct sim_frames *frames)
{
    for (int i = 0; i < frames->queue.slot_count; i++)
        sim_host_free(frames->device, frames->queue.slots[i].host);
    sim_queue_free(&frames->queue);
    pthread_cond_destroy(&frames->work);
    pthread_cond_destroy(&frames->change);
    pthread_mutex_destroy(&frames->mutex);
    free(frames->threads);
    free(frames);
}

static void locks_init(struct sim_frames *frames)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&frames->mutex, NULL);
    pthread_cond_init(&frames->work, NULL);
    pthread_cond_init(&frames->change, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* Signals stay with the main thread. With fewer threads than asked for it goes on. */
static enum sim_status start_threads(struct sim_frames *frames, int count)
{
    sigset_t all, before;
    int cause = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_mutex_lock(&frames->mutex);
    while (frames->thread_count < count && cause == 0) {
        cause =
            pthread_create(&frames->threads[frames->thread_count], NULL, writer, frames);
        if (cause == 0)
            frames->thread_count++;
    }
    frames->running = frames->thread_count;
    pthread_mutex_unlock(&frames->mutex);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (frames->thread_count > 0)
        return SIM_OK;
    return sim_fail(SIM_HOST_MEMORY, "cannot start a thread that writes pictures: %s",
                    strerror(cause));
}

static int clamp(int value, int low, int high)
{
    return value < low ? low : value > high ? high : value;
}

enum sim_status sim_frames_open(struct sim_device *device, int threads, int slots,
                                struct sim_frames **out)
{
    *out = NULL;
    slots = slots > 0 ? clamp(slots, 1, SLOTS_MAX) : SLOTS_DEFAULT;
    if (threads <= 0)
        threads = clamp(device->threads / 2, 1, THREADS_DEFAULT_MAX);
    threads = clamp(threads, 1, slots);
    struct sim_frames *frames = calloc(1, sizeof *frames);
    if (!frames)
        return sim_fail(SIM_HOST_MEMORY, "out of host memory");
    frames->device = device;
    locks_init(frames);
    enum sim_status status = sim_queue_new(slots, &frames->queue);
    frames->threads = calloc((size_t)threads, sizeof *frames->threads);
    if (status == SIM_OK && !frames->threads)
        status = sim_fail(SIM_HOST_MEMORY, "out of host memory");
    if (status == SIM_OK)
        status = start_threads(frames, threads);
    if (status == SIM_OK)
        *out = frames;
    else
        frames_free(frames);
    return status;
}

/* What hanging writers may still touch, so that it is not taken for a leak. */
static struct sim_frames *given_up;

/* A writer that hangs (a dead network disk, a GPU that does not answer) cannot be ended
 * from outside: its temporary file is removed, so that its rename must fail, and what it
 * may still touch is left to the end of the process. */
static void abandon(struct sim_frames *frames)
{
    frames->abandoned = true;
    frames->older = given_up;
    given_up = frames;
    for (int i = 0; i < frames->queue.slot_count; i++)
        if (frames->queue.slots[i].temporary)
            unlink(frames->queue.slots[i].temporary);
    for (int i = 0; i < frames->thread_count; i++)
        pthread_detach(frames->threads[i]);
}

/* With the mutex held: false when writers are still running at `until`. */
static bool wait_for_writers(struct sim_frames *frames, const struct timespec *until)
{
    int late = 0;
    while (frames->running > 0 && late != ETIMEDOUT)
        late = pthread_cond_timedwait(&frames->change, &frames->mutex, until);
    return frames->running == 0;
}

void sim_frames_close(struct sim_frames *frames, double seconds)
{
    if (!frames)
        return;
    struct timespec until = from_now(seconds);
    pthread_mutex_lock(&frames->mutex);
    sim_queue_give_up(&frames->queue);
    frames->stop = true;
    pthread_cond_broadcast(&frames->work);
    bool ended = wait_for_writers(frames, &until);
    if (!ended)
        abandon(frames);
    pthread_mutex_unlock(&frames->mutex);
    if (!ended)
        return;
    for (int i = 0; i < frames->thread_count; i++)
        pthread_join(frames->threads[i], NULL);
    frames_free(frames);
}

/* --- saving -------------------------------------------------------------------- */

static enum sim_status wait_for_slot(struct sim_frames *frames, size_t bytes,
                                     const char *where, struct sim_slot **out)
{
    pthread_mutex_lock(&frames->mutex);
    enum sim_status status = sim_queue_report(&frames->queue, where);
    while (status == SIM_OK && !(*out = sim_queue_free_slot(&frames->queue, bytes))) {
        wait_a_little(frames);
        status = sim_queue_report(&frames->queue, where);
        if (status == SIM_OK)
            status = sim_check_interrupt();
    }
    if (status == SIM_OK)
        status = sim_queue_reserve(&frames->queue);
    pthread_mutex_unlock(&frames->mutex);
    return status;
}

static enum sim_status slot_grow(struct sim_device *device, struct sim_slot *slot,
                                 size_t bytes)
{
    if (slot->capacity >= bytes)
        return SIM_OK;
    sim_host_free(device, slot->host);
    slot->host = NULL;
    slot->capacity = 0;
    SIM_TRY(sim_host_new(device, bytes, &slot->host));
    slot->capacity = bytes;
    return SIM_OK;
}

static enum sim_status slot_load(struct sim_slot *slot, const struct sim_image *image,
                                 const char *path, const char *where, size_t bytes)
{
    slot->path = strdup(path);
    if (!slot->path)
        return sim_fail(SIM_HOST_MEMORY, "out of host memory: a picture's path");
    slot->image = *image;
    snprintf(slot->where, sizeof slot->where, "%s", where);
    return sim_buffer_read_later(&image->pixels, 0, slot->host, bytes, &slot->download);
}

static int64_t enqueue(struct sim_frames *frames, struct sim_slot *slot)
{
    pthread_mutex_lock(&frames->mutex);
    int64_t ticket = sim_queue_push(&frames->queue, slot);
    pthread_cond_signal(&frames->work);
    pthread_mutex_unlock(&frames->mutex);
    return ticket;
}

enum sim_status sim_frames_save(struct sim_frames *frames, const struct sim_image *image,
                                const char *path, const char *where, int64_t *ticket)
{
    struct sim_slot *slot = NULL;
    size_t bytes = sim_image_bytes(image);
    SIM_TRY(wait_for_slot(frames, bytes, where, &slot));
    enum sim_status status = sim_file_check(path);
    if (status == SIM_OK)
        status = slot_grow(frames->device, slot, bytes);
    if (status == SIM_OK)
        status = slot_load(slot, image, path, where, bytes);
    if (status != SIM_OK) {
        sim_slot_release(slot);
        return status;
    }
    int64_t number = enqueue(frames, slot);
    if (ticket)
        *ticket = number;
    return SIM_OK;
}

int sim_frames_results(struct sim_frames *frames, struct sim_frame_result *out, int count)
{
    pthread_mutex_lock(&frames->mutex);
    int taken = sim_queue_results(&frames->queue, out, count);
    pthread_mutex_unlock(&frames->mutex);
    return taken;
}

enum sim_status sim_frames_finish(struct sim_frames *frames)
{
    int lost = 0, polls = 0;
    pthread_mutex_lock(&frames->mutex);
    while (sim_queue_busy(&frames->queue) && polls < POLLS_INTERRUPTED) {
        if (sim_interrupt_signal()) {
            lost += sim_queue_give_up(&frames->queue);
            polls++;
        }
        if (sim_queue_busy(&frames->queue))
            wait_a_little(frames);
    }
    if (sim_queue_busy(&frames->queue))
        lost++;
    enum sim_status status = sim_queue_report(&frames->queue, "");
    pthread_mutex_unlock(&frames->mutex);
    if (status == SIM_OK && lost > 0)
        status = sim_check_interrupt();
    return status;
}
