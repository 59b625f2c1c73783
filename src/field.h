/* field.h - a two-dimensional array of numbers on a device, with its place in the plane.
 *
 * Row-major: cell (i, j) is element j*pitch + i, i to the right, j upward from the lower
 * left. Its sample stands at (x0 + (i + ox) dx, y0 + (j + oy) dy): ox = oy = 1/2 for cell
 * centres; 0, 1/2 for faces between west and east neighbours; 0, 0 for nodes.
 *
 * A field owns its array, or is a view of a solver's. A solver keeps `struct sim_field`
 * members and swaps `data` as it steps; Lua holds pointers to them (sim_lua_push_field),
 * so nothing is copied. The hooks let a derived quantity be computed when it is asked
 * for.
 *
 * Everything is enqueued, except what returns a number or an array: that waits. The same
 * values give the same bits on the CPU (any number of threads) and on CUDA.
 *
 * Not here: boundaries, halos, more than two dimensions. */
#ifndef SIM_FIELD_H
#define SIM_FIELD_H

#include "device.h"
#include "shape.h"
#include "../kernels/field.h"

#define SIM_FIELD_NAME      24
#define SIM_FIELD_CELLS_MAX ((int64_t)1 << 40)

/* When, for a solver that keeps its time on the device. */
struct sim_field_clock {
    int64_t step, bad_step; /* first step that was not finite; 0: none */
    double time, cfl;
};

struct sim_field {
    struct sim_device *device;
    const struct sim_field_ops *ops; /* kernels/field.h, of its precision */
    struct sim_buffer own;           /* empty for a view */
    void *data;                      /* device pointer to element 0 */
    const uint8_t *mask; /* device pointer, nx*ny, packed (no pitch): cells that are not 0
                            take no part in sums and checks, and are drawn in the mask's
                            colour; NULL: all take part */
    const uint8_t *veil; /* as mask, for smooth pictures alone; NULL: the mask */
    int64_t nx, ny, pitch; /* pitch >= nx, in elements */
    bool is_double;
    double x0, y0, dx, dy, ox, oy;

    char name[SIM_FIELD_NAME]; /* for messages: "u"; "" for a field of the script's */
    int64_t step;              /* of the solver, for messages and pictures */
    double time;

    bool read_only; /* a derived quantity: cannot be painted */
    void *solver;   /* whose view this is; for the hooks */
    enum sim_status (*prepare)(
        struct sim_field *);             /* before each use: bring data, step and
                                            time up to date; NULL: they are */
    void (*touched)(struct sim_field *); /* after each change; NULL */
    /* Enqueue a struct sim_field_clock into *to, for the message of a picture that shows
       a value that is not finite; NULL: step and time above are right. */
    enum sim_status (*clock)(struct sim_field *, struct sim_buffer *to, size_t offset);
    /* What covers a picture whose pixels are this lattice, rows from the lower left: on
       the device, the share of each, 0..255, rows from the top. Brings veil up to date.
       *share stays NULL where nothing covers it. NULL: nothing ever does. */
    enum sim_status (*cover)(struct sim_field *, const struct sim_lattice *pixels,
                             const uint8_t **share);
    /* The points that it counts: x, y, and a third that is negative for no point; NULL:
       it counts none. */
    const float (*(*points)(struct sim_field *, int64_t *count))[4];
    struct sim_buffer scratch, dots; /* partial sums; made when first needed */

    bool ranged; /* a picture with an automatic range fixed it: part of a solver's state,
                  */
    double range[2]; /* or a run that goes on would choose another */
};

struct sim_field_desc {
    int64_t nx, ny;
    bool is_double;
    double x0, y0, dx, dy, ox, oy;
    const char *name; /* NULL: "" */
};

/* A field of zeros that owns its array. SIM_BAD_ARGUMENT for sizes below 1 or too large,
 * for a spacing that is not positive; SIM_DEVICE_MEMORY. */
