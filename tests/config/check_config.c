/* Configuration: values, messages, aliases, layers, round trips. */
#include "config.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/paths.h"
#include "config/config.h"
#include "config/internal.h"
#include "tests/config/config_util.h"
#include "tests/ct_check.h"

START_TEST(defaults)
{
    ct_config *c, *d;
    ck_assert_int_eq(ct_config_defaults(&c), CT_OK);
    ck_assert_str_eq(c->name, "captrain");
    ck_assert_str_eq(c->model.name, "textcnn");
    ck_assert_str_eq(c->data.train, "synth:text");
    ck_assert_str_eq(c->data.val, "");
    ck_assert_double_eq(c->optimizer.lr, 1e-3);
    ck_assert_uint_eq(c->optimizer.betas.n, 2);
    ck_assert_double_eq(c->optimizer.betas.v[1], 0.999);
    ck_assert_uint_eq(c->schedule.milestones.n, 0);
    ck_assert_ptr_null(c->schedule.milestones.v);
    ck_assert_int_eq(c->data.background[2], 255);
    ck_assert_int_eq(c->train.precision, CT_CFG_PRECISION_FP32);
    ck_assert(c->train.deterministic);
    ck_assert(!c->early_stopping.enabled);
    ck_assert(!ct_config_is_set(c, "train.batch_size"));
    ck_assert_uint_eq(ct_config_note_count(c), 0);
    d = GOOD("");
    ck_assert(ct_config_equal(c, d));
    ct_config_free(c);
    ct_config_free(d);
    ct_config_free(NULL);
}
END_TEST

START_TEST(every_type)
{
    ct_config *c = GOOD("name: first run\n"
                        "model.name: ResNet18\n"
                        "data:\n"
                        "  train: /a b/c\n"
                        "  charset: 0123\n"
                        "  letter_case: UPPER\n"
                        "  background: \"#0a10FF\"\n"
                        "  cache: off\n"
                        "  mean: 0.5\n"
                        "  channels: 3\n"
                        "  std: [0.1, 0.2, .3]\n"
                        "  synth: {count: 1_000, seed: 9007199254740992}\n"
                        "optimizer: {lr: 1e-3, eps: 1E-6, weight_decay: 5.e-2, name: sgd}\n"
                        "schedule:\n"
                        "  name: MultiStepLR\n"
                        "  milestones:\n"
                        "    - 35\n"
                        "    - 45\n"
                        "train: {epochs: 1e3, batch_size: 32.0, deterministic: No, threads: +4}\n");
    ck_assert_str_eq(c->name, "first run");
    ck_assert_str_eq(c->model.name, "resnet18");
    ck_assert_str_eq(c->data.train, "/a b/c");
    ck_assert_str_eq(c->data.charset, "0123");
    ck_assert_int_eq(c->data.letter_case, CT_CFG_CASE_UPPER);
    ck_assert_int_eq(c->data.background[0], 10);
    ck_assert_int_eq(c->data.background[1], 16);
    ck_assert_int_eq(c->data.background[2], 255);
    ck_assert_int_eq(c->data.cache, CT_CFG_CACHE_FALSE);
    ck_assert_uint_eq(c->data.mean.n, 1);
    ck_assert_uint_eq(c->data.std.n, 3);
    ck_assert_double_eq(c->data.std.v[2], 0.3);
    ck_assert_int_eq(c->data.synth.count, 1000);
    ck_assert_int_eq(c->data.synth.seed, INT64_C(9007199254740992));
    ck_assert_double_eq(c->optimizer.lr, 0.001);
    ck_assert_double_eq(c->optimizer.eps, 1e-6);
    ck_assert_double_eq(c->optimizer.weight_decay, 0.05);
    ck_assert_int_eq(c->optimizer.name, CT_CFG_OPT_SGD);
    ck_assert_int_eq(c->schedule.name, CT_CFG_SCHED_MULTISTEP);
    ck_assert_uint_eq(c->schedule.milestones.n, 2);
    ck_assert_int_eq(c->schedule.milestones.v[1], 45);
    ck_assert_int_eq(c->train.epochs, 1000);
    ck_assert_int_eq(c->train.batch_size, 32);
    ck_assert_int_eq(c->train.threads, 4);
    ck_assert(!c->train.deterministic);
    ck_assert(ct_config_is_set(c, "train.batch_size") && ct_config_is_set(c, "train.num_epochs"));
    ct_config_free(c);
}
END_TEST

START_TEST(json_is_yaml)
{
    ct_config *c = GOOD("{\"train\": {\"batch_size\": 16, \"deterministic\": true},\n"
                        " \"optimizer\": {\"lr\": 2.5e-4, \"betas\": [0.8, 0.95]},\n"
                        " \"data\": {\"charset\": \"\\u00e4b\"}}");
    ck_assert_int_eq(c->train.batch_size, 16);
    ck_assert_double_eq(c->optimizer.lr, 2.5e-4);
    ck_assert_double_eq(c->optimizer.betas.v[0], 0.8);
    ck_assert_str_eq(c->data.charset, "\xc3\xa4" "b");
    ct_config_free(c);
}
END_TEST

