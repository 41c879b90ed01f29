/* Activation functions and dropout. */
#include "config.h"

#include "ops/family.h"

static const ct_attr_field act_fields[] = { CT_FIELD_INT(act, kind), CT_FIELD_REAL(act, alpha), CT_FIELD_END };
static const ct_attr_field mask_fields[] = {
    CT_FIELD_REAL(dropout, p), CT_FIELD_INT(dropout, seed), CT_FIELD_INT(dropout, stream), CT_FIELD_INT(dropout, first),
    CT_FIELD_INT(dropout, run), CT_FIELD_INT(dropout, pitch), CT_FIELD_INT(dropout, ndim), CT_FIELD_INT(dropout, d0), CT_FIELD_INT(dropout, d1), CT_FIELD_INT(dropout, d2),
    CT_FIELD_INT(dropout, d3), CT_FIELD_INT(dropout, d4), CT_FIELD_END
};
static const ct_attr_field apply_fields[] = { CT_FIELD_REAL(dropout, p), CT_FIELD_END };

static ct_status check_kind(const ct_call *c)
{
    const ct_act_attrs *a = &c->attrs.act;
    CT_TRY(ct_rule_int(c, "kind", a->kind, 0, CT_ACT_COUNT - 1));
    /* With a slope of 0 or below, the sign of y would not tell the sign of x, which the gradient needs. */
    if (a->kind == CT_ACT_LEAKY_RELU && !(a->alpha > 0 && a->alpha <= 1))
        return ct_rule_fail(c, "attribute alpha is %g, but the slope of leaky_relu must be within (0, 1]", a->alpha);
    return CT_OK;
}

static ct_status act_shape(ct_call *c)
{
    CT_TRY(ct_rule_float(c, 0, "x"));
    CT_TRY(check_kind(c));
    ct_rule_out(c, 0, c->in[0].desc);
    return CT_OK;
}

static ct_status act_bwd_shape(ct_call *c)
{
    CT_TRY(ct_rule_float(c, 0, "dy"));
    CT_TRY(ct_rule_same(c, 1, "saved", 0, "dy"));
    CT_TRY(check_kind(c));
    ct_rule_out(c, 0, c->in[0].desc);
    return CT_OK;
}

static ct_status check_p(const ct_call *c)
{
    double p = c->attrs.dropout.p;
    if (p >= 0 && p < 1) return CT_OK;
    return ct_rule_fail(c, "attribute p is %g, but must be within [0, 1)", p);
}

/* Words are drawn for four elements at a time. */
static ct_status check_runs(const ct_call *c, int64_t numel)
{
    const ct_dropout_attrs *a = &c->attrs.dropout;
    if (a->run == 0 && a->first == 0 && a->pitch == 0) return CT_OK;
    CT_TRY(ct_rule_int(c, "run", a->run, 4, INT64_MAX));
    CT_TRY(ct_rule_int(c, "first", a->first, 0, INT64_MAX));
    CT_TRY(ct_rule_int(c, "pitch", a->pitch, a->run, INT64_MAX));
    if (a->first % 4 == 0 && a->run % 4 == 0 && a->pitch % 4 == 0 && numel % a->run == 0) return CT_OK;
    return ct_rule_fail(c, "attributes first %lld, run %lld and pitch %lld must be multiples of 4, and %lld elements whole runs",
                        (long long)a->first, (long long)a->run, (long long)a->pitch, (long long)numel);
}

static ct_status mask_shape(ct_call *c)
{
    const ct_dropout_attrs *a = &c->attrs.dropout;
    const int64_t dims[CT_MAX_DIMS] = { a->d0, a->d1, a->d2, a->d3, a->d4 };
    CT_TRY(ct_rule_state(c, 0));
    CT_TRY(check_p(c));
    CT_TRY(ct_rule_int(c, "ndim", a->ndim, 1, CT_MAX_DIMS));
    const ct_desc mask = ct_desc_make(CT_U8, (int)a->ndim, dims);
    CT_TRY(check_runs(c, ct_desc_numel(&mask)));
    ct_rule_out(c, 0, mask);
    return CT_OK;
}

static ct_status apply_shape(ct_call *c)
{
    CT_TRY(ct_rule_float(c, 0, "x"));
    CT_TRY(ct_rule_dtype(c, 1, "mask", CT_U8));
    CT_TRY(ct_rule_same_shape(c, 1, "mask", 0, "x"));
    CT_TRY(check_p(c));
    ct_rule_out(c, 0, c->in[0].desc);
    return CT_OK;
}

static ct_status act_grad(const ct_grad_ctx *g)
{
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    int64_t kind = g->attrs->act.kind;
    bool from_x = kind == CT_ACT_SILU || kind == CT_ACT_SOFTPLUS;
    ct_val in[2] = { g->dout[0], from_x ? g->in[0] : g->out[0] };
    return ct_grad_emit1(g, CT_OP_ACTIVATION_BWD, g->attrs, 2, in, &g->din[0]);
}

static ct_status apply_grad(const ct_grad_ctx *g)
{
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    ct_val in[2] = { g->dout[0], g->in[1] };
    return ct_grad_emit1(g, CT_OP_DROPOUT_APPLY, g->attrs, 2, in, &g->din[0]);
}

static bool bends_at_0(const ct_attrs *a) { return a->act.kind == CT_ACT_RELU || a->act.kind == CT_ACT_LEAKY_RELU; }

/* y where the gradient is made from y and y is bounded. */
static ct_domain saved_domain(const ct_call *c)
{
    if (c->attrs.act.kind == CT_ACT_SIGMOID) return (ct_domain)CT_RANGE(0, 1);
    if (c->attrs.act.kind == CT_ACT_TANH) return (ct_domain)CT_RANGE(-1, 1);
    return (ct_domain)CT_ANY;
}

const ct_op_rules ct_activation_rules[] = {
    { .op = CT_OP_ACTIVATION, .inplace_out = 0, .inplace_in = 0, .precision = CT_PREC_FLOW, .fields = act_fields,
      .shape = act_shape, .grad = act_grad,
      .roundings = 4, .kink = bends_at_0, .domain = { CT_ANY } },
    { .op = CT_OP_ACTIVATION_BWD, .flags = CT_OPF_NO_GRAD, .inplace_out = 0, .inplace_in = 0, .precision = CT_PREC_FLOW,
      .fields = act_fields, .shape = act_bwd_shape,
      .roundings = 4, .domain = { CT_ANY, CT_BY_CALL(saved_domain) } },
    { .op = CT_OP_DROPOUT_MASK, .flags = CT_OPF_NO_GRAD, .inplace_out = -1, .inplace_in = -1, .precision = CT_PREC_FLOW,
      .fields = mask_fields, .shape = mask_shape,
      .roundings = 1, .domain = { CT_IS(STATE) } },
    { .op = CT_OP_DROPOUT_APPLY, .inplace_out = 0, .inplace_in = 0, .precision = CT_PREC_FLOW, .fields = apply_fields,
      .shape = apply_shape, .grad = apply_grad,
      .roundings = 1, .domain = { CT_ANY, CT_BELOW(2) } },
    { .shape = NULL },
};
