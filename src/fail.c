/* fail.c - see fail.h. */
#include "fail.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static bool armed; /* the one branch */
static enum sim_fail_kind armed_kind;
static long first;
static bool for_good;
static int armed_signal; /* 0: the call fails */
static atomic_long counted;

static const char *const words[] = {"memory", "device", "copy",  "launch",
                                    "crash",  "open",   "write", "fsync",
                                    "rename", "mkdir",  "any"};

static void log_count(void)
{
    char text[32];
    const char *path = getenv("SIMLUA_FAIL_LOG");
    armed = false;
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    int size = snprintf(text, sizeof text, "%ld\n", atomic_load(&counted));
    if (fd >= 0) {
        ssize_t ignored = write(fd, text, (size_t)size);
        (void)ignored;
        close(fd);
    }
}

void sim_fail_arm(void)
{
    const char *text = getenv("SIMLUA_FAIL"), *colon = text ? strchr(text, ':') : NULL;
    armed = false;
    atomic_store(&counted, 0);
    if (!colon)
        return;
    for (int kind = 0; kind <= SIM_FAIL_KINDS; kind++) {
        size_t length = strlen(words[kind]);
        if (length != (size_t)(colon - text) || strncmp(text, words[kind], length) != 0)
            continue;
        armed_kind = (enum sim_fail_kind)kind;
        first = atol(colon + 1);
        for_good = text[strlen(text) - 1] == '+';
        armed_signal = strchr(colon, '!') ? atoi(strchr(colon, '!') + 1) : 0;
        armed = first >= 0;
        if (getenv("SIMLUA_FAIL_LOG"))
            atexit(log_count);
    }
}

/* Count a call; is it one that was meant? */
static bool is_meant(enum sim_fail_kind kind)
{
    if (!armed)
        return false;
    if (armed_kind != kind && (armed_kind != SIM_FAIL_KINDS || kind == SIM_FAIL_CRASH))
        return false;
    long number = atomic_fetch_add(&counted, 1) + 1;
    return first > 0 && (number == first || (for_good && number > first));
}

bool sim_fail_now(enum sim_fail_kind kind)
{
    if (!is_meant(kind))
        return false;
    if (armed_signal)
        kill(getpid(), armed_signal);
    return !armed_signal;
}

/* --- in the place of the C library's
 * ------------------------------------------------------ */

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* the linker's names, not ours */

extern void *__real_malloc(size_t size);
extern void *__real_calloc(size_t count, size_t size);
extern void *__real_realloc(void *old, size_t size);
extern void *__real_aligned_alloc(size_t alignment, size_t size);
extern char *__real_strdup(const char *text);
extern int __real_open(const char *path, int flags, ...);
extern ssize_t __real_write(int fd, const void *bytes, size_t size);
extern int __real_fsync(int fd);
extern int __real_rename(const char *from, const char *to);
extern int __real_mkdir(const char *path, mode_t mode);

static bool refuse(enum sim_fail_kind kind, int cause)
{
    if (!sim_fail_now(kind))
        return false;
    errno = cause;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return refuse(SIM_FAIL_MEMORY, ENOMEM) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return refuse(SIM_FAIL_MEMORY, ENOMEM) ? NULL : __real_calloc(count, size);
}

/* Lua relies on it that making a block smaller does not fail, but cannot say here which
 * one that is: it tries again after a collection, so that once is harmless. */
void *__wrap_realloc(void *old, size_t size)
{
    return size > 0 && refuse(SIM_FAIL_MEMORY, ENOMEM) ? NULL : __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return refuse(SIM_FAIL_MEMORY, ENOMEM) ? NULL : __real_aligned_alloc(alignment, size);
}

char *__wrap_strdup(const char *text)
{
    return refuse(SIM_FAIL_MEMORY, ENOMEM) ? NULL : __real_strdup(text);
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int mode = flags & O_CREAT ? va_arg(args, int) : 0;
    va_end(args);
    if ((flags & (O_WRONLY | O_RDWR | O_CREAT)) && refuse(SIM_FAIL_OPEN, EMFILE))
        return -1;
    return __real_open(path, flags, mode);
}

ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
    if (!is_meant(SIM_FAIL_WRITE))
        return __real_write(fd, bytes, size);
    if (!armed_signal) {
        errno = ENOSPC;
        return -1;
    }
    ssize_t half = __real_write(fd, bytes, (size + 1) / 2);
    kill(getpid(), armed_signal);
    return half;
}

int __wrap_fsync(int fd)
{
    return refuse(SIM_FAIL_FSYNC, EIO) ? -1 : __real_fsync(fd);
}

int __wrap_rename(const char *from, const char *to)
{
    return refuse(SIM_FAIL_RENAME, EACCES) ? -1 : __real_rename(from, to);
}

int __wrap_mkdir(const char *path, mode_t mode)
{
    return refuse(SIM_FAIL_MKDIR, EACCES) ? -1 : __real_mkdir(path, mode);
}
