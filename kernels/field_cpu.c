/* field_cpu.c - fields on CPU threads; compiled for both precisions.
 *
 * Cells are worked on in the chunks of the summing tree (field.h), cut where a row ends,
 * and chunks are dealt to threads; no bit depends on how. */
#include "field_layer_math.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

#define CHUNK SIM_SUM_CHUNK
#define LANES SIM_SUM_LANES

static int64_t cells(const struct sim_array *a)
{
    return a->nx * a->ny;
}

static int64_t chunks(int64_t n)
{
    return (n + CHUNK - 1) / CHUNK;
}

/* Cells c .. c + length - 1, all of one row. */
struct run {
    int64_t c, j, i, length;
};

/* The run that begins at cell c and ends at `end` or its row's end. */
static struct run run_at(const struct sim_array *a, int64_t c, int64_t end)
{
    struct run r = {.c = c, .j = c / a->nx, .i = c % a->nx};
    int64_t row = a->nx - r.i;
    r.length = end - c < row ? end - c : row;
    return r;
}

static int64_t chunk_end(int64_t chunk, int64_t n)
{
    return n - chunk * CHUNK < CHUNK ? n : (chunk + 1) * CHUNK;
}

static real *cell(const struct sim_array *a, const struct run *r)
{
    return (real *)a->data + r->j * a->pitch + r->i;
}

static enum sim_status done(struct sim_device *device)
{
    SIM_TRY(sim_device_launch(device, "field"));
    return sim_check_interrupt();
}

/* ---- changing -------------------------------------------------------------------------
 */

WIDE static void each_run(real *restrict u, int64_t n, int op, real a, real b)
{
    if (op == SIM_EACH_FILL)
        for (int64_t i = 0; i < n; i++)
            u[i] = field_each(SIM_EACH_FILL, u[i], a, b);
    else if (op == SIM_EACH_SCALE)
        for (int64_t i = 0; i < n; i++)
            u[i] = field_each(SIM_EACH_SCALE, u[i], a, b);
    else if (op == SIM_EACH_SHIFT)
        for (int64_t i = 0; i < n; i++)
            u[i] = field_each(SIM_EACH_SHIFT, u[i], a, b);
    else
        for (int64_t i = 0; i < n; i++)
            u[i] = field_each(SIM_EACH_CLAMP, u[i], a, b);
}

static enum sim_status each_cpu(struct sim_device *device, const struct sim_array *array,
                                enum sim_each op, double a, double b)
{
    int64_t n = cells(array);
#pragma omp parallel for num_threads(device->threads) schedule(static)
    for (int64_t k = 0; k < chunks(n); k++)
        for (int64_t c = k * CHUNK, end = chunk_end(k, n); c < end;) {
            struct run r = run_at(array, c, end);
            each_run(cell(array, &r), r.length, (int)op, (real)a, (real)b);
            c += r.length;
        }
    return done(device);
}

static enum sim_status paint_cpu(struct sim_device *device, const struct sim_array *array,
                                 const struct sim_paint_args *p)
{
    int64_t from = p->j0 * array->nx, n = p->j1 * array->nx;
#pragma omp parallel for num_threads(device->threads) schedule(static)
    for (int64_t start = from; start < n; start += CHUNK)
        for (int64_t c = start, end = n - start < CHUNK ? n : start + CHUNK; c < end;) {
            struct run r = run_at(array, c, end);
            real *u = cell(array, &r);
            for (int64_t k = 0; k < r.length; k++)
                u[k] = field_painted(p, array->nx, r.j, r.i + k, u[k]);
            c += r.length;
        }
    return done(device);
}

WIDE static void add_single(real *restrict u, const float *restrict v, int64_t n, real k,
                            bool replace)
{
    for (int64_t i = 0; i < n; i++)
        u[i] = field_combined(u[i], (real)v[i], k, replace);
}

WIDE static void add_double(real *restrict u, const double *restrict v, int64_t n, real k,
                            bool replace)
{
    for (int64_t i = 0; i < n; i++)
        u[i] = field_combined(u[i], (real)v[i], k, replace);
}

