/* flow_solid.c - from shapes to the grid: which cells are solid, which faces are free,
 * how near a curved wall is.
 *
 * Staircase: a cell is solid when its centre is inside (an image: when its mean over the
 * cell reaches the threshold), a face is free between two fluid cells.
 * Cut cells: a face is free when its middle is outside, a cell is fluid where it has a
 * free face; velocities meet the wall at its true distance along the grid's lines
 * (kernels/flow_math.h, flow_cut_face). A face's flux is its middle's velocity times its
 * whole length: with u growing linearly from the wall that is nearer to the truth than
 * times its open share. */
#include "flow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BISECTIONS 24

/* Inside any of the obstacles? */
static bool inside(const struct sim_flow *f, double x, double y)
{
    for (int k = 0; k < f->obstacle_count; k++)
        if (sim_shape_inside(f->obstacle[k].shape, x, y))
            return true;
    return false;
}

/* Union of masks of a lattice; `out` zeroed before. */
static enum sim_status union_mask(const struct sim_flow *f, const struct sim_lattice *at,
                                  uint8_t *out)
{
    const size_t n = (size_t)at->nx * (size_t)at->ny;
    uint8_t *one = malloc(n);
    if (!one)
        return sim_fail(SIM_HOST_MEMORY, "flow: no memory for the obstacles");
    for (int k = 0; k < f->obstacle_count; k++) {
        sim_shape_mask(f->obstacle[k].shape, at, 0, at->ny, f->system.device->threads,
                       one);
        for (size_t c = 0; c < n; c++)
            out[c] |= one[c];
    }
    free(one);
    return SIM_OK;
}

static struct sim_lattice lattice(const struct sim_flow *f, double ox, double oy,
                                  int64_t mx, int64_t my)
{
    const struct sim_flow_desc *d = &f->desc;
    return (struct sim_lattice){d->nx + mx,         d->ny + my, d->x0 + ox * d->dx,
                                d->y0 + oy * d->dy, d->dx,      d->dy};
}

/* The solid cell around; beyond a side false, beyond a periodic one the other end's. */
static bool solid_at(const struct sim_flow *f, int64_t i, int64_t j)
{
    const int64_t nx = f->desc.nx, ny = f->desc.ny;
    if (f->system.periodic_x)
        i = (i + nx) % nx;
    if (f->system.periodic_y)
        j = (j + ny) % ny;
    return i >= 0 && i < nx && j >= 0 && j < ny && f->solid[j * nx + i];
}

/* Is the side's edge a way through whose face momentum decides? */
static bool free_side(const struct sim_flow *f, int side, int64_t k)
{
    const int kind = f->edge[sim_flow_side_start(f, side) + k].kind;
    return kind == SIM_FLOW_PERIODIC || kind == SIM_FLOW_PRESSURE;
}

static bool free_u(const struct sim_flow *f, int64_t i, int64_t j)
{
    const int64_t nx = f->desc.nx;
    if (i == 0 && !free_side(f, SIM_FLOW_WEST, j))
        return false;
    if (i == nx && !free_side(f, SIM_FLOW_EAST, j))
        return false;
    return !solid_at(f, i - 1, j) && !solid_at(f, i, j);
}

static bool free_v(const struct sim_flow *f, int64_t i, int64_t j)
{
    const int64_t ny = f->desc.ny;
    if (j == 0 && !free_side(f, SIM_FLOW_SOUTH, i))
        return false;
    if (j == ny && !free_side(f, SIM_FLOW_NORTH, i))
        return false;
    return !solid_at(f, i, j - 1) && !solid_at(f, i, j);
}

/* The face beside is inside an obstacle, so that its value cannot serve as a wall's. */
static unsigned walls_of(const struct sim_flow *f, int64_t i, int64_t j)
{
    const int64_t nx = f->desc.nx, ny = f->desc.ny;
    unsigned flags = 0;
    const bool py = f->system.periodic_y, px = f->system.periodic_x;
    if ((py || j + 1 < ny) && solid_at(f, i - 1, j + 1) && solid_at(f, i, j + 1))
        flags |= SIM_FLOW_U_NORTH;
    if ((py || j > 0) && solid_at(f, i - 1, j - 1) && solid_at(f, i, j - 1))
        flags |= SIM_FLOW_U_SOUTH;
    if ((px || i + 1 < nx) && solid_at(f, i + 1, j - 1) && solid_at(f, i + 1, j))
        flags |= SIM_FLOW_V_EAST;
    if ((px || i > 0) && solid_at(f, i - 1, j - 1) && solid_at(f, i - 1, j))
        flags |= SIM_FLOW_V_WEST;
    return flags;
}

