/* What nodes of ONNX read and give: tensors by name, constants, weights. */
#include "config.h"

#include "onnx/read.h"

#include <string.h>

#include "base/alloc.h"

#define MOST_TENSOR ((size_t)1 << 35) /* bytes */

ct_status ct_onnx_refuse(const ct_onnx_graph *x, const Onnx__NodeProto *n, const char *why)
{
    return ct_fail(CT_EFORMAT, "%s: node %s (%s): %s", x->source, n->name, n->op_type, why);
}

const ct_onnx_tensor *ct_onnx_tensor_of(const ct_onnx_graph *x, const char *name)
{
    for (size_t i = x->tensors; i-- > 0;)
        if (strcmp(x->tensor[i].name, name) == 0) return &x->tensor[i];
    return NULL;
}

const Onnx__TensorProto *ct_onnx_constant(const ct_onnx_graph *x, const Onnx__NodeProto *n, size_t i)
{
    const Onnx__GraphProto *g = x->model->graph;
    if (i >= n->n_input) return NULL;
    for (size_t k = 0; k < g->n_initializer; k++)
        if (strcmp(g->initializer[k]->name, n->input[i]) == 0) return g->initializer[k];
    return NULL;
}

ct_status ct_onnx_name(ct_onnx_graph *x, const char *name, ct_val v, ct_onnx_form_of form)
{
    CT_TRY(ct_grow(&x->tensor, x->tensors, &x->cap_tensors, sizeof *x->tensor, "tensors of an ONNX file"));
    x->tensor[x->tensors++] = (ct_onnx_tensor) { .name = name, .val = v, .form = form };
    return CT_OK;
}

ct_status ct_onnx_define(ct_onnx_graph *x, const Onnx__NodeProto *n, ct_val v, ct_onnx_form_of form)
{
    if (ct_onnx_tensor_of(x, n->output[0])) return ct_onnx_refuse(x, n, "gives what another one gives");
    return ct_onnx_name(x, n->output[0], v, form);
}

ct_status ct_onnx_weight_add(ct_onnx_graph *x, const char *name, const char *tail, ct_desc desc, ct_val *v,
                             float **data)
{
    const ct_init zero = { CT_INIT_ZERO, 0 };
    CT_TRY(ct_grow(&x->weight, x->weights, &x->cap_weights, sizeof *x->weight, "weights of an ONNX file"));
    char *both = ct_asprintf("%s%s", name, tail);
    if (!both) return CT_ENOMEM;
    const ct_status st = ct_graph_param(x->g, both, desc, zero, false, v);
    ct_free(both);
    if (st != CT_OK) return st == CT_ENOMEM ? st : ct_fail_context(CT_EFORMAT, "%s: initializer %s", x->source, name);
    if (!(*data = ct_malloc(ct_desc_bytes(&desc), "weights of an ONNX file"))) return CT_ENOMEM;
    x->weight[x->weights++] = (ct_onnx_weight) { *v, *data };
    return CT_OK;
}

const Onnx__AttributeProto *ct_onnx_attribute(const Onnx__NodeProto *n, const char *name)
{
    for (size_t i = 0; i < n->n_attribute; i++)
        if (strcmp(n->attribute[i]->name, name) == 0) return n->attribute[i];
    return NULL;
}

int64_t ct_onnx_whole(const Onnx__NodeProto *n, const char *name, int64_t without)
{
    const Onnx__AttributeProto *a = ct_onnx_attribute(n, name);
    return a && a->has_i ? a->i : without;
}

double ct_onnx_number(const Onnx__NodeProto *n, const char *name, double without)
{
    const Onnx__AttributeProto *a = ct_onnx_attribute(n, name);
    return a && a->has_f ? (double)a->f : without;
}

bool ct_onnx_says(const Onnx__NodeProto *n, const char *name, const char *text)
{
    const Onnx__AttributeProto *a = ct_onnx_attribute(n, name);
    return a && a->has_s && a->s.len == strlen(text) && memcmp(a->s.data, text, a->s.len) == 0;
}

bool ct_onnx_list(const Onnx__NodeProto *n, const char *name, size_t count, int64_t *v)
{
    const Onnx__AttributeProto *a = ct_onnx_attribute(n, name);
    if (!a || a->n_ints != count) return false;
    for (size_t i = 0; i < count; i++) {
        if (a->ints[i] < 0 || a->ints[i] > 4095) return false;
        v[i] = a->ints[i];
    }
    return true;
}

