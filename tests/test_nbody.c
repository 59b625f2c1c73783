/* test_nbody.c - gravity's operations against plain loops in double, on every device and
 * in both precisions: forces, stages, sums, potential, radii, the look for NaN. Orbits
 * and other physics: test_nbody_physics.c; the CPU's instruction sets: test_nbody_simd.c.
 */
#include "nbody_system.h"

static bool small; /* under sanitizers: leave out what takes seconds */

/* Sizes for a sanitizer on a GPU, which is a hundred times slower: a ragged block of each
 * shape is enough to see a race. */
static const int64_t few[] = {1, 33, 257, 1025};
#define FEW (sizeof few / sizeof *few)

/* Positions in a cube of side 2 about `offset`, masses and velocities random in each
 * field; `charges` gives the masses either sign. */
static void fill(struct body4 *x, struct body4 *v, int64_t n, double offset, bool charges,
                 bool is_double)
{
    uint64_t seed = 17 + (uint64_t)n;
    for (int64_t i = 0; i < n; i++) {
        double *p = &x[i].x, *q = &v[i].x;
        for (int k = 0; k < 3; k++) {
            p[k] = offset + 2 * uniform(&seed) - 1;
            q[k] = uniform(&seed) - 0.5;
        }
        x[i].w = (0.1 + uniform(&seed)) / (double)n;
        if (charges && uniform(&seed) < 0.4)
            x[i].w = -x[i].w;
        v[i].w = 0;
    }
    round_bodies(x, n, is_double);
    round_bodies(v, n, is_double);
}

/* The pull on body i, in double, with the sum's own rounding compensated for (Kahan). */
static struct body4 pull(const struct body4 *x, int64_t n, int64_t i, double eps,
                         double k)
{
    double sum[3] = {0}, lost[3] = {0};
    for (int64_t j = 0; j < n; j++) {
        const double d[3] = {x[j].x - x[i].x, x[j].y - x[i].y, x[j].z - x[i].z};
        const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + eps * eps;
        if (r2 == 0.0)
            continue;
        for (int c = 0; c < 3; c++) {
            double term = k * x[j].w * d[c] / (r2 * sqrt(r2)) - lost[c];
            double next = sum[c] + term;
            lost[c] = (next - sum[c]) - term;
            sum[c] = next;
        }
    }
    return (struct body4){sum[0], sum[1], sum[2], 0};
}

static double square(struct body4 a)
{
    return a.x * a.x + a.y * a.y + a.z * a.z;
}

static struct body4 minus(struct body4 a, struct body4 b)
{
    return (struct body4){a.x - b.x, a.y - b.y, a.z - b.z, 0};
}

/* The rms of |error| / |force| over at most 500 bodies spread over the system; where
 * signs cancel forces, of |error| / rms force. */
static double force_error(const struct system *s, const struct body4 *x)
{
    struct body4 *a = read_bodies(s, &s->acceleration);
    const int64_t n = s->nbody.n, stride = n > 5000 ? n / 500 : 1;
    const bool charge = s->nbody.coupling == SIM_CHARGE;
    double relative = 0, error = 0, force = 0, count = 0;
    for (int64_t i = 0; i < n; i += stride) {
        double k = charge ? -s->nbody.G * x[i].w : s->nbody.G;
        struct body4 want = pull(x, n, i, s->nbody.eps, k);
        double e2 = square(minus(a[i], want));
        relative += square(want) > 0 ? e2 / square(want) : e2;
        error += e2;
        force += square(want);
        count++;
    }
    free(a);
    return charge && force > 0 ? sqrt(error / force) : sqrt(relative / count);
}

struct force_case {
    const char *name;
    double offset, eps, G;
    enum sim_coupling coupling;
};

