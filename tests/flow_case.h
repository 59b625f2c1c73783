/* flow_case.h - what the tests of the flow solver share. */
#ifndef FLOW_CASE_H
#define FLOW_CASE_H

#include "../src/flow.h"
#include "check.h"

#define DEVICES_MAX 2

/* The CPU first, then a GPU if there is one. */
static inline int open_devices(struct sim_device **devices)
{
    int count = 0;
    if (CHECK_OK(sim_device_open("cpu", 2, &devices[count])))
        devices[count++]->poison = true;
    if (sim_device_open("cuda", 0, &devices[count]) == SIM_OK)
        devices[count++]->poison = true;
    else
        check_skip("no GPU: the CUDA half");
    return count;
}

/* Uniform in [0, 1), by index. */
static inline double noise(uint64_t seed, uint64_t index)
{
    uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15u + index * 0xbf58476d1ce4e5b9u;
    x ^= x >> 30, x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27, x *= 0x94d049bb133111ebu;
    x ^= x >> 31;
    return (double)(x >> 11) * 0x1p-53;
}

/* nx by ny square cells over a width of 1. */
static inline struct sim_flow_desc square(int64_t nx, int64_t ny, double nu,
                                          bool is_double)
{
    return (struct sim_flow_desc){.nx = nx,
                                  .ny = ny,
                                  .dx = 1.0 / (double)nx,
                                  .dy = 1.0 / (double)nx,
                                  .nu = nu,
                                  .chi = 0,
                                  .cfl = 0.5,
                                  .tolerance = is_double ? 1e-10 : 1e-6,
                                  .is_double = is_double,
                                  .iterations = 60,
                                  .omega = 1.7};
}

static inline void set_side(struct sim_flow *f, enum sim_flow_side side,
                            enum sim_flow_kind kind, double normal, double tangent)
{
    const struct sim_flow_side_desc d = {
        .side = side, .kind = kind, .normal = normal, .tangent = tangent};
    CHECK_OK(sim_flow_set_side(f, &d));
}

static inline void set_periodic(struct sim_flow *f, int axis)
{
    set_side(f, (enum sim_flow_side)(2 * axis), SIM_FLOW_PERIODIC, 0, 0);
    set_side(f, (enum sim_flow_side)(2 * axis + 1), SIM_FLOW_PERIODIC, 0, 0);
}

static inline void add_disc(struct sim_flow *f, const char *name, double x, double y,
                            double radius)
{
    struct sim_shape *disc = NULL;
    const double centre[2] = {x, y};
    CHECK_OK(sim_shape_disc(centre, radius, &disc));
    CHECK_OK(sim_flow_add_obstacle(f, name, disc));
    sim_shape_release(disc);
}

static inline void add_box(struct sim_flow *f, const char *name, double x0, double y0,
                           double x1, double y1)
{
    struct sim_shape *box = NULL;
    const double from[2] = {x0, y0}, to[2] = {x1, y1};
    CHECK_OK(sim_shape_box(from, to, &box));
    CHECK_OK(sim_flow_add_obstacle(f, name, box));
    sim_shape_release(box);
}

/* All values of a view, packed; free it. */
static inline double *values(struct sim_flow *f, int view)
{
    struct sim_field *field = sim_flow_view(f, view);
    double *out = malloc((size_t)(field->nx * field->ny) * sizeof *out);
    CHECK_OK(sim_field_read(field, out));
    return out;
}

static inline double largest_of(struct sim_flow *f, int view)
{
    struct sim_field_sums sums;
    CHECK_OK(sim_field_sums(sim_flow_view(f, view), &sums));
    return fmax(fabs(sums.min), fabs(sums.max));
}

static inline bool is_small(void)
{
    const char *text = getenv("SIMLUA_SMALL");
    return text && *text && *text != '0';
}

#endif
