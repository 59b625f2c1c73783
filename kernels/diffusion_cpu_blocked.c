/* diffusion_cpu_blocked.c - several steps in one pass over memory, on the CPU.
 *
 * A tile is WIDTH columns and some rows, with `depth` more cells on each side (fewer
 * where a wall cuts them off). Its rows stream through rings of three rows, one ring a
 * time level: when row y of level 0 arrives, row y-1 of level 1 can be computed, then y-2
 * of level 2, and so on; the last level goes to memory. The rings fit the second cache,
 * so that memory sees one read and one write per `depth` steps. Walls are applied at each
 * level to the cells at the walls, as one pass a step would: the bits are the same.
 *
 * Cost: (1 + 2 depth/WIDTH)(1 + depth/rows) of the arithmetic. */
#include "diffusion_cpu.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH 1024

struct tile {
    int64_t x0, x1, y0, y1; /* cells whose result is kept */
    int64_t member;
    int depth;
    int64_t left;  /* column of a ring row's first cell */
    int64_t width; /* cells of a ring row */
    real *rings;   /* [level][row mod 3][species][width] */
};

static real *ring(const struct tile *t, int species, int level, int64_t y, int s)
{
    const int64_t slot = ((y % 3) + 3) % 3;
    return t->rings + ((level * 3 + slot) * species + s) * t->width;
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

/* Row r of level `level` + 1, from the ring of `level`. */
static void make_row(const struct diffusion_cpu_variant *variant, enum sim_reaction model,
                     const struct diffusion_args *a, const real *signal,
                     const struct tile *t, int level, int64_t r)
{
    const int species = reaction_species(model), margin = t->depth - 1 - level;
    const int64_t from = low(t->x0, margin, a->periodic_x),
                  to = high(t->x1, margin, a->periodic_x, a->nx);
    struct diffusion_row row;
    for (int s = 0; s < species; s++) {
        row.s[s] = ring(t, species, level, r - 1, s) + (from - t->left);
        row.c[s] = ring(t, species, level, r, s) + (from - t->left);
        row.n[s] = ring(t, species, level, r + 1, s) + (from - t->left);
        row.out[s] = margin ? ring(t, species, level + 1, r, s) + (from - t->left)
                            : a->next[s] + t->member + r * a->pitch + from;
    }
    diffusion_cpu_stretch(variant, model, a, signal + level * a->signal_stride, &row,
                          from, r, to - from);
}

static void do_tile(const struct diffusion_cpu_variant *variant, enum sim_reaction model,
                    const struct diffusion_args *a, const real *signal,
                    const struct tile *t)
{
    const int species = reaction_species(model);
    const int64_t first = low(t->y0, t->depth, a->periodic_y),
                  last = high(t->y1, t->depth, a->periodic_y, a->ny);
    for (int64_t y = first; y < t->y1 + t->depth; y++) {
        if (y < last)
            take_row(a, t, species, y);
        for (int level = 0; level < t->depth; level++) {
            const int64_t r = y - level - 1;
            const int margin = t->depth - 1 - level;
            if (r >= low(t->y0, margin, a->periodic_y) &&
                r < high(t->y1, margin, a->periodic_y, a->ny))
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
    const int64_t width = (WIDTH + 2 * depth + 47) / 32 * 32;
    const size_t reals = (size_t)depth * 3 * (size_t)system->species * (size_t)width;
    const int threads = system->device->threads;
    bool no_memory = false;
#pragma omp parallel num_threads(threads)
    {
        real *rings = aligned_alloc(64, (reals * sizeof(real) + 63) / 64 * 64);
        if (!rings) {
#pragma omp atomic write
            no_memory = true;
        }
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
                             .rings = rings};
            t.x1 = t.x0 + WIDTH < a.nx ? t.x0 + WIDTH : a.nx;
            t.y1 = t.y0 + rows < a.ny ? t.y0 + rows : a.ny;
            t.left = t.x0 - depth - 1; /* a cell to spare: neighbours of the outermost */
            do_tile(variant, system->reaction, &a, signal, &t);
        }
        free(rings);
    }
    system->device->stats.launches++;
    return no_memory ? sim_fail(SIM_HOST_MEMORY, "diffusion: no memory for blocked steps")
                     : SIM_OK;
}
