/* The harness has to find what is wrong: it runs on a small backend over host memory whose implementations lie in one
 * way each, and every lie must be reported as a failure, with a line that replays it; the truth must pass. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/ref/ref.h"
#include "base/alloc.h"
#include "harness/harness_priv.h"
#include "tests/ct_check.h"

/* ---- a backend over host memory ---- */

static ct_status host_alloc(ct_device *dev, size_t bytes, const char *what, void **out)
{
    (void)dev;
    *out = ct_aligned_alloc(bytes, what);
    return *out ? CT_OK : CT_ENOMEM;
}

static void host_free(ct_device *dev, void *p)
{
    (void)dev;
    ct_free(p);
}

static ct_status host_copy(ct_device *dev, ct_stream *s, void *dst, const void *src, size_t bytes)
{
    (void)dev;
    (void)s;
    memmove(dst, src, bytes);
    return CT_OK;
}

static ct_status host_stream_create(ct_device *dev, ct_stream **out)
{
    (void)dev;
    *out = NULL;
    return CT_OK;
}

static void host_stream_destroy(ct_device *dev, ct_stream *s)
{
    (void)dev;
    (void)s;
}

static ct_status host_stream_sync(ct_device *dev, ct_stream *s)
{
    (void)dev;
    (void)s;
    return CT_OK;
}

/* One at a time: the set is static. */
static ct_backend host_backend(const ct_impl *impls, size_t n)
{
    static ct_impl_set set;
    static const ct_impl_set *const sets[] = { &set };
    set = (ct_impl_set){ impls, n };
    ct_backend b = { .abi = CT_BACKEND_ABI,
                     .size = sizeof b,
                     .name = "host",
                     .alloc = host_alloc,
                     .free = host_free,
                     .upload = host_copy,
                     .download = host_copy,
                     .copy = host_copy,
                     .stream_create = host_stream_create,
                     .stream_destroy = host_stream_destroy,
                     .stream_sync = host_stream_sync,
                     .sets = sets,
                     .nsets = 1 };
    return b;
}

/* ---- implementations of `add` and `bias_grad` that are wrong in one way each ---- */

static ct_accept accept_all(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    (void)call;
    return ct_accept_yes(64);
}

static ct_accept refuse_all(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    (void)call;
    return ct_accept_no("never");
}

static int64_t count(const ct_call *c)
{
    return ct_desc_numel(&c->out[0].desc);
}

static void add_all(const ct_call *c)
{
    for (int64_t i = 0; i < count(c); i++) {
        ct_dtype t = c->out[0].desc.dtype;
        ct_store(t, c->out[0].data, i, ct_load(t, c->in[0].data, i) + ct_load(t, c->in[1].data, i));
    }
}

static ct_status right(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)s;
    memset(scratch, 0, 64);
    add_all(c);
    return CT_OK;
}

static ct_status factor(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)s;
    (void)scratch;
    add_all(c);
    ct_dtype t = c->out[0].desc.dtype;
    for (int64_t i = 0; i < count(c); i++) ct_store(t, c->out[0].data, i, 1.001 * ct_load(t, c->out[0].data, i));
    return CT_OK;
}

static ct_status behind(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    right(dev, s, c, scratch);
    ((uint8_t *)c->out[0].data)[ct_desc_bytes(&c->out[0].desc)] = 0;
    return CT_OK;
}

static ct_status before(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    right(dev, s, c, scratch);
    ((uint8_t *)c->out[0].data)[-1] = 7;
    return CT_OK;
}

static ct_status behind_scratch(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    right(dev, s, c, scratch);
    ((uint8_t *)scratch)[64] = 7;
    return CT_OK;
}

static ct_status last_unset(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    uint8_t keep[8];
    size_t size = ct_dtype_size(c->out[0].desc.dtype);
    uint8_t *last = (uint8_t *)c->out[0].data + ct_desc_bytes(&c->out[0].desc) - size;
    memcpy(keep, last, size);
    right(dev, s, c, scratch);
    memcpy(last, keep, size);
    return CT_OK;
}

