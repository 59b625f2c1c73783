/* test_flow.c - the flow solver's exact properties: states that the scheme keeps to
 * rounding, symmetry and threads to the bit, every kind of side and obstacle, errors. */
#include "flow_case.h"

/* --- states that stay --------------------------------------------------------------- */

/* Fluid at rest under gravity: the pressure carries it, in one step, and nothing moves.
 */
static void rest(struct sim_device *device, bool is_double)
{
    struct sim_flow_desc d = square(33, 20, 1e-3, is_double);
    struct sim_flow f;
    d.force[1] = -9.81;
    d.dt = 1e-3;
    CHECK_OK(sim_flow_new(device, &d, &f));
    add_disc(&f, "disc", 0.4, 0.3, 0.12);
    CHECK_OK(sim_flow_step(&f, 50));
    /* a falling cell would have reached 0.49 */
    const double limit = is_double ? 1e-12 : 2e-6;
    CHECK(largest_of(&f, SIM_FLOW_VIEW_U) < limit);
    CHECK(largest_of(&f, SIM_FLOW_VIEW_V) < limit);
    double low, high;
    CHECK_OK(sim_field_get(sim_flow_view(&f, SIM_FLOW_VIEW_PRESSURE), 32, 1, &low));
    CHECK_OK(sim_field_get(sim_flow_view(&f, SIM_FLOW_VIEW_PRESSURE), 32, 18, &high));
    CHECK_NEAR(high - low, -9.81 * 17 * d.dy, is_double ? 1e-9 : 1e-3);
    sim_flow_free(&f);
}

/* Uniform flow between slippery sides, past nothing. */
static void uniform(struct sim_device *device, enum sim_flow_kind out, bool is_double)
{
    struct sim_flow_desc d = square(48, 17, 1e-2, is_double);
    struct sim_flow f;
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_side(&f, SIM_FLOW_WEST, SIM_FLOW_INFLOW, 1.25, 0);
    set_side(&f, SIM_FLOW_EAST, out, 0, 0);
    set_side(&f, SIM_FLOW_SOUTH, SIM_FLOW_FREE_SLIP, 0, 0);
    set_side(&f, SIM_FLOW_NORTH, SIM_FLOW_FREE_SLIP, 0, 0);
    CHECK_OK(sim_flow_step(&f, 60));
    struct sim_field_sums u;
    CHECK_OK(sim_field_sums(sim_flow_view(&f, SIM_FLOW_VIEW_U), &u));
    const double limit = is_double ? 1e-9 : 2e-6;
    CHECK_NEAR(u.min, 1.25, limit);
    CHECK_NEAR(u.max, 1.25, limit);
    CHECK(largest_of(&f, SIM_FLOW_VIEW_V) < limit);
    sim_flow_free(&f);
}

/* An abrupt start: the whole pressure is new, and each step's divergence is small all the
 * same. */
static void abrupt(struct sim_device *device)
{
    struct sim_flow_desc d = square(128, 128, 1e-3, false);
    struct sim_flow f;
    double divergence;
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_side(&f, SIM_FLOW_WEST, SIM_FLOW_INFLOW, 1, 0);
    set_side(&f, SIM_FLOW_EAST, SIM_FLOW_OUTFLOW, 0, 0);
    for (int k = 0; k < 4; k++) {
        CHECK_OK(sim_flow_step(&f, 1));
        CHECK_OK(sim_flow_divergence(&f, &divergence));
        CHECK(divergence < 1.5e-6);
    }
    sim_flow_free(&f);
}

/* Driven between walls, periodic along x: the steady profile on this grid is the parabola
 * and g h^2/(8 nu), because the walls are half a cell from the outermost velocities. */
