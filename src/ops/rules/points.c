/* Points and maps of cells: targets drawn from places, maps read at places, places read off maps, and how far off they
 * are. */
#include "config.h"

#include <float.h>
#include <inttypes.h>

#include "ops/family.h"
#include "ops/math/points_math.h"

static const ct_attr_field pool_fields[] = { CT_FIELD_INT(points, channel), CT_FIELD_INT(points, factor),
                                             CT_FIELD_END };
static const ct_attr_field target_fields[] = { CT_FIELD_INT(points, out_h), CT_FIELD_INT(points, out_w),
                                               CT_FIELD_INT(points, stride), CT_FIELD_REAL(points, sigma),
                                               CT_FIELD_INT(points, around), CT_FIELD_END };
static const ct_attr_field sample_fields[] = { CT_FIELD_INT(points, stride), CT_FIELD_INT(points, channel),
                                               CT_FIELD_END };
static const ct_attr_field sample_bwd_fields[] = { CT_FIELD_INT(points, out_h), CT_FIELD_INT(points, out_w),
                                                   CT_FIELD_INT(points, channels), CT_FIELD_INT(points, stride),
                                                   CT_FIELD_INT(points, channel), CT_FIELD_END };
static const ct_attr_field decode_fields[] = { CT_FIELD_INT(points, stride), CT_FIELD_INT(points, align),
                                               CT_FIELD_END };
static const ct_attr_field sums_fields[] = { CT_FIELD_INT(sums, first), CT_FIELD_REAL(sums, unit), CT_FIELD_END };

/* Strides and sigmas beyond this are a mistake, and numbers of pixels stay exact in f64. */
#define MOST_STRIDE 4096
#define MOST_SIGMA 1024

static ct_status stride_rule(const ct_call *c)
{
    return ct_rule_int(c, "stride", c->attrs.points.stride, 1, MOST_STRIDE);
}

/* Input i is points [N,K,2] of type A, of as many samples as there are in `like`, an input. */
static ct_status points_rule(const ct_call *c, int i, const char *name, int like)
{
    CT_TRY(ct_rule_ndim(c, i, name, 3));
    CT_TRY(ct_rule_accum(c, i, name));
    CT_TRY(ct_rule_dim(c, i, name, 2, 2));
    return ct_rule_dim(c, i, name, 0, c->in[like].desc.dim[0]);
}

/* Input i has the type of input 0. */
static ct_status same_type(const ct_call *c, int i, const char *name)
{
    return ct_rule_dtype(c, i, name, c->in[0].desc.dtype);
}

static ct_status pool_shape(ct_call *c)
{
    const ct_points_attrs *a = &c->attrs.points;
    const ct_desc *x = &c->in[0].desc;
    CT_TRY(ct_rule_ndim(c, 0, "x", 4));
    CT_TRY(ct_rule_float(c, 0, "x"));
    CT_TRY(ct_rule_int(c, "channel", a->channel, 0, x->dim[3] - 1));
    CT_TRY(ct_rule_int(c, "factor", a->factor, 1, CT_RULE_MAX_EXTENT));
    if (x->dim[1] % a->factor != 0 || x->dim[2] % a->factor != 0)
        return ct_rule_fail(c, "x has %" PRId64 " x %" PRId64 " pixels, which are not multiples of factor=%" PRId64,
                            x->dim[1], x->dim[2], a->factor);
    const int64_t dim[3] = { x->dim[0], x->dim[1] / a->factor, x->dim[2] / a->factor };
    for (int i = 0; i < 2; i++) ct_rule_out(c, i, ct_desc_make(ct_accum_dtype(x->dtype), 3, dim));
    return CT_OK;
}

static ct_status target_shape(ct_call *c)
{
    const ct_points_attrs *a = &c->attrs.points;
    const ct_desc *points = &c->in[0].desc;
    CT_TRY(points_rule(c, 0, "points", 0));
    CT_TRY(stride_rule(c));
    CT_TRY(ct_rule_int(c, "out_h", a->out_h, 1, CT_RULE_MAX_EXTENT));
    CT_TRY(ct_rule_int(c, "out_w", a->out_w, 1, CT_RULE_MAX_EXTENT));
    CT_TRY(ct_rule_real(c, "sigma", a->sigma, 1e-3, MOST_SIGMA));
    CT_TRY(ct_rule_int(c, "around", a->around, 0, 1));
    ct_rule_out(c, 0, ct_desc4(points->dtype, points->dim[0], a->out_h, a->out_w, points->dim[1]));
    ct_rule_out(c, 1, ct_desc4(points->dtype, points->dim[0], a->out_h, a->out_w, 2 * points->dim[1]));
    return CT_OK;
}

