/* test_flow_traps.c - faults that others' solvers had, by their public trackers, as small
 * scenes: each function is named after a repository and a number there, its comment says
 * what went wrong, and its checks fail for a solver that has the fault. No text or code
 * is taken from there; sizes are much smaller. */
#include "flow_trap.h"

/* --- the pressure's null space ------------------------------------------------------ */

/* CliMA/Oceananigans.jl 4553: the preconditioner did not know of the cylinder, its result
 * had a mean over the fluid, and conjugate gradients blew up after a while. */
static void oceananigans_4553(struct sim_device *device)
{
    struct sim_flow_desc d = square(64, 32, 1.0 / 30, false);
    struct sim_flow f;
    struct sim_flow_control k;
    d.dx = d.dy = 1.0 / 8;
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_periodic(&f, 0);
    free_slip(&f);
    add_disc(&f, "cylinder", 2, 2, 0.5);
    CHECK_OK(sim_flow_set_force(&f, 0.2, 0));
    stir(&f, 1, 1e-7, 1);
    CHECK_OK(sim_flow_step(&f, is_small() ? 97 : 401)); /* the mean goes every 8 */
    check_sound(&f, "4553");
    CHECK_OK(sim_flow_control(&f, &k));
    CHECK(k.solve.total < 12 * k.steps);
    CHECK(largest_of(&f, SIM_FLOW_VIEW_PRESSURE) < 3);
    CHECK(fabs(mean_pressure(&f)) < 1e-5);
    sim_flow_free(&f);
}

/* barbagroup/PetIBM 93: to make the matrix regular the pressure of the first cell was set
 * to 0, which unbalances a symmetric scene, and the level of all others wandered. */
static void petibm_93(struct sim_device *device)
{
    struct sim_flow_desc d = square(32, 32, 0.02, false);
    struct sim_flow f;
    int64_t different = 0;
    double last = 0, wander = 0;
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_side(&f, SIM_FLOW_SOUTH, SIM_FLOW_NO_SLIP, 0, 1);
    set_side(&f, SIM_FLOW_NORTH, SIM_FLOW_NO_SLIP, 0, 1);
    add_disc(&f, "disc", 0.5, 0.5, 0.15);
    CHECK_OK(sim_flow_step(&f, 1601));
    for (int k = 0; k < 15; k++) {
        double far;
        CHECK_OK(sim_flow_step(&f, 8)); /* the mean has just gone */
        CHECK_OK(sim_field_get(sim_flow_view(&f, SIM_FLOW_VIEW_PRESSURE), 0, 16, &far));
        wander = fmax(wander, k ? fabs(far - last) : 0);
        last = far;
    }
    double *p = values(&f, SIM_FLOW_VIEW_PRESSURE);
    for (int64_t j = 0; j < 32; j++)
        for (int64_t i = 0; i < 32; i++)
            different += p[j * 32 + i] != p[(31 - j) * 32 + i];
    CHECK(different == 0);
    CHECK(wander < 2e-4);
    CHECK(fabs(mean_pressure(&f)) < 1e-6);
    CHECK(largest_of(&f, SIM_FLOW_VIEW_PRESSURE) > 0.1);
    check_sound(&f, "93");
    free(p);
    sim_flow_free(&f);
}

/* A stirred channel after a while. */
static void cans_236_channel(struct sim_device *device, bool is_double, double *u,
                             double *p)
{
    struct sim_flow_desc d = square(32, 32, 2e-3, is_double);
    struct sim_flow f;
    d.dt = 4e-3;
    d.force[0] = 0.1;
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_periodic(&f, 0);
    stir(&f, 1, 0.3, 5);
    CHECK_OK(sim_flow_project(&f));
    CHECK_OK(sim_flow_step(&f, 150));
    check_sound(&f, "236");
    CHECK_OK(sim_field_read(sim_flow_view(&f, SIM_FLOW_VIEW_U), u));
    CHECK_OK(sim_field_read(sim_flow_view(&f, SIM_FLOW_VIEW_PRESSURE), p));
    sim_flow_free(&f);
}

