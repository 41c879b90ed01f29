/* Nodes of ONNX as operators of ours: those that export writes, with the attributes it writes. */
#include "config.h"

#include <string.h>

#include "onnx/read.h"

ct_status ct_onnx_read_node(ct_onnx_graph *x, const Onnx__NodeProto *n)
{
    static const struct {
        const char *op;
        ct_status (*read)(ct_onnx_graph *x, const Onnx__NodeProto *n);
    } reader[] = { { "Add", ct_onnx_read_add },
                   { "ArgMax", ct_onnx_read_best },
                   { "AveragePool", ct_onnx_read_average },
                   { "BatchNormalization", ct_onnx_read_norm },
                   { "Concat", ct_onnx_read_concat },
                   { "Conv", ct_onnx_read_conv },
                   { "Div", ct_onnx_read_even },
                   { "Flatten", ct_onnx_read_flatten },
                   { "Gemm", ct_onnx_read_gemm },
                   { "GlobalAveragePool", ct_onnx_read_mean },
                   { "Identity", ct_onnx_read_identity },
                   { "LSTM", ct_onnx_read_lstm },
                   { "LpNormalization", ct_onnx_read_unit },
                   { "MatMul", ct_onnx_read_matmul },
                   { "MaxPool", ct_onnx_read_max },
                   { "Mul", ct_onnx_read_mul },
                   { "ReduceMean", ct_onnx_read_even },
                   { "Reshape", ct_onnx_read_reshape },
                   { "Resize", ct_onnx_read_resize },
                   { "Slice", ct_onnx_read_slice },
                   { "Sqrt", ct_onnx_read_root },
                   { "Sub", ct_onnx_read_even },
                   { "Transpose", ct_onnx_read_transpose } };
    static const struct {
        const char *op;
        ct_act_kind kind;
    } activation[] = { { "Relu", CT_ACT_RELU },
                       { "LeakyRelu", CT_ACT_LEAKY_RELU },
                       { "Sigmoid", CT_ACT_SIGMOID },
                       { "Tanh", CT_ACT_TANH },
                       { "Softplus", CT_ACT_SOFTPLUS } };
    if (ct_onnx_even_part(ct_onnx_tensor_of(x, n->input[0]))) return ct_onnx_read_even(x, n);
    for (size_t i = 0; i < sizeof reader / sizeof *reader; i++)
        if (strcmp(n->op_type, reader[i].op) == 0) return reader[i].read(x, n);
    for (size_t i = 0; i < sizeof activation / sizeof *activation; i++)
        if (strcmp(n->op_type, activation[i].op) == 0) return ct_onnx_read_activation(x, n, activation[i].kind);
    return ct_onnx_refuse(x, n, "export writes no such operator");
}
