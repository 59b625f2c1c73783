/* test_diffusion_physics.c - jumps and implicit steps against exact factors, fronts,
 * patterns and the golden values of Gray-Scott. */
#include "../src/reaction.h"
#include "diffusion_case.h"

#define PI 3.14159265358979323846

/* --- jumps -------------------------------------------------------------------------- */

/* Six kinds of wall on both sides of an axis, by number; 6: periodic. */
static void set_axis(struct sim_diffusion *d, int axis, int low, int high)
{
    static const struct {
        enum sim_wall_kind kind;
        bool at_node;
    } kinds[] = {{SIM_NO_FLUX, false}, {SIM_NO_FLUX, true}, {SIM_FIXED, false},
                 {SIM_FIXED, true},    {SIM_FLUX, false},   {SIM_FLUX, true},
                 {SIM_PERIODIC, false}};
    const int kind[2] = {low, low == 6 ? 6 : high};
    for (int end = 0; end < 2; end++)
        set_side(d, 2 * axis + end, kinds[kind[end]].kind, kinds[kind[end]].at_node,
                 0.4 - 0.3 * end);
}

static bool make_linear(struct sim_device *device, int64_t nx, int64_t ny, int x, int y,
                        enum sim_integrator integrator, double dt,
                        struct sim_diffusion *d)
{
    const struct sim_diffusion_desc desc = {.nx = nx,
                                            .ny = ny,
                                            .dx = 1,
                                            .dy = 1.2,
                                            .dt = dt,
                                            .diffusivity = {{1, 0.7}},
                                            .reaction = SIM_DECAY,
                                            .number = {0.01},
                                            .is_double = true,
                                            .integrator = integrator};
    if (!CHECK_OK(sim_diffusion_new(device, &desc, d)))
        return false;
    set_axis(d, 0, x / 6, x % 6);
    set_axis(d, 1, y / 6, y % 6);
    CHECK_OK(sim_diffusion_add_source(d, 0, 0.01, NULL, 0));
    put_noise(d, 8, 0, 1);
    return true;
}

static void test_jump(struct sim_device *device)
{
    for (int pair = 0; pair < 37; pair++)
        for (int shape = 0; shape < 2; shape++) {
            struct sim_diffusion jumped, stepped;
            const int64_t nx = shape ? 17 : 20, ny = shape ? 12 : pair % 3 + 1;
            const int other = (7 * pair + 5) % 37;
            if (!make_linear(device, nx, ny, pair, other, SIM_EULER, 0.2, &jumped) ||
                !make_linear(device, nx, ny, pair, other, SIM_EULER, 0.2, &stepped))
                return;
            CHECK_OK(sim_diffusion_jump(&jumped, 137, false));
            CHECK_OK(sim_diffusion_step(&stepped, 137));
            if (!CHECK_NEAR(largest_difference(&jumped, &stepped), 0, 1e-12))
                printf("     walls %d, %d, %lld x %lld\n", pair, other, (long long)nx,
                       (long long)ny);
            CHECK(jumped.steps == 137);
            sim_diffusion_free(&jumped);
            sim_diffusion_free(&stepped);
        }
}

/* Larger, with periods that are powers of two, have small factors, or large primes: the
 * fast transforms against steps, and against the dense ones. */
static void test_jump_sizes(struct sim_device *device)
{
    static const struct {
        int64_t nx, ny;
        int x, y;
    } cases[] = {{128, 96, 0, 36}, {67, 103, 7, 2}, {90, 131, 36, 14}, {65, 128, 9, 21}};
    for (int k = 0; k < 4; k++) {
        struct sim_diffusion fast, dense, stepped;
        struct sim_diffusion *all[] = {&fast, &dense, &stepped};
        for (int n = 0; n < 3; n++)
            if (!make_linear(device, cases[k].nx, cases[k].ny, cases[k].x, cases[k].y,
                             SIM_EULER, 0.2, all[n]))
                return;
        struct sim_diffusion_ops by_products = *dense.ops;
        by_products.transform = NULL;
        dense.ops = &by_products;
        CHECK_OK(sim_diffusion_jump(&fast, 1000, false));
        CHECK_OK(sim_diffusion_jump(&dense, 1000, false));
        CHECK_OK(sim_diffusion_step(&stepped, 1000));
        CHECK_NEAR(largest_difference(&fast, &stepped), 0, 1e-12);
        CHECK_NEAR(largest_difference(&fast, &dense), 0, 1e-12);
        for (int n = 0; n < 3; n++)
            sim_diffusion_free(all[n]);
    }
}

