/* raster.h - PNG pictures read as numbers, and their means over any rectangle.
 *
 * One channel of a picture, 0..1, is kept as a table of sums from the upper left, in
 * whole numbers (16 bits a pixel, exact), so that the mean over a rectangle of any size
 * costs four look-ups. Inside a pixel its value is constant. */
#ifndef SIM_RASTER_H
#define SIM_RASTER_H

#include <stdint.h>

#include "status.h"

enum sim_channel {
    SIM_CHANNEL_BRIGHTNESS, /* 0.2126 r + 0.7152 g + 0.0722 b as stored, times alpha */
    SIM_CHANNEL_ALPHA,
    SIM_CHANNEL_RED,
    SIM_CHANNEL_GREEN,
    SIM_CHANNEL_BLUE,
};
extern const char *const sim_channel_words[]; /* NULL-terminated */

struct sim_raster {
    int64_t width, height;
    uint64_t *sums; /* [height + 1][width + 1]; owned */
};

/* Read a PNG of any size and kind: grey, RGB, palette, with alpha, 1 to 16 bits. SIM_FILE
 * with the path and the cause; SIM_HOST_MEMORY. On failure there is nothing to free. */
enum sim_status sim_raster_read(const char *path, enum sim_channel channel,
                                struct sim_raster *out);
void sim_raster_free(struct sim_raster *raster);

/* The pixels' levels, 0..65535, [height][width] from the upper left; and a picture of
 * such levels, to the same bits. SIM_HOST_MEMORY. */
void sim_raster_levels(const struct sim_raster *raster, uint16_t *out);
enum sim_status sim_raster_make(const uint16_t *levels, int64_t width, int64_t height,
                                struct sim_raster *out);

/* The mean, 0..1, over [x0, x1) x [y0, y1) in pixels from the lower left, y up. Outside
 * the picture is 0; of an empty rectangle: the pixel that holds the point. */
double sim_raster_mean(const struct sim_raster *raster, double x0, double y0, double x1,
                       double y1);

#endif
