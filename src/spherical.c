/* spherical.c - spherical potentials and isotropic equilibria by Eddington's inversion.
 *
 * Potential. A shell of mass m and radius s acts on a body at radius r, under Plummer
 * softening, as the mean of 1/sqrt(d^2 + eps^2) over the shell:
 *     psi = G m [A - B] / (2 r s) = 2 G m / (A + B),
 *     A = sqrt((r+s)^2 + eps^2),  B = sqrt((r-s)^2 + eps^2),
 * the pull being -d psi/dr. The field of any sphere is a sum over its shells; with
 * eps = 0 it is Newton's.
 *
 * Distribution function (Eddington 1916; Binney and Tremaine, Galactic Dynamics,
 * eq. 4.46): a density rho in the potential psi (its own and all others') is in
 * equilibrium when energies E = psi - v^2/2 are distributed as f(E) = 1/(sqrt(8) pi^2) [
 * int_0^E  d^2rho/dpsi^2  dpsi / sqrt(E - psi)
 *                               + (drho/dpsi)_0 / sqrt(E) ].
 * drho/dpsi is taken as linear in psi between neighbouring radii, for which the integral
 * is exact; the error is of second order in the spacing of the grid.
 *
 * Not here: flattened or anisotropic spheres; densities other than Hernquist's. */
#include "spherical.h"

#include <math.h>
#include <string.h>

#include "../kernels/philox.h"

void sim_potential_start(struct sim_potential *p, double G, double eps, double inner,
                         double outer)
{
    memset(p, 0, sizeof *p);
    p->G = G;
    p->eps = eps;
    p->first = inner;
    p->ratio = log(outer / inner) / (SIM_RADII - 1);
    for (int i = 0; i < SIM_RADII; i++)
        p->r[i] = inner * exp(i * p->ratio);
}

static void add_shell(struct sim_potential *p, double mass, double s)
{
    double eps2 = p->eps * p->eps;
    for (int i = 0; i < SIM_RADII; i++) {
        double r = p->r[i];
        double a = sqrt((r + s) * (r + s) + eps2);
        double b = sqrt((r - s) * (r - s) + eps2);
        double sum = a + b;
        p->psi[i] += 2 * p->G * mass / sum;
        p->pull[i] += 2 * p->G * mass * ((r + s) / a + (r - s) / b) / (sum * sum);
    }
}

void sim_potential_add_point(struct sim_potential *p, double mass)
{
    add_shell(p, mass, 0);
}

void sim_potential_add(struct sim_potential *p,
                       double (*within)(const void *context, double r),
                       const void *context)
{
    double before = within(context, p->r[0]);
    add_shell(p, before, 0.75 * p->r[0]);
    for (int i = 1; i < SIM_RADII; i++) {
        double mass = within(context, p->r[i]);
        add_shell(p, mass - before, sqrt(p->r[i] * p->r[i - 1]));
        before = mass;
    }
}

/* Where r lies on the grid: the cell's lower node, and the share of the way through it in
 * log r. Radii off the grid give the first or last cell and a share outside 0..1. */
static int cell(const struct sim_potential *p, double r, double *share)
{
    double at = log(r / p->first) / p->ratio;
    int i = at < 0 ? 0 : at > SIM_RADII - 2 ? SIM_RADII - 2 : (int)at;
    *share = at - i;
    return i;
}

static double between(const double *table, int i, double share)
{
    return table[i] + share * (table[i + 1] - table[i]);
}

double sim_potential_psi(const struct sim_potential *p, double r)
{
    double share;
    if (r >= p->r[SIM_RADII - 1])
        return p->psi[SIM_RADII - 1] * p->r[SIM_RADII - 1] / r;
    if (r <= p->first)
        return p->psi[0];
    int i = cell(p, r, &share);
    return between(p->psi, i, share);
}

double sim_potential_pull(const struct sim_potential *p, double r)
{
    double share, outer = p->r[SIM_RADII - 1] / r;
    if (outer <= 1)
        return p->pull[SIM_RADII - 1] * outer * outer;
    if (r <= p->first)
        return p->pull[0] * r / p->first;
    int i = cell(p, r, &share);
    return between(p->pull, i, share);
}

/* rho and d rho/dr, for a sphere of mass 1 before the cut. */
static void hernquist_density(const struct sim_hernquist *h, double r, double *rho,
                              double *slope)
{
    double a = h->scale;
    *rho = a / (2 * M_PI * r * (r + a) * (r + a) * (r + a));
    double log_slope = -1 / r - 3 / (r + a);
    if (h->cut > 0) {
        *rho *= exp(-(r / h->cut) * (r / h->cut));
        log_slope -= 2 * r / (h->cut * h->cut);
    }
    *slope = *rho * log_slope;
}

static double shell_mass(const struct sim_hernquist *h, double r) /* dM / dlog r */
{
    double rho, slope;
    hernquist_density(h, r, &rho, &slope);
    return 4 * M_PI * r * r * r * rho;
}

/* Mass within each radius of the grid, mass 1 before the cut: Simpson's rule in log r. */
static void cumulate(const struct sim_hernquist *h, const struct sim_potential *grid,
                     double within[SIM_RADII])
{
    double r0 = grid->r[0];
    within[0] = (r0 / (r0 + h->scale)) * (r0 / (r0 + h->scale));
    for (int i = 1; i < SIM_RADII; i++) {
        double middle = sqrt(grid->r[i] * grid->r[i - 1]);
        within[i] =
            within[i - 1] + grid->ratio / 6 *
                                (shell_mass(h, grid->r[i - 1]) +
                                 4 * shell_mass(h, middle) + shell_mass(h, grid->r[i]));
    }
}

