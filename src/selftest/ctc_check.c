/* `captrain selftest --ctc`: the samples of a file, computed here. */
#include "config.h"

#include "selftest/ctc_check.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "formats/safetensors.h"
#include "selftest/each.h"

#define NAMED 20           /* samples listed */
#define SUM_TOLERANCE 1e-6 /* of a row sum of the gradient, from what it should be */

typedef struct ctc_file {
    const char *path;
    ct_safetensors *st;
    int64_t steps, samples, classes, columns; /* T, N, C, L (at least 1) */
    double *logp, *grad;                      /* [T,N,C] */
    double *loss;                             /* [N] */
    int32_t *target;                          /* [N,L] characters, -1 behind */
    int32_t *len, *target_len;                /* [N] */
    bool minus_softmax;                       /* grad is exp(logp) - occupancy */
} ctc_file;

/* What was computed for the file in one type. */
typedef struct answer {
    double *nll;  /* [N] */
    double *grad; /* [T,N,C]: -occupancy */
} answer;

static void close_file(ctc_file *f)
{
    ct_safetensors_close(f->st);
    ct_free(f->logp);
    ct_free(f->grad);
    ct_free(f->loss);
    ct_free(f->target);
    ct_free(f->len);
    ct_free(f->target_len);
}

/* ---- reading ---- */

/* Tensor `name` with these dimensions as doubles. */
static ct_status read_real(const ctc_file *f, const char *name, ct_desc want, double **out)
{
    char s[CT_DESC_STR], w[CT_DESC_STR];
    const ct_st_tensor *t = ct_safetensors_find(f->st, name);
    if (!t) return ct_fail(CT_EFORMAT, "%s: no tensor '%s'", f->path, name);
    if (!ct_dtype_is_float(t->desc.dtype) || !ct_desc_same_shape(&t->desc, &want))
        return ct_fail(CT_EFORMAT, "%s: '%s' is %s, but must be %s", f->path, name, ct_desc_str(&t->desc, s),
                       ct_desc_str(&want, w));
    *out = ct_malloc(ct_desc_bytes(&want), name);
    if (!*out) return CT_ENOMEM;
    ct_st_read(t, CT_F64, *out);
    return CT_OK;
}

/* N whole numbers in [lo, hi]. */
static ct_status read_lengths(const ctc_file *f, const char *name, int64_t lo, int64_t hi, int32_t **out)
{
    char s[CT_DESC_STR];
    const ct_st_tensor *t = ct_safetensors_find(f->st, name);
    if (!t) return ct_fail(CT_EFORMAT, "%s: no tensor '%s'", f->path, name);
    const ct_desc *d = &t->desc;
    if ((d->dtype != CT_I32 && d->dtype != CT_I64) || d->ndim != 1 || d->dim[0] != f->samples)
        return ct_fail(CT_EFORMAT, "%s: '%s' is %s, but must be i32 or i64 [%" PRId64 "]", f->path, name,
                       ct_desc_str(d, s), f->samples);
    *out = ct_calloc((size_t)f->samples, sizeof **out, name);
    double *value = ct_calloc((size_t)f->samples, sizeof *value, name);
    ct_status st = *out && value ? CT_OK : CT_ENOMEM;
    if (st == CT_OK) ct_st_read(t, CT_F64, value);
    for (int64_t n = 0; st == CT_OK && n < f->samples; n++) {
        if (value[n] < (double)lo || value[n] > (double)hi)
            st = ct_fail(CT_EFORMAT, "%s: '%s' of sample %" PRId64 " is %.0f, not %" PRId64 " to %" PRId64, f->path,
                         name, n, value[n], lo, hi);
        else
            (*out)[n] = (int32_t)value[n];
    }
    ct_free(value);
    return st;
}