/* A right-hand side of exact zeros: 0/0 in every quotient. */
static void cans_236_zeros(struct sim_device *device, double speed)
{
    struct sim_flow_desc d = square(32, 16, 1e-3, false);
    struct sim_flow f;
    struct sim_field_sums sums;
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_periodic(&f, 0);
    set_periodic(&f, 1);
    stir(&f, speed, 0, 0);
    CHECK_OK(sim_flow_step(&f, 20));
    CHECK_OK(sim_field_sums(sim_flow_view(&f, SIM_FLOW_VIEW_U), &sums));
    CHECK(sums.min == speed && sums.max == speed);
    CHECK(largest_of(&f, SIM_FLOW_VIEW_PRESSURE) == 0);
    sim_flow_free(&f);
}

/* CaNS-World/CaNS 236: with exactly equal cells the pivot of the constant mode became
 * exactly 0 in single precision instead of rounding noise, and the run diverged. */
static void cans_236(struct sim_device *device)
{
    double u[2][32 * 33], p[2][32 * 32], worst_u = 0, worst_p = 0;
    for (int k = 0; k < 2; k++)
        cans_236_channel(device, k, u[k], p[k]);
    for (int c = 0; c < 32 * 33; c++)
        worst_u = fmax(worst_u, fabs(u[0][c] - u[1][c]));
    for (int c = 0; c < 32 * 32; c++)
        worst_p = fmax(worst_p, fabs(p[0][c] - p[1][c]));
    CHECK(worst_u < 2e-4);
    CHECK(worst_p < 2e-4);
    cans_236_zeros(device, 0);
    cans_236_zeros(device, 1);
}

/* --- openings ----------------------------------------------------------------------- */

/* CliMA/Oceananigans.jl 3831: an inflow past a mound, from rest: what flowed out did not
 * balance what flowed in, and conjugate gradients made NaN in the first step. */
static void oceananigans_3831(struct sim_device *device, enum sim_flow_wall wall,
                              bool is_double)
{
    struct sim_flow_desc d = square(32, 32, 1e-2, is_double);
    struct sim_flow f;
    d.dx = d.dy = 100.0 / 32;
    d.wall = wall;
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_side(&f, SIM_FLOW_WEST, SIM_FLOW_INFLOW, 0.01, 0);
    set_side(&f, SIM_FLOW_EAST, SIM_FLOW_OUTFLOW, 0, 0);
    free_slip(&f);
    add_disc(&f, "mound", 50, -10, 45);
    for (int k = 0; k < 3; k++) {
        CHECK_OK(sim_flow_step(&f, k < 2 ? 1 : 40));
        check_sound(&f, "3831");
        CHECK(all_finite(&f));
        check_sections(&f, 1, is_double ? 1e-8 : 2e-5);
    }
    sim_flow_free(&f);
}

/* tum-pbs/PhiFlow 201: a wake with another speed inside than flows in, periodic above and
 * below: the first projection did not reach its tolerance. */
static void phiflow_201(struct sim_device *device, enum sim_flow_kind out)
{
    struct sim_flow_desc d = square(64, 32, 0.5, false);
    struct sim_flow f;
    d.dx = d.dy = 200.0 / 64;
    d.chi = 0.9;
    d.wall = SIM_FLOW_CUT_CELLS;
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_periodic(&f, 1);
    set_side(&f, SIM_FLOW_WEST, SIM_FLOW_INFLOW, 2, 0);
    set_side(&f, SIM_FLOW_EAST, out, 0, 0);
    add_disc(&f, "cylinder", 50, 40, 15);
    stir(&f, 8, 0, 0);
    CHECK_OK(sim_flow_project(&f));
    check_sound(&f, "201");
    check_sections(&f, 200, 5e-3);
    CHECK_OK(sim_flow_step(&f, 60));
    check_sound(&f, "201");
    check_sections(&f, 200, 5e-3);
    sim_flow_free(&f);
}

/* WaterLily-jl/WaterLily.jl 67: still water that a motion drives: the time step came from
 * the inflow's speed, which was 0, and the run stood still; nor could all sides be open.
 */
