/* Matrix products through cuBLASLt. Our matrices are row-major; a row-major [m,n] is a column-major [n,m], so what is asked for is the
 * transposed product:
 *   linear        y^T [O,R] = w [O,I] x^T [I,R]     (+ bias along O, in the epilogue)
 *   linear_dgrad  dx^T [I,R] = w^T [I,O] dy^T [O,R]
 *   linear_wgrad  dw^T [I,O] = x^T [I,R] dy [R,O]
 * The epilogue of some algorithms gets a product that is rounded to 16 bits already, and rounds a second time; nothing in the interface says
 * of which. So 16-bit results have it only where nothing is split and rows are aligned; elsewhere the bias is written into the result first,
 * and the product is added to that (beta = 1), in f32.
 * Sums are f32, those of their parts, too; f32 operands are rounded to TF32 only where the options say tf32. The algorithm is the first of the library's heuristics
 * that the options allow, chosen when a call is first accepted and kept with the device; the others are its variants. */
#include "backends/cuda/libs.h"

#include <cublasLt.h>
#include <stdio.h>
#include <string.h>

enum { WORKSPACE = 32 << 20 /* bytes: what the library asks for on Hopper */, MAX_OPTIONS = 32 };

typedef struct product {
    ct_op op;
    ct_dtype type;
    bool bias;
    int64_t rows, in, out;
} product;

/* An algorithm for a product. Its name means the same for as long as the library and the device are the same. */
typedef struct option {
    cublasLtMatmulAlgo_t algo;
    size_t workspace;     /* bytes */
    uint64_t numerics;    /* cublasLtNumericalImplFlags_t; 0: not known */
    bool bias_first;      /* the bias is written into the result, to which the product is added: no epilogue */
    char name[CT_VARIANT_NAME]; /* "algo21/tile20/stages15/...": the configuration by number, "/beta1" behind it with bias_first; "" where it
                                   cannot be had */
} option;

