/* frame_queue.c - slots and records; see frame_queue.h for the states and their order. */
#include "frame_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum outcome { PENDING, WRITTEN, LOST };

struct sim_record {
    enum outcome outcome;
    struct sim_slot *failed; /* of LOST, until it was reported */
    char *path;              /* of WRITTEN, owned, until it is settled */
    struct sim_frame_result result;
};

static struct sim_record *record_of(struct sim_queue *queue, int64_t ticket)
{
    return &queue->records[ticket & (queue->record_capacity - 1)];
}

enum sim_status sim_queue_new(int slots, struct sim_queue *out)
{
    *out = (struct sim_queue){.record_capacity = 64};
    out->records = calloc((size_t)out->record_capacity, sizeof *out->records);
    out->slots = calloc((size_t)slots, sizeof *out->slots);
    if (!out->records || !out->slots)
        return sim_fail(SIM_HOST_MEMORY, "out of host memory: the queue of pictures");
    out->slot_count = slots;
    return SIM_OK;
}

void sim_queue_free(struct sim_queue *queue)
{
    for (int i = 0; i < queue->slot_count; i++)
        free(queue->slots[i].path);
    for (int64_t t = queue->settled; t < queue->next; t++)
        free(record_of(queue, t)->path);
    free(queue->last_good);
    free(queue->records);
    free(queue->slots);
    *queue = (struct sim_queue){0};
}

enum sim_status sim_queue_reserve(struct sim_queue *queue)
{
    int64_t old = queue->record_capacity;
    if (queue->next - queue->first < old)
        return SIM_OK;
    struct sim_record *larger = calloc((size_t)old * 2, sizeof *larger);
    if (!larger)
        return sim_fail(SIM_HOST_MEMORY, "out of host memory: records of pictures");
    for (int64_t t = queue->first; t < queue->next; t++)
        larger[t & (2 * old - 1)] = *record_of(queue, t);
    free(queue->records);
    queue->records = larger;
    queue->record_capacity = 2 * old;
    return SIM_OK;
}

/* Only now it is known which frame was the last good one. */
static void name_last_good(const struct sim_queue *queue, struct sim_slot *slot)
{
    size_t used = strlen(slot->text);
    snprintf(slot->text + used, sizeof slot->text - used, "; last good frame: %s",
             queue->last_good ? queue->last_good : "none");
}

static void settle(struct sim_queue *queue)
{
    while (queue->settled < queue->next) {
        struct sim_record *record = record_of(queue, queue->settled);
        if (record->outcome == PENDING)
            return;
        if (record->outcome == WRITTEN) {
            free(queue->last_good);
            queue->last_good = record->path;
            record->path = NULL;
        } else if (record->failed && record->failed->status == SIM_DIVERGED)
            name_last_good(queue, record->failed);
        queue->settled++;
    }
}

void sim_slot_release(struct sim_slot *slot)
{
    free(slot->path);
    slot->path = NULL;
    slot->given_up = false;
    slot->state = SIM_SLOT_FREE;
}

void sim_queue_written(struct sim_queue *queue, struct sim_slot *slot,
                       const struct sim_frame_result *result)
{
    struct sim_record *record = record_of(queue, slot->ticket);
    record->outcome = WRITTEN;
    record->result = *result;
    record->path = slot->path;
    slot->path = NULL;
    sim_slot_release(slot);
    settle(queue);
}

void sim_queue_failed(struct sim_queue *queue, struct sim_slot *slot,
                      enum sim_status status)
{
    struct sim_record *record = record_of(queue, slot->ticket);
    record->outcome = LOST;
    record->failed = slot;
    slot->status = status;
    snprintf(slot->text, sizeof slot->text, "%s", sim_error_text());
    slot->state = SIM_SLOT_FAILED;
    settle(queue);
}

int64_t sim_queue_push(struct sim_queue *queue, struct sim_slot *slot)
{
    slot->ticket = queue->next++;
    slot->state = SIM_SLOT_QUEUED;
    *record_of(queue, slot->ticket) = (struct sim_record){.outcome = PENDING};
    return slot->ticket;
}

enum sim_status sim_queue_report(struct sim_queue *queue, const char *here)
{
    struct sim_slot *first = NULL;
    for (int i = 0; i < queue->slot_count; i++) {
        struct sim_slot *slot = &queue->slots[i];
        if (slot->state == SIM_SLOT_FAILED && slot->ticket < queue->settled &&
            (!first || slot->ticket < first->ticket))
            first = slot;
    }
    if (!first)
        return SIM_OK;
    const char *where = strcmp(first->where, here) ? first->where : "";
    enum sim_status status =
        sim_fail(first->status, "%s%s%s%s", *where && *here ? "saved at " : "", where,
                 *where ? ": " : "", first->text);
    sim_slot_release(first);
    return status;
}

static bool slot_active(const struct sim_slot *slot)
{
    return slot->state == SIM_SLOT_QUEUED || slot->state == SIM_SLOT_LOADING ||
           slot->state == SIM_SLOT_WRITING;
}

int sim_queue_give_up(struct sim_queue *queue)
{
    int count = 0;
    for (int i = 0; i < queue->slot_count; i++) {
        struct sim_slot *slot = &queue->slots[i];
        if ((slot->state != SIM_SLOT_QUEUED && slot->state != SIM_SLOT_LOADING) ||
            slot->given_up)
            continue;
        slot->given_up = true;
        struct sim_record *record = record_of(queue, slot->ticket);
        record->outcome = LOST;
        record->failed = NULL;
        count++;
    }
    settle(queue);
    return count;
}

bool sim_queue_busy(const struct sim_queue *queue)
{
    for (int i = 0; i < queue->slot_count; i++)
        if (slot_active(&queue->slots[i]) && !queue->slots[i].given_up)
            return true;
    return false;
}

/* Of two pictures for one path, the later must also be the later one to arrive. */
static bool must_wait(const struct sim_queue *queue, const struct sim_slot *slot)
{
    for (int i = 0; i < queue->slot_count; i++) {
        const struct sim_slot *other = &queue->slots[i];
        if (slot_active(other) && other->ticket < slot->ticket && !other->given_up &&
            !strcmp(other->path, slot->path))
            return true;
    }
    return false;
}

struct sim_slot *sim_queue_next(struct sim_queue *queue)
{
    struct sim_slot *next = NULL;
    for (int i = 0; i < queue->slot_count; i++) {
        struct sim_slot *slot = &queue->slots[i];
        if (slot->state == SIM_SLOT_QUEUED && (!next || slot->ticket < next->ticket) &&
            !must_wait(queue, slot))
            next = slot;
    }
    return next;
}

struct sim_slot *sim_queue_free_slot(struct sim_queue *queue, size_t bytes)
{
    struct sim_slot *best = NULL;
    for (int i = 0; i < queue->slot_count; i++) {
        struct sim_slot *slot = &queue->slots[i];
        if (slot->state != SIM_SLOT_FREE)
            continue;
        if (!best || (best->capacity < bytes && slot->capacity > best->capacity))
            best = slot;
    }
    return best;
}

int sim_queue_results(struct sim_queue *queue, struct sim_frame_result *out, int count)
{
    int taken = 0;
    while (taken < count && queue->first < queue->settled) {
        const struct sim_record *record = record_of(queue, queue->first++);
        if (record->outcome == WRITTEN)
            out[taken++] = record->result;
    }
    return taken;
}
