/* test_diffusion.c - the explicit step against what is known exactly: the golden file of
 * the constant-memory experiment, the decay factor of every mode between every two walls,
 * sums, the variance of a blob, a manufactured solution, steady states, the limit. */
#include "diffusion_case.h"

#define GOLDEN "tests/reference/diffusion_golden.csv"
#define PI     3.14159265358979323846

/* --- the golden file ---------------------------------------------------------------- */

static double golden_quantity(const double *u, const char *quantity, int i, int j)
{
    double sum = 0, most = u[0], least = u[0];
    const bool trapezoid = !strcmp(quantity, "trapezoid_sum");
    if (strstr(quantity, "sum")) {
        for (int c = 0; c < 10000; c++) {
            const int row = c / 100, column = c % 100;
            const double w = (row % 99 ? 1 : 0.5) * (column % 99 ? 1 : 0.5);
            sum += (trapezoid ? w : 1) * u[c];
        }
        return sum;
    }
    for (int c = 0; c < 10000; c++)
        most = fmax(most, u[c]), least = fmin(least, u[c]);
    if (!strcmp(quantity, "max"))
        return most;
    if (!strcmp(quantity, "min"))
        return least;
    return u[100 * i + j];
}

static int check_golden(const double *u, const char *variant, int step, double tolerance)
{
    FILE *file = fopen(GOLDEN, "r");
    char line[512], name[16], quantity[32];
    int at, i, j, count = 0;
    double value;
    if (!CHECK(file != NULL))
        return 0;
    while (fgets(line, sizeof line, file)) {
        i = j = 0;
        if (sscanf(line, "%15[a-z],%d,%31[a-z_],%d,%d,%lf", name, &at, quantity, &i, &j,
                   &value) != 6 &&
            sscanf(line, "%15[a-z],%d,%31[a-z_],,,%lf", name, &at, quantity, &value) != 4)
            continue;
        if (at != step || strcmp(name, variant) != 0)
            continue;
        const double scale = strstr(quantity, "sum") ? 300 : 1;
        CHECK_NEAR(golden_quantity(u, quantity, i, j), value, tolerance * scale);
        count++;
    }
    fclose(file);
    return count;
}

static void test_golden(struct sim_device *device, bool is_double, bool vertex)
{
    const struct sim_diffusion_desc desc = square(100, 0.2, is_double);
    static const int steps[] = {1, 10, 100, 200, 500, 1000};
    struct sim_diffusion d;
    double start[10000];
    if (!CHECK_OK(sim_diffusion_new(device, &desc, &d)))
        return;
    set_all(&d, SIM_NO_FLUX, vertex);
    for (int c = 0; c < 10000; c++) {
        const int i = c / 100 - 50, j = c % 100 - 50;
        start[c] = i * i + j * j < 100;
    }
    put(&d, 0, 0, start);
    for (int k = 0; k < 6; k++) {
        CHECK_OK(sim_diffusion_step(&d, steps[k] - d.steps));
        double *u = get(&d, 0, 0);
        CHECK(check_golden(u, vertex ? "vertex" : "cell", steps[k],
                           is_double ? 1e-13 : 5e-7) >= 15);
        free(u);
    }
    sim_diffusion_free(&d);
}

/* --- modes -------------------------------------------------------------------------- */

/* The walls of the reference page, in the order: no flux node, face; fixed node, face. */
static const struct scheme {
    enum sim_wall_kind kind;
    bool at_node;
    double low, high; /* where the mode's extremum or zero lies: low, n - 1 + high */
} schemes[] = {{SIM_NO_FLUX, true, 0, 0},
               {SIM_NO_FLUX, false, -0.5, 0.5},
               {SIM_FIXED, true, -1, 1},
               {SIM_FIXED, false, -0.5, 0.5}};

/* Mode m = 0, 1, ... at cell k of n between two schemes; its eigenvalue/4r in *s. */
static double mode(const struct scheme *a, const struct scheme *b, int m, int64_t k,
                   int64_t n, double *s)
{
    const double from = a->low, length = (double)(n - 1) + b->high - from;
    const bool even = a->kind == SIM_NO_FLUX, same = a->kind == b->kind;
    const double wave = PI * (same ? m + !even : m + 0.5) / length;
    const double at = wave * ((double)k - from);
    *s = pow(sin(wave / 2), 2);
    return even ? cos(at) : sin(at);
}

