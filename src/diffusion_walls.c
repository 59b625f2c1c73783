/* diffusion_walls.c - what holds on the sides of a system: kinds of walls as rows of
 * numbers, kept on the host for every cell along each side and brought to the device; and
 * signals, by which walls and sources vary in time. Kinds and their rules: diffusion.h.
 */
#include "diffusion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t wall_cells(const struct sim_diffusion *d)
{
    return 2 * (d->desc.nx + d->desc.ny);
}

enum sim_status sim_diffusion_make_walls(struct sim_diffusion *d)
{
    const size_t cells = (size_t)wall_cells(d);
    for (int s = 0; s < d->system.species; s++) {
        d->walls[s] = calloc(cells, sizeof *d->walls[s]);
        d->wall_signals[s] = calloc(cells, 1);
        if (!d->walls[s] || !d->wall_signals[s])
            return sim_fail(SIM_HOST_MEMORY, "diffusion: no memory on the host");
        for (size_t k = 0; k < cells; k++)
            d->walls[s][k].inner = 1; /* no flux, at the face */
    }
    return SIM_OK;
}

/* D of the outermost cells, in the order of walls. */
enum sim_status sim_diffusion_keep_edges(struct sim_diffusion *d, int s,
                                         struct sim_field *field)
{
    const int64_t nx = d->desc.nx, ny = d->desc.ny;
    double *all = malloc((size_t)nx * (size_t)ny * sizeof *all);
    double *edge = malloc((size_t)wall_cells(d) * sizeof *edge);
    enum sim_status status = all && edge
                                 ? sim_field_read(field, all)
                                 : sim_fail(SIM_HOST_MEMORY, "diffusion: no memory "
                                                             "for the diffusivity");
    for (int64_t j = 0; status == SIM_OK && j < ny; j++)
        edge[j] = all[j * nx], edge[ny + j] = all[j * nx + nx - 1];
    for (int64_t i = 0; status == SIM_OK && i < nx; i++)
        edge[2 * ny + i] = all[i], edge[2 * ny + nx + i] = all[(ny - 1) * nx + i];
    free(all);
    free(d->edge_D[s]);
    d->edge_D[s] = edge;
    return status;
}

/* --- rules -------------------------------------------------------------------------- */

int64_t sim_diffusion_side_length(const struct sim_diffusion *d, int side)
{
    return side == SIM_WEST || side == SIM_EAST ? d->desc.ny : d->desc.nx;
}

int64_t sim_diffusion_side_start(const struct sim_diffusion *d, int side)
{
    const int64_t starts[] = {0, d->desc.ny, 2 * d->desc.ny, 2 * d->desc.ny + d->desc.nx};
    return starts[side];
}

/* The numbers of a wall, from its kind; d is the spacing, D the diffusivity at the cell.
 */
static struct sim_wall wall_numbers(const struct sim_wall_desc *w, double spacing,
                                    double D, double value)
{
    const double conductance = D / spacing;
    struct sim_wall out = {0, 0, 0, 0};
    double level = 0;
    switch (w->kind) {
    case SIM_FIXED:
        out.inner = w->at_node ? 0 : -1;
        level = w->at_node ? value : 2 * value;
        break;
    case SIM_FLUX:
        *(w->at_node ? &out.second : &out.inner) = 1;
        level = (w->at_node ? 2 : 1) * value / conductance;
        break;
    case SIM_ROBIN:
        out.second = w->at_node;
        out.inner = w->at_node ? -2 * w->h / conductance
                               : (conductance - w->h / 2) / (conductance + w->h / 2);
        level = w->at_node ? 2 * w->h / conductance * value
                           : w->h * value / (conductance + w->h / 2);
        break;
    default:
        *(w->at_node ? &out.second : &out.inner) = 1;
        break;
    }
    *(w->signal ? &out.driven : &out.base) = level;
    return out;
}

/* D at cell k of a side, across it. */
static double wall_D(const struct sim_diffusion *d, int s, int side, int64_t k)
{
    if (d->edge_D[s])
        return d->edge_D[s][sim_diffusion_side_start(d, side) + k];
    return d->desc.diffusivity[s][side >= SIM_SOUTH];
}

static enum sim_status check_wall(const struct sim_diffusion *d,
                                  const struct sim_wall_desc *w)
{
    const bool needs_D = w->kind == SIM_FLUX || w->kind == SIM_ROBIN;
    if (w->species >= d->system.species || w->signal < 0 || w->signal >= d->signal_count)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "diffusion: a wall of a species or a signal that "
                        "is not there");
    if (w->kind == SIM_PERIODIC && (w->part || w->species >= 0))
        return sim_fail(SIM_BAD_ARGUMENT,
                        "diffusion: a side is periodic as a whole, for all "
                        "species");
    if (!isfinite(w->value) || !isfinite(w->h) || w->h < 0)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "diffusion: a wall's numbers must be finite, and h "
                        ">= 0");
    for (int s = 0; s < d->system.species && needs_D; s++)
        for (int64_t k = 0; k < sim_diffusion_side_length(d, w->side); k++)
            if ((w->species < 0 || w->species == s) && !(wall_D(d, s, w->side, k) > 0))
                return sim_fail(SIM_BAD_ARGUMENT,
                                "diffusion: a wall with a given flux needs "
                                "a D that is not 0");
    return SIM_OK;
}

