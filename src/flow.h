/* flow.h - two-dimensional incompressible flow by the SMAC method (kernels/flow.h).
 *
 * Cell (i, j) stands for the box of dx by dy around (x0 + (i + 1/2) dx, y0 + (j + 1/2)
 * dy). Sides, obstacles, forces and scalars may change between steps: the tables on the
 * device are made again before the next step. The state stays on the device; step and
 * advance enqueue.
 *
 * Units are the script's: with a length L and a speed U of 1, nu is 1/Re. Pressure is
 * divided by the density. */
#ifndef SIM_FLOW_H
#define SIM_FLOW_H

#include "../kernels/flow.h"
#include "fft_library.h"
#include "field.h"

#define SIM_FLOW_NAME      24
#define SIM_FLOW_OBSTACLES 256
#define SIM_FLOW_COVERS    4

enum sim_flow_side { SIM_FLOW_WEST, SIM_FLOW_EAST, SIM_FLOW_SOUTH, SIM_FLOW_NORTH };

enum sim_flow_wall { SIM_FLOW_STAIRCASE, SIM_FLOW_CUT_CELLS };

struct sim_flow_desc {
    int64_t nx, ny;
    double x0, y0, dx, dy;
    double nu, chi; /* viscosity; share of the donor cell, 0..1 */
    double cfl;     /* of the time step, dt (max |u|/dx + max |v|/dy) */
    double dt;      /* fixed; 0: from the limits */
    double dt_max;  /* 0: no bound */
    double tolerance;
    bool is_double;
    enum sim_flow_wall wall;        /* of obstacles */
    enum sim_poisson_method method; /* sim_flow_solver says what SIM_AUTO is */
    int iterations; /* most cycles; Jacobi and SOR: exactly so many sweeps */
    double omega;   /* of SOR */
    double force[2];
    double time; /* before the first step */
};

/* What holds on a side, or on the part of it whose cells' centres lie in [from, to). */
struct sim_flow_side_desc {
    enum sim_flow_side side;
    enum sim_flow_kind kind;
    bool part;
    double from, to;
    double normal, tangent; /* of the wall or what flows in, along +x, +y */
    const double *normals;  /* one a cell of the whole side, instead of normal; NULL */
    double pressure;
    int signal; /* of normal and tangent; 0: steady */
};

struct sim_flow_obstacle {
    char name[SIM_FLOW_NAME];
    struct sim_shape *shape; /* owned */
    /* Around it, for its force; i1 = 0: not looked for since the scene was changed */
    struct sim_flow_box box;
};

/* Obstacles as the pixels of a picture see them. */
struct sim_flow_cover {
    struct sim_buffer share;
    struct sim_lattice pixels; /* nx = 0: to be filled */
    int64_t asked;
};

struct sim_flow_scalar_desc {
    char name[SIM_FLOW_NAME];
    double diffusivity;
};

/* A scalar's value on a side or a part of it; of what flows in there, or held by the
 * wall. */
struct sim_flow_scalar_side {
    enum sim_flow_side side;
    bool part, fixed; /* not fixed: no flux */
    double from, to, value;
};

enum sim_flow_view { /* fields that a script can ask for, before the scalars */
                     SIM_FLOW_VIEW_U,
                     SIM_FLOW_VIEW_V,
                     SIM_FLOW_VIEW_PRESSURE,
                     SIM_FLOW_VIEW_DERIVED, /* + enum sim_flow_derived */
                     SIM_FLOW_VIEWS = SIM_FLOW_VIEW_DERIVED + SIM_FLOW_DERIVED_COUNT
};

#define SIM_FLOW_TRANSFORM_BUFFERS 6

/* The direct solve of the pressure, if it was ever wanted. */
struct sim_flow_transform {
    bool made;
    int plans; /* how many of the two there are */
    struct sim_poisson_transform solver;
    struct sim_buffer own[SIM_FLOW_TRANSFORM_BUFFERS];
    char why[256]; /* SIM_AUTO: why it is not done; "" */
};

struct sim_flow {
    struct sim_flow_desc desc;
    const struct sim_flow_ops *ops;
    struct sim_flow_system system;
    struct sim_buffer u[2], v[2], p, flags, cut, edges, signals, control, rows, sums;
    struct sim_buffer closed_cell, closed_first, closed_chunk, closed_sum, mask, answer;
    struct sim_buffer level[SIM_POISSON_LEVELS][6], direction, product, solution;
    struct sim_buffer scalar[SIM_FLOW_SCALARS][2], scalar_edge[SIM_FLOW_SCALARS],
        hold[SIM_FLOW_SCALARS], held[SIM_FLOW_SCALARS], force_field[2];
    struct sim_buffer derived[SIM_FLOW_DERIVED_COUNT], markers, emitters;
    struct sim_flow_transform transform; /* system.poisson points into it */