static ct_status reads_scratch(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev;
    (void)s;
    add_all(c);
    double stale;
    memcpy(&stale, scratch, sizeof stale);
    ct_dtype t = c->out[0].desc.dtype;
    ct_store(t, c->out[0].data, 0, ct_load(t, c->out[0].data, 0) + 0 * stale);
    return CT_OK;
}

static ct_status writes_input(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    right(dev, s, c, scratch);
    ct_store(c->in[1].desc.dtype, c->in[1].data, 0, 5);
    return CT_OK;
}

/* Right only as long as the output is not the input. */
static ct_status not_in_place(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    ct_dtype t = c->out[0].desc.dtype;
    for (int64_t i = 0; i < count(c); i++) ct_store(t, c->out[0].data, i, 0);
    (void)dev, (void)s, (void)scratch;
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < count(c); i++)
            ct_store(t, c->out[0].data, i, ct_load(t, c->out[0].data, i) + ct_load(t, c->in[k].data, i));
    return CT_OK;
}

static ct_status fails(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev, (void)s, (void)c, (void)scratch;
    return ct_fail(CT_EINTERNAL, "the lie failed");
}

typedef ct_status run_fn(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch);

static const struct {
    const char *name;
    run_fn *run;
    const char *message; /* part of what must be said */
} lies[] = {
    { "factor", factor, "times the tolerance" },
    { "behind", behind, "guard band of output 0: 1 bytes overwritten" },
    { "before", before, "the first at byte -1" },
    { "behind_scratch", behind_scratch, "guard band of scratch" },
    { "last_unset", last_unset, "should be" },
    { "reads_scratch", reads_scratch, "should be" },
    { "writes_input", writes_input, "input 1 was written" },
    { "not_in_place", not_in_place, "in place: " },
    { "fails", fails, "the lie failed" },
};

#define ADD_CALL "add(f32[3,5], f32[3,5])"

/* Runs one implementation of `add` on one call; the log is returned (free it). */
static char *run_impl(const ct_impl *impl, const char *call, ct_selftest_report *r)
{
    char *text = NULL;
    size_t size = 0;
    FILE *log = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(log);
    ct_backend b = host_backend(impl, 1);
    ct_selftest_opts o = { .seed = 41, .call = call, .log = log };
    ct_status st = ct_selftest_ops(&b, NULL, &o, r);
    fclose(log);
    ck_assert_msg(st == CT_OK, "%s", ct_error_message());
    return text;
}

START_TEST(test_lie_is_found)
{
    ct_impl impl = { CT_OP_ADD, lies[_i].name, CT_IMPL_EXACT, accept_all, lies[_i].run };
    ct_selftest_report r = { 0 };
    char repro[128], *log = run_impl(&impl, ADD_CALL, &r);
    ck_assert_msg(r.failed > 0 && r.rows[0].failed == r.failed, "%s was not found", impl.name);
    ck_assert_msg(strstr(log, lies[_i].message) != NULL, "%s: the log says: %s", impl.name, log);
    snprintf(repro, sizeof repro, "REPRO: check_ops --seed 41 --impl %s --data ", impl.name);
    ck_assert_msg(strstr(log, repro) != NULL, "no '%s' in: %s", repro, log);
    ck_assert_ptr_nonnull(strstr(log, "'" ADD_CALL "'"));
    ck_assert_ptr_nonnull(r.first_failure);
    ct_selftest_report_free(&r);
    free(log);
}
END_TEST

START_TEST(test_lie_is_found_in_every_type)
{
    static const char *const calls[] = { "add(f64[7], f64[7])", "add(bf16[7], bf16[7])", "add(f16[7], f16[7])" };
    for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++)
        for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
            /* A factor of 1.001 is within the rounding of bf16. */
            if (lies[i].run == factor && strstr(calls[c], "bf16")) continue;
            ct_impl impl = { CT_OP_ADD, lies[i].name, CT_IMPL_EXACT, accept_all, lies[i].run };
            ct_selftest_report r = { 0 };
            free(run_impl(&impl, calls[c], &r));
            ck_assert_msg(r.failed > 0, "%s was not found on %s", impl.name, calls[c]);
            ct_selftest_report_free(&r);
        }
}
END_TEST

