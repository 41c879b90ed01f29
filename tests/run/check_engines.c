/* What computes a call: variants of implementations, the precision receipt, and choices measured without being asked
 * for a file. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/signals.h"
#include "exec/exec.h"
#include "formats/json.h"
#include "measure/measure.h"
#include "measure/tune.h"
#include "program/program.h"
#include "program/spec.h"
#include "run/receipt.h"
#include "tests/ct_check.h"

static void ok(ct_status st)
{
    ck_assert_msg(st == CT_OK, "%s: %s", ct_status_name(st), ct_error_message());
}

static void says(ct_status st, ct_status want, const char *part)
{
    ck_assert_msg(st == want, "status %s, message '%s'", ct_status_name(st), ct_error_message());
    ck_assert_msg(strstr(ct_error_message(), part) != NULL, "'%s' is not in the message '%s'", part,
                  ct_error_message());
}

/* ---- a backend with variants: the CPU's, with one implementation of `add` that can be told how ---- */

#define ADD "add(f32[6], f32[6]) -> (f32[6])"
#define ADD2 "add(f32[2,3], f32[2,3]) -> (f32[2,3])"
#define MUL "mul(f32[6], f32[6]) -> (f32[6])"

static const char *const ways[] = { "fast", "slow", "moody", "breaks" };
static char current[CT_VARIANT_NAME]; /* of all calls; "": its own choice */
static int runs, ran_as[5];           /* by way; [4]: its own choice */

static int way(void)
{
    for (int i = 0; i < 4; i++)
        if (strcmp(current, ways[i]) == 0) return i;
    return 4;
}

/* The scratch tells which variant has accepted. */
static ct_accept fake_accept(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    (void)call;
    return ct_accept_yes(way() == 4 ? 0 : (size_t)(64 * (way() + 1)));
}

static ct_status fake_run(ct_device *dev, ct_stream *s, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)s;
    (void)scratch;
    runs++;
    ran_as[way()]++;
    if (way() == 3) return ct_fail(CT_EBACKEND, "this variant breaks");
    const float *a = call->in[0].data, *b = call->in[1].data;
    float *y = call->out[0].data;
    for (int i = 0; i < 6; i++) y[i] = a[i] + b[i];
    return CT_OK;
}

static ct_status mul_run(ct_device *dev, ct_stream *s, const ct_call *call, void *scratch)
{
    return fake_run(dev, s, call, scratch);
}

static int fake_variants(ct_device *dev, const ct_impl *impl, const ct_call *call, char names[][CT_VARIANT_NAME],
                         int max)
{
    (void)dev;
    (void)call;
    int n = 0;
    for (; impl->op == CT_OP_ADD && n < 4 && n < max; n++) snprintf(names[n], CT_VARIANT_NAME, "%s", ways[n]);
    return n;
}

static ct_status fake_prefer(ct_device *dev, const ct_impl *impl, const ct_call *call, const char *variant)
{
    (void)dev;
    (void)impl;
    (void)call;
    if (variant && strcmp(variant, "moody") == 0) return ct_fail(CT_EUNSUPPORTED, "not today");
    bool known = !variant;
    for (int i = 0; i < 4 && !known; i++) known = strcmp(variant, ways[i]) == 0;
    if (!known) return ct_fail(CT_EUNSUPPORTED, "there is no variant '%s'", variant);
    snprintf(current, sizeof current, "%s", variant ? variant : "");
    return CT_OK;
}

static const ct_impl fake_impls[] = {
    { CT_OP_ADD, "plain", CT_IMPL_EXACT | CT_IMPL_DETERMINISTIC, fake_accept, fake_run },
    { CT_OP_MUL, "plain", CT_IMPL_EXACT | CT_IMPL_DETERMINISTIC, fake_accept, mul_run },
};

static const ct_impl_set fake_set = CT_IMPL_SET(fake_impls), *const fake_sets[] = { &fake_set };

static ct_backend fake(void)
{
    ct_backend b = ct_backend_cpu;
    b.variants = fake_variants;
    b.prefer = fake_prefer;
    b.sets = fake_sets;
    b.nsets = 1;
    current[0] = '\0';
    runs = 0;
    memset(ran_as, 0, sizeof ran_as);
    ok(ct_backend_validate(&b));
    return b;
}

