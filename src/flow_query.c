/* flow_query.c - fields of a flow as views, and what is asked of it: divergence, forces.
 */
#include "flow.h"

#include <math.h>

/* --- views -------------------------------------------------------------------------- */

static const struct {
    const char *name;
    double ox, oy; /* where its samples stand in a cell */
    int more_x, more_y;
} places[SIM_FLOW_VIEWS] = {
    {"u", 0, 0.5, 1, 0},
    {"v", 0.5, 0, 0, 1},
    {"pressure", 0.5, 0.5, 0, 0},
    {"speed", 0.5, 0.5, 0, 0},
    {"vorticity", 0.5, 0.5, 0, 0},
    {"divergence", 0.5, 0.5, 0, 0},
    {"density", 0.5, 0.5, 0, 0},
    {"stream", 0, 0, 1, 1},
    {"u at cells", 0.5, 0.5, 0, 0},
    {"v at cells", 0.5, 0.5, 0, 0},
    {"markers", 0.5, 0.5, 0, 0},
};

static enum sim_status derived(struct sim_flow *f, struct sim_field *field, int kind)
{
    struct sim_buffer *own = &f->derived[kind];
    if (!own->data)
        SIM_TRY(sim_buffer_new(f->system.device,
                               (size_t)(field->nx * field->ny) * f->ops->real_bytes,
                               places[SIM_FLOW_VIEW_DERIVED + kind].name, own));
    field->data = own->data;
    return f->ops->derive(&f->system, (enum sim_flow_derived)kind, own->data,
                          field->pitch);
}

/* A view brought up to date. */
static enum sim_status refresh(struct sim_field *field)
{
    struct sim_flow *f = field->solver;
    const int64_t view = field - f->views;
    SIM_TRY(sim_flow_prepare(f));
    if (view >= SIM_FLOW_VIEW_DERIVED)
        return derived(f, field, (int)(view - SIM_FLOW_VIEW_DERIVED));
    field->data = view == SIM_FLOW_VIEW_U   ? f->system.u[0]
                  : view == SIM_FLOW_VIEW_V ? f->system.v[0]
                                            : f->system.p;
    return SIM_OK;
}

static enum sim_status refresh_scalar(struct sim_field *field)
{
    struct sim_flow *f = field->solver;
    return sim_flow_prepare(f);
}

static void touched(struct sim_field *field)
{
    struct sim_flow *f = field->solver;
    f->settled = false;
}

static const float (*points(struct sim_field *field, int64_t *count))[4]
{
    const struct sim_flow *f = field->solver;
    *count = f->system.markers.marker ? f->system.markers.capacity : 0;
    return (const float(*)[4])f->system.markers.marker;
}

static enum sim_status make_view(struct sim_flow *f, const char *name, double ox,
                                 double oy, int more_x, int more_y, void *data,
                                 struct sim_field *out)
{
    const struct sim_flow_desc *d = &f->desc;
    const struct sim_field_desc of = {.nx = d->nx + more_x,
                                      .ny = d->ny + more_y,
                                      .is_double = d->is_double,
                                      .x0 = d->x0,
                                      .y0 = d->y0,
                                      .dx = d->dx,
                                      .dy = d->dy,
                                      .ox = ox,
                                      .oy = oy,
                                      .name = name};
    SIM_TRY(sim_field_view(f->system.device, &of, data, out));
    out->solver = f;
    out->touched = touched;
    out->cover = sim_flow_cover;
    if (!more_x && !more_y)
        out->mask = f->mask.data;
    return SIM_OK;
}

enum sim_status sim_flow_make_views(struct sim_flow *f)
{
    for (int k = 0; k < SIM_FLOW_VIEWS; k++) {
        struct sim_field *view = &f->views[k];
        SIM_TRY(make_view(f, places[k].name, places[k].ox, places[k].oy, places[k].more_x,
                          places[k].more_y, f->system.u[0], view));
        view->prepare = refresh;
        view->read_only = k >= SIM_FLOW_VIEW_PRESSURE;
        if (k == SIM_FLOW_VIEW_DERIVED + SIM_FLOW_MARKERS)
            view->points = points;
        if (k < SIM_FLOW_VIEW_DERIVED)
            view->pitch = f->system.pitch;
    }
    return SIM_OK;
}

enum sim_status sim_flow_make_scalar_view(struct sim_flow *f, int k)
{
    struct sim_field *view = &f->scalar_view[k];
    SIM_TRY(
        make_view(f, f->scalars[k].name, 0.5, 0.5, 0, 0, f->system.scalar[k][0], view));
    view->pitch = f->system.pitch;
    view->prepare = refresh_scalar;
    return SIM_OK;
}

struct sim_field *sim_flow_view(struct sim_flow *f, int view)
{
    return &f->views[view];
}

