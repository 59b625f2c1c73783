/* file.h - files that are whole or not there.
 *
 * A draft is written under a temporary name in the folder of its goal, hidden and
 * carrying the process's number (".frame_000012.png.tmp-1234-0"), and renamed at the end:
 * whoever finds the final name finds all its bytes. Every failure is SIM_FILE, with the
 * path and the cause, or SIM_HOST_MEMORY. Folders are never made here. */
#ifndef SIM_FILE_H
#define SIM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

#define SIM_HASH_TEXT 40 /* "xxh128:" and 32 hex digits and a zero */

/* A file under way; zero-initialised means none. */
struct sim_draft {
    char *path, *temporary; /* owned */
    int fd;
    bool renamed;
};

/* SIM_FILE when `path` plainly cannot be written: its folder is missing, not a folder or
 * not writable; it is itself a folder, a device, a pipe. Creates nothing. */
enum sim_status sim_file_check(const char *path);

/* Create the temporary file for `path`. */
enum sim_status sim_draft_open(const char *path, struct sim_draft *out);
enum sim_status sim_draft_write(struct sim_draft *draft, const void *bytes, size_t size);
/* Flush to disk, close, rename, flush the folder. On failure nothing is renamed (or, when
 * only the folder's flush failed, the file is there whole). */
enum sim_status sim_draft_commit(struct sim_draft *draft);
/* Remove what is left of a draft and free it; needed after all of the above. */
void sim_draft_free(struct sim_draft *draft);

/* Write bytes to `path` by the same temporary name, fsync, rename; for run.json, tables.
 * SIM_FILE with the path and the cause. */
enum sim_status sim_file_replace(const char *path, const void *bytes, size_t size);

/* All of a file, with a zero behind it; *bytes is the caller's to free. SIM_FILE with the
 * path and the cause, for a folder too. */
enum sim_status sim_file_read(const char *path, char **bytes, size_t *size);

/* Write `bytes` at `offset`; the file is created if need be. With `cut` it ends behind
 * them; without, what another process has written there stays. For tables that grow by
 * whole rows. sync: flush it to disk. SIM_FILE. */
enum sim_status sim_file_put(const char *path, uint64_t offset, const void *bytes,
                             size_t size, bool cut);
enum sim_status sim_file_sync(const char *path);

/* The hash of a file's bytes, and how many they are. SIM_FILE. */
enum sim_status sim_hash_file(const char *path, char out[SIM_HASH_TEXT], uint64_t *bytes);

/* "xxh128:<hex>" of some bytes (XXH3, 128 bits; `xxhsum -H2` prints the same digits). */
void sim_hash_text(const void *bytes, size_t size, char out[SIM_HASH_TEXT]);

#endif
