#include "backends/cuda/dnn_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CONFIGS = 64, MAX_KNOBS = CUDNN_KNOB_TYPE_COUNTS, MAX_DESCRIPTORS = 24 + MAX_KNOBS };

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
    if (t->handle) set(b, g, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &t->handle);
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

static bool has(unsigned notes, cudnnBackendNumericalNote_t which) { return (notes >> which & 1u) != 0; }

/* Whether an engine multiplies transformed operands, Winograd's or Fourier's. */
static bool transforms(unsigned notes)
{
    const unsigned tricks = 1u << CUDNN_NUMERICAL_NOTE_FFT | 1u << CUDNN_NUMERICAL_NOTE_WINOGRAD |
                            1u << CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4 | 1u << CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6 |
                            1u << CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13;
    return (notes & tricks) != 0;
}

static bool allowed(unsigned notes, ct_dtype type, const ct_device_opts *o)
{
    if (has(notes, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)) return false; /* sums are f32 here */
    if (type == CT_F32 && has(notes, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)) return false; /* to 16 bits */
    if (type == CT_F32 && !o->tf32 && has(notes, CUDNN_NUMERICAL_NOTE_TENSOR_CORE)) return false; /* they take TF32 */
    if (o->deterministic && has(notes, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) return false;
    return !(o->exact && transforms(notes));
}

/* "eng38/k2=4/k14=3" of a configuration; "" where it does not fit or cannot be had. */
static void name_of(cudnnBackendDescriptor_t config, int64_t engine, char name[CT_VARIANT_NAME])
{
    cudnnBackendDescriptor_t knob[MAX_KNOBS] = { NULL };
    int64_t n = 0, got, value;
    bool ok = true;
    int used = snprintf(name, CT_VARIANT_NAME, "eng%lld", (long long)engine);
    for (int i = 0; i < MAX_KNOBS && ok; i++)
        ok = cudnnBackendCreateDescriptor(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, &knob[i]) == CUDNN_STATUS_SUCCESS;
    ok = ok && cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, MAX_KNOBS, &n, knob) ==
                   CUDNN_STATUS_SUCCESS && n <= MAX_KNOBS;
    for (int64_t i = 0; ok && i < n; i++) {
        cudnnBackendKnobType_t type;
        ok = cudnnBackendGetAttribute(knob[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &got, &type) == CUDNN_STATUS_SUCCESS;
        ok = ok && cudnnBackendGetAttribute(knob[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, &got, &value) == CUDNN_STATUS_SUCCESS;
        if (!ok) break;
        used += snprintf(name + used, (size_t)(CT_VARIANT_NAME - used), "/k%d=%lld", (int)type, (long long)value);
        ok = used < CT_VARIANT_NAME;
    }
    if (!ok) name[0] = '\0';
    for (int i = 0; i < MAX_KNOBS; i++)
        if (knob[i]) (void)cudnnBackendDestroyDescriptor(knob[i]);
}

/* Makes the plan of a configuration; fills plan and workspace. */
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

/* One list of the heuristics. config[MAX_CONFIGS] is for drop_configs(), whatever it returns: the number of configurations. */
static int64_t list_configs(building *b, const ct_dnn_target *t, cudnnBackendDescriptor_t g, cudnnBackendHeurMode_t mode,
                            cudnnBackendDescriptor_t *config)
{
    cudnnBackendDescriptor_t heuristics = make(b, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    int64_t n = 0;
    memset(config, 0, MAX_CONFIGS * sizeof *config);
    set(b, heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &g);
    set(b, heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    if (t->prop) set(b, heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &t->prop);
    finish(b, heuristics, "the heuristics");
    if (b->failed != CUDNN_STATUS_SUCCESS) return 0;
    for (int i = 0; i < MAX_CONFIGS; i++) note(b, cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &config[i]), "a configuration");
    if (b->failed == CUDNN_STATUS_SUCCESS)
        note(b, cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, MAX_CONFIGS, &n, config),
             "the configurations");
    if (b->failed != CUDNN_STATUS_SUCCESS) return 0;
    return n < MAX_CONFIGS ? n : MAX_CONFIGS;
}

static void drop_configs(cudnnBackendDescriptor_t *config)
{
    for (int i = 0; i < MAX_CONFIGS; i++)
        if (config[i]) (void)cudnnBackendDestroyDescriptor(config[i]);
}

/* What a plan must be to be taken. */
typedef struct wish {
    bool units;    /* it uses matrix units */
    int64_t bytes; /* its workspace is no larger */
} wish;

/* Goes through one list of the heuristics; true when a plan stands. A release may lack a list, and cuDNN may refuse one: that is no
 * reason not to look at the next, and is remembered for the message alone. */
static bool search(building *b, const ct_dnn_target *t, cudnnBackendDescriptor_t g, cudnnBackendHeurMode_t mode, ct_dtype type,
                   const ct_device_opts *opts, wish want, ct_dnn_plan *out)
{
    cudnnBackendDescriptor_t config[MAX_CONFIGS];
    b->failed = CUDNN_STATUS_SUCCESS;
    int64_t n = list_configs(b, t, g, mode, config);
    bool found = false;
    for (int64_t i = 0; i < n && !found; i++) {
        out->tried++;
        if (!notes_of(config[i], &out->notes, &out->engine) || !allowed(out->notes, type, opts)) continue;
        if (want.units && !has(out->notes, CUDNN_NUMERICAL_NOTE_TENSOR_CORE)) continue;
        found = finalise(t, config[i], out);
        if (found && out->workspace > want.bytes) {
            ct_dnn_plan_free(out);
            found = false;
        }
        if (found) name_of(config[i], out->engine, out->name);
    }
    drop_configs(config);
    return found;
}

ct_status ct_dnn_plan_make(const ct_dnn_target *t, const ct_call *c, const ct_device_opts *opts, ct_dnn_plan *out)
{
    static const cudnnBackendHeurMode_t modes[] = { CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK };
    building b = { .failed = CUDNN_STATUS_SUCCESS };
    ct_dtype type = c->in[0].desc.dtype;
    memset(out, 0, sizeof *out);
    cudnnBackendDescriptor_t g = graph(&b, t, c);
    bool found = false;
    if (b.failed == CUDNN_STATUS_SUCCESS) {
        /* matrix units where the type means them, then little memory, then the earlier list */
        const wish wishes[] = { { true, CT_DNN_USUAL_WORKSPACE }, { true, INT64_MAX }, { false, CT_DNN_USUAL_WORKSPACE }, { false, INT64_MAX } };
        for (int i = type != CT_F32 || opts->tf32 ? 0 : 4; i < 8 && !found; i++)
            found = search(&b, t, g, modes[i % 2], type, opts, wishes[i / 2], out);
    }
    release(&b);
    if (found) return CT_OK;
    if (b.failed != CUDNN_STATUS_SUCCESS)
        return ct_core->fail(CT_EUNSUPPORTED, "cuDNN refuses %s: %s", b.what, cudnnGetErrorString(b.failed));
    return ct_core->fail(CT_EUNSUPPORTED, "cuDNN has no engine for this that the options allow (%d looked at)", out->tried);
}

/* ---- variants: configurations by name ---- */

typedef struct knob { cudnnBackendKnobType_t type; int64_t value; } knob;

/* "eng38/k2=4" -> number of the engine and knobs[MAX_KNOBS]; the number of knobs, -1 where it is no such name. */
static int parse_name(const char *name, int64_t *engine, knob *knobs)
{
    char *end;
    int n = 0;
    if (strncmp(name, "eng", 3) != 0 || name[3] < '0' || name[3] > '9') return -1;
    *engine = strtoll(name + 3, &end, 10);
    while (*end == '/' && end[1] == 'k' && n < MAX_KNOBS) {
        if (end[2] < '0' || end[2] > '9') return -1;
        knobs[n].type = (cudnnBackendKnobType_t)strtol(end + 2, &end, 10);
        if (*end != '=' || !((end[1] >= '0' && end[1] <= '9') || end[1] == '-')) return -1;
        knobs[n++].value = strtoll(end + 1, &end, 10);
    }
    return *end == '\0' ? n : -1;
}

/* The configuration that a name means; NULL with b->failed set where cuDNN refuses it. */
static cudnnBackendDescriptor_t config_named(building *b, const ct_dnn_target *t, cudnnBackendDescriptor_t g, int64_t engine_number,
                                             const knob *knobs, int n)
{
    cudnnBackendDescriptor_t engine = make(b, CUDNN_BACKEND_ENGINE_DESCRIPTOR), choice[MAX_KNOBS], config;
    set(b, engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &g);
    set(b, engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &engine_number);
#if CUDNN_VERSION >= 90800
    if (t->prop) set(b, engine, CUDNN_ATTR_ENGINE_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &t->prop);
#else
    (void)t;
#endif
    finish(b, engine, "the engine");
    for (int i = 0; i < n; i++) {
        choice[i] = make(b, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
        set(b, choice[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &knobs[i].type);
        set(b, choice[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, &knobs[i].value);
        finish(b, choice[i], "a knob");
    }
    config = make(b, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    set(b, config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine);
    if (n > 0) set(b, config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, n, choice);
    finish(b, config, "the configuration");
    return b->failed == CUDNN_STATUS_SUCCESS ? config : NULL;
}

ct_status ct_dnn_plan_named(const ct_dnn_target *t, const ct_call *c, const ct_device_opts *opts, const char *name, ct_dnn_plan *out)
{
    building b = { .failed = CUDNN_STATUS_SUCCESS };
    knob knobs[MAX_KNOBS];
    ct_status st = CT_OK;
    memset(out, 0, sizeof *out);
    int n = strlen(name) < sizeof out->name ? parse_name(name, &out->engine, knobs) : -1;
    if (n < 0) return ct_core->fail(CT_EUNSUPPORTED, "'%.64s' is no configuration of cuDNN", name);
    cudnnBackendDescriptor_t config = config_named(&b, t, graph(&b, t, c), out->engine, knobs, n);
    if (!config)
        st = ct_core->fail(CT_EUNSUPPORTED, "cuDNN %zu does not take '%s' for this: %s: %s", cudnnGetVersion(), name, b.what,
                           cudnnGetErrorString(b.failed));
    else if (!notes_of(config, &out->notes, &out->engine) || !allowed(out->notes, c->in[0].desc.dtype, opts))
        st = ct_core->fail(CT_EUNSUPPORTED, "the options (exact, deterministic, no tf32) do not allow '%s' of cuDNN", name);
    else if (!finalise(t, config, out))
        st = ct_core->fail(CT_EUNSUPPORTED, "cuDNN %zu cannot plan '%s' here", cudnnGetVersion(), name);
    else
        memcpy(out->name, name, strlen(name) + 1);
    release(&b);
    return st;
}

/* Adds the name of a configuration to list[n] if it is new and can be planned; the new n. */
static int add_variant(const ct_dnn_target *t, cudnnBackendDescriptor_t config, ct_dtype type, const ct_device_opts *opts,
                       char list[][CT_VARIANT_NAME], int n)
{
    ct_dnn_plan p = { .plan = NULL };
    if (!notes_of(config, &p.notes, &p.engine) || !allowed(p.notes, type, opts)) return n;
    name_of(config, p.engine, p.name);
    for (int i = 0; i < n; i++)
        if (strcmp(list[i], p.name) == 0) return n;
    if (!*p.name || !finalise(t, config, &p)) return n;
    if (p.workspace <= CT_DNN_MAX_WORKSPACE) memcpy(list[n++], p.name, sizeof p.name);
    ct_dnn_plan_free(&p);
    return n;
}

int ct_dnn_plan_variants(const ct_dnn_target *t, const ct_call *c, const ct_device_opts *opts, char list[][CT_VARIANT_NAME], int max)
{
    static const cudnnBackendHeurMode_t modes[] = { CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK };
    building b = { .failed = CUDNN_STATUS_SUCCESS };
    cudnnBackendDescriptor_t g = graph(&b, t, c), config[MAX_CONFIGS];
    int n = 0;
    const bool good = b.failed == CUDNN_STATUS_SUCCESS;
    for (int k = 0; k < 3 && n < max && good; k++) {
        b.failed = CUDNN_STATUS_SUCCESS; /* not every release has every list */
        int64_t found = list_configs(&b, t, g, modes[k], config);
        for (int64_t i = 0; i < found && n < max; i++) n = add_variant(t, config[i], c->in[0].desc.dtype, opts, list, n);
        drop_configs(config);
    }
    release(&b);
    return n;
}

void ct_dnn_plan_receipt(const ct_dnn_plan *p, ct_dtype type, ct_receipt *out)
{
    const bool units = has(p->notes, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
    const char *stored = type == CT_BF16 ? "bf16" : type == CT_F16 ? "fp16" : "tf32";
    out->math = units ? stored : "fp32"; /* without matrix units 16-bit operands are converted first */
    out->sums = "fp32";
    out->tensor_cores = units;
    out->transforms = transforms(p->notes);
    snprintf(out->engine, sizeof out->engine, "cuDNN %.80s", *p->name ? p->name : "engine without a name");
}

void ct_dnn_plan_free(ct_dnn_plan *p)
{
    if (p->plan) (void)cudnnBackendDestroyDescriptor(p->plan);
    p->plan = NULL;
}

/* ---- targets ---- */

ct_status ct_dnn_target_json(const char *json, size_t n, ct_dnn_target *out)
{
    memset(out, 0, sizeof *out);
#if CUDNN_VERSION >= 90800
    cudnnBackendDescriptor_t d = NULL;
    cudnnStatus_t s = cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &d);
    if (s == CUDNN_STATUS_SUCCESS)
        s = cudnnBackendSetAttribute(d, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, (int64_t)n, json);
    if (s == CUDNN_STATUS_SUCCESS) s = cudnnBackendFinalize(d);
    if (s == CUDNN_STATUS_SUCCESS) {
        out->prop = d;
        return CT_OK;
    }
    if (d) (void)cudnnBackendDestroyDescriptor(d);
    return ct_core->fail(CT_EBACKEND, "cuDNN: properties of the device: %s", cudnnGetErrorString(s));
#else
    (void)json;
    (void)n;
    return ct_core->fail(CT_EUNSUPPORTED, "cuDNN before 9.8 cannot plan for a device that is not there");
#endif
}

void ct_dnn_target_device(cudnnHandle_t handle, ct_dnn_target *out)
{
    *out = (ct_dnn_target){ .handle = handle };
}

void ct_dnn_target_free(ct_dnn_target *t)
{
    if (t->prop) (void)cudnnBackendDestroyDescriptor(t->prop);
    memset(t, 0, sizeof *t);
}
