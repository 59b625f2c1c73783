/* test_diffusion_implicit.c - alternating directions and Crank-Nicolson by lines: against
 * their own factors in eigenmodes, a Robin mode, order in time with everything that may
 * vary, sums, large steps; the same bits by any number of threads, by calls of any length
 * and by both forms of the rows. */
#include "../src/reaction.h"
#include "diffusion_case.h"

#define PI 3.14159265358979323846

/* --- against eigenmodes ------------------------------------------------------------- */

static const struct kind {
    enum sim_wall_kind kind;
    bool at_node;
} kinds[] = {{SIM_NO_FLUX, false}, {SIM_NO_FLUX, true}, {SIM_FIXED, false},
             {SIM_FIXED, true},    {SIM_FLUX, false},   {SIM_FLUX, true},
             {SIM_ROBIN, false},   {SIM_ROBIN, true}};
#define PLAIN_KINDS 6 /* that have modes in closed form */

static void set_axis(struct sim_diffusion *d, int axis, int low, int high)
{
    for (int end = 0; end < 2; end++) {
        const struct kind *k = &kinds[end ? high : low];
        set_side(d, 2 * axis + end, k->kind, k->at_node, 0.4 - 0.3 * end);
    }
}

/* Pair 36: periodic. */
static bool make_linear(struct sim_device *device, int64_t nx, int64_t ny, int x, int y,
                        enum sim_integrator integrator, struct sim_diffusion *d)
{
    const struct sim_diffusion_desc desc = {.nx = nx,
                                            .ny = ny,
                                            .count = 2,
                                            .dx = 1,
                                            .dy = 1.2,
                                            .dt = 2.5,
                                            .diffusivity = {{1, 0.7}},
                                            .reaction = SIM_DECAY,
                                            .number = {0.03},
                                            .is_double = true,
                                            .integrator = integrator};
    const int pair[2] = {x, y};
    if (!CHECK_OK(sim_diffusion_new(device, &desc, d)))
        return false;
    for (int axis = 0; axis < 2; axis++) {
        if (pair[axis] < 36)
            set_axis(d, axis, pair[axis] / PLAIN_KINDS, pair[axis] % PLAIN_KINDS);
        for (int end = 0; end < 2 && pair[axis] == 36; end++)
            set_side(d, 2 * axis + end, SIM_PERIODIC, false, 0);
    }
    CHECK_OK(sim_diffusion_add_source(d, 0, 0.01, NULL, 0));
    put_noise(d, 8, 0, 1);
    return true;
}

/* A signal that nobody listens to: from now on the system has no modes. */
static void no_modes(struct sim_diffusion *d)
{
    const struct sim_signal idle = {.kind = SIM_SIGNAL_SINE, .period = 1};
    int number;
    CHECK_OK(sim_diffusion_add_signal(d, &idle, &number));
}

static void test_against_modes(struct sim_device *device, enum sim_integrator integrator,
                               enum sim_modal_scheme scheme)
{
    for (int pair = 0; pair < 37; pair++)
        for (int shape = 0; shape < 2; shape++) {
            struct sim_diffusion lines, modes;
            const int64_t nx = shape ? 37 : pair % 4 + 1, ny = shape ? 35 : 19;
            const int other = (7 * pair + 5) % 37;
            if (!make_linear(device, nx, ny, pair, other, integrator, &lines) ||
                !make_linear(device, nx, ny, pair, other, integrator, &modes))
                return;
            no_modes(&lines);
            CHECK_OK(sim_diffusion_step(&lines, 9));
            CHECK_OK(sim_diffusion_modes(&modes, scheme, 9));
            if (!CHECK_NEAR(largest_difference(&lines, &modes), 0, 2e-12))
                printf("     walls %d, %d, %lld x %lld\n", pair, other, (long long)nx,
                       (long long)ny);
            CHECK(lines.steps == 9);
            sim_diffusion_free(&lines);
            sim_diffusion_free(&modes);
        }
}

/* No flux at the west face, Robin at the east: cos w (k + 1/2) with cos w (n + 1/2) =
 * inner cos w (n - 1/2). */
