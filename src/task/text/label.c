#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "task/text/label.h"

static const char *const side_names[] = { "before_first", "before_last", "after_first", "after_last" };
static const char *const case_names[] = { "keep", "upper", "lower" };

bool ct_label_side_parse(const char *s, ct_label_side *out)
{
    if (strcmp(s, "before") == 0) s = "before_first";
    if (strcmp(s, "after") == 0) s = "after_last";
    for (int i = 0; i < 4; i++) {
        if (strcmp(s, side_names[i]) == 0) {
            *out = (ct_label_side)i;
            return true;
        }
    }
    return false;
}

const char *ct_label_side_name(ct_label_side s)
{
    return side_names[s];
}

bool ct_label_case_parse(const char *s, ct_label_case *out)
{
    for (int i = 0; i < 3; i++) {
        if (strcmp(s, case_names[i]) == 0) {
            *out = (ct_label_case)i;
            return true;
        }
    }
    return false;
}

const char *ct_label_case_name(ct_label_case c)
{
    return case_names[c];
}

/* Capital and small letters lie at a fixed distance in these ranges (first and last capital, distance). */
static const struct case_range { uint32_t first, last, distance; } ranges[] = {
    { 'A', 'Z', 32 },         /* ASCII */
    { 0xc0, 0xd6, 32 },       /* Latin-1, left of the multiplication sign */
    { 0xd8, 0xde, 32 },       /* and right of it */
    { 0x391, 0x3a1, 32 },     /* Greek alpha .. rho */
    { 0x3a3, 0x3ab, 32 },     /* sigma .. upsilon with dialytika */
    { 0x400, 0x40f, 80 },     /* Cyrillic extensions */
    { 0x410, 0x42f, 32 },     /* Cyrillic */
};

static uint32_t fold(uint32_t cp, ct_label_case rule)
{
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        uint32_t a = ranges[i].first, b = ranges[i].last, d = ranges[i].distance;
        if (rule == CT_CASE_LOWER && cp >= a && cp <= b) return cp + d;
        if (rule == CT_CASE_UPPER && cp >= a + d && cp <= b + d) return cp - d;
    }
    return cp;
}

ct_status ct_label_clean(const ct_label_rule *rule, const char *name, const char *text, char out[CT_LABEL_BYTES])
{
    int n = 0;
    size_t len = 0;
    const char *s = text;
    out[0] = '\0';
    for (;;) {
        int32_t cp = ct_utf8_next(&s);
        if (cp == 0) break;
        if (cp < 0) {
            out[0] = '\0';
            return ct_fail(CT_EDATA, "%s: the label is not valid UTF-8 (byte 0x%02x)", name,
                           (unsigned)(unsigned char)*s);
        }
        if (ct_utf8_control((uint32_t)cp)) {
            out[0] = '\0';
            return ct_fail(CT_EDATA, "%s: the label has the control character U+%04X at place %d", name, (unsigned)cp,
                           n + 1);
        }
        if (++n > CT_LABEL_MAX) {
            out[0] = '\0';
            return ct_fail(CT_EDATA, "%s: the label has more than %d characters", name, CT_LABEL_MAX);
        }
        char c[5];
        size_t bytes = (size_t)ct_utf8_put(rule->fold == CT_CASE_KEEP ? (uint32_t)cp : fold((uint32_t)cp, rule->fold),
                                           c);
        memcpy(out + len, c, bytes);
        len += bytes;
    }
    out[len] = '\0';
    if (n == 0) return ct_fail(CT_EDATA, "%s: the label is empty", name);
    return CT_OK;
}

static const char *find_last(const char *s, const char *what)
{
    const char *last = NULL;
    for (const char *p = strstr(s, what); p; p = strstr(p + 1, what)) last = p;
    return last;
}

ct_status ct_label_from_name(const ct_label_rule *rule, const char *name, char out[CT_LABEL_BYTES])
{
    char stem[1024];
    const char *base = strrchr(name, '/');
    base = base ? base + 1 : name;
    const char *dot = strrchr(base, '.');
    size_t len = dot && dot != base ? (size_t)(dot - base) : strlen(base);
    out[0] = '\0';
    if (len >= sizeof stem) return ct_fail(CT_EDATA, "%s: file name too long", name);
    memcpy(stem, base, len);
    stem[len] = '\0';

    char *label = stem;
    size_t sep = strlen(rule->separator);
    if (sep > 0) {
        bool last = rule->side == CT_LABEL_BEFORE_LAST || rule->side == CT_LABEL_AFTER_LAST;
        bool after = rule->side == CT_LABEL_AFTER_FIRST || rule->side == CT_LABEL_AFTER_LAST;
        const char *at = last ? find_last(stem, rule->separator) : strstr(stem, rule->separator);
        if (at && after) label = stem + (at - stem) + sep;
        else if (at) stem[at - stem] = '\0';
    }
    return ct_label_clean(rule, name, label, out);
}

ct_status ct_label_encode(const ct_charset *cs, const char *name, const char *text, int want_len, int32_t *id, int L,
                          int *len)
{
    int n = 0;
    const char *s = text;
    int64_t chars = ct_utf8_len(text);
    for (int i = 0; i < L; i++) id[i] = -1;
    if (len) *len = 0;
    if (chars < 0) return ct_fail(CT_EDATA, "%s: the label is not valid UTF-8", name);
    if (chars == 0) return ct_fail(CT_EDATA, "%s: the label is empty", name);
    if (want_len > 0 && chars != want_len) {
        return ct_fail(CT_EDATA, "%s: label \"%s\" has %lld characters, %d are expected", name, text, (long long)chars,
                       want_len);
    }
    if (chars > L) {
        return ct_fail(CT_EDATA, "%s: label \"%s\" has %lld characters, at most %d are possible", name, text,
                       (long long)chars, L);
    }
    for (int32_t cp; (cp = ct_utf8_next(&s)) > 0; n++) {
        int k = ct_charset_find(cs, (uint32_t)cp);
        if (k < 0) {
            char show[32];
            for (int i = 0; i < L; i++) id[i] = -1;
            return ct_fail(CT_EDATA, "%s: label \"%s\": character %s is not in the charset \"%.80s%s\"", name, text,
                           ct_utf8_show((uint32_t)cp, show), cs->utf8, strlen(cs->utf8) > 80 ? "..." : "");
        }
        id[n] = k;
    }
    if (len) *len = n;
    return CT_OK;
}

int ct_label_steps(const int32_t *id, int n)
{
    int steps = 0;
    for (int i = 0; i < n && id[i] >= 0; i++) steps += 1 + (i > 0 && id[i] == id[i - 1]);
    return steps;
}