static void test_mode(struct sim_device *device, const struct scheme *x0,
                      const struct scheme *x1, const struct scheme *y0,
                      const struct scheme *y1, int m, int n)
{
    struct sim_diffusion_desc desc = square(17, 0.2, true);
    struct sim_diffusion d;
    double start[17 * 13], sx = 0, sy = 0;
    desc.ny = 13;
    if (!CHECK_OK(sim_diffusion_new(device, &desc, &d)))
        return;
    set_side(&d, SIM_WEST, x0->kind, x0->at_node, 0);
    set_side(&d, SIM_EAST, x1->kind, x1->at_node, 0);
    set_side(&d, SIM_SOUTH, y0->kind, y0->at_node, 0);
    set_side(&d, SIM_NORTH, y1->kind, y1->at_node, 0);
    for (int j = 0; j < 13; j++)
        for (int i = 0; i < 17; i++)
            start[17 * j + i] = mode(x0, x1, m, i, 17, &sx) * mode(y0, y1, n, j, 13, &sy);
    put(&d, 0, 0, start);
    CHECK_OK(sim_diffusion_step(&d, 10));
    const double factor = pow(1 - 0.8 * (sx + sy), 10);
    double *u = get(&d, 0, 0), worst = 0;
    for (int c = 0; c < 17 * 13; c++)
        worst = fmax(worst, fabs(u[c] - factor * start[c]));
    CHECK_NEAR(worst, 0, 3e-15);
    free(u);
    sim_diffusion_free(&d);
}

static void test_modes(struct sim_device *device)
{
    for (int pair = 0; pair < 16; pair++)
        for (int m = 0; m < 13; m += 3)
            test_mode(device, &schemes[pair / 4], &schemes[pair % 4],
                      &schemes[(pair + 1) % 4], &schemes[(pair / 4 + 2) % 4], m,
                      (m + pair) % 13);
}

static void test_periodic_mode(struct sim_device *device, int64_t n, int m)
{
    const struct sim_diffusion_desc desc = square(n, 0.2, true);
    struct sim_diffusion d;
    double *start = malloc((size_t)(n * n) * sizeof *start);
    if (!CHECK_OK(sim_diffusion_new(device, &desc, &d)))
        return;
    set_all(&d, SIM_PERIODIC, false);
    for (int64_t c = 0; c < n * n; c++)
        start[c] = cos(2 * PI * m * (double)(c % n) / (double)n) *
                   sin(2 * PI * 2 * (double)(c / n) / (double)n);
    put(&d, 0, 0, start);
    CHECK_OK(sim_diffusion_step(&d, 10));
    const double s = pow(sin(PI * m / (double)n), 2) + pow(sin(PI * 2 / (double)n), 2);
    double *u = get(&d, 0, 0), worst = 0;
    for (int64_t c = 0; c < n * n; c++)
        worst = fmax(worst, fabs(u[c] - pow(1 - 0.8 * s, 10) * start[c]));
    CHECK_NEAR(worst, 0, 3e-15);
    free(u);
    free(start);
    sim_diffusion_free(&d);
}

/* --- sums, moments ------------------------------------------------------------------ */

/* The plain sum with sources and given fluxes; dx is not dy. */
static void test_budget(struct sim_device *device)
{
    const struct sim_diffusion_desc desc = {.nx = 23,
                                            .ny = 31,
                                            .dx = 0.5,
                                            .dy = 0.8,
                                            .dt = 0.05,
                                            .diffusivity = {{0.7, 0.9}},
                                            .is_double = true};
    const double q[] = {0.3, -0.2, 0.15, 0.4};
    struct sim_diffusion d;
    if (!CHECK_OK(sim_diffusion_new(device, &desc, &d)))
        return;
    for (int side = 0; side < SIM_SIDES; side++)
        set_side(&d, side, SIM_FLUX, false, q[side]);
    CHECK_OK(sim_diffusion_add_source(&d, 0, 0.25, NULL, 0));
    put_noise(&d, 3, 0, 1);
    double *before = get(&d, 0, 0), was = 0, is = 0;
    CHECK_OK(sim_diffusion_step(&d, 100));
    double *after = get(&d, 0, 0);
    for (size_t c = 0; c < cells_of(&d); c++)
        was += before[c], is += after[c];
    const double area = 0.5 * 0.8, width = 23 * 0.5, height = 31 * 0.8;
    const double gain =
        100 * 0.05 *
        (0.25 * width * height + (q[0] + q[1]) * height + (q[2] + q[3]) * width);
    CHECK_NEAR((is - was) * area, gain, 1e-11);
    free(before);
    free(after);
    sim_diffusion_free(&d);
}

