/* flow.h - what a backend must be able to do for two-dimensional incompressible flow.
 *
 *     du/dt + d(uu)/dx + d(uv)/dy = -dp/dx + nu lap u + f_x       (v likewise)
 *     du/dx + dv/dy = 0
 *
 * by the simplified marker-and-cell method: tentative velocities F, G; a Poisson equation
 * for the pressure's change; correction (A. A. Amsden, F. H. Harlow, J. Comput. Phys. 6,
 * 1970; convective terms after M. Griebel et al., Numerical Simulation in Fluid Dynamics,
 * 1998, with the blend chi). F holds the old pressure's gradient too, so that the
 * equation is for the increment.
 *
 * Layout. Every array of the grid has one shape: element (i, j) at data + j*pitch + i, -1
 * <= i <= nx + 1, -1 <= j <= ny + 1, `data` being element (0, 0). u(i, j) is at the west
 * face of cell (i, j), v(i, j) at its south face, everything else at its centre. What is
 * outside the domain is a ghost, set after each step from the sides' conditions.
 *
 * Flags, one byte an element: see enum sim_flow_flag. A face is free where momentum and
 * pressure decide it; else it keeps what the sides' conditions give, 0 in an obstacle.
 *
 * Sides: one struct sim_flow_edge a cell along west [ny], east [ny], south [nx], north
 * [nx], in this order.
 *
 * The time step, the time and every decision live in struct sim_flow_control on the
 * device: nothing waits. */
#ifndef FLOW_H
#define FLOW_H

#include "../src/device.h"
#include "poisson.h"

#define SIM_FLOW_LEAD    16 /* elements before column 0, and between */
#define SIM_FLOW_SCALARS 8
#define SIM_FLOW_SIGNALS 16
#define SIM_FLOW_REGIONS 64 /* with an outflow to balance */

enum sim_flow_flag {
    SIM_FLOW_FLUID = 1,
    SIM_FLOW_U = 2,       /* the west face is free */
    SIM_FLOW_V = 4,       /* the south face is free */
    SIM_FLOW_U_NORTH = 8, /* the u above is a wall's */
    SIM_FLOW_U_SOUTH = 16,
    SIM_FLOW_V_EAST = 32,
    SIM_FLOW_V_WEST = 64,
};

enum sim_flow_kind {
    SIM_FLOW_NO_SLIP, /* highest first: who decides where two kinds meet */
    SIM_FLOW_INFLOW,
    SIM_FLOW_FREE_SLIP,
    SIM_FLOW_OUTFLOW,  /* convective */
    SIM_FLOW_PRESSURE, /* prescribed, no stress: zero-stress is a pressure of 0 */
    SIM_FLOW_PERIODIC,
};

enum sim_flow_signal_kind { SIM_FLOW_STEADY, SIM_FLOW_RAMP, SIM_FLOW_SINE };

/* w(t): 1; min(t/duration, 1); mean + amplitude sin(2 pi (t/period + phase)) */
struct sim_flow_signal {
    double mean, amplitude, period, phase;
    int64_t kind;
};

struct sim_flow_edge {
    double normal;   /* along +x or +y */
    double tangent;  /* along the other axis */
    double pressure; /* where prescribed */
    int32_t kind, signal;
    int32_t region; /* of the cell inside; -1: none, or nothing to balance */
    int32_t pad;
};

/* What a scalar does at a side: 0 flux, or a value. */
struct sim_flow_scalar_edge {
    double value;
    int32_t fixed, pad;
};

/* A face near a curved wall. theta: the distance to the wall in cells, in (0, 1], where a
 * neighbour is beyond it; 2 where it is not. Order: east, west, north, south. */
struct sim_flow_cut {
    int64_t element;
    int32_t is_v, pad;
    double theta[4];
};

/* On the device. */
struct sim_flow_control {
    double time, dt;
    double target; /* steps beyond it are passed over; +inf */
    double u_max, v_max, force_max;
    double tentative_max; /* of |F|, |G| */
    double cfl_max;       /* dt (|u|/dx + |v|/dy), the largest yet */
    double change;        /* max |u' - u| / (dt max |u|) of the last step */
    double imbalance;     /* what outflows were corrected by, relative to the inflow */
    double outflow_speed, fastest_outflow; /* the largest mean one, of the last step */
    double largest_change;
    double lead; /* how far ahead of `time` the sides' conditions are taken */
    int64_t steps, skip;
    int64_t fresh, held; /* steps that are still to be corrected twice; skip meanwhile */
    int64_t bad_step;    /* first step whose velocity was not finite; 0: none */
    int64_t unstable_step; /* first for which a fixed dt was too long; 0: none */
    double unstable_limit; /* and the longest that would do there */
    int64_t size[6];       /* maxima under way, as poisson_size (GPU); 0 between passes */
    int64_t arrived;       /* blocks that gave theirs */
    struct sim_poisson_control solve;
};

