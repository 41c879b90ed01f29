/* Losses over P positions of K classes: logits [N,P*K] position-major, target i32 [N,P]. And their sum. */
#include "config.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>

#include "ops/family.h"

static const ct_attr_field seed_fields[] = { CT_FIELD_REAL(loss, alpha), CT_FIELD_INT(loss, dtype), CT_FIELD_END };
static const ct_attr_field xent_fields[] = {
    CT_FIELD_INT(loss, positions), CT_FIELD_INT(loss, classes), CT_FIELD_REAL(loss, smoothing), CT_FIELD_END
};
static const ct_attr_field margin_fields[] = { CT_FIELD_INT(loss, positions), CT_FIELD_INT(loss, classes),
                                               CT_FIELD_END };

static const ct_attr_field weights_fields[] = { CT_FIELD_REALS(weights, w, n), CT_FIELD_END };

static ct_status seed_shape(ct_call *c)
{
    CT_TRY(ct_rule_state(c, 0));
    CT_TRY(ct_rule_attr_float(c, "dtype", c->attrs.loss.dtype, true));
    ct_rule_out(c, 0, ct_desc1((ct_dtype)c->attrs.loss.dtype, 1));
    return CT_OK;
}

static ct_status check_logits(const ct_call *c)
{
    const ct_loss_attrs *a = &c->attrs.loss;
    const ct_desc *logits = &c->in[0].desc, *target = &c->in[1].desc;
    CT_TRY(ct_rule_ndim(c, 0, "logits", 2));
    CT_TRY(ct_rule_accum(c, 0, "logits"));
    CT_TRY(ct_rule_int(c, "positions", a->positions, 1, logits->dim[1]));
    CT_TRY(ct_rule_int(c, "classes", a->classes, 1, logits->dim[1]));
    if (logits->dim[1] % a->positions != 0 || logits->dim[1] / a->positions != a->classes)
        return ct_rule_fail(
            c, "logits have %" PRId64 " columns, but positions=%" PRId64 " * classes=%" PRId64 " are wanted",
            logits->dim[1], a->positions, a->classes);
    CT_TRY(ct_rule_ndim(c, 1, "target", 2));
    CT_TRY(ct_rule_dtype(c, 1, "target", CT_I32));
    if (target->dim[0] != logits->dim[0] || target->dim[1] != a->positions)
        return ct_rule_fail(c, "target has %" PRId64 "x%" PRId64 " entries, but N=%" PRId64 " and positions=%" PRId64,
                            target->dim[0], target->dim[1], logits->dim[0], a->positions);
    return CT_OK;
}

static ct_status check_smoothing(const ct_call *c)
{
    return ct_rule_real(c, "smoothing", c->attrs.loss.smoothing, 0, 1);
}

static ct_status xent_shape(ct_call *c)
{
    const ct_desc *logits = &c->in[0].desc;
    CT_TRY(check_logits(c));
    CT_TRY(check_smoothing(c));
    ct_rule_out(c, 0, ct_desc1(logits->dtype, 1));
    ct_rule_out(c, 1, ct_desc2(logits->dtype, logits->dim[0], c->attrs.loss.positions));
    return CT_OK;
}

static ct_status xent_bwd_shape(ct_call *c)
{
    const ct_desc *logits = &c->in[0].desc;
    CT_TRY(check_logits(c));
    CT_TRY(check_smoothing(c));
    CT_TRY(ct_rule_same_shape(c, 2, "lse", 1, "target"));
    CT_TRY(ct_rule_dtype(c, 2, "lse", logits->dtype));
    CT_TRY(ct_rule_vector(c, 3, "dloss", logits->dtype, 1));
    ct_rule_out(c, 0, *logits);
    return CT_OK;
}

static ct_status margin_shape(ct_call *c)
{
    CT_TRY(check_logits(c));
    ct_rule_out(c, 0, ct_desc1(c->in[0].desc.dtype, 1));
    return CT_OK;
}

static ct_status margin_bwd_shape(ct_call *c)
{
    CT_TRY(check_logits(c));
    CT_TRY(ct_rule_vector(c, 2, "dloss", c->in[0].desc.dtype, 1));
    ct_rule_out(c, 0, c->in[0].desc);
    return CT_OK;
}

static ct_status weighted_shape(ct_call *c)
{
    const ct_weights_attrs *a = &c->attrs.weights;
    const ct_dtype type = c->in[0].desc.dtype;
    if (a->n != c->nin) return ct_rule_fail(c, "%" PRId64 " weights for %d losses", a->n, c->nin);
    CT_TRY(ct_rule_accum(c, 0, "loss 0"));
    for (int i = 0; i < c->nin; i++) {
        char name[16];
        snprintf(name, sizeof name, "loss %d", i);
        if (!ct_present(&c->in[i])) return ct_rule_fail(c, "%s is absent", name);
        CT_TRY(ct_rule_vector(c, i, name, type, 1));
        CT_TRY(ct_rule_real(c, "w", a->w[i], -DBL_MAX, DBL_MAX));
    }
    ct_rule_out(c, 0, ct_desc1(type, 1));
    return CT_OK;
}

