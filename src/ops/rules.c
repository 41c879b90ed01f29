#include "config.h"

#include "ops/family.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const char *op_name(const ct_call *c)
{
    return ct_op_get(c->op)->name;
}

ct_status ct_rule_fail(const ct_call *c, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return ct_fail(CT_EINVAL, "%s: %s", op_name(c), text);
}

ct_status ct_rule_ndim(const ct_call *c, int i, const char *name, int ndim)
{
    char s[CT_DESC_STR];
    const ct_desc *d = &c->in[i].desc;
    if (d->ndim == ndim) return CT_OK;
    return ct_rule_fail(c, "%s is %s, but must have %d dimension%s", name, ct_desc_str(d, s), ndim,
                        ndim == 1 ? "" : "s");
}

ct_status ct_rule_ndim_least(const ct_call *c, int i, const char *name, int ndim)
{
    char s[CT_DESC_STR];
    const ct_desc *d = &c->in[i].desc;
    if (d->ndim >= ndim) return CT_OK;
    return ct_rule_fail(c, "%s is %s, but must have at least %d dimension%s", name, ct_desc_str(d, s), ndim,
                        ndim == 1 ? "" : "s");
}

ct_status ct_rule_dim(const ct_call *c, int i, const char *name, int d, int64_t want)
{
    char s[CT_DESC_STR];
    const ct_desc *t = &c->in[i].desc;
    if (t->dim[d] == want) return CT_OK;
    return ct_rule_fail(c, "%s is %s, but its dimension %d must be %" PRId64, name, ct_desc_str(t, s), d, want);
}

ct_status ct_rule_float(const ct_call *c, int i, const char *name)
{
    char s[CT_DESC_STR];
    const ct_desc *d = &c->in[i].desc;
    if (ct_dtype_is_float(d->dtype)) return CT_OK;
    return ct_rule_fail(c, "%s is %s, but must have a floating type", name, ct_desc_str(d, s));
}

ct_status ct_rule_accum(const ct_call *c, int i, const char *name)
{
    char s[CT_DESC_STR];
    const ct_desc *d = &c->in[i].desc;
    if (d->dtype == CT_F32 || d->dtype == CT_F64) return CT_OK;
    return ct_rule_fail(c, "%s is %s, but must be f32 or f64", name, ct_desc_str(d, s));
}

ct_status ct_rule_dtype(const ct_call *c, int i, const char *name, ct_dtype want)
{
    char s[CT_DESC_STR];
    const ct_desc *d = &c->in[i].desc;
    if (d->dtype == want) return CT_OK;
    return ct_rule_fail(c, "%s is %s, but must be of type %s", name, ct_desc_str(d, s), ct_dtype_name(want));
}

ct_status ct_rule_same_shape(const ct_call *c, int i, const char *name, int j, const char *other)
{
    char a[CT_DESC_STR], b[CT_DESC_STR];
    const ct_desc *p = &c->in[i].desc, *q = &c->in[j].desc;
    if (ct_desc_same_shape(p, q)) return CT_OK;
    return ct_rule_fail(c, "%s is %s and %s is %s: the shapes must be the same", name, ct_desc_str(p, a), other,
                        ct_desc_str(q, b));
}

ct_status ct_rule_same(const ct_call *c, int i, const char *name, int j, const char *other)
{
    char a[CT_DESC_STR], b[CT_DESC_STR];
    const ct_desc *p = &c->in[i].desc, *q = &c->in[j].desc;
    if (ct_desc_equal(p, q)) return CT_OK;
    return ct_rule_fail(c, "%s is %s and %s is %s: type and shape must be the same", name, ct_desc_str(p, a), other,
                        ct_desc_str(q, b));
}

ct_status ct_rule_vector(const ct_call *c, int i, const char *name, ct_dtype dtype, int64_t n)
{
    char a[CT_DESC_STR], b[CT_DESC_STR];
    ct_desc want = ct_desc1(dtype, n);
    const ct_desc *d = &c->in[i].desc;
    if (ct_desc_equal(d, &want)) return CT_OK;
    return ct_rule_fail(c, "%s is %s, but must be %s", name, ct_desc_str(d, a), ct_desc_str(&want, b));
}

ct_status ct_rule_desc(const ct_call *c, int i, const char *name, ct_desc want)
{
    char is[CT_DESC_STR], must[CT_DESC_STR];
    const ct_desc *d = &c->in[i].desc;
    return ct_desc_equal(d, &want) ? CT_OK : ct_rule_fail(c, "%s is %s, but must be %s", name, ct_desc_str(d, is), ct_desc_str(&want, must));
}

