/* Inside src/onnx: messages of ONNX as a graph of our operators. */
#ifndef CT_ONNX_READ_H
#define CT_ONNX_READ_H

#include "graph/graph.h"
#include "onnx/onnx.h"

/* How a tensor of the file stands in our graph. */
typedef enum ct_onnx_form_of {
    CT_ONNX_ALIKE,   /* the same shape */
    CT_ONNX_IMAGE,   /* there [N,C,H,W], ours [N,H,W,C] */
    CT_ONNX_PIXELS,  /* there [N,H,W,C], as ours */
    CT_ONNX_COLUMNS, /* there [W,N,H,C], ours [N,H,W,C] */
    CT_ONNX_POOLED,  /* there [N,C,1,1], ours [N,C] */
    CT_ONNX_SWAPPED, /* there [T,C,N], ours [T,N,C] */
    CT_ONNX_STACKED, /* there [T,D,N,H], ours [T,N,D*H] */
    CT_ONNX_BESIDE   /* there [T,N,D,H], ours [T,N,D*H] */
} ct_onnx_form_of;

typedef struct ct_onnx_tensor {
    const char *name; /* the file's */
    ct_val val;
    ct_onnx_form_of form;
} ct_onnx_tensor;

/* A weight of our graph, in our order. */
typedef struct ct_onnx_weight {
    ct_val val;
    float *data;
} ct_onnx_weight;

typedef struct ct_onnx_graph {
    const char *source;
    const Onnx__ModelProto *model;
    ct_graph *g;
    ct_onnx_tensor *tensor;
    size_t tensors, cap_tensors;
    ct_onnx_weight *weight;
    size_t weights, cap_weights;
    ct_val x;      /* [N,H,W,C] */
    ct_val scores; /* as the file's output; of ids: what they are the best of */
    bool ids;
} ct_onnx_graph;

/* Builds the graph for a batch of pictures of this size. CT_EFORMAT naming the node or initializer that is none of
 * those that export writes, or does not fit; CT_ENOMEM. */
ct_status ct_onnx_graph_make(const char *source, const Onnx__ModelProto *m, int64_t batch, int64_t height,
                             int64_t width, ct_onnx_graph *out);
void ct_onnx_graph_free(ct_onnx_graph *x); /* empties; a zeroed one is fine */

/* read_nodes.c: adds a node. */
ct_status ct_onnx_read_node(ct_onnx_graph *x, const Onnx__NodeProto *n);

/* read_tensors.c: adds a tensor; what a node gives, whose name must be new. */
ct_status ct_onnx_name(ct_onnx_graph *x, const char *name, ct_val v, ct_onnx_form_of form);
ct_status ct_onnx_define(ct_onnx_graph *x, const Onnx__NodeProto *n, ct_val v, ct_onnx_form_of form);
const ct_onnx_tensor *ct_onnx_tensor_of(const ct_onnx_graph *x, const char *name); /* NULL: there is none */
const Onnx__TensorProto *ct_onnx_constant(const ct_onnx_graph *x, const Onnx__NodeProto *n, size_t i); /* input i */
/* A parameter of the graph with room for its numbers. */
ct_status ct_onnx_weight_add(ct_onnx_graph *x, const char *name, const char *tail, ct_desc desc, ct_val *v,
                             float **data);
ct_status ct_onnx_refuse(const ct_onnx_graph *x, const Onnx__NodeProto *n, const char *why);

#endif
