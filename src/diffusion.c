/* diffusion.c - diffusion and reaction: the system's arrays, walls, sources and signals,
 * the limit of the explicit step, and stepping. Loops over cells are in
 * kernels/diffusion_*.
 *
 * Explicit Euler is stable, and keeps the maximum principle, while for the sharpest mode
 * 1 - 4 (r_x + r_y) - k dt >= -1; a wall g = inner u_0 + second u_1 + ... puts
 * r (3 - inner + |second|) in the place of 4 r along its axis (Gershgorin's circle). */
#include "diffusion.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIGNAL_ROWS 4096 /* steps whose signals travel at once */

static const char *const species_names[] = {"u", "v"};

/* --- making and freeing ------------------------------------------------------------- */

static enum sim_status check_desc(const struct sim_diffusion_desc *d)
{
    if (d->nx < 1 || d->ny < 1 || d->count < 0 || d->nx > INT64_C(1) << 30 ||
        d->ny > INT64_C(1) << 30 || d->count > 65535)
        return sim_fail(SIM_BAD_ARGUMENT, "diffusion: a grid of %lld x %lld x %lld",
                        (long long)d->nx, (long long)d->ny, (long long)d->count);
    if (!(d->dx > 0) || !(d->dy > 0) || !isfinite(d->dx) || !isfinite(d->dy))
        return sim_fail(SIM_BAD_ARGUMENT, "diffusion: the spacing must be positive");
    if (!(d->dt > 0) || !isfinite(d->dt))
        return sim_fail(SIM_BAD_ARGUMENT, "diffusion: dt must be positive");
    for (int s = 0; s < sim_reaction_species(d->reaction); s++)
        for (int axis = 0; axis < 2; axis++)
            if (!(d->diffusivity[s][axis] >= 0) || !isfinite(d->diffusivity[s][axis]))
                return sim_fail(SIM_BAD_ARGUMENT, "diffusion: D of %s must be >= 0",
                                species_names[s]);
    return SIM_OK;
}

/* A view brought up to date: where its data is now, and when. */
static enum sim_status refresh(struct sim_field *field)
{
    const struct sim_diffusion *d = field->solver;
    const int64_t index = field - d->fields;
    const int64_t s = index / d->system.count, member = index % d->system.count;
    field->data = (char *)d->system.now[s] + (size_t)(member * d->system.ny) *
                                                 (size_t)d->system.pitch *
                                                 d->ops->real_bytes;
    field->mask = d->system.mask;
    field->step = d->steps;
    field->time = sim_diffusion_time(d);
    return SIM_OK;
}

static enum sim_status make_fields(struct sim_diffusion *d)
{
    const struct sim_diffusion_desc *desc = &d->desc;
    const int64_t fields = d->system.species * d->system.count;
    d->fields = calloc((size_t)fields, sizeof *d->fields);
    if (!d->fields)
        return sim_fail(SIM_HOST_MEMORY, "diffusion: no memory on the host");
    for (int64_t k = 0; k < fields; k++) {
        const struct sim_field_desc of = {.nx = desc->nx,
                                          .ny = desc->ny,
                                          .is_double = desc->is_double,
                                          .x0 = desc->x0,
                                          .y0 = desc->y0,
                                          .dx = desc->dx,
                                          .dy = desc->dy,
                                          .ox = 0.5,
                                          .oy = 0.5,
                                          .name = species_names[k / d->system.count]};
        SIM_TRY(sim_field_view(d->system.device, &of, d->system.now[0], &d->fields[k]));
        d->fields[k].pitch = d->system.pitch;
        d->fields[k].solver = d;
        d->fields[k].prepare = refresh;
        SIM_TRY(refresh(&d->fields[k]));
    }
    return SIM_OK;
}

/* Refused as a whole where it cannot be had: the first half of a grid too large would
 * fit, and be filled. */
static enum sim_status check_memory(const struct sim_diffusion *d, size_t bytes)
{
    struct sim_device *device = d->system.device;
    const double gib = 1 << 30, wanted = 2.0 * d->system.species * (double)bytes;
    if (wanted < gib)
        return SIM_OK;
    const double left = (double)device->ops->free_memory(device);
    if (wanted <= left)
        return SIM_OK;
    return sim_fail(SIM_DEVICE_MEMORY,
                    "out of memory: a diffusion grid of %lld x %lld cells%s needs %.4g "
                    "GiB; %s has %.3g GiB free",
                    (long long)d->desc.nx, (long long)d->desc.ny,
                    d->system.count > 1 ? ", several of them," : "", wanted / gib,
                    device->name, left / gib);
}

