#include "config.h"

#include "task/gloss/cleanup.h"

#include <stdbool.h>
#include <string.h>

static bool digit(char c) { return c >= '0' && c <= '9'; }
static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static const struct { const char *open, *close; } pair[] = { { "(", ")" }, { "[", "]" }, { "{", "}" },
                                                            { "\xef\xbc\x88", "\xef\xbc\x89" } }; /* （） */

/* Where the bracketed text that begins at s ends, past its closing bracket; s: none begins here, or it is not closed. */
static const char *past_brackets(const char *s, const char *end)
{
    for (size_t k = 0; k < sizeof pair / sizeof pair[0]; k++) {
        const size_t n = strlen(pair[k].open);
        if ((size_t)(end - s) < n || memcmp(s, pair[k].open, n) != 0) continue;
        for (const char *t = s + n; (size_t)(end - t) >= n; t++)
            if (memcmp(t, pair[k].close, n) == 0) return t + n;
    }
    return s;
}

static size_t drop_brackets(const char *gloss, size_t bytes, char *out)
{
    size_t n = 0;
    for (const char *s = gloss, *end = gloss + bytes; s < end;) {
        const char *past = past_brackets(s, end);
        if (past > s) s = past;
        else out[n++] = *s++;
    }
    return n;
}

/* `n` bytes of text become those of `by` in place of the first. */
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

size_t ct_gloss_clean(const char *gloss, size_t bytes, char *out)
{
    size_t n = trim(out, drop_brackets(gloss, bytes, out)), zeros = 0;
    if (n > 1 && !digit(out[0]) && digit(out[n - 1])) n--;
    if (n > 0 && out[0] == ',') n = replace_first(out, n, "\xef\xbc\x8c");
    else if (n > 0 && out[0] == '?') n = replace_first(out, n, "\xef\xbc\x9f");
    while (zeros + 1 < n && out[zeros] == '0' && digit(out[zeros + 1])) zeros++;
    memmove(out, out + zeros, n - zeros);
    n -= zeros;
    out[n] = '\0';
    return n;
}
