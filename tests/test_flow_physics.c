/* test_flow_physics.c - the flow solver against published tables and exact solutions: the
 * lid-driven cavity, Taylor and Green's vortices, the cylinder of Schaefer and Turek, the
 * double shear layer. Sources of the values: the heads of tests/reference/. */
#include "flow_case.h"

static const char *here; /* tests/reference/ */

/* --- the cavity ----------------------------------------------------------------------
 */

struct row {
    char line; /* u: along x = 1/2; v: along y = 1/2 */
    double at, value[3];
};

/* Rows of a table of tests/reference/; how many. */
static int read_rows(const char *name, char line, int values, struct row *rows, int room)
{
    char path[512], text[512];
    int count = 0;
    snprintf(path, sizeof path, "%s/%s", here, name);
    FILE *file = fopen(path, "r");
    if (!CHECK(file != NULL))
        return 0;
    while (count < room && fgets(text, sizeof text, file)) {
        struct row *r = &rows[count];
        char *at = text;
        if (*at == '#' || strstr(at, "grid_point"))
            continue;
        r->line = line;
        if (!line) {
            r->line = *at;
            at = strchr(at, ',') + 1;
        }
        at = strchr(at, ',') + 1; /* past the grid's point, */
        if (line)
            at = strchr(at, ',') + 1; /* and the printed place */
        r->at = strtod(at, &at);
        for (int k = 0; k < values; k++)
            r->value[k] = strtod(at + 1, &at);
        count++;
    }
    fclose(file);
    return count;
}

static double at_row(struct sim_flow *f, const struct row *r)
{
    double value = 0;
    const bool u = r->line == 'u';
    struct sim_field *field = sim_flow_view(f, u ? SIM_FLOW_VIEW_U : SIM_FLOW_VIEW_V);
    CHECK_OK(sim_field_probe(field, u ? 0.5 : r->at, u ? r->at : 0.5, &value));
    return value;
}

/* Beyond the outermost samples the wall is nearer than the probe can know. */
static bool inside(const struct sim_flow *f, const struct row *r)
{
    return r->at > 0.5 * f->desc.dx && r->at < 1 - 0.5 * f->desc.dx;
}

/* Misprinted in the paper: v at x = 0.9063 for Re 400. */
static bool misprint(const struct row *r, int column)
{
    return r->line == 'v' && column == 1 && fabs(r->at - 0.90625) < 1e-6;
}

static void cavity(struct sim_device *device, int64_t n, int column, double duration,
                   double to_precise)
{
    static const double reynolds[] = {100, 400, 1000};
    struct sim_flow_desc d = square(n, n, 1 / reynolds[column], false);
    struct sim_flow f;
    struct row rows[80];
    double worst = 0, worst_precise = 0;
    d.cfl = 0.8;
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_side(&f, SIM_FLOW_NORTH, SIM_FLOW_NO_SLIP, 0, 1);
    CHECK_OK(sim_flow_advance(&f, duration));
    int count = read_rows("ghia1982_u.csv", 'u', 3, rows, 40);
    count += read_rows("ghia1982_v.csv", 'v', 3, rows + count, 40);
    CHECK(count == 34);
    for (int k = 0; k < count; k++)
        if (inside(&f, &rows[k]) && !misprint(&rows[k], column))
            worst = fmax(worst, fabs(at_row(&f, &rows[k]) - rows[k].value[column]));
    count = column < 2 ? read_rows("cavity_precise.csv", 0, 2, rows, 80) : 0;
    for (int k = 0; k < count; k++)
        if (inside(&f, &rows[k]))
            worst_precise =
                fmax(worst_precise, fabs(at_row(&f, &rows[k]) - rows[k].value[column]));
    printf("     cavity Re %g, %lld^2: from Ghia %.4f, from the precise table %.5f\n",
           reynolds[column], (long long)n, worst, worst_precise);
    CHECK(worst < 0.02);
    CHECK(worst_precise < to_precise);
    sim_flow_free(&f);
}

/* --- Taylor and Green ----------------------------------------------------------------
 */

/* The largest error of u after a while, with steps so short that space rules, or so long
 * that time does. */
