/* Golden files: training steps that PyTorch made, repeated here and compared tensor by tensor.
 *
 * A file (safetensors, format "peer_torch golden 1", see doc/formats.md) holds a model's start (param.*, buffer.*),
 * a batch (input.*), what the first step computed (output.logits, loss, grad.*), the weights after one and three
 * AdamW steps (param1.*, buffer1.*, param3.*, buffer3.*), the three losses, and the outputs in evaluation mode
 * after the third (eval3.*). Tensors are row-major NCHW / OIHW.
 *
 * An f64 file is run on the reference implementations in f64; an f32 file on the normal implementations of each
 * backend that works here, or of the one asked for, with `exact`. Comparisons are relative L2 differences per
 * tensor, |ours - file| / |file|:
 *
 *                      f64                 f32
 *   loss               1e-10               1e-5
 *   output.*           1e-10               1e-3: rounding makes 1e-5 of it where outputs are near 0
 *   grad.*             1e-10               max(1e-5, 30 times the file's fp32_noise of that tensor); ct_golden_noise
 *   param1.*           1e-8                1e-6, from AdamW fed with the file's own grad.*
 *   buffer1.*          1e-8                1e-5
 *   losses 2 and 3, param3.*, buffer3.*, eval3.*   1e-8   printed, not judged
 *
 * With `inexact` an f32 file is run on the implementations that a training takes by default, which trade accuracy for
 * speed (Winograd); then grad.* may differ by 100 times the file's fp32_noise.
 *
 * In an f32 run a ReLU or a max-pool may decide otherwise than in f64 where values lie within rounding of a tie (a few
 * in a million do). The gradients then belong to different linear pieces of the function. Before the first backward
 * pass such decisions are settled as in f64 on our own reference, and counted below the table; a difference that is
 * more than rounding is left as it is.
 *
 * A CTC model's logits are compared after log_softmax, which our program ends in: a constant added to all classes of a
 * time step is no difference. The file's target has classes (0 is the blank, zeros fill up), input.target_lens and
 * input.out_lens the lengths.
 *
 * Not judged either: gradients and updates of the file's zero_grad_params, whose gradient is rounding noise. After each
 * step they are set to what the file has (between steps 2 and 3 to the middle of what it has before and after), since
 * running means and evaluation depend on them.
 * A file of a large network may leave gradients out (left_out_grads); they are not judged.
 * Parameters in no_grad_params must have no gradient here and must not change. num_batches_tracked must have
 * counted the steps. */
#ifndef CT_SELFTEST_GOLDEN_H
#define CT_SELFTEST_GOLDEN_H

#include <jansson.h>

#include "formats/safetensors.h"
#include "program/program.h"

/* ---- the whole ---- */

/* Runs the file and prints a table, worst tensor first, per backend. CT_EINTERNAL if a comparison is beyond its
 * tolerance (the message names the worst tensor by the file's name); CT_EFORMAT for a file that is not such a
 * golden file or does not fit the model. */
ct_status ct_golden_check(const char *path, const ct_common *common, bool inexact, FILE *to);

/* ---- parts (golden_file.c, golden_table.c) ---- */

typedef struct ct_golden {
    const char *path;
    ct_safetensors *st;
    ct_program_spec spec;       /* model, batch, loss, AdamW as the file says; its strings point into this struct */
    char model[32];
    json_t *no_grad, *zero_grad;/* arrays of names */
    json_t *left_out;           /* array of names whose gradients the file has not; NULL: it has all */
    json_t *noise;              /* object: parameter -> relative L2 of torch fp32 against fp64; NULL: none */
    double usual_noise;         /* the median of these; 0: none */
    void *x;                    /* [N,H,W,C] of the file's type */
    ct_golden_batch batch;      /* fields and time steps of the samples */
    uint8_t *keep;              /* dropout mask [N,hidden], NULL if none */
} ct_golden;

ct_status ct_golden_open(const char *path, ct_golden *out);
void ct_golden_close(ct_golden *g); /* members; idempotent */

/* The file's tensor "<prefix><name of v>" in our order and in v's type, into memory of ct_desc_bytes(). *found =
 * false if the file has none. */
ct_status ct_golden_read(const ct_golden *g, const char *prefix, const ct_value *v, void *ours, bool *found);
bool ct_golden_listed(const json_t *names, const char *name);

/* Rounding noise of a parameter's gradient, relative, as the file measured it: the norm of one draw. Over many elements
 * that tells how large the noise is. Over few it may be near 0 by luck, so up to CT_GOLDEN_FEW elements have at least
 * the noise that is usual in the file. 0 if the file says nothing. */
#define CT_GOLDEN_FEW 4
double ct_golden_noise(const ct_golden *g, const ct_value *v);

/* Decisions of ReLU and max-pool that lie within rounding of a tie (golden_ties.c). */
typedef struct ct_golden_ties {
    int64_t decisions; /* looked at */
    int64_t settled;   /* decided otherwise than in f64, and set as there */
} ct_golden_ties;

/* Number of nodes of the forward pass, which come first. */
size_t ct_golden_forward_end(const ct_graph *g);
/* Between forward and backward pass of two plans of the same step, one in f32, one in f64, that have run their forward
 * nodes on the same weights and batch: decisions of the f32 one that differ and are ties, for an exact or an inexact
 * run, are overwritten. Adds to *ties. */
ct_status ct_golden_settle(ct_plan *f32, ct_plan *f64, bool inexact, ct_golden_ties *ties);

/* One comparison. */
typedef struct ct_golden_row {
    char name[192];     /* the file's */
    double error;       /* relative difference; NaN counts as beyond any tolerance */
    double tolerance;   /* 0: not judged */
} ct_golden_row;

typedef struct ct_golden_table {
    ct_golden_row *rows;
    size_t n, cap;
} ct_golden_table;

ct_status ct_golden_add(ct_golden_table *t, const char *prefix, const char *name, double error, double tolerance);
/* |ours - theirs| / |theirs| over n elements of dtype d; |ours| if theirs is all zero. */
double ct_golden_difference(ct_dtype d, const void *ours, const void *theirs, int64_t n);
/* Sorts by error over tolerance, worst first, and prints. Returns the number of rows beyond their tolerance. */
size_t ct_golden_print(ct_golden_table *t, FILE *to);
void ct_golden_table_free(ct_golden_table *t);

#endif
