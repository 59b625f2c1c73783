/* diffusion.h - diffusion and reaction on a rectangle of cells.
 *
 *     du/dt = div(D grad u) + sources + f(u, v)
 *
 * Cell (i, j) stands for the box of dx by dy around (x0 + (i + 1/2) dx, y0 + (j + 1/2)
 * dy). Everything about a system is settled by calls before its first step, on the host;
 * the state stays on the device. step and advance enqueue and return. */
#ifndef SIM_DIFFUSION_H
#define SIM_DIFFUSION_H

#include "../kernels/diffusion.h"
#include "field.h"

enum sim_integrator { SIM_EULER, SIM_CRANK_NICOLSON, SIM_ADI };

struct sim_diffusion_desc {
    int64_t nx, ny;
    int64_t count; /* independent members of equal parameters; 0 means 1 */
    double x0, y0, dx, dy;
    double dt;
    double diffusivity[SIM_SPECIES_MAX][2]; /* along x and y */
    enum sim_reaction reaction;
    double number[SIM_REACTION_NUMBERS]; /* kernels/reaction_math.h */
    bool is_double;
    enum sim_integrator integrator;
    double time; /* before the first step */
    struct sim_diffusion_tuning tuning;
};

/* How a quantity varies in time: w(t). */
enum sim_signal_kind {
    SIM_SIGNAL_ONE,   /* 1 */
    SIM_SIGNAL_SINE,  /* mean + amplitude sin(2 pi (t/period + phase)) */
    SIM_SIGNAL_PULSE, /* 1 in [from, to) and, with a period, in its first `duty` share */
    SIM_SIGNAL_TABLE, /* linear between points (t, w), constant beyond */
};

struct sim_signal {
    enum sim_signal_kind kind;
    double mean, amplitude, period, phase;
    double from, to, duty;
    const double (*points)[2];
    int64_t point_count;
};

enum sim_wall_kind { SIM_NO_FLUX, SIM_FIXED, SIM_FLUX, SIM_ROBIN, SIM_PERIODIC };

/* What holds on a side, or on the part of it whose cells' centres lie in [from, to).
 * At the face of the cell, where the wall is:
 *     no flux   g = u_0                  fixed   g = 2 v - u_0
 *     flux q    g = u_0 + q d/D          Robin   -D du/dn = h (u - v) at the face
 * At the node, i.e. the outermost sample is the wall itself (source text: u_-1 = u_1):
 *     no flux   g = u_1                  fixed   g = v (the wall is one spacing out)
 *     flux q    g = u_1 + 2 q d/D        Robin   g = u_1 - 2 d h/D (u_0 - v)
 * q is the flux into the domain, d the spacing, and v or q is multiplied by the signal.
 */
struct sim_wall_desc {
    enum sim_side side;
    enum sim_wall_kind kind;
    bool at_node;
    int species; /* -1: all */
    bool part;   /* from and to count; else the whole side */
    double from, to;
    double value;         /* v or q */
    double h;             /* Robin */
    const double *values; /* one a cell of the whole side, instead of value; NULL */
    int signal;           /* 0: constant in time */
};

struct sim_diffusion {
    struct sim_diffusion_desc desc;
    const struct sim_diffusion_ops *ops;
    struct sim_diffusion_system system;
    struct sim_buffer arrays[SIM_SPECIES_MAX][2]; /* now and next, in turns */
    struct sim_buffer conductance[SIM_SPECIES_MAX], mask, edges[SIM_SPECIES_MAX],
        edge_signals[SIM_SPECIES_MAX], signals, source[SIM_SOURCE_FIELDS], workspace,
        lines;                /* of the implicit sweeps */
    struct sim_field *fields; /* [species][count] */

    struct sim_wall *walls[SIM_SPECIES_MAX]; /* host: west, east, south, north */
    uint8_t *wall_signals[SIM_SPECIES_MAX];
    bool periodic[SIM_SIDES];
    struct sim_signal signal[SIM_SIGNAL_USER];
    int signal_count;
    struct sim_constant_source {
        double value;
        int species, signal;
    } constant[SIM_SOURCE_FIELDS];
    int constant_count;
    double diffusivity_max[SIM_SPECIES_MAX]; /* of the field; where there is one */
    double *edge_D[SIM_SPECIES_MAX]; /* and its values along the sides, as walls */

    bool ready; /* device tables agree with the host's */
    int64_t steps;
};

/* All walls no-flux at the face, u and v zero. SIM_BAD_ARGUMENT for sizes, spacings or
 * diffusivities that make no sense; SIM_DEVICE_MEMORY. The limit of the explicit step is
 * checked at the first step, when all is known: SIM_BAD_ARGUMENT names it. */
