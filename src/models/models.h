/* Model builders: each a short file that reads like the paper's table. Parameter and buffer names are those of the PyTorch models
 * (torchvision for resnets), so that states can be read and written by name. */
#ifndef CT_MODELS_MODELS_H
#define CT_MODELS_MODELS_H

#include "base/clip.h"
#include "graph/graph.h"

/* How a model's scores become text. */
typedef enum ct_head {
    CT_HEAD_POSITIONS, /* logits [N, positions*classes]: one class for each position of a text of fixed length */
    CT_HEAD_CTC        /* logits [T,N,classes]: one class for each time step, class 0 = blank; texts of any length (doc/operators/ctc.md) */
} ct_head;

/* How the neck of a model joins two maps of one size (neck.c). */
typedef enum ct_fuse {
    CT_FUSE_MODEL,     /* as the model's row says; of a row: the model has no neck */
    CT_FUSE_WEIGHTED,  /* two learned weights, which sum to one */
    CT_FUSE_ADD,
    CT_FUSE_ATTENTION  /* a gate for each channel of each map, from what all pixels of both say */
} ct_fuse;
const char *ct_fuse_name(ct_fuse f); /* "weighted", "add", "attention"; "" for CT_FUSE_MODEL */

typedef struct ct_model_spec {
    const char *name;      /* of a row of ct_model_at() */
    int64_t height, width; /* input, pixels; a CTC model takes any width */
    int64_t frames;        /* pictures of a sample; a model of clips takes any number, copies at both ends included; 1 for all others */
    int64_t channels;      /* input; counts the mask of models that have one (ct_model_info.mask) */
    int64_t positions;     /* characters per label; 1 for plain classifiers; CTC: the most characters a label may have */
    int64_t classes;       /* per position or time step; CTC: the blank and one for each character */
    double width_mult;     /* channel multiplier; a count c becomes max(8, round(c*width_mult/8)*8), c itself at 1 */
    int64_t hidden;        /* textcnn: width of fc1, textcnn-small: channels of the last convolution, crnn*: units of an LSTM and
                            * direction; 0 = the model's default */
    double dropout;        /* p before the last layer; < 0 = the model's default */
    ct_fuse fuse;          /* CT_FUSE_MODEL = the model's own */
    ct_dtype dtype;        /* CT_F32 or CT_F64: type of parameters and of everything before the precision pass */
    uint64_t seed;         /* run seed (dropout) */
    int64_t row, of;       /* samples [row, row + N) of a batch of `of` are computed (dropout draws for those); of 0: all */
} ct_model_spec;

#define CT_MODEL_OUTPUTS 8

typedef struct ct_model_info {
    const char *name, *doc;
    const char *task;                   /* the task it serves: "text" */
    const char *output[CT_MODEL_OUTPUTS]; /* names of what build() gives, NULL behind the last: "logits" */
    int64_t height, width, channels, positions, classes, hidden; /* defaults */
    int64_t frames;                     /* default; 0: a sample is one picture */
    ct_clip_rule clip;                  /* how a clip becomes pictures; zeroed: a sample is one picture */
    double dropout;
    ct_head head;
    bool mask;                          /* the last input channel is 1 in the picture, 0 in the padding */
    ct_fuse fuse;                       /* default; CT_FUSE_MODEL: there is no neck to choose one for */
    /* Weights of a network that was trained for something else (captrain import-torch), words with spaces between;
     * NULL: there is none. A file may hold the layers of `trunk` alone: the model's others are drawn then. `others`
     * are what such files have beside them. */
    const char *trunk, *others;
    const char *stem;                   /* parameter that such files may have without the mask's channel; NULL: none */
    ct_status (*build)(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val out[]);
    /* Time steps T that an image so many pixels wide gives, or a clip of so many pictures. Non-decreasing; < 1: too short. NULL: the model
     * has none. */
    int64_t (*steps)(const ct_model_spec *spec, int64_t length);
} ct_model_info;

/* Row i of all models, NULL behind the last. */
const ct_model_info *ct_model_at(size_t i);
const ct_model_info *ct_model_find(const char *name);        /* NULL if unknown; ct_fail() names the nearest */
/* Replaces zero or negative fields of spec by the model's defaults and checks the result. */
ct_status ct_model_resolve(ct_model_spec *spec);
/* CT_HEAD_POSITIONS for an unknown name. */
ct_head ct_model_head(const ct_model_spec *spec);
/* Does the model take samples of any length: images of any width, or clips of any number of pictures? It has time steps then, and a
 * program for each length. */
bool ct_model_elastic(const ct_model_spec *spec);
/* How clips become pictures; NULL: samples are single pictures (or the name is unknown). */
const ct_clip_rule *ct_model_clip(const ct_model_spec *spec);
/* What the lengths of an elastic model are: spec->frames of a model of clips, spec->width of others. */
int64_t ct_model_length(const ct_model_spec *spec);
void ct_model_set_length(ct_model_spec *spec, int64_t length);
/* Time steps of a sample of so many pixels of width or pictures: see ct_model_info.steps. 0 for models without time steps. */
int64_t ct_model_steps(const ct_model_spec *spec, int64_t length);
/* Number of outputs a model gives; 0 for an unknown name. */
int ct_model_outputs(const ct_model_spec *spec);
/* Adds the model to g: x [N,H,W,C], of clips [N*frames,H,W,C] with the pictures of a clip in a row -> out[0..ct_model_outputs()), for text models logits [N, positions*classes], or [T,N,classes] (before
 * log_softmax) with T = ct_model_steps(length). len i32 [N]: valid time steps of each sample, 1 <= len <= T, for CTC models; CT_NOVAL: all T, and
 * for the others. Marks checkpoints between blocks. */
