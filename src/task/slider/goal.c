#include "config.h"

#include "task/slider/goal.h"

#include <inttypes.h>
#include <string.h>

static const char *const names[] = { "basic", "slider_early", "slider_late" };

const char *ct_slider_loss_name(const ct_goal *goal) { return names[goal->loss]; }

void ct_slider_goal(ct_slider_loss loss, ct_goal *goal)
{
    const bool early = loss == CT_SLIDER_LOSS_EARLY, late = loss == CT_SLIDER_LOSS_LATE;
    double *v = goal->value;
    *goal = (ct_goal){ .task = goal->task, .loss = (int)loss };
    v[CT_SLIDER_ALPHA] = 1.5;
    v[CT_SLIDER_BETA] = 4;
    v[CT_SLIDER_POSITIVE] = 0.8;
    v[CT_SLIDER_EPS] = 1e-8;
    v[CT_SLIDER_OFFSET_BETA] = 1;
    v[CT_SLIDER_MARGIN] = late ? 0.5 : 0.2;
    v[CT_SLIDER_ANGLE_POSITIVE] = 0.7;
    v[CT_SLIDER_CAP] = 10;
    v[CT_SLIDER_TAU] = 1;
    v[CT_SLIDER_SIGMA] = 1.5;
    v[CT_SLIDER_ALIGN] = 1;
    v[CT_SLIDER_W_HEAT] = 1;
    v[CT_SLIDER_W_OFFSET] = 1;
    v[CT_SLIDER_W_HARD_NEGATIVE] = early ? 0.5 : late ? 1.5 : 0;
    v[CT_SLIDER_W_ANGLE] = late ? 0.5 : 0;
    v[CT_SLIDER_W_PADDING] = late ? 0.3 : 0;
    v[CT_SLIDER_W_ROW_CE] = late ? 0.8 : 0;
    v[CT_SLIDER_W_ROW_EMD] = late ? 0.8 * 0.3 : 0;
}

ct_status ct_slider_usual(const char *loss, ct_model_spec *model, ct_goal *goal)
{
    static const char *const brief[] = { "basic", "early", "late" };
    ct_slider_goal(CT_SLIDER_LOSS_BASIC, goal);
    if (!loss) return CT_OK;
    for (int k = 0; k <= CT_SLIDER_LOSS_LATE; k++)
        if (strcmp(loss, names[k]) == 0 || strcmp(loss, brief[k]) == 0) {
            ct_slider_goal((ct_slider_loss)k, goal);
            return CT_OK;
        }
    return ct_fail(CT_ECONFIG, "loss: '%s' is none of model %s (basic, early, late)", loss, model->name);
}

/* ---- from a configuration ---- */

static ct_status find_loss(const ct_config *cfg, ct_slider_loss *out)
{
    switch (cfg->loss.name) {
    case CT_CFG_LOSS_AUTO:
    case CT_CFG_LOSS_SLIDER_LATE: *out = CT_SLIDER_LOSS_LATE; return CT_OK;
    case CT_CFG_LOSS_SLIDER_EARLY: *out = CT_SLIDER_LOSS_EARLY; return CT_OK;
    case CT_CFG_LOSS_BASIC: *out = CT_SLIDER_LOSS_BASIC; return CT_OK;
    case CT_CFG_LOSS_SOFTMAX:
    case CT_CFG_LOSS_SOFT_MARGIN:
    case CT_CFG_LOSS_CTC:
    case CT_CFG_LOSS_TFNET: break;
    }
    return ct_fail(CT_ECONFIG, "loss.name: model.name: %s has slider_early, slider_late or basic", cfg->model.name);
}

/* What a term counts: its switch, then its weight, then what the loss says by itself; `usual` is that of a term that is
 * switched on without a weight. */
static double weight_of(ct_cfg_word on, double weight, double named, double usual)
{
    if (on == CT_CFG_WORD_FALSE) return 0;
    if (weight >= 0) return weight;
    return on == CT_CFG_WORD_TRUE && named == 0 ? usual : named;
}

