/* The verbs `plan` and `bench`: keys, agreement with each other, and that planning needs no memory. */
#include "config.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "captrain.h"
#include "program/spec.h"
#include "tests/ct_check.h"

typedef struct output {
    char *text;
    size_t size;
} output;

static ct_status plan_text(const ct_plan_opts *o, output *out)
{
    FILE *to = open_memstream(&out->text, &out->size);
    ck_assert_ptr_nonnull(to);
    ct_status st = ct_run_plan(o, to);
    fclose(to);
    return st;
}

static json_t *parse(output *out)
{
    json_error_t e;
    json_t *j = json_loads(out->text, 0, &e);
    ck_assert_msg(j != NULL, "%s in %s", e.text, out->text);
    ck_assert_ptr_eq(strchr(out->text, '\n'), out->text + out->size - 1); /* one line */
    free(out->text);
    return j;
}

static json_t *plan_json(ct_plan_opts o)
{
    output out;
    o.json = true;
    ck_assert_msg(plan_text(&o, &out) == CT_OK, "%s", ct_error_message());
    return parse(&out);
}

static json_int_t integer(const json_t *j, const char *key)
{
    const json_t *v = json_object_get(j, key);
    ck_assert_msg(json_is_integer(v), "%s is no whole number", key);
    return json_integer_value(v);
}

static void refuses(ct_plan_opts o, ct_status want, const char *part)
{
    output out;
    ct_status st = plan_text(&o, &out);
    ck_assert_msg(st == want && strstr(ct_error_message(), part), "%s: %s", ct_status_name(st), ct_error_message());
    ck_assert_uint_eq(out.size, 0);
    free(out.text);
}

START_TEST(plan_of_a_model)
{
    json_t *j = plan_json(
        (ct_plan_opts){ .size = sizeof(ct_plan_opts), .model = "textcnn", .batch = 64, .common = { "cpu", 2 } });
    ck_assert_int_eq(integer(j, "params"), 19072400);
    ck_assert_int_eq(integer(j, "effective_batch"), 64);
    const json_t *arenas = json_object_get(j, "arena_bytes");
    json_int_t sum = 0;
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)arenas, key, v) sum += json_integer_value(v);
    /* the step state and the metric sums are the rest */
    ck_assert_int_eq(integer(j, "peak_bytes") - sum, (CT_STATE_COUNT + CT_METRIC_COUNT) * 8);
    ck_assert_int_ge(integer(arenas, "weights"), 4 * 19072400);
    ck_assert_int_eq(integer(arenas, "optimizer"), 2 * integer(arenas, "weights"));
    ck_assert_int_ge(integer(arenas, "activations"), integer(j, "activations_lower_bound"));
    ck_assert_int_lt(integer(arenas, "activations"), integer(j, "activations_unshared"));
    const json_t *ops = json_object_get(j, "operators"), *first = json_array_get(ops, 0);
    ck_assert_uint_gt(json_array_size(ops), 60);
    ck_assert_str_eq(json_string_value(json_object_get(first, "op")), "conv2d");
    ck_assert_str_eq(json_string_value(json_object_get(first, "result")), "f32[64,60,160,32]");
    ck_assert_ptr_nonnull(json_object_get(first, "impl"));
    json_decref(j);
}
END_TEST

/* Hundreds of gigabytes of activations: planned in an instant, on any machine. */
START_TEST(plan_touches_nothing)
{
    json_t *j = plan_json((ct_plan_opts){ .size = sizeof(ct_plan_opts),
                                          .model = "resnet50",
                                          .batch = 8192,
                                          .memory = 16000000000,
                                          .common = { "cpu", 1 } });
    ck_assert_msg(integer(j, "peak_bytes") > 400000000000, "%lld", (long long)integer(j, "peak_bytes"));
    json_decref(j);
}
END_TEST

