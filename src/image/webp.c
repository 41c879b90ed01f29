/* WebP by libwebp, where configure found it. */
#include "config.h"

#include "base/alloc.h"
#include "image/image_internal.h"

#ifdef HAVE_WEBP
#include <webp/decode.h>

bool ct_webp_there(void) { return true; }

ct_status ct_webp_decode(const uint8_t *data, size_t size, const char *name, int peek, ct_raw *out)
{
    WebPBitstreamFeatures f;
    *out = (ct_raw){ 0 };
    if (WebPGetFeatures(data, size, &f) != VP8_STATUS_OK)
        return ct_fail(CT_EFORMAT, "%s: the header of the WebP file is damaged", name);
    if (f.has_animation) return ct_fail(CT_EFORMAT, "%s: a WebP animation, which is not read", name);
    CT_TRY(ct_image_check_size(name, (uint64_t)f.width, (uint64_t)f.height));
    const int c = f.has_alpha ? 4 : 3;
    *out = (ct_raw){ .w = f.width, .h = f.height, .c = c };
    if (peek) return CT_OK;
    const size_t row = (size_t)f.width * (size_t)c, bytes = row * (size_t)f.height;
    if (!(out->px = ct_malloc(bytes, "picture"))) {
        *out = (ct_raw){ 0 };
        return CT_ENOMEM;
    }
    const uint8_t *got = c == 4 ? WebPDecodeRGBAInto(data, size, out->px, bytes, (int)row)
                                : WebPDecodeRGBInto(data, size, out->px, bytes, (int)row);
    if (got) return CT_OK;
    ct_free(out->px);
    *out = (ct_raw){ 0 };
    return ct_fail(CT_EFORMAT, "%s: the WebP file is damaged or ends too early", name);
}
#else
bool ct_webp_there(void) { return false; }

ct_status ct_webp_decode(const uint8_t *data, size_t size, const char *name, int peek, ct_raw *out)
{
    (void)data;
    (void)size;
    (void)peek;
    *out = (ct_raw){ 0 };
    return ct_fail(CT_EFORMAT, "%s: a WebP file, and this captrain was built without libwebp (Debian: libwebp-dev); save "
                   "it as PNG, or build captrain anew", name);
}
#endif