static void poiseuille(struct sim_device *device, int axis)
{
    const int64_t n = 24;
    const double g = 0.3, nu = 0.05;
    struct sim_flow_desc d = square(axis ? n : 5, axis ? 5 : n, nu, true);
    struct sim_flow f;
    d.dx = d.dy = 1.0 / (double)n;
    d.force[axis] = g;
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_periodic(&f, axis);
    struct sim_field *field = sim_flow_view(&f, axis ? SIM_FLOW_VIEW_V : SIM_FLOW_VIEW_U);
    double *profile = malloc((size_t)(field->nx * field->ny) * sizeof *profile);
    for (int64_t j = 0; j < field->ny; j++)
        for (int64_t i = 0; i < field->nx; i++) {
            const double y = ((double)(axis ? i : j) + 0.5) / (double)n;
            profile[j * field->nx + i] =
                g / (2 * nu) * y * (1 - y) + g / (8 * nu * (double)(n * n));
        }
    CHECK_OK(sim_field_write(field, profile));
    CHECK_OK(sim_flow_step(&f, 200));
    double *now = values(&f, axis ? SIM_FLOW_VIEW_V : SIM_FLOW_VIEW_U), worst = 0;
    for (int64_t c = 0; c < field->nx * field->ny; c++)
        worst = fmax(worst, fabs(now[c] - profile[c]));
    CHECK(worst < 1e-13);
    free(now);
    free(profile);
    sim_flow_free(&f);
}

/* A moving lid over a periodic channel, from rest: a straight line in the end. */
static void couette(struct sim_device *device)
{
    struct sim_flow_desc d = square(7, 12, 0.5, true);
    struct sim_flow f;
    d.dx = d.dy = 1.0 / 12;
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_periodic(&f, 0);
    set_side(&f, SIM_FLOW_NORTH, SIM_FLOW_NO_SLIP, 0, 2);
    CHECK_OK(sim_flow_advance(&f, 8));
    double *u = values(&f, SIM_FLOW_VIEW_U);
    for (int64_t j = 0; j < 12; j++)
        CHECK_NEAR(u[j * 8 + 3], 2 * ((double)j + 0.5) / 12, 1e-12);
    free(u);
    sim_flow_free(&f);
}

/* --- bits --------------------------------------------------------------------------- */

static void random_scene(struct sim_flow *f, uint64_t seed, bool obstacles)
{
    const double w = (double)f->desc.nx * f->desc.dx, h = (double)f->desc.ny * f->desc.dy;
    static const enum sim_flow_kind outs[] = {SIM_FLOW_OUTFLOW, SIM_FLOW_PRESSURE,
                                              SIM_FLOW_PERIODIC};
    const enum sim_flow_kind out = outs[seed % 3];
    if (out == SIM_FLOW_PERIODIC) {
        set_periodic(f, 0);
        CHECK_OK(sim_flow_set_force(f, 0.7, -0.2));
    } else {
        set_side(f, SIM_FLOW_WEST, SIM_FLOW_INFLOW, 0.8, 0.1);
        set_side(f, SIM_FLOW_EAST, out, 0, 0);
    }
    set_side(f, SIM_FLOW_SOUTH, seed & 4 ? SIM_FLOW_FREE_SLIP : SIM_FLOW_NO_SLIP, 0, 0.3);
    for (uint64_t k = 0; k < 7 && obstacles; k++)
        add_disc(f, "", w * (0.15 + 0.85 * noise(seed, 3 * k)),
                 h * noise(seed, 3 * k + 1), 0.2 * fmin(w, h) * noise(seed, 3 * k + 2));
}

static uint64_t hash_of(const double *values, int64_t count, uint64_t hash)
{
    for (int64_t c = 0; c < count; c++) {
        uint64_t bits;
        memcpy(&bits, &values[c], sizeof bits);
        hash = (hash ^ bits) * 0x100000001b3u;
        hash ^= hash >> 29;
    }
    return hash;
}

