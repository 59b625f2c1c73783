/* lua_diffusion.c - the word sim.diffusion and its methods. */
#include "lua_diffusion.h"
#include "reaction.h"

#include <math.h>
#include <string.h>

#define CLASS "sim.diffusion"

struct box {
    bool open;
    struct sim_diffusion diffusion;
};

static const char *const precision_words[] = {"single", "double", NULL};
static const char *const integrator_words[] = {"euler", "crank-nicolson", "adi", NULL};
static const char *const variant_words[] = {"auto",  "plain",   "blocked",
                                            "small", "cluster", NULL};
static const char *const reaction_words[] = {
    "none",       "decay",           "fisher-kpp",   "bistable",    "allen-cahn",
    "gray-scott", "fitzhugh-nagumo", "schnakenberg", "brusselator", "barkley",
    NULL}; /* as enum sim_reaction */
const char *const sim_diffusion_kind_words[] = {
    "no-flux", "fixed", "flux", "robin", "periodic", NULL}; /* as enum sim_wall_kind */
const char *const sim_diffusion_at_words[] = {"face", "node", NULL};

struct desc {
    struct sim_diffusion_desc diffusion;
    double size[2], origin[2], dx, dy;
    int64_t precision, integrator, variant, depth, rows, count, reaction, walls, at;
    const char *preset;
    bool has_dx, has_dy, has_dt, has_D[2], has_reaction, has_parameters;
};

#define AT(member) offsetof(struct desc, member)

static const double zero[2] = {0, 0};

static const struct lua_param diffusion_params[] = {
    {.name = "size",
     .kind = LUA_PARAM_VECTOR,
     .count = 2,
     .required = true,
     .min = 1,
     .max = 1 << 30,
     .unit = "cells",
     .offset = AT(size),
     .help = "cells along x and y"},
    {.name = "dx",
     .kind = LUA_PARAM_NUMBER,
     .unit = "length",
     .number = 1,
     .min_open = true,
     .max = HUGE_VAL,
     .offset = AT(dx),
     .present = AT(has_dx),
     .help = "width of a cell"},
    {.name = "dy",
     .kind = LUA_PARAM_NUMBER,
     .unit = "length",
     .number = 1,
     .min_open = true,
     .max = HUGE_VAL,
     .offset = AT(dy),
     .present = AT(has_dy),
     .help = "height of a cell; dx when not given"},
    {.name = "origin",
     .kind = LUA_PARAM_VECTOR,
     .count = 2,
     .unit = "length",
     .vector = zero,
     .offset = AT(origin),
     .help = "the lower left corner"},
    {.name = "dt",
     .kind = LUA_PARAM_NUMBER,
     .unit = "time",
     .number = 1,
     .min_open = true,
     .max = HUGE_VAL,
     .offset = AT(diffusion.dt),
     .present = AT(has_dt),
     .help = "the time step; a preset has its own, else it is required"},
    {.name = "diffusivity",
     .kind = LUA_PARAM_VALUE,
     .present = AT(has_D[0]),
     .help = "D of u: a number (1), { along x, along y }, or a field"},
    {.name = "diffusivity_v",
     .kind = LUA_PARAM_VALUE,
     .present = AT(has_D[1]),
     .help = "D of v, where a reaction has two species; else as diffusivity"},
    {.name = "reaction",
     .kind = LUA_PARAM_CHOICE,
     .words = reaction_words,
     .offset = AT(reaction),
     .present = AT(has_reaction),
     .help = "f(u, v), see parameters"},
    {.name = "parameters",
     .kind = LUA_PARAM_VALUE,
     .present = AT(has_parameters),
     .help =
         "of the reaction, by name: gray-scott F, k; fitzhugh-nagumo cubic, stimulus, "
         "epsilon, gamma, beta; schnakenberg a, b, scale; brusselator a, b; barkley a, "
         "b, "
         "epsilon; fisher-kpp r, K; bistable k, a; allen-cahn epsilon; decay k"},
    {.name = "preset",
     .kind = LUA_PARAM_STRING,
     .offset = AT(preset),
     .help =
         "a reaction with parameters by its look: labyrinth, mitosis, spots, worms, "
         "holes, chaos, gliders, waves, bubbles, maze, u-skate, spiral, turing-spots, …"},
    {.name = "walls",
     .kind = LUA_PARAM_CHOICE,
     .words = sim_diffusion_kind_words,
     .offset = AT(walls),
     .help = "of all sides; d:wall { … } sets one side or a part of it"},
    {.name = "at",
     .kind = LUA_PARAM_CHOICE,
     .words = sim_diffusion_at_words,
     .offset = AT(at),
     .help = "where these walls are: at the cells' faces, or at their nodes"},
    {.name = "count",
     .kind = LUA_PARAM_INTEGER,
     .number = 1,
     .min = 1,
     .max = 65535,
     .offset = AT(count),
     .help = "independent grids of equal parameters, stepped together"},
    {.name = "precision",
     .kind = LUA_PARAM_CHOICE,
     .words = precision_words,
     .offset = AT(precision),
     .help = "of the numbers"},
    {.name = "integrator",
     .kind = LUA_PARAM_CHOICE,
     .words = integrator_words,
     .offset = AT(integrator),
     .help = "in time; the last two take steps of any size"},
    {.name = "time",
     .kind = LUA_PARAM_NUMBER,
     .unit = "time",
     .offset = AT(diffusion.time),
     .help = "the time before the first step"},
    {.name = "variant",
     .kind = LUA_PARAM_CHOICE,
     .words = variant_words,
     .offset = AT(variant),
     .help = "how steps are done; all give the same bits"},
    {.name = "depth",
     .kind = LUA_PARAM_INTEGER,
     .max = 64,
     .offset = AT(depth),
     .help = "steps a pass of the blocked variant; 0: the measured best"},
    {.name = "rows",
     .kind = LUA_PARAM_INTEGER,
     .max = 1 << 20,
     .offset = AT(rows),
     .help = "rows of a chunk of the blocked variant; 0: the measured best"},
};