START_TEST(messages)
{
    BAD("train:\n  batch_sise: 4\n", "t.yaml:2:3: unknown key 'train.batch_sise'; did you mean 'train.batch_size'?");
    BAD("optimiser:\n  lr: 4\n", "t.yaml:2:3: unknown key 'optimiser.lr'; did you mean 'optimizer.lr'?");
    BAD("optimiser: {}\n", "t.yaml:1:12: unknown key 'optimiser'; did you mean 'optimizer.lr'?");
    BAD("train: {num_worker: 4}\n", "t.yaml:1:9: unknown key 'train.num_worker'; did you mean 'train.workers'?");
    BAD("train.momentum: 4\n", "t.yaml:1:1: unknown key 'train.momentum'; did you mean 'optimizer.momentum'?");
    BAD("train: {pin_memroy: 4}\n", "t.yaml:1:9: unknown key 'train.pin_memroy'; did you mean 'train.pin_memory'?");
    BAD("train: 5\n", "t.yaml:1:1: 'train' is a section: its keys stand below it, as in 'train: {...}'");
    BAD("loss: softmax\n", "t.yaml:1:1: 'loss' is a section, not a key; did you mean 'loss.name'?");
    BAD("optimizer:\n  lr: fast\n", "t.yaml:2:7: optimizer.lr: must be a number (got 'fast')");
    BAD("optimizer:\n  lr: -1\n", "t.yaml:2:7: optimizer.lr: must be above 0 and at most 100 (got '-1')");
    BAD("optimizer:\n  lr: 0\n", "t.yaml:2:7: optimizer.lr: must be above 0 and at most 100 (got '0')");
    BAD("optimizer:\n  lr: .nan\n", "t.yaml:2:7: optimizer.lr: must be a number (got '.nan')");
    BAD("optimizer:\n  lr: 1e999\n", "t.yaml:2:7: optimizer.lr: must be above 0 and at most 100 (got '1e999')");
    BAD("optimizer:\n  lr: \"1e-3\"\n", "t.yaml:2:7: optimizer.lr: must be a number without quotes (got '1e-3')");
    BAD("optimizer:\n  lr: [1]\n", "t.yaml:2:7: optimizer.lr: must be a number (got a list)");
    BAD("optimizer:\n  lr: {a: 1}\n", "t.yaml:2:3: optimizer.lr: must be a number (got a map)");
    BAD("optimizer:\n  lr:\n", "t.yaml:2:3: optimizer.lr: has no value");
    BAD("optimizer:\n  momentum: 1\n", "t.yaml:2:13: optimizer.momentum: must be at least 0 and below 1 (got '1')");
    BAD("optimizer:\n  betas: [0.9]\n", "t.yaml:2:10: optimizer.betas: must have 2 elements (got 1)");
    BAD("optimizer:\n  betas: [0.9,\n    1.5]\n",
        "t.yaml:3:5: optimizer.betas: must be at least 0 and below 1 (got '1.5')");
    BAD("optimizer:\n  betas: [0.9, [1]]\n",
        "t.yaml:2:10: optimizer.betas: must be a list of numbers, without lists or maps inside");
    BAD("optimizer: {name: adm}\n", "t.yaml:1:19: optimizer.name: must be one of adamw, adam, sgd, muon (got 'adm')");
    BAD("train: {epochs: 1.5}\n", "t.yaml:1:17: train.epochs: must be an integer (got '1.5')");
    BAD("train: {epochs: 0}\n", "t.yaml:1:17: train.epochs: must be an integer between 1 and 1000000 (got '0')");
    BAD("train: {epochs: 010}\n",
        "t.yaml:1:17: train.epochs: must be an integer without leading zeros (octal in YAML 1.1) (got '010')");
    BAD("train: {seed: 99999999999999999999}\n",
        "t.yaml:1:15: train.seed: must be an integer between 0 and 9007199254740992 (got '99999999999999999999')");
    BAD("train: {epochs: _1}\n", "t.yaml:1:17: train.epochs: must be an integer (got '_1')");
    BAD("train: {epochs: 1_}\n", "t.yaml:1:17: train.epochs: must be an integer (got '1_')");
    BAD("train: {num_epochs: x}\n", "t.yaml:1:21: train.num_epochs (train.epochs): must be an integer (got 'x')");
    BAD("data: {cache: 1}\n", "t.yaml:1:15: data.cache: must be one of auto, pixels, files, false (got '1')");
    BAD("data:\n  background: #ff0000\n",
        "t.yaml:2:3: data.background: has no value; \"#rrggbb\" needs quotes, # starts a comment");
    BAD("data: {background: [0, 0, 256]}\n",
        "t.yaml:1:27: data.background: must be an integer between 0 and 255 (got '256')");
    BAD("data: {background: pink}\n",
        "t.yaml:1:20: data.background: must be a colour: white, black, a gray value 0..255, [r, g, b] or \"#rrggbb\" "
        "in quotes (got 'pink')");
    BAD("train: {epochs: 1}\ntrain.epochs: 2\n", "t.yaml:2:1: train.epochs is given twice (before at t.yaml:1:9)");
    BAD("train: {epochs: 1, num_epochs: 1}\n",
        "t.yaml:1:20: train.num_epochs (train.epochs) is given twice (before at t.yaml:1:9)");
    BAD("train: {epochs: 1\n",
        "t.yaml:2:1: not valid YAML: did not find expected ',' or '}', while parsing a flow mapping");
    BAD("- 1\n", "t.yaml:1:1: a configuration is a map of keys to values");
    BAD("hello\n", "t.yaml:1:1: a configuration is a map of keys to values");
    BAD("train: {epochs: 1}\n---\ntrain: {}\n", "t.yaml:2:1: a configuration is one document, this is a second one");
    BAD("train: &a {epochs: 1}\n", "t.yaml:1:8: anchors ('&name') are not supported");
    BAD("train: !!map {epochs: 1}\n", "t.yaml:1:8: tags ('!name') are not supported");
    BAD("train: {epochs: *a}\n", "t.yaml:1:17: aliases ('*name') are not supported");
    BAD("name: \"a\\0b\"\n", "t.yaml:1:7: a NUL character in a text");
    BAD("\"\": 1\n", "t.yaml:1:1: a key must be a plain name");
    BAD("? [a]\n: 1\n", "t.yaml:1:3: a key must be a plain name");
    BAD("name: \xff\n", "t.yaml: byte 6: invalid leading UTF-8 octet (files are UTF-8)");
    BAD("model: {name: 'a\tb'}\n",
        "t.yaml:1:15: model.name: must be one of textcnn, textcnn-small, crnn, crnn-stacked, crnn-small, "
        "reader, reader-large, resnet18, "
        "resnet34, resnet50, resnet101, resnet152, slider, slider-small, hrnet-w32, hrnet-w48, tfnet, tfnet-small (got 'a?b')");
}
END_TEST

