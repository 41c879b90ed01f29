/* captrain compare: runs beside each other, as text and as JSON. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/sized.h"
#include "base/text.h"
#include "captrain.h"
#include "report/compare.h"

#define COLUMN 28 /* characters of a value in the text, longer ones are cut */

/* ---- JSON ---- */

static ct_status put_known(json_t *o, const ct_compared *r, const char *key)
{
    json_t *v = json_object_get(r->result, key);
    return ct_json_set(o, key, v ? json_incref(v) : json_null());
}

static ct_status put_metrics(json_t *o, const ct_compared *r)
{
    const json_t *from = r->result ? json_object_get(r->result, "validation") : r->seen;
    json_t *m = json_object();
    ct_status st = CT_OK;
    for (int i = -1; i < r->task->metrics && st == CT_OK; i++) {
        const char *key = i < 0 ? ct_metric_loss.key : r->task->metric[i].key;
        json_t *v = json_object_get(from, key);
        st = ct_json_set(m, key, json_is_number(v) ? json_incref(v) : json_null());
    }
    if (st == CT_OK) return ct_json_set(o, "validation", m);
    json_decref(m);
    return st;
}

static ct_status run_json(const ct_compared *r, json_t **out)
{
    static const char *const keys[] = { "seconds", "samples_per_s", "params", "peak_bytes", "precision", "backend" };
    ct_status st;
    json_t *o = *out = json_object();
    CT_GOTO(st, ct_json_set_text(o, "run", r->path));
    CT_GOTO(st, ct_json_set_text(o, "name", r->cfg->name));
    CT_GOTO(st, ct_json_set(o, "task", json_string(r->task->name)));
    CT_GOTO(st, ct_json_set(o, "model", json_string(r->cfg->model.name)));
    CT_GOTO(st, ct_json_set(o, "finished", json_boolean(r->result != NULL)));
    CT_GOTO(st, ct_json_set(o, "step", json_integer(r->step)));
    CT_GOTO(st, put_metrics(o, r));
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) CT_GOTO(st, put_known(o, r, keys[k]));
fail:
    return st;
}

static ct_status key_json(void *user, const char *what, char *const *text, const bool *best)
{
    json_t *differs = user, *values = json_array(), *o = json_object();
    ct_status st;
    (void)best;
    for (size_t i = 0; text[i]; i++)
        if (json_array_append_new(values, ct_json_any(text[i])) != 0)
            CT_GOTO(st, ct_fail(CT_ENOMEM, "out of memory: values of %s", what));
    CT_GOTO(st, ct_json_set(o, "key", json_string(what)));
    CT_GOTO(st, ct_json_set(o, "values", json_incref(values)));
    st = json_array_append(differs, o) == 0 ? CT_OK : ct_fail(CT_ENOMEM, "out of memory: %s", what);
fail:
    json_decref(values);
    json_decref(o);
    return st;
}

ct_status ct_compare_document(const ct_compared *run, size_t n, json_t **out)
{
    json_t *o = json_object(), *runs = json_array(), *differs = json_array();
    ct_status st;
    for (size_t i = 0; i < n; i++) {
        json_t *one = NULL;
        st = run_json(&run[i], &one);
        if (st == CT_OK && json_array_append(runs, one) != 0) st = ct_fail(CT_ENOMEM, "out of memory: %s", run[i].path);
        json_decref(one);
        if (st != CT_OK) goto fail;
    }
    CT_GOTO(st, ct_compare_keys(run, n, key_json, differs));
    CT_GOTO(st, ct_json_set(o, "runs", json_incref(runs)));
    CT_GOTO(st, ct_json_set(o, "differs", json_incref(differs)));
    *out = json_incref(o);
fail:
    json_decref(runs);
    json_decref(differs);
    json_decref(o);
    return st;
}

/* ---- text ---- */

static int put_cut(FILE *f, const char *text)
{
    char shown[512];
    ct_text_visible(text, shown, sizeof shown);
    const char *s = shown;
    int chars = 0;
    for (const char *end = s; *s && chars < COLUMN; s = end, chars++) {
        if (ct_utf8_next(&end) < 0) end++;
        fwrite(s, 1, (size_t)(end - s), f);
    }
    if (*s) fputs("...", f), chars += 3;
    return chars;
}

static ct_status row_text(void *user, const char *what, char *const *text, const bool *best)
{
    FILE *f = user;
    fprintf(f, "%-34s", what);
    for (size_t i = 0; text[i]; i++) {
        fputs("  ", f);
        int chars = put_cut(f, text[i]);
        if (best && best[i]) fputs(" *", f), chars += 2;
        if (text[i + 1]) fprintf(f, "%*s", chars < COLUMN + 3 ? COLUMN + 3 - chars : 0, "");
    }
    fputc('\n', f);
    return CT_OK;
}

static ct_status print_text(const ct_compared *run, size_t n, FILE *to)
{
    CT_TRY(ct_compare_rows(run, n, row_text, to));
    fputs("\nkeys that differ\n", to);
    return ct_compare_keys(run, n, row_text, to);
}

ct_status ct_run_compare(const ct_compare_opts *given, FILE *to)
{
    ct_compare_opts o;
    ct_status st = CT_OK;
    CT_TRY(ct_sized_take(&o, sizeof o, given, "ct_compare_opts"));
    if (o.nruns < 2 || o.nruns > CT_COMPARE_MOST)
        return ct_fail(CT_EINVAL, "compare takes 2 to %d runs, not %zu", CT_COMPARE_MOST, o.nruns);
    ct_compared *run = ct_calloc(o.nruns, sizeof *run, "runs");
    json_t *doc = NULL;
    if (!run) return CT_ENOMEM;
    for (size_t i = 0; i < o.nruns; i++) CT_GOTO(st, ct_compared_open(o.runs[i], &run[i]));
    if (o.html) CT_GOTO(st, ct_compare_html(o.html, run, o.nruns));
    if (o.json) {
        CT_GOTO(st, ct_compare_document(run, o.nruns, &doc));
        CT_GOTO(st, ct_json_print(doc, 2, to));
    } else CT_GOTO(st, print_text(run, o.nruns, to));
    if (fflush(to) != 0 || ferror(to)) st = ct_fail(CT_EIO, "compare: the table could not be written");
fail:
    for (size_t i = 0; i < o.nruns; i++) ct_compared_close(&run[i]);
    ct_free(run);
    json_decref(doc);
    return st;
}