static const struct force_case cases[] = {
    {"a cloud", 0, 0.05, 1, SIM_GRAVITY},
    {"far from the origin", 1e4, 0.05, 0.7, SIM_GRAVITY},
    {"tiny softening", 0, 1e-4, 43009.1727, SIM_GRAVITY},
    {"softening that needs guarding", 0, 1e-9, 1, SIM_GRAVITY},
    {"no softening", 0, 0, 1, SIM_GRAVITY},
    {"charges", 0, 0.02, 1.3, SIM_CHARGE},
};

static void check_force(struct sim_device *device, bool is_double, int64_t n,
                        const struct force_case *c, enum sim_pairs pairs)
{
    struct body4 *x = room((size_t)n, sizeof *x), *v = room((size_t)n, sizeof *v);
    fill(x, v, n, c->offset, c->coupling == SIM_CHARGE, is_double);
    struct system s = make_system(device, is_double, n, x, v);
    s.nbody.eps = c->eps;
    s.nbody.G = c->G;
    s.nbody.coupling = c->coupling;
    s.nbody.tuning.pairs = pairs;
    find_force(&s);
    double error = force_error(&s, x), limit = is_double ? 1e-13 : 1e-6;
    if (!check_that(error <= limit, __FILE__, __LINE__, "force within its tolerance"))
        printf("     %s, %s, n = %lld: rms relative error %.3g\n", s.ops->name, c->name,
               (long long)n, error);
    if (getenv("SIMLUA_VERBOSE"))
        printf("%s, %s, n = %lld: %.3g\n", s.ops->name, c->name, (long long)n, error);
    free_system(&s);
    free(x);
    free(v);
}

static void test_forces(struct sim_device *device, bool is_double)
{
    static const int64_t sizes[] = {1, 2, 3, 31, 33, 64, 65, 255, 256, 257, 1009, 4096};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes - (small ? 2 : 0); k++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
            check_force(device, is_double, sizes[k], &cases[c], SIM_PAIRS_AUTO);
    if (small)
        return;
    check_force(device, is_double, 65537, &cases[0], SIM_PAIRS_AUTO);
    if (!is_double || device->kind == SIM_CUDA) /* the CPU needs seconds in double */
        check_force(device, is_double, 65537, &cases[0], SIM_PAIRS_PLAIN);
}

/* Bodies without softening at one place exert nothing on each other, and are reported. */
static void check_coincident(struct sim_device *device, bool is_double,
                             enum sim_pairs pairs, int low)
{
    enum { N = 1100 };
    static struct body4 x[N], v[N];
    struct sim_nbody_check found;
    struct sim_buffer out;
    fill(x, v, N, 0, false, is_double);
    x[low] = x[290];
    x[811] = x[850];
    x[N - 1] = x[850];
    struct system s = make_system(device, is_double, N, x, v);
    s.nbody.tuning.pairs = pairs;
    must(sim_buffer_new(device, sizeof found, "check", &out));
    s.nbody.eps = 0.05;
    find_force(&s);
    must(s.ops->check(&s.nbody, out.data));
    must(sim_buffer_read(&out, 0, &found, sizeof found));
    CHECK(found.bad == INT64_MAX && found.coincident == INT64_MAX);
    s.nbody.eps = 0;
    find_force(&s);
    CHECK(force_error(&s, x) <= (is_double ? 1e-13 : 1e-6));
    must(sim_nbody_scratch(&s.nbody, s.nbody.scratch.bytes + 1000));
    must(s.ops->check(&s.nbody, out.data));
    must(sim_buffer_read(&out, 0, &found, sizeof found));
    CHECK(found.bad == INT64_MAX);
    CHECK(found.coincident == low);
    sim_buffer_free(&out);
    free_system(&s);
}

static void test_coincident(struct sim_device *device, bool is_double)
{
    for (int low = 0; low <= 280; low += 140) {
        check_coincident(device, is_double, SIM_PAIRS_AUTO, low);
        check_coincident(device, is_double, SIM_PAIRS_PLAIN, low);
        check_coincident(device, is_double, SIM_PAIRS_SYMMETRIC, low);
    }
}