START_TEST(several_errors)
{
    char text[600] = "";
    ct_config *c;
    BAD("trian: {epochs: 1}\noptimizer:\n  lr: x\n  foo: 1\ntrain: {epochs: -1}\n",
        "t.yaml:1:9: unknown key 'trian.epochs'; did you mean 'train.epochs'?\n"
        "t.yaml:3:7: optimizer.lr: must be a number (got 'x')\n"
        "t.yaml:4:3: unknown key 'optimizer.foo'; did you mean 'optimizer.lr'?\n"
        "t.yaml:5:17: train.epochs: must be an integer between 1 and 1000000 (got '-1')");
    for (int i = 0; i < 13; i++) sprintf(text + strlen(text), "optimizer.lx%d: 1\n", i);
    ck_assert_int_eq(ct_config_parse(text, strlen(text), "t.yaml", NULL, 0, &c), CT_ECONFIG);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "t.yaml:10:1: "));
    ck_assert_ptr_null(strstr(ct_error_message(), "t.yaml:11:1: "));
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "\nand 3 more"));
}
END_TEST

START_TEST(sets)
{
    ct_config *c = GOOD("train: {epochs: 3}\n", "train.epochs=4", "train.epochs=5", "data.train=/x: y #z/[a]",
                        "optimizer.betas=0.8, 0.9", "schedule.milestones=[3,4]", "schedule.name=multistep",
                        "data.background=1,2,3", "train.num_workers=0");
    ck_assert_int_eq(c->train.epochs, 5);
    ck_assert_str_eq(c->data.train, "/x: y #z/[a]");
    ck_assert_double_eq(c->optimizer.betas.v[1], 0.9);
    ck_assert_int_eq(c->schedule.milestones.v[0], 3);
    ck_assert_int_eq(c->data.background[2], 3);
    ck_assert_int_eq(c->train.workers, 0);
    ct_config_free(c);
    c = GOOD("schedule: {milestones: [1, 2]}\n", "schedule.milestones=", "data.val=", "data.charset=");
    ck_assert_uint_eq(c->schedule.milestones.n, 0);
    ck_assert_str_eq(c->data.val, "");
    ct_config_free(c);
    /* with quotes a list is YAML's */
    c = GOOD("train: {epochs: 3}\n", "data.train=[\"/a, b\", '/it''s', /c, d]", "data.val=[ '/e, f' ]",
             "data.synth.fonts='x, y', \"z\\\"\", w", "data.test='/g'");
    ck_assert_str_eq(c->data.train, "/a, b" CT_PATHS_BETWEEN "/it's" CT_PATHS_BETWEEN "/c" CT_PATHS_BETWEEN "d");
    ck_assert_str_eq(c->data.val, "/e, f");
    ck_assert_str_eq(c->data.test, "'/g'"); /* one path is no list, and stands for itself */
    ck_assert_uint_eq(c->data.synth.fonts.n, 3);
    ck_assert_str_eq(c->data.synth.fonts.v[0], "x, y");
    ck_assert_str_eq(c->data.synth.fonts.v[1], "z\"");
    ck_assert_str_eq(c->data.synth.fonts.v[2], "w");
    ct_config_free(c);
    BAD_SET("schedule.milestones=['3', 4]", "--set schedule.milestones=['3', 4]: schedule.milestones: must be an integer "
                                            "without quotes (got '3')");
    BAD_SET("data.train=[\"/a, b]", "--set data.train=[\"/a, b]:1:9: not valid YAML: found unexpected end of "
                                "stream, while scanning a quoted scalar");
    BAD_SET("data.train=[\"/a\"] [b]", "--set data.train=[\"/a\"] [b]:1:8: not valid YAML: did not find expected <document "
                                      "start>");
    BAD_SET("data.train=[\"/a\", [b, c]]", "--set data.train=[\"/a\", [b, c]]: data.train: must be a path, or a list of 1 "
                                        "to 64 (got a list with lists or maps inside)");
    BAD_SET("train.batch_sise=4",
            "--set train.batch_sise=4: unknown key 'train.batch_sise'; did you mean 'train.batch_size'?");
    BAD_SET("train.epochs=", "--set train.epochs=: train.epochs: must be an integer (got '')");
    BAD_SET("train.epochs", "--set train.epochs: must be KEY=VALUE");
    BAD_SET("=3", "--set =3: must be KEY=VALUE");
    BAD_SET("train=3", "--set train=3: 'train' is a section: its keys stand below it, as in 'train: {...}'");
    BAD_SET("optimizer.betas=1,2,3", "--set optimizer.betas=1,2,3: optimizer.betas: must have 2 elements (got 3)");
}
END_TEST

