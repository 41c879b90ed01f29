/* The packed cache file: all pixels of a data set, decoded, with checksums.
 *
 * File, in the byte order of the machine (a mark tells; another order is treated as damage): 4096 bytes of header
 * (struct pack_header of pack.c, zero padded), pixels [n,H,W,C] uint8, then one record per item: a state byte and a
 * NUL-terminated string. XXH3-128 digests of header, pixels and records are checked at every load. */
#ifndef CT_DATA_PACK_H
#define CT_DATA_PACK_H

#include <stdint.h>

#include "base/file.h"
#include "base/status.h"

enum { CT_PACK_GOOD = 0, CT_PACK_BAD = 1 };

typedef struct ct_pack {
    int64_t n;
    int h, w, c;
    const uint8_t *px;     /* [n,H,W,C]; rows of bad items are zero */
    const uint8_t *state;  /* [n] CT_PACK_GOOD or CT_PACK_BAD */
    const char **text;     /* [n] bad: the reason; good: the label a generator gave, or "" */
    /* ownership: either the map, or the blocks */
    ct_mmap map;
    uint8_t *own_px, *own_state;
    char **own_text;
} ct_pack;

/* An empty pack in memory, all items good, texts NULL: to be filled through own_px, own_state and own_text (each string
 * is then released by ct_pack_free). CT_ENOMEM. */
ct_status ct_pack_make(int64_t n, int h, int w, int c, ct_pack *out);
/* Maps a cache file and checks everything against key, n and geometry. CT_EIO: it cannot be opened; CT_EFORMAT: damaged
 * or of another kind. */
ct_status ct_pack_load(const char *path, const char key[33], int64_t n, int h, int w, int c, ct_pack *out);
/* Writes a pack atomically; its folder is created. */
ct_status ct_pack_store(const char *path, const char key[33], const ct_pack *p);
void ct_pack_free(ct_pack *p); /* empties; NULL is fine */

#endif
