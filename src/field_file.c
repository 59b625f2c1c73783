/* field_file.c - fields to files and back. A file is written a band of rows at a time and
 * is whole or not there (file.h). */
#include "field.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "npy.h"
#include "raster.h"

#define BAND_CELLS ((int64_t)1 << 18)
#define DIGITS_MAX 32 /* bytes of a number in .csv, with its comma */

static const char *ending(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot ? dot : "";
}

/* ---- save
 * -------------------------------------------------------------------------------- */

static enum sim_status write_npy_band(struct sim_draft *draft,
                                      const struct sim_field *field, double *values,
                                      int64_t count)
{
    float *single = (float *)(void *)values; /* narrowed from the front, in place */
    if (field->is_double)
        return sim_draft_write(draft, values, (size_t)count * sizeof *values);
    for (int64_t k = 0; k < count; k++) {
        float value = (float)values[k];
        memcpy((char *)single + (size_t)k * sizeof value, &value, sizeof value);
    }
    return sim_draft_write(draft, single, (size_t)count * sizeof *single);
}

static enum sim_status write_csv_band(struct sim_draft *draft,
                                      const struct sim_field *field, const double *values,
                                      int64_t count)
{
    int digits = field->is_double ? 17 : 9;
    char *text = malloc((size_t)field->nx * DIGITS_MAX);
    enum sim_status status = SIM_OK;
    if (!text)
        return sim_fail(SIM_HOST_MEMORY, "out of host memory while writing a field");
    for (int64_t k = 0; k < count && status == SIM_OK; k += field->nx) {
        size_t used = 0;
        for (int64_t i = 0; i < field->nx; i++)
            used += (size_t)snprintf(text + used, DIGITS_MAX, "%.*g%c", digits,
                                     values[k + i], i + 1 < field->nx ? ',' : '\n');
        status = sim_draft_write(draft, text, used);
    }
    free(text);
    return status;
}

static enum sim_status write_bands(struct sim_draft *draft, struct sim_field *field,
                                   bool npy)
{
    int64_t rows = BAND_CELLS / field->nx + 1;
    rows = rows < field->ny ? rows : field->ny;
    double *values = malloc((size_t)(rows * field->nx) * sizeof *values);
    enum sim_status status = SIM_OK;
    if (!values)
        return sim_fail(SIM_HOST_MEMORY, "out of host memory while writing a field");
    for (int64_t j = 0; j < field->ny && status == SIM_OK; j += rows) {
        int64_t end = field->ny - j < rows ? field->ny : j + rows;
        int64_t count = (end - j) * field->nx;
        status = sim_field_read_rows(field, j, end, values);
        if (status == SIM_OK)
            status = npy ? write_npy_band(draft, field, values, count)
                         : write_csv_band(draft, field, values, count);
    }
    free(values);
    return status;
}

static enum sim_status write_file(struct sim_draft *draft, struct sim_field *field,
                                  bool npy)
{
    char header[SIM_NPY_HEADER];
    sim_npy_header(field->ny, field->nx, field->is_double, header);
    if (npy)
        SIM_TRY(sim_draft_write(draft, header, sizeof header));
    SIM_TRY(write_bands(draft, field, npy));
    return sim_draft_commit(draft);
}

enum sim_status sim_field_save(struct sim_field *field, const char *path)
{
    struct sim_draft draft;
    bool npy = !strcmp(ending(path), ".npy");
    if (!npy && strcmp(ending(path), ".csv") != 0)
        return sim_fail(SIM_BAD_ARGUMENT, "save: '%s' must end in .npy or .csv", path);
    SIM_TRY(sim_file_check(path));
    SIM_TRY(sim_draft_open(path, &draft));
    enum sim_status status = write_file(&draft, field, npy);
    sim_draft_free(&draft);
    return status;
}

/* ---- load
 * -------------------------------------------------------------------------------- */