static ct_status sample_shape(ct_call *c)
{
    const ct_desc *map = &c->in[0].desc;
    CT_TRY(ct_rule_ndim(c, 0, "map", 4));
    CT_TRY(ct_rule_accum(c, 0, "map"));
    CT_TRY(points_rule(c, 1, "points", 0));
    CT_TRY(same_type(c, 1, "points"));
    CT_TRY(stride_rule(c));
    CT_TRY(ct_rule_int(c, "channel", c->attrs.points.channel, 0, map->dim[3] - 1));
    ct_rule_out(c, 0, ct_desc2(map->dtype, map->dim[0], c->in[1].desc.dim[1]));
    return CT_OK;
}

static ct_status sample_bwd_shape(ct_call *c)
{
    const ct_points_attrs *a = &c->attrs.points;
    const ct_desc *dv = &c->in[0].desc;
    CT_TRY(ct_rule_ndim(c, 0, "dv", 2));
    CT_TRY(ct_rule_accum(c, 0, "dv"));
    CT_TRY(points_rule(c, 1, "points", 0));
    CT_TRY(ct_rule_dim(c, 1, "points", 1, dv->dim[1]));
    CT_TRY(same_type(c, 1, "points"));
    CT_TRY(stride_rule(c));
    CT_TRY(ct_rule_int(c, "out_h", a->out_h, 1, CT_RULE_MAX_EXTENT));
    CT_TRY(ct_rule_int(c, "out_w", a->out_w, 1, CT_RULE_MAX_EXTENT));
    CT_TRY(ct_rule_int(c, "channels", a->channels, 1, CT_RULE_MAX_EXTENT));
    CT_TRY(ct_rule_int(c, "channel", a->channel, 0, a->channels - 1));
    ct_rule_out(c, 0, ct_desc4(dv->dtype, dv->dim[0], a->out_h, a->out_w, a->channels));
    return CT_OK;
}

static ct_status decode_shape(ct_call *c)
{
    const ct_desc *logits = &c->in[0].desc;
    CT_TRY(ct_rule_ndim(c, 0, "logits", 4));
    CT_TRY(ct_rule_accum(c, 0, "logits"));
    CT_TRY(ct_rule_ndim(c, 1, "offset", 4));
    CT_TRY(same_type(c, 1, "offset"));
    CT_TRY(ct_rule_ndim(c, 2, "least", 3));
    CT_TRY(same_type(c, 2, "least"));
    for (int d = 0; d < 3; d++) {
        CT_TRY(ct_rule_dim(c, 1, "offset", d, logits->dim[d]));
        CT_TRY(ct_rule_dim(c, 2, "least", d, logits->dim[d]));
    }
    CT_TRY(ct_rule_dim(c, 1, "offset", 3, 2 * logits->dim[3]));
    CT_TRY(stride_rule(c));
    CT_TRY(ct_rule_int(c, "align", c->attrs.points.align, 0, 1));
    if (c->attrs.points.align) CT_TRY(ct_rule_dim(c, 0, "logits", 3, 2));
    const int64_t dim[3] = { logits->dim[0], logits->dim[3], 2 };
    ct_rule_out(c, 0, ct_desc_make(logits->dtype, 3, dim));
    ct_rule_out(c, 1, ct_desc2(logits->dtype, logits->dim[0], logits->dim[3]));
    return CT_OK;
}

static ct_status sums_shape(ct_call *c)
{
    CT_TRY(points_rule(c, 0, "pred", 0));
    CT_TRY(ct_rule_dim(c, 0, "pred", 1, 2));
    CT_TRY(ct_rule_same(c, 1, "points", 0, "pred"));
    CT_TRY(ct_rule_ndim(c, 2, "scale", 2));
    CT_TRY(same_type(c, 2, "scale"));
    CT_TRY(ct_rule_dim(c, 2, "scale", 0, c->in[0].desc.dim[0]));
    CT_TRY(ct_rule_dim(c, 2, "scale", 1, 1));
    CT_TRY(ct_rule_int(c, "first", c->attrs.sums.first, CT_METRIC_FIRST, CT_METRIC_COUNT - CT_POINT_SUMS));
    CT_TRY(ct_rule_real(c, "unit", c->attrs.sums.unit, DBL_MIN, DBL_MAX));
    return ct_rule_vector(c, 3, "acc", CT_F64, CT_METRIC_COUNT);
}

static ct_status sample_grad(const ct_grad_ctx *g)
{
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    const ct_desc *map = g->desc(g->self, g->in[0]);
    ct_attrs a = *g->attrs;
    a.points.out_h = map->dim[1];
    a.points.out_w = map->dim[2];
    a.points.channels = map->dim[3];
    const ct_val in[2] = { g->dout[0], g->in[1] };
    return ct_grad_emit1(g, CT_OP_SAMPLE_POINTS_BWD, &a, 2, in, &g->din[0]);
}

/* A sum and a comparison for each pixel of the mask. */
static double pool_flops(const ct_call *c) { return 2.0 * (double)ct_rows(&c->in[0].desc); }
static int64_t pool_reduction(const ct_call *c) { return c->attrs.points.factor * c->attrs.points.factor; }

