/* rows.c - bodies from .csv and .npy files; formats as in rows.h, NumPy's in npy.c.
 *
 * Not here: quoted csv cells, compression. */
#include "rows.h"
#include "file.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npy.h"

const char *const sim_row_names[SIM_ROW + 1] = {"x",  "y",  "z", "vx",
                                                "vy", "vz", "m", NULL};

enum sim_status sim_rows_store(const double row[SIM_ROW], const char *where,
                               struct sim_body *body)
{
    for (int k = 0; k < SIM_ROW; k++)
        if (!isfinite(row[k]))
            return sim_fail(SIM_BAD_ARGUMENT, "%s: %s is %g", where, sim_row_names[k],
                            row[k]);
    memcpy(body->position, row, sizeof body->position);
    memcpy(body->velocity, row + SIM_ROW_VX, sizeof body->velocity);
    body->mass = row[SIM_ROW_MASS];
    return SIM_OK;
}

/* --- csv ---------------------------------------------------------------------------- */

struct csv {
    const char *path;
    int64_t line; /* of the file, from 1 */
    char separator;
    int columns, field[SIM_ROW]; /* column c holds field[c] */
    double mass;
};

/* Cut the next line off *at; false at the end. Blank lines and comments are passed over.
 */
static bool next_line(struct csv *csv, char **at, char **line)
{
    while (**at) {
        char *start = *at, *end = start + strcspn(start, "\n");
        *at = *end ? end + 1 : end;
        *end = 0;
        csv->line++;
        char *first = start + strspn(start, " \t\r");
        if (*first && *first != '#') {
            *line = start;
            return true;
        }
    }
    return false;
}

/* Cut the next cell off *at, without the blanks around it; NULL at the end. */
static char *next_cell(const struct csv *csv, char **at)
{
    char *start = *at;
    if (!start)
        return NULL;
    char *end = strchr(start, csv->separator);
    *at = end ? end + 1 : NULL;
    if (!end)
        end = start + strlen(start);
    while (end > start && strchr(" \t\r", end[-1]))
        end--;
    *end = 0;
    return start + strspn(start, " \t");
}

static enum sim_status csv_column(struct csv *csv, const char *name)
{
    for (int k = 0; k < SIM_ROW; k++) {
        if (strcmp(name, sim_row_names[k]) && (k != SIM_ROW_MASS || strcmp(name, "mass")))
            continue;
        for (int c = 0; c < csv->columns; c++)
            if (csv->field[c] == k)
                return sim_fail(SIM_FILE, "%s:%lld: column '%s' appears twice", csv->path,
                                (long long)csv->line, name);
        csv->field[csv->columns++] = k;
        return SIM_OK;
    }
    return sim_fail(SIM_FILE,
                    "%s:%lld: unknown column '%s'; columns are x, y, z, vx, vy, vz, m",
                    csv->path, (long long)csv->line, name);
}

static enum sim_status csv_header(struct csv *csv, char *line)
{
    unsigned seen = 0;
    csv->separator = strchr(line, ',') ? ',' : strchr(line, ';') ? ';' : '\t';
    for (char *cell; (cell = next_cell(csv, &line));)
        SIM_TRY(csv_column(csv, cell));
    for (int c = 0; c < csv->columns; c++)
        seen |= 1u << csv->field[c];
    if ((seen & 3) != 3)
        return sim_fail(SIM_FILE, "%s:%lld: the header must name the columns x and y",
                        csv->path, (long long)csv->line);
    return SIM_OK;
}