static enum sim_status wrong_size(const char *path, const struct sim_field *field,
                                  long long columns, long long rows)
{
    return sim_fail(SIM_FILE, "'%s' holds %lld x %lld numbers, the field has %lld x %lld",
                    path, columns, rows, (long long)field->nx, (long long)field->ny);
}

static enum sim_status parse_npy(const char *path, const struct sim_field *field,
                                 const char *bytes, size_t size, double *values)
{
    struct sim_npy npy;
    SIM_TRY(sim_npy_open(path, bytes, size, &npy));
    if (npy.rows != field->ny || npy.columns != field->nx)
        return wrong_size(path, field, npy.columns, npy.rows);
    for (int64_t c = 0; c < field->nx * field->ny; c++)
        values[c] = sim_npy_get(&npy, (size_t)c);
    return SIM_OK;
}

/* Numbers of one line into row j; *at moves behind it. */
static enum sim_status parse_line(const char *path, const struct sim_field *field,
                                  const char **at, int64_t j, double *row)
{
    const char *s = *at;
    int64_t i = 0;
    for (; *s && *s != '\n'; i++) {
        char *end;
        double value = strtod(s, &end);
        if (end == s)
            return sim_fail(SIM_FILE, "'%s': line %lld: '%.12s' is not a number", path,
                            (long long)j + 1, s);
        if (i < field->nx && j < field->ny)
            row[i] = value;
        s = end + strspn(end, " \t\r");
        if (*s == ',' || *s == ';')
            s++;
        s += strspn(s, " \t\r");
    }
    *at = *s ? s + 1 : s;
    if (i != field->nx)
        return sim_fail(SIM_FILE,
                        "'%s': line %lld holds %lld numbers, the field is %lld cells "
                        "wide",
                        path, (long long)j + 1, (long long)i, (long long)field->nx);
    return SIM_OK;
}

static enum sim_status parse_csv(const char *path, const struct sim_field *field,
                                 const char *text, double *values)
{
    int64_t j = 0;
    for (; *text; j++)
        SIM_TRY(parse_line(path, field, &text, j,
                           values + (j < field->ny ? j : 0) * field->nx));
    return j == field->ny ? SIM_OK : wrong_size(path, field, field->nx, j);
}

static enum sim_status load_picture(const char *path, const struct sim_field *field,
                                    double *values)
{
    struct sim_raster raster;
    SIM_TRY(sim_raster_read(path, SIM_CHANNEL_BRIGHTNESS, &raster));
    double sx = (double)raster.width / (double)field->nx;
    double sy = (double)raster.height / (double)field->ny;
    for (int64_t j = 0; j < field->ny; j++)
        for (int64_t i = 0; i < field->nx; i++)
            values[j * field->nx + i] =
                sim_raster_mean(&raster, (double)i * sx, (double)j * sy,
                                (double)(i + 1) * sx, (double)(j + 1) * sy);
    sim_raster_free(&raster);
    return SIM_OK;
}

static enum sim_status parse(const char *path, const struct sim_field *field,
                             double *values)
{
    char *bytes;
    size_t size;
    SIM_TRY(sim_file_read(path, &bytes, &size));
    enum sim_status status = !strcmp(ending(path), ".npy")
                                 ? parse_npy(path, field, bytes, size, values)
                                 : parse_csv(path, field, bytes, values);
    free(bytes);
    return status;
}

enum sim_status sim_field_load(struct sim_field *field, const char *path)
{
    bool picture = !strcmp(ending(path), ".png");
    if (!picture && strcmp(ending(path), ".npy") != 0 &&
        strcmp(ending(path), ".csv") != 0)
        return sim_fail(SIM_BAD_ARGUMENT, "load: '%s' must end in .npy, .csv or .png",
                        path);
    double *values = malloc((size_t)(field->nx * field->ny) * sizeof *values);
    if (!values)
        return sim_fail(SIM_HOST_MEMORY, "out of host memory for '%s'", path);
    enum sim_status status =
        picture ? load_picture(path, field, values) : parse(path, field, values);
    if (status == SIM_OK)
        status = sim_field_write(field, values);
    free(values);
    return status;
}
