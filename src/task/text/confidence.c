/* How sure a text is: by the scores at the temperature that the model file has, and that temperature itself.
 *
 * With fixed positions a text's probability is the product of its characters'. With CTC it is the sum over all paths
 * that spell it. What is fitted is the likelihood of the right texts, since it is a text that people take or reject. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "task/calibration.h"
#include "task/paths.h"
#include "task/text/findings.h"

enum {
    KEPT_CELLS = 1 << 24, /* scores that are kept for a fit, at most */
    KEPT_SAMPLES = 4096
};

void ct_text_want_scores(ct_findings *f)
{
    int k = 0;
    while (f->want[k] && strcmp(f->want[k], "logits") != 0) k++;
    f->want[k] = "logits";
}

ct_status ct_text_scores_of(const ct_outcome *o, int64_t i, ct_text_scores *out)
{
    int k = 0;
    while (k < o->outputs && strcmp(o->output[k].name, "logits") != 0) k++;
    if (k == o->outputs) return ct_fail(CT_EINTERNAL, "the program gives no logits");
    const ct_desc *d = &o->output[k].desc;
    *out = (ct_text_scores){ .type = d->dtype, .score = o->output[k].host };
    if (d->ndim == 3) { /* [T,N,C] */
        out->classes = d->dim[2];
        out->first = i * out->classes;
        out->stride = o->batch * out->classes;
        out->steps = o->steps[i];
        return CT_OK;
    }
    out->steps = o->output[0].desc.dim[1]; /* [N,P*K] */
    out->classes = d->dim[1] / out->steps;
    out->first = i * d->dim[1];
    out->stride = out->classes;
    return CT_OK;
}

/* ---- the confidence of a text ---- */

ct_status ct_text_sure(ct_text_findings *t, const ct_text_scores *s, int64_t place, const int32_t *text, int64_t n,
                       float *conf)
{
    float *logp = t->tempered;
    ct_paths_temper(s->type, s->score, s->first, s->stride, s->steps, s->classes,
                    t->temperature > 0 ? t->temperature : 1, logp);
    if (!t->sequence) {
        for (int64_t c = 0; c < n; c++) conf[c] = (float)exp((double)logp[c * s->classes + text[c]]);
        return CT_OK;
    }
    CT_TRY(ct_beam_confidences(t->pacer, CT_F32, logp, 0, s->classes, s->steps, text, n, conf));
    if (!t->sure) return CT_OK;
    t->sure[place] = n > 0 ? exp(ct_paths_log_prob(logp, s->steps, s->classes, text, n, t->work)) : 0;
    if (t->sure[place] > 1) t->sure[place] = 1; /* rounding */
    return CT_OK;
}

ct_status ct_text_sure_reserve(ct_text_findings *t, int64_t classes)
{
    const size_t cells = (size_t)t->columns * (size_t)classes;
    ct_text_want_scores(&t->base);
    if (!(t->tempered = ct_calloc(cells, sizeof *t->tempered, "scores"))) return CT_ENOMEM;
    t->classes = classes;
    if (!t->sequence) return CT_OK;
    if (!(t->work = ct_calloc((size_t)(2 * (t->columns > CT_LABEL_MAX ? t->columns : CT_LABEL_MAX) + 1),
                              sizeof *t->work, "scores")))
        return CT_ENOMEM;
    if (t->temperature == 0 && !t->limit.any) return CT_OK;
    CT_TRY(ct_beam_new(1, classes, &t->pacer));
    if (t->temperature == 0) return CT_OK;
    if (!(t->sure = ct_calloc((size_t)(t->n > 0 ? t->n : 1), sizeof *t->sure, "confidences"))) return CT_ENOMEM;
    return CT_OK;
}

/* ---- fitting ---- */

ct_status ct_text_keep(ct_findings *f, int64_t *every)
{
    ct_text_findings *t = (ct_text_findings *)f;
    const int64_t classes = t->characters + t->sequence, cells = t->columns * classes;
    int64_t most = KEPT_CELLS / cells;
    if (most > KEPT_SAMPLES) most = KEPT_SAMPLES;
    if (most < 1) most = 1;
    if (*every < (t->n + most - 1) / most) *every = (t->n + most - 1) / most;
    t->every = *every;
    t->kept = (t->n + *every - 1) / *every;
    if (!t->tempered) CT_TRY(ct_text_sure_reserve(t, classes));
    t->kept_steps = ct_calloc((size_t)t->kept, sizeof *t->kept_steps, "scores for a calibration");
    t->kept_score = ct_calloc((size_t)(t->kept * cells), sizeof *t->kept_score, "scores for a calibration");
    return t->kept_steps && t->kept_score ? CT_OK : CT_ENOMEM;
}

void ct_text_kept(ct_text_findings *t, const ct_text_scores *s, int64_t place)
{
    if (place % t->every != 0) return;
    const int64_t k = place / t->every;
    t->kept_steps[k] = s->steps;
    ct_paths_temper(s->type, s->score, s->first, s->stride, s->steps, s->classes, 1,
                    t->kept_score + k * t->columns * s->classes);
}

/* The log-probability of the text of kept sample k. */
static double log_prob_of(const ct_text_findings *t, int64_t k, double temperature)
{
    const int64_t classes = t->classes, steps = t->kept_steps[k];
    int64_t n;
    const int32_t *label = ct_found_label(t, k * t->every, &n);
    double sum = 0;
    ct_paths_temper(CT_F32, t->kept_score + k * t->columns * classes, 0, classes, steps, classes, temperature,
                    t->tempered);
    if (t->sequence) return ct_paths_log_prob(t->tempered, steps, classes, label, n, t->work);
    for (int64_t c = 0; c < n; c++) sum += (double)t->tempered[c * classes + label[c]];
    return sum;
}

double ct_text_cost(const ct_findings *f, double temperature)
{
    const ct_text_findings *t = ct_text_findings_of(f);
    double sum = 0;
    for (int64_t k = 0; k < t->kept; k++)
        if (t->kept_steps[k] > 0) sum += ct_calibration_cost(log_prob_of(t, k, temperature), t->kept);
    return sum;
}

void ct_text_temper(ct_facts *facts, double temperature)
{
    ((struct ct_text_facts *)facts)->temperature = temperature;
}
