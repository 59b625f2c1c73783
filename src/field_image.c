/* field_image.c - where things go in a picture of a field, and the calls that draw them.
 *
 * With a colour bar a strip at the right is set aside for the bar, its numbers and its
 * label, wide enough for the numbers; the field takes the largest rectangle of its own
 * shape in the middle of the rest. */
#include "field_image.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "label.h"

#define DEFAULT_WIDTH  1280.0
#define DEFAULT_HEIGHT 720.0
#define REFERENCE_ROWS 720.0
#define SMALLEST_TEXT  11.0 /* pixels */
#define TICKS_MAX      32

static enum sim_status fill_rectangle(struct sim_image *image, const double color[3])
{
    struct sim_device *device = image->pixels.device;
    struct sim_blit_args args = {
        .to = image->pixels.data,
        .to_width = image->width,
        .width = image->width,
        .height = image->height,
    };
    for (int c = 0; c < 3; c++)
        args.color[c] = (uint8_t)(255 * color[c] + 0.5);
    return sim_field_ops(device->kind, false)->blit(device, &args);
}

/* ---- range
 * ------------------------------------------------------------------------------- */

static enum sim_status not_finite(struct sim_field *field)
{
    int64_t c;
    SIM_TRY(sim_field_check(field, &c));
    return sim_fail(SIM_DIVERGED,
                    "%s%s is not finite at cell (%lld, %lld), step %lld (t = %g)",
                    *field->name ? "field " : "the field", field->name,
                    (long long)(c % field->nx) + 1, (long long)(c / field->nx) + 1,
                    (long long)field->step, field->time);
}

static enum sim_status find_range(struct sim_field *field, enum sim_map map)
{
    struct sim_field_sums sums;
    SIM_TRY(sim_field_sums(field, &sums));
    double low = sums.min, high = sums.max;
    if (sums.count == 0)
        low = high = 0;
    if (!isfinite(low) || !isfinite(high))
        return not_finite(field);
    if (sim_map_is_diverging(map)) {
        high = fmax(fabs(low), fabs(high));
        low = -high;
    }
    if (!(low < high)) { /* all alike: in the middle of the map */
        double half = low != 0 ? 0.5 * fabs(low) : 0.5;
        low -= half;
        high += half;
    }
    field->range[0] = low;
    field->range[1] = high;
    field->ranged = true;
    return SIM_OK;
}

enum sim_status sim_field_choose_range(struct sim_field *field,
                                       const struct sim_field_picture *p, double range[2])
{
    memcpy(range, p->range, sizeof p->range);
    if (p->automatic) {
        if (!field->ranged)
            SIM_TRY(find_range(field, p->map));
        memcpy(range, field->range, sizeof field->range);
    }
    if (!(range[0] < range[1]) || !isfinite(range[1] - range[0]))
        return sim_fail(SIM_BAD_ARGUMENT,
                        "image: the range { %g, %g } must go from low to high", range[0],
                        range[1]);
    return SIM_OK;
}

/* ---- the bar's numbers
 * ------------------------------------------------------------------- */

struct ticks {
    int count;
    double value[TICKS_MAX];
    char text[TICKS_MAX][24];
    double width; /* of the widest, for letters of 1 pixel */
};

/* 1, 2 or 5 times a power of ten, near v. */
static double round_step(double v)
{
    double ten = pow(10, floor(log10(v))), lead = v / ten;
    return (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10) * ten;
}

static void find_ticks(const double range[2], int wanted, struct ticks *t)
{
    double step = round_step((range[1] - range[0]) / wanted);
    double slack = 1e-9 * step;
    *t = (struct ticks){0};
    for (double k = ceil((range[0] - slack) / step);
         k * step <= range[1] + slack && t->count < TICKS_MAX; k++) {
        char *text = t->text[t->count];
        t->value[t->count++] = k * step;
        snprintf(text, sizeof t->text[0], "%.6g", k == 0 ? 0 : k * step);
        t->width = fmax(t->width, sim_text_width(text, 1));
    }
}

/* ---- layout
 * ------------------------------------------------------------------------------ */

struct layout {
    int width, height; /* of the picture */
    int x, y, panel_width, panel_height;
    double em; /* size of letters, pixels */
    int strip, bar_x, bar_y, bar_width, bar_height, dash;
    double x0, y0, x1, y1; /* the part shown, in cell coordinates */
};

