/* lua_flow.c - the word sim.flow: making, stepping, fields and numbers. Its sides are in
 * lua_flow_sides.c, what is put into it in lua_flow_parts.c. */
#include "lua_flow.h"

#include <math.h>
#include <string.h>

#include "flow_health.h"

#define CLASS "sim.flow"

struct box {
    bool open;
    struct sim_flow flow;
    double length, speed; /* of the Reynolds number */
};

static const char *const precision_words[] = {"single", "double", NULL};
static const char *const wall_words[] = {"cut", "staircase", NULL};
static const char *const solver_words[] = {"auto", "multigrid", "jacobi",
                                           "sor",  "transform", NULL};
static const enum sim_poisson_method solvers[] = {SIM_AUTO, SIM_MULTIGRID, SIM_JACOBI,
                                                  SIM_SOR, SIM_TRANSFORM};

struct desc {
    struct sim_flow_desc flow;
    double size[2], origin[2], dx, dy, lx, ly, reynolds, length, speed;
    int64_t precision, wall, solver, sides;
    bool has_dx, has_dy, has_lx, has_ly, has_viscosity, has_reynolds, has_length,
        has_speed, has_dt, has_dt_max, has_tolerance, has_iterations, has_omega;
    int64_t iterations;
};

#define AT(member) offsetof(struct desc, member)

static const double zero[2] = {0, 0};

#define POSITIVE(word, member, text_unit, value, given, text)                          \
    {                                                                                  \
        .name = word, .kind = LUA_PARAM_NUMBER, .unit = text_unit, .max = HUGE_VAL,    \
        .min_open = true, .number = value, .offset = AT(member), .present = AT(given), \
        .help = text                                                                   \
    }

