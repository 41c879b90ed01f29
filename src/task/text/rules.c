/* What a configuration says of labels and of the model that reads them. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "task/text/text.h"

const struct ct_text_facts *ct_text_facts(const ct_facts *facts) { return (const struct ct_text_facts *)facts; }

ct_model_spec ct_text_model(const ct_config *cfg)
{
    const ct_model_info *m = ct_model_find(cfg->model.name);
    return (ct_model_spec){ .name = m ? m->name : "", /* not of cfg: a label reader outlives it */
                            .height = cfg->data.height,
                            .width = cfg->data.width,
                            .channels = cfg->data.channels,
                            .width_mult = cfg->model.width,
                            .hidden = cfg->model.hidden,
                            .dropout = cfg->model.dropout };
}

bool ct_text_sequence(const ct_config *cfg)
{
    const ct_model_spec m = ct_text_model(cfg);
    return ct_model_head(&m) == CT_HEAD_CTC;
}

/* For label readers; user is a ct_model_spec. */
static int64_t time_steps(const void *user, int width)
{
    return ct_model_steps(user, width);
}

static ct_label_rule rule_of(const ct_config *cfg)
{
    ct_label_rule rule = CT_LABEL_RULE_DEFAULT;
    _Static_assert(CT_CONFIG_SEPARATOR_BYTES < sizeof rule.separator, "a separator that is accepted fits");
    snprintf(rule.separator, sizeof rule.separator, "%s", cfg->data.label_separator);
    rule.side = cfg->data.label_side == CT_CFG_SIDE_AFTER ? CT_LABEL_AFTER_LAST : CT_LABEL_BEFORE_FIRST;
    rule.fold = cfg->data.letter_case == CT_CFG_CASE_UPPER   ? CT_CASE_UPPER
                : cfg->data.letter_case == CT_CFG_CASE_LOWER ? CT_CASE_LOWER
                                                             : CT_CASE_KEEP;
    return rule;
}

ct_status ct_text_rules_config(const ct_config *cfg, const ct_facts *facts, ct_text_given *own, ct_text_rules *out)
{
    const struct ct_text_facts *f = ct_text_facts(facts);
    const bool sequence = ct_text_sequence(cfg);
    memset(own, 0, sizeof *own);
    *out = (ct_text_rules){ .rule = rule_of(cfg), .labels = cfg->data.labels, .of = cfg->data.train,
                            .root = cfg->data.root };
    if (f) {
        out->charset = &f->charset;
        out->rule.as_is = f->as_is;
    } else if (*cfg->data.charset) {
        ct_status st = ct_charset_parse(cfg->data.charset, &own->charset);
        if (st != CT_OK) return ct_fail_context(st, "data.charset");
        out->charset = &own->charset;
    }
    if (!sequence) {
        out->length = f ? f->positions : (int)cfg->data.length;
        return CT_OK;
    }
    out->most = (int)cfg->data.length;
    out->columns = f ? f->positions : 0;
    own->model = ct_text_model(cfg);
    out->steps = time_steps;
    out->user = &own->model;
    out->user_bytes = sizeof own->model;
    return CT_OK;
}