/* The same bits by any number of threads. */
static void test_jump_threads(void)
{
    struct sim_diffusion d[2];
    struct sim_device *devices[2];
    for (int k = 0; k < 2; k++) {
        if (!CHECK_OK(sim_device_open("cpu", 1 + 2 * k, &devices[k])) ||
            !make_linear(devices[k], 83, 77, 7, 36, SIM_EULER, 0.2, &d[k]))
            return;
        CHECK_OK(sim_diffusion_jump(&d[k], 30, false));
    }
    CHECK(different(&d[0], &d[1]) == 0);
    for (int k = 0; k < 2; k++) {
        sim_diffusion_free(&d[k]);
        sim_device_close(devices[k]);
    }
}

/* A mode of the differential equation, exactly. */
static void test_continuous(struct sim_device *device)
{
    const struct sim_diffusion_desc desc = {.nx = 24,
                                            .ny = 10,
                                            .dx = 0.5,
                                            .dy = 1,
                                            .dt = 0.02,
                                            .diffusivity = {{0.8, 0.8}},
                                            .is_double = true};
    struct sim_diffusion d;
    double start[240], worst = 0;
    if (!CHECK_OK(sim_diffusion_new(device, &desc, &d)))
        return;
    for (int c = 0; c < 240; c++)
        start[c] = cos(3 * PI * (c % 24 + 0.5) / 24);
    put(&d, 0, 0, start);
    CHECK_OK(sim_diffusion_jump(&d, 100, true));
    double *u = get(&d, 0, 0);
    const double factor = exp(-0.8 * pow(3 * PI / 12, 2) * 2);
    for (int c = 0; c < 240; c++)
        worst = fmax(worst, fabs(u[c] - factor * start[c]));
    CHECK_NEAR(worst, 0, 1e-14);
    free(u);
    sim_diffusion_free(&d);
}

/* Factors per step of one mode, far beyond the explicit limit. */
static void test_implicit(struct sim_device *device, enum sim_integrator integrator)
{
    const struct sim_diffusion_desc desc = {.nx = 20,
                                            .ny = 15,
                                            .dx = 1,
                                            .dy = 1,
                                            .dt = 3,
                                            .diffusivity = {{1, 1}},
                                            .is_double = true,
                                            .integrator = integrator};
    struct sim_diffusion d;
    double start[300], worst = 0;
    if (!CHECK_OK(sim_diffusion_new(device, &desc, &d)))
        return;
    for (int c = 0; c < 300; c++)
        start[c] = cos(4 * PI * (c % 20 + 0.5) / 20) * cos(2 * PI * (c / 20 + 0.5) / 15);
    put(&d, 0, 0, start);
    CHECK_OK(sim_diffusion_step(&d, 5));
    const double ax = 12 * pow(sin(4 * PI / 40), 2), ay = 12 * pow(sin(2 * PI / 30), 2);
    const double a = ax + ay;
    const double factor = integrator == SIM_ADI
                              ? (1 - ax / 2) / (1 + ax / 2) * (1 - ay / 2) / (1 + ay / 2)
                              : (1 - a / 2) / (1 + a / 2);
    double *u = get(&d, 0, 0);
    for (int c = 0; c < 300; c++)
        worst = fmax(worst, fabs(u[c] - pow(factor, 5) * start[c]));
    CHECK_NEAR(worst, 0, 1e-14);
    free(u);
    sim_diffusion_free(&d);
}

/* The error against the semi-discrete solution at t = 1 falls as dt^order. */
static double error_at(struct sim_device *device, enum sim_integrator integrator,
                       double dt)
{
    struct sim_diffusion d, exact;
    double worst = HUGE_VAL;
    if (make_linear(device, 12, 9, 2, 15, integrator, dt, &d) &&
        make_linear(device, 12, 9, 2, 15, SIM_EULER, 1.0 / 131072, &exact)) {
        CHECK_OK(sim_diffusion_step(&d, (int64_t)(1 / dt + 0.5)));
        CHECK_OK(sim_diffusion_jump(&exact, 131072, false));
        worst = largest_difference(&d, &exact);
    }
    sim_diffusion_free(&d);
    sim_diffusion_free(&exact);
    return worst;
}