static const struct lua_param flow_params[] = {
    {.name = "size",
     .kind = LUA_PARAM_VECTOR,
     .count = 2,
     .required = true,
     .min = 1,
     .max = 1 << 20,
     .unit = "cells",
     .offset = AT(size),
     .help = "cells along x and y"},
    POSITIVE("dx", dx, "length", 1, has_dx, "width of a cell; or give lx"),
    POSITIVE("dy", dy, "length", 1, has_dy,
             "height of a cell; if not given, from ly, or dx"),
    POSITIVE("lx", lx, "length", 1, has_lx, "width of the domain, instead of dx"),
    POSITIVE("ly", ly, "length", 1, has_ly, "height of the domain, instead of dy"),
    {.name = "origin",
     .kind = LUA_PARAM_VECTOR,
     .count = 2,
     .unit = "length",
     .vector = zero,
     .offset = AT(origin),
     .help = "the lower left corner"},
    {.name = "viscosity",
     .kind = LUA_PARAM_NUMBER,
     .unit = "length^2/time",
     .max = HUGE_VAL,
     .offset = AT(flow.nu),
     .present = AT(has_viscosity),
     .help = "kinematic; this or reynolds must be given. 0 needs chi > 0"},
    POSITIVE("reynolds", reynolds, NULL, 1, has_reynolds,
             "speed * length / viscosity, instead of viscosity"),
    POSITIVE("length", length, "length", 1, has_length, "of the Reynolds number"),
    POSITIVE("speed", speed, "length/time", 1, has_speed, "of the Reynolds number"),
    {.name = "sides",
     .kind = LUA_PARAM_CHOICE,
     .words = sim_flow_all_sides_words,
     .offset = AT(sides),
     .help = "all four at first; f:side { … } sets one or a part of it"},
    {.name = "force",
     .kind = LUA_PARAM_VECTOR,
     .count = 2,
     .unit = "length/time^2",
     .vector = zero,
     .offset = AT(flow.force),
     .help = "an acceleration everywhere; f:force { x, y } changes it, each a number or "
             "a field"},
    {.name = "chi",
     .kind = LUA_PARAM_NUMBER,
     .number = 0.9,
     .max = 1,
     .offset = AT(flow.chi),
     .help = "share of donor-cell differences in the convective terms; 0: central ones"},
    {.name = "cfl",
     .kind = LUA_PARAM_NUMBER,
     .number = 0.5,
     .max = 1,
     .min_open = true,
     .offset = AT(flow.cfl),
     .help = "of the time step: dt (|u|/dx + |v|/dy) is at most this"},
    POSITIVE(
        "dt", flow.dt, "time", 0, has_dt,
        "a fixed time step, refused where it must be unstable; when absent, by cfl and "
        "the viscosity"),
    POSITIVE("dt_max", flow.dt_max, "time", 0, has_dt_max,
             "the time step's bound beside those of stability"),
    POSITIVE("tolerance", flow.tolerance, NULL, 0, has_tolerance,
             "max |div u| h / U that the pressure solve may leave; 1e-6, or 1e-10 in "
             "double precision"),
    {.name = "precision",
     .kind = LUA_PARAM_CHOICE,
     .words = precision_words,
     .offset = AT(precision),
     .help = "of the numbers"},
    {.name = "wall",
     .kind = LUA_PARAM_CHOICE,
     .words = wall_words,
     .offset = AT(wall),
     .help = "obstacles' walls where they are, between cells; or along cells"},
    {.name = "solver",
     .kind = LUA_PARAM_CHOICE,
     .words = solver_words,
     .offset = AT(solver),
     .help = "of the pressure. multigrid: any scene, and the same bits on CPU and GPU; "
             "transform: at one go, to the tolerance, in an empty rectangle without a "
             "prescribed pressure on a GPU with cuFFT; auto: whichever of the two was "
             "measured to be faster (f:solver() says). jacobi and sor do as many sweeps "
             "as told, converged or not"},
    {.name = "iterations",
     .kind = LUA_PARAM_INTEGER,
     .number = 100,
     .min = 1,
     .max = 1 << 20,
     .offset = AT(iterations),
     .present = AT(has_iterations),
     .help = "most cycles of multigrid; exactly so many sweeps of jacobi and sor"},
    {.name = "omega",
     .kind = LUA_PARAM_NUMBER,
     .number = 1.7,
     .min_open = true,
     .max = 2,
     .offset = AT(flow.omega),
     .present = AT(has_omega),
     .help = "over-relaxation of sor, below 2"},
    {.name = "time",
     .kind = LUA_PARAM_NUMBER,
     .unit = "time",
     .offset = AT(flow.time),
     .help = "the time before the first step"},
};

const struct lua_param_set sim_flow_set = {
    .name = "sim.flow",
    .summary =
        "incompressible flow in a rectangle with obstacles, by the SMAC method; at "
        "rest between no-slip walls until told otherwise",
    .example = "local f = sim.flow { size = { 512, 128 }, lx = 16, reynolds = 100 }",
    .params = flow_params,
    .count = sizeof flow_params / sizeof *flow_params,
};

/* --- making ------------------------------------------------------------------------- */

static void set_cells(lua_State *L, struct desc *d)
{
    if (d->size[0] != floor(d->size[0]) || d->size[1] != floor(d->size[1]))
        sim_lua_error(L, "sim.flow: size must be two whole numbers");
    if ((d->has_dx && d->has_lx) || (d->has_dy && d->has_ly))
        sim_lua_error(L, "sim.flow: give a cell's size or the whole length, not both");
    struct sim_flow_desc *to = &d->flow;
    to->nx = (int64_t)d->size[0], to->ny = (int64_t)d->size[1];
    to->dx = d->has_lx ? d->lx / d->size[0] : d->dx;
    to->dy = d->has_ly ? d->ly / d->size[1] : d->has_dy ? d->dy : to->dx;
    to->x0 = d->origin[0], to->y0 = d->origin[1];
}

