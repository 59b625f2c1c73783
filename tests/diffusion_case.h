/* diffusion_case.h - what the tests of diffusion share: devices, walls, random systems,
 * and states read whole. */
#ifndef DIFFUSION_CASE_H
#define DIFFUSION_CASE_H

#include "../src/diffusion.h"
#include "check.h"

#define DEVICES_MAX 2

/* The CPU first, then a GPU if there is one. One thread is right for thousands of short
 * steps: two would spend a busy machine's time on waiting for each other. */
static inline int open_devices(struct sim_device **devices, int threads)
{
    int count = 0;
    if (CHECK_OK(sim_device_open("cpu", threads, &devices[count])))
        devices[count++]->poison = true;
    if (sim_device_open("cuda", 0, &devices[count]) == SIM_OK)
        devices[count++]->poison = true;
    else
        check_skip("no GPU: the CUDA half");
    return count;
}

/* Slow builds and other checkers ask for smaller sizes. */
static inline bool small_only(void)
{
    return getenv("SIMLUA_SMALL") != NULL;
}

/* n by n cells of 1 by 1, D = 1. */
static inline struct sim_diffusion_desc square(int64_t n, double dt, bool is_double)
{
    return (struct sim_diffusion_desc){.nx = n,
                                       .ny = n,
                                       .dx = 1,
                                       .dy = 1,
                                       .dt = dt,
                                       .diffusivity = {{1, 1}},
                                       .is_double = is_double};
}

static inline void set_side(struct sim_diffusion *d, int side, enum sim_wall_kind kind,
                            bool at_node, double value)
{
    const struct sim_wall_desc wall = {.side = (enum sim_side)side,
                                       .kind = kind,
                                       .at_node = at_node,
                                       .species = -1,
                                       .value = value,
                                       .h = 0.3};
    CHECK_OK(sim_diffusion_set_wall(d, &wall));
}

static inline void set_all(struct sim_diffusion *d, enum sim_wall_kind kind, bool at_node)
{
    for (int side = 0; side < SIM_SIDES; side++)
        set_side(d, side, kind, at_node, 0);
}

/* Uniform in [0, 1), by index. */
static inline double noise(uint64_t seed, uint64_t index)
{
    uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15u + index * 0xbf58476d1ce4e5b9u;
    x ^= x >> 30, x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27, x *= 0x94d049bb133111ebu;
    x ^= x >> 31;
    return (double)(x >> 11) * 0x1p-53;
}

static inline size_t cells_of(const struct sim_diffusion *d)
{
    return (size_t)d->desc.nx * (size_t)d->desc.ny;
}

static inline struct sim_buffer *now_buffer(struct sim_diffusion *d, int s)
{
    return &d->arrays[s][d->system.now[s] == d->arrays[s][0].data ? 0 : 1];
}

/* Both directions between packed doubles and a member's array. */
static inline void put(struct sim_diffusion *d, int s, int64_t member, const double *from)
{
    const size_t pitch = (size_t)d->system.pitch, size = d->ops->real_bytes;
    char *row = calloc(pitch, size);
    for (int64_t j = 0; j < d->desc.ny; j++) {
        for (int64_t i = 0; i < d->desc.nx; i++) {
            const double value = from[j * d->desc.nx + i];
            if (size == 8)
                ((double *)(void *)row)[i] = value;
            else
                ((float *)(void *)row)[i] = (float)value;
        }
        CHECK_OK(sim_buffer_write(now_buffer(d, s),
                                  (size_t)(member * d->desc.ny + j) * pitch * size, row,
                                  (size_t)d->desc.nx * size));
    }
    free(row);
}

static inline double *get(struct sim_diffusion *d, int s, int64_t member)
{
    const size_t pitch = (size_t)d->system.pitch, size = d->ops->real_bytes;
    const size_t bytes = pitch * (size_t)d->desc.ny * size;
    char *all = malloc(bytes);
    double *out = malloc(cells_of(d) * sizeof *out);
    CHECK_OK(sim_buffer_read(now_buffer(d, s), (size_t)member * bytes, all, bytes));
    for (int64_t j = 0; j < d->desc.ny; j++)
        for (int64_t i = 0; i < d->desc.nx; i++) {
            const size_t at = (size_t)j * pitch + (size_t)i;
            out[j * d->desc.nx + i] = size == 8 ? ((double *)(void *)all)[at]
                                                : (double)((float *)(void *)all)[at];
        }
    free(all);
    return out;
}

static inline void put_noise(struct sim_diffusion *d, uint64_t seed, double low,
                             double high)
{
    double *values = malloc(cells_of(d) * sizeof *values);
    for (int s = 0; s < d->system.species; s++)
        for (int64_t member = 0; member < d->system.count; member++) {
            for (size_t c = 0; c < cells_of(d); c++)
                values[c] =
                    low + (high - low) *
                              noise(seed + 17 * (uint64_t)s + 101 * (uint64_t)member, c);
            put(d, s, member, values);
        }
    free(values);
}

/* Of the first member's u. NaN where there is one. */
static inline double largest_difference(struct sim_diffusion *a, struct sim_diffusion *b)
{
    double *x = get(a, 0, 0), *y = get(b, 0, 0), worst = 0;
    for (size_t c = 0; c < cells_of(a); c++)
        worst = fabs(x[c] - y[c]) <= worst ? worst : fabs(x[c] - y[c]);
    free(x);
    free(y);
    return worst;
}

/* Of the first member's u. */
static inline double sum_of(struct sim_diffusion *d)
{
    double *u = get(d, 0, 0), sum = 0;
    for (size_t c = 0; c < cells_of(d); c++)
        sum += u[c];
    free(u);
    return sum;
}

/* D of every cell, from a list. */
static inline void put_diffusivity(struct sim_diffusion *d, int s, const double *D)
{
    const struct sim_field_desc of = {.nx = d->desc.nx,
                                      .ny = d->desc.ny,
                                      .dx = d->desc.dx,
                                      .dy = d->desc.dy,
                                      .is_double = true};
    struct sim_field field;
    if (!CHECK_OK(sim_field_new(d->system.device, &of, &field)))
        return;
    CHECK_OK(sim_field_write(&field, D));
    CHECK_OK(sim_diffusion_set_diffusivity(d, s, &field));
    sim_field_free(&field);
}

/* The number of cells whose bits differ; all of them, if the shapes do. */
static inline int64_t different(struct sim_diffusion *a, struct sim_diffusion *b)
{
    int64_t count = 0;
    for (int s = 0; s < a->system.species; s++)
        for (int64_t member = 0; member < a->system.count; member++) {
            double *x = get(a, s, member), *y = get(b, s, member);
            for (size_t c = 0; c < cells_of(a); c++)
                count += memcmp(&x[c], &y[c], sizeof *x) != 0;
            free(x);
            free(y);
        }
    return count;
}

#endif
