/* Batch normalisation over all dimensions but the last, like torch.nn.BatchNorm2d on NHWC, but for one thing: a channel
 * whose batch statistics are NaN or infinite leaves its running statistics alone, so that a step that is skipped for
 * its numbers leaves no trace. And vectors along the last dimension made one long. */
#include "config.h"

#include <math.h>

#include "ops/family.h"
#include "ops/math/mask_math.h"

static const ct_attr_field bn_fields[] = { CT_FIELD_REAL(norm, eps), CT_FIELD_REAL(norm, momentum),
                                           CT_FIELD_INT(norm, act), CT_FIELD_INT(norm, update_stats), CT_FIELD_END };
static const ct_attr_field infer_fields[] = { CT_FIELD_REAL(norm, eps), CT_FIELD_INT(norm, act),
                                              CT_FIELD_INT(norm, given_invstd), CT_FIELD_END };
static const ct_attr_field bwd_fields[] = { CT_FIELD_INT(norm, act), CT_FIELD_INT(norm, has_add),
                                            CT_FIELD_INT(norm, dy2_step), CT_FIELD_END };
static const ct_attr_field joint_fields[] = { CT_FIELD_REAL(norm, eps), CT_FIELD_REAL(norm, momentum),
                                              CT_FIELD_INT(norm, act), CT_FIELD_INT(norm, update_stats),
                                              CT_FIELD_INT(norm, total), CT_FIELD_END };
static const ct_attr_field joint_sums_fields[] = { CT_FIELD_INT(norm, act), CT_FIELD_INT(norm, total), CT_FIELD_END };
static const ct_attr_field joint_bwd_fields[] = { CT_FIELD_INT(norm, act), CT_FIELD_INT(norm, has_add), CT_FIELD_END };
static const ct_attr_field sum_bwd_fields[] = { CT_FIELD_INT(norm, dy2_step), CT_FIELD_END };
static const ct_attr_field relu_fields[] = { CT_FIELD_REAL(norm, eps), CT_FIELD_REAL(norm, momentum),
                                             CT_FIELD_INT(norm, update_stats), CT_FIELD_END };
static const ct_attr_field pool_fields[] = { CT_FIELD_REAL(norm, eps), CT_FIELD_REAL(norm, momentum),
                                             CT_FIELD_INT(norm, update_stats), CT_FIELD_INT(norm, overlap), CT_FIELD_END };
static const ct_attr_field pool_bwd_fields[] = { CT_FIELD_INT(norm, overlap), CT_FIELD_END };
static const ct_attr_field mean_bwd_fields[] = { CT_FIELD_INT(norm, has_add), CT_FIELD_END };
static const ct_attr_field no_fields[] = { CT_FIELD_END };

/* Over all rows of x the sums of it and of its squares. */
static ct_desc moments_of(const ct_desc *x) { return ct_desc2(CT_F64, 2, ct_last_dim(x)); }

/* Where y is positive, a bit an element: [...,bytes of C bits]. */
static ct_desc mask_of(const ct_desc *y)
{
    ct_desc d = *y;
    d.dtype = CT_U8;
    d.dim[d.ndim - 1] = ct_mask_bytes(ct_last_dim(y));
    return d;
}

/* Input i, if it is given, holds the moments of x. */
static ct_status check_given(const ct_call *c, int i, const ct_desc *x)
{
    return ct_present(&c->in[i]) ? ct_rule_desc(c, i, "moments", moments_of(x)) : CT_OK;
}

/* x [...,C], then gamma, beta, run_mean, run_var [C], add? like x: common to training and inference. */
static ct_status check_forward(const ct_call *c)
{
    static const char *const names[] = { "x", "gamma", "beta", "run_mean", "run_var" };
    const ct_desc *x = &c->in[0].desc;
    CT_TRY(ct_rule_ndim_least(c, 0, "x", 2));
    CT_TRY(ct_rule_float(c, 0, "x"));
    for (int i = 1; i < 5; i++) CT_TRY(ct_rule_vector(c, i, names[i], ct_accum_dtype(x->dtype), ct_last_dim(x)));
    if (ct_present(&c->in[5])) CT_TRY(ct_rule_same(c, 5, "add", 0, "x"));
    CT_TRY(ct_rule_real(c, "eps", c->attrs.norm.eps, 0, 1));
    return ct_rule_int(c, "act", c->attrs.norm.act, 0, CT_NORM_ACTS - 1);
}

static ct_status bn_shape(ct_call *c)
{
    char s[CT_DESC_STR];
    const ct_desc *x = &c->in[0].desc;
    CT_TRY(check_forward(c));
    CT_TRY(ct_rule_real(c, "momentum", c->attrs.norm.momentum, 0, 1));
    CT_TRY(ct_rule_int(c, "update_stats", c->attrs.norm.update_stats, 0, 1));
    CT_TRY(check_given(c, 6, x));
    if (ct_rows(x) < 2)
        return ct_rule_fail(c, "x is %s: one value per channel has no variance to normalise by", ct_desc_str(x, s));
    const bool relu = c->attrs.norm.act == CT_NORM_RELU;
    if (relu && c->nout < 4) return ct_rule_fail(c, "act=1 gives 4 outputs, but %d are wanted", c->nout);
    c->nout = relu ? 4 : 3;
    ct_desc stat = ct_desc1(ct_accum_dtype(x->dtype), ct_last_dim(x));
    ct_rule_out(c, 0, *x);
    ct_rule_out(c, 1, stat);
    ct_rule_out(c, 2, stat);
    if (relu) ct_rule_out(c, 3, mask_of(x));
    return CT_OK;
}

static ct_status infer_shape(ct_call *c)
{
    CT_TRY(check_forward(c));
    CT_TRY(ct_rule_int(c, "given_invstd", c->attrs.norm.given_invstd, 0, 1));
    ct_rule_out(c, 0, c->in[0].desc);
    return CT_OK;
}

