#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "data/build.h"
#include "data/check.h"
#include "data/scan.h"
#include "data/workers.h"

/* What decoding found out about one sample. */
typedef struct probe {
    int w, h;         /* 0: not decodable */
    char hash[33];    /* of the RGB pixels */
    char *reason;     /* why not */
    bool good;        /* judged usable */
    int needs;        /* time steps for the label; 0: there is no usable one, or no sequence model */
    int64_t gives;    /* and what the picture gives */
} probe;

typedef struct check_job {
    const ct_check_spec *spec;
    ct_scan scan[2];
    probe *probe[2];  /* [scan.n] */
    int sets;         /* 1 or 2 */
    int set;          /* the one being decoded */
} check_job;

void ct_check_free(ct_check_report *r)
{
    if (!r) return;
    for (size_t i = 0; i < r->n_issues; i++) {
        ct_free(r->issues[i].name);
        ct_free(r->issues[i].reason);
    }
    for (size_t i = 0; i < r->n_dups; i++) {
        ct_dup_group *g = &r->dups[i];
        for (int64_t k = 0; k < g->n; k++) {
            if (g->name) ct_free(g->name[k]);
            if (g->text) ct_free(g->text[k]);
        }
        ct_free(g->set);
        ct_free(g->name);
        ct_free(g->text);
    }
    for (size_t i = 0; i < r->n_steps; i++) ct_free(r->steps[i].name);
    ct_free(r->steps);
    ct_free(r->buckets);
    ct_free(r->issues);
    ct_free(r->dups);
    ct_free(r->sizes);
    ct_free(r->chars);
    ct_free(r->verdict);
    ct_charset_free(&r->charset);
    *r = (ct_check_report){ 0 };
}

/* ---- decoding ---- */

static ct_status probe_item(void *user, int worker, int64_t i)
{
    check_job *j = user;
    const ct_scan *scan = &j->scan[j->set];
    const ct_dataset_spec *s = &j->spec->data;
    probe *p = &j->probe[j->set][i];
    ct_image_opts opts = { .channels = 3 };
    ct_image im;
    (void)worker;
    memcpy(opts.background, s->background, sizeof opts.background);

    if (!scan->s[i].file) return CT_OK; /* the scan said why */
    char *path = ct_path_join(scan->dir, scan->s[i].name);
    if (!path) return CT_ENOMEM;
    ct_status st = ct_image_read_file(path, &opts, &im);
    if (st == CT_OK) {
        ct_hash_hex(im.px, (size_t)im.w * (size_t)im.h * 3, p->hash);
        p->w = im.w;
        p->h = im.h;
        ct_image_free(&im);
    } else if (st == CT_EIO || st == CT_EFORMAT) {
        p->reason = ct_reason_dup(path);
        st = p->reason ? CT_OK : CT_ENOMEM;
    }
    ct_free(path);
    return st;
}

/* ---- issues ---- */

static ct_status add_issue(ct_check_report *r, size_t *cap, ct_issue_kind kind, int set, const char *name,
                           const char *reason)
{
    CT_TRY(ct_grow(&r->issues, r->n_issues, cap, sizeof *r->issues, "issues"));
    ct_issue x = { .kind = kind, .set = set, .name = ct_strdup(name, "issue"), .reason = ct_strdup(reason, "issue") };
    if (!x.name || !x.reason) {
        ct_free(x.name);
        ct_free(x.reason);
        return CT_ENOMEM;
    }
    r->issues[r->n_issues++] = x;
    r->count[kind]++;
    return CT_OK;
}

/* The charset: the one given, or that of the decodable samples of the first folder. */
static ct_status find_charset(const check_job *j, ct_check_report *r)
{
    const ct_charset *given = j->spec->data.charset;
    if (j->spec->with_config && given) return ct_charset_copy(given, &r->charset);
    const ct_scan *s = &j->scan[0];
    const char **text = ct_calloc(s->n, sizeof *text, "labels");
    if (!text) return CT_ENOMEM;
    int64_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (j->probe[0][i].w > 0 && !s->s[i].bad) text[n++] = s->s[i].text;
    }
    ct_status st = n > 0 ? ct_charset_collect(text, n, &r->charset) : CT_OK;
    ct_free((void *)text);
    return st;
}

