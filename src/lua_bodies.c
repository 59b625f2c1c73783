/* lua_bodies.c - the word sim.bodies and its methods. */
#include "lua_sim.h"

#include <math.h>

#define CLASS "sim.bodies"

struct box {
    bool open;
    struct sim_bodies bodies;
    double energy;    /* as first asked for since the last add; 0: not yet */
    double tolerance; /* of its change, before a warning is given */
    bool outgrown;    /* said that momenta are no longer exact */
};

static const char *const coupling_words[] = {"gravity", "charge", NULL};
static const char *const precision_words[] = {"single", "mixed", "double", NULL};
static const char *const scheme_words[] = {"leapfrog", "dkd", "yoshida4", "hermite4",
                                           NULL};

static const char *const softening_words[] = {"plummer", "spline", NULL};
static const char *const close_words[] = {"error", "merge", NULL};
static const char *const pairs_words[] = {"auto", "symmetric", "plain", "resident", NULL};

struct desc {
    struct sim_bodies_desc bodies;
    int64_t precision, on_close;
    struct {
        double eta;
    } adaptive;
    bool is_adaptive, has_distance;
    double energy_tolerance;
};

#define AT(member) offsetof(struct desc, member)

static const struct lua_param adaptive_params[] = {
    {.name = "eta",
     .kind = LUA_PARAM_NUMBER,
     .number = 0.01,
     .min_open = true,
     .max = 1,
     .offset = 0,
     .help = "accuracy: steps grow as its square root"},
};

static const struct lua_param_set adaptive_set = {
    .name = "sim.bodies: adaptive",
    .summary = "a shared step as long as the bodies' accelerations and jerks allow",
    .params = adaptive_params,
    .count = 1,
};

static const struct lua_param bodies_params[] = {
    {.name = "softening",
     .kind = LUA_PARAM_NUMBER,
     .unit = "length",
     .number = 0,
     .max = HUGE_VAL,
     .offset = AT(bodies.softening),
     .help = "softening length eps of all bodies; bodies:soften gives groups their own"},
    {.name = "softening_kind",
     .kind = LUA_PARAM_CHOICE,
     .words = softening_words,
     .offset = AT(bodies.softening_kind),
     .help = "plummer: forces go as r / (r^2 + eps^2)^(3/2); spline: a compact cloud of "
             "the same depth, beyond 2.8 eps exactly r / r^3"},
    {.name = "dt",
     .kind = LUA_PARAM_NUMBER,
     .unit = "time",
     .required = true,
     .offset = AT(bodies.dt),
     .help = "the time step (adaptive: the longest); negative runs backward"},
    {.name = "integrator",
     .kind = LUA_PARAM_CHOICE,
     .words = scheme_words,
     .offset = AT(bodies.scheme),
     .help = "leapfrog: kick-drift-kick; dkd: drift-kick-drift; yoshida4, hermite4: of "
             "fourth order; hermite4 is for few bodies and needs double precision"},
    {.name = "corrections",
     .kind = LUA_PARAM_INTEGER,
     .number = 1,
     .min = 1,
     .max = 10,
     .offset = AT(bodies.corrections),
     .help = "hermite4: corrections a step, each with an evaluation"},
    {.name = "adaptive",
     .kind = LUA_PARAM_TABLE,
     .set = &adaptive_set,
     .offset = AT(adaptive),
     .present = AT(is_adaptive),
     .help = "hermite4: steps of the length that Aarseth's criterion gives"},
    {.name = "reversible",
     .kind = LUA_PARAM_BOOLEAN,
     .offset = AT(bodies.reversible),
     .help = "positions and velocities as whole numbers, so that stepping back undoes "
             "every bit; mixed or double precision"},
    {.name = "G",
     .kind = LUA_PARAM_NUMBER,
     .number = 1,
     .min_open = true,
     .offset = AT(bodies.G),
     .help = "the gravitational constant"},
    {.name = "coupling",
     .kind = LUA_PARAM_CHOICE,
     .words = coupling_words,
     .offset = AT(bodies.coupling),
     .help = "gravity: masses attract; charge: like masses repel, with inertia 1"},
    {.name = "precision",
     .kind = LUA_PARAM_CHOICE,
     .words = precision_words,
     .offset = AT(precision),
     .help =
         "of positions, velocities and forces; mixed: double, but the force of a pair "
         "in single, from differences taken in double (CUDA; the CPU: double), and the "
         "total momentum does not change by a bit (docs/gravity.md)"},
    {.name = "on_close",
     .kind = LUA_PARAM_CHOICE,
     .words = close_words,
     .offset = AT(on_close),
     .help = "error: bodies at one place without softening are one; merge: bodies closer "
             "than merge_distance at a step's end, and chains of such, become one with "
             "their mass, momentum and centre, in the place of the first of them and "
             "the group of the heaviest"},
    {.name = "merge_distance",
     .kind = LUA_PARAM_NUMBER,
     .unit = "length",
     .min_open = true,
     .max = HUGE_VAL,
     .offset = AT(bodies.merge_distance),
     .present = AT(has_distance),
     .help = "on_close = \"merge\": how close"},
    {.name = "energy_tolerance",
     .kind = LUA_PARAM_NUMBER,
     .number = 0.01,
     .max = HUGE_VAL,
     .offset = AT(energy_tolerance),
     .help = "energy(), and sim.run with up to 4096 bodies, warn when the total has "
             "changed by more than this part, unless bodies merge"},
    {.name = "time",
     .kind = LUA_PARAM_NUMBER,
     .unit = "time",
     .offset = AT(bodies.time),
     .help = "the time before the first step"},
    {.name = "tile",
     .kind = LUA_PARAM_INTEGER,
     .max = 4096,
     .offset = AT(bodies.tile),
     .help = "CUDA: bodies in a shared-memory tile (symmetric: threads a block); 0: the "
             "measured best"},
    {.name = "unroll",
     .kind = LUA_PARAM_INTEGER,
     .max = 64,
     .offset = AT(bodies.unroll),
     .help = "CUDA: unrolling of the tile loop; 0: the measured best"},
    {.name = "per_thread",
     .kind = LUA_PARAM_INTEGER,
     .max = 64,
     .offset = AT(bodies.per_thread),
     .help = "CUDA: bodies a thread; 0: the measured best"},
    {.name = "split",
     .kind = LUA_PARAM_INTEGER,
     .max = 1024,
     .offset = AT(bodies.split),
     .help =
         "CUDA: parts of the source loop (symmetric: rounds a block); 0: the measured "
         "best"},
    {.name = "pairs",
     .kind = LUA_PARAM_CHOICE,
     .words = pairs_words,
     .offset = AT(bodies.pairs),
     .help =
         "symmetric: each pair computed once for both (one Plummer softening for all, or "
         "none; mixed on CUDA not without); plain: each body meets all; resident: plain, "
         "many steps a launch (CUDA, small systems)"},
};

