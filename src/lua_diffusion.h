/* lua_diffusion.h - what the files of the word sim.diffusion share. */
#ifndef LUA_DIFFUSION_H
#define LUA_DIFFUSION_H

#include "diffusion.h"
#include "lua_sim.h"

/* The system that a method was called on. */
struct sim_diffusion *sim_lua_check_diffusion(lua_State *L, const char *method);

/* Legal words; as enum sim_wall_kind, and face or node. */
extern const char *const sim_diffusion_kind_words[], *const sim_diffusion_at_words[];

int sim_lua_diffusion_wall(lua_State *L);
int sim_lua_diffusion_source(lua_State *L);
int sim_lua_diffusion_domain(lua_State *L);

#endif