static void fill(const ct_config *cfg, ct_goal *goal)
{
    const ct_cfg_weights *w = &cfg->loss.weights;
    double *v = goal->value;
    v[CT_SLIDER_ALPHA] = cfg->loss.focal.alpha;
    v[CT_SLIDER_BETA] = cfg->loss.focal.beta;
    v[CT_SLIDER_POSITIVE] = cfg->loss.focal.pos_threshold;
    v[CT_SLIDER_EPS] = cfg->loss.focal.eps;
    v[CT_SLIDER_OFFSET_BETA] = cfg->loss.offset.beta;
    if (cfg->loss.hard_negative.margin >= 0) v[CT_SLIDER_MARGIN] = cfg->loss.hard_negative.margin;
    v[CT_SLIDER_ANGLE_POSITIVE] = cfg->loss.angle.pos_threshold;
    v[CT_SLIDER_CAP] = cfg->loss.padding_bce.max_loss_per_pixel;
    v[CT_SLIDER_TAU] = cfg->loss.y_axis.tau;
    v[CT_SLIDER_SIGMA] = cfg->heatmap.sigma;
    v[CT_SLIDER_ALIGN] = cfg->coordinate.align;
    v[CT_SLIDER_AROUND] = cfg->loss.offset.around;
    const double rows = weight_of(cfg->loss.y_axis.enabled, w->y_axis, v[CT_SLIDER_W_ROW_CE], 0.8);
    if (w->heatmap >= 0) v[CT_SLIDER_W_HEAT] = w->heatmap;
    if (w->offset >= 0) v[CT_SLIDER_W_OFFSET] = w->offset;
    v[CT_SLIDER_W_HARD_NEGATIVE] =
        weight_of(cfg->loss.use_hard_negative, w->hard_negative, v[CT_SLIDER_W_HARD_NEGATIVE], 1.5);
    v[CT_SLIDER_W_ANGLE] = weight_of(cfg->loss.use_angle, w->angle, v[CT_SLIDER_W_ANGLE], 0.5);
    v[CT_SLIDER_W_PADDING] = weight_of(cfg->loss.padding_bce.enabled, w->padding_bce, v[CT_SLIDER_W_PADDING], 0.3);
    v[CT_SLIDER_W_ROW_CE] = rows * cfg->loss.y_axis.row_ce_weight;
    v[CT_SLIDER_W_ROW_EMD] = rows * cfg->loss.y_axis.emd_weight;
}

/* Keys of letterbox are the reference's words for data.width, data.height and data.background. */
static ct_status check_letterbox(const ct_config *cfg)
{
    const ct_cfg_data *d = &cfg->data;
    const ct_int_list *size = &cfg->letterbox.target_size;
    const int64_t fill = cfg->letterbox.fill_value;
    if (size->n == 2 && (size->v[0] != d->width || size->v[1] != d->height))
        return ct_fail(CT_ECONFIG, "letterbox.target_size: data.width and data.height say %" PRId64 " x %" PRId64,
                       d->width, d->height);
    if (fill >= 0 && (d->background[0] != fill || d->background[1] != fill || d->background[2] != fill))
        return ct_fail(CT_ECONFIG, "letterbox.fill_value: data.background says otherwise");
    return CT_OK;
}

static ct_status check_keys(const ct_config *cfg)
{
    const char *model = cfg->model.name;
    CT_TRY(check_letterbox(cfg));
    if (cfg->data.size_rule != CT_CFG_SIZE_LETTERBOX)
        return ct_fail(CT_ECONFIG, "data.size_rule: model.name: %s reads pictures with their aspect ratio (letterbox)",
                       model);
    if (cfg->data.height % 32 != 0 || cfg->data.width % 32 != 0)
        return ct_fail(CT_ECONFIG, "data.height, data.width: %s reads sides of multiples of 32 pixels (got %" PRId64
                       " x %" PRId64 ")", model, cfg->data.height, cfg->data.width);
    if (cfg->loss.label_smoothing > 0)
        return ct_fail(CT_ECONFIG, "loss.label_smoothing: the losses of %s have none", model);
    if (cfg->model.classes > 0)
        return ct_fail(CT_ECONFIG, "model.classes: %s has two points, not classes", model);
    if (!cfg->loss.y_axis.log_stretch || strcmp(cfg->loss.hard_negative.reduction, "mean") != 0 ||
        cfg->coordinate.downsample != CT_SLIDER_STRIDE)
        return ct_fail(CT_ECONFIG, "loss.y_axis.log_stretch, loss.hard_negative.reduction, coordinate.downsample: "
                       "there are true, mean and %d only", CT_SLIDER_STRIDE);
    return CT_OK;
}

ct_status ct_slider_specify(const ct_config *cfg, const ct_facts *facts, ct_model_spec *model, ct_goal *goal)
{
    ct_slider_loss loss = CT_SLIDER_LOSS_LATE;
    (void)facts; /* there are none */
    (void)model;
    CT_TRY(check_keys(cfg));
    CT_TRY(find_loss(cfg, &loss));
    ct_slider_goal(loss, goal);
    fill(cfg, goal);
    if (!(goal->value[CT_SLIDER_W_HEAT] > 0))
        return ct_fail(CT_ECONFIG, "loss.weights.heatmap: without heatmaps nothing is found; must be above 0");
    return CT_OK;
}
