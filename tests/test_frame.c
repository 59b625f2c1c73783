/* test_frame.c - pictures to files: the pixels that come back, the order of things, and
 * every way in which a disk, a scene or a user can stop it. The rule under test: a file
 * under its final name is whole, and nothing else is left behind.
 *
 * fsync and write are replaced here by ones that fail, stop or dawdle on demand. */
#include "../src/frame.h"
#include "../src/png.h"
#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb_image.h>

static struct {
    atomic_bool hang;        /* fsync does not return while set */
    atomic_int fail_fsync;   /* the n-th fsync of a regular file from now fails: EIO */
    atomic_bool short_write; /* every second write is interrupted, others take little */
    atomic_int hanging;      /* calls that hang now */
} fault;

int fsync(int fd)
{
    struct stat info;
    fstat(fd, &info);
    atomic_fetch_add(&fault.hanging, 1);
    while (atomic_load(&fault.hang))
        usleep(1000);
    atomic_fetch_sub(&fault.hanging, 1);
    if (S_ISREG(info.st_mode) && atomic_load(&fault.fail_fsync) > 0 &&
        atomic_fetch_sub(&fault.fail_fsync, 1) == 1) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fsync, fd);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    static atomic_uint calls;
    if (fd > 2 && atomic_load(&fault.short_write)) {
        if (atomic_fetch_add(&calls, 1) % 2 == 0) {
            errno = EINTR;
            return -1;
        }
        size = size > 1000 ? 1000 : size;
    }
    return (ssize_t)syscall(SYS_write, fd, bytes, size);
}

/* --- helpers --------------------------------------------------------------------------
 */

static struct sim_device *device; /* under test */
static char folder[256];          /* a fresh one for each test */

static const char *in_folder(const char *name)
{
    static char path[8][512];
    static int turn;
    turn = (turn + 1) % 8;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static void folder_new(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/test_frame.XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(folder)) {
        perror(folder);
        exit(1);
    }
}

static int files_in(const char *where, bool temporaries)
{
    int count = 0;
    DIR *dir = opendir(where);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        count += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
                 temporaries == (strstr(entry->d_name, ".tmp-") != NULL);
    if (dir)
        closedir(dir);
    return count;
}

static void folder_remove(void)
{
    CHECK(files_in(folder, true) == 0);
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        unlink(in_folder(entry->d_name));
    if (dir)
        closedir(dir);
    CHECK(rmdir(folder) == 0);
}

/* A pixel's byte: no two pictures, rows or columns alike. */
static uint8_t byte_at(int64_t index, int seed)
{
    uint64_t x = (uint64_t)index + (uint64_t)seed * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    return (uint8_t)((x >> 40) & (seed & 1 ? 0xff : 0x0f));
}

static const struct sim_image_tail all_well = {
    .check = {.bad = INT64_MAX, .coincident = INT64_MAX}, .checked = 1};

static struct sim_image picture(int width, int height, int seed)
{
    struct sim_image image;
    size_t bytes = (size_t)width * (size_t)height * 3;
    uint8_t *pixels = malloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        pixels[i] = byte_at((int64_t)i, seed);
    CHECK_OK(sim_image_new(device, width, height, &image));
    CHECK_OK(sim_buffer_write(&image.pixels, 0, pixels, bytes));
    CHECK_OK(
        sim_buffer_write(&image.pixels, image.tail_offset, &all_well, sizeof all_well));
    snprintf(image.subject, sizeof image.subject, "stars");
    free(pixels);
    return image;
}

static void save(struct sim_frames *frames, int width, int height, int seed,
                 const char *path)
{
    struct sim_image image = picture(width, height, seed);
    CHECK_OK(sim_frames_save(frames, &image, path, "scene.lua:12", NULL));
    sim_image_free(&image);
}

static bool decodes(const char *path)
{
    int width, height, channels;
    uint8_t *have = stbi_load(path, &width, &height, &channels, 0);
    stbi_image_free(have);
    return have != NULL;
}

static bool holds(const char *path, int width, int height, int seed)
{
    int w = 0, h = 0, channels = 0;
    uint8_t *have = stbi_load(path, &w, &h, &channels, 0);
    bool same = have && w == width && h == height && channels == 3;
    for (int64_t i = 0; same && i < (int64_t)width * height * 3; i++)
        same = have[i] == byte_at(i, seed);
    stbi_image_free(have);
    return same;
}

