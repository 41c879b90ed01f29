/* Pooling of x [N,H,W,C]: windows as torch.nn.MaxPool2d and AvgPool2d (floor), and the mean over all pixels. */
#include "config.h"

#include <inttypes.h>

#include "ops/family.h"

#define WINDOW_FIELDS                                                                                                 \
    CT_FIELD_INT(pool, ker_h), CT_FIELD_INT(pool, ker_w), CT_FIELD_INT(pool, stride_h), CT_FIELD_INT(pool, stride_w), \
        CT_FIELD_INT(pool, pad_h), CT_FIELD_INT(pool, pad_w)

static const ct_attr_field no_fields[] = { CT_FIELD_END };
static const ct_attr_field pool_fields[] = { WINDOW_FIELDS, CT_FIELD_END };
static const ct_attr_field bwd_fields[] = { WINDOW_FIELDS, CT_FIELD_INT(pool, in_h), CT_FIELD_INT(pool, in_w),
                                            CT_FIELD_END };
static const ct_attr_field global_bwd_fields[] = { CT_FIELD_INT(pool, in_h), CT_FIELD_INT(pool, in_w), CT_FIELD_END };

/* P, Q for an input of h x w pixels. A pad of at most half the kernel leaves no window without a pixel. */
static ct_status output_size(const ct_call *c, int64_t h, int64_t w, int64_t *p, int64_t *q)
{
    const ct_pool_attrs *a = &c->attrs.pool;
    CT_TRY(ct_rule_window(c, "h", h, a->ker_h, a->stride_h, a->pad_h, 1, p));
    CT_TRY(ct_rule_window(c, "w", w, a->ker_w, a->stride_w, a->pad_w, 1, q));
    if (2 * a->pad_h > a->ker_h || 2 * a->pad_w > a->ker_w)
        return ct_rule_fail(c, "padding %" PRId64 "x%" PRId64 " is more than half the %" PRId64 "x%" PRId64 " window",
                            a->pad_h, a->pad_w, a->ker_h, a->ker_w);
    return CT_OK;
}

static ct_status check_index_range(const ct_call *c)
{
    const ct_pool_attrs *a = &c->attrs.pool;
    if (a->ker_h > 256 || a->ker_w > 256 || a->ker_h * a->ker_w > 256)
        return ct_rule_fail(
            c, "a window of %" PRId64 "x%" PRId64 " pixels has more than 256 places, and the index is one byte",
            a->ker_h, a->ker_w);
    return CT_OK;
}

static ct_status pool_shape(ct_call *c)
{
    const ct_desc *x = &c->in[0].desc;
    int64_t p, q;
    CT_TRY(ct_rule_ndim(c, 0, "x", 4));
    CT_TRY(ct_rule_float(c, 0, "x"));
    CT_TRY(output_size(c, x->dim[1], x->dim[2], &p, &q));
    ct_rule_out(c, 0, ct_desc4(x->dtype, x->dim[0], p, q, x->dim[3]));
    return CT_OK;
}

static ct_status max_shape(ct_call *c)
{
    CT_TRY(pool_shape(c));
    CT_TRY(check_index_range(c));
    ct_desc index = c->out[0].desc;
    index.dtype = CT_U8;
    ct_rule_out(c, 1, index);
    return CT_OK;
}

static ct_status bwd_shape(ct_call *c)
{
    const ct_pool_attrs *a = &c->attrs.pool;
    const ct_desc *dy = &c->in[0].desc;
    int64_t p, q;
    CT_TRY(ct_rule_ndim(c, 0, "dy", 4));
    CT_TRY(ct_rule_float(c, 0, "dy"));
    CT_TRY(output_size(c, a->in_h, a->in_w, &p, &q));
    if (p != dy->dim[1] || q != dy->dim[2])
        return ct_rule_fail(c, "in_h=%" PRId64 " in_w=%" PRId64 " give P=%" PRId64 " Q=%" PRId64 ", but dy has %" PRId64
                            " and %" PRId64, a->in_h, a->in_w, p, q, dy->dim[1], dy->dim[2]);
    ct_rule_out(c, 0, ct_desc4(dy->dtype, dy->dim[0], a->in_h, a->in_w, dy->dim[3]));
    return CT_OK;
}

static ct_status max_bwd_shape(ct_call *c)
{
    CT_TRY(bwd_shape(c));
    CT_TRY(check_index_range(c));
    CT_TRY(ct_rule_dtype(c, 1, "index", CT_U8));
    return ct_rule_same_shape(c, 1, "index", 0, "dy");
}

static ct_status global_shape(ct_call *c)
{
    const ct_desc *x = &c->in[0].desc;
    CT_TRY(ct_rule_ndim(c, 0, "x", 4));
    CT_TRY(ct_rule_float(c, 0, "x"));
    ct_rule_out(c, 0, ct_desc2(x->dtype, x->dim[0], x->dim[3]));
    return CT_OK;
}

