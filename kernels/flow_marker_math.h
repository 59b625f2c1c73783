/* flow_marker_math.h - the paths of markers (flow.h), for both backends: the midpoint
 * rule, with the velocity of the step's middle between the grid's faces, of second order
 * in time and space. At the domain's rim, where there are ghosts of now alone, of first
 * order in time. */
#ifndef FLOW_MARKER_MATH_H
#define FLOW_MARKER_MATH_H

#include "flow_math.h"

struct flow_marker {
    float x, y, age, kind;
};

/* A whole number of any size as an index, -2 .. most + 2; NaN as -2. */
SIM_FN int64_t flow_index(double x, int64_t most)
{
    return x >= -2 ? (x <= (double)most + 2 ? (int64_t)x : most + 2) : -2;
}

/* A component between four faces, at cell coordinates where its element (0, 0) is at (0,
 * 0); before: that of the step before, in the domain alone. */
SIM_FN double flow_between(const struct flow_args *a, const real *now, const real *before,
                           double share, double x, double y, int64_t most_i,
                           int64_t most_j)
{
    const double fx = floor(x), fy = floor(y), tx = x - fx, ty = y - fy;
    const int64_t i0 = flow_index(fx, most_i), j0 = flow_index(fy, most_j);
    double corner[2][2];
    for (int m = 0; m < 2; m++)
        for (int k = 0; k < 2; k++) {
            int64_t i = i0 + k, j = j0 + m;
            i = i < -1 ? -1 : i > most_i + 1 ? most_i + 1 : i;
            j = j < -1 ? -1 : j > most_j + 1 ? most_j + 1 : j;
            const int64_t c = j * a->pitch + i;
            const bool inner = i >= 0 && i <= most_i && j >= 0 && j <= most_j;
            corner[m][k] = inner
                               ? share * (double)before[c] + (1 - share) * (double)now[c]
                               : (double)now[c];
        }
    const double low = corner[0][0] + tx * (corner[0][1] - corner[0][0]);
    const double high = corner[1][0] + tx * (corner[1][1] - corner[1][0]);
    return low + ty * (high - low);
}

/* The velocity at a point in cells from the lower left corner; share: of before. */
SIM_FN void flow_velocity_at(const struct flow_args *a, double share, double x, double y,
                             double *u, double *v)
{
    *u = flow_between(a, a->u, a->f, share, x, y - 0.5, a->nx, a->ny - 1);
    *v = flow_between(a, a->v, a->g, share, x - 0.5, y, a->nx - 1, a->ny);
}

/* One marker over the last step: the midpoint rule, with the velocity of its middle. */
SIM_FN void flow_trace(const struct flow_args *a, double x0, double y0,
                       struct flow_marker *marker)
{
    const double dt = a->control->dt, width = (double)a->nx, height = (double)a->ny;
    double u, v;
    if (marker->age < 0)
        return;
    double x = ((double)marker->x - x0) / (double)a->dx;
    double y = ((double)marker->y - y0) / (double)a->dy;
    flow_velocity_at(a, 1, x, y, &u, &v);
    flow_velocity_at(a, 0.5, x + 0.5 * dt * u / (double)a->dx,
                     y + 0.5 * dt * v / (double)a->dy, &u, &v);
    x = x + dt * u / (double)a->dx;
    y = y + dt * v / (double)a->dy;
    if (a->periodic_x)
        x = x - width * floor(x / width);
    if (a->periodic_y)
        y = y - height * floor(y / height);
    marker->x = (float)(x0 + x * (double)a->dx);
    marker->y = (float)(y0 + y * (double)a->dy);
    marker->age = marker->age + (float)dt;
    if (!(x >= 0 && x <= width && y >= 0 && y <= height))
        marker->age = -1;
}

/* What marker k is after a step: where it was carried, or what an emitter put there. */
SIM_FN void flow_marker_step(const struct flow_args *a, const struct sim_flow_markers *m,
                             double x0, double y0, int64_t k)
{
    struct flow_marker *marker = (struct flow_marker *)m->marker + k;
    const int64_t ring = m->capacity - m->seeded, steps = a->control->steps;
    flow_trace(a, x0, y0, marker);
    if (k < m->seeded || !m->emitters || steps % m->every != 0)
        return;
    const int64_t first = steps / m->every % (ring / m->emitters) * m->emitters;
    const int64_t e = k - m->seeded - first;
    if (e < 0 || e >= m->emitters)
        return;
    marker->x = m->emitter[3 * e], marker->y = m->emitter[3 * e + 1];
    marker->kind = m->emitter[3 * e + 2];
    marker->age = 0;
}

/* The cell that marker k is in; -1: none. */
SIM_FN int64_t flow_marker_cell(const struct flow_args *a,
                                const struct sim_flow_markers *m, double x0, double y0,
                                int64_t k, int64_t pitch)
{
    const struct flow_marker *marker = (const struct flow_marker *)m->marker + k;
    const double x = ((double)marker->x - x0) / (double)a->dx,
                 y = ((double)marker->y - y0) / (double)a->dy;
    if (!(marker->age >= 0) || !(x >= 0) || !(y >= 0) || !(x < (double)a->nx) ||
        !(y < (double)a->ny))
        return -1;
    return (int64_t)y * pitch + (int64_t)x;
}

#endif