/* A Gaussian is a product of two values for each cell that it is drawn on. */
static double target_flops(const ct_call *c)
{
    const double side = 2.0 * (double)ct_heat_radius(c->attrs.points.sigma) + 1;
    return side * side * (double)ct_rows(&c->in[0].desc);
}

/* Four taps of two operations. */
static double sample_flops(const ct_call *c) { return 8.0 * (double)ct_rows(&c->in[1].desc); }
static int64_t sample_reduction(const ct_call *c)
{
    (void)c;
    return 4;
}
/* Points that may share a cell. */
static int64_t sample_bwd_reduction(const ct_call *c) { return c->in[0].desc.dim[1]; }

/* A map is read once, of the others as much as a few cells. */
static double decode_flops(const ct_call *c) { return (double)ct_desc_numel(&c->in[0].desc); }
static double sums_flops(const ct_call *c) { return 32.0 * (double)c->in[0].desc.dim[0]; }
static int64_t sums_reduction(const ct_call *c) { return c->in[0].desc.dim[0]; }

/* A little beyond the map on all sides. */
static ct_domain map_points(int64_t h, int64_t w, int64_t stride)
{
    static const ct_domain special = { .kind = CT_DOM_POINTS, .lo = -20, .hi = 60, .poison = CT_POISON_NAN };
    return (ct_domain){ .kind = CT_DOM_POINTS, .lo = -(double)stride, .hi = (double)(((h > w ? h : w) + 1) * stride),
                        .special = &special };
}

static ct_domain target_points(const ct_call *c)
{
    return map_points(c->attrs.points.out_h, c->attrs.points.out_w, c->attrs.points.stride);
}

static ct_domain sample_places(const ct_call *c)
{
    return map_points(c->in[0].desc.dim[1], c->in[0].desc.dim[2], c->attrs.points.stride);
}

/* Cells that may be chosen are few, and some maps have none; else there are as many as others. */
static const ct_domain few_cells = CT_RANGE(-1, 0.05);
/* Predictions are there where truths are absent: a NaN among them would hide all sums. */
static const ct_domain found = CT_RANGE(0, 12);

const ct_op_rules ct_points_rules[] = {
    { .op = CT_OP_MASK_POOL, .flags = CT_OPF_NO_GRAD, .inplace_out = -1, .inplace_in = -1, .precision = CT_PREC_FLOW,
      .fields = pool_fields, .shape = pool_shape, .flops = pool_flops, .reduction = pool_reduction,
      .roundings = 1, .domain = { CT_ANY_OR(ct_domain_nan) } },
    { .op = CT_OP_HEAT_TARGET, .flags = CT_OPF_NO_GRAD, .inplace_out = -1, .inplace_in = -1, .precision = CT_PREC_ACCUM,
      .fields = target_fields, .shape = target_shape, .flops = target_flops,
      .roundings = 4, .domain = { CT_BY_CALL(target_points) } },
    { .op = CT_OP_SAMPLE_POINTS, .constants = 1u << 1, .inplace_out = -1, .inplace_in = -1, .precision = CT_PREC_ACCUM,
      .fields = sample_fields, .shape = sample_shape, .grad = sample_grad, .flops = sample_flops,
      .reduction = sample_reduction, .typical = ct_typical_mean,
      .roundings = 2, .domain = { CT_ANY, CT_BY_CALL(sample_places) } },
    { .op = CT_OP_SAMPLE_POINTS_BWD, .flags = CT_OPF_NO_GRAD, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_ACCUM, .fields = sample_bwd_fields, .shape = sample_bwd_shape, .flops = sample_flops,
      .reduction = sample_bwd_reduction,
      .roundings = 2, .domain = { CT_ANY, CT_BY_CALL(target_points) } },
    { .op = CT_OP_HEAT_DECODE, .flags = CT_OPF_NO_GRAD, .inplace_out = -1, .inplace_in = -1, .precision = CT_PREC_ACCUM,
      .fields = decode_fields, .shape = decode_shape, .flops = decode_flops, .roundings = 4,
      .domain = { CT_ANY_OR(ct_domain_nan), CT_ANY, { CT_DOM_RANGE, .lo = -0.5, .hi = 0.5, .special = &few_cells } } },
    { .op = CT_OP_POINT_SUMS, .flags = CT_OPF_NO_GRAD, .mutates = 1u << 3, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_ACCUM, .fields = sums_fields, .shape = sums_shape, .flops = sums_flops,
      .reduction = sums_reduction, .roundings = 4,
      .domain = { { CT_DOM_POINTS, .hi = 12, .special = &found }, { CT_DOM_POINTS, .hi = 12 }, CT_RANGE(0.2, 4),
                  CT_IS(SUMS) } },
    { .shape = NULL },
};