/* Height and width a training would use; 0 if nothing decodes. */
static void expected_size(const check_job *j, int set, int *w, int *h)
{
    *w = j->spec->data.width;
    *h = j->spec->data.height;
    for (size_t i = 0; *h == 0 && i < j->scan[set].n; i++) {
        if (j->scan[set].s[i].bad) continue;
        *w = j->probe[set][i].w;
        *h = j->probe[set][i].h;
    }
}

/* Does the picture give a sequence model the time steps that the label needs? */
static ct_status judge_steps(const ct_dataset_spec *s, const ct_sample *x, const int32_t *id, probe *p, char **why)
{
    int width = ct_fit_width(s, p->w, p->h);
    p->needs = ct_label_steps(id, CT_LABEL_MAX);
    p->gives = s->steps(s->steps_user, width);
    if (p->gives < 0) p->gives = 0;
    if (p->needs <= p->gives) return CT_OK;
    *why = ct_asprintf("label '%s' needs %d time steps, the image of %d pixels gives %" PRId64, x->text, p->needs,
                       width, p->gives);
    return *why ? CT_OK : CT_ENOMEM;
}

/* What is wrong with sample x; *why is an own string, NULL if nothing is. */
static ct_status judge_sample(const check_job *j, const ct_check_report *r, const ct_sample *x, probe *p, int w, int h,
                              ct_issue_kind *kind, char **why)
{
    const ct_dataset_spec *s = &j->spec->data;
    int32_t id[CT_LABEL_MAX];
    *why = NULL;
    if (!x->file || p->reason) {
        *kind = CT_ISSUE_UNREADABLE;
        const char *reason = p->reason ? p->reason : x->bad ? x->bad : "there is no such file";
        return (*why = ct_strdup(reason, "issue")) ? CT_OK : CT_ENOMEM;
    }
    if (x->bad) {
        *kind = CT_ISSUE_LABEL;
        return (*why = ct_strdup(x->bad, "issue")) ? CT_OK : CT_ENOMEM;
    }
    if (j->spec->with_config && s->size_rule == CT_SIZE_REFUSE && (p->w != w || p->h != h)) {
        *kind = CT_ISSUE_SIZE;
        *why = ct_asprintf("the picture is %dx%d, %dx%d is expected (size rule: refuse)", p->w, p->h, w, h);
        return *why ? CT_OK : CT_ENOMEM;
    }
    int want = j->spec->with_config ? s->label_len : 0, most = CT_LABEL_MAX;
    if (j->spec->with_config && want == 0 && s->label_max > 0) most = s->label_max;
    for (int k = most; k < CT_LABEL_MAX; k++) id[k] = -1;
    ct_status st = ct_label_encode(&r->charset, x->name, x->text, want, id, most, NULL);
    if (st == CT_OK && j->spec->with_config && s->steps) {
        *kind = CT_ISSUE_STEPS;
        return judge_steps(s, x, id, p, why);
    }
    if (st != CT_EDATA) return st;
    int64_t len = ct_utf8_len(x->text);
    *kind = len > most || (want > 0 && len != want) ? CT_ISSUE_LENGTH : CT_ISSUE_CHARSET;
    return (*why = ct_reason_dup(x->name)) ? CT_OK : CT_ENOMEM;
}

static ct_status judge_set(const check_job *j, int set, ct_check_report *r, size_t *cap)
{
    const ct_scan *scan = &j->scan[set];
    int w, h;
    expected_size(j, set, &w, &h);
    r->samples[set] = (int64_t)scan->n;
    r->ignored[set] = scan->ignored + scan->folders;
    for (size_t i = 0; i < scan->n; i++) {
        ct_issue_kind kind = CT_ISSUE_UNREADABLE;
        char *why;
        CT_TRY(judge_sample(j, r, &scan->s[i], &j->probe[set][i], w, h, &kind, &why));
        if (why) {
            ct_status st = add_issue(r, cap, kind, set, scan->s[i].name, why);
            ct_free(why);
            CT_TRY(st);
        } else {
            r->good[set]++;
            j->probe[set][i].good = true;
        }
    }
    return CT_OK;
}