enum sim_status sim_diffusion_set_wall(struct sim_diffusion *d,
                                       const struct sim_wall_desc *w)
{
    SIM_TRY(check_wall(d, w));
    const bool along_y = w->side == SIM_WEST || w->side == SIM_EAST;
    const double spacing = along_y ? d->desc.dx : d->desc.dy;
    const double step = along_y ? d->desc.dy : d->desc.dx;
    const double origin = along_y ? d->desc.y0 : d->desc.x0;
    d->periodic[w->side] = w->kind == SIM_PERIODIC;
    d->ready = false;
    for (int s = 0; s < d->system.species; s++) {
        if (w->species >= 0 && w->species != s)
            continue;
        for (int64_t k = 0; k < sim_diffusion_side_length(d, w->side); k++) {
            const double at = origin + ((double)k + 0.5) * step;
            const int64_t cell = sim_diffusion_side_start(d, w->side) + k;
            if (w->part && !(at >= w->from && at < w->to))
                continue;
            d->walls[s][cell] = wall_numbers(w, spacing, wall_D(d, s, w->side, k),
                                             w->values ? w->values[k] : w->value);
            d->wall_signals[s][cell] = (uint8_t)w->signal;
        }
    }
    return SIM_OK;
}

static bool side_is_uniform(const struct sim_diffusion *d, int s, int side)
{
    const struct sim_wall *wall = d->walls[s] + sim_diffusion_side_start(d, side);
    const uint8_t *signal = d->wall_signals[s] + sim_diffusion_side_start(d, side);
    for (int64_t k = 1; k < sim_diffusion_side_length(d, side); k++)
        if (memcmp(&wall[k], &wall[0], sizeof *wall) != 0 || signal[k] != signal[0])
            return false;
    return true;
}

/* Host tables to the device, in the ops' precision. */
static enum sim_status upload_walls(struct sim_diffusion *d, int s)
{
    const size_t cells = (size_t)wall_cells(d), size = d->ops->real_bytes;
    char *packed = malloc(cells * 4 * size);
    if (!packed)
        return sim_fail(SIM_HOST_MEMORY, "diffusion: no memory for the walls");
    for (size_t k = 0; k < cells; k++) {
        const double of[4] = {d->walls[s][k].inner, d->walls[s][k].second,
                              d->walls[s][k].base, d->walls[s][k].driven};
        for (size_t n = 0; n < 4; n++) {
            if (d->desc.is_double)
                ((double *)(void *)packed)[4 * k + n] = of[n];
            else
                ((float *)(void *)packed)[4 * k + n] = (float)of[n];
        }
    }
    enum sim_status status = SIM_OK;
    if (!d->edges[s].data) {
        status =
            sim_buffer_new(d->system.device, cells * 4 * size, "walls", &d->edges[s]);
        if (status == SIM_OK)
            status =
                sim_buffer_new(d->system.device, cells, "walls", &d->edge_signals[s]);
    }
    if (status == SIM_OK)
        status = sim_buffer_write(&d->edges[s], 0, packed, cells * 4 * size);
    if (status == SIM_OK)
        status = sim_buffer_write(&d->edge_signals[s], 0, d->wall_signals[s], cells);
    free(packed);
    return status;
}

enum sim_status sim_diffusion_prepare_walls(struct sim_diffusion *d)
{
    if (d->periodic[SIM_WEST] != d->periodic[SIM_EAST] ||
        d->periodic[SIM_SOUTH] != d->periodic[SIM_NORTH])
        return sim_fail(SIM_BAD_ARGUMENT,
                        "diffusion: opposite sides must both be periodic, or neither");
    d->system.periodic_x = d->periodic[SIM_WEST];
    d->system.periodic_y = d->periodic[SIM_SOUTH];
    for (int s = 0; s < d->system.species; s++) {
        for (int side = 0; side < SIM_SIDES; side++) {
            d->system.uniform[s][side] = side_is_uniform(d, s, side);
            d->system.wall[s][side] = d->walls[s][sim_diffusion_side_start(d, side)];
            d->system.wall_signal[s][side] =
                d->wall_signals[s][sim_diffusion_side_start(d, side)];
        }
        SIM_TRY(upload_walls(d, s));
        d->system.edge[s] = d->edges[s].data;
        d->system.edge_signal[s] = d->edge_signals[s].data;
    }
    return SIM_OK;
}