static void set_viscosity(lua_State *L, struct desc *d)
{
    if (d->has_viscosity == d->has_reynolds)
        sim_lua_error(L, "sim.flow: give %s",
                      d->has_reynolds ? "viscosity or reynolds, not both"
                                      : "viscosity, or reynolds with its length and "
                                        "speed (1 and 1 when absent)");
    if (d->has_reynolds)
        d->flow.nu = d->speed * d->length / d->reynolds;
}

static void read_desc(lua_State *L, struct desc *d)
{
    struct sim_flow_desc *to = &d->flow;
    sim_lua_read(L, 1, &sim_flow_set, d);
    set_cells(L, d);
    set_viscosity(L, d);
    to->method = solvers[d->solver];
    if (to->method != SIM_SOR && d->has_omega)
        sim_lua_error(L, "sim.flow: omega belongs to solver = \"sor\"");
    if ((to->method == SIM_JACOBI || to->method == SIM_SOR) && !d->has_iterations)
        sim_lua_error(L,
                      "sim.flow: solver = \"%s\" needs iterations, the number of "
                      "sweeps",
                      solver_words[d->solver]);
    if (to->omega >= 2)
        sim_lua_error(L, "sim.flow: omega must be below 2");
    to->is_double = d->precision == 1;
    if (!d->has_tolerance)
        to->tolerance = to->is_double ? 1e-10 : 1e-6;
    to->wall = d->wall == 0 ? SIM_FLOW_CUT_CELLS : SIM_FLOW_STAIRCASE;
    to->iterations = (int)d->iterations;
}

static int flow_new(lua_State *L)
{
    struct desc desc = {0};
    sim_lua_enter(L);
    read_desc(L, &desc);
    lua_settop(L, 1);
    struct sim_device *device = sim_lua_host(L)->device;
    struct box *box = sim_lua_box(L, sizeof *box, CLASS, 0);
    sim_lua_will_allocate(L, (size_t)(desc.size[0] * desc.size[1]) *
                                 (desc.flow.is_double ? 18 * 8u : 18 * 4u));
    enum sim_status status = sim_flow_new(device, &desc.flow, &box->flow);
    if (status == SIM_DEVICE_MEMORY) {
        sim_lua_collect(L);
        status = sim_flow_new(device, &desc.flow, &box->flow);
    }
    sim_lua_try(L, status);
    box->open = true;
    box->length = desc.length, box->speed = desc.speed;
    for (int k = 0; k < SIM_FLOW_VIEWS; k++)
        box->flow.views[k].clock = sim_flow_clock;
    sim_lua_flow_all_sides(L, &box->flow, desc.sides);
    return 1;
}

static int flow_close(lua_State *L)
{
    struct box *box = luaL_testudata(L, 1, CLASS);
    if (box && box->open) {
        box->open = false;
        sim_flow_free(&box->flow);
    }
    return 0;
}

struct sim_flow *sim_lua_check_flow_at(lua_State *L, int index, const char *method)
{
    struct box *box = sim_lua_check(L, index, CLASS, method);
    return &box->flow;
}

struct sim_flow *sim_lua_check_flow(lua_State *L, const char *method)
{
    return sim_lua_check_flow_at(L, 1, method);
}

static int flow_tostring(lua_State *L)
{
    const struct box *box = luaL_checkudata(L, 1, CLASS);
    const struct sim_flow *f = &box->flow;
    if (!box->open)
        lua_pushliteral(L, CLASS " (closed)");
    else
        lua_pushfstring(L, CLASS " (%I x %I, %s, viscosity %f)", (LUAI_UACINT)f->desc.nx,
                        (LUAI_UACINT)f->desc.ny, f->ops->name, f->desc.nu);
    return 1;
}

/* --- stepping ----------------------------------------------------------------------- */

static int flow_step(lua_State *L)
{
    sim_lua_enter(L);
    struct sim_flow *f = sim_lua_check_flow(L, "step");
    int64_t count = 1;
    if (!lua_isnoneornil(L, 2))
        count = sim_lua_integer(L, 2, "step: the number of steps", 0, (int64_t)1 << 53);
    if (sim_lua_host(L)->idle)
        return 0;
    sim_lua_try(L, sim_flow_step(f, count));
    return 0;
}

