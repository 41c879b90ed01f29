/* log_softmax, log_softmax_bwd: rows over the threads. */
#include "config.h"

#include "backends/cpu/cpu.h"

#define PIECE 8192 /* least elements of a piece: some microseconds */

typedef struct soft {
    const ct_kern *kern;
    const ct_call *call;
    ct_pieces pieces; /* of rows */
    int64_t rows, cols;
} soft;

static void soft_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const soft *g = arg;
    const int64_t end = ct_min64(g->rows, (item + 1) * g->pieces.size);
    const float *a = g->call->in[0].data, *b = g->call->in[1].data;
    float *out = g->call->out[0].data;
    for (int64_t r = item * g->pieces.size; r < end; r++) {
        const int64_t at = r * g->cols;
        if (g->call->op == CT_OP_LOG_SOFTMAX)
            g->kern->soft->log_softmax(g->cols, a + at, out + at);
        else
            g->kern->soft->log_softmax_bwd(g->cols, a + at, b + at, out + at);
    }
}

static ct_accept accept_f32(const ct_call *c)
{
    if (c->in[0].desc.dtype != CT_F32) return ct_accept_no("cpu: only f32; the reference takes the rest");
    return ct_accept_yes(0);
}

static ct_status run(ct_device *dev, const ct_call *c)
{
    const ct_desc *d = &c->in[0].desc;
    soft g = { .kern = dev->kern, .call = c, .cols = d->dim[d->ndim - 1] };
    g.rows = ct_desc_numel(d) / g.cols;
    g.pieces = ct_cpu_pieces(g.rows, 1, ct_ceil_div(PIECE, g.cols));
    ct_cpu_for(dev, g.pieces.count, soft_item, &g);
    return CT_OK;
}

static ct_accept log_softmax_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_f32(c);
}

static ct_status log_softmax_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    return run(dev, c);
}

static ct_accept log_softmax_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_f32(c);
}

static ct_status log_softmax_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    return run(dev, c);
}

static const ct_impl impls[] = {
    { CT_OP_LOG_SOFTMAX, "cpu.vector", CT_CPU_TUNED, log_softmax_accept, log_softmax_run },
    { CT_OP_LOG_SOFTMAX_BWD, "cpu.vector", CT_CPU_TUNED, log_softmax_bwd_accept, log_softmax_bwd_run },
};
const ct_impl_set ct_cpu_softmax_impls = CT_IMPL_SET(impls);
