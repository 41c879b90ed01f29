/* Channels of the input images, padded with zeros to a multiple that a device's matrix units want: whoever gives the
 * images stores them so, and the first convolutions read filters to which the same channels were added. The parameter
 * itself, its gradient and all that is made of them keep [K,R,S,C]: fit_channels stands between, and its gradient cuts
 * the padding off again. Views of the images and their products with something else, which fit_channels pads alike, are
 * images for what reads them: zeros stay zeros. Images that are standardized first stay as they are, since channels of
 * padding would count there; what is made of them is padded behind that, by fit_channels as well. */
#include "config.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "graph/internal.h"

typedef struct padder {
    ct_graph *g;
    int64_t channels, padded; /* of the images at hand */
    bool *images;             /* [nvalues] the images and what casts, views and products make of them */
    ct_val whole;             /* the image whose padded form is a value of its own; CT_NOVAL: the image itself is padded */
    ct_val *fitted;           /* [nvalues] the padded form of a filter, factor or `whole`; CT_NOVAL: none yet */
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

static bool made_by(const ct_graph *g, ct_val v, ct_op op)
{
    return g->values[v].producer >= 0 && g->nodes[g->values[v].producer].op == op;
}

/* Is v [N,H,W,C] what standardize gives, in the type that layers want: a cast of it, unless there is none? */
static bool standardized(const ct_graph *g, ct_val v)
{
    if (ct_graph_desc(g, v)->ndim != 4) return false;
    if (made_by(g, v, CT_OP_CAST)) return made_by(g, g->nodes[g->values[v].producer].in[0], CT_OP_STANDARDIZE);
    if (!made_by(g, v, CT_OP_STANDARDIZE) || g->nodes[g->values[v].producer].out[0] != v) return false;
    for (size_t i = 0; i < g->nnodes; i++)
        if (g->nodes[i].op == CT_OP_CAST && g->nodes[i].in[0] == v) return false;
    return true;
}

/* The host, or a later pass, wants to find v as it is. */
static bool wanted_as_is(const ct_graph *g, ct_val v)
{
    for (size_t i = 0; i < g->ncheckpoints; i++)
        if (g->checkpoints[i] == v) return true;
    return g->values[v].keep;
}

/* Does n read images as its input number k? */
static bool reads(const padder *p, const ct_node *n, int k)
{
    return k < n->nin && marked(p, n->in[k]);
}

/* Is y, made of an image's elements, an image with the same channels? */
static bool same_channels(const padder *p, ct_val y)
{
    const ct_desc *d = ct_graph_desc(p->g, y);
    return d->ndim == 4 && d->dim[3] == p->channels && !p->g->values[y].keep;
}

/* Does n, which reads images, give images: a cast, a view that leaves pixels whole, a product? */
static bool gives_on(const padder *p, const ct_node *n)
{
    switch (n->op) {
    case CT_OP_CAST: return !wanted_as_is(p->g, n->out[0]);
    case CT_OP_RESHAPE:
    case CT_OP_MUL: return same_channels(p, n->out[0]);
    default: return false;
    }
}

/* May n read images with channels of padding, as what reads one channel by its number, a convolution all of whose
 * filters read all of them, or what gives them on? */
static bool may_read(const padder *p, const ct_node *n, int *convolutions)
{
    if (gives_on(p, n)) return true;
    for (int k = 1; k < n->nin; k++)
        if (reads(p, n, k)) return false;
    if (!reads(p, n, 0) || n->op == CT_OP_MASK_POOL) return true;
    if (n->op != CT_OP_CONV2D || n->attrs.conv.groups != 1) return false;
    (*convolutions)++;
    return true;
}

/* Marks image v and what it is given on as; false if padding it would be seen by anybody, or helps no convolution. */
static bool mark_images(padder *p, ct_val v)
{
    ct_graph *g = p->g;
    int convolutions = 0;
    for (size_t i = 0; i < p->nvalues; i++) p->images[i] = false;
    if (v != p->whole && wanted_as_is(g, v)) return false;
    p->images[v] = true;
    for (size_t i = 0; i < g->nnodes; i++) { /* readers stand behind what they read */
        const ct_node *n = &g->nodes[i];
        if (!may_read(p, n, &convolutions)) return false;
        if ((reads(p, n, 0) || reads(p, n, 1)) && gives_on(p, n)) p->images[n->out[0]] = true;
    }
    return convolutions > 0;
}

/* *v, a filter or a factor, with the images' channels: made before, or a new node. */
static ct_status fit(padder *p, ct_val *v)
{
    ct_graph *g = p->g;
    if (p->fitted[*v] == CT_NOVAL) {
        ct_attrs a = { .fit = { p->padded } };
        ct_val to = CT_NOVAL;
        char *name = ct_asprintf("%s.padded", g->values[*v].name);
        if (!name) return CT_ENOMEM;
        ct_status st = ct_graph_node(g, CT_OP_FIT_CHANNELS, &a, name, 1, v, 1, 1u, &to);
        ct_free(name);
        if (st != CT_OK) return st;
        p->fitted[*v] = to;
    }
    *v = p->fitted[*v];
    return CT_OK;
}

/* What n needs beside images with padding, before it is moved behind the nodes made for that. */
static ct_status adapt_rest(padder *p, ct_node *n)
{
    if (n->op == CT_OP_PREPROCESS && marked(p, n->out[0])) n->attrs.image.channels = p->padded;
    if (n->op == CT_OP_MUL && reads(p, n, 0) != reads(p, n, 1)) return fit(p, &n->in[reads(p, n, 0)]);
    if (!reads(p, n, 0)) return CT_OK;
    if (n->op == CT_OP_RESHAPE) n->attrs.shape.d3 = p->padded;
    if (n->op != CT_OP_CONV2D) return CT_OK;
    n->attrs.conv.data_c = p->channels;
    return fit(p, &n->in[1]);
}

/* What n needs to read images with padding. */
static ct_status adapt(padder *p, ct_node *n)
{
    CT_TRY(adapt_rest(p, n));
    for (int k = 0; k < n->nin; k++)
        if (n->in[k] != CT_NOVAL && n->in[k] == p->whole) CT_TRY(fit(p, &n->in[k]));
    return CT_OK;
}

/* Moves the nodes over into a new list, with the padding of filters and factors before what needs it. */
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
        CT_GOTO(st, adapt(p, n));
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
    p->whole = standardized(g, v) ? v : CT_NOVAL;
    p->channels = ct_graph_desc(g, v)->dim[3];
    p->padded = (p->channels + multiple - 1) / multiple * multiple;
    if (p->padded == p->channels || !mark_images(p, v)) return CT_OK;
    for (size_t i = 0; i < p->nvalues; i++) {
        p->fitted[i] = CT_NOVAL;
        if (p->images[i] && (ct_val)i != p->whole) g->values[i].desc.dim[3] = p->padded;
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
    p.fitted = ct_calloc(p.nvalues + 1, sizeof *p.fitted, "what is padded alike");
    if (!p.images || !p.fitted) {
        st = CT_ENOMEM;
        goto fail;
    }
    for (size_t v = 0; v < p.nvalues; v++)
        if (gives_images(g, (ct_val)v) || standardized(g, (ct_val)v)) CT_GOTO(st, pad_images(&p, (ct_val)v, multiple));
fail:
    ct_free(p.images);
    ct_free(p.fitted);
    return st;
}
