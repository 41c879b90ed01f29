/* The user's cache: folders of files that can be made again, each named by 32 hexadecimal digits and a suffix. What has
 * not been used for a day goes when they take more than CAPTRAIN_CACHE_GB, the longest unused first, so that a cache
 * does not grow for ever. Nothing of another name is counted or removed: the folder may be one that others use, too. */
#ifndef CT_BASE_CACHE_H
#define CT_BASE_CACHE_H

#include <stdint.h>

#include "base/status.h"

/* The folder that `what` names ("data", "tune"): below CAPTRAIN_CACHE_DIR, else the user's cache directory; it need not
 * exist. *dir: ct_free(); NULL with CT_OK where no home is known. */
ct_status ct_cache_dir(const char *what, char **dir);

/* CAPTRAIN_CACHE_GB in bytes; 0: no limit. CT_ECONFIG if it is no such number. */
ct_status ct_cache_most(int64_t *bytes);
/* Bytes of such files in a folder, whole or half-written; of one that cannot be read, 0. */
int64_t ct_cache_bytes(const char *dir, const char *suffix);

/* The file is in use, as its time of change says from now on; that it cannot be set is no failure. */
void ct_cache_used(const char *path);
/* Brings the folder below the limit, if files unused for a day are enough for that, and removes half-written ones
 * (NAME.tmp.PID) that are older. Says what went. A folder that cannot be read, or a file that cannot be removed, is no
 * failure. CT_ENOMEM, CT_ECONFIG as above. */
ct_status ct_cache_trim(const char *dir, const char *suffix);

#endif
