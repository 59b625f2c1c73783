/* test_diffusion_variants.c - every way to do steps gives the bits of one pass a step on
 * the CPU: sizes, walls, axes, signals, reactions, members, threads and precisions. */
#include "diffusion_case.h"

static const char *const variant_names[] = {"auto", "plain", "blocked", "small",
                                            "cluster"};

/* What a case is made of; applied alike to every system that is compared. */
struct setting {
    int64_t nx, ny, count;
    bool is_double, axes, source;
    enum sim_reaction reaction;
    int walls; /* see set_walls */
    int64_t steps;
};

static const struct kind {
    enum sim_wall_kind kind;
    bool at_node;
} kinds[] = {{SIM_NO_FLUX, false}, {SIM_NO_FLUX, true}, {SIM_FIXED, false},
             {SIM_FIXED, true},    {SIM_FLUX, false},   {SIM_FLUX, true},
             {SIM_ROBIN, false},   {SIM_ROBIN, true}};
#define KINDS 8

static struct sim_wall_desc wall_of(int side, int kind)
{
    return (struct sim_wall_desc){.side = (enum sim_side)side,
                                  .kind = kinds[kind].kind,
                                  .at_node = kinds[kind].at_node,
                                  .species = -1,
                                  .value = 0.3 + 0.1 * side,
                                  .h = 0.2};
}

/* 0 .. 7: another kind on each side. 8, 9, 10: periodic along x, y, both. 11: parts of
 * sides, one of them varying in time. */
#define WALLS 12
static void set_walls(struct sim_diffusion *d, int walls)
{
    const struct sim_signal wave = {
        .kind = SIM_SIGNAL_SINE, .mean = 0.5, .amplitude = 0.4, .period = 3.3};
    for (int side = 0; side < SIM_SIDES; side++) {
        struct sim_wall_desc wall = wall_of(side, (walls + side) % KINDS);
        if ((walls == 8 || walls == 10) && side < SIM_SOUTH)
            wall.kind = SIM_PERIODIC;
        if ((walls == 9 || walls == 10) && side >= SIM_SOUTH)
            wall.kind = SIM_PERIODIC;
        CHECK_OK(sim_diffusion_set_wall(d, &wall));
    }
    if (walls != 11)
        return;
    int signal;
    CHECK_OK(sim_diffusion_add_signal(d, &wave, &signal));
    for (int side = 0; side < SIM_SIDES; side++)
        for (int part = 0; part < 3; part++) {
            const double length = side < SIM_SOUTH ? (double)d->desc.ny * d->desc.dy
                                                   : (double)d->desc.nx * d->desc.dx;
            struct sim_wall_desc wall = wall_of(side, (3 * side + part) % KINDS);
            wall.part = true;
            wall.from = length * part / 3, wall.to = length * (part + 1) / 3;
            wall.signal = part == 1 ? signal : 0;
            CHECK_OK(sim_diffusion_set_wall(d, &wall));
        }
}

static bool make(struct sim_device *device, const struct setting *c,
                 enum sim_diffusion_variant variant, struct sim_diffusion *d)
{
    struct sim_diffusion_desc desc = {.nx = c->nx,
                                      .ny = c->ny,
                                      .count = c->count,
                                      .dx = 1,
                                      .dy = c->axes ? 1.25 : 1,
                                      .dt = 0.17,
                                      .is_double = c->is_double,
                                      .reaction = c->reaction,
                                      .diffusivity = {{1, 1}, {0.5, 0.5}},
                                      .number = {0.3, 0.4, 0.2, 0.15, 0.1, 0.05},
                                      .tuning = {.variant = variant}};
    if (!CHECK_OK(sim_diffusion_new(device, &desc, d)))
        return false;
    set_walls(d, c->walls);
    if (c->source)
        CHECK_OK(sim_diffusion_add_source(d, 0, 0.05, NULL, 0));
    put_noise(d, 5, 0, 1);
    return true;
}

/* The case by `tuning` against `expected`. False where the variant cannot do it. */
static bool same(struct sim_device *device, const struct setting *c,
                 struct sim_diffusion_tuning tuning, struct sim_diffusion *expected)
{
    struct sim_diffusion d;
    char text[96];
    if (!make(device, c, tuning.variant, &d))
        return false;
    d.system.tuning = tuning;
    const bool can = sim_diffusion_describe(&d, c->steps, text, sizeof text) == SIM_OK;
    if (can && CHECK_OK(sim_diffusion_step(&d, c->steps))) {
        const int64_t bad = different(expected, &d);
        if (!CHECK(bad == 0))
            printf("     %s %s (%s, depth %d, rows %d, %d, %d): %lld x %lld x %lld, "
                   "walls %d, "
                   "reaction %d%s%s%s, %lld steps: %lld cells\n",
                   device->name, variant_names[tuning.variant], text, tuning.depth,
                   tuning.rows, tuning.cells, tuning.blocks, (long long)c->nx,
                   (long long)c->ny, (long long)c->count, c->walls, (int)c->reaction,
                   c->is_double ? ", double" : "", c->axes ? ", axes" : "",
                   c->source ? ", source" : "", (long long)c->steps, (long long)bad);
    }
    sim_diffusion_free(&d);
    return can;
}