static void test_check(struct sim_device *device, bool is_double)
{
    enum { N = 1000 };
    static struct body4 x[N], v[N];
    struct sim_nbody_check found;
    struct sim_buffer out;
    must(sim_buffer_new(device, sizeof found, "check", &out));
    for (int field = 0; field < 7; field++) {
        fill(x, v, N, 0, false, is_double);
        (field < 4 ? &x[997].x + field : &v[997].x + field - 4)[0] = NAN;
        if (field % 2)
            v[431].y = -INFINITY;
        struct system s = make_system(device, is_double, N, x, v);
        must(s.ops->check(&s.nbody, out.data));
        must(sim_buffer_read(&out, 0, &found, sizeof found));
        CHECK(found.bad == (field % 2 ? 431 : 997));
        CHECK(found.coincident == INT64_MAX);
        free_system(&s);
    }
    sim_buffer_free(&out);
}

/* --- stages ----------------------------------------------------------------------------
 */

static bool same_bodies(const struct system *a, const struct system *b)
{
    bool same = true;
    const struct sim_buffer *left[] = {&a->position, &a->velocity, &a->acceleration};
    const struct sim_buffer *right[] = {&b->position, &b->velocity, &b->acceleration};
    for (int k = 0; k < 3; k++) {
        struct body4 *p = read_bodies(a, left[k]), *q = read_bodies(b, right[k]);
        for (int64_t i = 0; i < a->nbody.n; i++)
            same = same && !memcmp(&p[i], &q[i], 3 * sizeof(double)) && p[i].w == q[i].w;
        free(p);
        free(q);
    }
    return same;
}

/* A kick-drift-kick step, as the plain loop has it. */
static void test_step(struct sim_device *device, bool is_double)
{
    enum { N = 65 };
    struct body4 x[N], v[N];
    fill(x, v, N, 0, false, is_double);
    struct system s = make_system(device, is_double, N, x, v);
    s.nbody.dt = -0.25;
    find_force(&s);
    take(&s, 1);
    struct body4 *have_x = read_bodies(&s, &s.position), *a = room(N, sizeof *a);
    struct body4 *have_v = read_bodies(&s, &s.velocity);
    for (int i = 0; i < N; i++)
        a[i] = pull(x, N, i, s.nbody.eps, 1);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 3; c++) {
            (&v[i].x)[c] += 0.5 * -0.25 * (&a[i].x)[c];
            (&x[i].x)[c] += -0.25 * (&v[i].x)[c];
        }
    double worst = 0;
    for (int i = 0; i < N; i++) {
        struct body4 next = pull(x, N, i, s.nbody.eps, 1);
        for (int c = 0; c < 3; c++) {
            double want = (&v[i].x)[c] + 0.5 * -0.25 * (&next.x)[c];
            worst = fmax(worst, fabs((&have_v[i].x)[c] - want));
            worst = fmax(worst, fabs((&have_x[i].x)[c] - (&x[i].x)[c]));
        }
        CHECK(have_x[i].w == x[i].w);
    }
    CHECK_NEAR(worst, 0, is_double ? 1e-14 : 1e-6);
    free(have_x);
    free(have_v);
    free(a);
    free_system(&s);
}

static void test_steps_at_once(struct sim_device *device, bool is_double)
{
    enum { N = 257 };
    struct body4 x[N], v[N];
    fill(x, v, N, 0, true, is_double);
    struct system a = make_system(device, is_double, N, x, v),
                  b = make_system(device, is_double, N, x, v);
    find_force(&a);
    find_force(&b);
    take(&a, 7);
    take(&b, 0);
    for (int k = 0; k < 3; k++)
        take(&b, k + 1);
    CHECK(!same_bodies(&a, &b));
    take(&b, 1);
    CHECK(same_bodies(&a, &b));
    free_system(&a);
    free_system(&b);
}

