/* status.h - how failures travel: an error code upward, its text beside it.
 *
 * A function that can fail returns enum sim_status. The text of the last failure is kept
 * per thread; whoever reports it (main.c, lua_error.c) asks sim_error_text(). Nothing
 * below main.c prints or exits. A bug in C is an assert, not a status. */
#ifndef SIM_STATUS_H
#define SIM_STATUS_H

#include <stdbool.h>

enum sim_status {
    SIM_OK = 0,
    SIM_BAD_ARGUMENT,  /* the script asked for something impossible */
    SIM_FILE,          /* a file or the disk */
    SIM_HOST_MEMORY,   /* host allocation failed */
    SIM_DEVICE_MEMORY, /* device allocation failed; the device stays usable */
    SIM_DEVICE,      /* the device failed or is not there; if it was lost, it stays so */
    SIM_DIVERGED,    /* NaN, infinity, a step limit */
    SIM_INTERRUPTED, /* the user pressed Ctrl-C or sent SIGTERM */
    SIM_USAGE,       /* the command line */
};

enum sim_exit_code {
    SIM_EXIT_DONE = 0,
    SIM_EXIT_SCRIPT = 1,
    SIM_EXIT_USAGE = 2,
    SIM_EXIT_FILE = 3,
    SIM_EXIT_DEVICE = 4,
    SIM_EXIT_DIVERGED = 5,
    SIM_EXIT_INTERRUPTED = 130, /* SIGINT; SIGTERM gives 143, SIGHUP 129 */
};

/* Record the text of a failure and return `status`, so that one line does both:
 * return sim_fail(SIM_FILE, "cannot write '%s': %s", path, strerror(errno)); */
enum sim_status sim_fail(enum sim_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The text of this thread's last sim_fail, without a newline; "" if none. */
const char *sim_error_text(void);

/* The process's exit code for a failure of this kind. */
int sim_status_exit_code(enum sim_status status);

#define SIM_TRY(call)                         \
    do {                                      \
        enum sim_status try_status_ = (call); \
        if (try_status_ != SIM_OK)            \
            return try_status_;               \
    } while (0)

/* Interrupts. The handler of SIGINT, SIGTERM and SIGHUP stores the signal's number here;
 * every long loop looks at it and returns sim_interrupted_status(). */
void sim_interrupt_set(int signal_number); /* async-signal-safe */
int sim_interrupt_signal(void);            /* 0: none */
enum sim_status sim_check_interrupt(void); /* SIM_OK or SIM_INTERRUPTED, with its text */

#endif
