/* ctc_loss, ctc_loss_bwd: samples over the threads, states over the lanes of a vector. The formulas stand in
 * backends/cpu/ref/ctc.c. The lattice is walked in double, so that the length of a sequence costs no accuracy; what is
 * impossible is LOW there instead of -infinity, whose differences would be NaN. */
#include "config.h"

#include "backends/cpu/cpu.h"
#include "backends/cpu/ctc_sample.h"

#include <math.h>
#include <string.h>

#define LOW (-1e30)  /* logarithm of what is impossible */
#define NONE (-1e29) /* anything below came from LOW */

/* What one thread works with; arrays of doubles but for the classes. */
typedef struct room {
    int32_t *classes; /* [S] class of a state */
    double *skip;     /* [P+2] 0 where a path may come from two states before, else LOW; LOW from S on */
    double *row[2];   /* [P], LOW in the two places before and behind */
    double *emit;     /* [P] log-probabilities of the states at a step, LOW outside the band and from S on */
    double *weight;   /* [P] */
    double *sums;     /* [C] of log-probabilities, with smoothing */
} room;

typedef struct ctc {
    const ct_kern *kern;
    const ct_call *call;
    int64_t steps, samples, classes, columns; /* T, N, C, L */
    int64_t padded;                           /* P: 2L+1 rounded up to whole vectors */
    char *scratch;
    size_t per_thread; /* bytes of scratch */
    double smoothing;
    double *spread; /* [N] what smoothing adds of a sample, before it is weighted; behind the threads' scratch */
} ctc;

/* Sums of classes that a thread has room for. */
static int64_t sums_of(const ctc *g) { return g->smoothing > 0 && g->call->op == CT_OP_CTC_LOSS ? g->classes : 0; }

static size_t carve(room *w, int64_t padded, int64_t sums, char *base)
{
    ct_carve c = { .base = base };
    const size_t row = (size_t)(padded + 4) * sizeof(double);
    w->classes = ct_carve_take(&c, (size_t)padded * sizeof(int32_t));
    w->skip = ct_carve_take(&c, row);
    for (int i = 0; i < 2; i++) w->row[i] = ct_carve_take(&c, row);
    w->emit = ct_carve_take(&c, row);
    w->weight = ct_carve_take(&c, row);
    w->sums = ct_carve_take(&c, (size_t)sums * sizeof(double));
    if (base)
        for (int i = 0; i < 2; i++) w->row[i] += 2;
    return c.used;
}

static ctc plan(const ct_device *dev, const ct_call *call, char *scratch)
{
    const int64_t *d = call->in[0].desc.dim;
    room w;
    ctc g = { .kern = dev->kern, .call = call, .steps = d[0], .samples = d[1], .classes = d[2], .scratch = scratch };
    g.columns = call->in[1].desc.dim[1];
    g.padded = ct_round_up(2 * g.columns + 1, dev->kern->vl / 2);
    g.smoothing = call->attrs.loss.smoothing;
    g.per_thread = carve(&w, g.padded, sums_of(&g), NULL);
    if (scratch) g.spread = (double *)(void *)(scratch + (size_t)dev->threads * g.per_thread);
    return g;
}

static void clear_row(const ctc *g, double *row)
{
    for (int64_t s = -2; s < g->padded + 2; s++) row[s] = LOW;
}

static room open_room(const ctc *g, const ct_ctc_sample *k, int thread)
{
    room w;
    carve(&w, g->padded, sums_of(g), g->scratch + (size_t)thread * g->per_thread);
    for (int64_t s = 0; s < k->states; s++) w.classes[s] = (int32_t)ct_ctc_class(k, s);
    for (int64_t s = 0; s < g->padded + 2; s++) w.skip[s] = s < k->states && ct_ctc_may_skip(k, s) ? 0 : LOW;
    for (int64_t s = 0; s < g->padded; s++) w.emit[s] = LOW;
    for (int i = 0; i < 2; i++) clear_row(g, w.row[i]);
    return w;
}

/* Log-probabilities of the states at step t of sample n. False: one is NaN. */
static bool gather(const ctc *g, const ct_ctc_sample *k, const room *w, int64_t n, int64_t t)
{
    const float *logp = (const float *)g->call->in[0].data + (t * g->samples + n) * g->classes;
    const int64_t first = ct_ctc_first(k, t), end = ct_ctc_end(k, t);
    bool numbers = true;
    for (int64_t s = 0; s < k->states; s++) {
        const double v = (double)logp[w->classes[s]];
        numbers = numbers && !isnan(v);
        w->emit[s] = s < first || s >= end || v < LOW ? LOW : v;
    }
    return numbers;
}

static void fill_alpha(float *alpha, int64_t n)
{
    for (int64_t i = 0; i < n; i++) alpha[i] = -INFINITY;
}

static double spread(const ctc *g, const ct_ctc_sample *k, int64_t n, double *sums)
{
    double sum = 0;
    memset(sums, 0, (size_t)g->classes * sizeof *sums);
    g->kern->sum->columns(k->len, g->classes, g->samples * g->classes, (const float *)g->call->in[0].data + n * g->classes, sums);
    for (int64_t c = 0; c < g->classes; c++) sum -= sums[c];
    return sum / (double)g->classes;
}