static ct_status xent_grad(const ct_grad_ctx *g)
{
    if (g->dout[1] != CT_NOVAL)
        return ct_fail(CT_EUNSUPPORTED, "softmax_xent: gradients through lse are not defined here");
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    ct_val in[4] = { g->in[0], g->in[1], g->out[1], g->dout[0] };
    return ct_grad_emit1(g, CT_OP_SOFTMAX_XENT_BWD, g->attrs, 4, in, &g->din[0]);
}

static ct_status margin_grad(const ct_grad_ctx *g)
{
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    ct_val in[3] = { g->in[0], g->in[1], g->dout[0] };
    return ct_grad_emit1(g, CT_OP_SOFT_MARGIN_BWD, g->attrs, 3, in, &g->din[0]);
}

/* A weight of 1 needs no product. */
static ct_status weighted_grad(const ct_grad_ctx *g)
{
    if (g->dout[0] == CT_NOVAL) return CT_OK;
    for (int i = 0; i < g->nin; i++) {
        const ct_attrs a = { .scale = { .alpha = g->attrs->weights.w[i] } };
        if (!g->need[i]) continue;
        if (a.scale.alpha == 1)
            g->din[i] = g->dout[0];
        else
            CT_TRY(ct_grad_emit1(g, CT_OP_SCALE, &a, 1, &g->dout[0], &g->din[i]));
    }
    return CT_OK;
}

/* Per logit: maximum, subtraction, exponential, sum; or a few steps of the same order. */
static double loss_flops(const ct_call *c) { return 4.0 * (double)ct_desc_numel(&c->in[0].desc); }

/* A row's sum and then the sum over rows. */
static int64_t xent_reduction(const ct_call *c) { return ct_desc_numel(&c->in[1].desc) + c->attrs.loss.classes; }
static int64_t margin_reduction(const ct_call *c) { return ct_desc_numel(&c->in[0].desc); }
static double weighted_flops(const ct_call *c) { return 2.0 * (double)c->nin; }
static int64_t weighted_reduction(const ct_call *c) { return c->nin; }
static int64_t row_reduction(const ct_call *c) { return c->attrs.loss.classes; }

const ct_op_rules ct_loss_rules[] = {
    { .op = CT_OP_LOSS_SEED, .flags = CT_OPF_NO_GRAD, .inplace_out = -1, .inplace_in = -1, .precision = CT_PREC_FLOW,
      .fields = seed_fields, .shape = seed_shape,
      .roundings = 1, .domain = { CT_IS(STATE) } },
    { .op = CT_OP_SOFTMAX_XENT, .inplace_out = -1, .inplace_in = -1, .precision = CT_PREC_ACCUM, .fields = xent_fields,
      .shape = xent_shape, .grad = xent_grad, .flops = loss_flops, .reduction = xent_reduction,
      .roundings = 4, .domain = { CT_ANY_OR(ct_domain_wide), CT_BY_CALL(ct_domain_class) } },
    { .op = CT_OP_SOFTMAX_XENT_BWD, .flags = CT_OPF_NO_GRAD, .inplace_out = 0, .inplace_in = 0,
      .precision = CT_PREC_ACCUM,
      .fields = xent_fields, .shape = xent_bwd_shape, .flops = loss_flops, .reduction = row_reduction,
      .roundings = 8, /* x - lse loses what lse is larger than the difference */
      .domain = { CT_ANY_OR(ct_domain_wide), CT_BY_CALL(ct_domain_class), CT_OUTPUT(1, CT_OP_SOFTMAX_XENT), CT_ANY } },
    { .op = CT_OP_SOFT_MARGIN, .inplace_out = -1, .inplace_in = -1, .precision = CT_PREC_ACCUM, .fields = margin_fields,
      .shape = margin_shape, .grad = margin_grad, .flops = loss_flops, .reduction = margin_reduction,
      .roundings = 4, .domain = { CT_ANY_OR(ct_domain_wide), CT_BY_CALL(ct_domain_class) } },
    { .op = CT_OP_SOFT_MARGIN_BWD, .flags = CT_OPF_NO_GRAD, .inplace_out = 0, .inplace_in = 0,
      .precision = CT_PREC_ACCUM,
      .fields = margin_fields, .shape = margin_bwd_shape, .flops = loss_flops,
      .roundings = 4, .domain = { CT_ANY_OR(ct_domain_wide), CT_BY_CALL(ct_domain_class), CT_ANY } },
    { .op = CT_OP_WEIGHTED_SUM, .inplace_out = -1, .inplace_in = -1, .precision = CT_PREC_ACCUM, .fields = weights_fields,
      .shape = weighted_shape, .grad = weighted_grad, .flops = weighted_flops, .reduction = weighted_reduction,
      .roundings = 1, .domain = { CT_ANY, CT_ANY, CT_ANY, CT_ANY, CT_ANY, CT_ANY, CT_ANY, CT_ANY,
                  CT_ANY, CT_ANY, CT_ANY, CT_ANY, CT_ANY, CT_ANY, CT_ANY, CT_ANY } },
    { .shape = NULL },
};
