/* Scores of a model file for pictures that are in FILE, beside those that another program gave: tests/pickle/scores MODEL FILE [OUTPUT...].
 *
 * FILE is safetensors: x [N,H,W,C], of clips [N,F,H,W,C], normalised; and scores [N,K], of CTC models [T,N,K] before a log_softmax, or with
 * OUTPUT tensors of these names, maps as [N,h,w,C]. Exit 1 where one differs by more than 1e-4, or where all are alike. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/safetensors.h"
#include "models/models.h"
#include "program/spec.h"
#include "session/session.h"
#include "tests/onnx/even.h"
#include "weights/checkpoint.h"

#define BATCH 32 /* pictures at a time */

static double *doubles(const ct_st_tensor *t)
{
    double *d = malloc((size_t)ct_desc_numel(&t->desc) * sizeof *d);
    if (d) ct_st_read(t, CT_F64, d);
    return d;
}

/* Rows of k numbers as logarithms of probabilities. */
static void log_softmax(double *v, int64_t n, int64_t k)
{
    for (int64_t i = 0; i < n; i += k) {
        double most = v[i], sum = 0;
        for (int64_t j = 0; j < k; j++) most = fmax(most, v[i + j]);
        for (int64_t j = 0; j < k; j++) sum += exp(v[i + j] - most);
        for (int64_t j = 0; j < k; j++) v[i + j] -= most + log(sum);
    }
}

/* A file's pictures and scores, and what was found of them so far. */
typedef struct rows {
    const char *port;
    const ct_st_tensor *x, *scores;
    double *theirs; /* [N,K] or [T,N,K] as in the file */
    int64_t n, t, k; /* pictures; time steps, 1 without; scores of a step */
    bool ctc;
    double worst, least, most;
} rows;

/* Scores of the pictures first .. first+n-1, which the program gave in `got`: [T,batch,K] or [batch,K]. */
static void compare(rows *r, const float *got, int64_t batch, int64_t first, int64_t n, double *ours, double *theirs)
{
    for (int64_t t = 0; t < r->t; t++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t c = 0; c < r->k; c++) {
                ours[(t * n + i) * r->k + c] = (double)got[(t * batch + i) * r->k + c];
                theirs[(t * n + i) * r->k + c] = r->theirs[(t * r->n + first + i) * r->k + c];
            }
    const int64_t all = r->t * n * r->k;
    if (r->ctc) log_softmax(ours, all, r->k), log_softmax(theirs, all, r->k);
    for (int64_t i = 0; i < all; i++) {
        r->worst = fmax(r->worst, fabs(ours[i] - theirs[i]));
        r->least = fmin(r->least, theirs[i]);
        r->most = fmax(r->most, theirs[i]);
    }
}

/* All pictures, as many at a time as the program takes; the last batch is filled up with zeros. */
static ct_status walk(rows *r, ct_unit *u)
{
    const ct_val out = ct_program_port(&u->prog, r->port);
    if (out == CT_NOVAL) return ct_fail(CT_EFORMAT, "the model has no output %s", r->port);
    const ct_desc d = *ct_graph_desc(u->prog.graph, out);
    const int64_t each = ct_desc_numel(&r->x->desc) / r->n, all = ct_desc_numel(&d);
    if (all != u->rows * r->t * r->k) return ct_fail(CT_EFORMAT, "%d scores of %d pictures, not %d", (int)all, (int)u->rows, (int)(u->rows * r->t * r->k));
    float *got = malloc(ct_desc_bytes(&d)), *in = calloc((size_t)(u->rows * each), sizeof *in);
    float *whole = malloc(r->x->bytes);
    double *ours = malloc((size_t)all * sizeof *ours), *theirs = malloc((size_t)all * sizeof *theirs);
    int32_t *len = malloc((size_t)u->rows * sizeof *len);
    const ct_val steps = ct_program_role(&u->prog, CT_PORT_STEPS);
    ct_status st = got && in && whole && ours && theirs && len ? CT_OK : CT_ENOMEM;
    if (st == CT_OK) ct_st_read(r->x, CT_F32, whole);
    for (int64_t i = 0; st == CT_OK && i < u->rows; i++) len[i] = (int32_t)r->t;
    if (st == CT_OK && steps != CT_NOVAL) st = ct_plan_upload(u->plan, steps, len);
    for (int64_t first = 0; st == CT_OK && first < r->n; first += u->rows) {
        const int64_t n = r->n - first < u->rows ? r->n - first : u->rows;
        memcpy(in, whole + first * each, (size_t)(n * each) * sizeof *in);
        st = ct_plan_upload(u->plan, ct_program_role(&u->prog, CT_PORT_READY), in);
        if (st == CT_OK) st = ct_plan_run(u->plan);
        if (st == CT_OK) st = ct_plan_download(u->plan, out, got);
        if (st == CT_OK) compare(r, got, u->rows, first, n, ours, theirs);
    }
    free(got), free(in), free(whole), free(ours), free(theirs), free(len);
    return st;
}

