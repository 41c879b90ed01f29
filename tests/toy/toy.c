/* The table of the toy task: what its programs compute and what its numbers mean. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "toy/toy.h"

/* ---- metrics ---- */

/* The point's term is the mean over samples and coordinates of the squared error in sides of the picture. */
static double rmse_px(const double s[CT_METRIC_COUNT])
{
    const double n = s[CT_METRIC_SAMPLES];
    return n > 0 ? TOY_SIZE * sqrt(2 * s[CT_METRIC_TERMS + TOY_TERM_POINT] / n) : NAN;
}

static double bright_accuracy(const double s[CT_METRIC_COUNT])
{
    return s[CT_METRIC_SAMPLES] > 0 ? s[TOY_BRIGHT_RIGHT] / s[CT_METRIC_SAMPLES] : NAN;
}

static const ct_metric_row metrics[TOY_METRICS] = {
    [TOY_RMSE] = { .key = "rmse_px", .label = "distance from the dot", .curve = "distance", .unit = "px",
                   .plot = "Distance",
                   .smaller_is_better = true, .training = true, .brief = true, .value = rmse_px },
    [TOY_ACCURACY] = { .key = "bright_accuracy", .label = "brightness right", .curve = "brightness", .unit = "%",
                       .plot = "Brightness",
                       .rest = "Wrong, validation", .brief = true, .exact = true, .value = bright_accuracy },
};

static int headline(const ct_place *p, const ct_metric_row *out[], int max)
{
    int n = 0;
    (void)p;
    while (n < max && n < TOY_METRICS) out[n] = &metrics[n], n++;
    return n;
}

/* ---- programs ---- */

static const char loss_name[] = "point+bright";

static const char *name_of_loss(const ct_goal *goal)
{
    (void)goal;
    return loss_name;
}

static ct_status usual(const char *loss, ct_model_spec *model, ct_goal *goal)
{
    *goal = (ct_goal){ .task = &toy_task };
    if (!loss || strcmp(loss, loss_name) == 0) return CT_OK;
    return ct_fail(CT_ECONFIG, "loss: '%s' is none of model %s (%s)", loss, model->name, loss_name);
}

static ct_status specify(const ct_config *cfg, const ct_facts *facts, ct_model_spec *model, ct_goal *goal)
{
    (void)facts;
    if (cfg->data.height != TOY_SIZE || cfg->data.width != TOY_SIZE || cfg->data.channels != 1)
        return ct_fail(CT_ECONFIG, "data.height, data.width, data.channels: %s reads gray pictures of %d x %d pixels",
                       model->name, TOY_SIZE,
                       TOY_SIZE);
    if (cfg->data.crop > 0)
        return ct_fail(CT_ECONFIG, "data.crop: the place that %s tells is one in the whole picture", model->name);
    if (cfg->data.size_rule == CT_CFG_SIZE_FIT_HEIGHT)
        return ct_fail(CT_ECONFIG,
                       "data.size_rule: fit_height gives images of several widths, model.name: %s reads one",
                           model->name);
    if (cfg->loss.name != CT_CFG_LOSS_AUTO || cfg->loss.label_smoothing > 0)
        return ct_fail(CT_ECONFIG, "loss.name, loss.label_smoothing: %s has a loss of its own (auto, 0)", model->name);
    if (cfg->model.width != 1 || cfg->model.classes > 0)
        return ct_fail(CT_ECONFIG, "model.width, model.classes: %s has one size", model->name);
    return usual(NULL, model, goal);
}