static bool has_hash(const char *path, const struct sim_frame_result *result)
{
    char hash[SIM_HASH_TEXT];
    struct stat info;
    FILE *file = fopen(path, "rb");
    if (!file || fstat(fileno(file), &info) != 0)
        return false;
    char *bytes = malloc((size_t)info.st_size);
    bool whole = fread(bytes, 1, (size_t)info.st_size, file) == (size_t)info.st_size;
    fclose(file);
    sim_hash_text(bytes, (size_t)info.st_size, hash);
    free(bytes);
    return whole && !strcmp(hash, result->hash) &&
           result->bytes == (uint64_t)info.st_size;
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int every_file_decodes(const char *where)
{
    int broken = 0;
    char path[600];
    DIR *dir = opendir(where);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        snprintf(path, sizeof path, "%s/%s", where, entry->d_name);
        if (strstr(entry->d_name, ".png") && entry->d_name[0] != '.')
            broken += !decodes(path);
    }
    if (dir)
        closedir(dir);
    return broken == 0;
}

/* --- what goes well -------------------------------------------------------------------
 */

static void test_sizes(void)
{
    static const int sizes[][2] = {{1, 1},     {1, 7},     {7, 1},     {31, 33},
                                   {640, 360}, {16384, 1}, {1, 16384}, {1009, 257}};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    struct sim_frames *frames;
    struct sim_frame_result results[COUNT];
    folder_new();
    CHECK_OK(sim_frames_open(device, 0, 0, &frames));
    for (int i = 0; i < COUNT; i++) {
        char name[32];
        snprintf(name, sizeof name, "%d.png", i);
        save(frames, sizes[i][0], sizes[i][1], i, in_folder(name));
    }
    CHECK_OK(sim_frames_finish(frames));
    CHECK(sim_frames_results(frames, results, COUNT) == COUNT);
    for (int i = 0; i < COUNT; i++) {
        char name[32];
        snprintf(name, sizeof name, "%d.png", i);
        CHECK(holds(in_folder(name), sizes[i][0], sizes[i][1], i));
        CHECK(results[i].ticket == i);
        CHECK(has_hash(in_folder(name), &results[i]));
    }
    sim_frames_close(frames, 1);
    folder_remove();
}

/* Each picture is freed at once after it was saved, and sizes change from one to the
 * next. `take`: results are taken as they come, or from the fiftieth on at the end. */
static void test_many_through_few(int threads, int slots, int count, bool take)
{
    struct sim_frames *frames;
    struct sim_frame_result result;
    int64_t taken = 0;
    folder_new();
    CHECK_OK(sim_frames_open(device, threads, slots, &frames));
    for (int i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "frame_%06d.png", i);
        save(frames, 40 + i % 17, 30 + 5 * (i % 3), i, in_folder(name));
        while ((take || i < 50) && sim_frames_results(frames, &result, 1) == 1)
            CHECK(result.ticket == taken++);
    }
    CHECK_OK(sim_frames_finish(frames));
    while (sim_frames_results(frames, &result, 1) == 1)
        CHECK(result.ticket == taken++);
    CHECK(taken == count);
    for (int i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "frame_%06d.png", i);
        CHECK(holds(in_folder(name), 40 + i % 17, 30 + 5 * (i % 3), i));
    }
    sim_frames_close(frames, 1);
    folder_remove();
}

/* One picture in device memory, drawn anew as soon as it was saved, while what was saved
 * may still be on its way; and a number read meanwhile. */
static void test_drawn_over(void)
{
    enum { COUNT = 9, WIDTH = 700, HEIGHT = 500 };
    struct sim_frames *frames;
    struct sim_image image = picture(WIDTH, HEIGHT, 0);
    uint64_t down = device->stats.bytes_down;
    folder_new();
    CHECK_OK(sim_frames_open(device, 2, 3, &frames));
    for (int i = 0; i < COUNT; i++) {
        char name[32];
        uint8_t corner = 1;
        struct sim_image next = picture(WIDTH, HEIGHT, i + 1);
        snprintf(name, sizeof name, "%d.png", i);
        CHECK_OK(sim_frames_save(frames, &image, in_folder(name), "", NULL));
        CHECK_OK(sim_buffer_copy(&image.pixels, 0, &next.pixels, 0, image.tail_offset));
        CHECK_OK(sim_buffer_read(&image.pixels, 0, &corner, 1));
        CHECK(corner == byte_at(0, i + 1));
        sim_image_free(&next);
    }
    CHECK(device->stats.bytes_down - down == COUNT * (sim_image_bytes(&image) + 1));
    sim_image_free(&image);
    CHECK_OK(sim_frames_finish(frames));
    for (int i = 0; i < COUNT; i++) {
        char name[32];
        snprintf(name, sizeof name, "%d.png", i);
        CHECK(holds(in_folder(name), WIDTH, HEIGHT, i));
    }
    sim_frames_close(frames, 1);
    folder_remove();
}

