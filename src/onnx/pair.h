/* Inside src/onnx: a model and the graph of a file side by side, for batches of one size. */
#ifndef CT_ONNX_PAIR_H
#define CT_ONNX_PAIR_H

#include "onnx/runner.h"
#include "session/session.h"

/* What pairs of one file share, as they run one after another: memory of the file's graphs, that of what stands before
 * and behind them, which has no weights, and pictures on the host. Zeroed: none yet. */
typedef struct ct_onnx_shared {
    ct_onnx_store file;
    ct_arenas *ends;
    float *x; /* [N,H,W,C], what the file is given */
    size_t bytes;
} ct_onnx_shared;
void ct_onnx_shared_free(ct_onnx_shared *s); /* behind all pairs */

/* For one program of the session: the file's graph for its batch and length; what makes its input of pixels; and what
 * reads its scores, the end of the model's own program. */
typedef struct ct_onnx_pair {
    const ct_model_use *use;
    const ct_onnx_form *form;
    const char *path;
    const ct_unit *unit;
    ct_onnx_runner run;
    ct_onnx_shared *shared;
    ct_program input;
    ct_plan *input_plan;
    ct_graph *end;
    ct_plan *end_plan;
    ct_parts parts;                  /* of the end */
    ct_val scores[CT_MODEL_OUTPUTS]; /* its inputs, in the order of the file's outputs; */
    ct_val end_x, end_len;           /* the pictures and the time steps. CT_NOVAL: it has none */
    float *file[CT_MODEL_OUTPUTS], *mine[CT_MODEL_OUTPUTS]; /* scores as the file has them, and as the model has */
    void *own, *theirs;              /* room for a score of both programs */
} ct_onnx_pair;

ct_status ct_onnx_pair_open(ct_model_use *use, const Onnx__ModelProto *m, const ct_onnx_form *form, const char *path,
                            const ct_unit *unit, ct_onnx_shared *shared, ct_onnx_pair *out);
void ct_onnx_pair_close(ct_onnx_pair *q); /* a zeroed one is fine */
/* A batch through the file's graph and the end behind it. Samples of `data` are called in messages as it calls them. */
ct_status ct_onnx_pair_run(ct_onnx_pair *q, const ct_batch *b);
/* All scores of a batch that went through both: CT_EDATA naming the sample where two differ. *worst: the largest
 * difference so far. */
ct_status ct_onnx_pair_compare(ct_onnx_pair *q, const ct_batch *b, double *worst);

#endif
