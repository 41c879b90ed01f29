/* swap, lstm and lstm_bwd.
 *
 * A sample's recurrence needs no other sample and no other direction, so the work is divided into (direction, group of
 * samples), each of which goes through all steps on one thread without waiting for any other. In a step the rows of the
 * group are multiplied with the recurrent weights, which are packed once per call into blocks of columns for the
 * kernel (ct_igemm), and the gates' functions follow while the sums are in the cache. The gradient of the weights is
 * one product over all steps and samples at the end. */
#include "config.h"

#include "backends/cpu/cpu.h"

#include <inttypes.h>
#include <string.h>

#define GROUP 12      /* samples: two tiles of the kernel, so that many threads get work */
#define PACK_DEPTH 16 /* floats of a row of weights read at a time: a cache line */
#define BLOCK_M 512   /* rows and columns of a block of the weights' gradient */
#define BLOCK_N 256
#define ROW_PIECE 4096 /* elements converted at a time */

/* One call of lstm or lstm_bwd. y and dy are [T,N,width], the other tensors have a direction as their first dimension
 * or are one for each. */
typedef struct recurrence {
    const ct_kern *kern;
    const ct_call *call;
    int64_t steps, n, h, width;
    int directions;
    bool backward;
    const int32_t *len; /* [n] or NULL: all steps */
    ct_dtype type;
    const ct_tensor *y, *gates, *cell, *w[2];

    /* The packed weights: products of rows of `depth` with `cols` columns. */
    int64_t depth, cols, col_blocks, packed_floats;

    /* scratch */
    float *packed[2]; /* [col_blocks][depth][kw] */
    float *bias[2];   /* [4h] f32, forward; NULL without */
    float *zeros;     /* [4h] */
    float *da[2];     /* [T,N,4h] of 16-bit calls, backward; else they lie in the output */
    float *y_f32;     /* [T,N,width] alike */
    char *threads;
    size_t per_thread;
} recurrence;

/* What a thread works in; rows of a group. */
typedef struct room {
    float *gates;   /* forward [GROUP][4h] of 16-bit calls; backward [4h] */
    float *h;       /* [GROUP][h]: forward y of 16-bit calls, backward dh of the step before */
    float *dc;      /* [GROUP][h], backward */
    float *xg;      /* [4h] of 16-bit calls; backward dy [h] */
    float *product; /* [BLOCK_M][BLOCK_N] of 16-bit calls, backward */
} room;

static bool given(const ct_call *c, int i) { return i < c->nin && ct_present(&c->in[i]); }

static room room_of(const recurrence *g, ct_carve *t)
{
    const bool narrow = g->type != CT_F32;
    const size_t row = (size_t)g->h * sizeof(float);
    room r = { NULL, NULL, NULL, NULL, NULL };
    if (narrow) r.gates = ct_carve_take(t, (g->backward ? 4 : 4 * GROUP) * row);
    if (narrow || g->backward) r.h = ct_carve_take(t, GROUP * row);
    if (g->backward) r.dc = ct_carve_take(t, GROUP * row);
    if (narrow) r.xg = ct_carve_take(t, 4 * row);
    if (narrow && g->backward) r.product = ct_carve_take(t, sizeof(float) * BLOCK_M * BLOCK_N);
    return r;
}

static size_t lay_out(recurrence *g, int threads, void *base)
{
    ct_carve t = { NULL, 0 }, c = { base, 0 };
    const bool narrow = g->type != CT_F32;
    const size_t row = (size_t)g->h * sizeof(float), rows = (size_t)(g->steps * g->n);
    room_of(g, &t);
    g->per_thread = t.used;
    g->zeros = ct_carve_take(&c, 4 * row);
    for (int d = 0; d < g->directions; d++) {
        g->packed[d] = ct_carve_take(&c, (size_t)g->packed_floats * sizeof(float));
        if (!g->backward && given(g->call, 3 * d + 2)) g->bias[d] = ct_carve_take(&c, 4 * row);
        if (g->backward && narrow) g->da[d] = ct_carve_take(&c, rows * 4 * row);
    }
    if (g->backward && narrow) g->y_f32 = ct_carve_take(&c, rows * (size_t)g->directions * row);
    g->threads = ct_carve_take(&c, g->per_thread * (size_t)threads);
    return c.used;
}

