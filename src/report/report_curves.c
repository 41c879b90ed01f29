/* The report's curves, from metrics.jsonl: loss and its terms, the metrics of the task in the plots their rows name,
 * learning rate. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "formats/svg.h"
#include "report/report_html.h"

enum { STEP, EVAL, EVENTS };
enum {
    COL_X,
    COL_LR,
    COL_LOSS,
    COL_METRIC,
    MAX_METRICS = 24,
    COL_TERM = COL_METRIC + MAX_METRICS,
    COLUMNS = COL_TERM + CT_PARTS_MAX
};

typedef struct history {
    const ct_run *run;
    int metrics;                       /* of the task, as many as are shown */
    double *col[EVENTS][COLUMNS];      /* [n] each */
    double *left;                      /* [metrics][n of EVAL] what is left to gain, for plots of the rest */
    size_t cap[EVENTS][COLUMNS], n[EVENTS];
} history;

static double number(const json_t *line, const char *key)
{
    const json_t *v = json_object_get(line, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

/* As people see it. */
static double shown(const ct_metric_row *m, double value)
{
    return strcmp(m->unit, "%") == 0 ? 100 * value : value;
}

static ct_status push(history *h, int event, int column, double v)
{
    CT_TRY(ct_grow(&h->col[event][column], h->n[event], &h->cap[event][column], sizeof(double), "training history"));
    h->col[event][column][h->n[event]] = v;
    return CT_OK;
}

static ct_status take(void *user, const char *event, const json_t *line)
{
    history *h = user;
    const ct_task *task = h->run->data.task;
    const int e = strcmp(event, "step") == 0 ? STEP : strcmp(event, "eval") == 0 ? EVAL : EVENTS;
    if (e == EVENTS) return CT_OK;
    CT_TRY(push(h, e, COL_X, number(line, "epoch")));
    CT_TRY(push(h, e, COL_LR, number(line, "lr")));
    CT_TRY(push(h, e, COL_LOSS, number(line, ct_metric_loss.key)));
    for (int i = 0; i < h->metrics; i++)
        CT_TRY(push(h, e, COL_METRIC + i, shown(&task->metric[i], number(line, task->metric[i].key))));
    for (int i = 0; i < h->run->terms; i++)
        CT_TRY(push(h, e, COL_TERM + i, number(json_object_get(line, "losses"), h->run->term[i])));
    h->n[e]++;
    return CT_OK;
}

/* Series of one plot, with their labels. */
typedef struct drawing {
    ct_svg_series s[CT_SVG_MAX_SERIES];
    char label[CT_SVG_MAX_SERIES][96];
    size_t n;
} drawing;

static void add(drawing *d, const history *h, int event, const double *y, const char *what, const char *set)
{
    if (d->n == CT_SVG_MAX_SERIES) return;
    char *label = d->label[d->n];
    snprintf(label, sizeof d->label[0], "%s%s%s", what, *what && *set ? ", " : "", set);
    d->s[d->n++] =
        (ct_svg_series){ label, h->col[event][COL_X], y, h->n[event], false, event == EVAL && h->n[EVAL] <= 40 };
}

static ct_status plot(FILE *f, const char *title, const char *unit, const drawing *d, bool log_y, bool zero)
{
    const ct_svg_plot p = { title, "epoch", unit && *unit ? unit : NULL, 460, 280, log_y, zero, d->s, d->n };
    fputs("<div>", f);
    CT_TRY(ct_svg_write(f, &p));
    fputs("</div>\n", f);
    return CT_OK;
}

/* A logarithmic axis is for curves that fall by more than a power of ten. */
static bool wide(const drawing *d)
{
    double lo = INFINITY, hi = 0;
    for (size_t k = 0; k < d->n; k++) {
        for (size_t i = 0; i < d->s[k].n; i++) {
            if (!(d->s[k].y[i] > 0)) continue;
            lo = fmin(lo, d->s[k].y[i]);
            hi = fmax(hi, d->s[k].y[i]);
        }
    }
    return hi > 10 * lo;
}

static ct_status plot_losses(FILE *f, const history *h)
{
    drawing loss = { .n = 0 }, terms = { .n = 0 };
    add(&loss, h, STEP, h->col[STEP][COL_LOSS], "training", "");
    add(&loss, h, EVAL, h->col[EVAL][COL_LOSS], "validation", "");
    CT_TRY(plot(f, "Loss", NULL, &loss, wide(&loss), false));
    if (h->run->terms < 2) return CT_OK;
    for (int i = 0; i < h->run->terms; i++) add(&terms, h, STEP, h->col[STEP][COL_TERM + i], h->run->term[i], "");
    return plot(f, "Terms of the loss, training", NULL, &terms, wide(&terms), false);
}

/* Metrics that are drawn in the plot of this title. */
static ct_status plot_metrics(FILE *f, const history *h, const char *title)
{
    const ct_task *task = h->run->data.task;
    drawing d = { .n = 0 };
    const char *unit = "";
    bool falls = false, rest = false;
    for (int i = 0; i < h->metrics; i++) rest |= task->metric[i].rest && strcmp(task->metric[i].rest, title) == 0;
    for (int i = 0; i < h->metrics; i++) {
        const ct_metric_row *m = &task->metric[i];
        const bool here = m->plot && strcmp(m->plot, title) == 0;
        if (!here && !(m->rest && strcmp(m->rest, title) == 0)) continue;
        unit = m->unit;
        if (here && m->training) add(&d, h, STEP, h->col[STEP][COL_METRIC + i], m->curve, "training");
        if (here) add(&d, h, EVAL, h->col[EVAL][COL_METRIC + i], m->curve, rest ? "" : "validation");
        else add(&d, h, EVAL, h->left + (size_t)i * h->n[EVAL], m->curve, "");
        falls |= m->smaller_is_better || !here;
    }
    if (rest && h->n[EVAL] == 0) return CT_OK;
    return plot(f, title, unit, &d, falls && wide(&d), true);
}

/* Every title once, in the order of the rows: first what metrics are, then what is left. */
static ct_status plot_all_metrics(FILE *f, const history *h)
{
    const ct_metric_row *m = h->run->data.task->metric;
    const char *done[2 * MAX_METRICS];
    int n = 0;
    for (int k = 0; k < 2 * h->metrics; k++) {
        const char *title = k < h->metrics ? m[k].plot : m[k - h->metrics].rest;
        bool again = !title;
        for (int i = 0; i < n && !again; i++) again = strcmp(done[i], title) == 0;
        if (again) continue;
        done[n++] = title;
        CT_TRY(plot_metrics(f, h, title));
    }
    return CT_OK;
}

/* What is left to gain shows near 100 % only as a curve of its own. */
static ct_status fill_left(history *h)
{
    const size_t n = h->n[EVAL];
    h->left = ct_calloc((size_t)h->metrics * n + 1, sizeof *h->left, "training history");
    if (!h->left) return CT_ENOMEM;
    for (int i = 0; i < h->metrics; i++)
        for (size_t k = 0; k < n; k++)
            h->left[(size_t)i * n + k] = shown(&h->run->data.task->metric[i], 1) - h->col[EVAL][COL_METRIC + i][k];
    return CT_OK;
}

ct_status ct_report_curves(FILE *f, const ct_report *rep)
{
    history h;
    ct_status st;
    drawing lr = { .n = 0 };
    memset(&h, 0, sizeof h);
    h.run = rep->run;
    h.metrics = rep->run->data.task->metrics < MAX_METRICS ? rep->run->data.task->metrics : MAX_METRICS;
    CT_GOTO(st, ct_journal_read(rep->run->out, take, &h));
    CT_GOTO(st, fill_left(&h));
    fputs("<section><h2>Curves</h2><div class=\"plots\">\n", f);
    CT_GOTO(st, plot_losses(f, &h));
    CT_GOTO(st, plot_all_metrics(f, &h));
    add(&lr, &h, STEP, h.col[STEP][COL_LR], "", "");
    CT_GOTO(st, plot(f, "Learning rate", NULL, &lr, false, true));
    fputs("</div></section>\n", f);
fail:
    for (int e = 0; e < EVENTS; e++)
        for (int i = 0; i < COLUMNS; i++) ct_free(h.col[e][i]);
    ct_free(h.left);
    return st;
}