START_TEST(test_truth_passes)
{
    ct_impl impl = { CT_OP_ADD, "right", CT_IMPL_EXACT, accept_all, right };
    ct_selftest_report r = { 0 };
    char *log = run_impl(&impl, ADD_CALL, &r);
    ck_assert_int_eq(r.failed, 0);
    ck_assert_int_eq(r.warned, 0);
    ck_assert_int_eq(r.cases, CT_DATA_COUNT);
    ck_assert_str_eq(log, "");
    ct_selftest_report_free(&r);
    free(log);
}
END_TEST

START_TEST(test_refusal_is_counted_with_its_reason)
{
    ct_impl impl = { CT_OP_ADD, "shy", 0, refuse_all, right };
    ct_selftest_report r = { 0 };
    free(run_impl(&impl, ADD_CALL, &r));
    ck_assert_int_eq(r.cases, 0);
    ck_assert_int_eq(r.rows[0].refused, CT_DATA_COUNT);
    ck_assert_str_eq(r.rows[0].reason, "never");
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    ct_selftest_print(&r, f);
    fclose(f);
    ck_assert_ptr_nonnull(strstr(text, "refused: never"));
    free(text);
    ct_selftest_report_free(&r);
}
END_TEST

/* What adds up numbers in another order is right; what loses one of 3000 is not, and on integers not even by one. */
static int drop_row;

static ct_status sum_backwards(ct_device *dev, ct_stream *s, const ct_call *c, void *scratch)
{
    (void)dev, (void)s, (void)scratch;
    int64_t rows = c->in[0].desc.dim[0], cols = c->in[0].desc.dim[1];
    float *db = c->out[0].data;
    const float *dy = c->in[0].data;
    for (int64_t k = 0; k < cols; k++) {
        db[k] = 0;
        for (int64_t i = rows - 1; i >= drop_row; i--) db[k] += dy[i * cols + k];
    }
    return CT_OK;
}

START_TEST(test_order_of_a_sum_is_free)
{
    ct_impl impl = { CT_OP_BIAS_GRAD, "backwards", CT_IMPL_EXACT, accept_all, sum_backwards };
    ct_selftest_report r = { 0 };
    drop_row = 0;
    free(run_impl(&impl, "bias_grad(f32[3000,5])", &r));
    ck_assert_int_eq(r.failed, 0);
    ck_assert_int_eq(r.warned, 0);
    ct_selftest_report_free(&r);
    drop_row = 1;
    free(run_impl(&impl, "bias_grad(f32[3000,5])", &r));
    ck_assert_int_eq(r.failed, r.cases);
    ct_selftest_report_free(&r);
}
END_TEST

START_TEST(test_same_seed_same_data)
{
    ct_case a = { .seed = 5 }, b = { .seed = 6 };
    strcpy(a.text, ADD_CALL);
    strcpy(b.text, ADD_CALL);
    ck_assert_int_eq(ct_call_parse(a.text, &a.call), CT_OK);
    ct_call x = a.call, y = a.call, z = a.call;
    ck_assert_int_eq(ct_host_alloc(&x), CT_OK);
    ck_assert_int_eq(ct_host_alloc(&y), CT_OK);
    ck_assert_int_eq(ct_host_alloc(&z), CT_OK);
    ct_generate(&a, &x, false, 0);
    ct_generate(&a, &y, false, 0);
    ct_generate(&b, &z, false, 0);
    for (int i = 0; i < 2; i++) {
        ck_assert_mem_eq(x.in[i].data, y.in[i].data, 60);
        ck_assert_mem_ne(x.in[i].data, z.in[i].data, 60);
    }
    ck_assert_mem_ne(x.in[0].data, x.in[1].data, 60);
    ct_host_free(&x);
    ct_host_free(&y);
    ct_host_free(&z);
}
END_TEST