/* A field may be added to itself: then each element is read before it is written. */
static void add_self(real *u, int64_t n, real k, bool replace)
{
    for (int64_t i = 0; i < n; i++)
        u[i] = field_combined(u[i], u[i], k, replace);
}

static enum sim_status combine_cpu(struct sim_device *device,
                                   const struct sim_array *array,
                                   const struct sim_array *other, bool other_is_double,
                                   double factor, bool replace)
{
    int64_t n = cells(array);
    real k = (real)factor;
#pragma omp parallel for num_threads(device->threads) schedule(static)
    for (int64_t chunk = 0; chunk < chunks(n); chunk++)
        for (int64_t c = chunk * CHUNK, end = chunk_end(chunk, n); c < end;) {
            struct run r = run_at(array, c, end);
            int64_t from = r.j * other->pitch + r.i;
            if (other->data == array->data)
                add_self(cell(array, &r), r.length, k, replace);
            else if (other_is_double)
                add_double(cell(array, &r), (const double *)other->data + from, r.length,
                           k, replace);
            else
                add_single(cell(array, &r), (const float *)other->data + from, r.length,
                           k, replace);
            c += r.length;
        }
    return done(device);
}

/* ---- sums -----------------------------------------------------------------------------
 */

/* The lanes of a chunk as arrays, for SIMD. */
struct lanes {
    double sum[LANES], squares[LANES], min[LANES], max[LANES];
    int64_t count[LANES], bad;
};

static void lanes_clear(struct lanes *l)
{
    const struct sim_field_part none = field_nothing();
    for (int t = 0; t < LANES; t++) {
        l->sum[t] = none.sum;
        l->squares[t] = none.squares;
        l->min[t] = none.min;
        l->max[t] = none.max;
        l->count[t] = none.count;
    }
    l->bad = none.bad;
}

/* n values to the lanes t and up; t + n <= LANES. */
WIDE static void lanes_take(struct lanes *restrict l, int t, const real *restrict u,
                            int n)
{
    for (int k = 0; k < n; k++) {
        double x = (double)u[k];
        l->sum[t + k] = l->sum[t + k] + x;
        l->squares[t + k] = l->squares[t + k] + x * x;
        l->min[t + k] = field_min(l->min[t + k], x);
        l->max[t + k] = field_max(l->max[t + k], x);
        l->count[t + k] += 1;
    }
}

static void lanes_take_open(struct lanes *l, int t, const real *u, const uint8_t *mask,
                            int n)
{
    for (int k = 0; k < n; k++)
        if (!mask[k])
            lanes_take(l, t + k, &u[k], 1);
}

static void lanes_take_run(struct lanes *l, const struct sim_array *a,
                           const struct run *r)
{
    const real *u = cell(a, r);
    for (int64_t k = 0; k < r->length;) {
        int t = (int)((r->c + k) % LANES);
        int64_t left = r->length - k, n = left < LANES - t ? left : LANES - t;
        if (a->mask)
            lanes_take_open(l, t, u + k, a->mask + r->c + k, (int)n);
        else
            lanes_take(l, t, u + k, (int)n);
        k += n;
    }
}

static struct sim_field_part lanes_total(struct lanes *l)
{
    for (int half = LANES / 2; half >= 1; half /= 2)
        for (int t = 0; t < half; t++) {
            l->sum[t] = l->sum[t] + l->sum[t + half];
            l->squares[t] = l->squares[t] + l->squares[t + half];
            l->min[t] = field_min(l->min[t], l->min[t + half]);
            l->max[t] = field_max(l->max[t], l->max[t + half]);
            l->count[t] += l->count[t + half];
        }
    return (struct sim_field_part){l->sum[0], l->squares[0], l->min[0],
                                   l->max[0], l->count[0],   l->bad};
}

/* Is a value of the run not finite? Masked cells are asked too. */
WIDE static int run_has_bad(const real *u, int64_t n)
{
    int bad = 0;
    for (int64_t i = 0; i < n; i++)
        bad |= !(u[i] - u[i] == (real)0);
    return bad;
}

