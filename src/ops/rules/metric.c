/* Predictions and the sums behind accuracy. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "ops/family.h"

static const ct_attr_field no_fields[] = { CT_FIELD_END };
static const ct_attr_field argmax_fields[] = { CT_FIELD_INT(loss, positions), CT_FIELD_INT(loss, classes),
                                               CT_FIELD_END };
static const ct_attr_field batch_fields[] = { CT_FIELD_INT(sums, samples), CT_FIELD_INT(sums, first), CT_FIELD_END };
static const ct_attr_field sums_fields[] = { CT_FIELD_INT(sums, first), CT_FIELD_END };

/* Numbers that metric_sums and edit_sums add. */
enum { METRIC_NUMBERS = 3, EDIT_NUMBERS = 9 };

/* acc is input i, and `count` slots of a task's own begin at attribute first. */
static ct_status acc_rule(const ct_call *c, int i, int64_t count)
{
    CT_TRY(ct_rule_int(c, "first", c->attrs.sums.first, CT_METRIC_FIRST, CT_METRIC_COUNT - count));
    return ct_rule_vector(c, i, "acc", CT_F64, CT_METRIC_COUNT);
}

static ct_status argmax_shape(ct_call *c)
{
    const ct_loss_attrs *a = &c->attrs.loss;
    const ct_desc *logits = &c->in[0].desc;
    CT_TRY(ct_rule_ndim(c, 0, "logits", 2));
    CT_TRY(ct_rule_accum(c, 0, "logits"));
    CT_TRY(ct_rule_int(c, "positions", a->positions, 1, logits->dim[1]));
    CT_TRY(ct_rule_int(c, "classes", a->classes, 1, logits->dim[1]));
    if (logits->dim[1] % a->positions != 0 || logits->dim[1] / a->positions != a->classes)
        return ct_rule_fail(
            c, "logits have %" PRId64 " columns, but positions=%" PRId64 " * classes=%" PRId64 " are wanted",
            logits->dim[1], a->positions, a->classes);
    ct_rule_out(c, 0, ct_desc2(CT_I32, logits->dim[0], a->positions));
    ct_rule_out(c, 1, ct_desc2(logits->dtype, logits->dim[0], a->positions));
    return CT_OK;
}

static ct_status batch_shape(ct_call *c)
{
    const ct_dtype type = c->in[0].desc.dtype;
    CT_TRY(ct_rule_accum(c, 0, "loss"));
    CT_TRY(ct_rule_vector(c, 0, "loss", type, 1));
    CT_TRY(ct_rule_int(c, "samples", c->attrs.sums.samples, 1, INT64_MAX));
    for (int i = 2; i < c->nin; i++) {
        char name[16];
        snprintf(name, sizeof name, "term %d", i - 2);
        if (!ct_present(&c->in[i])) return ct_rule_fail(c, "%s is absent", name);
        CT_TRY(ct_rule_vector(c, i, name, type, 1));
    }
    return acc_rule(c, 1, c->nin - 2);
}

static ct_status sums_shape(ct_call *c)
{
    CT_TRY(ct_rule_ndim(c, 0, "pred", 2));
    CT_TRY(ct_rule_dtype(c, 0, "pred", CT_I32));
    CT_TRY(ct_rule_same(c, 1, "target", 0, "pred"));
    return acc_rule(c, 2, METRIC_NUMBERS);
}

static ct_status greedy_shape(ct_call *c)
{
    const ct_desc *logp = &c->in[0].desc;
    CT_TRY(ct_rule_accum(c, 0, "logp"));
    CT_TRY(ct_rule_ndim(c, 0, "logp", 3));
    if (ct_present(&c->in[1])) CT_TRY(ct_rule_vector(c, 1, "len", CT_I32, logp->dim[1]));
    ct_rule_out(c, 0, ct_desc2(CT_I32, logp->dim[1], logp->dim[0]));
    ct_rule_out(c, 1, ct_desc2(logp->dtype, logp->dim[1], logp->dim[0]));
    return CT_OK;
}

