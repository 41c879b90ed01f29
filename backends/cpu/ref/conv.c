/* Convolution: x [N,H,W,C], w [K,R,S,C/g], y [N,P,Q,K].
 *   y[n,p,q,k] = bias[k] + sum over r,s,c of x[n, p*stride_h - pad_h + r*dil_h, q*stride_w - pad_w + s*dil_w, G*C/g +
 * c] * w[k,r,s,c] where G = k / (K/g) is the group of k and pixels outside x are zero, and dx is dgrad's sum and add, where that is given; and moments [2,K], where they are
 * wanted: the sums of y and of y*y over all pixels, of y as it is stored. */
#include "config.h"

#include "backends/cpu/ref/ref_util.h"

typedef struct geometry {
    int64_t n, h, w, c;  /* x */
    int64_t k, r, s, cg; /* w; cg = C/g */
    int64_t p, q;        /* y: [n,p,q,k] */
    int64_t kg;          /* K/g: filters of one group */
    const ct_conv_attrs *a;
} geometry;

static geometry geometry_of(const ct_conv_attrs *a, const ct_desc *x, const ct_desc *w, const ct_desc *y)
{
    geometry g = {
        .n = x->dim[0],
        .h = x->dim[1],
        .w = x->dim[2],
        .c = x->dim[3],
        .k = w->dim[0],
        .r = w->dim[1],
        .s = w->dim[2],
        .cg = w->dim[3],
        .p = y->dim[1],
        .q = y->dim[2],
        .kg = w->dim[0] / a->groups,
        .a = a,
    };
    return g;
}

/* y[i] += sum over k < count of alpha[k] * x[k*stride + i], i < n: four rows of x for one pass over y. */
static void add_rows(double *restrict y, int64_t n, const double *alpha, const double *restrict x, int64_t stride,
                     int64_t count)
{
    int64_t k = 0;
    for (; k + 4 <= count; k += 4) {
        const double *x0 = x + k * stride, *x1 = x0 + stride, *x2 = x1 + stride, *x3 = x2 + stride;
        double a0 = alpha[k], a1 = alpha[k + 1], a2 = alpha[k + 2], a3 = alpha[k + 3];
        for (int64_t i = 0; i < n; i++) y[i] += (a0 * x0[i] + a1 * x1[i]) + (a2 * x2[i] + a3 * x3[i]);
    }
    for (; k < count; k++)
        for (int64_t i = 0; i < n; i++) y[i] += alpha[k] * x[k * stride + i];
}

/* y[k*stride + i] += alpha[k] * x[i], k < count, i < n. */
static void add_outer(double *restrict y, int64_t stride, int64_t count, const double *alpha, const double *restrict x,
                      int64_t n)
{
    for (int64_t k = 0; k < count; k++)
        for (int64_t i = 0; i < n; i++) y[k * stride + i] += alpha[k] * x[i];
}

static ct_accept accept_scratch(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    const char *reason = ct_ref_all_float(call);
    if (reason) return ct_accept_no(reason);
    size_t bytes = 0;
    for (int i = 0; i < call->nin; i++) bytes += ct_ref_scratch(&call->in[i]);
    for (int i = 0; i < call->nout; i++) bytes += ct_ref_scratch(&call->out[i]);
    return ct_accept_yes(bytes);
}

/* sum [2,K] of y [...,K]. */
static void put_moments(const ct_tensor *y, double *sum)
{
    const int64_t cols = ct_ref_cols(y), count = ct_desc_numel(&y->desc);
    for (int64_t k = 0; k < 2 * cols; k++) sum[k] = 0;
    for (int64_t i = 0; i < count; i++) {
        const double v = ct_ref_at(y, i);
        sum[i % cols] += v;
        sum[cols + i % cols] += v * v;
    }
}

static ct_status forward(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const ct_conv_attrs *a = &call->attrs.conv;
    geometry g = geometry_of(a, &call->in[0].desc, &call->in[1].desc, &call->out[0].desc);
    double *room = scratch;
    const double *x = ct_ref_in(&call->in[0], &room), *w = ct_ref_in(&call->in[1], &room);
    const double *bias = call->nin > 2 && ct_present(&call->in[2]) ? ct_ref_in(&call->in[2], &room) : NULL;
    double *y = ct_ref_out(&call->out[0], &room);
    for (int64_t n = 0; n < g.n; n++)
        for (int64_t p = 0; p < g.p; p++)
            for (int64_t q = 0; q < g.q; q++)
                for (int64_t k = 0; k < g.k; k++) {
                    int64_t first = k / g.kg * g.cg;
                    double sum = 0;
                    for (int64_t r = 0; r < g.r; r++) {
                        int64_t i = p * a->stride_h - a->pad_h + r * a->dil_h;
                        if (i < 0 || i >= g.h) continue;
                        for (int64_t s = 0; s < g.s; s++) {
                            int64_t j = q * a->stride_w - a->pad_w + s * a->dil_w;
                            if (j < 0 || j >= g.w) continue;
                            sum += ct_ref_dot(x + ((n * g.h + i) * g.w + j) * g.c + first,
                                              w + ((k * g.r + r) * g.s + s) * g.cg, g.cg);
                        }
                    }
                    y[((n * g.p + p) * g.q + q) * g.k + k] = sum + (bias ? bias[k] : 0);
                }
    ct_ref_flush(&call->out[0], y);
    if (call->nout > 1) put_moments(&call->out[0], call->out[1].data);
    return CT_OK;
}

