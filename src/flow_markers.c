/* flow_markers.c - massless points that go with the flow: where they begin. Their paths
 * are kernels/flow_marker_math.h. */
#include "flow.h"
#include "../kernels/philox.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCATTER     0x6d61726bu /* the purpose of these random numbers */
#define TRIES       1000        /* a point, on average */
#define MARKERS_MAX ((int64_t)1 << 31)

static enum sim_status check_points(const struct sim_flow *f, const double (*points)[2],
                                    int64_t count, const char *what)
{
    const struct sim_flow_desc *d = &f->desc;
    const double x1 = d->x0 + (double)d->nx * d->dx, y1 = d->y0 + (double)d->ny * d->dy;
    for (int64_t k = 0; k < count; k++)
        if (!(points[k][0] >= d->x0 && points[k][0] <= x1 && points[k][1] >= d->y0 &&
              points[k][1] <= y1))
            return sim_fail(SIM_BAD_ARGUMENT,
                            "flow: %s %lld at (%g, %g) is outside the grid", what,
                            (long long)(k + 1), points[k][0], points[k][1]);
    return SIM_OK;
}

/* A group of markers, all emitters' at once, must fit the ring as a whole. */
static enum sim_status check(const struct sim_flow *f,
                             const struct sim_flow_marker_desc *d)
{
    SIM_TRY(check_points(f, d->points, d->point_count, "marker"));
    SIM_TRY(check_points(f, d->sources, d->source_count, "source"));
    if (d->source_count && (d->every < 1 || d->kept < 1))
        return sim_fail(
            SIM_BAD_ARGUMENT,
            "flow: markers need a number of steps between two and a number kept "
            "of each source, both at least 1");
    if (d->point_count + d->source_count == 0)
        return sim_fail(SIM_BAD_ARGUMENT, "flow: no markers and no sources");
    if (d->point_count > MARKERS_MAX ||
        (d->source_count && d->kept > (MARKERS_MAX - d->point_count) / d->source_count))
        return sim_fail(SIM_BAD_ARGUMENT, "flow: more than %lld markers",
                        (long long)MARKERS_MAX);
    return SIM_OK;
}

static enum sim_status
upload_markers(struct sim_flow *f, const struct sim_flow_marker_desc *d, int64_t capacity)
{
    float(*marker)[4] = malloc((size_t)capacity * sizeof *marker);
    if (!marker)
        return sim_fail(SIM_HOST_MEMORY, "flow: no memory for the markers");
    for (int64_t k = 0; k < capacity; k++) {
        const bool seeded = k < d->point_count;
        marker[k][0] = seeded ? (float)d->points[k][0] : 0;
        marker[k][1] = seeded ? (float)d->points[k][1] : 0;
        marker[k][2] = seeded ? 0 : -1;
        marker[k][3] = 0;
    }
    sim_buffer_free(&f->markers);
    enum sim_status status = sim_buffer_new(
        f->system.device, (size_t)capacity * sizeof *marker, "the markers", &f->markers);
    if (status == SIM_OK)
        status = sim_buffer_write(&f->markers, 0, marker, f->markers.bytes);
    free(marker);
    return status;
}

static enum sim_status upload_emitters(struct sim_flow *f,
                                       const struct sim_flow_marker_desc *d)
{
    float(*emitter)[3] = malloc((size_t)(d->source_count + 1) * sizeof *emitter);
    if (!emitter)
        return sim_fail(SIM_HOST_MEMORY, "flow: no memory for the markers' sources");
    for (int64_t k = 0; k < d->source_count; k++) {
        emitter[k][0] = (float)d->sources[k][0];
        emitter[k][1] = (float)d->sources[k][1];
        emitter[k][2] = (float)(k + 1);
    }
    sim_buffer_free(&f->emitters);
    enum sim_status status =
        sim_buffer_new(f->system.device, (size_t)d->source_count * sizeof *emitter,
                       "the markers' sources", &f->emitters);
    if (status == SIM_OK && d->source_count)
        status = sim_buffer_write(&f->emitters, 0, emitter, f->emitters.bytes);
    free(emitter);
    return status;
}

enum sim_status sim_flow_set_markers(struct sim_flow *f,
                                     const struct sim_flow_marker_desc *desc)
{
    SIM_TRY(check(f, desc));
    const int64_t capacity = desc->point_count + desc->source_count * desc->kept;
    f->system.markers = (struct sim_flow_markers){0};
    SIM_TRY(upload_markers(f, desc, capacity));
    SIM_TRY(upload_emitters(f, desc));
    f->system.markers = (struct sim_flow_markers){.marker = f->markers.data,
                                                  .capacity = capacity,
                                                  .seeded = desc->point_count,
                                                  .emitter = f->emitters.data,
                                                  .emitters = desc->source_count,
                                                  .every = desc->every};
    return SIM_OK;
}

enum sim_status sim_flow_read_markers(struct sim_flow *f, float *out)
{
    return sim_buffer_read(&f->markers, 0, out, f->markers.bytes);
}

static bool is_room(const struct sim_flow *f, const struct sim_shape *shape, double x,
                    double y)
{
    for (int k = 0; k < f->obstacle_count; k++)
        if (sim_shape_inside(f->obstacle[k].shape, x, y))
            return false;
    return !shape || sim_shape_inside(shape, x, y);
}

/* The part of the grid in which the shape lies. */
static void bounds(const struct sim_flow *f, const struct sim_shape *shape, double box[4])
{
    const struct sim_flow_desc *d = &f->desc;
    double own[4];
    box[0] = d->x0, box[1] = d->y0;
    box[2] = d->x0 + (double)d->nx * d->dx, box[3] = d->y0 + (double)d->ny * d->dy;
    if (shape && sim_shape_bounds(shape, own)) {
        box[0] = fmax(box[0], own[0]), box[1] = fmax(box[1], own[1]);
        box[2] = fmin(box[2], own[2]), box[3] = fmin(box[3], own[3]);
    }
}

enum sim_status sim_flow_scatter(const struct sim_flow *f, const struct sim_shape *shape,
                                 int64_t count, uint64_t seed, double (*out)[2])
{
    double box[4], uniform[2];
    int64_t found = 0;
    bounds(f, shape, box);
    for (int64_t k = 0; found < count && k / TRIES <= count; k++) {
        sim_random_uniforms(seed, (uint64_t)k, SCATTER, 0, uniform);
        const double x = box[0] + (box[2] - box[0]) * uniform[0];
        const double y = box[1] + (box[3] - box[1]) * uniform[1];
        if (box[2] > box[0] && box[3] > box[1] && is_room(f, shape, x, y))
            out[found][0] = x, out[found++][1] = y;
    }
    if (found < count)
        return sim_fail(
            SIM_BAD_ARGUMENT,
            "flow: no room for %lld markers: the shape lies outside the grid, or "
            "in obstacles",
            (long long)count);
    return SIM_OK;
}