/* Input i, dy2: like dy, or of every pixel that lies in a row and a column that are multiples of dy2_step. */
static ct_status check_second(const ct_call *c, int i)
{
    const int64_t step = c->attrs.norm.dy2_step;
    CT_TRY(ct_rule_int(c, "dy2_step", step, 0, CT_RULE_MAX_EXTENT));
    if (step > 1 && !ct_present(&c->in[i])) return ct_rule_fail(c, "dy2_step=%lld goes with dy2, which is not given", (long long)step);
    if (!ct_present(&c->in[i])) return CT_OK;
    if (step <= 1) return ct_rule_same(c, i, "dy2", 0, "dy");
    CT_TRY(ct_rule_ndim(c, 0, "dy", 4));
    ct_desc d = c->in[0].desc;
    d.dim[1] = (d.dim[1] + step - 1) / step;
    d.dim[2] = (d.dim[2] + step - 1) / step;
    return ct_rule_desc(c, i, "dy2", d);
}

/* Of a ReLU that gives a y as large as input y the mask, input 5. */
static ct_status check_mask(const ct_call *c, int y) { return ct_rule_desc(c, 5, "mask", mask_of(&c->in[y].desc)); }

/* What the gradient of the activation needs beside dy and x: of a ReLU its mask, of SiLU what it was applied to, which
 * is computed again. */
static ct_status check_activation(const ct_call *c)
{
    const ct_norm_attrs *a = &c->attrs.norm;
    const ct_desc *dy = &c->in[0].desc;
    CT_TRY(ct_rule_int(c, "act", a->act, 0, CT_NORM_ACTS - 1));
    CT_TRY(ct_rule_int(c, "has_add", a->has_add, 0, 1));
    if (ct_present(&c->in[5]) != (a->act == CT_NORM_RELU))
        return ct_rule_fail(c, "mask must be given if and only if act=1 (relu)");
    if (a->act == CT_NORM_RELU) CT_TRY(check_mask(c, 0));
    CT_TRY(check_second(c, 8));
    if (ct_present(&c->in[6]) != (a->act == CT_NORM_SILU))
        return ct_rule_fail(c, "beta must be given if and only if act=2 (silu)");
    if (ct_present(&c->in[7]) && a->act != CT_NORM_SILU) return ct_rule_fail(c, "add is read with act=2 (silu) alone");
    if (a->act != CT_NORM_SILU) return CT_OK;
    CT_TRY(ct_rule_vector(c, 6, "beta", ct_accum_dtype(dy->dtype), ct_last_dim(dy)));
    if (ct_present(&c->in[7])) return ct_rule_same(c, 7, "add", 0, "dy");
    return a->has_add ? ct_rule_fail(c, "has_add=1 with act=2 (silu) needs add") : CT_OK;
}

static ct_status bwd_shape(ct_call *c)
{
    static const char *const names[] = { "dy", "x", "gamma", "mean", "invstd" };
    const ct_norm_attrs *a = &c->attrs.norm;
    const ct_desc *dy = &c->in[0].desc;
    CT_TRY(ct_rule_ndim_least(c, 0, "dy", 2));
    CT_TRY(ct_rule_float(c, 0, "dy"));
    CT_TRY(ct_rule_same(c, 1, "x", 0, "dy"));
    ct_desc stat = ct_desc1(ct_accum_dtype(dy->dtype), ct_last_dim(dy));
    for (int i = 2; i < 5; i++) CT_TRY(ct_rule_vector(c, i, names[i], stat.dtype, stat.dim[0]));
    CT_TRY(check_activation(c));
    if (a->has_add && c->nout < 4) return ct_rule_fail(c, "has_add=1 gives 4 outputs, but %d are wanted", c->nout);
    c->nout = a->has_add ? 4 : 3;
    ct_rule_out(c, 0, *dy);
    ct_rule_out(c, 1, stat);
    ct_rule_out(c, 2, stat);
    if (a->has_add) ct_rule_out(c, 3, *dy);
    return CT_OK;
}

static ct_status moments_shape(ct_call *c)
{
    CT_TRY(ct_rule_ndim_least(c, 0, "x", 2));
    CT_TRY(ct_rule_float(c, 0, "x"));
    ct_rule_out(c, 0, moments_of(&c->in[0].desc));
    return CT_OK;
}

static ct_status moments_bwd_shape(ct_call *c)
{
    CT_TRY(ct_rule_ndim_least(c, 0, "x", 2));
    CT_TRY(ct_rule_float(c, 0, "x"));
    CT_TRY(ct_rule_desc(c, 1, "moments", moments_of(&c->in[0].desc)));
    ct_rule_out(c, 0, c->in[0].desc);
    return CT_OK;
}

/* batchnorm, but for where its statistics come from: this member may have one row alone, the group has more. */
static ct_status joint_shape(ct_call *c)
{
    const ct_desc *x = &c->in[0].desc;
    CT_TRY(check_forward(c));
    if (c->nin < 7) return ct_rule_fail(c, "%d inputs given, needs x, gamma, beta, run_mean, run_var, add?, moments", c->nin);
    CT_TRY(ct_rule_desc(c, 6, "moments", moments_of(x)));
    CT_TRY(ct_rule_real(c, "momentum", c->attrs.norm.momentum, 0, 1));
    CT_TRY(ct_rule_int(c, "update_stats", c->attrs.norm.update_stats, 0, 1));
    const int64_t least = ct_rows(x) < 2 ? 2 : ct_rows(x);
    CT_TRY(ct_rule_int(c, "total", c->attrs.norm.total, least, CT_RULE_MAX_EXTENT));
    const bool relu = c->attrs.norm.act == CT_NORM_RELU;
    if (relu && c->nout < 4) return ct_rule_fail(c, "act=1 gives 4 outputs, but %d are wanted", c->nout);
    c->nout = relu ? 4 : 3;
    const ct_desc stat = ct_desc1(ct_accum_dtype(x->dtype), ct_last_dim(x));
    ct_rule_out(c, 0, *x);
    ct_rule_out(c, 1, stat);
    ct_rule_out(c, 2, stat);
    if (relu) ct_rule_out(c, 3, mask_of(x));
    return CT_OK;
}

