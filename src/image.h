/* image.h - pictures on the device: 8-bit sRGB, rows from the top, and the splatting of
 * bodies into them. A picture is made by enqueued work and read only when it is saved. */
#ifndef SIM_IMAGE_H
#define SIM_IMAGE_H

#include "device.h"
#include "bodies.h"
#include "field.h"

#define SIM_IMAGE_MAX                                                 \
    16384 /* pixels a side: 3*16384^2 still fits stb's int arithmetic \
           */

#define SIM_IMAGE_CHECKS 8
#define SIM_IMAGE_CLOCKS 4

/* Behind the pixels on the device, so that it comes down with them: what was found when
 * the picture was made. Zero when the picture holds no bodies. */
struct sim_image_tail {
    struct sim_nbody_check check;
    int64_t checked; /* 1 when `check` was filled in */
    int64_t reserved[5];
    int64_t
        found[SIM_IMAGE_CHECKS]; /* by sim_image.checks: an index; INT64_MAX: nothing */
    struct sim_field_clock clock[SIM_IMAGE_CLOCKS]; /* of checks that have one */
};

enum sim_image_check_kind {
    SIM_CHECK_FIELD,      /* first cell c = j*nx + i that is not finite */
    SIM_CHECK_BODY,       /* first body that is not finite */
    SIM_CHECK_COINCIDENT, /* first body at the same place as another */
};

/* One look for what went wrong; its outcome is tail.found[k]. */
struct sim_image_check {
    int64_t kind; /* enum sim_image_check_kind */
    char name[64];
    int64_t nx, step;
    double time;
    int64_t clock; /* step and time are in tail.clock[clock - 1]; 0: they are here */
};

struct sim_image {
    struct sim_buffer pixels; /* height*width*3 bytes, padded to 64, then the tail */
    int width, height;
    size_t tail_offset;
    double units_per_pixel; /* world units, for scale bars; 0 when there are none */
    /* for messages: what was pictured, when */
    char subject[64];
    int64_t step;
    double time;
    bool has_bodies; /* tail.check is filled in */
    int check_count, clock_count;
    struct sim_image_check checks[SIM_IMAGE_CHECKS];
};

enum sim_status sim_image_new(struct sim_device *device, int width, int height,
                              struct sim_image *out); /* black */
void sim_image_free(struct sim_image *image);
/* Bytes that cross to the host when a picture is saved: pixels, padding and tail. */
size_t sim_image_bytes(const struct sim_image *image);

#endif
