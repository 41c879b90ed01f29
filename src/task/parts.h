/* What a task adds to a program behind the model's outputs: fields of the samples, weighted loss terms, predictions,
 * metric sums. */
#ifndef CT_TASK_PARTS_H
#define CT_TASK_PARTS_H

#include "data/labels.h"
#include "graph/graph.h"
#include "models/models.h"

#define CT_PARTS_MAX 16   /* fields and results of a program, each */
#define CT_TERMS_MAX (CT_MAX_IN - 2) /* terms of a loss: batch_sums takes the loss and the sums beside them */
#define CT_GOAL_VALUES 32
/* Metric slots of the terms of a loss, where there are several: their sums times samples, in the order of the terms. A
 * task's own slots end before. */
#define CT_METRIC_TERMS (CT_METRIC_COUNT - CT_PARTS_MAX)

typedef struct ct_task ct_task;

/* What is trained for: a loss of a task and its numbers, which the task alone understands. */
typedef struct ct_goal {
    const ct_task *task;
    int loss;                      /* the task's own enumeration */
    double value[CT_GOAL_VALUES];
} ct_goal;

/* How the pixels of a program's samples move on their way to x. */
typedef struct ct_moves {
    ct_val index;                  /* i32 [N,3]; CT_NOVAL: ready input, nothing moves */
    ct_attrs attrs;                /* of PREPROCESS */
    int64_t src_h, src_w;          /* pixels */
} ct_moves;

typedef struct ct_part {
    const char *name;
    ct_val val;
    double weight;                 /* of a term */
} ct_part;

typedef struct ct_parts {
    /* given */
    ct_graph *g;
    const ct_model_spec *model;
    const ct_goal *goal;
    int64_t batch;                 /* samples */
    bool training, labels;         /* labels: losses and sums are wanted */
    bool inspect;                  /* what losses are made of is wanted as results, too: golden files */
    ct_val x;                      /* what the model reads [N,H,W,C] */
    ct_val out[CT_MODEL_OUTPUTS];  /* of the model, in the order of its row */
    ct_val steps;                  /* i32 [N] valid time steps; CT_NOVAL for models without */
    ct_moves moves;
    /* made */
    ct_part score[CT_MODEL_OUTPUTS];
    int scores; /* what stands for the model's outputs: the task may put a node behind one */
    ct_part field[CT_PARTS_MAX]; int fields;     /* inputs, before they moved */
    ct_part term[CT_PARTS_MAX]; int terms;
    ct_part result[CT_PARTS_MAX]; int results;
} ct_parts;

/* An input [batch, dim..] that the samples' field `name` fills. *out: the value to use, moved with the pixels if kind
 * says so. */
ct_status ct_parts_field(ct_parts *p, const char *name, ct_dtype dtype, ct_field_kind kind, int ndim,
                         const int64_t *dim, ct_val *out);
/* A scalar loss [1] that counts `weight` times. It is summed and told by its name. */
ct_status ct_parts_term(ct_parts *p, const char *name, ct_val loss, double weight);
/* An output that is kept for scoring. */
ct_status ct_parts_result(ct_parts *p, const char *name, ct_val v);
/* Replaces score k: what programs give instead of the model's own output. */
void ct_parts_score(ct_parts *p, int k, ct_val v);

#endif
