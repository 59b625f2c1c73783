/* lua_model.c - the scene words: sim.galaxy, sim.plummer, sim.hernquist,
 * sim.uniform_sphere, sim.disc, sim.body and sim.encounter (sim.rows is in lua_rows.c);
 * and the userdata sim.model that they return. */
#include "lua_model.h"

#include <math.h>

#include "disc.h"
#include "galaxy.h"
#include "orbit.h"
#include "spheres.h"

#define CLASS    "sim.model"
#define AT       offsetof
#define COUNT(a) (int)(sizeof(a) / sizeof *(a))

/* The parameters that recur; `type` is the desc struct, with `model.placement` inside. */
#define BODIES(type)                                                        \
    {                                                                       \
        .name = "n", .kind = LUA_PARAM_INTEGER, .required = true, .min = 1, \
        .max = SIM_MODEL_MAX, .offset = AT(type, model.n),                  \
        .help = "the number of bodies"                                      \
    }
#define MASS(type, text)                                                        \
    {                                                                           \
        .name = "mass", .kind = LUA_PARAM_NUMBER, .number = 1, .max = HUGE_VAL, \
        .offset = AT(type, model.mass), .unit = "mass", .help = text            \
    }
#define LENGTH(type, word, member, text)                                       \
    {                                                                          \
        .name = word, .kind = LUA_PARAM_NUMBER, .number = 1, .min_open = true, \
        .offset = AT(type, model.member), .unit = "length", .help = text       \
    }
#define VIRIAL(type, standard)                                                           \
    {                                                                                    \
        .name = "virial", .kind = LUA_PARAM_NUMBER, .number = standard, .max = HUGE_VAL, \
        .offset = AT(type, model.virial),                                                \
        .help = "2K/|W|: 1 holds the sphere up, 0 starts it at rest"                     \
    }
#define SOFTENING(type, standard)                                                        \
    {                                                                                    \
        .name = "softening", .kind = LUA_PARAM_NUMBER, .number = standard,               \
        .max = HUGE_VAL, .offset = AT(type, model.softening), .unit = "length",          \
        .help = "of the forces that it is to be in equilibrium with: that of sim.bodies" \
    }
#define GRAVITY(type)                                                         \
    {                                                                         \
        .name = "G", .kind = LUA_PARAM_NUMBER, .number = 1, .min_open = true, \
        .offset = AT(type, model.G),                                          \
        .help = "the gravitational constant: that of sim.bodies"              \
    }
#define SEED(type)                                                                    \
    {                                                                                 \
        .name = "seed", .kind = LUA_PARAM_INTEGER, .number = 1, .max = 9.2e18,        \
        .offset = AT(type, model.placement.seed), .present = AT(type, has_seed),      \
        .help = "of the random numbers; simlua --seed stands in when it is not given" \
    }
#define PLACEMENT(type, standard)                                                \
    {.name = "position",                                                         \
     .kind = LUA_PARAM_VECTOR,                                                   \
     .count = 3,                                                                 \
     .unit = "length",                                                           \
     .offset = AT(type, model.placement.position),                               \
     .help = "of the mass centre"},                                              \
        {.name = "velocity",                                                     \
         .kind = LUA_PARAM_VECTOR,                                               \
         .count = 3,                                                             \
         .unit = "velocity",                                                     \
         .offset = AT(type, model.placement.velocity),                           \
         .help = "of the mass centre"},                                          \
        {.name = "tilt",                                                         \
         .kind = LUA_PARAM_VECTOR,                                               \
         .count = 3,                                                             \
         .min_count = 1,                                                         \
         .offset = AT(type, model.placement.tilt),                               \
         .unit = "degrees",                                                      \
         .help = "turns about the x axis (inclination), then z (node), then y"}, \
    {                                                                            \
        .name = "name", .kind = LUA_PARAM_STRING, .string = standard,            \
        .offset = AT(type, model.placement.name),                                \
        .help = "of the group, for colours and radii"                            \
    }

#define SET(word, text, line, list)                                     \
    {                                                                   \
        .name = word, .summary = text, .example = line, .params = list, \
        .count = COUNT(list)                                            \
    }

struct box {
    bool open;
    struct sim_model model;
};

/* --- the userdata ---------------------------------------------------------------------
 */

