/* Matrix products through cuBLASLt. Our matrices are row-major; a row-major [m,n] is a column-major [n,m], so what is asked for is the
 * transposed product:
 *   linear        y^T [O,R] = w [O,I] x^T [I,R]     (+ bias along O, in the epilogue)
 *   linear_dgrad  dx^T [I,R] = w^T [I,O] dy^T [O,R]
 *   linear_wgrad  dw^T [I,O] = x^T [I,R] dy [R,O]
 * Sums are f32; f32 operands are never rounded to TF32. The algorithm is the first of the library's heuristics, chosen when a call is
 * first accepted and kept with the device. */
#include "backends/cuda/libs.h"

#include <cublasLt.h>
#include <stdio.h>
#include <string.h>

enum { WORKSPACE = 32 << 20 /* bytes: what the library asks for on Hopper */ };

typedef struct product {
    ct_op op;
    ct_dtype type;
    bool bias;
    int64_t rows, in, out;
} product;

typedef struct chosen {
    product what;
    bool found;
    size_t workspace;
    cublasLtMatmulDesc_t op;
    cublasLtMatrixLayout_t a, b, d;
    cublasLtMatmulAlgo_t algo;
    struct chosen *next;
} chosen;

struct ct_lt {
    cublasLtHandle_t handle;
    chosen *list;
};

ct_status ct_cuda_lt_open(ct_device *d)
{
    struct ct_lt *lt = ct_core->alloc(sizeof *lt, "cuBLASLt");
    if (!lt) return CT_ENOMEM;
    memset(lt, 0, sizeof *lt);
    d->lt = lt;
    cublasStatus_t s = cublasLtCreate(&lt->handle);
    return s == CUBLAS_STATUS_SUCCESS ? CT_OK : ct_core->fail(CT_EBACKEND, "cuBLASLt cannot be started: %s", cublasLtGetStatusString(s));
}

static void drop(chosen *c)
{
    if (c->op) (void)cublasLtMatmulDescDestroy(c->op);
    if (c->a) (void)cublasLtMatrixLayoutDestroy(c->a);
    if (c->b) (void)cublasLtMatrixLayoutDestroy(c->b);
    if (c->d) (void)cublasLtMatrixLayoutDestroy(c->d);
    ct_core->free(c);
}

void ct_cuda_lt_close(ct_device *d)
{
    struct ct_lt *lt = d->lt;
    if (!lt) return;
    while (lt->list) {
        chosen *c = lt->list;
        lt->list = c->next;
        drop(c);
    }
    if (lt->handle) (void)cublasLtDestroy(lt->handle);
    ct_core->free(lt);
    d->lt = NULL;
}

static product product_of(const ct_call *c)
{
    product p;
    memset(&p, 0, sizeof p); /* compared as bytes */
    p.op = c->op;
    p.type = c->in[0].desc.dtype;
    p.rows = ct_cuda_rows(&c->in[0].desc);
    switch (c->op) {
    case CT_OP_LINEAR:
        p.in = ct_cuda_cols(&c->in[0].desc);
        p.out = c->in[1].desc.dim[0];
        p.bias = ct_cuda_has(c, 2);
        break;
    case CT_OP_LINEAR_DGRAD:
        p.in = c->in[1].desc.dim[1];
        p.out = ct_cuda_cols(&c->in[0].desc);
        break;
    default:
        p.in = ct_cuda_cols(&c->in[0].desc);
        p.out = ct_cuda_cols(&c->in[1].desc);
        break;
    }
    return p;
}

static cudaDataType data_type(ct_dtype d) { return d == CT_BF16 ? CUDA_R_16BF : d == CT_F16 ? CUDA_R_16F : CUDA_R_32F; }

