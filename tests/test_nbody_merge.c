/* test_nbody_merge.c - bodies that come close become one: clusters against a search over
 * all pairs, what is conserved, independence of the order of storage, the place of the
 * merging in every scheme. On every device; both give the same bits. */
#include "nbody_system.h"
#include "../src/bodies.h"

static bool small;

static const struct sim_stage merge_only[] = {{SIM_MERGE, 0}};

struct outcome {
    struct body4 *x, *v;
    uint8_t *group;
};

static struct outcome merge(struct system *s, double distance)
{
    struct outcome out;
    s->nbody.merge_distance = distance;
    must(s->ops->advance(&s->nbody, merge_only, 1, 1));
    out.x = read_bodies(s, &s->position);
    out.v = read_bodies(s, &s->velocity);
    out.group = room((size_t)s->nbody.n, 1);
    must(sim_buffer_read(&s->group, 0, out.group, (size_t)s->nbody.n));
    return out;
}

static void free_outcome(struct outcome *o)
{
    free(o->x);
    free(o->v);
    free(o->group);
}

/* Random in each field; a share of the bodies without mass, some far away. */
static void fill(struct body4 *x, struct body4 *v, int64_t n, bool is_double)
{
    uint64_t seed = 5 + (uint64_t)n;
    for (int64_t i = 0; i < n; i++) {
        const double offset = i % 7 == 3 ? -1e3 : 0;
        for (int k = 0; k < 3; k++) {
            (&x[i].x)[k] = offset + 2 * uniform(&seed) - 1;
            (&v[i].x)[k] = uniform(&seed) - 0.5;
        }
        x[i].w = i % 5 == 1 ? 0 : pow(10, 4 * uniform(&seed) - 2);
        v[i].w = 0;
    }
    round_bodies(x, n, is_double);
    round_bodies(v, n, is_double);
}

/* --- the reference: all pairs, lowest index
 * ---------------------------------------------
 */

static void find_clusters(const struct body4 *x, int64_t n, double distance, int64_t *to)
{
    bool changed = true;
    for (int64_t i = 0; i < n; i++)
        to[i] = i;
    while (changed) {
        changed = false;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < i; j++) {
                const double a = x[i].x - x[j].x, b = x[i].y - x[j].y,
                             c = x[i].z - x[j].z;
                if (to[i] == to[j] || !(a * a + b * b + c * c < distance * distance))
                    continue;
                const int64_t low = to[i] < to[j] ? to[i] : to[j];
                to[i] = to[j] = low;
                changed = true;
            }
    }
}

static void check_cluster(const struct body4 *x, const struct body4 *v, int64_t n,
                          const int64_t *to, int64_t root, const struct outcome *have,
                          bool is_double)
{
    long double mass = 0, count = 0, weight = 0, place[3] = {0}, moment[3] = {0};
    double heaviest = -1, size = 0, fast = 0, tolerance = is_double ? 4e-16 : 2e-7;
    int group = 255;
    for (int64_t i = 0; i < n; i++)
        if (to[i] == root) {
            mass += x[i].w;
            count++;
        }
    for (int64_t i = 0; i < n; i++)
        if (to[i] == root) {
            const long double w = mass > 0 ? (long double)x[i].w : 1;
            weight += w;
            for (int k = 0; k < 3; k++) {
                place[k] += w * (&x[i].x)[k];
                moment[k] += w * (&v[i].x)[k];
                size = fmax(size, fabs((&x[i].x)[k]));
                fast = fmax(fast, fabs((&v[i].x)[k]));
            }
            if (x[i].w > heaviest || (x[i].w == heaviest && i % 3 < group)) {
                heaviest = x[i].w;
                group = (int)(i % 3);
            }
            if (i != root)
                CHECK(have->group[i] == SIM_GONE && have->x[i].w == 0);
        }
    CHECK(have->group[root] == group);
    if (count == 1) {
        CHECK(!memcmp(&have->x[root], &x[root], sizeof *x));
        CHECK(!memcmp(&have->v[root], &v[root], sizeof *v));
        return;
    }
    CHECK_NEAR(have->x[root].w, (double)mass, tolerance * (double)mass);
    for (int k = 0; k < 3; k++) {
        CHECK_NEAR((&have->x[root].x)[k], (double)(place[k] / weight), tolerance * size);
        CHECK_NEAR((&have->v[root].x)[k], (double)(moment[k] / weight), tolerance * fast);
    }
}

/* What the first device found, for the others to find too. */
static struct keep {
    size_t bytes;
    void *x, *v;
} kept[2][16];