/* The later of two pictures for one path stays, though the earlier is slower by far. */
static void test_same_path(void)
{
    struct sim_frames *frames;
    folder_new();
    CHECK_OK(sim_frames_open(device, 4, 4, &frames));
    for (int i = 0; i < 12; i++) {
        bool last = i % 4 == 3;
        save(frames, last ? 3 : 900, last ? 2 : 700, i, in_folder("latest.png"));
        if (last) {
            CHECK_OK(sim_frames_finish(frames));
            CHECK(holds(in_folder("latest.png"), 3, 2, i));
        }
    }
    sim_frames_close(frames, 1);
    folder_remove();
}

static void test_dawdling_disk(void)
{
    struct sim_frames *frames;
    folder_new();
    CHECK_OK(sim_frames_open(device, 2, 2, &frames));
    atomic_store(&fault.short_write, true);
    save(frames, 200, 100, 1, in_folder("a.png"));
    save(frames, 100, 200, 3, in_folder("b.png"));
    CHECK_OK(sim_frames_finish(frames));
    atomic_store(&fault.short_write, false);
    CHECK(holds(in_folder("a.png"), 200, 100, 1));
    CHECK(holds(in_folder("b.png"), 100, 200, 3));
    sim_frames_close(frames, 1);
    folder_remove();
}

/* The same pixels give the same bytes, at any number of threads. */
static void test_same_bytes(void)
{
    struct sim_frame_result results[2][3];
    folder_new();
    for (int run = 0; run < 2; run++) {
        struct sim_frames *frames;
        CHECK_OK(sim_frames_open(device, 1 + 2 * run, 3, &frames));
        for (int i = 0; i < 3; i++)
            save(frames, 64, 48, i,
                 in_folder(i == 0   ? "a.png"
                           : i == 1 ? "b.png"
                                    : "c.png"));
        CHECK_OK(sim_frames_finish(frames));
        CHECK(sim_frames_results(frames, results[run], 3) == 3);
        sim_frames_close(frames, 1);
    }
    for (int i = 0; i < 3; i++)
        CHECK_STRING(results[1][i].hash, results[0][i].hash);
    CHECK(strcmp(results[0][0].hash, results[0][1].hash) != 0);
    folder_remove();
}

/* --- what goes wrong ------------------------------------------------------------------
 */

/* Saving one picture to `path` must fail with SIM_FILE, and the text hold all of these.
 */
static void refused(const char *path, const char *phrase)
{
    struct sim_frames *frames;
    CHECK_OK(sim_frames_open(device, 1, 2, &frames));
    struct sim_image image = picture(64, 64, 1);
    enum sim_status status = sim_frames_save(frames, &image, path, "scene.lua:12", NULL);
    const char *prefix = "cannot write '"; /* the line is the caller's to say */
    if (status == SIM_OK) {
        status = sim_frames_finish(frames);
        prefix = "scene.lua:12: cannot write '";
    }
    CHECK(status == SIM_FILE);
    const char *text = sim_error_text();
    if (!CHECK(!strncmp(text, prefix, strlen(prefix)) && strstr(text, path) &&
               strstr(text, phrase)))
        printf("     have \"%s\", want \"%s\" in it\n", text, phrase);
    CHECK_OK(sim_frames_finish(frames));
    CHECK_OK(sim_frames_save(frames, &image, in_folder("after.png"), "", NULL));
    CHECK_OK(sim_frames_finish(frames));
    CHECK(holds(in_folder("after.png"), 64, 64, 1));
    unlink(in_folder("after.png"));
    sim_image_free(&image);
    sim_frames_close(frames, 1);
}

