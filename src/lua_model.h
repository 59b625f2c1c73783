/* lua_model.h - what lua_model.c and lua_rows.c share. */
#ifndef LUA_MODEL_H
#define LUA_MODEL_H

#include "lua_sim.h"
#include "model.h"

/* Push an empty sim.model for about n bodies, to be filled by a sim_..._new; it is freed
 * with the userdata, also when an error comes before it is whole. */
struct sim_model *sim_lua_new_model(lua_State *L, int64_t n);

int sim_lua_rows(lua_State *L); /* sim.rows */

extern const struct lua_param_set sim_encounter_set;

#endif
