/* swap: y[b,a,...] = x[a,b,...].
 * lstm: per direction, sample n and step, in the order of the direction (0..len-1, or len-1..0), with q the step before
 *   it and y[q] = cell[q] = 0 where there is none:
 *     a[k] = xg[t,n,k] + b_hh[k] + sum over j of w_hh[k,j]*y[q,n,j], k over the gates i, f, g, o of H units each,
 *   and then as ops/math/lstm_math.h. y of this sum is what was computed, not what a 16-bit tensor keeps of it.
 * lstm_bwd: the steps in the opposite order, with da[t] = dxg[t,n]:
 *     dh[t,n,j] = dy[t,n,j] + sum over k of da[next step,k]*w_hh[k,j]
 *     dw_hh[k,j] = sum over t, n of da[t,n,k]*y[q,n,j] */
#include "config.h"

#include "backends/cpu/ref/ref_util.h"

#include <inttypes.h>
#include <string.h>

#include "ops/math/lstm_math.h"

static ct_accept accept_swap(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    const char *reason = ct_ref_all_float(call);
    if (reason) return ct_accept_no(reason);
    return ct_accept_yes(0);
}

static ct_status swap(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const ct_desc *x = &call->in[0].desc;
    size_t inner = ct_dtype_size(x->dtype);
    for (int i = 2; i < x->ndim; i++) inner *= (size_t)x->dim[i];
    const char *from = call->in[0].data;
    char *to = call->out[0].data;
    for (int64_t a = 0; a < x->dim[0]; a++)
        for (int64_t b = 0; b < x->dim[1]; b++)
            memcpy(to + (size_t)(b * x->dim[0] + a) * inner, from + (size_t)(a * x->dim[1] + b) * inner, inner);
    return CT_OK;
}

/* ---- the recurrence ---- */

/* One direction of a layer over [T,N]; y and dy have rows of `width` values, of which H from `first` on are this
 * direction's. */
typedef struct layer {
    int64_t steps, n, h, width, first;
    bool reverse;
    const int32_t *len; /* [n] or NULL: all steps */
} layer;

static ct_status check_len(const ct_call *call, const layer *l)
{
    for (int64_t n = 0; l->len && n < l->n; n++)
        if (l->len[n] < 1 || l->len[n] > l->steps)
            return ct_fail(CT_EDATA,
                           "%s: len of sample %" PRId64 " of the batch is %" PRId32 ", not within [1, %" PRId64 "]",
                           ct_op_get(call->op)->name, n, l->len[n], l->steps);
    return CT_OK;
}

static int64_t length(const layer *l, int64_t n) { return l->len ? l->len[n] : l->steps; }

/* The step that is `s` steps behind the first one of a sample that is len long. */
static int64_t step_at(const layer *l, int64_t len, int64_t s) { return l->reverse ? len - 1 - s : s; }

/* Where sample n's values of step t lie in tensors [T,N,`width`]. */
static int64_t row(const layer *l, int64_t t, int64_t n, int64_t width) { return (t * l->n + n) * width; }

/* Gates before their functions of one step into gates [4H]; before: y of the step before, NULL at the first. */
static void sums(const layer *l, const double *xg, const double *w, const double *b, const double *before,
                 double *gates)
{
    for (int64_t k = 0; k < 4 * l->h; k++)
        gates[k] = xg[k] + (b ? b[k] : 0) + (before ? ct_ref_dot(w + k * l->h, before, l->h) : 0);
}

static void zero(double *p, int64_t n)
{
    for (int64_t i = 0; i < n; i++) p[i] = 0;
}

/* gates [T,N,4H], cell [T,N,H] of this direction; y of both. */
static void forward_sample(const layer *l, int64_t n, const double *xg, const double *w, const double *b, double *y,
                           double *gates, double *cell)
{
    int64_t h = l->h, len = length(l, n), before = -1;
    for (int64_t s = 0; s < len; s++) {
        int64_t t = step_at(l, len, s);
        double *v = gates + row(l, t, n, 4 * h), *c = cell + row(l, t, n, h);
        double *out = y + row(l, t, n, l->width) + l->first;
        sums(l, xg + row(l, t, n, 4 * h), w, b, s ? y + row(l, before, n, l->width) + l->first : NULL, v);
        for (int64_t j = 0; j < h; j++) {
            ct_lstm_gates_f64 a = { v[j], v[h + j], v[2 * h + j], v[3 * h + j] };
            a = ct_lstm_unit_f64(a, s ? cell[row(l, before, n, h) + j] : 0, &c[j], &out[j]);
            v[j] = a.i;
            v[h + j] = a.f;
            v[2 * h + j] = a.g;
            v[3 * h + j] = a.o;
        }
        before = t;
    }
    for (int64_t t = len; t < l->steps; t++) {
        zero(gates + row(l, t, n, 4 * h), 4 * h);
        zero(cell + row(l, t, n, h), h);
        zero(y + row(l, t, n, l->width) + l->first, h);
    }
}

typedef struct saved {
    const double *dy, *y, *gates, *cell, *w;
} saved;

