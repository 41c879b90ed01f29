/* Convolution: cross-correlation of activations x [N,H,W,C] with filters w [K,R,S,C/g], like torch.nn.Conv2d. */
#include "config.h"

#include <inttypes.h>

#include "ops/family.h"

#define WINDOW_FIELDS                                                                                                 \
    CT_FIELD_INT(conv, stride_h), CT_FIELD_INT(conv, stride_w), CT_FIELD_INT(conv, pad_h), CT_FIELD_INT(conv, pad_w), \
        CT_FIELD_INT(conv, dil_h), CT_FIELD_INT(conv, dil_w), CT_FIELD_INT(conv, groups)

static const ct_attr_field conv_fields[] = { WINDOW_FIELDS, CT_FIELD_INT(conv, moments), CT_FIELD_INT(conv, data_c), CT_FIELD_END };
static const ct_attr_field dgrad_fields[] = { WINDOW_FIELDS, CT_FIELD_INT(conv, in_h), CT_FIELD_INT(conv, in_w),
                                              CT_FIELD_INT(conv, data_c), CT_FIELD_END };
static const ct_attr_field wgrad_fields[] = { WINDOW_FIELDS, CT_FIELD_INT(conv, ker_h), CT_FIELD_INT(conv, ker_w),
                                              CT_FIELD_INT(conv, data_c), CT_FIELD_END };

/* P and Q of an input of h x w pixels under filters of r x s taps. */
static ct_status output_size(const ct_call *c, int64_t h, int64_t w, int64_t r, int64_t s, int64_t *p, int64_t *q)
{
    const ct_conv_attrs *a = &c->attrs.conv;
    CT_TRY(ct_rule_window(c, "h", h, r, a->stride_h, a->pad_h, a->dil_h, p));
    return ct_rule_window(c, "w", w, s, a->stride_w, a->pad_w, a->dil_w, q);
}

/* g divides C and K. */
static ct_status check_groups(const ct_call *c, int64_t channels, int64_t filters)
{
    int64_t g = c->attrs.conv.groups;
    CT_TRY(ct_rule_int(c, "groups", g, 1, INT64_MAX));
    if (channels % g != 0 || filters % g != 0)
        return ct_rule_fail(c, "groups=%" PRId64 " does not divide C=%" PRId64 " and K=%" PRId64, g, channels, filters);
    return CT_OK;
}

/* Channels of padding are known where all filters read all channels. */
static ct_status check_data_c(const ct_call *c, int64_t channels)
{
    const ct_conv_attrs *a = &c->attrs.conv;
    if (a->data_c == 0) return CT_OK;
    if (a->groups != 1)
        return ct_rule_fail(c, "attribute data_c is %" PRId64 " with %" PRId64 " groups, but goes with one", a->data_c, a->groups);
    return ct_rule_int(c, "data_c", a->data_c, 1, channels);
}

static ct_status conv_shape(ct_call *c)
{
    const ct_desc *x = &c->in[0].desc, *w = &c->in[1].desc;
    CT_TRY(ct_rule_ndim(c, 0, "x", 4));
    CT_TRY(ct_rule_float(c, 0, "x"));
    CT_TRY(ct_rule_ndim(c, 1, "w", 4));
    CT_TRY(ct_rule_dtype(c, 1, "w", x->dtype));
    CT_TRY(check_groups(c, x->dim[3], w->dim[0]));
    CT_TRY(check_data_c(c, x->dim[3]));
    CT_TRY(ct_rule_dim(c, 1, "w", 3, x->dim[3] / c->attrs.conv.groups));
    if (ct_present(&c->in[2])) CT_TRY(ct_rule_vector(c, 2, "bias", x->dtype, w->dim[0]));
    int64_t p, q;
    CT_TRY(output_size(c, x->dim[1], x->dim[2], w->dim[1], w->dim[2], &p, &q));
    const int64_t moments = c->attrs.conv.moments;
    CT_TRY(ct_rule_int(c, "moments", moments, 0, 1));
    if (moments && c->nout < 2) return ct_rule_fail(c, "moments=1 gives 2 outputs, but %d is wanted", c->nout);
    c->nout = moments ? 2 : 1;
    ct_rule_out(c, 0, ct_desc4(x->dtype, x->dim[0], p, q, w->dim[0]));
    if (moments) ct_rule_out(c, 1, ct_desc2(CT_F64, 2, w->dim[0]));
    return CT_OK;
}

