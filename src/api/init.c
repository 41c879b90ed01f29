/* captrain init: a configuration for a folder of labelled pictures, with a reason for every key. */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/look.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/sized.h"
#include "base/text.h"
#include "captrain.h"
#include "lists/label_files.h"

/* A key that is written, and why. */
typedef struct line {
    char *key, *set, *why; /* set: "key=value", as --set has it */
} line;

typedef struct draft {
    const ct_init_opts *o;
    char *data, *val, *test; /* owned; val, test: beside data, NULL: there are none */
    const ct_task *task;
    line *at; /* [n] */
    size_t n, cap;
} draft;

static void draft_free(draft *d)
{
    for (size_t i = 0; i < d->n; i++) {
        ct_free(d->at[i].key);
        ct_free(d->at[i].set);
        ct_free(d->at[i].why);
    }
    ct_free(d->at);
    ct_free(d->data);
    ct_free(d->val);
    ct_free(d->test);
}

static ct_status put(void *user, const char *key, const char *value, const char *why)
{
    draft *d = user;
    CT_TRY(ct_grow(&d->at, d->n, &d->cap, sizeof *d->at, "keys"));
    line *l = &d->at[d->n++];
    *l = (line){ .key = ct_strdup(key, "key"), .set = ct_asprintf("%s=%s", key, value), .why = ct_strdup(why, "key") };
    return l->key && l->set && l->why ? CT_OK : CT_ENOMEM;
}

/* ---- where samples are ---- */

/* The last part of a path without slashes behind it: *n bytes. */
static const char *base_of(const char *path, size_t *n)
{
    size_t end = strlen(path), at;
    while (end > 1 && path[end - 1] == '/') end--;
    for (at = end; at > 0 && path[at - 1] != '/';) at--;
    *n = end - at;
    return path + at;
}

/* What stands beside `path` under its name with another word for "train": *out NULL where there is none. */
static ct_status beside(const char *path, const char *const words[], char **out)
{
    size_t n;
    const char *base = base_of(path, &n), *train = strstr(base, "train");
    *out = NULL;
    if (!train || train >= base + n) return CT_OK;
    const char *rest = train + strlen(strncmp(train, "training", 8) == 0 ? "training" : "train");
    for (; *words; words++) {
        char *maybe = ct_asprintf("%.*s%s%.*s", (int)(train - path), path, *words, (int)(base + n - rest), rest);
        if (!maybe) return CT_ENOMEM;
        if (ct_path_is_dir(maybe) || ct_path_is_file(maybe)) {
            *out = maybe;
            return CT_OK;
        }
        ct_free(maybe);
    }
    return CT_OK;
}

/* A folder that has no samples of its own, but a folder of training samples. */
static ct_status inner(const char *path, char **out)
{
    static const char *const name[] = { "train", "training" };
    char kind, *list = NULL;
    *out = NULL;
    if (!ct_path_is_dir(path)) return CT_OK;
    for (int i = 0; i < 2; i++) {
        char *dir = ct_path_join(path, name[i]);
        if (!dir) return CT_ENOMEM;
        if (ct_path_is_dir(dir)) {
            *out = dir;
            break;
        }
        ct_free(dir);
    }
    if (!*out) return CT_OK;
    ct_status st = ct_label_file_find(path, &list, &kind);
    if (st != CT_OK || list || ct_look_pictures(path)) {
        ct_free(*out);
        *out = NULL;
    }
    ct_free(list);
    return st;
}

static ct_status find_sets(draft *d)
{
    static const char *const val[] = { "val", "valid", "validation", "dev", "eval", NULL };
    static const char *const test[] = { "test", "testing", NULL };
    if (strncmp(d->o->data, "synth:", 6) == 0)
        return ct_fail(CT_ECONFIG, "init: %s is drawn; `captrain help config` has the keys data.synth, and examples/ "
                       "configurations", d->o->data);
    if (!d->o->labels) CT_TRY(inner(d->o->data, &d->data));
    if (!d->data && !(d->data = ct_strdup(d->o->data, "path"))) return CT_ENOMEM;
    for (size_t n = strlen(d->data); n > 1 && d->data[n - 1] == '/';) d->data[--n] = '\0';
    CT_TRY(beside(d->data, val, &d->val));
    return beside(d->data, test, &d->test);
}

/* ---- what is written ---- */

/* The share that is held out: a hundred pictures say enough, and few ones are needed for training. */
static ct_status put_sources(draft *d, int64_t n, double *share)
{
    char value[32], why[160];
    CT_TRY(put(d, "data.train", d->data, "where the samples are, from the working directory; more are put in a list"));
    *share = d->val || n < 2 ? 0 : n < 100 ? 0.2 : n < 2000 ? 0.1 : 0.05;
    if (d->val) return put(d, "data.val", d->val, "found beside data.train: chooses the best weights");
    snprintf(value, sizeof value, "%g", *share);
    snprintf(why, sizeof why, n < 2 ? "a single sample cannot be split: trained without validation"
                                    : "held out, by lot: there is no folder of validation samples beside data.train");
    return put(d, "data.val_fraction", value, why);
}

