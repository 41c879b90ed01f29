/* Operators that treat elements one by one: reshape (a view), add, mul, scale, cast, accumulate, fit_channels. */
#include "config.h"

#include <float.h>
#include <inttypes.h>

#include "ops/family.h"

static const ct_attr_field no_fields[] = { CT_FIELD_END };
static const ct_attr_field reshape_fields[] = {
    CT_FIELD_INT(shape, ndim), CT_FIELD_INT(shape, d0), CT_FIELD_INT(shape, d1), CT_FIELD_INT(shape, d2),
    CT_FIELD_INT(shape, d3), CT_FIELD_INT(shape, d4), CT_FIELD_END
};
static const ct_attr_field cast_fields[] = { CT_FIELD_INT(cast, dtype), CT_FIELD_END };
static const ct_attr_field fit_fields[] = { CT_FIELD_INT(fit, channels), CT_FIELD_END };
static const ct_attr_field alpha_fields[] = { CT_FIELD_REAL(scale, alpha), CT_FIELD_END };
static const ct_attr_field scale_fields[] = { CT_FIELD_REAL(scale, alpha), CT_FIELD_REAL(scale, beta), CT_FIELD_END };

static ct_status reshape_shape(ct_call *c)
{
    char s[CT_DESC_STR], t[CT_DESC_STR];
    const ct_shape_attrs *a = &c->attrs.shape;
    const int64_t dims[CT_MAX_DIMS] = { a->d0, a->d1, a->d2, a->d3, a->d4 };
    const ct_desc *x = &c->in[0].desc;
    CT_TRY(ct_rule_int(c, "ndim", a->ndim, 0, CT_MAX_DIMS));
    ct_desc y = ct_desc_make(x->dtype, (int)a->ndim, dims);
    for (int d = 0; d < y.ndim; d++)
        if (y.dim[d] < 1) return ct_rule_fail(c, "attribute d%d is %" PRId64 ", but must be at least 1", d, y.dim[d]);
    if (ct_desc_numel(&y) != ct_desc_numel(x))
        return ct_rule_fail(c, "%s has not as many elements as %s", ct_desc_str(x, s), ct_desc_str(&y, t));
    ct_rule_out(c, 0, y);
    return CT_OK;
}

static ct_status binary_shape(ct_call *c)
{
    CT_TRY(ct_rule_float(c, 0, "a"));
    CT_TRY(ct_rule_same(c, 1, "b", 0, "a"));
    ct_rule_out(c, 0, c->in[0].desc);
    return CT_OK;
}

static ct_status scale_shape(ct_call *c)
{
    CT_TRY(ct_rule_float(c, 0, "x"));
    CT_TRY(ct_rule_real(c, "alpha", c->attrs.scale.alpha, -DBL_MAX, DBL_MAX));
    ct_rule_out(c, 0, c->in[0].desc);
    return CT_OK;
}

static ct_status cast_shape(ct_call *c)
{
    CT_TRY(ct_rule_float(c, 0, "x"));
    CT_TRY(ct_rule_attr_float(c, "dtype", c->attrs.cast.dtype, false));
    ct_desc y = c->in[0].desc;
    y.dtype = (ct_dtype)c->attrs.cast.dtype;
    ct_rule_out(c, 0, y);
    return CT_OK;
}

static ct_status accumulate_shape(ct_call *c)
{
    CT_TRY(ct_rule_float(c, 0, "src"));
    CT_TRY(ct_rule_dtype(c, 1, "acc", ct_accum_dtype(c->in[0].desc.dtype)));
    return ct_rule_same_shape(c, 1, "acc", 0, "src");
}

static ct_status fit_shape(ct_call *c)
{
    CT_TRY(ct_rule_ndim_least(c, 0, "x", 1));
    CT_TRY(ct_rule_float(c, 0, "x"));
    CT_TRY(ct_rule_int(c, "channels", c->attrs.fit.channels, 1, CT_RULE_MAX_EXTENT));
    ct_desc y = c->in[0].desc;
    y.dim[y.ndim - 1] = c->attrs.fit.channels;
    ct_rule_out(c, 0, y);
    return CT_OK;
}

static ct_status group_sum_shape(ct_call *c)
{
    CT_TRY(ct_rule_dtype(c, 0, "x", CT_F64));
    ct_rule_out(c, 0, c->in[0].desc);
    return CT_OK;
}

static ct_status reshape_grad(const ct_grad_ctx *g)
{
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    const ct_desc *x = g->desc(g->self, g->in[0]);
    ct_attrs a = { .shape = { x->ndim, x->dim[0], x->dim[1], x->dim[2], x->dim[3], x->dim[4] } };
    return ct_grad_emit1(g, CT_OP_RESHAPE, &a, 1, &g->dout[0], &g->din[0]);
}