static ct_status dispatch(const ct_backend *b, const char *impl, ct_choice *choice)
{
    char text[256];
    ct_device_opts opts = { .threads = 1 };
    ct_device *dev;
    ct_choices *c;
    ct_call call;
    snprintf(text, sizeof text,
             "{\"format\": \"captrain-choices\", \"version\": 1, \"choices\": [{\"call\": \"" ADD
             "\", \"impl\": \"%s\"}]}",
             impl);
    ok(ct_choices_parse(text, "some/file.json", &c));
    ck_assert_str_eq(ct_choices_source(c), "some/file.json");
    ck_assert_str_eq(ct_choices_made_for(c), "");
    opts.choices = c;
    ok(ct_call_parse(ADD, &call));
    ok(b->open(&opts, &dev));
    ct_status st = ct_dispatch(b, dev, &opts, &call, choice);
    b->close(dev);
    ct_choices_free(c);
    return st;
}

START_TEST(a_choice_may_name_a_variant)
{
    const ct_backend b = fake();
    ct_choice choice;
    ok(dispatch(&b, "cpu.plain:slow", &choice));
    ck_assert_str_eq(choice.impl->name, "plain");
    ck_assert_uint_eq(choice.scratch, 128);
    ck_assert_str_eq(current, "slow");
    /* without a variant it is the backend's own choice again */
    ok(dispatch(&b, "cpu.plain", &choice));
    ck_assert_uint_eq(choice.scratch, 0);
    ck_assert_str_eq(current, "");
    says(dispatch(&b, "cpu.plain:nothing", &choice), CT_EUNSUPPORTED,
         "some/file.json: cpu.plain:nothing was measured and chosen for " ADD
         ", but cannot take it here: there is no variant 'nothing'");
    says(dispatch(&b, "cpu.plain:moody", &choice), CT_EUNSUPPORTED, "not today");
    says(dispatch(&b, "cpu.plain:", &choice), CT_EUNSUPPORTED, "there is no variant ''");
    says(dispatch(&b, "cpu.plai:slow", &choice), CT_EUNSUPPORTED, "this backend has no such implementation");
    says(dispatch(&ct_backend_cpu, "cpu.vector:slow", &choice), CT_EUNSUPPORTED, "this backend knows no variants");
}
END_TEST

START_TEST(variants_are_measured)
{
    static const char *const names[] = { "cpu.plain", "cpu.plain:fast", "cpu.plain:slow", "cpu.plain:moody",
                                         "cpu.plain:breaks" };
    const ct_backend b = fake();
    const ct_device_opts opts = { .threads = 1 };
    ct_device *dev;
    ct_call call;
    ct_measured m;
    ok(b.open(&opts, &dev));
    ok(ct_call_parse(ADD, &call));
    ck_assert_int_eq(ct_measure_ways(&b, dev, &opts, &call), 2);
    snprintf(current, sizeof current, "slow"); /* what an earlier choice left behind is not its own choice */
    ok(ct_measure_call(&b, dev, &opts, &call, 0.001, &m));
    ck_assert_uint_eq(m.n, 5);
    for (int i = 0; i < 5; i++) ck_assert_str_eq(m.c[i].name, names[i]);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_ptr_null(m.c[i].refused);
        ck_assert_uint_eq(m.c[i].scratch, 64 * i);
        ck_assert_int_ge(m.c[i].time.runs, 5);
    }
    ck_assert_ptr_nonnull(m.c[3].refused);
    ck_assert_msg(m.c[4].refused && strstr(m.c[4].refused, "failed"), "%s", m.c[4].refused ? m.c[4].refused : "-");
    ck_assert_uint_eq(m.first, 0);
    ck_assert_uint_lt(m.fastest, 3);
    ck_assert(ran_as[4] > 0 && ran_as[0] > 0 && ran_as[1] > 0 && ran_as[2] == 0 && ran_as[3] == 1);
    ck_assert_str_eq(current, ""); /* as it was found */
    ct_measured_free(&m);
    ok(ct_call_parse(MUL, &call));
    ck_assert_int_eq(ct_measure_ways(&b, dev, &opts, &call), 1);
    b.close(dev);
}
END_TEST

/* ---- train.tune: auto ---- */

static char cache_dir[64];

