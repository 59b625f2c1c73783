/* lua_flow_sides.c - f:side { … }: what holds on the sides of a flow, or on parts. */
#include "lua_flow.h"

#include <math.h>
#include <string.h>

const char *const sim_flow_side_words[] = {"west", "east",      "south",       "north",
                                           "all",  "west-east", "south-north", NULL};
const char *const sim_flow_all_sides_words[] = {"no-slip", "free-slip", "periodic", NULL};

bool sim_lua_flow_side_meant(int64_t word, int side)
{
    return word == side || word == 4 || (word == 5 && side < 2) ||
           (word == 6 && side > 1);
}

void sim_lua_flow_all_sides(lua_State *L, struct sim_flow *f, int64_t word)
{
    static const enum sim_flow_kind kinds[] = {SIM_FLOW_NO_SLIP, SIM_FLOW_FREE_SLIP,
                                               SIM_FLOW_PERIODIC};
    for (int side = 0; side < 4; side++) {
        const struct sim_flow_side_desc d = {.side = (enum sim_flow_side)side,
                                             .kind = kinds[word]};
        sim_lua_try(L, sim_flow_set_side(f, &d));
    }
}

/* --- declared ----------------------------------------------------------------------- */

enum kind {
    NO_SLIP,
    FREE_SLIP,
    INFLOW,
    OUTFLOW,
    ZERO_STRESS,
    PRESSURE,
    PERIODIC,
};

static const char *const kind_words[] = {"no-slip",  "free-slip",   "inflow",
                                         "outflow",  "zero-stress", "pressure",
                                         "periodic", NULL};
static const enum sim_flow_kind kinds[] = {
    SIM_FLOW_NO_SLIP,  SIM_FLOW_FREE_SLIP, SIM_FLOW_INFLOW,  SIM_FLOW_OUTFLOW,
    SIM_FLOW_PRESSURE, SIM_FLOW_PRESSURE,  SIM_FLOW_PERIODIC};
static const char *const profile_words[] = {"uniform", "parabolic", NULL};

struct sine_desc {
    double mean, amplitude, period, phase;
};

#define SINE_AT(member) offsetof(struct sine_desc, member)

static const struct lua_param sine_params[] = {
    {.name = "period",
     .kind = LUA_PARAM_NUMBER,
     .unit = "time",
     .required = true,
     .min_open = true,
     .max = HUGE_VAL,
     .offset = SINE_AT(period),
     .help = "of the wave"},
    {.name = "phase",
     .kind = LUA_PARAM_NUMBER,
     .unit = "turns",
     .offset = SINE_AT(phase),
     .help = "at time 0"},
    {.name = "mean",
     .kind = LUA_PARAM_NUMBER,
     .offset = SINE_AT(mean),
     .help = "the factor's mean"},
    {.name = "amplitude",
     .kind = LUA_PARAM_NUMBER,
     .number = 1,
     .offset = SINE_AT(amplitude),
     .help = "the factor's swing"},
};

const struct lua_param_set sim_flow_sine_set = {
    .name = "flow:side: sine",
    .summary = "a factor mean + amplitude sin(2 pi (t/period + phase)) of what a side "
               "lets in, or moves with",
    .example = "f:side { side = \"north\", kind = \"no-slip\", tangent = 1, sine = { "
               "period = 2 } }",
    .params = sine_params,
    .count = sizeof sine_params / sizeof *sine_params,
};

struct side_desc {
    int64_t side, kind, profile;
    double from, to, tangent, pressure, ramp, velocity[2];
    struct sine_desc sine;
    bool has_from, has_to, has_speed, has_profile, has_velocity, has_tangent,
        has_pressure, has_ramp, has_sine;
};

#define AT(member) offsetof(struct side_desc, member)

static const double zero[2] = {0, 0};

