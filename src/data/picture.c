/* Pictures of a set, for reports. */
#include "config.h"

#include <string.h>

#include "data/dataset.h"

ct_status ct_dataset_picture(const ct_dataset *ds, int64_t i, ct_image *out)
{
    return ct_dataset_frame(ds, i, 0, out);
}

ct_status ct_dataset_frame(const ct_dataset *ds, int64_t i, int frame, ct_image *out)
{
    const int bucket = ct_dataset_bucket_width(ds, ct_dataset_sample_bucket(ds, i));
    const int h = ct_dataset_height(ds), w = ct_dataset_sample_width(ds, i), c = ct_dataset_channels(ds);
    const uint8_t *px = ct_dataset_frame_pixels(ds, i, frame);
    CT_TRY(ct_image_make(w, h, c, 0, out));
    for (int y = 0; y < h; y++)
        memcpy(out->px + (size_t)y * (size_t)w * (size_t)c, px + (size_t)y * (size_t)bucket * (size_t)c,
               (size_t)w * (size_t)c);
    return CT_OK;
}