static void shown_part(const struct sim_field *field, const struct sim_field_picture *p,
                       struct layout *l)
{
    struct sim_lattice s = sim_field_lattice(field);
    l->x1 = (double)s.nx;
    l->y1 = (double)s.ny;
    if (p->from[0] < p->to[0] && p->from[1] < p->to[1]) {
        l->x0 = (p->from[0] - s.x) / s.dx + 0.5;
        l->y0 = (p->from[1] - s.y) / s.dy + 0.5;
        l->x1 = (p->to[0] - s.x) / s.dx + 0.5;
        l->y1 = (p->to[1] - s.y) / s.dy + 0.5;
    }
}

static double letter_size(const struct sim_field_picture *p, double height)
{
    return fmax(SMALLEST_TEXT, p->bar_size * height / REFERENCE_ROWS);
}

/* The strip at the right: 0.9 em to the bar, the bar, its dashes, the numbers, a margin;
 * the label stands over the bar and must fit as well. */
static void lay_strip(const struct sim_field_picture *p, const struct ticks *ticks,
                      double height, struct layout *l)
{
    l->em = letter_size(p, height);
    l->strip = 0;
    if (!p->bar)
        return;
    double label = p->bar_label ? sim_text_width(p->bar_label, l->em) : 0;
    double right = 0.8 * l->em + 0.65 * l->em + ticks->width * l->em;
    l->bar_width = (int)ceil(0.8 * l->em);
    l->dash = (int)ceil(0.25 * l->em);
    l->strip = (int)ceil(0.9 * l->em + fmax(right, label) + 0.9 * l->em);
}

static enum sim_status whole_pixels(double width, double height, int *w, int *h)
{
    if (!(width < SIM_IMAGE_MAX + 1.0) || !(height < SIM_IMAGE_MAX + 1.0))
        return sim_fail(SIM_BAD_ARGUMENT,
                        "image: a picture of %.0f x %.0f pixels is larger than "
                        "%d: give a smaller scale, or a size",
                        width, height, SIM_IMAGE_MAX);
    *w = (int)fmax(1, floor(width + 0.5));
    *h = (int)fmax(1, floor(height + 0.5));
    return SIM_OK;
}

/* The picture's size from that of its panel. */
static enum sim_status size_by_scale(const struct sim_field *field,
                                     const struct sim_field_picture *p,
                                     const struct ticks *ticks, struct layout *l)
{
    double nx = l->x1 - l->x0, ny = (l->y1 - l->y0) * field->dy / field->dx;
    double scale = p->scale;
    if (p->scale == 0) {
        scale = fmin(DEFAULT_WIDTH / nx, DEFAULT_HEIGHT / ny);
        scale = scale > 1 ? floor(scale) : scale;
    }
    SIM_TRY(whole_pixels(nx * scale, ny * scale, &l->panel_width, &l->panel_height));
    l->height = l->panel_height;
    lay_strip(p, ticks, l->height, l);
    l->width = l->panel_width + l->strip;
    return SIM_OK;
}

/* The panel from the picture's size. */
static enum sim_status fit_into_size(const struct sim_field *field,
                                     const struct sim_field_picture *p,
                                     const struct ticks *ticks, struct layout *l)
{
    double nx = l->x1 - l->x0, ny = (l->y1 - l->y0) * field->dy / field->dx;
    l->width = p->width;
    l->height = p->height;
    lay_strip(p, ticks, l->height, l);
    int room = l->width - l->strip;
    if (room < 1)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "image: %d pixels leave no room beside the colour bar, "
                        "which takes %d",
                        l->width, l->strip);
    double scale = fmin(room / nx, l->height / ny);
    SIM_TRY(whole_pixels(nx * scale, ny * scale, &l->panel_width, &l->panel_height));
    /* a size in whole pixels rarely has the field's shape: no sliver of background */
    l->panel_width += room - l->panel_width == 1;
    l->panel_height += l->height - l->panel_height == 1;
    l->x = (room - l->panel_width) / 2;
    l->y = (l->height - l->panel_height) / 2;
    return SIM_OK;
}

