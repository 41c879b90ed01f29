/* Batch normalisation over the rows (all dimensions but the last) of x [M,C], as torch.nn.BatchNorm1d/2d:
 *   mean = sum x / M; var = sum (x-mean)^2 / M; invstd = 1/sqrt(var + eps)
 *   z = gamma*(x-mean)*invstd + beta [+ add]; y = z, or max(0,z) with act = relu, z*sigmoid(z) with act = silu
 *   mask = y > 0 as it is stored, a bit an element, with relu
 *   run_mean = (1-momentum)*run_mean + momentum*mean; run_var alike with the unbiased var*M/(M-1)
 * Backward, with e = dy, or with relu dy where mask is set, else 0, with silu dy times its slope at z; xhat = (x-mean)*invstd:
 *   dbeta = sum e; dgamma = sum e*xhat; dx = gamma*invstd*(e - dbeta/M - xhat*dgamma/M); dadd = e.
 * batchnorm_bwd adds dy2 to dy, where it is given, before all else; with dy2_step s, to pixels (si,sj) alone. batchnorm_sum is
 * max(0, z + z2) of two norms, and its backward that of each of them. batchnorm_pool is batchnorm with relu, of which the first greatest of each
 * window of 2x2 pixels (or, with overlap, 3x3) is kept; its backward takes for e of a pixel the sum of dy of its windows whose index says that it was kept.
 * Moments that are given are those of x, which is read for them here all the same. batchnorm_joint has mean = S/M and var = Q/M - mean^2 from moments (S, Q) of M rows that it need not see; its backward holds both in dx
 * and gives dS = -gamma*invstd*(sum e - mean*invstd*sum(e*xhat))/M, dQ = -gamma*invstd^2*sum(e*xhat)/(2M).
 * batchnorm_mean is the mean over all pixels of a sample of batchnorm with relu; its backward has e = dy / pixels where
 * mask is set.
 * And l2_normalize over the rows' columns: r = max(||x||, 1e-12), y = x/r, dx = (dy - y*(y.dy))/r, or dy/r where ||x|| < r. */
#include "config.h"

#include "backends/cpu/ref/ref_util.h"

#include <math.h>

#include "ops/math/mask_math.h"

/* Rows of C doubles that each operator needs. */
enum { FORWARD_ROWS = 6, INFER_ROWS = 6, SUM_ROWS = 10, MEAN_ROWS = 7, BACKWARD_ROWS = 10, JOINT_ROWS = 9, L2_ROWS = 2 };

/* All but the mask must be floating. */
static ct_accept accept_rows(const ct_call *call, int64_t rows)
{
    ct_call rest = *call;
    const bool back = call->op == CT_OP_BATCHNORM_BWD || call->op == CT_OP_BATCHNORM_SUM_BWD ||
                      call->op == CT_OP_BATCHNORM_POOL_BWD || call->op == CT_OP_BATCHNORM_MEAN_BWD;
    if (back) rest.in[5].desc = ct_absent_desc();
    else rest.out[3].desc = ct_absent_desc();
    const char *reason = ct_ref_all_float(&rest);
    if (reason) return ct_accept_no(reason);
    return ct_accept_yes((size_t)(rows * ct_ref_cols(&call->in[0])) * sizeof(double));
}

static ct_accept accept_forward(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    if (ct_ref_rows(&call->in[0]) < 2) return ct_accept_no("one value per channel has no variance");
    return accept_rows(call, FORWARD_ROWS);
}

static ct_accept accept_infer(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    return accept_rows(call, INFER_ROWS);
}

static ct_accept accept_backward(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    if (call->op == CT_OP_BATCHNORM_BWD && call->attrs.norm.act == CT_NORM_RELU && (call->nin < 6 || !ct_present(&call->in[5]))) return ct_accept_no("act=relu needs the mask");
    return accept_rows(call, BACKWARD_ROWS);
}

static double activated(int64_t act, double z)
{
    if (act == CT_NORM_RELU) return z < 0 ? 0 : z;
    return act == CT_NORM_SILU ? z * ct_ref_sigmoid(z) : z;
}