/* Classes to characters: class k+1 is character k. */
static ct_status read_targets(ctc_file *f)
{
    char s[CT_DESC_STR];
    const ct_st_tensor *t = ct_safetensors_find(f->st, "targets");
    const ct_desc *d = t ? &t->desc : NULL;
    if (!t) return ct_fail(CT_EFORMAT, "%s: no tensor 'targets'", f->path);
    if ((d->dtype != CT_I32 && d->dtype != CT_I64) || d->ndim != 2 || d->dim[0] != f->samples)
        return ct_fail(CT_EFORMAT, "%s: 'targets' is %s, but must be i32 or i64 [%" PRId64 ",L]", f->path,
                       ct_desc_str(d, s), f->samples);
    int64_t columns = d->dim[1];
    f->columns = columns > 0 ? columns : 1;
    CT_TRY(read_lengths(f, "target_lengths", 0, columns, &f->target_len));
    f->target = ct_calloc((size_t)(f->samples * f->columns), sizeof *f->target, "targets");
    double *value = ct_calloc((size_t)(f->samples * f->columns), sizeof *value, "targets");
    ct_status st = f->target && value ? CT_OK : CT_ENOMEM;
    if (st == CT_OK && columns > 0) ct_st_read(t, CT_F64, value);
    for (int64_t i = 0; st == CT_OK && i < f->samples * f->columns; i++) {
        int64_t n = i / f->columns, k = i % f->columns;
        f->target[i] = -1;
        if (k >= f->target_len[n]) continue;
        if (value[i] < 1 || value[i] >= (double)f->classes)
            st = ct_fail(CT_EFORMAT, "%s: character %" PRId64 " of sample %" PRId64 " is class %.0f, not 1 to %" PRId64,
                         f->path, k, n, value[i], f->classes - 1);
        else
            f->target[i] = (int32_t)value[i] - 1;
    }
    ct_free(value);
    return st;
}

/* Least time steps for a label: its characters, and a blank between equal neighbours. */
static int64_t steps_needed(const ctc_file *f, int64_t n)
{
    const int32_t *label = f->target + n * f->columns;
    int64_t need = f->target_len[n];
    for (int64_t k = 1; k < f->target_len[n]; k++) need += label[k] == label[k - 1];
    return need;
}

/* What the gradient is of: over all rows of feasible samples, how far the sums are from -1 and from sum exp(logp) - 1.
 */
static ct_status tell_gradient(ctc_file *f)
{
    double to_partial = 0, to_torch = 0;
    for (int64_t n = 0; n < f->samples; n++) {
        if (f->len[n] < steps_needed(f, n) || !isfinite(f->loss[n])) continue;
        for (int64_t t = 0; t < f->len[n]; t++) {
            const int64_t at = (t * f->samples + n) * f->classes;
            double sum = 0, mass = 0;
            for (int64_t c = 0; c < f->classes; c++) sum += f->grad[at + c], mass += exp(f->logp[at + c]);
            to_partial = fmax(to_partial, fabs(sum + 1));
            to_torch = fmax(to_torch, fabs(sum - (mass - 1)));
        }
    }
    f->minus_softmax = to_torch < to_partial;
    if (fmin(to_torch, to_partial) > SUM_TOLERANCE)
        return ct_fail(CT_EFORMAT,
                       "%s: 'grad' is neither the gradient with respect to log_probs (rows sum to -1; here up to %.3g "
                       "beside that) "
                       "nor to what stands before the log_softmax (rows sum to 0; here up to %.3g beside that)",
                       f->path, to_partial, to_torch);
    return CT_OK;
}

static ct_status open_file(const char *path, ctc_file *f)
{
    char s[CT_DESC_STR];
    ct_status st;
    *f = (ctc_file){ .path = path };
    CT_GOTO(st, ct_safetensors_open(path, &f->st));
    const ct_st_tensor *t = ct_safetensors_find(f->st, "log_probs");
    if (!t) {
        st = ct_fail(CT_EFORMAT, "%s: no tensor 'log_probs': not a CTC file", path);
        goto fail;
    }
    const ct_desc d = t->desc;
    if (d.ndim != 3 || d.dtype != CT_F64 || ct_desc_numel(&d) < 1) {
        st = ct_fail(CT_EFORMAT, "%s: 'log_probs' is %s, but must be f64 [T,N,C]", path, ct_desc_str(&d, s));
        goto fail;
    }
    f->steps = d.dim[0], f->samples = d.dim[1], f->classes = d.dim[2];
    CT_GOTO(st, read_real(f, "log_probs", d, &f->logp));
    CT_GOTO(st, read_real(f, "grad", d, &f->grad));
    CT_GOTO(st, read_real(f, "loss", ct_desc1(CT_F64, f->samples), &f->loss));
    CT_GOTO(st, read_lengths(f, "input_lengths", 1, f->steps, &f->len));
    CT_GOTO(st, read_targets(f));
    CT_GOTO(st, tell_gradient(f));
    return CT_OK;
fail:
    close_file(f);
    return st;
}