static void test_order(struct sim_device *device)
{
    const double euler =
        error_at(device, SIM_EULER, 1.0 / 32) / error_at(device, SIM_EULER, 1.0 / 64);
    const double nicolson = error_at(device, SIM_CRANK_NICOLSON, 1.0 / 8) /
                            error_at(device, SIM_CRANK_NICOLSON, 1.0 / 16);
    const double adi =
        error_at(device, SIM_ADI, 1.0 / 8) / error_at(device, SIM_ADI, 1.0 / 16);
    CHECK_NEAR(log2(euler), 1, 0.1);
    CHECK_NEAR(log2(nicolson), 2, 0.2);
    CHECK_NEAR(log2(adi), 2, 0.2);
}

/* --- fronts ------------------------------------------------------------------------- */

/* A strip along x with a reaction; the front's place: sum of u times dx. */
static bool make_strip(struct sim_device *device, int64_t n, double dx, double dt,
                       enum sim_reaction reaction, const double *parameters,
                       struct sim_diffusion *d)
{
    struct sim_diffusion_desc desc = {.nx = n,
                                      .ny = 1,
                                      .dx = dx,
                                      .dy = dx,
                                      .dt = dt,
                                      .diffusivity = {{1, 1}},
                                      .reaction = reaction,
                                      .is_double = true};
    CHECK_OK(sim_reaction_numbers(reaction, parameters, desc.number));
    return CHECK_OK(sim_diffusion_new(device, &desc, d));
}

static double front(struct sim_diffusion *d)
{
    return sum_of(d) * d->desc.dx;
}

static void test_fisher(struct sim_device *device)
{
    const double parameters[] = {0.1, 1, 0, 0, 0};
    struct sim_diffusion d;
    double start[1400];
    if (!make_strip(device, 1400, 1, 0.2, SIM_FISHER, parameters, &d))
        return;
    for (int c = 0; c < 1400; c++)
        start[c] = c < 10;
    put(&d, 0, 0, start);
    CHECK_OK(sim_diffusion_step(&d, 7500));
    const double from = front(&d);
    CHECK_OK(sim_diffusion_step(&d, 2500));
    CHECK_NEAR((front(&d) - from) / 500, 0.620114, 0.0005);
    sim_diffusion_free(&d);
}

static void test_bistable(struct sim_device *device)
{
    const double parameters[] = {0.5, 0.25, 0, 0, 0};
    struct sim_diffusion d;
    double start[400];
    if (!make_strip(device, 400, 0.5, 0.05, SIM_BISTABLE, parameters, &d))
        return;
    for (int c = 0; c < 400; c++)
        start[c] = 1 / (1 + exp((0.5 * c - 60) * 0.5));
    put(&d, 0, 0, start);
    CHECK_OK(sim_diffusion_step(&d, 1000));
    const double from = front(&d);
    CHECK_OK(sim_diffusion_step(&d, 4000));
    CHECK_NEAR((front(&d) - from) / 200, 0.24948, 0.0004);
    sim_diffusion_free(&d);
}

/* dR^2/dt = -2 for a disc. */
static void test_allen_cahn(struct sim_device *device)
{
    struct sim_diffusion_desc desc = {.nx = 128,
                                      .ny = 128,
                                      .dx = 1,
                                      .dy = 1,
                                      .dt = 0.1,
                                      .diffusivity = {{1, 1}},
                                      .reaction = SIM_ALLEN_CAHN,
                                      .is_double = true};
    const double epsilon[SIM_REACTION_PARAMETERS] = {3};
    struct sim_diffusion d;
    double *start = malloc(128 * 128 * sizeof *start), area[2];
    CHECK_OK(sim_reaction_numbers(SIM_ALLEN_CAHN, epsilon, desc.number));
    if (!CHECK_OK(sim_diffusion_new(device, &desc, &d)))
        return;
    for (int c = 0; c < 128 * 128; c++)
        start[c] = tanh((45 - hypot(c % 128 - 63.5, c / 128 - 63.5)) / (3 * sqrt(2)));
    put(&d, 0, 0, start);
    for (int k = 0; k < 2; k++) {
        CHECK_OK(sim_diffusion_step(&d, k ? 4000 : 1000));
        double *u = get(&d, 0, 0);
        area[k] = 0;
        for (int c = 0; c < 128 * 128; c++)
            area[k] += u[c] > 0;
        free(u);
    }
    CHECK_NEAR((area[1] - area[0]) / PI / 400, -2, 0.03);
    free(start);
    sim_diffusion_free(&d);
}

