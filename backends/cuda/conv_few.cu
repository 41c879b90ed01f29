/* Convolutions of few products a pixel ("cuda.few"): those that read pictures, whose one to three channels may be followed by channels of
 * padding (attribute data_c). x [N,H,W,C'], w [K,R,S,C'], y [N,P,Q,K], of which C channels hold data; filters of 3x3 taps with up to
 * three channels, of 5x5 with one. Sums in f32.
 *
 * Such a convolution is bound by the bytes of y. A thread has EIGHT filters, which lie side by side in y, of PIXELS neighbouring outputs
 * of a row: a segment. What their windows share of x is read once, and of x the channels with data alone. The lanes beside it have the
 * other filters of the same outputs and read the same of x, out of the L1 cache.
 *
 * The gradient of the filters keeps its sums in registers: all taps of eight filters, or as many rows of taps as fit, and the grid has
 * the others. What a block has summed goes through memory in parts, as sheets do (columns.cuh): who adds what in which order follows
 * from the shape alone. */
#include "backends/cuda/columns.cuh"
#include "backends/cuda/window.cuh"

enum { EIGHT = 8, PADDED = 8, MOST_FILTERS = 128, FORWARD_BLOCKS = 4096, SHARES = 1024, LEAST_TURNS = 4 };

/* What a kernel is made for: filters of SIDE x SIDE taps, C channels with data, STRIDE along a row; pixels of PITCH channels, which it then
 * reads in one access of LOAD, or (0) of any number. ROWS rows of taps are what a thread has sums for in the gradient, SPLITS threads
 * make all. */
template <int SIDE_, int C_, int PITCH_, int STRIDE_> struct few_kind {
    static const int SIDE = SIDE_, C = C_, PITCH = PITCH_, STRIDE = STRIDE_, LOAD = PITCH == 0 ? 1 : C == 3 ? 4 : C;
    static const int ROWS = C > 1 ? 1 : SIDE == 3 ? 3 : 2, SPLITS = (SIDE + ROWS - 1) / ROWS;
    static const int TAPS = SIDE * SIDE * C, HELD = ROWS * SIDE * C; /* products of an output; of those, what a thread has sums for */
};

/* Outputs of a segment: what registers allow beside the filters' gradient's sums and, where a stride makes windows wide, beside these. */
template <typename T, typename KIND> struct few_pixels {
    static const int forward = KIND::STRIDE == 1 ? 4 : 2, gradient = sizeof(T) == 2 && KIND::STRIDE == 1 && KIND::SIDE == 3 ? 3 : 2;
    static const int blocks = sizeof(T) == 2 && KIND::STRIDE == 1 && KIND::TAPS <= 9 ? 3 : 2; /* forward, on a multiprocessor */
};

struct segment { int n, p, q; };
__device__ static inline segment segment_of(int i, int strips, int pixels, int rows)
{
    const unsigned line = (unsigned)i / (unsigned)strips, n = line / (unsigned)rows;
    segment t = { (int)n, (int)(line - n * (unsigned)rows), (int)((unsigned)i - line * (unsigned)strips) * pixels };
    return t;
}

/* The columns of row `row` of picture n from `first` on, zeros outside. All loads are on their way before the first is used. */
template <typename T, typename KIND, int COLUMNS>
__device__ static inline void load_columns(const T *x, const ct_window &g, int n, int row, int first, float v[COLUMNS][KIND::C])
{
    const int width = row >= 0 && row < g.h ? g.w : 0;
    const int pitch = KIND::PITCH ? (int)KIND::PITCH : g.c;
    const T *line = x + ((int64_t)(n * g.h + row) * g.w + first) * pitch;
    ct_pack<T, KIND::LOAD> raw[COLUMNS][KIND::LOAD == 1 ? KIND::C : 1];
#pragma unroll
    for (int d = 0; d < COLUMNS; d++)
#pragma unroll
        for (int c = 0; c < (KIND::LOAD == 1 ? KIND::C : 1); c++) {
            raw[d][c] = ct_pack<T, KIND::LOAD>();
            if ((unsigned)(first + d) < (unsigned)width) raw[d][c] = ct_fetch<T, KIND::LOAD>(line + d * pitch + c);
        }
#pragma unroll
    for (int d = 0; d < COLUMNS; d++)
#pragma unroll
        for (int c = 0; c < KIND::C; c++) v[d][c] = ct_get(KIND::LOAD == 1 ? raw[d][c].e[0] : raw[d][0].e[c]);
}