/* Every value lies where its domain says. */
static ct_status check_domains(void *user, const ct_case *c)
{
    int *seen = user;
    ct_call call = c->call;
    CT_TRY(ct_host_alloc(&call));
    ct_generate(c, &call, false, 0);
    for (int i = 0; i < call.nin; i++) {
        const ct_tensor *t = &call.in[i];
        if (!ct_present(t)) continue;
        ct_domain d = ct_call_domain(&call, i);
        if (c->data == CT_DATA_SPECIAL && d.special) d = *d.special;
        const double slack = ct_dtype_eps(t->desc.dtype) * fmax(fabs(d.lo), fabs(d.hi)); /* stored values are rounded */
        seen[d.kind]++;
        for (int64_t k = 0; k < ct_desc_numel(&t->desc); k++) {
            const double v = ct_load(t->desc.dtype, t->data, k);
            bool in = true;
            if (d.kind == CT_DOM_RANGE)
                in = (v >= d.lo - slack && v <= d.hi + slack) || (d.poison != CT_POISON_NONE && !isfinite(v));
            if (d.kind == CT_DOM_BELOW) in = v >= 0 && v < d.hi;
            if (d.kind == CT_DOM_ZERO) in = v == 0;
            if (d.kind == CT_DOM_LEN) in = v >= 1 && v <= (double)call.in[0].desc.dim[0];
            if (d.kind == CT_DOM_LOGP) in = v <= 0;
            if (d.kind == CT_DOM_ROWS && k % t->desc.dim[1] == 0)
                in = v >= 0 && v < (double)call.in[0].desc.dim[0];
            if (!in) /* ck_assert_msg writes to a pipe whatever it finds */
                ck_abort_msg("%s, %s data: element %lld of input %d is %g", c->text, ct_data_name(c->data),
                             (long long)k, i, v);
        }
    }
    ct_host_free(&call);
    return CT_OK;
}

START_TEST(test_data_lie_in_their_domains)
{
    ct_selftest_opts o = { 0 };
    int seen[CT_DOM_FORWARD + 1] = { 0 };
    ck_assert_msg(ct_cases_visit(&o, check_domains, seen) == CT_OK, "%s", ct_error_message());
    for (int k = CT_DOM_ANY; k <= CT_DOM_FORWARD; k++) ck_assert_msg(seen[k] > 0, "no case has domain %d", k);
    ck_assert(seen[CT_DOM_UNSAID] == 0 && seen[CT_DOM_BY_CALL] == 0);
}
END_TEST

/* Every optimizer is tested on its first step and on a step to be skipped, in every type it takes. */
static int steps[CT_OP_COUNT][2][2]; /* operator, f64, found_inf */

static ct_status count_step(void *user, const ct_case *c)
{
    (void)user;
    ct_call call = c->call;
    if (strcmp(ct_op_get(call.op)->family, "optim") != 0) return CT_OK;
    CT_TRY(ct_host_alloc(&call));
    ct_generate(c, &call, false, 0);
    int at = 0; /* behind it there is at most what is optional */
    while (ct_call_domain(&call, at).kind != CT_DOM_STATE) at++;
    const double *state = call.in[at].data;
    bool skipped = state[CT_STATE_FOUND_INF] != 0, first = state[CT_STATE_APPLIED] == 0;
    ck_assert(skipped == (c->data == CT_DATA_SKIPPED) && first == (c->data == CT_DATA_SPECIAL));
    if (skipped || first) steps[call.op][ct_case_dtype(&call) == CT_F64][skipped]++;
    ct_host_free(&call);
    return CT_OK;
}

START_TEST(test_special_steps)
{
    static const ct_op ops[] = { CT_OP_ADAMW, CT_OP_SGD, CT_OP_EMA, CT_OP_STEP_END };
    ct_selftest_opts o = { 0 };
    ck_assert_int_eq(ct_cases_visit(&o, count_step, NULL), CT_OK);
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        for (int wide = ops[i] == CT_OP_STEP_END; wide < 2; wide++)
            for (int f = 0; f < 2; f++)
                ck_assert_msg(steps[ops[i]][wide][f] > 0, "%s: no such case in f%d, found_inf=%d",
                              ct_op_get(ops[i])->name, wide ? 64 : 32, f);
}
END_TEST

