/* What eval and predict say about sliders. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "task/slider/findings.h"

#define SHOWN_WORST 10

static double metric(int row, const double *sums) { return ct_slider_metrics[row].value(sums); }

/* ---- the distance a slider has to be moved ---- */

static int by_number(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Median and greatest of the errors of distances; NAN where there are none. */
static ct_status spread(const ct_slider_findings *t, double *median, double *most)
{
    const int64_t n = t->base.view.n;
    *median = *most = NAN;
    double *d = ct_calloc((size_t)n + 1, sizeof *d, "distances");
    if (!d) return CT_ENOMEM;
    for (int64_t i = 0; i < n; i++) d[i] = t->f[i].distance;
    qsort(d, (size_t)n, sizeof *d, by_number);
    if (n > 0) {
        *median = (d[(n - 1) / 2] + d[n / 2]) / 2;
        *most = d[n - 1];
    }
    ct_free(d);
    return CT_OK;
}

static ct_status put_original(const ct_slider_findings *t, const double *sums, json_t *out)
{
    const double *s = sums + CT_METRIC_FIRST, n = s[CT_SLIDER_SUM_COUNTED];
    double median, most;
    json_t *o;
    CT_TRY(spread(t, &median, &most));
    CT_TRY(ct_json_set(out, "original", o = json_object()));
    CT_TRY(ct_slider_numbers(s + CT_SLIDER_PIXEL_SUMS, n, o));
    CT_TRY(ct_json_set(o, "distance_mae_px", ct_json_number(s[CT_SLIDER_SUM_DISTANCE] / n)));
    CT_TRY(ct_json_set(o, "distance_median_px", ct_json_number(median)));
    CT_TRY(ct_json_set(o, "distance_max_px", ct_json_number(most)));
    CT_TRY(ct_json_set(o, "distance_hit_le_2px", ct_json_number(100 * s[CT_SLIDER_SUM_DISTANCE_2] / n)));
    return ct_json_set(o, "distance_hit_le_5px", ct_json_number(100 * s[CT_SLIDER_SUM_DISTANCE_5] / n));
}

/* ---- parts of the samples ---- */

#define MAX_PARTS 64

typedef struct part {
    char word[CT_SLIDER_WORD];
    double n, sums[CT_SLIDER_PIXEL_SUMS];
} part;

static int by_word(const void *a, const void *b) { return strcmp(((const part *)a)->word, ((const part *)b)->word); }

static void add(part *p, const ct_slider_found *d)
{
    const double e = ct_slider_error(d, 0);
    p->n++;
    p->sums[CT_SLIDER_SUM_ERROR] += e;
    p->sums[CT_SLIDER_SUM_SQUARE] += e * e;
    p->sums[CT_SLIDER_SUM_GAP] += d->error[0][0];
    p->sums[CT_SLIDER_SUM_PIECE] += d->error[0][1];
    p->sums[CT_SLIDER_SUM_1] += e <= 1;
    p->sums[CT_SLIDER_SUM_2] += e <= 2;
    p->sums[CT_SLIDER_SUM_5] += e <= 5;
}

/* By the word of their labels at `offset`; those without one are left out. Gives how many kinds there are. */
static ct_status sort_out(const ct_slider_findings *t, size_t offset, part p[MAX_PARTS], int *n)
{
    *n = 0;
    for (int64_t i = 0; i < t->base.view.n; i++) {
        ct_slider_label l;
        int k = 0;
        CT_TRY(ct_slider_label_of(&t->base, i, &l));
        const char *word = (const char *)&l + offset;
        if (!*word) continue;
        while (k < *n && strcmp(p[k].word, word) != 0) k++;
        if (k == *n && *n == MAX_PARTS) continue;
        if (k == *n) {
            p[(*n)++] = (part){ .n = 0 };
            memcpy(p[k].word, word, CT_SLIDER_WORD);
        }
        add(&p[k], &t->f[i]);
    }
    qsort(p, (size_t)*n, sizeof *p, by_word);
    return CT_OK;
}

static ct_status put_parts(const ct_slider_findings *t, const char *key, size_t offset, json_t *out)
{
    json_t *all;
    int n;
    part *p = ct_calloc(MAX_PARTS, sizeof *p, "parts of the samples");
    if (!p) return CT_ENOMEM;
    ct_status st = sort_out(t, offset, p, &n);
    if (st == CT_OK) st = ct_json_set(out, key, all = json_object());
    for (int k = 0; k < n && st == CT_OK; k++) {
        json_t *o = json_object();
        st = ct_json_set(all, p[k].word, o);
        if (st == CT_OK) st = ct_json_set(o, "samples", json_integer((json_int_t)p[k].n));
        if (st == CT_OK) st = ct_slider_numbers(p[k].sums, p[k].n, o);
    }
    ct_free(p);
    return st;
}

ct_status ct_slider_result(const ct_findings *f, const double sums[CT_METRIC_COUNT], json_t *into)
{
    const ct_slider_findings *t = ct_slider_findings_of(f);
    CT_TRY(put_original(t, sums, into));
    CT_TRY(put_parts(t, "by_confusion", offsetof(ct_slider_label, confusion), into));
    return put_parts(t, "by_style", offsetof(ct_slider_label, style), into);
}

/* Every sample that is further off than a hit. */
static ct_status put_wrong(const ct_findings *f, json_t *out)
{
    const ct_view *v = &f->view;
    json_t *list = json_array();
    CT_TRY(ct_json_set(out, "wrong", list));
    for (int64_t i = 0; i < v->n; i++) {
        json_t *o;
        if (ct_slider_right(f, i)) continue;
        if (json_array_append_new(list, o = json_object()) != 0)
            return ct_fail(CT_ENOMEM, "out of memory writing JSON");
        CT_TRY(ct_json_set(o, "file", ct_json_any(ct_dataset_name(v->data, ct_view_sample(v, i)))));
        CT_TRY(ct_json_set(o, "error_px", ct_json_number(ct_slider_error(&ct_slider_findings_of(f)->f[i], 0))));
    }
    return CT_OK;
}

ct_status ct_slider_eval_json(const ct_findings *f, const double sums[CT_METRIC_COUNT], json_t *into)
{
    CT_TRY(ct_slider_result(f, sums, into));
    return put_wrong(f, into);
}

/* ---- eval, for people ---- */

static ct_status print_parts(const ct_slider_findings *t, const char *title, size_t offset, FILE *to)
{
    int n;
    part *p = ct_calloc(MAX_PARTS, sizeof *p, "parts of the samples");
    if (!p) return CT_ENOMEM;
    const ct_status st = sort_out(t, offset, p, &n);
    if (st == CT_OK && n > 0) fprintf(to, "%s:\n", title);
    for (int k = 0; k < n && st == CT_OK; k++) {
        char word[4 * CT_SLIDER_WORD];
        fprintf(to, "  %-20s %6.0f  %7.3f px  within 2 px %6.2f %%  within 5 px %6.2f %%\n",
                ct_text_visible(p[k].word, word, sizeof word), p[k].n, p[k].sums[CT_SLIDER_SUM_ERROR] / p[k].n,
                100 * p[k].sums[CT_SLIDER_SUM_2] / p[k].n, 100 * p[k].sums[CT_SLIDER_SUM_5] / p[k].n);
    }
    ct_free(p);
    return st;
}

typedef struct ranked {
    double error;
    int64_t i;
} ranked;

static int by_error(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->error != y->error) return x->error > y->error ? -1 : 1;
    return x->i < y->i ? -1 : x->i > y->i;
}