START_TEST(largest_batch)
{
    ct_program_spec s;
    const ct_device_opts opts = { .threads = 1 };
    const int64_t sizes[] = { 40000000, 100000000, 1000000000 };
    for (int i = 0; i < 3; i++) {
        json_t *j = plan_json((ct_plan_opts){ .size = sizeof(ct_plan_opts),
                                              .model = "textcnn-small",
                                              .batch = 32,
                                              .memory = sizes[i],
                                              .common = { "cpu", 1 } });
        json_int_t n = integer(j, "largest_batch");
        ck_assert_int_eq(integer(j, "largest_batch_memory"), sizes[i]);
        json_decref(j);
        int64_t fits, more;
        ck_assert_int_ge(n, 1);
        ck_assert_int_eq(ct_spec_from_model("textcnn-small", n, NULL, &s), CT_OK);
        ct_spec_fit_device(&s, &ct_backend_cpu, &opts);
        ck_assert_int_eq(ct_spec_peak(&s, &ct_backend_cpu, &opts, &fits, NULL), CT_OK);
        s.batch = n + 1;
        ck_assert_int_eq(ct_spec_peak(&s, &ct_backend_cpu, &opts, &more, NULL), CT_OK);
        ck_assert_msg(fits <= sizes[i] && more > sizes[i], "%lld in %lld: %lld and %lld", (long long)n,
                      (long long)sizes[i], (long long)fits, (long long)more);
    }
    json_t *j = plan_json((ct_plan_opts){
        .size = sizeof(ct_plan_opts), .model = "textcnn", .batch = 8, .memory = 1000000, .common = { "cpu", 1 } });
    ck_assert_int_eq(integer(j, "largest_batch"), 0);
    json_decref(j);
}
END_TEST