/* y = act(gamma*(x-mean)*invstd + beta [+ add]), row by row, and its mask where that is wanted. */
static void normalise(const ct_call *call, const double *mean, const double *invstd, const double *gamma,
                      const double *beta, double *row, double *add)
{
    int64_t rows = ct_ref_rows(&call->in[0]), cols = ct_ref_cols(&call->in[0]);
    bool has_add = call->nin > 5 && ct_present(&call->in[5]);
    uint8_t *mask = call->nout > 3 && ct_present(&call->out[3]) ? call->out[3].data : NULL;
    for (int64_t m = 0; m < rows; m++) {
        ct_ref_load(&call->in[0], m * cols, cols, row);
        if (has_add) ct_ref_load(&call->in[5], m * cols, cols, add);
        for (int64_t c = 0; c < cols; c++) {
            double v = gamma[c] * ((row[c] - mean[c]) * invstd[c]) + beta[c];
            if (has_add) v += add[c];
            row[c] = activated(call->attrs.norm.act, v);
        }
        ct_ref_store(&call->out[0], m * cols, cols, row);
        if (!mask) continue;
        ct_ref_load(&call->out[0], m * cols, cols, row); /* what is left of them when they are stored */
        for (int64_t c = 0; c < cols; c++) ct_mask_put(mask + m * ct_mask_bytes(cols), c, row[c] > 0);
    }
}

/* Finite once it is stored in t. */
static bool finite_as(const ct_tensor *t, double v)
{
    return isfinite(t->desc.dtype == CT_F64 ? v : (double)(float)v);
}

/* mean [C] and n*variance [C] of n rows become mean and invstd as they are stored, and the running statistics. */
static void put_statistics(const ct_call *call, double n, double *mean, double *var)
{
    const ct_norm_attrs *a = &call->attrs.norm;
    const int64_t cols = ct_ref_cols(&call->in[0]);
    if (a->update_stats) {
        for (int64_t c = 0; c < cols; c++) {
            double m = (1 - a->momentum) * ct_ref_at(&call->in[3], c) + a->momentum * mean[c];
            double v = (1 - a->momentum) * ct_ref_at(&call->in[4], c) + a->momentum * (var[c] / (n - 1));
            if (!finite_as(&call->in[3], m) || !finite_as(&call->in[4], v)) continue;
            ct_ref_put(&call->in[3], c, m);
            ct_ref_put(&call->in[4], c, v);
        }
    }
    double *invstd = var;
    for (int64_t c = 0; c < cols; c++) invstd[c] = 1 / sqrt(var[c] / n + a->eps);
    /* y comes from the statistics as they are stored: batchnorm_infer can repeat it bit for bit. */
    ct_ref_store(&call->out[1], 0, cols, mean);
    ct_ref_store(&call->out[2], 0, cols, invstd);
    ct_ref_load(&call->out[1], 0, cols, mean);
    ct_ref_load(&call->out[2], 0, cols, invstd);
}

/* mean and invstd of the batch as they are stored, and the running statistics; row is room for one. */
static void statistics(const ct_call *call, double *mean, double *var, double *row)
{
    int64_t rows = ct_ref_rows(&call->in[0]), cols = ct_ref_cols(&call->in[0]);
    double n = (double)rows;
    for (int64_t c = 0; c < cols; c++) mean[c] = var[c] = 0;
    for (int64_t m = 0; m < rows; m++) {
        ct_ref_load(&call->in[0], m * cols, cols, row);
        for (int64_t c = 0; c < cols; c++) mean[c] += row[c];
    }
    for (int64_t c = 0; c < cols; c++) mean[c] /= n;
    for (int64_t m = 0; m < rows; m++) {
        ct_ref_load(&call->in[0], m * cols, cols, row);
        for (int64_t c = 0; c < cols; c++) var[c] += (row[c] - mean[c]) * (row[c] - mean[c]);
    }
    put_statistics(call, n, mean, var);
}

/* The same from moments. */
static void joint_statistics(const ct_call *call, double *mean, double *var)
{
    const double n = (double)call->attrs.norm.total, *s = call->in[6].data;
    const int64_t cols = ct_ref_cols(&call->in[0]);
    for (int64_t c = 0; c < cols; c++) {
        const double m2 = s[cols + c] - s[c] * (s[c] / n);
        mean[c] = s[c] / n;
        var[c] = m2 < 0 ? 0 : m2; /* rounding; NaN stays */
    }
    put_statistics(call, n, mean, var);
}

