/* What one branch of a model is to learn from another: the Kullback-Leibler divergence between their scores, softened by
 * a temperature (Hinton, Vinyals & Dean, "Distilling the Knowledge in a Neural Network", 2015). */
#include "config.h"

#include <float.h>
#include <math.h>

#include "ops/family.h"

static const ct_attr_field fields[] = { CT_FIELD_REAL(distill, temperature), CT_FIELD_INT(distill, first),
                                        CT_FIELD_INT(distill, detach), CT_FIELD_END };

/* s, t and len, inputs 0 to 2 of both operators. */
static ct_status check_scores(const ct_call *c)
{
    const ct_distill_attrs *a = &c->attrs.distill;
    const ct_desc *s = &c->in[0].desc;
    CT_TRY(ct_rule_accum(c, 0, "s"));
    CT_TRY(ct_rule_ndim(c, 0, "s", 3));
    CT_TRY(ct_rule_same(c, 1, "t", 0, "s"));
    if (ct_present(&c->in[2])) CT_TRY(ct_rule_vector(c, 2, "len", CT_I32, s->dim[1]));
    CT_TRY(ct_rule_real(c, "temperature", a->temperature, FLT_MIN, FLT_MAX));
    CT_TRY(ct_rule_int(c, "first", a->first, 0, s->dim[2] - 1));
    return ct_rule_int(c, "detach", a->detach, 0, 1);
}

static ct_desc steps_desc(const ct_call *c)
{
    const ct_desc *s = &c->in[0].desc;
    return (ct_desc){ s->dtype, 2, { s->dim[0], s->dim[1] } };
}

static ct_status distill_shape(ct_call *c)
{
    CT_TRY(check_scores(c));
    ct_rule_out(c, 0, ct_desc1(c->in[0].desc.dtype, 1));
    ct_rule_out(c, 1, steps_desc(c));
    return CT_OK;
}

static ct_status distill_bwd_shape(ct_call *c)
{
    CT_TRY(check_scores(c));
    if (c->nin < 5) return ct_rule_fail(c, "%d inputs given, needs s, t, len?, kl, dloss", c->nin);
    const ct_desc kl = steps_desc(c);
    CT_TRY(ct_rule_desc(c, 3, "kl", kl));
    CT_TRY(ct_rule_vector(c, 4, "dloss", kl.dtype, 1));
    ct_rule_out(c, 0, c->in[0].desc);
    if (!c->attrs.distill.detach) ct_rule_out(c, 1, c->in[0].desc);
    return CT_OK;
}

static ct_status distill_grad(const ct_grad_ctx *g)
{
    const bool both = !g->attrs->distill.detach;
    const ct_val in[5] = { g->in[0], g->in[1], g->nin > 2 ? g->in[2] : CT_NOVAL, g->out[1], g->dout[0] };
    ct_val out[2];
    if (g->dout[1] != CT_NOVAL)
        return ct_fail(CT_EUNSUPPORTED, "distill: gradients through kl are not defined here");
    if (g->dout[0] == CT_NOVAL || !(g->need[0] || (both && g->need[1]))) return CT_OK;
    CT_TRY(g->emit(g->self, CT_OP_DISTILL_BWD, g->attrs, 5, in, both ? 2 : 1, both ? 3 : 1, out));
    if (g->need[0]) g->din[0] = out[0];
    if (both && g->need[1]) g->din[1] = out[1];
    return CT_OK;
}

/* Per class: two exponentials, their sums and maxima, the logarithm's difference, a product. */
static double distill_flops(const ct_call *c) { return 12.0 * (double)ct_desc_numel(&c->in[0].desc); }

/* The loss adds up the classes of all steps. */
static int64_t distill_reduction(const ct_call *c) { return ct_desc_numel(&c->in[0].desc); }
static int64_t distill_bwd_reduction(const ct_call *c) { return ct_last_dim(&c->in[0].desc); }

/* Scores that are alike have next to no divergence: what its terms are rounded by is of the size of the probabilities'
 * logarithms, which are not small where scores are. */
static double distill_typical(int output, double n, const double rms[CT_MAX_IN])
{
    (void)output;
    (void)n;
    return 1 + rms[0] + rms[1];
}
/* A probability, 1/n on average, by what stands in the logarithms. */
static double distill_bwd_typical(int output, double n, const double rms[CT_MAX_IN])
{
    (void)output;
    return rms[4] / n * (1 + rms[0] + rms[1]);
}

const ct_op_rules ct_distill_rules[] = {
    { .op = CT_OP_DISTILL,
      .inplace_out = -1,
      .inplace_in = -1,
      .precision = CT_PREC_ACCUM,
      .fields = fields,
      .shape = distill_shape,
      .grad = distill_grad,
      .flops = distill_flops,
      .reduction = distill_reduction,
      .roundings = 8, /* two exponentials and two logarithms */
      .typical = distill_typical,
      .domain = { CT_ANY_OR(ct_domain_wide), CT_ANY_OR(ct_domain_wide), CT_IS(LEN) } },
    { .op = CT_OP_DISTILL_BWD,
      .flags = CT_OPF_NO_GRAD,
      .inplace_out = -1,
      .inplace_in = -1,
      .precision = CT_PREC_ACCUM,
      .fields = fields,
      .shape = distill_bwd_shape,
      .flops = distill_flops,
      .reduction = distill_bwd_reduction,
      .typical = distill_bwd_typical,
      .roundings = 8, /* two exponentials and two logarithms */
      .domain = { CT_ANY_OR(ct_domain_wide), CT_ANY_OR(ct_domain_wide), CT_IS(LEN), CT_OUTPUT(1, CT_OP_DISTILL),
                  CT_ANY } },
    { .shape = NULL },
};