struct sim_model *sim_lua_new_model(lua_State *L, int64_t n)
{
    sim_lua_will_allocate(L, (size_t)n * sizeof(struct sim_body));
    struct box *box = sim_lua_box(L, sizeof *box, CLASS, 0);
    box->open = true;
    return &box->model;
}

/* Also frees a model whose making was cut short by an error. */
static int model_close(lua_State *L)
{
    struct box *box = luaL_testudata(L, 1, CLASS);
    if (box) {
        box->open = false;
        sim_model_free(&box->model);
    }
    return 0;
}

struct sim_model *sim_lua_check_model(lua_State *L, int index)
{
    struct box *box = sim_lua_check(L, index, CLASS, "add");
    return &box->model;
}

static struct sim_model *self(lua_State *L, const char *method)
{
    struct box *box = sim_lua_check(L, 1, CLASS, method);
    return &box->model;
}

static int model_tostring(lua_State *L)
{
    const struct box *box = luaL_checkudata(L, 1, CLASS);
    if (!box->open)
        lua_pushliteral(L, CLASS " (closed)");
    else
        lua_pushfstring(L, CLASS " (%I bodies in %d groups, mass %f)",
                        (LUAI_UACINT)box->model.n, box->model.group_count,
                        (LUAI_UACNUMBER)sim_model_mass(&box->model));
    return 1;
}

static int get_n(lua_State *L)
{
    lua_pushinteger(L, self(L, "n")->n);
    return 1;
}

static int get_mass(lua_State *L)
{
    lua_pushnumber(L, sim_model_mass(self(L, "mass")));
    return 1;
}

static int get_groups(lua_State *L)
{
    const struct sim_model *model = self(L, "groups");
    lua_createtable(L, model->group_count, 0);
    for (int g = 0; g < model->group_count; g++) {
        lua_pushstring(L, model->groups[g]);
        lua_rawseti(L, -2, g + 1);
    }
    return 1;
}

