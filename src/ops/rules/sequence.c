/* Sequences, time first: exchange of the two leading axes, and the recurrence of an LSTM layer, one or both directions
 * at once. What is not recurrent, x w_ih^T + b_ih over all steps, is a linear layer in front. Formulas and gate order
 * (i, f, g, o) are those of torch.nn.LSTM; they stand in ops/math/lstm_math.h. */
#include "config.h"

#include <inttypes.h>
#include <math.h>

#include "ops/family.h"

static const ct_attr_field no_fields[] = { CT_FIELD_END };

/* Inputs of lstm; those of the reverse direction lie 3 further on. */
enum { XG, W_HH, B_HH, XG_R, W_HH_R, B_HH_R, LEN };

/* Inputs of lstm_bwd. */
enum { BWD_DY, BWD_Y, BWD_GATES, BWD_CELL, BWD_W, BWD_W_R, BWD_LEN };

static ct_status swap_shape(ct_call *c)
{
    CT_TRY(ct_rule_ndim_least(c, 0, "x", 2));
    CT_TRY(ct_rule_float(c, 0, "x"));
    ct_desc y = c->in[0].desc;
    int64_t a = y.dim[0];
    y.dim[0] = y.dim[1];
    y.dim[1] = a;
    ct_rule_out(c, 0, y);
    return CT_OK;
}

static ct_desc desc_of(ct_dtype d, int ndim, int64_t a, int64_t b, int64_t c, int64_t e)
{
    return ct_desc_make(d, ndim, (const int64_t[]){ a, b, c, e });
}

static ct_status check_len(const ct_call *c, int i, int64_t n)
{
    return ct_present(&c->in[i]) ? ct_rule_vector(c, i, "len", CT_I32, n) : CT_OK;
}

/* Input i must be exactly `want`. */
static ct_status check_is(const ct_call *c, int i, const char *name, ct_desc want)
{
    char a[CT_DESC_STR], b[CT_DESC_STR];
    if (ct_desc_equal(&c->in[i].desc, &want)) return CT_OK;
    return ct_rule_fail(c, "%s is %s, but must be %s", name, ct_desc_str(&c->in[i].desc, a), ct_desc_str(&want, b));
}

static ct_status lstm_shape(ct_call *c)
{
    char s[CT_DESC_STR];
    const ct_desc *x = &c->in[XG].desc;
    bool reverse = ct_present(&c->in[XG_R]);
    CT_TRY(ct_rule_ndim(c, XG, "xg", 3));
    CT_TRY(ct_rule_float(c, XG, "xg"));
    int64_t t = x->dim[0], n = x->dim[1], h = x->dim[2] / 4;
    if (x->dim[2] % 4 != 0)
        return ct_rule_fail(c, "xg is %s, but its dimension 2 must be a multiple of 4: gates i, f, g, o",
                            ct_desc_str(x, s));
    CT_TRY(check_is(c, W_HH, "w_hh", ct_desc2(x->dtype, 4 * h, h)));
    if (ct_present(&c->in[B_HH])) CT_TRY(ct_rule_vector(c, B_HH, "b_hh", x->dtype, 4 * h));
    if (ct_present(&c->in[W_HH_R]) != reverse)
        return ct_rule_fail(c, "xg_r and w_hh_r must be given together, for the reverse direction");
    if (ct_present(&c->in[B_HH_R]) != (reverse && ct_present(&c->in[B_HH])))
        return ct_rule_fail(c, "b_hh_r must be given if and only if there are b_hh and a reverse direction");
    if (reverse) {
        CT_TRY(ct_rule_same(c, XG_R, "xg_r", XG, "xg"));
        CT_TRY(ct_rule_same(c, W_HH_R, "w_hh_r", W_HH, "w_hh"));
        if (ct_present(&c->in[B_HH_R])) CT_TRY(ct_rule_same(c, B_HH_R, "b_hh_r", B_HH, "b_hh"));
    }
    CT_TRY(check_len(c, LEN, n));
    int64_t d = reverse ? 2 : 1;
    ct_rule_out(c, 0, desc_of(x->dtype, 3, t, n, d * h, 0));
    ct_rule_out(c, 1, desc_of(x->dtype, 4, d, t, n, 4 * h));
    ct_rule_out(c, 2, desc_of(ct_accum_dtype(x->dtype), 4, d, t, n, h));
    return CT_OK;
}

