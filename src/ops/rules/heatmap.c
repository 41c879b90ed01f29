/* Losses on maps of cells [N,h,w,P], a channel for each of P points: what is lost at the cells, on the offsets within
 * them, on directions, on the order of a point and its fakes, in the padding, and over the rows.
 * doc/operators/heatmap.md has the formulas. */
#include "config.h"

#include <float.h>
#include <inttypes.h>

#include "ops/family.h"

static const ct_attr_field focal_fields[] = { CT_FIELD_REAL(heat, alpha), CT_FIELD_REAL(heat, beta),
                                              CT_FIELD_REAL(heat, threshold), CT_FIELD_REAL(heat, eps), CT_FIELD_END };
static const ct_attr_field offset_fields[] = { CT_FIELD_REAL(heat, beta), CT_FIELD_END };
static const ct_attr_field angle_fields[] = { CT_FIELD_REAL(heat, threshold), CT_FIELD_END };
static const ct_attr_field margin_fields[] = { CT_FIELD_REAL(heat, margin), CT_FIELD_END };
static const ct_attr_field padding_fields[] = { CT_FIELD_REAL(heat, eps), CT_FIELD_REAL(heat, cap), CT_FIELD_END };
static const ct_attr_field rows_fields[] = { CT_FIELD_REAL(heat, stride), CT_FIELD_REAL(heat, tau),
                                             CT_FIELD_REAL(heat, eps), CT_FIELD_END };

/* ---- shapes ---- */

/* Input i is a map [N,h,w,channels] of type A; channels 0: any number. */
static ct_status check_map(const ct_call *c, int i, const char *name, int64_t channels)
{
    CT_TRY(ct_rule_ndim(c, i, name, 4));
    CT_TRY(ct_rule_accum(c, i, name));
    return channels ? ct_rule_dim(c, i, name, 3, channels) : CT_OK;
}

/* Input i is of input 0's type and has these dimensions; those that are 0 are not there. */
static ct_status check_same_type(const ct_call *c, int i, const char *name, int64_t d0, int64_t d1, int64_t d2)
{
    char s[CT_DESC_STR], w[CT_DESC_STR];
    const ct_desc want = { c->in[0].desc.dtype, d2 ? 3 : d1 ? 2 : 1, { d0, d1, d2 } };
    if (ct_desc_equal(&c->in[i].desc, &want)) return CT_OK;
    return ct_rule_fail(c, "%s is %s, but must be %s", name, ct_desc_str(&c->in[i].desc, s), ct_desc_str(&want, w));
}

/* The mask [N,h,w] that belongs to the map of input 0. */
static ct_status check_mask(const ct_call *c, int i)
{
    const int64_t *d = c->in[0].desc.dim;
    return check_same_type(c, i, "mask", d[0], d[1], d[2]);
}

static ct_status check_one(const ct_call *c, int i, const char *name) { return check_same_type(c, i, name, 1, 0, 0); }

/* Output 0 is the loss, output 1 [n] what it was divided by. */
static void give_loss(ct_call *c, int64_t n)
{
    ct_rule_out(c, 0, ct_desc1(c->in[0].desc.dtype, 1));
    ct_rule_out(c, 1, ct_desc1(c->in[0].desc.dtype, n));
}

static ct_status check_focal(const ct_call *c)
{
    const ct_heat_attrs *a = &c->attrs.heat;
    CT_TRY(check_map(c, 0, "logits", 0));
    CT_TRY(ct_rule_same(c, 1, "heat", 0, "logits"));
    CT_TRY(check_mask(c, 2));
    CT_TRY(ct_rule_real(c, "alpha", a->alpha, 0, DBL_MAX));
    CT_TRY(ct_rule_real(c, "beta", a->beta, 0, DBL_MAX));
    CT_TRY(ct_rule_real(c, "threshold", a->threshold, 0, 1));
    return ct_rule_real(c, "eps", a->eps, DBL_MIN, 0.5);
}

static ct_status focal_shape(ct_call *c)
{
    CT_TRY(check_focal(c));
    give_loss(c, c->in[0].desc.dim[3]);
    return CT_OK;
}

static ct_status focal_bwd_shape(ct_call *c)
{
    CT_TRY(check_focal(c));
    CT_TRY(check_same_type(c, 3, "count", c->in[0].desc.dim[3], 0, 0));
    CT_TRY(check_one(c, 4, "dloss"));
    ct_rule_out(c, 0, c->in[0].desc);
    return CT_OK;
}

