#include "config.h"

#include <stdio.h>
#include <string.h>

#include <utf8proc.h>

#include "base/text.h"
#include "task/text/label/label.h"

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

/* Characters of a label before they are composed, at most; each is up to four then. */
enum { RAW_MAX = 4 * CT_LABEL_MAX, DECOMPOSED_MAX = 4 * RAW_MAX };

static ct_status too_long(const char *name)
{
    return ct_fail(CT_EDATA, "%s: the label has more than %d characters", name, CT_LABEL_MAX);
}

/* The code points of `text`, each of which may stand in a label. */
static ct_status decode(const char *name, const char *text, int32_t cp[RAW_MAX], int *n)
{
    const char *s = text;
    *n = 0;
    for (int32_t c; (c = ct_utf8_next(&s)) != 0;) {
        if (c < 0)
            return ct_fail(CT_EDATA, "%s: the label is not valid UTF-8 (byte 0x%02x)", name,
                           (unsigned)(unsigned char)*s);
        if (ct_utf8_control((uint32_t)c))
            return ct_fail(CT_EDATA, "%s: the label has the control character U+%04X at place %d", name, (unsigned)c,
                           *n + 1);
        if (*n == RAW_MAX) return too_long(name);
        cp[(*n)++] = c;
    }
    return *n > 0 ? CT_OK : ct_fail(CT_EDATA, "%s: the label is empty", name);
}

/* One character for another, whatever the locale: Unicode's simple mapping. */
static int32_t fold(int32_t cp, ct_label_case rule)
{
    return rule == CT_CASE_LOWER ? utf8proc_tolower(cp) : rule == CT_CASE_UPPER ? utf8proc_toupper(cp) : cp;
}

/* Composes cp[0..*n), of RAW_MAX, into out. */
static ct_status compose(const char *name, const int32_t *cp, int *n, int32_t out[DECOMPOSED_MAX])
{
    utf8proc_ssize_t len = 0;
    int last = 0;
    for (int i = 0; i < *n; i++) {
        const utf8proc_ssize_t more = utf8proc_decompose_char(cp[i], out + len, DECOMPOSED_MAX - len,
                                                              UTF8PROC_DECOMPOSE | UTF8PROC_STABLE, &last);
        if (more < 0 || more > DECOMPOSED_MAX - len) return too_long(name);
        len += more;
    }
    /* marks in canonical order: a stable insertion sort by combining class, starters stay */
    for (utf8proc_ssize_t i = 1; i < len; i++) {
        const int32_t c = out[i];
        const int order = utf8proc_get_property(c)->combining_class;
        utf8proc_ssize_t k = i;
        for (; order > 0 && k > 0 && utf8proc_get_property(out[k - 1])->combining_class > order; k--)
            out[k] = out[k - 1];
        out[k] = c;
    }
    len = utf8proc_normalize_utf32(out, len, UTF8PROC_COMPOSE | UTF8PROC_STABLE);
    if (len < 0) return ct_fail(CT_EDATA, "%s: %s", name, utf8proc_errmsg(len));
    *n = (int)len;
    return CT_OK;
}

ct_status ct_label_clean(const ct_label_rule *rule, const char *name, const char *text, char out[CT_LABEL_BYTES])
{
    int32_t raw[RAW_MAX], whole[DECOMPOSED_MAX], *cp = raw;
    int n = 0;
    size_t len = 0;
    out[0] = '\0';
    CT_TRY(decode(name, text, raw, &n));
    if (!rule->as_is) {
        CT_TRY(compose(name, raw, &n, whole));
        cp = whole;
    }
    if (n > CT_LABEL_MAX) return too_long(name);
    for (int i = 0; i < n; i++) {
        char c[5];
        const size_t bytes = (size_t)ct_utf8_put((uint32_t)fold(cp[i], rule->fold), c);
        memcpy(out + len, c, bytes);
        len += bytes;
    }
    out[len] = '\0';
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

bool ct_label_mark(uint32_t cp)
{
    const utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)cp);
    return c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_ME;
}

/* Has the charset the pieces of this character, as one that was written decomposed (NFD) has? */
static bool in_pieces(const ct_charset *cs, int32_t cp)
{
    utf8proc_int32_t piece[8];
    int last = 0;
    const utf8proc_ssize_t n =
        utf8proc_decompose_char(cp, piece, 8, UTF8PROC_DECOMPOSE | UTF8PROC_STABLE, &last);
    bool all = n > 1 && n <= 8;
    for (utf8proc_ssize_t i = 0; all && i < n; i++) all = ct_charset_find(cs, (uint32_t)piece[i]) >= 0;
    return all;
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
            return ct_fail(CT_EDATA, "%s: label \"%s\": character %s is not in the charset \"%.*s%s\"%s", name, text,
                           ct_utf8_show((uint32_t)cp, show), (int)ct_utf8_cut(cs->utf8, 80), cs->utf8,
                           strlen(cs->utf8) > 80 ? "..." : "",
                           in_pieces(cs, cp) ? ", which has it in pieces (NFD): labels are composed, so write it as "
                                               "one character (NFC)" : "");
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