static enum sim_status csv_row(const struct csv *csv, char *line, struct sim_body *body)
{
    double row[SIM_ROW] = {[SIM_ROW_MASS] = csv->mass};
    char where[512];
    snprintf(where, sizeof where, "%s:%lld", csv->path, (long long)csv->line);
    for (int c = 0; c < csv->columns; c++) {
        char *rest, *cell = next_cell(csv, &line);
        if (!cell)
            return sim_fail(SIM_FILE, "%s: %d cells, but the header has %d", where, c,
                            csv->columns);
        row[csv->field[c]] = strtod(cell, &rest);
        if (rest == cell || *rest)
            return sim_fail(SIM_FILE, "%s: '%s' is not a number (column %s)", where, cell,
                            sim_row_names[csv->field[c]]);
    }
    if (line)
        return sim_fail(SIM_FILE, "%s: more cells than the header's %d", where,
                        csv->columns);
    enum sim_status status = sim_rows_store(row, where, body);
    return status == SIM_BAD_ARGUMENT ? SIM_FILE : status;
}

static enum sim_status csv_rows(struct csv *csv, char *at, struct sim_model *out)
{
    char *line;
    for (int64_t i = 0; next_line(csv, &at, &line); i++)
        SIM_TRY(csv_row(csv, line, &out->bodies[i]));
    return SIM_OK;
}

/* How many lines of rows: counted first, so that the model is allocated once. */
static int64_t csv_count(const char *at)
{
    int64_t count = 0;
    while (*at) {
        const char *first = at + strspn(at, " \t\r");
        count += *first && *first != '#' && *first != '\n';
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    return count;
}

static enum sim_status csv_read(const char *path, char *text, size_t size, double mass,
                                struct sim_model *out)
{
    struct csv csv = {.path = path, .mass = mass};
    char *line;
    if (strlen(text) != size)
        return sim_fail(SIM_FILE, "'%s' is not text", path);
    if (!next_line(&csv, &text, &line))
        return sim_fail(SIM_FILE, "'%s' is empty", path);
    SIM_TRY(csv_header(&csv, line));
    int64_t count = csv_count(text);
    if (count == 0)
        return sim_fail(SIM_FILE, "'%s' has a header but no rows", path);
    SIM_TRY(sim_model_new(count, out));
    enum sim_status status = csv_rows(&csv, text, out);
    if (status != SIM_OK)
        sim_model_free(out);
    return status;
}

/* --- npy ---------------------------------------------------------------------------- */

static enum sim_status npy_rows(const char *path, const struct sim_npy *npy,
                                struct sim_model *out)
{
    for (int64_t i = 0; i < npy->rows; i++) {
        double row[SIM_ROW];
        char where[512];
        for (size_t k = 0; k < SIM_ROW; k++)
            row[k] = sim_npy_get(npy, (size_t)i * SIM_ROW + k);
        snprintf(where, sizeof where, "%s, row %lld", path, (long long)i);
        if (sim_rows_store(row, where, &out->bodies[i]) != SIM_OK)
            return SIM_FILE;
    }
    return SIM_OK;
}

static enum sim_status npy_read(const char *path, const char *bytes, size_t size,
                                struct sim_model *out)
{
    struct sim_npy npy;
    SIM_TRY(sim_npy_open(path, bytes, size, &npy));
    if (npy.columns != SIM_ROW)
        return sim_fail(SIM_FILE,
                        "'%s' has the shape (%lld, %lld); (n, 7) is needed: "
                        "x, y, z, vx, vy, vz, m",
                        path, (long long)npy.rows, (long long)npy.columns);
    SIM_TRY(sim_model_new(npy.rows, out));
    enum sim_status status = npy_rows(path, &npy, out);
    if (status != SIM_OK)
        sim_model_free(out);
    return status;
}

enum sim_status sim_rows_read(const char *path, double mass, struct sim_model *out)
{
    const char *dot = strrchr(path, '.');
    bool is_csv = dot && !strcmp(dot, ".csv"), is_npy = dot && !strcmp(dot, ".npy");
    char *text = NULL;
    size_t size = 0;
    if (!is_csv && !is_npy)
        return sim_fail(SIM_FILE, "'%s' ends neither in .csv nor in .npy", path);
    SIM_TRY(sim_file_read(path, &text, &size));
    enum sim_status status =
        is_csv ? csv_read(path, text, size, mass, out) : npy_read(path, text, size, out);
    free(text);
    return status;
}