static void test_robin_mode(struct sim_device *device, enum sim_integrator integrator)
{
    struct sim_diffusion_desc desc = square(16, 4, true);
    struct sim_diffusion d;
    double start[256], worst = 0, low = 2 * PI / 16, high = 2.99 * PI / 16;
    desc.integrator = integrator;
    if (!CHECK_OK(sim_diffusion_new(device, &desc, &d)))
        return;
    set_side(&d, SIM_EAST, SIM_ROBIN, false, 0);
    const double inner = (1 - 0.15) / (1 + 0.15); /* h = 0.3 */
    for (int k = 0; k < 200; k++) {
        const double w = 0.5 * (low + high);
        const bool above = cos(16.5 * w) - inner * cos(15.5 * w) > 0;
        const bool above_low = cos(16.5 * low) - inner * cos(15.5 * low) > 0;
        *(above == above_low ? &low : &high) = w;
    }
    for (int c = 0; c < 256; c++)
        start[c] = cos(low * (c % 16 + 0.5)) * cos(3 * PI * (c / 16 + 0.5) / 16);
    put(&d, 0, 0, start);
    CHECK_OK(sim_diffusion_step(&d, 6));
    const double ax = 8 * pow(sin(low / 2), 2), ay = 8 * pow(sin(3 * PI / 32), 2);
    const double factor = integrator == SIM_ADI
                              ? (1 - ax) / (1 + ax) * (1 - ay) / (1 + ay)
                              : (1 - ax - ay) / (1 + ax + ay);
    double *u = get(&d, 0, 0);
    for (int c = 0; c < 256; c++)
        worst = fmax(worst, fabs(u[c] - pow(factor, 6) * start[c]));
    CHECK_NEAR(worst, 0, 2e-13);
    free(u);
    sim_diffusion_free(&d);
}

/* --- everything at once ------------------------------------------------------------- */

struct setting {
    int64_t nx, ny;
    enum sim_integrator integrator;
    enum sim_reaction reaction;
    bool is_double, domain, field_D, varying;
    double dt;
    int walls;
};

static void add_varying(struct sim_diffusion *d, int walls)
{
    const struct sim_signal wave = {
        .kind = SIM_SIGNAL_SINE, .mean = 0.5, .amplitude = 0.4, .period = 1.7};
    int signal;
    CHECK_OK(sim_diffusion_add_signal(d, &wave, &signal));
    for (int side = 0; side < SIM_SIDES; side++) {
        const struct kind *k = &kinds[(walls + 3 * side + 2) % 8];
        const struct sim_wall_desc wall = {.side = (enum sim_side)side,
                                           .kind = k->kind,
                                           .at_node = k->at_node,
                                           .species = -1,
                                           .part = true,
                                           .from = 2,
                                           .to = 6,
                                           .value = 0.5,
                                           .h = 0.2,
                                           .signal = signal};
        CHECK_OK(sim_diffusion_set_wall(d, &wall));
    }
    CHECK_OK(sim_diffusion_add_source(d, 0, 0.2, NULL, signal));
    struct sim_field *u = sim_diffusion_field(d, 0, 0);
    CHECK_OK(sim_diffusion_add_source(d, 0, 1, u, signal)); /* the noise of the start */
}

static bool make(struct sim_device *device, const struct setting *c,
                 struct sim_diffusion *d)
{
    const struct sim_diffusion_desc desc = {.nx = c->nx,
                                            .ny = c->ny,
                                            .dx = 1,
                                            .dy = 0.9,
                                            .dt = c->dt,
                                            .diffusivity = {{1, 0.8}, {0.5, 0.6}},
                                            .reaction = c->reaction,
                                            .number = {0.037, 0.097},
                                            .is_double = c->is_double,
                                            .integrator = c->integrator};
    const double centre[2] = {0.5 * (double)c->nx, 0.45 * (double)c->ny};
    if (!CHECK_OK(sim_diffusion_new(device, &desc, d)))
        return false;
    double *D = malloc(cells_of(d) * sizeof *D);
    for (size_t k = 0; k < cells_of(d); k++)
        D[k] = 0.2 + 2 * noise(4, k);
    for (int s = 0; s < d->system.species && c->field_D; s++)
        put_diffusivity(d, s, D);
    free(D);
    for (int side = 0; side < SIM_SIDES; side++) {
        const struct kind *k = &kinds[(c->walls + side) % 8];
        const bool around = c->walls >= 8 && (c->walls - 8 == side / 2 || c->walls == 10);
        set_side(d, side, around ? SIM_PERIODIC : k->kind, k->at_node, 0.2);
    }
    put_noise(d, 5, 0.1, 1);
    if (c->varying)
        add_varying(d, c->walls);
    struct sim_shape *disc;
    if (c->domain && CHECK_OK(sim_shape_disc(centre, 0.48 * (double)c->nx, &disc))) {
        CHECK_OK(sim_diffusion_set_domain(d, disc));
        sim_shape_release(disc);
    }
    return true;
}

