/* Making, loading, checking and releasing configurations. */
#include <config.h> /* the one of configure: in quotes it would be this room's */

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "config/config.h"
#include "config/internal.h"

/* ---- life ---- */

void ct_config_free(ct_config *cfg)
{
    size_t n;
    if (!cfg) return;
    const ct_config_row *rows = ct_config_rows(&n);
    for (size_t i = 0; i < n; i++)
        if (rows[i].cls == CT_CLASS_KEY) ct_value_free_field(&rows[i], ct_config_field(cfg, &rows[i]));
    if (cfg->info) {
        for (size_t i = 0; cfg->info->origin && i < n; i++) ct_free(cfg->info->origin[i]);
        for (size_t i = 0; i < cfg->info->notes; i++) ct_free(cfg->info->note[i]);
        ct_free(cfg->info->origin);
        ct_free(cfg->info->layer);
        ct_free(cfg->info->note);
        ct_free(cfg->info);
    }
    ct_free(cfg);
}

/* No key has a value yet. */
static ct_status new_empty(ct_config **out)
{
    size_t n;
    ct_config *cfg = NULL;
    (void)ct_config_rows(&n);
    *out = NULL;
    if (!(cfg = ct_calloc(1, sizeof *cfg, "configuration"))) goto fail;
    if (!(cfg->info = ct_calloc(1, sizeof *cfg->info, "configuration"))) goto fail;
    if (!(cfg->info->origin = ct_calloc(n, sizeof *cfg->info->origin, "configuration"))) goto fail;
    if (!(cfg->info->layer = ct_calloc(n, sizeof *cfg->info->layer, "configuration"))) goto fail;
    *out = cfg;
    return CT_OK;
fail:
    ct_config_free(cfg);
    return CT_ENOMEM;
}

ct_status ct_config_new(ct_config **out)
{
    size_t n;
    const ct_config_row *rows = ct_config_rows(&n);
    ct_config *cfg;
    ct_problems p = { 0 };
    ct_status st = CT_OK;
    *out = NULL;
    CT_TRY(new_empty(&cfg));
    for (size_t i = 0; i < n && p.fatal == CT_OK; i++) {
        if (rows[i].cls != CT_CLASS_KEY) continue;
        ct_config_read_pair(cfg, rows[i].name, rows[i].def, "default", 0, &p);
        ct_free(cfg->info->origin[i]);
        cfg->info->origin[i] = NULL;
    }
    st = ct_problems_report(&p);
    if (st != CT_OK) {
        ct_config_free(cfg);
        /* A default that is outside its own range is a mistake in the table. */
        return st == CT_ECONFIG ? ct_fail_context(CT_EINTERNAL, "configuration table") : st;
    }
    *out = cfg;
    return CT_OK;
}

static ct_status clone(const ct_config *cfg, ct_config **out)
{
    size_t n;
    const ct_config_row *rows = ct_config_rows(&n);
    ct_config *c;
    ct_status st = CT_OK;
    CT_TRY(new_empty(&c));
    for (size_t i = 0; i < n; i++) {
        if (rows[i].cls == CT_CLASS_KEY)
            CT_GOTO(st, ct_value_copy_field(&rows[i], ct_config_field(c, &rows[i]), ct_config_field(cfg, &rows[i])));
        c->info->layer[i] = cfg->info->layer[i];
        if (cfg->info->origin[i] && !(c->info->origin[i] = ct_strdup(cfg->info->origin[i], "configuration"))) {
            st = CT_ENOMEM;
            goto fail;
        }
    }
    c->info->amp = cfg->info->amp;
    for (size_t i = 0; i < cfg->info->read_notes; i++) CT_GOTO(st, ct_config_add_note(c, "%s", cfg->info->note[i]));
    c->info->read_notes = c->info->notes;
    *out = c;
    return CT_OK;
fail:
    ct_config_free(c);
    *out = NULL;
    return st;
}

/* ---- notes ---- */

ct_status ct_config_add_note(ct_config *cfg, const char *fmt, ...)
{
    va_list ap;
    char text[512];
    struct ct_config_info *info = cfg->info;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    CT_TRY(ct_grow(&info->note, info->notes, &info->note_cap, sizeof *info->note, "configuration notes"));
    if (!(info->note[info->notes] = ct_strdup(text, "configuration note"))) return CT_ENOMEM;
    info->notes++;
    return CT_OK;
}

