/* diffusion_jump.c - many steps of a linear problem at once, at a cost that does not
 * depend on their number.
 *
 * With constant D, one rule on each side and nothing that varies in time, a step is
 *     u' = u + X u + u Y + b,
 * X and Y tridiagonal (or cyclic) along the axes. Their eigenvectors are cosines, sines
 * or both: between two walls of the kinds no-flux and fixed, at the face or at the node,
 * mode m is cos or sin of w_m (k - k_0), where the extremum or zero of the west wall lies
 * at k_0 = 0 (no-flux at the node), -1/2 (at the face), -1 (fixed at the node outside),
 * and the east wall fixes the wave numbers w_m; its eigenvalue is -4 r sin^2(w_m/2). In
 * these modes a step is a factor and the drive b, and n steps are a power and a sum
 * (diffusion_modal_math.h).
 *
 * The transforms are dense matrix products in double on the device: every size, every
 * pair of walls, and on both backends the same sums; 8 N^3 flops for a square of N. A
 * fast transform would need a library for each backend, and for large N only.
 *
 * Orthogonality: modes of the node's mirror are orthogonal with weight 1/2 at that node.
 *
 * Not here: Robin walls, parts of sides, fields as D or source, masks, reactions but
 * decay. */
#include "diffusion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI_LONG 3.141592653589793238462643383279502884L

/* One axis: its modes as two matrices, and their eigenvalues. */
struct axis {
    int64_t n;
    double *forward,
        *back;     /* host: mode m of u is sum_k forward[m][k] u[k]; back[k][m] */
    double *value; /* a_m; r times this where a step is meant */
};

enum end { MIRROR_NODE, MIRROR_FACE, ZERO_NODE, ZERO_FACE, OTHER };

static enum end end_of(const struct sim_wall *w)
{
    if (w->inner == 0 && w->second == 1)
        return MIRROR_NODE;
    if (w->inner == 1 && w->second == 0)
        return MIRROR_FACE;
    if (w->inner == 0 && w->second == 0)
        return ZERO_NODE;
    return w->inner == -1 && w->second == 0 ? ZERO_FACE : OTHER;
}

/* Places of extremum or zero beyond the first and last cell, in cells. */
static const long double beyond[] = {0, 0.5L, 1, 0.5L};

/* Value of mode m at cell k, and its wave number. */
static long double wall_mode(enum end low, enum end high, int64_t m, int64_t k, int64_t n,
                             long double *wave)
{
    const bool even = low == MIRROR_NODE || low == MIRROR_FACE;
    const bool even_high = high == MIRROR_NODE || high == MIRROR_FACE;
    const long double length = (long double)(n - 1) + beyond[low] + beyond[high];
    const long double count =
        even == even_high ? (long double)m + (even ? 0 : 1) : (long double)m + 0.5L;
    *wave = length > 0 ? PI_LONG * count / length : 0;
    const long double at = *wave * ((long double)k + beyond[low]);
    return even ? cosl(at) : sinl(at);
}

static long double periodic_mode(int64_t m, int64_t k, int64_t n, long double *wave)
{
    const int64_t turns = (m + 1) / 2; /* 0, 1, 1, 2, 2, ... : cosine first, then sine */
    *wave = 2 * PI_LONG * (long double)turns / (long double)n;
    const long double at = 2 * PI_LONG * (long double)(turns * k % n) / (long double)n;
    return m % 2 || m == 0 ? cosl(at) : sinl(at);
}

/* Weight of cell k in the scalar product. */
static double weight(const struct axis *a, enum end low, enum end high, int64_t k)
{
    if (a->n == 1)
        return 1;
    return (k == 0 && low == MIRROR_NODE) || (k == a->n - 1 && high == MIRROR_NODE) ? 0.5
                                                                                    : 1;
}

static void fill_axis(struct axis *a, bool periodic, enum end low, enum end high,
                      bool continuous)
{
    for (int64_t m = 0; m < a->n; m++) {
        long double norm = 0, wave = 0;
        for (int64_t k = 0; k < a->n; k++) {
            const long double v = periodic ? periodic_mode(m, k, a->n, &wave)
                                           : wall_mode(low, high, m, k, a->n, &wave);
            const long double w = periodic ? 1 : weight(a, low, high, k);
            a->back[k * a->n + m] = (double)v;
            a->forward[m * a->n + k] = (double)(w * v);
            norm += w * v * v;
        }
        for (int64_t k = 0; k < a->n; k++)
            a->forward[m * a->n + k] = (double)(a->forward[m * a->n + k] / norm);
        const long double s = 2 * sinl(wave / 2);
        a->value[m] = (double)(continuous ? wave * wave : s * s);
    }
}

/* A line of one cell has one mode; its wall rules act on the cell itself. */
static void fill_single(struct axis *a, bool periodic, const struct sim_wall *low,
                        const struct sim_wall *high)
{
    a->forward[0] = a->back[0] = 1;
    a->value[0] =
        periodic ? 0 : 2 - low->inner - low->second - high->inner - high->second;
}

static void free_axis(struct axis *a)
{
    free(a->forward);
    free(a->back);
    free(a->value);
}