/* The state at t = 2. */
static bool run(struct sim_device *device, struct setting c, double dt,
                struct sim_diffusion *d)
{
    c.dt = dt;
    return make(device, &c, d) &&
           CHECK_OK(sim_diffusion_step(d, (int64_t)(2 / dt + 0.5)));
}

/* Errors at dt and dt/2 against dt/32 of the same scheme: a ratio of 4.0 (of (1 - 2^-10)
 * over (1/4 - 2^-10), to be exact). */
static void test_order(struct sim_device *device, const struct setting *c)
{
    struct sim_diffusion coarse, middle, fine;
    if (!run(device, *c, 0.1, &coarse) || !run(device, *c, 0.05, &middle) ||
        !run(device, *c, 0.1 / 32, &fine))
        return;
    const double one = largest_difference(&coarse, &fine),
                 two = largest_difference(&middle, &fine);
    CHECK(two > 1e-9); /* there is an error to see */
    if (!CHECK_NEAR(log2(one / two), 2, 0.25))
        printf("     integrator %d, reaction %d, walls %d: %g, %g\n", c->integrator,
               c->reaction, c->walls, one, two);
    sim_diffusion_free(&coarse);
    sim_diffusion_free(&middle);
    sim_diffusion_free(&fine);
}

/* And both tend to what small explicit steps tend to. */
static void test_limit(struct sim_device *device, struct setting c)
{
    struct sim_diffusion implicit, euler, half;
    if (!run(device, c, 1.0 / 64, &implicit))
        return;
    c.integrator = SIM_EULER;
    if (!run(device, c, 1.0 / 512, &euler) || !run(device, c, 1.0 / 1024, &half))
        return;
    double *a = get(&implicit, 0, 0), *b = get(&euler, 0, 0), *e = get(&half, 0, 0);
    double worst = 0;
    for (size_t k = 0; k < cells_of(&half); k++)
        worst = fmax(worst, fabs(2 * e[k] - b[k] - a[k])); /* Richardson's limit */
    CHECK_NEAR(worst, 0, 2e-4);
    free(a), free(b), free(e);
    sim_diffusion_free(&implicit);
    sim_diffusion_free(&euler);
    sim_diffusion_free(&half);
}

static void test_orders(struct sim_device *device)
{
    for (int integrator = SIM_CRANK_NICOLSON; integrator <= SIM_ADI; integrator++)
        for (int k = 0; k < 4; k++) {
            const struct setting c = {.nx = 14,
                                      .ny = 12,
                                      .integrator = (enum sim_integrator)integrator,
                                      .reaction = k % 2 ? SIM_GRAY_SCOTT : SIM_DECAY,
                                      .is_double = true,
                                      .domain = k >= 2,
                                      .field_D = k != 1,
                                      .varying = true,
                                      .walls = 3 * k};
            test_order(device, &c);
            test_limit(device, c);
        }
}

/* --- sums, large steps -------------------------------------------------------------- */

/* Nothing leaves a domain between walls that let nothing through, at any dt. */
static void test_sum(struct sim_device *device, enum sim_integrator integrator, double dt)
{
    const struct setting c = {.nx = 33,
                              .ny = 27,
                              .integrator = integrator,
                              .is_double = true,
                              .domain = true,
                              .field_D = true,
                              .dt = dt};
    struct sim_diffusion d;
    if (!make(device, &c, &d))
        return;
    set_all(&d, SIM_NO_FLUX, false);
    const double before = sum_of(&d);
    CHECK_OK(sim_diffusion_step(&d, 40));
    CHECK_NEAR(sum_of(&d), before, 1e-11 * before * (1 + dt / 100));
    sim_diffusion_free(&d);
}

static double norm_of(struct sim_diffusion *d)
{
    double *u = get(d, 0, 0), sum = 0;
    for (size_t c = 0; c < cells_of(d); c++)
        sum += u[c] * u[c];
    free(u);
    return sqrt(sum);
}

/* A million times the explicit limit: no mode grows. */
static void test_huge(struct sim_device *device, enum sim_integrator integrator,
                      bool field_D)
{
    const struct setting c = {.nx = 40,
                              .ny = 31,
                              .integrator = integrator,
                              .is_double = true,
                              .field_D = field_D,
                              .dt = 2.5e5};
    struct sim_diffusion d;
    if (!make(device, &c, &d))
        return;
    set_all(&d, SIM_NO_FLUX, false);
    double norm = norm_of(&d);
    for (int k = 0; k < 5; k++) {
        CHECK_OK(sim_diffusion_step(&d, 1));
        const double now = norm_of(&d);
        /* the factors of ADI are below 1 for each pair of modes only where X and Y
           commute; otherwise it is (1 + Y/2) u whose norm falls */
        CHECK(now <= norm * (field_D && integrator == SIM_ADI ? 1e3 : 1 + 1e-9));
        norm = fmin(norm, now);
    }
    sim_diffusion_free(&d);
}