/* ---- buckets and time steps ---- */

/* The buckets of the usable samples, as training and validation would see them. */
static ct_status count_buckets(const check_job *j, ct_check_report *r)
{
    int w, h;
    expected_size(j, 0, &w, &h);
    if (!j->spec->with_config || h == 0) return CT_OK;
    ct_dataset_spec s = j->spec->data;
    s.width = w;
    int64_t *n = ct_calloc((size_t)w + 1, sizeof *n, "buckets"), *columns = NULL; /* of each width */
    if (n) columns = ct_calloc((size_t)w + 1, sizeof *columns, "buckets");
    r->buckets = columns ? ct_calloc((size_t)w + 1, sizeof *r->buckets, "buckets") : NULL;
    for (int set = 0; r->buckets && set < j->sets; set++) {
        for (size_t i = 0; i < j->scan[set].n; i++) {
            const probe *p = &j->probe[set][i];
            if (!p->good) continue;
            int width = ct_fit_width(&s, p->w, p->h), bucket = ct_fit_bucket(&s, width);
            n[bucket]++;
            columns[bucket] += width;
        }
    }
    for (int b = 1; r->buckets && b <= w; b++) {
        if (n[b] == 0) continue;
        r->buckets[r->n_buckets++] = (ct_bucket_count){ b, n[b], 1.0 - (double)columns[b] / ((double)n[b] * b) };
    }
    ct_free(n);
    ct_free(columns);
    return r->buckets ? CT_OK : CT_ENOMEM;
}

static ct_status list_steps(const check_job *j, ct_check_report *r)
{
    size_t cap = 0;
    for (int set = 0; set < j->sets; set++) {
        for (size_t i = 0; i < j->scan[set].n; i++) {
            const probe *p = &j->probe[set][i];
            if (p->needs == 0) continue;
            CT_TRY(ct_grow(&r->steps, r->n_steps, &cap, sizeof *r->steps, "time steps"));
            ct_step_count c = { .set = set, .needs = p->needs, .gives = p->gives };
            if (!(c.name = ct_strdup(j->scan[set].s[i].name, "time steps"))) return CT_ENOMEM;
            r->steps[r->n_steps++] = c;
        }
    }
    return CT_OK;
}

/* ---- histograms ---- */

static int by_size(const void *a, const void *b)
{
    const ct_size_count *x = a, *y = b;
    return x->w != y->w ? (x->w < y->w ? -1 : 1) : x->h < y->h ? -1 : x->h > y->h;
}

static int by_frequency(const void *a, const void *b)
{
    const ct_size_count *x = a, *y = b;
    return x->n != y->n ? (x->n > y->n ? -1 : 1) : by_size(a, b);
}

static ct_status count_sizes(const check_job *j, ct_check_report *r)
{
    size_t n = 0, kinds = 0;
    r->sizes = ct_calloc(j->scan[0].n + j->scan[1].n, sizeof *r->sizes, "sizes");
    if (!r->sizes) return CT_ENOMEM;
    for (int set = 0; set < j->sets; set++) {
        for (size_t i = 0; i < j->scan[set].n; i++) {
            const probe *p = &j->probe[set][i];
            if (p->w > 0) r->sizes[n++] = (ct_size_count){ p->w, p->h, 1 };
        }
    }
    if (n > 1) qsort(r->sizes, n, sizeof *r->sizes, by_size);
    for (size_t i = 0; i < n; i++) {
        if (kinds > 0 && by_size(&r->sizes[kinds - 1], &r->sizes[i]) == 0) r->sizes[kinds - 1].n++;
        else r->sizes[kinds++] = r->sizes[i];
    }
    if (kinds > 1) qsort(r->sizes, kinds, sizeof *r->sizes, by_frequency);
    r->n_sizes = kinds;
    return CT_OK;
}

