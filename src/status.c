/* status.c - the last error's text (one per thread) and the interrupt flag. */
#include "status.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>

static _Thread_local char error_text[1024];
static volatile sig_atomic_t interrupt_signal;

enum sim_status sim_fail(enum sim_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error_text, sizeof error_text, format, args);
    va_end(args);
    return status;
}

const char *sim_error_text(void)
{
    return error_text;
}

int sim_status_exit_code(enum sim_status status)
{
    switch (status) {
    case SIM_OK:
        return SIM_EXIT_DONE;
    case SIM_BAD_ARGUMENT:
        return SIM_EXIT_SCRIPT;
    case SIM_USAGE:
        return SIM_EXIT_USAGE;
    case SIM_FILE:
        return SIM_EXIT_FILE;
    case SIM_HOST_MEMORY:
    case SIM_DEVICE_MEMORY:
    case SIM_DEVICE:
        return SIM_EXIT_DEVICE;
    case SIM_DIVERGED:
        return SIM_EXIT_DIVERGED;
    case SIM_INTERRUPTED:
        return 128 + (interrupt_signal ? (int)interrupt_signal : SIGINT);
    }
    return SIM_EXIT_SCRIPT;
}

void sim_interrupt_set(int signal_number)
{
    interrupt_signal = signal_number;
}

int sim_interrupt_signal(void)
{
    return (int)interrupt_signal;
}

enum sim_status sim_check_interrupt(void)
{
    if (!interrupt_signal)
        return SIM_OK;
    return sim_fail(SIM_INTERRUPTED, "interrupted");
}
