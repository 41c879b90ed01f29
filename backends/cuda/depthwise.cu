/* Depthwise convolutions ("cuda.depthwise"): every channel has one filter of its own, C = K = groups. x [N,H,W,C], w [C,R,S,1],
 * y [N,P,Q,C], filters of up to 7x7 taps, sums in f32.
 *
 * Such a convolution is bound by memory, so threads take V neighbouring channels in one access of 16 bytes (V = 1 where C is no
 * multiple of that). A block works on a slab of at most SLAB channels; its filters lie in shared memory, taps outermost. Its threads
 * are `groups` vectors of channels by `teams` places, where groups is what the slab has: 40 channels of bf16 are 5 groups by 51 teams.
 *
 * Filters of 3x3 and 5x5 taps at stride and dilation 1 along w, forward and backward, slide: a thread makes STRIP neighbouring outputs
 * and reads what their windows share once. The gradient of the filters is summed in two stages: parts of the pixels by blocks, then
 * the parts in f64. Who adds what in which order follows from the shape alone. */
#include "backends/cuda/columns.cuh"
#include "backends/cuda/window.cuh"

enum { MAX_TAPS = 7, SLAB = 64, STRIP = 4, MAX_WINDOW_PARTS = 512, LEAST_PIXELS = 8 };

/* ---- what a thread does within its block ---- */

/* A thread's first channel c0, and its place among those of the block; idle threads have team == teams. */
struct place {
    int c0, first, channels; /* first channel of the slab, and how many it has */
    int groups, group, team, teams;
};

template <int V> __device__ static inline place place_of(int c)
{
    place t;
    t.first = (int)blockIdx.x * SLAB;
    t.channels = c - t.first < SLAB ? c - t.first : SLAB;
    t.groups = t.channels / V;
    t.teams = CT_THREADS / t.groups;
    t.team = (int)threadIdx.x / t.groups;
    t.group = (int)threadIdx.x % t.groups;
    t.c0 = t.first + t.group * V;
    return t;
}

/* The slab's filters [taps][SLAB], turned round by 180 degrees where `flip` says so. All threads of the block call it. */
template <typename T> __device__ static inline void load_filters(const T *w, const place &t, int taps, bool flip, float *room)
{
    for (int i = (int)threadIdx.x; i < taps * t.channels; i += CT_THREADS) {
        int c = i / taps, tap = i % taps;
        room[(flip ? taps - 1 - tap : tap) * SLAB + c] = ct_get(w[(int64_t)(t.first + c) * taps + tap]);
    }
    __syncthreads();
}

template <typename T, int V> __device__ static inline void start_with(const T *bias, int c0, float sum[V])
{
#pragma unroll
    for (int k = 0; k < V; k++) sum[k] = bias ? ct_get(bias[c0 + k]) : 0;
}

/* sum += x at `from` times the taps of V channels. */
template <typename T, int V> __device__ static inline void add_products(const T *from, const float *tap, float sum[V])
{
    float v[V];
    ct_get_n<T, V>(from, v);
#pragma unroll
    for (int k = 0; k < V; k++) sum[k] += v[k] * tap[k];
}

/* V taps from shared memory, 16 bytes at once where that many stand together. */
template <int V> __device__ static inline void copy_taps(const float *from, float tap[V])
{
    enum { AT_ONCE = V % 4 == 0 ? 4 : 1 };
#pragma unroll
    for (int k = 0; k < V; k += AT_ONCE) ct_get_n<float, AT_ONCE>(from + k, tap + k);
}

/* V channels of a pixel that is held with others: words where there are 16 bytes of them. */
template <typename T, int V> struct held {
    ct_pack<T, V> p;
    __device__ __forceinline__ float get(int k) const { return ct_get(p.e[k]); }
};
template <> struct held<float, 4> : ct_words<float, 4> {};
template <> struct held<ct_b16, 8> : ct_words<ct_b16, 8> {};
template <> struct held<ct_h16, 8> : ct_words<ct_h16, 8> {};

/* What is at `from`, or zeros. */
template <typename T, int V> __device__ static inline held<T, V> hold(const T *from, bool there)
{
    held<T, V> h = {};
    if (there) h = *reinterpret_cast<const held<T, V> *>(from);
    return h;
}

