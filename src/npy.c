/* npy.c - the format of NumPy's NEP 1: "\x93NUMPY", version, the length of a header that
 * is a Python dictionary, padded so that the numbers begin at a multiple of 64, the
 * numbers.
 *
 * Not here: other types, big-endian numbers, Fortran order. */
#include "npy.h"

#include <stdio.h>
#include <string.h>

#define MAGIC "\x93NUMPY"

static uint64_t little_endian(const char *bytes, int count)
{
    uint64_t value = 0;
    while (count-- > 0)
        value = value << 8 | (unsigned char)bytes[count];
    return value;
}

/* What follows a key of the dictionary, without blanks before it; NULL if it is not
 * there. */
static const char *value_of(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    if (!at)
        return NULL;
    at += strlen(key);
    at += strspn(at, " \t");
    if (*at++ != ':')
        return NULL;
    return at + strspn(at, " \t");
}

static enum sim_status read_header(const char *path, const char *header,
                                   struct sim_npy *out)
{
    const char *type = value_of(header, "'descr'");
    const char *fortran = value_of(header, "'fortran_order'");
    const char *shape = value_of(header, "'shape'");
    long long rows = 0, columns = 0;
    char end = 0;
    if (!type || !fortran || !shape)
        return sim_fail(SIM_FILE, "'%s' has a damaged .npy header", path);
    if (strncmp(type, "'<f4'", 5) != 0 && strncmp(type, "'<f8'", 5) != 0)
        return sim_fail(SIM_FILE,
                        "'%s' holds numbers of the type %.6s: '<f4' or '<f8' are read",
                        path, type);
    if (strncmp(fortran, "False", 5) != 0)
        return sim_fail(SIM_FILE, "'%s' is in Fortran order: save it in C order", path);
    if (sscanf(shape, "( %lld , %lld %c", &rows, &columns, &end) != 3 ||
        (end != ')' && end != ',') || rows < 1 || columns < 1)
        return sim_fail(SIM_FILE, "'%s' is not an array of two dimensions", path);
    out->is_double = type[3] == '8';
    out->rows = rows;
    out->columns = columns;
    return SIM_OK;
}

enum sim_status sim_npy_open(const char *path, const char *bytes, size_t size,
                             struct sim_npy *out)
{
    char header[4096];
    *out = (struct sim_npy){0};
    if (size < 12 || memcmp(bytes, MAGIC, 6) != 0)
        return sim_fail(SIM_FILE, "'%s' is not a .npy file", path);
    size_t start = bytes[6] == 1 ? 10 : 12;
    uint64_t length = little_endian(bytes + 8, bytes[6] == 1 ? 2 : 4);
    if (length > size - start || length >= sizeof header)
        return sim_fail(SIM_FILE, "'%s' has a damaged .npy header", path);
    memcpy(header, bytes + start, (size_t)length);
    header[length] = 0;
    SIM_TRY(read_header(path, header, out));
    size_t item = out->is_double ? 8 : 4, have = (size - start - (size_t)length) / item;
    if ((uint64_t)out->rows > have / (uint64_t)out->columns)
        return sim_fail(SIM_FILE, "'%s' is cut short: %zu numbers of %lld x %lld", path,
                        have, (long long)out->rows, (long long)out->columns);
    out->data = bytes + start + length;
    return SIM_OK;
}

double sim_npy_get(const struct sim_npy *npy, size_t index)
{
    float single;
    double twice;
    if (npy->is_double) {
        memcpy(&twice, npy->data + index * sizeof twice, sizeof twice);
        return twice;
    }
    memcpy(&single, npy->data + index * sizeof single, sizeof single);
    return (double)single;
}

void sim_npy_header(int64_t rows, int64_t columns, bool is_double,
                    char out[SIM_NPY_HEADER])
{
    const int length = SIM_NPY_HEADER - 10;
    memset(out, ' ', SIM_NPY_HEADER);
    memcpy(out, MAGIC "\x01\x00", 8);
    out[8] = (char)length;
    out[9] = 0;
    int used =
        snprintf(out + 10, SIM_NPY_HEADER - 10,
                 "{'descr': '<f%d', 'fortran_order': False, 'shape': (%lld, %lld), }",
                 is_double ? 8 : 4, (long long)rows, (long long)columns);
    out[10 + used] = ' '; /* snprintf's zero */
    out[SIM_NPY_HEADER - 1] = '\n';
}
