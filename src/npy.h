/* npy.h - NumPy's array files, as far as fields need them: float32 and float64, two
 * dimensions, C order, little-endian. */
#ifndef SIM_NPY_H
#define SIM_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

#define SIM_NPY_HEADER 128 /* bytes of the header that is written */

struct sim_npy {
    int64_t rows, columns;
    bool is_double;
    const char *data; /* within the bytes given; not aligned */
};

/* Look at a file's bytes (which must stay). SIM_FILE, naming `path`, for what it is not.
 */
enum sim_status sim_npy_open(const char *path, const char *bytes, size_t size,
                             struct sim_npy *out);
double sim_npy_get(const struct sim_npy *npy, size_t index);

/* The header of an array of this shape; the numbers follow it in the file. */
void sim_npy_header(int64_t rows, int64_t columns, bool is_double,
                    char out[SIM_NPY_HEADER]);

#endif
