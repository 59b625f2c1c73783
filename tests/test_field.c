/* test_field.c - fields on every device that is here: each operation against slow loops
 * on the host, the same bits for any number of threads and on CUDA, files, pictures. */
#include <float.h>
#include <stdint.h>
#include <unistd.h>

#include "../src/field.h"
#include "../src/field_image.h"
#include "../src/file.h"
#include "../src/frame.h"
#include "../src/png.h"
#include "../kernels/philox.h"
#include "check.h"

#define DEVICES_MAX 4

static struct sim_device *devices[DEVICES_MAX];
static int device_count;

static double uniform(uint64_t k)
{
    double u[2];
    sim_random_uniforms(11, k, 0, 0, u);
    return u[0];
}

static void open_devices(void)
{
    static const int threads[] = {1, 2, 3};
    for (int k = 0; k < 3; k++)
        if (CHECK_OK(sim_device_open("cpu", threads[k], &devices[device_count])))
            device_count++;
    if (sim_device_open("cuda", 0, &devices[device_count]) == SIM_OK)
        device_count++;
    else
        check_skip("no CUDA device: fields on the GPU");
    for (int k = 0; k < device_count; k++)
        devices[k]->poison = true;
}

/* ---- a field with gaps between its rows and a mask
 * -------------------------------------- */

struct sample {
    struct sim_field field;
    struct sim_buffer data, mask;
    double *value; /* [ny][nx], rounded to the precision */
    uint8_t *masked;
};

static double round_to(bool is_double, double v)
{
    return is_double ? v : (double)(float)v;
}

static void upload(struct sample *s)
{
    struct sim_field *f = &s->field;
    int wrong = 0;
    for (int64_t j = 0; j < f->ny; j++)
        for (int64_t i = 0; i < f->nx; i++) {
            double v = s->value[j * f->nx + i];
            float single = (float)v;
            size_t size = f->is_double ? 8 : 4;
            wrong += sim_buffer_write(&s->data, (size_t)(j * f->pitch + i) * size,
                                      f->is_double ? (void *)&v : (void *)&single,
                                      size) != SIM_OK;
        }
    CHECK(wrong == 0);
}

static void sample_new(struct sim_device *device, int64_t nx, int64_t ny, int gap,
                       bool is_double, bool with_mask, struct sample *s)
{
    const struct sim_field_desc desc = {.nx = nx,
                                        .ny = ny,
                                        .is_double = is_double,
                                        .x0 = -1,
                                        .y0 = 2,
                                        .dx = 0.5,
                                        .dy = 0.25,
                                        .ox = 0.5,
                                        .oy = 0.5,
                                        .name = "u"};
    size_t cells = (size_t)(nx * ny);
    *s = (struct sample){.value = malloc(cells * 8), .masked = calloc(cells, 1)};
    CHECK_OK(sim_buffer_new(device, (size_t)((nx + gap) * ny) * (is_double ? 8 : 4),
                            "test", &s->data));
    CHECK_OK(sim_buffer_new(device, cells, "test", &s->mask));
    CHECK_OK(sim_field_view(device, &desc, s->data.data, &s->field));
    s->field.pitch = nx + gap;
    for (size_t c = 0; c < cells; c++) {
        double u = uniform(c);
        s->value[c] = round_to(is_double, (u - 0.4) * exp(8 * uniform(c + 1000000)));
        s->masked[c] = with_mask && u < 0.3;
    }
    CHECK_OK(sim_buffer_write(&s->mask, 0, s->masked, cells));
    s->field.mask = with_mask ? s->mask.data : NULL;
    upload(s);
}

static void sample_free(struct sample *s)
{
    sim_field_free(&s->field);
    sim_buffer_free(&s->data);
    sim_buffer_free(&s->mask);
    free(s->value);
    free(s->masked);
}

/* ---- sums
 * -------------------------------------------------------------------------------- */

/* The tree of kernels/field.h, straight from its description, over any list of terms. */
static double tree(double *term, int64_t n)
{
    do {
        int64_t chunks = (n + SIM_SUM_CHUNK - 1) / SIM_SUM_CHUNK;
        for (int64_t k = 0; k < chunks; k++) {
            double lane[SIM_SUM_LANES] = {0};
            for (int64_t c = k * SIM_SUM_CHUNK; c < n && c < (k + 1) * SIM_SUM_CHUNK; c++)
                lane[c % SIM_SUM_LANES] += term[c];
            for (int half = SIM_SUM_LANES / 2; half; half /= 2)
                for (int t = 0; t < half; t++)
                    lane[t] += lane[t + half];
            term[k] = lane[0];
        }
        n = chunks;
    } while (n > 1);
    return term[0];
}

static void expect_sums(struct sample *s)
{
    int64_t n = s->field.nx * s->field.ny, count = 0;
    double *term = malloc((size_t)n * 8), low = INFINITY, high = -INFINITY;
    struct sim_field_sums sums;
    for (int64_t c = 0; c < n; c++) {
        term[c] = s->masked[c] ? 0 : s->value[c];
        count += !s->masked[c];
        low = s->masked[c] ? low : fmin(low, s->value[c]);
        high = s->masked[c] ? high : fmax(high, s->value[c]);
    }
    CHECK_OK(sim_field_sums(&s->field, &sums));
    CHECK(sums.sum == tree(term, n));
    for (int64_t c = 0; c < n; c++)
        term[c] = s->masked[c] ? 0 : s->value[c] * s->value[c];
    CHECK(sums.squares == tree(term, n));
    CHECK(sums.min == low && sums.max == high && sums.count == count);
    free(term);
}

