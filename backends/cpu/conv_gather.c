/* The geometry of convolutions, and of their products of gathered rows: conv_gather.h. */
#include "config.h"

#include "backends/cpu/conv_gather.h"

#include <string.h>

ct_conv_geom ct_conv_geometry(const ct_conv_attrs *a, const ct_desc *x, const ct_desc *w, const ct_desc *y)
{
    ct_conv_geom g = {
        .n = x->dim[0],
        .h = x->dim[1],
        .w = x->dim[2],
        .c = x->dim[3],
        .k = w->dim[0],
        .r = w->dim[1],
        .s = w->dim[2],
        .p = y->dim[1],
        .q = y->dim[2],
        .groups = a->groups > 0 ? a->groups : 1,
        .stride_h = a->stride_h,
        .stride_w = a->stride_w,
        .pad_h = a->pad_h,
        .pad_w = a->pad_w,
        .dil_h = a->dil_h > 0 ? a->dil_h : 1,
        .dil_w = a->dil_w > 0 ? a->dil_w : 1,
    };
    g.cg = g.c / g.groups;
    g.kg = g.k / g.groups;
    return g;
}

ct_conv_geom ct_linear_geometry(const ct_desc *x, const ct_desc *w)
{
    ct_conv_geom g = { .n = 1, .w = 1, .q = 1, .r = 1, .s = 1, .groups = 1, .stride_h = 1, .stride_w = 1, .dil_h = 1, .dil_w = 1 };
    g.k = g.kg = w->dim[0];
    g.c = g.cg = w->dim[1];
    g.h = g.p = g.c > 0 ? ct_desc_numel(x) / g.c : 0;
    return g;
}

const char *ct_pairs_refuse(const ct_device *dev, const ct_call *call)
{
    if (!dev->kern->pairs) return "cpu.bf16: this processor, or the set of loops asked for, has no products of bf16 (AVX512-BF16, AMX)";
    if (call->in[0].desc.dtype != CT_BF16 || call->in[1].desc.dtype != CT_BF16) return "cpu.bf16: operands of bf16 alone";
    return NULL;
}

const char *ct_conv_refuse(const ct_call *call, const ct_conv_geom *g)
{
    for (int i = 0; i < call->nin; i++)
        if (ct_present(&call->in[i]) && !ct_cpu_type(call->in[i].desc.dtype)) return CT_CPU_NO_TYPE;
    if (!ct_cpu_type(call->out[0].desc.dtype)) return CT_CPU_NO_TYPE;
    if (g->r * g->s > CT_CONV_MAX_TAPS) return "cpu: filters of more than 256 taps";
    if (g->n * g->p * g->q == 0 || g->n * g->h * g->w == 0) return "cpu: an empty tensor";
    return NULL;
}

static bool is_flat(const ct_conv_geom *c)
{
    return c->r * c->s == 1 && c->pad_h == 0 && c->pad_w == 0 && c->h == c->p * c->stride_h;
}

ct_conv_geom ct_conv_gather_geometry(const ct_call *call)
{
    const ct_tensor *x = &call->in[0], *w = &call->in[1], *y = &call->out[0];
    switch (call->op) {
    case CT_OP_CONV2D_WGRAD: return ct_conv_geometry(&call->attrs.conv, &x->desc, &y->desc, &w->desc); /* y is the filters, w dy */
    case CT_OP_LINEAR_WGRAD: return ct_linear_geometry(&x->desc, &y->desc);
    case CT_OP_LINEAR: return ct_linear_geometry(&x->desc, &w->desc);
    case CT_OP_LINEAR_DGRAD: return ct_linear_geometry(&y->desc, &w->desc);
    case CT_OP_CONV2D_DGRAD: return ct_conv_geometry(&call->attrs.conv, &y->desc, &w->desc, &x->desc);
    default: return ct_conv_geometry(&call->attrs.conv, &x->desc, &w->desc, &y->desc);
    }
}

static bool is_dgrad(const ct_call *call) { return call->op == CT_OP_CONV2D_DGRAD || call->op == CT_OP_LINEAR_DGRAD; }

static bool is_wgrad(const ct_call *call) { return call->op == CT_OP_CONV2D_WGRAD || call->op == CT_OP_LINEAR_WGRAD; }

const char *ct_conv_gather_refuse(const ct_call *call)
{
    const ct_conv_geom c = ct_conv_gather_geometry(call);
    const char *no = ct_conv_refuse(call, &c);
    if (!no && is_dgrad(call) && c.stride_h * c.stride_w > CT_GATHER_CLASSES)
        no = "cpu: strides whose product is above 64";
    return no;
}

#define SPLIT_CHANNELS 16 /* in and out of a group, below which words are filled up with zeros for the most part */
#define SPLIT_PIXELS 64   /* fewer are not worth laying out the filters */

const char *ct_split_refuse(const ct_device *dev, const ct_call *call)
{
    if (!dev->kern->split) return "cpu.split: this processor, or the set of loops asked for, multiplies no tiles (AMX)";
    for (int i = 0; i < call->nin; i++)
        if (ct_present(&call->in[i]) && call->in[i].desc.dtype != CT_F32) return "cpu.split: f32 alone";
    if (call->out[0].desc.dtype != CT_F32) return "cpu.split: f32 alone";
    const char *no = ct_conv_gather_refuse(call);
    if (no) return no;
    const ct_conv_geom c = ct_conv_gather_geometry(call);
    if (ct_min64(c.cg, c.kg) < SPLIT_CHANNELS) return "cpu.split: fewer than 16 channels";
    if (c.n * c.p * c.q < SPLIT_PIXELS) return "cpu.split: fewer than 64 pixels";
    return NULL;
}

