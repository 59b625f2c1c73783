/* file.c - drafts: temporary name, write, fsync, close, rename, fsync of the folder, each
 * checked; files read whole; and the hash that files are known by.
 *
 * A rename within a folder is atomic (POSIX), so a reader sees the old file, the new one,
 * or none. The two fsyncs make it so after a power cut as well: the bytes reach the disk
 * before the name does.
 *
 * Not here: folders made or removed, locks between processes. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

static enum sim_status fail(const char *path, int cause)
{
    return sim_fail(SIM_FILE, "cannot write '%s': %s", path, strerror(cause));
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "out/x.png" -> "out", "x.png" -> ".", "/x.png" -> "/". NULL without memory. */
static char *folder_of(const char *path)
{
    size_t length = (size_t)(name_of(path) - path);
    if (length == 0)
        return strdup(".");
    return strndup(path, length > 1 ? length - 1 : 1);
}

static enum sim_status check_folder(const char *path, const char *folder)
{
    struct stat info;
    if (stat(folder, &info) != 0) {
        if (errno == ENOENT)
            return sim_fail(SIM_FILE, "cannot write '%s': there is no folder '%s'", path,
                            folder);
        return sim_fail(SIM_FILE, "cannot write '%s': folder '%s': %s", path, folder,
                        strerror(errno));
    }
    if (!S_ISDIR(info.st_mode))
        return sim_fail(SIM_FILE, "cannot write '%s': '%s' is not a folder", path,
                        folder);
    return SIM_OK;
}

/* A rename would put a plain file in the place of a device or a pipe: refused. */
static enum sim_status check_goal(const char *path)
{
    struct stat info;
    if (*name_of(path) == '\0')
        return sim_fail(SIM_FILE, "cannot write '%s': it names a folder", path);
    if (stat(path, &info) != 0)
        return errno == ENOENT ? SIM_OK : fail(path, errno);
    if (S_ISDIR(info.st_mode))
        return sim_fail(SIM_FILE, "cannot write '%s': it is a folder", path);
    if (!S_ISREG(info.st_mode))
        return sim_fail(SIM_FILE, "cannot write '%s': it is not a regular file", path);
    return SIM_OK;
}

enum sim_status sim_file_check(const char *path)
{
    if (*path == '\0')
        return sim_fail(SIM_FILE, "cannot write '': the path is empty");
    char *folder = folder_of(path);
    if (!folder)
        return sim_fail(SIM_HOST_MEMORY, "not enough host memory for a path");
    enum sim_status status = check_folder(path, folder);
    if (status == SIM_OK)
        status = check_goal(path);
    if (status == SIM_OK && access(folder, W_OK | X_OK) != 0)
        status = sim_fail(SIM_FILE, "cannot write '%s': folder '%s': %s", path, folder,
                          strerror(errno));
    free(folder);
    return status;
}

/* The name is cut so that a legal long name cannot make an illegal temporary one. */
static char *temporary_name(const char *path)
{
    static atomic_uint counter;
    const char *name = name_of(path);
    char *text = NULL;
    if (asprintf(&text, "%.*s.%.200s.tmp-%ld-%u", (int)(name - path), path, name,
                 (long)getpid(), atomic_fetch_add(&counter, 1)) < 0)
        return NULL;
    return text;
}

/* Names are unique within the process; a leftover of a dead one with the same number, or
 * of another machine on a shared disk, is stepped over. */
static int create_temporary(const char *path, char **name)
{
    for (int attempt = 0; attempt < 1000; attempt++) {
        *name = temporary_name(path);
        if (!*name)
            break; /* asprintf set errno to ENOMEM */
        int fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0)
            return fd;
        int cause = errno;
        free(*name);
        *name = NULL;
        errno = cause;
        if (cause != EEXIST && cause != EINTR)
            break;
    }
    return -1;
}

enum sim_status sim_draft_open(const char *path, struct sim_draft *out)
{
    *out = (struct sim_draft){.fd = -1};
    SIM_TRY(sim_file_check(path));
    out->path = strdup(path);
    if (!out->path)
        return sim_fail(SIM_HOST_MEMORY, "not enough host memory for a path");
    out->fd = create_temporary(path, &out->temporary);
    if (out->fd >= 0)
        return SIM_OK;
    enum sim_status status = fail(path, errno);
    sim_draft_free(out);
    return status;
}