START_TEST(set_later)
{
    ct_config *c = GOOD("train: {epochs: 3, pin_memory: true}\nschedule: {warmup_epochs: 2}\n");
    ck_assert_int_eq(ct_config_set(c, "train.threads", "3", "--threads 3"), CT_OK);
    ck_assert_int_eq(c->train.threads, 3);
    ck_assert_int_eq(c->train.epochs, 3);
    ck_assert_uint_eq(ct_config_note_count(c), 1);
    ck_assert_int_eq(ct_config_set(c, "train.threads", "many", "--threads many"), CT_ECONFIG);
    ck_assert_str_eq(ct_error_message(), "--threads many: train.threads: must be an integer (got 'many')");
    ck_assert_int_eq(ct_config_set(c, "train.epochs", "1", "--epochs 1"), CT_ECONFIG);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "schedule.warmup_epochs is more than train.epochs (1)"));
    ck_assert_int_eq(c->train.epochs, 3);
    ck_assert_int_eq(c->train.threads, 3);
    ct_config_free(c);
}
END_TEST

START_TEST(amp)
{
    static const struct { const char *amp; ct_cfg_precision p; } rows[] = {
        { "true", CT_CFG_PRECISION_BF16 }, { "on", CT_CFG_PRECISION_BF16 },   { "false", CT_CFG_PRECISION_FP32 },
        { "bf16", CT_CFG_PRECISION_BF16 }, { "'bf16'", CT_CFG_PRECISION_BF16 }, { "fp16", CT_CFG_PRECISION_FP16 },
        { "tf32", CT_CFG_PRECISION_TF32 }, { "True", CT_CFG_PRECISION_BF16 },
    };
    char text[64];
    ct_config *c;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(text, sizeof text, "train: {amp: %s}\n", rows[i].amp);
        c = GOOD(text);
        ck_assert_msg(c->train.precision == rows[i].p, "amp %s", rows[i].amp);
        ct_config_free(c);
        snprintf(text, sizeof text, "amp: %s\n", rows[i].amp);
        c = GOOD(text);
        ck_assert_msg(c->train.precision == rows[i].p, "amp %s", rows[i].amp);
        ct_config_free(c);
    }
    BAD("amp: maybe\n", "t.yaml:1:6: amp (train.amp): must be one of false, true, bf16, fp16, tf32 (got 'maybe')");
    BAD("train: {amp: true, precision: fp32}\n",
        "t.yaml:1:9: train.amp means train.precision: bf16, but t.yaml:1:20 says train.precision: fp32; give one of "
        "the two");
    BAD("train: {amp: false, precision: fp16}\n",
        "t.yaml:1:9: train.amp means train.precision: fp32, but t.yaml:1:21 says train.precision: fp16; give one of "
        "the two");
    c = GOOD("train: {amp: true, precision: bf16}\n");
    ct_config_free(c);
    const char *set = "train.amp=true";
    ck_assert_int_eq(ct_config_parse("train.precision: fp16", 21, "t.yaml", &set, 1, &c), CT_ECONFIG);
    ck_assert_str_eq(ct_error_message(), "--set train.amp=true: train.amp means train.precision: bf16, but t.yaml:1:1 "
                                         "says train.precision: fp16; give one of the two");
}
END_TEST

START_TEST(shifts_are_whole_pixels)
{
    BAD("augment: {shift: 2.5}\n", "t.yaml:1:18: augment.shift: must be an integer (got '2.5')");
    ct_config *c = GOOD("augment: {shift: 5.0}\n");
    ck_assert_int_eq(c->augment.shift, 5);
    ct_config_free(c);
}
END_TEST