static ct_status global_bwd_shape(ct_call *c)
{
    const ct_pool_attrs *a = &c->attrs.pool;
    const ct_desc *dy = &c->in[0].desc;
    CT_TRY(ct_rule_ndim(c, 0, "dy", 2));
    CT_TRY(ct_rule_float(c, 0, "dy"));
    CT_TRY(ct_rule_int(c, "in_h", a->in_h, 1, CT_RULE_MAX_EXTENT));
    CT_TRY(ct_rule_int(c, "in_w", a->in_w, 1, CT_RULE_MAX_EXTENT));
    ct_rule_out(c, 0, ct_desc4(dy->dtype, dy->dim[0], a->in_h, a->in_w, dy->dim[1]));
    return CT_OK;
}

/* Attributes of the backward operator: the forward's, and the size of x. */
static ct_attrs bwd_attrs(const ct_grad_ctx *g)
{
    ct_attrs a = *g->attrs;
    const ct_desc *x = g->desc(g->self, g->in[0]);
    a.pool.in_h = x->dim[1];
    a.pool.in_w = x->dim[2];
    return a;
}

static ct_status max_grad(const ct_grad_ctx *g)
{
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    ct_attrs a = bwd_attrs(g);
    return ct_grad_emit1(g, CT_OP_MAXPOOL2D_BWD, &a, 2, (ct_val[]){ g->dout[0], g->out[1] }, &g->din[0]);
}

static ct_status avg_grad(const ct_grad_ctx *g)
{
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    ct_attrs a = bwd_attrs(g);
    return ct_grad_emit1(g, CT_OP_AVGPOOL2D_BWD, &a, 1, &g->dout[0], &g->din[0]);
}

static ct_status global_grad(const ct_grad_ctx *g)
{
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    const ct_desc *x = g->desc(g->self, g->in[0]);
    ct_attrs a = { .pool = { .in_h = x->dim[1], .in_w = x->dim[2] } };
    return ct_grad_emit1(g, CT_OP_GLOBAL_AVGPOOL_BWD, &a, 1, &g->dout[0], &g->din[0]);
}

/* One comparison or addition per tap. */
static double pool_flops(const ct_call *c)
{
    return (double)ct_desc_numel(&c->out[0].desc) * (double)c->attrs.pool.ker_h * (double)c->attrs.pool.ker_w;
}

static double max_bwd_flops(const ct_call *c) { return (double)ct_desc_numel(&c->in[0].desc); }

static double avg_bwd_flops(const ct_call *c)
{
    return (double)ct_desc_numel(&c->in[0].desc) * (double)c->attrs.pool.ker_h * (double)c->attrs.pool.ker_w;
}

static double global_flops(const ct_call *c) { return (double)ct_desc_numel(&c->in[0].desc); }

static int64_t avg_reduction(const ct_call *c) { return c->attrs.pool.ker_h * c->attrs.pool.ker_w; }

/* Windows that hold one pixel of x. */
static int64_t bwd_reduction(const ct_call *c)
{
    const ct_pool_attrs *a = &c->attrs.pool;
    return ((a->ker_h + a->stride_h - 1) / a->stride_h) * ((a->ker_w + a->stride_w - 1) / a->stride_w);
}

static int64_t global_reduction(const ct_call *c) { return c->in[0].desc.dim[1] * c->in[0].desc.dim[2]; }

const ct_op_rules ct_pool_rules[] = {
    { .op = CT_OP_MAXPOOL2D, .flags = CT_OPF_CHOOSES, .inplace_out = -1, .inplace_in = -1, .precision = CT_PREC_FLOW,
      .fields = pool_fields,
      .shape = max_shape, .grad = max_grad, .flops = pool_flops,
      .domain = { { .kind = CT_DOM_COMPARED, .special = &ct_domain_nan } } },
    { .op = CT_OP_MAXPOOL2D_BWD, .flags = CT_OPF_NO_GRAD | CT_OPF_EXACT_INTS, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_FLOW,
      .fields = bwd_fields, .shape = max_bwd_shape, .flops = max_bwd_flops, .reduction = bwd_reduction,
      .roundings = 1, .domain = { CT_ANY, CT_IS(PLACES) } },
    { .op = CT_OP_AVGPOOL2D, .inplace_out = -1, .inplace_in = -1, .precision = CT_PREC_FLOW, .fields = pool_fields,
      .shape = pool_shape, .grad = avg_grad, .flops = pool_flops, .reduction = avg_reduction,
      .roundings = 1, .typical = ct_typical_mean, .domain = { CT_ANY } },
    { .op = CT_OP_AVGPOOL2D_BWD, .flags = CT_OPF_NO_GRAD, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_FLOW,
      .fields = bwd_fields, .shape = bwd_shape, .flops = avg_bwd_flops, .reduction = bwd_reduction,
      .roundings = 1, .domain = { CT_ANY } },
    { .op = CT_OP_GLOBAL_AVGPOOL, .inplace_out = -1, .inplace_in = -1, .precision = CT_PREC_FLOW, .fields = no_fields,
      .shape = global_shape, .grad = global_grad, .flops = global_flops, .reduction = global_reduction,
      .roundings = 1, .typical = ct_typical_mean, .domain = { CT_ANY } },
    { .op = CT_OP_GLOBAL_AVGPOOL_BWD, .flags = CT_OPF_NO_GRAD, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_FLOW,
      .fields = global_bwd_fields, .shape = global_bwd_shape,
      .roundings = 1, .domain = { CT_ANY } },
    { .shape = NULL },
};
