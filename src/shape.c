/* shape.c - shapes as a tree: making them and counting their owners. Questions are
 * answered in shape_query.c.
 *
 * Single shapes are leaves. Moving, turning and scaling (similarities) a disc, polygon,
 * half-plane or upright box gives another leaf; what is left (a turned box, pictures,
 * ellipses) is looked at through a `placed` node that maps points back. Every node knows
 * a box that holds it, so that a union of thousands is asked only where they are. */
#include "shape_node.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 20000 /* of a tree: questions recurse */
#define PI        3.14159265358979323846
#define FAR       9.0 /* sigmas, beyond which a Gaussian is below 3e-18 */

/* ---- making
 * ----------------------------------------------------------------------------- */

static enum sim_status make(enum shape_kind kind, struct sim_shape **out)
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

enum sim_status sim_shape_disc(const double centre[2], double radius,
                               struct sim_shape **out)
{
    if (!finite2(centre) || !(radius > 0) || !isfinite(radius))
        return sim_fail(SIM_BAD_ARGUMENT, "disc: a centre and a radius > 0 are needed");
    SIM_TRY(make(SHAPE_DISC, out));
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
        return sim_fail(SIM_BAD_ARGUMENT,
                        "box: from must be left of and below to, got "
                        "{ %g, %g } and { %g, %g }",
                        from[0], from[1], to[0], to[1]);
    SIM_TRY(make(SHAPE_BOX, out));
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
        return sim_fail(SIM_BAD_ARGUMENT,
                        "polygon: at least 3 corners are needed, got %lld",
                        (long long)count);
    for (int64_t k = 0; k < count; k++)
        if (!finite2(corners[k]))
            return sim_fail(SIM_BAD_ARGUMENT, "polygon: corner %lld is not finite",
                            (long long)k + 1);
    SIM_TRY(make(SHAPE_POLYGON, out));
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
        return sim_fail(
            SIM_BAD_ARGUMENT,
            "half_plane: a point and a normal that is not { 0, 0 } are needed");
    SIM_TRY(make(SHAPE_HALF_PLANE, out));
    struct sim_shape *s = *out;
    memcpy(s->point, point, sizeof s->point);
    for (int c = 0; c < 2; c++)
        s->other[c] = normal[c] / length;
    set_box(s, s->other[0] == -1 ? point[0] : -INFINITY,
            s->other[1] == -1 ? point[1] : -INFINITY,
            s->other[0] == 1 ? point[0] : INFINITY,
            s->other[1] == 1 ? point[1] : INFINITY);
    return SIM_OK;
}

enum sim_status sim_shape_gaussian(const double centre[2], const double sigma[2],
                                   struct sim_shape **out)
{
    if (!finite2(centre) || !finite2(sigma) || !(sigma[0] > 0 && sigma[1] > 0))
        return sim_fail(SIM_BAD_ARGUMENT,
                        "gaussian: a centre and a sigma > 0 are needed");
    SIM_TRY(make(SHAPE_GAUSSIAN, out));
    (*out)->profile = true;
    memcpy((*out)->point, centre, sizeof(*out)->point);
    memcpy((*out)->other, sigma, sizeof(*out)->other);
    set_box(*out, centre[0] - FAR * sigma[0], centre[1] - FAR * sigma[1],
            centre[0] + FAR * sigma[0], centre[1] + FAR * sigma[1]);
    return SIM_OK;
}

enum sim_status sim_shape_image(const struct sim_shape_image *image,
                                struct sim_shape **out)
{
    *out = NULL;
    if (!finite2(image->position) || !(image->width > 0) || !isfinite(image->width) ||
        !(image->height >= 0) || !isfinite(image->height))
        return sim_fail(SIM_BAD_ARGUMENT, "image: a position and a width > 0 are needed");
    SIM_TRY(make(SHAPE_IMAGE, out));
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
    set_box(s, s->point[0], s->point[1], s->point[0] + image->width,
            s->point[1] + height);
    return SIM_OK;
}

/* ---- owners
 * ------------------------------------------------------------------------------ */

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

/* ---- compounds
 * --------------------------------------------------------------------------- */

static enum sim_status compound(enum shape_kind kind, struct sim_shape *a,
                                struct sim_shape *b, struct sim_shape **out)
{
    int depth = b && b->depth > a->depth ? b->depth : a->depth;
    *out = NULL;
    if (depth >= DEPTH_MAX)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "a shape of more than %d shapes within each other", DEPTH_MAX);
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
    SIM_TRY(compound(SHAPE_UNION, a, b, out));
    set_box(*out, fmin(a->box[0], b->box[0]), fmin(a->box[1], b->box[1]),
            fmax(a->box[2], b->box[2]), fmax(a->box[3], b->box[3]));
    return SIM_OK;
}

enum sim_status sim_shape_intersection(struct sim_shape *a, struct sim_shape *b,
                                       struct sim_shape **out)
{
    SIM_TRY(compound(SHAPE_INTERSECTION, a, b, out));
    double x0 = fmax(a->box[0], b->box[0]), y0 = fmax(a->box[1], b->box[1]);
    set_box(*out, x0, y0, fmax(x0, fmin(a->box[2], b->box[2])),
            fmax(y0, fmin(a->box[3], b->box[3])));
    return SIM_OK;
}

enum sim_status sim_shape_complement(struct sim_shape *a, struct sim_shape **out)
{
    SIM_TRY(compound(SHAPE_COMPLEMENT, a, NULL, out));
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

/* ---- similarities
 * ------------------------------------------------------------------------ */

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
    sim_similarity_apply(m, a->point, p);
    sim_similarity_apply(m, a->other, q);
    const double from[2] = {fmin(p[0], q[0]), fmin(p[1], q[1])};
    const double to[2] = {fmax(p[0], q[0]), fmax(p[1], q[1])};
    return sim_shape_box(from, to, out);
}

static enum sim_status place_polygon(const struct sim_shape *a,
                                     const struct similarity *m, struct sim_shape **out)
{
    SIM_TRY(sim_shape_polygon((const double(*)[2])a->corners, a->count, out));
    for (int64_t k = 0; k < a->count; k++)
        sim_similarity_apply(m, a->corners[k], (*out)->corners[k]);
    box_of_corners(*out);
    return SIM_OK;
}

static enum sim_status place_half_plane(const struct sim_shape *a,
                                        const struct similarity *m,
                                        struct sim_shape **out)
{
    const struct similarity turn = {.ax = m->ax, .ay = m->ay};
    double point[2], normal[2];
    sim_similarity_apply(m, a->point, point);
    sim_similarity_apply(&turn, a->other, normal);
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
        sim_similarity_apply(m, corner, at);
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
        return sim_fail(SIM_BAD_ARGUMENT,
                        "a shape cannot be moved, turned or scaled so far");
    if (a->kind == SHAPE_DISC) {
        sim_similarity_apply(m, a->point, centre);
        return sim_shape_disc(centre, a->other[0] * factor, out);
    }
    if (a->kind == SHAPE_BOX && (m->ax == 0 || m->ay == 0))
        return place_box(a, m, out);
    if (a->kind == SHAPE_POLYGON)
        return place_polygon(a, m, out);
    if (a->kind == SHAPE_HALF_PLANE)
        return place_half_plane(a, m, out);
    SIM_TRY(compound(SHAPE_PLACED, a, NULL, out));
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

enum sim_status sim_shape_rotate(struct sim_shape *a, double degrees,
                                 const double about[2], struct sim_shape **out)
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
