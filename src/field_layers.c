/* field_layers.c - what is drawn over a field's picture, in this order: grain along a
 * vector field, a shade by another field, its contours, dots, arrows, and the solver's
 * obstacles. Each is a
 * pass over the panel's pixels (kernels/field_layer_math.h), at the same places of the
 * plane whatever grid the other field has. */
#include "field_image.h"

#include <math.h>

#define REFERENCE_ROWS 720.0

/* The field's cells under the panel. */
static struct sim_picture_args place(const struct sim_field *field,
                                     const struct sim_field_panel *panel,
                                     struct sim_image *image)
{
    const struct sim_lattice s = sim_field_lattice(field);
    return (struct sim_picture_args){
        .pixels = image->pixels.data,
        .picture_width = image->width,
        .x = panel->x,
        .y = panel->y,
        .width = panel->width,
        .height = panel->height,
        .first_x = (panel->from[0] - s.x) / s.dx + 0.5,
        .first_y = (panel->to[1] - s.y) / s.dy + 0.5,
        .cells_x = (panel->to[0] - panel->from[0]) / s.dx / panel->width,
        .cells_y = (panel->to[1] - panel->from[1]) / s.dy / panel->height,
        .filter = SIM_FILTER_CUBIC,
        .samples = 1,
        .scale = 1,
    };
}

static struct sim_array array_of(const struct sim_field *field)
{
    return (struct sim_array){field->data, field->mask, field->nx, field->ny,
                              field->pitch};
}

static enum sim_status draw_shade(const struct sim_field_shade *s,
                                  const struct sim_field_panel *panel,
                                  struct sim_image *image)
{
    if (!s->field)
        return SIM_OK;
    SIM_TRY(sim_field_prepare(s->field));
    struct sim_picture_args args = place(s->field, panel, image);
    const struct sim_array array = array_of(s->field);
    args.low = s->range[0];
    args.scale = 1 / (s->range[1] - s->range[0]);
    for (int c = 0; c < 3; c++)
        args.contour_color[c] = (float)s->color[c];
    return s->field->ops->layer(s->field->device, &array, &args);
}

static enum sim_status draw_contours(const struct sim_field_picture *p,
                                     const struct sim_field_panel *panel,
                                     struct sim_image *image)
{
    struct sim_field *of = p->contour_field;
    double range[2] = {0, 1};
    if (!of)
        return SIM_OK;
    SIM_TRY(sim_field_prepare(of));
    if (p->levels) {
        struct sim_field_picture own = *p;
        own.automatic = true;
        own.map = SIM_MAP_GREY; /* a map with a middle would want one of the range */
        SIM_TRY(sim_field_choose_range(of, &own, range));
    }
    struct sim_picture_args args = place(of, panel, image);
    const struct sim_array array = array_of(of);
    args.scale = 1 / (range[1] - range[0]);
    sim_field_contours(p, range, panel->height, &args);
    return of->ops->layer(of->device, &array, &args);
}

/* Both components brought up to date, and where they are under the panel. */
static enum sim_status place_vector(struct sim_field *x, struct sim_field *y,
                                    const struct sim_field_panel *panel,
                                    struct sim_image *image, struct sim_vector_place *out)
{
    struct sim_field *const component[2] = {x, y};
    *out = (struct sim_vector_place){.pixels = image->pixels.data,
                                     .picture_width = image->width,
                                     .x = panel->x,
                                     .y = panel->y,
                                     .width = panel->width,
                                     .height = panel->height};
    for (int axis = 0; axis < 2; axis++) {
        SIM_TRY(sim_field_prepare(component[axis]));
        const struct sim_picture_args at = place(component[axis], panel, image);
        out->of[axis].first_x = at.first_x, out->of[axis].first_y = at.first_y;
        out->of[axis].cells_x = at.cells_x, out->of[axis].cells_y = at.cells_y;
    }
    return SIM_OK;
}

static enum sim_status draw_arrows(const struct sim_field_arrows *a,
                                   const struct sim_field_panel *panel,
                                   struct sim_image *image)
{
    const double scale = panel->height / REFERENCE_ROWS;
    struct sim_arrow_args args = {.spacing = fmax(4, a->spacing * scale),
                                  .per_unit = 1 / a->speed,
                                  .half = (float)(0.5 * fmax(1, a->width * scale))};
    if (!a->x)
        return SIM_OK;
    SIM_TRY(place_vector(a->x, a->y, panel, image, &args.place));
    for (int c = 0; c < 3; c++)
        args.color[c] = (float)a->color[c];
    const struct sim_array x = array_of(a->x), y = array_of(a->y);
    return a->x->ops->arrows(a->x->device, &x, &y, &args);
}

