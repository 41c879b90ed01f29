/* Whole trainings in this process, on pictures of 16 x 24 pixels: what is written down, data sets, precisions, resume,
 * use of the model. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "captrain.h"
#include "formats/json.h"
#include "ops/math/schedule_math.h"
#include "run/journal.h"
#include "task/text/synth/synth.h"
#include "task/datasets.h"
#include "task/text/text.h"
#include "tests/ct_check.h"

#define ok(expr) ck_assert_msg((expr) == CT_OK, "%s", ct_error_message())

static char dir[64], config[80];

static const char yaml[] = "model: {name: textcnn-small, width: 0.25, hidden: 16}\n"
                           "data: {train: \"synth:text\", charset: \"01\", height: 16, width: 24,\n"
                           "       synth: {style: plain, count: 22, val_count: 7, length: 2}}\n"
                           "train: {batch_size: 8, epochs: 2, workers: 1, threads: 1}\n"
                           "log: {interval_steps: 1, tensorboard: false}\n";

static void setup(void)
{
    strcpy(dir, "/tmp/captrain-train.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(config, sizeof config, "%s/c.yaml", dir);
    ok(ct_file_write_atomic(config, yaml, sizeof yaml - 1));
    ct_log_set_level(CT_LOG_ERROR);
}

static void teardown(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    ck_assert_int_eq(system(command), 0);
}

/* Trains into dir/name with up to 8 settings, the list ended by NULL. */
static ct_status train(const char *name, bool resume, const char *init, ct_train_result *res, const char *const *sets)
{
    char out[128];
    ct_train_opts o = { .size = sizeof o, .config = config, .sets = sets, .out = out, .resume = resume, .init = init };
    while (sets && sets[o.nsets]) o.nsets++;
    snprintf(out, sizeof out, "%s/%s", dir, name);
    return ct_run_train(&o, res);
}

static char *slurp(const char *run, const char *file)
{
    char path[256];
    uint8_t *data;
    size_t size;
    snprintf(path, sizeof path, "%s/%s/%s", dir, run, file);
    ok(ct_file_read(path, 1 << 24, &data, &size));
    return (char *)data;
}

/* ---- what a run writes down ---- */

typedef struct lines {
    int steps, epochs, evals, checkpoints, starts, ends;
    double lr[64];
    int64_t epoch_samples;
} lines;

static ct_status count(void *user, const char *event, const json_t *line)
{
    lines *l = user;
    if (strcmp(event, "step") == 0) {
        ck_assert_int_lt(l->steps, 64);
        l->lr[l->steps++] = json_number_value(json_object_get(line, "lr"));
        static const char *const keys[] = { "loss",          "grad_norm", "loss_scale", "skipped",
                                            "samples_per_s", "data_s",    "compute_s",  "string_accuracy" };
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
            ck_assert_msg(json_is_number(json_object_get(line, keys[i])), "%s", keys[i]);
    }
    if (strcmp(event, "epoch") == 0) {
        l->epochs++;
        l->epoch_samples = json_integer_value(json_object_get(line, "samples"));
    }
    if (strcmp(event, "eval") == 0) {
        l->evals++;
        ck_assert_int_eq(json_integer_value(json_object_get(line, "samples")), 7);
    }
    l->checkpoints += strcmp(event, "checkpoint") == 0;
    l->starts += strcmp(event, "start") == 0;
    l->ends += strcmp(event, "end") == 0;
    return CT_OK;
}

static lines read_lines(const char *run)
{
    lines l;
    char path[128];
    memset(&l, 0, sizeof l);
    snprintf(path, sizeof path, "%s/%s", dir, run);
    ok(ct_journal_read(path, count, &l));
    return l;
}

/* A number of the result; NAN without it. */
static double metric(const ct_train_result *res, const char *key)
{
    for (int i = 0; i < res->nmetrics; i++)
        if (strcmp(res->metric[i].key, key) == 0) return res->metric[i].value;
    return NAN;
}