static void use_cache(void)
{
    snprintf(cache_dir, sizeof cache_dir, "/tmp/ct_engines_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(cache_dir));
    setenv("CAPTRAIN_CACHE_DIR", cache_dir, 1);
}

static void drop_cache(void)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", cache_dir);
    ck_assert_int_eq(system(command), 0);
}

/* The one file of the cache: its path into path, its text returned (ct_free()). */
static char *cached(char *path, size_t size)
{
    char command[160];
    uint8_t *text;
    size_t n;
    snprintf(command, sizeof command, "ls %s/tune/cpu-*.json", cache_dir);
    FILE *p = popen(command, "r");
    ck_assert_ptr_nonnull(p);
    ck_assert_ptr_nonnull(fgets(path, (int)size, p));
    ck_assert_int_eq(fgetc(p), EOF);
    ck_assert_int_eq(pclose(p), 0);
    path[strcspn(path, "\n")] = '\0';
    ok(ct_file_read(path, 1 << 20, &text, &n));
    return (char *)text;
}

static ct_choices *tuned(const ct_backend *b, int threads)
{
    const ct_device_opts opts = { .threads = threads };
    const char *const texts[] = { ADD, ADD2, MUL };
    ct_call_list list = { .use = NULL };
    ct_choices *c;
    for (int i = 0; i < 3; i++) {
        ct_call call;
        ok(ct_call_parse(texts[i], &call));
        ok(ct_call_list_add(&list, &call));
    }
    ok(ct_tune_auto(b, &opts, &list, &c));
    ct_call_list_free(&list);
    ck_assert_uint_eq(ct_choices_count(c), 2); /* MUL has one way only */
    ck_assert_ptr_nonnull(strstr(ct_choices_made_for(c), "captrain "));
    return c;
}

/* Writes the cache's file with `from` replaced by `to`. */
static void change_file(const char *from, const char *to)
{
    char path[256], *text = cached(path, sizeof path), *at = strstr(text, from);
    ck_assert_msg(at != NULL, "'%s' is not in %s", from, text);
    char *other = ct_asprintf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    ok(ct_file_write_atomic(path, other, strlen(other)));
    ct_free(other);
    ct_free(text);
}

START_TEST(tuning_keeps_a_cache)
{
    const ct_backend b = fake();
    char path[256], *first, *again;
    use_cache();
    ct_choices *c = tuned(&b, 1), *d;
    ck_assert_int_gt(runs, 0);
    first = cached(path, sizeof path);
    ct_choices_free(c);
    /* what is known is not measured again, and the file is a file of choices like any other */
    runs = 0;
    c = tuned(&b, 1);
    ck_assert_int_eq(runs, 0);
    ok(ct_choices_read(path, &d));
    ck_assert_uint_eq(ct_choices_count(d), 2);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_str_eq(ct_choices_at(c, i)->call, ct_choices_at(d, i)->call);
        ck_assert_str_eq(ct_choices_at(c, i)->impl, ct_choices_at(d, i)->impl);
    }
    ct_choices_free(c);
    ct_choices_free(d);
    /* plan looks, and measures nothing */
    const ct_device_opts opts = { .threads = 1 }, other = { .threads = 1, .exact = true };
    ok(ct_tune_cached(&b, &opts, &c));
    ck_assert_uint_eq(ct_choices_count(c), 2);
    ct_choices_free(c);
    ok(ct_tune_cached(&b, &other, &c)); /* under other options nothing is known */
    ck_assert_uint_eq(ct_choices_count(c), 0);
    ct_choices_free(c);
    ck_assert_int_eq(runs, 0);
    again = cached(path, sizeof path);
    ck_assert_str_eq(first, again);
    ct_free(first);
    ct_free(again);
#ifdef _OPENMP /* two threads are another machine, where there can be two */
    ct_choices_free(tuned(&b, 2));
    ck_assert_int_gt(runs, 0);
#endif
    drop_cache();
}
END_TEST

