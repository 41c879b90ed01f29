/* Each sample brought to mean 0 and variance 1 over all its elements, like torch.nn.functional.layer_norm over all dimensions but
 * the first, without weights. */
#include "config.h"

#include "ops/family.h"

#define LEAST_EPS 1e-12 /* of a constant picture the square root of this is what is divided by */

static const ct_attr_field fields[] = { CT_FIELD_REAL(norm, eps), CT_FIELD_END };
static const ct_attr_field no_fields[] = { CT_FIELD_END };

static ct_status forward_shape(ct_call *c)
{
    const ct_desc *x = &c->in[0].desc;
    CT_TRY(ct_rule_ndim_least(c, 0, "x", 2));
    CT_TRY(ct_rule_float(c, 0, "x"));
    CT_TRY(ct_rule_real(c, "eps", c->attrs.norm.eps, LEAST_EPS, 1));
    ct_rule_out(c, 0, *x);
    ct_rule_out(c, 1, ct_desc1(ct_accum_dtype(x->dtype), x->dim[0]));
    return CT_OK;
}

static ct_status backward_shape(ct_call *c)
{
    const ct_desc *dy = &c->in[0].desc;
    CT_TRY(ct_rule_ndim_least(c, 0, "dy", 2));
    CT_TRY(ct_rule_float(c, 0, "dy"));
    CT_TRY(ct_rule_same(c, 1, "y", 0, "dy"));
    CT_TRY(ct_rule_vector(c, 2, "invstd", ct_accum_dtype(dy->dtype), dy->dim[0]));
    ct_rule_out(c, 0, *dy);
    return CT_OK;
}

static ct_status forward_grad(const ct_grad_ctx *g)
{
    if (g->dout[1] != CT_NOVAL)
        return ct_fail(CT_EUNSUPPORTED, "standardize: a gradient through invstd is not defined here");
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    const ct_val in[3] = { g->dout[0], g->out[0], g->out[1] };
    const ct_attrs none = { .norm = { .eps = 0 } };
    return ct_grad_emit1(g, CT_OP_STANDARDIZE_BWD, &none, 3, in, &g->din[0]);
}

/* Per element: mean 1, variance 3, difference and product 2; of the gradient two sums 3, and 4. */
static double forward_flops(const ct_call *c) { return 6.0 * (double)ct_desc_numel(&c->in[0].desc); }
static double backward_flops(const ct_call *c) { return 7.0 * (double)ct_desc_numel(&c->in[0].desc); }

/* Elements of a sample. */
static int64_t reduction(const ct_call *c) { return ct_desc_numel(&c->in[0].desc) / c->in[0].desc.dim[0]; }

/* dy times invstd: of samples of one or two elements nothing but rounding is left of that. */
static double backward_typical(int output, double n, const double rms[CT_MAX_IN])
{
    (void)output;
    (void)n;
    return rms[0] * rms[2];
}

static const ct_domain far_from_0 = CT_RANGE(30, 32); /* a one-pass variance would cancel */

const ct_op_rules ct_standardize_rules[] = {
    { .op = CT_OP_STANDARDIZE, .inplace_out = 0, .inplace_in = 0, .precision = CT_PREC_FLOW,
      .fields = fields, .shape = forward_shape, .grad = forward_grad, .flops = forward_flops, .reduction = reduction,
      .roundings = 4, .domain = { CT_ANY_OR(far_from_0) } },
    { .op = CT_OP_STANDARDIZE_BWD, .flags = CT_OPF_NO_GRAD, .inplace_out = 0, .inplace_in = 0, .precision = CT_PREC_FLOW,
      .fields = no_fields, .shape = backward_shape, .flops = backward_flops, .reduction = reduction,
      .roundings = 4, .typical = backward_typical,
      .domain = { CT_ANY, CT_RANGE(-2, 2), CT_RANGE(0.5, 1.5) } },
    { .shape = NULL },
};
