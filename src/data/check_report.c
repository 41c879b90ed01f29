#include "config.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "data/check.h"

static const char *const kind_names[CT_ISSUE_KINDS] = { "unreadable", "label", "charset", "length", "steps", "size" };
static const char *const kind_titles[CT_ISSUE_KINDS] = {
    "unreadable files", "files without a usable label", "labels outside the charset", "labels of the wrong length",
    "labels that need more time steps (CTC) than their pictures give", "pictures of another size",
};

/* ---- text ---- */

static const char *set_mark(const ct_check_report *r, int set)
{
    return r->samples[1] == 0 ? "" : set ? "validation/" : "training/";
}

static void print_issues(const ct_check_report *r, FILE *out)
{
    for (int kind = 0; kind < CT_ISSUE_KINDS; kind++) {
        if (r->count[kind] == 0) continue;
        fprintf(out, "\n%s: %" PRId64 "\n", kind_titles[kind], r->count[kind]);
        int64_t shown = 0;
        for (size_t i = 0; i < r->n_issues; i++) {
            if ((int)r->issues[i].kind != kind) continue;
            if (shown++ == CT_BAD_SHOWN) {
                fprintf(out, "  and %" PRId64 " more (--json lists all)\n", r->count[kind] - CT_BAD_SHOWN);
                break;
            }
            fprintf(out, "  %s%s: %s\n", set_mark(r, r->issues[i].set), r->issues[i].name, r->issues[i].reason);
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
        for (int64_t k = 0; k < g->n && k < 8; k++) fprintf(out, " %s%s", set_mark(r, g->set[k]), g->name[k]);
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

/* How much room CTC has: labels that only just fit are hard to learn. */
static void print_steps(const ct_check_report *r, FILE *out)
{
    int64_t tight = 0, fits = 0;
    const ct_step_count *least = NULL; /* of those that fit, the one with the fewest steps to spare */
    for (size_t i = 0; i < r->n_steps; i++) {
        const ct_step_count *c = &r->steps[i];
        if (c->needs > c->gives) continue;
        fits++;
        tight += c->gives == c->needs;
        if (!least || c->gives - c->needs < least->gives - least->needs) least = c;
    }
    if (r->n_steps == 0) return;
    fprintf(out, "\ntime steps (CTC): %" PRId64 " of %zu labels fit their pictures, %" PRId64 " with none to spare\n",
            fits, r->n_steps, tight);
    if (least) {
        fprintf(out, "  tightest: %s%s needs %d of %" PRId64 "\n", set_mark(r, least->set), least->name, least->needs,
                least->gives);
    }
}

static void print_histograms(const ct_check_report *r, FILE *out)
{
    fprintf(out, "\nsizes (width x height):\n");
    for (size_t i = 0; i < r->n_sizes; i++) {
        if (i == CT_BAD_SHOWN) {
            fprintf(out, "  and %zu more sizes\n", r->n_sizes - i);
            break;
        }
        fprintf(out, "  %5d x %-5d %8" PRId64 "\n", r->sizes[i].w, r->sizes[i].h, r->sizes[i].n);
    }
    fprintf(out, "\nlabel lengths (characters):\n");
    for (int i = 0; i <= CT_LABEL_MAX; i++) {
        if (r->lengths[i] > 0) fprintf(out, "  %5d         %8" PRId64 "\n", i, r->lengths[i]);
    }
    fprintf(out, "\ncharset, %d characters: %s\n", r->charset.n, r->charset.utf8 ? r->charset.utf8 : "");
    int64_t least = INT64_MAX, most = 0;
    uint32_t least_cp = 0, most_cp = 0;
    for (size_t i = 0; i < r->n_chars; i++) {
        if (r->chars[i].n < least) {
            least = r->chars[i].n;
            least_cp = r->chars[i].cp;
        }
        if (r->chars[i].n > most) {
            most = r->chars[i].n;
            most_cp = r->chars[i].cp;
        }
    }
    if (r->n_chars > 0) {
        char a[32], b[32];
        fprintf(out, "rarest: %s, %" PRId64 " times; most frequent: %s, %" PRId64 " times\n",
                ct_utf8_show(least_cp, a), least, ct_utf8_show(most_cp, b), most);
    }
}

void ct_check_print(const ct_check_report *r, FILE *out)
{
    static const char *const what[2] = { "samples", "validation" };
    for (int set = 0; set < 2; set++) {
        if (set == 1 && r->samples[1] == 0) break;
        fprintf(out, "%s: %" PRId64 ", usable: %" PRId64 ", other files and folders: %" PRId64 "\n", what[set],
                r->samples[set], r->good[set], r->ignored[set]);
    }
    print_issues(r, out);
    print_duplicates(r, out);
    print_histograms(r, out);
    print_buckets(r, out);
    print_steps(r, out);
    fprintf(out, "\n%s: %s\n", r->ok ? "good" : "NOT GOOD", r->verdict);
}

/* ---- JSON ---- */

/* File names may hold any bytes, JSON strings only UTF-8: what is none becomes U+FFFD. */
static json_t *text(const char *s)
{
    json_t *v = json_string(s);
    if (v) return v;
    size_t n = strlen(s), len = 0;
    char *clean = ct_malloc(3 * n + 1, "JSON text");
    if (!clean) return NULL;
    while (*s) {
        const char *from = s;
        if (ct_utf8_next(&s) > 0) {
            memcpy(clean + len, from, (size_t)(s - from));
            len += (size_t)(s - from);
        } else {
            memcpy(clean + len, "\xef\xbf\xbd", 3);
            len += 3;
            s++;
        }
    }
    clean[len] = '\0';
    v = json_string(clean);
    ct_free(clean);
    return v;
}

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

static const char *set_name(int set)
{
    return set ? "val" : "train";
}

static json_t *issues_json(const ct_check_report *r, bool *ok)
{
    json_t *a = json_array();
    for (size_t i = 0; i < r->n_issues; i++) {
        json_t *o = json_object();
        put(o, "kind", json_string(kind_names[r->issues[i].kind]), ok);
        put(o, "set", json_string(set_name(r->issues[i].set)), ok);
        put(o, "file", text(r->issues[i].name), ok);
        put(o, "reason", text(r->issues[i].reason), ok);
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
            put(f, "file", text(g->name[k]), ok);
            put(f, "label", text(g->text[k]), ok);
            push(files, f, ok);
        }
        put(o, "files", files, ok);
        put(o, "different_labels", json_boolean(g->conflict), ok);
        put(o, "across", json_boolean(g->across), ok);
        push(a, o, ok);
    }
    return a;
}

static void histograms_json(const ct_check_report *r, json_t *root, bool *ok)
{
    json_t *sizes = json_array(), *lengths = json_object(), *chars = json_object();
    for (size_t i = 0; i < r->n_sizes; i++) {
        json_t *o = json_object();
        put(o, "width", json_integer(r->sizes[i].w), ok);
        put(o, "height", json_integer(r->sizes[i].h), ok);
        put(o, "count", json_integer(r->sizes[i].n), ok);
        push(sizes, o, ok);
    }
    for (int i = 0; i <= CT_LABEL_MAX; i++) {
        char key[16];
        if (r->lengths[i] == 0) continue;
        snprintf(key, sizeof key, "%d", i);
        put(lengths, key, json_integer(r->lengths[i]), ok);
    }
    for (size_t i = 0; i < r->n_chars; i++) {
        char key[5];
        ct_utf8_put(r->chars[i].cp, key);
        put(chars, key, json_integer(r->chars[i].n), ok);
    }
    put(root, "sizes", sizes, ok);
    put(root, "lengths", lengths, ok);
    put(root, "characters", chars, ok);
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

static json_t *steps_json(const ct_check_report *r, bool *ok)
{
    json_t *a = json_array();
    for (size_t i = 0; i < r->n_steps; i++) {
        json_t *o = json_object();
        put(o, "set", json_string(set_name(r->steps[i].set)), ok);
        put(o, "file", text(r->steps[i].name), ok);
        put(o, "needs", json_integer(r->steps[i].needs), ok);
        put(o, "gives", json_integer(r->steps[i].gives), ok);
        push(a, o, ok);
    }
    return a;
}

ct_status ct_check_write_json(const ct_check_report *r, FILE *out)
{
    bool ok = true;
    json_t *root = json_object(), *counts = json_object();
    put(root, "ok", json_boolean(r->ok), &ok);
    put(root, "verdict", text(r->verdict), &ok);
    put(root, "samples", pair_of_sets(r->samples, &ok), &ok);
    put(root, "usable", pair_of_sets(r->good, &ok), &ok);
    put(root, "other_files", pair_of_sets(r->ignored, &ok), &ok);
    for (int kind = 0; kind < CT_ISSUE_KINDS; kind++) put(counts, kind_names[kind], json_integer(r->count[kind]), &ok);
    put(root, "counts", counts, &ok);
    put(root, "issues", issues_json(r, &ok), &ok);
    put(root, "duplicate_samples", json_integer(r->dup_samples), &ok);
    put(root, "duplicate_conflicts", json_integer(r->dup_conflicts), &ok);
    put(root, "duplicate_across", json_integer(r->dup_across), &ok);
    put(root, "duplicates", duplicates_json(r, &ok), &ok);
    histograms_json(r, root, &ok);
    put(root, "buckets", buckets_json(r, &ok), &ok);
    put(root, "time_steps", steps_json(r, &ok), &ok);
    put(root, "charset", text(r->charset.utf8 ? r->charset.utf8 : ""), &ok);

    ct_status st = CT_OK;
    if (!ok) {
        st = ct_fail(CT_ENOMEM, "out of memory while writing JSON");
    } else if (json_dumpf(root, out, JSON_COMPACT) != 0 || fputc('\n', out) == EOF) {
        st = ct_fail(CT_EIO, "the report cannot be written");
    }
    json_decref(root);
    return st;
}