struct sim_field *sim_flow_scalar(struct sim_flow *f, int scalar)
{
    return &f->scalar_view[scalar];
}

/* --- numbers ------------------------------------------------------------------------ */

enum sim_status sim_flow_divergence(struct sim_flow *f, double *out)
{
    double answer[3];
    SIM_TRY(sim_flow_prepare(f));
    SIM_TRY(f->ops->measure(&f->system, f->answer.data));
    SIM_TRY(sim_buffer_read(&f->answer, 0, answer, sizeof answer));
    const double h = fmin(f->desc.dx, f->desc.dy), u = fmax(answer[1], answer[2]);
    *out = u > 0 ? answer[0] * h / u : answer[0] > 0 ? HUGE_VAL : 0;
    return SIM_OK;
}

/* --- the pressure at a point -------------------------------------------------------- */

/* The distance to the nearest obstacle, negative inside. */
static double distance(const struct sim_flow *f, double x, double y)
{
    double least = HUGE_VAL;
    for (int k = 0; k < f->obstacle_count; k++)
        least = fmin(least, sim_shape_distance(f->obstacle[k].shape, x, y));
    return least;
}

/* Between those of the four cells around a point that are fluid and have their centres
 * outside obstacles: each has its bilinear weight, and what is left of the weights is
 * scaled to 1. *share: how much was left; 0: none. */
static enum sim_status between_cells(struct sim_flow *f, double x, double y, double *out,
                                     double *share)
{
    const struct sim_flow_desc *d = &f->desc;
    const double cx = fmin(fmax((x - d->x0) / d->dx - 0.5, 0), (double)d->nx - 1);
    const double cy = fmin(fmax((y - d->y0) / d->dy - 0.5, 0), (double)d->ny - 1);
    const int64_t i0 = (int64_t)cx, j0 = (int64_t)cy;
    double sum = 0;
    *share = 0;
    for (int k = 0; k < 4; k++) {
        const int64_t i = i0 + (k & 1), j = j0 + (k >> 1);
        const double w = (1 - fabs(cx - (double)i)) * (1 - fabs(cy - (double)j));
        double p;
        const double x_k = d->x0 + ((double)i + 0.5) * d->dx;
        const double y_k = d->y0 + ((double)j + 0.5) * d->dy;
        if (w <= 0 || f->solid[j * d->nx + i] || distance(f, x_k, y_k) < 0)
            continue;
        SIM_TRY(sim_field_get(sim_flow_view(f, SIM_FLOW_VIEW_PRESSURE), i, j, &p));
        sum += w * p;
        *share += w;
    }
    *out = *share > 0 ? sum / *share : 0;
    return SIM_OK;
}

/* The parabola through the values at distances 1/2, 3/2 and 5/2, at distance t. */
static double parabola(const double p[3], double t)
{
    const double a = t - 0.5, b = t - 1.5, c = t - 2.5;
    return 0.5 * b * c * p[0] - a * c * p[1] + 0.5 * a * b * p[2];
}

static enum sim_status before_wall(struct sim_flow *f, double x, double y, double around,
                                   double *out)
{
    const double h = fmin(f->desc.dx, f->desc.dy), at = distance(f, x, y);
    const double nx = distance(f, x + 0.1 * h, y) - distance(f, x - 0.1 * h, y);
    const double ny = distance(f, x, y + 0.1 * h) - distance(f, x, y - 0.1 * h);
    const double size = hypot(nx, ny);
    double p[3], share;
    if (size <= 0 && around > 0) /* a picture knows no distances: what fluid there is */
        return SIM_OK;
    for (int k = 0; k < 3; k++) {
        const double step = size > 0 ? (((double)k + 0.5) * h - at) / size : 0;
        SIM_TRY(between_cells(f, x + step * nx, y + step * ny, &p[k], &share));
        if (share <= 0 || at < -2 * h)
            return sim_fail(SIM_BAD_ARGUMENT,
                            "flow: no pressure at (%g, %g): it is in an obstacle", x, y);
    }
    *out = parabola(p, at / h);
    return SIM_OK;
}

enum sim_status sim_flow_pressure(struct sim_flow *f, double x, double y, double *out)
{
    const struct sim_flow_desc *d = &f->desc;
    double share;
    if (!(x >= d->x0 && x <= d->x0 + (double)d->nx * d->dx && y >= d->y0 &&
          y <= d->y0 + (double)d->ny * d->dy))
        return sim_fail(SIM_BAD_ARGUMENT, "flow: the point (%g, %g) is outside the grid",
                        x, y);
    SIM_TRY(sim_flow_prepare(f));
    SIM_TRY(between_cells(f, x, y, out, &share));
    /* beside the wall the parabola is better even where all four would do */
    const bool far = distance(f, x, y) >= fmin(d->dx, d->dy);
    return far && share > 1 - 1e-9 ? SIM_OK : before_wall(f, x, y, share, out);
}

