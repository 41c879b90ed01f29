/* A task outside the library, for the tests and as the example of HACKING.md, "Adding a task": where is the dot in a
 * picture, and is it a bright one? One point, one class; two heads, two terms of the loss, two metrics; labels that
 * move with their pixels. Pictures are gray, TOY_SIZE pixels square; a label reads "X Y B": the place in pixels (pixel
 * i covers [i,i+1)), and 1 for a bright dot, 0 for a dark one. There are no facts: training data decide nothing that
 * the model file would have to carry. */
#ifndef CT_TESTS_TOY_H
#define CT_TESTS_TOY_H

#include "task/task.h"

#define TOY_SIZE 32 /* pixels, both ways */

/* Metric slots: what metric_sums counts, one position a sample. The terms of the loss have CT_METRIC_TERMS + ... */
enum { TOY_BRIGHT_RIGHT = CT_METRIC_FIRST, TOY_BRIGHT, TOY_BRIGHT_POSITIONS_RIGHT };
enum { TOY_TERM_POINT, TOY_TERM_BRIGHT };
enum { TOY_RMSE, TOY_ACCURACY, TOY_METRICS };

/* toy_model.c, toy.c: the two rows that main.c adds */
extern const ct_model_info toy_model;
extern const ct_task toy_task;

/* ---- toy_data.c: labels and pictures ---- */
extern const ct_generator toy_generator;
/* The two fields of a label. */
typedef struct toy_label {
    float x, y;     /* pixels */
    int32_t bright; /* 0, 1 */
} toy_label;
ct_status toy_labels(const ct_config *cfg, const ct_facts *facts, ct_labels **out);
/* The label of sample i as the set's fields have it. */
toy_label toy_label_of(const ct_dataset *set, int64_t i);
ct_status toy_generate(const ct_option *option, size_t options, const char *dir, int64_t count, uint64_t seed,
                       int threads, bool force,
                       FILE *to);

/* ---- toy_score.c: what a scoring pass finds, and who is told ---- */
ct_status toy_look(const ct_place *p, const ct_view *v, bool labels, const ct_option *option, size_t options,
                   ct_findings **out);
ct_status toy_collect(ct_findings *f, const ct_outcome *o);
ct_status toy_settle(ct_findings *f, double sums[CT_METRIC_COUNT]);
void toy_drop(ct_findings *f);
bool toy_right(const ct_findings *f, int64_t i);
ct_status toy_eval_json(const ct_findings *f, const double sums[CT_METRIC_COUNT], json_t *into);
ct_status toy_eval_text(const ct_findings *f, const double sums[CT_METRIC_COUNT], FILE *to);
ct_status toy_predict_json(const ct_findings *f, int64_t i, json_t *into);
ct_status toy_predict_text(const ct_findings *f, int64_t i, FILE *to);
ct_status toy_reading(const ct_findings *f, int64_t i, ct_reading_draft *into);
ct_status toy_example(const ct_findings *f, int64_t i, char **label, char **predicted);
ct_status toy_report(const ct_findings *f, const double sums[CT_METRIC_COUNT], int64_t gallery, FILE *to);

#endif
