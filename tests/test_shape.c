/* test_shape.c - shapes: membership to the point, tiling, distances, shares of cells, and
 * pictures of every kind that PNG has. */
#include <libdeflate.h>
#include <stdint.h>
#include <unistd.h>

#include "../kernels/philox.h"
#include "../src/file.h"
#include "../src/shape.h"
#include "check.h"

#define PI 3.14159265358979323846

static double uniform(uint64_t k)
{
    double u[2];
    sim_random_uniforms(7, k, 0, 0, u);
    return u[0];
}

static struct sim_shape *disc(double x, double y, double r)
{
    struct sim_shape *s = NULL;
    CHECK_OK(sim_shape_disc((const double[2]){x, y}, r, &s));
    return s;
}

static struct sim_shape *box(double x0, double y0, double x1, double y1)
{
    struct sim_shape *s = NULL;
    CHECK_OK(sim_shape_box((const double[2]){x0, y0}, (const double[2]){x1, y1}, &s));
    return s;
}

static int64_t mask_count(const struct sim_shape *s, const struct sim_lattice *l)
{
    static uint8_t mask[1 << 16];
    int64_t count = 0;
    memset(mask, 7, sizeof mask);
    sim_shape_mask(s, l, 0, l->ny, 2, mask);
    for (int64_t c = 0; c < l->nx * l->ny; c++)
        count += mask[c];
    return count;
}

/* ---- membership
 * -------------------------------------------------------------------------- */

static void test_disc(void)
{
    const struct sim_lattice nodes = {100, 100, 0, 0, 1, 1};
    struct sim_shape *s = disc(50, 50, 10);
    CHECK(mask_count(s, &nodes) == 305); /* strict: reference/diffusion.md 2a */
    CHECK(!sim_shape_inside(s, 60, 50) && sim_shape_inside(s, 59.999999, 50));
    CHECK(!sim_shape_inside(s, 56, 58)); /* 6-8-10 */
    sim_shape_release(s);
}

static void test_box(void)
{
    const struct sim_lattice nodes = {20, 20, 0, 0, 1, 1};
    struct sim_shape *a = box(2, 3, 7, 9), *b = box(7, 3, 12, 9), *both, *none;
    CHECK(mask_count(a, &nodes) == 30);
    CHECK_OK(sim_shape_union(a, b, &both));
    CHECK_OK(sim_shape_intersection(a, b, &none));
    CHECK(mask_count(both, &nodes) == 60);
    CHECK(mask_count(none, &nodes) == 0);
    CHECK(sim_shape_inside(a, 2, 3) && !sim_shape_inside(a, 7, 3) &&
          !sim_shape_inside(a, 2, 9));
    sim_shape_release(a);
    sim_shape_release(b);
    sim_shape_release(both);
    sim_shape_release(none);
}

/* A fan of triangles around a point tiles a square: each lattice point of the half-open
 * square is in exactly one, also where corners and edges fall on lattice points. */
static void fan_tiles(double cx, double cy, int reverse)
{
    enum { N = 32 };
    const double rim[8][2] = {{0, 0}, {N / 2, 0}, {N, 0}, {N, N / 2},
                              {N, N}, {N / 2, N}, {0, N}, {0, N / 2}};
    int64_t wrong = 0;
    struct sim_shape *triangle[8];
    for (int k = 0; k < 8; k++) {
        const double *p = rim[k], *q = rim[(k + 1) % 8];
        const double forward[3][2] = {{cx, cy}, {p[0], p[1]}, {q[0], q[1]}};
        const double backward[3][2] = {{q[0], q[1]}, {p[0], p[1]}, {cx, cy}};
        CHECK_OK(
            sim_shape_polygon(reverse && k % 2 ? backward : forward, 3, &triangle[k]));
    }
    for (int j = -2; j <= N + 2; j++)
        for (int i = -2; i <= N + 2; i++) {
            int count = 0;
            for (int k = 0; k < 8; k++)
                count += sim_shape_inside(triangle[k], i, j);
            wrong += count != (i >= 0 && i < N && j >= 0 && j < N);
        }
    /* points that rounding puts to one side or the other of a shared edge */
    for (uint64_t n = 0; n < 4000; n++) {
        const double *p = rim[n % 8], t = uniform(n);
        double x = p[0] + t * (cx - p[0]), y = p[1] + t * (cy - p[1]);
        int count = 0;
        for (int k = 0; k < 8; k++)
            count += sim_shape_inside(triangle[k], x, y);
        wrong += count != (x >= 0 && x < N && y >= 0 && y < N);
    }
    CHECK(wrong == 0);
    for (int k = 0; k < 8; k++)
        sim_shape_release(triangle[k]);
}