static recurrence make(const ct_device *dev, const ct_call *c)
{
    recurrence g = { .kern = dev->kern, .call = c, .backward = c->op == CT_OP_LSTM_BWD };
    g.y = g.backward ? &c->in[1] : &c->out[0];
    g.gates = g.backward ? &c->in[2] : &c->out[1];
    g.cell = g.backward ? &c->in[3] : &c->out[2];
    const int64_t *dim = g.cell->desc.dim;
    g.directions = (int)dim[0];
    g.steps = dim[1];
    g.n = dim[2];
    g.h = dim[3];
    g.width = g.directions * g.h;
    g.type = g.y->desc.dtype;
    for (int d = 0; d < g.directions; d++) g.w[d] = &c->in[g.backward ? 4 + d : 3 * d + 1];
    if (given(c, 6)) g.len = c->in[6].data;
    g.depth = g.backward ? 4 * g.h : g.h;
    g.cols = g.backward ? g.h : 4 * g.h;
    g.col_blocks = ct_ceil_div(g.cols, dev->kern->conv->nr);
    g.packed_floats = ct_round_up(g.cols, dev->kern->vl) * g.depth;
    return g;
}

static ct_status check_len(const recurrence *g)
{
    for (int64_t n = 0; g->len && n < g->n; n++)
        if (g->len[n] < 1 || g->len[n] > g->steps)
            return ct_fail(CT_EDATA,
                           "%s: len of sample %" PRId64 " of the batch is %" PRId32 ", not within [1, %" PRId64 "]",
                           ct_op_get(g->call->op)->name, n, g->len[n], g->steps);
    return CT_OK;
}

/* ---- the product of a step ---- */

/* Width of block b's rows: whole vectors. */
static int64_t block_width(const recurrence *g, int64_t b)
{
    return ct_min64(g->kern->conv->nr, ct_round_up(g->cols - b * g->kern->conv->nr, g->kern->vl));
}

/* Block of columns of w_hh^T [h,4h]: w_hh's rows become columns. */
static void pack_forward(const recurrence *g, const ct_tensor *w, int64_t first, int64_t cols, int64_t kw, float *dst)
{
    float buf[PACK_DEPTH];
    for (int64_t c0 = 0; c0 < g->depth; c0 += PACK_DEPTH, dst += PACK_DEPTH * kw) {
        const int64_t n = ct_min64(PACK_DEPTH, g->depth - c0);
        for (int64_t k = 0; k < kw; k++) {
            const float *src = g->zeros;
            if (k < cols) src = ct_cpu_read(g->kern, g->type, w->data, (first + k) * g->h + c0, n, buf);
            for (int64_t c = 0; c < n; c++) dst[c * kw + k] = src[c];
        }
    }
}

/* Block of columns of w_hh [4h,h]. */
static void pack_backward(const recurrence *g, const ct_tensor *w, int64_t first, int64_t cols, int64_t kw, float *dst)
{
    for (int64_t c = 0; c < g->depth; c++, dst += kw) {
        ct_cpu_to_f32(g->kern, g->type, w->data, c * g->h + first, cols, dst);
        for (int64_t k = cols; k < kw; k++) dst[k] = 0;
    }
}

static void pack_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const recurrence *g = arg;
    const int64_t b = item % g->col_blocks, d = item / g->col_blocks, first = b * g->kern->conv->nr;
    const int64_t kw = block_width(g, b), cols = ct_min64(kw, g->cols - first);
    float *dst = g->packed[d] + first * g->depth;
    if (g->backward)
        pack_backward(g, g->w[d], first, cols, kw, dst);
    else
        pack_forward(g, g->w[d], first, cols, kw, dst);
}

/* out[r] = bias + in[r] * weights of direction d, for `rows` rows. */
static void multiply(const recurrence *g, int d, int64_t rows, const float *const *in, float *const *out)
{
    float *at[GROUP];
    ct_igemm a = { .in = in, .in_stride = rows, .out = at, .np = rows, .taps = 1, .c = g->depth, .c_stride = g->depth };
    for (int64_t b = 0; b < g->col_blocks; b++) {
        const int64_t first = b * g->kern->conv->nr;
        for (int64_t r = 0; r < rows; r++) at[r] = out[r] + first;
        a.kw = block_width(g, b);
        a.kn = ct_min64(a.kw, g->cols - first);
        a.w = g->packed[d] + first * g->depth;
        a.bias = g->bias[d] ? g->bias[d] + first : NULL;
        g->kern->conv->igemm(&a);
    }
}

/* ---- a group of samples through all steps ---- */

typedef struct group {
    const recurrence *g;
    room room;
    int d;
    bool reverse;
    int64_t n0, n; /* samples */
} group;

static group group_of(const recurrence *g, int64_t item, int thread)
{
    ct_carve t = { g->threads + g->per_thread * (size_t)thread, 0 };
    group s = { .g = g, .room = room_of(g, &t), .d = (int)(item % g->directions) };
    s.reverse = s.d == 1;
    s.n0 = item / g->directions * GROUP;
    s.n = ct_min64(GROUP, g->n - s.n0);
    return s;
}

