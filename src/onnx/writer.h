/* Between the files that write a graph: what each knows of it, and what all do. */
#ifndef CT_ONNX_WRITER_H
#define CT_ONNX_WRITER_H

#include "onnx/write.h"

/* How a value of ours stands in the file. */
typedef enum ct_onnx_kind {
    CT_ONNX_NOT,       /* not there */
    CT_ONNX_MAP,       /* ours [N,H,W,C], there [N,C,H,W] */
    CT_ONNX_SAME,      /* the same shape */
    CT_ONNX_ROWS,      /* ours [N*H,T,C], there still [N,C,H,T] */
    CT_ONNX_TURNED,    /* ours [T,N*H,C], there still [N,C,H,T] */
    CT_ONNX_GATES,     /* of a linear before an LSTM: not there, the operator has it inside */
    CT_ONNX_LINES,     /* ours [N*H,1,W,C], there still [N,C,H,W] */
    CT_ONNX_MEANS,     /* ours [N*H,C], there [N,C,H,1]: of all pixels H is 1, of lines their number */
    CT_ONNX_CLIP,      /* ours [N*F,H,W,C], there [N,C,F,H,W] */
    CT_ONNX_TIMES,     /* ours [N,F,H*W,C], there still [N,C,F,H,W] */
    CT_ONNX_CLIP_MEANS /* ours [N*F,C], there [N,C,F,1,1] */
} ct_onnx_kind;

typedef struct ct_onnx_place {
    ct_onnx_kind form;
    const char *name;
} ct_onnx_place;

typedef struct ct_onnx_writer {
    ct_onnx_maker *k;
    ct_model_use *use;
    const ct_onnx_form *form;
    ct_graph *g;
    int64_t samples;      /* N of the graph it is written from */
    ct_onnx_place *at;    /* [values] */
    const ct_node *in;    /* the node being written */
    const ct_node *first; /* the convolution that the normalisation went into; NULL: none */
    double scale[CT_ONNX_CHANNELS], shift[CT_ONNX_CHANNELS]; /* from what is given to what the model takes */
    bool *done;           /* [nodes] folded into one before */
} ct_onnx_writer;

/* ---- writer.c ---- */

/* CT_EUNSUPPORTED naming the node's operator. why "": there is no more to say. */
ct_status ct_onnx_beyond(const ct_onnx_writer *w, const char *why);
const ct_desc *ct_onnx_desc(const ct_onnx_writer *w, ct_val v);
ct_onnx_place ct_onnx_at(const ct_onnx_writer *w, int input); /* of the node being written */
/* Elements of a weight, or of one whose rows are made 1 long, as double, from the pool; NULL on failure, which the
 * maker keeps. */
double *ct_onnx_weight(ct_onnx_writer *w, ct_val v);
const char *ct_onnx_weight_name(const ct_onnx_writer *w, ct_val v);
/* The only node that reads v; -1: none or several, or v is an output. */
int ct_onnx_only_reader(const ct_onnx_writer *w, ct_val v);
void ct_onnx_give(ct_onnx_writer *w, ct_val v, ct_onnx_kind f, const char *name);
/* A node over up to three inputs, NULL behind the last; its output is v's, CT_NOVAL: nobody's. */
Onnx__NodeProto *ct_onnx_emit(ct_onnx_writer *w, const char *op, const char *name, const char *a, const char *b,
                              const char *c, ct_val v, ct_onnx_kind f);
char *ct_onnx_part(ct_onnx_writer *w, const char *tail); /* "<node>.<tail>" */
/* Emits node "<node>.<tail>" that turns `from`, of 3 to 5 dimensions. */
Onnx__NodeProto *ct_onnx_turn(ct_onnx_writer *w, const char *tail, const char *from, int dims, const int64_t *perm);
/* The shape that node "<node>" reshapes to, as initializer "<node>.shape" of n numbers. */
const char *ct_onnx_shape(ct_onnx_writer *w, int n, const int64_t *dim);
/* Attributes of windows over the dimensions of pixels: those of a clip have one more in front, its frames. */
void ct_onnx_windows(ct_onnx_writer *w, Onnx__NodeProto *n, ct_onnx_kind form, const int64_t ker[2],
                     const int64_t stride[2], const int64_t pad[2]);

/* ---- write_layers.c: weights in front of everything else ---- */
ct_status ct_onnx_write_norm(ct_onnx_writer *w);
ct_status ct_onnx_write_conv(ct_onnx_writer *w);
ct_status ct_onnx_write_linear(ct_onnx_writer *w);
ct_status ct_onnx_write_lstm(ct_onnx_writer *w);

/* ---- write_shapes.c: what only moves numbers, or takes some of them ---- */
ct_status ct_onnx_write_reshape(ct_onnx_writer *w);
ct_status ct_onnx_write_swap(ct_onnx_writer *w);
ct_status ct_onnx_write_pool(ct_onnx_writer *w);
ct_status ct_onnx_write_mean(ct_onnx_writer *w);
ct_status ct_onnx_write_upsample(ct_onnx_writer *w);
ct_status ct_onnx_write_concat(ct_onnx_writer *w);
ct_status ct_onnx_write_slice(ct_onnx_writer *w);

/* ---- write_numbers.c: number by number ---- */
ct_status ct_onnx_write_activation(ct_onnx_writer *w);
ct_status ct_onnx_write_add(ct_onnx_writer *w);
ct_status ct_onnx_write_mul(ct_onnx_writer *w);
ct_status ct_onnx_write_scale(ct_onnx_writer *w);
ct_status ct_onnx_write_scale_channels(ct_onnx_writer *w);
ct_status ct_onnx_write_fuse(ct_onnx_writer *w);
ct_status ct_onnx_write_unit(ct_onnx_writer *w);
ct_status ct_onnx_write_standardize(ct_onnx_writer *w); /* with all of a picture */
ct_status ct_onnx_write_spectrum(ct_onnx_writer *w);

/* ---- write_ends.c ---- */
ct_status ct_onnx_write_input(ct_onnx_writer *w, ct_val x);
/* Value v of the model as the file gives it. */
ct_status ct_onnx_write_output(ct_onnx_writer *w, const ct_leaving_output *o, ct_val v);

#endif
