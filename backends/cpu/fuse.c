/* fuse_weighted and its gradient: one pass over memory, cut into pieces; the gradient's sums of each piece are added up in
 * order. 16-bit tensors go through small f32 buffers. */
#include "config.h"

#include "backends/cpu/cpu.h"

#include "ops/math/fuse_math.h"

#define BUF 1024    /* elements converted at a time */
#define PIECE 65536 /* least elements of a piece: below this, waking other threads costs more than it saves */

typedef struct fuse {
    const ct_kern *kern;
    const ct_call *call;
    ct_pieces pieces;
    int64_t n, step;      /* elements; those that a kernel takes at once */
    ct_fuse_shares share;
    double *sum;          /* backward: [pieces][2] */
} fuse;

/* Elements i.. of a tensor as f32. */
static const float *in_at(const fuse *g, int input, int64_t i, int64_t n, float *buf)
{
    const ct_tensor *t = &g->call->in[input];
    return ct_cpu_read(g->kern, t->desc.dtype, t->data, i, n, buf);
}

static float *out_at(const fuse *g, int output, int64_t i, float *buf)
{
    const ct_tensor *t = &g->call->out[output];
    return ct_cpu_write(t->desc.dtype, t->data, i, buf);
}

static void out_end(const fuse *g, int output, int64_t i, int64_t n, const float *buf)
{
    const ct_tensor *t = &g->call->out[output];
    ct_cpu_write_end(g->kern, t->desc.dtype, t->data, i, n, buf);
}

static void forward_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const fuse *g = arg;
    const int64_t end = ct_min64(g->n, (item + 1) * g->pieces.size);
    float buf[2][BUF];
    for (int64_t i = item * g->pieces.size; i < end; i += g->step) {
        const int64_t n = ct_min64(g->step, end - i);
        const float *a = in_at(g, 0, i, n, buf[0]), *b = in_at(g, 1, i, n, buf[1]);
        float *y = out_at(g, 0, i, buf[0]);
        g->kern->element->blend(n, (float)g->share.a, a, (float)g->share.b, b, y);
        out_end(g, 0, i, n, y);
    }
}

static void backward_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const fuse *g = arg;
    const int64_t end = ct_min64(g->n, (item + 1) * g->pieces.size);
    float buf[3][BUF];
    double sum[2] = { 0, 0 };
    for (int64_t i = item * g->pieces.size; i < end; i += g->step) {
        const int64_t n = ct_min64(g->step, end - i);
        const float *dy = in_at(g, 0, i, n, buf[0]), *a = in_at(g, 1, i, n, buf[1]), *b = in_at(g, 2, i, n, buf[2]);
        float *da = out_at(g, 0, i, buf[1]), *db = out_at(g, 1, i, buf[2]);
        g->kern->sum->blend_bwd(n, (float)g->share.a, (float)g->share.b, dy, a, b, da, db, sum);
        out_end(g, 0, i, n, da);
        out_end(g, 1, i, n, db);
    }
    g->sum[2 * item] = sum[0];
    g->sum[2 * item + 1] = sum[1];
}

static fuse make(const ct_device *dev, const ct_call *c)
{
    fuse g = { .kern = dev->kern, .call = c, .n = ct_desc_numel(&c->in[0].desc) };
    g.pieces = ct_cpu_pieces(g.n, BUF, PIECE);
    g.step = c->in[0].desc.dtype == CT_F32 ? g.pieces.size : BUF;
    return g;
}

static ct_accept fuse_weighted_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return ct_cpu_type(c->in[0].desc.dtype) ? ct_accept_yes(0) : ct_accept_no(CT_CPU_NO_TYPE);
}

static ct_status fuse_weighted_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    fuse g = make(dev, c);
    const float *w = c->in[2].data;
    g.share = ct_fuse_shares_of((double)w[0], (double)w[1]);
    ct_cpu_for(dev, g.pieces.count, forward_item, &g);
    return CT_OK;
}

static ct_accept fuse_weighted_bwd_accept(const ct_device *dev, const ct_call *c)
{
    if (!ct_cpu_type(c->in[0].desc.dtype)) return ct_accept_no(CT_CPU_NO_TYPE);
    return ct_accept_yes((size_t)make(dev, c).pieces.count * 2 * sizeof(double));
}

static ct_status fuse_weighted_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    fuse g = make(dev, c);
    const float *w = c->in[3].data;
    float *dw = c->out[2].data;
    double a = 0, b = 0;
    g.share = ct_fuse_shares_of((double)w[0], (double)w[1]);
    g.sum = scratch;
    ct_cpu_for(dev, g.pieces.count, backward_item, &g);
    for (int64_t i = 0; i < g.pieces.count; i++) {
        a += g.sum[2 * i];
        b += g.sum[2 * i + 1];
    }
    const ct_fuse_shares d = ct_fuse_gradient((double)w[0], (double)w[1], a, b);
    dw[0] = (float)d.a;
    dw[1] = (float)d.b;
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_FUSE_WEIGHTED, "cpu.vector", CT_CPU_TUNED, fuse_weighted_accept, fuse_weighted_run },
    { CT_OP_FUSE_WEIGHTED_BWD, "cpu.vector", CT_CPU_TUNED, fuse_weighted_bwd_accept, fuse_weighted_bwd_run },
};
const ct_impl_set ct_cpu_fuse_impls = CT_IMPL_SET(impls);