/* More kicks between forces than one launch of a GPU's mover holds. */
static void test_many_stages(struct sim_device *device, bool is_double)
{
    struct sim_stage many[40];
    struct body4 x = {1, 2, 3, 1}, v = {0.5, -0.25, 0.125, 0};
    for (int k = 0; k < 40; k++)
        many[k] = (struct sim_stage){k == 20 ? SIM_FORCE
                                     : k % 2 ? SIM_DRIFT
                                             : SIM_KICK,
                                     1};
    struct system s = make_system(device, is_double, 1, &x, &v);
    s.nbody.dt = 0.5;
    find_force(&s);
    must(s.ops->advance(&s.nbody, many, 40, 2));
    struct body4 *have = read_bodies(&s, &s.position);
    CHECK(have->x == 1 + 20 * 0.5 * 2 * 0.5 && have->y == 2 - 5 && have->z == 3 + 2.5);
    free(have);
    free_system(&s);
}

static void check_threads(struct sim_device *device, bool is_double, enum sim_pairs pairs,
                          bool mixed, double eps)
{
    enum { N = 1789 }; /* four blocks of symmetric pairs, the last one ragged */
    static struct body4 x[N], v[N];
    static const int threads[] = {1, 2, 7};
    struct system s[3];
    struct sim_nbody_sums sums[3];
    double potential[3], radii[3][2];
    const int before = device->threads;
    fill(x, v, N, 0, false, is_double);
    for (int k = 0; k < 3; k++) {
        device->threads = threads[k];
        s[k] = make_system(device, is_double, N, x, v);
        s[k].nbody.tuning.pairs = pairs;
        s[k].nbody.mixed = mixed;
        s[k].nbody.eps = eps;
        s[k].nbody.momentum_unit = mixed ? 0x1p-60 : 0;
        s[k].nbody.momentum_least = mixed ? 1e-9 : 0;
        find_force(&s[k]);
        take(&s[k], 3);
        must(s[k].ops->sums(&s[k].nbody, SIM_ALL_GROUPS, &sums[k]));
        must(s[k].ops->potential(&s[k].nbody, &potential[k]));
        must(s[k].ops->radii(&s[k].nbody, SIM_ALL_GROUPS, sums[k].centre,
                             (const double[]){0.5, 1}, 2, radii[k]));
        CHECK(same_bodies(&s[0], &s[k]));
        CHECK(!memcmp(&sums[0], &sums[k], sizeof sums[0]));
        CHECK(potential[0] == potential[k]);
        CHECK(!memcmp(radii[0], radii[k], sizeof radii[0]));
    }
    for (int k = 0; k < 3; k++)
        free_system(&s[k]);
    device->threads = before;
}

static void test_threads(struct sim_device *device, bool is_double)
{
    const int last = device->kind == SIM_CPU ? SIM_PAIRS_PLAIN : SIM_PAIRS_AUTO;
    for (int pairs = SIM_PAIRS_AUTO; pairs <= last; pairs++)
        for (int mixed = 0; mixed <= is_double; mixed++) {
            check_threads(device, is_double, (enum sim_pairs)pairs, mixed, 0.05);
            if (!mixed)
                check_threads(device, is_double, (enum sim_pairs)pairs, false, 0);
        }
}

/* --- tuning ----------------------------------------------------------------------------
 */

static void check_tuning(struct sim_device *device, bool is_double,
                         struct sim_nbody_tuning tuning, int64_t n, double eps)
{
    struct force_case c = {"tuned", 0, eps, 1, SIM_GRAVITY};
    struct body4 *x = room((size_t)n, sizeof *x), *v = room((size_t)n, sizeof *v);
    fill(x, v, n, 0, false, is_double);
    struct system s = make_system(device, is_double, n, x, v);
    s.nbody.eps = c.eps;
    s.nbody.tuning = tuning;
    enum sim_status status = s.ops->advance(&s.nbody, force_only, 1, 1);
    if (status == SIM_OK)
        CHECK(force_error(&s, x) <= (is_double ? 1e-13 : 1e-6));
    else
        CHECK(status == SIM_BAD_ARGUMENT && strstr(sim_error_text(), "legal are"));
    free_system(&s);
    free(x);
    free(v);
}