static ct_status compose(draft *d, const ct_check_report *r)
{
    double share;
    char name[64];
    size_t n;
    if (!d->task->propose)
        return ct_fail(CT_ECONFIG, "init: no configuration is known for samples of %s models", d->task->name);
    ct_seen_size *size = ct_calloc(r->n_sizes, sizeof *size, "sizes");
    if (!size) return CT_ENOMEM;
    for (size_t i = 0; i < r->n_sizes; i++)
        size[i] = (ct_seen_size){ r->sizes[i].w, r->sizes[i].h, r->sizes[i].n };
    const char *base = base_of(d->o->data, &n);
    snprintf(name, sizeof name, "%.*s", (int)(n < 40 ? n : 40), base);
    ct_status st = put(d, "name", n == 0 || strspn(name, "./") == strlen(name) ? "init" : name,
                       "of the run: its folder is runs/<date>-<name>");
    if (st == CT_OK) st = put_sources(d, r->good[0], &share);
    const ct_seen seen = { .samples = r->good[0] - (st == CT_OK ? (int64_t)((double)r->good[0] * share) : 0),
                           .size = size, .sizes = r->n_sizes, .coloured = r->coloured > 0, .labels = d->o->labels,
                           .reader = r->labels, .survey = r->survey };
    if (st == CT_OK) st = d->task->propose(&seen, put, d);
    ct_free(size);
    return st;
}

/* ---- as text ---- */

/* Bytes of a key's section: 4 of data.train, 0 of name. */
static size_t section_of(const char *key)
{
    const char *dot = strchr(key, '.');
    return dot ? (size_t)(dot - key) : 0;
}

static bool same_section(const line *a, const line *b)
{
    const size_t n = section_of(a->key);
    return n > 0 && n == section_of(b->key) && memcmp(a->key, b->key, n) == 0;
}

/* What cannot be written leaves ferror() true, whatever a compiler makes of fprintf(). */
static void say(FILE *to, const char *fmt, ...) CT_PRINTF(2, 3);
static void say(FILE *to, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vfprintf(to, fmt, ap);
    va_end(ap);
}

/* Text from outside, in the line it stands in. */
static void print_shown(FILE *to, const char *text)
{
    char shown[4096];
    say(to, "%s", ct_text_visible(text, shown, sizeof shown));
}

/* The reason, and the key. */
static ct_status write_line(const line *l, const ct_config *cfg, FILE *to)
{
    const size_t n = section_of(l->key);
    char *value = ct_config_value(cfg, l->key);
    if (!value) return CT_ENOMEM;
    say(to, "%s# ", n > 0 ? "  " : "");
    print_shown(to, l->why);
    say(to, "\n%s%s: %s\n", n > 0 ? "  " : "", l->key + (n > 0 ? n + 1 : 0), value);
    ct_free(value);
    return CT_OK;
}

/* The section that line i is the first of; nothing for the others. */
static ct_status write_section(const draft *d, size_t i, const ct_config *cfg, FILE *to)
{
    const line *first = &d->at[i];
    for (size_t k = 0; k < i; k++)
        if (same_section(&d->at[k], first)) return CT_OK;
    if (section_of(first->key) == 0) return write_line(first, cfg, to);
    say(to, "\n%.*s:\n", (int)section_of(first->key), first->key);
    for (size_t k = i; k < d->n; k++)
        if (same_section(&d->at[k], first)) CT_TRY(write_line(&d->at[k], cfg, to));
    return CT_OK;
}

static ct_status write_text(const draft *d, const ct_config *cfg, const ct_check_report *r, char **text, size_t *size)
{
    *text = NULL;
    FILE *to = open_memstream(text, size);
    if (!to) return ct_fail(CT_ENOMEM, "out of memory writing a configuration");
    say(to, "# %" PRId64 " samples of ", r->good[0]);
    print_shown(to, d->data);
    say(to, ", labels from ");
    print_shown(to, r->labels_from[0]);
    say(to, ".\n# Each key has its reason above it; `captrain help config` lists all there are.\n");
    if (d->test) {
        say(to, "# Not used here: ");
        print_shown(to, d->test);
        say(to, "; for `captrain eval RUN ...` when training is done.\n");
    }
    say(to, "\n");
    ct_status st = CT_OK;
    for (size_t i = 0; st == CT_OK && i < d->n; i++) st = write_section(d, i, cfg, to);
    const ct_status closed = ct_memstream_close(to, "a configuration");
    if (st == CT_OK) st = closed;
    if (st == CT_OK) return CT_OK;
    ct_free(*text);
    *text = NULL;
    return st;
}

