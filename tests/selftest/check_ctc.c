/* CTC: losses against the sum over all paths, gradients against differences of that sum, what is infeasible or wrong,
 * greedy decoding and edit sums by hand; files of `selftest --ctc` that agree and that do not. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/backend.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/philox.h"
#include "exec/exec.h"
#include "formats/safetensors.h"
#include "selftest/ctc_check.h"
#include "task/edit.h"
#include "tests/ct_check.h"

/* ---- calls on the CPU ---- */

static ct_device *device;

static void setup(void)
{
    const ct_device_opts opts = { .threads = 2 };
    ck_assert_int_eq(ct_backend_cpu.open(&opts, &device), CT_OK);
}

static void teardown(void) { ct_backend_cpu.close(device); }

/* Runs implementation `name` of a call with host tensors. */
static ct_status run(const ct_call *call, const char *name)
{
    for (const ct_impl *m = NULL; (m = ct_impl_next(&ct_backend_cpu, call->op, m));) {
        if (strcmp(m->name, name) != 0) continue;
        ct_accept a = m->accept(device, call);
        ck_assert_msg(a.ok, "%s refuses: %s", name, a.reason);
        void *scratch = ct_aligned_alloc(a.scratch, "scratch");
        ck_assert_ptr_nonnull(scratch);
        ct_status st = m->run(device, NULL, call, scratch);
        ct_free(scratch);
        return st;
    }
    ck_abort_msg("no implementation %s", name);
}

#define MOST 2048 /* elements of any tensor here */

/* Memory of one CTC problem, forward and backward, in type d. */
typedef struct problem {
    ct_dtype d;
    int64_t T, N, C, L;
    int32_t target[MOST], len[64];
    double room[6][MOST]; /* logp, loss, nll, alpha, dloss, dlogp */
    ct_call fwd, bwd;
} problem;

enum { LOGP, LOSS, NLL, ALPHA, DLOSS, DLOGP };

static double get(const problem *p, int which, int64_t i) { return ct_load(p->d, p->room[which], i); }
static void set(problem *p, int which, int64_t i, double v) { ct_store(p->d, p->room[which], i, v); }

static void build(problem *p, ct_dtype d, int64_t T, int64_t N, int64_t C, int64_t L)
{
    p->d = d, p->T = T, p->N = N, p->C = C, p->L = L;
    ck_assert_int_le(T * N * C, MOST);
    ck_assert_int_le(N * T * (2 * L + 1), MOST);
    memset(p->room, 0xff, sizeof p->room);
    p->fwd = (ct_call){ .op = CT_OP_CTC_LOSS, .nin = 3, .nout = 3 };
    p->fwd.in[0] = (ct_tensor){ { d, 3, { T, N, C } }, p->room[LOGP] };
    p->fwd.in[1] = (ct_tensor){ { CT_I32, 2, { N, L } }, p->target };
    p->fwd.in[2] = (ct_tensor){ { CT_I32, 1, { N } }, p->len };
    ck_assert_msg(ct_call_infer(&p->fwd) == CT_OK, "%s", ct_error_message());
    for (int i = 0; i < 3; i++) p->fwd.out[i].data = p->room[LOSS + i];
    p->bwd = (ct_call){ .op = CT_OP_CTC_LOSS_BWD, .nin = 6, .nout = 1 };
    for (int i = 0; i < 3; i++) p->bwd.in[i] = p->fwd.in[i];
    p->bwd.in[3] = p->fwd.out[1];
    p->bwd.in[4] = p->fwd.out[2];
    p->bwd.in[5] = (ct_tensor){ ct_desc1(d, 1), p->room[DLOSS] };
    ck_assert_msg(ct_call_infer(&p->bwd) == CT_OK, "%s", ct_error_message());
    p->bwd.out[0].data = p->room[DLOGP];
    set(p, DLOSS, 0, (double)N);
}