/* ---- computing ---- */

typedef struct runner {
    const ct_backend *b;
    ct_device *dev;
    ct_stream *stream;
    ct_device_opts opts;
    const char *impl; /* of the call that ran last */
} runner;

/* Runs a call whose tensors lie in host memory. */
static ct_status run_call(runner *r, const ct_call *host)
{
    ct_call call = *host;
    ct_choice choice;
    void *scratch = NULL;
    ct_status st = CT_OK;
    for (int i = 0; i < CT_MAX_IN; i++) call.in[i].data = NULL;
    for (int i = 0; i < CT_MAX_OUT; i++) call.out[i].data = NULL;
    CT_TRY(ct_dispatch(r->b, r->dev, &r->opts, &call, &choice));
    r->impl = choice.impl->name;
    CT_GOTO(st, r->b->alloc(r->dev, choice.scratch, "scratch", &scratch));
    for (int i = 0; i < call.nin; i++) {
        if (!ct_present(&call.in[i])) continue;
        size_t bytes = ct_desc_bytes(&call.in[i].desc);
        CT_GOTO(st, r->b->alloc(r->dev, bytes, "input", &call.in[i].data));
        CT_GOTO(st, r->b->upload(r->dev, r->stream, call.in[i].data, host->in[i].data, bytes));
    }
    for (int i = 0; i < call.nout; i++)
        CT_GOTO(st, r->b->alloc(r->dev, ct_desc_bytes(&call.out[i].desc), "output", &call.out[i].data));
    CT_GOTO(st, choice.impl->run(r->dev, r->stream, &call, scratch));
    for (int i = 0; i < call.nout; i++)
        CT_GOTO(st, r->b->download(r->dev, r->stream, host->out[i].data, call.out[i].data,
                                   ct_desc_bytes(&call.out[i].desc)));
    st = r->b->stream_sync(r->dev, r->stream);
fail:
    for (int i = 0; i < CT_MAX_IN; i++)
        if (call.in[i].data) r->b->free(r->dev, call.in[i].data);
    for (int i = 0; i < CT_MAX_OUT; i++)
        if (call.out[i].data) r->b->free(r->dev, call.out[i].data);
    if (scratch) r->b->free(r->dev, scratch);
    return st;
}

/* A block of the type with these values; NULL values: not set. */
static void *typed(ct_dtype d, const double *values, int64_t n)
{
    void *p = ct_aligned_alloc((size_t)n * ct_dtype_size(d), "CTC tensor");
    for (int64_t i = 0; p && values && i < n; i++) ct_store(d, p, i, values[i]);
    return p;
}