static ct_status check_joint_bwd(const ct_call *c)
{
    static const char *const names[] = { "dy", "x", "gamma", "mean", "invstd" };
    const ct_desc *dy = &c->in[0].desc;
    ct_call seen = *c; /* without moments, which stand where batchnorm_bwd has dy2 */
    seen.in[8].desc = ct_absent_desc();
    CT_TRY(ct_rule_ndim_least(c, 0, "dy", 2));
    CT_TRY(ct_rule_float(c, 0, "dy"));
    CT_TRY(ct_rule_same(c, 1, "x", 0, "dy"));
    for (int i = 2; i < 5; i++)
        CT_TRY(ct_rule_vector(c, i, names[i], ct_accum_dtype(dy->dtype), ct_last_dim(dy)));
    return check_activation(&seen);
}

static ct_status joint_sums_shape(ct_call *c)
{
    const ct_desc *dy = &c->in[0].desc;
    CT_TRY(check_joint_bwd(c));
    const int64_t least = ct_rows(dy) < 2 ? 2 : ct_rows(dy);
    CT_TRY(ct_rule_int(c, "total", c->attrs.norm.total, least, CT_RULE_MAX_EXTENT));
    const ct_desc stat = ct_desc1(ct_accum_dtype(dy->dtype), ct_last_dim(dy));
    ct_rule_out(c, 0, stat);
    ct_rule_out(c, 1, stat);
    ct_rule_out(c, 2, moments_of(dy));
    return CT_OK;
}

static ct_status joint_bwd_shape(ct_call *c)
{
    const ct_desc *dy = &c->in[0].desc;
    const bool has_add = c->attrs.norm.has_add != 0;
    CT_TRY(check_joint_bwd(c));
    if (ct_present(&c->in[8])) CT_TRY(ct_rule_desc(c, 8, "moments", moments_of(dy)));
    if (has_add && c->nout < 2) return ct_rule_fail(c, "has_add=1 gives 2 outputs, but %d are wanted", c->nout);
    c->nout = has_add ? 2 : 1;
    for (int i = 0; i < c->nout; i++) ct_rule_out(c, i, *dy);
    return CT_OK;
}

/* Both halves of a sum have the same shapes and attributes: those of the second behind those of the first. */
static ct_status sum_shape(ct_call *c)
{
    static const char *const names[] = { "x2", "gamma2", "beta2", "run_mean2", "run_var2" };
    const ct_desc *x = &c->in[0].desc;
    ct_call first = *c;
    first.in[5].desc = ct_absent_desc();
    first.in[6].desc = c->in[10].desc;
    first.attrs.norm.act = CT_NORM_RELU;
    CT_TRY(bn_shape(&first));
    CT_TRY(ct_rule_same(c, 5, names[0], 0, "x"));
    for (int i = 1; i < 5; i++) CT_TRY(ct_rule_vector(c, 5 + i, names[i], ct_accum_dtype(x->dtype), ct_last_dim(x)));
    CT_TRY(check_given(c, 11, x));
    for (int i = 0; i < 4; i++) ct_rule_out(c, i, first.out[i].desc);
    ct_rule_out(c, 4, first.out[1].desc);
    ct_rule_out(c, 5, first.out[2].desc);
    return CT_OK;
}

static ct_status sum_bwd_shape(ct_call *c)
{
    static const char *const names[] = { "x", "gamma", "mean", "invstd", "mask", "x2", "gamma2", "mean2", "invstd2" };
    const ct_desc *dy = &c->in[0].desc;
    CT_TRY(ct_rule_ndim_least(c, 0, "dy", 2));
    CT_TRY(ct_rule_float(c, 0, "dy"));
    const ct_desc stat = ct_desc1(ct_accum_dtype(dy->dtype), ct_last_dim(dy));
    for (int i = 1; i < 10; i++) {
        if (i == 5) CT_TRY(check_mask(c, 0));
        else if (i == 1 || i == 6) CT_TRY(ct_rule_same(c, i, names[i - 1], 0, "dy"));
        else CT_TRY(ct_rule_vector(c, i, names[i - 1], stat.dtype, stat.dim[0]));
    }
    CT_TRY(check_second(c, 10));
    for (int i = 0; i < 6; i++) ct_rule_out(c, i, i % 3 == 0 ? *dy : stat);
    return CT_OK;
}

/* y of an x [N,H,W,C]: windows of 2x2 pixels, 2 apart; or of 3x3 with a pixel of padding around x. */
static ct_status pooled(const ct_call *c, int x, ct_desc *y)
{
    CT_TRY(ct_rule_ndim(c, x, "x", 4));
    CT_TRY(ct_rule_int(c, "overlap", c->attrs.norm.overlap, 0, 1));
    *y = c->in[x].desc;
    y->dim[1] = (y->dim[1] + c->attrs.norm.overlap) / 2;
    y->dim[2] = (y->dim[2] + c->attrs.norm.overlap) / 2;
    return y->dim[1] > 0 && y->dim[2] > 0 ? CT_OK : ct_rule_fail(c, "x has no window of 2x2 pixels");
}