static void draw(problem *p, ct_rng *rng)
{
    for (int64_t i = 0; i < p->T * p->N * p->C; i++) set(p, LOGP, i, ct_rng_uniform(rng, -4, -0.1));
    for (int64_t n = 0; n < p->N; n++) {
        int64_t count = ct_rng_below(rng, (uint32_t)p->L + 1);
        p->len[n] = 1 + (int32_t)ct_rng_below(rng, (uint32_t)p->T);
        for (int64_t k = 0; k < p->L; k++)
            p->target[n * p->L + k] = k < count ? (int32_t)ct_rng_below(rng, (uint32_t)p->C - 1) : -1;
    }
}

/* -log of the sum over all C^len paths that collapse to the label. */
static double by_enumeration(const problem *p, int64_t n)
{
    int64_t paths = 1;
    double total = 0;
    for (int64_t t = 0; t < p->len[n]; t++) paths *= p->C;
    for (int64_t path = 0; path < paths; path++) {
        int64_t rest = path, before = 0, count = 0;
        double logp = 0;
        bool same = true;
        for (int64_t t = 0; t < p->len[n]; t++, rest /= p->C) {
            int64_t c = rest % p->C;
            logp += get(p, LOGP, (t * p->N + n) * p->C + c);
            if (c != 0 && c != before) {
                same = same && count < p->L && p->target[n * p->L + count] == c - 1;
                count++;
            }
            before = c;
        }
        same = same && (count == p->L || p->target[n * p->L + count] == -1);
        if (same) total += exp(logp);
    }
    return -log(total);
}

static void smooth(problem *p, double smoothing) { p->fwd.attrs.loss.smoothing = p->bwd.attrs.loss.smoothing = smoothing; }

/* A sample's part of the loss: with smoothing so much of the mean over the classes of -log-probability, summed over the steps, in place of nll. */
static double part_of_loss(const problem *p, int64_t n)
{
    const double nll = by_enumeration(p, n), smoothing = p->fwd.attrs.loss.smoothing;
    double even = 0;
    for (int64_t t = 0; t < p->len[n]; t++)
        for (int64_t c = 0; c < p->C; c++) even -= get(p, LOGP, (t * p->N + n) * p->C + c) / (double)p->C;
    return smoothing > 0 ? (1 - smoothing) * nll + smoothing * even : nll;
}

static const struct {
    ct_dtype d;
    const char *impl;
    double tolerance;
} kinds[] = { { CT_F64, "ref", 1e-12 }, { CT_F32, "ref", 2e-6 }, { CT_F32, "cpu.vector", 2e-6 } };
#define NKINDS (int)(sizeof kinds / sizeof kinds[0])

static void check_close(double got, double want, double tolerance, const char *what, int64_t at)
{
    ck_assert_msg(got == want || fabs(got - want) <= tolerance * fmax(1, fabs(want)),
                  "%s %lld is %.15g, should be %.15g", what, (long long)at, got, want);
}

/* Loss of every sample is the sum over all paths, in every second round smoothed; the gradient is its numerical derivative. */
START_TEST(sums_over_all_paths)
{
    static problem p;
    ct_rng rng;
    ct_rng_init(&rng, 5, CT_RNG_TEST, (uint64_t)_i);
    int infeasible = 0;
    for (int round = 0; round < 12; round++) {
        build(&p, kinds[_i].d, 5, 6, 3, 4);
        smooth(&p, round % 2 ? 0.2 : 0);
        draw(&p, &rng);
        ck_assert_int_eq(run(&p.fwd, kinds[_i].impl), CT_OK);
        double mean = 0;
        for (int64_t n = 0; n < p.N; n++) {
            double want = by_enumeration(&p, n);
            check_close(get(&p, NLL, n), want, kinds[_i].tolerance, "nll", n);
            infeasible += want == INFINITY;
            if (want < INFINITY) mean += part_of_loss(&p, n) / (double)p.N;
        }
        check_close(get(&p, LOSS, 0), mean, kinds[_i].tolerance, "loss", 0);
        ck_assert_int_eq(run(&p.bwd, kinds[_i].impl), CT_OK);
        for (int64_t i = 0; i < p.T * p.N * p.C && p.d == CT_F64; i += 7) {
            int64_t n = i / p.C % p.N;
            double x = get(&p, LOGP, i), want = 0;
            const double h = 1e-5;
            if (get(&p, NLL, n) < INFINITY) {
                set(&p, LOGP, i, x + h);
                want = part_of_loss(&p, n);
                set(&p, LOGP, i, x - h);
                want = (want - part_of_loss(&p, n)) / (2 * h);
                set(&p, LOGP, i, x);
            }
            check_close(get(&p, DLOGP, i), want, 1e-8, "gradient", i);
        }
        for (int64_t i = 0; i < p.T * p.N; i++) { /* rows sum to -1 where there is a gradient */
            double sum = 0;
            bool there = i / p.N < p.len[i % p.N] && get(&p, NLL, i % p.N) < INFINITY;
            for (int64_t c = 0; c < p.C; c++) sum += get(&p, DLOGP, i * p.C + c);
            check_close(sum, there ? -1 : 0, 1e-6, "row sum", i);
        }
    }
    ck_assert_int_gt(infeasible, 5);
}
END_TEST

