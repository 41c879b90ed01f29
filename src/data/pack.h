/* The packed cache file: all pixels of a data set, decoded, or its files as they are, with checksums.
 *
 * File, in the byte order of the machine (a mark tells; another order is treated as damage): 4096 bytes of header
 * (struct pack_header of pack.c, zero padded), the pixels, then one record per item: a state byte, the true width, the
 * width and height before the picture was brought to the geometry of the set (int32 each), and a NUL-terminated string.
 * XXH3-128 digests of header, pixels and records are checked at every load.
 *
 * Pixels. An item is [H,W',C] uint8, where W' is its true width rounded up to a multiple of `step`, at most w; with
 * step 0 it is w. Items of one W' lie one after another in the order of their numbers, those of smaller W' in front.
 * A bad item whose width was not found out has width 0 and no pixels.
 *
 * Files. An item is the bytes of its file instead, items lie in the order of their numbers, and a record has their
 * number (int64) behind its sizes. Widths are those that the decoded pictures have. */
#ifndef CT_DATA_PACK_H
#define CT_DATA_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"

#define CT_PACK_SUFFIX ".ctpack"

enum { CT_PACK_GOOD = 0, CT_PACK_BAD = 1 };

/* What all items have in common. */
typedef struct ct_pack_shape {
    int h, w, c; /* w: of the widest item that is possible */
    int step;    /* pixels; 0: every item is w wide */
    bool files;  /* items are files */
} ct_pack_shape;

/* The width W' of an item whose true width is `width`. */
static inline int ct_pack_width(const ct_pack_shape *s, int width)
{
    if (s->step == 0) return s->w;
    int64_t w = ((int64_t)width + s->step - 1) / s->step * s->step;
    return w < s->w ? (int)w : s->w;
}

typedef struct ct_pack {
    int64_t n;
    ct_pack_shape shape;
    const uint8_t *px;      /* pixels of all items; those of bad items are zero */
    size_t px_bytes;
    size_t *at;             /* [n] where item i begins in px */
    int64_t *size;          /* [n] bytes of the files; NULL: items are pixels */
    int32_t *width;         /* [n] true widths, 0..w */
    int32_t (*from)[2];     /* [n] width and height of the pictures as they came; 0: not known */
    const uint8_t *state;   /* [n] CT_PACK_GOOD or CT_PACK_BAD */
    const char **text;      /* [n] bad: the reason; good: the label a generator gave, or "" */
    /* ownership: either the map, or the blocks; at, width, from and state are owned in both cases */
    ct_mmap map;            /* of the cache file, or scratch that own_px lies in */
    uint8_t *own_px, *own_state;
    char **own_text;
} ct_pack;

/* A pack in memory without pixels, all items good and of width w, texts NULL: to be filled through width, own_state and
 * own_text (each string is then released by ct_pack_free). CT_EINVAL, CT_ENOMEM. */
ct_status ct_pack_make(int64_t n, const ct_pack_shape *shape, ct_pack *out);
/* Lays the items out by their widths or sizes, which must not change any more, and adds the room for them (own_px), not
 * cleared: a large one as a file without a name in folder `scratch`, if that is given. */
ct_status ct_pack_add_pixels(ct_pack *p, const char *scratch);
size_t ct_pack_bytes(const ct_pack *p, int64_t i); /* of the pixels, or the file, of item i */

/* Maps a cache file and checks everything against key, n and shape. CT_EIO: it cannot be opened; CT_EFORMAT: damaged
 * or of another kind. */
ct_status ct_pack_load(const char *path, const char key[33], int64_t n, const ct_pack_shape *shape, ct_pack *out);
/* Writes a pack atomically; its folder is created. */
ct_status ct_pack_store(const char *path, const char key[33], const ct_pack *p);
void ct_pack_free(ct_pack *p); /* empties; NULL is fine */

#endif