static ct_status forward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const int64_t cols = ct_ref_cols(&call->in[0]);
    double *mean = scratch, *invstd = mean + cols, *row = invstd + cols, *gamma = row + cols, *beta = gamma + cols,
           *add = beta + cols;
    if (call->op == CT_OP_BATCHNORM_JOINT) joint_statistics(call, mean, invstd);
    else statistics(call, mean, invstd, row);
    ct_ref_load(&call->in[1], 0, cols, gamma);
    ct_ref_load(&call->in[2], 0, cols, beta);
    normalise(call, mean, invstd, gamma, beta, row, add);
    return CT_OK;
}

static ct_accept accept_joint(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    return accept_rows(call, FORWARD_ROWS);
}

static ct_accept accept_moments(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    const char *reason = ct_ref_all_float(call);
    return reason ? ct_accept_no(reason) : ct_accept_yes((size_t)ct_ref_cols(&call->in[0]) * sizeof(double));
}

static ct_status moments(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const int64_t rows = ct_ref_rows(&call->in[0]), cols = ct_ref_cols(&call->in[0]);
    double *row = scratch, *sum = call->out[0].data, *square = sum + cols;
    for (int64_t c = 0; c < 2 * cols; c++) sum[c] = 0;
    for (int64_t m = 0; m < rows; m++) {
        ct_ref_load(&call->in[0], m * cols, cols, row);
        for (int64_t c = 0; c < cols; c++) {
            sum[c] += row[c];
            square[c] += row[c] * row[c];
        }
    }
    return CT_OK;
}

static ct_status moments_bwd(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const int64_t rows = ct_ref_rows(&call->in[0]), cols = ct_ref_cols(&call->in[0]);
    const double *ds = call->in[1].data, *dq = ds + cols;
    double *row = scratch;
    for (int64_t m = 0; m < rows; m++) {
        ct_ref_load(&call->in[0], m * cols, cols, row);
        for (int64_t c = 0; c < cols; c++) row[c] = ds[c] + 2 * row[c] * dq[c];
        ct_ref_store(&call->out[0], m * cols, cols, row);
    }
    return CT_OK;
}

/* The second norm of batchnorm_sum as a call of its own. */
static ct_call second_norm(const ct_call *call)
{
    ct_call c = *call;
    for (int i = 0; i < 5; i++) c.in[i] = call->in[5 + i];
    c.out[1] = call->out[4];
    c.out[2] = call->out[5];
    return c;
}

static ct_accept accept_sum(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    if (ct_ref_rows(&call->in[0]) < 2) return ct_accept_no("one value per channel has no variance");
    return accept_rows(call, SUM_ROWS);
}

static ct_status forward_sum(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const int64_t rows = ct_ref_rows(&call->in[0]), cols = ct_ref_cols(&call->in[0]);
    const ct_call half[2] = { *call, second_norm(call) };
    double *y = scratch, *row = y + cols, *of = row + cols; /* of each norm: mean, invstd, gamma, beta */
    uint8_t *mask = call->out[3].data;
    for (int k = 0; k < 2; k++) {
        double *n = of + 4 * k * cols;
        statistics(&half[k], n, n + cols, row);
        ct_ref_load(&half[k].in[1], 0, cols, n + 2 * cols);
        ct_ref_load(&half[k].in[2], 0, cols, n + 3 * cols);
    }
    for (int64_t m = 0; m < rows; m++) {
        for (int64_t c = 0; c < cols; c++) y[c] = 0;
        for (int k = 0; k < 2; k++) {
            const double *mean = of + 4 * k * cols, *invstd = mean + cols, *gamma = invstd + cols, *beta = gamma + cols;
            ct_ref_load(&half[k].in[0], m * cols, cols, row);
            for (int64_t c = 0; c < cols; c++) y[c] += gamma[c] * ((row[c] - mean[c]) * invstd[c]) + beta[c];
        }
        for (int64_t c = 0; c < cols; c++) y[c] = activated(CT_NORM_RELU, y[c]);
        ct_ref_store(&call->out[0], m * cols, cols, y);
        ct_ref_load(&call->out[0], m * cols, cols, y); /* what is left of them when they are stored */
        for (int64_t c = 0; c < cols; c++) ct_mask_put(mask + m * ct_mask_bytes(cols), c, y[c] > 0);
    }
    return CT_OK;
}