START_TEST(notes)
{
    ct_config *c = GOOD("train:\n  pin_memory: true\n  prefetch_factor: 8\nhardware: {cudnn_benchmark: true}\n"
                        "monitoring: {wandb: {enabled: false, tags: [a, [b, {c: d}]]}}\noptimizer: {momentum: 0.8}\n");
    ck_assert_uint_eq(ct_config_note_count(c), 6);
    ck_assert_str_eq(ct_config_note(c, 0), "t.yaml:2:3: train.pin_memory is not used: loader threads share memory with "
                                           "the trainer; nothing is pinned or copied between processes");
    ck_assert_str_eq(ct_config_note(c, 3), "t.yaml:5:22: monitoring.wandb.enabled is not used: metrics.jsonl and "
                                           "the TensorBoard files hold the measurements; profiling is `captrain "
                                           "profile`");
    ck_assert_str_eq(ct_config_note(c, 5), "t.yaml:6:13: optimizer.momentum has no effect: optimizer.name is not sgd");
    ck_assert_str_eq(ct_config_note(c, 99), "");
    ct_config_free(c);
}
END_TEST

/* The key names of the slider and sign-language projects, as far as they make sense here, and the rest as notes. */
START_TEST(foreign_files)
{
    ct_config *c = GOOD(
        "data: {processed_dir: data/processed}\n"
        "model: {name: textcnn, input_channels: 3, model_path: src.models.x}\n"
        "optimizer: {name: AdamW, lr: 3e-4, betas: [0.9, 0.999], eps: 1e-8, weight_decay: 0.05, clip_grad_norm: 1.0,\n"
        "  ema_decay: 0.999}\n"
        "sched: {warmup_epochs: 1, cosine_min_lr: 3e-6, epochs: 40, min_epochs: 10, patience: 18}\n"
        "train: {batch_size: 128, amp: true, channels_last: true, num_workers: 24, pin_memory: true,\n"
        "  non_blocking: true, prefetch_factor: 8, persistent_workers: true, gradient_accumulation_steps: 2,\n"
        "  compile_model: false, compile_mode: default}\n"
        "eval: {metrics: [a, b], select_by: loss, vis_fail_k: 10, eval_interval: 2,\n"
        "  visualization: {num_heatmap_samples: 6}, early_stopping: {second_guard: {metric: mae_px}},\n"
        "  test_visualization: {enabled: false}}\n"
        "checkpoints: {save_dir: x, save_interval: 4, save_best: true, save_strategy: [a.pth, b.pth]}\n"
        "logging: {log_dir: l, log_interval: 11, tensorboard: false, tensorboard_dir: d, \n"
        "  auto_launch_tensorboard: true, tensorboard_port: 6006, time_tracking: {enabled: true},\n"
        "  tb_items: [loss/train]}\n"
        "hardware: {device: cuda, cudnn_benchmark: true, cudnn_deterministic: false, allow_tf32: true,\n"
        "  matmul_allow_tf32: true, cudnn_allow_tf32: true}\n"
        "monitoring: {wandb: {enabled: false}, profile: {enabled: false, wait: 1}}\n");
    ck_assert_str_eq(c->data.train, "data/processed");
    ck_assert_int_eq(c->data.channels, 3);
    ck_assert_double_eq(c->schedule.min_lr, 3e-6);
    ck_assert_int_eq(c->train.epochs, 40);
    ck_assert_int_eq(c->early_stopping.patience, 18);
    ck_assert_int_eq(c->early_stopping.min_epochs, 10);
    ck_assert(c->early_stopping.enabled);
    ck_assert_int_eq(c->train.workers, 24);
    ck_assert_int_eq(c->train.accumulate, 2);
    ck_assert_int_eq(c->train.precision, CT_CFG_PRECISION_BF16);
    ck_assert_int_eq(c->report.gallery, 10);
    ck_assert_int_eq(c->eval.every_epochs, 2);
    ck_assert_int_eq(c->checkpoint.every_epochs, 4);
    ck_assert_int_eq(c->log.interval_steps, 11);
    ck_assert(!c->log.tensorboard);
    ck_assert_str_eq(c->train.backend, "cuda");
    ck_assert(!c->train.deterministic);
    ct_config_free(c);

    c = GOOD("Path: {trainDataPath: a, validDataPath: b, testDataPath: c, trainLabelPath: d, bestModuleSavePath: e}\n"
             "Params: {device: 1, hiddenSize: 1024, lr: 1e-4, batchSize: 2, numWorkers: 8, pinmMemory: 1,\n"
             "  moduleChoice: textcnn, dataSetName: CE-CSL}\n");
    ck_assert_str_eq(c->data.train, "a");
    ck_assert_str_eq(c->data.val, "b");
    ck_assert_str_eq(c->data.test, "c");
    ck_assert_int_eq(c->model.hidden, 1024);
    ck_assert_double_eq(c->optimizer.lr, 1e-4);
    ck_assert_int_eq(c->train.batch_size, 2);
    ck_assert_int_eq(c->train.workers, 8);
    ct_config_free(c);

    c = GOOD("{dataset: {name: X, train_data_path: a, valid_data_path: b, crop_size: 160, max_frames: 50},\n"
             " model: {hidden_size: 64, device_target: GPU, device_id: 0, enable_graph_kernel: false},\n"
             " training: {batch_size: 1, learning_rate: 1e-5, num_epochs: 5, num_workers: 1, weight_decay: 1e-5,\n"
             "  gradient_clip_norm: 0.5, save_interval: 1, eval_interval: 1, early_stopping_patience: 3,\n"
             "  prefetch_size: 1, max_rowsize: 16, enable_data_sink: false},\n"
             " gpu_optimization: {enable_mem_reuse: false}, optimizer: {type: Adam, lr_scheduler: MultiStepLR},\n"
             " schedule: {milestones: [35, 45]}, paths: {log_dir: l}, logging: {level: INFO, print_interval: 5},\n"
             " loss: {ctc_blank_id: 0}}\n");
    ck_assert_str_eq(c->train.backend, "cuda");
    ck_assert_int_eq(c->train.epochs, 5);
    ck_assert_double_eq(c->optimizer.clip_grad_norm, 0.5);
    ck_assert_int_eq(c->optimizer.name, CT_CFG_OPT_ADAM);
    ck_assert_int_eq(c->schedule.name, CT_CFG_SCHED_MULTISTEP);
    ck_assert_int_eq(c->early_stopping.patience, 3);
    ct_config_free(c);
}
END_TEST