/* ---- forward and the gradient of x ---- */

/* Rows of the windows that are on their way together: all of 3x3 taps, but of f16, whose elements take more registers to become f32. */
template <typename T, int K> struct rows_at_once { static const int value = K == 3 ? 3 : 1; };
template <> struct rows_at_once<ct_h16, 3> { static const int value = 1; };

/* K x K taps, stride_w = dil_w = 1: y for STRIP neighbours at a time. */
template <typename T, int V, int K>
__global__ void __launch_bounds__(CT_THREADS, 2) slide(const T *x, const T *w, const T *bias, T *y, ct_window g, bool flip)
{
    enum { ROWS = rows_at_once<T, K>::value, COLUMNS = STRIP + K - 1 };
    alignas(16) __shared__ float room[K * K * SLAB];
    const place t = place_of<V>(g.c);
    const int strips = (g.q + STRIP - 1) / STRIP, all = g.n * g.p * strips;
    load_filters(w, t, K * K, flip, room);
    for (int i = (int)blockIdx.y * t.teams + t.team; t.team < t.teams && i < all; i += (int)gridDim.y * t.teams) {
        const int q0 = i % strips * STRIP, p = i / strips % g.p, n = i / strips / g.p, col0 = q0 - g.pad_w;
        float sum[STRIP][V];
#pragma unroll
        for (int j = 0; j < STRIP; j++) start_with<T, V>(bias, t.c0, sum[j]);
#pragma unroll 1
        for (int r0 = 0; r0 < K; r0 += ROWS) {
            held<T, V> raw[ROWS][COLUMNS];
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                const int row = p * g.stride_h - g.pad_h + (r0 + r) * g.dil_h, width = row < 0 || row >= g.h ? 0 : g.w;
                const T *line = x + ((int64_t)(n * g.h + row) * g.w + col0) * g.c + t.c0;
#pragma unroll
                for (int d = 0; d < COLUMNS; d++) raw[r][d] = hold<T, V>(line + (int64_t)d * g.c, (unsigned)(col0 + d) < (unsigned)width);
            }
#pragma unroll
            for (int r = 0; r < ROWS; r++)
#pragma unroll
                for (int m = 0; m < K; m++) { /* column col0 + j + m is tap m of output j */
                    float tap[V];
                    copy_taps<V>(room + ((r0 + r) * K + m) * SLAB + t.group * V, tap);
#pragma unroll
                    for (int j = 0; j < STRIP; j++)
#pragma unroll
                        for (int k = 0; k < V; k++) sum[j][k] += raw[r][j + m].get(k) * tap[k];
                }
        }
#pragma unroll
        for (int j = 0; j < STRIP; j++)
            if (q0 + j < g.q) ct_put_n<T, V>(y + ((int64_t)(n * g.p + p) * g.q + q0 + j) * g.c + t.c0, sum[j]);
    }
}

/* Any window: one y at a time. */
template <typename T, int V> __global__ void forward(const T *x, const T *w, const T *bias, T *y, ct_window g, bool flip)
{
    __shared__ float room[MAX_TAPS * MAX_TAPS * SLAB];
    const place t = place_of<V>(g.c);
    const int all = g.n * g.p * g.q;
    load_filters(w, t, g.r * g.s, flip, room);
    for (int i = (int)blockIdx.y * t.teams + t.team; t.team < t.teams && i < all; i += (int)gridDim.y * t.teams) {
        const int q = i % g.q, p = i / g.q % g.p, n = i / g.q / g.p;
        float sum[V];
        start_with<T, V>(bias, t.c0, sum);
        for (int r = 0; r < g.r; r++) {
            const int row = p * g.stride_h - g.pad_h + r * g.dil_h;
            if (row < 0 || row >= g.h) continue;
            for (int j = 0; j < g.s; j++) {
                const int col = q * g.stride_w - g.pad_w + j * g.dil_w;
                if (col < 0 || col >= g.w) continue;
                add_products<T, V>(x + ((int64_t)(n * g.h + row) * g.w + col) * g.c + t.c0,
                                   room + (r * g.s + j) * SLAB + t.group * V, sum);
            }
        }
        ct_put_n<T, V>(y + (int64_t)i * g.c + t.c0, sum);
    }
}

