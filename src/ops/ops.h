/* The operator catalogue: identities, attributes, tensors, calls, and the rules every operator has.
 * Pure: no device, no I/O. Backends include this header; so does the graph. */
#ifndef CT_OPS_OPS_H
#define CT_OPS_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"

typedef enum ct_op {
#define CT_OP(id, name, family, imin, imax, omin, omax) id,
#include "ops/ops.def"
#undef CT_OP
    CT_OP_COUNT
} ct_op;

#define CT_MAX_IN 16
#define CT_MAX_OUT 6

/* ---- attributes: plain structs of int64_t, double and arrays of them only, one per family or operator; unused fields
 * are 0 ---- */

typedef struct ct_conv_attrs {
    int64_t stride_h, stride_w, pad_h, pad_w, dil_h, dil_w, groups;
    int64_t in_h, in_w;   /* dgrad: size of x, pixels */
    int64_t ker_h, ker_w; /* wgrad: R, S */
    int64_t moments;      /* forward: 1: give the sums of y and of y*y over all pixels besides */
    int64_t data_c;       /* channels of x that hold data, in the others x and w have zeros (pass_pad); 0: all. Changes no
                             result: an implementation may leave them out, and FLOPs are counted for these alone */
} ct_conv_attrs;

typedef enum ct_norm_act { CT_NORM_LINEAR, CT_NORM_RELU, CT_NORM_SILU, CT_NORM_ACTS } ct_norm_act;
typedef struct ct_norm_attrs {
    double eps, momentum;
    int64_t act;          /* ct_norm_act: what is applied to the normalised value [+ add] */
    int64_t update_stats; /* 0: running statistics are left alone (recomputed forward) */
    int64_t has_add;      /* bwd: give dadd */
    int64_t dy2_step;     /* bwd: above 1, dy2 is of the pixels in rows and columns 0, dy2_step, ... alone, and zero elsewhere */
    int64_t overlap;      /* pool: windows of 3x3 pixels, 2 apart with 1 of padding, instead of 2x2 */
    int64_t total;        /* joint: rows that the moments are sums over */
    int64_t given_invstd; /* infer: run_mean and run_var are mean and invstd of `batchnorm`, whose y this repeats */
} ct_norm_attrs;

#define CT_STANDARDIZE_EPS 1e-5 /* standardize: what models take, as layer_norm of torch does */
#define CT_NORM_LEAST 1e-12 /* l2_normalize: what a vector's length is taken to be at least */

typedef enum ct_act_kind { CT_ACT_RELU, CT_ACT_LEAKY_RELU, CT_ACT_SIGMOID, CT_ACT_TANH, CT_ACT_SILU, CT_ACT_SOFTPLUS, CT_ACT_COUNT } ct_act_kind;
typedef struct ct_act_attrs {
    int64_t kind; /* ct_act_kind */
    double alpha; /* leaky_relu: slope below 0, must be > 0 */
} ct_act_attrs;

typedef struct ct_dropout_attrs {
    double p;                          /* probability of dropping, 0 <= p < 1 */
    int64_t seed, stream;              /* mask: run seed; number of this dropout within the model */
    /* mask: where its elements lie in that of a larger batch, of which a member of a group computes some rows. Runs of `run` elements,
     * the first at `first`, each `pitch` behind the one before; all three multiples of 4. run 0: it is the whole batch's. */
    int64_t first, run, pitch;
    int64_t ndim, d0, d1, d2, d3, d4;  /* mask: shape */
} ct_dropout_attrs;

typedef struct ct_shape_attrs { int64_t ndim, d0, d1, d2, d3, d4; } ct_shape_attrs;  /* reshape */
typedef struct ct_cast_attrs { int64_t dtype; } ct_cast_attrs;                       /* ct_dtype */
typedef struct ct_fit_attrs { int64_t channels; } ct_fit_attrs;                      /* fit_channels */
typedef struct ct_channels_attrs { int64_t first, channels; } ct_channels_attrs;     /* slice_channels, place_channels: of y */
typedef struct ct_scale_attrs { double alpha, beta; } ct_scale_attrs;                /* accumulate; scale: alpha */