/* What is left of the others when a sample is infeasible, has probability 0, or holds a NaN. */
START_TEST(special_samples)
{
    static problem p;
    const char *impl = kinds[_i].impl;
    build(&p, kinds[_i].d, 4, 5, 3, 3);
    for (int64_t i = 0; i < p.T * p.N * p.C; i++) set(&p, LOGP, i, -1);
    static const int32_t target[5][3] = { { 0, 0, 0 }, { -1, 7, 9 }, { 0, 1, -1 }, { 1, -1, -1 }, { 1, 0, 1 } };
    memcpy(p.target, target, sizeof target);
    for (int n = 0; n < 5; n++) p.len[n] = 4;
    for (int64_t t = 0; t < 4; t++)
        set(&p, LOGP, (t * 5 + 3) * 3 + 2, -INFINITY); /* sample 3 cannot say its character */
    ck_assert_int_eq(run(&p.fwd, impl), CT_OK);
    ck_assert_int_eq(run(&p.bwd, impl), CT_OK);
    ck_assert(get(&p, NLL, 0) == INFINITY); /* AAA needs 5 steps */
    check_close(get(&p, NLL, 1), 4, kinds[_i].tolerance, "empty label", 1);
    ck_assert(get(&p, NLL, 3) == INFINITY);
    check_close(get(&p, LOSS, 0), (get(&p, NLL, 1) + get(&p, NLL, 2) + get(&p, NLL, 4)) / 5, 1e-6, "loss", 0);
    for (int64_t i = 0; i < p.T * p.N * p.C; i++) {
        int64_t n = i / p.C % p.N;
        ck_assert(isfinite(get(&p, DLOGP, i)));
        if (n == 0 || n == 3) ck_assert(get(&p, DLOGP, i) == 0);
        if (n == 1) ck_assert(get(&p, DLOGP, i) == (i % p.C == 0 ? -1 : 0));
    }
    /* Smoothed, they are still left out, also where a probability of theirs is 0. */
    smooth(&p, 0.25);
    ck_assert_int_eq(run(&p.fwd, impl), CT_OK);
    ck_assert_int_eq(run(&p.bwd, impl), CT_OK);
    check_close(get(&p, LOSS, 0), 0.75 * (get(&p, NLL, 1) + get(&p, NLL, 2) + get(&p, NLL, 4)) / 5 + 0.25 * 3 * 4 / 5, 1e-6, "smoothed loss", 0);
    for (int64_t i = 0; i < p.T * p.N * p.C; i++) {
        int64_t n = i / p.C % p.N;
        if (n == 0 || n == 3) ck_assert(get(&p, DLOGP, i) == 0);
        if (n == 1) check_close(get(&p, DLOGP, i), (i % p.C == 0 ? -0.75 : 0) - 0.25 / 3, 1e-6, "smoothed gradient", i);
    }
    smooth(&p, 0);
    /* A NaN that sample 2 needs; one that it does not need. */
    set(&p, LOGP, (1 * 5 + 2) * 3 + 1, NAN);
    set(&p, LOGP, (1 * 5 + 1) * 3 + 1, NAN);
    ck_assert_int_eq(run(&p.fwd, impl), CT_OK);
    ck_assert_int_eq(run(&p.bwd, impl), CT_OK);
    ck_assert(isnan(get(&p, NLL, 2)) && isnan(get(&p, LOSS, 0)) && isfinite(get(&p, NLL, 1)));
    ck_assert(isnan(get(&p, DLOGP, 2 * 3)) && isfinite(get(&p, DLOGP, 1 * 3)));
    /* What is out of range is named. */
    p.len[4] = 5;
    ck_assert_int_eq(run(&p.fwd, impl), CT_EDATA);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "sample 4 of the batch has 5 time steps, not 1 to 4"));
    ck_assert_int_eq(run(&p.bwd, impl), CT_EDATA);
    p.len[4] = 4;
    p.target[3 * 3] = 2;
    ck_assert_int_eq(run(&p.fwd, impl), CT_EDATA);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "character 0 of sample 3 of the batch is 2, not one of 2"));
}
END_TEST

