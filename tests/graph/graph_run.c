#include "config.h"

#include "tests/graph/graph_run.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backends/cpu/ref/ref.h"
#include "base/alloc.h"

/* ---- looking ---- */

int graph_count_op(const ct_graph *g, ct_op op)
{
    int n = 0;
    for (size_t i = 0; i < g->nnodes; i++) n += g->nodes[i].op == op;
    return n;
}

const ct_node *graph_find_node(const ct_graph *g, const char *name)
{
    for (size_t i = 0; i < g->nnodes; i++)
        if (strcmp(g->nodes[i].name, name) == 0) return &g->nodes[i];
    ck_abort_msg("there is no node '%s'", name);
    return NULL;
}

void graph_check_valid(const ct_graph *g)
{
    for (size_t i = 0; i < g->nnodes; i++) {
        const ct_node *n = &g->nodes[i];
        ct_call c, again;
        ct_graph_call(g, i, &c);
        again = c;
        ck_assert_msg(ct_call_infer(&again) == CT_OK, "node '%s': %s", n->name, ct_error_message());
        for (int k = 0; k < n->nout; k++) {
            if (n->out[k] == CT_NOVAL) continue;
            ck_assert_int_eq(g->values[n->out[k]].producer, (int)i);
            ck_assert_msg(ct_desc_equal(&c.out[k].desc, &again.out[k].desc), "node '%s': output %d", n->name, k);
        }
        for (int k = 0; k < n->nin; k++) {
            if (n->in[k] == CT_NOVAL) continue;
            const ct_value *v = &g->values[n->in[k]];
            ck_assert_msg(v->producer < (int)i, "node '%s' reads '%s' before it is there", n->name, v->name);
            ck_assert_msg(v->producer >= 0 || v->arena != CT_ARENA_ACT, "node '%s' reads '%s', which no node gives",
                          n->name, v->name);
        }
        ck_assert(n->clone_of < (int)i);
    }
    for (size_t a = 0; a < g->nvalues; a++) {
        ck_assert_int_eq(ct_graph_find(g, g->values[a].name), (ct_val)a);
        if (g->values[a].producer >= 0) {
            const ct_node *n = &g->nodes[g->values[a].producer];
            bool found = false;
            for (int k = 0; k < n->nout; k++) found = found || n->out[k] == (ct_val)a;
            ck_assert_msg(found, "value '%s' has the wrong producer", g->values[a].name);
        }
    }
}

/* ---- running ---- */

/* Gives every ACT value bytes of its own, and every node's scratch. */
static void place_apart(graph_run *r, const size_t *scratch)
{
    ct_graph *g = r->g;
    int64_t at = 0;
    for (size_t v = 0; v < g->nvalues; v++) {
        if (g->values[v].arena != CT_ARENA_ACT || g->values[v].root != (ct_val)v) continue;
        g->values[v].offset = at;
        at += (int64_t)ct_align_up(ct_desc_bytes(&g->values[v].desc), CT_ALIGN);
    }
    for (size_t i = 0; i < g->nnodes; i++) {
        r->scratch_offset[i] = scratch[i] ? at : -1;
        at += (int64_t)ct_align_up(scratch[i], CT_ALIGN);
    }
    r->bytes[CT_ARENA_ACT] = (size_t)at;
}