/* The output coordinate whose tap reads input coordinate i, from d = i + pad - tap * dil; or -1. */
__device__ static inline int source_of(int d, int stride, int count)
{
    return d < 0 || d % stride != 0 || d / stride >= count ? -1 : d / stride;
}

/* dx for strides above 1: from the outputs whose windows meet the pixel. TWO: both strides are 2, which spares divisions. */
template <typename T, int V, bool TWO> __global__ void backward(const T *dy, const T *w, T *dx, ct_window g)
{
    __shared__ float room[MAX_TAPS * MAX_TAPS * SLAB];
    const place t = place_of<V>(g.c);
    const int all = g.n * g.h * g.w;
    load_filters(w, t, g.r * g.s, false, room);
    for (int i = (int)blockIdx.y * t.teams + t.team; t.team < t.teams && i < all; i += (int)gridDim.y * t.teams) {
        const int col = i % g.w, row = i / g.w % g.h, n = i / g.w / g.h;
        float sum[V] = { 0 };
        for (int r = 0; r < g.r; r++) {
            const int p = source_of(row + g.pad_h - r * g.dil_h, TWO ? 2 : g.stride_h, g.p);
            if (p < 0) continue;
            for (int j = 0; j < g.s; j++) {
                const int q = source_of(col + g.pad_w - j * g.dil_w, TWO ? 2 : g.stride_w, g.q);
                if (q < 0) continue;
                add_products<T, V>(dy + ((int64_t)(n * g.p + p) * g.q + q) * g.c + t.c0, room + (r * g.s + j) * SLAB + t.group * V,
                                   sum);
            }
        }
        ct_put_n<T, V>(dx + (int64_t)i * g.c + t.c0, sum);
    }
}

/* ---- the gradient of the filters ---- */

/* Adds up the V sums of all teams of a block, in a tree; those of team 0 are the totals. All threads of the block call it. */
template <int V> __device__ static inline void add_teams(const place &t, float sum[V], float *room)
{
    float *mine = room + (int)threadIdx.x * V;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < V; k++) mine[k] = sum[k];
    __syncthreads();
    for (int d = CT_THREADS / 2; d > 0; d >>= 1) {
        if (t.team < d && t.team + d < t.teams)
#pragma unroll
            for (int k = 0; k < V; k++) mine[k] += mine[d * t.groups * V + k];
        __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < V; k++) sum[k] = mine[k];
}

/* Row r of the filters from the block's share of the output pixels: part [parts][C][R][S]. blockIdx.y is part * R + r. W >= S. */
template <typename T, int V, int W> __global__ void filter_parts(const T *x, const T *dy, float *part, ct_window g, int pixels)
{
    __shared__ float room[CT_THREADS * V];
    const place t = place_of<V>(g.c);
    const int r = (int)blockIdx.y % g.r, share = (int)blockIdx.y / g.r, all = g.n * g.p * g.q;
    const int end = all - share * pixels < pixels ? all : (share + 1) * pixels;
    float sum[W][V] = { { 0 } };
    for (int i = share * pixels + t.team; t.team < t.teams && i < end; i += t.teams) {
        const int q = i % g.q, p = i / g.q % g.p, n = i / g.q / g.p;
        const int row = p * g.stride_h - g.pad_h + r * g.dil_h, col0 = q * g.stride_w - g.pad_w;
        if (row < 0 || row >= g.h) continue;
        const T *line = x + (int64_t)(n * g.h + row) * g.w * g.c + t.c0;
        float d[V];
        ct_get_n<T, V>(dy + (int64_t)i * g.c + t.c0, d);
#pragma unroll
        for (int j = 0; j < W; j++) {
            const int col = col0 + j * g.dil_w;
            if (j < g.s && col >= 0 && col < g.w) add_products<T, V>(line + (int64_t)col * g.c, d, sum[j]);
        }
    }
#pragma unroll
    for (int j = 0; j < W; j++) {
        if (j >= g.s) break;
        add_teams<V>(t, sum[j], room);
        if (t.team == 0)
#pragma unroll
            for (int k = 0; k < V; k++) part[(((int64_t)share * g.c + t.c0 + k) * g.r + r) * g.s + j] = sum[j][k];
    }
}

