/* The report's curves, from metrics.jsonl. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "formats/svg.h"
#include "report/report_html.h"

enum { STEP_X, STEP_LOSS, STEP_ACC, STEP_LR, EVAL_X, EVAL_LOSS, EVAL_STRINGS, EVAL_CHARS, EVAL_WRONG, EVAL_CER, COLUMNS };

typedef struct history {
    double *col[COLUMNS];
    size_t cap[COLUMNS];
    size_t n[2]; /* step events, eval events */
} history;

static double number(const json_t *line, const char *key)
{
    const json_t *v = json_object_get(line, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static ct_status push(history *h, int first, int count, int which, const double *v)
{
    for (int i = 0; i < count; i++) {
        CT_TRY(ct_grow(&h->col[first + i], h->n[which], &h->cap[first + i], sizeof(double), "training history"));
        h->col[first + i][h->n[which]] = v[i];
    }
    h->n[which]++;
    return CT_OK;
}

static ct_status take(void *user, const char *event, const json_t *line)
{
    history *h = user;
    double epoch = number(line, "epoch");
    if (strcmp(event, "step") == 0) {
        double acc = number(line, "string_accuracy");
        double v[] = { epoch, number(line, "loss"), acc < 0 ? NAN : 100 * acc, number(line, "lr") };
        return push(h, STEP_X, 4, 0, v);
    }
    if (strcmp(event, "eval") == 0) {
        const double strings = 100 * number(line, "string_accuracy");
        double v[] = { epoch,         number(line, "loss"),      strings, 100 * number(line, "char_accuracy"),
                       100 - strings, 100 * number(line, "cer") };
        return push(h, EVAL_X, 6, 1, v);
    }
    return CT_OK;
}

static ct_svg_series series(const history *h, const char *label, int x, int y)
{
    ct_svg_series s = { label, h->col[x], h->col[y], h->n[x == EVAL_X], false, x == EVAL_X && h->n[1] <= 40 };
    return s;
}

static ct_status plot(FILE *f, const char *title, const char *unit, const ct_svg_series *s, size_t count, bool log_y,
                      bool zero)
{
    ct_svg_plot p = { title, "epoch", unit, 560, 300, log_y, zero, s, count };
    fputs("<div>", f);
    CT_TRY(ct_svg_write(f, &p));
    fputs("</div>\n", f);
    return CT_OK;
}

/* A logarithmic axis is for curves that fall by more than a power of ten. */
static bool wide(const ct_svg_series *s, size_t count)
{
    double lo = INFINITY, hi = 0;
    for (size_t k = 0; k < count; k++) {
        for (size_t i = 0; i < s[k].n; i++) {
            if (!(s[k].y[i] > 0)) continue;
            lo = fmin(lo, s[k].y[i]);
            hi = fmax(hi, s[k].y[i]);
        }
    }
    return hi > 10 * lo;
}

ct_status ct_report_curves(FILE *f, const char *run_dir)
{
    history h;
    ct_status st;
    memset(&h, 0, sizeof h);
    CT_GOTO(st, ct_journal_read(run_dir, take, &h));
    fputs("<section><h2>Curves</h2><div class=\"plots\">\n", f);
    ct_svg_series loss[] = { series(&h, "training", STEP_X, STEP_LOSS), series(&h, "validation", EVAL_X, EVAL_LOSS) };
    CT_GOTO(st, plot(f, "Loss", NULL, loss, 2, wide(loss, 2), false));
    ct_svg_series acc[] = { series(&h, "strings, training", STEP_X, STEP_ACC),
                            series(&h, "strings, validation", EVAL_X, EVAL_STRINGS),
                            series(&h, "characters, validation", EVAL_X, EVAL_CHARS) };
    CT_GOTO(st, plot(f, "Accuracy", "%", acc, 3, false, true));
    /* near 100 % what is left to gain shows only here */
    ct_svg_series wrong[] = { series(&h, "strings", EVAL_X, EVAL_WRONG), series(&h, "characters", EVAL_X, EVAL_CER) };
    if (h.n[1] > 0) CT_GOTO(st, plot(f, "Wrong, validation", "%", wrong, 2, wide(wrong, 2), true));
    ct_svg_series lr[] = { series(&h, NULL, STEP_X, STEP_LR) };
    CT_GOTO(st, plot(f, "Learning rate", NULL, lr, 1, false, true));
    fputs("</div></section>\n", f);
fail:
    for (int i = 0; i < COLUMNS; i++) ct_free(h.col[i]);
    return st;
}