START_TEST(test_written)
{
    ct_train_result res = { .size = sizeof res };
    static const char *const sets[] = { "schedule.warmup_epochs=1", "optimizer.lr=0.01", NULL };
    ok(train("a", false, NULL, &res, sets));
    ck_assert_int_eq(res.epochs, 2);
    ck_assert_int_eq(res.steps, 6); /* 22 samples in batches of 8, 8 and 6 */
    ck_assert_int_eq(res.examples, 3);
    ck_assert_uint_eq(strlen(res.weights_hash), 32);
    ck_assert(metric(&res, "string_accuracy") >= 0 && metric(&res, "string_accuracy") <= 1 &&
              metric(&res, "char_accuracy") >= metric(&res, "string_accuracy"));
    lines l = read_lines("a");
    ck_assert_int_eq(l.steps, 6);
    ck_assert_int_eq(l.epochs, 2);
    ck_assert_int_eq(l.evals, 2);
    ck_assert_int_eq(l.checkpoints, 2);
    ck_assert_int_eq(l.starts, 1);
    ck_assert_int_eq(l.ends, 1);
    ck_assert_int_eq(l.epoch_samples, 22); /* every sample, the short batch too */
    ct_schedule_attrs sched = { .kind = CT_SCHED_COSINE, .base_lr = 0.01, .warmup_steps = 3, .total_steps = 6 };
    for (int i = 0; i < 6; i++) ck_assert_double_eq_tol(l.lr[i], ct_schedule_lr(&sched, i), 1e-12);
    json_t *o;
    char *text = slurp("a", "result.json");
    ok(ct_json_parse(text, strlen(text), "result.json", &o));
    ck_assert_str_eq(json_string_value(json_object_get(o, "weights_hash")), res.weights_hash);
    ck_assert(json_number_value(json_object_get(o, "string_accuracy")) == metric(&res, "string_accuracy"));
    ck_assert_uint_eq(json_array_size(json_object_get(o, "resumed_from_steps")), 0);
    json_decref(o);
    ct_free(text);
    text = slurp("a", "report.html");
    ck_assert_ptr_nonnull(strstr(text, "</html>"));
    ck_assert_ptr_nonnull(strstr(text, "data:image/png;base64,"));
    ck_assert_ptr_nonnull(strstr(text, "textcnn-small"));
    ct_free(text);
    ck_assert_int_eq(train("a", false, NULL, &res, sets), CT_ECONFIG);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "holds a run already"));
}
END_TEST

START_TEST(test_drop_and_accumulate)
{
    ct_train_result res = { .size = sizeof res };
    static const char *const drop[] = { "train.last_batch=drop", NULL };
    static const char *const acc[] = { "train.accumulate=2", NULL };
    static const char *const huge[] = { "train.last_batch=drop", "train.batch_size=64", NULL };
    ok(train("drop", false, NULL, &res, drop));
    ck_assert_int_eq(res.steps, 4);
    ck_assert_int_eq(read_lines("drop").epoch_samples, 16);
    ok(train("acc", false, NULL, &res, acc)); /* groups of 8+8 and of 6 alone */
    ck_assert_int_eq(res.steps, 4);
    ck_assert_int_eq(read_lines("acc").epoch_samples, 22);
    ck_assert_int_eq(train("huge", false, NULL, &res, huge), CT_ECONFIG);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "leaves no batch"));
}
END_TEST