ct_status ct_rule_state(const ct_call *c, int i)
{
    return ct_rule_vector(c, i, "state", CT_F64, CT_STATE_COUNT);
}

ct_status ct_rule_int(const ct_call *c, const char *name, int64_t v, int64_t lo, int64_t hi)
{
    if (v >= lo && v <= hi) return CT_OK;
    if (hi == INT64_MAX)
        return ct_rule_fail(c, "attribute %s is %" PRId64 ", but must be at least %" PRId64, name, v, lo);
    return ct_rule_fail(c, "attribute %s is %" PRId64 ", but must be within [%" PRId64 ", %" PRId64 "]", name, v, lo,
                        hi);
}

ct_status ct_rule_real(const ct_call *c, const char *name, double v, double lo, double hi)
{
    if (v >= lo && v <= hi) return CT_OK;
    return ct_rule_fail(c, "attribute %s is %g, but must be within [%g, %g]", name, v, lo, hi);
}

ct_status ct_rule_attr_float(const ct_call *c, const char *name, int64_t dtype, bool accum)
{
    bool known = dtype >= 0 && dtype < CT_DTYPE_COUNT && ct_dtype_is_float((ct_dtype)dtype);
    if (known && !(accum && ct_accum_dtype((ct_dtype)dtype) != (ct_dtype)dtype)) return CT_OK;
    return ct_rule_fail(c, "attribute %s is %" PRId64 " (%s), but must be %s", name, dtype,
                        dtype >= 0 && dtype < CT_DTYPE_COUNT ? ct_dtype_name((ct_dtype)dtype) : "no type",
                        accum ? "f32 or f64" : "a floating type");
}

ct_status ct_rule_window(const ct_call *c, const char *what, int64_t in, int64_t ker, int64_t stride, int64_t pad,
                         int64_t dil, int64_t *out)
{
    if (ker < 1 || ker > CT_RULE_MAX_EXTENT)
        return ct_rule_fail(c, "kernel size %" PRId64 " along %s is not within [1, 2^31]", ker, what);
    if (stride < 1 || stride > CT_RULE_MAX_EXTENT)
        return ct_rule_fail(c, "stride_%s is %" PRId64 ", but must be within [1, 2^31]", what, stride);
    if (pad < 0 || pad > CT_RULE_MAX_EXTENT)
        return ct_rule_fail(c, "pad_%s is %" PRId64 ", but must be within [0, 2^31]", what, pad);
    if (dil < 1 || dil > CT_RULE_MAX_EXTENT / ker)
        return ct_rule_fail(c, "dil_%s is %" PRId64 ", but must be within [1, 2^31 / kernel size]", what, dil);
    if (in < 1 || in > CT_RULE_MAX_EXTENT)
        return ct_rule_fail(c, "input size %" PRId64 " along %s is not within [1, 2^31]", in, what);
    int64_t span = dil * (ker - 1) + 1;
    if (in + 2 * pad < span)
        return ct_rule_fail(c, "the window of %" PRId64 " pixels along %s does not fit into %" PRId64 " + 2*%" PRId64,
                            span, what, in, pad);
    *out = (in + 2 * pad - span) / stride + 1;
    return CT_OK;
}

int64_t ct_rows(const ct_desc *d)
{
    int64_t n = 1;
    for (int i = 0; i + 1 < d->ndim; i++) n *= d->dim[i];
    return n;
}

int64_t ct_last_dim(const ct_desc *d)
{
    return d->ndim > 0 ? d->dim[d->ndim - 1] : 1;
}

void ct_rule_out(ct_call *c, int i, ct_desc d)
{
    c->out[i].desc = d;
}

ct_status ct_grad_emit1(const ct_grad_ctx *g, ct_op op, const ct_attrs *attrs, int nin, const ct_val *in, ct_val *out)
{
    return g->emit(g->self, op, attrs, nin, in, 1, 1u, out);
}

/* ---- domains, typical sizes ---- */

const ct_domain ct_domain_nan = { .kind = CT_DOM_ANY, .poison = CT_POISON_NAN };
const ct_domain ct_domain_wide = CT_RANGE(-60, 60);

ct_domain ct_domain_class(const ct_call *c)
{
    return (ct_domain)CT_BELOW((double)c->attrs.loss.classes);
}

double ct_typical_products(int output, double n, const double rms[CT_MAX_IN])
{
    (void)output;
    return sqrt(n) * rms[0] * rms[1];
}

double ct_typical_sum(int output, double n, const double rms[CT_MAX_IN])
{
    (void)output;
    return sqrt(n) * rms[0];
}

double ct_typical_mean(int output, double n, const double rms[CT_MAX_IN])
{
    (void)output;
    (void)n;
    return rms[0];
}
