/* The task of continuous sign language: clips of a signer, read as rows of glosses. What its files know of each other;
 * others know ct_task_gloss alone.
 *
 * A model's classes are the blank (0) and the words of a vocabulary, word k being class k + 1. Labels are lists of
 * words; the one field is "target" i32 [columns] of words 0.., -1 behind a shorter list. */
#ifndef CT_TASK_GLOSS_GLOSS_H
#define CT_TASK_GLOSS_GLOSS_H

#include "config/config.h"
#include "task/gloss/vocabulary.h"
#include "task/task.h"

extern const ct_task ct_task_gloss;

#define CT_GLOSS_FIELD "target"
#define CT_GLOSS_MAX 256 /* glosses of a label, at most */

/* The task's ct_facts. */
struct ct_gloss_facts {
    ct_vocabulary vocabulary;
    int columns; /* of every set's labels: glosses of the longest */
};
const struct ct_gloss_facts *ct_gloss_facts(const ct_facts *facts);

/* Losses of a goal: the only one, all seven terms (C3 of the original). */
enum { CT_GLOSS_TFNET };
/* Its numbers. */
enum {
    CT_GLOSS_CTC_WEIGHT0,     /* of CTC(lp1) .. CTC(lp5): five in a row */
    CT_GLOSS_KD_WEIGHT = 5,   /* loss.kd_weight, 25; 0: no distillation */
    CT_GLOSS_KD_TEMPERATURE,  /* loss.kd_temperature, 8 */
    CT_GLOSS_KD_MASK,         /* loss.kd_mask: padding steps are left out */
    CT_GLOSS_KD_DETACH        /* loss.kd_detach: no gradient into the reference branch */
};

/* Metric slots. */
enum {
    CT_GLOSS_SENTENCES = CT_METRIC_FIRST, /* samples with every gloss right; in the order of edit_sums: */
    CT_GLOSS_WORDS,                       /* glosses of the labels */
    CT_GLOSS_WORDS_OK,                    /* right: glosses less edits, at least 0, summed per sample */
    CT_GLOSS_EDITS,                       /* insertions, deletions and substitutions */
    CT_GLOSS_INFEASIBLE,                  /* samples whose label does not fit into their time steps */
    CT_GLOSS_SENTENCE_WER,                /* edits / glosses of each sample, summed */
    CT_GLOSS_SUBSTITUTIONS, CT_GLOSS_DELETIONS, CT_GLOSS_INSERTIONS
};

/* ---- program.c: losses, scores, decoding; goal.c: the configuration's loss.* keys ---- */
ct_status ct_gloss_specify(const ct_config *cfg, const ct_facts *facts, ct_model_spec *model, ct_goal *goal);
ct_status ct_gloss_usual(const char *loss, ct_model_spec *model, ct_goal *goal);
ct_status ct_gloss_build(ct_parts *p);
const char *ct_gloss_loss_name(const ct_goal *goal);
void ct_gloss_describe(const ct_place *p, ct_tell *tell, void *user);
char *ct_gloss_outputs(const ct_place *p, char *buf, size_t size);
ct_status ct_gloss_random(const ct_place *p, const char *name, const ct_desc *desc, ct_rng *rng, void *host);
void ct_gloss_fit(ct_model_spec *model, const ct_dataset *set);

/* ---- golden.c ---- */
ct_status ct_gloss_golden(const char *path, const ct_safetensors *st, ct_model_spec *model, ct_goal *goal,
                          ct_golden_batch *b);
void ct_gloss_golden_score(const ct_goal *goal, const char *name, const ct_desc *d, void *theirs);

