/* Messages of ONNX being made. */
#include "config.h"

#include "onnx/make.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

ct_status ct_onnx_maker_begin(ct_onnx_maker *k)
{
    memset(k, 0, sizeof *k);
    k->model = ct_onnx_take(k, sizeof *k->model);
    Onnx__GraphProto *g = ct_onnx_take(k, sizeof *g);
    if (k->status != CT_OK) return k->status;
    onnx__model_proto__init(k->model);
    onnx__graph_proto__init(g);
    k->model->graph = g;
    return CT_OK;
}

void ct_onnx_maker_end(ct_onnx_maker *k)
{
    for (size_t i = 0; i < k->blocks; i++) ct_free(k->block[i]);
    ct_free(k->block);
    memset(k, 0, sizeof *k);
}

void *ct_onnx_take(ct_onnx_maker *k, size_t bytes)
{
    if (k->status == CT_OK) k->status = ct_grow(&k->block, k->blocks, &k->cap, sizeof *k->block, "ONNX model");
    if (k->status != CT_OK) return NULL;
    void *p = ct_calloc(1, bytes > 0 ? bytes : 1, "ONNX model");
    if (p)
        k->block[k->blocks++] = p;
    else
        k->status = CT_ENOMEM;
    return p;
}

char *ct_onnx_text(ct_onnx_maker *k, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, fmt, args);
    char *s = n < 0 ? NULL : ct_onnx_take(k, (size_t)n + 1);
    if (s) vsnprintf(s, (size_t)n + 1, fmt, again);
    va_end(again);
    va_end(args);
    return s;
}

/* Appends to a repeated field of pointers, whose room doubles: the old list stays in the pool. */
static void append(ct_onnx_maker *k, size_t *n, void *list, void *item)
{
    void **old;
    memcpy(&old, list, sizeof old);
    if (k->status != CT_OK) return;
    if ((*n & (*n - 1)) == 0) { /* 0, 1, 2, 4, ...: it is full */
        void **more = ct_onnx_take(k, (*n ? 2 * *n : 1) * sizeof *more);
        if (!more) return;
        if (*n > 0) memcpy(more, old, *n * sizeof *more);
        old = more;
        memcpy(list, &old, sizeof old);
    }
    old[(*n)++] = item;
}

static Onnx__TensorProto *tensor(ct_onnx_maker *k, const char *name, int type, size_t each, int ndim,
                                 const int64_t *dim)
{
    Onnx__TensorProto *t = ct_onnx_take(k, sizeof *t);
    int64_t *dims = ct_onnx_take(k, (size_t)ndim * sizeof *dims);
    size_t bytes = each;
    for (int i = 0; i < ndim; i++) bytes *= (size_t)dim[i];
    uint8_t *data = ct_onnx_take(k, bytes);
    char *own = ct_onnx_text(k, "%s", name);
    if (k->status != CT_OK) return NULL;
    onnx__tensor_proto__init(t);
    memcpy(dims, dim, (size_t)ndim * sizeof *dims);
    t->name = own;
    t->has_data_type = t->has_raw_data = true;
    t->data_type = type;
    t->n_dims = (size_t)ndim;
    t->dims = dims;
    t->raw_data.len = bytes;
    t->raw_data.data = data;
    append(k, &k->model->graph->n_initializer, &k->model->graph->initializer, t);
    return k->status == CT_OK ? t : NULL;
}

float *ct_onnx_floats(ct_onnx_maker *k, const char *name, int ndim, const int64_t *dim)
{
    Onnx__TensorProto *t = tensor(k, name, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, sizeof(float), ndim, dim);
    return t ? (float *)(void *)t->raw_data.data : NULL;
}

int64_t *ct_onnx_ints(ct_onnx_maker *k, const char *name, int64_t n)
{
    Onnx__TensorProto *t = tensor(k, name, ONNX__TENSOR_PROTO__DATA_TYPE__INT64, sizeof(int64_t), 1, &n);
    return t ? (int64_t *)(void *)t->raw_data.data : NULL;
}

Onnx__NodeProto *ct_onnx_node(ct_onnx_maker *k, const char *op, const char *name, const char *const *input)
{
    Onnx__NodeProto *n = ct_onnx_take(k, sizeof *n);
    char *own = ct_onnx_text(k, "%s", name), *type = ct_onnx_text(k, "%s", op);
    if (k->status != CT_OK) return NULL;
    onnx__node_proto__init(n);
    n->name = own;
    n->op_type = type;
    for (; *input; input++) append(k, &n->n_input, &n->input, ct_onnx_text(k, "%s", *input));
    append(k, &n->n_output, &n->output, own);
    append(k, &k->model->graph->n_node, &k->model->graph->node, n);
    return k->status == CT_OK ? n : NULL;
}

