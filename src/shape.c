/* shape.c - shapes as a tree: making, counting owners, and the questions.
 *
 * Single shapes are leaves. Moving, turning and scaling (similarities) a disc, polygon,
 * half-plane or upright box gives another leaf; what is left (a turned box, pictures,
 * ellipses) is looked at through a `placed` node that maps points back. Every node knows a
 * box that holds it, so that a union of thousands is asked only where they are.
 *
 * Distances of compounds: min for unions, max for intersections, -d for complements, which
 * never overstate (J. Hart, "Sphere tracing", The Visual Computer 12, 1996). */
#include "shape.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 20000 /* of a tree: questions recurse */
#define PI        3.14159265358979323846
#define FAR       9.0 /* sigmas, beyond which a Gaussian is below 3e-18 */

enum kind {
    DISC,
    BOX,
    POLYGON,
    HALF_PLANE,
    IMAGE,
    GAUSSIAN,
    UNION,
    INTERSECTION,
    COMPLEMENT,
    PLACED,
};

/* (x, y) -> (ax x - ay y + tx, ay x + ax y + ty): a turn, a scaling and a move. */
struct similarity {
    double ax, ay, tx, ty;
};

struct sim_shape {
    atomic_int owners;
    enum kind kind;
    bool profile, bounded;
    int depth;
    double box[4]; /* x0, y0, x1, y1; +-infinity where unbounded */
    struct sim_shape *a, *b;
    double point[2]; /* centre, lower left corner, a point of the line */
    double other[2]; /* radius; upper right corner; unit normal; sigma; pixels per unit */
    double (*corners)[2];
    int64_t count;
    struct sim_raster raster;
    double threshold;
    bool invert;
    struct similarity inward; /* PLACED: from the plane to the child's own */
    double factor;            /* PLACED: lengths outside per length inside */
};

/* ---- making ----------------------------------------------------------------------------- */

static enum sim_status make(enum kind kind, struct sim_shape **out)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return sim_fail(SIM_HOST_MEMORY, "out of host memory for a shape");
    (*out)->kind = kind;
    (*out)->depth = 1;
    atomic_init(&(*out)->owners, 1);
    return SIM_OK;
}

static void set_box(struct sim_shape *s, double x0, double y0, double x1, double y1)
{
    const double box[4] = {x0, y0, x1, y1};
    memcpy(s->box, box, sizeof box);
    s->bounded = isfinite(x0) && isfinite(y0) && isfinite(x1) && isfinite(y1);
}

static bool finite2(const double v[2])
{
    return isfinite(v[0]) && isfinite(v[1]);
}

enum sim_status sim_shape_disc(const double centre[2], double radius, struct sim_shape **out)
{
    if (!finite2(centre) || !(radius > 0) || !isfinite(radius))
        return sim_fail(SIM_BAD_ARGUMENT, "disc: a centre and a radius > 0 are needed");
    SIM_TRY(make(DISC, out));
    memcpy((*out)->point, centre, sizeof(*out)->point);
    (*out)->other[0] = radius;
    set_box(*out, centre[0] - radius, centre[1] - radius, centre[0] + radius,
            centre[1] + radius);
    return SIM_OK;
}

enum sim_status sim_shape_box(const double from[2], const double to[2],
                              struct sim_shape **out)
{
    if (!finite2(from) || !finite2(to) || !(from[0] < to[0] && from[1] < to[1]))
        return sim_fail(SIM_BAD_ARGUMENT, "box: from must be left of and below to, got "
                                          "{ %g, %g } and { %g, %g }",
                        from[0], from[1], to[0], to[1]);
    SIM_TRY(make(BOX, out));
    memcpy((*out)->point, from, sizeof(*out)->point);
    memcpy((*out)->other, to, sizeof(*out)->other);
    set_box(*out, from[0], from[1], to[0], to[1]);
    return SIM_OK;
}

static void box_of_corners(struct sim_shape *s)
{
    double box[4] = {INFINITY, INFINITY, -INFINITY, -INFINITY};
    for (int64_t k = 0; k < s->count; k++)
        for (int c = 0; c < 2; c++) {
            box[c] = fmin(box[c], s->corners[k][c]);
            box[c + 2] = fmax(box[c + 2], s->corners[k][c]);
        }
    set_box(s, box[0], box[1], box[2], box[3]);
}

