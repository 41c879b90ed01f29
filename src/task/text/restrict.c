/* --charset and --length: texts that may be read. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "task/text/findings.h"

bool ct_text_range(const char *text, int least, int most, int *lo, int *hi)
{
    char *end;
    const bool digits = *text >= '0' && *text <= '9';
    const long a = strtol(text, &end, 10);
    const long b = *end == '-' && end[1] >= '0' && end[1] <= '9' ? strtol(end + 1, &end, 10) : a;
    if (!digits || *end != '\0' || a < least || b < a || b > most) return false;
    *lo = (int)a;
    *hi = (int)b;
    return true;
}

static ct_status parse_length(const char *text, const ct_place *p, ct_restriction *r)
{
    const struct ct_text_facts *f = ct_text_facts(p->facts);
    int least = f->least, most = f->most;
    if (strcmp(text, "trained") != 0) {
        if (!ct_text_range(text, 1, CT_LABEL_MAX, &least, &most))
            return ct_fail(CT_ECONFIG, "--length: '%s' is neither a number of characters from 1 to %d nor two of them, "
                           "such as 3-7, nor 'trained'", text, CT_LABEL_MAX);
    } else if (ct_model_head(p->model) != CT_HEAD_CTC) {
        least = most = f->positions;
    } else if (most == 0) {
        return ct_fail(CT_ECONFIG, "--length: this model does not say how many characters its training labels had; "
                       "how many may it be?");
    }
    r->least = least;
    r->most = most;
    return CT_OK;
}

static ct_status parse_charset(const char *text, const ct_charset *own, ct_restriction *r)
{
    ct_charset given;
    char shown[32];
    if (ct_charset_parse(text, &given) != CT_OK) return ct_fail_context(CT_ECONFIG, "--charset");
    ct_status st = CT_OK;
    memset(r->may, 0, (size_t)own->n);
    for (int k = 0; k < given.n && st == CT_OK; k++) {
        const int id = ct_charset_find(own, given.cp[k]);
        if (id >= 0) r->may[id] = 1;
        else st = ct_fail(CT_ECONFIG, "--charset: the model cannot read %s; it reads %s",
                          ct_utf8_show(given.cp[k], shown), own->utf8);
    }
    ct_charset_free(&given);
    return st;
}

ct_status ct_text_restrict(const ct_place *p, const ct_option *option, size_t options, ct_restriction *r)
{
    const char *charset = ct_option_find(option, options, "charset");
    const char *length = ct_option_find(option, options, "length");
    const ct_charset *own = &ct_text_facts(p->facts)->charset;
    const int64_t positions = p->model->positions;
    if (!charset && !length) return CT_OK;
    r->may = ct_malloc((size_t)own->n, "characters that may be read");
    r->symbol = ct_calloc((size_t)own->n, sizeof *r->symbol, "characters that may be read");
    if (!r->may || !r->symbol) return CT_ENOMEM;
    memset(r->may, 1, (size_t)own->n);
    r->any = true;
    if (charset) CT_TRY(parse_charset(charset, own, r));
    if (length) CT_TRY(parse_length(length, p, r));
    for (int32_t k = 0; k < own->n; k++)
        if (r->may[k]) r->symbol[r->symbols++] = k;
    if (!length || ct_model_head(p->model) == CT_HEAD_CTC) return CT_OK;
    if (r->least <= positions && positions <= r->most) return CT_OK;
    return ct_fail(CT_ECONFIG, "--length: %s reads exactly %" PRId64 " characters, %s leaves nothing", p->model->name,
                   positions, length);
}

void ct_text_allowed(const ct_restriction *r, const ct_text_scores *s, int32_t *text)
{
    for (int64_t c = 0; c < s->steps; c++) {
        const int64_t row = s->first + c * s->stride;
        text[c] = r->symbol[0];
        for (int64_t k = 1; k < r->symbols; k++)
            if (ct_load(s->type, s->score, row + r->symbol[k]) > ct_load(s->type, s->score, row + text[c]))
                text[c] = r->symbol[k];
    }
}

const char *ct_text_unread(const ct_findings *f, int64_t i, char *buf, size_t size)
{
    const ct_text_findings *t = ct_text_findings_of(f);
    const ct_restriction *r = &t->limit;
    if (!t->refused || t->refused[i] == 0) return NULL;
    const int64_t steps = t->refused[i] - 1;
    if (ct_restriction_reach(r, steps) < r->least)
        snprintf(buf, size, "too narrow for --length: its %" PRId64 " time steps give at most %" PRId64
                 " of the characters that may be read, at least %" PRId64 " are asked for", steps,
                 ct_restriction_reach(r, steps), r->least);
    else snprintf(buf, size, "no text that --charset and --length allow has a probability above 0");
    return buf;
}
