/* bench_diffusion.c - how fast diffusion is, beside the copy bandwidth of the same run.
 *
 *     bench_diffusion [cpu|cuda|cuda:K] [--quick] [--threads T] [N ...]
 *     bench_diffusion sweep [cuda|cuda:K] [N ...]
 *     bench_diffusion small [cpu|cuda|cuda:K]
 *
 * For each side N of a square: one pass a step, the blocked variant and what is chosen by
 * itself, in cells a second (a cell updated once counts once), single and double, and
 * Gray-Scott. Then the small grids: 100 x 100 for 1000 steps by every variant, and an
 * ensemble of Gray-Scott runs. --quick takes shorter samples. sweep: the blocked variant
 * and clusters at many values of what they are tuned by, a line each, in less than a
 * minute; small: the small grids alone. */
#include "../../src/diffusion.h"
#include "ceiling/ceiling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZES_MAX 32
#define SAMPLES   3

struct request {
    const char *device;
    bool quick, sweep, small;
    int threads, count;
    int64_t n[SIZES_MAX];
};

static void must(enum sim_status status)
{
    if (status == SIM_OK)
        return;
    fprintf(stderr, "bench_diffusion: %s\n", sim_error_text());
    exit(1);
}

static double time_steps(struct sim_diffusion *d, int64_t steps)
{
    must(sim_device_finish(d->system.device));
    const double start = bench_clock();
    must(sim_diffusion_step(d, steps));
    must(sim_device_finish(d->system.device));
    return bench_clock() - start;
}

/* Seconds a step; the best of a few samples of about `budget` seconds. */
static double step_seconds(struct sim_diffusion *d, double budget)
{
    const int64_t unit = d->system.device->kind == SIM_CPU ? 8 : 48;
    double once = time_steps(d, unit) / (double)unit, best = HUGE_VAL;
    once = fmin(once, time_steps(d, unit) / (double)unit);
    const int64_t steps = unit * (1 + (int64_t)(budget / once / (double)unit));
    for (int k = 0; k < SAMPLES; k++)
        best = fmin(best, time_steps(d, steps) / (double)steps);
    return best;
}

struct work {
    int64_t n, count;
    bool is_double;
    enum sim_reaction reaction;
    struct sim_diffusion_tuning tuning;
};

static bool make(struct sim_device *device, const struct work *w, struct sim_diffusion *d)
{
    const struct sim_diffusion_desc desc = {
        .nx = w->n,
        .ny = w->n,
        .count = w->count,
        .dx = 1,
        .dy = 1,
        .dt = w->reaction == SIM_REACTION_NONE ? 0.2 : 1,
        .diffusivity = {{w->reaction == SIM_REACTION_NONE ? 1 : 0.16,
                         w->reaction == SIM_REACTION_NONE ? 1 : 0.16},
                        {0.08, 0.08}},
        .number = {0.037, 0.097},
        .reaction = w->reaction,
        .is_double = w->is_double,
        .tuning = w->tuning};
    if (sim_diffusion_new(device, &desc, d) != SIM_OK)
        return false;
    must(sim_field_paint(
        sim_diffusion_field(d, 0, 0),
        &(struct sim_paint){.noise = true, .seed = 1, .low = 0, .high = 1}));
    return true;
}

static void print_tuning(const struct sim_diffusion_tuning *t)
{
    if (t->depth)
        printf(", depth %d", t->depth);
    if (t->cells)
        printf(", cells %d", t->cells);
    if (t->rows)
        printf(", rows %d", t->rows);
    if (t->waves)
        printf(", waves %d", t->waves);
    if (t->blocks)
        printf(", blocks %d", t->blocks);
}

/* A line of the table; nothing where it cannot be done. */
static void measure(struct sim_diffusion *d, const struct work *w, const char *what,
                    double copy, double budget)
{
    char how[96];
    d->system.tuning = w->tuning;
    if (sim_diffusion_describe(d, 48, how, sizeof how) != SIM_OK)
        return;
    const double cells = (double)w->n * (double)w->n * (double)(w->count ? w->count : 1);
    const double seconds = step_seconds(d, budget);
    const double bytes = 2 * d->system.species * (w->is_double ? 8 : 4) * cells / seconds;
    printf("%-22s %6lld^2", what, (long long)w->n);
    if (w->count > 1)
        printf(" x %lld", (long long)w->count);
    printf("  %10.3f us/step  %8.1f Gcell/s  %5.2f x copy   %s", seconds * 1e6,
           cells / seconds * 1e-9, bytes / copy, how);
    print_tuning(&w->tuning);
    printf("\n");
    fflush(stdout);
}

