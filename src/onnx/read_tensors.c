/* What nodes of ONNX read and give: tensors by name, constants, weights. */
#include "config.h"

#include "onnx/read.h"

#include <string.h>

#include "base/alloc.h"

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
    x->tensor[x->tensors++] = (ct_onnx_tensor) { name, v, form };
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
