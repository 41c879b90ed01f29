/* Predictions and the sums behind accuracy. */
#include "config.h"

#include <inttypes.h>

#include "ops/family.h"

static const ct_attr_field no_fields[] = { CT_FIELD_END };
static const ct_attr_field argmax_fields[] = { CT_FIELD_INT(loss, positions), CT_FIELD_INT(loss, classes),
                                               CT_FIELD_END };

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

static ct_status sums_shape(ct_call *c)
{
    CT_TRY(ct_rule_ndim(c, 0, "pred", 2));
    CT_TRY(ct_rule_dtype(c, 0, "pred", CT_I32));
    CT_TRY(ct_rule_same(c, 1, "target", 0, "pred"));
    CT_TRY(ct_rule_accum(c, 2, "loss"));
    CT_TRY(ct_rule_vector(c, 2, "loss", c->in[2].desc.dtype, 1));
    return ct_rule_vector(c, 3, "acc", CT_F64, CT_METRIC_COUNT);
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
    CT_TRY(ct_rule_accum(c, 2, "loss"));
    CT_TRY(ct_rule_vector(c, 2, "loss", c->in[2].desc.dtype, 1));
    if (c->nin < 5) return ct_rule_fail(c, "%d inputs given, needs pred, target, loss, nll?, acc", c->nin);
    if (ct_present(&c->in[3])) {
        CT_TRY(ct_rule_accum(c, 3, "nll"));
        CT_TRY(ct_rule_vector(c, 3, "nll", c->in[3].desc.dtype, c->in[0].desc.dim[0]));
    }
    return ct_rule_vector(c, 4, "acc", CT_F64, CT_METRIC_COUNT);
}

static double argmax_flops(const ct_call *c) { return 4.0 * (double)ct_desc_numel(&c->in[0].desc); }
static double sums_flops(const ct_call *c) { return (double)ct_desc_numel(&c->in[0].desc); }
static double greedy_flops(const ct_call *c) { return (double)ct_desc_numel(&c->in[0].desc); }
/* Three choices for each pair of characters. */
static double edit_flops(const ct_call *c)
{
    return 3.0 * (double)ct_desc_numel(&c->in[0].desc) * (double)c->in[1].desc.dim[1];
}
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
    { .op = CT_OP_METRIC_SUMS,
      .flags = CT_OPF_NO_GRAD,
      .mutates = 1u << 3,
      .inplace_out = -1,
      .inplace_in = -1,
      .precision = CT_PREC_ACCUM,
      .fields = no_fields,
      .shape = sums_shape,
      .flops = sums_flops,
      .roundings = 1,
      .domain = { CT_BELOW(2), CT_BELOW(2), CT_RANGE(0, 3), CT_IS(SUMS) } },
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
      .mutates = 1u << 4,
      .inplace_out = -1,
      .inplace_in = -1,
      .precision = CT_PREC_ACCUM,
      .fields = no_fields,
      .shape = edit_shape,
      .flops = edit_flops,
      .roundings = 1,
      .domain = { { .kind = CT_DOM_TEXT, .hi = 4 }, { .kind = CT_DOM_TEXT, .hi = 4 }, CT_RANGE(0, 3),
                  { .kind = CT_DOM_RANGE, .hi = 3, .poison = CT_POISON_INF }, CT_IS(SUMS) } },
    { .shape = NULL },
};
