/* lua_param.c - reading a script's table by its declaration, and printing the
 * declaration.
 *
 * Tables are read raw: a script's metatable cannot raise in the middle. All problems go
 * into one fixed buffer and become one error when the whole table has been seen. */
#include "lua_param.h"
#include "lua_sim.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <lauxlib.h>

#define PROBLEMS_SIZE 2048
#define PATH_SIZE     128

struct reading {
    lua_State *L;
    char problems[PROBLEMS_SIZE];
    size_t used;
    int count, unknown; /* problems, and those that are keys which nothing reads */
};

static void problem(struct reading *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void problem(struct reading *r, const char *format, ...)
{
    size_t left = sizeof r->problems - r->used;
    int n = r->count++ ? snprintf(r->problems + r->used, left, "; ") : 0;
    va_list args;
    va_start(args, format);
    n += vsnprintf(r->problems + r->used + n, left > (size_t)n ? left - (size_t)n : 0,
                   format, args);
    va_end(args);
    r->used += (size_t)n < left ? (size_t)n : left - 1;
}

/* --- words ----------------------------------------------------------------------------
 */

#define WORD_MAX 63

/* Edit distance with neighbouring letters swapped counted once. */
static int distance(const char *a, const char *b)
{
    size_t na = strlen(a), nb = strlen(b);
    if (na > WORD_MAX || nb > WORD_MAX)
        return WORD_MAX;
    int d[3][WORD_MAX + 1];
    for (size_t j = 0; j <= nb; j++)
        d[0][j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int *row = d[i % 3], *above = d[(i + 2) % 3], *twice = d[(i + 1) % 3];
        row[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            int best = above[j - 1] + (a[i - 1] != b[j - 1]);
            best = above[j] + 1 < best ? above[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                twice[j - 2] + 1 < best)
                best = twice[j - 2] + 1;
            row[j] = best;
        }
    }
    return d[na % 3][nb];
}

const char *sim_nearest_word(const char *word, const char *const *words, int count)
{
    const char *nearest = NULL;
    int limit = (int)strlen(word) / 3 + 1, best = limit + 1;
    for (int i = 0; i < count; i++) {
        int d = distance(word, words[i]);
        bool prefix = strlen(word) >= 3 && !strncmp(word, words[i], strlen(word));
        if (prefix && d > limit)
            d = limit;
        if (d < best && d < (int)strlen(words[i])) {
            best = d;
            nearest = words[i];
        }
    }
    return nearest;
}

static int word_count(const char *const *words)
{
    int n = 0;
    while (words[n])
        n++;
    return n;
}

static void join_words(char *out, size_t size, const char *const *words, int count)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < count && used < size; i++)
        used +=
            (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", words[i]);
}

/* --- where the user is ----------------------------------------------------------------
 */

void sim_lua_where(lua_State *L)
{
    lua_Debug frame;
    for (int level = 1; lua_getstack(L, level, &frame); level++) {
        lua_getinfo(L, "Sl", &frame);
        if (frame.currentline > 0 && !sim_lua_is_own(L, frame.source)) {
            lua_pushfstring(L, "%s:%d: ", frame.short_src, frame.currentline);
            return;
        }
    }
    lua_pushliteral(L, "");
}

/* --- values ---------------------------------------------------------------------------
 */

/* What a value is, for "got …". Uses no memory of Lua's. */
static const char *got(lua_State *L, int index, char *out, size_t size)
{
    switch (lua_type(L, index)) {
    case LUA_TNUMBER:
        if (lua_isinteger(L, index))
            snprintf(out, size, "%lld", (long long)lua_tointeger(L, index));
        else
            snprintf(out, size, "%.14g", lua_tonumber(L, index));
        break;
    case LUA_TSTRING:
        snprintf(out, size, "the string \"%.40s\"", lua_tostring(L, index));
        break;
    case LUA_TBOOLEAN:
        snprintf(out, size, "%s", lua_toboolean(L, index) ? "true" : "false");
        break;
    case LUA_TNIL:
        snprintf(out, size, "nil");
        break;
    default:
        snprintf(out, size, "a %s", luaL_typename(L, index));
    }
    return out;
}

static bool bounded(const struct lua_param *p)
{
    return p->min != 0 || p->max != 0 || p->min_open;
}

