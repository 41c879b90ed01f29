/* Calls as one line of text, and back: replay lines, test cases, plan listings. */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/ops.h"

/* ---- writing ---- */

typedef struct writer {
    char *buf;
    size_t size; /* bytes of buf */
    size_t used; /* bytes that the whole text needs so far, without the terminator */
} writer;

static void put(writer *w, const char *fmt, ...) CT_PRINTF(2, 3);

static void put(writer *w, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    bool room = w->used < w->size;
    int n = vsnprintf(room ? w->buf + w->used : NULL, room ? w->size - w->used : 0, fmt, ap);
    va_end(ap);
    if (n > 0) w->used += (size_t)n;
}

/* The shortest of the usual forms that reads back as the same double. */
static void put_real(writer *w, double v)
{
    char s[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(s, sizeof s, "%.*g", digits, v);
        if (strtod(s, NULL) == v) break;
    }
    put(w, "%s", s);
}

static void put_tensors(writer *w, int n, const ct_tensor *t)
{
    char s[CT_DESC_STR];
    put(w, "(");
    for (int i = 0; i < n; i++) put(w, "%s%s", i ? ", " : "", ct_present(&t[i]) ? ct_desc_str(&t[i].desc, s) : "-");
    put(w, ")");
}

static int64_t int_at(const ct_attrs *a, size_t offset)
{
    int64_t v;
    memcpy(&v, (const char *)a + offset, sizeof v);
    return v;
}

static double real_at(const ct_attrs *a, size_t offset)
{
    double v;
    memcpy(&v, (const char *)a + offset, sizeof v);
    return v;
}

/* Elements of a field to write: none of a single value that is 0, all that an array says it has. */
static int64_t elements(const ct_attrs *a, const ct_attr_field *f)
{
    if (f->max == 0) return f->is_double ? real_at(a, f->offset) != 0 : int_at(a, f->offset) != 0;
    int64_t n = int_at(a, f->count);
    return n < 0 ? 0 : n < f->max ? n : f->max;
}

int ct_call_format(const ct_call *call, char *buf, size_t size)
{
    writer w = { buf, size, 0 };
    const ct_op_info *info = ct_op_get(call->op);
    if (size > 0) buf[0] = '\0';
    put(&w, "%s", info->name);
    int shown = 0;
    for (const ct_attr_field *f = info->rules->fields; f->name; f++) {
        int64_t n = elements(&call->attrs, f);
        for (int64_t i = 0; i < n; i++) {
            size_t offset = f->offset + (size_t)i * 8;
            if (i == 0)
                put(&w, "%s%s=", shown++ ? " " : "{", f->name);
            else
                put(&w, ",");
            if (f->is_double)
                put_real(&w, real_at(&call->attrs, offset));
            else
                put(&w, "%" PRId64, int_at(&call->attrs, offset));
        }
    }
    if (shown) put(&w, "}");
    put_tensors(&w, call->nin, call->in);
    put(&w, " -> ");
    put_tensors(&w, call->nout, call->out);
    return (int)w.used;
}

char *ct_call_text(const ct_call *call)
{
    int n = ct_call_format(call, NULL, 0);
    char *text = ct_malloc((size_t)n + 1, "text of a call");
    if (text) ct_call_format(call, text, (size_t)n + 1);
    return text;
}

/* ---- reading ---- */

typedef struct reader {
    const char *text, *at;
} reader;

static ct_status bad(const reader *r, const char *fmt, ...) CT_PRINTF(2, 3);

static ct_status bad(const reader *r, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return ct_fail(CT_EINVAL, "call '%s', column %d: %s", r->text, (int)(r->at - r->text) + 1, text);
}

static void skip_space(reader *r)
{
    while (isspace((unsigned char)*r->at)) r->at++;
}

/* Moves behind character c if it is next. */
static bool take(reader *r, char c)
{
    skip_space(r);
    if (*r->at != c) return false;
    r->at++;
    return true;
}

/* A name of letters, digits and underscores. */
static bool take_word(reader *r, char *word, size_t size)
{
    size_t n = 0;
    skip_space(r);
    while (isalnum((unsigned char)r->at[n]) || r->at[n] == '_') n++;
    if (n == 0 || n >= size) return false;
    memcpy(word, r->at, n);
    word[n] = '\0';
    r->at += n;
    return true;
}

/* One number of field f into the 8 bytes at `to`. */
static ct_status read_number(reader *r, const ct_attr_field *f, char *to)
{
    char *end;
    errno = 0;
    if (f->is_double) {
        double v = strtod(r->at, &end);
        if (end == r->at) return bad(r, "attribute %s is not a number", f->name);
        memcpy(to, &v, sizeof v);
    } else {
        long long v = strtoll(r->at, &end, 10);
        if (end == r->at || errno == ERANGE) return bad(r, "attribute %s is not a whole number", f->name);
        int64_t i = v;
        memcpy(to, &i, sizeof i);
    }
    r->at = end;
    return CT_OK;
}