/* What the device says; an error when the flow has diverged. Waits. */
static struct sim_flow_control look(lua_State *L, struct sim_flow *f)
{
    struct sim_flow_control control;
    sim_lua_try(L, sim_flow_control(f, &control));
    sim_lua_try(L, sim_flow_healthy(f, &control));
    return control;
}

static int flow_advance(lua_State *L)
{
    sim_lua_enter(L);
    struct sim_flow *f = sim_lua_check_flow(L, "advance");
    const double time = sim_lua_number(L, 2, "advance: the time");
    if (sim_lua_host(L)->idle)
        return 0;
    sim_lua_try(L, sim_flow_advance(f, time));
    look(L, f);
    return 0;
}

static int flow_project(lua_State *L)
{
    sim_lua_enter(L);
    sim_lua_try(L, sim_flow_project(sim_lua_check_flow(L, "project")));
    lua_settop(L, 1);
    return 1;
}

/* --- numbers: these wait ------------------------------------------------------------ */

static struct sim_flow_control ask(lua_State *L, const char *method)
{
    sim_lua_enter(L);
    return look(L, sim_lua_check_flow(L, method));
}

static int flow_divergence(lua_State *L)
{
    double divergence;
    ask(L, "divergence");
    sim_lua_try(L, sim_flow_divergence(sim_lua_check_flow(L, "divergence"), &divergence));
    lua_pushnumber(L, divergence);
    return 1;
}

/* f:pressure_at(x, y), on the wall of an obstacle too */
static int flow_pressure_at(lua_State *L)
{
    double pressure;
    ask(L, "pressure_at");
    sim_lua_try(L, sim_flow_pressure(sim_lua_check_flow(L, "pressure_at"),
                                     sim_lua_number(L, 2, "pressure_at: x"),
                                     sim_lua_number(L, 3, "pressure_at: y"), &pressure));
    lua_pushnumber(L, pressure);
    return 1;
}

/* f:residual(): what the last solve left, in the tolerance's measure. */
static int flow_residual(lua_State *L)
{
    const struct sim_flow_control control = ask(L, "residual");
    const struct sim_flow_desc *d = &sim_lua_check_flow(L, "residual")->desc;
    const double scale = control.tentative_max * fmax(d->dx, d->dy);
    lua_pushnumber(L, scale > 0 ? control.solve.residual / scale : 0);
    return 1;
}

/* f:cycles() -> of the last solve, of all, solves that ended above the tolerance; and how
 * many were begun by a transform */
static int flow_cycles(lua_State *L)
{
    const struct sim_flow_control control = ask(L, "cycles");
    lua_pushinteger(L, control.solve.cycles);
    lua_pushinteger(L, control.solve.total);
    lua_pushinteger(L, control.solve.stalled);
    lua_pushinteger(L, control.solve.transforms);
    return 4;
}

/* f:solver() -> its word, "auto" being one or the other by now; what was in the way of
 * the transform, or nil */
static int flow_solver(lua_State *L)
{
    enum sim_poisson_method method;
    const char *why;
    int word = 1;
    sim_lua_enter(L);
    sim_lua_try(L, sim_flow_solver(sim_lua_check_flow(L, "solver"), &method, &why));
    while (solvers[word] != method)
        word++;
    lua_pushstring(L, solver_words[word]);
    lua_pushstring(L, why);
    return 2;
}

/* f:steady(threshold): did the last step change the velocity, relative to the largest one
 * and per unit of time, by less than the threshold? */
static int flow_steady(lua_State *L)
{
    const struct sim_flow_control control = ask(L, "steady");
    const double threshold = sim_lua_number(L, 2, "steady: the threshold");
    if (!(threshold > 0))
        sim_lua_error(L, "steady: the threshold must be above 0, got %f", threshold);
    lua_pushboolean(L, control.steps > 0 && control.change < threshold);
    return 1;
}

