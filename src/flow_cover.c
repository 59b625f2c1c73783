/* flow_cover.c - the obstacles in a flow's pictures: the share of each pixel that they
 * cover, from the shapes themselves, so that a wall that cuts through cells is drawn
 * where it is. Kept for a few pictures' pixels until the obstacles change. With a wall
 * along cells there is no cover: the cells are what the flow meets.
 *
 * The veil holds, beside the solid cells, those with their middle in an obstacle: they
 * take part in the flow by an open face, but their values mean nothing to the eye. */
#include "flow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 6 /* a pixel's edge is made of 36 */

/* The share of pixel (i, j) that the shape covers, 0..255. A picture counts by its mean
 * over a cell of the grid, as it does for the flow: that has smooth edges. */
static uint8_t share_of(const struct sim_flow *f, const struct sim_shape *shape,
                        const struct sim_lattice *at, int64_t i, int64_t j)
{
    const double x = at->x + (double)i * at->dx, y = at->y + (double)j * at->dy;
    const double d = sim_shape_distance(shape, x, y);
    int inside = 0;
    if (fabs(d) > 0.5 * hypot(at->dx, at->dy))
        return d < 0 ? 255 : 0;
    for (int k = 0; k < SAMPLES * SAMPLES; k++)
        inside +=
            sim_shape_has_cell(shape, x + ((k % SAMPLES + 0.5) / SAMPLES - 0.5) * at->dx,
                               y + ((k / SAMPLES + 0.5) / SAMPLES - 0.5) * at->dy,
                               0.5 * f->desc.dx, 0.5 * f->desc.dy);
    return (uint8_t)(255 * inside / (SAMPLES * SAMPLES));
}

/* Pixels that the shape may touch: [first, last) of an axis. */
static void reach(bool bounded, double from, double to, double x, double dx, int64_t n,
                  int64_t *first, int64_t *last)
{
    const double most = (double)n;
    *first = bounded ? (int64_t)fmin(fmax(floor((from - x) / dx) - 1, 0), most) : 0;
    *last = bounded ? (int64_t)fmin(fmax(ceil((to - x) / dx) + 2, 0), most) : n;
}

/* Rows of the lattice go up, those of a picture down. */
static void add_shape(const struct sim_flow *f, const struct sim_shape *shape,
                      const struct sim_lattice *at, uint8_t *out)
{
    double box[4] = {0};
    int64_t i0, i1, j0, j1;
    const bool bounded = sim_shape_bounds(shape, box);
    reach(bounded, box[0], box[2], at->x, at->dx, at->nx, &i0, &i1);
    reach(bounded, box[1], box[3], at->y, at->dy, at->ny, &j0, &j1);
#pragma omp parallel for num_threads(f->system.device->threads) schedule(dynamic, 8)
    for (int64_t j = j0; j < j1; j++)
        for (int64_t i = i0; i < i1; i++) {
            uint8_t *share = &out[(at->ny - 1 - j) * at->nx + i];
            const uint8_t own = share_of(f, shape, at, i, j);
            *share = own > *share ? own : *share;
        }
}

static enum sim_status fill_cover(struct sim_flow *f, const struct sim_lattice *pixels,
                                  struct sim_flow_cover *cover)
{
    const size_t bytes = (size_t)pixels->nx * (size_t)pixels->ny;
    uint8_t *share = calloc(bytes, 1);
    if (!share)
        return sim_fail(SIM_HOST_MEMORY, "flow: no memory for a picture's obstacles");
    for (int k = 0; k < f->obstacle_count; k++)
        add_shape(f, f->obstacle[k].shape, pixels, share);
    if (cover->share.data && cover->share.bytes != bytes)
        sim_buffer_free(&cover->share);
    enum sim_status status = SIM_OK;
    if (!cover->share.data)
        status = sim_buffer_new(f->system.device, bytes, "a picture's obstacles",
                                &cover->share);
    if (status == SIM_OK)
        status = sim_buffer_write(&cover->share, 0, share, bytes);
    free(share);
    if (status == SIM_OK)
        cover->pixels = *pixels;
    return status;
}

static enum sim_status fill_veil(struct sim_flow *f)
{
    const struct sim_flow_desc *d = &f->desc;
    const size_t cells = (size_t)d->nx * (size_t)d->ny;
    const struct sim_lattice at = {d->nx, d->ny, d->x0 + 0.5 * d->dx, d->y0 + 0.5 * d->dy,
                                   d->dx, d->dy};
    uint8_t *veil = malloc(2 * cells);
    if (!veil)
        return sim_fail(SIM_HOST_MEMORY, "flow: no memory for a picture's obstacles");
    uint8_t *one = veil + cells;
    memcpy(veil, f->solid, cells);
    for (int k = 0; k < f->obstacle_count; k++) {
        sim_shape_mask(f->obstacle[k].shape, &at, 0, d->ny, f->system.device->threads,
                       one);
        for (size_t c = 0; c < cells; c++)
            veil[c] |= one[c];
    }
    enum sim_status status = SIM_OK;
    if (!f->veil.data)
        status = sim_buffer_new(f->system.device, cells, "the obstacles' veil", &f->veil);
    if (status == SIM_OK)
        status = sim_buffer_write(&f->veil, 0, veil, cells);
    free(veil);
    f->veiled = status == SIM_OK;
    return status;
}

/* The one of these pixels, else the one that was not asked for longest. */
static struct sim_flow_cover *find_cover(struct sim_flow *f,
                                         const struct sim_lattice *pixels)
{
    struct sim_flow_cover *oldest = &f->cover[0];
    for (int k = 0; k < SIM_FLOW_COVERS; k++) {
        struct sim_flow_cover *cover = &f->cover[k];
        if (!memcmp(&cover->pixels, pixels, sizeof *pixels))
            return cover;
        if (cover->asked < oldest->asked)
            oldest = cover;
    }
    oldest->pixels.nx = 0;
    return oldest;
}

void sim_flow_uncover(struct sim_flow *f)
{
    for (int k = 0; k < SIM_FLOW_COVERS; k++)
        f->cover[k].pixels.nx = 0;
    f->veiled = false;
}

enum sim_status sim_flow_cover(struct sim_field *field, const struct sim_lattice *pixels,
                               const uint8_t **share)
{
    struct sim_flow *f = field->solver;
    if (!f->obstacle_count || f->desc.wall != SIM_FLOW_CUT_CELLS)
        return SIM_OK;
    struct sim_flow_cover *cover = find_cover(f, pixels);
    cover->asked = ++f->covers_asked;
    if (!cover->pixels.nx)
        SIM_TRY(fill_cover(f, pixels, cover));
    if (!f->veiled)
        SIM_TRY(fill_veil(f));
    if (field->mask)
        field->veil = f->veil.data;
    *share = cover->share.data;
    return SIM_OK;
}