static double variance(const double *u, int64_t n, bool along_x)
{
    double sum = 0, first = 0, second = 0;
    for (int64_t c = 0; c < n * n; c++) {
        const double at = (double)(along_x ? c % n : c / n);
        sum += u[c], first += at * u[c], second += at * at * u[c];
    }
    return second / sum - first / sum * (first / sum);
}

static void test_variance(struct sim_device *device)
{
    struct sim_diffusion_desc desc = square(64, 0.2, true);
    struct sim_diffusion d;
    double start[64 * 64] = {0};
    desc.diffusivity[0][1] = 0.5;
    if (!CHECK_OK(sim_diffusion_new(device, &desc, &d)))
        return;
    start[64 * 30 + 33] = 1;
    put(&d, 0, 0, start);
    CHECK_OK(sim_diffusion_step(&d, 20));
    double *u = get(&d, 0, 0);
    CHECK_NEAR(variance(u, 64, true), 20 * 2 * 0.2, 1e-11);
    CHECK_NEAR(variance(u, 64, false), 20 * 2 * 0.1, 1e-11);
    free(u);
    sim_diffusion_free(&d);
}

/* A Gaussian of variance 64 at t = 100, D = 1: the error against the differential
 * equation as tabled for several r; twice as far off would be noticed, and so would less.
 */
static void test_gaussian(struct sim_device *device)
{
    static const struct {
        double r, peak, error;
    } table[] = {{0.1, 0.242459136, 3.489e-5},
                 {1.0 / 6, 0.242366296, 5.795e-5},
                 {0.2, 0.242319886, 1.044e-4},
                 {0.25, 0.242250283, 1.74e-4}};
    double *start = malloc(256 * 256 * sizeof *start);
    for (int k = small_only() ? 3 : 0; k < 4; k++) {
        const struct sim_diffusion_desc desc = square(256, table[k].r, true);
        struct sim_diffusion d;
        double worst = 0;
        if (!CHECK_OK(sim_diffusion_new(device, &desc, &d)))
            break;
        for (int c = 0; c < 256 * 256; c++)
            start[c] = exp(-(pow(c % 256 - 128, 2) + pow(c / 256 - 128, 2)) / 128);
        put(&d, 0, 0, start);
        CHECK_OK(sim_diffusion_step(&d, (int64_t)(100 / table[k].r + 0.5)));
        double *u = get(&d, 0, 0);
        for (int c = 0; c < 256 * 256; c++) {
            const double square = pow(c % 256 - 128, 2) + pow(c / 256 - 128, 2);
            worst = fmax(worst, fabs(u[c] - 64 / 264.0 * exp(-square / 528)));
        }
        CHECK_NEAR(u[256 * 128 + 128], table[k].peak, 1e-9);
        CHECK_NEAR(worst, table[k].error, 5e-8);
        free(u);
        sim_diffusion_free(&d);
    }
    free(start);
}

