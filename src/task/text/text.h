/* The text task: pictures of text, read as text. What its files know of each other; others know ct_task_text alone. */
#ifndef CT_TASK_TEXT_TEXT_H
#define CT_TASK_TEXT_TEXT_H

#include "config/config.h"
#include "task/text/synth/synth.h"
#include "task/task.h"
#include "task/text/label/label.h"
#include "task/text/reader.h"

extern const ct_task ct_task_text;

/* The task's ct_facts. */
struct ct_text_facts {
    ct_charset charset; /* characters; a model with a blank has one class more */
    int positions;      /* characters per label; for a CTC model the columns of every set's labels */
    int least, most;    /* characters of the shortest and the longest training label; 0: nobody said */
    bool as_is;         /* labels are not composed: the model is older than that */
    double temperature; /* by which scores are divided before they become confidences; 0: none was fitted */
};
/* "4", which is both, or "3-7", within least..most. False for anything else. */
bool ct_text_range(const char *text, int least, int most, int *lo, int *hi);
/* What a model file says of its labels' Unicode. */
#define CT_TEXT_COMPOSED "NFC; letter case: simple mapping of characters, no locale"
const struct ct_text_facts *ct_text_facts(const ct_facts *facts);

/* ---- rules.c ---- */

/* The model of the configuration; its name outlives cfg. */
ct_model_spec ct_text_model(const ct_config *cfg);
/* Does the model of the configuration (model.name) read text of any length? It then has time steps, by which labels
 * are judged. */
bool ct_text_sequence(const ct_config *cfg);
/* What rules from a configuration point to. */
typedef struct ct_text_given {
    ct_charset charset; /* to be freed: ct_charset_free() */
    ct_model_spec model;
} ct_text_given;
/* How the data.* keys and the model of cfg say that labels are read. facts NULL: the folder decides what cfg leaves
 * open. The rules point into facts and *own. */
ct_status ct_text_rules_config(const ct_config *cfg, const ct_facts *facts, ct_text_given *own, ct_text_rules *out);

/* ---- generator.c: drawn pictures as data and as files ---- */

extern const ct_generator ct_text_generator;

/* Generator parameters of data.synth.*, data.charset and the geometry keys, with lengths that the model can read.
 * CT_ECONFIG naming the key. */
ct_status ct_text_generator_params(const ct_config *cfg, ct_text_params *out);
/* A source of drawn pictures, which owns what it needs. */
ct_status ct_text_source(const ct_text_params *p, uint64_t seed, ct_source *out);
/* A reader for its labels: by `rules`, with the characters and lengths of p. */
ct_status ct_text_drawn_labels(const ct_text_params *p, const ct_text_rules *rules, ct_labels **out);
/* ct_task.generate. */
ct_status ct_text_generate(const ct_option *option, size_t options, const char *dir, int64_t count, uint64_t seed,
                           int threads, bool force, FILE *to);
/* ct_task.like: the model's characters, lengths and size, and the generator's style, fonts and sizes. */
ct_status ct_text_like(const ct_config *cfg, const ct_facts *facts,
                       ct_status (*put)(void *user, const char *key, const char *value), void *user);
/* ct_task.needs: fonts. */
void ct_text_needs(ct_need *tell, void *user);

/* ---- propose.c ---- */
ct_status ct_text_propose(const ct_seen *seen, ct_propose_put *put, void *user);

/* Metric slots. */
enum {
    CT_TEXT_STRINGS = CT_METRIC_FIRST, /* samples with every character right */
    CT_TEXT_CHARS,                     /* characters of the labels */
    CT_TEXT_CHARS_OK,  /* right; texts of any length: characters less edits, at least 0, summed per sample */
    CT_TEXT_EDITS,     /* insertions, deletions and substitutions between prediction and label; CTC only */
    CT_TEXT_INFEASIBLE /* CTC: samples whose label does not fit into their time steps */
};

/* Losses; numbers of a goal. */
enum { CT_TEXT_SOFTMAX, CT_TEXT_SOFT_MARGIN, CT_TEXT_CTC };
enum { CT_TEXT_SMOOTHING };

/* ---- metrics.c ---- */
enum { CT_TEXT_METRICS = 3 };
extern const ct_metric_row ct_text_metrics[CT_TEXT_METRICS]; /* string_accuracy, char_accuracy, cer */
extern const ct_count_row ct_text_counted[1];
/* Edits between labels and predictions; with fixed positions the wrong characters. */
double ct_text_edits(const double sums[CT_METRIC_COUNT]);
ct_status ct_text_result(const ct_findings *f, const double sums[CT_METRIC_COUNT], json_t *into);
int ct_text_headline(const ct_place *p, const ct_metric_row *out[], int max);

/* ---- eval.c ---- */
ct_status ct_text_eval_json(const ct_findings *f, const double sums[CT_METRIC_COUNT], json_t *into);
ct_status ct_text_eval_text(const ct_findings *f, const double sums[CT_METRIC_COUNT], FILE *to);
ct_status ct_text_predict_json(const ct_findings *f, int64_t i, json_t *into);
ct_status ct_text_predict_text(const ct_findings *f, int64_t i, FILE *to);
ct_status ct_text_example(const ct_findings *f, int64_t i, char **label, char **predicted);

/* ---- report.c ---- */
ct_status ct_text_report(const ct_findings *f, const double sums[CT_METRIC_COUNT], int64_t gallery, FILE *to);

/* ---- golden.c ---- */
ct_status ct_text_golden(const char *path, const ct_safetensors *st, ct_model_spec *model, ct_goal *goal,
                         ct_golden_batch *b);
void ct_text_golden_score(const ct_goal *goal, const char *name, const ct_desc *d, void *theirs);

/* ---- remap.c ---- */
ct_status ct_text_related(const char *path, const ct_place *now, const ct_place *old);
int64_t ct_text_rows(const ct_place *p, const char *output);
int64_t ct_text_old_row(const ct_remap *m, int64_t r);
void ct_text_remapped(const ct_place *now, const ct_place *old);

/* ---- program.c ---- */
ct_status ct_text_specify(const ct_config *cfg, const ct_facts *facts, ct_model_spec *model, ct_goal *goal);
ct_status ct_text_usual(const char *loss, ct_model_spec *model, ct_goal *goal);
void ct_text_fit(ct_model_spec *model, const ct_dataset *set);
ct_status ct_text_build(ct_parts *p);
const char *ct_text_loss_name(const ct_goal *goal);
void ct_text_describe(const ct_place *p, ct_tell *tell, void *user);
char *ct_text_outputs(const ct_place *p, char *buf, size_t size);
ct_status ct_text_random(const ct_place *p, const char *name, const ct_desc *desc, ct_rng *rng, void *host);

#endif