static ct_status check_offset(const ct_call *c)
{
    const ct_desc *offset = &c->in[0].desc;
    CT_TRY(check_map(c, 0, "offset", 0));
    if (offset->dim[3] % 2 != 0)
        return ct_rule_fail(c, "offset has %" PRId64 " channels, but each point has two", offset->dim[3]);
    CT_TRY(ct_rule_same(c, 1, "target", 0, "offset"));
    CT_TRY(check_map(c, 2, "heat", offset->dim[3] / 2));
    CT_TRY(ct_rule_dtype(c, 2, "heat", offset->dtype));
    for (int i = 0; i < 3; i++) CT_TRY(ct_rule_dim(c, 2, "heat", i, offset->dim[i]));
    CT_TRY(check_mask(c, 3));
    return ct_rule_real(c, "beta", c->attrs.heat.beta, 0, DBL_MAX);
}

static ct_status offset_shape(ct_call *c)
{
    CT_TRY(check_offset(c));
    give_loss(c, c->in[0].desc.dim[3] / 2);
    return CT_OK;
}

static ct_status offset_bwd_shape(ct_call *c)
{
    CT_TRY(check_offset(c));
    CT_TRY(check_same_type(c, 4, "weight", c->in[0].desc.dim[3] / 2, 0, 0));
    CT_TRY(check_one(c, 5, "dloss"));
    ct_rule_out(c, 0, c->in[0].desc);
    return CT_OK;
}

/* target [N,2] and heat [N,h,w,P], inputs `first` and the next. */
static ct_status check_angle(const ct_call *c, int first)
{
    CT_TRY(check_map(c, first + 1, "heat", 0));
    CT_TRY(ct_rule_dtype(c, first + 1, "heat", c->in[0].desc.dtype));
    CT_TRY(ct_rule_accum(c, first, "target"));
    CT_TRY(check_same_type(c, first, "target", c->in[first + 1].desc.dim[0], 2, 0));
    return ct_rule_real(c, "threshold", c->attrs.heat.threshold, 0, 1);
}

static ct_status angle_shape(ct_call *c)
{
    CT_TRY(check_map(c, 0, "direction", 2));
    CT_TRY(check_angle(c, 1));
    for (int i = 0; i < 3; i++) CT_TRY(ct_rule_dim(c, 2, "heat", i, c->in[0].desc.dim[i]));
    give_loss(c, 1);
    return CT_OK;
}

static ct_status angle_bwd_shape(ct_call *c)
{
    CT_TRY(check_angle(c, 0));
    CT_TRY(check_one(c, 2, "count"));
    CT_TRY(check_one(c, 3, "dloss"));
    const int64_t *d = c->in[1].desc.dim;
    ct_rule_out(c, 0, ct_desc4(c->in[1].desc.dtype, d[0], d[1], d[2], 2));
    return CT_OK;
}

static ct_status check_margin(const ct_call *c)
{
    CT_TRY(ct_rule_ndim(c, 0, "s", 2));
    CT_TRY(ct_rule_accum(c, 0, "s"));
    CT_TRY(ct_rule_dim(c, 0, "s", 1, 1));
    CT_TRY(ct_rule_ndim(c, 1, "fake", 2));
    CT_TRY(ct_rule_dtype(c, 1, "fake", c->in[0].desc.dtype));
    CT_TRY(ct_rule_dim(c, 1, "fake", 0, c->in[0].desc.dim[0]));
    return ct_rule_real(c, "margin", c->attrs.heat.margin, -DBL_MAX, DBL_MAX);
}

static ct_status margin_shape(ct_call *c)
{
    CT_TRY(check_margin(c));
    CT_TRY(check_same_type(c, 2, "points", c->in[1].desc.dim[0], c->in[1].desc.dim[1], 2));
    ct_rule_out(c, 0, ct_desc1(c->in[0].desc.dtype, 1));
    ct_rule_out(c, 1, c->in[1].desc);
    return CT_OK;
}

static ct_status margin_bwd_shape(ct_call *c)
{
    CT_TRY(check_margin(c));
    CT_TRY(ct_rule_same(c, 2, "weight", 1, "fake"));
    CT_TRY(check_one(c, 3, "dloss"));
    ct_rule_out(c, 0, c->in[0].desc);
    ct_rule_out(c, 1, c->in[1].desc);
    return CT_OK;
}

