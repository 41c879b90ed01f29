#include "backends/cuda/dnn_plan.h"

#include <string.h>

enum { MAX_CONFIGS = 64, MAX_DESCRIPTORS = 16 };

/* Everything a plan is built from; freed together. */
typedef struct building {
    cudnnBackendDescriptor_t owned[MAX_DESCRIPTORS];
    int count;
    cudnnStatus_t failed; /* the first failure */
    const char *what;
} building;

static void note(building *b, cudnnStatus_t s, const char *what)
{
    if (s == CUDNN_STATUS_SUCCESS || b->failed != CUDNN_STATUS_SUCCESS) return;
    b->failed = s;
    b->what = what;
}

static cudnnBackendDescriptor_t make(building *b, cudnnBackendDescriptorType_t type)
{
    cudnnBackendDescriptor_t d = NULL;
    if (b->failed != CUDNN_STATUS_SUCCESS) return NULL;
    note(b, b->count < MAX_DESCRIPTORS ? cudnnBackendCreateDescriptor(type, &d) : CUDNN_STATUS_INTERNAL_ERROR, "making a descriptor");
    if (d) b->owned[b->count++] = d;
    return d;
}

static void set(building *b, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t n,
                const void *value)
{
    if (b->failed == CUDNN_STATUS_SUCCESS) note(b, cudnnBackendSetAttribute(d, name, type, n, value), "setting an attribute");
}

static void finish(building *b, cudnnBackendDescriptor_t d, const char *what)
{
    if (b->failed == CUDNN_STATUS_SUCCESS) note(b, cudnnBackendFinalize(d), what);
}

static void release(building *b)
{
    while (b->count > 0) (void)cudnnBackendDestroyDescriptor(b->owned[--b->count]);
}

static cudnnDataType_t data_type(ct_dtype d)
{
    return d == CT_BF16 ? CUDNN_DATA_BFLOAT16 : d == CT_F16 ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT;
}