static ct_accept accept_mean(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    if (ct_ref_rows(&call->in[0]) < 2) return ct_accept_no("one value per channel has no variance");
    return accept_rows(call, MEAN_ROWS);
}

static ct_status forward_mean(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const int64_t *d = call->in[0].desc.dim, cols = d[3], pixels = d[1] * d[2];
    const bool has_add = call->nin > 5 && ct_present(&call->in[5]);
    double *mean = scratch, *invstd = mean + cols, *row = invstd + cols, *gamma = row + cols, *beta = gamma + cols,
           *add = beta + cols, *sum = add + cols;
    uint8_t *mask = call->out[3].data;
    statistics(call, mean, invstd, row);
    ct_ref_load(&call->in[1], 0, cols, gamma);
    ct_ref_load(&call->in[2], 0, cols, beta);
    for (int64_t n = 0; n < d[0]; n++) {
        for (int64_t c = 0; c < cols; c++) sum[c] = 0;
        for (int64_t m = n * pixels; m < (n + 1) * pixels; m++) {
            ct_ref_load(&call->in[0], m * cols, cols, row);
            if (has_add) ct_ref_load(&call->in[5], m * cols, cols, add);
            for (int64_t c = 0; c < cols; c++) {
                const double z = gamma[c] * ((row[c] - mean[c]) * invstd[c]) + beta[c];
                row[c] = activated(CT_NORM_RELU, has_add ? z + add[c] : z);
                sum[c] += row[c];
            }
            ct_ref_store(&call->out[0], n * cols, cols, row); /* the mask is of what is left when they are stored */
            ct_ref_load(&call->out[0], n * cols, cols, row);
            for (int64_t c = 0; c < cols; c++) ct_mask_put(mask + m * ct_mask_bytes(cols), c, row[c] > 0);
        }
        for (int64_t c = 0; c < cols; c++) sum[c] /= (double)pixels;
        ct_ref_store(&call->out[0], n * cols, cols, sum);
    }
    return CT_OK;
}

/* Cell k of window (p,q) of sample n: its row in x [N,H,W,C]; -1: it is padding. */
static int64_t cell_row(const int64_t *xd, bool overlap, int64_t n, int64_t p, int64_t q, int k)
{
    const int64_t i = overlap ? 2 * p - 1 + k / 3 : 2 * p + k / 2, j = overlap ? 2 * q - 1 + k % 3 : 2 * q + k % 2;
    return i < 0 || j < 0 || i >= xd[1] || j >= xd[2] ? -1 : (n * xd[1] + i) * xd[2] + j;
}

static ct_status forward_pool(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const int64_t *xd = call->in[0].desc.dim, *yd = call->out[0].desc.dim, cols = xd[3];
    double *mean = scratch, *invstd = mean + cols, *row = invstd + cols, *gamma = row + cols, *beta = gamma + cols,
           *best = beta + cols;
    uint8_t *index = call->out[3].data;
    const bool overlap = call->attrs.norm.overlap != 0;
    const int cells = overlap ? 9 : 4;
    statistics(call, mean, invstd, row);
    ct_ref_load(&call->in[1], 0, cols, gamma);
    ct_ref_load(&call->in[2], 0, cols, beta);
    for (int64_t w = 0; w < yd[0] * yd[1] * yd[2]; w++) {
        const int64_t n = w / (yd[1] * yd[2]), p = w / yd[2] % yd[1], q = w % yd[2];
        bool any = false;
        for (int k = 0; k < cells; k++) {
            const int64_t from = cell_row(xd, overlap, n, p, q, k);
            if (from < 0) continue;
            ct_ref_load(&call->in[0], from * cols, cols, row);
            for (int64_t c = 0; c < cols; c++)
                row[c] = activated(CT_NORM_RELU, gamma[c] * ((row[c] - mean[c]) * invstd[c]) + beta[c]);
            ct_ref_store(&call->out[0], w * cols, cols, row); /* compared is what is left when they are stored */
            ct_ref_load(&call->out[0], w * cols, cols, row);
            for (int64_t c = 0; c < cols; c++) {
                if (any && !(row[c] > best[c]) && !(isnan(row[c]) && !isnan(best[c]))) continue;
                best[c] = row[c];
                index[w * cols + c] = (uint8_t)k;
            }
            any = true;
        }
        ct_ref_store(&call->out[0], w * cols, cols, best);
        for (int64_t c = 0; c < cols; c++)
            if (!(best[c] > 0)) index[w * cols + c] = (uint8_t)cells;
    }
    return CT_OK;
}

