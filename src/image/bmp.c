/* BMP: uncompressed pictures of 1, 4, 8, 16, 24 and 32 bits, of Windows and of OS/2. No library of the system reads
 * BMP alone; the format is a header, a palette and rows. */
#include "config.h"

#include <string.h>

#include "base/alloc.h"
#include "image/image_internal.h"

enum { FILE_HEADER = 14, CORE_HEADER = 12, INFO_HEADER = 40 };

/* Where a colour is in a pixel. */
typedef struct field {
    uint32_t mask, most;
    int shift;
} field;

typedef struct bmp {
    const uint8_t *data;
    size_t size, head, pixels; /* bytes of the file and of the second header, where rows begin */
    uint32_t w, h;
    bool down;                 /* the first row is the uppermost */
    int bits;
    uint32_t compression, colours;
    const uint8_t *palette;    /* [colours][each] blue, green, red */
    int each;
    field part[4];             /* red, green, blue, alpha, of 16 and 32 bits */
} bmp;

static uint32_t get16(const uint8_t *p) { return (uint32_t)p[0] | (uint32_t)p[1] << 8; }
static uint32_t get32(const uint8_t *p) { return get16(p) | get16(p + 2) << 16; }

static field field_of(uint32_t mask)
{
    field f = { .mask = mask };
    while (mask && !(mask & 1)) {
        mask >>= 1;
        f.shift++;
    }
    f.most = mask;
    return f;
}

static uint8_t part_of(const field *f, uint32_t v)
{
    return f->most == 0 ? 0 : (uint8_t)(((uint64_t)((v & f->mask) >> f->shift) * 255 + f->most / 2) / f->most);
}

/* Bits of a colour stand side by side, and colours apart. */
static bool sound(const field part[4])
{
    uint32_t all = 0;
    for (int i = 0; i < 4; i++) {
        if ((part[i].most & (part[i].most + UINT64_C(1))) != 0 || (part[i].mask & all) != 0) return false;
        all |= part[i].mask;
    }
    return part[0].mask && part[1].mask && part[2].mask;
}

/* Masks of 16 and 32 bits: behind a header of 40 bytes, within a longer one, or the usual ones. */
static ct_status read_masks(const char *name, bmp *b)
{
    const uint8_t *at = b->data + FILE_HEADER + INFO_HEADER;
    const bool given = b->compression == 3 || b->compression == 6;
    const bool alpha = b->compression == 6 || b->head >= 56;
    const uint32_t usual[2][3] = { { 0x7c00, 0x3e0, 0x1f }, { 0xff0000, 0xff00, 0xff } };
    if (given && b->size < (size_t)FILE_HEADER + INFO_HEADER + (alpha ? 16 : 12))
        return ct_fail(CT_EFORMAT, "%s: the BMP file ends within its colour masks", name);
    for (int i = 0; i < 3; i++) b->part[i] = field_of(given ? get32(at + 4 * i) : usual[b->bits == 32][i]);
    b->part[3] = field_of(given && alpha ? get32(at + 12) : 0);
    return sound(b->part) ? CT_OK : ct_fail(CT_EFORMAT, "%s: the colour masks of the BMP file overlap or have gaps", name);
}

static ct_status read_palette(const char *name, bmp *b)
{
    const size_t at = FILE_HEADER + b->head;
    const uint32_t all = UINT32_C(1) << b->bits;
    b->each = b->head == CORE_HEADER ? 3 : 4;
    if (b->colours == 0 || b->colours > all) b->colours = all;
    if (at > b->size || (b->size - at) / (size_t)b->each < b->colours)
        return ct_fail(CT_EFORMAT, "%s: the BMP file ends within its palette", name);
    b->palette = b->data + at;
    return CT_OK;
}

static ct_status read_sides(const char *name, bmp *b)
{
    const uint8_t *p = b->data + FILE_HEADER;
    const bool core = b->head == CORE_HEADER;
    const int32_t w = core ? (int32_t)get16(p + 4) : (int32_t)get32(p + 4);
    const int32_t h = core ? (int32_t)get16(p + 6) : (int32_t)get32(p + 8);
    if (w <= 0 || h == 0 || h == INT32_MIN) return ct_fail(CT_EFORMAT, "%s: picture without pixels", name);
    b->w = (uint32_t)w;
    b->down = h < 0;
    b->h = (uint32_t)(h < 0 ? -h : h);
    b->bits = (int)get16(p + (core ? 10 : 14));
    b->compression = core ? 0 : get32(p + 16);
    b->colours = core ? 0 : get32(p + 32);
    return ct_image_check_size(name, b->w, b->h);
}