START_TEST(a_bad_cache_is_made_anew)
{
    const ct_backend b = fake();
    char path[256], *good, *text;
    use_cache();
    ct_choices_free(tuned(&b, 1));
    good = cached(path, sizeof path);
    for (int i = 0; i < 4; i++) {
        if (i == 0) ok(ct_file_write_atomic(path, good, strlen(good) / 2));
        if (i == 1) change_file("\"version\": 1", "\"version\": 9");
        if (i == 2) change_file("captrain ", "captrain 0.0.1-");
        if (i == 3) ok(ct_file_write_atomic(path, "", 0));
        runs = 0;
        ct_choices_free(tuned(&b, 1));
        ck_assert_msg(runs > 0, "damage %d: not measured again", i);
        runs = 0;
        ct_choices_free(tuned(&b, 1));
        ck_assert_msg(runs == 0, "damage %d: the file was not made anew", i);
    }
    /* a choice that cannot be obeyed any more is measured again, the other stays */
    text = cached(path, sizeof path);
    char *row = strstr(text, "\"impl\": \"");
    ck_assert_ptr_nonnull(row);
    *row = '\0';
    char *other = ct_asprintf("%s\"impl\": \"cpu.gone\"%s", text, strchr(row + strlen("\"impl\": \"") , '"') + 1);
    ok(ct_file_write_atomic(path, other, strlen(other)));
    ct_free(other);
    ct_free(text);
    runs = 0;
    ct_choices_free(tuned(&b, 1));
    ck_assert_int_gt(runs, 0);
    text = cached(path, sizeof path);
    ck_assert_ptr_null(strstr(text, "cpu.gone"));
    ct_free(text);
    ct_free(good);
    drop_cache();
}
END_TEST