START_TEST(greedy_and_edits)
{
    /* classes per step: - A A - A B B, and the second sample's three steps: B B - */
    static const int best[2][7] = { { 0, 1, 1, 0, 1, 2, 2 }, { 2, 2, 0, 1, 1, 1, 1 } };
    static const float high[7] = { 0.9f, 0.5f, 0.7f, 0.8f, 0.6f, 0.5f, 0.4f };
    float logp[7][2][3], conf[2][7], nll[2] = { 1, INFINITY };
    int32_t pred[2][7], len[2] = { 7, 3 }, target[2][4] = { { 0, 1, 0, -1 }, { 1, -1, 0, 0 } };
    double acc[CT_METRIC_COUNT] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    for (int t = 0; t < 7; t++)
        for (int n = 0; n < 2; n++)
            for (int c = 0; c < 3; c++) logp[t][n][c] = logf(c == best[n][t] ? high[t] : (1 - high[t]) / 2);
    ct_call g = { .op = CT_OP_CTC_GREEDY, .nin = 2, .nout = 2 };
    g.in[0] = (ct_tensor){ { CT_F32, 3, { 7, 2, 3 } }, logp };
    g.in[1] = (ct_tensor){ { CT_I32, 1, { 2 } }, len };
    ck_assert_int_eq(ct_call_infer(&g), CT_OK);
    g.out[0].data = pred;
    g.out[1].data = conf;
    ck_assert_int_eq(run(&g, _i ? "cpu.vector" : "ref"), CT_OK);
    static const int32_t want[2][7] = { { 0, 0, 1, -1, -1, -1, -1 }, { 1, -1, -1, -1, -1, -1, -1 } };
    static const double sure[2][7] = { { 0.7, 0.6, 0.5 }, { 0.9 } };
    ck_assert_mem_eq(pred, want, sizeof want);
    for (int n = 0; n < 2; n++)
        for (int t = 0; t < 7; t++) check_close((double)conf[n][t], sure[n][t], 1e-6, "confidence", t);
    len[1] = 0;
    ck_assert_int_eq(run(&g, _i ? "cpu.vector" : "ref"), CT_EDATA);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "sample 1"));
    /* AAB for ABA: two edits; B for B: none */
    ct_call e = { .op = CT_OP_EDIT_SUMS, .nin = 4, .nout = 0, .attrs = { .sums = { .first = 4 } } };
    e.in[0] = (ct_tensor){ { CT_I32, 2, { 2, 7 } }, pred };
    e.in[1] = (ct_tensor){ { CT_I32, 2, { 2, 4 } }, target };
    e.in[2] = (ct_tensor){ ct_desc1(CT_F32, 2), nll };
    e.in[3] = (ct_tensor){ ct_desc1(CT_F64, CT_METRIC_COUNT), acc };
    ck_assert_int_eq(ct_call_infer(&e), CT_OK);
    ck_assert_int_eq(run(&e, "ref"), CT_OK);
    static const double sums[CT_METRIC_COUNT] = { 1, 1, 1, 1, 2, 5, 3, 3, 2, 2.0 / 3, 2, 0, 0 };
    for (int i = 0; i < CT_METRIC_COUNT; i++) check_close(acc[i], sums[i], 0, "sum", i);
}
END_TEST