static void test_sums(struct sim_device *device, bool is_double)
{
    static const int64_t sizes[][2] = {{1, 1},    {1, 7},    {7, 1},     {2, 2},
                                       {31, 33},  {64, 64},  {127, 129}, {4096, 1},
                                       {4097, 1}, {1000, 37}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int gap = 0; gap < 6; gap += 5) {
            struct sample s;
            sample_new(device, sizes[k][0], sizes[k][1], gap, is_double, gap > 0, &s);
            expect_sums(&s);
            sample_free(&s);
        }
}

/* More than one level above the chunks: 4096^2 < n needs three. */
static void test_large_sum(struct sim_device *device)
{
    const struct sim_field_desc desc = {.nx = 4099, .ny = 4099, .dx = 1, .dy = 1};
    const struct sim_paint noise = {.noise = true, .seed = 5, .low = -1, .high = 1};
    static double first;
    struct sim_field f;
    struct sim_field_sums sums;
    CHECK_OK(sim_field_new(device, &desc, &f));
    CHECK_OK(sim_field_paint(&f, &noise));
    CHECK_OK(sim_field_sums(&f, &sums));
    /* uniform numbers: the sum's deviation is sqrt(n / 3), that of squares sqrt(4 n / 45)
     */
    double n = 4099.0 * 4099.0;
    CHECK_NEAR(sums.sum, 0, 4 * sqrt(n / 3));
    CHECK_NEAR(sums.squares, n / 3, 4 * sqrt(4 * n / 45));
    CHECK(sums.min >= -1 && sums.min < -0.9999 && sums.max <= 1 && sums.max > 0.9999);
    if (device == devices[0])
        first = sums.sum;
    CHECK(sums.sum == first);
    sim_field_free(&f);
}

static void test_not_finite(struct sim_device *device, bool is_double)
{
    struct sample s;
    struct sim_field_sums sums;
    int64_t bad;
    sample_new(device, 127, 65, 3, is_double, true, &s);
    CHECK_OK(sim_field_check(&s.field, &bad));
    CHECK(bad == INT64_MAX);
    int64_t open = 5000;
    while (s.masked[open])
        open++;
    for (int64_t c = 0; c < 127 * 65; c++) /* masked: does not count */
        s.value[c] = s.masked[c] ? NAN : s.value[c];
    upload(&s);
    CHECK_OK(sim_field_check(&s.field, &bad));
    CHECK(bad == INT64_MAX);
    CHECK_OK(sim_field_sums(&s.field, &sums));
    CHECK(isfinite(sums.sum) && isfinite(sums.min) && isfinite(sums.max));
    s.value[open] = INFINITY;
    s.value[8000] = s.masked[8000] ? 0 : NAN;
    upload(&s);
    CHECK_OK(sim_field_check(&s.field, &bad));
    CHECK(bad == open);
    s.value[open] = NAN;
    upload(&s);
    CHECK_OK(sim_field_sums(&s.field, &sums));
    CHECK(isnan(sums.min) && isnan(sums.max) && isnan(sums.sum));
    sample_free(&s);
}

/* ---- changing
 * ---------------------------------------------------------------------------- */

/* The field against s->value, bit by bit. */
static void expect_values(struct sample *s, const char *what)
{
    int64_t n = s->field.nx * s->field.ny, wrong = 0;
    double *have = malloc((size_t)n * 8);
    CHECK_OK(sim_field_read(&s->field, have));
    for (int64_t c = 0; c < n; c++)
        wrong += memcmp(&have[c], &s->value[c], 8) != 0;
    if (!CHECK(wrong == 0))
        printf("     %s: %lld cells of %lld on %s\n", what, (long long)wrong,
               (long long)n, s->field.ops->name);
    free(have);
}

/* Arithmetic in the field's precision: a op b rounded once. */
static double add(bool d, double a, double b)
{
    return d ? a + b : (double)((float)a + (float)b);
}

static double multiply(bool d, double a, double b)
{
    return d ? a * b : (double)((float)a * (float)b);
}

