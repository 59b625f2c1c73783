/* lua_rows.c - sim.rows: bodies from a list, from a function of the index, from a file.
 *
 *     sim.rows { { x, y, z, vx, vy, vz, m }, { x = 1, vy = 0.5, m = 2 }, name = "A" }
 *     sim.rows { rows = list }
 *     sim.rows { n = 100, rows = function(i) return { … } end }     i = 1 .. n
 *     sim.rows { file = "bodies.csv" }                              or .npy
 *
 * A row holds seven numbers, or names; names that a row leaves out are 0, its mass `m` is
 * that of sim.rows. Positions and velocities stay as given but for `position`, `velocity`
 * and `tilt`: nothing is recentred. */
#include "lua_model.h"

#include <math.h>
#include <string.h>

#include "rows.h"

struct desc {
    struct sim_placement placement;
    const char *file;
    int64_t n;
    double m;
    bool has_rows, has_n;
};

#define AT(member) offsetof(struct desc, member)

static const struct lua_param rows_params[] = {
    {.name = "rows",
     .kind = LUA_PARAM_VALUE,
     .present = AT(has_rows),
     .help = "a list of rows, or a function of the index that returns one; the list may "
             "also stand in the table itself"},
    {.name = "n",
     .kind = LUA_PARAM_INTEGER,
     .min = 1,
     .max = SIM_MODEL_MAX,
     .offset = AT(n),
     .present = AT(has_n),
     .help = "how often to call the function"},
    {.name = "file",
     .kind = LUA_PARAM_STRING,
     .offset = AT(file),
     .help = "a .csv file whose header names x y z vx vy vz m, or a .npy file of (n, 7)"},
    {.name = "m",
     .kind = LUA_PARAM_NUMBER,
     .number = 1,
     .unit = "mass",
     .offset = AT(m),
     .help = "the mass of rows that give none"},
    {.name = "position",
     .kind = LUA_PARAM_VECTOR,
     .count = 3,
     .unit = "length",
     .offset = AT(placement.position),
     .help = "added to all"},
    {.name = "velocity",
     .kind = LUA_PARAM_VECTOR,
     .count = 3,
     .unit = "velocity",
     .offset = AT(placement.velocity),
     .help = "added to all"},
    {.name = "tilt",
     .kind = LUA_PARAM_VECTOR,
     .count = 3,
     .min_count = 1,
     .unit = "degrees",
     .offset = AT(placement.tilt),
     .help = "turns about the x axis (inclination), then z (node), then y"},
    {.name = "name",
     .kind = LUA_PARAM_STRING,
     .string = "rows",
     .offset = AT(placement.name),
     .help = "of the group, for colours and radii"},
};

const struct lua_param_set sim_rows_set = {
    .name = "sim.rows",
    .summary = "bodies of your own: from a list, a function of the index, or a file",
    .example = "stars:add(sim.rows { { -1, 0, 0, 0, -0.5, 0, 1 }, { x = 1, vy = 0.5 } })",
    .params = rows_params,
    .count = sizeof rows_params / sizeof *rows_params,
};

/* A list that stands in the table itself: argument 1 becomes a table of the named
 * parameters with the list under `rows`. */
static void lift_list(lua_State *L)
{
    if (!lua_istable(L, 1) || lua_rawlen(L, 1) == 0)
        return;
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, 1);) {
        if (lua_isinteger(L, -2)) {
            lua_pop(L, 1);
            continue;
        }
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, -4);
    }
    lua_getfield(L, -1, "rows");
    if (!lua_isnil(L, -1))
        sim_lua_error(L,
                      "sim.rows: a list in the table itself, and rows; give one of them");
    lua_pop(L, 1);
    lua_pushvalue(L, 1);
    lua_setfield(L, -2, "rows");
    lua_replace(L, 1);
}

static void check_names(lua_State *L, lua_Integer number)
{
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
        bool known = false;
        for (int k = 0; k < SIM_ROW; k++)
            known = known || !strcmp(key, sim_row_names[k]);
        if (known)
            continue;
        const char *nearest = sim_nearest_word(key, sim_row_names, SIM_ROW);
        sim_lua_error(
            L,
            "sim.rows: row %I has no number '%s'%s%s%s; legal: x, y, z, vx, vy, "
            "vz, m, or seven numbers without names",
            (LUAI_UACINT)number, key, nearest ? " (did you mean '" : "",
            nearest ? nearest : "", nearest ? "'?)" : "");
    }
}

