/* checkpoint.c - see checkpoint.h. Bytes pass through one stretch of memory of 4 MiB, so
 * that a state as large as the device's memory can be saved. */
#include "checkpoint.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "file.h"

#define STRETCH    ((size_t)4 << 20)
#define PAD        16
#define MAGIC      "simlua\r\n" /* a file that passed through text mode does not match */
#define ORDER_MARK 0x01020304u
#define VERSION    1u
#define BLOCKS_MAX 1000000
#define TEXT_BLOCK "text"

struct head {
    char magic[8];
    uint32_t byte_order, version;
    uint64_t file_bytes, block_count;
    int64_t frame;
    uint64_t reserved;
};

struct block_head {
    char name[SIM_STATE_NAME];
    uint64_t role, bytes;
};

/* --- lists
 * ------------------------------------------------------------------------------ */

static struct sim_state_block *append(struct sim_state *state, const char *name,
                                      enum sim_state_role role, size_t bytes)
{
    if (state->count == state->capacity) {
        int64_t capacity = state->capacity ? 2 * state->capacity : 32;
        void *larger = realloc(state->blocks, (size_t)capacity * sizeof *state->blocks);
        if (!larger) {
            state->status = sim_fail(SIM_HOST_MEMORY, "out of host memory: a checkpoint");
            return NULL;
        }
        state->blocks = larger;
        state->capacity = capacity;
    }
    struct sim_state_block *block = &state->blocks[state->count++];
    *block = (struct sim_state_block){.role = role, .bytes = bytes};
    snprintf(block->name, sizeof block->name, "%.23s%.24s", state->prefix, name);
    return block;
}

void sim_state_array(struct sim_state *state, const char *name, struct sim_buffer *buffer,
                     size_t offset, size_t bytes)
{
    struct sim_state_block *block = append(state, name, SIM_STATE_ARRAY, bytes);
    if (block) {
        block->buffer = buffer;
        block->offset = offset;
    }
}

static void host_block(struct sim_state *state, const char *name,
                       enum sim_state_role role, void *value, size_t bytes)
{
    struct sim_state_block *block = append(state, name, role, bytes);
    if (block)
        block->host = value;
}

void sim_state_value(struct sim_state *state, const char *name, void *value, size_t bytes)
{
    host_block(state, name, SIM_STATE_VALUE, value, bytes);
}

void sim_state_fixed(struct sim_state *state, const char *name, void *value, size_t bytes)
{
    host_block(state, name, SIM_STATE_FIXED, value, bytes);
}

void sim_state_clear(struct sim_state *state)
{
    state->count = 0;
    state->status = SIM_OK;
    state->prefix[0] = '\0';
}

static void free_shadows(struct sim_state *state)
{
    for (int64_t i = 0; i < state->shadow_count; i++) {
        if (state->shadows[i].device)
            sim_buffer_free(&state->shadows[i]);
        free(state->shadow_values[i]);
    }
    free(state->shadows);
    free(state->shadow_values);
    state->shadows = NULL;
    state->shadow_values = NULL;
    state->shadow_count = 0;
}

void sim_state_free(struct sim_state *state)
{
    free_shadows(state);
    free(state->blocks);
    *state = (struct sim_state){0};
}

uint64_t sim_state_bytes(const struct sim_state *state)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < state->count; i++)
        sum += state->blocks[i].bytes;
    return sum;
}

/* --- a copy on the device
 * --------------------------------------------------------------- */

static enum sim_status fit_shadows(struct sim_state *mirror, int64_t count)
{
    if (mirror->shadow_count == count)
        return SIM_OK;
    free_shadows(mirror);
    size_t room = count ? (size_t)count : 1;
    mirror->shadows = calloc(room, sizeof *mirror->shadows);
    mirror->shadow_values = calloc(room, sizeof *mirror->shadow_values);
    if (!mirror->shadows || !mirror->shadow_values)
        return sim_fail(SIM_HOST_MEMORY, "out of host memory: a checkpoint");
    mirror->shadow_count = count;
    return SIM_OK;
}