/* The bits after some steps of a random scene, with a scalar on board. */
static uint64_t bits_of(struct sim_device *device, int64_t nx, int64_t ny, bool is_double,
                        enum sim_flow_wall wall, uint64_t seed)
{
    struct sim_flow_desc d = square(nx, ny, 0.01, is_double);
    struct sim_flow f;
    int dye;
    uint64_t hash = 1;
    d.chi = 0.9;
    d.wall = wall;
    d.method = SIM_MULTIGRID; /* a transform agrees to the tolerance only */
    d.dx = d.dy = 1.0 / (double)(nx > ny ? nx : ny);
    if (!CHECK_OK(sim_flow_new(device, &d, &f)))
        return 0;
    random_scene(&f, seed, nx > 8 && ny > 8);
    CHECK_OK(sim_flow_add_scalar(&f, &(struct sim_flow_scalar_desc){"dye", 1e-4}, &dye));
    CHECK_OK(sim_field_fill(sim_flow_scalar(&f, dye), 0.5));
    CHECK_OK(sim_flow_set_buoyancy(&f, dye, 0, 0.4, 0.2));
    CHECK_OK(sim_flow_step(&f, 6));
    for (int view = 0; view < SIM_FLOW_VIEWS; view++) {
        double *v = values(&f, view);
        struct sim_field *field = sim_flow_view(&f, view);
        hash = hash_of(v, field->nx * field->ny, hash);
        free(v);
    }
    struct sim_flow_control control;
    CHECK_OK(sim_flow_control(&f, &control));
    CHECK(control.bad_step == 0);
    CHECK(control.steps == 6);
    sim_flow_free(&f);
    return hash_of(&control.time, 1, hash);
}

/* Every size and number of threads, and the GPU, give the same bits. */
static void parity(struct sim_device **devices, int count)
{
    static const int64_t sizes[][2] = {{1, 1},   {1, 7},    {7, 1},   {2, 2},
                                       {31, 33}, {64, 64},  {513, 3}, {1000, 37},
                                       {5, 300}, {511, 513}};
    struct sim_device *one;
    const size_t n = sizeof sizes / sizeof *sizes - (is_small() ? 3 : 0);
    CHECK_OK(sim_device_open("cpu", 1, &one));
    for (size_t k = 0; k < n; k++)
        for (uint64_t variant = 0; variant < 4; variant++) {
            const int64_t nx = sizes[k][0], ny = sizes[k][1];
            const bool is_double = variant & 1;
            const enum sim_flow_wall wall =
                variant & 2 ? SIM_FLOW_CUT_CELLS : SIM_FLOW_STAIRCASE;
            const uint64_t seed = variant + 5 * k;
            if (nx * ny > 50000 && variant > 1)
                continue;
            const uint64_t want = bits_of(one, nx, ny, is_double, wall, seed);
            for (int m = 0; m < count; m++)
                if (!CHECK(bits_of(devices[m], nx, ny, is_double, wall, seed) == want))
                    printf("     %lld x %lld, variant %d, %s\n", (long long)nx,
                           (long long)ny, (int)variant, devices[m]->name);
        }
    sim_device_close(one);
}

/* A scene that is its own mirror image about y = 1/2 stays so to the bit. */
static void mirror(struct sim_device *device, enum sim_flow_wall wall)
{
    struct sim_flow_desc d = square(64, 64, 2e-3, false);
    struct sim_flow f;
    d.wall = wall;
    d.chi = 0.9;
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_side(&f, SIM_FLOW_WEST, SIM_FLOW_INFLOW, 1, 0);
    set_side(&f, SIM_FLOW_EAST, SIM_FLOW_OUTFLOW, 0, 0);
    add_disc(&f, "disc", 0.3, 0.5, 0.11);
    CHECK_OK(sim_flow_step(&f, 120));
    double *u = values(&f, SIM_FLOW_VIEW_U), *v = values(&f, SIM_FLOW_VIEW_V);
    int64_t different = 0;
    for (int64_t j = 0; j < 64; j++) {
        for (int64_t i = 0; i <= 64; i++)
            different += u[j * 65 + i] != u[(63 - j) * 65 + i];
        for (int64_t i = 0; i < 64; i++)
            different += v[j * 64 + i] != -v[(64 - j) * 64 + i];
    }
    CHECK(different == 0);
    CHECK(largest_of(&f, SIM_FLOW_VIEW_V) > 0.05);
    free(u);
    free(v);
    sim_flow_free(&f);
}

