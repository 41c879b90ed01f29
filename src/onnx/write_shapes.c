/* What only moves numbers, takes some of them, or means of them: views, pools, larger maps, channels side by side. */
#include "config.h"

#include "onnx/writer.h"

#include <inttypes.h>

/* ---- views ---- */

/* Views that the file needs no node for: the tensor stands there as it stood. CT_ONNX_NOT: it is none. */
static ct_onnx_kind same_tensor(ct_onnx_kind from, const ct_desc *d, const ct_desc *y)
{
    const int64_t *a = d->dim, *b = y->dim;
    if (from == CT_ONNX_MAP && y->ndim == 2 && a[2] == 1 && b[0] == a[0] * a[1]) return CT_ONNX_MEANS;
    if (from == CT_ONNX_MAP && y->ndim == 3 && b[0] == a[0] * a[1] && b[1] == a[2]) return CT_ONNX_ROWS;
    if (from == CT_ONNX_MAP && y->ndim == 4 && b[0] == a[0] * a[1] && b[1] == 1 && b[2] == a[2]) return CT_ONNX_LINES;
    if (from == CT_ONNX_LINES && y->ndim == 4 && b[0] * b[1] == a[0] && b[2] == a[2]) return CT_ONNX_MAP;
    if (from == CT_ONNX_MEANS && y->ndim == 4 && b[0] * b[1] == a[0] && b[2] == 1) return CT_ONNX_MAP;
    if (from == CT_ONNX_ROWS && y->ndim == 4 && b[0] == a[0] && b[1] == 1 && b[2] == a[1]) return CT_ONNX_MAP;
    if (from == CT_ONNX_CLIP && y->ndim == 4 && b[0] * b[1] == a[0] && b[2] == a[1] * a[2]) return CT_ONNX_TIMES;
    if (from == CT_ONNX_TIMES && y->ndim == 4 && b[0] == a[0] * a[1] && b[1] * b[2] == a[2]) return CT_ONNX_CLIP;
    return CT_ONNX_NOT;
}

/* ours [T,N*H,C], there [N,C,H,T], as [T,N,H*C]. */
static ct_status turn_rows(ct_onnx_writer *w, const char *from, int64_t numbers)
{
    Onnx__NodeProto *n = ct_onnx_turn(w, "pixels", from, 4, (const int64_t[]) { 3, 0, 2, 1 });
    const char *shape = ct_onnx_shape(w, 3, (const int64_t[]) { 0, 0, numbers });
    if (n) ct_onnx_emit(w, "Reshape", w->in->name, n->name, shape, NULL, w->in->out[0], CT_ONNX_SAME);
    return w->k->status;
}

ct_status ct_onnx_write_reshape(ct_onnx_writer *w)
{
    const ct_onnx_place x = ct_onnx_at(w, 0);
    const ct_desc *d = ct_onnx_desc(w, w->in->in[0]), *y = ct_onnx_desc(w, w->in->out[0]);
    const ct_onnx_kind form = same_tensor(x.form, d, y);
    if (form != CT_ONNX_NOT) {
        ct_onnx_give(w, w->in->out[0], form, x.name);
        return CT_OK;
    }
    if (x.form == CT_ONNX_MAP && y->ndim == 2 && y->dim[0] == d->dim[0]) { /* [N,H,W,C] -> [N,HWC] */
        Onnx__NodeProto *n = ct_onnx_turn(w, "pixels", x.name, 4, (const int64_t[]) { 0, 2, 3, 1 });
        if (n) n = ct_onnx_emit(w, "Flatten", w->in->name, n->name, NULL, NULL, w->in->out[0], CT_ONNX_SAME);
        if (n) ct_onnx_attr_int(w->k, n, "axis", 1);
        return w->k->status;
    }
    if (x.form == CT_ONNX_TURNED && y->ndim == 3 && y->dim[0] == d->dim[0] && d->dim[1] % y->dim[1] == 0)
        return turn_rows(w, x.name, y->dim[2]);
    if (x.form == CT_ONNX_CLIP_MEANS && y->ndim == 3 && y->dim[0] * y->dim[1] == d->dim[0]) { /* [N*F,C] -> [N,F,C] */
        const char *shape = ct_onnx_shape(w, 4, (const int64_t[]) { 0, 0, 1, -1 });
        ct_onnx_emit(w, "Reshape", w->in->name, x.name, shape, NULL, w->in->out[0], CT_ONNX_ROWS);
        return w->k->status;
    }
    return ct_onnx_beyond(w, "of this shape");
}