/* *spread: how far apart the scores of any output are. */
static ct_status check(const ct_safetensors *st, const char *port, ct_session *s, double *spread)
{
    const ct_model_spec *m = &s->spec.model;
    rows r = { .port = port ? port : "logits", .x = ct_safetensors_find(st, "x"), .least = HUGE_VAL, .most = -HUGE_VAL };
    r.scores = ct_safetensors_find(st, port ? port : "scores");
    if (!r.scores) return ct_fail(CT_EFORMAT, "no tensor %s", port ? port : "scores");
    r.ctc = ct_model_head(m) == CT_HEAD_CTC;
    r.n = r.x->desc.dim[0];
    r.t = r.ctc ? r.scores->desc.dim[0] : 1;
    r.k = ct_desc_numel(&r.scores->desc) / (r.n * r.t);
    if (!(r.theirs = doubles(r.scores))) return CT_ENOMEM;
    const ct_status st_walk = walk(&r, ct_session_predictor(s, ct_session_length(s), 1));
    free(r.theirs);
    CT_TRY(st_walk);
    printf("%d scores from %.3g to %.3g; ours differ by at most %.2g\n", (int)ct_desc_numel(&r.scores->desc), r.least,
           r.most, r.worst);
    *spread = fmax(*spread, r.most - r.least);
    return r.worst <= 1e-4 ? CT_OK : ct_fail(CT_EINTERNAL, "scores differ by %g", r.worst);
}

static ct_status run(const char *model, const char *file, char *const *output, int outputs)
{
    ct_model_file m;
    ct_safetensors *st;
    ct_program_spec spec;
    ct_session s = { 0 };
    char why[256];
    const ct_device_opts opts = { .threads = 2, .exact = true };
    CT_TRY(ct_model_file_open(model, &m));
    CT_TRY(ct_safetensors_open(file, &st));
    const ct_st_tensor *x = ct_safetensors_find(st, "x");
    if (!x || x->desc.ndim < 4) return ct_fail(CT_EFORMAT, "%s: no x [N,H,W,C]", file);
    const int64_t *d = x->desc.dim, clip = x->desc.ndim == 5, n = d[0];
    CT_TRY(ct_spec_from_config(m.cfg, m.facts, (int)d[1 + clip], (int)d[2 + clip], clip ? d[1] : 0, 1, &spec));
    spec.accumulate = 1;
    spec.src_h = 0; /* ready input, src_w wide */
    CT_TRY(ct_session_begin(&s, &spec, false, "cpu", &opts, why, sizeof why));
    CT_TRY(ct_session_add(&s, CT_PROGRAM_PREDICT, n < BATCH ? n : BATCH, ct_session_length(&s), 1, false));
    CT_TRY(ct_session_ready(&s));
    CT_TRY(ct_checkpoint_load_weights(&s, m.st, model, m.prefix, false));
    double spread = 0;
    ct_status worst = outputs > 0 ? CT_OK : check(st, NULL, &s, &spread);
    for (int i = 0; i < outputs && worst == CT_OK; i++) worst = check(st, output[i], &s, &spread);
    ct_session_end(&s);
    ct_safetensors_close(st);
    ct_model_file_close(&m);
    CT_TRY(worst);
    return spread > 0.1 ? CT_OK : ct_fail(CT_EINTERNAL, "the scores say nothing");
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    if (even_models_add() != CT_OK) return 2;
    if (run(argv[1], argv[2], argv + 3, argc - 3) == CT_OK) return 0;
    fprintf(stderr, "%s: %s\n", argv[1], ct_error_message());
    return 1;
}