/* ---- reader.c, facts.c: labels and vocabulary of data sets ---- */
ct_status ct_gloss_labels(const ct_config *cfg, const ct_facts *facts, ct_labels **out);
/* propose.c: ct_task.propose. */
ct_status ct_gloss_propose(const ct_seen *seen, ct_propose_put *put, void *user);
ct_status ct_gloss_claims(const char *path, bool *yes);
int ct_gloss_columns(const ct_dataset *ds);                       /* L */
const int32_t *ct_gloss_ids(const ct_dataset *ds, int64_t i);     /* [L] words, -1 behind a shorter label */
const char *ct_gloss_signer(const ct_dataset *ds, int64_t i);     /* who signs sample i, ""; not known */
ct_status ct_gloss_scored(ct_config *cfg, const char *path, const ct_option *option, size_t options);
ct_status ct_gloss_learn(const ct_config *cfg, const ct_dataset *train, ct_facts **out);
ct_status ct_gloss_foresee(const ct_config *cfg, bool must, ct_facts **out);
ct_status ct_gloss_agree(ct_dataset *const *set, int n, ct_facts *facts);
void ct_gloss_forget(ct_facts *facts);
bool ct_gloss_same(const ct_facts *now, const ct_facts *then, char *why, size_t size);
ct_status ct_gloss_write(const ct_place *p, ct_status (*put)(void *user, const char *key, const char *value),
                         void *user);
ct_status ct_gloss_read(const char *path, const char *(*get)(const void *user, const char *key), const void *user,
                        ct_facts **out);
ct_status ct_gloss_given(ct_config *cfg, const ct_option *option, size_t options, ct_facts **out);

ct_status ct_gloss_files(const ct_place *p, const char *dir);
/* A reader for what the generator draws. */
ct_status ct_gloss_drawn_labels(const ct_config *cfg, const ct_facts *facts, ct_labels **out);

/* ---- generator.c: drawn clips as data and as files ---- */
extern const ct_generator ct_gloss_generator;
ct_status ct_gloss_generate(const ct_option *option, size_t options, const char *dir, int64_t count, uint64_t seed,
                            int threads, bool force, FILE *to);

/* ---- remap.c: --init keeps what a word means ---- */
int64_t ct_gloss_rows(const ct_place *p, const char *output);
int64_t ct_gloss_old_row(const ct_remap *m, int64_t r);
void ct_gloss_remapped(const ct_place *now, const ct_place *old);

/* ---- leaving.c: models for other programs ---- */
extern const ct_leaving ct_gloss_leaving;

/* ---- metrics.c ---- */
enum { CT_GLOSS_METRICS = 6 };
extern const ct_metric_row ct_gloss_metrics[CT_GLOSS_METRICS]; /* wer, wer_sentence, sentence_accuracy, substitutions,
                                                                  deletions, insertions */
extern const ct_count_row ct_gloss_counted[1];                 /* infeasible */
int ct_gloss_headline(const ct_place *p, const ct_metric_row *out[], int max);

/* ---- findings.c, eval.c, report.c: scoring ---- */
ct_status ct_gloss_look(const ct_place *p, const ct_view *v, bool labels, const ct_option *option, size_t options,
                        ct_findings **out);
ct_status ct_gloss_collect(ct_findings *f, const ct_outcome *o);
ct_status ct_gloss_settle(ct_findings *f, double sums[CT_METRIC_COUNT]);
void ct_gloss_drop(ct_findings *f);
bool ct_gloss_right(const ct_findings *f, int64_t i);
ct_status ct_gloss_eval_json(const ct_findings *f, const double sums[CT_METRIC_COUNT], json_t *into);
ct_status ct_gloss_eval_text(const ct_findings *f, const double sums[CT_METRIC_COUNT], FILE *to);
double ct_gloss_confidence(const ct_findings *f, int64_t i);
ct_status ct_gloss_predict_json(const ct_findings *f, int64_t i, json_t *into);
ct_status ct_gloss_predict_text(const ct_findings *f, int64_t i, FILE *to);
ct_status ct_gloss_result(const ct_findings *f, const double sums[CT_METRIC_COUNT], json_t *into);
ct_status ct_gloss_reading(const ct_findings *f, int64_t i, ct_reading_draft *into);
size_t ct_gloss_symbols(const ct_facts *facts);
const char *ct_gloss_symbol(const ct_facts *facts, size_t i, char buf[CT_SYMBOL_BYTES]);
ct_status ct_gloss_example(const ct_findings *f, int64_t i, char **label, char **predicted);
ct_status ct_gloss_report(const ct_findings *f, const double sums[CT_METRIC_COUNT], int64_t gallery, FILE *to);

#endif
