#include "config.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/text.h"
#include "check/check.h"

/* ---- text ---- */

static const char *set_mark(const ct_check_report *r, int set)
{
    return r->samples[1] == 0 ? "" : set ? "validation/" : "training/";
}

static void print_issues(const ct_check_report *r, FILE *out)
{
    for (int kind = 0; kind < r->kinds; kind++) {
        if (r->count[kind] == 0) continue;
        fprintf(out, "\n%s: %" PRId64 "\n", r->kind[kind].title, r->count[kind]);
        int64_t shown = 0;
        for (size_t i = 0; i < r->n_issues; i++) {
            if (strcmp(r->issues[i].kind, r->kind[kind].word) != 0) continue;
            if (shown++ == CT_BAD_SHOWN) {
                fprintf(out, "  and %" PRId64 " more (--json lists all)\n", r->count[kind] - CT_BAD_SHOWN);
                break;
            }
            fprintf(out, "  %s", set_mark(r, r->issues[i].set));
            ct_text_put(out, r->issues[i].name, false);
            fputs(": ", out);
            ct_text_put(out, r->issues[i].reason, false);
            fputc('\n', out);
        }
    }
}

static void print_duplicates(const ct_check_report *r, FILE *out)
{
    if (r->n_dups == 0) {
        fprintf(out, "\nduplicates: none\n");
        return;
    }
    fprintf(out, "\nduplicates: %zu groups of equal pictures, %" PRId64 " pictures too many; %" PRId64
            " groups with different labels", r->n_dups, r->dup_samples, r->dup_conflicts);
    if (r->samples[1] > 0) fprintf(out, "; %" PRId64 " groups across training and validation", r->dup_across);
    fprintf(out, "\n");
    for (size_t i = 0; i < r->n_dups; i++) {
        const ct_dup_group *g = &r->dups[i];
        if (i == CT_BAD_SHOWN) {
            fprintf(out, "  and %zu more (--json lists all)\n", r->n_dups - i);
            break;
        }
        fprintf(out, " ");
        for (int64_t k = 0; k < g->n && k < 8; k++) {
            fprintf(out, " %s", set_mark(r, g->set[k]));
            ct_text_put(out, g->name[k], false);
        }
        if (g->n > 8) fprintf(out, " and %" PRId64 " more", g->n - 8);
        fprintf(out, "%s", g->conflict ? "  [different labels]" : "");
        fprintf(out, "%s\n", g->across ? "  [training and validation]" : "");
    }
}

static void print_buckets(const ct_check_report *r, FILE *out)
{
    if (r->n_buckets > 0) fprintf(out, "\nbuckets (width, usable samples, share of padding):\n");
    for (size_t i = 0; i < r->n_buckets; i++) {
        fprintf(out, "  %5d         %8" PRId64 "  %5.1f %%\n", r->buckets[i].width, r->buckets[i].n,
                100 * r->buckets[i].padding);
    }
}

static void print_sizes(const ct_check_report *r, FILE *out)
{
    fprintf(out, "\nsizes (width x height):\n");
    for (size_t i = 0; i < r->n_sizes; i++) {
        if (i == CT_BAD_SHOWN) {
            fprintf(out, "  and %zu more sizes\n", r->n_sizes - i);
            break;
        }
        fprintf(out, "  %5d x %-5d %8" PRId64 "\n", r->sizes[i].w, r->sizes[i].h, r->sizes[i].n);
    }
}

static void print_survey(const ct_check_report *r, ct_survey_part part, FILE *out)
{
    const char *const mark[2] = { set_mark(r, 0), set_mark(r, 1) };
    if (r->survey) r->survey->ops->print(r->survey, part, mark, out);
}

void ct_check_print(const ct_check_report *r, FILE *out)
{
    static const char *const what[2] = { "samples", "validation" };
    for (int set = 0; set < 2; set++) {
        if (set == 1 && r->samples[1] == 0) break;
        fprintf(out, "%s: %" PRId64 ", usable: %" PRId64 ", other files and folders: %" PRId64 "\n", what[set],
                r->samples[set], r->good[set], r->ignored[set]);
        fputs("labels from: ", out);
        ct_text_put(out, r->labels_from[set], false);
        fputc('\n', out);
    }
    print_issues(r, out);
    print_duplicates(r, out);
    print_sizes(r, out);
    print_survey(r, CT_SURVEY_LABELS, out);
    print_buckets(r, out);
    print_survey(r, CT_SURVEY_FIT, out);
    fprintf(out, "\n%s: ", r->ok ? "good" : "NOT GOOD");
    ct_text_put(out, r->verdict, true);
    fputc('\n', out);
}

/* ---- JSON ---- */

/* Takes v over; a NULL v (no memory) or a failing insertion clears *ok. */
static void put(json_t *o, const char *key, json_t *v, bool *ok)
{
    if (!v || json_object_set_new(o, key, v) != 0) *ok = false;
}