enum sim_status sim_shape_polygon(const double (*corners)[2], int64_t count,
                                  struct sim_shape **out)
{
    *out = NULL;
    if (count < 3)
        return sim_fail(SIM_BAD_ARGUMENT, "polygon: at least 3 corners are needed, got %lld",
                        (long long)count);
    for (int64_t k = 0; k < count; k++)
        if (!finite2(corners[k]))
            return sim_fail(SIM_BAD_ARGUMENT, "polygon: corner %lld is not finite",
                            (long long)k + 1);
    SIM_TRY(make(POLYGON, out));
    (*out)->corners = malloc((size_t)count * sizeof *corners);
    if (!(*out)->corners) {
        sim_shape_release(*out);
        *out = NULL;
        return sim_fail(SIM_HOST_MEMORY, "out of host memory for a polygon");
    }
    memcpy((*out)->corners, corners, (size_t)count * sizeof *corners);
    (*out)->count = count;
    box_of_corners(*out);
    return SIM_OK;
}

enum sim_status sim_shape_half_plane(const double point[2], const double normal[2],
                                     struct sim_shape **out)
{
    double length = hypot(normal[0], normal[1]);
    if (!finite2(point) || !isfinite(length) || !(length > 0))
        return sim_fail(SIM_BAD_ARGUMENT,
                        "half_plane: a point and a normal that is not { 0, 0 } are needed");
    SIM_TRY(make(HALF_PLANE, out));
    struct sim_shape *s = *out;
    memcpy(s->point, point, sizeof s->point);
    for (int c = 0; c < 2; c++)
        s->other[c] = normal[c] / length;
    set_box(s, s->other[0] == -1 ? point[0] : -INFINITY,
            s->other[1] == -1 ? point[1] : -INFINITY,
            s->other[0] == 1 ? point[0] : INFINITY, s->other[1] == 1 ? point[1] : INFINITY);
    return SIM_OK;
}

enum sim_status sim_shape_gaussian(const double centre[2], const double sigma[2],
                                   struct sim_shape **out)
{
    if (!finite2(centre) || !finite2(sigma) || !(sigma[0] > 0 && sigma[1] > 0))
        return sim_fail(SIM_BAD_ARGUMENT, "gaussian: a centre and a sigma > 0 are needed");
    SIM_TRY(make(GAUSSIAN, out));
    (*out)->profile = true;
    memcpy((*out)->point, centre, sizeof(*out)->point);
    memcpy((*out)->other, sigma, sizeof(*out)->other);
    set_box(*out, centre[0] - FAR * sigma[0], centre[1] - FAR * sigma[1],
            centre[0] + FAR * sigma[0], centre[1] + FAR * sigma[1]);
    return SIM_OK;
}

enum sim_status sim_shape_image(const struct sim_shape_image *image, struct sim_shape **out)
{
    *out = NULL;
    if (!finite2(image->position) || !(image->width > 0) || !isfinite(image->width) ||
        !(image->height >= 0) || !isfinite(image->height))
        return sim_fail(SIM_BAD_ARGUMENT, "image: a position and a width > 0 are needed");
    SIM_TRY(make(IMAGE, out));
    struct sim_shape *s = *out;
    enum sim_status status = sim_raster_read(image->file, image->channel, &s->raster);
    if (status != SIM_OK) {
        sim_shape_release(s);
        *out = NULL;
        return status;
    }
    double w = (double)s->raster.width, h = (double)s->raster.height;
    double height = image->height > 0 ? image->height : image->width * h / w;
    memcpy(s->point, image->position, sizeof s->point);
    s->other[0] = w / image->width;
    s->other[1] = h / height;
    s->threshold = image->threshold;
    s->invert = image->invert;
    set_box(s, s->point[0], s->point[1], s->point[0] + image->width, s->point[1] + height);
    return SIM_OK;
}

/* ---- owners ------------------------------------------------------------------------------ */

struct sim_shape *sim_shape_keep(struct sim_shape *shape)
{
    atomic_fetch_add_explicit(&shape->owners, 1, memory_order_relaxed);
    return shape;
}

void sim_shape_release(struct sim_shape *shape)
{
    while (shape && atomic_fetch_sub(&shape->owners, 1) == 1) {
        struct sim_shape *next = shape->a; /* chains are long on this side */
        sim_shape_release(shape->b);
        free(shape->corners);
        sim_raster_free(&shape->raster);
        free(shape);
        shape = next;
    }
}