static void same_everywhere(struct keep *k, const struct outcome *o, int64_t n)
{
    const size_t bytes = (size_t)n * sizeof *o->x;
    if (!k->x) {
        *k = (struct keep){bytes, room((size_t)n, sizeof *o->x),
                           room((size_t)n, sizeof *o->x)};
        memcpy(k->x, o->x, bytes);
        memcpy(k->v, o->v, bytes);
        return;
    }
    CHECK(k->bytes == bytes && !memcmp(k->x, o->x, bytes) && !memcmp(k->v, o->v, bytes));
}

static void check_clusters(struct sim_device *device, bool is_double, int64_t n,
                           double distance, int which)
{
    struct body4 *x = room((size_t)n, sizeof *x), *v = room((size_t)n, sizeof *v);
    int64_t *to = room((size_t)n, sizeof *to), merged = 0, most = 0;
    fill(x, v, n, is_double);
    find_clusters(x, n, distance, to);
    struct system s = make_system(device, is_double, n, x, v);
    struct outcome have = merge(&s, distance);
    for (int64_t i = 0; i < n; i++) {
        merged += to[i] != i;
        if (to[i] == i)
            check_cluster(x, v, n, to, i, &have, is_double);
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t size = 0;
        for (int64_t j = 0; j < n; j++)
            size += to[j] == i;
        most = size > most ? size : most;
    }
    CHECK(n < 100 || (merged > 5 && most > 2));
    same_everywhere(&kept[is_double][which], &have, n);
    free_outcome(&have);
    free_system(&s);
    free(x);
    free(v);
    free(to);
}

static void test_clusters(struct sim_device *device, bool is_double)
{
    static const struct {
        int64_t n;
        double distance;
    } cases[] = {{1, 1},     {2, 10},   {31, 0.2},   {127, 0.2},  {257, 0.15}, {512, 0.1},
                 {512, 0.3}, {513, 10}, {1009, 0.1}, {1009, 4e3}, {1009, 0.16}};
    const size_t count = sizeof cases / sizeof *cases;
    for (size_t k = 0; k < count - (small ? 3 : 0); k++)
        check_clusters(device, is_double, cases[k].n, cases[k].distance, (int)k);
}

/* --- order -----------------------------------------------------------------------------
 */

static int by_value(const void *a, const void *b)
{
    return memcmp(a, b, 2 * sizeof(struct body4));
}

/* The bodies that are left, as one sorted list. */
static int64_t sorted(const struct outcome *o, int64_t n, struct body4 (*out)[2])
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        if (o->group[i] != SIM_GONE) {
            out[count][0] = o->x[i];
            out[count++][1] = o->v[i];
        }
    qsort(out, (size_t)count, sizeof *out, by_value);
    return count;
}

static void test_order(struct sim_device *device, bool is_double)
{
    enum { N = 509 };
    static struct body4 x[N], v[N], y[N], u[N], first[N][2], other[N][2];
    fill(x, v, N, is_double);
    for (int i = 0; i < N; i++) {
        y[i] = x[i * 211 % N];
        u[i] = v[i * 211 % N];
    }
    struct system s = make_system(device, is_double, N, x, v),
                  t = make_system(device, is_double, N, y, u);
    struct outcome a = merge(&s, 0.15), b = merge(&t, 0.15);
    const int64_t left = sorted(&a, N, first);
    CHECK(left < N - 50 && left > 50);
    CHECK(sorted(&b, N, other) == left);
    CHECK(!memcmp(first, other, (size_t)left * sizeof *first));
    free_outcome(&a);
    free_outcome(&b);
    free_system(&s);
    free_system(&t);
}

/* A line of bodies just closer than the distance, and one just beyond. */
static void test_chain(struct sim_device *device, bool is_double)
{
    enum { N = 300 };
    static struct body4 x[N], v[N];
    for (int i = 0; i < N; i++) {
        x[i] = (struct body4){0.25 * (i * 7 % N), 0, 0, 1};
        v[i] = (struct body4){i, -i, 1, 0};
    }
    struct system s = make_system(device, is_double, N, x, v);
    struct outcome apart = merge(&s, 0.25), one = merge(&s, 0.2501);
    for (int i = 0; i < N; i++) {
        CHECK(apart.group[i] == i % 3);
        CHECK(one.group[i] == (i ? SIM_GONE : 0));
    }
    CHECK(one.x[0].w == N && one.v[0].z == 1);
    CHECK_NEAR(one.x[0].x, 0.125 * (N - 1), 1e-5);
    CHECK_NEAR(one.v[0].x, 0.5 * (N - 1), 1e-4);
    free_outcome(&apart);
    free_outcome(&one);
    free_system(&s);
}

/* --- in steps --------------------------------------------------------------------------
 */

enum { CLOUD = 200 };

