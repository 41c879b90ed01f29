/* The graph: values, nodes in execution order, autodiff, passes, layout of the flat arenas, and the memory plan.
 * Pure: no device, no I/O. Nodes run in list order; a value has one producer, except that operators may write some of
 * their inputs (ct_op_rules.mutates). */
#ifndef CT_GRAPH_GRAPH_H
#define CT_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stdio.h>

#include "ops/ops.h"

/* Where a value lives. All arenas but INPUT and ACT are laid out once per model (ct_layout) and shared by all its plans. */
typedef enum ct_arena {
    CT_ARENA_INPUT,   /* what the host supplies per step: pixels, labels, index */
    CT_ARENA_PARAM,   /* trainable parameters, flat, of type A */
    CT_ARENA_BUFFER,  /* running statistics, flat, of type A */
    CT_ARENA_GRAD,    /* gradient of the running micro-step; same offsets as PARAM */
    CT_ARENA_GACC,    /* gradients accumulated over micro-steps (accumulation > 1 only), same offsets as PARAM; or sums over
                         parts of a batch, several of them in a row */
    CT_ARENA_MEANS,   /* sums of BUFFER over parts of a batch, in a row; then BUFFER as it was before the step */
    CT_ARENA_OPT1,    /* Adam's m, SGD's momentum buffer; same offsets as PARAM */
    CT_ARENA_OPT2,    /* Adam's v; same offsets as PARAM */
    CT_ARENA_EMA,     /* average of PARAM; same offsets */
    CT_ARENA_EMABUF,  /* average of BUFFER; same offsets */
    CT_ARENA_PARAM16, /* PARAM in 16 bits (ct_pass_flat): element i of PARAM is element i here */
    CT_ARENA_GRAD16,  /* 16-bit gradients, on their way to GRAD or for the update to read them; likewise */
    CT_ARENA_STATE,   /* f64[CT_STATE_COUNT] */
    CT_ARENA_METRIC,  /* f64 [parts that count apart][CT_METRIC_COUNT] */
    CT_ARENA_DATA,    /* images that stay on the device, whole; programs only read them */
    CT_ARENA_ACT,     /* activations, gradients of activations, scratch: placed by the memory plan */
    CT_ARENA_COUNT
} ct_arena;
const char *ct_arena_name(ct_arena a);

/* How a parameter's elements are ordered for PyTorch: the map for import, export and golden files. */
typedef enum ct_param_layout {
    CT_PARAM_PLAIN,   /* same order */
    CT_PARAM_FILTER,  /* ours [K,R,S,C], theirs [K,C,R,S] */
    CT_PARAM_FILTER1D,/* ours [K,1,S,C], theirs [K,C,S]: of a one-dimensional convolution */
    CT_PARAM_TRANSPOSED, /* ours [O,I], theirs [I,O]: of a product that is not torch's Linear */
    CT_PARAM_FLATTEN  /* ours [O, H*W*C], theirs [O, C*H*W]: a Linear behind a flatten; hwc[] */
} ct_param_layout;

/* How a parameter starts (drawn from (seed, CT_RNG_INIT, parameter number, element)). */
typedef enum ct_init_kind {
    CT_INIT_ZERO, CT_INIT_ONE,
    CT_INIT_UNIFORM,        /* U(-bound, bound) */
    CT_INIT_NORMAL,         /* N(0, bound^2) */
    CT_INIT_CONSTANT        /* bound */
} ct_init_kind;

typedef struct ct_init { ct_init_kind kind; double bound; } ct_init;

typedef struct ct_value {
    char *name;              /* "features.0.weight" (PyTorch's name for parameters and buffers), "relu1.out", ... unique */
    uint32_t name_hash;      /* of name, so that looking one up is quick */
    ct_desc desc;
    ct_arena arena;
    int64_t offset;          /* bytes within its arena; -1 until laid out (ACT and INPUT: by the memory plan) */
    int producer;            /* node index; -1 for inputs, parameters, buffers, state, and what a removed node gave */
    ct_val root;             /* the value whose memory this is (views); itself otherwise */
    bool keep;               /* read by the host afterwards: stays until the plan's end */
    bool needs_grad;         /* a parameter, or depends on one */
    bool range;              /* part of a flat arena (ct_graph_range), not a tensor of the model */
    ct_val grad;             /* after autodiff: its gradient, a parameter's in arena GRAD, or in GRAD16 if ct_pass_flat left
                                it there; CT_NOVAL if none */
    bool still;              /* a parameter whose gradient is zero whatever the data are, and not computed (ct_pass_still) */
    /* parameters and buffers */
    ct_init init;
    bool dirac;              /* of filters [K,R,S,C]: then filter k < min(K,C) becomes the one that gives channel k as it is */
    bool decay;              /* takes weight decay when norm and bias parameters are exempt */
    int group;               /* parameters of one number lie together, by rising numbers (ct_layout_make) */
    bool first, last;        /* ct_graph_ends: reads the input before any other matrix, gives the output behind all others */
    ct_param_layout layout;
    int64_t hwc[3];          /* CT_PARAM_FLATTEN */
} ct_value;

