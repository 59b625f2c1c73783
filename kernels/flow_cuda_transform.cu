/* flow_cuda_transform.cu - the direct solve of the pressure equation in an empty
 * rectangle on the GPU: cosine or Fourier transforms by cuFFT, a division, and back.
 *
 * Three kernels around two calls of cuFFT: the right-hand side into the order of
 * poisson_transform_math.h; the spectrum in place, a thread the four modes that belong
 * together; the solution, what is left of the right-hand side, its maximum and, by the
 * last block, whether that is enough. Where it is not, the cycles (flow_cuda_solve.cu) go
 * on from there.
 *
 * A kernel that finds control->done does nothing; cuFFT cannot look, and works on scratch
 * that nobody reads then. */
#include "flow_cuda.h"
#include "flow_cuda_max.cuh"
#include "poisson_transform_math.h"

static __global__ void __launch_bounds__(FLOW_ACROSS *FLOW_UP)
    order_kernel(struct poisson_box g, const real *b, int64_t pitch, real *work,
                 const struct sim_poisson_control *control)
{
    if (control->done)
        return;
    FLOW_ELEMENTS(i, j, g.nx, g.ny)
    work[poisson_box_at(&g, i, j)] = b[j * pitch + i];
}

static __global__ void __launch_bounds__(FLOW_ACROSS *FLOW_UP)
    spectrum_kernel(struct poisson_box g, struct poisson_complex *spectrum,
                    const struct poisson_mode *mode_x, const struct poisson_mode *mode_y,
                    const struct sim_poisson_control *control)
{
    const int64_t row = g.nx / 2 + 1;
    if (control->done)
        return;
    FLOW_ELEMENTS(k, l, row, g.ny / 2 + 1)
    {
        struct poisson_complex *near = spectrum + l * row + k,
                               *far = l > 0 ? spectrum + (g.ny - l) * row + k : near;
        const struct poisson_mode x = mode_x[k], y = mode_y[l];
        struct poisson_pair v = {*near, *far};
        v = poisson_solved(&g, &x, &y, v);
        *near = v.a;
        if (far != near)
            *far = v.b;
    }
}

/* Stores a value, and copies of it beyond periodic sides. */
static __device__ __forceinline__ void
put(const struct poisson_box *g, real *x, int64_t pitch, int64_t i, int64_t j, real value)
{
    const bool left = g->periodic_x && i == 0, right = g->periodic_x && i == g->nx - 1;
    const bool low = g->periodic_y && j == 0, high = g->periodic_y && j == g->ny - 1;
    real *to = x + j * pitch + i;
    *to = value;
    if (!(left || right || low || high))
        return;
    for (int a = right ? -1 : 0; a <= (left ? 1 : 0); a++)
        for (int b = high ? -1 : 0; b <= (low ? 1 : 0); b++)
            to[a * g->nx + b * g->ny * pitch] = value;
}

static __global__ void __launch_bounds__(FLOW_ACROSS *FLOW_UP)
    solution_kernel(struct poisson_box g, const real *work, real *b, real *solution,
                    int64_t pitch, int64_t *count, struct sim_poisson_control *control)
{
    int64_t largest = 0;
    if (control->done)
        return;
    FLOW_ELEMENTS(i, j, g.nx, g.ny)
    {
        const int64_t c = j * pitch + i;
        real x;
        const real before = b[c], flux = poisson_box_apply(&g, work, i, j, &x);
        const real left = before - flux;
        b[c] = left;
        put(&g, solution, pitch, i, j, x);
        largest = larger(largest, poisson_size(left));
    }
    offer(&count[0], largest);
    if (threadIdx.x == 0 && threadIdx.y == 0 && is_last(&count[1]))
        poisson_after_transform(control, taken(&count[0]));
}

/* --- the solve ---------------------------------------------------------------------- */

static enum sim_status run_plan(struct sim_device *device,
                                int (*run)(int plan, void *from, void *to), int plan,
                                void *from, void *to)
{
    const double start = sim_launch_clock();
    SIM_TRY(sim_device_launch(device, "flow: transform"));
    const int error = run(plan, from, to);
    SIM_TRY(sim_launched(device, "flow: transform", start));
    if (!error)
        return SIM_OK;
    SIM_TRY(sim_cuda_alive(device)); /* cuFFT keeps CUDA's errors to itself */
    return sim_fail(SIM_DEVICE, "flow: a transform failed (cuFFT's error %d)", error);
}

static struct poisson_box box_of(const struct sim_poisson_system *s)
{
    struct poisson_box g;
    g.nx = s->level[0].nx, g.ny = s->level[0].ny;
    g.periodic_x = s->periodic_x, g.periodic_y = s->periodic_y;
    g.across = (real)s->transform->across, g.up = (real)s->transform->up;
    g.scale = (real)(1 / ((double)g.nx * (double)g.ny));
    return g;
}

enum sim_status poisson_transform_cuda(struct sim_poisson_system *s)
{
    const struct sim_poisson_transform *t = s->transform;
    const struct poisson_box g = box_of(s);
    const dim3 block(FLOW_ACROSS, FLOW_UP);
    const int64_t pitch = s->level[0].pitch;
    real *b = (real *)s->level[0].b, *work = (real *)t->work;
    SIM_TRY(sim_launch(s->device, "flow: transform", order_kernel,
                       flow_blocks(g.nx, g.ny), block, 0, g, b, pitch, work, s->control));
    SIM_TRY(run_plan(s->device, t->run_forward, t->forward, t->work, t->spectrum));
    SIM_TRY(sim_launch(s->device, "flow: transform", spectrum_kernel,
                       flow_blocks(g.nx / 2 + 1, g.ny / 2 + 1), block, 0, g,
                       (struct poisson_complex *)t->spectrum,
                       (const struct poisson_mode *)t->mode_x,
                       (const struct poisson_mode *)t->mode_y, s->control));
    SIM_TRY(run_plan(s->device, t->run_inverse, t->inverse, t->spectrum, t->work));
    return sim_launch(s->device, "flow: transform", solution_kernel,
                      flow_few_blocks(g.nx, g.ny), block, 0, g, work, b,
                      (real *)s->solution, pitch, t->count, s->control);
}