/* ---- forward ---- */

template <typename T, typename KIND>
__global__ void __launch_bounds__(CT_THREADS, (few_pixels<T, KIND>::blocks)) few(const T *x, const T *w, const T *bias, T *y, ct_window g)
{
    enum { PIXELS = few_pixels<T, KIND>::forward, SIDE = KIND::SIDE, C = KIND::C, COLUMNS = (PIXELS - 1) * KIND::STRIDE + SIDE };
    alignas(16) __shared__ float room[KIND::TAPS + 1][MOST_FILTERS]; /* filters by taps; behind them the bias */
    for (int i = (int)threadIdx.x; i < KIND::TAPS * g.k; i += CT_THREADS) {
        const int k = i / KIND::TAPS, tap = i % KIND::TAPS;
        room[tap][k] = ct_get(w[(k * SIDE * SIDE + tap / C) * g.c + tap % C]);
    }
    for (int k = (int)threadIdx.x; k < g.k; k += CT_THREADS) room[KIND::TAPS][k] = bias ? ct_get(bias[k]) : 0;
    __syncthreads();
    const int vectors = g.k / EIGHT, teams = CT_THREADS / vectors, team = (int)threadIdx.x / vectors;
    const int k0 = (int)threadIdx.x % vectors * EIGHT, strips = (g.q + PIXELS - 1) / PIXELS, all = g.n * g.p * strips;
    if (team >= teams) return;
    for (int i = (int)blockIdx.x * teams + team; i < all; i += (int)gridDim.x * teams) {
        asm volatile("" ::: "memory"); /* the filters stay where they are: there are no registers for all of them */
        const segment t = segment_of(i, strips, PIXELS, g.p);
        float sum[PIXELS][EIGHT];
#pragma unroll
        for (int j = 0; j < PIXELS; j++)
#pragma unroll
            for (int k = 0; k < EIGHT; k += 4) ct_get_n<float, 4>(&room[KIND::TAPS][k0 + k], sum[j] + k);
#pragma unroll
        for (int r = 0; r < SIDE; r++) {
            float v[COLUMNS][C];
            load_columns<T, KIND, COLUMNS>(x, g, t.n, t.p * g.stride_h - g.pad_h + r, t.q * KIND::STRIDE - g.pad_w, v);
#pragma unroll
            for (int s = 0; s < SIDE; s++)
#pragma unroll
                for (int c = 0; c < C; c++) {
                    float tap[EIGHT];
#pragma unroll
                    for (int k = 0; k < EIGHT; k += 4) ct_get_n<float, 4>(&room[(r * SIDE + s) * C + c][k0 + k], tap + k);
#pragma unroll
                    for (int j = 0; j < PIXELS; j++)
#pragma unroll
                        for (int k = 0; k < EIGHT; k++) sum[j][k] += v[j * KIND::STRIDE + s][c] * tap[k];
                }
        }
        T *to = y + ((int64_t)(t.n * g.p + t.p) * g.q + t.q) * g.k + k0;
#pragma unroll
        for (int j = 0; j < PIXELS; j++)
            if (t.q + j < g.q)
#pragma unroll
                for (int k = 0; k < EIGHT; k += ct_width<T>::value)
                    ct_put_n<T, ct_width<T>::value>(to + j * g.k + k, sum[j] + k);
    }
}

/* ---- the gradient of the filters ---- */

/* Where sums are gathered: part [shares][SPLITS][HELD][K], fold [folds][SPLITS][HELD][K]; 1 << bits lanes have the filters of an output. */
struct few_sums {
    ct_gather to;
    int shares, bits;
    int turns; /* of the teams of a block, in its share of the segments */
};