static void line(struct sim_device *device, const struct work *w, const char *what,
                 double copy, double budget)
{
    struct sim_diffusion d;
    if (!make(device, w, &d)) {
        printf("%-22s %6lld^2  %s\n", what, (long long)w->n, sim_error_text());
        return;
    }
    measure(&d, w, what, copy, budget);
    sim_diffusion_free(&d);
}

static const struct {
    const char *what;
    bool is_double;
    enum sim_reaction reaction;
} kinds[] = {{"single", false, SIM_REACTION_NONE},
             {"double", true, SIM_REACTION_NONE},
             {"Gray-Scott", false, SIM_GRAY_SCOTT}};

/* The blocked variant: which depth and width, and how often the GPU is filled. */
static void sweep_blocked(struct sim_diffusion *d, struct work w, int kind, double copy)
{
    static const int depths[] = {1, 2, 4, 6, 8, 12}, cells[] = {4, 8};
    for (int k = 0; k < 5; k++)
        for (int c = 0; c < 2; c++)
            for (int waves = 1; waves <= 4; waves++) {
                /* two widths there are of this depth alone */
                const bool both = depths[k] == 8 && kind == 0;
                if ((c && !both) || (depths[k] == 1 && waves > 2))
                    continue;
                w.tuning = (struct sim_diffusion_tuning){.variant = SIM_DIFFUSION_BLOCKED,
                                                         .depth = depths[k],
                                                         .cells = both ? cells[c] : 0,
                                                         .waves = waves};
                measure(d, &w, kinds[kind].what, copy, 0.01);
            }
}

static void sweep_cluster(struct sim_diffusion *d, struct work w, int kind, double copy)
{
    static const int steps[] = {1, 2, 4}, rows[] = {2, 4, 8}, blocks[] = {8, 16};
    for (int k = 0; k < 3; k++)
        for (int r = 0; r < 3; r++)
            for (int b = 0; b < 2; b++) {
                w.tuning = (struct sim_diffusion_tuning){.variant = SIM_DIFFUSION_CLUSTER,
                                                         .depth = steps[k],
                                                         .rows = rows[r],
                                                         .blocks = blocks[b]};
                measure(d, &w, kinds[kind].what, copy, 0.004);
            }
    w.tuning = (struct sim_diffusion_tuning){.variant = SIM_DIFFUSION_SMALL};
    measure(d, &w, kinds[kind].what, copy, 0.004);
    w.tuning = (struct sim_diffusion_tuning){.variant = SIM_DIFFUSION_BLOCKED};
    measure(d, &w, kinds[kind].what, copy, 0.004);
}

static void sweep_size(struct sim_device *device, int64_t n, int kind, double copy)
{
    struct work w = {.n = n,
                     .is_double = kinds[kind].is_double,
                     .reaction = kinds[kind].reaction,
                     .tuning = {.variant = SIM_DIFFUSION_PLAIN}};
    struct sim_diffusion d;
    if (!make(device, &w, &d)) {
        printf("%-22s %6lld^2  %s\n", kinds[kind].what, (long long)n, sim_error_text());
        return;
    }
    measure(&d, &w, kinds[kind].what, copy, 0.01);
    if (n <= 512)
        sweep_cluster(&d, w, kind, copy);
    else
        sweep_blocked(&d, w, kind, copy);
    sim_diffusion_free(&d);
}

static void sweep(struct sim_device *device, const struct request *r, const double *copy)
{
    for (int k = 0; k < r->count; k++)
        for (int kind = 0; kind < 3; kind++)
            sweep_size(device, r->n[k], kind, copy[kinds[kind].is_double]);
}

static void square(struct sim_device *device, const struct request *r, int64_t n,
                   const double *copy)
{
    const double budget = r->quick ? 0.02 : 0.1;
    for (int k = 0; k < 3; k++) {
        struct work w = {.n = n,
                         .is_double = kinds[k].is_double,
                         .reaction = kinds[k].reaction,
                         .tuning = {.variant = SIM_DIFFUSION_PLAIN}};
        line(device, &w, kinds[k].what, copy[w.is_double], budget);
        w.tuning.variant = SIM_DIFFUSION_BLOCKED;
        line(device, &w, kinds[k].what, copy[w.is_double], budget);
        w.tuning.variant = SIM_DIFFUSION_AUTO;
        line(device, &w, kinds[k].what, copy[w.is_double], budget);
    }
}