static enum sim_status make_arrays(struct sim_diffusion *d)
{
    size_t cells, bytes;
    SIM_TRY(sim_size_multiply((size_t)d->system.pitch, (size_t)d->system.ny,
                              "diffusion: the grid", &cells));
    SIM_TRY(sim_size_multiply(cells, (size_t)d->system.count, "diffusion: the grids",
                              &cells));
    SIM_TRY(sim_size_multiply(cells, d->ops->real_bytes, "diffusion: the grid", &bytes));
    SIM_TRY(check_memory(d, bytes));
    for (int s = 0; s < d->system.species; s++)
        for (int k = 0; k < 2; k++) {
            SIM_TRY(sim_buffer_new(d->system.device, bytes, "a diffusion grid",
                                   &d->arrays[s][k]));
            SIM_TRY(sim_buffer_zero(&d->arrays[s][k]));
        }
    for (int s = 0; s < d->system.species; s++) {
        d->system.now[s] = d->arrays[s][0].data;
        d->system.next[s] = d->arrays[s][1].data;
    }
    return SIM_OK;
}

static enum sim_status build(struct sim_diffusion *d)
{
    SIM_TRY(make_arrays(d));
    SIM_TRY(sim_diffusion_make_walls(d));
    return make_fields(d);
}

enum sim_status sim_diffusion_new(struct sim_device *device,
                                  const struct sim_diffusion_desc *desc,
                                  struct sim_diffusion *out)
{
    *out = (struct sim_diffusion){.desc = *desc};
    SIM_TRY(check_desc(desc));
    out->ops = sim_diffusion_ops(device->kind, desc->is_double);
    if (!out->ops)
        return sim_fail(SIM_DEVICE, "diffusion: this build cannot compute on %s",
                        device->name);
    const int64_t align = SIM_DIFFUSION_ALIGN;
    out->system =
        (struct sim_diffusion_system){.device = device,
                                      .nx = desc->nx,
                                      .ny = desc->ny,
                                      .pitch = (desc->nx + align - 1) / align * align,
                                      .count = desc->count ? desc->count : 1,
                                      .species = sim_reaction_species(desc->reaction),
                                      .dt = desc->dt,
                                      .reaction = desc->reaction,
                                      .tuning = desc->tuning};
    memcpy(out->system.number, desc->number, sizeof desc->number);
    out->signal_count = 1; /* number 0 is always 1 */
    enum sim_status status = build(out);
    if (status != SIM_OK)
        sim_diffusion_free(out);
    return status;
}

void sim_diffusion_free(struct sim_diffusion *d)
{
    for (int64_t k = 0; d->fields && k < d->system.species * d->system.count; k++)
        sim_field_free(&d->fields[k]);
    free(d->fields);
    for (int s = 0; s < SIM_SPECIES_MAX; s++) {
        sim_buffer_free(&d->arrays[s][0]);
        sim_buffer_free(&d->arrays[s][1]);
        sim_buffer_free(&d->conductance[s]);
        sim_buffer_free(&d->edges[s]);
        sim_buffer_free(&d->edge_signals[s]);
        free(d->walls[s]);
        free(d->edge_D[s]);
        free(d->wall_signals[s]);
    }
    for (int k = 0; k < SIM_SOURCE_FIELDS; k++)
        sim_buffer_free(&d->source[k]);
    for (int k = 1; k < d->signal_count; k++)
        free((void *)d->signal[k].points);
    sim_buffer_free(&d->mask);
    sim_buffer_free(&d->signals);
    sim_buffer_free(&d->workspace);
    sim_buffer_free(&d->lines);
    *d = (struct sim_diffusion){0};
}

struct sim_field *sim_diffusion_field(struct sim_diffusion *d, int species,
                                      int64_t member)
{
    return &d->fields[species * d->system.count + member];
}

double sim_diffusion_time(const struct sim_diffusion *d)
{
    return d->desc.time + (double)d->steps * d->desc.dt;
}

/* --- fields beside the species ------------------------------------------------------ */