/* Everything at once: interrupted at every step, each time resumed, against a run that was let alone. */
START_TEST(test_resume_is_exact)
{
    static const char *const extra[][4] = {
        { "optimizer.ema_decay=0.9", "augment.shift=2", "optimizer.name=adamw", "train.precision=fp32" },
        { "train.accumulate=2", "optimizer.name=sgd", "optimizer.nesterov=true", "augment.noise=0.1" },
        { "train.precision=bf16", "model.dropout=0.3", "optimizer.clip_grad_norm=0.5", "train.last_batch=drop" },
        { "train.precision=fp16", "loss.name=soft_margin", "optimizer.name=adam", "train.loss_scale_growth=2" },
        { "train.precision=f64", "loss.label_smoothing=0.1", "train.recompute=all", "data.val_fraction=0" },
        { "model.name=crnn-small", "model.dropout=0.3", "train.accumulate=2", "optimizer.ema_decay=0.9" },
        { "model.name=crnn-small", "train.precision=fp16", "optimizer.clip_grad_norm=1", "train.recompute=all" },
        { "model.name=crnn-small", "train.progressive.epochs=0.6", "train.accumulate=2", "augment.shift=2" },
        { "model.name=crnn-small", "train.progressive.epochs=0.7", "train.precision=bf16", "augment.blur=1" },
    };
    for (size_t k = 0; k < sizeof extra / sizeof extra[0]; k++) {
        char whole[16], parts[16], limit[32];
        const char *sets[8] = { "schedule.name=constant",
                                "checkpoint.every_steps=1",
                                extra[k][0],
                                extra[k][1],
                                extra[k][2],
                                extra[k][3],
                                limit,
                                NULL };
        ct_train_result a = { .size = sizeof a }, b = { .size = sizeof b };
        snprintf(whole, sizeof whole, "w%d", (int)k);
        snprintf(parts, sizeof parts, "p%d", (int)k);
        snprintf(limit, sizeof limit, "train.steps=4");
        ok(train(whole, false, NULL, &a, sets));
        for (int n = 1; n <= 4; n++) {
            snprintf(limit, sizeof limit, "train.steps=%d", n);
            ok(train(parts, n > 1, NULL, &b, sets));
            ck_assert_int_eq(b.steps, n);
        }
        ck_assert_msg(strcmp(a.weights_hash, b.weights_hash) == 0, "variant %d", (int)k);
        char *text = slurp(parts, "result.json");
        ck_assert_ptr_nonnull(strstr(text, "resumed_from_steps"));
        json_t *o;
        ok(ct_json_parse(text, strlen(text), "result.json", &o));
        json_t *list = json_object_get(o, "resumed_from_steps");
        ck_assert_uint_eq(json_array_size(list), 3);
        for (int n = 0; n < 3; n++) ck_assert_int_eq(json_integer_value(json_array_get(list, (size_t)n)), n + 1);
        json_decref(o);
        ct_free(text);
    }
}
END_TEST

START_TEST(test_workers_and_seed)
{
    ct_train_result a = { .size = sizeof a }, b = { .size = sizeof b };
    static const char *const w0[] = { "train.workers=0", "augment.rotate=5", NULL };
    static const char *const w4[] = { "train.workers=4", "augment.rotate=5", NULL };
    static const char *const seed[] = { "train.seed=43", "augment.rotate=5", NULL };
    ok(train("w0", false, NULL, &a, w0));
    ok(train("w4", false, NULL, &b, w4));
    ck_assert_str_eq(a.weights_hash, b.weights_hash);
    ok(train("seed", false, NULL, &b, seed));
    ck_assert_str_ne(a.weights_hash, b.weights_hash);
}
END_TEST

/* ---- folders ---- */

static void make_folder(const char *name, uint64_t seed, int n, int longest)
{
    char path[128];
    ct_text_params p;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    ok(ct_text_params_init(&p, "plain"));
    p.width = 40;
    p.height = 20;
    p.length_min = 2;
    p.length_max = longest;
    snprintf(p.alphabet, sizeof p.alphabet, "01");
    ok(ct_synth_text_write(&p, seed, n, path, false, 1));
}

