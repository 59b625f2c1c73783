/* test_checkpoint.c - a state to a file and back, and files cut and changed at every
 * byte. */
#include "check.h"

#include <unistd.h>

#include "../src/bodies.h"
#include "../src/checkpoint.h"
#include "../src/file.h"

static char path[512];

struct thing {
    struct sim_buffer array;
    int64_t n, steps;
    double range[2];
};

static void list_thing(void *object, struct sim_state *state)
{
    struct thing *t = object;
    sim_state_fixed(state, "n", &t->n, sizeof t->n);
    sim_state_value(state, "steps", &t->steps, sizeof t->steps);
    sim_state_value(state, "range", t->range, sizeof t->range);
    sim_state_array(state, "array", &t->array, 8, (size_t)t->n);
}

static void fill_thing(struct sim_device *device, struct thing *t, int64_t n, int seed)
{
    unsigned char bytes[300];
    *t = (struct thing){.n = n, .steps = 7 * seed, .range = {0.1 * seed, 3}};
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(seed * 31 + (int)i * 7);
    CHECK_OK(sim_buffer_new(device, (size_t)n + 16, "a test", &t->array));
    CHECK_OK(sim_buffer_write(&t->array, 0, bytes, (size_t)n + 16));
}

static bool same_thing(const struct thing *a, const struct thing *b)
{
    char left[300], right[300];
    CHECK_OK(sim_buffer_read(&a->array, 8, left, (size_t)a->n));
    CHECK_OK(sim_buffer_read(&b->array, 8, right, (size_t)b->n));
    return a->n == b->n && a->steps == b->steps && a->range[0] == b->range[0] &&
           !memcmp(left, right, (size_t)a->n);
}

static void list_all(struct sim_state *state, struct thing *t)
{
    sim_state_clear(state);
    snprintf(state->prefix, sizeof state->prefix, "1.thing.");
    list_thing(t, state);
}

static void test_round_trip(struct sim_device *device)
{
    struct thing a, b;
    struct sim_state state = {0}, mirror = {0};
    struct sim_checkpoint c;
    for (int64_t n = 1; n < 40; n += 13) {
        fill_thing(device, &a, n, 1);
        fill_thing(device, &b, n, 2);
        CHECK(!same_thing(&a, &b));
        list_all(&state, &a);
        CHECK_OK(sim_state_mirror(&state, &mirror));
        a.steps++; /* the copy does not follow */
        CHECK_OK(sim_checkpoint_write(path, &mirror, 12, "words", 5));
        a.steps--;
        CHECK_OK(sim_checkpoint_open(path, &c));
        CHECK(c.frame == 12);
        CHECK_STRING(c.text, "words");
        list_all(&state, &b);
        CHECK_OK(sim_checkpoint_load(&c, &state));
        CHECK(same_thing(&a, &b));
        sim_checkpoint_close(&c);
        sim_buffer_free(&a.array);
        sim_buffer_free(&b.array);
    }
    CHECK(sim_state_bytes(&mirror) == 8 + 8 + 16 + 27);
    sim_state_free(&state);
    sim_state_free(&mirror);
}

/* A scene of another size, kind or length is refused, and stays as it was. */
static void test_disagreement(struct sim_device *device)
{
    struct thing a, b;
    struct sim_state state = {0};
    struct sim_checkpoint c;
    fill_thing(device, &a, 20, 1);
    fill_thing(device, &b, 21, 2);
    list_all(&state, &a);
    CHECK_OK(sim_checkpoint_write(path, &state, 0, "", 0));
    CHECK_OK(sim_checkpoint_open(path, &c));
    list_all(&state, &b);
    CHECK(sim_checkpoint_load(&c, &state) == SIM_USAGE);
    CHECK(strstr(sim_error_text(), "1.thing.n differs") != NULL);
    CHECK(b.steps == 14);
    list_all(&state, &a);
    sim_state_value(&state, "more", &a.steps, sizeof a.steps);
    CHECK(sim_checkpoint_load(&c, &state) == SIM_USAGE);
    CHECK(strstr(sim_error_text(), "more is new") != NULL);
    list_all(&state, &a);
    state.count--;
    CHECK(sim_checkpoint_load(&c, &state) == SIM_USAGE);
    CHECK(strstr(sim_error_text(), "array is missing") != NULL);
    sim_checkpoint_close(&c);
    sim_state_free(&state);
    sim_buffer_free(&a.array);
    sim_buffer_free(&b.array);
}

static bool opens(const char *bytes, size_t size)
{
    struct sim_checkpoint c;
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(bytes, 1, size, file) == size);
    CHECK(file && fclose(file) == 0);
    enum sim_status status = sim_checkpoint_open(path, &c);
    sim_checkpoint_close(&c);
    CHECK(status == SIM_OK || status == SIM_FILE);
    return status == SIM_OK;
}