/* A copy of `from` in the solver's precision and pitch, in `to`. */
static enum sim_status copy_field(struct sim_diffusion *d, struct sim_field *from,
                                  const char *what, struct sim_buffer *to)
{
    const size_t bytes =
        (size_t)d->system.pitch * (size_t)d->system.ny * d->ops->real_bytes;
    struct sim_field view = {0};
    const struct sim_field_desc of = {.nx = d->desc.nx,
                                      .ny = d->desc.ny,
                                      .dx = d->desc.dx,
                                      .dy = d->desc.dy,
                                      .is_double = d->desc.is_double};
    if (from->nx != d->desc.nx || from->ny != d->desc.ny)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "diffusion: %s is %lld x %lld, the grid %lld x %lld", what,
                        (long long)from->nx, (long long)from->ny, (long long)d->desc.nx,
                        (long long)d->desc.ny);
    if (!to->data) {
        SIM_TRY(sim_buffer_new(d->system.device, bytes, what, to));
        SIM_TRY(sim_buffer_zero(to));
    }
    SIM_TRY(sim_field_view(d->system.device, &of, to->data, &view));
    view.pitch = d->system.pitch;
    enum sim_status status = sim_field_copy(&view, from);
    sim_field_free(&view);
    return status;
}

enum sim_status sim_diffusion_set_diffusivity(struct sim_diffusion *d, int species,
                                              struct sim_field *field)
{
    struct sim_field_sums sums;
    SIM_TRY(sim_field_sums(field, &sums));
    if (!(sums.min >= 0) || !isfinite(sums.max))
        return sim_fail(SIM_BAD_ARGUMENT, "diffusion: D must be >= 0 everywhere");
    SIM_TRY(copy_field(d, field, "the diffusivity", &d->conductance[species]));
    d->system.conductance[species] = d->conductance[species].data;
    d->diffusivity_max[species] = sums.max;
    d->ready = false;
    return sim_diffusion_keep_edges(d, species, field);
}

enum sim_status sim_diffusion_add_source(struct sim_diffusion *d, int species,
                                         double rate, struct sim_field *field, int signal)
{
    if (species < 0 || species >= d->system.species || signal < 0 ||
        signal >= d->signal_count)
        return sim_fail(SIM_BAD_ARGUMENT, "diffusion: a source of a species or a signal "
                                          "that is not there");
    if ((field ? d->system.source_fields : d->constant_count) == SIM_SOURCE_FIELDS)
        return sim_fail(SIM_BAD_ARGUMENT, "diffusion: at most %d sources of a kind",
                        SIM_SOURCE_FIELDS);
    d->ready = false;
    if (!field) {
        d->constant[d->constant_count++] =
            (struct sim_constant_source){rate, species, signal};
        return SIM_OK;
    }
    const int k = d->system.source_fields;
    SIM_TRY(copy_field(d, field, "a source", &d->source[k]));
    d->system.source[k] = (struct sim_source_field){d->source[k].data, species, signal};
    d->system.source_fields++;
    return SIM_OK;
}

enum sim_status sim_diffusion_set_domain(struct sim_diffusion *d,
                                         const struct sim_shape *shape)
{
    const size_t cells = (size_t)d->desc.nx * (size_t)d->desc.ny;
    const struct sim_lattice at = {d->desc.nx,
                                   d->desc.ny,
                                   d->desc.x0 + 0.5 * d->desc.dx,
                                   d->desc.y0 + 0.5 * d->desc.dy,
                                   d->desc.dx,
                                   d->desc.dy};
    uint8_t *mask = malloc(cells);
    if (!mask)
        return sim_fail(SIM_HOST_MEMORY, "diffusion: no memory for the domain's mask");
    sim_shape_mask(shape, &at, 0, at.ny, d->system.device->threads, mask);
    for (size_t c = 0; c < cells; c++)
        mask[c] = !mask[c];
    d->ready = false;
    enum sim_status status = SIM_OK;
    if (!d->mask.data)
        status = sim_buffer_new(d->system.device, cells, "the domain's mask", &d->mask);
    if (status == SIM_OK)
        status = sim_buffer_write(&d->mask, 0, mask, cells);
    d->system.mask = d->mask.data;
    free(mask);
    return status;
}

/* --- the limit of the explicit step ------------------------------------------------- */

static double fast_rate(const struct sim_diffusion *d)
{
    return d->desc.reaction == SIM_DECAY && d->desc.number[0] > 0 ? d->desc.number[0] : 0;
}

