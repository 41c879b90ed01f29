#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "models/models.h"
#include "models/zoo.h"

#define NAME_MAX_BYTES 160

int64_t ct_model_channels_by(const ct_model_spec *spec, int64_t c, int64_t unit)
{
    if (spec->width_mult == 1) return c;
    int64_t n = (int64_t)nearbyint((double)c * spec->width_mult / (double)unit) * unit;
    return n < unit ? unit : n;
}

int64_t ct_model_channels(const ct_model_spec *spec, int64_t c) { return ct_model_channels_by(spec, c, 8); }

/* "<layer>.<part>" into buf. */
static ct_status part_name(char buf[NAME_MAX_BYTES], const char *layer, const char *part)
{
    int n = snprintf(buf, NAME_MAX_BYTES, "%s.%s", layer, part);
    if (n < 0 || n >= NAME_MAX_BYTES) return ct_fail(CT_EINVAL, "layer name '%s' is too long", layer);
    return CT_OK;
}

static ct_status add_param(ct_graph *g, const char *layer, const char *part, ct_desc desc, ct_init init, bool decay,
                           ct_val *out)
{
    char name[NAME_MAX_BYTES];
    CT_TRY(part_name(name, layer, part));
    return ct_graph_param(g, name, desc, init, decay, out);
}

static ct_status add_buffer(ct_graph *g, const char *layer, const char *part, ct_desc desc, ct_init init, ct_val *out)
{
    char name[NAME_MAX_BYTES];
    CT_TRY(part_name(name, layer, part));
    return ct_graph_buffer(g, name, desc, init, out);
}

/* One node with one output, the layer's name in front of any message. */
static ct_status add_node(ct_graph *g, const char *layer, ct_op op, const ct_attrs *attrs, int nin, const ct_val *in,
                          ct_val *y)
{
    ct_status st = ct_graph_node(g, op, attrs, layer, nin, in, 1, 1, y);
    return st == CT_OK ? st : ct_fail_context(st, "layer '%s'", layer);
}

/* x must be [N,H,W,C]. */
static ct_status need_image(ct_graph *g, const char *layer, ct_val x)
{
    char text[CT_DESC_STR];
    const ct_desc *d = ct_graph_desc(g, x);
    if (d->ndim == 4) return CT_OK;
    return ct_fail(CT_EINVAL, "layer '%s': input %s is not [N,H,W,C]", layer, ct_desc_str(d, text));
}

/* A window of ker pixels must fit into the padded input. */
static ct_status need_room(const char *layer, const ct_desc *x, int64_t ker_h, int64_t ker_w, int64_t pad_h,
                           int64_t pad_w)
{
    if (x->dim[1] + 2 * pad_h >= ker_h && x->dim[2] + 2 * pad_w >= ker_w) return CT_OK;
    return ct_fail(CT_ECONFIG,
                   "layer '%s': the image is too small: %" PRId64 "x%" PRId64
                   " (height x width) is left there, and its window is %" PRId64 "x%" PRId64 " with padding %" PRId64
                   "x%" PRId64,
                   layer, x->dim[1], x->dim[2], ker_h, ker_w, pad_h, pad_w);
}

ct_init ct_init_fan_out(int64_t channels, int64_t ker_h, int64_t ker_w)
{
    return (ct_init){ CT_INIT_NORMAL, sqrt(2 / (double)(channels * ker_h * ker_w)) };
}

ct_status ct_layer_conv(ct_graph *g, const char *name, ct_val x, const ct_conv_layer *c, ct_val *y)
{
    CT_TRY(need_image(g, name, x));
    ct_desc d = *ct_graph_desc(g, x);
    CT_TRY(need_room(name, &d, c->ker_h, c->ker_w, c->pad_h, c->pad_w));
    ct_val in[3] = { x, CT_NOVAL, CT_NOVAL };
    ct_desc filter = ct_desc4(d.dtype, c->channels, c->ker_h, c->ker_w, d.dim[3] / c->groups);
    CT_TRY(add_param(g, name, "weight", filter, c->filter_init, true, &in[1]));
    g->values[in[1]].layout = CT_PARAM_FILTER;
    if (c->bias) CT_TRY(add_param(g, name, "bias", ct_desc1(d.dtype, c->channels), c->bias_init, false, &in[2]));
    ct_attrs a = { .conv = { .stride_h = c->stride,
                             .stride_w = c->stride,
                             .pad_h = c->pad_h,
                             .pad_w = c->pad_w,
                             .dil_h = 1,
                             .dil_w = 1,
                             .groups = c->groups } };
    return add_node(g, name, CT_OP_CONV2D, &a, c->bias ? 3 : 2, in, y);
}

