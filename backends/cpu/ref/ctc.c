/* CTC (Graves et al., ICML 2006). The label l of n characters is spread to S = 2n+1 states: a blank before, between and
 * after the characters. A path is in state 0 or 1 at t = 0 and in state S-1 or S-2 at t = len-1; from one step to the
 * next it stays, goes on by one, or by two into a character that differs from the one before. With e(t,s) the
 * log-probability of the class of state s,
 *   a(0,s) = e(0,s) for s < 2,   a(t,s) = e(t,s) + lse(a(t-1,s), a(t-1,s-1), a(t-1,s-2) if allowed)
 *   nll = -lse(a(len-1,S-1), a(len-1,S-2))
 *   b(len-1,s) = 0 for the last two states,   b(t,s) = lse over the same moves s -> r of b(t+1,r) + e(t+1,r)
 * and the occupancy of s at t is exp(a + b) over its sum at t. Both are kept less the greatest of their step: for a the
 * sum of what was taken off comes back in nll, in the occupancy it cancels.
 *
 * With label smoothing e a sample's part of the loss is (1-e) nll + e sum over t < len of the mean over the classes of -log-probability. */
#include "config.h"

#include "backends/cpu/ctc_sample.h"
#include "backends/cpu/ref/ref_util.h"

#include <math.h>

/* One sample. */
typedef struct lattice {
    const ct_call *call;
    int64_t steps, samples, classes, columns; /* T, N, C, L */
    int64_t n;                                /* which sample */
    ct_ctc_sample k;
} lattice;

static ct_status open_lattice(const ct_call *call, int64_t n, lattice *g)
{
    const ct_desc *logp = &call->in[0].desc;
    *g = (lattice){ .call = call, .n = n };
    g->steps = logp->dim[0], g->samples = logp->dim[1], g->classes = logp->dim[2];
    g->columns = call->in[1].desc.dim[1];
    return ct_ctc_sample_open(call, n, &g->k);
}

static double emission(const lattice *g, int64_t t, int64_t s)
{
    return ct_ref_at(&g->call->in[0], (t * g->samples + g->n) * g->classes + ct_ctc_class(&g->k, s));
}

/* Some log-probability that the label needs is NaN: then the sample's nll and gradient are NaN. */
static bool has_nan(const lattice *g)
{
    for (int64_t t = 0; t < g->k.len; t++)
        for (int64_t s = 0; s < g->k.states; s++)
            if (isnan(emission(g, t, s))) return true;
    return false;
}

static double lse3(double a, double b, double c)
{
    double m = fmax(a, fmax(b, c));
    return m == -INFINITY ? m : m + log(exp(a - m) + exp(b - m) + exp(c - m));
}

/* Takes the greatest of n values off all; returns it. -INFINITY: all are, and stay. */
static double shift_down(double *v, int64_t n)
{
    double m = -INFINITY;
    for (int64_t s = 0; s < n; s++) m = fmax(m, v[s]);
    if (m > -INFINITY)
        for (int64_t s = 0; s < n; s++) v[s] -= m;
    return m;
}

static void put_row(const lattice *g, int64_t t, const double *alpha)
{
    int64_t columns = 2 * g->columns + 1, at = (g->n * g->steps + t) * columns;
    for (int64_t s = 0; s < columns; s++)
        ct_ref_put(&g->call->out[2], at + s, alpha && s < g->k.states ? alpha[s] : -INFINITY);
}

/* Forward variables of step t from those of t-1, both [states]. */
static void forward_step(const lattice *g, int64_t t, const double *before, double *alpha)
{
    for (int64_t s = 0; s < g->k.states; s++) {
        alpha[s] = -INFINITY;
        if (s < ct_ctc_first(&g->k, t) || s >= ct_ctc_end(&g->k, t)) continue;
        if (t == 0) {
            alpha[s] = emission(g, t, s);
            continue;
        }
        alpha[s] = emission(g, t, s) + lse3(before[s], s >= 1 ? before[s - 1] : -INFINITY,
                                            ct_ctc_may_skip(&g->k, s) ? before[s - 2] : -INFINITY);
    }
}

static double forward(const lattice *g, double *rows)
{
    double taken = 0;
    double *before = rows, *alpha = rows + 2 * g->columns + 1;
    if (!g->k.possible || has_nan(g)) {
        for (int64_t t = 0; t < g->steps; t++) put_row(g, t, NULL);
        return g->k.possible ? NAN : INFINITY;
    }
    for (int64_t t = 0; t < g->k.len; t++) {
        forward_step(g, t, before, alpha);
        taken += shift_down(alpha, g->k.states);
        put_row(g, t, alpha);
        double *other = before;
        before = alpha;
        alpha = other;
    }
    for (int64_t t = g->k.len; t < g->steps; t++) put_row(g, t, NULL);
    double nll =
        -(taken + lse3(before[g->k.states - 1], g->k.states > 1 ? before[g->k.states - 2] : -INFINITY, -INFINITY));
    if (nll == INFINITY)
        for (int64_t t = 0; t < g->k.len; t++) put_row(g, t, NULL);
    return nll;
}