/* Nodes of LOAD make what depends on the weights alone, and stay in front of all others: a plan runs them only where
 * the weights are not those that they ran for, or were written by the host since. */
typedef enum ct_phase { CT_PHASE_FORWARD, CT_PHASE_BACKWARD, CT_PHASE_UPDATE, CT_PHASE_LOAD } ct_phase;

typedef struct ct_node {
    ct_op op;
    ct_attrs attrs;
    int nin, nout;
    ct_val in[CT_MAX_IN], out[CT_MAX_OUT];
    char *name;              /* "features.0", "features.0.dgrad" */
    ct_phase phase;
    int clone_of;            /* recompute: index of the forward node this repeats at the time of cloning, else -1 */
} ct_node;

typedef struct ct_graph {
    ct_value *values; size_t nvalues, cap_values;
    ct_node *nodes; size_t nnodes, cap_nodes;
    ct_val *checkpoints; size_t ncheckpoints, cap_checkpoints; /* values between recompute segments, in order */
    ct_phase phase;          /* of nodes added now */
} ct_graph;

/* ---- building ----
 * A function that only adds leaves the graph as it was when it fails. A pass that fails leaves a graph that can only be
 * freed. */
ct_status ct_graph_create(ct_graph **out);
void ct_graph_free(ct_graph *g);  /* NULL is fine */

/* Adds a value without a producer. The name is copied; a name that exists gives CT_EINVAL. */
ct_status ct_graph_input(ct_graph *g, const char *name, ct_desc desc, ct_val *out);
/* The images of arena DATA as a value, from its first byte on. */
ct_status ct_graph_resident(ct_graph *g, const char *name, ct_desc desc, ct_val *out);
ct_status ct_graph_param(ct_graph *g, const char *name, ct_desc desc, ct_init init, bool decay, ct_val *out);
ct_status ct_graph_buffer(ct_graph *g, const char *name, ct_desc desc, ct_init init, ct_val *out);
/* The step state and the metric accumulators (one of each per graph; later calls give the same value). */
ct_status ct_graph_state(ct_graph *g, ct_val *out);
ct_status ct_graph_metrics(ct_graph *g, ct_val *out);
/* Elements [first, first+count) of a flat arena as a value [count] of `dtype`, for optimizer operators. */
ct_status ct_graph_range(ct_graph *g, const char *name, ct_arena arena, ct_dtype dtype, int64_t first, int64_t count, ct_val *out);

/* Adds a node: checks and infers by the operator's shape rule, creates its outputs (named name, name.1, ...; where such
 * a name is taken, "~2", "~3", ... follows).
 * out_mask bit i clear = output i is not wanted (only for optional outputs). Writes outs[nout]. attrs NULL = all zero. */
ct_status ct_graph_node(ct_graph *g, ct_op op, const ct_attrs *attrs, const char *name, int nin, const ct_val *in,
                        int nout, unsigned out_mask, ct_val *outs);

/* Marks the parameters with two and more dimensions before and behind which no other lies on a way from the inputs to
 * what nobody reads. Forward graphs as models build them. */
ct_status ct_graph_ends(ct_graph *g);
/* Has the filters of convolutions of one group start as identities as far as there are channels. The same graphs. */
void ct_graph_dirac(ct_graph *g);
ct_status ct_graph_mark_checkpoint(ct_graph *g, ct_val v); /* a block of the model ends at v */
void ct_graph_keep(ct_graph *g, ct_val v);
ct_val ct_graph_find(const ct_graph *g, const char *name); /* CT_NOVAL if there is none */
static inline const ct_desc *ct_graph_desc(const ct_graph *g, ct_val v) { return &g->values[v].desc; }
/* Whether v is one of the model's parameters or buffers. */
static inline bool ct_graph_is_weight(const ct_graph *g, ct_val v)
{
    ct_arena a = g->values[v].arena;
    return (a == CT_ARENA_PARAM || a == CT_ARENA_BUFFER) && !g->values[v].range && g->values[v].root == v;
}

/* The call of node i with descriptors filled in and data NULL. */
void ct_graph_call(const ct_graph *g, size_t node, ct_call *out);

/* ---- passes (each leaves a valid graph; the order is freeze, fuse, cast, pad, autodiff, recompute or reapply) ---- */