ct_status ct_layer_conv2d(ct_graph *g, const char *name, ct_val x, int64_t out_ch, int64_t ker_h, int64_t ker_w,
                          int64_t stride, int64_t pad_h, int64_t pad_w, bool bias, bool fan_out_normal, ct_val *y)
{
    CT_TRY(need_image(g, name, x));
    /* torch's default kaiming_uniform(a = sqrt 5): bound = sqrt(6 / ((1 + 5) * fan_in)). */
    const ct_init uniform = { CT_INIT_UNIFORM, 1 / sqrt((double)(ct_graph_desc(g, x)->dim[3] * ker_h * ker_w)) };
    const ct_conv_layer c = { .channels = out_ch,
                              .ker_h = ker_h,
                              .ker_w = ker_w,
                              .stride = stride,
                              .pad_h = pad_h,
                              .pad_w = pad_w,
                              .groups = 1,
                              .bias = bias,
                              .filter_init = fan_out_normal ? ct_init_fan_out(out_ch, ker_h, ker_w) : uniform,
                              .bias_init = uniform };
    return ct_layer_conv(g, name, x, &c, y);
}

static ct_status batchnorm_from(ct_graph *g, const char *name, ct_val x, bool training, ct_init gamma, ct_val *y)
{
    ct_desc d = *ct_graph_desc(g, x);
    ct_desc c = ct_desc1(d.dtype, d.dim[d.ndim - 1]);
    const ct_init zero = { CT_INIT_ZERO, 0 }, one = { CT_INIT_ONE, 0 };
    ct_val in[5] = { x, CT_NOVAL, CT_NOVAL, CT_NOVAL, CT_NOVAL };
    CT_TRY(add_param(g, name, "weight", c, gamma, false, &in[1]));
    CT_TRY(add_param(g, name, "bias", c, zero, false, &in[2]));
    CT_TRY(add_buffer(g, name, "running_mean", c, zero, &in[3]));
    CT_TRY(add_buffer(g, name, "running_var", c, one, &in[4]));
    ct_attrs a = { .norm = { .eps = 1e-5, .momentum = 0.1, .update_stats = training } };
    if (!training) return add_node(g, name, CT_OP_BATCHNORM_INFER, &a, 5, in, y);
    ct_val outs[3]; /* y, mean, invstd */
    ct_status st = ct_graph_node(g, CT_OP_BATCHNORM, &a, name, 5, in, 3, 7, outs);
    if (st != CT_OK) return ct_fail_context(st, "layer '%s'", name);
    *y = outs[0];
    return CT_OK;
}

ct_status ct_layer_standardize(ct_graph *g, const char *name, ct_val x, ct_val *y)
{
    const ct_attrs a = { .norm = { .eps = CT_STANDARDIZE_EPS } };
    ct_val outs[2]; /* y, invstd */
    const ct_status st = ct_graph_node(g, CT_OP_STANDARDIZE, &a, name, 1, &x, 2, 3, outs);
    if (st != CT_OK) return ct_fail_context(st, "layer '%s'", name);
    *y = outs[0];
    return CT_OK;
}

ct_status ct_layer_batchnorm(ct_graph *g, const char *name, ct_val x, bool training, ct_val *y)
{
    return batchnorm_from(g, name, x, training, (ct_init){ CT_INIT_ONE, 0 }, y);
}

ct_status ct_layer_batchnorm_zero(ct_graph *g, const char *name, ct_val x, bool training, ct_val *y)
{
    return batchnorm_from(g, name, x, training, (ct_init){ CT_INIT_ZERO, 0 }, y);
}

ct_status ct_layer_activation(ct_graph *g, const char *name, ct_val x, ct_act_kind kind, ct_val *y)
{
    ct_attrs a = { .act = { .kind = kind, .alpha = kind == CT_ACT_LEAKY_RELU ? 0.01 : 0 } };
    return add_node(g, name, CT_OP_ACTIVATION, &a, 1, &x, y);
}