/* All nine taps of 3x3 from the block's share of the output pixels, blockIdx.y: dy is read once, and the nine x of a pixel are on their way together. */
template <typename T, int V>
__global__ void __launch_bounds__(CT_THREADS, 2) filter_parts_3x3(const T *x, const T *dy, float *part, ct_window g, int pixels)
{
    __shared__ float room[CT_THREADS * V];
    const place t = place_of<V>(g.c);
    const int share = (int)blockIdx.y, all = g.n * g.p * g.q;
    const int end = all - share * pixels < pixels ? all : (share + 1) * pixels;
    float sum[9][V] = { { 0 } };
    for (int i = share * pixels + t.team; t.team < t.teams && i < end; i += t.teams) {
        const int q = i % g.q, p = i / g.q % g.p, n = i / g.q / g.p;
        const int row0 = p * g.stride_h - g.pad_h, col0 = q * g.stride_w - g.pad_w;
        const held<T, V> d = hold<T, V>(dy + (int64_t)i * g.c + t.c0, true);
        held<T, V> raw[9];
#pragma unroll
        for (int m = 0; m < 9; m++) {
            const int row = row0 + m / 3 * g.dil_h, col = col0 + m % 3 * g.dil_w;
            raw[m] = hold<T, V>(x + ((int64_t)(n * g.h + row) * g.w + col) * g.c + t.c0, (unsigned)row < (unsigned)g.h && (unsigned)col < (unsigned)g.w);
        }
#pragma unroll
        for (int m = 0; m < 9; m++)
#pragma unroll
            for (int k = 0; k < V; k++) sum[m][k] += raw[m].get(k) * d.get(k);
    }
#pragma unroll
    for (int m = 0; m < 9; m++) {
        add_teams<V>(t, sum[m], room);
        if (t.team == 0)
#pragma unroll
            for (int k = 0; k < V; k++) part[((int64_t)share * g.c + t.c0 + k) * 9 + m] = sum[m][k];
    }
}

/* The parts as rows of a matrix, one column for each tap. */
template <typename T> __global__ void filter_totals(const float *part, T *dw, int64_t taps, int64_t parts)
{
    double total[1];
    if (!ct_column_totals<1>(part, parts, taps, total)) return;
    ct_put(dw + (int64_t)blockIdx.x * CT_LANES + threadIdx.x % CT_LANES, (float)total[0]);
}

/* ---- the implementations ---- */

template <typename T> static int vector_of(int c) { return c % ct_width<T>::value == 0 ? ct_width<T>::value : 1; }

static int slabs_of(int c) { return (c + SLAB - 1) / SLAB; }

static bool is_3x3(const ct_window *g) { return g->r == 3 && g->s == 3; }

/* Places that a full slab's block works on at a time. */
static int teams_of(int c, int v)
{
    int groups = (c < SLAB ? c : SLAB) / v;
    return CT_THREADS / groups;
}

/* Blocks for `all` places: one round of them, up to as many as load their filters for some. */
static dim3 grid_of(const ct_window *g, int v, int64_t all)
{
    int teams = teams_of(g->c, v);
    int64_t blocks = (all + teams - 1) / teams;
    const int64_t most = CT_SHEET_BLOCKS / slabs_of(g->c) + 1;
    return CT_GRID2(slabs_of(g->c), blocks < most ? blocks : most);
}

/* Shares that the output pixels are cut into: enough blocks for a big card, each team with LEAST_PIXELS at least. */
static int parts_of(const ct_window *g, int v)
{
    int64_t all = (int64_t)g->n * g->p * g->q, least = (int64_t)teams_of(g->c, v) * LEAST_PIXELS;
    int64_t most = (all + least - 1) / least, wanted = 2048 / (slabs_of(g->c) * (is_3x3(g) ? 1 : g->r)) + 1;
    int64_t parts = most < wanted ? most : wanted;
    return (int)(parts > MAX_WINDOW_PARTS ? (int64_t)MAX_WINDOW_PARTS : parts);
}