    /* host */
    struct sim_flow_edge *edge; /* west, east, south, north */
    struct sim_flow_signal signal[SIM_FLOW_SIGNALS];
    int signal_count;
    struct sim_flow_obstacle obstacle[SIM_FLOW_OBSTACLES];
    int obstacle_count;
    struct sim_flow_scalar_desc scalars[SIM_FLOW_SCALARS];
    struct sim_flow_scalar_edge *scalar_side[SIM_FLOW_SCALARS];
    char *packed;        /* the obstacles, for a checkpoint; owned */
    size_t packed_bytes; /* 0: they were changed since */
    uint8_t *solid;      /* [ny][nx]; of the last prepare */
    struct sim_field views[SIM_FLOW_VIEWS], scalar_view[SIM_FLOW_SCALARS];
    struct sim_flow_cover cover[SIM_FLOW_COVERS];
    struct sim_buffer veil;
    int64_t covers_asked;
    bool veiled;  /* veil agrees with the obstacles */
    bool ready;   /* tables on the device agree with the host's */
    bool settled; /* ghosts agree with the velocity */
};

/* All sides no-slip walls, everything at rest. SIM_BAD_ARGUMENT; SIM_DEVICE_MEMORY. */
enum sim_status sim_flow_new(struct sim_device *device, const struct sim_flow_desc *desc,
                             struct sim_flow *out);
void sim_flow_free(struct sim_flow *f);

/* --- the scene ---------------------------------------------------------------------- */

enum sim_status sim_flow_add_signal(struct sim_flow *f,
                                    const struct sim_flow_signal *signal, int *index);
enum sim_status sim_flow_set_side(struct sim_flow *f, const struct sim_flow_side_desc *d);
/* The shape is kept. A name is wanted to ask for forces or to take it away; "": none.
 * SIM_BAD_ARGUMENT when the name is taken. */
enum sim_status sim_flow_add_obstacle(struct sim_flow *f, const char *name,
                                      struct sim_shape *shape);
enum sim_status sim_flow_remove_obstacle(struct sim_flow *f, const char *name);
enum sim_status sim_flow_set_force(struct sim_flow *f, double x, double y);
/* Accelerations at cells, of the grid's size; copied. */
enum sim_status sim_flow_set_force_field(struct sim_flow *f, int axis,
                                         struct sim_field *field);

/* A transported scalar, 0 everywhere, no flux at the sides. Its number into *index. */
enum sim_status sim_flow_add_scalar(struct sim_flow *f,
                                    const struct sim_flow_scalar_desc *desc, int *index);
int sim_flow_find_scalar(const struct sim_flow *f, const char *name); /* -1: none */
enum sim_status sim_flow_set_scalar_side(struct sim_flow *f, int scalar,
                                         const struct sim_flow_scalar_side *side);
/* From now on the scalar is drawn to `value` where the shape is, by its weights. */
enum sim_status sim_flow_hold(struct sim_flow *f, int scalar,
                              const struct sim_shape *shape, double value);
/* Acceleration (T - reference) * buoyancy by the scalar `heat`. */
enum sim_status sim_flow_set_buoyancy(struct sim_flow *f, int heat, double x, double y,
                                      double reference);

/* Massless points that go with the flow: `points` (x, y of each), put in once, and for
 * each of `sources` (x, y) a new one every `every` steps, of which the last `kept` are
 * there. Takes the place of those there were. kind: 0 for points, k for the k-th source,
 * from 1. SIM_BAD_ARGUMENT for a point outside the grid. */
struct sim_flow_marker_desc {
    const double (*points)[2], (*sources)[2];
    int64_t point_count, source_count, every, kept;
};
enum sim_status sim_flow_set_markers(struct sim_flow *f,
                                     const struct sim_flow_marker_desc *desc);
/* `count` points spread by chance, by seed, over the shape (NULL: the whole grid) outside
 * obstacles. SIM_BAD_ARGUMENT where there is next to no room. */
enum sim_status sim_flow_scatter(const struct sim_flow *f, const struct sim_shape *shape,
                                 int64_t count, uint64_t seed, double (*out)[2]);
/* x, y, age and kind of each marker, [capacity][4]; age < 0: none. Waits. */
enum sim_status sim_flow_read_markers(struct sim_flow *f, float *out);

