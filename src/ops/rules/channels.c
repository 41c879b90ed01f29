/* The last dimension of tensors: several side by side, a part of one, a part with zeros around it, and factors for each
 * channel of a sample. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "ops/family.h"

static const ct_attr_field no_fields[] = { CT_FIELD_END };
static const ct_attr_field part_fields[] = { CT_FIELD_INT(channels, first), CT_FIELD_INT(channels, channels), CT_FIELD_END };

static ct_status concat_shape(ct_call *c)
{
    ct_desc y = c->in[0].desc;
    char name[16], s[CT_DESC_STR], t[CT_DESC_STR];
    CT_TRY(ct_rule_ndim_least(c, 0, "input 0", 1));
    CT_TRY(ct_rule_float(c, 0, "input 0"));
    for (int i = 1; i < c->nin; i++) {
        const ct_desc *x = &c->in[i].desc;
        snprintf(name, sizeof name, "input %d", i);
        if (!ct_present(&c->in[i])) return ct_rule_fail(c, "%s is absent", name);
        CT_TRY(ct_rule_ndim(c, i, name, y.ndim));
        CT_TRY(ct_rule_dtype(c, i, name, y.dtype));
        ct_desc like = *x;
        like.dim[like.ndim - 1] = ct_last_dim(&c->in[0].desc);
        if (!ct_desc_equal(&like, &c->in[0].desc))
            return ct_rule_fail(c, "%s is %s and input 0 is %s: they may differ in the last dimension alone", name,
                                ct_desc_str(x, s), ct_desc_str(&c->in[0].desc, t));
        if (ct_last_dim(x) > CT_RULE_MAX_EXTENT - ct_last_dim(&y))
            return ct_rule_fail(c, "there are more than 2^31 channels up to %s", name);
        y.dim[y.ndim - 1] += ct_last_dim(x);
    }
    ct_rule_out(c, 0, y);
    return CT_OK;
}

/* Channels [first, first + part) must be among `all`. */
static ct_status check_part(const ct_call *c, int64_t part, int64_t all)
{
    const ct_channels_attrs *a = &c->attrs.channels;
    CT_TRY(ct_rule_int(c, "channels", a->channels, 1, CT_RULE_MAX_EXTENT));
    CT_TRY(ct_rule_int(c, "first", a->first, 0, CT_RULE_MAX_EXTENT));
    if (part > all || a->first > all - part)
        return ct_rule_fail(c, "%" PRId64 " channels from %" PRId64 " on are not among %" PRId64, part, a->first, all);
    return CT_OK;
}

static ct_status slice_shape(ct_call *c)
{
    CT_TRY(ct_rule_ndim_least(c, 0, "x", 1));
    CT_TRY(ct_rule_float(c, 0, "x"));
    ct_desc y = c->in[0].desc;
    CT_TRY(check_part(c, c->attrs.channels.channels, ct_last_dim(&y)));
    y.dim[y.ndim - 1] = c->attrs.channels.channels;
    ct_rule_out(c, 0, y);
    return CT_OK;
}

static ct_status place_shape(ct_call *c)
{
    CT_TRY(ct_rule_ndim_least(c, 0, "x", 1));
    CT_TRY(ct_rule_float(c, 0, "x"));
    ct_desc y = c->in[0].desc;
    CT_TRY(check_part(c, ct_last_dim(&y), c->attrs.channels.channels));
    y.dim[y.ndim - 1] = c->attrs.channels.channels;
    ct_rule_out(c, 0, y);
    return CT_OK;
}

static ct_status scale_shape(ct_call *c)
{
    const ct_desc *x = &c->in[0].desc;
    CT_TRY(ct_rule_ndim(c, 0, "x", 4));
    CT_TRY(ct_rule_float(c, 0, "x"));
    CT_TRY(ct_rule_ndim(c, 1, "g", 2));
    CT_TRY(ct_rule_dtype(c, 1, "g", x->dtype));
    CT_TRY(ct_rule_dim(c, 1, "g", 0, x->dim[0]));
    CT_TRY(ct_rule_dim(c, 1, "g", 1, x->dim[3]));
    ct_rule_out(c, 0, *x);
    return CT_OK;
}

static ct_status scale_bwd_shape(ct_call *c)
{
    const ct_desc *dy = &c->in[0].desc;
    CT_TRY(ct_rule_ndim(c, 0, "dy", 4));
    CT_TRY(ct_rule_float(c, 0, "dy"));
    CT_TRY(ct_rule_same(c, 1, "x", 0, "dy"));
    ct_rule_out(c, 0, ct_desc2(dy->dtype, dy->dim[0], dy->dim[3]));
    return CT_OK;
}