const struct lua_param_set sim_bodies_set = {
    .name = "sim.bodies",
    .summary = "an N-body system with all-pairs forces",
    .example = "local stars = sim.bodies { softening = 0.05, dt = 0.002 }",
    .params = bodies_params,
    .count = sizeof bodies_params / sizeof *bodies_params,
};

static int bodies_new(lua_State *L)
{
    struct desc desc = {0};
    sim_lua_enter(L);
    sim_lua_read(L, 1, &sim_bodies_set, &desc);
    if (desc.bodies.dt == 0)
        return sim_lua_error(L, "sim.bodies: dt must not be 0");
    if ((desc.on_close == 1) != desc.has_distance)
        return sim_lua_error(L, "sim.bodies: on_close = \"merge\" and merge_distance go "
                                "together: give both or neither");
    desc.bodies.is_double = desc.precision >= 1;
    desc.bodies.mixed = desc.precision == 1;
    desc.bodies.eta = desc.is_adaptive ? desc.adaptive.eta : 0;
    struct box *box = sim_lua_box(L, sizeof *box, CLASS, 0);
    sim_lua_try(L, sim_bodies_new(sim_lua_host(L)->device, &desc.bodies, &box->bodies));
    box->tolerance = desc.energy_tolerance;
    box->open = true;
    return 1;
}

static int bodies_close(lua_State *L)
{
    struct box *box = luaL_testudata(L, 1, CLASS);
    if (box && box->open) {
        box->open = false;
        sim_bodies_free(&box->bodies);
    }
    return 0;
}

struct sim_bodies *sim_lua_check_bodies(lua_State *L, int index, const char *method)
{
    struct box *box = sim_lua_check(L, index, CLASS, method);
    return &box->bodies;
}