/* What is counted of each kind of edit is what the alignment of the same rows holds. */
START_TEST(edits_by_kind)
{
    enum { N = 40, P = 7, L = 6 };
    int32_t pred[N * P], target[N * L];
    double acc[CT_METRIC_COUNT] = { 0 }, want[9] = { 0 };
    ct_edit align = { 0 };
    ct_rng rng;
    ct_rng_init(&rng, 21, CT_RNG_TEST, 0);
    for (int i = 0; i < N; i++) {
        const int64_t np = ct_rng_below(&rng, P + 1), nl = ct_rng_below(&rng, L + 1); /* none is a length, too */
        for (int k = 0; k < P; k++) pred[i * P + k] = k < np ? (int32_t)ct_rng_below(&rng, 3) : -1;
        for (int k = 0; k < L; k++) target[i * L + k] = k < nl ? (int32_t)ct_rng_below(&rng, 3) : -1;
        ck_assert_int_eq(ct_edit_align(&align, target + i * L, nl, pred + i * P, np), CT_OK);
        want[0] += align.distance == 0;
        want[1] += (double)nl;
        want[2] += (double)(nl > align.distance ? nl - align.distance : 0);
        want[3] += (double)align.distance;
        want[5] += (double)align.distance / (double)(nl > 0 ? nl : 1);
        for (int64_t k = 0; k < align.pairs; k++) {
            const ct_edit_pair *p = &align.pair[k];
            want[p->label < 0 ? 8 : p->pred < 0 ? 7 : 6] += p->label != p->pred;
        }
    }
    ct_edit_free(&align);
    ct_call e = { .op = CT_OP_EDIT_SUMS, .nin = 4, .nout = 0, .attrs = { .sums = { .first = CT_METRIC_FIRST } } };
    e.in[0] = (ct_tensor){ ct_desc2(CT_I32, N, P), pred };
    e.in[1] = (ct_tensor){ ct_desc2(CT_I32, N, L), target };
    e.in[2].desc = ct_absent_desc();
    e.in[3] = (ct_tensor){ ct_desc1(CT_F64, CT_METRIC_COUNT), acc };
    ck_assert_int_eq(ct_call_infer(&e), CT_OK);
    ck_assert_int_eq(run(&e, "ref"), CT_OK);
    for (int i = 0; i < 9; i++) check_close(acc[CT_METRIC_FIRST + i], want[i], 0, "sum", i);
    ck_assert(want[6] > 10 && want[7] > 10 && want[8] > 10); /* there was something to count */
}
END_TEST

/* ---- files ---- */

static const ct_common cpu = { "cpu", 2 };

static ct_status check_file(const char *path, char **text)
{
    size_t size;
    FILE *to = open_memstream(text, &size);
    ck_assert_ptr_nonnull(to);
    ct_status st = ct_ctc_check(path, &cpu, to);
    fclose(to);
    return st;
}

START_TEST(files_agree)
{
    static const struct {
        const char *name, *says;
    } files[] = { { "ctc.safetensors", "exp(log_probs) - occupancy" },
                  { "ctc-zero-infinity.safetensors", "-occupancy, the gradient with respect to log_probs" } };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char *path = ct_asprintf("%s/tests/golden/%s", ct_check_srcdir(), files[i].name), *text;
        ct_status st = check_file(path, &text);
        ck_assert_msg(st == CT_OK, "%s\n%s", ct_error_message(), text);
        ck_assert_msg(strstr(text, files[i].says) && strstr(text, "ref          f64") &&
                          strstr(text, "cpu.vector   f32"),
                      "%s", text);
        ck_assert_msg(strstr(text, i ? "infeasible 2 " : "infeasible 3 ") != NULL, "%s", text);
        ck_assert_msg(strstr(text, i ? "; 2 in all, 0 with loss inf in the file, 2 with 0"
                                     : "; 3 in all, 3 with loss inf in the file, 0 with 0") != NULL,
                      "%s", text);
        free(text);
        ct_free(path);
    }
}
END_TEST

