#include "config.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* ---- UTF-8 ---- */

int32_t ct_utf8_next(const char **s)
{
    const unsigned char *p = (const unsigned char *)*s;
    if (p[0] == 0) return 0;
    if (p[0] < 0x80) {
        *s += 1;
        return p[0];
    }
    int more = p[0] >= 0xf0 && p[0] <= 0xf4 ? 3 : p[0] >= 0xe0 && p[0] < 0xf0 ? 2 : p[0] >= 0xc2 && p[0] < 0xe0 ? 1 : 0;
    if (more == 0) return -1;
    int32_t cp = p[0] & (0x3f >> more);
    for (int i = 1; i <= more; i++) {
        if ((p[i] & 0xc0) != 0x80) return -1; /* also catches the terminating NUL */
        cp = cp << 6 | (p[i] & 0x3f);
    }
    if ((more == 2 && cp < 0x800) || (more == 3 && cp < 0x10000) || cp > 0x10ffff ||
        (cp >= 0xd800 && cp <= 0xdfff)) {
        return -1;
    }
    *s += more + 1;
    return cp;
}

int ct_utf8_put(uint32_t cp, char out[5])
{
    int n = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    static const unsigned char lead[5] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    for (int i = n - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (cp & 0x3f));
        cp >>= 6;
    }
    out[0] = (char)(lead[n] | cp);
    out[n] = '\0';
    return n;
}

int64_t ct_utf8_len(const char *s)
{
    int64_t n = 0;
    for (;; n++) {
        int32_t cp = ct_utf8_next(&s);
        if (cp < 0) return -1;
        if (cp == 0) return n;
    }
}

bool ct_utf8_control(uint32_t cp)
{
    return cp < 0x20 || (cp >= 0x7f && cp < 0xa0);
}

char *ct_utf8_show(uint32_t cp, char buf[32])
{
    char c[5];
    ct_utf8_put(cp, c);
    if (ct_utf8_control(cp)) snprintf(buf, 32, "U+%04X", (unsigned)cp);
    else snprintf(buf, 32, "'%s' (U+%04X)", c, (unsigned)cp);
    return buf;
}

/* The next character of *s as it is shown; steps over it. Returns the number of bytes. */
static int visible(const char **s, char out[8])
{
    const unsigned char byte = (unsigned char)**s;
    const int32_t cp = ct_utf8_next(s);
    if (cp < 0) {
        (*s)++;
        return snprintf(out, 8, "\\x%02x", byte);
    }
    if (cp == '\n') return snprintf(out, 8, "\\n");
    if (cp == '\t') return snprintf(out, 8, "\\t");
    if (cp == '\r') return snprintf(out, 8, "\\r");
    if (cp >= 0x80 && ct_utf8_control((uint32_t)cp)) return snprintf(out, 8, "\\u%04x", (unsigned)cp);
    if (ct_utf8_control((uint32_t)cp)) return snprintf(out, 8, "\\x%02x", (unsigned)cp);
    return ct_utf8_put((uint32_t)cp, out);
}

char *ct_text_visible(const char *text, char *buf, size_t size)
{
    size_t n = 0;
    char c[8];
    while (*text) {
        const size_t bytes = (size_t)visible(&text, c);
        if (n + bytes + 1 > size) break;
        memcpy(buf + n, c, bytes);
        n += bytes;
    }
    buf[n] = '\0';
    return buf;
}

void ct_text_put(FILE *to, const char *text, bool lines)
{
    char c[8];
    while (*text) {
        if (lines && (*text == '\n' || *text == '\t')) fputc(*text++, to);
        else fwrite(c, 1, (size_t)visible(&text, c), to);
    }
}

void ct_text_say(FILE *to, const char *front, const char *text)
{
    char all[8192];
    size_t n = strnlen(front, 256);
    memcpy(all, front, n);
    while (*text) {
        if (n + 16 > sizeof all) {
            fwrite(all, 1, n, to);
            n = 0;
        }
        if (*text == '\n' || *text == '\t') all[n++] = *text++;
        else n += (size_t)visible(&text, all + n);
    }
    all[n++] = '\n';
    fwrite(all, 1, n, to);
}

size_t ct_utf8_cut(const char *text, size_t bytes)
{
    size_t n = strnlen(text, bytes + 1);
    if (n <= bytes) return n;
    for (n = bytes; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80;) n--;
    return n;
}

/* ---- words ---- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

int ct_word_distance(const char *a, size_t na, const char *b, size_t nb)
{
    int row[3][CT_WORD_BYTES + 1];
    if (na > CT_WORD_BYTES) na = CT_WORD_BYTES;
    if (nb > CT_WORD_BYTES) nb = CT_WORD_BYTES;
    for (size_t j = 0; j <= nb; j++) row[0][j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int *cur = row[i % 3], *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];
        cur[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            bool same = lower(a[i - 1]) == lower(b[j - 1]);
            int d = up[j - 1] + !same;
            if (up[j] + 1 < d) d = up[j] + 1;
            if (cur[j - 1] + 1 < d) d = cur[j - 1] + 1;
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]) &&
                up2[j - 2] + 1 < d)
                d = up2[j - 2] + 1;
            cur[j] = d;
        }
    }
    return row[na % 3][nb];
}

/* ---- numbers ---- */

char *ct_text_duration(double seconds, char *buf, size_t size)
{
    long long s = (long long)(seconds + 0.5);
    if (!(seconds >= 0) || seconds > 1e9)
        snprintf(buf, size, "?");
    else if (s < 60)
        snprintf(buf, size, "%lld s", s);
    else if (s < 3600)
        snprintf(buf, size, "%lld:%02lld", s / 60, s % 60);
    else
        snprintf(buf, size, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
    return buf;
}

char *ct_text_bytes(int64_t bytes, char *buf, size_t size)
{
    static const char *const unit[] = { "B", "kB", "MB", "GB", "TB" };
    double v = (double)bytes;
    size_t k = 0;
    for (; v >= 1000 && k + 1 < sizeof unit / sizeof unit[0]; k++) v /= 1000;
    snprintf(buf, size, k == 0 ? "%.0f %s" : v < 10 ? "%.2f %s" : v < 100 ? "%.1f %s" : "%.0f %s", v, unit[k]);
    return buf;
}

char *ct_text_megabytes(int64_t bytes, char *buf, size_t size)
{
    if (bytes < 10000) snprintf(buf, size, "%lld B", (long long)bytes);
    else if (bytes < 10000000) snprintf(buf, size, "%.1f kB", (double)bytes * 1e-3);
    else snprintf(buf, size, "%.1f MB", (double)bytes * 1e-6);
    return buf;
}

char *ct_text_count(int64_t v, char *buf, size_t size)
{
    char digits[24];
    const int n = snprintf(digits, sizeof digits, "%lld", (long long)v);
    size_t k = 0;
    for (int i = 0; i < n && k + 2 < size; i++) {
        buf[k++] = digits[i];
        if ((n - 1 - i) % 3 == 0 && i < n - 1 && digits[i] != '-') buf[k++] = ',';
    }
    buf[k] = '\0';
    return buf;
}

char *ct_text_short(double v, char *buf, size_t size)
{
    if (v >= 1e9) snprintf(buf, size, "%.2f G", v / 1e9);
    else if (v >= 1e6) snprintf(buf, size, "%.2f M", v / 1e6);
    else if (v >= 1e4) snprintf(buf, size, "%.0f k", v / 1e3);
    else snprintf(buf, size, "%.0f", v);
    return buf;
}