void graph_run_open(graph_run *r, ct_graph *g, bool shared)
{
    memset(r, 0, sizeof *r);
    r->g = g;
    size_t *scratch = ct_calloc(g->nnodes + 1, sizeof *scratch, "test scratch");
    r->scratch_offset = ct_calloc(g->nnodes + 1, sizeof *r->scratch_offset, "test scratch");
    ck_assert(scratch && r->scratch_offset);
    for (size_t i = 0; i < g->nnodes; i++) {
        ct_call c;
        ct_graph_call(g, i, &c);
        const ct_impl *impl = ct_ref_find(c.op);
        if (ct_op_get(c.op)->rules->flags & CT_OPF_VIEW) continue;
        ck_assert_msg(impl != NULL, "no reference for %s", ct_op_get(c.op)->name);
        ct_accept a = impl->accept(NULL, &c);
        ck_assert_msg(a.ok, "%s: %s", g->nodes[i].name, a.reason);
        scratch[i] = a.scratch;
    }
    MUST(ct_memplan_make(g, scratch, &r->plan));
    memcpy(r->scratch_offset, r->plan.scratch_offset, g->nnodes * sizeof *r->scratch_offset);
    r->bytes[CT_ARENA_ACT] = (size_t)r->plan.act_bytes;
    if (!shared) place_apart(r, scratch);
    for (size_t v = 0; v < g->nvalues; v++) {
        const ct_value *x = &g->values[v];
        if (x->root != (ct_val)v || (x->arena == CT_ARENA_ACT && x->producer < 0)) continue;
        ck_assert_msg(x->offset >= 0, "%s has no place", x->name);
        size_t end = (size_t)x->offset + ct_desc_bytes(&x->desc);
        if (x->arena == CT_ARENA_ACT)
            ck_assert_msg(end <= r->bytes[CT_ARENA_ACT], "%s lies outside the arena", x->name);
        else if (end > r->bytes[x->arena]) r->bytes[x->arena] = end;
    }
    for (int a = 0; a < CT_ARENA_COUNT; a++) {
        r->base[a] = ct_aligned_alloc(r->bytes[a] + 1, "test arena");
        ck_assert_ptr_nonnull(r->base[a]);
        memset(r->base[a], 0, r->bytes[a] + 1);
    }
    if (r->bytes[CT_ARENA_STATE]) {
        double *state = (double *)(void *)r->base[CT_ARENA_STATE];
        state[CT_STATE_LOSS_SCALE] = state[CT_STATE_CLIP_COEF] = 1;
        state[CT_STATE_STEP] = 3;
    }
    ct_free(scratch);
}

void graph_run_close(graph_run *r)
{
    for (int a = 0; a < CT_ARENA_COUNT; a++) ct_free(r->base[a]);
    ct_free(r->scratch_offset);
    ct_memplan_free(&r->plan);
    memset(r, 0, sizeof *r);
}

void *graph_run_data(const graph_run *r, ct_val v)
{
    const ct_value *root = &r->g->values[r->g->values[v].root];
    return r->base[root->arena] + root->offset;
}

double graph_run_get(const graph_run *r, ct_val v, int64_t i)
{
    return ct_load(r->g->values[v].desc.dtype, graph_run_data(r, v), i);
}

void graph_run_set(const graph_run *r, ct_val v, int64_t i, double x)
{
    ct_store(r->g->values[v].desc.dtype, graph_run_data(r, v), i, x);
}

