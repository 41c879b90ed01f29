#include "config.h"

#include "task/text/reader.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "data/scan.h"

typedef struct reader {
    ct_labels base;
    ct_text_rules rules; /* charset is not used after learn() */
    ct_charset given;    /* of the rules; n 0: none */
    ct_charset charset;  /* n 0: none yet */
    void *user;          /* owned copy */
    char *labels, *of, *root; /* owned copies; "": not given */
} reader;

static const reader *of(const ct_labels *l) { return (const reader *)l; }

static void reader_close(ct_labels *l)
{
    reader *r = (reader *)l;
    ct_charset_free(&r->given);
    ct_charset_free(&r->charset);
    ct_free(r->user);
    ct_free(r->labels);
    ct_free(r->of);
    ct_free(r->root);
    ct_free(r);
}

/* ---- labels of a folder ---- */

static ct_status read_label(const void *user, const char *name, const char *text, char **out)
{
    const ct_label_rule *rule = user;
    char label[CT_LABEL_BYTES];
    CT_TRY(text ? ct_label_clean(rule, name, text, label) : ct_label_from_name(rule, name, label));
    return (*out = ct_strdup(label, "label")) ? CT_OK : CT_ENOMEM;
}

static ct_status reader_scan(ct_labels *l, const char *path, ct_scan *out)
{
    const reader *r = of(l);
    const ct_scan_source from = { path, strcmp(path, r->of) == 0 ? r->labels : NULL, r->root };
    return ct_scan_from(&from, read_label, &r->rules.rule, out);
}

/* ---- shapes ---- */

/* Characters of the longest text, at least 1. */
static int longest(const char *const *text, int64_t n)
{
    int most = 1;
    for (int64_t i = 0; i < n; i++) {
        int64_t len = ct_utf8_len(text[i]);
        if (len > most) most = (int)(len < CT_LABEL_MAX ? len : CT_LABEL_MAX);
    }
    return most;
}

static int at_least(int a, int b) { return a > b ? a : b; }

static void set_field(reader *r, int columns)
{
    r->base.fields = 1;
    r->base.field[0] = (ct_field){ .name = CT_TEXT_FIELD, .dtype = CT_I32, .kind = CT_FIELD_IDS, .ndim = 1,
                                   .dim = { at_least(columns, r->rules.columns) } };
}

static ct_status reader_shape(ct_labels *l, const char *const *text, int64_t n)
{
    reader *r = (reader *)l;
    const ct_text_rules *u = &r->rules;
    const int fixed = u->length > 0 ? u->length : u->most;
    if (n == 0) set_field(r, at_least(at_least(fixed, u->drawn), 1));
    else set_field(r, fixed > 0 ? fixed : longest(text, n));
    return CT_OK;
}

static ct_status reader_learn(ct_labels *l, const char *const *text, int64_t n)
{
    reader *r = (reader *)l;
    ct_charset_free(&r->charset);
    if (r->given.n > 0) CT_TRY(ct_charset_copy(&r->given, &r->charset));
    else if (n > 0) CT_TRY(ct_charset_collect(text, n, &r->charset));
    return reader_shape(l, text, n);
}

/* ---- fields ---- */

static void reader_blank(const ct_labels *l, void *const row[])
{
    int32_t *id = row[0];
    for (int64_t k = 0; k < l->field[0].dim[0]; k++) id[k] = -1;
}

/* Characters that a label may have. */
static int limit_of(const reader *r)
{
    const int columns = (int)r->base.field[0].dim[0], most = r->rules.length > 0 ? 0 : r->rules.most;
    return most > 0 && most < columns ? most : columns;
}

/* A sequence model must have the time steps that a label needs. */
static ct_status judge_steps(const reader *r, const ct_label_in *in, const int32_t *id)
{
    if (!r->rules.steps || in->width == 0) return CT_OK;
    const int need = ct_label_steps(id, (int)r->base.field[0].dim[0]);
    const int64_t have = ct_text_reader_steps(&r->base, in->width);
    if (need <= have) return CT_OK;
    return ct_fail(CT_EDATA, "%s: label '%s' needs %d time steps, the image of %d pixels gives %" PRId64, in->name,
                   in->text, need, in->width, have);
}

static ct_status reader_encode(const ct_labels *l, const ct_label_in *in, void *const row[])
{
    const reader *r = of(l);
    reader_blank(l, row);
    CT_TRY(ct_label_encode(&r->charset, in->name, in->text, r->rules.length, row[0], limit_of(r), NULL));
    return judge_steps(r, in, row[0]);
}

static const ct_label_fault faults[] = {
    { "charset", "labels outside the charset" },
    { "length", "labels of the wrong length" },
    { "steps", "labels that need more time steps (CTC) than their pictures give" },
    { NULL, NULL },
};

static const char *reader_fault(const ct_labels *l, const ct_label_in *in)
{
    const reader *r = of(l);
    const int64_t len = ct_utf8_len(in->text);
    if (len > limit_of(r) || (r->rules.length > 0 && len != r->rules.length)) return "length";
    for (const char *s = in->text; *s;) {
        const int32_t cp = ct_utf8_next(&s);
        if (cp < 0 || ct_charset_find(&r->charset, (uint32_t)cp) < 0) return "charset";
    }
    return "steps";
}

