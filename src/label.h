/* label.h - text and scale bars over a picture, drawn on the device in simlua's own
 * letters.
 *
 * Sizes are given for a picture of 720 rows and grow with it, so that a scene looks the
 * same at any size. A position is a fraction of what room there is: 0 puts the text at
 * the left or bottom margin, 1 at the right or top, 1/2 in the middle; it never leaves
 * the picture as long as it fits. */
#ifndef SIM_LABEL_H
#define SIM_LABEL_H

#include "image.h"

#define SIM_LABEL_SIZE 20.0

struct sim_label {
    const char *text;   /* UTF-8; "\n" begins a new line; unknown letters become boxes */
    double position[2]; /* 0..1, y up */
    double size;        /* pixels at 720 rows: from base line to base line, nearly; > 0 */
    double color[3];    /* display values, 0..1 */
};

struct sim_scalebar {
    double length;    /* world units; 0: a round number near a fifth of the width */
    const char *text; /* NULL: the length itself; a "%s" in it stands for the length */
    double position[2], size, color[3];
};

/* Text at a place in pixels, without the dark edge that labels have. */
struct sim_text {
    const char *text;
    double x, y;     /* from the upper left: the text's end by align, its middle line */
    double size;     /* pixels, from base line to base line, nearly */
    double align;    /* 0: begins at x, 1/2: centred, 1: ends at x */
    double color[3]; /* display values, 0..1 */
};
enum sim_status sim_image_text(struct sim_image *image, const struct sim_text *text);
/* Pixels from the first letter's left to the last one's right, for the longest line. */
double sim_text_width(const char *text, double size);

/* Enqueue the drawing. SIM_BAD_ARGUMENT: more than SIM_TEXT_MAX letters. */
enum sim_status sim_image_label(struct sim_image *image, const struct sim_label *label);

/* As label. SIM_BAD_ARGUMENT too when the picture has no scale, or the bar does not fit.
 */
enum sim_status sim_image_scalebar(struct sim_image *image,
                                   const struct sim_scalebar *bar);

#endif