typedef struct ct_pool_attrs {
    int64_t ker_h, ker_w, stride_h, stride_w, pad_h, pad_w;
    int64_t in_h, in_w; /* bwd: size of x, pixels */
} ct_pool_attrs;

typedef struct ct_resample_attrs { int64_t scale; } ct_resample_attrs;

typedef struct ct_loss_attrs {
    int64_t positions, classes;
    double smoothing;  /* softmax_xent, ctc_loss: label smoothing */
    double alpha;      /* loss_seed: factor beside the loss scale, 1/accumulated micro-steps */
    int64_t dtype;     /* loss_seed: type of the seed */
} ct_loss_attrs;

typedef struct ct_weights_attrs {
    int64_t n;           /* weights given: as many as inputs */
    double w[CT_MAX_IN];
} ct_weights_attrs;

typedef struct ct_heat_attrs {
    double alpha;      /* focal: exponent of the wrong side's probability */
    double beta;       /* focal: exponent of 1 - heat; offset: where SmoothL1 becomes linear, cells */
    double threshold;  /* focal: cells with heat >= this are positive; angle: cells with heat > this count */
    double eps;        /* focal, padding: least distance of a probability from 0 and 1; rows: added to the means */
    double margin;     /* margin_rank: by how much the point must be above a fake */
    double cap;        /* padding: most that a cell costs */
    double stride;     /* rows: pixels to a cell */
    double tau;        /* rows: temperature of the softmax */
} ct_heat_attrs;

typedef struct ct_distill_attrs {
    double temperature; /* > 0: what scores are divided by */
    int64_t first;      /* classes from this one on are compared; 1 leaves out the blank */
    int64_t detach;     /* 1: no gradient goes to t */
} ct_distill_attrs;

typedef struct ct_sums_attrs {
    int64_t samples; /* batch_sums: of the batch */
    int64_t first;   /* slot of acc that gets the first of the operator's own numbers */
    double unit;     /* point_sums: pixels in which errors are told first, per pixel of the network */
} ct_sums_attrs;

typedef struct ct_points_attrs {
    int64_t stride;       /* pixels to a cell, along either axis */
    int64_t out_h, out_w; /* heat_target, sample_points_bwd: size of the map, cells */
    int64_t channel;      /* mask_pool, sample_points and its gradient: the one of x or map that is read */
    int64_t channels;     /* sample_points_bwd: of the map */
    int64_t factor;       /* mask_pool: size of a window, pixels */
    int64_t align;        /* heat_decode: 1: the two points lie within a row of each other */
    int64_t around;       /* heat_target: 1: the cells of the Gaussian have offsets, too */
    double sigma;         /* heat_target: of the Gaussian, cells */
} ct_points_attrs;

typedef enum ct_schedule_kind { CT_SCHED_CONSTANT, CT_SCHED_COSINE, CT_SCHED_MULTISTEP, CT_SCHED_WARM_RESTARTS, CT_SCHED_ONE_CYCLE,
                               CT_SCHED_TRIANGULAR, CT_SCHED_COUNT } ct_schedule_kind;
#define CT_MAX_MILESTONES 8
typedef struct ct_schedule_attrs {
    int64_t kind;          /* ct_schedule_kind; a linear warm-up may stand before each */
    double base_lr, min_lr;
    int64_t warmup_steps;  /* lr = base_lr*(step+1)/warmup_steps while step < warmup_steps */
    int64_t total_steps;   /* cosine: reaches min_lr at total_steps; one cycle, triangular: with the last of them */
    int64_t nmilestones;   /* multistep: steps at which lr is multiplied by gamma, each > 0 */
    int64_t milestones[CT_MAX_MILESTONES];
    double gamma;
    int64_t t0;            /* warm restarts: steps of the first cycle */
    int64_t t_mult;        /* warm restarts: growth of the cycle, >= 1 */
    double start_lr;       /* one cycle, triangular: of the first step */
    double peak;           /* one cycle, triangular: step with base_lr; may lie between two, or before the first */
} ct_schedule_attrs;

