/* main.c - the command line, the signals, the choice of a device; then one script. */
#include "fail.h"
#include "script.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
    "usage: simlua [options] script.lua [script options]\n"
    "       simlua -e 'chunk of Lua'      simlua -   (the script from standard input)\n"
    "       simlua verify DIR             simlua film DIR\n"
    "       simlua batch A.lua B.lua …    simlua sweep SCENE.lua --softening 0.01,0.02\n"
    "       (--help behind each of these four tells more)\n"
    "\n"
    "  --device D     where to compute: auto, cpu, cuda, cuda:K (default auto)\n"
    "  --devices      list the devices there are\n"
    "  --out DIR      the folder of the frames\n"
    "  --frames N     how many frames sim.run makes\n"
    "  --seed N       the seed of everything random\n"
    "  --fresh        start over, though the folder holds an earlier run\n"
    "  --resume-anyway  go on, though the script or its options changed\n"
    "  --from A, --to B, --every K   make the frames A, A + K, … up to B only\n"
    "  --max-time T   stop after T (seconds, M:S or H:M:S), to be resumed\n"
    "  --check        build the scene, call each callback once: what it needs, what is "
    "wrong\n"
    "  --strict       an error, not a warning, when callbacks of sim.run change "
    "variables\n"
    "                 that no checkpoint holds; looked for at every frame\n"
    "  --threads N    CPU threads (default: all)\n"
    "  --sync         wait after each launch and time it\n"
    "  --quiet        no progress, no notes: errors only\n"
    "  --help         this; after a script: the script's own options\n"
    "  --help WORD    the parameters of a word, such as bodies or galaxy; --help words\n"
    "  --version      version and build\n"
    "  --             what follows goes to the script as it is\n"
    "\n"
    "Scripts are looked for as given, then among the scenes shipped with simlua:\n"
    "`simlua scenes/galaxy.lua` runs from any folder. Exit codes: 0 done, 1 script "
    "error,\n"
    "2 usage, 3 file or disk, 4 device or memory, 5 diverged, 130 interrupted\n"
    "(142: by --max-time); the same command then goes on where the run was cut.\n";

struct command {
    struct sim_host host;
    bool subcommand;       /* verify, batch, sweep, film: no device is opened */
    const char *help_word; /* --help WORD */
    int64_t threads;
    bool devices, version, sync;
};

/* --- messages and signals
 * --------------------------------------------------------------- */

static void say(const char *text)
{
    fputs(text, stderr);
}

static int fail_usage(const char *format, const char *what, const char *more)
{
    fprintf(stderr, "simlua: ");
    fprintf(stderr, format, what, more); /* formats are this file's own literals */
    fprintf(stderr, " (see simlua --help)\n");
    return SIM_EXIT_USAGE;
}

/* Programs such as timeout(1) and job schedulers send the same signal to a process and to
 * its group: what comes so soon after the first is no second wish. */
#define SAME_SIGNAL 0.1 /* seconds */

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t); /* async-signal-safe */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The flag that the loops look at is lowered while a checkpoint is written, so the second
 * signal is known by a flag of its own. */
static void on_signal(int number)
{
    static volatile sig_atomic_t seen;
    static double first;
    if (seen) {
        static const char text[] = "\nsimlua: stopped at once\n";
        if (number == SIGALRM || seconds_now() - first < SAME_SIGNAL)
            return;
        ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
        (void)ignored;
        _exit(128 + number);
    }
    first = seconds_now();
    seen = 1;
    sim_interrupt_set(number);
    sim_script_interrupt();
}

static void catch_signals(void)
{
    const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal};
    sigfillset(&action.sa_mask); /* one handler at a time */
    for (int i = 0; i < 3; i++) {
        struct sigaction before;
        sigaction(numbers[i], NULL, &before);
        if (before.sa_handler != SIG_IGN) /* nohup stays nohup */
            sigaction(numbers[i], &action, NULL);
    }
    sigaction(SIGALRM, &action, NULL);
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is a write error, with a message */
    signal(SIGXFSZ, SIG_IGN); /* so is a file as large as the system lets it be */
}

/* --max-time: the clock sends the signal. */
static void set_alarm(double seconds)
{
    struct itimerval timer = {.it_value.tv_sec = (time_t)seconds};
    timer.it_value.tv_usec = (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6);
    if (seconds > 0)
        setitimer(ITIMER_REAL, &timer, NULL);
}

/* --- the command line
 * ------------------------------------------------------------------- */