/* --- the same bits ------------------------------------------------------------------ */

static void test_threads(void)
{
    for (int k = 0; k < 6; k++) {
        const struct setting c = {.nx = 121,
                                  .ny = 77,
                                  .integrator = k % 2 ? SIM_ADI : SIM_CRANK_NICOLSON,
                                  .reaction = k < 4 ? SIM_DECAY : SIM_GRAY_SCOTT,
                                  .domain = k >= 2,
                                  .varying = true,
                                  .dt = 0.8,
                                  .walls = 2 * k + 1};
        struct sim_diffusion expected, d;
        struct sim_device *one, *many;
        if (!CHECK_OK(sim_device_open("cpu", 1, &one)) || !make(one, &c, &expected))
            return;
        CHECK_OK(sim_diffusion_step(&expected, 6));
        for (int threads = 2; threads <= 7; threads += 5) {
            CHECK_OK(sim_device_open("cpu", threads, &many));
            if (make(many, &c, &d)) {
                for (int n = 0; n < 6; n++) /* and calls of one step */
                    CHECK_OK(sim_diffusion_step(&d, 1));
                CHECK(different(&expected, &d) == 0);
                sim_diffusion_free(&d);
            }
            sim_device_close(many);
        }
        sim_diffusion_free(&expected);
        sim_device_close(one);
    }
}

/* D = 1 as a number and as a field; the CPU and the GPU. */
static void test_forms(struct sim_device **devices, int count)
{
    static const int64_t sizes[][2] = {{1, 1},   {1, 6},   {7, 1},   {2, 2},  {3, 2},
                                       {31, 33}, {32, 64}, {65, 40}, {200, 3}};
    for (int k = 0; k < 9; k++)
        for (int walls = 0; walls < 11; walls++) {
            struct setting c = {.nx = sizes[k][0],
                                .ny = sizes[k][1],
                                .integrator = walls % 3 ? SIM_ADI : SIM_CRANK_NICOLSON,
                                .reaction = k % 2 ? SIM_DECAY : SIM_REACTION_NONE,
                                .is_double = k % 3 == 0,
                                .dt = 1.3,
                                .walls = walls};
            struct sim_diffusion expected, d;
            for (int on = 0; on < count; on++)
                for (int field = 0; field < 2; field++) {
                    if (!make(devices[on], &c, on + field ? &d : &expected))
                        return;
                    struct sim_diffusion *now = on + field ? &d : &expected;
                    now->desc.diffusivity[0][0] = now->desc.diffusivity[0][1] = 1;
                    no_modes(now);
                    double *D = calloc(cells_of(now), sizeof *D);
                    for (size_t n = 0; n < cells_of(now); n++)
                        D[n] = 1;
                    if (field)
                        put_diffusivity(now, 0, D);
                    free(D);
                    CHECK_OK(sim_diffusion_step(now, 3));
                    if (now == &expected)
                        continue;
                    if (!CHECK(different(&expected, &d) == 0))
                        printf("     %s: %lld x %lld, walls %d, field %d\n",
                               devices[on]->name, (long long)c.nx, (long long)c.ny, walls,
                               field);
                    sim_diffusion_free(&d);
                }
            sim_diffusion_free(&expected);
        }
}

static void test_device(struct sim_device *device)
{
    printf("on %s\n", device->name);
    test_against_modes(device, SIM_ADI, SIM_MODAL_ADI);
    test_against_modes(device, SIM_CRANK_NICOLSON, SIM_MODAL_CRANK_NICOLSON);
    test_robin_mode(device, SIM_ADI);
    test_robin_mode(device, SIM_CRANK_NICOLSON);
    test_orders(device);
    for (int k = 0; k < 2; k++) {
        const enum sim_integrator integrator = k ? SIM_ADI : SIM_CRANK_NICOLSON;
        test_sum(device, integrator, 0.5);
        test_sum(device, integrator, 50);
        test_huge(device, integrator, false);
        test_huge(device, integrator, true);
    }
}

int main(void)
{
    struct sim_device *devices[DEVICES_MAX];
    const int count = open_devices(devices, 1);
    for (int k = 0; k < count; k++)
        test_device(devices[k]);
    if (count > 0)
        test_forms(devices, count);
    test_threads();
    for (int k = 0; k < count; k++)
        sim_device_close(devices[k]);
    return check_report();
}