/* What smoothing adds of a sample, before it is weighted. */
static double spread(const lattice *g)
{
    double sum = 0;
    for (int64_t t = 0; t < g->k.len; t++)
        for (int64_t c = 0; c < g->classes; c++) sum -= ct_ref_at(&g->call->in[0], (t * g->samples + g->n) * g->classes + c);
    return sum / (double)g->classes;
}

static ct_accept accept_ctc(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    if (!ct_dtype_is_float(call->in[0].desc.dtype)) return ct_accept_no("log-probabilities are not floating point");
    if (call->in[1].desc.dtype != CT_I32) return ct_accept_no("targets are not i32");
    return ct_accept_yes((3 * (2 * (size_t)call->in[1].desc.dim[1] + 1) + (size_t)call->in[0].desc.dim[2]) *
                         sizeof(double));
}

static ct_status ctc_loss(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    int64_t samples = call->in[0].desc.dim[1];
    const double smoothing = call->attrs.loss.smoothing;
    double total = 0;
    for (int64_t n = 0; n < samples; n++) {
        lattice g;
        CT_TRY(open_lattice(call, n, &g));
        double nll = forward(&g, scratch);
        ct_ref_put(&call->out[1], n, nll);
        if (nll != INFINITY) total += smoothing > 0 ? (1 - smoothing) * nll + smoothing * spread(&g) : nll;
    }
    ct_ref_put(&call->out[0], 0, total / (double)samples);
    return CT_OK;
}

/* Backward variables of step t from those of t+1, both [states]. */
static void backward_step(const lattice *g, int64_t t, const double *after, double *beta)
{
    for (int64_t s = 0; s < g->k.states; s++) {
        if (t == g->k.len - 1) {
            beta[s] = s >= g->k.states - 2 ? 0 : -INFINITY;
            continue;
        }
        double move[3] = { -INFINITY, -INFINITY, -INFINITY };
        for (int64_t r = s; r <= s + 2 && r < g->k.states; r++)
            if (r < s + 2 || ct_ctc_may_skip(&g->k, r)) move[r - s] = after[r] + emission(g, t + 1, r);
        beta[s] = lse3(move[0], move[1], move[2]);
    }
}

/* dlogp of step t, [classes], from the occupancies. */
static void occupancy(const lattice *g, int64_t t, const double *beta, double factor, double *sum, double *dlogp)
{
    int64_t at = (g->n * g->steps + t) * (2 * g->columns + 1);
    double total = 0;
    for (int64_t s = 0; s < g->k.states; s++) sum[s] = ct_ref_at(&g->call->in[4], at + s) + beta[s];
    shift_down(sum, g->k.states);
    for (int64_t s = 0; s < g->k.states; s++) total += exp(sum[s]);
    for (int64_t s = 0; s < g->k.states; s++) dlogp[ct_ctc_class(&g->k, s)] -= factor * exp(sum[s]) / total;
}

static void backward(const lattice *g, double nll, double factor, double *scratch)
{
    int64_t columns = 2 * g->columns + 1;
    double *after = scratch, *beta = after + columns, *sum = beta + columns, *dlogp = sum + columns;
    const double smoothing = g->call->attrs.loss.smoothing, even = smoothing > 0 ? -factor * smoothing / (double)g->classes : 0;
    for (int64_t t = g->steps - 1; t >= 0; t--) {
        bool inside = t < g->k.len && nll != INFINITY;
        for (int64_t k = 0; k < g->classes; k++) dlogp[k] = !inside ? 0 : isnan(nll) ? NAN : even;
        if (inside && !isnan(nll)) {
            backward_step(g, t, after, beta);
            shift_down(beta, g->k.states);
            occupancy(g, t, beta, (1 - smoothing) * factor, sum, dlogp);
            double *other = after;
            after = beta;
            beta = other;
        }
        ct_ref_store(&g->call->out[0], (t * g->samples + g->n) * g->classes, g->classes, dlogp);
    }
}

static ct_status ctc_loss_bwd(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    int64_t samples = call->in[0].desc.dim[1];
    double factor = ct_ref_at(&call->in[5], 0) / (double)samples;
    for (int64_t n = 0; n < samples; n++) {
        lattice g;
        CT_TRY(open_lattice(call, n, &g));
        backward(&g, ct_ref_at(&call->in[3], n), factor, scratch);
    }
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_CTC_LOSS, "ref", CT_REF_FLAGS, accept_ctc, ctc_loss },
    { CT_OP_CTC_LOSS_BWD, "ref", CT_REF_FLAGS, accept_ctc, ctc_loss_bwd },
};
const ct_impl_set ct_ref_ctc_impls = CT_IMPL_SET(impls);