static const struct lua_param side_params[] = {
    {.name = "side",
     .kind = LUA_PARAM_CHOICE,
     .words = sim_flow_side_words,
     .required = true,
     .offset = AT(side),
     .help = "which"},
    {.name = "kind",
     .kind = LUA_PARAM_CHOICE,
     .words = kind_words,
     .required = true,
     .offset = AT(kind),
     .help =
         "no-slip, may move (tangent); free-slip; inflow (speed); outflow, which lets "
         "eddies out; pressure, prescribed; zero-stress, a pressure of 0; periodic"},
    {.name = "from",
     .kind = LUA_PARAM_NUMBER,
     .unit = "length",
     .offset = AT(from),
     .present = AT(has_from),
     .help = "a part of the side: cells with their middle from this coordinate"},
    {.name = "to",
     .kind = LUA_PARAM_NUMBER,
     .unit = "length",
     .offset = AT(to),
     .present = AT(has_to),
     .help = "to this one"},
    {.name = "speed",
     .kind = LUA_PARAM_VALUE,
     .present = AT(has_speed),
     .help = "of an inflow, into the domain: a number, or a function of the coordinate "
             "along the side, called once a cell"},
    {.name = "profile",
     .kind = LUA_PARAM_CHOICE,
     .words = profile_words,
     .offset = AT(profile),
     .present = AT(has_profile),
     .help = "of an inflow; parabolic: 0 at both ends, speed in the middle"},
    {.name = "velocity",
     .kind = LUA_PARAM_VECTOR,
     .count = 2,
     .unit = "length/time",
     .vector = zero,
     .offset = AT(velocity),
     .present = AT(has_velocity),
     .help = "of an inflow or a moving wall, { along x, along y }, instead of speed and "
             "tangent"},
    {.name = "tangent",
     .kind = LUA_PARAM_NUMBER,
     .unit = "length/time",
     .offset = AT(tangent),
     .present = AT(has_tangent),
     .help = "along the side, toward +x or +y: of a moving wall, or of what flows in"},
    {.name = "pressure",
     .kind = LUA_PARAM_NUMBER,
     .unit = "pressure/density",
     .offset = AT(pressure),
     .present = AT(has_pressure),
     .help = "of kind = \"pressure\""},
    {.name = "ramp",
     .kind = LUA_PARAM_NUMBER,
     .unit = "time",
     .min_open = true,
     .max = HUGE_VAL,
     .number = 1,
     .offset = AT(ramp),
     .present = AT(has_ramp),
     .help = "what flows in or moves grows from 0 at time 0 to its full size by then"},
    {.name = "sine",
     .kind = LUA_PARAM_TABLE,
     .set = &sim_flow_sine_set,
     .offset = AT(sine),
     .present = AT(has_sine),
     .help = "it varies in time: { mean, amplitude, period, phase }, a factor"},
};

const struct lua_param_set sim_flow_side_set = {
    .name = "flow:side",
    .summary = "what holds on a side of the rectangle, or on a part of it; later calls "
               "win",
    .example = "f:side { side = \"west\", kind = \"inflow\", speed = 1, profile = "
               "\"parabolic\" }",
    .params = side_params,
    .count = sizeof side_params / sizeof *side_params,
};

/* --- what goes with what ------------------------------------------------------------ */

static bool moves(const struct side_desc *d)
{
    return d->kind == INFLOW || d->kind == NO_SLIP;
}

static void refuse(lua_State *L, const struct side_desc *d, bool given, const char *word)
{
    if (given)
        sim_lua_error(L, "side: %s has no meaning for kind = \"%s\"", word,
                      kind_words[d->kind]);
}

static void check_words(lua_State *L, const struct side_desc *d)
{
    refuse(L, d, d->has_speed && d->kind != INFLOW, "speed");
    refuse(L, d, d->has_profile && d->kind != INFLOW, "profile");
    refuse(L, d, d->has_velocity && !moves(d), "velocity");
    refuse(L, d, d->has_tangent && !moves(d), "tangent");
    refuse(L, d, d->has_ramp && !moves(d), "ramp");
    refuse(L, d, d->has_sine && !moves(d), "sine");
    refuse(L, d, d->has_pressure && d->kind != PRESSURE, "pressure");
    if (d->has_velocity && (d->has_speed || d->has_tangent))
        sim_lua_error(L, "side: give velocity, or speed and tangent, not both");
    if (d->kind == INFLOW && !d->has_speed && !d->has_velocity)
        sim_lua_error(L, "side: an inflow needs its speed");
    if (d->kind == PRESSURE && !d->has_pressure)
        sim_lua_error(L, "side: kind = \"pressure\" needs its pressure");
    if (d->has_ramp && d->has_sine)
        sim_lua_error(L, "side: give ramp or sine, not both");
    if (d->has_from && d->has_to && !(d->from < d->to))
        sim_lua_error(L, "side: from must be below to, got %f and %f", d->from, d->to);
}

/* --- what flows in ------------------------------------------------------------------ */

/* The part of a side, and where its ends are. */
struct part {
    int side;
    double low, high, start, step;
    int64_t n;
};

static struct part part_of(const struct sim_flow *f, const struct side_desc *d, int side)
{
    const struct sim_flow_desc *g = &f->desc;
    struct part p = {.side = side, .n = sim_flow_side_length(f, side)};
    p.start = side < 2 ? g->y0 : g->x0;
    p.step = side < 2 ? g->dy : g->dx;
    p.low = d->has_from ? d->from : p.start;
    p.high = d->has_to ? d->to : p.start + (double)p.n * p.step;
    return p;
}

