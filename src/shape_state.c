/* shape_state.c - a shape as bytes and back, for checkpoints.
 *
 * Nodes in preorder: a struct packed, then a polygon's corners and a picture's levels
 * (padded to 8), then the parts. A part that is used twice is written twice. The bytes
 * are this machine's: checkpoints say by themselves when they are another's. */
#include "shape_node.h"

#include <stdlib.h>
#include <string.h>

struct packed {
    int64_t count, width, height; /* corners, pixels */
    int32_t kind, depth, parts, profile, bounded, invert;
    double box[4], point[2], other[2], threshold, factor;
    struct similarity inward;
};

static size_t corner_bytes(int64_t count)
{
    return (size_t)count * 2 * sizeof(double);
}

static size_t level_bytes(int64_t width, int64_t height)
{
    return ((size_t)width * (size_t)height * sizeof(uint16_t) + 7) / 8 * 8;
}

static size_t node_bytes(const struct sim_shape *s)
{
    return sizeof(struct packed) + corner_bytes(s->count) +
           level_bytes(s->raster.width, s->raster.height);
}

size_t sim_shape_packed_bytes(const struct sim_shape *shape)
{
    size_t bytes = 0;
    for (; shape; shape = shape->a) /* chains are long on this side */
        bytes += node_bytes(shape) + (shape->b ? sim_shape_packed_bytes(shape->b) : 0);
    return bytes;
}

static void pack_node(const struct sim_shape *s, char *at)
{
    struct packed p = {.count = s->count,
                       .width = s->raster.width,
                       .height = s->raster.height,
                       .kind = (int32_t)s->kind,
                       .depth = s->depth,
                       .parts = !!s->a + !!s->b,
                       .profile = s->profile,
                       .bounded = s->bounded,
                       .invert = s->invert,
                       .threshold = s->threshold,
                       .factor = s->factor,
                       .inward = s->inward};
    memcpy(p.box, s->box, sizeof p.box);
    memcpy(p.point, s->point, sizeof p.point);
    memcpy(p.other, s->other, sizeof p.other);
    memset(at, 0, node_bytes(s));
    memcpy(at, &p, sizeof p);
    if (s->count)
        memcpy(at + sizeof p, s->corners, corner_bytes(s->count));
    if (s->raster.sums)
        sim_raster_levels(&s->raster,
                          (uint16_t *)(void *)(at + sizeof p + corner_bytes(s->count)));
}

/* The right part before the left one, so that a long chain needs no depth of calls. */
void sim_shape_pack(const struct sim_shape *shape, char **at)
{
    for (; shape; shape = shape->a) {
        pack_node(shape, *at);
        *at += node_bytes(shape);
        if (shape->b)
            sim_shape_pack(shape->b, at);
    }
}

static enum sim_status no_shape(void)
{
    return sim_fail(SIM_FILE, "these bytes are no shape");
}

static bool is_whole(const struct packed *p, size_t left)
{
    const size_t most = left / sizeof(uint16_t); /* against sizes that overflow */
    return p->count >= 0 && p->width >= 0 && p->height >= 0 && p->kind >= 0 &&
           p->kind <= SHAPE_PLACED && (size_t)p->count <= most &&
           (size_t)p->width <= most && (size_t)p->height <= most &&
           (!p->width || (size_t)p->height <= most / (size_t)p->width) &&
           corner_bytes(p->count) + level_bytes(p->width, p->height) <= left &&
           p->parts == (p->kind == SHAPE_UNION || p->kind == SHAPE_INTERSECTION  ? 2
                        : p->kind == SHAPE_COMPLEMENT || p->kind == SHAPE_PLACED ? 1
                                                                                 : 0);
}

static enum sim_status fill_node(struct sim_shape *s, const struct packed *p,
                                 const char *at)
{
    s->kind = (enum shape_kind)p->kind;
    s->depth = p->depth;
    s->profile = p->profile, s->bounded = p->bounded, s->invert = p->invert;
    s->threshold = p->threshold, s->factor = p->factor, s->inward = p->inward;
    memcpy(s->box, p->box, sizeof s->box);
    memcpy(s->point, p->point, sizeof s->point);
    memcpy(s->other, p->other, sizeof s->other);
    if (p->count) {
        s->corners = malloc(corner_bytes(p->count));
        if (!s->corners)
            return sim_fail(SIM_HOST_MEMORY, "out of host memory for a polygon");
        memcpy(s->corners, at, corner_bytes(p->count));
        s->count = p->count;
    }
    if (!p->width || !p->height)
        return SIM_OK;
    return sim_raster_make((const uint16_t *)(const void *)(at + corner_bytes(p->count)),
                           p->width, p->height, &s->raster);
}

/* One node, without its parts; *parts: how many follow. */
static enum sim_status unpack_node(const char **at, const char *end,
                                   struct sim_shape **out, int *parts)
{
    struct packed p;
    if ((size_t)(end - *at) < sizeof p)
        return no_shape();
    memcpy(&p, *at, sizeof p);
    if (!is_whole(&p, (size_t)(end - *at) - sizeof p))
        return no_shape();
    struct sim_shape *s = calloc(1, sizeof *s);
    if (!s)
        return sim_fail(SIM_HOST_MEMORY, "out of host memory for a shape");
    atomic_init(&s->owners, 1);
    *out = s;
    *parts = p.parts;
    SIM_TRY(fill_node(s, &p, *at + sizeof p));
    *at += node_bytes(s);
    return SIM_OK;
}

enum sim_status sim_shape_unpack(const char **at, const char *end, struct sim_shape **out)
{
    struct sim_shape **next = out;
    enum sim_status status = SIM_OK;
    int parts = 1;
    *out = NULL;
    while (parts && status == SIM_OK) {
        status = unpack_node(at, end, next, &parts);
        if (status == SIM_OK && parts == 2)
            status = sim_shape_unpack(at, end, &(*next)->b);
        if (status == SIM_OK)
            next = &(*next)->a;
    }
    if (status != SIM_OK) {
        sim_shape_release(*out);
        *out = NULL;
    }
    return status;
}
