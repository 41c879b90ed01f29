/* From a configuration to a program specification. */
#include "tests/program/check_program.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "program/spec.h"
#include "tests/task/text/facts_util.h"

/* For 60x160 pixels, 4 positions, 36 classes, 100 steps per epoch. */
static ct_status specify(const ct_config *cfg, ct_program_spec *s)
{
    ct_facts *facts = text_facts(4, 36);
    ct_status st = ct_spec_from_config(cfg, facts, 60, 160, 0, 100, s);
    ct_task_text.forget(facts);
    return st;
}

/* The specification of YAML text at 100 steps per epoch, 4 positions, 36 classes. */
static ct_status spec_of(const char *text, ct_config **cfg, ct_program_spec *s)
{
    ok(ct_config_parse(text, strlen(text), "t.yaml", NULL, 0, cfg));
    return specify(*cfg, s);
}

START_TEST(plain_values)
{
    ct_config *cfg;
    ct_program_spec s;
    ok(spec_of("model: {name: textcnn-small, width: 0.5, hidden: 32, dropout: 0.1}\n"
               "data: {height: 50, width: 200, mean: [0.4], std: [0.2], background: '#ff0000'}\n"
               "train: {batch_size: 16, accumulate: 2, seed: 9, epochs: 10}\n"
               "optimizer: {name: sgd, lr: 0.5, momentum: 0.8, nesterov: true, weight_decay: 0.25, clip_grad_norm: 3, "
               "ema_decay: 0.99}\n"
               "schedule: {name: constant}\nloss: {name: soft_margin}\n"
               "augment: {shift: 4, shear: 1, rotate: 7, noise: 0.1, probability: 0.5}\n",
               &cfg, &s));
    ck_assert_str_eq(s.model.name, "textcnn-small");
    ck_assert(s.model.width_mult == 0.5 && s.model.hidden == 32 && s.model.dropout == 0.1 && s.model.seed == 9);
    ck_assert(s.model.height == 50 && s.model.width == 200 && s.model.positions == 4 && s.model.classes == 36);
    ck_assert(s.batch == 16 && s.accumulate == 2 && ct_spec_effective_batch(&s) == 32 && s.src_h == 60 &&
              s.src_w == 160);
    ck_assert(s.optimizer == CT_OPT_SGD && s.optim.momentum == 0.8 && s.optim.nesterov == 1 &&
              s.optim.weight_decay == 0.25);
    ck_assert(s.optim.max_norm == 3 && s.optim.decay == 0.99 && s.goal.loss == CT_TEXT_SOFT_MARGIN);
    ck_assert(s.image.augment == 1 && s.image.shift_x == 4 && s.image.shift_y == 4 && s.image.rotate == 7 &&
              s.image.prob == 0.5);
    ck_assert_msg(fabs(s.image.shear - 45) < 1e-12, "tan 45 degrees is 1: %g", s.image.shear);
    ck_assert(fabs(s.image.fill - 0.299) < 1e-12 && s.image.mean[0] == 0.4 && s.image.mean[2] == 0.4 &&
              s.image.std[1] == 0.2);
    ck_assert(s.schedule.kind == CT_SCHED_CONSTANT && s.schedule.base_lr == 0.5 && s.schedule.warmup_steps == 0);
    ck_assert(s.recompute == -1 && s.compute == CT_F32 && s.loss_scale == 1 && s.optim.dynamic == 0);
    ct_config_free(cfg);
    ok(spec_of("augment: {probability: 0, shift: 4}\n", &cfg, &s));
    ck_assert_int_eq(s.image.augment, 0);
    ct_config_free(cfg);
}
END_TEST

/* The attributes of an operator in a program of the specification, which has one of it. */
static ct_attrs attributes(const ct_program_spec *s, ct_program_kind kind, ct_op op)
{
    ct_program p;
    ct_layout l;
    ct_attrs a = { 0 };
    int found = 0;
    ok(ct_program_build(s, kind, NULL, &l, &p));
    for (size_t i = 0; i < p.graph->nnodes; i++) {
        if (p.graph->nodes[i].op != op) continue;
        a = p.graph->nodes[i].attrs;
        found++;
    }
    ck_assert_int_eq(found, 1);
    ct_program_free(&p);
    return a;
}