static int64_t length(const recurrence *g, int64_t n) { return g->len ? g->len[n] : g->steps; }

/* Number of sample n's row of step t in direction d of a tensor [D,T,N,...]. */
static int64_t row_of(const recurrence *g, int d, int64_t t, int64_t n) { return (d * g->steps + t) * g->n + n; }

/* Number of the first element of direction d in y's row of step t. */
static int64_t y_at(const recurrence *g, int d, int64_t t, int64_t n) { return (t * g->n + n) * g->width + d * g->h; }

/* The step whose y and cell step t of a sample goes on from; -1: none. */
static int64_t step_before(const group *s, int64_t len, int64_t t)
{
    const int64_t before = s->reverse ? t + 1 : t - 1;
    return before < len ? before : -1;
}

static float *cell_row(const recurrence *g, int d, int64_t t, int64_t n)
{
    return (float *)g->cell->data + row_of(g, d, t, n) * g->h;
}

static void zero(ct_dtype d, void *p, int64_t i, int64_t n)
{
    memset(ct_at_mut(p, d, i), 0, (size_t)n * ct_dtype_size(d));
}

/* Row of the p-th sample of the group; NULL where the tensors themselves are worked in. */
static float *room_row(float *rows, int64_t p, int64_t width) { return rows ? rows + p * width : NULL; }

/* Step t: sums of the rows that are not behind their last step, then the units. */
static void forward_step(const group *s, int64_t t)
{
    const recurrence *g = s->g;
    const ct_kern *k = g->kern;
    const int64_t h = g->h;
    const ct_tensor *xg = &g->call->in[3 * s->d];
    const float *in[GROUP], *c_prev[GROUP];
    float *out[GROUP], *gates[GROUP];
    int64_t who[GROUP], rows = 0, products = 0;
    for (int64_t p = 0; p < s->n; p++) {
        const int64_t n = s->n0 + p, len = length(g, n), row = row_of(g, s->d, t, n);
        if (t >= len) {
            zero(g->type, g->y->data, y_at(g, s->d, t, n), h);
            zero(g->type, g->gates->data, row * 4 * h, 4 * h);
            zero(CT_F32, g->cell->data, row * h, h);
            continue;
        }
        const int64_t before = step_before(s, len, t);
        gates[rows] = ct_cpu_write(g->type, g->gates->data, row * 4 * h, room_row(s->room.gates, p, 4 * h));
        if (before >= 0) {
            in[products] = ct_cpu_write(g->type, g->y->data, y_at(g, s->d, before, n), room_row(s->room.h, p, h));
            out[products++] = gates[rows];
            c_prev[rows] = cell_row(g, s->d, before, n);
        } else {
            memcpy(gates[rows], g->bias[s->d] ? g->bias[s->d] : g->zeros, (size_t)(4 * h) * sizeof(float));
            c_prev[rows] = g->zeros;
        }
        who[rows++] = p;
    }
    multiply(g, s->d, products, in, out);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t n = s->n0 + who[r], row = row_of(g, s->d, t, n);
        const float *x = ct_cpu_read(k, g->type, xg->data, (t * g->n + n) * 4 * h, 4 * h, s->room.xg);
        float *y = ct_cpu_write(g->type, g->y->data, y_at(g, s->d, t, n), room_row(s->room.h, who[r], h));
        k->lstm->units(h, x, gates[r], c_prev[r], cell_row(g, s->d, t, n), y);
        ct_cpu_write_end(k, g->type, g->gates->data, row * 4 * h, 4 * h, gates[r]);
        ct_cpu_write_end(k, g->type, g->y->data, y_at(g, s->d, t, n), h, y);
    }
}

static void forward_item(void *arg, int64_t item, int thread)
{
    const group s = group_of(arg, item, thread);
    const int64_t steps = s.g->steps;
    for (int64_t i = 0; i < steps; i++) forward_step(&s, s.reverse ? steps - 1 - i : i);
}

/* Gradients of the sums of step t, row of sample n: f32, in the output or beside it. */
static float *da_row(const group *s, int64_t t, int64_t n)
{
    const recurrence *g = s->g;
    float *da = g->type == CT_F32 ? g->call->out[2 * s->d].data : g->da[s->d];
    return da + (t * g->n + n) * 4 * g->h;
}