/* Mean of the squared differences between point [N,2] and the target [N,1,2], pixels, over all 2N: [1]. */
static ct_status squared_error(ct_parts *p, ct_val point, ct_val target, ct_val *out)
{
    ct_graph *g = p->g;
    const ct_desc *d = ct_graph_desc(g, point);
    const int64_t n = d->dim[0];
    const ct_attrs type = { .cast = { .dtype = (int64_t)d->dtype } }, flat = { .shape = { .ndim = 2, .d0 = n,
                                                                                          .d1 = 2 } };
    const ct_attrs less = { .scale = { .alpha = -1.0 / TOY_SIZE } };
    const ct_attrs column = { .shape = { .ndim = 4, .d0 = 1, .d1 = 2 * n, .d2 = 1, .d3 = 1 } },
        scalar = { .shape = { .ndim = 1, .d0 = 1 } };
    ct_val v = target;
    CT_TRY(ct_graph_node(g, CT_OP_RESHAPE, &flat, "target.flat", 1, &v, 1, 1, &v));
    if (ct_graph_desc(g, v)->dtype != d->dtype) CT_TRY(ct_graph_node(g, CT_OP_CAST, &type, "target.cast", 1, &v, 1, 1,
                                                                     &v));
    CT_TRY(ct_graph_node(g, CT_OP_SCALE, &less, "target.less", 1, &v, 1, 1, &v));
    ct_val pair[2] = { point, v };
    CT_TRY(ct_graph_node(g, CT_OP_ADD, NULL, "error", 2, pair, 1, 1, &v));
    pair[0] = pair[1] = v;
    CT_TRY(ct_graph_node(g, CT_OP_MUL, NULL, "error.squared", 2, pair, 1, 1, &v));
    CT_TRY(ct_graph_node(g, CT_OP_RESHAPE, &column, "error.column", 1, &v, 1, 1, &v));
    CT_TRY(ct_graph_node(g, CT_OP_GLOBAL_AVGPOOL, NULL, "error.mean", 1, &v, 1, 1, &v));
    return ct_graph_node(g, CT_OP_RESHAPE, &scalar, "point.loss", 1, &v, 1, 1, out);
}

static ct_status build_losses(ct_parts *p, ct_val point, const ct_attrs *classes, ct_val bright, ct_val *target)
{
    const int64_t place[2] = { 1, 2 }, one[1] = { 1 };
    ct_val where, loss[2];
    CT_TRY(ct_parts_field(p, "point", CT_F32, CT_FIELD_POINTS, 2, place, &where));
    CT_TRY(ct_parts_field(p, "bright", CT_I32, CT_FIELD_IDS, 1, one, target));
    CT_TRY(squared_error(p, point, where, &loss[0]));
    CT_TRY(ct_parts_term(p, "point", loss[0], 1));
    ct_val in[2] = { bright, *target };
    CT_TRY(ct_graph_node(p->g, CT_OP_SOFTMAX_XENT, classes, "bright.loss", 2, in, 2, 3, loss));
    return ct_parts_term(p, "bright", loss[0], 0.5);
}

/* out: point [N,2] (sides of the picture), bright [N,2]. Results: where [N,2] (pixels), pred i32 [N,1], conf [N,1]. */
static ct_status build(ct_parts *p)
{
    ct_graph *g = p->g;
    const ct_attrs classes = { .loss = { .positions = 1, .classes = p->model->classes } };
    const ct_attrs exact = { .cast = { .dtype = (int64_t)ct_accum_dtype(ct_graph_desc(g, p->out[0])->dtype) } };
    const ct_attrs pixels = { .scale = { .alpha = TOY_SIZE } }, first = { .sums = { .first = TOY_BRIGHT_RIGHT } };
    ct_val point, where, best[2], target = CT_NOVAL, acc;
    /* differences of 16-bit numbers would be coarse */
    CT_TRY(ct_graph_node(g, CT_OP_CAST, &exact, "point.exact", 1, &p->out[0], 1, 1, &point));
    if (p->labels) CT_TRY(build_losses(p, point, &classes, p->out[1], &target));
    CT_TRY(ct_graph_node(g, CT_OP_SCALE, &pixels, "where", 1, &point, 1, 1, &where));
    CT_TRY(ct_parts_result(p, "where", where));
    CT_TRY(ct_graph_node(g, CT_OP_ARGMAX, &classes, "pred", 1, &p->out[1], 2, 3, best));
    CT_TRY(ct_parts_result(p, "pred", best[0]));
    CT_TRY(ct_parts_result(p, "conf", best[1]));
    if (!p->labels) return CT_OK;
    CT_TRY(ct_graph_metrics(g, &acc));
    ct_val sums[3] = { best[0], target, acc };
    return ct_graph_node(g, CT_OP_METRIC_SUMS, &first, "metrics", 3, sums, 0, 0, NULL);
}