static ct_status check_padding(const ct_call *c)
{
    CT_TRY(check_map(c, 0, "logits", 0));
    CT_TRY(check_mask(c, 1));
    CT_TRY(ct_rule_real(c, "eps", c->attrs.heat.eps, DBL_MIN, 0.5));
    return ct_rule_real(c, "cap", c->attrs.heat.cap, DBL_MIN, DBL_MAX);
}

static ct_status padding_shape(ct_call *c)
{
    CT_TRY(check_padding(c));
    give_loss(c, 1);
    return CT_OK;
}

static ct_status padding_bwd_shape(ct_call *c)
{
    CT_TRY(check_padding(c));
    CT_TRY(check_one(c, 2, "weight"));
    CT_TRY(check_one(c, 3, "dloss"));
    ct_rule_out(c, 0, c->in[0].desc);
    return CT_OK;
}

static ct_status check_rows(const ct_call *c)
{
    const ct_heat_attrs *a = &c->attrs.heat;
    CT_TRY(check_map(c, 0, "logits", 2));
    CT_TRY(check_same_type(c, 1, "points", c->in[0].desc.dim[0], 2, 2));
    CT_TRY(ct_rule_real(c, "stride", a->stride, DBL_MIN, DBL_MAX));
    CT_TRY(ct_rule_real(c, "tau", a->tau, DBL_MIN, DBL_MAX));
    return ct_rule_real(c, "eps", a->eps, DBL_MIN, DBL_MAX);
}

static ct_status rows_shape(ct_call *c)
{
    CT_TRY(check_rows(c));
    give_loss(c, 1);
    const int64_t *d = c->in[0].desc.dim;
    ct_rule_out(c, 2, (ct_desc){ c->in[0].desc.dtype, 3, { d[0], 2, d[1] } });
    return CT_OK;
}

static ct_status rows_bwd_shape(ct_call *c)
{
    CT_TRY(check_rows(c));
    CT_TRY(check_same_type(c, 2, "rows", c->in[0].desc.dim[0], 2, c->in[0].desc.dim[1]));
    if (!ct_present(&c->in[3]) && !ct_present(&c->in[4])) return ct_rule_fail(c, "neither dce nor demd is given");
    if (ct_present(&c->in[3])) CT_TRY(check_one(c, 3, "dce"));
    if (ct_present(&c->in[4])) CT_TRY(check_one(c, 4, "demd"));
    ct_rule_out(c, 0, c->in[0].desc);
    return CT_OK;
}

/* ---- gradients ---- */

/* What the loss was divided by is no loss. */
static ct_status only_loss(const ct_grad_ctx *g, const char *op, int out, const char *name)
{
    if (g->dout[out] == CT_NOVAL) return CT_OK;
    return ct_fail(CT_EUNSUPPORTED, "%s: gradients through %s are not defined here", op, name);
}

static ct_status focal_grad(const ct_grad_ctx *g)
{
    CT_TRY(only_loss(g, "heat_focal", 1, "count"));
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    const ct_val in[5] = { g->in[0], g->in[1], g->in[2], g->out[1], g->dout[0] };
    return ct_grad_emit1(g, CT_OP_HEAT_FOCAL_BWD, g->attrs, 5, in, &g->din[0]);
}

static ct_status offset_grad(const ct_grad_ctx *g)
{
    CT_TRY(only_loss(g, "heat_offset", 1, "weight"));
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    const ct_val in[6] = { g->in[0], g->in[1], g->in[2], g->in[3], g->out[1], g->dout[0] };
    return ct_grad_emit1(g, CT_OP_HEAT_OFFSET_BWD, g->attrs, 6, in, &g->din[0]);
}

static ct_status angle_grad(const ct_grad_ctx *g)
{
    CT_TRY(only_loss(g, "heat_angle", 1, "count"));
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    const ct_val in[4] = { g->in[1], g->in[2], g->out[1], g->dout[0] };
    return ct_grad_emit1(g, CT_OP_HEAT_ANGLE_BWD, g->attrs, 4, in, &g->din[0]);
}

static ct_status margin_grad(const ct_grad_ctx *g)
{
    CT_TRY(only_loss(g, "margin_rank", 1, "weight"));
    if (g->dout[0] == CT_NOVAL || (!g->need[0] && !g->need[1])) return CT_OK;
    const ct_val in[4] = { g->in[0], g->in[1], g->out[1], g->dout[0] };
    ct_val out[2];
    CT_TRY(g->emit(g->self, CT_OP_MARGIN_RANK_BWD, g->attrs, 4, in, 2, 3u, out));
    for (int i = 0; i < 2; i++)
        if (g->need[i]) g->din[i] = out[i];
    return CT_OK;
}

