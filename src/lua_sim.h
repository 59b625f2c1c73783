/* lua_sim.h - what the binding files share: the host they run in, statuses made errors,
 * userdata made safely, and the collector told of device memory. */
#ifndef LUA_SIM_H
#define LUA_SIM_H

#include <lua.h>
#include <lauxlib.h>

#include "bodies.h"
#include "device.h"
#include "field.h"
#include "frame.h"
#include "image.h"
#include "lua_param.h"

/* The program's state, one per Lua state; lives in main.c. */
struct sim_host {
    struct sim_device *device;
    struct sim_frames *frames; /* opened by the first save */
    const char *script;        /* as given; "-" or "-e" too */
    const char *script_path;   /* the file that was opened; NULL if none */
    const char *out;           /* --out, or NULL */
    int64_t frame_count;       /* --frames, or -1 */
    int64_t seed;              /* --seed, or -1 */
    int64_t from, to, every;   /* --from, --to, --every, or -1: the frames to make */
    bool quiet, help;          /* --quiet; --help given with a script */
    bool fresh, resume_anyway; /* what to do with an earlier run in the folder */
    bool strict;               /* --strict: run state outside sim.state is an error */
    bool check, declare; /* --check; --declare: print the script's options as JSON */
    double max_time;     /* --max-time in seconds, or 0 */
    const char *chunk;   /* the text of -e, or NULL */
    const char *device_spec;
    char library[1024]; /* folder of the modules shipped with simlua ("…/lib") */
    char scripts[1024]; /* folder of the scenes shipped with simlua ("…/scripts") */
    int argument_count; /* the script's own options and arguments */
    char **arguments;
    int raw_from;          /* index of the first argument after "--" */
    bool options_read;     /* sim.options was called, or the arguments were looked at */
    int64_t problem_count; /* --check: slips that were told and passed over */
    bool help_shown;       /* --help was answered: the script ends */
    bool idle;             /* --check, in sim.run's `before`: steps take none */
    uint64_t random_seed, random_count; /* of math.random (lua_random.c) */
    uint64_t allocated; /* device bytes asked for since the last full collection */
    void (*say)(
        const char *text); /* a message for people; main.c decides where it goes */
};

struct sim_host *sim_lua_host(lua_State *L);

/* The one place where a status becomes a Lua error: a table with fields `message`,
 * `status` and `where`, and a __tostring; SIM_OK returns. Interrupts and lost devices
 * cannot be caught for good: they are raised again by the next simlua call. */
void sim_lua_try(lua_State *L, enum sim_status status);

/* Raise a failure of this kind with the text, at the user's line. */
int sim_lua_fail(lua_State *L, enum sim_status status, const char *text);

/* Answer the script's --help with `text` and end the script (exit code 0). */
int sim_lua_end_help(lua_State *L, const char *text);

/* The message handler of every protected call: makes any error value a table of the error
 * class with `message`, `status`, and for errors that are not simlua's own `traceback`.
 */
int sim_lua_explain(lua_State *L);

/* The status inside an error value, SIM_OK if it is none of ours. */
enum sim_status sim_lua_status(lua_State *L, int index);

/* A zeroed userdata of `size` bytes with metatable `name` set (the box first, the
 * resource second); user value slots as asked. */
void *sim_lua_box(lua_State *L, size_t size, const char *name, int user_values);

/* A userdata, left on the stack, with the `size` bytes at `start`; `close` is called on
 * it when the calling C function ends, whatever happens, and may see them as they were.
 */
void *sim_lua_guard(lua_State *L, const void *start, size_t size, lua_CFunction close);

/* Note the box on top of the stack for checkpoints, if its class has state
 * (lua_checkpoint.c); sim_lua_box calls it. */
void sim_lua_register(lua_State *L, const char *class_name);

/* The userdata at `index`, checked: right kind, method called with ':' (a clear message
 * for '.'), not closed. The first member of every box is `bool open`. */
void *sim_lua_check(lua_State *L, int index, const char *name, const char *method);

/* Register a metatable: `methods`, plus __name, __index, __newindex that errors, __gc,
 * __close and `close` (all `close_function`), __tostring, a locked __metatable. getters:
 * functions of (object) for plain reads such as stars.time; may be NULL. */
void sim_lua_class(lua_State *L, const char *name, const luaL_Reg *methods,
                   const luaL_Reg *getters, lua_CFunction close_function,
                   lua_CFunction to_string);

/* Before allocating about `bytes` of device memory for a new object: steps or runs the
 * collector in proportion, since it cannot see device memory. */
void sim_lua_will_allocate(lua_State *L, size_t bytes);
/* After a SIM_DEVICE_MEMORY failure: collect fully; the caller then tries once more. */
void sim_lua_collect(lua_State *L);

/* Is this chunk name one of simlua's own Lua modules? */
bool sim_lua_is_own(lua_State *L, const char *source);

/* Every constructor calls this first: raises a pending interrupt, a lost device, or the
 * end of the script when only its --help was asked for. */
void sim_lua_enter(lua_State *L);

