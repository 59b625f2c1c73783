/* frame.h - pictures to PNG files, behind the simulation's back.
 *
 * sim_frames_save() takes a host slot from a bounded queue (it waits when all are in use),
 * enqueues the download and returns. A writer thread waits for the download, looks at the
 * tail for NaN, encodes in memory (stb_image_write with libdeflate), writes a temporary
 * file in the same folder, fsyncs, closes and renames. A file under its final name is
 * whole. Failures are kept and returned by the next call that can report them. */
#ifndef SIM_FRAME_H
#define SIM_FRAME_H

#include "image.h"

#define SIM_HASH_TEXT 40 /* "xxh128:" and 32 hex digits and a zero */

struct sim_frames; /* the queue and its threads */

/* What became of one picture. */
struct sim_frame_result {
    int64_t ticket; /* as given by sim_frames_save; they count from 0 */
    char hash[SIM_HASH_TEXT]; /* of the file's bytes */
    uint64_t bytes;           /* of the file */
};

/* `threads` writers (0: a default from the machine), `slots` pictures in flight (0: 4). */
enum sim_status sim_frames_open(struct sim_device *device, int threads, int slots,
                                struct sim_frames **out);

/* Queue a picture. `where` ("scene.lua:12") is put before messages; may be "". Returns an
 * earlier picture's failure if there is one (each is reported once). */
enum sim_status sim_frames_save(struct sim_frames *frames, const struct sim_image *image,
                                const char *path, const char *where, int64_t *ticket);

/* Take finished pictures' results in ticket order, at most `count`; returns how many.
 * Never waits. */
int sim_frames_results(struct sim_frames *frames, struct sim_frame_result *out, int count);

/* Wait until everything queued is on disk; the first failure, if any. On an interrupt
 * it gives up the pictures not yet begun. */
enum sim_status sim_frames_finish(struct sim_frames *frames);

/* Drop what is queued, let pictures under way end for at most `seconds`, remove their
 * temporary files if they do not, stop the threads, free. Always safe. */
void sim_frames_close(struct sim_frames *frames, double seconds);

/* Write bytes to `path` by the same temporary name, fsync, rename; for run.json, tables.
 * SIM_FILE with the path and the cause. */
enum sim_status sim_file_replace(const char *path, const void *bytes, size_t size);

/* "xxh128:<hex>" of some bytes (XXH3, 128 bits; `xxhsum -H2` prints the same digits). */
void sim_hash_text(const void *bytes, size_t size, char out[SIM_HASH_TEXT]);

#endif
