/* Enlarging images by a power of two: bilinear interpolation, or each pixel several times. */
#include "config.h"

#include <inttypes.h>

#include "ops/family.h"

static const ct_attr_field fields[] = { CT_FIELD_INT(resample, scale), CT_FIELD_END };

static ct_status check_scale(const ct_call *c)
{
    const int64_t s = c->attrs.resample.scale;
    if (s == 2 || s == 4 || s == 8) return CT_OK;
    return ct_rule_fail(c, "attribute scale is %" PRId64 ", but must be 2, 4 or 8", s);
}

static ct_status upsample_shape(ct_call *c)
{
    const ct_desc *x = &c->in[0].desc;
    const int64_t s = c->attrs.resample.scale;
    CT_TRY(ct_rule_ndim(c, 0, "x", 4));
    CT_TRY(ct_rule_float(c, 0, "x"));
    CT_TRY(check_scale(c));
    if (x->dim[1] > CT_RULE_MAX_EXTENT / s || x->dim[2] > CT_RULE_MAX_EXTENT / s)
        return ct_rule_fail(c, "%" PRId64 " x %" PRId64 " pixels cannot be enlarged %" PRId64 " times", x->dim[1],
                            x->dim[2], s);
    ct_rule_out(c, 0, ct_desc4(x->dtype, x->dim[0], s * x->dim[1], s * x->dim[2], x->dim[3]));
    return CT_OK;
}

static ct_status upsample_bwd_shape(ct_call *c)
{
    const ct_desc *dy = &c->in[0].desc;
    const int64_t s = c->attrs.resample.scale;
    CT_TRY(ct_rule_ndim(c, 0, "dy", 4));
    CT_TRY(ct_rule_float(c, 0, "dy"));
    CT_TRY(check_scale(c));
    if (dy->dim[1] % s != 0 || dy->dim[2] % s != 0)
        return ct_rule_fail(c, "dy has %" PRId64 " x %" PRId64 " pixels, which are not multiples of scale=%" PRId64,
                            dy->dim[1], dy->dim[2], s);
    ct_rule_out(c, 0, ct_desc4(dy->dtype, dy->dim[0], dy->dim[1] / s, dy->dim[2] / s, dy->dim[3]));
    return CT_OK;
}

static ct_status upsample_grad(const ct_grad_ctx *g)
{
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    return ct_grad_emit1(g, CT_OP_UPSAMPLE_BILINEAR_BWD, g->attrs, 1, &g->dout[0], &g->din[0]);
}

static ct_status nearest_grad(const ct_grad_ctx *g)
{
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    return ct_grad_emit1(g, CT_OP_UPSAMPLE_NEAREST_BWD, g->attrs, 1, &g->dout[0], &g->din[0]);
}

/* Four products and as many sums for each pixel of the large image, whichever way. */
static double upsample_flops(const ct_call *c) { return 8.0 * (double)ct_desc_numel(&c->out[0].desc); }
static double upsample_bwd_flops(const ct_call *c) { return 8.0 * (double)ct_desc_numel(&c->in[0].desc); }

static int64_t upsample_reduction(const ct_call *c)
{
    (void)c;
    return 4;
}

/* Outputs that read one pixel. */
static int64_t upsample_bwd_reduction(const ct_call *c)
{
    return 4 * c->attrs.resample.scale * c->attrs.resample.scale;
}

static double nearest_bwd_flops(const ct_call *c) { return (double)ct_desc_numel(&c->in[0].desc); }

static int64_t nearest_bwd_reduction(const ct_call *c) { return c->attrs.resample.scale * c->attrs.resample.scale; }

const ct_op_rules ct_resample_rules[] = {
    { .op = CT_OP_UPSAMPLE_BILINEAR, .inplace_out = -1, .inplace_in = -1, .precision = CT_PREC_FLOW, .fields = fields,
      .shape = upsample_shape, .grad = upsample_grad, .flops = upsample_flops, .reduction = upsample_reduction,
      .roundings = 1, .domain = { CT_ANY } },
    { .op = CT_OP_UPSAMPLE_BILINEAR_BWD, .flags = CT_OPF_NO_GRAD, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_FLOW, .fields = fields, .shape = upsample_bwd_shape, .flops = upsample_bwd_flops,
      .reduction = upsample_bwd_reduction, .roundings = 1, .domain = { CT_ANY } },
    { .op = CT_OP_UPSAMPLE_NEAREST, .flags = CT_OPF_CHOOSES, .inplace_out = -1, .inplace_in = -1, .precision = CT_PREC_FLOW,
      .fields = fields, .shape = upsample_shape, .grad = nearest_grad, .domain = { CT_ANY_OR(ct_domain_nan) } },
    { .op = CT_OP_UPSAMPLE_NEAREST_BWD, .flags = CT_OPF_NO_GRAD | CT_OPF_EXACT_INTS, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_FLOW, .fields = fields, .shape = upsample_bwd_shape, .flops = nearest_bwd_flops,
      .reduction = nearest_bwd_reduction, .roundings = 1, .typical = ct_typical_sum, .domain = { CT_ANY } },
    { .shape = NULL },
};
