/* Host memory. All allocation of the core goes through here, so that sizes are checked for overflow
 * and out-of-memory paths can be tested (ct_alloc_fail_after). Failure returns NULL *and* records a
 * message naming `what`; callers return CT_ENOMEM. Blocks are released with ct_free(). */
#ifndef CT_BASE_ALLOC_H
#define CT_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define CT_ALIGN 64 /* bytes: a cache line and an AVX-512 vector */
#define CT_DEVICE_ALIGN 256 /* bytes: arenas of a device and scratch in them; cuBLASLt demands it of its workspace */

void *ct_malloc(size_t bytes, const char *what);                          /* not cleared; bytes 0 gives a valid block */
void *ct_calloc(size_t count, size_t size, const char *what);             /* cleared; count*size checked for overflow */
void *ct_realloc(void *p, size_t count, size_t size, const char *what);   /* p stays valid on failure */
void *ct_aligned_alloc(size_t bytes, const char *what); /* CT_DEVICE_ALIGN aligned, not cleared; ct_free() */
char *ct_strdup(const char *s, const char *what);
char *ct_strndup(const char *s, size_t n, const char *what);
char *ct_asprintf(const char *fmt, ...) CT_PRINTF(1, 2);                  /* NULL with CT_ENOMEM recorded */
void ct_free(void *p);                                                    /* NULL is fine */
/* What a block holds is not wanted any more, but its room will be: the system may have its pages meanwhile. */
void ct_pages_rest(void *p, size_t bytes);

/* Under a limit of the address space (ulimit -v): from now on an allocation fails rather than leave less than
 * `reserve` of the `limit` bytes. Libraries that try for ever where they get no memory find theirs so. limit 0: no
 * limit. */
void ct_alloc_limit(size_t limit, size_t reserve);
/* Whether a mapping of so many bytes leaves that reserve. True without a limit. */
bool ct_alloc_has_room(size_t bytes);
/* Bytes of address space that this process has taken; 0 where the system does not tell. */
size_t ct_alloc_address_space(void);

/* Tests: the n-th allocation from now (0 = the next) fails, once; -1 switches it off.
 * Returns the number of allocations made since the last call. */
long ct_alloc_fail_after(long n);

/* Growable array helper: makes room for one more element in *(void **)array (element size `size`),
 * doubling *cap. Returns CT_OK or CT_ENOMEM; on failure the array is unchanged. */
ct_status ct_grow(void *array, size_t count, size_t *cap, size_t size, const char *what);

static inline size_t ct_align_up(size_t n, size_t a) { return (n + a - 1) / a * a; }

#endif