static int bodies_tostring(lua_State *L)
{
    const struct box *box = luaL_checkudata(L, 1, CLASS);
    if (!box->open)
        lua_pushliteral(L, CLASS " (closed)");
    else
        lua_pushfstring(L, CLASS " (%I bodies, %s, %I steps)", (LUAI_UACINT)box->bodies.n,
                        box->bodies.ops->name, (LUAI_UACINT)box->bodies.steps);
    return 1;
}

/* stars:add(model) -> stars */
static int bodies_add(lua_State *L)
{
    sim_lua_enter(L);
    struct sim_bodies *b = sim_lua_check_bodies(L, 1, "add");
    const struct sim_model *model = sim_lua_check_model(L, 2);
    sim_lua_will_allocate(L, (size_t)(b->n + model->n) * (12 * b->ops->real_bytes + 1));
    enum sim_status status = sim_bodies_add(b, model);
    if (status == SIM_DEVICE_MEMORY) {
        sim_lua_collect(L);
        status = sim_bodies_add(b, model);
    }
    sim_lua_try(L, status);
    ((struct box *)lua_touserdata(L, 1))->energy = 0;
    lua_settop(L, 1);
    return 1;
}

/* stars:step(count = 1): enqueues, waits for nothing; a negative count steps back. */
static int bodies_step(lua_State *L)
{
    sim_lua_enter(L);
    struct sim_bodies *b = sim_lua_check_bodies(L, 1, "step");
    int64_t count = 1;
    if (!lua_isnoneornil(L, 2))
        count = sim_lua_integer(L, 2, "step: the number of steps", -((int64_t)1 << 53),
                                (int64_t)1 << 53);
    if (sim_lua_host(L)->idle)
        return 0;
    sim_lua_try(L, sim_bodies_step(b, count));
    return 0;
}

/* stars:advance(t): the bodies as they are at time t. */
static int bodies_advance(lua_State *L)
{
    sim_lua_enter(L);
    struct sim_bodies *b = sim_lua_check_bodies(L, 1, "advance");
    const double time = sim_lua_number(L, 2, "advance: the time");
    if (sim_lua_host(L)->idle)
        return 0;
    sim_lua_try(L, sim_bodies_advance(b, time));
    return 0;
}

static void set_number(lua_State *L, const char *name, double value)
{
    lua_pushnumber(L, value);
    lua_setfield(L, -2, name);
}

static int push_vector(lua_State *L, const double v[3])
{
    lua_createtable(L, 3, 0);
    for (int k = 0; k < 3; k++) {
        lua_pushnumber(L, v[k]);
        lua_rawseti(L, -2, k + 1);
    }
    return 1;
}

/* A scheme that cannot follow a close encounter shows it in the total energy: say so. */
static void watch_energy(lua_State *L, struct box *box, double energy, double size)
{
    if (box->bodies.desc.merge_distance > 0)
        return; /* what merges loses energy rightly */
    if (box->energy == 0) {
        box->energy = energy;
        return;
    }
    const double change =
        fabs(energy - box->energy) / fmax(fabs(box->energy), 1e-3 * size);
    if (change <= box->tolerance)
        return;
    lua_pushfstring(
        L,
        "the total energy of the bodies has changed from %f to %f (by %f %%): "
        "the time step is too long for these orbits, or the softening too short",
        box->energy, energy, 100 * change);
    lua_warning(L, lua_tostring(L, -1), 0);
    lua_pop(L, 1);
    box->energy = energy; /* warn again only of a further change */
}

/* For runs: energies of few bodies, where close encounters matter, are cheap to look at.
 * What cannot be computed is said by others: here it is passed over. */
void sim_lua_watch_bodies(lua_State *L, int index)
{
    enum { FEW = 4096 };
    struct box *box = lua_touserdata(L, index);
    struct sim_bodies *b = &box->bodies;
    struct sim_nbody_sums sums;
    double potential;
    if (b->n > 0 && b->n <= FEW && sim_bodies_potential(b, &potential) == SIM_OK &&
        sim_bodies_sums(b, SIM_ALL_GROUPS, &sums) == SIM_OK)
        watch_energy(L, box, sums.kinetic + potential, sums.kinetic + fabs(potential));
}