static ct_status edit_shape(ct_call *c)
{
    CT_TRY(ct_rule_ndim(c, 0, "pred", 2));
    CT_TRY(ct_rule_dtype(c, 0, "pred", CT_I32));
    CT_TRY(ct_rule_ndim(c, 1, "target", 2));
    CT_TRY(ct_rule_dtype(c, 1, "target", CT_I32));
    CT_TRY(ct_rule_dim(c, 1, "target", 0, c->in[0].desc.dim[0]));
    if (c->nin < 4) return ct_rule_fail(c, "%d inputs given, needs pred, target, nll?, acc", c->nin);
    if (ct_present(&c->in[2])) {
        CT_TRY(ct_rule_accum(c, 2, "nll"));
        CT_TRY(ct_rule_vector(c, 2, "nll", c->in[2].desc.dtype, c->in[0].desc.dim[0]));
    }
    return acc_rule(c, 3, EDIT_NUMBERS);
}

static double argmax_flops(const ct_call *c) { return 4.0 * (double)ct_desc_numel(&c->in[0].desc); }
static double batch_flops(const ct_call *c) { return 2.0 * (double)c->nin; }
static double sums_flops(const ct_call *c) { return (double)ct_desc_numel(&c->in[0].desc); }
static double greedy_flops(const ct_call *c) { return (double)ct_desc_numel(&c->in[0].desc); }
/* Three choices for each pair of characters. */
static double edit_flops(const ct_call *c)
{
    return 3.0 * (double)ct_desc_numel(&c->in[0].desc) * (double)c->in[1].desc.dim[1];
}
/* The fractions of the samples are summed. */
static int64_t edit_reduction(const ct_call *c) { return c->in[0].desc.dim[0]; }
static int64_t argmax_reduction(const ct_call *c) { return c->attrs.loss.classes; }

const ct_op_rules ct_metric_rules[] = {
    { .op = CT_OP_ARGMAX,
      .flags = CT_OPF_NO_GRAD,
      .inplace_out = -1,
      .inplace_in = -1,
      .precision = CT_PREC_ACCUM,
      .fields = argmax_fields,
      .shape = argmax_shape,
      .flops = argmax_flops,
      .reduction = argmax_reduction,
      .roundings = 4,
      .domain = { CT_ANY } },
    { .op = CT_OP_BATCH_SUMS,
      .flags = CT_OPF_NO_GRAD,
      .mutates = 1u << 1,
      .inplace_out = -1,
      .inplace_in = -1,
      .precision = CT_PREC_ACCUM,
      .fields = batch_fields,
      .shape = batch_shape,
      .flops = batch_flops,
      .roundings = 1,
      .domain = { CT_RANGE(0, 3), CT_IS(SUMS), CT_RANGE(0, 3), CT_RANGE(0, 3), CT_RANGE(0, 3), CT_RANGE(0, 3), CT_RANGE(0, 3), CT_RANGE(0, 3),
                  CT_RANGE(0, 3), CT_RANGE(0, 3), CT_RANGE(0, 3), CT_RANGE(0, 3), CT_RANGE(0, 3), CT_RANGE(0, 3), CT_RANGE(0, 3), CT_RANGE(0, 3) } },
    { .op = CT_OP_METRIC_SUMS,
      .flags = CT_OPF_NO_GRAD,
      .mutates = 1u << 2,
      .inplace_out = -1,
      .inplace_in = -1,
      .precision = CT_PREC_ACCUM,
      .fields = sums_fields,
      .shape = sums_shape,
      .flops = sums_flops,
      .roundings = 1,
      .domain = { CT_BELOW(2), CT_BELOW(2), CT_IS(SUMS) } },
    { .op = CT_OP_CTC_GREEDY,
      .flags = CT_OPF_NO_GRAD,
      .inplace_out = -1,
      .inplace_in = -1,
      .precision = CT_PREC_ACCUM,
      .fields = no_fields,
      .shape = greedy_shape,
      .flops = greedy_flops,
      .roundings = 8,
      .domain = { CT_IS(LOGP), CT_IS(LEN) } },
    { .op = CT_OP_EDIT_SUMS,
      .flags = CT_OPF_NO_GRAD,
      .mutates = 1u << 3,
      .inplace_out = -1,
      .inplace_in = -1,
      .precision = CT_PREC_ACCUM,
      .fields = sums_fields,
      .shape = edit_shape,
      .flops = edit_flops,
      .reduction = edit_reduction,
      .roundings = 1,
      .domain = { { .kind = CT_DOM_TEXT, .hi = 4 }, { .kind = CT_DOM_TEXT, .hi = 4 },
                  { .kind = CT_DOM_RANGE, .hi = 3, .poison = CT_POISON_INF }, CT_IS(SUMS) } },
    { .shape = NULL },
};