static void waterlily_67(struct sim_device *device)
{
    struct sim_flow_desc d = square(24, 24, 0, false);
    struct sim_flow f;
    struct sim_flow_control k;
    int signal;
    d.chi = 0.9;
    CHECK_OK(sim_flow_new(device, &d, &f)); /* neither viscosity nor motion */
    CHECK_OK(sim_flow_advance(&f, 1));
    CHECK_OK(sim_flow_control(&f, &k));
    CHECK(k.time == 1 && k.steps >= 1 && k.bad_step == 0);
    CHECK(largest_of(&f, SIM_FLOW_VIEW_U) == 0);
    sim_flow_free(&f);

    d.nu = 1e-3;
    CHECK_OK(sim_flow_new(device, &d, &f)); /* a piston that starts from 0 */
    CHECK_OK(sim_flow_add_signal(
        &f, &(struct sim_flow_signal){.kind = SIM_FLOW_SINE, .amplitude = 1, .period = 2},
        &signal));
    for (int side = 0; side < 4; side++)
        set_side(&f, side, SIM_FLOW_OUTFLOW, 0, 0);
    CHECK_OK(sim_flow_set_side(&f, &(struct sim_flow_side_desc){.side = SIM_FLOW_WEST,
                                                                .kind = SIM_FLOW_INFLOW,
                                                                .normal = 1,
                                                                .signal = signal}));
    CHECK_OK(sim_flow_advance(&f, 0.5));
    CHECK_OK(sim_flow_control(&f, &k));
    CHECK(k.time == 0.5 && k.steps >= 12 && k.steps < 400);
    check_sound(&f, "67");
    double *u = values(&f, SIM_FLOW_VIEW_U);
    CHECK_NEAR(u[12 * 25], 1, 1e-6); /* a quarter of a period */
    CHECK(u[12 * 25 + 24] > 0.1);
    free(u);
    sim_flow_free(&f);
}

/* v in the first 64 columns of a channel of nx, [33][64], at `end`. */
static void fluidx3d_202_run(struct sim_device *device, enum sim_flow_kind out,
                             int64_t nx, double end, double *short_v)
{
    const int64_t ny = 32;
    struct sim_flow_desc d = square(nx, ny, 4e-3, false);
    struct sim_flow f;
    d.dx = d.dy = 1.0 / (double)ny;
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_side(&f, SIM_FLOW_WEST, SIM_FLOW_INFLOW, 1, 0);
    set_side(&f, SIM_FLOW_EAST, out, 0, 0);
    free_slip(&f);
    double *u = malloc((size_t)((nx + 1) * ny) * sizeof *u),
           *v = malloc((size_t)(nx * (ny + 1)) * sizeof *v);
    for (int64_t j = 0; j < ny; j++)
        for (int64_t i = 0; i <= nx; i++) {
            const double x = (double)i * d.dx - 1.2, y = ((double)j + 0.5) * d.dx - 0.5;
            u[j * (nx + 1) + i] = 1 - 6 * y * exp(-100 * (x * x + y * y));
        }
    for (int64_t j = 0; j <= ny; j++)
        for (int64_t i = 0; i < nx; i++) {
            const double x = ((double)i + 0.5) * d.dx - 1.2, y = (double)j * d.dx - 0.5;
            v[j * nx + i] = 6 * x * exp(-100 * (x * x + y * y));
        }
    CHECK_OK(sim_field_write(sim_flow_view(&f, SIM_FLOW_VIEW_U), u));
    CHECK_OK(sim_field_write(sim_flow_view(&f, SIM_FLOW_VIEW_V), v));
    CHECK_OK(sim_flow_project(&f));
    CHECK_OK(sim_flow_advance(&f, end));
    check_sound(&f, "202");
    CHECK_OK(sim_field_read(sim_flow_view(&f, SIM_FLOW_VIEW_V), v));
    for (int64_t j = 0; j <= ny; j++)
        memcpy(&short_v[j * 64], &v[j * nx], 64 * sizeof *v);
    free(u);
    free(v);
    sim_flow_free(&f);
}

/* ProjectPhysX/FluidX3D 202: what should have left through the outflow came back from it.
 * A vortex is carried out, in a short channel and in one so long that its end does not
 * matter: what they differ by came back, while it is on the outflow and after. */