/* --- obstacles and regions ---------------------------------------------------------- */

/* A wall one cell thick with a gap, a closed pocket with gravity in it, a single cell, an
 * obstacle that covers a side: the flow is divergence-free and rests where it is shut in.
 */
static void walls(struct sim_device *device, enum sim_flow_wall wall, bool is_double)
{
    struct sim_flow_desc d = square(64, 32, 5e-3, is_double);
    struct sim_flow f;
    double divergence;
    d.wall = wall;
    d.chi = 0.9;
    d.force[1] = -1;
    d.iterations = 200;
    CHECK_OK(sim_flow_new(device, &d, &f));
    const double h = d.dx;
    set_side(&f, SIM_FLOW_WEST, SIM_FLOW_INFLOW, 1, 0);
    set_side(&f, SIM_FLOW_EAST, SIM_FLOW_OUTFLOW, 0, 0);
    add_box(&f, "wall", 20 * h, -1, 21 * h, 10 * h);
    add_box(&f, "wall 2", 20 * h, 18 * h, 21 * h, 1);
    add_box(&f, "cell", 40 * h, 16 * h, 41 * h, 17 * h);
    add_box(&f, "corner", 41 * h, 17 * h, 42 * h, 18 * h);
    add_box(&f, "pocket", 48 * h, 4 * h, 56 * h, 12 * h);
    add_box(&f, "south", -1, -1, 15 * h, 0.5 * h);
    CHECK_OK(sim_flow_step(&f, 40));
    CHECK_OK(sim_flow_divergence(&f, &divergence));
    CHECK(divergence < (is_double ? 2e-10 : 3e-6));
    /* the pocket becomes hollow */
    CHECK_OK(sim_flow_remove_obstacle(&f, "pocket"));
    add_box(&f, "a", 48 * h, 4 * h, 49 * h, 12 * h);
    add_box(&f, "b", 55 * h, 4 * h, 56 * h, 12 * h);
    add_box(&f, "c", 48 * h, 4 * h, 56 * h, 5 * h);
    add_box(&f, "d", 48 * h, 11 * h, 56 * h, 12 * h);
    CHECK_OK(sim_flow_step(&f, 40));
    CHECK_OK(sim_flow_divergence(&f, &divergence));
    CHECK(divergence < (is_double ? 2e-10 : 3e-6));
    CHECK(f.system.closed_regions == 2);
    double *u = values(&f, SIM_FLOW_VIEW_U), *v = values(&f, SIM_FLOW_VIEW_V), worst = 0;
    for (int64_t j = 5; j < 11; j++)
        for (int64_t i = 50; i < 54; i++)
            worst = fmax(worst, fmax(fabs(u[j * 65 + i]), fabs(v[j * 64 + i])));
    CHECK(worst < (is_double ? 1e-9 : 1e-5));
    CHECK(u[14 * 65 + 20] > 1); /* through the gap */
    free(u);
    free(v);
    sim_flow_free(&f);
}

/* Sides that were periodic and are openings leave nothing behind: the pressure there is
 * what is prescribed, and a flow set up so from the start gives the same velocities. */
