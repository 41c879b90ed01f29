/* Model builders: each a short file that reads like the paper's table. Parameter and buffer names are those of the PyTorch models
 * (torchvision for resnets), so that states can be read and written by name. */
#ifndef CT_MODELS_MODELS_H
#define CT_MODELS_MODELS_H

#include "graph/graph.h"

typedef struct ct_model_spec {
    const char *name;      /* "textcnn", "textcnn-small", "resnet18", "resnet34", "resnet50" */
    int64_t height, width, channels; /* input, pixels */
    int64_t positions;     /* characters per label; 1 for plain classifiers */
    int64_t classes;       /* per position */
    double width_mult;     /* channel multiplier; a count c becomes max(8, round(c*width_mult/8)*8), c itself at 1 */
    int64_t hidden;        /* textcnn: width of fc1, textcnn-small: channels of the last convolution; 0 = the model's default */
    double dropout;        /* textcnn: p before the last layer; < 0 = the model's default */
    ct_dtype dtype;        /* CT_F32 or CT_F64: type of parameters and of everything before the precision pass */
    uint64_t seed;         /* run seed (dropout) */
} ct_model_spec;

typedef struct ct_model_info {
    const char *name, *doc;
    int64_t height, width, channels, positions, classes, hidden; /* defaults */
    double dropout;
    ct_status (*build)(ct_graph *g, const ct_model_spec *spec, ct_val x, bool training, ct_val *logits);
} ct_model_info;

const ct_model_info *ct_model_table(size_t *count);
const ct_model_info *ct_model_find(const char *name);        /* NULL if unknown; ct_fail() names the nearest */
/* Replaces zero or negative fields of spec by the model's defaults and checks the result. */
ct_status ct_model_resolve(ct_model_spec *spec);
/* Adds the model to g: x [N,H,W,C] -> logits [N, positions*classes]. Marks checkpoints between blocks. */
ct_status ct_model_build(ct_graph *g, const ct_model_spec *spec, ct_val x, bool training, ct_val *logits);

/* ---- layers the builders share (layers.c): names like torch modules; NULL bias name etc. are derived as "<name>.weight" ---- */
/* Initialisation as torch's defaults: kaiming_uniform(a=sqrt 5) = U(-1/sqrt(fan_in), ...) for conv and linear with their biases;
 * fan_out_normal: kaiming_normal(fan_out, relu) for resnets. */
ct_status ct_layer_conv2d(ct_graph *g, const char *name, ct_val x, int64_t out_ch, int64_t ker_h, int64_t ker_w, int64_t stride,
                          int64_t pad_h, int64_t pad_w,
                          bool bias, bool fan_out_normal, ct_val *y);
ct_status ct_layer_batchnorm(ct_graph *g, const char *name, ct_val x, bool training, ct_val *y);
ct_status ct_layer_activation(ct_graph *g, const char *name, ct_val x, ct_act_kind kind, ct_val *y);
ct_status ct_layer_maxpool(ct_graph *g, const char *name, ct_val x, int64_t ker, int64_t stride, int64_t pad, ct_val *y);
ct_status ct_layer_global_avgpool(ct_graph *g, const char *name, ct_val x, ct_val *y);
ct_status ct_layer_flatten(ct_graph *g, const char *name, ct_val x, ct_val *y); /* [N,H,W,C] -> [N,H*W*C], HWC order */
/* flatten_hwc: the [H,W,C] a flatten in front had (for the PyTorch name map), or NULL. */
ct_status ct_layer_linear(ct_graph *g, const char *name, ct_val x, int64_t out, const int64_t *flatten_hwc, ct_val *y);
ct_status ct_layer_dropout(ct_graph *g, const char *name, ct_val x, double p, uint64_t seed, int64_t stream, ct_val *y);

#endif