static bool parse_count(const char *text, int64_t min, int64_t max, int64_t *out)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < min || value > max)
        return false;
    *out = value;
    return true;
}

/* "90", "1:30", "11:59:00" as seconds; the parts after the first are below 60. */
static bool parse_duration(const char *text, double *out)
{
    double sum = 0;
    for (int part = 0; part < 3; part++) {
        char *end;
        double value = strtod(text, &end);
        if (end == text || *text < '0' || *text > '9' || !(value < 1e8) ||
            (part > 0 && value >= 60))
            return false;
        sum = 60 * sum + value;
        if (!*end) {
            *out = sum;
            return sum >= 1e-6;
        }
        if (*end != ':')
            return false;
        text = end + 1;
    }
    return false;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

/* Options of simlua's own that take a value: what stands behind the name in messages. */
static const struct valued {
    const char *name, *takes;
} valued[] = {
    {"--device", "a device"},
    {"--out", "a folder"},
    {"--frames", "a whole number >= 1"},
    {"--seed", "a whole number >= 0"},
    {"--threads", "a whole number >= 1"},
    {"--from", "a whole number >= 0"},
    {"--to", "a whole number >= 0"},
    {"--every", "a whole number >= 1"},
    {"--max-time", "seconds, M:S or H:M:S"},
    {NULL, NULL},
};

static bool set_valued(struct command *c, const char *name, const char *value)
{
    const int64_t most = 1000000000;
    const struct {
        const char *name;
        int64_t min, max, *out;
    } counts[] = {
        {"--frames", 1, most, &c->host.frame_count},
        {"--seed", 0, INT64_MAX, &c->host.seed},
        {"--threads", 1, 4096, &c->threads},
        {"--from", 0, most, &c->host.from},
        {"--to", 0, most, &c->host.to},
        {"--every", 1, most, &c->host.every},
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (!strcmp(name, counts[i].name))
            return parse_count(value, counts[i].min, counts[i].max, counts[i].out);
    if (!strcmp(name, "--max-time"))
        return parse_duration(value, &c->host.max_time);
    *(!strcmp(name, "--device") ? &c->host.device_spec : &c->host.out) = value;
    return *value != '\0';
}

static int take_valued(struct command *c, const struct valued *option, const char *value)
{
    if (set_valued(c, option->name, value))
        return SIM_EXIT_DONE;
    fprintf(stderr, "simlua: %s takes %s, not '%s' (see simlua --help)\n", option->name,
            option->takes, value);
    return SIM_EXIT_USAGE;
}

/* 1: consumed `arg` (and the next one if *used_next); 0: not ours; < 0: -(exit code). */
static int own_option(struct command *c, const char *arg, const char *next,
                      bool *used_next)
{
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {
        {"--devices", &c->devices},    {"--version", &c->version},
        {"--sync", &c->sync},          {"--quiet", &c->host.quiet},
        {"--fresh", &c->host.fresh},   {"--resume-anyway", &c->host.resume_anyway},
        {"--check", &c->host.check},   {"--declare", &c->host.declare},
        {"--strict", &c->host.strict},
    };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (!strcmp(arg, flags[i].name)) {
            *flags[i].flag = true;
            return 1;
        }
    }
    for (int i = 0; valued[i].name; i++) {
        size_t n = strlen(valued[i].name);
        if (strncmp(arg, valued[i].name, n) != 0 || (arg[n] && arg[n] != '='))
            continue;
        *used_next = arg[n] == '\0';
        if (*used_next && !next)
            return -fail_usage("%s needs a value%s", valued[i].name, "");
        int code = take_valued(c, &valued[i], *used_next ? next : arg + n + 1);
        return code ? -code : 1;
    }
    return 0;
}

static bool is_option(const char *text)
{
    return text[0] == '-' && text[1] == '-';
}

/* Does this argument name the script? `guess`: the one before it may want it as a value.
 */
static bool is_script(const char *arg, bool guess)
{
    if (!strcmp(arg, "-") || ends_with(arg, ".lua"))
        return true;
    return !guess && arg[0] != '-';
}

static int take_help(struct command *c, const char *next, bool *used_next)
{
    c->host.help = true;
    /* Before a script, `--help bodies` asks for a word; `--help x.lua` for the script. */
    if (!c->host.script && next && !is_option(next) && !is_script(next, true)) {
        c->help_word = next;
        *used_next = true;
    }
    return 1;
}

static int take_chunk(struct command *c, const char *next, bool *used_next)
{
    if (!next)
        return -fail_usage("%s needs a chunk of Lua%s", "-e", "");
    if (c->host.script)
        return -fail_usage("%s and the script %s: one of them", "-e", c->host.script);
    c->host.chunk = next;
    c->host.script = "-e";
    *used_next = true;
    return 1;
}

/* `simlua sweep …`: the rest is for the module of that name in lib/sim/. */
static bool take_subcommand(struct command *c, int argc, char **argv)
{
    static const char *const words[][2] = {
        {"verify", "require('sim.verify')(...)"},
        {"batch", "require('sim.batch')(...)"},
        {"sweep", "require('sim.sweep')(...)"},
        {"film", "require('sim.film').main(...)"},
    };
    for (size_t i = 0; argc > 1 && i < sizeof words / sizeof *words; i++) {
        if (strcmp(argv[1], words[i][0]) != 0)
            continue;
        c->subcommand = true;
        c->host.script = words[i][0];
        c->host.chunk = words[i][1];
        c->host.arguments = argv + 2;
        c->host.argument_count = argc - 2;
        return true;
    }
    return false;
}

/* Sort argv into our options, the script, and the script's own (in order). */
static int parse(struct command *c, int argc, char **argv)
{
    bool guess = false;       /* the last argument was an unknown option without '=' */
    c->host.arguments = argv; /* compacted in place: never longer than what was read */
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        bool used_next = false;
        int taken = 0;
        if (!strcmp(argv[i], "--")) {
            c->host.raw_from = c->host.argument_count;
            while (++i < argc)
                c->host.arguments[c->host.argument_count++] = argv[i];
            return SIM_EXIT_DONE;
        }
        if (!strcmp(argv[i], "--help") || (!strcmp(argv[i], "-h") && !c->host.script))
            taken = take_help(c, next, &used_next);
        else if (!strcmp(argv[i], "-e") && !c->host.script)
            taken = take_chunk(c, next, &used_next);
        else
            taken = own_option(c, argv[i], next, &used_next);
        if (taken < 0)
            return -taken;
        if (!taken && !c->host.script && is_script(argv[i], guess)) {
            c->host.script = argv[i];
            taken = 1;
        }
        if (!taken && !c->host.script && argv[i][0] == '-' && !is_option(argv[i]) &&
            !(guess && strchr("0123456789.", argv[i][1])))
            return fail_usage("no option '%s'%s", argv[i], "");
        guess = !taken && is_option(argv[i]) && !strchr(argv[i], '=');
        if (!taken)
            c->host.arguments[c->host.argument_count++] = argv[i];
        i += used_next;
    }
    c->host.raw_from = c->host.argument_count;
    return SIM_EXIT_DONE;
}

