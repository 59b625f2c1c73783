/* field.c - fields: making, changing, asking, each once for both backends.
 *
 * A shape is turned into weights on the host and sent up a band of rows at a time, so
 * that painting needs little memory beside the field, whatever its size. */
#include "field.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BAND_BYTES ((size_t)8 << 20)

static size_t real_bytes(const struct sim_field *field)
{
    return field->is_double ? sizeof(double) : sizeof(float);
}

/* The array that a field looks at, as a buffer for copies. */
static struct sim_buffer data_buffer(const struct sim_field *field)
{
    int64_t elements = (field->ny - 1) * field->pitch + field->nx;
    return (struct sim_buffer){field->device, field->data,
                               (size_t)elements * real_bytes(field)};
}

static struct sim_array array_of(const struct sim_field *field)
{
    return (struct sim_array){field->data, field->mask, field->nx, field->ny,
                              field->pitch};
}

/* ---- making
 * ----------------------------------------------------------------------------- */

static enum sim_status check_desc(const struct sim_field_desc *d)
{
    if (d->nx < 1 || d->ny < 1)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "field: a size of %lld x %lld: both must be at least 1",
                        (long long)d->nx, (long long)d->ny);
    if (d->nx > SIM_FIELD_CELLS_MAX / d->ny)
        return sim_fail(SIM_BAD_ARGUMENT, "field: %lld x %lld cells are too many",
                        (long long)d->nx, (long long)d->ny);
    if (!(d->dx > 0) || !(d->dy > 0) || !isfinite(d->dx) || !isfinite(d->dy))
        return sim_fail(SIM_BAD_ARGUMENT, "field: cells must be larger than 0");
    return SIM_OK;
}

enum sim_status sim_field_view(struct sim_device *device,
                               const struct sim_field_desc *desc, void *data,
                               struct sim_field *out)
{
    *out = (struct sim_field){0};
    SIM_TRY(check_desc(desc));
    const struct sim_field_ops *ops = sim_field_ops(device->kind, desc->is_double);
    if (!ops)
        return sim_fail(SIM_DEVICE, "field: this build cannot compute on %s",
                        device->name);
    *out = (struct sim_field){
        .device = device,
        .ops = ops,
        .own = {.device = device},
        .scratch = {.device = device},
        .data = data,
        .nx = desc->nx,
        .ny = desc->ny,
        .pitch = desc->nx,
        .is_double = desc->is_double,
        .x0 = desc->x0,
        .y0 = desc->y0,
        .dx = desc->dx,
        .dy = desc->dy,
        .ox = desc->ox,
        .oy = desc->oy,
    };
    if (desc->name)
        snprintf(out->name, sizeof out->name, "%s", desc->name);
    return SIM_OK;
}

enum sim_status sim_field_new(struct sim_device *device,
                              const struct sim_field_desc *desc, struct sim_field *out)
{
    size_t bytes;
    SIM_TRY(sim_field_view(device, desc, NULL, out));
    SIM_TRY(sim_size_multiply((size_t)(desc->nx * desc->ny), real_bytes(out), "a field",
                              &bytes));
    enum sim_status status = sim_buffer_new(device, bytes, "a field", &out->own);
    out->data = out->own.data;
    if (status == SIM_OK)
        status = sim_buffer_zero(&out->own);
    if (status != SIM_OK)
        sim_field_free(out);
    return status;
}

void sim_field_free(struct sim_field *field)
{
    sim_buffer_free(&field->own);
    sim_buffer_free(&field->scratch);
    sim_buffer_free(&field->dots);
    *field = (struct sim_field){0};
}

struct sim_lattice sim_field_lattice(const struct sim_field *f)
{
    return (struct sim_lattice){
        f->nx, f->ny, f->x0 + f->ox * f->dx, f->y0 + f->oy * f->dy, f->dx, f->dy};
}

/* ---- hooks
 * ------------------------------------------------------------------------------ */

enum sim_status sim_field_prepare(struct sim_field *field)
{
    return field->prepare ? field->prepare(field) : SIM_OK;
}