/* ---- compounds --------------------------------------------------------------------------- */

static enum sim_status compound(enum kind kind, struct sim_shape *a, struct sim_shape *b,
                                struct sim_shape **out)
{
    int depth = b && b->depth > a->depth ? b->depth : a->depth;
    *out = NULL;
    if (depth >= DEPTH_MAX)
        return sim_fail(SIM_BAD_ARGUMENT, "a shape of more than %d shapes within each other",
                        DEPTH_MAX);
    SIM_TRY(make(kind, out));
    struct sim_shape *s = *out;
    s->depth = depth + 1;
    s->a = sim_shape_keep(a);
    s->b = b ? sim_shape_keep(b) : NULL;
    s->profile = a->profile || (b && b->profile);
    return SIM_OK;
}

enum sim_status sim_shape_union(struct sim_shape *a, struct sim_shape *b,
                                struct sim_shape **out)
{
    SIM_TRY(compound(UNION, a, b, out));
    set_box(*out, fmin(a->box[0], b->box[0]), fmin(a->box[1], b->box[1]),
            fmax(a->box[2], b->box[2]), fmax(a->box[3], b->box[3]));
    return SIM_OK;
}

enum sim_status sim_shape_intersection(struct sim_shape *a, struct sim_shape *b,
                                       struct sim_shape **out)
{
    SIM_TRY(compound(INTERSECTION, a, b, out));
    double x0 = fmax(a->box[0], b->box[0]), y0 = fmax(a->box[1], b->box[1]);
    set_box(*out, x0, y0, fmax(x0, fmin(a->box[2], b->box[2])),
            fmax(y0, fmin(a->box[3], b->box[3])));
    return SIM_OK;
}

enum sim_status sim_shape_complement(struct sim_shape *a, struct sim_shape **out)
{
    SIM_TRY(compound(COMPLEMENT, a, NULL, out));
    set_box(*out, -INFINITY, -INFINITY, INFINITY, INFINITY);
    return SIM_OK;
}

enum sim_status sim_shape_difference(struct sim_shape *a, struct sim_shape *b,
                                     struct sim_shape **out)
{
    struct sim_shape *not_b;
    *out = NULL;
    SIM_TRY(sim_shape_complement(b, &not_b));
    enum sim_status status = sim_shape_intersection(a, not_b, out);
    sim_shape_release(not_b);
    return status;
}

/* ---- similarities ------------------------------------------------------------------------ */

static void apply(const struct similarity *m, const double in[2], double out[2])
{
    double x = in[0], y = in[1];
    out[0] = m->ax * x - m->ay * y + m->tx;
    out[1] = m->ay * x + m->ax * y + m->ty;
}

static struct similarity inverse(const struct similarity *m)
{
    double n = m->ax * m->ax + m->ay * m->ay;
    struct similarity r = {.ax = m->ax / n, .ay = -m->ay / n};
    r.tx = -(r.ax * m->tx - r.ay * m->ty);
    r.ty = -(r.ay * m->tx + r.ax * m->ty);
    return r;
}

static enum sim_status place_box(const struct sim_shape *a, const struct similarity *m,
                                 struct sim_shape **out)
{
    double p[2], q[2];
    apply(m, a->point, p);
    apply(m, a->other, q);
    const double from[2] = {fmin(p[0], q[0]), fmin(p[1], q[1])};
    const double to[2] = {fmax(p[0], q[0]), fmax(p[1], q[1])};
    return sim_shape_box(from, to, out);
}

static enum sim_status place_polygon(const struct sim_shape *a, const struct similarity *m,
                                     struct sim_shape **out)
{
    SIM_TRY(sim_shape_polygon((const double(*)[2])a->corners, a->count, out));
    for (int64_t k = 0; k < a->count; k++)
        apply(m, a->corners[k], (*out)->corners[k]);
    box_of_corners(*out);
    return SIM_OK;
}

static enum sim_status place_half_plane(const struct sim_shape *a,
                                        const struct similarity *m, struct sim_shape **out)
{
    const struct similarity turn = {.ax = m->ax, .ay = m->ay};
    double point[2], normal[2];
    apply(m, a->point, point);
    apply(&turn, a->other, normal);
    return sim_shape_half_plane(point, normal, out);
}

