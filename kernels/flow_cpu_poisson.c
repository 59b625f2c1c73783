/* flow_cpu_poisson.c - the passes of the pressure equation on CPU threads (poisson.h).
 * Threads take rows; no bit depends on how. */
#include "flow_cpu.h"

#include <string.h>

/* --- one row ------------------------------------------------------------------------ */

WIDE static void pre_row(real *restrict x, const real *restrict b,
                         const real *restrict di, const real *restrict cx,
                         const real *restrict cy, int64_t pitch, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = poisson_pre(b, di, cx, cy, pitch, i);
}

WIDE static void smooth_row(real omega, real *restrict to, const real *restrict x,
                            const real *restrict b, const real *restrict di,
                            const real *restrict cx, const real *restrict cy,
                            int64_t pitch, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = poisson_smooth(omega, x, b, di, cx, cy, pitch, i);
}

WIDE static void residual_row(real *restrict to, const real *restrict x,
                              const real *restrict b, const real *restrict cx,
                              const real *restrict cy, int64_t pitch, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = b[i] - poisson_apply(x, cx, cy, pitch, i);
}

WIDE static void apply_row(real *restrict to, const real *restrict x,
                           const real *restrict cx, const real *restrict cy,
                           int64_t pitch, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = poisson_apply(x, cx, cy, pitch, i);
}

WIDE static void direction_row(real *restrict p, const real *restrict z, real beta,
                               int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        p[i] = z[i] + beta * p[i];
}

WIDE static double update_row(real *restrict x, real *restrict r, const real *restrict p,
                              const real *restrict q, real alpha, int64_t n)
{
    poisson_bits most = 0;
    for (int64_t i = 0; i < n; i++) {
        const real left = r[i] - alpha * q[i];
        const poisson_bits size = poisson_size(left);
        x[i] = x[i] + alpha * p[i];
        r[i] = left;
        most = size > most ? size : most;
    }
    return poisson_of_size(most);
}

WIDE static double largest_row(const real *restrict r, int64_t n)
{
    return poisson_largest(r, n);
}

/* Products of a strip (poisson_math.h), a sum each 32 cells; `step` doubles from one sum
 * to the next. */
WIDE static void dot_strip(const real *restrict a, const real *restrict b, int64_t pitch,
                           int64_t rows, int64_t n, double *restrict sums, int step)
{
    for (int64_t i = 0; i < n; i += POISSON_TILE) {
        double lane[POISSON_TILE] = {0};
        const int wide = n - i < POISSON_TILE ? (int)(n - i) : POISSON_TILE;
        for (int64_t k = 0; k < rows; k++) {
            const real *x = a + k * pitch + i, *y = b + k * pitch + i;
            if (wide == POISSON_TILE)
                for (int t = 0; t < POISSON_TILE; t++)
                    lane[t] = lane[t] + (double)x[t] * (double)y[t];
            else
                for (int t = 0; t < wide; t++)
                    lane[t] = lane[t] + (double)x[t] * (double)y[t];
        }
        sums[i / POISSON_TILE * step] = flow_halve_sum(lane, POISSON_TILE);
    }
}

/* From four rows of residuals to a row of coarse ones: pairs along x, then along y. */
WIDE static void pair_row(real *restrict to, const real *restrict low,
                          const real *restrict high, int64_t pairs)
{
    if (high)
        for (int64_t i = 0; i < pairs; i++)
            to[i] = (low[2 * i] + low[2 * i + 1]) + (high[2 * i] + high[2 * i + 1]);
    else
        for (int64_t i = 0; i < pairs; i++)
            to[i] = low[2 * i] + low[2 * i + 1];
}

/* --- rows of a level ---------------------------------------------------------------- */

struct work {
    struct sim_poisson_system *system;
    struct poisson_grid grid, coarse;
    int64_t from, until; /* SOR: unused; else rows */
};

static void smooth(const struct poisson_grid *g, int64_t j, bool second)
{
    const int64_t o = j * g->pitch;
    smooth_row(second ? POISSON_SECOND : POISSON_FIRST, (second ? g->x : g->t) + o,
               (second ? g->t : g->x) + o, g->b + o, g->di + o, g->cx + o, g->cy + o,
               g->pitch, g->nx);
}