static struct sim_bodies make_cloud(struct sim_device *device, bool is_double,
                                    enum sim_scheme scheme, double eta, double distance)
{
    struct sim_bodies_desc desc = {.G = 1,
                                   .dt = 0.01,
                                   .scheme = scheme,
                                   .corrections = 1,
                                   .eta = eta,
                                   .is_double = is_double,
                                   .merge_distance = distance};
    struct sim_bodies b;
    struct sim_model model;
    uint64_t seed = 8;
    must(sim_bodies_new(device, &desc, &b));
    must(sim_model_new(CLOUD, &model));
    for (int i = 0; i < CLOUD; i++) {
        struct sim_body *body = &model.bodies[i];
        *body = (struct sim_body){.mass = (0.5 + uniform(&seed)) / CLOUD};
        for (int k = 0; k < 3; k++) {
            body->position[k] = 2 * uniform(&seed) - 1;
            body->velocity[k] = 0.5 * uniform(&seed) - 0.2;
        }
    }
    for (int k = 0; k < 3; k++) /* two at one place from the start, without softening */
        model.bodies[17].position[k] = model.bodies[150].position[k];
    model.group_count = 1;
    strcpy(model.groups[0], "all");
    must(sim_bodies_add(&b, &model));
    sim_model_free(&model);
    return b;
}

static double nearest(const struct sim_model *m)
{
    double least = INFINITY;
    for (int64_t i = 0; i < m->n; i++)
        for (int64_t j = 0; j < i; j++) {
            double r2 = 0;
            for (int k = 0; k < 3; k++) {
                const double d = m->bodies[i].position[k] - m->bodies[j].position[k];
                r2 += d * d;
            }
            least = fmin(least, r2);
        }
    return sqrt(least);
}

static void check_scheme(struct sim_device *device, bool is_double,
                         enum sim_scheme scheme, double eta)
{
    struct sim_bodies a = make_cloud(device, is_double, scheme, eta, 0.08),
                      b = make_cloud(device, is_double, scheme, eta, 0.08);
    const double tolerance = is_double ? 1e-14 : 1e-6;
    struct sim_nbody_sums before, after;
    struct sim_model x, y;
    int64_t left, first;
    must(sim_bodies_count(&a, &left));
    CHECK(left == CLOUD);
    must(sim_bodies_sums(&a, SIM_ALL_GROUPS, &before));
    must(sim_bodies_step(&a, 1));
    must(sim_bodies_count(&a, &first));
    must(sim_bodies_step(&a, 6));
    must(sim_bodies_step(&a, 33));
    must(sim_bodies_step(&b, 40));
    must(sim_bodies_sums(&a, SIM_ALL_GROUPS, &after));
    must(sim_bodies_count(&a, &left));
    must(sim_bodies_read(&a, &x));
    must(sim_bodies_read(&b, &y));
    CHECK(left == x.n && left > 20 && left < first && first < CLOUD);
    CHECK(y.n == x.n && !memcmp(x.bodies, y.bodies, (size_t)x.n * sizeof *x.bodies));
    CHECK(nearest(&x) > 0.0799);
    CHECK_NEAR(after.mass, before.mass, tolerance);
    for (int k = 0; k < 3; k++) {
        CHECK_NEAR(after.momentum[k], before.momentum[k], 5 * tolerance);
        CHECK_NEAR(after.centre[k],
                   before.centre[k] +
                       before.momentum[k] / before.mass * sim_bodies_time(&a),
                   5 * tolerance);
    }
    sim_model_free(&x);
    sim_model_free(&y);
    sim_bodies_free(&a);
    sim_bodies_free(&b);
}

/* A look between two steps merges nothing, and changes nothing of the orbit. */
static void check_between(struct sim_device *device, bool is_double,
                          enum sim_scheme scheme)
{
    struct sim_bodies a = make_cloud(device, is_double, scheme, 0, 0.08),
                      b = make_cloud(device, is_double, scheme, 0, 0.08);
    struct sim_model x, y;
    for (int k = 0; k < 10; k++) {
        int64_t before, shown;
        must(sim_bodies_step(&a, 1));
        must(sim_bodies_count(&a, &before));
        must(sim_bodies_advance(&b, 0.01 * (k + 1) + 0.0049));
        must(sim_bodies_count(&b, &shown));
        CHECK(shown == before);
    }
    must(sim_bodies_step(&a, 5));
    must(sim_bodies_step(&b, 5));
    must(sim_bodies_read(&a, &x));
    must(sim_bodies_read(&b, &y));
    CHECK(y.n == x.n && !memcmp(x.bodies, y.bodies, (size_t)x.n * sizeof *x.bodies));
    sim_model_free(&x);
    sim_model_free(&y);
    sim_bodies_free(&a);
    sim_bodies_free(&b);
}