static void test_bad_paths(void)
{
    char text[600];
    folder_new();
    snprintf(text, sizeof text, "there is no folder '%s'", in_folder("nowhere"));
    refused(in_folder("nowhere/x.png"), text);
    CHECK_OK(sim_file_replace(in_folder("file"), "text", 4));
    snprintf(text, sizeof text, "folder '%s': Not a directory", in_folder("file/sub"));
    refused(in_folder("file/sub/x.png"), text);
    snprintf(text, sizeof text, "'%s' is not a folder", in_folder("file"));
    refused(in_folder("file/x.png"), text);
    CHECK(symlink("/dev/full", in_folder("full")) ==
          0); /* never the device: a failing test */
    refused(in_folder("full"), "not a regular file"); /* would put a file in its place */
    CHECK(mkfifo(in_folder("pipe"), 0600) == 0);
    refused(in_folder("pipe"), "not a regular file");
    refused(folder, "it is a folder");
    refused(in_folder(""), "it names a folder");
    refused("", "the path is empty");
    char name[300];
    memset(name, 'n', sizeof name);
    memcpy(name + 251, ".png", 5); /* 255 characters, the longest that is legal */
    CHECK_OK(sim_file_replace(in_folder(name), "text", 4));
    CHECK(access(in_folder(name), F_OK) == 0);
    folder_remove();
}

static void test_unwritable(void)
{
    folder_new();
    CHECK(mkdir(in_folder("locked"), 0555) == 0);
    if (access(in_folder("locked"), W_OK) == 0)
        check_skip("an unwritable folder: root may write everywhere");
    else
        refused(in_folder("locked/x.png"), "Permission denied");
    CHECK(rmdir(in_folder("locked")) == 0);
    refused("/proc/simlua.png", ""); /* a folder where even root cannot */
    folder_remove();
}

/* A write that stops half-way, on any system: files may not grow past 8 KiB. */
static void test_file_limit(void)
{
    struct rlimit before, small;
    folder_new();
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    small = before;
    small.rlim_cur = 8192;
    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    struct sim_frames *frames;
    CHECK_OK(sim_frames_open(device, 2, 4, &frames));
    save(frames, 16, 16, 1, in_folder("small.png"));
    save(frames, 128, 128, 1, in_folder("large.png"));
    CHECK(sim_frames_finish(frames) == SIM_FILE);
    CHECK(strstr(sim_error_text(), "scene.lua:12: cannot write '") == sim_error_text());
    CHECK(strstr(sim_error_text(), "/large.png': File too large") != NULL);
    CHECK_OK(sim_frames_finish(frames));
    sim_frames_close(frames, 1);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(holds(in_folder("small.png"), 16, 16, 1));
    CHECK(access(in_folder("large.png"), F_OK) != 0);
    folder_remove();
}

static void test_full_disk(void)
{
    folder_new();
    if (mount("tmpfs", folder, "tmpfs", 0, "size=256k") != 0) {
        char why[128];
        snprintf(why, sizeof why, "a full disk: mounting a small tmpfs: %s",
                 strerror(errno));
        check_skip(why);
        folder_remove();
        return;
    }
    struct sim_frames *frames;
    int written = 0, refusals = 0;
    CHECK_OK(sim_frames_open(device, 2, 3, &frames));
    struct sim_image image = picture(128, 128, 1); /* 48 KiB: noise */
    for (int i = 0; i < 20; i++) {
        char name[32];
        snprintf(name, sizeof name, "%d.png", i);
        enum sim_status status =
            sim_frames_save(frames, &image, in_folder(name), "", NULL);
        CHECK(status == SIM_OK || status == SIM_FILE);
        if (status != SIM_OK) {
            CHECK(strstr(sim_error_text(), "No space left on device") != NULL);
            refusals++;
        }
    }
    for (enum sim_status status; (status = sim_frames_finish(frames)) != SIM_OK;
         refusals++)
        CHECK(status == SIM_FILE && strstr(sim_error_text(), "No space left on device"));
    struct sim_frame_result result;
    while (sim_frames_results(frames, &result, 1) == 1)
        written++;
    sim_frames_close(frames, 1);
    CHECK(refusals > 0 && written >= 3);
    CHECK(files_in(folder, false) == written);
    CHECK(files_in(folder, true) == 0);
    CHECK(every_file_decodes(folder));
    sim_image_free(&image);
    CHECK(umount(folder) == 0);
    folder_remove();
}

