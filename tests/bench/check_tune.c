/* Choices of implementations: the table, its file, dispatch under them; and what `tune` and `bench --op` print. */
#include "config.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "captrain.h"
#include "exec/exec.h"
#include "measure/measure.h"
#include "tests/ct_check.h"

#define CONV                                                                                                           \
    "conv2d{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1}(f32[1,9,11,24], f32[40,3,3,24], -) -> "    \
    "(f32[1,9,11,40])"
#define ADD "add(f32[3], f32[3]) -> (f32[3])"

static void ok(ct_status st)
{
    ck_assert_msg(st == CT_OK, "%s", ct_error_message());
}

static void says(ct_status st, ct_status want, const char *part)
{
    ck_assert_msg(st == want, "status %s, message '%s'", ct_status_name(st), ct_error_message());
    ck_assert_msg(strstr(ct_error_message(), part) != NULL, "'%s' is not in the message '%s'", part,
                  ct_error_message());
}

START_TEST(table)
{
    ct_choices *c;
    ct_call conv, add, other;
    const char *impl;
    ok(ct_choices_new(&c));
    ok(ct_call_parse(CONV, &conv));
    ok(ct_call_parse(ADD, &add));
    ok(ct_call_parse("add(f32[4], f32[4])", &other));
    ok(ct_choices_add(c, CONV, "cpu.indirect"));
    ok(ct_choices_add(c, ADD, "cpu.vector"));
    says(ct_choices_add(c, ADD, "cpu.ref"), CT_EINVAL, "two choices for add(");
    ck_assert_uint_eq(ct_choices_count(c), 2);
    ck_assert_uint_eq(ct_choices_count(NULL), 0);
    ck_assert_str_eq(ct_choices_at(c, 0)->call, ADD); /* by call */
    ok(ct_choices_find(c, &conv, &impl));
    ck_assert_str_eq(impl, "cpu.indirect");
    ok(ct_choices_find(c, &add, &impl));
    ck_assert_str_eq(impl, "cpu.vector");
    ok(ct_choices_find(c, &other, &impl));
    ck_assert_ptr_null(impl);
    ok(ct_choices_find(NULL, &add, &impl));
    ck_assert_ptr_null(impl);

    /* text and file give the same table back */
    char path[] = "/tmp/ct_tune_XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    char *text = ct_choices_text(c), *again;
    ck_assert_ptr_nonnull(text);
    ok(ct_choices_write(c, path));
    ct_choices_free(c);
    ok(ct_choices_parse(text, "text", &c));
    again = ct_choices_text(c);
    ck_assert_str_eq(text, again);
    ct_free(again);
    ct_choices_free(c);
    ok(ct_choices_read(path, &c));
    again = ct_choices_text(c);
    ck_assert_str_eq(text, again);
    ct_free(again);
    ct_free(text);
    ct_choices_free(c);
    ct_choices_free(NULL);
    unlink(path);
}
END_TEST

#define HEAD "{\"format\": \"captrain-choices\", \"version\": 1, \"choices\": ["