static enum sim_status make_axis(const struct sim_diffusion *d, int s, int which,
                                 bool continuous, struct axis *a)
{
    const struct sim_wall *low = &d->system.wall[s][2 * which];
    const struct sim_wall *high = &d->system.wall[s][2 * which + 1];
    a->n = which == 0 ? d->desc.nx : d->desc.ny;
    const bool periodic = d->periodic[2 * which];
    const enum end from = end_of(low), to = end_of(high);
    const size_t n = (size_t)a->n;
    size_t bytes;
    SIM_TRY(sim_size_multiply(n, n * sizeof(double), "jump: the modes", &bytes));
    a->forward = malloc(bytes);
    a->back = malloc(bytes);
    a->value = malloc(n * sizeof(double));
    if (!a->forward || !a->back || !a->value)
        return sim_fail(SIM_HOST_MEMORY, "diffusion: no memory for the modes");
    if (a->n == 1)
        fill_single(a, periodic, low, high);
    else
        fill_axis(a, periodic, from, to, continuous);
    return SIM_OK;
}

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
        if (along > 1 && end_of(&d->system.wall[s][side]) == OTHER)
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

/* Device arrays of one jump, in one buffer. */
struct work {
    double *state, *half, *drive, *x_forward, *x_back, *y_forward, *y_back, *ax, *ay;
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
    const size_t doubles = 3 * nx * ny + 2 * (nx * nx + ny * ny) + nx + ny;
    if (!d->workspace.data || d->workspace.bytes < doubles * sizeof(double)) {
        sim_buffer_free(&d->workspace);
        SIM_TRY(sim_buffer_new(d->system.device, doubles * sizeof(double),
                               "the modes of diffusion", &d->workspace));
    }
    double *at = d->workspace.data;
    w->state = at, at += nx * ny;
    w->half = at, at += nx * ny;
    w->drive = at, at += nx * ny;
    w->x_forward = at, at += nx * nx;
    w->x_back = at, at += nx * nx;
    w->y_forward = at, at += ny * ny;
    w->y_back = at, at += ny * ny;
    w->ax = at, at += nx;
    w->ay = at;
    return SIM_OK;
}

static enum sim_status put(struct sim_diffusion *d, double *to, const double *from,
                           int64_t n)
{
    const size_t offset = (size_t)((char *)to - (char *)d->workspace.data);
    return sim_buffer_write(&d->workspace, offset, from, (size_t)n * sizeof *from);
}

/* Matrices and eigenvalues to the device. From the right the transform along x is
 * multiplied by transposes. */
static enum sim_status put_axes(struct sim_diffusion *d, int s, struct axis axes[2],
                                const struct work *w, bool continuous)
{
    const double rates[2] = {d->system.rate_x[s], d->system.rate_y[s]};
    const double decay =
        d->desc.reaction == SIM_DECAY ? d->desc.number[0] * d->desc.dt : 0;
    for (int k = 0; k < 2; k++) {
        SIM_TRY(make_axis(d, s, k, continuous, &axes[k]));
        for (int64_t m = 0; m < axes[k].n; m++)
            axes[k].value[m] = rates[k] * axes[k].value[m] + decay / 2;
    }
    transpose(axes[0].forward, axes[0].n);
    transpose(axes[0].back, axes[0].n);
    SIM_TRY(put(d, w->x_forward, axes[0].forward, axes[0].n * axes[0].n));
    SIM_TRY(put(d, w->x_back, axes[0].back, axes[0].n * axes[0].n));
    SIM_TRY(put(d, w->y_forward, axes[1].forward, axes[1].n * axes[1].n));
    SIM_TRY(put(d, w->y_back, axes[1].back, axes[1].n * axes[1].n));
    SIM_TRY(put(d, w->ax, axes[0].value, axes[0].n));
    return put(d, w->ay, axes[1].value, axes[1].n);
}

/* a -> y a x, by way of w->half. */
static enum sim_status transform(struct sim_diffusion *d, const struct work *w,
                                 const double *y, const double *x, double *a)
{
    const int64_t nx = d->desc.nx, ny = d->desc.ny;
    SIM_TRY(d->ops->product(d->system.device, ny, nx, nx, a, x, w->half));
    return d->ops->product(d->system.device, ny, nx, ny, y, w->half, a);
}

static enum sim_status jump_member(struct sim_diffusion *d, int s, int64_t member,
                                   const struct work *w, const struct sim_modal *modal)
{
    SIM_TRY(d->ops->widen(&d->system, s, member, w->state));
    SIM_TRY(transform(d, w, w->y_forward, w->x_forward, w->state));
    SIM_TRY(d->ops->modal(d->system.device, modal));
    SIM_TRY(transform(d, w, w->y_back, w->x_back, w->state));
    return d->ops->narrow(&d->system, s, member, w->state);
}

static enum sim_status jump_species(struct sim_diffusion *d, int s,
                                    enum sim_modal_scheme scheme, int64_t steps)
{
    struct axis axes[2] = {{0}, {0}};
    struct work w = {0};
    double *drive = NULL;
    enum sim_status status = make_work(d, &w);
    if (status == SIM_OK)
        status = put_axes(d, s, axes, &w, scheme == SIM_MODAL_EXACT);
    free_axis(&axes[0]);
    free_axis(&axes[1]);
    if (status == SIM_OK)
        status = make_drive(d, s, &drive);
    if (status == SIM_OK && drive) {
        status = put(d, w.drive, drive, d->desc.nx * d->desc.ny);
        if (status == SIM_OK)
            status = transform(d, &w, w.y_forward, w.x_forward, w.drive);
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
