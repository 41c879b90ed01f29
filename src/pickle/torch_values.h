/* Inside src/pickle only: what the names in torch's pickles mean. Storages and tensors become rows of two tables. */
#ifndef CT_PICKLE_TORCH_VALUES_H
#define CT_PICKLE_TORCH_VALUES_H

#include "base/dtype.h"
#include "pickle/pickle.h"

typedef struct ct_torch_type {
    const char *storage;    /* "FloatStorage" */
    const char *name;       /* "float32" */
    size_t bytes;           /* of an element */
    bool readable;
    ct_dtype dtype;         /* if it is readable */
} ct_torch_type;

typedef struct ct_torch_storage {
    const char *key;        /* in the pickle: no NUL behind its `key_len` bytes */
    uint32_t key_len;
    const ct_torch_type *type;
    int64_t numel;
} ct_torch_storage;

/* A tensor as the pickle has it: checked against its storage's size. */
typedef struct ct_torch_view {
    uint32_t storage;
    int ndim;                            /* those above CT_MAX_DIMS have no dim and stride */
    int64_t offset, dim[CT_MAX_DIMS], stride[CT_MAX_DIMS];
} ct_torch_view;

typedef struct ct_torch_values {
    ct_torch_storage *storage;
    ct_torch_view *view;
    size_t storages, cap_storages, views, cap_views;
    const char *source;     /* the file */
    const char *quoted;     /* for a line of Python in a shell; "FILE" if the name has signs that mean more there */
} ct_torch_values;

ct_pickle_rules ct_torch_rules(ct_torch_values *t); /* t must stay valid */
void ct_torch_values_free(ct_torch_values *t);

/* The tensor that a value of the pickle is; NULL: none. */
const ct_torch_view *ct_torch_view_of(const ct_torch_values *t, const ct_pickle *p, ct_ref r);

#endif
