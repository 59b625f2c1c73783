/* lua_flow_markers.c - f:markers { … }: massless points that go with a flow. */
#include "lua_flow.h"

#include <math.h>
#include <stdlib.h>

struct markers {
    int64_t count, seed, every, keep;
    bool has_points, has_sources, has_shape;
};

#define AT(member) offsetof(struct markers, member)

static const struct lua_param markers_params[] = {
    {.name = "points",
     .kind = LUA_PARAM_VALUE,
     .present = AT(has_points),
     .help = "where markers begin: { { x, y }, … }"},
    {.name = "count",
     .kind = LUA_PARAM_INTEGER,
     .max = 1 << 30,
     .offset = AT(count),
     .help = "so many more, spread by chance"},
    {.name = "shape",
     .kind = LUA_PARAM_VALUE,
     .present = AT(has_shape),
     .help = "over this sim.shape; everywhere outside obstacles when not given"},
    {.name = "seed",
     .kind = LUA_PARAM_INTEGER,
     .number = 1,
     .max = 9007199254740992.0,
     .offset = AT(seed),
     .help = "another seed, other places"},
    {.name = "sources",
     .kind = LUA_PARAM_VALUE,
     .present = AT(has_sources),
     .help = "points that each let go a marker again and again (streaklines): { { x, y "
             "}, … }"},
    {.name = "every",
     .kind = LUA_PARAM_INTEGER,
     .number = 1,
     .min = 1,
     .max = 1 << 30,
     .offset = AT(every),
     .unit = "steps",
     .help = "between two of a source"},
    {.name = "keep",
     .kind = LUA_PARAM_INTEGER,
     .number = 1000,
     .min = 1,
     .max = 1 << 30,
     .offset = AT(keep),
     .help = "markers of a source at most; then the oldest gives way"},
};

const struct lua_param_set sim_flow_markers_set = {
    .name = "flow:markers",
    .summary =
        "massless points that go with the flow; f:field(\"markers\") counts them a cell",
    .example =
        "f:markers { sources = { { 0.1, 0.4 }, { 0.1, 0.5 } }, every = 2, keep = 2000 }",
    .params = markers_params,
    .count = sizeof markers_params / sizeof *markers_params,
};

/* Memory that the collector frees, left on the stack. */
static double (*new_points(lua_State *L, int64_t count))[2]
{
    return lua_newuserdatauv(L, (size_t)(count > 0 ? count : 1) * 2 * sizeof(double), 0);
}

/* { { x, y }, … } of the table at index 2; with `more` places behind them. */
static double (*read_points(lua_State *L, const char *name, bool given, int64_t more,
                            int64_t *count))[2]
{
    *count = 0;
    if (!given) {
        lua_pushnil(L);
        return new_points(L, more);
    }
    if (lua_getfield(L, 2, name) != LUA_TTABLE)
        sim_lua_error(L, "markers: %s must be a list of points { x, y }", name);
    const int list = lua_gettop(L);
    *count = (int64_t)lua_rawlen(L, list);
    double(*out)[2] = new_points(L, *count + more);
    for (int64_t k = 0; k < *count; k++) {
        if (lua_rawgeti(L, list, k + 1) != LUA_TTABLE || lua_rawlen(L, -1) != 2)
            sim_lua_error(L, "markers: %s[%I] must be { x, y }", name,
                          (LUAI_UACINT)(k + 1));
        for (int m = 0; m < 2; m++) {
            lua_rawgeti(L, -1, m + 1);
            out[k][m] = sim_lua_number(L, lua_gettop(L), name);
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
    return out;
}

int sim_lua_flow_markers(lua_State *L)
{
    struct markers m = {0};
    struct sim_shape *shape = NULL;
    struct sim_flow_marker_desc desc = {0};
    sim_lua_enter(L);
    struct sim_flow *f = sim_lua_check_flow(L, "markers");
    lua_settop(L, 2);
    sim_lua_read(L, 2, &sim_flow_markers_set, &m);
    if (m.has_shape) {
        lua_getfield(L, 2, "shape");
        shape = sim_lua_check_shape(L, lua_gettop(L), "markers");
    }
    double(*points)[2] =
        read_points(L, "points", m.has_points, m.count, &desc.point_count);
    if (m.count)
        sim_lua_try(L, sim_flow_scatter(f, shape, m.count, (uint64_t)m.seed,
                                        points + desc.point_count));
    desc.point_count += m.count;
    desc.points = (const double(*)[2])points;
    desc.sources = (const double(*)[2])read_points(L, "sources", m.has_sources, 0,
                                                   &desc.source_count);
    desc.every = m.every;
    desc.kept = m.keep;
    sim_lua_try(L, sim_flow_set_markers(f, &desc));
    lua_settop(L, 1);
    return 1;
}