START_TEST(damage)
{
    ct_choices *c;
    const struct {
        const char *text, *part;
        ct_status want;
    } bad[] = {
        { "", "source", CT_EFORMAT },
        { HEAD "{\"call\": \"add(f32[3]", "source", CT_EFORMAT },
        { "[]", "not a file of choices", CT_EFORMAT },
        { "{\"format\": \"other\"}", "not a file of choices", CT_EFORMAT },
        { "{\"format\": \"captrain-choices\", \"version\": 2, \"choices\": []}", "version 2", CT_EUNSUPPORTED },
        { "{\"format\": \"captrain-choices\", \"version\": 1}", "no list", CT_EFORMAT },
        { HEAD "3]}", "choice 1 lacks", CT_EFORMAT },
        { HEAD "{\"call\": \"" ADD "\"}]}", "choice 1 lacks", CT_EFORMAT },
        { HEAD "{\"call\": \"" ADD "\", \"impl\": \"\"}]}", "choice 1 lacks", CT_EFORMAT },
        { HEAD "{\"call\": \"add(f32[3])\", \"impl\": \"cpu.vector\"}]}", "choice 1: ", CT_EFORMAT },
        { HEAD "{\"call\": \"nothing(f32[3])\", \"impl\": \"cpu.vector\"}]}", "there is no operator 'nothing'",
          CT_EFORMAT },
        { HEAD "{\"call\": \"" ADD "\", \"impl\": \"a\"}, {\"call\": \"add(f32[3],f32[3])\", \"impl\": \"b\"}]}",
          "choice 2: two choices", CT_EFORMAT },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        says(ct_choices_parse(bad[i].text, "source", &c), bad[i].want, bad[i].part);
        ck_assert_ptr_null(c);
    }
    says(ct_choices_read("/nonexistent/choices.json", &c), CT_EIO, "/nonexistent/choices.json");
    ok(ct_choices_parse(HEAD "]}", "source", &c));
    ck_assert_uint_eq(ct_choices_count(c), 0);
    ct_choices_free(c);
    /* blanks do not matter: a row is kept as this program writes it */
    ok(ct_choices_parse(HEAD "{\"call\": \" add( f32[3],f32[3] )\", \"impl\": \"cpu.ref\"}]}", "source", &c));
    ck_assert_str_eq(ct_choices_at(c, 0)->call, ADD);
    ct_choices_free(c);
}
END_TEST

/* Every allocation of parsing in turn fails. */
START_TEST(out_of_memory)
{
    ct_choices *c;
    for (long n = 0; n < 200; n++) {
        ct_alloc_fail_after(n);
        ct_status st = ct_choices_parse(HEAD "{\"call\": \"" ADD "\", \"impl\": \"cpu.ref\"}]}", "source", &c);
        ct_alloc_fail_after(-1);
        if (st == CT_OK) {
            ck_assert_int_gt((int)n, 0);
            ct_choices_free(c);
            return;
        }
        ck_assert_int_eq(st, CT_ENOMEM);
        ck_assert_ptr_null(c);
    }
    ck_abort_msg("it never succeeds");
}
END_TEST

static ct_status dispatch_with(const char *impl, ct_device_opts opts, const char **name)
{
    const ct_backend *b = &ct_backend_cpu;
    ct_device *dev;
    ct_call call;
    ct_choice choice;
    ct_choices *c;
    ok(ct_choices_new(&c));
    ok(ct_choices_add(c, CONV, impl));
    ok(ct_call_parse(CONV, &call));
    opts.choices = c;
    opts.threads = 1;
    ok(b->open(&opts, &dev));
    ct_status st = ct_dispatch(b, dev, &opts, &call, &choice);
    if (st == CT_OK) *name = choice.impl->name;
    b->close(dev);
    ct_choices_free(c);
    return st;
}

START_TEST(dispatch_obeys)
{
    const char *name;
    ok(dispatch_with("cpu.ref", (ct_device_opts){ 0 }, &name));
    ck_assert_str_eq(name, "ref");
    ok(dispatch_with("cpu.indirect", (ct_device_opts){ 0 }, &name));
    ck_assert_str_eq(name, "cpu.indirect");
    says(dispatch_with("cpu.nothing", (ct_device_opts){ 0 }, &name), CT_EUNSUPPORTED,
         "cpu.nothing was measured and chosen for " CONV ", but cannot take it here: this backend has no such");
    says(dispatch_with("cpu.depthwise", (ct_device_opts){ 0 }, &name), CT_EUNSUPPORTED, "cannot take it here: ");
    says(dispatch_with("cpu.indirect", (ct_device_opts){ .reference = true }, &name), CT_EUNSUPPORTED,
         "not the reference, which was asked for");
}
END_TEST

