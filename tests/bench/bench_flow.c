/* bench_flow.c - how fast the flow solver is, beside the copy bandwidth of the same run.
 *
 *     bench_flow [cpu|cuda|cuda:K] [--quick] [--threads T] [--double]
 *                [--solver multigrid|transform|auto] [N ...]
 *
 * For each side N of a square, steps a second with the pressure converged, of a disc in a
 * channel and of an empty box with a moving lid (alone, where transforms are asked for by
 * name); cycles and transforms a step; nanoseconds and bytes a
 * cell and step, and the time as a multiple of what those bytes take at the speed of a
 * copy. Bytes are those of the passes as they are written, each array read or written
 * once a pass (docs/performance.md has the count). */
#include "../../src/flow.h"
#include "ceiling/ceiling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZES_MAX 32
#define SAMPLES   3

/* Reals a cell and step, a cycle of the pressure solve, and a direct solve by transforms
 * (order 2, spectrum 2, solution and what it leaves 4, and 4 there and back, if cuFFT
 * goes over the array twice); flags are a byte. */
#define REALS_STEP      26.4
#define REALS_CYCLE     47.3
#define REALS_TRANSFORM 16.0

struct request {
    const char *device;
    bool quick, is_double;
    int threads, count;
    enum sim_poisson_method method;
    int64_t n[SIZES_MAX];
};

static void must(enum sim_status status)
{
    if (status == SIM_OK)
        return;
    fprintf(stderr, "bench_flow: %s\n", sim_error_text());
    exit(1);
}

static void side(struct sim_flow *f, enum sim_flow_side which, enum sim_flow_kind kind,
                 double normal, double tangent)
{
    const struct sim_flow_side_desc d = {
        .side = which, .kind = kind, .normal = normal, .tangent = tangent};
    must(sim_flow_set_side(f, &d));
}

static void make(struct sim_device *device, const struct request *r, int64_t n, bool disc,
                 struct sim_flow *f)
{
    const struct sim_flow_desc d = {.nx = n,
                                    .ny = n,
                                    .dx = 1.0 / (double)n,
                                    .dy = 1.0 / (double)n,
                                    .nu = 1e-3,
                                    .chi = 0.9,
                                    .cfl = 0.5,
                                    .tolerance = r->is_double ? 1e-10 : 1e-6,
                                    .is_double = r->is_double,
                                    .method = r->method,
                                    .wall = SIM_FLOW_CUT_CELLS,
                                    .iterations = 60};
    must(sim_flow_new(device, &d, f));
    if (!disc) {
        side(f, SIM_FLOW_NORTH, SIM_FLOW_NO_SLIP, 0, 1);
        return;
    }
    const double centre[2] = {0.3, 0.5};
    struct sim_shape *shape;
    must(sim_shape_disc(centre, 0.1, &shape));
    must(sim_flow_add_obstacle(f, "disc", shape));
    sim_shape_release(shape);
    side(f, SIM_FLOW_WEST, SIM_FLOW_INFLOW, 1, 0);
    side(f, SIM_FLOW_EAST, SIM_FLOW_OUTFLOW, 0, 0);
}

static double time_steps(struct sim_flow *f, int64_t steps)
{
    must(sim_device_finish(f->system.device));
    const double start = bench_clock();
    must(sim_flow_step(f, steps));
    must(sim_device_finish(f->system.device));
    return bench_clock() - start;
}

static void measure(struct sim_device *device, const struct request *r, int64_t n,
                    bool disc, double copy)
{
    struct sim_flow f;
    struct sim_flow_control before, after;
    double divergence, best = HUGE_VAL;
    make(device, r, n, disc, &f);
    double once = time_steps(&f, 8) / 8; /* past the impulsive start */
    once = fmin(once, time_steps(&f, 8) / 8);
    const int64_t steps = 4 + (int64_t)((r->quick ? 0.3 : 1.5) / once);
    must(sim_flow_control(&f, &before));
    for (int k = 0; k < SAMPLES; k++)
        best = fmin(best, time_steps(&f, steps) / (double)steps);
    must(sim_flow_control(&f, &after));
    must(sim_flow_divergence(&f, &divergence));
    const double done = (double)(after.steps - before.steps);
    const double cycles = (double)(after.solve.total - before.solve.total) / done;
    const double transforms =
        (double)(after.solve.transforms - before.solve.transforms) / done;
    const double reals = REALS_STEP + REALS_CYCLE * cycles + REALS_TRANSFORM * transforms;
    const double bytes = reals * (r->is_double ? 8 : 4);
    const double cells = (double)n * (double)n;
    printf("%6lld^2  %-14s %9.2f steps/s  %8.1f Mcell/s  %5.2f cycles  "
           "%4.2f transforms  %6.1f ns  %5.0f bytes  %5.2f x copy  divergence %.1e\n",
           (long long)n, disc ? "disc, channel" : "box, lid", 1 / best,
           cells / best * 1e-6, cycles, transforms, best / cells * 1e9, bytes,
           best / (cells * bytes / copy), divergence);
    fflush(stdout);
    sim_flow_free(&f);
}

static enum sim_poisson_method method_of(const char *word)
{
    if (!strcmp(word, "multigrid"))
        return SIM_MULTIGRID;
    if (!strcmp(word, "transform"))
        return SIM_TRANSFORM;
    if (!strcmp(word, "auto"))
        return SIM_AUTO;
    fprintf(stderr, "bench_flow: --solver multigrid, transform or auto\n");
    exit(2);
}

static void read_request(int argc, char **argv, struct request *r)
{
    *r = (struct request){.device = "auto", .method = SIM_AUTO};
    for (int k = 1; k < argc; k++) {
        if (!strcmp(argv[k], "--quick"))
            r->quick = true;
        else if (!strcmp(argv[k], "--double"))
            r->is_double = true;
        else if (!strcmp(argv[k], "--threads") && k + 1 < argc)
            r->threads = atoi(argv[++k]);
        else if (!strcmp(argv[k], "--solver") && k + 1 < argc)
            r->method = method_of(argv[++k]);
        else if (argv[k][0] >= '1' && argv[k][0] <= '9' && r->count < SIZES_MAX)
            r->n[r->count++] = atoll(argv[k]);
        else
            r->device = argv[k];
    }
    if (!r->count)
        r->n[r->count++] = 256, r->n[r->count++] = 512, r->n[r->count++] = 1024;
}

int main(int argc, char **argv)
{
    struct sim_device *device;
    struct ceiling ceiling;
    struct request r;
    read_request(argc, argv, &r);
    must(sim_device_open(r.device, r.threads, &device));
    must(ceiling_measure(device, r.is_double, &ceiling));
    printf("%s, %s: a copy moves %.1f GB/s\n", device->name,
           r.is_double ? "double" : "single", ceiling.copy * 1e-9);
    for (int k = 0; k < r.count; k++) {
        if (r.method != SIM_TRANSFORM)
            measure(device, &r, r.n[k], true, ceiling.copy);
        measure(device, &r, r.n[k], false, ceiling.copy);
    }
    sim_device_close(device);
    return 0;
}