static ct_status read_header(const char *name, bmp *b)
{
    if (b->size < FILE_HEADER + CORE_HEADER) return ct_fail(CT_EFORMAT, "%s: the BMP file ends within its header", name);
    b->pixels = get32(b->data + 10);
    b->head = get32(b->data + FILE_HEADER);
    if ((b->head != CORE_HEADER && b->head < INFO_HEADER) || b->head > 1024)
        return ct_fail(CT_EFORMAT, "%s: a BMP header of %zu bytes, which is none that is read", name, b->head);
    if (b->size < FILE_HEADER + b->head) return ct_fail(CT_EFORMAT, "%s: the BMP file ends within its header", name);
    CT_TRY(read_sides(name, b));
    const bool masks = (b->compression == 3 || b->compression == 6) && (b->bits == 16 || b->bits == 32);
    if (b->compression != 0 && !masks)
        return ct_fail(CT_EFORMAT, "%s: a compressed BMP file, which is not read; save it as PNG", name);
    switch (b->bits) {
    case 1: case 4: case 8: return read_palette(name, b);
    case 16: case 32: return read_masks(name, b);
    case 24: return CT_OK;
    default: return ct_fail(CT_EFORMAT, "%s: a BMP file of %d bits per pixel", name, b->bits);
    }
}

/* ---- rows ---- */

static bool indexed_row(const bmp *b, const uint8_t *from, uint8_t *to)
{
    const uint32_t per = 8 / (uint32_t)b->bits, most = (1u << b->bits) - 1;
    for (uint32_t x = 0; x < b->w; x++) {
        const uint32_t v = from[x / per] >> (8 - (uint32_t)b->bits * (x % per + 1)) & most;
        if (v >= b->colours) return false;
        const uint8_t *c = b->palette + v * (uint32_t)b->each;
        for (int k = 0; k < 3; k++) to[3 * x + (uint32_t)k] = c[2 - k];
    }
    return true;
}

static void direct_row(const bmp *b, const uint8_t *from, uint8_t *to, uint32_t c)
{
    for (uint32_t x = 0; x < b->w; x++, to += c) {
        if (b->bits == 24) {
            for (uint32_t k = 0; k < 3; k++) to[k] = from[3 * x + 2 - k];
            continue;
        }
        const uint32_t v = b->bits == 16 ? get16(from + 2 * x) : get32(from + 4 * x);
        for (uint32_t k = 0; k < c; k++) to[k] = part_of(&b->part[k], v);
    }
}

ct_status ct_bmp_decode(const uint8_t *data, size_t size, const char *name, int peek, ct_raw *out)
{
    bmp b = { .data = data, .size = size };
    *out = (ct_raw){ 0 };
    CT_TRY(read_header(name, &b));
    const uint32_t c = b.part[3].mask ? 4 : 3;
    *out = (ct_raw){ .w = (int)b.w, .h = (int)b.h, .c = (int)c };
    const size_t row = ((size_t)b.w * (size_t)b.bits + 31) / 32 * 4; /* bytes, a multiple of 4 */
    if (b.pixels > size || (size - b.pixels) / row < b.h) {
        *out = (ct_raw){ 0 };
        return ct_fail(CT_EFORMAT, "%s: the BMP file ends too early", name);
    }
    if (peek) return CT_OK;
    if (!(out->px = ct_malloc((size_t)b.w * b.h * c, "picture"))) {
        *out = (ct_raw){ 0 };
        return CT_ENOMEM;
    }
    for (uint32_t y = 0; y < b.h; y++) {
        const uint8_t *from = data + b.pixels + (size_t)(b.down ? y : b.h - 1 - y) * row;
        uint8_t *to = out->px + (size_t)y * b.w * c;
        if (b.bits > 8) {
            direct_row(&b, from, to, c);
        } else if (!indexed_row(&b, from, to)) {
            ct_free(out->px);
            *out = (ct_raw){ 0 };
            return ct_fail(CT_EFORMAT, "%s: the BMP file has a colour that is not in its palette", name);
        }
    }
    return CT_OK;
}
