/* Glosses in programs: losses, the best path, sums.
 *
 * Scores lp1 .. lp5 [T,N,classes], class 0 the blank: lp1 and lp2 of one branch's LSTM and convolutions, lp3 and lp4 of
 * the other's, lp5 of both LSTMs together. lp5 is what is read; programs give its log-probabilities, and those without
 * labels nothing else. Field "target" i32 [N,L] of words 0..classes-2, -1 behind a shorter label. Terms ctc1 .. ctc5,
 * and kd1 and kd2, by which what the convolutions say follows the LSTM behind them (and, unless it is detached, the
 * LSTM them). Results "pred" i32 [N,T] and "conf" [N,T]: the best path's words and how sure each is, -1 and 0 behind
 * them. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "task/gloss/gloss.h"

enum { LP1, LP2, LP3, LP4, LP5, SCORES }; /* the model's outputs */

static ct_status log_probabilities(ct_parts *p, const char *name, int k, ct_val *out)
{
    return ct_graph_node(p->g, CT_OP_LOG_SOFTMAX, NULL, name, 1, &p->out[k], 1, 1, out);
}

/* Mean over the samples of -log p(label); a label that does not fit costs nothing. *nll [N] of lp5: its own. */
static ct_status ctc_terms(ct_parts *p, ct_val label, ct_val logp5, ct_val *nll)
{
    static const char *const name[SCORES] = { "ctc1", "ctc2", "ctc3", "ctc4", "ctc5" };
    static const char *const logs[SCORES] = { "lp1.logp", "lp2.logp", "lp3.logp", "lp4.logp", NULL };
    static const char *const node[SCORES] = { "ctc1.loss", "ctc2.loss", "ctc3.loss", "ctc4.loss", "ctc5.loss" };
    for (int k = 0; k < SCORES; k++) {
        const double weight = p->goal->value[CT_GLOSS_CTC_WEIGHT0 + k];
        ct_val in[3] = { logp5, label, p->steps }, loss[3]; /* loss, nll, alpha */
        if (!(weight > 0)) continue;
        if (k != LP5) CT_TRY(log_probabilities(p, logs[k], k, &in[0]));
        CT_TRY(ct_graph_node(p->g, CT_OP_CTC_LOSS, NULL, node[k], 3, in, 3, 7, loss));
        CT_TRY(ct_parts_term(p, name[k], loss[0], weight));
        if (k == LP5) *nll = loss[1];
    }
    return CT_OK;
}

static ct_status distill_terms(ct_parts *p)
{
    static const struct { const char *name, *node; int learns, from; } pair[] = { { "kd1", "kd1.loss", LP2, LP1 },
                                                                                  { "kd2", "kd2.loss", LP4, LP3 } };
    const double *v = p->goal->value;
    const ct_attrs a = { .distill = { .temperature = v[CT_GLOSS_KD_TEMPERATURE],
                                      .first = 1, /* the blank is left out */
                                      .detach = v[CT_GLOSS_KD_DETACH] > 0 } };
    if (!(v[CT_GLOSS_KD_WEIGHT] > 0)) return CT_OK;
    for (int k = 0; k < 2; k++) {
        const ct_val in[3] = { p->out[pair[k].learns], p->out[pair[k].from], p->steps };
        ct_val out[2]; /* loss, kl */
        CT_TRY(ct_graph_node(p->g, CT_OP_DISTILL, &a, pair[k].node, v[CT_GLOSS_KD_MASK] > 0 ? 3 : 2, in, 2, 3, out));
        CT_TRY(ct_parts_term(p, pair[k].name, out[0], v[CT_GLOSS_KD_WEIGHT]));
    }
    return CT_OK;
}

ct_status ct_gloss_build(ct_parts *p)
{
    const int64_t dim[1] = { p->model->positions };
    const ct_attrs first = { .sums = { .first = CT_GLOSS_SENTENCES } };
    ct_val logp, label = CT_NOVAL, nll = CT_NOVAL, best[2], acc;
    if (p->scores != SCORES || p->steps == CT_NOVAL)
        return ct_fail(CT_EINVAL, "program: model %s gives no scores that glosses are read from", p->model->name);
    CT_TRY(log_probabilities(p, "lp5.logp", LP5, &logp));
    ct_parts_score(p, LP5, logp);
    if (p->labels) {
        CT_TRY(ct_parts_field(p, CT_GLOSS_FIELD, CT_I32, CT_FIELD_IDS, 1, dim, &label));
        CT_TRY(ctc_terms(p, label, logp, &nll));
        CT_TRY(distill_terms(p));
    } else {
        p->score[0] = p->score[LP5];
        p->scores = 1;
    }
    CT_TRY(ct_graph_node(p->g, CT_OP_CTC_GREEDY, NULL, "best", 2, (ct_val[]){ logp, p->steps }, 2, 3, best));
    CT_TRY(ct_parts_result(p, "pred", best[0]));
    CT_TRY(ct_parts_result(p, "conf", best[1]));
    if (!p->labels) return CT_OK;
    CT_TRY(ct_graph_metrics(p->g, &acc));
    const ct_val sums[4] = { best[0], label, nll, acc };
    return ct_graph_node(p->g, CT_OP_EDIT_SUMS, &first, "metrics", 4, sums, 0, 0, NULL);
}

void ct_gloss_fit(ct_model_spec *model, const ct_dataset *set) { model->positions = ct_gloss_columns(set); }

/* ---- what it is, for people ---- */

char *ct_gloss_outputs(const ct_place *p, char *buf, size_t size)
{
    const ct_model_spec *m = p->model;
    snprintf(buf, size, "%" PRId64 " time steps of %" PRId64 " classes, labels of at most %" PRId64 " glosses",
             ct_model_steps(m, ct_model_length(m)), m->classes, m->positions);
    return buf;
}

void ct_gloss_describe(const ct_place *p, ct_tell *tell, void *user)
{
    const ct_vocabulary *v = &ct_gloss_facts(p->facts)->vocabulary;
    const ct_clip_rule *r = ct_model_clip(p->model);
    char text[160];
    if (v->n > 0)
        snprintf(text, sizeof text, "%" PRId64 " words, %.40s to %.40s", v->n, v->word[0], v->word[v->n - 1]);
    else snprintf(text, sizeof text, "no words");
    tell(user, "vocabulary", text);
    snprintf(text, sizeof text, "%d copies of the first picture in front, then a multiple of %d and %d more",
             r->front, r->multiple, r->extra);
    tell(user, "clips", text);
}

/* ---- something to measure with ---- */

/* Words drawn evenly; labels of as many as half the time steps, 6 at most, so that each fits. */
ct_status ct_gloss_random(const ct_place *p, const char *name, const ct_desc *desc, ct_rng *rng, void *host)
{
    const int64_t columns = desc->dim[1], half = ct_model_steps(p->model, ct_model_length(p->model)) / 2;
    const int64_t words = half < 1 ? 1 : half < 6 ? half : 6;
    int32_t *id = host;
    if (strcmp(name, CT_GLOSS_FIELD) != 0) return ct_fail(CT_EINTERNAL, "task gloss has no field '%s'", name);
    for (int64_t i = 0; i < ct_desc_numel(desc); i++)
        id[i] = i % columns < words ? (int32_t)ct_rng_below(rng, (uint32_t)(p->model->classes - 1)) : -1;
    return CT_OK;
}