ct_status ct_model_build(ct_graph *g, const ct_model_spec *spec, ct_val x, ct_val len, bool training, ct_val out[]);
/* Tests: a row beside the table, which must stay valid. CT_EINVAL where the name is taken. */
ct_status ct_model_add(const ct_model_info *row);

/* ---- layers the builders share (layers.c): names like torch modules; NULL bias name etc. are derived as "<name>.weight" ---- */
/* Initialisation as torch's defaults: kaiming_uniform(a=sqrt 5) = U(-1/sqrt(fan_in), ...) for conv and linear with their biases;
 * fan_out_normal: kaiming_normal(fan_out, relu) for resnets. */
ct_status ct_layer_conv2d(ct_graph *g, const char *name, ct_val x, int64_t out_ch, int64_t ker_h, int64_t ker_w, int64_t stride,
                          int64_t pad_h, int64_t pad_w,
                          bool bias, bool fan_out_normal, ct_val *y);
/* A convolution with all there is to say about it. */
typedef struct ct_conv_layer {
    int64_t channels;                             /* of y */
    int64_t ker_h, ker_w, stride, pad_h, pad_w;
    int64_t groups;
    bool bias;
    ct_init filter_init, bias_init;
} ct_conv_layer;
ct_status ct_layer_conv(ct_graph *g, const char *name, ct_val x, const ct_conv_layer *c, ct_val *y);
/* torch's kaiming_normal(mode fan_out, nonlinearity relu) of filters [channels, ker_h, ker_w, C/g], whatever the
 * groups. */
ct_init ct_init_fan_out(int64_t channels, int64_t ker_h, int64_t ker_w);
ct_status ct_layer_batchnorm(ct_graph *g, const char *name, ct_val x, bool training, ct_val *y);
/* The same, with a gamma that starts at 0: the last norm of a residual branch, which then adds nothing at first (Goyal et al., 2017). */
ct_status ct_layer_batchnorm_zero(ct_graph *g, const char *name, ct_val x, bool training, ct_val *y);
/* Each sample of x [N,...] brought to mean 0 and variance 1 over all its elements: torch.nn.functional.layer_norm(x, x.shape[1:]). */
ct_status ct_layer_standardize(ct_graph *g, const char *name, ct_val x, ct_val *y);
ct_status ct_layer_activation(ct_graph *g, const char *name, ct_val x, ct_act_kind kind, ct_val *y);
/* x [N,T,C] -> y [N,P,out_ch] with P = T + 2 pad - ker + 1 (torch.nn.Conv1d on [N,C,T], stride 1): a convolution of height 1
 * between two views. */
ct_status ct_layer_conv1d(ct_graph *g, const char *name, ct_val x, int64_t out_ch, int64_t ker, int64_t pad, bool bias, ct_val *y);
ct_status ct_layer_maxpool(ct_graph *g, const char *name, ct_val x, int64_t ker, int64_t stride, int64_t pad, ct_val *y);
/* Window ker_h x ker_w, steps stride_h and stride_w, padding pad_h and pad_w: torch.nn.MaxPool2d((kh,kw), (sh,sw), (ph,pw)). */
ct_status ct_layer_maxpool_hw(ct_graph *g, const char *name, ct_val x, const int64_t ker[2], const int64_t stride[2],
                              const int64_t pad[2], ct_val *y);
ct_status ct_layer_global_avgpool(ct_graph *g, const char *name, ct_val x, ct_val *y);
ct_status ct_layer_flatten(ct_graph *g, const char *name, ct_val x, ct_val *y); /* [N,H,W,C] -> [N,H*W*C], HWC order */
/* flatten_hwc: the [H,W,C] a flatten in front had (for the PyTorch name map), or NULL. */
ct_status ct_layer_linear(ct_graph *g, const char *name, ct_val x, int64_t out, const int64_t *flatten_hwc, ct_val *y);
/* torch.nn.LSTM without batch_first: x [T,N,I] -> y [T,N,D*hidden], D = 2 if bidirectional, else 1; first states 0. For each layer l and
 * direction a linear and an LSTM operator with the parameters weight_ih_l<l>, weight_hh_l<l>, bias_ih_l<l>, bias_hh_l<l>, "_reverse" behind
 * them for the second direction; all start as U(-1/sqrt(hidden), 1/sqrt(hidden)). len: as for ct_model_build(). */
ct_status ct_layer_lstm(ct_graph *g, const char *name, ct_val x, ct_val len, int64_t hidden, int layers, bool bidirectional, ct_val *y);
/* Drops with probability spec->dropout; what is drawn is a function of spec->seed, stream (number of the layer within the model), the
 * micro-step and the element of the whole batch, of whose samples (axis `samples` of x) these are some: spec->row, spec->of. */
ct_status ct_layer_dropout(ct_graph *g, const char *name, ct_val x, const ct_model_spec *spec, int64_t stream, int samples,
                           ct_val *y);

#endif
