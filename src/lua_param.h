/* lua_param.h - declared parameters: one table per constructor drives reading a script's
 * table, its errors, `simlua --help WORD` and the reference manual.
 *
 * sim_lua_read() walks the whole table, collects every problem (unknown key with the
 * nearest legal word, wrong type with its path, value out of range, missing), and raises
 * them as one error at the user's file and line. A field's value is stored into a C desc
 * struct at its offset: never a silent default, the default stands in the table. */
#ifndef LUA_PARAM_H
#define LUA_PARAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lua.h>

enum lua_param_kind {
    LUA_PARAM_NUMBER,  /* double */
    LUA_PARAM_INTEGER, /* int64_t: 2.0 is taken, 2.5 and "2" are not */
    LUA_PARAM_BOOLEAN, /* bool */
    LUA_PARAM_STRING,  /* const char *, alive as long as the script's table is */
    LUA_PARAM_CHOICE,  /* int64_t: the index of the word in `words` */
    LUA_PARAM_VECTOR,  /* double[count]: { x, y, z }; a shorter one only if min_count says
                        */
    LUA_PARAM_COLOR,   /* double[3] in 0..1, sRGB: "#rrggbb" or { r, g, b } */
    LUA_PARAM_FUNCTION, /* int: stack index relative to the desc table (see below) */
    LUA_PARAM_VALUE,    /* anything; checked by the caller: bool "present" */
    LUA_PARAM_TABLE,    /* a nested declared table: `set`, its desc at offset */
};

struct lua_param_set;

struct lua_param {
    const char *name;
    enum lua_param_kind kind;
    const char *help; /* one line: what it is */
    const char *unit; /* "length", "degrees", ...; NULL: none */
    bool required;
    size_t offset; /* into the desc struct */

    double number;        /* default of NUMBER, INTEGER, BOOLEAN (0, 1), CHOICE (index) */
    const char *string;   /* default of STRING and COLOR; NULL: stays NULL */
    const double *vector; /* default of VECTOR; NULL: zeros */
    double min, max;      /* inclusive bounds of NUMBER, INTEGER and each VECTOR item;
                             both 0: any finite value */
    bool min_open;        /* the minimum itself is not legal ("> 0") */
    int count, min_count; /* VECTOR: items; min_count 0: exactly count */
    const char *const *words;        /* CHOICE: legal words, NULL-terminated */
    const struct lua_param_set *set; /* TABLE */
    size_t present; /* offset of a bool that tells whether it was given; 0: none */
};

struct lua_param_set {
    const char *name;    /* the word scripts call: "bodies", "galaxy", "bodies:image" */
    const char *summary; /* one line */
    const char *example; /* a line of Lua; may be NULL */
    const struct lua_param *params;
    int count;
};

/* Read the table at `index` into `desc`. Raises one Lua error with all problems. nil or
 * none is read as an empty table. LUA_PARAM_FUNCTION and LUA_PARAM_VALUE store nothing
 * but `present`; fetch them with lua_getfield afterwards. */
void sim_lua_read(lua_State *L, int index, const struct lua_param_set *set, void *desc);

/* All sets, NULL-terminated, for --help and the manual (lua_sim.c). */
extern const struct lua_param_set *const sim_lua_sets[];

/* Print a set's manual page with print(context, text). */
void sim_lua_describe(const struct lua_param_set *set,
                      void (*print)(void *context, const char *text), void *context);

/* The nearest of `count` words, or NULL if none is near enough to be meant. */
const char *sim_nearest_word(const char *word, const char *const *words, int count);

/* Raise "message" at the user's file and line (the first frame that is not simlua's own
 * Lua), printf-formatted by lua_pushfstring's rules. */
int sim_lua_error(lua_State *L, const char *format, ...);

/* Push "file:line: " of the user's code, or "". */
void sim_lua_where(lua_State *L);

/* Arguments of methods, with messages that name the method: an integer in a range (2.0
 * is taken; 2.5, "2", NaN are not), a finite number, an optional one. */
int64_t sim_lua_integer(lua_State *L, int index, const char *what, int64_t min,
                        int64_t max);
double sim_lua_number(lua_State *L, int index, const char *what);
/* A list of exactly `count` finite numbers; and two numbers that must be whole, such as a
 * size that was read as a vector. */
void sim_lua_numbers(lua_State *L, int index, const char *what, int count, double *out);
void sim_lua_check_whole(lua_State *L, const char *what, const double pair[2]);
/* Raise "<what> '<word>' (did you mean '<the nearest of names>'?)<rest>". */
int sim_lua_unknown(lua_State *L, const char *what, const char *word,
                    const char *const *names, int count, const char *rest);

#endif