static ct_status print_worst(const ct_slider_findings *t, FILE *to)
{
    const ct_view *v = &t->base.view;
    ranked *r = ct_calloc((size_t)v->n + 1, sizeof *r, "worst samples");
    if (!r) return CT_ENOMEM;
    for (int64_t i = 0; i < v->n; i++) r[i] = (ranked){ ct_slider_error(&t->f[i], 0), i };
    qsort(r, (size_t)v->n, sizeof *r, by_error);
    for (int64_t k = 0; k < v->n && k < SHOWN_WORST && r[k].error > 2; k++) {
        if (k == 0) fprintf(to, "worst (%d at most):\n", SHOWN_WORST);
        fputs("  ", to);
        ct_text_put(to, ct_dataset_name(v->data, ct_view_sample(v, r[k].i)), false);
        fprintf(to, "  %.2f px off\n", r[k].error);
    }
    ct_free(r);
    return CT_OK;
}

ct_status ct_slider_eval_text(const ct_findings *f, const double sums[CT_METRIC_COUNT], FILE *to)
{
    const ct_slider_findings *t = ct_slider_findings_of(f);
    const double *s = sums + CT_METRIC_FIRST, n = s[CT_SLIDER_SUM_COUNTED];
    double median, most;
    CT_TRY(spread(t, &median, &most));
    fprintf(to, "error            %.3f px  (gap %.3f, piece %.3f, squared %.3f; pixels of %d x %d)\n", metric(0, sums),
            metric(2, sums), metric(3, sums), metric(1, sums), CT_SLIDER_WIDTH, CT_SLIDER_HEIGHT);
    fprintf(to, "within           1 px %.2f %%, 2 px %.2f %%, 5 px %.2f %%\n", metric(4, sums), metric(5, sums),
            metric(6, sums));
    fprintf(to, "distance         %.3f px off, median %.3f, at most %.3f (pixels of the pictures)\n",
            s[CT_SLIDER_SUM_DISTANCE] / n, median, most);
    fprintf(to, "distance within  2 px %.2f %%, 5 px %.2f %%\n", 100 * s[CT_SLIDER_SUM_DISTANCE_2] / n,
            100 * s[CT_SLIDER_SUM_DISTANCE_5] / n);
    fprintf(to, "loss             %.5f\n", ct_metric_loss.value(sums));
    CT_TRY(print_parts(t, "by confusion", offsetof(ct_slider_label, confusion), to));
    CT_TRY(print_parts(t, "by style", offsetof(ct_slider_label, style), to));
    return print_worst(t, to);
}