/* --- finding things
 * --------------------------------------------------------------------- */

static bool is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISDIR(info.st_mode);
}

/* The folders of our modules and scenes, from where the program itself stands: in a build
 * tree <tree>/build/simlua, installed <prefix>/bin/simlua. */
static bool find_own_files(struct sim_host *host)
{
    static const char *const places[] = {"/../share/simlua", "/..", "/../.."};
    char self[800];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        return false;
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char probe[1024], *real;
        snprintf(probe, sizeof probe, "%s%s/lib/sim/init.lua", self, places[i]);
        if (!is_file(probe))
            continue;
        snprintf(probe, sizeof probe, "%s%s", self, places[i]);
        real = realpath(probe, NULL);
        if (!real)
            return false;
        snprintf(host->library, sizeof host->library, "%s/lib", real);
        snprintf(host->scripts, sizeof host->scripts, "%s/scripts", real);
        free(real);
        return true;
    }
    return false;
}

/* As given, then among our scenes; NULL when there is no such file. */
static const char *find_script(const struct sim_host *host, char *path, size_t size)
{
    if (access(host->script, F_OK) == 0)
        return host->script;
    snprintf(path, size, "%s/%s", host->scripts, host->script);
    return host->script[0] != '/' && is_file(path) ? path : NULL;
}

/* --- the answers that need no script
 * ------------------------------------------------------ */

static void print_line(void *context, const char *text)
{
    (void)context;
    puts(text);
}

static void print_text(void *context, const char *text)
{
    (void)context;
    fputs(text, stdout);
}

/* "bodies" finds sim.bodies, "radii" finds bodies:radii. */
static bool word_matches(const char *name, const char *word)
{
    const char *dot = strpbrk(name, ".:");
    return !strcmp(name, word) || (dot && !strcmp(dot + 1, word));
}

