/* rows.h - bodies from files: .csv with a header, and NumPy's .npy. */
#ifndef SIM_ROWS_H
#define SIM_ROWS_H

#include "model.h"

/* The seven numbers of a body, in the order of columns and of rows without names. */
enum {
    SIM_ROW_X,
    SIM_ROW_Y,
    SIM_ROW_Z,
    SIM_ROW_VX,
    SIM_ROW_VY,
    SIM_ROW_VZ,
    SIM_ROW_MASS
};
#define SIM_ROW 7
extern const char *const sim_row_names[SIM_ROW + 1]; /* "x" .. "vz", "m", NULL */

/* Store a row into a body. SIM_BAD_ARGUMENT, naming `where`, for NaN and infinity. */
enum sim_status sim_rows_store(const double row[SIM_ROW], const char *where,
                               struct sim_body *body);

/* Read a file by its ending, into a new model without groups.
 *   .csv  first line: column names among x y z vx vy vz m, in any order, x and y
 * required, others of them default to 0, m to `mass`; unknown names are an error. Commas,
 *         semicolons or tabs; blank lines and lines that begin with # are skipped.
 *   .npy  format 1 to 3, little-endian float32 or float64, C order, shape (n, 7).
 * SIM_FILE with path and line; SIM_HOST_MEMORY. On failure nothing is left to free. */
enum sim_status sim_rows_read(const char *path, double mass, struct sim_model *out);

#endif
