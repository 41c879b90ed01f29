/* Best tracking and early stopping. The two share no state: an early-stop counter that also gated the best weights once
 * kept the last epoch before min_epochs as "best" whatever it scored. */
#include "config.h"

#include "task/track.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/text.h"

ct_scores ct_scores_from_sums(const double *sums)
{
    ct_scores s;
    s.samples = (int64_t)sums[CT_METRIC_SAMPLES];
    s.strings = (int64_t)sums[CT_METRIC_STRINGS];
    s.chars = (int64_t)sums[CT_METRIC_CHARS];
    s.chars_ok = (int64_t)sums[CT_METRIC_CHARS_OK];
    /* metric_sums leaves EDITS alone; where edit_sums counts none, every character is right */
    s.edits = (int64_t)sums[CT_METRIC_EDITS];
    if (s.edits < s.chars - s.chars_ok) s.edits = s.chars - s.chars_ok;
    s.infeasible = (int64_t)sums[CT_METRIC_INFEASIBLE];
    s.loss = s.samples > 0 ? sums[CT_METRIC_LOSS_SUM] / (double)s.samples : NAN;
    return s;
}

double ct_scores_strings(const ct_scores *s) { return s->samples > 0 ? (double)s->strings / (double)s->samples : -1; }

double ct_scores_cer(const ct_scores *s) { return s->chars > 0 ? (double)s->edits / (double)s->chars : -1; }

double ct_scores_chars(const ct_scores *s)
{
    if (s->chars <= 0) return -1;
    return s->edits < s->chars ? (double)(s->chars - s->edits) / (double)s->chars : 0;
}

static const char *const select_name[] = {
    [CT_SELECT_STRING_ACCURACY] = "string_accuracy",
    [CT_SELECT_CHAR_ACCURACY] = "char_accuracy",
    [CT_SELECT_LOSS] = "loss",
    [CT_SELECT_CER] = "cer",
};

ct_status ct_scores_select(const ct_config *cfg, ct_select *by)
{
    const char *name = cfg->eval.select_by;
    const int n = sizeof select_name / sizeof select_name[0];
    int near = 0, least = CT_WORD_BYTES + 1;
    *by = CT_SELECT_STRING_ACCURACY;
    if (strcasecmp(name, "auto") == 0) return CT_OK;
    for (int i = 0; i < n; i++) {
        const int d = ct_word_distance(name, strlen(name), select_name[i], strlen(select_name[i]));
        if (d == 0) return *by = (ct_select)i, CT_OK;
        if (d < least) least = d, near = i;
    }
    return ct_fail(CT_ECONFIG, "%s: eval.select_by: no metric '%.*s'; did you mean '%s'?",
                   ct_config_place(cfg, "eval.select_by", NULL), (int)ct_utf8_cut(name, 64), name, select_name[near]);
}

ct_status ct_scores_settle(ct_config *cfg)
{
    ct_select by;
    CT_TRY(ct_scores_select(cfg, &by));
    char *name = ct_strdup(select_name[by], "a metric's name");
    if (!name) return CT_ENOMEM;
    ct_free(cfg->eval.select_by);
    cfg->eval.select_by = name;
    return CT_OK;
}

double ct_scores_value(const ct_scores *s, ct_select by)
{
    switch (by) {
    case CT_SELECT_CHAR_ACCURACY:
        return ct_scores_chars(s);
    case CT_SELECT_LOSS:
        return s->loss;
    case CT_SELECT_CER: return ct_scores_cer(s);
    default:
        return ct_scores_strings(s);
    }
}

/* How much better a is than b; positive is better. */
static double gain(ct_select by, double a, double b)
{
    return by == CT_SELECT_LOSS || by == CT_SELECT_CER ? b - a : a - b;
}

bool ct_best_update(ct_best *best, ct_select by, const ct_scores *s, int64_t epoch, int64_t step)
{
    double value = ct_scores_value(s, by);
    /* weights whose loss is not a number are no model, whatever their argmax hits */
    if (isnan(value) || !isfinite(s->loss)) return false;
    if (best->any) {
        double old = ct_scores_value(&best->scores, by), g = gain(by, value, old);
        bool tie = value == old;
        if (!(g > 0) && !(tie && s->loss < best->scores.loss)) return false;
    }
    best->any = true;
    best->epoch = epoch;
    best->step = step;
    best->scores = *s;
    return true;
}

bool ct_stopper_done(const ct_stopper *stop, const ct_cfg_early_stopping *rule, int64_t epoch)
{
    return rule->enabled && epoch >= rule->min_epochs && stop->stale >= rule->patience;
}

bool ct_stopper_update(ct_stopper *stop, const ct_cfg_early_stopping *rule, ct_select by, const ct_scores *s,
                       int64_t epoch)
{
    double value = ct_scores_value(s, by);
    bool better =
        !isnan(value) && isfinite(s->loss) && (!stop->any || gain(by, value, stop->reference) > rule->min_delta);
    if (better) {
        stop->any = true;
        stop->reference = value;
        stop->stale = 0;
    } else {
        stop->stale++;
    }
    return ct_stopper_done(stop, rule, epoch);
}