static void fluidx3d_202(struct sim_device *device, enum sim_flow_kind out, double back)
{
    static const double times[] = {0, 0.8, 1.4};
    static double brief[33 * 64];
    double endless[33 * 64] = {0}, size[3] = {0};
    for (int k = 0; k < 3; k++) {
        fluidx3d_202_run(device, out, 64, times[k], brief);
        if (k)
            fluidx3d_202_run(device, out, 128, times[k], endless);
        for (int c = 0; c < 33 * 64; c++) /* at first the vortex itself */
            size[k] = fmax(size[k], fabs(brief[c] - endless[c]));
    }
    printf("     vortex out of a channel: %.3f; came back %.4f, %.4f\n", size[0], size[1],
           size[2]);
    CHECK(size[0] > 0.2);
    CHECK(size[1] < back * size[0]);
    CHECK(size[2] < back * size[0]);
}

/* --- obstacles ---------------------------------------------------------------------- */

/* CliMA/Oceananigans.jl 2891: after the correction the velocity either had a divergence
 * in the cells beside an obstacle or went into it. */
static void oceananigans_2891(struct sim_device *device, enum sim_flow_wall wall)
{
    const int64_t nx = 40, ny = 28;
    struct sim_flow_desc d = square(nx, ny, 1e-2, true);
    struct sim_flow f;
    double into = 0;
    d.wall = wall;
    CHECK_OK(sim_flow_new(device, &d, &f));
    add_disc(&f, "disc", 0.3, 0.35, 0.13);
    add_box(&f, "thin", 24.5 * d.dx, 8.2 * d.dx, 25.5 * d.dx, 19.8 * d.dx);
    add_box(&f, "cell", 33.1 * d.dx, 12.1 * d.dx, 33.9 * d.dx, 12.9 * d.dx);
    stir(&f, 0, 1, 3);
    CHECK_OK(sim_flow_project(&f));
    check_sound(&f, "2891");
    double *u = values(&f, SIM_FLOW_VIEW_U), *v = values(&f, SIM_FLOW_VIEW_V);
    int64_t solid = 0;
    for (int64_t j = 0; j < ny; j++)
        for (int64_t i = 0; i < nx; i++) {
            if (!is_solid(&f, i, j))
                continue;
            const double *west = &u[j * (nx + 1) + i], *south = &v[j * nx + i];
            into = fmax(into, fmax(fmax(fabs(west[0]), fabs(west[1])),
                                   fmax(fabs(south[0]), fabs(south[nx]))));
            solid++;
        }
    CHECK(solid > 60);
    CHECK(into == 0);
    CHECK(largest_of(&f, SIM_FLOW_VIEW_U) > 0.3);
    free(u);
    free(v);
    sim_flow_free(&f);
}

/* WaterLily-jl/WaterLily.jl 70: bodies with edges, a box among them: where the distance
 * has no gradient the normal was 0/0, and the velocity became all NaN or all 0. Boxes
 * whose sides lie on faces, on centres and between, and one on its corner. */
static void waterlily_70(struct sim_device *device, enum sim_flow_wall wall, double off,
                         double turn)
{
    struct sim_flow_desc d = square(32, 32, 0.01, false);
    struct sim_flow f;
    struct sim_shape *box, *turned;
    const double h = d.dx, from[2] = {(8 + off) * h, (12 + off) * h},
                 to[2] = {(16 + off) * h, (20 + off) * h},
                 middle[2] = {(12 + off) * h, (16 + off) * h};
    double force[3];
    d.wall = wall;
    d.chi = 0.9;
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_side(&f, SIM_FLOW_WEST, SIM_FLOW_INFLOW, 1, 0);
    set_side(&f, SIM_FLOW_EAST, SIM_FLOW_OUTFLOW, 0, 0);
    free_slip(&f);
    CHECK_OK(sim_shape_box(from, to, &box));
    CHECK_OK(sim_shape_rotate(box, turn, middle, &turned));
    CHECK_OK(sim_flow_add_obstacle(&f, "box", turned));
    sim_shape_release(box);
    sim_shape_release(turned);
    CHECK_OK(sim_flow_step(&f, 40));
    check_sound(&f, "70");
    CHECK(largest_of(&f, SIM_FLOW_VIEW_U) > 1.2);
    CHECK(largest_of(&f, SIM_FLOW_VIEW_U) < 3);
    CHECK_OK(sim_flow_force(&f, "box", middle, force));
    CHECK(force[0] > 0.05 && force[0] < 2);
    sim_flow_free(&f);
}