const struct lua_param_set sim_diffusion_set = {
    .name = "sim.diffusion",
    .summary =
        "diffusion and reaction on a rectangle: du/dt = div(D grad u) + sources + f",
    .example =
        "local d = sim.diffusion { size = { 256, 256 }, dt = 0.2, walls = \"no-flux\" }",
    .params = diffusion_params,
    .count = sizeof diffusion_params / sizeof *diffusion_params,
};

/* --- reading ------------------------------------------------------------------------ */

static void apply_preset(lua_State *L, struct desc *d, double *parameters)
{
    const char *names[64];
    const struct sim_reaction_preset *found = NULL;
    for (int k = 0; k < sim_reaction_preset_count; k++) {
        names[k] = sim_reaction_presets[k].name;
        if (!strcmp(names[k], d->preset))
            found = &sim_reaction_presets[k];
    }
    if (!found) {
        sim_lua_unknown(L, "sim.diffusion: no preset", d->preset, names,
                        sim_reaction_preset_count, "");
        return;
    }
    if (d->has_reaction && d->reaction != (int64_t)found->reaction)
        sim_lua_error(L, "sim.diffusion: the preset '%s' is of %s", d->preset,
                      sim_reaction_models[found->reaction].name);
    d->reaction = (int64_t)found->reaction;
    memcpy(parameters, found->value, sizeof found->value);
    for (int s = 0; s < SIM_SPECIES_MAX; s++)
        d->diffusion.diffusivity[s][0] = d->diffusion.diffusivity[s][1] =
            found->diffusivity[s];
    d->dx = d->has_dx ? d->dx : found->dx;
    d->diffusion.dt = d->has_dt ? d->diffusion.dt : found->dt;
    d->has_dt = true;
}