static void forward_item(void *arg, int64_t n, int thread)
{
    const ctc *g = arg;
    const int64_t columns = 2 * g->columns + 1;
    float *nll = (float *)g->call->out[1].data + n;
    float *alpha = (float *)g->call->out[2].data + n * g->steps * columns;
    ct_ctc_sample k;
    fill_alpha(alpha, g->steps * columns);
    *nll = INFINITY;
    if (ct_ctc_sample_open(g->call, n, &k) != CT_OK || !k.possible) return;
    const room w = open_room(g, &k, thread);
    double *before = w.row[0], *after = w.row[1];
    bool numbers = true;
    before[0] = 0; /* from here step 0 reaches states 0 and 1 */
    for (int64_t t = 0; t < k.len; t++) {
        numbers = gather(g, &k, &w, n, t) && numbers;
        const double top = g->kern->ctc->step(g->padded, before, before - 1, before - 2, w.skip, w.emit, after);
        for (int64_t s = 0; s < k.states; s++)
            if (after[s] > NONE) alpha[t * columns + s] = (float)(after[s] - top);
        double *other = before;
        before = after;
        after = other;
    }
    const double a = before[k.states - 1], b = k.states > 1 ? before[k.states - 2] : LOW;
    const double high = a > b ? a : b, low = a > b ? b : a;
    if (!numbers)
        *nll = NAN;
    else if (high > NONE)
        *nll = (float)-(high + log1p(exp(low - high)));
    if (!numbers || high <= NONE) fill_alpha(alpha, k.len * columns);
    if (g->smoothing > 0) g->spread[n] = spread(g, &k, n, w.sums);
}

static void backward_item(void *arg, int64_t n, int thread)
{
    const ctc *g = arg;
    const int64_t columns = 2 * g->columns + 1;
    const double all = (double)*(const float *)g->call->in[5].data / (double)g->samples, factor = (1 - g->smoothing) * all;
    const float even = g->smoothing > 0 ? (float)(-all * g->smoothing / (double)g->classes) : 0;
    const float nll = ((const float *)g->call->in[3].data)[n];
    const float *alpha = (const float *)g->call->in[4].data + n * g->steps * columns;
    float *dlogp = (float *)g->call->out[0].data + n * g->classes;
    const int64_t stride = g->samples * g->classes;
    ct_ctc_sample k;
    const bool valid = ct_ctc_sample_open(g->call, n, &k) == CT_OK;
    for (int64_t t = 0; t < g->steps; t++)
        for (int64_t c = 0; c < g->classes; c++)
            dlogp[t * stride + c] = !valid || t >= k.len || nll == INFINITY ? 0 : isnan(nll) ? nll : even;
    if (!valid || isnan(nll) || nll == INFINITY) return;
    const room w = open_room(g, &k, thread);
    double *after = w.row[0], *now = w.row[1];
    after[k.states - 1] = 0; /* from here the last step reaches the last two states */
    for (int64_t t = k.len - 1; t >= 0; t--) {
        gather(g, &k, &w, n, t);
        /* a row holds backward variable + log-probability */
        g->kern->ctc->step(g->padded, after, after + 1, after + 2, w.skip + 2, w.emit, now);
        for (int64_t s = 0; s < g->padded; s++) {
            const double a = s < k.states ? (double)alpha[t * columns + s] : LOW;
            w.weight[s] = (a < LOW ? LOW : a) + (now[s] - w.emit[s]);
        }
        const double sum = g->kern->ctc->weights(g->padded, w.weight);
        for (int64_t s = 0; s < k.states; s++) dlogp[t * stride + w.classes[s]] -= (float)(factor * w.weight[s] / sum);
        double *other = after;
        after = now;
        now = other;
    }
}

static ct_accept accept_f32(const ct_device *dev, const ct_call *c)
{
    if (c->in[0].desc.dtype != CT_F32) return ct_accept_no("cpu: only f32; the reference takes the rest");
    const ctc g = plan(dev, c, NULL);
    return ct_accept_yes((size_t)dev->threads * g.per_thread + (sums_of(&g) > 0 ? (size_t)g.samples * sizeof(double) : 0));
}

/* The first sample that is not valid, before threads start. */
static ct_status check_samples(const ct_call *c)
{
    ct_ctc_sample k;
    for (int64_t n = 0; n < c->in[0].desc.dim[1]; n++) CT_TRY(ct_ctc_sample_open(c, n, &k));
    return CT_OK;
}

static ct_accept ctc_loss_accept(const ct_device *dev, const ct_call *c) { return accept_f32(dev, c); }

static ct_status ctc_loss_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    ctc g = plan(dev, c, scratch);
    const float *nll = c->out[1].data;
    double total = 0;
    CT_TRY(check_samples(c));
    ct_cpu_for(dev, g.samples, forward_item, &g);
    for (int64_t n = 0; n < g.samples; n++)
        if (nll[n] != INFINITY)
            total += g.smoothing > 0 ? (1 - g.smoothing) * (double)nll[n] + g.smoothing * g.spread[n] : (double)nll[n];
    *(float *)c->out[0].data = (float)(total / (double)g.samples);
    return CT_OK;
}

static ct_accept ctc_loss_bwd_accept(const ct_device *dev, const ct_call *c) { return accept_f32(dev, c); }

static ct_status ctc_loss_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    ctc g = plan(dev, c, scratch);
    CT_TRY(check_samples(c));
    ct_cpu_for(dev, g.samples, backward_item, &g);
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_CTC_LOSS, "cpu.vector", CT_CPU_TUNED, ctc_loss_accept, ctc_loss_run },
    { CT_OP_CTC_LOSS_BWD, "cpu.vector", CT_CPU_TUNED, ctc_loss_bwd_accept, ctc_loss_bwd_run },
};
const ct_impl_set ct_cpu_ctc_impls = CT_IMPL_SET(impls);