/* The largest of 4 and, over both walls of an axis, 3 - inner + |second|. */
static double axis_factor(const struct sim_diffusion *d, int s, int axis)
{
    double most = 4;
    for (int end = 0; end < 2 && !d->periodic[2 * axis]; end++) {
        const struct sim_wall *wall =
            d->walls[s] + sim_diffusion_side_start(d, 2 * axis + end);
        for (int64_t k = 0; k < sim_diffusion_side_length(d, 2 * axis + end); k++)
            most = fmax(most, 3 - wall[k].inner + fabs(wall[k].second));
    }
    return most;
}

double sim_diffusion_axis_rate(const struct sim_diffusion *d, int s, int axis)
{
    const double spacing = axis ? d->desc.dy : d->desc.dx;
    const double D =
        d->system.conductance[s] ? d->diffusivity_max[s] : d->desc.diffusivity[s][axis];
    return axis_factor(d, s, axis) * D / (spacing * spacing);
}

enum sim_status sim_diffusion_limit(struct sim_diffusion *d, double *dt)
{
    double most = fast_rate(d);
    for (int s = 0; s < d->system.species; s++)
        most = fmax(most, fast_rate(d) + sim_diffusion_axis_rate(d, s, 0) +
                              sim_diffusion_axis_rate(d, s, 1));
    *dt = most > 0 ? 2 / most : HUGE_VAL;
    return SIM_OK;
}

static enum sim_status check_limit(struct sim_diffusion *d)
{
    double limit;
    SIM_TRY(sim_diffusion_limit(d, &limit));
    if (d->desc.integrator != SIM_EULER || d->desc.dt <= limit * (1 + 1e-12))
        return SIM_OK;
    return sim_fail(
        SIM_BAD_ARGUMENT,
        "diffusion: dt = %g is beyond the explicit limit %.6g (4 D (dt/dx^2 + "
        "dt/dy^2) <= 2): make dt smaller, or integrator = \"adi\"",
        d->desc.dt, limit);
}

/* --- stepping ----------------------------------------------------------------------- */

static void set_rates(struct sim_diffusion *d)
{
    const double px = d->desc.dt / (d->desc.dx * d->desc.dx);
    const double py = d->desc.dt / (d->desc.dy * d->desc.dy);
    for (int s = 0; s < d->system.species; s++) {
        const bool field = d->system.conductance[s] != NULL;
        d->system.rate_x[s] = field ? px : d->desc.diffusivity[s][0] * px;
        d->system.rate_y[s] = field ? py : d->desc.diffusivity[s][1] * py;
    }
    d->system.has_source = d->constant_count > 0;
}

enum sim_status sim_diffusion_prepare(struct sim_diffusion *d)
{
    if (d->ready)
        return SIM_OK;
    SIM_TRY(check_limit(d));
    set_rates(d);
    SIM_TRY(sim_diffusion_prepare_walls(d));
    SIM_TRY(sim_diffusion_signals(d, 1));
    d->ready = true;
    return SIM_OK;
}

enum sim_status sim_diffusion_step(struct sim_diffusion *d, int64_t count)
{
    SIM_TRY(sim_diffusion_prepare(d));
    if (d->desc.integrator != SIM_EULER)
        return sim_diffusion_implicit(d, count);
    while (count > 0) {
        int64_t now = count;
        if (sim_diffusion_varies(d)) {
            now = count < SIGNAL_ROWS ? count : SIGNAL_ROWS;
            SIM_TRY(sim_diffusion_signals(d, now));
        }
        SIM_TRY(d->ops->advance(&d->system, now));
        d->steps += now;
        count -= now;
    }
    return SIM_OK;
}

enum sim_status sim_diffusion_advance(struct sim_diffusion *d, double duration)
{
    const double steps = ceil(duration / d->desc.dt - 1e-9);
    if (!(steps >= 0) || steps > 9e15)
        return sim_fail(SIM_BAD_ARGUMENT, "diffusion: advance by %g with dt = %g",
                        duration, d->desc.dt);
    return sim_diffusion_step(d, (int64_t)steps);
}

enum sim_status sim_diffusion_describe(struct sim_diffusion *d, int64_t count, char *text,
                                       size_t size)
{
    SIM_TRY(sim_diffusion_prepare(d));
    if (d->desc.integrator != SIM_EULER) {
        snprintf(text, size, "%s", sim_diffusion_implicit_name(d));
        return SIM_OK;
    }
    return d->ops->describe(&d->system, count, text, size);
}
