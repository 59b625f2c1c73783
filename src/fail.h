/* fail.h - failures on purpose: the Nth call of a kind of system call fails.
 *
 * The linker puts the functions of fail.c in the place of malloc, calloc, realloc,
 * aligned_alloc, strdup, open, write, fsync, rename and mkdir in all of simlua, Lua's
 * allocator and the static libraries included (-Wl,--wrap, see the Makefile). Without
 * SIMLUA_FAIL in the environment each costs one branch. With it:
 *
 *     SIMLUA_FAIL=write:7     the 7th write fails
 *     SIMLUA_FAIL=memory:120+ the 120th allocation and all that follow
 *     SIMLUA_FAIL=any:5       the 5th call of all kinds
 *     SIMLUA_FAIL=write:7!9   at the 7th write the process sends itself signal 9, when
 *                             half of the bytes are written; calls of other kinds are
 *                             not begun. With another signal the call goes on after it.
 *
 * Kinds:
 *
 * - memory: allocations of the host; on a GPU also page-locked ones, and those that the
 *   CUDA runtime, an archive, makes for itself
 * - device: what is made on a device: memory; on a GPU also streams, events, cuFFT's
 * plans
 * - copy: to, from and on a device, which counts as lost from then on
 * - launch: of a kernel, and of cuFFT's; on the CPU of a loop that can report it. The one
 *   launch fails, as for want of a resource
 * - crash: the same calls, but a kernel before this one writes to nowhere: the GPU's
 *   context is lost for good, which the driver tells of when it likes (on the CPU the
 *   device counts as lost at once)
 * - open (only what may create or change a file), write, fsync, rename, mkdir
 * - any: all of them but crash
 *
 * SIMLUA_FAIL_LOG names a file that gets the number of calls counted, when the program
 * ends in good order: so a test knows where N ends.
 *
 * Not here: CUDA's other calls, and what the C library does inside itself (fopen,
 * asprintf). libgomp, where it is an archive, ends the program with a line of its own
 * when the memory of its threads fails. */
#ifndef SIM_FAIL_H
#define SIM_FAIL_H

#include <stdbool.h>

enum sim_fail_kind {
    SIM_FAIL_MEMORY,
    SIM_FAIL_DEVICE,
    SIM_FAIL_COPY,
    SIM_FAIL_LAUNCH,
    SIM_FAIL_CRASH,
    SIM_FAIL_OPEN,
    SIM_FAIL_WRITE,
    SIM_FAIL_FSYNC,
    SIM_FAIL_RENAME,
    SIM_FAIL_MKDIR,
    SIM_FAIL_KINDS, /* any */
};

/* Read SIMLUA_FAIL, and count from 0; main() calls it first, so that what runs before
 * main does not count. */
void sim_fail_arm(void);

/* Count a call; true when it is to fail. */
bool sim_fail_now(enum sim_fail_kind kind);

#endif
