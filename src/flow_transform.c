/* flow_transform.c - which solver a flow's pressure goes by, and what the direct one
 * needs: cuFFT's plans, arrays and tables (kernels/poisson_transform_math.h).
 *
 * A direct solve wants an empty rectangle whose sides all close their faces for the
 * pressure or are periodic, and a GPU with cuFFT. "transform" is then done and else
 * refused; "auto" takes it where it was measured to be the faster one, and else
 * multigrid. When cuFFT then cannot make its plans that is an error: the bits of a flow
 * must not hang on what memory is free. Asked anew whenever the grid's tables are made.
 */
#include "flow.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

#define LEAST 64 /* cells a side, from which on "auto" takes transforms */

/* --- does it suit? ------------------------------------------------------------------ */

/* NULL, or what is in the way. */
static const char *shape_fault(const struct sim_flow *f, const uint8_t *flags)
{
    const int64_t nx = f->desc.nx, ny = f->desc.ny;
    const bool px = f->system.periodic_x, py = f->system.periodic_y;
    for (int64_t j = 0; j <= ny; j++)
        for (int64_t i = 0; i <= nx; i++) {
            const uint8_t flag = flags[sim_flow_at(f, i, j)];
            const bool side_x = !px && (i == 0 || i == nx);
            const bool side_y = !py && (j == 0 || j == ny);
            if ((side_x && j < ny && flag & SIM_FLOW_U) ||
                (side_y && i < nx && flag & SIM_FLOW_V))
                return "a side has a prescribed pressure";
            if ((i < nx && j < ny && !(flag & SIM_FLOW_FLUID)) ||
                (!side_x && j < ny && !(flag & SIM_FLOW_U)) ||
                (!side_y && i < nx && !(flag & SIM_FLOW_V)))
                return "there is an obstacle";
        }
    return NULL;
}

static bool is_smooth(int64_t n)
{
    for (int p = 2; p <= 7; p++)
        while (n % p == 0)
            n /= p;
    return n == 1;
}

static const char *speed_fault(const struct sim_flow *f)
{
    const int64_t nx = f->desc.nx, ny = f->desc.ny;
    if (nx < LEAST || ny < LEAST)
        return "multigrid is as fast on so small a grid";
    return is_smooth(nx) && is_smooth(ny)
               ? NULL
               : "a side's number of cells has a prime factor above 7";
}

static const char *fault_of(const struct sim_flow *f, const uint8_t *flags)
{
    const char *fault = shape_fault(f, flags), *why;
    if (!fault && f->desc.method == SIM_AUTO)
        fault = speed_fault(f);
    if (!fault && f->system.device->kind != SIM_CUDA)
        fault = "it needs a GPU";
    if (!fault && !sim_fft_library(&why))
        fault = why;
    return fault;
}

/* --- tables ------------------------------------------------------------------------- */

void sim_flow_modes(int64_t n, bool periodic, double coefficient, double (*out)[4])
{
    const double pi = 3.14159265358979323846;
    for (int64_t k = 0; k <= n / 2; k++) {
        const double half = pi * (double)k / (double)(2 * n); /* at most pi/4 */
        const double c = cos(half), s = sin(half), whole = sin(2 * half);
        out[k][0] = c, out[k][1] = s;
        out[k][2] = 4 * coefficient * (periodic ? whole * whole : s * s);
        out[k][3] = periodic ? out[k][2] : k ? 4 * coefficient * c * c : HUGE_VAL;
    }
}

static enum sim_status upload_modes(struct sim_flow *f, int64_t n, bool periodic,
                                    double coefficient, struct sim_buffer *to)
{
    const size_t count = (size_t)(n / 2 + 1);
    double(*modes)[4] = malloc(count * sizeof *modes);
    if (!modes)
        return sim_fail(SIM_HOST_MEMORY, "flow: no memory for the transform's tables");
    sim_flow_modes(n, periodic, coefficient, modes);
    if (!f->desc.is_double) { /* in place: a float ends before its double does */
        float *as = (float *)(void *)modes;
        for (size_t k = 0; k < 4 * count; k++) {
            const float value = (float)((double *)modes)[k];
            memcpy(&as[k], &value, sizeof value);
        }
    }
    enum sim_status status =
        sim_buffer_write(to, 0, modes, count * 4 * f->ops->real_bytes);
    free(modes);
    return status;
}

/* --- plans -------------------------------------------------------------------------- */

#define OUT_OF_MEMORY 2 /* CUFFT_ALLOC_FAILED */

static enum sim_status made(int error, const char *doing)
{
    if (error == OUT_OF_MEMORY)
        return sim_fail(SIM_DEVICE_MEMORY,
                        "out of device memory: cuFFT at %s; a flow with solver = "
                        "\"multigrid\" needs less",
                        doing);
    return error ? sim_fail(SIM_DEVICE,
                            "flow: cuFFT failed at %s (its error %d); a flow with solver "
                            "= \"multigrid\" does without",
                            doing, error)
                 : SIM_OK;
}

static enum sim_status make_plan(struct sim_flow *f, const struct sim_fft_library *fft,
                                 int type, int *plan, size_t *area)
{
    long long n[2] = {f->desc.ny, f->desc.nx};
    size_t bytes = 0;
    const int error = sim_fail_now(SIM_FAIL_DEVICE) ? OUT_OF_MEMORY : fft->create(plan);
    SIM_TRY(made(error, "creating a plan"));
    f->transform.plans++;
    SIM_TRY(made(fft->own_area(*plan, 0), "preparing a plan"));
    SIM_TRY(made(fft->make(*plan, 2, n, NULL, 1, 0, NULL, 1, 0, type, 1, &bytes),
                 "making a plan"));
    *area = bytes > *area ? bytes : *area;
    return made(fft->set_stream(*plan, f->system.device->stream), "preparing a plan");
}