/* Each failure is reported once; the pictures around it are written. */
static void test_one_fails(void)
{
    struct sim_frames *frames;
    struct sim_frame_result results[5];
    static const char *names[5] = {"0.png", "1.png", "2.png", "3.png", "4.png"};
    folder_new();
    CHECK_OK(sim_frames_open(device, 1, 5, &frames));
    atomic_store(&fault.hang, true); /* all five are queued before the first ends */
    atomic_store(&fault.fail_fsync, 3);
    for (int i = 0; i < 5; i++)
        save(frames, 20, 20, i, in_folder(names[i]));
    atomic_store(&fault.hang, false);
    CHECK(sim_frames_finish(frames) == SIM_FILE);
    CHECK(strstr(sim_error_text(), "/2.png': Input/output error") != NULL);
    CHECK_OK(sim_frames_finish(frames));
    CHECK(sim_frames_results(frames, results, 5) == 4);
    CHECK(results[1].ticket == 1 && results[2].ticket == 3 && results[3].ticket == 4);
    CHECK(access(in_folder("2.png"), F_OK) != 0 && holds(in_folder("3.png"), 20, 20, 3));
    sim_frames_close(frames, 1);
    folder_remove();
}

static enum sim_status save_tail(struct sim_frames *frames, struct sim_image_tail tail,
                                 const char *path)
{
    struct sim_image image = picture(600, 400, 5);
    CHECK_OK(sim_buffer_write(&image.pixels, image.tail_offset, &tail, sizeof tail));
    image.step = 800;
    image.time = 1.6;
    enum sim_status status = sim_frames_save(frames, &image, path, "scene.lua:12", NULL);
    sim_image_free(&image);
    return status;
}

static void test_diverged(void)
{
    struct sim_frames *frames;
    struct sim_image_tail bad = all_well, meet = all_well;
    struct sim_image small = picture(3, 3, 1);
    char want[700];
    bad.check.bad = 123;
    meet.check.coincident = 7;
    meet.check.bad = 7; /* the consequence: the cause must be told */
    folder_new();
    CHECK_OK(sim_frames_open(device, 4, 8, &frames));
    CHECK_OK(save_tail(frames, bad, in_folder("none.png")));
    CHECK(sim_frames_finish(frames) == SIM_DIVERGED);
    CHECK_STRING(sim_error_text(),
                 "scene.lua:12: stars diverged: body 124 is not finite at step "
                 "800 (t = 1.6); last good frame: none");
    atomic_store(&fault.hang, true); /* the bad picture is seen first, but must wait */
    save(frames, 20, 20, 1, in_folder("good.png"));
    CHECK_OK(save_tail(frames, bad, in_folder("bad.png")));
    usleep(50 * 1000);
    save(frames, 2, 2, 1, in_folder("after.png"));
    atomic_store(&fault.hang, false);
    CHECK(sim_frames_finish(frames) == SIM_DIVERGED);
    snprintf(want, sizeof want,
             "scene.lua:12: stars diverged: body 124 is not finite at step 800 "
             "(t = 1.6); last good frame: %s",
             in_folder("good.png"));
    CHECK_STRING(sim_error_text(), want);
    CHECK_OK(save_tail(frames, bad, in_folder("bad.png")));
    for (const char *here = "scene.lua:12"; here;
         here = *here == 's' ? "other.lua:3" : NULL) {
        enum sim_status status = SIM_OK;
        for (int i = 0; i < 10000 && status == SIM_OK; i++, usleep(1000))
            status = sim_frames_save(frames, &small, in_folder("small.png"), here, NULL);
        CHECK(status == SIM_DIVERGED);
        CHECK(!strncmp(sim_error_text(),
                       *here == 's' ? "stars" : "saved at scene.lua:12: stars",
                       *here == 's' ? 5 : 28));
        if (*here == 's')
            CHECK_OK(save_tail(frames, bad, in_folder("bad.png")));
    }
    sim_image_free(&small);
    CHECK_OK(save_tail(frames, meet, in_folder("bad.png")));
    CHECK(sim_frames_finish(frames) == SIM_DIVERGED);
    CHECK(strstr(sim_error_text(), "body 8 is at the same place as another") != NULL);
    bad.checked = 0; /* nobody looked: what stands there means nothing */
    CHECK_OK(save_tail(frames, bad, in_folder("unchecked.png")));
    CHECK_OK(sim_frames_finish(frames));
    CHECK(access(in_folder("bad.png"), F_OK) != 0 &&
          access(in_folder("none.png"), F_OK) != 0);
    CHECK(decodes(in_folder("unchecked.png")));
    sim_frames_close(frames, 1);
    folder_remove();
}

