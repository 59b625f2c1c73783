/* bench_nbody.c - how fast gravity is, beside what the machine can do at best.
 *
 *     bench_nbody [cpu|cuda|cuda:K] [--double|--mixed] [--equal] [--sweep]
 *                 [--threads T] [N ...]
 *     bench_nbody --core [--double] [N ...]
 *
 * For each N: kick-drift-kick steps of a cloud, the median of five samples after a
 * warm-up, in directed interactions (N^2 a step) per second; the share of the fused
 * multiply-add ceiling that these take at 13 issue slots an interaction (symmetric pairs
 * need 17 for two, so they may pass 100 %). The masses differ; with --equal they are one,
 * as among a galaxy's stars. --sweep prints every kernel variant of a CUDA device for
 * each N, best last.
 *
 * --core: one core of the CPU. Plain and symmetric pairs, softened and not, in turns, the
 * best of many by the thread's processor time, since others may use the machine; beside
 * them what the core's units allow two interactions of a symmetric pair at best: one root
 * with its quotient, or 14 slots for multiply-adds (9, and 5 products). */
#include "../nbody_system.h"
#include "ceiling/ceiling.h"

#include <time.h>

#define SLOTS   13 /* 6 fused multiply-adds, 3 subtractions, 3 products, 1 root */
#define SAMPLES 5
#define TURNS   15
#define N_MAX   64

struct request {
    const char *device;
    bool is_double, mixed, equal, sweep, core;
    int threads, count;
    int64_t n[N_MAX];
};

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double time_steps(struct system *s, int64_t steps)
{
    must(sim_device_finish(s->nbody.device));
    double start = bench_clock();
    take(s, steps);
    must(sim_device_finish(s->nbody.device));
    return bench_clock() - start;
}

/* Seconds a step; a sample lasts about a tenth of `budget` seconds. */
static double step_seconds(struct system *s, double budget)
{
    double sample[SAMPLES], once = time_steps(s, 1);
    once = fmin(once, time_steps(s, 2) / 2);
    const int64_t steps = once < budget / 10 ? (int64_t)(budget / 10 / once) + 1 : 1;
    time_steps(s, steps > 8 ? steps / 4 : 1);
    for (int k = 0; k < SAMPLES; k++)
        sample[k] = time_steps(s, steps) / (double)steps;
    qsort(sample, SAMPLES, sizeof *sample, by_value);
    return sample[SAMPLES / 2];
}

static struct system make_cloud(struct sim_device *device, bool is_double, bool equal,
                                int64_t n)
{
    struct body4 *x = room((size_t)n, sizeof *x), *v = room((size_t)n, sizeof *v);
    uint64_t seed = 1;
    for (int64_t i = 0; i < n; i++)
        x[i] = (struct body4){uniform(&seed), uniform(&seed), uniform(&seed),
                              (equal ? 1 : 0.5 + uniform(&seed)) / (double)n};
    struct system s = make_system(device, is_double, n, x, v);
    s.nbody.dt = 1e-5;
    free(x);
    free(v);
    find_force(&s);
    return s;
}

static void print_rate(const struct system *s, double seconds, const struct ceiling *best)
{
    const double n = (double)s->nbody.n, rate = n * n / seconds;
    printf("%-11s %9lld  %10.2f us/step  %.3e interactions/s", s->ops->name,
           (long long)s->nbody.n, seconds * 1e6, rate);
    if (s->nbody.device->kind == SIM_CPU)
        printf("  (%.3e a thread)", rate / s->nbody.device->threads);
    printf("  %4.1f %% of the FMA ceiling\n", 100 * rate * SLOTS / best->fma);
}

static const char *const pairs_words[] = {"auto", "symmetric", "plain", "resident"};

struct best {
    double seconds;
    struct sim_nbody_tuning tuning;
};

static void try_tuning(struct system *s, struct sim_nbody_tuning t, struct best *best)
{
    const double n = (double)s->nbody.n;
    s->nbody.tuning = t;
    if (s->ops->advance(&s->nbody, kdk, 4, 1) != SIM_OK)
        return;
    const double seconds = step_seconds(s, 0.05);
    printf("    %-9s tile %3d per_thread %2d split %2d  %10.2f us  %.3e\n",
           pairs_words[t.pairs], t.tile, t.per_thread, t.split, seconds * 1e6,
           n * n / seconds);
    if (seconds < best->seconds)
        *best = (struct best){seconds, t};
}

/* Every variant that the backend accepts; what it refuses is skipped. */
static void sweep(struct system *s)
{
    const double n = (double)s->nbody.n;
    struct best best = {.seconds = 1e30};
    try_tuning(s, (struct sim_nbody_tuning){.pairs = SIM_PAIRS_RESIDENT}, &best);
    for (int tile = 32; tile <= 128; tile *= 2)
        for (int k = 4; k <= 16; k *= 2)
            for (int run = 1; run <= 8; run *= 2)
                try_tuning(
                    s, (struct sim_nbody_tuning){tile, 0, k, run, SIM_PAIRS_SYMMETRIC},
                    &best);
    for (int tile = 64; tile <= 256; tile *= 2)
        for (int k = 1; k <= 8; k *= 2)
            for (int split = 1; split <= 64; split *= 2)
                if (s->nbody.n >= (int64_t)tile * split)
                    try_tuning(
                        s, (struct sim_nbody_tuning){tile, 0, k, split, SIM_PAIRS_PLAIN},
                        &best);
    printf("  best at %9.0f: %s tile %d per_thread %d split %d  %.3e interactions/s\n", n,
           pairs_words[best.tuning.pairs], best.tuning.tile, best.tuning.per_thread,
           best.tuning.split, n * n / best.seconds);
    s->nbody.tuning = (struct sim_nbody_tuning){0};
}

