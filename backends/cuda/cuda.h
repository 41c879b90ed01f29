/* Inside backends/cuda only: the device, streams, the core's services, and the sets of implementations that backend.c lists.
 *
 * Files. backend.c owns devices, memory, streams and captures. One .cu file per operator family holds its kernels and, beside
 * them, accept(), run() and their rows; dev.cuh is what kernels share. lt.c does matrix products through cuBLASLt, dnn.c convolutions
 * through the graph interface of cuDNN. With CT_CUDA_EMULATE the .cu files and backend.c are compiled as plain C++ against a
 * small emulator of the CUDA runtime (tests/emulate), so that every kernel of ours runs in the operator tests of a machine
 * without a GPU; lt.c and dnn.c meet stand-ins of the two libraries there. */
#ifndef CT_CUDA_CUDA_H
#define CT_CUDA_CUDA_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "backends/backend.h"

struct ct_lt;  /* cuBLASLt: handle and chosen algorithms (lt.c) */
struct ct_dnn; /* cuDNN: handle and execution plans (dnn.c) */

struct ct_device {
    int index;             /* CUDA ordinal */
    int major, minor, sms; /* compute capability, multiprocessors */
    size_t memory;         /* bytes */
    char name[128], bus[32];
    ct_device_opts opts;
    struct ct_lt *lt;
    struct ct_dnn *dnn;
};

enum { CT_TICKETS = 2048 };
struct ct_stream {
    cudaStream_t s;
    unsigned *tickets; /* [CT_TICKETS] on the device, 0 between kernels: which blocks are done (columns.cuh) */
};
struct ct_event { cudaEvent_t e; };
struct ct_capture { cudaGraph_t graph; cudaGraphExec_t exec; };

extern const ct_services *ct_core; /* set once, by ct_backend_entry */

/* Records "cuda: <what>: <text of the error>" and returns the status: CT_ENOMEM for lack of memory, else CT_EBACKEND. */
ct_status ct_cuda_fail(cudaError_t e, const char *what);