static void make_forward(ct_conv_gather *g, const ct_call *call)
{
    const ct_conv_geom c = ct_conv_gather_geometry(call);
    const bool bias = call->nin > 2 && ct_present(&call->in[2]) && !is_wgrad(call);
    g->geom = c;
    g->bias = bias ? call->in[2].data : NULL;
    g->bias_type = bias ? call->in[2].desc.dtype : CT_F32;
    g->in_h = c.h;
    g->in_w = c.w;
    g->out_h = c.p;
    g->out_w = c.q;
    g->out_c = c.k;
    g->channels = c.cg;
    g->cols = c.kg;
    g->step_h = g->step_w = 1;
    g->in_step_h = c.stride_h;
    g->in_step_w = c.stride_w;
    for (int64_t t = 0; t < g->taps; t++) {
        g->tap_of[t] = t;
        g->off_h[t] = t / c.s * c.dil_h - c.pad_h;
        g->off_w[t] = t % c.s * c.dil_w - c.pad_w;
    }
    g->classes = 1;
    g->cls[0] = (ct_pixel_class){ 0, 0, c.p, c.q, 0, g->taps };
}

/* Where y has one row alone, its stride is never taken, and each tap reaches one row of x: with the height of x for a stride every row is a
 * class of its own, which other rows' taps are no part of. Columns alike. */
static ct_conv_geom apart(ct_conv_geom c)
{
    if (c.p == 1 && (c.r - 1) * c.dil_h < c.h && c.pad_h == 0 && c.h * c.stride_w <= CT_GATHER_CLASSES) c.stride_h = c.h;
    if (c.q == 1 && (c.s - 1) * c.dil_w < c.w && c.pad_w == 0 && c.w * c.stride_h <= CT_GATHER_CLASSES) c.stride_w = c.w;
    return c;
}

static void make_dgrad(ct_conv_gather *g, const ct_call *call)
{
    const ct_conv_geom c = apart(ct_conv_gather_geometry(call));
    g->geom = c;
    g->bias_type = CT_F32;
    g->transposed = true;
    g->adds = ct_conv_adds(call);
    g->in_h = c.p;
    g->in_w = c.q;
    g->out_h = c.h;
    g->out_w = c.w;
    g->out_c = c.c;
    g->channels = c.kg;
    g->cols = c.cg;
    g->step_h = c.stride_h;
    g->step_w = c.stride_w;
    g->in_step_h = g->in_step_w = 1;
    int64_t tap = 0;
    for (int64_t a = 0; a < c.stride_h; a++)
        for (int64_t b = 0; b < c.stride_w; b++) {
            ct_pixel_class *k = &g->cls[g->classes++];
            *k = (ct_pixel_class){ a, b, ct_ceil_div(c.h - a, c.stride_h), ct_ceil_div(c.w - b, c.stride_w), tap, 0 };
            if (k->rows < 0) k->rows = 0;
            if (k->cols < 0) k->cols = 0;
            for (int64_t t = 0; t < g->taps; t++) {
                const int64_t h = a + c.pad_h - t / c.s * c.dil_h, w = b + c.pad_w - t % c.s * c.dil_w;
                if (h % c.stride_h != 0 || w % c.stride_w != 0) continue;
                g->tap_of[tap] = t;
                g->off_h[tap] = h / c.stride_h;
                g->off_w[tap] = w / c.stride_w;
                tap++;
                k->taps++;
            }
        }
}

void ct_conv_gather_make(ct_conv_gather *g, const ct_call *call)
{
    const ct_conv_geom c = ct_conv_gather_geometry(call);
    memset(g, 0, sizeof *g);
    g->in = call->in[0].data;
    g->in_type = call->in[0].desc.dtype;
    const ct_tensor *w = &call->in[1], *out = &call->out[0];
    if (is_wgrad(call)) {
        w = &call->out[0];
        out = &call->in[1];
    }
    g->weights = w->data;
    g->w_type = w->desc.dtype;
    g->out = out->data;
    g->out_type = out->desc.dtype;
    g->n = c.n;
    g->groups = c.groups;
    g->taps = c.r * c.s;
    if (is_dgrad(call)) make_dgrad(g, call);
    else make_forward(g, call);
    g->flat = is_flat(&g->geom);
}

void ct_conv_gather_find(const ct_conv_gather *g, const ct_pixel_class *c, int64_t group, int64_t first, int64_t count, const float *zeros,
                         const float **in, int64_t ld, float **out)
{
    const int64_t in_c = g->groups * g->channels;
    int64_t image = first / (c->rows * c->cols), i = first / c->cols % c->rows, j = first % c->cols;
    for (int64_t x = 0, run; x < count; x += run, j = 0) {
        run = ct_min64(count - x, c->cols - j);
        const int64_t row = c->first_h + i * g->step_h, col = c->first_w + j * g->step_w;
        float *to = (float *)g->out + ((image * g->out_h + row) * g->out_w + col) * g->out_c + group * g->cols;
        for (int64_t y = 0; y < run; y++) out[x + y] = to + y * g->step_w * g->out_c;
        for (int64_t t = 0; t < c->taps; t++) {
            const int64_t h = i * g->in_step_h + g->off_h[c->tap0 + t], off_w = g->off_w[c->tap0 + t];
            const bool inside = h >= 0 && h < g->in_h;
            const float *line = inside ? (const float *)g->in + (image * g->in_h + h) * g->in_w * in_c + group * g->channels : NULL;
            const float **list = in + t * ld + x;
            for (int64_t y = 0; y < run; y++) {
                const int64_t w = (j + y) * g->in_step_w + off_w;
                list[y] = !inside || w < 0 || w >= g->in_w ? zeros : line + w * in_c;
            }
        }
        if (++i < c->rows) continue;
        i = 0;
        image++;
    }
}
