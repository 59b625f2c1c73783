/* lua_process.c - the module "sim.process" for lib/sim/: processes made and waited for,
 * and folders and frames that several processes share.
 *
 * A process that was started here does not outlive us, even when we are killed (Linux:
 * PR_SET_PDEATHSIG): the same command, given again, finds nobody else at work.
 *
 * A folder is locked by flock on the folder itself, so that nothing is left behind by a
 * process that was killed. A frame is claimed by a file that exists already or not
 * (O_EXCL); it holds the claiming process's number and machine. */
#include "lua_sim.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --- processes
 * ---------------------------------------------------------------------------- */

enum { WORDS_MAX = 1000 };

/* The strings of the table at `index`, NULL-terminated; they live as long as it does. */
static const char **words_at(lua_State *L, int index)
{
    lua_Integer count = (lua_Integer)lua_rawlen(L, index);
    if (count > WORDS_MAX)
        luaL_error(L, "more than %d arguments", WORDS_MAX);
    const char **words = lua_newuserdatauv(L, (size_t)(count + 1) * sizeof *words, 0);
    for (lua_Integer i = 1; i <= count; i++) {
        lua_rawgeti(L, index, i);
        words[i - 1] = lua_tostring(L, -1);
        if (lua_type(L, -1) != LUA_TSTRING)
            luaL_error(L, "argument %d is no string", (int)i);
        lua_pop(L, 1);
    }
    words[count] = NULL;
    return words;
}

struct start {
    const char **words, *out, *err; /* files, or NULL for ours */
    int report;                     /* takes the cause when no program could be started */
};

static bool put_file(int fd, const char *path, int flags)
{
    int opened = path ? open(path, flags, 0666) : fd;
    return opened >= 0 &&
           (opened == fd || (dup2(opened, fd) == fd && close(opened) == 0));
}

static bool put_files(const struct start *s)
{
    const int flags = O_WRONLY | O_CREAT | O_TRUNC;
    if (!put_file(0, "/dev/null", O_RDONLY) || !put_file(1, s->out, flags))
        return false;
    if (s->out && s->err && !strcmp(s->out, s->err))
        return dup2(1, 2) == 2;
    return put_file(2, s->err, flags);
}

/* A signal that comes before exec must end the child, not be noted by our handler. */
static void forget_signals(void)
{
    const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM};
    sigset_t none;
    sigemptyset(&none);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        signal(numbers[i], SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Between fork and exec only calls that are safe there. The child is in a group of its
 * own, so that Ctrl-C reaches it once, through us, and not twice; and it ends when we are
 * killed: a parent that was gone before we asked for that is seen by its number. */
static void become(const struct start *s, pid_t parent)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(128 + SIGKILL);
    forget_signals();
    if (put_files(s))
        execvp(s->words[0], (char **)s->words);
    int cause = errno;
    ssize_t ignored = write(s->report, &cause, sizeof cause);
    (void)ignored;
    _exit(127);
}

/* What a child that could not start says of it, else 0. */
static int read_cause(int fd, pid_t pid)
{
    int cause = 0;
    ssize_t got;
    do
        got = read(fd, &cause, sizeof cause);
    while (got < 0 && errno == EINTR);
    if (got != sizeof cause)
        return 0;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return cause;
}

static int start_process(struct start *s, pid_t *pid)
{
    int ends[2];
    sigset_t all, before;
    pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    s->report = ends[1];
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    *pid = fork();
    int cause = *pid < 0 ? errno : 0;
    if (*pid == 0)
        become(s, parent);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(ends[1]);
    if (!cause)
        cause = read_cause(ends[0], *pid);
    close(ends[0]);
    return cause;
}

/* spawn({ program, … }, out, err) -> pid; out and err: files, or nil for ours */
static int spawn(lua_State *L)
{
    pid_t pid = 0;
    luaL_checktype(L, 1, LUA_TTABLE);
    struct start s = {.out = luaL_optstring(L, 2, NULL),
                      .err = luaL_optstring(L, 3, NULL)};
    s.words = words_at(L, 1);
    if (!s.words[0])
        return luaL_error(L, "no program to start");
    int cause = start_process(&s, &pid);
    if (cause) {
        sim_fail(SIM_FILE, "cannot start '%s': %s", s.words[0], strerror(cause));
        sim_lua_try(L, SIM_FILE);
    }
    lua_pushinteger(L, pid);
    return 1;
}

/* wait() -> pid, exit code (128 + the signal's number); nil when an interrupt came or
 * there is nothing to wait for */