/* --- patterns ----------------------------------------------------------------------- */

static double spread(struct sim_diffusion *d)
{
    double *u = get(d, 0, 0), mean = 0, squares = 0;
    for (size_t c = 0; c < cells_of(d); c++)
        mean += u[c] / (double)cells_of(d);
    for (size_t c = 0; c < cells_of(d); c++)
        squares += (u[c] - mean) * (u[c] - mean);
    free(u);
    return sqrt(squares / (double)cells_of(d));
}

/* Noise on Schnakenberg's steady state dies below d = 8.5676 and grows above, at the rate
 * 0.2631579 for d = 20. */
static void test_turing(struct sim_device *device, double ratio, bool grows)
{
    struct sim_diffusion_desc desc = {.nx = 64,
                                      .ny = 64,
                                      .dx = 1,
                                      .dy = 1,
                                      .dt = 0.01,
                                      .diffusivity = {{1, 1}, {ratio, ratio}},
                                      .reaction = SIM_SCHNAKENBERG,
                                      .is_double = true};
    const double parameters[SIM_REACTION_PARAMETERS] = {0.1, 0.9, 1};
    struct sim_diffusion d;
    double *start = malloc(64 * 64 * sizeof *start);
    CHECK_OK(sim_reaction_numbers(SIM_SCHNAKENBERG, parameters, desc.number));
    if (!CHECK_OK(sim_diffusion_new(device, &desc, &d)))
        return;
    for (int side = 0; side < SIM_SIDES; side++)
        set_side(&d, side, SIM_PERIODIC, false, 0);
    for (int s = 0; s < 2; s++) {
        for (int c = 0; c < 64 * 64; c++)
            start[c] = (s ? 0.9 : 1) + 1e-6 * (noise(2 + (uint64_t)s, (uint64_t)c) - 0.5);
        put(&d, s, 0, start);
    }
    CHECK_OK(sim_diffusion_step(&d, 2000));
    const double from = spread(&d);
    CHECK_OK(sim_diffusion_step(&d, 1000));
    const double rate = log(spread(&d) / from) / 10;
    if (grows)
        CHECK_NEAR(rate, 0.263, 0.02);
    else
        CHECK(rate < -0.001);
    free(start);
    sim_diffusion_free(&d);
}

/* One pair of modes of Schnakenberg's linear rates on a ring of 64 cells, near the
 * critical ratio 8.5676: the growth of wave 6 (k^2 = 0.345, beside the critical 0.3416)
 * is the larger root of the scheme's own 2 by 2 matrix. */
static double growth(double ratio)
{
    const double k2 = 4 * pow(sin(PI * 6 / 64), 2);
    const double a = 0.8 - k2, b = 1, c = -1.8, d = -1 - ratio * k2;
    return (a + d) / 2 + sqrt((a - d) * (a - d) / 4 + b * c);
}

static void test_critical(struct sim_device *device, double ratio)
{
    struct sim_diffusion_desc desc = {.nx = 64,
                                      .ny = 1,
                                      .dx = 1,
                                      .dy = 1,
                                      .dt = 0.02,
                                      .diffusivity = {{1, 1}, {ratio, ratio}},
                                      .reaction = SIM_SCHNAKENBERG,
                                      .is_double = true};
    const double parameters[SIM_REACTION_PARAMETERS] = {0.1, 0.9, 1};
    struct sim_diffusion d;
    double start[64];
    CHECK_OK(sim_reaction_numbers(SIM_SCHNAKENBERG, parameters, desc.number));
    if (!CHECK_OK(sim_diffusion_new(device, &desc, &d)))
        return;
    set_all(&d, SIM_PERIODIC, false);
    for (int s = 0; s < 2; s++) {
        for (int c = 0; c < 64; c++)
            start[c] = (s ? 0.9 : 1) + (s ? 0 : 1e-7 * cos(2 * PI * 6 * c / 64));
        put(&d, s, 0, start);
    }
    CHECK_OK(sim_diffusion_step(&d, 2000));
    const double from = spread(&d);
    CHECK_OK(sim_diffusion_step(&d, 1000));
    CHECK_NEAR(log(spread(&d) / from) / 1000, log(1 + 0.02 * growth(ratio)), 1e-7);
    CHECK((growth(ratio) > 0) == (ratio > 8.5676));
    sim_diffusion_free(&d);
}

