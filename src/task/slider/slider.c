/* The table of the slider task. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "task/slider/draw.h"
#include "task/slider/findings.h"

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
    return put(user, "decode",
               "letterboxed picture and mask; sigmoid(heat_*_logit): the cell of the greatest value whose 4x4 pixels "
               "are all picture; x = 4 (cell + 0.5 + offset), y likewise; offset is dx, dy of the gap, then of the "
               "piece; "
               "angle is sin, cos");
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

/* ---- what people are told ---- */

static void describe(const ct_place *p, ct_tell *tell, void *user)
{
    char text[128];
    tell(user, "places", "gap and piece, x and y in pixels of the picture; pixel i covers [i, i+1)");
    snprintf(text, sizeof text, "%lld x %lld cells of %d x %d pixels", (long long)(p->model->width / CT_SLIDER_STRIDE),
             (long long)(p->model->height / CT_SLIDER_STRIDE), CT_SLIDER_STRIDE, CT_SLIDER_STRIDE);
    tell(user, "maps", text);
    tell(user, "rows",
         p->goal->value[CT_SLIDER_ALIGN] > 0 ? "gap and piece lie in one" : "of gap and piece may differ");
}

static char *outputs(const ct_place *p, char *buf, size_t size)
{
    (void)p;
    snprintf(buf, size, "gap and piece");
    return buf;
}

static int headline(const ct_place *p, const ct_metric_row *out[], int max)
{
    static const int rows[] = { 5, 0, 6 };
    int n = 0;
    (void)p;
    for (; n < max && n < 3; n++) out[n] = &ct_slider_metrics[rows[n]];
    return n;
}

/* ---- the generator ---- */

static const ct_task_option options[] = {
    { "gen", "style", "--style", "NAME",
      "slider: a style that is drawn; may be given more than once; `list` prints them" },
    { "gen", "without_style", "--without-style", "NAME",
      "slider: a style that is left out, may be given more than once" },
    { "gen", "confusion", "--confusion", "NAME",
      "slider: a kind of confusion; given more than once, each as often; default the reference's shares" },
    { "gen", "backgrounds", "--backgrounds", "DIR", "slider: folder of pictures to use as backgrounds" },
    { "gen", "width", "--width", "W", "slider: pixels, with --height; default sizes by lot" },
    { "gen", "height", "--height", "H", "slider: pixels, with --width" },
    { "gen", "components", "--components", NULL, "slider: write the clean background and the piece alone, too" },
    { "gen", "json", "--json", NULL, "slider: print what was drawn, and how fast, as JSON" },
};

/* A picture of two cells' breadth has a cell that lies wholly within it, wherever it begins; one that has none shows no
 * place at all. */
static void geometry(const ct_config *cfg, ct_dataset_spec *spec)
{
    (void)cfg;
    spec->min_side = 2 * CT_SLIDER_STRIDE;
}

static const char *const answer[] = { "gap", "slider", "distance", "angle_deg", NULL };

const ct_task ct_task_slider = {
    .name = "slider",
    .doc = "finds the gap and the piece of a slider puzzle",
    .metric = ct_slider_metrics,
    .metrics = CT_SLIDER_METRICS,
    .generator = &ct_slider_generator,
    .generators = 1,
    .one_way = "the piece of a mirrored puzzle moves the other way",
    .select = "hit_le_2px",
    .option = options,
    .options = sizeof options / sizeof *options,
    /* data */
    .labels = ct_slider_labels,
    .geometry = geometry,
    .claims = ct_slider_claims,
    .learn = learn,
    .forget = forget,
    .same = same,
    /* files */
    .write = write_meta,
    .read = read_meta,
    /* programs */
    .specify = ct_slider_specify,
    .usual = ct_slider_usual,
    .build = ct_slider_build,
    .loss_name = ct_slider_loss_name,
    .describe = describe,
    .outputs = outputs,
    .random = ct_slider_random,
    .golden = ct_slider_golden,
    /* scoring */
    .look = ct_slider_look,
    .collect = ct_slider_collect,
    .settle = ct_slider_settle,
    .drop = ct_slider_drop,
    .right = ct_slider_right,
    .eval_json = ct_slider_eval_json,
    .eval_text = ct_slider_eval_text,
    .confidence = ct_slider_confidence,
    .answer = answer,
    .predict_json = ct_slider_predict_json,
    .predict_text = ct_slider_predict_text,
    .reading = ct_slider_reading,
    .result = ct_slider_result,
    .example = ct_slider_example,
    .headline = headline,
    .report = ct_slider_report,
    /* verbs */
    .generate = ct_slider_generate,
    .propose = ct_slider_propose,
    .leaving = &ct_slider_leaving,
    .given = given,
};
