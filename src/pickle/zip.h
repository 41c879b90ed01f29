/* ZIP archives in memory, as torch.save writes them: read by their central directory, stored and deflated entries.
 *
 * A reader of our own rather than libzip: it lends out the stored bytes of a mapped file instead of copying hundreds of
 * megabytes, and refuses what only an attack needs: entries that share bytes, names given twice, names that lead out of
 * a folder, directories that contradict the headers in front of the data. Inflating and checksums are zlib's. Nothing
 * is ever unpacked to the disk. */
#ifndef CT_PICKLE_ZIP_H
#define CT_PICKLE_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct ct_zip ct_zip;

typedef struct ct_zip_entry {
    char *name;                   /* "archive/data/0" */
    uint64_t size, packed;        /* bytes, and as they lie in the file */
    uint64_t at;                  /* of the local header; of the data once it was read */
    uint32_t crc;
    bool deflated;
    uint8_t *inflated;            /* NULL until it is asked for */
    bool checked;                 /* the checksum is right */
} ct_zip_entry;

/* Reads the directory of an archive, which must stay valid while *out is open; `source` names it in messages.
 * CT_EFORMAT for what is damaged or contradicts itself, CT_EUNSUPPORTED for encryption, parts and other methods,
 * CT_ENOMEM. *out: ct_zip_close(); NULL on failure. */
ct_status ct_zip_open(const uint8_t *data, size_t size, const char *source, ct_zip **out);
void ct_zip_close(ct_zip *z); /* NULL is fine */

/* Entries in byte-wise order of their names. */
size_t ct_zip_count(const ct_zip *z);
const ct_zip_entry *ct_zip_at(const ct_zip *z, size_t i);
const ct_zip_entry *ct_zip_find(const ct_zip *z, const char *name); /* NULL: none */

/* The bytes of an entry, which belong to z, after their checksum was compared. All that is inflated may together be
 * eight times as large as the file, or 64 MiB: weights hardly shrink, bombs do. */
ct_status ct_zip_bytes(ct_zip *z, const ct_zip_entry *e, const uint8_t **bytes);

#endif