typedef struct chosen {
    product what;
    cublasLtMatmulDesc_t op, plain; /* plain: without the epilogue that op has */
    cublasLtMatrixLayout_t a, b, d;
    option *options;       /* [n] as the heuristics rank them, those that the options of the device allow */
    int n, own;            /* own: which is taken when none is preferred */
    const option *current; /* what accept() and run() mean; NULL: there is none */
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
    if (c->plain) (void)cublasLtMatmulDescDestroy(c->plain);
    if (c->a) (void)cublasLtMatrixLayoutDestroy(c->a);
    if (c->b) (void)cublasLtMatrixLayoutDestroy(c->b);
    if (c->d) (void)cublasLtMatrixLayoutDestroy(c->d);
    ct_core->free(c->options);
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

/* The operation; false where the library refuses it. */
static bool describe_op(const product *p, bool tf32, bool bias, cublasLtMatmulDesc_t *op)
{
    cublasOperation_t ta = p->op == CT_OP_LINEAR ? CUBLAS_OP_T : CUBLAS_OP_N, tb = p->op == CT_OP_LINEAR_WGRAD ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasComputeType_t compute = tf32 && p->type == CT_F32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    bool ok = cublasLtMatmulDescCreate(op, compute, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS;
    ok = ok && cublasLtMatmulDescSetAttribute(*op, CUBLASLT_MATMUL_DESC_TRANSA, &ta, sizeof ta) == CUBLAS_STATUS_SUCCESS;
    ok = ok && cublasLtMatmulDescSetAttribute(*op, CUBLASLT_MATMUL_DESC_TRANSB, &tb, sizeof tb) == CUBLAS_STATUS_SUCCESS;
    return ok && (!bias || cublasLtMatmulDescSetAttribute(*op, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue) ==
                               CUBLAS_STATUS_SUCCESS);
}

/* Descriptions of the operands, column-major, and of the operation, with `twice` also without its epilogue; false where the library
 * refuses one. */
static bool describe(chosen *c, bool tf32, bool twice)
{
    const product *p = &c->what;
    cudaDataType t = data_type(p->type);
    uint64_t x[2] = { (uint64_t)p->in, (uint64_t)p->rows }, w[2] = { (uint64_t)p->in, (uint64_t)p->out };
    uint64_t y[2] = { (uint64_t)p->out, (uint64_t)p->rows };
    const uint64_t *a = p->op == CT_OP_LINEAR_WGRAD ? x : w, *b = p->op == CT_OP_LINEAR ? x : y;
    const uint64_t *d = p->op == CT_OP_LINEAR ? y : p->op == CT_OP_LINEAR_DGRAD ? x : w;
    bool ok = describe_op(p, tf32, p->bias, &c->op) && (!twice || describe_op(p, tf32, false, &c->plain));
    ok = ok && cublasLtMatrixLayoutCreate(&c->a, t, a[0], a[1], (int64_t)a[0]) == CUBLAS_STATUS_SUCCESS;
    ok = ok && cublasLtMatrixLayoutCreate(&c->b, t, b[0], b[1], (int64_t)b[0]) == CUBLAS_STATUS_SUCCESS;
    return ok && cublasLtMatrixLayoutCreate(&c->d, t, d[0], d[1], (int64_t)d[0]) == CUBLAS_STATUS_SUCCESS;
}

/* Asks the heuristics; the number of results in result[MAX_OPTIONS], 0 where there are none or the library refuses. */
static int ask(struct ct_lt *lt, const chosen *c, cublasLtMatmulDesc_t op, cublasLtMatmulHeuristicResult_t *result)
{
    cublasLtMatmulPreference_t want = NULL;
    size_t workspace = WORKSPACE;
    uint32_t align = 16; /* bytes: rows of 16-bit matrices and ranges of the arenas give no more */
    uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE; /* parts of a sum are added in f32; the others add in the result's type,
                                                                  in place in an order that is not fixed */
    int n = 0;
    bool ok = cublasLtMatmulPreferenceCreate(&want) == CUBLAS_STATUS_SUCCESS;
    ok = ok && cublasLtMatmulPreferenceSetAttribute(want, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace) ==
                   CUBLAS_STATUS_SUCCESS;
    ok = ok && cublasLtMatmulPreferenceSetAttribute(want, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes, sizeof schemes) ==
                   CUBLAS_STATUS_SUCCESS;
    static const cublasLtMatmulPreferenceAttributes_t aligned[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES
    };
    for (size_t i = 0; i < sizeof aligned / sizeof aligned[0]; i++)
        ok = ok && cublasLtMatmulPreferenceSetAttribute(want, aligned[i], &align, sizeof align) == CUBLAS_STATUS_SUCCESS;
    ok = ok && cublasLtMatmulAlgoGetHeuristic(lt->handle, op, c->a, c->b, c->d, c->d, want, MAX_OPTIONS, result, &n) ==
                   CUBLAS_STATUS_SUCCESS;
    if (want) (void)cublasLtMatmulPreferenceDestroy(want);
    return ok ? n : 0;
}

static uint64_t numerics_of(const cublasLtMatmulAlgo_t *algo)
{
    uint64_t flags = 0;
    size_t got = 0;
    bool ok = cublasLtMatmulAlgoCapGetAttribute(algo, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &flags, sizeof flags, &got) == CUBLAS_STATUS_SUCCESS;
    return ok && got == sizeof flags ? flags : 0;
}

/* f32 without tf32 takes nothing that multiplies shorter factors. */
static bool allowed(uint64_t numerics, ct_dtype type, const ct_device_opts *o)
{
    const uint64_t shorter = CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF;
    if (type != CT_F32) return true;
    return !(numerics & shorter) && (o->tf32 || !(numerics & CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32));
}

/* An attribute of 32 bits; false where it cannot be had. */
static bool config_of(const cublasLtMatmulAlgo_t *algo, cublasLtMatmulAlgoConfigAttributes_t which, uint32_t *value)
{
    size_t got = 0;
    return cublasLtMatmulAlgoConfigGetAttribute(algo, which, value, sizeof *value, &got) == CUBLAS_STATUS_SUCCESS;
}

/* Whether an algorithm adds the parts of a sum in f32, or has no parts: what the receipt says of sums stands on it. */
static bool sums_in_f32(const cublasLtMatmulAlgo_t *algo)
{
    uint32_t scheme = 0;
    return config_of(algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &scheme) &&
           (scheme == CUBLASLT_REDUCTION_SCHEME_NONE || scheme == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
}

/* Whether the epilogue of an algorithm adds the bias before the one rounding, as far as that is known. */
static bool adds_in_f32(const product *p, const cublasLtMatmulAlgo_t *algo)
{
    const int64_t align = 8; /* elements: 16 bytes */
    uint32_t scheme = 0, parts = 0;
    if (!p->bias || p->type == CT_F32) return true;
    if (p->in % align != 0 || p->out % align != 0) return false;
    return config_of(algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &scheme) && scheme == CUBLASLT_REDUCTION_SCHEME_NONE &&
           config_of(algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &parts) && parts <= 1;
}

/* The configuration of an algorithm in numbers; attributes are 32 or 16 bits wide. */
static void name_of(const cublasLtMatmulAlgo_t *algo, bool bias_first, char name[CT_VARIANT_NAME])
{
    static const struct { cublasLtMatmulAlgoConfigAttributes_t which; size_t size; const char *word; } part[] = {
        { CUBLASLT_ALGO_CONFIG_ID, 4, "algo" },           { CUBLASLT_ALGO_CONFIG_TILE_ID, 4, "/tile" },
        { CUBLASLT_ALGO_CONFIG_STAGES_ID, 4, "/stages" }, { CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4, "/split" },
        { CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 4, "/red" }, { CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4, "/swz" },
        { CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 4, "/opt" }, { CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 2, "/inner" },
        { CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2, "/cluster" }
    };
    int used = 0;
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
        uint32_t wide = 0;
        uint16_t narrow = 0;
        size_t got = 0;
        void *to = part[i].size == 4 ? (void *)&wide : (void *)&narrow;
        bool ok = cublasLtMatmulAlgoConfigGetAttribute(algo, part[i].which, to, part[i].size, &got) == CUBLAS_STATUS_SUCCESS;
        if (ok) used += snprintf(name + used, (size_t)(CT_VARIANT_NAME - used), "%s%u", part[i].word, part[i].size == 4 ? wide : narrow);
        if (ok && used < CT_VARIANT_NAME) continue;
        name[0] = '\0';
        return;
    }
    if (bias_first) used += snprintf(name + used, (size_t)(CT_VARIANT_NAME - used), "/beta1");
    if (used >= CT_VARIANT_NAME) name[0] = '\0';
}

/* Takes up a result of the heuristics if the options of the device allow it and it rounds once. */
static void add_option(const ct_device *d, chosen *c, const cublasLtMatmulHeuristicResult_t *r, bool bias_first)
{
    const uint64_t numerics = numerics_of(&r->algo);
    if (r->state != CUBLAS_STATUS_SUCCESS || !allowed(numerics, c->what.type, &d->opts) || !sums_in_f32(&r->algo)) return;
    if (!bias_first && !adds_in_f32(&c->what, &r->algo)) return;
    option *o = &c->options[c->n++];
    *o = (option){ .algo = r->algo, .workspace = r->workspaceSize, .numerics = numerics, .bias_first = bias_first };
    name_of(&o->algo, bias_first, o->name);
}

/* Fills the options of a product; with tf32 the first that takes it is the one that is taken. Of 16-bit results with a bias those with an
 * epilogue come first, unless what the heuristics like best must not have one. */
static ct_status choose(const ct_device *d, chosen *c)
{
    cublasLtMatmulHeuristicResult_t result[2][MAX_OPTIONS]; /* with the epilogue, and without */
    const bool tf32 = d->opts.tf32 && c->what.type == CT_F32, twice = c->what.bias && c->what.type != CT_F32;
    const bool good = describe(c, d->opts.tf32, twice);
    const int n[2] = { good ? ask(d->lt, c, c->op, result[0]) : 0, good && twice ? ask(d->lt, c, c->plain, result[1]) : 0 };
    if (n[0] + n[1] == 0) return CT_OK;
    c->options = ct_core->alloc((size_t)(n[0] + n[1]) * sizeof *c->options, "algorithms of a matrix product");
    if (!c->options) return CT_ENOMEM;
    const int first = n[0] == 0 || !adds_in_f32(&c->what, &result[0][0].algo);
    for (int k = 0; k < 2; k++) {
        const int list = k ^ first;
        for (int i = 0; i < n[list]; i++) add_option(d, c, &result[list][i], list == 1);
    }
    for (int i = c->n - 1; i >= 0 && tf32; i--)
        if (c->options[i].numerics & CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32) c->own = i;
    if (c->n > 0) c->current = &c->options[c->own];
    return CT_OK;
}

/* What was found for a call before; NULL if it was not asked for. */
static chosen *find_chosen(const ct_device *d, const ct_call *call)
{
    product p = product_of(call);
    chosen *c = d->lt->list;
    while (c && memcmp(&c->what, &p, sizeof p) != 0) c = c->next;
    return c;
}

/* The algorithms of a call, asked for at the first time; NULL if there is none. */
static chosen *chosen_of(const ct_device *d, const ct_call *call)
{
    chosen *c = find_chosen(d, call);
    if (c) return c->current ? c : NULL;
    c = ct_core->alloc(sizeof *c, "matrix product");
    if (!c) return NULL;
    memset(c, 0, sizeof *c);
    c->what = product_of(call);
    if (choose(d, c) != CT_OK) c->current = NULL;
    c->next = d->lt->list;
    d->lt->list = c;
    return c->current ? c : NULL;
}

/* ---- receipt and variants ---- */

static ct_status lt_receipt(const ct_device *d, const ct_call *call, ct_receipt *out)
{
    const chosen *c = chosen_of(d, call);
    if (!c) return ct_core->fail(CT_EINTERNAL, "cuBLASLt: a receipt for a product that was not accepted");
    const uint64_t flags = c->current->numerics;
    out->tensor_cores = (flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK) != 0;
    out->math = !out->tensor_cores                                  ? "fp32" /* 16-bit operands are converted first */
                : flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32 ? "tf32"
                : flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF ? "bf16"
                : flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F  ? "fp16"
                                                                    : "fp32";
    out->sums = flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F ? "fp16" : "fp32";
    snprintf(out->engine, sizeof out->engine, "cuBLASLt %.80s", *c->current->name ? c->current->name : "algorithm without a name");
    return CT_OK;
}

static int lt_variants(const ct_device *d, const ct_call *call, char names[][CT_VARIANT_NAME], int max)
{
    const chosen *c = chosen_of(d, call);
    int n = 0;
    for (int i = 0; c && i < c->n && n < max; i++) {
        bool known = c->options[i].name[0] == '\0';
        for (int k = 0; k < n && !known; k++) known = strcmp(names[k], c->options[i].name) == 0;
        if (!known) memcpy(names[n++], c->options[i].name, CT_VARIANT_NAME);
    }
    return n;
}

static ct_status lt_prefer(const ct_device *d, const ct_call *call, const char *variant)
{
    chosen *c = variant ? chosen_of(d, call) : find_chosen(d, call);
    if (!variant) {
        if (c && c->n > 0) c->current = &c->options[c->own];
        return CT_OK;
    }
    for (int i = 0; c && i < c->n; i++) {
        if (strcmp(c->options[i].name, variant) != 0) continue;
        c->current = &c->options[i];
        return CT_OK;
    }
    return ct_core->fail(CT_EUNSUPPORTED, "cuBLASLt %zu does not offer '%.90s' for this on %s, or the options do not allow it",
                         cublasLtGetVersion(), variant, d->name);
}

/* ---- the implementations ---- */

static ct_accept accept(const ct_device *d, const ct_call *c)
{
    const ct_accept factors = ct_cuda_factors(d, c);
    if (!factors.ok) return factors;
    const chosen *k = chosen_of(d, c);
    return k ? ct_accept_yes(k->current->workspace) : ct_accept_no("cuBLASLt has no algorithm for this");
}

static ct_status run(ct_device *d, ct_stream *s, const ct_call *c, const void *a, const void *b, void *out, void *scratch)
{
    chosen *k = chosen_of(d, c);
    const float one = 1, zero = 0;
    cublasStatus_t st = CUBLAS_STATUS_SUCCESS;
    if (!k) return ct_core->fail(CT_EINTERNAL, "cuBLASLt: a product runs that was not accepted");
    const option *o = k->current;
    CT_TRY(ct_cuda_check_scratch(scratch));
    if (o->bias_first) CT_TRY(ct_cuda_fill_rows(s, c->in[2].data, out, k->what.rows, k->what.out));
    else if (k->what.bias) st = cublasLtMatmulDescSetAttribute(k->op, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &c->in[2].data, sizeof(void *));
    if (st == CUBLAS_STATUS_SUCCESS)
        st = cublasLtMatmul(d->lt->handle, o->bias_first ? k->plain : k->op, &one, a, k->a, b, k->b, o->bias_first ? &one : &zero, out, k->d,
                            out, k->d, &o->algo, scratch, o->workspace, s->s);
    return st == CUBLAS_STATUS_SUCCESS ? CT_OK : ct_core->fail(CT_EBACKEND, "cuBLASLt: a matrix product failed: %s", cublasLtGetStatusString(st));
}

static ct_accept linear_accept(const ct_device *d, const ct_call *c) { return accept(d, c); }
static ct_accept linear_dgrad_accept(const ct_device *d, const ct_call *c) { return accept(d, c); }
static ct_accept linear_wgrad_accept(const ct_device *d, const ct_call *c) { return accept(d, c); }

static ct_status linear_run(ct_device *d, ct_stream *s, const ct_call *c, void *scratch)
{
    return run(d, s, c, c->in[1].data, c->in[0].data, c->out[0].data, scratch);
}
static ct_status linear_dgrad_run(ct_device *d, ct_stream *s, const ct_call *c, void *scratch)
{
    return run(d, s, c, c->in[1].data, c->in[0].data, c->out[0].data, scratch);
}
static ct_status linear_wgrad_run(ct_device *d, ct_stream *s, const ct_call *c, void *scratch)
{
    return run(d, s, c, c->in[0].data, c->in[1].data, c->out[0].data, scratch);
}

static const ct_impl impls[] = {
    { CT_OP_LINEAR, "cuda.lt", CT_CUDA_TUNED, linear_accept, linear_run },
    { CT_OP_LINEAR_DGRAD, "cuda.lt", CT_CUDA_TUNED, linear_dgrad_accept, linear_dgrad_run },
    { CT_OP_LINEAR_WGRAD, "cuda.lt", CT_CUDA_TUNED, linear_wgrad_accept, linear_wgrad_run },
};
CT_CUDA_SET(lt)

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

static bool is(const ct_impl *m, const char *name) { return strcmp(m->name, name) == 0; }

ct_status ct_cuda_libs_receipt(const ct_device *d, const ct_impl *impl, const ct_call *call, ct_receipt *out)
{
    return is(impl, "cuda.dnn") ? ct_cuda_dnn_receipt(d, call, out) : is(impl, "cuda.lt") ? lt_receipt(d, call, out) : CT_OK;
}

int ct_cuda_libs_variants(ct_device *d, const ct_impl *impl, const ct_call *call, char names[][CT_VARIANT_NAME], int max)
{
    return is(impl, "cuda.dnn") ? ct_cuda_dnn_variants(d, call, names, max) : is(impl, "cuda.lt") ? lt_variants(d, call, names, max) : 0;
}

ct_status ct_cuda_libs_prefer(ct_device *d, const ct_impl *impl, const ct_call *call, const char *variant)
{
    if (is(impl, "cuda.dnn")) return ct_cuda_dnn_prefer(d, call, variant);
    if (is(impl, "cuda.lt")) return lt_prefer(d, call, variant);
    return variant ? ct_core->fail(CT_EUNSUPPORTED, "%s has no variants", impl->name) : CT_OK;
}

void ct_cuda_libs_versions(char *buf, size_t size)
{
    size_t lt = cublasLtGetVersion(), dnn = cudnnGetVersion();
    snprintf(buf, size, "cuBLAS %zu.%zu.%zu, cuDNN %zu.%zu.%zu", lt / 10000, lt / 100 % 100, lt % 100, dnn / 10000, dnn / 100 % 100, dnn % 100);
}
