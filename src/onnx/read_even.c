/* Pictures standardized, which the file does step by step, there being no operator for all of it: the steps become one
 * of ours when the last is read, and nothing else may read what stands between. */
#include "config.h"

#include <string.h>

#include "onnx/read.h"

static bool is(const Onnx__NodeProto *n, const char *op)
{
    return strcmp(n->op_type, op) == 0;
}

bool ct_onnx_even_part(const ct_onnx_tensor *t)
{
    return t && t->form >= CT_ONNX_MEAN;
}

/* The axis that a mean is over, as an attribute or, from operator set 18 on, an input; -1: not one that stays as a side
 * of 1. */
static int64_t axis_of(const ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    const Onnx__TensorProto *axes = ct_onnx_ints_of(x, n, 1, 1);
    int64_t axis;
    if (ct_onnx_whole(n, "keepdims", 1) != 1 || n->n_input > 2) return -1;
    if (n->n_input == 2) return axes ? ct_onnx_int_at(axes, 0) : -1;
    return ct_onnx_list(n, "axes", 1, &axis) ? axis : -1;
}

/* Gives a tensor of this form, about picture v. */
static ct_status step(ct_onnx_graph *x, const Onnx__NodeProto *n, const ct_onnx_tensor *of, ct_onnx_form_of form,
                      int axes, double eps)
{
    CT_TRY(ct_onnx_define(x, n, of->val, form));
    x->tensor[x->tensors - 1].axes = axes;
    x->tensor[x->tensors - 1].eps = eps;
    return CT_OK;
}

/* The mean of all numbers of a picture, or of their squares: over its lines, their means, and those of the channels. */
static ct_status read_mean(ct_onnx_graph *x, const Onnx__NodeProto *n, const ct_onnx_tensor *t)
{
    const bool squares = t->form == CT_ONNX_SQUARES || t->form == CT_ONNX_VARIANCE;
    if (!squares && t->form != CT_ONNX_IMAGE && t->form != CT_ONNX_MEAN)
        return ct_onnx_refuse(x, n, "is a mean of something else than pictures");
    if (axis_of(x, n) != 3 - t->axes || t->axes > 2)
        return ct_onnx_refuse(x, n, "is no mean of lines, then columns, then channels");
    return step(x, n, t, squares ? CT_ONNX_VARIANCE : CT_ONNX_MEAN, t->axes + 1, 0);
}

/* (x - mean) / sqrt(variance + eps) of one picture. */
static ct_status read_quotient(ct_onnx_graph *x, const Onnx__NodeProto *n, const ct_onnx_tensor *t,
                               const ct_onnx_tensor *by)
{
    const ct_attrs a = { .norm = { .eps = by->eps } };
    ct_val y[2];
    CT_TRY(ct_onnx_op(x, n, CT_OP_STANDARDIZE, &a, "", 1, &t->val, 2, y));
    return ct_onnx_define(x, n, y[0], CT_ONNX_IMAGE);
}

ct_status ct_onnx_read_even(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    ct_onnx_tensor t, other = { 0 };
    CT_TRY(ct_onnx_first(x, n, &t));
    const ct_onnx_tensor *second = n->n_input == 2 ? ct_onnx_tensor_of(x, n->input[1]) : NULL;
    const Onnx__TensorProto *number = n->n_input == 2 ? ct_onnx_floats_of(x, n, 1, 1) : NULL;
    if (second) other = *second;
    const bool same = second && other.val == t.val;
    if (is(n, "ReduceMean")) return read_mean(x, n, &t);
    if (is(n, "Sub") && t.form == CT_ONNX_IMAGE && same && other.form == CT_ONNX_MEAN && other.axes == 3)
        return step(x, n, &t, CT_ONNX_LESS, 0, 0);
    if (is(n, "Mul") && t.form == CT_ONNX_LESS && same && other.form == CT_ONNX_LESS)
        return step(x, n, &t, CT_ONNX_SQUARES, 0, 0);
    if (is(n, "Add") && t.form == CT_ONNX_VARIANCE && t.axes == 3 && number && number->dims[0] == 1)
        return step(x, n, &t, CT_ONNX_ABOVE, 0, (double)ct_onnx_number_at(number, 0));
    if (is(n, "Sqrt") && t.form == CT_ONNX_ABOVE) return step(x, n, &t, CT_ONNX_DEVIATION, 0, t.eps);
    if (is(n, "Div") && t.form == CT_ONNX_LESS && same && other.form == CT_ONNX_DEVIATION)
        return read_quotient(x, n, &t, &other);
    return ct_onnx_refuse(x, n, "is no step of a picture's way to mean 0 and variance 1");
}