static ct_status dgrad_shape(ct_call *c)
{
    const ct_conv_attrs *a = &c->attrs.conv;
    const ct_desc *dy = &c->in[0].desc, *w = &c->in[1].desc;
    CT_TRY(ct_rule_ndim(c, 0, "dy", 4));
    CT_TRY(ct_rule_float(c, 0, "dy"));
    CT_TRY(ct_rule_ndim(c, 1, "w", 4));
    CT_TRY(ct_rule_dtype(c, 1, "w", dy->dtype));
    CT_TRY(ct_rule_dim(c, 1, "w", 0, dy->dim[3]));
    CT_TRY(ct_rule_int(c, "groups", a->groups, 1, dy->dim[3]));
    if (w->dim[3] > INT64_MAX / a->groups) return ct_rule_fail(c, "C = C/g * groups is too large");
    CT_TRY(check_groups(c, w->dim[3] * a->groups, dy->dim[3]));
    CT_TRY(check_data_c(c, w->dim[3]));
    int64_t p, q;
    CT_TRY(output_size(c, a->in_h, a->in_w, w->dim[1], w->dim[2], &p, &q));
    if (p != dy->dim[1] || q != dy->dim[2])
        return ct_rule_fail(c, "in_h=%" PRId64 " in_w=%" PRId64 " give P=%" PRId64 " Q=%" PRId64 ", but dy has %" PRId64
                            " and %" PRId64, a->in_h, a->in_w, p, q, dy->dim[1], dy->dim[2]);
    const ct_desc dx = ct_desc4(dy->dtype, dy->dim[0], a->in_h, a->in_w, w->dim[3] * a->groups);
    if (ct_present(&c->in[2])) CT_TRY(ct_rule_desc(c, 2, "add", dx));
    ct_rule_out(c, 0, dx);
    return CT_OK;
}

static ct_status wgrad_shape(ct_call *c)
{
    const ct_conv_attrs *a = &c->attrs.conv;
    const ct_desc *x = &c->in[0].desc, *dy = &c->in[1].desc;
    CT_TRY(ct_rule_ndim(c, 0, "x", 4));
    CT_TRY(ct_rule_float(c, 0, "x"));
    CT_TRY(ct_rule_ndim(c, 1, "dy", 4));
    CT_TRY(ct_rule_dtype(c, 1, "dy", x->dtype));
    CT_TRY(ct_rule_dim(c, 1, "dy", 0, x->dim[0]));
    CT_TRY(check_groups(c, x->dim[3], dy->dim[3]));
    CT_TRY(check_data_c(c, x->dim[3]));
    int64_t p, q;
    CT_TRY(output_size(c, x->dim[1], x->dim[2], a->ker_h, a->ker_w, &p, &q));
    if (p != dy->dim[1] || q != dy->dim[2])
        return ct_rule_fail(c,
                            "ker_h=%" PRId64 " ker_w=%" PRId64 " give P=%" PRId64 " Q=%" PRId64 ", but dy has %" PRId64
                            " and %" PRId64,
                            a->ker_h, a->ker_w, p, q, dy->dim[1], dy->dim[2]);
    ct_rule_out(c, 0, ct_desc4(x->dtype, dy->dim[3], a->ker_h, a->ker_w, x->dim[3] / a->groups));
    return CT_OK;
}

/* The gradient of y, with what comes through its moments. */
static ct_status whole_dy(const ct_grad_ctx *g, ct_val *dy)
{
    const ct_attrs none = { .conv = { 0 } };
    ct_val through;
    *dy = g->dout[0];
    if (!g->attrs->conv.moments || g->dout[1] == CT_NOVAL) return CT_OK;
    CT_TRY(ct_grad_emit1(g, CT_OP_BATCHNORM_MOMENTS_BWD, &none, 2, (ct_val[]){ g->out[0], g->dout[1] }, &through));
    if (*dy == CT_NOVAL) *dy = through;
    else CT_TRY(ct_grad_emit1(g, CT_OP_ADD, &none, 2, (ct_val[]){ *dy, through }, dy));
    return CT_OK;
}

static ct_status conv_grad(const ct_grad_ctx *g)
{
    ct_val dy, x = g->in[0], w = g->in[1];
    CT_TRY(whole_dy(g, &dy));
    if (dy == CT_NOVAL) return CT_OK;
    const ct_desc *dx = g->desc(g->self, x), *dw = g->desc(g->self, w);
    if (g->need[0]) {
        ct_attrs a = *g->attrs;
        a.conv.moments = 0;
        a.conv.in_h = dx->dim[1];
        a.conv.in_w = dx->dim[2];
        CT_TRY(ct_grad_emit1(g, CT_OP_CONV2D_DGRAD, &a, 2, (ct_val[]){ dy, w }, &g->din[0]));
    }
    if (g->need[1]) {
        ct_attrs a = *g->attrs;
        /* Emitting may move the descriptors, so ask again. */
        dw = g->desc(g->self, w);
        a.conv.moments = 0;
        a.conv.ker_h = dw->dim[1];
        a.conv.ker_w = dw->dim[2];
        CT_TRY(ct_grad_emit1(g, CT_OP_CONV2D_WGRAD, &a, 2, (ct_val[]){ x, dy }, &g->din[1]));
    }
    if (g->nin > 2 && g->need[2]) {
        ct_attrs none = { .conv = { 0 } };
        CT_TRY(ct_grad_emit1(g, CT_OP_BIAS_GRAD, &none, 1, &dy, &g->din[2]));
    }
    return CT_OK;
}

/* 2 * N*P*Q*K * R*S*C/g, the same for all three; dy [N,P,Q,K] and w [K,R,S,C/g] name all factors. Products with channels of
 * padding are work that a device does for its own sake: nobody asked for them, so they are not counted. */
