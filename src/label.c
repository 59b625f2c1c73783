/* label.c - where letters go: UTF-8 to glyphs, lines, alignment, and the scale bar. The
 * strokes themselves are in kernels/font.h, their drawing in kernels/render_*. */
#include "label.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../kernels/font.h"
#include "../kernels/render.h"

#define REFERENCE_ROWS 720.0
#define MARGIN         0.9  /* around, in sizes */
#define OUTLINE        0.16 /* the dark edge, in sizes */
#define SHADE          0.65
#define THINNEST       0.6  /* half width of a stroke, pixels */
#define BAR_GAP        0.75 /* from the bar up to its text's base line, in sizes */
#define BAR_TICK       0.2  /* half the height of the bar's ends, in sizes */

/* ---- UTF-8 ----------------------------------------------------------------------------
 */

/* The next code point, moving *text past it; a broken sequence is one unknown letter. */
static uint32_t next_letter(const char **text)
{
    const unsigned char *s = (const unsigned char *)*text;
    int more = s[0] >= 0xf0 ? 3 : s[0] >= 0xe0 ? 2 : s[0] >= 0xc0 ? 1 : 0;
    uint32_t code = more ? s[0] & (0x3fu >> more) : s[0];
    int k = 1;
    for (; k <= more && (s[k] & 0xc0) == 0x80; k++)
        code = code << 6 | (s[k] & 0x3fu);
    *text += k;
    return k == more + 1 ? code : 0xfffd;
}

static uint8_t letter_glyph(uint32_t code)
{
    static const uint32_t signs[] = {0xb0, 0xb1, 0xd7, 0xb7, 0x2013};
    if (code >= 32 && code < 127)
        return (uint8_t)(code - 32);
    for (int k = 0; k < (int)(sizeof signs / sizeof *signs); k++)
        if (signs[k] == code)
            return (uint8_t)(SIM_FONT_BOX + 1 + k);
    if (code == 0x2212) /* minus */
        return letter_glyph(0x2013);
    return SIM_FONT_BOX;
}

/* ---- layout ---------------------------------------------------------------------------
 */

/* Glyphs in font units from the upper left of the text block, y down to base lines. */
struct block {
    int count, lines;
    float width; /* of the longest line */
    float line_width[SIM_TEXT_MAX + 1];
    int line_of[SIM_TEXT_MAX];
};

static enum sim_status lay_out(const char *text, struct sim_text_args *args,
                               struct block *b)
{
    *b = (struct block){.lines = 1};
    float x = 0;
    while (*text) {
        uint32_t code = next_letter(&text);
        if (code == '\n') {
            if (b->lines == SIM_TEXT_MAX)
                break;
            b->lines++;
            x = 0;
            continue;
        }
        if (b->count == SIM_TEXT_MAX)
            return sim_fail(SIM_BAD_ARGUMENT, "label: the text is longer than %d letters",
                            SIM_TEXT_MAX);
        uint8_t glyph = letter_glyph(code);
        args->glyph[b->count] = glyph;
        args->x[b->count] = x;
        args->y[b->count] = (float)(b->lines - 1) * SIM_FONT_LINE;
        b->line_of[b->count++] = b->lines - 1;
        x += (float)sim_font[glyph].advance;
        b->line_width[b->lines - 1] = x;
        b->width = x > b->width ? x : b->width;
    }
    args->count = b->count;
    return SIM_OK;
}

/* A size in pixels, and what follows from it. */
static double start_text(const struct sim_image *image, double size,
                         const double color[3], struct sim_text_args *args)
{
    double pixels = size * image->height / REFERENCE_ROWS;
    memset(args, 0, sizeof *args);
    args->pixels = image->pixels.data;
    args->width = image->width;
    args->height = image->height;
    args->scale = (float)(pixels / (double)SIM_FONT_EM);
    args->half = (float)fmax(THINNEST, (double)(SIM_FONT_HALF * args->scale));
    args->outline = (float)fmax(1.5, OUTLINE * pixels);
    args->shade = (float)SHADE;
    for (int c = 0; c < 3; c++)
        args->color[c] = (float)(255 * color[c]);
    return pixels;
}

/* Move the glyphs so that the block's upper left is at (x, y) pixels; lines are aligned
 * by `align`, 0..1. */
static void place_block(struct sim_text_args *args, const struct block *b, double x,
                        double y, double align)
{
    for (int k = 0; k < args->count; k++) {
        float slack = (b->width - b->line_width[b->line_of[k]]) * (float)align;
        args->x[k] = (float)x + args->scale * (args->x[k] + slack);
        args->y[k] = (float)y + args->scale * (args->y[k] + 28.0f);
    }
}

static int clamp_pixel(double v, int most)
{
    return v < 0 ? 0 : v > most ? most : (int)v;
}

