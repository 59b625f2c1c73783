/* shape.h - regions of the plane: what paint, obstacles and masks are given by.
 *
 * A shape is an immutable tree on the host, counted by references: makers of compound
 * shapes keep their parts, so parts may be released at once. Coordinates are physical, y
 * up, angles in degrees, counter-clockwise.
 *
 * Membership is half-open where it matters: a box holds its lower and left edges and not
 * its upper and right ones, a polygon likewise (even-odd rule), so that shapes that share
 * an edge share no point and leave none out. A disc is strict: |p - c|^2 < r^2. A
 * half-plane holds the points behind its line and the line itself: (p - point) . normal
 * <= 0.
 *
 * A profile (gaussian, or anything that contains one) has weights between 0 and 1 and no
 * edge: it can be painted, not used as a mask or an obstacle.
 *
 * Not here: three dimensions, curves other than the circle, distances to profiles. */
#ifndef SIM_SHAPE_H
#define SIM_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "raster.h"
#include "status.h"

struct sim_shape; /* immutable; sim_shape_release */

/* A rectangle of samples: sample (i, j) is at x + i dx, y + j dy, and stands for the cell
 * of dx by dy around it. */
struct sim_lattice {
    int64_t nx, ny;
    double x, y, dx, dy;
};

/* Makers. SIM_BAD_ARGUMENT for sizes that are not positive and finite, for fewer than
 * three corners, for a normal of length 0; SIM_HOST_MEMORY. */
enum sim_status sim_shape_disc(const double centre[2], double radius,
                               struct sim_shape **out);
enum sim_status sim_shape_box(const double from[2], const double to[2],
                              struct sim_shape **out);
enum sim_status sim_shape_polygon(const double (*corners)[2], int64_t count,
                                  struct sim_shape **out);
enum sim_status sim_shape_half_plane(const double point[2], const double normal[2],
                                     struct sim_shape **out);
enum sim_status sim_shape_gaussian(const double centre[2], const double sigma[2],
                                   struct sim_shape **out);

/* A picture's pixels as a region; read whole when the shape is made. Where it is asked
 * for cells (mask, weights), the mean over the cell counts; for a point, the pixel there.
 * In a rotated picture the cell is taken along the picture's own axes. */
struct sim_shape_image {
    const char *file;     /* PNG: grey, RGB, palette, with alpha, 8 or 16 bits */
    double position[2];   /* lower left corner */
    double width, height; /* of the whole picture; height 0: pixels are square */
    enum sim_channel channel;
    double
        threshold; /* inside where the channel's mean over the cell >= threshold, 0..1 */
    bool invert;   /* inside where it is below, and within the picture's rectangle */
};
/* SIM_FILE with the path and the cause. */
enum sim_status sim_shape_image(const struct sim_shape_image *image,
                                struct sim_shape **out);

enum sim_status sim_shape_union(struct sim_shape *a, struct sim_shape *b,
                                struct sim_shape **out);
enum sim_status sim_shape_intersection(struct sim_shape *a, struct sim_shape *b,
                                       struct sim_shape **out);
enum sim_status sim_shape_difference(struct sim_shape *a, struct sim_shape *b,
                                     struct sim_shape **out);
enum sim_status sim_shape_complement(struct sim_shape *a, struct sim_shape **out);
enum sim_status sim_shape_move(struct sim_shape *a, double dx, double dy,
                               struct sim_shape **out);
enum sim_status sim_shape_rotate(struct sim_shape *a, double degrees,
                                 const double about[2], struct sim_shape **out);
enum sim_status sim_shape_scale(struct sim_shape *a, double factor, const double about[2],
                                struct sim_shape **out); /* factor > 0 */

struct sim_shape *
sim_shape_keep(struct sim_shape *shape);         /* one more owner; returns it */
void sim_shape_release(struct sim_shape *shape); /* one fewer; NULL is fine */

/* Questions; any thread may ask. */
bool sim_shape_is_profile(const struct sim_shape *shape);
bool sim_shape_inside(const struct sim_shape *shape, double x, double y);
/* The same of a cell of these half widths around the point: a picture by its mean there.
 */
bool sim_shape_has_cell(const struct sim_shape *shape, double x, double y, double hx,
                        double hy);
/* 1 inside and 0 outside; a profile's own value. */
double sim_shape_weight(const struct sim_shape *shape, double x, double y);
/* Signed distance to the edge, negative inside. Exact for single shapes and their
 * complements; for compounds a lower bound of the distance's size with the right sign. Of
 * an image the distance to its rectangle, 0 (not known) in it; of a profile 0. */
double sim_shape_distance(const struct sim_shape *shape, double x, double y);
/* The share of the box [x0,x1) x [y0,y1) that is inside, 0..1: exact where the shape is
 * one half-plane or an unrotated box; else the share of SIM_COVERAGE^2 sample points. */
#define SIM_COVERAGE 16
double sim_shape_coverage(const struct sim_shape *shape, double x0, double y0, double x1,
                          double y1);
/* A box {x0, y0, x1, y1} that holds all of it; false: the shape may be unbounded. */
bool sim_shape_bounds(const struct sim_shape *shape, double box[4]);

/* The whole tree as bytes, for a checkpoint, a multiple of 8 of them; and from them
 * again, to the same bits. unpack moves *at past what it used; SIM_FILE where the bytes
 * are no shape, SIM_HOST_MEMORY. Pictures are kept whole, 2 bytes a pixel. */
size_t sim_shape_packed_bytes(const struct sim_shape *shape);
void sim_shape_pack(const struct sim_shape *shape, char **at);
enum sim_status sim_shape_unpack(const char **at, const char *end,
                                 struct sim_shape **out);

/* Samples of rows j0 <= j < j1 of a lattice on `threads` threads; `out` holds (j1-j0)*nx
 * items. mask: 1 inside (by the sample point), 0 outside. weights: 0..1, by the sample
 * point, or by the cell's coverage when soft. */
void sim_shape_mask(const struct sim_shape *shape, const struct sim_lattice *lattice,
                    int64_t j0, int64_t j1, int threads, uint8_t *out);
void sim_shape_weights(const struct sim_shape *shape, const struct sim_lattice *lattice,
                       int64_t j0, int64_t j1, bool soft, int threads, float *out);

#endif
