/* frame.h - pictures to PNG files, behind the simulation's back.
 *
 * sim_frames_save() takes a host slot from a bounded queue (it waits when all are in
 * use), enqueues the download and returns. A writer thread waits for the download, looks
 * at the tail for NaN, encodes in memory (stb_image_write with libdeflate), writes a
 * temporary file in the same folder, fsyncs, closes and renames. A file under its final
 * name is whole. Failures are kept and returned by the next call that can report them. */
#ifndef SIM_FRAME_H
#define SIM_FRAME_H

#include "file.h" /* sim_file_replace, sim_hash_text */
#include "image.h"

struct sim_frames; /* the queue and its threads */

/* What became of one picture. */
struct sim_frame_result {
    int64_t ticket;           /* as given by sim_frames_save; they count from 0 */
    char hash[SIM_HASH_TEXT]; /* of the file's bytes */
    uint64_t bytes;           /* of the file */
};

/* `threads` writers (0: a default from the machine), `slots` pictures in flight (0: 4).
 */
enum sim_status sim_frames_open(struct sim_device *device, int threads, int slots,
                                struct sim_frames **out);

/* Queue a picture. `where` ("scene.lua:12", may be "") is the script's line, for messages
 * that come later: sim_frames_finish puts it before them, sim_frames_save leaves its own
 * line to the caller. Returns an earlier picture's failure if there is one (each is
 * reported once, in ticket order); then this picture was not queued. A path that plainly
 * cannot be written fails here at once, the rest later. Of two pictures for the same path
 * the later one stays. One thread saves and closes: the one that owns the device.
 * `ticket`: may be NULL. */
enum sim_status sim_frames_save(struct sim_frames *frames, const struct sim_image *image,
                                const char *path, const char *where, int64_t *ticket);

/* Take finished pictures' results in ticket order, at most `count`; returns how many.
 * Pictures that failed or were given up are left out. Never waits. Results that nobody
 * takes are kept, some 100 bytes each, until the queue is closed. */
int sim_frames_results(struct sim_frames *frames, struct sim_frame_result *out,
                       int count);

/* Wait until everything queued is on disk; the first failure that was not reported yet,
 * if any. On an interrupt it gives up the pictures not yet begun, waits 0.16 s at most
 * for those that are, and returns SIM_INTERRUPTED if any was lost. */
enum sim_status sim_frames_finish(struct sim_frames *frames);

/* Drop what is queued, let pictures under way end for at most `seconds`, remove their
 * temporary files if they do not, stop the threads, free. Always safe; NULL is fine. Call
 * it before sim_device_close. What a writer that hangs may still touch is not freed. */
void sim_frames_close(struct sim_frames *frames, double seconds);

#endif
