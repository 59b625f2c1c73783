/* test_diffusion_state.c - a checkpoint of a diffusion system whose walls, signals,
 * sources, D and domain were changed while it ran: loaded into a scene as its script
 * first builds it, the run goes on with the same bits. */
#include "../src/checkpoint.h"
#include "diffusion_case.h"

#include <unistd.h>

static bool build(struct sim_device *device, struct sim_diffusion *d)
{
    struct sim_diffusion_desc desc = square(23, 0.1, false);
    const struct sim_signal wave = {.kind = SIM_SIGNAL_SINE, .amplitude = 1, .period = 2};
    int signal;
    desc.ny = 17;
    if (!CHECK_OK(sim_diffusion_new(device, &desc, d)))
        return false;
    CHECK_OK(sim_diffusion_add_signal(d, &wave, &signal));
    CHECK_OK(sim_diffusion_add_source(d, 0, 0.1, NULL, signal));
    put_noise(d, 3, 0, 1);
    return true;
}

/* What a script may do in the middle of a run; part: 0 none, 1 walls, signals, sources,
 * 2 also D and the domain. */
static void change(struct sim_diffusion *d, int part)
{
    const double points[][2] = {{0, 0}, {1, 0.5}, {4, 0.2}}, centre[2] = {11, 8};
    const struct sim_signal table = {
        .kind = SIM_SIGNAL_TABLE, .points = points, .point_count = 3};
    int signal;
    if (part == 0)
        return;
    CHECK_OK(sim_diffusion_add_signal(d, &table, &signal));
    struct sim_wall_desc wall = {.side = SIM_EAST,
                                 .kind = SIM_FIXED,
                                 .species = -1,
                                 .part = true,
                                 .from = 3,
                                 .to = 9,
                                 .value = 2,
                                 .signal = signal};
    CHECK_OK(sim_diffusion_set_wall(d, &wall));
    set_side(d, SIM_SOUTH, SIM_PERIODIC, false, 0);
    set_side(d, SIM_NORTH, SIM_PERIODIC, false, 0);
    CHECK_OK(sim_diffusion_add_source(d, 0, 0.3, NULL, 0));
    CHECK_OK(sim_diffusion_add_source(d, 0, 1, sim_diffusion_field(d, 0, 0), signal));
    if (part == 1)
        return;
    double *D = malloc(cells_of(d) * sizeof *D);
    for (size_t k = 0; k < cells_of(d); k++)
        D[k] = 0.3 + noise(4, k);
    put_diffusivity(d, 0, D);
    free(D);
    struct sim_shape *disc;
    CHECK_OK(sim_shape_disc(centre, 9, &disc));
    CHECK_OK(sim_diffusion_set_domain(d, disc));
    sim_shape_release(disc);
}

static void list(struct sim_diffusion *d, struct sim_state *state)
{
    sim_state_clear(state);
    snprintf(state->prefix, sizeof state->prefix, "1.diffusion.");
    sim_diffusion_state.list(d, state);
}

static void test(struct sim_device *device, int part)
{
    struct sim_diffusion whole, cut;
    struct sim_state state = {0};
    struct sim_checkpoint checkpoint = {0};
    const char *folder = getenv("TMPDIR");
    char path[512];
    snprintf(path, sizeof path, "%s/diffusion_state_%d.ckpt", folder ? folder : "/tmp",
             (int)getpid());
    if (!build(device, &whole) || !build(device, &cut))
        return;
    CHECK_OK(sim_diffusion_step(&whole, 7));
    change(&whole, part);
    CHECK_OK(sim_diffusion_step(&whole, 4));
    list(&whole, &state);
    CHECK_OK(sim_checkpoint_write(path, &state, 11, "", 0));
    CHECK_OK(sim_diffusion_step(&whole, 9));
    if (CHECK_OK(sim_checkpoint_open(path, &checkpoint))) {
        CHECK_OK(sim_diffusion_step(&cut, 1)); /* its tables are ready, and out of date */
        CHECK_OK(sim_diffusion_state.expect(&cut, &checkpoint, "1.diffusion."));
        list(&cut, &state);
        CHECK_OK(sim_checkpoint_load(&checkpoint, &state));
        CHECK(cut.steps == 11);
        CHECK_OK(sim_diffusion_step(&cut, 9));
        CHECK(different(&whole, &cut) == 0);
    }
    sim_checkpoint_close(&checkpoint);
    sim_state_free(&state);
    unlink(path);
    sim_diffusion_free(&whole);
    sim_diffusion_free(&cut);
}

int main(void)
{
    struct sim_device *devices[DEVICES_MAX];
    const int count = open_devices(devices, 1);
    for (int k = 0; k < count; k++) {
        for (int part = 0; part < 3; part++)
            test(devices[k], part);
        sim_device_close(devices[k]);
    }
    return check_report();
}
