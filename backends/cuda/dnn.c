/* Convolutions through cuDNN. A plan is chosen when a call is first accepted and kept with the device, so that accept() always gives
 * the same answer and run() only executes. */
#include "backends/cuda/libs.h"

#include <string.h>

#include "backends/cuda/dnn_plan.h"

/* What a plan depends on besides the device. */
typedef struct key {
    ct_op op;
    ct_dtype type;
    bool bias;
    ct_conv_attrs conv;
    int64_t in0[4], in1[4], out[4];
} key;

typedef struct entry {
    key key;
    ct_dnn_plan plan;
    bool found;
    struct entry *next;
} entry;

struct ct_dnn {
    cudnnHandle_t handle;
    ct_dnn_target target;
    entry *entries;
};

ct_status ct_cuda_dnn_open(ct_device *d)
{
    struct ct_dnn *n = ct_core->alloc(sizeof *n, "cuDNN");
    if (!n) return CT_ENOMEM;
    memset(n, 0, sizeof *n);
    d->dnn = n;
    cudnnStatus_t s = cudnnCreate(&n->handle);
    if (s != CUDNN_STATUS_SUCCESS) return ct_core->fail(CT_EBACKEND, "cuDNN cannot be started: %s", cudnnGetErrorString(s));
    return ct_dnn_target_device(n->handle, &n->target);
}

void ct_cuda_dnn_close(ct_device *d)
{
    struct ct_dnn *n = d->dnn;
    if (!n) return;
    while (n->entries) {
        entry *e = n->entries;
        n->entries = e->next;
        if (e->found) ct_dnn_plan_free(&e->plan);
        ct_core->free(e);
    }
    ct_dnn_target_free(&n->target);
    if (n->handle) (void)cudnnDestroy(n->handle);
    ct_core->free(n);
    d->dnn = NULL;
}

static key key_of(const ct_call *c)
{
    key k;
    memset(&k, 0, sizeof k); /* compared as bytes */
    k.op = c->op;
    k.type = c->in[0].desc.dtype;
    k.bias = c->op == CT_OP_CONV2D && ct_cuda_has(c, 2);
    k.conv = c->attrs.conv;
    for (int i = 0; i < 4; i++) {
        k.in0[i] = c->in[0].desc.dim[i];
        k.in1[i] = c->in[1].desc.dim[i];
        k.out[i] = c->out[0].desc.dim[i];
    }
    return k;
}

/* The plan of a call, made at the first asking; NULL if there is none. */
static const ct_dnn_plan *plan_of(const ct_device *d, const ct_call *c)
{
    key k = key_of(c);
    for (entry *e = d->dnn->entries; e; e = e->next)
        if (memcmp(&e->key, &k, sizeof k) == 0) return e->found ? &e->plan : NULL;
    entry *e = ct_core->alloc(sizeof *e, "convolution plan");
    if (!e) return NULL;
    memset(e, 0, sizeof *e);
    e->key = k;
    e->found = ct_dnn_plan_make(&d->dnn->target, c, &d->opts, &e->plan) == CT_OK;
    e->next = d->dnn->entries;
    d->dnn->entries = e;
    return e->found ? &e->plan : NULL;
}

static ct_accept accept(const ct_device *d, const ct_call *c)
{
    if (!ct_cuda_type(c->in[0].desc.dtype)) return ct_accept_no(CT_CUDA_NO_TYPE);
    if (c->in[0].desc.dtype == CT_BF16 && d->major < 8) return ct_accept_no("cuda: bf16 needs compute capability 8.0");
    const ct_dnn_plan *p = plan_of(d, c);
    return p ? ct_accept_yes((size_t)p->workspace) : ct_accept_no("cuDNN has no plan for this that the options allow");
}

/* x, w, y as in the forward direction. */
static ct_status run(ct_device *d, ct_stream *s, const ct_call *c, void *x, void *w, void *y, void *scratch)
{
    const ct_dnn_plan *p = plan_of(d, c);
    cudnnBackendDescriptor_t pack = NULL;
    int64_t id[4] = { CT_DNN_X, CT_DNN_W, CT_DNN_Y, CT_DNN_BIAS };
    void *data[4] = { x, w, y, NULL };
    int64_t n = 3;
    if (!p) return ct_core->fail(CT_EINTERNAL, "cuDNN: a convolution runs that was not accepted");
    if (c->op == CT_OP_CONV2D && ct_cuda_has(c, 2)) data[n++] = c->in[2].data;
    cudnnStatus_t st = cudnnSetStream(d->dnn->handle, s->s);
    if (st == CUDNN_STATUS_SUCCESS) st = cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack);
    if (st == CUDNN_STATUS_SUCCESS) st = cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, n, id);
    if (st == CUDNN_STATUS_SUCCESS) st = cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, n, data);
    if (st == CUDNN_STATUS_SUCCESS) st = cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &scratch);
    if (st == CUDNN_STATUS_SUCCESS) st = cudnnBackendFinalize(pack);
    if (st == CUDNN_STATUS_SUCCESS) st = cudnnBackendExecute(d->dnn->handle, p->plan, pack);
    if (pack) (void)cudnnBackendDestroyDescriptor(pack);
    if (st != CUDNN_STATUS_SUCCESS) return ct_core->fail(CT_EBACKEND, "cuDNN: a convolution failed: %s", cudnnGetErrorString(st));
    return CT_OK;
}

ct_accept ct_cuda_conv2d_accept(const ct_device *d, const ct_call *c) { return accept(d, c); }
ct_accept ct_cuda_conv2d_dgrad_accept(const ct_device *d, const ct_call *c) { return accept(d, c); }
ct_accept ct_cuda_conv2d_wgrad_accept(const ct_device *d, const ct_call *c) { return accept(d, c); }

ct_status ct_cuda_conv2d_run(ct_device *d, ct_stream *s, const ct_call *c, void *scratch)
{
    return run(d, s, c, c->in[0].data, c->in[1].data, c->out[0].data, scratch);
}
ct_status ct_cuda_conv2d_dgrad_run(ct_device *d, ct_stream *s, const ct_call *c, void *scratch)
{
    return run(d, s, c, c->out[0].data, c->in[1].data, c->in[0].data, scratch);
}
ct_status ct_cuda_conv2d_wgrad_run(ct_device *d, ct_stream *s, const ct_call *c, void *scratch)
{
    return run(d, s, c, c->in[0].data, c->out[0].data, c->in[1].data, scratch);
}