START_TEST(plan_of_a_configuration)
{
    char path[] = "/tmp/ct_plan_XXXXXX.yaml";
    const char *text = "model: {name: textcnn-small}\n"
                       "data: {train: 'synth:text', synth: {count: 1000, length: 5}}\n"
                       "train: {batch_size: 16, accumulate: 4, epochs: 3}\n"
                       "optimizer: {lr: 0.001, ema_decay: 0.9}\n"
                       "schedule: {lr_rule: linear, reference_batch: 32}\n";
    int fd = mkstemps(path, 5);
    ck_assert_int_ge(fd, 0);
    ck_assert(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    json_t *j = plan_json((ct_plan_opts){ .size = sizeof(ct_plan_opts), .config = path, .common = { "cpu", 1 } });
    ck_assert_int_eq(integer(j, "effective_batch"), 64);
    ck_assert_int_eq(integer(j, "samples"), 1000);
    ck_assert_int_eq(integer(j, "steps"), 3 * 16);
    ck_assert(json_real_value(json_object_get(j, "lr")) == 0.002);
    const json_t *arenas = json_object_get(j, "arena_bytes");
    ck_assert_int_eq(integer(arenas, "gradients"), 2 * integer(arenas, "weights"));
    ck_assert_int_eq(integer(arenas, "ema"), integer(arenas, "weights") + integer(arenas, "buffers"));
    bool update = false, eval = false;
    size_t i;
    json_t *op;
    json_array_foreach(json_object_get(j, "operators"), i, op)
    {
        update = update || strcmp(json_string_value(json_object_get(op, "program")), "update") == 0;
        eval = eval || strcmp(json_string_value(json_object_get(op, "op")), "batchnorm_infer") == 0;
    }
    ck_assert(update && eval);
    json_decref(j);
    /* the table for people */
    output out;
    const char *sets[] = { "train.accumulate=1" };
    ct_plan_opts o = { .size = sizeof o, .config = path, .sets = sets, .nsets = 1, .common = { "cpu", 1 } };
    ck_assert_msg(plan_text(&o, &out) == CT_OK, "%s", ct_error_message());
    const char *const parts[] = { "training step",
                                  "evaluation",
                                  "features.0",
                                  "conv2d",
                                  "cpu.",
                                  "weights ",
                                  "micro-batch ",
                                  "peak ",
                                  "learning rate  0.0005 (optimizer.lr 0.001",
                                  "16 x 1 micro-step = 16 effective" };
    for (i = 0; i < sizeof parts / sizeof parts[0]; i++)
        ck_assert_msg(strstr(out.text, parts[i]), "no '%s' in\n%s", parts[i], out.text);
    free(out.text);
    /* as many steps as the trainer will do: 62 whole batches of 16 in 1000 */
    const char *drop[] = { "train.accumulate=1", "train.last_batch=drop" };
    j = plan_json((ct_plan_opts){
        .size = sizeof(ct_plan_opts), .config = path, .sets = drop, .nsets = 2, .common = { "cpu", 1 } });
    ck_assert_int_eq(integer(j, "steps"), 3 * 62);
    json_decref(j);
    const char *none[] = { "train.batch_size=2000", "train.last_batch=drop" };
    refuses((ct_plan_opts){ .size = sizeof(ct_plan_opts), .config = path, .sets = none, .nsets = 2 }, CT_ECONFIG,
            "leaves no batch of 1000");
    refuses((ct_plan_opts){ .size = sizeof(ct_plan_opts), .config = path, .precision = "bf16" }, CT_ECONFIG,
            "train.precision");
    unlink(path);
}
END_TEST

START_TEST(plan_refusals)
{
    const char *sets[] = { "train.batch_size=3" };
    refuses((ct_plan_opts){ .size = sizeof(ct_plan_opts), .model = "textcm" }, CT_ECONFIG, "did you mean 'textcnn'");
    refuses((ct_plan_opts){ .size = sizeof(ct_plan_opts), .model = "textcnn", .precision = "tf32" }, CT_ECONFIG,
            "tf32");
    refuses((ct_plan_opts){ .size = sizeof(ct_plan_opts), .model = "textcnn", .sets = sets, .nsets = 1 }, CT_ECONFIG,
            "--set");
    refuses((ct_plan_opts){ .size = sizeof(ct_plan_opts), .model = "textcnn", .common = { "cuda", 0 } }, CT_EBACKEND,
            "captrain-cuda.so");
    refuses((ct_plan_opts){ .size = sizeof(ct_plan_opts), .config = "/nonexistent.yaml" }, CT_ECONFIG,
            "/nonexistent.yaml");
}
END_TEST

START_TEST(bench_keys)
{
    const char *const want[] = { "model",      "batch",   "params",    "ms_per_step", "samples_per_s",
                                 "peak_bytes", "backend", "precision", "threads" };
    const char *const precisions[] = { "fp32", "bf16" };
    for (int k = 0; k < 2; k++) {
        output out;
        const ct_bench_opts o = { .size = sizeof o, .model = "textcnn-small",
                                  .batch = 2,
                                  .steps = 3,
                                  .warmup = 1,
                                  .precision = precisions[k],
                                  .ops = k == 0,
                                  .json = true,
                                  .common = { "cpu", 1 } };
        FILE *to = open_memstream(&out.text, &out.size);
        ck_assert_ptr_nonnull(to);
        ck_assert_msg(ct_run_bench(&o, to) == CT_OK, "%s", ct_error_message());
        fclose(to);
        json_t *j = parse(&out), *p;
        for (size_t i = 0; i < sizeof want / sizeof want[0]; i++)
            ck_assert_msg(json_object_get(j, want[i]), "no %s", want[i]);
        p = plan_json((ct_plan_opts){ .size = sizeof(ct_plan_opts),
                                      .model = "textcnn-small",
                                      .batch = 2,
                                      .precision = precisions[k],
                                      .common = { "cpu", 1 } });
        ck_assert_int_eq(integer(j, "peak_bytes"), integer(p, "peak_bytes"));
        ck_assert_int_eq(integer(j, "params"), integer(p, "params"));
        double ms = json_real_value(json_object_get(j, "ms_per_step")),
               rate = json_number_value(json_object_get(j, "samples_per_s"));
        ck_assert(ms > 0 && rate * ms > 1999 && rate * ms < 2001);
        ck_assert(json_number_value(json_object_get(j, "ms_min")) <= ms &&
                  ms <= json_number_value(json_object_get(j, "ms_max")));
        ck_assert_str_eq(json_string_value(json_object_get(j, "precision")), precisions[k]);
        ck_assert_int_eq(integer(j, "threads"), 1);
        ck_assert(json_array_size(json_object_get(j, "ops")) > 10 || k == 1);
        json_decref(j);
        json_decref(p);
    }
    const ct_bench_opts none = { .size = sizeof none, .batch = 2 },
                        wrong = { .size = sizeof wrong, .model = "textcnn", .precision = "fp8" };
    ck_assert_int_eq(ct_run_bench(&none, stdout), CT_ECONFIG);
    ck_assert_int_eq(ct_run_bench(&wrong, stdout), CT_ECONFIG);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("plan");
    TCase *c = tcase_create("plan");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, plan_of_a_model);
    tcase_add_test(c, plan_touches_nothing);
    tcase_add_test(c, largest_batch);
    tcase_add_test(c, plan_of_a_configuration);
    tcase_add_test(c, plan_refusals);
    tcase_add_test(c, bench_keys);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return ct_check_main(suite());
}
