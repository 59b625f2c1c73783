/* lua_image.h - the userdata of a picture, for what makes pictures. */
#ifndef LUA_IMAGE_H
#define LUA_IMAGE_H

#include "lua_sim.h"

#define LUA_IMAGE_CLASS "sim.image"

/* Push with sim_lua_box, make the image, then set `open`. */
struct lua_image_box {
    bool open;
    struct sim_image image;
};

#endif