static void test_polygon(void)
{
    const double star[5][2] = {
        {0, 10}, {5.878, -8.09}, {-9.511, 3.09}, {9.511, 3.09}, {-5.878, -8.09}};
    struct sim_shape *s;
    fan_tiles(16, 16, 0);
    fan_tiles(8, 24, 1);
    fan_tiles(13.7, 11.3, 0);
    fan_tiles(11.1, 17.9, 1);
    CHECK_OK(sim_shape_polygon(star, 5, &s));
    CHECK(!sim_shape_inside(s, 0, 0)); /* even-odd: the middle is crossed twice */
    CHECK(sim_shape_inside(s, 0, 8) && sim_shape_inside(s, 5, -6.5));
    sim_shape_release(s);
    CHECK(sim_shape_polygon(star, 2, &s) == SIM_BAD_ARGUMENT);
}

static void test_compounds(void)
{
    struct sim_shape *a = disc(0, 0, 2), *b = disc(1.5, 0, 1), *not_a, *minus, *h;
    CHECK_OK(sim_shape_complement(a, &not_a));
    CHECK_OK(sim_shape_difference(a, b, &minus));
    CHECK_OK(sim_shape_half_plane((const double[2]){0, 0}, (const double[2]){3, 4}, &h));
    for (uint64_t k = 0; k < 500; k++) {
        double x = 6 * uniform(2 * k) - 3, y = 6 * uniform(2 * k + 1) - 3;
        bool in_a = x * x + y * y < 4, in_b = (x - 1.5) * (x - 1.5) + y * y < 1;
        if (sim_shape_inside(not_a, x, y) == in_a ||
            sim_shape_inside(minus, x, y) != (in_a && !in_b) ||
            sim_shape_inside(h, x, y) != (3 * x + 4 * y <= 0))
            CHECK(!"a compound disagrees with its parts");
    }
    CHECK(sim_shape_inside(h, 0, 0) && sim_shape_inside(h, 4, -3));
    double bounds[4];
    CHECK(!sim_shape_bounds(not_a, bounds) && sim_shape_bounds(minus, bounds));
    sim_shape_release(a);
    sim_shape_release(b); /* the compounds keep their parts */
    CHECK(sim_shape_inside(minus, -1, 0) && !sim_shape_inside(minus, 1, 0));
    sim_shape_release(not_a);
    sim_shape_release(minus);
    sim_shape_release(h);
}

static void test_long_union(void)
{
    struct sim_shape *all = disc(0, 0, 0.4), *next;
    enum sim_status status = SIM_OK;
    int count = 1;
    for (; status == SIM_OK && count < 30000; count++) {
        struct sim_shape *one = disc(count, 0, 0.4);
        status = sim_shape_union(all, one, &next);
        sim_shape_release(one);
        if (status == SIM_OK) {
            sim_shape_release(all);
            all = next;
        }
    }
    CHECK(status == SIM_BAD_ARGUMENT && count > 10000); /* refused, not a lost stack */
    CHECK(sim_shape_inside(all, 5000, 0) && !sim_shape_inside(all, 5000.5, 0));
    sim_shape_release(all);
}

/* ---- similarities
 * ------------------------------------------------------------------------ */