/* Coarse row j, where x is halved; as poisson_restrict, with whole vectors. */
static void restrict_row(const struct poisson_grid *g, const struct poisson_grid *coarse,
                         int64_t j)
{
    enum { STRIP = 1024 };
    real row[2][STRIP];
    const int64_t j0 = j * g->fy;
    const bool high = g->fy == 2 && j0 + 1 < g->ny;
    for (int64_t i0 = 0; i0 < g->nx; i0 += STRIP) {
        const int64_t n = g->nx - i0 < STRIP ? g->nx - i0 : STRIP;
        for (int k = 0; k <= (high ? 1 : 0); k++) {
            const int64_t o = (j0 + k) * g->pitch + i0;
            residual_row(row[k], g->x + o, g->b + o, g->cx + o, g->cy + o, g->pitch, n);
        }
        real *to = coarse->b + j * coarse->pitch + i0 / 2;
        pair_row(to, row[0], high ? row[1] : NULL, n / 2);
        if (n % 2)
            to[n / 2] = high ? row[0][n - 1] + row[1][n - 1] : row[0][n - 1];
    }
}

static void coarse_row(const struct poisson_grid *g, const struct poisson_grid *coarse,
                       int64_t j)
{
    if (g->fx == 2)
        restrict_row(g, coarse, j);
    else
        for (int64_t i = 0; i < coarse->nx; i++)
            coarse->b[j * coarse->pitch + i] = poisson_restrict(g, i, j);
}

/* Pairs of fine cells, both of one coarse cell each. */
WIDE static void prolong_pairs(real *restrict x, const real *restrict e,
                               const real *restrict cx, const real *restrict cy,
                               int64_t pitch, int64_t sy, int64_t pairs)
{
    for (int64_t i = 0; i < pairs; i++) {
        x[2 * i] = x[2 * i] + poisson_corrected(e, cx, cy, pitch, i, -1, sy);
        x[2 * i + 1] = x[2 * i + 1] + poisson_corrected(e, cx, cy, pitch, i, 1, sy);
    }
}

static void prolong_row(const struct poisson_grid *g, const struct poisson_grid *coarse,
                        int64_t j)
{
    real *x = g->x + j * g->pitch;
    int64_t i = 0;
    if (g->fx == 2) {
        const int64_t o = (g->fy == 2 ? j / 2 : j) * coarse->pitch;
        const int64_t sy = g->fy == 1 ? 0 : (j & 1 ? 1 : -1);
        prolong_pairs(x, coarse->x + o, coarse->cx + o, coarse->cy + o, coarse->pitch, sy,
                      g->nx / 2);
        i = g->nx / 2 * 2;
    }
    for (; i < g->nx; i++)
        x[i] = x[i] + poisson_prolong(g, coarse, i, j);
}

/* Sweeps of the coarsest level, serial: x from b. */
static void coarse_solve(const struct poisson_grid *g, struct sim_poisson_system *s,
                         int level)
{
    poisson_wrap_cpu(s, level, g->b);
    for (int64_t j = 0; j < g->ny; j++)
        pre_row(g->x + j * g->pitch, g->b + j * g->pitch, g->di + j * g->pitch,
                g->cx + j * g->pitch, g->cy + j * g->pitch, g->pitch, g->nx);
    for (int k = 0; k < SIM_POISSON_SWEEPS; k++) {
        poisson_wrap_cpu(s, level, g->x);
        for (int64_t j = 0; j < g->ny; j++)
            smooth(g, j, false);
        poisson_wrap_cpu(s, level, g->t);
        for (int64_t j = 0; j < g->ny; j++)
            smooth(g, j, true);
    }
}

static void sor_row(const struct sim_poisson_system *s, const struct poisson_grid *g,
                    int64_t j, int colour)
{
    real *x = (real *)s->solution;
    for (int64_t i = (j + colour) & 1; i < g->nx; i += 2) {
        const int64_t c = j * g->pitch + i;
        x[c] = poisson_smooth((real)s->omega, x, g->b, g->di, g->cx, g->cy, g->pitch, c);
    }
}

