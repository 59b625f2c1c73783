/* png.c - stb_image_write's memory writer with libdeflate behind it.
 *
 * stb lays out the chunks and filters the rows; libdeflate compresses, and computes the
 * checksums (stb's own go a byte at a time). stb is kept from files altogether: its file
 * writer reports success on a full disk.
 *
 * Filter and level. A picture must not cost the simulation its cores, so time comes
 * first: libdeflate's level 1 on unfiltered rows. Ratios to that choice at 1280 x 720, on
 * one core, over galaxies, star fields (sharp, dense, soft) and colour-mapped fields:
 *     filter   level   time         size of file
 *     none     1       1            1
 *     none     2       1.2 - 1.5    0.82 - 0.94
 *     none     6       1.3 - 3.3    0.44 - 0.92
 *     sub      1       1.0 - 1.5    0.76 - 1.17
 *     paeth    1       1.4 - 1.9    0.71 - 1.19
 *     adaptive 1       2.5 - 3.9    0.71 - 1.19   (stb tries all five on every row)
 * Filters help only where light is smooth and wide; colour maps and sharp points, where
 * equal pixels repeat exactly, come out larger with them.
 *
 * Not here: palettes, alpha, 16 bits, interlacing, text chunks. */
#include "png.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>

enum { LEVEL = 1, FILTER_NONE = 0 };

/* The stream of the encoding under way on this thread. stb frees it, except when its last
 * allocation, the file's own, fails: then it drops it, and the caller frees it. */
static _Thread_local unsigned char *stream;

/* stb's callback: a zlib stream in memory of STBIW_MALLOC, NULL when there is none. */
static unsigned char *zlib_compress(unsigned char *bytes, int size, int *out_size,
                                    int quality)
{
    (void)quality;
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(LEVEL);
    if (!compressor)
        return NULL;
    size_t bound = libdeflate_zlib_compress_bound(compressor, (size_t)size);
    unsigned char *out = malloc(bound);
    size_t used = 0;
    if (out)
        used = libdeflate_zlib_compress(compressor, bytes, (size_t)size, out, bound);
    libdeflate_free_compressor(compressor);
    if (used == 0 || used > INT_MAX - 64) { /* stb adds 57 bytes of chunks in int */
        free(out);
        return NULL;
    }
    *out_size = (int)used;
    stream = out;
    return out;
}

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#define STBI_WRITE_NO_STDIO
#define STBIW_MALLOC(size)          malloc(size)
#define STBIW_REALLOC(memory, size) realloc(memory, size)
#define STBIW_FREE(memory)          free(memory)
#define STBIW_ZLIB_COMPRESS         zlib_compress
#define STBIW_CRC32(bytes, size)    libdeflate_crc32(0, bytes, (size_t)(size))
/* Looked at where the file ends, so it stays off: stb's other formats are not used. */
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <stb_image_write.h>
#pragma GCC diagnostic pop

static pthread_once_t filter_once = PTHREAD_ONCE_INIT;

static void filter_choose(void)
{
    stbi_write_force_png_filter = FILTER_NONE;
}

enum sim_status sim_png_encode(const uint8_t *pixels, int width, int height, int channels,
                               struct sim_png *out)
{
    assert(channels == 1 || channels == 3);
    *out = (struct sim_png){0};
    if (width < 1 || height < 1 || width > SIM_PNG_SIDE_MAX || height > SIM_PNG_SIDE_MAX)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "a picture of %d x %d pixels: each side must be 1 to %d", width,
                        height, SIM_PNG_SIDE_MAX);
    pthread_once(&filter_once, filter_choose);
    int size = 0;
    stream = NULL;
    out->bytes = stbi_write_png_to_mem(pixels, 0, width, height, channels, &size);
    if (!out->bytes) {
        free(stream);
        return sim_fail(SIM_HOST_MEMORY,
                        "not enough host memory to encode a picture of %d x %d pixels",
                        width, height);
    }
    out->size = (size_t)size;
    return SIM_OK;
}

void sim_png_free(struct sim_png *png)
{
    free(png->bytes);
    *png = (struct sim_png){0};
}
