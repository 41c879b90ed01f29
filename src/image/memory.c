/* Pictures whose pixels a program has in memory. */
#include "config.h"

#include <string.h>

#include "base/alloc.h"
#include "image/image_internal.h"

/* Do rows of `row` bytes, `stride` apart, lie within so many bytes? */
static bool within(size_t bytes, size_t row, size_t stride, int h)
{
    return bytes >= row && (h == 1 || (bytes - row) / stride >= (size_t)h - 1);
}

static ct_status check_pixels(const char *name, const ct_pixel_block *p)
{
    if (p->c != 1 && p->c != 3 && p->c != 4)
        return ct_fail(CT_EINVAL, "%s: pixels are of 1 (gray), 3 (RGB) or 4 (RGBA) bytes, not %d", name, p->c);
    if (p->w < 1 || p->h < 1) return ct_fail(CT_EINVAL, "%s: %dx%d pixels are no picture", name, p->w, p->h);
    if (ct_image_check_size(name, (uint64_t)p->w, (uint64_t)p->h) != CT_OK) return CT_EINVAL;
    const size_t row = (size_t)p->w * (size_t)p->c;
    if (p->h > 1 && p->stride < row)
        return ct_fail(CT_EINVAL, "%s: a row of %d pixels of %d bytes takes %zu bytes, the stride is %zu", name, p->w,
                       p->c, row, p->stride);
    if (!within(p->bytes, row, p->stride, p->h))
        return ct_fail(CT_EINVAL, "%s: %d rows of %zu bytes, %zu bytes apart, do not lie within %zu bytes", name, p->h,
                       row, p->stride, p->bytes);
    return CT_OK;
}

ct_status ct_image_read_pixels(const char *name, const ct_pixel_block *given, const ct_image_opts *opts, ct_image *out)
{
    ct_pixel_block p = *given;
    *out = (ct_image){ 0 };
    if (!p.px) return ct_fail(CT_EINVAL, "%s: pixels without data", name);
    if (p.stride == 0 && p.w > 0 && p.c > 0) p.stride = (size_t)p.w * (size_t)p.c;
    CT_TRY(check_pixels(name, &p));
    const size_t row = (size_t)p.w * (size_t)p.c;
    ct_raw raw = { .w = p.w, .h = p.h, .c = p.c, .px = ct_malloc(row * (size_t)p.h, "picture") };
    if (!raw.px) return CT_ENOMEM;
    for (size_t y = 0; y < (size_t)p.h; y++) memcpy(raw.px + y * row, p.px + y * p.stride, row);
    return ct_raw_finish(&raw, opts, out);
}