/* Step t: gradients of the units' sums, and from them those of y of the step before. */
static void backward_step(const group *s, int64_t t)
{
    const recurrence *g = s->g;
    const ct_kern *k = g->kern;
    const int64_t h = g->h;
    const ct_tensor *dy = &g->call->in[0], *dxg = &g->call->out[2 * s->d];
    const float *in[GROUP];
    float *out[GROUP];
    int64_t rows = 0;
    for (int64_t p = 0; p < s->n; p++) {
        const int64_t n = s->n0 + p, len = length(g, n), row = row_of(g, s->d, t, n), at = (t * g->n + n) * 4 * h;
        float *da = da_row(s, t, n), *dh = s->room.h + p * h;
        if (t >= len) {
            zero(CT_F32, da, 0, 4 * h);
            zero(g->type, dxg->data, at, 4 * h);
            continue;
        }
        const int64_t before = step_before(s, len, t);
        const float *gates = ct_cpu_read(k, g->type, g->gates->data, row * 4 * h, 4 * h, s->room.gates);
        const float *top = ct_cpu_read(k, g->type, dy->data, y_at(g, s->d, t, n), h, s->room.xg);
        const float *c_prev = before >= 0 ? cell_row(g, s->d, before, n) : g->zeros;
        k->lstm->units_bwd(h, gates, cell_row(g, s->d, t, n), c_prev, top, dh, s->room.dc + p * h, da);
        ct_cpu_write_end(k, g->type, dxg->data, at, 4 * h, da);
        if (before < 0) continue;
        in[rows] = da;
        out[rows++] = dh;
    }
    multiply(g, s->d, rows, in, out);
}

static void backward_item(void *arg, int64_t item, int thread)
{
    const group s = group_of(arg, item, thread);
    const int64_t steps = s.g->steps;
    zero(CT_F32, s.room.h, 0, s.n * s.g->h);
    zero(CT_F32, s.room.dc, 0, s.n * s.g->h);
    for (int64_t i = 0; i < steps; i++) backward_step(&s, s.reverse ? i : steps - 1 - i);
}

/* ---- gradient of the weights ---- */

static void widen_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const recurrence *g = arg;
    const int64_t total = g->steps * g->n * g->width, i = item * ROW_PIECE;
    ct_cpu_to_f32(g->kern, g->type, g->y->data, i, ct_min64(ROW_PIECE, total - i), g->y_f32 + i);
}

/* A block of dw_hh [4h,h] = da^T y, y one step before da. Behind the last step of a sample both are 0. */
static void weight_item(void *arg, int64_t item, int thread)
{
    const recurrence *g = arg;
    const int64_t h = g->h, across = ct_ceil_div(h, BLOCK_N), per_direction = ct_ceil_div(4 * h, BLOCK_M) * across;
    const int64_t d = item / per_direction, block = item % per_direction;
    const int64_t m0 = block / across * BLOCK_M, n0 = block % across * BLOCK_N;
    const int64_t m = ct_min64(BLOCK_M, 4 * h - m0), n = ct_min64(BLOCK_N, h - n0);
    const bool narrow = g->type != CT_F32;
    const ct_tensor *dw = &g->call->out[2 * d + 1];
    const float *da = narrow ? g->da[d] : g->call->out[2 * d].data, *y = narrow ? g->y_f32 : g->y->data;
    ct_carve t = { g->threads + g->per_thread * (size_t)thread, 0 };
    float *c = narrow ? room_of(g, &t).product : (float *)dw->data + m0 * h + n0;
    const int64_t ldc = narrow ? n : h;
    if (d == 0)
        da += g->n * 4 * h;
    else
        y += g->n * g->width;
    ct_cpu_sgemm(true, false, m, n, (g->steps - 1) * g->n, da + m0, 4 * h, y + d * h + n0, g->width, 0, c, ldc);
    for (int64_t i = 0; i < m && narrow; i++)
        ct_cpu_write_end(g->kern, g->type, dw->data, (m0 + i) * h + n0, n, c + i * ldc);
}

static void weight_gradient(const ct_device *dev, recurrence *g)
{
    if (g->steps == 1) {
        for (int d = 0; d < g->directions; d++) zero(g->type, g->call->out[2 * d + 1].data, 0, 4 * g->h * g->h);
        return;
    }
    if (g->y_f32) ct_cpu_for(dev, ct_ceil_div(g->steps * g->n * g->width, ROW_PIECE), widen_item, g);
    ct_cpu_for(dev, g->directions * ct_ceil_div(4 * g->h, BLOCK_M) * ct_ceil_div(g->h, BLOCK_N), weight_item, g);
}

/* ---- the operators ---- */

