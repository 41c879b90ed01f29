/* Programs: the graphs a run consists of, composed from preprocessing, a model, loss, metrics and the optimizer.
 * Used alike by train, eval, predict, plan, bench and the golden self-test. */
#ifndef CT_PROGRAM_PROGRAM_H
#define CT_PROGRAM_PROGRAM_H

#include "exec/exec.h"
#include "models/models.h"
#include "task/task.h"

typedef enum ct_program_kind {
    CT_PROGRAM_STEP,    /* forward, loss, backward, update: one whole step (accumulate == 1); with `parts` its last */
    CT_PROGRAM_PART,    /* a part in front of the last: forward, loss, backward; see `parts` */
    CT_PROGRAM_MICRO_FIRST, /* forward, loss, backward; gradients replace GACC */
    CT_PROGRAM_MICRO_NEXT,  /* the same; gradients are added to GACC */
    CT_PROGRAM_UPDATE,  /* update alone, from GACC */
    CT_PROGRAM_EVAL,    /* forward in evaluation mode, loss, predictions, metric sums */
    CT_PROGRAM_PREDICT  /* forward in evaluation mode, predictions; no labels */
} ct_program_kind;

typedef enum ct_optimizer_kind { CT_OPT_ADAMW, CT_OPT_ADAM, CT_OPT_SGD, CT_OPT_MUON } ct_optimizer_kind;

/* What optimizer.muon says. */
typedef struct ct_muon_spec {
    double momentum;
    bool nesterov;
    int64_t steps;    /* of Newton-Schulz */
    double lr_factor; /* of the matrices' rate */
    bool match_rms;   /* updates are as large as AdamW's; else as sqrt(max(1, rows/columns)) */
    bool first, last; /* whether these matrices are Muon's (ct_graph_ends) */
} ct_muon_spec;

/* Recompute only if a step would not fit otherwise: ct_spec_settle() decides, ct_program_build() wants it decided. */
#define CT_RECOMPUTE_AUTO (-2)
#define CT_NORMS_ALL INT64_MAX /* of norms_kept */

/* Progressive resizing: the first steps of a training see smaller pictures. */
typedef struct ct_small_spec {
    int64_t steps;        /* how many; 0: none */
    double width, height; /* factors of the sides that the model sees otherwise, in (0, 1] */
} ct_small_spec;

typedef struct ct_program_spec {
    ct_model_spec model;
    int64_t batch;             /* samples per micro-step */
    ct_dtype compute;          /* CT_F32, CT_BF16, CT_F16 (CT_F64 when model.dtype is) */
    bool tf32;                 /* compute CT_F32: products may round their factors to tf32 */
    /* source images, before the preprocessing operator; src_h == 0: ready input x [N,H,W,C] of model.dtype instead */
    int64_t src_h, src_w;
    int64_t
        resident; /* training programs take their images from arena DATA, which holds so many; 0: they are uploaded */
    ct_small_spec small;       /* what ct_program_shrink() does; no program looks at it */
    ct_image_attrs image;      /* augmentation and normalisation; out_h, out_w, dtype are filled in */
    int64_t channel_multiple;  /* channels of x are padded with zeros to a multiple of this (ct_pass_pad); 0 or 1: as
                                  they are */
    ct_goal goal;              /* what is trained for; task NULL: the usual loss of the model's task */
    int64_t accumulate;        /* micro-steps per update, each counting 1/accumulate; 1 also makes a group of one */
    int64_t members;           /* devices, or parts of the batch, whose gradients are summed (exec/comm.h); 0 is 1. Of
                                  a batch of model.of samples each has some, and what it gives counts batch/of; of 0:
                                  1/members */
    int64_t parts, part;       /* of a step this device computes `parts` parts one after another, a power of two of them
                                  (0 is 1), and this program is number `part`. Each adds the gradients, and the running
                                  statistics, of those that make a whole subtree with it to its own: parts 0 and 1, then
                                  2 and 3, then both pairs, ... The last leaves the sum in GRAD, the mean in BUFFER */
    bool sync_norm;            /* batch norms take their statistics from all `model.of` samples (ct_pass_sync) */
    int recompute;             /* -1 off, 0 per block, n > 0 about n segments; or CT_RECOMPUTE_AUTO */
    bool flat_casts; /* 16-bit types: parameters and gradients have 16-bit arenas, which the update writes and reads, in
                        place of a cast for each (ct_pass_flat); not in a group */
    bool skip_still; /* gradients that are zero whatever the data are, are not computed (ct_pass_still) */
    bool fuse_more; /* batch norms take in the pooling behind them, the mean, or the norm of their summand
                       (ct_pass_fuse_more); not with `inspect` */
    bool join_sums; /* their gradients take in the sum before them (ct_pass_join); not with `inspect` */
    bool sum_in_place; /* data gradients of convolutions are added to what they are summed with (ct_pass_accumulate);
                          not with `inspect` */
    bool measure;   /* convolutions give the moments that batch norms take (ct_pass_measure); not with `inspect` */
    int64_t norms_kept; /* bytes of what batch norms give that are kept for the backward pass; the others are applied
                           again there, which moves more bytes and holds fewer: ct_spec_settle() decides */
    bool inspect; /* golden files: what batch norms give, the terms of the loss and what these are made of stay in
                     memory to the end of the step */
    /* optimizer */
    ct_optimizer_kind optimizer;
    ct_optim_attrs optim;      /* beta1.. max_norm, dynamic.. ; ema decay in optim.decay (0 = no EMA) */
    bool dirac;                /* convolutions start as identities (ct_graph_dirac) */
    ct_muon_spec muon;
    char *const *groups;       /* [ngroups] rules of parameters with rates of their own (program/groups.h) */
    size_t ngroups;
    bool decay_norm_bias;      /* weight decay also for norm and bias parameters (PyTorch's default) */
    ct_schedule_attrs schedule;
    double loss_scale;         /* first loss scale: 1, or more for fp16 */
    char *const *freeze;       /* [freezes] patterns of parameters that are not trained (ct_pass_freeze) */
    size_t freezes;
    const char *dropout_keep;  /* golden files: name of an input u8 mask that replaces the drawn one; NULL = drawn */
} ct_program_spec;