static void changed_sides(struct sim_device *device)
{
    struct sim_flow_desc d = square(24, 16, 1e-2, true);
    struct sim_flow f[2];
    double divergence, worst = 0;
    for (int k = 0; k < 2; k++) {
        CHECK_OK(sim_flow_new(device, &d, &f[k]));
        if (k == 0) {
            set_periodic(&f[k], 0);
            CHECK_OK(sim_flow_set_force(&f[k], 0.3, 0.1));
            add_disc(&f[k], "disc", 0.02, 0.3, 0.1);
            CHECK_OK(sim_flow_step(&f[k], 20));
            CHECK_OK(sim_flow_remove_obstacle(&f[k], "disc"));
            CHECK_OK(sim_flow_set_force(&f[k], 0, 0));
            CHECK_OK(sim_field_fill(sim_flow_view(&f[k], SIM_FLOW_VIEW_U), 0));
            CHECK_OK(sim_field_fill(sim_flow_view(&f[k], SIM_FLOW_VIEW_V), 0));
            CHECK_OK(sim_buffer_zero(&f[k].p));
        }
        set_side(&f[k], SIM_FLOW_WEST, SIM_FLOW_PRESSURE, 0, 0);
        set_side(&f[k], SIM_FLOW_EAST, SIM_FLOW_PRESSURE, 0, 0);
        set_side(&f[k], SIM_FLOW_NORTH, SIM_FLOW_NO_SLIP, 0, 1);
        CHECK_OK(sim_flow_step(&f[k], 20));
        CHECK_OK(sim_flow_divergence(&f[k], &divergence));
        CHECK(divergence < 2e-10);
    }
    double *a = values(&f[0], SIM_FLOW_VIEW_U), *b = values(&f[1], SIM_FLOW_VIEW_U);
    for (int64_t c = 0; c < 25 * 16; c++)
        worst = fmax(worst, fabs(a[c] - b[c]));
    CHECK(worst < 1e-9);
    free(a);
    free(b);
    sim_flow_free(&f[0]);
    sim_flow_free(&f[1]);
}

/* Nothing but wall, and a picture of it. */
static void all_solid(struct sim_device *device)
{
    struct sim_flow_desc d = square(16, 16, 1e-2, false);
    struct sim_flow f;
    double divergence;
    CHECK_OK(sim_flow_new(device, &d, &f));
    add_box(&f, "all", -1, -1, 2, 2);
    CHECK_OK(sim_flow_step(&f, 5));
    CHECK_OK(sim_flow_divergence(&f, &divergence));
    CHECK(divergence == 0);
    CHECK(largest_of(&f, SIM_FLOW_VIEW_U) == 0);
    sim_flow_free(&f);
}

/* --- scalars ------------------------------------------------------------------------ */

/* No new extrema, and what a closed box holds stays to rounding. */
static void scalars(struct sim_device *device, bool is_double)
{
    struct sim_flow_desc d = square(48, 48, 1e-3, is_double);
    struct sim_flow f;
    struct sim_field_sums before, after;
    int dye;
    d.chi = 0.9;
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_side(&f, SIM_FLOW_NORTH, SIM_FLOW_NO_SLIP, 0, 1);
    add_disc(&f, "disc", 0.6, 0.4, 0.1);
    CHECK_OK(sim_flow_add_scalar(&f, &(struct sim_flow_scalar_desc){"dye", 0}, &dye));
    struct sim_shape *box;
    const double from[2] = {0.1, 0.5}, to[2] = {0.5, 0.95};
    CHECK_OK(sim_shape_box(from, to, &box));
    CHECK_OK(sim_field_paint(sim_flow_scalar(&f, dye),
                             &(struct sim_paint){.shape = box, .value = 1}));
    sim_shape_release(box);
    CHECK_OK(sim_field_sums(sim_flow_scalar(&f, dye), &before));
    CHECK_OK(sim_flow_step(&f, 400));
    CHECK_OK(sim_field_sums(sim_flow_scalar(&f, dye), &after));
    CHECK_NEAR(after.sum, before.sum, (is_double ? 1e-12 : 1e-5) * before.sum);
    CHECK(after.min > (is_double ? -1e-9 : -1e-5));
    CHECK(after.max < 1 + (is_double ? 1e-9 : 1e-5));
    CHECK(after.squares < 0.9 * before.squares); /* it was stirred */
    sim_flow_free(&f);
}

/* --- markers ------------------------------------------------------------------------ */

/* Where a marker is after a while in Taylor and Green's vortices, which stand still where
 * there is next to no viscosity. */