/* model:rows() -> { { x, y, z, vx, vy, vz, m }, … } */
static int model_rows(lua_State *L)
{
    const struct sim_model *model = self(L, "rows");
    lua_newtable(L);
    for (int64_t i = 0; i < model->n; i++) {
        const struct sim_body *b = &model->bodies[i];
        const double row[7] = {b->position[0], b->position[1], b->position[2],
                               b->velocity[0], b->velocity[1], b->velocity[2],
                               b->mass};
        lua_createtable(L, 7, 0);
        for (int k = 0; k < 7; k++) {
            lua_pushnumber(L, row[k]);
            lua_rawseti(L, -2, k + 1);
        }
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static void use_command_seed(lua_State *L, bool given, struct sim_placement *placement)
{
    int64_t seed = sim_lua_host(L)->seed;
    if (!given && seed >= 0)
        placement->seed = seed;
}

/* --- spheres --------------------------------------------------------------------------
 */

struct plummer {
    struct sim_plummer_desc model;
    bool has_seed;
};

static const struct lua_param plummer_params[] = {
    BODIES(struct plummer),
    MASS(struct plummer, "of all bodies together"),
    LENGTH(struct plummer, "scale", scale,
           "Plummer's radius a; half the mass is within 1.305 a"),
    GRAVITY(struct plummer),
    VIRIAL(struct plummer, 1),
    {.name = "exact",
     .kind = LUA_PARAM_BOOLEAN,
     .offset = AT(struct plummer, model.exact),
     .help = "stretch so that energies have no scatter (work goes as n^2)"},
    SEED(struct plummer),
    PLACEMENT(struct plummer, "plummer"),
};

const struct lua_param_set sim_plummer_set =
    SET("sim.plummer", "a Plummer sphere in equilibrium",
        "stars:add(sim.plummer { n = 4096, mass = 1, scale = 0.589 })", plummer_params);

static int plummer_new(lua_State *L)
{
    struct plummer desc = {0};
    sim_lua_enter(L);
    sim_lua_read(L, 1, &sim_plummer_set, &desc);
    use_command_seed(L, desc.has_seed, &desc.model.placement);
    sim_lua_try(L, sim_plummer_new(&desc.model, sim_lua_new_model(L, desc.model.n)));
    return 1;
}

struct hernquist {
    struct sim_hernquist_desc model;
    bool has_seed;
};

static const struct lua_param hernquist_params[] = {
    BODIES(struct hernquist),
    MASS(struct hernquist, "of all bodies together"),
    LENGTH(struct hernquist, "scale", scale,
           "Hernquist's a; half the mass is within 2.414 a"),
    GRAVITY(struct hernquist),
    VIRIAL(struct hernquist, 1),
    {.name = "cut",
     .kind = LUA_PARAM_NUMBER,
     .unit = "length",
     .max = HUGE_VAL,
     .offset = AT(struct hernquist, model.cut),
     .help = "the density is multiplied by exp(-(r/cut)^2); 0: no cut"},
    SOFTENING(struct hernquist, 0),
    SEED(struct hernquist),
    PLACEMENT(struct hernquist, "hernquist"),
};

const struct lua_param_set sim_hernquist_set =
    SET("sim.hernquist", "a Hernquist sphere in equilibrium",
        "stars:add(sim.hernquist { n = 4096, mass = 1, scale = 1 })", hernquist_params);

static int hernquist_new(lua_State *L)
{
    struct hernquist desc = {0};
    sim_lua_enter(L);
    sim_lua_read(L, 1, &sim_hernquist_set, &desc);
    use_command_seed(L, desc.has_seed, &desc.model.placement);
    sim_lua_try(L, sim_hernquist_new(&desc.model, sim_lua_new_model(L, desc.model.n)));
    return 1;
}

struct uniform_sphere {
    struct sim_uniform_sphere_desc model;
    bool has_seed;
};

static const struct lua_param uniform_sphere_params[] = {
    BODIES(struct uniform_sphere),
    MASS(struct uniform_sphere, "of all bodies together"),
    LENGTH(struct uniform_sphere, "radius", radius, "of the sphere"),
    GRAVITY(struct uniform_sphere),
    VIRIAL(struct uniform_sphere, 0),
    {.name = "spin",
     .kind = LUA_PARAM_NUMBER,
     .unit = "degrees per time",
     .offset = AT(struct uniform_sphere, model.spin),
     .help = "solid-body rotation about the z axis"},
    SEED(struct uniform_sphere),
    PLACEMENT(struct uniform_sphere, "sphere"),
};

const struct lua_param_set sim_uniform_sphere_set = SET(
    "sim.uniform_sphere", "a sphere of uniform density, at rest unless told otherwise",
    "stars:add(sim.uniform_sphere { n = 8192, radius = 1 })", uniform_sphere_params);

static int uniform_sphere_new(lua_State *L)
{
    struct uniform_sphere desc = {0};
    sim_lua_enter(L);
    sim_lua_read(L, 1, &sim_uniform_sphere_set, &desc);
    use_command_seed(L, desc.has_seed, &desc.model.placement);
    sim_lua_try(L,
                sim_uniform_sphere_new(&desc.model, sim_lua_new_model(L, desc.model.n)));
    return 1;
}

/* --- disc and galaxy ------------------------------------------------------------------
 */

struct disc {
    struct sim_disc_desc model;
    bool has_seed;
};

#define TOOMRE(type, standard)                                                           \
    {                                                                                    \
        .name = "toomre", .kind = LUA_PARAM_NUMBER, .number = standard, .max = HUGE_VAL, \
        .offset = AT(type, model.toomre),                                                \
        .help = "the least Q of the disc: below 1 it clumps, 0 is cold"                  \
    }

static const struct lua_param disc_params[] = {
    BODIES(struct disc),
    MASS(struct disc, "of the disc; 0: tracers without mass"),
    LENGTH(struct disc, "scale", scale,
           "of the exponential; half the mass is within 1.678"),
    {.name = "thickness",
     .kind = LUA_PARAM_NUMBER,
     .unit = "length",
     .max = HUGE_VAL,
     .offset = AT(struct disc, model.thickness),
     .help = "z0 of the vertical profile sech^2(z/z0); 0: razor-thin"},
    {.name = "centre",
     .kind = LUA_PARAM_NUMBER,
     .unit = "mass",
     .max = HUGE_VAL,
     .offset = AT(struct disc, model.centre),
     .help = "of one more body at the centre, in the group NAME.centre; 0: none"},
    TOOMRE(struct disc, 1.5),
    SOFTENING(struct disc, 0),
    GRAVITY(struct disc),
    SEED(struct disc),
    PLACEMENT(struct disc, "disc"),
};

const struct lua_param_set sim_disc_set = SET(
    "sim.disc", "an exponential disc that turns counter-clockwise about its z axis",
    "stars:add(sim.disc { n = 4096, mass = 0, centre = 1, toomre = 0 })", disc_params);

static int disc_new(lua_State *L)
{
    struct disc desc = {0};
    sim_lua_enter(L);
    sim_lua_read(L, 1, &sim_disc_set, &desc);
    use_command_seed(L, desc.has_seed, &desc.model.placement);
    sim_lua_try(L, sim_disc_new(&desc.model, sim_lua_new_model(L, desc.model.n)));
    return 1;
}

struct galaxy {
    struct sim_galaxy_desc model;
    bool has_seed;
};

#define SHARE(word, member, index, standard, text)                                   \
    {                                                                                \
        .name = word, .kind = LUA_PARAM_NUMBER, .number = standard, .max = HUGE_VAL, \
        .offset = AT(struct galaxy, model.member) + (index) * sizeof(double),        \
        .help = text                                                                 \
    }
#define SCALES(word, member, standard, text)                                          \
    {                                                                                 \
        .name = word, .kind = LUA_PARAM_NUMBER, .number = standard, .min_open = true, \
        .unit = "scale", .offset = AT(struct galaxy, model.member), .help = text      \
    }

static const struct lua_param galaxy_params[] = {
    BODIES(struct galaxy),
    MASS(struct galaxy, "of all parts together"),
    LENGTH(struct galaxy, "scale", scale, "of the exponential disc"),
    SHARE("disc", share, SIM_GALAXY_DISC, SIM_GALAXY_SHARE_DISC,
          "share of the mass; shares are scaled to sum to 1; 0: no disc"),
    SHARE("bulge", share, SIM_GALAXY_BULGE, SIM_GALAXY_SHARE_BULGE,
          "share of the mass; 0: no bulge"),
    SHARE("halo", share, SIM_GALAXY_HALO, SIM_GALAXY_SHARE_HALO,
          "share of the mass; 0: no halo"),
    SHARE("disc_bodies", bodies, SIM_GALAXY_DISC, SIM_GALAXY_BODIES_DISC,
          "share of n, among the parts there are"),
    SHARE("bulge_bodies", bodies, SIM_GALAXY_BULGE, SIM_GALAXY_BODIES_BULGE,
          "share of n, among the parts there are"),
    SHARE("halo_bodies", bodies, SIM_GALAXY_HALO, SIM_GALAXY_BODIES_HALO,
          "share of n, among the parts there are"),
    SCALES("thickness", thickness, SIM_GALAXY_THICKNESS, "z0 of the disc's sech^2(z/z0)"),
    SCALES("bulge_scale", bulge_scale, SIM_GALAXY_BULGE_SCALE,
           "Hernquist's a of the bulge"),
    SCALES("halo_scale", halo_scale, SIM_GALAXY_HALO_SCALE, "Hernquist's a of the halo"),
    SCALES("halo_cut", halo_cut, SIM_GALAXY_HALO_CUT,
           "the halo's density is multiplied by exp(-(r/cut)^2)"),
    TOOMRE(struct galaxy, SIM_GALAXY_TOOMRE),
    SOFTENING(struct galaxy, SIM_GALAXY_SOFTENING),
    GRAVITY(struct galaxy),
    SEED(struct galaxy),
    PLACEMENT(struct galaxy, "galaxy"),
};

const struct lua_param_set sim_galaxy_set =
    SET("sim.galaxy",
        "a disc galaxy in equilibrium: groups NAME.disc, NAME.bulge and NAME.halo",
        "stars:add(sim.galaxy { n = 8192, mass = 1, tilt = { 60, 30 }, name = \"A\" })",
        galaxy_params);

static int galaxy_new(lua_State *L)
{
    struct galaxy desc = {0};
    sim_lua_enter(L);
    sim_lua_read(L, 1, &sim_galaxy_set, &desc);
    use_command_seed(L, desc.has_seed, &desc.model.placement);
    sim_lua_try(L, sim_galaxy_new(&desc.model, sim_lua_new_model(L, desc.model.n)));
    return 1;
}

/* --- one body, and two on a conic ------------------------------------------------------
 */

struct body {
    struct {
        double mass;
        struct sim_placement placement;
    } model;
};

static const struct lua_param body_params[] = {
    {.name = "mass",
     .kind = LUA_PARAM_NUMBER,
     .number = 1,
     .unit = "mass",
     .offset = AT(struct body, model.mass),
     .help = "or charge; 0: a tracer, which feels but is not felt"},
    PLACEMENT(struct body, "body"),
};

const struct lua_param_set sim_body_set = SET(
    "sim.body", "one body",
    "stars:add(sim.body { mass = 1, position = { 1, 0, 0 }, velocity = { 0, 1, 0 } })",
    body_params);

static int body_new(lua_State *L)
{
    struct body desc = {0};
    int group;
    sim_lua_enter(L);
    sim_lua_read(L, 1, &sim_body_set, &desc);
    struct sim_model *model = sim_lua_new_model(L, 1);
    const struct sim_placement *p = &desc.model.placement;
    sim_lua_try(L, sim_model_new(1, model));
    sim_lua_try(L, sim_model_group(model, p->name, &group));
    model->bodies[0].mass = desc.model.mass;
    sim_model_place(model, p->position, p->velocity, p->tilt);
    return 1;
}

#define ORBIT(word, member, standard, opened, needed, text, dimension)                  \
    {                                                                                   \
        .name = word, .kind = LUA_PARAM_NUMBER, .number = standard, .min_open = opened, \
        .max = opened ? 0 : HUGE_VAL, .required = needed, .unit = dimension,            \
        .offset = AT(struct sim_orbit_desc, member), .help = text                       \
    }

static const struct lua_param encounter_params[] = {
    ORBIT("m1", m1, 1, true, false, "of the first", "mass"),
    ORBIT("m2", m2, 1, true, false, "of the second", "mass"),
    ORBIT("pericentre", pericentre, 0, true, true, "the nearest that they come",
          "length"),
    ORBIT("separation", separation, 0, true, true, "at the start, on the way in",
          "length"),
    ORBIT("eccentricity", eccentricity, 1, false, false,
          "1: a parabola; less: an ellipse; more: a hyperbola", NULL),
    ORBIT("G", G, 1, true, false, "the gravitational constant: that of sim.bodies", NULL),
    {.name = "angle",
     .kind = LUA_PARAM_NUMBER,
     .unit = "degrees",
     .offset = AT(struct sim_orbit_desc, angle),
     .help = "from the x axis to the line from first to second when they are nearest"},
};

const struct lua_param_set sim_encounter_set = SET(
    "sim.encounter",
    "where to start two masses that are to pass each other, counter-clockwise in z = 0",
    "local first, second, time = sim.encounter { pericentre = 1, separation = 10 }",
    encounter_params);

static void push_vector(lua_State *L, const char *name, const double v[3])
{
    lua_createtable(L, 3, 0);
    for (int k = 0; k < 3; k++) {
        lua_pushnumber(L, v[k]);
        lua_rawseti(L, -2, k + 1);
    }
    lua_setfield(L, -2, name);
}

/* sim.encounter { … } -> { position, velocity }, { position, velocity }, the time until
 * they are nearest */
static int encounter(lua_State *L)
{
    struct sim_orbit_desc desc = {0};
    struct sim_orbit orbit;
    sim_lua_enter(L);
    sim_lua_read(L, 1, &sim_encounter_set, &desc);
    sim_lua_try(L, sim_orbit_encounter(&desc, &orbit));
    for (int b = 0; b < 2; b++) {
        lua_createtable(L, 0, 2);
        push_vector(L, "position", orbit.position[b]);
        push_vector(L, "velocity", orbit.velocity[b]);
    }
    lua_pushnumber(L, orbit.time);
    return 3;
}

void sim_lua_open_model(lua_State *L)
{
    static const luaL_Reg methods[] = {{"rows", model_rows}, {NULL, NULL}};
    static const luaL_Reg getters[] = {
        {"n", get_n}, {"mass", get_mass}, {"groups", get_groups}, {NULL, NULL}};
    static const luaL_Reg words[] = {
        {"galaxy", galaxy_new},
        {"plummer", plummer_new},
        {"hernquist", hernquist_new},
        {"uniform_sphere", uniform_sphere_new},
        {"disc", disc_new},
        {"body", body_new},
        {"rows", sim_lua_rows},
        {"encounter", encounter},
        {NULL, NULL},
    };
    sim_lua_class(L, CLASS, methods, getters, model_close, model_tostring);
    luaL_getmetatable(L, CLASS);
    lua_pushcfunction(L, get_n);
    lua_setfield(L, -2, "__len");
    lua_pop(L, 1);
    luaL_setfuncs(L, words, 0);
}