static void test_moved(void)
{
    const double about[2] = {1, 2};
    struct sim_shape *b = box(0, 0, 4, 2), *quarter, *turned, *back, *scaled, *moved;
    double bounds[4];
    CHECK_OK(sim_shape_rotate(b, 90, about, &quarter));
    sim_shape_bounds(quarter, bounds);
    CHECK(bounds[0] == 1 && bounds[1] == 1 && bounds[2] == 3 && bounds[3] == 5);
    CHECK_OK(sim_shape_rotate(b, 33, about, &turned));
    CHECK_OK(sim_shape_rotate(turned, -33, about, &back));
    CHECK_OK(sim_shape_scale(b, 3, about, &scaled));
    CHECK_OK(sim_shape_move(turned, 10, -1, &moved));
    double c = cos(33 * PI / 180), s = sin(33 * PI / 180);
    int wrong = 0;
    for (uint64_t k = 0; k < 2000; k++) {
        double x = 12 * uniform(2 * k) - 4, y = 12 * uniform(2 * k + 1) - 4;
        double u = about[0] + c * (x - about[0]) + s * (y - about[1]);
        double v = about[1] - s * (x - about[0]) + c * (y - about[1]);
        wrong += sim_shape_inside(turned, x, y) != (u >= 0 && u < 4 && v >= 0 && v < 2);
        wrong += sim_shape_inside(moved, x + 10, y - 1) != sim_shape_inside(turned, x, y);
        wrong += sim_shape_inside(back, x, y) != sim_shape_inside(b, x, y);
        wrong += sim_shape_inside(scaled, x, y) !=
                 sim_shape_inside(b, 1 + (x - 1) / 3, 2 + (y - 2) / 3);
    }
    CHECK(wrong == 0);
    CHECK_NEAR(sim_shape_distance(turned, 1 + c * 9 - s * -1, 2 + s * 9 + c * -1), 6,
               1e-12);
    struct sim_shape *all[] = {b, quarter, turned, back, scaled, moved};
    for (int k = 0; k < 6; k++)
        sim_shape_release(all[k]);
}

/* ---- distances and shares
 * ---------------------------------------------------------------- */

static void test_distance(void)
{
    const double corner[4][2] = {{-1, -2}, {3, -2}, {3, 1}, {-1, 1}};
    struct sim_shape *b = box(-1, -2, 3, 1), *p, *d = disc(2, 1, 1.5), *either;
    CHECK_OK(sim_shape_polygon(corner, 4, &p));
    CHECK_OK(sim_shape_union(b, d, &either));
    double worst = 0;
    int wrong = 0;
    for (uint64_t k = 0; k < 1000; k++) {
        double x = 10 * uniform(2 * k) - 4, y = 10 * uniform(2 * k + 1) - 5;
        worst =
            fmax(worst, fabs(sim_shape_distance(b, x, y) - sim_shape_distance(p, x, y)));
        wrong += (sim_shape_distance(either, x, y) < 0) != sim_shape_inside(either, x, y);
    }
    CHECK(worst < 1e-14);
    CHECK(wrong == 0);
    CHECK_NEAR(sim_shape_distance(d, 5, 5), 3.5, 1e-15);
    CHECK_NEAR(sim_shape_distance(b, 6, 5), 5, 1e-15);
    sim_shape_release(b);
    sim_shape_release(p);
    sim_shape_release(d);
    sim_shape_release(either);
}

static double soft_area(const struct sim_shape *s, int n)
{
    const struct sim_lattice l = {n, n, 0.5 / n, 0.5 / n, 1.0 / n, 1.0 / n};
    float *w = malloc((size_t)(n * n) * sizeof *w);
    double sum = 0;
    sim_shape_weights(s, &l, 0, n, true, 2, w);
    for (int c = 0; c < n * n; c++)
        sum += (double)w[c];
    free(w);
    return sum / (n * n);
}

static void test_coverage(void)
{
    struct sim_shape *h, *b = box(0.25, 0.1, 0.75, 0.3), *d = disc(0.5, 0.5, 0.3);
    CHECK_OK(
        sim_shape_half_plane((const double[2]){0.5, 0.5}, (const double[2]){1, 1}, &h));
    CHECK_NEAR(sim_shape_coverage(h, 0, 0, 1, 1), 0.5, 1e-15);
    CHECK_NEAR(sim_shape_coverage(h, 0.5, 0.25, 1, 0.75), 0.125, 1e-15);
    CHECK_NEAR(sim_shape_coverage(h, 0, 0, 0.5, 0.5), 1, 1e-15);
    CHECK(sim_shape_coverage(h, 0.6, 0.6, 0.7, 0.7) == 0);
    CHECK_NEAR(sim_shape_coverage(b, 0, 0, 0.5, 0.2), 0.25, 1e-15);
    CHECK_NEAR(soft_area(b, 7), 0.5 * 0.2, 1e-7);
    CHECK_NEAR(soft_area(d, 32), PI * 0.09, 1e-4);
    sim_shape_release(h);
    sim_shape_release(b);
    sim_shape_release(d);
}

