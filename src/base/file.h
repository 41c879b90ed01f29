/* Whole files, atomically, with messages that name the path. */
#ifndef CT_BASE_FILE_H
#define CT_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

/* Reads a whole file into *data (ct_free; one extra NUL byte behind *size bytes). A file larger than
 * max_bytes is refused with its size in the message. */
ct_status ct_file_read(const char *path, size_t max_bytes, uint8_t **data, size_t *size);

/* The same of a file that was not given on purpose but found: what is no regular file is refused (CT_EFORMAT) without
 * waiting for somebody to write into a pipe. */
ct_status ct_file_read_plain(const char *path, size_t max_bytes, uint8_t **data, size_t *size);
/* Opens a file that grows, made if need be; flags: O_WRONLY or O_RDWR, perhaps O_TRUNC or O_EXCL. CT_EFORMAT for what
 * is no regular file; never waits. */
ct_status ct_file_open_log(const char *path, int flags, int *fd);
/* Renames what cannot be used to PATH.damaged, or with a number behind it. *to: its new path; ct_free(). */
ct_status ct_file_aside(const char *path, char **to);

/* Read-only memory map of a whole file. size 0 gives data NULL. */
typedef struct ct_mmap { const uint8_t *data; size_t size; } ct_mmap;
ct_status ct_mmap_open(const char *path, ct_mmap *m);
void ct_mmap_close(ct_mmap *m);
/* So many bytes in a file without a name in folder `dir`, which is made if need be: what is written there (*data) need
 * not stay in memory. CT_EIO where the folder or the disk has no room. */
ct_status ct_mmap_scratch(const char *dir, size_t bytes, ct_mmap *m, uint8_t **data);

/* Atomic replacement: writes go to PATH.tmp.<pid>; commit does fflush, fsync, rename over PATH, fsync of the directory.
 * Any failure removes the temporary file and leaves an old PATH untouched. */
typedef struct ct_atomic_file ct_atomic_file;
ct_status ct_atomic_open(const char *path, ct_atomic_file **out);
ct_status ct_atomic_write(ct_atomic_file *f, const void *data, size_t bytes);
ct_status ct_atomic_commit(ct_atomic_file *f);   /* frees f, whatever it returns */
void ct_atomic_abort(ct_atomic_file *f);         /* frees f; NULL is fine */
ct_status ct_file_write_atomic(const char *path, const void *data, size_t bytes);
/* Closes a stream of open_memstream. CT_ENOMEM, naming `what`, where a write to it has failed: such a stream only
 * remembers. */
ct_status ct_memstream_close(FILE *f, const char *what);
/* A text file that is printed into memory first and then written as a whole: print to t.f, and end with
 * ct_printed_close(), which takes what came of the printing. Where that is an error, nothing is written, path's file
 * stays, and the error is returned. */
typedef struct ct_printed {
    FILE *f;
    const char *path; /* the caller's, until it is closed */
    char *text;
    size_t bytes;
} ct_printed;
ct_status ct_printed_open(ct_printed *t, const char *path);
ct_status ct_printed_close(ct_printed *t, ct_status st);
/* For files that can be made again: written under a temporary name and renamed, so that an interrupted run leaves no
 * broken one behind, but not flushed to the disk one by one. */
ct_status ct_file_write_light(const char *path, const void *data, size_t bytes);
/* Makes what was renamed or linked to `path` durable: fsync of the directory it is in. */
ct_status ct_file_sync_dir(const char *path);

ct_status ct_mkdir_p(const char *path);          /* like mkdir -p, and durable; existing directory is fine */
/* Makes a folder to write into, or finds out that it is empty; one that is not is CT_EIO unless `overwrite`. */
ct_status ct_mkdir_fresh(const char *path, bool overwrite);
char *ct_path_join(const char *a, const char *b);/* "a/b"; NULL with CT_ENOMEM recorded */
bool ct_path_exists(const char *path);
bool ct_path_is_dir(const char *path);
bool ct_path_is_file(const char *path);         /* a regular one, or a link to one */

#define CT_HASH_BYTES 16
void ct_hash(const void *data, size_t bytes, uint8_t out[CT_HASH_BYTES]); /* XXH3-128 of a block */
/* The same as 32 hex digits and NUL. */
void ct_hash_hex(const void *data, size_t bytes, char out[33]);
/* The same of a block that comes in pieces. NULL: CT_ENOMEM recorded. The end frees it. */
typedef struct ct_hashing ct_hashing;
ct_hashing *ct_hash_begin(void);
void ct_hash_add(ct_hashing *h, const void *data, size_t bytes);
void ct_hash_end_hex(ct_hashing *h, char out[33]);

/* Seconds of a monotonic clock. */
double ct_now(void);

#endif