static ct_status infer(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    int64_t cols = ct_ref_cols(&call->in[0]);
    double *mean = scratch, *invstd = mean + cols, *row = invstd + cols, *gamma = row + cols, *beta = gamma + cols,
           *add = beta + cols;
    ct_ref_load(&call->in[1], 0, cols, gamma);
    ct_ref_load(&call->in[2], 0, cols, beta);
    ct_ref_load(&call->in[3], 0, cols, mean);
    ct_ref_load(&call->in[4], 0, cols, invstd);
    for (int64_t c = 0; c < cols && !call->attrs.norm.given_invstd; c++)
        invstd[c] = 1 / sqrt(invstd[c] + call->attrs.norm.eps);
    normalise(call, mean, invstd, gamma, beta, row, add);
    return CT_OK;
}

/* What a backward pass reads of each channel. */
typedef struct channels {
    double *gamma, *beta, *mean, *invstd; /* beta NULL where it is not given */
} channels;

/* dy of row m becomes e; x is the row of x, add room for one of the summand. */
static void gate(const ct_call *call, const channels *k, int64_t m, const double *x, double *dy, double *add)
{
    const int64_t cols = ct_ref_cols(&call->in[1]);
    const bool relu = call->attrs.norm.act == CT_NORM_RELU || call->op == CT_OP_BATCHNORM_MEAN_BWD;
    const uint8_t *mask = relu ? call->in[5].data : NULL;
    for (int64_t c = 0; mask && c < cols; c++)
        if (!ct_mask_at(mask + m * ct_mask_bytes(cols), c)) dy[c] = 0;
    if (call->attrs.norm.act != CT_NORM_SILU) return;
    const bool added = call->nin > 7 && ct_present(&call->in[7]);
    if (added) ct_ref_load(&call->in[7], m * cols, cols, add);
    for (int64_t c = 0; c < cols; c++) {
        const double z = k->gamma[c] * ((x[c] - k->mean[c]) * k->invstd[c]) + k->beta[c];
        dy[c] *= ct_ref_silu_slope(added ? z + add[c] : z);
    }
}

/* e of row m of batchnorm_pool_bwd: the sum over the windows that kept it, those below and to the right first, as maxpool2d_bwd has
 * it; other is room for two rows. */
static void unpool(const ct_call *call, int64_t m, double *e, double *other)
{
    const int64_t *xd = call->in[1].desc.dim, *yd = call->in[0].desc.dim, cols = xd[3];
    const int64_t n = m / (xd[1] * xd[2]), i = m / xd[2] % xd[1], j = m % xd[2], more = call->attrs.norm.overlap;
    const bool second = call->nin > 6 && ct_present(&call->in[6]);
    const uint8_t *index = call->in[5].data;
    double *dy = other, *dy2 = other + cols;
    for (int64_t c = 0; c < cols; c++) e[c] = dy2[c] = 0;
    for (int64_t p = (i + more) / 2; p >= i / 2; p--)
        for (int64_t q = (j + more) / 2; q >= j / 2; q--) {
            const int64_t w = (n * yd[1] + p) * yd[2] + q, r = i - 2 * p + more, s = j - 2 * q + more;
            if (p >= yd[1] || q >= yd[2]) continue;
            ct_ref_load(&call->in[0], w * cols, cols, dy);
            if (second) ct_ref_load(&call->in[6], w * cols, cols, dy2);
            for (int64_t c = 0; c < cols; c++)
                if (index[w * cols + c] == r * (2 + more) + s) e[c] += dy[c] + dy2[c];
        }
}

