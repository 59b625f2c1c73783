/* lua_flow_parts.c - what is put into a flow: obstacles, forces, scalars, sources,
 * buoyancy; and the force on an obstacle. */
#include "lua_flow.h"

#include <math.h>
#include <string.h>

#include "flow_health.h"

static const double zero[2] = {0, 0};

/* --- shapes ------------------------------------------------------------------------- */

/* { shape, name = … } is { shape = shape, name = … }: a copy in the table's place. */
static void name_first_item(lua_State *L)
{
    lua_settop(L, 2);
    if (!lua_istable(L, 2) || lua_rawgeti(L, 2, 1) == LUA_TNIL) {
        lua_settop(L, 2);
        return;
    }
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1))
        if (!lua_isinteger(L, -2) || lua_tointeger(L, -2) != 1) {
            lua_pushvalue(L, -2);
            lua_pushvalue(L, -2);
            lua_rawset(L, 4);
        }
    if (lua_getfield(L, 4, "shape") != LUA_TNIL)
        sim_lua_error(L, "the shape is given twice, as the first item and by its name");
    lua_pop(L, 1);
    lua_pushvalue(L, 3);
    lua_setfield(L, 4, "shape");
    lua_replace(L, 2);
    lua_settop(L, 2);
}

/* The shape of the table at index 2, left on the stack. */
static struct sim_shape *read_shape(lua_State *L, bool given, const char *method)
{
    if (!given)
        sim_lua_error(L, "%s: its shape is missing", method);
    lua_getfield(L, 2, "shape");
    return sim_lua_check_shape(L, lua_gettop(L), method);
}

/* --- obstacles ---------------------------------------------------------------------- */

struct obstacle_desc {
    const char *name;
    bool has_shape;
};

static const struct lua_param obstacle_params[] = {
    {.name = "shape",
     .kind = LUA_PARAM_VALUE,
     .present = offsetof(struct obstacle_desc, has_shape),
     .help = "what is solid, a sim.shape; also as the first item: { shape, name = … }"},
    {.name = "name",
     .kind = LUA_PARAM_STRING,
     .string = "",
     .offset = offsetof(struct obstacle_desc, name),
     .help = "by which f:remove and f:force_on know it"},
};

const struct lua_param_set sim_flow_obstacle_set = {
    .name = "flow:obstacle",
    .summary = "a solid in the flow, from now on",
    .example = "f:obstacle { sim.shape.disc { centre = { 2, 2 }, radius = 0.5 }, name = "
               "\"cylinder\" }",
    .params = obstacle_params,
    .count = sizeof obstacle_params / sizeof *obstacle_params,
};

/* A shape alone is taken too. */
int sim_lua_flow_obstacle(lua_State *L)
{
    struct obstacle_desc d = {.name = ""};
    struct sim_shape *shape;
    sim_lua_enter(L);
    struct sim_flow *f = sim_lua_check_flow(L, "obstacle");
    if (lua_isuserdata(L, 2)) {
        shape = sim_lua_check_shape(L, 2, "obstacle");
    } else {
        name_first_item(L);
        sim_lua_read(L, 2, &sim_flow_obstacle_set, &d);
        shape = read_shape(L, d.has_shape, "obstacle");
    }
    sim_lua_try(L, sim_flow_add_obstacle(f, d.name, shape));
    lua_settop(L, 1);
    return 1;
}

static const char *obstacle_named(lua_State *L, const struct sim_flow *f,
                                  const char *method)
{
    const char *words[SIM_FLOW_OBSTACLES];
    if (lua_type(L, 2) != LUA_TSTRING)
        sim_lua_error(L, "%s: the name of an obstacle, got %s", method,
                      luaL_typename(L, 2));
    const char *name = lua_tostring(L, 2);
    for (int k = 0; k < f->obstacle_count; k++) {
        words[k] = f->obstacle[k].name;
        if (*name && !strcmp(words[k], name))
            return name;
    }
    const char *nearest = sim_nearest_word(name, words, f->obstacle_count);
    sim_lua_error(L, "%s: there is no obstacle '%s'%s%s%s", method, name,
                  nearest && *nearest ? "; did you mean '" : "",
                  nearest && *nearest ? nearest : "", nearest && *nearest ? "'?" : "");
    return name;
}

