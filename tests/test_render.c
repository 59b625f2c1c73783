/* test_render.c - pictures of bodies: formulas, light, bands, threads, text, and the
 * GPU's bits against the CPU's. */
#include "check.h"

#include "../kernels/colormap.h"
#include "../kernels/render_math.h"
#include "../src/label.h"
#include "../src/view.h"

#define N 997

/* ---- scenes
 * ---------------------------------------------------------------------------- */

struct scene {
    struct sim_device *device;
    struct sim_bodies bodies;
};

static uint64_t random_state = 1;

static double uniform(double low, double high)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(random_state >> 11) / 9007199254740992.0;
}

/* Two clouds, "A.disc" and "B.disc", and "B.halo"; random in every field. */
static struct sim_model random_model(int64_t n)
{
    struct sim_model model;
    int group[3];
    random_state = 7;
    if (sim_model_new(n, &model) != SIM_OK)
        abort();
    sim_model_group(&model, "A.disc", &group[0]);
    sim_model_group(&model, "B.disc", &group[1]);
    sim_model_group(&model, "B.halo", &group[2]);
    for (int64_t i = 0; i < n; i++) {
        struct sim_body *body = &model.bodies[i];
        for (int k = 0; k < 3; k++)
            body->position[k] = uniform(-5, 5) * uniform(0, 1);
        body->mass = uniform(0.1, 1);
        body->group = group[i % 3];
    }
    return model;
}

static int scene_open(struct scene *s, const char *device, int threads, bool is_double,
                      const struct sim_model *model)
{
    const struct sim_bodies_desc desc = {
        .G = 1, .softening = 0.1, .dt = 0.01, .is_double = is_double};
    if (sim_device_open(device, threads, &s->device) != SIM_OK)
        return 0;
    s->device->poison = true;
    return CHECK_OK(sim_bodies_new(s->device, &desc, &s->bodies)) &&
           CHECK_OK(sim_bodies_add(&s->bodies, model));
}

static void scene_close(struct scene *s)
{
    sim_bodies_free(&s->bodies);
    sim_device_close(s->device);
}

static struct sim_view plain_view(void)
{
    return (struct sim_view){
        .width = 8,
        .visible = SIM_ALL_GROUPS,
        .supersample = 1,
        .point_size = 1,
        .glow = 0.5,
        .exposure = 1,
        .stretch = 300,
        .map = SIM_MAP_GREY,
    };
}

/* The bytes of a picture, to be freed. */
static uint8_t *picture(struct scene *s, const struct sim_view *view, int width,
                        int height)
{
    struct sim_image image;
    uint8_t *out = calloc((size_t)(width * height), 3);
    if (CHECK_OK(sim_image_new(s->device, width, height, &image))) {
        CHECK_OK(sim_view_bodies(&s->bodies, view, &image));
        CHECK_OK(sim_buffer_read(&image.pixels, 0, out, (size_t)(width * height * 3)));
    }
    sim_image_free(&image);
    return out;
}

static double brightness(const uint8_t *pixels, int x0, int y0, int x1, int y1, int width)
{
    double sum = 0;
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++)
            for (int c = 0; c < 3; c++)
                sum += pixels[(y * width + x) * 3 + c];
    return sum / (3.0 * (x1 - x0) * (y1 - y0));
}

/* One body of group "A" at a place, at its own device. */
static void one_body(struct scene *s, double x, double y, double z, bool is_double)
{
    struct sim_model model;
    int group;
    CHECK_OK(sim_model_new(1, &model));
    CHECK_OK(sim_model_group(&model, "A", &group));
    model.bodies[0] = (struct sim_body){.position = {x, y, z}, .mass = 1, .group = group};
    CHECK(scene_open(s, "cpu", 2, is_double, &model));
    sim_model_free(&model);
}

/* ---- formulas
 * -------------------------------------------------------------------------- */

