/* Texts in programs: heads, losses, predictions, sums.
 *
 * Positions (ct_model_head CT_HEAD_POSITIONS): scores "logits" [N, P*K]; field "target" i32 [N,P] of classes 0..K-1;
 * results "pred" i32 [N,P] and "conf" [N,P], the probability of each. CTC: scores "logits" [T,N,C] are
 * log-probabilities, class 0 is the blank; field "target" i32 [N,L] of characters 0..C-2, -1 behind a shorter text;
 * results "pred" i32 [N,T] and "conf" [N,T] are the best path's characters, -1 and 0 behind them. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "task/text/text.h"

static const char *const loss_names[] = { "softmax", "soft_margin", "ctc" };

const char *ct_text_loss_name(const ct_goal *goal)
{
    return loss_names[goal->loss];
}

static bool reads_texts(const ct_model_spec *m) { return ct_model_head(m) == CT_HEAD_CTC; }

/* ---- what is trained for ---- */

ct_status ct_text_usual(const char *loss, ct_model_spec *model, ct_goal *goal)
{
    *goal = (ct_goal){ .task = goal->task, .loss = reads_texts(model) ? CT_TEXT_CTC : CT_TEXT_SOFTMAX };
    if (!loss) return CT_OK;
    for (int k = 0; k < (int)(sizeof loss_names / sizeof loss_names[0]); k++)
        if (strcmp(loss, loss_names[k]) == 0 && (k == CT_TEXT_CTC) == reads_texts(model)) {
            goal->loss = k;
            return CT_OK;
        }
    return ct_fail(CT_ECONFIG, "loss: '%s' is none of model %s (%s)", loss, model->name,
                   reads_texts(model) ? "ctc" : "softmax, soft_margin");
}

/* The loss of loss.name, which must suit the model, as must the size rule. */
static ct_status find_loss(const ct_config *cfg, bool ctc, int *out)
{
    switch (cfg->loss.name) {
    case CT_CFG_LOSS_AUTO: *out = ctc ? CT_TEXT_CTC : CT_TEXT_SOFTMAX; break;
    case CT_CFG_LOSS_SOFTMAX: *out = CT_TEXT_SOFTMAX; break;
    case CT_CFG_LOSS_SOFT_MARGIN: *out = CT_TEXT_SOFT_MARGIN; break;
    case CT_CFG_LOSS_CTC: *out = CT_TEXT_CTC; break;
    default: /* those of other tasks */
        return ct_fail(CT_ECONFIG, "loss.name: model.name: %s, which reads texts, has softmax, soft_margin or ctc",
                       cfg->model.name);
    }
    if (ctc != (*out == CT_TEXT_CTC))
        return ct_fail(
            CT_ECONFIG, "loss.name: %s does not suit model.name: %s, which %s", loss_names[*out], cfg->model.name,
            ctc ? "needs ctc" : "reads a fixed number of positions (ctc needs a reader or a crnn)");
    if (!ctc && cfg->data.size_rule == CT_CFG_SIZE_FIT_HEIGHT)
        return ct_fail(
            CT_ECONFIG,
            "data.size_rule: fit_height gives images of several widths, model.name: %s reads one (resize or refuse)",
            cfg->model.name);
    return CT_OK;
}

ct_status ct_text_specify(const ct_config *cfg, const ct_facts *facts, ct_model_spec *model, ct_goal *goal)
{
    const struct ct_text_facts *t = ct_text_facts(facts);
    const int64_t classes = t->charset.n;
    const bool ctc = reads_texts(model);
    if (cfg->model.classes > 0 && cfg->model.classes != classes)
        return ct_fail(CT_ECONFIG, "model.classes: is %" PRId64 ", but the charset has %" PRId64 " characters",
                       cfg->model.classes, classes);
    *goal = (ct_goal){ .task = goal->task, .value = { [CT_TEXT_SMOOTHING] = cfg->loss.label_smoothing } };
    CT_TRY(find_loss(cfg, ctc, &goal->loss));
    model->positions = t->positions;
    model->classes = classes + ctc; /* the blank */
    return CT_OK;
}

void ct_text_fit(ct_model_spec *model, const ct_dataset *set)
{
    if (reads_texts(model)) model->positions = ct_text_columns(set);
}

/* ---- building ---- */

static ct_status target(ct_parts *p, ct_val *out)
{
    const int64_t dim[1] = { p->model->positions };
    return ct_parts_field(p, "target", CT_I32, CT_FIELD_IDS, 1, dim, out);
}

/* Log-probabilities, which are also what programs without labels give; best paths and, where there are labels, the
 * edits that separate them. */