ct_status ct_layer_conv1d(ct_graph *g, const char *name, ct_val x, int64_t out_ch, int64_t ker, int64_t pad, bool bias,
                          ct_val *y)
{
    char view[NAME_MAX_BYTES], text[CT_DESC_STR];
    const ct_desc *d = ct_graph_desc(g, x);
    if (d->ndim != 3)
        return ct_fail(CT_EINVAL, "layer '%s': input %s is not [N,T,C]", name, ct_desc_str(d, text));
    ct_attrs row = { .shape = { .ndim = 4, .d0 = d->dim[0], .d1 = 1, .d2 = d->dim[1], .d3 = d->dim[2] } };
    CT_TRY(part_name(view, name, "row"));
    CT_TRY(add_node(g, view, CT_OP_RESHAPE, &row, 1, &x, &x));
    CT_TRY(ct_layer_conv2d(g, name, x, out_ch, 1, ker, 1, 0, pad, bias, false, &x));
    CT_TRY(part_name(view, name, "weight"));
    g->values[ct_graph_find(g, view)].layout = CT_PARAM_FILTER1D;
    d = ct_graph_desc(g, x);
    ct_attrs line = { .shape = { .ndim = 3, .d0 = d->dim[0], .d1 = d->dim[2], .d2 = d->dim[3] } };
    CT_TRY(part_name(view, name, "line"));
    return add_node(g, view, CT_OP_RESHAPE, &line, 1, &x, y);
}

ct_status ct_layer_maxpool(ct_graph *g, const char *name, ct_val x, int64_t ker, int64_t stride, int64_t pad, ct_val *y)
{
    return ct_layer_maxpool_hw(g, name, x, (const int64_t[]){ ker, ker }, (const int64_t[]){ stride, stride },
                               (const int64_t[]){ pad, pad }, y);
}

ct_status ct_layer_maxpool_hw(ct_graph *g, const char *name, ct_val x, const int64_t ker[2], const int64_t stride[2],
                              const int64_t pad[2], ct_val *y)
{
    CT_TRY(need_image(g, name, x));
    CT_TRY(need_room(name, ct_graph_desc(g, x), ker[0], ker[1], pad[0], pad[1]));
    ct_attrs a = { .pool = { .ker_h = ker[0],
                             .ker_w = ker[1],
                             .stride_h = stride[0],
                             .stride_w = stride[1],
                             .pad_h = pad[0],
                             .pad_w = pad[1] } };
    ct_val outs[2]; /* y, index */
    ct_status st = ct_graph_node(g, CT_OP_MAXPOOL2D, &a, name, 1, &x, 2, 3, outs);
    if (st != CT_OK) return ct_fail_context(st, "layer '%s'", name);
    *y = outs[0];
    return CT_OK;
}

ct_status ct_layer_global_avgpool(ct_graph *g, const char *name, ct_val x, ct_val *y)
{
    CT_TRY(need_image(g, name, x));
    return add_node(g, name, CT_OP_GLOBAL_AVGPOOL, NULL, 1, &x, y);
}

ct_status ct_layer_flatten(ct_graph *g, const char *name, ct_val x, ct_val *y)
{
    CT_TRY(need_image(g, name, x));
    const ct_desc *d = ct_graph_desc(g, x);
    ct_attrs a = { .shape = { .ndim = 2, .d0 = d->dim[0], .d1 = d->dim[1] * d->dim[2] * d->dim[3] } };
    return add_node(g, name, CT_OP_RESHAPE, &a, 1, &x, y);
}

ct_status ct_layer_linear(ct_graph *g, const char *name, ct_val x, int64_t out, const int64_t *flatten_hwc, ct_val *y)
{
    ct_desc d = *ct_graph_desc(g, x);
    int64_t in_features = d.dim[d.ndim - 1];
    ct_init uniform = { CT_INIT_UNIFORM, 1 / sqrt((double)in_features) };
    ct_val in[3] = { x, CT_NOVAL, CT_NOVAL };
    CT_TRY(add_param(g, name, "weight", ct_desc2(d.dtype, out, in_features), uniform, true, &in[1]));
    if (flatten_hwc) {
        ct_value *w = &g->values[in[1]];
        w->layout = CT_PARAM_FLATTEN;
        for (int i = 0; i < 3; i++) w->hwc[i] = flatten_hwc[i];
    }
    CT_TRY(add_param(g, name, "bias", ct_desc1(d.dtype, out), uniform, false, &in[2]));
    return add_node(g, name, CT_OP_LINEAR, NULL, 3, in, y);
}