static ct_status bwd_shape(ct_call *c)
{
    const ct_desc *dy = &c->in[BWD_DY].desc, *w = &c->in[BWD_W].desc;
    int64_t d = ct_present(&c->in[BWD_W_R]) ? 2 : 1;
    CT_TRY(ct_rule_ndim(c, BWD_DY, "dy", 3));
    CT_TRY(ct_rule_float(c, BWD_DY, "dy"));
    CT_TRY(ct_rule_ndim(c, BWD_W, "w_hh", 2));
    int64_t t = dy->dim[0], n = dy->dim[1], h = w->dim[1];
    CT_TRY(ct_rule_dtype(c, BWD_W, "w_hh", dy->dtype));
    if (h > INT64_MAX / 4) return ct_rule_fail(c, "w_hh has %" PRId64 " columns, which is more than there can be", h);
    CT_TRY(ct_rule_dim(c, BWD_W, "w_hh", 0, 4 * h));
    if (d == 2) CT_TRY(ct_rule_same(c, BWD_W_R, "w_hh_r", BWD_W, "w_hh"));
    CT_TRY(ct_rule_dim(c, BWD_DY, "dy", 2, d * h));
    CT_TRY(ct_rule_same(c, BWD_Y, "y", BWD_DY, "dy"));
    CT_TRY(check_is(c, BWD_GATES, "gates", desc_of(dy->dtype, 4, d, t, n, 4 * h)));
    CT_TRY(check_is(c, BWD_CELL, "cell", desc_of(ct_accum_dtype(dy->dtype), 4, d, t, n, h)));
    CT_TRY(check_len(c, BWD_LEN, n));
    if (c->nout < 2 * d) return ct_rule_fail(c, "w_hh_r gives 4 outputs, but %d are wanted", c->nout);
    c->nout = (int)(2 * d);
    for (int i = 0; i < d; i++) {
        ct_rule_out(c, 2 * i, desc_of(dy->dtype, 3, t, n, 4 * h, 0));
        ct_rule_out(c, 2 * i + 1, *w);
    }
    return CT_OK;
}

static ct_status swap_grad(const ct_grad_ctx *g)
{
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    return ct_grad_emit1(g, CT_OP_SWAP, g->attrs, 1, &g->dout[0], &g->din[0]);
}

/* dxg and dw_hh of direction `first` (0, or XG_R: the reverse one) are what the backward node gave; the gradient of
 * b_hh is the sum of dxg over all steps and samples. */
static ct_status direction_grad(const ct_grad_ctx *g, int first, ct_val dxg, ct_val dw)
{
    if (first >= g->nin || g->in[first] == CT_NOVAL) return CT_OK;
    if (g->need[first + XG]) g->din[first + XG] = dxg;
    if (g->need[first + W_HH]) g->din[first + W_HH] = dw;
    if (first + B_HH >= g->nin || g->in[first + B_HH] == CT_NOVAL || !g->need[first + B_HH]) return CT_OK;
    return ct_grad_emit1(g, CT_OP_BIAS_GRAD, g->attrs, 1, &dxg, &g->din[first + B_HH]);
}

static ct_status lstm_grad(const ct_grad_ctx *g)
{
    if (g->dout[1] != CT_NOVAL || g->dout[2] != CT_NOVAL)
        return ct_fail(CT_EUNSUPPORTED, "lstm: gradients through gates or cell are not defined here");
    bool wanted = false;
    for (int i = 0; i < g->nin; i++) wanted = wanted || g->need[i];
    if (g->dout[0] == CT_NOVAL || !wanted) return CT_OK;
    bool reverse = g->nin > W_HH_R && g->in[W_HH_R] != CT_NOVAL;
    ct_val len = g->nin > LEN ? g->in[LEN] : CT_NOVAL;
    ct_val in[7] = {
        g->dout[0], g->out[0], g->out[1], g->out[2], g->in[W_HH], reverse ? g->in[W_HH_R] : CT_NOVAL, len
    };
    ct_val out[4] = { CT_NOVAL, CT_NOVAL, CT_NOVAL, CT_NOVAL };
    int nin = len != CT_NOVAL ? 7 : reverse ? 6 : 5, nout = reverse ? 4 : 2;
    CT_TRY(g->emit(g->self, CT_OP_LSTM_BWD, g->attrs, nin, in, nout, (1u << nout) - 1, out));
    CT_TRY(direction_grad(g, XG, out[0], out[1]));
    return direction_grad(g, XG_R, out[2], out[3]);
}