static void test_tuning(struct sim_device *device, bool is_double)
{
    struct body4 x = {0, 0, 0, 1}, v = {0};
    struct system s = make_system(device, is_double, 1, &x, &v);
    s.nbody.tuning.tile = 77;
    CHECK(s.ops->advance(&s.nbody, force_only, 1, 1) == SIM_BAD_ARGUMENT);
    s.nbody.tuning = (struct sim_nbody_tuning){.split = -1};
    CHECK(s.ops->advance(&s.nbody, force_only, 1, 1) == SIM_BAD_ARGUMENT);
    free_system(&s);
    if (device->kind == SIM_CPU)
        return;
    static const int64_t all[] = {1, 33, 257, 1009};
    const int64_t *sizes = small ? few : all;
    for (int unroll = 1; unroll <= 16; unroll *= 2)
        for (int guarded = 0; guarded < 2; guarded++)
            check_tuning(device, is_double,
                         (struct sim_nbody_tuning){256, unroll, 1, 0, SIM_PAIRS_PLAIN},
                         257, guarded ? 0 : 0.05);
    const int count = small ? 3 : 4;
    for (int tile = 64; tile <= 256; tile *= 2)
        for (int k = 1; k <= 8; k *= 2)
            for (int split = 0; split <= 5; split += 5)
                for (int n = small ? 1 : 0; n < count; n++)
                    for (int guarded = 0; guarded < 2; guarded++)
                        check_tuning(
                            device, is_double,
                            (struct sim_nbody_tuning){tile, 0, k, split, SIM_PAIRS_PLAIN},
                            sizes[n], guarded ? 0 : 0.05);
}

/* --- ways to meet the pairs ------------------------------------------------------------
 */

/* Half of the bodies have one mass, a quarter another, the others each their own: kernels
 * may take stretches of equal masses another way. */
static void level_masses(struct body4 *x, int64_t n)
{
    for (int64_t i = 0; i < 3 * n / 4; i++)
        x[i].w = (i < n / 2 ? 1.0 : 0.5) / (double)n;
}

static void check_way(struct sim_device *device, bool is_double, int64_t n,
                      struct sim_nbody_tuning tuning, enum sim_coupling coupling,
                      bool mixed, double eps)
{
    struct body4 *x = room((size_t)n, sizeof *x), *v = room((size_t)n, sizeof *v);
    fill(x, v, n, 0, coupling == SIM_CHARGE, is_double);
    if (coupling == SIM_GRAVITY)
        level_masses(x, n);
    round_bodies(x, n, is_double);
    struct system s = make_system(device, is_double, n, x, v),
                  again = make_system(device, is_double, n, x, v);
    s.nbody.tuning = again.nbody.tuning = tuning;
    s.nbody.mixed = again.nbody.mixed = mixed;
    s.nbody.coupling = again.nbody.coupling = coupling;
    s.nbody.G = again.nbody.G = 0.7;
    s.nbody.eps = again.nbody.eps = eps;
    enum sim_status status = s.ops->advance(&s.nbody, force_only, 1, 1);
    if (status == SIM_OK) {
        const double error = force_error(&s, x);
        const double limit = mixed ? 2e-7 : is_double ? 1e-13 : 1e-6;
        if (!check_that(error <= limit, __FILE__, __LINE__, "force within its tolerance"))
            printf("     %s, n = %lld, pairs %d, tile %d, per_thread %d, split %d: rms "
                   "error %.3g\n",
                   s.ops->name, (long long)n, tuning.pairs, tuning.tile,
                   tuning.per_thread, tuning.split, error);
        find_force(&again);
        take(&again, 2);
        take(&s, 1);
        take(&s, 1);
        CHECK(same_bodies(&s, &again));
    } else
        CHECK(status == SIM_BAD_ARGUMENT &&
              (strstr(sim_error_text(), "legal are") ||
               (mixed && strstr(sim_error_text(), "need a softening above 0")) ||
               strstr(sim_error_text(), "do not fit")));
    free_system(&s);
    free_system(&again);
    free(x);
    free(v);
}

