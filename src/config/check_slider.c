/* Keys of the slider task against each other, and what follows from its models. */
#include <config.h> /* the one of configure: in quotes it would be this room's */

#include <string.h>

#include "base/alloc.h"
#include "config/config.h"
#include "config/internal.h"

/* What models of the task read unless keys say otherwise. */
static const struct { const char *name; int64_t width, height; } models[] = {
    { "slider", 512, 256 }, { "slider-small", 256, 128 }, { "hrnet-w32", 512, 256 }, { "hrnet-w48", 512, 256 },
};

static bool given(const ct_config *cfg, const char *key) { return ct_config_origin(cfg, key) != NULL; }

static void note(ct_config *cfg, ct_problems *p, const char *key, const char *what)
{
    if (ct_config_add_note(cfg, "%s: %s", ct_config_place(cfg, key, NULL), what) != CT_OK) p->fatal = CT_ENOMEM;
}

void ct_config_replace(char **field, const char *value, ct_problems *p)
{
    char *v = ct_strdup(value, "configuration");
    if (!v) {
        p->fatal = CT_ENOMEM;
        return;
    }
    ct_free(*field);
    *field = v;
}

/* data.width or data.height: the key, else the reference's, else the model's own. */
static void derive_side(ct_config *cfg, ct_problems *p, const char *key, int64_t *side, size_t k, int64_t usual)
{
    const ct_int_list *target = &cfg->letterbox.target_size;
    if (target->n == 2 && given(cfg, key) && *side != target->v[k])
        ct_problem(p, ct_config_place(cfg, key, NULL), "%s is %lld, but letterbox.target_size says %lld", key,
                   (long long)*side, (long long)target->v[k]);
    else if (target->n == 2) *side = target->v[k];
    else if (!given(cfg, key)) *side = usual;
}

/* data.channels: the key, else model.input_channels, which counts the mask of models that have one, else RGB. */
static void derive_channels(ct_config *cfg, ct_problems *p, bool mask)
{
    int64_t *channels = &cfg->data.channels, all = cfg->info->input_channels;
    if (!given(cfg, "model.input_channels")) {
        if (mask && !given(cfg, "data.channels")) *channels = 3;
        return;
    }
    if (mask && all % 2 == 0) {
        note(cfg, p, "model.input_channels", "model.input_channels: counts the mask of the padding, which follows from "
                                             "the geometry; data.channels is one less");
        all--;
    }
    if (given(cfg, "data.channels") && *channels != all)
        ct_problem(p, ct_config_place(cfg, "model.input_channels", NULL),
                   "model.input_channels means data.channels: %lld, but that is %lld", (long long)all,
                   (long long)*channels);
    *channels = all;
}

static void derive_pixels(ct_config *cfg, ct_problems *p, int64_t width, int64_t height)
{
    ct_cfg_data *d = &cfg->data;
    const int64_t fill = cfg->letterbox.fill_value;
    derive_side(cfg, p, "data.width", &d->width, 0, width);
    derive_side(cfg, p, "data.height", &d->height, 1, height);
    if (cfg->letterbox.target_size.n == 1)
        ct_problem(p, ct_config_place(cfg, "letterbox.target_size", NULL),
                   "letterbox.target_size: must be [width, height]");
    if (!given(cfg, "data.size_rule")) d->size_rule = CT_CFG_SIZE_LETTERBOX;
    derive_channels(cfg, p, true);
    if (fill < 0) return;
    const uint8_t *b = d->background;
    if (given(cfg, "data.background") && (b[0] != fill || b[1] != fill || b[2] != fill))
        ct_problem(p, ct_config_place(cfg, "letterbox.fill_value", NULL),
                   "letterbox.fill_value is %lld, but data.background says otherwise", (long long)fill);
    else memset(d->background, (int)fill, sizeof d->background);
}

