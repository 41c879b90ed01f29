/* Keys against each other. */
#include <config.h> /* the one of configure: in quotes it would be this room's */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "config/config.h"
#include "config/internal.h"

/* A key that was changed from its default but has no effect in this combination. */
static void unused(ct_config *cfg, const ct_config *defaults, ct_problems *p, const char *key, const char *why)
{
    const ct_config_row *row = ct_config_find_row(key);
    if (!row || !ct_config_origin(cfg, key)) return;
    if (row->cls == CT_CLASS_KEY && /* others have no field */
        ct_value_equal_field(row, ct_config_field(cfg, row), ct_config_field(defaults, row)))
        return;
    if (ct_config_add_note(cfg, "%s: %s has no effect: %s", ct_config_place(cfg, key, NULL), key, why) != CT_OK)
        p->fatal = CT_ENOMEM;
}

static void check_amp(ct_config *cfg, ct_problems *p)
{
    static const ct_cfg_precision meaning[] = { CT_CFG_PRECISION_FP32, CT_CFG_PRECISION_BF16, CT_CFG_PRECISION_BF16,
                                                CT_CFG_PRECISION_FP16, CT_CFG_PRECISION_TF32 };
    static const char *const names[] = { "fp32", "bf16", "bf16", "fp16", "tf32" };
    const char *amp = ct_config_origin(cfg, "train.amp"), *precision = ct_config_origin(cfg, "train.precision");
    char *set;
    if (!amp) return;
    if (!precision) {
        cfg->train.precision = meaning[cfg->info->amp];
    } else if (cfg->train.precision != meaning[cfg->info->amp]) {
        if (!(set = ct_config_value(cfg, "train.precision"))) {
            p->fatal = CT_ENOMEM;
            return;
        }
        ct_problem(p, amp, "train.amp means train.precision: %s, but %s says train.precision: %s; give one of the two",
                   names[cfg->info->amp], precision, set);
        ct_free(set);
    }
}

static bool is_generator(const char *source) { return strncmp(source, "synth:", 6) == 0; }

bool ct_config_generated(const ct_config *cfg) { return is_generator(cfg->data.train); }

/* What may stand in data.train beside a path may stand in the other sources, too. */
static void check_source(const ct_config *cfg, ct_problems *p, const char *key, const char *value)
{
    const ct_config_row *row = ct_config_find_row("data.train");
    char q[CT_CONFIG_QUOTE + 4], name[48], known[256] = "";
    if (!is_generator(value)) return;
    for (int i = 0; ct_config_value_name(row, i, name, sizeof name); i++) {
        if (strcmp(value, name) == 0) return;
        const size_t at = strlen(known);
        snprintf(known + at, sizeof known - at, "%s%s", i ? ", " : "", name);
    }
    ct_problem(p, ct_config_place(cfg, key, NULL), "%s: no generator '%s'; there is %s", key,
               ct_config_quote(value, q), known);
}

static bool without_validation(const ct_config *cfg)
{
    if (cfg->data.val[0] != '\0') return false;
    return ct_config_generated(cfg) ? cfg->data.synth.val_count == 0 : cfg->data.val_fraction == 0;
}

static bool has_cosine(const ct_cfg_schedule_keys *s)
{
    return s->name == CT_CFG_SCHED_COSINE || s->name == CT_CFG_SCHED_WARMUP_COSINE ||
           s->name == CT_CFG_SCHED_WARM_RESTARTS;
}

/* What is cut out of an image lies within it, and images all have one size and nothing but picture in them. */
static void check_crop(const ct_config *cfg, ct_problems *p)
{
    const ct_cfg_data *d = &cfg->data;
    const bool low = d->height < d->width;
    if (d->crop == 0) return;
    if (d->crop > d->height || d->crop > d->width)
        ct_problem(p, ct_config_place(cfg, "data.crop", low ? "data.height" : "data.width"),
                   "data.crop is %lld but %s is %lld", (long long)d->crop, low ? "data.height" : "data.width",
                   (long long)(low ? d->height : d->width));
    if (d->size_rule == CT_CFG_SIZE_FIT_HEIGHT || d->size_rule == CT_CFG_SIZE_LETTERBOX)
        ct_problem(p, ct_config_place(cfg, "data.crop", "data.size_rule"),
                   "data.crop: data.size_rule: %s pads images, and part of one may be nothing but padding; resize or "
                   "refuse",
                   d->size_rule == CT_CFG_SIZE_LETTERBOX ? "letterbox" : "fit_height");
}