static int bits_of(int k)
{
    int bits = 0;
    while (EIGHT << bits < k) bits++;
    return bits;
}

static few_sums sums_of(const ct_window *g, int pixels)
{
    few_sums s;
    s.bits = bits_of(g->k);
    const int64_t teams = CT_THREADS >> s.bits, all = (int64_t)g->n * g->p * ((g->q + pixels - 1) / pixels);
    const int64_t turns = (all + teams - 1) / teams, per_share = (turns + SHARES - 1) / SHARES;
    s.turns = (int)(per_share > LEAST_TURNS ? per_share : (int64_t)LEAST_TURNS);
    s.shares = (int)((turns + s.turns - 1) / s.turns);
    s.to.part = NULL;
    s.to.fold = NULL;
    s.to.tickets = NULL;
    return s;
}

static size_t parts_bytes(const few_sums *s, int64_t sums) { return ct_cuda_align((size_t)(s->shares * sums) * sizeof(float)); }

/* Adds up what the teams of a block hold for a tap, and writes it to part [K]. All threads of the block call it, for taps in turn. */
__device__ static inline void add_teams(const float sum[EIGHT], int bits, int filters, int turn, float *part)
{
    __shared__ float room[2][EIGHT][CT_THREADS / 32][MOST_FILTERS / EIGHT];
    const int lanes = 1 << bits, in_warp = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    float (*mine)[CT_THREADS / 32][MOST_FILTERS / EIGHT] = room[turn % 2]; /* the other one is still read */
#pragma unroll
    for (int k = 0; k < EIGHT; k++) {
        float a = sum[k];
        for (int d = 16; d >= lanes; d >>= 1) a += __shfl_xor_sync(0xffffffffu, a, d); /* teams of one warp */
        if (in_warp < lanes) mine[k][warp][in_warp] = a;
    }
    __syncthreads();
    const int k = (int)threadIdx.x;
    if (k >= filters) return;
    float a = 0;
    for (int t = 0; t < CT_THREADS / 32; t++) a += mine[k % EIGHT][t][k / EIGHT];
    part[k] = a;
}

/* The total of column e, over all shares, of a block's split, from the folds or, where there is but one, the parts. */
template <typename T, typename KIND>
__device__ static inline void write_filters(const ct_window &g, const few_sums &s, int split, int folds, T *dw)
{
    const int held = KIND::HELD * g.k, row = held * KIND::SPLITS;
    for (int e = (int)threadIdx.x; e < KIND::ROWS * KIND::SIDE * g.c * g.k; e += CT_THREADS) {
        const int k = e % g.k, c = e / g.k % g.c, tap = e / g.k / g.c; /* tap: among those of the split */
        if (split * KIND::ROWS * KIND::SIDE + tap >= KIND::SIDE * KIND::SIDE) continue;
        const int at = split * held + (tap * KIND::C + c) * g.k + k;
        double total[1] = { 0 }; /* what channels of padding get */
        if (c < KIND::C && folds > 1) ct_sheet_add<1>(s.to.fold, 0, 1, folds, row, at, total);
        else if (c < KIND::C) ct_sheet_add<1>(s.to.part, 0, 1, s.shares, row, at, total);
        ct_put(dw + (k * KIND::SIDE * KIND::SIDE + split * KIND::ROWS * KIND::SIDE + tap) * g.c + c, (float)total[0]);
    }
}