ct_status ct_layer_dropout(ct_graph *g, const char *name, ct_val x, const ct_model_spec *spec, int64_t stream, int samples,
                           ct_val *y)
{
    if (spec->dropout == 0) {
        *y = x;
        return CT_OK;
    }
    const ct_desc *d = ct_graph_desc(g, x);
    ct_val state, mask;
    char mask_name[NAME_MAX_BYTES];
    CT_TRY(part_name(mask_name, name, "mask"));
    ct_attrs a = { .dropout = { .p = spec->dropout,
                                .seed = (int64_t)spec->seed,
                                .stream = stream,
                                .ndim = d->ndim,
                                .d0 = d->dim[0],
                                .d1 = d->dim[1],
                                .d2 = d->dim[2],
                                .d3 = d->dim[3],
                                .d4 = d->dim[4] } };
    if (spec->of > d->dim[samples]) {
        int64_t each = 1; /* elements of a sample, in one run */
        for (int i = samples + 1; i < d->ndim; i++) each *= d->dim[i];
        if (each % 4)
            return ct_fail(CT_ECONFIG, "model.dropout: %s has %lld numbers of a sample in a row; several processes need a "
                           "multiple of 4", name, (long long)each);
        a.dropout.first = spec->row * each;
        a.dropout.run = d->dim[samples] * each;
        a.dropout.pitch = spec->of * each;
    }
    CT_TRY(ct_graph_state(g, &state));
    CT_TRY(add_node(g, mask_name, CT_OP_DROPOUT_MASK, &a, 1, &state, &mask));
    ct_attrs apply = { .dropout = { .p = spec->dropout } };
    ct_val in[2] = { x, mask };
    return add_node(g, name, CT_OP_DROPOUT_APPLY, &apply, 2, in, y);
}

/* The four parameters of one layer and direction: w_ih [4H,I], w_hh [4H,H], b_ih [4H], b_hh [4H]. */
static ct_status lstm_params(ct_graph *g, const char *name, const char *tail, ct_val x, int64_t hidden, ct_val p[4])
{
    static const char *const kind[4] = { "weight_ih", "weight_hh", "bias_ih", "bias_hh" };
    const ct_init init = { CT_INIT_UNIFORM, 1 / sqrt((double)hidden) };
    const ct_desc from = *ct_graph_desc(g, x); /* parameters make the graph's values move */
    for (int i = 0; i < 4; i++) {
        char part[32];
        int64_t in = i == 0 ? from.dim[from.ndim - 1] : hidden;
        ct_desc d = i < 2 ? ct_desc2(from.dtype, 4 * hidden, in) : ct_desc1(from.dtype, 4 * hidden);
        snprintf(part, sizeof part, "%s_%s", kind[i], tail);
        CT_TRY(add_param(g, name, part, d, init, i < 2, &p[i]));
    }
    return CT_OK;
}

/* One layer: what comes from below is one matrix product for all time steps; the recurrence is the operator's. */
static ct_status lstm_layer(ct_graph *g, const char *name, int layer, ct_val x, ct_val len, int64_t hidden,
                            int directions, ct_val *y)
{
    char node[NAME_MAX_BYTES], tail[24];
    ct_val in[7] = { CT_NOVAL, CT_NOVAL, CT_NOVAL, CT_NOVAL, CT_NOVAL, CT_NOVAL, len }, outs[3];
    for (int d = 0; d < directions; d++) {
        ct_val p[4];
        snprintf(tail, sizeof tail, "l%d%s", layer, d ? "_reverse" : "");
        CT_TRY(lstm_params(g, name, tail, x, hidden, p));
        const ct_val from[3] = { x, p[0], p[2] };
        snprintf(tail, sizeof tail, "l%d.ih%s", layer, d ? "_reverse" : "");
        CT_TRY(part_name(node, name, tail));
        CT_TRY(add_node(g, node, CT_OP_LINEAR, NULL, 3, from, &in[3 * d]));
        in[3 * d + 1] = p[1];
        in[3 * d + 2] = p[3];
    }
    snprintf(tail, sizeof tail, "l%d", layer);
    CT_TRY(part_name(node, name, tail));
    int nin = len != CT_NOVAL ? 7 : 3 * directions;
    ct_status st = ct_graph_node(g, CT_OP_LSTM, NULL, node, nin, in, 3, 7, outs); /* y, gates, cell */
    if (st != CT_OK) return ct_fail_context(st, "layer '%s'", node);
    *y = outs[0];
    return CT_OK;
}

ct_status ct_layer_lstm(ct_graph *g, const char *name, ct_val x, ct_val len, int64_t hidden, int layers,
                        bool bidirectional, ct_val *y)
{
    char text[CT_DESC_STR];
    const ct_desc *d = ct_graph_desc(g, x);
    if (d->ndim != 3)
        return ct_fail(CT_EINVAL, "layer '%s': input %s is not [T,N,I]", name, ct_desc_str(d, text));
    for (int l = 0; l < layers; l++) CT_TRY(lstm_layer(g, name, l, x, len, hidden, bidirectional ? 2 : 1, &x));
    *y = x;
    return CT_OK;
}