/* Descriptions of the operands, column-major; false where the library refuses one. */
static bool describe(chosen *c)
{
    const product *p = &c->what;
    cudaDataType t = data_type(p->type);
    cublasOperation_t ta = p->op == CT_OP_LINEAR ? CUBLAS_OP_T : CUBLAS_OP_N, tb = p->op == CT_OP_LINEAR_WGRAD ? CUBLAS_OP_T : CUBLAS_OP_N;
    uint64_t x[2] = { (uint64_t)p->in, (uint64_t)p->rows }, w[2] = { (uint64_t)p->in, (uint64_t)p->out };
    uint64_t y[2] = { (uint64_t)p->out, (uint64_t)p->rows };
    const uint64_t *a = p->op == CT_OP_LINEAR_WGRAD ? x : w, *b = p->op == CT_OP_LINEAR ? x : y;
    const uint64_t *d = p->op == CT_OP_LINEAR ? y : p->op == CT_OP_LINEAR_DGRAD ? x : w;
    bool ok = cublasLtMatmulDescCreate(&c->op, CUBLAS_COMPUTE_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS;
    ok = ok && cublasLtMatmulDescSetAttribute(c->op, CUBLASLT_MATMUL_DESC_TRANSA, &ta, sizeof ta) == CUBLAS_STATUS_SUCCESS;
    ok = ok && cublasLtMatmulDescSetAttribute(c->op, CUBLASLT_MATMUL_DESC_TRANSB, &tb, sizeof tb) == CUBLAS_STATUS_SUCCESS;
    if (p->bias) {
        cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
        ok = ok && cublasLtMatmulDescSetAttribute(c->op, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue) == CUBLAS_STATUS_SUCCESS;
    }
    ok = ok && cublasLtMatrixLayoutCreate(&c->a, t, a[0], a[1], (int64_t)a[0]) == CUBLAS_STATUS_SUCCESS;
    ok = ok && cublasLtMatrixLayoutCreate(&c->b, t, b[0], b[1], (int64_t)b[0]) == CUBLAS_STATUS_SUCCESS;
    return ok && cublasLtMatrixLayoutCreate(&c->d, t, d[0], d[1], (int64_t)d[0]) == CUBLAS_STATUS_SUCCESS;
}

static bool choose(struct ct_lt *lt, chosen *c)
{
    cublasLtMatmulPreference_t want = NULL;
    cublasLtMatmulHeuristicResult_t result;
    size_t workspace = WORKSPACE;
    uint32_t align = 16; /* bytes: rows of 16-bit matrices and ranges of the arenas give no more */
    int n = 0;
    bool ok = describe(c) && cublasLtMatmulPreferenceCreate(&want) == CUBLAS_STATUS_SUCCESS;
    ok = ok && cublasLtMatmulPreferenceSetAttribute(want, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace) ==
                   CUBLAS_STATUS_SUCCESS;
    static const cublasLtMatmulPreferenceAttributes_t aligned[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES
    };
    for (size_t i = 0; i < sizeof aligned / sizeof aligned[0]; i++)
        ok = ok && cublasLtMatmulPreferenceSetAttribute(want, aligned[i], &align, sizeof align) == CUBLAS_STATUS_SUCCESS;
    ok = ok && cublasLtMatmulAlgoGetHeuristic(lt->handle, c->op, c->a, c->b, c->d, c->d, want, 1, &result, &n) == CUBLAS_STATUS_SUCCESS;
    ok = ok && n == 1 && result.state == CUBLAS_STATUS_SUCCESS;
    if (ok) {
        c->algo = result.algo;
        c->workspace = result.workspaceSize;
    }
    if (want) (void)cublasLtMatmulPreferenceDestroy(want);
    return ok;
}

/* The algorithm of a call, chosen at the first asking; NULL if there is none. */
static chosen *chosen_of(const ct_device *d, const ct_call *call)
{
    product p = product_of(call);
    for (chosen *c = d->lt->list; c; c = c->next)
        if (memcmp(&c->what, &p, sizeof p) == 0) return c->found ? c : NULL;
    chosen *c = ct_core->alloc(sizeof *c, "matrix product");
    if (!c) return NULL;
    memset(c, 0, sizeof *c);
    c->what = p;
    c->found = choose(d->lt, c);
    c->next = d->lt->list;
    d->lt->list = c;
    return c->found ? c : NULL;
}

static ct_accept accept(const ct_device *d, const ct_call *c)
{
    if (!ct_cuda_type(c->in[0].desc.dtype)) return ct_accept_no(CT_CUDA_NO_TYPE);
    if (c->in[0].desc.dtype == CT_BF16 && d->major < 8) return ct_accept_no("cuda: bf16 needs compute capability 8.0");
    const chosen *k = chosen_of(d, c);
    return k ? ct_accept_yes(k->workspace) : ct_accept_no("cuBLASLt has no algorithm for this");
}

static ct_status run(ct_device *d, ct_stream *s, const ct_call *c, const void *a, const void *b, void *out, void *scratch)
{
    chosen *k = chosen_of(d, c);
    const float one = 1, zero = 0;
    cublasStatus_t st = CUBLAS_STATUS_SUCCESS;
    if (!k) return ct_core->fail(CT_EINTERNAL, "cuBLASLt: a product runs that was not accepted");
    if (k->what.bias) st = cublasLtMatmulDescSetAttribute(k->op, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &c->in[2].data, sizeof(void *));
    if (st == CUBLAS_STATUS_SUCCESS)
        st = cublasLtMatmul(d->lt->handle, k->op, &one, a, k->a, b, k->b, &zero, out, k->d, out, k->d, &k->algo, scratch, k->workspace, s->s);
    return st == CUBLAS_STATUS_SUCCESS ? CT_OK : ct_core->fail(CT_EBACKEND, "cuBLASLt: a matrix product failed: %s", cublasLtGetStatusString(st));
}

ct_accept ct_cuda_linear_accept(const ct_device *d, const ct_call *c) { return accept(d, c); }
ct_accept ct_cuda_linear_dgrad_accept(const ct_device *d, const ct_call *c) { return accept(d, c); }
ct_accept ct_cuda_linear_wgrad_accept(const ct_device *d, const ct_call *c) { return accept(d, c); }

ct_status ct_cuda_linear_run(ct_device *d, ct_stream *s, const ct_call *c, void *scratch)
{
    return run(d, s, c, c->in[1].data, c->in[0].data, c->out[0].data, scratch);
}
ct_status ct_cuda_linear_dgrad_run(ct_device *d, ct_stream *s, const ct_call *c, void *scratch)
{
    return run(d, s, c, c->in[1].data, c->in[0].data, c->out[0].data, scratch);
}
ct_status ct_cuda_linear_wgrad_run(ct_device *d, ct_stream *s, const ct_call *c, void *scratch)
{
    return run(d, s, c, c->in[0].data, c->in[1].data, c->out[0].data, scratch);
}

/* ---- both libraries ---- */

#include <cudnn.h>

ct_status ct_cuda_libs_open(ct_device *d)
{
    CT_TRY(ct_cuda_lt_open(d));
    return ct_cuda_dnn_open(d);
}

void ct_cuda_libs_close(ct_device *d)
{
    ct_cuda_dnn_close(d);
    ct_cuda_lt_close(d);
}

void ct_cuda_libs_versions(char *buf, size_t size)
{
    size_t lt = cublasLtGetVersion(), dnn = cudnnGetVersion();
    snprintf(buf, size, "cuBLAS %zu.%zu.%zu, cuDNN %zu.%zu.%zu", lt / 10000, lt / 100 % 100, lt % 100, dnn / 10000, dnn / 100 % 100, dnn % 100);
}
