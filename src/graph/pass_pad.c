/* Channels of the input images, padded with zeros to a multiple that a device's matrix units want: whoever gives the images stores
 * them so, and the first convolutions read filters to which the same channels were added. The parameter itself, its gradient and all
 * that is made of them keep [K,R,S,C]: fit_channels stands between, and its gradient cuts the padding off again. */
#include "config.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "graph/internal.h"

typedef struct padder {
    ct_graph *g;
    int64_t channels, padded; /* of the images at hand */
    bool *images;             /* [nvalues] the images and what casts make of them */
    ct_val *filter;           /* [nvalues] a filter's padded form; CT_NOVAL: none yet */
    size_t nvalues;           /* when the pass began */
} padder;

/* Is v among the marked? Values that this pass made never are. */
static bool marked(const padder *p, ct_val v)
{
    return v != CT_NOVAL && (size_t)v < p->nvalues && p->images[v];
}

/* Does v come from outside as [N,H,W,C]: ready input, or the output of preprocessing? */
static bool gives_images(const ct_graph *g, ct_val v)
{
    const ct_value *x = &g->values[v];
    if (x->desc.ndim != 4 || !ct_dtype_is_float(x->desc.dtype) || x->range) return false;
    return x->producer < 0 ? x->arena == CT_ARENA_INPUT : g->nodes[x->producer].op == CT_OP_PREPROCESS;
}

/* The host, or a later pass, wants to find v as it is. */
static bool wanted_as_is(const ct_graph *g, ct_val v)
{
    for (size_t i = 0; i < g->ncheckpoints; i++)
        if (g->checkpoints[i] == v) return true;
    return g->values[v].keep;
}

/* Is node n one that may read images with channels of padding: a cast, what reads one channel by its number, or a
 * convolution all of whose filters read all of them? */
static bool may_read(const padder *p, const ct_node *n, int *convolutions)
{
    for (int k = 1; k < n->nin; k++)
        if (marked(p, n->in[k])) return false;
    if (n->nin == 0 || !marked(p, n->in[0])) return true;
    if (n->op == CT_OP_CAST) return !wanted_as_is(p->g, n->out[0]);
    if (n->op == CT_OP_MASK_POOL) return true;
    if (n->op != CT_OP_CONV2D || n->attrs.conv.groups != 1) return false;
    (*convolutions)++;
    return true;
}

/* Marks image v and its casts; false if padding it would be seen by anybody, or helps no convolution. */
static bool mark_images(padder *p, ct_val v)
{
    ct_graph *g = p->g;
    int convolutions = 0;
    for (size_t i = 0; i < p->nvalues; i++) p->images[i] = false;
    if (wanted_as_is(g, v)) return false;
    p->images[v] = true;
    for (size_t i = 0; i < g->nnodes; i++) { /* readers stand behind what they read */
        const ct_node *n = &g->nodes[i];
        if (!may_read(p, n, &convolutions)) return false;
        if (n->op == CT_OP_CAST && marked(p, n->in[0])) p->images[n->out[0]] = true;
    }
    return convolutions > 0;
}

/* *w with the images' channels: made before, or a new node. */
static ct_status pad_filter(padder *p, ct_val *w)
{
    ct_graph *g = p->g;
    if (p->filter[*w] == CT_NOVAL) {
        ct_attrs a = { .fit = { p->padded } };
        ct_val to = CT_NOVAL;
        char *name = ct_asprintf("%s.padded", g->values[*w].name);
        if (!name) return CT_ENOMEM;
        ct_status st = ct_graph_node(g, CT_OP_FIT_CHANNELS, &a, name, 1, w, 1, 1u, &to);
        ct_free(name);
        if (st != CT_OK) return st;
        p->filter[*w] = to;
    }
    *w = p->filter[*w];
    return CT_OK;
}

/* Moves the nodes over into a new list, with the padding of filters before the convolutions that need it. */
static ct_status pad_readers(padder *p)
{
    ct_graph *g = p->g;
    ct_node *old = g->nodes;
    size_t nold = g->nnodes, moved = 0;
    ct_phase phase = g->phase;
    ct_status st = CT_OK;
    g->nodes = NULL;
    g->nnodes = g->cap_nodes = 0;
    for (; moved < nold; moved++) {
        ct_node *n = &old[moved];
        g->phase = n->phase;
        if (n->op == CT_OP_PREPROCESS && marked(p, n->out[0])) n->attrs.image.channels = p->padded;
        if (n->op == CT_OP_CONV2D && marked(p, n->in[0])) {
            n->attrs.conv.data_c = p->channels;
            CT_GOTO(st, pad_filter(p, &n->in[1]));
        }
        CT_GOTO(st, ct_graph_push(g, n));
    }
fail:
    for (size_t i = moved; i < nold; i++) ct_free(old[i].name);
    ct_free(old);
    g->phase = phase;
    return st;
}

static ct_status pad_images(padder *p, ct_val v, int64_t multiple)
{
    ct_graph *g = p->g;
    p->channels = ct_graph_desc(g, v)->dim[3];
    p->padded = (p->channels + multiple - 1) / multiple * multiple;
    if (p->padded == p->channels || !mark_images(p, v)) return CT_OK;
    for (size_t i = 0; i < p->nvalues; i++) {
        p->filter[i] = CT_NOVAL;
        if (p->images[i]) g->values[i].desc.dim[3] = p->padded;
    }
    return pad_readers(p);
}

ct_status ct_pass_pad(ct_graph *g, int64_t multiple)
{
    ct_status st = CT_OK;
    padder p = { .g = g, .nvalues = g->nvalues };
    if (multiple < 0 || multiple > 1024) return ct_fail(CT_EINVAL, "pad: channels in multiples of %" PRId64, multiple);
    if (multiple <= 1) return CT_OK;
    if (ct_graph_has_backward(g)) return ct_fail(CT_EINVAL, "pad: the graph has gradients already");
    p.images = ct_calloc(p.nvalues + 1, sizeof *p.images, "padded values");
    p.filter = ct_calloc(p.nvalues + 1, sizeof *p.filter, "padded filters");
    if (!p.images || !p.filter) {
        st = CT_ENOMEM;
        goto fail;
    }
    for (size_t v = 0; v < p.nvalues; v++)
        if (gives_images(g, (ct_val)v)) CT_GOTO(st, pad_images(&p, (ct_val)v, multiple));
fail:
    ct_free(p.images);
    ct_free(p.filter);
    return st;
}