static void test_formulas(void)
{
    double worst = 0, worst_asinh = 0;
    for (double x = 1e-6; x < 1e9; x *= 1.0173) {
        worst = fmax(worst, fabs((double)render_log((float)x) - log((double)(float)x)) /
                                fmax(1, fabs(log(x))));
        double v = 0.1 * asinh((double)(float)x),
               shoulder = v / pow(1 + v * v * v * v, 0.25);
        worst_asinh =
            fmax(worst_asinh,
                 fabs((double)render_curve(SIM_TONE_ASINH, (float)x, 0.1f) - shoulder));
    }
    CHECK_NEAR(worst, 0, 5e-7);
    CHECK_NEAR(worst_asinh, 0, 5e-7);
    CHECK_NEAR(render_curve(SIM_TONE_LOG, 3, 0.01f), 0.01 * log(4), 1e-8);
    CHECK_NEAR(render_curve(SIM_TONE_LINEAR, 3, 2), 6, 0);
    for (double t = 0.0; t < 1; t += 0.1) { /* the spline's weights add up to 1 */
        struct render_spline s = render_spline((float)(5 + t));
        CHECK_NEAR(s.a + s.b + s.c, 1, 2e-7);
        /* and reproduce straight lines: sum of weight * centre is the position */
        double mean =
            s.a * (s.first + 0.5) + s.b * (s.first + 1.5) + s.c * (s.first + 2.5);
        CHECK_NEAR(mean, 5 + t, 2e-6);
    }
}

static void test_colors(void)
{
    struct render_rgb c = render_color(0.25f, 0.25f, 0.25f, 0.5f);
    CHECK_NEAR(c.r, 0.5, 1e-6);
    CHECK_NEAR(c.b, 0.5, 1e-6);
    c = render_color(0.04f, 0.01f, 0.0025f, 0.03f); /* hue is kept: sqrt(0.04/0.01) = 2 */
    CHECK_NEAR(c.r / c.g, 2, 1e-5);
    CHECK_NEAR(c.g / c.b, 2, 1e-5);
    for (float v = 0; v < 4; v += 0.05f) {
        c = render_color(1, 0.3f, 0.1f, v);
        CHECK(c.r <= 1.000001f && c.g <= c.r + 1e-6f && c.b <= c.g + 1e-6f && c.b >= 0);
    }
    c = render_color(1, 0.3f, 0.1f, 1.5f); /* bright cores are white */
    CHECK_NEAR(c.b, 1, 1e-6);
    c = render_color(0, 0, 0, 0);
    CHECK(c.r == 0 && c.g == 0 && c.b == 0);
}

/* Entries of the published tables of 256 colours: indices 0, 37, 64, 128, 200, 255. */
static void test_maps(void)
{
    static const int index[] = {0, 37, 64, 128, 200, 255};
    static const int want[SIM_COLOR_MAPS][6][3] = {
        {{0, 0, 4},
         {41, 11, 85},
         {87, 16, 110},
         {188, 55, 84},
         {251, 157, 7},
         {252, 255, 164}},
        {{68, 1, 84},
         {70, 51, 127},
         {59, 82, 139},
         {33, 145, 140},
         {112, 207, 87},
         {253, 231, 37}},
        {{0, 0, 4},
         {36, 18, 83},
         {81, 18, 124},
         {183, 55, 121},
         {253, 152, 105},
         {252, 253, 191}},
        {{0, 34, 78},
         {35, 60, 110},
         {67, 78, 108},
         {125, 124, 120},
         {196, 180, 104},
         {254, 232, 56}},
        {{48, 18, 59},
         {71, 120, 240},
         {40, 188, 235},
         {164, 252, 60},
         {244, 102, 23},
         {122, 4, 3}},
    };
    for (int m = 0; m < SIM_COLOR_MAPS; m++) {
        float knots[SIM_MAP_KNOTS][3];
        sim_map_knots((enum sim_map)m, knots);
        for (int k = 0; k < 6; k++) {
            struct render_rgb c =
                render_map((const float(*)[3])knots, (float)index[k] / 255);
            CHECK_NEAR(fmax(0, c.r * 255.0), want[m][k][0], 1.5);
            CHECK_NEAR(fmax(0, c.g * 255.0), want[m][k][1], 1.5);
            CHECK_NEAR(fmax(0, c.b * 255.0), want[m][k][2], 1.5);
        }
    }
}