START_TEST(a_cache_is_no_condition)
{
    const ct_backend b = fake();
    char file[96];
    use_cache();
    /* a file where its folder should be */
    snprintf(file, sizeof file, "%s/tune", cache_dir);
    ok(ct_file_write_atomic(file, "x", 1));
    ct_choices_free(tuned(&b, 1));
    ck_assert_int_gt(runs, 0);
    /* no home at all */
    unsetenv("CAPTRAIN_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    ct_choices_free(tuned(&b, 1));
    drop_cache();
}
END_TEST

/* Who stops while implementations are measured waits for no step, and loses none of what was measured. */
START_TEST(measuring_can_be_stopped)
{
    const ct_backend b = fake();
    const ct_device_opts opts = { .threads = 1 };
    ct_call_list list = { .use = NULL };
    ct_choices *c;
    ct_call call;
    use_cache();
    ok(ct_call_parse(ADD, &call));
    ok(ct_call_list_add(&list, &call));
    ct_stop_signal = SIGINT;
    says(ct_tune_auto(&b, &opts, &list, &c), CT_ESIGNAL, "before the first step");
    ck_assert_ptr_null(c);
    ck_assert_int_eq(runs, 0);
    ct_stop_signal = 0;
    ct_call_list_free(&list);
    drop_cache();
}
END_TEST

/* ---- receipt ---- */

/* The receipt of a training step of textcnn-small. */
typedef struct planned {
    ct_program p;
    ct_arenas *store;
    ct_plan *plan;
    ct_receipt_list l;
} planned;

static void plan_step(const ct_backend *b, const char *precision, planned *x)
{
    ct_program_spec spec;
    ct_layout layout;
    const ct_device_opts opts = { .threads = 1 };
    memset(x, 0, sizeof *x);
    ok(ct_spec_from_model("textcnn-small", 2, precision, &spec));
    ok(ct_program_build(&spec, CT_PROGRAM_STEP, NULL, &layout, &x->p));
    ct_arenas_needs needs = ct_program_needs(&spec, true);
    ok(ct_arenas_create(b, &opts, &layout, &needs, true, &x->store));
    ok(ct_plan_create(x->store, x->p.graph, false, &x->plan));
    x->l.asked = ct_spec_precision_name(&spec);
    ok(ct_receipt_list_add(&x->l, x->plan));
}

static void drop(planned *x)
{
    ct_receipt_list_free(&x->l);
    ct_plan_free(x->plan);
    ct_arenas_free(x->store);
    ct_program_free(&x->p);
}

static const ct_receipt_row *row_of(const planned *x, ct_op op)
{
    for (size_t i = 0; i < x->l.n; i++)
        if (x->l.row[i].op == op) return &x->l.row[i];
    ck_abort_msg("no row of %s", ct_op_get(op)->name);
    return NULL;
}

static const char *const precisions[] = { "fp32", "bf16", "fp16", "f64" };

START_TEST(the_cpu_says_what_it_does)
{
    const char *asked = precisions[_i];
    planned x;
    int calls = 0, nodes = 0;
    plan_step(&ct_backend_cpu, asked, &x);
    for (size_t i = 0; i < x.l.n; i++) calls += x.l.row[i].calls;
    for (size_t i = 0; i < x.p.graph->nnodes; i++)
        nodes += !(ct_op_get(x.p.graph->nodes[i].op)->rules->flags & CT_OPF_VIEW);
    ck_assert_int_eq(calls, nodes);
    const ct_receipt_row *conv = row_of(&x, CT_OP_CONV2D), *adamw = row_of(&x, CT_OP_ADAMW);
    ck_assert_str_eq(conv->asked, asked);
    ck_assert_str_eq(conv->math, strcmp(asked, "f64") == 0 ? "f64" : "fp32");
    ck_assert(!conv->tensor_cores);
    ck_assert_uint_eq(conv->engines, 0);
    ck_assert_str_eq(adamw->asked, strcmp(asked, "f64") == 0 ? "f64" : "fp32");
    ck_assert_str_eq(adamw->fault, "");
    if (_i == 0) {
        ok(ct_receipt_strict(&x.l));
        ck_assert_str_eq(conv->types, "f32");
    } else if (_i == 3) {
        says(ct_receipt_strict(&x.l), CT_ECONFIG, "the reference, plain loops, is taken");
    } else {
        char part[80];
        snprintf(part, sizeof part, "%s was asked for, factors are multiplied as fp32; and ", asked);
        says(ct_receipt_strict(&x.l), CT_ECONFIG, part);
        says(ct_receipt_strict(&x.l), CT_ECONFIG, "train.strict: conv2d by cpu.");
        says(ct_receipt_strict(&x.l), CT_ECONFIG, conv->node);
        ck_assert_str_eq(conv->types, _i == 1 ? "bf16" : "f16");
    }
    drop(&x);
}
END_TEST

/* A backend with matrix units that it uses for some operators only. */
static ct_receipt pretended;
static ct_op pretended_but;

static ct_status pretend(const ct_device *dev, const ct_impl *impl, const ct_call *call, ct_receipt *out)
{
    (void)dev;
    (void)call;
    *out = pretended;
    if (impl->op == pretended_but) out->math = "fp32", out->tensor_cores = false, out->has_cores = false;
    return CT_OK;
}

START_TEST(backends_answer_for_themselves)
{
    ct_backend b = ct_backend_cpu;
    planned x;
    b.receipt = pretend;
    pretended =
        (ct_receipt){ .math = "bf16", .sums = "fp32", .tensor_cores = true, .has_cores = true, .engine = "engine 38" };
    pretended_but = CT_OP_COUNT;
    plan_step(&b, "bf16", &x);
    ok(ct_receipt_strict(&x.l));
    const ct_receipt_row *conv = row_of(&x, CT_OP_CONV2D);
    ck_assert(conv->tensor_cores);
    ck_assert_uint_eq(conv->engines, 1);
    ck_assert_int_gt(conv->calls, 1);
    ck_assert_str_eq(conv->engine[0], "engine 38");
    drop(&x);
    /* one operator of many */
    pretended_but = CT_OP_LINEAR_WGRAD;
    plan_step(&b, "bf16", &x);
    says(ct_receipt_strict(&x.l), CT_ECONFIG, "train.strict: linear_wgrad by ");
    drop(&x);
    /* units that are there and lie idle */
    pretended_but = CT_OP_COUNT;
    pretended.tensor_cores = false;
    plan_step(&b, "bf16", &x);
    says(ct_receipt_strict(&x.l), CT_ECONFIG, "bf16 was asked for, the device's matrix units are not used");
    drop(&x);
    /* a device without: nothing was promised */
    pretended.has_cores = false;
    plan_step(&b, "bf16", &x);
    ok(ct_receipt_strict(&x.l));
    drop(&x);
    /* fp32 that is rounded behind one's back; tf32 that is not */
    pretended = (ct_receipt){ .math = "tf32", .sums = "fp32", .tensor_cores = true, .has_cores = true };
    plan_step(&b, "fp32", &x);
    says(ct_receipt_strict(&x.l), CT_ECONFIG, "fp32 was asked for, factors are multiplied as tf32");
    drop(&x);
    plan_step(&b, "tf32", &x);
    ok(ct_receipt_strict(&x.l));
    drop(&x);
    /* matrix units that multiply more exactly than was asked for keep their promise; plain loops do not */
    pretended.math = "fp32";
    plan_step(&b, "tf32", &x);
    ok(ct_receipt_strict(&x.l));
    drop(&x);
    pretended.tensor_cores = false;
    plan_step(&b, "tf32", &x);
    says(ct_receipt_strict(&x.l), CT_ECONFIG, "tf32 was asked for, factors are multiplied as fp32");
    drop(&x);
}
END_TEST

START_TEST(as_text_and_json)
{
    planned x;
    char *text = NULL;
    size_t size = 0;
    plan_step(&ct_backend_cpu, "bf16", &x);
    FILE *to = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(to);
    ct_receipt_print(&x.l, "> ", to);
    fclose(to);
    ck_assert_msg(strncmp(text, "> operator ", 11) == 0, "%s", text);
    ck_assert_ptr_nonnull(strstr(text, "\n> ! conv2d by cpu."));
    free(text);
    json_t *o = json_object();
    ok(ct_receipt_json(&x.l, o));
    const json_t *rows = json_object_get(o, "receipt");
    ck_assert_uint_eq(json_array_size(rows), x.l.n);
    for (size_t i = 0; i < x.l.n; i++) {
        const json_t *r = json_array_get(rows, i);
        ck_assert_str_eq(json_string_value(json_object_get(r, "math")), x.l.row[i].math);
        ck_assert_int_eq((int)json_integer_value(json_object_get(r, "calls")), x.l.row[i].calls);
        ck_assert(json_is_null(json_object_get(r, "fault")) == (x.l.row[i].fault[0] == '\0'));
    }
    json_decref(o);
    drop(&x);
}
END_TEST

START_TEST(receipts_without_memory)
{
    planned x;
    plan_step(&ct_backend_cpu, "bf16", &x);
    for (long n = 0; n < 1000; n++) {
        ct_receipt_list l = { .asked = "bf16" };
        ct_alloc_fail_after(n);
        ct_status st = ct_receipt_list_add(&l, x.plan);
        ct_alloc_fail_after(-1);
        size_t rows = l.n;
        ct_receipt_list_free(&l);
        if (st == CT_OK) {
            ck_assert_int_gt((int)n, 10);
            ck_assert_uint_eq(rows, x.l.n);
            drop(&x);
            return;
        }
        ck_assert_int_eq(st, CT_ENOMEM);
    }
    ck_abort_msg("it never succeeds");
}
END_TEST

/* tf32 needs a backend that has it. */
START_TEST(tf32_and_backends)
{
    ct_program_spec spec;
    ct_device_opts opts = { .threads = 1 };
    ct_backend b = ct_backend_cpu;
    ok(ct_spec_from_model("textcnn-small", 2, "tf32", &spec));
    says(ct_spec_device(&spec, &b, &opts), CT_ECONFIG,
         "tf32 is a mode of NVIDIA tensor cores, which backend cpu does not have");
    ck_assert(!opts.tf32);
    b.tf32 = true;
    ok(ct_spec_device(&spec, &b, &opts));
    ck_assert(opts.tf32);
    ok(ct_spec_from_model("textcnn-small", 2, "fp32", &spec));
    ok(ct_spec_device(&spec, &ct_backend_cpu, &opts));
    ck_assert(!opts.tf32);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("engines");
    TCase *tc = tcase_create("variants");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, a_choice_may_name_a_variant);
    tcase_add_test(tc, variants_are_measured);
    suite_add_tcase(s, tc);
    tc = tcase_create("cache");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, tuning_keeps_a_cache);
    tcase_add_test(tc, a_bad_cache_is_made_anew);
    tcase_add_test(tc, a_cache_is_no_condition);
    tcase_add_test(tc, measuring_can_be_stopped);
    suite_add_tcase(s, tc);
    tc = tcase_create("receipt");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, the_cpu_says_what_it_does, 0, 4);
    tcase_add_test(tc, backends_answer_for_themselves);
    tcase_add_test(tc, as_text_and_json);
    tcase_add_test(tc, receipts_without_memory);
    tcase_add_test(tc, tf32_and_backends);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    setenv("CAPTRAIN_KERNELS", "base", 1); /* loops without products of bf16: tests/sh/bf16.sh has those with them */
    return ct_check_main(suite());
}