/* Merges batchnorm [+ add] + relu or silu, and batchnorm + add; returns the number of nodes removed in *removed (may be NULL). */
ct_status ct_pass_fuse(ct_graph *g, int *removed);

/* Merges batchnorm with relu and the 2x2 max-pooling, or 3x3 with a stride of 2, that alone reads what it gives:
 * batchnorm_pool; or the mean over all pixels: batchnorm_mean; and batchnorm with relu and the batchnorm that gives
 * its summand: batchnorm_sum. None of these stores the values in between or, backward, their gradient. Behind
 * ct_pass_fuse; *removed as there. */
ct_status ct_pass_fuse_more(ct_graph *g, int *removed);

/* Precision: activations and matrix work in `compute` (CT_BF16, CT_F16; CT_F32 and CT_F64 do nothing); inserts casts by
 * ct_op_rules.precision. Forward graphs only. */
ct_status ct_pass_cast(ct_graph *g, ct_dtype compute);

/* Batch norms of a training graph of `samples` samples, which are some of a batch of `of`, take their statistics from
 * all: batchnorm becomes batchnorm_moments, group_sum, batchnorm_joint. Behind ct_pass_fuse, before gradients. *joined
 * (may be NULL): how many. CT_EINVAL: gradients are there, or a norm whose rows the samples do not share evenly. */
ct_status ct_pass_sync(ct_graph *g, int64_t samples, int64_t of, int *joined);
/* What such norms give backward and what comes back through their moments is one node, which rounds once and writes
 * once. Right behind autodiff; *joined (may be NULL): how many. */
ct_status ct_pass_sync_gradients(ct_graph *g, int *joined);

/* Pads the images' channels with zeros to a multiple: preprocessing writes x [N,H,W,Cpad], or ready input is [N,H,W,Cpad] and whoever
 * uploads it puts the zeros there; the convolutions that read it take filters padded by fit_channels. Parameters keep
 * [K,R,S,C], and losses and gradients are the same: sums with zeros added. Views of whole pixels and products with something else
 * are padded along. Images that anything else but convolutions of one group reads stay as they are. `multiple` 0 and 1 do nothing. Forward graphs only. */
ct_status ct_pass_pad(ct_graph *g, int64_t multiple);

/* Freezes the parameters whose names match one of n patterns (ct_name_matches): they get no gradient, and no node is
 * differentiated that only they and inputs lead to. A batch norm both of whose parameters are frozen normalises by its
 * running statistics, which then stay as they are. Forward graphs only, before the other passes. CT_ECONFIG for a pattern
 * that matches no parameter, when nothing is left to train, and for a frozen batch norm behind layers that are trained. */
ct_status ct_pass_freeze(ct_graph *g, char *const *patterns, size_t n);
/* "cnn.0" matches cnn.0 and all names that begin with "cnn.0."; with one of * ? [ in it, a pattern is a glob over the whole
 * name ("rnn*.bias_*"). */
bool ct_name_matches(const char *pattern, const char *name);
bool ct_name_matches_any(char *const *patterns, size_t n, const char *name);

/* Extends g by the gradient of scalar `loss`, seeded with value `seed` [1]. Afterwards values[p].grad is the gradient of every
 * parameter that has a path to the loss and lies in CT_ARENA_GRAD; others have CT_NOVAL. New nodes are CT_PHASE_BACKWARD. */
ct_status ct_autodiff(ct_graph *g, ct_val loss, ct_val seed);

/* Recompute (gradient checkpointing): after autodiff. `segments` = 0: one segment per marked checkpoint; n > 0: merged to about n.
 * *recomputed (may be NULL) gets the number of cloned nodes. */
ct_status ct_pass_recompute(ct_graph *g, int segments, int *recomputed);

/* Batch norms whose output the backward pass reads are applied again there, from their input and the stored statistics, where
 * that makes nothing else live longer: outputs need not be kept, gradients are the same bit for bit. After autodiff, instead of
 * recompute. Outputs of at most `keep` bytes in all are kept nevertheless, the first that fit in the order of the nodes: one pass
 * over memory less for each. *added (may be NULL) gets the number of new nodes. */
ct_status ct_pass_reapply(ct_graph *g, int64_t keep, int *added);

/* Does not compute the gradients of biases that a batch norm takes away again: they are zero. Their parameters are marked, and stay where they
 * are, but for weight decay; *found (may be NULL) gets their number. Right behind autodiff. */
ct_status ct_pass_still(ct_graph *g, int *found);

/* Sums of two gradients that only the gradient of a batch norm reads become two inputs of that: the sum is not stored, and of what the gradient of
 * a 1x1 convolution with a stride gives only the pixels that are not zero are. Behind autodiff; *found (may be NULL) gets the number of sums. */
ct_status ct_pass_join(ct_graph *g, int *found);

