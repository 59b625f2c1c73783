/* diffusion_cpu_blocked.c - several steps in one pass over memory, on the CPU.
 *
 * A tile is WIDTH columns and some rows, with `depth` more cells on each side (fewer
 * where a wall cuts them off). Its rows stream through rings of four rows, one ring a
 * time level: when rows y and y+1 of level 0 arrive, rows y-1 and y of level 1 can be
 * computed, then y-2 and y-1 of level 2, and so on; the last level goes to memory. Of its
 * three source rows the second of a pair finds two in the first cache. The rings fit the
 * second cache, so that memory sees one read and one write per `depth` steps. Walls are
 * applied at each level to the cells at the walls, as one pass a step would: the bits are
 * the same.
 *
 * Cost: (1 + 2 depth/WIDTH)(1 + depth/rows) of the arithmetic. */
#include "diffusion_cpu.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH 1024
#define ALIGN (64 / (int64_t)sizeof(real)) /* a line: where vectors start */

struct tile {
    int64_t x0, x1, y0, y1; /* cells whose result is kept */
    int64_t member;
    int depth;
    int64_t left;  /* column of a ring row's first cell; x0 is some lines to the right */
    int64_t width; /* cells of a ring row */
    real *rings;   /* [level][row mod 4][species][width] */
    real *held;    /* [species][WIDTH], rows of the last level on their way past the
                      caches; NULL: they go straight to memory */
};

static real *ring(const struct tile *t, int species, int level, int64_t y, int s)
{
    return t->rings + ((level * 4 + (y & 3)) * species + s) * t->width;
}

/* Range of level `level` that is needed, along one axis, kept cells [from, to). */
static int64_t low(int64_t from, int margin, bool periodic)
{
    return periodic || from - margin > 0 ? from - margin : 0;
}

static int64_t high(int64_t to, int margin, bool periodic, int64_t n)
{
    return periodic || to + margin < n ? to + margin : n;
}

/* Row y of level 0, from memory. */
static void take_row(const struct diffusion_args *a, const struct tile *t, int species,
                     int64_t y)
{
    const int64_t from = low(t->x0, t->depth, a->periodic_x),
                  to = high(t->x1, t->depth, a->periodic_x, a->nx);
    const int64_t row = ((y % a->ny) + a->ny) % a->ny;
    for (int s = 0; s < species; s++) {
        const real *at = a->now[s] + t->member + row * a->pitch;
        real *out = ring(t, species, 0, y, s) - t->left;
        for (int64_t i = from; i < to;) {
            const int64_t column = ((i % a->nx) + a->nx) % a->nx;
            int64_t count = a->nx - column < to - i ? a->nx - column : to - i;
            memcpy(out + i, at + column, (size_t)count * sizeof(real));
            i += count;
        }
    }
}

/* Row r of the last level from where it was held, to memory; a row that the next turn
 * takes comes along. */
static void put_row(const struct diffusion_args *a, const struct tile *t, int species,
                    int64_t r)
{
    int64_t next = r + t->depth + 2;
    next = next < a->ny ? next : a->periodic_y ? next % a->ny : a->ny - 1;
    for (int s = 0; s < species; s++)
        diffusion_cpu_stream_out(a->next[s] + t->member + r * a->pitch + t->x0,
                                 t->held + s * WIDTH, t->x1 - t->x0,
                                 a->now[s] + t->member + next * a->pitch + t->x0);
}

/* Columns [from, to) of a row that is not at a south or north wall; `first` is where the
 * row's pointers are. Ends are done with the rest and then again as they should be. */
static void inner_columns(const struct diffusion_cpu_variant *variant,
                          enum sim_reaction model, const struct diffusion_args *a,
                          const real *signal, const struct diffusion_row *row,
                          int64_t first, int64_t from, int64_t to, int64_t j,
                          int64_t count)
{
    if (j < 0 || j >= a->ny)
        j = ((j % a->ny) + a->ny) % a->ny;
    variant->row(model, a, signal, row, 0, count);
    if (!a->periodic_x && from == 0)
        variant->end(model, a, signal, row, -first, 0, j);
    if (!a->periodic_x && to == a->nx)
        variant->end(model, a, signal, row, a->nx - 1 - first, a->nx - 1, j);
}

/* Row r of level `level` + 1, from the ring of `level`. Within the rings whole lines are
 * done: what stands outside the columns that are needed is never looked at. */
