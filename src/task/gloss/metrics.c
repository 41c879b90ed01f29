/* What is counted of glosses, and the numbers made of it. */
#include "config.h"

#include <math.h>

#include "task/gloss/gloss.h"

static double share(double n, double of) { return of > 0 ? n / of : NAN; }

static double wer(const double s[CT_METRIC_COUNT]) { return share(s[CT_GLOSS_EDITS], s[CT_GLOSS_WORDS]); }

static double wer_sentence(const double s[CT_METRIC_COUNT])
{
    return share(s[CT_GLOSS_SENTENCE_WER], s[CT_METRIC_SAMPLES]);
}

static double sentence_accuracy(const double s[CT_METRIC_COUNT])
{
    return share(s[CT_GLOSS_SENTENCES], s[CT_METRIC_SAMPLES]);
}

static double substitutions(const double s[CT_METRIC_COUNT])
{
    return share(s[CT_GLOSS_SUBSTITUTIONS], s[CT_GLOSS_WORDS]);
}

static double deletions(const double s[CT_METRIC_COUNT]) { return share(s[CT_GLOSS_DELETIONS], s[CT_GLOSS_WORDS]); }

static double insertions(const double s[CT_METRIC_COUNT]) { return share(s[CT_GLOSS_INSERTIONS], s[CT_GLOSS_WORDS]); }

const ct_metric_row ct_gloss_metrics[CT_GLOSS_METRICS] = {
    { .key = "wer",
      .label = "word error rate",
      .curve = "words",
      .unit = "%",
      .plot = "Word errors",
      .smaller_is_better = true,
      .training = true,
      .brief = true,
      .exact = true,
      .value = wer },
    { .key = "wer_sentence",
      .label = "word error rate, mean over sentences",
      .curve = "mean over sentences",
      .unit = "%",
      .plot = "Word errors",
      .smaller_is_better = true,
      .value = wer_sentence },
    { .key = "sentence_accuracy",
      .label = "sentences right",
      .curve = "sentences",
      .unit = "%",
      .plot = "Sentences right",
      .brief = true,
      .value = sentence_accuracy },
    { .key = "substitutions",
      .label = "words read as others",
      .curve = "substituted",
      .unit = "%",
      .plot = "Word errors by kind",
      .smaller_is_better = true,
      .value = substitutions },
    { .key = "deletions",
      .label = "words not read",
      .curve = "deleted",
      .unit = "%",
      .plot = "Word errors by kind",
      .smaller_is_better = true,
      .value = deletions },
    { .key = "insertions",
      .label = "words that are not there",
      .curve = "inserted",
      .unit = "%",
      .plot = "Word errors by kind",
      .smaller_is_better = true,
      .value = insertions },
};

const ct_count_row ct_gloss_counted[1] = { { .key = "infeasible", .slot = CT_GLOSS_INFEASIBLE, .rare = true } };

int ct_gloss_headline(const ct_place *p, const ct_metric_row *out[], int max)
{
    (void)p;
    int n = 0;
    if (n < max) out[n++] = &ct_gloss_metrics[0];
    if (n < max) out[n++] = &ct_gloss_metrics[2];
    return n;
}

ct_status ct_gloss_result(const ct_findings *f, const double sums[CT_METRIC_COUNT], json_t *into)
{
    (void)f; /* the sums say it all */
    CT_TRY(ct_json_set(into, "sentences_right", json_integer((json_int_t)sums[CT_GLOSS_SENTENCES])));
    CT_TRY(ct_json_set(into, "glosses", json_integer((json_int_t)sums[CT_GLOSS_WORDS])));
    CT_TRY(ct_json_set(into, "edits", json_integer((json_int_t)sums[CT_GLOSS_EDITS])));
    return ct_json_set(into, "infeasible", json_integer((json_int_t)sums[CT_GLOSS_INFEASIBLE]));
}