static ct_image_attrs preprocessing(const ct_program_spec *s, ct_program_kind kind)
{
    return attributes(s, kind, CT_OP_PREPROCESS).image;
}

/* A crop is the size of the model's input; training draws it whatever else is drawn, all others take the middle. */
START_TEST(crop_and_flip)
{
    static const ct_program_kind kinds[] = { CT_PROGRAM_STEP, CT_PROGRAM_EVAL, CT_PROGRAM_PREDICT };
    ct_config *cfg;
    ct_program_spec s;
    ok(spec_of("model: {name: textcnn-small}\ndata: {height: 60, width: 160, crop: 48}\n", &cfg, &s));
    ck_assert(s.model.height == 48 && s.model.width == 48 && s.src_h == 60 && s.src_w == 160);
    ck_assert(s.image.augment == 1 && s.image.prob == 0 && s.image.flip == 0);
    for (int k = 0; k < 3; k++) {
        const ct_image_attrs a = preprocessing(&s, kinds[k]);
        ck_assert(a.crop_h == 48 && a.crop_w == 48 && a.out_h == 48 && a.out_w == 48);
        ck_assert_int_eq(a.augment, kinds[k] == CT_PROGRAM_STEP);
    }
    ct_config_free(cfg);
    ok(spec_of("model: {name: textcnn-small}\ndata: {crop: 60}\naugment: {shift: 2, probability: 0.4}\n", &cfg, &s));
    ck_assert(s.image.augment == 1 && s.image.prob == 0.4 && s.image.crop_h == 60 && s.image.crop_w == 60);
    ct_config_free(cfg);
    ok(spec_of("model: {name: textcnn-small}\naugment: {shift: 2}\n", &cfg, &s));
    ck_assert(s.image.crop_h == 0 && s.image.crop_w == 0 && s.image.flip == 0 && s.image.prob == 1);
    ck_assert(s.model.height == 60 && s.model.width == 160);
    ct_config_free(cfg);
    says(spec_of("model: {name: crnn-small}\ndata: {crop: 32}\n", &cfg, &s), CT_ECONFIG,
         "data.crop: model.name: crnn-small reads images of any width");
    ct_config_free(cfg);
    says(spec_of("augment: {flip: 0.5}\n", &cfg, &s), CT_ECONFIG,
         "augment.flip: model.name: textcnn is of the task text, and mirrored characters are other characters");
    ct_config_free(cfg);
    says(spec_of("model: {name: slider-small}\naugment: {flip: 0.5}\n", &cfg, &s), CT_ECONFIG,
         "augment.flip: model.name: slider-small is of the task slider, and the piece of a mirrored puzzle");
    ct_config_free(cfg);
}
END_TEST

START_TEST(learning_rate_rules)
{
    ct_config *cfg;
    ct_program_spec s;
    ok(spec_of("train: {batch_size: 64, accumulate: 2}\noptimizer: {lr: 0.1}\n"
               "schedule: {name: cosine, min_lr: 0.01, lr_rule: linear, reference_batch: 32}\n",
               &cfg, &s));
    ck_assert(fabs(s.schedule.base_lr - 0.4) < 1e-15 && fabs(s.schedule.min_lr - 0.04) < 1e-15);
    ct_config_free(cfg);
    ok(spec_of("train: {batch_size: 64, accumulate: 2}\noptimizer: {lr: 0.1}\nschedule: {lr_rule: sqrt, "
               "reference_batch: 32}\n",
               &cfg, &s));
    ck_assert(fabs(s.schedule.base_lr - 0.2) < 1e-15);
    ct_config_free(cfg);
}
END_TEST

