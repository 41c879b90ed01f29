/* Inside src/onnx: messages of ONNX being made. Everything is owned by one pool, which is given back as a whole. */
#ifndef CT_ONNX_MAKE_H
#define CT_ONNX_MAKE_H

#include "onnx/onnx.pb-c.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct ct_onnx_maker {
    Onnx__ModelProto *model;
    void **block;
    size_t blocks, cap;
    ct_status status; /* of the first call that failed: later ones do nothing, their results are NULL */
} ct_onnx_maker;

/* CT_ENOMEM. */
ct_status ct_onnx_maker_begin(ct_onnx_maker *k);
void ct_onnx_maker_end(ct_onnx_maker *k);

void *ct_onnx_take(ct_onnx_maker *k, size_t bytes); /* cleared */
char *ct_onnx_text(ct_onnx_maker *k, const char *fmt, ...) CT_PRINTF(2, 3);

/* An initializer with room for its values, which the caller fills in: float or int64_t [product of dims]. */
float *ct_onnx_floats(ct_onnx_maker *k, const char *name, int ndim, const int64_t *dim);
int64_t *ct_onnx_ints(ct_onnx_maker *k, const char *name, int64_t n);

/* A node; inputs end with NULL. It has one output, named like the node. */
Onnx__NodeProto *ct_onnx_node(ct_onnx_maker *k, const char *op, const char *name, const char *const *input);
void ct_onnx_attr_int(ct_onnx_maker *k, Onnx__NodeProto *n, const char *name, int64_t v);
void ct_onnx_attr_float(ct_onnx_maker *k, Onnx__NodeProto *n, const char *name, double v);
void ct_onnx_attr_text(ct_onnx_maker *k, Onnx__NodeProto *n, const char *name, const char *v);
void ct_onnx_attr_ints(ct_onnx_maker *k, Onnx__NodeProto *n, const char *name, int count, const int64_t *v);

/* An input or output: a dimension of param[i] NULL is value[i], others are free and called so. */
void ct_onnx_port(ct_onnx_maker *k, bool output, const char *name, int type, int ndim, const int64_t *value,
                  const char *const *param);
void ct_onnx_property(ct_onnx_maker *k, const char *key, const char *value);

#endif