static ct_status padding_grad(const ct_grad_ctx *g)
{
    CT_TRY(only_loss(g, "heat_padding", 1, "weight"));
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    const ct_val in[4] = { g->in[0], g->in[1], g->out[1], g->dout[0] };
    return ct_grad_emit1(g, CT_OP_HEAT_PADDING_BWD, g->attrs, 4, in, &g->din[0]);
}

static ct_status rows_grad(const ct_grad_ctx *g)
{
    CT_TRY(only_loss(g, "heat_rows", 2, "rows"));
    if ((g->dout[0] == CT_NOVAL && g->dout[1] == CT_NOVAL) || !g->need[0]) return CT_OK;
    const ct_val in[5] = { g->in[0], g->in[1], g->out[2], g->dout[0], g->dout[1] };
    return ct_grad_emit1(g, CT_OP_HEAT_ROWS_BWD, g->attrs, g->dout[1] == CT_NOVAL ? 4 : 5, in, &g->din[0]);
}

/* ---- costs: operations per number of input 0, an exponential or a logarithm counting as four ---- */

static double cells_of(const ct_call *c) { return (double)ct_desc_numel(&c->in[0].desc); }
static double focal_flops(const ct_call *c) { return 24 * cells_of(c); }
static double offset_flops(const ct_call *c) { return 6 * cells_of(c); }
static double angle_flops(const ct_call *c) { return 3 * cells_of(c); }
static double angle_bwd_flops(const ct_call *c) { return (double)ct_desc_numel(&c->out[0].desc); }
static double margin_flops(const ct_call *c) { return 5 * (double)ct_desc_numel(&c->in[1].desc); }
static double padding_flops(const ct_call *c) { return 14 * cells_of(c); }
static double rows_flops(const ct_call *c) { return 8 * cells_of(c); }

static int64_t all_cells(const ct_call *c) { return ct_desc_numel(&c->in[0].desc); }
static int64_t all_fakes(const ct_call *c) { return ct_desc_numel(&c->in[1].desc); }
/* A row, and then the rows. */
static int64_t row_sums(const ct_call *c) { return c->in[0].desc.dim[1] + c->in[0].desc.dim[2]; }

/* 1 - direction . target, whose mean can happen to cancel. */
static double angle_typical(int output, double n, const double rms[CT_MAX_IN])
{
    (void)n;
    return output == 0 ? 1 + rms[0] * rms[1] : 0;
}

/* The distance is a sum of differences between numbers up to 1. */
static double rows_typical(int output, double n, const double rms[CT_MAX_IN])
{
    (void)n;
    (void)rms;
    return output == 1 ? 1 : 0;
}

/* ---- test data ---- */

static const ct_domain nothing = CT_IS(ZERO), absent = CT_IS(ABSENT), picture = CT_IS(ONE);

/* Some of them beside the map, some absent. */
static ct_domain map_points(const ct_call *c)
{
    const double side = c->attrs.heat.stride * (double)c->in[0].desc.dim[1];
    return (ct_domain){ .kind = CT_DOM_RANGE, .lo = -0.1 * side, .hi = 1.1 * side, .poison = CT_POISON_ABSENT,
                        .special = &absent };
}

#define SHARE CT_IS(SHARE)
#define OR(k, domain) { .kind = CT_DOM_##k, .special = &(domain) }
#define SOME(from, to) \
    { .kind = CT_DOM_RANGE, .lo = (from), .hi = (to), .poison = CT_POISON_ABSENT, .special = &absent }

