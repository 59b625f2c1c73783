/* script.h - one protected run of a Lua script: the state, what it may see, how it can be
 * interrupted, how its end becomes an exit code. */
#ifndef SCRIPT_H
#define SCRIPT_H

#include "lua_sim.h"

/* Run host->script (a file, "-" for standard input) or, if host->chunk is not NULL, that
 * text. Prints a failure with host->say and returns the process's exit code. `program` is
 * what arg[-1] says. */
int sim_script_run(struct sim_host *host, const char *program);

/* For the signal handler: make the running Lua code stop soon. Async-signal-safe as far
 * as lua_sethook is (lua.c relies on the same). */
void sim_script_interrupt(void);

/* Between shield and unshield an interrupt is noted but raises nothing in Lua: for what
 * must still be done when a run ends, such as its record. */
void sim_script_shield(lua_State *L);
void sim_script_unshield(void);

#endif
