/* lua_random.c - math.random and math.randomseed of a script: the same numbers in every
 * run, from a state of two whole numbers that a checkpoint can hold. The k-th call is
 * Philox of (seed, k), see kernels/philox.h. Arguments as in the stock words. */
#include "lua_sim.h"

#include "../kernels/philox.h"

#define PURPOSE 0x4C756121u /* apart from what bodies draw with the same seed */

static uint64_t next_word(struct sim_host *host)
{
    uint64_t k = host->random_count++, seed = host->random_seed;
    struct sim_philox counter = {{(uint32_t)k, (uint32_t)(k >> 32), PURPOSE, 0}};
    struct sim_philox r = sim_philox(counter, (uint32_t)seed, (uint32_t)(seed >> 32));
    return (uint64_t)r.word[0] << 32 | r.word[1];
}

/* Even in 0 .. limit: words beyond the largest multiple are drawn again. */
static uint64_t below(struct sim_host *host, uint64_t limit)
{
    uint64_t word = next_word(host), size = limit + 1;
    if (size == 0)
        return word;
    uint64_t excess = UINT64_MAX % size + 1 == size ? 0 : UINT64_MAX % size + 1;
    while (word > UINT64_MAX - excess)
        word = next_word(host);
    return word % size;
}

static int random_number(lua_State *L)
{
    struct sim_host *host = sim_lua_host(L);
    lua_Integer low = 1, high;
    switch (lua_gettop(L)) {
    case 0:
        lua_pushnumber(L, (double)(next_word(host) >> 11) * 0x1p-53);
        return 1;
    case 1:
        high = luaL_checkinteger(L, 1);
        if (high == 0) {
            lua_pushinteger(L, (lua_Integer)next_word(host));
            return 1;
        }
        break;
    case 2:
        low = luaL_checkinteger(L, 1);
        high = luaL_checkinteger(L, 2);
        break;
    default:
        return luaL_error(L, "wrong number of arguments");
    }
    luaL_argcheck(L, low <= high, lua_gettop(L), "interval is empty");
    uint64_t at = below(host, (uint64_t)high - (uint64_t)low);
    lua_pushinteger(L, (lua_Integer)((uint64_t)low + at));
    return 1;
}

/* randomseed(x): a whole or any other number; without one, --seed or 0, not the clock. */
static int random_seed(lua_State *L)
{
    struct sim_host *host = sim_lua_host(L);
    union {
        double number;
        uint64_t bits;
    } of = {0};
    if (lua_isnoneornil(L, 1))
        of.bits = host->seed > 0 ? (uint64_t)host->seed : 0;
    else if (lua_isinteger(L, 1))
        of.bits = (uint64_t)lua_tointeger(L, 1);
    else
        of.number = luaL_checknumber(L, 1);
    host->random_seed = of.bits;
    host->random_count = 0;
    return 0;
}

/* random_state([seed, count]) -> seed, count; for lib/sim/ */
int sim_lua_random_state(lua_State *L)
{
    struct sim_host *host = sim_lua_host(L);
    if (lua_gettop(L) == 2) {
        host->random_seed = (uint64_t)luaL_checkinteger(L, 1);
        host->random_count = (uint64_t)luaL_checkinteger(L, 2);
    }
    lua_pushinteger(L, (lua_Integer)host->random_seed);
    lua_pushinteger(L, (lua_Integer)host->random_count);
    return 2;
}

/* adopt_seed(seed): the seed that a script declares stands for --seed where that is not
 * given, so that naming its default changes nothing. What was drawn already stays. */
int sim_lua_adopt_seed(lua_State *L)
{
    struct sim_host *host = sim_lua_host(L);
    lua_Integer seed = luaL_checkinteger(L, 1);
    if (host->seed >= 0 || seed < 0)
        return 0;
    host->seed = seed;
    if (host->random_seed == 0 && host->random_count == 0)
        host->random_seed = (uint64_t)seed;
    return 0;
}

void sim_lua_set_random(lua_State *L)
{
    lua_getglobal(L, "math");
    lua_pushcfunction(L, random_number);
    lua_setfield(L, -2, "random");
    lua_pushcfunction(L, random_seed);
    lua_setfield(L, -2, "randomseed");
    lua_pop(L, 1);
    lua_pushcfunction(L, random_seed);
    lua_call(L, 0, 0);
}