/* The speed at a coordinate; at index 3 a number, or a function. */
static double speed_at(lua_State *L, double x)
{
    if (lua_type(L, 3) == LUA_TNUMBER)
        return lua_tonumber(L, 3);
    lua_pushvalue(L, 3);
    lua_pushnumber(L, x);
    lua_call(L, 1, 1);
    if (lua_type(L, -1) != LUA_TNUMBER || !isfinite(lua_tonumber(L, -1)))
        sim_lua_error(L, "side: speed(%f) must give a finite number, got %s", x,
                      luaL_tolstring(L, -1, NULL));
    const double speed = lua_tonumber(L, -1);
    lua_pop(L, 1);
    return speed;
}

/* One normal velocity a cell of the whole side; kept alive on the stack. */
static const double *read_normals(lua_State *L, const struct side_desc *d,
                                  const struct part *p)
{
    const double into = p->side == SIM_FLOW_WEST || p->side == SIM_FLOW_SOUTH ? 1 : -1;
    double *normals = lua_newuserdatauv(L, (size_t)p->n * sizeof *normals, 0);
    for (int64_t k = 0; k < p->n; k++) {
        const double x = p->start + ((double)k + 0.5) * p->step;
        const double s = (x - p->low) / (p->high - p->low);
        normals[k] = 0;
        if ((d->has_from && x < d->from) || (d->has_to && x >= d->to))
            continue;
        normals[k] = into * speed_at(L, x) * (d->profile == 1 ? 4 * s * (1 - s) : 1);
    }
    return normals;
}

static void check_speed(lua_State *L)
{
    const int type = lua_getfield(L, 2, "speed");
    if (type != LUA_TNUMBER && type != LUA_TFUNCTION)
        sim_lua_error(L, "side: speed must be a number or a function, got %s",
                      luaL_typename(L, -1));
    if (type == LUA_TNUMBER && !isfinite(lua_tonumber(L, -1)))
        sim_lua_error(L, "side: speed must be finite");
}

static int read_signal(lua_State *L, struct sim_flow *f, const struct side_desc *d)
{
    struct sim_flow_signal signal = {.kind = SIM_FLOW_RAMP, .period = d->ramp};
    int index = 0;
    if (!d->has_ramp && !d->has_sine)
        return 0;
    if (d->has_sine)
        signal = (struct sim_flow_signal){d->sine.mean, d->sine.amplitude, d->sine.period,
                                          d->sine.phase, SIM_FLOW_SINE};
    sim_lua_try(L, sim_flow_add_signal(f, &signal, &index));
    return index;
}

/* --- setting ------------------------------------------------------------------------ */

static void set_velocity(lua_State *L, const struct side_desc *d,
                         struct sim_flow_side_desc *to)
{
    const bool across = to->side < 2;
    to->tangent = d->has_velocity ? d->velocity[across ? 1 : 0] : d->tangent;
    to->normal = d->has_velocity ? d->velocity[across ? 0 : 1] : 0;
    if (d->kind == NO_SLIP && to->normal != 0)
        sim_lua_error(L, "side: a wall moves along itself; what comes through it is an "
                         "inflow");
}

static void set_one(lua_State *L, struct sim_flow *f, const struct side_desc *d, int side,
                    int signal)
{
    struct sim_flow_side_desc to = {.side = (enum sim_flow_side)side,
                                    .kind = kinds[d->kind],
                                    .part = d->has_from || d->has_to,
                                    .from = d->has_from ? d->from : -HUGE_VAL,
                                    .to = d->has_to ? d->to : HUGE_VAL,
                                    .pressure = d->pressure,
                                    .signal = signal};
    const struct part part = part_of(f, d, side);
    set_velocity(L, d, &to);
    if (d->has_speed)
        to.normals = read_normals(L, d, &part);
    sim_lua_check_flow(L, "side"); /* a function may have closed it */
    sim_lua_try(L, sim_flow_set_side(f, &to));
}

int sim_lua_flow_side(lua_State *L)
{
    struct side_desc d = {0};
    sim_lua_enter(L);
    struct sim_flow *f = sim_lua_check_flow(L, "side");
    lua_settop(L, 2);
    sim_lua_read(L, 2, &sim_flow_side_set, &d);
    check_words(L, &d);
    if (d.has_speed)
        check_speed(L); /* at index 3 from here on */
    const int signal = read_signal(L, f, &d);
    for (int side = 0; side < 4; side++)
        if (sim_lua_flow_side_meant(d.side, side))
            set_one(L, f, &d, side, signal);
    lua_settop(L, 1);
    return 1;
}