/* The row of dy2 that is added to row m of dy; -1: none. */
static int64_t second_row(const ct_call *call, int64_t m)
{
    const int64_t step = call->attrs.norm.dy2_step, *d = call->in[0].desc.dim;
    if (call->nin <= 8 || !ct_present(&call->in[8])) return -1;
    if (step <= 1) return m;
    const int64_t n = m / (d[1] * d[2]), i = m / d[2] % d[1], j = m % d[2];
    if (i % step != 0 || j % step != 0) return -1;
    return (n * call->in[8].desc.dim[1] + i / step) * call->in[8].desc.dim[2] + j / step;
}

/* e of row m; x is that row of x, other room for two. */
static void load_e(const ct_call *call, const channels *k, int64_t m, const double *x, double *e, double *other)
{
    const int64_t cols = ct_ref_cols(&call->in[1]);
    if (call->op == CT_OP_BATCHNORM_POOL_BWD) {
        unpool(call, m, e, other);
        return;
    }
    if (call->op == CT_OP_BATCHNORM_MEAN_BWD) {
        const int64_t pixels = call->in[1].desc.dim[1] * call->in[1].desc.dim[2];
        ct_ref_load(&call->in[0], m / pixels * cols, cols, e);
        for (int64_t c = 0; c < cols; c++) e[c] /= (double)pixels;
        gate(call, k, m, x, e, other);
        return;
    }
    ct_ref_load(&call->in[0], m * cols, cols, e);
    const int64_t second = second_row(call, m);
    if (second >= 0) {
        ct_ref_load(&call->in[8], second * cols, cols, other);
        for (int64_t c = 0; c < cols; c++) e[c] += other[c];
    }
    gate(call, k, m, x, e, other);
}

static ct_status backward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const ct_tensor *tx = &call->in[1];
    const bool has_add = call->nout > 3 && ct_present(&call->out[3]);
    const int64_t act = call->op == CT_OP_BATCHNORM_BWD ? call->attrs.norm.act : CT_NORM_LINEAR;
    int64_t rows = ct_ref_rows(tx), cols = ct_ref_cols(tx);
    double n = (double)rows;
    double *gamma = scratch, *mean = gamma + cols, *invstd = mean + cols, *dgamma = invstd + cols,
           *dbeta = dgamma + cols;
    double *dy = dbeta + cols, *x = dy + cols, *dx = x + cols, *add = dx + cols;
    const channels k = { gamma, act == CT_NORM_SILU ? add + cols : NULL, mean, invstd };
    ct_ref_load(&call->in[2], 0, cols, gamma);
    ct_ref_load(&call->in[3], 0, cols, mean);
    ct_ref_load(&call->in[4], 0, cols, invstd);
    if (k.beta) ct_ref_load(&call->in[6], 0, cols, k.beta);
    for (int64_t c = 0; c < cols; c++) dgamma[c] = dbeta[c] = 0;
    for (int pass = 0; pass < 2; pass++) /* the sums first, then what uses them */
        for (int64_t m = 0; m < rows; m++) {
            ct_ref_load(tx, m * cols, cols, x);
            load_e(call, &k, m, x, dy, add);
            if (pass == 0) {
                for (int64_t c = 0; c < cols; c++) {
                    dbeta[c] += dy[c];
                    dgamma[c] += dy[c] * ((x[c] - mean[c]) * invstd[c]);
                }
                continue;
            }
            for (int64_t c = 0; c < cols; c++) {
                double xhat = (x[c] - mean[c]) * invstd[c];
                dx[c] = gamma[c] * invstd[c] * (dy[c] - dbeta[c] / n - xhat * (dgamma[c] / n));
            }
            ct_ref_store(&call->out[0], m * cols, cols, dx);
            if (has_add) ct_ref_store(&call->out[3], m * cols, cols, dy);
        }
    ct_ref_store(&call->out[1], 0, cols, dgamma);
    ct_ref_store(&call->out[2], 0, cols, dbeta);
    return CT_OK;
}

