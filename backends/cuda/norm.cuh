/* What batch norm and its unions with max-pooling and with a second norm share (norm.cu, norm_pool.cu, norm_sum.cu): the statistics of a batch, and the formula that applies
 * them. Statistics, gamma and beta are f32 whatever x is stored in. */
#ifndef CT_CUDA_NORM_CUH
#define CT_CUDA_NORM_CUH

#include <limits.h>

#include "backends/cuda/columns.cuh"

/* What becomes of the sums: the batch's statistics, and the running ones, NULL if they stay. */
struct statistics {
    float *mean, *invstd, *run_mean, *run_var;
    double eps, momentum;
};

/* Statistics of channel c, of which total = sums of x-shift and of its square over n rows. */
__device__ static inline void settle(const statistics &to, int c, double shift, const double total[2], double n)
{
    const double d = total[0] / n, m = shift + d;
    double square = total[1] - total[0] * d; /* sum of (x-mean)^2 */
    if (square < 0) square = 0; /* NaN stays */
    to.mean[c] = (float)m;
    to.invstd[c] = (float)(1 / sqrt(square / n + to.eps));
    if (!to.run_mean) return;
    const float rm = (float)((1 - to.momentum) * (double)to.run_mean[c] + to.momentum * m);
    const float rv = (float)((1 - to.momentum) * (double)to.run_var[c] + to.momentum * (square / (n - 1)));
    if (!isfinite(rm) || !isfinite(rv)) return; /* no skipped step could undo it */
    to.run_mean[c] = rm;
    to.run_var[c] = rv;
}

template <typename T, int V> __global__ void forward_sums(const T *x, ct_sheet sheet, ct_gather gather, statistics to)
{
    const int c0 = ct_sheet_column<V>(sheet);
    float sum[2][V] = {}, shift[V];
    if (c0 < sheet.columns) {
        ct_get_n<T, V>(x + c0, shift);
        ct_sheet_rows_back<CT_AHEAD>(
            sheet, [&](int64_t m) { return ct_fetch<T, V>(x + m * sheet.columns + c0); },
            [&](const ct_pack<T, V> &row, int64_t) {
#pragma unroll
                for (int k = 0; k < V; k++) {
                    float d = ct_get(row.e[k]) - shift[k];
                    sum[0][k] += d;
                    sum[1][k] += d * d;
                }
            });
    }
    ct_sheet_finish<2, V>(sheet, gather, sum,
                          [&](int c, const double total[2]) { settle(to, c, (double)ct_get(x[c]), total, (double)sheet.rows); });
}

/* y = act(gamma*invstd*(x-mean) + beta [+ add]) of one element, slope being gamma*invstd, from the mean and invstd that are stored, so that the
 * backward pass can repeat it bit for bit. */
__device__ static inline float normalised(float x, float slope, float beta, float mean, float add, int act)
{
    float r = slope * (x - mean) + beta + add;
    return act == CT_NORM_RELU && r < 0 ? 0 : act == CT_NORM_SILU ? r * ct_sigmoid(r) : r;
}

/* What is known of a thread's V channels, in registers while it goes through the rows: three numbers each, so that enough of the registers are left
 * for rows on their way. */
template <int V> struct channel_numbers { float slope[V], beta[V], mean[V]; };

/* INFER: `scale` holds the running variance instead of invstd. */
template <int V, bool INFER>
__device__ static inline void read_channels(channel_numbers<V> *n, const float *gamma, const float *beta, const float *mean, const float *scale,
                                            float eps, int c0)
{
#pragma unroll
    for (int k = 0; k < V; k++) {
        n->slope[k] = gamma[c0 + k] * (INFER ? 1 / sqrtf(scale[c0 + k] + eps) : scale[c0 + k]);
        n->beta[k] = beta[c0 + k];
        n->mean[k] = mean[c0 + k];
    }
}

static inline ct_sheet ct_norm_sheet(const ct_desc *x, int v) { return ct_sheet_of(ct_cuda_rows(x), ct_cuda_cols(x), v); }