START_TEST(schedules_in_steps)
{
    ct_config *cfg;
    ct_program_spec s;
    ok(spec_of("train: {epochs: 20}\nschedule: {name: warmup_cosine, warmup_epochs: 1.5}\n", &cfg, &s));
    ck_assert(s.schedule.kind == CT_SCHED_COSINE && s.schedule.warmup_steps == 150 && s.schedule.total_steps == 2000);
    ct_config_free(cfg);
    ok(spec_of("train: {epochs: 20, steps: 700}\nschedule: {name: cosine, warmup_epochs: 1.5}\n", &cfg, &s));
    ck_assert(s.schedule.kind == CT_SCHED_COSINE && s.schedule.warmup_steps == 0 && s.schedule.total_steps == 700);
    ct_config_free(cfg);
    ok(spec_of("schedule: {name: multistep, milestones: [3, 5], gamma: 0.5}\n", &cfg, &s));
    ck_assert(s.schedule.kind == CT_SCHED_MULTISTEP && s.schedule.nmilestones == 2 && s.schedule.milestones[0] == 300 &&
              s.schedule.milestones[1] == 500 && s.schedule.gamma == 0.5);
    ct_config_free(cfg);
    ok(spec_of("schedule: {name: warm_restarts, t0: 0.5, t_mult: 3}\n", &cfg, &s));
    ck_assert(s.schedule.kind == CT_SCHED_WARM_RESTARTS && s.schedule.t0 == 50 && s.schedule.t_mult == 3);
    ct_config_free(cfg);
    ok(spec_of("train: {epochs: 20, steps: 700}\noptimizer: {lr: 0.5}\nschedule: {name: one_cycle, pct_start: 0.25, "
               "div_factor: 10, final_div_factor: 5}\n", &cfg, &s));
    ck_assert(s.schedule.kind == CT_SCHED_ONE_CYCLE && s.schedule.total_steps == 700 && s.schedule.peak == 174 &&
              s.schedule.start_lr == 0.05 && s.schedule.min_lr == 0.01 && s.schedule.base_lr == 0.5);
    ct_config_free(cfg);
    ok(spec_of("schedule: {name: warm_restarts}\n", &cfg, &s));
    cfg->schedule.t_mult = 1.5; /* the configuration itself takes whole numbers only */
    says(specify(cfg, &s), CT_ECONFIG, "schedule.t_mult: must be a whole number");
    ct_config_free(cfg);
}
END_TEST

START_TEST(smaller_at_first)
{
    ct_config *cfg;
    ct_program_spec s;
    ok(spec_of("train: {epochs: 2}\n", &cfg, &s));
    ck_assert_int_eq(s.small.steps, 0);
    ct_config_free(cfg);
    ok(spec_of("train: {epochs: 2, progressive: {epochs: 0.25, width: 0.7, height: 0.9}}\n"
               "augment: {shift: 4, blur: 1, rotate: 5}\n", &cfg, &s));
    const ct_program_spec full = s;
    ck_assert(s.small.steps == 25 && s.small.width == 0.7 && s.small.height == 0.9);
    ct_program_shrink(&s);
    ck_assert_int_eq(s.model.width, llround(0.7 * (double)full.model.width));
    ck_assert_int_eq(s.model.height, llround(0.9 * (double)full.model.height));
    ck_assert(s.src_w == full.src_w && s.src_h == full.src_h);
    ck_assert(fabs(s.image.shift_x - 2.8) < 1e-12 && fabs(s.image.shift_y - 3.6) < 1e-12);
    ck_assert(fabs(s.image.blur - 0.7) < 1e-12 && s.image.rotate == full.image.rotate);
    ck_assert(ct_program_small_side(0.5, 1) == 1 && ct_program_small_side(0.5, 25) == 13);
    ct_config_free(cfg);
}
END_TEST