static void row_of_pass(struct sim_poisson_system *s, int pass,
                        const struct poisson_grid *g, const struct poisson_grid *coarse,
                        int64_t j)
{
    const int64_t o = j * g->pitch;
    real *p = (real *)s->p + o, *q = (real *)s->q + o, *x = (real *)s->solution + o;
    double *rows = s->rows + 3 * j;
    switch (pass) {
    case POISSON_PRE:
        pre_row(g->x + o, g->b + o, g->di + o, g->cx + o, g->cy + o, g->pitch, g->nx);
        break;
    case POISSON_RESTRICT:
        coarse_row(g, coarse, j);
        break;
    case POISSON_PROLONG:
        prolong_row(g, coarse, j);
        break;
    case POISSON_SMOOTH_A:
    case POISSON_SMOOTH_B:
        smooth(g, j, pass == POISSON_SMOOTH_B);
        break;
    case POISSON_DIRECTION:
        if (s->control->cycles > 0)
            direction_row(p, g->x + o, (real)s->control->beta, g->nx);
        else
            memcpy(p, g->x + o, (size_t)g->nx * sizeof *p);
        break;
    case POISSON_UPDATE:
        rows[0] = update_row(x, g->b + o, p, q, (real)s->control->alpha, g->nx);
        break;
    case POISSON_SWEEP:
        smooth_row(1, g->t + o, x, g->b + o, g->di + o, g->cx + o, g->cy + o, g->pitch,
                   g->nx);
        break;
    case POISSON_TAKE:
        memcpy(x, g->t + o, (size_t)g->nx * sizeof *x);
        break;
    case POISSON_RESIDUAL:
        residual_row(q, x, g->b + o, g->cx + o, g->cy + o, g->pitch, g->nx);
        rows[0] = largest_row(q, g->nx);
        break;
    default:
        sor_row(s, g, j, pass == POISSON_BLACK);
    }
}

/* Strip k: q = A p and their products; or the products of z with r and q. */
static void strip_of_pass(struct sim_poisson_system *s, int pass,
                          const struct poisson_grid *g, int64_t k)
{
    const int64_t j0 = k * POISSON_STRIP, o = j0 * g->pitch;
    const int64_t rows = g->ny - j0 < POISSON_STRIP ? g->ny - j0 : POISSON_STRIP;
    real *p = (real *)s->p + o, *q = (real *)s->q + o;
    double *sums = s->sums + 2 * k * poisson_tiles(g->nx);
    if (pass == POISSON_APPLY) {
        for (int64_t j = 0; j < rows; j++) {
            const int64_t c = j * g->pitch;
            apply_row(q + c, p + c, g->cx + o + c, g->cy + o + c, g->pitch, g->nx);
        }
        dot_strip(p, q, g->pitch, rows, g->nx, sums, 2);
        return;
    }
    dot_strip(g->x + o, g->b + o, g->pitch, rows, g->nx, sums, 2);
    if (s->control->cycles > 0)
        dot_strip(g->x + o, q, g->pitch, rows, g->nx, sums + 1, 2);
}

/* --- passes ------------------------------------------------------------------------- */

static int64_t strips(const struct poisson_grid *g)
{
    return (g->ny + POISSON_STRIP - 1) / POISSON_STRIP;
}

/* The sum of a tile's strips. */
static double tile_sum(const struct sim_poisson_system *s, const struct poisson_grid *g,
                       int64_t tile, int part)
{
    enum { STRIPS = POISSON_TILE / POISSON_STRIP };
    const int64_t across = poisson_tiles(g->nx), first = tile / across * STRIPS;
    double strip[STRIPS] = {0};
    for (int k = 0; k < STRIPS && first + k < strips(g); k++)
        strip[k] = s->sums[2 * ((first + k) * across + tile % across) + part];
    return flow_halve_sum(strip, STRIPS);
}

static double total(const struct sim_poisson_system *s, const struct poisson_grid *g,
                    int part)
{
    const int64_t tiles = poisson_tiles(g->nx) * poisson_tiles(g->ny);
    double lane[POISSON_LANES] = {0};
    for (int64_t first = 0; first < tiles; first += POISSON_LANES) {
        double chunk[POISSON_LANES] = {0};
        for (int t = 0; t < POISSON_LANES && first + t < tiles; t++)
            chunk[t] = tile_sum(s, g, first + t, part);
        const int t = (int)(first / POISSON_LANES % POISSON_LANES);
        lane[t] = lane[t] + flow_halve_sum(chunk, POISSON_LANES);
    }
    return flow_halve_sum(lane, POISSON_LANES);
}

static void after(struct sim_poisson_system *s, const struct poisson_grid *g, int pass)
{
    struct sim_poisson_control *k = s->control;
    if (pass == POISSON_DOTS)
        poisson_after_cycle(k, total(s, g, 0), k->cycles > 0 ? total(s, g, 1) : 0);
    else if (pass == POISSON_APPLY)
        poisson_after_apply(k, total(s, g, 0));
    else if (pass == POISSON_UPDATE)
        poisson_after_update(k, flow_rows_max(s->rows, g->ny, 0), s->iterations);
    else if (pass == POISSON_RESIDUAL)
        poisson_after_sweeps(k, flow_rows_max(s->rows, g->ny, 0), s->iterations);
}

