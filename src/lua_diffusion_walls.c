/* lua_diffusion_walls.c - d:wall, d:source and d:domain, and the words by which they vary
 * in time. */
#include "lua_diffusion.h"

#include <math.h>

static const char *const side_words[] = {"west", "east", "south", "north", "all", NULL};
static const char *const species_words[] = {"u", "v", "both", NULL};

/* --- walls, sources, the domain ----------------------------------------------------- */

/* How a wall's value or a source varies in time. */
struct signal_desc {
    double period, phase, mean, amplitude, from, to, duty;
    bool has_wave, has_pulse, has_table;
};

static const struct lua_param wave_params[] = {
    {.name = "period",
     .kind = LUA_PARAM_NUMBER,
     .unit = "time",
     .required = true,
     .min_open = true,
     .max = HUGE_VAL,
     .offset = offsetof(struct signal_desc, period),
     .help = "of the wave"},
    {.name = "phase",
     .kind = LUA_PARAM_NUMBER,
     .unit = "turns",
     .offset = offsetof(struct signal_desc, phase),
     .help = "at time 0"},
    {.name = "mean",
     .kind = LUA_PARAM_NUMBER,
     .offset = offsetof(struct signal_desc, mean),
     .help = "the factor's mean"},
    {.name = "amplitude",
     .kind = LUA_PARAM_NUMBER,
     .number = 1,
     .offset = offsetof(struct signal_desc, amplitude),
     .help = "the factor's swing"},
};

static const struct lua_param_set wave_set = {
    .name = "diffusion: wave",
    .summary = "a factor mean + amplitude sin(2 pi (t/period + phase))",
    .params = wave_params,
    .count = sizeof wave_params / sizeof *wave_params};

static const struct lua_param pulse_params[] = {
    {.name = "from",
     .kind = LUA_PARAM_NUMBER,
     .unit = "time",
     .offset = offsetof(struct signal_desc, from),
     .number = -1e300,
     .help = "on from here"},
    {.name = "to",
     .kind = LUA_PARAM_NUMBER,
     .unit = "time",
     .number = 1e300,
     .offset = offsetof(struct signal_desc, to),
     .help = "off from here"},
    {.name = "period",
     .kind = LUA_PARAM_NUMBER,
     .unit = "time",
     .max = HUGE_VAL,
     .offset = offsetof(struct signal_desc, period),
     .help = "0: one pulse"},
    {.name = "duty",
     .kind = LUA_PARAM_NUMBER,
     .number = 0.5,
     .max = 1,
     .offset = offsetof(struct signal_desc, duty),
     .help = "the share of a period that is on"},
};

static const struct lua_param_set pulse_set = {.name = "diffusion: pulse",
                                               .summary = "a factor that is 1 or 0",
                                               .params = pulse_params,
                                               .count = sizeof pulse_params /
                                                        sizeof *pulse_params};

