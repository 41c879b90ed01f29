/* What was found, told to those who ask. */
#include "config.h"

#include <string.h>

#include "base/alloc.h"
#include "task/text/findings.h"

/* ---- edits ---- */

char *ct_confusion_text(const ct_charset *cs, int ch, char buf[32])
{
    const int32_t id = ch;
    if (ch < 0) return strcpy(buf, "(nothing)");
    return ct_charset_decode(cs, &id, 1, buf, 32);
}

/* ---- predictions ---- */

const int32_t *ct_found_label_of(const ct_text_findings *t, int64_t sample, int64_t *n)
{
    *n = 0;
    if (!t->base.labels) return NULL;
    const int32_t *id = ct_text_ids(t->base.view.data, sample);
    *n = ct_edit_length(id, ct_text_columns(t->base.view.data));
    return id;
}

const int32_t *ct_found_label(const ct_text_findings *t, int64_t i, int64_t *n)
{
    return ct_found_label_of(t, ct_view_sample(&t->base.view, i), n);
}

int ct_found_length(const ct_text_findings *t, int64_t i)
{
    return (int)ct_edit_length(t->pred + i * t->columns, t->columns);
}

double ct_found_confidence(const ct_text_findings *t, int64_t i)
{
    const int n = ct_found_length(t, i);
    double p = n > 0 ? 1 : 0;
    if (t->sure) return t->sure[i];
    for (int k = 0; k < n; k++) p *= (double)t->conf[i * t->columns + k];
    return p;
}

double ct_text_confidence(const ct_findings *f, int64_t i) { return ct_found_confidence(ct_text_findings_of(f), i); }

bool ct_text_right(const ct_findings *f, int64_t i)
{
    const ct_text_findings *t = ct_text_findings_of(f);
    int64_t chars;
    const int32_t *label = ct_found_label(t, i, &chars);
    const int n = ct_found_length(t, i);
    return n == chars && memcmp(label, t->pred + i * t->columns, (size_t)n * sizeof *label) == 0;
}

char *ct_found_text(const ct_text_findings *t, int64_t i)
{
    const int n = ct_found_length(t, i);
    const size_t size = 4 * (size_t)n + 1;
    char *text = ct_malloc(size, "text");
    return text ? ct_charset_decode(&t->facts->charset, t->pred + i * t->columns, n, text, size) : NULL;
}