static enum sim_status lay_out(const struct sim_field *field,
                               const struct sim_field_picture *p,
                               const struct ticks *ticks, struct layout *l)
{
    *l = (struct layout){0};
    shown_part(field, p, l);
    SIM_TRY(p->width > 0 ? fit_into_size(field, p, ticks, l)
                         : size_by_scale(field, p, ticks, l));
    double above = p->bar_label ? 2.1 : 0.9; /* em */
    l->bar_x = l->width - l->strip + (int)ceil(0.9 * l->em);
    l->bar_y = (int)ceil(above * l->em);
    l->bar_height = l->height - l->bar_y - (int)ceil(0.9 * l->em);
    return SIM_OK;
}

/* ---- drawing
 * ----------------------------------------------------------------------------- */

void sim_field_contours(const struct sim_field_picture *p, const double range[2],
                        double height, struct sim_picture_args *args)
{
    args->contour_count = p->levels ? p->levels : p->contour_count;
    for (int k = 0; k < args->contour_count; k++)
        args->contour[k] =
            p->levels ? range[0] + (k + 1) * (range[1] - range[0]) / (p->levels + 1)
                      : p->contour[k];
    for (int c = 0; c < 3; c++)
        args->contour_color[c] = (float)p->contour_color[c];
    args->contour_half =
        (float)(0.5 * fmax(1, p->contour_width * height / REFERENCE_ROWS));
}

static struct sim_field_panel panel_of(const struct sim_field *field,
                                       const struct layout *l)
{
    const struct sim_lattice s = sim_field_lattice(field);
    return (struct sim_field_panel){
        .x = l->x,
        .y = l->y,
        .width = l->panel_width,
        .height = l->panel_height,
        .from = {s.x + (l->x0 - 0.5) * s.dx, s.y + (l->y0 - 0.5) * s.dy},
        .to = {s.x + (l->x1 - 0.5) * s.dx, s.y + (l->y1 - 0.5) * s.dy}};
}

static enum sim_status draw_panel(struct sim_field *field,
                                  const struct sim_field_picture *p,
                                  const struct layout *l, const double range[2],
                                  struct sim_image *image)
{
    const struct sim_field_panel panel = panel_of(field, l);
    const uint8_t *share = NULL;
    if (p->filter != SIM_FILTER_CELLS)
        SIM_TRY(sim_field_cover(field, &panel, &share));
    const struct sim_array array = {field->data,
                                    share && field->veil ? field->veil : field->mask,
                                    field->nx, field->ny, field->pitch};
    struct sim_picture_args args = {
        .pixels = image->pixels.data,
        .picture_width = image->width,
        .x = l->x,
        .y = l->y,
        .width = l->panel_width,
        .height = l->panel_height,
        .first_x = l->x0,
        .first_y = l->y1,
        .cells_x = (l->x1 - l->x0) / l->panel_width,
        .cells_y = (l->y1 - l->y0) / l->panel_height,
        .filter = p->filter,
        .low = range[0],
        .scale = 1 / (range[1] - range[0]),
        .covered = share != NULL,
    };
    double many = ceil(fmax(args.cells_x, args.cells_y) - 1e-6);
    args.samples = (int)fmin(SIM_PICTURE_SAMPLES, fmax(1, many));
    if (args.samples > 1 && args.filter == SIM_FILTER_CUBIC)
        args.filter = SIM_FILTER_LINEAR; /* the mean of many has no use for it */
    sim_map_knots(p->map, args.map);
    for (int c = 0; c < 3; c++)
        args.mask_color[c] = (float)p->mask_color[c];
    if (!p->contour_field)
        sim_field_contours(p, range, l->panel_height, &args);
    SIM_TRY(field->ops->picture(field->device, &array, &args));
    return sim_field_layers(p, &panel, share, image);
}

static enum sim_status draw_numbers(const struct sim_field_picture *p,
                                    const struct layout *l, const struct ticks *ticks,
                                    const struct sim_bar_args *bar,
                                    struct sim_image *image)
{
    struct sim_text text = {.size = l->em, .x = l->bar_x + l->bar_width + 0.65 * l->em};
    memcpy(text.color, p->bar_color, sizeof text.color);
    for (int k = 0; k < ticks->count; k++) {
        text.text = ticks->text[k];
        text.y = l->bar_y + bar->tick[k] + 0.5;
        SIM_TRY(sim_image_text(image, &text));
    }
    if (!p->bar_label)
        return SIM_OK;
    text.text = p->bar_label;
    text.x = l->bar_x;
    text.y = l->em;
    return sim_image_text(image, &text);
}

