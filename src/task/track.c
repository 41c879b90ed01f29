/* Metrics, best tracking and early stopping. The two judges share no state: an early-stop counter that also gated the
 * best weights once kept the last epoch before min_epochs as "best" whatever it scored. */
#include "config.h"

#include "task/track.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/number.h"
#include "base/text.h"

/* ---- numbers and text ---- */

ct_status ct_metrics_json(const ct_task *task, const double sums[CT_METRIC_COUNT], json_t *into)
{
    CT_TRY(ct_json_set(into, ct_metric_loss.key, ct_json_number(ct_metric_loss.value(sums))));
    for (int i = 0; i < task->metrics; i++)
        CT_TRY(ct_json_set(into, task->metric[i].key, ct_json_number(task->metric[i].value(sums))));
    for (int i = 0; i < task->counts; i++) {
        const ct_count_row *c = &task->count[i];
        if (c->rare && !(sums[c->slot] > 0)) continue;
        CT_TRY(ct_json_set(into, c->key, json_integer((json_int_t)sums[c->slot])));
    }
    return CT_OK;
}

ct_status ct_metrics_terms(const char *const *name, int n, const double sums[CT_METRIC_COUNT], json_t *into)
{
    if (n < 2) return CT_OK;
    json_t *o = json_object();
    CT_TRY(ct_json_set(into, "losses", o)); /* `into` owns it from here on */
    for (int i = 0; i < n; i++)
        CT_TRY(ct_json_set(o, name[i], ct_json_number(sums[CT_METRIC_TERMS + i] / sums[CT_METRIC_SAMPLES])));
    return CT_OK;
}

char *ct_metric_text(const ct_metric_row *row, double value, char *buf, size_t size)
{
    if (isnan(value)) snprintf(buf, size, "-");
    else if (strcmp(row->unit, "%") == 0) snprintf(buf, size, "%.2f %%", 100 * value);
    else snprintf(buf, size, "%.4g%s%s", value, *row->unit ? " " : "", row->unit);
    return buf;
}

char *ct_metrics_brief(const ct_task *task, const double sums[CT_METRIC_COUNT], char *buf, size_t size)
{
    char value[48];
    size_t n = 0;
    buf[0] = '\0';
    for (int i = 0; i < task->metrics && n < size; i++) {
        const ct_metric_row *m = &task->metric[i];
        if (!m->brief) continue;
        n += (size_t)snprintf(buf + n, size - n, "%s%s %s", n ? ", " : "", m->curve,
                              ct_metric_text(m, m->value(sums), value, sizeof value));
    }
    return buf;
}

/* ---- eval.select_by ---- */

/* The metric that `name`, the value of `key`, is. */
static ct_status find_metric(const ct_config *cfg, const ct_task *task, const char *key, const char *name,
                             const ct_metric_row **by)
{
    const char *near = ct_metric_loss.key;
    int least = CT_WORD_BYTES + 1;
    for (int i = -1; i < task->metrics; i++) {
        *by = i < 0 ? &ct_metric_loss : &task->metric[i];
        const int d = ct_word_distance(name, strlen(name), (*by)->key, strlen((*by)->key));
        if (d == 0) return CT_OK;
        if (d < least) least = d, near = (*by)->key;
    }
    return ct_fail(CT_ECONFIG, "%s: %s: no metric '%.*s'; did you mean '%s'?", ct_config_place(cfg, key, NULL), key,
                   (int)ct_utf8_cut(name, 64), name, near);
}

bool ct_metric_keeps_last(const ct_config *cfg)
{
    return strcasecmp(cfg->eval.select_by, "last") == 0;
}

ct_status ct_metric_select(const ct_config *cfg, const ct_task *task, const ct_metric_row **by)
{
    const bool own = strcasecmp(cfg->eval.select_by, "auto") == 0 || ct_metric_keeps_last(cfg);
    const char *name = own ? task->select : cfg->eval.select_by;
    return find_metric(cfg, task, "eval.select_by", name, by);
}

