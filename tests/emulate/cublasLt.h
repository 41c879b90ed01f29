/* A stand-in for the part of cuBLASLt that backends/cuda uses (lt.cpp). The names are cuBLASLt's, the numbers need not be. */
#ifndef CT_EMULATE_CUBLASLT_H
#define CT_EMULATE_CUBLASLT_H

#include <stdint.h>

#include "cuda_runtime_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_INVALID_VALUE = 7, CUBLAS_STATUS_NOT_SUPPORTED = 15 } cublasStatus_t;
typedef enum { CUBLAS_OP_N, CUBLAS_OP_T } cublasOperation_t;
typedef enum { CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_32F_FAST_TF32 = 77 } cublasComputeType_t;
typedef enum { CUDA_R_32F = 0, CUDA_R_16F = 2, CUDA_R_16BF = 14 } cudaDataType;
typedef enum { CUBLASLT_EPILOGUE_DEFAULT = 1, CUBLASLT_EPILOGUE_BIAS = 4 } cublasLtEpilogue_t;
typedef enum {
    CUBLASLT_MATMUL_DESC_TRANSA,
    CUBLASLT_MATMUL_DESC_TRANSB,
    CUBLASLT_MATMUL_DESC_EPILOGUE,
    CUBLASLT_MATMUL_DESC_BIAS_POINTER
} cublasLtMatmulDescAttributes_t;
typedef enum {
    CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
    CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES
} cublasLtMatmulPreferenceAttributes_t;
typedef enum {
    CUBLASLT_REDUCTION_SCHEME_NONE = 0,
    CUBLASLT_REDUCTION_SCHEME_INPLACE = 1,
    CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE = 2,
    CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE = 4
} cublasLtReductionScheme_t;
typedef enum {
    CUBLASLT_ALGO_CONFIG_ID,
    CUBLASLT_ALGO_CONFIG_TILE_ID,
    CUBLASLT_ALGO_CONFIG_STAGES_ID,
    CUBLASLT_ALGO_CONFIG_SPLITK_NUM,
    CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME,
    CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING,
    CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION,
    CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID,
    CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID
} cublasLtMatmulAlgoConfigAttributes_t;
typedef enum { CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS } cublasLtMatmulAlgoCapAttributes_t;
#define CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA (1ull << 0)
#define CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA (1ull << 1)
#define CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK (0xfeull)
#define CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F (1ull << 8)
#define CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F (1ull << 9)
#define CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F (1ull << 16)
#define CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF (1ull << 17)
#define CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32 (1ull << 18)
#define CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F (1ull << 19)

typedef struct emu_lt *cublasLtHandle_t;
typedef struct emu_lt_product *cublasLtMatmulDesc_t;
typedef struct emu_lt_matrix *cublasLtMatrixLayout_t;
typedef struct emu_lt_wish *cublasLtMatmulPreference_t;
typedef struct {
    uint32_t id, split, scheme;
    uint64_t numerics, workspace;
} cublasLtMatmulAlgo_t;
typedef struct {
    cublasLtMatmulAlgo_t algo;
    size_t workspaceSize;
    cublasStatus_t state;
} cublasLtMatmulHeuristicResult_t;

cublasStatus_t cublasLtCreate(cublasLtHandle_t *h);
cublasStatus_t cublasLtDestroy(cublasLtHandle_t h);
size_t cublasLtGetVersion(void);
const char *cublasLtGetStatusString(cublasStatus_t s);
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *d, cublasComputeType_t compute, cudaDataType scale);
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d);
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t a, const void *p, size_t n);
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *m, cudaDataType type, uint64_t rows, uint64_t cols, int64_t ld);
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t m);
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *w);
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t w);
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t w, cublasLtMatmulPreferenceAttributes_t a, const void *p,
                                                    size_t n);
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t h, cublasLtMatmulDesc_t op, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t w, int most,
                                              cublasLtMatmulHeuristicResult_t *result, int *n);
cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t *x, cublasLtMatmulAlgoCapAttributes_t a, void *p, size_t size,
                                                 size_t *written);
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *x, cublasLtMatmulAlgoConfigAttributes_t a, void *p, size_t size,
                                                    size_t *written);
cublasStatus_t cublasLtMatmul(cublasLtHandle_t h, cublasLtMatmulDesc_t op, const void *alpha, const void *a, cublasLtMatrixLayout_t ma,
                              const void *b, cublasLtMatrixLayout_t mb, const void *beta, const void *c, cublasLtMatrixLayout_t mc, void *d,
                              cublasLtMatrixLayout_t md, const cublasLtMatmulAlgo_t *algo, void *workspace, size_t bytes, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