/* What both halves of the gradient of a norm over a group read; x and e are room for a row. */
static channels load_channels(const ct_call *call, double *scratch, double **x, double **e, double **other)
{
    const int64_t cols = ct_ref_cols(&call->in[1]);
    channels k = { scratch, call->attrs.norm.act == CT_NORM_SILU ? scratch + cols : NULL, scratch + 2 * cols,
                   scratch + 3 * cols };
    ct_ref_load(&call->in[2], 0, cols, k.gamma);
    ct_ref_load(&call->in[3], 0, cols, k.mean);
    ct_ref_load(&call->in[4], 0, cols, k.invstd);
    if (k.beta) ct_ref_load(&call->in[6], 0, cols, k.beta);
    *x = scratch + 4 * cols;
    *e = *x + cols;
    *other = *e + cols;
    return k;
}

static ct_status joint_sums(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const int64_t rows = ct_ref_rows(&call->in[1]), cols = ct_ref_cols(&call->in[1]);
    const double n = (double)call->attrs.norm.total;
    double *x, *e, *other, *ds = call->out[2].data, *dq = ds + cols;
    const channels k = load_channels(call, scratch, &x, &e, &other);
    double *dgamma = other + cols, *dbeta = dgamma + cols;
    for (int64_t c = 0; c < cols; c++) dgamma[c] = dbeta[c] = 0;
    for (int64_t m = 0; m < rows; m++) {
        ct_ref_load(&call->in[1], m * cols, cols, x);
        ct_ref_load(&call->in[0], m * cols, cols, e);
        gate(call, &k, m, x, e, other);
        for (int64_t c = 0; c < cols; c++) {
            dbeta[c] += e[c];
            dgamma[c] += e[c] * ((x[c] - k.mean[c]) * k.invstd[c]);
        }
    }
    for (int64_t c = 0; c < cols; c++) {
        ds[c] = -k.gamma[c] * k.invstd[c] * (dbeta[c] - k.mean[c] * k.invstd[c] * dgamma[c]) / n;
        dq[c] = -k.gamma[c] * k.invstd[c] * k.invstd[c] * dgamma[c] / (2 * n);
    }
    ct_ref_store(&call->out[0], 0, cols, dgamma);
    ct_ref_store(&call->out[1], 0, cols, dbeta);
    return CT_OK;
}

static ct_status joint_backward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const int64_t rows = ct_ref_rows(&call->in[1]), cols = ct_ref_cols(&call->in[1]);
    const bool has_add = call->nout > 1 && ct_present(&call->out[1]);
    const double *ds = call->nin > 8 && ct_present(&call->in[8]) ? call->in[8].data : NULL;
    double *x, *e, *other;
    const channels k = load_channels(call, scratch, &x, &e, &other);
    for (int64_t m = 0; m < rows; m++) {
        ct_ref_load(&call->in[1], m * cols, cols, x);
        ct_ref_load(&call->in[0], m * cols, cols, e);
        gate(call, &k, m, x, e, other);
        for (int64_t c = 0; c < cols; c++) {
            const double through = ds ? ds[c] + 2 * x[c] * ds[cols + c] : 0;
            x[c] = k.gamma[c] * k.invstd[c] * e[c] + through;
        }
        ct_ref_store(&call->out[0], m * cols, cols, x);
        if (has_add) ct_ref_store(&call->out[1], m * cols, cols, e);
    }
    return CT_OK;
}

static ct_accept accept_joint_backward(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    ct_call rest = *call;
    rest.in[5].desc = ct_absent_desc(); /* all but the mask must be floating */
    const char *reason = ct_ref_all_float(&rest);
    if (reason) return ct_accept_no(reason);
    return ct_accept_yes((size_t)(JOINT_ROWS * ct_ref_cols(&call->in[1])) * sizeof(double));
}