static ct_status pool_shape(ct_call *c)
{
    const ct_desc *x = &c->in[0].desc;
    ct_desc y;
    CT_TRY(check_forward(c));
    CT_TRY(ct_rule_real(c, "momentum", c->attrs.norm.momentum, 0, 1));
    CT_TRY(ct_rule_int(c, "update_stats", c->attrs.norm.update_stats, 0, 1));
    CT_TRY(pooled(c, 0, &y));
    if (ct_present(&c->in[5])) return ct_rule_fail(c, "a summand is given, which this operator has not");
    CT_TRY(check_given(c, 6, x));
    const ct_desc stat = ct_desc1(ct_accum_dtype(x->dtype), ct_last_dim(x));
    ct_rule_out(c, 0, y);
    ct_rule_out(c, 1, stat);
    ct_rule_out(c, 2, stat);
    y.dtype = CT_U8;
    ct_rule_out(c, 3, y);
    return CT_OK;
}

static ct_status pool_bwd_shape(ct_call *c)
{
    static const char *const names[] = { "dy", "x", "gamma", "mean", "invstd" };
    const ct_desc *dy = &c->in[0].desc, *x = &c->in[1].desc;
    ct_desc y;
    CT_TRY(ct_rule_float(c, 0, "dy"));
    CT_TRY(pooled(c, 1, &y));
    CT_TRY(ct_rule_desc(c, 0, "dy", y));
    const ct_desc stat = ct_desc1(ct_accum_dtype(dy->dtype), ct_last_dim(dy));
    for (int i = 2; i < 5; i++) CT_TRY(ct_rule_vector(c, i, names[i], stat.dtype, stat.dim[0]));
    CT_TRY(ct_rule_dtype(c, 5, "index", CT_U8));
    CT_TRY(ct_rule_same_shape(c, 5, "index", 0, "dy"));
    if (ct_present(&c->in[6])) CT_TRY(ct_rule_same(c, 6, "dy2", 0, "dy"));
    ct_rule_out(c, 0, *x);
    ct_rule_out(c, 1, stat);
    ct_rule_out(c, 2, stat);
    return CT_OK;
}

/* batchnorm with relu, but for y. */
static ct_status mean_shape(ct_call *c)
{
    const ct_desc *x = &c->in[0].desc;
    ct_call norm = *c;
    norm.attrs.norm.act = CT_NORM_RELU;
    CT_TRY(ct_rule_ndim(c, 0, "x", 4));
    CT_TRY(bn_shape(&norm));
    ct_rule_out(c, 0, ct_desc2(x->dtype, x->dim[0], x->dim[3]));
    for (int i = 1; i < 4; i++) ct_rule_out(c, i, norm.out[i].desc);
    return CT_OK;
}

static ct_status mean_bwd_shape(ct_call *c)
{
    static const char *const names[] = { "gamma", "mean", "invstd" };
    const ct_desc *dy = &c->in[0].desc, *x = &c->in[1].desc;
    const bool has_add = c->attrs.norm.has_add != 0;
    CT_TRY(ct_rule_ndim(c, 0, "dy", 2));
    CT_TRY(ct_rule_float(c, 0, "dy"));
    CT_TRY(ct_rule_ndim(c, 1, "x", 4));
    CT_TRY(ct_rule_dtype(c, 1, "x", dy->dtype));
    CT_TRY(ct_rule_dim(c, 1, "x", 0, dy->dim[0]));
    CT_TRY(ct_rule_dim(c, 1, "x", 3, dy->dim[1]));
    const ct_desc stat = ct_desc1(ct_accum_dtype(dy->dtype), ct_last_dim(dy));
    for (int i = 0; i < 3; i++) CT_TRY(ct_rule_vector(c, 2 + i, names[i], stat.dtype, stat.dim[0]));
    CT_TRY(check_mask(c, 1));
    CT_TRY(ct_rule_int(c, "has_add", c->attrs.norm.has_add, 0, 1));
    if (has_add && c->nout < 4) return ct_rule_fail(c, "has_add=1 gives 4 outputs, but %d are wanted", c->nout);
    c->nout = has_add ? 4 : 3;
    ct_rule_out(c, 0, *x);
    ct_rule_out(c, 1, stat);
    ct_rule_out(c, 2, stat);
    if (has_add) ct_rule_out(c, 3, *x);
    return CT_OK;
}

static ct_status l2_shape(ct_call *c)
{
    CT_TRY(ct_rule_ndim_least(c, 0, "x", 1));
    CT_TRY(ct_rule_float(c, 0, "x"));
    ct_rule_out(c, 0, c->in[0].desc);
    return CT_OK;
}

static ct_status l2_bwd_shape(ct_call *c)
{
    CT_TRY(ct_rule_ndim_least(c, 0, "dy", 1));
    CT_TRY(ct_rule_float(c, 0, "dy"));
    CT_TRY(ct_rule_same(c, 1, "x", 0, "dy"));
    ct_rule_out(c, 0, c->in[0].desc);
    return CT_OK;
}

static ct_status bn_grad(const ct_grad_ctx *g)
{
    ct_val dy = g->dout[0];
    const int64_t act = g->attrs->norm.act;
    const bool relu = act == CT_NORM_RELU, silu = act == CT_NORM_SILU;
    const bool added = g->nin > 5 && g->in[5] != CT_NOVAL, want_add = added && g->need[5];
    if (g->dout[1] != CT_NOVAL || g->dout[2] != CT_NOVAL)
        return ct_fail(CT_EUNSUPPORTED, "batchnorm: gradients through the batch's mean or invstd are not defined here");
    if (dy == CT_NOVAL) return CT_OK;
    if (want_add && act == CT_NORM_LINEAR) g->din[5] = dy;
    if (!g->need[0] && !g->need[1] && !g->need[2] && !(want_add && act != CT_NORM_LINEAR)) return CT_OK;
    if (relu && g->out[3] == CT_NOVAL)
        return ct_fail(CT_EUNSUPPORTED, "batchnorm: no gradient through a ReLU whose mask was not wanted");
    ct_attrs a = { .norm = { .act = act, .has_add = want_add && act != CT_NORM_LINEAR } };
    ct_val in[8] = { dy, g->in[0], g->in[1], g->out[1], g->out[2], relu ? g->out[3] : CT_NOVAL,
                     silu ? g->in[2] : CT_NOVAL, silu && added ? g->in[5] : CT_NOVAL };
    ct_val out[4] = { CT_NOVAL, CT_NOVAL, CT_NOVAL, CT_NOVAL };
    const int nin = silu ? (added ? 8 : 7) : relu ? 6 : 5, nout = a.norm.has_add ? 4 : 3;
    CT_TRY(g->emit(g->self, CT_OP_BATCHNORM_BWD, &a, nin, in, nout, (1u << nout) - 1, out));
    for (int i = 0; i < 3; i++)
        if (g->need[i]) g->din[i] = out[i];
    if (a.norm.has_add) g->din[5] = out[3];
    return CT_OK;
}

