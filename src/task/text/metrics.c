/* What is counted of texts, and the numbers made of it. */
#include "config.h"

#include <math.h>

#include "task/text/text.h"

/* metric_sums leaves EDITS alone; where edit_sums counts none, every character is right. */
double ct_text_edits(const double sums[CT_METRIC_COUNT])
{
    const double wrong = sums[CT_TEXT_CHARS] - sums[CT_TEXT_CHARS_OK];
    return sums[CT_TEXT_EDITS] < wrong ? wrong : sums[CT_TEXT_EDITS];
}

static double string_accuracy(const double s[CT_METRIC_COUNT])
{
    return s[CT_METRIC_SAMPLES] > 0 ? s[CT_TEXT_STRINGS] / s[CT_METRIC_SAMPLES] : NAN;
}

static double char_accuracy(const double s[CT_METRIC_COUNT])
{
    const double chars = s[CT_TEXT_CHARS], edits = ct_text_edits(s);
    if (!(chars > 0)) return NAN;
    return edits < chars ? (chars - edits) / chars : 0;
}

static double cer(const double s[CT_METRIC_COUNT])
{
    return s[CT_TEXT_CHARS] > 0 ? ct_text_edits(s) / s[CT_TEXT_CHARS] : NAN;
}

const ct_metric_row ct_text_metrics[CT_TEXT_METRICS] = {
    { .key = "string_accuracy",
      .label = "strings right",
      .curve = "strings",
      .unit = "%",
      .plot = "Accuracy",
      .rest = "Wrong, validation",
      .training = true,
      .brief = true,
      .exact = true,
      .value = string_accuracy },
    { .key = "char_accuracy",
      .label = "characters right",
      .curve = "characters",
      .unit = "%",
      .plot = "Accuracy",
      .brief = true,
      .value = char_accuracy },
    { .key = "cer",
      .label = "character error rate",
      .curve = "characters",
      .unit = "%",
      .plot = "Wrong, validation",
      .smaller_is_better = true,
      .value = cer },
};

const ct_count_row ct_text_counted[1] = { { .key = "infeasible", .slot = CT_TEXT_INFEASIBLE, .rare = true } };

ct_status ct_text_result(const ct_findings *f, const double sums[CT_METRIC_COUNT], json_t *into)
{
    (void)f; /* the sums say it all */
    CT_TRY(ct_json_set(into, "edits", json_integer((json_int_t)ct_text_edits(sums))));
    return ct_json_set(into, "infeasible", json_integer((json_int_t)sums[CT_TEXT_INFEASIBLE]));
}

int ct_text_headline(const ct_place *p, const ct_metric_row *out[], int max)
{
    const bool any_length = ct_model_head(p->model) == CT_HEAD_CTC;
    int n = 0;
    if (n < max) out[n++] = &ct_text_metrics[0];
    if (n < max) out[n++] = &ct_text_metrics[any_length ? 2 : 1];
    return n;
}
