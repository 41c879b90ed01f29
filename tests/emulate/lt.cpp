/* cuBLASLt on the emulated card: products as plain loops, offered as four algorithms, and as strict as the real one about what it is
 * given. Those that add parts of a sum in the type of the result do so here, too; and the epilogue of 16-bit results gets the product
 * rounded already where a sum has parts or rows are not aligned, as some of the real ones have it. With the fault "lt-4" the fourth
 * algorithm is off by 1 in its first element. */
#include <stdlib.h>
#include <string.h>

#include <vector>

#include "cublasLt.h"
#include "emulate.h"

struct emu_lt { int unused; };
struct emu_lt_product {
    cublasComputeType_t compute;
    cublasOperation_t op[2];
    cublasLtEpilogue_t epilogue;
    const void *bias;
};
struct emu_lt_matrix { cudaDataType type; int64_t rows, cols, ld; };
struct emu_lt_wish { uint64_t workspace; uint32_t schemes; };

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t *h) { return *h = new emu_lt(), CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtDestroy(cublasLtHandle_t h) { return delete h, CUBLAS_STATUS_SUCCESS; }
size_t cublasLtGetVersion(void) { return 130100; }
const char *cublasLtGetStatusString(cublasStatus_t s) { return s == CUBLAS_STATUS_INVALID_VALUE ? "invalid value" : "not supported"; }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *d, cublasComputeType_t compute, cudaDataType)
{
    *d = new emu_lt_product{ compute, { CUBLAS_OP_N, CUBLAS_OP_N }, CUBLASLT_EPILOGUE_DEFAULT, NULL };
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d) { return delete d, CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t a, const void *p, size_t n)
{
    void *to = a == CUBLASLT_MATMUL_DESC_TRANSA   ? (void *)&d->op[0]
               : a == CUBLASLT_MATMUL_DESC_TRANSB ? (void *)&d->op[1]
               : a == CUBLASLT_MATMUL_DESC_EPILOGUE ? (void *)&d->epilogue
                                                    : (void *)&d->bias;
    if (n != (a == CUBLASLT_MATMUL_DESC_BIAS_POINTER ? sizeof d->bias : sizeof d->op[0])) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(to, p, n);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *m, cudaDataType type, uint64_t rows, uint64_t cols, int64_t ld)
{
    if (rows == 0 || cols == 0 || ld < (int64_t)rows) return CUBLAS_STATUS_INVALID_VALUE;
    *m = new emu_lt_matrix{ type, (int64_t)rows, (int64_t)cols, ld };
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t m) { return delete m, CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *w)
{
    *w = new emu_lt_wish{ 0, 7 }; /* all ways of adding parts, unless the caller says otherwise */
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t w) { return delete w, CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t w, cublasLtMatmulPreferenceAttributes_t a, const void *p,
                                                    size_t n)
{
    if (n != (a == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES ? sizeof w->workspace : sizeof w->schemes)) return CUBLAS_STATUS_INVALID_VALUE;
    if (a == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) memcpy(&w->workspace, p, n);
    if (a == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) memcpy(&w->schemes, p, n);
    return CUBLAS_STATUS_SUCCESS;
}