/* A start with the square's symmetry keeps it to the bit. */
static void test_symmetry(struct sim_device *device, enum sim_reaction reaction)
{
    struct sim_diffusion_desc desc = square(40, 0.2, false);
    struct sim_diffusion d;
    desc.reaction = reaction;
    desc.diffusivity[1][0] = desc.diffusivity[1][1] = 0.5;
    desc.number[0] = 0.037, desc.number[1] = 0.097;
    if (!CHECK_OK(sim_diffusion_new(device, &desc, &d)))
        return;
    double start[1600];
    for (int s = 0; s < d.system.species; s++) {
        for (int c = 0; c < 1600; c++) {
            int i = c % 40, j = c / 40, a, b;
            i = i < 20 ? i : 39 - i, j = j < 20 ? j : 39 - j;
            a = i < j ? i : j, b = i < j ? j : i;
            start[c] = noise(9 + (uint64_t)s, (uint64_t)(a * 40 + b));
        }
        put(&d, s, 0, start);
    }
    CHECK_OK(sim_diffusion_step(&d, 300));
    double *u = get(&d, 0, 0);
    int broken = 0;
    for (int j = 0; j < 40; j++)
        for (int i = 0; i < 40; i++)
            broken += u[40 * j + i] != u[40 * i + j] ||
                      u[40 * j + i] != u[40 * j + 39 - i] ||
                      u[40 * j + i] != u[40 * (39 - j) + i];
    CHECK(broken == 0);
    free(u);
    sim_diffusion_free(&d);
}

/* --- exact solutions ---------------------------------------------------------------- */

/* u = 1 + x^2 + 3 y^2 + 1.2 t with source 1.2 - 2 - 6 and its own values at nodes
 * outside: exact for the 5-point scheme (the manufactured solution of the FEniCS
 * tutorial). */
static void test_manufactured(struct sim_device *device, enum sim_integrator integrator,
                              double dt, int64_t steps)
{
    const struct sim_diffusion_desc desc = {.nx = 14,
                                            .ny = 11,
                                            .dx = 0.1,
                                            .dy = 0.125,
                                            .dt = dt,
                                            .diffusivity = {{1, 1}},
                                            .is_double = true,
                                            .integrator = integrator};
    struct sim_diffusion d;
    const double ramp[][2] = {{0, 0}, {10, 12}}; /* 1.2 t */
    const struct sim_signal time = {
        .kind = SIM_SIGNAL_TABLE, .points = ramp, .point_count = 2};
    double start[14 * 11];
    int signal;
    if (!CHECK_OK(sim_diffusion_new(device, &desc, &d)))
        return;
    CHECK_OK(sim_diffusion_add_signal(&d, &time, &signal));
    for (int side = 0; side < SIM_SIDES; side++) {
        double values[16];
        const int64_t length = side < SIM_SOUTH ? 11 : 14;
        for (int64_t k = 0; k < length; k++) {
            const double along = (double)k * (side < SIM_SOUTH ? 0.125 : 0.1);
            const double x = side == SIM_WEST ? -0.1 : side == SIM_EAST ? 1.4 : along;
            const double y = side == SIM_SOUTH   ? -0.125
                             : side == SIM_NORTH ? 1.375
                                                 : along;
            values[k] = 1 + x * x + 3 * y * y;
        }
        const struct sim_wall_desc wall = {.side = (enum sim_side)side,
                                           .kind = SIM_FIXED,
                                           .at_node = true,
                                           .species = -1,
                                           .values = values};
        CHECK_OK(sim_diffusion_set_wall(&d, &wall));
        /* what varies in time comes on top */
        const int64_t first = side == SIM_WEST    ? 0
                              : side == SIM_EAST  ? 11
                              : side == SIM_SOUTH ? 22
                                                  : 36;
        for (int64_t k = 0; k < length; k++) {
            d.walls[0][first + k].driven = 1;
            d.wall_signals[0][first + k] = (uint8_t)signal;
        }
    }
    CHECK_OK(sim_diffusion_add_source(&d, 0, 1.2 - 2 - 6, NULL, 0));
    for (int c = 0; c < 14 * 11; c++)
        start[c] = 1 + pow(0.1 * (c % 14), 2) + 3 * pow(0.125 * (c / 14), 2);
    put(&d, 0, 0, start);
    CHECK_OK(sim_diffusion_step(&d, steps));
    double *u = get(&d, 0, 0), worst = 0;
    for (int c = 0; c < 14 * 11; c++)
        worst = fmax(worst, fabs(u[c] - start[c] - 1.2 * (double)steps * dt));
    CHECK_NEAR(worst, 0, 5e-13);
    free(u);
    sim_diffusion_free(&d);
}