/* ctc_loss and its gradient of the sum of the losses, in type d. */
static ct_status compute(const ctc_file *f, runner *r, ct_dtype d, answer *out)
{
    const int64_t N = f->samples;
    const ct_desc logp = { d, 3, { f->steps, N, f->classes } };
    const double dloss = (double)N; /* the operator's loss is the mean */
    ct_call fwd = { .op = CT_OP_CTC_LOSS, .nin = 3, .nout = 3 },
            bwd = { .op = CT_OP_CTC_LOSS_BWD, .nin = 6, .nout = 1 };
    ct_status st;
    fwd.in[0] = (ct_tensor){ logp, typed(d, f->logp, ct_desc_numel(&logp)) };
    fwd.in[1] = (ct_tensor){ { CT_I32, 2, { N, f->columns } }, f->target };
    fwd.in[2] = (ct_tensor){ ct_desc1(CT_I32, N), f->len };
    CT_GOTO(st, ct_call_infer(&fwd));
    for (int i = 0; i < 3; i++) fwd.out[i].data = typed(d, NULL, ct_desc_numel(&fwd.out[i].desc));
    for (int i = 0; i < 3; i++) bwd.in[i] = fwd.in[i];
    bwd.in[3] = fwd.out[1];
    bwd.in[4] = fwd.out[2];
    bwd.in[5] = (ct_tensor){ ct_desc1(d, 1), typed(d, &dloss, 1) };
    CT_GOTO(st, ct_call_infer(&bwd));
    bwd.out[0].data = typed(d, NULL, ct_desc_numel(&logp));
    out->nll = ct_calloc((size_t)N, sizeof *out->nll, "losses");
    out->grad = ct_calloc((size_t)ct_desc_numel(&logp), sizeof *out->grad, "gradient");
    if (!fwd.in[0].data || !fwd.out[0].data || !fwd.out[1].data || !fwd.out[2].data || !bwd.in[5].data ||
        !bwd.out[0].data || !out->nll || !out->grad) {
        st = CT_ENOMEM;
        goto fail;
    }
    CT_GOTO(st, run_call(r, &fwd));
    CT_GOTO(st, run_call(r, &bwd));
    for (int64_t n = 0; n < N; n++) out->nll[n] = ct_load(d, fwd.out[1].data, n);
    for (int64_t i = 0; i < ct_desc_numel(&logp); i++) out->grad[i] = ct_load(d, bwd.out[0].data, i);
fail:
    ct_free(fwd.in[0].data);
    for (int i = 0; i < 3; i++) ct_free(fwd.out[i].data);
    ct_free(bwd.in[5].data);
    ct_free(bwd.out[0].data);
    return st;
}

/* ---- comparing ---- */

typedef struct worst {
    double error;
    int64_t sample; /* -1: none yet */
} worst;

static void note(worst *w, double error, int64_t n)
{
    if (isnan(error)) error = INFINITY;
    if (w->sample >= 0 && error <= w->error) return;
    *w = (worst){ error, n };
}

/* Sample n of our gradient against the file's: largest difference. */
static double gradient_error(const ctc_file *f, const answer *a, int64_t n)
{
    double most = 0;
    const bool infeasible = a->nll[n] == INFINITY;
    for (int64_t t = 0; t < f->steps; t++) {
        for (int64_t c = 0; c < f->classes; c++) {
            const int64_t i = (t * f->samples + n) * f->classes + c;
            double ours = a->grad[i], theirs = f->grad[i];
            if (infeasible && isnan(theirs)) theirs = 0; /* PyTorch without zero_infinity */
            if (!infeasible && f->minus_softmax && t < f->len[n]) ours += exp(f->logp[i]);
            const double e = fabs(ours - theirs);
            if (!(e <= most)) most = isnan(e) ? INFINITY : e;
        }
    }
    return most;
}

static double loss_error(const ctc_file *f, const answer *a, int64_t n)
{
    const double ours = a->nll[n], theirs = f->loss[n];
    if (ours == INFINITY) return theirs == INFINITY || theirs == 0 ? 0 : INFINITY;
    return fabs(ours - theirs) / fmax(1, fabs(theirs));
}

/* Runs on one device in one type, compares, and prints a line. */
typedef struct checking {
    const ctc_file *f;
    const ct_common *common;
    ct_dtype dtype;
    FILE *to;
} checking;