/* A warm flow past a box in which everything is `covered`: u, v, a temperature, the time.
 */
static void incflo_218_run(struct sim_device *device, enum sim_flow_wall wall,
                           double covered, double *out)
{
    const int64_t n = 24;
    struct sim_flow_desc d = square(n, n, 0.01, false);
    struct sim_flow f;
    int heat;
    d.wall = wall;
    d.chi = 0.9;
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_side(&f, SIM_FLOW_WEST, SIM_FLOW_INFLOW, 1, 0);
    set_side(&f, SIM_FLOW_EAST, SIM_FLOW_OUTFLOW, 0, 0);
    add_box(&f, "box", 8 * d.dx, 8 * d.dx, 15 * d.dx, 15 * d.dx);
    CHECK_OK(
        sim_flow_add_scalar(&f, &(struct sim_flow_scalar_desc){"heat", 0.01}, &heat));
    CHECK_OK(sim_flow_set_buoyancy(&f, heat, 0, 1, 0));
    CHECK_OK(sim_flow_prepare(&f));
    struct sim_field *field[3] = {sim_flow_view(&f, SIM_FLOW_VIEW_U),
                                  sim_flow_view(&f, SIM_FLOW_VIEW_V),
                                  sim_flow_scalar(&f, heat)};
    for (int k = 0; k < 3; k++) { /* well inside */
        double *to = calloc((size_t)(field[k]->nx * field[k]->ny), sizeof *to);
        for (int64_t j = 9; j < 14; j++)
            for (int64_t i = 9; i < 14; i++)
                to[j * field[k]->nx + i] = covered;
        CHECK_OK(sim_field_write(field[k], to));
        free(to);
    }
    CHECK_OK(sim_flow_step(&f, 40));
    check_sound(&f, "218");
    CHECK_OK(sim_field_read(field[0], out));
    CHECK_OK(sim_field_read(field[1], out + (n + 1) * n));
    CHECK_OK(sim_field_get(field[2], 3, 12, out + 2 * (n + 1) * n));
    struct sim_flow_control k;
    CHECK_OK(sim_flow_control(&f, &k));
    out[2 * (n + 1) * n + 1] = k.time;
    sim_flow_free(&f);
}

/* AMReX-Fluids/incflo 218: covered cells held 1e30, products of which overflowed in
 * single precision, and the pressure solve gave NaN. What is inside an obstacle must not
 * count. */
static void incflo_218(struct sim_device *device, enum sim_flow_wall wall)
{
    static double clean[2 * 25 * 24 + 2], covered[2 * 25 * 24 + 2];
    incflo_218_run(device, wall, 0, clean);
    incflo_218_run(device, wall, 1e30, covered);
    CHECK(memcmp(clean, covered, sizeof clean) == 0);
}

/* --- precision, steps, units -------------------------------------------------------- */

/* microhh/microhh 316: on large domains in single precision the velocity was free of
 * divergence at first, less so with every step, until the run exploded. */
static void microhh_316(struct sim_device *device)
{
    struct sim_flow_desc d = square(256, 16, 1e-3, false);
    struct sim_flow f;
    d.dx = d.dy = 1000;
    d.nu = 200;
    d.chi = 0.9;        /* long steps */
    d.force[1] = -9.81; /* 1.5e5 of pressure where the flow's own is about 1 */
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_side(&f, SIM_FLOW_WEST, SIM_FLOW_INFLOW, 10, 0);
    set_side(&f, SIM_FLOW_EAST, SIM_FLOW_OUTFLOW, 0, 0);
    free_slip(&f);
    add_box(&f, "hill", 60000, -1, 70000, 4000);
    stir(&f, 10, 3, 9);
    double worst = 0;
    for (int k = 0; k < (is_small() ? 3 : 12); k++) {
        CHECK_OK(sim_flow_step(&f, 40));
        worst = fmax(worst, divergence_of(&f));
    }
    check_sound(&f, "316");
    CHECK(worst < 3e-6);
    CHECK(largest_of(&f, SIM_FLOW_VIEW_U) < 40);
    sim_flow_free(&f);
}

