/* concat_channels, slice_channels, place_channels: columns moved from rows to rows, 16 bytes to a thread where all begins and ends at a
 * multiple of that; scale_channels and its gradient. */
#include "backends/cuda/columns.cuh"

/* ---- moving columns ---- */

/* Columns [from, from + width) of x [rows, have] become columns [to, to + width) of y [rows, want]. */
struct columns { int64_t rows, have, from, want, to, width; };

template <typename T, int V> __global__ void move_columns(const T *x, T *y, columns s)
{
    int64_t groups = s.width / V;
    for (CT_EACH(i, s.rows * groups)) {
        int64_t m = i / groups, c = i % groups * V;
        *reinterpret_cast<ct_pack<T, V> *>(y + m * s.want + s.to + c) =
            *reinterpret_cast<const ct_pack<T, V> *>(x + m * s.have + s.from + c);
    }
}

template <typename T> static void run_move(ct_stream *s, const void *x, void *y, columns k)
{
    const int V = ct_width<T>::value;
    if ((k.have | k.from | k.want | k.to | k.width) % V == 0) {
        auto f = &move_columns<T, V>;
        CT_LAUNCH(f, CT_GRID1(ct_blocks(k.rows * (k.width / V))), CT_THREADS, s, (const T *)x, (T *)y, k);
    } else {
        auto f = &move_columns<T, 1>;
        CT_LAUNCH(f, CT_GRID1(ct_blocks(k.rows * k.width)), CT_THREADS, s, (const T *)x, (T *)y, k);
    }
}

static ct_accept accept_type(const ct_call *c)
{
    return ct_cuda_type(c->in[0].desc.dtype) ? ct_accept_yes(0) : ct_accept_no(CT_CUDA_NO_TYPE);
}

static ct_accept concat_channels_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_type(c);
}
static ct_status concat_channels_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    int64_t rows = ct_cuda_rows(&c->out[0].desc), want = ct_cuda_cols(&c->out[0].desc), to = 0;
    for (int i = 0; i < c->nin; i++) {
        int64_t width = ct_cuda_cols(&c->in[i].desc);
        columns k = { rows, width, 0, want, to, width };
        CT_BY_TYPE(c->in[i].desc.dtype, { run_move<T>(s, c->in[i].data, c->out[0].data, k); })
        to += width;
    }
    CT_LAUNCHED("concat_channels");
}

static ct_accept slice_channels_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_type(c);
}
static ct_status slice_channels_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    int64_t width = ct_cuda_cols(&c->out[0].desc);
    columns k = { ct_cuda_rows(&c->out[0].desc), ct_cuda_cols(&c->in[0].desc), c->attrs.channels.first, width, 0, width };
    CT_BY_TYPE(c->in[0].desc.dtype, { run_move<T>(s, c->in[0].data, c->out[0].data, k); })
    CT_LAUNCHED("slice_channels");
}

/* Every column of y: x's where it lies, zeros around it. */
template <typename T, int V> __global__ void place(const T *x, T *y, columns s)
{
    int64_t groups = s.want / V;
    for (CT_EACH(i, s.rows * groups)) {
        int64_t m = i / groups, c = i % groups * V - s.to; /* of x */
        ct_pack<T, V> k;
        if (c >= 0 && c < s.have) {
            k = *reinterpret_cast<const ct_pack<T, V> *>(x + m * s.have + c);
        } else {
#pragma unroll
            for (int e = 0; e < V; e++) ct_put(&k.e[e], 0);
        }
        *reinterpret_cast<ct_pack<T, V> *>(y + i * V) = k;
    }
}

static ct_accept place_channels_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_type(c);
}
static ct_status place_channels_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    int64_t have = ct_cuda_cols(&c->in[0].desc), want = ct_cuda_cols(&c->out[0].desc), rows = ct_cuda_rows(&c->out[0].desc);
    columns k = { rows, have, 0, want, c->attrs.channels.first, have };
    CT_BY_TYPE(c->in[0].desc.dtype, {
        const int V = ct_width<T>::value;
        const T *x = (const T *)c->in[0].data;
        T *y = (T *)c->out[0].data;
        if ((have | want | k.to) % V == 0) {
            auto f = &place<T, V>;
            CT_LAUNCH(f, CT_GRID1(ct_blocks(rows * (want / V))), CT_THREADS, s, x, y, k);
        } else {
            auto f = &place<T, 1>;
            CT_LAUNCH(f, CT_GRID1(ct_blocks(rows * want)), CT_THREADS, s, x, y, k);
        }
    })
    CT_LAUNCHED("place_channels");
}

/* ---- factors ---- */

template <typename T, int V> __global__ void scale(const T *x, const T *g, T *y, int64_t vectors, int64_t sample, int64_t channels)
{
    for (CT_EACH(i, vectors)) {
        int64_t at = i * V;
        float v[V], f[V];
        ct_get_n<T, V>(x + at, v);
        ct_get_n<T, V>(g + at / sample * channels + at % channels, f);
#pragma unroll
        for (int k = 0; k < V; k++) v[k] *= f[k];
        ct_put_n<T, V>(y + at, v);
    }
}

