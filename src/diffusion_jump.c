/* diffusion_jump.c - many steps of a linear problem at once, at a cost that does not
 * depend on their number.
 *
 * With constant D, one rule on each side and nothing that varies in time, a step is
 *     u' = u + X u + u Y + b,
 * X and Y tridiagonal (or cyclic) along the axes. Their eigenvectors are cosines and
 * sines (diffusion_modes.c); in these modes a step is a factor and the drive b, and n
 * steps are a power and a sum (diffusion_modal_math.h). All in double.
 *
 * To the modes and back: on the CPU by fast Fourier transforms (kernels/modal_cpu.c), N^2
 * log N for a square of N; on the GPU by dense matrix products, 8 N^3 flops. The two
 * agree to rounding.
 *
 * Not here: Robin walls, parts of sides, fields as D or source, masks, reactions but
 * decay. */
#include "diffusion_modes.h"

#include <stdlib.h>

static const char *no_modes_of(const struct sim_diffusion *d, int s)
{
    if (d->system.conductance[s])
        return "D is a field";
    for (int side = 0; side < SIM_SIDES; side++) {
        if (d->periodic[side])
            continue;
        if (!d->system.uniform[s][side])
            return "a side has more than one rule";
        const int64_t along = side < SIM_SOUTH ? d->desc.nx : d->desc.ny;
        if (along > 1 && !sim_modes_known(&d->system.wall[s][side]))
            return "of the walls only no-flux, fixed, flux and periodic ones have modes "
                   "in closed form, Robin walls do not";
    }
    return NULL;
}

const char *sim_diffusion_no_modes(const struct sim_diffusion *d)
{
    if (d->system.mask)
        return "there is a domain";
    if (d->system.source_fields)
        return "a source is a field";
    if (d->desc.reaction != SIM_REACTION_NONE && d->desc.reaction != SIM_DECAY)
        return "there is a reaction other than decay";
    if (sim_diffusion_varies(d))
        return "a wall or a source varies in time";
    const char *why = NULL;
    for (int s = 0; s < d->system.species && !why; s++)
        why = no_modes_of(d, s);
    return why;
}

/* What a step adds to each cell: constant sources and the walls' own values. */
static enum sim_status make_drive(const struct sim_diffusion *d, int s, double **out)
{
    const int64_t nx = d->desc.nx, ny = d->desc.ny;
    const struct sim_wall *w = d->system.wall[s];
    double source = 0;
    bool any = false;
    for (int k = 0; k < d->constant_count; k++)
        source += d->constant[k].species == s ? d->desc.dt * d->constant[k].value : 0;
    for (int side = 0; side < SIM_SIDES; side++)
        any = any || (!d->periodic[side] && w[side].base != 0);
    *out = NULL;
    if (!any && source == 0)
        return SIM_OK;
    double *b = malloc((size_t)nx * (size_t)ny * sizeof *b);
    if (!b)
        return sim_fail(SIM_HOST_MEMORY, "diffusion: no memory for the sources");
    for (int64_t c = 0; c < nx * ny; c++) {
        const int64_t i = c % nx, j = c / nx;
        b[c] = source;
        if (!d->periodic[SIM_WEST])
            b[c] += d->system.rate_x[s] * ((i == 0 ? w[SIM_WEST].base : 0) +
                                           (i == nx - 1 ? w[SIM_EAST].base : 0));
        if (!d->periodic[SIM_SOUTH])
            b[c] += d->system.rate_y[s] * ((j == 0 ? w[SIM_SOUTH].base : 0) +
                                           (j == ny - 1 ? w[SIM_NORTH].base : 0));
    }
    *out = b;
    return SIM_OK;
}

/* One jump: its modes, and its device arrays in one buffer. */
struct work {
    struct sim_modes modes[2];
    double *state, *drive, *ax, *ay;
    double *half, *x_forward, *x_back, *y_forward, *y_back; /* of dense transforms */
};

static void transpose(double *a, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < j; i++) {
            const double held = a[j * n + i];
            a[j * n + i] = a[i * n + j];
            a[i * n + j] = held;
        }
}

static enum sim_status make_work(struct sim_diffusion *d, struct work *w)
{
    const size_t nx = (size_t)d->desc.nx, ny = (size_t)d->desc.ny;
    const bool dense = !d->ops->transform;
    size_t doubles = 2 * nx * ny + nx + ny;
    if (dense)
        doubles += nx * ny + 2 * (nx * nx + ny * ny);
    if (!d->workspace.data || d->workspace.bytes < doubles * sizeof(double)) {
        sim_buffer_free(&d->workspace);
        SIM_TRY(sim_buffer_new(d->system.device, doubles * sizeof(double),
                               "the modes of diffusion", &d->workspace));
    }
    double *at = d->workspace.data;
    w->state = at, at += nx * ny;
    w->drive = at, at += nx * ny;
    w->ax = at, at += nx;
    w->ay = at, at += ny;
    if (!dense)
        return SIM_OK;
    w->half = at, at += nx * ny;
    w->x_forward = at, at += nx * nx;
    w->x_back = at, at += nx * nx;
    w->y_forward = at, at += ny * ny;
    w->y_back = at;
    return SIM_OK;
}

static enum sim_status put(struct sim_diffusion *d, double *to, const double *from,
                           int64_t n)
{
    const size_t offset = (size_t)((char *)to - (char *)d->workspace.data);
    return sim_buffer_write(&d->workspace, offset, from, (size_t)n * sizeof *from);
}