enum sim_status sim_diffusion_new(struct sim_device *device,
                                  const struct sim_diffusion_desc *desc,
                                  struct sim_diffusion *out);
void sim_diffusion_free(struct sim_diffusion *d);

/* Set-up; each may be called again between steps, and a checkpoint keeps what it did. */
enum sim_status sim_diffusion_add_signal(struct sim_diffusion *d,
                                         const struct sim_signal *signal, int *index);
enum sim_status sim_diffusion_set_wall(struct sim_diffusion *d,
                                       const struct sim_wall_desc *wall);
/* A source of `rate` per time; as a field where `field` is not NULL (its values are kept
 * as they are now). */
enum sim_status sim_diffusion_add_source(struct sim_diffusion *d, int species,
                                         double rate, struct sim_field *field,
                                         int signal);
/* D from a field, for both axes; copied. Values must be >= 0. Walls with a flux take D
 * from the field as it is when they are set. Waits. */
enum sim_status sim_diffusion_set_diffusivity(struct sim_diffusion *d, int species,
                                              struct sim_field *field);
/* Cells outside the shape take no part. */
enum sim_status sim_diffusion_set_domain(struct sim_diffusion *d,
                                         const struct sim_shape *shape);

/* A species of a member, as a view. */
struct sim_field *sim_diffusion_field(struct sim_diffusion *d, int species,
                                      int64_t member);

/* The largest explicit time step: 4 (r_x + r_y) + dt k <= 2 and its like at walls. */
enum sim_status sim_diffusion_limit(struct sim_diffusion *d, double *dt);

enum sim_status sim_diffusion_step(struct sim_diffusion *d, int64_t count);
/* Steps until at least `duration` has passed. */
enum sim_status sim_diffusion_advance(struct sim_diffusion *d, double duration);
double sim_diffusion_time(const struct sim_diffusion *d);

/* What step(count) would do, in words. */
enum sim_status sim_diffusion_describe(struct sim_diffusion *d, int64_t count, char *text,
                                       size_t size);

/* Device tables up to date and all checks done; step calls it. */
enum sim_status sim_diffusion_prepare(struct sim_diffusion *d);
/* Uploads rows of signals for `rows` steps from now. */
enum sim_status sim_diffusion_signals(struct sim_diffusion *d, int64_t rows);
bool sim_diffusion_varies(const struct sim_diffusion *d); /* in time, by a signal */
/* A row of signals for time t; rows of one's own to the device, overwriting them here. */
void sim_diffusion_row(const struct sim_diffusion *d, double t, double row[SIM_SIGNALS]);
enum sim_status sim_diffusion_put_rows(struct sim_diffusion *d,
                                       double (*row)[SIM_SIGNALS], int64_t rows);
double sim_signal_at(const struct sim_signal *signal, double t);

/* diffusion_walls.c, for diffusion.c: cells along a side, and where it begins in the
 * walls; host tables of no-flux walls; host tables to the device; D of the outermost
 * cells. */
int64_t sim_diffusion_side_length(const struct sim_diffusion *d, int side);
int64_t sim_diffusion_side_start(const struct sim_diffusion *d, int side);
enum sim_status sim_diffusion_make_walls(struct sim_diffusion *d);
enum sim_status sim_diffusion_prepare_walls(struct sim_diffusion *d);
enum sim_status sim_diffusion_keep_edges(struct sim_diffusion *d, int s,
                                         struct sim_field *field);

/* diffusion_jump.c: the exact result of `steps` explicit steps (continuous: of the
 * differential equation over steps*dt) at once, for constant coefficients, one kind of
 * wall a side, no signals, no reaction but decay. Waits for nothing. */
enum sim_status sim_diffusion_jump(struct sim_diffusion *d, int64_t steps,
                                   bool continuous);
/* The same for any scheme; and why that cannot be done with this system, NULL where it
 * can (after sim_diffusion_prepare). */
enum sim_status sim_diffusion_modes(struct sim_diffusion *d, enum sim_modal_scheme scheme,
                                    int64_t steps);
const char *sim_diffusion_no_modes(const struct sim_diffusion *d);

/* diffusion_implicit.c: steps of Crank-Nicolson or of ADI; step calls it. */
enum sim_status sim_diffusion_implicit(struct sim_diffusion *d, int64_t count);
/* What that would do, in words. */
const char *sim_diffusion_implicit_name(const struct sim_diffusion *d);

/* diffusion.c: the rate of the sharpest mode along an axis, at most (dt times it is 4 r
 * between walls that let nothing through). */
double sim_diffusion_axis_rate(const struct sim_diffusion *d, int s, int axis);

#endif
