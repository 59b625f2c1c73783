/* fft_library.c - cuFFT by dlopen. */
#include "fft_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Newest first; then where the toolkit puts it, which the loader may not know. */
static const char *const names[] = {"libcufft.so.12",
                                    "libcufft.so.11",
                                    "libcufft.so",
                                    "/usr/local/cuda/lib64/libcufft.so.12",
                                    "/usr/local/cuda/lib64/libcufft.so.11",
                                    "/usr/local/cuda/lib64/libcufft.so",
                                    NULL};

#define FUNCTIONS 10

/* A pointer to a function from one to data: ISO C has no conversion, POSIX has the bits.
 */
static bool find(void *library, const char *name, void *function, char *why, size_t size)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    if (!found)
        snprintf(why, size, "cuFFT lacks %s", name);
    return found != NULL;
}

static bool find_all(void *library, struct sim_fft_library *out, char *why, size_t size)
{
    const struct {
        const char *name;
        void *function;
    } all[FUNCTIONS] = {{"cufftCreate", &out->create},
                        {"cufftDestroy", &out->destroy},
                        {"cufftSetAutoAllocation", &out->own_area},
                        {"cufftMakePlanMany64", &out->make},
                        {"cufftSetWorkArea", &out->set_area},
                        {"cufftSetStream", &out->set_stream},
                        {"cufftExecR2C", &out->forward[0]},
                        {"cufftExecD2Z", &out->forward[1]},
                        {"cufftExecC2R", &out->inverse[0]},
                        {"cufftExecZ2D", &out->inverse[1]}};
    for (int k = 0; k < FUNCTIONS; k++)
        if (!find(library, all[k].name, all[k].function, why, size))
            return false;
    return true;
}

bool sim_fft_library_open(const char *const *from, struct sim_fft_library *out, char *why,
                          size_t size)
{
    void *library = NULL;
    for (int k = 0; from[k] && !library; k++)
        library = dlopen(from[k], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why, size, "cuFFT was not found (%s)", from[0] ? from[0] : "no name");
        return false;
    }
    if (find_all(library, out, why, size))
        return true;
    dlclose(library);
    return false;
}

const struct sim_fft_library *sim_fft_library(const char **why)
{
    static struct sim_fft_library library;
    static char text[128];
    static bool asked, there;
    if (!asked)
        there = sim_fft_library_open(names, &library, text, sizeof text);
    asked = true;
    *why = text;
    return there ? &library : NULL;
}