static void test_whole(struct sim_device *device, bool is_double)
{
    struct sample s, other;
    sample_new(device, 33, 17, 2, is_double, false, &s);
    sample_new(device, 33, 17, 0, !is_double, false, &other);
    int64_t n = 33 * 17;
    double k = round_to(is_double, 0.3);
    CHECK_OK(sim_field_scale(&s.field, 0.3));
    CHECK_OK(sim_field_shift(&s.field, -0.3));
    CHECK_OK(sim_field_add(&s.field, &other.field, 0.3));
    for (int64_t c = 0; c < n; c++) {
        double v = add(is_double, multiply(is_double, s.value[c], k), -k);
        double part = multiply(is_double, k, round_to(is_double, other.value[c]));
        s.value[c] = add(is_double, v, part);
    }
    expect_values(&s, "scale, shift, add");
    CHECK_OK(sim_field_add(&s.field, &s.field, 1));
    CHECK_OK(sim_field_clamp(&s.field, -k, 2 * k));
    for (int64_t c = 0; c < n; c++)
        s.value[c] = fmin(2 * k, fmax(-k, 2 * s.value[c]));
    expect_values(&s, "add to itself, clamp");
    CHECK_OK(sim_field_copy(&s.field, &other.field));
    for (int64_t c = 0; c < n; c++)
        s.value[c] = round_to(is_double, other.value[c]);
    expect_values(&s, "copy");
    CHECK_OK(sim_field_fill(&s.field, 0.3));
    for (int64_t c = 0; c < n; c++)
        s.value[c] = k;
    expect_values(&s, "fill");
    s.field.read_only = true;
    CHECK(sim_field_fill(&s.field, 1) == SIM_BAD_ARGUMENT);
    CHECK(strstr(sim_error_text(), "field u"));
    sample_free(&s);
    sample_free(&other);
}

/* What is between the rows of a view belongs to another. */
static void test_gap(struct sim_device *device)
{
    struct sample s;
    float between;
    uint32_t bits;
    sample_new(device, 5, 4, 3, false, false, &s);
    CHECK_OK(sim_field_fill(&s.field, 7));
    CHECK_OK(sim_field_paint(&s.field,
                             &(struct sim_paint){.value = 2, .mode = SIM_PAINT_ADD}));
    CHECK_OK(
        sim_buffer_read(&s.data, (8 + 6) * sizeof between, &between, sizeof between));
    memcpy(&bits, &between, sizeof bits);
    CHECK(bits == 0xffffffffu); /* the poison */
    sample_free(&s);
}

static void test_paint_modes(struct sim_device *device, bool is_double)
{
    static const enum sim_paint_mode modes[] = {SIM_PAINT_SET, SIM_PAINT_ADD,
                                                SIM_PAINT_MAX};
    struct sim_shape *g = NULL;
    CHECK_OK(sim_shape_gaussian((const double[2]){3, 4}, (const double[2]){1, 1}, &g));
    for (int m = 0; m < 3; m++) {
        struct sample s;
        sample_new(device, 41, 23, 1, is_double, false, &s);
        struct sim_lattice l = sim_field_lattice(&s.field);
        double value = round_to(is_double, 0.7);
        CHECK_OK(sim_field_paint(
            &s.field, &(struct sim_paint){.shape = g, .mode = modes[m], .value = 0.7}));
        for (int64_t c = 0; c < l.nx * l.ny; c++) {
            double x = l.x + (double)(c % l.nx) * l.dx,
                   y = l.y + (double)(c / l.nx) * l.dy;
            double w = (double)(float)sim_shape_weight(g, x, y), u = s.value[c];
            double part = multiply(is_double, w, value);
            double set =
                add(is_double, u, multiply(is_double, w, add(is_double, value, -u)));
            s.value[c] = !(w > 0)                    ? u
                         : modes[m] == SIM_PAINT_SET ? (w < 1 ? set : value)
                         : modes[m] == SIM_PAINT_ADD ? add(is_double, u, part)
                                                     : fmax(u, part);
        }
        expect_values(&s, "paint");
        sample_free(&s);
    }
    sim_shape_release(g);
}

/* The disc of the reference experiment, on nodes; more rows than one band holds. */
static void test_paint_disc(struct sim_device *device)
{
    const struct sim_field_desc desc = {.nx = 3000, .ny = 1500, .dx = 1, .dy = 1};
    struct sim_shape *d = NULL;
    struct sim_field f;
    struct sim_field_sums sums;
    CHECK_OK(sim_shape_disc((const double[2]){50, 50}, 10, &d));
    CHECK_OK(sim_field_new(device, &desc, &f));
    CHECK_OK(sim_field_paint(&f, &(struct sim_paint){.shape = d, .value = 1}));
    CHECK_OK(sim_field_sums(&f, &sums));
    CHECK(sums.sum == 305 && sums.max == 1 && sums.min == 0);
    sim_shape_release(d);
    CHECK_OK(sim_shape_box((const double[2]){0, 0}, (const double[2]){3000, 1500}, &d));
    CHECK_OK(sim_field_paint(&f, &(struct sim_paint){.shape = d, .value = 3}));
    CHECK_OK(sim_field_sums(&f, &sums));
    CHECK(sums.sum == 3.0 * 3000 * 1500 && sums.min == 3);
    sim_shape_release(d);
    sim_field_free(&f);
}

static void test_noise(struct sim_device *device, bool is_double)
{
    struct sample s;
    sample_new(device, 37, 11, 4, is_double, false, &s);
    CHECK_OK(sim_field_paint(
        &s.field, &(struct sim_paint){.noise = true, .seed = 99, .low = -2, .high = 3}));
    for (uint64_t c = 0; c < 37 * 11; c++) {
        double u[2];
        sim_random_uniforms(99, c, 0x6e6f6973u, 0, u);
        s.value[c] = round_to(is_double, -2 + 5 * u[0]);
    }
    expect_values(&s, "noise");
    sample_free(&s);
}