/* What eval says of a folder of 30 pictures: how many it read right. */
static int64_t evaluated(const char *model, const char *folder)
{
    char *out = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&out, &size);
    ct_eval_opts e = {
        .size = sizeof e, .common.threads = 1, .model = model, .data = folder, .batch = 7, .json = true
    };
    ok(ct_run_eval(&e, f));
    fclose(f);
    json_t *o, *list;
    ok(ct_json_parse(out, size, "eval", &o));
    ck_assert_int_eq(json_integer_value(json_object_get(o, "samples")), 30);
    int64_t right = json_integer_value(json_object_get(o, "strings_right"));
    ck_assert_double_eq_tol(json_number_value(json_object_get(o, "string_accuracy")), (double)right / 30, 1e-12);
    ck_assert_uint_eq(json_array_size(json_object_get(o, "wrong")), (size_t)(30 - right));
    list = json_object_get(o, "position_errors");
    int64_t wrong = 0;
    for (size_t i = 0; i < json_array_size(list); i++) wrong += json_integer_value(json_array_get(list, i));
    ck_assert_int_eq(wrong, 60 - json_integer_value(json_object_get(o, "chars_right")));
    json_decref(o);
    free(out);
    return right;
}

/* And predict, picture by picture. */
static int64_t predicted(const char *model, const char *folder)
{
    char *out = NULL;
    size_t size = 0;
    json_t *o;
    ct_config *cfg;
    ct_dataset *ds;
    struct ct_text_facts facts = { .positions = 2 };
    const char *const none[] = { "data.charset=01" };
    ok(ct_config_load(config, none, 1, &cfg));
    ok(ct_charset_parse("01", &facts.charset));
    ok(ct_datasets_open_scored(cfg, ct_task_find("text"), (const ct_facts *)&facts, folder, &ds));
    char *names[30];
    for (int i = 0; i < 30; i++) names[i] = ct_path_join(folder, ct_dataset_name(ds, i));
    ct_predict_opts p = { .size = sizeof p,
                          .common.threads = 1,
                          .model = model,
                          .files = (const char *const *)names,
                          .nfiles = 30,
                          .json = true };
    FILE *f = open_memstream(&out, &size);
    ok(ct_run_predict(&p, f));
    fclose(f);
    ok(ct_json_parse(out, size, "predict", &o));
    ck_assert_uint_eq(json_array_size(o), 30);
    int64_t same = 0;
    for (int i = 0; i < 30; i++) {
        const json_t *row = json_array_get(o, (size_t)i);
        same += strcmp(json_string_value(json_object_get(row, "text")), ct_dataset_label_text(ds, i)) == 0;
        double c = json_number_value(json_object_get(row, "confidence"));
        ck_assert(c > 0 && c <= 1);
        ct_free(names[i]);
    }
    json_decref(o);
    free(out);
    ct_dataset_close(ds);
    ct_charset_free(&facts.charset);
    ct_config_free(cfg);
    return same;
}

START_TEST(test_folder)
{
    ct_train_result res = { .size = sizeof res };
    char set[160], val[160], model[4096], folder[128];
    make_folder("pics", 3, 30, 2);
    snprintf(folder, sizeof folder, "%s/pics", dir);
    snprintf(set, sizeof set, "data.train=%s", folder);
    snprintf(val, sizeof val, "data.val=%s", folder);
    const char *const split[] = { set, "data.val_fraction=0.2", "data.charset=", NULL };
    ok(train("split", false, NULL, &res, split));
    char *text = slurp("split", "result.json");
    ck_assert_ptr_nonnull(strstr(text, "\"samples\": 6"));
    ct_free(text);
    snprintf(model, sizeof model, "%s", res.model);
    /* validation on the training folder: allowed, and every shared picture is told */
    const char *const shared[] = { set, val, NULL };
    ct_log_set_level(CT_LOG_WARN);
    ok(train("shared", false, NULL, &res, shared));
    ct_log_set_level(CT_LOG_ERROR);
    text = slurp("shared", "run.log");
    ck_assert_ptr_nonnull(strstr(text, "30 of 30 validation images are also in the training set"));
    ct_free(text);

    ck_assert_int_eq(evaluated(model, folder), predicted(model, folder));
}
END_TEST