static void push(json_t *a, json_t *v, bool *ok)
{
    if (!v || json_array_append_new(a, v) != 0) *ok = false;
}

static json_t *pair_of_sets(const int64_t v[2], bool *ok)
{
    json_t *o = json_object();
    put(o, "train", json_integer(v[0]), ok);
    put(o, "val", json_integer(v[1]), ok);
    return o;
}

static json_t *labels_from_json(const ct_check_report *r, bool *ok)
{
    json_t *o = json_object();
    for (int set = 0; set < 2; set++)
        put(o, set ? "val" : "train", r->labels_from[set] ? ct_json_any(r->labels_from[set]) : json_null(), ok);
    return o;
}

static const char *set_name(int set)
{
    return set ? "val" : "train";
}

static json_t *issues_json(const ct_check_report *r, bool *ok)
{
    json_t *a = json_array();
    for (size_t i = 0; i < r->n_issues; i++) {
        json_t *o = json_object();
        put(o, "kind", json_string(r->issues[i].kind), ok);
        put(o, "set", json_string(set_name(r->issues[i].set)), ok);
        put(o, "file", ct_json_any(r->issues[i].name), ok);
        put(o, "reason", ct_json_any(r->issues[i].reason), ok);
        push(a, o, ok);
    }
    return a;
}

static json_t *duplicates_json(const ct_check_report *r, bool *ok)
{
    json_t *a = json_array();
    for (size_t i = 0; i < r->n_dups; i++) {
        const ct_dup_group *g = &r->dups[i];
        json_t *o = json_object(), *files = json_array();
        for (int64_t k = 0; k < g->n; k++) {
            json_t *f = json_object();
            put(f, "set", json_string(set_name(g->set[k])), ok);
            put(f, "file", ct_json_any(g->name[k]), ok);
            put(f, "label", ct_json_any(g->text[k]), ok);
            push(files, f, ok);
        }
        put(o, "files", files, ok);
        put(o, "different_labels", json_boolean(g->conflict), ok);
        put(o, "across", json_boolean(g->across), ok);
        push(a, o, ok);
    }
    return a;
}

static json_t *sizes_json(const ct_check_report *r, bool *ok)
{
    json_t *a = json_array();
    for (size_t i = 0; i < r->n_sizes; i++) {
        json_t *o = json_object();
        put(o, "width", json_integer(r->sizes[i].w), ok);
        put(o, "height", json_integer(r->sizes[i].h), ok);
        put(o, "count", json_integer(r->sizes[i].n), ok);
        push(a, o, ok);
    }
    return a;
}

static json_t *buckets_json(const ct_check_report *r, bool *ok)
{
    json_t *a = json_array();
    for (size_t i = 0; i < r->n_buckets; i++) {
        json_t *o = json_object();
        put(o, "width", json_integer(r->buckets[i].width), ok);
        put(o, "count", json_integer(r->buckets[i].n), ok);
        put(o, "padding", json_real(r->buckets[i].padding), ok);
        push(a, o, ok);
    }
    return a;
}

static void put_survey(const ct_check_report *r, ct_survey_part part, json_t *root, bool *ok)
{
    if (r->survey && r->survey->ops->json(r->survey, part, root) != CT_OK) *ok = false;
}

ct_status ct_check_write_json(const ct_check_report *r, FILE *out)
{
    bool ok = true;
    json_t *root = json_object(), *counts = json_object();
    put(root, "ok", json_boolean(r->ok), &ok);
    put(root, "verdict", ct_json_any(r->verdict), &ok);
    put(root, "samples", pair_of_sets(r->samples, &ok), &ok);
    put(root, "labels_from", labels_from_json(r, &ok), &ok);
    put(root, "usable", pair_of_sets(r->good, &ok), &ok);
    put(root, "other_files", pair_of_sets(r->ignored, &ok), &ok);
    for (int kind = 0; kind < r->kinds; kind++) put(counts, r->kind[kind].word, json_integer(r->count[kind]), &ok);
    put(root, "counts", counts, &ok);
    put(root, "issues", issues_json(r, &ok), &ok);
    put(root, "duplicate_samples", json_integer(r->dup_samples), &ok);
    put(root, "duplicate_conflicts", json_integer(r->dup_conflicts), &ok);
    put(root, "duplicate_across", json_integer(r->dup_across), &ok);
    put(root, "duplicates", duplicates_json(r, &ok), &ok);
    put(root, "sizes", sizes_json(r, &ok), &ok);
    put_survey(r, CT_SURVEY_LABELS, root, &ok);
    put(root, "buckets", buckets_json(r, &ok), &ok);
    put_survey(r, CT_SURVEY_FIT, root, &ok);

    ct_status st = CT_OK;
    if (!ok) {
        st = ct_fail(CT_ENOMEM, "out of memory while writing JSON");
    } else if ((st = ct_json_print(root, 0, out)) == CT_OK && ferror(out)) {
        st = ct_fail(CT_EIO, "the report cannot be written");
    }
    json_decref(root);
    return st;
}
