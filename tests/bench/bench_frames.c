/* bench_frames.c - what pictures cost beside the steps that they show.
 *
 *     bench_frames [auto|cpu|cuda|cuda:K] [--grid N] [--steps S] [--every E]
 *                  [--threads T] [SIDE ...]
 *
 * Diffusion on a grid of N^2 (4096) in single precision, S steps (300), a square picture
 * of SIDE pixels every E (10). Against the steps alone stand: pictures drawn and thrown
 * away; drawn and brought to the host, without an encoder; saved as PNG files by
 * sim_frames_save, into a folder under TMPDIR. Two things can be the limit besides the
 * steps, and are measured by themselves: the way down of as many pictures, and their
 * encoding. "x limit" is the time over the largest of what runs side by side: 1 is a
 * perfect overlap. Best of a few samples. */
#include "../../src/diffusion.h"
#include "../../src/field_image.h"
#include "../../src/frame.h"
#include "ceiling/ceiling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAMPLES   4
#define SLOTS     4 /* pictures on their way at once, as sim_frames_open takes by itself */
#define SIDES_MAX 8

struct request {
    const char *device;
    int64_t grid, steps, every;
    int threads, count, side[SIDES_MAX];
};

struct bench {
    struct request r;
    struct sim_device *device;
    struct sim_diffusion diffusion;
    int side;
    void *host[SLOTS]; /* without the encoder: a ring */
    struct sim_ticket ticket[SLOTS];
    struct sim_frames *frames;
    char folder[256];
};

static void must(enum sim_status status)
{
    if (status == SIM_OK)
        return;
    fprintf(stderr, "bench_frames: %s\n", sim_error_text());
    exit(1);
}

static struct sim_image draw(struct bench *b)
{
    const struct sim_field_picture picture = {
        .width = b->side, .height = b->side, .range = {0, 1}};
    struct sim_image image;
    must(sim_field_image(sim_diffusion_field(&b->diffusion, 0, 0), &picture, &image));
    return image;
}

/* --- what is done with picture k ------------------------------------------------------
 */

typedef void use_picture(struct bench *b, int64_t k);

static void none(struct bench *b, int64_t k)
{
    (void)b, (void)k;
}

static void drawn(struct bench *b, int64_t k)
{
    (void)k;
    struct sim_image image = draw(b);
    sim_image_free(&image);
}

static void brought_down(struct bench *b, int64_t k)
{
    struct sim_image image = draw(b);
    const int slot = (int)(k % SLOTS);
    must(sim_ticket_wait(&b->ticket[slot]));
    must(sim_buffer_read_later(&image.pixels, 0, b->host[slot], sim_image_bytes(&image),
                               &b->ticket[slot]));
    sim_image_free(&image);
}

static void saved(struct bench *b, int64_t k)
{
    struct sim_image image = draw(b);
    char path[320];
    snprintf(path, sizeof path, "%s/%lld.png", b->folder, (long long)k);
    must(sim_frames_save(b->frames, &image, path, "", NULL));
    sim_image_free(&image);
}

/* --- measuring ------------------------------------------------------------------------
 */

static double run_once(struct bench *b, int64_t steps, use_picture *use)
{
    must(sim_device_finish(b->device));
    const double start = bench_clock();
    for (int64_t k = 0; k < b->r.steps / b->r.every; k++) {
        if (steps)
            must(sim_diffusion_step(&b->diffusion, steps));
        use(b, k);
    }
    for (int s = 0; s < SLOTS; s++)
        must(sim_ticket_wait(&b->ticket[s]));
    must(sim_frames_finish(b->frames));
    must(sim_device_finish(b->device));
    return bench_clock() - start;
}

/* The first run makes page-locked memory and warms the pool; it does not count. */
static double best_run(struct bench *b, int64_t steps, use_picture *use)
{
    double best = HUGE_VAL;
    run_once(b, steps, use);
    for (int k = 0; k < SAMPLES; k++)
        best = fmin(best, run_once(b, steps, use));
    return best;
}

static void line(const struct bench *b, const char *what, double seconds, double alone,
                 double limit)
{
    const double pictures = (double)(b->r.steps / b->r.every);
    printf("  %-28s %9.3f ms %9.3f ms a picture %7.3f x steps alone", what, 1e3 * seconds,
           1e3 * seconds / pictures, seconds / alone);
    if (limit > 0)
        printf(" %7.3f x limit", seconds / limit);
    printf("\n");
    fflush(stdout);
}