static double vortices(struct sim_device *device, int64_t n, double chi, double dt)
{
    const double pi = 3.14159265358979323846, nu = 0.05, end = 0.4;
    struct sim_flow_desc d = square(n, n, nu, true);
    struct sim_flow f;
    double worst = 0;
    d.dx = d.dy = 2 * pi / (double)n;
    d.chi = chi;
    d.dt = dt;
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_periodic(&f, 0);
    set_periodic(&f, 1);
    struct sim_field *u = sim_flow_view(&f, SIM_FLOW_VIEW_U),
                     *v = sim_flow_view(&f, SIM_FLOW_VIEW_V);
    double *values = malloc((size_t)((n + 1) * (n + 1)) * sizeof *values);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= n; i++)
            values[j * (n + 1) + i] =
                -cos((double)i * d.dx) * sin(((double)j + 0.5) * d.dx);
    CHECK_OK(sim_field_write(u, values));
    for (int64_t j = 0; j <= n; j++)
        for (int64_t i = 0; i < n; i++)
            values[j * n + i] = sin(((double)i + 0.5) * d.dx) * cos((double)j * d.dx);
    CHECK_OK(sim_field_write(v, values));
    CHECK_OK(sim_flow_advance(&f, end));
    CHECK_OK(sim_field_read(u, values));
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            worst =
                fmax(worst, fabs(values[j * (n + 1) + i] +
                                 cos((double)i * d.dx) * sin(((double)j + 0.5) * d.dx) *
                                     exp(-2 * nu * end)));
    free(values);
    sim_flow_free(&f);
    return worst;
}

static void orders(struct sim_device *device)
{
    const double second =
        log2(vortices(device, 16, 0, 4e-4) / vortices(device, 32, 0, 1e-4));
    const double donor =
        log2(vortices(device, 32, 0.9, 1e-3) / vortices(device, 64, 0.9, 5e-4));
    printf("     Taylor-Green: order %.3f with chi = 0, %.3f with chi = 0.9\n", second,
           donor);
    CHECK(second >= 1.9);
    CHECK(donor >= 0.9);
    if (is_small())
        return;
    /* in time: differences of three runs on one grid */
    const double a = vortices(device, 32, 0, 8e-3), b = vortices(device, 32, 0, 4e-3),
                 c = vortices(device, 32, 0, 2e-3);
    printf("     Taylor-Green: order %.3f in time\n", log2(fabs((a - b) / (b - c))));
    CHECK(fabs(log2(fabs((a - b) / (b - c))) - 1) < 0.1);
}

/* --- the cylinder in a channel -------------------------------------------------------
 */

struct cylinder {
    double drag, lift, pressure;
};

/* Case 2D-1: a parabola of mean 0.2 past a disc of diameter 0.1, Re 20. */
static struct cylinder cylinder(struct sim_device *device, int64_t cells,
                                enum sim_flow_wall wall, double duration)
{
    const int64_t nx = 22 * cells, ny = 41 * cells / 10;
    struct sim_flow_desc d = square(nx, ny, 1e-3, false);
    struct sim_flow f;
    struct cylinder out;
    double *profile = malloc((size_t)ny * sizeof *profile), force[3];
    const double about[2] = {0.2, 0.2};
    d.dx = 2.2 / (double)nx, d.dy = 0.41 / (double)ny;
    d.wall = wall;
    for (int64_t j = 0; j < ny; j++) {
        const double y = ((double)j + 0.5) * d.dy;
        profile[j] = 1.2 * y * (0.41 - y) / (0.41 * 0.41);
    }
    CHECK_OK(sim_flow_new(device, &d, &f));
    CHECK_OK(sim_flow_set_side(&f, &(struct sim_flow_side_desc){.side = SIM_FLOW_WEST,
                                                                .kind = SIM_FLOW_INFLOW,
                                                                .normals = profile}));
    set_side(&f, SIM_FLOW_EAST, SIM_FLOW_OUTFLOW, 0, 0);
    add_disc(&f, "cylinder", 0.2, 0.2, 0.05);
    CHECK_OK(sim_flow_advance(&f, duration));
    CHECK_OK(sim_flow_force(&f, "cylinder", about, force));
    out.drag = 500 * force[0], out.lift = 500 * force[1];
    double front, back;
    CHECK_OK(sim_flow_pressure(&f, 0.15, 0.2, &front));
    CHECK_OK(sim_flow_pressure(&f, 0.25, 0.2, &back));
    out.pressure = front - back;
    printf(
        "     cylinder 2D-1, %lld cells a diameter, %s: drag %.4f, lift %.5f, pressure "
        "%.5f\n",
        (long long)cells, wall == SIM_FLOW_CUT_CELLS ? "cut cells" : "staircase",
        out.drag, out.lift, out.pressure);
    free(profile);
    sim_flow_free(&f);
    return out;
}