/* --- force -------------------------------------------------------------------------- */

static bool obstacle_has(const struct sim_flow *f, int k, int64_t i, int64_t j)
{
    const struct sim_flow_desc *d = &f->desc;
    return sim_shape_inside(f->obstacle[k].shape, d->x0 + ((double)i + 0.5) * d->dx,
                            d->y0 + ((double)j + 0.5) * d->dy);
}

/* First and last cell + 1 of an axis with their centres in [from, to], and one more
 * either way against rounding. */
static void cell_range(double from, double to, double x0, double dx, int64_t n,
                       int64_t *first, int64_t *last)
{
    const double most = (double)n;
    *first = (int64_t)fmin(fmax(floor((from - x0) / dx) - 1, 0), most);
    *last = (int64_t)fmin(fmax(ceil((to - x0) / dx) + 1, 0), most);
}

/* The solid cells of obstacle k: a box of cells. */
static bool find_cells(const struct sim_flow *f, int k, struct sim_flow_box *box)
{
    const struct sim_flow_desc *d = &f->desc;
    struct sim_flow_box all = {0, d->nx, 0, d->ny, 0, 0};
    double bounds[4];
    if (sim_shape_bounds(f->obstacle[k].shape, bounds)) {
        cell_range(bounds[0], bounds[2], d->x0, d->dx, d->nx, &all.i0, &all.i1);
        cell_range(bounds[1], bounds[3], d->y0, d->dy, d->ny, &all.j0, &all.j1);
    }
    *box = (struct sim_flow_box){d->nx, 0, d->ny, 0, 0, 0};
    for (int64_t j = all.j0; j < all.j1; j++)
        for (int64_t i = all.i0; i < all.i1; i++)
            if (obstacle_has(f, k, i, j)) {
                box->i0 = i < box->i0 ? i : box->i0;
                box->i1 = i + 1 > box->i1 ? i + 1 : box->i1;
                box->j0 = j < box->j0 ? j : box->j0;
                box->j1 = j + 1 > box->j1 ? j + 1 : box->j1;
            }
    return box->i1 > box->i0;
}

/* Is every solid cell of the box, or beside it, the obstacle's? The box must lie within
 * the grid with a cell to spare. */
static bool box_is_free(const struct sim_flow *f, int k, const struct sim_flow_box *box)
{
    if (box->i0 < 1 || box->j0 < 1 || box->i1 > f->desc.nx - 1 ||
        box->j1 > f->desc.ny - 1)
        return false;
    for (int64_t j = box->j0 - 1; j <= box->j1; j++)
        for (int64_t i = box->i0 - 1; i <= box->i1; i++) {
            const bool rim =
                i <= box->i0 || i >= box->i1 - 1 || j <= box->j0 || j >= box->j1 - 1;
            if (f->solid[j * f->desc.nx + i] && (rim || !obstacle_has(f, k, i, j)))
                return false;
        }
    return true;
}

static enum sim_status search_box(const struct sim_flow *f, int k,
                                  struct sim_flow_box *box)
{
    const char *name = f->obstacle[k].name;
    struct sim_flow_box tight;
    if (!find_cells(f, k, &tight))
        return sim_fail(SIM_BAD_ARGUMENT, "flow: the obstacle '%s' covers no cell", name);
    for (int64_t margin = 8; margin >= 2; margin--) {
        *box = tight;
        box->i0 -= margin, box->i1 += margin, box->j0 -= margin, box->j1 += margin;
        if (box_is_free(f, k, box))
            return SIM_OK;
    }
    return sim_fail(SIM_BAD_ARGUMENT,
                    "flow: no force on '%s': it is closer than 3 cells to a side or to "
                    "another obstacle",
                    name);
}

/* Kept from one call to the next: the search asks the shape at every cell. */
static enum sim_status find_box(struct sim_flow *f, const char *name,
                                struct sim_flow_box *box)
{
    const int k = *name ? sim_flow_find_obstacle(f, name) : -1;
    if (k < 0)
        return sim_fail(SIM_BAD_ARGUMENT, "flow: there is no obstacle '%s'", name);
    *box = f->obstacle[k].box;
    if (!box->i1)
        SIM_TRY(search_box(f, k, box));
    f->obstacle[k].box = *box;
    return SIM_OK;
}

enum sim_status sim_flow_force(struct sim_flow *f, const char *name,
                               const double about[2], double out[3])
{
    struct sim_flow_box box;
    SIM_TRY(sim_flow_prepare(f));
    SIM_TRY(find_box(f, name, &box));
    box.x = about[0], box.y = about[1];
    SIM_TRY(f->ops->force(&f->system, &box, f->answer.data));
    return sim_buffer_read(&f->answer, 0, out, 3 * sizeof *out);
}