START_TEST(test_bad_data)
{
    ct_train_result res = { .size = sizeof res };
    char set[160];
    make_folder("mixed", 3, 12, 4);
    snprintf(set, sizeof set, "data.train=%s/mixed", dir);
    const char *const mixed[] = { set, NULL };
    ck_assert_int_eq(train("mixed_run", false, NULL, &res, mixed), CT_EDATA);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "labels of one length"));
    ck_assert_ptr_nonnull(strstr(ct_error_message(), ".png"));
    static const char *const missing[] = { "data.train=/nonexistent/folder", NULL };
    ck_assert_int_eq(train("missing", false, NULL, &res, missing), CT_EIO);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "/nonexistent/folder"));
    /* a run that never began does not occupy its directory */
    ok(train("missing", false, NULL, &res, NULL));
    ck_assert_int_eq(train("missing", false, NULL, &res, NULL), CT_ECONFIG);
    static const char *const generator[] = { "data.train=synth:nothing", NULL };
    ck_assert_int_eq(train("generator", false, NULL, &res, generator), CT_ECONFIG);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "synth:text"));
    /* 22 = 3 x 7 + 1 pictures that are one pixel when the last batch normalisation sees them */
    static const char *const alone[] = { "model.name=resnet18", "model.hidden=0", "train.batch_size=7",
                                         "train.epochs=1", NULL };
    ck_assert_int_eq(train("alone", false, NULL, &res, alone), CT_ECONFIG);
    ck_assert_msg(strstr(ct_error_message(), "the last batch of an epoch has 1 sample (train.last_batch drop") != NULL,
                  "%s", ct_error_message());
}
END_TEST

/* Labels need not be file names: the examples of the validation set find a place all the same. */
START_TEST(test_labels_with_slashes)
{
    ct_train_result res = { .size = sizeof res };
    static const char *const sets[] = { "data.charset=/.", "train.epochs=1", NULL };
    ok(train("slash", false, NULL, &res, sets));
    ck_assert_int_eq(res.examples, 3);
    for (int k = 0; k < 3; k++) ck_assert_msg(ct_path_exists(res.example_file[k]), "%s", res.example_file[k]);
    char base[160];
    snprintf(base, sizeof base, "%s/slash/examples/", dir);
    for (int k = 0; k < 3; k++) ck_assert_ptr_null(strchr(res.example_file[k] + strlen(base), '/'));
}
END_TEST

/* nan_policy stop: metrics.jsonl names every sample of the step, the message the first of them. */
static ct_status last_numeric(void *user, const char *event, const json_t *line)
{
    if (strcmp(event, "numeric") == 0) *(size_t *)user = json_array_size(json_object_get(line, "samples"));
    return CT_OK;
}

START_TEST(test_bad_numbers)
{
    ct_train_result res = { .size = sizeof res };
    char path[128];
    size_t named = 0;
    static const char *const sets[] = { "optimizer.name=sgd",     "optimizer.lr=100",      "optimizer.weight_decay=10",
                                        "schedule.name=constant", "train.epochs=100",      "optimizer.clip_grad_norm=0",
                                        "train.last_batch=drop",  NULL };
    ck_assert_int_eq(train("nan", false, NULL, &res, sets), CT_ENUMERIC);
    ck_assert_msg(strstr(ct_error_message(), " and 4 more (metrics.jsonl names all)") != NULL, "%s",
                  ct_error_message());
    snprintf(path, sizeof path, "%s/nan", dir);
    ok(ct_journal_read(path, last_numeric, &named));
    ck_assert_uint_eq(named, 8);
}
END_TEST

