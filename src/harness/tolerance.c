/* How far an implementation may be from the reference. One formula, one table:
 *   |got - want| <= k(op) * sqrt(reduction length) * eps(A) * magnitude  +  eps(T) * |want| for 16-bit storage T
 * where A = max(T, f32) is what sums are made in, the reduction length comes from the operator's rules, and magnitude
 * is max |want| over the tensor, but for sums at least their typical size (sqrt(length) times the typical product),
 * since a single sum can happen to cancel. Elements of the step state and of metric sums have no common magnitude: each
 * is its own. Above 1x is a warning, above 10x a failure. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "harness/harness_priv.h"

/* k: how many roundings stand behind one output element beside the sum itself, and how good exp, tanh, ... have to be.
 */
static double constant_of(ct_op op)
{
    switch (op) {
    case CT_OP_BATCHNORM:
    case CT_OP_BATCHNORM_INFER:
    case CT_OP_BATCHNORM_BWD:
    case CT_OP_ACTIVATION:
    case CT_OP_ACTIVATION_BWD:
    case CT_OP_SOFTMAX_XENT:
    case CT_OP_SOFT_MARGIN:
    case CT_OP_SOFT_MARGIN_BWD:
    case CT_OP_LSTM:
    case CT_OP_LSTM_BWD:
    case CT_OP_ARGMAX:
    case CT_OP_ADAMW:
    case CT_OP_SGD: return 4;
    case CT_OP_SOFTMAX_XENT_BWD: /* x - lse loses what lse is larger than the difference */ return 8;
    case CT_OP_LOG_SOFTMAX: /* an exponential per element and a logarithm */
    case CT_OP_LOG_SOFTMAX_BWD:
    case CT_OP_CTC_LOSS: /* three exponentials and a logarithm per state and step */
    case CT_OP_CTC_LOSS_BWD:
    case CT_OP_CTC_GREEDY: return 8;
    case CT_OP_PREPROCESS: /* a chain of some twenty operations per pixel */ return 8;
    default: return 1;
    }
}

/* Factor on that for an implementation without CT_IMPL_EXACT; of those there is Winograd convolution. A y of F(m x m,
 * 3 x 3) is a sum over positions of terms whose typical size, by the squares of the entries of A, G and B (kern_wino.h),
 * is 8.2 times that of the direct sum for m = 4 and 1.7 times for m = 2, in sums that are a ninth as long: 8.2/3 times
 * the error of sums. The roundings of the transforms come on top, at 16 channels about half as much again. For the
 * gradient of the filters, 6.6 times in sums a sixteenth as long, it is less. */
static double inexact_factor(ct_op op)
{
    return op == CT_OP_CONV2D || op == CT_OP_CONV2D_DGRAD || op == CT_OP_CONV2D_WGRAD ? 4 : 1;
}

bool ct_op_exact_on_ints(ct_op op)
{
    switch (op) {
    case CT_OP_CONV2D:
    case CT_OP_CONV2D_DGRAD:
    case CT_OP_CONV2D_WGRAD:
    case CT_OP_LINEAR:
    case CT_OP_LINEAR_DGRAD:
    case CT_OP_LINEAR_WGRAD:
    case CT_OP_BIAS_GRAD:
    case CT_OP_ADD:
    case CT_OP_MUL:
    case CT_OP_ACCUMULATE: /* with the powers of two that the case table uses */
    case CT_OP_MAXPOOL2D_BWD: return true;
    default: return false;
    }
}

/* Operators that only choose or round: equal whatever the data. */
static bool always_exact(ct_op op)
{
    return op == CT_OP_CAST || op == CT_OP_FIT_CHANNELS || op == CT_OP_MAXPOOL2D || op == CT_OP_SWAP;
}

static double rms(const ct_tensor *t)
{
    int64_t n = ct_desc_numel(&t->desc), count = 0;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double v = ct_load(t->desc.dtype, t->data, i);
        if (!isfinite(v)) continue;
        sum += v * v;
        count++;
    }
    return count ? sqrt(sum / (double)count) : 0;
}