typedef struct ct_optim_attrs {
    double beta1, beta2, eps, weight_decay;
    int64_t decoupled;        /* adamw: 1 AdamW, 0 Adam with L2 */
    double momentum;          /* sgd, muon */
    int64_t nesterov;         /* sgd, muon */
    double lr_factor;         /* adamw, sgd, muon: of the learning rate; 0 is 1 */
    int64_t rows, cols;       /* muon: of each matrix */
    int64_t stride;           /* muon: elements from one matrix to the next, >= rows*cols */
    int64_t steps;            /* muon: of Newton-Schulz */
    double scale;             /* muon: of what they give */
    double max_norm;          /* grad_norm: 0 = do not clip */
    double decay;             /* ema */
    int64_t warmup;           /* ema */
    int64_t dynamic;          /* step_end: 1 = dynamic loss scale */
    double growth, backoff;   /* step_end: 2 and 0.5 */
    int64_t growth_interval;  /* step_end: good steps before the scale grows */
    double max_scale;         /* step_end */
} ct_optim_attrs;

#define CT_IMAGE_CHANNELS 3 /* at most */
typedef struct ct_image_attrs {
    int64_t out_h, out_w, dtype;  /* x is [N,out_h,out_w,C]; a size other than the source's is a bilinear resize */
    int64_t crop_h, crop_w;       /* so many pixels of the source take its place: the middle, with augment any; 0, 0: all */
    int64_t src_h, src_w;         /* move_points: size of the source, pixels (preprocess has the source) */
    int64_t channels;             /* of x, where more than C (with a window C+1): zeros behind those; 0: that many */
    int64_t augment;              /* 0: none of what follows down to `blur` */
    int64_t seed;
    double prob;                  /* share of samples that are augmented at all */
    double shift_x, shift_y;      /* up to +- this many whole pixels */
    double scale;                 /* factor in [1-scale, 1+scale] */
    double rotate, shear;         /* up to +- degrees */
    double brightness, contrast;  /* additive up to +-brightness (of 1), factor in [1-contrast, 1+contrast] */
    double noise;                 /* sigma of Gaussian noise, up to this (of 1) */
    double blur;                  /* sigma of a 3x3 or 5x5 Gaussian, up to this many pixels */
    double flip;                  /* augment: chance that a sample is mirrored, left for right, whatever prob says */
    double fill;                  /* value of pixels that come from outside, 0..1 */
    int64_t nmean, nstd;          /* numbers given: at least as many as channels; of means none: they are 0 */
    double mean[CT_IMAGE_CHANNELS], std[CT_IMAGE_CHANNELS]; /* per channel: x = (v - mean)/std after /255; std > 0 */
} ct_image_attrs;

typedef union ct_attrs {
    ct_conv_attrs conv;
    ct_norm_attrs norm;
    ct_act_attrs act;
    ct_dropout_attrs dropout;
    ct_shape_attrs shape;
    ct_cast_attrs cast;
    ct_fit_attrs fit;
    ct_channels_attrs channels;
    ct_scale_attrs scale;
    ct_pool_attrs pool;
    ct_resample_attrs resample;
    ct_loss_attrs loss;
    ct_weights_attrs weights;
    ct_heat_attrs heat;
    ct_distill_attrs distill;
    ct_sums_attrs sums;
    ct_points_attrs points;
    ct_schedule_attrs schedule;
    ct_optim_attrs optim;
    ct_image_attrs image;
} ct_attrs;

/* One printable field of an attribute struct. An array of up to `max` elements says how many of them count in a field
 * of its own, which is not printed: the text lists them, name=0.5,1,2. */
typedef struct ct_attr_field {
    const char *name;
    size_t offset;  /* within ct_attrs, bytes; of an array: its first element */
    bool is_double; /* else int64_t */
    int max;        /* 0: a single value */
    size_t count;   /* of an array: offset of its int64_t number of elements */
} ct_attr_field;