/* ---- asking
 * ------------------------------------------------------------------------------ */

static void test_probe(struct sim_device *device, bool is_double)
{
    struct sample s;
    double v;
    sample_new(device, 6, 5, 1, is_double, false, &s);
    for (int c = 0; c < 30; c++) /* linear in x and y: probed exactly */
        s.value[c] = 3 * (c % 6) - 2 * (c / 6);
    upload(&s);
    struct sim_lattice l = sim_field_lattice(&s.field);
    CHECK_OK(sim_field_probe(&s.field, l.x + 2.25 * l.dx, l.y + 1.5 * l.dy, &v));
    CHECK_NEAR(v, 3 * 2.25 - 2 * 1.5, 1e-14);
    CHECK_OK(sim_field_probe(&s.field, l.x + 5 * l.dx, l.y + 4 * l.dy, &v));
    CHECK_NEAR(v, 15 - 8, 1e-14);
    CHECK_OK(sim_field_probe(&s.field, l.x + 99, l.y - 99, &v));
    CHECK_NEAR(v, 15, 1e-14);
    CHECK_OK(sim_field_get(&s.field, 4, 3, &v));
    CHECK(v == 6);
    sample_free(&s);
    sample_new(device, 1, 1, 0, is_double, false, &s);
    CHECK_OK(sim_field_probe(&s.field, 0, 0, &v));
    CHECK(v == s.value[0]);
    sample_free(&s);
}

static void test_bounds(struct sim_device *device)
{
    struct sim_field f;
    struct sim_field_desc desc = {.nx = 0, .ny = 3, .dx = 1, .dy = 1};
    CHECK(sim_field_new(device, &desc, &f) == SIM_BAD_ARGUMENT);
    desc.nx = (int64_t)1 << 40;
    CHECK(sim_field_new(device, &desc, &f) == SIM_BAD_ARGUMENT);
    desc.nx = 3;
    desc.dx = 0;
    CHECK(sim_field_new(device, &desc, &f) == SIM_BAD_ARGUMENT);
    desc = (struct sim_field_desc){.nx = 1 << 20, .ny = 1 << 19, .dx = 1, .dy = 1};
    CHECK(sim_field_new(device, &desc, &f) == SIM_DEVICE_MEMORY);
    CHECK(f.data == NULL && f.own.data == NULL);
}

static int prepared, changed;

static enum sim_status on_prepare(struct sim_field *f)
{
    prepared++;
    f->step = prepared;
    return SIM_OK;
}

static void on_touch(struct sim_field *f)
{
    (void)f;
    changed++;
}

static void test_hooks(struct sim_device *device)
{
    struct sample s;
    double v;
    sample_new(device, 3, 3, 0, false, false, &s);
    s.field.prepare = on_prepare;
    s.field.touched = on_touch;
    prepared = changed = 0;
    CHECK_OK(sim_field_get(&s.field, 0, 0, &v));
    CHECK(prepared == 1 && changed == 0);
    CHECK_OK(sim_field_scale(&s.field, 2));
    CHECK(prepared == 2 && changed == 1);
    CHECK_OK(sim_field_paint(&s.field, &(struct sim_paint){.value = 1}));
    CHECK(prepared == 3 && changed == 2);
    sample_free(&s);
}

/* ---- files
 * ------------------------------------------------------------------------------- */

static const char *temporary(const char *end)
{
    static char path[4][512];
    static int next;
    char *out = path[next++ % 4];
    const char *folder = getenv("TMPDIR");
    snprintf(out, sizeof path[0], "%s/test_field_%d%s", folder ? folder : "/tmp",
             (int)getpid(), end);
    return out;
}

static void test_files(struct sim_device *device, bool is_double)
{
    static const char *const ends[] = {".npy", ".csv"};
    for (int k = 0; k < 2; k++) {
        struct sample s, t;
        const char *path = temporary(ends[k]);
        sample_new(device, 29, 13, 2, is_double, false, &s);
        sample_new(device, 29, 13, 0, is_double, false, &t);
        s.value[5] = is_double ? 0.1 : (double)0.1f;
        s.value[6] = is_double ? DBL_MIN : (double)FLT_MIN;
        upload(&s);
        CHECK_OK(sim_field_fill(&t.field, -1));
        CHECK_OK(sim_field_save(&s.field, path));
        CHECK_OK(sim_field_load(&t.field, path));
        memcpy(t.value, s.value, 29 * 13 * 8);
        expect_values(&t, ends[k]);
        sample_free(&t);
        sample_new(device, 13, 29, 0, is_double, false, &t);
        CHECK(sim_field_load(&t.field, path) == SIM_FILE);
        CHECK(strstr(sim_error_text(), path) && strstr(sim_error_text(), "29"));
        sample_free(&s);
        sample_free(&t);
        remove(path);
    }
}