/* Massless points that go with the flow. A marker is four floats: x, y, age, kind; age <
 * 0: none. The first `seeded` were put there once; what is left is a ring into which each
 * emitter puts one every `every` steps, the oldest giving way. */
struct sim_flow_markers {
    void *marker; /* NULL: none */
    int64_t capacity, seeded;
    const float *emitter; /* x, y, kind of each */
    int64_t emitters, every;
};

struct sim_flow_system {
    struct sim_device *device;
    int64_t nx, ny, pitch;
    double dx, dy, x0, y0;
    double nu, chi;
    double force[2];
    const void *force_field[2]; /* accelerations at cells; NULL */

    /* Buoyancy: (T - reference) * buoyancy[axis] with T = scalar `heat`; -1: none. */
    int heat;
    double buoyancy[2], reference;

    void *u[2], *v[2], *p; /* [0] now; [1] tentative, then that of a step before */
    const uint8_t *flags;
    const struct sim_flow_cut *cut;
    int64_t cut_count;

    bool periodic_x, periodic_y;
    const struct sim_flow_edge *edge;
    const struct sim_flow_signal *signal; /* [SIM_FLOW_SIGNALS] */
    int balanced_regions;

    int scalars;
    void *scalar[SIM_FLOW_SCALARS][2]; /* now, and scratch */
    double diffusivity[SIM_FLOW_SCALARS];
    const struct sim_flow_scalar_edge *scalar_edge[SIM_FLOW_SCALARS];
    /* Where not 0, the share of the value that is put there each step; NULL. */
    const float *hold[SIM_FLOW_SCALARS];
    const void *held[SIM_FLOW_SCALARS]; /* reals; with `hold` */

    /* Closed regions: cells (elements) of each, one after the other; region k has those
       from closed_first[k] to closed_first[k+1]. Their mean pressure stays 0. */
    const int64_t *closed_cell, *closed_first; /* device */
    int64_t closed_regions, closed_cells;
    double *closed_sum; /* device, of chunks of SIM_FLOW_CHUNK cells; then the means */
    const int64_t *closed_chunk; /* device: first chunk of each region, [regions + 1] */
    int64_t closed_chunks;

    struct sim_flow_markers markers;

    double fixed_dt; /* 0: from the limits */
    double cfl, dt_max, wall_speed[2];
    /* Steps after a change from outside are corrected twice (control->fresh says which);
       false: the host knows that there are none. */
    bool refines;
    double tolerance; /* max |div u| h / U */
    struct sim_flow_control *control;
    struct sim_poisson_system poisson;
};

#define SIM_FLOW_CHUNK 4096
#define SIM_FLOW_FRESH 2 /* steps after a change whose whole pressure is new */

/* Quantities that are computed when asked for; at cells unless said otherwise. */
enum sim_flow_derived {
    SIM_FLOW_SPEED,
    SIM_FLOW_VORTICITY, /* dv/dx - du/dy at the nodes, averaged to cells */
    SIM_FLOW_DIVERGENCE,
    SIM_FLOW_DENSITY, /* 1 + p: of a weakly compressible fluid, in units of rho U^2 */
    SIM_FLOW_STREAM,  /* stream function at the nodes, (nx + 1) x (ny + 1) */
    SIM_FLOW_CENTRE_U,
    SIM_FLOW_CENTRE_V,
    SIM_FLOW_MARKERS, /* how many are in a cell */
    SIM_FLOW_DERIVED_COUNT
};

/* A rectangle of cells whose balance of momentum gives the force on what is inside. */
struct sim_flow_box {
    int64_t i0, i1, j0, j1; /* cells i0 <= i < i1 */
    double x, y;            /* torque is about this point */
};

struct sim_flow_ops {
    const char *name;
    size_t real_bytes;
    /* Ghosts and sides of the velocity that is now, from time 0: before the first step,
       and after every change from outside. */
    enum sim_status (*settle)(struct sim_flow_system *);
    /* `count` steps, or fewer when control->target is reached. Enqueues. */
    enum sim_status (*step)(struct sim_flow_system *, int64_t count);
    /* Make the pressure and the velocity that is now divergence-free, without time
       passing. */
    enum sim_status (*project)(struct sim_flow_system *);
    enum sim_status (*derive)(struct sim_flow_system *, enum sim_flow_derived, void *out,
                              int64_t pitch);
    /* max |div u| and the control's maxima of now into out[0..2] (device doubles): div,
       |u|, |v|. */
    enum sim_status (*measure)(struct sim_flow_system *, double *out);
    /* Force and torque of the last step on what is in the box: out[0..2]. */
    enum sim_status (*force)(struct sim_flow_system *, const struct sim_flow_box *,
                             double *out);
};

const struct sim_flow_ops *sim_flow_ops(enum sim_device_kind kind, bool is_double);
extern const struct sim_flow_ops sim_flow_ops_cpu_f32, sim_flow_ops_cpu_f64;
const struct sim_flow_ops *sim_flow_ops_cuda(bool is_double);

#endif
