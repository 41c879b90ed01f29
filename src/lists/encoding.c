/* Text files that are not UTF-8, told by their bytes: what they are, and the command that makes them UTF-8. */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "lists/table.h"

/* How the characters outside ASCII look, each line by itself. */
typedef struct census {
    int64_t good, bad; /* lines with bytes above 0x7f that are UTF-8, and that are not */
    int64_t line;      /* the first bad one */
    bool gb2312, gbk, sjis; /* every bad line could be this */
} census;

/* Characters of two bytes, lead lo..hi and trail from tlo, in [p, end). */
static bool pairs(const unsigned char *p, const unsigned char *end, unsigned lo, unsigned hi, unsigned tlo)
{
    while (p < end) {
        if (*p < 0x80) {
            p++;
            continue;
        }
        if (*p < lo || *p > hi || p + 1 >= end || p[1] < tlo || p[1] > 0xfe || p[1] == 0x7f) return false;
        p += 2;
    }
    return true;
}

static bool shift_jis(const unsigned char *p, const unsigned char *end)
{
    while (p < end) {
        const bool one = *p < 0x80 || (*p >= 0xa1 && *p <= 0xdf); /* ASCII, katakana of half width */
        const bool lead = (*p >= 0x81 && *p <= 0x9f) || (*p >= 0xe0 && *p <= 0xfc);
        if (!one && (!lead || p + 1 >= end || p[1] < 0x40 || p[1] == 0x7f || p[1] > 0xfc)) return false;
        p += one ? 1 : 2;
    }
    return true;
}

static bool is_utf8(const char *p, const char *end)
{
    while (p < end) {
        if (ct_utf8_next(&p) <= 0) return false;
    }
    return p == end;
}

static void count_line(census *c, const char *p, const char *end, int64_t line)
{
    const unsigned char *u = (const unsigned char *)p, *stop = (const unsigned char *)end;
    const char *q = p;
    while (q < end && !(*q & 0x80)) q++;
    if (q == end) return;
    if (is_utf8(p, end)) {
        c->good++;
        return;
    }
    if (c->bad++ == 0) c->line = line;
    c->gb2312 = c->gb2312 && pairs(u, stop, 0xa1, 0xf7, 0xa1);
    c->gbk = c->gbk && pairs(u, stop, 0x81, 0xfe, 0x40);
    c->sjis = c->sjis && shift_jis(u, stop);
}

static ct_status is_not(const char *path, const char *what, const char *from)
{
    return ct_fail(CT_EFORMAT,
                   "%s: is %s; labels are read as UTF-8: iconv -f %s -t UTF-8 '%s' >utf8.txt && mv utf8.txt '%s' makes "
                   "it so", path, what, from, path, path);
}

/* UTF-16 has a mark, or every second byte of its first ASCII characters is NUL. */
static ct_status refuse_utf16(const unsigned char *p, size_t size, const char *path)
{
    size_t zero[2] = { 0, 0 };
    const size_t look = size < 1024 ? size : 1024;
    if (size >= 2 && ((p[0] == 0xff && p[1] == 0xfe) || (p[0] == 0xfe && p[1] == 0xff)))
        return is_not(path, "UTF-16", "UTF-16");
    for (size_t i = 0; i < look; i++) zero[i & 1] += p[i] == 0;
    if (look >= 8 && zero[1] > look / 5 && zero[0] <= look / 20) return is_not(path, "UTF-16", "UTF-16LE");
    if (look >= 8 && zero[0] > look / 5 && zero[1] <= look / 20) return is_not(path, "UTF-16", "UTF-16BE");
    return CT_OK;
}

ct_status ct_table_encoding(const char *text, size_t size, const char *path)
{
    census c = { .gb2312 = true, .gbk = true, .sjis = true };
    int64_t line = 1;
    CT_TRY(refuse_utf16((const unsigned char *)text, size, path));
    for (const char *p = text, *end = text + size; p < end; line++) {
        const char *nl = memchr(p, '\n', (size_t)(end - p)), *stop = nl ? nl : end;
        count_line(&c, p, stop, line);
        p = nl ? nl + 1 : end;
    }
    /* a damaged label among good ones is that sample's fault, and listed as one */
    if (c.bad <= c.good) return CT_OK;
    if (c.gb2312) return is_not(path, "not UTF-8 but, by its bytes, GBK", "GBK");
    if (c.sjis) return is_not(path, "not UTF-8 but, by its bytes, Shift-JIS", "CP932");
    if (c.gbk) return is_not(path, "not UTF-8 but, by its bytes, GBK", "GBK");
    return CT_OK;
}
