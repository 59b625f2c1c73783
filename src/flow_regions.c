/* flow_regions.c - regions of fluid that free faces connect. One that has no prescribed
 * pressure has a null vector of its own (its mean is taken out, kernels/flow.h), one with
 * an outflow a balance of its own, and one with an inflow alone makes no sense. */
#include "flow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct region {
    int64_t cells;
    bool opening, outflow; /* a prescribed pressure; a convective outflow */
    double entering, net;  /* of prescribed flows */
    int balanced;          /* its number among those with an outflow to balance; -1 */
};

struct regions {
    int64_t *label; /* [ny][nx]; -1: solid */
    struct region *of;
    int64_t count, room;
};

/* All cells that can be reached from `seed` get its label. */
static void fill_region(const struct sim_flow *f, const uint8_t *flags, int64_t seed,
                        int64_t label, int64_t *stack, struct regions *r)
{
    const int64_t nx = f->desc.nx, ny = f->desc.ny;
    int64_t top = 0;
    r->label[seed] = label;
    stack[top++] = seed;
    while (top) {
        const int64_t c = stack[--top], i = c % nx, j = c / nx;
        const int64_t e = sim_flow_at(f, i, j);
        const bool way[4] = {flags[e] & SIM_FLOW_U, flags[e + 1] & SIM_FLOW_U,
                             flags[e] & SIM_FLOW_V, flags[e + nx + 3] & SIM_FLOW_V};
        const int64_t beside[4][2] = {{i - 1, j}, {i + 1, j}, {i, j - 1}, {i, j + 1}};
        r->of[label].cells++;
        for (int k = 0; k < 4; k++) {
            int64_t x = beside[k][0], y = beside[k][1];
            if (!way[k])
                continue;
            if (f->system.periodic_x)
                x = (x + nx) % nx;
            if (f->system.periodic_y)
                y = (y + ny) % ny;
            if (x < 0 || x >= nx || y < 0 || y >= ny || r->label[y * nx + x] >= 0)
                continue;
            r->label[y * nx + x] = label;
            stack[top++] = y * nx + x;
        }
    }
}

static enum sim_status more_regions(struct regions *r)
{
    if (r->count < r->room)
        return SIM_OK;
    r->room = 2 * r->room + 16;
    struct region *more = realloc(r->of, (size_t)r->room * sizeof *more);
    if (!more)
        return sim_fail(SIM_HOST_MEMORY, "flow: no memory for the regions");
    r->of = more;
    return SIM_OK;
}

static enum sim_status label_regions(const struct sim_flow *f, const uint8_t *flags,
                                     struct regions *r)
{
    const int64_t cells = f->desc.nx * f->desc.ny;
    int64_t *stack = malloc((size_t)cells * sizeof *stack);
    r->label = malloc((size_t)cells * sizeof *r->label);
    enum sim_status status = SIM_OK;
    if (!stack || !r->label)
        status = sim_fail(SIM_HOST_MEMORY, "flow: no memory for the regions");
    for (int64_t c = 0; c < cells && status == SIM_OK; c++)
        r->label[c] = f->solid[c] ? -1 : -2;
    for (int64_t c = 0; c < cells && status == SIM_OK; c++) {
        if (r->label[c] != -2)
            continue;
        status = more_regions(r);
        if (status != SIM_OK)
            break;
        r->of[r->count] = (struct region){.balanced = -1};
        fill_region(f, flags, c, r->count++, stack, r);
    }
    free(stack);
    return status;
}

static int64_t inner_cell(const struct sim_flow *f, int side, int64_t k)
{
    const int64_t nx = f->desc.nx, ny = f->desc.ny;
    return side == SIM_FLOW_WEST    ? k * nx
           : side == SIM_FLOW_EAST  ? k * nx + nx - 1
           : side == SIM_FLOW_SOUTH ? k
                                    : (ny - 1) * nx + k;
}

/* What the sides do to the regions beside them. */
static void open_regions(const struct sim_flow *f, struct regions *r)
{
    for (int side = 0; side < 4; side++)
        for (int64_t k = 0; k < sim_flow_side_length(f, side); k++) {
            const struct sim_flow_edge *e = &f->edge[sim_flow_side_start(f, side) + k];
            const int64_t label = r->label[inner_cell(f, side, k)];
            const double width = side < 2 ? f->desc.dy : f->desc.dx;
            const double inward =
                side == SIM_FLOW_WEST || side == SIM_FLOW_SOUTH ? 1 : -1;
            if (label < 0)
                continue;
            struct region *of = &r->of[label];
            of->opening |= e->kind == SIM_FLOW_PRESSURE;
            of->outflow |= e->kind == SIM_FLOW_OUTFLOW;
            if (e->kind == SIM_FLOW_INFLOW) {
                of->entering += fabs(e->normal) * width;
                of->net += inward * e->normal * width;
            }
        }
}

