/* flow.c - the flow's arrays and tables, obstacles and forces, and stepping. Sides are
 * set in flow_sides.c, obstacles become grid tables in flow_solid.c, the pressure's grids
 * are made in flow_levels.c and its solver is chosen in flow_transform.c, what is asked
 * for is answered in flow_query.c; loops over cells are in kernels/flow_*. */
#include "flow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIDE_MAX ((int64_t)1 << 20)

int64_t sim_flow_side_length(const struct sim_flow *f, int side)
{
    return side < 2 ? f->desc.ny : f->desc.nx;
}

int64_t sim_flow_side_start(const struct sim_flow *f, int side)
{
    const int64_t nx = f->desc.nx, ny = f->desc.ny;
    return side == SIM_FLOW_WEST    ? 0
           : side == SIM_FLOW_EAST  ? ny
           : side == SIM_FLOW_SOUTH ? 2 * ny
                                    : 2 * ny + nx;
}

/* --- arrays ------------------------------------------------------------------------- */

int64_t sim_flow_pitch(int64_t nx)
{
    const int64_t lead = SIM_FLOW_LEAD;
    return (lead + nx + 2 + lead - 1) / lead * lead;
}

static size_t first_element(int64_t nx)
{
    return (size_t)(sim_flow_pitch(nx) + SIM_FLOW_LEAD);
}

enum sim_status sim_flow_array(struct sim_flow *f, int64_t nx, int64_t ny,
                               const char *what, struct sim_buffer *buffer, void **data)
{
    const size_t cells = (size_t)sim_flow_pitch(nx) * (size_t)(ny + 3) + SIM_FLOW_LEAD;
    SIM_TRY(sim_buffer_new(f->system.device, cells * f->ops->real_bytes, what, buffer));
    *data = (char *)buffer->data + first_element(nx) * f->ops->real_bytes;
    return sim_buffer_zero(buffer);
}

enum sim_status sim_flow_upload(struct sim_flow *f, int64_t nx, int64_t ny,
                                const double *values, struct sim_buffer *buffer)
{
    const int64_t pitch = sim_flow_pitch(nx);
    char *copy = calloc(buffer->bytes, 1);
    if (!copy)
        return sim_fail(SIM_HOST_MEMORY, "flow: no memory for the grid's tables");
    for (int64_t j = -1; j <= ny + 1; j++)
        for (int64_t i = -1; i <= nx + 1; i++) {
            const double value = values[(j + 1) * (nx + 3) + i + 1];
            const int64_t at = (int64_t)first_element(nx) + j * pitch + i;
            if (f->desc.is_double)
                ((double *)(void *)copy)[at] = value;
            else
                ((float *)(void *)copy)[at] = (float)value;
        }
    enum sim_status status = sim_buffer_write(buffer, 0, copy, buffer->bytes);
    free(copy);
    return status;
}

static enum sim_status upload_flags(struct sim_flow *f, const uint8_t *flags)
{
    const int64_t nx = f->desc.nx, ny = f->desc.ny, pitch = f->system.pitch;
    uint8_t *copy = calloc(f->flags.bytes, 1);
    if (!copy)
        return sim_fail(SIM_HOST_MEMORY, "flow: no memory for the grid's tables");
    for (int64_t j = -1; j <= ny + 1; j++)
        memcpy(copy + (int64_t)first_element(nx) + j * pitch - 1,
               flags + sim_flow_at(f, -1, j), (size_t)(nx + 3));
    enum sim_status status = sim_buffer_write(&f->flags, 0, copy, f->flags.bytes);
    free(copy);
    return status;
}

/* --- making and freeing ------------------------------------------------------------- */

static enum sim_status check_desc(const struct sim_flow_desc *d)
{
    if (d->nx < 1 || d->ny < 1 || d->nx > SIDE_MAX || d->ny > SIDE_MAX)
        return sim_fail(SIM_BAD_ARGUMENT, "flow: a grid of %lld x %lld cells",
                        (long long)d->nx, (long long)d->ny);
    if (!(d->dx > 0) || !(d->dy > 0) || !isfinite(d->dx) || !isfinite(d->dy))
        return sim_fail(SIM_BAD_ARGUMENT, "flow: the cells' sides must be positive");
    if (!(d->nu >= 0) || !isfinite(d->nu))
        return sim_fail(SIM_BAD_ARGUMENT, "flow: the viscosity must be 0 or more");
    if (!(d->chi >= 0) || !(d->chi <= 1))
        return sim_fail(SIM_BAD_ARGUMENT, "flow: chi must be between 0 and 1");
    if (d->nu == 0 && d->chi == 0)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "flow: without viscosity, central differences (chi = 0) are "
                        "unstable at every step: set a viscosity, or chi > 0");
    if (!(d->cfl > 0) || !(d->cfl <= 1))
        return sim_fail(SIM_BAD_ARGUMENT, "flow: cfl must be above 0 and at most 1");
    if (!(d->tolerance > 0) || d->iterations < 1)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "flow: the tolerance and the number of cycles must be positive");
    return SIM_OK;
}

