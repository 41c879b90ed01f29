#include "config.h"

#include "task/parts.h"

static ct_status add(ct_part *list, int *n, int most, const char *what, const char *name, ct_val v, double weight)
{
    if (*n == most) return ct_fail(CT_EINTERNAL, "program: more than %d %s", most, what);
    list[(*n)++] = (ct_part){ name, v, weight };
    return CT_OK;
}

/* Labels are as many as their pixels are, so they move by the same draw. */
static ct_status move(ct_parts *p, const char *name, ct_val *v)
{
    ct_attrs a = p->moves.attrs;
    const ct_desc *d = ct_graph_desc(p->g, *v);
    if (p->moves.index == CT_NOVAL) return CT_OK;
    if (d->ndim != 3 || d->dim[2] != 2 || d->dtype != CT_F32)
        return ct_fail(CT_EINTERNAL, "program: points '%s' must be f32 [batch, points, 2]", name);
    a.image.src_h = p->moves.src_h;
    a.image.src_w = p->moves.src_w;
    ct_val in[2] = { *v, p->moves.index };
    return ct_graph_node(p->g, CT_OP_MOVE_POINTS, &a, name, 2, in, 1, 1, v);
}

ct_status ct_parts_field(ct_parts *p, const char *name, ct_dtype dtype, ct_field_kind kind, int ndim,
                         const int64_t *dim, ct_val *out)
{
    ct_desc d = { .dtype = dtype, .ndim = ndim + 1, .dim = { p->batch } };
    if (ndim < 1 || ndim > CT_FIELD_NDIM)
        return ct_fail(CT_EINTERNAL, "program: field '%s' of %d dimensions", name, ndim);
    for (int i = 0; i < ndim; i++) d.dim[i + 1] = dim[i];
    CT_TRY(ct_graph_input(p->g, name, d, out));
    CT_TRY(add(p->field, &p->fields, CT_PARTS_MAX, "fields", name, *out, 0));
    return kind == CT_FIELD_POINTS ? move(p, name, out) : CT_OK;
}

ct_status ct_parts_term(ct_parts *p, const char *name, ct_val loss, double weight)
{
    return add(p->term, &p->terms, CT_TERMS_MAX, "terms of a loss", name, loss, weight);
}

ct_status ct_parts_result(ct_parts *p, const char *name, ct_val v)
{
    return add(p->result, &p->results, CT_PARTS_MAX, "results", name, v, 0);
}

void ct_parts_score(ct_parts *p, int k, ct_val v)
{
    p->score[k].val = v;
}