static void test_font(void)
{
    const struct sim_glyph *box = &sim_font[SIM_FONT_BOX];
    CHECK(box->count == 4);
    for (int g = 0; g < SIM_FONT_GLYPHS; g++) {
        const struct sim_glyph *glyph = &sim_font[g];
        bool fits =
            glyph->advance >= 10 && glyph->count <= 11 && (g == 0) == !glyph->count;
        for (int k = 0; k < glyph->count; k++) {
            const struct sim_stroke *s = &glyph->stroke[k];
            const int xs[] = {s->x0, s->x1, s->x2}, ys[] = {s->y0, s->y1, s->y2};
            for (int p = 0; p < (s->kind == SIM_STROKE_BEZIER ? 3 : 2); p++)
                fits &= xs[p] >= -2 && xs[p] <= glyph->advance &&
                        ys[p] >= SIM_FONT_BOTTOM && ys[p] <= SIM_FONT_TOP;
            fits &= s->kind != SIM_STROKE_ARC || (s->x0 != s->x1 && s->y0 != s->y1);
            /* the ends of each stroke are on it */
            int last = s->kind == SIM_STROKE_BEZIER ? 2 : 1;
            fits &= render_stroke_distance(s->x0, s->y0, s) < 1e-3f &&
                    render_stroke_distance((float)xs[last], (float)ys[last], s) < 1e-3f;
        }
        if (!fits)
            printf("     glyph %d '%c'\n", g, g < 95 ? g + 32 : '?');
        CHECK(fits);
    }
    /* a circle's arc: exact distance inside and out */
    const struct sim_stroke arc = {SIM_STROKE_ARC, 0, 10, 10, 0, 0, 0};
    CHECK_NEAR(render_stroke_distance(6, 8, &arc), 0, 1e-5);
    CHECK_NEAR(render_stroke_distance(3, 4, &arc), 5, 1e-5);
    CHECK_NEAR(render_stroke_distance(-3, 14, &arc), 5, 1e-5);
}

/* ---- light
 * ----------------------------------------------------------------------------- */

/* The sum of a disc over the cells is its light, wherever between cells it lies. */
static void test_disc_sum(void)
{
    struct scene s;
    const struct sim_render_ops *ops = sim_render_ops(SIM_CPU);
    one_body(&s, 0, 0, 0, false);
    enum { SIDE = 24 };
    uint64_t light[SIDE * SIDE];
    for (int k = 0; k < 50; k++) {
        struct sim_spot spot = {(float)uniform(8, 16), (float)uniform(8, 16), 1, 0};
        float radius = (float)uniform(2, 6);
        struct sim_splat_args args = {
            .spot = &spot,
            .n = 1,
            .grid = {.light = light,
                     .width = SIDE,
                     .rows = SIDE,
                     .channels = 1,
                     .scale = 1,
                     .radius = radius,
                     .inverse = 1 / (radius * radius),
                     .unit = 1 << 24},
        };
        memset(light, 0xff, sizeof light);
        CHECK_OK(ops->splat(s.device, &args));
        double sum = 0, x = 0, y = 0;
        for (int c = 0; c < SIDE * SIDE; c++) {
            sum += (double)light[c];
            x += (double)light[c] * (c % SIDE + 0.5);
            y += (double)light[c] * (c / SIDE + 0.5);
        }
        CHECK_NEAR(sum / (1 << 24), 1, 0.016);
        CHECK_NEAR(x / sum, spot.x, 0.02);
        CHECK_NEAR(y / sum, spot.y, 0.02);
    }
    scene_close(&s);
}