static void test_file_failures(struct sim_device *device)
{
    struct sample s;
    sample_new(device, 2, 2, 0, false, false, &s);
    CHECK(sim_field_save(&s.field, "/nowhere/u.npy") == SIM_FILE);
    CHECK(sim_field_save(&s.field, "u.txt") == SIM_BAD_ARGUMENT);
    CHECK(sim_field_load(&s.field, "/nowhere/u.npy") == SIM_FILE);
    const char *path = temporary(".csv");
    CHECK_OK(sim_file_replace(path, "1,2\n3,x\n", 8));
    CHECK(sim_field_load(&s.field, path) == SIM_FILE &&
          strstr(sim_error_text(), "line 2"));
    CHECK_OK(sim_file_replace(path, "1,2\n3,4,5\n", 10));
    CHECK(sim_field_load(&s.field, path) == SIM_FILE);
    CHECK_OK(sim_file_replace(path, "1; 2\r\n3\t4\n", 10));
    CHECK_OK(sim_field_load(&s.field, path));
    s.value[0] = 1, s.value[1] = 2, s.value[2] = 3, s.value[3] = 4;
    expect_values(&s, "csv with other separators");
    remove(path);
    path = temporary(".npy");
    CHECK_OK(sim_file_replace(path, "\x93NUMPY\x01\x00\xff\xff{}", 12));
    CHECK(sim_field_load(&s.field, path) == SIM_FILE);
    remove(path);
    sample_free(&s);
}

/* 6 x 4 pixels on 3 x 2 and on 4 x 4 cells: means over areas, y up. */
static void test_load_picture(struct sim_device *device)
{
    const uint8_t grey[24] = {0,  0,  10, 30, 90, 90,  0,   0,   30, 50,  90, 90,
                              40, 40, 0,  0,  80, 120, 200, 200, 0,  100, 40, 160};
    const char *path = temporary(".png");
    struct sim_png png;
    struct sample s;
    CHECK_OK(sim_png_encode(grey, 6, 4, 1, &png));
    CHECK_OK(sim_file_replace(path, png.bytes, png.size));
    sim_png_free(&png);
    sample_new(device, 3, 2, 0, true, false, &s);
    CHECK_OK(sim_field_load(&s.field, path));
    const double want[6] = {120, 25, 100, 0, 30, 90};
    double have[6];
    CHECK_OK(sim_field_read(&s.field, have));
    for (int c = 0; c < 6; c++)
        CHECK_NEAR(have[c] * 255, want[c], 1e-6 * 255);
    sample_free(&s);
    sample_new(device, 4, 4, 0, true, false, &s);
    double v;
    CHECK_OK(sim_field_load(&s.field, path));
    CHECK_OK(sim_field_get(&s.field, 2, 0, &v)); /* pixels 3 .. 4.5 of the lowest row */
    CHECK_NEAR(v * 255, (100 + 0.5 * 40) / 1.5, 1e-6 * 255);
    sample_free(&s);
    remove(path);
}

/* ---- pictures
 * ---------------------------------------------------------------------------- */

static const struct sim_field_picture plain = {.scale = 4,
                                               .map = SIM_MAP_GREY,
                                               .range = {0, 255},
                                               .filter = SIM_FILTER_CELLS,
                                               .mask_color = {1, 0, 0},
                                               .background = {0, 0, 1},
                                               .contour_color = {0, 1, 0},
                                               .contour_width = 1,
                                               .ticks = 5,
                                               .bar_color = {1, 1, 1},
                                               .bar_size = 20};

static int pixel(const struct sim_image *image, int x, int y, int channel)
{
    uint8_t v = 0;
    CHECK_OK(sim_buffer_read(
        &image->pixels,
        ((size_t)y * (size_t)image->width + (size_t)x) * 3 + (size_t)channel, &v, 1));
    return v;
}

static void test_picture_cells(struct sim_device *device, bool is_double)
{
    struct sample s;
    struct sim_image image;
    sample_new(device, 2, 3, 1, is_double, false, &s);
    const double values[6] = {10, 20, 30, 40, 50, 60};
    memcpy(s.value, values, sizeof values);
    upload(&s);
    s.masked[3] = 1;
    CHECK_OK(sim_buffer_write(&s.mask, 0, s.masked, 6));
    s.field.mask = s.mask.data;
    s.field.dy = s.field.dx;
    CHECK_OK(sim_field_image(&s.field, &plain, &image));
    CHECK(image.width == 8 && image.height == 12);
    CHECK(pixel(&image, 0, 11, 0) == 10 && pixel(&image, 7, 11, 0) == 20); /* y is up */
    CHECK(pixel(&image, 3, 4, 1) == 30 && pixel(&image, 3, 3, 1) == 50);
    CHECK(pixel(&image, 4, 4, 0) == 255 && pixel(&image, 7, 7, 1) == 0); /* masked */
    CHECK(image.check_count == 1);
    sim_image_free(&image);
    struct sim_field_picture part = plain;
    part.from[0] = s.field.x0 + s.field.dx; /* the right column alone */
    part.from[1] = s.field.y0;
    part.to[0] = s.field.x0 + 2 * s.field.dx;
    part.to[1] = s.field.y0 + s.field.dy;
    CHECK_OK(sim_field_image(&s.field, &part, &image));
    CHECK(image.width == 4 && image.height == 4 && pixel(&image, 0, 0, 0) == 20);
    sim_image_free(&image);
    sample_free(&s);
}

