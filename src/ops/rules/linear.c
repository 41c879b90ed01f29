/* Linear layers: y = x w^T + bias over rows x [...,I], like torch.nn.Linear; and the gradient of a bias over rows. */
#include "config.h"

#include "ops/family.h"

static const ct_attr_field no_fields[] = { CT_FIELD_END };

static ct_status linear_shape(ct_call *c)
{
    const ct_desc *x = &c->in[0].desc, *w = &c->in[1].desc;
    CT_TRY(ct_rule_ndim_least(c, 0, "x", 1));
    CT_TRY(ct_rule_float(c, 0, "x"));
    CT_TRY(ct_rule_ndim(c, 1, "w", 2));
    CT_TRY(ct_rule_dtype(c, 1, "w", x->dtype));
    CT_TRY(ct_rule_dim(c, 1, "w", 1, ct_last_dim(x)));
    if (ct_present(&c->in[2])) CT_TRY(ct_rule_vector(c, 2, "bias", x->dtype, w->dim[0]));
    ct_desc y = *x;
    y.dim[y.ndim - 1] = w->dim[0];
    ct_rule_out(c, 0, y);
    return CT_OK;
}

static ct_status dgrad_shape(ct_call *c)
{
    const ct_desc *dy = &c->in[0].desc, *w = &c->in[1].desc;
    CT_TRY(ct_rule_ndim_least(c, 0, "dy", 1));
    CT_TRY(ct_rule_float(c, 0, "dy"));
    CT_TRY(ct_rule_ndim(c, 1, "w", 2));
    CT_TRY(ct_rule_dtype(c, 1, "w", dy->dtype));
    CT_TRY(ct_rule_dim(c, 1, "w", 0, ct_last_dim(dy)));
    ct_desc dx = *dy;
    dx.dim[dx.ndim - 1] = w->dim[1];
    ct_rule_out(c, 0, dx);
    return CT_OK;
}

static ct_status wgrad_shape(ct_call *c)
{
    const ct_desc *x = &c->in[0].desc, *dy = &c->in[1].desc;
    CT_TRY(ct_rule_ndim_least(c, 0, "x", 1));
    CT_TRY(ct_rule_float(c, 0, "x"));
    CT_TRY(ct_rule_ndim(c, 1, "dy", x->ndim));
    CT_TRY(ct_rule_dtype(c, 1, "dy", x->dtype));
    for (int d = 0; d + 1 < x->ndim; d++) CT_TRY(ct_rule_dim(c, 1, "dy", d, x->dim[d]));
    ct_rule_out(c, 0, ct_desc2(x->dtype, ct_last_dim(dy), ct_last_dim(x)));
    return CT_OK;
}

static ct_status bias_shape(ct_call *c)
{
    const ct_desc *dy = &c->in[0].desc;
    CT_TRY(ct_rule_ndim_least(c, 0, "dy", 1));
    CT_TRY(ct_rule_float(c, 0, "dy"));
    ct_rule_out(c, 0, ct_desc1(dy->dtype, ct_last_dim(dy)));
    return CT_OK;
}

static ct_status linear_grad(const ct_grad_ctx *g)
{
    ct_attrs none = { .conv = { 0 } };
    ct_val dy = g->dout[0], x = g->in[0], w = g->in[1];
    if (dy == CT_NOVAL) return CT_OK;
    if (g->need[0]) CT_TRY(ct_grad_emit1(g, CT_OP_LINEAR_DGRAD, &none, 2, (ct_val[]){ dy, w }, &g->din[0]));
    if (g->need[1]) CT_TRY(ct_grad_emit1(g, CT_OP_LINEAR_WGRAD, &none, 2, (ct_val[]){ x, dy }, &g->din[1]));
    if (g->nin > 2 && g->need[2]) CT_TRY(ct_grad_emit1(g, CT_OP_BIAS_GRAD, &none, 1, &dy, &g->din[2]));
    return CT_OK;
}

/* 2 * rows * I * O */
static double linear_flops(const ct_call *c)
{
    const ct_desc *x = &c->in[0].desc, *y = &c->out[0].desc;
    double bias = ct_present(&c->in[2]) ? (double)ct_desc_numel(y) : 0;
    return 2.0 * (double)ct_desc_numel(x) * (double)ct_last_dim(y) + bias;
}

static double wgrad_flops(const ct_call *c)
{
    return 2.0 * (double)ct_desc_numel(&c->in[0].desc) * (double)ct_last_dim(&c->in[1].desc);
}

static double bias_flops(const ct_call *c) { return (double)ct_desc_numel(&c->in[0].desc); }

static int64_t last_reduction(const ct_call *c) { return ct_last_dim(&c->in[0].desc); }
static int64_t rows_reduction(const ct_call *c) { return ct_rows(&c->in[0].desc); }

const ct_op_rules ct_linear_rules[] = {
    { .op = CT_OP_LINEAR, .flags = CT_OPF_HEAVY | CT_OPF_EXACT_INTS, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_COMPUTE, .fields = no_fields,
      .shape = linear_shape, .grad = linear_grad, .flops = linear_flops, .reduction = last_reduction,
      .roundings = 1, .typical = ct_typical_products, .domain = { CT_ANY, CT_ANY, CT_ANY } },
    { .op = CT_OP_LINEAR_DGRAD, .flags = CT_OPF_NO_GRAD | CT_OPF_HEAVY | CT_OPF_EXACT_INTS, .inplace_out = -1,
      .inplace_in = -1,
      .precision = CT_PREC_COMPUTE,
      .fields = no_fields, .shape = dgrad_shape, .flops = linear_flops, .reduction = last_reduction,
      .roundings = 1, .typical = ct_typical_products, .domain = { CT_ANY, CT_ANY } },
    { .op = CT_OP_LINEAR_WGRAD, .flags = CT_OPF_NO_GRAD | CT_OPF_HEAVY | CT_OPF_EXACT_INTS, .inplace_out = -1,
      .inplace_in = -1,
      .precision = CT_PREC_COMPUTE,
      .fields = no_fields, .shape = wgrad_shape, .flops = wgrad_flops, .reduction = rows_reduction,
      .roundings = 1, .typical = ct_typical_products, .domain = { CT_ANY, CT_ANY } },
    { .op = CT_OP_BIAS_GRAD, .flags = CT_OPF_NO_GRAD | CT_OPF_EXACT_INTS, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_FLOW,
      .fields = no_fields, .shape = bias_shape, .flops = bias_flops, .reduction = rows_reduction,
      .roundings = 1, .typical = ct_typical_sum, .domain = { CT_ANY } },
    { .shape = NULL },
};
