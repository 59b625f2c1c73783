/* diffusion_modes.c - the eigenmodes of the second difference along one axis.
 *
 * They are cosines, sines or both: between two walls of the kinds no-flux and fixed, at
 * the face or at the node, mode m is cos or sin of w_m (k + b), where the extremum or
 * zero of the west wall lies b = 0 (no-flux at the node), 1/2 (at the face) or 1 (fixed
 * at the node outside) before cell 0, and the east wall fixes the wave numbers: with
 * length L = n - 1 + b + b', w_m = pi m/L, pi (m + 1)/L or pi (m + 1/2)/L for two
 * extrema, two zeros, one of each. All are multiples of 2 pi/period for a period of 2 L
 * or 4 L cells, which is what a Fourier transform wants. The eigenvalue is -4 r
 * sin^2(w_m/2).
 *
 * Orthogonality: with weight 1/2 at a node that is a mirror; the square of a mode sums to
 * L/2, or to L where it is 1 everywhere. */
#include "diffusion_modes.h"

#include <math.h>
#include <stdlib.h>

#define PI_LONG 3.141592653589793238462643383279502884L

enum end { MIRROR_NODE, MIRROR_FACE, ZERO_NODE, ZERO_FACE, OTHER };

static enum end end_of(const struct sim_wall *w)
{
    if (w->inner == 0 && w->second == 1)
        return MIRROR_NODE;
    if (w->inner == 1 && w->second == 0)
        return MIRROR_FACE;
    if (w->inner == 0 && w->second == 0)
        return ZERO_NODE;
    return w->inner == -1 && w->second == 0 ? ZERO_FACE : OTHER;
}

bool sim_modes_known(const struct sim_wall *wall)
{
    return end_of(wall) != OTHER;
}

/* Half cells from the outermost cell to the extremum or zero beyond it. */
static const int64_t twice_beyond[] = {0, 1, 2, 1};

/* cos and sin of 2 pi k/n, for k >= 0 */
static void turn(int64_t k, int64_t n, double *c, double *s)
{
    const long double angle = 2 * PI_LONG * (long double)(k % n) / (long double)n;
    *c = (double)cosl(angle), *s = (double)sinl(angle);
}

static enum sim_status allocate(int64_t n, struct sim_modes *out)
{
    size_t bytes;
    *out = (struct sim_modes){.line = {.n = n}};
    SIM_TRY(sim_size_multiply((size_t)n, 6 * sizeof(double), "the modes", &bytes));
    double *at = out->memory = malloc(bytes);
    if (!at)
        return sim_fail(SIM_HOST_MEMORY, "diffusion: no memory for the modes");
    out->line.phase_re = at, out->line.phase_im = at + n, out->line.weight = at + 2 * n;
    out->line.scale = at + 3 * n, out->value = at + 4 * n;
    out->line.bin = (int64_t *)(void *)(at + 5 * n);
    return SIM_OK;
}

void sim_modes_free(struct sim_modes *modes)
{
    free(modes->memory);
    *modes = (struct sim_modes){0};
}

/* The wave numbers as bins of the period; returns the length L, doubled. */
static int64_t place(enum end low, enum end high, struct sim_modes *out)
{
    const int64_t n = out->line.n;
    const bool even = low == MIRROR_NODE || low == MIRROR_FACE;
    const bool alike = even == (high == MIRROR_NODE || high == MIRROR_FACE);
    const int64_t length = 2 * (n - 1) + twice_beyond[low] + twice_beyond[high];
    out->even = even;
    out->twice_beyond = twice_beyond[low];
    out->line.period = alike ? length : 2 * length;
    for (int64_t m = 0; m < n; m++)
        out->line.bin[m] = alike ? m + !even : 2 * m + 1;
    return length;
}

static int64_t place_around(struct sim_modes *out)
{
    out->even = out->periodic = true;
    out->line.period = out->line.n;
    for (int64_t m = 0; m < out->line.n; m++)
        out->line.bin[m] = (m + 1) / 2; /* 0, 1, 1, 2, ...: cosine first, then sine */
    return 2 * out->line.n;
}

static bool is_cosine(const struct sim_modes *modes, int64_t m)
{
    return modes->periodic ? m == 0 || m % 2 : modes->even;
}

/* A line of one cell has one mode; its wall rules act on the cell itself. */
static void fill_single(bool periodic, const struct sim_wall *low,
                        const struct sim_wall *high, struct sim_modes *out)
{
    out->line.period = 1;
    out->line.bin[0] = 0;
    out->line.weight[0] = out->line.scale[0] = out->line.phase_re[0] = 1;
    out->line.phase_im[0] = 0;
    out->even = true;
    out->value[0] =
        periodic ? 0 : 2 - low->inner - low->second - high->inner - high->second;
}

static void fill(int64_t twice_length, bool continuous, struct sim_modes *out)
{
    const struct sim_modal_line *line = &out->line;
    for (int64_t m = 0; m < line->n; m++) {
        const int64_t q = line->bin[m];
        const long double wave = 2 * PI_LONG * (long double)q / (long double)line->period;
        const long double s = 2 * sinl(wave / 2);
        double re, im;
        turn(q * out->twice_beyond, 2 * line->period, &re, &im);
        const bool cosine = is_cosine(out, m);
        line->phase_re[m] = cosine ? re : im; /* sin x = Re(-i exp(i x)) */
        line->phase_im[m] = cosine ? im : -re;
        const bool flat = q == 0 || 2 * q == line->period;
        line->scale[m] = (flat ? 2.0 : 4.0) / (double)twice_length;
        out->value[m] = (double)(continuous ? wave * wave : s * s);
    }
}

enum sim_status sim_modes_make(int64_t n, bool periodic, const struct sim_wall *low,
                               const struct sim_wall *high, bool continuous,
                               struct sim_modes *out)
{
    SIM_TRY(allocate(n, out));
    if (n == 1) {
        fill_single(periodic, low, high, out);
        return SIM_OK;
    }
    const int64_t twice_length =
        periodic ? place_around(out) : place(end_of(low), end_of(high), out);
    for (int64_t k = 0; k < n; k++)
        out->line.weight[k] = 1;
    if (!periodic && end_of(low) == MIRROR_NODE)
        out->line.weight[0] = 0.5;
    if (!periodic && end_of(high) == MIRROR_NODE)
        out->line.weight[n - 1] = 0.5;
    fill(twice_length, continuous, out);
    return SIM_OK;
}

enum sim_status sim_modes_matrices(const struct sim_modes *modes, double *forward,
                                   double *back)
{
    const struct sim_modal_line *line = &modes->line;
    const int64_t n = line->n, whole = 2 * line->period;
    double *table = malloc((size_t)whole * 2 * sizeof *table);
    if (!table)
        return sim_fail(SIM_HOST_MEMORY, "diffusion: no memory for the modes");
    for (int64_t k = 0; k < whole; k++)
        turn(k, whole, &table[2 * k], &table[2 * k + 1]);
    for (int64_t m = 0; m < n; m++)
        for (int64_t k = 0; k < n; k++) {
            const int64_t at = line->bin[m] * (2 * k + modes->twice_beyond) % whole;
            const double value = table[2 * at + !is_cosine(modes, m)];
            back[k * n + m] = value;
            forward[m * n + k] = line->scale[m] * (line->weight[k] * value);
        }
    free(table);
    return SIM_OK;
}
