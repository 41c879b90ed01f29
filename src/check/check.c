#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "data/build.h"
#include "check/check.h"
#include "data/pictures.h"
#include "data/scan.h"
#include "base/workers.h"

/* What decoding found out about one sample. */
typedef struct probe {
    char *reason;     /* why it cannot be decoded */
    const char *fault; /* what is wrong with the label of a picture that can be used (seen) */
    int32_t w, h;     /* 0: not decodable */
    uint8_t hash[CT_HASH_BYTES]; /* of the RGB pixels */
    bool good;        /* judged usable */
    bool seen;        /* the picture can be used: the label was judged */
    bool coloured;    /* some pixel is not gray */
} probe;

typedef struct check_job {
    const ct_check_spec *spec;
    ct_scan scan[2];
    probe *probe[2];  /* [scan.n] */
    int sets;         /* 1 or 2 */
    int set;          /* the one being decoded */
    bool clips;       /* samples are clips */
    ct_pictures *pictures;
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
    for (int set = 0; set < 2; set++) ct_free(r->labels_from[set]);
    ct_free(r->buckets);
    ct_free(r->issues);
    ct_free(r->dups);
    ct_free(r->sizes);
    ct_free(r->verdict);
    ct_free(r->one_label);
    if (r->survey) r->survey->ops->close(r->survey);
    ct_labels_close(r->labels);
    *r = (ct_check_report){ 0 };
}

/* ---- decoding ---- */

static bool is_coloured(const ct_image *im)
{
    const size_t n = (size_t)im->w * (size_t)im->h * 3;
    for (size_t i = 0; i < n; i += 3)
        if (im->px[i] != im->px[i + 1] || im->px[i] != im->px[i + 2]) return true;
    return false;
}

/* Picture dir/name. CT_EIO and CT_EFORMAT are for p->reason; a later one of several must have the size of the first,
 * and the digest is of all so far. */
