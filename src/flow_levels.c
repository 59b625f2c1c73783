/* flow_levels.c - the hierarchy of grids of the pressure equation (kernels/poisson.h):
 * coefficients of the finest from which faces are free, and of every next one from
 * the one before.
 *
 * A coarse face is what is open of the fine ones on it: the sum of their coefficients,
 * over the factor by which the distance between centres grew. So a wall one cell thick
 * stays closed on every level where no coarse cell holds both of its sides. */
#include "flow.h"

#include <math.h>
#include <stdlib.h>

/* Host values of a level, with a ring of ghosts: element (i, j) at (j+1)*(nx+3) + i+1. */
struct coefficients {
    int64_t nx, ny;
    double *cx, *cy;
};

static int64_t at(const struct coefficients *c, int64_t i, int64_t j)
{
    return (j + 1) * (c->nx + 3) + i + 1;
}

static enum sim_status coefficients_new(int64_t nx, int64_t ny, struct coefficients *out)
{
    const size_t n = (size_t)(nx + 3) * (size_t)(ny + 3);
    *out = (struct coefficients){nx, ny, calloc(n, sizeof(double)),
                                 calloc(n, sizeof(double))};
    if (!out->cx || !out->cy)
        return sim_fail(SIM_HOST_MEMORY, "flow: no memory for the pressure equation");
    return SIM_OK;
}

static void coefficients_free(struct coefficients *c)
{
    free(c->cx);
    free(c->cy);
    *c = (struct coefficients){0};
}

/* Faces of the finest level; where a pressure is prescribed at half a cell's distance. */
static void finest(const struct sim_flow *f, const uint8_t *flags, struct coefficients *c)
{
    const struct sim_flow_desc *d = &f->desc;
    const double across = d->dy / d->dx, up = d->dx / d->dy;
    for (int64_t j = 0; j <= d->ny; j++)
        for (int64_t i = 0; i <= d->nx; i++) {
            const int64_t e = at(c, i, j);
            const bool side_x = !f->system.periodic_x && (i == 0 || i == d->nx);
            const bool side_y = !f->system.periodic_y && (j == 0 || j == d->ny);
            if (j < d->ny && flags[e] & SIM_FLOW_U)
                c->cx[e] = across * (side_x ? 2 : 1);
            if (i < d->nx && flags[e] & SIM_FLOW_V)
                c->cy[e] = up * (side_y ? 2 : 1);
        }
}

/* Along the axis that couples more strongly, and along both when they are alike. */
static void choose_factors(const struct sim_poisson_level *l, double ratio, int *fx,
                           int *fy)
{
    *fx = l->nx > 1 && (ratio >= 0.5 || l->ny == 1) ? 2 : 1;
    *fy = l->ny > 1 && (ratio <= 2 || l->nx == 1) ? 2 : 1;
}

static void coarsen(const struct coefficients *fine, int fx, int fy,
                    struct coefficients *out)
{
    for (int64_t j = 0; j <= out->ny; j++)
        for (int64_t i = 0; i <= out->nx; i++) {
            const int64_t e = at(out, i, j);
            /* the last coarse cell may hold one fine one only: its far face is the last
             */
            const int64_t fi = i * fx < fine->nx ? i * fx : fine->nx,
                          fj = j * fy < fine->ny ? j * fy : fine->ny;
            for (int k = 0; k < fy && j < out->ny && fj + k < fine->ny; k++)
                out->cx[e] += fine->cx[at(fine, fi, fj + k)] / fx;
            for (int k = 0; k < fx && i < out->nx && fi + k < fine->nx; k++)
                out->cy[e] += fine->cy[at(fine, fi + k, fj)] / fy;
        }
}