/* Typical size of a sum of `n` products of the inputs, for operators whose outputs are such sums; else 0. */
static double typical(const ct_call *host, int output, double n)
{
    switch (host->op) {
    case CT_OP_CONV2D:
    case CT_OP_CONV2D_DGRAD:
    case CT_OP_CONV2D_WGRAD:
    case CT_OP_LINEAR:
    case CT_OP_LINEAR_DGRAD:
    case CT_OP_LINEAR_WGRAD: return sqrt(n) * rms(&host->in[0]) * rms(&host->in[1]);
    case CT_OP_BIAS_GRAD: return sqrt(n) * rms(&host->in[0]);
    case CT_OP_AVGPOOL2D:
    case CT_OP_GLOBAL_AVGPOOL: return rms(&host->in[0]);
    case CT_OP_BATCHNORM: /* mean and running mean: a sum of x; invstd and y have sizes of their own */
        return output == 1 || output == -4 ? rms(&host->in[0]) : 0;
    case CT_OP_BATCHNORM_BWD: /* dgamma, dbeta */
        return output == 1   ? sqrt(n) * rms(&host->in[0]) * (1 + rms(&host->in[1]))
               : output == 2 ? sqrt(n) * rms(&host->in[0])
                             : 0;
    default: return 0;
    }
}

ct_bound ct_tolerance(const ct_call *host, const ct_tensor *want, int output, ct_data data, bool exact)
{
    ct_bound zero = { 0, 0 };
    ct_dtype t = want->desc.dtype, a = ct_accum_dtype(ct_case_dtype(host));
    if (!ct_dtype_is_float(t) || always_exact(host->op)) return zero;
    if (exact && data == CT_DATA_INTS && ct_op_exact_on_ints(host->op)) return zero;
    const ct_op_rules *rules = ct_op_get(host->op)->rules;
    double n = rules->reduction ? (double)rules->reduction(host) : 1;
    double relative = constant_of(host->op) * (exact ? 1 : inexact_factor(host->op)) * sqrt(n) * ct_dtype_eps(a);
    int64_t count = ct_desc_numel(&want->desc);
    bool sums = count == CT_METRIC_COUNT && strcmp(ct_op_get(host->op)->family, "metric") == 0;
    if (t == CT_F64 && want->desc.ndim == 1 && (count == CT_STATE_COUNT || sums))
        return (ct_bound){ 0, relative };
    double magnitude = typical(host, output, n);
    for (int64_t i = 0; i < count; i++) {
        double v = fabs(ct_load(t, want->data, i));
        if (isfinite(v) && v > magnitude) magnitude = v;
    }
    bool narrow = ct_dtype_eps(t) > ct_dtype_eps(a);
    double least = t == CT_F16 ? 0x1p-24 : 0; /* step of f16 below its smallest normal number */
    return (ct_bound){ relative * magnitude + least, narrow ? ct_dtype_eps(t) : 0 };
}

ct_verdict ct_compare(const ct_tensor *got, const ct_tensor *want, ct_bound bound)
{
    ct_verdict v = { .worst = 0, .at = -1 };
    int64_t n = ct_desc_numel(&want->desc);
    for (int64_t i = 0; i < n; i++) {
        double g = ct_load(got->desc.dtype, got->data, i), w = ct_load(want->desc.dtype, want->data, i);
        if (g == w || (isnan(g) && isnan(w))) continue;
        double tolerance = bound.absolute + bound.relative * fabs(w), error = fabs(g - w), worst;
        if (!isfinite(g) || !isfinite(w) || tolerance == 0)
            worst = INFINITY;
        else
            worst = error / tolerance;
        if (worst > v.worst) v = (ct_verdict){ worst, i, g, w, tolerance };
    }
    return v;
}