static enum sim_status begin_change(struct sim_field *field, const char *word)
{
    if (field->read_only)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "%s: the field %s follows from others and cannot be "
                        "changed",
                        word, field->name);
    return sim_field_prepare(field);
}

static enum sim_status end_change(struct sim_field *field, enum sim_status status)
{
    if (field->touched)
        field->touched(field);
    return status;
}

/* ---- painting
 * --------------------------------------------------------------------------- */

/* The rows that a shape can touch. */
static void paint_rows(const struct sim_field *field, const struct sim_shape *shape,
                       int64_t *j0, int64_t *j1)
{
    struct sim_lattice l = sim_field_lattice(field);
    double box[4];
    *j0 = 0;
    *j1 = l.ny;
    if (!shape)
        return;
    sim_shape_bounds(shape, box); /* infinite where there is no bound */
    double low = floor((box[1] - l.y) / l.dy) - 1, high = ceil((box[3] - l.y) / l.dy) + 2;
    *j0 = low > 0 ? (low < (double)l.ny ? (int64_t)low : l.ny) : 0;
    *j1 = high < (double)l.ny ? (high > 0 ? (int64_t)high : 0) : l.ny;
}

/* Room for a band of rows on both sides: weights, then values. */
struct band {
    int64_t rows, nx;
    size_t weight_bytes; /* of a whole band, a multiple of 8 */
    char *host;
    struct sim_buffer device;
};

static enum sim_status band_new(const struct sim_field *field,
                                const struct sim_paint *paint, int64_t rows,
                                struct band *out)
{
    size_t row = (size_t)field->nx * ((paint->shape ? sizeof(float) : 0) +
                                      (paint->values ? sizeof(double) : 0));
    *out = (struct band){.rows = rows, .nx = field->nx};
    out->device.device = field->device;
    if (row == 0)
        return SIM_OK;
    if (out->rows > (int64_t)(BAND_BYTES / row))
        out->rows = (int64_t)(BAND_BYTES / row) + 1;
    if (paint->shape)
        out->weight_bytes = ((size_t)(out->rows * field->nx) * sizeof(float) + 7) / 8 * 8;
    size_t bytes = out->weight_bytes;
    bytes += paint->values ? (size_t)(out->rows * field->nx) * sizeof(double) : 0;
    SIM_TRY(sim_buffer_new(field->device, bytes, "painting a field", &out->device));
    if (out->weight_bytes)
        out->host = malloc(out->weight_bytes);
    if (out->weight_bytes && !out->host)
        return sim_fail(SIM_HOST_MEMORY, "out of host memory while painting");
    return SIM_OK;
}

static void band_free(struct band *band)
{
    free(band->host);
    sim_buffer_free(&band->device);
}

static enum sim_status send_band(const struct sim_field *field,
                                 const struct sim_paint *paint, struct band *band,
                                 struct sim_paint_args *args)
{
    struct sim_lattice lattice = sim_field_lattice(field);
    size_t cells = (size_t)((args->j1 - args->j0) * field->nx);
    if (paint->shape) {
        sim_shape_weights(paint->shape, &lattice, args->j0, args->j1, paint->soft,
                          field->device->threads, (float *)(void *)band->host);
        SIM_TRY(sim_buffer_write(&band->device, 0, band->host, cells * sizeof(float)));
        args->weight = band->device.data;
    }
    if (paint->values) {
        SIM_TRY(sim_buffer_write(&band->device, band->weight_bytes,
                                 paint->values + args->j0 * field->nx,
                                 cells * sizeof(double)));
        args->values = (const double *)(const void *)((const char *)band->device.data +
                                                      band->weight_bytes);
    }
    return SIM_OK;
}

static enum sim_status paint_bands(struct sim_field *field, const struct sim_paint *paint,
                                   int64_t j0, int64_t j1, struct band *band)
{
    const struct sim_array array = array_of(field);
    struct sim_paint_args args = {
        .value = paint->value,
        .mode = (int)paint->mode,
        .noise = paint->noise,
        .seed = paint->seed,
        .low = paint->low,
        .high = paint->high,
    };
    for (int64_t j = j0; j < j1; j += band->rows) {
        args.j0 = j;
        args.j1 = j1 - j < band->rows ? j1 : j + band->rows;
        SIM_TRY(send_band(field, paint, band, &args));
        SIM_TRY(field->ops->paint(field->device, &array, &args));
    }
    return SIM_OK;
}