static enum sim_status make_arrays(struct sim_flow *f)
{
    struct sim_flow_system *s = &f->system;
    struct sim_poisson_system *p = &s->poisson;
    const int64_t nx = s->nx, ny = s->ny;
    void *flags;
    for (int k = 0; k < 2; k++) {
        SIM_TRY(sim_flow_array(f, nx, ny, "the velocity", &f->u[k], &s->u[k]));
        SIM_TRY(sim_flow_array(f, nx, ny, "the velocity", &f->v[k], &s->v[k]));
    }
    SIM_TRY(sim_flow_array(f, nx, ny, "the pressure", &f->p, &s->p));
    SIM_TRY(sim_flow_array(f, nx, ny, "the pressure's search direction", &f->direction,
                           &p->p));
    SIM_TRY(sim_flow_array(f, nx, ny, "the pressure's product", &f->product, &p->q));
    SIM_TRY(
        sim_flow_array(f, nx, ny, "the pressure's change", &f->solution, &p->solution));
    SIM_TRY(sim_buffer_new(s->device, f->p.bytes / f->ops->real_bytes, "the cells' flags",
                           &f->flags));
    flags = (char *)f->flags.data + first_element(nx);
    s->flags = flags;
    SIM_TRY(sim_buffer_new(s->device, (size_t)(ny + 3) * 3 * sizeof(double),
                           "partial sums", &f->rows));
    p->rows = f->rows.data;
    p->sum_count = SIM_POISSON_SUMS * ((nx + 31) / 32) * ((ny + 31) / 32);
    SIM_TRY(sim_buffer_new(s->device, (size_t)p->sum_count * sizeof(double),
                           "partial sums", &f->sums));
    p->sums = f->sums.data;
    SIM_TRY(
        sim_buffer_new(s->device, (size_t)(nx * ny), "the obstacles' mask", &f->mask));
    SIM_TRY(sim_buffer_zero(&f->mask));
    return sim_buffer_new(s->device, 8 * sizeof(double), "an answer", &f->answer);
}

static enum sim_status make_tables(struct sim_flow *f)
{
    struct sim_flow_system *s = &f->system;
    const size_t edges = 2 * (size_t)(s->nx + s->ny);
    const struct sim_flow_control control = {.time = f->desc.time, .target = HUGE_VAL};
    f->edge = calloc(edges, sizeof *f->edge);
    f->solid = calloc((size_t)s->nx * (size_t)s->ny, 1);
    if (!f->edge || !f->solid)
        return sim_fail(SIM_HOST_MEMORY, "flow: no memory for the sides");
    SIM_TRY(sim_buffer_new(s->device, edges * sizeof *f->edge, "the sides", &f->edges));
    SIM_TRY(sim_buffer_new(s->device, sizeof f->signal, "the signals", &f->signals));
    SIM_TRY(sim_buffer_new(s->device, sizeof control, "the time step", &f->control));
    s->edge = f->edges.data, s->signal = f->signals.data;
    s->control = f->control.data;
    s->poisson.control = &s->control->solve; /* an address on the device */
    return sim_buffer_write(&f->control, 0, &control, sizeof control);
}