/* Make the error class; before anything that may fail. */
void sim_lua_open_errors(lua_State *L);

/* luaopen of the module "sim.core": everything below in one table. */
int sim_lua_open(lua_State *L);

/* One per file: add words to the module table on top of the stack. */
void sim_lua_open_bodies(lua_State *L);    /* sim.bodies */
void sim_lua_open_model(lua_State *L);     /* sim.galaxy, plummer, hernquist, ..., rows */
void sim_lua_open_image(lua_State *L);     /* sim.image objects */
void sim_lua_open_shape(lua_State *L);     /* sim.shape */
void sim_lua_open_diffusion(lua_State *L); /* sim.diffusion */
void sim_lua_open_flow(lua_State *L);      /* sim.flow */
void sim_lua_open_field(lua_State *L);     /* sim.field, sim.image.beside; and */
void sim_lua_open_paint(lua_State *L);     /* sim.noise */

/* luaopen of "sim.host" (lua_host.c): what lib/sim/ needs of C and scripts do not see. */
int sim_lua_open_host(lua_State *L);

/* luaopen of "sim.checkpoint" (lua_checkpoint.c) and "sim.process" (lua_process.c), for
 * lib/sim/ alike. */
int sim_lua_open_checkpoint(lua_State *L);
int sim_lua_open_process(lua_State *L);

/* math.random and math.randomseed, made repeatable (lua_random.c); and their state. */
void sim_lua_set_random(lua_State *L);
int sim_lua_random_state(lua_State *L);
int sim_lua_adopt_seed(lua_State *L);

/* Lines and texts on a picture (lua_plot.c), for lib/sim/plot.lua. */
int sim_lua_plot(lua_State *L);

/* The picture writer, opened at its first use. */
struct sim_frames *sim_lua_frames(lua_State *L);

/* Methods that live in another file than their object. */
/* Warn when the energy of bodies has changed since the last look (lua_bodies.c). */
void sim_lua_watch_bodies(lua_State *L, int index);
int sim_lua_bodies_image(lua_State *L); /* stars:image { … }, in lua_view.c */
struct sim_model *sim_lua_check_model(lua_State *L, int index); /* lua_model.c */
struct sim_bodies *sim_lua_check_bodies(lua_State *L, int index, const char *method);
/* The groups that argument `index` selects; all when it is absent. */
uint64_t sim_lua_selection(lua_State *L, int index, const struct sim_bodies *b,
                           const char *method);
int sim_lua_bodies_radii(lua_State *L); /* lua_bodies_read.c */
int sim_lua_bodies_rows(lua_State *L);
/* The groups that a word selects, or an error that lists those there are. */
uint64_t sim_lua_select_groups(lua_State *L, const struct sim_bodies *b, const char *word,
                               const char *method);
struct sim_image *sim_lua_check_image(lua_State *L, int index, const char *method);
int sim_lua_image_beside(lua_State *L); /* image:beside(other), in lua_field_image.c */
int sim_lua_field_image(lua_State *L);  /* field:image { … }, in lua_field_image.c */
struct sim_shape *sim_lua_check_shape(lua_State *L, int index, const char *method);
struct sim_field *sim_lua_check_field(lua_State *L, int index, const char *method);

/* Push a view of a field that lives in the object at `parent` (a box: its first member is
 * `bool open`). The view keeps the object from being collected; once the object is
 * closed, its views say so. *views counts the views alive (it may be NULL). */
void sim_lua_push_field(lua_State *L, int parent, struct sim_field *field, int *views);

/* Paint a field by the table at `index`, declared by sim_field_paint_set; `method` names
 * the caller in messages. */
void sim_lua_paint(lua_State *L, struct sim_field *field, int index, const char *method);

/* Declared sets of each file, for sim_lua_sets. */
extern const struct lua_param_set sim_radii_set, sim_soften_set, sim_bodies_set,
    sim_bodies_image_set, sim_galaxy_set, sim_plummer_set, sim_hernquist_set,
    sim_uniform_sphere_set, sim_disc_set, sim_body_set, sim_rows_set, sim_image_label_set,
    sim_image_scalebar_set, sim_run_set, sim_run_checkpoint_set, sim_options_set,
    sim_state_set, sim_table_set, sim_plot_set, sim_diffusion_set, sim_diffusion_wall_set,
    sim_diffusion_source_set, sim_flow_set, sim_flow_side_set, sim_flow_sine_set,
    sim_flow_obstacle_set, sim_flow_scalar_set, sim_flow_scalar_side_set,
    sim_flow_source_set, sim_flow_buoyancy_set, sim_flow_markers_set, sim_field_set,
    sim_field_paint_set, sim_field_image_set, sim_field_contours_set,
    sim_field_colorbar_set, sim_noise_set, sim_image_beside_set, sim_shape_disc_set,
    sim_shape_box_set, sim_shape_half_plane_set, sim_field_arrows_set,
    sim_field_shade_set, sim_field_grain_set, sim_field_dots_set, sim_shape_gaussian_set,
    sim_shape_image_set;

#endif