static void set_flags(const struct sim_flow *f, uint8_t *flags)
{
    const int64_t nx = f->desc.nx, ny = f->desc.ny;
    for (int64_t j = -1; j <= ny; j++)
        for (int64_t i = -1; i <= nx; i++) {
            const bool in_x = i >= 0 && i < nx, in_y = j >= 0 && j < ny;
            unsigned flag = 0;
            if ((in_x || f->system.periodic_x) && (in_y || f->system.periodic_y) &&
                !solid_at(f, i, j))
                flag |= SIM_FLOW_FLUID;
            if (i >= 0 && in_y && free_u(f, i, j))
                flag |= SIM_FLOW_U;
            if (j >= 0 && in_x && free_v(f, i, j))
                flag |= SIM_FLOW_V;
            flags[sim_flow_at(f, i, j)] = (uint8_t)(flag | walls_of(f, i, j));
        }
}

/* --- cut cells ---------------------------------------------------------------------- */

/* The share of the way from p, outside, to q, inside, that is outside. */
static double bisect(const struct sim_flow *f, const double p[2], const double q[2])
{
    double low = 0, high = 1;
    for (int k = 0; k < BISECTIONS; k++) {
        const double t = 0.5 * (low + high);
        if (inside(f, p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])))
            high = t;
        else
            low = t;
    }
    return low;
}

/* Faces whose middles are inside: bit 1 the west one, bit 2 the south one. */
static enum sim_status closed_faces(const struct sim_flow *f, uint8_t *closed)
{
    const struct sim_lattice west = lattice(f, 0, 0.5, 1, 0),
                             south = lattice(f, 0.5, 0, 0, 1);
    uint8_t *mask = calloc((size_t)(west.nx) * (size_t)(south.ny), 1);
    enum sim_status status =
        mask ? union_mask(f, &west, mask)
             : sim_fail(SIM_HOST_MEMORY, "flow: no memory for the obstacles");
    for (int64_t j = 0; j < west.ny && status == SIM_OK; j++)
        for (int64_t i = 0; i < west.nx; i++)
            closed[sim_flow_at(f, i, j)] |= mask[j * west.nx + i];
    if (status == SIM_OK) {
        memset(mask, 0, (size_t)south.nx * (size_t)south.ny);
        status = union_mask(f, &south, mask);
    }
    for (int64_t j = 0; j < south.ny && status == SIM_OK; j++)
        for (int64_t i = 0; i < south.nx; i++)
            closed[sim_flow_at(f, i, j)] |= (uint8_t)(mask[j * south.nx + i] << 1);
    free(mask);
    return status;
}

/* A cell whose faces are all closed is solid. */
static void solid_by_faces(struct sim_flow *f, const uint8_t *closed)
{
    const int64_t nx = f->desc.nx;
    for (int64_t j = 0; j < f->desc.ny; j++)
        for (int64_t i = 0; i < nx; i++) {
            const uint8_t *c = &closed[sim_flow_at(f, i, j)];
            f->solid[j * nx + i] = c[0] & 1 && c[1] & 1 && c[0] & 2 && c[nx + 3] & 2;
        }
}

/* A face is free where its cells and its middle say so. */
static void cut_flags(const struct sim_flow *f, const uint8_t *closed, uint8_t *flags)
{
    for (int64_t j = 0; j <= f->desc.ny; j++)
        for (int64_t i = 0; i <= f->desc.nx; i++) {
            const int64_t e = sim_flow_at(f, i, j);
            if (closed[e] & 1)
                flags[e] &= (uint8_t)~SIM_FLOW_U;
            if (closed[e] & 2)
                flags[e] &= (uint8_t)~SIM_FLOW_V;
        }
}

/* Distance from (x, y), outside, to the wall toward (x + hx, y + hy), in steps; 2: none.
 */
static double wall_distance(const struct sim_flow *f, double x, double y, double hx,
                            double hy)
{
    const double p[2] = {x, y}, q[2] = {x + hx, y + hy};
    return inside(f, q[0], q[1]) ? fmax(bisect(f, p, q), 0.02) : 2;
}

struct cuts {
    struct sim_flow_cut *list; /* owned */
    int64_t count, room;
};