static enum sim_status draw_grain(const struct sim_field_grain *g,
                                  const struct sim_field_panel *panel,
                                  struct sim_image *image)
{
    const double scale = panel->height / REFERENCE_ROWS;
    struct sim_grain_args args = {.size = fmax(1, g->size * scale),
                                  .strength = g->strength};
    if (!g->x)
        return SIM_OK;
    args.steps = (int)fmax(1, fmin(200, 0.5 * g->length * scale / args.size));
    SIM_TRY(place_vector(g->x, g->y, panel, image, &args.place));
    const struct sim_array x = array_of(g->x), y = array_of(g->y);
    return g->x->ops->grain(g->x->device, &x, &y, &args);
}

static enum sim_status draw_dots(const struct sim_field_dots *d,
                                 const struct sim_field_panel *panel,
                                 struct sim_image *image)
{
    struct sim_field *of = d->field;
    if (!of)
        return SIM_OK;
    SIM_TRY(sim_field_prepare(of));
    struct sim_dot_args args = {
        .pixels = image->pixels.data,
        .picture_width = image->width,
        .x = panel->x,
        .y = panel->y,
        .width = panel->width,
        .height = panel->height,
        .left = panel->from[0],
        .top = panel->to[1],
        .per_x = panel->width / (panel->to[0] - panel->from[0]),
        .per_y = panel->height / (panel->to[1] - panel->from[1]),
        .radius = fmax(0.5, 0.5 * d->size * panel->height / REFERENCE_ROWS),
        .strength = (float)d->strength};
    const size_t bytes = (size_t)panel->width * (size_t)panel->height * sizeof(int32_t);
    args.point = of->points(of, &args.count);
    for (int c = 0; c < 3; c++)
        args.color[c] = (float)d->color[c];
    if (of->dots.data && of->dots.bytes < bytes)
        sim_buffer_free(&of->dots);
    if (!of->dots.data)
        SIM_TRY(sim_buffer_new(of->device, bytes, "a picture's dots", &of->dots));
    args.sum = of->dots.data;
    return of->ops->dots(of->device, &args);
}

static enum sim_status draw_cover(const struct sim_field_picture *p,
                                  const struct sim_field_panel *panel,
                                  const uint8_t *share, struct sim_image *image)
{
    struct sim_device *device = image->pixels.device;
    struct sim_cover_args args = {.pixels = image->pixels.data,
                                  .share = share,
                                  .picture_width = image->width,
                                  .x = panel->x,
                                  .y = panel->y,
                                  .width = panel->width,
                                  .height = panel->height};
    for (int c = 0; c < 3; c++)
        args.color[c] = (float)p->mask_color[c];
    return share ? sim_field_ops(device->kind, false)->cover(device, &args) : SIM_OK;
}

enum sim_status sim_field_layers(const struct sim_field_picture *p,
                                 const struct sim_field_panel *panel,
                                 const uint8_t *share, struct sim_image *image)
{
    SIM_TRY(draw_grain(&p->grain, panel, image));
    SIM_TRY(draw_shade(&p->shade, panel, image));
    SIM_TRY(draw_contours(p, panel, image));
    SIM_TRY(draw_dots(&p->dots, panel, image));
    SIM_TRY(draw_arrows(&p->arrows, panel, image));
    return draw_cover(p, panel, share, image);
}

enum sim_status sim_field_cover(struct sim_field *field,
                                const struct sim_field_panel *panel,
                                const uint8_t **share)
{
    const double dx = (panel->to[0] - panel->from[0]) / panel->width;
    const double dy = (panel->to[1] - panel->from[1]) / panel->height;
    const struct sim_lattice pixels = {panel->width,
                                       panel->height,
                                       panel->from[0] + 0.5 * dx,
                                       panel->from[1] + 0.5 * dy,
                                       dx,
                                       dy};
    *share = NULL;
    return field->cover ? field->cover(field, &pixels, share) : SIM_OK;
}
