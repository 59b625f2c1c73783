/* shape_query.c - what is inside a shape, how far its edge is, how much of a cell it
 * covers.
 *
 * Distances of compounds: min for unions, max for intersections, -d for complements,
 * which never overstate (J. Hart, "Sphere tracing", The Visual Computer 12, 1996).
 *
 * Not here: exact areas of curved edges. */
#include "shape_node.h"

#include <math.h>
#include <string.h>

/* ---- weights
 * ----------------------------------------------------------------------------- */

/* A point, and the half widths of the cell around it; 0: just the point. */
struct spot {
    double x, y, hx, hy;
};

/* Pictures are asked for cells, a Gaussian for points: it ends at nine sigmas. */
static bool outside_box(const struct sim_shape *s, const struct spot *p)
{
    double hx = s->kind == SHAPE_GAUSSIAN ? 0 : p->hx,
           hy = s->kind == SHAPE_GAUSSIAN ? 0 : p->hy;
    return p->x + hx < s->box[0] || p->x - hx > s->box[2] || p->y + hy < s->box[1] ||
           p->y - hy > s->box[3];
}

/* Even-odd rule. An edge counts for points at or above its lower end and below its upper
 * one, and strictly left of it; its line is computed from the lower end whatever the
 * polygon's direction, so that two polygons see a shared edge at the same place. */
static bool in_polygon(const struct sim_shape *s, double x, double y)
{
    bool inside = false;
    for (int64_t k = 0, last = s->count - 1; k < s->count; last = k++) {
        const double *low = s->corners[k], *high = s->corners[last];
        if ((low[1] > y) == (high[1] > y))
            continue;
        if (low[1] > high[1]) {
            const double *swap = low;
            low = high;
            high = swap;
        }
        if (x < low[0] + (y - low[1]) * ((high[0] - low[0]) / (high[1] - low[1])))
            inside = !inside;
    }
    return inside;
}

static bool in_image(const struct sim_shape *s, const struct spot *p)
{
    const double *scale = s->other;
    double x = (p->x - s->point[0]) * scale[0], y = (p->y - s->point[1]) * scale[1];
    double w = p->hx * scale[0], h = p->hy * scale[1];
    if (s->invert && !(x >= 0 && x < (double)s->raster.width && y >= 0 &&
                       y < (double)s->raster.height))
        return false;
    double mean = sim_raster_mean(&s->raster, x - w, y - h, x + w, y + h);
    return (mean >= s->threshold - 1e-9) != s->invert; /* sums round */
}

static double gaussian(const struct sim_shape *s, double x, double y)
{
    double u = (x - s->point[0]) / s->other[0], v = (y - s->point[1]) / s->other[1];
    return exp(-0.5 * (u * u + v * v));
}

static bool in_leaf(const struct sim_shape *s, const struct spot *p)
{
    double dx = p->x - s->point[0], dy = p->y - s->point[1];
    switch (s->kind) {
    case SHAPE_DISC:
        return dx * dx + dy * dy < s->other[0] * s->other[0];
    case SHAPE_BOX:
        return p->x >= s->point[0] && p->y >= s->point[1] && p->x < s->other[0] &&
               p->y < s->other[1];
    case SHAPE_POLYGON:
        return in_polygon(s, p->x, p->y);
    case SHAPE_HALF_PLANE:
        return dx * s->other[0] + dy * s->other[1] <= 0;
    default:
        return in_image(s, p);
    }
}

static struct spot move_inward(const struct sim_shape *s, const struct spot *p)
{
    const double at[2] = {p->x, p->y};
    double in[2];
    sim_similarity_apply(&s->inward, at, in);
    return (struct spot){in[0], in[1], p->hx / s->factor, p->hy / s->factor};
}

static double weight(const struct sim_shape *s, const struct spot *p)
{
    if (outside_box(s, p))
        return 0;
    switch (s->kind) {
    case SHAPE_UNION:
        return fmax(weight(s->a, p), weight(s->b, p));
    case SHAPE_INTERSECTION: {
        double a = weight(s->a, p);
        return a > 0 ? fmin(a, weight(s->b, p)) : 0;
    }
    case SHAPE_COMPLEMENT:
        return 1 - weight(s->a, p);
    case SHAPE_PLACED: {
        struct spot in = move_inward(s, p);
        return weight(s->a, &in);
    }
    case SHAPE_GAUSSIAN:
        return gaussian(s, p->x, p->y);
    default:
        return in_leaf(s, p) ? 1 : 0;
    }
}