START_TEST(test_init)
{
    ct_train_result a = { .size = sizeof a }, b = { .size = sizeof b };
    char model[4096];
    static const char *const still[] = { "optimizer.lr=1e-30", "optimizer.weight_decay=0", "schedule.name=constant",
                                         NULL };
    static const char *const other[] = { "model.hidden=24", NULL };
    ok(train("from", false, NULL, &a, NULL));
    snprintf(model, sizeof model, "%s", a.model);
    ok(train("to", false, model, &b, still));
    /* the weights stood still and the running statistics moved: the model reads about as well as the one it came from
     */
    ck_assert_double_eq_tol(metric(&a, "char_accuracy"), metric(&b, "char_accuracy"), 0.3);
    ck_assert_int_eq(train("other", false, model, &b, other), CT_EFORMAT);
    ck_assert_msg(strstr(ct_error_message(),
                         "does not fit model.name: textcnn-small: fc.weight (f32[4,48] in the file, f32[4,72] here)") !=
                      NULL,
                  "%s", ct_error_message());
    ck_assert_int_eq(train("none", false, "/nonexistent", &b, NULL), CT_EIO);
}
END_TEST

START_TEST(test_early_stopping)
{
    ct_train_result res = { .size = sizeof res };
    /* nothing is learned, so nothing improves */
    static const char *const sets[] = { "optimizer.lr=1e-30",
                                        "train.epochs=50",
                                        "early_stopping.patience=2",
                                        "early_stopping.min_epochs=4",
                                        "eval.select_by=loss",
                                        "early_stopping.min_delta=10",
                                        NULL };
    ok(train("stop", false, NULL, &res, sets));
    ck_assert_int_eq(res.epochs, 4);
    /* resuming a run that ended early ends at once */
    ok(train("stop", true, NULL, &res, sets));
    ck_assert_int_eq(res.epochs, 4);
    /* with more patience it goes on */
    static const char *const more[] = { "optimizer.lr=1e-30",         "train.epochs=50",
                                        "early_stopping.patience=5",  "early_stopping.min_epochs=4",
                                        "eval.select_by=loss",        "early_stopping.min_delta=10",
                                        NULL };
    ok(train("stop", true, NULL, &res, more));
    ck_assert_int_eq(res.epochs, 6);
}
END_TEST

/* A run that took the task's own metric and one that names it are the same run; another metric is another run. */
START_TEST(test_select_by)
{
    ct_train_result res = { .size = sizeof res };
    static const char *const named[] = { "train.epochs=2", "schedule.name=constant", "eval.select_by=String_Accuracy",
                                         NULL };
    static const char *const first[] = { "train.epochs=1", "schedule.name=constant", "eval.select_by=auto", NULL };
    static const char *const other[] = { "train.epochs=3", "schedule.name=constant", "eval.select_by=cer", NULL };
    static const char *const none[] = { "eval.select_by=accuracy", NULL };
    ok(train("select", false, NULL, &res, first));
    ok(train("select", true, NULL, &res, named));
    ck_assert_int_eq(res.epochs, 2);
    char *text = slurp("select", "config.yaml");
    ck_assert_ptr_nonnull(strstr(text, "select_by: string_accuracy\n"));
    ct_free(text);
    ck_assert_int_eq(train("select", true, NULL, &res, other), CT_ECONFIG);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "eval.select_by (string_accuracy -> cer)"));
    ck_assert_int_eq(train("none", false, NULL, &res, none), CT_ECONFIG);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "--set eval.select_by=accuracy: eval.select_by: no metric"));
    /* the weights at the end, though earlier ones read more */
    static const char *const best[] = { "train.epochs=4", "optimizer.lr=0.3", "schedule.name=constant", NULL };
    static const char *const last[] = { "train.epochs=4", "optimizer.lr=0.3", "schedule.name=constant",
                                        "eval.select_by=last", NULL };
    ok(train("best", false, NULL, &res, best));
    text = slurp("best", "result.json");
    ck_assert_ptr_nonnull(strstr(text, "\"best_step\": 9,"));
    ct_free(text);
    ok(train("last", false, NULL, &res, last));
    text = slurp("last", "result.json");
    ck_assert_ptr_nonnull(strstr(text, "\"best_step\": 12,"));
    ct_free(text);
}
END_TEST