START_TEST(keys_against_each_other)
{
    BAD("schedule: {min_lr: 1}\n", "t.yaml:1:12: schedule.min_lr (1) is above optimizer.lr (0.001)");
    BAD("schedule: {milestones: [3, 3]}\n", "t.yaml:1:12: schedule.milestones must rise (3 follows 3)");
    BAD("schedule: {name: warm_restarts, t_mult: 1.5}\n",
        "t.yaml:1:33: schedule.t_mult: must be a whole number (got 1.5)");
    BAD("schedule: {milestones: [1,2,3,4,5,6,7,8,9]}\n",
        "t.yaml:1:24: schedule.milestones: must have 0 to 8 elements (got 9)");
    BAD("schedule: {name: multistep}\n", "t.yaml:1:12: schedule.name: multistep needs schedule.milestones");
    BAD("train: {epochs: 2, progressive: {epochs: 3}}\n",
        "t.yaml:1:34: train.progressive.epochs is more than train.epochs (2)");
    BAD("train: {progressive: {epochs: 1, width: 1}}\n", "t.yaml:1:34: train.progressive: width and height are both 1: the pictures of the first epochs would be as large "
        "as all others");
    BAD("train: {progressive: {epochs: 1, width: 0.4}}\n",
        "t.yaml:1:41: train.progressive.width: must be between 0.5 and 1 (got '0.4')");
    BAD("train: {epochs: 2}\nschedule: {warmup_epochs: 3}\n",
        "t.yaml:2:12: schedule.warmup_epochs is more than train.epochs (2)");
    BAD("data: {channels: 2}\n", "t.yaml:1:8: data.channels: must be 1 or 3 (got 2)");
    BAD("data: {mean: [0, 0, 0]}\n",
        "t.yaml:1:8: data.mean has 3 numbers, data.channels is 1; give one, or one per channel");
    BAD("data: {charset: abca}\n", "t.yaml:1:8: data.charset has 'a' twice");
    BAD("data: {charset: x\xc3\xa4y\xc3\xa4}\n", "t.yaml:1:8: data.charset has '\xc3\xa4' twice");
    BAD("data: {charset: a}\n", "t.yaml:1:8: data.charset has only one character");
    BAD("data: {charset: abC, letter_case: upper}\n",
        "t.yaml:1:8: data.charset has 'a', which data.letter_case: upper folds away");
    BAD("data: {length: 3, synth: {length: 4}}\n",
        "t.yaml:1:8: data.length is 3 but generated labels have 4 characters");
    BAD("data: {length: 3, synth: {length_min: 2, length_max: 5}}\n",
        "t.yaml:1:8: data.length is 3 but generated labels have up to 5 characters");
    BAD("data: {size_rule: fit_height, width: 100, min_width: 101}\n",
        "t.yaml:1:43: data.min_width is 101 but data.width is 100");
    BAD("data: {height: 32, width: 40, crop: 33}\n", "t.yaml:1:31: data.crop is 33 but data.height is 32");
    BAD("data: {height: 64, width: 40, crop: 41}\n", "t.yaml:1:31: data.crop is 41 but data.width is 40");
    BAD("data: {size_rule: fit_height, crop: 16}\n", "t.yaml:1:31: data.crop: data.size_rule: fit_height pads images, "
        "and part of one may be nothing but padding; resize or refuse");
    BAD("data: {crop: 16, size_rule: letterbox}\n", "t.yaml:1:8: data.crop: data.size_rule: letterbox pads images, "
        "and part of one may be nothing but padding; resize or refuse");
    BAD("data: {label_separator: 0123456789abcdef}\n", "t.yaml:1:8: data.label_separator: longer than 15 bytes");
    BAD("data: {train: 'synth:sliders'}\n",
        "t.yaml:1:8: data.train: no generator 'synth:sliders'; there is synth:text, synth:slider, synth:gestures");
    BAD("optimizer: {name: sgd, nesterov: true, momentum: 0}\n",
        "t.yaml:1:24: optimizer.nesterov needs optimizer.momentum above 0");
    BAD("loss: {name: soft_margin, label_smoothing: 0.1}\n",
        "t.yaml:1:27: loss.label_smoothing is defined for loss.name: softmax and ctc only");
    BAD("early_stopping: {patience: 3}\ndata: {train: x, val_fraction: 0}\n",
        "t.yaml:1:18: early_stopping needs validation data: data.val, or data.val_fraction above 0");
}
END_TEST

