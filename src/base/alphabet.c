#include "config.h"

#include "base/alphabet.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* CT_ECONFIG if one of cp[0..n) stands there again. */
static ct_status all_different(const char *what, const char *utf8, const uint32_t *cp, int n)
{
    ct_status st = CT_OK;
    uint32_t *sorted = ct_malloc((size_t)n * sizeof *sorted, what);
    if (!sorted) return CT_ENOMEM;
    memcpy(sorted, cp, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    for (int i = 1; i < n && st == CT_OK; i++) {
        char show[32];
        if (sorted[i] == sorted[i - 1])
            st = ct_fail(CT_ECONFIG, "%s \"%s\": %s stands in it twice", what, utf8, ct_utf8_show(sorted[i], show));
    }
    ct_free(sorted);
    return st;
}

ct_status ct_utf8_alphabet(const char *what, const char *utf8, int64_t most, uint32_t **cp, int *n)
{
    const int64_t count = ct_utf8_len(utf8);
    *cp = NULL;
    *n = 0;
    if (count < 0) return ct_fail(CT_ECONFIG, "%s \"%s\": not valid UTF-8", what, utf8);
    if (count == 0) return ct_fail(CT_ECONFIG, "the %s is empty", what);
    if (count > most)
        return ct_fail(CT_ECONFIG, "%s of %" PRId64 " characters; at most %" PRId64 " are possible", what, count, most);
    uint32_t *all = ct_malloc((size_t)count * sizeof *all, what);
    if (!all) return CT_ENOMEM;
    ct_status st = CT_OK;
    const char *s = utf8;
    for (int64_t i = 0; i < count && st == CT_OK; i++) {
        char show[32];
        all[i] = (uint32_t)ct_utf8_next(&s);
        if (ct_utf8_control(all[i]))
            st = ct_fail(CT_ECONFIG, "%s: control character %s at place %" PRId64, what, ct_utf8_show(all[i], show),
                         i + 1);
    }
    if (st == CT_OK) st = all_different(what, utf8, all, (int)count);
    if (st != CT_OK) {
        ct_free(all);
        return st;
    }
    *cp = all;
    *n = (int)count;
    return CT_OK;
}