enum sim_status poisson_pass_cpu(struct sim_poisson_system *s, int pass, int level)
{
    const struct poisson_grid g = poisson_grid_of(&s->level[level]);
    const struct poisson_grid coarse =
        poisson_grid_of(&s->level[level + 1 < s->level_count ? level + 1 : level]);
    if (s->control->done)
        return SIM_OK;
    if (pass == POISSON_COARSE) {
        coarse_solve(&g, s, level);
        return SIM_OK;
    }
    const bool by_strip = pass == POISSON_DOTS || pass == POISSON_APPLY;
    const int64_t rows = by_strip                   ? strips(&g)
                         : pass == POISSON_RESTRICT ? coarse.ny
                                                    : g.ny;
#pragma omp parallel for num_threads(s->device->threads) \
    schedule(static) if (g.nx * g.ny >= FLOW_PARALLEL)
    for (int64_t j = 0; j < rows; j++)
        if (by_strip)
            strip_of_pass(s, pass, &g, j);
        else
            row_of_pass(s, pass, &g, &coarse, j);
    after(s, &g, pass);
    return sim_device_launch(s->device, "flow: pressure");
}

enum sim_status poisson_wrap_cpu(struct sim_poisson_system *s, int level, void *array)
{
    const struct sim_poisson_level *l = &s->level[level];
    real *x = array;
    if (s->periodic_x)
        for (int64_t j = 0; j < l->ny; j++) {
            x[j * l->pitch - 1] = x[j * l->pitch + l->nx - 1];
            x[j * l->pitch + l->nx] = x[j * l->pitch];
        }
    if (s->periodic_y) { /* whole rows: corners too */
        const int64_t first = s->periodic_x ? -1 : 0;
        const size_t bytes = (size_t)(l->nx - 2 * first) * sizeof *x;
        memcpy(x - l->pitch + first, x + (l->ny - 1) * l->pitch + first, bytes);
        memcpy(x + l->ny * l->pitch + first, x + first, bytes);
    }
    return SIM_OK;
}

/* --- the solve ---------------------------------------------------------------------- */

static enum sim_status wrapped(struct sim_poisson_system *s, int level, void *array)
{
    return s->periodic_x || s->periodic_y ? poisson_wrap_cpu(s, level, array) : SIM_OK;
}

/* z = V(r): level[0].x from level[0].b */
static enum sim_status cycle(struct sim_poisson_system *s)
{
    const int last = s->level_count - 1;
    for (int l = 0; l < last; l++) {
        SIM_TRY(wrapped(s, l, s->level[l].b));
        SIM_TRY(poisson_pass_cpu(s, POISSON_PRE, l));
        SIM_TRY(wrapped(s, l, s->level[l].x));
        SIM_TRY(poisson_pass_cpu(s, POISSON_RESTRICT, l));
    }
    SIM_TRY(poisson_pass_cpu(s, POISSON_COARSE, last));
    for (int l = last - 1; l >= 0; l--) {
        SIM_TRY(wrapped(s, l + 1, s->level[l + 1].x));
        SIM_TRY(poisson_pass_cpu(s, POISSON_PROLONG, l));
        SIM_TRY(wrapped(s, l, s->level[l].x));
        SIM_TRY(poisson_pass_cpu(s, POISSON_SMOOTH_A, l));
        SIM_TRY(wrapped(s, l, s->level[l].t));
        SIM_TRY(poisson_pass_cpu(s, POISSON_SMOOTH_B, l));
    }
    return SIM_OK;
}

enum sim_status poisson_gradients_cpu(struct sim_poisson_system *s)
{
    for (int k = 0; k < s->iterations && !s->control->done; k++) {
        SIM_TRY(sim_check_interrupt());
        SIM_TRY(cycle(s));
        SIM_TRY(poisson_pass_cpu(s, POISSON_DOTS, 0));
        SIM_TRY(poisson_pass_cpu(s, POISSON_DIRECTION, 0));
        SIM_TRY(wrapped(s, 0, s->p));
        SIM_TRY(poisson_pass_cpu(s, POISSON_APPLY, 0));
        SIM_TRY(poisson_pass_cpu(s, POISSON_UPDATE, 0));
    }
    return wrapped(s, 0, s->solution);
}