static ct_status read_value(reader *r, const ct_attr_field *f, ct_attrs *attrs)
{
    int64_t n = 0;
    do {
        if (n > 0 && n == f->max) return bad(r, "attribute %s has more than %d values", f->name, f->max);
        CT_TRY(read_number(r, f, (char *)attrs + f->offset + (size_t)n * 8));
        n++;
    } while (f->max > 0 && *r->at == ',' && r->at++);
    if (f->max > 0) memcpy((char *)attrs + f->count, &n, sizeof n);
    if (*r->at != '\0' && *r->at != '}' && !isspace((unsigned char)*r->at))
        return bad(r, "attribute %s has a malformed value", f->name);
    return CT_OK;
}

static ct_status read_attrs(reader *r, const ct_op_info *info, ct_attrs *attrs)
{
    char word[64];
    while (!take(r, '}')) {
        if (!take_word(r, word, sizeof word)) return bad(r, "the name of an attribute or '}' is missing");
        const ct_attr_field *f = info->rules->fields;
        while (f->name && strcmp(f->name, word) != 0) f++;
        if (!f->name) return bad(r, "%s has no attribute '%s'", info->name, word);
        if (!take(r, '=')) return bad(r, "'=' is missing after %s", word);
        CT_TRY(read_value(r, f, attrs));
    }
    return CT_OK;
}

/* "(f32[2,3], -, ...)" into t[0..max-1]; *n is the number read. */
static ct_status read_tensors(reader *r, int max, ct_tensor *t, int *n)
{
    *n = 0;
    if (!take(r, '(')) return bad(r, "'(' is missing");
    if (take(r, ')')) return CT_OK;
    do {
        if (*n == max) return bad(r, "more than %d tensors", max);
        ct_tensor *v = &t[(*n)++];
        v->data = NULL;
        if (take(r, '-')) {
            v->desc = ct_absent_desc();
            continue;
        }
        char word[CT_DESC_STR];
        size_t len = strcspn(r->at, "]");
        if (r->at[len] != ']' || len + 2 > sizeof word) return bad(r, "a tensor like f32[2,3] or '-' is missing");
        memcpy(word, r->at, len + 1);
        word[len + 1] = '\0';
        if (!ct_desc_parse(word, &v->desc)) return bad(r, "'%s' is not a tensor like f32[2,3]", word);
        r->at += len + 1;
    } while (take(r, ','));
    if (!take(r, ')')) return bad(r, "',' or ')' is missing");
    return CT_OK;
}

ct_status ct_call_parse(const char *text, ct_call *call)
{
    reader r = { text, text };
    char word[64];
    ct_call c;
    memset(&c, 0, sizeof c);
    skip_space(&r);
    const char *start = r.at;
    if (!take_word(&r, word, sizeof word)) return bad(&r, "the name of an operator is missing");
    if (!ct_op_find(word, &c.op)) {
        r.at = start;
        return bad(&r, "there is no operator '%s'", word);
    }
    const ct_op_info *info = ct_op_get(c.op);
    if (take(&r, '{')) CT_TRY(read_attrs(&r, info, &c.attrs));
    CT_TRY(read_tensors(&r, CT_MAX_IN, c.in, &c.nin));

    /* The outputs follow from the rest; written down, they must be what follows. */
    ct_tensor given[CT_MAX_OUT];
    int ngiven = -1;
    if (take(&r, '-')) {
        if (!take(&r, '>')) return bad(&r, "'->' is missing");
        CT_TRY(read_tensors(&r, CT_MAX_OUT, given, &ngiven));
    }
    skip_space(&r);
    if (*r.at) return bad(&r, "something follows the call");
    c.nout = ngiven >= 0 ? ngiven : info->out_max;
    CT_TRY(ct_call_infer(&c));
    if (ngiven >= 0 && ngiven != c.nout)
        return ct_fail(CT_EINVAL, "call '%s': %s gives %d outputs", text, info->name, c.nout);
    for (int i = 0; i < ngiven; i++) {
        char s[CT_DESC_STR];
        bool same = ct_present(&given[i]) == ct_present(&c.out[i]) &&
                    (!ct_present(&given[i]) || ct_desc_equal(&given[i].desc, &c.out[i].desc));
        if (!same)
            return ct_fail(CT_EINVAL, "call '%s': output %d should be %s", text, i,
                           ct_present(&c.out[i]) ? ct_desc_str(&c.out[i].desc, s) : "absent");
    }
    *call = c;
    return CT_OK;
}