static void measure(struct bench *b)
{
    const int64_t every = b->r.every;
    const double alone = best_run(b, every, none), shown = best_run(b, every, drawn),
                 way = best_run(b, 0, brought_down), coded = best_run(b, 0, saved);
    line(b, "steps alone", alone, alone, 0);
    line(b, "and pictures drawn", shown, alone, 0);
    line(b, "pictures down, no steps", way, alone, 0);
    line(b, "pictures saved, no steps", coded, alone, 0);
    line(b, "steps, pictures down", best_run(b, every, brought_down), alone,
         fmax(shown, way));
    line(b, "steps, pictures saved", best_run(b, every, saved), alone,
         fmax(shown, coded));
}

static void folder_remove(const struct bench *b)
{
    char path[320];
    for (int64_t k = 0; k < b->r.steps / b->r.every; k++) {
        snprintf(path, sizeof path, "%s/%lld.png", b->folder, (long long)k);
        unlink(path);
    }
    rmdir(b->folder);
}

static void pictures_of(struct bench *b, int side)
{
    b->side = side;
    struct sim_image image = draw(b);
    const size_t bytes = sim_image_bytes(&image);
    sim_image_free(&image);
    printf("%lld^2 cells, %lld steps, every %lld a picture of %d^2 (%.1f MB)\n",
           (long long)b->r.grid, (long long)b->r.steps, (long long)b->r.every, side,
           1e-6 * (double)bytes);
    for (int s = 0; s < SLOTS; s++)
        must(sim_host_new(b->device, bytes, &b->host[s]));
    must(sim_frames_open(b->device, 0, SLOTS, &b->frames));
    measure(b);
    sim_frames_close(b->frames, 10);
    for (int s = 0; s < SLOTS; s++)
        sim_host_free(b->device, b->host[s]);
}

static struct request read_request(int argc, char **argv)
{
    struct request r = {.device = "auto", .grid = 4096, .steps = 300, .every = 10};
    for (int k = 1; k < argc; k++) {
        const bool more = k + 1 < argc;
        if (!strcmp(argv[k], "--grid") && more)
            r.grid = atoll(argv[++k]);
        else if (!strcmp(argv[k], "--steps") && more)
            r.steps = atoll(argv[++k]);
        else if (!strcmp(argv[k], "--every") && more)
            r.every = atoll(argv[++k]);
        else if (!strcmp(argv[k], "--threads") && more)
            r.threads = atoi(argv[++k]);
        else if (argv[k][0] >= '0' && argv[k][0] <= '9' && r.count < SIDES_MAX)
            r.side[r.count++] = atoi(argv[k]);
        else if (argv[k][0] != '-')
            r.device = argv[k];
    }
    if (r.count == 0) {
        r.side[r.count++] = (int)r.grid;
        r.side[r.count++] = (int)r.grid / 4;
    }
    return r;
}

int main(int argc, char **argv)
{
    struct bench b = {.r = read_request(argc, argv)};
    const char *base = getenv("TMPDIR");
    snprintf(b.folder, sizeof b.folder, "%s/bench_frames.XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(b.folder)) {
        perror(b.folder);
        return 1;
    }
    must(sim_device_open(b.r.device, b.r.threads, &b.device));
    const struct sim_diffusion_desc desc = {.nx = b.r.grid,
                                            .ny = b.r.grid,
                                            .dx = 1,
                                            .dy = 1,
                                            .dt = 0.2,
                                            .diffusivity = {{1, 1}}};
    must(sim_diffusion_new(b.device, &desc, &b.diffusion));
    must(sim_field_paint(
        sim_diffusion_field(&b.diffusion, 0, 0),
        &(struct sim_paint){.noise = true, .seed = 1, .low = 0, .high = 1}));
    printf("%s, %d threads\n", b.device->name, b.device->threads);
    for (int k = 0; k < b.r.count; k++)
        pictures_of(&b, b.r.side[k]);
    folder_remove(&b);
    sim_diffusion_free(&b.diffusion);
    sim_device_close(b.device);
    return 0;
}