enum sim_status sim_field_paint(struct sim_field *field, const struct sim_paint *paint)
{
    int64_t j0, j1;
    struct band band;
    SIM_TRY(begin_change(field, "paint"));
    paint_rows(field, paint->shape, &j0, &j1);
    if (j0 >= j1)
        return SIM_OK;
    enum sim_status status = band_new(field, paint, j1 - j0, &band);
    if (status == SIM_OK)
        status = paint_bands(field, paint, j0, j1, &band);
    band_free(&band);
    return end_change(field, status);
}

/* ---- whole fields
 * ----------------------------------------------------------------------- */

static enum sim_status each(struct sim_field *field, const char *word, enum sim_each op,
                            double a, double b)
{
    SIM_TRY(begin_change(field, word));
    const struct sim_array array = array_of(field);
    return end_change(field, field->ops->each(field->device, &array, op, a, b));
}

enum sim_status sim_field_fill(struct sim_field *field, double value)
{
    return each(field, "fill", SIM_EACH_FILL, value, 0);
}

enum sim_status sim_field_scale(struct sim_field *field, double factor)
{
    return each(field, "scale", SIM_EACH_SCALE, factor, 0);
}

enum sim_status sim_field_shift(struct sim_field *field, double term)
{
    return each(field, "add", SIM_EACH_SHIFT, term, 0);
}

enum sim_status sim_field_clamp(struct sim_field *field, double low, double high)
{
    if (!(low <= high))
        return sim_fail(SIM_BAD_ARGUMENT,
                        "clamp: the lower bound %g is above the upper, %g", low, high);
    return each(field, "clamp", SIM_EACH_CLAMP, low, high);
}

static enum sim_status combine(struct sim_field *field, struct sim_field *other,
                               const char *word, double factor, bool replace)
{
    if (field->nx != other->nx || field->ny != other->ny)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "%s: a field of %lld x %lld and one of %lld x %lld", word,
                        (long long)field->nx, (long long)field->ny, (long long)other->nx,
                        (long long)other->ny);
    SIM_TRY(begin_change(field, word));
    SIM_TRY(sim_field_prepare(other));
    const struct sim_array array = array_of(field), from = array_of(other);
    return end_change(field, field->ops->combine(field->device, &array, &from,
                                                 other->is_double, factor, replace));
}

enum sim_status sim_field_add(struct sim_field *field, struct sim_field *other,
                              double factor)
{
    return combine(field, other, "add", factor, false);
}

enum sim_status sim_field_copy(struct sim_field *to, struct sim_field *from)
{
    return combine(to, from, "copy", 1, true);
}

/* ---- asking
 * ----------------------------------------------------------------------------- */

static enum sim_status need_scratch(struct sim_field *field)
{
    size_t bytes =
        (size_t)sim_field_parts(field->nx * field->ny) * sizeof(struct sim_field_part);
    if (field->scratch.bytes >= bytes)
        return SIM_OK;
    sim_buffer_free(&field->scratch);
    sim_buffer_free(&field->dots);
    return sim_buffer_new(field->device, bytes, "sums of a field", &field->scratch);
}

enum sim_status sim_field_sums(struct sim_field *field, struct sim_field_sums *out)
{
    struct sim_field_part part;
    SIM_TRY(sim_field_prepare(field));
    SIM_TRY(need_scratch(field));
    const struct sim_array array = array_of(field);
    SIM_TRY(field->ops->reduce(field->device, &array, field->scratch.data));
    SIM_TRY(sim_buffer_read(&field->scratch,
                            (size_t)(sim_field_parts(field->nx * field->ny) - 1) *
                                sizeof part,
                            &part, sizeof part));
    *out =
        (struct sim_field_sums){part.sum, part.squares, part.min, part.max, part.count};
    return SIM_OK;
}

