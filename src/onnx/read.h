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
    CT_ONNX_FRAMES,  /* there [N,F,C,H,W], ours [N*F,H,W,C] */
    CT_ONNX_CLIP,    /* there [N,C,F,H,W], ours [N*F,H,W,C] */
    CT_ONNX_SWAPPED, /* there [T,C,N], ours [T,N,C] */
    CT_ONNX_STACKED, /* there [T,D,N,H], ours [T,N,D*H] */
    CT_ONNX_BESIDE,  /* there [T,N,D,H], ours [T,N,D*H] */
    /* steps of standardize, there beside a picture of ours [N,H,W,C] (read_even.c): */
    CT_ONNX_MEAN,     /* its mean over the last `axes` dimensions, which are 1 there */
    CT_ONNX_LESS,     /* [N,C,H,W] less its mean over all three */
    CT_ONNX_SQUARES,  /* squares of that, */
    CT_ONNX_VARIANCE, /* their mean over the last `axes` dimensions, */
    CT_ONNX_ABOVE,    /* over all three and `eps` added, [N,1,1,1], */
    CT_ONNX_DEVIATION /* and the root of that */
} ct_onnx_form_of;

typedef struct ct_onnx_tensor {
    const char *name; /* the file's */
    ct_val val;
    ct_onnx_form_of form;
    int axes;   /* MEAN, VARIANCE */
    double eps; /* ABOVE, DEVIATION */
} ct_onnx_tensor;

/* A weight of our graph, in our order. */
typedef struct ct_onnx_weight {
    ct_val val;
    float *data;
} ct_onnx_weight;

/* Samples, pictures of each, 0 of models that read single ones, and their pixels. */
typedef struct ct_onnx_size {
    int64_t batch, frames, height, width;
} ct_onnx_size;

typedef struct ct_onnx_graph {
    const char *source;
    const Onnx__ModelProto *model;
    ct_graph *g;
    ct_onnx_tensor *tensor;
    size_t tensors, cap_tensors;
    ct_onnx_weight *weight;
    size_t weights, cap_weights;
    ct_onnx_size size;
    ct_val x; /* [N,H,W,C]; of clips [N*F,H,W,C] */
    ct_val out[CT_MODEL_OUTPUTS]; /* as the file's outputs, but maps are [N,H,W,C]; of ids: what they are the best of */
    int outs;
    bool ids;
} ct_onnx_graph;

/* Builds the graph for a batch of this size. CT_EFORMAT naming the node or initializer that is none of those that
 * export writes, or does not fit; CT_ENOMEM. */
ct_status ct_onnx_graph_make(const char *source, const Onnx__ModelProto *m, const ct_onnx_size *size,
                             ct_onnx_graph *out);
void ct_onnx_graph_free(ct_onnx_graph *x); /* empties; a zeroed one is fine */

/* read_nodes.c: adds a node. */
ct_status ct_onnx_read_node(ct_onnx_graph *x, const Onnx__NodeProto *n);

/* The readers of its operators: read_layers.c, */
ct_status ct_onnx_read_conv(ct_onnx_graph *x, const Onnx__NodeProto *n);
ct_status ct_onnx_read_norm(ct_onnx_graph *x, const Onnx__NodeProto *n);
ct_status ct_onnx_read_gemm(ct_onnx_graph *x, const Onnx__NodeProto *n);
ct_status ct_onnx_read_matmul(ct_onnx_graph *x, const Onnx__NodeProto *n);
ct_status ct_onnx_read_lstm(ct_onnx_graph *x, const Onnx__NodeProto *n);
/* read_shapes.c, */
ct_status ct_onnx_read_max(ct_onnx_graph *x, const Onnx__NodeProto *n);
ct_status ct_onnx_read_average(ct_onnx_graph *x, const Onnx__NodeProto *n);
ct_status ct_onnx_read_mean(ct_onnx_graph *x, const Onnx__NodeProto *n);
ct_status ct_onnx_read_flatten(ct_onnx_graph *x, const Onnx__NodeProto *n);
ct_status ct_onnx_read_transpose(ct_onnx_graph *x, const Onnx__NodeProto *n);
ct_status ct_onnx_read_reshape(ct_onnx_graph *x, const Onnx__NodeProto *n);
ct_status ct_onnx_read_resize(ct_onnx_graph *x, const Onnx__NodeProto *n);
ct_status ct_onnx_read_concat(ct_onnx_graph *x, const Onnx__NodeProto *n);
ct_status ct_onnx_read_slice(ct_onnx_graph *x, const Onnx__NodeProto *n);
/* read_numbers.c */
ct_status ct_onnx_read_activation(ct_onnx_graph *x, const Onnx__NodeProto *n, ct_act_kind kind);
ct_status ct_onnx_read_add(ct_onnx_graph *x, const Onnx__NodeProto *n);
ct_status ct_onnx_read_mul(ct_onnx_graph *x, const Onnx__NodeProto *n);
ct_status ct_onnx_read_unit(ct_onnx_graph *x, const Onnx__NodeProto *n);
ct_status ct_onnx_read_root(ct_onnx_graph *x, const Onnx__NodeProto *n);
ct_status ct_onnx_read_identity(ct_onnx_graph *x, const Onnx__NodeProto *n);
ct_status ct_onnx_read_best(ct_onnx_graph *x, const Onnx__NodeProto *n);

