/* Batch norms that have taken in what lies around them: batchnorm_sum (a second norm, the summand, made a block of rows at a time in thread scratch) and
 * batchnorm_mean (the mean over a sample's pixels), with their gradients (batchnorm_pool: norm_pool.c). The passes are those of norm.c. */
#include "config.h"

#include "backends/cpu/norm.h"

#include <string.h>

/* Rows that are made at a time, of so many columns: no more than ct_norm_apply_to gives. */
static int64_t block_rows(int64_t cols) { return ct_max64(1, CT_NORM_TILE / cols); }

/* ---- batchnorm_sum ---- */

typedef struct pair {
    ct_call half[2]; /* as calls of batchnorm, or of batchnorm_bwd */
    ct_norm norm[2];
} pair;

/* The two norms' calls: the first with act=relu and the mask, the second without y. */
static void forward_halves(const ct_call *c, ct_call half[2])
{
    half[0] = half[1] = *c;
    half[0].nin = half[1].nin = 7;
    for (int k = 0; k < 2; k++) {
        half[k].in[5].desc = half[k].in[6].desc = ct_absent_desc();
        if (c->nin > 10 + k) half[k].in[6] = c->in[10 + k];
    }
    half[0].nout = half[1].nout = 4;
    half[0].attrs.norm.act = CT_NORM_RELU;
    half[1].attrs.norm.act = CT_NORM_LINEAR;
    for (int i = 0; i < 5; i++) half[1].in[i] = c->in[5 + i];
    half[1].out[1] = c->out[4];
    half[1].out[2] = c->out[5];
    half[1].out[0].desc = half[1].out[3].desc = ct_absent_desc();
}

static void second_rows(const ct_norm *norm, int64_t r, int64_t rows, float *out, int thread)
{
    (void)thread;
    ct_norm_apply_to(norm->maker, r, rows, out);
}

static const char *make_sum(const ct_device *dev, const ct_call *c, pair *g)
{
    forward_halves(c, g->half);
    for (int k = 0; k < 2; k++) {
        const char *no = ct_norm_refuse(&g->half[k], 1, 4, 1, 2);
        if (no) return no;
        g->norm[k] = ct_norm_forward(dev, &g->half[k]);
    }
    g->norm[1].whole = g->norm[0].whole = g->norm[0].whole && g->norm[1].x.desc.dtype == CT_F32;
    g->norm[0].make_add = second_rows;
    return ct_norm_make_rows(&g->norm[0], block_rows(g->norm[0].cols));
}

static size_t lay_out_sum(pair *g, void *base)
{
    const size_t first = ct_norm_lay_out(&g->norm[0], true, true, base);
    return first + ct_norm_lay_out(&g->norm[1], true, true, base ? (char *)base + first : NULL);
}

static ct_accept batchnorm_sum_accept(const ct_device *dev, const ct_call *c)
{
    pair g;
    const char *no = make_sum(dev, c, &g);
    if (no) return ct_accept_no(no);
    if (g.norm[0].rows < 2) return ct_accept_no("cpu: one value per channel has no variance");
    return ct_accept_yes(lay_out_sum(&g, NULL));
}

static ct_status batchnorm_sum_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    pair g;
    make_sum(dev, c, &g);
    lay_out_sum(&g, scratch);
    g.norm[0].maker = &g.norm[1];
    for (int k = 0; k < 2; k++) ct_norm_measure(dev, &g.norm[k]);
    ct_norm_apply(dev, &g.norm[0]);
    return CT_OK;
}

/* The gradient of each norm, from the same dy and mask. */
static void backward_halves(const ct_call *c, ct_call half[2])
{
    half[0] = half[1] = *c;
    half[0].nin = half[1].nin = 6;
    half[0].nout = half[1].nout = 3;
    half[0].attrs.norm.act = half[1].attrs.norm.act = CT_NORM_RELU;
    half[1].in[1] = c->in[6];
    for (int i = 2; i < 5; i++) half[1].in[i] = c->in[5 + i];
    for (int i = 0; i < 3; i++) half[1].out[i] = c->out[3 + i];
}

static ct_accept batchnorm_sum_bwd_accept(const ct_device *dev, const ct_call *c)
{
    ct_call half[2];
    if (c->nin > 10 && ct_present(&c->in[10])) return ct_accept_no("cpu: one dy alone; programs of this backend have no second one");
    backward_halves(c, half);
    size_t most = 0;
    for (int k = 0; k < 2; k++) {
        const char *no = ct_norm_refuse(&half[k], 2, 4, 1, 2);
        if (no) return ct_accept_no(no);
        ct_norm g = ct_norm_backward(dev, &half[k]);
        const size_t bytes = ct_norm_lay_out(&g, true, false, NULL);
        if (bytes > most) most = bytes;
    }
    return ct_accept_yes(most);
}

static ct_status batchnorm_sum_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    ct_call half[2];
    backward_halves(c, half);
    for (int k = 0; k < 2; k++) {
        ct_norm g = ct_norm_backward(dev, &half[k]);
        ct_norm_lay_out(&g, true, false, scratch);
        ct_norm_differentiate(dev, &g);
    }
    return CT_OK;
}