enum sim_status sim_draft_write(struct sim_draft *draft, const void *bytes, size_t size)
{
    const char *from = bytes;
    while (size > 0) {
        ssize_t written = write(draft->fd, from, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return fail(draft->path, written < 0 ? errno : ENOSPC);
        from += written;
        size -= (size_t)written;
    }
    return SIM_OK;
}

static int flush(int fd)
{
    int result;
    do
        result = fsync(fd);
    while (result != 0 && errno == EINTR);
    return result;
}

/* Folders that may be written but not read, and file systems that cannot flush a folder,
 * are no failure of ours. */
static enum sim_status flush_folder(const char *path)
{
    char *folder = folder_of(path);
    if (!folder)
        return sim_fail(SIM_HOST_MEMORY, "not enough host memory for a path");
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    if (fd < 0)
        return SIM_OK;
    int cause = flush(fd) != 0 ? errno : 0;
    close(fd);
    if (cause == 0 || cause == EINVAL || cause == ENOTSUP)
        return SIM_OK;
    return fail(path, cause);
}

enum sim_status sim_draft_commit(struct sim_draft *draft)
{
    if (flush(draft->fd) != 0)
        return fail(draft->path, errno);
    int fd = draft->fd;
    draft->fd = -1;
    /* After EINTR Linux has closed the file all the same, and its bytes are flushed. */
    if (close(fd) != 0 && errno != EINTR)
        return fail(draft->path, errno);
    if (rename(draft->temporary, draft->path) != 0)
        return fail(draft->path, errno);
    draft->renamed = true;
    return flush_folder(draft->path);
}

void sim_draft_free(struct sim_draft *draft)
{
    if (!draft->path)
        return;
    if (draft->fd >= 0)
        close(draft->fd);
    if (draft->temporary && !draft->renamed)
        unlink(draft->temporary);
    free(draft->temporary);
    free(draft->path);
    *draft = (struct sim_draft){.fd = -1};
}

enum sim_status sim_file_replace(const char *path, const void *bytes, size_t size)
{
    struct sim_draft draft;
    SIM_TRY(sim_draft_open(path, &draft));
    enum sim_status status = sim_draft_write(&draft, bytes, size);
    if (status == SIM_OK)
        status = sim_draft_commit(&draft);
    sim_draft_free(&draft);
    return status;
}

static enum sim_status put_at(int fd, const char *path, uint64_t offset,
                              const char *bytes, size_t size, bool cut)
{
    struct stat before;
    if ((cut && ftruncate(fd, (off_t)offset) != 0) || fstat(fd, &before) != 0 ||
        lseek(fd, (off_t)offset, SEEK_SET) < 0)
        return fail(path, errno);
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            int cause = written < 0 ? errno : ENOSPC;
            /* half a row is worse than none */
            if (before.st_size <= (off_t)offset && ftruncate(fd, (off_t)offset) != 0)
                cause = errno;
            return fail(path, cause);
        }
        bytes += written;
        size -= (size_t)written;
    }
    return SIM_OK;
}

enum sim_status sim_file_put(const char *path, uint64_t offset, const void *bytes,
                             size_t size, bool cut)
{
    SIM_TRY(sim_file_check(path));
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return fail(path, errno);
    enum sim_status status = put_at(fd, path, offset, bytes, size, cut);
    if (close(fd) != 0 && status == SIM_OK && errno != EINTR)
        status = fail(path, errno);
    return status;
}

enum sim_status sim_file_sync(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(path, errno);
    int cause = flush(fd) != 0 ? errno : 0;
    close(fd);
    return cause ? fail(path, cause) : SIM_OK;
}

static void hash_text(XXH128_hash_t hash, char out[SIM_HASH_TEXT])
{
    snprintf(out, SIM_HASH_TEXT, "xxh128:%016" PRIx64 "%016" PRIx64,
             (uint64_t)hash.high64, (uint64_t)hash.low64);
}

void sim_hash_text(const void *bytes, size_t size, char out[SIM_HASH_TEXT])
{
    hash_text(XXH3_128bits(bytes, size), out);
}

enum sim_status sim_hash_file(const char *path, char out[SIM_HASH_TEXT], uint64_t *bytes)
{
    enum { STRETCH = 1 << 18 };
    FILE *file = fopen(path, "rb");
    if (!file)
        return sim_fail(SIM_FILE, "cannot open '%s': %s", path, strerror(errno));
    char *stretch = malloc(STRETCH);
    XXH3_state_t *state = XXH3_createState();
    enum sim_status status =
        stretch && state ? SIM_OK
                         : sim_fail(SIM_HOST_MEMORY, "out of host memory: a hash");
    if (status == SIM_OK)
        XXH3_128bits_reset(state);
    size_t got = 1;
    for (*bytes = 0; status == SIM_OK && got > 0; *bytes += got) {
        got = fread(stretch, 1, STRETCH, file);
        XXH3_128bits_update(state, stretch, got);
    }
    if (status == SIM_OK && ferror(file))
        status = sim_fail(SIM_FILE, "cannot read '%s': %s", path, strerror(errno));
    if (status == SIM_OK)
        hash_text(XXH3_128bits_digest(state), out);
    XXH3_freeState(state);
    free(stretch);
    fclose(file);
    return status;
}

/* ---- reading
 * --------------------------------------------------------------------------- */

/* What is left of an open file into a buffer that grows. */
static enum sim_status read_rest(FILE *file, const char *path, char **bytes, size_t *size)
{
    size_t room = 1 << 16, have = 0;
    char *buffer = malloc(room + 1);
    while (buffer) {
        have += fread(buffer + have, 1, room - have, file);
        if (have < room)
            break;
        char *larger = room > SIZE_MAX / 4 ? NULL : realloc(buffer, 2 * room + 1);
        if (!larger)
            free(buffer);
        buffer = larger;
        room *= 2;
    }
    if (!buffer)
        return sim_fail(SIM_HOST_MEMORY, "out of host memory while reading '%s'", path);
    if (ferror(file)) {
        free(buffer);
        return sim_fail(SIM_FILE, "cannot read '%s': %s", path, strerror(errno));
    }
    buffer[have] = 0;
    *bytes = buffer;
    *size = have;
    return SIM_OK;
}

enum sim_status sim_file_read(const char *path, char **bytes, size_t *size)
{
    *bytes = NULL;
    *size = 0;
    FILE *file = fopen(path, "rb");
    if (!file)
        return sim_fail(SIM_FILE, "cannot open '%s': %s", path, strerror(errno));
    enum sim_status status = read_rest(file, path, bytes, size);
    fclose(file);
    return status;
}