static ct_accept accept_lstm(const ct_device *dev, const ct_call *c)
{
    for (int i = 0; i < c->nin; i++)
        if (given(c, i) && i != 6 && !ct_cpu_type(c->in[i].desc.dtype)) return ct_accept_no(CT_CPU_NO_TYPE);
    if (given(c, 6) && c->in[6].desc.dtype != CT_I32) return ct_accept_no("cpu: len is not i32");
    recurrence g = make(dev, c);
    if (g.cell->desc.dtype != CT_F32) return ct_accept_no(CT_CPU_NO_TYPE);
    if (g.h > INT32_MAX / 4 || g.width > INT32_MAX || g.steps * g.n > INT32_MAX)
        return ct_accept_no("cpu.packed: a dimension beyond 2^31");
    return ct_accept_yes(lay_out(&g, dev->threads, NULL));
}

static ct_status run_lstm(const ct_device *dev, const ct_call *c, void *scratch)
{
    recurrence g = make(dev, c);
    CT_TRY(check_len(&g));
    lay_out(&g, dev->threads, scratch);
    zero(CT_F32, g.zeros, 0, 4 * g.h);
    for (int d = 0; d < g.directions; d++)
        if (g.bias[d]) ct_cpu_to_f32(g.kern, g.type, c->in[3 * d + 2].data, 0, 4 * g.h, g.bias[d]);
    ct_cpu_for(dev, g.directions * g.col_blocks, pack_item, &g);
    ct_cpu_for(dev, g.directions * ct_ceil_div(g.n, GROUP), g.backward ? backward_item : forward_item, &g);
    if (g.backward) weight_gradient(dev, &g);
    return CT_OK;
}

static ct_accept lstm_accept(const ct_device *dev, const ct_call *c) { return accept_lstm(dev, c); }

static ct_status lstm_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    return run_lstm(dev, c, scratch);
}

static ct_accept lstm_bwd_accept(const ct_device *dev, const ct_call *c) { return accept_lstm(dev, c); }

static ct_status lstm_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    return run_lstm(dev, c, scratch);
}

/* ---- swap ---- */

#define TILE 16     /* rows and columns moved together, so that every cache line is read and written whole */
#define PIECE 65536 /* least bytes of a piece: below this, waking other threads costs more than it saves */

/* y [cols][rows] = x [rows][cols] of elements of `bytes`; pieces are ranges of y's rows. */
typedef struct exchange {
    const char *x;
    char *y;
    int64_t rows, cols;
    size_t bytes;
    ct_pieces pieces;
} exchange;

/* With `bytes` a constant where this is inlined, the copy is one load and one store. */
static inline void exchange_tile(const exchange *g, int64_t r0, int64_t c0, int64_t c1, const size_t bytes)
{
    const int64_t r1 = ct_min64(g->rows, r0 + TILE);
    for (int64_t c = c0; c < c1; c++)
        for (int64_t r = r0; r < r1; r++)
            memcpy(g->y + (size_t)(c * g->rows + r) * bytes, g->x + (size_t)(r * g->cols + c) * bytes, bytes);
}

static void exchange_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const exchange *g = arg;
    const int64_t end = ct_min64(g->cols, (item + 1) * g->pieces.size);
    for (int64_t c = item * g->pieces.size; c < end; c += TILE)
        for (int64_t r = 0; r < g->rows; r += TILE) {
            const int64_t last = ct_min64(end, c + TILE);
            switch (g->bytes) {
            case 2: exchange_tile(g, r, c, last, 2); break;
            case 4: exchange_tile(g, r, c, last, 4); break;
            case 8: exchange_tile(g, r, c, last, 8); break;
            default: exchange_tile(g, r, c, last, g->bytes); break;
            }
        }
}

static ct_accept swap_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    (void)c;
    return ct_accept_yes(0);
}

static ct_status swap_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    const ct_desc *x = &c->in[0].desc;
    exchange g = { .x = c->in[0].data, .y = c->out[0].data, .rows = x->dim[0], .cols = x->dim[1] };
    g.bytes = ct_desc_bytes(x) / (size_t)(g.rows * g.cols);
    const int64_t row = g.rows * (int64_t)g.bytes;
    g.pieces = ct_cpu_pieces(g.cols, TILE, ct_ceil_div(PIECE, row));
    ct_cpu_for(dev, g.pieces.count, exchange_item, &g);
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_SWAP, "cpu.tiles", CT_CPU_TUNED, swap_accept, swap_run },
    { CT_OP_LSTM, "cpu.packed", CT_CPU_TUNED, lstm_accept, lstm_run },
    { CT_OP_LSTM_BWD, "cpu.packed", CT_CPU_TUNED, lstm_bwd_accept, lstm_bwd_run },
};
const ct_impl_set ct_cpu_sequence_impls = CT_IMPL_SET(impls);