enum sim_status sim_flow_new(struct sim_device *device, const struct sim_flow_desc *desc,
                             struct sim_flow *out)
{
    *out = (struct sim_flow){.desc = *desc, .signal_count = 1};
    SIM_TRY(check_desc(desc));
    out->ops = sim_flow_ops(device->kind, desc->is_double);
    if (!out->ops)
        return sim_fail(SIM_DEVICE, "flow: this build cannot compute on %s",
                        device->name);
    out->system =
        (struct sim_flow_system){.device = device,
                                 .nx = desc->nx,
                                 .ny = desc->ny,
                                 .pitch = sim_flow_pitch(desc->nx),
                                 .dx = desc->dx,
                                 .dy = desc->dy,
                                 .x0 = desc->x0,
                                 .y0 = desc->y0,
                                 .nu = desc->nu,
                                 .chi = desc->chi,
                                 .force = {desc->force[0], desc->force[1]},
                                 .heat = -1,
                                 .fixed_dt = desc->dt,
                                 .cfl = desc->cfl,
                                 .dt_max = desc->dt_max > 0 ? desc->dt_max : HUGE_VAL,
                                 .refines = true,
                                 .tolerance = desc->tolerance};
    out->system.poisson = (struct sim_poisson_system){.device = device,
                                                      .method = desc->method,
                                                      .omega = desc->omega,
                                                      .iterations = desc->iterations};
    enum sim_status status = make_arrays(out);
    if (status == SIM_OK)
        status = make_tables(out);
    if (status == SIM_OK)
        status = sim_flow_make_views(out);
    if (status != SIM_OK)
        sim_flow_free(out);
    return status;
}

static void free_scalars(struct sim_flow *f)
{
    for (int k = 0; k < SIM_FLOW_SCALARS; k++) {
        sim_field_free(&f->scalar_view[k]);
        sim_buffer_free(&f->scalar[k][0]);
        sim_buffer_free(&f->scalar[k][1]);
        sim_buffer_free(&f->scalar_edge[k]);
        sim_buffer_free(&f->hold[k]);
        sim_buffer_free(&f->held[k]);
        free(f->scalar_side[k]);
    }
}

void sim_flow_free(struct sim_flow *f)
{
    struct sim_buffer *const own[] = {&f->u[0],
                                      &f->u[1],
                                      &f->v[0],
                                      &f->v[1],
                                      &f->p,
                                      &f->flags,
                                      &f->cut,
                                      &f->edges,
                                      &f->signals,
                                      &f->control,
                                      &f->rows,
                                      &f->sums,
                                      &f->closed_cell,
                                      &f->direction,
                                      &f->closed_first,
                                      &f->closed_chunk,
                                      &f->closed_sum,
                                      &f->product,
                                      &f->mask,
                                      &f->answer,
                                      &f->solution,
                                      &f->force_field[0],
                                      &f->force_field[1],
                                      &f->markers,
                                      &f->emitters,
                                      &f->veil};
    free_scalars(f);
    sim_flow_free_transform(f);
    for (size_t k = 0; k < sizeof own / sizeof *own; k++)
        sim_buffer_free(own[k]);
    for (int l = 0; l < SIM_POISSON_LEVELS; l++)
        for (int k = 0; k < 6; k++)
            sim_buffer_free(&f->level[l][k]);
    for (int k = 0; k < SIM_FLOW_VIEWS; k++)
        sim_field_free(&f->views[k]);
    for (int k = 0; k < SIM_FLOW_COVERS; k++)
        sim_buffer_free(&f->cover[k].share);
    for (int k = 0; k < SIM_FLOW_DERIVED_COUNT; k++)
        sim_buffer_free(&f->derived[k]);
    for (int k = 0; k < f->obstacle_count; k++)
        sim_shape_release(f->obstacle[k].shape);
    free(f->edge);
    free(f->packed);
    free(f->solid);
    *f = (struct sim_flow){0};
}

/* --- sides -------------------------------------------------------------------------- */

static const char *const side_words[] = {"west", "east", "south", "north"};

/* Both sides of an axis are periodic all along, or neither is anywhere. */
static enum sim_status check_periodic(struct sim_flow *f, int axis, bool *periodic)
{
    int64_t found[2] = {0, 0};
    const int64_t n = sim_flow_side_length(f, 2 * axis);
    for (int end = 0; end < 2; end++)
        for (int64_t k = 0; k < n; k++)
            found[end] += f->edge[sim_flow_side_start(f, 2 * axis + end) + k].kind ==
                          SIM_FLOW_PERIODIC;
    *periodic = found[0] == n;
    if (found[0] != found[1] || (found[0] && found[0] != n))
        return sim_fail(SIM_BAD_ARGUMENT,
                        "flow: %s and %s must be periodic both and whole, or neither",
                        side_words[2 * axis], side_words[2 * axis + 1]);
    return SIM_OK;
}