/* The matrices of an axis to the device. From the right, where the transform along x
 * stands, they are multiplied as transposes. */
static enum sim_status put_matrices(struct sim_diffusion *d,
                                    const struct sim_modes *modes, bool turned,
                                    double *forward, double *back)
{
    const int64_t n = modes->line.n;
    double *matrix = malloc((size_t)(n * n) * 2 * sizeof *matrix);
    if (!matrix)
        return sim_fail(SIM_HOST_MEMORY, "diffusion: no memory for the modes");
    enum sim_status status = sim_modes_matrices(modes, matrix, matrix + n * n);
    for (int k = 0; k < 2 && status == SIM_OK; k++) {
        if (turned)
            transpose(matrix + k * n * n, n);
        status = put(d, k ? back : forward, matrix + k * n * n, n * n);
    }
    free(matrix);
    return status;
}

static enum sim_status make_axes(struct sim_diffusion *d, int s, struct work *w,
                                 bool continuous)
{
    const double rates[2] = {d->system.rate_x[s], d->system.rate_y[s]};
    const int64_t n[2] = {d->desc.nx, d->desc.ny};
    const double decay =
        d->desc.reaction == SIM_DECAY ? d->desc.number[0] * d->desc.dt : 0;
    for (int k = 0; k < 2; k++) {
        SIM_TRY(sim_modes_make(n[k], d->periodic[2 * k], &d->system.wall[s][2 * k],
                               &d->system.wall[s][2 * k + 1], continuous, &w->modes[k]));
        for (int64_t m = 0; m < n[k]; m++)
            w->modes[k].value[m] = rates[k] * w->modes[k].value[m] + decay / 2;
    }
    SIM_TRY(put(d, w->ax, w->modes[0].value, n[0]));
    SIM_TRY(put(d, w->ay, w->modes[1].value, n[1]));
    if (d->ops->transform)
        return SIM_OK;
    SIM_TRY(put_matrices(d, &w->modes[0], true, w->x_forward, w->x_back));
    return put_matrices(d, &w->modes[1], false, w->y_forward, w->y_back);
}

/* An array to modes or back. Dense: a -> y a x, by way of w->half. */
static enum sim_status transform(struct sim_diffusion *d, const struct work *w, bool back,
                                 double *a)
{
    const int64_t nx = d->desc.nx, ny = d->desc.ny;
    if (d->ops->transform)
        return d->ops->transform(d->system.device, &w->modes[0].line, &w->modes[1].line,
                                 back, a);
    SIM_TRY(d->ops->product(d->system.device, ny, nx, nx, a,
                            back ? w->x_back : w->x_forward, w->half));
    return d->ops->product(d->system.device, ny, nx, ny, back ? w->y_back : w->y_forward,
                           w->half, a);
}

static enum sim_status jump_member(struct sim_diffusion *d, int s, int64_t member,
                                   const struct work *w, const struct sim_modal *modal)
{
    SIM_TRY(d->ops->widen(&d->system, s, member, w->state));
    SIM_TRY(transform(d, w, false, w->state));
    SIM_TRY(d->ops->modal(d->system.device, modal));
    SIM_TRY(transform(d, w, true, w->state));
    return d->ops->narrow(&d->system, s, member, w->state);
}

static enum sim_status jump_species(struct sim_diffusion *d, int s,
                                    enum sim_modal_scheme scheme, int64_t steps)
{
    struct work w = {0};
    double *drive = NULL;
    enum sim_status status = make_work(d, &w);
    if (status == SIM_OK)
        status = make_axes(d, s, &w, scheme == SIM_MODAL_EXACT);
    if (status == SIM_OK)
        status = make_drive(d, s, &drive);
    if (status == SIM_OK && drive) {
        status = put(d, w.drive, drive, d->desc.nx * d->desc.ny);
        if (status == SIM_OK)
            status = transform(d, &w, false, w.drive);
    }
    const struct sim_modal modal = {.scheme = scheme,
                                    .steps = steps,
                                    .nx = d->desc.nx,
                                    .ny = d->desc.ny,
                                    .ax = w.ax,
                                    .ay = w.ay,
                                    .state = w.state,
                                    .drive = drive ? w.drive : NULL};
    for (int64_t member = 0; member < d->system.count && status == SIM_OK; member++)
        status = jump_member(d, s, member, &w, &modal);
    free(drive);
    sim_modes_free(&w.modes[0]);
    sim_modes_free(&w.modes[1]);
    return status;
}

enum sim_status sim_diffusion_modes(struct sim_diffusion *d, enum sim_modal_scheme scheme,
                                    int64_t steps)
{
    SIM_TRY(sim_diffusion_prepare(d));
    const char *why = sim_diffusion_no_modes(d);
    if (why)
        return sim_fail(SIM_BAD_ARGUMENT, "diffusion: jump cannot do this: %s", why);
    for (int s = 0; s < d->system.species && steps > 0; s++)
        SIM_TRY(jump_species(d, s, scheme, steps));
    d->steps += steps;
    return SIM_OK;
}

enum sim_status sim_diffusion_jump(struct sim_diffusion *d, int64_t steps,
                                   bool continuous)
{
    return sim_diffusion_modes(d, continuous ? SIM_MODAL_EXACT : SIM_MODAL_EULER, steps);
}