static enum sim_status mirror_array(const struct sim_state_block *block,
                                    struct sim_state *mirror, struct sim_buffer *shadow)
{
    if (shadow->device && shadow->bytes != block->bytes)
        sim_buffer_free(shadow);
    if (!shadow->data)
        SIM_TRY(sim_buffer_new(block->buffer->device, block->bytes,
                               "the copy of a state for its checkpoint", shadow));
    SIM_TRY(sim_buffer_copy(shadow, 0, block->buffer, block->offset, block->bytes));
    sim_state_array(mirror, block->name, shadow, 0, block->bytes);
    return SIM_OK;
}

static enum sim_status mirror_value(const struct sim_state_block *block,
                                    struct sim_state *mirror, void **shadow)
{
    void *fitting = realloc(*shadow, block->bytes ? block->bytes : 1);
    if (!fitting)
        return sim_fail(SIM_HOST_MEMORY, "out of host memory: a checkpoint");
    *shadow = fitting;
    memcpy(fitting, block->host, block->bytes);
    host_block(mirror, block->name, block->role, fitting, block->bytes);
    return SIM_OK;
}

enum sim_status sim_state_mirror(const struct sim_state *state, struct sim_state *mirror)
{
    sim_state_clear(mirror);
    SIM_TRY(state->status);
    SIM_TRY(fit_shadows(mirror, state->count));
    for (int64_t i = 0; i < state->count; i++) {
        const struct sim_state_block *block = &state->blocks[i];
        int64_t before = mirror->count;
        if (block->role == SIM_STATE_ARRAY)
            SIM_TRY(mirror_array(block, mirror, &mirror->shadows[i]));
        else
            SIM_TRY(mirror_value(block, mirror, &mirror->shadow_values[i]));
        SIM_TRY(mirror->status);
        memcpy(mirror->blocks[before].name, block->name, SIM_STATE_NAME);
    }
    return SIM_OK;
}

/* --- writing
 * ---------------------------------------------------------------------------- */

struct writer {
    struct sim_draft draft;
    XXH3_state_t *hash;
    char *stretch;
};

static enum sim_status put(struct writer *w, const void *bytes, size_t size)
{
    XXH3_128bits_update(w->hash, bytes, size);
    return sim_draft_write(&w->draft, bytes, size);
}

static size_t padding(uint64_t bytes)
{
    return (size_t)((PAD - bytes % PAD) % PAD);
}

static enum sim_status put_array(struct writer *w, const struct sim_state_block *block)
{
    for (size_t done = 0; done < block->bytes;) {
        size_t size = block->bytes - done < STRETCH ? block->bytes - done : STRETCH;
        SIM_TRY(sim_buffer_read(block->buffer, block->offset + done, w->stretch, size));
        SIM_TRY(put(w, w->stretch, size));
        done += size;
    }
    return SIM_OK;
}

static enum sim_status put_block(struct writer *w, const struct sim_state_block *block)
{
    static const char zeros[PAD];
    struct block_head head = {.role = block->role, .bytes = block->bytes};
    memcpy(head.name, block->name, sizeof head.name);
    SIM_TRY(put(w, &head, sizeof head));
    if (block->role == SIM_STATE_ARRAY)
        SIM_TRY(put_array(w, block));
    else
        SIM_TRY(put(w, block->host, block->bytes));
    return put(w, zeros, padding(block->bytes));
}