static ct_status moments_grad(const ct_grad_ctx *g)
{
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    return ct_grad_emit1(g, CT_OP_BATCHNORM_MOMENTS_BWD, g->attrs, 2, (ct_val[]){ g->in[0], g->dout[0] }, &g->din[0]);
}

/* As batchnorm's, but what goes through mean and invstd goes to the moments: x has it from there. */
static ct_status joint_grad(const ct_grad_ctx *g)
{
    ct_val dy = g->dout[0];
    const int64_t act = g->attrs->norm.act;
    const bool relu = act == CT_NORM_RELU, silu = act == CT_NORM_SILU;
    const bool added = g->in[5] != CT_NOVAL, want_add = added && g->need[5];
    if (g->dout[1] != CT_NOVAL || g->dout[2] != CT_NOVAL)
        return ct_fail(CT_EUNSUPPORTED,
                       "batchnorm_joint: gradients through the batch's mean or invstd are not defined here");
    if (dy == CT_NOVAL) return CT_OK;
    if (want_add && act == CT_NORM_LINEAR) g->din[5] = dy;
    if (!g->need[0] && !g->need[1] && !g->need[2] && !g->need[6] && !(want_add && act != CT_NORM_LINEAR)) return CT_OK;
    if (relu && g->out[3] == CT_NOVAL)
        return ct_fail(CT_EUNSUPPORTED, "batchnorm_joint: no gradient through a ReLU whose mask was not wanted");
    const ct_attrs sums = { .norm = { .act = act, .total = g->attrs->norm.total } };
    const ct_attrs a = { .norm = { .act = act, .has_add = want_add && act != CT_NORM_LINEAR } };
    ct_val in[8] = { dy, g->in[0], g->in[1], g->out[1], g->out[2], relu ? g->out[3] : CT_NOVAL,
                     silu ? g->in[2] : CT_NOVAL, silu && added ? g->in[5] : CT_NOVAL };
    ct_val out[3] = { CT_NOVAL, CT_NOVAL, CT_NOVAL };
    const int nin = silu ? (added ? 8 : 7) : relu ? 6 : 5, nout = a.norm.has_add ? 2 : 1;
    if (g->need[1] || g->need[2] || g->need[6])
        CT_TRY(g->emit(g->self, CT_OP_BATCHNORM_JOINT_SUMS, &sums, nin, in, 3, 7, out));
    if (g->need[1]) g->din[1] = out[0];
    if (g->need[2]) g->din[2] = out[1];
    if (g->need[6]) g->din[6] = out[2];
    if (!g->need[0] && !a.norm.has_add) return CT_OK;
    CT_TRY(g->emit(g->self, CT_OP_BATCHNORM_JOINT_BWD, &a, nin, in, nout, (1u << nout) - 1, out));
    if (g->need[0]) g->din[0] = out[0];
    if (a.norm.has_add) g->din[5] = out[1];
    return CT_OK;
}

static ct_status sum_grad(const ct_grad_ctx *g)
{
    bool wanted = false;
    for (int i = 1; i < 6; i++)
        if (i != 3 && g->dout[i] != CT_NOVAL)
            return ct_fail(CT_EUNSUPPORTED, "batchnorm_sum: gradients through a batch's mean or invstd are not defined here");
    for (int i = 0; i < 10; i++) wanted = wanted || (i % 5 < 3 && g->need[i]);
    if (g->dout[0] == CT_NOVAL || !wanted) return CT_OK;
    const ct_val in[10] = { g->dout[0], g->in[0], g->in[1], g->out[1], g->out[2], g->out[3], g->in[5], g->in[6], g->out[4], g->out[5] };
    ct_val out[6] = { CT_NOVAL, CT_NOVAL, CT_NOVAL, CT_NOVAL, CT_NOVAL, CT_NOVAL };
    const ct_attrs none = { .norm = { .act = CT_NORM_LINEAR } };
    CT_TRY(g->emit(g->self, CT_OP_BATCHNORM_SUM_BWD, &none, 10, in, 6, 63, out));
    for (int i = 0; i < 6; i++)
        if (g->need[i / 3 * 5 + i % 3]) g->din[i / 3 * 5 + i % 3] = out[i];
    return CT_OK;
}

static ct_status pool_grad(const ct_grad_ctx *g)
{
    if (g->dout[1] != CT_NOVAL || g->dout[2] != CT_NOVAL)
        return ct_fail(CT_EUNSUPPORTED, "batchnorm_pool: gradients through the batch's mean or invstd are not defined here");
    if (g->dout[0] == CT_NOVAL || (!g->need[0] && !g->need[1] && !g->need[2])) return CT_OK;
    const ct_val in[6] = { g->dout[0], g->in[0], g->in[1], g->out[1], g->out[2], g->out[3] };
    ct_val out[3] = { CT_NOVAL, CT_NOVAL, CT_NOVAL };
    const ct_attrs a = { .norm = { .overlap = g->attrs->norm.overlap } };
    CT_TRY(g->emit(g->self, CT_OP_BATCHNORM_POOL_BWD, &a, 6, in, 3, 7, out));
    for (int i = 0; i < 3; i++)
        if (g->need[i]) g->din[i] = out[i];
    return CT_OK;
}

