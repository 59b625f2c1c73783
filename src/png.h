/* png.h - pictures encoded as PNG, in memory. */
#ifndef SIM_PNG_H
#define SIM_PNG_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"

#define SIM_PNG_SIDE_MAX \
    16384 /* pixels a side, so that stb's int sizes cannot overflow */

struct sim_png {
    unsigned char *bytes; /* owned; sim_png_free */
    size_t size;
};

/* Encode `height` rows of `width` pixels from the top, without padding, `channels` bytes
 * a pixel: 1 (grey) or 3 (RGB). The same pixels give the same bytes: there is no time
 * stamp, no text, nothing of the machine. Any thread may call it. SIM_BAD_ARGUMENT for a
 * size outside 1..SIM_PNG_SIDE_MAX; SIM_HOST_MEMORY. */
enum sim_status sim_png_encode(const uint8_t *pixels, int width, int height, int channels,
                               struct sim_png *out);
void sim_png_free(struct sim_png *png);

#endif
