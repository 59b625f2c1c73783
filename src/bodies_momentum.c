/* bodies_momentum.c - the unit of momentum of mixed precision, in which kicks do not
 * change the total (kernels/nbody_momentum_math.h), and the grains of reversible systems
 * (nbody_push in kernels/nbody_math.h): their choice, and bodies in them.
 *
 * The unit is a power of two near 2^-44 of the largest momentum that a component of any
 * body is expected to have: what it has, and what it can gain at the speed at hand, a
 * heavy body no more than all others give. So 2^5 to 2^6 of that still fit below 2^50. A
 * body is held when a unit changes its velocity by at most 2^-24 of that speed, which is
 * single precision's rounding. With every model that is added the
 * unit is chosen anew.
 *
 * Grains are powers of two 2^-41 to 2^-42 of the extent and the speed at hand, so that
 * positions and velocities may grow some four thousandfold before they leave the 53 bits.
 * What was a multiple of a grain is one of a finer one, too. */
#include "bodies.h"
#include "../kernels/nbody_momentum_math.h"

#include <math.h>
#include <stdlib.h>

#define UNIT_BITS  44
#define SPEED_BITS 24
#define GRAIN_BITS 41
#define LEAST_UNIT 0x1p-900 /* below it nothing is held: products would underflow */

static void widen(struct sim_bodies_scale *s, const struct sim_body *body, bool charge)
{
    const double m = charge ? 1.0 : fabs(body->mass);
    s->mass += m;
    s->heaviest = fmax(s->heaviest, m);
    s->source += fabs(body->mass);
    s->strongest = fmax(s->strongest, fabs(body->mass));
    for (int k = 0; k < 3; k++) {
        s->extent = fmax(s->extent, fabs(body->position[k]));
        s->speed = fmax(s->speed, fabs(body->velocity[k]));
        s->momentum = fmax(s->momentum, m * fabs(body->velocity[k]));
    }
}

/* The speed at hand: what there is, or what the pull of all gives at their distance. */
static double speed_of(const struct sim_bodies *b)
{
    const struct sim_bodies_scale *s = &b->scale;
    const double extent = fmax(s->extent, b->desc.softening);
    const double pull =
        b->desc.G * s->source * (b->desc.coupling == SIM_CHARGE ? s->strongest : 1.0);
    return fmax(s->speed, sqrt(pull / (extent > 0 ? extent : 1)));
}

static void choose_grains(struct sim_bodies *b, double speed)
{
    const double reach = fmax(b->scale.extent, b->desc.softening);
    b->nbody.grain_x = ldexp(1.0, ilogb(reach > 0 ? reach : 1) - GRAIN_BITS);
    b->nbody.grain_v = ldexp(1.0, ilogb(speed > 0 ? speed : 1) - GRAIN_BITS);
}

static void choose_unit(struct sim_bodies *b, double speed)
{
    const struct sim_bodies_scale *s = &b->scale;
    double momentum = s->momentum + fmin(s->heaviest, s->mass - s->heaviest) * speed;
    if (momentum <= 0)
        momentum = s->mass * speed;
    const double unit = momentum > 0 ? ldexp(1.0, ilogb(momentum) - UNIT_BITS) : 0;
    if (!(unit >= LEAST_UNIT))
        return;
    b->nbody.momentum_unit = unit;
    b->nbody.momentum_least = ldexp(unit / speed, SPEED_BITS);
}

void sim_bodies_choose_units(struct sim_bodies *b, const struct sim_model *model)
{
    for (int64_t i = 0; i < model->n; i++)
        widen(&b->scale, &model->bodies[i], b->desc.coupling == SIM_CHARGE);
    const double speed = speed_of(b);
    if (b->desc.reversible)
        choose_grains(b, speed);
    if (b->desc.mixed)
        choose_unit(b, speed);
}

static void round_to(double x[3], double grain)
{
    for (int k = 0; k < 3 && grain > 0; k++)
        x[k] = rint(x[k] / grain) * grain;
}

void sim_bodies_round(const struct sim_bodies *b, double mass, double x[3], double v[3])
{
    const struct nbody_hold hold = nbody_hold_of(&b->nbody);
    const double m = nbody_inertia(&hold, mass);
    round_to(x, b->nbody.grain_x);
    if (!nbody_is_held(&hold, m))
        round_to(v, b->nbody.grain_v);
    for (int k = 0; k < 3 && nbody_is_held(&hold, m); k++)
        v[k] = nbody_of_units(&hold, m, nbody_units(&hold, m, v[k]));
}

enum sim_status sim_bodies_round_all(struct sim_bodies *b, int64_t n)
{
    enum { STRETCH = 65536 };
    const size_t body = 4 * sizeof(double);
    double *x = malloc(2 * STRETCH * body), *v = x + 4 * STRETCH;
    enum sim_status status =
        x ? SIM_OK : sim_fail(SIM_HOST_MEMORY, "out of host memory while adding bodies");
    for (int64_t from = 0; from < n && status == SIM_OK; from += STRETCH) {
        const int64_t count = n - from < STRETCH ? n - from : STRETCH;
        const size_t at = (size_t)from * body, bytes = (size_t)count * body;
        status = sim_buffer_read(&b->position, at, x, bytes);
        if (status == SIM_OK)
            status = sim_buffer_read(&b->velocity, at, v, bytes);
        for (int64_t i = 0; i < count && status == SIM_OK; i++)
            sim_bodies_round(b, x[4 * i + 3], &x[4 * i], &v[4 * i]);
        if (status == SIM_OK)
            status = sim_buffer_write(&b->position, at, x, bytes);
        if (status == SIM_OK)
            status = sim_buffer_write(&b->velocity, at, v, bytes);
    }
    free(x);
    return status;
}