/* dxg [T,N,4H] of this direction; dw is added to; dh and dc [H] are room. */
static void backward_sample(const layer *l, int64_t n, const saved *in, double *dxg, double *dw, double *dh, double *dc)
{
    int64_t h = l->h, len = length(l, n);
    zero(dh, h);
    zero(dc, h);
    for (int64_t s = len - 1; s >= 0; s--) {
        int64_t t = step_at(l, len, s), before = s ? step_at(l, len, s - 1) : -1;
        const double *v = in->gates + row(l, t, n, 4 * h), *c = in->cell + row(l, t, n, h);
        const double *dy = in->dy + row(l, t, n, l->width) + l->first;
        double *da = dxg + row(l, t, n, 4 * h);
        for (int64_t j = 0; j < h; j++) {
            ct_lstm_gates_f64 a = { v[j], v[h + j], v[2 * h + j], v[3 * h + j] };
            a = ct_lstm_unit_bwd_f64(a, c[j], s ? in->cell[row(l, before, n, h) + j] : 0, dy[j] + dh[j], &dc[j]);
            da[j] = a.i;
            da[h + j] = a.f;
            da[2 * h + j] = a.g;
            da[3 * h + j] = a.o;
        }
        if (!s) break;
        const double *y = in->y + row(l, before, n, l->width) + l->first;
        zero(dh, h);
        for (int64_t k = 0; k < 4 * h; k++) {
            for (int64_t j = 0; j < h; j++) dh[j] += da[k] * in->w[k * h + j];
            for (int64_t j = 0; j < h; j++) dw[k * h + j] += da[k] * y[j];
        }
    }
    for (int64_t t = len; t < l->steps; t++) zero(dxg + row(l, t, n, 4 * h), 4 * h);
}

/* ---- the operators ---- */

static bool given(const ct_call *call, int i) { return i < call->nin && ct_present(&call->in[i]); }

static const double *optional(const ct_call *call, int i, double **room)
{
    return given(call, i) ? ct_ref_in(&call->in[i], room) : NULL;
}

/* f64 copies of all floating tensors, and two rows of H for the backward pass. */
static ct_accept accept_lstm(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    size_t bytes = 0;
    for (int i = 0; i < call->nin; i++) {
        if (!ct_present(&call->in[i])) continue;
        bool len = i == 6;
        if (len && call->in[i].desc.dtype != CT_I32) return ct_accept_no("len is not i32");
        if (!len && !ct_dtype_is_float(call->in[i].desc.dtype)) return ct_accept_no("an input is not floating point");
        bytes += len ? 0 : ct_ref_scratch(&call->in[i]);
    }
    for (int i = 0; i < call->nout; i++) bytes += ct_ref_scratch(&call->out[i]);
    if (call->op == CT_OP_LSTM_BWD) bytes += 2 * (size_t)call->in[4].desc.dim[1] * sizeof(double);
    return ct_accept_yes(bytes);
}

static ct_status forward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const ct_desc *cells = &call->out[2].desc;
    int64_t directions = cells->dim[0], plane = cells->dim[1] * cells->dim[2] * cells->dim[3];
    layer l = { .steps = cells->dim[1], .n = cells->dim[2], .h = cells->dim[3], .width = directions * cells->dim[3] };
    l.len = given(call, 6) ? call->in[6].data : NULL;
    CT_TRY(check_len(call, &l));
    double *room = scratch, *out[3];
    for (int i = 0; i < 3; i++) out[i] = ct_ref_out(&call->out[i], &room);
    for (int64_t d = 0; d < directions; d++) {
        int first = (int)(3 * d);
        const double *xg = ct_ref_in(&call->in[first], &room), *w = ct_ref_in(&call->in[first + 1], &room);
        const double *b = optional(call, first + 2, &room);
        l.reverse = d == 1;
        l.first = d * l.h;
        for (int64_t n = 0; n < l.n; n++)
            forward_sample(&l, n, xg, w, b, out[0], out[1] + 4 * d * plane, out[2] + d * plane);
    }
    for (int i = 0; i < 3; i++) ct_ref_flush(&call->out[i], out[i]);
    return CT_OK;
}

static ct_status backward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const ct_desc *cells = &call->in[3].desc;
    int64_t directions = cells->dim[0], plane = cells->dim[1] * cells->dim[2] * cells->dim[3];
    layer l = { .steps = cells->dim[1], .n = cells->dim[2], .h = cells->dim[3], .width = directions * cells->dim[3] };
    l.len = given(call, 6) ? call->in[6].data : NULL;
    CT_TRY(check_len(call, &l));
    double *room = scratch, *dh = room, *dc = room + l.h;
    room += 2 * l.h;
    const double *in[4];
    for (int i = 0; i < 4; i++) in[i] = ct_ref_in(&call->in[i], &room);
    for (int64_t d = 0; d < directions; d++) {
        saved s = { in[0], in[1], in[2] + 4 * d * plane, in[3] + d * plane, ct_ref_in(&call->in[4 + d], &room) };
        double *dxg = ct_ref_out(&call->out[2 * d], &room), *dw = ct_ref_out(&call->out[2 * d + 1], &room);
        l.reverse = d == 1;
        l.first = d * l.h;
        zero(dw, 4 * l.h * l.h);
        for (int64_t n = 0; n < l.n; n++) backward_sample(&l, n, &s, dxg, dw, dh, dc);
        ct_ref_flush(&call->out[2 * d], dxg);
        ct_ref_flush(&call->out[2 * d + 1], dw);
    }
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_SWAP, "ref", CT_REF_FLAGS, accept_swap, swap },
    { CT_OP_LSTM, "ref", CT_REF_FLAGS, accept_lstm, forward },
    { CT_OP_LSTM_BWD, "ref", CT_REF_FLAGS, accept_lstm, backward },
};
const ct_impl_set ct_ref_sequence_impls = CT_IMPL_SET(impls);
