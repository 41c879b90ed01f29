/* What the losses on maps of cells share: one type, f32 or f64, for all tensors of a call. */
#ifndef CT_CUDA_HEATMAP_CUH
#define CT_CUDA_HEATMAP_CUH

#include "backends/cuda/dev.cuh"
#include "ops/math/heatmap_math.h"

/* Chooses a template by that type, T in the statement. */
#define CT_BY_WIDTH(call, ...)                    \
    do {                                          \
        if ((call)->in[0].desc.dtype == CT_F64) { \
            typedef double T;                     \
            __VA_ARGS__;                          \
        } else {                                  \
            typedef float T;                      \
            __VA_ARGS__;                          \
        }                                         \
    } while (0)

/* With scratch of so many doubles. */
static inline ct_accept heat_accept(const ct_call *c, int64_t doubles)
{
    const ct_dtype t = c->in[0].desc.dtype;
    if (t != CT_F32 && t != CT_F64) return ct_accept_no("cuda: only f32 and f64");
    return ct_accept_yes((size_t)doubles * sizeof(double));
}

template <typename T> static inline const T *heat_in(const ct_call *c, int i) { return (const T *)c->in[i].data; }
template <typename T> static inline T *heat_out(const ct_call *c, int i) { return (T *)c->out[i].data; }

#endif