/* Of all directions and steps, valid or not: per hidden unit the product 8 H, four sums of two more terms 8, five
 * functions and four operations on them. */
static double lstm_flops(const ct_call *c)
{
    const ct_desc *cell = &c->out[2].desc;
    return (8.0 * (double)ct_last_dim(cell) + 17) * (double)ct_desc_numel(cell);
}

/* Per hidden unit 8 H each for dh and dw_hh, and about 24 operations for the derivatives of the gates. */
static double bwd_flops(const ct_call *c)
{
    const ct_desc *cell = &c->in[BWD_CELL].desc;
    return (16.0 * (double)ct_last_dim(cell) + 24) * (double)ct_desc_numel(cell);
}

/* A sum over the hidden units, which goes into one over the steps. */
static int64_t lstm_reduction(const ct_call *c) { return c->in[XG].desc.dim[0] + c->in[W_HH].desc.dim[1]; }

/* dxg: a sum over the gates, which goes into one over the steps; dw_hh: over steps and samples. */
static int64_t bwd_reduction(const ct_call *c)
{
    const ct_desc *dy = &c->in[BWD_DY].desc;
    int64_t units = dy->dim[0] + c->in[BWD_W].desc.dim[0], rows = dy->dim[0] * dy->dim[1];
    return units > rows ? units : rows;
}

/* w_hh [4H,H] as it is drawn: larger ones make the recurrence chaotic, and rounding errors grow from step to step. */
static ct_domain weights_of(int64_t hidden)
{
    const double limit = 1 / sqrt((double)hidden);
    return (ct_domain)CT_RANGE(-limit, limit);
}

static ct_domain lstm_weights(const ct_call *c) { return weights_of(c->in[W_HH].desc.dim[1]); }
static ct_domain bwd_weights(const ct_call *c) { return weights_of(c->in[BWD_W].desc.dim[1]); }

static const ct_domain far_cell = CT_RANGE(-3, 3); /* where tanh saturates */

const ct_op_rules ct_sequence_rules[] = {
    { .op = CT_OP_SWAP, .flags = CT_OPF_CHOOSES, .inplace_out = -1, .inplace_in = -1, .precision = CT_PREC_FLOW,
      .fields = no_fields,
      .shape = swap_shape, .grad = swap_grad,
      .domain = { CT_ANY } },
    { .op = CT_OP_LSTM, .flags = CT_OPF_HEAVY, .inplace_out = -1, .inplace_in = -1, .precision = CT_PREC_COMPUTE,
      .fields = no_fields,
      .shape = lstm_shape, .grad = lstm_grad, .flops = lstm_flops, .reduction = lstm_reduction,
      .roundings = 4,
      .domain = { [XG] = CT_ANY_OR(ct_domain_wide), [W_HH] = CT_BY_CALL(lstm_weights), [B_HH] = CT_ANY,
                  [XG_R] = CT_ANY_OR(ct_domain_wide), [W_HH_R] = CT_BY_CALL(lstm_weights), [B_HH_R] = CT_ANY,
                  [LEN] = CT_IS(LEN) } },
    { .op = CT_OP_LSTM_BWD, .flags = CT_OPF_NO_GRAD | CT_OPF_HEAVY, .inplace_out = -1, .inplace_in = -1,
      .precision = CT_PREC_COMPUTE,
      .fields = no_fields, .shape = bwd_shape, .flops = bwd_flops, .reduction = bwd_reduction,
      .roundings = 4,
      .domain = { [BWD_DY] = CT_ANY, [BWD_Y] = { .kind = CT_DOM_ANY, .ends = true },
                  [BWD_GATES] = { .kind = CT_DOM_GATES, .ends = true },
                  [BWD_CELL] = { .kind = CT_DOM_ANY, .ends = true, .special = &far_cell },
                  [BWD_W] = CT_BY_CALL(bwd_weights), [BWD_W_R] = CT_BY_CALL(bwd_weights), [BWD_LEN] = CT_IS(LEN) } },
    { .shape = NULL },
};
