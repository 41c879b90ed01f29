/* Batch norms over the batch of a whole group: batchnorm_moments, its gradient, and that of batchnorm_joint, by the passes of norm.c. */
#include "config.h"

#include "backends/cpu/norm.h"

#include <math.h>

typedef struct moments {
    ct_norm norm;
    double *sum; /* [2,C] */
} moments;

static void moments_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const moments *m = arg;
    const ct_norm *g = &m->norm;
    const int64_t c0 = item * CT_NORM_CHANNELS, count = ct_min64(CT_NORM_CHANNELS, g->cols - c0);
    double mean[CT_NORM_CHANNELS], m2[CT_NORM_CHANNELS], *sum = m->sum + c0, *square = sum + g->cols;
    ct_norm_join_pieces(g, c0, count, mean, m2);
    for (int64_t k = 0; k < count; k++) {
        sum[k] = mean[k] * (double)g->rows;
        square[k] = m2[k] + mean[k] * sum[k];
    }
}

size_t ct_norm_moments_bytes(const ct_device *dev, const ct_tensor *x)
{
    ct_norm g = ct_norm_make(dev, x);
    return ct_norm_lay_out(&g, true, true, NULL);
}

void ct_norm_moments(const ct_device *dev, const ct_tensor *x, double *sum, void *scratch)
{
    moments m = { ct_norm_make(dev, x), sum };
    m.norm.whole = x->desc.dtype == CT_F32;
    ct_norm_lay_out(&m.norm, true, true, scratch);
    ct_norm_stats(dev, &m.norm);
    ct_cpu_for(dev, ct_ceil_div(m.norm.cols, CT_NORM_CHANNELS), moments_item, &m);
}

static ct_accept moments_accept(const ct_device *dev, const ct_call *c)
{
    return ct_cpu_type(c->in[0].desc.dtype) ? ct_accept_yes(ct_norm_moments_bytes(dev, &c->in[0])) : ct_accept_no(CT_CPU_NO_TYPE);
}

static ct_status moments_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    ct_norm_moments(dev, &c->in[0], c->out[0].data, scratch);
    return CT_OK;
}

static ct_accept moments_bwd_accept(const ct_device *dev, const ct_call *c)
{
    if (!ct_cpu_type(c->in[0].desc.dtype)) return ct_accept_no(CT_CPU_NO_TYPE);
    ct_norm g = ct_norm_make(dev, &c->in[0]);
    return ct_accept_yes(ct_norm_lay_out(&g, false, false, NULL));
}

/* dS + 2 x dQ is (x - m)*2dQ with m = -dS/2dQ, near the mean of x: written so, little is lost where x is far from 0. */
static ct_status moments_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    ct_norm g = ct_norm_make(dev, &c->in[0]);
    const double *ds = c->in[1].data, *dq = ds + g.cols;
    g.call = c;
    g.out = c->out[0];
    g.whole = g.x.desc.dtype == CT_F32;
    ct_norm_lay_out(&g, false, false, scratch);
    for (int64_t k = 0; k < g.cols; k++) {
        const double middle = -ds[k] / (2 * dq[k]);
        const bool shifted = fabs(middle) < 1e6; /* else, or where that is no number, x is small beside dS */
        g.mean[k] = shifted ? (float)middle : 0;
        g.scale[k] = (float)(2 * dq[k]);
        g.bias[k] = (float)(ds[k] + 2 * dq[k] * (double)g.mean[k]);
    }
    ct_norm_apply(dev, &g);
    return CT_OK;
}