static ct_status build_ctc(ct_parts *p)
{
    ct_graph *g = p->g;
    ct_val logp, label = CT_NOVAL, loss[3] = { CT_NOVAL, CT_NOVAL, CT_NOVAL }, best[2], acc; /* loss, nll, alpha */
    CT_TRY(ct_graph_node(g, CT_OP_LOG_SOFTMAX, NULL, "logp", 1, &p->out[0], 1, 1, &logp));
    ct_parts_score(p, 0, logp);
    if (p->labels) {
        CT_TRY(target(p, &label));
        ct_val in[3] = { logp, label, p->steps };
        const ct_attrs a = { .loss = { .smoothing = p->goal->value[CT_TEXT_SMOOTHING] } };
        CT_TRY(ct_graph_node(g, CT_OP_CTC_LOSS, &a, "loss", 3, in, 3, 7, loss));
        CT_TRY(ct_parts_term(p, "ctc", loss[0], 1));
    }
    ct_val in[2] = { logp, p->steps };
    CT_TRY(ct_graph_node(g, CT_OP_CTC_GREEDY, NULL, "pred", 2, in, 2, 3, best));
    CT_TRY(ct_parts_result(p, "pred", best[0]));
    CT_TRY(ct_parts_result(p, "conf", best[1]));
    if (!p->labels) return CT_OK;
    CT_TRY(ct_graph_metrics(g, &acc));
    const ct_attrs first = { .sums = { .first = CT_TEXT_STRINGS } };
    ct_val sums[4] = { best[0], label, loss[1], acc }; /* infeasible samples are counted by their nll */
    return ct_graph_node(g, CT_OP_EDIT_SUMS, &first, "metrics", 4, sums, 0, 0, NULL);
}

static ct_status build_positions(ct_parts *p)
{
    ct_graph *g = p->g;
    const bool softmax = p->goal->loss == CT_TEXT_SOFTMAX;
    ct_attrs a = { .loss = { .positions = p->model->positions, .classes = p->model->classes } };
    ct_val label = CT_NOVAL, best[2], acc;
    if (p->labels) {
        ct_attrs l = a;
        ct_val loss[2];
        CT_TRY(target(p, &label));
        ct_val in[2] = { p->out[0], label };
        if (softmax) l.loss.smoothing = p->goal->value[CT_TEXT_SMOOTHING];
        CT_TRY(ct_graph_node(g, softmax ? CT_OP_SOFTMAX_XENT : CT_OP_SOFT_MARGIN, &l, "loss", 2, in, softmax ? 2 : 1,
                             softmax ? 3 : 1, loss));
        CT_TRY(ct_parts_term(p, loss_names[p->goal->loss], loss[0], 1));
    }
    CT_TRY(ct_graph_node(g, CT_OP_ARGMAX, &a, "pred", 1, &p->out[0], 2, 3, best));
    CT_TRY(ct_parts_result(p, "pred", best[0]));
    CT_TRY(ct_parts_result(p, "conf", best[1]));
    if (!p->labels) return CT_OK;
    CT_TRY(ct_graph_metrics(g, &acc));
    const ct_attrs first = { .sums = { .first = CT_TEXT_STRINGS } };
    ct_val sums[3] = { best[0], label, acc };
    return ct_graph_node(g, CT_OP_METRIC_SUMS, &first, "metrics", 3, sums, 0, 0, NULL);
}

ct_status ct_text_build(ct_parts *p)
{
    if (reads_texts(p->model) != (p->goal->loss == CT_TEXT_CTC))
        return ct_fail(CT_EINVAL,
                       "program: model %s and this loss do not go together: CTC belongs to models with time steps",
                       p->model->name);
    return p->goal->loss == CT_TEXT_CTC ? build_ctc(p) : build_positions(p);
}

/* ---- what it is, for people ---- */

char *ct_text_outputs(const ct_place *p, char *buf, size_t size)
{
    const ct_model_spec *m = p->model;
    if (reads_texts(m))
        snprintf(buf, size, "%" PRId64 " time steps of %" PRId64 " classes, labels of at most %" PRId64 " characters",
                 ct_model_steps(m, ct_model_length(m)), m->classes, m->positions);
    else snprintf(buf, size, "%" PRId64 " x %" PRId64 " classes", m->positions, m->classes);
    return buf;
}

void ct_text_describe(const ct_place *p, ct_tell *tell, void *user)
{
    tell(user, "charset", ct_text_facts(p->facts)->charset.utf8);
}

/* ---- random samples ---- */

ct_status ct_text_random(const ct_place *p, const char *name, const ct_desc *desc, ct_rng *rng, void *host)
{
    const int64_t columns = desc->dim[1];
    const bool ctc = reads_texts(p->model);
    int32_t *id = host;
    if (strcmp(name, "target") != 0) return ct_fail(CT_EINTERNAL, "task text has no field '%s'", name);
    for (int64_t i = 0; i < ct_desc_numel(desc); i++) {
        const bool behind = ctc && i % columns >= 5 + i / columns % 4; /* texts of 5 to 8 characters */
        id[i] = behind ? -1 : (int32_t)ct_rng_below(rng, (uint32_t)(p->model->classes - ctc));
    }
    return CT_OK;
}