static enum sim_status put_all(struct writer *w, const struct sim_state *state,
                               int64_t frame, const void *text, size_t text_bytes)
{
    struct sim_state_block last = {.name = TEXT_BLOCK,
                                   .role = SIM_STATE_VALUE,
                                   .bytes = text_bytes,
                                   .host = (void *)(uintptr_t)text};
    struct head head = {.magic = MAGIC,
                        .byte_order = ORDER_MARK,
                        .version = VERSION,
                        .block_count = (uint64_t)state->count + 1,
                        .frame = frame};
    XXH128_canonical_t sum;
    head.file_bytes = sizeof head + sizeof sum;
    for (int64_t i = 0; i <= state->count; i++) {
        uint64_t bytes = i < state->count ? state->blocks[i].bytes : text_bytes;
        head.file_bytes += sizeof(struct block_head) + bytes + padding(bytes);
    }
    SIM_TRY(put(w, &head, sizeof head));
    for (int64_t i = 0; i < state->count; i++)
        SIM_TRY(put_block(w, &state->blocks[i]));
    SIM_TRY(put_block(w, &last));
    XXH128_canonicalFromHash(&sum, XXH3_128bits_digest(w->hash));
    return sim_draft_write(&w->draft, &sum, sizeof sum);
}

enum sim_status sim_checkpoint_write(const char *path, const struct sim_state *state,
                                     int64_t frame, const void *text, size_t text_bytes)
{
    struct writer w = {.draft = {.fd = -1}};
    SIM_TRY(state->status);
    w.stretch = malloc(STRETCH);
    w.hash = XXH3_createState();
    enum sim_status status = SIM_OK;
    if (!w.stretch || !w.hash)
        status = sim_fail(SIM_HOST_MEMORY, "out of host memory: a checkpoint");
    if (status == SIM_OK) {
        XXH3_128bits_reset(w.hash);
        status = sim_draft_open(path, &w.draft);
    }
    if (status == SIM_OK)
        status = put_all(&w, state, frame, text, text_bytes);
    if (status == SIM_OK)
        status = sim_draft_commit(&w.draft);
    sim_draft_free(&w.draft);
    XXH3_freeState(w.hash);
    free(w.stretch);
    return status;
}

/* --- reading
 * ---------------------------------------------------------------------------- */

static enum sim_status damaged(const char *path, const char *how)
{
    return sim_fail(SIM_FILE, "checkpoint '%s' is damaged: %s", path, how);
}