/* Where bodies fall: x right, y up, z to the viewer. */
static void test_camera(void)
{
    static const struct {
        double position[3], rotate[3], distance, x, y; /* pixels of 400 x 200, 8 wide */
    } cases[] = {
        {{2, 1, 3}, {0, 0, 0}, 0, 300, 50},      {{2, 1, 0}, {0, 0, 90}, 0, 150, 0 + 0.0},
        {{2, 0, 1}, {90, 0, 0}, 0, 300, 150}, /* about x: z goes down to -y */
        {{0, 1, 1}, {0, 90, 0}, 0, 250, 50},  /* about y: z goes to x */
        {{2, 1, 0}, {0, 0, 0}, 10, 300, 50}, /* the plane of the centre keeps its scale */
        {{1, 0.5, 5}, {0, 0, 0}, 10, 300, 50}, /* halfway to the viewer: twice as large */
        {{-5, 0.5, 1}, {0, 90, 0}, 10, 300, 50}, /* about y: -x comes to the viewer */
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct scene s;
        struct sim_view view = plain_view();
        const double *p = cases[k].position;
        one_body(&s, p[0], p[1], p[2], k % 2);
        view.glow = 0;
        memcpy(view.rotate, cases[k].rotate, sizeof view.rotate);
        view.distance = cases[k].distance;
        uint8_t *pixels = picture(&s, &view, 400, 200);
        double sum = 0, x = 0, y = 0;
        for (int c = 0; c < 400 * 200; c++) {
            sum += pixels[3 * c];
            x += pixels[3 * c] * (c % 400 + 0.5);
            y += pixels[3 * c] * (c / 400 + 0.5);
        }
        CHECK(sum > 0);
        CHECK_NEAR(x / sum, cases[k].x, 0.1);
        if (cases[k].y > 0)
            CHECK_NEAR(y / sum, cases[k].y, 0.1);
        free(pixels);
        scene_close(&s);
    }
}

/* Far from the origin a double picture is as sharp as near it. */
static void test_far_off(void)
{
    struct scene near, far;
    struct sim_view view = plain_view();
    one_body(&near, 0.3, 0.2, 0, true);
    one_body(&far, 1e9 + 0.3, -1e9 + 0.2, 0, true);
    uint8_t *a = picture(&near, &view, 96, 64);
    view.centre[0] = 1e9;
    view.centre[1] = -1e9;
    uint8_t *b = picture(&far, &view, 96, 64);
    CHECK(brightness(a, 0, 0, 96, 64, 96) > 0);
    int most = 0; /* 1e9 + 0.3 is itself rounded to 1e-7 */
    for (int c = 0; c < 96 * 64 * 3; c++)
        most = abs(a[c] - b[c]) > most ? abs(a[c] - b[c]) : most;
    CHECK(most <= 1);
    free(a);
    free(b);
    scene_close(&near);
    scene_close(&far);
}

static void test_follow(void)
{
    struct scene s;
    struct sim_view view = plain_view();
    one_body(&s, 100, -50, 7, false);
    view.follow = 1;
    uint8_t *pixels = picture(&s, &view, 64, 64);
    CHECK(brightness(pixels, 30, 30, 34, 34, 64) > 20);
    free(pixels);
    view.follow = 0;
    pixels = picture(&s, &view, 64, 64);
    CHECK(brightness(pixels, 0, 0, 64, 64, 64) == 0);
    free(pixels);
    scene_close(&s);
}

/* ---- the same bits
 * --------------------------------------------------------------------- */

static struct sim_view varied_view(int k)
{
    struct sim_view view = plain_view();
    view.supersample = 1 + k % 4;
    view.tone = k % 3;
    view.map = k % SIM_MAPS;
    view.colored = k % 2;
    view.glow = k % 5 == 4 ? 0 : 0.2 * (k % 5);
    view.distance = k % 3 == 2 ? 9 : 0;
    view.follow = k % 4 == 3 ? 1 : 0;
    view.visible = k % 3 ? SIM_ALL_GROUPS : 3;
    view.point_size = 0.3 + k;
    for (int i = 0; i < 3; i++) {
        view.rotate[i] = 37 * i * k;
        view.centre[i] = 0.1 * i * k;
        for (int g = 0; g < SIM_PALETTE_MAX; g++)
            view.palette[g][i] = (float)((g * 3 + i * 5 + k) % 8) / 7;
    }
    return view;
}