static void test_gaussian(void)
{
    struct sim_shape *g, *d = disc(0, 0, 1), *cut;
    CHECK_OK(sim_shape_gaussian((const double[2]){1, 2}, (const double[2]){0.5, 2}, &g));
    CHECK(sim_shape_is_profile(g) && !sim_shape_is_profile(d));
    CHECK_NEAR(sim_shape_weight(g, 1.5, 4), exp(-1), 1e-15);
    CHECK_OK(sim_shape_intersection(g, d, &cut));
    CHECK(sim_shape_is_profile(cut) && sim_shape_weight(cut, 1, 2) == 0);
    CHECK_NEAR(sim_shape_weight(cut, 0.5, 0), exp(-1), 1e-15);
    sim_shape_release(g);
    sim_shape_release(d);
    sim_shape_release(cut);
}

static void test_refusals(void)
{
    struct sim_shape *s;
    const double here[2] = {0, 0}, nan2[2] = {NAN, 0};
    CHECK(sim_shape_disc(here, 0, &s) == SIM_BAD_ARGUMENT);
    CHECK(sim_shape_disc(nan2, 1, &s) == SIM_BAD_ARGUMENT);
    CHECK(sim_shape_box(here, here, &s) == SIM_BAD_ARGUMENT);
    CHECK(sim_shape_half_plane(here, here, &s) == SIM_BAD_ARGUMENT);
}

/* ---- pictures
 * ---------------------------------------------------------------------------- */

static uint8_t file[1 << 16];
static size_t file_size;

static void put32(uint32_t v)
{
    for (int k = 24; k >= 0; k -= 8)
        file[file_size++] = (uint8_t)(v >> k);
}

static void put_chunk(const char *kind, const uint8_t *data, size_t size)
{
    put32((uint32_t)size);
    size_t from = file_size;
    memcpy(file + file_size, kind, 4);
    if (size)
        memcpy(file + file_size + 4, data, size);
    file_size += 4 + size;
    put32((uint32_t)libdeflate_crc32(0, file + from, 4 + size));
}

/* A PNG of any colour type: `rows` are packed, without filter bytes. */
static const char *write_png(int width, int height, int depth, int type,
                             const uint8_t *rows, size_t row, const uint8_t *palette,
                             size_t colors)
{
    static char path[512];
    static uint8_t raw[1 << 14], packed[1 << 15];
    const uint8_t sizes[13] = {0,
                               0,
                               (uint8_t)(width >> 8),
                               (uint8_t)width,
                               0,
                               0,
                               (uint8_t)(height >> 8),
                               (uint8_t)height,
                               (uint8_t)depth,
                               (uint8_t)type,
                               0,
                               0,
                               0};
    for (int j = 0; j < height; j++) {
        raw[(size_t)j * (row + 1)] = 0;
        memcpy(raw + (size_t)j * (row + 1) + 1, rows + (size_t)j * row, row);
    }
    struct libdeflate_compressor *z = libdeflate_alloc_compressor(6);
    size_t used = libdeflate_zlib_compress(z, raw, (size_t)height * (row + 1), packed,
                                           sizeof packed);
    libdeflate_free_compressor(z);
    file_size = 0;
    memcpy(file, "\x89PNG\r\n\x1a\n", 8);
    file_size = 8;
    put_chunk("IHDR", sizes, 13);
    if (palette)
        put_chunk("PLTE", palette, 3 * colors);
    put_chunk("IDAT", packed, used);
    put_chunk("IEND", NULL, 0);
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/test_shape_%d.png", folder ? folder : "/tmp",
             (int)getpid());
    CHECK_OK(sim_file_replace(path, file, file_size));
    return path;
}