static void carried(struct sim_device *device, double dt, double where[2])
{
    const int64_t n = 32;
    const double h = 6.283185307179586 / (double)n;
    struct sim_flow_desc d = square(n, n, 1e-6, true);
    struct sim_flow f;
    const double points[1][2] = {{2.3, 1.1}};
    const struct sim_flow_marker_desc markers = {.points = points, .point_count = 1};
    double *now = malloc((size_t)((n + 1) * (n + 1)) * sizeof *now);
    float at[4];
    d.dx = d.dy = h;
    d.dt = dt;
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_periodic(&f, 0);
    set_periodic(&f, 1);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= n; i++)
            now[j * (n + 1) + i] = -cos((double)i * h) * sin(((double)j + 0.5) * h);
    CHECK_OK(sim_field_write(sim_flow_view(&f, SIM_FLOW_VIEW_U), now));
    for (int64_t j = 0; j <= n; j++)
        for (int64_t i = 0; i < n; i++)
            now[j * n + i] = sin(((double)i + 0.5) * h) * cos((double)j * h);
    CHECK_OK(sim_field_write(sim_flow_view(&f, SIM_FLOW_VIEW_V), now));
    CHECK_OK(sim_flow_set_markers(&f, &markers));
    CHECK_OK(sim_flow_step(&f, (int64_t)(2 / dt + 0.5)));
    CHECK_OK(sim_flow_read_markers(&f, at));
    CHECK_NEAR((double)at[2], 2, 1e-5);
    where[0] = (double)at[0], where[1] = (double)at[1];
    free(now);
    sim_flow_free(&f);
}

static void paths(struct sim_device *device)
{
    double a[2], b[2], c[2];
    carried(device, 0.08, a);
    carried(device, 0.04, b);
    carried(device, 0.02, c);
    const double order =
        log2(hypot(a[0] - b[0], a[1] - b[1]) / hypot(b[0] - c[0], b[1] - c[1]));
    printf("     markers: order %.2f in time\n", order);
    CHECK_NEAR(order, 2, 0.2);
}

/* Sources put one marker each every few steps, the oldest give way, and what leaves is
 * gone. */
static void streaks(struct sim_device *device)
{
    struct sim_flow_desc d = square(32, 16, 1e-2, false);
    struct sim_flow f;
    struct sim_field_sums sums;
    float where[20][4];
    int alive = 0;
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_side(&f, SIM_FLOW_WEST, SIM_FLOW_INFLOW, 1, 0);
    set_side(&f, SIM_FLOW_EAST, SIM_FLOW_OUTFLOW, 0, 0);
    set_side(&f, SIM_FLOW_SOUTH, SIM_FLOW_FREE_SLIP, 0, 0);
    set_side(&f, SIM_FLOW_NORTH, SIM_FLOW_FREE_SLIP, 0, 0);
    const double sources[2][2] = {{0.1, 0.1}, {0.1, 0.4}};
    const struct sim_flow_marker_desc markers = {
        .sources = sources, .source_count = 2, .every = 3, .kept = 10};
    CHECK_OK(sim_flow_set_markers(&f, &markers));
    CHECK_OK(sim_flow_step(&f, 12));
    CHECK_OK(sim_field_sums(sim_flow_view(&f, SIM_FLOW_VIEW_DERIVED + SIM_FLOW_MARKERS),
                            &sums));
    CHECK(sums.sum == 8); /* after steps 3, 6, 9, 12 */
    CHECK_OK(sim_flow_step(&f, 400));
    CHECK_OK(sim_flow_read_markers(&f, &where[0][0]));
    for (int k = 0; k < 20; k++) {
        alive += where[k][2] >= 0;
        CHECK(where[k][2] < 0 || where[k][0] <= 1.0f);
    }
    CHECK(alive == 20);
    const double outside[1][2] = {{2, 0}};
    const struct sim_flow_marker_desc wrong = {.points = outside, .point_count = 1};
    CHECK(sim_flow_set_markers(&f, &wrong) == SIM_BAD_ARGUMENT);
    sim_flow_free(&f);
}

/* --- time --------------------------------------------------------------------------- */

