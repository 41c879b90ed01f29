/* Places parameters, gradients and buffers in their flat arenas. */
#include "config.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "graph/internal.h"

/* The one type that all parameters and buffers have. */
static ct_status common_dtype(const ct_graph *g, ct_dtype *out)
{
    const ct_value *first = NULL;
    *out = CT_F32;
    for (size_t i = 0; i < g->nvalues; i++) {
        const ct_value *v = &g->values[i];
        if (!ct_graph_is_weight(g, (ct_val)i)) continue;
        if (first && v->desc.dtype != first->desc.dtype)
            return ct_fail(CT_EINVAL,
                           "layout: '%s' is %s, but '%s' is %s: a model's parameters and buffers have one type",
                           v->name, ct_dtype_name(v->desc.dtype), first->name, ct_dtype_name(first->desc.dtype));
        if (!first) first = v;
    }
    if (first) *out = first->desc.dtype;
    return CT_OK;
}

/* Takes elements for v behind *elems and moves *elems to the next aligned place. */
static ct_status place(ct_value *v, ct_dtype dtype, int64_t *elems)
{
    int64_t size = (int64_t)ct_dtype_size(dtype), step = CT_ALIGN / size, n = ct_desc_numel(&v->desc);
    if (n > INT64_MAX / size - *elems - step)
        return ct_fail(CT_EINVAL, "layout: '%s' does not fit into the address space", v->name);
    v->offset = *elems * size;
    *elems = (*elems + n + step - 1) / step * step;
    return CT_OK;
}

/* Gradients lie where their parameters lie. */
static void sync_gradients(ct_graph *g)
{
    for (size_t i = 0; i < g->nvalues; i++) {
        const ct_value *v = &g->values[i];
        if (ct_graph_is_weight(g, (ct_val)i) && v->grad != CT_NOVAL) g->values[v->grad].offset = v->offset;
    }
    ct_graph_sync_views(g);
}

/* 0: trained, takes weight decay; 1: trained, exempt from it; 2: not trained. */
static int rank(const ct_value *v, bool differentiated)
{
    if (differentiated && v->grad == CT_NOVAL) return 2;
    return v->decay ? 0 : 1;
}

ct_status ct_layout_make(ct_graph *g, ct_layout *out)
{
    ct_layout l = { 0 };
    CT_TRY(common_dtype(g, &l.dtype));
    bool differentiated = false;
    for (size_t i = 0; i < g->nvalues; i++) differentiated = differentiated || g->values[i].grad != CT_NOVAL;
    for (int r = 0; r < 3; r++) {
        for (int group = 0, next; group >= 0; group = next) {
            next = -1; /* the least number above this group's */
            for (size_t i = 0; i < g->nvalues; i++) {
                ct_value *v = &g->values[i];
                if (!ct_graph_is_weight(g, (ct_val)i) || v->arena != CT_ARENA_PARAM || rank(v, differentiated) != r)
                    continue;
                if (v->group > group && (next < 0 || v->group < next)) next = v->group;
                if (v->group != group) continue;
                CT_TRY(place(v, l.dtype, &l.param_elems));
                l.params += ct_desc_numel(&v->desc);
            }
        }
        if (r == 0) l.decay_elems = l.param_elems;
        if (r == 1) l.train_elems = l.param_elems;
    }
    for (size_t i = 0; i < g->nvalues; i++)
        if (ct_graph_is_weight(g, (ct_val)i) && g->values[i].arena == CT_ARENA_BUFFER)
            CT_TRY(place(&g->values[i], l.dtype, &l.buffer_elems));
    sync_gradients(g);
    *out = l;
    return CT_OK;
}

ct_status ct_layout_apply(ct_graph *g, const ct_graph *from)
{
    for (size_t i = 0; i < g->nvalues; i++) {
        ct_value *v = &g->values[i];
        if (!ct_graph_is_weight(g, (ct_val)i)) continue;
        char a[CT_DESC_STR], b[CT_DESC_STR];
        ct_val w = ct_graph_find(from, v->name);
        if (w == CT_NOVAL || !ct_graph_is_weight(from, w) || from->values[w].arena != v->arena)
            return ct_fail(CT_EINVAL, "layout: the other graph has no %s '%s'",
                           v->arena == CT_ARENA_PARAM ? "parameter" : "buffer", v->name);
        const ct_value *f = &from->values[w];
        if (!ct_desc_equal(&v->desc, &f->desc))
            return ct_fail(CT_EINVAL, "layout: '%s' is %s here and %s in the other graph", v->name,
                           ct_desc_str(&v->desc, a), ct_desc_str(&f->desc, b));
        if (f->offset < 0) return ct_fail(CT_EINVAL, "layout: '%s' has no place in the other graph", v->name);
        v->offset = f->offset;
    }
    sync_gradients(g);
    return CT_OK;
}