/* over = { { t, w }, … }, linear between. */
static struct sim_signal read_table(lua_State *L, int index)
{
    const int64_t count = (int64_t)lua_rawlen(L, index);
    double(*points)[2] =
        lua_newuserdatauv(L, (size_t)(count ? count : 1) * sizeof *points, 0);
    for (int64_t k = 0; k < count; k++) {
        if (lua_rawgeti(L, index, k + 1) != LUA_TTABLE)
            sim_lua_error(L, "diffusion: over must be a list of { time, factor }");
        for (int n = 0; n < 2; n++) {
            if (lua_rawgeti(L, -1, n + 1) != LUA_TNUMBER)
                sim_lua_error(L, "diffusion: over must be a list of { time, factor }");
            points[k][n] = lua_tonumber(L, -1);
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
    return (struct sim_signal){.kind = SIM_SIGNAL_TABLE,
                               .points = (const double(*)[2])points,
                               .point_count = count};
}

/* The signal that the table at `index` asks for by wave, pulse or over; 0: none. */
static int read_signal(lua_State *L, int index, struct sim_diffusion *d)
{
    struct signal_desc s = {0};
    struct sim_signal signal = {.kind = SIM_SIGNAL_ONE};
    int number = 0;
    if (lua_getfield(L, index, "wave") == LUA_TTABLE) {
        sim_lua_read(L, -1, &wave_set, &s);
        signal = (struct sim_signal){.kind = SIM_SIGNAL_SINE,
                                     .period = s.period,
                                     .phase = s.phase,
                                     .mean = s.mean,
                                     .amplitude = s.amplitude};
    } else if (lua_getfield(L, index, "pulse") == LUA_TTABLE) {
        sim_lua_read(L, -1, &pulse_set, &s);
        signal = (struct sim_signal){.kind = SIM_SIGNAL_PULSE,
                                     .period = s.period,
                                     .from = s.from,
                                     .to = s.to,
                                     .duty = s.duty};
        signal.duty = s.period > 0 ? s.duty : 2;
    } else if (lua_getfield(L, index, "over") == LUA_TTABLE) {
        signal = read_table(L, lua_gettop(L));
    }
    if (signal.kind != SIM_SIGNAL_ONE)
        sim_lua_try(L, sim_diffusion_add_signal(d, &signal, &number));
    return number;
}

#define SIGNAL_PARAMS(STRUCT)                                                           \
    {.name = "wave",                                                                    \
     .kind = LUA_PARAM_VALUE,                                                           \
     .present = offsetof(STRUCT, has_wave),                                             \
     .help =                                                                            \
         "varies in time: { period, phase, mean, amplitude }, a sine that multiplies"}, \
        {.name = "pulse",                                                               \
         .kind = LUA_PARAM_VALUE,                                                       \
         .present = offsetof(STRUCT, has_pulse),                                        \
         .help = "on and off: { from, to, period, duty }"},                             \
    {                                                                                   \
        .name = "over", .kind = LUA_PARAM_VALUE, .present = offsetof(STRUCT, has_over), \
        .help = "a factor by time: { { t, w }, … }, linear between"                   \
    }

struct wall_desc {
    int64_t side, kind, at, species;
    double from, to, value, h;
    bool has_from, has_to, has_wave, has_pulse, has_over;
};

#define WALL_AT(member) offsetof(struct wall_desc, member)

static const struct lua_param wall_params[] = {
    {.name = "side",
     .kind = LUA_PARAM_CHOICE,
     .words = side_words,
     .number = 4,
     .offset = WALL_AT(side),
     .help = "which"},
    {.name = "kind",
     .kind = LUA_PARAM_CHOICE,
     .words = sim_diffusion_kind_words,
     .required = true,
     .offset = WALL_AT(kind),
     .help = "no-flux; fixed (value); flux (value, into the domain); robin (-D du/dn = h "
             "(u - "
             "value)); periodic"},
    {.name = "at",
     .kind = LUA_PARAM_CHOICE,
     .words = sim_diffusion_at_words,
     .offset = WALL_AT(at),
     .help = "the wall is at the cells' faces, or at the outermost nodes"},
    {.name = "species",
     .kind = LUA_PARAM_CHOICE,
     .words = species_words,
     .number = 2,
     .offset = WALL_AT(species),
     .help = "for which"},
    {.name = "from",
     .kind = LUA_PARAM_NUMBER,
     .unit = "length",
     .offset = WALL_AT(from),
     .present = WALL_AT(has_from),
     .help = "a part of the side: from this coordinate"},
    {.name = "to",
     .kind = LUA_PARAM_NUMBER,
     .unit = "length",
     .offset = WALL_AT(to),
     .present = WALL_AT(has_to),
     .help = "to this one"},
    {.name = "value",
     .kind = LUA_PARAM_NUMBER,
     .offset = WALL_AT(value),
     .help = "the value, or the flux"},
    {.name = "h",
     .kind = LUA_PARAM_NUMBER,
     .max = HUGE_VAL,
     .offset = WALL_AT(h),
     .help = "transfer coefficient of robin"},
    SIGNAL_PARAMS(struct wall_desc),
};

const struct lua_param_set sim_diffusion_wall_set = {
    .name = "diffusion:wall",
    .summary = "what holds on a side of the rectangle, or on a part of it",
    .example =
        "d:wall { side = \"west\", kind = \"fixed\", value = 1, from = 10, to = 20 }",
    .params = wall_params,
    .count = sizeof wall_params / sizeof *wall_params,
};

int sim_lua_diffusion_wall(lua_State *L)
{
    struct wall_desc w = {0};
    sim_lua_enter(L);
    struct sim_diffusion *d = sim_lua_check_diffusion(L, "wall");
    sim_lua_read(L, 2, &sim_diffusion_wall_set, &w);
    struct sim_wall_desc wall = {.kind = (enum sim_wall_kind)w.kind,
                                 .at_node = w.at == 1,
                                 .species = w.species == 2 ? -1 : (int)w.species,
                                 .part = w.has_from || w.has_to,
                                 .from = w.has_from ? w.from : -HUGE_VAL,
                                 .to = w.has_to ? w.to : HUGE_VAL,
                                 .value = w.value,
                                 .h = w.h,
                                 .signal = read_signal(L, 2, d)};
    for (int side = 0; side < SIM_SIDES; side++) {
        wall.side = (enum sim_side)side;
        if (w.side == 4 || w.side == side)
            sim_lua_try(L, sim_diffusion_set_wall(d, &wall));
    }
    lua_settop(L, 1);
    return 1;
}

struct source_desc {
    int64_t species;
    double rate;
    bool has_field, has_wave, has_pulse, has_over;
};

static const struct lua_param source_params[] = {
    {.name = "species",
     .kind = LUA_PARAM_CHOICE,
     .words = species_words,
     .offset = offsetof(struct source_desc, species),
     .help = "of which"},
    {.name = "rate",
     .kind = LUA_PARAM_NUMBER,
     .unit = "1/time",
     .number = 1,
     .offset = offsetof(struct source_desc, rate),
     .help = "everywhere; without a field"},
    {.name = "field",
     .kind = LUA_PARAM_VALUE,
     .present = offsetof(struct source_desc, has_field),
     .help = "the rate of each cell, as it is now"},
    SIGNAL_PARAMS(struct source_desc),
};

const struct lua_param_set sim_diffusion_source_set = {
    .name = "diffusion:source",
    .summary = "a term on the right hand side, constant or a field, steady or in time",
    .example = "d:source { rate = 0.1, pulse = { period = 5, duty = 0.2 } }",
    .params = source_params,
    .count = sizeof source_params / sizeof *source_params,
};

int sim_lua_diffusion_source(lua_State *L)
{
    struct source_desc s = {0};
    struct sim_field *field = NULL;
    sim_lua_enter(L);
    struct sim_diffusion *d = sim_lua_check_diffusion(L, "source");
    sim_lua_read(L, 2, &sim_diffusion_source_set, &s);
    if (s.species == 2)
        sim_lua_error(L, "source: give it to u or to v");
    const int signal = read_signal(L, 2, d);
    if (s.has_field) {
        lua_getfield(L, 2, "field");
        field = sim_lua_check_field(L, -1, "source");
    }
    sim_lua_try(L, sim_diffusion_add_source(d, (int)s.species, s.rate, field, signal));
    lua_settop(L, 1);
    return 1;
}

/* d:domain(shape): cells outside take no part. */
int sim_lua_diffusion_domain(lua_State *L)
{
    sim_lua_enter(L);
    struct sim_diffusion *d = sim_lua_check_diffusion(L, "domain");
    sim_lua_try(L, sim_diffusion_set_domain(d, sim_lua_check_shape(L, 2, "domain")));
    lua_settop(L, 1);
    return 1;
}