static int help_word(const char *word)
{
    const char *words[100];
    int count = 0;
    for (int i = 0; sim_lua_sets[i] && count < 100; i++) {
        const char *dot = strpbrk(sim_lua_sets[i]->name, ".:");
        if (word_matches(sim_lua_sets[i]->name, word)) {
            sim_lua_describe(sim_lua_sets[i], print_text, NULL);
            return SIM_EXIT_DONE;
        }
        words[count++] = dot ? dot + 1 : sim_lua_sets[i]->name;
    }
    if (!strcmp(word, "words")) {
        for (int i = 0; sim_lua_sets[i]; i++)
            printf("%-22s %s\n", sim_lua_sets[i]->name, sim_lua_sets[i]->summary);
        return SIM_EXIT_DONE;
    }
    const char *nearest = sim_nearest_word(word, words, count);
    fprintf(stderr, "simlua: no word '%s'%s%s%s; `simlua --help words` lists them\n",
            word, nearest ? " (did you mean '" : "", nearest ? nearest : "",
            nearest ? "'?)" : "");
    return SIM_EXIT_USAGE;
}

/* Output to a full disk or a closed pipe must not end in code 0. */
static int flushed(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "simlua: cannot write to standard output: %s\n", strerror(errno));
    return SIM_EXIT_FILE;
}

static int answer(const struct command *c)
{
    if (c->version)
        printf("simlua %s (%s)\n", SIM_VERSION, SIM_FLAGS);
    else if (c->devices)
        sim_device_list(print_line, NULL);
    else if (c->help_word)
        return flushed(help_word(c->help_word));
    else
        fputs(usage, stdout);
    return flushed(SIM_EXIT_DONE);
}

static void print_device(const struct sim_host *host)
{
    const struct sim_device *device = host->device;
    char text[400];
    if (host->quiet || host->help || host->declare)
        return;
    if (device->kind == SIM_CUDA)
        snprintf(text, sizeof text, "simlua: on cuda:%d, %s\n", device->index,
                 device->name);
    else
        snprintf(text, sizeof text, "simlua: on the CPU, %s, %d thread%s\n", device->name,
                 device->threads, device->threads == 1 ? "" : "s");
    say(text);
}

static int run_script(struct command *c, const char *program)
{
    struct sim_host *host = &c->host;
    char path[2200];
    if (!find_own_files(host)) {
        say("simlua: cannot find its own modules (lib/sim) beside the program\n");
        return SIM_EXIT_FILE;
    }
    if (!host->chunk && strcmp(host->script, "-") != 0) {
        host->script_path = find_script(host, path, sizeof path);
        if (!host->script_path) {
            fprintf(stderr, "simlua: no script '%s', neither here nor in %s\n",
                    host->script, host->scripts);
            return SIM_EXIT_FILE;
        }
    }
    if (c->subcommand)
        return sim_script_run(host, program);
    enum sim_status status =
        sim_device_open(host->device_spec, (int)c->threads, &host->device);
    if (status != SIM_OK) {
        fprintf(stderr, "simlua: %s\n", sim_error_text());
        return status == SIM_BAD_ARGUMENT ? SIM_EXIT_USAGE : sim_status_exit_code(status);
    }
    host->device->sync = c->sync;
    print_device(host);
    set_alarm(host->max_time);
    int code = sim_script_run(host, program);
    /* Do not wait for work that nobody wants any more, nor for a GPU that may be gone. */
    if (code >= 128 || (code == SIM_EXIT_DEVICE && host->device->kind == SIM_CUDA)) {
        fflush(stderr);
        _exit(code);
    }
    sim_device_close(host->device);
    return code;
}

int main(int argc, char **argv)
{
    struct command c = {.host = {.frame_count = -1,
                                 .seed = -1,
                                 .from = -1,
                                 .to = -1,
                                 .every = -1,
                                 .device_spec = "auto",
                                 .say = say}};
    /* A closed descriptor 0, 1 or 2 must not become one of our files. */
    int fd;
    while ((fd = open("/dev/null", O_RDWR)) >= 0 && fd <= 2)
        continue;
    close(fd);
    sim_fail_arm();
    const char *program = argc > 0 ? argv[0] : "simlua";
    int code = take_subcommand(&c, argc, argv) ? SIM_EXIT_DONE : parse(&c, argc, argv);
    if (code)
        return code;
    if (c.version || c.devices || c.help_word || (c.host.help && !c.host.script))
        return answer(&c);
    if (!c.host.script)
        return fail_usage("which script?%s%s", "", "");
    catch_signals();
    return run_script(&c, program);
}