/* Ways to do steps; the second part is for the GPU alone. */
static const struct sim_diffusion_tuning ways[] = {
    {.variant = SIM_DIFFUSION_AUTO},
    {.variant = SIM_DIFFUSION_PLAIN},
    {.variant = SIM_DIFFUSION_BLOCKED},
    {.variant = SIM_DIFFUSION_BLOCKED, .depth = 2, .rows = 1},
    {.variant = SIM_DIFFUSION_BLOCKED, .depth = 8, .rows = 3},
    {.variant = SIM_DIFFUSION_BLOCKED, .depth = 6, .rows = 10},
    {.variant = SIM_DIFFUSION_BLOCKED, .depth = 12, .rows = 16},
    {.variant = SIM_DIFFUSION_BLOCKED, .depth = 1, .rows = 7},
    {.variant = SIM_DIFFUSION_BLOCKED, .depth = 4, .rows = 5, .cells = 4},
    {.variant = SIM_DIFFUSION_BLOCKED, .depth = 8, .cells = 4, .waves = 2},
    {.variant = SIM_DIFFUSION_BLOCKED, .depth = 8, .rows = 11, .cells = 8},
    {.variant = SIM_DIFFUSION_SMALL},
    {.variant = SIM_DIFFUSION_CLUSTER},
    {.variant = SIM_DIFFUSION_CLUSTER, .depth = 1, .blocks = 8},
    {.variant = SIM_DIFFUSION_CLUSTER, .depth = 1, .rows = 4, .blocks = 16},
    {.variant = SIM_DIFFUSION_CLUSTER, .depth = 2, .rows = 4, .blocks = 8},
    {.variant = SIM_DIFFUSION_CLUSTER, .depth = 2, .rows = 2},
    {.variant = SIM_DIFFUSION_CLUSTER, .depth = 4, .blocks = 8},
    {.variant = SIM_DIFFUSION_CLUSTER, .depth = 4, .blocks = 16},
};
#define WAYS     (int)(sizeof ways / sizeof *ways)
#define WAYS_CPU 6

/* All variants on all devices; returns how many could. */
static int all_variants(struct sim_device **devices, int count, const struct setting *c)
{
    struct sim_diffusion expected;
    int could = 0;
    if (!make(devices[0], c, SIM_DIFFUSION_PLAIN, &expected))
        return 0;
    CHECK_OK(sim_diffusion_step(&expected, c->steps));
    for (int k = 0; k < count; k++)
        for (int w = 0; w < (devices[k]->kind == SIM_CPU ? WAYS_CPU : WAYS); w++)
            could += same(devices[k], c, ways[w], &expected);
    sim_diffusion_free(&expected);
    return could;
}

static void test_sizes(struct sim_device **devices, int count)
{
    static const int64_t sizes[][2] = {
        {1, 1},   {1, 7},     {9, 1},   {2, 2},    {3, 5},    {4, 4},
        {5, 3},   {31, 33},   {64, 20}, {112, 18}, {8, 1},    {8, 2},
        {12, 5},  {127, 129}, {128, 9}, {131, 6},  {96, 131}, {256, 19},
        {257, 6}, {508, 5},   {749, 7}, {1000, 37}};
    const int n = sizeof sizes / sizeof *sizes - (small_only() ? 6 : 0);
    for (int k = 0; k < n; k++)
        for (int walls = 0; walls < WALLS; walls++) {
            const struct setting c = {.nx = sizes[k][0],
                                      .ny = sizes[k][1],
                                      .count = 1,
                                      .walls = walls,
                                      .steps = 13,
                                      .is_double = (k + walls) % 3 == 0};
            CHECK(all_variants(devices, count, &c) >= 6);
        }
}

static void test_forms(struct sim_device **devices, int count)
{
    for (int form = 0; form < 8; form++)
        for (int walls = 0; walls < WALLS; walls += 3) {
            const struct setting c = {.nx = 37,
                                      .ny = 29,
                                      .count = form & 4 ? 3 : 1,
                                      .axes = form & 1,
                                      .source = (form & 2) != 0,
                                      .walls = walls + form % 3,
                                      .steps = 11,
                                      .is_double = walls == 3};
            all_variants(devices, count, &c);
        }
}

static void test_reactions(struct sim_device **devices, int count)
{
    for (int reaction = 0; reaction < SIM_REACTIONS; reaction++)
        for (int walls = 1; walls < WALLS; walls += 5) {
            const struct setting c = {.nx = 45,
                                      .ny = 31,
                                      .count = 2,
                                      .walls = walls,
                                      .steps = 9,
                                      .reaction = (enum sim_reaction)reaction,
                                      .is_double = walls == 6};
            CHECK(all_variants(devices, count, &c) >= 6);
        }
}