int sim_lua_flow_remove(lua_State *L)
{
    sim_lua_enter(L);
    struct sim_flow *f = sim_lua_check_flow(L, "remove");
    sim_lua_try(L, sim_flow_remove_obstacle(f, obstacle_named(L, f, "remove")));
    lua_settop(L, 1);
    return 1;
}

/* { x, y } at `index`, both numbers. */
static void read_point(lua_State *L, int index, const char *what, double out[2])
{
    if (!lua_istable(L, index) || lua_rawlen(L, index) != 2)
        sim_lua_error(L, "%s must be { x, y }", what);
    for (int k = 0; k < 2; k++) {
        lua_rawgeti(L, index, k + 1);
        out[k] = sim_lua_number(L, lua_gettop(L), what);
        lua_pop(L, 1);
    }
}

/* f:force_on(name, { x, y }) -> fx, fy, torque about that point ({ 0, 0 }) */
int sim_lua_flow_force_on(lua_State *L)
{
    struct sim_flow_control control;
    double about[2] = {0, 0}, force[3];
    sim_lua_enter(L);
    struct sim_flow *f = sim_lua_check_flow(L, "force_on");
    const char *name = obstacle_named(L, f, "force_on");
    if (!lua_isnoneornil(L, 3))
        read_point(L, 3, "force_on: about", about);
    sim_lua_try(L, sim_flow_control(f, &control));
    sim_lua_try(L, sim_flow_healthy(f, &control));
    if (!control.steps)
        sim_lua_error(L, "force_on: no step was done yet");
    sim_lua_try(L, sim_flow_force(f, name, about, force));
    for (int k = 0; k < 3; k++)
        lua_pushnumber(L, force[k]);
    return 3;
}

/* --- forces ------------------------------------------------------------------------- */

/* f:force { x, y }: accelerations, numbers or fields of the grid's size, copied. */
int sim_lua_flow_force(lua_State *L)
{
    double number[2] = {0, 0};
    struct sim_field *field[2] = {NULL, NULL};
    sim_lua_enter(L);
    struct sim_flow *f = sim_lua_check_flow(L, "force");
    if (!lua_istable(L, 2) || lua_rawlen(L, 2) != 2)
        sim_lua_error(L, "force: { along x, along y }, each a number or a field");
    lua_settop(L, 2);
    for (int k = 0; k < 2; k++)
        if (lua_rawgeti(L, 2, k + 1) == LUA_TUSERDATA)
            field[k] = sim_lua_check_field(L, 3 + k, "force");
        else
            number[k] = sim_lua_number(L, 3 + k, "force: each component");
    sim_lua_try(L, sim_flow_set_force(f, number[0], number[1]));
    for (int k = 0; k < 2; k++)
        if (field[k])
            sim_lua_try(L, sim_flow_set_force_field(f, k, field[k]));
    lua_settop(L, 1);
    return 1;
}

/* --- scalars ------------------------------------------------------------------------ */

int sim_lua_flow_scalar_named(lua_State *L, const struct sim_flow *f, const char *name,
                              const char *method)
{
    const char *words[SIM_FLOW_SCALARS];
    const int found = sim_flow_find_scalar(f, name);
    if (found >= 0)
        return found;
    for (int k = 0; k < f->system.scalars; k++)
        words[k] = f->scalars[k].name;
    const char *nearest = sim_nearest_word(name, words, f->system.scalars);
    return sim_lua_error(L, "%s: there is no scalar '%s'%s%s%s", method, name,
                         nearest ? "; did you mean '" : "", nearest ? nearest : "",
                         nearest ? "'?" : "");
}

struct scalar_desc {
    const char *name;
    double diffusivity;
};

static const struct lua_param scalar_params[] = {
    {.name = "name",
     .kind = LUA_PARAM_STRING,
     .required = true,
     .offset = offsetof(struct scalar_desc, name),
     .help = "of the scalar, and of its field: f.dye, or f:field(\"dye\")"},
    {.name = "diffusivity",
     .kind = LUA_PARAM_NUMBER,
     .unit = "length^2/time",
     .max = HUGE_VAL,
     .offset = offsetof(struct scalar_desc, diffusivity),
     .help = "0: carried along only"},
};

const struct lua_param_set sim_flow_scalar_set = {
    .name = "flow:scalar",
    .summary = "something that the flow carries, 0 at first; f:scalar returns its field",
    .example = "local dye = f:scalar { name = \"dye\" }",
    .params = scalar_params,
    .count = sizeof scalar_params / sizeof *scalar_params,
};

