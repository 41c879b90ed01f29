/* distill, distill_bwd: rows, which are steps of samples, over the threads. The rows' divergences are added up in order. */
#include "config.h"

#include "backends/cpu/cpu.h"

#include <string.h>

#define PIECE 4096 /* least scores of a piece: some microseconds */

typedef struct distill {
    const ct_kern *kern;
    const ct_call *call;
    ct_pieces pieces; /* of rows */
    int64_t rows, cols, samples;
    float inv; /* 1/temperature */
    float g;   /* backward: what every row's gradient is multiplied by */
} distill;

/* Whether the step of this row is one that its sample has. */
static bool counts(const distill *g, int64_t row)
{
    const int32_t *len = g->call->in[2].data;
    return !ct_present(&g->call->in[2]) || row / g->samples < len[row % g->samples];
}

static double steps_that_count(const distill *g)
{
    const int32_t *len = g->call->in[2].data;
    double n = 0;
    if (!ct_present(&g->call->in[2])) return (double)g->rows;
    for (int64_t i = 0; i < g->samples; i++) n += len[i];
    return n;
}

static void forward_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const distill *g = arg;
    const int64_t end = ct_min64(g->rows, (item + 1) * g->pieces.size), first = g->call->attrs.distill.first;
    const float *s = g->call->in[0].data, *t = g->call->in[1].data;
    float *kl = g->call->out[1].data;
    for (int64_t r = item * g->pieces.size; r < end; r++) {
        const int64_t at = r * g->cols + first;
        kl[r] = counts(g, r) ? (float)g->kern->soft->distill(g->cols - first, g->inv, s + at, t + at) : 0;
    }
}

static void backward_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const distill *g = arg;
    const int64_t end = ct_min64(g->rows, (item + 1) * g->pieces.size), first = g->call->attrs.distill.first;
    const float *s = g->call->in[0].data, *t = g->call->in[1].data, *kl = g->call->in[3].data;
    float *out[2] = { g->call->out[0].data, g->call->attrs.distill.detach ? NULL : g->call->out[1].data };
    for (int64_t r = item * g->pieces.size; r < end; r++) {
        const int64_t at = r * g->cols;
        const bool count = counts(g, r);
        for (int i = 0; i < 2; i++)
            if (out[i]) memset(out[i] + at, 0, (size_t)(count ? first : g->cols) * sizeof(float));
        if (count)
            g->kern->soft->distill_bwd(g->cols - first, g->inv, g->g, kl[r], s + at + first, t + at + first,
                                       out[0] + at + first, out[1] ? out[1] + at + first : NULL);
    }
}

static distill make(const ct_device *dev, const ct_call *c)
{
    const ct_desc *d = &c->in[0].desc;
    distill g = { .kern = dev->kern, .call = c, .cols = d->dim[2], .samples = d->dim[1] };
    g.rows = d->dim[0] * d->dim[1];
    g.pieces = ct_cpu_pieces(g.rows, 1, ct_ceil_div(PIECE, g.cols));
    g.inv = (float)(1 / c->attrs.distill.temperature);
    return g;
}

static ct_accept accept_f32(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    if (c->in[0].desc.dtype != CT_F32) return ct_accept_no("cpu: only f32; the reference takes the rest");
    return ct_accept_yes(0);
}

static ct_status distill_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    distill g = make(dev, c);
    const float *kl = c->out[1].data;
    const double tau = c->attrs.distill.temperature;
    double total = 0;
    ct_cpu_for(dev, g.pieces.count, forward_item, &g);
    for (int64_t r = 0; r < g.rows; r++) total += (double)kl[r];
    *(float *)c->out[0].data = (float)(tau * tau * total / steps_that_count(&g));
    return CT_OK;
}

static ct_status distill_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    distill g = make(dev, c);
    g.g = (float)((double)*(const float *)c->in[4].data * c->attrs.distill.temperature / steps_that_count(&g));
    ct_cpu_for(dev, g.pieces.count, backward_item, &g);
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_DISTILL, "cpu.vector", CT_CPU_TUNED, accept_f32, distill_run },
    { CT_OP_DISTILL_BWD, "cpu.vector", CT_CPU_TUNED, accept_f32, distill_bwd_run },
};
const ct_impl_set ct_cpu_distill_impls = CT_IMPL_SET(impls);