size_t ct_config_note_count(const ct_config *cfg)
{
    return cfg->info->notes;
}

const char *ct_config_note(const ct_config *cfg, size_t i)
{
    return i < cfg->info->notes ? cfg->info->note[i] : "";
}

void ct_config_log_notes(const ct_config *cfg)
{
    for (size_t i = 0; i < cfg->info->notes; i++) ct_info("note: %s", cfg->info->note[i]);
}

bool ct_config_is_set(const ct_config *cfg, const char *key)
{
    const ct_config_row *row = ct_config_find_row(key);
    return row && row->cls != CT_CLASS_NOTED && cfg->info->origin[ct_config_row_index(row)] != NULL;
}

/* ---- keys against each other ---- */

static const char *origin_of(const ct_config *cfg, const char *key)
{
    const ct_config_row *row = ct_config_find_row(key);
    return row ? cfg->info->origin[ct_config_row_index(row)] : NULL;
}

/* The place to blame: where `key`, or else `other`, was given. */
static const char *place(const ct_config *cfg, const char *key, const char *other)
{
    const char *o = origin_of(cfg, key);
    if (!o && other) o = origin_of(cfg, other);
    return o ? o : "configuration";
}

/* A key that was changed from its default but has no effect in this combination. */
static void unused(ct_config *cfg, const ct_config *defaults, ct_problems *p, const char *key, const char *why)
{
    const ct_config_row *row = ct_config_find_row(key);
    if (!row || !origin_of(cfg, key) ||
        ct_value_equal_field(row, ct_config_field(cfg, row), ct_config_field(defaults, row)))
        return;
    if (ct_config_add_note(cfg, "%s: %s has no effect: %s", place(cfg, key, NULL), key, why) != CT_OK)
        p->fatal = CT_ENOMEM;
}