#define CT_CUDA_TRY(expr)                                                 \
    do {                                                                  \
        cudaError_t ct_cuda_e_ = (expr);                                  \
        if (ct_cuda_e_ != cudaSuccess) return ct_cuda_fail(ct_cuda_e_, #expr); \
    } while (0)

/* ---- descriptors (a plug-in calls the core through ct_services alone, so these few lines are its own) ---- */

static inline int64_t ct_cuda_numel(const ct_desc *d)
{
    int64_t n = 1;
    for (int i = 0; i < d->ndim; i++) n *= d->dim[i];
    return n;
}
static inline int64_t ct_cuda_cols(const ct_desc *d) { return d->ndim > 0 ? d->dim[d->ndim - 1] : 1; }
static inline int64_t ct_cuda_rows(const ct_desc *d) { return ct_cuda_numel(d) / ct_cuda_cols(d); }
static inline size_t ct_cuda_align(size_t bytes) { return (bytes + 255) & ~(size_t)255; } /* parts of a scratch block */
/* cuBLASLt takes no workspace that stands lower than on 256 bytes (backend.h promises it); with one that does it fails, or worse. */
static inline ct_status ct_cuda_check_scratch(const void *scratch)
{
    return (uintptr_t)scratch % 256 == 0 ? CT_OK : ct_core->fail(CT_EINTERNAL, "cuda: scratch at %p, not at a multiple of 256", scratch);
}

/* Storage types the kernels take: f32 and, computed in f32, bf16 and f16. */
static inline bool ct_cuda_type(ct_dtype d) { return d == CT_F32 || d == CT_BF16 || d == CT_F16; }
static inline bool ct_cuda_has(const ct_call *c, int i) { return i < c->nin && ct_present(&c->in[i]); }

#define CT_CUDA_NO_TYPE "cuda: only f32, bf16 and f16"
#define CT_CUDA_NO_SUM "cuda: nothing is added to; programs of this backend have no such sum"
#define CT_CUDA_NO_MOMENTS "cuda: no moments, beside y or given; programs of this backend have none"

/* Whether this card multiplies in the type of a call: cards before compute capability 8.0 have no bf16, and plain loops in its place
 * would be no bf16 training that anybody asked for. */
static inline ct_accept ct_cuda_factors(const ct_device *d, const ct_call *c)
{
    const ct_dtype type = c->in[0].desc.dtype;
    if (!ct_cuda_type(type)) return ct_accept_no(CT_CUDA_NO_TYPE);
    return type == CT_BF16 && d->major < 8 ? ct_accept_no("cuda: bf16 needs compute capability 8.0, which this card has not; fp16 does without")
                                           : ct_accept_yes(0);
}

/* ---- the implementations: each file of a family ends with its rows, as backends/cpu's do ---- */

#define CT_CUDA_TUNED (CT_IMPL_EXACT | CT_IMPL_DETERMINISTIC)
#define CT_CUDA_YARDSTICK (CT_CUDA_TUNED | CT_IMPL_YARDSTICK)

/* Gives `impls` of this file to backend.c's list. In C++ a constant is seen from outside only where it is declared extern, and in the
 * namespaces of tests/emulate/kernels.cpp only where that is said there. */
#ifdef __cplusplus
#define CT_CUDA_SET(family)                                          \
    extern "C" {                                                     \
    extern const ct_impl_set ct_cuda_##family##_impls;               \
    const ct_impl_set ct_cuda_##family##_impls = CT_IMPL_SET(impls); \
    }
#else
#define CT_CUDA_SET(family) const ct_impl_set ct_cuda_##family##_impls = CT_IMPL_SET(impls);
#endif
/* Writes `row` [C] into every row of y [...,C] (linear.cu). */
ct_status ct_cuda_repeat(ct_stream *s, const ct_tensor *row, const ct_tensor *y);

extern const ct_impl_set ct_cuda_depthwise_impls;
extern const ct_impl_set ct_cuda_conv_few_impls;
extern const ct_impl_set ct_cuda_dnn_impls;
extern const ct_impl_set ct_cuda_lt_impls;
extern const ct_impl_set ct_cuda_conv_impls;
extern const ct_impl_set ct_cuda_linear_impls;
extern const ct_impl_set ct_cuda_norm_impls;
extern const ct_impl_set ct_cuda_norm_sum_impls;
extern const ct_impl_set ct_cuda_norm_pool_impls;
extern const ct_impl_set ct_cuda_norm_overlap_impls;
extern const ct_impl_set ct_cuda_standardize_impls;
extern const ct_impl_set ct_cuda_activation_impls;
extern const ct_impl_set ct_cuda_elementwise_impls;
extern const ct_impl_set ct_cuda_pool_impls;
extern const ct_impl_set ct_cuda_resample_impls;
extern const ct_impl_set ct_cuda_channels_impls;
extern const ct_impl_set ct_cuda_fuse_impls;
extern const ct_impl_set ct_cuda_softmax_impls;
extern const ct_impl_set ct_cuda_spectrum_impls;
extern const ct_impl_set ct_cuda_sequence_impls;
extern const ct_impl_set ct_cuda_sequence_lstm_impls;
extern const ct_impl_set ct_cuda_sequence_lstm_mma_impls;
extern const ct_impl_set ct_cuda_loss_impls;
extern const ct_impl_set ct_cuda_ctc_impls;
extern const ct_impl_set ct_cuda_distill_impls;
extern const ct_impl_set ct_cuda_heatmap_impls;
extern const ct_impl_set ct_cuda_heatmap_rows_impls;
extern const ct_impl_set ct_cuda_metric_impls;
extern const ct_impl_set ct_cuda_optim_impls;
extern const ct_impl_set ct_cuda_muon_impls;
extern const ct_impl_set ct_cuda_image_impls;
extern const ct_impl_set ct_cuda_points_impls;

#ifdef __cplusplus
}
#endif
#endif