static int wait_any(lua_State *L)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    int status = 0;
    pid_t pid;
    /* A wait without end would miss a signal that comes just before it begins. */
    while ((pid = waitpid(-1, &status, WNOHANG)) == 0 && !sim_interrupt_signal())
        nanosleep(&pause, NULL);
    if (pid <= 0)
        return 0;
    lua_pushinteger(L, pid);
    lua_pushinteger(L,
                    WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    return 2;
}

static int send_signal(lua_State *L)
{
    kill((pid_t)luaL_checkinteger(L, 1), (int)luaL_checkinteger(L, 2));
    return 0;
}

static int program(lua_State *L)
{
    char path[1024];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    if (length <= 0 || length == (ssize_t)sizeof path)
        return luaL_error(L, "cannot find simlua itself");
    lua_pushlstring(L, path, (size_t)length);
    return 1;
}

/* disk_free(folder) -> bytes that this user may still write there; nil if unknown */
static int disk_free(lua_State *L)
{
    struct statvfs info;
    if (statvfs(luaL_checkstring(L, 1), &info) != 0)
        return 0;
    lua_pushinteger(L, (lua_Integer)info.f_bavail * (lua_Integer)info.f_frsize);
    return 1;
}

static int cores(lua_State *L)
{
    lua_pushinteger(L, sysconf(_SC_NPROCESSORS_ONLN));
    return 1;
}

/* cuda_count() -> GPUs that could be used */
static int cuda_count(lua_State *L)
{
    char why[256];
    lua_pushinteger(L, sim_device_cuda_count(why, sizeof why));
    return 1;
}

/* --- sharing
 * -------------------------------------------------------------------------------- */

/* lock(folder, shared) -> descriptor; nil when another process has it */
static int lock(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_NB | (lua_toboolean(L, 2) ? LOCK_SH : LOCK_EX)) == 0) {
        lua_pushinteger(L, fd);
        return 1;
    }
    int cause = errno;
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && cause == EWOULDBLOCK)
        return 0;
    if (fd >= 0) { /* a file system without locks: nothing to be had */
        lua_pushinteger(L, -1);
        return 1;
    }
    sim_fail(SIM_FILE, "cannot open the folder '%s': %s", path, strerror(cause));
    sim_lua_try(L, SIM_FILE);
    return 0;
}

/* pause(seconds); a signal ends it */
static int pause_for(lua_State *L)
{
    double seconds = luaL_checknumber(L, 1);
    struct timespec t = {.tv_sec = (time_t)seconds};
    t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
    nanosleep(&t, NULL);
    return 0;
}

static int unlock(lua_State *L)
{
    int fd = (int)luaL_checkinteger(L, 1);
    if (fd >= 0)
        close(fd);
    return 0;
}

/* A process that ended, but whose parent has not asked for its end, still has a number.
 */
static bool is_zombie(lua_Integer pid)
{
    char path[64], state = '?';
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = '?';
    fclose(file);
    return state == 'Z' || state == 'X';
}

/* alive(pid): does a process of this number run on this machine? */
static int alive(lua_State *L)
{
    lua_Integer pid = luaL_checkinteger(L, 1);
    bool there = pid > 0 && (kill((pid_t)pid, 0) == 0 || errno != ESRCH);
    lua_pushboolean(L, there && !is_zombie(pid));
    return 1;
}

static int own_pid(lua_State *L)
{
    lua_pushinteger(L, getpid());
    return 1;
}

/* claim(path, text) -> true; false when it is there already */
static int claim(lua_State *L)
{
    size_t length;
    const char *path = luaL_checkstring(L, 1), *text = luaL_checklstring(L, 2, &length);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    bool good = fd >= 0 && write(fd, text, length) == (ssize_t)length;
    int cause = errno;
    if (fd >= 0)
        close(fd);
    if (!good && fd >= 0)
        unlink(path);
    if (!good && (fd >= 0 || cause != EEXIST)) {
        sim_fail(SIM_FILE, "cannot write '%s': %s", path, strerror(cause));
        sim_lua_try(L, SIM_FILE);
    }
    lua_pushboolean(L, good);
    return 1;
}

static int host_name(lua_State *L)
{
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    lua_pushstring(L, name);
    return 1;
}

int sim_lua_open_process(lua_State *L)
{
    static const luaL_Reg words[] = {
        {"spawn", spawn},         {"wait", wait_any},         {"kill", send_signal},
        {"program", program},     {"cuda_count", cuda_count}, {"lock", lock},
        {"unlock", unlock},       {"alive", alive},           {"pid", own_pid},
        {"pause", pause_for},     {"claim", claim},           {"cores", cores},
        {"disk_free", disk_free}, {"host_name", host_name},   {NULL, NULL},
    };
    luaL_newlib(L, words);
    return 1;
}