/* stars:energy() -> { kinetic, potential, total, virial = -2K/W }; waits. */
static int bodies_energy(lua_State *L)
{
    struct sim_nbody_sums sums;
    double potential;
    sim_lua_enter(L);
    struct sim_bodies *b = sim_lua_check_bodies(L, 1, "energy");
    sim_lua_try(L, sim_bodies_sums(b, SIM_ALL_GROUPS, &sums));
    sim_lua_try(L, sim_bodies_potential(b, &potential));
    watch_energy(L, lua_touserdata(L, 1), sums.kinetic + potential,
                 sums.kinetic + fabs(potential));
    lua_createtable(L, 0, 4);
    set_number(L, "kinetic", sums.kinetic);
    set_number(L, "potential", potential);
    set_number(L, "total", sums.kinetic + potential);
    set_number(L, "virial", -2 * sums.kinetic / potential);
    return 1;
}

uint64_t sim_lua_select_groups(lua_State *L, const struct sim_bodies *b, const char *word,
                               const char *method)
{
    const char *names[SIM_GROUPS_MAX];
    const uint64_t groups = sim_bodies_select(b, word);
    if (groups)
        return groups;
    luaL_Buffer list;
    luaL_buffinit(L, &list);
    luaL_addstring(&list, "; there are: ");
    for (int g = 0; g < b->group_count; g++) {
        names[g] = b->groups[g].name;
        luaL_addstring(&list, g ? ", " : "");
        luaL_addstring(&list, names[g]);
    }
    luaL_pushresult(&list);
    lua_pushfstring(L, "%s: no group", method);
    sim_lua_unknown(L, lua_tostring(L, -1), word, names, b->group_count,
                    lua_tostring(L, -2));
    return 0;
}

uint64_t sim_lua_selection(lua_State *L, int index, const struct sim_bodies *b,
                           const char *method)
{
    if (lua_isnoneornil(L, index))
        return SIM_ALL_GROUPS;
    if (lua_type(L, index) != LUA_TSTRING)
        sim_lua_error(L, "%s: a group is named by a string, got %s", method,
                      luaL_typename(L, index));
    return sim_lua_select_groups(L, b, lua_tostring(L, index), method);
}

static struct sim_nbody_sums sums_of(lua_State *L, const char *method)
{
    struct sim_nbody_sums sums;
    sim_lua_enter(L);
    struct sim_bodies *b = sim_lua_check_bodies(L, 1, method);
    sim_lua_try(L, sim_bodies_sums(b, sim_lua_selection(L, 2, b, method), &sums));
    return sums;
}

/* Mixed precision holds the total momentum exactly up to a speed: say once when that is
 * passed. */
static void watch_momentum(lua_State *L, struct box *box, double outgrown)
{
    if (!(outgrown > 0) || box->outgrown)
        return;
    box->outgrown = true;
    lua_pushfstring(L,
                    "bodies too fast to hold the total momentum exactly: %I; it is held "
                    "to rounding: give a softening, or a shorter time step",
                    (LUAI_UACINT)outgrown);
    lua_warning(L, lua_tostring(L, -1), 0);
    lua_pop(L, 1);
}

/* stars:momentum([group]), :angular_momentum([group]), :centre([group]) -> {x, y, z} */
static int bodies_momentum(lua_State *L)
{
    const struct sim_nbody_sums sums = sums_of(L, "momentum");
    watch_momentum(L, lua_touserdata(L, 1), sums.outgrown);
    return push_vector(L, sums.momentum);
}

static void push_count(lua_State *L, const char *name, int count)
{
    if (count == 0)
        return;
    lua_pushinteger(L, count);
    lua_setfield(L, -2, name);
}

/* stars:kernel() -> how forces are found: { pairs = "symmetric", … }, on CUDA also tile,
 * unroll, per_thread, split, threads (a block), registers (a thread), shared (bytes a
 * block), occupancy (warps at work on a multiprocessor, over its most); keys without
 * meaning are absent. */
static int bodies_kernel(lua_State *L)
{
    struct sim_nbody_kernel k;
    sim_lua_enter(L);
    sim_lua_try(L, sim_bodies_kernel(sim_lua_check_bodies(L, 1, "kernel"), &k));
    lua_createtable(L, 0, 9);
    lua_pushstring(L, pairs_words[k.pairs]);
    lua_setfield(L, -2, "pairs");
    push_count(L, "tile", k.tile);
    push_count(L, "unroll", k.unroll);
    push_count(L, "per_thread", k.per_thread);
    push_count(L, "split", k.split);
    push_count(L, "threads", k.threads);
    push_count(L, "registers", k.registers);
    push_count(L, "shared", k.shared);
    if (k.occupancy > 0) {
        lua_pushnumber(L, k.occupancy);
        lua_setfield(L, -2, "occupancy");
    }
    return 1;
}

