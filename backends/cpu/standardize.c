/* standardize, standardize_bwd: a thread takes a sample, so that its sums have one order whatever the number of threads.
 * Sums run in f32 over short pieces and in f64 from there on. The mean is taken first, against the sample's first element,
 * which leaves nothing of a constant picture, and the variance against the mean. 16-bit tensors pass through f32 blocks on the stack. */
#include "config.h"

#include <math.h>

#include "backends/cpu/cpu.h"

#define BLOCK 2048 /* elements of a sample at a time: read, and in 16 bits on the stack; a multiple of what the kernels sum in f32 */

typedef struct samples {
    const ct_kern *kern;
    const ct_call *call;
    int64_t count, size; /* samples, and elements of each */
} samples;

/* Sums of x - shift and of its square over sample m. */
static void moments(const samples *g, int64_t m, float shift, double sum[2])
{
    const ct_tensor *x = &g->call->in[0];
    float buf[BLOCK];
    sum[0] = sum[1] = 0;
    for (int64_t i = 0; i < g->size; i += BLOCK) {
        const int64_t n = ct_min64(BLOCK, g->size - i);
        const float *v = ct_cpu_read(g->kern, x->desc.dtype, x->data, m * g->size + i, n, buf);
        g->kern->standardize->moments(n, v, shift, sum);
    }
}

static void forward_item(void *arg, int64_t m, int thread)
{
    (void)thread;
    const samples *g = arg;
    const ct_tensor *x = &g->call->in[0], *y = &g->call->out[0];
    const double size = (double)g->size;
    float first[1], buf[BLOCK];
    double sum[2];
    const float shift = *ct_cpu_read(g->kern, x->desc.dtype, x->data, m * g->size, 1, first);
    moments(g, m, shift, sum);
    const float about = (float)((double)shift + sum[0] / size);
    moments(g, m, about, sum);
    double square = sum[1] - sum[0] * (sum[0] / size); /* sum of (x - mean)^2 */
    if (square < 0) square = 0; /* NaN stays */
    const float mean[2] = { about, (float)(sum[0] / size) };
    const float invstd = (float)(1 / sqrt(square / size + g->call->attrs.norm.eps));
    ((float *)g->call->out[1].data)[m] = invstd;
    for (int64_t i = 0; i < g->size; i += BLOCK) {
        const int64_t n = ct_min64(BLOCK, g->size - i), at = m * g->size + i;
        const float *v = ct_cpu_read(g->kern, x->desc.dtype, x->data, at, n, buf);
        float *out = ct_cpu_write(y->desc.dtype, y->data, at, buf);
        g->kern->standardize->apply(n, v, mean, invstd, out);
        ct_cpu_write_end(g->kern, y->desc.dtype, y->data, at, n, out);
    }
}

static void backward_item(void *arg, int64_t m, int thread)
{
    (void)thread;
    const samples *g = arg;
    const ct_tensor *dy = &g->call->in[0], *y = &g->call->in[1], *dx = &g->call->out[0];
    const float invstd = ((const float *)g->call->in[2].data)[m];
    float buf[2][BLOCK];
    double sum[2] = { 0, 0 };
    for (int64_t i = 0; i < g->size; i += BLOCK) {
        const int64_t n = ct_min64(BLOCK, g->size - i), at = m * g->size + i;
        const float *d = ct_cpu_read(g->kern, dy->desc.dtype, dy->data, at, n, buf[0]);
        const float *v = ct_cpu_read(g->kern, y->desc.dtype, y->data, at, n, buf[1]);
        g->kern->standardize->bwd_sums(n, d, v, sum);
    }
    const float mean = (float)(sum[0] / (double)g->size), along = (float)(sum[1] / (double)g->size);
    for (int64_t i = 0; i < g->size; i += BLOCK) {
        const int64_t n = ct_min64(BLOCK, g->size - i), at = m * g->size + i;
        const float *d = ct_cpu_read(g->kern, dy->desc.dtype, dy->data, at, n, buf[0]);
        const float *v = ct_cpu_read(g->kern, y->desc.dtype, y->data, at, n, buf[1]);
        float *out = ct_cpu_write(dx->desc.dtype, dx->data, at, buf[0]);
        g->kern->standardize->bwd_apply(n, d, v, mean, along, invstd, out);
        ct_cpu_write_end(g->kern, dx->desc.dtype, dx->data, at, n, out);
    }
}

static ct_accept standardize_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return ct_cpu_type(c->in[0].desc.dtype) ? ct_accept_yes(0) : ct_accept_no(CT_CPU_NO_TYPE);
}

static ct_status run_samples(const ct_device *dev, const ct_call *c, ct_cpu_body body)
{
    const ct_desc *x = &c->in[0].desc;
    samples g = { .kern = dev->kern, .call = c, .count = x->dim[0], .size = ct_desc_numel(x) / x->dim[0] };
    ct_cpu_for(dev, g.count, body, &g);
    return CT_OK;
}

static ct_status standardize_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    return run_samples(dev, c, forward_item);
}

static ct_status standardize_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    return run_samples(dev, c, backward_item);
}

static const ct_impl impls[] = {
    { CT_OP_STANDARDIZE, "cpu.vector", CT_CPU_TUNED, standardize_accept, standardize_run },
    { CT_OP_STANDARDIZE_BWD, "cpu.vector", CT_CPU_TUNED, standardize_accept, standardize_bwd_run },
};
const ct_impl_set ct_cpu_standardize_impls = CT_IMPL_SET(impls);