static ct_status concat_grad(const ct_grad_ctx *g)
{
    ct_attrs a = { .channels = { 0, 0 } };
    if (g->dout[0] == CT_NOVAL) return CT_OK;
    for (int i = 0; i < g->nin; i++, a.channels.first += a.channels.channels) {
        a.channels.channels = ct_last_dim(g->desc(g->self, g->in[i]));
        if (g->need[i]) CT_TRY(ct_grad_emit1(g, CT_OP_SLICE_CHANNELS, &a, 1, &g->dout[0], &g->din[i]));
    }
    return CT_OK;
}

/* The other of slice and place, back to the channels of x. */
static ct_status part_grad(const ct_grad_ctx *g, ct_op back)
{
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    ct_attrs a = { .channels = { g->attrs->channels.first, ct_last_dim(g->desc(g->self, g->in[0])) } };
    return ct_grad_emit1(g, back, &a, 1, &g->dout[0], &g->din[0]);
}

static ct_status slice_grad(const ct_grad_ctx *g) { return part_grad(g, CT_OP_PLACE_CHANNELS); }
static ct_status place_grad(const ct_grad_ctx *g) { return part_grad(g, CT_OP_SLICE_CHANNELS); }

static ct_status scale_grad(const ct_grad_ctx *g)
{
    ct_attrs none = { .conv = { 0 } };
    if (g->dout[0] == CT_NOVAL) return CT_OK;
    if (g->need[0])
        CT_TRY(ct_grad_emit1(g, CT_OP_SCALE_CHANNELS, &none, 2, (ct_val[]){ g->dout[0], g->in[1] }, &g->din[0]));
    if (!g->need[1]) return CT_OK;
    return ct_grad_emit1(g, CT_OP_SCALE_CHANNELS_BWD, &none, 2, (ct_val[]){ g->dout[0], g->in[0] }, &g->din[1]);
}

/* A product and a sum for each pixel. */
static double scale_bwd_flops(const ct_call *c) { return 2.0 * (double)ct_desc_numel(&c->in[0].desc); }

static int64_t pixels_reduction(const ct_call *c) { return c->in[0].desc.dim[1] * c->in[0].desc.dim[2]; }

/* Of x those alone that are taken. */
static double slice_read(const ct_call *c, int i)
{
    return (double)c->attrs.channels.channels / (double)ct_last_dim(&c->in[i].desc);
}

#define COPIED CT_ANY_OR(ct_domain_nan)

const ct_op_rules ct_channels_rules[] = {
    { .op = CT_OP_CONCAT_CHANNELS, .flags = CT_OPF_CHOOSES, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_ALIKE, .fields = no_fields, .shape = concat_shape, .grad = concat_grad,
      .domain = { COPIED, COPIED, COPIED, COPIED, COPIED, COPIED, COPIED, COPIED, COPIED, COPIED, COPIED, COPIED, COPIED,
                  COPIED, COPIED, COPIED } },
    { .op = CT_OP_SLICE_CHANNELS, .flags = CT_OPF_CHOOSES, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_FLOW, .fields = part_fields, .shape = slice_shape, .grad = slice_grad, .read = slice_read,
      .domain = { COPIED } },
    { .op = CT_OP_PLACE_CHANNELS, .flags = CT_OPF_CHOOSES, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_FLOW, .fields = part_fields, .shape = place_shape, .grad = place_grad,
      .domain = { COPIED } },
    { .op = CT_OP_SCALE_CHANNELS, .flags = CT_OPF_EXACT_INTS, .inplace_out = 0, .inplace_in = 0,
      .precision = CT_PREC_ALIKE, .fields = no_fields, .shape = scale_shape, .grad = scale_grad,
      .roundings = 1, .domain = { CT_ANY, CT_ANY } },
    { .op = CT_OP_SCALE_CHANNELS_BWD, .flags = CT_OPF_NO_GRAD | CT_OPF_EXACT_INTS, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_FLOW, .fields = no_fields, .shape = scale_bwd_shape, .flops = scale_bwd_flops,
      .reduction = pixels_reduction, .roundings = 1, .typical = ct_typical_products, .domain = { CT_ANY, CT_ANY } },
    { .shape = NULL },
};