/* [N*H,T,C] -> [T,N*H,C]; of several lines a view follows, which makes [T,N,H*C] of it. */
ct_status ct_onnx_write_swap(ct_onnx_writer *w)
{
    const ct_onnx_place x = ct_onnx_at(w, 0);
    const int next = ct_onnx_only_reader(w, w->in->out[0]);
    if (x.form != CT_ONNX_ROWS) return ct_onnx_beyond(w, "of this shape");
    if (next >= 0 && w->g->nodes[next].op == CT_OP_RESHAPE) {
        ct_onnx_give(w, w->in->out[0], CT_ONNX_TURNED, x.name);
        return CT_OK;
    }
    const ct_desc *y = ct_onnx_desc(w, w->in->out[0]);
    return y->dim[1] == w->samples ? turn_rows(w, x.name, y->dim[2]) : ct_onnx_beyond(w, "of lines");
}

/* ---- windows ---- */

ct_status ct_onnx_write_pool(ct_onnx_writer *w)
{
    const ct_pool_attrs *a = &w->in->attrs.pool;
    const ct_onnx_place x = ct_onnx_at(w, 0);
    if (x.form != CT_ONNX_MAP && x.form != CT_ONNX_CLIP) return ct_onnx_beyond(w, "of no picture");
    Onnx__NodeProto *n = ct_onnx_emit(w, "MaxPool", w->in->name, x.name, NULL, NULL, w->in->out[0], x.form);
    if (!n) return w->k->status;
    ct_onnx_windows(w, n, x.form, (const int64_t[]) { a->ker_h, a->ker_w },
                    (const int64_t[]) { a->stride_h, a->stride_w }, (const int64_t[]) { a->pad_h, a->pad_w });
    return w->k->status;
}

/* Means over all pixels; over those of a line, or of a frame: of one window as large. */
ct_status ct_onnx_write_mean(ct_onnx_writer *w)
{
    const ct_onnx_place x = ct_onnx_at(w, 0);
    const ct_desc *d = ct_onnx_desc(w, w->in->in[0]);
    const int next = ct_onnx_only_reader(w, w->in->out[0]);
    const int64_t window[2] = { x.form == CT_ONNX_LINES ? 1 : d->dim[1], d->dim[2] };
    Onnx__NodeProto *n;
    if (x.form == CT_ONNX_MAP && next >= 0 && w->g->nodes[next].op == CT_OP_LINEAR) {
        n = ct_onnx_emit(w, "GlobalAveragePool", ct_onnx_part(w, "mean"), x.name, NULL, NULL, CT_NOVAL, CT_ONNX_MAP);
        if (n) n = ct_onnx_emit(w, "Flatten", w->in->name, n->name, NULL, NULL, w->in->out[0], CT_ONNX_SAME);
        if (n) ct_onnx_attr_int(w->k, n, "axis", 1);
        return w->k->status;
    }
    if (x.form == CT_ONNX_MAP) {
        ct_onnx_emit(w, "GlobalAveragePool", w->in->name, x.name, NULL, NULL, w->in->out[0], CT_ONNX_MEANS);
        return w->k->status;
    }
    if (x.form != CT_ONNX_LINES && x.form != CT_ONNX_CLIP) return ct_onnx_beyond(w, "of no picture");
    n = ct_onnx_emit(w, "AveragePool", w->in->name, x.name, NULL, NULL, w->in->out[0],
                     x.form == CT_ONNX_LINES ? CT_ONNX_MEANS : CT_ONNX_CLIP_MEANS);
    if (n) ct_onnx_windows(w, n, x.form, window, window, (const int64_t[]) { 0, 0 });
    return w->k->status;
}