static Onnx__AttributeProto *attribute(ct_onnx_maker *k, Onnx__NodeProto *n, const char *name, int type)
{
    Onnx__AttributeProto *a = ct_onnx_take(k, sizeof *a);
    char *own = ct_onnx_text(k, "%s", name);
    if (k->status != CT_OK) return NULL;
    onnx__attribute_proto__init(a);
    a->name = own;
    a->has_type = true;
    a->type = type;
    append(k, &n->n_attribute, &n->attribute, a);
    return k->status == CT_OK ? a : NULL;
}

void ct_onnx_attr_int(ct_onnx_maker *k, Onnx__NodeProto *n, const char *name, int64_t v)
{
    Onnx__AttributeProto *a = attribute(k, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    if (!a) return;
    a->has_i = true;
    a->i = v;
}

void ct_onnx_attr_float(ct_onnx_maker *k, Onnx__NodeProto *n, const char *name, double v)
{
    Onnx__AttributeProto *a = attribute(k, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    if (!a) return;
    a->has_f = true;
    a->f = (float)v;
}

void ct_onnx_attr_text(ct_onnx_maker *k, Onnx__NodeProto *n, const char *name, const char *v)
{
    Onnx__AttributeProto *a = attribute(k, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    char *own = ct_onnx_text(k, "%s", v);
    if (!a || !own) return;
    a->has_s = true;
    a->s.data = (uint8_t *)own;
    a->s.len = strlen(own);
}

void ct_onnx_attr_ints(ct_onnx_maker *k, Onnx__NodeProto *n, const char *name, int count, const int64_t *v)
{
    Onnx__AttributeProto *a = attribute(k, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    int64_t *own = ct_onnx_take(k, (size_t)count * sizeof *own);
    if (!a || !own) return;
    memcpy(own, v, (size_t)count * sizeof *own);
    a->n_ints = (size_t)count;
    a->ints = own;
}

static Onnx__TensorShapeProto__Dimension *dimension(ct_onnx_maker *k, int64_t value, const char *param)
{
    Onnx__TensorShapeProto__Dimension *d = ct_onnx_take(k, sizeof *d);
    char *own = param ? ct_onnx_text(k, "%s", param) : NULL;
    if (k->status != CT_OK) return NULL;
    onnx__tensor_shape_proto__dimension__init(d);
    d->dim_param = own;
    d->has_dim_value = param == NULL;
    d->dim_value = value;
    return d;
}

void ct_onnx_port(ct_onnx_maker *k, bool output, const char *name, int type, int ndim, const int64_t *value,
                  const char *const *param)
{
    Onnx__GraphProto *g = k->model->graph;
    Onnx__ValueInfoProto *v = ct_onnx_take(k, sizeof *v);
    Onnx__TypeProto *what = ct_onnx_take(k, sizeof *what);
    Onnx__TypeProto__Tensor *t = ct_onnx_take(k, sizeof *t);
    Onnx__TensorShapeProto *shape = ct_onnx_take(k, sizeof *shape);
    char *own = ct_onnx_text(k, "%s", name);
    if (k->status != CT_OK) return;
    onnx__value_info_proto__init(v);
    onnx__type_proto__init(what);
    onnx__type_proto__tensor__init(t);
    onnx__tensor_shape_proto__init(shape);
    v->name = own;
    v->type = what;
    what->tensor_type = t;
    t->has_elem_type = true;
    t->elem_type = type;
    t->shape = shape;
    for (int i = 0; i < ndim; i++) append(k, &shape->n_dim, &shape->dim, dimension(k, value[i], param[i]));
    if (output)
        append(k, &g->n_output, &g->output, v);
    else
        append(k, &g->n_input, &g->input, v);
}

void ct_onnx_property(ct_onnx_maker *k, const char *key, const char *value)
{
    Onnx__StringStringEntryProto *p = ct_onnx_take(k, sizeof *p);
    char *own = ct_onnx_text(k, "%s", key), *text = ct_onnx_text(k, "%s", value);
    if (k->status != CT_OK) return;
    onnx__string_string_entry_proto__init(p);
    p->key = own;
    p->value = text;
    append(k, &k->model->n_metadata_props, &k->model->metadata_props, p);
}
