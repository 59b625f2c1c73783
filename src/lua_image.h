/* lua_image.h - the userdata of a picture, for what makes pictures. */
#ifndef LUA_IMAGE_H
#define LUA_IMAGE_H

#include "field_image.h"
#include "lua_sim.h"

#define LUA_IMAGE_CLASS "sim.image"

/* Push with sim_lua_box, make the image, then set `open`. */
struct lua_image_box {
    bool open;
    struct sim_image image;
};

/* What is laid over a field's picture, as the script's tables say. */
struct lua_field_layers {
    struct lua_arrows {
        double spacing, speed, color[3], width;
        bool has_x, has_y;
    } arrows;
    struct lua_grain {
        double size, length, strength;
        bool has_x, has_y;
    } grain;
    struct lua_shade {
        double range[2], color[3];
        bool has_of;
    } shade;
    struct lua_dots {
        double size, strength, color[3];
        bool has_of;
    } dots;
    bool has_arrows, has_grain, has_shade, has_dots;
};

/* The fields in them are read from the picture's table at index 2, and live as long. */
void sim_lua_read_layers(lua_State *L, const struct lua_field_layers *d,
                         struct sim_field_picture *to);
/* The field `key` of the table on the stack's top, part `what` of the picture's. */
struct sim_field *sim_lua_read_field(lua_State *L, const char *what, const char *key);

#endif