/* Draw what is within a box of pixels, and a little around for edges and descenders. */
static enum sim_status draw(struct sim_image *image, struct sim_text_args *args, double x,
                            double y, double width, double height)
{
    struct sim_device *device = image->pixels.device;
    double around = (double)(args->half + args->outline) + 2 + 11 * (double)args->scale;
    args->x0 = clamp_pixel(x - around, image->width);
    args->y0 = clamp_pixel(y - around, image->height);
    args->x1 = clamp_pixel(ceil(x + width + around), image->width);
    args->y1 = clamp_pixel(ceil(y + height + around), image->height);
    if (args->x1 <= args->x0 || args->y1 <= args->y0)
        return SIM_OK;
    SIM_TRY(sim_device_usable(device));
    return sim_render_ops(device->kind)->text(device, args);
}

enum sim_status sim_image_label(struct sim_image *image, const struct sim_label *label)
{
    struct sim_text_args args;
    struct block block;
    double size = start_text(image, label->size, label->color, &args);
    SIM_TRY(lay_out(label->text, &args, &block));
    if (block.count == 0)
        return SIM_OK;
    double width = (double)(block.width * args.scale);
    double height =
        (double)(args.scale * ((float)(block.lines - 1) * SIM_FONT_LINE + 28));
    double x =
        MARGIN * size + label->position[0] * (image->width - 2 * MARGIN * size - width);
    double y = MARGIN * size +
               (1 - label->position[1]) * (image->height - 2 * MARGIN * size - height);
    place_block(&args, &block, x, y, label->position[0]);
    return draw(image, &args, x, y, width, height);
}

double sim_text_width(const char *text, double size)
{
    struct sim_text_args args;
    struct block block;
    if (lay_out(text, &args, &block) != SIM_OK)
        return 0;
    return (double)block.width * size / (double)SIM_FONT_EM;
}

enum sim_status sim_image_text(struct sim_image *image, const struct sim_text *text)
{
    struct sim_text_args args;
    struct block block;
    double size = text->size * REFERENCE_ROWS / image->height;
    start_text(image, size, text->color, &args);
    args.shade = 0;
    SIM_TRY(lay_out(text->text, &args, &block));
    if (block.count == 0)
        return SIM_OK;
    double width = (double)(block.width * args.scale);
    double height =
        (double)(args.scale * ((float)(block.lines - 1) * SIM_FONT_LINE + 28));
    double x = text->x - text->align * width;
    double y = text->y - 0.5 * height;
    place_block(&args, &block, x, y, text->align);
    return draw(image, &args, x, y, width, height);
}

/* ---- scale bar ------------------------------------------------------------------------
 */

/* 1, 2 or 5 times a power of ten, at most v. */
static double round_below(double v)
{
    double ten = pow(10, floor(log10(v)));
    double lead = v / ten;
    return (lead >= 5 ? 5 : lead >= 2 ? 2 : 1) * ten;
}

/* The template with its "%s" replaced by the length. */
static void bar_text(const char *template, double length, char *out, size_t size)
{
    const char *hole = template ? strstr(template, "%s") : NULL;
    if (!template)
        snprintf(out, size, "%.6g", length);
    else if (hole)
        snprintf(out, size, "%.*s%.6g%s", (int)(hole - template), template, length,
                 hole + 2);
    else
        snprintf(out, size, "%s", template);
}

static void set_line(float line[4], double x0, double y0, double x1, double y1)
{
    line[0] = (float)x0;
    line[1] = (float)y0;
    line[2] = (float)x1;
    line[3] = (float)y1;
}

enum sim_status sim_image_scalebar(struct sim_image *image,
                                   const struct sim_scalebar *bar)
{
    struct sim_text_args args;
    struct block block;
    char text[4 * SIM_TEXT_MAX];
    if (!(image->units_per_pixel > 0))
        return sim_fail(SIM_BAD_ARGUMENT, "scalebar: this picture has no scale");
    double size = start_text(image, bar->size, bar->color, &args);
    double room = image->width - 2 * MARGIN * size;
    double length = bar->length > 0
                        ? bar->length
                        : round_below(0.2 * image->width * image->units_per_pixel);
    double pixels = length / image->units_per_pixel;
    if (pixels > room)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "scalebar: a length of %g is wider than the picture, "
                        "which shows %g",
                        length, image->width * image->units_per_pixel);
    bar_text(bar->text, length, text, sizeof text);
    SIM_TRY(lay_out(text, &args, &block));
    double text_width = (double)(block.width * args.scale);
    double lines = (double)(args.scale * ((float)(block.lines - 1) * SIM_FONT_LINE + 28));
    double width = fmax(pixels, text_width), height = lines + (BAR_GAP + BAR_TICK) * size;
    double x = MARGIN * size + bar->position[0] * (room - width);
    double y = MARGIN * size +
               (1 - bar->position[1]) * (image->height - 2 * MARGIN * size - height);
    double left = x + (width - pixels) / 2, level = y + lines + BAR_GAP * size;
    place_block(&args, &block, x + (width - text_width) / 2, y, 0.5);
    set_line(args.line[0], left, level, left + pixels, level);
    set_line(args.line[1], left, level - BAR_TICK * size, left, level + BAR_TICK * size);
    set_line(args.line[2], left + pixels, level - BAR_TICK * size, left + pixels,
             level + BAR_TICK * size);
    args.line_count = 3;
    return draw(image, &args, x, y, width, height);
}