static void test_threads(void)
{
    const struct setting c = {.nx = 301, .ny = 203, .count = 1, .walls = 11, .steps = 17};
    struct sim_diffusion expected;
    struct sim_device *one;
    if (!CHECK_OK(sim_device_open("cpu", 1, &one)))
        return;
    if (make(one, &c, SIM_DIFFUSION_PLAIN, &expected)) {
        CHECK_OK(sim_diffusion_step(&expected, c.steps));
        for (int threads = 2; threads <= 7; threads += 5) {
            struct sim_device *many;
            CHECK_OK(sim_device_open("cpu", threads, &many));
            CHECK(same(many, &c,
                       (struct sim_diffusion_tuning){.variant = SIM_DIFFUSION_PLAIN},
                       &expected));
            CHECK(same(many, &c,
                       (struct sim_diffusion_tuning){
                           .variant = SIM_DIFFUSION_BLOCKED, .depth = 5, .rows = 40},
                       &expected));
            sim_device_close(many);
        }
        sim_diffusion_free(&expected);
    }
    sim_device_close(one);
}

/* Large enough for streaming stores, several strips and the deepest pass: plain against
 * what is chosen and against blocked, with a rest of steps that is no whole pass. */
static void test_large(struct sim_device **devices, int count)
{
    static const struct setting cases[] = {
        {.nx = 4099, .ny = 4097, .count = 1, .walls = 4, .steps = 13},
        {.nx = 4099, .ny = 4097, .count = 1, .walls = 10, .steps = 9}};
    for (int n = 0; n < (small_only() ? 0 : 2); n++) {
        struct sim_diffusion expected;
        if (!make(devices[0], &cases[n], SIM_DIFFUSION_PLAIN, &expected))
            return;
        CHECK_OK(sim_diffusion_step(&expected, cases[n].steps));
        const struct sim_diffusion_tuning large[] = {
            {.variant = SIM_DIFFUSION_PLAIN},
            {.variant = SIM_DIFFUSION_AUTO},
            {.variant = SIM_DIFFUSION_BLOCKED, .depth = n ? 4 : 12, .rows = n ? 100 : 0},
            {.variant = SIM_DIFFUSION_BLOCKED, .depth = 8, .cells = 4}};
        for (int k = 0; k < count; k++)
            for (int w = k ? 0 : 1; w < (k ? 4 : 3); w++)
                CHECK(same(devices[k], &cases[n], large[w], &expected));
        sim_diffusion_free(&expected);
    }
}

/* On the CPU results of large arrays go past the caches by a path of their own: against
 * the general cell, to which a mask without a masked cell leads. */
static void test_streaming(struct sim_device *cpu)
{
    static const struct setting cases[] = {
        {.nx = 3077, .ny = 2111, .count = 1, .walls = 4, .steps = 2},
        {.nx = 1549, .ny = 2081, .count = 1, .walls = 10, .steps = 2, .is_double = true},
        {.nx = 517,
         .ny = 701,
         .count = 5,
         .walls = 9,
         .steps = 2,
         .reaction = SIM_GRAY_SCOTT}};
    for (int n = 0; n < (small_only() ? 0 : 3); n++) {
        const struct setting *c = &cases[n];
        uint8_t *mask = calloc((size_t)c->nx, (size_t)c->ny);
        struct sim_diffusion expected;
        if (!CHECK(mask != NULL) || !make(cpu, c, SIM_DIFFUSION_PLAIN, &expected))
            return;
        expected.system.mask = mask;
        CHECK_OK(sim_diffusion_step(&expected, c->steps));
        CHECK(same(cpu, c, (struct sim_diffusion_tuning){.variant = SIM_DIFFUSION_PLAIN},
                   &expected));
        CHECK(same(
            cpu, c,
            (struct sim_diffusion_tuning){.variant = SIM_DIFFUSION_BLOCKED, .depth = 2},
            &expected));
        sim_diffusion_free(&expected);
        free(mask);
    }
}

/* One call of n steps is n calls of one. */
static void test_parity(struct sim_device **devices, int count)
{
    for (int k = 0; k < count; k++) {
        const struct setting c = {
            .nx = 53, .ny = 47, .count = 1, .walls = 11, .steps = 14};
        struct sim_diffusion one, many;
        if (!make(devices[k], &c, SIM_DIFFUSION_AUTO, &one) ||
            !make(devices[k], &c, SIM_DIFFUSION_AUTO, &many))
            return;
        for (int n = 0; n < 14; n++)
            CHECK_OK(sim_diffusion_step(&one, 1));
        CHECK_OK(sim_diffusion_step(&many, 9));
        CHECK_OK(sim_diffusion_step(&many, 5));
        CHECK(different(&one, &many) == 0);
        sim_diffusion_free(&one);
        sim_diffusion_free(&many);
    }
}

int main(void)
{
    struct sim_device *devices[DEVICES_MAX];
    const int count = open_devices(devices, 2);
    if (count > 0) {
        test_sizes(devices, count);
        test_forms(devices, count);
        test_reactions(devices, count);
        test_parity(devices, count);
        test_large(devices, count);
        test_streaming(devices[0]);
    }
    test_threads();
    for (int k = 0; k < count; k++)
        sim_device_close(devices[k]);
    return check_report();
}