static ct_status mean_grad(const ct_grad_ctx *g)
{
    const bool want_add = g->nin > 5 && g->in[5] != CT_NOVAL && g->need[5];
    if (g->dout[1] != CT_NOVAL || g->dout[2] != CT_NOVAL)
        return ct_fail(CT_EUNSUPPORTED,
                       "batchnorm_mean: gradients through the batch's mean or invstd are not defined here");
    if (g->dout[0] == CT_NOVAL || (!g->need[0] && !g->need[1] && !g->need[2] && !want_add)) return CT_OK;
    const ct_val in[6] = { g->dout[0], g->in[0], g->in[1], g->out[1], g->out[2], g->out[3] };
    ct_val out[4] = { CT_NOVAL, CT_NOVAL, CT_NOVAL, CT_NOVAL };
    const ct_attrs a = { .norm = { .has_add = want_add } };
    const int nout = want_add ? 4 : 3;
    CT_TRY(g->emit(g->self, CT_OP_BATCHNORM_MEAN_BWD, &a, 6, in, nout, (1u << nout) - 1, out));
    for (int i = 0; i < 3; i++)
        if (g->need[i]) g->din[i] = out[i];
    if (want_add) g->din[5] = out[3];
    return CT_OK;
}

static ct_status l2_grad(const ct_grad_ctx *g)
{
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    return ct_grad_emit1(g, CT_OP_L2_NORMALIZE_BWD, g->attrs, 2, (ct_val[]){ g->dout[0], g->in[0] }, &g->din[0]);
}

static int64_t rows_reduction(const ct_call *c) { return ct_rows(&c->in[0].desc); }

/* Per element: mean 1 and variance 3, unless moments are given, scale and shift 2, and 1 each for add and the activation. */
static double bn_flops(const ct_call *c)
{
    double per = (ct_present(&c->in[6]) ? 2 : 6) + (ct_present(&c->in[5]) ? 1 : 0) + (c->attrs.norm.act ? 1 : 0);
    return per * (double)ct_desc_numel(&c->in[0].desc);
}

static double infer_flops(const ct_call *c)
{
    double per = 2 + (ct_present(&c->in[5]) ? 1 : 0) + (c->attrs.norm.act ? 1 : 0);
    return per * (double)ct_desc_numel(&c->in[0].desc);
}

/* Per element: dbeta 1, dgamma 4, dx 5; a mask 1; of SiLU what it was applied to 2, and its slope 4. */
static double bwd_flops(const ct_call *c)
{
    const int64_t act = c->attrs.norm.act;
    return (act == CT_NORM_SILU ? 16.0 : act == CT_NORM_RELU ? 11.0 : 10.0) * (double)ct_desc_numel(&c->in[0].desc);
}

/* A sum and a sum of squares; and of their gradient a product and a sum. */
static double moments_flops(const ct_call *c) { return 3.0 * (double)ct_desc_numel(&c->in[0].desc); }
static double moments_bwd_flops(const ct_call *c) { return 2.0 * (double)ct_desc_numel(&c->in[0].desc); }

/* Its gradient in two halves, that of the activation in both. */
static double joint_sums_flops(const ct_call *c) { return bwd_flops(c) - 5.0 * (double)ct_desc_numel(&c->in[0].desc); }
static double joint_bwd_flops(const ct_call *c)
{
    const double left_out = ct_present(&c->in[8]) ? 5 : 9;
    return bwd_flops(c) - left_out * (double)ct_desc_numel(&c->in[0].desc);
}

/* Two of them, the addition and the ReLU; of the gradient all but dbeta twice. */
static double sum_flops(const ct_call *c)
{
    const int given = ct_present(&c->in[10]) + ct_present(&c->in[11]);
    return (14.0 - 4.0 * given) * (double)ct_desc_numel(&c->in[0].desc);
}
static double sum_bwd_flops(const ct_call *c) { return 20.0 * (double)ct_desc_numel(&c->in[0].desc); }

/* As with a ReLU, and a comparison with each pixel of a window. */
static double pool_flops(const ct_call *c)
{
    return ((c->attrs.norm.overlap ? 9.25 : 8.0) - (ct_present(&c->in[6]) ? 4 : 0)) * (double)ct_desc_numel(&c->in[0].desc);
}
static double pool_bwd_flops(const ct_call *c) { return 11.0 * (double)ct_desc_numel(&c->in[1].desc); }
static int64_t pool_bwd_reduction(const ct_call *c) { return ct_rows(&c->in[1].desc); }

/* As with a ReLU, and its sum; of the gradient nothing more but the share of a pixel. */
static double mean_flops(const ct_call *c)
{
    return ((ct_present(&c->in[6]) ? 4.0 : 8.0) + (ct_present(&c->in[5]) ? 1 : 0)) * (double)ct_desc_numel(&c->in[0].desc);
}
static double mean_bwd_flops(const ct_call *c)
{
    return 11.0 * (double)ct_desc_numel(&c->in[1].desc) + (double)ct_desc_numel(&c->in[0].desc);
}

static int64_t last_reduction(const ct_call *c) { return ct_last_dim(&c->in[0].desc); }

/* Squares and their sum 2, the division 1; and for the gradient the scalar product and its share 4 more. */
static double l2_flops(const ct_call *c) { return 3.0 * (double)ct_desc_numel(&c->in[0].desc); }
static double l2_bwd_flops(const ct_call *c) { return 7.0 * (double)ct_desc_numel(&c->in[0].desc); }