static void test_picture_smooth(struct sim_device *device, bool is_double)
{
    struct sample s;
    struct sim_image image;
    sample_new(device, 8, 8, 0, is_double, false, &s);
    for (int c = 0; c < 64; c++)
        s.value[c] = 20 * (c % 8) + 8 * (c / 8);
    upload(&s);
    s.field.dy = s.field.dx;
    struct sim_field_picture p = plain;
    for (p.filter = SIM_FILTER_LINEAR; p.filter <= SIM_FILTER_CUBIC; p.filter++) {
        /* both keep a linear field: pixel (x, y) is at cell ((x + 1/2) / 4 - 1/2, ...) */
        CHECK_OK(sim_field_image(&s.field, &p, &image));
        for (int k = 8; k < 24; k++) {
            double want = 20 * ((k + 0.5) / 4 - 0.5) + 8 * ((32 - 10 - 0.5) / 4 - 0.5);
            CHECK_NEAR(pixel(&image, k, 10, 0), want, 0.51);
        }
        sim_image_free(&image);
    }
    p.scale = 0;
    p.width = 4; /* 2 x 2 cells a pixel: their mean */
    p.height = 4;
    CHECK_OK(sim_field_image(&s.field, &p, &image));
    CHECK_NEAR(pixel(&image, 1, 2, 0), 20 * 2.5 + 8 * 2.5, 0.51);
    sim_image_free(&image);
    p.width = 16; /* kept square, in the middle; the rest is background */
    CHECK_OK(sim_field_image(&s.field, &p, &image));
    CHECK(pixel(&image, 5, 1, 2) == 255 && pixel(&image, 10, 1, 2) == 255);
    CHECK_NEAR(pixel(&image, 7, 2, 0), 70, 0.51);
    sim_image_free(&image);
    sample_free(&s);
}

/* Many cells a pixel: the mean of those that take part, the mask by its share. */
static void test_picture_mean(struct sim_device *device)
{
    struct sample s;
    struct sim_image image;
    struct sim_field_picture p = plain;
    sample_new(device, 8, 8, 0, false, false, &s);
    for (int c = 0; c < 64; c++)
        s.value[c] = (c % 8 + c / 8) % 2 ? 200 : 0;
    for (int c = 0; c < 4; c++) { /* a quarter of the lower left pixel */
        s.masked[c] = 1;
        s.value[c] = 255;
    }
    upload(&s);
    CHECK_OK(sim_buffer_write(&s.mask, 0, s.masked, 64));
    s.field.mask = s.mask.data;
    s.field.dy = s.field.dx;
    p.width = p.height = 2;
    CHECK_OK(sim_field_image(&s.field, &p, &image));
    CHECK(pixel(&image, 0, 0, 0) == 100 && pixel(&image, 1, 1, 1) == 100);
    CHECK_NEAR(pixel(&image, 0, 1, 1), 0.75 * 100, 0.51); /* the mask is red */
    CHECK_NEAR(pixel(&image, 0, 1, 0), 0.75 * 100 + 0.25 * 255, 0.51);
    sim_image_free(&image);
    sample_free(&s);
}

/* A level of u = 20 i is a vertical line where it is; nothing is green elsewhere. */
static void test_contours(struct sim_device *device)
{
    struct sample s;
    struct sim_image image;
    sample_new(device, 8, 8, 0, false, false, &s);
    for (int c = 0; c < 64; c++)
        s.value[c] = 20 * (c % 8);
    upload(&s);
    s.field.dy = s.field.dx;
    struct sim_field_picture p = plain;
    p.contour_count = 1;
    p.contour[0] = 70; /* i = 3.5: at 16 pixels of 32 */
    CHECK_OK(sim_field_image(&s.field, &p, &image));
    for (int x = 0; x < 32; x++) {
        int green = pixel(&image, x, 9, 1) - pixel(&image, x, 9, 0);
        CHECK((green > 40) == (x == 15 || x == 16));
    }
    sim_image_free(&image);
    sample_free(&s);
}

static void test_range(struct sim_device *device)
{
    struct sample s;
    struct sim_image image;
    struct sim_field_picture p = plain;
    p.automatic = true;
    sample_new(device, 4, 4, 0, false, false, &s);
    for (int c = 0; c < 16; c++)
        s.value[c] = c == 0 ? -3 : 2;
    upload(&s);
    CHECK_OK(sim_field_image(&s.field, &p, &image));
    CHECK(s.field.range[0] == -3 && s.field.range[1] == 2);
    sim_image_free(&image);
    CHECK_OK(sim_field_scale(&s.field, 10)); /* the first picture's range stays */
    CHECK_OK(sim_field_image(&s.field, &p, &image));
    CHECK(s.field.range[1] == 2 && pixel(&image, 15, 0, 0) == 255);
    sim_image_free(&image);
    s.field.ranged = false;
    p.map = SIM_MAP_COOLWARM;
    CHECK_OK(sim_field_image(&s.field, &p, &image));
    CHECK(s.field.range[0] == -30 && s.field.range[1] == 30);
    sim_image_free(&image);
    CHECK_OK(sim_field_fill(&s.field, 0));
    s.field.ranged = false;
    CHECK_OK(sim_field_image(&s.field, &p, &image)); /* all alike: the neutral middle */
    CHECK(pixel(&image, 1, 1, 0) == 236 && pixel(&image, 1, 1, 2) == 236);
    sim_image_free(&image);
    p.automatic = false;
    p.range[0] = p.range[1] = 1;
    CHECK(sim_field_image(&s.field, &p, &image) == SIM_BAD_ARGUMENT);
    p.scale = 100000;
    p.range[0] = 0;
    CHECK(sim_field_image(&s.field, &p, &image) == SIM_BAD_ARGUMENT);
    sample_free(&s);
}