/* The box around the four mapped corners of the child's. */
static void place_bounds(struct sim_shape *s, const struct similarity *m)
{
    double box[4] = {INFINITY, INFINITY, -INFINITY, -INFINITY};
    if (!s->a->bounded) {
        set_box(s, -INFINITY, -INFINITY, INFINITY, INFINITY);
        return;
    }
    for (int k = 0; k < 4; k++) {
        const double corner[2] = {s->a->box[k & 1 ? 2 : 0], s->a->box[k & 2 ? 3 : 1]};
        double at[2];
        apply(m, corner, at);
        for (int c = 0; c < 2; c++) {
            box[c] = fmin(box[c], at[c]);
            box[c + 2] = fmax(box[c + 2], at[c]);
        }
    }
    /* rounding on the way back must not leave a point of the shape outside */
    double slack = 1e-12 * (fabs(box[0]) + fabs(box[1]) + fabs(box[2]) + fabs(box[3]));
    set_box(s, box[0] - slack, box[1] - slack, box[2] + slack, box[3] + slack);
}

static enum sim_status place(struct sim_shape *a, const struct similarity *m,
                             struct sim_shape **out)
{
    double centre[2], factor = hypot(m->ax, m->ay);
    *out = NULL;
    if (!isfinite(m->tx) || !isfinite(m->ty) || !isfinite(factor) || !(factor > 0))
        return sim_fail(SIM_BAD_ARGUMENT, "a shape cannot be moved, turned or scaled so far");
    if (a->kind == DISC) {
        apply(m, a->point, centre);
        return sim_shape_disc(centre, a->other[0] * factor, out);
    }
    if (a->kind == BOX && (m->ax == 0 || m->ay == 0))
        return place_box(a, m, out);
    if (a->kind == POLYGON)
        return place_polygon(a, m, out);
    if (a->kind == HALF_PLANE)
        return place_half_plane(a, m, out);
    SIM_TRY(compound(PLACED, a, NULL, out));
    (*out)->inward = inverse(m);
    (*out)->factor = factor;
    place_bounds(*out, m);
    return SIM_OK;
}

enum sim_status sim_shape_move(struct sim_shape *a, double dx, double dy,
                               struct sim_shape **out)
{
    return place(a, &(struct similarity){1, 0, dx, dy}, out);
}

/* Right angles are exact. */
static void turn_of(double degrees, double *cosine, double *sine)
{
    static const double quarter[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    double turn = fmod(degrees, 360);
    turn += turn < 0 ? 360 : 0;
    double k = floor(turn / 90);
    bool exact = turn == k * 90 && k < 4;
    *cosine = exact ? quarter[(int)k][0] : cos(turn * (PI / 180));
    *sine = exact ? quarter[(int)k][1] : sin(turn * (PI / 180));
}

static struct similarity about_point(double ax, double ay, const double about[2])
{
    return (struct similarity){ax, ay, about[0] - (ax * about[0] - ay * about[1]),
                               about[1] - (ay * about[0] + ax * about[1])};
}

enum sim_status sim_shape_rotate(struct sim_shape *a, double degrees, const double about[2],
                                 struct sim_shape **out)
{
    double cosine, sine;
    *out = NULL;
    if (!isfinite(degrees))
        return sim_fail(SIM_BAD_ARGUMENT, "rotate: the angle must be a finite number");
    turn_of(degrees, &cosine, &sine);
    struct similarity m = about_point(cosine, sine, about);
    return place(a, &m, out);
}

enum sim_status sim_shape_scale(struct sim_shape *a, double factor, const double about[2],
                                struct sim_shape **out)
{
    *out = NULL;
    if (!(factor > 0) || !isfinite(factor))
        return sim_fail(SIM_BAD_ARGUMENT, "scale: the factor must be a number > 0");
    struct similarity m = about_point(factor, 0, about);
    return place(a, &m, out);
}

/* ---- weights ----------------------------------------------------------------------------- */

/* A point, and the half widths of the cell around it; 0: just the point. */
struct spot {
    double x, y, hx, hy;
};

/* Pictures are asked for cells, a Gaussian for points: it ends at FAR. */
static bool outside_box(const struct sim_shape *s, const struct spot *p)
{
    double hx = s->kind == GAUSSIAN ? 0 : p->hx, hy = s->kind == GAUSSIAN ? 0 : p->hy;
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
    case DISC:
        return dx * dx + dy * dy < s->other[0] * s->other[0];
    case BOX:
        return p->x >= s->point[0] && p->y >= s->point[1] && p->x < s->other[0] &&
               p->y < s->other[1];
    case POLYGON:
        return in_polygon(s, p->x, p->y);
    case HALF_PLANE:
        return dx * s->other[0] + dy * s->other[1] <= 0;
    default:
        return in_image(s, p);
    }
}