/* dy over the length of a vector of n elements: what is left of it for n = 1 is rounding alone. */
static double l2_bwd_typical(int output, double n, const double rms[CT_MAX_IN])
{
    (void)output;
    return rms[1] > 0 ? rms[0] / (sqrt(n) * rms[1]) : 0;
}

static bool keeps_stats(const ct_attrs *a) { return a->norm.update_stats == 0; }
static bool has_relu(const ct_attrs *a) { return a->norm.act == CT_NORM_RELU; }
static bool always_relu(const ct_attrs *a)
{
    (void)a;
    return true;
}

/* Mean and running mean: means of x; invstd and y have sizes of their own. */
static double bn_typical(int output, double n, const double rms[CT_MAX_IN])
{
    return output == 1 || output == -4 ? ct_typical_mean(output, n, rms) : 0;
}

/* dgamma and dbeta. */
static double bwd_typical(int output, double n, const double rms[CT_MAX_IN])
{
    return output == 1 ? sqrt(n) * rms[0] * (1 + rms[1]) : output == 2 ? ct_typical_sum(output, n, rms) : 0;
}

/* dgamma, dbeta and, from the same two sums, dmoments. */
static double joint_sums_typical(int output, double n, const double rms[CT_MAX_IN])
{
    return output < 2 ? bwd_typical(output + 1, n, rms) : 0;
}

/* Sums whose mean of squares is above the square of their mean. */
static ct_domain likely_moments(const ct_call *c)
{
    const double n = (double)c->attrs.norm.total;
    return (ct_domain){ .kind = CT_DOM_RANGE, .lo = 0.1 * n, .hi = 0.3 * n };
}

/* As those of a norm alone: what belongs to the second lies 5 inputs and 3 outputs further. */
static double sum_typical(int output, double n, const double rms[CT_MAX_IN])
{
    const bool second = output == 4 || output == -9;
    const double of[CT_MAX_IN] = { rms[second ? 5 : 0] };
    return bn_typical(second ? 1 : output, n, of);
}
static double sum_bwd_typical(int output, double n, const double rms[CT_MAX_IN])
{
    const double of[CT_MAX_IN] = { rms[0], rms[output < 3 ? 1 : 6] };
    return bwd_typical(output % 3, n, of);
}

/* Index of a window: one of its pixels, or none. */
static ct_domain kept_places(const ct_call *c)
{
    return (ct_domain){ .kind = CT_DOM_BELOW, .hi = c->attrs.norm.overlap ? 10 : 5 };
}

#define MOMENTS_OF(x) CT_OUTPUT_FROM(x, CT_OP_BATCHNORM_MOMENTS)

static const ct_domain far_from_0 = CT_RANGE(30, 32); /* a one-pass variance would cancel */