/* A film of a field that blows up ends with the cell, step and time; side by side too. */
static void test_nan_in_picture(struct sim_device *device)
{
    struct sim_frames *frames;
    struct sample good, bad;
    struct sim_image a, b, both;
    const char *path = temporary(".png");
    const double black[3] = {0, 0, 0};
    sample_new(device, 31, 9, 2, false, false, &good);
    sample_new(device, 31, 9, 2, false, false, &bad);
    bad.value[5 * 31 + 12] = NAN;
    upload(&bad);
    snprintf(bad.field.name, sizeof bad.field.name, "v");
    bad.field.step = 100;
    bad.field.time = 20;
    CHECK_OK(sim_field_image(&good.field, &plain, &a));
    CHECK_OK(sim_field_image(&bad.field, &plain, &b));
    CHECK_OK(sim_image_beside(&a, &b, 6, black, &both));
    CHECK(both.width == 31 * 8 + 6 && both.height == a.height && both.check_count == 2);
    CHECK(pixel(&both, 31 * 4 + 6, 3, 1) == pixel(&b, 0, 3, 1));
    CHECK_OK(sim_frames_open(device, 1, 0, &frames));
    CHECK_OK(sim_frames_save(frames, &a, path, "", NULL));
    CHECK_OK(sim_frames_finish(frames));
    for (int k = 0; k < 2; k++) {
        CHECK_OK(sim_frames_save(frames, k ? &both : &b, path, "film.lua:7", NULL));
        CHECK(sim_frames_finish(frames) == SIM_DIVERGED);
        CHECK(strstr(sim_error_text(),
                     "field v is not finite at cell (13, 6), step 100 (t = 20)"));
    }
    sim_frames_close(frames, 1);
    struct sim_field_picture p = plain;
    p.automatic = true;
    struct sim_image none;
    CHECK(sim_field_image(&bad.field, &p, &none) == SIM_DIVERGED);
    CHECK(strstr(sim_error_text(), "cell (13, 6)"));
    sim_image_free(&a);
    sim_image_free(&b);
    sim_image_free(&both);
    sample_free(&good);
    sample_free(&bad);
    remove(path);
}

/* Over a picture that is black: lines of another field on a finer grid, a shade, arrows.
 */
static void test_layers(struct sim_device *device)
{
    struct sample under, fine, up;
    struct sim_image image;
    sample_new(device, 8, 8, 0, false, false, &under);
    sample_new(device, 16, 16, 0, false, false, &fine);
    sample_new(device, 8, 8, 0, false, false, &up);
    under.field.dy = under.field.dx;
    up.field.dy = up.field.dx;
    fine.field.dx = fine.field.dy = 0.5 * under.field.dx;
    for (int c = 0; c < 64; c++)
        under.value[c] = 0, up.value[c] = c / 8 < 4 ? 0 : 2;
    for (int c = 0; c < 256; c++)
        fine.value[c] = c % 16 + 0.5;
    upload(&under), upload(&fine), upload(&up);
    struct sim_field_picture p = plain; /* 4 pixels a cell, 2 a fine one */
    p.filter = SIM_FILTER_LINEAR;
    p.contour_count = 1;
    p.contour[0] = 6; /* three of the coarse cells from the left: 12 pixels */
    p.contour_field = &fine.field;
    CHECK_OK(sim_field_image(&under.field, &p, &image));
    for (int i = 0; i < 32; i++)
        CHECK_NEAR(pixel(&image, i, 7, 1), i == 11 || i == 12 ? 128 : 0, 2);
    sim_image_free(&image);
    p = plain;
    p.shade = (struct sim_field_shade){&up.field, {1, 3}, {0, 0, 1}};
    CHECK_OK(sim_field_image(&under.field, &p, &image));
    CHECK(pixel(&image, 9, 2, 2) == 128 && pixel(&image, 9, 29, 2) == 0);
    sim_image_free(&image);
    p = plain; /* two tiles of 16 pixels a side; u = 0 below and 2 above */
    p.arrows = (struct sim_field_arrows){&up.field, &under.field, 16 * 720 / 32.0,
                                         2,         {0, 1, 0},    2 * 720 / 32.0};
    CHECK_OK(sim_field_image(&under.field, &p, &image));
    CHECK(pixel(&image, 7, 7, 1) == 255 && pixel(&image, 7, 8, 1) == 255);
    CHECK(pixel(&image, 7, 5, 1) == 0 && pixel(&image, 7, 24, 1) == 0);
    CHECK(pixel(&image, 12, 6, 1) > 0 && pixel(&image, 3, 6, 1) == 0); /* the head */
    sim_image_free(&image);
    p.arrows.x = &under.field, p.arrows.y = &up.field;
    CHECK_OK(sim_field_image(&under.field, &p, &image));
    CHECK(pixel(&image, 8, 7, 1) == 255 && pixel(&image, 5, 7, 1) == 0);
    CHECK(pixel(&image, 6, 4, 1) > 0 && pixel(&image, 6, 12, 1) == 0); /* y is up */
    sim_image_free(&image);
    p.arrows.x = NULL; /* streaks along x: neighbours in a row are alike */
    p.grain = (struct sim_field_grain){&fine.field, &under.field, 22, 500, 1};
    p.range[0] = -255; /* grey */
    CHECK_OK(sim_field_image(&under.field, &p, &image));
    int along = 0, across = 0;
    for (int j = 0; j < 31; j++)
        for (int i = 0; i < 31; i++) {
            along += abs(pixel(&image, i, j, 0) - pixel(&image, i + 1, j, 0));
            across += abs(pixel(&image, i, j, 0) - pixel(&image, i, j + 1, 0));
        }
    CHECK(along > 0 && across > 4 * along);
    sim_image_free(&image);
    sample_free(&under), sample_free(&fine), sample_free(&up);
}