static const struct golden {
    double F, k, mean_v, max_v, middle_v, mean_u_1000, mean_v_1000, max_v_1000;
} goldens[] = {
    {0.037, 0.060, 0.0091279138, 0.4085802680, 0.0316893611, 0.8998828233, 0.0388877181,
     0.3793756748},
    {0.0367, 0.0649, 0.0032942228, 0.3299872799, 0.0071548198, 0.9846001429, 0.0056057243,
     0.3625949578},
    {0.030, 0.062, 0.0050941420, 0.3538283274, 0.0080652062, 0.9597580708, 0.0134648861,
     0.3585802152},
    {0.062, 0.0609, 0.0081554884, 0.4435462008, 0.2587392989, 0.9417325715, 0.0295731819,
     0.4087237646},
    {0.026, 0.051, 0.0159491535, 0.4687103901, 0.0785990561, 0.4861299186, 0.1803929891,
     0.4004351131},
};

static void check_means(struct sim_diffusion *d, const struct golden *g, bool late,
                        double tolerance)
{
    double *u = get(d, 0, 0), *v = get(d, 1, 0), sum_u = 0, sum_v = 0, most = 0;
    for (int c = 0; c < 128 * 128; c++)
        sum_u += u[c], sum_v += v[c], most = fmax(most, v[c]);
    CHECK_NEAR(sum_v / 16384, late ? g->mean_v_1000 : g->mean_v, tolerance);
    CHECK_NEAR(most, late ? g->max_v_1000 : g->max_v, tolerance);
    if (late)
        CHECK_NEAR(sum_u / 16384, g->mean_u_1000, tolerance);
    else
        CHECK_NEAR(v[128 * 64 + 64], g->middle_v, tolerance);
    free(u);
    free(v);
}

/* The start of the goldens on a periodic square of 128. */
static bool make_gray_scott(struct sim_device *device, double F, double k, bool is_double,
                            struct sim_diffusion *d)
{
    struct sim_diffusion_desc desc = square(128, 1, is_double);
    const double parameters[SIM_REACTION_PARAMETERS] = {F, k};
    double *start = malloc(128 * 128 * sizeof *start);
    desc.reaction = SIM_GRAY_SCOTT;
    for (int s = 0; s < 2; s++)
        desc.diffusivity[s][0] = desc.diffusivity[s][1] = s ? 0.08 : 0.16;
    CHECK_OK(sim_reaction_numbers(SIM_GRAY_SCOTT, parameters, desc.number));
    const bool made = CHECK_OK(sim_diffusion_new(device, &desc, d));
    for (int s = 0; s < 2 && made; s++) {
        for (int c = 0; c < 128 * 128; c++) {
            const int i = c % 128, j = c / 128;
            const bool inside = i >= 54 && i <= 73 && j >= 54 && j <= 73;
            start[c] = s ? (inside ? 0.25 : 0) : inside ? 0.5 : 1;
        }
        put(d, s, 0, start);
    }
    if (made)
        set_all(d, SIM_PERIODIC, false);
    free(start);
    return made;
}

static void test_gray_scott(struct sim_device *device, const struct golden *g,
                            bool is_double)
{
    struct sim_diffusion d;
    if (!make_gray_scott(device, g->F, g->k, is_double, &d))
        return;
    CHECK_OK(sim_diffusion_step(&d, 100));
    check_means(&d, g, false, is_double ? 1e-9 : 2e-6);
    CHECK_OK(sim_diffusion_step(&d, 900));
    check_means(&d, g, true, is_double ? 1e-9 : 1e-5);
    sim_diffusion_free(&d);
}

/* Cells whose mirror images, in both axes and in the diagonal, are not the same bits. */
static int64_t broken_symmetry(struct sim_diffusion *d)
{
    const int64_t n = d->desc.nx;
    double *u = get(d, 0, 0);
    int64_t broken = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            broken += u[n * j + i] != u[n * i + j] ||
                      u[n * j + i] != u[n * j + n - 1 - i] ||
                      u[n * j + i] != u[n * (n - 1 - j) + i];
    free(u);
    return broken;
}

/* At step 5000, where single precision is far from double cell by cell, means, spread and
 * the number of cells with v > 0.1 still agree; from a plain loop of its own in double
 * and in long double, which agree to all digits given. */
