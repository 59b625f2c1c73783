/* shape_node.h - a shape from the inside, for shape.c (making) and shape_query.c
 * (asking). */
#ifndef SIM_SHAPE_NODE_H
#define SIM_SHAPE_NODE_H

#include <stdatomic.h>

#include "shape.h"

enum shape_kind {
    SHAPE_DISC,
    SHAPE_BOX,
    SHAPE_POLYGON,
    SHAPE_HALF_PLANE,
    SHAPE_IMAGE,
    SHAPE_GAUSSIAN,
    SHAPE_UNION,
    SHAPE_INTERSECTION,
    SHAPE_COMPLEMENT,
    SHAPE_PLACED,
};

/* (x, y) -> (ax x - ay y + tx, ay x + ax y + ty): a turn, a scaling and a move. */
struct similarity {
    double ax, ay, tx, ty;
};

struct sim_shape {
    atomic_int owners;
    enum shape_kind kind;
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
    struct similarity inward; /* SHAPE_PLACED: from the plane to the child's own */
    double factor;            /* SHAPE_PLACED: lengths outside per length inside */
};

static inline void sim_similarity_apply(const struct similarity *m, const double in[2],
                                        double out[2])
{
    double x = in[0], y = in[1];
    out[0] = m->ax * x - m->ay * y + m->tx;
    out[1] = m->ay * x + m->ax * y + m->ty;
}

#endif