static void make_row(const struct diffusion_cpu_variant *variant, enum sim_reaction model,
                     const struct diffusion_args *a, const real *signal,
                     const struct tile *t, int level, int64_t r)
{
    const int species = reaction_species(model), margin = t->depth - 1 - level;
    const int64_t from = low(t->x0, margin, a->periodic_x),
                  to = high(t->x1, margin, a->periodic_x, a->nx);
    const bool wall = !a->periodic_y && (r == 0 || r == a->ny - 1);
    const int64_t first = wall ? from - t->left : (from - t->left) / ALIGN * ALIGN;
    struct diffusion_row row;
    for (int s = 0; s < species; s++) {
        row.s[s] = ring(t, species, level, r - 1, s) + first;
        row.c[s] = ring(t, species, level, r, s) + first;
        row.n[s] = ring(t, species, level, r + 1, s) + first;
        row.out[s] = margin    ? ring(t, species, level + 1, r, s) + first
                     : t->held ? t->held + s * WIDTH
                               : a->next[s] + t->member + r * a->pitch + from;
    }
    int64_t count = to - t->left - first;
    if (margin)
        count = (count + ALIGN - 1) / ALIGN * ALIGN;
    signal += level * a->signal_stride;
    if (wall)
        diffusion_cpu_stretch(variant, model, a, signal, &row, from, r, to - from);
    else
        inner_columns(variant, model, a, signal, &row, t->left + first, from, to, r,
                      count);
    if (!margin && t->held)
        put_row(a, t, species, r);
}

static void do_tile(const struct diffusion_cpu_variant *variant, enum sim_reaction model,
                    const struct diffusion_args *a, const real *signal,
                    const struct tile *t)
{
    const int species = reaction_species(model);
    const int64_t first = low(t->y0, t->depth, a->periodic_y),
                  last = high(t->y1, t->depth, a->periodic_y, a->ny);
    for (int64_t y = first; y < t->y1 + t->depth; y += 2) {
        for (int64_t row = y; row < y + 2 && row < last; row++)
            take_row(a, t, species, row);
        for (int level = 0; level < t->depth; level++) {
            const int margin = t->depth - 1 - level;
            const int64_t from = low(t->y0, margin, a->periodic_y),
                          to = high(t->y1, margin, a->periodic_y, a->ny);
            for (int64_t r = y - level - 1; r <= y - level; r++)
                if (r >= from && r < to)
                    make_row(variant, model, a, signal, t, level, r);
        }
    }
}

/* Rows of a tile: enough tiles for all threads, and margins that stay small. */
static int64_t tile_rows(const struct sim_diffusion_system *system, int64_t strips)
{
    const int64_t wanted = 4 * (int64_t)system->device->threads;
    int64_t chunks = (wanted + strips * system->count - 1) / (strips * system->count);
    int64_t rows =
        system->tuning.rows ? system->tuning.rows : (system->ny + chunks - 1) / chunks;
    if (!system->tuning.rows && rows < 64)
        rows = 64;
    return rows < system->ny ? rows : system->ny;
}

enum sim_status diffusion_cpu_blocked(const struct sim_diffusion_system *system,
                                      const struct diffusion_cpu_variant *variant,
                                      int depth, const real *signal)
{
    const struct diffusion_args a = diffusion_args_of(system);
    const int64_t strips = (a.nx + WIDTH - 1) / WIDTH, rows = tile_rows(system, strips);
    const int64_t chunks = (a.ny + rows - 1) / rows,
                  tiles = strips * chunks * system->count;
    /* a line and more to spare on each side: neighbours of the outermost */
    const int64_t side = (depth + 2 * ALIGN) / ALIGN * ALIGN, width = WIDTH + 2 * side;
    const size_t ringed = (size_t)depth * 4 * (size_t)system->species * (size_t)width;
    const size_t reals = ringed + (size_t)system->species * WIDTH;
    const bool stream = diffusion_cpu_streams(system);
    const int threads = system->device->threads;
    bool no_memory = false;
#pragma omp parallel num_threads(threads)
    {
        real *rings = aligned_alloc(64, (reals * sizeof(real) + 63) / 64 * 64);
        if (!rings) {
#pragma omp atomic write
            no_memory = true;
        } else
            memset(rings, 0, reals * sizeof(real)); /* no chance numbers anywhere */
#pragma omp for schedule(dynamic)
        for (int64_t k = 0; k < tiles; k++) {
            if (!rings)
                continue;
            const int64_t strip = k % strips, chunk = k / strips % chunks;
            struct tile t = {.x0 = strip * WIDTH,
                             .y0 = chunk * rows,
                             .member = k / (strips * chunks) * a.member,
                             .depth = depth,
                             .width = width,
                             .rings = rings,
                             .held = stream ? rings + ringed : NULL};
            t.x1 = t.x0 + WIDTH < a.nx ? t.x0 + WIDTH : a.nx;
            t.y1 = t.y0 + rows < a.ny ? t.y0 + rows : a.ny;
            t.left = t.x0 - side;
            do_tile(variant, system->reaction, &a, signal, &t);
        }
        free(rings);
    }
    SIM_TRY(sim_device_launch(system->device, "diffusion: blocked steps"));
    return no_memory ? sim_fail(SIM_HOST_MEMORY, "diffusion: no memory for blocked steps")
                     : SIM_OK;
}