START_TEST(precisions)
{
    ct_config *cfg;
    ct_program_spec s;
    ok(spec_of("train: {precision: bf16}\n", &cfg, &s));
    ck_assert(s.compute == CT_BF16 && s.model.dtype == CT_F32 && s.optim.dynamic == 0);
    ck_assert_str_eq(ct_spec_precision_name(&s), "bf16");
    ct_config_free(cfg);
    ok(spec_of("train: {precision: fp16, loss_scale: 4096, loss_scale_growth: 50}\n", &cfg, &s));
    ck_assert(s.compute == CT_F16 && s.optim.dynamic == 1 && s.loss_scale == 4096 && s.optim.growth_interval == 50);
    double state[CT_STATE_COUNT];
    ct_program_initial_state(&s, state);
    ck_assert(state[CT_STATE_LOSS_SCALE] == 4096 && state[CT_STATE_CLIP_COEF] == 1 && state[CT_STATE_STEP] == 0);
    ct_config_free(cfg);
    ok(spec_of("train: {precision: f64}\n", &cfg, &s));
    ck_assert(s.compute == CT_F64 && s.model.dtype == CT_F64);
    ct_config_free(cfg);
    ok(spec_of("train: {precision: tf32}\n", &cfg, &s));
    ck_assert(s.compute == CT_F32 && s.tf32);
    ck_assert_str_eq(ct_spec_precision_name(&s), "tf32");
    ct_config_free(cfg);
}
END_TEST

START_TEST(recompute_choices)
{
    ct_config *cfg;
    ct_program_spec s;
    ct_program p;
    ct_layout l;
    const ct_device_opts opts = { .threads = 1 };
    ok(spec_of("train: {recompute: all}\n", &cfg, &s));
    ck_assert_int_eq(s.recompute, 0);
    ct_config_free(cfg);
    ok(spec_of("model: {name: textcnn-small}\ntrain: {recompute: auto, batch_size: 4}\n", &cfg, &s));
    ck_assert_int_eq(s.recompute, CT_RECOMPUTE_AUTO);
    says(ct_program_build(&s, CT_PROGRAM_STEP, NULL, &l, &p), CT_EINVAL, "has not been decided");
    ok(ct_spec_settle(&s, &ct_backend_cpu, &opts));
    ck_assert_int_eq(s.recompute, -1); /* four images fit anywhere */
    s.recompute = CT_RECOMPUTE_AUTO;
    s.batch = CT_MAX_BATCH;
    int64_t peak;
    uint64_t memory;
    ok(ct_spec_settle(&s, &ct_backend_cpu, &opts));
    ct_program_spec off = s;
    off.recompute = -1;
    ok(ct_spec_peak(&off, &ct_backend_cpu, &opts, &peak, &memory));
    ck_assert_int_eq(s.recompute, (double)peak <= 0.9 * (double)memory ? -1 : 0);
    ct_config_free(cfg);
}
END_TEST

/* On a card with memory of its own nothing is computed again that fits; where it does not, batch norms are, then, if asked, blocks. The
 * CPU keeps as much of what batch norms give as takes a ninth of its memory: that is everybody's. */
#define SHARE (-1)
START_TEST(norms_again)
{
    ct_program_spec s;
    ct_device_opts opts = { .threads = 1 };
    const ct_backend *cuda;
    char path[4200];
    snprintf(path, sizeof path, "%s/tests/emulate/.libs", ct_check_builddir());
    setenv("CAPTRAIN_BACKEND_PATH", path, 1);
    ok(ct_backend_load("cuda", &cuda)); /* 4 GiB */
    const ct_backend *const cpu = &ct_backend_cpu;
    const struct { const ct_backend *b; const char *model; int64_t batch; int recompute; int64_t kept; int want; } row[] = {
        { cuda, "textcnn", 16, -1, CT_NORMS_ALL, -1 },
        { cuda, "textcnn", 16, CT_RECOMPUTE_AUTO, CT_NORMS_ALL, -1 },
        { cuda, "textcnn", 680, -1, 0, -1 },
        { cuda, "textcnn", 680, CT_RECOMPUTE_AUTO, 0, -1 },
        { cuda, "textcnn", 4000, -1, 0, -1 },
        { cuda, "textcnn", 4000, CT_RECOMPUTE_AUTO, 0, 0 },
        { cuda, "textcnn", 16, 0, 0, 0 },
        { cpu, "crnn", 32, -1, CT_NORMS_ALL, -1 }, /* all of them are less than that */
        { cpu, "crnn", 32, CT_RECOMPUTE_AUTO, CT_NORMS_ALL, -1 },
        { cpu, "resnet18", 8, -1, SHARE, -1 },
        { cpu, "resnet18", 8, CT_RECOMPUTE_AUTO, SHARE, -1 },
        { cpu, "textcnn", 2, 0, 0, 0 },
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        ok(ct_spec_from_model(row[i].model, row[i].batch, NULL, &s));
        s.recompute = row[i].recompute;
        ok(ct_spec_settle(&s, row[i].b, &opts));
        int64_t kept = row[i].kept, least, peak;
        if (row[i].b == cpu && row[i].recompute) { /* and no more is added to the peak than that */
            ct_program_spec none = s;
            none.norms_kept = 0;
            ok(ct_spec_peak(&none, cpu, &opts, &least, NULL));
            ok(ct_spec_peak(&s, cpu, &opts, &peak, NULL));
            ck_assert_int_gt(peak, least);
            ck_assert_int_le(peak, least + least / 9);
            if (kept == SHARE) kept = least / 9;
        }
        ck_assert_msg(s.norms_kept == kept && s.recompute == row[i].want, "row %zu: kept %" PRId64 ", recompute %d", i, s.norms_kept, s.recompute);
    }
}
END_TEST