/* Of a call with several takers all are timed but the reference, and the order of the table decides `first`. */
START_TEST(measuring)
{
    const ct_backend *b = &ct_backend_cpu;
    const ct_device_opts opts = { .threads = 1, .exact = true };
    ct_device *dev;
    ct_call call;
    ct_choice choice;
    ct_measured m;
    ok(ct_call_parse(CONV, &call));
    ok(b->open(&opts, &dev));
    ok(ct_dispatch(b, dev, &opts, &call, &choice));
    ok(ct_measure_call(b, dev, &opts, &call, 0.01, &m));
    ck_assert_uint_gt(m.n, 2);
    ck_assert_uint_lt(m.first, m.n);
    ck_assert_uint_lt(m.fastest, m.n);
    ck_assert_ptr_eq(m.c[m.first].impl, choice.impl);
    for (size_t i = 0; i < m.n; i++) {
        bool inexact = !(m.c[i].impl->flags & CT_IMPL_EXACT), ref = m.c[i].impl->flags & CT_IMPL_REFERENCE;
        if (inexact || ref) ck_assert_ptr_nonnull(m.c[i].refused);
        if (!m.c[i].refused)
            ck_assert(m.c[i].time.runs >= 5 && m.c[i].time.best > 0 && m.c[i].time.median >= m.c[i].time.best);
    }
    ct_measured_free(&m);
    /* the reference alone is timed where nothing else accepts */
    ok(ct_call_parse("add(f64[30], f64[30])", &call));
    ok(ct_measure_call(b, dev, &opts, &call, 0.01, &m));
    ck_assert(m.first < m.n && (m.c[m.first].impl->flags & CT_IMPL_REFERENCE));
    ct_measured_free(&m);
    b->close(dev);
}
END_TEST

/* ---- the verbs ---- */

static json_t *output_of(ct_status (*run)(const void *opts, FILE *to), const void *opts)
{
    char *text = NULL;
    size_t size = 0;
    json_error_t e;
    FILE *to = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(to);
    ct_status st = run(opts, to);
    fclose(to);
    ok(st);
    json_t *j = json_loads(text, 0, &e);
    ck_assert_msg(j != NULL, "%s in %s", e.text, text);
    free(text);
    return j;
}

static ct_status run_tune(const void *o, FILE *to) { return ct_run_tune(o, to); }
static ct_status run_bench(const void *o, FILE *to) { return ct_run_bench(o, to); }

static double number(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    ck_assert_msg(json_is_number(v), "%s is no number", key);
    return json_number_value(v);
}

START_TEST(tune_a_model)
{
    char path[] = "/tmp/ct_tune_XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    const ct_tune_opts o = { .size = sizeof o,
                             .common = { .backend = "cpu", .threads = 2 },
                             .model = "textcnn-small",
                             .batch = 1,
                             .out = path,
                             .json = true };
    json_t *j = output_of(run_tune, &o);
    ct_choices *c;
    ok(ct_choices_read(path, &c));
    const json_t *calls = json_object_get(j, "calls");
    ck_assert_uint_gt(ct_choices_count(c), 0);
    ck_assert_uint_eq(ct_choices_count(c), json_array_size(calls));
    ck_assert(number(j, "distinct_calls") > number(j, "changed"));
    ck_assert(number(j, "ms_chosen") <= number(j, "ms_usual"));
    /* what was chosen is marked, and is what the file says */
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *row = json_array_get(calls, i), *impls = json_object_get(row, "impls");
        ct_call call;
        const char *impl;
        int marked = 0, timed = 0;
        ok(ct_call_parse(json_string_value(json_object_get(row, "call")), &call));
        ok(ct_choices_find(c, &call, &impl));
        ck_assert_ptr_nonnull(impl);
        for (size_t k = 0; k < json_array_size(impls); k++) {
            const json_t *x = json_array_get(impls, k);
            timed += json_object_get(x, "ms") != NULL;
            if (!json_is_true(json_object_get(x, "chosen"))) continue;
            marked++;
            ck_assert_str_eq(json_string_value(json_object_get(x, "impl")), impl);
        }
        ck_assert_int_eq(marked, 1);
        ck_assert_int_ge(timed, 2);
    }
    ct_choices_free(c);
    json_decref(j);
    /* a step under these choices */
    const ct_bench_opts b = { .size = sizeof b,
                              .common = { .backend = "cpu", .threads = 1 },
                              .model = "textcnn-small",
                              .batch = 1,
                              .steps = 1,
                              .warmup = 1,
                              .calls = true,
                              .tune = path,
                              .json = true };
    j = output_of(run_bench, &b);
    ck_assert(number(j, "ms_per_step") > 0);
    ck_assert(number(j, "peak_gb_per_s") > 0);
    ck_assert_uint_gt(json_array_size(json_object_get(j, "calls")), 20);
    json_decref(j);
    unlink(path);

    ct_tune_opts wrong = { .size = sizeof wrong, .model = "textcnn", .config = "quickstart" };
    says(ct_run_tune(&wrong, stderr), CT_ECONFIG, "--model stands instead");
    wrong = (ct_tune_opts){ .size = sizeof(ct_tune_opts), .batch = 3 };
    says(ct_run_tune(&wrong, stderr), CT_ECONFIG, "belong to --model");
}
END_TEST