static enum sim_status draw_bar(struct sim_field *field,
                                const struct sim_field_picture *p, const struct layout *l,
                                const double range[2], const struct ticks *ticks,
                                struct sim_image *image)
{
    struct sim_bar_args args = {
        .pixels = image->pixels.data,
        .picture_width = image->width,
        .x = l->bar_x,
        .y = l->bar_y,
        .width = l->bar_width,
        .height = l->bar_height,
        .tick_count = ticks->count,
        .tick_length = l->dash,
    };
    if (l->bar_height < 3)
        return SIM_OK; /* no room in a picture of so few rows */
    sim_map_knots(p->map, args.map);
    for (int c = 0; c < 3; c++)
        args.color[c] = (float)p->bar_color[c];
    for (int k = 0; k < ticks->count; k++) {
        double share = (range[1] - ticks->value[k]) / (range[1] - range[0]);
        args.tick[k] = (int)floor(share * (l->bar_height - 1) + 0.5);
    }
    SIM_TRY(field->ops->bar(field->device, &args));
    return draw_numbers(p, l, ticks, &args, image);
}

/* Room in the tail for one more clock: into check->clock, and its offset. */
static enum sim_status add_clock(struct sim_image *image, struct sim_image_check *check,
                                 size_t *offset)
{
    if (image->clock_count == SIM_IMAGE_CLOCKS)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "beside: more than %d fields of flows in one picture",
                        SIM_IMAGE_CLOCKS);
    *offset = image->tail_offset + offsetof(struct sim_image_tail, clock) +
              (size_t)image->clock_count * sizeof(struct sim_field_clock);
    check->clock = ++image->clock_count;
    return SIM_OK;
}

/* The look for NaN goes with the picture. */
static enum sim_status add_check(struct sim_field *field, struct sim_image *image)
{
    const struct sim_array array = {field->data, field->mask, field->nx, field->ny,
                                    field->pitch};
    struct sim_image_check *check = &image->checks[image->check_count];
    size_t clock = 0;
    char *tail = (char *)image->pixels.data + image->tail_offset;
    int64_t *found = (int64_t *)(void *)(tail + offsetof(struct sim_image_tail, found)) +
                     image->check_count++;
    *check = (struct sim_image_check){.kind = SIM_CHECK_FIELD,
                                      .nx = field->nx,
                                      .step = field->step,
                                      .time = field->time};
    if (field->clock) {
        SIM_TRY(add_clock(image, check, &clock));
        SIM_TRY(field->clock(field, &image->pixels, clock));
    }
    snprintf(check->name, sizeof check->name, "%s%s",
             *field->name ? "field " : "the field", field->name);
    return field->ops->check(field->device, &array, found);
}

static enum sim_status draw(struct sim_field *field, const struct sim_field_picture *p,
                            const struct layout *l, const double range[2],
                            const struct ticks *ticks, struct sim_image *image)
{
    if (l->panel_width < l->width || l->panel_height < l->height)
        SIM_TRY(fill_rectangle(image, p->background));
    SIM_TRY(draw_panel(field, p, l, range, image));
    if (p->bar)
        SIM_TRY(draw_bar(field, p, l, range, ticks, image));
    return add_check(field, image);
}

enum sim_status sim_field_image(struct sim_field *field,
                                const struct sim_field_picture *p, struct sim_image *out)
{
    double range[2];
    struct ticks ticks = {0};
    struct layout l;
    *out = (struct sim_image){0};
    SIM_TRY(sim_device_usable(field->device));
    SIM_TRY(sim_field_prepare(field));
    SIM_TRY(sim_field_choose_range(field, p, range));
    if (p->bar)
        find_ticks(range, p->ticks, &ticks);
    SIM_TRY(lay_out(field, p, &ticks, &l));
    SIM_TRY(sim_image_new(field->device, l.width, l.height, out));
    out->units_per_pixel = (l.x1 - l.x0) * field->dx / l.panel_width;
    out->step = field->step;
    out->time = field->time;
    snprintf(out->subject, sizeof out->subject, "%s%s", *field->name ? "field " : "field",
             field->name);
    enum sim_status status = draw(field, p, &l, range, &ticks, out);
    if (status != SIM_OK)
        sim_image_free(out);
    return status;
}