static double conv_flops_of(const ct_call *c, const ct_desc *dy, const ct_desc *w)
{
    int64_t channels = c->attrs.conv.data_c ? c->attrs.conv.data_c : w->dim[3];
    return 2.0 * (double)ct_desc_numel(dy) * (double)w->dim[1] * (double)w->dim[2] * (double)channels;
}

static double conv_flops(const ct_call *c)
{
    /* bias 1 an element of y, moments 3 */
    const double more = (ct_present(&c->in[2]) ? 1 : 0) + (c->attrs.conv.moments ? 3 : 0);
    return conv_flops_of(c, &c->out[0].desc, &c->in[1].desc) + more * (double)ct_desc_numel(&c->out[0].desc);
}

static double dgrad_flops(const ct_call *c)
{
    return conv_flops_of(c, &c->in[0].desc, &c->in[1].desc) + (ct_present(&c->in[2]) ? (double)ct_desc_numel(&c->out[0].desc) : 0);
}
static double wgrad_flops(const ct_call *c) { return conv_flops_of(c, &c->in[1].desc, &c->out[0].desc); }

/* Moments are sums of what sums give: as many terms as both have. */
static int64_t conv_reduction(const ct_call *c)
{
    const ct_desc *w = &c->in[1].desc;
    return w->dim[1] * w->dim[2] * w->dim[3] + (c->attrs.conv.moments ? ct_rows(&c->out[0].desc) : 0);
}

static int64_t dgrad_reduction(const ct_call *c)
{
    const ct_desc *w = &c->in[1].desc;
    return w->dim[1] * w->dim[2] * (w->dim[0] / c->attrs.conv.groups);
}

static int64_t wgrad_reduction(const ct_call *c) { return ct_rows(&c->in[1].desc); }

/* Pixels of a side of x that one tap reads, of so many: with a stride it steps over the others. */
static double side_read(int64_t taps, int64_t outputs, int64_t pixels)
{
    return taps == 1 && outputs < pixels ? (double)outputs / (double)pixels : 1;
}

/* Share of x, which is input 0, that is read for dy [N,P,Q,K]. */
static double read_of(const ct_call *c, int64_t ker_h, int64_t ker_w, const ct_desc *dy)
{
    const ct_desc *x = &c->in[0].desc;
    return side_read(ker_h, dy->dim[1], x->dim[1]) * side_read(ker_w, dy->dim[2], x->dim[2]);
}

static double conv_read(const ct_call *c, int i)
{
    return i == 0 ? read_of(c, c->in[1].desc.dim[1], c->in[1].desc.dim[2], &c->out[0].desc) : 1;
}

static double wgrad_read(const ct_call *c, int i)
{
    return i == 0 ? read_of(c, c->attrs.conv.ker_h, c->attrs.conv.ker_w, &c->in[1].desc) : 1;
}

/* Factor on the tolerance for what is not exact: Winograd convolution. A y of F(m x m, 3 x 3) is a sum over positions
 * of terms whose typical size, by the squares of the entries of A, G and B (kern_wino.h), is 8.2 times that of the
 * direct sum for m = 4 and 1.7 times for m = 2, in sums that are a ninth as long: 8.2/3 times the error of sums. The
 * roundings of the transforms come on top, at 16 channels about half as much again. For the gradient of the filters,
 * 6.6 times in sums a sixteenth as long, it is less. */
#define WINOGRAD 4

const ct_op_rules ct_conv_rules[] = {
    { .op = CT_OP_CONV2D, .flags = CT_OPF_HEAVY | CT_OPF_EXACT_INTS, .grad_outs = 1u << 1, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_COMPUTE, .fields = conv_fields,
      .shape = conv_shape, .grad = conv_grad, .flops = conv_flops, .reduction = conv_reduction, .read = conv_read,
      .roundings = 1, .inexact = WINOGRAD, .typical = ct_typical_products, .domain = { CT_ANY, CT_ANY, CT_ANY } },
    { .op = CT_OP_CONV2D_DGRAD, .flags = CT_OPF_NO_GRAD | CT_OPF_HEAVY | CT_OPF_EXACT_INTS, .inplace_out = 0,
      .inplace_in = 2,
      .precision = CT_PREC_COMPUTE,
      .fields = dgrad_fields, .shape = dgrad_shape, .flops = dgrad_flops, .reduction = dgrad_reduction,
      .roundings = 1, .inexact = WINOGRAD, .typical = ct_typical_products, .domain = { CT_ANY, CT_ANY, CT_ANY } },
    { .op = CT_OP_CONV2D_WGRAD, .flags = CT_OPF_NO_GRAD | CT_OPF_HEAVY | CT_OPF_EXACT_INTS, .inplace_out = -1,
      .inplace_in = -1,
      .precision = CT_PREC_COMPUTE,
      .fields = wgrad_fields, .shape = wgrad_shape, .flops = wgrad_flops, .reduction = wgrad_reduction, .read = wgrad_read,
      .roundings = 1, .inexact = WINOGRAD, .typical = ct_typical_products, .domain = { CT_ANY, CT_ANY } },
    { .shape = NULL },
};