static int64_t run_first_bad(const struct sim_array *a, const struct run *r)
{
    const real *u = cell(a, r);
    if (run_has_bad(u, r->length))
        for (int64_t k = 0; k < r->length; k++)
            if (!field_finite((double)u[k]) && !(a->mask && a->mask[r->c + k]))
                return r->c + k;
    return INT64_MAX;
}

static struct sim_field_part chunk_part(const struct sim_array *a, int64_t chunk,
                                        int64_t n)
{
    struct lanes l;
    lanes_clear(&l);
    for (int64_t c = chunk * CHUNK, end = chunk_end(chunk, n); c < end;) {
        struct run r = run_at(a, c, end);
        lanes_take_run(&l, a, &r);
        if (l.bad == INT64_MAX)
            l.bad = run_first_bad(a, &r);
        c += r.length;
    }
    return lanes_total(&l);
}

/* The tree's next level: one part of a chunk of parts. */
static struct sim_field_part join_chunk(const struct sim_field_part *parts, int64_t count)
{
    struct sim_field_part lane[LANES];
    for (int t = 0; t < LANES; t++) {
        lane[t] = field_nothing();
        for (int64_t k = t; k < count; k += LANES)
            field_join(&lane[t], &parts[k]);
    }
    for (int half = LANES / 2; half >= 1; half /= 2)
        for (int t = 0; t < half; t++)
            field_join(&lane[t], &lane[t + half]);
    return lane[0];
}

static enum sim_status reduce_cpu(struct sim_device *device,
                                  const struct sim_array *array,
                                  struct sim_field_part *parts)
{
    int64_t n = cells(array), count = chunks(n);
#pragma omp parallel for num_threads(device->threads) schedule(static)
    for (int64_t k = 0; k < count; k++)
        parts[k] = chunk_part(array, k, n);
    while (count > 1) {
        struct sim_field_part *next = parts + count;
        for (int64_t k = 0; k < chunks(count); k++)
            next[k] = join_chunk(parts + k * CHUNK, chunk_end(k, count) - k * CHUNK);
        parts = next;
        count = chunks(count);
    }
    return done(device);
}

static enum sim_status check_cpu(struct sim_device *device, const struct sim_array *array,
                                 int64_t *bad)
{
    int64_t n = cells(array), first = INT64_MAX;
#pragma omp parallel for num_threads(device->threads) schedule(static) \
    reduction(min                                                      \
              : first)
    for (int64_t k = 0; k < chunks(n); k++)
        for (int64_t c = k * CHUNK, end = chunk_end(k, n); c < end;) {
            struct run r = run_at(array, c, end);
            int64_t found = run_first_bad(array, &r);
            first = found < first ? found : first;
            c += r.length;
        }
    *bad = first;
    return done(device);
}

/* ---- pictures -------------------------------------------------------------------------
 */

WIDE static void picture_row(const struct sim_array *a, const struct sim_picture_args *p,
                             int j)
{
    if (p->filter == SIM_FILTER_CELLS)
        for (int i = 0; i < p->width; i++)
            field_pixel(a, p, SIM_FILTER_CELLS, i, j);
    else if (p->filter == SIM_FILTER_LINEAR)
        for (int i = 0; i < p->width; i++)
            field_pixel(a, p, SIM_FILTER_LINEAR, i, j);
    else
        for (int i = 0; i < p->width; i++)
            field_pixel(a, p, SIM_FILTER_CUBIC, i, j);
}

static enum sim_status picture_cpu(struct sim_device *device,
                                   const struct sim_array *array,
                                   const struct sim_picture_args *p)
{
#pragma omp parallel for num_threads(device->threads) schedule(dynamic, 4)
    for (int j = 0; j < p->height; j++)
        picture_row(array, p, j);
    return done(device);
}

