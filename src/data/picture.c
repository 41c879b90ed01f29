/* Pictures of a set, for reports. */
#include "config.h"

#include <string.h>

#include "base/alloc.h"
#include "data/dataset.h"

ct_status ct_dataset_picture(const ct_dataset *ds, int64_t i, ct_image *out)
{
    return ct_dataset_frame(ds, i, 0, out);
}

ct_status ct_dataset_frame(const ct_dataset *ds, int64_t i, int frame, ct_image *out)
{
    const size_t bucket = (size_t)ct_dataset_bucket_width(ds, ct_dataset_sample_bucket(ds, i));
    const int h = ct_dataset_height(ds), w = ct_dataset_sample_width(ds, i), c = ct_dataset_channels(ds);
    const size_t row = (size_t)w * (size_t)c;
    uint8_t *px = ct_malloc(bucket * (size_t)h * (size_t)c, "a picture");
    *out = (ct_image){ 0 };
    if (!px) return CT_ENOMEM;
    ct_status st = ct_dataset_read(ds, i, frame, px);
    if (st == CT_OK) st = ct_image_make(w, h, c, 0, out);
    for (int y = 0; st == CT_OK && y < h; y++)
        memcpy(out->px + (size_t)y * row, px + (size_t)y * bucket * (size_t)c, row);
    ct_free(px);
    return st;
}