/* Behind the parts: of CT_FOLD shares the block that is done last adds up what they left, of all folds the last adds up those. */
template <typename T, typename KIND>
__device__ static inline void finish(const ct_window &g, const few_sums &s, int share, int split, T *dw)
{
    const int folds = (s.shares + CT_FOLD - 1) / CT_FOLD, fold = share / CT_FOLD, first = fold * CT_FOLD;
    const int n = s.shares - first < CT_FOLD ? s.shares - first : CT_FOLD, held = KIND::HELD * g.k, row = held * KIND::SPLITS;
    unsigned *ticket = s.to.tickets + split * (folds + 1);
    if (s.shares == 1) __syncthreads();
    else if (!ct_sheet_last(ticket + fold, (unsigned)n)) return;
    if (folds > 1) {
        for (int e = (int)threadIdx.x; e < held; e += CT_THREADS) {
            double total[1];
            ct_sheet_add<1>(s.to.part + (int64_t)first * row, 0, 1, n, row, split * held + e, total);
            s.to.fold[(int64_t)fold * row + split * held + e] = total[0];
        }
        if (!ct_sheet_last(ticket + folds, (unsigned)folds)) return;
    }
    write_filters<T, KIND>(g, s, split, folds, dw);
}

template <typename T, typename KIND>
__global__ void __launch_bounds__(CT_THREADS, 2) few_filters(const T *x, const T *dy, T *dw, ct_window g, few_sums s)
{
    enum {
        PIXELS = few_pixels<T, KIND>::gradient, SIDE = KIND::SIDE, C = KIND::C, ROWS = KIND::ROWS, WIDE = ct_width<T>::value,
        COLUMNS = (PIXELS - 1) * KIND::STRIDE + SIDE
    };
    const int split = (int)blockIdx.x % KIND::SPLITS, share = (int)blockIdx.x / KIND::SPLITS;
    const int teams = CT_THREADS >> s.bits, team = (int)threadIdx.x >> s.bits, k0 = ((int)threadIdx.x & ((1 << s.bits) - 1)) * EIGHT;
    const int strips = (g.q + PIXELS - 1) / PIXELS, all = g.n * g.p * strips, begin = share * s.turns * teams;
    const int end = all - begin < s.turns * teams ? all : begin + s.turns * teams;
    float sum[KIND::HELD][EIGHT] = { { 0 } };
    for (int i = begin + team; k0 < g.k && i < end; i += teams) {
        const segment t = segment_of(i, strips, PIXELS, g.p);
        const T *from = dy + ((int64_t)(t.n * g.p + t.p) * g.q + t.q) * g.k + k0;
        ct_pack<T, WIDE> raw[PIXELS][EIGHT / WIDE];
#pragma unroll
        for (int j = 0; j < PIXELS; j++)
#pragma unroll
            for (int k = 0; k < EIGHT / WIDE; k++) {
                raw[j][k] = ct_pack<T, WIDE>();
                if (t.q + j < g.q) raw[j][k] = ct_fetch<T, WIDE>(from + j * g.k + k * WIDE);
            }
        float v[ROWS][COLUMNS][C];
#pragma unroll
        for (int r = 0; r < ROWS; r++) /* rows of taps that there are none of have sums that nobody reads */
            load_columns<T, KIND, COLUMNS>(x, g, t.n, t.p * g.stride_h - g.pad_h + split * ROWS + r, t.q * KIND::STRIDE - g.pad_w, v[r]);
#pragma unroll
        for (int j = 0; j < PIXELS; j++) {
            float d[EIGHT];
#pragma unroll
            for (int k = 0; k < EIGHT; k++) d[k] = ct_get(raw[j][k / WIDE].e[k % WIDE]);
#pragma unroll
            for (int r = 0; r < ROWS; r++)
#pragma unroll
                for (int m = 0; m < SIDE * C; m++)
#pragma unroll
                    for (int k = 0; k < EIGHT; k++) sum[r * SIDE * C + m][k] += d[k] * v[r][j * KIND::STRIDE + m / C][m % C];
        }
    }
    float *part = s.to.part + ((int64_t)share * KIND::SPLITS + split) * KIND::HELD * g.k;
#pragma unroll
    for (int m = 0; m < KIND::HELD; m++) add_teams(sum[m], s.bits, g.k, m, part + m * g.k);
    finish<T, KIND>(g, s, share, split, dw);
}

/* ---- the implementations ---- */