static enum sim_status read_at(const struct sim_checkpoint *c, uint64_t at, void *to,
                               size_t size)
{
    char *into = to;
    while (size > 0) {
        ssize_t got = pread(c->fd, into, size, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return sim_fail(SIM_FILE, "cannot read '%s': %s", c->path, strerror(errno));
        if (got == 0)
            return damaged(c->path, "it was cut");
        into += got;
        at += (uint64_t)got;
        size -= (size_t)got;
    }
    return SIM_OK;
}

static enum sim_status check_head(const struct sim_checkpoint *c, const struct head *head,
                                  uint64_t size)
{
    if (memcmp(head->magic, MAGIC, sizeof head->magic) != 0)
        return damaged(c->path, "it does not begin as a checkpoint does");
    if (head->byte_order != ORDER_MARK)
        return sim_fail(
            SIM_FILE, "checkpoint '%s' is of a machine with another byte order", c->path);
    if (head->version != VERSION)
        return sim_fail(SIM_FILE, "checkpoint '%s' has format %u, this simlua knows %u",
                        c->path, head->version, VERSION);
    if (head->file_bytes != size)
        return damaged(c->path,
                       size < head->file_bytes ? "it was cut" : "its size is wrong");
    if (head->block_count < 1 || head->block_count > BLOCKS_MAX)
        return damaged(c->path, "its list is wrong");
    return SIM_OK;
}

static enum sim_status check_sum(const struct sim_checkpoint *c, uint64_t size)
{
    XXH128_canonical_t have, want;
    enum sim_status status = SIM_OK;
    char *stretch = malloc(STRETCH);
    XXH3_state_t *hash = XXH3_createState();
    if (!stretch || !hash)
        status = sim_fail(SIM_HOST_MEMORY, "out of host memory: a checkpoint");
    else
        XXH3_128bits_reset(hash);
    for (uint64_t at = 0; status == SIM_OK && at < size - sizeof want;) {
        uint64_t left = size - sizeof want - at;
        size_t part = left < STRETCH ? (size_t)left : STRETCH;
        status = read_at(c, at, stretch, part);
        if (status == SIM_OK)
            XXH3_128bits_update(hash, stretch, part);
        at += part;
    }
    if (status == SIM_OK)
        status = read_at(c, size - sizeof want, &want, sizeof want);
    if (status == SIM_OK) {
        XXH128_canonicalFromHash(&have, XXH3_128bits_digest(hash));
        if (memcmp(&have, &want, sizeof have) != 0)
            status = damaged(c->path, "its checksum is wrong");
    }
    XXH3_freeState(hash);
    free(stretch);
    return status;
}

/* The checksum was right, so that what does not fit is a bug or a forgery. */
static enum sim_status read_list(struct sim_checkpoint *c, const struct head *head)
{
    uint64_t at = sizeof *head, end = head->file_bytes - sizeof(XXH128_canonical_t);
    c->blocks = calloc((size_t)head->block_count, sizeof *c->blocks);
    if (!c->blocks)
        return sim_fail(SIM_HOST_MEMORY, "out of host memory: a checkpoint");
    for (uint64_t i = 0; i < head->block_count; i++) {
        struct block_head block;
        if (end - at < sizeof block)
            return damaged(c->path, "its list is wrong");
        SIM_TRY(read_at(c, at, &block, sizeof block));
        at += sizeof block;
        if (block.bytes > end - at || padding(block.bytes) > end - at - block.bytes)
            return damaged(c->path, "its list is wrong");
        block.name[SIM_STATE_NAME - 1] = '\0';
        memcpy(c->blocks[i].name, block.name, sizeof block.name);
        c->blocks[i].role = block.role;
        c->blocks[i].bytes = block.bytes;
        c->blocks[i].at = at;
        at += block.bytes + padding(block.bytes);
    }
    c->frame = head->frame;
    c->block_count = (int64_t)head->block_count - 1; /* the last one is the text */
    return strcmp(c->blocks[c->block_count].name, TEXT_BLOCK)
               ? damaged(c->path, "no text")
               : SIM_OK;
}

static enum sim_status read_text(struct sim_checkpoint *c)
{
    const struct sim_checkpoint_block *block = &c->blocks[c->block_count];
    c->text = malloc((size_t)block->bytes + 1);
    if (!c->text)
        return sim_fail(SIM_HOST_MEMORY, "out of host memory: a checkpoint");
    c->text_bytes = (size_t)block->bytes;
    c->text[c->text_bytes] = '\0';
    return read_at(c, block->at, c->text, c->text_bytes);
}

enum sim_status sim_checkpoint_open(const char *path, struct sim_checkpoint *out)
{
    struct stat info;
    struct head head;
    *out = (struct sim_checkpoint){.fd = -1, .path = strdup(path)};
    if (!out->path)
        return sim_fail(SIM_HOST_MEMORY, "out of host memory: a path");
    out->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (out->fd < 0 || fstat(out->fd, &info) != 0)
        return sim_fail(SIM_FILE, "cannot read '%s': %s", path, strerror(errno));
    uint64_t size = (uint64_t)info.st_size;
    if (size < sizeof head + sizeof(struct block_head) + sizeof(XXH128_canonical_t))
        return damaged(path, "it was cut");
    SIM_TRY(read_at(out, 0, &head, sizeof head));
    SIM_TRY(check_head(out, &head, size));
    SIM_TRY(check_sum(out, size));
    SIM_TRY(read_list(out, &head));
    return read_text(out);
}

void sim_checkpoint_close(struct sim_checkpoint *c)
{
    if (!c->path)
        return;
    if (c->fd >= 0)
        close(c->fd);
    free(c->path);
    free(c->blocks);
    free(c->text);
    *c = (struct sim_checkpoint){.fd = -1};
}

/* --- putting back
 * ----------------------------------------------------------------------- */

static enum sim_status differs(const struct sim_checkpoint *c, const char *name,
                               const char *how)
{
    return sim_fail(SIM_USAGE, "the scene is not the one of checkpoint '%s': %s %s",
                    c->path, name, how);
}

static enum sim_status check_fixed(const struct sim_checkpoint *c, int64_t i,
                                   const struct sim_state_block *block)
{
    char *bytes = malloc(block->bytes + 1);
    if (!bytes)
        return sim_fail(SIM_HOST_MEMORY, "out of host memory: a checkpoint");
    enum sim_status status = read_at(c, c->blocks[i].at, bytes, block->bytes);
    if (status == SIM_OK && memcmp(bytes, block->host, block->bytes) != 0)
        status = differs(c, block->name, "differs");
    free(bytes);
    return status;
}

static enum sim_status check_agrees(const struct sim_checkpoint *c,
                                    const struct sim_state *state)
{
    for (int64_t i = 0; i < c->block_count || i < state->count; i++) {
        if (i >= state->count)
            return differs(c, c->blocks[i].name, "is missing");
        const struct sim_state_block *block = &state->blocks[i];
        if (i >= c->block_count || strcmp(c->blocks[i].name, block->name) != 0 ||
            c->blocks[i].role != (uint64_t)block->role)
            return differs(c, block->name, "is new");
        if (c->blocks[i].bytes != block->bytes)
            return differs(c, block->name, "has another size");
        if (block->role == SIM_STATE_FIXED)
            SIM_TRY(check_fixed(c, i, block));
    }
    return SIM_OK;
}

static enum sim_status load_array(const struct sim_checkpoint *c, uint64_t at,
                                  const struct sim_state_block *block, char *stretch)
{
    for (size_t done = 0; done < block->bytes;) {
        size_t size = block->bytes - done < STRETCH ? block->bytes - done : STRETCH;
        SIM_TRY(read_at(c, at + done, stretch, size));
        SIM_TRY(sim_buffer_write(block->buffer, block->offset + done, stretch, size));
        done += size;
    }
    return SIM_OK;
}

static const struct sim_checkpoint_block *find_block(const struct sim_checkpoint *c,
                                                     const char *prefix, const char *name)
{
    char full[SIM_STATE_NAME];
    snprintf(full, sizeof full, "%.23s%.24s", prefix, name);
    for (int64_t i = 0; i < c->block_count; i++)
        if (!strcmp(c->blocks[i].name, full))
            return &c->blocks[i];
    return NULL;
}

bool sim_checkpoint_has(const struct sim_checkpoint *c, const char *prefix,
                        const char *name)
{
    return find_block(c, prefix, name) != NULL;
}

size_t sim_checkpoint_bytes(const struct sim_checkpoint *c, const char *prefix,
                            const char *name)
{
    const struct sim_checkpoint_block *block = find_block(c, prefix, name);
    return block ? (size_t)block->bytes : 0;
}

enum sim_status sim_checkpoint_load(const struct sim_checkpoint *c,
                                    const struct sim_state *state)
{
    enum sim_status status = SIM_OK;
    SIM_TRY(state->status);
    SIM_TRY(check_agrees(c, state));
    char *stretch = malloc(STRETCH);
    if (!stretch)
        return sim_fail(SIM_HOST_MEMORY, "out of host memory: a checkpoint");
    for (int64_t i = 0; i < state->count && status == SIM_OK; i++) {
        const struct sim_state_block *block = &state->blocks[i];
        if (block->role == SIM_STATE_ARRAY)
            status = load_array(c, c->blocks[i].at, block, stretch);
        else if (block->role == SIM_STATE_VALUE)
            status = read_at(c, c->blocks[i].at, block->host, block->bytes);
    }
    free(stretch);
    return status;
}