/* Fixed at the west face, Robin at the east one: -D u' = h (u - u_inf). */
static void test_robin(struct sim_device *device, bool at_node,
                       enum sim_integrator integrator)
{
    const bool euler = integrator == SIM_EULER;
    const struct sim_diffusion_desc desc = {.nx = 12,
                                            .ny = 3,
                                            .dx = 0.5,
                                            .dy = 0.5,
                                            .dt = euler ? 0.05 : 2,
                                            .diffusivity = {{1.3, 1}},
                                            .is_double = true,
                                            .integrator = integrator};
    const struct sim_wall_desc east = {.side = SIM_EAST,
                                       .kind = SIM_ROBIN,
                                       .species = -1,
                                       .at_node = at_node,
                                       .value = 0.2,
                                       .h = 0.6};
    struct sim_diffusion d;
    if (!CHECK_OK(sim_diffusion_new(device, &desc, &d)))
        return;
    set_side(&d, SIM_WEST, SIM_FIXED, false, 2);
    CHECK_OK(sim_diffusion_set_wall(&d, &east));
    CHECK_OK(sim_diffusion_step(&d, euler ? 40000 : 600));
    const double length = at_node ? 5.75 : 6,
                 slope = -0.6 * (2 - 0.2) / (1.3 + 0.6 * length);
    double *u = get(&d, 0, 0);
    for (int i = 0; i < 12; i++)
        CHECK_NEAR(u[12 + i], 2 + slope * 0.5 * (i + 0.5), 1e-12);
    free(u);
    sim_diffusion_free(&d);
}

/* Two layers between held walls: with harmonic faces exactly two straight lines. */
static void test_layers(struct sim_device *device, enum sim_integrator integrator)
{
    const bool euler = integrator == SIM_EULER;
    const struct sim_diffusion_desc desc = {.nx = 10,
                                            .ny = 2,
                                            .dx = 1,
                                            .dy = 1,
                                            .dt = euler ? 0.05 : 3,
                                            .diffusivity = {{1, 1}},
                                            .is_double = true,
                                            .integrator = integrator};
    struct sim_diffusion d;
    double D[20];
    if (!CHECK_OK(sim_diffusion_new(device, &desc, &d)))
        return;
    for (int c = 0; c < 20; c++)
        D[c] = c % 10 < 4 ? 4 : 1;
    put_diffusivity(&d, 0, D);
    set_side(&d, SIM_WEST, SIM_FIXED, false, 1);
    set_side(&d, SIM_EAST, SIM_FIXED, false, 0);
    CHECK_OK(sim_diffusion_step(&d, euler ? 40000 : 700));
    const double flux = 1 / (4 / 4.0 + 6 / 1.0);
    double *u = get(&d, 0, 0);
    for (int i = 0; i < 10; i++)
        CHECK_NEAR(u[i], i < 4 ? 1 - flux * (i + 0.5) / 4 : flux * (9.5 - i), 1e-12);
    free(u);
    sim_diffusion_free(&d);
}

/* --- masks, the limit --------------------------------------------------------------- */

static void test_mask(struct sim_device *device)
{
    const struct sim_diffusion_desc desc = square(20, 0.2, true);
    const double centre[2] = {10, 10};
    struct sim_diffusion d;
    struct sim_shape *disc;
    if (!CHECK_OK(sim_diffusion_new(device, &desc, &d)) ||
        !CHECK_OK(sim_shape_disc(centre, 7, &disc)))
        return;
    CHECK_OK(sim_diffusion_set_domain(&d, disc));
    put_noise(&d, 4, 0, 1);
    double *before = get(&d, 0, 0), inside = 0, outside = 0;
    CHECK_OK(sim_diffusion_step(&d, 200));
    double *after = get(&d, 0, 0);
    for (int c = 0; c < 400; c++) {
        const double x = c % 20 + 0.5 - 10, y = c / 20 + 0.5 - 10;
        if (x * x + y * y < 49)
            inside += after[c] - before[c];
        else
            outside = fmax(outside, fabs(after[c] - before[c]));
    }
    CHECK_NEAR(inside, 0, 1e-12);
    CHECK_NEAR(outside, 0, 0);
    CHECK_NEAR(after[20 * 10 + 4], after[20 * 10 + 15], 0.02); /* and it did mix */
    free(before);
    free(after);
    sim_shape_release(disc);
    sim_diffusion_free(&d);
}