/* The same 4 x 2 picture in every kind: white are pixels 1 and 2 above, 3 below. */
static void same_in_every_kind(const char *path, const char *kind)
{
    const struct sim_lattice pixels = {4, 2, 0.5, 0.5, 1, 1};
    const uint8_t want[8] = {0, 0, 0, 1, 0, 1, 1, 0}; /* from below */
    const struct sim_shape_image image = {.file = path, .width = 4, .threshold = 0.5};
    uint8_t have[8];
    struct sim_shape *s = NULL;
    if (!CHECK_OK(sim_shape_image(&image, &s)))
        return;
    sim_shape_mask(s, &pixels, 0, 2, 1, have);
    if (memcmp(have, want, sizeof want) != 0)
        printf("     kind %s\n", kind);
    CHECK(!memcmp(have, want, sizeof want));
    sim_shape_release(s);
    remove(path);
}

static void test_image_kinds(void)
{
    const uint8_t grey[8] = {0, 255, 200, 40, 10, 0, 90, 255};
    const uint8_t bit[2] = {0x60, 0x10}, index[2] = {0x14, 0x01};
    const uint8_t palette[6] = {10, 10, 10, 250, 240, 230};
    uint8_t grey16[16], rgb[24], rgba[32], grey_alpha[16];
    for (int k = 0; k < 8; k++) {
        grey16[2 * k] = grey[k];
        grey16[2 * k + 1] = 17;
        rgb[3 * k] = rgb[3 * k + 1] = rgb[3 * k + 2] = grey[k];
        rgba[4 * k] = rgba[4 * k + 1] = rgba[4 * k + 2] = 255; /* all in the alpha */
        rgba[4 * k + 3] = grey[k];
        grey_alpha[2 * k] = grey[k];
        grey_alpha[2 * k + 1] = 255;
    }
    same_in_every_kind(write_png(4, 2, 8, 0, grey, 4, NULL, 0), "grey");
    same_in_every_kind(write_png(4, 2, 1, 0, bit, 1, NULL, 0), "one bit");
    same_in_every_kind(write_png(4, 2, 2, 3, index, 1, palette, 2), "palette");
    same_in_every_kind(write_png(4, 2, 16, 0, grey16, 8, NULL, 0), "16 bits");
    same_in_every_kind(write_png(4, 2, 8, 2, rgb, 12, NULL, 0), "rgb");
    same_in_every_kind(write_png(4, 2, 8, 6, rgba, 16, NULL, 0), "rgba");
    same_in_every_kind(write_png(4, 2, 8, 4, grey_alpha, 8, NULL, 0), "grey and alpha");
}

/* Cells larger than pixels go by the mean over the cell, wherever they lie. */
static void test_image_area(void)
{
    uint8_t rows[16 * 16];
    for (int c = 0; c < 256; c++)
        rows[c] = (c % 16 + c / 16) % 2 ? 255 : 0; /* a chess board: mean 1/2 */
    rows[0] = 255; /* the upper left cell is a little above, the others on the dot */
    const char *path = write_png(16, 16, 8, 0, rows, 16, NULL, 0);
    const struct sim_lattice four = {4, 4, 2, 2, 4, 4};
    struct sim_shape_image image = {.file = path, .width = 16, .threshold = 0.51};
    struct sim_shape *s, *dark;
    CHECK_OK(sim_shape_image(&image, &s));
    CHECK(mask_count(s, &four) == 1);
    uint8_t mask[16];
    sim_shape_mask(s, &four, 0, 4, 1, mask);
    CHECK(mask[12] == 1); /* the first cell of the upper row */
    CHECK(sim_shape_inside(s, 1.5, 15.5) && !sim_shape_inside(s, 2.5, 15.5));
    sim_shape_release(s);
    image.threshold = 0.5;
    CHECK_OK(sim_shape_image(&image, &s));
    CHECK(mask_count(s, &four) == 16); /* means of exactly 1/2 reach 0.5 */
    image.invert = true;
    image.threshold = 0.51;
    CHECK_OK(sim_shape_image(&image, &dark));
    CHECK(mask_count(dark, &four) == 15);
    CHECK(!sim_shape_inside(dark, -1, 3)); /* outside the picture is never inside */
    sim_shape_release(s);
    sim_shape_release(dark);
    remove(path);
}