static int get_time(lua_State *L)
{
    lua_pushnumber(L, ask(L, "time").time);
    return 1;
}

static int get_steps(lua_State *L)
{
    lua_pushinteger(L, ask(L, "steps").steps);
    return 1;
}

static int get_dt(lua_State *L)
{
    lua_pushnumber(L, ask(L, "dt").dt);
    return 1;
}

static int get_cfl(lua_State *L)
{
    lua_pushnumber(L, ask(L, "cfl").cfl_max);
    return 1;
}

static int get_change(lua_State *L)
{
    lua_pushnumber(L, ask(L, "change").change);
    return 1;
}

static int get_reynolds(lua_State *L)
{
    const struct box *box = sim_lua_check(L, 1, CLASS, "reynolds");
    lua_pushnumber(L, box->speed * box->length / box->flow.desc.nu);
    return 1;
}

static int get_viscosity(lua_State *L)
{
    lua_pushnumber(L, sim_lua_check_flow(L, "viscosity")->desc.nu);
    return 1;
}

/* --- fields ------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int view;
} views[] = {
    {"u", SIM_FLOW_VIEW_U},
    {"v", SIM_FLOW_VIEW_V},
    {"pressure", SIM_FLOW_VIEW_PRESSURE},
    {"speed", SIM_FLOW_VIEW_DERIVED + SIM_FLOW_SPEED},
    {"vorticity", SIM_FLOW_VIEW_DERIVED + SIM_FLOW_VORTICITY},
    {"density", SIM_FLOW_VIEW_DERIVED + SIM_FLOW_DENSITY},
    {"stream", SIM_FLOW_VIEW_DERIVED + SIM_FLOW_STREAM},
    {"divergence", SIM_FLOW_VIEW_DERIVED + SIM_FLOW_DIVERGENCE},
    {"u_centre", SIM_FLOW_VIEW_DERIVED + SIM_FLOW_CENTRE_U},
    {"v_centre", SIM_FLOW_VIEW_DERIVED + SIM_FLOW_CENTRE_V},
    {"markers", SIM_FLOW_VIEW_DERIVED + SIM_FLOW_MARKERS},
};

#define VIEWS ((int)(sizeof views / sizeof *views))

/* Push the view of this name, a scalar's too. */
static bool push_named(lua_State *L, struct sim_flow *f, const char *name)
{
    const int scalar = sim_flow_find_scalar(f, name);
    struct sim_field *field = scalar >= 0 ? sim_flow_scalar(f, scalar) : NULL;
    for (int k = 0; k < VIEWS && !field; k++)
        if (!strcmp(views[k].name, name))
            field = sim_flow_view(f, views[k].view);
    if (field)
        sim_lua_push_field(L, 1, field, NULL);
    return field != NULL;
}

/* f:field(name) -> a view */
static int flow_field(lua_State *L)
{
    const char *words[VIEWS + SIM_FLOW_SCALARS];
    int count = 0;
    sim_lua_enter(L);
    struct sim_flow *f = sim_lua_check_flow(L, "field");
    if (lua_type(L, 2) != LUA_TSTRING)
        sim_lua_error(L, "field: the name of a field, got %s", luaL_typename(L, 2));
    const char *name = lua_tostring(L, 2);
    if (push_named(L, f, name))
        return 1;
    for (; count < VIEWS; count++)
        words[count] = views[count].name;
    for (int k = 0; k < f->system.scalars; k++)
        words[count++] = f->scalars[k].name;
    const char *nearest = sim_nearest_word(name, words, count);
    return sim_lua_error(L, "field: there is no field '%s'%s%s%s", name,
                         nearest ? "; did you mean '" : "", nearest ? nearest : "",
                         nearest ? "'?" : "");
}