/* What shape rules leave open: the storage type of x. Statistics, gamma and beta are f32 then. */
static inline ct_accept ct_norm_accept(const ct_call *c, size_t scratch)
{
    if (ct_cuda_cols(&c->in[0].desc) > INT_MAX / 64) return ct_accept_no("cuda: more channels than 32-bit indices reach");
    return ct_cuda_type(c->in[0].desc.dtype) ? ct_accept_yes(scratch) : ct_accept_no(CT_CUDA_NO_TYPE);
}

/* Scratch for so many sums per part and channel over `rows` rows of the channels of x. */
static inline size_t ct_norm_part_bytes(int64_t rows, const ct_desc *x, int sums)
{
    const int64_t columns = ct_cuda_cols(x);
    const int v = x->dtype == CT_F32 ? ct_column_vector<float>(columns) : ct_column_vector<ct_b16>(columns);
    return ct_sheet_bytes(ct_sheet_of(rows, columns, v), v, sums);
}

/* Of a norm's inputs (x, gamma, beta, run_mean, run_var) the statistics into out[0] and out[1], and the running ones moved if they are to be. */
template <typename T, int V>
static statistics launch_statistics(ct_stream *s, const ct_tensor in[5], const ct_tensor out[2], const ct_norm_attrs *a, void *scratch)
{
    const ct_sheet sheet = ct_norm_sheet(&in[0].desc, V);
    float *run_mean = (float *)in[3].data, *run_var = (float *)in[4].data;
    const statistics to = { (float *)out[0].data, (float *)out[1].data, a->update_stats ? run_mean : (float *)NULL, run_var, a->eps, a->momentum };
    auto sums = &forward_sums<T, V>;
    CT_LAUNCH(sums, CT_GRID2(ct_sheet_groups(sheet, V), ct_sheet_parts(sheet, V)), CT_THREADS, s, (const T *)in[0].data, sheet,
              ct_sheet_gather(s, sheet, V, 2, scratch), to);
    return to;
}

/* ---- backward ---- */

/* What is added to dy: NULL, as many pixels as dy has, or of them those in rows and columns 0, step, 2 step, ... */
template <typename T> struct second_gradient {
    const T *data;
    int step, h, w, p, q; /* step 0: all pixels; else of h x w there are p x q */
};

template <typename T> static second_gradient<T> second_of(const ct_call *c, int i)
{
    second_gradient<T> d = {};
    if (!ct_cuda_has(c, i)) return d;
    d.data = (const T *)c->in[i].data;
    if (c->attrs.norm.dy2_step <= 1) return d;
    d.step = (int)c->attrs.norm.dy2_step;
    d.h = (int)c->in[0].desc.dim[1];
    d.w = (int)c->in[0].desc.dim[2];
    d.p = (int)c->in[i].desc.dim[1];
    d.q = (int)c->in[i].desc.dim[2];
    return d;
}

/* V columns of what is added to row m; zeros where nothing is. */
template <typename T, int V>
__device__ static inline ct_pack<T, V> fetch_second(const second_gradient<T> &d, int64_t m, int columns, int c0)
{
    ct_pack<T, V> none = {};
    if (!d.data) return none;
    if (d.step) {
        const int row = (int)m / d.w, j = (int)m % d.w, i = row % d.h;
        if (i % d.step || j % d.step) return none;
        m = ((int64_t)(row / d.h) * d.p + i / d.step) * d.q + j / d.step;
    }
    return ct_fetch<T, V>(d.data + m * columns + c0);
}

/* Of a gradient with so many sums for each channel. */
static inline ct_accept ct_norm_accept_back(const ct_call *c, int sums)
{
    const int64_t rows = ct_cuda_rows(&c->in[0].desc);
    if (c->attrs.norm.dy2_step > 1 && rows > INT_MAX) return ct_accept_no("cuda: more pixels than 32-bit indices reach");
    return ct_norm_accept(c, ct_norm_part_bytes(rows, &c->in[0].desc, sums));
}

#endif