enum sim_status sim_field_check(struct sim_field *field, int64_t *out)
{
    SIM_TRY(sim_field_prepare(field));
    SIM_TRY(need_scratch(field));
    const struct sim_array array = array_of(field);
    SIM_TRY(field->ops->check(field->device, &array, field->scratch.data));
    return sim_buffer_read(&field->scratch, 0, out, sizeof *out);
}

/* `count` neighbours of row j from column i on. */
static enum sim_status read_cells(const struct sim_field *field, int64_t i, int64_t j,
                                  int64_t count, double *to)
{
    const struct sim_buffer data = data_buffer(field);
    size_t at = (size_t)(j * field->pitch + i) * real_bytes(field);
    float single[2];
    if (field->is_double)
        return sim_buffer_read(&data, at, to, (size_t)count * sizeof *to);
    SIM_TRY(sim_buffer_read(&data, at, single, (size_t)count * sizeof *single));
    for (int64_t k = 0; k < count; k++)
        to[k] = (double)single[k];
    return SIM_OK;
}

enum sim_status sim_field_get(struct sim_field *field, int64_t i, int64_t j, double *out)
{
    SIM_TRY(sim_field_prepare(field));
    return read_cells(field, i, j, 1, out);
}

/* The lower of two neighbours along an axis of n samples, and how far x is from it; with
 * one sample, or beyond the ends, the part is 0 or 1. */
static int64_t neighbours(double x, int64_t n, double *part)
{
    double last = (double)(n - 1), at = x > 0 ? (x < last ? x : last) : 0;
    int64_t low = (int64_t)at;
    if (low > n - 2)
        low = n > 1 ? n - 2 : 0;
    *part = at - (double)low;
    return low;
}

enum sim_status sim_field_probe(struct sim_field *field, double x, double y, double *out)
{
    struct sim_lattice l = sim_field_lattice(field);
    double tx, ty, row[2][2];
    SIM_TRY(sim_field_prepare(field));
    int64_t i = neighbours((x - l.x) / l.dx, l.nx, &tx);
    int64_t j = neighbours((y - l.y) / l.dy, l.ny, &ty);
    for (int64_t q = 0; q < 2; q++) {
        int64_t jq = j + q < l.ny ? j + q : j;
        SIM_TRY(read_cells(field, i, jq, l.nx > 1 ? 2 : 1, row[q]));
        if (l.nx == 1)
            row[q][1] = row[q][0];
        row[q][0] += tx * (row[q][1] - row[q][0]);
    }
    *out = row[0][0] + ty * (row[1][0] - row[0][0]);
    return SIM_OK;
}

/* `count` elements from the device, as double. Floats come into the second half of the
 * room of their doubles and are widened from the front, which never overtakes them. */
static enum sim_status read_stretch(const struct sim_field *field, int64_t element,
                                    int64_t count, double *to)
{
    const struct sim_buffer data = data_buffer(field);
    const size_t size = real_bytes(field), bytes = (size_t)count * size;
    char *from = (char *)to + (field->is_double ? 0 : bytes);
    SIM_TRY(sim_buffer_read(&data, (size_t)element * size, from, bytes));
    for (int64_t i = 0; !field->is_double && i < count; i++) {
        float value;
        memcpy(&value, from + (size_t)i * size, sizeof value);
        to[i] = (double)value;
    }
    return SIM_OK;
}

enum sim_status sim_field_read_rows(struct sim_field *field, int64_t j0, int64_t j1,
                                    double *to)
{
    SIM_TRY(sim_field_prepare(field));
    if (field->pitch == field->nx)
        return read_stretch(field, j0 * field->nx, (j1 - j0) * field->nx, to);
    for (int64_t j = j0; j < j1; j++)
        SIM_TRY(
            read_stretch(field, j * field->pitch, field->nx, to + (j - j0) * field->nx));
    return SIM_OK;
}

enum sim_status sim_field_read(struct sim_field *field, double *to)
{
    return sim_field_read_rows(field, 0, field->ny, to);
}

enum sim_status sim_field_write(struct sim_field *field, const double *from)
{
    return sim_field_paint(field, &(struct sim_paint){.values = from});
}