/* "a number > 0", "a whole number from 1 to 64" */
static void expectation(const struct lua_param *p, const char *noun, char *out,
                        size_t size)
{
    double top = p->max == 0 && p->min_open ? HUGE_VAL : p->max;
    if (!bounded(p))
        snprintf(out, size, "%s", noun);
    else if (isinf(top) || top >= 9e18)
        snprintf(out, size, "%s %s %.14g", noun, p->min_open ? ">" : ">=", p->min);
    else if (isinf(p->min) || p->min <= -9e18)
        snprintf(out, size, "%s <= %.14g", noun, top);
    else if (p->min_open)
        snprintf(out, size, "%s > %.14g, <= %.14g", noun, p->min, top);
    else
        snprintf(out, size, "%s from %.14g to %.14g", noun, p->min, top);
}

static bool in_bounds(const struct lua_param *p, double value)
{
    double top = p->max == 0 && p->min_open ? HUGE_VAL : p->max;
    if (!bounded(p))
        return true;
    return value <= top && (p->min_open ? value > p->min : value >= p->min);
}

static void wrong(struct reading *r, const struct lua_param *p, const char *path,
                  const char *noun, int index)
{
    char want[128], have[80];
    expectation(p, noun, want, sizeof want);
    problem(r, "%s must be %s, got %s", path, want, got(r->L, index, have, sizeof have));
}

static bool read_number(struct reading *r, const struct lua_param *p, const char *path,
                        int index, double *out)
{
    double value = lua_tonumber(r->L, index);
    if (lua_type(r->L, index) != LUA_TNUMBER || !isfinite(value) ||
        !in_bounds(p, value)) {
        wrong(r, p, path, "a number", index);
        return false;
    }
    *out = value;
    return true;
}

static void read_integer(struct reading *r, const struct lua_param *p, const char *path,
                         int index, int64_t *out)
{
    int exact = 0;
    lua_Integer value = lua_tointegerx(r->L, index, &exact);
    if (lua_type(r->L, index) != LUA_TNUMBER || !exact || !in_bounds(p, (double)value))
        wrong(r, p, path, "a whole number", index);
    else
        *out = value;
}

static void read_choice(struct reading *r, const struct lua_param *p, const char *path,
                        int index, int64_t *out)
{
    char have[80], legal[400];
    int count = word_count(p->words);
    const char *word =
        lua_type(r->L, index) == LUA_TSTRING ? lua_tostring(r->L, index) : NULL;
    for (int i = 0; word && i < count; i++) {
        if (!strcmp(word, p->words[i])) {
            *out = i;
            return;
        }
    }
    const char *nearest = word ? sim_nearest_word(word, p->words, count) : NULL;
    join_words(legal, sizeof legal, p->words, count);
    problem(r, "%s must be one of %s, got %s%s%s%s", path, legal,
            got(r->L, index, have, sizeof have), nearest ? " (did you mean '" : "",
            nearest ? nearest : "", nearest ? "'?)" : "");
}

static void read_vector(struct reading *r, const struct lua_param *p, const char *path,
                        int index, double *out)
{
    lua_State *L = r->L;
    int least = p->min_count ? p->min_count : p->count;
    size_t length = lua_istable(L, index) ? lua_rawlen(L, index) : 0;
    if (!lua_istable(L, index) || length < (size_t)least || length > (size_t)p->count) {
        char have[80], noun[64];
        if (lua_istable(L, index))
            snprintf(have, sizeof have, "a table of %zu", length);
        else
            got(L, index, have, sizeof have);
        snprintf(noun, sizeof noun, least == p->count ? "%d numbers" : "%d to %d numbers",
                 least, p->count);
        problem(r, "%s must be a table of %s, got %s", path, noun, have);
        return;
    }
    for (int i = 0; i < (int)length; i++) {
        char item[PATH_SIZE + 16];
        snprintf(item, sizeof item, "%s[%d]", path, i + 1);
        lua_rawgeti(L, index, i + 1);
        read_number(r, p, item, lua_gettop(L), &out[i]);
        lua_pop(L, 1);
    }
}

/* "#rrggbb" into three numbers in 0..1. */
static bool parse_color(const char *text, double out[3])
{
    unsigned rgb[3];
    char end;
    if (strlen(text) != 7 ||
        sscanf(text, "#%2x%2x%2x%c", &rgb[0], &rgb[1], &rgb[2], &end) != 3 ||
        strspn(text + 1, "0123456789abcdefABCDEF") != 6)
        return false;
    for (int i = 0; i < 3; i++)
        out[i] = rgb[i] / 255.0;
    return true;
}

