/* Logarithm of the softmax over the last dimension. */
#include "config.h"

#include "ops/family.h"

static const ct_attr_field no_fields[] = { CT_FIELD_END };

static ct_status forward_shape(ct_call *c)
{
    CT_TRY(ct_rule_accum(c, 0, "x"));
    CT_TRY(ct_rule_ndim_least(c, 0, "x", 1));
    ct_rule_out(c, 0, c->in[0].desc);
    return CT_OK;
}

static ct_status backward_shape(ct_call *c)
{
    CT_TRY(ct_rule_accum(c, 0, "dy"));
    CT_TRY(ct_rule_ndim_least(c, 0, "dy", 1));
    CT_TRY(ct_rule_same(c, 1, "y", 0, "dy"));
    ct_rule_out(c, 0, c->in[0].desc);
    return CT_OK;
}

static ct_status forward_grad(const ct_grad_ctx *g)
{
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    ct_val in[2] = { g->dout[0], g->out[0] };
    return ct_grad_emit1(g, CT_OP_LOG_SOFTMAX_BWD, g->attrs, 2, in, &g->din[0]);
}

/* Per element: maximum, subtraction, exponential, sum. */
static double flops(const ct_call *c) { return 4.0 * (double)ct_desc_numel(&c->in[0].desc); }
static int64_t reduction(const ct_call *c) { return ct_last_dim(&c->in[0].desc); }

const ct_op_rules ct_softmax_rules[] = {
    { .op = CT_OP_LOG_SOFTMAX,
      .inplace_out = 0,
      .inplace_in = 0,
      .precision = CT_PREC_ACCUM,
      .fields = no_fields,
      .shape = forward_shape,
      .grad = forward_grad,
      .flops = flops,
      .reduction = reduction,
      .roundings = 8, /* an exponential per element and a logarithm */
      .domain = { CT_ANY_OR(ct_domain_wide) } },
    { .op = CT_OP_LOG_SOFTMAX_BWD,
      .flags = CT_OPF_NO_GRAD,
      .inplace_out = 0,
      .inplace_in = 0,
      .precision = CT_PREC_ACCUM,
      .fields = no_fields,
      .shape = backward_shape,
      .flops = flops,
      .reduction = reduction,
      .roundings = 8, /* an exponential per element and a logarithm */
      .domain = { CT_ANY, CT_IS(LOGP) } },
    { .shape = NULL },
};
