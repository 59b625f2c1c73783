/* lua_flow.h - what the files of the word sim.flow share. */
#ifndef LUA_FLOW_H
#define LUA_FLOW_H

#include "flow.h"
#include "lua_sim.h"

/* The flow that a method was called on. */
struct sim_flow *sim_lua_check_flow(lua_State *L, const char *method);
struct sim_flow *sim_lua_check_flow_at(lua_State *L, int index, const char *method);

/* Is this a word of flows, that no scalar may take for its name? */
bool sim_lua_flow_is_word(lua_State *L, const char *name);

/* The number of the scalar of this name; an error that names those there are. */
int sim_lua_flow_scalar_named(lua_State *L, const struct sim_flow *f, const char *name,
                              const char *method);

/* All four sides of this kind, for the constructor: an index into
 * sim_flow_all_sides_words. */
void sim_lua_flow_all_sides(lua_State *L, struct sim_flow *f, int64_t word);
extern const char *const sim_flow_all_sides_words[];
extern const char *const sim_flow_side_words[]; /* as enum sim_flow_side */

/* Which sides the word number `side` of sim_flow_side_words means. */
bool sim_lua_flow_side_meant(int64_t word, int side);

int sim_lua_flow_side(lua_State *L);
int sim_lua_flow_obstacle(lua_State *L);
int sim_lua_flow_remove(lua_State *L);
int sim_lua_flow_force(lua_State *L);
int sim_lua_flow_force_on(lua_State *L);
int sim_lua_flow_scalar(lua_State *L);
int sim_lua_flow_scalar_side(lua_State *L);
int sim_lua_flow_source(lua_State *L);
int sim_lua_flow_buoyancy(lua_State *L);
int sim_lua_flow_markers(lua_State *L);

#endif