/* Looks that a picture carries in its list: the first one that found something is told.
 */
static void test_checks(void)
{
    struct sim_frames *frames;
    struct sim_image_tail tail = all_well;
    folder_new();
    CHECK_OK(sim_frames_open(device, 1, 2, &frames));
    struct sim_image image = picture(30, 20, 1);
    image.check_count = 2;
    image.checks[0] = (struct sim_image_check){SIM_CHECK_BODY, "stars", 0, 9, 0.5, 0};
    image.checks[1] = (struct sim_image_check){SIM_CHECK_FIELD, "dye", 10, 9, 0.5, 0};
    tail.found[0] = tail.found[1] = INT64_MAX;
    CHECK_OK(sim_buffer_write(&image.pixels, image.tail_offset, &tail, sizeof tail));
    CHECK_OK(sim_frames_save(frames, &image, in_folder("good.png"), "", NULL));
    CHECK_OK(sim_frames_finish(frames));
    tail.found[1] = 37; /* column 7, row 3, counted from 0 */
    CHECK_OK(sim_buffer_write(&image.pixels, image.tail_offset, &tail, sizeof tail));
    CHECK_OK(sim_frames_save(frames, &image, in_folder("bad.png"), "", NULL));
    CHECK(sim_frames_finish(frames) == SIM_DIVERGED);
    CHECK(strstr(sim_error_text(),
                 "dye is not finite at cell (8, 4), step 9 (t = 0.5); ") ==
          sim_error_text());
    CHECK(decodes(in_folder("good.png")) && access(in_folder("bad.png"), F_OK) != 0);
    sim_image_free(&image);
    sim_frames_close(frames, 1);
    folder_remove();
}

/* --- being stopped --------------------------------------------------------------------
 */

static void wait_for_hang(void)
{
    for (int i = 0; i < 5000 && !atomic_load(&fault.hanging); i++)
        usleep(1000);
    CHECK(atomic_load(&fault.hanging) > 0);
}

static void test_close_in_the_middle(void)
{
    for (int queued = 0; queued < 6; queued++) {
        struct sim_frames *frames;
        folder_new();
        CHECK_OK(sim_frames_open(device, 2, 6, &frames));
        for (int i = 0; i < queued; i++) {
            char name[32];
            snprintf(name, sizeof name, "%d.png", i);
            save(frames, 500, 400, i, in_folder(name));
        }
        sim_frames_close(frames, 10);
        CHECK(every_file_decodes(folder));
        folder_remove();
    }
    sim_frames_close(NULL, 1);
}

static void test_interrupt(void)
{
    struct sim_frames *frames;
    folder_new();
    CHECK_OK(sim_frames_open(device, 1, 2, &frames));
    struct sim_image image = picture(30, 30, 1);
    atomic_store(&fault.hang, true);
    CHECK_OK(sim_frames_save(frames, &image, in_folder("begun.png"), "", NULL));
    wait_for_hang();
    CHECK_OK(sim_frames_save(frames, &image, in_folder("queued.png"), "", NULL));
    sim_interrupt_set(SIGINT);
    double start = seconds_now();
    CHECK(sim_frames_save(frames, &image, in_folder("more.png"), "", NULL) ==
          SIM_INTERRUPTED);
    CHECK(sim_frames_finish(frames) == SIM_INTERRUPTED);
    CHECK(seconds_now() - start < 5);
    atomic_store(&fault.hang, false);
    CHECK_OK(sim_frames_finish(frames)); /* what was begun ends well */
    CHECK(holds(in_folder("begun.png"), 30, 30, 1));
    CHECK(access(in_folder("queued.png"), F_OK) != 0);
    CHECK(access(in_folder("more.png"), F_OK) != 0);
    sim_interrupt_set(0);
    CHECK_OK(sim_frames_save(frames, &image, in_folder("again.png"), "", NULL));
    CHECK_OK(sim_frames_finish(frames));
    CHECK(holds(in_folder("again.png"), 30, 30, 1));
    struct sim_frame_result results[4];
    CHECK(sim_frames_results(frames, results, 4) == 2);
    CHECK(results[0].ticket == 0 && results[1].ticket == 2);
    sim_image_free(&image);
    sim_frames_close(frames, 1);
    folder_remove();
}

/* A disk that never answers: close() returns in time, takes the temporary file away, and
 * nothing appears later. In a process of its own, as it leaves its memory behind. */