static void check_round_trip(const ct_config *c)
{
    ct_config *d;
    char *texts[3] = { ct_config_yaml(c, false), ct_config_yaml(c, true), ct_config_json(c) };
    for (int i = 0; i < 3; i++) {
        ck_assert_ptr_nonnull(texts[i]);
        ck_assert_msg(ct_config_parse(texts[i], strlen(texts[i]), "resolved", NULL, 0, &d) == CT_OK, "%s\n%s",
                      ct_error_message(), texts[i]);
        ck_assert_msg(ct_config_equal(c, d), "%s", texts[i]);
        char *again = i == 2 ? ct_config_json(d) : ct_config_yaml(d, i == 1);
        ck_assert_str_eq(again, texts[i]);
        ct_free(again);
        ct_config_free(d);
        ct_free(texts[i]);
    }
}

START_TEST(round_trip)
{
    ct_config *c = GOOD("");
    check_round_trip(c);
    ct_config_free(c);
    c = GOOD("name: 'yes'\ndata: {train: \"a \\\"b\\\\ \\x07\\n\\u20ac: #x\", val: '123',\n"
             "  charset: \" \\t0aZ\\u4e2d'\\\"\",\n"
             "  label_separator: '', mean: [0.1, 0.30000000000000004, 1e-9], std: [1, 2, 3], channels: 3,\n"
             "  val_fraction: 0.333, background: '#010203', max_bad: 7, test: '~'}\n"
             "early_stopping: {enabled: false, patience: 3}\nschedule: {name: multistep, milestones: [1, 5]}\n"
             "optimizer: {lr: 0.1, momentum: 0.7}\namp: fp16\n");
    ck_assert(!c->early_stopping.enabled);
    check_round_trip(c);
    ct_config_free(c);
    c = GOOD("early_stopping: {patience: 3}\ndata: {val: 'null', test: '1e5'}\n");
    ck_assert(c->early_stopping.enabled);
    check_round_trip(c);
    ct_config_free(c);
}
END_TEST

/* Every row: its default is read, its written form reads back, and a value at each closed end of its range is
 * accepted, one beyond refused. */
START_TEST(every_row)
{
    const ct_config_row *r;
    ct_config *d;
    char set[256], what[64];
    ck_assert_int_eq(ct_config_defaults(&d), CT_OK);
    for (size_t i = 0; (r = ct_config_row_at(i)); i++) {
        ck_assert_msg(r->doc && strlen(r->doc) > 8 && r->unit && r->reader, "%s lacks documentation", r->name);
        ck_assert_msg(strlen(r->doc) < 260 && !strchr(r->doc, '\n'), "%s: long documentation", r->name);
        if (r->cls == CT_CLASS_NOTED) continue;
        ck_assert_ptr_eq(ct_config_find_row(r->name), r);
        ck_assert_str_eq(ct_config_nearest_key(r->name), r->name);
        for (const char *p = r->aliases ? r->aliases : ""; *p; p += *p == ' ') {
            size_t len = strcspn(p, " ");
            memcpy(set, p, len);
            set[len] = '\0';
            ck_assert_msg(ct_config_find_row(set) == r, "alias %s of %s is another key, too", set, r->name);
            p += len;
        }
        for (size_t k = 0; k < i; k++)
            ck_assert_msg(strcmp(ct_config_row_at(k)->name, r->name) != 0, "%s is there twice", r->name);
        for (int k = 0; ct_config_value_name(r, k, what, sizeof what); k++) {
            ct_config *c;
            snprintf(set, sizeof set, "%s=%s", r->name, what);
            const char *s[2] = { set, "schedule.milestones=1,2" };
            ck_assert_msg(ct_config_parse("", 0, "t", s, 2, &c) == CT_OK, "%s", ct_error_message());
            check_round_trip(c);
            ct_config_free(c);
        }
        if (r->cls != CT_CLASS_KEY) continue;
        char *v = ct_config_value(d, r->name);
        ck_assert_ptr_nonnull(v);
        ct_free(v);
        if (r->type == CT_KEY_INT || r->type == CT_KEY_FLOAT) {
            for (int side = 0; side < 2; side++) {
                ct_config *c;
                double end = side ? r->max : r->min;
                double off = r->type == CT_KEY_INT ? 2 : fabs(end) * 1e-6 + 1e-6;
                snprintf(set, sizeof set, "%s=%.17g", r->name, side ? end + off : end - off);
                const char *s = set;
                ck_assert_msg(ct_config_parse("", 0, "t", &s, 1, &c) == CT_ECONFIG, "%s accepted", set);
                ck_assert_msg(strstr(ct_error_message(), "must be"), "%s: %s", set, ct_error_message());
                snprintf(set, sizeof set, "%s=%.17g", r->name, end);
                ct_status st = ct_config_parse("", 0, "t", &s, 1, &c);
                bool open = side ? r->max_open : r->min_open;
                /* Ends of ranges may contradict other keys; they must not be refused as out of range. */
                bool refused = st != CT_OK && strstr(ct_error_message(), ": must be ") != NULL;
                ck_assert_msg(refused == open, "%s: %s", set, st == CT_OK ? "accepted" : ct_error_message());
                ct_config_free(c);
            }
        }
    }
    ck_assert_ptr_null(ct_config_row_at(ct_config_row_count()));
    for (size_t i = 0; (r = ct_config_row_at(i)); i++) ck_assert_uint_eq(ct_config_row_index(r), i);
    ck_assert_ptr_null(ct_config_find_row("nothing"));
    ck_assert_ptr_null(ct_config_value(d, "nothing"));
    ck_assert_ptr_null(ct_config_value(d, "train.amp"));
    ct_config_free(d);
}
END_TEST

