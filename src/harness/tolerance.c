/* How far an implementation may be from the reference. One formula:
 *   |got - want| <= k * sqrt(reduction length) * eps(A) * magnitude  +  eps(T) * |want| for 16-bit storage T
 * where A = max(T, f32) is what sums are made in, k and the reduction length come from the operator's rules, and
 * magnitude is max |want| over the tensor, but for sums at least their typical size (sqrt(length) times the typical
 * product, by the rules, too), since a single sum can happen to cancel. Elements of the step state and of metric sums
 * have no common magnitude: each is its own. Where sums of results are given in f64 besides, integers are not exact in them,
 * and those of results of 16 bits may differ by eps(T) * magnitude. Implementations that round transformed operands to T (CT_IMPL_ROUNDS) may add
 * 4 eps(T) * magnitude: Winograd's F(4x4,3x3) weighs roundings of eps(T)/4 (root mean square) with 8, and the largest of many errors is some
 * four times as large. Results and sums below the least normal number of their type may be off
 * by its steps there. Above 1x is a warning, above 10x a failure. */
#include "config.h"

#include <math.h>

#include "harness/harness_priv.h"

#define ROUNDED 4

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

static double typical(const ct_call *host, const ct_op_rules *rules, int output, double n)
{
    double size[CT_MAX_IN] = { 0 };
    if (!rules->typical) return 0;
    for (int i = 0; i < host->nin; i++)
        if (ct_present(&host->in[i])) size[i] = rms(&host->in[i]);
    return rules->typical(output, n, size);
}

/* The distance of numbers below a type's least normal one. */
static double step_below(ct_dtype t)
{
    return t == CT_F16 ? 0x1p-24 : t == CT_BF16 ? 0x1p-133 : t == CT_F64 ? 0x1p-1074 : 0x1p-149;
}

ct_bound ct_tolerance(const ct_call *host, const ct_tensor *want, int output, ct_data data, unsigned flags)
{
    const bool exact = (flags & CT_IMPL_EXACT) != 0;
    ct_bound zero = { 0, 0 };
    ct_dtype t = want->desc.dtype, a = ct_accum_dtype(ct_case_dtype(host));
    const ct_op_rules *rules = ct_op_get(host->op)->rules;
    if (!ct_dtype_is_float(t) || (rules->flags & CT_OPF_CHOOSES)) return zero;
    const bool beside = output > 0 && t == CT_F64 && a != CT_F64;
    if (exact && !beside && data == CT_DATA_INTS && (rules->flags & CT_OPF_EXACT_INTS)) return zero;
    double n = rules->reduction ? (double)rules->reduction(host) : 1;
    double factor = exact || rules->inexact == 0 ? 1 : rules->inexact;
    double relative = rules->roundings * factor * sqrt(n) * ct_dtype_eps(a);
    if (output < 0 && ct_holds_sums(host, -1 - output)) return (ct_bound){ 0, relative };
    int64_t count = ct_desc_numel(&want->desc);
    double magnitude = typical(host, rules, output, n);
    for (int64_t i = 0; i < count; i++) {
        double v = fabs(ct_load(t, want->data, i));
        if (isfinite(v) && v > magnitude) magnitude = v;
    }
    bool narrow = ct_dtype_eps(t) > ct_dtype_eps(a);
    /* below the least normal numbers roundings have one size: the result's, and those of what it is made of */
    const double least = step_below(t) + rules->roundings * factor * sqrt(n) * step_below(a);
    const double rounds = narrow && (flags & CT_IMPL_ROUNDS) ? ROUNDED * ct_dtype_eps(t) : 0;
    const double below = beside && ct_case_dtype(host) != a ? ct_dtype_eps(ct_case_dtype(host)) : 0;
    return (ct_bound){ (relative + rounds + below) * magnitude + least, narrow ? ct_dtype_eps(t) : 0 };
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
