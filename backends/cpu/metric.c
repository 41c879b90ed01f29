/* ctc_greedy: samples over the threads. */
#include "config.h"

#include "backends/cpu/cpu.h"

#include <inttypes.h>
#include <math.h>

typedef struct greedy {
    const float *logp;   /* [T,N,C] */
    const int32_t *lens; /* [N]; NULL: all T */
    int64_t steps, samples, classes;
    int32_t *pred; /* [N,T] */
    float *conf;   /* [N,T] */
} greedy;

#define LANES 16 /* values that do not wait for each other */

/* First maximum of n values; a NaN is none, but in front. */
static int64_t first_max(const float *x, int64_t n)
{
    float lane[LANES], top = x[0];
    int64_t k = 0;
    for (int i = 0; i < LANES; i++) lane[i] = x[0];
    for (; k + LANES <= n; k += LANES)
        for (int i = 0; i < LANES; i++) lane[i] = x[k + i] > lane[i] ? x[k + i] : lane[i];
    for (int i = 0; i < LANES; i++) top = lane[i] > top ? lane[i] : top;
    for (; k < n; k++) top = x[k] > top ? x[k] : top;
    for (k = 0; k + LANES <= n; k += LANES) {
        int32_t here = 0;
        for (int i = 0; i < LANES; i++) here |= x[k + i] == top;
        if (here) break;
    }
    while (k < n && x[k] != top) k++;
    return k < n ? k : 0;
}

static void greedy_item(void *arg, int64_t n, int thread)
{
    (void)thread;
    const greedy *g = arg;
    const int64_t len = g->lens ? g->lens[n] : g->steps;
    int32_t *pred = g->pred + n * g->steps;
    float *conf = g->conf + n * g->steps;
    int64_t count = 0, before = 0;
    for (int64_t t = 0; t < len; t++) {
        const float *x = g->logp + (t * g->samples + n) * g->classes;
        const int64_t best = first_max(x, g->classes);
        if (best != 0 && best != before) {
            pred[count] = (int32_t)(best - 1);
            conf[count++] = x[best]; /* the logarithm until the end of the run */
        } else if (best != 0 && x[best] > conf[count - 1]) {
            conf[count - 1] = x[best];
        }
        before = best;
    }
    for (int64_t i = 0; i < count; i++) conf[i] = expf(conf[i]);
    for (; count < g->steps; count++) pred[count] = -1, conf[count] = 0;
}

static ct_accept ctc_greedy_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    if (c->in[0].desc.dtype != CT_F32) return ct_accept_no("cpu: only f32; the reference takes the rest");
    return ct_accept_yes(0);
}

static ct_status ctc_greedy_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    const int64_t *d = c->in[0].desc.dim;
    greedy g = { .logp = c->in[0].data, .steps = d[0], .samples = d[1], .classes = d[2] };
    g.lens = ct_present(&c->in[1]) ? c->in[1].data : NULL;
    g.pred = c->out[0].data;
    g.conf = c->out[1].data;
    for (int64_t n = 0; g.lens && n < g.samples; n++)
        if (g.lens[n] < 1 || g.lens[n] > g.steps)
            return ct_fail(CT_EDATA,
                           "ctc_greedy: sample %" PRId64 " of the batch has %" PRId32 " time steps, not 1 to %" PRId64,
                           n, g.lens[n], g.steps);
    ct_cpu_for(dev, g.samples, greedy_item, &g);
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_CTC_GREEDY, "cpu.vector", CT_CPU_TUNED, ctc_greedy_accept, ctc_greedy_run },
};
const ct_impl_set ct_cpu_metric_impls = CT_IMPL_SET(impls);