/* ---- side by side
 * ------------------------------------------------------------------------ */

static enum sim_status place(const struct sim_image *from, int x, struct sim_image *to)
{
    struct sim_device *device = to->pixels.device;
    const struct sim_blit_args args = {
        .to = to->pixels.data,
        .from = from->pixels.data,
        .to_width = to->width,
        .from_width = from->width,
        .x = x,
        .y = (to->height - from->height) / 2,
        .width = from->width,
        .height = from->height,
    };
    return sim_field_ops(device->kind, false)->blit(device, &args);
}

static enum sim_status take_check(const struct sim_image *from, size_t offset,
                                  const struct sim_image_check *check,
                                  struct sim_image *to)
{
    if (to->check_count == SIM_IMAGE_CHECKS)
        return sim_fail(SIM_BAD_ARGUMENT, "beside: more than %d fields in one picture",
                        SIM_IMAGE_CHECKS);
    size_t at = to->tail_offset + offsetof(struct sim_image_tail, found) +
                (size_t)to->check_count * sizeof(int64_t);
    to->checks[to->check_count++] = *check;
    return sim_buffer_copy(&to->pixels, at, &from->pixels, from->tail_offset + offset,
                           sizeof(int64_t));
}

/* The clock of the check that was taken last, which was `check`'s in `from`. */
static enum sim_status take_clock(const struct sim_image *from,
                                  const struct sim_image_check *check,
                                  struct sim_image *to)
{
    size_t at = 0;
    if (!check->clock)
        return SIM_OK;
    SIM_TRY(add_clock(to, &to->checks[to->check_count - 1], &at));
    return sim_buffer_copy(&to->pixels, at, &from->pixels,
                           from->tail_offset + offsetof(struct sim_image_tail, clock) +
                               (size_t)(check->clock - 1) *
                                   sizeof(struct sim_field_clock),
                           sizeof(struct sim_field_clock));
}

static enum sim_status take_checks(const struct sim_image *from, struct sim_image *to)
{
    struct sim_image_check body = {SIM_CHECK_COINCIDENT, "",         0,
                                   from->step,           from->time, 0};
    const size_t found = offsetof(struct sim_image_tail, found);
    for (int k = 0; k < from->check_count; k++) {
        SIM_TRY(
            take_check(from, found + (size_t)k * sizeof(int64_t), &from->checks[k], to));
        SIM_TRY(take_clock(from, &from->checks[k], to));
    }
    if (!from->has_bodies)
        return SIM_OK;
    memcpy(body.name, from->subject, sizeof body.name);
    SIM_TRY(
        take_check(from, offsetof(struct sim_image_tail, check.coincident), &body, to));
    body.kind = SIM_CHECK_BODY;
    return take_check(from, offsetof(struct sim_image_tail, check.bad), &body, to);
}

static enum sim_status join(const struct sim_image *a, const struct sim_image *b, int gap,
                            const double background[3], struct sim_image *out)
{
    SIM_TRY(fill_rectangle(out, background));
    SIM_TRY(place(a, 0, out));
    SIM_TRY(place(b, a->width + gap, out));
    SIM_TRY(take_checks(a, out));
    return take_checks(b, out);
}

enum sim_status sim_image_beside(const struct sim_image *a, const struct sim_image *b,
                                 int gap, const double background[3],
                                 struct sim_image *out)
{
    int height = a->height > b->height ? a->height : b->height;
    int64_t width = (int64_t)a->width + gap + b->width;
    *out = (struct sim_image){0};
    if (width > SIM_IMAGE_MAX)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "beside: %lld pixels side by side are more than %d",
                        (long long)width, SIM_IMAGE_MAX);
    SIM_TRY(sim_image_new(a->pixels.device, (int)width, height, out));
    out->units_per_pixel =
        a->units_per_pixel == b->units_per_pixel ? a->units_per_pixel : 0;
    out->step = a->step;
    out->time = a->time;
    memcpy(out->subject, a->subject, sizeof out->subject);
    enum sim_status status = join(a, b, gap, background, out);
    if (status != SIM_OK)
        sim_image_free(out);
    return status;
}