/* ---- predict ---- */

static json_t *pair(const double v[2])
{
    json_t *a = json_array();
    for (int k = 0; k < 2; k++)
        if (!a || json_array_append_new(a, ct_json_number(v[k])) != 0) {
            json_decref(a);
            return NULL;
        }
    return a;
}

double ct_slider_confidence(const ct_findings *f, int64_t i)
{
    const double *conf = ct_slider_findings_of(f)->f[i].conf;
    return fmin(conf[0], conf[1]);
}

ct_status ct_slider_predict_json(const ct_findings *f, int64_t i, json_t *into)
{
    const ct_slider_found *d = &ct_slider_findings_of(f)->f[i];
    double at[2][2];
    for (int k = 0; k < 2; k++) ct_slider_original(f, i, d->at[k], at[k]);
    CT_TRY(ct_json_set(into, "gap", pair(at[0])));
    CT_TRY(ct_json_set(into, "slider", pair(at[1])));
    CT_TRY(ct_json_set(into, "distance", ct_json_number(at[0][0] - at[1][0])));
    CT_TRY(ct_json_set(into, "angle_deg", ct_json_number(d->angle)));
    CT_TRY(ct_json_set(into, "gap_confidence", ct_json_number(d->conf[0])));
    CT_TRY(ct_json_set(into, "slider_confidence", ct_json_number(d->conf[1])));
    return ct_json_set(into, "confidence", ct_json_number(ct_slider_confidence(f, i)));
}

ct_status ct_slider_predict_text(const ct_findings *f, int64_t i, FILE *to)
{
    const ct_slider_found *d = &ct_slider_findings_of(f)->f[i];
    double at[2][2];
    for (int k = 0; k < 2; k++) ct_slider_original(f, i, d->at[k], at[k]);
    fprintf(to, "%.2f %.2f\t%.2f %.2f\t%.2f\t%.4f", at[0][0], at[0][1], at[1][0], at[1][1], at[0][0] - at[1][0],
            ct_slider_confidence(f, i));
    return CT_OK;
}

ct_status ct_slider_reading(const ct_findings *f, int64_t i, ct_reading_draft *into)
{
    static const char *const name[2] = { "gap", "slider" };
    const ct_slider_found *d = &ct_slider_findings_of(f)->f[i];
    double at[2];
    for (int k = 0; k < 2; k++) {
        ct_slider_original(f, i, d->at[k], at);
        CT_TRY(ct_reading_add_point(into, name[k], at, d->conf[k]));
    }
    into->out.confidence = ct_slider_confidence(f, i);
    return CT_OK;
}

ct_status ct_slider_example(const ct_findings *f, int64_t i, char **label, char **predicted)
{
    const ct_slider_found *d = &ct_slider_findings_of(f)->f[i];
    ct_slider_label l;
    double at[2][2];
    *label = *predicted = NULL;
    CT_TRY(ct_slider_label_of(f, i, &l));
    for (int k = 0; k < 2; k++) ct_slider_original(f, i, d->at[k], at[k]);
    *label = ct_asprintf("gap %.1f %.1f piece %.1f %.1f", l.gap[0], l.gap[1], l.piece[0], l.piece[1]);
    *predicted = ct_asprintf("gap %.1f %.1f piece %.1f %.1f", at[0][0], at[0][1], at[1][0], at[1][1]);
    if (*label && *predicted) return CT_OK;
    ct_free(*label);
    ct_free(*predicted);
    *label = *predicted = NULL;
    return CT_ENOMEM;
}