static void check_data(const ct_config *cfg, ct_problems *p)
{
    const ct_cfg_data *d = &cfg->data;

    check_crop(cfg, p);
    check_source(cfg, p, "data.train", d->train);
    check_source(cfg, p, "data.val", d->val);
    check_source(cfg, p, "data.test", d->test);
    if (d->size_rule == CT_CFG_SIZE_FIT_HEIGHT && d->min_width > d->width)
        ct_problem(p, ct_config_place(cfg, "data.min_width", "data.width"),
                   "data.min_width is %lld but data.width is %lld", (long long)d->min_width, (long long)d->width);
    if (d->channels == 2 || d->channels == 4)
        ct_problem(p, ct_config_place(cfg, "data.channels", "model.input_channels"),
                   "data.channels: must be 1 or 3 (got %d)", (int)d->channels);
    if (d->mean.n != 1 && (int64_t)d->mean.n != d->channels)
        ct_problem(p, ct_config_place(cfg, "data.mean", "data.channels"),
                   "data.mean has %zu numbers, data.channels is %lld; give one, or one per channel", d->mean.n,
                   (long long)d->channels);
    if (d->std.n != 1 && (int64_t)d->std.n != d->channels)
        ct_problem(p, ct_config_place(cfg, "data.std", "data.channels"),
                   "data.std has %zu numbers, data.channels is %lld; give one, or one per channel", d->std.n,
                   (long long)d->channels);
}

/* Parts are added in pairs, and each is a micro-step already. */
static void check_parts(const ct_config *cfg, ct_problems *p)
{
    const int64_t parts = cfg->train.parts, batch = cfg->train.batch_size;
    const bool power = (parts & (parts - 1)) == 0;
    if (!power)
        ct_problem(p, ct_config_place(cfg, "train.parts", NULL), "train.parts: must be a power of two (got %lld)",
                   (long long)parts);
    if (parts > 0 && !cfg->train.deterministic)
        ct_problem(p, ct_config_place(cfg, "train.deterministic", "train.parts"),
                   "train.parts gives the same bits for any number of processes, and they have not the same number of "
                   "threads: it needs train.deterministic");
    if (parts > 0 && cfg->train.sync_norm)
        ct_problem(p, ct_config_place(cfg, "train.sync_norm", "train.parts"),
                   "train.sync_norm: parts of train.parts are computed one after another, and cannot wait for each "
                   "other's statistics");
    if (parts > 0 && cfg->train.accumulate > 1)
        ct_problem(p, ct_config_place(cfg, "train.parts", "train.accumulate"),
                   "train.parts computes a batch part by part already: make train.batch_size %lld times as large in "
                   "place of train.accumulate", (long long)cfg->train.accumulate);
    if (parts > 0 && power && batch % parts != 0)
        ct_problem(p, ct_config_place(cfg, "train.batch_size", "train.parts"),
                   "train.batch_size: %lld samples cannot be cut into %lld equal parts; %lld can", (long long)batch,
                   (long long)parts, (long long)((batch / parts + 1) * parts));
}

static void check_progressive(const ct_config *cfg, ct_problems *p)
{
    const ct_cfg_progressive *k = &cfg->train.progressive;
    if (k->epochs > 0 && k->width == 1 && k->height == 1)
        ct_problem(p, ct_config_place(cfg, "train.progressive.width", "train.progressive.epochs"),
                   "train.progressive: width and height are both 1: the pictures of the first epochs would be as large "
                   "as all others");
    if (cfg->train.steps == 0 && k->epochs > (double)cfg->train.epochs)
        ct_problem(p, ct_config_place(cfg, "train.progressive.epochs", "train.epochs"),
                   "train.progressive.epochs is more than train.epochs (%lld)", (long long)cfg->train.epochs);
}