/* Symmetric pairs with all block shapes and the resident kernel, at sizes about those of
 * the blocks: 128 to 1,024 bodies. */
static void test_ways(struct sim_device *device, bool is_double)
{
    static const int64_t sizes[] = {1,   2,   31,  32,   33,   127,  129,  511,
                                    512, 513, 769, 1023, 1025, 2049, 4095, 10007};
    struct body4 x = {0, 0, 0, 1}, v = {0};
    struct system s = make_system(device, is_double, 1, &x, &v);
    s.nbody.tuning.pairs = SIM_PAIRS_RESIDENT;
    s.nbody.tuning.tile = 64;
    CHECK(s.ops->advance(&s.nbody, force_only, 1, 1) == SIM_BAD_ARGUMENT);
    free_system(&s);
    for (int k = 1; is_double && k < 1000; k += 333)
        check_way(device, true, k, (struct sim_nbody_tuning){0}, SIM_GRAVITY, true, 0.05);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes - (small ? 3 : 0); k++)
        for (int pairs = SIM_PAIRS_SYMMETRIC;
             pairs <= SIM_PAIRS_PLAIN && device->kind == SIM_CPU; pairs++)
            for (int charge = 0; charge < (sizes[k] < 4000 ? 2 : 1); charge++)
                check_way(device, is_double, sizes[k],
                          (struct sim_nbody_tuning){.pairs = (enum sim_pairs)pairs},
                          charge ? SIM_CHARGE : SIM_GRAVITY, false, charge ? 0 : 0.05);
    if (device->kind == SIM_CPU)
        return;
    for (size_t k = 0; k < (small ? FEW : sizeof sizes / sizeof *sizes); k++)
        for (int charge = 0; charge < (small ? 1 : 2); charge++) {
            const int64_t n = small ? few[k] : sizes[k];
            const enum sim_coupling coupling = charge ? SIM_CHARGE : SIM_GRAVITY;
            check_way(device, is_double, n,
                      (struct sim_nbody_tuning){.pairs = SIM_PAIRS_RESIDENT}, coupling,
                      false, 0.05);
            check_way(device, is_double, n,
                      (struct sim_nbody_tuning){.pairs = SIM_PAIRS_PLAIN}, coupling,
                      false, 0.05);
            for (int tile = 32; tile <= 128; tile *= 2)
                for (int per_lane = 4; per_lane <= 16; per_lane *= 2)
                    for (int run = 0; run <= 3; run += 3)
                        for (int mixed = 0; mixed <= (is_double && !charge); mixed++)
                            check_way(device, is_double, n,
                                      (struct sim_nbody_tuning){tile, 0, per_lane, run,
                                                                SIM_PAIRS_SYMMETRIC},
                                      coupling, mixed, run || mixed ? 0.05 : 0);
        }
    if (small)
        return;
    check_way(device, is_double, 65537,
              (struct sim_nbody_tuning){.pairs = SIM_PAIRS_SYMMETRIC}, SIM_GRAVITY, false,
              0.05);
    check_way(device, is_double, 65537,
              (struct sim_nbody_tuning){.pairs = SIM_PAIRS_SYMMETRIC}, SIM_GRAVITY,
              is_double, 0.05);
}