void graph_run_nodes(graph_run *r, size_t first, size_t end)
{
    const ct_graph *g = r->g;
    if (first == 0) memset(r->base[CT_ARENA_ACT], 0xff, r->bytes[CT_ARENA_ACT]);
    for (size_t i = first; i < end; i++) {
        ct_call c;
        ct_graph_call(g, i, &c);
        if (ct_op_get(c.op)->rules->flags & CT_OPF_VIEW) continue;
        for (int k = 0; k < c.nin; k++)
            if (ct_present(&c.in[k])) c.in[k].data = graph_run_data(r, g->nodes[i].in[k]);
        for (int k = 0; k < c.nout; k++)
            if (ct_present(&c.out[k])) c.out[k].data = graph_run_data(r, g->nodes[i].out[k]);
        void *scratch = r->scratch_offset[i] >= 0 ? r->base[CT_ARENA_ACT] + r->scratch_offset[i] : NULL;
        ct_status st = ct_ref_find(c.op)->run(NULL, NULL, &c, scratch);
        ck_assert_msg(st == CT_OK, "%s: %s", g->nodes[i].name, ct_error_message());
    }
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

void graph_run_fill(graph_run *r, uint64_t seed, int classes)
{
    for (size_t v = 0; v < r->g->nvalues; v++) {
        const ct_value *x = &r->g->values[v];
        bool weight = ct_graph_is_weight(r->g, (ct_val)v);
        if (!weight && (x->arena != CT_ARENA_INPUT || x->producer >= 0)) continue;
        ct_rng rng;
        ct_rng_init(&rng, seed, CT_RNG_TEST, x->name_hash);
        int64_t n = ct_desc_numel(&x->desc);
        bool factor = ends_with(x->name, "gamma") || (x->desc.ndim == 1 && ends_with(x->name, ".weight")); /* of a batch norm */
        double fan = x->desc.ndim > 1 ? (double)n / (double)x->desc.dim[0] : 4;
        for (int64_t i = 0; i < n; i++) {
            double u = ct_rng_uniform(&rng, -1, 1), value = u;
            if (!ct_dtype_is_float(x->desc.dtype)) value = ct_rng_below(&rng, (uint32_t)classes);
            else if (factor || ends_with(x->name, "run_var") || ends_with(x->name, "running_var")) value = 1 + 0.3 * u;
            else if (weight) value = u * 2 / sqrt(fan);
            graph_run_set(r, (ct_val)v, i, value);
        }
    }
}

/* ---- random networks ---- */

typedef struct net {
    ct_graph *g;
    ct_rng rng;
    ct_dtype dtype;
    int serial; /* makes names unique */
    ct_val shared_w; /* a filter used more than once; CT_NOVAL at first */
} net;

static const ct_init zero_init = { CT_INIT_ZERO, 0 };

static ct_val new_param(net *n, const char *what, ct_desc d, bool decay)
{
    char name[64];
    ct_val v;
    snprintf(name, sizeof name, "l%d.%s", n->serial, what);
    MUST(ct_graph_param(n->g, name, d, zero_init, decay, &v));
    return v;
}

static ct_val new_node(net *n, ct_op op, const ct_attrs *a, int nin, const ct_val *in, int nout)
{
    char name[64];
    ct_val out[CT_MAX_OUT];
    snprintf(name, sizeof name, "l%d.%s", n->serial, ct_op_get(op)->name);
    MUST(ct_graph_node(n->g, op, a, name, nin, in, nout, (1u << nout) - 1, out));
    return out[0];
}

static ct_val new_conv(net *n, ct_val x, int64_t k, int64_t ker, int64_t stride, int64_t groups, bool bias)
{
    ct_desc d = *ct_graph_desc(n->g, x);
    n->serial++;
    ct_attrs a = { .conv = { .stride_h = stride,
                             .stride_w = stride,
                             .pad_h = ker / 2,
                             .pad_w = ker / 2,
                             .dil_h = 1,
                             .dil_w = 1,
                             .groups = groups } };
    ct_val in[3] = { x, new_param(n, "weight", ct_desc4(n->dtype, k, ker, ker, d.dim[3] / groups), true), CT_NOVAL };
    if (bias) in[2] = new_param(n, "bias", ct_desc1(n->dtype, k), false);
    return new_node(n, CT_OP_CONV2D, &a, bias ? 3 : 2, in, 1);
}

static ct_val new_norm(net *n, ct_val x)
{
    char name[64];
    ct_desc d = *ct_graph_desc(n->g, x), c = ct_desc1(n->dtype, d.dim[d.ndim - 1]);
    n->serial++;
    ct_val in[5] = { x, new_param(n, "gamma", c, false), new_param(n, "beta", c, false), CT_NOVAL, CT_NOVAL };
    snprintf(name, sizeof name, "l%d.run_mean", n->serial);
    MUST(ct_graph_buffer(n->g, name, c, zero_init, &in[3]));
    snprintf(name, sizeof name, "l%d.run_var", n->serial);
    MUST(ct_graph_buffer(n->g, name, c, zero_init, &in[4]));
    ct_attrs a = { .norm = { .eps = 1e-5, .momentum = 0.1, .update_stats = 1 } };
    return new_node(n, CT_OP_BATCHNORM, &a, 5, in, 3);
}

static ct_val new_act(net *n, ct_val x, ct_act_kind kind)
{
    n->serial++;
    ct_attrs a = { .act = { .kind = kind, .alpha = kind == CT_ACT_LEAKY_RELU ? 0.1 : 0 } };
    return new_node(n, CT_OP_ACTIVATION, &a, 1, &x, 1);
}

static ct_val new_dropout(net *n, ct_val x)
{
    ct_desc d = *ct_graph_desc(n->g, x);
    ct_val state;
    n->serial++;
    MUST(ct_graph_state(n->g, &state));
    ct_attrs m = { .dropout = { .p = 0.25,
                                .seed = 5,
                                .stream = n->serial,
                                .ndim = d.ndim,
                                .d0 = d.dim[0],
                                .d1 = d.dim[1],
                                .d2 = d.dim[2],
                                .d3 = d.dim[3],
                                .d4 = d.dim[4] } };
    ct_val in[2] = { x, new_node(n, CT_OP_DROPOUT_MASK, &m, 1, &state, 1) };
    ct_attrs a = { .dropout = { .p = 0.25 } };
    return new_node(n, CT_OP_DROPOUT_APPLY, &a, 2, in, 1);
}

static ct_val new_pool(net *n, ct_val x, bool max)
{
    n->serial++;
    ct_attrs a = { .pool = { .ker_h = 3, .ker_w = 3, .stride_h = 1, .stride_w = 1, .pad_h = 1, .pad_w = 1 } };
    return new_node(n, max ? CT_OP_MAXPOOL2D : CT_OP_AVGPOOL2D, &a, 1, &x, max ? 2 : 1);
}

static ct_val new_pair(net *n, ct_op op, ct_val a, ct_val b)
{
    n->serial++;
    return new_node(n, op, NULL, 2, (ct_val[]){ a, b }, 1);
}

/* Convolution by one filter that several layers have in common; the running statistics of a norm in between stay its
 * own. */
static ct_val new_shared_conv(net *n, ct_val x)
{
    int64_t c = ct_graph_desc(n->g, x)->dim[3];
    n->serial++;
    if (n->shared_w == CT_NOVAL) n->shared_w = new_param(n, "shared", ct_desc4(n->dtype, c, 3, 3, c), true);
    ct_attrs a = { .conv = {
                       .stride_h = 1, .stride_w = 1, .pad_h = 1, .pad_w = 1, .dil_h = 1, .dil_w = 1, .groups = 1 } };
    return new_node(n, CT_OP_CONV2D, &a, 2, (ct_val[]){ x, n->shared_w }, 1);
}

/* x there and back through another shape: views that gradients must pass. */
static ct_val new_views(net *n, ct_val x)
{
    ct_desc d = *ct_graph_desc(n->g, x);
    n->serial++;
    ct_attrs flat = { .shape = { .ndim = 2, .d0 = d.dim[0] * d.dim[1] * d.dim[2], .d1 = d.dim[3] } };
    ct_val y = new_node(n, CT_OP_RESHAPE, &flat, 1, &x, 1);
    y = new_norm(n, y);
    n->serial++;
    ct_attrs back = { .shape = { .ndim = 4, .d0 = d.dim[0], .d1 = d.dim[1], .d2 = d.dim[2], .d3 = d.dim[3] } };
    return new_node(n, CT_OP_RESHAPE, &back, 1, &y, 1);
}

static ct_val random_layer(net *n, ct_val x, ct_val earlier)
{
    int64_t c = ct_graph_desc(n->g, x)->dim[3];
    bool same = ct_desc_equal(ct_graph_desc(n->g, x), ct_graph_desc(n->g, earlier));
    switch (ct_rng_below(&n->rng, 13)) {
    case 0: return new_conv(n, x, c, 3, 1, 1, true);
    case 1: return new_conv(n, x, c, 3, 1, c, false);
    case 2: return new_conv(n, x, c, 1, 1, 2, false);
    case 3: return new_act(n, new_norm(n, x), CT_ACT_RELU);
    case 4:
        return same ? new_act(n, new_pair(n, CT_OP_ADD, new_norm(n, new_conv(n, x, c, 3, 1, 1, false)), earlier),
                              CT_ACT_RELU)
                    : x;
    case 5: return same ? new_pair(n, CT_OP_ADD, earlier, x) : new_pair(n, CT_OP_ADD, x, x);
    case 6: return same ? new_pair(n, CT_OP_MUL, x, earlier) : new_pair(n, CT_OP_MUL, x, x);
    case 7: return new_pool(n, x, true);
    case 8: return new_pool(n, x, false);
    case 9: return new_dropout(n, x);
    case 10: return new_views(n, x);
    case 11: return new_shared_conv(n, new_act(n, x, CT_ACT_TANH));
    default: return new_act(n, x, (ct_act_kind)ct_rng_below(&n->rng, CT_ACT_COUNT));
    }
}

/* Linear layer over the pixels' mean or all pixels, and the loss. */
static void add_head(net *n, test_net *t, ct_val x, bool flatten, bool margin, int64_t positions)
{
    ct_desc d = *ct_graph_desc(n->g, x);
    n->serial++;
    if (flatten) {
        ct_attrs a = { .shape = { .ndim = 2, .d0 = d.dim[0], .d1 = d.dim[1] * d.dim[2] * d.dim[3] } };
        x = new_node(n, CT_OP_RESHAPE, &a, 1, &x, 1);
    } else {
        x = new_node(n, CT_OP_GLOBAL_AVGPOOL, NULL, 1, &x, 1);
    }
    int64_t features = ct_graph_desc(n->g, x)->dim[1], out = positions * t->classes;
    ct_val in[3] = { x, new_param(n, "weight", ct_desc2(n->dtype, out, features), true),
                     new_param(n, "bias", ct_desc1(n->dtype, out), false) };
    t->logits = new_node(n, CT_OP_LINEAR, NULL, 3, in, 1);
    MUST(ct_graph_input(n->g, "target", ct_desc2(CT_I32, d.dim[0], positions), &t->target));
    ct_attrs a = { .loss = { .positions = positions, .classes = t->classes, .smoothing = margin ? 0 : 0.1 } };
    t->loss = new_node(n, margin ? CT_OP_SOFT_MARGIN : CT_OP_SOFTMAX_XENT, &a, 2, (ct_val[]){ t->logits, t->target },
                       margin ? 1 : 2);
    ct_graph_keep(n->g, t->loss);
}

void test_net_random(test_net *t, uint64_t seed, ct_dtype dtype, int layers)
{
    net n = { .dtype = dtype, .shared_w = CT_NOVAL };
    *t = (test_net){ .classes = 3 };
    MUST(ct_graph_create(&t->g));
    n.g = t->g;
    ct_rng_init(&n.rng, seed, CT_RNG_TEST, 1);
    MUST(ct_graph_input(t->g, "x", ct_desc4(dtype, 2, 5, 6, 2), &t->x));
    ct_val x = new_conv(&n, t->x, 4, 3, ct_rng_below(&n.rng, 2) ? 1 : 2, 1, ct_rng_below(&n.rng, 2)), earlier = x;
    for (int i = 0; i < layers; i++) {
        ct_val y = random_layer(&n, x, earlier);
        if (ct_rng_below(&n.rng, 2)) earlier = x;
        if (y != x && ct_rng_below(&n.rng, 3) == 0) MUST(ct_graph_mark_checkpoint(t->g, y));
        x = y;
    }
    add_head(&n, t, x, ct_rng_below(&n.rng, 2), ct_rng_below(&n.rng, 2), 1 + ct_rng_below(&n.rng, 2));
}

void test_net_deep(test_net *t, ct_dtype dtype, int blocks, int64_t batch, int64_t size, int64_t channels)
{
    net n = { .dtype = dtype, .shared_w = CT_NOVAL };
    *t = (test_net){ .classes = 5 };
    MUST(ct_graph_create(&t->g));
    n.g = t->g;
    MUST(ct_graph_input(t->g, "x", ct_desc4(dtype, batch, size, size, 3), &t->x));
    ct_val x = new_act(&n, new_norm(&n, new_conv(&n, t->x, channels, 3, 1, 1, false)), CT_ACT_RELU);
    MUST(ct_graph_mark_checkpoint(t->g, x));
    for (int i = 0; i < blocks; i++) {
        ct_val y = new_act(&n, new_norm(&n, new_conv(&n, x, channels, 3, 1, 1, false)), CT_ACT_RELU);
        if (i == 1) y = new_dropout(&n, y);
        y = new_norm(&n, new_conv(&n, y, channels, 3, 1, 1, false));
        x = new_act(&n, new_pair(&n, CT_OP_ADD, y, x), CT_ACT_RELU);
        MUST(ct_graph_mark_checkpoint(t->g, x));
    }
    add_head(&n, t, x, false, false, 1);
}

/* conv, norm, relu, conv, norm + shortcut, relu; stride 0: x itself is the shortcut. */
static ct_val new_block(net *n, ct_val x, int64_t channels, int64_t stride)
{
    ct_val y = new_act(n, new_norm(n, new_conv(n, x, channels, 1, 1, 1, false)), CT_ACT_RELU);
    y = new_norm(n, new_conv(n, y, channels, 3, stride ? stride : 1, 1, false));
    if (stride) x = new_norm(n, new_conv(n, x, channels, 1, stride, 1, false));
    return new_act(n, new_pair(n, CT_OP_ADD, y, x), CT_ACT_RELU);
}

void test_net_shrinking(test_net *t, ct_dtype dtype)
{
    net n = { .dtype = dtype, .shared_w = CT_NOVAL };
    *t = (test_net){ .classes = 4 };
    MUST(ct_graph_create(&t->g));
    n.g = t->g;
    MUST(ct_graph_input(t->g, "x", ct_desc4(dtype, 3, 25, 33, 3), &t->x));
    ct_val x = new_act(&n, new_norm(&n, new_conv(&n, t->x, 6, 3, 2, 1, false)), CT_ACT_RELU);
    n.serial++;
    ct_attrs pool = { .pool = { .ker_h = 3, .ker_w = 3, .stride_h = 2, .stride_w = 2, .pad_h = 1, .pad_w = 1 } };
    x = new_node(&n, CT_OP_MAXPOOL2D, &pool, 1, &x, 2);
    static const int64_t strides[] = { 1, 0, 2, 3 };
    for (size_t i = 0; i < sizeof strides / sizeof strides[0]; i++) {
        x = new_block(&n, x, i < 2 ? 6 : 10, strides[i]);
        MUST(ct_graph_mark_checkpoint(t->g, x));
    }
    add_head(&n, t, x, true, false, 1);
}

void test_net_small(test_net *t, ct_val *w)
{
    ct_val v, in[5], outs[3];
    *t = (test_net){ .classes = 3 };
    MUST(ct_graph_create(&t->g));
    MUST(ct_graph_input(t->g, "x", ct_desc4(CT_F32, 2, 4, 4, 3), &t->x));
    MUST(ct_graph_param(t->g, "conv.weight", ct_desc4(CT_F32, 3, 3, 3, 3), zero_init, true, w));
    ct_attrs c = { .conv = {
                       .stride_h = 1, .stride_w = 1, .pad_h = 1, .pad_w = 1, .dil_h = 1, .dil_w = 1, .groups = 1 } };
    MUST(ct_graph_node(t->g, CT_OP_CONV2D, &c, "conv", 2, (ct_val[]){ t->x, *w }, 1, 1, &in[0]));
    MUST(ct_graph_param(t->g, "bn.weight", ct_desc1(CT_F32, 3), zero_init, false, &in[1]));
    MUST(ct_graph_param(t->g, "bn.bias", ct_desc1(CT_F32, 3), zero_init, false, &in[2]));
    MUST(ct_graph_buffer(t->g, "bn.running_mean", ct_desc1(CT_F32, 3), zero_init, &in[3]));
    MUST(ct_graph_buffer(t->g, "bn.running_var", ct_desc1(CT_F32, 3), zero_init, &in[4]));
    ct_attrs b = { .norm = { .eps = 1e-5, .momentum = 0.1, .update_stats = 1 } };
    MUST(ct_graph_node(t->g, CT_OP_BATCHNORM, &b, "bn", 5, in, 3, 7, outs));
    ct_attrs relu = { .act = { .kind = CT_ACT_RELU } };
    MUST(ct_graph_node(t->g, CT_OP_ACTIVATION, &relu, "relu", 1, &outs[0], 1, 1, &v));
    MUST(ct_graph_node(t->g, CT_OP_CONV2D, &c, "conv_again", 2, (ct_val[]){ v, *w }, 1, 1, &v));
    MUST(ct_graph_node(t->g, CT_OP_GLOBAL_AVGPOOL, NULL, "pool", 1, &v, 1, 1, &v));
    ct_val fc[3] = { v, CT_NOVAL, CT_NOVAL };
    MUST(ct_graph_param(t->g, "fc.weight", ct_desc2(CT_F32, 3, 3), zero_init, true, &fc[1]));
    MUST(ct_graph_param(t->g, "fc.bias", ct_desc1(CT_F32, 3), zero_init, false, &fc[2]));
    MUST(ct_graph_node(t->g, CT_OP_LINEAR, NULL, "fc", 3, fc, 1, 1, &t->logits));
    MUST(ct_graph_input(t->g, "target", ct_desc2(CT_I32, 2, 1), &t->target));
    ct_attrs l = { .loss = { .positions = 1, .classes = 3 } };
    MUST(ct_graph_node(t->g, CT_OP_SOFTMAX_XENT, &l, "loss", 2, (ct_val[]){ t->logits, t->target }, 2, 3, outs));
    t->loss = outs[0];
    ct_graph_keep(t->g, t->loss);
}

void test_net_backward(test_net *t)
{
    ct_val state, seed;
    t->g->phase = CT_PHASE_BACKWARD;
    MUST(ct_graph_state(t->g, &state));
    ct_attrs a = { .loss = { .alpha = 1, .dtype = ct_graph_desc(t->g, t->loss)->dtype } };
    MUST(ct_graph_node(t->g, CT_OP_LOSS_SEED, &a, "seed", 1, &state, 1, 1, &seed));
    MUST(ct_autodiff(t->g, t->loss, seed));
}