static void check_training(const ct_config *cfg, ct_problems *p)
{
    const ct_cfg_optimizer_keys *o = &cfg->optimizer;
    const ct_cfg_schedule_keys *s = &cfg->schedule;
    const bool sgd = o->name == CT_CFG_OPT_SGD;
    const ct_cfg_loss loss = cfg->loss.name;
    const bool smooths = loss == CT_CFG_LOSS_SOFTMAX || loss == CT_CFG_LOSS_CTC || loss == CT_CFG_LOSS_AUTO;
    bool generated = ct_config_generated(cfg);

    if (has_cosine(s) && s->min_lr > o->lr) {
        char a[32], b[32];
        ct_problem(p, ct_config_place(cfg, "schedule.min_lr", "optimizer.lr"),
                   "schedule.min_lr (%s) is above optimizer.lr (%s)", ct_format_double(s->min_lr, a),
                   ct_format_double(o->lr, b));
    }
    if (s->name == CT_CFG_SCHED_WARMUP_COSINE && cfg->train.steps == 0 && s->warmup_epochs > (double)cfg->train.epochs)
        ct_problem(p, ct_config_place(cfg, "schedule.warmup_epochs", "train.epochs"),
                   "schedule.warmup_epochs is more than train.epochs (%lld)", (long long)cfg->train.epochs);
    for (size_t i = 1; i < s->milestones.n; i++)
        if (s->milestones.v[i] <= s->milestones.v[i - 1]) {
            ct_problem(p, ct_config_place(cfg, "schedule.milestones", NULL),
                       "schedule.milestones must rise (%lld follows %lld)", (long long)s->milestones.v[i],
                       (long long)s->milestones.v[i - 1]);
            break;
        }
    if (s->t_mult != floor(s->t_mult)) {
        char a[32];
        ct_problem(p, ct_config_place(cfg, "schedule.t_mult", NULL), "schedule.t_mult: must be a whole number (got %s)",
                   ct_format_double(s->t_mult, a));
    }
    if (s->name == CT_CFG_SCHED_MULTISTEP && s->milestones.n == 0)
        ct_problem(p, ct_config_place(cfg, "schedule.name", NULL),
                   "schedule.name: multistep needs schedule.milestones");
    check_parts(cfg, p);
    check_progressive(cfg, p);
    if (cfg->train.sync_norm && cfg->train.recompute != CT_CFG_RECOMPUTE_NONE)
        ct_problem(p, ct_config_place(cfg, "train.sync_norm", "train.recompute"),
                   "train.sync_norm: statistics of a group cannot be computed again: it wants train.recompute none");
    if (sgd && o->nesterov && o->momentum == 0)
        ct_problem(p, ct_config_place(cfg, "optimizer.nesterov", "optimizer.momentum"),
                   "optimizer.nesterov needs optimizer.momentum above 0");
    if (cfg->loss.label_smoothing > 0 && !smooths)
        ct_problem(p, ct_config_place(cfg, "loss.label_smoothing", "loss.name"),
                   "loss.label_smoothing is defined for loss.name: softmax and ctc only");
    if (*cfg->train.target && without_validation(cfg))
        ct_problem(p, ct_config_place(cfg, "train.target", NULL),
                   "train.target needs validation data: data.val, %s above 0",
                   generated ? "or data.synth.val_count" : "or data.val_fraction");
    if (cfg->early_stopping.enabled && without_validation(cfg))
        ct_problem(p, ct_config_place(cfg, "early_stopping.enabled", "early_stopping.patience"),
                   "early_stopping needs validation data: data.val, %s above 0",
                   generated ? "or data.synth.val_count" : "or data.val_fraction");
}

