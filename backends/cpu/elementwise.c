/* add, mul, scale, cast, accumulate, fit_channels, dropout_apply: passes over memory, cut into pieces; 16-bit tensors
 * go through small f32 buffers. */
#include "config.h"

#include "backends/cpu/cpu.h"

#include <string.h>

#define BUF 1024    /* elements converted at a time */
#define PIECE 65536 /* least elements of a piece: below this, waking other threads costs more than it saves */

typedef struct elements elements;
struct elements {
    const ct_kern *kern;
    const ct_call *call;
    ct_pieces pieces;
    int64_t n;
    /* y for elements at .. at+len-1 of the inputs a and b (NULL where there is none) */
    void (*step)(const elements *e, int64_t at, int64_t len, const float *a, const float *b, float *y);
    const ct_tensor *a, *b, *y;
};

static void piece_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const elements *e = arg;
    const int64_t end = ct_min64(e->n, (item + 1) * e->pieces.size);
    float buf[3][BUF];
    for (int64_t i = item * e->pieces.size; i < end; i += BUF) {
        const int64_t len = ct_min64(BUF, end - i);
        const float *a = ct_cpu_read(e->kern, e->a->desc.dtype, e->a->data, i, len, buf[0]);
        const float *b = e->b ? ct_cpu_read(e->kern, e->b->desc.dtype, e->b->data, i, len, buf[1]) : NULL;
        float *y = ct_cpu_write(e->y->desc.dtype, e->y->data, i, buf[2]);
        e->step(e, i, len, a, b, y);
        ct_cpu_write_end(e->kern, e->y->desc.dtype, e->y->data, i, len, y);
    }
}

static ct_status run(const ct_device *dev, elements *e)
{
    e->kern = dev->kern;
    e->n = ct_desc_numel(&e->a->desc);
    e->pieces = ct_cpu_pieces(e->n, BUF, PIECE);
    ct_cpu_for(dev, e->pieces.count, piece_item, e);
    return CT_OK;
}

/* All floating inputs and outputs are of a type this backend takes. */
static ct_accept accept_floats(const ct_call *c)
{
    for (int i = 0; i < c->nin; i++)
        if (ct_present(&c->in[i]) && !ct_cpu_type(c->in[i].desc.dtype)) return ct_accept_no(CT_CPU_NO_TYPE);
    for (int i = 0; i < c->nout; i++)
        if (ct_present(&c->out[i]) && !ct_cpu_type(c->out[i].desc.dtype)) return ct_accept_no(CT_CPU_NO_TYPE);
    return ct_accept_yes(0);
}

static void step_add(const elements *e, int64_t at, int64_t len, const float *a, const float *b, float *y)
{
    (void)at;
    e->kern->element->add(len, a, b, y);
}

static void step_mul(const elements *e, int64_t at, int64_t len, const float *a, const float *b, float *y)
{
    (void)at;
    e->kern->element->mul(len, a, b, y);
}

static void step_scale(const elements *e, int64_t at, int64_t len, const float *a, const float *b, float *y)
{
    (void)at;
    (void)b;
    e->kern->element->axpby(len, (float)e->call->attrs.scale.alpha, a, 0, y);
}

static void step_copy(const elements *e, int64_t at, int64_t len, const float *a, const float *b, float *y)
{
    (void)e;
    (void)at;
    (void)b;
    if (a != y) memmove(y, a, (size_t)len * sizeof *y);
}

static void step_accumulate(const elements *e, int64_t at, int64_t len, const float *a, const float *b, float *y)
{
    (void)at;
    (void)b;
    e->kern->element->axpby(len, (float)e->call->attrs.scale.alpha, a, (float)e->call->attrs.scale.beta, y);
}

static void step_dropout(const elements *e, int64_t at, int64_t len, const float *a, const float *b, float *y)
{
    (void)b;
    const uint8_t *mask = e->call->in[1].data;
    e->kern->element->mask_scale(len, a, mask + at, (float)(1 / (1 - e->call->attrs.dropout.p)), y);
}

static ct_accept add_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_floats(c);
}

static ct_status add_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    elements e = { .call = c, .step = step_add, .a = &c->in[0], .b = &c->in[1], .y = &c->out[0] };
    return run(dev, &e);
}