bool sim_shape_is_profile(const struct sim_shape *shape)
{
    return shape->profile;
}

double sim_shape_weight(const struct sim_shape *shape, double x, double y)
{
    return weight(shape, &(struct spot){x, y, 0, 0});
}

bool sim_shape_inside(const struct sim_shape *shape, double x, double y)
{
    return sim_shape_weight(shape, x, y) >= 0.5;
}

bool sim_shape_has_cell(const struct sim_shape *shape, double x, double y, double hx,
                        double hy)
{
    return weight(shape, &(struct spot){x, y, hx, hy}) >= 0.5;
}

bool sim_shape_bounds(const struct sim_shape *shape, double box[4])
{
    memcpy(box, shape->box, sizeof shape->box);
    return shape->bounded;
}

/* ---- distances
 * --------------------------------------------------------------------------- */

static double box_distance(const double from[2], const double to[2], double x, double y)
{
    double dx = fmax(from[0] - x, x - to[0]), dy = fmax(from[1] - y, y - to[1]);
    double out = hypot(fmax(dx, 0), fmax(dy, 0));
    return out > 0 ? out : fmax(dx, dy);
}

static double edge_distance(const double a[2], const double b[2], double x, double y)
{
    double ux = b[0] - a[0], uy = b[1] - a[1], wx = x - a[0], wy = y - a[1];
    double length2 = ux * ux + uy * uy;
    double t = length2 > 0 ? fmin(1, fmax(0, (ux * wx + uy * wy) / length2)) : 0;
    return hypot(wx - t * ux, wy - t * uy);
}

static double polygon_distance(const struct sim_shape *s, double x, double y)
{
    double nearest = INFINITY;
    for (int64_t k = 0, last = s->count - 1; k < s->count; last = k++)
        nearest = fmin(nearest, edge_distance(s->corners[last], s->corners[k], x, y));
    return in_polygon(s, x, y) ? -nearest : nearest;
}

double sim_shape_distance(const struct sim_shape *s, double x, double y)
{
    const double at[2] = {x, y};
    double in[2];
    switch (s->kind) {
    case SHAPE_DISC:
        return hypot(x - s->point[0], y - s->point[1]) - s->other[0];
    case SHAPE_BOX:
        return box_distance(s->point, s->other, x, y);
    case SHAPE_POLYGON:
        return polygon_distance(s, x, y);
    case SHAPE_HALF_PLANE:
        return (x - s->point[0]) * s->other[0] + (y - s->point[1]) * s->other[1];
    case SHAPE_IMAGE:
        return fmax(0, box_distance(s->box, s->box + 2, x, y));
    case SHAPE_GAUSSIAN:
        return 0;
    case SHAPE_UNION:
        return fmin(sim_shape_distance(s->a, x, y), sim_shape_distance(s->b, x, y));
    case SHAPE_INTERSECTION:
        return fmax(sim_shape_distance(s->a, x, y), sim_shape_distance(s->b, x, y));
    case SHAPE_COMPLEMENT:
        return -sim_shape_distance(s->a, x, y);
    case SHAPE_PLACED:
        sim_similarity_apply(&s->inward, at, in);
        return s->factor * sim_shape_distance(s->a, in[0], in[1]);
    }
    return 0;
}

/* ---- coverage
 * ---------------------------------------------------------------------------- */

/* Of a box behind a line: the box's corners cut by the line (I. Sutherland, G. Hodgman,
 * 1974), and the area by the trapezoid rule, about the box's middle to keep digits. */