bool ct_onnx_window_of(const Onnx__NodeProto *n, ct_onnx_form_of form, ct_onnx_window *out)
{
    int64_t k[3], s[3], p[6];
    const size_t rank = form == CT_ONNX_CLIP ? 3 : 2;
    if (!ct_onnx_list(n, "kernel_shape", rank, k + 3 - rank) || !ct_onnx_list(n, "strides", rank, s + 3 - rank) ||
        !ct_onnx_list(n, "pads", 2 * rank, p))
        return false;
    for (size_t i = 0; i < rank; i++)
        if (p[i] != p[rank + i]) return false;
    if (rank == 3 && s[0] != 1) return false;
    *out = (ct_onnx_window) { { k[1], k[2] }, { s[1], s[2] }, { p[rank - 2], p[rank - 1] }, rank == 3 && k[0] != 1 };
    if (!out->times) return rank == 2 || p[0] == 0;
    const bool alone = k[1] == 1 && k[2] == 1 && s[1] == 1 && s[2] == 1 && p[1] == 0 && p[2] == 0;
    out->ker[0] = k[0];
    out->pad[0] = p[0];
    return alone;
}

ct_status ct_onnx_input(ct_onnx_graph *x, const Onnx__NodeProto *n, size_t i, ct_onnx_form_of form, ct_val *v)
{
    const ct_onnx_tensor *t = i < n->n_input ? ct_onnx_tensor_of(x, n->input[i]) : NULL;
    if (!t) return ct_onnx_refuse(x, n, "reads what no node before it gives");
    if (t->form != form) return ct_onnx_refuse(x, n, "reads a tensor whose dimensions mean something else");
    *v = t->val;
    return CT_OK;
}

ct_status ct_onnx_first(ct_onnx_graph *x, const Onnx__NodeProto *n, ct_onnx_tensor *t)
{
    const ct_onnx_tensor *found = ct_onnx_tensor_of(x, n->input[0]);
    if (!found) return ct_onnx_refuse(x, n, "reads what no node before it gives");
    *t = *found;
    return CT_OK;
}

const Onnx__TensorProto *ct_onnx_constant_of(const ct_onnx_graph *x, const Onnx__NodeProto *n, size_t i, int type,
                                             size_t dims)
{
    const Onnx__TensorProto *t = ct_onnx_constant(x, n, i);
    return t && t->data_type == type && t->n_dims == dims ? t : NULL;
}

const Onnx__TensorProto *ct_onnx_floats_of(const ct_onnx_graph *x, const Onnx__NodeProto *n, size_t i, size_t dims)
{
    return ct_onnx_constant_of(x, n, i, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, dims);
}

const Onnx__TensorProto *ct_onnx_ints_of(const ct_onnx_graph *x, const Onnx__NodeProto *n, size_t i, int64_t count)
{
    const Onnx__TensorProto *t = ct_onnx_constant_of(x, n, i, ONNX__TENSOR_PROTO__DATA_TYPE__INT64, 1);
    return t && t->dims[0] == count ? t : NULL;
}

int64_t ct_onnx_int_at(const Onnx__TensorProto *t, int64_t e)
{
    int64_t v;
    memcpy(&v, t->raw_data.data + e * 8, sizeof v);
    return v;
}

float ct_onnx_number_at(const Onnx__TensorProto *t, int64_t e)
{
    float v;
    memcpy(&v, t->raw_data.data + e * 4, sizeof v);
    return v;
}

ct_status ct_onnx_op(ct_onnx_graph *x, const Onnx__NodeProto *n, ct_op op, const ct_attrs *a, const char *tail, int nin,
                     const ct_val *in, int nout, ct_val *out)
{
    char name[160];
    const size_t fits = sizeof name - 16, len = strlen(n->name);
    if (len >= fits) return ct_onnx_refuse(x, n, "too long a name");
    memcpy(name, n->name, len);
    strcpy(name + len, tail);
    const ct_status st = ct_graph_node(x->g, op, a, name, nin, in, nout, (1u << nout) - 1, out);
    if (st != CT_OK) return st == CT_ENOMEM ? st : ct_fail_context(CT_EFORMAT, "%s", x->source);
    for (int i = 0; i < nout; i++)
        if (ct_desc_bytes(ct_graph_desc(x->g, out[i])) > MOST_TENSOR)
            return ct_onnx_refuse(x, n, "gives more numbers than anything that export writes");
    return CT_OK;
}

ct_status ct_onnx_view(ct_onnx_graph *x, const Onnx__NodeProto *n, const char *tail, ct_val v, int ndim,
                       const int64_t *dim, ct_val *y)
{
    const ct_attrs a = { .shape = { .ndim = ndim,
                                    .d0 = dim[0],
                                    .d1 = dim[1],
                                    .d2 = ndim > 2 ? dim[2] : 0,
                                    .d3 = ndim > 3 ? dim[3] : 0 } };
    return ct_onnx_op(x, n, CT_OP_RESHAPE, &a, tail, 1, &v, 1, y);
}

ct_status ct_onnx_vector(ct_onnx_graph *x, const Onnx__NodeProto *n, size_t i, ct_val *v)
{
    const Onnx__TensorProto *t = ct_onnx_floats_of(x, n, i, 1);
    float *data;
    if (!t) return ct_onnx_refuse(x, n, "has no vector where one belongs");
    CT_TRY(ct_onnx_weight_add(x, t->name, "", ct_desc1(CT_F32, t->dims[0]), v, &data));
    memcpy(data, t->raw_data.data, t->raw_data.len);
    return CT_OK;
}