START_TEST(examples)
{
    static const char *const names[] = { "quickstart", "wilhelmy2013", "wilhelmy2013-crnn", "captcha-package",
                                         "captcha-package-crnn", "captcha-package-many", "race-captcha" };
    ct_config *c, *b;
    char *path;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        path = ct_asprintf("%s/examples/%s.yaml", ct_check_srcdir(), names[i]);
        ck_assert_msg(ct_config_load(path, NULL, 0, &c) == CT_OK, "%s", ct_error_message());
        ck_assert_str_eq(c->name, names[i]);
        ck_assert_uint_eq(ct_config_note_count(c), 0);
        check_round_trip(c);
        if (i == 0) {
            ck_assert_int_eq(ct_config_load(NULL, NULL, 0, &b), CT_OK);
            ck_assert(ct_config_equal(b, c));
            ct_config_free(b);
            uint8_t *text;
            size_t size;
            ck_assert_int_eq(ct_file_read(path, 1 << 20, &text, &size), CT_OK);
            ck_assert_str_eq((const char *)text, ct_config_quickstart);
            ct_free(text);
        }
        ct_config_free(c);
        ct_free(path);
    }
    ck_assert_int_eq(setenv("CAPTRAIN_DATADIR", ct_check_srcdir(), 1), 0);
    path = ct_config_find_example("wilhelmy2013");
    ck_assert_ptr_nonnull(path);
    ct_free(path);
    ck_assert_int_eq(ct_config_load("captcha-package.yaml", NULL, 0, &c), CT_OK);
    ck_assert_str_eq(c->name, "captcha-package");
    ct_config_free(c);
    ck_assert_ptr_null(ct_config_find_example("../examples/quickstart"));
    ck_assert_ptr_null(ct_config_find_example(""));
    ck_assert_int_eq(setenv("CAPTRAIN_DATADIR", "/nonexistent", 1), 0);
    ck_assert_ptr_null(ct_config_find_example("wilhelmy2013"));
    ck_assert_int_eq(ct_config_load("quickstart", NULL, 0, &c), CT_OK); /* built in */
    ck_assert_str_eq(c->name, "quickstart");
    ct_config_free(c);
    ck_assert_int_eq(ct_config_load("no-such", NULL, 0, &c), CT_ECONFIG);
    ck_assert_str_eq(ct_error_message(), "no-such: there is no such file, and no example of that name is installed");
    ck_assert_int_eq(ct_config_load("/", NULL, 0, &c), CT_ECONFIG);
    ck_assert_ptr_null(c);
}
END_TEST

START_TEST(locale_independent)
{
    char buf[64];
    ct_config *c;
    /* A German program may embed the library; skipped silently only where the machine has no such locale. */
    if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "fr_FR.UTF-8")) return;
    snprintf(buf, sizeof buf, "%.1f", 0.5);
    ck_assert_str_eq(buf, "0,5");
    c = GOOD("optimizer: {lr: 0.25}\n");
    ck_assert_double_eq(c->optimizer.lr, 0.25);
    check_round_trip(c);
    ct_config_free(c);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("config");
    TCase *t = tcase_create("config");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, defaults);
    tcase_add_test(t, every_type);
    tcase_add_test(t, json_is_yaml);
    tcase_add_test(t, messages);
    tcase_add_test(t, several_errors);
    tcase_add_test(t, sets);
    tcase_add_test(t, set_later);
    tcase_add_test(t, amp);
    tcase_add_test(t, shifts_are_whole_pixels);
    tcase_add_test(t, notes);
    tcase_add_test(t, foreign_files);
    tcase_add_test(t, keys_against_each_other);
    tcase_add_test(t, round_trip);
    tcase_add_test(t, every_row);
    tcase_add_test(t, examples);
    tcase_add_test(t, locale_independent);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