/* read_even.c: ReduceMean, Sub and Div, and whatever reads a step of standardize first */
bool ct_onnx_even_part(const ct_onnx_tensor *t); /* such a step; NULL is none */
ct_status ct_onnx_read_even(ct_onnx_graph *x, const Onnx__NodeProto *n);

/* read_tensors.c: what a node says. */
const Onnx__AttributeProto *ct_onnx_attribute(const Onnx__NodeProto *n, const char *name);
int64_t ct_onnx_whole(const Onnx__NodeProto *n, const char *name, int64_t without);
double ct_onnx_number(const Onnx__NodeProto *n, const char *name, double without);
bool ct_onnx_says(const Onnx__NodeProto *n, const char *name, const char *text);
/* `count` numbers of 0..4095 into v; false where there are not so many. */
bool ct_onnx_list(const Onnx__NodeProto *n, const char *name, size_t count, int64_t *v);
/* kernel_shape, strides and pads over pixels, of clips (CT_ONNX_CLIP) over those of every frame, or with `times` over
 * frames in a row (ker[0], of each pixel). false: something else. */
typedef struct ct_onnx_window {
    int64_t ker[2], stride[2], pad[2];
    bool times;
} ct_onnx_window;
bool ct_onnx_window_of(const Onnx__NodeProto *n, ct_onnx_form_of form, ct_onnx_window *out);
/* Input i as a tensor of this form; input 0 as one of any. */
ct_status ct_onnx_input(ct_onnx_graph *x, const Onnx__NodeProto *n, size_t i, ct_onnx_form_of form, ct_val *v);
ct_status ct_onnx_first(ct_onnx_graph *x, const Onnx__NodeProto *n, ct_onnx_tensor *t);
/* Input i as a constant of so many dimensions; NULL: it is none. */
const Onnx__TensorProto *ct_onnx_constant_of(const ct_onnx_graph *x, const Onnx__NodeProto *n, size_t i, int type,
                                             size_t dims);
const Onnx__TensorProto *ct_onnx_floats_of(const ct_onnx_graph *x, const Onnx__NodeProto *n, size_t i, size_t dims);
const Onnx__TensorProto *ct_onnx_ints_of(const ct_onnx_graph *x, const Onnx__NodeProto *n, size_t i, int64_t count);
float ct_onnx_number_at(const Onnx__TensorProto *t, int64_t e);
int64_t ct_onnx_int_at(const Onnx__TensorProto *t, int64_t e);

/* read_tensors.c: adds an operator, "<node><tail>"; a failure of its shape rule is the file's. */
ct_status ct_onnx_op(ct_onnx_graph *x, const Onnx__NodeProto *n, ct_op op, const ct_attrs *a, const char *tail, int nin,
                     const ct_val *in, int nout, ct_val *out);
ct_status ct_onnx_view(ct_onnx_graph *x, const Onnx__NodeProto *n, const char *tail, ct_val v, int ndim,
                       const int64_t *dim, ct_val *y);
/* A vector as a weight. */
ct_status ct_onnx_vector(ct_onnx_graph *x, const Onnx__NodeProto *n, size_t i, ct_val *v);

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