static void test_gray_scott_late(struct sim_device *device, bool is_double)
{
    static const struct {
        double F, k, mean_u, mean_v, rms_v;
        int count;
    } late[] = {{0.037, 0.060, 0.5407147885, 0.1751541522, 0.10778875, 10700},
                {0.030, 0.062, 0.7063638014, 0.0963163264, 0.11127027, 5464},
                {0.062, 0.0609, 0.4996964797, 0.2527939973, 0.10461854, 13916}};
    for (int n = 0; n < (small_only() ? 1 : 3); n++) {
        struct sim_diffusion d;
        double squares = 0, sum = 0;
        int count = 0;
        if (!make_gray_scott(device, late[n].F, late[n].k, is_double, &d))
            return;
        CHECK_OK(sim_diffusion_step(&d, 5000));
        double *v = get(&d, 1, 0);
        for (int c = 0; c < 128 * 128; c++)
            sum += v[c], squares += v[c] * v[c], count += v[c] > 0.1;
        const double mean = sum / 16384, rms = sqrt(squares / 16384 - mean * mean);
        const double tolerance = is_double ? 1e-8 : 1e-4; /* a 0.1 % of the means */
        CHECK_NEAR(sum_of(&d) / 16384, late[n].mean_u, 5 * tolerance);
        CHECK_NEAR(mean, late[n].mean_v, tolerance);
        CHECK_NEAR(rms, late[n].rms_v, tolerance);
        CHECK_NEAR(count, late[n].count, is_double ? 0 : 16);
        CHECK(broken_symmetry(&d) == 0);
        free(v);
        sim_diffusion_free(&d);
    }
}

/* Barkley from crossed half planes: still turning at t = 40. */
static void test_spiral(struct sim_device *device)
{
    struct sim_diffusion_desc desc = {.nx = 200,
                                      .ny = 200,
                                      .dx = 0.4,
                                      .dy = 0.4,
                                      .dt = 0.004,
                                      .diffusivity = {{1, 1}, {0, 0}},
                                      .reaction = SIM_BARKLEY};
    const double parameters[SIM_REACTION_PARAMETERS] = {0.75, 0.06, 0.02};
    struct sim_diffusion d;
    double *start = malloc(200 * 200 * sizeof *start), low = 1, high = 0;
    CHECK_OK(sim_reaction_numbers(SIM_BARKLEY, parameters, desc.number));
    if (!CHECK_OK(sim_diffusion_new(device, &desc, &d)))
        return;
    for (int s = 0; s < 2; s++) {
        for (int c = 0; c < 200 * 200; c++)
            start[c] = s ? (c / 200 >= 100 ? 0.375 : 0) : c % 200 >= 100;
        put(&d, s, 0, start);
    }
    CHECK_OK(sim_diffusion_step(&d, 9000));
    for (int k = 0; k < 20; k++) { /* over 5 units of time: more than a turn */
        CHECK_OK(sim_diffusion_step(&d, 62));
        double *u = get(&d, 0, 0);
        low = fmin(low, u[200 * 40 + 40]), high = fmax(high, u[200 * 40 + 40]);
        free(u);
    }
    CHECK(low < 0.1 && high > 0.8);
    free(start);
    sim_diffusion_free(&d);
}

static void test_device(struct sim_device *device)
{
    const int sets = small_only() ? 1 : (int)(sizeof goldens / sizeof *goldens);
    printf("on %s\n", device->name);
    test_jump(device);
    test_jump_sizes(device);
    test_continuous(device);
    test_implicit(device, SIM_CRANK_NICOLSON);
    test_implicit(device, SIM_ADI);
    test_order(device);
    for (int k = 0; k < sets; k++)
        for (int is_double = 0; is_double < 2; is_double++)
            test_gray_scott(device, &goldens[k], is_double);
    test_gray_scott_late(device, false);
    test_gray_scott_late(device, true);
    test_critical(device, 8.4);
    test_critical(device, 8.75);
    if (small_only())
        return;
    test_fisher(device);
    test_bistable(device);
    test_allen_cahn(device);
    test_turing(device, 8, false);
    test_turing(device, 20, true);
    test_spiral(device);
}

int main(void)
{
    struct sim_device *devices[DEVICES_MAX];
    const int count = open_devices(devices, 1);
    for (int k = 0; k < count; k++) {
        test_device(devices[k]);
        sim_device_close(devices[k]);
    }
    test_jump_threads();
    return check_report();
}
