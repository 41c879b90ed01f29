/* The table of the task of continuous sign language. */
#include "config.h"

#include "task/gloss/gloss.h"

static const char *const in_facts[] = { "data.vocab", NULL };

static const ct_task_option options[] = {
    { "eval predict", "decoder", "--decoder", "NAME", "greedy or, for models with CTC, beam; default greedy" },
    { "eval predict", "beam_width", "--beam-width", "N", "texts that --decoder beam follows at a time; default 10" },
    { "eval", "labels", "--labels", "FILE",
      "sign language: label file of the clips; default FOLDER.csv beside FOLDER, or FOLDER.corpus.csv" },
    { "import-torch", "vocab", "--vocab", "FILE", "sign language: the words, vocabulary.json or a word in each line" },
    { "gen", "glosses", "--glosses", "N", "gestures: words there are; default 40" },
    { "gen", "signers", "--signers", "N", "gestures: signers, of whom the last is in the test only; default 8" },
    { "gen", "length", "--length", "N|LO-HI", "gestures: glosses of a clip; default 2-5" },
    { "gen", "size", "--size", "PX", "gestures: height and width, pixels; default 96" },
};

static const char *const answer[] = { "glosses", NULL };

const ct_task ct_task_gloss = {
    .name = "gloss",
    .doc = "reads continuous sign language as glosses",
    .metric = ct_gloss_metrics,
    .metrics = CT_GLOSS_METRICS,
    .count = ct_gloss_counted,
    .counts = 1,
    .in_facts = in_facts,
    .select = "wer",
    .generator = &ct_gloss_generator,
    .generators = 1,
    .option = options,
    .options = sizeof options / sizeof *options,
    /* data */
    .labels = ct_gloss_labels,
    .claims = ct_gloss_claims,
    .scored = ct_gloss_scored,
    .learn = ct_gloss_learn,
    .foresee = ct_gloss_foresee,
    .agree = ct_gloss_agree,
    .forget = ct_gloss_forget,
    .same = ct_gloss_same,
    /* files */
    .write = ct_gloss_write,
    .read = ct_gloss_read,
    .files = ct_gloss_files,
    .rows = ct_gloss_rows,
    .old_row = ct_gloss_old_row,
    .remapped = ct_gloss_remapped,
    /* programs */
    .specify = ct_gloss_specify,
    .usual = ct_gloss_usual,
    .fit = ct_gloss_fit,
    .build = ct_gloss_build,
    .loss_name = ct_gloss_loss_name,
    .describe = ct_gloss_describe,
    .outputs = ct_gloss_outputs,
    .random = ct_gloss_random,
    .golden = ct_gloss_golden,
    .golden_score = ct_gloss_golden_score,
    /* scoring */
    .look = ct_gloss_look,
    .collect = ct_gloss_collect,
    .settle = ct_gloss_settle,
    .drop = ct_gloss_drop,
    .right = ct_gloss_right,
    .eval_json = ct_gloss_eval_json,
    .eval_text = ct_gloss_eval_text,
    .confidence = ct_gloss_confidence,
    .answer = answer,
    .predict_json = ct_gloss_predict_json,
    .predict_text = ct_gloss_predict_text,
    .reading = ct_gloss_reading,
    .symbols = ct_gloss_symbols,
    .symbol = ct_gloss_symbol,
    .result = ct_gloss_result,
    .example = ct_gloss_example,
    .headline = ct_gloss_headline,
    .report = ct_gloss_report,
    /* verbs */
    .generate = ct_gloss_generate,
    .propose = ct_gloss_propose,
    .leaving = &ct_gloss_leaving,
    .given = ct_gloss_given,
};