static void read_color(struct reading *r, const struct lua_param *p, const char *path,
                       int index, double *out)
{
    const struct lua_param channel = {.count = 3, .min = 0, .max = 1};
    char have[80];
    if (lua_istable(r->L, index))
        read_vector(r, &channel, path, index, out);
    else if (lua_type(r->L, index) != LUA_TSTRING ||
             !parse_color(lua_tostring(r->L, index), out))
        problem(r, "%s must be a colour, \"#rrggbb\" or { r, g, b } from 0 to 1, got %s",
                path, got(r->L, index, have, sizeof have));
    (void)p;
}

/* --- one table ------------------------------------------------------------------------
 */

static void read_table(struct reading *r, int index, const struct lua_param_set *set,
                       const char *prefix, char *desc);

static void type_problem(struct reading *r, const char *path, const char *noun, int index)
{
    char have[80];
    problem(r, "%s must be %s, got %s", path, noun, got(r->L, index, have, sizeof have));
}

static void read_value(struct reading *r, const struct lua_param *p, const char *path,
                       int index, char *desc)
{
    lua_State *L = r->L;
    void *at = desc + p->offset;
    if (p->present)
        *(bool *)(desc + p->present) = true;
    switch (p->kind) {
    case LUA_PARAM_NUMBER:
        read_number(r, p, path, index, at);
        break;
    case LUA_PARAM_INTEGER:
        read_integer(r, p, path, index, at);
        break;
    case LUA_PARAM_BOOLEAN:
        if (lua_isboolean(L, index))
            *(bool *)at = lua_toboolean(L, index);
        else
            type_problem(r, path, "true or false", index);
        break;
    case LUA_PARAM_STRING:
        if (lua_type(L, index) != LUA_TSTRING)
            type_problem(r, path, "a string", index);
        else if (strlen(lua_tostring(L, index)) != lua_rawlen(L, index))
            problem(r, "%s must not hold a zero byte", path);
        else
            *(const char **)at = lua_tostring(L, index);
        break;
    case LUA_PARAM_CHOICE:
        read_choice(r, p, path, index, at);
        break;
    case LUA_PARAM_VECTOR:
        read_vector(r, p, path, index, at);
        break;
    case LUA_PARAM_COLOR:
        read_color(r, p, path, index, at);
        break;
    case LUA_PARAM_FUNCTION:
        if (!lua_isfunction(L, index))
            type_problem(r, path, "a function", index);
        break;
    case LUA_PARAM_VALUE:
        break;
    case LUA_PARAM_TABLE:
        if (lua_istable(L, index))
            read_table(r, index, p->set, path, at);
        else
            type_problem(r, path, "a table", index);
        break;
    }
}

static void set_default(const struct lua_param *p, char *desc)
{
    void *at = desc + p->offset;
    if (p->present)
        *(bool *)(desc + p->present) = false;
    switch (p->kind) {
    case LUA_PARAM_NUMBER:
        *(double *)at = p->number;
        break;
    case LUA_PARAM_INTEGER:
    case LUA_PARAM_CHOICE:
        *(int64_t *)at = (int64_t)p->number;
        break;
    case LUA_PARAM_BOOLEAN:
        *(bool *)at = p->number != 0;
        break;
    case LUA_PARAM_STRING:
        *(const char **)at = p->string;
        break;
    case LUA_PARAM_VECTOR:
        for (int i = 0; i < p->count; i++)
            ((double *)at)[i] = p->vector ? p->vector[i] : 0;
        break;
    case LUA_PARAM_COLOR:
        if (p->string)
            parse_color(p->string, at);
        break;
    case LUA_PARAM_TABLE:
        for (int i = 0; i < p->set->count; i++)
            set_default(&p->set->params[i], at);
        break;
    case LUA_PARAM_FUNCTION:
    case LUA_PARAM_VALUE:
        break;
    }
}

static void unknown_key(struct reading *r, const struct lua_param_set *set,
                        const char *prefix, int key)
{
    const char *words[64];
    char have[80], legal[600];
    r->unknown++;
    if (lua_type(r->L, key) != LUA_TSTRING) {
        problem(r, "[%s] is not a parameter: they are given by name, { name = value }",
                got(r->L, key, have, sizeof have));
        return;
    }
    int count = set->count < 64 ? set->count : 64;
    for (int i = 0; i < count; i++)
        words[i] = set->params[i].name;
    const char *word = lua_tostring(r->L, key);
    const char *nearest = sim_nearest_word(word, words, count);
    join_words(legal, sizeof legal, words, count);
    problem(r, "no parameter '%s%s%.40s'%s%s%s; legal: %s", prefix, *prefix ? "." : "",
            word, nearest ? " (did you mean '" : "", nearest ? nearest : "",
            nearest ? "'?)" : "", legal);
}

