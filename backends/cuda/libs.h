/* cuBLASLt and cuDNN as the rest of the backend sees them: opening, closing, versions, implementations. An emulated build
 * has stand-ins for both (tests/emulate). */
#ifndef CT_CUDA_LIBS_H
#define CT_CUDA_LIBS_H

#include "backends/cuda/cuda.h"

ct_status ct_cuda_libs_open(ct_device *d); /* what was opened is closed by ct_cuda_libs_close, after a failure too */
void ct_cuda_libs_close(ct_device *d);
void ct_cuda_libs_versions(char *buf, size_t size); /* "cuBLAS 13.1.0, cuDNN 9.19.0" */

/* What backend.h asks of receipt(), variants() and prefer(), where `impl` is a library's. Of other implementations: *out is left as it is,
 * there are none, and a variant is CT_EUNSUPPORTED. */
ct_status ct_cuda_libs_receipt(const ct_device *d, const ct_impl *impl, const ct_call *call, ct_receipt *out);
int ct_cuda_libs_variants(ct_device *d, const ct_impl *impl, const ct_call *call, char names[][CT_VARIANT_NAME], int max);
ct_status ct_cuda_libs_prefer(ct_device *d, const ct_impl *impl, const ct_call *call, const char *variant);

ct_status ct_cuda_lt_open(ct_device *d);
void ct_cuda_lt_close(ct_device *d);
ct_status ct_cuda_dnn_open(ct_device *d);
void ct_cuda_dnn_close(ct_device *d);
ct_status ct_cuda_dnn_receipt(const ct_device *d, const ct_call *c, ct_receipt *out);
int ct_cuda_dnn_variants(ct_device *d, const ct_call *c, char names[][CT_VARIANT_NAME], int max);
ct_status ct_cuda_dnn_prefer(ct_device *d, const ct_call *c, const char *variant);

#define CT_CUDA_IMPL(name)                                                     \
    ct_accept ct_cuda_##name##_accept(const ct_device *dev, const ct_call *c); \
    ct_status ct_cuda_##name##_run(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch);
CT_CUDA_IMPL(conv2d)
CT_CUDA_IMPL(conv2d_dgrad)
CT_CUDA_IMPL(conv2d_wgrad)
CT_CUDA_IMPL(linear)
CT_CUDA_IMPL(linear_dgrad)
CT_CUDA_IMPL(linear_wgrad)
#undef CT_CUDA_IMPL

/* A row of the table, with its comma. What options forbid is refused by accept(), so the rows carry both flags. */
#define CT_CUDA_LIB_ROW(op, name, impl) \
    { op, name, CT_IMPL_EXACT | CT_IMPL_DETERMINISTIC, ct_cuda_##impl##_accept, ct_cuda_##impl##_run },

#endif