/* The gradient of each norm is that of a batchnorm with a ReLU, from the same dy and mask. */
static ct_status backward_sum(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    for (int k = 0; k < 2; k++) {
        ct_call half = { .op = CT_OP_BATCHNORM_BWD, .attrs = call->attrs, .nin = 9, .nout = 3 };
        half.attrs.norm.act = CT_NORM_RELU;
        for (int i = 0; i < 9; i++) half.in[i].desc = ct_absent_desc();
        half.in[0] = call->in[0];
        half.in[1] = call->in[k == 0 ? 1 : 6];
        for (int i = 0; i < 3; i++) half.in[2 + i] = call->in[(k == 0 ? 2 : 7) + i]; /* gamma, mean, invstd */
        half.in[5] = call->in[5];
        if (call->nin > 10) half.in[8] = call->in[10];
        for (int i = 0; i < 3; i++) half.out[i] = call->out[3 * k + i];
        CT_TRY(backward(dev, stream, &half, scratch));
    }
    return CT_OK;
}

static ct_accept accept_l2(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    return accept_rows(call, L2_ROWS);
}

static ct_status l2_normalize(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const int64_t rows = ct_ref_rows(&call->in[0]), cols = ct_ref_cols(&call->in[0]);
    double *x = scratch;
    for (int64_t m = 0; m < rows; m++) {
        ct_ref_load(&call->in[0], m * cols, cols, x);
        const double r = fmax(sqrt(ct_ref_dot(x, x, cols)), CT_NORM_LEAST);
        for (int64_t c = 0; c < cols; c++) x[c] /= r;
        ct_ref_store(&call->out[0], m * cols, cols, x);
    }
    return CT_OK;
}

static ct_status l2_normalize_bwd(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const int64_t rows = ct_ref_rows(&call->in[0]), cols = ct_ref_cols(&call->in[0]);
    double *dy = scratch, *x = dy + cols;
    for (int64_t m = 0; m < rows; m++) {
        ct_ref_load(&call->in[0], m * cols, cols, dy);
        ct_ref_load(&call->in[1], m * cols, cols, x);
        const double norm = sqrt(ct_ref_dot(x, x, cols)), r = fmax(norm, CT_NORM_LEAST);
        const double along = norm < CT_NORM_LEAST ? 0 : ct_ref_dot(dy, x, cols) / r; /* dy along y */
        for (int64_t c = 0; c < cols; c++) dy[c] = (dy[c] - x[c] / r * along) / r;
        ct_ref_store(&call->out[0], m * cols, cols, dy);
    }
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_BATCHNORM, "ref", CT_REF_FLAGS, accept_forward, forward },
    { CT_OP_BATCHNORM_INFER, "ref", CT_REF_FLAGS, accept_infer, infer },
    { CT_OP_BATCHNORM_BWD, "ref", CT_REF_FLAGS, accept_backward, backward },
    { CT_OP_BATCHNORM_MOMENTS, "ref", CT_REF_FLAGS, accept_moments, moments },
    { CT_OP_BATCHNORM_MOMENTS_BWD, "ref", CT_REF_FLAGS, accept_moments, moments_bwd },
    { CT_OP_BATCHNORM_JOINT, "ref", CT_REF_FLAGS, accept_joint, forward },
    { CT_OP_BATCHNORM_JOINT_SUMS, "ref", CT_REF_FLAGS, accept_joint_backward, joint_sums },
    { CT_OP_BATCHNORM_JOINT_BWD, "ref", CT_REF_FLAGS, accept_joint_backward, joint_backward },
    { CT_OP_BATCHNORM_SUM, "ref", CT_REF_FLAGS, accept_sum, forward_sum },
    { CT_OP_BATCHNORM_SUM_BWD, "ref", CT_REF_FLAGS, accept_backward, backward_sum },
    { CT_OP_BATCHNORM_POOL, "ref", CT_REF_FLAGS, accept_forward, forward_pool },
    { CT_OP_BATCHNORM_POOL_BWD, "ref", CT_REF_FLAGS, accept_backward, backward },
    { CT_OP_BATCHNORM_MEAN, "ref", CT_REF_FLAGS, accept_mean, forward_mean },
    { CT_OP_BATCHNORM_MEAN_BWD, "ref", CT_REF_FLAGS, accept_backward, backward },
    { CT_OP_L2_NORMALIZE, "ref", CT_REF_FLAGS, accept_l2, l2_normalize },
    { CT_OP_L2_NORMALIZE_BWD, "ref", CT_REF_FLAGS, accept_l2, l2_normalize_bwd },
};
const ct_impl_set ct_ref_norm_impls = CT_IMPL_SET(impls);