ct_status ct_metric_guard(const ct_config *cfg, const ct_task *task, const ct_metric_row **by)
{
    const ct_cfg_second_guard *g = &cfg->early_stopping.second_guard;
    *by = NULL;
    if (!*g->metric) return CT_OK;
    CT_TRY(find_metric(cfg, task, "early_stopping.second_guard.metric", g->metric, by));
    if (g->mode == CT_CFG_MODE_AUTO || (g->mode == CT_CFG_MODE_MIN) == (*by)->smaller_is_better) return CT_OK;
    return ct_fail(CT_ECONFIG, "%s: early_stopping.second_guard.mode: of %s, %s is better",
                   ct_config_place(cfg, "early_stopping.second_guard.mode", NULL), (*by)->key,
                   (*by)->smaller_is_better ? "less (min)" : "more (max)");
}

ct_status ct_metric_target(const ct_config *cfg, const ct_task *task, ct_target *out)
{
    const char *given = cfg->train.target, *equal = strchr(given, '=');
    char name[CT_WORD_BYTES];
    double value;
    *out = (ct_target){ NULL, 0 };
    if (!*given) return CT_OK;
    const size_t n = equal ? (size_t)(equal - given) : 0;
    if (n == 0 || n >= sizeof name || !ct_number_of(equal + 1, &value) || !isfinite(value))
        return ct_fail(CT_ECONFIG, "%s: train.target: wants METRIC=VALUE, as in %s=0.99 (got '%.*s')",
                       ct_config_place(cfg, "train.target", NULL), task->select, (int)ct_utf8_cut(given, 64), given);
    memcpy(name, given, n);
    name[n] = '\0';
    CT_TRY(find_metric(cfg, task, "train.target", name, &out->by));
    out->value = value;
    return CT_OK;
}

bool ct_target_met(const ct_target *t, double value)
{
    return t->by && (t->by->smaller_is_better ? value <= t->value : value >= t->value);
}

ct_status ct_metric_settle(ct_config *cfg)
{
    const ct_metric_row *by;
    ct_target target;
    const ct_task *task = ct_task_of(cfg->model.name);
    if (!task) return CT_ECONFIG;
    CT_TRY(ct_metric_guard(cfg, task, &by));
    CT_TRY(ct_metric_target(cfg, task, &target));
    CT_TRY(ct_metric_select(cfg, task, &by));
    char *name = ct_strdup(ct_metric_keeps_last(cfg) ? "last" : by->key, "a metric's name");
    if (!name) return CT_ENOMEM;
    ct_free(cfg->eval.select_by);
    cfg->eval.select_by = name;
    return CT_OK;
}

/* ---- judges ---- */

/* How much better a is than b; positive is better. */
static double gain(const ct_metric_row *by, double a, double b)
{
    return by->smaller_is_better ? b - a : a - b;
}

bool ct_best_update(ct_best *best, const ct_metric_row *by, const double sums[CT_METRIC_COUNT], int64_t epoch,
                    int64_t step)
{
    const double value = by ? by->value(sums) : 0;
    /* weights whose loss is not a number are no model, whatever their argmax hits */
    if (isnan(value) || !isfinite(ct_metric_loss.value(sums))) return false;
    if (by && best->any && gain(by, value, by->value(best->sums)) < 0) return false;
    best->any = true;
    best->epoch = epoch;
    best->step = step;
    memcpy(best->sums, sums, sizeof best->sums);
    return true;
}

bool ct_stopper_done(const ct_stopper *stop, const ct_cfg_early_stopping *rule, int64_t epoch)
{
    return rule->enabled && epoch >= rule->min_epochs && stop->stale >= rule->patience;
}

bool ct_stopper_update(ct_stopper *stop, const ct_cfg_early_stopping *rule, const ct_metric_row *by,
                       const double sums[CT_METRIC_COUNT], int64_t epoch)
{
    const double value = by->value(sums);
    const bool better = !isnan(value) && isfinite(ct_metric_loss.value(sums)) &&
                        (!stop->any || gain(by, value, stop->reference) > rule->min_delta);
    if (better) {
        stop->any = true;
        stop->reference = value;
        stop->stale = 0;
    } else {
        stop->stale++;
    }
    return ct_stopper_done(stop, rule, epoch);
}

void ct_stopper_guard(ct_stopper *stop, const ct_cfg_second_guard *rule, const ct_metric_row *by,
                      const double sums[CT_METRIC_COUNT])
{
    enum { BACK = 3 };
    const double value = by ? by->value(sums) : NAN;
    if (isnan(value) || (stop->guarded && !(gain(by, value, stop->guard) > rule->min_delta))) return;
    if (stop->guarded) stop->stale = stop->stale > BACK ? stop->stale - BACK : 0;
    stop->guarded = true;
    stop->guard = value;
}