/* A tensor [a,h,w,c] of ours in cuDNN's order (a, c, h, w); filters [K,R,S,C/g] look the same to it. */
static cudnnBackendDescriptor_t tensor(building *b, int64_t id, cudnnDataType_t type, const int64_t dim[4], bool is_virtual)
{
    cudnnBackendDescriptor_t d = make(b, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    const int64_t size[4] = { dim[0], dim[3], dim[1], dim[2] };
    const int64_t stride[4] = { dim[1] * dim[2] * dim[3], 1, dim[2] * dim[3], dim[3] }, align = 16;
    set(b, d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    set(b, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, size);
    set(b, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, stride);
    set(b, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
    set(b, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &align);
    if (is_virtual) set(b, d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
    finish(b, d, "a tensor");
    return d;
}

static cudnnBackendDescriptor_t convolution(building *b, const ct_conv_attrs *a)
{
    cudnnBackendDescriptor_t d = make(b, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    const int64_t dims = 2, pad[2] = { a->pad_h, a->pad_w }, stride[2] = { a->stride_h, a->stride_w }, dil[2] = { a->dil_h, a->dil_w };
    const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    set(b, d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &dims);
    set(b, d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
    set(b, d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    set(b, d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, pad);
    set(b, d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, pad);
    set(b, d, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, dil);
    set(b, d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, stride);
    finish(b, d, "a convolution");
    return d;
}

/* The attribute names of the three operations, in one order. */
typedef struct names {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t x, w, y, conv, alpha, beta;
} names;

static const names forward = { CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA };
static const names backward_data = { CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA };
static const names backward_filter = { CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA };

/* y = sum + bias, the sum in f32 and never stored. */
static cudnnBackendDescriptor_t add_bias(building *b, cudnnBackendDescriptor_t sum, cudnnDataType_t type, int64_t filters,
                                         cudnnBackendDescriptor_t y)
{
    const int64_t one[4] = { 1, 1, 1, filters };
    const cudnnPointwiseMode_t mode = CUDNN_POINTWISE_ADD;
    const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    cudnnBackendDescriptor_t bias = tensor(b, CT_DNN_BIAS, type, one, false);
    cudnnBackendDescriptor_t add = make(b, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    set(b, add, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    set(b, add, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &compute);
    finish(b, add, "a bias");
    cudnnBackendDescriptor_t op = make(b, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    set(b, op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &add);
    set(b, op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &sum);
    set(b, op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &bias);
    set(b, op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &y);
    finish(b, op, "the addition of a bias");
    return op;
}

/* The operation graph of a call. x, w, y are what they are in the forward direction. */
static cudnnBackendDescriptor_t graph(building *b, const ct_dnn_target *t, const ct_call *c)
{
    const ct_desc *x, *w, *y;
    const names *n;
    switch (c->op) {
    case CT_OP_CONV2D: n = &forward, x = &c->in[0].desc, w = &c->in[1].desc, y = &c->out[0].desc; break;
    case CT_OP_CONV2D_DGRAD: n = &backward_data, x = &c->out[0].desc, w = &c->in[1].desc, y = &c->in[0].desc; break;
    default: n = &backward_filter, x = &c->in[0].desc, w = &c->out[0].desc, y = &c->in[1].desc; break;
    }
    const cudnnDataType_t type = data_type(x->dtype);
    const bool bias = c->op == CT_OP_CONV2D && ct_cuda_has(c, 2);
    const float alpha = 1, beta = 0;
    cudnnBackendDescriptor_t ops[2] = { NULL, NULL };
    cudnnBackendDescriptor_t tx = tensor(b, CT_DNN_X, type, x->dim, false), tw = tensor(b, CT_DNN_W, type, w->dim, false);
    cudnnBackendDescriptor_t ty = tensor(b, CT_DNN_Y, type, y->dim, false);
    cudnnBackendDescriptor_t sum = bias ? tensor(b, CT_DNN_SUM, CUDNN_DATA_FLOAT, y->dim, true) : ty;
    cudnnBackendDescriptor_t conv = convolution(b, &c->attrs.conv), g;
    ops[0] = make(b, n->type);
    set(b, ops[0], n->x, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tx);
    set(b, ops[0], n->w, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tw);
    set(b, ops[0], n->y, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &sum);
    set(b, ops[0], n->conv, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &conv);
    set(b, ops[0], n->alpha, CUDNN_TYPE_FLOAT, 1, &alpha);
    set(b, ops[0], n->beta, CUDNN_TYPE_FLOAT, 1, &beta);
    finish(b, ops[0], "the operation");
    if (bias) ops[1] = add_bias(b, sum, type, y->dim[3], ty);
    g = make(b, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    set(b, g, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, bias ? 2 : 1, ops);
    if (!t->prop) set(b, g, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &t->handle);
    finish(b, g, "the operation graph");
    return g;
}

/* Numerical notes of a configuration's engine as bits, and the engine's number. */
static bool notes_of(cudnnBackendDescriptor_t config, unsigned *notes, int64_t *engine_number)
{
    cudnnBackendDescriptor_t engine = NULL;
    cudnnBackendNumericalNote_t list[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    int64_t n = 0, got = 0;
    bool ok = cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine) == CUDNN_STATUS_SUCCESS;
    ok = ok && cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &got, &engine) ==
                   CUDNN_STATUS_SUCCESS;
    ok = ok && cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                        CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &n, list) == CUDNN_STATUS_SUCCESS;
    ok = ok && cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &got, engine_number) ==
                   CUDNN_STATUS_SUCCESS;
    *notes = 0;
    for (int64_t i = 0; ok && i < n; i++) *notes |= 1u << list[i];
    if (engine) (void)cudnnBackendDestroyDescriptor(engine);
    return ok;
}

static bool allowed(unsigned notes, ct_dtype type, const ct_device_opts *o)
{
    const unsigned tricks = 1u << CUDNN_NUMERICAL_NOTE_FFT | 1u << CUDNN_NUMERICAL_NOTE_WINOGRAD |
                            1u << CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4 | 1u << CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6 |
                            1u << CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13 | 1u << CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION;
    const unsigned rounds = 1u << CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS | 1u << CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    if (type == CT_F32 && (notes & rounds)) return false; /* TF32 */
    if (o->deterministic && (notes & 1u << CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) return false;
    return !(o->exact && (notes & tricks));
}

static bool finalise(const ct_dnn_target *t, cudnnBackendDescriptor_t config, ct_dnn_plan *out)
{
    cudnnBackendDescriptor_t plan = NULL;
    int64_t got;
    if (cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan) != CUDNN_STATUS_SUCCESS) return false;
    bool ok = cudnnBackendSetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config) ==
              CUDNN_STATUS_SUCCESS;
    if (ok && t->prop)
        ok = cudnnBackendSetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &t->prop) ==
             CUDNN_STATUS_SUCCESS;
    if (ok && t->handle)
        ok = cudnnBackendSetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &t->handle) == CUDNN_STATUS_SUCCESS;
    ok = ok && cudnnBackendFinalize(plan) == CUDNN_STATUS_SUCCESS;
    ok = ok && cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &got, &out->workspace) ==
                   CUDNN_STATUS_SUCCESS;
    if (ok) out->plan = plan;
    else (void)cudnnBackendDestroyDescriptor(plan);
    return ok;
}

/* Goes through one list of the heuristics; true when a plan stands. */
static bool search(building *b, const ct_dnn_target *t, cudnnBackendDescriptor_t g, cudnnBackendHeurMode_t mode, ct_dtype type,
                   const ct_device_opts *opts, ct_dnn_plan *out)
{
    cudnnBackendDescriptor_t config[MAX_CONFIGS] = { NULL }, heuristics = make(b, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    int64_t n = 0;
    bool found = false;
    set(b, heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &g);
    set(b, heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    if (t->prop) set(b, heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &t->prop);
    finish(b, heuristics, "the heuristics");
    if (b->failed != CUDNN_STATUS_SUCCESS) return false;
    for (int i = 0; i < MAX_CONFIGS; i++) note(b, cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &config[i]), "a configuration");
    if (b->failed == CUDNN_STATUS_SUCCESS)
        note(b, cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, MAX_CONFIGS, &n, config),
             "the configurations");
    for (int64_t i = 0; b->failed == CUDNN_STATUS_SUCCESS && i < n && i < MAX_CONFIGS && !found; i++) {
        unsigned notes;
        out->tried++;
        if (!notes_of(config[i], &notes, &out->engine) || !allowed(notes, type, opts)) continue;
        found = finalise(t, config[i], out);
    }
    for (int i = 0; i < MAX_CONFIGS; i++)
        if (config[i]) (void)cudnnBackendDestroyDescriptor(config[i]);
    return found;
}

ct_status ct_dnn_plan_make(const ct_dnn_target *t, const ct_call *c, const ct_device_opts *opts, ct_dnn_plan *out)
{
    building b = { .failed = CUDNN_STATUS_SUCCESS };
    ct_dtype type = c->in[0].desc.dtype;
    memset(out, 0, sizeof *out);
    cudnnBackendDescriptor_t g = graph(&b, t, c);
    bool found = search(&b, t, g, CUDNN_HEUR_MODE_A, type, opts, out);
    if (!found && b.failed == CUDNN_STATUS_SUCCESS) found = search(&b, t, g, CUDNN_HEUR_MODE_FALLBACK, type, opts, out);
    release(&b);
    if (found) return CT_OK;
    if (b.failed != CUDNN_STATUS_SUCCESS)
        return ct_core->fail(CT_EUNSUPPORTED, "cuDNN refuses %s: %s", b.what, cudnnGetErrorString(b.failed));
    return ct_core->fail(CT_EUNSUPPORTED, "cuDNN has no engine for this that the options allow (%d looked at)", out->tried);
}

void ct_dnn_plan_free(ct_dnn_plan *p)
{
    if (p->plan) (void)cudnnBackendDestroyDescriptor(p->plan);
    p->plan = NULL;
}

/* ---- targets ---- */

#if CUDNN_VERSION >= 90800
static ct_status properties(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t n, const void *value,
                            cudnnBackendDescriptor_t *out)
{
    cudnnBackendDescriptor_t d = NULL;
    cudnnStatus_t s = cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &d);
    if (s == CUDNN_STATUS_SUCCESS) s = cudnnBackendSetAttribute(d, name, type, n, value);
    if (s == CUDNN_STATUS_SUCCESS) s = cudnnBackendFinalize(d);
    if (s == CUDNN_STATUS_SUCCESS) {
        *out = d;
        return CT_OK;
    }
    if (d) (void)cudnnBackendDestroyDescriptor(d);
    return ct_core->fail(CT_EBACKEND, "cuDNN: properties of the device: %s", cudnnGetErrorString(s));
}
#endif

ct_status ct_dnn_target_json(const char *json, size_t n, ct_dnn_target *out)
{
    memset(out, 0, sizeof *out);
#if CUDNN_VERSION >= 90800
    return properties(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, (int64_t)n, json, &out->prop);
#else
    (void)json;
    (void)n;
    return ct_core->fail(CT_EUNSUPPORTED, "cuDNN before 9.8 cannot plan for a device that is not there");
#endif
}

ct_status ct_dnn_target_device(cudnnHandle_t handle, ct_dnn_target *out)
{
    memset(out, 0, sizeof *out);
    out->handle = handle;
#if CUDNN_VERSION >= 90800
    return properties(CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle, &out->prop);
#else
    return CT_OK;
#endif
}

void ct_dnn_target_free(ct_dnn_target *t)
{
    if (t->prop) (void)cudnnBackendDestroyDescriptor(t->prop);
    memset(t, 0, sizeof *t);
}
