/* view.h - how a system of bodies is looked at, and the making of the picture.
 *
 * The world's y axis points up, the viewer looks down the z axis (from positive z) before
 * anything is turned. Brightness is fixed by these parameters, the number of visible
 * bodies and the picture's size alone, never by what the picture shows: films do not
 * flicker, and a picture looks the same at any size. */
#ifndef SIM_VIEW_H
#define SIM_VIEW_H

#include "bodies.h"
#include "image.h"
#include "../kernels/render.h"

enum sim_map {
    SIM_MAP_INFERNO,
    SIM_MAP_VIRIDIS,
    SIM_MAP_MAGMA,
    SIM_MAP_CIVIDIS,
    SIM_MAP_TURBO,
    SIM_MAP_GREY,
    SIM_MAP_COOLWARM, /* blue, white, red: for quantities with a sign */
    SIM_MAP_EMBER,    /* light blue, black, orange: the same on a dark ground */
    SIM_MAPS
};
extern const char *const sim_map_words[]; /* NULL-terminated */

struct sim_view {
    double
        centre[3]; /* the world point in the middle; from the followed centre, if any */
    double width;  /* world units across the picture (at the centre), > 0 */
    double
        rotate[3]; /* degrees; bodies are turned about the picture's x, then y, then z */
    double distance;  /* of the viewer from the centre; 0: orthographic */
    uint64_t visible; /* groups to draw */
    uint64_t follow;  /* groups whose mass centre stays in the middle; 0: none */

    int supersample;   /* 1..4 cells a pixel and side */
    double point_size; /* 1: discs of 2 pixels' radius at 720 rows, > 0 */
    double glow;       /* share of the light that is spread wide, 0..1 */
    double exposure;   /* 1 suits a galaxy that fills the picture, > 0 */
    double stretch;    /* how far faint light is lifted: y = stretch * light, > 0 */
    int64_t tone;      /* enum sim_tone */

    bool colored; /* by group with `palette`; else all light by `map` */
    float palette[SIM_PALETTE_MAX][3]; /* display colours, 0..1 */
    int64_t map;                       /* enum sim_map */
    size_t band_bytes; /* most for the fine light grid; 0: chosen. No bit depends on it */
};

/* Enqueue the picture of the bodies as they are now, into `image` (made by sim_image_new,
 * any size). Waits for nothing. SIM_DEVICE_MEMORY: no room for the light. */
enum sim_status sim_view_bodies(struct sim_bodies *bodies, const struct sim_view *view,
                                struct sim_image *image);

/* Knots of a map as display values 0..1. */
void sim_map_knots(enum sim_map map, float knots[SIM_MAP_KNOTS][3]);
/* Has the map a middle, so that it suits ranges from -a to a? */
bool sim_map_is_diverging(enum sim_map map);

#endif