/* Of a norm over a whole group: dgamma and dbeta of this member's rows, and what goes to the moments. */
static void joint_sums_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    ct_norm *g = arg;
    const ct_call *c = g->call;
    const int64_t c0 = item * CT_NORM_CHANNELS, count = ct_min64(CT_NORM_CHANNELS, g->cols - c0);
    const float *gamma = (const float *)c->in[2].data + c0, *mean = (const float *)c->in[3].data + c0;
    const float *invstd = (const float *)c->in[4].data + c0;
    float *dgamma = (float *)c->out[0].data + c0, *dbeta = (float *)c->out[1].data + c0;
    const double n = (double)c->attrs.norm.total;
    double *ds = (double *)c->out[2].data + c0, *dq = ds + g->cols, sum[CT_NORM_CHANNELS], sum_x[CT_NORM_CHANNELS];
    ct_norm_join_sums(g, c0, count, sum, sum_x);
    for (int64_t k = 0; k < count; k++) {
        const double is = (double)invstd[k], scale = (double)gamma[k] * is;
        dgamma[k] = (float)(sum_x[k] * is);
        dbeta[k] = (float)sum[k];
        ds[k] = -scale * (sum[k] - (double)mean[k] * is * is * sum_x[k]) / n;
        dq[k] = -scale * is * is * sum_x[k] / (2 * n);
    }
}

/* Its calls as batchnorm_bwd's, whose outputs are dx, dgamma, dbeta, dadd; moments, which are always f64, are left out. */
static ct_call as_backward(const ct_call *c)
{
    ct_call b = *c;
    const bool sums = c->op == CT_OP_BATCHNORM_JOINT_SUMS;
    if (b.nin > 8) b.nin = 8;
    b.nout = 4;
    for (int i = 0; i < 4; i++) b.out[i].desc = ct_absent_desc();
    if (!sums) b.out[0] = c->out[0];
    if (!sums && c->nout > 1) b.out[3] = c->out[1];
    return b;
}

static ct_accept joint_bwd_accept(const ct_device *dev, const ct_call *c)
{
    const ct_call seen = as_backward(c);
    const char *no = ct_norm_refuse(&seen, 2, 4, 1, 2);
    if (no) return ct_accept_no(no);
    ct_norm g = ct_norm_backward(dev, &seen);
    return ct_accept_yes(ct_norm_lay_out(&g, c->op == CT_OP_BATCHNORM_JOINT_SUMS, false, NULL));
}

static ct_status joint_sums_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    const ct_call seen = as_backward(c);
    ct_norm g = ct_norm_backward(dev, &seen);
    g.whole = g.x.desc.dtype == CT_F32 && g.dy.desc.dtype == CT_F32 && (!ct_norm_given(&g.add) || g.add.desc.dtype == CT_F32);
    g.call = c;
    ct_norm_lay_out(&g, true, false, scratch);
    ct_norm_begin_backward(&g);
    ct_norm_bwd_sums(dev, &g);
    ct_cpu_for(dev, ct_ceil_div(g.cols, CT_NORM_CHANNELS), joint_sums_item, &g);
    return CT_OK;
}

/* dx = scale*e + dS + 2 x dQ, the latter about the mean of x, so that little is lost where x is far from 0. */
static ct_status joint_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    const ct_call seen = as_backward(c);
    ct_norm g = ct_norm_backward(dev, &seen);
    const double *ds = c->nin > 8 && ct_present(&c->in[8]) ? c->in[8].data : NULL;
    ct_norm_lay_out(&g, false, false, scratch);
    ct_norm_begin_backward(&g);
    for (int64_t k = 0; k < g.cols; k++) {
        g.shift[k] = ds ? (float)(2 * ds[g.cols + k]) : 0;
        g.bias[k] = ds ? (float)(ds[k] + 2 * ds[g.cols + k] * (double)g.mean[k]) : 0;
    }
    ct_norm_bwd_apply(dev, &g);
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_BATCHNORM_MOMENTS, "cpu.vector", CT_CPU_TUNED, moments_accept, moments_run },
    { CT_OP_BATCHNORM_MOMENTS_BWD, "cpu.vector", CT_CPU_TUNED, moments_bwd_accept, moments_bwd_run },
    { CT_OP_BATCHNORM_JOINT_SUMS, "cpu.vector", CT_CPU_TUNED, joint_bwd_accept, joint_sums_run },
    { CT_OP_BATCHNORM_JOINT_BWD, "cpu.vector", CT_CPU_TUNED, joint_bwd_accept, joint_bwd_run },
};
const ct_impl_set ct_cpu_norm_joint_impls = CT_IMPL_SET(impls);
