/* nbody_system.h - a system of bodies for the tests of gravity's operations: host values
 * in double, device arrays in the precision under test. Everything aborts on failure,
 * since nothing after it would mean anything. */
#ifndef NBODY_SYSTEM_H
#define NBODY_SYSTEM_H

#include "check.h"
#include "../kernels/nbody.h"

struct body4 {
    double x, y, z, w;
};

struct system {
    const struct sim_nbody_ops *ops;
    struct sim_nbody nbody;
    struct sim_buffer position, velocity, acceleration, group;
};

static const struct sim_stage kdk[] = {
    {SIM_KICK, 0.5}, {SIM_DRIFT, 1.0}, {SIM_FORCE, 0.0}, {SIM_KICK, 0.5}};
static const struct sim_stage force_only[] = {{SIM_FORCE, 0.0}};

static inline void must(enum sim_status status)
{
    if (status != SIM_OK) {
        printf("FAIL cannot go on: %s\n", sim_error_text());
        exit(1);
    }
}

static inline void *room(size_t count, size_t size)
{
    void *data = calloc(count, size);
    if (!data)
        abort();
    return data;
}

/* splitmix64: uniform in [0, 1) */
static inline double uniform(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* Round to the precision under test, so that a reference starts from the same numbers. */
static inline void round_bodies(struct body4 *b, int64_t n, bool is_double)
{
    for (int64_t i = 0; i < n && !is_double; i++)
        b[i] = (struct body4){(float)b[i].x, (float)b[i].y, (float)b[i].z, (float)b[i].w};
}

static inline void write_bodies(const struct system *s, struct sim_buffer *to,
                                const struct body4 *from)
{
    const size_t n = (size_t)s->nbody.n;
    if (s->ops->real_bytes == 8) {
        must(sim_buffer_write(to, 0, from, n * sizeof *from));
        return;
    }
    float *narrow = room(4 * n, sizeof *narrow);
    for (size_t k = 0; k < 4 * n; k++)
        narrow[k] = (float)((const double *)from)[k];
    must(sim_buffer_write(to, 0, narrow, 4 * n * sizeof *narrow));
    free(narrow);
}

/* The caller frees. */
static inline struct body4 *read_bodies(const struct system *s,
                                        const struct sim_buffer *from)
{
    const size_t n = (size_t)s->nbody.n;
    struct body4 *out = room(n, sizeof *out);
    if (s->ops->real_bytes == 8) {
        must(sim_buffer_read(from, 0, out, n * sizeof *out));
        return out;
    }
    float *narrow = room(4 * n, sizeof *narrow);
    must(sim_buffer_read(from, 0, narrow, 4 * n * sizeof *narrow));
    for (size_t k = 0; k < 4 * n; k++)
        ((double *)out)[k] = (double)narrow[k];
    free(narrow);
    return out;
}

/* Groups are i mod 3. The acceleration begins as NaN. */
static inline struct system make_system(struct sim_device *device, bool is_double,
                                        int64_t n, const struct body4 *x,
                                        const struct body4 *v)
{
    struct system s = {.ops = sim_nbody_ops(device->kind, is_double)};
    const size_t bytes = (size_t)n * 4 * s.ops->real_bytes;
    uint8_t *group = room((size_t)n, 1);
    struct body4 *nan = room((size_t)n, sizeof *nan);
    s.nbody =
        (struct sim_nbody){.device = device, .n = n, .G = 1, .eps = 0.05, .dt = 0.01};
    must(sim_buffer_new(device, bytes, "position", &s.position));
    must(sim_buffer_new(device, bytes, "velocity", &s.velocity));
    must(sim_buffer_new(device, bytes, "acceleration", &s.acceleration));
    must(sim_buffer_new(device, (size_t)n, "group", &s.group));
    for (int64_t i = 0; i < n; i++) {
        group[i] = (uint8_t)(i % 3);
        nan[i] = (struct body4){NAN, NAN, NAN, NAN};
    }
    write_bodies(&s, &s.position, x);
    write_bodies(&s, &s.velocity, v);
    write_bodies(&s, &s.acceleration, nan);
    must(sim_buffer_write(&s.group, 0, group, (size_t)n));
    s.nbody.position = s.position.data;
    s.nbody.velocity = s.velocity.data;
    s.nbody.acceleration = s.acceleration.data;
    s.nbody.group = s.group.data;
    free(group);
    free(nan);
    return s;
}

static inline void free_system(struct system *s)
{
    sim_buffer_free(&s->position);
    sim_buffer_free(&s->velocity);
    sim_buffer_free(&s->acceleration);
    sim_buffer_free(&s->group);
    sim_buffer_free(&s->nbody.scratch);
}

static inline void find_force(struct system *s)
{
    must(s->ops->advance(&s->nbody, force_only, 1, 1));
}

static inline void take(struct system *s, int64_t steps)
{
    must(s->ops->advance(&s->nbody, kdk, 4, steps));
}

/* Call `test` on every device present, in both precisions. */
static inline void on_every_device(void (*test)(struct sim_device *, bool))
{
    static const char *const specs[] = {"cpu", "cuda"};
    for (int k = 0; k < 2; k++) {
        struct sim_device *device;
        if (sim_device_open(specs[k], 0, &device) != SIM_OK) {
            check_skip(sim_error_text());
            continue;
        }
        test(device, false);
        test(device, true);
        sim_device_close(device);
    }
}

#endif