/* The reference gives a "warm-up" to warm restarts, as the length of their first cycle. */
static void derive_schedule(ct_config *cfg, ct_problems *p)
{
    ct_cfg_schedule_keys *s = &cfg->schedule;
    const double epochs = cfg->info->sched_warmup;
    if (!given(cfg, "sched.warmup_epochs") || given(cfg, "schedule.name") || given(cfg, "schedule.warmup_epochs") ||
        epochs <= 0)
        return;
    s->name = CT_CFG_SCHED_WARM_RESTARTS;
    if (!given(cfg, "schedule.t0")) s->t0 = epochs;
    if (!given(cfg, "schedule.t_mult")) s->t_mult = 2;
    note(cfg, p, "sched.warmup_epochs",
         "sched.warmup_epochs: is no warm-up in the reference but the first cycle of warm restarts: schedule.name is "
         "warm_restarts, schedule.t0 that many epochs, schedule.t_mult 2");
}

/* A file of weights without those that came later is the early one. */
static void derive_loss(ct_config *cfg, ct_problems *p)
{
    static const char *const late[] = { "loss.padding_bce.enabled", "loss.y_axis.enabled", "loss.weights.padding_bce",
                                        "loss.weights.y_axis" };
    bool has = false;
    if (cfg->loss.name != CT_CFG_LOSS_AUTO || !given(cfg, "loss.weights.heatmap")) return;
    for (size_t k = 0; k < sizeof late / sizeof late[0]; k++) has |= given(cfg, late[k]);
    if (has) return;
    cfg->loss.name = CT_CFG_LOSS_SLIDER_EARLY;
    note(cfg, p, "loss.weights.heatmap",
         "loss.weights has neither padding_bce nor y_axis: loss.name is slider_early, which does without them");
}

static size_t model_of(const ct_config *cfg)
{
    size_t k = 0;
    while (k < sizeof models / sizeof models[0] && strcmp(models[k].name, cfg->model.name) != 0) k++;
    return k;
}

void ct_config_note_slider(ct_config *cfg, const ct_config *defaults, ct_problems *p, ct_config_teller *tell)
{
    static const char *const sections[] = { "letterbox.", "coordinate.", "heatmap.", "data_split.", "loss.focal.",
                                            "loss.offset.", "loss.hard_negative.", "loss.angle.", "loss.padding_bce.",
                                            "loss.y_axis.", "loss.use_", "loss.weights.", "eval.visualization." };
    const ct_config_row *row;
    if (model_of(cfg) < sizeof models / sizeof models[0]) return;
    for (size_t i = 0; (row = ct_config_row_at(i)); i++)
        for (size_t k = 0; row->cls == CT_CLASS_KEY && k < sizeof sections / sizeof sections[0]; k++)
            if (strncmp(row->name, sections[k], strlen(sections[k])) == 0)
                tell(cfg, defaults, p, row->name, "only slider models read it");
}

void ct_config_check_slider(ct_config *cfg, ct_problems *p)
{
    const size_t k = model_of(cfg);
    if (k == sizeof models / sizeof models[0]) {
        if (given(cfg, "sched.warmup_epochs") && !given(cfg, "schedule.warmup_epochs"))
            cfg->schedule.warmup_epochs = cfg->info->sched_warmup;
        derive_channels(cfg, p, false);
        return;
    }
    if (!given(cfg, "data.train")) ct_config_replace(&cfg->data.train, "synth:slider", p);
    derive_pixels(cfg, p, models[k].width, models[k].height);
    derive_schedule(cfg, p);
    derive_loss(cfg, p);
    if (cfg->coordinate.downsample != 4)
        ct_problem(p, ct_config_place(cfg, "coordinate.downsample", NULL),
                   "coordinate.downsample is %lld: the cells of %s have 4 pixels",
                   (long long)cfg->coordinate.downsample, cfg->model.name);
    if (!cfg->loss.y_axis.log_stretch)
        ct_problem(p, ct_config_place(cfg, "loss.y_axis.log_stretch", NULL),
                   "loss.y_axis.log_stretch: rows are always compared by logarithms (true)");
    if ((cfg->data.synth.width == 0) != (cfg->data.synth.height == 0))
        ct_problem(p, ct_config_place(cfg, "data.synth.width", "data.synth.height"),
                   "data.synth.width and data.synth.height: give both, or 0 for both");
}