static void test_refusals(struct sim_device *device, bool is_double)
{
    struct body4 x = {0, 0, 0, 1}, v = {0};
    struct system s = make_system(device, is_double, 1, &x, &v);
    s.nbody.eps = is_double ? 1e-160 : 1e-25;
    CHECK(s.ops->advance(&s.nbody, force_only, 1, 1) == SIM_BAD_ARGUMENT);
    CHECK(strstr(sim_error_text(), "softening") != NULL);
    s.nbody.eps = is_double ? 1e160 : 1e25;
    CHECK(s.ops->advance(&s.nbody, force_only, 1, 1) == SIM_BAD_ARGUMENT);
    s.nbody.eps = 1;
    sim_interrupt_set(2);
    CHECK(s.ops->advance(&s.nbody, kdk, 4, 1000000) == SIM_INTERRUPTED);
    sim_interrupt_set(0);
    free_system(&s);
}

/* Metres and kilogrammes: 1/r^3 alone would leave the range of single precision. */
static void test_range(struct sim_device *device, bool is_double)
{
    struct body4 x[2] = {{0, 0, 0, 1.98841e30}, {1e15, 0, 0, 6e24}}, v[2] = {{0}};
    round_bodies(x, 2, is_double);
    struct system s = make_system(device, is_double, 2, x, v);
    s.nbody.eps = 1e6;
    s.nbody.G = 6.6743e-11;
    find_force(&s);
    struct body4 *a = read_bodies(&s, &s.acceleration);
    CHECK_NEAR(a[1].x / (-6.6743e-11 * 1.98841e30 / 1e30), 1, 1e-6);
    CHECK_NEAR(a[0].x / (6.6743e-11 * 6e24 / 1e30), 1, 1e-6);
    free(a);
    free_system(&s);
}

/* --- diagnostics -----------------------------------------------------------------------
 */

static struct sim_nbody_sums plain_sums(const struct body4 *x, const struct body4 *v,
                                        int64_t n, uint64_t groups, bool charge)
{
    struct sim_nbody_sums s = {0};
    double mean[3] = {0};
    for (int64_t i = 0; i < n; i++) {
        const double m = charge ? 1 : x[i].w, *p = &x[i].x, *q = &v[i].x;
        if (!(groups >> i % 3 & 1))
            continue;
        s.count++;
        s.mass += m;
        for (int k = 0; k < 3; k++) {
            s.centre[k] += m * p[k];
            mean[k] += p[k];
            s.momentum[k] += m * q[k];
            s.angular_momentum[k] +=
                m * (p[(k + 1) % 3] * q[(k + 2) % 3] - p[(k + 2) % 3] * q[(k + 1) % 3]);
            s.kinetic += 0.5 * m * q[k] * q[k];
        }
    }
    for (int k = 0; k < 3; k++)
        s.centre[k] = s.mass != 0 ? s.centre[k] / s.mass
                      : s.count   ? mean[k] / s.count
                                  : 0;
    return s;
}

static void check_sums(struct system *s, const struct body4 *x, const struct body4 *v,
                       uint64_t groups)
{
    const bool charge = s->nbody.coupling == SIM_CHARGE;
    struct sim_nbody_sums want = plain_sums(x, v, s->nbody.n, groups, charge), have;
    struct sim_buffer centre;
    double at[3];
    memset(&have, 0xff, sizeof have);
    must(s->ops->sums(&s->nbody, groups, &have));
    for (size_t k = 0; k < sizeof have / sizeof(double); k++)
        CHECK_NEAR(((double *)&have)[k], ((double *)&want)[k],
                   2e-13 * (1 + (charge ? want.count : 1)));
    must(sim_buffer_new(s->nbody.device, sizeof at, "centre", &centre));
    must(s->ops->centre(&s->nbody, groups, centre.data));
    must(sim_buffer_read(&centre, 0, at, sizeof at));
    CHECK(!memcmp(at, have.centre, sizeof at));
    sim_buffer_free(&centre);
}