static double signal_size(const struct sim_flow *f, int signal)
{
    const struct sim_flow_signal *w = &f->signal[signal];
    return w->kind == SIM_FLOW_SINE ? fabs(w->mean) + fabs(w->amplitude) : 1;
}

/* The fastest that a side moves or lets in, along x and y. */
static void find_wall_speed(struct sim_flow *f)
{
    f->system.wall_speed[0] = f->system.wall_speed[1] = 0;
    for (int side = 0; side < 4; side++)
        for (int64_t k = 0; k < sim_flow_side_length(f, side); k++) {
            const struct sim_flow_edge *e = &f->edge[sim_flow_side_start(f, side) + k];
            const double size = signal_size(f, e->signal);
            double *speed = f->system.wall_speed;
            if (e->kind != SIM_FLOW_NO_SLIP && e->kind != SIM_FLOW_INFLOW)
                continue;
            speed[side < 2 ? 0 : 1] =
                fmax(speed[side < 2 ? 0 : 1], size * fabs(e->normal));
            speed[side < 2 ? 1 : 0] =
                fmax(speed[side < 2 ? 1 : 0], size * fabs(e->tangent));
        }
}

/* --- obstacles and forces ----------------------------------------------------------- */

int sim_flow_find_obstacle(const struct sim_flow *f, const char *name)
{
    for (int k = 0; k < f->obstacle_count; k++)
        if (!strcmp(f->obstacle[k].name, name))
            return k;
    return -1;
}

enum sim_status sim_flow_add_obstacle(struct sim_flow *f, const char *name,
                                      struct sim_shape *shape)
{
    if (f->obstacle_count == SIM_FLOW_OBSTACLES)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "flow: more than %d obstacles; join them with sim.shape.union",
                        SIM_FLOW_OBSTACLES);
    if (strlen(name) >= SIM_FLOW_NAME)
        return sim_fail(SIM_BAD_ARGUMENT, "flow: the obstacle's name is longer than %d",
                        SIM_FLOW_NAME - 1);
    if (*name && sim_flow_find_obstacle(f, name) >= 0)
        return sim_fail(SIM_BAD_ARGUMENT, "flow: there is an obstacle '%s' already",
                        name);
    if (sim_shape_is_profile(shape))
        return sim_fail(SIM_BAD_ARGUMENT,
                        "flow: a profile has no edge, so it cannot be an "
                        "obstacle");
    struct sim_flow_obstacle *o = &f->obstacle[f->obstacle_count++];
    *o = (struct sim_flow_obstacle){.shape = sim_shape_keep(shape)};
    memcpy(o->name, name, strlen(name));
    f->packed_bytes = 0;
    f->ready = f->settled = false;
    return SIM_OK;
}

enum sim_status sim_flow_remove_obstacle(struct sim_flow *f, const char *name)
{
    const int k = *name ? sim_flow_find_obstacle(f, name) : -1;
    if (k < 0)
        return sim_fail(SIM_BAD_ARGUMENT, "flow: there is no obstacle '%s'", name);
    sim_shape_release(f->obstacle[k].shape);
    memmove(&f->obstacle[k], &f->obstacle[k + 1],
            (size_t)(--f->obstacle_count - k) * sizeof f->obstacle[0]);
    f->packed_bytes = 0;
    f->ready = f->settled = false;
    return SIM_OK;
}

enum sim_status sim_flow_set_force(struct sim_flow *f, double x, double y)
{
    if (!isfinite(x) || !isfinite(y))
        return sim_fail(SIM_BAD_ARGUMENT, "flow: the force is not finite");
    for (int axis = 0; axis < 2; axis++) {
        sim_buffer_free(&f->force_field[axis]);
        f->system.force_field[axis] = NULL;
    }
    f->system.force[0] = x, f->system.force[1] = y;
    return SIM_OK;
}