static void landing(struct sim_device *device)
{
    struct sim_flow_desc d = square(16, 16, 1e-2, true);
    struct sim_flow f;
    struct sim_flow_control control;
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_side(&f, SIM_FLOW_NORTH, SIM_FLOW_NO_SLIP, 0, 1);
    for (int k = 1; k <= 3; k++) {
        const double before = k > 1 ? control.time : 0;
        CHECK_OK(sim_flow_advance(&f, 1.0 / 3));
        CHECK_OK(sim_flow_control(&f, &control));
        CHECK(control.time == before + 1.0 / 3);
    }
    const int64_t steps = control.steps;
    CHECK_OK(sim_flow_advance(&f, 0));
    CHECK_OK(sim_flow_control(&f, &control));
    CHECK(control.steps == steps);
    CHECK_OK(sim_flow_step(&f, 7));
    CHECK_OK(sim_flow_control(&f, &control));
    CHECK(control.steps == steps + 7);
    sim_flow_free(&f);
}

/* The mean pressure of a closed box does not drift. */
static void drift(struct sim_device *device)
{
    struct sim_flow_desc d = square(8, 8, 1e-2, false);
    struct sim_flow f;
    struct sim_field_sums p;
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_side(&f, SIM_FLOW_NORTH, SIM_FLOW_NO_SLIP, 0, 1);
    CHECK_OK(sim_flow_step(&f, is_small() ? 2000 : 100000));
    CHECK_OK(sim_field_sums(sim_flow_view(&f, SIM_FLOW_VIEW_PRESSURE), &p));
    CHECK(fabs(p.sum) / 64 < 1e-5);
    CHECK(p.max - p.min > 0.01);
    sim_flow_free(&f);
}

/* A step that is too long ends in NaN, which is noticed, and nothing goes on from there.
 */
static void blow_up(struct sim_device *device)
{
    struct sim_flow_desc d = square(32, 32, 1e-6, false);
    struct sim_flow f;
    struct sim_flow_control control;
    d.dt = 0.02;
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_periodic(&f, 0);
    add_disc(&f, "disc", 0.5, 0.5, 0.2);
    CHECK_OK(sim_flow_set_force(&f, 50, 0));
    CHECK_OK(sim_flow_step(&f, 4000));
    CHECK_OK(sim_flow_control(&f, &control));
    CHECK(control.bad_step > 0);
    CHECK(control.bad_step == control.steps);
    CHECK(control.steps < 4000);
    CHECK(control.cfl_max > 1);
    CHECK(control.unstable_step > 0 && control.unstable_step < control.bad_step);
    CHECK(control.unstable_limit > 0 && control.unstable_limit < d.dt);
    sim_flow_free(&f);
}

/* --- the box of a force --------------------------------------------------------------
 */

/* Two flows of one scene that changes, one asked for its force all the time, the other at
 * the end alone: what is kept between the questions is never stale. */
static void force_boxes(struct sim_device *device)
{
    struct sim_flow_desc d = square(48, 32, 1e-2, true);
    struct sim_flow f[2];
    const double about[2] = {0.3, 0.2};
    double out[2][3];
    for (int k = 0; k < 2; k++) {
        CHECK_OK(sim_flow_new(device, &d, &f[k]));
        set_side(&f[k], SIM_FLOW_WEST, SIM_FLOW_INFLOW, 1, 0);
        set_side(&f[k], SIM_FLOW_EAST, SIM_FLOW_OUTFLOW, 0, 0);
        add_disc(&f[k], "disc", 0.4, 0.3, 0.1);
        CHECK_OK(sim_flow_step(&f[k], 2));
        if (k == 0)
            CHECK_OK(sim_flow_force(&f[k], "disc", about, out[k]));
        add_disc(&f[k], "other", 0.6, 0.3, 0.1); /* a cell or so beside */
        CHECK_OK(sim_flow_step(&f[k], 1));
        for (int again = 0; k == 0 && again < 2; again++)
            CHECK(sim_flow_force(&f[k], "disc", about, out[k]) == SIM_BAD_ARGUMENT);
        CHECK_OK(sim_flow_remove_obstacle(&f[k], "other"));
        CHECK_OK(sim_flow_step(&f[k], 1));
        if (k == 0)
            CHECK_OK(sim_flow_force(&f[k], "disc", about, out[k]));
        CHECK_OK(sim_flow_remove_obstacle(&f[k], "disc"));
        add_disc(&f[k], "disc", 0.6, 0.4, 0.15);
        CHECK_OK(sim_flow_step(&f[k], 3));
        CHECK_OK(sim_flow_force(&f[k], "disc", about, out[k]));
        sim_flow_free(&f[k]);
    }
    CHECK(!memcmp(out[0], out[1], sizeof out[0]));
}