static void test_limit(struct sim_device *device)
{
    struct sim_diffusion_desc desc = square(8, 0.25, true);
    struct sim_diffusion d;
    double limit;
    CHECK_OK(sim_diffusion_new(device, &desc, &d));
    CHECK_OK(sim_diffusion_step(&d, 1));
    sim_diffusion_free(&d);
    desc.dt = 0.2501;
    CHECK_OK(sim_diffusion_new(device, &desc, &d));
    CHECK(sim_diffusion_step(&d, 1) == SIM_BAD_ARGUMENT);
    CHECK(strstr(sim_error_text(), "0.25") != NULL);
    sim_diffusion_free(&d);
    desc.dx = 0.5, desc.diffusivity[0][1] = 3;
    CHECK_OK(sim_diffusion_new(device, &desc, &d));
    CHECK_OK(sim_diffusion_limit(&d, &limit));
    CHECK_NEAR(limit, 1 / (2 * (1 / 0.25 + 3.0)), 1e-15);
    sim_diffusion_free(&d);
    desc.dx = -1;
    CHECK(sim_diffusion_new(device, &desc, &d) == SIM_BAD_ARGUMENT);
    desc.dx = 1, desc.nx = INT64_MAX;
    CHECK(sim_diffusion_new(device, &desc, &d) == SIM_BAD_ARGUMENT);
}

/* 65536^2, as many of them as the device cannot hold: one line that says what was asked,
 * nothing held afterwards. */
static void test_too_large(struct sim_device *device)
{
    struct sim_diffusion_desc desc = square(65536, 0.2, false);
    struct sim_diffusion d;
    const uint64_t before = device->stats.live_bytes;
    desc.count = (int64_t)(device->memory >> 35) + 1;
    CHECK(sim_diffusion_new(device, &desc, &d) == SIM_DEVICE_MEMORY);
    CHECK(strstr(sim_error_text(), "out of memory") != NULL);
    CHECK(strstr(sim_error_text(), "65536 x 65536") != NULL);
    CHECK(strchr(sim_error_text(), '\n') == NULL);
    CHECK(sim_status_exit_code(SIM_DEVICE_MEMORY) == SIM_EXIT_DEVICE);
    CHECK(device->stats.live_bytes == before);
    desc = square(8, 0.2, false);
    if (CHECK_OK(sim_diffusion_new(device, &desc, &d))) {
        CHECK_OK(sim_diffusion_step(&d, 1)); /* the device is usable */
        sim_diffusion_free(&d);
    }
}

static void test_device(struct sim_device *device)
{
    printf("on %s\n", device->name);
    for (int k = 0; k < 4; k++)
        test_golden(device, k & 1, k & 2);
    test_modes(device);
    for (int m = 0; m < 9; m += 2)
        test_periodic_mode(device, 9 + m, m);
    test_budget(device);
    test_variance(device);
    test_gaussian(device);
    test_symmetry(device, SIM_REACTION_NONE);
    test_symmetry(device, SIM_GRAY_SCOTT);
    test_manufactured(device, SIM_EULER, 0.002, 500);
    test_manufactured(device, SIM_CRANK_NICOLSON, 0.05, 20);
    test_manufactured(device, SIM_ADI, 0.05, 20);
    for (int integrator = SIM_EULER; integrator <= SIM_ADI; integrator++) {
        test_robin(device, false, (enum sim_integrator)integrator);
        test_robin(device, true, (enum sim_integrator)integrator);
        test_layers(device, (enum sim_integrator)integrator);
    }
    test_mask(device);
    test_limit(device);
    test_too_large(device);
}

int main(void)
{
    struct sim_device *devices[DEVICES_MAX];
    const int count = open_devices(devices, 1);
    for (int k = 0; k < count; k++) {
        test_device(devices[k]);
        sim_device_close(devices[k]);
    }
    return check_report();
}