static ct_status count_labels(const check_job *j, ct_check_report *r)
{
    enum { CODE_POINTS = 0x110000 };
    int64_t *count = ct_calloc(CODE_POINTS, sizeof *count, "characters");
    size_t cap = 0;
    ct_status st = CT_OK;
    if (!count) return CT_ENOMEM;
    for (int set = 0; set < j->sets; set++) {
        for (size_t i = 0; i < j->scan[set].n; i++) {
            const char *text = j->scan[set].s[i].text;
            if (!text || j->scan[set].s[i].bad) continue;
            int64_t len = ct_utf8_len(text);
            if (len >= 0 && len <= CT_LABEL_MAX) r->lengths[len]++;
            for (int32_t cp; (cp = ct_utf8_next(&text)) > 0;) count[cp]++;
        }
    }
    for (uint32_t cp = 0; cp < CODE_POINTS; cp++) {
        if (count[cp] == 0) continue;
        st = ct_grow(&r->chars, r->n_chars, &cap, sizeof *r->chars, "characters");
        if (st != CT_OK) break;
        r->chars[r->n_chars++] = (ct_char_count){ cp, count[cp] };
    }
    ct_free(count);
    return st;
}

/* ---- duplicates ---- */

typedef struct twin { const probe *p; const ct_sample *s; int set; size_t i; } twin;

static int by_pixels(const void *a, const void *b)
{
    const twin *x = a, *y = b;
    int c = strcmp(x->p->hash, y->p->hash);
    if (c) return c;
    return x->p->w != y->p->w ? (x->p->w < y->p->w ? -1 : 1) : x->p->h < y->p->h ? -1 : x->p->h > y->p->h;
}

static int by_pixels_then_place(const void *a, const void *b)
{
    const twin *x = a, *y = b;
    int c = by_pixels(a, b);
    return c ? c : x->set != y->set ? x->set - y->set : x->i < y->i ? -1 : x->i > y->i;
}

static int by_first_member(const void *a, const void *b)
{
    const ct_dup_group *x = a, *y = b;
    return x->set[0] != y->set[0] ? x->set[0] - y->set[0] : strcmp(x->name[0], y->name[0]);
}

static ct_status add_group(ct_check_report *r, size_t *cap, const twin *t, size_t n)
{
    CT_TRY(ct_grow(&r->dups, r->n_dups, cap, sizeof *r->dups, "duplicates"));
    ct_dup_group *g = &r->dups[r->n_dups++];
    *g = (ct_dup_group){ .n = (int64_t)n };
    g->set = ct_calloc(n, sizeof *g->set, "duplicates");
    g->name = ct_calloc(n, sizeof *g->name, "duplicates");
    g->text = ct_calloc(n, sizeof *g->text, "duplicates");
    if (!g->set || !g->name || !g->text) return CT_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        g->set[i] = t[i].set;
        g->name[i] = ct_strdup(t[i].s->name, "duplicates");
        g->text[i] = ct_strdup(t[i].s->text ? t[i].s->text : "", "duplicates");
        if (!g->name[i] || !g->text[i]) return CT_ENOMEM;
        g->conflict |= strcmp(g->text[i], g->text[0]) != 0;
        g->across |= g->set[i] != g->set[0];
    }
    r->dup_samples += (int64_t)n - 1;
    r->dup_conflicts += g->conflict;
    r->dup_across += g->across;
    return CT_OK;
}