static void test_damage(struct sim_device *device)
{
    struct thing a;
    struct sim_state state = {0};
    char *bytes;
    size_t size;
    fill_thing(device, &a, 20, 1);
    list_all(&state, &a);
    CHECK_OK(sim_checkpoint_write(path, &state, 3, "text", 4));
    CHECK_OK(sim_file_read(path, &bytes, &size));
    CHECK(opens(bytes, size));
    for (size_t cut = 0; cut < size; cut++)
        CHECK(!opens(bytes, cut));
    for (size_t at = 0; at < size; at++) {
        char was = bytes[at];
        bytes[at] = (char)(was ^ (1 << at % 8));
        CHECK(!opens(bytes, size));
        bytes[at] = was;
    }
    char *longer = malloc(size + 1);
    memcpy(longer, bytes, size);
    longer[size] = 0;
    CHECK(!opens(longer, size + 1));
    CHECK(opens(bytes, size)); /* it was the damage, not the test */
    free(longer);
    free(bytes);
    sim_state_free(&state);
    sim_buffer_free(&a.array);
}

static void add_bodies(struct sim_bodies *b)
{
    struct sim_model model;
    CHECK_OK(sim_model_new(33, &model));
    for (int64_t i = 0; i < model.n; i++) {
        double t = (double)i;
        model.bodies[i] = (struct sim_body){.position = {sin(t), cos(2 * t), sin(3 * t)},
                                            .velocity = {cos(t), sin(t), 0},
                                            .mass = 1 + t};
    }
    model.group_count = 1;
    snprintf(model.groups[0], SIM_GROUP_NAME, "stars");
    CHECK_OK(sim_bodies_add(b, &model));
    sim_model_free(&model);
}

/* Twice 5 steps are 10 steps, to the last bit, with a checkpoint between. */
static void test_bodies(struct sim_device *device, bool is_double)
{
    struct sim_bodies_desc desc = {
        .G = 1, .softening = 0.1, .dt = 0.01, .is_double = is_double};
    struct sim_bodies whole, first, second;
    struct sim_state state = {0}, left = {0}, right = {0};
    struct sim_checkpoint c;
    struct sim_bodies *all[] = {&whole, &first, &second};
    for (int i = 0; i < 3; i++) {
        CHECK_OK(sim_bodies_new(device, &desc, all[i]));
        add_bodies(all[i]);
    }
    CHECK_OK(sim_bodies_step(&whole, 10));
    CHECK_OK(sim_bodies_step(&first, 5));
    sim_bodies_state.list(&first, &state);
    CHECK_OK(sim_checkpoint_write(path, &state, 5, "", 0));
    CHECK_OK(sim_checkpoint_open(path, &c));
    sim_state_clear(&state);
    sim_bodies_state.list(&second, &state);
    CHECK_OK(sim_checkpoint_load(&c, &state));
    CHECK(second.steps == 5 && second.has_force);
    CHECK_OK(sim_bodies_step(&second, 5));
    sim_bodies_state.list(&whole, &left);
    sim_bodies_state.list(&second, &right);
    CHECK(left.count == right.count && left.count > 8);
    for (int64_t i = 0; i < left.count; i++) {
        char a[33 * 32], b[33 * 32];
        if (left.blocks[i].role != SIM_STATE_ARRAY)
            continue;
        CHECK(left.blocks[i].bytes <= sizeof a);
        CHECK_OK(sim_buffer_read(left.blocks[i].buffer, 0, a, left.blocks[i].bytes));
        CHECK_OK(sim_buffer_read(right.blocks[i].buffer, 0, b, left.blocks[i].bytes));
        CHECK(!memcmp(a, b, left.blocks[i].bytes));
    }
    sim_checkpoint_close(&c);
    sim_state_free(&state);
    sim_state_free(&left);
    sim_state_free(&right);
    for (int i = 0; i < 3; i++)
        sim_bodies_free(all[i]);
}

static void test_device(const char *spec)
{
    struct sim_device *device;
    if (sim_device_open(spec, 0, &device) != SIM_OK) {
        check_skip(sim_error_text());
        return;
    }
    device->poison = true;
    test_round_trip(device);
    test_disagreement(device);
    test_damage(device);
    test_bodies(device, false);
    test_bodies(device, true);
    sim_device_close(device);
}

int main(void)
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/test_checkpoint-%ld.sim", folder ? folder : "/tmp",
             (long)getpid());
    test_device("cpu");
    test_device("cuda");
    unlink(path);
    return check_report();
}