/* The draft as a configuration, and as the text that says the same. */
static ct_status settle(const draft *d, const ct_check_report *r, const char *out, char **text, size_t *size,
                        ct_config **cfg)
{
    ct_config *drawn = NULL;
    const char **set = ct_calloc(d->n + 1, sizeof *set, "keys");
    ct_status st = set ? CT_OK : CT_ENOMEM;
    for (size_t i = 0; set && i < d->n; i++) set[i] = d->at[i].set;
    if (st == CT_OK) st = ct_config_parse("", 0, "init", set, d->n, &drawn);
    if (st == CT_OK) st = write_text(d, drawn, r, text, size);
    if (st == CT_OK) st = ct_config_parse(*text, *size, out, NULL, 0, cfg);
    if (st == CT_OK && !ct_config_equal(drawn, *cfg))
        st = ct_fail(CT_EINTERNAL, "%s: the text of the configuration does not say what was meant", out);
    ct_config_free(drawn);
    ct_free(set);
    return st;
}

/* ---- the verb ---- */

static ct_status refuse(const draft *d, const ct_check_report *r)
{
    if (!r->ok)
        return ct_fail(CT_EDATA, "%s: %s; nothing is written (`captrain check` tells all of it)", d->data,
                       r->verdict ? r->verdict : "cannot be used");
    if (r->one_label)
        return ct_fail(CT_EDATA, "%s: all %" PRId64 " usable samples have the label \"%s\", taken from %s: there is "
                       "nothing to learn, and nothing is written; a file labels.csv with lines `name,label` says the "
                       "right ones", d->data, r->good[0], r->one_label, r->labels_from[0]);
    return CT_OK;
}

static ct_status make(draft *d, const char *out, FILE *to)
{
    const ct_check_opts look = { .size = sizeof look, .data = d->data, .labels = d->o->labels,
                                 .threads = d->o->threads };
    ct_check_report r = { 0 }, tried = { 0 };
    ct_config *cfg = NULL;
    char *text = NULL;
    size_t size = 0;
    ct_status st;
    CT_GOTO(st, ct_look_task(&look, &d->task));
    CT_GOTO(st, ct_look_judge(&look, d->val, NULL, &r));
    CT_GOTO(st, refuse(d, &r));
    CT_GOTO(st, compose(d, &r));
    CT_GOTO(st, settle(d, &r, out, &text, &size, &cfg));
    if (d->o->backend) CT_GOTO(st, ct_config_set(cfg, "train.backend", d->o->backend, "--backend"));
    CT_GOTO(st, ct_look_judge(&look, NULL, cfg, &tried));
    CT_GOTO(st, refuse(d, &tried));
    CT_GOTO(st, ct_file_write_atomic(out, text, size));
    print_shown(to, out);
    say(to, ": trains %s with %" PRId64 " samples, labels from ", cfg->model.name, r.good[0]);
    print_shown(to, r.labels_from[0]);
    say(to, "; next: captrain train ");
    print_shown(to, out);
    say(to, "\n");
fail:
    ct_free(text);
    ct_config_free(cfg);
    ct_check_free(&tried);
    ct_check_free(&r);
    return st;
}

/* NAME.yaml in the working directory; NAME of what is looked at, without the suffix of a file. ct_free(). */
static char *usual_name(const char *data)
{
    size_t n;
    const char *base = base_of(data, &n);
    const bool nameless = n == 0 || strspn(base, "./") >= n;
    if (!ct_path_is_dir(data))
        for (size_t k = n; k-- > 1;)
            if (base[k] == '.') {
                n = k;
                break;
            }
    return nameless ? ct_strdup("captrain.yaml", "path") : ct_asprintf("%.*s.yaml", (int)n, base);
}

ct_status ct_run_init(const ct_init_opts *given, FILE *to)
{
    ct_init_opts own;
    CT_TRY(ct_sized_take(&own, sizeof own, given, "ct_init_opts"));
    draft d = { .o = &own };
    if (!own.data || !*own.data) return ct_fail(CT_EINVAL, "no folder is given");
    char *out = own.out ? ct_strdup(own.out, "path") : usual_name(own.data);
    ct_status st = out ? CT_OK : CT_ENOMEM;
    if (st == CT_OK && ct_path_exists(out))
        st = ct_fail(CT_EIO, "%s: exists and is not overwritten; --out names another file", out);
    if (st == CT_OK) st = find_sets(&d);
    if (st == CT_OK) st = make(&d, out, to);
    draft_free(&d);
    ct_free(out);
    return st;
}