WIDE static void layer_row(const struct sim_array *a, const struct sim_picture_args *p,
                           int j)
{
    if (p->filter == SIM_FILTER_LINEAR)
        for (int i = 0; i < p->width; i++)
            field_layer_pixel(a, p, SIM_FILTER_LINEAR, i, j);
    else
        for (int i = 0; i < p->width; i++)
            field_layer_pixel(a, p, SIM_FILTER_CUBIC, i, j);
}

static enum sim_status layer_cpu(struct sim_device *device, const struct sim_array *array,
                                 const struct sim_picture_args *p)
{
#pragma omp parallel for num_threads(device->threads) schedule(dynamic, 4)
    for (int j = 0; j < p->height; j++)
        layer_row(array, p, j);
    return done(device);
}

static enum sim_status arrows_cpu(struct sim_device *device, const struct sim_array *x,
                                  const struct sim_array *y,
                                  const struct sim_arrow_args *p)
{
#pragma omp parallel for num_threads(device->threads) schedule(static)
    for (int j = 0; j < p->place.height; j++)
        for (int i = 0; i < p->place.width; i++)
            field_arrow_pixel(x, y, p, i, j);
    return done(device);
}

static enum sim_status grain_cpu(struct sim_device *device, const struct sim_array *x,
                                 const struct sim_array *y,
                                 const struct sim_grain_args *p)
{
#pragma omp parallel for num_threads(device->threads) schedule(dynamic, 4)
    for (int j = 0; j < p->place.height; j++)
        for (int i = 0; i < p->place.width; i++)
            field_grain_pixel(x, y, p, i, j);
    return done(device);
}

static void dot(const struct sim_dot_args *p, int64_t k)
{
    const struct field_dot d = field_dot_at(p, k);
    for (int j = d.j0; j < d.j1; j++)
        for (int i = d.i0; i < d.i1; i++) {
            const int part = field_dot_part(p, &d, i, j);
#pragma omp atomic
            p->sum[(int64_t)j * p->width + i] += part;
        }
}

static enum sim_status dots_cpu(struct sim_device *device, const struct sim_dot_args *p)
{
    memset(p->sum, 0, (size_t)p->width * (size_t)p->height * sizeof *p->sum);
#pragma omp parallel for num_threads(device->threads) schedule(static)
    for (int64_t k = 0; k < p->count; k++)
        dot(p, k);
#pragma omp parallel for num_threads(device->threads) schedule(static)
    for (int j = 0; j < p->height; j++)
        for (int i = 0; i < p->width; i++)
            field_dot_pixel(p, i, j);
    return done(device);
}

static enum sim_status cover_cpu(struct sim_device *device,
                                 const struct sim_cover_args *c)
{
#pragma omp parallel for num_threads(device->threads) schedule(static)
    for (int j = 0; j < c->height; j++)
        for (int i = 0; i < c->width; i++)
            field_cover_pixel(c, i, j);
    return done(device);
}

static enum sim_status bar_cpu(struct sim_device *device, const struct sim_bar_args *b)
{
    for (int j = 0; j < b->height; j++)
        for (int i = 0; i < b->width + b->tick_length; i++)
            field_bar_pixel(b, i, j);
    return done(device);
}

static enum sim_status blit_cpu(struct sim_device *device, const struct sim_blit_args *b)
{
#pragma omp parallel for num_threads(device->threads) schedule(static)
    for (int j = 0; j < b->height; j++)
        for (int i = 0; i < b->width; i++)
            field_blit_pixel(b, i, j);
    return done(device);
}

const struct sim_field_ops SIM_TYPED(sim_field_ops_cpu) = {
    .name = sizeof(real) == 8 ? "cpu double" : "cpu single",
    .real_bytes = sizeof(real),
    .each = each_cpu,
    .paint = paint_cpu,
    .combine = combine_cpu,
    .reduce = reduce_cpu,
    .check = check_cpu,
    .picture = picture_cpu,
    .layer = layer_cpu,
    .arrows = arrows_cpu,
    .grain = grain_cpu,
    .dots = dots_cpu,
    .cover = cover_cpu,
    .bar = bar_cpu,
    .blit = blit_cpu,
};