/* x, w, y as in the forward direction. */
static ct_accept accept_window(const ct_call *c, const ct_desc *x, const ct_desc *w, const ct_desc *y)
{
    const int64_t limit = INT64_C(1) << 30; /* of what is counted in 32 bits, with room for windows that reach over the edge */
    const ct_conv_attrs *a = &c->attrs.conv;
    if (!ct_cuda_type(x->dtype)) return ct_accept_no(CT_CUDA_NO_TYPE);
    if (w->dim[3] != 1 || a->groups != w->dim[0]) return ct_accept_no("cuda: not depthwise: a filter of its own for each channel");
    if (w->dim[1] > MAX_TAPS || w->dim[2] > MAX_TAPS) return ct_accept_no("cuda: more than 7x7 taps");
    if (ct_cuda_rows(x) > limit || ct_cuda_rows(y) > limit) return ct_accept_no("cuda: more than 2^30 pixels");
    const int64_t reach[] = { a->stride_h, a->stride_w, a->pad_h, a->pad_w, a->dil_h, a->dil_w };
    for (size_t i = 0; i < sizeof reach / sizeof reach[0]; i++)
        if (reach[i] > limit / 64) return ct_accept_no("cuda: strides, padding or dilation above 2^24");
    return ct_accept_yes(0);
}

/* Launches forward or slide: also the gradient of x at stride 1, which is a convolution of dy with the filters turned round. */
template <typename T, int V> static void launch(ct_stream *s, const T *x, const T *w, const T *bias, T *y, ct_window g, bool flip)
{
    const bool slides = g.r == g.s && g.stride_w == 1 && g.dil_w == 1;
    const int64_t strips = (int64_t)g.n * g.p * ((g.q + STRIP - 1) / STRIP);
    if (slides && g.r == 3) {
        auto k = &slide<T, V, 3>;
        CT_LAUNCH(k, grid_of(&g, V, strips), CT_THREADS, s, x, w, bias, y, g, flip);
    } else if (slides && g.r == 5) {
        auto k = &slide<T, V, 5>;
        CT_LAUNCH(k, grid_of(&g, V, strips), CT_THREADS, s, x, w, bias, y, g, flip);
    } else {
        auto k = &forward<T, V>;
        CT_LAUNCH(k, grid_of(&g, V, (int64_t)g.n * g.p * g.q), CT_THREADS, s, x, w, bias, y, g, flip);
    }
}

template <typename T, int V> static void launch_backward(ct_stream *s, const T *dy, const T *w, T *dx, ct_window g)
{
    if (g.stride_h == 1 && g.stride_w == 1) {
        ct_window back = g;
        back.h = g.p;
        back.w = g.q;
        back.p = g.h;
        back.q = g.w;
        back.pad_h = g.dil_h * (g.r - 1) - g.pad_h;
        back.pad_w = g.dil_w * (g.s - 1) - g.pad_w;
        launch<T, V>(s, dy, w, (const T *)NULL, dx, back, true);
        return;
    }
    auto k = g.stride_h == 2 && g.stride_w == 2 ? &backward<T, V, true> : &backward<T, V, false>;
    CT_LAUNCH(k, grid_of(&g, V, (int64_t)g.n * g.h * g.w), CT_THREADS, s, dy, w, dx, g);
}

template <typename T, int V> static void launch_filters(ct_stream *s, const T *x, const T *dy, T *dw, ct_window g, float *part)
{
    const int parts = parts_of(&g, V);
    const int64_t all = (int64_t)g.n * g.p * g.q, taps = (int64_t)g.c * g.r * g.s;
    const int pixels = (int)((all + parts - 1) / parts);
    const dim3 grid = CT_GRID2(slabs_of(g.c), is_3x3(&g) ? parts : parts * g.r);
    if (is_3x3(&g)) {
        auto k = &filter_parts_3x3<T, V>;
        CT_LAUNCH(k, grid, CT_THREADS, s, x, dy, part, g, pixels);
    } else if (g.s <= 3) {
        auto k = &filter_parts<T, V, 3>;
        CT_LAUNCH(k, grid, CT_THREADS, s, x, dy, part, g, pixels);
    } else {
        auto k = &filter_parts<T, V, MAX_TAPS>;
        CT_LAUNCH(k, grid, CT_THREADS, s, x, dy, part, g, pixels);
    }
    auto total = &filter_totals<T>;
    CT_LAUNCH(total, CT_GRID1((taps + CT_LANES - 1) / CT_LANES), CT_THREADS, s, (const float *)part, dw, taps, (int64_t)parts);
}

