/* field_image.h - fields as pictures: a colour map, contours, a colour bar, and pictures
 * side by side. All of it on the device; nothing is sent up or waited for between frames.
 *
 * An automatic range is that of the field's values at its first picture (for a diverging
 * map from -a to a), kept in the field, so that a film does not flicker; that first
 * picture waits for the device. */
#ifndef SIM_FIELD_IMAGE_H
#define SIM_FIELD_IMAGE_H

#include "field.h"
#include "image.h"
#include "view.h"

#define SIM_BAR_LABEL 80 /* bytes */

struct sim_field_picture {
    int width, height; /* pixels in all, 0: by scale; the field keeps its shape in them */
    int scale;         /* pixels a cell; 0: so that about 1280 x 720 are filled */
    double from[2], to[2]; /* the part to show, physical; equal corners: all */
    enum sim_map map;
    bool automatic;
    double range[2];
    enum sim_picture_filter filter;
    double mask_color[3], background[3];
    int levels; /* evenly within the range; 0: none, or contour_count of contour[] */
    int contour_count;
    double contour[SIM_CONTOURS_MAX];
    double contour_color[3], contour_width; /* pixels at 720 rows */
    struct sim_field *contour_field;        /* whose they are; NULL: this one's */
    struct sim_field_shade {                /* a colour, by the values of another field */
        struct sim_field *field;            /* NULL: none */
        double range[2];                    /* none of it, all of it */
        double color[3];
    } shade;
    struct sim_field_arrows {
        struct sim_field *x, *y; /* components, of one precision; NULL: none */
        double spacing, speed;   /* pixels at 720 rows; of an arrow as long */
        double color[3], width;  /* of the shaft, pixels at 720 rows */
    } arrows;
    struct sim_field_grain {
        struct sim_field *x, *y; /* the same */
        double size, length;     /* pixels at 720 rows */
        double strength;         /* 0..1 */
    } grain;
    struct sim_field_dots {
        struct sim_field *field; /* whose points; NULL: none */
        double size, strength;   /* across, pixels at 720 rows; 0..1 */
        double color[3];
    } dots;
    bool bar;
    int ticks;                     /* about so many numbers beside the bar */
    const char *bar_label;         /* over it; NULL: none */
    double bar_color[3], bar_size; /* of rim and letters; pixels at 720 rows */
};

/* Where a field is in its picture: pixels, and the part of the plane. */
struct sim_field_panel {
    int x, y, width, height;
    double from[2], to[2];
};

/* For field_image.c, in field_layers.c: what covers the panel, NULL for nothing; and what
 * is drawn over its picture, the cover last. */
enum sim_status sim_field_cover(struct sim_field *field,
                                const struct sim_field_panel *panel,
                                const uint8_t **share);
enum sim_status sim_field_layers(const struct sim_field_picture *picture,
                                 const struct sim_field_panel *panel,
                                 const uint8_t *share, struct sim_image *image);
void sim_field_contours(const struct sim_field_picture *picture, const double range[2],
                        double height, struct sim_picture_args *args);
/* The range of a picture with this one and map: its own, or the field's when automatic.
 */
enum sim_status sim_field_choose_range(struct sim_field *field,
                                       const struct sim_field_picture *picture,
                                       double range[2]);

/* Make a picture of the field as it is now. SIM_BAD_ARGUMENT: sizes, a range that is not
 * one; SIM_DIVERGED: an automatic range of values that are not finite; SIM_DEVICE_MEMORY.
 */
enum sim_status sim_field_image(struct sim_field *field,
                                const struct sim_field_picture *picture,
                                struct sim_image *out);

/* A picture with a at the left, b at the right, `gap` pixels between; the smaller one is
 * centred. The looks for NaN of both go along. SIM_BAD_ARGUMENT: too large, too many. */
enum sim_status sim_image_beside(const struct sim_image *a, const struct sim_image *b,
                                 int gap, const double background[3],
                                 struct sim_image *out);

#endif