START_TEST(models_by_name)
{
    ct_program_spec s;
    ok(ct_spec_from_model("resnet50", 0, NULL, &s));
    ck_assert(s.batch == 64 && s.model.classes == 1000 && s.compute == CT_F32 && s.src_h == 0);
    ok(ct_spec_from_model("textcnn", 8, "fp16", &s));
    ck_assert(s.batch == 8 && s.compute == CT_F16 && s.optim.dynamic == 1 && s.loss_scale > 1);
    says(ct_spec_from_model("textcnn", 8, "fp8", &s), CT_ECONFIG, "'fp8' is none of");
    ok(ct_spec_from_model("textcnn", 8, "tf32", &s));
    ck_assert(s.compute == CT_F32 && s.tf32);
    says(ct_spec_from_model("textcnn", -1, NULL, &s), CT_ECONFIG, "batch: must be between 1 and 65536");
    says(ct_spec_from_model("vgg", 8, NULL, &s), CT_ECONFIG, "there is no model 'vgg'");
}
END_TEST

START_TEST(too_small)
{
    ct_config *cfg;
    ct_program_spec s;
    /* every configuration is at least 8 pixels high: only the caller's own numbers can be smaller */
    ok(spec_of("data: {height: 8}\nmodel: {name: textcnn-small}\n", &cfg, &s));
    cfg->data.height = 4;
    says(specify(cfg, &s), CT_ECONFIG, "the image is too small");
    says(ct_spec_from_config(cfg, NULL, 0, 160, 0, 100, &s), CT_EINVAL, "specification of 0x160 pixels");
    /* keys that would do nothing */
    ct_config *useless;
    says(spec_of("model: {classes: 35}\n", &useless, &s), CT_ECONFIG, "model.classes: is 35, but the charset has 36");
    ct_config_free(useless);
    says(spec_of("model: {name: resnet18, hidden: 8}\n", &useless, &s), CT_ECONFIG,
         "model.hidden: resnet18 has no hidden");
    ct_config_free(useless);
    says(spec_of("model: {name: resnet18, fuse: add}\n", &useless, &s), CT_ECONFIG, "model.fuse: resnet18 has no neck");
    ct_config_free(useless);
    says(spec_of("model: {name: resnet18, dropout: 0.1}\n", &useless, &s), CT_ECONFIG,
         "model.dropout: resnet18 has no");
    ct_config_free(useless);
    ok(spec_of("model: {name: resnet18, classes: 36, dropout: 0}\n", &useless, &s));
    ct_config_free(useless);
    ct_config_free(cfg);
}
END_TEST