/* --- signals ------------------------------------------------------------------------ */

static double table_at(const struct sim_signal *signal, double t)
{
    const double(*p)[2] = signal->points;
    const int64_t last = signal->point_count - 1;
    if (t <= p[0][0])
        return p[0][1];
    for (int64_t k = 0; k < last; k++)
        if (t < p[k + 1][0])
            return p[k][1] +
                   (p[k + 1][1] - p[k][1]) * (t - p[k][0]) / (p[k + 1][0] - p[k][0]);
    return p[last][1];
}

double sim_signal_at(const struct sim_signal *signal, double t)
{
    double turn = signal->period > 0 ? t / signal->period + signal->phase : 0;
    switch (signal->kind) {
    case SIM_SIGNAL_SINE:
        turn -= floor(turn);
        return signal->mean + signal->amplitude * sin(2 * 3.14159265358979323846 * turn);
    case SIM_SIGNAL_PULSE:
        return t >= signal->from && t < signal->to && turn - floor(turn) < signal->duty;
    case SIM_SIGNAL_TABLE:
        return table_at(signal, t);
    default:
        return 1;
    }
}

enum sim_status sim_diffusion_add_signal(struct sim_diffusion *d,
                                         const struct sim_signal *signal, int *index)
{
    if (d->signal_count == SIM_SIGNAL_USER)
        return sim_fail(SIM_BAD_ARGUMENT, "diffusion: at most %d signals",
                        SIM_SIGNAL_USER - 1);
    struct sim_signal *to = &d->signal[d->signal_count];
    *to = *signal;
    if (signal->kind == SIM_SIGNAL_TABLE) {
        const size_t bytes = (size_t)signal->point_count * sizeof *signal->points;
        if (signal->point_count < 1)
            return sim_fail(SIM_BAD_ARGUMENT,
                            "diffusion: a table of times needs a point");
        for (int64_t k = 1; k < signal->point_count; k++)
            if (!(signal->points[k][0] > signal->points[k - 1][0]))
                return sim_fail(SIM_BAD_ARGUMENT, "diffusion: the times of a table must "
                                                  "ascend");
        double(*points)[2] = malloc(bytes);
        if (!points)
            return sim_fail(SIM_HOST_MEMORY, "diffusion: no memory for a table of times");
        memcpy(points, signal->points, bytes);
        to->points = (const double(*)[2])points;
    }
    *index = d->signal_count++;
    d->ready = false;
    return SIM_OK;
}

bool sim_diffusion_varies(const struct sim_diffusion *d)
{
    return d->signal_count > 1;
}

/* The signals at time t, then dt times the constant sources. */
void sim_diffusion_row(const struct sim_diffusion *d, double t, double row[SIM_SIGNALS])
{
    for (int k = 0; k < SIM_SIGNALS; k++)
        row[k] = k < SIM_SIGNAL_USER && k < d->signal_count
                     ? sim_signal_at(&d->signal[k], t)
                     : 0;
    row[SIM_SIGNAL_SOURCE] = row[SIM_SIGNAL_SOURCE + 1] = 0;
    for (int k = 0; k < d->constant_count; k++)
        row[SIM_SIGNAL_SOURCE + d->constant[k].species] +=
            d->desc.dt * d->constant[k].value * row[d->constant[k].signal];
}

enum sim_status sim_diffusion_put_rows(struct sim_diffusion *d,
                                       double (*row)[SIM_SIGNALS], int64_t rows)
{
    const size_t bytes = (size_t)rows * SIM_SIGNALS * d->ops->real_bytes;
    double *value = row[0];
    if (!d->desc.is_double) /* narrowed in place: never ahead of what is still to read */
        for (int64_t k = 0; k < rows * SIM_SIGNALS; k++) {
            const float narrow = (float)value[k];
            memcpy((char *)value + (size_t)k * sizeof narrow, &narrow, sizeof narrow);
        }
    if (!d->signals.data || d->signals.bytes < bytes) {
        sim_buffer_free(&d->signals);
        SIM_TRY(sim_buffer_new(d->system.device, bytes, "signals", &d->signals));
    }
    d->system.signal = d->signals.data;
    d->system.signal_stride = rows > 1 ? SIM_SIGNALS : 0;
    return sim_buffer_write(&d->signals, 0, value, bytes);
}

enum sim_status sim_diffusion_signals(struct sim_diffusion *d, int64_t rows)
{
    double(*row)[SIM_SIGNALS] = malloc((size_t)rows * sizeof *row);
    if (!row)
        return sim_fail(SIM_HOST_MEMORY, "diffusion: no memory for signals");
    for (int64_t k = 0; k < rows; k++)
        sim_diffusion_row(d, d->desc.time + (double)(d->steps + k) * d->desc.dt, row[k]);
    enum sim_status status = sim_diffusion_put_rows(d, row, rows);
    free(row);
    return status;
}