static void bench(const struct request *r, struct sim_device *device)
{
    struct ceiling best;
    must(ceiling_measure(device, r->is_double, &best));
    printf("%s, %d %s: copy %.3g GB/s, %.3g %s fused multiply-adds/s\n", device->name,
           device->multiprocessors,
           device->kind == SIM_CUDA ? "multiprocessors" : "threads", best.copy * 1e-9,
           best.fma, r->is_double ? "double" : "single");
    for (int k = 0; k < r->count; k++) {
        struct system s = make_cloud(device, r->is_double, r->equal, r->n[k]);
        s.nbody.mixed = r->mixed;
        if (r->mixed) { /* as src/bodies_momentum.c chooses, or nearly so */
            s.nbody.momentum_unit = ldexp(1.0 / (double)r->n[k], -44);
            s.nbody.momentum_least = ldexp(1.0 / (double)r->n[k], -20);
        }
        find_force(&s);
        print_rate(&s, step_seconds(&s, 1.0), &best);
        if (r->sweep && device->kind == SIM_CUDA)
            sweep(&s);
        for (int way = SIM_PAIRS_SYMMETRIC;
             r->sweep && device->kind == SIM_CPU && way <= SIM_PAIRS_PLAIN; way++)
            try_tuning(&s, (struct sim_nbody_tuning){.pairs = (enum sim_pairs)way},
                       &(struct best){.seconds = 1e30});
        fflush(stdout);
        free_system(&s);
    }
}

static double thread_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Each way once, some steps in a row for few bodies. */
static void take_turn(struct system *s, double *best)
{
    const double n = (double)s->nbody.n;
    const int64_t steps = (int64_t)(2e7 / (n * n)) + 1;
    for (int way = 0; way < 4; way++) {
        s->nbody.eps = way < 2 ? 0.01 : 0;
        s->nbody.tuning.pairs = way % 2 ? SIM_PAIRS_SYMMETRIC : SIM_PAIRS_PLAIN;
        const double start = thread_clock();
        take(s, steps);
        best[way] = fmax(best[way], (double)steps * n * n / (thread_clock() - start));
    }
}

static void bench_core(const struct request *r, struct sim_device *device)
{
    struct ceiling units;
    must(ceiling_measure(device, r->is_double, &units));
    printf("one core, interactions/s: roots allow %.3e, multiply-adds %.3e\n",
           2 * units.root, 2 * units.fma / 14);
    for (int k = 0; k < r->count; k++) {
        struct system s = make_cloud(device, r->is_double, r->equal, r->n[k]);
        double best[4] = {0};
        for (int turn = 0; turn < TURNS; turn++)
            take_turn(&s, best);
        printf("%-11s %9lld  plain %.3e  symmetric %.3e  unsoftened %.3e  %.3e\n",
               s.ops->name, (long long)s.nbody.n, best[0], best[1], best[2], best[3]);
        fflush(stdout);
        free_system(&s);
    }
}

static void read_arguments(int argc, char **argv, struct request *r)
{
    for (int k = 1; k < argc; k++) {
        if (!strcmp(argv[k], "--double"))
            r->is_double = true;
        else if (!strcmp(argv[k], "--mixed"))
            r->is_double = r->mixed = true;
        else if (!strcmp(argv[k], "--equal"))
            r->equal = true;
        else if (!strcmp(argv[k], "--sweep"))
            r->sweep = true;
        else if (!strcmp(argv[k], "--core"))
            r->core = true;
        else if (!strcmp(argv[k], "--threads") && k + 1 < argc)
            r->threads = atoi(argv[++k]);
        else if (atoll(argv[k]) > 0 && r->count < N_MAX)
            r->n[r->count++] = atoll(argv[k]);
        else
            r->device = argv[k];
    }
}

int main(int argc, char **argv)
{
    static const int64_t cpu_sizes[] = {1024, 4096, 16384};
    static const int64_t cuda_sizes[] = {1024, 4096, 16384, 65536, 262144};
    struct request r = {.device = "auto"};
    struct sim_device *device;
    read_arguments(argc, argv, &r);
    if (r.core)
        r.device = "cpu", r.threads = 1;
    must(sim_device_open(r.device, r.threads, &device));
    const bool cuda = device->kind == SIM_CUDA;
    for (int k = 0; !r.count && k < (cuda ? 5 : 3); k++)
        r.n[k] = cuda ? cuda_sizes[k] : cpu_sizes[k];
    r.count = r.count ? r.count : cuda ? 5 : 3;
    (r.core ? bench_core : bench)(&r, device);
    sim_device_close(device);
    return 0;
}