static ct_status find_duplicates(const check_job *j, ct_check_report *r)
{
    ct_status st = CT_OK;
    size_t n = 0, cap = 0;
    twin *t = ct_calloc(j->scan[0].n + j->scan[1].n, sizeof *t, "duplicates");
    if (!t) return CT_ENOMEM;
    for (int set = 0; set < j->sets; set++) {
        for (size_t i = 0; i < j->scan[set].n; i++) {
            const ct_sample *s = &j->scan[set].s[i];
            bool again = i > 0 && strcmp(s->name, s[-1].name) == 0; /* one file in two lines: not two pictures */
            if (j->probe[set][i].w > 0 && !again) t[n++] = (twin){ &j->probe[set][i], s, set, i };
        }
    }
    if (n > 1) qsort(t, n, sizeof *t, by_pixels_then_place);
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && by_pixels(&t[i], &t[k]) == 0; k++) { }
        if (k - i > 1) CT_GOTO(st, add_group(r, &cap, t + i, k - i));
    }
    if (r->n_dups > 1) qsort(r->dups, r->n_dups, sizeof *r->dups, by_first_member);
fail:
    ct_free(t);
    return st;
}

/* ---- verdict ---- */

static ct_status verdict(const check_job *j, ct_check_report *r)
{
    static const char *const what[2] = { "training", "validation" };
    int64_t limit = j->spec->data.max_bad;
    r->ok = true;
    if (!j->spec->with_config) {
        r->ok = r->count[CT_ISSUE_UNREADABLE] == 0;
        if (r->ok) r->verdict = ct_asprintf("every picture can be read");
        else r->verdict = ct_asprintf("%" PRId64 " files cannot be read", r->count[CT_ISSUE_UNREADABLE]);
        return r->verdict ? CT_OK : CT_ENOMEM;
    }
    for (int set = 0; set < j->sets && r->ok; set++) {
        int64_t bad = r->samples[set] - r->good[set];
        if (bad > limit) {
            r->ok = false;
            r->verdict = ct_asprintf("training would fail: %" PRId64 " of %" PRId64 " %s samples cannot be used, "
                                     "%" PRId64 " are tolerated (data.max_bad)", bad, r->samples[set], what[set],
                                     limit);
        } else if (r->good[set] == 0) {
            r->ok = false;
            r->verdict = ct_asprintf("training would fail: no %s sample can be used", what[set]);
        }
    }
    if (r->ok) r->verdict = ct_asprintf("training can start with this data");
    return r->verdict ? CT_OK : CT_ENOMEM;
}

ct_status ct_check_run(const ct_check_spec *spec, ct_check_report *out)
{
    ct_status st = CT_OK;
    size_t cap = 0;
    check_job j = { .spec = spec, .sets = spec->val_path && spec->val_path[0] ? 2 : 1 };

    *out = (ct_check_report){ 0 };
    for (j.set = 0; j.set < j.sets; j.set++) {
        ct_scan *scan = &j.scan[j.set];
        CT_GOTO(st, ct_scan_folder(j.set ? spec->val_path : spec->data.path, &spec->data.label, scan));
        j.probe[j.set] = ct_calloc(scan->n, sizeof *j.probe[j.set], "samples");
        if (!j.probe[j.set]) {
            st = CT_ENOMEM;
            goto fail;
        }
        CT_GOTO(st, ct_parallel_for((int64_t)scan->n, spec->workers, probe_item, &j));
    }
    CT_GOTO(st, find_charset(&j, out));
    for (int set = 0; set < j.sets; set++) CT_GOTO(st, judge_set(&j, set, out, &cap));
    CT_GOTO(st, count_buckets(&j, out));
    CT_GOTO(st, list_steps(&j, out));
    CT_GOTO(st, count_sizes(&j, out));
    CT_GOTO(st, count_labels(&j, out));
    CT_GOTO(st, find_duplicates(&j, out));
    CT_GOTO(st, verdict(&j, out));
fail:
    for (int set = 0; set < 2; set++) {
        for (size_t i = 0; j.probe[set] && i < j.scan[set].n; i++) ct_free(j.probe[set][i].reason);
        ct_free(j.probe[set]);
        ct_scan_free(&j.scan[set]);
    }
    if (st != CT_OK) ct_check_free(out);
    return st;
}