const ct_op_rules ct_norm_rules[] = {
    { .op = CT_OP_BATCHNORM, .mutates = 1u << 3 | 1u << 4, .constants = 1u << 6, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_FLOW,
      .fields = bn_fields, .shape = bn_shape, .grad = bn_grad, .flops = bn_flops, .reduction = rows_reduction,
      .roundings = 4, .typical = bn_typical, .keeps = keeps_stats, .kink = has_relu, .mask_out = 3,
      .domain = { CT_ANY_OR(far_from_0), CT_RANGE(0.5, 1.5), CT_ANY, CT_ANY, CT_RANGE(0.1, 2), CT_ANY, MOMENTS_OF(0) } },
    { .op = CT_OP_BATCHNORM_INFER, .flags = CT_OPF_NO_GRAD, .inplace_out = 0, .inplace_in = 0,
      .precision = CT_PREC_FLOW,
      .fields = infer_fields, .shape = infer_shape, .flops = infer_flops,
      .roundings = 4,
      .domain = { CT_ANY_OR(far_from_0), CT_RANGE(0.5, 1.5), CT_ANY, CT_ANY, CT_RANGE(0.1, 2), CT_ANY } },
    { .op = CT_OP_BATCHNORM_BWD, .flags = CT_OPF_NO_GRAD, .inplace_out = 0, .inplace_in = 0, .precision = CT_PREC_FLOW,
      .fields = bwd_fields, .shape = bwd_shape, .flops = bwd_flops, .reduction = rows_reduction,
      .roundings = 4, .typical = bwd_typical,
      .domain = { CT_ANY, CT_ANY, CT_RANGE(0.5, 1.5), CT_ANY, CT_RANGE(0.5, 1.5), CT_IS(BITS), CT_ANY, CT_ANY, CT_ANY } },
    { .op = CT_OP_BATCHNORM_MOMENTS, .inplace_out = -1, .inplace_in = -1, .precision = CT_PREC_FLOW,
      .fields = no_fields, .shape = moments_shape, .grad = moments_grad, .flops = moments_flops,
      .reduction = rows_reduction, .roundings = 2, .domain = { CT_ANY_OR(far_from_0) } },
    { .op = CT_OP_BATCHNORM_MOMENTS_BWD, .flags = CT_OPF_NO_GRAD, .inplace_out = 0, .inplace_in = 0,
      .precision = CT_PREC_FLOW,
      .fields = no_fields, .shape = moments_bwd_shape, .flops = moments_bwd_flops, .roundings = 4,
      .domain = { CT_ANY, CT_ANY } },
    { .op = CT_OP_BATCHNORM_JOINT, .mutates = 1u << 3 | 1u << 4, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_FLOW,
      .fields = joint_fields, .shape = joint_shape, .grad = joint_grad, .flops = bn_flops,
      .roundings = 6, .keeps = keeps_stats, .kink = has_relu, .mask_out = 3,
      .domain = { CT_ANY, CT_RANGE(0.5, 1.5), CT_ANY, CT_ANY, CT_RANGE(0.1, 2), CT_ANY, CT_BY_CALL(likely_moments) } },
    { .op = CT_OP_BATCHNORM_JOINT_SUMS, .flags = CT_OPF_NO_GRAD, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_FLOW,
      .fields = joint_sums_fields, .shape = joint_sums_shape, .flops = joint_sums_flops, .reduction = rows_reduction,
      .roundings = 6, .typical = joint_sums_typical,
      .domain = { CT_ANY, CT_ANY, CT_RANGE(0.5, 1.5), CT_ANY, CT_RANGE(0.5, 1.5), CT_IS(BITS), CT_ANY, CT_ANY } },
    { .op = CT_OP_BATCHNORM_JOINT_BWD, .flags = CT_OPF_NO_GRAD, .inplace_out = 0, .inplace_in = 0,
      .precision = CT_PREC_FLOW,
      .fields = joint_bwd_fields, .shape = joint_bwd_shape, .flops = joint_bwd_flops, .roundings = 6,
      .domain = { CT_ANY, CT_ANY, CT_RANGE(0.5, 1.5), CT_ANY, CT_RANGE(0.5, 1.5), CT_IS(BITS), CT_ANY, CT_ANY, CT_ANY } },
    { .op = CT_OP_BATCHNORM_SUM, .mutates = 1u << 3 | 1u << 4 | 1u << 8 | 1u << 9, .constants = 3u << 10, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_FLOW,
      .fields = relu_fields, .shape = sum_shape, .grad = sum_grad, .flops = sum_flops, .reduction = rows_reduction,
      .roundings = 4, .typical = sum_typical, .keeps = keeps_stats, .kink = always_relu, .mask_out = 3,
      .domain = { CT_ANY_OR(far_from_0), CT_RANGE(0.5, 1.5), CT_ANY, CT_ANY, CT_RANGE(0.1, 2),
                  CT_ANY_OR(far_from_0), CT_RANGE(0.5, 1.5), CT_ANY, CT_ANY, CT_RANGE(0.1, 2), MOMENTS_OF(0), MOMENTS_OF(5) } },
    { .op = CT_OP_BATCHNORM_SUM_BWD, .flags = CT_OPF_NO_GRAD, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_FLOW,
      .fields = sum_bwd_fields, .shape = sum_bwd_shape, .flops = sum_bwd_flops, .reduction = rows_reduction,
      .roundings = 4, .typical = sum_bwd_typical,
      .domain = { CT_ANY, CT_ANY, CT_RANGE(0.5, 1.5), CT_ANY, CT_RANGE(0.5, 1.5), CT_IS(BITS),
                  CT_ANY, CT_RANGE(0.5, 1.5), CT_ANY, CT_RANGE(0.5, 1.5), CT_ANY } },
    { .op = CT_OP_BATCHNORM_POOL, .mutates = 1u << 3 | 1u << 4, .constants = 1u << 6, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_FLOW,
      .fields = pool_fields, .shape = pool_shape, .grad = pool_grad, .flops = pool_flops, .reduction = rows_reduction,
      .roundings = 4, .typical = bn_typical, .keeps = keeps_stats, .kink = always_relu,
      .domain = { CT_IS(COMPARED), CT_RANGE(0.5, 1.5), CT_ANY, CT_ANY, CT_RANGE(0.1, 2), CT_ANY, MOMENTS_OF(0) } },
    { .op = CT_OP_BATCHNORM_POOL_BWD, .flags = CT_OPF_NO_GRAD, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_FLOW,
      .fields = pool_bwd_fields, .shape = pool_bwd_shape, .flops = pool_bwd_flops, .reduction = pool_bwd_reduction,
      .roundings = 4, .typical = bwd_typical,
      .domain = { CT_ANY, CT_ANY, CT_RANGE(0.5, 1.5), CT_ANY, CT_RANGE(0.5, 1.5), CT_BY_CALL(kept_places), CT_ANY } },
    { .op = CT_OP_BATCHNORM_MEAN, .mutates = 1u << 3 | 1u << 4, .constants = 1u << 6, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_FLOW,
      .fields = relu_fields, .shape = mean_shape, .grad = mean_grad, .flops = mean_flops, .reduction = rows_reduction,
      .roundings = 4, .typical = bn_typical, .keeps = keeps_stats, .kink = always_relu,
      .domain = { CT_ANY_OR(far_from_0), CT_RANGE(0.5, 1.5), CT_ANY, CT_ANY, CT_RANGE(0.1, 2), CT_ANY, MOMENTS_OF(0) } },
    { .op = CT_OP_BATCHNORM_MEAN_BWD, .flags = CT_OPF_NO_GRAD, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_FLOW,
      .fields = mean_bwd_fields, .shape = mean_bwd_shape, .flops = mean_bwd_flops, .reduction = pool_bwd_reduction,
      .roundings = 4,
      .domain = { CT_ANY, CT_ANY, CT_RANGE(0.5, 1.5), CT_ANY, CT_RANGE(0.5, 1.5), CT_IS(BITS) } },
    { .op = CT_OP_L2_NORMALIZE, .inplace_out = 0, .inplace_in = 0, .precision = CT_PREC_FLOW,
      .fields = no_fields, .shape = l2_shape, .grad = l2_grad, .flops = l2_flops, .reduction = last_reduction,
      .roundings = 4, .domain = { CT_ANY } },
    { .op = CT_OP_L2_NORMALIZE_BWD, .flags = CT_OPF_NO_GRAD, .inplace_out = 0, .inplace_in = 0, .precision = CT_PREC_FLOW,
      .fields = no_fields, .shape = l2_bwd_shape, .flops = l2_bwd_flops, .reduction = last_reduction,
      .roundings = 4, .typical = l2_bwd_typical, .domain = { CT_ANY, CT_ANY } },
    { .shape = NULL },
};
