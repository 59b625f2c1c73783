/* raster.c - stb_image's PNG reader, from memory, and the table of sums.
 *
 * The integral over [0, x) x [0, y) of a picture that is constant in each pixel is the
 * bilinear interpolation of the table of sums at (x, y); a rectangle is four of them
 * (F. Crow, "Summed-area tables for texture mapping", SIGGRAPH 1984).
 *
 * Not here: JPEG and other formats, colour management. */
#include "raster.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "file.h"

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_HDR
/* Looked at where the file ends, so it stays off: not all of stb is used. */
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <stb_image.h>
#pragma GCC diagnostic pop

#define WHITE 65535.0

const char *const sim_channel_words[] = {"brightness", "alpha", "red",
                                         "green",      "blue",  NULL};

/* 0..65535 */
static uint64_t level(const uint16_t rgba[4], enum sim_channel channel)
{
    switch (channel) {
    case SIM_CHANNEL_ALPHA:
        return rgba[3];
    case SIM_CHANNEL_RED:
        return rgba[0];
    case SIM_CHANNEL_GREEN:
        return rgba[1];
    case SIM_CHANNEL_BLUE:
        return rgba[2];
    case SIM_CHANNEL_BRIGHTNESS:
        break;
    }
    double light = 0.2126 * rgba[0] + 0.7152 * rgba[1] + 0.0722 * rgba[2];
    return (uint64_t)(light * (rgba[3] / WHITE) + 0.5);
}

static void add_up(struct sim_raster *raster, const uint16_t *levels)
{
    int64_t w = raster->width;
    memset(raster->sums, 0, (size_t)(w + 1) * sizeof *raster->sums);
    for (int64_t j = 0; j < raster->height; j++) {
        const uint64_t *above = raster->sums + j * (w + 1);
        uint64_t *row = raster->sums + (j + 1) * (w + 1), sum = 0;
        row[0] = 0;
        for (int64_t i = 0; i < w; i++) {
            sum += levels[j * w + i];
            row[i + 1] = above[i + 1] + sum;
        }
    }
}

static enum sim_status decode(const char *path, const char *bytes, size_t size,
                              int64_t *width, int64_t *height, uint16_t **rgba)
{
    int w = 0, h = 0, kinds = 0;
    if (size > INT_MAX)
        return sim_fail(SIM_FILE, "'%s' is too large for a picture: %zu bytes", path,
                        size);
    *rgba = stbi_load_16_from_memory((const unsigned char *)bytes, (int)size, &w, &h,
                                     &kinds, 4);
    if (!*rgba)
        return sim_fail(SIM_FILE, "'%s' cannot be read as a PNG picture: %s", path,
                        stbi_failure_reason());
    *width = w;
    *height = h;
    return SIM_OK;
}

enum sim_status sim_raster_make(const uint16_t *levels, int64_t width, int64_t height,
                                struct sim_raster *out)
{
    size_t bytes;
    *out = (struct sim_raster){.width = width, .height = height};
    SIM_TRY(
        sim_size_multiply((size_t)width + 1, (size_t)height + 1, "a picture", &bytes));
    SIM_TRY(sim_size_multiply(bytes, sizeof *out->sums, "a picture", &bytes));
    out->sums = malloc(bytes);
    if (!out->sums)
        return sim_fail(SIM_HOST_MEMORY, "out of host memory for a picture");
    add_up(out, levels);
    return SIM_OK;
}

void sim_raster_levels(const struct sim_raster *raster, uint16_t *out)
{
    const int64_t w = raster->width;
    for (int64_t j = 0; j < raster->height; j++) {
        const uint64_t *above = raster->sums + j * (w + 1), *row = above + w + 1;
        for (int64_t i = 0; i < w; i++)
            out[j * w + i] = (uint16_t)(row[i + 1] - row[i] - (above[i + 1] - above[i]));
    }
}

/* In place of the pixels, which are four times as large. */
static void keep_channel(uint16_t *rgba, int64_t pixels, enum sim_channel channel)
{
    for (int64_t k = 0; k < pixels; k++)
        rgba[k] = (uint16_t)level(rgba + 4 * k, channel);
}

enum sim_status sim_raster_read(const char *path, enum sim_channel channel,
                                struct sim_raster *out)
{
    char *bytes;
    size_t size;
    int64_t width = 0, height = 0;
    uint16_t *rgba = NULL;
    *out = (struct sim_raster){0};
    SIM_TRY(sim_file_read(path, &bytes, &size));
    enum sim_status status = decode(path, bytes, size, &width, &height, &rgba);
    free(bytes);
    if (status == SIM_OK) {
        keep_channel(rgba, width * height, channel);
        status = sim_raster_make(rgba, width, height, out);
    }
    stbi_image_free(rgba);
    return status;
}

void sim_raster_free(struct sim_raster *raster)
{
    free(raster->sums);
    *raster = (struct sim_raster){0};
}

static double clamp(double v, double most)
{
    return v < 0 ? 0 : v > most ? most : v;
}

/* Over [0, x) x [0, y), y down, both within the picture. */
static double integral(const struct sim_raster *raster, double x, double y)
{
    int64_t i = (int64_t)x, j = (int64_t)y, w = raster->width + 1;
    double tx = x - (double)i, ty = y - (double)j;
    const uint64_t *at = raster->sums + j * w + i;
    int64_t right = i < raster->width, down = j < raster->height ? w : 0;
    double top = (double)at[0] + tx * (double)(at[right] - at[0]);
    double bottom = (double)at[down] + tx * (double)(at[down + right] - at[down]);
    return top + ty * (bottom - top);
}

/* Of pixel (i, j), counted from the lower left; 0 outside. */
static double pixel(const struct sim_raster *raster, double i, double j)
{
    if (!(i >= 0 && i < (double)raster->width && j >= 0 && j < (double)raster->height))
        return 0;
    const uint64_t *at = raster->sums +
                         (raster->height - 1 - (int64_t)j) * (raster->width + 1) +
                         (int64_t)i;
    const uint64_t *below = at + raster->width + 1;
    return (double)(below[1] - below[0] - (at[1] - at[0])) / WHITE;
}

double sim_raster_mean(const struct sim_raster *raster, double x0, double y0, double x1,
                       double y1)
{
    double w = (double)raster->width, h = (double)raster->height;
    double area = (x1 - x0) * (y1 - y0);
    /* within one pixel differences of sums would only lose digits */
    if (!(area > 0) || (x1 <= floor(x0) + 1 && y1 <= floor(y0) + 1))
        return pixel(raster, floor(x0), floor(y0));
    double left = clamp(x0, w), right = clamp(x1, w);
    double top = clamp(h - y1, h), bottom = clamp(h - y0, h);
    double sum = integral(raster, right, bottom) - integral(raster, left, bottom) -
                 integral(raster, right, top) + integral(raster, left, top);
    return sum / (area * WHITE);
}
