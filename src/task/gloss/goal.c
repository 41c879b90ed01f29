/* What models of sign language are trained for, from the keys of its loss. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "task/gloss/gloss.h"

#define NAME "tfnet"

const char *ct_gloss_loss_name(const ct_goal *goal)
{
    (void)goal; /* the only one */
    return NAME;
}

ct_status ct_gloss_usual(const char *loss, ct_model_spec *model, ct_goal *goal)
{
    *goal = (ct_goal){ .task = goal->task, .loss = CT_GLOSS_TFNET };
    double *v = goal->value;
    for (int i = 0; i < CT_GLOSS_KD_WEIGHT; i++) v[CT_GLOSS_CTC_WEIGHT0 + i] = 1;
    v[CT_GLOSS_KD_WEIGHT] = 25;
    v[CT_GLOSS_KD_TEMPERATURE] = 8;
    if (!loss || strcmp(loss, NAME) == 0) return CT_OK;
    return ct_fail(CT_ECONFIG, "loss: '%s' is none of model %s (" NAME ")", loss, model->name);
}

static ct_status check_keys(const ct_config *cfg, int64_t words)
{
    const char *model = cfg->model.name;
    const ct_cfg_loss_keys *k = &cfg->loss;
    if (k->name != CT_CFG_LOSS_AUTO && k->name != CT_CFG_LOSS_TFNET)
        return ct_fail(CT_ECONFIG, "loss.name: model.name: %s, which reads sign language, has " NAME, model);
    if (k->label_smoothing > 0)
        return ct_fail(CT_ECONFIG, "loss.label_smoothing: the loss " NAME " (model.name: %s) has none", model);
    if (cfg->model.classes > 0 && cfg->model.classes != words)
        return ct_fail(CT_ECONFIG, "model.classes: is %" PRId64 ", but the vocabulary has %" PRId64 " words",
                       cfg->model.classes, words);
    return CT_OK;
}

ct_status ct_gloss_specify(const ct_config *cfg, const ct_facts *facts, ct_model_spec *model, ct_goal *goal)
{
    const struct ct_gloss_facts *f = ct_gloss_facts(facts);
    const ct_cfg_loss_keys *k = &cfg->loss;
    CT_TRY(check_keys(cfg, f->vocabulary.n));
    CT_TRY(ct_gloss_usual(NULL, model, goal));
    for (int i = 0; i < CT_GLOSS_KD_WEIGHT; i++) goal->value[CT_GLOSS_CTC_WEIGHT0 + i] = k->ctc_weights.v[i];
    goal->value[CT_GLOSS_KD_WEIGHT] = k->kd_weight;
    goal->value[CT_GLOSS_KD_TEMPERATURE] = k->kd_temperature;
    goal->value[CT_GLOSS_KD_MASK] = k->kd_mask;
    goal->value[CT_GLOSS_KD_DETACH] = k->kd_detach;
    model->classes = f->vocabulary.n + 1; /* the blank */
    model->positions = f->columns;
    return CT_OK;
}