enum sim_status sim_field_new(struct sim_device *device,
                              const struct sim_field_desc *desc, struct sim_field *out);
/* A view of a solver's array, pitch = nx. Nothing is allocated. */
enum sim_status sim_field_view(struct sim_device *device,
                               const struct sim_field_desc *desc, void *data,
                               struct sim_field *out);
/* Views too: frees scratch, not the data. Freeing twice is fine. */
void sim_field_free(struct sim_field *field);

/* What every function below does first: run the prepare hook, if any. */
enum sim_status sim_field_prepare(struct sim_field *field);

/* The lattice of its samples. */
struct sim_lattice sim_field_lattice(const struct sim_field *field);

/* ---- changing -------------------------------------------------------------------------
 */

enum sim_paint_mode { SIM_PAINT_SET, SIM_PAINT_ADD, SIM_PAINT_MAX };

/* With w the shape's weight at a cell (1 everywhere without a shape) and v the value:
 * set: u + w (v - u);  add: u + w v;  max: the larger of u and w v where w > 0. */
struct sim_paint {
    const struct sim_shape *shape; /* NULL: everywhere */
    bool soft;                     /* w is the share of the cell inside, not 0 or 1 */
    enum sim_paint_mode mode;
    double value;
    const double *values; /* host, nx*ny, packed: instead of value; NULL */
    bool noise;           /* instead of value: uniform in (low, high), by seed and cell */
    uint64_t seed;
    double low, high;
};
enum sim_status sim_field_paint(struct sim_field *field, const struct sim_paint *paint);

enum sim_status sim_field_fill(struct sim_field *field, double value);
enum sim_status sim_field_scale(struct sim_field *field, double factor);
enum sim_status sim_field_shift(struct sim_field *field, double term); /* u + term */
/* u + factor * other; same size, any precision. SIM_BAD_ARGUMENT otherwise. */
enum sim_status sim_field_add(struct sim_field *field, struct sim_field *other,
                              double factor);
enum sim_status sim_field_clamp(struct sim_field *field, double low, double high);
/* Copy of values, converted. Sizes must agree. */
enum sim_status sim_field_copy(struct sim_field *to, struct sim_field *from);

/* ---- asking: these wait ---------------------------------------------------------------
 */

struct sim_field_sums {
    double sum,
        squares;     /* of u and u^2, in double, by the fixed tree of kernels/field.h */
    double min, max; /* NaN if any value is */
    int64_t count;   /* cells that are not masked */
};
enum sim_status sim_field_sums(struct sim_field *field, struct sim_field_sums *out);
/* First cell c = j*nx + i that is not finite; INT64_MAX: none. */
enum sim_status sim_field_check(struct sim_field *field, int64_t *out);
/* Bilinear between samples; constant beyond the outermost ones. */
enum sim_status sim_field_probe(struct sim_field *field, double x, double y, double *out);
enum sim_status sim_field_get(struct sim_field *field, int64_t i, int64_t j, double *out);
/* All nx*ny values, packed, as double. write: sets them; `from` may be reused on return.
 */
enum sim_status sim_field_read(struct sim_field *field, double *to);
enum sim_status sim_field_write(struct sim_field *field, const double *from);

/* Rows j0 <= j < j1 alone. */
enum sim_status sim_field_read_rows(struct sim_field *field, int64_t j0, int64_t j1,
                                    double *to);

/* Files by the name's ending; the first row is the lowest one.
 *   .npy  NumPy's format, shape (ny, nx), in the field's precision; load also takes the
 *         other precision
 *   .csv  numbers with as many digits as the precision needs, commas between
 *   .png  load only: brightness 0..1, the mean over each cell; any size
 * Sizes must agree but for .png. SIM_FILE with the path and the cause. */
enum sim_status sim_field_save(struct sim_field *field, const char *path);
enum sim_status sim_field_load(struct sim_field *field, const char *path);

#endif