static enum sim_status number_regions(struct sim_flow *f, struct regions *r)
{
    int balanced = 0;
    for (int64_t k = 0; k < r->count; k++) {
        struct region *of = &r->of[k];
        if (!of->opening && !of->outflow && fabs(of->net) > 1e-6 * of->entering)
            return sim_fail(
                SIM_BAD_ARGUMENT,
                "flow: there is an inflow (net %g) and no way out for it: set "
                "an \"outflow\", \"zero-stress\" or \"pressure\" side, or an "
                "inflow of the opposite sign",
                of->net);
        if (of->outflow && !of->opening)
            of->balanced = balanced++;
    }
    if (balanced > SIM_FLOW_REGIONS)
        return sim_fail(SIM_BAD_ARGUMENT, "flow: more than %d regions with an outflow",
                        SIM_FLOW_REGIONS);
    f->system.balanced_regions = balanced;
    for (int side = 0; side < 4; side++)
        for (int64_t k = 0; k < sim_flow_side_length(f, side); k++) {
            const int64_t label = r->label[inner_cell(f, side, k)];
            f->edge[sim_flow_side_start(f, side) + k].region =
                label < 0 ? -1 : r->of[label].balanced;
        }
    return SIM_OK;
}

/* Tables of closed regions, host side: see struct sim_flow_system. */
struct closed {
    int64_t *cell, *first, *chunk;
    int64_t regions, cells, chunks;
};

static void list_closed(const struct sim_flow *f, const struct regions *r,
                        struct closed *c)
{
    int64_t *number = c->chunk; /* borrowed: the closed number of a region */
    const int64_t nx = f->desc.nx, cells = nx * f->desc.ny;
    for (int64_t k = 0; k < r->count; k++) {
        number[k] = r->of[k].opening ? -1 : c->regions;
        if (!r->of[k].opening) {
            c->first[c->regions++] = c->cells;
            c->cells += r->of[k].cells;
        }
    }
    c->first[c->regions] = c->cells;
    for (int64_t e = 0; e < cells; e++)
        if (r->label[e] >= 0 && number[r->label[e]] >= 0)
            c->cell[c->first[number[r->label[e]]]++] = e / nx * f->system.pitch + e % nx;
    for (int64_t k = c->regions; k > 0; k--) /* they have moved to their ends */
        c->first[k] = c->first[k - 1];
    c->first[0] = 0;
    for (int64_t k = 0; k < c->regions; k++) {
        c->chunk[k] = c->chunks;
        c->chunks +=
            (c->first[k + 1] - c->first[k] + SIM_FLOW_CHUNK - 1) / SIM_FLOW_CHUNK;
    }
    c->chunk[c->regions] = c->chunks;
}

static enum sim_status put(struct sim_flow *f, const void *from, size_t bytes,
                           struct sim_buffer *to, const int64_t **data)
{
    sim_buffer_free(to);
    SIM_TRY(sim_buffer_new(f->system.device, bytes, "the regions", to));
    *data = to->data;
    return sim_buffer_write(to, 0, from, bytes);
}

static enum sim_status upload_closed(struct sim_flow *f, const struct closed *c)
{
    struct sim_flow_system *s = &f->system;
    const int64_t unused = 0;
    const size_t item = sizeof unused;
    const bool all = c->regions == 1 && c->cells == f->desc.nx * f->desc.ny;
    s->closed_regions = c->regions;
    s->closed_cells = c->cells;
    s->closed_chunks = c->chunks;
    if (!c->regions)
        return SIM_OK;
    SIM_TRY(put(f, c->cell, all ? item : (size_t)c->cells * item, &f->closed_cell,
                &s->closed_cell));
    if (all)
        s->closed_cell = NULL;
    SIM_TRY(put(f, c->first, (size_t)(c->regions + 1) * item, &f->closed_first,
                &s->closed_first));
    SIM_TRY(put(f, c->chunk, (size_t)(c->regions + 1) * item, &f->closed_chunk,
                &s->closed_chunk));
    sim_buffer_free(&f->closed_sum);
    SIM_TRY(sim_buffer_new(s->device, (size_t)(c->chunks + c->regions) * sizeof(double),
                           "the regions", &f->closed_sum));
    s->closed_sum = f->closed_sum.data;
    return SIM_OK;
}

static enum sim_status build_closed(struct sim_flow *f, const struct regions *r)
{
    const size_t n = (size_t)r->count + 2;
    struct closed c = {malloc((size_t)(f->desc.nx * f->desc.ny) * sizeof(int64_t)),
                       malloc(n * sizeof(int64_t)),
                       malloc(n * sizeof(int64_t)),
                       0,
                       0,
                       0};
    enum sim_status status = SIM_OK;
    if (!c.cell || !c.first || !c.chunk)
        status = sim_fail(SIM_HOST_MEMORY, "flow: no memory for the regions");
    if (status == SIM_OK) {
        list_closed(f, r, &c);
        status = upload_closed(f, &c);
    }
    free(c.cell);
    free(c.first);
    free(c.chunk);
    return status;
}

enum sim_status sim_flow_build_regions(struct sim_flow *f, const uint8_t *flags)
{
    struct regions r = {0};
    enum sim_status status = label_regions(f, flags, &r);
    if (status == SIM_OK) {
        open_regions(f, &r);
        status = number_regions(f, &r);
    }
    if (status == SIM_OK)
        status = build_closed(f, &r);
    free(r.label);
    free(r.of);
    return status;
}
