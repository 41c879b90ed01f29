/* What runs are compared by: read from their folders, told as rows of a table. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "report/compare.h"
#include "run/journal.h"
#include "task/track.h"

#define MAX_RESULT (4 << 20)

static double number(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static ct_status push(ct_compared_curve *c, double x, double y)
{
    CT_TRY(ct_grow(&c->x, c->n, &c->cap_x, sizeof *c->x, "curves"));
    CT_TRY(ct_grow(&c->y, c->n, &c->cap_y, sizeof *c->y, "curves"));
    c->x[c->n] = x;
    c->y[c->n++] = y;
    return CT_OK;
}

const ct_metric_row *ct_compared_lead(const ct_compared *r)
{
    for (int i = 0; i < r->task->metrics; i++)
        if (strcmp(r->task->metric[i].key, r->task->select) == 0) return &r->task->metric[i];
    return &ct_metric_loss;
}

static double shown(const ct_metric_row *m, double v)
{
    return strcmp(m->unit, "%") == 0 ? 100 * v : v;
}

static ct_status take(void *user, const char *event, const json_t *line)
{
    ct_compared *r = user;
    const double step = number(line, "step");
    if (isfinite(step) && step > (double)r->step) r->step = (int64_t)step;
    if (strcmp(event, "step") == 0) return push(&r->loss, step, number(line, "loss"));
    if (strcmp(event, "eval") != 0) return CT_OK;
    const ct_metric_row *m = ct_compared_lead(r);
    CT_TRY(push(&r->val_loss, step, number(line, "loss")));
    CT_TRY(push(&r->score, step, shown(m, number(line, m->key))));
    json_decref(r->seen);
    r->seen = json_deep_copy(line);
    return r->seen ? CT_OK : ct_fail(CT_ENOMEM, "out of memory: metrics of %s", r->path);
}

/* The folder's config.yaml, or why there is none. */
static ct_status read_config(ct_compared *r)
{
    if (!ct_path_exists(r->path)) return ct_fail(CT_ECONFIG, "%s: there is no such folder", r->path);
    if (!ct_path_is_dir(r->path))
        return ct_fail(CT_ECONFIG, "%s: a file, not the folder of a run, as `captrain train --out RUN` makes it",
                       r->path);
    char *path = ct_path_join(r->path, "config.yaml");
    if (!path) return CT_ENOMEM;
    const bool is = ct_path_exists(path);
    ct_free(path);
    if (!is) return ct_fail(CT_ECONFIG, "%s: not the folder of a run: it has no config.yaml", r->path);
    return ct_config_load(r->path, NULL, 0, &r->cfg);
}

ct_status ct_compared_open(const char *path, ct_compared *r)
{
    r->path = path;
    CT_TRY(read_config(r));
    if (!(r->task = ct_task_of(r->cfg->model.name))) return CT_ECONFIG;
    char *file = ct_path_join(path, "result.json");
    if (!file) return CT_ENOMEM;
    ct_status st = ct_path_exists(file) ? ct_json_read(file, MAX_RESULT, &r->result) : CT_OK;
    if (st == CT_OK && r->result && !json_is_object(r->result))
        st = ct_fail(CT_EFORMAT, "%s: not the result of a run", file);
    ct_free(file);
    if (st != CT_OK) return st;
    return ct_journal_read(path, take, r);
}

void ct_compared_close(ct_compared *r)
{
    ct_compared_curve *const c[] = { &r->loss, &r->val_loss, &r->score };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        ct_free(c[i]->x);
        ct_free(c[i]->y);
    }
    json_decref(r->result);
    json_decref(r->seen);
    ct_config_free(r->cfg);
    *r = (ct_compared){ 0 };
}

char *ct_compared_name(const ct_compared *r)
{
    const size_t n = strlen(r->path);
    size_t end = n; /* "runs/a/" is a */
    while (end > 1 && r->path[end - 1] == '/') end--;
    size_t from = end;
    while (from > 0 && r->path[from - 1] != '/') from--;
    char *name = ct_calloc(end - from + 1, 1, "a name");
    if (name) memcpy(name, r->path + from, end - from);
    return name;
}

/* ---- rows ---- */

#define CELL 96

typedef struct table {
    char (*cell)[CELL];
    char **text; /* [n + 1], NULL behind the last */
    bool *best;
    double *value;
    size_t n;
    ct_compare_row *row;
    void *user;
} table;

static ct_status tell(table *t, const char *what)
{
    for (size_t i = 0; i < t->n; i++) t->text[i] = t->cell[i];
    return t->row(t->user, what, t->text, NULL);
}

/* A metric of those runs whose task has it; the best of two or more that differ are marked. task NULL: the loss, which
 * all have, and of which nothing is the best: losses of different kinds mean different things. */
