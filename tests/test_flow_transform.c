/* test_flow_transform.c - the direct solve of the pressure: its formulas against the
 * operator they invert, with transforms by the definition; where it is taken and where
 * refused; and on a GPU whole flows against multigrid. */
#define SIM_DOUBLE
#include "flow_case.h"

#include "../src/fail.h"

#include "../kernels/poisson_transform_math.h"

/* --- the formulas ------------------------------------------------------------------- */

#define SIDE 12

static const double turn = 6.283185307179586;

static struct poisson_complex multiplied(struct poisson_complex v, double angle)
{
    return poisson_turned(cos(angle), sin(angle), v); /* by exp(-i angle) */
}

/* One axis: out(k) = sum of in(n) exp(-i sign 2 pi k n/count), elements `step` apart. */
static void along(struct poisson_complex *v, int64_t count, int64_t step, double sign)
{
    struct poisson_complex out[SIDE];
    for (int64_t k = 0; k < count; k++) {
        out[k] = (struct poisson_complex){0, 0};
        for (int64_t n = 0; n < count; n++) {
            const struct poisson_complex more =
                multiplied(v[n * step], sign * turn * (double)(k * n) / (double)count);
            out[k].re += more.re, out[k].im += more.im;
        }
    }
    for (int64_t k = 0; k < count; k++)
        v[k * step] = out[k];
}

static void whole(struct poisson_complex *v, int64_t nx, int64_t ny, double sign)
{
    for (int64_t j = 0; j < ny; j++)
        along(v + j * nx, nx, 1, sign);
    for (int64_t i = 0; i < nx; i++)
        along(v + i, ny, nx, sign);
}

/* As the GPU does it: of the spectrum only 0 <= k <= nx/2 is looked at. */
static void solve_spectrum(const struct poisson_box *g, struct poisson_complex *v)
{
    struct poisson_mode x[SIDE], y[SIDE];
    const int64_t nx = g->nx, ny = g->ny;
    sim_flow_modes(nx, g->periodic_x, g->across, (double(*)[4])x);
    sim_flow_modes(ny, g->periodic_y, g->up, (double(*)[4])y);
    for (int64_t l = 0; l <= ny / 2; l++)
        for (int64_t k = 0; k <= nx / 2; k++) {
            struct poisson_complex *near = v + l * nx + k,
                                   *far = v + (ny - l) % ny * nx + k;
            const struct poisson_pair of =
                poisson_solved(g, &x[k], &y[l], (struct poisson_pair){*near, *far});
            *near = of.a;
            if (far != near)
                *far = of.b;
        }
    for (int64_t l = 0; l < ny; l++) /* the conjugates, as real numbers have them */
        for (int64_t k = nx / 2 + 1; k < nx; k++)
            v[l * nx + k] = poisson_conjugate(v[(ny - l) % ny * nx + nx - k]);
}