/* x, w, y as in the forward direction. */
static ct_accept accept_few(const ct_device *dev, const ct_call *c, const ct_desc *x, const ct_desc *w, const ct_desc *y)
{
    const int64_t limit = INT64_C(1) << 30; /* of what is counted in 32 bits, with room for windows that reach over the edge */
    const ct_conv_attrs *a = &c->attrs.conv;
    const ct_accept factors = ct_cuda_factors(dev, c);
    if (!factors.ok) return factors;
    if (dev->opts.strict && (x->dtype != CT_F32 || dev->opts.tf32)) return ct_accept_no("cuda: train.strict asks for matrix units");
    const int64_t side = w->dim[1], data = a->data_c ? a->data_c : x->dim[3];
    if (a->groups != 1 || a->dil_h != 1 || a->dil_w != 1) return ct_accept_no("cuda: groups or dilation");
    if (w->dim[2] != side || !((side == 3 && data <= 3) || (side == 5 && data == 1)))
        return ct_accept_no("cuda: other than 3x3 taps with 1 to 3 channels of data, 5x5 with one");
    if (a->stride_h > 2 || a->stride_w > 2) return ct_accept_no("cuda: strides above 2");
    if (w->dim[0] % EIGHT != 0 || w->dim[0] > MOST_FILTERS) return ct_accept_no("cuda: filters are no multiple of 8, or more than 128");
    if (x->dim[3] > PADDED) return ct_accept_no("cuda: more than 8 channels, with those of padding");
    if (ct_cuda_rows(x) > limit || ct_cuda_rows(y) > limit) return ct_accept_no("cuda: more than 2^30 pixels");
    if (a->pad_h > limit / 64 || a->pad_w > limit / 64) return ct_accept_no("cuda: padding above 2^24");
    return ct_accept_yes(0);
}

/* Calls use(KIND()) with what the call's kernels are made for. */
template <int PITCH, int STRIDE, typename USE> static void by_window(int side, int data, USE use)
{
    if (side == 5) use(few_kind<5, 1, PITCH, STRIDE>());
    else if (data == 1) use(few_kind<3, 1, PITCH, STRIDE>());
    else if (data == 2) use(few_kind<3, 2, PITCH, STRIDE>());
    else use(few_kind<3, 3, PITCH, STRIDE>());
}
template <int PITCH, typename USE> static void by_stride(const ct_call *c, const ct_desc *x, const ct_desc *w, USE use)
{
    const int side = (int)w->dim[1], data = (int)(c->attrs.conv.data_c ? c->attrs.conv.data_c : x->dim[3]);
    if (c->attrs.conv.stride_w == 1) by_window<PITCH, 1>(side, data, use);
    else by_window<PITCH, 2>(side, data, use);
}
template <typename T> struct by_kind { /* pictures in 16 bits have channels of padding, those in f32 seldom have */
    template <typename USE> static void call(const ct_call *c, const ct_desc *x, const ct_desc *w, USE use)
    {
        if (x->dim[3] == PADDED) by_stride<PADDED>(c, x, w, use);
        else by_stride<0>(c, x, w, use);
    }
};
template <> struct by_kind<float> {
    template <typename USE> static void call(const ct_call *c, const ct_desc *x, const ct_desc *w, USE use) { by_stride<0>(c, x, w, use); }
};

template <typename T> struct forward_use {
    const T *x, *w, *bias;
    T *y;
    ct_window g;
    ct_stream *s;
    template <typename KIND> void operator()(KIND) const
    {
        const int64_t teams = CT_THREADS / (g.k / EIGHT), pixels = few_pixels<T, KIND>::forward;
        const int64_t all = (int64_t)g.n * g.p * ((g.q + pixels - 1) / pixels), blocks = (all + teams - 1) / teams;
        auto k = &few<T, KIND>;
        CT_LAUNCH(k, CT_GRID1(blocks < FORWARD_BLOCKS ? blocks : (int64_t)FORWARD_BLOCKS), CT_THREADS, s, x, w, bias, y, g);
    }
};