static ct_accept conv2d_depthwise_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    if (c->nout > 1) return ct_accept_no(CT_CUDA_NO_MOMENTS);
    return accept_window(c, &c->in[0].desc, &c->in[1].desc, &c->out[0].desc);
}
static ct_status conv2d_depthwise_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const ct_window g = ct_window_of(&c->attrs.conv, &c->in[0].desc, &c->in[1].desc, &c->out[0].desc);
    CT_BY_TYPE(c->in[0].desc.dtype, {
        const T *x = (const T *)c->in[0].data;
        const T *w = (const T *)c->in[1].data;
        const T *bias = ct_cuda_has(c, 2) ? (const T *)c->in[2].data : (const T *)NULL;
        if (vector_of<T>(g.c) > 1) launch<T, ct_width<T>::value>(s, x, w, bias, (T *)c->out[0].data, g, false);
        else launch<T, 1>(s, x, w, bias, (T *)c->out[0].data, g, false);
    })
    CT_LAUNCHED("depthwise conv2d");
}
static ct_accept conv2d_dgrad_depthwise_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    if (ct_cuda_has(c, 2)) return ct_accept_no(CT_CUDA_NO_SUM);
    return accept_window(c, &c->out[0].desc, &c->in[1].desc, &c->in[0].desc);
}
static ct_status conv2d_dgrad_depthwise_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)scratch;
    const ct_window g = ct_window_of(&c->attrs.conv, &c->out[0].desc, &c->in[1].desc, &c->in[0].desc);
    CT_BY_TYPE(c->in[0].desc.dtype, {
        const T *dy = (const T *)c->in[0].data;
        const T *w = (const T *)c->in[1].data;
        if (vector_of<T>(g.c) > 1) launch_backward<T, ct_width<T>::value>(s, dy, w, (T *)c->out[0].data, g);
        else launch_backward<T, 1>(s, dy, w, (T *)c->out[0].data, g);
    })
    CT_LAUNCHED("depthwise conv2d_dgrad");
}
static ct_accept conv2d_wgrad_depthwise_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    const ct_desc *x = &c->in[0].desc, *dw = &c->out[0].desc, *dy = &c->in[1].desc;
    ct_accept a = accept_window(c, x, dw, dy);
    if (!a.ok) return a;
    const ct_window g = ct_window_of(&c->attrs.conv, x, dw, dy);
    const int v = x->dtype == CT_F32 ? vector_of<float>(g.c) : vector_of<ct_b16>(g.c);
    return ct_accept_yes((size_t)(parts_of(&g, v) * ct_cuda_numel(dw)) * sizeof(float));
}
static ct_status conv2d_wgrad_depthwise_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    const ct_window g = ct_window_of(&c->attrs.conv, &c->in[0].desc, &c->out[0].desc, &c->in[1].desc);
    CT_BY_TYPE(c->in[0].desc.dtype, {
        const T *x = (const T *)c->in[0].data;
        const T *dy = (const T *)c->in[1].data;
        if (vector_of<T>(g.c) > 1) launch_filters<T, ct_width<T>::value>(s, x, dy, (T *)c->out[0].data, g, (float *)scratch);
        else launch_filters<T, 1>(s, x, dy, (T *)c->out[0].data, g, (float *)scratch);
    })
    CT_LAUNCHED("depthwise conv2d_wgrad");
}

static const ct_impl impls[] = {
    { CT_OP_CONV2D, "cuda.depthwise", CT_CUDA_TUNED, conv2d_depthwise_accept, conv2d_depthwise_run },
    { CT_OP_CONV2D_DGRAD, "cuda.depthwise", CT_CUDA_TUNED, conv2d_dgrad_depthwise_accept, conv2d_dgrad_depthwise_run },
    { CT_OP_CONV2D_WGRAD, "cuda.depthwise", CT_CUDA_TUNED, conv2d_wgrad_depthwise_accept, conv2d_wgrad_depthwise_run },
};
CT_CUDA_SET(depthwise)
