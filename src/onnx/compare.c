/* Two models of ONNX side by side: what a file holds, and what it ought to. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "onnx/onnx.h"

static ct_status differs(const char *path, const char *what, const char *name, const char *how)
{
    return ct_fail(CT_EDATA, "%s: %s %s %s; it is not what export writes of this model", path, what, name, how);
}

/* Whether two messages are the same, byte for byte as they are written. */
static ct_status same(const void *a, const void *b, bool *yes)
{
    const ProtobufCMessage *x = a, *y = b;
    const size_t n = protobuf_c_message_get_packed_size(x);
    *yes = n == protobuf_c_message_get_packed_size(y);
    if (!*yes || n == 0) return CT_OK;
    uint8_t *both = ct_malloc(2 * n, "ONNX messages");
    if (!both) return CT_ENOMEM;
    protobuf_c_message_pack(x, both);
    protobuf_c_message_pack(y, both + n);
    *yes = memcmp(both, both + n, n) == 0;
    ct_free(both);
    return CT_OK;
}

static ct_status compare_nodes(const char *path, const Onnx__GraphProto *a, const Onnx__GraphProto *b)
{
    for (size_t i = 0; i < a->n_node && i < b->n_node; i++) {
        bool yes;
        CT_TRY(same(a->node[i], b->node[i], &yes));
        if (yes) continue;
        if (strcmp(a->node[i]->name, b->node[i]->name) != 0)
            return ct_fail(CT_EDATA,
                           "%s: node %zu is %s (%s) where %s (%s) belongs; it is not what export writes of this "
                           "model",
                           path, i, b->node[i]->name, b->node[i]->op_type, a->node[i]->name, a->node[i]->op_type);
        return differs(path, "node", a->node[i]->name, "has another operator, input or attribute");
    }
    if (a->n_node == b->n_node) return CT_OK;
    return ct_fail(CT_EDATA, "%s: has %zu nodes, not %zu; it is not what export writes of this model", path, b->n_node,
                   a->n_node);
}

/* Shapes of two initializers; one of no dimensions, a scalar, has no list of them at all. */
static bool same_shape(const Onnx__TensorProto *x, const Onnx__TensorProto *y)
{
    return x->n_dims == y->n_dims && (x->n_dims == 0 || memcmp(x->dims, y->dims, x->n_dims * sizeof *x->dims) == 0);
}

static ct_status compare_weights(const char *path, const Onnx__GraphProto *a, const Onnx__GraphProto *b)
{
    if (a->n_initializer != b->n_initializer)
        return ct_fail(CT_EDATA, "%s: has %zu initializers, not %zu; it is not what export writes of this model", path,
                       b->n_initializer, a->n_initializer);
    for (size_t i = 0; i < a->n_initializer; i++) {
        const Onnx__TensorProto *x = a->initializer[i], *y = b->initializer[i];
        size_t n = 0;
        if (strcmp(x->name, y->name) != 0) return differs(path, "initializer", y->name, "stands where another belongs");
        if (!same_shape(x, y) || x->data_type != y->data_type)
            return differs(path, "initializer", x->name, "has another shape or type");
        const size_t each = x->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT ? 4 : 8;
        for (size_t e = 0; e < x->raw_data.len; e += each)
            n += memcmp(x->raw_data.data + e, y->raw_data.data + e, each) != 0;
        if (n > 0)
            return ct_fail(CT_EDATA,
                           "%s: initializer %s: %zu of %zu numbers are not the model's; it is not what export "
                           "writes of this model",
                           path, x->name, n, x->raw_data.len / each);
    }
    return CT_OK;
}

ct_status ct_onnx_compare(const char *path, const Onnx__ModelProto *must, const Onnx__ModelProto *is)
{
    const Onnx__GraphProto *a = must->graph, *b = is->graph;
    bool yes;
    CT_TRY(same(a->input[0], b->input[0], &yes));
    if (!yes) return differs(path, "input", a->input[0]->name, "has another name, type or shape");
    if (a->n_output != b->n_output)
        return ct_fail(CT_EDATA, "%s: has %zu outputs, not %zu; it is not what export writes of this model", path,
                       b->n_output, a->n_output);
    for (size_t i = 0; i < a->n_output; i++) {
        CT_TRY(same(a->output[i], b->output[i], &yes));
        if (!yes) return differs(path, "output", a->output[i]->name, "has another name, type or shape");
    }
    CT_TRY(compare_nodes(path, a, b));
    CT_TRY(compare_weights(path, a, b));
    for (size_t i = 0; i < must->n_metadata_props; i++) {
        const char *key = must->metadata_props[i]->key, *value = ct_onnx_meta(is, key);
        if (strcmp(key, "captrain") != 0 && (!value || strcmp(value, must->metadata_props[i]->value) != 0))
            return differs(path, "property", key, value ? "has another value" : "is missing");
    }
    return CT_OK;
}