static void check_potential(struct system *s, const struct body4 *x)
{
    const bool charge = s->nbody.coupling == SIM_CHARGE;
    long double want = 0;
    double size = 0, have = NAN;
    for (int64_t i = 0; i < s->nbody.n; i++)
        for (int64_t j = 0; j < i; j++) {
            double r2 = square(minus(x[i], x[j])) + s->nbody.eps * s->nbody.eps;
            want += (long double)(x[i].w * x[j].w / sqrt(r2));
            size += fabs(x[i].w * x[j].w) / sqrt(r2);
        }
    must(s->ops->potential(&s->nbody, &have));
    CHECK_NEAR(have, s->nbody.G * (double)(charge ? want : -want),
               s->nbody.G * size * 1e-14 + 1e-300);
}

/* The distance of the body that first brings the mass within it to the fraction. */
static double plain_radius(const struct system *s, const struct body4 *x, uint64_t groups,
                           const double c[3], double fraction, bool by_number)
{
    double best = INFINITY, total = 0;
    for (int64_t i = 0; i < s->nbody.n; i++)
        total += groups >> i % 3 & 1 ? by_number ? 1 : x[i].w : 0;
    for (int64_t i = 0; i < s->nbody.n; i++) {
        double r2 = square(minus(x[i], (struct body4){c[0], c[1], c[2], 0})), within = 0;
        for (int64_t j = 0; j < s->nbody.n && groups >> i % 3 & 1; j++)
            if (groups >> j % 3 & 1 &&
                square(minus(x[j], (struct body4){c[0], c[1], c[2], 0})) <= r2)
                within += by_number ? 1 : x[j].w;
        if (groups >> i % 3 & 1 && within >= fraction * total * (1 - 1e-14) && r2 < best)
            best = r2;
    }
    return sqrt(best);
}

static void check_radii(struct system *s, const struct body4 *x, uint64_t groups,
                        bool massless)
{
    const double centre[3] = {0.1, -0.2, 0.3};
    const double fractions[] = {0.001, 0.1, 0.4999, 0.9, 1};
    double have[5] = {NAN, NAN, NAN, NAN, NAN};
    const bool by_number = massless || s->nbody.coupling == SIM_CHARGE;
    must(s->ops->radii(&s->nbody, groups, centre, fractions, 5, have));
    for (int k = 0; k < 5; k++)
        CHECK_NEAR(have[k], plain_radius(s, x, groups, centre, fractions[k], by_number),
                   1e-15);
}

static void test_diagnostics(struct sim_device *device, bool is_double)
{
    static const int64_t sizes[] = {3, 33, 257, 1009, 1500};
    for (int k = 0; k < (small ? 3 : 5); k++)
        for (int kind = 0; kind < 3; kind++) {
            const int64_t n = sizes[k];
            struct body4 *x = room((size_t)n, sizeof *x), *v = room((size_t)n, sizeof *v);
            fill(x, v, n, 0, kind == 1, is_double);
            for (int64_t i = 0; i < n && kind == 2; i++)
                x[i].w = 0;
            struct system s = make_system(device, is_double, n, x, v);
            s.nbody.coupling = kind == 1 ? SIM_CHARGE : SIM_GRAVITY;
            s.nbody.G = 2.5;
            check_sums(&s, x, v, SIM_ALL_GROUPS);
            check_sums(&s, x, v, 5);
            check_sums(&s, x, v, 8); /* none */
            check_radii(&s, x, SIM_ALL_GROUPS, kind == 2);
            check_radii(&s, x, 2, kind == 2);
            check_potential(&s, x);
            s.nbody.eps = 0;
            check_potential(&s, x);
            free_system(&s);
            free(x);
            free(v);
        }
}

int main(void)
{
    small = getenv("SIMLUA_SMALL") != NULL;
    on_every_device(test_forces);
    on_every_device(test_coincident);
    on_every_device(test_check);
    on_every_device(test_step);
    on_every_device(test_steps_at_once);
    on_every_device(test_many_stages);
    on_every_device(test_threads);
    on_every_device(test_tuning);
    on_every_device(test_ways);
    on_every_device(test_refusals);
    on_every_device(test_range);
    on_every_device(test_diagnostics);
    return check_report();
}