/* ---- step state: lives on the device, f64[CT_STATE_COUNT] ---- */
enum ct_state {
    CT_STATE_STEP,        /* optimizer steps attempted (schedule) */
    CT_STATE_APPLIED,     /* optimizer steps applied (Adam's t is this + 1) */
    CT_STATE_LR,
    CT_STATE_LOSS_SCALE,  /* 1 unless fp16 */
    CT_STATE_FOUND_INF,   /* 1: this step's gradients hold NaN or infinity; cleared by step_end */
    CT_STATE_GOOD_STEPS,  /* steps since the scale last changed */
    CT_STATE_SKIPPED,     /* steps not applied, in total */
    CT_STATE_GRAD_NORM,   /* global L2 norm of the unscaled gradient of the last step */
    CT_STATE_CLIP_COEF,
    CT_STATE_LAST_INF,    /* FOUND_INF of the step that step_end closed */
    CT_STATE_DRAWS,       /* training micro-steps run: what dropout draws from */
    CT_STATE_COUNT = 16   /* the rest is reserved and zero */
};

/* ---- metric accumulators: f64[CT_METRIC_COUNT] ---- */
enum ct_metric {
    CT_METRIC_SAMPLES,    /* samples scored */
    CT_METRIC_LOSS,       /* sum of loss * samples of the batch */
    CT_METRIC_BATCHES,
    CT_METRIC_FIRST,      /* what a task counts starts here */
    CT_METRIC_COUNT = 64
};

/* ---- a call: an operator applied to tensors ---- */
typedef struct ct_tensor {
    ct_desc desc; /* desc.ndim == -1: absent */
    void *data;   /* device address; NULL while planning */
} ct_tensor;

typedef struct ct_call {
    ct_op op;
    int nin, nout;          /* including absent optional ones in between */
    ct_attrs attrs;
    ct_tensor in[CT_MAX_IN], out[CT_MAX_OUT];
} ct_call;

static inline bool ct_present(const ct_tensor *t) { return t->desc.ndim >= 0; }
static inline ct_desc ct_absent_desc(void) { ct_desc d = { CT_F32, -1, { 0 } }; return d; }

/* ---- rules ---- */

typedef int32_t ct_val; /* a value of a graph; CT_NOVAL = absent */
#define CT_NOVAL (-1)

/* What a gradient rule may ask of the graph it extends (implemented by src/graph/autodiff.c). */
typedef struct ct_grad_ctx ct_grad_ctx;
struct ct_grad_ctx {
    void *self;
    const ct_attrs *attrs;          /* of the forward node */
    int nin, nout;
    const ct_val *in, *out;         /* of the forward node */
    const ct_val *dout;             /* gradients of its outputs; CT_NOVAL where none flows */
    const bool *need;               /* need[i]: the gradient of in[i] is wanted */
    ct_val *din;                    /* [nin] to fill; CT_NOVAL where there is none */
    const ct_desc *(*desc)(void *self, ct_val v);
    /* Adds a node; writes its outputs to outs[nout]. out_mask bit i clear = output i absent. */
    ct_status (*emit)(void *self, ct_op op, const ct_attrs *attrs, int nin, const ct_val *in, int nout, unsigned out_mask, ct_val *outs);
};

/* How the precision pass treats an operator's floating inputs. */
typedef enum ct_precision_rule {
    CT_PREC_COMPUTE, /* all floating inputs in the compute type (bf16/fp16): matrix work */
    CT_PREC_FLOW,    /* takes the type its first input has; other floating inputs of that shape are cast to it */
    CT_PREC_ALIKE,   /* takes the type its first input has; all other floating inputs are cast to it */
    CT_PREC_ACCUM    /* all floating inputs in A: losses, softmax, statistics, optimizer */
} ct_precision_rule;

