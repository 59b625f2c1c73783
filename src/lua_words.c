/* lua_words.c - help for the words that are written in Lua, in lib/sim/: there they are
 * read and checked as well, so that these sets only describe. */
#include "lua_sim.h"

const struct lua_param_set sim_options_set = {
    .name = "sim.options",
    .summary = "the script's own options, typed by their defaults; returns their values",
    .example = "local opt = sim.options {\n"
               "    bodies = 16384,  -- --bodies 20000 sets it\n"
               "    softening = { 0.05, min = 0, max = 1, help = \"length\" },\n"
               "    map = { \"inferno\", choices = { \"inferno\", \"grey\" } },\n"
               "  }",
};

const struct lua_param_set sim_state_set = {
    .name = "sim.state",
    .summary =
        "what the callbacks of sim.run change, saved with each checkpoint: numbers, "
        "texts, booleans, and tables of these",
    .example = "sim.state = { kicks = 0 }      then, in step:\n"
               "  sim.state.kicks = sim.state.kicks + 1",
};

const struct lua_param_set sim_table_set = {
    .name = "sim.table",
    .summary =
        "a time series in a CSV file, resumed to the row; in the run's folder, when "
        "the name has no folder",
    .example =
        "local energy = sim.table { \"energy.csv\", \"t [time]\", \"total [energy]\" }"
        "\n  energy:row(stars.time, stars:energy().total)      in step",
};

static const struct lua_param plot_params[] = {
    {.name = "table",
     .kind = LUA_PARAM_VALUE,
     .required = true,
     .help = "a sim.table, or lists of numbers by name"},
    {.name = "x",
     .kind = LUA_PARAM_STRING,
     .required = true,
     .help = "the column along the axis, without its unit"},
    {.name = "y",
     .kind = LUA_PARAM_VALUE,
     .help = "a column, or a list of them; all others when absent"},
    {.name = "size",
     .kind = LUA_PARAM_VECTOR,
     .count = 2,
     .unit = "pixels",
     .vector = (const double[]){800, 480},
     .help = "of the picture"},
};

const struct lua_param_set sim_plot_set = {
    .name = "sim.plot",
    .summary =
        "columns of a table as lines, in a PNG that stands beside the table; returns "
        "the picture",
    .example = "sim.plot { \"energy.png\", table = energy, x = \"t\", y = \"total\" }",
    .params = plot_params,
    .count = sizeof plot_params / sizeof *plot_params,
};
