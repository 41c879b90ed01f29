/* Magnitudes of the discrete Fourier transform over the last dimension. A network's features have no order, so what
 * matters is that every length works, not that powers of two are fast: a product with a matrix of cosines and sines. */
#include "config.h"

#include <math.h>

#include "ops/family.h"

static const ct_attr_field no_fields[] = { CT_FIELD_END };

/* What is kept of the transform: C/2 + 1 real and as many imaginary parts, for x is real. */
static ct_desc parts_of(const ct_desc *x)
{
    ct_desc d = *x;
    d.dim[d.ndim - 1] = 2 * (ct_last_dim(x) / 2 + 1);
    return d;
}

/* Input i is x or dy. */
static ct_status check_rows(const ct_call *c, int i, const char *name)
{
    CT_TRY(ct_rule_accum(c, i, name));
    CT_TRY(ct_rule_ndim_least(c, i, name, 1));
    return ct_rule_int(c, "length of the last dimension", ct_last_dim(&c->in[i].desc), 1, (int64_t)1 << 30);
}

static ct_status magnitude_shape(ct_call *c)
{
    CT_TRY(check_rows(c, 0, "x"));
    ct_rule_out(c, 0, c->in[0].desc);
    ct_rule_out(c, 1, parts_of(&c->in[0].desc));
    return CT_OK;
}

static ct_status magnitude_bwd_shape(ct_call *c)
{
    CT_TRY(check_rows(c, 0, "dy"));
    const ct_desc want = parts_of(&c->in[0].desc);
    CT_TRY(ct_rule_desc(c, 1, "parts", want));
    ct_rule_out(c, 0, c->in[0].desc);
    return CT_OK;
}

static ct_status magnitude_grad(const ct_grad_ctx *g)
{
    if (g->dout[1] != CT_NOVAL)
        return ct_fail(CT_EUNSUPPORTED, "dft_magnitude: gradients through parts are not defined here");
    if (g->dout[0] == CT_NOVAL || !g->need[0]) return CT_OK;
    const ct_val in[2] = { g->dout[0], g->out[1] };
    return ct_grad_emit1(g, CT_OP_DFT_MAGNITUDE_BWD, g->attrs, 2, in, &g->din[0]);
}

/* A product and a sum for each element of x and each part, either way. */
static double magnitude_flops(const ct_call *c)
{
    const ct_desc d = parts_of(&c->in[0].desc);
    return 2.0 * (double)ct_desc_numel(&c->in[0].desc) * (double)ct_last_dim(&d);
}

static int64_t magnitude_reduction(const ct_call *c) { return ct_last_dim(&c->in[0].desc); }

/* n terms of x and a cosine; magnitudes are of their means. A gradient is made of n terms of dy and a direction. */
static double magnitude_typical(int output, double n, const double rms[CT_MAX_IN])
{
    return output == 1 ? sqrt(n) * rms[0] : rms[0] / sqrt(n);
}
static double magnitude_bwd_typical(int output, double n, const double rms[CT_MAX_IN])
{
    (void)output;
    return rms[0] / sqrt(n);
}

const ct_op_rules ct_spectrum_rules[] = {
    { .op = CT_OP_DFT_MAGNITUDE,
      .inplace_out = -1,
      .inplace_in = -1,
      .precision = CT_PREC_ACCUM,
      .fields = no_fields,
      .shape = magnitude_shape,
      .grad = magnitude_grad,
      .flops = magnitude_flops,
      .reduction = magnitude_reduction,
      .roundings = 4, /* two squares, their sum, a root */
      .typical = magnitude_typical,
      .domain = { CT_ANY } },
    { .op = CT_OP_DFT_MAGNITUDE_BWD,
      .flags = CT_OPF_NO_GRAD,
      .inplace_out = -1,
      .inplace_in = -1,
      .precision = CT_PREC_ACCUM,
      .fields = no_fields,
      .shape = magnitude_bwd_shape,
      .flops = magnitude_flops,
      .reduction = magnitude_reduction,
      .roundings = 6, /* the same and a quotient */
      .typical = magnitude_bwd_typical,
      .domain = { CT_ANY, CT_ANY } },
    { .shape = NULL },
};