START_TEST(bench_of_calls)
{
    ct_bench_opts o = { .size = sizeof o, .common = { .backend = "cpu", .threads = 1 }, .op = CONV, .json = true };
    json_t *j = output_of(run_bench, &o);
    const json_t *row = json_array_get(json_object_get(j, "calls"), 0), *impls = json_object_get(row, "impls");
    ck_assert_uint_eq(json_array_size(json_object_get(j, "calls")), 1);
    ck_assert(number(row, "flops") == 2.0 * 9 * 11 * 40 * 3 * 3 * 24);
    int timed = 0;
    for (size_t i = 0; i < json_array_size(impls); i++) {
        const json_t *x = json_array_get(impls, i);
        if (!json_object_get(x, "ms")) {
            ck_assert_ptr_nonnull(json_object_get(x, "refused"));
            continue;
        }
        timed++;
        double rate = number(row, "flops") / number(x, "ms") * 1e-6;
        ck_assert(number(x, "gflops_per_s") > 0.999 * rate && number(x, "gflops_per_s") < 1.001 * rate);
    }
    ck_assert_int_ge(timed, 1);
    json_decref(j);

    o = (ct_bench_opts){ .size = sizeof(ct_bench_opts),
                         .common = { .backend = "cpu", .threads = 1 },
                         .model = "textcnn-small",
                         .batch = 1,
                         .op = "batchnorm_pool",
                         .json = true };
    j = output_of(run_bench, &o);
    ck_assert_uint_ge(json_array_size(json_object_get(j, "calls")), 1);
    json_decref(j);
    o.op = "nothing";
    says(ct_run_bench(&o, stderr), CT_ECONFIG, "there is no operator 'nothing'");
    o.op = "sgd";
    says(ct_run_bench(&o, stderr), CT_ECONFIG, "no training step has the operator 'sgd'");
    o.op = CONV;
    says(ct_run_bench(&o, stderr), CT_ECONFIG, "a CALL has its own");
    o.model = NULL;
    o.op = "conv2d(";
    says(ct_run_bench(&o, stderr), CT_ECONFIG, "--op: ");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("tune");
    TCase *tc = tcase_create("choices");
    tcase_add_test(tc, table);
    tcase_add_test(tc, damage);
    tcase_add_test(tc, out_of_memory);
    tcase_add_test(tc, dispatch_obeys);
    suite_add_tcase(s, tc);
    tc = tcase_create("verbs");
    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, measuring);
    tcase_add_test(tc, tune_a_model);
    tcase_add_test(tc, bench_of_calls);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return ct_check_main(suite());
}
