/* checkpoint.h - the state of a scene to a file and back, to the last bit.
 *
 * What a solver owes. One function that lists what its future depends on:
 *
 *     static void list(void *object, struct sim_state *state)
 *     {
 *         struct sim_thing *thing = object;
 *         sim_state_fixed(state, "n", &thing->n, sizeof thing->n);
 *         sim_state_value(state, "steps", &thing->steps, sizeof thing->steps);
 *         sim_state_array(state, "u", &thing->u, 0, bytes);
 *     }
 *     const struct sim_state_ops sim_thing_state = {.list = list};
 *
 * array: device memory, saved and put back. value: host memory, the same. fixed: what a
 * scene built again must have as it is in the file (sizes, names, time step); compared,
 * never changed. Everything is listed that makes the next step's bits: an acceleration
 * that belongs to the positions, a pressure that a solver starts from, an automatic
 * colour range. What is computed anew from these (scratch, tables) is not. The list is
 * asked for anew each time, so arrays may swap. Where the list itself depends on the
 * state, `expect` (else NULL) makes the object of a scene built anew ready for what a
 * file holds (sim_checkpoint_has, sim_checkpoint_bytes), before its list is compared;
 * `loaded` (else NULL) makes of what was put back what is not a block itself. A class
 * gets one row in the table of lua_checkpoint.c.
 *
 * The file: struct head, then the blocks, each a struct block_head and its bytes padded
 * to 16, then XXH3-128 of all before. A cut or a changed byte anywhere is found before
 * anything is put back.
 *
 * Not here: when to write, which of several files is read, what a script keeps (lib/sim).
 */
#ifndef SIM_CHECKPOINT_H
#define SIM_CHECKPOINT_H

#include "device.h"

#define SIM_STATE_NAME 48

enum sim_state_role { SIM_STATE_ARRAY, SIM_STATE_VALUE, SIM_STATE_FIXED };

struct sim_state_block {
    char name[SIM_STATE_NAME]; /* "1.bodies.position" */
    enum sim_state_role role;
    size_t bytes;
    struct sim_buffer *buffer; /* array */
    size_t offset;
    void *host; /* value, fixed */
};

/* A list of blocks; zero-initialised is empty. A failure while listing is kept and comes
 * out of the next call that can say it. */
struct sim_state {
    struct sim_state_block *blocks; /* owned */
    int64_t count, capacity;
    char prefix[24];
    enum sim_status status;
    struct sim_buffer *shadows; /* of a mirror: its own memory */
    void **shadow_values;
    int64_t shadow_count;
};

struct sim_checkpoint;

struct sim_state_ops {
    void (*list)(void *object, struct sim_state *state);
    enum sim_status (*expect)(void *object, const struct sim_checkpoint *checkpoint,
                              const char *prefix);
    enum sim_status (*loaded)(void *object);
    /* SIM_DIVERGED where its state is not finite: for runs without pictures, which look
       for that themselves. NULL: not looked at. Waits. */
    enum sim_status (*check)(void *object);
};

void sim_state_array(struct sim_state *state, const char *name, struct sim_buffer *buffer,
                     size_t offset, size_t bytes);
void sim_state_value(struct sim_state *state, const char *name, void *value,
                     size_t bytes);
void sim_state_fixed(struct sim_state *state, const char *name, void *value,
                     size_t bytes);

/* Empty the list, keeping its memory; free it, and a mirror's memory. */
void sim_state_clear(struct sim_state *state);
void sim_state_free(struct sim_state *state);
uint64_t sim_state_bytes(const struct sim_state *state);

/* Make `mirror` a copy of `state` in memory of its own, on the same device, enqueued. The
 * memory is kept from one call to the next. SIM_DEVICE_MEMORY, SIM_HOST_MEMORY. */
enum sim_status sim_state_mirror(const struct sim_state *state, struct sim_state *mirror);

/* Write a checkpoint of frame `frame`, with a text; waits for the device. SIM_FILE. */
enum sim_status sim_checkpoint_write(const char *path, const struct sim_state *state,
                                     int64_t frame, const void *text, size_t text_bytes);

/* A checkpoint that was read and found whole; zero-initialised: none. */
struct sim_checkpoint {
    char *path; /* owned */
    int fd;
    int64_t frame, block_count;
    struct sim_checkpoint_block {
        char name[SIM_STATE_NAME];
        uint64_t role, bytes, at;
    } * blocks; /* owned */
    char *text; /* owned; a zero behind it */
    size_t text_bytes;
};

/* SIM_FILE, saying what is wrong: not there, not a checkpoint, another version or byte
 * order, cut, changed. Close it in any case. */
enum sim_status sim_checkpoint_open(const char *path, struct sim_checkpoint *out);
void sim_checkpoint_close(struct sim_checkpoint *checkpoint);

/* Does the file hold a block of this name, for the object of this prefix? */
bool sim_checkpoint_has(const struct sim_checkpoint *checkpoint, const char *prefix,
                        const char *name);
/* Its bytes; 0 where there is none. */
size_t sim_checkpoint_bytes(const struct sim_checkpoint *checkpoint, const char *prefix,
                            const char *name);

/* Put the file's state in the place of `state`'s. SIM_USAGE, with nothing changed, when
 * the lists do not agree or a fixed block differs; it names the first one. */
enum sim_status sim_checkpoint_load(const struct sim_checkpoint *checkpoint,
                                    const struct sim_state *state);

/* The solvers' own, each in a file <solver>_state.c. */
extern const struct sim_state_ops sim_bodies_state, sim_field_state, sim_diffusion_state,
    sim_flow_state;

#endif