/* ---- batchnorm_mean ---- */

/* A call with the ReLU that it has always. */
static ct_call with_relu(const ct_call *c)
{
    ct_call seen = *c;
    seen.attrs.norm.act = CT_NORM_RELU;
    return seen;
}

static ct_norm make_mean(const ct_device *dev, const ct_call *c)
{
    ct_norm g = ct_norm_forward(dev, c);
    g.whole = g.x.desc.dtype == CT_F32 && (!ct_norm_given(&g.add) || g.add.desc.dtype == CT_F32);
    return g;
}

static ct_accept batchnorm_mean_accept(const ct_device *dev, const ct_call *c)
{
    const ct_call seen = with_relu(c);
    const char *no = ct_norm_refuse(&seen, 1, 4, 1, 2);
    if (no) return ct_accept_no(no);
    ct_norm g = make_mean(dev, &seen);
    if (g.rows < 2) return ct_accept_no("cpu: one value per channel has no variance");
    if (g.cols > CT_NORM_TILE) return ct_accept_no("cpu: more than 2048 channels");
    return ct_accept_yes(ct_norm_lay_out(&g, true, true, NULL));
}

/* A sample: its y and masks. */
static void mean_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const ct_norm *g = arg;
    const ct_tensor *y = &g->call->out[0];
    const int64_t pixels = g->rows / y->desc.dim[0], first = item * pixels, step = CT_NORM_TILE / g->cols;
    float rows[CT_NORM_TILE];
    double sum[CT_NORM_TILE];
    for (int64_t c = 0; c < g->cols; c++) sum[c] = 0;
    for (int64_t r = 0; r < pixels; r += step) {
        const int64_t n = ct_min64(step, pixels - r);
        ct_norm_apply_to(g, first + r, n, rows);
        g->kern->sum->columns(n, g->cols, g->cols, rows, sum);
    }
    for (int64_t c = 0; c < g->cols; c++) rows[c] = (float)(sum[c] / (double)pixels);
    ct_cpu_to_type(g->kern, y->desc.dtype, rows, g->cols, y->data, item * g->cols);
}

static ct_status batchnorm_mean_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    const ct_call seen = with_relu(c);
    ct_norm g = make_mean(dev, &seen);
    ct_norm_lay_out(&g, true, true, scratch);
    ct_norm_measure(dev, &g);
    ct_cpu_for(dev, c->out[0].desc.dim[0], mean_item, &g);
    return CT_OK;
}

/* e but for the mask: each pixel's share of its sample's dy. */
static void shares(const ct_norm *g, int64_t r, int64_t rows, float *out, int thread)
{
    (void)thread;
    const int64_t pixels = g->rows / g->dy.desc.dim[0];
    for (int64_t i = 0; i < rows; i++, out += g->cols) {
        if (i > 0 && (r + i) % pixels != 0) {
            memcpy(out, out - g->cols, (size_t)g->cols * sizeof *out);
            continue;
        }
        ct_cpu_to_f32(g->kern, g->dy.desc.dtype, g->dy.data, (r + i) / pixels * g->cols, g->cols, out);
        for (int64_t c = 0; c < g->cols; c++) out[c] /= (float)pixels;
    }
}

static const char *make_mean_bwd(const ct_device *dev, const ct_call *c, ct_norm *g)
{
    *g = ct_norm_backward(dev, c);
    g->whole = g->x.desc.dtype == CT_F32 && g->out.desc.dtype == CT_F32 && (!ct_norm_given(&g->out2) || g->out2.desc.dtype == CT_F32);
    g->make_dy = shares;
    return ct_norm_make_rows(g, block_rows(g->cols));
}

static ct_accept batchnorm_mean_bwd_accept(const ct_device *dev, const ct_call *c)
{
    const ct_call seen = with_relu(c);
    ct_norm g;
    const char *no = ct_norm_refuse(&seen, 2, 4, 1, 2);
    if (!no) no = make_mean_bwd(dev, &seen, &g);
    return no ? ct_accept_no(no) : ct_accept_yes(ct_norm_lay_out(&g, true, false, NULL));
}

static ct_status batchnorm_mean_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    const ct_call seen = with_relu(c);
    ct_norm g;
    make_mean_bwd(dev, &seen, &g);
    ct_norm_lay_out(&g, true, false, scratch);
    ct_norm_differentiate(dev, &g);
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_BATCHNORM_SUM, "cpu.vector", CT_CPU_TUNED, batchnorm_sum_accept, batchnorm_sum_run },
    { CT_OP_BATCHNORM_SUM_BWD, "cpu.vector", CT_CPU_TUNED, batchnorm_sum_bwd_accept, batchnorm_sum_bwd_run },
    { CT_OP_BATCHNORM_MEAN, "cpu.vector", CT_CPU_TUNED, batchnorm_mean_accept, batchnorm_mean_run },
    { CT_OP_BATCHNORM_MEAN_BWD, "cpu.vector", CT_CPU_TUNED, batchnorm_mean_bwd_accept, batchnorm_mean_bwd_run },
};
const ct_impl_set ct_cpu_norm_more_impls = CT_IMPL_SET(impls);