/* WaterLily-jl/WaterLily.jl 258: the maximum behind the time step must carry NaN along,
 * which its GPU code then could not say; one that drops it reports a healthy step for a
 * field that is lost. One NaN, anywhere. */
static void waterlily_258(struct sim_device *device, bool is_double)
{
    static const int64_t at[][2] = {{1, 0}, {36, 10}, {17, 5}, {33, 1}, {4, 10}, {36, 0}};
    for (size_t k = 0; k < 2 * sizeof at / sizeof *at; k++) {
        struct sim_flow_desc d = square(37, 11, 0.01, is_double);
        struct sim_flow f;
        struct sim_flow_control control;
        const int view = k & 1 ? SIM_FLOW_VIEW_V : SIM_FLOW_VIEW_U;
        CHECK_OK(sim_flow_new(device, &d, &f));
        set_periodic(&f, 1);
        set_side(&f, SIM_FLOW_EAST, SIM_FLOW_NO_SLIP, 0, 1);
        CHECK_OK(sim_flow_step(&f, 2));
        double *now = values(&f, view);
        now[at[k / 2][1] * sim_flow_view(&f, view)->nx + at[k / 2][0]] = NAN;
        CHECK_OK(sim_field_write(sim_flow_view(&f, view), now));
        CHECK_OK(sim_flow_step(&f, 5));
        CHECK_OK(sim_flow_control(&f, &control));
        CHECK(control.bad_step == 2);
        CHECK(control.steps == 2);
        free(now);
        sim_flow_free(&f);
    }
}

/* CliMA/Oceananigans.jl 4067: where the last step before an output was tiny, the pressure
 * (something small over the step) became enormous, and NaN followed. */
static void oceananigans_4067(struct sim_device *device, bool is_double)
{
    struct sim_flow_desc d = square(24, 24, 0.01, is_double);
    struct sim_flow f;
    double pressure[2];
    d.dt = 5e-3;
    d.chi = 0.9;
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_side(&f, SIM_FLOW_WEST, SIM_FLOW_INFLOW, 1, 0);
    set_side(&f, SIM_FLOW_EAST, SIM_FLOW_OUTFLOW, 0, 0);
    add_disc(&f, "disc", 0.4, 0.5, 0.13);
    CHECK_OK(sim_flow_advance(&f, 0.5));
    pressure[0] = largest_of(&f, SIM_FLOW_VIEW_PRESSURE);
    for (int k = 0; k < 8; k++) {
        CHECK_OK(sim_flow_advance(&f, k & 1 ? 5e-3 : 1e-9));
        pressure[1] = largest_of(&f, SIM_FLOW_VIEW_PRESSURE);
        CHECK_NEAR(pressure[1], pressure[0], 0.01 * pressure[0]);
    }
    check_sound(&f, "4067");
    sim_flow_free(&f);
}

/* taichi-dev/taichi 748: after the projection a divergence was left, as a pressure on the
 * velocity's own points cannot see a checkerboard. Here nothing of it may stay. */
static void taichi_748(struct sim_device *device, bool periodic)
{
    const int64_t n = 32;
    struct sim_flow_desc d = square(n, n, 0.01, true);
    struct sim_flow f;
    CHECK_OK(sim_flow_new(device, &d, &f));
    if (periodic) {
        set_periodic(&f, 0);
        set_periodic(&f, 1);
    }
    double *u = malloc((size_t)(n * (n + 1)) * sizeof *u);
    /* the differences of (-1)^(i + j) */
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= n; i++)
            u[j * (n + 1) + i] = (i + j) & 1 ? -1 : 1;
    CHECK_OK(sim_field_write(sim_flow_view(&f, SIM_FLOW_VIEW_U), u));
    for (int64_t j = 0; j <= n; j++)
        for (int64_t i = 0; i < n; i++)
            u[j * n + i] = (i + j) & 1 ? -1 : 1;
    CHECK_OK(sim_field_write(sim_flow_view(&f, SIM_FLOW_VIEW_V), u));
    CHECK_OK(sim_flow_project(&f));
    CHECK(largest_of(&f, SIM_FLOW_VIEW_U) < 1e-9);
    CHECK(largest_of(&f, SIM_FLOW_VIEW_V) < 1e-9);
    free(u);
    sim_flow_free(&f);
}

