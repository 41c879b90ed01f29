/* Maps of one size added up with weights that are learnt: the fast normalised fusion of BiFPN (Tan, Pang & Le,
 * "EfficientDet: Scalable and Efficient Object Detection", 2020), with softplus in place of its ReLU, so that a weight that has
 * become small still has a gradient. */
#include "config.h"

#include <math.h>

#include "ops/family.h"

static const ct_attr_field no_fields[] = { CT_FIELD_END };

/* Inputs i and i + 1 like input 0, input i + 2 the two weights. */
static ct_status check_maps(const ct_call *c, int i)
{
    CT_TRY(ct_rule_ndim(c, 0, i > 0 ? "dy" : "a", 4));
    CT_TRY(ct_rule_float(c, 0, i > 0 ? "dy" : "a"));
    if (i > 0) CT_TRY(ct_rule_same(c, i, "a", 0, "dy"));
    CT_TRY(ct_rule_same(c, i + 1, "b", 0, i > 0 ? "dy" : "a"));
    return ct_rule_vector(c, i + 2, "w", ct_accum_dtype(c->in[0].desc.dtype), 2);
}

static ct_status fuse_shape(ct_call *c)
{
    CT_TRY(check_maps(c, 0));
    ct_rule_out(c, 0, c->in[0].desc);
    return CT_OK;
}

static ct_status fuse_bwd_shape(ct_call *c)
{
    CT_TRY(check_maps(c, 1));
    ct_rule_out(c, 0, c->in[0].desc);
    ct_rule_out(c, 1, c->in[0].desc);
    ct_rule_out(c, 2, ct_desc1(ct_accum_dtype(c->in[0].desc.dtype), 2));
    return CT_OK;
}

static ct_status fuse_grad(const ct_grad_ctx *g)
{
    ct_attrs none = { .conv = { 0 } };
    const ct_val in[4] = { g->dout[0], g->in[0], g->in[1], g->in[2] };
    ct_val out[3];
    if (g->dout[0] == CT_NOVAL || !(g->need[0] || g->need[1] || g->need[2])) return CT_OK;
    CT_TRY(g->emit(g->self, CT_OP_FUSE_WEIGHTED_BWD, &none, 4, in, 3, 7, out));
    for (int i = 0; i < 3; i++)
        if (g->need[i]) g->din[i] = out[i];
    return CT_OK;
}

/* Two products and a sum. */
static double fuse_flops(const ct_call *c) { return 3.0 * (double)ct_desc_numel(&c->in[0].desc); }

/* A product each for da and db, a product and a sum for each of the two sums. */
static double fuse_bwd_flops(const ct_call *c) { return 6.0 * (double)ct_desc_numel(&c->in[0].desc); }

static int64_t all_reduction(const ct_call *c) { return ct_desc_numel(&c->in[0].desc); }

/* dw: sums of dy a and dy b over all elements. */
static double fuse_bwd_typical(int output, double n, const double rms[CT_MAX_IN])
{
    return output == 2 ? sqrt(n) * rms[0] * (rms[1] + rms[2]) : 0;
}

const ct_op_rules ct_fuse_rules[] = {
    { .op = CT_OP_FUSE_WEIGHTED, .inplace_out = 0, .inplace_in = 0, .precision = CT_PREC_FLOW, .fields = no_fields,
      .shape = fuse_shape, .grad = fuse_grad, .flops = fuse_flops,
      .roundings = 4, .domain = { CT_ANY, CT_ANY, CT_RANGE(-2, 2) } },
    { .op = CT_OP_FUSE_WEIGHTED_BWD, .flags = CT_OPF_NO_GRAD, .inplace_out = 0, .inplace_in = 0,
      .precision = CT_PREC_FLOW, .fields = no_fields, .shape = fuse_bwd_shape, .flops = fuse_bwd_flops,
      .reduction = all_reduction, .roundings = 4, .typical = fuse_bwd_typical,
      .domain = { CT_ANY, CT_ANY, CT_ANY, CT_RANGE(-2, 2) } },
    { .shape = NULL },
};
