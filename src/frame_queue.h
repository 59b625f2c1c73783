/* frame_queue.h - the order of pictures on their way to files: slots, tickets, outcomes.
 *
 * A slot holds one picture: page-locked memory, the ticket of its download, and what its
 * messages need. Its states:
 *
 *     FREE -> QUEUED -> LOADING -> WRITING -> FREE, or FAILED until it was reported
 *
 * The thread that saves makes a slot leave FREE and FAILED; a writer holds it in LOADING
 * and WRITING. A slot whose picture was given up keeps its state until its download has
 * ended: memory that a device may still write to is never used for another picture.
 *
 * Beside the slots stands one record a picture, in the order of tickets. `settled` is the
 * first ticket whose outcome is not known; results, failures and the last good frame are
 * told below it only, so that their order does not depend on the threads. As a failed
 * slot is not used again before it was reported, slots bound the failures, too.
 *
 * Not here: threads, locks, files. Callers hold the mutex of frame.c. */
#ifndef SIM_FRAME_QUEUE_H
#define SIM_FRAME_QUEUE_H

#include "frame.h"

enum sim_slot_state {
    SIM_SLOT_FREE,
    SIM_SLOT_QUEUED,
    SIM_SLOT_LOADING,
    SIM_SLOT_WRITING,
    SIM_SLOT_FAILED,
};

struct sim_slot {
    enum sim_slot_state state;
    bool given_up;
    int64_t ticket;
    void *host; /* pixels, padding, tail; frame.c's to allocate and free */
    size_t capacity;
    struct sim_ticket download;
    struct sim_image image; /* as it was when saved; its pixels are not looked at */
    char *path;             /* owned */
    const char *temporary;  /* while a writer has such a file */
    enum sim_status status; /* of FAILED */
    char where[256], text[1024];
};

struct sim_record; /* what became of one picture */

struct sim_queue {
    int slot_count;
    struct sim_slot *slots;
    struct sim_record *records; /* ring: ticket t is at t & (record_capacity - 1) */
    int64_t record_capacity, first, settled, next;
    char *last_good; /* path of the last whole picture below `settled`; owned */
};

/* SIM_HOST_MEMORY; sim_queue_free is needed either way. */
enum sim_status sim_queue_new(int slots, struct sim_queue *out);
void sim_queue_free(struct sim_queue *queue);

/* A free slot, best one whose memory is large enough; NULL if there is none. */
struct sim_slot *sim_queue_free_slot(struct sim_queue *queue, size_t bytes);
/* Room for one more picture's record; SIM_HOST_MEMORY. */
enum sim_status sim_queue_reserve(struct sim_queue *queue);
/* Queue a filled slot, after a reserve; returns its ticket. */
int64_t sim_queue_push(struct sim_queue *queue, struct sim_slot *slot);
/* The queued slot that a writer takes next; NULL if none may be taken now. */
struct sim_slot *sim_queue_next(struct sim_queue *queue);

/* What became of a slot's picture. failed: for the reason in sim_error_text(). */
void sim_queue_written(struct sim_queue *queue, struct sim_slot *slot,
                       const struct sim_frame_result *result);
void sim_queue_failed(struct sim_queue *queue, struct sim_slot *slot,
                      enum sim_status status);
void sim_slot_release(struct sim_slot *slot);

/* Give up the pictures of which nothing was encoded yet; returns how many. Writers find
 * slot->given_up and release the slot. */
int sim_queue_give_up(struct sim_queue *queue);
/* Is any picture under way that was not given up? */
bool sim_queue_busy(const struct sim_queue *queue);

/* The failure of lowest ticket that is not reported yet, as status and text; SIM_OK if
 * none. Said is where its picture was saved, unless that is `here`, the line that will
 * get the message. */
enum sim_status sim_queue_report(struct sim_queue *queue, const char *here);
/* As sim_frames_results. */
int sim_queue_results(struct sim_queue *queue, struct sim_frame_result *out, int count);

#endif