START_TEST(test_compare)
{
    float want[3] = { 1, NAN, INFINITY }, got[3] = { 1, NAN, INFINITY };
    ct_tensor w = { ct_desc1(CT_F32, 3), want }, g = { ct_desc1(CT_F32, 3), got };
    ct_bound none = { 0, 0 }, tenth = { 0.1, 0 }, percent = { 0, 0.01 };
    ck_assert(ct_compare(&g, &w, none).worst == 0);
    got[0] = 1.05f;
    ck_assert(isinf(ct_compare(&g, &w, none).worst));
    ck_assert_double_eq_tol(ct_compare(&g, &w, tenth).worst, 0.5, 1e-5);
    ck_assert_double_eq_tol(ct_compare(&g, &w, percent).worst, 5, 1e-4);
    got[0] = 1;
    got[1] = 0;
    ck_assert(isinf(ct_compare(&g, &w, tenth).worst));
    ck_assert_int_eq((int)ct_compare(&g, &w, tenth).at, 1);
    got[1] = NAN;
    got[2] = 3e38f;
    ck_assert(isinf(ct_compare(&g, &w, tenth).worst));
}
END_TEST

/* The name "gradient" chooses the finite differences, any other name leaves them out. */
START_TEST(test_gradient_is_a_name)
{
    ct_impl impl = { CT_OP_ADD, "right", CT_IMPL_EXACT, accept_all, right };
    ct_backend b = host_backend(&impl, 1);
    ct_selftest_report r = { 0 };
    ct_selftest_opts o = { .call = "add(f64[3], f64[3])", .impl = CT_IMPL_GRADIENT };
    ck_assert_int_eq(ct_selftest_ops(&b, NULL, &o, &r), CT_OK);
    ck_assert_int_eq(r.cases, 0);
    ck_assert_int_eq(ct_selftest_gradients(&o, &r), CT_OK);
    ck_assert_int_eq(r.cases, 1);
    ck_assert_int_eq(r.failed, 0);
    o.impl = "right";
    ck_assert_int_eq(ct_selftest_gradients(&o, &r), CT_OK);
    ck_assert_int_eq(r.cases, 1);
    ct_selftest_report_free(&r);
}
END_TEST

START_TEST(test_options_that_name_nothing)
{
    ct_impl impl = { CT_OP_ADD, "right", CT_IMPL_EXACT, accept_all, right };
    ct_backend b = host_backend(&impl, 1);
    ct_selftest_report r = { 0 };
    ct_selftest_opts op = { .op = "ad" }, im = { .impl = "left" }, data = { .data = "odd" },
                     call = { .call = "add(f32[2])" };
    ct_selftest_opts none = { .op = "add", .data = "special" };
    ck_assert_int_eq(ct_selftest_ops(&b, NULL, &op, &r), CT_ECONFIG);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "'ad'"));
    ck_assert_int_eq(ct_selftest_ops(&b, NULL, &im, &r), CT_EINVAL);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "'left'"));
    ck_assert_int_eq(ct_selftest_ops(&b, NULL, &data, &r), CT_EINVAL);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "'odd'"));
    ck_assert_int_eq(ct_selftest_ops(&b, NULL, &call, &r), CT_EINVAL);
    ck_assert_int_eq(ct_selftest_ops(&b, NULL, &none, &r), CT_EINVAL);
    ck_assert_int_eq(r.cases, 0);
    ct_selftest_report_free(&r);
}
END_TEST

/* Every allocation in turn fails: the harness says so and loses nothing (the sanitizer and valgrind runs look). */
START_TEST(test_out_of_memory)
{
    const ct_impl impl = { CT_OP_ADD, "right", CT_IMPL_EXACT, accept_all, right };
    ct_backend b = host_backend(&impl, 1);
    ct_selftest_opts o = { .seed = 1, .call = ADD_CALL, .data = "uniform" };
    ct_status st = CT_ENOMEM;
    for (long n = 0; st != CT_OK; n++) {
        ck_assert_int_lt(n, 100);
        ct_selftest_report r = { 0 };
        ct_alloc_fail_after(n);
        st = ct_selftest_ops(&b, NULL, &o, &r);
        ct_alloc_fail_after(-1);
        ck_assert_msg(st == CT_OK || st == CT_ENOMEM, "%s", ct_error_message());
        ct_selftest_report_free(&r);
    }
    ct_selftest_opts grad = { .seed = 1, .call = "linear(f64[2,3], f64[4,3], f64[4])", .data = "uniform" };
    st = CT_ENOMEM;
    for (long n = 0; st != CT_OK; n++) {
        ck_assert_int_lt(n, 1000);
        ct_selftest_report r = { 0 };
        ct_alloc_fail_after(n);
        st = ct_selftest_gradients(&grad, &r);
        ct_alloc_fail_after(-1);
        ck_assert_msg(st == CT_OK || st == CT_ENOMEM, "%s", ct_error_message());
        /* A gradient rule that runs out of memory is a failed case. */
        if (r.failed) st = CT_ENOMEM;
        ct_selftest_report_free(&r);
    }
}
END_TEST