/* u after a while in units of 2^speed where a length is 2^length; the cycles it took. */
static void waterlily_96_run(struct sim_device *device, int length, int speed, double *u,
                             int64_t *cycles)
{
    struct sim_flow_desc d = square(40, 24, ldexp(5e-3, length + speed), false);
    struct sim_flow f;
    struct sim_flow_control k;
    d.dx = d.dy = ldexp(1.0 / 40, length);
    d.wall = SIM_FLOW_CUT_CELLS;
    d.chi = 0.5;
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_side(&f, SIM_FLOW_WEST, SIM_FLOW_INFLOW, ldexp(1, speed), 0);
    set_side(&f, SIM_FLOW_EAST, SIM_FLOW_OUTFLOW, 0, 0);
    add_disc(&f, "disc", ldexp(0.3, length), ldexp(0.28, length), ldexp(0.1, length));
    CHECK_OK(sim_flow_set_force(&f, 0, ldexp(0.5, 2 * speed - length)));
    CHECK_OK(sim_flow_step(&f, 30));
    check_sound(&f, "96");
    CHECK_OK(sim_flow_control(&f, &k));
    *cycles = k.solve.total;
    CHECK_OK(sim_field_read(sim_flow_view(&f, SIM_FLOW_VIEW_U), u));
    for (int c = 0; c < 41 * 24; c++)
        u[c] = ldexp(u[c], -speed);
    sim_flow_free(&f);
}

/* WaterLily-jl/WaterLily.jl 96: the solver's tolerance did not scale with the domain, so
 * that some steps did no cycle at all. Other units, by powers of two: the same bits. */
static void waterlily_96(struct sim_device *device)
{
    static const int units[][2] = {{20, -12}, {-20, 12}, {12, 8}};
    static double one[41 * 24], other[41 * 24];
    int64_t cycles, others;
    waterlily_96_run(device, 0, 0, one, &cycles);
    CHECK(cycles >= 30); /* at least one a step */
    for (size_t k = 0; k < sizeof units / sizeof *units; k++) {
        waterlily_96_run(device, units[k][0], units[k][1], other, &others);
        CHECK(others == cycles);
        CHECK(memcmp(one, other, sizeof one) == 0);
    }
}

static void traps(struct sim_device *device)
{
    static const enum sim_flow_wall walls[] = {SIM_FLOW_STAIRCASE, SIM_FLOW_CUT_CELLS};
    oceananigans_4553(device);
    petibm_93(device);
    cans_236(device);
    phiflow_201(device, SIM_FLOW_OUTFLOW);
    phiflow_201(device, SIM_FLOW_PRESSURE);
    waterlily_67(device);
    fluidx3d_202(device, SIM_FLOW_OUTFLOW, 0.05);
    fluidx3d_202(device, SIM_FLOW_PRESSURE, 0.1);
    microhh_316(device);
    taichi_748(device, false);
    taichi_748(device, true);
    waterlily_96(device);
    for (int k = 0; k < 2; k++) {
        oceananigans_3831(device, walls[k], k);
        oceananigans_2891(device, walls[k]);
        for (int off = 0; off < 3; off++)
            waterlily_70(device, walls[k], 0.25 * off, 0);
        waterlily_70(device, walls[k], 0, 45);
        incflo_218(device, walls[k]);
        waterlily_258(device, k);
        oceananigans_4067(device, k);
    }
}

int main(void)
{
    struct sim_device *devices[DEVICES_MAX];
    const int count = open_devices(devices);
    for (int k = 0; k < count; k++) {
        traps(devices[k]);
        sim_device_close(devices[k]);
    }
    return check_report();
}