static const int sizes[][2] = {{1, 1},     {2, 3},   {31, 33},  {64, 17},
                               {257, 101}, {3, 128}, {150, 90}, {97, 61}};
#define SIZES (int)(sizeof sizes / sizeof *sizes)

static void test_threads_and_bands(void)
{
    struct sim_model model = random_model(N);
    struct scene one, two, seven;
    CHECK(scene_open(&one, "cpu", 1, false, &model));
    CHECK(scene_open(&two, "cpu", 2, false, &model));
    CHECK(scene_open(&seven, "cpu", 7, false, &model));
    for (int k = 0; k < 2 * SIZES; k++) {
        struct sim_view view = varied_view(k);
        int width = sizes[k % SIZES][0], height = sizes[k % SIZES][1];
        size_t bytes = (size_t)(width * height * 3);
        uint8_t *a = picture(&one, &view, width, height);
        uint8_t *b = picture(&two, &view, width, height);
        view.band_bytes = 1; /* the smallest bands: 4 rows */
        uint8_t *c = picture(&seven, &view, width, height);
        CHECK(!memcmp(a, b, bytes));
        CHECK(!memcmp(a, c, bytes));
        free(a);
        free(b);
        free(c);
    }
    scene_close(&one);
    scene_close(&two);
    scene_close(&seven);
    sim_model_free(&model);
}

/* Groups that are hidden leave no light, and colours are the palette's. */
static void test_groups(void)
{
    struct sim_model model = random_model(300);
    struct scene s;
    CHECK(scene_open(&s, "cpu", 2, false, &model));
    struct sim_view view = plain_view();
    view.colored = true;
    view.palette[0][0] = view.palette[1][1] = view.palette[2][2] =
        1;                /* red, green, blue */
    view.exposure = 0.02; /* below overexposure, which is white */
    for (int g = 0; g < 3; g++) {
        double sum[3] = {0};
        view.visible = (uint64_t)1 << g;
        uint8_t *pixels = picture(&s, &view, 96, 64);
        for (int c = 0; c < 96 * 64 * 3; c++)
            sum[c % 3] += pixels[c];
        for (int c = 0; c < 3; c++)
            CHECK(c == g ? sum[c] > 300 : sum[c] == 0);
        free(pixels);
    }
    view.visible = 0;
    uint8_t *pixels = picture(&s, &view, 96, 64);
    CHECK(brightness(pixels, 0, 0, 96, 64, 96) == 0);
    free(pixels);
    scene_close(&s);
    sim_model_free(&model);
}

/* A picture of twice the size looks the same; its brightness does not depend on content.
 */
static void test_exposure(void)
{
    struct sim_model model = random_model(N);
    struct scene s;
    CHECK(scene_open(&s, "cpu", 2, false, &model));
    struct sim_view view = plain_view();
    uint8_t *small = picture(&s, &view, 640, 360), *large = picture(&s, &view, 1280, 720);
    double a = brightness(small, 0, 0, 640, 360, 640);
    double b = brightness(large, 0, 0, 1280, 720, 1280);
    CHECK(a > 5);
    CHECK_NEAR(a / b, 1, 0.03);
    free(small);
    free(large);
    scene_close(&s);
    sim_model_free(&model);
}