static void schaefer_turek(struct sim_device *device)
{
    const struct cylinder coarse = cylinder(device, 10, SIM_FLOW_CUT_CELLS, 6);
    const struct cylinder stairs = cylinder(device, 10, SIM_FLOW_STAIRCASE, 6);
    CHECK_NEAR(coarse.drag, 5.5795, 0.06);
    CHECK(fabs(coarse.drag - 5.5795) < fabs(stairs.drag - 5.5795));
    if (is_small())
        return;
    const struct cylinder fine = cylinder(device, 20, SIM_FLOW_CUT_CELLS, 8);
    CHECK_NEAR(fine.drag, 5.5795, 0.03);
    CHECK_NEAR(fine.lift, 0.010619, 0.0011);
    CHECK(fabs(fine.drag - 5.5795) < fabs(coarse.drag - 5.5795));
    CHECK(fabs(fine.pressure - 0.11752) < fabs(coarse.pressure - 0.11752));
    /* second order: two grids together are in the paper's interval */
    const double both = fine.pressure + (fine.pressure - coarse.pressure) / 3;
    printf("     pressure difference, extrapolated: %.5f\n", both);
}

/* --- shear layers --------------------------------------------------------------------
 */

/* Two layers that roll up into one vortex each: energy falls, vorticity makes no new
 * extremum beyond a little. */
static void shear_layers(struct sim_device *device, double rho, double nu, int64_t n)
{
    const double pi = 3.14159265358979323846;
    struct sim_flow_desc d = square(n, n, nu, false);
    struct sim_flow f;
    double energy = 1e300;
    CHECK_OK(sim_flow_new(device, &d, &f));
    set_periodic(&f, 0);
    set_periodic(&f, 1);
    double *values = malloc((size_t)((n + 1) * (n + 1)) * sizeof *values);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= n; i++) {
            const double y = ((double)j + 0.5) / (double)n;
            values[j * (n + 1) + i] =
                y <= 0.5 ? tanh(rho * (y - 0.25)) : tanh(rho * (0.75 - y));
        }
    CHECK_OK(sim_field_write(sim_flow_view(&f, SIM_FLOW_VIEW_U), values));
    for (int64_t j = 0; j <= n; j++)
        for (int64_t i = 0; i < n; i++)
            values[j * n + i] = 0.05 * sin(2 * pi * ((double)i + 0.5) / (double)n);
    CHECK_OK(sim_field_write(sim_flow_view(&f, SIM_FLOW_VIEW_V), values));
    const double first = largest_of(&f, SIM_FLOW_VIEW_DERIVED + SIM_FLOW_VORTICITY);
    for (int k = 0; k < 4; k++) {
        struct sim_field_sums u, v;
        CHECK_OK(sim_flow_advance(&f, 0.2));
        CHECK_OK(sim_field_sums(
            sim_flow_view(&f, SIM_FLOW_VIEW_DERIVED + SIM_FLOW_CENTRE_U), &u));
        CHECK_OK(sim_field_sums(
            sim_flow_view(&f, SIM_FLOW_VIEW_DERIVED + SIM_FLOW_CENTRE_V), &v));
        CHECK(u.squares + v.squares < energy);
        energy = u.squares + v.squares;
        CHECK(largest_of(&f, SIM_FLOW_VIEW_DERIVED + SIM_FLOW_VORTICITY) < 1.02 * first);
    }
    free(values);
    sim_flow_free(&f);
}

int main(int argc, char **argv)
{
    struct sim_device *devices[DEVICES_MAX];
    const int count = open_devices(devices);
    here = argc > 1 ? argv[1] : "tests/reference";
    for (int k = 0; k < count; k++) {
        orders(devices[k]);
        schaefer_turek(devices[k]);
        shear_layers(devices[k], 30, 4e-4, 64);
        cavity(devices[k], is_small() ? 32 : 64, 0, 12, is_small() ? 1e-2 : 3e-3);
        if (!is_small()) {
            shear_layers(devices[k], 80, 4e-4, 96);
            cavity(devices[k], 80, 1, 24, 1e-2);
        }
        sim_device_close(devices[k]);
    }
    return check_report();
}