/* The row on top of the stack. */
static void read_row(lua_State *L, lua_Integer number, double m, double row[SIM_ROW])
{
    if (!lua_istable(L, -1))
        sim_lua_error(L, "sim.rows: row %I must be a table, got %s", (LUAI_UACINT)number,
                      luaL_typename(L, -1));
    lua_Unsigned length = lua_rawlen(L, -1);
    if (length && length != SIM_ROW)
        sim_lua_error(L, "sim.rows: row %I has %I numbers, not 7: x, y, z, vx, vy, vz, m",
                      (LUAI_UACINT)number, (LUAI_UACINT)length);
    if (!length)
        check_names(L, number);
    for (int k = 0; k < SIM_ROW; k++) {
        if (length)
            lua_rawgeti(L, -1, k + 1);
        else {
            lua_pushstring(L, sim_row_names[k]);
            lua_rawget(L, -2);
        }
        if (!length && lua_isnil(L, -1))
            row[k] = k == SIM_ROW_MASS ? m : 0;
        else if (lua_type(L, -1) == LUA_TNUMBER)
            row[k] = lua_tonumber(L, -1);
        else
            sim_lua_error(L, "sim.rows: row %I: %s must be a number, got %s",
                          (LUAI_UACINT)number, sim_row_names[k], luaL_typename(L, -1));
        lua_pop(L, 1);
    }
}

static void store_row(lua_State *L, const struct desc *desc, struct sim_model *model,
                      int64_t i)
{
    double row[SIM_ROW];
    read_row(L, i + 1, desc->m, row);
    lua_pop(L, 1);
    for (int k = 0; k < SIM_ROW; k++)
        if (!isfinite(row[k]))
            sim_lua_error(L, "sim.rows: row %I: %s is %f, which is not finite",
                          (LUAI_UACINT)(i + 1), sim_row_names[k], (LUAI_UACNUMBER)row[k]);
    sim_lua_try(L, sim_rows_store(row, "sim.rows", &model->bodies[i]));
}

static void from_list(lua_State *L, const struct desc *desc)
{
    int64_t n = (int64_t)lua_rawlen(L, 2);
    if (desc->has_n)
        sim_lua_error(L, "sim.rows: n goes with a function; a list has its own length");
    if (n == 0)
        sim_lua_error(L, "sim.rows: the list is empty");
    struct sim_model *model = sim_lua_new_model(L, n);
    sim_lua_try(L, sim_model_new(n, model));
    for (int64_t i = 0; i < n; i++) {
        lua_rawgeti(L, 2, i + 1);
        store_row(L, desc, model, i);
    }
}

static void from_function(lua_State *L, const struct desc *desc)
{
    if (!desc->has_n)
        sim_lua_error(L,
                      "sim.rows: a function of the index needs n, the number of bodies");
    struct sim_model *model = sim_lua_new_model(L, desc->n);
    sim_lua_try(L, sim_model_new(desc->n, model));
    for (int64_t i = 0; i < desc->n; i++) {
        lua_pushvalue(L, 2);
        lua_pushinteger(L, i + 1);
        lua_call(L, 1, 1);
        store_row(L, desc, model, i);
    }
}

/* sim.rows { … } -> model */
int sim_lua_rows(lua_State *L)
{
    struct desc desc = {0};
    int group;
    sim_lua_enter(L);
    lua_settop(L, 1);
    lift_list(L);
    sim_lua_read(L, 1, &sim_rows_set, &desc);
    if (desc.has_rows == (desc.file != NULL))
        sim_lua_error(L, "sim.rows: give rows or a file, one of them");
    if (desc.has_rows)
        lua_getfield(L, 1, "rows");
    if (desc.file)
        sim_lua_try(L, sim_rows_read(desc.file, desc.m, sim_lua_new_model(L, 1)));
    else if (lua_isfunction(L, 2))
        from_function(L, &desc);
    else if (lua_istable(L, 2))
        from_list(L, &desc);
    else
        sim_lua_error(L, "sim.rows: rows must be a list or a function, got %s",
                      luaL_typename(L, 2));
    struct sim_model *model = sim_lua_check_model(L, lua_gettop(L));
    const struct sim_placement *p = &desc.placement;
    sim_lua_try(L, sim_model_group(model, p->name, &group));
    sim_model_place(model, p->position, p->velocity, p->tilt);
    return 1;
}