/* Bodies that are NaN or far out are not drawn, and harm nothing else. */
static void test_nan(void)
{
    struct sim_model model = random_model(9);
    struct scene s;
    CHECK(scene_open(&s, "cpu", 2, false, &model));
    float bad[4] = {NAN, 1, 2, 1};
    struct sim_view view = plain_view();
    struct sim_image image;
    struct sim_image_tail tail;
    CHECK_OK(sim_image_new(s.device, 64, 48, &image));
    CHECK_OK(sim_view_bodies(&s.bodies, &view, &image));
    CHECK_OK(sim_buffer_read(&image.pixels, image.tail_offset, &tail, sizeof tail));
    CHECK(tail.checked == 1 && tail.check.bad == INT64_MAX);
    CHECK_OK(sim_buffer_write(&s.bodies.position, 5 * sizeof bad, bad, sizeof bad));
    bad[0] = 3e38f;
    CHECK_OK(sim_buffer_write(&s.bodies.position, 6 * sizeof bad, bad, sizeof bad));
    CHECK_OK(sim_view_bodies(&s.bodies, &view, &image));
    CHECK_OK(sim_buffer_read(&image.pixels, image.tail_offset, &tail, sizeof tail));
    CHECK(tail.checked == 1 && tail.check.bad == 5);
    sim_image_free(&image);
    scene_close(&s);
    sim_model_free(&model);
}

static void test_transfers(void)
{
    struct sim_model model = random_model(N);
    struct scene s;
    CHECK(scene_open(&s, "cpu", 2, false, &model));
    struct sim_view view = varied_view(3);
    struct sim_image image;
    CHECK_OK(sim_image_new(s.device, 200, 100, &image));
    struct sim_device_stats before = s.device->stats;
    CHECK_OK(sim_view_bodies(&s.bodies, &view, &image));
    struct sim_device_stats after = s.device->stats;
    CHECK(after.bytes_up == before.bytes_up && after.bytes_down == before.bytes_down);
    CHECK(after.waits == before.waits);
    uint64_t live = after.live_bytes;
    CHECK_OK(sim_view_bodies(&s.bodies, &view, &image)); /* the light is kept */
    CHECK(s.device->stats.live_bytes == live);
    CHECK(s.device->stats.allocations == after.allocations);
    sim_image_free(&image);
    scene_close(&s);
    sim_model_free(&model);
}

/* ---- text
 * ------------------------------------------------------------------------------ */

static void read_pixels(const struct sim_image *image, uint8_t *out)
{
    CHECK_OK(sim_buffer_read(&image->pixels, 0, out,
                             (size_t)(image->width * image->height * 3)));
}

static void test_label(void)
{
    enum { W = 320, H = 240 };
    static uint8_t pixels[W * H * 3];
    struct sim_device *device;
    struct sim_image image;
    CHECK_OK(sim_device_open("cpu", 2, &device));
    CHECK_OK(sim_image_new(device, W, H, &image));
    struct sim_label label = {
        .text = "Wg", .position = {0, 1}, .size = 60, .color = {1, 0.5, 0}};
    CHECK_OK(sim_image_label(&image, &label));
    read_pixels(&image, pixels);
    CHECK(brightness(pixels, 0, 0, 80, 60, W) > 2);
    CHECK(brightness(pixels, 0, 0, 14, H, W) == 0); /* the margin is 0.9 of 20 pixels */
    CHECK(brightness(pixels, 14, 0, 24, 60, W) > 2);
    CHECK(brightness(pixels, 80, 0, W, H, W) == 0 &&
          brightness(pixels, 0, 60, W, H, W) == 0);
    int most[3] = {0};
    for (int c = 0; c < W * H * 3; c++)
        most[c % 3] = pixels[c] > most[c % 3] ? pixels[c] : most[c % 3];
    CHECK(most[0] == 255 && abs(most[1] - 128) <= 1 && most[2] == 0);
    label.position[0] = 1; /* the right end stays inside */
    label.position[1] = 0;
    CHECK_OK(sim_image_label(&image, &label));
    read_pixels(&image, pixels);
    CHECK(brightness(pixels, W - 80, H - 60, W, H, W) > 2);
    CHECK(brightness(pixels, W - 14, 0, W, H, W) == 0);
    CHECK(brightness(pixels, W - 30, H - 60, W - 14, H, W) > 2);
    char text[2 * SIM_TEXT_MAX + 2];
    memset(text, 'x', sizeof text);
    text[SIM_TEXT_MAX] = '\0';
    label.text = text;
    CHECK_OK(sim_image_label(&image, &label));
    text[SIM_TEXT_MAX] = 'x';
    text[SIM_TEXT_MAX + 1] = '\0';
    CHECK(sim_image_label(&image, &label) == SIM_BAD_ARGUMENT);
    label.text = "\xff\xc3(\xe2\x82\xac \xf0\x9f"; /* broken UTF-8 */
    CHECK_OK(sim_image_label(&image, &label));
    label.text = "";
    CHECK_OK(sim_image_label(&image, &label));
    sim_image_free(&image);
    sim_device_close(device);
}