START_TEST(test_every_operator_has_a_reference)
{
    for (int op = 0; op < CT_OP_COUNT; op++) {
        const ct_impl *ref = ct_ref_find((ct_op)op);
        bool view = (ct_op_get((ct_op)op)->rules->flags & CT_OPF_VIEW) != 0;
        ck_assert_msg((ref != NULL) != view, "%s", ct_op_get((ct_op)op)->name);
        if (!ref) continue;
        ck_assert_int_eq((int)ref->op, op);
        ck_assert_str_eq(ref->name, "ref");
        ck_assert_int_eq((int)ref->flags, CT_IMPL_REFERENCE | CT_IMPL_EXACT | CT_IMPL_DETERMINISTIC);
    }
}
END_TEST

/* The whole table on the reference itself: guard bands, unset outputs, in place; then its gradients. */
START_TEST(test_reference)
{
    ct_impl impls[CT_OP_COUNT];
    size_t n = 0;
    for (int op = 0; op < CT_OP_COUNT; op++)
        if (ct_ref_find((ct_op)op)) impls[n++] = *ct_ref_find((ct_op)op);
    ct_backend b = host_backend(impls, n);
    ct_selftest_opts o = { .seed = 3, .log = stdout };
    ct_selftest_report r = { 0 };
    ck_assert_msg(ct_selftest_ops(&b, NULL, &o, &r) == CT_OK, "%s", ct_error_message());
    ck_assert_msg(r.failed == 0 && r.warned == 0, "%s", r.first_failure);
    ck_assert_int_eq(r.refused, 0);
    for (int op = 0; op < CT_OP_COUNT; op++) {
        bool seen = ct_ref_find((ct_op)op) == NULL;
        for (size_t i = 0; i < r.nrows; i++) seen = seen || r.rows[i].op == (ct_op)op;
        ck_assert_msg(seen, "%s has no case", ct_op_get((ct_op)op)->name);
    }
    ct_selftest_report_free(&r);
    ck_assert_msg(ct_selftest_gradients(&o, &r) == CT_OK, "%s", ct_error_message());
    ck_assert_msg(r.failed == 0 && r.warned == 0, "%s", r.first_failure);
    for (int op = 0; op < CT_OP_COUNT; op++) {
        bool seen = ct_op_get((ct_op)op)->rules->grad == NULL;
        for (size_t i = 0; i < r.nrows; i++) seen = seen || r.rows[i].op == (ct_op)op;
        ck_assert_msg(seen, "no gradient of %s was checked", ct_op_get((ct_op)op)->name);
    }
    ct_selftest_report_free(&r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("harness");
    TCase *t = tcase_create("lies");
    tcase_set_timeout(t, 120); /* the data of every case are made: seconds, and far more under a sanitizer */
    tcase_add_loop_test(t, test_lie_is_found, 0, (int)(sizeof lies / sizeof lies[0]));
    tcase_add_test(t, test_lie_is_found_in_every_type);
    tcase_add_test(t, test_truth_passes);
    tcase_add_test(t, test_refusal_is_counted_with_its_reason);
    tcase_add_test(t, test_order_of_a_sum_is_free);
    tcase_add_test(t, test_same_seed_same_data);
    tcase_add_test(t, test_data_lie_in_their_domains);
    tcase_add_test(t, test_special_steps);
    tcase_add_test(t, test_compare);
    tcase_add_test(t, test_gradient_is_a_name);
    tcase_add_test(t, test_options_that_name_nothing);
    tcase_add_test(t, test_out_of_memory);
    suite_add_tcase(s, t);
    TCase *ref = tcase_create("reference");
    tcase_set_timeout(ref, 120);
    tcase_add_test(ref, test_every_operator_has_a_reference);
    tcase_add_test(ref, test_reference);
    suite_add_tcase(s, ref);
    return ct_check_main(s);
}