static int bodies_angular_momentum(lua_State *L)
{
    return push_vector(L, sums_of(L, "angular_momentum").angular_momentum);
}

static int bodies_centre(lua_State *L)
{
    return push_vector(L, sums_of(L, "centre").centre);
}

/* stars:mass([group]) -> mass, number of bodies */
static int bodies_mass(lua_State *L)
{
    struct sim_nbody_sums sums = sums_of(L, "mass");
    lua_pushnumber(L, sums.mass);
    lua_pushinteger(L, (lua_Integer)sums.count);
    return 2;
}

struct soften_desc {
    const char *group;
    double length;
};

static const struct lua_param soften_params[] = {
    {.name = "length",
     .kind = LUA_PARAM_NUMBER,
     .unit = "length",
     .required = true,
     .max = HUGE_VAL,
     .offset = offsetof(struct soften_desc, length),
     .help = "the softening eps; a pair of bodies takes the greater of its two"},
    {.name = "group",
     .kind = LUA_PARAM_STRING,
     .offset = offsetof(struct soften_desc, group),
     .help = "the group or groups; when absent all, those added later too"},
};

const struct lua_param_set sim_soften_set = {
    .name = "bodies:soften",
    .summary = "another softening length, for some groups or for all",
    .example = "stars:soften { group = \"halo\", length = 0.2 }",
    .params = soften_params,
    .count = sizeof soften_params / sizeof *soften_params,
};

/* stars:soften { length, group }: of groups that were added before. */
static int bodies_soften(lua_State *L)
{
    struct soften_desc desc = {0};
    sim_lua_enter(L);
    struct sim_bodies *b = sim_lua_check_bodies(L, 1, "soften");
    sim_lua_read(L, 2, &sim_soften_set, &desc);
    lua_pushstring(L, desc.group);
    const uint64_t groups = sim_lua_selection(L, lua_gettop(L), b, "soften");
    sim_lua_try(L, sim_bodies_soften(b, groups, desc.length));
    ((struct box *)lua_touserdata(L, 1))->energy = 0;
    return 0;
}

static int get_n(lua_State *L)
{
    int64_t n;
    sim_lua_try(L, sim_bodies_count(sim_lua_check_bodies(L, 1, "n"), &n));
    lua_pushinteger(L, (lua_Integer)n);
    return 1;
}

static int get_time(lua_State *L)
{
    lua_pushnumber(L, sim_bodies_time(sim_lua_check_bodies(L, 1, "time")));
    return 1;
}

static int get_steps(lua_State *L)
{
    lua_pushinteger(L, sim_lua_check_bodies(L, 1, "steps")->steps);
    return 1;
}

static int get_dt(lua_State *L)
{
    lua_pushnumber(L, sim_lua_check_bodies(L, 1, "dt")->desc.dt);
    return 1;
}

static int get_softening(lua_State *L)
{
    lua_pushnumber(L, sim_lua_check_bodies(L, 1, "softening")->desc.softening);
    return 1;
}

static int get_groups(lua_State *L)
{
    const struct sim_bodies *b = sim_lua_check_bodies(L, 1, "groups");
    lua_createtable(L, b->group_count, 0);
    for (int g = 0; g < b->group_count; g++) {
        lua_pushstring(L, b->groups[g].name);
        lua_rawseti(L, -2, g + 1);
    }
    return 1;
}

void sim_lua_open_bodies(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"add", bodies_add},
        {"step", bodies_step},
        {"soften", bodies_soften},
        {"advance", bodies_advance},
        {"energy", bodies_energy},
        {"momentum", bodies_momentum},
        {"kernel", bodies_kernel},
        {"angular_momentum", bodies_angular_momentum},
        {"centre", bodies_centre},
        {"mass", bodies_mass},
        {"radii", sim_lua_bodies_radii},
        {"rows", sim_lua_bodies_rows},
        {"image", sim_lua_bodies_image},
        {NULL, NULL},
    };
    static const luaL_Reg getters[] = {
        {"n", get_n},   {"time", get_time},           {"steps", get_steps},
        {"dt", get_dt}, {"softening", get_softening}, {"groups", get_groups},
        {NULL, NULL},
    };
    sim_lua_class(L, CLASS, methods, getters, bodies_close, bodies_tostring);
    lua_pushcfunction(L, bodies_new);
    lua_setfield(L, -2, "bodies");
}
