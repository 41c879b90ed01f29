/* Connectionist Temporal Classification (Graves, Fernandez, Gomez, Schmidhuber: "Connectionist Temporal
 * Classification", ICML 2006): logp [T,N,C], target i32 [N,L], len i32 [N]. */
#include "config.h"

#include <inttypes.h>

#include "ops/family.h"

static const ct_attr_field fields[] = { CT_FIELD_REAL(loss, smoothing), CT_FIELD_END };

/* logp, target and len, inputs 0 to 2 of both operators. */
static ct_status check_sequence(const ct_call *c)
{
    const ct_desc *logp = &c->in[0].desc;
    CT_TRY(ct_rule_real(c, "smoothing", c->attrs.loss.smoothing, 0, 1));
    CT_TRY(ct_rule_accum(c, 0, "logp"));
    CT_TRY(ct_rule_ndim(c, 0, "logp", 3));
    CT_TRY(ct_rule_dtype(c, 1, "target", CT_I32));
    CT_TRY(ct_rule_ndim(c, 1, "target", 2));
    CT_TRY(ct_rule_dim(c, 1, "target", 0, logp->dim[1]));
    if (c->in[1].desc.dim[1] > CT_RULE_MAX_EXTENT || logp->dim[2] > CT_RULE_MAX_EXTENT)
        return ct_rule_fail(c, "%" PRId64 " target columns, %" PRId64 " classes: at most 2^31 are possible",
                            c->in[1].desc.dim[1], logp->dim[2]);
    if (ct_present(&c->in[2])) CT_TRY(ct_rule_vector(c, 2, "len", CT_I32, logp->dim[1]));
    return CT_OK;
}

static ct_desc alpha_desc(const ct_call *c)
{
    const ct_desc *logp = &c->in[0].desc;
    return (ct_desc){ logp->dtype, 3, { logp->dim[1], logp->dim[0], 2 * c->in[1].desc.dim[1] + 1 } };
}

static ct_status loss_shape(ct_call *c)
{
    CT_TRY(check_sequence(c));
    ct_dtype type = c->in[0].desc.dtype;
    ct_rule_out(c, 0, ct_desc1(type, 1));
    ct_rule_out(c, 1, ct_desc1(type, c->in[0].desc.dim[1]));
    ct_rule_out(c, 2, alpha_desc(c));
    return CT_OK;
}

static ct_status loss_bwd_shape(ct_call *c)
{
    CT_TRY(check_sequence(c));
    if (c->nin < 6) return ct_rule_fail(c, "%d inputs given, needs logp, target, len?, nll, alpha, dloss", c->nin);
    ct_dtype type = c->in[0].desc.dtype;
    ct_desc alpha = alpha_desc(c);
    CT_TRY(ct_rule_vector(c, 3, "nll", type, c->in[0].desc.dim[1]));
    CT_TRY(ct_rule_desc(c, 4, "alpha", alpha));
    CT_TRY(ct_rule_vector(c, 5, "dloss", type, 1));
    ct_rule_out(c, 0, c->in[0].desc);
    return CT_OK;
}

static ct_status loss_grad(const ct_grad_ctx *g)
{
    if (g->dout[1] != CT_NOVAL || g->dout[2] != CT_NOVAL)
        return ct_fail(CT_EUNSUPPORTED, "ctc_loss: gradients through nll and alpha are not defined here");
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    ct_val in[6] = { g->in[0], g->in[1], g->nin > 2 ? g->in[2] : CT_NOVAL, g->out[1], g->out[2], g->dout[0] };
    return ct_grad_emit1(g, CT_OP_CTC_LOSS_BWD, g->attrs, 6, in, &g->din[0]);
}

/* Per state of the lattice: three exponentials, a logarithm, and as many sums and comparisons; the backward pass walks
 * the lattice once and adds the occupancies, one more exponential. */
static double lattice(const ct_call *c)
{
    return (double)ct_rows(&c->in[0].desc) * (2.0 * (double)c->in[1].desc.dim[1] + 1);
}
static double loss_flops(const ct_call *c)
{
    return 10 * lattice(c) + (c->attrs.loss.smoothing > 0 ? (double)ct_desc_numel(&c->in[0].desc) : 0);
}
static double loss_bwd_flops(const ct_call *c) { return 14 * lattice(c) + (double)ct_desc_numel(&c->in[0].desc); }

/* A chain of T sums; the loss also sums over the samples. */
static int64_t loss_reduction(const ct_call *c) { return c->in[0].desc.dim[0] + c->in[0].desc.dim[1]; }
static int64_t loss_bwd_reduction(const ct_call *c) { return c->in[0].desc.dim[0]; }

/* Characters: all classes but the blank. */
static ct_domain text_domain(const ct_call *c)
{
    return (ct_domain){ .kind = CT_DOM_TEXT, .hi = (double)(c->in[0].desc.dim[2] - 1) };
}

const ct_op_rules ct_ctc_rules[] = {
    { .op = CT_OP_CTC_LOSS,
      .inplace_out = -1,
      .inplace_in = -1,
      .precision = CT_PREC_ACCUM,
      .fields = fields,
      .shape = loss_shape,
      .grad = loss_grad,
      .flops = loss_flops,
      .reduction = loss_reduction,
      .roundings = 8, /* three exponentials and a logarithm per state and step */
      .domain = { CT_IS(LOGP), CT_BY_CALL(text_domain), CT_IS(LEN) } },
    { .op = CT_OP_CTC_LOSS_BWD,
      .flags = CT_OPF_NO_GRAD,
      .inplace_out = -1,
      .inplace_in = -1,
      .precision = CT_PREC_ACCUM,
      .fields = fields,
      .shape = loss_bwd_shape,
      .flops = loss_bwd_flops,
      .reduction = loss_bwd_reduction,
      .roundings = 8, /* three exponentials and a logarithm per state and step */
      .domain = { CT_IS(LOGP), CT_BY_CALL(text_domain), CT_IS(LEN), CT_OUTPUT(1, CT_OP_CTC_LOSS),
                  CT_OUTPUT(2, CT_OP_CTC_LOSS), CT_ANY } },
    { .shape = NULL },
};
