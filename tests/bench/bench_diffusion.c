/* bench_diffusion.c - how fast diffusion is, beside the copy bandwidth of the same run.
 *
 *     bench_diffusion [cpu|cuda|cuda:K] [--quick] [--sweep] [--threads T] [N ...]
 *
 * For each side N of a square: one pass a step, the blocked variant and what is chosen by
 * itself, in cells a second (a cell updated once counts once), single and double, and
 * Gray-Scott. Then the small grids: 100 x 100 for 1000 steps by every variant, and an
 * ensemble of Gray-Scott runs. --sweep also prints the blocked variant at every depth and
 * several heights of its chunks. --quick takes shorter samples. */
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
    bool quick, sweep;
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
    enum sim_diffusion_variant variant;
    int depth, rows;
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
        .tuning = {.variant = w->variant, .depth = w->depth, .rows = w->rows}};
    if (sim_diffusion_new(device, &desc, d) != SIM_OK)
        return false;
    must(sim_field_paint(
        sim_diffusion_field(d, 0, 0),
        &(struct sim_paint){.noise = true, .seed = 1, .low = 0, .high = 1}));
    return true;
}

/* A line of the table; false where it cannot be done. */
static bool line(struct sim_device *device, const struct work *w, const char *what,
                 double copy, double budget)
{
    struct sim_diffusion d;
    char how[96];
    if (!make(device, w, &d)) {
        printf("%-22s %6lld^2  %s\n", what, (long long)w->n, sim_error_text());
        return false;
    }
    if (sim_diffusion_describe(&d, 48, how, sizeof how) != SIM_OK) {
        sim_diffusion_free(&d);
        return false;
    }
    const double cells = (double)w->n * (double)w->n * (double)(w->count ? w->count : 1);
    const double seconds = step_seconds(&d, budget);
    const double bytes = 2 * d.system.species * (w->is_double ? 8 : 4) * cells / seconds;
    printf("%-22s %6lld^2", what, (long long)w->n);
    if (w->count > 1)
        printf(" x %lld", (long long)w->count);
    printf("  %10.3f us/step  %8.1f Gcell/s  %5.2f x copy   %s", seconds * 1e6,
           cells / seconds * 1e-9, bytes / copy, how);
    if (w->rows)
        printf(", rows %d", w->rows);
    printf("\n");
    fflush(stdout);
    sim_diffusion_free(&d);
    return true;
}

static void sweep(struct sim_device *device, struct work w, const char *what, double copy,
                  double budget)
{
    static const int depths[] = {2, 4, 6, 8, 12, 16}, rows[] = {0, 32, 64, 128, 256, 512};
    for (int k = 0; k < 6; k++)
        for (int n = 0; n < 6; n++) {
            w.variant = SIM_DIFFUSION_BLOCKED, w.depth = depths[k], w.rows = rows[n];
            line(device, &w, what, copy, budget);
        }
}

static void square(struct sim_device *device, const struct request *r, int64_t n,
                   const double *copy)
{
    static const struct {
        const char *what;
        bool is_double;
        enum sim_reaction reaction;
    } kinds[] = {{"single", false, SIM_REACTION_NONE},
                 {"double", true, SIM_REACTION_NONE},
                 {"Gray-Scott", false, SIM_GRAY_SCOTT}};
    const double budget = r->quick ? 0.02 : 0.1;
    for (int k = 0; k < 3; k++) {
        struct work w = {.n = n,
                         .is_double = kinds[k].is_double,
                         .reaction = kinds[k].reaction,
                         .variant = SIM_DIFFUSION_PLAIN};
        line(device, &w, kinds[k].what, copy[w.is_double], budget);
        w.variant = SIM_DIFFUSION_BLOCKED;
        line(device, &w, kinds[k].what, copy[w.is_double], budget);
        w.variant = SIM_DIFFUSION_AUTO;
        line(device, &w, kinds[k].what, copy[w.is_double], budget);
        if (r->sweep)
            sweep(device, w, kinds[k].what, copy[w.is_double], budget / 4);
    }
}

static void small_grids(struct sim_device *device, const double *copy)
{
    static const int64_t sides[] = {32, 64, 100, 128, 180, 256, 512, 1024};
    for (int k = 0; k < 8; k++)
        for (int v = SIM_DIFFUSION_AUTO; v <= SIM_DIFFUSION_CLUSTER; v++) {
            const struct work w = {.n = sides[k],
                                   .variant = (enum sim_diffusion_variant)v};
            line(device, &w, "small grid", copy[0], 0.02);
        }
    struct work text = {.n = 100};
    struct sim_diffusion d;
    if (make(device, &text, &d)) {
        time_steps(&d, 1000);
        printf("100 x 100, 1000 steps: %.3f ms\n", 1e3 * time_steps(&d, 1000));
        sim_diffusion_free(&d);
    }
    for (int v = SIM_DIFFUSION_AUTO; v <= SIM_DIFFUSION_CLUSTER; v++) {
        const struct work w = {.n = 128,
                               .count = device->kind == SIM_CPU ? 12 : 1200,
                               .reaction = SIM_GRAY_SCOTT,
                               .variant = (enum sim_diffusion_variant)v};
        line(device, &w, "ensemble, Gray-Scott", copy[0], 0.1);
    }
}

static struct request read_request(int argc, char **argv)
{
    static const int64_t cuda[] = {2048, 4096, 8192, 8191, 16384},
                         cpu[] = {1024, 4096, 8192};
    struct request r = {.device = "auto"};
    for (int k = 1; k < argc; k++) {
        if (!strcmp(argv[k], "--quick"))
            r.quick = true;
        else if (!strcmp(argv[k], "--sweep"))
            r.sweep = true;
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
    r.count = on_cpu ? 3 : 5;
    memcpy(r.n, on_cpu ? cpu : cuda, (size_t)r.count * sizeof *r.n);
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
    for (int k = 0; k < r.count; k++)
        square(device, &r, r.n[k], copy);
    small_grids(device, copy);
    sim_device_close(device);
    return 0;
}