static void test_hung_disk(void)
{
    folder_new();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct sim_frames *frames;
        check_failed = 0;
        CHECK_OK(sim_frames_open(device, 2, 3, &frames));
        atomic_store(&fault.hang, true);
        save(frames, 300, 300, 1, in_folder("hung.png"));
        save(frames, 300, 300, 1, in_folder("hung too.png"));
        save(frames, 300, 300, 1, in_folder("queued.png"));
        wait_for_hang();
        while (files_in(folder, true) < 2)
            usleep(1000);
        double start = seconds_now();
        sim_frames_close(frames, 0.1);
        double took = seconds_now() - start;
        CHECK(took > 0.09 && took < 5);
        CHECK(files_in(folder, true) == 0);
        atomic_store(&fault.hang, false);
        usleep(200 * 1000);
        CHECK(files_in(folder, true) == 0 && files_in(folder, false) == 0);
        fflush(stdout);
        _exit(check_failed != 0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    folder_remove();
}

/* --- files and hashes -----------------------------------------------------------------
 */

static void test_replace(void)
{
    char text[8] = "";
    folder_new();
    CHECK_OK(sim_file_replace(in_folder("run.json"), "first", 5));
    CHECK_OK(sim_file_replace(in_folder("run.json"), "two", 3));
    FILE *file = fopen(in_folder("run.json"), "rb");
    CHECK(file && fread(text, 1, sizeof text, file) == 3 && !strcmp(text, "two"));
    if (file)
        fclose(file);
    atomic_store(&fault.fail_fsync, 1);
    CHECK(sim_file_replace(in_folder("run.json"), "three", 5) == SIM_FILE);
    file = fopen(in_folder("run.json"), "rb");
    CHECK(file && fread(text, 1, sizeof text, file) == 3 && !memcmp(text, "two", 3));
    if (file)
        fclose(file);
    CHECK_OK(sim_file_replace(in_folder("empty"), "", 0));
    CHECK(files_in(folder, false) == 2);
    folder_remove();
}

/* Values published with XXH3 (its self-test's table: no bytes; one byte 0; seed 0). */
static void test_hash(void)
{
    char hash[SIM_HASH_TEXT];
    sim_hash_text("", 0, hash);
    CHECK_STRING(hash, "xxh128:99aa06d3014798d86001c324468d497f");
    sim_hash_text("\0", 1, hash);
    CHECK_STRING(hash, "xxh128:a6cd5e9392000f6ac44bdff4074eecdb");
}

static void test_png(void)
{
    struct sim_png png;
    uint8_t grey[6] = {0, 50, 100, 150, 200, 255};
    int width, height, channels;
    CHECK_OK(sim_png_encode(grey, 3, 2, 1, &png));
    uint8_t *have =
        stbi_load_from_memory(png.bytes, (int)png.size, &width, &height, &channels, 0);
    CHECK(have && width == 3 && height == 2 && channels == 1 && !memcmp(have, grey, 6));
    stbi_image_free(have);
    sim_png_free(&png);
    uint8_t *black = calloc(300 * 300, 3);
    CHECK_OK(sim_png_encode(black, 300, 300, 3, &png));
    CHECK(png.size < 300 * 300 * 3 / 100);
    sim_png_free(&png);
    free(black);
    CHECK(sim_png_encode(grey, 0, 1, 1, &png) == SIM_BAD_ARGUMENT);
    CHECK(sim_png_encode(grey, 1, SIM_PNG_SIDE_MAX + 1, 3, &png) == SIM_BAD_ARGUMENT);
}

static void test_on(void)
{
    test_sizes();
    test_many_through_few(1, 1, 20, true);
    test_many_through_few(3, 2, 100, true);
    test_many_through_few(4, 7, 200, false);
    test_drawn_over();
    test_same_path();
    test_dawdling_disk();
    test_same_bytes();
    test_bad_paths();
    test_unwritable();
    test_file_limit();
    test_full_disk();
    test_one_fails();
    test_diverged();
    test_checks();
    test_close_in_the_middle();
    test_interrupt();
}

int main(void)
{
    test_hash();
    test_replace();
    test_png();
    if (CHECK_OK(sim_device_open("cpu", 2, &device))) {
        test_hung_disk();
        test_on();
        sim_device_close(device);
    }
    if (sim_device_open("cuda", 2, &device) == SIM_OK) {
        test_on();
        sim_device_close(device);
    } else
        check_skip(sim_error_text());
    return check_report();
}