/* The output row that filter row r reads input row i for, or -1. */
static int64_t source_of(int64_t i, int64_t r, int64_t stride, int64_t pad, int64_t dil, int64_t count)
{
    int64_t d = i + pad - r * dil;
    if (d < 0 || d % stride != 0 || d / stride >= count) return -1;
    return d / stride;
}

static ct_status dgrad(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const ct_conv_attrs *a = &call->attrs.conv;
    geometry g = geometry_of(a, &call->out[0].desc, &call->in[1].desc, &call->in[0].desc);
    double *room = scratch;
    const double *dy = ct_ref_in(&call->in[0], &room), *w = ct_ref_in(&call->in[1], &room);
    const bool adds = call->nin > 2 && ct_present(&call->in[2]);
    const double *add = adds ? ct_ref_in(&call->in[2], &room) : NULL; /* may be dx */
    double *dx = ct_ref_out(&call->out[0], &room);
    int64_t row = g.r * g.s * g.cg; /* elements of one filter */
    for (int64_t n = 0; n < g.n; n++)
        for (int64_t i = 0; i < g.h; i++)
            for (int64_t j = 0; j < g.w; j++) {
                const int64_t at = ((n * g.h + i) * g.w + j) * g.c;
                double *to = dx + at;
                for (int64_t c = 0; c < g.c; c++) to[c] = adds ? add[at + c] : 0;
                for (int64_t r = 0; r < g.r; r++) {
                    int64_t p = source_of(i, r, a->stride_h, a->pad_h, a->dil_h, g.p);
                    if (p < 0) continue;
                    for (int64_t s = 0; s < g.s; s++) {
                        int64_t q = source_of(j, s, a->stride_w, a->pad_w, a->dil_w, g.q);
                        if (q < 0) continue;
                        const double *from = dy + ((n * g.p + p) * g.q + q) * g.k;
                        for (int64_t b = 0; b < a->groups; b++)
                            add_rows(to + b * g.cg, g.cg, from + b * g.kg, w + ((b * g.kg * g.r + r) * g.s + s) * g.cg,
                                     row, g.kg);
                    }
                }
            }
    ct_ref_flush(&call->out[0], dx);
    return CT_OK;
}

static ct_status wgrad(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    const ct_conv_attrs *a = &call->attrs.conv;
    geometry g = geometry_of(a, &call->in[0].desc, &call->out[0].desc, &call->in[1].desc);
    double *room = scratch;
    const double *x = ct_ref_in(&call->in[0], &room), *dy = ct_ref_in(&call->in[1], &room);
    double *dw = ct_ref_out(&call->out[0], &room);
    int64_t row = g.r * g.s * g.cg; /* elements of one filter */
    for (int64_t i = 0; i < g.k * row; i++) dw[i] = 0;
    for (int64_t n = 0; n < g.n; n++)
        for (int64_t p = 0; p < g.p; p++)
            for (int64_t q = 0; q < g.q; q++) {
                const double *from = dy + ((n * g.p + p) * g.q + q) * g.k;
                for (int64_t r = 0; r < g.r; r++) {
                    int64_t i = p * a->stride_h - a->pad_h + r * a->dil_h;
                    if (i < 0 || i >= g.h) continue;
                    for (int64_t s = 0; s < g.s; s++) {
                        int64_t j = q * a->stride_w - a->pad_w + s * a->dil_w;
                        if (j < 0 || j >= g.w) continue;
                        const double *pixel = x + ((n * g.h + i) * g.w + j) * g.c;
                        for (int64_t b = 0; b < a->groups; b++)
                            add_outer(dw + ((b * g.kg * g.r + r) * g.s + s) * g.cg, row, g.kg, from + b * g.kg,
                                      pixel + b * g.cg, g.cg);
                    }
                }
            }
    ct_ref_flush(&call->out[0], dw);
    return CT_OK;
}

static const ct_impl impls[] = {
    { CT_OP_CONV2D, "ref", CT_REF_FLAGS, accept_scratch, forward },
    { CT_OP_CONV2D_DGRAD, "ref", CT_REF_FLAGS, accept_scratch, dgrad },
    { CT_OP_CONV2D_WGRAD, "ref", CT_REF_FLAGS, accept_scratch, wgrad },
};
const ct_impl_set ct_ref_conv_impls = CT_IMPL_SET(impls);