static void check_scalar_name(lua_State *L, const char *name)
{
    if (strlen(name) >= SIM_FLOW_NAME)
        sim_lua_error(L, "scalar: the name '%s' is longer than %d", name,
                      SIM_FLOW_NAME - 1);
    if (sim_lua_flow_is_word(L, name))
        sim_lua_error(L, "scalar: '%s' is a word of flows; take another name", name);
}

int sim_lua_flow_scalar(lua_State *L)
{
    struct scalar_desc d = {0};
    struct sim_flow_scalar_desc to = {.name = ""};
    int index;
    sim_lua_enter(L);
    struct sim_flow *f = sim_lua_check_flow(L, "scalar");
    sim_lua_read(L, 2, &sim_flow_scalar_set, &d);
    check_scalar_name(L, d.name);
    memcpy(to.name, d.name, strlen(d.name));
    to.diffusivity = d.diffusivity;
    sim_lua_will_allocate(L, (size_t)(f->desc.nx * f->desc.ny) * 2 * f->ops->real_bytes);
    sim_lua_try(L, sim_flow_add_scalar(f, &to, &index));
    sim_flow_scalar(f, index)->clock = sim_flow_clock;
    sim_lua_push_field(L, 1, sim_flow_scalar(f, index), NULL);
    return 1;
}

struct scalar_side_desc {
    const char *scalar;
    int64_t side;
    double from, to, value;
    bool has_from, has_to, has_value;
};

#define SIDE_AT(member) offsetof(struct scalar_side_desc, member)

static const struct lua_param scalar_side_params[] = {
    {.name = "scalar",
     .kind = LUA_PARAM_STRING,
     .required = true,
     .offset = SIDE_AT(scalar),
     .help = "its name"},
    {.name = "side",
     .kind = LUA_PARAM_CHOICE,
     .words = sim_flow_side_words,
     .required = true,
     .offset = SIDE_AT(side),
     .help = "which"},
    {.name = "from",
     .kind = LUA_PARAM_NUMBER,
     .unit = "length",
     .offset = SIDE_AT(from),
     .present = SIDE_AT(has_from),
     .help = "a part of the side: from this coordinate"},
    {.name = "to",
     .kind = LUA_PARAM_NUMBER,
     .unit = "length",
     .offset = SIDE_AT(to),
     .present = SIDE_AT(has_to),
     .help = "to this one"},
    {.name = "value",
     .kind = LUA_PARAM_NUMBER,
     .offset = SIDE_AT(value),
     .present = SIDE_AT(has_value),
     .help = "held by the wall, or of what flows in; no flux when absent"},
};

const struct lua_param_set sim_flow_scalar_side_set = {
    .name = "flow:scalar_side",
    .summary = "what holds for a scalar on a side, or on a part of it",
    .example = "f:scalar_side { scalar = \"dye\", side = \"west\", value = 1, from = 1, "
               "to = 2 }",
    .params = scalar_side_params,
    .count = sizeof scalar_side_params / sizeof *scalar_side_params,
};

int sim_lua_flow_scalar_side(lua_State *L)
{
    struct scalar_side_desc d = {0};
    sim_lua_enter(L);
    struct sim_flow *f = sim_lua_check_flow(L, "scalar_side");
    sim_lua_read(L, 2, &sim_flow_scalar_side_set, &d);
    const int scalar = sim_lua_flow_scalar_named(L, f, d.scalar, "scalar_side");
    struct sim_flow_scalar_side to = {.part = d.has_from || d.has_to,
                                      .fixed = d.has_value,
                                      .from = d.has_from ? d.from : -HUGE_VAL,
                                      .to = d.has_to ? d.to : HUGE_VAL,
                                      .value = d.value};
    if (!(to.from < to.to))
        sim_lua_error(L, "scalar_side: from must be below to, got %f and %f", to.from,
                      to.to);
    for (int side = 0; side < 4; side++) {
        to.side = (enum sim_flow_side)side;
        if (sim_lua_flow_side_meant(d.side, side))
            sim_lua_try(L, sim_flow_set_scalar_side(f, scalar, &to));
    }
    lua_settop(L, 1);
    return 1;
}

/* --- sources and buoyancy ----------------------------------------------------------- */

struct source_desc {
    const char *scalar;
    double value;
    bool has_shape;
};