static ct_status check_on(void *user, const ct_backend *b)
{
    const checking *k = user;
    const ctc_file *f = k->f;
    const ct_dtype d = k->dtype;
    FILE *to = k->to;
    const double tolerance = d == CT_F64 ? 1e-10 : 1e-5;
    runner r = { .b = b, .opts = { .threads = k->common->threads, .reference = d == CT_F64 } };
    answer a = { NULL, NULL };
    worst loss = { 0, -1 }, grad = { 0, -1 };
    ct_status st;
    CT_TRY(b->open(&r.opts, &r.dev));
    CT_GOTO(st, b->stream_create(r.dev, &r.stream));
    CT_GOTO(st, compute(f, &r, d, &a));
    int64_t infeasible = 0;
    for (int64_t n = 0; n < f->samples; n++) {
        note(&loss, loss_error(f, &a, n), n);
        note(&grad, gradient_error(f, &a, n), n);
        infeasible += a.nll[n] == INFINITY;
    }
    const bool ok = loss.error <= tolerance && grad.error <= tolerance;
    fprintf(to,
            "%-5s %-12s %-4s loss %9.3g (sample %" PRId64 ")  grad %9.3g (sample %" PRId64 ")  infeasible %" PRId64
            "  allowed %g: %s\n",
            b->name, r.impl, ct_dtype_name(d), loss.error, loss.sample, grad.error, grad.sample, infeasible, tolerance,
            ok ? "ok" : "BEYOND");
    if (!ok) {
        const bool by_loss = loss.error >= grad.error;
        const int64_t n = by_loss ? loss.sample : grad.sample;
        st = ct_fail(CT_EINTERNAL,
                     "%s: %s of sample %" PRId64
                     " on %s (%s, %s) differs by %.3g, allowed %g; its loss is %.12g, in the file %.12g",
                     f->path, by_loss ? "the loss" : "the gradient", n, b->name, r.impl, ct_dtype_name(d),
                     by_loss ? loss.error : grad.error, tolerance, a.nll[n], f->loss[n]);
    }
fail:
    if (r.stream) b->stream_destroy(r.dev, r.stream);
    b->close(r.dev);
    ct_free(a.nll);
    ct_free(a.grad);
    return st;
}

/* The samples that are infeasible by their lengths, the first of them by number. */
static void print_infeasible(const ctc_file *f, FILE *to)
{
    int64_t count = 0, infinite = 0, zero = 0;
    for (int64_t n = 0; n < f->samples; n++) {
        if (f->len[n] >= steps_needed(f, n)) continue;
        infinite += f->loss[n] == INFINITY;
        zero += f->loss[n] == 0;
        if (count++ < NAMED)
            fprintf(to, count == 1 ? "labels that do not fit into their time steps: samples %" PRId64 : " %" PRId64, n);
    }
    if (count == 0) {
        fprintf(to, "every label fits into its time steps\n");
        return;
    }
    fprintf(to, "%s; %" PRId64 " in all, %" PRId64 " with loss inf in the file, %" PRId64 " with 0\n",
            count > NAMED ? " ..." : "", count, infinite, zero);
}

static void print_head(const ctc_file *f, FILE *to)
{
    int64_t longest = 0, empty = 0;
    for (int64_t n = 0; n < f->samples; n++) {
        if (f->target_len[n] > longest) longest = f->target_len[n];
        empty += f->target_len[n] == 0;
    }
    fprintf(to,
            "%s: %" PRId64 " samples of %" PRId64 " time steps and %" PRId64 " classes; labels of up to %" PRId64
            " characters, %" PRId64 " empty\n",
            f->path, f->samples, f->steps, f->classes, longest, empty);
    print_infeasible(f, to);
    fprintf(to, "grad in the file: %s\n",
            f->minus_softmax ? "exp(log_probs) - occupancy, the gradient of what stands before log_softmax, as PyTorch "
                               "gives it (rows sum to 0)"
                             : "-occupancy, the gradient with respect to log_probs (rows sum to -1)");
}

ct_status ct_ctc_check(const char *path, const ct_common *common, FILE *to)
{
    ctc_file f;
    CT_TRY(open_file(path, &f));
    print_head(&f, to);
    checking exact = { &f, common, CT_F64, to }, usual = { &f, common, CT_F32, to };
    ct_status st = ct_backend_each("cpu", to, check_on, &exact); /* where the reference lives */
    if (st == CT_OK) st = ct_backend_each(common->backend, to, check_on, &usual);
    close_file(&f);
    return st;
}
