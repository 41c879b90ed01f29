/* Convolutions through cuDNN. A plan is chosen when a call is first accepted and kept with the device, so that accept() always gives
 * the same answer and run() only executes. Plans that were preferred are kept as well: measuring goes back and forth between them. */
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

typedef struct made {
    ct_dnn_plan plan;
    struct made *next;
} made;

typedef struct entry {
    key key;
    made *plans;          /* all that were made */
    const made *own;      /* the heuristics' choice; NULL: there is none */
    const made *current;  /* what accept() and run() mean */
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
    ct_dnn_target_device(n->handle, &n->target);
    return CT_OK;
}

static void drop(entry *e)
{
    while (e->plans) {
        made *m = e->plans;
        e->plans = m->next;
        ct_dnn_plan_free(&m->plan);
        ct_core->free(m);
    }
    ct_core->free(e);
}

void ct_cuda_dnn_close(ct_device *d)
{
    struct ct_dnn *n = d->dnn;
    if (!n) return;
    while (n->entries) {
        entry *e = n->entries;
        n->entries = e->next;
        drop(e);
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

/* Makes a plan, of a name or (NULL) the heuristics' choice, and keeps it with the entry. */
static ct_status add_plan(const ct_device *d, entry *e, const ct_call *c, const char *name, const made **out)
{
    made *m = ct_core->alloc(sizeof *m, "convolution plan");
    if (!m) return CT_ENOMEM;
    ct_status st = name ? ct_dnn_plan_named(&d->dnn->target, c, &d->opts, name, &m->plan)
                        : ct_dnn_plan_make(&d->dnn->target, c, &d->opts, &m->plan);
    if (st != CT_OK) {
        ct_core->free(m);
        return st;
    }
    m->next = e->plans;
    e->plans = m;
    *out = m;
    return CT_OK;
}

/* The entry of a call that was asked for before; NULL if it was not. */
static entry *find_entry(const ct_device *d, const ct_call *c)
{
    key k = key_of(c);
    entry *e = d->dnn->entries;
    while (e && memcmp(&e->key, &k, sizeof k) != 0) e = e->next;
    return e;
}

/* The entry of a call, made at the first asking; NULL without memory. */
static entry *entry_of(const ct_device *d, const ct_call *c)
{
    entry *e = find_entry(d, c);
    if (e) return e;
    e = ct_core->alloc(sizeof *e, "convolution plan");
    if (!e) return NULL;
    memset(e, 0, sizeof *e);
    e->key = key_of(c);
    if (add_plan(d, e, c, NULL, &e->own) == CT_OK) e->current = e->own;
    e->next = d->dnn->entries;
    d->dnn->entries = e;
    return e;
}

/* The plan of a call; NULL if there is none. */
static const ct_dnn_plan *plan_of(const ct_device *d, const ct_call *c)
{
    const entry *e = entry_of(d, c);
    return e && e->current ? &e->current->plan : NULL;
}

/* ---- receipt and variants ---- */

ct_status ct_cuda_dnn_receipt(const ct_device *d, const ct_call *c, ct_receipt *out)
{
    const ct_dnn_plan *p = plan_of(d, c);
    if (!p) return ct_core->fail(CT_EINTERNAL, "cuDNN: a receipt for a convolution that was not accepted");
    ct_dnn_plan_receipt(p, c->in[0].desc.dtype, out);
    return CT_OK;
}

int ct_cuda_dnn_variants(ct_device *d, const ct_call *c, char names[][CT_VARIANT_NAME], int max)
{
    return plan_of(d, c) ? ct_dnn_plan_variants(&d->dnn->target, c, &d->opts, names, max) : 0;
}

ct_status ct_cuda_dnn_prefer(ct_device *d, const ct_call *c, const char *variant)
{
    entry *e = variant ? entry_of(d, c) : find_entry(d, c);
    if (!variant) {
        if (e) e->current = e->own;
        return CT_OK;
    }
    if (!e) return CT_ENOMEM;
    for (const made *m = e->plans; m; m = m->next) {
        if (strcmp(m->plan.name, variant) != 0) continue;
        e->current = m;
        return CT_OK;
    }
    return add_plan(d, e, c, variant, &e->current);
}

/* ---- the implementations ---- */

static ct_accept accept(const ct_device *d, const ct_call *c)
{
    const ct_accept factors = ct_cuda_factors(d, c);
    if (!factors.ok) return factors;
    if (c->nout > 1) return ct_accept_no(CT_CUDA_NO_MOMENTS);
    if (c->op == CT_OP_CONV2D_DGRAD && ct_cuda_has(c, 2)) return ct_accept_no(CT_CUDA_NO_SUM);
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
    CT_TRY(ct_cuda_check_scratch(scratch));
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

static ct_accept conv2d_accept(const ct_device *d, const ct_call *c) { return accept(d, c); }
static ct_accept conv2d_dgrad_accept(const ct_device *d, const ct_call *c) { return accept(d, c); }
static ct_accept conv2d_wgrad_accept(const ct_device *d, const ct_call *c) { return accept(d, c); }

static ct_status conv2d_run(ct_device *d, ct_stream *s, const ct_call *c, void *scratch)
{
    return run(d, s, c, c->in[0].data, c->in[1].data, c->out[0].data, scratch);
}
static ct_status conv2d_dgrad_run(ct_device *d, ct_stream *s, const ct_call *c, void *scratch)
{
    return run(d, s, c, c->out[0].data, c->in[1].data, c->in[0].data, scratch);
}
static ct_status conv2d_wgrad_run(ct_device *d, ct_stream *s, const ct_call *c, void *scratch)
{
    return run(d, s, c, c->in[0].data, c->out[0].data, c->in[1].data, scratch);
}

static const ct_impl impls[] = {
    { CT_OP_CONV2D, "cuda.dnn", CT_CUDA_TUNED, conv2d_accept, conv2d_run },
    { CT_OP_CONV2D_DGRAD, "cuda.dnn", CT_CUDA_TUNED, conv2d_dgrad_accept, conv2d_dgrad_run },
    { CT_OP_CONV2D_WGRAD, "cuda.dnn", CT_CUDA_TUNED, conv2d_wgrad_accept, conv2d_wgrad_run },
};
CT_CUDA_SET(dnn)
