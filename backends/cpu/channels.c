/* concat_channels, slice_channels, place_channels: rows moved as bytes, whatever they hold; scale_channels and its
 * gradient. */
#include "config.h"

#include "backends/cpu/cpu.h"

#include <string.h>

#define PIECE 65536 /* least elements of a piece: below this, waking other threads costs more than it saves */

/* ---- moving rows ---- */

/* Columns [from, from + width) of each row of x become columns [to, to + width) of y; all in bytes. */
typedef struct part {
    const char *x;
    size_t row, from, to, width;
} part;

typedef struct mover {
    const ct_kern *kern;
    part parts[CT_MAX_IN];
    int nparts;
    char *y;
    size_t row;      /* of y, bytes */
    size_t zero[2];  /* place: bytes of zeros at the beginning and at the end of y's rows */
    int64_t rows;
    ct_pieces pieces;
} mover;

static bool whole_floats(size_t bytes) { return bytes % sizeof(float) == 0; }

/* Rows m.. of a part. Where all is made of four bytes at a time, vectors move it. */
static void move_rows(const mover *g, const part *p, int64_t m, int64_t rows)
{
    const char *x = p->x + (size_t)m * p->row + p->from;
    char *y = g->y + (size_t)m * g->row + p->to;
    if (whole_floats(p->width | p->row | p->from | g->row | p->to)) {
        g->kern->copy->rows(rows, (int64_t)(p->width / sizeof(float)), (const float *)(const void *)x,
                            (int64_t)(p->row / sizeof(float)), (float *)(void *)y, (int64_t)(g->row / sizeof(float)));
        return;
    }
    for (int64_t r = 0; r < rows; r++, x += p->row, y += g->row) memcpy(y, x, p->width);
}

static void move_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const mover *g = arg;
    const int64_t end = ct_min64(g->rows, (item + 1) * g->pieces.size);
    /* Few rows at a time, so that each line of y is filled while it is near. */
    const int64_t step = ct_max64(1, (int64_t)(16384 / g->row));
    for (int64_t m = item * g->pieces.size; m < end; m += step) {
        const int64_t rows = ct_min64(step, end - m);
        for (int i = 0; i < g->nparts; i++) move_rows(g, &g->parts[i], m, rows);
        for (int64_t r = m; r < m + rows && g->zero[0] + g->zero[1] > 0; r++) {
            memset(g->y + (size_t)r * g->row, 0, g->zero[0]);
            memset(g->y + (size_t)(r + 1) * g->row - g->zero[1], 0, g->zero[1]);
        }
    }
}

static size_t row_bytes(const ct_desc *d) { return (size_t)d->dim[d->ndim - 1] * ct_dtype_size(d->dtype); }

static ct_status move(const ct_device *dev, const ct_call *c, mover *g)
{
    const ct_desc *y = &c->out[0].desc;
    g->kern = dev->kern;
    g->y = c->out[0].data;
    g->row = row_bytes(y);
    g->rows = ct_desc_numel(y) / y->dim[y->ndim - 1];
    g->pieces = ct_cpu_pieces(g->rows, 1, ct_max64(1, PIECE / y->dim[y->ndim - 1]));
    ct_cpu_for(dev, g->pieces.count, move_item, g);
    return CT_OK;
}

static ct_accept move_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    (void)c;
    return ct_accept_yes(0);
}

static ct_status concat_channels_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    mover g = { .nparts = c->nin };
    size_t to = 0;
    for (int i = 0; i < c->nin; i++) {
        const size_t width = row_bytes(&c->in[i].desc);
        g.parts[i] = (part){ c->in[i].data, width, 0, to, width };
        to += width;
    }
    return move(dev, c, &g);
}

static ct_status slice_channels_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    const ct_desc *x = &c->in[0].desc;
    const size_t from = (size_t)c->attrs.channels.first * ct_dtype_size(x->dtype);
    mover g = { .nparts = 1, .parts = { { c->in[0].data, row_bytes(x), from, 0, row_bytes(&c->out[0].desc) } } };
    return move(dev, c, &g);
}

static ct_status place_channels_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    const ct_desc *x = &c->in[0].desc;
    const size_t to = (size_t)c->attrs.channels.first * ct_dtype_size(x->dtype), width = row_bytes(x);
    mover g = { .nparts = 1, .parts = { { c->in[0].data, width, 0, to, width } } };
    g.zero[0] = to;
    g.zero[1] = row_bytes(&c->out[0].desc) - to - width;
    return move(dev, c, &g);
}

/* ---- factors ---- */

#define TILE 256 /* channels that are converted or summed at a time */
#define ROWS 8   /* pixels of 16 bits that are converted at a time */

typedef struct scaler {
    const ct_kern *kern;
    const ct_call *call;
    int64_t pixels, c; /* of a sample; channels */
    int64_t step, per; /* pixels of an item, items of a sample (forward); channels and items (backward) */
} scaler;