static double half_plane_share(const struct sim_shape *s, double x0, double y0, double x1,
                               double y1)
{
    const double corner[5][2] = {{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}, {x0, y0}};
    double cut[9][2], area = 0;
    int n = 0;
    for (int k = 0; k < 4; k++) {
        const double *p = corner[k], *q = corner[k + 1];
        double dp = sim_shape_distance(s, p[0], p[1]),
               dq = sim_shape_distance(s, q[0], q[1]);
        if (dp <= 0)
            memcpy(cut[n++], p, sizeof *cut);
        if ((dp < 0 && dq > 0) || (dp > 0 && dq < 0)) {
            cut[n][0] = p[0] + dp / (dp - dq) * (q[0] - p[0]);
            cut[n++][1] = p[1] + dp / (dp - dq) * (q[1] - p[1]);
        }
    }
    double mx = 0.5 * (x0 + x1), my = 0.5 * (y0 + y1);
    for (int k = 0; k < n; k++) {
        const double *p = cut[k], *q = cut[(k + 1) % n];
        area += (p[0] - mx) * (q[1] - my) - (q[0] - mx) * (p[1] - my);
    }
    return fmin(1, fmax(0, 0.5 * area / ((x1 - x0) * (y1 - y0))));
}

static double overlap(double a0, double a1, double b0, double b1)
{
    return fmax(0, fmin(a1, b1) - fmax(a0, b0)) / (a1 - a0);
}

static double sampled_share(const struct sim_shape *s, double x0, double y0, double x1,
                            double y1)
{
    double hx = (x1 - x0) / (2 * SIM_COVERAGE), hy = (y1 - y0) / (2 * SIM_COVERAGE),
           sum = 0;
    for (int j = 0; j < SIM_COVERAGE; j++)
        for (int i = 0; i < SIM_COVERAGE; i++)
            sum += weight(
                s, &(struct spot){x0 + (2 * i + 1) * hx, y0 + (2 * j + 1) * hy, hx, hy});
    return sum / (SIM_COVERAGE * SIM_COVERAGE);
}

double sim_shape_coverage(const struct sim_shape *s, double x0, double y0, double x1,
                          double y1)
{
    if (s->kind == SHAPE_HALF_PLANE)
        return half_plane_share(s, x0, y0, x1, y1);
    if (s->kind == SHAPE_BOX)
        return overlap(x0, x1, s->point[0], s->other[0]) *
               overlap(y0, y1, s->point[1], s->other[1]);
    double d = sim_shape_distance(s, 0.5 * (x0 + x1), 0.5 * (y0 + y1));
    double reach = 0.5 * hypot(x1 - x0, y1 - y0);
    if (!s->profile && fabs(d) > reach)
        return d < 0 ? 1 : 0;
    return sampled_share(s, x0, y0, x1, y1);
}

/* ---- lattices
 * ---------------------------------------------------------------------------- */

static struct spot spot_of(const struct sim_lattice *l, int64_t i, int64_t j)
{
    return (struct spot){l->x + (double)i * l->dx, l->y + (double)j * l->dy, 0.5 * l->dx,
                         0.5 * l->dy};
}

void sim_shape_mask(const struct sim_shape *shape, const struct sim_lattice *lattice,
                    int64_t j0, int64_t j1, int threads, uint8_t *out)
{
#pragma omp parallel for num_threads(threads) schedule(dynamic, 8)
    for (int64_t j = j0; j < j1; j++)
        for (int64_t i = 0; i < lattice->nx; i++) {
            struct spot p = spot_of(lattice, i, j);
            out[(j - j0) * lattice->nx + i] = weight(shape, &p) >= 0.5;
        }
}

void sim_shape_weights(const struct sim_shape *shape, const struct sim_lattice *lattice,
                       int64_t j0, int64_t j1, bool soft, int threads, float *out)
{
#pragma omp parallel for num_threads(threads) schedule(dynamic, 8)
    for (int64_t j = j0; j < j1; j++)
        for (int64_t i = 0; i < lattice->nx; i++) {
            struct spot p = spot_of(lattice, i, j);
            double w = 0;
            if (soft && !shape->profile)
                w = sim_shape_coverage(shape, p.x - p.hx, p.y - p.hy, p.x + p.hx,
                                       p.y + p.hy);
            else
                w = weight(shape, &p);
            out[(j - j0) * lattice->nx + i] = (float)w;
        }
}