/* 1 over the sum of the coefficients; ghosts as a periodic side wants them. */
static enum sim_status inverse(const struct sim_flow *f, const struct coefficients *c,
                               double **out)
{
    double *di = calloc((size_t)(c->nx + 3) * (size_t)(c->ny + 3), sizeof *di);
    *out = di;
    if (!di)
        return sim_fail(SIM_HOST_MEMORY, "flow: no memory for the pressure equation");
    for (int64_t j = 0; j < c->ny; j++)
        for (int64_t i = 0; i < c->nx; i++) {
            const double sum = (c->cx[at(c, i, j)] + c->cx[at(c, i + 1, j)]) +
                               (c->cy[at(c, i, j)] + c->cy[at(c, i, j + 1)]);
            di[at(c, i, j)] = sum > 0 ? 1 / sum : 0;
        }
    for (int64_t j = 0; j < c->ny && f->system.periodic_x; j++) {
        di[at(c, -1, j)] = di[at(c, c->nx - 1, j)];
        di[at(c, c->nx, j)] = di[at(c, 0, j)];
    }
    for (int64_t i = -1; i <= c->nx && f->system.periodic_y; i++) {
        di[at(c, i, -1)] = di[at(c, i, c->ny - 1)];
        di[at(c, i, c->ny)] = di[at(c, i, 0)];
    }
    return SIM_OK;
}

static enum sim_status level_arrays(struct sim_flow *f, int l, int64_t nx, int64_t ny)
{
    struct sim_poisson_level *level = &f->system.poisson.level[l];
    struct sim_buffer *own = f->level[l];
    void **data[6] = {&level->cx, &level->cy, &level->di,
                      &level->b,  &level->x,  &level->t};
    level->nx = nx, level->ny = ny;
    level->pitch = sim_flow_pitch(nx);
    for (int k = 0; k < 6; k++)
        if (!own[k].data)
            SIM_TRY(sim_flow_array(f, nx, ny, "a level of the pressure equation", &own[k],
                                   data[k]));
    return SIM_OK;
}

static enum sim_status upload_level(struct sim_flow *f, int l,
                                    const struct coefficients *c)
{
    double *di = NULL;
    enum sim_status status = level_arrays(f, l, c->nx, c->ny);
    for (int k = 3; k < 6 && status == SIM_OK; k++) /* ghosts of sides there were */
        status = sim_buffer_zero(&f->level[l][k]);
    if (status == SIM_OK)
        status = sim_flow_upload(f, c->nx, c->ny, c->cx, &f->level[l][0]);
    if (status == SIM_OK)
        status = sim_flow_upload(f, c->nx, c->ny, c->cy, &f->level[l][1]);
    if (status == SIM_OK)
        status = inverse(f, c, &di);
    if (status == SIM_OK)
        status = sim_flow_upload(f, c->nx, c->ny, di, &f->level[l][2]);
    free(di);
    return status;
}

static enum sim_status descend(struct sim_flow *f, struct coefficients *c)
{
    struct sim_poisson_system *s = &f->system.poisson;
    double ratio = (f->desc.dy / f->desc.dx) * (f->desc.dy / f->desc.dx);
    for (s->level_count = 1;; s->level_count++) {
        struct sim_poisson_level *level = &s->level[s->level_count - 1];
        struct coefficients next;
        int *fx = &level->fx, *fy = &level->fy;
        *fx = *fy = 1;
        SIM_TRY(upload_level(f, s->level_count - 1, c));
        if ((level->nx <= SIM_POISSON_COARSE && level->ny <= SIM_POISSON_COARSE) ||
            s->level_count == SIM_POISSON_LEVELS)
            return SIM_OK;
        choose_factors(level, ratio, fx, fy);
        ratio = ratio * *fy * *fy / (*fx * *fx);
        enum sim_status status =
            coefficients_new((c->nx + *fx - 1) / *fx, (c->ny + *fy - 1) / *fy, &next);
        if (status == SIM_OK)
            coarsen(c, *fx, *fy, &next);
        coefficients_free(c);
        *c = next;
        SIM_TRY(status);
    }
}

enum sim_status sim_flow_build_levels(struct sim_flow *f, const uint8_t *flags)
{
    struct coefficients c;
    enum sim_status status = coefficients_new(f->desc.nx, f->desc.ny, &c);
    f->system.poisson.together = 0; /* another kernel may serve other sides */
    if (status == SIM_OK) {
        finest(f, flags, &c);
        status = descend(f, &c);
    }
    coefficients_free(&c);
    return status;
}