/* Pixels first.. of channels c.. to c+cols-1 of a sample, ROWS at most, as f32 [rows][cols] in buf. */
static void load_tile(const scaler *g, const ct_tensor *t, int64_t first, int64_t rows, int64_t c, int64_t cols,
                      float *buf)
{
    for (int64_t i = 0; i < rows; i++)
        ct_cpu_to_f32(g->kern, t->desc.dtype, t->data, (first + i) * g->c + c, cols, buf + i * cols);
}

static void scale_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const scaler *g = arg;
    const ct_tensor *x = &g->call->in[0], *gain = &g->call->in[1], *y = &g->call->out[0];
    const int64_t n = item / g->per, p0 = item % g->per * g->step, p1 = ct_min64(g->pixels, p0 + g->step);
    const int64_t first = n * g->pixels + p0, rows = p1 - p0;
    if (x->desc.dtype == CT_F32) {
        g->kern->element->mul_rows(rows, g->c, (const float *)x->data + first * g->c,
                                   (const float *)gain->data + n * g->c, (float *)y->data + first * g->c);
        return;
    }
    float factor[TILE], buf[ROWS * TILE];
    for (int64_t c = 0; c < g->c; c += TILE) {
        const int64_t cols = ct_min64(TILE, g->c - c);
        ct_cpu_to_f32(g->kern, gain->desc.dtype, gain->data, n * g->c + c, cols, factor);
        for (int64_t r = 0; r < rows; r += ROWS) {
            const int64_t count = ct_min64(ROWS, rows - r);
            load_tile(g, x, first + r, count, c, cols, buf);
            g->kern->element->mul_rows(count, cols, buf, factor, buf);
            for (int64_t i = 0; i < count; i++)
                ct_cpu_to_type(g->kern, y->desc.dtype, buf + i * cols, cols, y->data, (first + r + i) * g->c + c);
        }
    }
}

static void scale_bwd_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const scaler *g = arg;
    const ct_tensor *dy = &g->call->in[0], *x = &g->call->in[1], *dg = &g->call->out[0];
    const int64_t n = item / g->per, c = item % g->per * g->step, cols = ct_min64(g->step, g->c - c);
    const int64_t first = n * g->pixels;
    double sum[TILE];
    float buf[2][ROWS * TILE];
    for (int64_t i = 0; i < cols; i++) sum[i] = 0;
    if (x->desc.dtype == CT_F32) {
        const int64_t at = first * g->c + c;
        g->kern->sum->products(g->pixels, cols, g->c, (const float *)dy->data + at, (const float *)x->data + at, sum);
    } else {
        for (int64_t p = 0; p < g->pixels; p += ROWS) {
            const int64_t rows = ct_min64(ROWS, g->pixels - p);
            load_tile(g, dy, first + p, rows, c, cols, buf[0]);
            load_tile(g, x, first + p, rows, c, cols, buf[1]);
            g->kern->sum->products(rows, cols, cols, buf[0], buf[1], sum);
        }
    }
    for (int64_t i = 0; i < cols; i++) buf[0][i] = (float)sum[i];
    ct_cpu_to_type(g->kern, dg->desc.dtype, buf[0], cols, dg->data, n * g->c + c);
}

static scaler make_scaler(const ct_device *dev, const ct_call *c)
{
    const int64_t *d = c->in[0].desc.dim;
    return (scaler){ .kern = dev->kern, .call = c, .pixels = d[1] * d[2], .c = d[3] };
}

static ct_accept scale_channels_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return ct_cpu_type(c->in[0].desc.dtype) ? ct_accept_yes(0) : ct_accept_no(CT_CPU_NO_TYPE);
}

static ct_status scale_channels_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    scaler g = make_scaler(dev, c);
    g.step = ct_max64(1, ct_min64(g.pixels, PIECE / g.c));
    g.per = ct_ceil_div(g.pixels, g.step);
    ct_cpu_for(dev, c->in[0].desc.dim[0] * g.per, scale_item, &g);
    return CT_OK;
}

static ct_status scale_channels_bwd_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    scaler g = make_scaler(dev, c);
    g.step = TILE;
    g.per = ct_ceil_div(g.c, g.step);
    ct_cpu_for(dev, c->in[0].desc.dim[0] * g.per, scale_bwd_item, &g);
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_CONCAT_CHANNELS, "cpu.rows", CT_CPU_TUNED, move_accept, concat_channels_run },
    { CT_OP_SLICE_CHANNELS, "cpu.rows", CT_CPU_TUNED, move_accept, slice_channels_run },
    { CT_OP_PLACE_CHANNELS, "cpu.rows", CT_CPU_TUNED, move_accept, place_channels_run },
    { CT_OP_SCALE_CHANNELS, "cpu.vector", CT_CPU_TUNED, scale_channels_accept, scale_channels_run },
    { CT_OP_SCALE_CHANNELS_BWD, "cpu.vector", CT_CPU_TUNED, scale_channels_accept, scale_channels_bwd_run },
};
const ct_impl_set ct_cpu_channels_impls = CT_IMPL_SET(impls);