static struct spot move_inward(const struct sim_shape *s, const struct spot *p)
{
    const double at[2] = {p->x, p->y};
    double in[2];
    apply(&s->inward, at, in);
    return (struct spot){in[0], in[1], p->hx / s->factor, p->hy / s->factor};
}

static double weight(const struct sim_shape *s, const struct spot *p)
{
    if (outside_box(s, p))
        return 0;
    switch (s->kind) {
    case UNION:
        return fmax(weight(s->a, p), weight(s->b, p));
    case INTERSECTION: {
        double a = weight(s->a, p);
        return a > 0 ? fmin(a, weight(s->b, p)) : 0;
    }
    case COMPLEMENT:
        return 1 - weight(s->a, p);
    case PLACED: {
        struct spot in = move_inward(s, p);
        return weight(s->a, &in);
    }
    case GAUSSIAN:
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

bool sim_shape_bounds(const struct sim_shape *shape, double box[4])
{
    memcpy(box, shape->box, sizeof shape->box);
    return shape->bounded;
}

/* ---- distances --------------------------------------------------------------------------- */

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
    case DISC:
        return hypot(x - s->point[0], y - s->point[1]) - s->other[0];
    case BOX:
        return box_distance(s->point, s->other, x, y);
    case POLYGON:
        return polygon_distance(s, x, y);
    case HALF_PLANE:
        return (x - s->point[0]) * s->other[0] + (y - s->point[1]) * s->other[1];
    case IMAGE:
        return fmax(0, box_distance(s->box, s->box + 2, x, y));
    case GAUSSIAN:
        return 0;
    case UNION:
        return fmin(sim_shape_distance(s->a, x, y), sim_shape_distance(s->b, x, y));
    case INTERSECTION:
        return fmax(sim_shape_distance(s->a, x, y), sim_shape_distance(s->b, x, y));
    case COMPLEMENT:
        return -sim_shape_distance(s->a, x, y);
    case PLACED:
        apply(&s->inward, at, in);
        return s->factor * sim_shape_distance(s->a, in[0], in[1]);
    }
    return 0;
}

/* ---- coverage ---------------------------------------------------------------------------- */

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
        double dp = sim_shape_distance(s, p[0], p[1]), dq = sim_shape_distance(s, q[0], q[1]);
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
    double hx = (x1 - x0) / (2 * SIM_COVERAGE), hy = (y1 - y0) / (2 * SIM_COVERAGE), sum = 0;
    for (int j = 0; j < SIM_COVERAGE; j++)
        for (int i = 0; i < SIM_COVERAGE; i++)
            sum += weight(s, &(struct spot){x0 + (2 * i + 1) * hx, y0 + (2 * j + 1) * hy, hx,
                                            hy});
    return sum / (SIM_COVERAGE * SIM_COVERAGE);
}

double sim_shape_coverage(const struct sim_shape *s, double x0, double y0, double x1,
                          double y1)
{
    if (s->kind == HALF_PLANE)
        return half_plane_share(s, x0, y0, x1, y1);
    if (s->kind == BOX)
        return overlap(x0, x1, s->point[0], s->other[0]) *
               overlap(y0, y1, s->point[1], s->other[1]);
    double d = sim_shape_distance(s, 0.5 * (x0 + x1), 0.5 * (y0 + y1));
    double reach = 0.5 * hypot(x1 - x0, y1 - y0);
    if (!s->profile && fabs(d) > reach)
        return d < 0 ? 1 : 0;
    return sampled_share(s, x0, y0, x1, y1);
}

/* ---- lattices ---------------------------------------------------------------------------- */

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
                w = sim_shape_coverage(shape, p.x - p.hx, p.y - p.hy, p.x + p.hx, p.y + p.hy);
            else
                w = weight(shape, &p);
            out[(j - j0) * lattice->nx + i] = (float)w;
        }
}