/* What is close at the start merges before it flies apart. */
static void check_start(struct sim_device *device, bool is_double, enum sim_scheme scheme)
{
    struct sim_bodies b;
    struct sim_model model;
    struct sim_bodies_desc desc = {.G = 1,
                                   .dt = 0.01,
                                   .scheme = scheme,
                                   .corrections = 1,
                                   .is_double = is_double,
                                   .merge_distance = 0.1};
    int64_t left;
    must(sim_bodies_new(device, &desc, &b));
    must(sim_model_new(2, &model));
    model.bodies[0] = (struct sim_body){.mass = 1, .velocity = {100, 0, 0}};
    model.bodies[1] = (struct sim_body){.mass = 3, .velocity = {-100, 4, 0}};
    model.group_count = 1;
    strcpy(model.groups[0], "all");
    must(sim_bodies_add(&b, &model));
    sim_model_free(&model);
    must(sim_bodies_step(&b, 1));
    must(sim_bodies_count(&b, &left));
    CHECK(left == 1);
    must(sim_bodies_read(&b, &model));
    CHECK(model.n == 1 && model.bodies[0].mass == 4);
    CHECK(model.bodies[0].velocity[0] == -50 && model.bodies[0].velocity[1] == 3);
    sim_model_free(&model);
    sim_bodies_free(&b);
}

static void test_schemes(struct sim_device *device, bool is_double)
{
    for (int scheme = SIM_LEAPFROG; scheme <= SIM_YOSHIDA4; scheme++) {
        check_scheme(device, is_double, (enum sim_scheme)scheme, 0);
        check_between(device, is_double, (enum sim_scheme)scheme);
        check_start(device, is_double, (enum sim_scheme)scheme);
    }
    if (!is_double)
        return;
    check_scheme(device, true, SIM_HERMITE4, 0);
    check_scheme(device, true, SIM_HERMITE4, 1e-3);
    check_between(device, true, SIM_HERMITE4);
    check_start(device, true, SIM_HERMITE4);
}

/* What is gone stays where it was, whichever way the pairs are met; all else moves. */
static void test_gone(struct sim_device *device, bool is_double)
{
    enum { N = 1500 };
    static struct body4 x[N], v[N];
    fill(x, v, N, is_double);
    for (int i = 0; i < N; i++)
        x[i].w /= N;
    for (int way = 0; way < 3; way++) {
        struct system s = make_system(device, is_double, N, x, v);
        struct outcome one = merge(&s, 0.1);
        s.nbody.eps = way ? 0.05 : 0;
        s.nbody.tuning.pairs = way == 2 ? SIM_PAIRS_PLAIN : SIM_PAIRS_AUTO;
        find_force(&s);
        take(&s, 3);
        struct body4 *end = read_bodies(&s, &s.position);
        int64_t gone = 0, moved = 0;
        for (int i = 0; i < N; i++) {
            const bool same = !memcmp(&end[i], &one.x[i], sizeof *end);
            gone += one.group[i] == SIM_GONE;
            moved += !same;
            CHECK(same == (one.group[i] == SIM_GONE));
        }
        CHECK(gone > 20 && gone + moved == N);
        free(end);
        free_outcome(&one);
        free_system(&s);
    }
}

static void test_refused(struct sim_device *device, bool is_double)
{
    struct sim_bodies b;
    struct sim_bodies_desc desc = {.G = 1,
                                   .dt = 1,
                                   .corrections = 1,
                                   .is_double = is_double,
                                   .merge_distance = 1e-170};
    CHECK(sim_bodies_new(device, &desc, &b) == SIM_BAD_ARGUMENT);
    CHECK(strstr(sim_error_text(), "cannot be squared") != NULL);
    desc.merge_distance = 1;
    desc.coupling = SIM_CHARGE;
    CHECK(sim_bodies_new(device, &desc, &b) == SIM_BAD_ARGUMENT);
    CHECK(strstr(sim_error_text(), "charges") != NULL);
    desc.coupling = SIM_GRAVITY;
    desc.reversible = true;
    CHECK(sim_bodies_new(device, &desc, &b) == SIM_BAD_ARGUMENT);
}

int main(void)
{
    small = getenv("SIMLUA_SMALL") != NULL;
    on_every_device(test_clusters);
    on_every_device(test_order);
    on_every_device(test_chain);
    on_every_device(test_schemes);
    on_every_device(test_gone);
    on_every_device(test_refused);
    for (int p = 0; p < 2; p++)
        for (int k = 0; k < 16; k++) {
            free(kept[p][k].x);
            free(kept[p][k].v);
        }
    return check_report();
}