/* Fields of now. u and v may be painted (project them after), scalars too; the rest is
 * read only. */
struct sim_field *sim_flow_view(struct sim_flow *f, int view);
struct sim_field *sim_flow_scalar(struct sim_flow *f, int scalar);

/* --- stepping ----------------------------------------------------------------------- */

/* Tables up to date and all checks done; the others call it. SIM_BAD_ARGUMENT where the
 * scene makes no sense (an inflow without a way out, ...), naming it. */
enum sim_status sim_flow_prepare(struct sim_flow *f);
enum sim_status sim_flow_step(struct sim_flow *f, int64_t count);
/* To exactly `duration` later; the last step, or the last two, are shorter. Waits. */
enum sim_status sim_flow_advance(struct sim_flow *f, double duration);
/* The velocity made free of divergence, after painting. */
enum sim_status sim_flow_project(struct sim_flow *f);

/* --- asking: these wait ------------------------------------------------------------- */

enum sim_status sim_flow_control(struct sim_flow *f, struct sim_flow_control *out);
/* What the pressure is solved by now; *why: what is in the way of "transform", where that
 * was to be found out (SIM_AUTO), or NULL. Prepares; does not wait. */
enum sim_status sim_flow_solver(struct sim_flow *f, enum sim_poisson_method *method,
                                const char **why);
/* max |div u| h / U, U the largest velocity component; 0 at rest. */
enum sim_status sim_flow_divergence(struct sim_flow *f, double *out);
/* The pressure at a point: between the four cells around it; where some of them are
 * solid, by the parabola through three points before the wall. SIM_BAD_ARGUMENT outside
 * the grid, and deep in an obstacle. */
enum sim_status sim_flow_pressure(struct sim_flow *f, double x, double y, double *out);
/* Force along x and y and torque about (x, y) on a named obstacle over the last step, per
 * density and length; by the balance of momentum in a box `margin` cells around it.
 * SIM_BAD_ARGUMENT when no such box is free of the sides and of other obstacles. */
enum sim_status sim_flow_force(struct sim_flow *f, const char *name,
                               const double about[2], double out[3]);

/* --- parts, for flow.c alone -------------------------------------------------------- */

/* An array of the grid's shape, zeros; *data: its element (0, 0). */
enum sim_status sim_flow_array(struct sim_flow *f, int64_t nx, int64_t ny,
                               const char *what, struct sim_buffer *buffer, void **data);
enum sim_status sim_flow_make_views(struct sim_flow *f);
/* The hook of its fields (field.h), and what it kept is no longer right. */
enum sim_status sim_flow_cover(struct sim_field *field, const struct sim_lattice *pixels,
                               const uint8_t **share);
void sim_flow_uncover(struct sim_flow *f);
enum sim_status sim_flow_make_scalar_view(struct sim_flow *f, int k);
enum sim_status sim_flow_upload_scalar_sides(struct sim_flow *f);
int64_t sim_flow_pitch(int64_t nx);
/* Host values [ny + 3][nx + 3] (ring of ghosts included) into such an array. */
enum sim_status sim_flow_upload(struct sim_flow *f, int64_t nx, int64_t ny,
                                const double *values, struct sim_buffer *buffer);
enum sim_status sim_flow_build_solid(struct sim_flow *f, uint8_t *flags);
enum sim_status sim_flow_build_regions(struct sim_flow *f, const uint8_t *flags);
enum sim_status sim_flow_build_levels(struct sim_flow *f, const uint8_t *flags);
enum sim_status sim_flow_choose_solver(struct sim_flow *f, const uint8_t *flags);
void sim_flow_free_transform(struct sim_flow *f);
/* cos and sin of pi k/2n, eigenvalues of modes k and n - k, k = 0 .. n/2 (struct
 * poisson_mode). */
void sim_flow_modes(int64_t n, bool periodic, double coefficient, double (*out)[4]);
int sim_flow_find_obstacle(const struct sim_flow *f, const char *name); /* -1: none */
/* Is cell k of the side in the part of it, [from, to), that is meant? */
bool sim_flow_part_has(const struct sim_flow *f, int side, int64_t k, bool part,
                       double from, double to);
int64_t sim_flow_side_length(const struct sim_flow *f, int side);
int64_t sim_flow_side_start(const struct sim_flow *f, int side);
/* Element (i, j) of host arrays with a ring of ghosts. */
static inline int64_t sim_flow_at(const struct sim_flow *f, int64_t i, int64_t j)
{
    return (j + 1) * (f->desc.nx + 3) + i + 1;
}

#endif