static void describe(const ct_place *p, ct_tell *tell, void *user)
{
    (void)p;
    tell(user, "point", "x and y in pixels; pixel i covers [i, i+1)");
}

static char *outputs(const ct_place *p, char *buf, size_t size)
{
    (void)p;
    snprintf(buf, size, "a point, 2 classes");
    return buf;
}

static ct_status random_field(const ct_place *p, const char *name, const ct_desc *desc, ct_rng *rng, void *host)
{
    const bool point = strcmp(name, "point") == 0;
    (void)p;
    if (!point && strcmp(name, "bright") != 0) return ct_fail(CT_EINTERNAL, "task dot has no field '%s'", name);
    for (int64_t i = 0; i < ct_desc_numel(desc); i++) {
        const double v = point ? ct_rng_uniform(rng, 0, TOY_SIZE) : (double)ct_rng_below(rng, 2);
        ct_store(desc->dtype, host, i, v);
    }
    return CT_OK;
}

/* ---- facts: none ---- */

static ct_status learn(const ct_config *cfg, const ct_dataset *train, ct_facts **out)
{
    (void)cfg;
    (void)train;
    *out = NULL;
    return CT_OK;
}

static void forget(ct_facts *facts) { (void)facts; }

static bool same(const ct_facts *now, const ct_facts *then, char *why, size_t size)
{
    (void)why;
    (void)size;
    return now == then;
}

/* For whom reads the model file with another program. */
static ct_status write_meta(const ct_place *p, ct_status (*put)(void *user, const char *key, const char *value),
                            void *user)
{
    (void)p;
    return put(user, "decode", "point: x and y as shares of the picture's sides; bright: class 1 is a bright dot");
}

static ct_status read_meta(const char *path, const char *(*get)(const void *user, const char *key), const void *user,
                           ct_facts **out)
{
    (void)path;
    (void)get;
    (void)user;
    *out = NULL;
    return CT_OK;
}

static ct_status given(ct_config *cfg, const ct_option *option, size_t options, ct_facts **out)
{
    (void)option;
    (void)options;
    return learn(cfg, NULL, out);
}

static const ct_leaving leaving = {
    .decoder = "dot",
    .output = { { .name = "point", .output = "point" }, { .name = "bright", .output = "bright" } },
};

const ct_task toy_task = {
    .name = "dot",
    .doc = "finds the dot in a picture",
    .metric = metrics,
    .metrics = TOY_METRICS,
    .generator = &toy_generator,
    .generators = 1,
    .select = "rmse_px",
    /* data */
    .labels = toy_labels,
    .learn = learn,
    .forget = forget,
    .same = same,
    /* files */
    .write = write_meta,
    .read = read_meta,
    /* programs */
    .specify = specify,
    .usual = usual,
    .build = build,
    .loss_name = name_of_loss,
    .describe = describe,
    .outputs = outputs,
    .random = random_field,
    /* scoring */
    .look = toy_look,
    .collect = toy_collect,
    .settle = toy_settle,
    .drop = toy_drop,
    .right = toy_right,
    .eval_json = toy_eval_json,
    .eval_text = toy_eval_text,
    .predict_json = toy_predict_json,
    .predict_text = toy_predict_text,
    .reading = toy_reading,
    .example = toy_example,
    .headline = headline,
    .report = toy_report,
    /* verbs */
    .leaving = &leaving,
    .generate = toy_generate,
    .given = given,
};