/* A scalar's name, else the class's own words (upvalue 1: its __index). */
static int flow_index(lua_State *L)
{
    lua_settop(L, 2);
    const struct box *box = luaL_testudata(L, 1, CLASS);
    const char *word = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
    const int scalar = box && box->open ? sim_flow_find_scalar(&box->flow, word) : -1;
    if (scalar >= 0) {
        struct sim_flow *f = sim_lua_check_flow(L, word);
        sim_lua_push_field(L, 1, sim_flow_scalar(f, scalar), NULL);
        return 1;
    }
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, 2, 1);
    return 1;
}

/* Is this a word of flows, that no scalar may take? */
bool sim_lua_flow_is_word(lua_State *L, const char *name)
{
    const int top = lua_gettop(L);
    bool found = false;
    luaL_getmetatable(L, CLASS);
    lua_getfield(L, -1, "__index");
    lua_getupvalue(L, -1, 1); /* the class's own, with its methods and getters */
    for (int k = 1; k <= 2 && !found; k++) {
        lua_getupvalue(L, top + 3, k);
        found = lua_getfield(L, -1, name) != LUA_TNIL;
    }
    for (int k = 0; k < VIEWS && !found; k++)
        found = !strcmp(views[k].name, name);
    lua_settop(L, top);
    return found;
}

#define VIEW_GETTER(word, number)                                 \
    static int get_##word(lua_State *L)                           \
    {                                                             \
        struct sim_flow *f = sim_lua_check_flow(L, #word);        \
        sim_lua_push_field(L, 1, sim_flow_view(f, number), NULL); \
        return 1;                                                 \
    }

VIEW_GETTER(u, SIM_FLOW_VIEW_U)
VIEW_GETTER(v, SIM_FLOW_VIEW_V)
VIEW_GETTER(pressure, SIM_FLOW_VIEW_PRESSURE)
VIEW_GETTER(speed, SIM_FLOW_VIEW_DERIVED + SIM_FLOW_SPEED)
VIEW_GETTER(vorticity, SIM_FLOW_VIEW_DERIVED + SIM_FLOW_VORTICITY)
VIEW_GETTER(density, SIM_FLOW_VIEW_DERIVED + SIM_FLOW_DENSITY)
VIEW_GETTER(stream, SIM_FLOW_VIEW_DERIVED + SIM_FLOW_STREAM)

/* --- the class ---------------------------------------------------------------------- */

void sim_lua_open_flow(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"side", sim_lua_flow_side},
        {"obstacle", sim_lua_flow_obstacle},
        {"remove", sim_lua_flow_remove},
        {"force", sim_lua_flow_force},
        {"force_on", sim_lua_flow_force_on},
        {"scalar", sim_lua_flow_scalar},
        {"scalar_side", sim_lua_flow_scalar_side},
        {"source", sim_lua_flow_source},
        {"buoyancy", sim_lua_flow_buoyancy},
        {"markers", sim_lua_flow_markers},
        {"step", flow_step},
        {"advance", flow_advance},
        {"project", flow_project},
        {"divergence", flow_divergence},
        {"pressure_at", flow_pressure_at},
        {"residual", flow_residual},
        {"cycles", flow_cycles},
        {"solver", flow_solver},
        {"steady", flow_steady},
        {"field", flow_field},
        {NULL, NULL},
    };
    static const luaL_Reg getters[] = {
        {"u", get_u},
        {"v", get_v},
        {"pressure", get_pressure},
        {"speed", get_speed},
        {"vorticity", get_vorticity},
        {"density", get_density},
        {"stream", get_stream},
        {"time", get_time},
        {"steps", get_steps},
        {"dt", get_dt},
        {"cfl", get_cfl},
        {"change", get_change},
        {"reynolds", get_reynolds},
        {"viscosity", get_viscosity},
        {NULL, NULL},
    };
    sim_lua_class(L, CLASS, methods, getters, flow_close, flow_tostring);
    luaL_getmetatable(L, CLASS);
    lua_getfield(L, -1, "__index");
    lua_pushcclosure(L, flow_index, 1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    lua_pushcfunction(L, flow_new);
    lua_setfield(L, -2, "flow");
}