/* (A x) by its definition: what flows out over the faces that there are. */
static double flux_out(const struct poisson_box *g, const double *x, int64_t i, int64_t j)
{
    static const int way[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
    double sum = 0;
    for (int k = 0; k < 4; k++) {
        int64_t a = i + way[k][0], b = j + way[k][1];
        const bool beyond_x = a < 0 || a >= g->nx, beyond_y = b < 0 || b >= g->ny;
        if ((beyond_x && !g->periodic_x) || (beyond_y && !g->periodic_y))
            continue;
        a = (a + g->nx) % g->nx, b = (b + g->ny) % g->ny;
        sum += (way[k][0] ? g->across : g->up) * (x[j * g->nx + i] - x[b * g->nx + a]);
    }
    return sum;
}

/* The largest |b - A x|, by the kernel's formula and by the definition. */
static double solved(const struct poisson_box *g, double *mean)
{
    struct poisson_complex v[SIDE * SIDE];
    double b[SIDE * SIDE], x[SIDE * SIDE], ordered[SIDE * SIDE], worst = 0, sum = 0;
    const int64_t cells = g->nx * g->ny;
    for (int64_t c = 0; c < cells; c++)
        sum += b[c] = noise((uint64_t)(g->nx * 16 + g->ny), (uint64_t)c) - 0.5;
    for (int64_t c = 0; c < cells; c++) {
        b[c] -= sum / (double)cells;
        v[poisson_box_at(g, c % g->nx, c / g->nx)] = (struct poisson_complex){b[c], 0};
    }
    whole(v, g->nx, g->ny, 1);
    solve_spectrum(g, v);
    whole(v, g->nx, g->ny, -1);
    *mean = 0;
    for (int64_t c = 0; c < cells; c++) {
        worst = fmax(worst, fabs(v[c].im));
        *mean += ordered[c] = v[c].re;
    }
    for (int64_t c = 0; c < cells; c++)
        x[c] = ordered[poisson_box_at(g, c % g->nx, c / g->nx)];
    for (int64_t c = 0; c < cells; c++) {
        const int64_t i = c % g->nx, j = c / g->nx;
        double here;
        worst = fmax(worst, fabs(b[c] - poisson_box_apply(g, ordered, i, j, &here)));
        worst = fmax(worst, fabs(b[c] - flux_out(g, x, i, j)));
        worst = fmax(worst, fabs(here - x[c]));
    }
    return worst;
}

/* Every size up to 12 x 12 with all kinds of axes, cells that are not square. */
static void formulas(void)
{
    double worst = 0, mean, most = 0;
    for (int64_t ny = 1; ny <= SIDE; ny++)
        for (int64_t nx = 1; nx <= SIDE; nx++)
            for (int kind = 0; kind < 4; kind++) {
                const struct poisson_box g = {
                    nx, ny, kind & 1, kind & 2, 1.7, 0.6, 1 / (double)(nx * ny)};
                const double left = solved(&g, &mean);
                if (!CHECK(left < 1e-13))
                    printf("     %lld x %lld, kind %d: %g\n", (long long)nx,
                           (long long)ny, kind, left);
                worst = fmax(worst, left);
                most = fmax(most, fabs(mean));
            }
    CHECK(most < 1e-13);
    printf("     the formulas leave %.1e\n", worst);
}

/* --- where it is taken -------------------------------------------------------------- */

static void library(void)
{
    static const char *const nowhere[] = {"libno_such_fft.so.1", NULL};
    static const char *const other[] = {"libm.so.6", NULL};
    struct sim_fft_library found;
    char why[128];
    const char *reason;
    CHECK(!sim_fft_library_open(nowhere, &found, why, sizeof why));
    CHECK(strstr(why, "libno_such_fft") != NULL);
    CHECK(!sim_fft_library_open(other, &found, why, sizeof why));
    CHECK(strstr(why, "lacks cufft") != NULL);
    if (!sim_fft_library(&reason))
        check_skip(reason);
    else
        CHECK(sim_fft_library(&reason)->inverse[1] != NULL);
}

static const char *solver_of(struct sim_flow *f, enum sim_poisson_method want)
{
    enum sim_poisson_method method = SIM_SOR;
    const char *why = NULL;
    CHECK_OK(sim_flow_solver(f, &method, &why));
    CHECK(method == want);
    return why ? why : "";
}

static void channel(struct sim_flow *f, enum sim_flow_kind out)
{
    set_side(f, SIM_FLOW_WEST, SIM_FLOW_INFLOW, 1, 0);
    set_side(f, SIM_FLOW_EAST, out, 0, 0);
}

/* Reasons, on any device: what is nearest to the script is said first. */
static void choice(struct sim_device *device)
{
    struct sim_flow_desc d = square(64, 80, 1e-2, false);
    struct sim_flow f;
    const char *none;
    d.method = SIM_AUTO;
    CHECK_OK(sim_flow_new(device, &d, &f));
    const bool can = device->kind == SIM_CUDA && sim_fft_library(&none) != NULL;
    const enum sim_poisson_method empty = can ? SIM_TRANSFORM : SIM_MULTIGRID;
    const char *why = solver_of(&f, empty);
    CHECK(can ? !*why : strstr(why, device->kind == SIM_CUDA ? "cuFFT" : "GPU") != NULL);
    set_periodic(&f, 0);
    CHECK(strstr(solver_of(&f, empty), "obstacle") == NULL);
    set_periodic(&f, 1);
    CHECK(strstr(solver_of(&f, empty), "obstacle") == NULL);
    set_side(&f, SIM_FLOW_SOUTH, SIM_FLOW_NO_SLIP, 0, 0);
    set_side(&f, SIM_FLOW_NORTH, SIM_FLOW_FREE_SLIP, 0, 0);
    channel(&f, SIM_FLOW_PRESSURE);
    CHECK(strstr(solver_of(&f, SIM_MULTIGRID), "prescribed pressure") != NULL);
    channel(&f, SIM_FLOW_OUTFLOW);
    CHECK(strstr(solver_of(&f, empty), "pressure") == NULL);
    add_box(&f, "cell", 10 * d.dx, 10 * d.dx, 11 * d.dx, 11 * d.dx);
    CHECK(strstr(solver_of(&f, SIM_MULTIGRID), "obstacle") != NULL);
    CHECK_OK(sim_flow_remove_obstacle(&f, "cell"));
    CHECK(strstr(solver_of(&f, empty), "obstacle") == NULL);
    sim_flow_free(&f);
    static const int64_t slow[][2] = {{63, 80}, {64, 32}, {64, 88}};
    for (int k = 0; k < 3; k++) {
        d.nx = slow[k][0], d.ny = slow[k][1];
        CHECK_OK(sim_flow_new(device, &d, &f));
        CHECK(strstr(solver_of(&f, SIM_MULTIGRID), k < 2 ? "small" : "prime") != NULL);
        sim_flow_free(&f);
    }
}

/* By name it is done or refused, with the reason. */
static void refused(struct sim_device *device)
{
    struct sim_flow_desc d = square(20, 11, 1e-2, false);
    struct sim_flow f;
    const char *none;
    d.method = SIM_TRANSFORM;
    CHECK_OK(sim_flow_new(device, &d, &f));
    add_box(&f, "cell", 10 * d.dx, 5 * d.dx, 11 * d.dx, 6 * d.dx);
    CHECK(sim_flow_step(&f, 1) == SIM_BAD_ARGUMENT);
    CHECK(strstr(sim_error_text(), "obstacle") != NULL);
    CHECK_OK(sim_flow_remove_obstacle(&f, "cell"));
    channel(&f, SIM_FLOW_PRESSURE);
    CHECK(sim_flow_step(&f, 1) == SIM_BAD_ARGUMENT);
    CHECK(strstr(sim_error_text(), "prescribed pressure") != NULL);
    channel(&f, SIM_FLOW_OUTFLOW);
    if (device->kind == SIM_CUDA && sim_fft_library(&none)) {
        CHECK_OK(sim_flow_step(&f, 1));
    } else {
        CHECK(sim_flow_step(&f, 1) == SIM_BAD_ARGUMENT);
        CHECK(strstr(sim_error_text(), device->kind == SIM_CUDA ? "cuFFT" : "GPU") !=
              NULL);
    }
    sim_flow_free(&f);
}

/* One thing that is made on the device after another cannot be had: that is an error,
 * never another solver, as the bits of a flow must not hang on what is free; and when
 * there is memory again, so is the flow. */
static void short_of_memory(struct sim_device *device, enum sim_poisson_method asked)
{
    struct sim_flow_desc d = square(64, 80, 1e-2, false);
    const char *why;
    const bool can = device->kind == SIM_CUDA && sim_fft_library(&why) != NULL;
    const enum sim_poisson_method want = can ? SIM_TRANSFORM : SIM_MULTIGRID;
    enum sim_status status = SIM_DEVICE_MEMORY;
    int at = 0;
    d.method = asked;
    while (status == SIM_DEVICE_MEMORY) {
        struct sim_flow f;
        enum sim_poisson_method method = SIM_SOR;
        char fault[32];
        CHECK_OK(sim_flow_new(device, &d, &f));
        snprintf(fault, sizeof fault, "device:%d", ++at);
        setenv("SIMLUA_FAIL", fault, 1);
        sim_fail_arm();
        status = sim_flow_solver(&f, &method, &why);
        unsetenv("SIMLUA_FAIL");
        sim_fail_arm();
        if (status == SIM_OK)
            CHECK(method == want);
        else if (CHECK(status == SIM_DEVICE_MEMORY))
            CHECK(strstr(sim_error_text(), "memory") && !strchr(sim_error_text(), '\n'));
        solver_of(&f, want);
        sim_flow_free(&f);
    }
    CHECK(at > (can ? 8 : 1)); /* two plans, six arrays */
    printf("     without memory for one of %d things no flow takes another solver\n",
           at - 1);
}

/* --- whole flows -------------------------------------------------------------------- */

enum scene { LID, ROUND, ROUND_X, CHANNEL, SCENES };

static const char *const scene_names[] = {"lid", "periodic", "periodic along x",
                                          "channel"};

/* A velocity that is not free of divergence, of size 1. */
static void stir(struct sim_flow *f, int view, uint64_t seed)
{
    struct sim_field *field = sim_flow_view(f, view);
    double *now = malloc((size_t)(field->nx * field->ny) * sizeof *now);
    for (int64_t j = 0; j < field->ny; j++)
        for (int64_t i = 0; i < field->nx; i++) {
            const double x = (double)i * f->desc.dx * turn,
                         y = (double)j * f->desc.dy * turn;
            now[j * field->nx + i] =
                0.8 * (seed ? sin(x + 0.3) * cos(2 * y) : cos(2 * x) * sin(y + 0.1)) +
                0.2 * noise(seed, (uint64_t)(j * field->nx + i));
        }
    CHECK_OK(sim_field_write(field, now));
    free(now);
}

static void start(struct sim_device *device, struct sim_flow_desc d, enum scene scene,
                  struct sim_flow *f)
{
    CHECK_OK(sim_flow_new(device, &d, f));
    if (scene == LID)
        set_side(f, SIM_FLOW_NORTH, SIM_FLOW_NO_SLIP, 0, 1);
    if (scene == ROUND || scene == ROUND_X)
        set_periodic(f, 0);
    if (scene == ROUND)
        set_periodic(f, 1);
    if (scene == CHANNEL)
        channel(f, SIM_FLOW_OUTFLOW);
    if (scene == ROUND || scene == ROUND_X) {
        CHECK_OK(sim_flow_set_force(f, 0.5, 0));
        stir(f, SIM_FLOW_VIEW_U, 0);
        stir(f, SIM_FLOW_VIEW_V, 1);
    }
}

static struct sim_flow_desc desc_of(int64_t nx, int64_t ny, bool is_double,
                                    enum sim_poisson_method method)
{
    struct sim_flow_desc d = square(nx, ny, 1e-3, is_double);
    d.chi = 0.9;
    d.dy = 1.1 * d.dx; /* not square */
    d.method = method;
    return d;
}

static double difference(struct sim_flow *a, struct sim_flow *b, int view)
{
    double *p = values(a, view), *q = values(b, view), worst = 0;
    struct sim_field *field = sim_flow_view(a, view);
    for (int64_t c = 0; c < field->nx * field->ny; c++)
        worst = fmax(worst, fabs(p[c] - q[c]));
    free(p);
    free(q);
    return worst;
}

#define STEPS 20

/* Step by step: divergence within the tolerance; how many steps needed no cycle. */
static int clean_steps(struct sim_flow *f, double *worst)
{
    int clean = 0;
    *worst = 0;
    for (int k = 0; k < STEPS; k++) {
        struct sim_flow_control control;
        double divergence;
        CHECK_OK(sim_flow_step(f, 1));
        CHECK_OK(sim_flow_divergence(f, &divergence));
        CHECK_OK(sim_flow_control(f, &control));
        *worst = fmax(*worst, divergence);
        clean += control.solve.cycles == 0;
    }
    return clean;
}

/* What multigrid and the transform may differ by, in tolerances: on a CPU multigrid to
 * 1e-6 is at most half of that from multigrid to 1e-10 in these scenes. */
#define APART 3

static void compare(struct sim_device *device, int64_t nx, int64_t ny, enum scene scene,
                    bool is_double)
{
    struct sim_flow f[3];
    struct sim_flow_control control;
    const enum sim_poisson_method methods[3] = {SIM_TRANSFORM, SIM_TRANSFORM,
                                                SIM_MULTIGRID};
    double worst;
    for (int k = 0; k < 3; k++)
        start(device, desc_of(nx, ny, is_double, methods[k]), scene, &f[k]);
    const double tolerance = f[0].desc.tolerance;
    const int clean = clean_steps(&f[0], &worst);
    CHECK_OK(sim_flow_step(&f[1], STEPS));
    CHECK_OK(sim_flow_step(&f[2], STEPS));
    CHECK_OK(sim_flow_control(&f[0], &control));
    const double apart = fmax(difference(&f[0], &f[2], SIM_FLOW_VIEW_U),
                              difference(&f[0], &f[2], SIM_FLOW_VIEW_V));
    const bool good[] = {worst < 2 * tolerance, clean >= STEPS - 5,
                         control.solve.transforms >= STEPS - 1,
                         apart<APART * tolerance *(double)(nx > ny ? nx : ny),
                               difference(&f[0], &f[1], SIM_FLOW_VIEW_U) == 0,
                               difference(&f[0], &f[1], SIM_FLOW_VIEW_PRESSURE) == 0,
                               largest_of(&f[0], SIM_FLOW_VIEW_U)> 0.1};
    bool all = true;
    for (size_t k = 0; k < sizeof good; k++)
        all &= CHECK(good[k]);
    printf("     %s %lld x %lld, %s, %s: divergence %.1e, %d of %d steps without a "
           "cycle, apart %.1e\n",
           all ? "fine:" : "BAD:", (long long)nx, (long long)ny, scene_names[scene],
           is_double ? "double" : "single", worst, clean, STEPS, apart);
    for (int k = 0; k < 3; k++)
        sim_flow_free(&f[k]);
}

/* An obstacle ends it and its removal brings it back; so do sides. */
static void back_and_forth(struct sim_device *device)
{
    struct sim_flow f;
    struct sim_flow_control before, after;
    double divergence;
    const uint64_t held = device->stats.live_bytes;
    start(device, desc_of(96, 64, false, SIM_AUTO), CHANNEL, &f);
    CHECK_OK(sim_flow_step(&f, 10));
    CHECK_OK(sim_flow_control(&f, &before));
    CHECK(before.solve.transforms >= 10);
    add_disc(&f, "disc", 0.4, 0.3, 0.1);
    CHECK_OK(sim_flow_step(&f, 10));
    CHECK_OK(sim_flow_control(&f, &after));
    CHECK(after.solve.transforms == before.solve.transforms);
    CHECK(after.solve.total > before.solve.total);
    solver_of(&f, SIM_MULTIGRID);
    CHECK_OK(sim_flow_remove_obstacle(&f, "disc"));
    set_periodic(&f, 0); /* other tables, the same plans */
    CHECK_OK(sim_flow_step(&f, 10));
    CHECK_OK(sim_flow_control(&f, &before));
    CHECK(before.solve.transforms >= after.solve.transforms + 10);
    CHECK(before.solve.cycles == 0);
    solver_of(&f, SIM_TRANSFORM);
    CHECK_OK(sim_flow_divergence(&f, &divergence));
    CHECK(divergence < 2e-6);
    sim_flow_free(&f);
    CHECK(device->stats.live_bytes == held);
}

/* Steps beyond a target are passed over, transforms too. */
static void passed_over(struct sim_device *device)
{
    struct sim_flow f;
    struct sim_flow_control control;
    start(device, desc_of(64, 64, true, SIM_TRANSFORM), LID, &f);
    CHECK_OK(sim_flow_advance(&f, 0.05));
    CHECK_OK(sim_flow_control(&f, &control));
    CHECK(control.time == 0.05);
    CHECK(control.solve.transforms >= control.steps - 1);
    CHECK(control.solve.transforms <= control.steps + SIM_FLOW_FRESH);
    sim_flow_free(&f);
}

static void on_gpu(struct sim_device *device)
{
    static const int64_t sizes[][2] = {{64, 64}, {128, 96}, {100, 64},
                                       {81, 75}, {37, 65},  {512, 512}};
    const int count = is_small() ? 5 : 6;
    for (int k = 0; k < count; k++)
        for (int scene = 0; scene < SCENES; scene++)
            for (int is_double = 0; is_double < 2; is_double++)
                compare(device, sizes[k][0], sizes[k][1], (enum scene)scene, is_double);
    back_and_forth(device);
    passed_over(device);
}

int main(void)
{
    struct sim_device *devices[DEVICES_MAX];
    const int count = open_devices(devices);
    const char *why;
    formulas();
    library();
    for (int k = 0; k < count; k++) {
        choice(devices[k]);
        refused(devices[k]);
        short_of_memory(devices[k], SIM_AUTO);
        if (devices[k]->kind == SIM_CUDA && sim_fft_library(&why))
            short_of_memory(devices[k], SIM_TRANSFORM);
        if (devices[k]->kind == SIM_CUDA && sim_fft_library(&why))
            on_gpu(devices[k]);
        else if (devices[k]->kind == SIM_CUDA)
            check_skip(why);
        sim_device_close(devices[k]);
    }
    return check_report();
}