/* --- errors ------------------------------------------------------------------------- */

static void errors(struct sim_device *device)
{
    struct sim_flow f;
    struct sim_flow_desc d = square(8, 8, 0, false);
    CHECK(sim_flow_new(device, &d, &f) ==
          SIM_BAD_ARGUMENT); /* chi = 0 without viscosity */
    d = square(0, 8, 1, false);
    CHECK(sim_flow_new(device, &d, &f) == SIM_BAD_ARGUMENT);
    d = square(16, 16, 1e-2, false);
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_side(&f, SIM_FLOW_WEST, SIM_FLOW_PERIODIC, 0, 0);
    CHECK(sim_flow_step(&f, 1) == SIM_BAD_ARGUMENT);
    CHECK(strstr(sim_error_text(), "west and east") != NULL);
    set_side(&f, SIM_FLOW_WEST, SIM_FLOW_INFLOW, 1, 0);
    CHECK(sim_flow_step(&f, 1) == SIM_BAD_ARGUMENT);
    CHECK(strstr(sim_error_text(), "no way out") != NULL);
    set_side(&f, SIM_FLOW_EAST, SIM_FLOW_INFLOW, 1, 0); /* out there: fine */
    CHECK_OK(sim_flow_step(&f, 1));
    add_disc(&f, "disc", 0.5, 0.5, 0.1);
    double out[3];
    const double about[2] = {0, 0};
    CHECK(sim_flow_force(&f, "disk", about, out) == SIM_BAD_ARGUMENT);
    CHECK(sim_flow_remove_obstacle(&f, "disk") == SIM_BAD_ARGUMENT);
    CHECK_OK(sim_flow_remove_obstacle(&f, "disc"));
    sim_flow_free(&f);
    d.dt = 1;
    CHECK_OK(sim_flow_new(device, &d, &f));
    CHECK(sim_flow_step(&f, 1) == SIM_BAD_ARGUMENT);
    CHECK(strstr(sim_error_text(), "viscous limit") != NULL);
    sim_flow_free(&f);
}

int main(void)
{
    struct sim_device *devices[DEVICES_MAX];
    const int count = open_devices(devices);
    for (int k = 0; k < count; k++) {
        for (int is_double = 0; is_double < 2; is_double++) {
            rest(devices[k], is_double);
            uniform(devices[k], SIM_FLOW_OUTFLOW, is_double);
            uniform(devices[k], SIM_FLOW_PRESSURE, is_double);
            scalars(devices[k], is_double);
            walls(devices[k], SIM_FLOW_STAIRCASE, is_double);
            walls(devices[k], SIM_FLOW_CUT_CELLS, is_double);
        }
        abrupt(devices[k]);
        poiseuille(devices[k], 0);
        poiseuille(devices[k], 1);
        couette(devices[k]);
        mirror(devices[k], SIM_FLOW_STAIRCASE);
        mirror(devices[k], SIM_FLOW_CUT_CELLS);
        all_solid(devices[k]);
        changed_sides(devices[k]);
        paths(devices[k]);
        streaks(devices[k]);
        landing(devices[k]);
        drift(devices[k]);
        blow_up(devices[k]);
        force_boxes(devices[k]);
        errors(devices[k]);
    }
    parity(devices, count);
    for (int k = 0; k < count; k++)
        sim_device_close(devices[k]);
    return check_report();
}
