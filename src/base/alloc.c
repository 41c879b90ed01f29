#include "config.h"

#include "base/alloc.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Allocations made since the last ct_alloc_fail_after(), and the number of the one that fails (-1: none). Atomic,
 * because loader threads allocate too. */
static atomic_long made = 0;
static atomic_long fails_at = -1;

/* The limit of the address space and what is kept of it; 0: none. Set once, before there are threads of ours. */
static size_t space_limit, space_reserve;
static atomic_size_t unseen = 0; /* bytes asked for since the address space was looked at */
#define LOOK_EVERY ((size_t)1 << 20)

static void *no_memory(size_t bytes, const char *what)
{
    if (space_limit)
        (void)ct_fail(CT_ENOMEM,
                      "out of memory: %zu bytes for %s (ulimit -v allows %zu kB, %zu kB of them are OpenBLAS's)", bytes,
                      what, space_limit >> 10, space_reserve >> 10);
    else (void)ct_fail(CT_ENOMEM, "out of memory: %zu bytes for %s", bytes, what);
    return NULL;
}

size_t ct_alloc_address_space(void)
{
    char text[32];
    const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    const ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) return 0;
    text[n] = '\0';
    return (size_t)strtoull(text, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

void ct_alloc_limit(size_t limit, size_t reserve)
{
    space_limit = limit;
    space_reserve = reserve;
}

bool ct_alloc_has_room(size_t bytes)
{
    if (!space_limit) return true;
    const size_t taken = ct_alloc_address_space();
    return bytes <= space_limit && taken <= space_limit - bytes && space_reserve <= space_limit - bytes - taken;
}

/* Small allocations are looked at together: a look is a system call or three. */
static bool leaves_room(size_t bytes)
{
    if (!space_limit) return true;
    if (atomic_fetch_add_explicit(&unseen, bytes, memory_order_relaxed) + bytes < LOOK_EVERY) return true;
    atomic_store_explicit(&unseen, 0, memory_order_relaxed);
    return ct_alloc_has_room(bytes);
}

/* Counts one allocation; true if the test's failing allocator says that it is this one's turn, or if it would take
 * what is kept for others. */
static bool must_fail(size_t bytes)
{
    return atomic_fetch_add_explicit(&made, 1, memory_order_relaxed) ==
               atomic_load_explicit(&fails_at, memory_order_relaxed) ||
           !leaves_room(bytes);
}

/* count*size in *bytes; false (and a message) if that is no size an object can have. */
static bool total_bytes(size_t count, size_t size, const char *what, size_t *bytes)
{
    if (size != 0 && count > (size_t)PTRDIFF_MAX / size) {
        (void)ct_fail(CT_ENOMEM, "out of memory: %zu elements of %zu bytes for %s", count, size, what);
        return false;
    }
    *bytes = count * size;
    return true;
}

void *ct_malloc(size_t bytes, const char *what)
{
    void *p = must_fail(bytes) || bytes > (size_t)PTRDIFF_MAX ? NULL : malloc(bytes ? bytes : 1);
    return p ? p : no_memory(bytes, what);
}

void *ct_calloc(size_t count, size_t size, const char *what)
{
    size_t bytes;
    if (!total_bytes(count, size, what, &bytes)) return NULL;
    void *p = must_fail(bytes) ? NULL : calloc(bytes ? bytes : 1, 1);
    return p ? p : no_memory(bytes, what);
}

void *ct_realloc(void *p, size_t count, size_t size, const char *what)
{
    size_t bytes;
    if (!total_bytes(count, size, what, &bytes)) return NULL;
    void *q = must_fail(bytes) ? NULL : realloc(p, bytes ? bytes : 1);
    return q ? q : no_memory(bytes, what);
}

void *ct_aligned_alloc(size_t bytes, const char *what)
{
    void *p = NULL;
    if (must_fail(bytes) || bytes > (size_t)PTRDIFF_MAX) return no_memory(bytes, what);
    if (posix_memalign(&p, CT_DEVICE_ALIGN, bytes ? bytes : 1) != 0) return no_memory(bytes, what);
    return p;
}

char *ct_strndup(const char *s, size_t n, const char *what)
{
    size_t len = strnlen(s, n);
    char *p = ct_malloc(len + 1, what);
    if (!p) return NULL;
    memcpy(p, s, len);
    p[len] = '\0';
    return p;
}

char *ct_strdup(const char *s, const char *what)
{
    return ct_strndup(s, strlen(s), what);
}

char *ct_asprintf(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0) {
        (void)ct_fail(CT_ENOMEM, "out of memory: text \"%s\" could not be formatted", fmt);
        return NULL;
    }
    char *p = ct_malloc((size_t)n + 1, "a formatted text");
    if (!p) return NULL;
    va_start(ap, fmt);
    vsnprintf(p, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return p;
}

void ct_free(void *p)
{
    free(p);
}

void ct_pages_rest(void *p, size_t bytes)
{
#ifdef __linux__
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), first = ct_align_up((size_t)(uintptr_t)p, page);
    const size_t end = ((uintptr_t)p + bytes) / page * page;
    if (p && end > first) (void)madvise((char *)p + (first - (uintptr_t)p), end - first, MADV_DONTNEED);
#else
    (void)p;
    (void)bytes;
#endif
}

long ct_alloc_fail_after(long n)
{
    atomic_store_explicit(&fails_at, -1, memory_order_relaxed);
    long count = atomic_exchange_explicit(&made, 0, memory_order_relaxed);
    atomic_store_explicit(&fails_at, n, memory_order_relaxed);
    return count;
}

ct_status ct_grow(void *array, size_t count, size_t *cap, size_t size, const char *what)
{
    if (count < *cap) return CT_OK;
    size_t want = *cap ? *cap : 8;
    while (want <= count) {
        if (want > SIZE_MAX / 2) return ct_fail(CT_ENOMEM, "out of memory: more than %zu elements for %s", want, what);
        want *= 2;
    }
    /* The caller's pointer has another type than void *, so it is read and written as bytes. */
    void *p;
    memcpy(&p, array, sizeof p);
    p = ct_realloc(p, want, size, what);
    if (!p) return CT_ENOMEM;
    memcpy(array, &p, sizeof p);
    *cap = want;
    return CT_OK;
}
