/* Best tracking and early stopping. The two share no state: an early-stop counter that also gated the best weights once
 * kept the last epoch before min_epochs as "best" whatever it scored. */
#include "config.h"

#include "task/track.h"

#include <math.h>

ct_scores ct_scores_from_sums(const double *sums)
{
    ct_scores s;
    s.samples = (int64_t)sums[CT_METRIC_SAMPLES];
    s.strings = (int64_t)sums[CT_TEXT_STRINGS];
    s.chars = (int64_t)sums[CT_TEXT_CHARS];
    s.chars_ok = (int64_t)sums[CT_TEXT_CHARS_OK];
    /* metric_sums leaves EDITS alone; where edit_sums counts none, every character is right */
    s.edits = (int64_t)sums[CT_TEXT_EDITS];
    if (s.edits < s.chars - s.chars_ok) s.edits = s.chars - s.chars_ok;
    s.infeasible = (int64_t)sums[CT_TEXT_INFEASIBLE];
    s.loss = s.samples > 0 ? sums[CT_METRIC_LOSS] / (double)s.samples : NAN;
    return s;
}

double ct_scores_strings(const ct_scores *s) { return s->samples > 0 ? (double)s->strings / (double)s->samples : -1; }

double ct_scores_cer(const ct_scores *s) { return s->chars > 0 ? (double)s->edits / (double)s->chars : -1; }

double ct_scores_chars(const ct_scores *s)
{
    if (s->chars <= 0) return -1;
    return s->edits < s->chars ? (double)(s->chars - s->edits) / (double)s->chars : 0;
}

double ct_scores_value(const ct_scores *s, ct_cfg_select_by by)
{
    switch (by) {
    case CT_CFG_SELECT_CHAR_ACCURACY:
        return ct_scores_chars(s);
    case CT_CFG_SELECT_LOSS:
        return s->loss;
    case CT_CFG_SELECT_CER: return ct_scores_cer(s);
    default:
        return ct_scores_strings(s);
    }
}

/* How much better a is than b; positive is better. */
static double gain(ct_cfg_select_by by, double a, double b)
{
    return by == CT_CFG_SELECT_LOSS || by == CT_CFG_SELECT_CER ? b - a : a - b;
}

bool ct_best_update(ct_best *best, ct_cfg_select_by by, const ct_scores *s, int64_t epoch, int64_t step)
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

bool ct_stopper_update(ct_stopper *stop, const ct_cfg_early_stopping *rule, ct_cfg_select_by by, const ct_scores *s,
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