enum ct_op_flags {
    CT_OPF_VIEW = 1,       /* output is the input's memory under another shape; never runs */
    CT_OPF_NO_GRAD = 2,    /* not differentiable: metrics, optimizer, gradient operators themselves */
    CT_OPF_HEAVY = 4,      /* what train.precision is about: the receipt asks it for the precision that was asked for */
    CT_OPF_CHOOSES = 8,    /* only chooses or rounds: equal values from every implementation, whatever the data */
    CT_OPF_EXACT_INTS = 16, /* exact on small whole numbers in every type: equal values from all with CT_IMPL_EXACT */
    CT_OPF_FLAT = 32       /* inputs but the state are flat ranges of one length, each element computed by itself: in any pieces, the same bits */
};

/* ---- what an input of an operator holds: what its test data are drawn from (src/harness/generate.c) ---- */

typedef enum ct_domain_kind {
    CT_DOM_UNSAID,   /* nothing is said: of no input of any operator */
    CT_DOM_BY_CALL,  /* depends on attributes or shapes: by(call) says it */
    CT_DOM_ANY,      /* any numbers: what the data pattern of the case asks for */
    CT_DOM_COMPARED, /* any numbers that are compared with each other: finite differences take them far apart */
    CT_DOM_RANGE,    /* numbers in [lo, hi) whatever the pattern */
    CT_DOM_SHARE,    /* numbers in [0, 1], a quarter of them 0, a quarter 1 */
    CT_DOM_ONE,      /* ones */
    CT_DOM_ABSENT,   /* NaN: nothing is there */
    CT_DOM_BELOW,    /* whole numbers in [0, hi) */
    CT_DOM_ZERO,     /* zeros */
    CT_DOM_STATE,    /* the step state f64[CT_STATE_COUNT] */
    CT_DOM_SUMS,     /* f64 sums over a run, which batches are added to: each element has a size of its own */
    CT_DOM_LOGP,     /* [...,C] log-probabilities: their exponentials sum to 1 over C; special: some are -inf */
    CT_DOM_TEXT,     /* i32 [N,L] of characters in [0, hi): any length from 0 on, -1 behind, and behind that anything */
    CT_DOM_LEN,      /* i32 [N]: valid steps of each sample of input 0, [T,N,...]: 1 to T */
    CT_DOM_BITS,     /* u8 [...,bytes of C bits]: a bit for each element of input 0 */
    CT_DOM_GATES,    /* [D,T,N,4H] gates i, f, g, o of an LSTM after their functions; special: one in four saturated */
    CT_DOM_PLACES,   /* u8: a pixel inside the image for each window of the pool attributes, as maxpool2d gives it */
    CT_DOM_ROWS,     /* i32 [N,3]: (row of input 0, sample id, epoch); [N,4]: and the frame of a clip */
    CT_DOM_BOXES,    /* [N,4]: (left, top, right, bottom) among the pixels of input 0, [M,H,W,C]; special: some empty, beyond it or NaN */
    CT_DOM_POINTS,   /* [...,2]: places (x,y) of [lo, hi); ties: even numbers, both ends among them; special: some with a NaN */
    CT_DOM_FORWARD   /* output `output` of operator `of` with the same attributes, its inputs this one's from `first` on */
} ct_domain_kind;

typedef struct ct_domain ct_domain;
struct ct_domain {
    ct_domain_kind kind;
    double lo, hi;
    enum { CT_POISON_NONE, CT_POISON_INF, CT_POISON_NAN, CT_POISON_ABSENT } poison; /* some elements are infinite; or
                                                                                       infinite or NaN; or NaN */
    bool ends;                /* 0 behind the last valid step of each sample, as the input of kind CT_DOM_LEN says */
    ct_op of;                 /* CT_DOM_FORWARD */
    int first, output;
    ct_domain (*by)(const ct_call *call); /* CT_DOM_BY_CALL */
    const ct_domain *special; /* instead of this in cases of special data, what is special for the operator; NULL: this */
};

/* All that is known of an operator beside its name and arity. Whoever asks something of every operator (a tolerance,
 * data to test with, whether it is heavy) reads a column of this; there are no lists of operators elsewhere. */
