#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/alphabet.h"
#include "base/text.h"
#include "task/text/label/label.h"

void ct_charset_free(ct_charset *cs)
{
    if (!cs) return;
    ct_free(cs->cp);
    ct_free(cs->utf8);
    ct_free(cs->sorted);
    ct_free(cs->id);
    *cs = (ct_charset){ 0 };
}

typedef struct cp_id { uint32_t cp; int32_t id; } cp_id;

static int by_cp(const void *a, const void *b)
{
    uint32_t x = ((const cp_id *)a)->cp, y = ((const cp_id *)b)->cp;
    return x < y ? -1 : x > y;
}

/* Builds a charset from n different code points; takes `cp` over, also on failure. */
static ct_status build(uint32_t *cp, int n, ct_charset *out)
{
    size_t count = (size_t)n, len = 0;
    cp_id *pair = ct_malloc(count * sizeof *pair, "charset");
    *out = (ct_charset){ .n = n, .cp = cp };
    if (!pair) goto fail;
    if (!(out->utf8 = ct_malloc(4 * count + 1, "charset"))) goto fail;
    if (!(out->sorted = ct_malloc(count * sizeof *out->sorted, "charset"))) goto fail;
    if (!(out->id = ct_malloc(count * sizeof *out->id, "charset"))) goto fail;

    for (int i = 0; i < n; i++) {
        char c[5];
        size_t bytes = (size_t)ct_utf8_put(cp[i], c);
        memcpy(out->utf8 + len, c, bytes);
        len += bytes;
        pair[i] = (cp_id){ cp[i], i };
    }
    out->utf8[len] = '\0';
    qsort(pair, count, sizeof *pair, by_cp);
    for (int i = 0; i < n; i++) {
        out->sorted[i] = pair[i].cp;
        out->id[i] = pair[i].id;
    }
    ct_free(pair);
    return CT_OK;
fail:
    ct_free(pair);
    ct_charset_free(out);
    return CT_ENOMEM;
}

ct_status ct_charset_parse(const char *utf8, ct_charset *out)
{
    uint32_t *cp;
    int n;
    *out = (ct_charset){ 0 };
    CT_TRY(ct_utf8_alphabet("charset", utf8, CT_CHARSET_MAX, &cp, &n));
    return build(cp, n, out);
}

ct_status ct_charset_collect(const char *const *labels, int64_t n, ct_charset *out)
{
    enum { WORDS = 0x110000 / 32 };
    *out = (ct_charset){ 0 };
    uint32_t *seen = ct_calloc(WORDS, sizeof *seen, "charset"); /* one bit per code point */
    if (!seen) return CT_ENOMEM;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!labels[i] || ct_utf8_len(labels[i]) < 0) continue;
        const char *s = labels[i];
        for (int32_t cp; (cp = ct_utf8_next(&s)) > 0;) {
            uint32_t bit = 1u << (cp % 32);
            count += !(seen[cp / 32] & bit);
            seen[cp / 32] |= bit;
        }
    }
    ct_status st = CT_OK;
    uint32_t *cp = NULL;
    if (count == 0) {
        st = ct_fail(CT_EDATA, "no label has a character: there is no charset");
    } else if (count > CT_CHARSET_MAX) {
        st = ct_fail(CT_EDATA, "the labels have %lld different characters; at most %d are possible", (long long)count,
                     CT_CHARSET_MAX);
    } else if (!(cp = ct_malloc((size_t)count * sizeof *cp, "charset"))) {
        st = CT_ENOMEM;
    }
    if (st == CT_OK) {
        int k = 0;
        for (uint32_t w = 0; w < WORDS; w++) {
            for (uint32_t bit = 0; seen[w] && bit < 32; bit++) {
                if (seen[w] >> bit & 1) cp[k++] = 32 * w + bit;
            }
        }
        st = build(cp, k, out);
    }
    ct_free(seen);
    return st;
}

ct_status ct_charset_copy(const ct_charset *in, ct_charset *out)
{
    *out = (ct_charset){ 0 };
    uint32_t *cp = ct_malloc((size_t)in->n * sizeof *cp, "charset");
    if (!cp) return CT_ENOMEM;
    memcpy(cp, in->cp, (size_t)in->n * sizeof *cp);
    return build(cp, in->n, out);
}

bool ct_charset_equal(const ct_charset *a, const ct_charset *b)
{
    return a->n == b->n && memcmp(a->cp, b->cp, (size_t)a->n * sizeof *a->cp) == 0;
}

int ct_charset_find(const ct_charset *cs, uint32_t cp)
{
    int lo = 0, hi = cs->n;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (cs->sorted[mid] < cp) lo = mid + 1;
        else hi = mid;
    }
    return lo < cs->n && cs->sorted[lo] == cp ? cs->id[lo] : -1;
}

char *ct_charset_decode(const ct_charset *cs, const int32_t *id, int n, char *buf, size_t size)
{
    size_t len = 0;
    for (int i = 0; i < n; i++) {
        char c[5];
        if (id[i] < 0 || id[i] >= cs->n) continue;
        size_t bytes = (size_t)ct_utf8_put(cs->cp[id[i]], c);
        if (len + bytes + 1 > size) break;
        memcpy(buf + len, c, bytes);
        len += bytes;
    }
    if (size > 0) buf[len] = '\0';
    return buf;
}