/* The bar is as long as it says, to a pixel. */
static void test_scalebar(void)
{
    enum { W = 320, H = 240 };
    static uint8_t pixels[W * H * 3];
    struct sim_device *device;
    struct sim_image image;
    CHECK_OK(sim_device_open("cpu", 1, &device));
    CHECK_OK(sim_image_new(device, W, H, &image));
    struct sim_scalebar bar = {
        .length = 3, .position = {0.5, 0}, .size = 30, .color = {1, 1, 1}};
    CHECK(sim_image_scalebar(&image, &bar) == SIM_BAD_ARGUMENT); /* no scale */
    image.units_per_pixel = 0.02;
    CHECK_OK(sim_image_scalebar(&image, &bar));
    read_pixels(&image, pixels);
    int longest = 0;
    for (int y = 0; y < H; y++) {
        int count = 0;
        for (int x = 0; x < W; x++)
            count += pixels[(y * W + x) * 3] > 127;
        longest = count > longest ? count : longest;
    }
    CHECK_NEAR(longest, 150, 2);
    bar.length = 7;
    CHECK(sim_image_scalebar(&image, &bar) == SIM_BAD_ARGUMENT); /* 350 of 320 pixels */
    sim_image_free(&image);
    sim_device_close(device);
}

/* ---- the GPU against the CPU
 * ----------------------------------------------------------- */

static void *device_memory(struct sim_device *device, struct sim_buffer *buffer,
                           const void *from, size_t bytes)
{
    CHECK_OK(sim_buffer_new(device, bytes, "a test", buffer));
    if (from)
        CHECK_OK(sim_buffer_write(buffer, 0, from, bytes));
    return buffer->data;
}

/* The fixed-point light of the scene on a 200 x 120 grid, into `light`. */
static void light_of(struct scene *s, const struct sim_view *view, uint64_t *light,
                     size_t bytes)
{
    const struct sim_render_ops *ops = sim_render_ops(s->device->kind);
    struct sim_buffer spots, grid;
    struct sim_project_args project = {
        .position = s->bodies.position.data,
        .real_bytes = s->bodies.ops->real_bytes,
        .group = s->bodies.group.data,
        .n = s->bodies.n,
        .spot = device_memory(s->device, &spots, NULL,
                              (size_t)s->bodies.n * sizeof(struct sim_spot)),
        .visible = view->visible,
        .centre = {0.1, -0.2, 0.3},
        .turn = {{0.6f, 0.8f, 0}, {-0.48f, 0.36f, 0.8f}, {0.64f, -0.48f, 0.6f}},
        .pixels_per_unit = 17,
        .distance = (float)view->distance,
        .nearest = 0.09f,
        .width = 200,
        .height = 120,
        .margin = 9,
    };
    struct sim_splat_args splat = {
        .spot = project.spot,
        .n = s->bodies.n,
        .grid = {.light = device_memory(s->device, &grid, NULL, bytes),
                 .width = 200,
                 .rows = 120,
                 .channels = 3,
                 .scale = 1,
                 .radius = 3.3f,
                 .inverse = 1 / (3.3f * 3.3f),
                 .unit = 1 << 22},
    };
    memcpy(splat.palette, view->palette, sizeof splat.palette);
    CHECK_OK(ops->project(s->device, &project));
    CHECK_OK(ops->splat(s->device, &splat));
    CHECK_OK(sim_buffer_read(&grid, 0, light, bytes));
    sim_buffer_free(&spots);
    sim_buffer_free(&grid);
}

