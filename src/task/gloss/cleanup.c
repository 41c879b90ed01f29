#include "config.h"

#include "task/gloss/cleanup.h"

#include <stdbool.h>
#include <string.h>

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static const char *const opening[] = { "(", "[", "{", "\xef\xbc\x88" }; /* the last of full width: （） */
static const char *const closing[] = { ")", "]", "}", "\xef\xbc\x89" };

/* Bytes of the bracket that s begins with; 0: none. */
static size_t bracket(const char *const kind[4], const char *s, const char *end)
{
    for (int k = 0; k < 4; k++) {
        const size_t n = strlen(kind[k]);
        if ((size_t)(end - s) >= n && memcmp(s, kind[k], n) == 0) return n;
    }
    return 0;
}

static size_t drop_brackets(const char *gloss, size_t bytes, char *out, bool *closed)
{
    size_t n = 0;
    bool inside = false;
    for (const char *s = gloss, *end = gloss + bytes; s < end;) {
        const size_t open = bracket(opening, s, end), close = inside ? bracket(closing, s, end) : 0;
        inside = (inside || open > 0) && close == 0;
        if (!inside && close == 0) out[n++] = *s;
        s += open > 0 ? open : close > 0 ? close : 1;
    }
    *closed = !inside;
    return n;
}

/* The digit that the n bytes at s begin with, of full width (U+FF10 to U+FF19), too; -1: none. *used: its bytes. */
static int digit(const char *s, size_t n, size_t *used)
{
    const unsigned char *u = (const unsigned char *)s;
    *used = 1;
    if (n > 0 && s[0] >= '0' && s[0] <= '9') return s[0] - '0';
    *used = 3;
    return n >= 3 && u[0] == 0xef && u[1] == 0xbc && u[2] >= 0x90 && u[2] <= 0x99 ? u[2] - 0x90 : -1;
}

/* A number becomes ASCII without zeros in front. */
static size_t number(char *out, size_t n)
{
    char ascii[1024];
    size_t k = 0, used, zeros = 0;
    for (size_t at = 0; at < n; at += used) {
        const int d = digit(out + at, n - at, &used);
        if (d < 0 || k == sizeof ascii) return n;
        ascii[k++] = (char)('0' + d);
    }
    while (zeros + 1 < k && ascii[zeros] == '0') zeros++;
    memcpy(out, ascii + zeros, k - zeros);
    return k - zeros;
}

/* The first byte becomes the bytes of `by`. */
static size_t replace_first(char *out, size_t n, const char *by)
{
    const size_t k = strlen(by);
    memmove(out + k, out + 1, n - 1);
    memcpy(out, by, k);
    return n + k - 1;
}

static size_t trim(char *out, size_t n)
{
    size_t first = 0;
    while (n > 0 && blank(out[n - 1])) n--;
    while (first < n && blank(out[first])) first++;
    memmove(out, out + first, n - first);
    return n - first;
}

/* Without the variant's number at its end. */
static size_t drop_variant(const char *out, size_t n)
{
    size_t used;
    if (digit(out, n, &used) >= 0) return n;
    if (n > 1 && digit(out + n - 1, 1, &used) >= 0) return n - 1;
    if (n > 3 && digit(out + n - 3, 3, &used) >= 0) return n - 3;
    return n;
}

size_t ct_gloss_clean(const char *gloss, size_t bytes, char *out, bool *closed)
{
    size_t n = trim(out, drop_brackets(gloss, bytes, out, closed));
    n = trim(out, drop_variant(out, n));
    if (n > 0 && out[0] == ',') n = replace_first(out, n, "\xef\xbc\x8c");
    else if (n > 0 && out[0] == '?') n = replace_first(out, n, "\xef\xbc\x9f");
    n = number(out, n);
    out[n] = '\0';
    return n;
}