static ct_status probe_picture(const check_job *j, const char *dir, const char *name, bool first, probe *p)
{
    const ct_dataset_spec *s = &j->spec->data;
    ct_image_opts opts = { .channels = 3 };
    ct_image im;
    uint8_t both[2 * CT_HASH_BYTES];
    memcpy(opts.background, s->background, sizeof opts.background);
    uint8_t *data = NULL;
    size_t size = 0;
    char *path = ct_path_join(dir, name);
    if (!path) return CT_ENOMEM;
    ct_status st = ct_pictures_read(j->pictures, dir, name, &data, &size);
    if (st == CT_OK) st = ct_image_read_mem(data, size, path, &opts, &im);
    ct_free(data);
    if (st == CT_OK) {
        memcpy(both, p->hash, CT_HASH_BYTES);
        ct_hash(im.px, (size_t)im.w * (size_t)im.h * 3, both + CT_HASH_BYTES);
        if (first) memcpy(p->hash, both + CT_HASH_BYTES, CT_HASH_BYTES);
        else ct_hash(both, sizeof both, p->hash);
        p->coloured = p->coloured || is_coloured(&im);
        if (!first && (im.w != p->w || im.h != p->h))
            p->reason = ct_asprintf("frame %s has %dx%d pixels, the first one has %dx%d", name, im.w, im.h, p->w, p->h);
        if (!first && (im.w != p->w || im.h != p->h) && !p->reason) st = CT_ENOMEM;
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

static ct_status probe_item(void *user, int worker, int64_t i)
{
    check_job *j = user;
    const ct_scan *scan = &j->scan[j->set];
    const ct_sample *x = &scan->s[i];
    probe *p = &j->probe[j->set][i];
    (void)worker;
    if (!x->file) return CT_OK; /* the scan said why */
    if (j->clips && !x->frame) return CT_OK;
    if (!x->frame) return probe_picture(j, scan->dir, x->name, true, p);
    for (int64_t k = 0; k < x->frames && !p->reason; k++)
        CT_TRY(probe_picture(j, scan->dir, x->frame[k], k == 0, p));
    if (p->reason) p->w = p->h = 0;
    return CT_OK;
}

/* ---- issues ---- */

static int find_kind(const ct_check_report *r, const char *word)
{
    int k = 0;
    while (k < r->kinds && strcmp(r->kind[k].word, word) != 0) k++;
    return k;
}

int64_t ct_check_count(const ct_check_report *r, const char *kind)
{
    const int k = find_kind(r, kind);
    return k < r->kinds ? r->count[k] : 0;
}

static ct_status list_kinds(ct_check_report *r)
{
    const ct_label_fault *f = r->labels->ops->faults;
    r->kind[r->kinds++] = (ct_label_fault){ CT_ISSUE_UNREADABLE, "unreadable files" };
    r->kind[r->kinds++] = (ct_label_fault){ CT_ISSUE_LABEL, "files without a usable label" };
    for (; f && f->word; f++) {
        if (r->kinds == CT_ISSUE_KINDS - 1) return ct_fail(CT_EINTERNAL, "too many kinds of faults in labels");
        r->kind[r->kinds++] = *f;
    }
    r->kind[r->kinds++] = (ct_label_fault){ CT_ISSUE_SIZE, "pictures of another size" };
    return CT_OK;
}

static ct_status add_issue(ct_check_report *r, size_t *cap, const char *kind, int set, const char *name,
                           const char *reason)
{
    const int k = find_kind(r, kind);
    if (k == r->kinds) return ct_fail(CT_EINTERNAL, "a fault of kind '%s' in a label", kind);
    CT_TRY(ct_grow(&r->issues, r->n_issues, cap, sizeof *r->issues, "issues"));
    ct_issue x = { .kind = r->kind[k].word, .set = set };
    x.name = ct_strdup(name, "issue");
    x.reason = ct_strdup(reason, "issue");
    if (!x.name || !x.reason) {
        ct_free(x.name);
        ct_free(x.reason);
        return CT_ENOMEM;
    }
    r->issues[r->n_issues++] = x;
    r->count[k]++;
    return CT_OK;
}

/* Texts of the samples of a set that have a label; only of those that decode, if `decoded`. *out [*n] (ct_free()). */
static ct_status list_texts(const check_job *j, int set, bool decoded, const char ***out, int64_t *n)
{
    const ct_scan *s = &j->scan[set];
    const char **text = ct_calloc(s->n, sizeof *text, "labels");
    *out = text;
    *n = 0;
    if (!text) return CT_ENOMEM;
    for (size_t i = 0; i < s->n; i++) {
        if (!s->s[i].bad && (j->probe[set][i].w > 0 || !decoded)) text[(*n)++] = s->s[i].text;
    }
    return CT_OK;
}

/* The reader learns from the decodable samples of the first folder. */
static ct_status learn(const check_job *j, ct_check_report *r)
{
    const char **text;
    int64_t n;
    CT_TRY(list_texts(j, 0, true, &text, &n));
    ct_status st = r->labels->ops->learn(r->labels, text, n);
    ct_free((void *)text);
    return st;
}

/* A folder of its own has shapes of its own. */
static ct_status shape(const check_job *j, int set, ct_check_report *r)
{
    const char **text;
    int64_t n;
    if (!r->labels->ops->shape) return CT_OK;
    CT_TRY(list_texts(j, set, false, &text, &n));
    ct_status st = r->labels->ops->shape(r->labels, text, n);
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

/* Room for the fields of one sample. */
typedef struct scratch {
    void *row[CT_MAX_FIELDS];
} scratch;

static void scratch_free(scratch *s)
{
    for (int k = 0; k < CT_MAX_FIELDS; k++) ct_free(s->row[k]);
    *s = (scratch){ { NULL } };
}

static ct_status scratch_make(const ct_labels *l, scratch *s)
{
    *s = (scratch){ { NULL } };
    for (int k = 0; k < l->fields; k++) {
        if ((s->row[k] = ct_malloc(ct_field_bytes(&l->field[k]), "labels of samples"))) continue;
        scratch_free(s);
        return CT_ENOMEM;
    }
    return CT_OK;
}

/* The sample as its label is read. The picture's width is what a training would make of it. */
static ct_label_in label_of(const check_job *j, const ct_sample *x, const probe *p, int w, int h)
{
    ct_dataset_spec s = j->spec->data;
    ct_label_in in = { .name = x->name, .text = x->text, .frames = x->frame ? (int)x->frames : 1, .width = p->w,
                       .height = p->h, .from_width = p->w, .from_height = p->h };
    ct_fit_of(&s, 0, 0, &in.fit);
    if (x->frame && s.max_frames > 0 && s.max_frames < in.frames) in.frames = s.max_frames;
    if (!j->spec->with_config) return in;
    s.width = w;
    s.height = in.height = h;
    in.width = ct_fit_width(&s, p->w, p->h);
    ct_fit_of(&s, p->w, p->h, &in.fit);
    return in;
}

/* What is wrong with sample x; *why is an own string, NULL if nothing is. */
static ct_status judge_sample(const check_job *j, const ct_labels *l, const ct_sample *x, probe *p, int w, int h,
                              const scratch *to, const char **kind, char **why)
{
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
    if (j->spec->with_config && j->spec->data.size_rule == CT_SIZE_REFUSE && (p->w != w || p->h != h)) {
        *kind = CT_ISSUE_SIZE;
        *why = ct_asprintf("the picture is %dx%d, %dx%d is expected (size rule: refuse)", p->w, p->h, w, h);
        return *why ? CT_OK : CT_ENOMEM;
    }
    const ct_label_in in = label_of(j, x, p, w, h);
    ct_status st = l->ops->encode(l, &in, to->row);
    p->seen = st == CT_OK || st == CT_EDATA;
    if (st != CT_EDATA) return st;
    if (!(*why = ct_reason_dup(x->name))) return CT_ENOMEM;
    *kind = p->fault = l->ops->fault ? l->ops->fault(l, &in) : CT_ISSUE_LABEL;
    return CT_OK;
}

static ct_status judge_all(const check_job *j, int set, ct_check_report *r, const scratch *to, size_t *cap)
{
    const ct_scan *scan = &j->scan[set];
    int w, h;
    expected_size(j, set, &w, &h);
    r->samples[set] = (int64_t)scan->n;
    r->ignored[set] = scan->ignored + scan->folders;
    for (size_t i = 0; i < scan->n; i++) {
        const char *kind = CT_ISSUE_UNREADABLE;
        char *why;
        CT_TRY(judge_sample(j, r->labels, &scan->s[i], &j->probe[set][i], w, h, to, &kind, &why));
        if (why) {
            ct_status st = add_issue(r, cap, kind, set, scan->s[i].name, why);
            ct_free(why);
            CT_TRY(st);
        } else {
            r->good[set]++;
            r->coloured += j->probe[set][i].coloured;
            j->probe[set][i].good = true;
        }
    }
    return CT_OK;
}

static ct_status judge_set(const check_job *j, int set, ct_check_report *r, size_t *cap)
{
    scratch to;
    CT_TRY(shape(j, set, r));
    CT_TRY(scratch_make(r->labels, &to));
    ct_status st = judge_all(j, set, r, &to, cap);
    scratch_free(&to);
    return st;
}

/* The reader's own part: every sample that has a label. */
static ct_status survey(const check_job *j, ct_check_report *r)
{
    if (!r->labels->ops->survey) return CT_OK;
    CT_TRY(r->labels->ops->survey(r->labels, &r->survey));
    for (int set = 0; set < j->sets; set++) {
        int w, h;
        expected_size(j, set, &w, &h);
        for (size_t i = 0; i < j->scan[set].n; i++) {
            const ct_sample *x = &j->scan[set].s[i];
            const probe *p = &j->probe[set][i];
            if (x->bad) continue;
            ct_label_in in = { .name = x->name, .text = x->text };
            if (p->seen) in = label_of(j, x, p, w, h);
            CT_TRY(r->survey->ops->add(r->survey, set, &in, p->fault));
        }
    }
    return CT_OK;
}

/* ---- buckets ---- */

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

/* ---- sizes ---- */

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
    if (kinds == 0) return CT_OK;
    /* there are few, and this block had room for one of each sample */
    ct_size_count *few = ct_realloc(r->sizes, kinds, sizeof *few, "sizes");
    if (!few) return CT_ENOMEM;
    r->sizes = few;
    return CT_OK;
}

/* ---- duplicates ---- */

typedef struct twin { const probe *p; const ct_sample *s; int set; } twin;

static int by_pixels(const void *a, const void *b)
{
    const twin *x = a, *y = b;
    int c = memcmp(x->p->hash, y->p->hash, CT_HASH_BYTES);
    if (c) return c;
    return x->p->w != y->p->w ? (x->p->w < y->p->w ? -1 : 1) : x->p->h < y->p->h ? -1 : x->p->h > y->p->h;
}

static int by_pixels_then_place(const void *a, const void *b)
{
    const twin *x = a, *y = b;
    int c = by_pixels(a, b);
    return c ? c : x->set != y->set ? x->set - y->set : x->s < y->s ? -1 : x->s > y->s;
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
            if (j->probe[set][i].w > 0 && !again) t[n++] = (twin){ &j->probe[set][i], s, set };
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

/* One label for all is more likely a rule that does not suit the files than what is wanted. */
static ct_status warn_of_one_label(const check_job *j, ct_check_report *r)
{
    const char *first = NULL;
    for (size_t i = 0; i < j->scan[0].n; i++) {
        if (!j->probe[0][i].good) continue;
        if (!first) first = j->scan[0].s[i].text;
        else if (strcmp(first, j->scan[0].s[i].text) != 0) return CT_OK;
    }
    if (!first || !*first || r->good[0] < 2) return CT_OK;
    ct_warn("%s: all %" PRId64 " usable samples have the label \"%s\"", ct_scan_place(&j->scan[0]),
            r->good[0], first);
    return (r->one_label = ct_strdup(first, "label")) ? CT_OK : CT_ENOMEM;
}

static ct_status verdict(const check_job *j, ct_check_report *r)
{
    static const char *const what[2] = { "training", "validation" };
    int64_t limit = j->spec->data.max_bad;
    r->ok = true;
    CT_TRY(warn_of_one_label(j, r));
    if (!j->spec->with_config) {
        const int64_t bad = ct_check_count(r, CT_ISSUE_UNREADABLE);
        r->ok = bad == 0 && r->good[0] > 0;
        if (r->ok && r->survey && r->survey->ops->object) CT_TRY(r->survey->ops->object(r->survey, &r->verdict));
        if (r->verdict) r->ok = false;
        else if (r->ok && r->good[0] == r->samples[0]) r->verdict = ct_asprintf("every picture can be read");
        else if (r->ok)
            r->verdict = ct_asprintf("every picture can be read, but %" PRId64 " of %" PRId64 " samples ha%s no usable "
                                     "label", r->samples[0] - r->good[0], r->samples[0],
                                     r->samples[0] - r->good[0] == 1 ? "s" : "ve");
        else if (bad == 0) r->verdict = ct_asprintf("no sample can be used");
        else r->verdict = ct_asprintf("%" PRId64 " file%s cannot be read", bad, bad == 1 ? "" : "s");
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
    if (r->ok && r->survey && r->survey->ops->object) {
        CT_TRY(r->survey->ops->object(r->survey, &r->verdict));
        r->ok = !r->verdict;
    }
    if (r->ok) r->verdict = ct_asprintf("training can start with this data");
    return r->verdict ? CT_OK : CT_ENOMEM;
}

ct_status ct_check_run(const ct_check_spec *spec, ct_labels *labels, ct_check_report *out)
{
    ct_status st = CT_OK;
    size_t cap = 0;
    check_job j = { .spec = spec, .sets = spec->val_path && spec->val_path[0] ? 2 : 1,
                    .clips = labels->clip.multiple > 0 };

    *out = (ct_check_report){ .labels = labels };
    CT_GOTO(st, list_kinds(out));
    CT_GOTO(st, ct_pictures_open(&j.pictures));
    for (j.set = 0; j.set < j.sets; j.set++) {
        ct_scan *scan = &j.scan[j.set];
        CT_GOTO(st, ct_scan_sources(labels, j.set ? spec->val_path : spec->data.path, scan));
        out->labels_from[j.set] = ct_strdup(scan->label_file ? scan->label_file : CT_LABELS_FROM_NAMES, "label file");
        if (!out->labels_from[j.set]) CT_GOTO(st, CT_ENOMEM);
        j.probe[j.set] = ct_calloc(scan->n, sizeof *j.probe[j.set], "samples");
        if (!j.probe[j.set]) {
            st = CT_ENOMEM;
            goto fail;
        }
        ct_pace pace = ct_pace_begin("reading the pictures", (int64_t)scan->n);
        CT_GOTO(st, ct_parallel_for((int64_t)scan->n, spec->workers, probe_item, &j, &pace));
    }
    CT_GOTO(st, learn(&j, out));
    for (int set = 0; set < j.sets; set++) CT_GOTO(st, judge_set(&j, set, out, &cap));
    CT_GOTO(st, count_buckets(&j, out));
    CT_GOTO(st, survey(&j, out));
    CT_GOTO(st, count_sizes(&j, out));
    CT_GOTO(st, find_duplicates(&j, out));
    CT_GOTO(st, verdict(&j, out));
fail:
    ct_pictures_close(j.pictures);
    for (int set = 0; set < 2; set++) {
        for (size_t i = 0; j.probe[set] && i < j.scan[set].n; i++) ct_free(j.probe[set][i].reason);
        ct_free(j.probe[set]);
        ct_scan_free(&j.scan[set]);
    }
    if (st != CT_OK) ct_check_free(out);
    return st;
}