static void test_image_failures(void)
{
    struct sim_shape *s;
    struct sim_shape_image image = {.file = "/nowhere/mask.png", .width = 1};
    CHECK(sim_shape_image(&image, &s) == SIM_FILE);
    CHECK(strstr(sim_error_text(), "/nowhere/mask.png"));
    const uint8_t grey[8] = {0};
    const char *path = write_png(4, 2, 8, 0, grey, 4, NULL, 0);
    CHECK_OK(sim_file_replace(path, file, file_size / 2));
    image.file = path;
    CHECK(sim_shape_image(&image, &s) == SIM_FILE);
    CHECK(strstr(sim_error_text(), path) && strstr(sim_error_text(), "PNG"));
    remove(path);
}

/* ---- as bytes
 * -------------------------------------------------------------------------- */

/* A tree with every kind in it. */
static struct sim_shape *one_of_all(const char *path)
{
    const struct sim_shape_image image = {
        .file = path, .width = 3, .position = {-1, 0}, .threshold = 0.3, .invert = true};
    const double corners[5][2] = {{0, 0}, {3, 0.5}, {2, 1}, {2.5, 3}, {0.2, 2}};
    const double point[2] = {1, 1}, normal[2] = {0.3, 1}, sigma[2] = {0.4, 0.9};
    struct sim_shape *s[16], *turned;
    int n = 0;
    s[n++] = disc(0.4, 0.3, 1.1);
    s[n++] = box(-1, -1, 0.5, 2);
    CHECK_OK(sim_shape_polygon(corners, 5, &s[n++]));
    CHECK_OK(sim_shape_half_plane(point, normal, &s[n++]));
    CHECK_OK(sim_shape_image(&image, &s[n++]));
    CHECK_OK(sim_shape_rotate(s[1], 30, point, &s[n++]));
    CHECK_OK(sim_shape_rotate(s[4], 40, point, &turned));
    s[n++] = turned;
    CHECK_OK(sim_shape_gaussian(point, sigma, &s[n++]));
    struct sim_shape *all = disc(2, 2, 0.2), *next;
    for (int k = 0; k < n; k++) {
        if (k % 3 == 2)
            CHECK_OK(sim_shape_difference(all, s[k], &next));
        else
            CHECK_OK(sim_shape_union(k % 2 ? s[k] : all, k % 2 ? all : s[k], &next));
        sim_shape_release(all);
        sim_shape_release(s[k]);
        all = next;
    }
    return all;
}

/* The same answers everywhere, to the bit; bytes that were cut anywhere are refused. */
static void test_pack(void)
{
    uint8_t grey[35];
    for (int c = 0; c < 35; c++)
        grey[c] = (uint8_t)(c * 37);
    const char *path = write_png(7, 5, 8, 0, grey, 7, NULL, 0);
    struct sim_shape *s = one_of_all(path), *again;
    const size_t bytes = sim_shape_packed_bytes(s);
    char *packed = malloc(bytes), *to = packed, *twice = malloc(bytes);
    const char *from = packed;
    remove(path);
    sim_shape_pack(s, &to);
    CHECK(to == packed + bytes && bytes % 8 == 0);
    CHECK_OK(sim_shape_unpack(&from, packed + bytes, &again));
    CHECK(from == packed + bytes && sim_shape_packed_bytes(again) == bytes);
    to = twice;
    sim_shape_pack(again, &to);
    CHECK(!memcmp(packed, twice, bytes));
    for (uint64_t k = 0; k < 2000; k++) {
        const double x = 8 * uniform(2 * k) - 3, y = 8 * uniform(2 * k + 1) - 3;
        CHECK(sim_shape_weight(s, x, y) == sim_shape_weight(again, x, y));
        CHECK(sim_shape_distance(s, x, y) == sim_shape_distance(again, x, y));
        CHECK(sim_shape_coverage(s, x, y, x + 1, y + 1) ==
              sim_shape_coverage(again, x, y, x + 1, y + 1));
    }
    sim_shape_release(again);
    for (size_t cut = 0; cut < bytes; cut += 8) {
        from = packed;
        CHECK(sim_shape_unpack(&from, packed + cut, &again) == SIM_FILE && !again);
    }
    sim_shape_release(s);
    free(packed);
    free(twice);
}

int main(void)
{
    test_disc();
    test_box();
    test_polygon();
    test_compounds();
    test_long_union();
    test_moved();
    test_distance();
    test_coverage();
    test_gaussian();
    test_refusals();
    test_image_kinds();
    test_image_area();
    test_image_failures();
    test_pack();
    return check_report();
}