static const struct lua_param source_params[] = {
    {.name = "scalar",
     .kind = LUA_PARAM_STRING,
     .required = true,
     .offset = offsetof(struct source_desc, scalar),
     .help = "its name"},
    {.name = "shape",
     .kind = LUA_PARAM_VALUE,
     .present = offsetof(struct source_desc, has_shape),
     .help = "where, a sim.shape; cells that it covers in part count by their share. "
             "Also as the first item"},
    {.name = "value",
     .kind = LUA_PARAM_NUMBER,
     .number = 1,
     .offset = offsetof(struct source_desc, value),
     .help = "what the scalar is held at there from now on"},
};

const struct lua_param_set sim_flow_source_set = {
    .name = "flow:source",
    .summary = "a region where a scalar is held at a value; one a scalar",
    .example = "f:source { scalar = \"dye\", shape = sim.shape.disc { centre = { 1, 2 }, "
               "radius = 0.1 } }",
    .params = source_params,
    .count = sizeof source_params / sizeof *source_params,
};

int sim_lua_flow_source(lua_State *L)
{
    struct source_desc d = {0};
    sim_lua_enter(L);
    struct sim_flow *f = sim_lua_check_flow(L, "source");
    name_first_item(L);
    sim_lua_read(L, 2, &sim_flow_source_set, &d);
    const int scalar = sim_lua_flow_scalar_named(L, f, d.scalar, "source");
    const struct sim_shape *shape = read_shape(L, d.has_shape, "source");
    sim_lua_try(L, sim_flow_hold(f, scalar, shape, d.value));
    lua_settop(L, 1);
    return 1;
}

struct buoyancy_desc {
    const char *scalar;
    double strength[2], gravity[2], expansion, reference;
    bool has_strength, has_gravity, has_expansion;
};

#define BUOYANCY_AT(member) offsetof(struct buoyancy_desc, member)

static const struct lua_param buoyancy_params[] = {
    {.name = "scalar",
     .kind = LUA_PARAM_STRING,
     .required = true,
     .offset = BUOYANCY_AT(scalar),
     .help = "the temperature T, or what else makes light or heavy"},
    {.name = "strength",
     .kind = LUA_PARAM_VECTOR,
     .count = 2,
     .unit = "length/time^2",
     .vector = zero,
     .offset = BUOYANCY_AT(strength),
     .present = BUOYANCY_AT(has_strength),
     .help = "the acceleration for T - reference = 1; or give gravity and expansion"},
    {.name = "gravity",
     .kind = LUA_PARAM_VECTOR,
     .count = 2,
     .unit = "length/time^2",
     .vector = zero,
     .offset = BUOYANCY_AT(gravity),
     .present = BUOYANCY_AT(has_gravity),
     .help = "the acceleration -gravity * expansion * (T - reference), after Boussinesq"},
    {.name = "expansion",
     .kind = LUA_PARAM_NUMBER,
     .unit = "1/T",
     .number = 1,
     .offset = BUOYANCY_AT(expansion),
     .present = BUOYANCY_AT(has_expansion),
     .help = "the coefficient of expansion"},
    {.name = "reference",
     .kind = LUA_PARAM_NUMBER,
     .offset = BUOYANCY_AT(reference),
     .help = "T that is not pulled either way"},
};

const struct lua_param_set sim_flow_buoyancy_set = {
    .name = "flow:buoyancy",
    .summary = "an acceleration in proportion to a scalar",
    .example = "f:buoyancy { scalar = \"smoke\", strength = { 0, 1 } }",
    .params = buoyancy_params,
    .count = sizeof buoyancy_params / sizeof *buoyancy_params,
};

int sim_lua_flow_buoyancy(lua_State *L)
{
    struct buoyancy_desc d = {0};
    sim_lua_enter(L);
    struct sim_flow *f = sim_lua_check_flow(L, "buoyancy");
    sim_lua_read(L, 2, &sim_flow_buoyancy_set, &d);
    const int scalar = sim_lua_flow_scalar_named(L, f, d.scalar, "buoyancy");
    if (d.has_strength == d.has_gravity || (d.has_strength && d.has_expansion))
        sim_lua_error(L, "buoyancy: give strength, or gravity and expansion");
    for (int k = 0; k < 2 && d.has_gravity; k++)
        d.strength[k] = -d.gravity[k] * d.expansion;
    sim_lua_try(
        L, sim_flow_set_buoyancy(f, scalar, d.strength[0], d.strength[1], d.reference));
    lua_settop(L, 1);
    return 1;
}
