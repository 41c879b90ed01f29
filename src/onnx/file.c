/* Files of ONNX: bytes to messages, with limits. */
#include "config.h"

#include "onnx/onnx.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"

#define MOST_NODES 100000
#define MOST_DIMS 8
#define MOST_PROPERTIES 256

/* The decoder's blocks, altogether at most `left` bytes: a message of many small fields takes a multiple of its
 * size. */
typedef struct budget {
    size_t left;
} budget;

static void *take(void *user, size_t bytes)
{
    budget *b = user;
    if (bytes > b->left) return NULL;
    b->left -= bytes;
    return ct_malloc(bytes, "ONNX file");
}

static void give_back(void *user, void *p)
{
    (void)user;
    ct_free(p);
}

static ct_status damaged(const char *source, const char *what, const char *name)
{
    return ct_fail(CT_EFORMAT, "%s: is no ONNX file that export writes: %s%s%s", source, what, name ? " " : "",
                   name ? name : "");
}

/* Elements of a tensor, which must be those its bytes hold. */
static ct_status check_tensor(const char *source, const Onnx__TensorProto *t)
{
    uint64_t n = 1;
    if (!t->name || !*t->name) return damaged(source, "an initializer without a name", NULL);
    const bool ints = t->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__INT64;
    if (!ints && t->data_type != ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT)
        return damaged(source, "neither float nor int64 are the numbers of initializer", t->name);
    if (t->n_dims > MOST_DIMS) return damaged(source, "too many dimensions has initializer", t->name);
    for (size_t i = 0; i < t->n_dims; i++) {
        if (t->dims[i] < 1 || (uint64_t)t->dims[i] > CT_ONNX_FILE_MOST / n)
            return damaged(source, "a dimension out of range has initializer", t->name);
        n *= (uint64_t)t->dims[i];
    }
    if (!t->has_raw_data || t->raw_data.len != n * (ints ? 8 : 4))
        return damaged(source, "its bytes are not those of its shape: initializer", t->name);
    return CT_OK;
}

static ct_status check_node(const char *source, const Onnx__NodeProto *n)
{
    if (!n->name || !n->op_type) return damaged(source, "a node without a name or an operator", NULL);
    if (n->n_output != 1 || n->n_input < 1 || n->n_input > 8)
        return damaged(source, "a number of inputs or outputs that no operator here has: node", n->name);
    for (size_t i = 0; i < n->n_attribute; i++)
        if (!n->attribute[i]->name) return damaged(source, "an attribute without a name has node", n->name);
    return n->domain && *n->domain ? damaged(source, "of another operator set is node", n->name) : CT_OK;
}

static ct_status check_port(const char *source, const char *what, const Onnx__ValueInfoProto *v)
{
    if (!v->name || !v->type || !v->type->tensor_type || !v->type->tensor_type->shape)
        return damaged(source, "no shape has its", what);
    return CT_OK;
}

static ct_status check_ports(const char *source, const Onnx__GraphProto *g)
{
    if (g->n_input != 1 || g->n_output < 1 || g->n_output > CT_MODEL_OUTPUTS)
        return damaged(source, "not one input and one to eight outputs", NULL);
    CT_TRY(check_port(source, "input", g->input[0]));
    for (size_t i = 0; i < g->n_output; i++) CT_TRY(check_port(source, "output", g->output[i]));
    const Onnx__TypeProto__Tensor *t = g->input[0]->type->tensor_type;
    const size_t dims = t->shape->n_dim;
    if (t->elem_type != ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT || (dims != 4 && dims != 5))
        return damaged(source, "no float [N,C,H,W] or [N,F,C,H,W] is its input", g->input[0]->name);
    return CT_OK;
}

/* Keys of the metadata are distinct, as ONNX's IR.md asks: a reader that takes the first of two and one that takes the
 * last would see different models. */
static ct_status check_properties(const char *source, const Onnx__ModelProto *m)
{
    if (m->n_metadata_props > MOST_PROPERTIES) return damaged(source, "too many properties", NULL);
    for (size_t i = 0; i < m->n_metadata_props; i++) {
        const Onnx__StringStringEntryProto *p = m->metadata_props[i];
        if (!p->key || !p->value) return damaged(source, "a property without key or value", NULL);
        for (size_t k = 0; k < i; k++)
            if (strcmp(m->metadata_props[k]->key, p->key) == 0) return damaged(source, "twice has it property", p->key);
    }
    return CT_OK;
}

static ct_status check_model(const char *source, const Onnx__ModelProto *m)
{
    const Onnx__GraphProto *g = m->graph;
    if (!g) return damaged(source, "no graph", NULL);
    if (m->n_opset_import < 1 || !m->opset_import[0]->has_version) return damaged(source, "no operator set", NULL);
    if (m->opset_import[0]->version < CT_ONNX_OPSET_LEAST || m->opset_import[0]->version > CT_ONNX_OPSET_MOST)
        return damaged(source, "an operator set that is not 11 to 20", NULL);
    if (g->n_node > MOST_NODES || g->n_initializer > MOST_NODES) return damaged(source, "too many nodes", NULL);
    CT_TRY(check_ports(source, g));
    for (size_t i = 0; i < g->n_node; i++) CT_TRY(check_node(source, g->node[i]));
    for (size_t i = 0; i < g->n_initializer; i++) CT_TRY(check_tensor(source, g->initializer[i]));
    return check_properties(source, m);
}

ct_status ct_onnx_parse(const uint8_t *data, size_t size, const char *source, Onnx__ModelProto **out)
{
    budget b = { size < CT_ONNX_FILE_MOST ? 4 * size + ((size_t)1 << 20) : 0 };
    ProtobufCAllocator a = { take, give_back, &b };
    *out = onnx__model_proto__unpack(&a, size, data);
    if (!*out) return damaged(source, "its bytes cannot be taken apart", NULL);
    const ct_status st = check_model(source, *out);
    if (st == CT_OK) return CT_OK;
    ct_onnx_close(*out);
    *out = NULL;
    return st;
}

ct_status ct_onnx_open(const char *path, Onnx__ModelProto **out)
{
    uint8_t *data;
    size_t size;
    *out = NULL;
    CT_TRY(ct_file_read(path, CT_ONNX_FILE_MOST, &data, &size));
    const ct_status st = ct_onnx_parse(data, size, path, out);
    ct_free(data);
    return st;
}

void ct_onnx_close(Onnx__ModelProto *m)
{
    ProtobufCAllocator a = { take, give_back, NULL };
    if (m) onnx__model_proto__free_unpacked(m, &a);
}

const char *ct_onnx_meta(const Onnx__ModelProto *m, const char *key)
{
    for (size_t i = 0; i < m->n_metadata_props; i++)
        if (strcmp(m->metadata_props[i]->key, key) == 0) return m->metadata_props[i]->value;
    return NULL;
}