typedef enum ct_port_role {
    /* inputs */
    /* Models of clips have N * model.frames pictures in these four, those of a clip in a row. */
    CT_PORT_PIXELS, /* "src" u8 [N,Hs,Ws,C] */
    CT_PORT_WINDOW, /* "window" f32 [N,4]: left, top, right, bottom of the pictures in src; models with a mask */
    CT_PORT_INDEX,  /* "index" i32 [N,3] = (row of src, sample id, epoch); of clips [N,4]: and the frame */
    CT_PORT_READY,  /* "x" [N,H,W,C] of the model's type: ready input instead of pixels */
    CT_PORT_FIELD,  /* a field of the samples, by its name: "target" */
    CT_PORT_STEPS,  /* "len" i32 [N]: valid time steps of each sample, 1 <= len <= T */
    CT_PORT_MASK,   /* see dropout_keep */
    /* outputs */
    CT_PORT_SCORE,  /* what the model gives, by its name: "logits" */
    CT_PORT_RESULT, /* predictions, by the task's names: "pred", "conf" */
    CT_PORT_TERM,   /* [1] a term of the loss, by its name; kept only to be inspected */
    CT_PORT_LOSS    /* "loss" [1]: the weighted sum of the terms */
} ct_port_role;

static inline bool ct_port_is_input(ct_port_role r) { return r <= CT_PORT_MASK; }

typedef struct ct_port {
    const char *name; /* static, or of the spec's or task's strings */
    ct_port_role role;
    ct_val val;
} ct_port;

#define CT_MAX_PORTS (8 + CT_MODEL_OUTPUTS + 3 * CT_PARTS_MAX)

typedef struct ct_program {
    ct_program_kind kind;
    ct_graph *graph;
    ct_port port[CT_MAX_PORTS];
    int ports;
    size_t settle, update; /* training: nodes [settle, update) take in what the backward pass gave (draws are counted,
                              gradients summed), those behind them are the update */
} ct_program;

/* The value of a port by its name or, the first of them, by its role; CT_NOVAL if the program has none. */
ct_val ct_program_port(const ct_program *p, const char *name);
ct_val ct_program_role(const ct_program *p, ct_port_role role);

/* Which kinds carry what: STEP, PART, MICRO_* and EVAL have fields, terms, a loss, results, and add to the metric sums;
 * PREDICT has results; UPDATE has nothing but its effect on the arenas. All but UPDATE have scores. The images come in
 * as src with index, or as x when src_h == 0; resident pixels are no port. Models with time steps (ct_model_elastic)
 * have len. What the other ports hold is said where the task builds them (src/task/<name>/program.c). */

/* Fills spec with defaults: AdamW 1e-3, betas .9/.999, eps 1e-8, wd 0.01, constant schedule, the usual loss of
 * the model, no accumulation, ... */
void ct_program_defaults(ct_program_spec *spec);

/* The specification of a program whose model sees the same sources as small as spec->small says: the preprocessing
 * resizes them, and shifts and blurs by as much less. */
void ct_program_shrink(ct_program_spec *spec);
/* A side of so many pixels by a factor of ct_small_spec: rounded, at least 1. */
int64_t ct_program_small_side(double factor, int64_t pixels);

/* The loss that goes with the model by itself: fills spec->goal. CT_ECONFIG for an unknown model. */
ct_status ct_program_usual_goal(ct_program_spec *spec);

/* Builds and optimises one program (fuse, cast, autodiff, recompute, update). `layout_from` = the graph whose arena
 * offsets it takes, or NULL for the first program of a model, which must be STEP, PART or MICRO_FIRST when the model is
 * trained; *layout receives the layout then. With layout_from, *layout is read: it must be what the first program
 * gave. UPDATE cannot be the first. Programs of other batch sizes are built from a spec that differs in `batch`
 * only, those of other lengths (elastic models) from one that differs in model.width and src_w, or in model.frames.
 * CT_EINVAL: a combination without meaning; CT_ECONFIG: a model that cannot be built at this size. */
ct_status ct_program_build(const ct_program_spec *spec, ct_program_kind kind, const ct_graph *layout_from,
                           ct_layout *layout, ct_program *out);
/* A further program of training whose model sees the same sources as small as spec->small says. CT_ECONFIG: it cannot
 * be built at that size, or has other parameters then; the message says which. */
ct_status ct_program_build_small(const ct_program_spec *spec, ct_program_kind kind, const ct_graph *layout_from,
                                 ct_layout *layout, ct_program *out);
/* What training makes of pictures before its model sees them, and nothing behind it: ports src, index and, of models
 * with a mask, window, for so many pictures of src_w x src_h, of clips frames as index names them; and score "x" f32
 * [N,H,W,C], values of 0..1, not normalised, the mask behind them. Needs no weights. */
ct_status ct_program_pictures(const ct_program_spec *spec, int64_t pictures, ct_program *out);
void ct_program_free(ct_program *p); /* members; NULL is fine */
/* The step state a run starts with: loss scale of the spec, clip coefficient 1, everything else 0. */
void ct_program_initial_state(const ct_program_spec *spec, double state[CT_STATE_COUNT]);
/* What a store for these programs must hold. */
ct_arenas_needs ct_program_needs(const ct_program_spec *spec, bool train);

#endif
