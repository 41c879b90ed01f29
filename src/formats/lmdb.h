/* LMDB databases, read by liblmdb where configure found it. What a file says of itself is not believed: before the
 * library walks its pages they are looked through (lmdb_sound.c), for the library takes them as they are. */
#ifndef CT_FORMATS_LMDB_H
#define CT_FORMATS_LMDB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define CT_LMDB_FILE "data.mdb" /* in the folder of a database */

typedef struct ct_lmdb ct_lmdb;

bool ct_lmdb_built(void); /* is there liblmdb in this build? */
/* Opens the database in folder `dir` for reading, by any number of threads; nothing is written, no lock file either.
 * CT_EUNSUPPORTED without liblmdb, naming the package; CT_EIO, CT_EFORMAT (damaged, or not of this kind), CT_ENOMEM. */
ct_status ct_lmdb_open(const char *dir, ct_lmdb **out);
void ct_lmdb_close(ct_lmdb *db); /* NULL is fine */
int64_t ct_lmdb_entries(const ct_lmdb *db);
/* The value of a key, one NUL byte behind it: ct_free(); *data NULL: there is no such key. CT_EFORMAT for a value of
 * more than `most` bytes, CT_EIO, CT_ENOMEM. */
ct_status ct_lmdb_get(const ct_lmdb *db, const char *key, size_t most, uint8_t **data, size_t *size);

/* lmdb_sound.c: whether the pages of a database file can be walked: every page that the newest root reaches, its nodes,
 * and where large values lie, are within the file. CT_EFORMAT naming `path` and the page; CT_EUNSUPPORTED for databases
 * of a kind that is not read: of another machine, or with sorted duplicates. */
ct_status ct_lmdb_sound(const uint8_t *file, size_t size, const char *path);

#endif