/* Models with time steps: the blank, the loss, the widest image. */
START_TEST(text_of_any_length)
{
    ct_config *cfg;
    ct_program_spec s;
    ok(spec_of("model: {name: crnn-small}\ndata: {size_rule: fit_height, height: 60, width: 320}\n", &cfg, &s));
    ck_assert(s.goal.loss == CT_TEXT_CTC && s.model.classes == 37 && s.model.positions == 4);
    ck_assert(s.model.width == 160 && s.src_w == 160); /* what the loader gives, not the most there might be */
    ct_config_free(cfg);
    ok(spec_of("model: {name: crnn-small}\nloss: {name: ctc}\n", &cfg, &s));
    ck_assert(s.goal.loss == CT_TEXT_CTC && strcmp(s.goal.task->loss_name(&s.goal), "ctc") == 0);
    ct_config_free(cfg);
    ok(spec_of("loss: {name: auto}\n", &cfg, &s));
    ck_assert(s.goal.loss == CT_TEXT_SOFTMAX && s.model.classes == 36);
    ct_config_free(cfg);
    says(spec_of("model: {name: crnn-small}\nloss: {name: softmax}\n", &cfg, &s), CT_ECONFIG,
         "loss.name: softmax does not suit model.name: crnn-small, which needs ctc");
    ct_config_free(cfg);
    says(spec_of("loss: {name: ctc}\n", &cfg, &s), CT_ECONFIG, "loss.name: ctc does not suit model.name: textcnn");
    ct_config_free(cfg);
    says(spec_of("data: {size_rule: fit_height}\n", &cfg, &s), CT_ECONFIG,
         "data.size_rule: fit_height gives images of several widths, model.name: textcnn reads one");
    ct_config_free(cfg);
    ok(spec_of("model: {name: crnn-small}\nloss: {label_smoothing: 0.1}\n", &cfg, &s));
    ck_assert(attributes(&s, CT_PROGRAM_STEP, CT_OP_CTC_LOSS).loss.smoothing == 0.1);
    ck_assert(attributes(&s, CT_PROGRAM_STEP, CT_OP_CTC_LOSS_BWD).loss.smoothing == 0.1);
    ct_config_free(cfg);
    says(spec_of("model: {name: crnn}\n", &cfg, &s), CT_ECONFIG, "must be 32 to 47 pixels");
    ct_config_free(cfg);
    says(spec_of("model: {name: crnn, dropout: 0.1}\ndata: {height: 32}\n", &cfg, &s), CT_ECONFIG,
         "model.dropout: crnn has no");
    ct_config_free(cfg);
    ok(ct_spec_from_model("crnn", 32, NULL, &s));
    ck_assert(s.goal.loss == CT_TEXT_CTC && s.model.height == 32 && s.model.width == 100 && s.model.classes == 37 &&
              s.model.positions == 8);
}
END_TEST

static int64_t wants_eight(const ct_device_opts *opts, ct_dtype type)
{
    return type == CT_BF16 && opts->index == 1 ? 8 : 1;
}

/* The device says how many channels it wants, for the type that the run computes in. */
START_TEST(channels_of_the_device)
{
    ct_program_spec s;
    ct_backend b = ct_backend_cpu;
    const ct_device_opts first = { .index = 0 }, second = { .index = 1 };
    ok(ct_spec_from_model("textcnn", 4, "bf16", &s));
    ct_spec_fit_device(&s, &b, &second);
    ck_assert_int_eq(s.channel_multiple, 1);
    b.channel_multiple = wants_eight;
    ct_spec_fit_device(&s, &b, &second);
    ck_assert_int_eq(s.channel_multiple, 8);
    ct_spec_fit_device(&s, &b, &first);
    ck_assert_int_eq(s.channel_multiple, 1);
    ok(ct_spec_from_model("textcnn", 4, "fp32", &s));
    ct_spec_fit_device(&s, &b, &second);
    ck_assert_int_eq(s.channel_multiple, 1);
}
END_TEST

TCase *spec_case(void)
{
    TCase *c = tcase_create("spec");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, plain_values);
    tcase_add_test(c, crop_and_flip);
    tcase_add_test(c, learning_rate_rules);
    tcase_add_test(c, schedules_in_steps);
    tcase_add_test(c, smaller_at_first);
    tcase_add_test(c, precisions);
    tcase_add_test(c, recompute_choices);
    tcase_add_test(c, norms_again);
    tcase_add_test(c, models_by_name);
    tcase_add_test(c, too_small);
    tcase_add_test(c, text_of_any_length);
    tcase_add_test(c, channels_of_the_device);
    return c;
}