/* Keys without effect are told, not refused: the resolved configuration has all of them. */
static void note_unused(ct_config *cfg, const ct_config *defaults, ct_problems *p)
{
    const ct_cfg_schedule_keys *s = &cfg->schedule;
    bool sgd = cfg->optimizer.name == CT_CFG_OPT_SGD, fp16 = cfg->train.precision == CT_CFG_PRECISION_FP16;
    bool multistep = s->name == CT_CFG_SCHED_MULTISTEP, restarts = s->name == CT_CFG_SCHED_WARM_RESTARTS;
    const bool cycle = s->name == CT_CFG_SCHED_ONE_CYCLE || s->name == CT_CFG_SCHED_TRIANGULAR;
    bool fit = cfg->data.size_rule == CT_CFG_SIZE_FIT_HEIGHT;
    const bool whole = cfg->train.progressive.epochs == 0;
    const struct { bool is_unused; const char *key, *why; } rule[] = {
        { cfg->data.val[0] != '\0', "data.val_fraction", "data.val is given" },
        { cfg->data.val[0] == '\0' && ct_config_generated(cfg), "data.val_fraction",
          "data.synth.val_count images are generated" },
        { !ct_config_generated(cfg), "data.synth.fresh", "data.train is no generator" },
        { !fit, "data.width_step", "data.size_rule is not fit_height" },
        { !fit, "data.min_width", "data.size_rule is not fit_height" },
        { !sgd, "optimizer.momentum", "optimizer.name is not sgd" },
        { !sgd, "optimizer.nesterov", "optimizer.name is not sgd" },
        { sgd, "optimizer.betas", "optimizer.name is sgd" },
        { sgd, "optimizer.eps", "optimizer.name is sgd" },
        { s->name != CT_CFG_SCHED_WARMUP_COSINE, "schedule.warmup_epochs",
          "only schedule.name: warmup_cosine warms up" },
        { !has_cosine(s), "schedule.min_lr", "schedule.name is not a cosine" },
        { !multistep, "schedule.milestones", "schedule.name is not multistep" },
        { !multistep, "schedule.gamma", "schedule.name is not multistep" },
        { !restarts, "schedule.t0", "schedule.name is not warm_restarts" },
        { !restarts, "schedule.t_mult", "schedule.name is not warm_restarts" },
        { !cycle, "schedule.pct_start", "schedule.name is neither one_cycle nor triangular" },
        { !cycle, "schedule.div_factor", "schedule.name is neither one_cycle nor triangular" },
        { !cycle, "schedule.final_div_factor", "schedule.name is neither one_cycle nor triangular" },
        { s->lr_rule == CT_CFG_LR_NONE, "schedule.reference_batch", "schedule.lr_rule is none" },
        { whole, "train.progressive.width", "train.progressive.epochs is 0" },
        { whole, "train.progressive.height", "train.progressive.epochs is 0" },
        { !fp16, "train.loss_scale", "train.precision is not fp16" },
        { !fp16, "train.loss_scale_growth", "train.precision is not fp16" },
        { cfg->train.nan_policy == CT_CFG_NAN_STOP, "train.nan_limit", "train.nan_policy is stop" },
        { without_validation(cfg), "eval.select_by", "there is no validation data" },
        { without_validation(cfg), "eval.every_steps", "there is no validation data" },
    };
    for (size_t i = 0; i < sizeof rule / sizeof rule[0]; i++)
        if (rule[i].is_unused) unused(cfg, defaults, p, rule[i].key, rule[i].why);
    for (size_t i = 0; cfg->optimizer.name != CT_CFG_OPT_MUON && ct_config_row_at(i); i++)
        if (strncmp(ct_config_row_at(i)->name, "optimizer.muon.", 15) == 0)
            unused(cfg, defaults, p, ct_config_row_at(i)->name, "optimizer.name is not muon");
}

void ct_config_finish(ct_config *cfg, ct_problems *p)
{
    struct ct_config_info *info = cfg->info;
    ct_config *defaults;
    while (info->notes > info->read_notes) ct_free(info->note[--info->notes]);
    if (p->fatal != CT_OK) return;
    check_amp(cfg, p);
    if (!ct_config_origin(cfg, "early_stopping.enabled") && ct_config_origin(cfg, "early_stopping.patience"))
        cfg->early_stopping.enabled = true;
    ct_config_check_slider(cfg, p); /* what follows from a model comes first */
    ct_config_check_gloss(cfg, p);
    check_data(cfg, p);
    ct_config_check_text(cfg, p); /* the checks of other tasks: a line each */
    check_training(cfg, p);
    if (ct_config_new(&defaults) != CT_OK) {
        p->fatal = CT_ENOMEM;
        return;
    }
    note_unused(cfg, defaults, p);
    ct_config_note_slider(cfg, defaults, p, unused);
    ct_config_note_gloss(cfg, defaults, p, unused);
    ct_config_free(defaults);
}