/* 100 times ten steps and the state read back. */
static double time_outputs(struct sim_diffusion *d)
{
    const size_t bytes =
        (size_t)d->system.pitch * (size_t)d->system.ny * d->ops->real_bytes;
    double best = HUGE_VAL;
    void *host;
    must(sim_host_new(d->system.device, bytes, &host));
    for (int k = 0; k < SAMPLES; k++) {
        const double start = bench_clock();
        for (int n = 0; n < 100; n++) {
            must(sim_diffusion_step(d, 10));
            const struct sim_buffer *now =
                &d->arrays[0][d->system.now[0] == d->arrays[0][0].data ? 0 : 1];
            must(sim_buffer_read(now, 0, host, bytes));
        }
        best = fmin(best, bench_clock() - start);
    }
    sim_host_free(d->system.device, host);
    return best;
}

static void small_grids(struct sim_device *device, const double *copy)
{
    static const int64_t sides[] = {32, 64, 100, 128, 180, 256, 512, 1024};
    for (int k = 0; k < 8; k++)
        for (int v = SIM_DIFFUSION_AUTO; v <= SIM_DIFFUSION_CLUSTER; v++) {
            const struct work w = {.n = sides[k],
                                   .tuning = {.variant = (enum sim_diffusion_variant)v}};
            line(device, &w, "small grid", copy[0], 0.02);
        }
    struct work text = {.n = 100};
    struct sim_diffusion d;
    if (make(device, &text, &d)) {
        time_steps(&d, 1000);
        printf("100 x 100, 1000 steps: %.3f ms\n", 1e3 * time_steps(&d, 1000));
        printf("the same with 100 outputs read back: %.3f ms\n", 1e3 * time_outputs(&d));
        sim_diffusion_free(&d);
    }
    for (int v = SIM_DIFFUSION_AUTO; v <= SIM_DIFFUSION_CLUSTER; v++) {
        const struct work w = {.n = 128,
                               .count = device->kind == SIM_CPU ? 12 : 1200,
                               .reaction = SIM_GRAY_SCOTT,
                               .tuning = {.variant = (enum sim_diffusion_variant)v}};
        line(device, &w, "ensemble, Gray-Scott", copy[0], 0.1);
    }
}

static struct request read_request(int argc, char **argv)
{
    static const int64_t cuda[] = {2048, 4096, 8192, 8191, 16384},
                         cpu[] = {1024, 4096, 8192},
                         sweep_sizes[] = {64,   100,  128,  256,  512,
                                          2048, 4096, 8192, 16384};
    struct request r = {.device = "auto"};
    for (int k = 1; k < argc; k++) {
        if (!strcmp(argv[k], "--quick"))
            r.quick = true;
        else if (!strcmp(argv[k], "sweep"))
            r.sweep = true;
        else if (!strcmp(argv[k], "small"))
            r.small = true;
        else if (!strcmp(argv[k], "--threads") && k + 1 < argc)
            r.threads = atoi(argv[++k]);
        else if (argv[k][0] >= '0' && argv[k][0] <= '9' && r.count < SIZES_MAX)
            r.n[r.count++] = atoll(argv[k]);
        else
            r.device = argv[k];
    }
    if (r.count)
        return r;
    const bool on_cpu = !strcmp(r.device, "cpu");
    r.count = on_cpu ? 3 : r.sweep ? 9 : 5;
    memcpy(r.n,
           on_cpu    ? cpu
           : r.sweep ? sweep_sizes
                     : cuda,
           (size_t)r.count * sizeof *r.n);
    return r;
}

int main(int argc, char **argv)
{
    struct request r = read_request(argc, argv);
    struct sim_device *device;
    struct ceiling single, twice;
    must(sim_device_open(r.device, r.threads, &device));
    if (device->kind == SIM_CPU && r.n[r.count - 1] > 8192 && !strcmp(r.device, "auto"))
        r.count -= 2; /* no GPU: leave out what would take minutes */
    must(ceiling_measure(device, false, &single));
    must(ceiling_measure(device, true, &twice));
    const double copy[2] = {single.copy, twice.copy};
    printf("%s: copy %.0f GB/s, %d threads\n", device->name, single.copy * 1e-9,
           device->threads);
    if (r.sweep)
        sweep(device, &r, copy);
    for (int k = 0; k < r.count && !r.sweep && !r.small; k++)
        square(device, &r, r.n[k], copy);
    if (!r.sweep)
        small_grids(device, copy);
    sim_device_close(device);
    return 0;
}