/* A copy of a field of the grid's size in an array of the grid's shape. */
static enum sim_status copy_field(struct sim_flow *f, struct sim_field *from,
                                  const char *what, struct sim_buffer *to, void **data)
{
    struct sim_field view = {0};
    const struct sim_field_desc of = {.nx = f->desc.nx,
                                      .ny = f->desc.ny,
                                      .dx = f->desc.dx,
                                      .dy = f->desc.dy,
                                      .is_double = f->desc.is_double};
    if (from->nx != f->desc.nx || from->ny != f->desc.ny)
        return sim_fail(SIM_BAD_ARGUMENT, "flow: %s is %lld x %lld, the grid %lld x %lld",
                        what, (long long)from->nx, (long long)from->ny,
                        (long long)f->desc.nx, (long long)f->desc.ny);
    if (!to->data)
        SIM_TRY(sim_flow_array(f, f->desc.nx, f->desc.ny, what, to, data));
    SIM_TRY(sim_field_view(f->system.device, &of, *data, &view));
    view.pitch = f->system.pitch;
    enum sim_status status = sim_field_copy(&view, from);
    sim_field_free(&view);
    return status;
}

/* Beyond the sides a force is that of the other end where they are periodic, and of the
 * cell beside elsewhere: faces there take the mean of both cells. */
static enum sim_status force_ghosts(struct sim_flow *f, struct sim_buffer *force)
{
    const int64_t nx = f->desc.nx, ny = f->desc.ny, pitch = f->system.pitch;
    const size_t size = f->ops->real_bytes;
    const int64_t wrap_x = f->system.periodic_x ? nx - 1 : 0;
    const int64_t wrap_y = f->system.periodic_y ? ny - 1 : 0;
    char *copy = malloc(force->bytes);
    if (!copy)
        return sim_fail(SIM_HOST_MEMORY, "flow: no memory for a force");
    enum sim_status status = sim_buffer_read(force, 0, copy, force->bytes);
    char *first = copy + first_element(nx) * size;
    for (int64_t j = 0; j < ny; j++) {
        char *row = first + (size_t)(j * pitch) * size;
        memcpy(row - size, row + (size_t)wrap_x * size, size);
        memcpy(row + (size_t)nx * size, row + (size_t)(nx - 1 - wrap_x) * size, size);
    }
    char *low = first, *high = first + (size_t)((ny - 1) * pitch) * size;
    memcpy(low - (size_t)pitch * size, wrap_y ? high : low, (size_t)nx * size);
    memcpy(high + (size_t)pitch * size, wrap_y ? low : high, (size_t)nx * size);
    if (status == SIM_OK)
        status = sim_buffer_write(force, 0, copy, force->bytes);
    free(copy);
    return status;
}

enum sim_status sim_flow_set_force_field(struct sim_flow *f, int axis,
                                         struct sim_field *field)
{
    void *data = (void *)f->system.force_field[axis];
    SIM_TRY(copy_field(f, field, "a force", &f->force_field[axis], &data));
    f->system.force_field[axis] = data;
    return f->ready ? force_ghosts(f, &f->force_field[axis]) : SIM_OK;
}

/* --- tables on the device ----------------------------------------------------------- */

static enum sim_status upload_mask(struct sim_flow *f)
{
    return sim_buffer_write(&f->mask, 0, f->solid, f->mask.bytes);
}

static enum sim_status build(struct sim_flow *f)
{
    const size_t n = (size_t)(f->desc.nx + 3) * (size_t)(f->desc.ny + 3);
    uint8_t *flags = calloc(n, 1);
    enum sim_status status =
        flags ? sim_flow_build_solid(f, flags)
              : sim_fail(SIM_HOST_MEMORY, "flow: no memory for the grid's tables");
    if (status == SIM_OK)
        status = sim_flow_build_regions(f, flags);
    if (status == SIM_OK)
        status = sim_flow_build_levels(f, flags);
    if (status == SIM_OK)
        status = sim_flow_choose_solver(f, flags);
    if (status == SIM_OK)
        status = upload_flags(f, flags);
    if (status == SIM_OK)
        status = sim_buffer_zero(&f->direction);
    if (status == SIM_OK)
        status = sim_buffer_zero(&f->solution);
    free(flags);
    return status;
}

/* The limits that hold whatever the flow does. */
static enum sim_status check_dt(const struct sim_flow *f)
{
    const struct sim_flow_desc *d = &f->desc;
    double most = d->nu;
    for (int k = 0; k < f->system.scalars; k++)
        most = fmax(most, f->system.diffusivity[k]);
    const double viscous = 0.5 / (most * (1 / (d->dx * d->dx) + 1 / (d->dy * d->dy)));
    const double *speed = f->system.wall_speed;
    const double courant = 1 / (speed[0] / d->dx + speed[1] / d->dy);
    if (d->dt > viscous)
        return sim_fail(
            SIM_BAD_ARGUMENT,
            "flow: dt = %g is beyond the viscous limit %.6g (1/(2 nu (1/dx^2 + "
            "1/dy^2)))",
            d->dt, viscous);
    if (d->dt > courant)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "flow: dt = %g is beyond Courant's limit %.6g for what the sides "
                        "move and let in (dt (|u|/dx + |v|/dy) <= 1)",
                        d->dt, courant);
    return SIM_OK;
}