/* What it would rather take first: sums in parts, the cheapest ways of adding them, in more variants than anybody asks for, before the
 * exact ones. Short sums are not split. */
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t op, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t w, int most,
                                              cublasLtMatmulHeuristicResult_t *result, int *n)
{
    static const struct { uint32_t id, times, split, scheme; } list[] = { { 1, 20, 4, CUBLASLT_REDUCTION_SCHEME_INPLACE },
                                                                          { 2, 20, 2, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE },
                                                                          { 3, 1, 2, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE },
                                                                          { 4, 1, 1, CUBLASLT_REDUCTION_SCHEME_NONE } };
    const uint64_t units = CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA | CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F;
    const uint64_t plain = CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA | CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F;
    const int64_t inner = op->op[0] == CUBLAS_OP_N ? a->cols : a->rows;
    *n = 0;
    if (emu_wrong("lt")) return CUBLAS_STATUS_NOT_SUPPORTED;
    const bool ta = op->op[0] != CUBLAS_OP_N, tb = op->op[1] != CUBLAS_OP_N;
    if ((ta ? a->rows : a->cols) != (tb ? b->cols : b->rows) || (ta ? a->cols : a->rows) != d->rows || (tb ? b->rows : b->cols) != d->cols)
        return CUBLAS_STATUS_INVALID_VALUE;
    for (size_t i = 0; i < sizeof list / sizeof list[0] && *n < most; i++) {
        cublasLtMatmulAlgo_t x = { list[i].id, list[i].split, list[i].scheme, 0, 0 };
        if (x.scheme == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) x.workspace = (uint64_t)(d->rows * d->cols) * 4 * x.split;
        if ((x.scheme & ~w->schemes) || x.workspace > w->workspace || (x.split > 1 && inner < 32)) continue;
        x.numerics = a->type == CUDA_R_16BF  ? units | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF
                     : a->type == CUDA_R_16F ? units | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F
                     : op->compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? units | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32
                                                                   : plain | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F;
        for (uint32_t k = 0; k < list[i].times && *n < most; k++) result[(*n)++] = { x, x.workspace, CUBLAS_STATUS_SUCCESS };
    }
    return *n ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t *x, cublasLtMatmulAlgoCapAttributes_t, void *p, size_t size,
                                                 size_t *written)
{
    if (size != sizeof x->numerics) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(p, &x->numerics, *written = size);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *x, cublasLtMatmulAlgoConfigAttributes_t a, void *p, size_t size,
                                                    size_t *written)
{
    const bool narrow = a == CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID || a == CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID;
    const uint32_t v = a == CUBLASLT_ALGO_CONFIG_ID                 ? x->id
                       : a == CUBLASLT_ALGO_CONFIG_SPLITK_NUM       ? x->split
                       : a == CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME ? x->scheme
                                                                    : 0;
    if (size != (narrow ? 2u : 4u)) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(p, &v, *written = size);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t op, const void *, const void *a, cublasLtMatrixLayout_t ma, const void *b,
                              cublasLtMatrixLayout_t mb, const void *scale, const void *c, cublasLtMatrixLayout_t, void *d, cublasLtMatrixLayout_t md,
                              const cublasLtMatmulAlgo_t *algo, void *workspace, size_t bytes, cudaStream_t s)
{
    const emu_lt_product q = *op;
    const emu_lt_matrix x = *ma, y = *mb, z = *md;
    const cublasLtMatmulAlgo_t way = *algo;
    const float beta = *(const float *)scale;
    if (beta != 0 && c != d) return CUBLAS_STATUS_INVALID_VALUE;
    if (bytes < way.workspace || (way.workspace && !workspace) || (uintptr_t)workspace % 256) return CUBLAS_STATUS_INVALID_VALUE;
    if ((uintptr_t)a % 16 || (uintptr_t)b % 16 || (uintptr_t)d % 16) return CUBLAS_STATUS_INVALID_VALUE;
    emu_submit(s, [=]() {
        if (emu_wrong("idle")) return;
        const int64_t inner = q.op[0] == CUBLAS_OP_N ? x.cols : x.rows;
        const bool rounds = way.scheme & (CUBLASLT_REDUCTION_SCHEME_INPLACE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE);
        const bool early = z.type != CUDA_R_32F && (way.split > 1 || z.rows % 8 || inner % 8);
        if (way.workspace) memset(workspace, 0xff, way.workspace); /* it is the library's for this time */
        std::vector<float> column((size_t)inner), before((size_t)z.rows);
        for (int64_t j = 0; j < z.cols; j++) {
            for (int64_t k = 0; k < inner; k++) column[(size_t)k] = emu_load(y.type, b, q.op[1] == CUBLAS_OP_N ? k + j * y.ld : j + k * y.ld);
            for (int64_t i = 0; i < z.rows && beta != 0; i++) before[(size_t)i] = emu_load(z.type, d, i + j * z.ld);
            for (int64_t i = 0; i < z.rows; i++) {
                float sum = 0;
                for (uint32_t part = 0; part < way.split; part++) {
                    float some = 0;
                    for (int64_t k = inner * part / way.split; k < inner * (part + 1) / way.split; k++)
                        some += emu_load(x.type, a, q.op[0] == CUBLAS_OP_N ? i + k * x.ld : k + i * x.ld) * column[(size_t)k];
                    sum += some;
                    if (!rounds) continue;
                    emu_store(z.type, d, i + j * z.ld, sum);
                    sum = emu_load(z.type, d, i + j * z.ld);
                }
                if (beta != 0) sum += beta * before[(size_t)i];
                if (q.epilogue == CUBLASLT_EPILOGUE_BIAS && early) {
                    emu_store(z.type, d, i + j * z.ld, sum);
                    sum = emu_load(z.type, d, i + j * z.ld);
                }
                if (q.epilogue == CUBLASLT_EPILOGUE_BIAS) sum += emu_load(z.type, q.bias, i);
                if (way.id == 4 && i + j == 0 && emu_wrong("lt-4")) sum += 1;
                emu_store(z.type, d, i + j * z.ld, sum);
            }
        }
    });
    return CUBLAS_STATUS_SUCCESS;
}
}