/* A copy of ctc.safetensors in which element `at` of a tensor is `value`; without `tensor`, one without the tensor
 * `drop`. unlink() and free(). */
static char *altered(const char *tensor, int64_t at, double value, const char *drop)
{
    char *path = ct_asprintf("%s/tests/golden/ctc.safetensors", ct_check_srcdir()),
         *copy = strdup("/tmp/ct_ctc_XXXXXX");
    ct_safetensors *in;
    ct_st_writer *w;
    void *changed = NULL;
    close(mkstemp(copy));
    ck_assert_int_eq(ct_safetensors_open(path, &in), CT_OK);
    ck_assert_int_eq(ct_st_writer_new(&w), CT_OK);
    for (size_t i = 0; i < ct_safetensors_count(in); i++) {
        const ct_st_tensor *t = ct_safetensors_at(in, i);
        const void *data = t->data;
        if (drop && strcmp(t->name, drop) == 0) continue;
        if (tensor && strcmp(t->name, tensor) == 0) {
            changed = malloc(t->bytes);
            ck_assert_ptr_nonnull(changed);
            memcpy(changed, t->data, t->bytes);
            ct_store(t->desc.dtype, changed, at, value);
            data = changed;
        }
        ck_assert_int_eq(ct_st_writer_add(w, t->name, &t->desc, data), CT_OK);
    }
    ck_assert_int_eq(ct_st_writer_save(w, copy), CT_OK);
    ct_st_writer_free(w);
    ct_safetensors_close(in);
    free(changed);
    ct_free(path);
    return copy;
}

static void refused(const char *tensor, int64_t at, double value, const char *drop, ct_status want, const char *message)
{
    char *path = altered(tensor, at, value, drop), *text;
    ct_status st = check_file(path, &text);
    ck_assert_msg(st == want, "%s: status %d", message, (int)st);
    ck_assert_msg(strstr(ct_error_message(), message) != NULL, "'%s' is not in '%s'", message, ct_error_message());
    unlink(path);
    free(path);
    free(text);
}

START_TEST(wrong_files)
{
    /* T = 12, N = 25, C = 6, L = 5; samples 4, 9, 14, ... may be infeasible */
    refused("loss", 7, 3.25, NULL, CT_EINTERNAL, "the loss of sample 7 on cpu (ref, f64) differs");
    refused("grad", (2 * 25 + 3) * 6 + 1, 0.5, NULL, CT_EFORMAT, "'grad' is neither");
    refused("grad", (11 * 25 + 14) * 6, 1e-9, NULL, CT_EINTERNAL, "the gradient of sample 14");
    refused("loss", 4, 1.5, NULL, CT_EINTERNAL, "the loss of sample 4");
    refused("input_lengths", 6, 13, NULL, CT_EFORMAT, "'input_lengths' of sample 6 is 13, not 1 to 12");
    refused("input_lengths", 6, 0, NULL, CT_EFORMAT, "'input_lengths' of sample 6 is 0");
    refused("target_lengths", 2, 6, NULL, CT_EFORMAT, "'target_lengths' of sample 2 is 6, not 0 to 5");
    refused("targets", 0, 6, NULL, CT_EFORMAT, "character 0 of sample 0 is class 6, not 1 to 5");
    refused("targets", 0, 0, NULL, CT_EFORMAT, "character 0 of sample 0 is class 0");
    static const char *const names[] = { "log_probs", "targets", "input_lengths", "target_lengths", "loss", "grad" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) refused(NULL, 0, 0, names[i], CT_EFORMAT, names[i]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ctc");
    TCase *t = tcase_create("operators");
    tcase_add_unchecked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, sums_over_all_paths, 0, NKINDS);
    tcase_add_loop_test(t, special_samples, 0, NKINDS);
    tcase_add_loop_test(t, greedy_and_edits, 0, 2);
    tcase_add_test(t, edits_by_kind);
    suite_add_tcase(s, t);
    t = tcase_create("files");
    tcase_add_test(t, files_agree);
    tcase_add_test(t, wrong_files);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