/* ---- larger maps ---- */

/* Sets of operators before 13 want a region, though only another mode looks at it. */
ct_status ct_onnx_write_upsample(ct_onnx_writer *w)
{
    const ct_onnx_place x = ct_onnx_at(w, 0);
    const bool nearest = w->in->op == CT_OP_UPSAMPLE_NEAREST;
    const int64_t s = w->in->attrs.resample.scale, four = 4, eight = 8;
    const char *region = w->form->opset < 13 ? ct_onnx_part(w, "roi") : "", *scales = ct_onnx_part(w, "scales");
    if (x.form != CT_ONNX_MAP) return ct_onnx_beyond(w, "of no picture");
    if (!region || !scales) return w->k->status;
    float *all = *region ? ct_onnx_floats(w->k, region, 1, &eight) : NULL;
    for (int i = 4; all && i < 8; i++) all[i] = 1;
    float *to = ct_onnx_floats(w->k, scales, 1, &four);
    for (int i = 0; to && i < 4; i++) to[i] = i < 2 ? 1 : (float)s;
    Onnx__NodeProto *n =
        ct_onnx_emit(w, "Resize", w->in->name, x.name, region, scales, w->in->out[0], CT_ONNX_MAP);
    if (!n) return w->k->status;
    ct_onnx_attr_text(w->k, n, "mode", nearest ? "nearest" : "linear");
    ct_onnx_attr_text(w->k, n, "coordinate_transformation_mode", nearest ? "asymmetric" : "half_pixel");
    if (nearest) ct_onnx_attr_text(w->k, n, "nearest_mode", "floor");
    return w->k->status;
}

/* ---- channels, which are second there ---- */

static bool channels_second(ct_onnx_kind f)
{
    return f == CT_ONNX_MAP || f == CT_ONNX_MEANS || f == CT_ONNX_LINES || f == CT_ONNX_ROWS;
}

ct_status ct_onnx_write_concat(ct_onnx_writer *w)
{
    const char *in[CT_MAX_IN + 1] = { NULL };
    const ct_onnx_kind form = ct_onnx_at(w, 0).form;
    for (int i = 0; i < w->in->nin; i++) {
        if (ct_onnx_at(w, i).form != form || !channels_second(form)) return ct_onnx_beyond(w, "of unlike shapes");
        in[i] = ct_onnx_at(w, i).name;
    }
    Onnx__NodeProto *n = ct_onnx_node(w->k, "Concat", w->in->name, in);
    if (!n) return w->k->status;
    ct_onnx_attr_int(w->k, n, "axis", 1);
    ct_onnx_give(w, w->in->out[0], form, n->name);
    return w->k->status;
}

ct_status ct_onnx_write_slice(ct_onnx_writer *w)
{
    static const char *const tail[3] = { "starts", "ends", "axes" };
    const ct_channels_attrs *a = &w->in->attrs.channels;
    const int64_t value[3] = { a->first, a->first + a->channels, 1 };
    const ct_onnx_place x = ct_onnx_at(w, 0);
    const char *in[5] = { x.name, NULL, NULL, NULL, NULL };
    if (!channels_second(x.form)) return ct_onnx_beyond(w, "of this shape");
    for (int i = 0; i < 3; i++) {
        in[1 + i] = ct_onnx_part(w, tail[i]);
        int64_t *to = in[1 + i] ? ct_onnx_ints(w->k, in[1 + i], 1) : NULL;
        if (!to) return w->k->status;
        *to = value[i];
    }
    Onnx__NodeProto *n = ct_onnx_node(w->k, "Slice", w->in->name, in);
    if (n) ct_onnx_give(w, w->in->out[0], x.form, n->name);
    return w->k->status;
}
