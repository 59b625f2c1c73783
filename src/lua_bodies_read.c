/* lua_bodies_read.c - bodies:radii and bodies:rows. */
#include "lua_sim.h"

struct radii_desc {
    double fractions[16], centre[3];
    const char *group;
    bool has_centre;
};

static const double half[16] = {0.5};

static const struct lua_param radii_params[] = {
    {.name = "fractions",
     .kind = LUA_PARAM_VECTOR,
     .count = 16,
     .min_count = 1,
     .vector = half,
     .min_open = true,
     .max = 1,
     .offset = offsetof(struct radii_desc, fractions),
     .help = "of the mass, each above 0 and at most 1"},
    {.name = "group",
     .kind = LUA_PARAM_STRING,
     .offset = offsetof(struct radii_desc, group),
     .help = "the group or groups to look at; all when absent"},
    {.name = "centre",
     .kind = LUA_PARAM_VECTOR,
     .count = 3,
     .unit = "length",
     .offset = offsetof(struct radii_desc, centre),
     .present = offsetof(struct radii_desc, has_centre),
     .help = "the point to measure from; the group's mass centre when absent"},
};

const struct lua_param_set sim_radii_set = {
    .name = "bodies:radii",
    .summary = "Lagrangian radii: the distances that hold given fractions of the mass",
    .example =
        "local inner, middle = table.unpack(stars:radii { fractions = { 0.1, 0.5 } })",
    .params = radii_params,
    .count = sizeof radii_params / sizeof *radii_params,
};

/* stars:radii { fractions, group, centre } -> list of radii; waits. */
int sim_lua_bodies_radii(lua_State *L)
{
    struct radii_desc desc = {0};
    double radii[16];
    sim_lua_enter(L);
    struct sim_bodies *b = sim_lua_check_bodies(L, 1, "radii");
    sim_lua_read(L, 2, &sim_radii_set, &desc);
    int count = 1;
    if (lua_istable(L, 2) && lua_getfield(L, 2, "fractions") == LUA_TTABLE)
        count = (int)lua_rawlen(L, -1);
    lua_pushstring(L, desc.group);
    uint64_t groups = sim_lua_selection(L, lua_gettop(L), b, "radii");
    sim_lua_try(L, sim_bodies_radii(b, groups, desc.has_centre ? desc.centre : NULL,
                                    desc.fractions, count, radii));
    lua_createtable(L, count, 0);
    for (int i = 0; i < count; i++) {
        lua_pushnumber(L, radii[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static int free_model(lua_State *L)
{
    sim_model_free(lua_touserdata(L, 1));
    return 0;
}

static void push_row(lua_State *L, const struct sim_body *body)
{
    lua_createtable(L, 7, 0);
    for (int k = 0; k < 3; k++) {
        lua_pushnumber(L, body->position[k]);
        lua_rawseti(L, -2, k + 1);
        lua_pushnumber(L, body->velocity[k]);
        lua_rawseti(L, -2, k + 4);
    }
    lua_pushnumber(L, body->mass);
    lua_rawseti(L, -2, 7);
}

/* stars:rows([group]) -> { { x, y, z, vx, vy, vz, m }, … } in the order of adding; waits
 * and copies everything to the host: for looking, not for every frame. */
int sim_lua_bodies_rows(lua_State *L)
{
    sim_lua_enter(L);
    struct sim_bodies *b = sim_lua_check_bodies(L, 1, "rows");
    uint64_t groups = sim_lua_selection(L, 2, b, "rows");
    struct sim_model *model =
        sim_lua_guard(L, &(struct sim_model){0}, sizeof *model, free_model);
    sim_lua_try(L, sim_bodies_read(b, model));
    lua_newtable(L);
    lua_Integer row = 0;
    for (int64_t i = 0; i < model->n; i++) {
        if (!(groups >> model->bodies[i].group & 1))
            continue;
        push_row(L, &model->bodies[i]);
        lua_rawseti(L, -2, ++row);
    }
    return 1;
}