/* Every label of a stream must be feasible, since none of them is known yet. */
static ct_status reader_vouch(const ct_labels *l, const char *name, int width)
{
    const reader *r = of(l);
    const int need = 2 * r->rules.drawn - 1;
    if (r->rules.drawn < 1 || r->given.n == 0)
        return ct_fail(CT_EINVAL, "%s: a stream needs a charset and a length of labels", name);
    if (!r->rules.steps || ct_text_reader_steps(l, width) >= need) return CT_OK;
    return ct_fail(CT_EDATA,
                   "%s: a label of %d characters may need %d time steps, an image of %d pixels gives %" PRId64, name,
                   r->rules.drawn, need, width, ct_text_reader_steps(l, width));
}

/* ---- opening, asking ---- */

void ct_text_rules_init(ct_text_rules *rules)
{
    *rules = (ct_text_rules){ .rule = CT_LABEL_RULE_DEFAULT };
}

static ct_status check_rules(const ct_text_rules *u)
{
    if (u->length < 0 || u->length > CT_LABEL_MAX)
        return ct_fail(CT_EINVAL, "data: label length %d; it must be 0 (any) to %d", u->length, CT_LABEL_MAX);
    if (u->most < 0 || u->most > CT_LABEL_MAX)
        return ct_fail(CT_EINVAL, "data: labels of up to %d characters; 0 (any) to %d are possible", u->most,
                       CT_LABEL_MAX);
    if (u->columns < 0 || u->columns > CT_LABEL_MAX || u->drawn < 0 || u->drawn > CT_LABEL_MAX)
        return ct_fail(CT_EINVAL, "data: labels in %d columns, drawn with up to %d characters; at most %d are possible",
                       u->columns, u->drawn, CT_LABEL_MAX);
    return CT_OK;
}

ct_status ct_text_labels(const ct_text_rules *rules, ct_labels **out)
{
    static const ct_labels_ops ops = { .scan = reader_scan, .learn = reader_learn, .shape = reader_shape,
                                       .encode = reader_encode, .blank = reader_blank, .fault = reader_fault,
                                       .faults = faults, .vouch = reader_vouch, .survey = ct_text_survey_open,
                                       .close = reader_close };
    ct_status st = CT_OK;
    *out = NULL;
    CT_TRY(check_rules(rules));
    reader *r = ct_calloc(1, sizeof *r, "label reader");
    if (!r) return CT_ENOMEM;
    r->base.ops = &ops;
    r->rules = *rules;
    if (rules->charset) CT_GOTO(st, ct_charset_copy(rules->charset, &r->given));
    if (rules->user_bytes > 0) {
        if (!(r->user = ct_malloc(rules->user_bytes, "label reader"))) CT_GOTO(st, CT_ENOMEM);
        memcpy(r->user, rules->user, rules->user_bytes);
    }
    const struct { const char *from; char **to; } own[] = { { rules->labels, &r->labels }, { rules->of, &r->of },
                                                            { rules->root, &r->root } };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!(*own[i].to = ct_strdup(own[i].from ? own[i].from : "", "label reader"))) CT_GOTO(st, CT_ENOMEM);
    r->rules.charset = NULL;
    r->rules.labels = r->rules.of = r->rules.root = NULL;
    r->rules.user = r->user;
    *out = &r->base;
    return CT_OK;
fail:
    reader_close(&r->base);
    return st;
}

const ct_charset *ct_text_reader_charset(const ct_labels *l) { return &of(l)->charset; }
bool ct_text_reader_sequence(const ct_labels *l) { return of(l)->rules.steps != NULL; }

int64_t ct_text_reader_steps(const ct_labels *l, int width)
{
    const int64_t n = of(l)->rules.steps(of(l)->rules.user, width);
    return n > 0 ? n : 0;
}

const ct_charset *ct_text_charset(const ct_dataset *ds) { return ct_text_reader_charset(ct_dataset_label_reader(ds)); }

int ct_text_columns(const ct_dataset *ds)
{
    int n;
    return (int)ct_dataset_fields(ds, &n)[0].dim[0];
}

const int32_t *ct_text_ids(const ct_dataset *ds, int64_t i) { return ct_dataset_field(ds, 0, i); }

int ct_text_length(const ct_dataset *ds, int64_t i)
{
    const int32_t *id = ct_text_ids(ds, i);
    const int L = ct_text_columns(ds);
    int n = 0;
    while (n < L && id[n] >= 0) n++;
    return n;
}

ct_status ct_text_set_columns(ct_dataset *ds, int L)
{
    ct_labels *l = ct_dataset_label_reader(ds);
    const int64_t old = l->field[0].dim[0], n = ct_dataset_size(ds);
    int most = 1;
    for (int64_t i = 0; i < n; i++) most = at_least(most, ct_text_length(ds, i));
    if (L < most || L > CT_LABEL_MAX)
        return ct_fail(CT_EINVAL, "%s: labels in %d columns; the longest has %d characters", ct_dataset_root(ds), L,
                       most);
    if (L == old) return CT_OK;
    l->field[0].dim[0] = L;
    ct_status st = ct_dataset_refield(ds);
    if (st != CT_OK) l->field[0].dim[0] = old;
    return st;
}