/* Of two gradients that are summed, the data gradient of a convolution, if it is the later one, is added to the other as it is written. Behind autodiff;
 * *found (may be NULL) gets the number of sums. */
ct_status ct_pass_accumulate(ct_graph *g, int *found);

/* Batch norms of what a convolution gives take their statistics from moments that it gives besides, and do not read it for them. Last of the
 * passes over forward nodes; *found (may be NULL) gets the number of norms. */
ct_status ct_pass_measure(ct_graph *g, int *found);

/* What a graph has in 16 bits; zeros: nothing. */
typedef struct ct_flat {
    ct_dtype half;  /* the type */
    bool copies;    /* all of PARAM is in PARAM16, too: whoever writes the one writes the other */
    int64_t grads;  /* gradients [0, grads), elements, were left in GRAD16, and are not in GRAD */
} ct_flat;

/* Casts of parameters to `half`, and of their gradients back, become one call each run of them that lie side by side,
 * by way of arenas PARAM16 and GRAD16; the same bits. That of the parameters, of all `elems` that the layout has, is
 * of phase LOAD: the update keeps PARAM16 up. With `leave` the first run of gradients is not cast back, for an update
 * that reads it in 16 bits. Last of all passes, on a graph with a layout. Types of more than 16 bits: does nothing.
 * Gradients are complete later for it, so not for groups that sum some while others are computed. */
ct_status ct_pass_flat(ct_graph *g, ct_dtype half, int64_t elems, bool leave, ct_flat *out);

/* Removes nodes none of whose outputs is read, kept, or in an arena other than ACT, and that mutate nothing. */
ct_status ct_pass_dead(ct_graph *g);

/* ---- layout of the flat arenas: a function of the model alone, equal for all batch sizes ---- */
typedef struct ct_layout {
    int64_t param_elems;   /* elements of PARAM (and GRAD, OPT1, ...), padding included; each tensor starts on CT_ALIGN bytes */
    int64_t decay_elems;   /* [0, decay_elems) take weight decay when norm and bias are exempt; the rest does not */
    int64_t train_elems;   /* [0, train_elems) have a gradient; parameters without one lie behind */
    int64_t buffer_elems;
    int64_t params;        /* number of parameter elements without padding: what people call "parameters" */
    ct_dtype dtype;        /* type A of the model: CT_F32 or CT_F64 */
} ct_layout;

/* Assigns offsets in PARAM, GRAD and BUFFER. Before autodiff every parameter is taken to be trained; after it those without a gradient
 * go behind train_elems. A model's training and evaluation graphs must agree: see ct_layout_apply. */
ct_status ct_layout_make(ct_graph *g, ct_layout *out);
/* Gives the parameters and buffers of g (matched by name) the offsets they have in `from`; an unmatched one is an error naming it. */
ct_status ct_layout_apply(ct_graph *g, const ct_graph *from);

/* ---- memory plan ---- */
typedef struct ct_memplan {
    int64_t act_bytes;      /* size of the ACT arena, scratch included */
    int64_t input_bytes;    /* size of the INPUT arena */
    int64_t lower_bound;    /* most bytes alive at one node: no plan can be smaller */
    int64_t unshared_bytes; /* sum of all ACT values and of all scratch: what it would take without reuse */
    int64_t *scratch_offset; size_t nscratch; /* [nnodes] bytes within ACT; -1 = none */
} ct_memplan;

/* Places INPUT and ACT values (writes values[].offset) and scratch. scratch[nnodes] = bytes each node asked for (NULL: none). */
ct_status ct_memplan_make(ct_graph *g, const size_t *scratch, ct_memplan *out);
void ct_memplan_free(ct_memplan *m); /* its members; NULL is fine */

/* First and last node index at which each value's memory (of its root) is alive; [nvalues] each. Values outside ACT
 * live in all nodes; what a removed node gave has -1 and -1. */
ct_status ct_liveness(const ct_graph *g, int *first, int *last);

/* ---- printing ---- */
/* A line per node: name, operator, output shape, FLOPs, bytes; `impl` [nnodes] names the chosen implementation (NULL: left out). */
void ct_graph_print(const ct_graph *g, const char *const *impl, FILE *out);
/* The same as one JSON object per line: {"node":0,"phase":"forward","clone_of":null,"name":..,"op":..,"call":..,
 * "inputs":[names],"outputs":[names],"flops":..,"bytes":..,"impl":..}; impl is left out when NULL. */
void ct_graph_print_json(const ct_graph *g, const char *const *impl, FILE *out);
/* FLOPs and least bytes moved by the nodes of one phase. */
void ct_graph_cost(const ct_graph *g, ct_phase phase, double *flops, double *bytes);
const char *ct_phase_name(ct_phase p); /* "forward", "backward", "update" */

#endif