void sim_hernquist_tabulate(const struct sim_hernquist *sphere,
                            const struct sim_potential *grid,
                            struct sim_hernquist_mass *out)
{
    out->grid = grid;
    cumulate(sphere, grid, out->within);
    double norm = sphere->mass / out->within[SIM_RADII - 1];
    for (int i = 0; i < SIM_RADII; i++)
        out->within[i] *= norm;
}

double sim_hernquist_within(const void *hernquist_mass, double r)
{
    const struct sim_hernquist_mass *mass = hernquist_mass;
    double share;
    int i = cell(mass->grid, r, &share);
    return between(mass->within, i, share < 0 ? 0 : share > 1 ? 1 : share);
}

static double eddington(const struct sim_potential *p, const double *slope, int at)
{
    /* From the outside in: psi grows from near 0 to E = psi[at]. */
    int last = SIM_RADII - 1;
    double E = p->psi[at], sum = 0;
    for (int j = last; j > at; j--) {
        double far = E - p->psi[j], near = E - p->psi[j - 1];
        double step = far - near;
        if (step > 0)
            sum += (slope[j - 1] - slope[j]) / step * 2 * (sqrt(far) - sqrt(near));
    }
    if (at < last)
        sum += slope[last] / sqrt(E - p->psi[last]);
    return sum / (sqrt(8) * M_PI * M_PI);
}

static double f_at(const struct sim_isotropic *iso, double E)
{
    const double *psi = iso->potential->psi;
    if (E <= psi[SIM_RADII - 1])
        return 0;
    if (E >= psi[0])
        return iso->f[0];
    int low = 0, high = SIM_RADII - 1; /* psi falls with the index */
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (psi[middle] > E)
            low = middle;
        else
            high = middle;
    }
    return between(iso->f, low, (psi[low] - E) / (psi[low] - psi[high]));
}

/* The maximum of v^2 f(psi - v^2/2). Steps are finer at small v, where f is steep. */
static double highest(const struct sim_isotropic *iso, double psi)
{
    double most = 0;
    for (int i = 1; i < 512; i++) {
        double q = (double)i / 512, v2 = 2 * psi * q * q * q * q;
        most = fmax(most, v2 * f_at(iso, psi - v2 / 2));
    }
    return most;
}

enum sim_status sim_isotropic_solve(struct sim_isotropic *out,
                                    const struct sim_potential *potential,
                                    const struct sim_hernquist *sphere)
{
    double slope[SIM_RADII], most = 0, least = 0;
    out->potential = potential;
    for (int i = 0; i < SIM_RADII; i++) {
        double rho, drho;
        hernquist_density(sphere, potential->r[i], &rho, &drho);
        slope[i] = potential->pull[i] > 0 ? -drho / potential->pull[i] : 0;
    }
    cumulate(sphere, potential, out->within);
    double total = out->within[SIM_RADII - 1];
    for (int i = 0; i < SIM_RADII; i++)
        out->within[i] /= total;
#pragma omp parallel for schedule(dynamic, 16)
    for (int i = 0; i < SIM_RADII; i++)
        out->f[i] = eddington(potential, slope, i);
    for (int i = 0; i < SIM_RADII; i++) {
        double share = out->f[i] * potential->psi[i];
        most = fmax(most, share);
        least = fmin(least, share);
        out->f[i] = fmax(out->f[i], 0);
    }
    if (least < -1e-3 * most)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "a sphere of scale %g has no equilibrium in the "
                        "field of the rest; make it more compact, or the "
                        "rest lighter",
                        sphere->scale);
    for (int i = 0; i < SIM_RADII; i++)
        out->bound[i] = 1.02 * highest(out, potential->psi[i]);
    return SIM_OK;
}

static double draw_radius(const struct sim_isotropic *iso, double u)
{
    const double *within = iso->within;
    const struct sim_potential *p = iso->potential;
    if (u <= within[0]) /* rho ~ 1/r inside the grid: mass ~ r^2 */
        return p->r[0] * sqrt(u / within[0]);
    int low = 0, high = SIM_RADII - 1;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (within[middle] < u)
            low = middle;
        else
            high = middle;
    }
    double share = (u - within[low]) / (within[high] - within[low]);
    return p->r[low] * exp(share * p->ratio);
}

/* Speed by rejection under v^2 f(E) <= bound. */
static double draw_speed(const struct sim_isotropic *iso, uint64_t seed, uint64_t body,
                         uint32_t purpose, double r)
{
    const struct sim_potential *p = iso->potential;
    double share, psi = sim_potential_psi(p, r), escape = sqrt(2 * psi);
    int i = cell(p, fmax(r, p->first), &share);
    double bound = fmax(iso->bound[i], iso->bound[i + 1]);
    double v = 0;
    for (uint32_t draw = 0; draw < 100000; draw++) {
        double u[2];
        sim_random_uniforms(seed, body, purpose, draw, u);
        v = escape * u[0];
        if (u[1] * bound <= v * v * f_at(iso, psi - v * v / 2))
            break;
    }
    return v;
}

void sim_isotropic_draw(const struct sim_isotropic *iso, double share, uint64_t seed,
                        uint64_t body, uint32_t purpose, double position[3],
                        double velocity[3])
{
    double r = draw_radius(iso, share);
    double v = draw_speed(iso, seed, body, purpose, r);
    sim_random_vector(seed, body, purpose + 1, 0, r, position);
    sim_random_vector(seed, body, purpose + 2, 0, v, velocity);
}