typedef struct ct_op_rules {
    ct_op op;
    unsigned flags;
    unsigned mutates;       /* bit i: input i is written too */
    unsigned constants;     /* bit i: floating input i is given (a target, a weight): no gradient goes to it, and to want one is an error */
    unsigned grad_outs;     /* bit o: a gradient may come through output o, beside output 0 */
    int inplace_out, inplace_in; /* output that may lie on input (same bytes) when that input dies here; -1 = none */
    ct_precision_rule precision;
    const ct_attr_field *fields; /* ends with name NULL */
    /* Checks attrs and inputs and fills call->out[i].desc (absent ones get ndim -1) and call->nout. On entry call->nout is the number of
     * outputs wanted. Errors name the operator and the offending dimension. */
    ct_status (*shape)(ct_call *call);
    ct_status (*grad)(const ct_grad_ctx *g);  /* NULL with CT_OPF_NO_GRAD */
    double (*flops)(const ct_call *call);     /* multiply and add count as two; NULL = one per output element */
    int64_t (*reduction)(const ct_call *call);/* length of the longest sum behind one output element; NULL = 1 */
    double (*read)(const ct_call *call, int i); /* share of input i that is read, 0..1; 0: it may hold anything; NULL = 1 */
    bool (*keeps)(const ct_attrs *attrs);     /* these attributes leave the inputs of `mutates` as they are; NULL: none do */
    bool (*kink)(const ct_attrs *attrs);      /* output 0 changes its formula where it changes its sign; NULL: nowhere */
    int mask_out;                             /* output that tells where output 0 is positive, a bit an element; 0 = none */

    /* Tolerance of an implementation against the reference (src/harness/tolerance.c has the formula). */
    double roundings; /* k: how many roundings stand behind one output element beside the sum itself, and how good exp,
                         tanh, ... have to be; at least 1 but with CT_OPF_CHOOSES, 0 there */
    double inexact;   /* factor on that for implementations without CT_IMPL_EXACT; 0 = 1 */
    /* Typical size of a result that is a sum of n terms made from the inputs, since a single sum can happen to cancel:
     * output >= 0 is an output's number, -1-i written input i; rms[i] is the root of the mean square of input i before
     * the run. 0: the elements of that result show their size themselves; NULL: those of all do. */
    double (*typical)(int output, double n, const double rms[CT_MAX_IN]);

    ct_domain domain[CT_MAX_IN]; /* of each input, optional ones included */
} ct_op_rules;

typedef struct ct_op_info {
    const char *name, *family;
    int in_min, in_max, out_min, out_max;
    const ct_op_rules *rules;
} ct_op_info;

const ct_op_info *ct_op_get(ct_op op);
bool ct_op_find(const char *name, ct_op *out);

/* Runs arity checks and the shape rule. */
ct_status ct_call_infer(ct_call *call);

/* What input i of a call holds, CT_DOM_BY_CALL resolved. */
ct_domain ct_call_domain(const ct_call *call, int i);

/* FLOPs of a call, and bytes it must move at least (inputs + outputs once). */
double ct_call_flops(const ct_call *call);
double ct_call_bytes(const ct_call *call);

/* One line that says everything about a call, and its reverse:
 *   conv2d{stride_h=1 stride_w=1 ...}(f32[2,8,8,3], f32[16,3,3,3], -) -> (f32[2,8,8,16])
 * Zero-valued attributes are left out. ct_call_format returns bytes that were needed (like snprintf). */
int ct_call_format(const ct_call *call, char *buf, size_t size);
ct_status ct_call_parse(const char *text, ct_call *call);
char *ct_call_text(const ct_call *call); /* ct_call_format() into a block of its own: ct_free(); NULL: out of memory */

/* max(d, f32) for floating types. */
static inline ct_dtype ct_accum_dtype(ct_dtype d) { return d == CT_F64 ? CT_F64 : CT_F32; }

#endif