enum sim_status sim_flow_prepare(struct sim_flow *f)
{
    if (!f->ready) {
        struct sim_flow_system *s = &f->system;
        SIM_TRY(check_periodic(f, 0, &s->periodic_x));
        SIM_TRY(check_periodic(f, 1, &s->periodic_y));
        s->poisson.periodic_x = s->periodic_x, s->poisson.periodic_y = s->periodic_y;
        find_wall_speed(f);
        for (int k = 0; k < f->obstacle_count; k++)
            f->obstacle[k].box = (struct sim_flow_box){0};
        sim_flow_uncover(f);
        if (f->desc.dt > 0)
            SIM_TRY(check_dt(f));
        SIM_TRY(build(f));
        SIM_TRY(upload_mask(f));
        SIM_TRY(sim_buffer_write(&f->edges, 0, f->edge, f->edges.bytes));
        SIM_TRY(sim_buffer_write(&f->signals, 0, f->signal, f->signals.bytes));
        SIM_TRY(sim_flow_upload_scalar_sides(f));
        for (int axis = 0; axis < 2; axis++)
            if (s->force_field[axis])
                SIM_TRY(force_ghosts(f, &f->force_field[axis]));
        f->ready = true;
    }
    if (!f->settled) {
        SIM_TRY(f->ops->settle(&f->system));
        f->settled = true;
        f->system.refines = true;
    }
    return SIM_OK;
}

/* --- stepping ----------------------------------------------------------------------- */

static enum sim_status set_target(struct sim_flow *f, double target)
{
    return sim_buffer_write(&f->control, offsetof(struct sim_flow_control, target),
                            &target, sizeof target);
}

enum sim_status sim_flow_step(struct sim_flow *f, int64_t count)
{
    SIM_TRY(sim_flow_prepare(f));
    SIM_TRY(set_target(f, HUGE_VAL));
    /* with no target every step is done: after these no step is fresh */
    const int64_t fresh =
        f->system.refines ? (count < SIM_FLOW_FRESH ? count : SIM_FLOW_FRESH) : 0;
    SIM_TRY(f->ops->step(&f->system, fresh));
    f->system.refines = f->system.refines && fresh < SIM_FLOW_FRESH;
    return f->ops->step(&f->system, count - fresh);
}

enum sim_status sim_flow_project(struct sim_flow *f)
{
    SIM_TRY(sim_flow_prepare(f));
    return f->ops->project(&f->system);
}

enum sim_status sim_flow_control(struct sim_flow *f, struct sim_flow_control *out)
{
    SIM_TRY(sim_buffer_read(&f->control, 0, out, sizeof *out));
    f->system.refines = out->fresh > 0;
    return SIM_OK;
}

/* How many steps to ask for at once: what the last step's length suggests and some more,
 * so that one question is enough; few while nothing is known. */
static int64_t guess(double left, double dt)
{
    const double steps = dt > 0 ? 1.1 * left / dt + 2 : 4;
    return steps < 4096 ? (int64_t)steps : 4096;
}

enum sim_status sim_flow_advance(struct sim_flow *f, double duration)
{
    struct sim_flow_control now;
    if (!(duration >= 0) || !isfinite(duration))
        return sim_fail(SIM_BAD_ARGUMENT, "flow: the time to advance must be 0 or more");
    SIM_TRY(sim_flow_prepare(f));
    SIM_TRY(sim_flow_control(f, &now));
    const double target = now.time + duration;
    SIM_TRY(set_target(f, target));
    while (now.time < target && !now.bad_step) {
        const int64_t count = guess(target - now.time, now.dt);
        const double before = now.time;
        SIM_TRY(f->ops->step(&f->system, count));
        SIM_TRY(sim_flow_control(f, &now));
        if (now.time == before && !now.bad_step)
            return sim_fail(SIM_BAD_ARGUMENT,
                            "flow: the time step has shrunk to %g, which no longer moves "
                            "the time %.9g",
                            now.dt, now.time);
    }
    return SIM_OK;
}