/* Both plans share an area: they run one after the other. */
static enum sim_status make_plans(struct sim_flow *f, const struct sim_fft_library *fft)
{
    struct sim_flow_transform *t = &f->transform;
    const bool is_double = f->desc.is_double;
    size_t area = 16;
    SIM_TRY(make_plan(f, fft, is_double ? SIM_FFT_FROM_DOUBLE : SIM_FFT_FROM_FLOAT,
                      &t->solver.forward, &area));
    SIM_TRY(make_plan(f, fft, is_double ? SIM_FFT_TO_DOUBLE : SIM_FFT_TO_FLOAT,
                      &t->solver.inverse, &area));
    SIM_TRY(
        sim_buffer_new(f->system.device, area, "the transform's scratch", &t->own[0]));
    SIM_TRY(made(fft->set_area(t->solver.forward, t->own[0].data), "preparing a plan"));
    SIM_TRY(made(fft->set_area(t->solver.inverse, t->own[0].data), "preparing a plan"));
    t->solver.run_forward = fft->forward[is_double];
    t->solver.run_inverse = fft->inverse[is_double];
    return SIM_OK;
}

static enum sim_status make_transform_arrays(struct sim_flow *f)
{
    struct sim_flow_transform *t = &f->transform;
    struct sim_device *device = f->system.device;
    const size_t real = f->ops->real_bytes, nx = (size_t)f->desc.nx,
                 ny = (size_t)f->desc.ny;
    const char *what = "the transform";
    SIM_TRY(sim_buffer_new(device, nx * ny * real, what, &t->own[1]));
    SIM_TRY(sim_buffer_new(device, (nx / 2 + 1) * ny * 2 * real, what, &t->own[2]));
    SIM_TRY(sim_buffer_new(device, (nx / 2 + 1) * 4 * real, what, &t->own[3]));
    SIM_TRY(sim_buffer_new(device, (ny / 2 + 1) * 4 * real, what, &t->own[4]));
    SIM_TRY(sim_buffer_new(device, 2 * sizeof(int64_t), what, &t->own[5]));
    t->solver.work = t->own[1].data, t->solver.spectrum = t->own[2].data;
    t->solver.mode_x = t->own[3].data, t->solver.mode_y = t->own[4].data;
    t->solver.count = t->own[5].data;
    /* cuFFT runs, on whatever there is, also when there is nothing left to solve */
    SIM_TRY(sim_buffer_zero(&t->own[1]));
    return sim_buffer_zero(&t->own[5]);
}

void sim_flow_free_transform(struct sim_flow *f)
{
    struct sim_flow_transform *t = &f->transform;
    const char *why;
    /* of a lost GPU they went with the context */
    const int plans = t->plans && !f->system.device->lost ? t->plans : 0;
    const struct sim_fft_library *fft = plans ? sim_fft_library(&why) : NULL;
    if (plans > 0)
        fft->destroy(t->solver.forward);
    if (plans > 1)
        fft->destroy(t->solver.inverse);
    for (int k = 0; k < SIM_FLOW_TRANSFORM_BUFFERS; k++)
        sim_buffer_free(&t->own[k]);
    *t = (struct sim_flow_transform){0};
}

/* Once; what sides decide (the tables) each time. */
static enum sim_status make_transform(struct sim_flow *f)
{
    struct sim_flow_transform *t = &f->transform;
    const char *why;
    if (!t->made) {
        SIM_TRY(make_plans(f, sim_fft_library(&why)));
        SIM_TRY(make_transform_arrays(f));
        t->made = true;
    }
    t->solver.across = f->desc.dy / f->desc.dx;
    t->solver.up = f->desc.dx / f->desc.dy;
    SIM_TRY(
        upload_modes(f, f->desc.nx, f->system.periodic_x, t->solver.across, &t->own[3]));
    return upload_modes(f, f->desc.ny, f->system.periodic_y, t->solver.up, &t->own[4]);
}

/* --- the choice --------------------------------------------------------------------- */

enum sim_status sim_flow_choose_solver(struct sim_flow *f, const uint8_t *flags)
{
    const enum sim_poisson_method method = f->desc.method;
    f->system.poisson.transform = NULL;
    f->transform.why[0] = 0;
    if (method != SIM_TRANSFORM && method != SIM_AUTO)
        return SIM_OK;
    const char *fault = fault_of(f, flags);
    if (fault && method == SIM_TRANSFORM)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "flow: the solver \"transform\" cannot be had here: %s (\"auto\" "
                        "then takes multigrid)",
                        fault);
    enum sim_status status = fault ? SIM_OK : make_transform(f);
    if (!fault && status == SIM_OK)
        f->system.poisson.transform = &f->transform.solver;
    if (status != SIM_OK) {
        sim_flow_free_transform(f);
        return status;
    }
    if (fault)
        snprintf(f->transform.why, sizeof f->transform.why, "%s", fault);
    return SIM_OK;
}

enum sim_status sim_flow_solver(struct sim_flow *f, enum sim_poisson_method *method,
                                const char **why)
{
    SIM_TRY(sim_flow_prepare(f));
    *method = f->desc.method;
    if (*method == SIM_AUTO)
        *method = f->system.poisson.transform ? SIM_TRANSFORM : SIM_MULTIGRID;
    *why = f->transform.why[0] ? f->transform.why : NULL;
    return SIM_OK;
}
