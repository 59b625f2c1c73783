/* image.c - pictures as device memory: height rows of width RGB pixels, padding, the
 * tail. */
#include "image.h"

#define PADDING 64

enum sim_status sim_image_new(struct sim_device *device, int width, int height,
                              struct sim_image *out)
{
    size_t pixels;
    *out = (struct sim_image){0};
    if (width < 1 || height < 1 || width > SIM_IMAGE_MAX || height > SIM_IMAGE_MAX)
        return sim_fail(SIM_BAD_ARGUMENT,
                        "a picture of %d x %d pixels: each side must be "
                        "from 1 to %d",
                        width, height, SIM_IMAGE_MAX);
    SIM_TRY(sim_size_multiply((size_t)width * 3, (size_t)height, "a picture", &pixels));
    size_t tail = (pixels + PADDING - 1) / PADDING * PADDING;
    SIM_TRY(sim_buffer_new(device, tail + sizeof(struct sim_image_tail), "a picture",
                           &out->pixels));
    out->width = width;
    out->height = height;
    out->tail_offset = tail;
    enum sim_status status = sim_buffer_zero(&out->pixels);
    if (status != SIM_OK)
        sim_image_free(out);
    return status;
}

void sim_image_free(struct sim_image *image)
{
    sim_buffer_free(&image->pixels);
    *image = (struct sim_image){0};
}

size_t sim_image_bytes(const struct sim_image *image)
{
    return image->tail_offset + sizeof(struct sim_image_tail);
}