const ct_op_rules ct_heatmap_rules[] = {
    { .op = CT_OP_HEAT_FOCAL, .constants = 0x6, .inplace_out = -1, .inplace_in = -1, .precision = CT_PREC_ACCUM,
      .fields = focal_fields, .shape = focal_shape, .grad = focal_grad, .flops = focal_flops, .reduction = all_cells,
      .roundings = 4, .domain = { CT_ANY, OR(SHARE, nothing), SHARE } },
    { .op = CT_OP_HEAT_FOCAL_BWD, .flags = CT_OPF_NO_GRAD, .inplace_out = 0, .inplace_in = 0,
      .precision = CT_PREC_ACCUM,
      .fields = focal_fields, .shape = focal_bwd_shape, .flops = focal_flops,
      .roundings = 4, .domain = { CT_ANY, OR(SHARE, nothing), SHARE, CT_OUTPUT(1, CT_OP_HEAT_FOCAL), CT_ANY } },
    { .op = CT_OP_HEAT_OFFSET, .constants = 0xe, .inplace_out = -1, .inplace_in = -1, .precision = CT_PREC_ACCUM,
      .fields = offset_fields, .shape = offset_shape, .grad = offset_grad,
      .flops = offset_flops, .reduction = all_cells,
      .roundings = 4, .domain = { CT_ANY, CT_RANGE(-0.5, 0.5), OR(SHARE, nothing), SHARE } },
    { .op = CT_OP_HEAT_OFFSET_BWD, .flags = CT_OPF_NO_GRAD, .inplace_out = 0, .inplace_in = 0,
      .precision = CT_PREC_ACCUM,
      .fields = offset_fields, .shape = offset_bwd_shape, .flops = offset_flops,
      .roundings = 4, .domain = { CT_ANY, CT_RANGE(-0.5, 0.5), OR(SHARE, nothing), SHARE,
                  CT_OUTPUT(1, CT_OP_HEAT_OFFSET), CT_ANY } },
    { .op = CT_OP_HEAT_ANGLE, .constants = 0x6, .inplace_out = -1, .inplace_in = -1, .precision = CT_PREC_ACCUM,
      .fields = angle_fields, .shape = angle_shape, .grad = angle_grad, .flops = angle_flops, .reduction = all_cells,
      .roundings = 4, .typical = angle_typical,
      .domain = { CT_ANY, SOME(-1, 1), SHARE } },
    { .op = CT_OP_HEAT_ANGLE_BWD, .flags = CT_OPF_NO_GRAD, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_ACCUM,
      .fields = angle_fields, .shape = angle_bwd_shape, .flops = angle_bwd_flops,
      .roundings = 4,
      .domain = { SOME(-1, 1), SHARE, { .kind = CT_DOM_RANGE, .lo = 1, .hi = 50, .special = &nothing }, CT_ANY } },
    { .op = CT_OP_MARGIN_RANK, .constants = 0x4, .inplace_out = -1, .inplace_in = -1, .precision = CT_PREC_ACCUM,
      .fields = margin_fields, .shape = margin_shape, .grad = margin_grad,
      .flops = margin_flops, .reduction = all_fakes,
      .roundings = 4,
      .domain = { CT_IS(COMPARED), CT_IS(COMPARED), SOME(-10, 60) } },
    { .op = CT_OP_MARGIN_RANK_BWD, .flags = CT_OPF_NO_GRAD, .inplace_out = 1, .inplace_in = 1,
      .precision = CT_PREC_ACCUM,
      .fields = margin_fields, .shape = margin_bwd_shape, .flops = margin_flops, .reduction = all_fakes,
      .roundings = 4, .domain = { CT_ANY, CT_ANY, OR(SHARE, nothing), CT_ANY } },
    { .op = CT_OP_HEAT_PADDING, .constants = 0x2, .inplace_out = -1, .inplace_in = -1, .precision = CT_PREC_ACCUM,
      .fields = padding_fields, .shape = padding_shape, .grad = padding_grad,
      .flops = padding_flops, .reduction = all_cells,
      .roundings = 4, .domain = { CT_ANY, OR(SHARE, picture) } },
    { .op = CT_OP_HEAT_PADDING_BWD, .flags = CT_OPF_NO_GRAD, .inplace_out = 0, .inplace_in = 0,
      .precision = CT_PREC_ACCUM,
      .fields = padding_fields, .shape = padding_bwd_shape, .flops = padding_flops,
      .roundings = 4, .domain = { CT_ANY, OR(SHARE, picture), CT_OUTPUT(1, CT_OP_HEAT_PADDING), CT_ANY } },
    { .op = CT_OP_HEAT_ROWS, .constants = 0x2, .grad_outs = 0x2, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_ACCUM,
      .fields = rows_fields, .shape = rows_shape, .grad = rows_grad, .flops = rows_flops, .reduction = row_sums,
      .roundings = 4, .typical = rows_typical, .domain = { CT_ANY, CT_BY_CALL(map_points) } },
    { .op = CT_OP_HEAT_ROWS_BWD, .flags = CT_OPF_NO_GRAD, .inplace_out = 0, .inplace_in = 0, .precision = CT_PREC_ACCUM,
      .fields = rows_fields, .shape = rows_bwd_shape, .flops = rows_flops, .reduction = row_sums,
      .roundings = 4, .domain = { CT_ANY, CT_BY_CALL(map_points), CT_OUTPUT(2, CT_OP_HEAT_ROWS), CT_ANY, CT_ANY } },
    { .shape = NULL },
};