/* Sums of dy*x: the rows of the grid are the parts of the samples, `parts` of them each. */
template <typename T, int V>
__global__ void scale_sums(const T *dy, const T *x, int64_t pixels, int64_t channels, int64_t parts, float *part)
{
    int64_t c0 = ct_column<V>(), n = (int64_t)blockIdx.y / parts, p = (int64_t)blockIdx.y % parts;
    float sum[1][V] = {}, g[V], v[V];
    if (c0 < channels)
        for (int64_t m = p * CT_TEAMS + threadIdx.x / CT_LANES; m < pixels; m += parts * CT_TEAMS) {
            int64_t at = (n * pixels + m) * channels + c0;
            ct_get_n<T, V>(dy + at, g);
            ct_get_n<T, V>(x + at, v);
#pragma unroll
            for (int k = 0; k < V; k++) sum[0][k] += g[k] * v[k];
        }
    ct_write_part<1, V>(sum, c0, channels, part);
}

template <typename T> __global__ void scale_finish(const float *part, int64_t parts, int64_t channels, T *dg, int64_t n)
{
    for (CT_EACH(i, n)) {
        int64_t sample = i / channels, c = i % channels;
        double sum = 0;
        for (int64_t p = 0; p < parts; p++) sum += (double)part[(sample * parts + p) * channels + c];
        ct_put(dg + i, (float)sum);
    }
}

/* Parts of each sample's pixels: as many blocks as for the rows of one matrix. */
static int64_t sample_parts(const ct_desc *x, int v)
{
    int64_t groups = ct_column_groups(x->dim[3], v);
    return ct_row_parts(x->dim[1] * x->dim[2], groups * x->dim[0]);
}

static ct_accept scale_channels_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_type(c);
}
static ct_status scale_channels_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const ct_desc *x = &c->in[0].desc;
    int64_t total = ct_cuda_numel(x), channels = x->dim[3], sample = total / x->dim[0];
    CT_BY_TYPE(x->dtype, {
        const int V = ct_width<T>::value;
        const T *from = (const T *)c->in[0].data;
        const T *g = (const T *)c->in[1].data;
        T *y = (T *)c->out[0].data;
        if (channels % V == 0) {
            auto k = &scale<T, V>;
            CT_LAUNCH(k, CT_GRID1(ct_blocks(total / V)), CT_THREADS, s, from, g, y, total / V, sample, channels);
        } else {
            auto k = &scale<T, 1>;
            CT_LAUNCH(k, CT_GRID1(ct_blocks(total)), CT_THREADS, s, from, g, y, total, sample, channels);
        }
    })
    CT_LAUNCHED("scale_channels");
}

/* Columns a lane takes at once. */
static int column_vector(const ct_desc *x)
{
    return x->dtype == CT_F32 ? ct_column_vector<float>(x->dim[3]) : ct_column_vector<ct_b16>(x->dim[3]);
}

static ct_accept scale_channels_bwd_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    const ct_desc *x = &c->in[0].desc;
    if (!ct_cuda_type(x->dtype)) return ct_accept_no(CT_CUDA_NO_TYPE);
    int64_t rows = x->dim[0] * sample_parts(x, column_vector(x));
    if (rows > 65535) return ct_accept_no("cuda: more samples than a grid has rows");
    return ct_accept_yes((size_t)(rows * x->dim[3]) * sizeof(float));
}

template <typename T, int V> static void scale_backward(ct_stream *s, const ct_call *c, float *part)
{
    const ct_desc *x = &c->in[0].desc;
    int64_t channels = x->dim[3], pixels = x->dim[1] * x->dim[2], parts = sample_parts(x, V), n = x->dim[0] * channels;
    auto sums = &scale_sums<T, V>;
    auto finish = &scale_finish<T>;
    CT_LAUNCH(sums, CT_GRID2(ct_column_groups(channels, V), x->dim[0] * parts), CT_THREADS, s, (const T *)c->in[0].data,
              (const T *)c->in[1].data, pixels, channels, parts, part);
    CT_LAUNCH(finish, CT_GRID1(ct_blocks(n)), CT_THREADS, s, (const float *)part, parts, channels, (T *)c->out[0].data, n);
}

static ct_status scale_channels_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    CT_BY_TYPE(c->in[0].desc.dtype, {
        if (column_vector(&c->in[0].desc) > 1) scale_backward<T, ct_width<T>::value>(s, c, (float *)scratch);
        else scale_backward<T, 1>(s, c, (float *)scratch);
    })
    CT_LAUNCHED("scale_channels_bwd");
}

static const ct_impl impls[] = {
    { CT_OP_CONCAT_CHANNELS, "cuda.kernel", CT_CUDA_TUNED, concat_channels_accept, concat_channels_run },
    { CT_OP_SLICE_CHANNELS, "cuda.kernel", CT_CUDA_TUNED, slice_channels_accept, slice_channels_run },
    { CT_OP_PLACE_CHANNELS, "cuda.kernel", CT_CUDA_TUNED, place_channels_accept, place_channels_run },
    { CT_OP_SCALE_CHANNELS, "cuda.kernel", CT_CUDA_TUNED, scale_channels_accept, scale_channels_run },
    { CT_OP_SCALE_CHANNELS_BWD, "cuda.kernel", CT_CUDA_TUNED, scale_channels_bwd_accept, scale_channels_bwd_run },
};
CT_CUDA_SET(channels)