template <typename T> struct gradient_use {
    const T *x, *dy;
    T *dw;
    ct_window g;
    ct_stream *s;
    void *scratch;
    template <typename KIND> void operator()(KIND) const
    {
        few_sums sums = sums_of(&g, few_pixels<T, KIND>::gradient);
        sums.to.part = (float *)scratch;
        sums.to.fold = (double *)((char *)scratch + parts_bytes(&sums, (int64_t)KIND::SPLITS * KIND::HELD * g.k));
        sums.to.tickets = s->tickets;
        auto k = &few_filters<T, KIND>;
        CT_LAUNCH(k, CT_GRID1(sums.shares * KIND::SPLITS), CT_THREADS, s, x, dy, dw, g, sums);
    }
};

template <typename T> struct scratch_use {
    ct_window g;
    size_t *bytes;
    template <typename KIND> void operator()(KIND) const
    {
        const few_sums s = sums_of(&g, few_pixels<T, KIND>::gradient);
        const int64_t sums = (int64_t)KIND::SPLITS * KIND::HELD * g.k;
        *bytes = parts_bytes(&s, sums) + (size_t)(ct_sheet_folds(s.shares) * sums) * sizeof(double);
    }
};

static ct_accept conv2d_few_accept(const ct_device *dev, const ct_call *c)
{
    if (c->nout > 1) return ct_accept_no(CT_CUDA_NO_MOMENTS);
    return accept_few(dev, c, &c->in[0].desc, &c->in[1].desc, &c->out[0].desc);
}
static ct_status conv2d_few_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const ct_window g = ct_window_of(&c->attrs.conv, &c->in[0].desc, &c->in[1].desc, &c->out[0].desc);
    CT_BY_TYPE(c->in[0].desc.dtype, {
        const T *bias = ct_cuda_has(c, 2) ? (const T *)c->in[2].data : (const T *)NULL;
        const forward_use<T> use = { (const T *)c->in[0].data, (const T *)c->in[1].data, bias, (T *)c->out[0].data, g, s };
        by_kind<T>::call(c, &c->in[0].desc, &c->in[1].desc, use);
    })
    CT_LAUNCHED("conv2d of few channels");
}
static ct_accept conv2d_wgrad_few_accept(const ct_device *dev, const ct_call *c)
{
    const ct_accept a = accept_few(dev, c, &c->in[0].desc, &c->out[0].desc, &c->in[1].desc);
    if (!a.ok) return a;
    const ct_window g = ct_window_of(&c->attrs.conv, &c->in[0].desc, &c->out[0].desc, &c->in[1].desc);
    size_t bytes = 0;
    if (c->in[0].desc.dtype == CT_F32) {
        const scratch_use<float> use = { g, &bytes };
        by_kind<float>::call(c, &c->in[0].desc, &c->out[0].desc, use);
    } else {
        const scratch_use<ct_b16> use = { g, &bytes };
        by_kind<ct_b16>::call(c, &c->in[0].desc, &c->out[0].desc, use);
    }
    return ct_accept_yes(bytes);
}
static ct_status conv2d_wgrad_few_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    const ct_window g = ct_window_of(&c->attrs.conv, &c->in[0].desc, &c->out[0].desc, &c->in[1].desc);
    CT_BY_TYPE(c->in[0].desc.dtype, {
        const gradient_use<T> use = { (const T *)c->in[0].data, (const T *)c->in[1].data, (T *)c->out[0].data, g, s, scratch };
        by_kind<T>::call(c, &c->in[0].desc, &c->out[0].desc, use);
    })
    CT_LAUNCHED("conv2d_wgrad of few channels");
}

static const ct_impl impls[] = {
    { CT_OP_CONV2D, "cuda.few", CT_CUDA_TUNED, conv2d_few_accept, conv2d_few_run },
    { CT_OP_CONV2D_WGRAD, "cuda.few", CT_CUDA_TUNED, conv2d_wgrad_few_accept, conv2d_wgrad_few_run },
};
CT_CUDA_SET(conv_few)