START_TEST(test_without_validation)
{
    ct_train_result res = { .size = sizeof res };
    static const char *const sets[] = { "data.synth.val_count=0", NULL };
    ok(train("noval", false, NULL, &res, sets));
    ck_assert(res.nmetrics == 0);
    ck_assert_int_eq(res.examples, 0);
    char *text = slurp("noval", "result.json");
    ck_assert_ptr_nonnull(strstr(text, "\"string_accuracy\": null"));
    ct_free(text);
    ck_assert(ct_path_exists(res.model));
}
END_TEST

/* One allocation after another fails, in whole trainings, evaluations and predictions: an error with a message, or a
 * run that could do without; never a crash (leaks are found by the sanitizer builds). The step is a prime, so that over
 * the verbs every kind of place is met. */
START_TEST(test_out_of_memory)
{
    ct_train_result res = { .size = sizeof res };
    static const char *const sets[] = { "train.workers=0", "train.epochs=1", "optimizer.ema_decay=0.9",
                                        "data.cache=false", NULL };
    char name[24], model[4096];
    ok(train("first", false, NULL, &res, sets));
    snprintf(model, sizeof model, "%s", res.model);
    char picture[160];
    ct_image im;
    snprintf(picture, sizeof picture, "%s/c.png", dir);
    ok(ct_image_make(24, 16, 1, 200, &im));
    ok(ct_image_write_png(picture, &im));
    ct_image_free(&im);
    ct_alloc_fail_after(-1);
    ok(train("counted", false, NULL, &res, sets));
    long total = ct_alloc_fail_after(-1), stride = total / 60 + 1, failed = 0;
    for (long n = 0; n < total; n += stride) {
        snprintf(name, sizeof name, "oom%ld", n);
        ct_alloc_fail_after(n);
        ct_status st = train(name, false, NULL, &res, sets);
        ct_alloc_fail_after(-1);
        if (st == CT_OK) continue;
        ck_assert_msg(st == CT_ENOMEM, "allocation %ld: %s: %s", n, ct_status_name(st), ct_error_message());
        ck_assert_uint_gt(strlen(ct_error_message()), 0);
        failed++;
    }
    ck_assert_int_gt(failed, 40);
    for (int verb = 0; verb < 2; verb++) {
        const char *const files[] = { picture };
        ct_eval_opts e = {
            .size = sizeof e, .common.threads = 1, .model = model, .data = "synth:text", .batch = 5, .json = true
        };
        ct_predict_opts p = {
            .size = sizeof p, .common.threads = 1, .model = model, .files = files, .nfiles = 1, .json = true
        };
        total = 1;
        for (long n = -1; n < total;
             n += n < 0 ? 1 : stride / 4 + 1) { /* the first time nothing fails, and all is counted */
            char *out;
            size_t size;
            FILE *f = open_memstream(&out, &size);
            ct_alloc_fail_after(n);
            ct_status st = verb == 0 ? ct_run_eval(&e, f) : ct_run_predict(&p, f);
            long made = ct_alloc_fail_after(-1);
            if (n < 0) {
                ok(st);
                total = made;
                ck_assert_int_gt(total, 300);
            }
            fclose(f);
            free(out);
            /* a picture that cannot be decoded for want of memory ends predict, too */
            ck_assert_msg(st == CT_OK || st == CT_ENOMEM, "verb %d, allocation %ld: %s", verb, n, ct_error_message());
        }
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("train");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, test_written);
    tcase_add_test(t, test_drop_and_accumulate);
    tcase_add_test(t, test_resume_is_exact);
    tcase_add_test(t, test_workers_and_seed);
    tcase_add_test(t, test_folder);
    tcase_add_test(t, test_bad_data);
    tcase_add_test(t, test_labels_with_slashes);
    tcase_add_test(t, test_bad_numbers);
    tcase_add_test(t, test_init);
    tcase_add_test(t, test_early_stopping);
    tcase_add_test(t, test_select_by);
    tcase_add_test(t, test_without_validation);
    tcase_add_test(t, test_out_of_memory);
    suite_add_tcase(s, t);
    return s;
}

int main(void) { return ct_check_main(suite()); }