static ct_status add_grad(const ct_grad_ctx *g)
{
    for (int i = 0; i < 2; i++)
        if (g->need[i]) g->din[i] = g->dout[0];
    return CT_OK;
}

static ct_status mul_grad(const ct_grad_ctx *g)
{
    ct_attrs none = { .conv = { 0 } };
    if (g->dout[0] == CT_NOVAL) return CT_OK;
    for (int i = 0; i < 2; i++) {
        ct_val in[2] = { g->dout[0], g->in[1 - i] };
        if (g->need[i]) CT_TRY(ct_grad_emit1(g, CT_OP_MUL, &none, 2, in, &g->din[i]));
    }
    return CT_OK;
}

static ct_status scale_grad(const ct_grad_ctx *g)
{
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    return ct_grad_emit1(g, CT_OP_SCALE, g->attrs, 1, &g->dout[0], &g->din[0]);
}

static ct_status cast_grad(const ct_grad_ctx *g)
{
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    ct_attrs a = { .cast = { g->desc(g->self, g->in[0])->dtype } };
    return ct_grad_emit1(g, CT_OP_CAST, &a, 1, &g->dout[0], &g->din[0]);
}

/* What all members lose by this member's x is what each loses by the sum. */
static ct_status group_sum_grad(const ct_grad_ctx *g)
{
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    return ct_grad_emit1(g, CT_OP_GROUP_SUM, g->attrs, 1, &g->dout[0], &g->din[0]);
}

static ct_status fit_grad(const ct_grad_ctx *g)
{
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    ct_attrs a = { .fit = { ct_last_dim(g->desc(g->self, g->in[0])) } };
    return ct_grad_emit1(g, CT_OP_FIT_CHANNELS, &a, 1, &g->dout[0], &g->din[0]);
}

static double accumulate_flops(const ct_call *c) { return 3.0 * (double)ct_desc_numel(&c->in[0].desc); }

static double accumulate_read(const ct_call *c, int i) { return i == 1 && c->attrs.scale.beta == 0 ? 0 : 1; }

const ct_op_rules ct_elementwise_rules[] = {
    { .op = CT_OP_RESHAPE, .flags = CT_OPF_VIEW, .inplace_out = 0, .inplace_in = 0, .precision = CT_PREC_FLOW,
      .fields = reshape_fields, .shape = reshape_shape, .grad = reshape_grad,
      .roundings = 1, .domain = { CT_ANY } },
    { .op = CT_OP_ADD, .flags = CT_OPF_EXACT_INTS, .inplace_out = 0, .inplace_in = 0, .precision = CT_PREC_FLOW,
      .fields = no_fields,
      .shape = binary_shape, .grad = add_grad,
      .roundings = 1, .domain = { CT_ANY, CT_ANY } },
    { .op = CT_OP_MUL, .flags = CT_OPF_EXACT_INTS, .inplace_out = 0, .inplace_in = 0, .precision = CT_PREC_FLOW,
      .fields = no_fields,
      .shape = binary_shape, .grad = mul_grad,
      .roundings = 1, .domain = { CT_ANY, CT_ANY } },
    { .op = CT_OP_SCALE, .inplace_out = 0, .inplace_in = 0, .precision = CT_PREC_FLOW, .fields = alpha_fields,
      .shape = scale_shape, .grad = scale_grad,
      .roundings = 1, .domain = { CT_ANY } },
    { .op = CT_OP_CAST, .flags = CT_OPF_CHOOSES, .inplace_out = 0, .inplace_in = 0, .precision = CT_PREC_FLOW,
      .fields = cast_fields,
      .shape = cast_shape, .grad = cast_grad,
      .domain = { CT_ANY_OR(ct_domain_nan) } },
    { .op = CT_OP_GROUP_SUM, .flags = CT_OPF_EXACT_INTS, .inplace_out = 0, .inplace_in = 0, .precision = CT_PREC_FLOW,
      .fields = no_fields, .shape = group_sum_shape, .grad = group_sum_grad,
      .roundings = 1, .domain = { CT_ANY } },
    { .op = CT_OP_ACCUMULATE, .flags = CT_OPF_NO_GRAD | CT_OPF_EXACT_INTS, .mutates = 1u << 1, .inplace_out = -1,
      .inplace_in = -1,
      .precision = CT_PREC_FLOW, .fields = scale_fields, .shape = accumulate_shape, .flops = accumulate_flops,
      /* exact with the powers of two that the cases use */
      .roundings = 1, .read = accumulate_read, .domain = { CT_ANY, CT_ANY } },
    { .op = CT_OP_FIT_CHANNELS, .flags = CT_OPF_CHOOSES, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_FLOW, .fields = fit_fields,
      .shape = fit_shape, .grad = fit_grad,
      .domain = { CT_ANY_OR(ct_domain_nan) } },
    { .shape = NULL },
};
