/* modal_cpu.c - fast transforms to and from the eigenmodes of a line (diffusion.h), on
 * the CPU, at N log N a line.
 *
 * Every mode is Re(phase_m exp(2 pi i bin_m k/period)): the modes of n cells are bins of
 * a Fourier transform over the period, with zeros behind the cells, for any pair of
 * walls. Two real lines travel as the real and the imaginary part of a complex one: G1_q
 * = (Z_q + conj Z_-q)/2,      G2_q = (Z_q - conj Z_-q)/2i A thread takes 2*LANES lines at
 * a time; which lines go together depends on their numbers alone. */
#include "diffusion.h"
#include "fourier.h"

#include <stdlib.h>
#include <string.h>

#define LANES FOURIER_LANES

/* Lines side by side: real parts of the first LANES, imaginary parts of the others. */
struct batch {
    const struct sim_modal_line *line;
    const struct fourier *fourier;
    double *state; /* cell k of line l at l*next + k*step */
    int64_t step, next;
    int count;
    double *re, *im, *scratch;
};

static void forward(const struct batch *b)
{
    const struct sim_modal_line *line = b->line;
    const int64_t period = line->period;
    memset(b->re, 0, (size_t)(period * LANES) * sizeof *b->re);
    memset(b->im, 0, (size_t)(period * LANES) * sizeof *b->im);
    for (int64_t k = 0; k < line->n; k++)
        for (int l = 0; l < b->count; l++)
            (l < LANES ? b->re : b->im)[k * LANES + l % LANES] =
                line->weight[k] * b->state[l * b->next + k * b->step];
    fourier_run(b->fourier, b->re, b->im, b->scratch);
    for (int64_t m = 0; m < line->n; m++) {
        const int64_t q = line->bin[m] * LANES;
        const int64_t r = line->bin[m] ? (period - line->bin[m]) * LANES : 0;
        const double c = 0.5 * line->scale[m] * line->phase_re[m],
                     s = 0.5 * line->scale[m] * line->phase_im[m];
        for (int l = 0; l < b->count; l++) {
            const int64_t at = l % LANES;
            const double re =
                l < LANES ? b->re[q + at] + b->re[r + at] : b->im[q + at] + b->im[r + at];
            const double im =
                l < LANES ? b->im[q + at] - b->im[r + at] : b->re[r + at] - b->re[q + at];
            b->state[l * b->next + m * b->step] = c * re - s * im;
        }
    }
}

static void back(const struct batch *b)
{
    const struct sim_modal_line *line = b->line;
    const int64_t period = line->period;
    memset(b->re, 0, (size_t)(period * LANES) * sizeof *b->re);
    memset(b->im, 0, (size_t)(period * LANES) * sizeof *b->im);
    for (int64_t m = 0; m < line->n; m++) {
        const int64_t q = line->bin[m] * LANES;
        const int64_t r = line->bin[m] ? (period - line->bin[m]) * LANES : 0;
        const double c = 0.5 * line->phase_re[m], s = 0.5 * line->phase_im[m];
        for (int l = 0; l < b->count; l++) {
            const int64_t at = l % LANES;
            const double value = b->state[l * b->next + m * b->step];
            double *even = l < LANES ? b->re : b->im, *odd = l < LANES ? b->im : b->re;
            const double sign = l < LANES ? 1 : -1;
            even[q + at] += c * value;
            even[r + at] += c * value;
            odd[q + at] += sign * (s * value);
            odd[r + at] -= sign * (s * value);
        }
    }
    fourier_run(b->fourier, b->re, b->im, b->scratch);
    for (int64_t k = 0; k < line->n; k++)
        for (int l = 0; l < b->count; l++)
            b->state[l * b->next + k * b->step] =
                (l < LANES ? b->re : b->im)[k * LANES + l % LANES];
}

static double *batch_memory(struct batch *b)
{
    const int64_t part = b->line->period * LANES;
    const size_t bytes =
        (size_t)(2 * part + fourier_scratch(b->fourier)) * sizeof(double);
    b->re = aligned_alloc(64, (bytes + 63) / 64 * 64);
    b->im = b->re + part;
    b->scratch = b->im + part;
    return b->re;
}

/* All `lines` lines of an array. */
static enum sim_status transform(struct sim_device *device,
                                 const struct sim_modal_line *line, bool is_back,
                                 double *state, int64_t step, int64_t next, int64_t lines)
{
    struct fourier *fourier;
    enum sim_status status = fourier_new(line->period, &fourier);
    bool no_memory = false;
    if (status == SIM_OK)
#pragma omp parallel num_threads(device->threads)
    {
        struct batch b = {.line = line, .fourier = fourier, .step = step, .next = next};
        double *memory = batch_memory(&b);
        if (!memory) {
#pragma omp atomic write
            no_memory = true;
        }
#pragma omp for schedule(static)
        for (int64_t l = 0; l < (lines + 2 * LANES - 1) / (2 * LANES); l++) {
            if (!memory || sim_interrupt_signal())
                continue;
            const int64_t first = l * 2 * LANES;
            b.state = state + first * next;
            b.count = lines - first < 2 * LANES ? (int)(lines - first) : 2 * LANES;
            (is_back ? back : forward)(&b);
        }
        free(memory);
    }
    fourier_free(fourier);
    SIM_TRY(status);
    if (no_memory)
        return sim_fail(SIM_HOST_MEMORY, "diffusion: no memory for a transform");
    return sim_check_interrupt();
}

enum sim_status sim_modal_transform_cpu(struct sim_device *device,
                                        const struct sim_modal_line *x,
                                        const struct sim_modal_line *y, bool is_back,
                                        double *state)
{
    SIM_TRY(transform(device, x, is_back, state, 1, x->n, y->n));
    SIM_TRY(transform(device, y, is_back, state, x->n, 1, x->n));
    return sim_device_launch(device, "diffusion: a transform");
}