static bool is_declared(const struct lua_param_set *set, lua_State *L, int key)
{
    if (lua_type(L, key) != LUA_TSTRING)
        return false;
    for (int i = 0; i < set->count; i++)
        if (!strcmp(set->params[i].name, lua_tostring(L, key)))
            return true;
    return false;
}

static void read_table(struct reading *r, int index, const struct lua_param_set *set,
                       const char *prefix, char *desc)
{
    lua_State *L = r->L;
    luaL_checkstack(L, 8, "nested parameters");
    for (int i = 0; i < set->count; i++) {
        const struct lua_param *p = &set->params[i];
        char path[PATH_SIZE];
        snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "." : "", p->name);
        lua_pushstring(L, p->name);
        if (lua_rawget(L, index) != LUA_TNIL)
            read_value(r, p, path, lua_gettop(L), desc);
        else if (p->required)
            problem(r, "%s is missing (%s)", path, p->help);
        lua_pop(L, 1);
    }
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1))
        if (!is_declared(set, L, lua_gettop(L) - 1))
            unknown_key(r, set, prefix, lua_gettop(L) - 1);
}

/* With --check a key that nothing reads is told, and the script goes on without it, to
 * its other problems. */
static bool pass_over(struct reading *r, const char *name)
{
    struct sim_host *host = sim_lua_host(r->L);
    char text[PROBLEMS_SIZE + 400];
    if (!host->check || r->unknown < r->count)
        return false;
    sim_lua_where(r->L);
    snprintf(text, sizeof text, "simlua: %s%s: %s\n", lua_tostring(r->L, -1), name,
             r->problems);
    lua_pop(r->L, 1);
    host->say(text);
    host->problem_count++;
    return true;
}

void sim_lua_read(lua_State *L, int index, const struct lua_param_set *set, void *desc)
{
    struct reading r = {.L = L};
    char have[80];
    index = lua_absindex(L, index);
    for (int i = 0; i < set->count; i++)
        set_default(&set->params[i], desc);
    if (lua_isnoneornil(L, index))
        lua_newtable(L);
    else if (lua_istable(L, index))
        lua_pushvalue(L, index);
    else
        sim_lua_error(L, "%s takes a table, %s { … }, got %s", set->name, set->name,
                      got(L, index, have, sizeof have));
    read_table(&r, lua_gettop(L), set, "", desc);
    lua_pop(L, 1);
    if (r.count && !pass_over(&r, set->name))
        sim_lua_error(L, "%s: %s", set->name, r.problems);
}

/* --- the manual -----------------------------------------------------------------------
 */

static void default_text(const struct lua_param *p, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    switch (p->kind) {
    case LUA_PARAM_NUMBER:
    case LUA_PARAM_INTEGER:
        snprintf(out, size, "%.10g", p->number);
        break;
    case LUA_PARAM_BOOLEAN:
        snprintf(out, size, "%s", p->number != 0 ? "true" : "false");
        break;
    case LUA_PARAM_CHOICE:
        snprintf(out, size, "\"%s\"", p->words[(int)p->number]);
        break;
    case LUA_PARAM_STRING:
    case LUA_PARAM_COLOR:
        if (p->string)
            snprintf(out, size, "\"%s\"", p->string);
        break;
    case LUA_PARAM_VECTOR:
        used = (size_t)snprintf(out, size, "{ ");
        for (int i = 0; i < p->count && used < size; i++)
            used += (size_t)snprintf(out + used, size - used, "%s%.10g", i ? ", " : "",
                                     p->vector ? p->vector[i] : 0);
        if (used < size)
            snprintf(out + used, size - used, " }");
        break;
    case LUA_PARAM_FUNCTION:
    case LUA_PARAM_VALUE:
    case LUA_PARAM_TABLE:
        break;
    }
}