static void compare_light(struct scene *cpu, struct scene *gpu)
{
    size_t bytes = 200 * 120 * 3 * sizeof(uint64_t);
    uint64_t *a = malloc(bytes), *b = malloc(bytes);
    for (int k = 1; k < 6; k++) {
        struct sim_view view = varied_view(k);
        memset(a, 0xaa, bytes);
        memset(b, 0xbb, bytes);
        light_of(cpu, &view, a, bytes);
        light_of(gpu, &view, b, bytes);
        CHECK(!memcmp(a, b, bytes));
    }
    free(a);
    free(b);
}

static void compare_pictures(struct scene *cpu, struct scene *gpu)
{
    for (int k = 0; k < 3 * SIZES; k++) {
        struct sim_view view = varied_view(k);
        int width = sizes[k % SIZES][0], height = sizes[k % SIZES][1];
        view.follow = 0; /* the mass centre's sum may have another order */
        uint8_t *a = picture(cpu, &view, width, height);
        view.band_bytes = k % 2 ? 1 : 0;
        uint8_t *b = picture(gpu, &view, width, height);
        int differ = 0, most = 0;
        for (int c = 0; c < width * height * 3; c++) {
            differ += a[c] != b[c];
            most = abs(a[c] - b[c]) > most ? abs(a[c] - b[c]) : most;
        }
        if (differ)
            printf("     view %d, %d x %d: %d bytes differ, by up to %d\n", k, width,
                   height, differ, most);
        CHECK(differ == 0);
        free(a);
        free(b);
    }
}

static void compare_text(struct scene *cpu, struct scene *gpu)
{
    enum { W = 400, H = 300 };
    static uint8_t pixels[2][W * H * 3];
    struct scene *scenes[] = {cpu, gpu};
    char text[96];
    for (int k = 0; k < 95; k++)
        text[k] = k % 24 == 23 ? '\n' : (char)(32 + k);
    text[95] = '\0';
    struct sim_label label = {
        .text = text, .position = {0.3, 0.6}, .size = 40, .color = {1, 0.8, 0.6}};
    struct sim_scalebar bar = {.position = {1, 0}, .size = 33, .color = {0.5, 1, 1}};
    for (int d = 0; d < 2; d++) {
        struct sim_image image;
        struct sim_view view = varied_view(1);
        CHECK_OK(sim_image_new(scenes[d]->device, W, H, &image));
        CHECK_OK(sim_view_bodies(&scenes[d]->bodies, &view, &image));
        CHECK_OK(sim_image_label(&image, &label));
        CHECK_OK(sim_image_scalebar(&image, &bar));
        read_pixels(&image, pixels[d]);
        sim_image_free(&image);
    }
    CHECK(!memcmp(pixels[0], pixels[1], sizeof pixels[0]));
}

static void test_parity(void)
{
    struct scene cpu, gpu;
    for (int is_double = 0; is_double < 2; is_double++) {
        struct sim_model model = random_model(N);
        if (!scene_open(&gpu, "cuda", 0, is_double, &model)) {
            check_skip(sim_error_text());
            sim_model_free(&model);
            return;
        }
        CHECK(scene_open(&cpu, "cpu", 2, is_double, &model));
        compare_light(&cpu, &gpu);
        compare_pictures(&cpu, &gpu);
        compare_text(&cpu, &gpu);
        scene_close(&cpu);
        scene_close(&gpu);
        sim_model_free(&model);
    }
}

int main(void)
{
    test_formulas();
    test_colors();
    test_maps();
    test_font();
    test_disc_sum();
    test_camera();
    test_far_off();
    test_follow();
    test_threads_and_bands();
    test_groups();
    test_exposure();
    test_nan();
    test_transfers();
    test_label();
    test_scalebar();
    test_parity();
    return check_report();
}