static ct_status tell_metric(table *t, const ct_compared *run, const ct_task *task, const ct_metric_row *m)
{
    char what[128];
    double best = NAN;
    size_t known = 0, hits = 0;
    for (size_t i = 0; i < t->n; i++) {
        const json_t *from = run[i].result ? json_object_get(run[i].result, "validation") : run[i].seen;
        double v = task && run[i].task != task ? NAN : number(from, m->key);
        t->value[i] = v;
        if (isnan(v)) snprintf(t->cell[i], CELL, "-");
        else ct_metric_text(m, v, t->cell[i], CELL);
        if (isnan(v)) continue;
        known++;
        if (isnan(best) || (m->smaller_is_better ? v < best : v > best)) best = v;
    }
    for (size_t i = 0; i < t->n; i++) {
        t->text[i] = t->cell[i];
        t->best[i] = t->value[i] == best;
        hits += t->best[i];
    }
    snprintf(what, sizeof what, "%s, validation", m->label);
    return t->row(t->user, what, t->text, task && known > 1 && hits < known ? t->best : NULL);
}

static ct_status tell_metrics(table *t, const ct_compared *run)
{
    for (size_t i = 0; i < t->n; i++) {
        bool again = false;
        for (size_t k = 0; k < i; k++) again |= run[k].task == run[i].task;
        for (int m = 0; m < run[i].task->metrics && !again; m++)
            CT_TRY(tell_metric(t, run, run[i].task, &run[i].task->metric[m]));
    }
    return tell_metric(t, run, NULL, &ct_metric_loss);
}

static ct_status tell_about(table *t, const ct_compared *run)
{
    for (size_t i = 0; i < t->n; i++) {
        char *name = ct_compared_name(&run[i]);
        if (!name) return CT_ENOMEM;
        snprintf(t->cell[i], CELL, "%s", name);
        ct_free(name);
    }
    CT_TRY(tell(t, "run"));
    for (size_t i = 0; i < t->n; i++) snprintf(t->cell[i], CELL, "%s", run[i].cfg->name ? run[i].cfg->name : "");
    CT_TRY(tell(t, "name"));
    for (size_t i = 0; i < t->n; i++) snprintf(t->cell[i], CELL, "%s (%s)", run[i].cfg->model.name, run[i].task->name);
    CT_TRY(tell(t, "model (task)"));
    for (size_t i = 0; i < t->n; i++)
        snprintf(t->cell[i], CELL, "%s", run[i].result ? "finished" : "not finished");
    CT_TRY(tell(t, "state"));
    for (size_t i = 0; i < t->n; i++) snprintf(t->cell[i], CELL, "%" PRId64, run[i].step);
    return tell(t, "steps");
}

static ct_status tell_speed(table *t, const ct_compared *run)
{
    static const struct {
        const char *key, *what;
        char kind;
    } row[] = { { "seconds", "training time", 't' },
                { "samples_per_s", "samples per second", 's' },
                { "params", "parameters", 's' },
                { "peak_bytes", "memory planned", 'b' },
                { "precision", "precision", 'w' },
                { "backend", "backend", 'w' } };
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        for (size_t i = 0; i < t->n; i++) {
            const double v = number(run[i].result, row[k].key);
            const char *word = json_string_value(json_object_get(run[i].result, row[k].key));
            if (row[k].kind == 'w') snprintf(t->cell[i], CELL, "%s", word ? word : "-");
            else if (!isfinite(v) || fabs(v) > 1e18) snprintf(t->cell[i], CELL, "-");
            else if (row[k].kind == 't') ct_text_duration(v, t->cell[i], CELL);
            else if (row[k].kind == 'b') ct_text_bytes((int64_t)v, t->cell[i], CELL);
            else ct_text_short(v, t->cell[i], CELL);
        }
        CT_TRY(tell(t, row[k].what));
    }
    return CT_OK;
}

ct_status ct_compare_rows(const ct_compared *run, size_t n, ct_compare_row *row, void *user)
{
    table t = { .n = n, .row = row, .user = user };
    ct_status st;
    t.cell = ct_calloc(n, sizeof *t.cell, "a table");
    t.text = ct_calloc(n + 1, sizeof *t.text, "a table");
    t.best = ct_calloc(n, sizeof *t.best, "a table");
    t.value = ct_calloc(n, sizeof *t.value, "a table");
    if (!t.cell || !t.text || !t.best || !t.value) CT_GOTO(st, CT_ENOMEM);
    CT_GOTO(st, tell_about(&t, run));
    CT_GOTO(st, tell_metrics(&t, run));
    st = tell_speed(&t, run);
fail:
    ct_free(t.cell);
    ct_free(t.text);
    ct_free(t.best);
    ct_free(t.value);
    return st;
}

ct_status ct_compare_keys(const ct_compared *run, size_t n, ct_compare_row *row, void *user)
{
    char **text = ct_calloc(n + 1, sizeof *text, "values of keys");
    ct_status st = text ? CT_OK : CT_ENOMEM;
    const ct_config_row *key;
    for (size_t k = 0; st == CT_OK && (key = ct_config_row_at(k)); k++) {
        if (key->cls != CT_CLASS_KEY) continue;
        bool differ = false;
        for (size_t i = 0; i < n && st == CT_OK; i++) {
            if (!(text[i] = ct_config_value(run[i].cfg, key->name))) st = CT_ENOMEM;
            else differ |= strcmp(text[i], text[0]) != 0;
        }
        if (st == CT_OK && differ) st = row(user, key->name, text, NULL);
        for (size_t i = 0; i < n; i++) {
            ct_free(text[i]);
            text[i] = NULL;
        }
    }
    ct_free(text);
    return st;
}