/* The cut of a free face, if a wall is less than a cell away from its middle. */
static bool cut_of(const struct sim_flow *f, int64_t i, int64_t j, bool is_v,
                   struct sim_flow_cut *out)
{
    const struct sim_flow_desc *d = &f->desc;
    const double x = d->x0 + ((double)i + (is_v ? 0.5 : 0)) * d->dx;
    const double y = d->y0 + ((double)j + (is_v ? 0 : 0.5)) * d->dy;
    *out = (struct sim_flow_cut){.element = j * f->system.pitch + i, .is_v = is_v};
    out->theta[0] = wall_distance(f, x, y, d->dx, 0);
    out->theta[1] = wall_distance(f, x, y, -d->dx, 0);
    out->theta[2] = wall_distance(f, x, y, 0, d->dy);
    out->theta[3] = wall_distance(f, x, y, 0, -d->dy);
    for (int k = 0; k < 4; k++)
        if (out->theta[k] <= 1)
            return true;
    return false;
}

/* Only beside a closed face can a wall be near. */
static bool near_wall(const struct sim_flow *f, const uint8_t *closed, int64_t i,
                      int64_t j)
{
    for (int64_t m = j - 1; m <= j + 1; m++)
        for (int64_t k = i - 1; k <= i + 1; k++)
            if (closed[sim_flow_at(f, k, m)])
                return true;
    return false;
}

static enum sim_status append_cuts(const struct sim_flow *f, unsigned flag, int64_t i,
                                   int64_t j, struct cuts *cuts)
{
    if (cuts->count + 2 > cuts->room) {
        const int64_t room = 2 * cuts->room + 64;
        struct sim_flow_cut *more = realloc(cuts->list, (size_t)room * sizeof *more);
        if (!more)
            return sim_fail(SIM_HOST_MEMORY, "flow: no memory for the walls");
        cuts->list = more;
        cuts->room = room;
    }
    if (flag & SIM_FLOW_U)
        cuts->count += cut_of(f, i, j, false, &cuts->list[cuts->count]);
    if (flag & SIM_FLOW_V)
        cuts->count += cut_of(f, i, j, true, &cuts->list[cuts->count]);
    return SIM_OK;
}

static enum sim_status upload_cuts(struct sim_flow *f, const struct cuts *cuts)
{
    const size_t bytes = (size_t)cuts->count * sizeof *cuts->list;
    sim_buffer_free(&f->cut);
    SIM_TRY(sim_buffer_new(f->system.device, bytes, "the curved walls", &f->cut));
    f->system.cut = f->cut.data;
    f->system.cut_count = cuts->count;
    return cuts->count ? sim_buffer_write(&f->cut, 0, cuts->list, bytes) : SIM_OK;
}

static enum sim_status list_cuts(struct sim_flow *f, const uint8_t *closed,
                                 const uint8_t *flags)
{
    struct cuts cuts = {0};
    enum sim_status status = SIM_OK;
    for (int64_t j = 0; j <= f->desc.ny && status == SIM_OK; j++)
        for (int64_t i = 0; i <= f->desc.nx && status == SIM_OK; i++) {
            const unsigned flag = flags[sim_flow_at(f, i, j)];
            if (flag & (SIM_FLOW_U | SIM_FLOW_V) && near_wall(f, closed, i, j))
                status = append_cuts(f, flag, i, j, &cuts);
        }
    if (status == SIM_OK)
        status = upload_cuts(f, &cuts);
    free(cuts.list);
    return status;
}

static enum sim_status build_cut(struct sim_flow *f, uint8_t *flags)
{
    const size_t n = (size_t)(f->desc.nx + 3) * (size_t)(f->desc.ny + 3);
    uint8_t *closed = calloc(n, 1);
    enum sim_status status =
        closed ? closed_faces(f, closed)
               : sim_fail(SIM_HOST_MEMORY, "flow: no memory for the obstacles");
    if (status == SIM_OK) {
        solid_by_faces(f, closed);
        set_flags(f, flags);
        cut_flags(f, closed, flags);
        status = list_cuts(f, closed, flags);
    }
    free(closed);
    return status;
}

enum sim_status sim_flow_build_solid(struct sim_flow *f, uint8_t *flags)
{
    const struct sim_lattice centres = lattice(f, 0.5, 0.5, 0, 0);
    memset(f->solid, 0, (size_t)centres.nx * (size_t)centres.ny);
    f->system.cut_count = 0;
    if (f->obstacle_count && f->desc.wall == SIM_FLOW_CUT_CELLS)
        return build_cut(f, flags);
    if (f->obstacle_count)
        SIM_TRY(union_mask(f, &centres, f->solid));
    set_flags(f, flags);
    return SIM_OK;
}