static void kind_text(const struct lua_param *p, char *out, size_t size)
{
    char words[400];
    switch (p->kind) {
    case LUA_PARAM_NUMBER:
        expectation(p, "number", out, size);
        break;
    case LUA_PARAM_INTEGER:
        expectation(p, "whole number", out, size);
        break;
    case LUA_PARAM_CHOICE:
        join_words(words, sizeof words, p->words, word_count(p->words));
        snprintf(out, size, "one of %s", words);
        break;
    case LUA_PARAM_VECTOR:
        snprintf(out, size, "%d numbers", p->count);
        break;
    case LUA_PARAM_BOOLEAN:
        snprintf(out, size, "true or false");
        break;
    case LUA_PARAM_STRING:
        snprintf(out, size, "string");
        break;
    case LUA_PARAM_COLOR:
        snprintf(out, size, "colour");
        break;
    case LUA_PARAM_FUNCTION:
        snprintf(out, size, "function");
        break;
    case LUA_PARAM_VALUE:
        snprintf(out, size, "value");
        break;
    case LUA_PARAM_TABLE:
        snprintf(out, size, "table");
        break;
    }
}

static void describe_params(const struct lua_param_set *set, const char *prefix,
                            void (*print)(void *context, const char *text), void *context)
{
    for (int i = 0; i < set->count; i++) {
        const struct lua_param *p = &set->params[i];
        char line[1024], name[PATH_SIZE], kind[500], normal[200];
        snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "." : "", p->name);
        kind_text(p, kind, sizeof kind);
        default_text(p, normal, sizeof normal);
        snprintf(line, sizeof line, "  %-18s %s\n  %-18s   %s%s%s%s%s%s\n", name, p->help,
                 "", kind, p->unit ? " [" : "", p->unit ? p->unit : "",
                 p->unit ? "]" : "",
                 p->required ? "; required"
                 : *normal   ? "; default "
                             : "",
                 p->required ? "" : normal);
        print(context, line);
        if (p->kind == LUA_PARAM_TABLE)
            describe_params(p->set, name, print, context);
    }
}

void sim_lua_describe(const struct lua_param_set *set,
                      void (*print)(void *context, const char *text), void *context)
{
    char head[1024];
    snprintf(head, sizeof head, "%s: %s\n", set->name, set->summary);
    print(context, head);
    if (set->example) {
        snprintf(head, sizeof head, "\n  %s\n", set->example);
        print(context, head);
    }
    print(context, "\n");
    describe_params(set, "", print, context);
}

/* --- plain arguments ------------------------------------------------------------------
 */

int64_t sim_lua_integer(lua_State *L, int index, const char *what, int64_t min,
                        int64_t max)
{
    char have[80], want[128];
    int exact = 0;
    lua_Integer value = lua_tointegerx(L, index, &exact);
    if (lua_type(L, index) == LUA_TNUMBER && exact && value >= min && value <= max)
        return value;
    const struct lua_param p = {.min = (double)min, .max = (double)max};
    expectation(&p, "a whole number", want, sizeof want);
    return sim_lua_error(L, "%s must be %s, got %s", what, want,
                         lua_isnone(L, index) ? "nothing"
                                              : got(L, index, have, sizeof have));
}

double sim_lua_number(lua_State *L, int index, const char *what)
{
    char have[80];
    double value = lua_tonumber(L, index);
    if (lua_type(L, index) == LUA_TNUMBER && isfinite(value))
        return value;
    sim_lua_error(L, "%s must be a finite number, got %s", what,
                  lua_isnone(L, index) ? "nothing" : got(L, index, have, sizeof have));
    return 0;
}

void sim_lua_numbers(lua_State *L, int index, const char *what, int count, double *out)
{
    index = lua_absindex(L, index);
    if (!lua_istable(L, index) || lua_rawlen(L, index) != (size_t)count)
        sim_lua_error(L, "%s must be a list of %d numbers", what, count);
    for (int k = 0; k < count; k++) {
        lua_rawgeti(L, index, k + 1);
        out[k] = sim_lua_number(L, -1, what);
        lua_pop(L, 1);
    }
}

void sim_lua_check_whole(lua_State *L, const char *what, const double pair[2])
{
    for (int k = 0; k < 2; k++)
        if (pair[k] != floor(pair[k]))
            sim_lua_error(L, "%s must be two whole numbers, got %f", what, pair[k]);
}

int sim_lua_unknown(lua_State *L, const char *what, const char *word,
                    const char *const *names, int count, const char *rest)
{
    const char *nearest = sim_nearest_word(word, names, count);
    return sim_lua_error(L, "%s '%s'%s%s%s%s", what, word,
                         nearest ? " (did you mean '" : "", nearest ? nearest : "",
                         nearest ? "'?)" : "", rest);
}
