/* Scores of a model file for pictures that are in FILE, beside those that PyTorch gave: tests/pickle/scores MODEL FILE.
 *
 * FILE is safetensors: x [N,H,W,C], normalised, and scores [N,K], of CTC models [T,N,K] before a log_softmax. Exit 1 where one differs
 * by more than 1e-4 of what they all reach, or where all are alike. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/safetensors.h"
#include "models/models.h"
#include "program/spec.h"
#include "session/session.h"
#include "weights/checkpoint.h"

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

static ct_status compare(const ct_safetensors *st, ct_unit *u, bool ctc)
{
    const ct_st_tensor *x = ct_safetensors_find(st, "x"), *want = ct_safetensors_find(st, "scores");
    const ct_val out = ct_program_port(&u->prog, "logits");
    const ct_desc d = *ct_graph_desc(u->prog.graph, out);
    const int64_t n = ct_desc_numel(&d), k = want->desc.dim[want->desc.ndim - 1];
    double worst = 0, least = HUGE_VAL, most = -HUGE_VAL;
    if (n != ct_desc_numel(&want->desc)) return ct_fail(CT_EFORMAT, "other sizes");
    float *got = malloc(ct_desc_bytes(&d)), *in = malloc(x->bytes);
    double *ours = malloc((size_t)n * sizeof *ours), *theirs = doubles(want);
    ct_st_read(x, CT_F32, in);
    CT_TRY(ct_plan_upload(u->plan, ct_program_role(&u->prog, CT_PORT_READY), in));
    const ct_val steps = ct_program_role(&u->prog, CT_PORT_STEPS);
    int32_t len[64];
    for (int i = 0; i < 64; i++) len[i] = (int32_t)d.dim[0];
    if (steps != CT_NOVAL && x->desc.dim[0] <= 64) CT_TRY(ct_plan_upload(u->plan, steps, len));
    CT_TRY(ct_plan_run(u->plan));
    CT_TRY(ct_plan_download(u->plan, out, got));
    for (int64_t i = 0; i < n; i++) ours[i] = (double)got[i];
    if (ctc) log_softmax(ours, n, k), log_softmax(theirs, n, k);
    for (int64_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs(ours[i] - theirs[i]));
        least = fmin(least, theirs[i]);
        most = fmax(most, theirs[i]);
    }
    printf("%d scores from %.3g to %.3g; ours differ by at most %.2g\n", (int)n, least, most, worst);
    free(got), free(in), free(ours), free(theirs);
    if (!(most - least > 0.1)) return ct_fail(CT_EINTERNAL, "the scores say nothing");
    return worst <= 1e-4 ? CT_OK : ct_fail(CT_EINTERNAL, "scores differ by %g", worst);
}

static ct_status run(const char *model, const char *file)
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
    CT_TRY(ct_spec_from_config(m.cfg, m.facts, (int)x->desc.dim[1], (int)x->desc.dim[2], 0, 1, &spec));
    spec.accumulate = 1;
    spec.src_h = spec.src_w = 0; /* ready input */
    CT_TRY(ct_session_begin(&s, &spec, false, "cpu", &opts, why, sizeof why));
    CT_TRY(ct_session_add(&s, CT_PROGRAM_PREDICT, x->desc.dim[0], ct_session_length(&s), 1, false));
    CT_TRY(ct_session_ready(&s));
    CT_TRY(ct_checkpoint_load_weights(&s, m.st, model, m.prefix, false));
    ct_unit *u = ct_session_predictor(&s, ct_session_length(&s), 1);
    CT_TRY(compare(st, u, ct_model_head(&spec.model) == CT_HEAD_CTC));
    ct_session_end(&s);
    ct_safetensors_close(st);
    ct_model_file_close(&m);
    return CT_OK;
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    if (run(argv[1], argv[2]) == CT_OK) return 0;
    fprintf(stderr, "%s: %s\n", argv[1], ct_error_message());
    return 1;
}