/* parameters = { F = 0.03, … } over what is there. */
static void read_parameters(lua_State *L, const struct sim_reaction_model *model,
                            double *parameters)
{
    const char *names[SIM_REACTION_PARAMETERS];
    int count = 0;
    while (count < SIM_REACTION_PARAMETERS && model->parameter[count].name) {
        names[count] = model->parameter[count].name;
        count++;
    }
    if (lua_getfield(L, 1, "parameters") != LUA_TTABLE)
        sim_lua_error(L, "sim.diffusion: parameters must be a table");
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
        int k = 0;
        while (k < count && strcmp(names[k], name) != 0)
            k++;
        if (k == count) {
            lua_pushfstring(L, "sim.diffusion: %s has no parameter", model->name);
            sim_lua_unknown(L, lua_tostring(L, -1), name, names, count, "");
        }
        lua_pushfstring(L, "sim.diffusion: parameters.%s", name);
        parameters[k] = sim_lua_number(L, -2, lua_tostring(L, -1));
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

/* D: a number, { x, y }, or a field, which is left on the stack for later. */
static bool read_diffusivity(lua_State *L, const char *name, double D[2])
{
    const int type = lua_getfield(L, 1, name);
    if (type == LUA_TUSERDATA) {
        sim_lua_check_field(L, -1, name);
        return true;
    }
    if (type == LUA_TNUMBER) {
        D[0] = D[1] = lua_tonumber(L, -1);
    } else {
        if (type != LUA_TTABLE)
            sim_lua_error(L, "sim.diffusion: %s must be a number, two numbers or a field",
                          name);
        lua_pushfstring(L, "sim.diffusion: %s", name);
        sim_lua_numbers(L, -2, lua_tostring(L, -1), 2, D);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return false;
}

static void read_desc(lua_State *L, struct desc *d)
{
    double parameters[SIM_REACTION_PARAMETERS];
    struct sim_diffusion_desc *to = &d->diffusion;
    sim_lua_read(L, 1, &sim_diffusion_set, d);
    sim_lua_check_whole(L, "sim.diffusion: size", d->size);
    for (int s = 0; s < SIM_SPECIES_MAX; s++)
        to->diffusivity[s][0] = to->diffusivity[s][1] = 1;
    for (int k = 0; k < SIM_REACTION_PARAMETERS; k++)
        parameters[k] = sim_reaction_models[d->reaction].parameter[k].value;
    if (d->preset)
        apply_preset(L, d, parameters);
    else if (!d->has_dt)
        sim_lua_error(L, "sim.diffusion: dt is missing (the time step)");
    if (d->has_parameters)
        read_parameters(L, &sim_reaction_models[d->reaction], parameters);
    sim_lua_try(
        L, sim_reaction_numbers((enum sim_reaction)d->reaction, parameters, to->number));
    to->nx = (int64_t)d->size[0], to->ny = (int64_t)d->size[1];
    to->x0 = d->origin[0], to->y0 = d->origin[1];
    to->dx = d->dx, to->dy = d->has_dy ? d->dy : d->dx;
    to->count = d->count;
    to->reaction = (enum sim_reaction)d->reaction;
    to->is_double = d->precision == 1;
    to->integrator = (enum sim_integrator)d->integrator;
    to->tuning =
        (struct sim_diffusion_tuning){.variant = (enum sim_diffusion_variant)d->variant,
                                      .depth = (int)d->depth,
                                      .rows = (int)d->rows};
}

static void set_all_walls(lua_State *L, struct sim_diffusion *d, const struct desc *desc)
{
    for (int side = 0; side < SIM_SIDES; side++) {
        const struct sim_wall_desc wall = {.side = (enum sim_side)side,
                                           .species = -1,
                                           .kind = (enum sim_wall_kind)desc->walls,
                                           .at_node = desc->at == 1};
        sim_lua_try(L, sim_diffusion_set_wall(d, &wall));
    }
}

static int diffusion_new(lua_State *L)
{
    struct desc desc = {0};
    bool field[SIM_SPECIES_MAX] = {false};
    sim_lua_enter(L);
    read_desc(L, &desc);
    struct sim_diffusion_desc *to = &desc.diffusion;
    lua_settop(L, 1);
    if (desc.has_D[0])
        field[0] = read_diffusivity(L, "diffusivity", to->diffusivity[0]);
    if (desc.has_D[0] && !desc.preset)
        memcpy(to->diffusivity[1], to->diffusivity[0], sizeof to->diffusivity[1]);
    if (desc.has_D[1])
        field[1] = read_diffusivity(L, "diffusivity_v", to->diffusivity[1]);
    struct sim_device *device = sim_lua_host(L)->device;
    struct box *box = sim_lua_box(L, sizeof *box, CLASS, 0);
    const double bytes = desc.size[0] * desc.size[1] * (double)desc.count *
                         (to->is_double ? 32 : 16); /* what it cannot have it will not */
    sim_lua_will_allocate(L, bytes < 0x1p60 ? (size_t)bytes : (size_t)1 << 60);
    enum sim_status status = sim_diffusion_new(device, to, &box->diffusion);
    if (status == SIM_DEVICE_MEMORY) {
        sim_lua_collect(L);
        status = sim_diffusion_new(device, to, &box->diffusion);
    }
    sim_lua_try(L, status);
    box->open = true;
    set_all_walls(L, &box->diffusion, &desc);
    for (int s = 0, at = 2; s < SIM_SPECIES_MAX; s++)
        if (field[s])
            sim_lua_try(
                L, sim_diffusion_set_diffusivity(
                       &box->diffusion, s, sim_lua_check_field(L, at++, "diffusivity")));
    return 1;
}

static int diffusion_close(lua_State *L)
{
    struct box *box = luaL_testudata(L, 1, CLASS);
    if (box && box->open) {
        box->open = false;
        sim_diffusion_free(&box->diffusion);
    }
    return 0;
}

struct sim_diffusion *sim_lua_check_diffusion(lua_State *L, const char *method)
{
    struct box *box = sim_lua_check(L, 1, CLASS, method);
    return &box->diffusion;
}

static int diffusion_tostring(lua_State *L)
{
    const struct box *box = luaL_checkudata(L, 1, CLASS);
    const struct sim_diffusion *d = &box->diffusion;
    if (!box->open)
        lua_pushliteral(L, CLASS " (closed)");
    else
        lua_pushfstring(L, CLASS " (%I x %I, %s, %s, %I steps)", (LUAI_UACINT)d->desc.nx,
                        (LUAI_UACINT)d->desc.ny,
                        sim_reaction_models[d->desc.reaction].name, d->ops->name,
                        (LUAI_UACINT)d->steps);
    return 1;
}

/* --- stepping, asking --------------------------------------------------------------- */

static int diffusion_step(lua_State *L)
{
    sim_lua_enter(L);
    struct sim_diffusion *d = sim_lua_check_diffusion(L, "step");
    int64_t count = 1;
    if (!lua_isnoneornil(L, 2))
        count = sim_lua_integer(L, 2, "step: the number of steps", 0, (int64_t)1 << 53);
    if (sim_lua_host(L)->idle)
        return 0;
    sim_lua_try(L, sim_diffusion_step(d, count));
    return 0;
}

static int diffusion_advance(lua_State *L)
{
    sim_lua_enter(L);
    struct sim_diffusion *d = sim_lua_check_diffusion(L, "advance");
    const double time = sim_lua_number(L, 2, "advance: the time");
    if (sim_lua_host(L)->idle)
        return 0;
    sim_lua_try(L, sim_diffusion_advance(d, time));
    return 0;
}

/* d:jump(time, "continuous"): whole steps at once, or the differential equation itself.
 */
static int diffusion_jump(lua_State *L)
{
    static const char *const kinds[] = {"steps", "continuous", NULL};
    sim_lua_enter(L);
    struct sim_diffusion *d = sim_lua_check_diffusion(L, "jump");
    const double steps = round(sim_lua_number(L, 2, "jump: the time") / d->desc.dt);
    const int kind = luaL_checkoption(L, 3, "steps", kinds);
    if (!(steps >= 0) || steps > 9e15)
        sim_lua_error(L, "jump: the time must be 0 or more");
    if (sim_lua_host(L)->idle)
        return 0;
    sim_lua_try(L, sim_diffusion_jump(d, (int64_t)steps, kind == 1));
    return 0;
}

/* d:paint { … }: u, of the first grid. */
static int diffusion_paint(lua_State *L)
{
    sim_lua_enter(L);
    struct sim_diffusion *d = sim_lua_check_diffusion(L, "paint");
    sim_lua_paint(L, sim_diffusion_field(d, 0, 0), 2, "paint");
    lua_settop(L, 1);
    return 1;
}

/* d:field("u" | "v", member = 1) -> a view */
static int diffusion_field(lua_State *L)
{
    struct sim_diffusion *d = sim_lua_check_diffusion(L, "field");
    const char *name = luaL_optstring(L, 2, "u");
    int64_t member = 1;
    if (!lua_isnoneornil(L, 3))
        member = sim_lua_integer(L, 3, "field: the grid's number", 1, d->system.count);
    const int s = !strcmp(name, "v");
    if ((strcmp(name, "u") != 0 && !s) || s >= d->system.species)
        sim_lua_error(L, "field: there is no species '%s'", name);
    sim_lua_push_field(L, 1, sim_diffusion_field(d, s, member - 1), NULL);
    return 1;
}

static int diffusion_limit(lua_State *L)
{
    double limit;
    sim_lua_try(L, sim_diffusion_limit(sim_lua_check_diffusion(L, "limit"), &limit));
    lua_pushnumber(L, limit);
    return 1;
}

/* d:describe(steps = 1000) -> how so many steps would be done */
static int diffusion_describe(lua_State *L)
{
    char text[128];
    sim_lua_enter(L);
    struct sim_diffusion *d = sim_lua_check_diffusion(L, "describe");
    int64_t count = 1000;
    if (!lua_isnoneornil(L, 2))
        count =
            sim_lua_integer(L, 2, "describe: the number of steps", 1, (int64_t)1 << 53);
    sim_lua_try(L, sim_diffusion_describe(d, count, text, sizeof text));
    lua_pushstring(L, text);
    return 1;
}

static int get_u(lua_State *L)
{
    struct sim_diffusion *d = sim_lua_check_diffusion(L, "u");
    sim_lua_push_field(L, 1, sim_diffusion_field(d, 0, 0), NULL);
    return 1;
}

static int get_v(lua_State *L)
{
    struct sim_diffusion *d = sim_lua_check_diffusion(L, "v");
    if (d->system.species < 2)
        return 0;
    sim_lua_push_field(L, 1, sim_diffusion_field(d, 1, 0), NULL);
    return 1;
}

static int get_time(lua_State *L)
{
    lua_pushnumber(L, sim_diffusion_time(sim_lua_check_diffusion(L, "time")));
    return 1;
}

static int get_steps(lua_State *L)
{
    lua_pushinteger(L, sim_lua_check_diffusion(L, "steps")->steps);
    return 1;
}

static int get_dt(lua_State *L)
{
    lua_pushnumber(L, sim_lua_check_diffusion(L, "dt")->desc.dt);
    return 1;
}

static int get_count(lua_State *L)
{
    lua_pushinteger(L, sim_lua_check_diffusion(L, "count")->system.count);
    return 1;
}

void sim_lua_open_diffusion(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"wall", sim_lua_diffusion_wall},
        {"source", sim_lua_diffusion_source},
        {"domain", sim_lua_diffusion_domain},
        {"paint", diffusion_paint},
        {"step", diffusion_step},
        {"advance", diffusion_advance},
        {"jump", diffusion_jump},
        {"field", diffusion_field},
        {"limit", diffusion_limit},
        {"describe", diffusion_describe},
        {NULL, NULL},
    };
    static const luaL_Reg getters[] = {
        {"u", get_u},   {"v", get_v},         {"time", get_time}, {"steps", get_steps},
        {"dt", get_dt}, {"count", get_count}, {NULL, NULL},
    };
    sim_lua_class(L, CLASS, methods, getters, diffusion_close, diffusion_tostring);
    lua_pushcfunction(L, diffusion_new);
    lua_setfield(L, -2, "diffusion");
}
