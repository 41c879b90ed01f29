/* Programs: the graphs a run consists of, composed from preprocessing, a model, loss, metrics and the optimizer.
 * Used alike by train, eval, predict, plan, bench and the golden self-test. */
#ifndef CT_PROGRAM_PROGRAM_H
#define CT_PROGRAM_PROGRAM_H

#include "exec/exec.h"
#include "models/models.h"

typedef enum ct_program_kind {
    CT_PROGRAM_STEP,    /* forward, loss, backward, update: one whole step (accumulate == 1) */
    CT_PROGRAM_MICRO_FIRST, /* forward, loss, backward; gradients replace GACC */
    CT_PROGRAM_MICRO_NEXT,  /* the same; gradients are added to GACC */
    CT_PROGRAM_UPDATE,  /* update alone, from GACC */
    CT_PROGRAM_EVAL,    /* forward in evaluation mode, loss, predictions, metric sums */
    CT_PROGRAM_PREDICT  /* forward in evaluation mode, predictions; no labels */
} ct_program_kind;

typedef enum ct_loss_kind { CT_LOSS_SOFTMAX, CT_LOSS_SOFT_MARGIN, CT_LOSS_CTC } ct_loss_kind; /* CTC goes with CT_HEAD_CTC, and only with it */
typedef enum ct_optimizer_kind { CT_OPT_ADAMW, CT_OPT_ADAM, CT_OPT_SGD } ct_optimizer_kind;

/* Recompute only if a step would not fit otherwise: ct_spec_settle() decides, ct_program_build() wants it decided. */
#define CT_RECOMPUTE_AUTO (-2)

typedef struct ct_program_spec {
    ct_model_spec model;
    int64_t batch;             /* samples per micro-step */
    ct_dtype compute;          /* CT_F32, CT_BF16, CT_F16 (CT_F64 when model.dtype is) */
    bool tf32;                 /* compute CT_F32: products may round their factors to tf32 */
    /* source images, before the preprocessing operator; src_h == 0: ready input x [N,H,W,C] of model.dtype instead */
    int64_t src_h, src_w;
    int64_t resident;          /* training programs take their images from arena DATA, which holds so many; 0: they are uploaded */
    ct_image_attrs image;      /* augmentation and normalisation; out_h, out_w, dtype are filled in */
    int64_t channel_multiple;  /* channels of x are padded with zeros to a multiple of this (ct_pass_pad); 0 or 1: as they are */
    ct_loss_kind loss;
    double smoothing;
    int64_t accumulate;        /* micro-steps per update, each counting 1/accumulate; 1 also makes a group of one */
    int64_t members;           /* devices whose gradients are summed, each counting 1/members (exec/comm.h); 0 is 1 */
    int recompute;             /* -1 off, 0 per block, n > 0 about n segments; or CT_RECOMPUTE_AUTO */
    bool keep_norms;           /* what batch norms give stays in memory to the end of the step instead of being computed again */
    /* optimizer */
    ct_optimizer_kind optimizer;
    ct_optim_attrs optim;      /* beta1.. max_norm, dynamic.. ; ema decay in optim.decay (0 = no EMA) */
    bool decay_norm_bias;      /* weight decay also for norm and bias parameters (PyTorch's default) */
    ct_schedule_attrs schedule;
    double loss_scale;         /* first loss scale: 1, or more for fp16 */
    char *const *freeze;       /* [freezes] patterns of parameters that are not trained (ct_pass_freeze) */
    size_t freezes;
    const char *dropout_keep;  /* golden files: name of an input u8 mask that replaces the drawn one; NULL = drawn */
} ct_program_spec;

typedef struct ct_program {
    ct_program_kind kind;
    ct_graph *graph;
    ct_val src, index, x;          /* inputs: pixels u8 [N,Hs,Ws,C] and index i32 [N,3], or x; CT_NOVAL if not used. Resident pixels
                                      are no input: src is CT_NOVAL then */
    ct_val target;                 /* input i32 [N,P] or [N,L] */
    ct_val len;                    /* input i32 [N]: valid time steps of each sample, 1 <= len <= T; CT_NOVAL unless CTC */
    ct_val keep;                   /* input u8 mask, see dropout_keep */
    ct_val logits, loss, pred, conf; /* kept outputs; CT_NOVAL if not part of the kind */
} ct_program;

/* Which kinds carry what: STEP, MICRO_* and EVAL have target, loss, pred, conf and add to the metric sums; PREDICT
 * has pred and conf; UPDATE has nothing but its effect on the arenas. All but UPDATE have logits [N,
 * positions*classes]. pred i32 [N,P], conf [N,P], loss [1]. The images come in as src u8 [batch, src_h, src_w, C]
 * with index i32 [batch, 3] = (row of src, sample id, epoch), or as x when src_h == 0.
 * CTC models: all but UPDATE have len; logits are log-probabilities [T,N,classes] with T = ct_model_steps(model.width);
 * target i32 [N,L] holds characters 0..classes-2, -1 behind a shorter label, L = model.positions; pred i32 [N,T] and conf
 * [N,T] are the best path's characters, -1 and 0 behind them. */

/* Fills spec with defaults: AdamW 1e-3, betas .9/.999, eps 1e-8, wd 0.01, constant schedule, softmax loss, no
 * accumulation, ... */
void ct_program_defaults(ct_program_spec *spec);

/* Builds and optimises one program (fuse, cast, autodiff, recompute, update). `layout_from` = the graph whose arena
 * offsets it takes, or NULL for the first program of a model, which must be STEP or MICRO_FIRST when the model is
 * trained; *layout receives the layout then. With layout_from, *layout is read: it must be what the first program
 * gave. UPDATE cannot be the first. Programs of other batch sizes are built from a spec that differs in `batch`
 * only, those of other widths (CTC models) from one that differs in model.width and src_w. CT_EINVAL: a combination without meaning; CT_ECONFIG: a model that cannot be built at this size. */
ct_status ct_program_build(const ct_program_spec *spec, ct_program_kind kind, const ct_graph *layout_from,
                           ct_layout *layout, ct_program *out);
void ct_program_free(ct_program *p); /* members; NULL is fine */
/* The step state a run starts with: loss scale of the spec, clip coefficient 1, everything else 0. */
void ct_program_initial_state(const ct_program_spec *spec, double state[CT_STATE_COUNT]);
/* What a store for these programs must hold. */
ct_arenas_needs ct_program_needs(const ct_program_spec *spec, bool train);

#endif