static ct_accept mul_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_floats(c);
}

static ct_status mul_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    elements e = { .call = c, .step = step_mul, .a = &c->in[0], .b = &c->in[1], .y = &c->out[0] };
    return run(dev, &e);
}

static ct_accept scale_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_floats(c);
}

static ct_status scale_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    elements e = { .call = c, .step = step_scale, .a = &c->in[0], .y = &c->out[0] };
    return run(dev, &e);
}

static ct_accept cast_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_floats(c);
}

static ct_status cast_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    elements e = { .call = c, .step = step_copy, .a = &c->in[0], .y = &c->out[0] };
    return run(dev, &e);
}

static ct_accept accumulate_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    if (c->in[1].desc.dtype != CT_F32) return ct_accept_no(CT_CPU_NO_TYPE);
    return accept_floats(c);
}

static ct_status accumulate_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    elements e = { .call = c, .step = step_accumulate, .a = &c->in[0], .y = &c->in[1] };
    return run(dev, &e);
}

/* ---- fit_channels: rows of x [M,have] -> rows of y [M,want], as bytes (zeros are zeros in every type) ---- */

typedef struct fit {
    const char *x;
    char *y;
    size_t have, want; /* bytes of a row */
    int64_t rows;
    ct_pieces pieces; /* of the rows */
} fit;

static void fit_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const fit *f = arg;
    const int64_t end = ct_min64(f->rows, (item + 1) * f->pieces.size);
    const size_t both = f->have < f->want ? f->have : f->want;
    for (int64_t m = item * f->pieces.size; m < end; m++) {
        char *y = f->y + (size_t)m * f->want;
        memcpy(y, f->x + (size_t)m * f->have, both);
        memset(y + both, 0, f->want - both);
    }
}

static ct_accept fit_channels_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    return accept_floats(c);
}

static ct_status fit_channels_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    const ct_desc *x = &c->in[0].desc, *y = &c->out[0].desc;
    const int64_t have = x->dim[x->ndim - 1], want = y->dim[y->ndim - 1];
    const size_t each = ct_dtype_size(x->dtype);
    fit f = { .x = c->in[0].data, .y = c->out[0].data, .have = (size_t)have * each, .want = (size_t)want * each };
    f.rows = ct_desc_numel(y) / want;
    f.pieces = ct_cpu_pieces(f.rows, 1, ct_max64(1, PIECE / ct_max64(have, want)));
    ct_cpu_for(dev, f.pieces.count, fit_item, &f);
    return CT_OK;
}

static ct_accept dropout_apply_accept(const ct_device *dev, const ct_call *c)
{
    (void)dev;
    if (!ct_cpu_type(c->in[0].desc.dtype) || !ct_cpu_type(c->out[0].desc.dtype)) return ct_accept_no(CT_CPU_NO_TYPE);
    if (c->in[1].desc.dtype != CT_U8) return ct_accept_no("cpu: the mask is not u8");
    return ct_accept_yes(0);
}

static ct_status dropout_apply_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)s;
    (void)scratch;
    elements e = { .call = c, .step = step_dropout, .a = &c->in[0], .y = &c->out[0] };
    return run(dev, &e);
}

static const ct_impl impls[] = {
    { CT_OP_DROPOUT_APPLY, "cpu.vector", CT_CPU_TUNED, dropout_apply_accept, dropout_apply_run },
    { CT_OP_ADD, "cpu.vector", CT_CPU_TUNED, add_accept, add_run },
    { CT_OP_MUL, "cpu.vector", CT_CPU_TUNED, mul_accept, mul_run },
    { CT_OP_SCALE, "cpu.vector", CT_CPU_TUNED, scale_accept, scale_run },
    { CT_OP_CAST, "cpu.vector", CT_CPU_TUNED, cast_accept, cast_run },
    { CT_OP_ACCUMULATE, "cpu.vector", CT_CPU_TUNED, accumulate_accept, accumulate_run },
    { CT_OP_FIT_CHANNELS, "cpu.rows", CT_CPU_TUNED, fit_channels_accept, fit_channels_run },
};
const ct_impl_set ct_cpu_elementwise_impls = CT_IMPL_SET(impls);