/* The points of a test, which its solver is. */
static const float (*points_of(struct sim_field *field, int64_t *count))[4]
{
    *count = 4000;
    return (const float(*)[4])field->solver;
}

static void points_new(struct sim_device *device, struct sim_buffer *out)
{
    static float point[4000][4];
    for (uint64_t k = 0; k < 4000; k++) { /* some outside, some that are none */
        point[k][0] = (float)(60 * uniform(3 * k) - 5);
        point[k][1] = (float)(25 * uniform(3 * k + 1));
        point[k][2] = (float)(uniform(3 * k + 2) - 0.1);
    }
    CHECK_OK(sim_buffer_new(device, sizeof point, "test", out));
    CHECK_OK(sim_buffer_write(out, 0, point, sizeof point));
}

/* Every kind of picture has the same bytes on every device. */
static void test_picture_bits(bool is_double)
{
    static uint8_t *first[6];
    for (int d = 0; d < device_count; d++)
        for (int k = 0; k < 6; k++) {
            struct sample s, other;
            struct sim_buffer points;
            struct sim_image image;
            struct sim_field_picture p = plain;
            p.filter = (enum sim_picture_filter)(k % 3);
            p.scale = k < 3 ? 3 : 0;
            p.width = k < 3 ? 0 : 50;
            p.height = 40;
            p.map = k % 2 ? SIM_MAP_EMBER : SIM_MAP_VIRIDIS;
            p.range[0] = -400;
            p.range[1] = 400;
            p.levels = 5;
            p.bar = k < 3;
            p.bar_label = "u";
            sample_new(devices[d], 101, 77, 3, is_double, k % 2 == 0, &s);
            sample_new(devices[d], 103, 61, 1, is_double, k % 2 != 0, &other);
            points_new(devices[d], &points);
            other.field.points = points_of;
            other.field.solver = points.data;
            if (k >= 3) {
                p.dots = (struct sim_field_dots){&other.field, 40, 0.7, {1, 0, 1}};
                p.contour_field = &other.field;
                p.shade = (struct sim_field_shade){&other.field, {0, 2000}, {1, 1, 0}};
                p.arrows = (struct sim_field_arrows){&s.field, &other.field, 100,
                                                     300,      {0, 1, 1},    30};
            }
            CHECK_OK(sim_field_image(&s.field, &p, &image));
            size_t size = (size_t)image.width * (size_t)image.height * 3;
            uint8_t *bytes = malloc(size);
            CHECK_OK(sim_buffer_read(&image.pixels, 0, bytes, size));
            if (d == 0)
                first[k] = bytes;
            else {
                CHECK(!memcmp(bytes, first[k], size));
                free(bytes);
            }
            sim_image_free(&image);
            sample_free(&s);
            sample_free(&other);
            sim_buffer_free(&points);
        }
    for (int k = 0; k < 6; k++)
        free(first[k]);
}

static void test_device(struct sim_device *device)
{
    for (int is_double = 0; is_double < 2; is_double++) {
        test_sums(device, is_double);
        test_not_finite(device, is_double);
        test_whole(device, is_double);
        test_paint_modes(device, is_double);
        test_noise(device, is_double);
        test_probe(device, is_double);
        test_files(device, is_double);
        test_picture_cells(device, is_double);
        test_picture_smooth(device, is_double);
    }
    test_large_sum(device);
    test_gap(device);
    test_paint_disc(device);
    test_bounds(device);
    test_hooks(device);
    test_file_failures(device);
    test_load_picture(device);
    test_picture_mean(device);
    test_contours(device);
    test_layers(device);
    test_range(device);
    test_nan_in_picture(device);
}

int main(void)
{
    open_devices();
    for (int k = 0; k < device_count; k++)
        test_device(devices[k]);
    test_picture_bits(false);
    test_picture_bits(true);
    for (int k = 0; k < device_count; k++)
        sim_device_close(devices[k]);
    return check_report();
}
