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

#endif