static void check_amp(ct_config *cfg, ct_problems *p)
{
    static const ct_cfg_precision meaning[] = { CT_CFG_PRECISION_FP32, CT_CFG_PRECISION_BF16, CT_CFG_PRECISION_BF16,
                                                CT_CFG_PRECISION_FP16, CT_CFG_PRECISION_TF32 };
    static const char *const names[] = { "fp32", "bf16", "bf16", "fp16", "tf32" };
    const char *amp = origin_of(cfg, "train.amp"), *precision = origin_of(cfg, "train.precision");
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

static void check_source(ct_config *cfg, ct_problems *p, const char *key, const char *value)
{
    char q[CT_CONFIG_QUOTE + 4];
    if (strncmp(value, "synth:", 6) == 0 && strcmp(value, "synth:text") != 0)
        ct_problem(p, place(cfg, key, NULL), "%s: no generator '%s'; there is synth:text", key,
                   ct_config_quote(value, q));
}

static bool generated_data(const ct_config *cfg)
{
    return strcmp(cfg->data.train, "synth:text") == 0;
}

static bool without_validation(const ct_config *cfg)
{
    if (cfg->data.val[0] != '\0') return false;
    return generated_data(cfg) ? cfg->data.synth.val_count == 0 : cfg->data.val_fraction == 0;
}

static bool has_cosine(const ct_cfg_schedule_keys *s)
{
    return s->name == CT_CFG_SCHED_COSINE || s->name == CT_CFG_SCHED_WARMUP_COSINE ||
           s->name == CT_CFG_SCHED_WARM_RESTARTS;
}

static void check_data(ct_config *cfg, ct_problems *p)
{
    ct_cfg_data *d = &cfg->data;
    bool synth = generated_data(cfg);
    long dup = -1, n = ct_config_utf8_count(d->charset, &dup);
    const char *at = place(cfg, "data.charset", NULL);

    check_source(cfg, p, "data.train", d->train);
    check_source(cfg, p, "data.val", d->val);
    check_source(cfg, p, "data.test", d->test);
    if (n < 0)
        ct_problem(p, at, "data.charset is not valid UTF-8");
    else if (n == 1)
        ct_problem(p, at, "data.charset has only one character");
    else if (dup >= 0) {
        int len = 1;
        while (((unsigned char)d->charset[dup + len] & 0xC0) == 0x80) len++;
        ct_problem(p, at, "data.charset has '%.*s' twice", len, d->charset + dup);
    }
    for (const char *c = d->charset; *c; c++)
        if ((d->letter_case == CT_CFG_CASE_UPPER && *c >= 'a' && *c <= 'z') ||
            (d->letter_case == CT_CFG_CASE_LOWER && *c >= 'A' && *c <= 'Z')) {
            ct_problem(p, at, "data.charset has '%c', which data.letter_case: %s folds away", *c,
                       d->letter_case == CT_CFG_CASE_UPPER ? "upper" : "lower");
            break;
        }
    if (strlen(d->label_separator) > CT_CONFIG_SEPARATOR_BYTES)
        ct_problem(p, place(cfg, "data.label_separator", NULL), "data.label_separator: longer than %d bytes",
                   CT_CONFIG_SEPARATOR_BYTES);
    int64_t least = d->synth.length_min > 0 ? d->synth.length_min : d->synth.length;
    int64_t most = d->synth.length_max > 0 ? d->synth.length_max : d->synth.length;
    if (least > most)
        ct_problem(p, place(cfg, "data.synth.length_min", "data.synth.length_max"),
                   "data.synth.length_min is %lld, above %s, which is %lld", (long long)least,
                   d->synth.length_max > 0 ? "data.synth.length_max" : "data.synth.length", (long long)most);
    else if (synth && d->length > 0 && d->length < most) /* more may be meant: the most that a CTC model reads */
        ct_problem(p, place(cfg, "data.length", least == most ? "data.synth.length" : "data.synth.length_max"),
                   "data.length is %lld but generated labels have %s%lld characters", (long long)d->length,
                   least == most ? "" : "up to ", (long long)most);
    if (d->size_rule == CT_CFG_SIZE_FIT_HEIGHT && d->min_width > d->width)
        ct_problem(p, place(cfg, "data.min_width", "data.width"), "data.min_width is %lld but data.width is %lld",
                   (long long)d->min_width, (long long)d->width);
    if (d->channels == 2)
        ct_problem(p, place(cfg, "data.channels", NULL), "data.channels: must be 1 or 3 (got 2)");
    if (d->mean.n != 1 && (int64_t)d->mean.n != d->channels)
        ct_problem(p, place(cfg, "data.mean", "data.channels"),
                   "data.mean has %zu numbers, data.channels is %lld; give one, or one per channel", d->mean.n,
                   (long long)d->channels);
    if (d->std.n != 1 && (int64_t)d->std.n != d->channels)
        ct_problem(p, place(cfg, "data.std", "data.channels"),
                   "data.std has %zu numbers, data.channels is %lld; give one, or one per channel", d->std.n,
                   (long long)d->channels);
}

static void check_training(ct_config *cfg, ct_problems *p)
{
    const ct_cfg_optimizer_keys *o = &cfg->optimizer;
    const ct_cfg_schedule_keys *s = &cfg->schedule;
    bool sgd = o->name == CT_CFG_OPT_SGD, softmax = cfg->loss.name == CT_CFG_LOSS_SOFTMAX || cfg->loss.name == CT_CFG_LOSS_AUTO;
    bool generated = generated_data(cfg);

    if (has_cosine(s) && s->min_lr > o->lr) {
        char a[32], b[32];
        ct_problem(p, place(cfg, "schedule.min_lr", "optimizer.lr"), "schedule.min_lr (%s) is above optimizer.lr (%s)",
                   ct_format_double(s->min_lr, a), ct_format_double(o->lr, b));
    }
    if (s->name == CT_CFG_SCHED_WARMUP_COSINE && cfg->train.steps == 0 && s->warmup_epochs > (double)cfg->train.epochs)
        ct_problem(p, place(cfg, "schedule.warmup_epochs", "train.epochs"),
                   "schedule.warmup_epochs is more than train.epochs (%lld)", (long long)cfg->train.epochs);
    for (size_t i = 1; i < s->milestones.n; i++)
        if (s->milestones.v[i] <= s->milestones.v[i - 1]) {
            ct_problem(p, place(cfg, "schedule.milestones", NULL), "schedule.milestones must rise (%lld follows %lld)",
                       (long long)s->milestones.v[i], (long long)s->milestones.v[i - 1]);
            break;
        }
    if (s->t_mult != floor(s->t_mult)) {
        char a[32];
        ct_problem(p, place(cfg, "schedule.t_mult", NULL), "schedule.t_mult: must be a whole number (got %s)",
                   ct_format_double(s->t_mult, a));
    }
    if (s->name == CT_CFG_SCHED_MULTISTEP && s->milestones.n == 0)
        ct_problem(p, place(cfg, "schedule.name", NULL), "schedule.name: multistep needs schedule.milestones");
    if (sgd && o->nesterov && o->momentum == 0)
        ct_problem(p, place(cfg, "optimizer.nesterov", "optimizer.momentum"),
                   "optimizer.nesterov needs optimizer.momentum above 0");
    if (!softmax && cfg->loss.label_smoothing > 0)
        ct_problem(p, place(cfg, "loss.label_smoothing", "loss.name"),
                   "loss.label_smoothing is defined for loss.name: softmax only");
    if (cfg->early_stopping.enabled && without_validation(cfg))
        ct_problem(p, place(cfg, "early_stopping.enabled", "early_stopping.patience"),
                   "early_stopping needs validation data: data.val, %s above 0",
                   generated ? "or data.synth.val_count" : "or data.val_fraction");
}

/* Keys without effect are told, not refused: the resolved configuration has all of them. */
static void note_unused(ct_config *cfg, const ct_config *defaults, ct_problems *p)
{
    const ct_cfg_schedule_keys *s = &cfg->schedule;
    bool sgd = cfg->optimizer.name == CT_CFG_OPT_SGD, fp16 = cfg->train.precision == CT_CFG_PRECISION_FP16;
    bool multistep = s->name == CT_CFG_SCHED_MULTISTEP, restarts = s->name == CT_CFG_SCHED_WARM_RESTARTS;
    bool fit = cfg->data.size_rule == CT_CFG_SIZE_FIT_HEIGHT;
    const struct { bool is_unused; const char *key, *why; } rule[] = {
        { cfg->data.val[0] != '\0', "data.val_fraction", "data.val is given" },
        { cfg->data.val[0] == '\0' && generated_data(cfg), "data.val_fraction",
          "data.synth.val_count images are generated" },
        { !generated_data(cfg), "data.synth.fresh", "data.train is not synth:text" },
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
        { s->lr_rule == CT_CFG_LR_NONE, "schedule.reference_batch", "schedule.lr_rule is none" },
        { !fp16, "train.loss_scale", "train.precision is not fp16" },
        { !fp16, "train.loss_scale_growth", "train.precision is not fp16" },
        { cfg->train.nan_policy == CT_CFG_NAN_STOP, "train.nan_limit", "train.nan_policy is stop" },
        { without_validation(cfg), "eval.select_by", "there is no validation data" },
    };
    for (size_t i = 0; i < sizeof rule / sizeof rule[0]; i++)
        if (rule[i].is_unused) unused(cfg, defaults, p, rule[i].key, rule[i].why);
}

void ct_config_finish(ct_config *cfg, ct_problems *p)
{
    struct ct_config_info *info = cfg->info;
    ct_config *defaults;
    while (info->notes > info->read_notes) ct_free(info->note[--info->notes]);
    if (p->fatal != CT_OK) return;
    check_amp(cfg, p);
    if (!origin_of(cfg, "early_stopping.enabled") && origin_of(cfg, "early_stopping.patience"))
        cfg->early_stopping.enabled = true;
    check_data(cfg, p);
    check_training(cfg, p);
    if (ct_config_new(&defaults) != CT_OK) {
        p->fatal = CT_ENOMEM;
        return;
    }
    note_unused(cfg, defaults, p);
    ct_config_free(defaults);
}

/* ---- reading ---- */

/* "key=value" of --set number i. */
static void read_set(ct_config *cfg, const char *set, int layer, ct_problems *p)
{
    char q[CT_CONFIG_QUOTE + 4];
    const char *eq = strchr(set, '=');
    char *where = ct_asprintf("--set %s", ct_config_quote(set, q)), *key = NULL;
    if (!where) {
        p->fatal = CT_ENOMEM;
    } else if (!eq || eq == set) {
        ct_problem(p, where, "must be KEY=VALUE");
    } else if ((key = ct_strndup(set, (size_t)(eq - set), "configuration key"))) {
        ct_config_read_pair(cfg, key, eq + 1, where, layer, p);
    } else {
        p->fatal = CT_ENOMEM;
    }
    ct_free(key);
    ct_free(where);
}

ct_status ct_config_parse(const char *text, size_t size, const char *source, const char *const *sets, size_t nsets,
                          ct_config **out)
{
    ct_problems p = { 0 };
    ct_config *cfg;
    ct_status st;
    *out = NULL;
    CT_TRY(ct_config_new(&cfg));
    ct_config_read_text(cfg, text, size, source, &p);
    for (size_t i = 0; i < nsets && p.fatal == CT_OK; i++) read_set(cfg, sets[i], 2 + (int)i, &p);
    cfg->info->read_notes = cfg->info->notes;
    /* Checking keys against each other makes sense only when each of them was understood. */
    if (p.count == 0) ct_config_finish(cfg, &p);
    if ((st = ct_problems_report(&p)) != CT_OK) {
        ct_config_free(cfg);
        return st;
    }
    *out = cfg;
    return CT_OK;
}

ct_status ct_config_defaults(ct_config **out)
{
    return ct_config_parse("", 0, "defaults", NULL, 0, out);
}

/* Whether `config` is the built-in configuration under one of its names. */
static bool is_builtin(const char *config)
{
    return strcmp(config, "quickstart") == 0 || strcmp(config, "quickstart.yaml") == 0 || strcmp(config, "examples/quickstart.yaml") == 0;
}

/* A bare word (no folder, no extension) is an example's name first: in a source tree `quickstart` is also a shell script. *found is the
 * path to read (ct_free), NULL with CT_OK for the built-in text. */
static ct_status locate(const char *config, char **found)
{
    bool bare = !strpbrk(config, "/.");
    *found = NULL;
    if (bare || !ct_path_exists(config)) {
        *found = ct_config_find_example(config);
        if (*found || is_builtin(config)) return CT_OK;
    }
    if (ct_path_is_dir(config))
        return ct_fail(CT_ECONFIG, "%s is a folder, not a configuration file (images are given by data.train)", config);
    if (!ct_path_exists(config)) return ct_fail(CT_ECONFIG, "%s: there is no such file, and no example of that name is installed", config);
    *found = ct_strdup(config, "a path");
    return *found ? CT_OK : CT_ENOMEM;
}

ct_status ct_config_load(const char *config, const char *const *sets, size_t nsets, ct_config **out)
{
    uint8_t *text = NULL;
    size_t size;
    char *found = NULL;
    ct_status st = CT_OK;
    *out = NULL;
    if (config) CT_TRY(locate(config, &found));
    if (found) {
        CT_GOTO(st, ct_file_read(found, CT_CONFIG_MAX_BYTES, &text, &size));
        st = ct_config_parse((const char *)text, size, found, sets, nsets, out);
    } else {
        st = ct_config_parse(ct_config_quickstart, strlen(ct_config_quickstart), "built-in quickstart", sets, nsets,
                             out);
    }
fail:
    ct_free(text);
    ct_free(found);
    return st;
}

ct_status ct_config_set(ct_config *cfg, const char *key, const char *value, const char *origin)
{
    ct_problems p = { 0 };
    ct_config *c;
    ct_status st;
    CT_TRY(clone(cfg, &c));
    ct_config_read_pair(c, key, value, origin, 2, &p);
    c->info->read_notes = c->info->notes;
    if (p.count == 0) ct_config_finish(c, &p);
    st = ct_problems_report(&p);
    if (st == CT_OK) {
        ct_config old = *cfg;
        *cfg = *c;
        *c = old;
    }
    ct_config_free(c);
    return st;
}
