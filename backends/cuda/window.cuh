/* The window of a convolution in 32 bits, as kernels of ours take it: those for single channels (depthwise.cu) and for few (conv_few.cu). */
#ifndef CT_CUDA_WINDOW_CUH
#define CT_CUDA_WINDOW_CUH

#include "backends/cuda/dev.cuh"

struct ct_window {
    int n, h, w, c, p, q, k, r, s; /* x [n,h,w,c], y [n,p,q,k], filters of r x s taps */
    int stride_h, stride_w, pad_h, pad_w, dil_h, dil_w;
};

/* x, w, y as in the forward direction. */
static inline ct_window ct_window_of(const ct_conv_attrs *a, const ct_desc *x, const ct_desc *w, const ct_desc *y)
{
    ct_window g;
    g.n = (int)x->dim[0];
    g.h = (int)x->dim[1];
    g.w = (int)x->dim[2];
    g.c = (int)x->dim[3];
    g.p = (int)y->dim[1];
    g.q = (int)y->dim[2];
    g.k = (int)y->dim[3];
    g.r = (int)w->dim[1];
    g.s = (int)w->dim[2];
    g.stride_h = (int)a->stride_h;
    g.stride_w = (int)a->stride_w;
    g.pad_h = (int)a->pad_h;
    g.pad_w = (int)a->pad_w;
    g.dil_h = (int)a->dil_h;
    g.dil_w = (int)a->dil_w;
    return g;
}

#endif
